/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of a halted ARMv7-A core. */
#include "cortex_a_internal.h"

#define A_READ_FPSCR   0xeef10a10u
#define A_WRITE_FPSCR  0xeee10a10u
#define A_READ_DOUBLE  0xec510b10u /* r0, r1 <- dn */
#define A_WRITE_DOUBLE 0xec410b10u
#define A_READ_MVFR0   0xeef70a10u
#define A_READ_FPEXC   0xeef80a10u
#define A_READ_CTR     0xee100f30u
#define A_READ_CPACR   0xee110f50u
#define A_WRITE_CPACR  0xee010f50u

#define SCTLR_CACHES  0x1004u /* C, I */
#define MVFR0_DOUBLES 0xfu
#define MVFR0_32      2u
#define CPACR_VFP     0x00f00000u /* full access to coprocessors 10 and 11 */
#define CPACR_CP10(c) ((c) >> 20 & 3u)
#define CP10_ALWAYS   3u
#define CP10_OFF      0u
#define FPEXC_EN      0x40000000u
#define LINE_WORDS    8u

#define R(n)   (1u << (n))
#define BANKED 0x7f00u /* r8 to r14 */

/* Between core and values. */

/* r`from` to r`to`, in one round trip. */
static int load_range(struct cortex_a *core, unsigned from, unsigned to)
{
    struct cortex_a_sequence s = {.count = 0};
    unsigned at[15] = {0};
    for (unsigned n = from; n <= to; n++) {
        cortex_a_execute(&s, A_TAKE(n));
        at[n] = cortex_a_take(&s);
    }
    int rc = cortex_a_play(core, &s, false);
    for (unsigned n = from; n <= to && rc == 0; n++)
        core->values[n] = s.list[at[n]].value;
    return rc;
}

int cortex_a_load_values(struct cortex_a *core)
{
    uint32_t *v = core->values;
    int rc = load_range(core, 0, 14);
    if (rc == 0)
        rc = cortex_a_ask(core, A_READ_CPSR, &v[CORTEX_A_CPSR]);
    if (rc == 0)
        rc = cortex_a_ask(core, A_READ_PC, &v[CORTEX_A_PC]);
    if (rc != 0)
        return rc;
    v[CORTEX_A_PC] -= cortex_a_thumb(core) ? 4 : 8;
    v[CORTEX_A_PC] &= cortex_a_thumb(core) ? ~1u : ~3u;
    return 0;
}

/* Those of r0 to r14 that are marked; CPSR and PC have an order of their own. */
static int store_marked(struct cortex_a *core, uint32_t mask)
{
    struct cortex_a_sequence s = {.count = 0};
    mask &= core->dirty & 0x7fff;
    for (unsigned n = 0; n < 15; n++) {
        if ((mask & R(n)) == 0)
            continue;
        cortex_a_give(&s, core->values[n]);
        cortex_a_execute(&s, A_GIVE(n));
    }
    int rc = s.count > 0 ? cortex_a_play(core, &s, false) : 0;
    if (rc == 0)
        core->dirty &= ~mask;
    return rc;
}

/*
 * CPSR first: it says whose r8 to r14 these are. The PC is written always: writing CPSR and CP15
 * may have lost it. Bit 0 tells a core that branches by this write to stay
 * in Thumb state. */
int cortex_a_store_values(struct cortex_a *core)
{
    const uint32_t *v = core->values;
    int rc = 0;
    if ((core->dirty & R(CORTEX_A_CPSR)) != 0) {
        rc = cortex_a_do(core, A_WRITE_CPSR, v[CORTEX_A_CPSR]);
        if (rc == 0)
            core->dirty &= ~R(CORTEX_A_CPSR);
    }
    if (rc == 0)
        rc = cortex_a_do(core, A_WRITE_PC, v[CORTEX_A_PC] | (cortex_a_thumb(core) ? 1u : 0));
    return rc == 0 ? store_marked(core, UINT32_MAX) : rc;
}

int cortex_a_read_register(struct cortex_a *core, unsigned reg, uint32_t *value)
{
    int rc = cortex_a_need_halt(core);
    if (rc == 0 && reg >= CORTEX_A_REGISTERS)
        rc = BT_ERR_INVAL;
    *value = rc == 0 ? core->values[reg] : 0;
    return rc;
}

