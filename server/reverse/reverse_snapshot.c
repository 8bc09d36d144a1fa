/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_snapshot.h"
#include "decoder/base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A64_LR 30u

/* Registers beside the first seventeen, by the names that targets give them. */
static const struct {
    const char *name;
    enum execute_reg reg;
} m_names[] = {
    {"msp", EXECUTE_MSP},         {"psp", EXECUTE_PSP},         {"control", EXECUTE_CONTROL},
    {"primask", EXECUTE_PRIMASK}, {"basepri", EXECUTE_BASEPRI}, {"faultmask", EXECUTE_FAULTMASK},
    {"msplim", EXECUTE_MSPLIM},   {"psplim", EXECUTE_PSPLIM},
};

static void set_execute_reg(struct execute_regs *r, unsigned reg, uint64_t value)
{
    r->value[reg] = value;
    r->known |= UINT64_C(1) << reg;
}

static void take_extra(struct execute_regs *r, const char *name, uint64_t value, bool m_profile)
{
    unsigned n;
    char end;
    for (size_t i = 0; m_profile && i < sizeof m_names / sizeof *m_names; i++)
        if (strcmp(name, m_names[i].name) == 0)
            set_execute_reg(r, m_names[i].reg, value);
    if (strcmp(name, "fpscr") == 0) {
        r->fpscr = (uint32_t)value;
        r->fpscr_known = UINT32_MAX;
    } else if (sscanf(name, "d%u%c", &n, &end) == 1 && n < 32) {
        r->vector[n] = value;
        if (n < 16)
            r->vector_known |= UINT64_C(3) << 2 * n;
        else
            r->vector_known64 |= UINT64_C(1) << (n - 16);
    }
}

/* x0 to x30, and which of its stack pointers SP is. */
static int a64_reg(const struct execute_regs *r, const struct target_register *reg)
{
    unsigned n;
    char end;
    if (strcmp(reg->name, "sp") == 0)
        return execute_sp(EXECUTE_PROFILE_A64, r);
    return sscanf(reg->name, "x%u%c", &n, &end) == 1 && n <= A64_LR ? (int)n : -1;
}

#define FLAGS         0xf80f0000u /* NZCVQ and GE */
#define XPSR_NUMBER   0x1ffu
#define CONTROL_SPSEL 2u

/* The stack pointer in use is r13 alone: EXECUTE_MSP or EXECUTE_PSP would stay what it was here.
 * Both go where it is not known which one that is. */
static void forget_stack_in_use(struct execute_regs *r)
{
    bool handler = r->psr & XPSR_NUMBER;
    bool known =
        (r->psr_known & XPSR_NUMBER) == XPSR_NUMBER && (handler || r->known >> EXECUTE_CONTROL & 1);
    bool psp = !handler && (r->value[EXECUTE_CONTROL] & CONTROL_SPSEL);
    if (!known || !psp)
        r->known &= ~(UINT64_C(1) << EXECUTE_MSP);
    if (!known || psp)
        r->known &= ~(UINT64_C(1) << EXECUTE_PSP);
}

/* Those of the security state in use; of a core without Security Extension there is no SCR. */
static void take_system(struct execute_regs *r, const struct target_regs *regs)
{
    static const struct {
        uint8_t reg, plain, secure;
    } list[] = {
        {EXECUTE_SCTLR, TARGET_SYSTEM_SCTLR, TARGET_SYSTEM_SCTLR_S},
        {EXECUTE_TTBR0, TARGET_SYSTEM_TTBR0, TARGET_SYSTEM_TTBR0_S},
        {EXECUTE_TTBCR, TARGET_SYSTEM_TTBCR, TARGET_SYSTEM_TTBCR_S},
    };
    bool monitor = (r->psr & 0x1f) == 0x16;
    bool secure = regs->system_known >> TARGET_SYSTEM_SCR & 1 &&
                  (monitor || !(regs->system[TARGET_SYSTEM_SCR] & 1));
    if (regs->system_known >> TARGET_SYSTEM_SCR & 1)
        set_execute_reg(r, EXECUTE_SCR, regs->system[TARGET_SYSTEM_SCR]);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        unsigned n = secure ? list[i].secure : list[i].plain;
        if (regs->system_known >> n & 1)
            set_execute_reg(r, list[i].reg, (uint32_t)regs->system[n]);
    }
}

/* Of the stack pointers that in use is told as SP alone. Where there is no EL2 it changes nothing.
 */
