/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions through ITR on a halted core: A32, whatever CPSR.T says, and only what debuggers
 * use. What is undefined sets the sticky flag; what is not known here does so too, and is logged on
 * standard error.
 */
#include <stdio.h>

#include "debug_a.h"

#define CONDITION    0xf0000000u
#define ALWAYS       0xe0000000u
#define MODE         0x1fu
#define MODE_USER    0x10u
#define MODE_SYSTEM  0x1fu
#define CPSR_DEFINED 0xff0fffffu /* N to J, IT, GE, E, A, I, F, T, mode */

/* Bits that are fixed, and the groups that they make. */
struct group {
    uint32_t mask, value;
    void (*run)(struct debug_a *d, uint32_t opcode);
};

static unsigned rd(uint32_t opcode)
{
    return opcode >> 12 & 0xf;
}

static unsigned rm(uint32_t opcode)
{
    return opcode & 0xf;
}

static uint32_t immediate(uint32_t opcode)
{
    unsigned turn = 2 * (opcode >> 8 & 0xf);
    uint32_t value = opcode & 0xff;
    return turn ? value >> turn | value << (32 - turn) : value;
}

static bool has_spsr(struct debug_a *d)
{
    uint32_t mode = debug_a_get(d, CORE_A_CPSR) & MODE;
    return mode != MODE_USER && mode != MODE_SYSTEM;
}

static void nothing(struct debug_a *d, uint32_t opcode)
{
    (void)d;
    (void)opcode;
}

static void mrs(struct debug_a *d, uint32_t opcode)
{
    bool spsr = opcode >> 22 & 1;
    if (spsr && !has_spsr(d))
        debug_a_undefined(d); /* unpredictable */
    else
        debug_a_set(d, rd(opcode), debug_a_get(d, spsr ? CORE_A_SPSR : CORE_A_CPSR));
}

/* In Debug state the execution state bits are written too, and any mode may be left. */
static void msr(struct debug_a *d, uint32_t opcode)
{
    bool spsr = opcode >> 22 & 1;
    unsigned reg = spsr ? CORE_A_SPSR : CORE_A_CPSR;
    uint32_t value = opcode >> 25 & 1 ? immediate(opcode) : debug_a_get(d, rm(opcode));
    uint32_t mask = 0;
    for (unsigned i = 0; i < 4; i++)
        mask |= opcode >> (16 + i) & 1 ? 0xffu << 8 * i : 0;
    if (!spsr)
        mask &= CPSR_DEFINED;
    if (spsr && !has_spsr(d))
        debug_a_undefined(d);
    else
        debug_a_set(d, reg, (debug_a_get(d, reg) & ~mask) | (value & mask));
}

/* CPS: mode, and A, I, F. */
static void cps(struct debug_a *d, uint32_t opcode)
{
    uint32_t cpsr = debug_a_get(d, CORE_A_CPSR);
    uint32_t flags = opcode & 0x1c0;
    if (opcode >> 19 & 1)
        cpsr = opcode >> 18 & 1 ? cpsr | flags : cpsr & ~flags;
    if (opcode >> 17 & 1)
        cpsr = (cpsr & ~MODE) | (opcode & MODE);
    debug_a_set(d, CORE_A_CPSR, cpsr);
}

static void mov(struct debug_a *d, uint32_t opcode)
{
    debug_a_set(d, rd(opcode), debug_a_get(d, rm(opcode)));
}

static void mov_immediate(struct debug_a *d, uint32_t opcode)
{
    debug_a_set(d, rd(opcode), immediate(opcode));
}

/* MOVW, MOVT */
static void mov_half(struct debug_a *d, uint32_t opcode)
{
    uint32_t half = (opcode >> 4 & 0xf000) | (opcode & 0xfff);
    bool top = opcode >> 22 & 1;
    uint32_t low = top ? debug_a_get(d, rd(opcode)) & 0xffff : 0;
    debug_a_set(d, rd(opcode), top ? half << 16 | low : half);
}

/* ADD, SUB of an immediate value, without flags. */
static void add(struct debug_a *d, uint32_t opcode)
{
    uint32_t value = debug_a_get(d, opcode >> 16 & 0xf);
    uint32_t by = immediate(opcode);
    debug_a_set(d, rd(opcode), opcode >> 23 & 1 ? value + by : value - by);
}

/* Bit 0 of the target is the instruction set. */
static void bx(struct debug_a *d, uint32_t opcode)
{
    uint32_t target = debug_a_get(d, rm(opcode));
    uint32_t cpsr = debug_a_get(d, CORE_A_CPSR);
    debug_a_set(d, CORE_A_CPSR, (cpsr & ~0x20u) | (target & 1) << 5);
    debug_a_set(d, CORE_A_PC, target);
}

static const struct group groups[] = {
    {0xffffff00, 0xe320f000, nothing}, /* NOP and other hints */
    {0xfff000f0, 0xf5700010, nothing}, /* CLREX */
    {0xffffffc0, 0xf57ff040, nothing}, /* DSB, DMB */
    {0xffffffe0, 0xf57ff060, nothing}, /* ISB */
    {0xfff1fe20, 0xf1000000, cps},      {0xffbf0fff, 0xe10f0000, mrs},
    {0xffb0fff0, 0xe120f000, msr},      {0xffb0f000, 0xe320f000, msr},
    {0xffff0ff0, 0xe1a00000, mov},      {0xffff0000, 0xe3a00000, mov_immediate},
    {0xffb00000, 0xe3000000, mov_half}, {0xfff00000, 0xe2800000, add},
    {0xfff00000, 0xe2400000, add},      {0xfffffff0, 0xe12fff10, bx},
};

void debug_a_undefined(struct debug_a *d)
{
    d->counters.undefined++;
    d->dscr |= DSCR_UND;
}

void debug_a_execute(struct debug_a *d, uint32_t opcode)
{
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++) {
        if ((opcode & groups[i].mask) == groups[i].value) {
            groups[i].run(d, opcode);
            return;
        }
    }
    if ((opcode & CONDITION) == ALWAYS &&
        (debug_a_coprocessor(d, opcode) || debug_a_transfer(d, opcode)))
        return;
    debug_a_undefined(d);
    fprintf(stderr, "model: core %u does not know instruction 0x%08x in ITR\n", d->index, opcode);
}
