/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks of a kernel. Which one goes on behind a handler that wrote PSP does not follow from what
 * is known of the registers there. But what was interrupted goes on in the end where it was, or it
 * waits, and then its frame is in RAM at the end of the window: where all but one of the places at
 * which it may go on, or wait, can be ruled out, it is that one.
 */
#include "values_turns.h"

#include <stdlib.h>
#include <string.h>

#define STACKED_LR     20u
#define STACKED_PC     24u
#define STACKED_XPSR   28u
#define FRAME_SIZE     32u
#define FLOAT_SIZE     0x68u
#define XPSR_ALIGNED   (1u << 9)
#define SAVED_BELOW    0x80u /* bytes */
#define XPSR_T         (1u << 24)
#define XPSR_NUMBER    0x1ffu /* of a handler that was interrupted */
#define RETURN_PROCESS 4u     /* bit of EXC_RETURN, and of a context: the process stack */

#define TURNS_MOST      2048 /* those before are not looked at */
#define WORD_UNITS      8    /* of a budget */
#define TURN_UNITS      64
#define USES_BACK       64   /* of a value, in which its origin is looked for */
#define CURSOR_STEPS    32   /* of SP between two words that were pushed */
#define CURSOR_ACCESSES 1024 /* that are looked at, before the end of a turn */

static struct values_turn *turn_add(struct build *b, const struct values_turn *turn)
{
    struct values_turns *t = b->r->turns;
    if (!values_room(b->r, (void **)&t->at, &t->max, t->count, sizeof *t->at))
        return NULL;
    t->at[t->count] = *turn;
    t->at[t->count].when = b->from;
    memcpy(t->at[t->count].kept, b->cur + 4, sizeof t->at->kept);
    return &t->at[t->count++];
}

/* The calls that are open below the exception's own frame. */
static void note_callers(const struct build *b, struct values_turn *turn)
{
    size_t i = b->frame_count;
    if (i && b->frames[i - 1].exception)
        i--;
    for (; i && !b->frames[i - 1].exception && turn->caller_count < TURN_CALLERS; i--)
        turn->callers[turn->caller_count++] = b->frames[i - 1].address;
}

void turns_interrupted(struct build *b, const struct values_turn *turn)
{
    struct values_turn *made;
    if (!b->r->turns || b->nesting || !(made = turn_add(b, turn)))
        return;
    if (b->r->turns->calls_told)
        note_callers(b, made);
}

void turns_returned(struct build *b, const struct values_turn *turn)
{
    struct values_turns *t = b->r->turns;
    if (!t || b->nesting)
        return;
    struct values_turn *last = t->count > t->first ? &t->at[t->count - 1] : NULL;
    bool entered = last && !last->begins && !last->whole;
    if (entered && !b->switched) { /* the same goes on */
        t->count--;
        return;
    }
    if (entered)
        last->whole = true;
    struct values_turn *made = turn_add(b, turn);
    if (made)
        made->begins = true;
    t->open = t->count;
    t->calls_told = true;
}

void turns_served(struct build *b)
{
    struct values_turns *t = b->r->turns;
    if (t && b->nesting == 1 && t->count > t->first)
        t->at[t->count - 1].written = true;
}

void turns_left(struct build *b, uint32_t address)
{
    struct values_turns *t = b->r->turns;
    if (!t || !t->open || b->nesting || b->jumped != BUILD_JUMP_BACK)
        return;
    struct values_turn *turn = &t->at[t->open - 1];
    bool skips = b->frame_count && !b->frames[b->frame_count - 1].exception;
    if (skips || turn->caller_count == TURN_CALLERS)
        t->open = 0;
    else
        turn->callers[turn->caller_count++] = address;
}

void turns_unsure(struct build *b, bool lost)
{
    struct values_turns *t = b->r->turns;
    if (!t)
        return;
    t->open = 0;
    t->calls_told = false;
    if (lost)
        t->first = t->count;
}

static bool differ(const struct values *r, uint32_t x, uint32_t y)
{
    return rules_known(&r->rules, x) && rules_known(&r->rules, y) &&
           r->rules.values[x].number != r->rules.values[y].number;
}

/* Does memory hold something else there at a time within from..to? */
static bool holds_other(const struct values *r, uint32_t address, uint32_t from, uint32_t to,
                        uint32_t number)
{
    const struct values_memory_state *m = &r->memory;
    size_t low = 0, high = m->record_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (m->records[mid].address < address)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < m->record_count && m->records[low].address == address; low++) {
        const struct values_record *x = &m->records[low];
        if (x->to >= from && x->from <= to && rules_known(&r->rules, x->value) &&
            r->rules.values[x->value].number != number)
            return true;
    }
    return false;
}