static void take_levels(struct execute_regs *r, const struct target_regs *regs)
{
    static const uint8_t entries[TARGET_SYSTEMS] = {
        [TARGET_SYSTEM_SCTLR] = A64_SCTLR1,
        [TARGET_SYSTEM_TTBR0] = A64_TTBR1,
        [TARGET_SYSTEM_TTBR1] = A64_UPPER,
        A64_TCR1,
        A64_VBAR1,
        A64_HCR,
        A64_SP0,
        A64_SP0 + 1,
        A64_SP0 + 2,
        A64_SCTLR1 + 1,
        A64_TTBR1 + 1,
        A64_TCR1 + 1,
        A64_VBAR1 + 1,
        A64_SCTLR1 + 2,
        A64_TTBR1 + 2,
        A64_TCR1 + 2,
        A64_VBAR1 + 2,
        A64_ELR1,
        A64_ELR1 + 1,
        A64_ELR1 + 2,
        A64_SPSR1,
        A64_SPSR1 + 1,
        A64_SPSR1 + 2,
    };
    for (unsigned i = 0; i < TARGET_SYSTEMS; i++) {
        bool status = entries[i] >= A64_SPSR1 && entries[i] < A64_SPSR1 + 3;
        bool control = entries[i] >= A64_SCTLR1 && entries[i] < A64_SCTLR1 + 3;
        if (entries[i] && (regs->system_known >> i & 1) && !(control && regs->system[i] >> 32) &&
            entries[i] != execute_sp(EXECUTE_PROFILE_A64, r))
            set_execute_reg(r, entries[i],
                            regs->system[i] | (status ? UINT64_MAX << 32 : UINT64_C(0)));
    }
    if (regs->system_known >> TARGET_SYSTEM_SCTLR & 1 &&
        !(regs->system_known >> TARGET_SYSTEM_HCR & 1))
        set_execute_reg(r, A64_HCR, 0);
}

void reverse_snapshot_regs(struct reverse_snapshot *s, const struct target_regs *regs,
                           const struct target_register *list, unsigned count,
                           enum execute_profile profile)
{
    struct execute_regs *r = &s->regs;
    bool m_profile = profile == EXECUTE_PROFILE_M, a64 = profile == EXECUTE_PROFILE_A64;
    memset(r, 0, sizeof *r);
    for (unsigned i = 0; i <= EXECUTE_LR && !a64; i++)
        if (regs->known >> i & 1)
            set_execute_reg(r, i, regs->value[i]);
    if (regs->known >> TARGET_REG_PSR & 1) {
        r->psr = (uint32_t)regs->value[TARGET_REG_PSR];
        r->psr_known = UINT32_MAX;
    }
    if (a64)
        take_levels(r, regs);
    for (unsigned i = 0; i < count; i++) {
        uint64_t value;
        int reg = a64 ? a64_reg(r, &list[i]) : -1;
        int vector = a64 ? target_register_vector(&list[i]) : -1;
        if (vector >= 0 && (regs->vector_known >> vector & 1)) {
            memcpy(&r->vector[2 * vector], regs->vector[vector], 16);
            r->vector_known64 |= UINT64_C(3) << 2 * vector;
        }
        if (vector >= 0 || !target_regs_get(regs, list, i, &value))
            continue;
        if (reg >= 0)
            set_execute_reg(r, (unsigned)reg, value);
        else if (a64 && strcmp(list[i].name, "fpcr") == 0) {
            r->fpscr = (uint32_t)value;
            r->fpscr_known = UINT32_MAX;
        } else if (!a64)
            take_extra(r, list[i].name, value, m_profile);
    }
    if (m_profile && regs->stack_known >> TARGET_STACK_MSP & 1)
        set_execute_reg(r, EXECUTE_MSP, regs->stack[TARGET_STACK_MSP]);
    if (m_profile && regs->stack_known >> TARGET_STACK_PSP & 1)
        set_execute_reg(r, EXECUTE_PSP, regs->stack[TARGET_STACK_PSP]);
    if (m_profile)
        forget_stack_in_use(r);
    if (profile == EXECUTE_PROFILE_AR)
        take_system(r, regs);
}

void reverse_snapshot_mpidr(struct reverse_snapshot *s, uint32_t mpidr)
{
    if (mpidr)
        set_execute_reg(&s->regs, EXECUTE_MPIDR, mpidr);
}

void reverse_snapshot_reset(struct reverse_snapshot *s)
{
    static const uint8_t zero[] = {EXECUTE_CONTROL,   EXECUTE_PRIMASK, EXECUTE_BASEPRI,
                                   EXECUTE_FAULTMASK, EXECUTE_MSPLIM,  EXECUTE_PSPLIM};
    for (size_t i = 0; i < sizeof zero; i++)
        if (!(s->regs.known >> zero[i] & 1))
            set_execute_reg(&s->regs, zero[i], 0);
    s->regs.float_settled = true;
}

static bool extra_of(const struct execute_regs *r, const char *name, bool m_profile,
                     uint64_t *value)
{
    unsigned n;
    char end;
    for (size_t i = 0; m_profile && i < sizeof m_names / sizeof *m_names; i++)
        if (m_names[i].reg >= EXECUTE_CONTROL && strcmp(name, m_names[i].name) == 0) {
            *value = r->value[m_names[i].reg];
            return r->known >> m_names[i].reg & 1;
        }
    if (strcmp(name, "fpscr") == 0) {
        *value = r->fpscr;
        return r->fpscr_known == UINT32_MAX;
    }
    if (sscanf(name, "d%u%c", &n, &end) != 1 || n >= 32)
        return false;
    *value = r->vector[n];
    return n < 16 ? (r->vector_known >> 2 * n & 3) == 3 : r->vector_known64 >> (n - 16) & 1;
}

