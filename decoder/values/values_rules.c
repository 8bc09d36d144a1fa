/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rule as it is kept: a word that says what it is, k, the operands up to the last one there is,
 * and for each of them the next use of that value.
 */
#include "values_rules.h"
#include "decoder/effect/effect.h"

#include <stdlib.h>

#define HEAD       2
#define LONGEST    (HEAD + 2 * 4)
#define OP_SHIFT   2 /* below: operands, less 1 */
#define HOW_SHIFT  8
#define STEP_SHIFT 12

/* Arithmetic of the rules that are computed forwards only. */
static uint32_t field_mask(uint32_t width)
{
    return width >= 32 ? UINT32_MAX : (1u << width) - 1;
}

static uint32_t shift_operand(uint32_t k, const uint32_t in[3], bool by_register, bool want_carry)
{
    uint32_t carry = in[2];
    uint32_t v = effect_shift_value(k & 7, in[0], by_register ? in[1] & 0xff : k >> 8, &carry);
    return want_carry ? carry : v;
}

static uint32_t extract_field(uint32_t v, uint32_t k)
{
    uint32_t width = k >> 8 & 0xff, mask = field_mask(width);
    v = v >> (k & 31) & mask;
    if (k & 1u << 16 && v >> (width - 1))
        v |= ~mask;
    return v;
}

static uint32_t insert_field(uint32_t into, uint32_t v, uint32_t k)
{
    uint32_t mask = field_mask(k >> 8 & 0xff) << (k & 31);
    return (into & ~mask) | (v << (k & 31) & mask);
}

static uint32_t signed_divide(uint32_t a, uint32_t b)
{
    if (!b)
        return 0;
    if (b == UINT32_MAX)
        return 0 - a;
    return (uint32_t)((int32_t)a / (int32_t)b);
}

static uint32_t swap_bytes(uint32_t v)
{
    return v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24;
}

static uint32_t reverse_bits(enum rule_op op, uint32_t v)
{
    uint32_t out = 0;
    switch (op) {
    case RULE_REV:
        return swap_bytes(v);
    case RULE_REV16:
        v = swap_bytes(v);
        return v >> 16 | v << 16;
    case RULE_REVSH:
        v = swap_bytes(v) >> 16;
        return v >> 15 ? v | 0xffff0000u : v;
    case RULE_RBIT:
        for (unsigned i = 0; i < 32; i++)
            out |= (v >> i & 1) << (31 - i);
        return out;
    default: /* CLZ */
        while (out < 32 && !(v >> (31 - out) & 1))
            out++;
        return out;
    }
}

static uint32_t sum_of(enum rule_op op, uint32_t k, const uint32_t in[3], bool has_carry)
{
    uint32_t carry = has_carry ? in[2] : k & 1;
    uint64_t wide = (uint64_t)in[0] + in[1] + carry;
    if (op == RULE_ADC)
        return in[0] + in[1] + in[2] + k;
    if (op == RULE_ADD_C)
        return (uint32_t)(wide >> 32);
    return (~(in[0] ^ in[1]) & (in[0] ^ (uint32_t)wide)) >> 31;
}

static uint32_t rules_forward(enum rule_op op, uint32_t k, const uint32_t in[3], const bool has[3])
{
    switch (op) {
    case RULE_AND:
        return in[0] & in[1];
    case RULE_ORR:
        return in[0] | in[1];
    case RULE_BIC:
        return in[0] & ~in[1];
    case RULE_ORN:
        return in[0] | ~in[1];
    case RULE_ADC:
    case RULE_ADD_C:
    case RULE_ADD_V:
        return sum_of(op, k, in, has[2]);
    case RULE_SHIFT:
        return shift_operand(k, in, has[1], false);
    case RULE_SHIFT_C:
        return shift_operand(k, in, has[1], true);
    case RULE_MUL:
        return in[0] * in[1];
    case RULE_UMULH:
        return (uint32_t)((uint64_t)in[0] * in[1] >> 32);
    case RULE_SMULH: {
        int64_t product = (int64_t)(int32_t)in[0] * (int32_t)in[1];
        return (uint32_t)((uint64_t)product >> 32);
    }
    case RULE_UDIV:
        return in[1] ? in[0] / in[1] : 0;
    case RULE_SDIV:
        return signed_divide(in[0], in[1]);
    case RULE_FIELD:
        return extract_field(in[0], k);
    case RULE_INSERT:
        return insert_field(in[0], in[1], k);
    default:
        return reverse_bits(op, in[0]);
    }
}

