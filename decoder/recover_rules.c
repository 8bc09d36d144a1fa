/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/recover_rules.h"

#include "decoder/recover_effect.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more; the arrays double. */
static bool room(struct recover_rules *r, void **array, size_t *max, size_t count, size_t size)
{
    if (count < *max)
        return true;
    size_t more = *max ? *max * 2 : 1024;
    void *grown = more > UINT32_MAX / 4 ? NULL : realloc(*array, more * size);
    if (!grown) {
        r->nomem = true;
        return false;
    }
    *array = grown;
    *max = more;
    return true;
}

bool rules_init(struct recover_rules *r)
{
    *r = (struct recover_rules){0};
    if (!room(r, (void **)&r->values, &r->value_max, 0, sizeof *r->values) ||
        !room(r, (void **)&r->rules, &r->rule_max, 0, sizeof *r->rules)) {
        rules_release(r);
        return false;
    }
    r->values[0] = (struct recover_value){0};
    r->rules[0] = (struct recover_rule){.step = UINT32_MAX};
    r->value_count = r->rule_count = 1;
    return true;
}

void rules_release(struct recover_rules *r)
{
    free(r->values);
    free(r->rules);
    free(r->work);
    *r = (struct recover_rules){0};
}

uint32_t rules_value(struct recover_rules *r)
{
    if (!room(r, (void **)&r->values, &r->value_max, r->value_count, sizeof *r->values))
        return 0;
    r->values[r->value_count] = (struct recover_value){0};
    return (uint32_t)r->value_count++;
}

/* A rule without operands: only says which instruction gave a value. */
static uint32_t source(struct recover_rules *r, uint32_t step)
{
    if (r->rule_count > 1 && r->rules[r->rule_count - 1].step == step)
        return (uint32_t)r->rule_count - 1;
    return rules_add(r, &(struct recover_rule){.op = RULE_ADD, .step = step});
}

static void learn(struct recover_rules *r, uint32_t value, uint32_t number, enum recover_how how,
                  uint32_t rule)
{
    struct recover_value *v = &r->values[value];
    if (!value)
        return;
    if (v->how) {
        if (v->number != number)
            (*(r->inferring ? &r->inferred_conflicts : &r->conflicts))++;
        return;
    }
    if (!room(r, (void **)&r->work, &r->work_max, r->work_count, sizeof *r->work))
        return;
    v->number = number;
    v->how = (uint8_t)how;
    v->inferred = r->inferring;
    v->rule = rule;
    r->work[r->work_count++] = value;
}

void rules_learn(struct recover_rules *r, uint32_t value, uint32_t number, enum recover_how how)
{
    learn(r, value, number, how, 0);
}

void rules_learn_at(struct recover_rules *r, uint32_t value, uint32_t number, enum recover_how how,
                    uint32_t step)
{
    learn(r, value, number, how, source(r, step));
}

uint32_t rules_constant(struct recover_rules *r, uint32_t number, uint32_t step)
{
    uint32_t value = rules_value(r);
    rules_learn_at(r, value, number, RECOVER_CONSTANT, step);
    return value;
}

static bool known(const struct recover_rules *r, uint32_t value, uint32_t *number)
{
    *number = value ? r->values[value].number : 0;
    return !value || r->values[value].how;
}

/* Gives slot `slot` of a rule its value. */
static void conclude(struct recover_rules *r, uint32_t id, unsigned slot, uint32_t number)
{
    const struct recover_rule *rule = &r->rules[id];
    enum recover_how how = rule->how               ? (enum recover_how)rule->how
                           : slot                  ? RECOVER_UNDONE
                           : rule->op == RULE_COND ? RECOVER_CONDITION
                                                   : RECOVER_COMPUTED;
    learn(r, rule->slot[slot], number, how, id);
}

