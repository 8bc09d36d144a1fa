/* SPDX-License-Identifier: BSD-3-Clause */
#include "values_build.h"

#include <stdlib.h>

#define INSN_UNITS 4 /* of a budget */

static void define(struct build *b, unsigned reg, uint32_t value)
{
    struct values_defs *d = &b->r->defs[reg];
    b->cur[reg] = value;
    if (d->count && d->at[d->count - 1].from == b->from) {
        d->at[d->count - 1].value = value;
        return;
    }
    if (values_room(b->r, (void **)&d->at, &d->max, d->count, sizeof *d->at))
        d->at[d->count++] = (struct values_def){b->from, value};
}

void build_assign(struct build *b, unsigned reg, uint32_t value)
{
    struct values_rules *rules = &b->r->rules;
    if (!b->pred) {
        define(b, reg, value);
        return;
    }
    uint32_t d = rules_value(rules);
    rules_add(rules, &(struct values_rule){.op = RULE_SELECT,
                                           .step = b->step,
                                           .slot = {d, b->pred, b->cur[reg], value}});
    define(b, reg, d);
}

void build_clobber(struct build *b, uint32_t regs)
{
    regs &= ((1u << VALUES_STATE_REGS) - 1) & ~(1u << 15);
    for (; regs; regs &= regs - 1)
        build_assign(b, (unsigned)__builtin_ctz(regs), rules_value(&b->r->rules));
}

struct values_access *build_access(struct build *b, enum access_kind kind, uint32_t base,
                                   uint32_t offset, uint32_t data)
{
    struct values_memory_state *m = &b->r->memory;
    if (!values_room(b->r, (void **)&m->accesses, &m->access_max, m->access_count,
                     sizeof *m->accesses))
        return NULL;
    struct values_access *a = &m->accesses[m->access_count++];
    *a = (struct values_access){.step = b->step,
                                .when = b->from,
                                .base = base,
                                .offset = offset,
                                .data = data,
                                .cond = b->pred,
                                .kind = (uint8_t)kind,
                                .width = 4};
    return a;
}

void build_clobber_memory(struct build *b)
{
    build_access(b, ACCESS_CLOBBER, 0, 0, 0);
}

uint32_t build_read(struct build *b, unsigned reg, bool align_pc)
{
    const struct values_insn *i = &b->w->insns[b->step];
    if (reg == EFFECT_NO_REG)
        return rules_value(&b->r->rules);
    if (reg != 15)
        return b->cur[reg];
    uint32_t pc = i->address + (i->isa == BT_ISA_T32 ? 4 : 8);
    return rules_constant(&b->r->rules, align_pc ? pc & ~3u : pc, b->step);
}

/* Is it a return from an exception, of a core where such is an instruction as others? */
static bool is_exception_return(const struct insn_effect *e)
{
    return e->kind == EFFECT_SYSTEM &&
           (e->system == EFFECT_RETURN_MEMORY || e->system == EFFECT_RETURN_MOVE ||
            e->system == EFFECT_RETURN_LOAD);
}

/* Events that say something else than where the path goes. */
static bool passive(const struct build *b, const struct bt_event *e)
{
    if (e->kind == BT_EVENT_EXCEPTION_RET)
        return b->w->a_banks; /* the instruction says it */
    return e->kind == BT_EVENT_DATA || e->kind == BT_EVENT_CYCLES || e->kind == BT_EVENT_COUNT ||
           e->kind == BT_EVENT_SOFTWARE || e->kind == BT_EVENT_TIMESTAMP ||
           e->kind == BT_EVENT_TRIGGER || e->kind == BT_EVENT_WARNING ||
           e->kind == BT_EVENT_CONTEXT;
}

/* The first event that stands right behind the instruction and is not passive. */
static const struct bt_event *event_behind(const struct build *b)
{
    for (size_t i = b->event; i < b->w->event_count; i++) {
        const struct bt_event *e = &b->w->events[i];
        if (e->position > b->w->first + b->step + 1)
            break;
        if (!passive(b, e) && !build_is_halt(b, e))
            return e;
    }
    return NULL;
}

/* What follows on the instruction; events do, if there are any. */
static void look_on(struct build *b)
{
    const struct values_window *w = b->w;
    const struct values_insn *i = &w->insns[b->step];
    bool last = b->step + 1 == b->r->count;
    b->behind = event_behind(b);
    b->next = last ? w->final[15] : i[1].address;
    b->next_isa = last ? w->final_isa : i[1].isa;
    b->next_known = !b->behind && (!last || w->final_known >> 15 & 1);
    b->leaves = b->next_known && (b->next != i->address + i->size || b->next_isa != i->isa);
}

bool build_target(const struct build *b, uint32_t *target)
{
    *target = b->next | (b->next_isa == BT_ISA_T32);
    return !b->pred && b->next_known && (b->next_isa == BT_ISA_T32 || b->next_isa == BT_ISA_A32);
}

