/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream_internal.h"

#include "decoder/ptm/ptm_fast.h"

static void code_options(const struct stream_config *config, struct code_options *options)
{
    options->barrier_waypoints = config->ptm.barrier_waypoints;
    options->t32_split = config->ptm.t32_split;
}

static void init(struct stream *s, const struct stream_config *config, struct code_cache *code)
{
    ptm_init(&s->u.ptm.parser, &config->ptm);
    ptm_flow_init(&s->u.ptm.flow, &config->ptm, code, config->core, config->generation);
}

static size_t state_size(const struct stream_config *config)
{
    (void)config;
    return offsetof(struct stream_ptm, flow) + offsetof(struct ptm_flow, rs_from);
}

static bool counts_blocks(const struct stream_config *config)
{
    return config->ptm.cycle_accurate;
}

static struct flow_core *core(struct stream *s)
{
    return &s->u.ptm.flow.core;
}

static struct stream_place place(const struct stream *s)
{
    const struct ptm *parser = &s->u.ptm.parser;
    return (struct stream_place){.offset = parser->offset + parser->carry_len,
                                 .lost_at = parser->resync_start,
                                 .synced = parser->synced};
}

static size_t fast_path(struct stream *s, const uint8_t *data, size_t len, struct flow_out *out)
{
    return ptm_fast(&s->u.ptm.parser, &s->u.ptm.flow, data, len, out, &s->packets);
}

static size_t parse(struct stream *s, const uint8_t *data, size_t len, size_t max,
                    struct stream_batch *b)
{
    return ptm_parse(&s->u.ptm.parser, data, len, b->u.ptm, max, &b->count);
}

static void finish(struct stream *s, struct stream_batch *b)
{
    b->count = ptm_finish(&s->u.ptm.parser, b->u.ptm);
}

static size_t run(struct stream *s, const struct stream_batch *b, size_t from, size_t count,
                  struct flow_out *out)
{
    return ptm_flow_run(&s->u.ptm.flow, b->u.ptm + from, count, out);
}

static void gap(struct stream *s, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                struct flow_out *out)
{
    ptm_discontinuity(&s->u.ptm.parser);
    ptm_flow_gap(&s->u.ptm.flow, offset, cause, bytes, out);
}

static void view(const struct stream *s, const struct stream_batch *b, size_t i,
                 struct stream_packet *out)
{
    const struct ptm_packet *k = &b->u.ptm[i];
    (void)s;
    out->offset = k->offset;
    out->size = k->size == 0xffff ? k->value : k->size;
    out->zeros = k->kind == PTM_ASYNC;
    out->skipped = k->kind == PTM_UNSYNCED;
    out->packet = k;
}

const struct stream_ops stream_ops_ptm = {
    .code_options = code_options,
    .init = init,
    .state_size = state_size,
    .counts_blocks = counts_blocks,
    .core = core,
    .place = place,
    .fast_path = fast_path,
    .parse = parse,
    .finish = finish,
    .run = run,
    .gap = gap,
    .view = view,
};
