/* SPDX-License-Identifier: BSD-3-Clause */
/* Branches, system registers and exceptions of A64 (Arm DDI 0487L.a, C4.1, C5, D1). */
#include "execute_a64.h"
#include "execute_work.h"

/* Bits that every core has: AHP, DN, FZ and RMode; others may read as zero. */
#define FPCR_ALL UINT64_C(0x07c00000)

#define TYPE_RESET      0 /* of exceptions, as ETMv4 numbers them (Arm IHI 0064H.b, 6.4.12) */
#define TYPE_DEBUG_HALT 1
#define TYPE_ALIGNMENT  10
#define VECTOR_TABLE    (~UINT64_C(0x7ff)) /* of a vector's address */
#define VECTOR_LOWER    0x400u /* in the address of a vector: it came from a lower level */

/* Did the path take a branch to `target`? -1: nobody can tell. */
static int path_taken(const struct execute_insn *i, uint64_t target, int *error)
{
    if (!i->has_next || target == i->address + 4)
        return -1;
    if (i->next != target && i->next != i->address + 4)
        *error = BT_ERR_RANGE;
    return i->next == target;
}

static void check_taken(int taken, int known, int *error)
{
    if (taken >= 0 && known >= 0 && taken != known)
        *error = BT_ERR_RANGE;
}

static uint64_t near(const struct execute_insn *i, unsigned lsb, unsigned bits)
{
    return i->address +
           (uint64_t)a64_signed((uint64_t)a64_field(i->opcode, lsb, bits) << 2, bits + 2);
}

static void learn_zero(struct execute *x, unsigned reg, const struct execute_compared *of,
                       bool held, int *error)
{
    a64_learn_zero(x, reg, of, held, error);
    a64_derive(x, reg, a64_data);
}

static void derive_all(struct execute *x)
{
    const struct execute_regs *r = &x->regs;
    if (r->compared.reg)
        a64_derive(x, r->compared.reg - 1u, a64_data);
    for (unsigned n = 0; n < r->chained; n++)
        if (r->chain[n].before.reg)
            a64_derive(x, r->chain[n].before.reg - 1u, a64_data);
}

static void branch_on_condition(struct execute *x, const struct execute_insn *i, int *error)
{
    static const uint32_t one_flag[] = {A64_Z, A64_C, A64_N, A64_V};
    unsigned cond = i->opcode & 15;
    int taken = path_taken(i, near(i, 5, 19), error);
    check_taken(taken, a64_holds(x, cond), error);
    if (taken < 0 || cond >= 14 || *error)
        return;
    a64_learn(x, cond, taken, error);
    derive_all(x);
    if (cond >> 1 >= 4)
        return;
    uint32_t bit = one_flag[cond >> 1];
    x->regs.psr = (x->regs.psr & ~bit) | (((unsigned)taken ^ (cond & 1)) ? bit : 0);
    x->regs.psr_known |= bit;
}

static void branch_on_zero(struct execute *x, const struct execute_insn *i, int *error)
{
    bool wide = i->opcode >> 31, unless = i->opcode >> 24 & 1;
    unsigned rt = i->opcode & 31;
    struct a64_value v = a64_get(x, rt, wide);
    int taken = path_taken(i, near(i, 5, 19), error);
    check_taken(taken, v.known ? (v.bits == 0) != unless : -1, error);
    if (taken >= 0 && rt != A64_ZR && *error == BT_OK)
        learn_zero(x, rt, &(struct execute_compared){.wide = wide}, taken != (int)unless, error);
    if (taken >= 0 && x->exclusive.reg == rt + 1 && *error == BT_OK) {
        bool failed = taken == (int)unless;
        a64_set(x, rt, true, a64_known(failed));
        *error = execute_end_exclusive(x, failed);
    }
}

static void branch_on_bit(struct execute *x, const struct execute_insn *i, int *error)
{
    bool set = i->opcode >> 24 & 1;
    unsigned bit = i->opcode >> 31 << 5 | a64_field(i->opcode, 19, 5);
    struct a64_value v = a64_get(x, i->opcode & 31, true);
    int taken = path_taken(i, near(i, 5, 14), error);
    check_taken(taken, v.known ? (v.bits >> bit & 1) == set : -1, error);
    struct execute_compared of = {
        .with = UINT64_C(1) << bit, .how = EXECUTE_COMPARED_BITS, .wide = bit >= 32};
    if (taken >= 0 && (i->opcode & 31) != A64_ZR && *error == BT_OK)
        learn_zero(x, i->opcode & 31, &of, taken != (int)set, error);
}