/* The registers of the new mode appear: those of the old one go home first. */
static int change_mode(struct cortex_a *core, uint32_t cpsr)
{
    core->vfp_known = false; /* it may be privileged modes' alone */
    int rc = store_marked(core, BANKED);
    if (rc == 0)
        rc = cortex_a_do(core, A_WRITE_CPSR, cpsr);
    if (rc == 0)
        rc = cortex_a_do(core, A_FLUSH, 0);
    if (rc == 0)
        rc = cortex_a_ask(core, A_READ_CPSR, &core->values[CORTEX_A_CPSR]);
    return rc == 0 ? load_range(core, 8, 14) : rc;
}

int cortex_a_write_register(struct cortex_a *core, unsigned reg, uint32_t value)
{
    int rc = cortex_a_need_halt(core);
    if (rc != 0 || reg >= CORTEX_A_REGISTERS)
        return rc != 0 ? rc : BT_ERR_INVAL;
    uint32_t changed = core->values[reg] ^ value;
    if (reg == CORTEX_A_CPSR && (changed & CPSR_MODE) != 0)
        return change_mode(core, value);
    if (reg == CORTEX_A_PC)
        value &= ~1u;
    core->values[reg] = value;
    core->dirty |= R(reg);
    return 0;
}

int cortex_a_enter_privileged(struct cortex_a *core, bool *entered)
{
    uint32_t cpsr = core->values[CORTEX_A_CPSR];
    *entered = (cpsr & CPSR_MODE) == MODE_USER;
    if (!*entered)
        return 0;
    core->dirty |= R(CORTEX_A_CPSR);
    int rc = cortex_a_do(core, A_WRITE_MODE, MODE_SVC | CPSR_MASKS);
    return rc == 0 ? cortex_a_do(core, A_FLUSH, 0) : rc;
}

int cortex_a_leave_privileged(struct cortex_a *core, bool entered)
{
    if (!entered)
        return 0;
    int rc = cortex_a_do(core, A_WRITE_CPSR, core->values[CORTEX_A_CPSR]);
    return rc == 0 ? cortex_a_do(core, A_FLUSH, 0) : rc;
}

/* System registers. */

int cortex_a_read_system(struct cortex_a *core, uint32_t mrc, uint32_t *value)
{
    bool entered = false;
    *value = 0;
    int rc = cortex_a_need_halt(core);
    if (rc == 0)
        rc = cortex_a_enter_privileged(core, &entered);
    if (rc == 0)
        rc = cortex_a_ask(core, mrc, value);
    int back = cortex_a_leave_privileged(core, entered);
    return rc != 0 ? rc : back;
}

int cortex_a_write_system(struct cortex_a *core, uint32_t mcr, uint32_t value)
{
    bool entered = false;
    int rc = cortex_a_need_halt(core);
    if (rc == 0)
        rc = cortex_a_enter_privileged(core, &entered);
    if (rc == 0)
        rc = cortex_a_do(core, mcr, value);
    core->vfp_known = false;
    int back = cortex_a_leave_privileged(core, entered);
    return rc != 0 ? rc : back;
}

/* What the core has not got it calls undefined. */
static int ask_feature(struct cortex_a *core, uint32_t opcode, uint32_t *value, bool *there)
{
    int rc = cortex_a_read_system(core, opcode, value);
    *there = rc == 0;
    return rc == BT_ERR_UNSUPPORTED ? 0 : rc;
}

static int write_access(struct cortex_a *core, uint32_t cpacr)
{
    int rc = cortex_a_write_system(core, A_WRITE_CPACR, cpacr);
    return rc == 0 ? cortex_a_do(core, A_FLUSH, 0) : rc;
}

/* VFP is off until the program switches it on: it is let in for the question. */
int cortex_a_find_features(struct cortex_a *core)
{
    uint32_t mvfr0 = 0, cpacr = 0;
    bool vfp = false, known = false;
    int rc = ask_feature(core, A_READ_CPACR, &cpacr, &known);
    bool closed = known && (cpacr & CPACR_VFP) != CPACR_VFP;
    if (rc == 0 && closed)
        rc = write_access(core, cpacr | CPACR_VFP);
    if (rc == 0)
        rc = ask_feature(core, A_READ_MVFR0, &mvfr0, &vfp);
    if (rc == 0 && closed)
        rc = write_access(core, cpacr);
    core->features_known = rc == 0;
    core->vfp = vfp;
    core->vfp_doubles = !vfp ? 0 : (mvfr0 & MVFR0_DOUBLES) >= MVFR0_32 ? 32 : 16;
    return rc;
}

