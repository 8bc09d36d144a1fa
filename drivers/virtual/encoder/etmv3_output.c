/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv3 model, lower half: compression against what was sent, counters, packets to the buffer. */
#include "etmv3_encoder_state.h"
#include "etmv3_packets.h"

#include <string.h>

static int etmv3_output_append(struct etmv3_encoder *e, enum etmv3_packet_kind kind,
                               const uint8_t *bytes, size_t size, uint64_t detail)
{
    uint64_t offset = e->out->size;
    int error = trace_bytes_append(e->out, bytes, size);

    if (error)
        return error;
    e->started = true;
    if (e->minor > 0)
        e->since_async += size;
    e->packets[kind]++;
    if (e->observer)
        e->observer(e->observer_context, kind, offset, size, detail);
    return 0;
}

int etmv3_out_emit(struct etmv3_encoder *e, enum etmv3_packet_kind kind, const uint8_t *bytes,
                   size_t size, uint64_t detail)
{
    static const uint8_t ignore = 0x66;
    int error = 0;

    if (!e->started && kind != ETMV3_PACKET_ASYNC)
        error = etmv3_out_async(e);
    /* Nothing may stand in front of Store failed. */
    else if (kind != ETMV3_PACKET_IGNORE && kind != ETMV3_PACKET_STORE_FAILED && e->started &&
             trace_random_percent(&e->random, e->options.ignore_percent))
        error = etmv3_output_append(e, ETMV3_PACKET_IGNORE, &ignore, 1, 0);
    return error ? error : etmv3_output_append(e, kind, bytes, size, detail);
}

int etmv3_out_async(struct etmv3_encoder *e)
{
    unsigned spread = e->options.zeros_max - e->options.zeros_min + 1;
    unsigned count = e->options.zeros_min + trace_random_below(&e->random, spread);
    uint8_t bytes[65];

    memset(bytes, 0, count);
    bytes[count] = 0x80;
    int error = etmv3_out_emit(e, ETMV3_PACKET_ASYNC, bytes, count + 1, 0);
    e->since_async = 0;
    return error;
}

static bool is_thumb(enum bt_isa isa)
{
    return isa == BT_ISA_T32 || isa == BT_ISA_T32EE;
}

/* The version's view of a state. */
static enum bt_isa visible_isa(const struct etmv3_encoder *e, enum bt_isa isa)
{
    return isa == BT_ISA_T32EE && !e->has_alt ? BT_ISA_T32 : isa;
}

static bool visible_nonsecure(const struct etmv3_encoder *e, enum bt_security security)
{
    return e->has_security && security != BT_SEC_SECURE;
}

static bool visible_hyp(const struct etmv3_encoder *e, enum bt_security security)
{
    return e->has_hyp && security == BT_SEC_HYP;
}

/* Address bytes to send: what is needed, or at random more. */
static unsigned choose_bytes(struct etmv3_encoder *e, const struct etmv3_branch_fields *f)
{
    unsigned least = 5;
    bool same = f->isa == e->last.isa || (is_thumb(f->isa) && is_thumb(e->last.isa));

    if (same && !(f->info_bytes && !e->alternative))
        least = etmv3_address_bytes(f->address, e->last.address, f->isa, e->alternative);
    if (f->info_bytes && least < 2)
        least = 2;
    if (least < 5 && trace_random_percent(&e->random, e->options.longer_percent))
        return least + 1 + trace_random_below(&e->random, 5 - least);
    return least;
}

/* The packet for `target`, and what it makes the base. */
static void make_branch(struct etmv3_encoder *e, const struct etmv3_state *target,
                        const struct etmv3_exception *x, uint8_t resume,
                        struct etmv3_branch_fields *f)
{
    *f = (struct etmv3_branch_fields){.address = (uint32_t)target->address,
                                      .isa = visible_isa(e, target->isa),
                                      .alternative = e->alternative,
                                      .exception = x ? x->number : 0,
                                      .cancel = x && x->cancel,
                                      .nonsecure = visible_nonsecure(e, target->security),
                                      .hyp = visible_hyp(e, target->security),
                                      .has_resume = resume != 0,
                                      .resume = resume};
    bool alt = f->isa == BT_ISA_T32EE;
    bool thumb = is_thumb(f->isa);
    bool info = x || resume || f->nonsecure != e->last.nonsecure || f->hyp != e->last.hyp ||
                (thumb && alt != e->last.alt) ||
                (thumb && !is_thumb(e->last.isa) && e->last.alt_used);
    /* Whether Hyp lasts when only byte 0 is there is not clear: always say it. */
    if (e->has_info && info)
        f->info_bytes = f->exception > 15 || f->hyp || e->last.hyp ? 2 : 1;
    f->address_bytes = choose_bytes(e, f);
    e->last.address = f->address;
    e->last.isa = f->isa;
    if (f->info_bytes) {
        e->last.nonsecure = f->nonsecure;
        e->last.hyp = f->hyp;
        e->last.alt = alt;
        e->last.alt_used |= alt;
    }
}

