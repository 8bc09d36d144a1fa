/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_accesses.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW      32768u   /* instructions that are looked at in one window, */
#define OVERLAP     8192u    /* and those beyond them, for what is known at its end */
#define CHAIN_MOST  1000000u /* as far from the halt a window is still reached from there */
#define WORDS_START 256u

/* Words where a window ends. */

struct reverse_word {
    uint32_t address, value;
    uint8_t kind; /* enum values_memory */
    bool used;
};

static struct reverse_word *word_slot(const struct reverse_words *w, uint32_t address)
{
    size_t at = (address >> 2) * 2654435761u & (w->max - 1);
    while (w->at[at].used && w->at[at].address != address)
        at = (at + 1) & (w->max - 1);
    return &w->at[at];
}

/* Without memory the word is looked up again each time. */
static void put_word(struct reverse_words *w, uint32_t address, enum values_memory kind,
                     uint32_t value)
{
    if (2 * w->count >= w->max) {
        struct reverse_words grown = *w;
        grown.max = w->max ? 2 * w->max : WORDS_START;
        grown.at = calloc(grown.max, sizeof *grown.at);
        if (!grown.at)
            return;
        for (size_t i = 0; i < w->max; i++)
            if (w->at[i].used)
                *word_slot(&grown, w->at[i].address) = w->at[i];
        free(w->at);
        *w = grown;
    }
    struct reverse_word *slot = word_slot(w, address);
    w->count += !slot->used;
    *slot = (struct reverse_word){address, value, (uint8_t)kind, true};
}

/* RAM holds what the window behind knows of it, and at the halt what it holds now. */
static enum values_memory read_later(const struct reverse_words *w, uint32_t address,
                                     uint32_t *value)
{
    const struct reverse_machine *m = w->halted;
    struct values_answer answer;
    enum values_memory kind = m->read ? m->read(m->context, address, value) : VALUES_MEMORY_OTHER;
    if (w->present || (kind != VALUES_MEMORY_RAM && kind != VALUES_MEMORY_UNREAD))
        return kind;
    if (!w->later || !values_word(w->later, w->later_at, address, &answer))
        return VALUES_MEMORY_UNREAD;
    *value = answer.value;
    return VALUES_MEMORY_RAM;
}

/* A values_read_fn. */
static enum values_memory read_word(void *context, uint32_t address, uint32_t *value)
{
    struct reverse_words *w = context;
    const struct reverse_word *slot = w->max ? word_slot(w, address) : NULL;
    if (slot && slot->used) {
        *value = slot->value;
        return (enum values_memory)slot->kind;
    }
    uint32_t word = 0;
    enum values_memory kind = read_later(w, address, &word);
    put_word(w, address, kind, word);
    *value = word;
    return kind;
}

static void forget_words(struct reverse_words *w)
{
    free(w->at);
    *w = (struct reverse_words){.at = NULL};
}

/* What was known behind goes on to be, beyond the words that the window itself touches. */
static void carry_words(struct reverse_words *to, const struct reverse_words *from)
{
    uint32_t value;
    for (size_t i = 0; i < from->max; i++)
        if (from->at[i].used)
            read_word(to, from->at[i].address, &value);
}

/* Windows. */

void reverse_accesses_forget(struct reverse_accesses *a)
{
    reverse_work_end(&a->work);
    reverse_known_release(&a->now);
    forget_words(&a->words[0]);
    forget_words(&a->words[1]);
    memset(a, 0, sizeof *a);
}

static bool is_sound(const struct reverse_known *k)
{
    return k->built && k->values && !k->conflict;
}

/* Registers where the new window ends, from the one behind it. */
static void take_registers(struct reverse_accesses *a, uint64_t to)
{
    a->ends.known = 0;
    a->machine.ends = &a->ends;
    for (unsigned reg = 0; reg < VALUES_REGS; reg++) {
        struct values_answer answer;
        if (!values_register(a->now.values, (size_t)(to - a->now.from), reg, &answer))
            continue;
        a->ends.value[reg] = answer.value;
        a->ends.known |= 1u << reg;
    }
}

static int begin_window_to(struct reverse_accesses *a, struct reverse *p,
                           const struct reverse_machine *m, uint32_t infer, uint64_t from,
                           uint64_t to, bool chain)
{
    struct reverse_words *w = &a->words[!a->turn];
    forget_words(w);
    w->halted = m;
    w->present = to == p->end;
    a->machine = *m;
    a->machine.read = read_word;
    a->machine.context = w;
    a->chained = w->present || chain;
    if (chain) {
        w->later = a->now.values;
        w->later_at = (size_t)(to - a->now.from);
        take_registers(a, to);
        carry_words(w, &a->words[a->turn]);
    }
    return reverse_work_begin(&a->work, p, &a->machine, from, to, infer);
}

static uint64_t minus(uint64_t a, uint64_t b, uint64_t least)
{
    return a > least + b ? a - b : least;
}

static uint64_t plus(uint64_t a, uint64_t b, uint64_t most)
{
    return most - a > b ? a + b : most;
}