/* d = a b k, added, subtracted or exclusive-ored, solved for the one that is missing. */
static void apply_linear(struct recover_rules *r, uint32_t id)
{
    const struct recover_rule *rule = &r->rules[id];
    uint32_t d, a, b, k = rule->k;
    bool has_d = known(r, rule->slot[0], &d);
    bool has_a = known(r, rule->slot[1], &a);
    bool has_b = known(r, rule->slot[2], &b);
    bool xor = rule->op == RULE_XOR, sub = rule->op == RULE_SUB;
    if (!rule->slot[0])
        return;
    if (has_a && has_b)
        conclude(r, id, 0, xor? a ^ b ^ k : sub ? a - b + k : a + b + k);
    else if (has_d && has_b)
        conclude(r, id, 1, xor? d ^ b ^ k : sub ? d + b - k : d - b - k);
    else if (has_d && has_a)
        conclude(r, id, 2, xor? d ^ a ^ k : sub ? a - d + k : d - a - k);
}

static void apply_select(struct recover_rules *r, uint32_t id)
{
    const struct recover_rule *rule = &r->rules[id];
    uint32_t d, p, v[2];
    bool has_d = known(r, rule->slot[0], &d);
    bool has_p = known(r, rule->slot[1], &p);
    bool has[2] = {known(r, rule->slot[2], &v[0]), known(r, rule->slot[3], &v[1])};
    if (has_p) {
        unsigned from = p ? 1 : 0;
        if (has[from])
            conclude(r, id, 0, v[from]);
        else if (has_d)
            conclude(r, id, 2 + from, d);
    } else if (has[0] && has[1] && v[0] == v[1]) {
        conclude(r, id, 0, v[0]);
    } else if (has_d && has[0] && v[0] != d) {
        conclude(r, id, 1, 1);
    } else if (has_d && has[1] && v[1] != d) {
        conclude(r, id, 1, 0);
    }
}

static void apply_condition(struct recover_rules *r, uint32_t id)
{
    const struct recover_rule *rule = &r->rules[id];
    uint32_t d, in[3], low = 1, high = 0;
    bool has[3];
    for (unsigned i = 0; i < 3; i++)
        has[i] = known(r, rule->slot[1 + i], &in[i]);
    /* All flags that are possible: if they agree the condition is known. */
    for (unsigned flags = 0; flags < 16; flags++) {
        uint32_t nz = flags & 3, c = flags >> 2 & 1, v = flags >> 3;
        if (nz == 3 || (has[0] && nz != in[0]) || (has[1] && c != in[1]) || (has[2] && v != in[2]))
            continue;
        uint32_t pass = rules_condition(rule->k, nz, c, v);
        low &= pass;
        high |= pass;
    }
    if (low == high)
        conclude(r, id, 0, low);
    if (!known(r, rule->slot[0], &d))
        return;
    if (rule->k < 2 && (rule->k == 0) == (d != 0))
        learn(r, rule->slot[1], 1, RECOVER_CONDITION, id); /* Z is set, so N is not */
    else if (rule->k == 2 || rule->k == 3)
        learn(r, rule->slot[2], (rule->k == 2) == (d != 0), RECOVER_CONDITION, id);
    else if (rule->k == 6 || rule->k == 7)
        learn(r, rule->slot[3], (rule->k == 6) == (d != 0), RECOVER_CONDITION, id);
}

static void apply_nz(struct recover_rules *r, uint32_t id)
{
    const struct recover_rule *rule = &r->rules[id];
    uint32_t d, a;
    if (known(r, rule->slot[1], &a))
        conclude(r, id, 0, a ? a >> 31 << 1 : 1);
    else if (known(r, rule->slot[0], &d) && d == 1)
        learn(r, rule->slot[1], 0, RECOVER_CONDITION, id);
}

/*
 * M-profile exception frame at d, interrupted SP a, stacked xPSR b. An entry aligns to 8 bytes if
 * the core is set so or floating-point registers are stacked. Otherwise d follows from a only when
 * a is a multiple of 8.
 */
