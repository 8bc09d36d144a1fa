/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modes of A- and R-profile cores. The mode is a value as any other: where it is not known yet, a
 * banked register is selected by it, so that what is learnt of the mode later
 * counts as well. Then the instructions that deal with modes and status registers. */
#include "values_build.h"

#include <string.h>

#define SP           13
#define LR           14
#define MASK_CONTROL 1u
#define MASK_FLAGS   8u
#define USES_BACK    64u /* of an operand: so many are looked through */
#define MODE_BITS    0x1fu
#define STATUS_E     0x200u /* of the CPSR: data are big-endian */
#define STACK_STEPS  32     /* pushes and pops of a handler that are followed */

static const uint8_t bank_modes[BUILD_BANKS] = {BUILD_MODE_SYSTEM, BUILD_MODE_FIQ,
                                                BUILD_MODE_IRQ,    BUILD_MODE_SUPERVISOR,
                                                BUILD_MODE_ABORT,  BUILD_MODE_UNDEFINED};

static uint32_t mode_rule(struct build *b, enum rule_op op, uint32_t a, uint32_t x, uint32_t k)
{
    uint32_t d = build_fresh(b);
    rules_add(&b->r->rules,
              &(struct values_rule){.op = (uint8_t)op, .slot = {d, a, x}, .k = k, .step = b->step});
    return d;
}

/* Value: 1 if the mode is `number`. */
static uint32_t mode_is(struct build *b, uint32_t number)
{
    uint32_t zero = mode_rule(b, RULE_XOR, b->cur[VALUES_MODE], 0, number);
    return mode_rule(b, RULE_COND, mode_rule(b, RULE_NZ, zero, 0, 0), 0, 0);
}

static bool known_mode(const struct build *b, uint32_t *number)
{
    const struct values_rules *rules = &b->r->rules;
    *number = rules->values[b->cur[VALUES_MODE]].number;
    return rules_known(rules, b->cur[VALUES_MODE]);
}

static int mode_bank(uint32_t mode)
{
    if (mode == BUILD_MODE_USER)
        return 0;
    for (int i = 0; i < BUILD_BANKS; i++)
        if (bank_modes[i] == mode)
            return i;
    return -1;
}

static enum build_is bank_is(struct build *b, int bank, uint32_t *condition)
{
    uint32_t number, mode = b->cur[VALUES_MODE];
    *condition = 0;
    if (known_mode(b, &number))
        return mode_bank(number) == bank ? BUILD_IS : BUILD_IS_NOT;
    if (b->tested != mode) {
        memset(b->tests, 0, sizeof b->tests);
        b->tested = mode;
    }
    if (!b->tests[bank]) {
        b->tests[bank] = mode_is(b, bank_modes[bank]);
        if (bank == 0)
            b->tests[0] = mode_rule(b, RULE_ORR, b->tests[0], mode_is(b, BUILD_MODE_USER), 0);
    }
    *condition = b->tests[bank];
    return BUILD_IS_PERHAPS;
}

static uint32_t choose_value(struct build *b, enum build_is is, uint32_t condition, uint32_t yes,
                             uint32_t no)
{
    if (is != BUILD_IS_PERHAPS || yes == no)
        return is == BUILD_IS_NOT ? no : yes;
    uint32_t d = build_fresh(b);
    rules_add(
        &b->r->rules,
        &(struct values_rule){.op = RULE_SELECT, .slot = {d, condition, no, yes}, .step = b->step});
    return d;
}

/* Keeps the registers of the mode that is left. */
static void leave_mode(struct build *b)
{
    uint32_t p;
    for (int i = 0; i < BUILD_BANKS; i++) {
        enum build_is is = bank_is(b, i, &p);
        struct build_bank *bank = &b->banks[i];
        bank->sp = choose_value(b, is, p, b->cur[SP], bank->sp);
        bank->lr = choose_value(b, is, p, b->cur[LR], bank->lr);
    }
    enum build_is fiq = bank_is(b, BUILD_BANK_FIQ, &p);
    for (unsigned i = 0; i < BUILD_HIGH; i++) {
        uint32_t now = b->cur[8 + i];
        b->high[1][i] = choose_value(b, fiq, p, now, b->high[1][i]);
        b->high[0][i] = choose_value(b, fiq, p, b->high[0][i], now);
    }
}

static void become(struct build *b, unsigned reg, uint32_t value)
{
    if (b->cur[reg] != value)
        build_assign(b, reg, value);
}