/* Windows of real programs need 2 to 3 values an instruction,
 * and 10 to 20 words for their rules. */
#define VALUES_AN_INSN 3
#define WORDS_AN_INSN  20
#define LEAST          1024

_Static_assert(VALUES_MAX_INSNS < RULES_NO_STEP, "a step fits where it is kept");
_Static_assert(RULE_RBIT < 1 << (HOW_SHIFT - OP_SHIFT), "so does an operation");

/* Room for `more` of them; the arrays double. */
static bool rules_room(struct values_rules *r, void **array, size_t *max, size_t count, size_t more,
                       size_t size)
{
    if (count + more <= *max)
        return true;
    size_t wanted = *max ? *max * 2 : LEAST;
    void *grown = wanted > UINT32_MAX / 4 ? NULL : realloc(*array, wanted * size);
    if (!grown) {
        r->nomem = true;
        return false;
    }
    *array = grown;
    *max = wanted;
    return true;
}

bool rules_init(struct values_rules *r, size_t insns)
{
    *r = (struct values_rules){.value_max = LEAST + VALUES_AN_INSN * insns,
                               .pool_max = LEAST + WORDS_AN_INSN * insns};
    r->values = malloc(r->value_max * sizeof *r->values);
    r->pool = malloc(r->pool_max * sizeof *r->pool);
    if (!r->values || !r->pool) {
        rules_release(r);
        return false;
    }
    r->values[0] = (struct values_value){.step = RULES_NO_STEP};
    r->value_count = 1;
    r->pool_count = 1; /* no rule is at 0: that ends lists */
    return true;
}

void rules_release(struct values_rules *r)
{
    free(r->values);
    free(r->pool);
    free(r->work);
    *r = (struct values_rules){0};
}

uint32_t rules_value(struct values_rules *r)
{
    if (!rules_room(r, (void **)&r->values, &r->value_max, r->value_count, 1, sizeof *r->values))
        return 0;
    r->values[r->value_count] = (struct values_value){0};
    return (uint32_t)r->value_count++;
}

static void note_conflict(struct values_rules *r, uint32_t step)
{
    (*(r->inferring ? &r->inferred_conflicts : &r->conflicts))++;
    if (r->inferring && (!r->inferred_at || step < r->inferred_at))
        r->inferred_at = step + 1;
}

static void learn_value(struct values_rules *r, uint32_t value, uint32_t number,
                        enum values_how how, uint32_t step)
{
    struct values_value *v = &r->values[value];
    if (!value)
        return;
    if (v->how) {
        if (v->number != number)
            note_conflict(r, step);
        return;
    }
    if (v->uses) {
        if (!rules_room(r, (void **)&r->work, &r->work_max, r->work_count, 1, sizeof *r->work))
            return;
        r->work[r->work_count++] = value;
    }
    v->number = number;
    v->how = (unsigned)how & 0xf;
    v->inferred = r->inferring;
    v->step = step & RULES_NO_STEP;
    r->news++;
}

void rules_learn_at(struct values_rules *r, uint32_t value, uint32_t number, enum values_how how,
                    uint32_t step)
{
    learn_value(r, value, number, how, step);
}

static bool known_number(const struct values_rules *r, uint32_t value, uint32_t *number)
{
    *number = value ? r->values[value].number : 0;
    return !value || r->values[value].how;
}

