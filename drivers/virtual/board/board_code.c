/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_code.h"

#include <stdlib.h>

#include "drivers/virtual/encoder/p0_insn.h"
#include "drivers/virtual/encoder/waypoint.h"

#define CHUNK_RECORDS 8192

struct board_code_chunk {
    struct board_code_chunk *next;
    size_t used;
    struct board_insn records[CHUNK_RECORDS];
};

int board_code_init(struct board_code *c)
{
    c->chunks = NULL;
    return pthread_mutex_init(&c->lock, NULL) == 0 ? 0 : -1;
}

void board_code_clear(struct board_code *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->chunks) {
        struct board_code_chunk *next = c->chunks->next;
        free(c->chunks);
        c->chunks = next;
    }
    pthread_mutex_unlock(&c->lock);
}

struct board_insn *board_code_new(struct board_code *c, size_t count)
{
    struct board_insn *records = NULL;

    if (count > CHUNK_RECORDS)
        return NULL;
    pthread_mutex_lock(&c->lock);
    if (!c->chunks || c->chunks->used + count > CHUNK_RECORDS) {
        struct board_code_chunk *chunk = malloc(sizeof *chunk);
        if (chunk) {
            chunk->used = 0;
            chunk->next = c->chunks;
            c->chunks = chunk;
        }
    }
    if (c->chunks && c->chunks->used + count <= CHUNK_RECORDS) {
        records = c->chunks->records + c->chunks->used;
        c->chunks->used += count;
    }
    pthread_mutex_unlock(&c->lock);
    return records;
}

struct effect {
    uint32_t mask;
    uint32_t value;
    uint8_t flags;
};

static const struct effect a32_effects[] = {
    {0x0fff0fff, 0x0e0d0f30, BOARD_INSN_CONTEXT_ID},
    {0x0fff0fff, 0x0e010f11, BOARD_INSN_SECURE_CONFIG},
    {0x0fff0fdf, 0x0e0c0f10, BOARD_INSN_VECTOR_BASE},
    {0x0ffffffe, 0x0320f002, BOARD_INSN_WAIT},
    {0x0ff0fff0, 0x0120f000, BOARD_INSN_WRITES_PSR}, /* MSR CPSR, register */
    {0x0ff0f000, 0x0320f000, BOARD_INSN_WRITES_PSR}, /* MSR CPSR, immediate */
    {0xfff1fe20, 0xf1000000, BOARD_INSN_WRITES_PSR}, /* CPS */
    {0, 0, 0},
};

static const struct effect t16_effects[] = {
    {0xffef, 0xbf20, BOARD_INSN_WAIT}, /* WFE; WFI has one more bit */
    {0xffff, 0xbf30, BOARD_INSN_WAIT},
    {0xffe8, 0xb660, BOARD_INSN_WRITES_PSR}, /* CPS */
    {0, 0, 0},
};

static const struct effect t32_effects[] = {
    {0xffff0fff, 0xee0d0f30, BOARD_INSN_CONTEXT_ID},
    {0xffff0fff, 0xee010f11, BOARD_INSN_SECURE_CONFIG},
    {0xffff0fdf, 0xee0c0f10, BOARD_INSN_VECTOR_BASE},
    {0xfffffffe, 0xf3af8002, BOARD_INSN_WAIT},
    {0xfff0d000, 0xf3808000, BOARD_INSN_WRITES_PSR}, /* MSR CPSR */
    {0xfffff800, 0xf3af8000, BOARD_INSN_WRITES_PSR}, /* CPS, and the hints */
    {0, 0, 0},
};

static const struct effect a64_effects[] = {
    {0xffffffe0, 0xd518d020, BOARD_INSN_CONTEXT_ID}, /* MSR CONTEXTIDR_EL1 */
    {0xffffffdf, 0xd503205f, BOARD_INSN_WAIT},
    {0, 0, 0},
};

static uint8_t effects(const struct effect *table, uint32_t opcode)
{
    while ((opcode & table->mask) != table->value)
        table++;
    return table->flags;
}

/* Condition of a T32 instruction outside of IT blocks. */
static uint8_t t32_condition(uint32_t opcode, const struct waypoint *w)
{
    if (w->cls != WAYPOINT_DIRECT)
        return BOARD_COND_ALWAYS;
    if ((opcode & 0xfffff000) == 0xd000)
        return opcode >> 8 & 0xf;
    if ((opcode & 0xf800d000) == 0xf0008000)
        return opcode >> 22 & 0xf;
    return BOARD_COND_ALWAYS;
}

