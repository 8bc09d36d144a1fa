/* SPDX-License-Identifier: BSD-3-Clause */
/* ITM and DWT in board files: ports, what the DWT tells, watched data. */
#include "config_internal.h"

#include "drivers/coresight/coresight_itm.h"
#include "drivers/elf/elf_image.h"
#include "drivers/rtos/rtos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ITM_PORTS  32u
#define WORDS      33u /* of one item */
#define WORD_SIZE  64u
#define TCR_NUMBER 0x3a0u
#define TCR_FIXED  0x0000000du
#define TCR_TIMES  0x00000002u

/* An item of a list, in words. */
struct itm_words {
    char word[WORDS][WORD_SIZE];
    unsigned count;
    bool fits;
};

/* The next item, up to a comma; false at the end. */
static bool itm_next_item(const char **text, struct itm_words *w)
{
    const char *s = *text;
    memset(w, 0, sizeof *w);
    w->fits = true;
    if (!*s)
        return false;
    while (*s && *s != ',') {
        size_t n = strcspn(s, " \t,");
        if (n == 0) {
            s++;
            continue;
        }
        w->fits = w->fits && w->count < WORDS && n < WORD_SIZE;
        if (w->fits)
            memcpy(w->word[w->count++], s, n);
        s += n;
    }
    *text = *s ? s + 1 : s;
    return true;
}

static int itm_wrong(struct config_parser *p, const char *key, const char *what)
{
    return config_fail(p, config_line_of(p, "trace", key), key, "'%s' is not possible; allowed: %s",
                       what, config_find_key("trace", key)->allowed);
}

/* "7" or "8-15". */
static bool itm_parse_ports(const char *text, uint32_t *mask)
{
    char first[WORD_SIZE];
    uint64_t from, to;
    size_t n = strcspn(text, "-");
    snprintf(first, sizeof first, "%.*s", (int)n, text);
    if (!config_parse_number(first, &from) ||
        !config_parse_number(text[n] ? text + n + 1 : first, &to) || to >= ITM_PORTS || from > to)
        return false;
    for (uint64_t k = from; k <= to; k++)
        *mask |= (uint32_t)1 << k;
    return true;
}

/* What of the text is wrong is stored in `bad`. */
static bool itm_take_ports(struct config_itm *c, char bad[WORD_SIZE])
{
    struct itm_words w;
    const char *text = c->ports_text;
    snprintf(bad, WORD_SIZE, "%.*s", (int)WORD_SIZE - 1, text);
    while (itm_next_item(&text, &w))
        for (unsigned i = 0; i < w.count || !w.fits; i++) {
            if (w.fits && strcmp(w.word[i], "all") == 0) {
                c->ports = UINT32_MAX;
            } else if (!w.fits || !itm_parse_ports(w.word[i], &c->ports)) {
                if (w.fits)
                    snprintf(bad, WORD_SIZE, "%s", w.word[i]);
                return false;
            }
        }
    return !c->ports_text[0] || c->ports;
}

static bool itm_take_dwt(struct config_itm *c, const struct itm_words *w)
{
    uint64_t cycles;
    if (w->count == 1 && strcmp(w->word[0], "exceptions") == 0) {
        c->exceptions = true;
        return true;
    }
    if (w->count != 2 || !config_parse_number(w->word[1], &cycles) || cycles > UINT32_MAX ||
        !coresight_itm_period((unsigned)cycles) || c->samples || c->cycles)
        return false;
    if (strcmp(w->word[0], "pc-samples") == 0)
        c->samples = (unsigned)cycles;
    else if (strcmp(w->word[0], "cycles") == 0)
        c->cycles = (unsigned)cycles;
    return c->samples || c->cycles;
}

static bool itm_take_dwts(struct config_itm *c)
{
    struct itm_words w;
    const char *text = c->dwt_text;
    while (itm_next_item(&text, &w))
        if (!w.fits || !itm_take_dwt(c, &w))
            return false;
    return true;
}