/* It returns to somebody else than what went on there. */
static bool callers_differ(const struct values_turn *x, const struct values_turn *y)
{
    unsigned n = x->caller_count < y->caller_count ? x->caller_count : y->caller_count;
    return memcmp(x->callers, y->callers, n * sizeof *x->callers) != 0;
}

/* Where SP has been, going back along the path: an offset from where it was at the end. */
struct turn_cursor {
    uint32_t value, offset;
    int32_t above; /* the highest that it was later */
};

/* To what it was made of; false: nobody knows. */
static bool cursor_back(const struct values *r, struct turn_cursor *c)
{
    struct values_rule rule;
    uint32_t number = 0;
    if (!rules_defines(&r->rules, c->value, USES_BACK, &rule) ||
        (rule.op != RULE_ADD && rule.op != RULE_SUB))
        return false;
    if (rule.slot[2]) {
        if (!rules_known(&r->rules, rule.slot[2]))
            return false;
        number = r->rules.values[rule.slot[2]].number;
    }
    number = rule.op == RULE_SUB ? 0 - number : number;
    c->above = (int32_t)c->offset > c->above ? (int32_t)c->offset : c->above;
    c->value = rule.slot[1];
    c->offset -= number + rule.k;
    return true;
}

static bool cursor_to(const struct values *r, struct turn_cursor *c, uint32_t value)
{
    struct turn_cursor at = *c;
    for (unsigned i = 0; at.value != value; i++)
        if (i == CURSOR_STEPS || !cursor_back(r, &at))
            return false;
    *c = at;
    return true;
}

