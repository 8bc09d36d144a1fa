/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core for the driver's tests: debug registers at a place of the modelled bus, memory of its own,
 * and as many instructions as the driver uses. It runs straight on, word by word, until a
 * breakpoint. How a whole core behaves is the business of the modelled A9 (tests/bench/usb).
 */
#ifndef TESTS_UNIT_TEST_CORTEX_A_CORE_H
#define TESTS_UNIT_TEST_CORTEX_A_CORE_H

#include "drivers/cortex_a/cortex_a.h"
#include "tests/drivers/adi/test_adiv5_model.h"

#define CORE_BASE   0x80010000u
#define CORE_CTI    0x80018000u
#define CORE_MEMORY 0x40000000u
#define CORE_SIZE   0x4000u
#define CORE_MOST   64u /* instructions of a run without a stop */

struct fake_core {
    uint32_t reg[16], cpsr, banked_sp; /* of supervisor mode, while it is in another one */
    uint32_t sctlr, dfsr, dfar, cpacr, fpscr, fpexc;
    uint64_t d[32];
    uint8_t memory[CORE_SIZE];
    uint32_t dscr, rx, tx, latched, prsr, oslsr, auth, vcr;
    uint32_t bvr[16], bcr[16], wvr[16], wcr[16];
    uint32_t cti[0x400];
    bool off, no_vfp, deaf, loops, watch_hit, resets_itself;
    unsigned cleaned, invalidated, executed, undefined, ignored, restarts;
};

static inline void fake_undefined(struct fake_core *c)
{
    c->dscr |= 0x100;
    c->undefined++;
}

static inline bool fake_at(const struct fake_core *c, uint32_t address, unsigned size)
{
    (void)c;
    return address >= CORE_MEMORY && address - CORE_MEMORY <= CORE_SIZE - size;
}

/* r0 goes on behind each access; an access that aborts leaves everything but
 * the fault registers. */
static inline void fake_access(struct fake_core *c, bool load, unsigned size, uint32_t *value)
{
    if (!fake_at(c, c->reg[0], size)) {
        c->dscr |= 0x40;
        c->dfsr = 0x5;
        c->dfar = c->reg[0];
        return;
    }
    uint8_t *at = c->memory + (c->reg[0] - CORE_MEMORY);
    if (load)
        *value = 0;
    for (unsigned k = 0; k < size; k++) {
        if (load)
            *value |= (uint32_t)at[k] << 8 * k;
        else
            at[k] = (uint8_t)(*value >> 8 * k);
    }
    c->reg[0] += size;
}

static inline void fake_put_tx(struct fake_core *c, uint32_t value)
{
    ck_assert_uint_eq(c->dscr & 0x20000000u, 0); /* an old value would be lost */
    c->tx = value;
    c->dscr |= 0x20000000u;
}

static inline uint32_t fake_take_rx(struct fake_core *c)
{
    ck_assert_uint_ne(c->dscr & 0x40000000u, 0);
    c->dscr &= ~0x40000000u;
    return c->rx;
}

static inline void fake_cpsr(struct fake_core *c, uint32_t value)
{
    bool was = (c->cpsr & 0x1f) == 0x13, is = (value & 0x1f) == 0x13;
    if (was != is) {
        uint32_t sp = c->reg[13];
        c->reg[13] = c->banked_sp;
        c->banked_sp = sp;
    }
    c->cpsr = value;
}

static inline bool fake_system(struct fake_core *c, uint32_t opcode)
{
    struct {
        uint32_t mrc, *reg;
    } regs[] = {{0xee110f10u, &c->sctlr},
                {0xee150f10u, &c->dfsr},
                {0xee160f10u, &c->dfar},
                {0xee110f50u, &c->cpacr}};
    uint32_t ctr = 0x83338003u; /* lines of 32 bytes */
    if (opcode == 0xee070f95u)
        return true;
    if ((c->cpsr & 0x1f) == 0x10)
        return false;
    for (unsigned k = 0; k < 4; k++) {
        if (opcode == regs[k].mrc)
            c->reg[0] = *regs[k].reg;
        else if (opcode == (regs[k].mrc & ~0x00100000u))
            *regs[k].reg = c->reg[0];
        else
            continue;
        return true;
    }
    c->reg[0] = opcode == 0xee100f30u ? ctr : c->reg[0];
    c->cleaned += opcode == 0xee070f3au;
    c->invalidated += opcode == 0xee070f15u;
    return opcode == 0xee100f30u || opcode == 0xee070f3au || opcode == 0xee070f15u ||
           opcode == 0xee070fd5u || opcode == 0xee070f9au;
}

