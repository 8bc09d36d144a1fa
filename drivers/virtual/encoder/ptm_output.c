/* SPDX-License-Identifier: BSD-3-Clause */
/* PTM model, lower half: compression against what was sent, counters, packets to the buffer. */
#include "ptm_encoder_state.h"
#include "ptm_packets.h"

#include <string.h>

#define EXCEPTION_DEBUG 1

static int ptm_output_emit(struct ptm_encoder *e, enum ptm_packet_kind kind, const uint8_t *bytes,
                           size_t size)
{
    int error;

    if (!e->started && kind != PTM_PACKET_ASYNC) {
        error = ptm_out_async(e);
        if (error)
            return error;
    }
    if (kind != PTM_PACKET_IGNORE && e->started &&
        trace_random_percent(&e->random, e->options.ignore_percent)) {
        error = ptm_out_single(e, PTM_PACKET_IGNORE, 0x66);
        if (error)
            return error;
    }
    uint64_t offset = e->out->size;
    error = trace_bytes_append(e->out, bytes, size);
    if (error)
        return error;
    e->started = true;
    e->bytes_since_async += size;
    e->packets[kind]++;
    if (e->observer)
        e->observer(e->observer_context, kind, offset, size);
    return 0;
}

/* The count that the next packet carries, and the start of a new one. */
static int64_t take_count(struct ptm_encoder *e)
{
    if (!e->cycle_accurate)
        return PTM_NO_COUNT;
    e->last_count = e->cycles > UINT32_MAX ? UINT32_MAX : (uint32_t)e->cycles;
    e->cycles = 0;
    return e->last_count;
}

int ptm_out_async(struct ptm_encoder *e)
{
    static const uint8_t zeros[64];
    unsigned spread = e->options.zeros_max - e->options.zeros_min + 1;
    unsigned count = e->options.zeros_min + trace_random_below(&e->random, spread);
    uint8_t bytes[sizeof zeros + 1];

    memset(bytes, 0, count);
    bytes[count] = 0x80;
    int error = ptm_output_emit(e, PTM_PACKET_ASYNC, bytes, count + 1);
    e->bytes_since_async = 0;
    return error;
}

static int isync_vmid(struct ptm_encoder *e)
{
    if (e->vmid_due || (e->trace_vmid && e->options.vmid_after_isync))
        return ptm_out_vmid(e);
    return 0;
}

int ptm_out_isync(struct ptm_encoder *e, unsigned reason, const struct ptm_state *next)
{
    uint8_t bytes[PTM_PACKET_MAX];
    struct ptm_isync_fields f = {.address = (uint32_t)next->address,
                                 .isa = next->isa,
                                 .security = next->security,
                                 .reason = reason,
                                 .count = PTM_NO_COUNT,
                                 .count_bit7 = !e->options.plain_isync_count,
                                 .context_id = e->context_id,
                                 .context_id_bytes = e->context_id_bytes};
    int error = ptm_out_flush(e);

    if (error)
        return error;
    if (reason != 0) {
        f.count = take_count(e);
        /* v1.1: the count after an overflow or Debug state is unknown. Show that it is. */
        if (f.count != PTM_NO_COUNT && e->v11 && reason >= 2)
            f.count = e->last_count = trace_random_below(&e->random, 4096);
    }
    error = ptm_output_emit(e, PTM_PACKET_ISYNC, bytes, ptm_put_isync(bytes, &f));
    if (error)
        return error;
    e->last = (struct ptm_last){
        .address = f.address, .isa = f.isa, .alt = f.isa == BT_ISA_T32EE, .security = f.security};
    e->stack_count = 0;
    e->isync_due = false;
    e->context_id_due = false;
    return isync_vmid(e);
}

int ptm_out_flush(struct ptm_encoder *e)
{
    uint8_t bytes[PTM_PACKET_MAX];

    if (e->atom_count == 0)
        return 0;
    size_t size = ptm_put_atoms(bytes, e->atoms, e->atom_count);
    e->atoms = 0;
    e->atom_count = 0;
    return ptm_output_emit(e, PTM_PACKET_ATOM, bytes, size);
}

int ptm_out_atom(struct ptm_encoder *e, bool n)
{
    uint8_t bytes[PTM_PACKET_MAX];

    if (e->cycle_accurate) {
        size_t size = ptm_put_cycle_atom(bytes, n, (uint32_t)take_count(e));
        return ptm_output_emit(e, PTM_PACKET_ATOM, bytes, size);
    }
    if (e->atom_count == 0)
        e->atom_limit = e->options.atoms_random
                            ? 1 + trace_random_below(&e->random, e->options.atoms_max)
                            : e->options.atoms_max;
    e->atoms = e->atoms << 1 | n;
    e->atom_count++;
    return e->atom_count >= e->atom_limit ? ptm_out_flush(e) : 0;
}

