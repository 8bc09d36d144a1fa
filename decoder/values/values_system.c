/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions of A- and R-profile cores that deal with modes and status registers. */
#include "values_build.h"

#define SP           13
#define LR           14
#define MASK_CONTROL 1u
#define MASK_FLAGS   8u
#define USES_BACK    64u /* of an operand: so many are looked through */
#define MODE_BITS    0x1fu

static uint32_t fresh(struct build *b)
{
    return rules_value(&b->r->rules);
}

/* The SPSR of the mode that the core is in; NULL: not known which. */
static struct build_status *saved_status(struct build *b)
{
    uint32_t mode;
    int bank = build_a_mode(b, &mode) ? build_a_bank(mode) : -1;
    return bank > 0 ? &b->banks[bank].spsr : NULL;
}

static uint32_t moved(struct build *b, uint32_t base, int32_t delta)
{
    uint32_t d = fresh(b);
    rules_add(&b->r->rules,
              &(struct values_rule){
                  .op = RULE_ADD, .slot = {d, base}, .k = (uint32_t)delta, .step = b->step});
    return d;
}

static void store_on_stack(struct build *b, uint32_t base, uint32_t offset, uint32_t data)
{
    struct values_access *a = build_access(b, ACCESS_STORE, base, offset, data);
    if (a)
        a->stack = a->saved = true;
}

static uint32_t load(struct build *b, uint32_t base, uint32_t offset)
{
    uint32_t data = fresh(b);
    struct values_access *a = build_access(b, ACCESS_LOAD, base, offset, data);
    if (a) /* as a POP: what was saved there is not needed any more */
        a->stack = a->saved = true;
    return data;
}

/* The instruction goes to value + ahead. In T32 code bit 0 says nothing. */
static void learn_target(struct build *b, uint32_t value, uint32_t ahead)
{
    uint32_t target;
    if (build_target(b, &target) && !(target & 3))
        rules_learn_at(&b->r->rules, value, target - ahead, VALUES_BRANCH, b->step);
}

/* CPSR becomes that. */
static void give_back(struct build *b, const struct build_status *s)
{
    if (!s) {
        build_clobber(b, EFFECT_BANKED | EFFECT_FLAGS);
        build_a_lost(b);
        return;
    }
    struct build_status copy = *s;
    build_a_switch(b, copy.mode);
    for (unsigned i = 0; i < 3; i++)
        build_assign(b, EFFECT_NZ + i, copy.flags[i]);
}

static uint32_t operand(struct build *b, const struct insn_effect *e)
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

static void write_status(struct build *b, const struct insn_effect *e)
{
    uint32_t word = operand(b, e), mode;
    bool read = word == b->status_read.word || (b->status_read.word && keeps_mode(b, word));
    struct build_status s = build_a_status(b, word);
    if (read)
        s.mode = b->status_read.mode;
    bool user = build_a_mode(b, &mode) && mode == BUILD_MODE_USER;
    if (e->imm2 & MASK_CONTROL && !user)
        build_a_switch(b, s.mode);
    for (unsigned i = 0; i < 3 && e->imm2 & MASK_FLAGS; i++)
        build_assign(b, EFFECT_NZ + i, s.flags[i]);
}

static void write_saved(struct build *b, const struct insn_effect *e)
{
    struct build_status *saved = saved_status(b), s = build_a_status(b, operand(b, e));
    if (!saved) {
        for (int i = 0; i < BUILD_BANKS; i++)
            b->banks[i].spsr = build_a_status(b, fresh(b));
        return;
    }
    saved->word = e->imm2 == 15 ? s.word : fresh(b);
    if (e->imm2 & MASK_CONTROL)
        saved->mode = s.mode;
    for (unsigned i = 0; i < 3 && e->imm2 & MASK_FLAGS; i++)
        saved->flags[i] = s.flags[i];
}

static void read_status(struct build *b, const struct insn_effect *e)
{
    b->status_read = build_a_current(b);
    build_assign(b, e->rd, b->status_read.word);
}

