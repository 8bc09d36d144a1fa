/* SPDX-License-Identifier: BSD-3-Clause */
/* One instruction of A64: its group, and what is unknown behind it (Arm DDI 0487L.a, C4.1). */
#include "execute_a64.h"
#include "execute_work.h"

#include <string.h>

#define ACCESS_MAX 64u /* bytes of one instruction's access: LD4 of 16 bytes each */

static bool run_data(struct execute *x, const struct execute_insn *i)
{
    struct execute_made now;
    a64_before(x, i->opcode, &now);
    bool known = a64_data(x, i);
    a64_behind(x, &now);
    return known;
}

static bool run_group(struct execute *x, const struct execute_insn *i, int *error)
{
    uint32_t op = i->opcode;
    switch (a64_field(op, 25, 4)) {
    case 5:
    case 8:
    case 9:
    case 13:
        return run_data(x, i);
    case 10:
    case 11:
        return a64_branch(x, i, error);
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

/* What the parts of an instruction have stored to. */
struct parts {
    struct execute_access access[8]; /* LD4 of four registers is told of element by element */
    unsigned count;
};

static void note_part(void *ctx, const struct execute_access *access)
{
    struct parts *p = ctx;
    struct execute_access *last = &p->access[p->count ? p->count - 1 : 0];
    if (!access->store)
        return;
    if (p->count && last->to == access->from && access->from)
        last->to = access->to;
    else if (p->count < 8)
        p->access[p->count++] = *access;
    else
        last->to = UINT64_MAX;
}

/*
 * An exception came that returns to the instruction itself: it did not complete. What it would have
 * written may be written in part, but for its base register (Arm DDI 0487L.a, D1.3.6).
 */
static void run_in_part(struct execute *x, const struct execute_insn *i, int *error)
{
    const struct execute_regs before = x->regs;
    struct execute_regs *r = &x->regs;
    void (*accessed)(void *ctx, const struct execute_access *access) = x->accessed;
    void *ctx = x->ctx;
    struct parts parts = {.count = 0};
    unsigned base = a64_field(i->opcode, 5, 5);
    int entry = base == A64_ZR ? execute_sp(x->core.profile, r) : (int)base;
    if ((i->opcode & 0xfff8f000) == 0xd5087000)
        execute_forget_memory(x); /* DC ZVA */
    if (!is_memory(i->opcode))
        return; /* a trap: nothing was done */
    x->accessed = note_part;
    x->ctx = &parts;
    bool known = run_group(x, i, error);
    x->accessed = accessed;
    x->ctx = ctx;
    if (!known) {
        execute_forget_registers(x);
        execute_forget_memory(x);
        return;
    }
    for (unsigned n = 0; n < EXECUTE_REGS; n++) {
        if (before.value[n] != r->value[n])
            r->known &= ~(UINT64_C(1) << n);
        if (before.vector[n] != r->vector[n])
            r->vector_known64 &= ~(UINT64_C(1) << n);
        if (n < EXECUTE_BOUNDED &&
            (before.value[n] != r->value[n] || before.range[n] != r->range[n]))
            r->bounded &= ~(1u << n);
    }
    r->bounded &= before.bounded & ~(before.words ^ r->words);
    execute_unrelate(r, UINT32_MAX);
    a64_end_flags(r);
    r->partial = 0;
    r->known &= before.known;
    r->vector_known64 &= before.vector_known64;
    if (entry >= 0)
        a64_set_entry(x, (unsigned)entry,
                      (struct a64_value){before.value[entry], before.known >> entry & 1, 0});
    if (entry >= 0 && entry < (int)EXECUTE_BOUNDED) {
        r->bounded |= before.bounded & 1u << entry;
        r->words |= before.words & 1u << entry;
        r->range[entry] = before.range[entry];
    }
    for (unsigned n = 0; n < parts.count && *error == BT_OK; n++) {
        const struct execute_access *a = &parts.access[n];
        if (a->to - a->from > 64 * (uint64_t)ACCESS_MAX)
            execute_forget_memory(x);
        else
            *error = execute_memory_write(&x->memory, a->from, NULL, a->to - a->from);
        execute_tell(x, a->from, a->to - a->from, true, true);
    }
}

/* Exceptions as ETMv4 numbers them (Arm IHI 0064H.b, 6.4.12): calls, and those that may come in
 * an access. */
#define TYPE_CALL         2
#define TYPE_SYSTEM_ERROR 4
#define TYPE_DATA_DEBUG   7
#define TYPE_ALIGNMENT    10
#define TYPE_DATA_FAULT   12
#define TYPE_IRQ          14
#define TYPE_FIQ          15

static void forget_low(struct execute *x, uint32_t regs)
{
    struct execute_regs *r = &x->regs;
    memset(x->derived.in, 0, sizeof x->derived.in);
    r->known &= ~(uint64_t)regs;
    r->bounded &= ~regs;
    execute_unrelate(r, regs);
    a64_end_flags(r);
}

/* One access that an interrupt comes before or behind. */
static bool is_one_access(uint32_t op)
{
    bool single = a64_field(op, 28, 2) == 3, literal = a64_field(op, 28, 2) == 1;
    bool exclusive = a64_field(op, 24, 6) == 8;
    return !(op >> 26 & 1) && (single || literal || (exclusive && !(op >> 21 & 1)));
}

static int abandon_access(struct execute *x, const struct bt_exception *e)
{
    uint32_t may = 1u << TYPE_SYSTEM_ERROR | 1u << TYPE_DATA_DEBUG | 1u << TYPE_ALIGNMENT |
                   1u << TYPE_DATA_FAULT | 1u << TYPE_IRQ | 1u << TYPE_FIQ;
    bool interrupt = e->type == TYPE_IRQ || e->type == TYPE_FIQ || e->type == TYPE_SYSTEM_ERROR;
    struct execute_insn i = {.address = e->return_address, .isa = BT_ISA_A64, .size = 4};
    uint8_t b[4];
    int error = BT_OK;
    if (!e->has_return || (e->type <= TYPE_FIQ && !(may >> e->type & 1)))
        return BT_OK;
    if (!execute_memory_read(&x->memory, i.address, b, 4)) {
        forget_low(x, 0x7fffffff);
        x->regs.partial = 0;
        x->regs.vector_known64 = 0;
        execute_forget_memory(x);
        return BT_OK;
    }
    i.opcode = (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
    if (!(interrupt && is_one_access(i.opcode)))
        run_in_part(x, &i, &error);
    x->exclusive.reg = 0;
    return error;
}

/*
 * An HVC or SMC without an exception: no level above is there, and an emulator has done what it
 * does: by the convention of such calls x18 to x30 and SP stay.
 */
static void return_from_firmware(struct execute *x)
{
    forget_low(x, 0x3ffff);
    a64_set_flags(x, 0, 0);
}

int a64_take_exception(struct execute *x, const struct bt_exception *e, uint64_t next)
{
    int error = abandon_access(x, e), other;
    bool firmware = x->regs.returning == 2 || x->regs.returning == 3;
    if (firmware && e->type != TYPE_CALL && e->type <= TYPE_FIQ) {
        return_from_firmware(x);
        x->regs.returning = 0;
    }
    other = a64_exception(x, e, next);
    return error ? error : other;
}

int a64_step(struct execute *x, const struct execute_insn *i)
{
    int error = BT_OK;
    bool branches = a64_is_branch(i->opcode);
    x->insns++;
    x->has_access = false;
    if (x->regs.returning && x->regs.returning != A64_UNALIGNED)
        return_from_firmware(x);
    x->regs.returning = 0;
    execute_translation_before(x);
    if ((i->opcode & 0x7e000000) != 0x34000000) /* CBZ, CBNZ */
        x->exclusive.reg = 0;
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