static uint8_t step_it(struct board_code_state *state, uint32_t opcode, const struct waypoint *w)
{
    uint8_t condition = state->it >> 4;

    if (state->it & 0xf) {
        state->it = state->it & 7 ? (uint8_t)((state->it & 0xe0) | (state->it << 1 & 0x1f)) : 0;
        return condition;
    }
    if ((opcode & 0xffffff00) == 0xbf00 && opcode & 0xf)
        state->it = (uint8_t)opcode;
    return t32_condition(opcode, w);
}

static uint32_t read_opcode(const uint8_t *bytes, size_t size, enum bt_isa isa)
{
    uint32_t low = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;

    if (size == 2)
        return low;
    uint32_t high = (uint32_t)bytes[2] | (uint32_t)bytes[3] << 8;
    return isa == BT_ISA_A32 ? high << 16 | low : low << 16 | high;
}

static enum waypoint_class class_of(enum p0_class cls)
{
    switch (cls) {
    case P0_DIRECT:
        return WAYPOINT_DIRECT;
    case P0_INDIRECT:
        return WAYPOINT_INDIRECT;
    case P0_ISB:
        return WAYPOINT_ISB;
    default:
        return WAYPOINT_NONE;
    }
}

static void describe_a64(struct board_insn *insn, uint64_t address, uint32_t opcode)
{
    struct p0_insn p;

    p0_classify(BT_ISA_A64, opcode, address, &p);
    *insn = (struct board_insn){.address = address,
                                .opcode = opcode,
                                .target = p.target,
                                .size = 4,
                                .isa = BT_ISA_A64,
                                .target_isa = BT_ISA_A64,
                                .cls = (uint8_t)class_of(p.cls),
                                .condition = BOARD_COND_ALWAYS,
                                .flags = effects(a64_effects, opcode)};
    if ((opcode & 0xff000010) == 0x54000000)
        insn->condition = opcode & 0xf;
    if (p.exception_return)
        insn->flags |= BOARD_INSN_EXCEPTION_RETURN;
}

/* An indirect branch starts slowly: SP in front of it tells whether it has led to itself. */
static void chain(struct board_insn *insn, const struct board_insn *before)
{
    if (insn->cls != WAYPOINT_INDIRECT && before && before->cls == WAYPOINT_NONE &&
        before->flags == 0 && before->address + before->size == insn->address)
        insn->before = before;
}

void board_code_describe(struct board_insn *insn, uint64_t address, const uint8_t *bytes,
                         size_t size, struct board_code_state *state,
                         const struct board_insn *before)
{
    struct waypoint w;

    if (state->isa == BT_ISA_A64) {
        describe_a64(insn, address, read_opcode(bytes, 4, BT_ISA_A32));
        chain(insn, before);
        return;
    }

    /* QEMU looks past a short instruction at the end of a page, and counts what it saw there. */
    if (state->isa != BT_ISA_A32)
        size = waypoint_t32_size((uint16_t)(bytes[0] | bytes[1] << 8));
    uint32_t opcode = read_opcode(bytes, size, state->isa);

    waypoint_classify(state->isa, opcode, address, &w);
    *insn = (struct board_insn){.address = address,
                                .opcode = opcode,
                                .target = w.target,
                                .size = (uint8_t)size,
                                .isa = (uint8_t)state->isa,
                                .target_isa = (uint8_t)w.target_isa,
                                .cls = (uint8_t)w.cls};
    if (state->isa == BT_ISA_A32) {
        insn->condition = opcode >> 28 == 0xf ? BOARD_COND_ALWAYS : opcode >> 28;
        insn->flags = effects(a32_effects, opcode);
    } else {
        insn->condition = step_it(state, opcode, &w);
        insn->flags = effects(size == 2 ? t16_effects : t32_effects, opcode);
    }
    if (w.exception_return && w.cls == WAYPOINT_INDIRECT)
        insn->flags |= BOARD_INSN_EXCEPTION_RETURN;
    chain(insn, before);
}

struct board_code_state board_code_state(uint32_t psr, bool m_profile)
{
    return (struct board_code_state){.isa = m_profile || psr & 0x20 ? BT_ISA_T32 : BT_ISA_A32,
                                     .it = (uint8_t)((psr >> 8 & 0xfc) | (psr >> 25 & 3))};
}

bool board_condition_passes(unsigned condition, uint32_t psr)
{
    bool n = psr >> 31 & 1, z = psr >> 30 & 1, c = psr >> 29 & 1, v = psr >> 28 & 1;
    bool holds = true;

    switch (condition >> 1) {
    case 0:
        holds = z;
        break;
    case 1:
        holds = c;
        break;
    case 2:
        holds = n;
        break;
    case 3:
        holds = v;
        break;
    case 4:
        holds = c && !z;
        break;
    case 5:
        holds = n == v;
        break;
    case 6:
        holds = n == v && !z;
        break;
    default:
        return true;
    }
    return holds != (condition & 1);
}