/* Bits 63 to 56 may be a tag. Bits 1 and 0 are not traced: they lead to an alignment fault, or to
 * an interrupt before that. */
static void check_branch_target(struct execute *x, const struct execute_insn *i,
                                struct a64_value to, int *error)
{
    if (to.known && i->has_next && ((to.bits ^ i->next) & ~UINT64_C(3)) << 8)
        *error = BT_ERR_RANGE;
    if (to.known && to.bits & 3)
        x->regs.returning = A64_UNALIGNED;
}

static void set_pstate(struct execute *x, uint32_t bits, uint32_t value)
{
    x->regs.psr = (x->regs.psr & ~bits) | (value & bits);
    x->regs.psr_known |= bits;
    if (bits & A64_NZCV)
        a64_end_flags(&x->regs);
}

/* A mode that there is not, or that of a higher level: then level and stack pointer stay (Arm DDI
 * 0487L.a, D1.4.4). */
static bool is_illegal(int level, uint32_t status)
{
    uint32_t mode = status & A64_PSTATE_MODE;
    return !(mode & A64_PSTATE_M4) && (mode & 2 || mode == 1 || (int)(mode >> 2) > level);
}

/* PSTATE of a status, of which some bits are known. */
static void return_to(struct execute *x, int level, uint32_t status, uint32_t known)
{
    uint32_t place = A64_PSTATE_EL | A64_PSTATE_SP, stays = x->regs.psr_known & place;
    if ((known & A64_PSTATE_MODE) != A64_PSTATE_MODE) {
        known &= ~place;
    } else if (level > 0 && is_illegal(level, status)) {
        status = x->regs.psr;
        known = stays;
    }
    x->regs.psr = status;
    x->regs.psr_known = known;
    a64_end_flags(&x->regs);
}

/* ERET: PSTATE of SPSR, bit by bit; general registers stay. False: to AArch32, or not one. */
static bool return_from_exception(struct execute *x, const struct execute_insn *i, int *error)
{
    int level = a64_level(x);
    struct a64_value to = a64_unknown(), status = a64_unknown();
    if (level == 0)
        return false;
    if (level > 0) {
        to = a64_entry(x, A64_ELR0 + (unsigned)level);
        status = a64_entry(x, A64_SPSR0 + (unsigned)level);
    }
    check_branch_target(x, i, to, error);
    return_to(x, level, (uint32_t)status.bits, status.known ? (uint32_t)(status.bits >> 32) : 0);
    a64_change_level(x, level, a64_level(x));
    execute_translation_sync(x, EFFECT_CONTEXT_ISB);
    return !(x->regs.psr & x->regs.psr_known & A64_PSTATE_M4);
}

static bool branch_to_register(struct execute *x, const struct execute_insn *i, int *error)
{
    uint32_t op = i->opcode;
    unsigned which = a64_field(op, 21, 4), form = a64_field(op, 10, 6);
    if (a64_field(op, 16, 5) != 31)
        return false;
    bool plain = form == 0;
    struct a64_value to = a64_get(x, a64_field(op, 5, 5), true);
    if (plain && which <= 2)
        check_branch_target(x, i, to, error);
    switch (which) {
    case 1:
    case 9:
        a64_set(x, 30, true, a64_known(i->address + 4));
        return true;
    case 0:
    case 2:
    case 8:
        return true;
    case 4:
        return return_from_exception(x, i, error);
    default:
        return false;
    }
}

/* Pointer authentication as hints: of LR, or of x17. */
static void hint(struct execute *x, unsigned number)
{
    if (number == 7 || (number >= 24 && number < 32))
        a64_set(x, 30, true, a64_unknown());
    else if (number == 8 || number == 10 || number == 12 || number == 14)
        a64_set(x, 17, true, a64_unknown());
}

