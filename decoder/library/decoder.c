/* SPDX-License-Identifier: BSD-3-Clause */
/* Images, sources and decoders of the library. */
#include "decoder.h"
#include "btrace/image.h"
#include "btrace/source.h"
#include "btrace/version.h"
#include "decoder/program/code_image.h"
#include "decoder/source/source.h"

#include <stdlib.h>
#include <string.h>

#define BY_ALL (BT_BY_SECURITY | BT_BY_VMID | BT_BY_CONTEXT)

_Static_assert(BT_BY_SECURITY == CODE_BY_SECURITY && BT_BY_VMID == CODE_BY_VMID &&
                   BT_BY_CONTEXT == CODE_BY_CONTEXT,
               "selectors are handed on as they are");
_Static_assert(BT_NO_CYCLES == FLOW_NO_CYCLES, "counts are handed on as they are");

struct bt_image {
    struct code_image code;
    bool used; /* a decoder reads it: it cannot change */
};

int bt_image_new(struct bt_image **out)
{
    if (!out)
        return BT_ERR_INVAL;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return BT_ERR_NOMEM;
    code_image_init(&(*out)->code);
    return BT_OK;
}

int bt_image_add(struct bt_image *image, const struct bt_region *region)
{
    if (!image || !region || !region->bytes || (region->by & ~BY_ALL) ||
        region->security > BT_SEC_HYP)
        return BT_ERR_INVAL;
    if (image->used)
        return BT_ERR_UNSUPPORTED;
    const struct code_region code = {.address = region->address,
                                     .size = region->size,
                                     .bytes = region->bytes,
                                     .by = region->by,
                                     .context = region->context,
                                     .vmid = region->vmid,
                                     .security = region->security,
                                     .big_endian = region->big_endian};
    return code_image_add(&image->code, &code);
}

void bt_image_free(struct bt_image *image)
{
    if (!image)
        return;
    code_image_release(&image->code);
    free(image);
}

static bool has_names(const struct bt_source *source)
{
    if (!source || !source->type || (source->register_count && !source->registers))
        return false;
    for (size_t i = 0; i < source->register_count; i++)
        if (!source->registers[i].name)
            return false;
    return true;
}

static int check_source(const struct bt_source *source, struct stream_config *config,
                        unsigned *trace_id, char *why, size_t size)
{
    memset(config, 0, sizeof *config);
    *trace_id = 0;
    if (!has_names(source))
        return source_fail(BT_ERR_INVAL, why, size,
                           "the source has no type, or a register has no name");
    const struct source_protocol *protocol = source_protocol_of_type(source->type);
    if (!protocol)
        return source_fail(BT_ERR_UNSUPPORTED, why, size, "protocol '%s' is not supported",
                           source->type);
    config->protocol = protocol->protocol;
    return protocol->configure(source, config, trace_id, why, size);
}

int bt_source_check(const struct bt_source *source, unsigned *trace_id, char *why, size_t size)
{
    struct stream_config config;
    unsigned id;
    size = why ? size : 0;
    if (size)
        *why = '\0';
    int error = check_source(source, &config, &id, why, size);
    if (trace_id && !error)
        *trace_id = id;
    return error;
}

static uint8_t insn_flags(const struct insn *insn)
{
    unsigned flags = 0;
    if (insn->cls == INSN_DIRECT || insn->cls == INSN_INDIRECT)
        flags |= BT_INSTRUCTION_BRANCH;
    if (insn->cls == INSN_INDIRECT)
        flags |= BT_INSTRUCTION_INDIRECT;
    if (insn->flags & INSN_LINK)
        flags |= BT_INSTRUCTION_CALL;
    return (uint8_t)flags;
}

static void hand_out_instructions(struct handout *h, const struct bt_block *block, uint64_t cycles)
{
    uint64_t address = block->first, last = bt_block_last(block);
    enum bt_isa isa = bt_block_isa(block);
    if (!h->view)
        h->view = code_select(&h->code, &h->key);
    for (uint32_t i = 0; i < bt_block_count(block) && h->view; i++) {
        struct bt_instruction out = {.number = h->number + i,
                                     .address = address,
                                     .cycles = address == last ? cycles : BT_NO_CYCLES,
                                     .isa = (uint8_t)isa};
        struct insn insn;
        if (code_insn(&h->code, h->view, address, isa, &insn, &out.opcode) != BT_OK)
            break;
        out.condition = (uint8_t)(address == last ? bt_block_cond(block) : BT_COND_UNKNOWN);
        out.size = insn.size;
        out.flags = insn_flags(&insn);
        if (out.number >= h->first && out.number < h->end)
            h->sink.instruction(h->sink.ctx, &out);
        address += insn.size;
    }
}

