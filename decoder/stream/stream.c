/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream_internal.h"

#include <string.h>

#define FEW 3 /* packets after which the fast path is tried again */

static const struct stream_ops *ops_of(const struct stream *s)
{
    return &stream_protocols[s->protocol];
}

static const struct flow_core *const_core(const struct stream *s)
{
    return stream_core((struct stream *)s);
}

void stream_code_options(const struct stream_config *config, struct code_options *options)
{
    memset(options, 0, sizeof *options);
    if (stream_protocols[config->protocol].code_options)
        stream_protocols[config->protocol].code_options(config, options);
}

void stream_init(struct stream *s, const struct stream_config *config, struct code_cache *code)
{
    memset(s, 0, sizeof *s);
    s->protocol = (uint8_t)config->protocol;
    s->size = (uint32_t)stream_state_size(config);
    ops_of(s)->init(s, config, code);
}

struct stream_facts stream_facts(const struct stream *s)
{
    return stream_protocols[s->protocol].facts;
}

bool stream_counts_blocks(const struct stream_config *config)
{
    const struct stream_ops *ops = &stream_protocols[config->protocol];
    return ops->counts_blocks && ops->counts_blocks(config);
}

bool stream_traces_context(const struct stream_config *config)
{
    switch (config->protocol) {
    case STREAM_PTM:
        return config->ptm.context_bytes;
    case STREAM_ETMV3:
        return config->etmv3.context_bytes;
    case STREAM_ETMV2:
        return config->etmv2.context_bytes;
    case STREAM_ETMV1:
        return config->etmv1.context_bytes;
    case STREAM_ETMV4:
        return config->etmv4.traces_context;
    default:
        return false;
    }
}

size_t stream_state_size(const struct stream_config *config)
{
    return offsetof(struct stream, u) + stream_protocols[config->protocol].state_size(config);
}

void stream_save(const struct stream *s, struct stream *copy)
{
    memcpy(copy, s, s->size);
    flow_core_link(stream_core(copy), NULL);
}

void stream_resume(struct stream *s, const struct stream *copy, struct code_cache *code)
{
    memcpy(s, copy, copy->size);
    flow_core_link(stream_core(s), code);
}

void stream_unlink(struct stream *s)
{
    struct flow_core *core = stream_core(s);
    core->range = NULL;
    core->view_stale = true;
}

static void view_packet(const struct stream *s, const struct stream_batch *b, size_t i,
                        struct stream_packet *view)
{
    memset(view, 0, sizeof *view);
    ops_of(s)->view(s, b, i, view);
}

/* A listing wants each packet followed by its effect. */
static void take_one_by_one(struct stream *s, const struct stream_batch *b,
                            struct stream_sink *sink)
{
    const struct stream_ops *ops = ops_of(s);
    for (size_t i = 0; i < b->count; i++) {
        struct stream_packet view;
        while (ops->run(s, b, i, 1, &sink->out) == 0)
            sink->flush(sink->ctx, &sink->out);
        view_packet(s, b, i, &view);
        sink->packet(sink->ctx, &view);
        sink->flush(sink->ctx, &sink->out);
    }
}

static void take_packets(struct stream *s, const struct stream_batch *b, struct stream_sink *sink)
{
    s->packets += b->count;
    if (sink->packet) {
        take_one_by_one(s, b, sink);
        return;
    }
    const struct stream_ops *ops = ops_of(s);
    size_t done = 0;
    while (done < b->count) {
        done += ops->run(s, b, done, b->count - done, &sink->out);
        if (done < b->count)
            sink->flush(sink->ctx, &sink->out);
    }
}

static void count_skipped(struct stream *s, const struct stream_batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        struct stream_packet view;
        view_packet(s, b, i, &view);
        if (view.skipped)
            s->skipped += view.size;
    }
}

/* The way past the packets: a listing wants to see them. */
static size_t stream_fast_path(struct stream *s, const uint8_t *data, size_t len,
                               struct stream_sink *sink)
{
    const struct stream_ops *ops = ops_of(s);
    return ops->fast_path && !sink->packet ? ops->fast_path(s, data, len, &sink->out) : 0;
}

static size_t stream_parse(struct stream *s, const uint8_t *data, size_t len, size_t max,
                           struct stream_batch *b)
{
    const struct stream_ops *ops = ops_of(s);
    struct stream_place before = ops->place(s);
    b->count = 0;
    size_t used = ops->parse(s, data, len, max, b);
    if (!before.synced || before.lost_at != ops->place(s).lost_at)
        count_skipped(s, b);
    return used;
}

void stream_feed(struct stream *s, const uint8_t *data, size_t len, struct stream_sink *sink)
{
    struct stream_batch b;
    size_t max = STREAM_BATCH;
    while (len > 0) {
        size_t used = stream_fast_path(s, data, len, sink);
        data += used;
        len -= used;
        if (!flow_room(&sink->out)) {
            sink->flush(sink->ctx, &sink->out);
            continue;
        }
        max = used ? FEW : 2 * max < STREAM_BATCH ? 2 * max : STREAM_BATCH;
        used = stream_parse(s, data, len, max, &b);
        take_packets(s, &b, sink);
        data += used;
        len -= used;
    }
}

void stream_gap(struct stream *s, enum bt_gap_cause cause, uint64_t bytes, struct stream_sink *sink)
{
    if (!flow_room(&sink->out))
        sink->flush(sink->ctx, &sink->out);
    ops_of(s)->gap(s, stream_offset(s), cause, bytes, &sink->out);
}

void stream_finish(struct stream *s, struct stream_sink *sink)
{
    const struct stream_ops *ops = ops_of(s);
    struct stream_batch b;
    ops->finish(s, &b);
    count_skipped(s, &b);
    take_packets(s, &b, sink);
    do {
        if (!flow_room(&sink->out))
            sink->flush(sink->ctx, &sink->out);
    } while (ops->drain && !ops->drain(s, &sink->out));
}

void stream_set_generation(struct stream *s, uint32_t generation, struct stream_sink *sink)
{
    struct flow_core *core = stream_core(s);
    if (!flow_room(&sink->out))
        sink->flush(sink->ctx, &sink->out);
    if (ops_of(s)->commit)
        ops_of(s)->commit(s, stream_offset(s), &sink->out);
    core->generation = generation;
    flow_core_link(core, core->code);
}

uint64_t stream_offset(const struct stream *s)
{
    return ops_of(s)->place(s).offset;
}

uint64_t stream_instructions(const struct stream *s)
{
    return const_core(s)->instructions;
}

uint64_t stream_blocks(const struct stream *s)
{
    return const_core(s)->blocks;
}

uint64_t stream_cycles(const struct stream *s)
{
    return const_core(s)->cycles;
}

uint64_t stream_atoms_dropped(const struct stream *s)
{
    return const_core(s)->dropped;
}

bool stream_started(const struct stream *s)
{
    return const_core(s)->started;
}

void stream_code_key(const struct stream *s, struct code_key *key)
{
    const struct etmv3_flow *f = &s->u.etmv3.flow;
    flow_core_key(const_core(s), key);
    if (s->protocol != STREAM_ETMV3 || !f->keyed)
        return;
    uint32_t generation = key->generation;
    *key = f->key;
    key->generation = generation;
}

bool stream_position(const struct stream *s, uint64_t *address, enum bt_isa *isa)
{
    const struct stream_ops *ops = ops_of(s);
    if (ops->position)
        return ops->position(s, address, isa);
    const struct flow_core *core = const_core(s);
    *address = core->cur.address;
    *isa = (enum bt_isa)core->cur.isa;
    return core->cur.known || core->cur.halted;
}