/* MSR (immediate). */
static bool set_status_field(struct execute *x, unsigned which, unsigned imm)
{
    switch (which) {
    case 0: /* CFINV */
        x->regs.psr ^= A64_C;
        a64_end_flags(&x->regs);
        return true;
    case 1: /* XAFLAG, AXFLAG */
    case 2:
        a64_set_flags(x, 0, 0);
        return true;
    case 3: /* UAO, PAN, SPSel */
        set_pstate(x, 1u << 23, imm << 23);
        return true;
    case 4:
        set_pstate(x, 1u << 22, imm << 22);
        return true;
    case 5:
        set_pstate(x, A64_PSTATE_SP, imm);
        return true;
    case 3 << 3 | 1: /* SSBS, DIT, TCO */
        set_pstate(x, 1u << 12, imm << 12);
        return true;
    case 3 << 3 | 2:
        set_pstate(x, 1u << 24, imm << 24);
        return true;
    case 3 << 3 | 4:
        set_pstate(x, 1u << 25, imm << 25);
        return true;
    case 3 << 3 | 6: /* DAIFSet, DAIFClr */
        set_pstate(x, imm << 6, UINT32_MAX);
        return true;
    case 3 << 3 | 7:
        set_pstate(x, imm << 6, 0);
        return true;
    default:
        return false;
    }
}

/* SYS, SYSL. What cleans or zeroes a block of memory does so to at most 2 KiB (CTR_EL0, DCZID_EL0).
 */
static bool system_instruction(struct execute *x, uint32_t op, int *error)
{
    unsigned op1 = a64_field(op, 16, 3), rn = a64_field(op, 12, 4), rm = a64_field(op, 8, 4);
    unsigned op2 = a64_field(op, 5, 3), rt = op & 31;
    if (op >> 21 & 1) {
        a64_set(x, rt, true, a64_unknown());
        return true;
    }
    if (rn == 8 && x->regs.translation != EXECUTE_TRANSLATION_FLAT) /* TLBI */
        execute_translation_change(x, EFFECT_CONTEXT_CHANGES_TLB);
    bool zeroes = op1 == 3 && rn == 7 && rm == 4;
    bool invalidates = op1 == 0 && rn == 7 && rm == 6;
    if (!zeroes && !invalidates)
        return rn == 7 || rn == 8; /* caches, translations */
    struct a64_value at = a64_get(x, rt, true);
    if (!at.known || (invalidates && (op2 == 2 || op2 == 4 || op2 == 6))) {
        execute_forget_memory(x);
        return true;
    }
    for (unsigned n = 0; n < 2048 && *error == BT_OK; n += 16)
        *error = execute_memory_write(&x->memory, (at.bits & ~2047ull) + n, NULL, 16);
    execute_tell(x, at.bits & ~2047ull, 2048, true, true);
    return true;
}

#define SYSTEM(op1, n, m, op2) ((op1) << 11 | (n) << 7 | (m) << 3 | (op2))