/* Gives slot `slot` of a rule its value. */
static void conclude_slot(struct values_rules *r, const struct values_rule *rule, unsigned slot,
                          uint32_t number)
{
    enum values_how how = rule->how               ? (enum values_how)rule->how
                          : slot                  ? VALUES_UNDONE
                          : rule->op == RULE_COND ? VALUES_CONDITION
                                                  : VALUES_COMPUTED;
    learn_value(r, rule->slot[slot], number, how, rule->step);
}

/* d = a b k, added, subtracted or exclusive-ored, solved for the one that is missing. */
static void apply_linear(struct values_rules *r, const struct values_rule *rule)
{
    uint32_t d, a, b, k = rule->k;
    bool has_d = known_number(r, rule->slot[0], &d);
    bool has_a = known_number(r, rule->slot[1], &a);
    bool has_b = known_number(r, rule->slot[2], &b);
    bool xor = rule->op == RULE_XOR, sub = rule->op == RULE_SUB;
    if (!rule->slot[0])
        return;
    if (has_a && has_b)
        conclude_slot(r, rule, 0, xor? a ^ b ^ k : sub ? a - b + k : a + b + k);
    else if (has_d && has_b)
        conclude_slot(r, rule, 1, xor? d ^ b ^ k : sub ? d + b - k : d - b - k);
    else if (has_d && has_a)
        conclude_slot(r, rule, 2, xor? d ^ a ^ k : sub ? a - d + k : d - a - k);
}

static void apply_select(struct values_rules *r, const struct values_rule *rule)
{
    uint32_t d, p, v[2];
    bool has_d = known_number(r, rule->slot[0], &d);
    bool has_p = known_number(r, rule->slot[1], &p);
    bool has[2] = {known_number(r, rule->slot[2], &v[0]), known_number(r, rule->slot[3], &v[1])};
    if (has_p) {
        unsigned from = p ? 1 : 0;
        if (has[from])
            conclude_slot(r, rule, 0, v[from]);
        else if (has_d)
            conclude_slot(r, rule, 2 + from, d);
    } else if (has[0] && has[1] && v[0] == v[1]) {
        conclude_slot(r, rule, 0, v[0]);
    } else if (has_d && has[0] && v[0] != d) {
        conclude_slot(r, rule, 1, 1);
    } else if (has_d && has[1] && v[1] != d) {
        conclude_slot(r, rule, 1, 0);
    }
}

/* Of the 16 states of the flags, NZ in bits 1..0 of their number, C in bit 2, V in bit 3. */
#define WITH_Z 0xaaaau
#define WITH_N 0xccccu
#define WITH_C 0xf0f0u
#define WITH_V 0xff00u
#define STATES 0x7777u /* of a result: N and Z are never both set */

/* Those that a condition passes in. */
static unsigned states_passing(unsigned cond)
{
    static const unsigned even[8] = {WITH_Z,
                                     WITH_C,
                                     WITH_N,
                                     WITH_V,
                                     WITH_C & ~WITH_Z,
                                     ~(WITH_N ^ WITH_V),
                                     ~(WITH_N ^ WITH_V) & ~WITH_Z,
                                     ~0u};
    return cond & 1 && cond < 14 ? ~even[cond >> 1] : even[cond >> 1 & 7];
}

static unsigned states_where(uint32_t flag, unsigned set)
{
    return flag ? set : ~set;
}