static void apply_stacked(struct recover_rules *r, uint32_t id)
{
    const struct recover_rule *rule = &r->rules[id];
    uint32_t d, a, b;
    bool has_d = known(r, rule->slot[0], &d);
    bool has_a = known(r, rule->slot[1], &a);
    bool has_b = known(r, rule->slot[2], &b);
    uint32_t size = rule->k & RULE_STACKED_FLOAT ? 0x68 : 0x20;
    if (has_d && has_b)
        conclude(r, id, 1, b >> 9 & 1 ? (d + size) | 4 : d + size);
    else if (has_a && !(a & 4))
        conclude(r, id, 0, a - size);
    else if (has_a && rule->k & (RULE_STACKED_FLOAT | RULE_STACKED_ALIGNED))
        conclude(r, id, 0, (a - size) & ~7u);
    else if (has_a && has_b && rule->k & RULE_STACKED_ENTRY)
        conclude(r, id, 0, a - (b >> 9 & 1 ? size + 4 : size));
}

static void apply_forward(struct recover_rules *r, uint32_t id)
{
    const struct recover_rule *rule = &r->rules[id];
    uint32_t in[3];
    bool has[3], all = true;
    for (unsigned i = 0; i < 3; i++) {
        has[i] = rule->slot[1 + i] != 0;
        all = known(r, rule->slot[1 + i], &in[i]) && all;
    }
    if (all)
        conclude(r, id, 0, rules_forward((enum rule_op)rule->op, rule->k, in, has));
    else if (rule->op == RULE_AND || rule->op == RULE_MUL)
        for (unsigned i = 0; i < 2; i++)
            if (has[i] && r->values[rule->slot[1 + i]].how && !in[i])
                conclude(r, id, 0, 0);
}

static void apply(struct recover_rules *r, uint32_t id)
{
    switch (r->rules[id].op) {
    case RULE_ADD:
    case RULE_SUB:
    case RULE_XOR:
        apply_linear(r, id);
        break;
    case RULE_SELECT:
        apply_select(r, id);
        break;
    case RULE_COND:
        apply_condition(r, id);
        break;
    case RULE_NZ:
        apply_nz(r, id);
        break;
    case RULE_STACKED:
        apply_stacked(r, id);
        break;
    default:
        apply_forward(r, id);
    }
}

uint32_t rules_add(struct recover_rules *r, const struct recover_rule *rule)
{
    if (!room(r, (void **)&r->rules, &r->rule_max, r->rule_count, sizeof *r->rules))
        return 0;
    uint32_t id = (uint32_t)r->rule_count++;
    struct recover_rule *made = &r->rules[id];
    *made = *rule;
    for (uint32_t i = 0; i < 4; i++) {
        if (!made->slot[i])
            continue;
        made->next[i] = r->values[made->slot[i]].uses;
        r->values[made->slot[i]].uses = id * 4 + i;
    }
    apply(r, id);
    return id;
}

void rules_align_frames(struct recover_rules *r)
{
    for (uint32_t id = 1; id < r->rule_count; id++) {
        if (r->rules[id].op != RULE_STACKED)
            continue;
        r->rules[id].k |= RULE_STACKED_ALIGNED;
        apply(r, id);
    }
}

void rules_equal(struct recover_rules *r, uint32_t d, uint32_t a, uint32_t step,
                 enum recover_how how)
{
    if (d && a && d != a)
        rules_add(r, &(struct recover_rule){
                         .op = RULE_ADD, .slot = {d, a}, .step = step, .how = (uint8_t)how});
}

bool rules_run_some(struct recover_rules *r, size_t *budget)
{
    for (; r->work_count && *budget; --*budget) {
        uint32_t value = r->work[--r->work_count];
        uint32_t use = r->values[value].uses;
        while (use) {
            uint32_t next = r->rules[use / 4].next[use % 4];
            apply(r, use / 4);
            use = next;
        }
    }
    return !r->work_count;
}

void rules_run(struct recover_rules *r)
{
    size_t budget = SIZE_MAX;
    rules_run_some(r, &budget);
}
