/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines as a client types them behind `monitor trace filter` and `monitor trace set`. The first
 * byte says how many ranges the trace unit compares. What is refused changes nothing; what is
 * taken fits the unit, is told as it is, and makes the same filter when it is typed as it is told.
 */
#include <stdlib.h>
#include <string.h>

#include "server/config/config.h"
#include "server/trace_unit/trace_setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINE 340 /* more than `monitor` keeps of one */

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_ranges(const struct trace_setup *t, unsigned most)
{
    require(t->filter_count <= most && most <= CORESIGHT_ETM4_RANGES);
    for (unsigned i = 0; i < t->filter_count; i++)
        require(t->filter[i].first <= t->filter[i].last);
}

/* The answer of what was taken, typed again on a trace unit without a filter. */
static void type_again(struct trace_setup *t, const char *told)
{
    static const char words[] = "the filter is set: ";
    struct coresight_etm4_range all[CORESIGHT_ETM4_RANGES];
    unsigned count = t->filter_count;
    struct message why;
    char text[sizeof why.text], *rest = text;
    memcpy(all, t->filter, sizeof all);
    if (count == 0) {
        require(strcmp(told, "no filter: all addresses are traced") == 0);
        return;
    }
    require(strncmp(told, words, strlen(words)) == 0);
    strcpy(text, told + strlen(words));
    if (strlen(told) + 1 == sizeof why.text)
        return; /* cut */
    t->filter_count = 0;
    for (char *range; (range = strtok_r(NULL, ",", &rest));)
        require(trace_setup_filter(t, range + strspn(range, " "), &why) == BT_OK);
    require(t->filter_count == count);
    for (unsigned i = 0; i < count; i++)
        require(t->filter[i].first == all[i].first && t->filter[i].last == all[i].last &&
                t->filter[i].exclude == all[i].exclude);
}

static void try_filter(struct trace_setup *t, const char *text)
{
    const struct trace_setup before = *t;
    struct message why = {.text = ""};
    unsigned most = coresight_etm4_ranges(&t->cores[0].etm4.state);
    bool good = trace_setup_filter_is_good(text);
    int error = trace_setup_filter(t, text, &why);
    require(good == (error != BT_ERR_INVAL) && why.text[0]);
    check_ranges(t, most);
    if (error) {
        require(error == BT_ERR_INVAL || t->filter_count == most);
        require(memcmp(&before, t, sizeof before) == 0);
        return;
    }
    /* No line end is in it, and no blank but the one between its two words: the virtual board gets
     * it as it is. */
    require(!strpbrk(text, "\n\r\t\x1b"));
    type_again(t, why.text);
}

static void try_set(struct trace_setup *t, const char *text)
{
    const struct config_itm before = t->config->itm;
    struct message why = {.text = ""};
    int error = trace_setup_set_itm(t, text, &why);
    const struct config_itm *c = &t->config->itm;
    require(why.text[0] && (!error || error == BT_ERR_INVAL || error == BT_ERR_RANGE));
    require(error != BT_ERR_INVAL || memcmp(&before, c, sizeof before) == 0);
    require(c->watch_count <= CONFIG_MAX_WATCHES && !(c->samples && c->cycles));
    require(t->itm.options.watch_count <= CORESIGHT_ITM_WATCHES);
    for (unsigned i = 0; i < t->itm.options.watch_count; i++)
        require(t->itm.watch[i] >= 0 && (unsigned)t->itm.watch[i] < c->watch_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config config;
    static struct trace_setup setup;
    char line[LINE];
    if (size == 0)
        return 0;
    memset(&config, 0, sizeof config);
    memset(&setup, 0, sizeof setup);
    config.core_count = 1;
    strcpy(config.cores[0].name, "cpu0");
    setup.config = &config;
    setup.history = setup.itm.wanted = true;
    setup.cores[0].kind = CORESIGHT_ETM4;
    setup.cores[0].traced = true;
    setup.cores[0].etm4.state.idr[4] = *data++;
    for (size--; size > 0;) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t whole = end ? (size_t)(end - data) + 1 : size, len = end ? whole - 1 : size;
        if (len < sizeof line) {
            memcpy(line, data, len);
            line[len] = '\0';
            try_filter(&setup, line);
            try_set(&setup, line);
        }
        data += whole;
        size -= whole;
    }
    return 0;
}