/* Entry of execute_regs.value; -1: not one that is kept. */
static int system_entry(unsigned key)
{
    static const struct {
        uint16_t key;
        uint8_t entry;
    } list[] = {
        {SYSTEM(0, 4, 0, 0), A64_SPSR1},      {SYSTEM(4, 4, 0, 0), A64_SPSR1 + 1},
        {SYSTEM(6, 4, 0, 0), A64_SPSR1 + 2},  {SYSTEM(0, 4, 0, 1), A64_ELR1},
        {SYSTEM(4, 4, 0, 1), A64_ELR1 + 1},   {SYSTEM(6, 4, 0, 1), A64_ELR1 + 2},
        {SYSTEM(0, 4, 1, 0), A64_SP0},        {SYSTEM(4, 4, 1, 0), A64_SP0 + 1},
        {SYSTEM(6, 4, 1, 0), A64_SP0 + 2},    {SYSTEM(0, 12, 0, 0), A64_VBAR1},
        {SYSTEM(4, 12, 0, 0), A64_VBAR1 + 1}, {SYSTEM(6, 12, 0, 0), A64_VBAR1 + 2},
        {SYSTEM(3, 13, 0, 2), A64_TPIDR},     {SYSTEM(0, 13, 0, 4), A64_TPIDR + 1},
        {SYSTEM(4, 13, 0, 2), A64_TPIDR + 2}, {SYSTEM(6, 13, 0, 2), A64_TPIDR + 3},
        {SYSTEM(3, 13, 0, 3), A64_TPIDR + 4}, {SYSTEM(0, 0, 0, 5), EXECUTE_MPIDR},
        {SYSTEM(0, 1, 0, 0), A64_SCTLR1},     {SYSTEM(4, 1, 0, 0), A64_SCTLR1 + 1},
        {SYSTEM(6, 1, 0, 0), A64_SCTLR1 + 2}, {SYSTEM(0, 2, 0, 0), A64_TTBR1},
        {SYSTEM(4, 2, 0, 0), A64_TTBR1 + 1},  {SYSTEM(6, 2, 0, 0), A64_TTBR1 + 2},
        {SYSTEM(0, 2, 0, 2), A64_TCR1},       {SYSTEM(4, 2, 0, 2), A64_TCR1 + 1},
        {SYSTEM(6, 2, 0, 2), A64_TCR1 + 2},   {SYSTEM(0, 2, 0, 1), A64_UPPER},
        {SYSTEM(4, 1, 1, 0), A64_HCR},
    };
    for (unsigned n = 0; n < sizeof list / sizeof *list; n++)
        if (list[n].key == key)
            return list[n].entry;
    return -1;
}

/* SCTLR, TTBR0, TTBR1, TCR of any level, HCR. */
static bool changes_translation(unsigned key)
{
    unsigned place = key & 0x7ff;
    return place == SYSTEM(0, 1, 0, 0) || place >> 3 == SYSTEM(0, 2, 0, 0) >> 3 ||
           key == SYSTEM(4, 1, 1, 0);
}

/* At EL2 the names of EL1's registers may be those of EL2's (HCR_EL2.E2H), and EL1's have names of
 * their own. */
static bool may_be_another(const struct execute *x, unsigned key)
{
    int level = a64_level(x);
    bool moved = key == SYSTEM(0, 4, 0, 0) || key == SYSTEM(0, 4, 0, 1) ||
                 key == SYSTEM(0, 12, 0, 0) || (!(key >> 11) && changes_translation(key));
    return key >> 11 == 5 || (moved && (level < 0 || (level == 2 && a64_may_be_host(x))));
}

static void forget_moved(struct execute *x)
{
    static const uint8_t moved[] = {A64_SPSR1, A64_ELR1, A64_VBAR1};
    for (unsigned n = 0; n < sizeof moved; n++)
        x->regs.known &= ~(3ull << moved[n]);
}

static bool is_saved_status(int entry)
{
    return entry >= A64_SPSR1 && entry < A64_SPSR1 + 3;
}

/* Of what is not known, some bits may be: those of bits 63 to 32. */
static struct a64_value read_system(struct execute *x, unsigned key)
{
    uint32_t known = x->regs.psr_known, bits = x->regs.psr;
    switch (key) {
    case SYSTEM(3, 4, 2, 0):
        return a64_perhaps(bits & A64_NZCV, (known & A64_NZCV) == A64_NZCV);
    case SYSTEM(3, 4, 2, 1):
        return a64_perhaps(bits & A64_PSTATE_DAIF, (known & A64_PSTATE_DAIF) == A64_PSTATE_DAIF);
    case SYSTEM(0, 4, 2, 0):
        return a64_perhaps(bits & A64_PSTATE_SP, known & A64_PSTATE_SP);
    case SYSTEM(0, 4, 2, 2):
        return a64_perhaps(bits & A64_PSTATE_EL, a64_level(x) >= 0);
    case SYSTEM(3, 4, 4, 0):
        return a64_perhaps(x->regs.fpscr, x->regs.fpscr_known == UINT32_MAX);
    default:
        break;
    }
    if (key >> 1 == SYSTEM(3, 2, 4, 0) >> 1) /* RNDR, RNDRRS */
        a64_set_flags(x, 0, 0);
    int entry = system_entry(key);
    if (entry < 0 || may_be_another(x, key))
        return a64_unknown();
    struct a64_value v = a64_entry(x, (unsigned)entry);
    bool control = entry >= A64_SCTLR1 && entry < A64_SCTLR1 + 3;
    if (!v.known || !(control || is_saved_status(entry)))
        return v.known ? v : a64_unknown();
    uint32_t some = (uint32_t)(control ? ~v.bits >> 32 : v.bits >> 32);
    if (some == UINT32_MAX)
        return a64_known((uint32_t)v.bits);
    return a64_perhaps((uint32_t)v.bits | (uint64_t)some << 32, false);
}

