/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream_internal.h"

#include "decoder/etmv3/etmv3_fast.h"

static void code_options(const struct stream_config *config, struct code_options *options)
{
    options->t32_split = config->etmv3.t32_split;
}

static void init(struct stream *s, const struct stream_config *config, struct code_cache *code)
{
    etmv3_init(&s->u.etmv3.parser, &config->etmv3);
    etmv3_flow_init(&s->u.etmv3.flow, &config->etmv3, code, config->core, config->generation);
}

static size_t state_size(const struct stream_config *config)
{
    (void)config;
    return sizeof(struct stream_etmv3);
}

static bool counts_blocks(const struct stream_config *config)
{
    return config->etmv3.cycle_accurate;
}

static struct flow_core *core(struct stream *s)
{
    return &s->u.etmv3.flow.core;
}

static struct stream_place place(const struct stream *s)
{
    const struct etmv3 *parser = &s->u.etmv3.parser;
    return (struct stream_place){.offset = parser->offset + parser->carry_len,
                                 .lost_at = parser->resync_start,
                                 .synced = parser->synced};
}

static bool position(const struct stream *s, uint64_t *address, enum bt_isa *isa)
{
    return etmv3_flow_position(&s->u.etmv3.flow, address, isa);
}

static size_t fast_path(struct stream *s, const uint8_t *data, size_t len, struct flow_out *out)
{
    return etmv3_fast(&s->u.etmv3.parser, &s->u.etmv3.flow, data, len, out, &s->packets);
}

static size_t parse(struct stream *s, const uint8_t *data, size_t len, size_t max,
                    struct stream_batch *b)
{
    return etmv3_parse(&s->u.etmv3.parser, data, len, b->u.etmv3, max, &b->count);
}

static void finish(struct stream *s, struct stream_batch *b)
{
    b->count = etmv3_finish(&s->u.etmv3.parser, b->u.etmv3);
}

static size_t run(struct stream *s, const struct stream_batch *b, size_t from, size_t count,
                  struct flow_out *out)
{
    return etmv3_flow_run(&s->u.etmv3.flow, b->u.etmv3 + from, count, out);
}

static bool drain(struct stream *s, struct flow_out *out)
{
    etmv3_flow_finish(&s->u.etmv3.flow, out);
    return true;
}

static void commit(struct stream *s, uint64_t offset, struct flow_out *out)
{
    etmv3_flow_commit(&s->u.etmv3.flow, offset, out);
}

static void gap(struct stream *s, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                struct flow_out *out)
{
    etmv3_discontinuity(&s->u.etmv3.parser);
    etmv3_flow_gap(&s->u.etmv3.flow, offset, cause, bytes, out);
}

static void view(const struct stream *s, const struct stream_batch *b, size_t i,
                 struct stream_packet *out)
{
    const struct etmv3_packet *k = &b->u.etmv3[i];
    (void)s;
    out->offset = k->offset;
    out->size = k->size == 0xffff ? k->value : k->size;
    out->zeros = k->kind == ETMV3_ASYNC;
    out->skipped = k->kind == ETMV3_UNSYNCED;
    out->packet = k;
}

const struct stream_ops stream_ops_etmv3 = {
    .code_options = code_options,
    .init = init,
    .state_size = state_size,
    .counts_blocks = counts_blocks,
    .core = core,
    .place = place,
    .position = position,
    .fast_path = fast_path,
    .parse = parse,
    .finish = finish,
    .run = run,
    .drain = drain,
    .commit = commit,
    .gap = gap,
    .view = view,
};
