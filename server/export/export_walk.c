/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/export_walk.h"

#include "export_walk_internal.h"
#include "server/history/parallel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WALK_PIECE 16u /* bytes of a source whose output is looked at */

bool export_m_profile(const struct recording_source *source)
{
    return source->core && strncmp(source->core->type, "Cortex-M", 8) == 0;
}

/* Whether anything at all is missing that ran while trace was on. */
static bool is_lossy(const struct export_loss *loss)
{
    uint64_t sum = loss->skipped + loss->left_out + loss->dropped + loss->doubtful;
    for (unsigned cause = BT_GAP_DEBUG + 1; cause < BT_GAP_CAUSES; cause++)
        sum += loss->gaps[cause];
    return sum != 0;
}

static void loss_add(char *out, size_t size, uint64_t value, const char *what, const char *before)
{
    size_t n = strlen(out);
    if (value)
        snprintf(out + n, size - n, "%s%s %" PRIu64, before, what, value);
}

void export_loss_text(const struct export_loss *loss, char *out, size_t size)
{
    if (loss->sampled) {
        snprintf(out, size, "%" PRIu64 " PC samples from %" PRIu64 " bytes of trace",
                 loss->instructions, loss->bytes);
        loss_add(out, size, loss->asleep, "asleep", "; ");
        loss_add(out, size, loss->prohibited, "where tracing is prohibited", "; ");
    } else if (loss->bytes || !loss->instructions) {
        snprintf(out, size, "%" PRIu64 " instructions from %" PRIu64 " bytes of trace",
                 loss->instructions, loss->bytes);
    } else {
        snprintf(out, size, "%" PRIu64 " instructions of the history", loss->instructions);
    }
    const char *before = "; trace was off: ";
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        if (cause == BT_GAP_DEBUG + 1)
            before = "; gaps: ";
        loss_add(out, size, loss->gaps[cause], bt_gap_name((enum bt_gap_cause)cause), before);
        if (loss->gaps[cause])
            before = ", ";
    }
    loss_add(out, size, loss->skipped, "bytes skipped", "; ");
    loss_add(out, size, loss->taken_back, "doubtful instructions before gaps, of no line:", "; ");
    if (loss->doubtful > loss->taken_back)
        loss_add(out, size, loss->doubtful - loss->taken_back, "doubtful instructions", "; ");
    loss_add(out, size, loss->dropped, "branches on unknown positions", "; ");
    loss_add(out, size, loss->left_out, "ranges without room", "; ");
    if (!is_lossy(loss) && strlen(out) + 16 < size)
        strcat(out, "; no gaps");
}

static void walk_output(void *ctx, struct flow_out *out)
{
    struct walk_state *s = ctx;
    if (s->walk->output)
        s->walk->output(s->walk->ctx, out, s->counts->number, stream_offset(&s->stream));
    if (s->times)
        counts_feed_times(s->counts, out, stream_instructions(&s->stream));
    else
        counts_feed(s->counts, out);
    for (size_t e = 0; e < out->event_count; e++) {
        gap_ledger_take(&s->gaps, &out->events[e]);
        if (out->events[e].kind == BT_EVENT_GAP)
            s->doubtful += out->events[e].u.gap.doubtful;
        s->exceptions += out->events[e].kind == BT_EVENT_EXCEPTION;
    }
    out->block_count = 0;
    out->event_count = 0;
    if (s->times)
        counts_room(s->counts, out);
}

static void listener_open(struct listener *l, const struct recording_source *source,
                          struct code_cache *code, void (*flush)(void *ctx, struct flow_out *out),
                          void *ctx)
{
    stream_init(&l->stream, &source->config, code);
    l->sink = (struct stream_sink){.out = {.blocks = l->none,
                                           .events = l->events,
                                           .block_max = FLOW_SLACK,
                                           .event_max = WALK_EVENTS},
                                   .flush = flush,
                                   .ctx = ctx};
}

