/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modes and status of A and R profile (DDI 0406C.d B1.3, B1.8, B9.3): banked registers, CPS, MRS,
 * MSR, SRS, RFE, returns, and exceptions. Hyp mode is not followed. An exception's T follows from
 * its first instruction, not from SCTLR.
 *
 * The upper 32 bits of execute_regs.value are, of a saved status, those of its bits that are not
 * known, and of another banked register that is not known the range that it has.
 */
#include "execute_work.h"

#define STATUS_MODE     0x1fu
#define STATUS_T        0x20u
#define STATUS_F        0x40u
#define STATUS_RESERVED 0x00f00000u /* not to be written; read as 0 (DDI 0406C.d B1.3.3) */
#define STATUS_I        0x80u
#define STATUS_A        0x100u
#define STATUS_J        0x01000000u
#define STATUS_READ     0xf8ff03dfu /* what MRS reads as it is; the others are zero */
#define MODE_FIQ        0x11u
#define MODE_USER       0x10u
#define SCTLR_NMFI      0x08000000u
#define SCTLR_EE        0x02000000u
#define HIGHS           5u

struct status {
    uint32_t bits, known;
};

int execute_mode_bank(uint32_t mode)
{
    static const int8_t banks[16] = {EXECUTE_BANK_USER,
                                     EXECUTE_BANK_FIQ,
                                     EXECUTE_BANK_IRQ,
                                     EXECUTE_BANK_SUPERVISOR,
                                     -1,
                                     -1,
                                     EXECUTE_BANK_MONITOR,
                                     EXECUTE_BANK_ABORT,
                                     -1,
                                     -1,
                                     -1,
                                     EXECUTE_BANK_UNDEFINED,
                                     -1,
                                     -1,
                                     -1,
                                     EXECUTE_BANK_USER};
    return mode >> 4 == 1 ? banks[mode & 15] : -1;
}

static int current_bank(const struct execute_regs *r)
{
    return (r->psr_known & STATUS_MODE) == STATUS_MODE ? execute_mode_bank(r->psr & STATUS_MODE)
                                                       : -1;
}

static bool is_user(const struct execute_regs *r)
{
    return (r->psr_known & STATUS_MODE) == STATUS_MODE && (r->psr & STATUS_MODE) == MODE_USER;
}

static const struct execute_value nothing = {0, false, 0};

static struct execute_value get_reg(const struct execute_regs *r, unsigned reg)
{
    bool known = r->known >> reg & 1, own = reg >= EXECUTE_PC;
    uint32_t range = own                     ? (uint32_t)(r->value[reg] >> 32)
                     : r->bounded >> reg & 1 ? r->range[reg]
                                             : 0;
    return (struct execute_value){(uint32_t)r->value[reg], known, known ? 0 : range};
}

static void put_reg(struct execute_regs *r, unsigned reg, struct execute_value v)
{
    r->value[reg] = v.number | (reg < EXECUTE_PC ? 0 : (uint64_t)v.range << 32);
    r->known = (r->known & ~(UINT64_C(1) << reg)) | (uint64_t)v.known << reg;
    if (reg < EXECUTE_PC) {
        r->bounded = (r->bounded & ~(1u << reg)) | (uint32_t)(v.range != 0) << reg;
        r->range[reg] = v.range;
        execute_unrelate(r, 1u << reg);
    }
    r->compared.reg = r->compared.reg == reg + 1 ? 0 : r->compared.reg;
    r->partial = r->partial == reg + 1 ? 0 : r->partial;
}

static void copy_reg(struct execute_regs *r, unsigned to, unsigned from)
{
    put_reg(r, to, get_reg(r, from));
}

/* What r8 to r12 are in FIQ mode, and what they are elsewhere. */
static void swap_highs(struct execute_regs *r)
{
    for (unsigned i = 0; i < HIGHS; i++) {
        struct execute_value v = get_reg(r, 8 + i);
        copy_reg(r, 8 + i, EXECUTE_HIGH + i);
        put_reg(r, EXECUTE_HIGH + i, v);
    }
}