/* `some`: of a value that is not known these bits are. */
static void write_system(struct execute *x, unsigned key, struct a64_value v, uint32_t some)
{
    if (changes_translation(key)) {
        a64_write_translation(x, system_entry(key), v, some);
        return;
    }
    uint32_t bits = key == SYSTEM(3, 4, 2, 0)   ? A64_NZCV
                    : key == SYSTEM(3, 4, 2, 1) ? A64_PSTATE_DAIF
                    : key == SYSTEM(0, 4, 2, 0) ? A64_PSTATE_SP
                                                : 0;
    if (bits) {
        set_pstate(x, bits, (uint32_t)v.bits);
        if (!v.known)
            x->regs.psr_known &= ~bits;
        return;
    }
    if (key == SYSTEM(3, 4, 4, 0)) {
        x->regs.fpscr = (uint32_t)v.bits;
        x->regs.fpscr_known = v.known && !(v.bits & ~FPCR_ALL) ? UINT32_MAX : 0;
        return;
    }
    if (may_be_another(x, key)) {
        forget_moved(x);
        return;
    }
    int entry = key == SYSTEM(4, 0, 0, 5) ? EXECUTE_MPIDR : system_entry(key); /* VMPIDR_EL2 */
    if (entry >= A64_VBAR1 && entry < A64_VBAR1 + 3 && v.bits & ~VECTOR_TABLE)
        v.known = false; /* bits that may read as zero */
    if (is_saved_status(entry)) {
        v.bits = (uint32_t)v.bits | (uint64_t)(v.known ? UINT32_MAX : some) << 32;
        v.known = v.known || some;
    }
    if (entry >= 0)
        a64_set_entry(x, (unsigned)entry, v);
}

static bool run_system(struct execute *x, uint32_t op, int *error)
{
    unsigned op0 = a64_field(op, 19, 2), n = a64_field(op, 12, 4), rt = op & 31;
    if (op >> 22 != 0xd5 << 2)
        return false; /* 128 bits */
    if (op0 == 0 && n == 2)
        hint(x, a64_field(op, 5, 7));
    if (op0 == 0 && n == 3 && a64_field(op, 5, 3) != 5) /* DSB, ISB, not DMB */
        execute_translation_sync(x, a64_field(op, 5, 3) == 6 ? EFFECT_CONTEXT_ISB
                                                             : EFFECT_CONTEXT_DSB);
    if (op0 == 0 && n == 4)
        return set_status_field(x, a64_field(op, 16, 3) << 3 | a64_field(op, 5, 3),
                                a64_field(op, 8, 4));
    if (op0 == 0)
        return n >= 1 && n <= 3;
    if (op0 == 1)
        return system_instruction(x, op, error);
    bool read = op >> 21 & 1;
    unsigned key = a64_field(op, 5, 14);
    const struct execute_regs *r = &x->regs;
    struct a64_value v = read ? a64_unknown() : a64_get(x, rt, true);
    if (read && op0 == 3)
        v = read_system(x, key);
    if (read) {
        a64_set(x, rt, true, v);
        if (!v.known)
            a64_set_partial(x, rt, (uint32_t)v.bits, (uint32_t)(v.bits >> 32));
    } else if (op0 == 3) {
        bool partial = r->partial == rt + 1;
        v.bits = partial ? r->partial_bits : v.bits;
        write_system(x, key, v, partial ? r->partial_known : 0);
    }
    return true;
}