static void walk_told(void *ctx, struct flow_out *out)
{
    const struct walk_state *s = ctx;
    for (size_t e = 0; e < out->event_count; e++)
        s->walk->told(s->walk->ctx, &out->events[e], s->counts->number, s->counts->cycles);
    out->event_count = 0;
}

/* The core's trace up to there is counted first. */
static int walk_other(void *ctx, unsigned id, const uint8_t *data, size_t len)
{
    struct walk_state *s = ctx;
    if (id != s->walk->beside->trace_id)
        return BT_OK;
    walk_settle(s);
    stream_feed(&s->beside.stream, data, len, &s->beside.sink);
    walk_told(s, &s->beside.sink.out);
    return BT_OK;
}

int walk_data(void *ctx, const uint8_t *data, size_t len)
{
    struct walk_state *s = ctx;
    if (s->parallel)
        return parallel_feed(s->parallel, data, len);
    for (size_t piece; s->walk->output && len > WALK_PIECE; data += piece, len -= piece) {
        piece = WALK_PIECE;
        stream_feed(&s->stream, data, piece, &s->sink);
        walk_settle(s);
    }
    stream_feed(&s->stream, data, len, &s->sink);
    return BT_OK;
}

int walk_gap(void *ctx, enum bt_gap_cause cause)
{
    struct walk_state *s = ctx;
    int error = s->parallel ? parallel_drain(s->parallel) : BT_OK;
    if (!error)
        stream_gap(&s->stream, cause, 0, &s->sink);
    if (!error && s->walk->beside) {
        walk_settle(s);
        stream_gap(&s->beside.stream, cause, 0, &s->beside.sink);
    }
    return error;
}

static uint64_t walk_function(void *ctx, uint64_t address)
{
    const struct walk_state *s = ctx;
    return export_function(s->walk->names, address);
}

int walk_open(struct walk_state *s, const struct export_walk *walk, struct counts *counts)
{
    s->walk = walk;
    s->counts = counts;
    s->times = !walk->jumps && !walk->cycles && walk->jobs <= 1 && !walk->output;
    const struct recording_source *source = s->walk->source;
    struct counts_config config = {
        .m_profile = export_m_profile(source),
        .jumps = s->walk->jumps,
        .function = walk_function,
        .function_ctx = s,
        .transfer = s->walk->transfer,
        .transfers = s->walk->transfers,
        .event = s->walk->event,
        .ctx = s->walk->ctx,
    };
    struct code_options options;
    struct code_key key;
    stream_code_options(&source->config, &options);
    if (s->times) {
        config.times = true;
        options.times = counts_times;
        options.leaves = s->walk->transfer ? counts_leaves : NULL;
        options.ctx = counts;
    }
    int error = code_cache_init(&s->code, source->image, &options);
    if (error)
        return error;
    stream_init(&s->stream, &source->config, &s->code);
    stream_code_key(&s->stream, &key);
    gap_ledger_init(&s->gaps, 0);
    s->sink = (struct stream_sink){
        .out = {.blocks = s->blocks,
                .cycles = s->walk->cycles ? s->cycles : NULL,
                .events = s->events,
                .block_max = WALK_BLOCKS,
                .event_max = WALK_EVENTS},
        .flush = walk_output,
        .ctx = s,
    };
    if (s->walk->beside)
        listener_open(&s->beside, s->walk->beside, &s->code, walk_told, s);
    struct parallel_options jobs = {.threads = s->walk->jobs, .want_blocks = true};
    if (jobs.threads > 1 && !s->walk->beside)
        s->parallel = parallel_new(&jobs, &source->config, source->image, &s->stream, &s->sink);
    config.steps = s->code.steps;
    error = counts_init(s->counts, &config, source->image, &key);
    if (!error && s->times)
        counts_room(s->counts, &s->sink.out);
    return error;
}

