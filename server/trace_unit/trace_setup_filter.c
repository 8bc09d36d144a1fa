/* SPDX-License-Identifier: BSD-3-Clause */
/* Address filters of the trace units, as a person asks for them. */
#include "trace_setup_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMS "include START-END, exclude START-END, include none, exclude none, or none"

struct filter {
    struct coresight_etm4_range list[CORESIGHT_ETM4_RANGES + 1]; /* one more than there can be */
    unsigned count;
};

static void drop(struct filter *f, bool exclude)
{
    unsigned kept = 0;
    for (unsigned k = 0; k < f->count; k++)
        if (f->list[k].exclude != exclude)
            f->list[kept++] = f->list[k];
    f->count = kept;
}

/* Digits only: strtoull() takes signs and blanks, too. */
static bool parse_address(const char **text, uint64_t *address)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *address = strtoull(*text, &end, 0);
    *text = end;
    return errno == 0;
}

static bool add(struct filter *f, const char *text, bool exclude)
{
    struct coresight_etm4_range r = {.exclude = exclude};
    if (!parse_address(&text, &r.first) || *text++ != '-' || !parse_address(&text, &r.last) ||
        *text != '\0' || r.first > r.last)
        return false;
    if (f->count < sizeof f->list / sizeof *f->list)
        f->list[f->count++] = r;
    return true;
}

static bool change(struct filter *f, const char *text)
{
    bool exclude = strncmp(text, "exclude ", 8) == 0;
    if (strcmp(text, "none") == 0) {
        f->count = 0;
        return true;
    }
    if (!exclude && strncmp(text, "include ", 8) != 0)
        return false;
    if (strcmp(text + 8, "none") == 0) {
        drop(f, exclude);
        return true;
    }
    return add(f, text + 8, exclude);
}

bool trace_setup_filter_is_good(const char *text)
{
    struct filter f = {.count = 0};
    return change(&f, text);
}

/* Can the trace unit of this core do it? */
static int check(const struct trace_setup *t, unsigned i, unsigned count, struct message *why)
{
    const struct trace_setup_core *core = &t->cores[i];
    const struct config_core *c = &t->config->cores[i];
    unsigned ranges = core->kind == CORESIGHT_ETM4 ? coresight_etm4_ranges(&core->etm4.state) : 0;
    if (!core->traced || count <= ranges)
        return BT_OK;
    if (core->kind != CORESIGHT_ETM4)
        message_set(why,
                    "the trace unit of core %s is %s, which is programmed to trace all addresses: "
                    "only an ETMv4 and a virtual board have filters",
                    c->name, c->source_device.type);
    else if (ranges == 0)
        message_set(why,
                    "the trace unit of core %s has no address comparators: it traces all addresses",
                    c->name);
    else
        message_set(why,
                    "the trace unit of core %s has comparators for %u ranges, all in use: 'trace "
                    "filter none' frees them",
                    c->name, ranges);
    return core->kind == CORESIGHT_ETM4 && ranges ? BT_ERR_RANGE : BT_ERR_UNSUPPORTED;
}

static void describe(const struct filter *f, struct message *why)
{
    size_t used = 0;
    char text[sizeof why->text];
    for (unsigned k = 0; k < f->count && used < sizeof text; k++)
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%s 0x%08" PRIx64 "-0x%08" PRIx64, k ? ", " : "",
            f->list[k].exclude ? "exclude" : "include", f->list[k].first, f->list[k].last);
    if (f->count)
        message_set(why, "the filter is set: %s", text);
    else
        message_set(why, "no filter: all addresses are traced");
}

int trace_setup_filter(struct trace_setup *t, const char *text, struct message *why)
{
    struct filter f = {.count = t->filter_count};
    memcpy(f.list, t->filter, sizeof t->filter);
    if (!change(&f, text)) {
        message_set(why, "trace filter " FORMS ", not '%s'", text);
        return BT_ERR_INVAL;
    }
    if (!t->history) {
        message_set(why, "nothing is traced: 'monitor trace status' says why");
        return BT_ERR_UNSUPPORTED;
    }
    for (unsigned i = 0; i < t->config->core_count; i++) {
        int error = check(t, i, f.count, why);
        if (error)
            return error;
    }
    memcpy(t->filter, f.list, sizeof t->filter);
    t->filter_count = f.count;
    t->programmed = false;
    describe(&f, why);
    return BT_OK;
}