static void arrive_in_mode(struct build *b, uint32_t mode)
{
    uint32_t p, sp = build_fresh(b), lr = build_fresh(b);
    build_assign(b, VALUES_MODE, mode);
    for (int i = 0; i < BUILD_BANKS; i++) {
        enum build_is is = bank_is(b, i, &p);
        sp = choose_value(b, is, p, b->banks[i].sp, sp);
        lr = choose_value(b, is, p, b->banks[i].lr, lr);
    }
    become(b, SP, sp);
    become(b, LR, lr);
    enum build_is fiq = bank_is(b, BUILD_BANK_FIQ, &p);
    for (unsigned i = 0; i < BUILD_HIGH; i++)
        become(b, 8 + i, choose_value(b, fiq, p, b->high[1][i], b->high[0][i]));
}

static void switch_mode(struct build *b, uint32_t mode)
{
    if (mode == b->cur[VALUES_MODE])
        return;
    leave_mode(b);
    arrive_in_mode(b, mode);
}

static void status_part(struct build *b, uint32_t d, uint32_t word, uint32_t lsb, uint32_t width)
{
    rules_add(&b->r->rules,
              &(struct values_rule){
                  .op = RULE_FIELD, .slot = {d, word}, .k = lsb | width << 8, .step = b->step});
}

static void tie_status(struct build *b, const struct build_status *s, bool with_mode)
{
    if (with_mode)
        status_part(b, s->mode, s->word, 0, 5);
    status_part(b, s->flags[0], s->word, 30, 2);
    status_part(b, s->flags[1], s->word, 29, 1);
    status_part(b, s->flags[2], s->word, 28, 1);
}

static struct build_status new_status(struct build *b, uint32_t word)
{
    if (word && word == b->status_read.word)
        return b->status_read;
    struct build_status s = {.word = word, .mode = build_fresh(b)};
    for (unsigned i = 0; i < 3; i++)
        s.flags[i] = build_fresh(b);
    tie_status(b, &s, true);
    return s;
}

void build_a_lost(struct build *b)
{
    uint32_t pred = b->pred;
    if (b->w->m_profile)
        return;
    b->pred = 0; /* whether or not */
    build_assign(b, VALUES_MODE, build_fresh(b));
    for (int i = 0; i < BUILD_BANKS; i++) {
        struct build_bank *bank = &b->banks[i];
        bank->sp = build_fresh(b);
        bank->lr = build_fresh(b);
        bank->spsr = new_status(b, build_fresh(b));
    }
    for (unsigned i = 0; i < BUILD_HIGH; i++) {
        b->high[0][i] = build_fresh(b);
        b->high[1][i] = build_fresh(b);
    }
    b->status_read.word = 0;
    b->pred = pred;
}

/* Status registers. */

static struct build_status current_status(struct build *b)
{
    uint32_t mode;
    struct build_status s = {.word = build_fresh(b), .mode = b->cur[VALUES_MODE]};
    memcpy(s.flags, &b->cur[EFFECT_NZ], sizeof s.flags);
    /* User mode does not see its own mode. */
    tie_status(b, &s, known_mode(b, &mode) && mode != BUILD_MODE_USER);
    return s;
}

/* LR is the preferred return address and this. */
static bool entry_mode(const struct bt_event *event, uint32_t *mode, uint32_t *ahead)
{
    *ahead = 4;
    switch (event->u.exception.number) {
    case BUILD_NUMBER_UNDEFINED: /* what the address is depends on the protocol */
        *mode = BUILD_MODE_UNDEFINED;
        *ahead = UINT32_MAX;
        return true;
    case BUILD_NUMBER_SVC:
        *mode = BUILD_MODE_SUPERVISOR;
        *ahead = 0;
        return true;
    case BUILD_NUMBER_PREFETCH_ABORT:
        *mode = BUILD_MODE_ABORT;
        return true;
    case BUILD_NUMBER_ASYNC_ABORT:
    case BUILD_NUMBER_DATA_ABORT:
        *mode = BUILD_MODE_ABORT;
        *ahead = 8;
        return true;
    case BUILD_NUMBER_IRQ:
        *mode = BUILD_MODE_IRQ;
        return true;
    case BUILD_NUMBER_FIQ:
        *mode = BUILD_MODE_FIQ;
        return true;
    default:
        return false;
    }
}

void build_a_overwrites(struct build *b, const struct bt_event *event)
{
    uint32_t mode, ahead;
    for (size_t i = 0; entry_mode(event, &mode, &ahead) && i < b->frame_count; i++)
        b->frames[i].lost |= (uint16_t)(1u << (mode & 15));
}