/* The first access that is seen from state `when` on. */
static size_t access_from(const struct values_memory_state *m, uint32_t when)
{
    size_t low = 0, high = m->access_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (m->accesses[mid].when < when)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Registers of callers that were pushed, known, and not popped since. */
static void find_marks(const struct values *r, struct values_turn *end)
{
    const struct values_memory_state *m = &r->memory;
    struct turn_cursor c = {end->sp, 0, 0};
    size_t i = access_from(m, end->when), left = CURSOR_ACCESSES;
    end->marked = true;
    for (; i && left && end->mark_count < TURN_MARKS; i--, left--) {
        const struct values_access *a = &m->accesses[i - 1];
        if (a->kind != ACCESS_STORE || a->saved != SAVED || a->cond || !a->stack ||
            !rules_known(&r->rules, a->data) || !cursor_to(r, &c, a->base))
            continue;
        uint32_t offset = c.offset + a->offset;
        if ((int32_t)offset >= c.above)
            end->marks[end->mark_count++] =
                (struct values_mark){offset, r->rules.values[a->data].number};
    }
}

/* SP of a task without its frame; false: it is not known how long that is. */
static bool stack_above(const struct values *r, const struct values_turn *turn, uint32_t frame,
                        uint32_t status, uint32_t *sp)
{
    if (!rules_known(&r->rules, turn->basic))
        return false;
    *sp = frame + (r->rules.values[turn->basic].number ? FRAME_SIZE : FLOAT_SIZE) +
          (status & XPSR_ALIGNED ? 4 : 0);
    return true;
}

/* At a time within end..to the stack holds something else than what the task left there. */
static bool lacks_marks(const struct values *r, const struct values_turn *end, uint32_t sp,
                        uint32_t to)
{
    for (unsigned i = 0; i < end->mark_count; i++)
        if (holds_other(r, sp + end->marks[i].offset, end->when, to, end->marks[i].number))
            return true;
    return false;
}

static bool may_go_on(const struct values *r, const struct values_turn *end,
                      const struct values_turn *begin)
{
    if (!begin->begins || begin->found || begin->address != end->address)
        return false;
    if (differ(r, end->frame, begin->frame) || (!end->written && differ(r, end->lr, begin->lr)) ||
        differ(r, end->context, begin->context) || differ(r, end->basic, begin->basic) ||
        callers_differ(end, begin))
        return false;
    const struct values_value *frame = &r->rules.values[begin->frame];
    const struct values_value *status = &r->rules.values[begin->status];
    uint32_t sp;
    if (!frame->how)
        return true;
    if (status->how && stack_above(r, begin, frame->number, status->number, &sp) &&
        lacks_marks(r, end, sp, begin->when - 1))
        return false;
    return !holds_other(r, frame->number + STACKED_PC, end->when, begin->when - 1, end->address);
}

static uint32_t ram_word(const struct values *r, uint32_t address)
{
    uint32_t word = 0;
    r->read(r->context, address, &word);
    return word;
}

/* Something that was interrupted later, or goes on, has had the place. */
static bool was_used(const struct values *r, size_t end, uint32_t frame)
{
    const struct values_turns *t = r->turns;
    for (size_t i = end + 1; i < t->count; i++)
        if (rules_known(&r->rules, t->at[i].frame) &&
            r->rules.values[t->at[i].frame].number - frame + FRAME_SIZE - 1 < 2 * FRAME_SIZE - 1)
            return true;
    return false;
}

static bool may_wait(const struct values *r, size_t at, uint32_t frame)
{
    const struct values_turn *end = &r->turns->at[at];
    const struct values_value *values = r->rules.values;
    if (ram_word(r, frame + STACKED_PC) != end->address)
        return false;
    uint32_t status = ram_word(r, frame + STACKED_XPSR);
    if (rules_known(&r->rules, end->frame) && values[end->frame].number != frame)
        return false;
    if (!end->written && rules_known(&r->rules, end->lr) &&
        values[end->lr].number != ram_word(r, frame + STACKED_LR))
        return false;
    uint32_t sp;
    for (unsigned i = 0; stack_above(r, end, frame, status, &sp) && i < end->mark_count; i++)
        if (ram_word(r, sp + end->marks[i].offset) != end->marks[i].number)
            return false;
    return !was_used(r, at, frame) &&
           !holds_other(r, frame + STACKED_PC, end->when, (uint32_t)r->count, end->address);
}

/* The frame may be one that the service has made of the one it was entered with. */
static bool may_be_moved(const struct values *r, const struct values_turn *end, uint32_t frame)
{
    const struct values_memory_state *m = &r->memory;
    uint32_t until = end + 1 < r->turns->at + r->turns->count ? end[1].when : UINT32_MAX;
    size_t i = access_from(m, end->when + 1);
    for (; end->written && i < m->access_count && m->accesses[i].when <= until; i++) {
        const struct values_access *a = &m->accesses[i];
        if (a->kind == ACCESS_STORE && !a->stack && rules_known(&r->rules, a->base) &&
            r->rules.values[a->base].number + a->offset == frame + STACKED_PC)
            return true;
    }
    return false;
}

/* How many frames in RAM it may be that waits: 0, 1 (*frame), 2 or more. */
static unsigned waiting(const struct values *r, size_t at, uint32_t *frame)
{
    const struct values_turns *t = r->turns;
    unsigned n = 0;
    for (size_t i = 0; i < t->frame_count && n < 2; i++)
        if ((!n || t->frames[i] != *frame) && may_wait(r, at, t->frames[i])) {
            *frame = t->frames[i];
            n++;
        }
    return n;
}

static void go_on(struct values *r, struct values_turn *end, struct values_turn *begin)
{
    const uint32_t pairs[][2] = {{begin->frame, end->frame},   {begin->sp, end->sp},
                                 {begin->basic, end->basic},   {begin->context, end->context},
                                 {begin->status, end->status}, {begin->lr, end->lr}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs - (end->written ? 2 : 0); i++)
        rules_equal(&r->rules, pairs[i][0], pairs[i][1], end->when, VALUES_EXCEPTION);
    for (unsigned i = 0; i < TURN_KEPT; i++)
        rules_equal(&r->rules, begin->kept[i], end->kept[i], end->when, VALUES_EXCEPTION);
    begin->found = true;
}

static void wait_at(struct values *r, const struct values_turn *end, uint32_t frame)
{
    uint32_t sp, status = ram_word(r, frame + STACKED_XPSR);
    const uint32_t words[][2] = {
        {end->frame, frame}, {end->status, status}, {end->lr, ram_word(r, frame + STACKED_LR)}};
    for (size_t i = 0; i < (end->written ? 1 : sizeof words / sizeof *words); i++)
        rules_learn_at(&r->rules, words[i][0], words[i][1], VALUES_EXCEPTION, end->when);
    if (end->written && stack_above(r, end, frame, status, &sp))
        rules_learn_at(&r->rules, end->sp, sp, VALUES_EXCEPTION, end->when);
}

/*
 * The handler has stored the other registers of the task that waits below its frame, on the process
 * stack. What is on the handler's own it has only left there.
 */
static bool learn_kept(struct values *r, size_t at)
{
    const struct values_memory_state *m = &r->memory;
    const struct values_turn *end = &r->turns->at[at];
    const struct values_value *context = &r->rules.values[end->context];
    if (!context->how || !(context->number & RETURN_PROCESS))
        return false;
    uint32_t frame = r->rules.values[end->frame].number;
    uint32_t until = at + 1 < r->turns->count ? end[1].when : UINT32_MAX;
    size_t news = r->rules.news, i = access_from(m, end->when);
    for (; i < m->access_count && m->accesses[i].when <= until; i++) {
        const struct values_access *a = &m->accesses[i];
        uint32_t address = r->rules.values[a->base].number + a->offset;
        bool below = rules_known(&r->rules, a->base) && frame - address <= SAVED_BELOW;
        for (unsigned k = 0;
             below && a->kind == ACCESS_STORE && !a->stack && !a->cond && k < TURN_KEPT; k++)
            if (a->data == end->kept[k])
                rules_learn_at(&r->rules, a->data, ram_word(r, address), VALUES_EXCEPTION, a->step);
    }
    return r->rules.news != news;
}

/* The only place where it may go on, or wait. */
static bool match(struct values *r, size_t at)
{
    struct values_turns *t = r->turns;
    struct values_turn *end = &t->at[at], *begin = NULL;
    uint32_t frame = 0;
    unsigned n = 0;
    for (size_t i = at + 1; i < t->count && n < 2; i++)
        if (may_go_on(r, end, &t->at[i])) {
            begin = &t->at[i];
            n++;
        }
    n += n < 2 ? waiting(r, at, &frame) : 0;
    if (n > 1 && !end->marked) {
        find_marks(r, end);
        return match(r, at);
    }
    bool told =
        begin && rules_known(&r->rules, end->context) && rules_known(&r->rules, begin->context);
    if (n != 1 || (begin && end->written && !told))
        return false;
    if (begin && rules_known(&r->rules, begin->frame))
        frame = r->rules.values[begin->frame].number;
    if (may_be_moved(r, end, frame))
        return false;
    if (begin)
        go_on(r, end, begin);
    else
        wait_at(r, end, frame);
    end->waits = !begin;
    end->found = true;
    return true;
}

/* Everything in RAM that looks as a frame of code outside of handlers does; true: done. */
static bool look_at_ram(struct values *r, size_t *budget)
{
    struct values_turns *t = r->turns;
    for (; t->ram < r->ram_count; t->ram++, t->word = 0) {
        const struct values_ram *ram = &r->ram[t->ram];
        for (; t->word < ram->size / 4; t->word++) {
            uint32_t address = ram->address + 4 * (uint32_t)t->word, status = 0, pc = 0;
            if (!*budget)
                return false;
            spend_units(budget, WORD_UNITS);
            bool known = r->read(r->context, address, &status) == VALUES_MEMORY_RAM;
            t->ram_known &= known; /* what is missing may be asked for now */
            if (!known || !(status & XPSR_T) || status & XPSR_NUMBER || 4 * t->word < STACKED_XPSR)
                continue;
            pc = ram_word(r, address - 4);
            if (!(pc & 1) && values_room(r, (void **)&t->frames, &t->frame_max, t->frame_count,
                                         sizeof *t->frames))
                t->frames[t->frame_count++] = address - STACKED_XPSR;
        }
    }
    return true;
}

static void match_turn(struct values *r, size_t at)
{
    struct values_turns *t = r->turns;
    const struct values_turn *end = &t->at[at];
    bool over = end->whole || at + 1 == t->count; /* or its handler runs still */
    if (!end->begins && over && !end->found)
        t->any |= match(r, at);
    else if (end->waits)
        t->any |= learn_kept(r, at);
}

bool turns_match(struct values *r, size_t *at, size_t *budget)
{
    struct values_turns *t = r->turns;
    size_t last = t->count > TURNS_MOST ? t->count - TURNS_MOST : 0;
    size_t count = t->count - (t->first > last ? t->first : last);
    t->any = *at && t->any;
    if (!t->ram && !t->word)
        t->ram_known = true;
    if (!look_at_ram(r, budget))
        return false;
    for (; *at < count && *budget && t->ram_known; ++*at) {
        match_turn(r, t->count - 1 - *at);
        spend_units(budget, TURN_UNITS + *at);
    }
    return *at == count || !t->ram_known;
}

void turns_free(struct values_turns *t)
{
    if (!t)
        return;
    free(t->at);
    free(t->frames);
    free(t);
}
