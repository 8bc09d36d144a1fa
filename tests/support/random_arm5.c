/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_arm5.h"

#include <stdlib.h>

#define CHUNKS     8 /* of a region */
#define CHUNK_MAX  24
#define REGION_MAX (CHUNKS * (CHUNK_MAX + 4) * 4 + 128)

#define REG16  1u /* four bits at 16 are a register 0..12 */
#define REG12  2u
#define REG0   4u
#define EVEN12 8u  /* register pair at 12 */
#define LIST   16u /* register list in the low 13 (Thumb: 8) bits, not empty */
#define ALWAYS 32u /* A32: no condition field */
#define MULTI  64u /* as many transfers as the list has, and `transfers` more */

/* One form of an instruction. A32 values without a condition, but for ALWAYS. */
struct form {
    uint32_t value;
    uint32_t free; /* random bits */
    uint8_t fill;
    uint8_t kind;
    uint8_t flags;
    uint8_t transfers;
    uint8_t bytes;
};

static const struct form a32_plain[] = {
    {0x01a00000, 0, REG12 | REG0, ARM5_PLAIN, 0, 0, 0},
    {0x00800000, 0, REG16 | REG12 | REG0, ARM5_PLAIN, 0, 0, 0},
    {0x01500000, 0, REG16 | REG0, ARM5_PLAIN, 0, 0, 0},
    {0x03a00000, 0xff, REG12, ARM5_PLAIN, 0, 0, 0},
    {0xf5d0f000, 0xff, REG16 | ALWAYS, ARM5_PLAIN, 0, 0, 0}, /* PLD */
    {0x05900000, 0xff, REG16 | REG12, ARM5_PLAIN, 0, 1, 4},
    {0x05800000, 0xff, REG16 | REG12, ARM5_PLAIN, ARM5_STORE, 1, 4},
    {0x05d00000, 0xff, REG16 | REG12, ARM5_PLAIN, 0, 1, 1},
    {0x05c00000, 0xff, REG16 | REG12, ARM5_PLAIN, ARM5_STORE, 1, 1},
    {0x01d000b0, 0xf, REG16 | REG12, ARM5_PLAIN, 0, 1, 2},
    {0x01c000b0, 0xf, REG16 | REG12, ARM5_PLAIN, ARM5_STORE, 1, 2},
    {0x01d000d0, 0xf, REG16 | REG12, ARM5_PLAIN, 0, 1, 1},
    {0x01d000f0, 0xf, REG16 | REG12, ARM5_PLAIN, 0, 1, 2},
    {0x01c000d0, 0xf, REG16 | EVEN12, ARM5_PLAIN, 0, 2, 4},
    {0x01c000f0, 0xf, REG16 | EVEN12, ARM5_PLAIN, ARM5_STORE, 2, 4},
    {0x01000090, 0, REG16 | REG12 | REG0, ARM5_PLAIN, ARM5_SWAP, 2, 4},
    {0x01400090, 0, REG16 | REG12 | REG0, ARM5_PLAIN, ARM5_SWAP, 2, 1},
    {0x08900000, 0, REG16 | LIST | MULTI, ARM5_PLAIN, 0, 0, 4},
    {0x08900000, 0, REG16 | LIST | MULTI, ARM5_PLAIN, 0, 0, 4},
    {0x08800000, 0, REG16 | LIST | MULTI, ARM5_PLAIN, ARM5_STORE, 0, 4},
    {0x0e000110, 0, REG16 | REG12 | REG0, ARM5_PLAIN, ARM5_CPRT | ARM5_STORE, 1, 4},
    {0x0e100110, 0, REG16 | REG12 | REG0, ARM5_PLAIN, ARM5_CPRT, 1, 4},
};

static const struct form a32_branch[] = {
    {0x0a000000, 0, 0, ARM5_DIRECT, 0, 0, 0},
    {0x0a000000, 0, 0, ARM5_DIRECT, 0, 0, 0},
    {0x0b000000, 0, 0, ARM5_DIRECT, 0, 0, 0},
    {0xfa000000, 0, ALWAYS, ARM5_DIRECT, 0, 0, 0},
    {0x012fff10, 0, REG0, ARM5_INDIRECT, 0, 0, 0},
    {0x012fff30, 0, REG0, ARM5_INDIRECT, 0, 0, 0},
    {0x01a0f000, 0, REG0, ARM5_INDIRECT, ARM5_SAME_ISA, 0, 0},
    {0x01b0f00e, 0, 0, ARM5_INDIRECT, 0, 0, 0}, /* MOVS PC, LR */
    {0x0590f000, 0xff, REG16, ARM5_INDIRECT, 0, 1, 4},
    {0x08908000, 0, REG16 | LIST | MULTI, ARM5_INDIRECT, 0, 1, 4},
    {0x0f000000, 0xff, 0, ARM5_SWI, 0, 0, 0},
    {0xe7f000f0, 0xf, ALWAYS, ARM5_UNDEFINED, 0, 0, 0},
};