static bool itm_is_name(const char *text)
{
    return (text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z') ||
           text[0] == '_';
}

static bool itm_take_watch(struct config_watch *watch, const struct itm_words *w)
{
    if (w->count == 0)
        return false;
    snprintf(watch->name, sizeof watch->name, "%s", w->word[0]);
    watch->named = itm_is_name(watch->name);
    if (!watch->named &&
        (!config_parse_number(watch->name, &watch->address) || watch->address > UINT32_MAX))
        return false;
    for (unsigned i = 1; i < w->count; i++) {
        bool number = i == 1 && config_parse_number(w->word[i], &watch->size);
        if (number && (watch->size == 0 || watch->size > CONFIG_MAX_WATCHED ||
                       watch->size & (watch->size - 1)))
            return false;
        watch->value |= strcmp(w->word[i], "value") == 0;
        watch->pc |= strcmp(w->word[i], "pc") == 0;
        watch->place |= strcmp(w->word[i], "address") == 0;
        if (!number && strcmp(w->word[i], "value") != 0 && strcmp(w->word[i], "pc") != 0 &&
            strcmp(w->word[i], "address") != 0)
            return false;
    }
    watch->pc |= strcmp(watch->name, CONFIG_WATCH_TASK) == 0;
    watch->value |= strcmp(watch->name, CONFIG_WATCH_TASK) == 0 || (!watch->pc && !watch->place);
    if (!watch->named && !watch->size)
        watch->size = 4;
    watch->found = !watch->named;
    return watch->named || watch->address % watch->size == 0;
}

static bool itm_take_watches(struct config_itm *c)
{
    struct itm_words w;
    const char *text = c->watch_text;
    while (itm_next_item(&text, &w)) {
        if (c->watch_count == CONFIG_MAX_WATCHES || !w.fits ||
            !itm_take_watch(&c->watches[c->watch_count], &w))
            return false;
        c->watches[c->watch_count].comparator = (int)c->watch_count;
        c->watch_count++;
    }
    return true;
}

/* Keys that say nothing without an ITM. */
static int itm_check_unused(struct config_parser *p)
{
    static const char *const keys[] = {"itm_id", "itm_timestamps", "itm_console", "itm_listen"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !p->config->itm.on; i++) {
        unsigned line = config_line_of(p, "trace", keys[i]);
        if (line)
            return config_fail(p, line, keys[i],
                               "is not used; allowed: with 'itm', 'dwt' or 'watch'");
    }
    return BT_OK;
}

int config_check_itm(struct config_parser *p)
{
    struct config_itm *c = &p->config->itm;
    c->on = c->ports_text[0] || c->dwt_text[0] || c->watch_text[0];
    char bad[WORD_SIZE];
    int error = itm_check_unused(p);
    if (!error && !itm_take_ports(c, bad))
        error = itm_wrong(p, "itm", bad);
    if (!error && !itm_take_dwts(c))
        error = itm_wrong(p, "dwt", c->dwt_text);
    if (!error && !itm_take_watches(c))
        error = itm_wrong(p, "watch", c->watch_text);
    if (!error && c->prescaler != 0 && c->prescaler != 1 && c->prescaler != 4 &&
        c->prescaler != 16 && c->prescaler != 64)
        error = config_fail(p, config_line_of(p, "trace", "itm_timestamps"), "itm_timestamps",
                            "%u is not possible; allowed: %s", c->prescaler,
                            config_find_key("trace", "itm_timestamps")->allowed);
    return error;
}

int config_set_itm(struct config *config, const char *key, const char *text, struct message *why)
{
    struct config_itm next = config->itm;
    char bad[WORD_SIZE];
    const char *value = strcmp(text, "none") == 0 ? "" : text;
    bool good = *text != '\0' && strlen(text) < sizeof next.ports_text;
    if (strcmp(key, "itm") == 0) {
        next.ports = 0;
        snprintf(next.ports_text, sizeof next.ports_text, "%s", value);
        good = good && itm_take_ports(&next, bad);
    } else if (strcmp(key, "dwt") == 0) {
        next.exceptions = false;
        next.samples = next.cycles = 0;
        snprintf(next.dwt_text, sizeof next.dwt_text, "%s", value);
        good = good && itm_take_dwts(&next);
    } else {
        next.watch_count = 0;
        memset(next.watches, 0, sizeof next.watches);
        snprintf(next.watch_text, sizeof next.watch_text, "%s", value);
        good = good && itm_take_watches(&next);
    }
    if (!good)
        return message_fail(why, BT_ERR_INVAL, "'%s' is not possible; allowed: none, or %s", text,
                            config_find_key("trace", key)->allowed);
    config->itm = next;
    return config_find_watches(config, why) ? BT_ERR_RANGE : BT_OK;
}

/* The line of the key by which there is an ITM. */
static unsigned itm_line(const struct config_parser *p, const char **key)
{
    static const char *const keys[] = {"itm", "dwt", "watch"};
    unsigned line = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !line; i++) {
        *key = keys[i];
        line = config_line_of(p, "trace", keys[i]);
    }
    return line;
}

/* What the decoder and a recording have to know of it. */
static int itm_describe(struct config_parser *p)
{
    struct config_itm *c = &p->config->itm;
    struct snapshot_reg *reg = calloc(1, sizeof *reg);
    unsigned scale = c->prescaler == 64 ? 3 : c->prescaler == 16 ? 2 : c->prescaler == 4 ? 1 : 0;
    if (!reg)
        return BT_ERR_NOMEM;
    *reg = (struct snapshot_reg){.name = "ITMTCR",
                                 .has_index = true,
                                 .index = TCR_NUMBER,
                                 .size = 32,
                                 .value = TCR_FIXED | (c->prescaler ? TCR_TIMES : 0) | scale << 8 |
                                          c->id << 16};
    c->device = (struct snapshot_device){.name = "ITM_0",
                                         .class_name = "trace_source",
                                         .device_class = SNAPSHOT_CLASS_TRACE_SOURCE,
                                         .type = "ITM",
                                         .path = p->config->cores[0].core_device.path,
                                         .regs = reg,
                                         .reg_count = 1};
    return BT_OK;
}