static void handout_block(struct handout *h, const struct bt_block *block, uint64_t cycles)
{
    uint64_t next = h->number + bt_block_count(block);
    if (next > h->first && h->number < h->end) {
        if (h->sink.block)
            h->sink.block(h->sink.ctx, h->number, block, cycles);
        if (h->sink.instruction)
            hand_out_instructions(h, block, cycles);
    }
    h->number = next;
}

static void handout_event(struct handout *h, const struct bt_event *event)
{
    flow_track_key(&h->key, event);
    h->view = NULL;
    if (h->sink.event && event->position >= h->first && event->position < h->end)
        h->sink.event(h->sink.ctx, event);
}

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
    const char *name = protocol->describe(&d->live->config, packet->packet, &detail);
    const struct bt_packet out = {.offset = packet->offset,
                                  .size = packet->size,
                                  .name = name,
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
    unsigned trace_id;
    if (!out || !image)
        return BT_ERR_INVAL;
    *out = NULL;
    int error = check_source(source, &config, &trace_id, NULL, 0);
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
    struct history_totals totals;
    history_totals(h, &totals);
    out->bytes = totals.bytes;
    out->skipped = totals.skipped;
    out->packets = totals.packets;
    out->blocks = totals.blocks;
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

/* Events of the window up to instruction `number`; the code that a block is of follows from all. */
static size_t hand_out_events(struct handout *h, const struct history_window *w, size_t event)
{
    while (event < w->event_count && w->events[event].position <= h->number)
        handout_event(h, &w->events[event++]);
    return event;
}

static void hand_out_window(struct handout *h, const struct history_window *w)
{
    uint64_t first = h->first > w->first ? h->first : w->first;
    size_t event = 0, block = history_block_index(w, first);
    h->key = w->key;
    h->view = NULL;
    h->number = block < w->block_count ? history_block_number(w, block) : w->end;
    for (; block < w->block_count && h->number < h->end; block++) {
        struct bt_block b;
        event = hand_out_events(h, w, event);
        history_block(w, block, &b);
        handout_block(h, &b, history_block_cycles(w, block));
    }
    while (event < w->event_count)
        handout_event(h, &w->events[event++]);
}

/* Window to begin with: events right before instruction `first` may stand at the end of one that
 * comes before the instruction's own. */
static int find_first_window(struct history *history, uint64_t first, size_t *index)
{
    struct history_window w;
    for (*index = history_window_find(history, first); *index > 0; --*index) {
        int error = history_window_index(history, *index, &w);
        if (error || w.first < first)
            return error;
    }
    return BT_OK;
}

/* Windows without instructions are visited, too: their events count. */
static int hand_out_history(struct bt_decoder *d)
{
    size_t index;
    int error = find_first_window(d->history, d->handout.first, &index);
    for (; !error && index < history_window_count(d->history); index++) {
        struct history_window w;
        error = history_window_index(d->history, index, &w);
        if (error || w.first >= d->handout.end)
            break;
        hand_out_window(&d->handout, &w);
    }
    return error;
}

int bt_decoder_read(struct bt_decoder *d, uint64_t first, uint64_t end, const struct bt_sink *sink)
{
    if (!d || !sink || end < first)
        return BT_ERR_INVAL;
    if (!d->history)
        return BT_ERR_UNSUPPORTED;
    if (first < history_first(d->history) || end > history_end(d->history))
        return BT_ERR_RANGE;
    if (history_window_count(d->history) == 0)
        return BT_OK;
    d->handout.sink = *sink;
    d->handout.first = first;
    /* What stands behind the last instruction belongs to the end. */
    d->handout.end = end == history_end(d->history) ? UINT64_MAX : end;
    return hand_out_history(d);
}

unsigned bt_version(void)
{
    return BT_VERSION;
}