int etmv3_inline_code(const struct etmv3_encoder *e, unsigned exception)
{
    static const int8_t codes[16] = {-1, 7, -1, -1, 6, 4, -1, -1, 0, 0, 0, 0, 0, -1, 1, 5};

    return e->options.m_profile || e->alternative || exception > 15 ? -1 : codes[exception];
}

/* The deprecated form serves if nothing but address and exception has to be told. */
static bool use_inline(struct etmv3_encoder *e, const struct etmv3_state *target,
                       const struct etmv3_exception *x)
{
    if (target->isa != BT_ISA_A32 || etmv3_inline_code(e, x->number) < 0)
        return false;
    if (!e->has_info)
        return true;
    return visible_nonsecure(e, target->security) == e->last.nonsecure &&
           visible_hyp(e, target->security) == e->last.hyp &&
           trace_random_percent(&e->random, e->options.inline_percent);
}

int etmv3_out_detour(struct etmv3_encoder *e, const struct etmv3_state *target)
{
    uint8_t bytes[ETMV3_PACKET_MAX];
    struct etmv3_branch_fields f;
    struct etmv3_state detour = *target;
    int error = etmv3_atoms_flush(e, false);

    if (error || !trace_random_percent(&e->random, e->options.extra_percent))
        return error;
    detour.address = (uint32_t)trace_random_next(&e->random) & ~3u;
    make_branch(e, &detour, NULL, 0, &f);
    return etmv3_out_emit(e, ETMV3_PACKET_BRANCH, bytes, etmv3_put_branch(bytes, &f), 0);
}

int etmv3_out_branch(struct etmv3_encoder *e, const struct etmv3_state *target,
                     const struct etmv3_exception *x, uint8_t resume)
{
    uint8_t bytes[ETMV3_PACKET_MAX];
    struct etmv3_branch_fields f;
    size_t size;
    int error = etmv3_atoms_flush(e, false);

    if (error)
        return error;
    if (x && use_inline(e, target, x)) {
        unsigned code = (unsigned)etmv3_inline_code(e, x->number);
        size = etmv3_put_inline_exception(bytes, (uint32_t)target->address, code, x->cancel);
        e->last.address = (uint32_t)target->address;
        e->last.isa = BT_ISA_A32;
    } else {
        make_branch(e, target, x, resume, &f);
        size = etmv3_put_branch(bytes, &f);
    }
    return etmv3_out_emit(e, ETMV3_PACKET_BRANCH, bytes, size, 0);
}

/*
 * The cycles between the last P-header and a non-periodic I-sync. 0 means unknown: more than 32
 * bits, or nothing counted since programming. Some restarts have a count that
 * means nothing (IHI 0014Q 7.13). */
static uint32_t gap_count(struct etmv3_encoder *e, unsigned reason)
{
    uint64_t gap = e->gap;
    bool first = e->packets[ETMV3_PACKET_ISYNC] == 0;

    e->gap = 0;
    if ((reason == 2 && (e->minor == 5 || e->minor == 0)) || (reason == 3 && e->minor == 0))
        return 1 + trace_random_below(&e->random, 100000);
    if (gap > UINT32_MAX)
        return 0;
    return gap || first ? (uint32_t)gap : 1;
}

int etmv3_out_cycle_count(struct etmv3_encoder *e)
{
    uint8_t bytes[ETMV3_PACKET_MAX];
    int error = etmv3_atoms_flush(e, false);

    e->count_due = false;
    if (error)
        return error;
    return etmv3_out_emit(e, ETMV3_PACKET_CYCLE_COUNT, bytes,
                          etmv3_put_cycle_count(bytes, e->count), (uint64_t)e->count << 32);
}

/* An I-sync that begins a region: its count goes along, or becomes a packet later. */
static int take_count(struct etmv3_encoder *e, unsigned reason, int64_t *count)
{
    int error = 0;

    *count = ETMV3_NO_COUNT;
    if (!e->cycle_accurate || e->data_only || reason == 0)
        return 0;
    if (e->count_due)
        error = etmv3_out_cycle_count(e);
    e->count = gap_count(e, reason);
    e->count_due = trace_random_percent(&e->random, e->options.count_percent);
    e->count_wait = trace_random_below(&e->random, e->options.count_delay + 1);
    if (!e->count_due)
        *count = e->count;
    return error;
}

