/* SPDX-License-Identifier: BSD-3-Clause */
/* The ITM and DWT of a Cortex-M, as the board file wants them. */
#include "trace_setup_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void itm_take_watches(struct trace_setup *t)
{
    const struct config_itm *c = &t->config->itm;
    struct coresight_itm_options *o = &t->itm.options;
    struct message why = {.text = ""};
    o->watch_count = 0;
    if (config_find_watches(t->config, &why))
        trace_setup_note(t, "warning: [trace] watch: %s", why.text);
    for (unsigned i = 0; i < c->watch_count; i++) {
        const struct config_watch *w = &c->watches[i];
        if (!w->found)
            continue;
        t->itm.watch[o->watch_count] = (int8_t)i;
        o->watches[o->watch_count++] = (struct coresight_itm_watch){.address = (uint32_t)w->address,
                                                                    .size = (uint32_t)w->size,
                                                                    .value = w->value,
                                                                    .pc = w->pc,
                                                                    .place = w->place};
    }
}

static void itm_fill_options(struct trace_setup *t)
{
    const struct config_itm *c = &t->config->itm;
    t->itm.options = (struct coresight_itm_options){.trace_id = (uint8_t)c->id,
                                                    .ports = c->ports,
                                                    .prescaler = (uint8_t)c->prescaler,
                                                    .exceptions = c->exceptions,
                                                    .samples = c->samples,
                                                    .cycles = c->cycles};
    itm_take_watches(t);
}

int trace_setup_set_itm(struct trace_setup *t, const char *text, struct message *why)
{
    static const char *const keys[] = {"itm", "dwt", "watch"};
    message_set(why,
                "trace set itm PORTS, dwt EVENTS or watch VARIABLES, as in [trace] of a board "
                "file, or none; not '%s'",
                text);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t n = strlen(keys[i]);
        if (strncmp(text, keys[i], n) != 0 || text[n] != ' ')
            continue;
        if (!t->itm.wanted)
            return message_fail(why, BT_ERR_UNSUPPORTED,
                                "there is no ITM in this trace: [trace] of the board file needs "
                                "itm, dwt or watch");
        const char *value = text + n + strspn(text + n, " ");
        int error = config_set_itm(t->config, keys[i], value, why);
        if (error == BT_ERR_INVAL)
            return error;
        itm_fill_options(t);
        t->itm.told = t->programmed = false;
        if (!error)
            message_set(why, "%s = %s, from the next resume on", keys[i], value);
        return error;
    }
    return BT_ERR_INVAL;
}

int trace_setup_take_itm(struct trace_setup *t)
{
    const struct config_itm *c = &t->config->itm;
    if (!c->on || !t->m_profile)
        return BT_OK;
    int error = coresight_itm_find(t->bus, &t->itm.state);
    if (trace_setup_is_dead(t, error))
        return error;
    if (error) {
        trace_setup_note(t, "no ITM: %s",
                         error == BT_ERR_UNSUPPORTED ? "the DWT of this core sends no packets"
                                                     : trace_setup_reason(t, error));
        t->config->itm.on = false;
        return BT_OK;
    }
    itm_fill_options(t);
    t->itm.wanted = true;
    return BT_OK;
}

static const char *itm_use_text(enum coresight_itm_use use)
{
    switch (use) {
    case CORESIGHT_ITM_OURS:
        return "of another watch";
    case CORESIGHT_ITM_DEBUG:
        return "of a watchpoint";
    case CORESIGHT_ITM_OTHER:
        return "of somebody else's trace";
    default:
        return "unable to do this";
    }
}

/* Who has the comparators that this watch cannot have. */
static void itm_note_missing(struct trace_setup *t, const struct config_watch *w)
{
    char text[200] = "";
    size_t used = 0;
    for (unsigned k = 0; k < t->itm.state.comparators && k < CORESIGHT_ITM_WATCHES; k++) {
        enum coresight_itm_use use;
        if (coresight_itm_use(t->bus, &t->itm.state, k, &use) == BT_OK && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%u is %s", k ? ", " : "",
                                     k, itm_use_text(use));
    }
    trace_setup_note(t, "warning: [trace] watch: %s is not watched: no comparator for it: %s",
                     w->name, *text ? text : "the DWT has none");
}

static void itm_note_watches(struct trace_setup *t)
{
    for (unsigned i = 0; i < t->itm.options.watch_count; i++) {
        const struct config_watch *w = &t->config->itm.watches[t->itm.watch[i]];
        if (t->itm.state.taken[i] == CORESIGHT_ITM_NONE)
            itm_note_missing(t, w);
        else
            trace_setup_note(
                t, "watch %s: comparator %d of the DWT, %" PRIu64 " bytes at 0x%08" PRIx64, w->name,
                t->itm.state.taken[i], w->size, w->address);
    }
}

int trace_setup_start_itm(struct trace_setup *t, struct message *why)
{
    int8_t before[CORESIGHT_ITM_WATCHES];
    memcpy(before, t->itm.state.taken, sizeof before);
    int error = coresight_itm_start(t->bus, &t->itm.options, &t->itm.state);
    if (error)
        return trace_setup_failed(t, error, "the ITM cannot be set up", why);
    for (unsigned i = 0; i < t->itm.options.watch_count; i++)
        t->config->itm.watches[t->itm.watch[i]].comparator = t->itm.state.taken[i];
    if (!t->itm.told || memcmp(before, t->itm.state.taken, sizeof before) != 0)
        itm_note_watches(t);
    t->itm.told = true;
    return BT_OK;
}

int trace_setup_stop_itm(struct trace_setup *t, struct message *why)
{
    int error = coresight_itm_stop(t->bus, &t->itm.state);
    return error ? trace_setup_failed(t, error, "the ITM cannot be stopped", why) : BT_OK;
}