/* Address bytes to send for `address`: what is needed, or at random more. */
static unsigned choose_bytes(struct ptm_encoder *e, uint32_t address, enum bt_isa isa, bool info)
{
    unsigned least = 5;

    if (isa == e->last.isa && !(e->options.full_on_isa_change && isa != e->next.isa))
        least = ptm_address_bytes(address, e->last.address, isa);
    if (info && least < 2)
        least = 2;
    if (least < 5 && trace_random_percent(&e->random, e->options.longer_percent))
        return least + 1 + trace_random_below(&e->random, 5 - least);
    return least;
}

int ptm_out_branch(struct ptm_encoder *e, const struct ptm_state *target, unsigned exception)
{
    uint8_t bytes[PTM_PACKET_MAX];
    bool alt = target->isa == BT_ISA_T32EE;
    bool thumb = alt || target->isa == BT_ISA_T32;
    bool was_hyp = e->last.security == BT_SEC_HYP;
    struct ptm_branch_fields f = {.address = (uint32_t)target->address,
                                  .isa = target->isa,
                                  .exception = exception,
                                  .security = target->security};
    int error = ptm_out_flush(e);

    if (error)
        return error;
    if (exception > 0xf || (target->security == BT_SEC_HYP) != was_hyp)
        f.info_bytes = 2;
    else if (exception || target->security != e->last.security || (thumb && alt != e->last.alt))
        f.info_bytes = 1;
    f.address_bytes = choose_bytes(e, f.address, f.isa, f.info_bytes > 0);
    f.count = take_count(e);
    error = ptm_output_emit(e, PTM_PACKET_BRANCH, bytes, ptm_put_branch(bytes, &f));
    e->last.address = f.address;
    e->last.isa = f.isa;
    if (f.info_bytes) {
        e->last.security = f.security;
        e->last.alt = alt;
    }
    return error;
}

int ptm_out_debug(struct ptm_encoder *e)
{
    uint8_t bytes[PTM_PACKET_MAX];
    /* Address and state mean nothing here. Zeros and all five bytes, as seen on a Cortex-A15. */
    struct ptm_branch_fields f = {.isa = BT_ISA_A32,
                                  .address_bytes = 5,
                                  .info_bytes = 1,
                                  .exception = EXCEPTION_DEBUG,
                                  .security = BT_SEC_SECURE};
    int error = ptm_out_flush(e);

    if (error)
        return error;
    f.count = take_count(e);
    return ptm_output_emit(e, PTM_PACKET_BRANCH, bytes, ptm_put_branch(bytes, &f));
}

int ptm_out_update(struct ptm_encoder *e, const struct ptm_place *place)
{
    uint8_t bytes[PTM_PACKET_MAX];
    bool alt = place->isa == BT_ISA_T32EE;
    bool info = place->isa != BT_ISA_A32 && alt != e->last.alt;
    int error = ptm_out_flush(e);

    if (error)
        return error;
    unsigned count = info ? 5 : choose_bytes(e, place->address, place->isa, false);
    size_t size = ptm_put_update(bytes, place->address, place->isa, count, info ? alt : -1);
    error = ptm_output_emit(e, PTM_PACKET_UPDATE, bytes, size);
    if (!e->options.update_is_not_base)
        e->last.address = place->address;
    if (count == 5)
        e->last.isa = place->isa;
    if (info)
        e->last.alt = alt;
    return error;
}

int ptm_out_context_id(struct ptm_encoder *e)
{
    uint8_t bytes[PTM_PACKET_MAX];
    int error = ptm_out_flush(e);

    e->context_id_due = false;
    if (error || e->context_id_bytes == 0)
        return error;
    size_t size = ptm_put_context_id(bytes, e->context_id, e->context_id_bytes);
    return ptm_output_emit(e, PTM_PACKET_CONTEXT_ID, bytes, size);
}

int ptm_out_vmid(struct ptm_encoder *e)
{
    uint8_t bytes[2] = {0x3c, e->vmid};
    int error = ptm_out_flush(e);

    e->vmid_due = false;
    if (error || !e->trace_vmid)
        return error;
    return ptm_output_emit(e, PTM_PACKET_VMID, bytes, sizeof bytes);
}

int ptm_out_timestamp(struct ptm_encoder *e, bool clock_changed)
{
    uint8_t bytes[PTM_PACKET_MAX];
    unsigned full = e->timestamp_wide ? 9 : 7;
    unsigned count = 1;
    uint64_t raw = e->v11 ? e->waypoint_time : e->time;
    int error = ptm_out_flush(e);

    if (error)
        return error;
    if (!e->timestamp_wide)
        raw &= ((uint64_t)1 << 48) - 1;
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
    size_t size =
        ptm_put_timestamp(bytes, raw, count, e->timestamp_wide, clock_changed, take_count(e));
    return ptm_output_emit(e, PTM_PACKET_TIMESTAMP, bytes, size);
}

int ptm_out_single(struct ptm_encoder *e, enum ptm_packet_kind kind, uint8_t header)
{
    int error = ptm_out_flush(e);

    return error ? error : ptm_output_emit(e, kind, &header, 1);
}
