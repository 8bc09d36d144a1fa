/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_etmv4_code.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/random_code.h"

#define A64_REGIONS  3
#define A64_CHUNKS   8
#define A64_RET      0xd65f03c0u
#define A64_NOP      0xd503201fu
#define T32_POP_PC   0xf85dfb04u
#define T16_BX_LR    0x4770u
#define REGION_TAIL  64
#define INSNS_A64    (A64_REGIONS * A64_CHUNKS * (CHUNK_INSNS + 3)) /* at most */
#define AIM_TRIES    20
#define CHUNK_INSNS  24
#define CAUSES_IN    25 /* one of so many instructions */
#define FIELD_LOW_26 0
#define FIELD_LOW_5  5

/* `value` with random bits where `free` has ones. */
struct form {
    uint32_t value;
    uint32_t free;
    uint8_t offset_bits; /* direct branches: width of the offset field */
};

static const struct form plain[] = {
    {0xd503201f, 0, 0},          /* NOP */
    {0x91000000, 0x003fffff, 0}, /* ADD immediate */
    {0xd2800000, 0x001fffff, 0}, /* MOVZ */
    {0x8b000000, 0x001ffcff, 0}, /* ADD register */
    {0xf9400000, 0x003fffff, 0}, /* LDR */
    {0xf9000000, 0x003fffff, 0}, /* STR */
    {0x9b000000, 0x001fffff, 0}, /* MADD */
    {0x9a800000, 0x001ff3ff, 0}, /* CSEL */
    {0x10000000, 0x60ffffff, 0}, /* ADR */
    {0x18000000, 0x00ffffff, 0}, /* LDR literal */
    {0x1e602800, 0x001f03ff, 0}, /* FADD */
    {0xd50330bf, 0x00000f00, 0}, /* DMB */
    {0xd503309f, 0x00000f00, 0}, /* DSB */
    {0xd503207f, 0, 0},          /* WFI */
    {0xd503205f, 0, 0},          /* WFE */
    {0xd5031000, 0x0000003f, 0}, /* WFET, WFIT */
    {0xd5384100, 0x0000001f, 0}, /* MRS SP_EL0 */
};

static const struct form p0[] = {
    {0x14000000, 0, 26},          {0x94000000, 0, 26},          {0x94000000, 0, 26},
    {0x54000000, 0x0000001f, 19}, {0x54000000, 0x0000000f, 19}, {0x34000000, 0x8100001f, 19},
    {0x36000000, 0x81f8001f, 14}, {0x74000000, 0x00ff001f, 9},  {0x75000000, 0x81ff801f, 9},
    {0xd61f0000, 0x000003e0, 0},                                                    /* BR */
    {0xd63f0000, 0x000003e0, 0},                                                    /* BLR */
    {0xd63f0000, 0x000003e0, 0},  {0xd65f0000, 0x000003e0, 0},                      /* RET */
    {0xd65f03c0, 0, 0},           {0xd65f03c0, 0, 0},           {0xd69f03e0, 0, 0}, /* ERET */
    {0xd69f03e0, 0, 0},                                                             /* ERET */
    {0xd69f0bff, 0x00000400, 0}, /* ERETAA, ERETAB */
    {0xd71f0800, 0x000007ff, 0}, /* BRAA */
    {0xd73f0800, 0x000007ff, 0}, /* BLRAA */
    {0xd61f081f, 0x000007e0, 0}, /* BRAAZ */
    {0xd65f0bff, 0x00000400, 0}, /* RETAA, RETAB */
    {0xd50330df, 0x00000f00, 0}, /* ISB */
};