/* If all states that are possible agree the condition is known. */
static void apply_condition(struct values_rules *r, const struct values_rule *rule)
{
    uint32_t d, in[3];
    uint32_t k = rule->k & ~RULE_ANY_FLAGS;
    unsigned possible = rule->k & RULE_ANY_FLAGS ? 0xffffu : STATES, pass = states_passing(k);
    if (known_number(r, rule->slot[1], &in[0]))
        possible &= states_where(in[0] & 1, WITH_Z) & states_where(in[0] & 2, WITH_N);
    if (known_number(r, rule->slot[2], &in[1]))
        possible &= states_where(in[1], WITH_C);
    if (known_number(r, rule->slot[3], &in[2]))
        possible &= states_where(in[2], WITH_V);
    bool low = !(possible & ~pass), high = possible & pass;
    if (low == high)
        conclude_slot(r, rule, 0, low);
    if (!known_number(r, rule->slot[0], &d))
        return;
    if (rule->k < 2 && (rule->k == 0) == (d != 0))
        learn_value(r, rule->slot[1], 1, VALUES_CONDITION, rule->step); /* Z is set, so N is not */
    else if (k == 2 || k == 3)
        learn_value(r, rule->slot[2], (k == 2) == (d != 0), VALUES_CONDITION, rule->step);
    else if (k == 6 || k == 7)
        learn_value(r, rule->slot[3], (k == 6) == (d != 0), VALUES_CONDITION, rule->step);
}

static void apply_nz(struct values_rules *r, const struct values_rule *rule)
{
    uint32_t d, a;
    if (known_number(r, rule->slot[1], &a))
        conclude_slot(r, rule, 0, a ? a >> 31 << 1 : 1);
    else if (known_number(r, rule->slot[0], &d) && d == 1)
        learn_value(r, rule->slot[1], 0, VALUES_CONDITION, rule->step);
}

/*
 * M-profile exception frame at d, interrupted SP a, stacked xPSR b. An entry aligns to 8 bytes if
 * the core is set so or floating-point registers are stacked. Otherwise d follows from a only when
 * a is a multiple of 8.
 */
static void apply_stacked(struct values_rules *r, const struct values_rule *rule)
{
    uint32_t d, a, b;
    bool has_d = known_number(r, rule->slot[0], &d);
    bool has_a = known_number(r, rule->slot[1], &a);
    bool has_b = known_number(r, rule->slot[2], &b);
    uint32_t basic, k = rule->k;
    if (!known_number(r, rule->slot[3], &basic))
        return;
    if (rule->slot[3] && !basic)
        k |= RULE_STACKED_FLOAT;
    uint32_t size = k & RULE_STACKED_FLOAT ? 0x68 : 0x20;
    if (has_d && has_b)
        conclude_slot(r, rule, 1, b >> 9 & 1 ? (d + size) | 4 : d + size);
    else if (has_a && !(a & 4))
        conclude_slot(r, rule, 0, a - size);
    else if (has_a && k & (RULE_STACKED_FLOAT | RULE_STACKED_ALIGNED))
        conclude_slot(r, rule, 0, (a - size) & ~7u);
    else if (has_a && has_b && k & RULE_STACKED_ENTRY)
        conclude_slot(r, rule, 0, a - (b >> 9 & 1 ? size + 4 : size));
}

static void apply_forward(struct values_rules *r, const struct values_rule *rule)
{
    uint32_t in[3];
    bool has[3], all = true;
    for (unsigned i = 0; i < 3; i++) {
        has[i] = rule->slot[1 + i] != 0;
        all = known_number(r, rule->slot[1 + i], &in[i]) && all;
    }
    if (all)
        conclude_slot(r, rule, 0, rules_forward((enum rule_op)rule->op, rule->k, in, has));
    else if (rule->op == RULE_AND || rule->op == RULE_MUL)
        for (unsigned i = 0; i < 2; i++)
            if (has[i] && r->values[rule->slot[1 + i]].how && !in[i])
                conclude_slot(r, rule, 0, 0);
}

static void apply_rule(struct values_rules *r, const struct values_rule *rule)
{
    switch (rule->op) {
    case RULE_ADD:
    case RULE_SUB:
    case RULE_XOR:
        apply_linear(r, rule);
        break;
    case RULE_SELECT:
        apply_select(r, rule);
        break;
    case RULE_COND:
        apply_condition(r, rule);
        break;
    case RULE_NZ:
        apply_nz(r, rule);
        break;
    case RULE_STACKED:
        apply_stacked(r, rule);
        break;
    default:
        apply_forward(r, rule);
    }
}