static void read_saved(struct build *b, const struct insn_effect *e)
{
    const struct build_status *saved = saved_status(b);
    build_assign(b, e->rd, saved ? saved->word : fresh(b));
}

/* LR and SPSR go to the stack of a mode that is named. */
static void store_return(struct build *b, const struct insn_effect *e)
{
    uint32_t p;
    int number = build_a_bank(e->imm);
    const struct build_status *saved = saved_status(b);
    if (number < 0) {
        build_clobber_memory(b);
        return;
    }
    struct build_bank *bank = &b->banks[number];
    enum build_is is = build_a_is(b, number, &p);
    uint32_t base = build_a_choose(b, is, p, b->cur[SP], bank->sp);
    store_on_stack(b, base, (uint32_t)e->start, b->cur[LR]);
    store_on_stack(b, base, (uint32_t)e->start + 4, saved ? saved->word : 0);
    if (!e->writeback)
        return;
    uint32_t next = moved(b, base, e->delta), sp = build_a_choose(b, is, p, next, b->cur[SP]);
    bank->sp = build_a_choose(b, is, p, bank->sp, next);
    if (sp != b->cur[SP])
        build_assign(b, SP, sp);
}

static void return_from_memory(struct build *b, const struct insn_effect *e)
{
    uint32_t base = build_read(b, e->rn, false);
    learn_target(b, load(b, base, (uint32_t)e->start), 0);
    struct build_status s = build_a_status(b, load(b, base, (uint32_t)e->start + 4));
    if (e->writeback)
        build_assign(b, e->rn, moved(b, base, e->delta));
    give_back(b, &s);
}

static void return_by_move(struct build *b, const struct insn_effect *e)
{
    if (e->op == EFFECT_MOV && e->rm < 15 && e->rs == EFFECT_NO_REG && !e->amount)
        learn_target(b, b->cur[e->rm], 0);
    else if (e->op == EFFECT_SUB && e->rn < 15 && e->rm == EFFECT_NO_REG)
        learn_target(b, b->cur[e->rn], 0u - e->imm);
    give_back(b, saved_status(b));
}

static void return_by_load(struct build *b, const struct insn_effect *e)
{
    uint32_t loaded[16] = {0}, base = build_read(b, e->rn, false), at = (uint32_t)e->start;
    for (unsigned reg = 0; reg < 16; reg++)
        if (e->list >> reg & 1) {
            loaded[reg] = load(b, base, at);
            at += 4;
        }
    learn_target(b, loaded[15], 0);
    if (e->writeback)
        build_assign(b, e->rn, moved(b, base, e->delta));
    for (unsigned reg = 0; reg < 15; reg++)
        if (loaded[reg])
            build_assign(b, reg, loaded[reg]);
    give_back(b, saved_status(b));
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

static void user_registers(struct build *b, const struct insn_effect *e)
{
    uint32_t mode, base = build_read(b, e->rn, false), at = (uint32_t)e->start;
    bool known = build_a_mode(b, &mode) && build_a_bank(mode) > 0;
    if (!known) {
        build_clobber(b, e->clobber);
        if (e->load)
            build_a_lost(b);
        else
            build_clobber_memory(b);
        return;
    }
    for (unsigned reg = 0; reg < 15; reg++) {
        if (!(e->list >> reg & 1))
            continue;
        uint32_t *kept = user_register(b, reg, mode == BUILD_MODE_FIQ);
        if (!e->load)
            build_access(b, ACCESS_STORE, base, at, kept ? *kept : b->cur[reg]);
        else if (kept)
            *kept = load(b, base, at);
        else
            build_assign(b, reg, load(b, base, at));
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
        if (!build_a_mode(b, &mode) || mode != BUILD_MODE_USER)
            build_a_switch(b, rules_constant(&b->r->rules, e->imm, b->step));
        break;
    case EFFECT_SET_STATUS:
        write_status(b, e);
        break;
    case EFFECT_SET_SAVED:
        write_saved(b, e);
        break;
    case EFFECT_GET_STATUS:
        read_status(b, e);
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