int config_check_itm_source(struct config_parser *p)
{
    const struct config *c = p->config;
    const char *key = "itm";
    unsigned line = itm_line(p, &key);
    uint64_t id;
    if (!c->itm.on || c->core_count == 0)
        return BT_OK;
    if (strncasecmp(c->cores[0].type, "Cortex-M", 8) != 0 ||
        strncasecmp(c->cores[0].type, "Cortex-M0", 9) == 0 ||
        strcasecmp(c->cores[0].type, "Cortex-M1") == 0 ||
        strcasecmp(c->cores[0].type, "Cortex-M23") == 0)
        return config_fail(p, line, key,
                           "is not used: a %s has no ITM; allowed: with a Cortex-M3, "
                           "M4, M7, M33 and later",
                           c->cores[0].type);
    if (c->sink == CONFIG_SINK_NONE || c->sink == CONFIG_SINK_MTB)
        return config_fail(p, line, key,
                           "is not used with sink = %s; allowed: etb, tmc, swo or tpiu",
                           c->sink == CONFIG_SINK_MTB ? "mtb" : "none");
    for (unsigned i = 0; i < c->core_count && !c->formatted; i++)
        if (c->cores[i].has_source)
            return config_fail(p, line, key,
                               "format = raw holds the trace of one source, and [core %s] has one; "
                               "allowed: format = tpiu or frames",
                               c->cores[i].name);
    for (unsigned i = 0; i < c->core_count && c->formatted; i++)
        if (config_trace_id(&c->cores[i], &id) && id == c->itm.id)
            return config_fail(p, config_line_of(p, "trace", "itm_id"), "itm_id",
                               "0x%x is the trace ID of [core %s], too; allowed: another one of 1 "
                               "to 0x6f",
                               c->itm.id, c->cores[i].name);
    return itm_describe(p);
}

/* The smallest range of a comparator that holds all of the variable, and nothing beside. */
static bool itm_place_watch(struct config_watch *w, uint64_t address, uint64_t size)
{
    w->address = address;
    if (!w->size)
        w->size = size;
    w->found = w->size > 0 && w->size <= CONFIG_MAX_WATCHED && (w->size & (w->size - 1)) == 0 &&
               address % w->size == 0 && address <= UINT32_MAX;
    return w->found;
}

static bool itm_find_current_task(const struct config_core *core, struct config_watch *w,
                                  const struct elf_image *elf, struct message *why)
{
    struct rtos *r = NULL;
    int error =
        rtos_open(&r, core->rtos > RTOS_NONE ? (enum rtos_kind)core->rtos : RTOS_AUTO, elf, why);
    uint32_t address = r ? rtos_current(r) : 0;
    rtos_close(r);
    if (!address && !error)
        message_set(why, "the program has no kernel whose tasks are known");
    return address && itm_place_watch(w, address, sizeof address);
}

static bool itm_find_watch(const struct config_core *core, struct config_watch *w,
                           const struct elf_image *elf, struct message *why)
{
    uint64_t address, size;
    if (strcmp(w->name, CONFIG_WATCH_TASK) == 0)
        return itm_find_current_task(core, w, elf, why);
    if (!elf_image_variable(elf, w->name, &address, &size))
        message_set(why, "the program has no variable '%s'", w->name);
    else if (!itm_place_watch(w, address, size))
        message_set(why,
                    "'%s' has %u bytes at 0x%08x: a comparator watches a power of two of them, "
                    "at a multiple of that; a size behind the name watches the first ones",
                    w->name, (unsigned)size, (unsigned)address);
    return w->found;
}

const char *config_find_watches(struct config *config, struct message *why)
{
    struct elf_image *elf = NULL;
    const char *missing = NULL;
    bool tried = false;
    for (unsigned i = 0; i < config->itm.watch_count; i++) {
        struct config_watch *w = &config->itm.watches[i];
        if (!w->named)
            continue;
        if (!tried && !config->cores[0].program[0])
            message_set(why, "[core %s] has no program to find '%s' in", config->cores[0].name,
                        w->name);
        else if (!tried)
            (void)config_open_program(&config->cores[0], &elf, why);
        tried = true;
        if (!elf || !itm_find_watch(&config->cores[0], w, elf, why))
            missing = w->name;
    }
    elf_image_close(elf);
    return missing;
}
