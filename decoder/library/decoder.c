/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder.h"

#include "check_source.h"
#include "image.h"

#include <stdlib.h>

_Static_assert(BT_NO_CYCLES == FLOW_NO_CYCLES, "counts are handed on as they are");

static void flush_live(void *ctx, struct flow_out *out)
{
    struct bt_decoder *d = ctx;
    size_t e = 0;
    for (size_t b = 0; b < out->block_count; b++) {
        while (e < out->event_count && out->events[e].position <= d->handout.number)
            handout_event(&d->handout, &out->events[e++]);
        handout_block(&d->handout, &out->blocks[b], out->cycles[b]);
    }
    while (e < out->event_count)
        handout_event(&d->handout, &out->events[e++]);
    out->block_count = 0;
    out->event_count = 0;
}

static void take_packet(void *ctx, const struct stream_packet *packet)
{
    const struct bt_decoder *d = ctx;
    const struct source_protocol *protocol = d->live->protocol;
    char text[DETAIL_MAX] = "";
    struct detail detail = {text, 0};
    protocol->describe(&d->live->config, packet->packet, &detail);
    const struct bt_packet out = {.offset = packet->offset,
                                  .size = packet->size,
                                  .name = protocol->name(packet->packet),
                                  .detail = text,
                                  .skipped = packet->skipped};
    d->handout.sink.packet(d->handout.sink.ctx, &out);
}

static int start_live(struct bt_decoder *d, const struct stream_config *config,
                      const struct bt_image *image, const struct code_options *options)
{
    struct live *l = calloc(1, sizeof *l);
    if (!l)
        return BT_ERR_NOMEM;
    d->live = l;
    l->protocol = source_protocol(config->protocol);
    l->config = *config;
    int error = code_cache_init(&l->code, &image->code, options);
    if (error)
        return error;
    stream_init(&l->stream, config, &l->code);
    stream_code_key(&l->stream, &d->handout.key);
    l->sink = (struct stream_sink){.out = {.blocks = l->blocks,
                                           .cycles = l->cycles,
                                           .events = l->events,
                                           .block_max = OUT_BLOCKS,
                                           .event_max = OUT_EVENTS},
                                   .flush = flush_live,
                                   .packet = d->handout.sink.packet ? take_packet : NULL,
                                   .ctx = d};
    return BT_OK;
}

static int start_history(struct bt_decoder *d, const struct stream_config *config,
                         const struct bt_image *image, const struct bt_limits *limits)
{
    static const struct bt_limits defaults = {0};
    const struct bt_limits *l = limits ? limits : &defaults;
    const struct history_config history = {.checkpoint_bytes = l->window_bytes,
                                           .max_bytes = l->trace_bytes,
                                           .read = l->read,
                                           .read_ctx = l->ctx};
    return history_new(&history, config, &image->code, &d->history);
}

int bt_decoder_new(const struct bt_source *source, struct bt_image *image,
                   const struct bt_sink *sink, const struct bt_limits *limits,
                   struct bt_decoder **out)
{
    struct stream_config config;
    struct code_options options;
    struct source_error why;
    unsigned trace_id;
    if (!out || !image)
        return BT_ERR_INVAL;
    *out = NULL;
    int error = check_source(source, &config, &trace_id, &why);
    if (error)
        return error;
    struct bt_decoder *d = calloc(1, sizeof *d);
    if (!d)
        return BT_ERR_NOMEM;
    d->m_profile = source_m_profile(source);
    d->handout.end = UINT64_MAX;
    if (sink)
        d->handout.sink = *sink;
    stream_code_options(&config, &options);
    error = code_cache_init(&d->handout.code, &image->code, &options);
    if (!error)
        error = sink ? start_live(d, &config, image, &options)
                     : start_history(d, &config, image, limits);
    if (error) {
        bt_decoder_free(d);
        return error;
    }
    image->used = true;
    *out = d;
    return BT_OK;
}

void bt_decoder_free(struct bt_decoder *d)
{
    if (!d)
        return;
    if (d->text)
        d->free_text(d->text);
    if (d->live)
        code_cache_release(&d->live->code);
    free(d->live);
    history_free(d->history);
    code_cache_release(&d->handout.code);
    free(d);
}

int bt_decoder_feed(struct bt_decoder *d, const uint8_t *data, size_t size)
{
    if (!d || d->finished || (!data && size))
        return BT_ERR_INVAL;
    if (d->history)
        return history_append(d->history, data, size);
    stream_feed(&d->live->stream, data, size, &d->live->sink);
    flush_live(d, &d->live->sink.out);
    return BT_OK;
}

int bt_decoder_gap(struct bt_decoder *d, enum bt_gap_cause cause, uint64_t bytes)
{
    bool known = cause == BT_GAP_WIRE || cause == BT_GAP_LOST_BYTES || cause == BT_GAP_OVERWRITTEN;
    if (!d || d->finished || !known)
        return BT_ERR_INVAL;
    if (d->history)
        return history_gap(d->history, cause, bytes);
    stream_gap(&d->live->stream, cause, bytes, &d->live->sink);
    flush_live(d, &d->live->sink.out);
    return BT_OK;
}

int bt_decoder_finish(struct bt_decoder *d)
{
    if (!d || d->finished)
        return BT_ERR_INVAL;
    d->finished = true;
    if (d->history) {
        history_finish(d->history);
        return BT_OK;
    }
    stream_finish(&d->live->stream, &d->live->sink);
    flush_live(d, &d->live->sink.out);
    return BT_OK;
}

static void live_status(const struct stream *s, struct bt_status *out)
{
    enum bt_isa isa = BT_ISA_A32;
    out->bytes = stream_offset(s);
    out->skipped = s->skipped;
    out->packets = s->packets;
    out->blocks = stream_blocks(s);
    out->end = stream_instructions(s);
    out->position_known = stream_position(s, &out->address, &isa);
    out->isa = (uint8_t)isa;
}

static void history_status(const struct history *h, struct bt_status *out)
{
    enum bt_isa isa = BT_ISA_A32;
    out->bytes = history_bytes(h);
    out->skipped = history_skipped(h);
    out->packets = history_packets(h);
    out->blocks = history_blocks(h);
    out->first = history_first(h);
    out->end = history_end(h);
    out->position_known = history_position(h, &out->address, &isa);
    out->isa = (uint8_t)isa;
}

int bt_decoder_status(const struct bt_decoder *d, struct bt_status *out)
{
    if (!d || !out)
        return BT_ERR_INVAL;
    *out = (struct bt_status){0};
    if (d->history)
        history_status(d->history, out);
    else
        live_status(&d->live->stream, out);
    return BT_OK;
}
