/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the ETMv3 flow stage share. Private to decoder/etmv3*.c. */
#ifndef DECODER_ETMV3_FLOW_INTERNAL_H
#define DECODER_ETMV3_FLOW_INTERNAL_H

#include "decoder/etmv3/etmv3_flow.h"

/* etmv3_pending.c: the open block, the pending block, the events behind it. */

static inline bool etmv3_has_pending(const struct etmv3_flow *f)
{
    return f->pending_block.count || f->queued;
}

/* Instructions in the open block. */
static inline uint32_t etmv3_open(const struct etmv3_flow *f)
{
    return f->joined + f->done - f->begin;
}

/* The instruction that was put out last, or joined to the open block. */
static inline void etmv3_set_last(struct etmv3_flow *f, uint64_t address, uint32_t isa)
{
    f->last = address;
    f->last_isa = (uint8_t)isa;
}

/* Inline, since without an instruction for it the compiler's own is a call. */
static inline uint32_t etmv3_bits_set(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return x * 0x01010101u >> 24;
}

/* Bytes from the start of a range of T32 to its instruction `index`, up to CODE_WIDE_BITS. */
static inline uint32_t etmv3_wide_offset(const struct code_range *range, uint32_t index)
{
    uint32_t before = range->wide & (uint32_t)(((uint64_t)1 << index) - 1);
    return 2 * index + 2 * etmv3_bits_set(before);
}

/* Execution goes on at `address`: the open block must be closed. */
void etmv3_go_to(struct etmv3_flow *f, uint64_t address, uint8_t isa);

/* Address of the next instruction, if the position is known. */
uint64_t etmv3_here(struct etmv3_flow *f);

/* The range at the position again, after a copy or a change of the image: false if it is lost. */
bool etmv3_relink(struct etmv3_flow *f, struct flow_out *out, uint64_t offset);

/* The open block, if any, becomes the pending one, and the range begins at the next instruction. */
void etmv3_close(struct etmv3_flow *f);
void etmv3_rebase(struct etmv3_flow *f);

/* Puts out what is pending. */
void etmv3_release(struct etmv3_flow *f, struct flow_out *out);

/* Before the view of the image changes: only the last instruction stays pending. */
void etmv3_split(struct etmv3_flow *f, struct flow_out *out);

/* The last instruction did not complete (IHI 0014Q 7.3): true, and its address, if it was
 * pending. */
bool etmv3_cancel(struct etmv3_flow *f, uint64_t *address);

/*
 * Where events go now: to `out`, or behind what is pending. Close the open block before; give what
 * it returned to etmv3_events_end() at once when the events are made.
 */
struct flow_out *etmv3_events(struct etmv3_flow *f, struct flow_out *out, struct flow_out *tray);
void etmv3_events_end(struct etmv3_flow *f, const struct flow_out *to, const struct flow_out *tray);

/* etmv3_flow.c */

#define ETMV3_EXC_DEBUG 1u /* A and R profile */

/* Where a branch packet found execution: the preferred return address of an exception. */
struct etmv3_origin {
    uint64_t address;
    uint8_t isa;
    bool known;
    bool canceled; /* the instruction at `address` did not complete */
};

/* The event of an exception. Valid until the next one. */
struct bt_event *etmv3_exception(struct etmv3_flow *f, const struct etmv3_packet *k,
                                 const struct etmv3_origin *from, struct flow_out *out);

void etmv3_atoms(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out);

/* One executed instruction without a W atom: that of an LSiP I-sync. */
void etmv3_implied(struct etmv3_flow *f, uint64_t offset, struct flow_out *out);

static inline bool etmv3_has_data(const struct etmv3_flow *f)
{
    return f->config.data_value || f->config.data_address;
}

/* Looks for data instructions in the pending block: before it is put out, and before data. */
void etmv3_data_scan(struct etmv3_flow *f);

/* What follows is no instruction's: the stack transfers of an exception, 4 bytes each, or nothing
 * is known of it (0 bytes). */
void etmv3_data_disown(struct etmv3_flow *f, uint8_t bytes);

#endif