void build_a_entry(struct build *b, const struct bt_event *event)
{
    uint32_t mode, ahead;
    struct build_status interrupted;
    if (!entry_mode(event, &mode, &ahead)) {
        build_clobber(b, EFFECT_BANKED | EFFECT_FLAGS);
        build_a_lost(b);
        return;
    }
    interrupted = (struct build_status){.word = build_fresh(b), .mode = b->cur[VALUES_MODE]};
    memcpy(interrupted.flags, &b->cur[EFFECT_NZ], sizeof interrupted.flags);
    tie_status(b, &interrupted, true);
    leave_mode(b);
    arrive_in_mode(b, rules_constant(&b->r->rules, mode, b->step));
    b->banks[mode_bank(mode)].spsr = interrupted;
    bool given = event->u.exception.has_return && ahead != UINT32_MAX;
    uint32_t lr = build_fresh(b);
    if (given)
        rules_learn_at(&b->r->rules, lr, (uint32_t)event->u.exception.return_address + ahead,
                       VALUES_EXCEPTION, b->step);
    build_assign(b, LR, lr);
}

void build_a_halted(struct build *b, uint32_t psr)
{
    rules_learn(&b->r->rules, b->cur[VALUES_MODE], psr & 0x1f, VALUES_HALTED);
}

/* The SPSR of the mode that the core is in; NULL: not known which. */
static struct build_status *saved_status(struct build *b)
{
    uint32_t mode;
    int bank = known_mode(b, &mode) ? mode_bank(mode) : -1;
    return bank > 0 ? &b->banks[bank].spsr : NULL;
}

static uint32_t address_at(struct build *b, uint32_t base, int32_t delta)
{
    uint32_t d = build_fresh(b);
    rules_add(&b->r->rules,
              &(struct values_rule){
                  .op = RULE_ADD, .slot = {d, base}, .k = (uint32_t)delta, .step = b->step});
    return d;
}

/* Some protocols tell of the place behind an instruction that is not defined: there the handler
 * goes over it. */
bool build_a_goes_behind(const struct build *b, const struct bt_exception *x)
{
    const struct values_insn *i = b->step ? &b->w->insns[b->step - 1] : NULL;
    return b->w->a_banks && i && x->number == BUILD_NUMBER_UNDEFINED &&
           (uint32_t)x->return_address == i->address + i->size;
}

/* SETEND (DDI 0406C.d A3.3): nobody knows where the order of data is which. */
bool build_a_has_mixed_data(const struct values_window *w)
{
    if (w->m_profile)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct values_insn *insn = &w->insns[i];
        if (insn->isa == BT_ISA_A32 ? (insn->opcode & 0xfffffdff) == 0xf1010000
                                    : insn->size == 2 && (insn->opcode & 0xfff7) == 0xb650)
            return true;
    }
    return w->final_cpsr_known && w->final_cpsr & STATUS_E && !w->big_endian;
}

/* What a fault's handler or a service pushes first it may write through any pointer. */
bool build_a_may_change(const struct build *b)
{
    const struct values_frame *f = b->frame_count ? &b->frames[b->frame_count - 1] : NULL;
    return b->w->a_banks && f && f->exception && f->number < BUILD_NUMBER_IRQ;
}

static void store_on_stack(struct build *b, uint32_t base, uint32_t offset, uint32_t data)
{
    struct values_access *a = build_access(b, ACCESS_STORE, base, offset, data);
    if (!a)
        return;
    a->stack = true;
    a->saved = build_a_may_change(b) ? SAVED_NOT : SAVED;
}

static uint32_t load_word(struct build *b, uint32_t base, uint32_t offset)
{
    uint32_t data = build_fresh(b);
    struct values_access *a = build_access(b, ACCESS_LOAD, base, offset, data);
    if (!a)
        return data;
    a->stack = true; /* as a POP: what was saved there is not needed any more */
    a->saved = build_a_may_change(b) ? SAVED_FRAME : SAVED;
    return data;
}

/* The instruction goes to value + ahead. In T32 code bit 0 says nothing. */
static void learn_return_target(struct build *b, uint32_t value, uint32_t ahead)
{
    uint32_t target;
    if (build_target(b, &target) && !(target & 3))
        rules_learn_at(&b->r->rules, value, target - ahead, VALUES_BRANCH, b->step);
}

/* CPSR becomes that. */
static void give_back_status(struct build *b, const struct build_status *s)
{
    if (!s) {
        build_clobber(b, EFFECT_BANKED | EFFECT_FLAGS);
        build_a_lost(b);
        return;
    }
    struct build_status copy = *s;
    switch_mode(b, copy.mode);
    for (unsigned i = 0; i < 3; i++)
        build_assign(b, EFFECT_NZ + i, copy.flags[i]);
}

