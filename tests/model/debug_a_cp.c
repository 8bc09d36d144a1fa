/* SPDX-License-Identifier: BSD-3-Clause */
/* Coprocessor instructions of a halted core through ITR: DTR, CP15, floating point. */
#include "debug_a.h"

#define CPSR_FLAGS 0xf0000000u
#define MODE       0x1fu
#define MODE_USER  0x10u
#define FPEXC_EN   (1u << 30)
#define CPACR      CORE_A_CP15(1, 0, 0, 2)
#define CPACR_FP   (3u << 20)
#define DACR       CORE_A_CP15(3, 0, 0, 0)
#define PAR        CORE_A_CP15(7, 4, 0, 0)
#define TPIDRURW   CORE_A_CP15(13, 0, 0, 2)
#define TPIDRURO   CORE_A_CP15(13, 0, 0, 3)
#define FPSID_A9   0x41033090u
#define MVFR0_A9   0x11110222u
#define MVFR1_A9   0x00011111u

/* The fields of MCR and MRC. */
struct transfer {
    bool read; /* MRC */
    unsigned rt;
    uint32_t reg; /* as CORE_A_CP15 has it */
    unsigned crn, crm;
};

static struct transfer fields(uint32_t opcode)
{
    unsigned crn = opcode >> 16 & 0xf, crm = opcode & 0xf;
    return (struct transfer){.read = opcode >> 20 & 1,
                             .rt = opcode >> 12 & 0xf,
                             .reg = CORE_A_CP15(crn, crm, opcode >> 21 & 7, opcode >> 5 & 7),
                             .crn = crn,
                             .crm = crm};
}

/* R15 of an MRC is the flags. */
static void put_result(struct debug_a *d, unsigned rt, uint32_t value)
{
    if (rt != CORE_A_PC)
        debug_a_set(d, rt, value);
    else
        debug_a_set(d, CORE_A_CPSR,
                    (debug_a_get(d, CORE_A_CPSR) & ~CPSR_FLAGS) | (value & CPSR_FLAGS));
}

/* CP14. */

static bool cp14(struct debug_a *d, const struct transfer *t)
{
    if (t->reg == CORE_A_CP15(0, 5, 0, 0) && t->read)
        put_result(d, t->rt, debug_a_take_rx(d));
    else if (t->reg == CORE_A_CP15(0, 5, 0, 0))
        debug_a_put_tx(d, debug_a_get(d, t->rt));
    else if (t->reg == CORE_A_CP15(0, 1, 0, 0) && t->read) /* DSCR, internal view */
        put_result(d, t->rt,
                   d->dscr | (uint32_t)d->entry << 2 | DSCR_HALTED | DSCR_RESTARTED |
                       (d->txfull ? DSCR_TXFULL : 0) | (d->rxfull ? DSCR_RXFULL : 0));
    else
        return false;
    return true;
}

/* CP15. */

/* PAR after an address translation: the page, or fault status and bit 0. */
static void translate(struct debug_a *d, uint32_t address)
{
    const struct core_a *c = &d->cores;
    uint32_t physical = 0, status;
    int r = c->ops->translate(c->ctx, d->index, address, &physical);
    d->par = physical & ~0xfffu;
    if (r == 0)
        return;
    status = debug_a_fault_status(d, address, r);
    d->par = (status >> 6 & 0x10) << 2 | (status & 0xf) << 1 | 1;
}

/* Maintenance of caches that are not there, and barriers; of the TLBs, which are. */
static bool maintenance(struct debug_a *d, const struct transfer *t)
{
    const struct core_a *c = &d->cores;
    uint32_t dacr = 0;
    if (t->read)
        return false;
    if (t->crn == 8) /* any change of the MMU's registers lets QEMU forget its own */
        return c->ops->get_cp15(c->ctx, d->index, DACR, &dacr) == 0 &&
               c->ops->set_cp15(c->ctx, d->index, DACR, dacr) == 0;
    if (t->crn != 7)
        return false;
    if (t->crm == 8) {
        translate(d, debug_a_get(d, t->rt));
        return true;
    }
    return t->crm == 0 || t->crm == 1 || t->crm == 5 || t->crm == 6 || t->crm == 10 ||
           t->crm == 11 || t->crm == 13 || t->crm == 14;
}

static bool allowed(struct debug_a *d, const struct transfer *t)
{
    if ((debug_a_get(d, CORE_A_CPSR) & MODE) != MODE_USER)
        return true;
    /* User mode has thread registers, and three barriers. */
    return t->reg == TPIDRURW || (t->reg == TPIDRURO && t->read) ||
           (t->crn == 7 && (t->crm == 5 || t->crm == 10) && (t->reg & 7) >= 4);
}

