/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/values/values.h"
#include "values_turns.h"

#include <stdlib.h>
#include <string.h>

#define RUN            64
#define STATUS_OFFSET  28u /* of the xPSR in an exception frame */
#define STATUS_T       (1u << 24)
#define STATUS_ALIGNED (1u << 9)

/* What memory held, in order of addresses: sorted in slices, runs first, which are merged then. */
static bool record_before(const struct values_record *x, const struct values_record *y)
{
    return x->address != y->address ? x->address < y->address : x->from < y->from;
}

static void sort_records(struct values_record *at, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct values_record x = at[i];
        size_t k = i;
        for (; k > 0 && record_before(&x, &at[k - 1]); k--)
            at[k] = at[k - 1];
        at[k] = x;
    }
}

static void merge_runs(const struct values_record *a, size_t a_count, const struct values_record *b,
                       size_t b_count, struct values_record *out)
{
    while (a_count && b_count) {
        if (record_before(b, a)) {
            *out++ = *b++;
            b_count--;
        } else {
            *out++ = *a++;
            a_count--;
        }
    }
    memcpy(out, a, a_count * sizeof *a);
    memcpy(out + a_count, b, b_count * sizeof *b);
}

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

/* The next two runs become one. */
static size_t merge_next_runs(struct values_memory_state *m, struct values_sort *s)
{
    size_t left = m->record_count - s->at;
    size_t a = at_most(s->width, left), b = at_most(s->width, left - a);
    const struct values_record *from = m->records + s->at;
    merge_runs(from, a, from + a, b, s->other + s->at);
    s->at += a + b;
    return a + b;
}

static void swap_sides(struct values_memory_state *m, struct values_sort *s)
{
    struct values_record *sorted = s->other;
    s->other = m->records;
    m->records = sorted;
    m->record_max = m->record_count;
    s->width *= 2;
    s->at = 0;
}

static bool sort_some(struct values *r, size_t *budget)
{
    struct values_memory_state *m = &r->memory;
    struct values_sort *s = &r->sort;
    for (; !s->width && s->at < m->record_count && *budget; s->at += RUN) {
        size_t n = at_most(RUN, m->record_count - s->at);
        sort_records(m->records + s->at, n);
        *budget -= at_most(n, *budget);
    }
    if (!s->width && s->at >= m->record_count) {
        s->width = RUN;
        s->at = 0;
    }
    if (s->width && s->width < m->record_count && !s->other) {
        s->other = malloc(m->record_count * sizeof *s->other);
        r->rules.nomem |= !s->other;
    }
    while (s->other && s->width < m->record_count && *budget) {
        *budget -= at_most(merge_next_runs(m, s) / 2, *budget);
        if (s->at >= m->record_count)
            swap_sides(m, s);
    }
    if (!s->width || s->width < m->record_count)
        return false;
    free(s->other);
    *s = (struct values_sort){0};
    return true;
}

/*
 * The work in slices: what is done in which order does not depend on where they end. A unit of a
 * budget is about one value passed on, or one access to memory looked at.
 */
/* Each pass finds what the one before made possible; chains of more are rare. */
#define ROUNDS_MAX 256

/* How often tasks that go on are looked for; each time what was found helps to find more. */
#define MATCHES_MAX 8

/* A call that is seen not to keep a register is not believed for the others either. */
static bool is_contradicted(const struct values *r, const struct values_pair *p)
{
    for (unsigned reg = 0; reg < VALUES_STATE_REGS; reg++) {
        const struct values_value *x = &r->rules.values[p->before[reg]];
        const struct values_value *y = &r->rules.values[p->after[reg]];
        if (p->kept >> reg & 1 && x->how && y->how && x->number != y->number)
            return true;
    }
    return false;
}

static void keep_register(struct values *r, const struct values_pair *p, unsigned reg)
{
    if (p->kept >> reg & 1)
        rules_equal(&r->rules, p->after[reg], p->before[reg], p->step, VALUES_CALL);
}

/* An exception to the mode that was interrupted, or one within it, has overwritten LR: nobody can
 * give it back. */
static bool keeps_lr(const struct values *r, const struct values_pair *p)
{
    const struct values_value *mode = &r->rules.values[p->before[VALUES_MODE]];
    return mode->how ? !(p->lost >> (mode->number & 15) & 1) : !p->lost;
}