static const struct form thumb_plain[] = {
    {0x2000, 0x7ff, 0, ARM5_PLAIN, 0, 0, 0},
    {0x1c00, 0x1ff, 0, ARM5_PLAIN, 0, 0, 0},
    {0x6800, 0x7ff, 0, ARM5_PLAIN, 0, 1, 4},
    {0x6000, 0x7ff, 0, ARM5_PLAIN, ARM5_STORE, 1, 4},
    {0x7800, 0x7ff, 0, ARM5_PLAIN, 0, 1, 1},
    {0x7000, 0x7ff, 0, ARM5_PLAIN, ARM5_STORE, 1, 1},
    {0x8800, 0x7ff, 0, ARM5_PLAIN, 0, 1, 2},
    {0x8000, 0x7ff, 0, ARM5_PLAIN, ARM5_STORE, 1, 2},
    {0x5600, 0x1ff, 0, ARM5_PLAIN, 0, 1, 1},
    {0x4800, 0x7ff, 0, ARM5_PLAIN, 0, 1, 4},
    {0x9800, 0x7ff, 0, ARM5_PLAIN, 0, 1, 4},
    {0xb400, 0, LIST | MULTI, ARM5_PLAIN, ARM5_STORE, 0, 4},
    {0xb500, 0, LIST | MULTI, ARM5_PLAIN, ARM5_STORE, 1, 4},
    {0xbc00, 0, LIST | MULTI, ARM5_PLAIN, 0, 0, 4},
    {0xc800, 0x700, LIST | MULTI, ARM5_PLAIN, 0, 0, 4},
    {0xc000, 0x700, LIST | MULTI, ARM5_PLAIN, ARM5_STORE, 0, 4},
};

static const struct form thumb_branch[] = {
    {0xd000, 0, 0, ARM5_DIRECT, ARM5_CONDITIONAL, 0, 0},
    {0xd000, 0, 0, ARM5_DIRECT, ARM5_CONDITIONAL, 0, 0},
    {0xe000, 0, 0, ARM5_DIRECT, 0, 0, 0},
    {0xf000, 0, 0, ARM5_DIRECT, 0, 0, 0}, /* BL: both halves */
    {0xf000, 0, 0, ARM5_DIRECT, 0, 0, 0},
    {0x4700, 0x38, 0, ARM5_INDIRECT, 0, 0, 0},
    {0x4780, 0x38, 0, ARM5_INDIRECT, 0, 0, 0},
    {0x4687, 0x38, 0, ARM5_INDIRECT, ARM5_SAME_ISA, 0, 0},
    {0xbd00, 0, LIST | MULTI, ARM5_INDIRECT, 0, 1, 4},
    {0xdf00, 0xff, 0, ARM5_SWI, 0, 0, 0},
    {0xde00, 0xff, 0, ARM5_UNDEFINED, 0, 0, 0},
};

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof(a)[0]))

struct generator {
    struct arm5_code *code;
    struct trace_random *random;
    uint32_t address;
    uint32_t room;
};

static uint32_t below(struct generator *g, uint32_t limit)
{
    return trace_random_below(g->random, limit);
}

