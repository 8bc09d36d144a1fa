/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream_internal.h"

static void code_options(const struct stream_config *config, struct code_options *options)
{
    (void)config;
    options->t32_split = true; /* no Thumb-2: a BL is two instructions */
}

static void init(struct stream *s, const struct stream_config *config, struct code_cache *code)
{
    etmv2_init(&s->u.etmv2.parser, &config->etmv2);
    etmv2_flow_init(&s->u.etmv2.flow, &config->etmv2, code, config->core, config->generation);
}

static size_t state_size(const struct stream_config *config)
{
    (void)config;
    return sizeof(struct stream_etmv2);
}

static bool counts_blocks(const struct stream_config *config)
{
    return config->etmv2.cycle_accurate;
}

static struct flow_core *core(struct stream *s)
{
    return &s->u.etmv2.flow.cursor.core;
}

static struct stream_place place(const struct stream *s)
{
    const struct etmv2 *parser = &s->u.etmv2.parser;
    return (struct stream_place){
        .offset = parser->in.offset, .lost_at = parser->resync_start, .synced = parser->synced};
}

static size_t parse(struct stream *s, const uint8_t *data, size_t len, size_t max,
                    struct stream_batch *b)
{
    return etmv2_parse(&s->u.etmv2.parser, data, len, b->u.etmv2, max, &b->count);
}

static void finish(struct stream *s, struct stream_batch *b)
{
    b->count = etmv2_finish(&s->u.etmv2.parser, b->u.etmv2);
}

static size_t run(struct stream *s, const struct stream_batch *b, size_t from, size_t count,
                  struct flow_out *out)
{
    return etmv2_flow_run(&s->u.etmv2.flow, b->u.etmv2 + from, count, out);
}

static void gap(struct stream *s, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                struct flow_out *out)
{
    etmv2_discontinuity(&s->u.etmv2.parser);
    etmv2_flow_gap(&s->u.etmv2.flow, offset, cause, bytes, out);
}

static void view(const struct stream *s, const struct stream_batch *b, size_t i,
                 struct stream_packet *out)
{
    const struct etmv2_packet *k = &b->u.etmv2[i];
    out->offset = k->offset;
    out->size = etmv2_packet_size(&s->u.etmv2.parser.config, k);
    out->skipped = k->kind == ETMV2_UNSYNCED;
    out->packet = k;
}

const struct stream_ops stream_ops_etmv2 = {
    .code_options = code_options,
    .init = init,
    .state_size = state_size,
    .counts_blocks = counts_blocks,
    .core = core,
    .place = place,
    .parse = parse,
    .finish = finish,
    .run = run,
    .gap = gap,
    .view = view,
};
