/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that are defined once, and rules that tie them together. What is learnt of one value is
 * passed on through its rules, forwards and backwards, until nothing changes. Linear in the
 * number of rules: each value is learnt at most once. Id 0 stands for "no value".
 */
#ifndef DECODER_VALUES_RULES_H
#define DECODER_VALUES_RULES_H

#include "decoder/values/values.h"

enum rule_op {
    RULE_ADD,     /* d = a + b + k; b may be none; solved for each of them */
    RULE_SUB,     /* d = a - b + k */
    RULE_XOR,     /* d = a ^ b ^ k; as above */
    RULE_SELECT,  /* d = a ? c : b */
    RULE_COND,    /* d = condition k of flags NZ a, C b, V c */
    RULE_NZ,      /* d = N << 1 | Z of a */
    RULE_STACKED, /* a = d + size, + 4 if bit 9 of b: exception frame at d. k: RULE_STACKED_*; c: if
                     it is 0 with RULE_STACKED_FLOAT */
    RULE_FORWARD, /* those below are functions of their operands */
    RULE_AND = RULE_FORWARD,
    RULE_ORR,
    RULE_BIC,
    RULE_ORN,
    RULE_ADC,     /* a + b + c + k */
    RULE_SHIFT,   /* of a by b, or by k >> 8 if b is none; k & 7: enum effect_shift; c: carry in */
    RULE_SHIFT_C, /* the carry of that; c: carry before */
    RULE_ADD_C,   /* carry of a + b + c; k bit 0: carry in if c is none */
    RULE_ADD_V,
    RULE_MUL,
    RULE_UMULH, /* the high word of a product */
    RULE_SMULH,
    RULE_UDIV,
    RULE_SDIV,
    RULE_FIELD,  /* k: lsb | width << 8 | sign << 16 */
    RULE_INSERT, /* a with the low bits of b in the field k */
    RULE_CLZ,
    RULE_REV,
    RULE_REV16,
    RULE_REVSH,
    RULE_RBIT,
};

#define RULE_ANY_FLAGS       16u /* RULE_COND: N and Z may both be set */
#define RULE_STACKED_ENTRY   1u
#define RULE_STACKED_FLOAT   2u /* with room for floating-point registers */
#define RULE_STACKED_ALIGNED 4u /* assumed: the core is set to align */

struct values_value {
    uint32_t number;
    uint32_t uses;      /* rule * 4 + slot, the latest rule first */
    uint32_t step : 20; /* instruction that gave it, or RULES_NO_STEP */
    uint32_t how : 4;   /* enum values_how; 0: not known */
    uint32_t inferred : 1;
};

#define RULES_NO_STEP 0xfffffu

struct values_rule {
    uint32_t slot[4]; /* d, a, b, c */
    uint32_t k;
    uint32_t step; /* instruction */
    uint8_t op;
    uint8_t how; /* of what it gives, if not computed or undone */
};

struct values_rules {
    struct values_value *values;
    uint32_t *pool; /* rules, each as long as it has operands */
    uint32_t *work; /* values learnt and not passed on */
    size_t value_count, value_max;
    size_t pool_count, pool_max; /* words */
    size_t rule_count;           /* kept in the pool */
    size_t work_count, work_max;
    size_t news; /* how often something was learnt, or a rule was added */
    size_t conflicts, inferred_conflicts;
    uint32_t inferred_at; /* the first step of these, plus 1 */
    bool inferring;       /* what is learnt from now on rests on assumptions */
    bool nomem;
};

/* `insns`: of the window; no more than a guess at the room. False: no memory. */
bool rules_init(struct values_rules *r, size_t insns);
void rules_release(struct values_rules *r);

uint32_t rules_value(struct values_rules *r);

/* `how` for values that are given. */
void rules_learn_at(struct values_rules *r, uint32_t value, uint32_t number, enum values_how how,
                    uint32_t step);

static inline void rules_learn(struct values_rules *r, uint32_t value, uint32_t number,
                               enum values_how how)
{
    rules_learn_at(r, value, number, how, RULES_NO_STEP);
}

/* A new value that is known. */
static inline uint32_t rules_constant(struct values_rules *r, uint32_t number, uint32_t step)
{
    uint32_t value = rules_value(r);
    rules_learn_at(r, value, number, VALUES_CONSTANT, step);
    return value;
}

/* Applies, and adds if there is more to come of it. */
void rules_add(struct values_rules *r, const struct values_rule *rule);

/* The rule that has the value as d, if it is among so many latest uses of the value
 * and was kept. */
bool rules_defines(const struct values_rules *r, uint32_t value, size_t uses,
                   struct values_rule *rule);

/* A value is `from` or up to `span` more, modulo 2^32. */
struct values_range {
    uint32_t from, span;
};

/* As the rules that the value follows from allow; false: no less than RULES_SPAN_MAX. */
#define RULES_SPAN_MAX 1024u
bool rules_range(const struct values_rules *r, uint32_t value, struct values_range *range);

/* The two are equal; `how` explains what that gives. */
static inline void rules_equal(struct values_rules *r, uint32_t d, uint32_t a, uint32_t step,
                               enum values_how how)
{
    if (d && a && d != a)
        rules_add(r, &(struct values_rule){
                         .op = RULE_ADD, .slot = {d, a}, .step = step, .how = (uint8_t)how});
}

/* Assumes that what is moved to SP is a multiple of 4, and (`frames`) that frames of exceptions are
 * aligned. */
void rules_align(struct values_rules *r, bool frames);

/* Passes on until nothing changes; until then, or for as many values as the budget has (true:
 * done). */
bool rules_run_some(struct values_rules *r, size_t *budget);
static inline void rules_run(struct values_rules *r)
{
    size_t budget = SIZE_MAX;
    rules_run_some(r, &budget);
}

static inline bool rules_known(const struct values_rules *r, uint32_t value)
{
    return value && r->values[value].how;
}

#endif
