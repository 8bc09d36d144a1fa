/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/values/values.h"

#include "values_work.h"

#include <stdlib.h>

#define STATUS_OFFSET  28u /* of the xPSR in an exception frame */
#define STATUS_T       (1u << 24)
#define STATUS_ALIGNED (1u << 9)

static const char *const how_names[VALUES_HOWS] = {
    "unknown", "halted",  "constant",  "computed",  "undone", "branch", "condition",
    "code",    "present", "forwarded", "exception", "data",   "call"};

const char *values_how_name(enum values_how how)
{
    return (unsigned)how < VALUES_HOWS ? how_names[how] : "?";
}

bool values_room(struct values *r, void **array, size_t *max, size_t count, size_t size)
{
    if (count < *max)
        return true;
    size_t more = *max ? *max * 2 : 64;
    void *grown = realloc(*array, more * size);
    if (!grown) {
        r->rules.nomem = true;
        return false;
    }
    *array = grown;
    *max = more;
    return true;
}

static int check(const struct values_window *w)
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
    int error = check(window);
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
    r->infer = window->infer;
    r->align = window->m_profile && window->infer & VALUES_INFER_EXCEPTION;
    error = values_build_begin(r, window);
    if (error)
        values_free(r);
    else
        *out = r;
    return error;
}

int values_new(struct values **out, const struct values_window *window)
{
    bool done;
    int error = values_begin(out, window);
    if (!error)
        error = values_work(*out, SIZE_MAX, &done);
    if (error) {
        values_free(*out);
        *out = NULL;
    }
    return error;
}

void values_free(struct values *r)
{
    if (!r)
        return;
    rules_release(&r->rules);
    free(r->build);
    free(r->sort.other);
    for (unsigned i = 0; i < VALUES_STATE_REGS; i++)
        free(r->defs[i].at);
    free(r->memory.accesses);
    free(r->memory.records);
    free(r->memory.cells);
    free(r->memory.clobbers);
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

bool values_nearest(const struct values *r, size_t position, unsigned reg, size_t distance,
                    struct values_answer *answer)
{
    const struct values_defs *d = &r->defs[reg < VALUES_REGS ? reg : 0];
    struct values_answer before;
    size_t here = find_def(d, position), gap;
    *answer = (struct values_answer){.step = UINT32_MAX};
    if (reg >= VALUES_REGS || position > r->count)
        return false;
    for (size_t i = here; i < d->count && (gap = d->at[i].from - position) <= distance; i++)
        if (answer_of(r, d->at[i].value, answer)) {
            distance = gap - 1;
            break;
        }
    for (size_t i = here; i > 0; i--) { /* each holds up to the one behind it */
        gap = i == here ? 0 : position - (d->at[i].from - 1);
        if (gap > distance)
            break;
        if (answer_of(r, d->at[i - 1].value, &before)) {
            *answer = before;
            break;
        }
    }
    return answer->how != VALUES_UNKNOWN;
}

bool values_range(const struct values *r, unsigned reg, uint32_t *low, uint32_t *high)
{
    const struct values_defs *d = &r->defs[reg < VALUES_REGS ? reg : 0];
    bool any = false;
    for (size_t i = 0; i < d->count && reg < VALUES_REGS; i++) {
        const struct values_value *v = &r->rules.values[d->at[i].value];
        if (!d->at[i].value || !v->how)
            continue;
        *low = any && *low < v->number ? *low : v->number;
        *high = any && *high > v->number ? *high : v->number;
        any = true;
    }
    return any;
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
                                     .inferred_conflicts = u->inferred_conflicts};
    counts->memory_bytes = u->value_max * sizeof *u->values + u->pool_max * sizeof *u->pool +
                           u->work_max * sizeof *u->work + m->access_max * sizeof *m->accesses +
                           m->record_max * sizeof *m->records + m->cell_max * sizeof *m->cells +
                           r->pair_max * sizeof *r->pairs;
    for (unsigned i = 0; i < VALUES_STATE_REGS; i++)
        counts->memory_bytes += r->defs[i].max * sizeof *r->defs[i].at;
}