/* The window that is to be worked out next on the way to the one that holds the position. */
static int begin_next(struct reverse_accesses *a, struct reverse *p,
                      const struct reverse_machine *m, uint32_t infer, uint64_t position, bool back)
{
    bool sound = is_sound(&a->now) && a->chained && !a->broken;
    uint64_t to = a->now.from;
    if (sound && position < to && to - position <= CHAIN_MOST) { /* on from the one at hand */
        to = plus(to, OVERLAP, a->now.to);
        return begin_window_to(a, p, m, infer, minus(to, WINDOW + OVERLAP, p->first), to, true);
    }
    if (!a->broken && p->end - position <= CHAIN_MOST) /* from the halt */
        return begin_window_to(a, p, m, infer, minus(p->end, WINDOW, p->first), p->end, false);
    if (back)
        return begin_window_to(a, p, m, infer, minus(position, WINDOW, p->first),
                               plus(position + 1, OVERLAP, p->end), false);
    return begin_window_to(a, p, m, infer, minus(position, OVERLAP, p->first),
                           plus(position, WINDOW, p->end), false);
}

static bool holds(const struct reverse_accesses *a, uint64_t position)
{
    return a->now.built && position >= a->now.wanted && position < a->now.to;
}

static void take_window(struct reverse_accesses *a)
{
    struct reverse_words *w = &a->words[!a->turn];
    reverse_work_take(&a->work, &a->now);
    forget_words(&a->words[a->turn]);
    a->turn = !a->turn;
    w->later = NULL;
    a->fresh = a->now.halted;
}

int reverse_accesses_reach(struct reverse_accesses *a, struct reverse *p,
                           const struct reverse_machine *m, uint32_t infer, uint64_t position,
                           bool back, size_t budget)
{
    bool done = false;
    if (!a->work.active && holds(a, position))
        return BT_OK;
    int error = a->work.active ? reverse_work_go_on(&a->work, budget, &done)
                               : begin_next(a, p, m, infer, position, back);
    if (error) {
        reverse_accesses_forget(a);
        return error;
    }
    if (!done)
        return TARGET_PENDING;
    take_window(a);
    if (a->now.conflict && !a->broken) { /* once more, by itself */
        a->broken = true;
        reverse_known_release(&a->now);
    }
    return TARGET_PENDING;
}

/* Scanning. */

static bool wants(const struct target_breakpoint *w, const struct values_touch *t)
{
    return w->type == TARGET_WATCHPOINT_ACCESS ||
           (w->type == TARGET_WATCHPOINT_WRITE ? t->store : t->load);
}

static bool overlaps(const struct target_breakpoint *w, const struct values_touch *t)
{
    return t->address < w->address + w->kind && w->address < (uint64_t)t->address + t->size;
}

/* True: it was taken, and that ends the scan. */
static bool offer(const struct reverse_scan *s, uint64_t position, const struct values_touch *t,
                  reverse_take_fn *take, void *context)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct target_breakpoint *w = &s->watches[i];
        if (!wants(w, t) || (t->known && !overlaps(w, t)))
            continue;
        if (take(context, position, t, t->known ? w : NULL))
            return true;
        if (!t->known)
            return false;
    }
    return false;
}

/*
 * Access number `i` of the window at hand: the one place where it is said which address an
 * instruction touched. Who knows more of an address than the window does says it here.
 */
static bool access_at(const struct reverse_accesses *a, size_t i, struct values_touch *t,
                      uint64_t *position)
{
    bool made = values_touch(a->now.values, i, t);
    *position = a->now.from + t->step;
    return made;
}

/* Instructions [low, high) of the scan, of which nothing is known. */
static bool scan_blind(struct reverse_scan *s, uint64_t low, uint64_t high, reverse_take_fn *take,
                       void *context)
{
    for (uint64_t i = 0; i < high - low; i++) {
        uint64_t position = s->back ? high - 1 - i : low + i;
        s->next = s->back ? position : position + 1;
        if (take(context, position, NULL, NULL))
            return true;
    }
    return false;
}

static bool scan_known(const struct reverse_accesses *a, struct reverse_scan *s, uint64_t low,
                       uint64_t high, reverse_take_fn *take, void *context)
{
    size_t count = values_touches(a->now.values);
    for (size_t i = 0; i < count; i++) {
        struct values_touch t;
        uint64_t position;
        bool made = access_at(a, s->back ? count - 1 - i : i, &t, &position);
        if (s->back ? position < low : position >= high)
            break;
        if (!made || position < low || position >= high || !offer(s, position, &t, take, context))
            continue;
        s->next = s->back ? position : position + 1;
        return true;
    }
    s->next = s->back ? low : high;
    return false;
}

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool reverse_accesses_scan(const struct reverse_accesses *a, struct reverse_scan *s,
                           reverse_take_fn *take, void *context)
{
    uint64_t low = most_of(s->back ? s->bound : s->next, a->now.wanted);
    uint64_t high = least_of(s->back ? s->next : s->bound, a->now.to);
    uint64_t from = is_sound(&a->now) ? a->now.from : a->now.to; /* where something is known */
    uint64_t middle = least_of(most_of(from, low), high);
    if (s->back)
        return (middle < high && scan_known(a, s, middle, high, take, context)) ||
               scan_blind(s, low, middle, take, context);
    return scan_blind(s, low, middle, take, context) ||
           (middle < high && scan_known(a, s, middle, high, take, context));
}

bool reverse_accesses_word(const struct reverse_accesses *a, uint64_t position, uint32_t address,
                           struct values_answer *answer)
{
    *answer = (struct values_answer){.step = UINT32_MAX};
    return is_sound(&a->now) && reverse_known_holds(&a->now, position) &&
           values_word(a->now.values, (size_t)(position - a->now.from), address, answer);
}