static bool all_known(const struct values_rules *r, const struct values_rule *rule)
{
    uint32_t number;
    return known_number(r, rule->slot[0], &number) && known_number(r, rule->slot[1], &number) &&
           known_number(r, rule->slot[2], &number) && known_number(r, rule->slot[3], &number);
}

static unsigned operand_count(const struct values_rule *rule)
{
    return rule->slot[3] ? 4 : rule->slot[2] ? 3 : rule->slot[1] ? 2 : 1;
}

static void keep_rule(struct values_rules *r, const struct values_rule *rule)
{
    if (!rules_room(r, (void **)&r->pool, &r->pool_max, r->pool_count, LONGEST, sizeof *r->pool))
        return;
    uint32_t id = (uint32_t)r->pool_count, n = operand_count(rule);
    uint32_t *made = &r->pool[id];
    made[0] = (n - 1) | (uint32_t)rule->op << OP_SHIFT | (uint32_t)rule->how << HOW_SHIFT |
              rule->step << STEP_SHIFT;
    made[1] = rule->k;
    for (uint32_t i = 0; i < n; i++) {
        struct values_value *v = &r->values[rule->slot[i]];
        made[HEAD + i] = rule->slot[i];
        made[HEAD + n + i] = v->uses;
        if (rule->slot[i])
            v->uses = id * 4 + i;
    }
    r->pool_count += HEAD + 2 * n;
    r->rule_count++;
}

/* Words of the rule. */
static size_t get_rule(const struct values_rules *r, uint32_t id, struct values_rule *rule)
{
    const uint32_t *kept = &r->pool[id];
    unsigned n = (kept[0] & 3) + 1;
    *rule = (struct values_rule){.k = kept[1],
                                 .step = kept[0] >> STEP_SHIFT,
                                 .op = kept[0] >> OP_SHIFT & 0x3f,
                                 .how = kept[0] >> HOW_SHIFT & 0xf};
    for (unsigned i = 0; i < n; i++)
        rule->slot[i] = kept[HEAD + i];
    return HEAD + 2 * n;
}

/* Of a value: behind one by a rule of so many words. */
static uint32_t next_use(const struct values_rules *r, uint32_t use, size_t words)
{
    return r->pool[use / 4 + (words + HEAD) / 2 + use % 4];
}

/* What it gives itself it is asked again with. One that has said all it can is not kept. */
void rules_add(struct values_rules *r, const struct values_rule *rule)
{
    size_t before;
    r->news++;
    do {
        before = r->news;
        apply_rule(r, rule);
    } while (r->news != before);
    if (!all_known(r, rule))
        keep_rule(r, rule);
}

bool rules_defines(const struct values_rules *r, uint32_t value, size_t uses,
                   struct values_rule *rule)
{
    uint32_t use = r->values[value].uses;
    for (; use && uses; uses--) {
        size_t words = get_rule(r, use / 4, rule);
        if (use % 4 == 0)
            return true;
        use = next_use(r, use, words);
    }
    return false;
}

#define RANGE_DEPTH 6
#define RANGE_USES  64

static bool range_of(const struct values_rules *r, uint32_t value, unsigned depth,
                     struct values_range *range);

/* Bits that may be set are all in `mask`. */
static bool range_of_mask(uint32_t mask, struct values_range *range)
{
    *range = (struct values_range){.span = mask};
    return mask < RULES_SPAN_MAX;
}

static bool range_of_sum(const struct values_rules *r, const struct values_rule *rule,
                         unsigned depth, struct values_range *range)
{
    struct values_range a, b = {0};
    if (!range_of(r, rule->slot[1], depth, &a) ||
        (rule->slot[2] && !range_of(r, rule->slot[2], depth, &b)))
        return false;
    range->from = rule->k + a.from + (rule->op == RULE_SUB ? 0 - b.from - b.span : b.from);
    range->span = a.span + b.span;
    return range->span < RULES_SPAN_MAX;
}