static inline bool fake_vfp(struct fake_core *c, uint32_t opcode)
{
    unsigned n = (opcode & 15) | (opcode >> 1 & 0x10), access = c->cpacr >> 20 & 3;
    bool user = (c->cpsr & 0x1f) == 0x10, control = opcode == 0xeef70a10u || opcode == 0xeef80a10u;
    if (c->no_vfp || access == 0 || access == 2 || (user && (access == 1 || control)))
        return false;
    if (!control && (c->fpexc & 0x40000000u) == 0)
        return false;
    if (control)
        c->reg[0] = opcode == 0xeef70a10u ? 0x10110222u : c->fpexc;
    else if (opcode == 0xeef10a10u)
        c->reg[0] = c->fpscr;
    else if (opcode == 0xeee10a10u)
        c->fpscr = c->reg[0];
    else if ((opcode & 0xffffffd0u) == 0xec510b10u) {
        c->reg[0] = (uint32_t)c->d[n];
        c->reg[1] = (uint32_t)(c->d[n] >> 32);
    } else if ((opcode & 0xffffffd0u) == 0xec410b10u)
        c->d[n] = (uint64_t)c->reg[1] << 32 | c->reg[0];
    else
        return false;
    return true;
}

static inline void fake_execute(struct fake_core *c, uint32_t opcode)
{
    unsigned n = opcode >> 12 & 15;
    uint32_t value = c->reg[1];
    c->executed++;
    if ((opcode & 0xffff0fffu) == 0xee100e15u)
        c->reg[n] = fake_take_rx(c);
    else if ((opcode & 0xffff0fffu) == 0xee000e15u)
        fake_put_tx(c, c->reg[n]);
    else if (opcode == 0xe1a0000fu)
        c->reg[0] = c->reg[15] + ((c->cpsr & 0x20) != 0 ? 4 : 8);
    else if (opcode == 0xe1a0f000u)
        c->reg[15] = c->reg[0] & ~1u;
    else if (opcode == 0xe10f0000u)
        c->reg[0] = c->cpsr;
    else if (opcode == 0xe12ff000u)
        fake_cpsr(c, c->reg[0]);
    else if (opcode == 0xe121f000u)
        fake_cpsr(c, (c->cpsr & ~0xffu) | (c->reg[0] & 0xff));
    else if (opcode == 0xecb05e01u) {
        fake_access(c, true, 4, &value);
        if ((c->dscr & 0x40) == 0)
            fake_put_tx(c, value);
    } else if (opcode == 0xeca05e01u) {
        value = fake_take_rx(c);
        fake_access(c, false, 4, &value);
    } else if (opcode == 0xe4901004u || opcode == 0xe0d010b2u || opcode == 0xe4d01001u) {
        fake_access(c, true, opcode == 0xe4901004u ? 4 : opcode == 0xe0d010b2u ? 2 : 1, &value);
        c->reg[1] = value;
    } else if (opcode == 0xe4801004u || opcode == 0xe0c010b2u || opcode == 0xe4c01001u)
        fake_access(c, false, opcode == 0xe4801004u ? 4 : opcode == 0xe0c010b2u ? 2 : 1, &value);
    else if (opcode != 0xe1a00000u && !fake_system(c, opcode) && !fake_vfp(c, opcode))
        fake_undefined(c);
}

/* Running. */

static inline void fake_enter(struct fake_core *c, unsigned moe)
{
    c->dscr = (c->dscr & ~0x3cu) | 1 | moe << 2;
    if ((c->cti[0x20 / 4] & c->cti[0xa0 / 4]) != 0 && c->cti[0] != 0)
        c->cti[0x134 / 4] |= 1; /* its own request, until it is acknowledged */
}

static inline bool fake_breaks(const struct fake_core *c)
{
    for (unsigned k = 0; k < 16; k++) {
        uint32_t pc = c->reg[15], control = c->bcr[k];
        bool here = (pc & ~3u) == c->bvr[k] && (control >> 5 & 0xf & (3u << (pc & 2))) != 0;
        if ((control & 1) != 0 && ((control >> 20 & 7) == 4 ? !here : here))
            return true;
    }
    return false;
}

static inline void fake_run(struct fake_core *c)
{
    ck_assert_uint_eq(c->dscr & 0x2000, 0); /* ITRen */
    ck_assert_uint_eq(c->cti[0x134 / 4], 0);
    c->restarts++;
    c->dscr = (c->dscr & ~1u) | 2;
    for (unsigned k = 0; k < CORE_MOST; k++) {
        uint32_t code = 0;
        unsigned size = (c->cpsr & 0x20) != 0 ? 2 : 4;
        if (fake_at(c, c->reg[15], 4))
            memcpy(&code, c->memory + (c->reg[15] - CORE_MEMORY), size);
        if (fake_breaks(c))
            fake_enter(c, 1);
        else if (code == (size == 2 ? 0xbe00u : 0xe1200070u))
            fake_enter(c, 3);
        else if (c->watch_hit && (c->wcr[0] & 1) != 0)
            fake_enter(c, 10);
        if ((c->dscr & 1) != 0)
            return;
        c->reg[15] += c->loops ? 0 : size;
    }
}