/* Which of them r13 is, if that is known, and the other one. */
static void tell_stacks(const struct execute_regs *r, struct target_regs *regs)
{
    bool handler = r->psr & XPSR_NUMBER;
    if ((r->psr_known & XPSR_NUMBER) != XPSR_NUMBER ||
        (!handler && !(r->known >> EXECUTE_CONTROL & 1)))
        return;
    bool psp = !handler && (r->value[EXECUTE_CONTROL] & CONTROL_SPSEL);
    const uint64_t value[2] = {r->value[psp ? EXECUTE_MSP : EXECUTE_SP],
                               r->value[psp ? EXECUTE_SP : EXECUTE_PSP]};
    const bool known[2] = {r->known >> (psp ? EXECUTE_MSP : EXECUTE_SP) & 1,
                           r->known >> (psp ? EXECUTE_SP : EXECUTE_PSP) & 1};
    unsigned bank =
        regs->security == TARGET_SECURITY_NONSECURE ? TARGET_STACK_MSP_NS : TARGET_STACK_MSP_S;
    for (unsigned i = 0; i < 2; i++) {
        if (!known[i])
            continue;
        regs->stack[TARGET_STACK_MSP + i] = regs->stack[bank + i] = (uint32_t)value[i];
        regs->stack_known |= 1u << (TARGET_STACK_MSP + i) | 1u << (bank + i);
    }
}

static void tell_a64(const struct execute_regs *r, const struct target_register *list,
                     unsigned count, struct target_regs *regs)
{
    regs->value[TARGET_REG_PSR] = r->psr;
    regs->known |= (uint32_t)(r->psr_known == UINT32_MAX) << TARGET_REG_PSR;
    for (unsigned i = 0; i < count; i++) {
        int reg = a64_reg(r, &list[i]), vector = target_register_vector(&list[i]);
        if (reg >= 0 && (r->known >> reg & 1))
            target_regs_set(regs, list, i, r->value[reg]);
        if (vector >= 0 && (r->vector_known64 >> 2 * vector & 3) == 3) {
            memcpy(regs->vector[vector], &r->vector[2 * vector], 16);
            regs->vector_known |= 1u << vector;
        }
        if (strcmp(list[i].name, "fpcr") == 0 && r->fpscr_known == UINT32_MAX)
            target_regs_set(regs, list, i, r->fpscr);
    }
}

void reverse_snapshot_tell(const struct execute_regs *r, const struct target_register *list,
                           unsigned count, enum execute_profile profile, struct target_regs *regs)
{
    if (profile == EXECUTE_PROFILE_A64) {
        tell_a64(r, list, count, regs);
        return;
    }
    bool m_profile = profile == EXECUTE_PROFILE_M;
    uint32_t mask = r->psr_known & FLAGS;
    if (m_profile && (r->psr_known & XPSR_NUMBER) == XPSR_NUMBER)
        mask |= XPSR_NUMBER;
    regs->value[TARGET_REG_PSR] = (regs->value[TARGET_REG_PSR] & ~(uint64_t)mask) | (r->psr & mask);
    if (m_profile)
        tell_stacks(r, regs);
    for (unsigned i = 0; i < count; i++) {
        uint64_t value;
        if (extra_of(r, list[i].name, m_profile, &value))
            target_regs_set(regs, list, i, value);
    }
}

int reverse_snapshot_add(struct reverse_snapshot *s, uint64_t address, const uint8_t *bytes,
                         size_t length)
{
    if (!array_room(&s->pieces, s->piece_count, &s->piece_max, sizeof *s->pieces))
        return BT_ERR_NOMEM;
    struct reverse_piece *p = &s->pieces[s->piece_count];
    *p = (struct reverse_piece){.address = address, .length = length};
    p->bytes = bytes ? malloc(length ? length : 1) : NULL;
    if (bytes && !p->bytes)
        return BT_ERR_NOMEM;
    if (bytes)
        memcpy(p->bytes, bytes, length);
    s->piece_count++;
    s->bytes += bytes ? length : 0;
    return BT_OK;
}

int reverse_snapshot_copy(struct reverse_snapshot *to, const struct reverse_snapshot *from)
{
    int error = BT_OK;
    *to = *from;
    to->pieces = NULL;
    to->piece_count = to->piece_max = 0;
    to->bytes = 0;
    for (size_t i = 0; i < from->piece_count && !error; i++)
        error = reverse_snapshot_add(to, from->pieces[i].address, from->pieces[i].bytes,
                                     from->pieces[i].length);
    return error;
}

void reverse_snapshot_release(struct reverse_snapshot *s)
{
    for (size_t i = 0; i < s->piece_count; i++)
        free(s->pieces[i].bytes);
    free(s->pieces);
    memset(s, 0, sizeof *s);
}

int reverse_snapshot_put(const struct reverse_snapshot *s, struct execute_memory *memory)
{
    for (size_t i = 0; i < s->piece_count; i++) {
        const struct reverse_piece *p = &s->pieces[i];
        int error = execute_memory_write(memory, p->address, p->bytes, p->length);
        if (error)
            return error;
    }
    return BT_OK;
}
