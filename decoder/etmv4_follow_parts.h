/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the short way share. Private to decoder/etmv4_follow*.c. */
#ifndef DECODER_ETMV4_FOLLOW_PARTS_H
#define DECODER_ETMV4_FOLLOW_PARTS_H

#include "decoder/etmv4_flow_parts.h"
#include "decoder/etmv4_forms.h"

#define ETMV4_HDR_ADDRESS 0x90 /* up to ETMV4_HDR_ADDRESS + 0xf; digest 6.14 */

/* Bytes that are being followed. */
struct etmv4_bytes {
    struct etmv4 *p;
    const uint8_t *at;
    const uint8_t *end;
    const uint8_t *start; /* of the stretch: at the parser's offset */
    uint64_t inner;       /* bytes of packets behind their first ones */
    unsigned left; /* atoms of the header before `at` that have yet to be taken, the long way */
};

/* What a stretch of packets works on; written back when it ends. */
struct etmv4_trail {
    struct etmv4_flow *f;
    struct code_calls *calls;
    struct code_run *run; /* that execution is in front of, or `due`: the branch that was taken */
    struct bt_block *b;
    const struct bt_block *base; /* no block before it ends with a P0 instruction not yet noted */
    uint64_t instructions;       /* number of the next one */
    uint64_t agreed;
    bool due;   /* an address must come */
    bool pops;  /* or the return stack has it */
    bool stack; /* the unit has one */
};

/* Note the last P0 instruction, before something else is put out. */
static inline void etmv4_trail_note(struct etmv4_trail *t)
{
    if (t->b > t->base)
        t->f->last_p0 = bt_block_last(t->b - 1);
    t->base = t->b;
}

/* ---- addresses ---------------------------------------------------------------------------------
 */

/* How much of an address a header brings: digest 6.14. */
static const struct etmv4_address_form {
    uint8_t size; /* bytes of the packet; of a short one, with its first payload byte; 0: other */
    uint8_t isa_bit;
    uint8_t full; /* 1: 32 bits */
} etmv4_address_forms[16] = {
    [0x5] = {2, 0, 0}, [0x6] = {2, 1, 0}, [0xa] = {5, 0, 1}, [0xb] = {5, 1, 1}};

#define ETMV4_EXACT_FORMS 3

struct etmv4_target {
    uint64_t value;
    uint8_t isa_bit;
    uint8_t size;
    uint8_t packets; /* 2: with a context in front of it */
};

static inline uint32_t etmv4_word(const uint8_t *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The address packet with this header and what is behind it at `at`, of 32 bits or less, relative
 * to `last`; false: it is another packet, or not all there. Branches only where most packets of a
 * stream are alike. */
static inline bool etmv4_near_address(const struct etmv4_address *last, uint8_t header,
                                      const uint8_t *at, const uint8_t *end, struct etmv4_target *a)
{
    unsigned h = header - ETMV4_HDR_ADDRESS;
    const struct etmv4_address_form *form = &etmv4_address_forms[h & 0xf];
    if (h < ETMV4_EXACT_FORMS) {
        *a = (struct etmv4_target){last[h].value, last[h].isa_bit, 1, 1};
        return true;
    }
    if (h > 0xf || form->size == 0 || end - at < 4)
        return false;
    uint32_t w = etmv4_word(at), bits, mask;
    unsigned more = w >> 7 & 1 & ~(unsigned)form->full;
    if (form->isa_bit) {
        bits = (w & 0x7f) << 1 | (w & 0xffffff00);
        mask = (0x100u << 8 * more) - 1;
    } else {
        bits = (w & 0x7f) << 2;
        bits |= form->full ? (w & 0x7f00) << 1 | (w & 0xffff0000) : (w & 0xff00) << 1;
        mask = (0x200u << 8 * more) - 1;
    }
    mask |= 0u - form->full;
    a->value = (last[0].value & ~(uint64_t)mask) | (bits & mask);
    a->isa_bit = form->isa_bit;
    a->size = (uint8_t)(form->size + more);
    a->packets = 1;
    return true;
}

static inline enum bt_isa etmv4_trail_isa(const struct etmv4_trail *t, const struct etmv4_target *a,
                                          bool wide)
{
    if (wide)
        return BT_ISA_A64;
    return a->isa_bit || t->f->config.m_profile ? BT_ISA_T32 : BT_ISA_A32;
}

/* Execution is told to be there: where the indirect branch went, or what is known already. */
static inline bool etmv4_trail_there(struct etmv4_trail *t, struct etmv4_bytes *in,
                                     const struct etmv4_target *a, bool wide)
{
    const struct flow_core *core = &t->f->core;
    enum bt_isa isa = etmv4_trail_isa(t, a, wide);
    if (!wide && a->value > UINT32_MAX)
        return false;
    if (t->due) {
        struct code_run *next = code_went(core->code, core->view, t->run, a->value, isa, wide);
        if (!next)
            return false;
        t->run = next;
        t->due = false;
    } else if (code_run_at(t->run, a->value, isa, wide)) {
        t->agreed = t->instructions;
    } else {
        return false;
    }
    t->f->isa_bit = a->isa_bit;
    etmv4_push_address(in->p->last, a->value, a->isa_bit);
    in->at += a->size;
    in->inner += (size_t)(a->size - a->packets);
    return true;
}

/* etmv4_follow_exception.c: what interrupts are made of. False: it is something else, and nothing
 * was taken. */
bool etmv4_trail_rare(struct etmv4_trail *t, struct etmv4_bytes *in, struct flow_out *out,
                      bool wide);

#endif