static void forget_highs(struct execute_regs *r)
{
    for (unsigned i = 0; i < HIGHS; i++) {
        put_reg(r, 8 + i, nothing);
        put_reg(r, EXECUTE_HIGH + i, nothing);
    }
}

static void switch_mode(struct execute_regs *r, uint32_t mode, bool known)
{
    int from = current_bank(r), to = known ? execute_mode_bank(mode) : -1;
    for (unsigned b = 0; b <= EXECUTE_BANK_MONITOR && from < 0; b++) {
        put_reg(r, execute_bank_reg(b), nothing);
        put_reg(r, execute_bank_reg(b) + 1, nothing);
    }
    if (from >= 0) {
        copy_reg(r, execute_bank_reg((enum execute_bank)from), EXECUTE_SP);
        copy_reg(r, execute_bank_reg((enum execute_bank)from) + 1, EXECUTE_LR);
    }
    if (to >= 0) {
        copy_reg(r, EXECUTE_SP, execute_bank_reg((enum execute_bank)to));
        copy_reg(r, EXECUTE_LR, execute_bank_reg((enum execute_bank)to) + 1);
    } else {
        put_reg(r, EXECUTE_SP, nothing);
        put_reg(r, EXECUTE_LR, nothing);
    }
    if (from < 0 || to < 0)
        forget_highs(r);
    else if ((from == EXECUTE_BANK_FIQ) != (to == EXECUTE_BANK_FIQ))
        swap_highs(r);
    r->psr = (r->psr & ~STATUS_MODE) | (mode & STATUS_MODE);
    r->psr_known = known ? r->psr_known | STATUS_MODE : r->psr_known & ~STATUS_MODE;
}

/* Bits `mask` of the CPSR become those of `s`. */
static void set_status(struct execute_regs *r, struct status s, uint32_t mask)
{
    if (mask & STATUS_MODE)
        switch_mode(r, s.bits & STATUS_MODE, (s.known & STATUS_MODE) == STATUS_MODE);
    mask &= ~STATUS_MODE;
    s.known &= ~(s.bits & STATUS_RESERVED);
    r->psr = (r->psr & ~mask) | (s.bits & mask);
    r->psr_known = (r->psr_known & ~mask) | (s.known & mask);
    r->compared.reg = 0;
    if (mask & EXECUTE_IT_BITS)
        r->it_unknown = 0;
}

/* Who may be masked depends on SCR, but in Secure state. */
static bool is_secure(const struct execute_regs *r)
{
    return r->known >> EXECUTE_SCR & ~r->value[EXECUTE_SCR] & 1;
}

/* Not all cores let software set F (SCTLR.NMFI), or change A (SCR.AW). */
static void doubt_masks(const struct execute_regs *r, struct status *s)
{
    uint32_t same = r->psr_known & ~(r->psr ^ s->bits);
    bool sets = is_secure(r) && r->known >> EXECUTE_SCTLR & 1 &&
                !((r->value[EXECUTE_SCTLR] | r->value[EXECUTE_SCTLR] >> 32) & SCTLR_NMFI);
    s->known &= same | ~((is_secure(r) ? 0 : STATUS_A) | (sets ? 0 : s->bits & STATUS_F));
}

static struct status saved_status(const struct execute_regs *r)
{
    int bank = current_bank(r);
    unsigned reg = execute_bank_reg((enum execute_bank)(bank > 0 ? bank : 0)) + 2;
    if (bank <= 0 || !(r->known >> reg & 1))
        return (struct status){0, 0};
    return (struct status){(uint32_t)r->value[reg], ~(uint32_t)(r->value[reg] >> 32)};
}

static void put_saved(struct execute_regs *r, enum execute_bank bank, struct status s)
{
    r->value[execute_bank_reg(bank) + 2] = s.bits | (uint64_t)~s.known << 32;
    r->known |= UINT64_C(1) << (execute_bank_reg(bank) + 2);
}

/* Bytes that an MSR writes. */
static uint32_t field_mask(unsigned fields)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < 4; i++)
        if (fields >> i & 1)
            mask |= 0xffu << 8 * i;
    return mask;
}