static uint32_t status_operand(struct build *b, const struct insn_effect *e)
{
    if (e->rn == EFFECT_NO_REG)
        return rules_constant(&b->r->rules, e->imm, b->step);
    return build_read(b, e->rn, false);
}

/* Interrupts are often masked so: the status as it was read, with other bits, and the mode kept. */
static bool keeps_mode(const struct build *b, uint32_t value)
{
    const struct values_rules *rules = &b->r->rules;
    struct values_rule r;
    return rules_defines(rules, value, USES_BACK, &r) && (r.op == RULE_ORR || r.op == RULE_BIC) &&
           r.slot[1] == b->status_read.word && rules_known(rules, r.slot[2]) &&
           !(rules->values[r.slot[2]].number & MODE_BITS);
}

static void write_current(struct build *b, const struct insn_effect *e)
{
    uint32_t word = status_operand(b, e), mode;
    bool read = word == b->status_read.word || (b->status_read.word && keeps_mode(b, word));
    struct build_status s = new_status(b, word);
    if (read)
        s.mode = b->status_read.mode;
    bool user = known_mode(b, &mode) && mode == BUILD_MODE_USER;
    if (e->imm2 & MASK_CONTROL && !user)
        switch_mode(b, s.mode);
    for (unsigned i = 0; i < 3 && e->imm2 & MASK_FLAGS; i++)
        build_assign(b, EFFECT_NZ + i, s.flags[i]);
}

static void write_saved(struct build *b, const struct insn_effect *e)
{
    struct build_status *saved = saved_status(b), s = new_status(b, status_operand(b, e));
    if (!saved) {
        for (int i = 0; i < BUILD_BANKS; i++)
            b->banks[i].spsr = new_status(b, build_fresh(b));
        return;
    }
    saved->word = e->imm2 == 15 ? s.word : build_fresh(b);
    if (e->imm2 & MASK_CONTROL)
        saved->mode = s.mode;
    for (unsigned i = 0; i < 3 && e->imm2 & MASK_FLAGS; i++)
        saved->flags[i] = s.flags[i];
}

static void read_current(struct build *b, const struct insn_effect *e)
{
    b->status_read = current_status(b);
    build_assign(b, e->rd, b->status_read.word);
}

static void read_saved(struct build *b, const struct insn_effect *e)
{
    const struct build_status *saved = saved_status(b);
    build_assign(b, e->rd, saved ? saved->word : build_fresh(b));
}

/* LR and SPSR go to the stack of a mode that is named. */
static void store_return(struct build *b, const struct insn_effect *e)
{
    uint32_t p;
    int number = mode_bank(e->imm);
    const struct build_status *saved = saved_status(b);
    if (number < 0) {
        build_clobber_memory(b);
        return;
    }
    struct build_bank *bank = &b->banks[number];
    enum build_is is = bank_is(b, number, &p);
    uint32_t base = choose_value(b, is, p, b->cur[SP], bank->sp);
    store_on_stack(b, base, (uint32_t)e->start, b->cur[LR]);
    store_on_stack(b, base, (uint32_t)e->start + 4, saved ? saved->word : 0);
    if (!e->writeback)
        return;
    uint32_t next = address_at(b, base, e->delta), sp = choose_value(b, is, p, next, b->cur[SP]);
    bank->sp = choose_value(b, is, p, bank->sp, next);
    if (sp != b->cur[SP])
        build_assign(b, SP, sp);
}

static void return_from_memory(struct build *b, const struct insn_effect *e)
{
    uint32_t base = build_read(b, e->rn, false);
    learn_return_target(b, load_word(b, base, (uint32_t)e->start), 0);
    struct build_status s = new_status(b, load_word(b, base, (uint32_t)e->start + 4));
    if (e->writeback)
        build_assign(b, e->rn, address_at(b, base, e->delta));
    give_back_status(b, &s);
}

static void return_by_move(struct build *b, const struct insn_effect *e)
{
    if (e->op == EFFECT_MOV && e->rm < 15 && e->rs == EFFECT_NO_REG && !e->amount)
        learn_return_target(b, b->cur[e->rm], 0);
    else if (e->op == EFFECT_SUB && e->rn < 15 && e->rm == EFFECT_NO_REG)
        learn_return_target(b, b->cur[e->rn], 0u - e->imm);
    give_back_status(b, saved_status(b));
}