static const struct form causes[] = {
    {0xd4000001, 0x001fffe0, V4_CALL}, /* SVC */
    {0xd4000002, 0x001fffe0, V4_CALL}, /* HVC */
    {0xd4000003, 0x001fffe0, V4_CALL}, /* SMC */
    {0x00000000, 0x0000ffff, V4_TRAP}, /* UDF */
    {0xd4200000, 0x001fffe0, V4_TRAP}, /* BRK */
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

struct maker {
    struct v4_code *code;
    struct random_etmv4 *flow;
    const struct random_etmv4_options *options;
    struct trace_random *random;
};

enum v4_state v4_state_of(enum bt_isa isa)
{
    return isa == BT_ISA_A64 ? V4_A64 : isa == BT_ISA_T32 ? V4_T32 : V4_A32;
}

static uint32_t below(struct maker *m, uint32_t limit)
{
    return trace_random_below(m->random, limit);
}

static uint32_t fill(struct maker *m, const struct form *f)
{
    return f->value | ((uint32_t)trace_random_next(m->random) & f->free);
}

/* A64. */

static void add_a64(struct maker *m, uint64_t address, uint32_t opcode, uint8_t cause, uint8_t bits)
{
    struct v4_insn *insn = &m->code->insns[m->code->insn_count++];

    *insn = (struct v4_insn){.address = address,
                             .opcode = opcode,
                             .isa = BT_ISA_A64,
                             .cause = cause,
                             .offset_bits = bits};
}

/* Points the branch at a place near it; false if none was in reach. */
static bool aim_a64(struct maker *m, struct v4_insn *insn, unsigned bits, uint32_t first,
                    uint32_t count)
{
    unsigned low = bits == 26 ? FIELD_LOW_26 : FIELD_LOW_5;

    for (unsigned i = 0; i < AIM_TRIES; i++) {
        uint32_t target = first + below(m, count);
        int64_t words = (int64_t)(m->code->insns[target].address - insn->address) / 4;
        if (words < -(1 << (bits - 1)) || words >= 1 << (bits - 1))
            continue;
        insn->opcode |= ((uint32_t)words & ((1u << bits) - 1)) << low;
        insn->target = target;
        return true;
    }
    return false;
}

static uint64_t make_a64_chunk(struct maker *m, uint64_t address)
{
    unsigned count = 3 + below(m, CHUNK_INSNS);

    for (unsigned i = 0; i < count; i++, address += 4) {
        const struct form *f = &plain[below(m, COUNT(plain))];
        uint8_t cause = V4_NO_CAUSE;
        if (below(m, 100) < m->options->branches)
            f = &p0[below(m, COUNT(p0))];
        if (below(m, CAUSES_IN) == 0) {
            f = &causes[below(m, COUNT(causes))];
            cause = f->offset_bits;
        }
        add_a64(m, address, fill(m, f), cause, cause ? 0 : f->offset_bits);
    }
    add_a64(m, address, A64_RET, V4_NO_CAUSE, 0);
    return address + 4 + 4 * (uint64_t)below(m, 20);
}

static int add_region(struct maker *m, uint64_t address, size_t size)
{
    struct random_flow_region *r = &m->flow->regions[m->flow->region_count];

    *r = (struct random_flow_region){.address = address, .size = size, .bytes = calloc(1, size)};
    if (!r->bytes)
        return BT_ERR_NOMEM;
    m->flow->region_count++;
    return 0;
}

static int make_a64_region(struct maker *m, uint64_t base)
{
    uint32_t first = m->code->insn_count;
    uint64_t address = base;

    for (unsigned i = 0; i < A64_CHUNKS; i++)
        address = make_a64_chunk(m, address);
    for (uint32_t i = first; i < m->code->insn_count; i++) {
        struct v4_insn *insn = &m->code->insns[i];
        if (insn->offset_bits &&
            !aim_a64(m, insn, insn->offset_bits, first, m->code->insn_count - first))
            insn->opcode = A64_NOP;
    }
    return add_region(m, base, (size_t)(address - base) + REGION_TAIL);
}

static int make_a64(struct maker *m)
{
    static const uint64_t bases[A64_REGIONS] = {0x00400000, 0x00007f1234560000, 0xffffffc010080000};
    int error = 0;

    for (unsigned i = 0; !error && i < A64_REGIONS; i++)
        error = make_a64_region(m, bases[i]);
    return error;
}

/* A32 and T32. */

static uint8_t cause_of(enum code_kind kind)
{
    switch (kind) {
    case CODE_SVC:
    case CODE_SMC:
    case CODE_HVC:
        return V4_CALL;
    case CODE_UDF:
    case CODE_BKPT:
        return V4_TRAP;
    default:
        return V4_NO_CAUSE;
    }
}

/* M profile has no exception return instructions, and no BXJ. */
static uint32_t opcode_of(const struct maker *m, const struct code_insn *insn)
{
    bool absent = (insn->flags & CODE_RETURN) || (insn->opcode & 0xfff0d000) == 0xf3c08000;

    if (!m->options->encoder.m_profile || !absent)
        return insn->opcode;
    return insn->size == 4 ? T32_POP_PC : T16_BX_LR;
}

static int take_aarch32(struct maker *m, const struct random_code *from)
{
    uint32_t first = m->code->insn_count;

    for (uint32_t i = 0; i < from->insn_count; i++) {
        const struct code_insn *insn = &from->insns[i];
        m->code->insns[m->code->insn_count++] =
            (struct v4_insn){.address = insn->address,
                             .opcode = opcode_of(m, insn),
                             .target = first + insn->target,
                             .isa = insn->isa,
                             .cause = cause_of((enum code_kind)insn->kind),
                             .conditional = insn->flags & CODE_CONDITIONAL,
                             .no_target = insn->flags & CODE_NO_TARGET,
                             .same_isa = insn->flags & CODE_SAME_ISA};
    }
    for (size_t i = 0; i < from->region_count; i++) {
        const struct random_flow_region *r = &from->regions[i];
        if (add_region(m, r->address, r->size))
            return BT_ERR_NOMEM;
        memcpy(m->flow->regions[m->flow->region_count - 1].bytes, r->bytes, r->size);
    }
    return 0;
}

static void write_insn(struct random_etmv4 *f, const struct v4_insn *insn)
{
    struct random_flow_region *r = f->regions;

    while (insn->address - r->address >= r->size)
        r++;
    uint8_t *p = r->bytes + (insn->address - r->address);
    if (insn->isa == BT_ISA_T32 && insn->p0.size == 4) {
        for (unsigned i = 0; i < 4; i++)
            p[i ^ 2] = (uint8_t)(insn->opcode >> 8 * i);
        return;
    }
    for (unsigned i = 0; i < insn->p0.size; i++)
        p[i] = (uint8_t)(insn->opcode >> 8 * i);
}

static int list_targets(struct v4_code *c)
{
    for (unsigned i = 0; i < V4_STATES; i++) {
        c->targets[i] = calloc(c->insn_count + 1, sizeof *c->targets[i]);
        if (!c->targets[i])
            return BT_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < c->insn_count; i++) {
        unsigned state = v4_state_of((enum bt_isa)c->insns[i].isa);
        if (!c->insns[i].no_target)
            c->targets[state][c->target_count[state]++] = i;
    }
    return 0;
}

int v4_code_init(struct v4_code *c, struct random_etmv4 *f, const struct random_etmv4_options *o,
                 struct trace_random *random)
{
    struct maker m = {.code = c, .flow = f, .options = o, .random = random};
    struct random_flow_options narrow = {.a32 = o->a32,
                                         .t32 = o->t32,
                                         .it_blocks = o->it_blocks,
                                         .svc_insns = true,
                                         .smc_insns = !o->encoder.m_profile,
                                         .hvc_insns = !o->encoder.m_profile,
                                         .eret_a32 = true,
                                         .waypoints = o->branches};
    struct random_code aarch32 = {0};
    int error = 0;

    *c = (struct v4_code){0};
    if (o->a32 || o->t32)
        error = random_code_init(&aarch32, &narrow, random);
    c->insns = calloc(INSNS_A64 + aarch32.insn_count, sizeof *c->insns);
    if (!c->insns)
        error = BT_ERR_NOMEM;
    if (!error && o->a64)
        error = make_a64(&m);
    if (!error)
        error = take_aarch32(&m, &aarch32);
    random_code_release(&aarch32);
    if (!error)
        error = list_targets(c);
    for (uint32_t i = 0; !error && i < c->insn_count; i++) {
        struct v4_insn *insn = &c->insns[i];
        p0_classify((enum bt_isa)insn->isa, insn->opcode, insn->address, &insn->p0);
        if (insn->isa == BT_ISA_A64)
            insn->conditional = insn->p0.conditional;
        write_insn(f, insn);
    }
    return error;
}

void v4_code_release(struct v4_code *c)
{
    free(c->insns);
    for (unsigned i = 0; i < V4_STATES; i++)
        free(c->targets[i]);
    *c = (struct v4_code){0};
}