static struct status operand_status(const struct execute_work *w)
{
    struct execute_value v = {w->e->imm, true, 0};
    if (w->e->rn != EFFECT_NO_REG)
        v = execute_read(w, w->e->rn);
    if (!v.known && w->x->regs.partial == w->e->rn + 1)
        return (struct status){w->x->regs.partial_bits, w->x->regs.partial_known};
    return (struct status){v.number, v.known ? UINT32_MAX : 0};
}

static void write_status(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    struct status s = operand_status(w);
    uint32_t mask = field_mask(w->e->imm2) & STATUS_READ;
    const uint32_t privileged = STATUS_MODE | STATUS_F | STATUS_I | STATUS_A;
    if (is_user(r)) {
        mask &= ~privileged;
    } else if (current_bank(r) < 0) {
        s.known &= ~privileged; /* it may be User mode, which leaves them */
    }
    doubt_masks(r, &s);
    set_status(r, s, mask);
}

static void write_saved(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    struct status s = operand_status(w), now = saved_status(r);
    uint32_t mask = field_mask(w->e->imm2);
    int bank = current_bank(r);
    for (unsigned b = 0; b <= EXECUTE_BANK_MONITOR && bank < 0; b++)
        put_saved(r, b, (struct status){0, 0});
    bool partial = w->e->rn != EFFECT_NO_REG && r->partial == w->e->rn + 1,
         held = bank >= 0 && w->e->rn != EFFECT_NO_REG && r->interrupted.status == w->e->rn + 1;
    for (unsigned b = 0; b <= EXECUTE_BANK_MONITOR && mask >> 24; b++) {
        if (b == (unsigned)bank && partial)
            w->x->ways.saved[b] = w->x->ways.saved[EXECUTE_WAYS_PARTIAL];
        else if (bank < 0 || b == (unsigned)bank)
            w->x->ways.saved[b].instance = 0;
        if (bank < 0 || b == (unsigned)bank)
            r->interrupted.saved[b] = held ? r->interrupted.status_of : 0;
    }
    if (bank > 0)
        put_saved(r, (enum execute_bank)bank,
                  (struct status){(now.bits & ~mask) | (s.bits & mask),
                                  (now.known & ~mask) | (s.known & mask)});
}

static void read_status(struct execute_work *w)
{
    const struct execute_regs *r = &w->x->regs;
    bool known = (r->psr_known | ~STATUS_READ) == UINT32_MAX && !is_user(r);
    execute_write(w, w->e->rd, (struct execute_value){r->psr & STATUS_READ, known, 0});
    if (!is_user(r))
        execute_set_partial(w, w->e->rd, r->psr & STATUS_READ, r->psr_known | ~STATUS_READ);
}

static void read_saved(struct execute_work *w)
{
    struct status s = saved_status(&w->x->regs);
    execute_write(w, w->e->rd, (struct execute_value){s.bits, s.known == UINT32_MAX, 0});
    execute_set_partial(w, w->e->rd, s.bits, s.known);
    int bank = current_bank(&w->x->regs);
    if (bank > 0 && w->x->regs.partial == w->e->rd + 1)
        w->x->ways.saved[EXECUTE_WAYS_PARTIAL] = w->x->ways.saved[bank];
    if (bank > 0 && !w->maybe && w->e->rd < EXECUTE_PC) {
        w->x->regs.interrupted.status = (uint8_t)(w->e->rd + 1);
        w->x->regs.interrupted.status_of = w->x->regs.interrupted.saved[bank];
    }
}

/* CPS. In User mode it does nothing. */
static void change_state(struct execute_work *w, unsigned how, uint32_t masks, bool to_mode)
{
    struct execute_regs *r = &w->x->regs;
    bool sure = current_bank(r) >= 0 && !w->maybe;
    struct status s = {(how & 1 ? masks : 0) | w->e->imm, sure ? UINT32_MAX : 0};
    uint32_t mask = (how & 2 ? masks : 0) | (to_mode ? STATUS_MODE : 0);
    doubt_masks(r, &s);
    if (!is_user(r))
        set_status(r, s, mask);
}

