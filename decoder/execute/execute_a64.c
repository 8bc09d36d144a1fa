/* SPDX-License-Identifier: BSD-3-Clause */
/* One instruction of A64: its group, and what is unknown behind it (Arm DDI 0487L.a, C4.1). */
#include "execute_a64.h"
#include "execute_work.h"

#define ACCESS_MAX 64u /* bytes of one instruction's access: LD4 of 16 bytes each */

static bool run_group(struct execute *x, const struct execute_insn *i, int *error)
{
    uint32_t op = i->opcode;
    switch (a64_field(op, 25, 4)) {
    case 8:
    case 9:
        return a64_immediate(x, i);
    case 10:
    case 11:
        return a64_branch(x, i, error);
    case 5:
    case 13:
        return a64_register(x, i);
    case 7:
    case 15:
        a64_float(x, op);
        return true;
    case 4:
    case 6:
    case 12:
    case 14:
        return a64_memory(x, i, error);
    default: /* SVE, SME, reserved */
        return false;
    }
}

/* Not exceptions and system instructions, which are in the same group. */
static bool a64_is_branch(uint32_t op)
{
    return a64_field(op, 26, 3) == 5 && op >> 25 != 0x6a;
}

static bool is_memory(uint32_t op)
{
    return (op >> 25 & 5) == 4;
}

/*
 * An exception came that returns to the instruction itself: it did not complete. What it would have
 * written may be written in part.
 */
static void run_in_part(struct execute *x, const struct execute_insn *i, int *error)
{
    const struct execute_regs before = x->regs;
    struct execute_regs *r = &x->regs;
    void (*accessed)(void *ctx, const struct execute_access *access) = x->accessed;
    if (i->opcode >> 24 == 0xd5)
        execute_forget_memory(x); /* DC ZVA */
    if (!is_memory(i->opcode))
        return; /* a trap: nothing was done */
    x->accessed = NULL;
    if (!run_group(x, i, error)) {
        execute_forget_registers(x);
        execute_forget_memory(x);
    }
    for (unsigned n = 0; n < EXECUTE_REGS; n++) {
        if (before.value[n] != r->value[n])
            r->known &= ~(UINT64_C(1) << n);
        if (before.vector[n] != r->vector[n])
            r->vector_known64 &= ~(UINT64_C(1) << n);
    }
    r->partial = 0;
    r->known &= before.known;
    r->vector_known64 &= before.vector_known64;
    for (unsigned n = 0; x->has_access && n < 3 * ACCESS_MAX && *error == BT_OK; n += 16)
        *error = execute_memory_write(&x->memory, x->last_access - ACCESS_MAX + n, NULL, 16);
    x->accessed = accessed;
    execute_tell_any(x, true);
}

/*
 * An HVC or SMC without an exception: no level above is there, and an emulator has done what it
 * does: by the convention of such calls x18 to x30 and SP stay.
 */
static void return_from_firmware(struct execute *x)
{
    x->regs.returning = 0;
    x->regs.known &= ~UINT64_C(0x3ffff);
    a64_set_flags(x, 0, 0);
}

int a64_step(struct execute *x, const struct execute_insn *i)
{
    int error = BT_OK;
    bool branches = a64_is_branch(i->opcode);
    x->insns++;
    x->has_access = false;
    if (x->regs.returning)
        return_from_firmware(x);
    execute_translation_before(x);
    if (!branches && i->has_next && i->next == i->address) {
        run_in_part(x, i, &error);
        return error;
    }
    if (!run_group(x, i, &error)) {
        x->unknown++;
        x->clobbers++;
        execute_forget_registers(x);
        execute_forget_memory(x);
        return error;
    }
    if (x->regs.tables_hit || x->regs.translation >= EXECUTE_TRANSLATION_CHANGING)
        execute_translation_after(x);
    if (!branches && i->has_next && i->next != i->address + 4)
        return BT_ERR_RANGE;
    return error;
}
