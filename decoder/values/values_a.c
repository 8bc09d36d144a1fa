/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modes of A- and R-profile cores. The mode is a value as any other: where it is not known yet, a
 * banked register is selected by it, so that what is learnt of the mode later
 * counts as well. */
#include "values_build.h"

#include <string.h>

#define SP 13
#define LR 14

static const uint8_t bank_modes[BUILD_BANKS] = {BUILD_MODE_SYSTEM, BUILD_MODE_FIQ,
                                                BUILD_MODE_IRQ,    BUILD_MODE_SUPERVISOR,
                                                BUILD_MODE_ABORT,  BUILD_MODE_UNDEFINED};

static uint32_t fresh(struct build *b)
{
    return rules_value(&b->r->rules);
}

static uint32_t rule(struct build *b, enum rule_op op, uint32_t a, uint32_t x, uint32_t k)
{
    uint32_t d = fresh(b);
    rules_add(&b->r->rules,
              &(struct values_rule){.op = (uint8_t)op, .slot = {d, a, x}, .k = k, .step = b->step});
    return d;
}

/* Value: 1 if the mode is `number`. */
static uint32_t is_number(struct build *b, uint32_t number)
{
    uint32_t zero = rule(b, RULE_XOR, b->cur[VALUES_MODE], 0, number);
    return rule(b, RULE_COND, rule(b, RULE_NZ, zero, 0, 0), 0, 0);
}

bool build_a_mode(const struct build *b, uint32_t *number)
{
    const struct values_rules *rules = &b->r->rules;
    *number = rules->values[b->cur[VALUES_MODE]].number;
    return rules_known(rules, b->cur[VALUES_MODE]);
}

int build_a_bank(uint32_t mode)
{
    if (mode == BUILD_MODE_USER)
        return 0;
    for (int i = 0; i < BUILD_BANKS; i++)
        if (bank_modes[i] == mode)
            return i;
    return -1;
}

enum build_is build_a_is(struct build *b, int bank, uint32_t *condition)
{
    uint32_t number, mode = b->cur[VALUES_MODE];
    *condition = 0;
    if (build_a_mode(b, &number))
        return build_a_bank(number) == bank ? BUILD_IS : BUILD_IS_NOT;
    if (b->tested != mode) {
        memset(b->tests, 0, sizeof b->tests);
        b->tested = mode;
    }
    if (!b->tests[bank]) {
        b->tests[bank] = is_number(b, bank_modes[bank]);
        if (bank == 0)
            b->tests[0] = rule(b, RULE_ORR, b->tests[0], is_number(b, BUILD_MODE_USER), 0);
    }
    *condition = b->tests[bank];
    return BUILD_IS_PERHAPS;
}

uint32_t build_a_choose(struct build *b, enum build_is is, uint32_t condition, uint32_t yes,
                        uint32_t no)
{
    if (is != BUILD_IS_PERHAPS || yes == no)
        return is == BUILD_IS_NOT ? no : yes;
    uint32_t d = fresh(b);
    rules_add(
        &b->r->rules,
        &(struct values_rule){.op = RULE_SELECT, .slot = {d, condition, no, yes}, .step = b->step});
    return d;
}

/* Keeps the registers of the mode that is left. */
static void leave(struct build *b)
{
    uint32_t p;
    for (int i = 0; i < BUILD_BANKS; i++) {
        enum build_is is = build_a_is(b, i, &p);
        struct build_bank *bank = &b->banks[i];
        bank->sp = build_a_choose(b, is, p, b->cur[SP], bank->sp);
        bank->lr = build_a_choose(b, is, p, b->cur[LR], bank->lr);
    }
    enum build_is fiq = build_a_is(b, BUILD_BANK_FIQ, &p);
    for (unsigned i = 0; i < BUILD_HIGH; i++) {
        uint32_t now = b->cur[8 + i];
        b->high[1][i] = build_a_choose(b, fiq, p, now, b->high[1][i]);
        b->high[0][i] = build_a_choose(b, fiq, p, b->high[0][i], now);
    }
}

static void become(struct build *b, unsigned reg, uint32_t value)
{
    if (b->cur[reg] != value)
        build_assign(b, reg, value);
}