/* SETEND. */
static void set_order(struct execute_work *w, bool big)
{
    struct execute_regs *r = &w->x->regs;
    bool sure = !w->maybe && !w->x->core.big_endian;
    r->mixed = true;
    set_status(r, (struct status){big ? EXECUTE_E : 0, sure ? UINT32_MAX : 0}, EXECUTE_E);
}

/* True if the instruction is a CPS, with or without a mode, or SETEND. */
static bool execute_cps(struct execute_work *w)
{
    uint32_t op = w->insn->opcode;
    bool t16 = w->insn->isa == BT_ISA_T32 && w->insn->size == 2;
    if (t16 ? (op & 0xfff7) == 0xb650
            : w->insn->isa == BT_ISA_A32 && (op & 0xfffffdff) == 0xf1010000)
        set_order(w, w->insn->opcode >> (t16 ? 3 : 9) & 1);
    else if (w->insn->isa == BT_ISA_A32 && (op & 0xfff1fe20) == 0xf1000000)
        change_state(w, op >> 18 & 3, op & 0x1c0, op >> 17 & 1);
    else if (t16 && (op & 0xffe8) == 0xb660)
        change_state(w, 2 | (op >> 4 & 1), (op & 7) << 6, false);
    else if (w->insn->isa == BT_ISA_T32 && w->insn->size == 4 && (op & 0xfffff800) == 0xf3af8000 &&
             (op & 0x700))
        change_state(w, op >> 9 & 3, (op & 0xe0) << 1, op >> 8 & 1);
    else
        return false;
    return true;
}

/* SRS: LR and SPSR, to the stack of a mode that is named. */
static void store_return(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    int bank = current_bank(r), named = execute_mode_bank(w->e->imm);
    unsigned sp =
        named == bank ? EXECUTE_SP : execute_bank_reg((enum execute_bank)(named < 0 ? 0 : named));
    struct status s = saved_status(r);
    uint32_t base = (uint32_t)r->value[sp], at = base + (uint32_t)w->e->start;
    bool known = bank >= 0 && named >= 0 && (r->known >> sp & 1);
    struct status lr = {(uint32_t)r->value[EXECUTE_LR],
                        r->known >> EXECUTE_LR & 1 ? UINT32_MAX : 0};
    if (known) {
        execute_put_word(w->x, at, lr.bits, lr.known, &w->error);
        execute_put_word(w->x, at + 4, s.bits, s.known, &w->error);
        if (s.known != UINT32_MAX && execute_is_own_order(w->x))
            execute_memory_set_bits(&w->x->memory, at + 4, s.bits, s.known);
        if (bank > 0)
            execute_ways_store_saved(w->x, (enum execute_bank)bank, at + 4);
        execute_hold_status(w->x, r->interrupted.saved[bank], at + 4);
        execute_tell(w->x, at, 8, true, w->maybe);
    } else {
        execute_clobber_store(w);
    }
    if (w->e->writeback && named >= 0 && bank >= 0)
        put_reg(r, sp, (struct execute_value){base + (uint32_t)w->e->delta, known, 0});
    else if (w->e->writeback)
        switch_mode(r, 0, false);
}

/* The path goes elsewhere than `v` says. */
static void check_return(struct execute_work *w, struct execute_value v)
{
    const struct execute_insn *i = w->insn;
    if (v.known && i->has_next && i->next != i->address &&
        (v.number & ~3u) != ((uint32_t)i->next & ~3u))
        w->error = BT_ERR_RANGE;
}