bool a64_branch(struct execute *x, const struct execute_insn *i, int *error)
{
    uint32_t op = i->opcode;
    switch (op >> 29) {
    case 0:
    case 4: /* B, BL */
        if (i->has_next && near(i, 0, 26) != i->next)
            *error = BT_ERR_RANGE;
        if (op >> 31)
            a64_set(x, 30, true, a64_known(i->address + 4));
        return true;
    case 1:
    case 5:
        if (op >> 25 & 1)
            branch_on_bit(x, i, error);
        else
            branch_on_zero(x, i, error);
        return true;
    case 2:
        if (op >> 24 != 0x54)
            return false;
        branch_on_condition(x, i, error);
        return true;
    case 6:
        if (op >> 25 == 0x6b)
            return branch_to_register(x, i, error);
        if (op >> 24 == 0xd4) { /* SVC: its exception is an event; others may be a debugger's */
            x->regs.returning = op & 2 ? 2 + (op & 1) : 0; /* HVC to EL2, SMC to EL3 */
            return (op & 0xffe0001c) == 0xd4000000 && op & 3;
        }
        return run_system(x, op, error);
    default:
        return false;
    }
}

/*
 * The level that an exception from `from` went to, by its vector (Arm DDI 0487L.a, D1.3.1.5): the
 * tables are aligned to 2 KiB, and the place in them tells whether it came from a lower level. -1:
 * not known.
 */
static int exception_level(const struct execute *x, int from, uint64_t vector)
{
    if (from < 0)
        return -1;
    if (!(vector & VECTOR_LOWER))
        return from ? from : -1;
    int found = -1;
    for (int level = from + 1; level <= 3; level++) {
        struct a64_value table = a64_entry(x, A64_VBAR0 + (unsigned)level);
        if (table.known && (table.bits ^ vector) & VECTOR_TABLE)
            continue;
        if (found >= 0)
            return -1;
        found = level;
    }
    return found;
}

/* What of PSTATE an exception sets; the rest depends on the core's features, and nothing says that
 * it keeps the flags. */
static void enter_level(struct execute *x, int level)
{
    uint32_t zero = 1u << 23 | 1u << 21 | 1u << 20 | 3u << 10 | 0x20u | A64_PSTATE_M4 |
                    A64_PSTATE_EL | 2u | A64_PSTATE_SP;
    uint32_t depends = A64_NZCV | 1u << 22 | 1u << 25 | 1u << 12 | 1u << 13;
    set_pstate(x, zero | A64_PSTATE_DAIF,
               A64_PSTATE_DAIF | (uint32_t)(level < 0 ? 0 : level) << 2 | A64_PSTATE_SP);
    x->regs.psr_known &= ~depends;
    a64_end_flags(&x->regs);
    if (level < 0)
        x->regs.psr_known &= ~A64_PSTATE_EL;
}

int a64_exception(struct execute *x, const struct bt_exception *e, uint64_t next)
{
    if (e->type == TYPE_DEBUG_HALT && !e->m_type)
        return BT_OK;
    if ((e->type == TYPE_RESET && !e->m_type) || next & 0x7f) {
        execute_forget_registers(x);
        return BT_OK;
    }
    struct a64_value status = a64_known(x->regs.psr | (uint64_t)x->regs.psr_known << 32);
    bool exact = x->regs.returning != A64_UNALIGNED && e->type != TYPE_ALIGNMENT;
    bool call = x->regs.returning == 2 || x->regs.returning == 3;
    int level = call ? (int)x->regs.returning : exception_level(x, a64_level(x), next);
    if (call && a64_level(x) > level)
        level = a64_level(x);
    x->regs.returning = 0;
    a64_change_level(x, a64_level(x), level);
    if (level < 1) {
        x->regs.known &= ~(0xfull << A64_ELR0 | 0xfull << A64_SPSR0);
    } else {
        a64_set_entry(x, A64_SPSR0 + (unsigned)level, status);
        a64_set_entry(x, A64_ELR0 + (unsigned)level,
                      a64_perhaps(e->return_address, e->has_return && exact));
    }
    enter_level(x, level);
    execute_translation_sync(x, EFFECT_CONTEXT_ISB);
    struct a64_value table = a64_entry(x, A64_VBAR0 + (unsigned)(level < 1 ? 0 : level));
    return level > 0 && table.known && (table.bits ^ next) & VECTOR_TABLE ? BT_ERR_RANGE : BT_OK;
}