static void arrive(struct build *b, uint32_t mode)
{
    uint32_t p, sp = fresh(b), lr = fresh(b);
    build_assign(b, VALUES_MODE, mode);
    for (int i = 0; i < BUILD_BANKS; i++) {
        enum build_is is = build_a_is(b, i, &p);
        sp = build_a_choose(b, is, p, b->banks[i].sp, sp);
        lr = build_a_choose(b, is, p, b->banks[i].lr, lr);
    }
    become(b, SP, sp);
    become(b, LR, lr);
    enum build_is fiq = build_a_is(b, BUILD_BANK_FIQ, &p);
    for (unsigned i = 0; i < BUILD_HIGH; i++)
        become(b, 8 + i, build_a_choose(b, fiq, p, b->high[1][i], b->high[0][i]));
}

void build_a_switch(struct build *b, uint32_t mode)
{
    if (mode == b->cur[VALUES_MODE])
        return;
    leave(b);
    arrive(b, mode);
}

void build_a_lost(struct build *b)
{
    uint32_t pred = b->pred;
    b->pred = 0; /* whether or not */
    build_assign(b, VALUES_MODE, fresh(b));
    for (int i = 0; i < BUILD_BANKS; i++) {
        struct build_bank *bank = &b->banks[i];
        bank->sp = fresh(b);
        bank->lr = fresh(b);
        bank->spsr = build_a_status(b, fresh(b));
    }
    for (unsigned i = 0; i < BUILD_HIGH; i++) {
        b->high[0][i] = fresh(b);
        b->high[1][i] = fresh(b);
    }
    b->status_read.word = 0;
    b->pred = pred;
}

/* Status registers. */

static void part(struct build *b, uint32_t d, uint32_t word, uint32_t lsb, uint32_t width)
{
    rules_add(&b->r->rules,
              &(struct values_rule){
                  .op = RULE_FIELD, .slot = {d, word}, .k = lsb | width << 8, .step = b->step});
}

static void tie(struct build *b, const struct build_status *s, bool with_mode)
{
    if (with_mode)
        part(b, s->mode, s->word, 0, 5);
    part(b, s->flags[0], s->word, 30, 2);
    part(b, s->flags[1], s->word, 29, 1);
    part(b, s->flags[2], s->word, 28, 1);
}

struct build_status build_a_status(struct build *b, uint32_t word)
{
    if (word && word == b->status_read.word)
        return b->status_read;
    struct build_status s = {.word = word, .mode = fresh(b)};
    for (unsigned i = 0; i < 3; i++)
        s.flags[i] = fresh(b);
    tie(b, &s, true);
    return s;
}

struct build_status build_a_current(struct build *b)
{
    uint32_t mode;
    struct build_status s = {.word = fresh(b), .mode = b->cur[VALUES_MODE]};
    memcpy(s.flags, &b->cur[EFFECT_NZ], sizeof s.flags);
    /* User mode does not see its own mode. */
    tie(b, &s, build_a_mode(b, &mode) && mode != BUILD_MODE_USER);
    return s;
}

/* LR is the preferred return address and this. */
static bool entered(const struct bt_event *event, uint32_t *mode, uint32_t *ahead)
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

uint8_t build_a_overwrites(const struct bt_event *event)
{
    uint32_t mode, ahead;
    bool masked = event->u.exception.number == BUILD_NUMBER_IRQ ||
                  event->u.exception.number == BUILD_NUMBER_FIQ;
    return !masked && entered(event, &mode, &ahead) ? (uint8_t)mode : 0;
}

void build_a_entry(struct build *b, const struct bt_event *event)
{
    uint32_t mode, ahead;
    struct build_status interrupted;
    if (!entered(event, &mode, &ahead)) {
        build_clobber(b, EFFECT_BANKED | EFFECT_FLAGS);
        build_a_lost(b);
        return;
    }
    interrupted = (struct build_status){.word = fresh(b), .mode = b->cur[VALUES_MODE]};
    memcpy(interrupted.flags, &b->cur[EFFECT_NZ], sizeof interrupted.flags);
    tie(b, &interrupted, true);
    leave(b);
    arrive(b, rules_constant(&b->r->rules, mode, b->step));
    b->banks[build_a_bank(mode)].spsr = interrupted;
    bool given = event->u.exception.has_return && ahead != UINT32_MAX;
    uint32_t lr = fresh(b);
    if (given)
        rules_learn_at(&b->r->rules, lr, (uint32_t)event->u.exception.return_address + ahead,
                       VALUES_EXCEPTION, b->step);
    build_assign(b, LR, lr);
}

void build_a_halted(struct build *b, uint32_t psr)
{
    rules_learn(&b->r->rules, b->cur[VALUES_MODE], psr & 0x1f, VALUES_HALTED);
}
