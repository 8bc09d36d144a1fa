/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream_internal.h"

#include "decoder/etmv4/etmv4_fast.h"

static void code_options(const struct stream_config *config, struct code_options *options)
{
    options->wait_waypoints = config->etmv4.wait_waypoints;
    options->start_waypoints = config->etmv4.transactions_p0;
}

static void init(struct stream *s, const struct stream_config *config, struct code_cache *code)
{
    etmv4_init(&s->u.etmv4.parser, &config->etmv4);
    etmv4_flow_init(&s->u.etmv4.flow, &config->etmv4, code, config->core, config->generation);
}

static size_t state_size(const struct stream_config *config)
{
    return offsetof(struct stream_etmv4, flow) + offsetof(struct etmv4_flow, queue) +
           etmv4_queue_size(config->etmv4.max_speculated);
}

static struct flow_core *core(struct stream *s)
{
    return &s->u.etmv4.flow.core;
}

static struct stream_place place(const struct stream *s)
{
    const struct etmv4 *parser = &s->u.etmv4.parser;
    return (struct stream_place){.offset = parser->offset + parser->carry_len,
                                 .lost_at = parser->resync_start,
                                 .synced = parser->synced};
}

static size_t fast_path(struct stream *s, const uint8_t *data, size_t len, struct flow_out *out)
{
    return etmv4_fast(&s->u.etmv4.parser, &s->u.etmv4.flow, data, len, out, &s->packets);
}

static size_t parse(struct stream *s, const uint8_t *data, size_t len, size_t max,
                    struct stream_batch *b)
{
    return etmv4_parse(&s->u.etmv4.parser, data, len, b->u.etmv4, max, &b->count);
}

static void finish(struct stream *s, struct stream_batch *b)
{
    b->count = etmv4_finish(&s->u.etmv4.parser, b->u.etmv4);
}

static size_t run(struct stream *s, const struct stream_batch *b, size_t from, size_t count,
                  struct flow_out *out)
{
    return etmv4_flow_run(&s->u.etmv4.flow, b->u.etmv4 + from, count, out);
}

static bool drain(struct stream *s, struct flow_out *out)
{
    return etmv4_flow_finish(&s->u.etmv4.flow, out);
}

static void gap(struct stream *s, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                struct flow_out *out)
{
    etmv4_discontinuity(&s->u.etmv4.parser);
    etmv4_flow_gap(&s->u.etmv4.flow, offset, cause, bytes, out);
}

static void view(const struct stream *s, const struct stream_batch *b, size_t i,
                 struct stream_packet *out)
{
    const struct etmv4_packet *k = &b->u.etmv4[i];
    (void)s;
    out->offset = k->offset;
    out->size = k->size == 0xffff ? k->value : k->size;
    out->zeros = k->kind == ETMV4_ASYNC;
    out->skipped = k->kind == ETMV4_UNSYNCED;
    out->packet = k;
}

const struct stream_ops stream_ops_etmv4 = {
    .code_options = code_options,
    .init = init,
    .state_size = state_size,
    .core = core,
    .place = place,
    .fast_path = fast_path,
    .parse = parse,
    .finish = finish,
    .run = run,
    .drain = drain,
    .gap = gap,
    .view = view,
};