void walk_close(struct walk_state *s)
{
    parallel_free(s->parallel);
    s->parallel = NULL;
    code_cache_release(&s->code);
    s->counts->config.ctx = s->counts->config.function_ctx = NULL; /* nothing more is fed */
}

void walk_settle(struct walk_state *s)
{
    walk_output(s, &s->sink.out);
}

void walk_finish(struct walk_state *s)
{
    stream_finish(&s->stream, &s->sink);
    walk_settle(s);
    if (!s->walk->beside)
        return;
    stream_finish(&s->beside.stream, &s->beside.sink);
    walk_told(s, &s->beside.sink.out);
}

static void walk_sum(const struct walk_state *s, struct export_loss *loss)
{
    loss->instructions += stream_instructions(&s->stream);
    loss->bytes += stream_offset(&s->stream);
    loss->skipped += s->stream.skipped;
    loss->doubtful += s->doubtful;
    loss->dropped += stream_atoms_dropped(&s->stream);
    loss->left_out += s->counts->left_out;
    loss->taken_back += s->counts->taken_back;
    for (unsigned cause = 0; cause < BT_GAP_CAUSES; cause++)
        loss->gaps[cause] += s->gaps.totals[cause];
}

int export_walk(const struct export_walk *walk, struct counts *counts, struct export_loss *loss)
{
    struct recording_pass pass;
    memset(counts, 0, sizeof *counts);
    struct walk_state *s = calloc(1, sizeof *s);
    if (!s)
        return BT_ERR_NOMEM;
    struct recording_sink sink = {
        .data = walk_data, .gap = walk_gap, .other = walk->beside ? walk_other : NULL, .ctx = s};
    int error = walk_open(s, walk, counts);
    if (!error)
        error = recording_feed(walk->recording, walk->source, &sink, &pass);
    if (!error && s->parallel)
        error = parallel_drain(s->parallel);
    if (!error)
        walk_finish(s);
    walk_close(s); /* the last counts are there */
    if (!error)
        walk_sum(s, loss);
    free(s);
    return error;
}

struct listening {
    struct listener listener;
    struct code_cache code; /* of which nothing is asked */
    void (*told)(void *ctx, const struct bt_event *event);
    void *ctx;
};

static void listening_take(void *ctx, struct flow_out *out)
{
    const struct listening *l = ctx;
    for (size_t e = 0; e < out->event_count; e++)
        l->told(l->ctx, &out->events[e]);
    out->event_count = 0;
}

static int listening_data(void *ctx, const uint8_t *data, size_t len)
{
    struct listening *l = ctx;
    stream_feed(&l->listener.stream, data, len, &l->listener.sink);
    return BT_OK;
}

static int listening_gap(void *ctx, enum bt_gap_cause cause)
{
    struct listening *l = ctx;
    stream_gap(&l->listener.stream, cause, 0, &l->listener.sink);
    return BT_OK;
}

int export_listen(struct recording *recording, const struct recording_source *source,
                  void (*told)(void *ctx, const struct bt_event *event), void *ctx, uint64_t *bytes)
{
    struct recording_pass pass;
    struct code_options options;
    struct listening *l = calloc(1, sizeof *l);
    if (!l)
        return BT_ERR_NOMEM;
    l->told = told;
    l->ctx = ctx;
    stream_code_options(&source->config, &options);
    int error = code_cache_init(&l->code, source->image, &options);
    if (!error) {
        struct recording_sink sink = {listening_data, listening_gap, .ctx = l};
        listener_open(&l->listener, source, &l->code, listening_take, l);
        error = recording_feed(recording, source, &sink, &pass);
    }
    if (!error) {
        stream_finish(&l->listener.stream, &l->listener.sink);
        listening_take(l, &l->listener.sink.out);
        *bytes += stream_offset(&l->listener.stream);
    }
    code_cache_release(&l->code);
    free(l);
    return error;
}