static void synchronise(struct etmv3_encoder *e, const struct etmv3_isync_fields *f)
{
    e->last = (struct etmv3_last){.address = f->address,
                                  .isa = f->isa,
                                  .alt = f->isa == BT_ISA_T32EE,
                                  .alt_used = f->isa == BT_ISA_T32EE,
                                  .nonsecure = f->nonsecure,
                                  .hyp = f->hyp};
}

int etmv3_out_isync(struct etmv3_encoder *e, unsigned reason, const struct etmv3_state *next,
                    const struct etmv3_state *executing)
{
    uint8_t bytes[2 * ETMV3_PACKET_MAX];
    struct etmv3_isync_fields f = {.address = (uint32_t)next->address,
                                   .isa = visible_isa(e, next->isa),
                                   .nonsecure = visible_nonsecure(e, next->security),
                                   .hyp = visible_hyp(e, next->security),
                                   .reason = reason,
                                   .data_only = e->data_only,
                                   .lsip = executing != NULL,
                                   .context_id = e->context_id,
                                   .context_id_bytes = e->context_id_bytes};
    int error = etmv3_atoms_flush(e, false);

    if (!error)
        error = take_count(e, reason, &f.count);
    if (error)
        return error;
    synchronise(e, &f);
    if (executing)
        make_branch(e, executing, NULL, 0, &f.current);
    uint64_t detail = reason | (f.count != ETMV3_NO_COUNT ? ETMV3_DETAIL_COUNT : 0) |
                      (f.lsip ? ETMV3_DETAIL_LSIP : 0);
    if (f.count != ETMV3_NO_COUNT)
        detail |= (uint64_t)f.count << 32;
    error = etmv3_out_emit(e, ETMV3_PACKET_ISYNC, bytes, etmv3_put_isync(bytes, &f), detail);
    e->isync_due = false;
    return error || !e->trace_vmid ? error : etmv3_out_vmid(e);
}

int etmv3_out_context_id(struct etmv3_encoder *e)
{
    uint8_t bytes[ETMV3_PACKET_MAX];
    int error = etmv3_atoms_flush(e, false);

    if (error || e->context_id_bytes == 0)
        return error;
    size_t size = etmv3_put_context_id(bytes, e->context_id, e->context_id_bytes);
    return etmv3_out_emit(e, ETMV3_PACKET_CONTEXT_ID, bytes, size, 0);
}

int etmv3_out_vmid(struct etmv3_encoder *e)
{
    const uint8_t bytes[2] = {0x3c, e->vmid};
    int error = etmv3_atoms_flush(e, false);

    if (error || !e->trace_vmid)
        return error;
    return etmv3_out_emit(e, ETMV3_PACKET_VMID, bytes, sizeof bytes, 0);
}

int etmv3_out_timestamp(struct etmv3_encoder *e, bool clock_changed)
{
    uint8_t bytes[ETMV3_PACKET_MAX];
    unsigned full = e->timestamp_wide ? 9 : 7;
    unsigned count = 1;
    uint64_t raw = e->timestamp_wide ? e->time : e->time & (((uint64_t)1 << 48) - 1);
    int error = etmv3_atoms_flush(e, false);

    if (error)
        return error;
    if (e->timestamp_gray)
        raw ^= raw >> 1;
    uint64_t changed = raw ^ e->timestamp_raw;
    while (count < full && changed >> 7 * count)
        count++;
    if (e->timestamp_full)
        count = full;
    else if (count < full && trace_random_percent(&e->random, e->options.longer_percent))
        count += 1 + trace_random_below(&e->random, full - count);
    e->timestamp_raw = raw;
    e->timestamp_full = false;
    size_t size = etmv3_put_timestamp(bytes, raw, count, e->timestamp_wide, clock_changed);
    return etmv3_out_emit(e, ETMV3_PACKET_TIMESTAMP, bytes, size, clock_changed);
}

int etmv3_out_single(struct etmv3_encoder *e, enum etmv3_packet_kind kind, uint8_t header)
{
    /* W-only P-headers may stand in front of anything. */
    bool all = e->options.packing == ETMV3_PACK_RANDOM && trace_random_percent(&e->random, 30);
    int error = etmv3_atoms_flush(e, all);

    return error ? error : etmv3_out_emit(e, kind, &header, 1, 0);
}