/* An exception that came back on another stack did so to somebody else. */
static bool is_elsewhere(const struct values *r, const struct values_pair *p)
{
    const struct values_value *x = &r->rules.values[p->before[13]];
    const struct values_value *y = &r->rules.values[p->after[13]];
    return p->moved && !(x->how && y->how && x->number == y->number);
}

static void keep_registers(struct values *r, const struct values_pair *p)
{
    for (unsigned reg = 0; reg < VALUES_MODE; reg++)
        if (reg != 14 || keeps_lr(r, p))
            keep_register(r, p, reg);
    keep_register(r, p, VALUES_BASIC);
}

static void enter_stage(struct values *r, enum values_stage stage)
{
    r->stage = stage;
    r->at = 0;
}

/* What is learnt is passed on, then memory is looked at again and again. */
static void again_from_rules(struct values *r)
{
    r->passes = 0;
    enter_stage(r, VALUES_RULES);
}

static void begin_pass(struct values *r)
{
    r->rounds++;
    r->passes++;
    values_memory_begin(r);
    enter_stage(r, VALUES_ACCESSES);
}

static void end_pass(struct values *r)
{
    if (r->changed && r->passes < ROUNDS_MAX)
        begin_pass(r);
    else
        enter_stage(r, VALUES_SORT);
}

static void begin_pairs(struct values *r)
{
    r->rules.inferring = true;
    r->keep_saved = r->infer & VALUES_INFER_ABI;
    rules_align(&r->rules, r->align);
    r->pair = r->pair_count;
    enter_stage(r, VALUES_PAIR);
}

static void next_pair(struct values *r)
{
    while (r->pair &&
           (is_contradicted(r, &r->pairs[r->pair - 1]) || is_elsewhere(r, &r->pairs[r->pair - 1])))
        r->pair--;
    if (!r->pair) {
        again_from_rules(r);
        return;
    }
    keep_register(r, &r->pairs[--r->pair], VALUES_MODE);
    enter_stage(r, VALUES_PAIR_MODE);
}

/* An assumption that the path contradicts takes all with it that rests on any. */
static void values_done(struct values *r)
{
    struct values_rules *rules = &r->rules;
    for (size_t i = 0; rules->inferred_conflicts && i < rules->value_count; i++)
        if (rules->values[i].inferred)
            rules->values[i].how = VALUES_UNKNOWN;
    if (rules->inferred_conflicts)
        r->pair_count = 0;
    enter_stage(r, VALUES_DONE);
}

static void memory_done(struct values *r)
{
    bool first = !r->rules.inferring;
    if (first)
        values_memory_keep(r);
    if (first && (r->pair_count || r->infer))
        begin_pairs(r);
    else if (!first && r->turns && r->turns->count && r->matches++ < MATCHES_MAX)
        enter_stage(r, VALUES_TURNS);
    else
        values_done(r);
}

static void turns_done(struct values *r)
{
    if (r->turns->any)
        again_from_rules(r);
    else
        values_done(r);
}

/* One stage, or as much of it as the budget allows. */
static void run_stage(struct values *r, size_t *budget)
{
    struct values_rules *rules = &r->rules;
    switch (r->stage) {
    case VALUES_BUILD:
        if (values_build_some(r, budget))
            again_from_rules(r);
        break;
    case VALUES_RULES:
        if (rules_run_some(rules, budget))
            begin_pass(r);
        break;
    case VALUES_ACCESSES:
        if (values_memory_accesses(r, &r->at, budget))
            enter_stage(r, VALUES_CELLS);
        break;
    case VALUES_CELLS:
        if (values_memory_cells(r, &r->at, budget)) {
            r->changed = values_memory_changed(r);
            enter_stage(r, VALUES_PASSED);
        }
        break;
    case VALUES_PASSED:
        if (rules_run_some(rules, budget))
            end_pass(r);
        break;
    case VALUES_SORT:
        if (sort_some(r, budget))
            memory_done(r);
        break;
    case VALUES_PAIR:
        if (rules_run_some(rules, budget))
            next_pair(r);
        spend_units(budget, 4);
        break;
    case VALUES_PAIR_MODE:
        if (rules_run_some(rules, budget)) {
            keep_registers(r, &r->pairs[r->pair]);
            enter_stage(r, VALUES_PAIR);
        }
        break;
    case VALUES_TURNS:
        if (turns_match(r, &r->at, budget))
            turns_done(r);
        break;
    default:
        break;
    }
}