static bool cp15(struct debug_a *d, const struct transfer *t)
{
    const struct core_a *c = &d->cores;
    uint32_t value = 0;
    if (!allowed(d, t)) {
        debug_a_undefined(d);
        return true;
    }
    if (t->reg == PAR && t->read) {
        put_result(d, t->rt, d->par);
        return true;
    }
    if (maintenance(d, t))
        return true;
    if (!t->read)
        return c->ops->set_cp15(c->ctx, d->index, t->reg, debug_a_get(d, t->rt)) == 0;
    if (c->ops->get_cp15(c->ctx, d->index, t->reg, &value) < 0)
        return false;
    put_result(d, t->rt, value);
    return true;
}

/* Floating point. */

/* Off until CPACR lets it and, but for its control registers, FPEXC.EN is set. */
bool debug_a_fp_enabled(const struct debug_a *d, bool control)
{
    const struct core_a *c = &d->cores;
    uint32_t cpacr = 0, fpexc = 0;
    c->ops->get_cp15(c->ctx, d->index, CPACR, &cpacr);
    c->ops->get(c->ctx, d->index, CORE_A_FPEXC, &fpexc);
    return cpacr & CPACR_FP && (control || fpexc & FPEXC_EN);
}

static void move_fp(struct debug_a *d, bool to_core, unsigned rt, unsigned half)
{
    const struct core_a *c = &d->cores;
    uint32_t value = 0;
    if (!to_core) {
        c->ops->set(c->ctx, d->index, CORE_A_FP + half, debug_a_get(d, rt));
        return;
    }
    c->ops->get(c->ctx, d->index, CORE_A_FP + half, &value);
    debug_a_set(d, rt, value);
}

/* VMOV between two core registers and a D register. */
static bool vmov_double(struct debug_a *d, uint32_t opcode)
{
    unsigned half = 2 * ((opcode & 0xf) | (opcode >> 1 & 0x10));
    bool to_core = opcode >> 20 & 1;
    if (!debug_a_fp_enabled(d, false)) {
        debug_a_undefined(d);
        return true;
    }
    move_fp(d, to_core, opcode >> 12 & 0xf, half);
    move_fp(d, to_core, opcode >> 16 & 0xf, half + 1);
    return true;
}

/* VMOV between a core register and an S register. */
static bool vmov_single(struct debug_a *d, uint32_t opcode)
{
    if (!debug_a_fp_enabled(d, false)) {
        debug_a_undefined(d);
        return true;
    }
    move_fp(d, opcode >> 20 & 1, opcode >> 12 & 0xf, 2 * (opcode >> 16 & 0xf) + (opcode >> 7 & 1));
    return true;
}

/* VMRS, VMSR */
static bool fp_control(struct debug_a *d, uint32_t opcode)
{
    const struct core_a *c = &d->cores;
    unsigned which = opcode >> 16 & 0xf, rt = opcode >> 12 & 0xf;
    unsigned reg = which == 1 ? CORE_A_FPSCR : CORE_A_FPEXC;
    bool read = opcode >> 20 & 1;
    uint32_t value = which == 0 ? FPSID_A9 : which == 7 ? MVFR0_A9 : MVFR1_A9;
    if (!debug_a_fp_enabled(d, which != 1)) {
        debug_a_undefined(d);
        return true;
    }
    if ((which > 1 && which < 6) || which > 8)
        return false;
    if (!read)
        return (which == 1 || which == 8) &&
               c->ops->set(c->ctx, d->index, reg, debug_a_get(d, rt)) == 0;
    if (which == 1 || which == 8)
        c->ops->get(c->ctx, d->index, reg, &value);
    put_result(d, rt, value);
    return true;
}

bool debug_a_coprocessor(struct debug_a *d, uint32_t opcode)
{
    struct transfer t = fields(opcode);
    if ((opcode & 0x0f000f10) == 0x0e000e10)
        return cp14(d, &t);
    if ((opcode & 0x0f000f10) == 0x0e000f10)
        return cp15(d, &t);
    if ((opcode & 0x0fe00fd0) == 0x0c400b10)
        return vmov_double(d, opcode);
    if ((opcode & 0x0fe00f7f) == 0x0e000a10)
        return vmov_single(d, opcode);
    if ((opcode & 0x0fe00fff) == 0x0ee00a10)
        return fp_control(d, opcode);
    return false;
}