static bool range_of_and(const struct values_rules *r, const struct values_rule *rule,
                         struct values_range *range)
{
    for (unsigned i = 1; i < 3; i++) {
        const struct values_value *v = &r->values[rule->slot[i]];
        if (rule->slot[i] && v->how && range_of_mask(v->number, range))
            return true;
    }
    return false;
}

static bool range_of_shift(const struct values_rules *r, const struct values_rule *rule,
                           unsigned depth, struct values_range *range)
{
    unsigned type = rule->k & 7, by = rule->k >> 8;
    if (rule->slot[2] || by > 31)
        return false;
    if (type == EFFECT_LSR && by)
        return range_of_mask(UINT32_MAX >> by, range);
    if (type != EFFECT_LSL || !range_of(r, rule->slot[1], depth, range) ||
        range->from + range->span < range->from ||
        (uint64_t)(range->from + range->span) << by > UINT32_MAX)
        return false;
    range->from <<= by;
    range->span <<= by;
    return range->span < RULES_SPAN_MAX;
}

static bool range_of_either(const struct values_rules *r, const struct values_rule *rule,
                            unsigned depth, struct values_range *range)
{
    struct values_range a, b;
    if (!range_of(r, rule->slot[2], depth, &a) || !range_of(r, rule->slot[3], depth, &b))
        return false;
    if (b.from - a.from >= RULES_SPAN_MAX) {
        struct values_range other = a;
        a = b;
        b = other;
    }
    uint32_t apart = b.from - a.from;
    range->from = a.from;
    range->span = a.span > apart + b.span ? a.span : apart + b.span;
    return apart < RULES_SPAN_MAX && range->span < RULES_SPAN_MAX;
}

static bool range_of(const struct values_rules *r, uint32_t value, unsigned depth,
                     struct values_range *range)
{
    struct values_rule rule;
    *range = (struct values_range){.from = r->values[value].number};
    if (value && r->values[value].how)
        return true;
    if (!value || !depth || !rules_defines(r, value, RANGE_USES, &rule))
        return false;
    switch (rule.op) {
    case RULE_ADD:
    case RULE_SUB:
        return range_of_sum(r, &rule, depth - 1, range);
    case RULE_AND:
        return range_of_and(r, &rule, range);
    case RULE_SHIFT:
        return range_of_shift(r, &rule, depth - 1, range);
    case RULE_SELECT:
        return range_of_either(r, &rule, depth - 1, range);
    case RULE_FIELD:
        return !(rule.k >> 16 & 1) && range_of_mask(field_mask(rule.k >> 8 & 0xff), range);
    default:
        return false;
    }
}

bool rules_range(const struct values_rules *r, uint32_t value, struct values_range *range)
{
    return range_of(r, value, RANGE_DEPTH, range);
}

void rules_align(struct values_rules *r, bool frames)
{
    struct values_rule rule;
    for (size_t id = 1, n; id < r->pool_count; id += n) {
        n = get_rule(r, (uint32_t)id, &rule);
        if (rule.op == RULE_FIELD && rule.how == VALUES_CALL && !r->values[rule.slot[0]].how)
            learn_value(r, rule.slot[0], 0, VALUES_CALL, rule.step);
        if (rule.op != RULE_STACKED || !frames)
            continue;
        rule.k |= RULE_STACKED_ALIGNED;
        r->pool[id + 1] = rule.k;
        apply_rule(r, &rule);
    }
}

bool rules_run_some(struct values_rules *r, size_t *budget)
{
    for (; r->work_count && *budget; --*budget) {
        uint32_t value = r->work[--r->work_count];
        uint32_t use = r->values[value].uses;
        while (use) {
            struct values_rule rule;
            size_t words = get_rule(r, use / 4, &rule);
            use = next_use(r, use, words);
            apply_rule(r, &rule);
        }
    }
    return !r->work_count;
}