static unsigned ones(uint32_t bits)
{
    unsigned n = 0;

    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

static uint32_t fill(struct generator *g, const struct form *f, bool thumb, unsigned *listed)
{
    uint32_t op = f->value | (below(g, 0x10000) & f->free);

    if (f->fill & REG16)
        op |= below(g, 13) << 16;
    if (f->fill & REG12)
        op |= below(g, 13) << 12;
    if (f->fill & EVEN12)
        op |= 2 * below(g, 6) << 12;
    if (f->fill & REG0)
        op |= below(g, 13);
    if (f->fill & LIST) {
        unsigned bits = thumb ? 8 : 13;
        uint32_t list = 1u << below(g, bits);
        uint32_t more = below(g, 1u << bits);
        list |= more & below(g, 1u << bits);
        op |= list;
        *listed = ones(list);
    }
    return op;
}

static int add(struct generator *g, const struct form *f, bool thumb, bool always)
{
    struct arm5_code *c = g->code;
    unsigned listed = 0;

    if (c->insn_count == g->room) {
        uint32_t room = g->room ? 2 * g->room : 256;
        struct arm5_insn *insns = realloc(c->insns, room * sizeof *insns);
        if (!insns)
            return BT_ERR_NOMEM;
        c->insns = insns;
        g->room = room;
    }
    struct arm5_insn *i = &c->insns[c->insn_count++];
    *i = (struct arm5_insn){.address = g->address,
                            .opcode = fill(g, f, thumb, &listed),
                            .isa = thumb ? BT_ISA_T32 : BT_ISA_A32,
                            .size = thumb ? 2 : 4,
                            .kind = f->kind,
                            .flags = f->flags,
                            .transfers = f->transfers,
                            .bytes = f->bytes};
    if (f->fill & MULTI)
        i->transfers = (uint8_t)(i->transfers + listed);
    if (!thumb && !(f->fill & ALWAYS)) {
        uint32_t cond = always || below(g, 2) ? 14 : below(g, 14);
        i->opcode |= cond << 28;
        i->flags |= cond == 14 ? 0 : ARM5_CONDITIONAL;
    }
    g->address += i->size;
    return 0;
}

static int add_chunk(struct generator *g, bool thumb)
{
    static const struct form a32_end = {0x012fff1e, 0, 0, ARM5_INDIRECT, ARM5_LAST, 0, 0};
    static const struct form thumb_end = {0x4770, 0, 0, ARM5_INDIRECT, ARM5_LAST, 0, 0};
    static const struct form second_half = {0xf800, 0, 0, ARM5_DIRECT, ARM5_NO_TARGET, 0, 0};
    unsigned length = 2 + below(g, CHUNK_MAX - 2);
    int error = 0;

    for (unsigned i = 0; !error && i < length; i++) {
        bool branch = below(g, 100) < 25;
        const struct form *f;
        if (thumb)
            f = branch ? &thumb_branch[below(g, COUNT(thumb_branch))]
                       : &thumb_plain[below(g, COUNT(thumb_plain))];
        else
            f = branch ? &a32_branch[below(g, COUNT(a32_branch))]
                       : &a32_plain[below(g, COUNT(a32_plain))];
        error = add(g, f, thumb, false);
        if (!error && thumb && f->value == 0xf000) {
            g->code->insns[g->code->insn_count - 1].kind = ARM5_PLAIN;
            error = add(g, &second_half, true, true);
        }
    }
    return error ? error : add(g, thumb ? &thumb_end : &a32_end, thumb, true);
}

static int add_region(struct generator *g, unsigned index, uint32_t address, bool thumb)
{
    static const struct form vector = {0x0a000000, 0, 0, ARM5_DIRECT, ARM5_LAST | ARM5_NO_TARGET,
                                       0,          0};
    struct arm5_region *r = &g->code->regions[index];
    int error = 0;

    r->address = address;
    r->size = REGION_MAX;
    r->bytes = calloc(1, REGION_MAX);
    if (!r->bytes)
        return BT_ERR_NOMEM;
    g->address = address;
    for (unsigned i = 0; !error && index == 0 && i < ARM5_VECTORS; i++)
        error = add(g, &vector, false, true);
    for (unsigned i = 0; !error && i < CHUNKS; i++) {
        g->address = (g->address + 3) & ~3u;
        error = add_chunk(g, thumb && below(g, 2));
    }
    return error;
}

static int list_targets(struct arm5_code *c)
{
    for (unsigned isa = 0; isa < 2; isa++) {
        c->targets[isa] = malloc(c->insn_count * sizeof *c->targets[isa]);
        if (!c->targets[isa])
            return BT_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < c->insn_count; i++) {
        unsigned isa = c->insns[i].isa == BT_ISA_T32;
        if (!(c->insns[i].flags & ARM5_NO_TARGET))
            c->targets[isa][c->target_count[isa]++] = i;
    }
    return 0;
}

/* Offset field of a direct branch; false: out of reach. */
static bool set_offset(struct arm5_insn *i, const struct arm5_insn *target)
{
    bool far = i->isa != target->isa;
    int64_t pc = (int64_t)i->address + (i->isa == BT_ISA_A32 ? 8 : 4);
    int64_t offset = (int64_t)target->address - pc;
    uint32_t o = (uint32_t)offset;

    if (i->isa == BT_ISA_A32) {
        bool blx = i->opcode >> 28 == 0xf;
        if (far != blx || offset < -0x2000000 || offset >= 0x2000000)
            return false;
        i->opcode |= (o >> 2 & 0xffffff) | (blx ? (o >> 1 & 1) << 24 : 0);
        return true;
    }
    if (i->flags & ARM5_NO_TARGET) { /* the pair: offset from the first half */
        int64_t base = (int64_t)(i - 1)->address + 4;
        offset = (int64_t)target->address - (far ? base & ~3 : base);
        o = (uint32_t)offset;
        (i - 1)->opcode = 0xf000 | (o >> 12 & 0x7ff);
        i->opcode = (far ? 0xe800u : 0xf800u) | (o >> 1 & 0x7ff);
        return offset >= -0x400000 && offset < 0x400000;
    }
    if (far)
        return false;
    unsigned bits = i->flags & ARM5_CONDITIONAL ? 8 : 11;
    if (offset < -(1 << bits) || offset >= 1 << bits)
        return false;
    i->opcode |= o >> 1 & ((1u << bits) - 1);
    return true;
}

/* A direct branch gets a target in reach, or becomes another instruction. */
static void aim(struct generator *g, struct arm5_insn *i)
{
    struct arm5_code *c = g->code;
    bool thumb = i->isa == BT_ISA_T32;
    bool pair = thumb && (i->flags & ARM5_NO_TARGET);

    for (unsigned attempt = 0; attempt < 400; attempt++) {
        unsigned isa = c->target_count[1] ? below(g, 2) : 0;
        uint32_t t = c->targets[isa][below(g, c->target_count[isa])];
        const struct arm5_insn saved = *i;
        if (thumb && (i->flags & ARM5_CONDITIONAL))
            i->opcode |= below(g, 14) << 8;
        if (set_offset(i, &c->insns[t])) {
            i->target = t;
            return;
        }
        *i = saved;
    }
    if (i->flags & ARM5_LAST) { /* a vector: what stands behind it may be Thumb code */
        i->kind = ARM5_INDIRECT;
        i->opcode = 0xe12fff1e;
        return;
    }
    if (pair)
        (i - 1)->opcode = 0x1c00;
    i->kind = ARM5_PLAIN;
    i->flags = pair || !thumb ? i->flags & ARM5_NO_TARGET : 0;
    i->opcode = thumb ? 0x1c00 : 0xe1a00000;
}

static void write_code(struct arm5_code *c)
{
    unsigned r = 0;

    for (uint32_t n = 0; n < c->insn_count; n++) {
        const struct arm5_insn *i = &c->insns[n];
        while (i->address < c->regions[r].address ||
               i->address - c->regions[r].address >= c->regions[r].size)
            r++;
        uint8_t *p = c->regions[r].bytes + (i->address - c->regions[r].address);
        for (unsigned k = 0; k < i->size; k++)
            p[k] = (uint8_t)(i->opcode >> 8 * k);
    }
}

int arm5_code_init(struct arm5_code *c, bool thumb, bool high_vectors, struct trace_random *random)
{
    struct generator g = {.code = c, .random = random};
    int error;

    *c = (struct arm5_code){.high_vectors = high_vectors};
    uint32_t addresses[ARM5_REGIONS] = {high_vectors ? 0xffff0000u : 0, 0x8000};
    addresses[2] = 0x00200000u + (below(&g, 0x4000) << 6);
    addresses[3] = 0x20000000u + (below(&g, 0x9000000) << 4);
    error = 0;
    for (unsigned i = 0; !error && i < ARM5_REGIONS; i++)
        error = add_region(&g, i, addresses[i], thumb);
    if (!error)
        error = list_targets(c);
    if (error)
        return error;
    for (uint32_t i = 0; i < c->insn_count; i++)
        if (c->insns[i].kind == ARM5_DIRECT)
            aim(&g, &c->insns[i]);
    write_code(c);
    return 0;
}

void arm5_code_release(struct arm5_code *c)
{
    for (unsigned i = 0; i < ARM5_REGIONS; i++)
        free(c->regions[i].bytes);
    free(c->insns);
    free(c->targets[0]);
    free(c->targets[1]);
    *c = (struct arm5_code){0};
}