/* RFE */
static void return_from_memory(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    const struct insn_effect *e = w->e;
    struct execute_value base = execute_read(w, e->rn), pc = {0, false, 0};
    struct status s = {0, 0};
    uint32_t before = 0;
    if (base.known) {
        uint32_t at = base.number + (uint32_t)e->start;
        before = execute_held_status(w->x, at + 4);
        pc = execute_get_word(w->x, at);
        s.bits = execute_get_status(w->x, at + 4, &s.known);
        execute_tell(w->x, at, 8, false, w->maybe);
    } else {
        execute_tell_any(w->x, false);
    }
    check_return(w, pc);
    if (e->writeback && e->rn < EXECUTE_PC) {
        put_reg(r, e->rn, (struct execute_value){base.number + (uint32_t)e->delta, base.known, 0});
        w->x->ways.differs &= ~(1u << e->rn);
    }
    set_status(r, s, UINT32_MAX);
    if (base.known)
        execute_ways_return(w->x, base.number + (uint32_t)e->start + 4);
    execute_interrupt_end(w->x, before);
}

/* What the mode's SPSR has becomes the status. */
static void return_status(struct execute *x)
{
    int bank = current_bank(&x->regs);
    set_status(&x->regs, saved_status(&x->regs), UINT32_MAX);
    if (bank > 0)
        execute_ways_return_saved(x, (enum execute_bank)bank);
    execute_interrupt_end(x, bank > 0 ? x->regs.interrupted.saved[bank] : 0);
}

/* SUBS PC, LR, and the like. */
static void return_by_move(struct execute_work *w)
{
    const struct insn_effect *e = w->e;
    struct execute_value v = {0, false, 0};
    if (e->op == EFFECT_SUB && e->rn < EXECUTE_PC && e->rm == EFFECT_NO_REG) {
        v = execute_read(w, e->rn);
        v.number -= e->imm;
    } else if (e->op == EFFECT_MOV && e->rm < EXECUTE_PC && e->rs == EFFECT_NO_REG && !e->amount) {
        v = execute_read(w, e->rm);
    }
    check_return(w, v);
    return_status(w->x);
}

/* LDM and STM of User mode's registers. */
static void access_user(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    const struct insn_effect *e = w->e;
    int bank = current_bank(r);
    struct execute_value base = execute_read(w, e->rn);
    uint32_t at = base.number + (uint32_t)e->start;
    if (!e->load && !base.known)
        execute_clobber_store(w);
    for (unsigned i = 0; i < EXECUTE_PC; i++) {
        if (!(e->list >> i & 1))
            continue;
        unsigned reg = i >= EXECUTE_SP && bank != EXECUTE_BANK_USER ? EXECUTE_BANKS + i - EXECUTE_SP
                       : i >= 8 && i < EXECUTE_SP && bank == EXECUTE_BANK_FIQ ? EXECUTE_HIGH + i - 8
                                                                              : i;
        struct execute_value v = get_reg(r, reg);
        if (e->load) {
            put_reg(r, reg, base.known ? execute_get_word(w->x, at) : nothing);
            w->x->ways.differs &= ~(1u << i);
            if (base.known && reg == i) {
                execute_ways_load(w->x, reg, at);
                execute_take_held(w->x, reg, at);
            }
        } else if (base.known) {
            execute_put_word(w->x, at, v.number, v.known ? UINT32_MAX : 0, &w->error);
            if (v.range && !(at & 3))
                execute_bound(w->x, at, 4, v);
            if (reg == i) {
                execute_ways_store(w->x, reg, at);
                execute_hold(w->x, reg, at);
            }
        }
        if (base.known)
            execute_tell(w->x, at, 4, !e->load, w->maybe);
        at += 4;
    }
    if (!base.known)
        execute_tell_any(w->x, !e->load);
}

bool execute_ar_system(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    if (execute_cps(w) || execute_cp15(w))
        return true;
    if (w->e->kind != EFFECT_SYSTEM || w->maybe)
        return false;
    switch (w->e->system) {
    case EFFECT_SET_STATUS:
        write_status(w);
        break;
    case EFFECT_SET_SAVED:
        write_saved(w);
        break;
    case EFFECT_GET_STATUS:
        read_status(w);
        break;
    case EFFECT_GET_SAVED:
        read_saved(w);
        break;
    case EFFECT_STORE_RETURN:
        store_return(w);
        break;
    case EFFECT_RETURN_MEMORY:
        return_from_memory(w);
        break;
    case EFFECT_RETURN_MOVE:
        return_by_move(w);
        break;
    case EFFECT_RETURN_LOAD: /* its registers are loaded */
        return_status(w->x);
        break;
    case EFFECT_USER_REGISTERS:
        if (current_bank(r) < 0)
            return false;
        access_user(w);
        break;
    default:
        return false;
    }
    if (w->e->system >= EFFECT_RETURN_MEMORY && w->e->system <= EFFECT_RETURN_LOAD)
        execute_translation_sync(w->x, EFFECT_CONTEXT_ISB);
    return true;
}