static bool writes_pc(const struct insn_effect *e)
{
    return e->kind == EFFECT_BRANCH || is_exception_return(e) ||
           (e->kind == EFFECT_ALU && e->rd == 15) ||
           (e->kind == EFFECT_MEMORY && e->load && (e->list >> 15 || e->rt == 15));
}

/* By a condition: NZ is bit 0, C bit 1, V bit 2. */
static unsigned flags_tested(unsigned cond)
{
    static const uint8_t tested[8] = {1, 2, 1, 4, 3, 5, 5, 0};
    return tested[cond >> 1 & 7];
}

/* Sets b->pred; false: the instruction is known not to do anything. */
static bool condition(struct build *b, const struct insn_effect *e)
{
    struct values_rules *rules = &b->r->rules;
    unsigned cond = b->w->insns[b->step].cond;
    b->pred = 0;
    if (e->cond >= EFFECT_ALWAYS)
        return true;
    uint32_t nz = b->cur[EFFECT_NZ], p = rules_value(rules);
    if (e->zero) {
        nz = rules_value(rules);
        rules_add(rules, &(struct values_rule){
                             .op = RULE_NZ, .slot = {nz, b->cur[e->rn]}, .step = b->step});
    }
    if (cond == BT_COND_UNKNOWN && writes_pc(e) && b->leaves)
        cond = BT_COND_PASS;
    if (cond != BT_COND_UNKNOWN)
        rules_learn_at(rules, p, cond == BT_COND_PASS, VALUES_CONDITION, b->step);
    unsigned tests = flags_tested(e->cond);
    rules_add(rules, &(struct values_rule){.op = RULE_COND,
                                           .slot = {p, tests & 1 ? nz : 0,
                                                    tests & 2 ? b->cur[EFFECT_C] : 0,
                                                    tests & 4 ? b->cur[EFFECT_V] : 0},
                                           .k = e->cond,
                                           .step = b->step});
    rules_run(rules);
    if (rules_known(rules, p))
        return rules->values[p].number;
    b->pred = p;
    return true;
}

/* M-profile: MSR names the special register in bits 7..0. */
static void special_register(uint32_t op, struct insn_effect *e)
{
    unsigned which = op & 0xff;
    if ((op & 0xffe0d000) != 0xf3808000)
        return;
    e->clobber_memory = false;
    e->clobber = which < 4 ? EFFECT_FLAGS : which >= 16 && which < 20 ? 0 : 1u << 13;
}

static void decode(struct build *b, struct insn_effect *e)
{
    const struct values_insn *i = &b->w->insns[b->step];
    if (i->isa == BT_ISA_A32) {
        b->it = 0;
        effect_a32(i->opcode, e);
        if (!b->w->a_banks && e->kind == EFFECT_SYSTEM)
            e->kind = EFFECT_OTHER;
        return;
    }
    if (i->size == 2)
        effect_t16((uint16_t)i->opcode, i->address, b->it != 0, e);
    else
        effect_t32(i->opcode, i->address, e);
    if (b->w->m_profile && i->size == 4)
        special_register(i->opcode, e);
    if (!b->w->a_banks && e->kind == EFFECT_SYSTEM)
        e->kind = EFFECT_OTHER;
    if (e->kind == EFFECT_IT) {
        b->it = (uint8_t)e->imm;
        return;
    }
    if (b->it == BUILD_IT_UNKNOWN) {
        effect_init(e);
        effect_unknown(e);
        if (!--b->it_left)
            b->it = 0;
        return;
    }
    if (!b->it)
        return;
    if (b->it >> 4 < EFFECT_ALWAYS)
        e->cond = b->it >> 4;
    b->it = b->it & 7 ? (uint8_t)((b->it & 0xe0) | (b->it << 1 & 0x1f)) : 0;
}

/* Data trace of the instruction, if it made one access. */
static void data_events(struct build *b, size_t first_access)
{
    struct values_memory_state *m = &b->r->memory;
    const struct bt_event *found = NULL;
    for (size_t i = b->event; i < b->w->event_count; i++) {
        const struct bt_event *e = &b->w->events[i];
        if (e->position > b->w->first + b->step + 1)
            break;
        if (e->kind != BT_EVENT_DATA || e->u.data.back != 1 ||
            e->position != b->w->first + b->step + 1)
            continue;
        if (found)
            return;
        found = e;
    }
    if (!found || b->pred || m->access_count != first_access + 1)
        return;
    const struct values_access *a = &m->accesses[first_access];
    if (a->kind > ACCESS_STORE || (a->kind == ACCESS_STORE) != found->u.data.store)
        return;
    if (found->u.data.has_address)
        rules_learn_at(&b->r->rules, a->base, (uint32_t)found->u.data.address - a->offset,
                       VALUES_DATA, b->step);
    if (found->u.data.has_value && a->data &&
        (a->width == 4 || (a->kind == ACCESS_LOAD && !a->sign)))
        rules_learn_at(&b->r->rules, a->data, (uint32_t)found->u.data.value, VALUES_DATA, b->step);
}