int values_work(struct values *r, size_t budget, bool *done)
{
    while (budget && r->stage != VALUES_DONE && !r->rules.nomem)
        run_stage(r, &budget);
    *done = r->stage == VALUES_DONE;
    return r->rules.nomem ? BT_ERR_NOMEM : 0;
}

static const char *const how_names[VALUES_HOWS] = {
    "unknown", "halted",  "constant",  "computed",  "undone", "branch", "condition",
    "code",    "present", "forwarded", "exception", "data",   "call"};

const char *values_how_name(enum values_how how)
{
    return (unsigned)how < VALUES_HOWS ? how_names[how] : "?";
}

static int check_window(const struct values_window *w)
{
    if (!w->count || w->count > VALUES_MAX_INSNS)
        return BT_ERR_INVAL;
    for (size_t i = 0; i < w->count; i++) {
        if (w->insns[i].isa != BT_ISA_A32 && w->insns[i].isa != BT_ISA_T32)
            return BT_ERR_UNSUPPORTED;
        if (w->insns[i].size != 4 && (w->insns[i].size != 2 || w->insns[i].isa == BT_ISA_A32))
            return BT_ERR_INVAL;
    }
    for (size_t i = 1; i < w->event_count; i++)
        if (w->events[i].position < w->events[i - 1].position)
            return BT_ERR_INVAL;
    return 0;
}

int values_begin(struct values **out, const struct values_window *window)
{
    *out = NULL;
    int error = check_window(window);
    if (error)
        return error;
    struct values *r = calloc(1, sizeof *r);
    if (!r || !rules_init(&r->rules, window->count)) {
        free(r);
        return BT_ERR_NOMEM;
    }
    r->count = window->count;
    r->read = window->read;
    r->context = window->context;
    r->earlier = window->earlier;
    r->big_endian = window->big_endian;
    r->second = window->m_bit_band  ? SECOND_BIT_BAND
                : window->m_profile ? SECOND_PERHAPS
                                    : SECOND_NONE;
    r->infer = window->infer;
    r->align = window->m_profile && window->infer & VALUES_INFER_EXCEPTION && !window->m_unaligned;
    r->ram = window->ram;
    r->ram_count = window->ram_count;
    if (r->align && window->ram_count && !(r->turns = calloc(1, sizeof *r->turns)))
        r->rules.nomem = true;
    error = values_build_begin(r, window);
    if (error)
        values_free(r);
    else
        *out = r;
    return error;
}

void values_free(struct values *r)
{
    if (!r)
        return;
    rules_release(&r->rules);
    free(r->build);
    free(r->sort.other);
    turns_free(r->turns);
    for (unsigned i = 0; i < VALUES_STATE_REGS; i++)
        free(r->defs[i].at);
    free(r->memory.accesses);
    free(r->memory.records);
    free(r->memory.cells);
    free(r->memory.clobbers);
    free(r->memory.listed);
    free(r->proved.records);
    free(r->proved.clobbers);
    free(r->pairs);
    free(r->stacked);
    free(r);
}

