/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/virtual/encoder/p0_insn.h"

#include "drivers/virtual/encoder/waypoint.h"

#define LINK        1u
#define CONDITIONAL 2u
#define RETURN      4u
#define LINK_31     8u  /* links if bit 31 is set */
#define LINK_21     16u /* links if bit 21 is set */

enum offset_form {
    OFFSET_NONE,
    OFFSET_26,
    OFFSET_19,
    OFFSET_14,
    OFFSET_9,
};

struct row {
    uint32_t mask;
    uint32_t value;
    uint8_t cls;
    uint8_t flags;
    uint8_t form;
};

static const struct row a64[] = {
    {0x7c000000, 0x14000000, P0_DIRECT, LINK_31, OFFSET_26},     /* B, BL */
    {0xff000000, 0x54000000, P0_DIRECT, CONDITIONAL, OFFSET_19}, /* B.cond, BC.cond */
    {0x7e000000, 0x34000000, P0_DIRECT, CONDITIONAL, OFFSET_19}, /* CBZ, CBNZ */
    {0x7e000000, 0x36000000, P0_DIRECT, CONDITIONAL, OFFSET_14}, /* TBZ, TBNZ */
    {0xff00c000, 0x74004000, P0_NONE, 0, OFFSET_NONE},           /* a hole of the CB family */
    {0xff000000, 0x74000000, P0_DIRECT, CONDITIONAL, OFFSET_9},  /* CB, CBB, CBH register */
    {0xff00c000, 0xf4000000, P0_DIRECT, CONDITIONAL, OFFSET_9},
    {0x7f004000, 0x75000000, P0_DIRECT, CONDITIONAL, OFFSET_9}, /* CB immediate */
    {0xffdffc1f, 0xd61f0000, P0_INDIRECT, LINK_21, OFFSET_NONE},
    {0xfffffc1f, 0xd65f0000, P0_INDIRECT, 0, OFFSET_NONE},       /* RET */
    {0xffffffff, 0xd69f03e0, P0_INDIRECT, RETURN, OFFSET_NONE},  /* ERET */
    {0xfffffbff, 0xd69f0bff, P0_INDIRECT, RETURN, OFFSET_NONE},  /* ERETAA, ERETAB */
    {0xffdff800, 0xd71f0800, P0_INDIRECT, LINK_21, OFFSET_NONE}, /* BRAA, BLRAA ... */
    {0xffdff81f, 0xd61f081f, P0_INDIRECT, LINK_21, OFFSET_NONE},
    {0xfffffbff, 0xd65f0bff, P0_INDIRECT, 0, OFFSET_NONE}, /* RETAA, RETAB */
    {0xffc0001f, 0x5500001f, P0_INDIRECT, 0, OFFSET_NONE}, /* RETAASPPC label */
    {0xfffffbe0, 0xd65f0be0, P0_INDIRECT, 0, OFFSET_NONE}, /* RETAASPPC register */
    {0xfffffbff, 0xd6ff03e0, P0_INDIRECT, RETURN, OFFSET_NONE},
    {0xfffff0ff, 0xd50330df, P0_ISB, 0, OFFSET_NONE},
    {0xffffffdf, 0xd503205f, P0_WAIT, 0, OFFSET_NONE},
    {0xffffffc0, 0xd5031000, P0_WAIT, 0, OFFSET_NONE},
    {0xffffffe0, 0xd5233060, P0_START, 0, OFFSET_NONE},
    {0, 0, P0_NONE, 0, OFFSET_NONE},
};

/* Low `bits` of `field`, signed, times four. */
static uint64_t p0_insn_words(uint32_t field, unsigned bits)
{
    uint64_t sign = (uint64_t)1 << (bits - 1);

    return (((field & (sign * 2 - 1)) ^ sign) - sign) * 4;
}