uint32_t execute_banked(uint32_t mode)
{
    return (mode & STATUS_MODE) == MODE_FIQ ? 0x7f00 : 0x6000;
}

void execute_ar_before(struct execute *x, const struct execute_insn *insn)
{
    x->regs.psr = insn->isa == BT_ISA_T32 ? x->regs.psr | STATUS_T : x->regs.psr & ~STATUS_T;
    x->regs.psr_known |= STATUS_T;
    x->regs.mixed |= !x->core.big_endian && x->regs.psr & x->regs.psr_known & EXECUTE_E;
}

/* Mode that an exception is taken to, and what LR is ahead of the preferred return address; false:
 * it is not followed. */
static bool entry_of(unsigned number, uint32_t *mode, uint32_t *ahead, uint32_t *masks)
{
    static const struct {
        uint8_t number, mode, ahead;
        uint16_t masks;
    } entries[] = {
        {4, 0x17, 8, STATUS_A},             /* imprecise data abort */
        {10, 0x13, 0, 0},                   /* SVC */
        {11, 0x17, 4, STATUS_A},            /* prefetch abort */
        {12, 0x17, 8, STATUS_A},            /* data abort */
        {14, 0x12, 4, STATUS_A},            /* IRQ */
        {15, 0x11, 4, STATUS_A | STATUS_F}, /* FIQ */
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (entries[i].number == number) {
            *mode = entries[i].mode;
            *ahead = entries[i].ahead;
            *masks = entries[i].masks;
            return true;
        }
    return false;
}

bool execute_ar_exception(struct execute *x, const struct bt_event *event)
{
    struct execute_regs *r = &x->regs;
    const struct bt_exception *e = &event->u.exception;
    uint32_t mode, ahead, masks;
    if (e->m_profile || !entry_of(e->number, &mode, &ahead, &masks))
        return false;
    struct status s = {r->psr, r->psr_known};
    s.known = e->has_return ? s.known | STATUS_T : s.known & ~STATUS_T;
    s.bits = e->has_return && e->return_isa == BT_ISA_T32 ? s.bits | STATUS_T : s.bits & ~STATUS_T;
    uint32_t number = execute_interrupt(x);
    switch_mode(r, mode, true);
    r->interrupted.saved[execute_mode_bank(mode)] = number;
    execute_ways_enter_mode(x, (enum execute_bank)execute_mode_bank(mode));
    x->ways.differs &= ~execute_banked(mode);
    put_saved(r, (enum execute_bank)execute_mode_bank(mode), s);
    put_reg(r, EXECUTE_LR,
            (struct execute_value){(uint32_t)e->return_address + ahead, e->has_return, 0});
    /* What is masked already stays so. */
    uint32_t zero = STATUS_J | EXECUTE_IT_BITS, one = STATUS_I | (is_secure(r) ? masks : 0);
    r->psr = (r->psr & ~zero) | one;
    r->psr_known = (r->psr_known | zero | one) & ~(masks & ~r->psr);
    /* SCTLR.EE says which order handlers have; not known: taken to be the core's. */
    bool big = execute_control_has(r, EXECUTE_SCTLR, SCTLR_EE) > 0;
    r->psr = (r->psr & ~EXECUTE_E) | (big ? EXECUTE_E : 0);
    r->psr_known = x->core.big_endian ? r->psr_known & ~EXECUTE_E : r->psr_known | EXECUTE_E;
    r->it_unknown = 0;
    r->compared.reg = 0;
    execute_translation_sync(x, EFFECT_CONTEXT_ISB);
    return true;
}