static void return_by_load(struct build *b, const struct insn_effect *e)
{
    uint32_t loaded[16] = {0}, base = build_read(b, e->rn, false), at = (uint32_t)e->start;
    for (unsigned reg = 0; reg < 16; reg++)
        if (e->list >> reg & 1) {
            loaded[reg] = load_word(b, base, at);
            at += 4;
        }
    learn_return_target(b, loaded[15], 0);
    if (e->writeback)
        build_assign(b, e->rn, address_at(b, base, e->delta));
    for (unsigned reg = 0; reg < 15; reg++)
        if (loaded[reg])
            build_assign(b, reg, loaded[reg]);
    give_back_status(b, saved_status(b));
}

/* Where the User mode register is kept while the core is in a known other mode. */
static uint32_t *user_register(struct build *b, unsigned reg, bool fiq)
{
    if (reg == SP)
        return &b->banks[0].sp;
    if (reg == LR)
        return &b->banks[0].lr;
    return fiq && reg >= 8 ? &b->high[0][reg - 8] : NULL;
}

/* As far from `to` as pushes and pops say. */
static bool is_same_place(const struct build *b, uint32_t from, uint32_t at, uint32_t to,
                          uint32_t to_at)
{
    struct values_rule rule;
    for (unsigned i = 0; from != to; i++) {
        if (i == STACK_STEPS || !rules_defines(&b->r->rules, from, USES_BACK, &rule) ||
            (rule.op != RULE_ADD && rule.op != RULE_SUB) || rule.slot[2])
            return false;
        from = rule.slot[1];
        at += rule.op == RULE_ADD ? rule.k : 0u - rule.k;
    }
    return at == to_at;
}

/* A handler puts the stack pointer away, or takes it, or another one's. */
static void move_user_stack(struct build *b, const struct insn_effect *e, uint32_t base,
                            uint32_t at)
{
    size_t i = b->frame_count;
    while (i && !b->frames[i - 1].exception)
        i--;
    struct values_frame *f = i ? &b->frames[i - 1] : NULL;
    if (f && !e->load) {
        f->user_base = base;
        f->user_at = at;
    }
    if (!e->load || (f && f->user_base && is_same_place(b, base, at, f->user_base, f->user_at)))
        return;
    for (i = 0; i < b->frame_count; i++)
        b->frames[i].moved = true;
}

static void user_registers(struct build *b, const struct insn_effect *e)
{
    uint32_t mode, base = build_read(b, e->rn, false), at = (uint32_t)e->start;
    bool known = known_mode(b, &mode) && mode_bank(mode) > 0;
    if (!known) {
        build_clobber(b, e->clobber);
        if (e->load)
            build_a_lost(b);
        else
            build_clobber_memory(b);
        return;
    }
    if (e->list >> SP & 1)
        move_user_stack(b, e, base, at + 4 * (uint32_t)__builtin_popcount(e->list & 0x1fffu));
    for (unsigned reg = 0; reg < 15; reg++) {
        if (!(e->list >> reg & 1))
            continue;
        uint32_t *kept = user_register(b, reg, mode == BUILD_MODE_FIQ);
        if (!e->load)
            build_access(b, ACCESS_STORE, base, at, kept ? *kept : b->cur[reg]);
        else if (kept)
            *kept = load_word(b, base, at);
        else
            build_assign(b, reg, load_word(b, base, at));
        at += 4;
    }
    if (!e->load && e->list >> 15)
        build_access(b, ACCESS_STORE, base, at, 0);
}

void build_a_system(struct build *b, const struct insn_effect *e)
{
    uint32_t mode;
    if (b->pred) { /* not known whether it ran */
        build_clobber(b, e->clobber | EFFECT_BANKED);
        if (e->clobber_memory)
            build_clobber_memory(b);
        build_a_lost(b);
        return;
    }
    switch ((enum effect_system)e->system) {
    case EFFECT_SET_MODE:
        if (!known_mode(b, &mode) || mode != BUILD_MODE_USER)
            switch_mode(b, rules_constant(&b->r->rules, e->imm, b->step));
        break;
    case EFFECT_SET_STATUS:
        write_current(b, e);
        break;
    case EFFECT_SET_SAVED:
        write_saved(b, e);
        break;
    case EFFECT_GET_STATUS:
        read_current(b, e);
        break;
    case EFFECT_GET_SAVED:
        read_saved(b, e);
        break;
    case EFFECT_STORE_RETURN:
        store_return(b, e);
        break;
    case EFFECT_RETURN_MEMORY:
        return_from_memory(b, e);
        break;
    case EFFECT_RETURN_MOVE:
        return_by_move(b, e);
        break;
    case EFFECT_RETURN_LOAD:
        return_by_load(b, e);
        break;
    case EFFECT_USER_REGISTERS:
        user_registers(b, e);
        break;
    }
}