static uint64_t a64_offset(enum offset_form form, uint32_t opcode)
{
    switch (form) {
    case OFFSET_26:
        return p0_insn_words(opcode, 26);
    case OFFSET_19:
        return p0_insn_words(opcode >> 5, 19);
    case OFFSET_14:
        return p0_insn_words(opcode >> 5, 14);
    case OFFSET_9:
        return p0_insn_words(opcode >> 5, 9);
    case OFFSET_NONE:
        break;
    }
    return 0;
}

static void classify_a64(uint32_t opcode, uint64_t address, struct p0_insn *out)
{
    const struct row *row = a64;

    while ((opcode & row->mask) != row->value)
        row++;
    out->size = 4;
    out->cls = (enum p0_class)row->cls;
    out->link = (row->flags & LINK) || ((row->flags & LINK_31) && opcode >> 31) ||
                ((row->flags & LINK_21) && opcode >> 21 & 1);
    out->conditional = row->flags & CONDITIONAL;
    out->exception_return = row->flags & RETURN;
    if (out->cls == P0_DIRECT)
        out->target = address + a64_offset((enum offset_form)row->form, opcode);
}

/* Loops of v8.1-M. LE and LETP go back, WLS and WLSTP forward, from the address plus 4. */
static bool classify_loop(uint32_t opcode, uint64_t address, struct p0_insn *out)
{
    uint32_t offset = (opcode & 0x7fe) << 1 | (opcode & 0x800) >> 10;
    bool endless = (opcode & 0xfffff001) == 0xf02fc001;
    bool back = endless || (opcode & 0xfffff001) == 0xf00fc001 || /* LE */
                (opcode & 0xfffff001) == 0xf01fc001;              /* LETP */
    bool ahead = (opcode & 0xfff0f001) == 0xf040c001 ||           /* WLS */
                 (!back && (opcode & 0xffc0f001) == 0xf000c001);  /* WLSTP */

    if (!back && !ahead)
        return false;
    out->cls = P0_DIRECT;
    out->conditional = !endless;
    out->target = (uint32_t)(address + 4 + (back ? 0 - offset : offset));
    return true;
}

static bool is_wait(enum bt_isa isa, uint32_t opcode)
{
    if (isa == BT_ISA_A32)
        return opcode >> 28 != 0xf && (opcode & 0x0ffffffe) == 0x0320f002;
    return opcode == 0xbf20 || opcode == 0xbf30 || (opcode & 0xfffffffe) == 0xf3af8002;
}

static enum p0_class p0_insn_class_of(const struct waypoint *w)
{
    switch (w->cls) {
    case WAYPOINT_DIRECT:
        return P0_DIRECT;
    case WAYPOINT_INDIRECT:
        return P0_INDIRECT;
    case WAYPOINT_ISB:
        return P0_ISB;
    default:
        return P0_NONE;
    }
}

void p0_classify(enum bt_isa isa, uint32_t opcode, uint64_t address, struct p0_insn *out)
{
    struct waypoint w;

    *out = (struct p0_insn){.cls = P0_NONE, .size = 1, .target_isa = isa};
    if (isa == BT_ISA_A64) {
        classify_a64(opcode, address, out);
        return;
    }
    if (isa != BT_ISA_A32 && isa != BT_ISA_T32)
        return;
    waypoint_classify(isa, opcode, address, &w);
    out->size = w.size;
    if (is_wait(isa, opcode)) {
        out->cls = P0_WAIT;
        return;
    }
    if (isa == BT_ISA_T32 && opcode > 0xffff && classify_loop(opcode, address, out))
        return;
    /* ENTERX and LEAVEX are gone: their opcodes are barriers of no kind. */
    if (w.cls == WAYPOINT_DIRECT && (opcode & 0xffffd0e0) == 0xf3bf8000 && isa == BT_ISA_T32)
        return;
    out->cls = p0_insn_class_of(&w);
    out->link = w.link;
    out->exception_return = w.exception_return;
    out->target = w.target;
    out->target_isa = w.target_isa;
    out->conditional =
        isa == BT_ISA_A32 ? opcode >> 28 < 0xe : (opcode & 0xf500) == 0xb100 && opcode <= 0xffff;
}
