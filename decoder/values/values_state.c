/* SPDX-License-Identifier: BSD-3-Clause */
#define FAULT_SPAN 4 /* bytes */

/* The registers as the walk along the window has them, and what it makes of them: values, rules and
 * accesses; the calls and exceptions that are open. */
#include "values_turns.h"

#include <string.h>

static void build_define(struct build *b, unsigned reg, uint32_t value)
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
        build_define(b, reg, value);
        return;
    }
    uint32_t d = rules_value(rules);
    rules_add(rules, &(struct values_rule){.op = RULE_SELECT,
                                           .step = b->step,
                                           .slot = {d, b->pred, b->cur[reg], value}});
    build_define(b, reg, d);
}

#define STACK_STEPS 4
#define STACK_USES  64 /* of a value, in which its origin is looked for */

/* It was made of SP by steps of 4. */
static bool is_from_stack(const struct build *b, uint32_t value)
{
    const struct values_rules *rules = &b->r->rules;
    struct values_rule rule;
    for (unsigned i = 0; value != b->cur[13]; i++) {
        if (i == STACK_STEPS || !rules_defines(rules, value, STACK_USES, &rule) ||
            (rule.op != RULE_ADD && rule.op != RULE_SUB) || rule.k & 3 ||
            (rule.slot[2] &&
             (!rules_known(rules, rule.slot[2]) || rules->values[rule.slot[2]].number & 3)))
            return false;
        value = rule.slot[1];
    }
    return true;
}

/* DDI 0403E.e B1.4.7. That these bits were 0 is assumed, where it does not follow. */
uint32_t build_aligned(struct build *b, unsigned reg, uint32_t value)
{
    struct values_rules *rules = &b->r->rules;
    if (reg != 13 || !b->w->m_profile || is_from_stack(b, value))
        return value;
    uint32_t low = build_fresh(b), d = build_fresh(b);
    rules_add(rules, &(struct values_rule){.op = RULE_FIELD,
                                           .slot = {low, value},
                                           .how = VALUES_CALL,
                                           .k = 2 << 8,
                                           .step = b->step});
    rules_add(rules,
              &(struct values_rule){.op = RULE_SUB, .slot = {d, value, low}, .step = b->step});
    return d;
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
                                .data = b->r->mixed ? 0 : data,
                                .cond = b->pred,
                                .floor = b->floor,
                                .mode = b->w->a_banks ? b->cur[VALUES_MODE] : 0,
                                .kernel = b->number && b->number < BUILD_NUMBER_SYSTICK &&
                                          b->number != BUILD_NUMBER_NMI,
                                .kind = (uint8_t)kind,
                                .width = 4};
    return a;
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

bool build_target(const struct build *b, uint32_t *target)
{
    *target = b->next.address | (b->next.isa == BT_ISA_T32);
    return !b->pred && b->next.known && (b->next.isa == BT_ISA_T32 || b->next.isa == BT_ISA_A32);
}

void build_push_frame(struct build *b, uint32_t address, uint32_t kept, bool exception)
{
    if (b->pred || b->frame_count == BUILD_FRAMES)
        turns_unsure(b, false);
    if (b->pred)
        return; /* not known to be taken */
    if (b->frame_count == BUILD_FRAMES) {
        memmove(b->frames, b->frames + BUILD_FRAMES / 2, sizeof b->frames / 2);
        b->frame_count = BUILD_FRAMES / 2;
    }
    struct values_frame *f = &b->frames[b->frame_count++];
    f->address = address;
    f->kept = kept;
    f->exception = exception;
    f->lost = 0;
    f->number = 0;
    f->moved = false;
    f->user_base = 0;
    f->on_stack = b->on_stack;
    memcpy(f->saved, b->cur, sizeof f->saved);
}

/* A fault's handler may go on behind the instruction: what it did for it is not known. */
static bool handler_goes_on(const struct build *b, const struct values_frame *f, uint32_t address)
{
    return b->w->a_banks && f->exception && address != f->address &&
           address - f->address <= FAULT_SPAN;
}

/* Of the exception within which all runs; NULL: the window does not have its begin. */
static struct values_frame *innermost(struct build *b)
{
    size_t i = b->frame_count;
    while (i && !b->frames[i - 1].exception)
        i--;
    return i ? &b->frames[i - 1] : NULL;
}

bool build_is_innermost(struct build *b, uint32_t address)
{
    const struct values_frame *f = innermost(b);
    return f && f->address == address;
}

void build_give_back_less(struct build *b)
{
    struct values_frame *f = innermost(b);
    if (f)
        f->kept &= BUILD_KEPT_BY_CALL;
}

void build_pair(struct build *b, uint32_t address, bool exception)
{
    struct values *r = b->r;
    size_t i = b->frame_count;
    /* Only within one exception: what never returned in it is left with it. */
    while (i && !b->frames[i - 1].exception && (exception || b->frames[i - 1].address != address))
        i--;
    if (i && exception && handler_goes_on(b, &b->frames[i - 1], address)) {
        b->frames[i - 1].kept = 1u << VALUES_MODE;
        b->frames[i - 1].address = address;
    }
    if (!i || b->frames[i - 1].exception != exception || b->frames[i - 1].address != address) {
        if (exception) /* from where the window does not reach, or to somebody else */
            b->frame_count = 0;
        else
            turns_left(b, address);
        return;
    }
    b->frame_count = i - 1;
    b->on_stack = 1u << 13 | (b->frames[i - 1].on_stack & b->frames[i - 1].kept & 0x7fff);
    if (!(b->w->infer & (exception ? VALUES_INFER_EXCEPTION : VALUES_INFER_ABI)) ||
        !values_room(r, (void **)&r->pairs, &r->pair_max, r->pair_count, sizeof *r->pairs))
        return;
    struct values_pair *p = &r->pairs[r->pair_count++];
    p->step = b->step;
    p->kept = b->frames[i - 1].kept;
    p->lost = b->frames[i - 1].lost;
    p->moved = b->frames[i - 1].moved;
    memcpy(p->before, b->frames[i - 1].saved, sizeof p->before);
    memcpy(p->after, b->cur, sizeof p->after);
}

static unsigned it_slot(uint32_t address)
{
    return address >> 1 & (BUILD_SAVED - 1);
}

void build_save_it(struct build *b, uint32_t address)
{
    b->saved[it_slot(address)].address = address;
    b->saved[it_slot(address)].it = b->it;
}

void build_restore_it(struct build *b, uint32_t address)
{
    unsigned i = it_slot(address);
    b->it = b->saved[i].address == address ? b->saved[i].it : BUILD_IT_UNKNOWN;
    b->it_left = 4;
}

bool values_is_halt(const struct bt_event *event)
{
    return event->kind == BT_EVENT_EXCEPTION && event->u.exception.number == BUILD_NUMBER_DEBUG &&
           !event->u.exception.m_profile;
}
