/* SPDX-License-Identifier: BSD-3-Clause */
/* Programming what was found, and reading a buffer out. */
#include "trace_setup_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define FUNNEL_PORTS 8u
#define DIVIDER_MAX  0x2000u
#define CHUNK_WORDS  1024u
#define SYNC_DEFAULT 1024u /* bytes between two synchronisations */

static bool has_buffer(const struct trace_setup *t)
{
    return t->words != NULL;
}

/* The nearest whole divider must be near enough for a receiver: 3 %. */
static int start_swo(struct trace_setup *t, struct message *why)
{
    const struct config *c = t->config;
    uint32_t divider = (c->trace_clock + c->swo_rate / 2) / c->swo_rate;
    uint32_t rate = c->trace_clock / (divider ? divider : 1);
    uint32_t off = rate > c->swo_rate ? rate - c->swo_rate : c->swo_rate - rate;
    if (divider == 0 || divider > DIVIDER_MAX || (uint64_t)off * 100 > (uint64_t)c->swo_rate * 3) {
        message_set(why, "swo_rate = %u cannot be made of trace_clock = %u: the nearest is %u",
                    c->swo_rate, c->trace_clock, rate);
        return BT_ERR_RANGE;
    }
    int error = coresight_tpiu_swo(t->bus, t->sink, false, divider, true);
    return error ? trace_setup_failed(t, error, "the TPIU cannot be set to SWO", why) : BT_OK;
}

static int start_sink(struct trace_setup *t, struct message *why)
{
    int error;
    if (has_buffer(t)) {
        error = coresight_buffer_start(&t->buffer);
        return error ? trace_setup_failed(t, error, "the trace buffer cannot be started", why)
                     : BT_OK;
    }
    error = t->m_profile && !t->full_tpiu ? trace_setup_enable_syncs(t) : BT_OK;
    if (error)
        return trace_setup_failed(t, error, "frame syncs cannot be switched on", why);
    if (t->config->sink == CONFIG_SINK_SWO)
        return start_swo(t, why);
    error = coresight_tpiu_parallel(t->bus, t->sink, !t->full_tpiu, t->config->tpiu_width);
    if (error == BT_ERR_UNSUPPORTED)
        message_set(why, "the TPIU has no port of tpiu_width = %u pins", t->config->tpiu_width);
    else if (error)
        trace_setup_failed(t, error, "the TPIU cannot be set up", why);
    return error;
}

/* Which port of which funnel leads where is known only if the board file tells: then one funnel
 * has one port a core; else all ports are open, and silent sources do no harm. */
static int open_funnels(struct trace_setup *t)
{
    int error = BT_OK;
    for (unsigned f = 0; f < t->funnel_count; f++) {
        for (unsigned port = 0; port < FUNNEL_PORTS && !error; port++) {
            bool wanted = t->funnel_count > 1;
            for (unsigned i = 0; i < t->config->core_count; i++)
                wanted |=
                    t->cores[i].traced && (t->config->cores[i].funnel_port == port ||
                                           t->config->cores[i].funnel_port == CONFIG_ALL_PORTS);
            if (wanted)
                error = coresight_funnel_enable(t->bus, t->funnels[f], port);
        }
    }
    return error;
}

/* All of them, or those whose next synchronisation would be long in coming: one that is started
 * begins with one. */
static int start_units(struct trace_setup *t, bool scarce_only, struct message *why)
{
    for (unsigned i = 0; i < t->config->core_count; i++) {
        struct trace_setup_core *core = &t->cores[i];
        uint32_t before = core->control;
        if (!core->traced || (scarce_only && !core->scarce))
            continue;
        int error = trace_unit_ops(core)->start(t, i);
        if (error)
            return trace_setup_unit_failed(t, i, error, "started", why);
        if (core->control != before)
            trace_setup_note(t,
                             "warning: core %s: %s reads 0x%08" PRIx32 ", and 0x%08" PRIx32
                             " before: its history may be wrong",
                             t->config->cores[i].name, trace_unit_ops(core)->control, core->control,
                             before);
    }
    return BT_OK;
}