/*
 * Not every protocol says so, but an instruction to come back to did not complete. Where it is left
 * out of the path the one before it, which is here, did.
 */
static bool aborted(const struct values_insn *i, const struct insn_effect *e,
                    const struct bt_event *exception)
{
    bool given = exception->u.exception.canceled;
    if (!exception->u.exception.has_return)
        return given;
    return (uint32_t)exception->u.exception.return_address == i->address &&
           (given || e->kind != EFFECT_BRANCH);
}

/* Did the instruction lead to the other security state of an M-profile core? */
static bool changes_state(const struct build *b, const struct bt_event *behind)
{
    return b->w->m_profile && behind && behind->kind == BT_EVENT_STATE;
}

static void instruction(struct build *b)
{
    const struct values_insn *i = &b->w->insns[b->step];
    struct insn_effect e;
    size_t first_access = b->r->memory.access_count;
    look_on(b);
    const struct bt_event *behind = b->behind;
    if (b->jumped)
        build_pair(b, i->address, false);
    if (b->returned)
        build_pair(b, i->address, true);
    b->from = b->step + 1;
    decode(b, &e);
    b->canceled = behind && behind->kind == BT_EVENT_EXCEPTION && aborted(i, &e, behind);
    bool runs = condition(b, &e);
    if (runs)
        build_execute(b, &e);
    if (runs && b->w->m_fpu)
        build_m_executed(b);
    data_events(b, first_access);
    bool interrupted = behind && behind->kind == BT_EVENT_EXCEPTION && writes_pc(&e);
    bool indirect = e.kind != EFFECT_BRANCH || (e.rn != EFFECT_NO_REG && !e.zero);
    bool plain = e.kind != EFFECT_OTHER && e.kind != EFFECT_SYSTEM;
    b->jumped = runs && plain && indirect && !e.link &&
                (b->leaves || interrupted || changes_state(b, behind));
    if (b->jumped && interrupted && b->pred) /* returned or not: nobody knows */
        b->frame_count = 0;
    if (b->leaves && b->it) /* a taken branch ends the block */
        b->it = 0;
    b->returned = runs && ((e.kind == EFFECT_OTHER && b->leaves) ||
                           (is_exception_return(&e) && !b->canceled && !b->pred));
    if (b->returned)
        build_restore_it(b, b->step + 1 < b->r->count ? i[1].address : b->w->final[15]);
    rules_run(&b->r->rules);
}

static void halted(struct build *b)
{
    const struct values_window *w = b->w;
    for (unsigned reg = 0; reg < 15; reg++)
        if (w->final_known >> reg & 1)
            rules_learn(&b->r->rules, b->cur[reg], w->final[reg], VALUES_HALTED);
    if (!w->final_cpsr_known)
        return;
    if (w->m_profile)
        build_m_halted(b, w->final_cpsr);
    else if (w->a_banks)
        build_a_halted(b, w->final_cpsr);
    uint32_t nz = w->final_cpsr >> 30;
    if (nz != 3)
        rules_learn(&b->r->rules, b->cur[EFFECT_NZ], nz, VALUES_HALTED);
    rules_learn(&b->r->rules, b->cur[EFFECT_C], w->final_cpsr >> 29 & 1, VALUES_HALTED);
    rules_learn(&b->r->rules, b->cur[EFFECT_V], w->final_cpsr >> 28 & 1, VALUES_HALTED);
}

int values_build_begin(struct values *r, const struct values_window *w)
{
    struct build *b = calloc(1, sizeof *b);
    if (!b)
        return BT_ERR_NOMEM;
    r->build = b;
    b->r = r;
    b->w = w;
    b->it = BUILD_IT_UNKNOWN;
    b->it_left = 4;
    for (unsigned i = 0; i < BUILD_SAVED; i++)
        b->saved[i].it = BUILD_IT_UNKNOWN;
    build_m_states(b);
    build_m_lost(b);
    build_clobber(b, EFFECT_ALL_REGS);
    build_a_lost(b);
    return r->rules.nomem ? BT_ERR_NOMEM : 0;
}

bool values_build_some(struct values *r, size_t *budget)
{
    struct build *b = r->build;
    for (; b->step < r->count && *budget && !r->rules.nomem; b->step++) {
        build_events(b);
        instruction(b);
        *budget -= *budget < INSN_UNITS ? *budget : INSN_UNITS;
    }
    if (b->step < r->count)
        return false;
    build_events(b);
    halted(b);
    free(b);
    r->build = NULL;
    return true;
}