/* Index of the definition that holds at the position, plus 1. */
static size_t find_def(const struct values_defs *d, size_t position)
{
    size_t low = 0, high = d->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (d->at[mid].from <= position)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static uint32_t value_at(const struct values *r, size_t position, unsigned reg)
{
    const struct values_defs *d = &r->defs[reg];
    size_t here = find_def(d, position);
    return here ? d->at[here - 1].value : 0;
}

static bool answer_of(const struct values *r, uint32_t id, struct values_answer *answer)
{
    const struct values_value *v = &r->rules.values[id];
    *answer = (struct values_answer){.step = UINT32_MAX};
    if (!id || !v->how)
        return false;
    answer->value = v->number;
    answer->how = v->how;
    answer->inferred = v->inferred;
    answer->step = v->step == RULES_NO_STEP ? UINT32_MAX : v->step;
    return true;
}

bool values_register(const struct values *r, size_t position, unsigned reg,
                     struct values_answer *answer)
{
    uint32_t id = position <= r->count && reg < VALUES_REGS ? value_at(r, position, reg) : 0;
    return answer_of(r, id, answer);
}

unsigned values_stacks(const struct values *r, size_t position, uint32_t stacks[2], bool *process)
{
    struct values_answer answer;
    unsigned known = 4;
    *process = false;
    if (position > r->count || !answer_of(r, value_at(r, position, VALUES_MODE), &answer))
        return 0;
    *process = answer.value & 4;
    for (unsigned i = 0; i < 2; i++) {
        bool used = i == *process;
        known |= (unsigned)answer_of(r, value_at(r, position, used ? 13 : VALUES_MSP + i), &answer)
                 << i;
        stacks[i] = answer.value;
    }
    return known;
}

bool values_stacks_kept(const struct values *r, size_t position)
{
    return position >= r->stacks_from;
}

uint32_t values_flags(const struct values *r, size_t position, uint32_t *mask, uint32_t *inferred)
{
    static const uint32_t bits[3] = {0xc0000000u, 0x20000000u, 0x10000000u};
    static const uint8_t shift[3] = {30, 29, 28};
    uint32_t flags = 0;
    *mask = *inferred = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct values_answer answer;
        uint32_t id = position <= r->count ? value_at(r, position, EFFECT_NZ + i) : 0;
        if (!answer_of(r, id, &answer))
            continue;
        flags |= answer.value << shift[i];
        *mask |= bits[i];
        *inferred |= answer.inferred ? bits[i] : 0;
    }
    return flags;
}

/* From one of the two states of memory. */
static bool word_in(const struct values *r, const struct values_memory_state *m, size_t position,
                    uint32_t address, struct values_answer *answer)
{
    uint32_t value, present;
    if (!values_memory_find(r, m, (uint32_t)position, address, &value, &present))
        return false;
    if (value)
        return answer_of(r, value, answer);
    answer->value = present;
    answer->how = VALUES_PRESENT;
    return true;
}

bool values_word(const struct values *r, size_t position, uint32_t address,
                 struct values_answer *answer)
{
    *answer = (struct values_answer){.step = UINT32_MAX};
    if (position > r->count || address & 3)
        return false;
    if (word_in(r, &r->proved, position, address, answer))
        return true;
    /* Which stores hit the word may rest on assumptions, so the answer does. */
    if (!r->pair_count || !word_in(r, &r->memory, position, address, answer))
        return false;
    answer->inferred = true;
    return true;
}

bool values_status(const struct values *r, size_t position, uint32_t address, uint32_t *value)
{
    for (size_t i = r->stacked_count; i-- > 0;) {
        const struct values_stacked *s = &r->stacked[i];
        const struct values_value *frame = &r->rules.values[s->frame];
        const struct values_value *sp = &r->rules.values[s->sp];
        if (position < s->from || position >= s->until || !frame->how || !sp->how ||
            frame->number + STATUS_OFFSET != address)
            continue;
        *value = STATUS_T | (sp->number & 4 ? STATUS_ALIGNED : 0) | s->number;
        return true;
    }
    return false;
}

void values_counts(const struct values *r, struct values_counts *counts)
{
    const struct values_rules *u = &r->rules;
    const struct values_memory_state *m = &r->memory;
    *counts = (struct values_counts){.values = u->value_count,
                                     .rules = u->rule_count,
                                     .accesses = m->access_count,
                                     .words = m->cell_count,
                                     .rounds = r->rounds,
                                     .conflicts = u->conflicts,
                                     .inferred_conflicts = u->inferred_conflicts,
                                     .inferred_at = u->inferred_at - (u->inferred_at != 0)};
    counts->memory_bytes = u->value_max * sizeof *u->values + u->pool_max * sizeof *u->pool +
                           u->work_max * sizeof *u->work + m->access_max * sizeof *m->accesses +
                           m->record_max * sizeof *m->records + m->cell_max * sizeof *m->cells +
                           r->pair_max * sizeof *r->pairs;
    for (unsigned i = 0; i < VALUES_STATE_REGS; i++)
        counts->memory_bytes += r->defs[i].max * sizeof *r->defs[i].at;
}
