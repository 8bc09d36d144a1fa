/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_accesses.h"
#include "decoder/base/array.h"
#include "decoder/base/bytes.h"
#include "decoder/base/search.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW      32768u   /* instructions that are looked at in one window, */
#define OVERLAP     8192u    /* and those beyond them, for what is known at its end */
#define CHAIN_MOST  1000000u /* as far from the halt a window is still reached from there */
#define WORDS_START 256u
#define FORESEEN    8192u /* instructions of which it is worked out at once what they accessed */
#define CONTENTS    32u   /* watchpoints whose contents are compared, */
#define CONTENT     64u   /* bytes of one */

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

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Windows. */

void reverse_accesses_forget(struct reverse_accesses *a)
{
    reverse_work_end(&a->work);
    reverse_known_release(&a->now);
    forget_words(&a->words[0]);
    forget_words(&a->words[1]);
    free(a->foresight.at);
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

static int reach_window(struct reverse_accesses *a, struct reverse *p,
                        const struct reverse_machine *m, uint32_t infer, uint64_t position,
                        bool back, size_t budget)
{
    bool done = false;
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

/* What is known forwards. */

struct content {
    bool known;
    uint8_t bytes[CONTENT];
};

struct foreseer {
    struct reverse_accesses *a;
    const struct reverse_scan *s;
    bool failed; /* no memory */
    struct content before[CONTENTS], now[CONTENTS];
};

static bool wants(const struct target_breakpoint *w, bool load, bool store)
{
    return w->type == TARGET_WATCHPOINT_ACCESS ||
           (w->type == TARGET_WATCHPOINT_WRITE ? store : load);
}

static void read_content(struct foreseer *o, size_t watch)
{
    const struct target_breakpoint *w = &o->s->watches[watch];
    struct reverse_forward *f = o->a->forward;
    struct content *c = &o->now[watch];
    c->known = w->kind <= sizeof c->bytes;
    for (uint32_t i = 0; i < w->kind && c->known; i++)
        c->known = reverse_forward_memory(f, f->view.position, w->address + i, &c->bytes[i], 1);
}

/* Of the instruction at work; it may have been begun. */
static struct reverse_foreseen *entry_of(struct foreseer *o, size_t watch)
{
    struct reverse_foresight *t = &o->a->foresight;
    uint64_t position = o->a->forward->view.insn;
    for (size_t i = t->count; i-- > 0 && t->at[i].position == position;)
        if (t->at[i].watch == watch)
            return &t->at[i];
    if (!array_room(&t->at, t->count, &t->max, sizeof *t->at))
        return NULL;
    t->at[t->count] = (struct reverse_foreseen){.position = position, .watch = watch};
    o->before[watch] = o->now[watch];
    return &t->at[t->count++];
}

static void read_value(const struct foreseer *o, struct values_touch *t)
{
    struct reverse_forward *f = o->a->forward;
    uint8_t b[8];
    t->value_known = t->store && t->size <= sizeof b &&
                     reverse_forward_memory(f, f->view.position, t->address, b, t->size);
    t->value = t->value_known ? bytes_number(b, t->size, f->core.big_endian) : 0;
}

/* An access that may be to `watch`. */
static void foresee_access(struct foreseer *o, size_t watch, const struct execute_access *x)
{
    struct reverse_foreseen *e = entry_of(o, watch);
    if (!e) {
        o->failed = true;
        return;
    }
    if (!x->perhaps && !e->sure) {
        e->sure = true;
        e->touch = (struct values_touch){.address = x->from,
                                         .size = (uint8_t)(x->to - x->from),
                                         .known = true,
                                         .load = x->load,
                                         .store = x->store};
        read_value(o, &e->touch);
    }
    if (!o->s->changes || o->s->watches[watch].type != TARGET_WATCHPOINT_WRITE)
        return;
    read_content(o, watch);
    bool known = o->before[watch].known && o->now[watch].known;
    e->same =
        known && !memcmp(o->before[watch].bytes, o->now[watch].bytes, o->s->watches[watch].kind);
    e->differs = known && !e->same;
}

/* Of struct execute. */
static void note_access(void *ctx, const struct execute_access *x)
{
    struct foreseer *o = ctx;
    for (size_t i = 0; i < o->s->count; i++) {
        const struct target_breakpoint *w = &o->s->watches[i];
        if (x->from < w->address + w->kind && w->address < x->to && wants(w, x->load, x->store))
            foresee_access(o, i, x);
    }
}

static bool foresees(const struct reverse_foresight *t, const struct reverse_scan *s,
                     uint64_t position)
{
    return t->of == s && position >= t->from && position < t->to;
}

/* The instructions around `position` that the scan goes over, where they have been executed. */
static void foresee(struct reverse_accesses *a, struct reverse *p, const struct reverse_scan *s,
                    uint64_t position)
{
    struct reverse_foresight *t = &a->foresight;
    struct foreseer o = {.a = a, .s = s};
    uint64_t from = position - position % FORESEEN;
    t->of = s;
    t->count = 0;
    t->from = most_of(from, s->back ? s->bound : s->next);
    t->to = least_of(from + FORESEEN, s->back ? s->next : s->bound);
    t->told = reverse_forward_span(a->forward, p, position, &t->from, &t->to);
    for (size_t i = 0; t->told && s->changes && i < s->count && i < CONTENTS; i++)
        read_content(&o, i);
    t->told = t->told && reverse_forward_run(a->forward, p, t->to, note_access, &o) && !o.failed;
}

/* Goes over instructions that have not written what the scan looks for: those, and the rest. */
static void pass_over(struct reverse_accesses *a, struct reverse *p, struct reverse_scan *s,
                      uint64_t position)
{
    uint64_t from = s->back ? s->bound : s->next, to = s->back ? s->next : s->bound;
    bool kept = !s->at_hand;
    for (size_t i = 0; i < s->count && kept; i++)
        kept = s->watches[i].type == TARGET_WATCHPOINT_WRITE &&
               reverse_forward_kept(a->forward, p, position, s->watches[i].address,
                                    s->watches[i].kind, &from, &to);
    if (kept)
        s->next = s->back ? from : to;
}

/*
 * What is known forwards of the next instruction. BT_OK, or TARGET_PENDING: that is worked out, or
 * the scan has gone over some. If more cannot be had it goes on without.
 */
static int reach_foresight(struct reverse_accesses *a, struct reverse *p, struct reverse_scan *s,
                           uint64_t position)
{
    struct reverse_foresight *t = &a->foresight;
    uint64_t next = s->next;
    if (!foresees(t, s, position)) {
        t->waits =
            !s->at_hand && reverse_forward_waits(a->forward, position) &&
            reverse_forward_work(a->forward, p, position, REVERSE_FORWARD_SLICE) == TARGET_PENDING;
        if (!t->waits)
            pass_over(a, p, s, position);
        if (!t->waits && s->next == next)
            foresee(a, p, s, position);
        return TARGET_PENDING;
    }
    if (!t->told || t->count)
        return BT_OK;
    s->next = s->back ? t->from : t->to;
    return TARGET_PENDING;
}

/* A64: no access is known backwards. */
static void take_blind(struct reverse_known *k, uint64_t position)
{
    k->wanted = position - position % WINDOW;
    k->to = k->wanted + WINDOW;
}

int reverse_accesses_reach(struct reverse_accesses *a, struct reverse *p,
                           const struct reverse_machine *m, uint32_t infer, struct reverse_scan *s,
                           size_t budget)
{
    uint64_t position = s->back ? s->next - 1 : s->next;
    a->forward = m->forward;
    if (a->forward && !a->work.active && reach_foresight(a, p, s, position) == TARGET_PENDING)
        return TARGET_PENDING;
    if (reverse_machine_is_a64(m))
        take_blind(&a->now, position);
    else if (a->work.active || !holds(a, position))
        return reach_window(a, p, m, infer, position, s->back, budget);
    return BT_OK;
}

/* Scanning. */

static bool overlaps(const struct target_breakpoint *w, const struct values_touch *t)
{
    return t->address < w->address + w->kind && w->address < t->address + t->size;
}

static const struct reverse_foreseen *find_foreseen(const struct reverse_foresight *t,
                                                    uint64_t position, size_t watch)
{
    size_t low;
    SEARCH_FIRST(low, t->count, t->at[low].position < position);
    for (; low < t->count && t->at[low].position == position; low++)
        if (t->at[low].watch == watch)
            return &t->at[low];
    return NULL;
}

/* To one that is watched for, what may be an access to it: `t` is not known to be another one. */
static bool offer_to(const struct reverse_accesses *a, const struct reverse_scan *s, size_t watch,
                     uint64_t position, const struct values_touch *t, reverse_take_fn *take,
                     void *context)
{
    const struct target_breakpoint *w = &s->watches[watch];
    bool known = t && t->known, certain = known && !t->perhaps && !t->inferred;
    const struct reverse_foreseen *e = NULL;
    if (a->forward && a->foresight.told) {
        e = find_foreseen(&a->foresight, position, watch);
        if (e ? e->same : !certain)
            return false;
    }
    if (e && e->sure && !certain)
        t = &e->touch;
    const struct values_touch changed = {
        .address = w->address, .size = (uint8_t)w->kind, .known = true, .store = true};
    if (e && e->differs && !(t && t->known && !t->perhaps))
        t = &changed;
    return take(context, position, t, t && t->known ? w : NULL);
}

/* `t` NULL: whatever the instruction did. True: it was taken, and that ends the scan. */
static bool offer(const struct reverse_accesses *a, struct reverse_scan *s, uint64_t position,
                  const struct values_touch *t, reverse_take_fn *take, void *context)
{
    s->next = s->back ? position : position + 1;
    for (size_t i = 0; i < s->count; i++)
        if ((!t || (wants(&s->watches[i], t->load, t->store) &&
                    (!t->known || overlaps(&s->watches[i], t)))) &&
            offer_to(a, s, i, position, t, take, context))
            return true;
    return false;
}

/* Instructions [low, high) of the scan, of which nothing is known backwards. */
static bool scan_blind(const struct reverse_accesses *a, struct reverse_scan *s, uint64_t low,
                       uint64_t high, reverse_take_fn *take, void *context)
{
    for (uint64_t i = 0; i < high - low; i++)
        if (offer(a, s, s->back ? high - 1 - i : low + i, NULL, take, context))
            return true;
    return false;
}

static bool scan_known(const struct reverse_accesses *a, struct reverse_scan *s, uint64_t low,
                       uint64_t high, reverse_take_fn *take, void *context)
{
    size_t count = values_touches(a->now.values);
    for (size_t i = 0; i < count; i++) {
        struct values_touch t;
        bool made = values_touch(a->now.values, s->back ? count - 1 - i : i, &t);
        uint64_t position = a->now.from + t.step;
        if (s->back ? position < low : position >= high)
            break;
        if (made && position >= low && position < high && offer(a, s, position, &t, take, context))
            return true;
    }
    s->next = s->back ? low : high;
    return false;
}

bool reverse_accesses_scan(const struct reverse_accesses *a, struct reverse_scan *s,
                           reverse_take_fn *take, void *context)
{
    uint64_t low = most_of(s->back ? s->bound : s->next, a->now.wanted);
    uint64_t high = least_of(s->back ? s->next : s->bound, a->now.to);
    if (a->forward) {
        low = most_of(low, a->foresight.from);
        high = least_of(high, a->foresight.to);
    }
    uint64_t from = is_sound(&a->now) ? a->now.from : a->now.to; /* where something is known */
    uint64_t middle = least_of(most_of(from, low), high);
    if (s->back)
        return (middle < high && scan_known(a, s, middle, high, take, context)) ||
               scan_blind(a, s, low, middle, take, context);
    return scan_blind(a, s, low, middle, take, context) ||
           (middle < high && scan_known(a, s, middle, high, take, context));
}

bool reverse_accesses_word(const struct reverse_accesses *a, uint64_t position, uint32_t address,
                           struct values_answer *answer)
{
    *answer = (struct values_answer){.step = UINT32_MAX};
    return is_sound(&a->now) && reverse_known_holds(&a->now, position) &&
           values_word(a->now.values, (size_t)(position - a->now.from), address, answer);
}