int trace_setup_program(struct trace_setup *t, struct message *why)
{
    if (!t->history)
        return BT_OK;
    t->programmed = false;
    int error = t->m_profile ? trace_setup_enable_trace(t) : BT_OK;
    if (error)
        return trace_setup_failed(t, error, "trace cannot be enabled in DEMCR", why);
    if (t->tpiu)
        (void)coresight_tpiu_stop(t->bus, t->tpiu); /* without a clock it holds nothing up either */
    error = start_sink(t, why);
    if (error)
        return error;
    if (t->config->coresight.etf)
        error = coresight_etf_pass(t->bus, t->config->coresight.etf);
    if (!error && t->replicator)
        error =
            coresight_replicator_pass(t->bus, t->replicator, t->config->coresight.replicator_port);
    if (!error)
        error = open_funnels(t);
    if (error)
        return trace_setup_failed(t, error, "ETF, funnel or replicator cannot be set up", why);
    error = start_units(t, false, why);
    t->programmed = !error;
    return error;
}

static void deliver(const uint32_t *words, size_t count, const struct trace_sink *sink)
{
    uint8_t bytes[4 * CHUNK_WORDS];
    while (count > 0) {
        size_t n = count < CHUNK_WORDS ? count : CHUNK_WORDS;
        for (size_t i = 0; i < n; i++)
            for (unsigned k = 0; k < 4; k++)
                bytes[4 * i + k] = (uint8_t)(words[i] >> 8 * k);
        sink->bytes(sink->user, bytes, 4 * n);
        words += n;
        count -= n;
    }
}

static int push_out(struct trace_setup *t, struct message *why)
{
    int error = BT_OK;
    if (!t->m_profile)
        error = coresight_tpiu_drain(t->bus, t->sink);
    else if (t->full_tpiu)
        error = coresight_tpiu_flush(t->bus, t->sink);
    if (!error && t->m_profile)
        error = trace_setup_push_out(t);
    return error ? trace_setup_failed(t, error, "the last trace stays in the port", why) : BT_OK;
}

static void count_run(void *ctx, const struct formatter_run *run)
{
    struct trace_setup *t = ctx;
    for (unsigned i = 0; i < t->config->core_count && run->kind == FORMATTER_DATA; i++)
        if (t->cores[i].trace_id == run->id)
            t->cores[i].bytes += run->len;
}

/* One unit can push another one's trace out of the buffer, with all its synchronisations. */
static void note_scarce(struct trace_setup *t, const struct coresight_buffer_content *content)
{
    struct formatter frames;
    formatter_init(&frames, FORMATTER_ALIGNED);
    for (unsigned i = 0; i < t->config->core_count; i++)
        t->cores[i].bytes = 0;
    for (size_t k = 0; k < content->words && content->wrapped; k++) {
        const uint32_t w = t->words[k];
        const uint8_t bytes[4] = {(uint8_t)w, (uint8_t)(w >> 8), (uint8_t)(w >> 16),
                                  (uint8_t)(w >> 24)};
        formatter_feed(&frames, bytes, sizeof bytes, count_run, t);
    }
    for (unsigned i = 0; i < t->config->core_count; i++) {
        struct trace_setup_core *core = &t->cores[i];
        uint32_t sync = core->sync_bytes ? core->sync_bytes : SYNC_DEFAULT;
        core->scarce = content->wrapped && core->bytes < 2 * (size_t)sync;
    }
}

int trace_setup_collect(struct trace_setup *t, const struct trace_sink *sink, struct message *why)
{
    struct coresight_buffer_content content;
    if (!t->history)
        return BT_OK;
    if (!has_buffer(t))
        return push_out(t, why);
    int error = coresight_buffer_stop(&t->buffer);
    if (!error)
        error = coresight_buffer_read(&t->buffer, t->words, &content);
    if (error) {
        sink->lost(sink->user, BT_GAP_LOST_BYTES);
        return trace_setup_failed(t, error, "the trace buffer cannot be read", why);
    }
    note_scarce(t, &content);
    if (content.wrapped)
        sink->lost(sink->user, BT_GAP_OVERWRITTEN);
    deliver(t->words, content.words, sink);
    if (content.unclean)
        sink->lost(sink->user, BT_GAP_WIRE);
    return BT_OK;
}

int trace_setup_rearm(struct trace_setup *t, struct message *why)
{
    if (!t->history || !has_buffer(t))
        return BT_OK;
    int error = coresight_buffer_start(&t->buffer);
    if (error)
        return trace_setup_failed(t, error, "the trace buffer cannot be started", why);
    return start_units(t, true, why);
}