int cortex_a_find_caches(struct cortex_a *core)
{
    uint32_t sctlr = 0, ctr = 0;
    bool known = false;
    if (core->caches_known)
        return 0;
    int rc = ask_feature(core, A_READ_SCTLR, &sctlr, &known);
    bool on = !known || (sctlr & SCTLR_CACHES) != 0;
    known = false;
    if (rc == 0 && on)
        rc = ask_feature(core, A_READ_CTR, &ctr, &known);
    unsigned words = known ? 1u << (ctr >> 16 & 0xf) : LINE_WORDS;
    core->line = on ? 4 * words : 0;
    core->caches_known = rc == 0;
    return rc;
}

/* May the mode that the program is in use it, and is it switched on? */
static int look_at_vfp(struct cortex_a *core, bool *on)
{
    uint32_t cpacr = 0, fpexc = 0;
    bool user = (core->values[CORTEX_A_CPSR] & CPSR_MODE) == MODE_USER, known = false;
    int rc = ask_feature(core, A_READ_CPACR, &cpacr, &known);
    bool open =
        !known || CPACR_CP10(cpacr) == CP10_ALWAYS || (CPACR_CP10(cpacr) != CP10_OFF && !user);
    known = false;
    if (rc == 0 && open)
        rc = ask_feature(core, A_READ_FPEXC, &fpexc, &known);
    *on = known && (fpexc & FPEXC_EN) != 0;
    return rc;
}

/* Asked before VFP instructions are given: one that is undefined takes those behind it along. */
static int need_vfp(struct cortex_a *core)
{
    int rc = cortex_a_need_halt(core);
    if (rc == 0 && core->vfp && !core->vfp_known) {
        rc = look_at_vfp(core, &core->vfp_on);
        core->vfp_known = rc == 0;
    }
    if (rc == 0 && !(core->vfp && core->vfp_on))
        rc = cortex_a_fail(core, CORTEX_A_FAIL_UNDEFINED, 0, BT_ERR_UNSUPPORTED);
    return rc;
}

static uint32_t double_bits(unsigned number)
{
    return (number & 15) | (number >> 4) << 5;
}

int cortex_a_read_doubles(struct cortex_a *core, uint64_t *values, unsigned count)
{
    int rc = need_vfp(core);
    if (rc == 0 && count > 32)
        rc = BT_ERR_INVAL;
    core->dirty |= R(0) | R(1);
    for (unsigned done = 0; done < count && rc == 0;) {
        struct cortex_a_sequence s = {.count = 0};
        unsigned at[MEM_AP_BANKED / 8 + 1] = {0}, n = 0;
        for (; cortex_a_room(&s) >= 8 && done + n < count; n++) {
            cortex_a_execute(&s, A_READ_DOUBLE | double_bits(done + n));
            cortex_a_execute(&s, A_TAKE(0));
            at[n] = cortex_a_take(&s);
            cortex_a_execute(&s, A_TAKE(1));
            cortex_a_take(&s); /* three behind the lower half */
        }
        rc = cortex_a_play(core, &s, false);
        for (unsigned k = 0; k < n && rc == 0; k++)
            values[done + k] = (uint64_t)s.list[at[k] + 3].value << 32 | s.list[at[k]].value;
        done += n;
    }
    return rc;
}

int cortex_a_write_double(struct cortex_a *core, unsigned number, uint64_t value)
{
    struct cortex_a_sequence s = {.count = 0};
    int rc = need_vfp(core);
    if (rc != 0 || number > 31)
        return rc != 0 ? rc : BT_ERR_INVAL;
    core->dirty |= R(0) | R(1);
    cortex_a_give(&s, (uint32_t)value);
    cortex_a_execute(&s, A_GIVE(0));
    cortex_a_give(&s, (uint32_t)(value >> 32));
    cortex_a_execute(&s, A_GIVE(1));
    cortex_a_execute(&s, A_WRITE_DOUBLE | double_bits(number));
    return cortex_a_play(core, &s, false);
}

int cortex_a_read_fpscr(struct cortex_a *core, uint32_t *value)
{
    *value = 0;
    int rc = need_vfp(core);
    return rc == 0 ? cortex_a_ask(core, A_READ_FPSCR, value) : rc;
}

int cortex_a_write_fpscr(struct cortex_a *core, uint32_t value)
{
    int rc = need_vfp(core);
    return rc == 0 ? cortex_a_do(core, A_WRITE_FPSCR, value) : rc;
}