/* Registers. */

static inline bool fake_ready(struct fake_core *c)
{
    bool ready = (c->dscr & 0x2001) == 0x2001 && (c->dscr & 0x1c0) == 0;
    c->ignored += !ready;
    return ready;
}

static inline void fake_itr(struct fake_core *c, uint32_t opcode)
{
    if (!fake_ready(c))
        return;
    c->latched = opcode;
    if ((c->dscr >> 20 & 3) != 2)
        fake_execute(c, opcode);
}

static inline void fake_drcr(struct fake_core *c, uint32_t value)
{
    if ((value & 4) != 0)
        c->dscr &= ~0x1c0u;
    if ((value & 1) != 0 && !c->deaf)
        fake_enter(c, 0);
    if ((value & 2) != 0)
        fake_run(c);
}

/* A write without effect, as far as this core is concerned, or a reset;
 * the debug registers stay. */
static inline void fake_prcr(struct fake_core *c, uint32_t value)
{
    if ((value & 2) == 0 || !c->resets_itself)
        return;
    c->prsr |= 8;
    c->dscr &= ~0x21c1u;
    c->reg[15] = 0;
    c->cpsr = 0x1d3;
    if ((c->vcr & 1) != 0)
        fake_enter(c, 5);
}

static inline void fake_write(struct fake_core *c, uint32_t offset, uint32_t value)
{
    if (offset >= 0x100 && offset < 0x200) {
        uint32_t *lists[] = {c->bvr, c->bcr, c->wvr, c->wcr};
        lists[offset >> 6 & 3][offset >> 2 & 15] = value;
    } else if (offset == 0x80) {
        c->rx = value;
        c->dscr |= 0x40000000u;
        if ((c->dscr >> 20 & 3) == 2 && fake_ready(c))
            fake_execute(c, c->latched);
    } else if (offset == 0x84)
        fake_itr(c, value);
    else if (offset == 0x88)
        c->dscr = (c->dscr & ~0x0030fc3cu) | (value & 0x0030fc3cu);
    else if (offset == 0x90)
        fake_drcr(c, value);
    else if (offset == 0x300)
        c->oslsr &= ~(c->deaf ? 0u : 2u);
    else if (offset == 0x1c)
        c->vcr = value;
    else if (offset == 0x310)
        fake_prcr(c, value);
}

static inline uint32_t fake_read_tx(struct fake_core *c)
{
    uint32_t value = c->tx;
    if ((c->dscr & 0x20000000u) == 0)
        return 0xdeadbeefu;
    c->dscr &= ~0x20000000u;
    if ((c->dscr >> 20 & 3) == 2 && fake_ready(c))
        fake_execute(c, c->latched);
    return value;
}

static inline uint32_t fake_read(struct fake_core *c, uint32_t offset)
{
    uint32_t value;
    switch (offset) {
    case 0x000:
        return 0x35137000u;
    case 0x084:
        return 0x40000109u;
    case 0x088:
        return c->dscr | 0x01000000u;
    case 0x08c:
        return fake_read_tx(c);
    case 0x304:
        return c->oslsr;
    case 0x314:
        value = c->prsr;
        c->prsr &= ~0xau;
        return value;
    case 0xd00:
        return 0x413fc090u;
    case 0xfb8:
        return c->auth;
    default:
        return 0;
    }
}

static inline bool fake_device(struct model *m, uint32_t address, bool write, uint32_t *value,
                               bool *bad)
{
    struct fake_core *c = m->device_state;
    uint32_t offset = address & 0xfff;
    bool management = offset == 0 || (offset >= 0x300 && offset < 0x318) || offset >= 0xf00;
    if ((address & ~0xfffu) == CORE_CTI) {
        if (write && offset == 0x10)
            c->cti[0x134 / 4] &= ~*value;
        else if (write)
            c->cti[offset / 4] = *value;
        else
            *value = c->cti[offset / 4];
        return true;
    }
    if ((address & ~0xfffu) != CORE_BASE)
        return false;
    *bad = !management && (c->off || (c->oslsr & 2) != 0);
    if (*bad)
        return true;
    if (write)
        fake_write(c, offset, *value);
    else
        *value = fake_read(c, offset);
    return true;
}

#endif
