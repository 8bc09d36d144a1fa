/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BUDGET 30000u /* units of values_work() of a slice: some milliseconds */
#define LOOKS  16u    /* of a slice, each of which may go over all behind a checkpoint */

static bool is_set(const struct reverse_watching *g, const struct target_breakpoint *w)
{
    for (size_t i = 0; i < g->count; i++)
        if (target_same_breakpoint(&g->watches[i], w))
            return true;
    return false;
}

static void forget_gone(struct reverse_watching *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->seen_count; i++)
        if (is_set(g, &g->seen[i].w))
            g->seen[kept++] = g->seen[i];
    g->seen_count = kept;
}

bool reverse_watch_take(struct reverse_watching *g, uint64_t position,
                        const struct target_breakpoint *set, size_t count)
{
    g->count = 0;
    for (size_t i = 0; i < count && g->count < REVERSE_WATCHES_MAX; i++)
        if (set[i].type > TARGET_BREAKPOINT_HARDWARE)
            g->watches[g->count++] = set[i];
    if (!g->told || g->told_at != position)
        forget_gone(g);
    return g->count > 0;
}

bool reverse_watch_covers(const struct reverse_watching *g, uint64_t address, size_t len)
{
    for (size_t i = 0; i < g->seen_count; i++)
        if (g->seen[i].w.address < address + len &&
            address < g->seen[i].w.address + g->seen[i].w.kind)
            return true;
    return false;
}

void reverse_watch_begin(struct reverse_watching *g, uint64_t from, uint64_t to)
{
    g->scan = (struct reverse_scan){
        .back = to < from, .next = from, .bound = to, .watches = g->watches, .count = g->count};
    g->from = g->shown = from;
    g->noted = false;
    g->rounds = 0;
    g->possible.count = 0;
    g->scan.changes = true;
    g->scan.at_hand = g->scan.back ? from - to == 1 : to - from == 1; /* a step */
    g->accesses.foresight.of = NULL;
    if (g->told && g->told_at != from)
        g->told = false;
}

/* What GDB sees. */

static uint8_t byte_of(const struct reverse_watching *g, uint32_t word, uint64_t address)
{
    unsigned i = address & 3;
    return (uint8_t)(word >> 8 * (g->machine->big_endian ? 3 - i : i));
}

static enum reverse_sight look_forward(const struct reverse_watching *g,
                                       const struct target_breakpoint *w, uint64_t position,
                                       uint8_t *bytes)
{
    struct reverse_forward *f = g->machine->forward;
    bool known = f && reverse_forward_at(f, g->reverse, position);
    for (uint32_t i = 0; i < w->kind && known; i++)
        known = reverse_forward_memory(f, position, w->address + i, bytes + i, 1);
    return known                         ? REVERSE_SIGHT_BYTES
           : position == g->reverse->end ? REVERSE_SIGHT_OTHER
                                         : REVERSE_SIGHT_NONE;
}

/* Backwards. */
static void look_at_bytes(const struct reverse_watching *g, const struct target_breakpoint *w,
                          uint64_t position, struct reverse_content *c)
{
    uint64_t known_word = UINT64_MAX;
    struct values_answer answer;
    c->sight = w->kind <= sizeof c->bytes ? REVERSE_SIGHT_BYTES : REVERSE_SIGHT_OTHER;
    if (reverse_machine_is_a64(g->machine) && c->sight == REVERSE_SIGHT_BYTES) {
        c->sight = look_forward(g, w, position, c->bytes);
        return;
    }
    for (uint32_t i = 0; i < w->kind && c->sight == REVERSE_SIGHT_BYTES; i++) {
        uint64_t at = w->address + i;
        uint32_t word = (uint32_t)at & ~3u;
        bool known = known_word == word ||
                     reverse_accesses_word(&g->accesses, position, word, &answer) ||
                     reverse_values_word(g->values, position, word, &answer);
        if (known) {
            known_word = word;
            c->bytes[i] = byte_of(g, answer.value, at);
        } else {
            bool read = position == g->reverse->end ||
                        !reverse_values_may_be_stale(g->values, g->machine, word);
            c->sight = read ? REVERSE_SIGHT_OTHER : REVERSE_SIGHT_NONE;
        }
    }
}

/* Both ways, as GDB is told of memory. */
static void look(const struct reverse_watching *g, const struct target_breakpoint *w,
                 uint64_t position, struct reverse_content *c)
{
    look_at_bytes(g, w, position, c);
    if (c->sight == REVERSE_SIGHT_NONE)
        c->sight = look_forward(g, w, position, c->bytes);
}

static bool is_equal(const struct reverse_content *a, const struct reverse_content *b, uint32_t n)
{
    return a->sight == REVERSE_SIGHT_BYTES && b->sight == REVERSE_SIGHT_BYTES &&
           memcmp(a->bytes, b->bytes, n) == 0;
}

/* GDB may take them for the same. */
static bool may_look_equal(const struct reverse_content *a, const struct reverse_content *b,
                           uint32_t n)
{
    if (a->sight == REVERSE_SIGHT_NONE || b->sight == REVERSE_SIGHT_NONE)
        return a->sight == b->sight;
    return a->sight == REVERSE_SIGHT_OTHER || b->sight == REVERSE_SIGHT_OTHER || is_equal(a, b, n);
}

static bool must_look_equal(const struct reverse_content *a, const struct reverse_content *b,
                            uint32_t n)
{
    return (a->sight == REVERSE_SIGHT_NONE && b->sight == REVERSE_SIGHT_NONE) || is_equal(a, b, n);
}

static struct reverse_seen *seen_of(struct reverse_watching *g, const struct target_breakpoint *w)
{
    for (size_t i = 0; i < g->seen_count; i++)
        if (target_same_breakpoint(&g->seen[i].w, w))
            return &g->seen[i];
    return NULL;
}

static void add_sight(struct reverse_seen *seen, const struct reverse_content *now)
{
    for (unsigned i = 0; i < seen->count && i < REVERSE_SIGHTS; i++)
        if (seen->last[i].sight == now->sight &&
            (now->sight != REVERSE_SIGHT_BYTES || is_equal(&seen->last[i], now, seen->w.kind)))
            return;
    if (seen->count < REVERSE_SIGHTS)
        seen->last[seen->count] = *now;
    seen->count += seen->count <= REVERSE_SIGHTS;
}

/* Values where the motion begins, as soon as there is a window that may know them. */
static void note_start(struct reverse_watching *g)
{
    for (size_t i = 0; i < g->count; i++) {
        struct reverse_seen *seen = seen_of(g, &g->watches[i]);
        struct reverse_content now;
        if (!seen && g->seen_count < REVERSE_WATCHES_MAX) {
            seen = &g->seen[g->seen_count++];
            seen->w = g->watches[i];
            seen->count = 0;
        }
        look(g, &g->watches[i], g->from, &now);
        if (seen)
            add_sight(seen, &now);
    }
    g->noted = true;
}

/* Hits. */

void reverse_possible_add(struct reverse_possible *b, uint64_t position)
{
    size_t last = b->count < REVERSE_POSSIBLE_MAX ? (size_t)b->count : REVERSE_POSSIBLE_MAX;
    if (last && b->count <= REVERSE_POSSIBLE_MAX && b->at[last - 1] == position)
        return; /* an instruction with several accesses */
    if (b->count < REVERSE_POSSIBLE_MAX)
        b->at[b->count] = position;
    b->count++;
}

/* Of two values one may be known backwards and the other one forwards: they are equal. */
static bool looks_equal(struct reverse_watching *g, const struct target_breakpoint *w,
                        uint64_t position)
{
    struct reverse_content before, after;
    g->looks++;
    look(g, w, position, &before);
    look(g, w, position + 1, &after);
    return is_equal(&before, &after, w->kind);
}

/* A reverse_take_fn. A write that changes nothing is none for GDB. */
static bool take_hit(void *context, uint64_t position, const struct values_touch *t,
                     const struct target_breakpoint *w)
{
    struct reverse_watching *g = context;
    struct reverse_content before, after;
    bool sure = w && !t->perhaps;
    if (g->told && position == g->told_insn)
        return false;
    if (w && w->type == TARGET_WATCHPOINT_WRITE) {
        look_at_bytes(g, w, position, &before);
        look_at_bytes(g, w, position + 1, &after);
        if (is_equal(&before, &after, w->kind))
            return false;
        bool known = before.sight == REVERSE_SIGHT_BYTES && after.sight == REVERSE_SIGHT_BYTES;
        g->again = sure && !known && g->looks == LOOKS;
        if (g->again)
            return true;
        if (sure && !known && looks_equal(g, w, position))
            return false;
        sure |= known;
    }
    if (!sure) {
        reverse_possible_add(&g->possible, position);
        return false;
    }
    g->hit = position;
    g->by = w;
    g->touch = *t;
    return true;
}

int reverse_watch_some(struct reverse_watching *g, struct reverse *p,
                       const struct reverse_values *v, const struct reverse_machine *m,
                       uint32_t infer)
{
    struct reverse_scan *s = &g->scan;
    if (s->next == s->bound)
        return REVERSE_WATCH_NONE;
    g->reverse = p;
    g->values = v;
    g->machine = m;
    g->looks = 0;
    g->again = false;
    int error = reverse_accesses_reach(&g->accesses, p, m, infer, s, BUDGET);
    if (!g->noted && (!error || s->next != g->from))
        note_start(g);
    if (error)
        return error;
    if (reverse_accesses_scan(&g->accesses, s, take_hit, g)) {
        if (!g->again)
            return REVERSE_WATCH_HIT;
        s->next = s->back ? s->next + 1 : s->next - 1; /* that one again */
    }
    return s->next == s->bound ? REVERSE_WATCH_NONE : TARGET_PENDING;
}

/* Stops. */

static enum target_halt_reason reason_of(const struct target_breakpoint *w)
{
    return w->type == TARGET_WATCHPOINT_WRITE  ? TARGET_HALT_WATCH
           : w->type == TARGET_WATCHPOINT_READ ? TARGET_HALT_RWATCH
                                               : TARGET_HALT_AWATCH;
}

static bool is_of_writes(const struct reverse_watching *g, uint64_t address)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->watches[i].type != TARGET_WATCHPOINT_READ &&
            address - g->watches[i].address < g->watches[i].kind)
            return true;
    return false;
}

/*
 * GDB compares what it sees behind its step with what it has seen last: a write is shown if that is
 * another value. A read is taken for a write then, and not shown, where one looks for writes, too.
 */
static bool is_shown(struct reverse_watching *g, uint64_t address,
                     const struct reverse_content *now)
{
    const struct reverse_seen *seen = seen_of(g, g->by);
    bool write = g->by->type == TARGET_WATCHPOINT_WRITE;
    if (!write && (g->by->type == TARGET_WATCHPOINT_ACCESS || !is_of_writes(g, address)))
        return true;
    if (seen && seen->count > REVERSE_SIGHTS)
        return false;
    for (unsigned i = 0; seen && i < seen->count; i++)
        if (write ? may_look_equal(now, &seen->last[i], g->by->kind)
                  : !must_look_equal(now, &seen->last[i], g->by->kind))
            return false;
    return seen;
}

static void note_shown(struct reverse_watching *g, uint64_t address, uint64_t behind)
{
    for (size_t i = 0; i < g->seen_count; i++) {
        struct reverse_seen *seen = &g->seen[i];
        if (address - seen->w.address >= seen->w.kind)
            continue;
        seen->count = 1;
        look(g, &seen->w, behind, &seen->last[0]);
    }
}

bool reverse_watch_stop(struct reverse_watching *g, struct target_stop *stop, uint64_t *position,
                        char *text, size_t size)
{
    uint64_t first = g->scan.back ? g->hit + 1 : g->hit;  /* GDB steps from here */
    uint64_t behind = g->scan.back ? g->hit : g->hit + 1; /* to here */
    uint64_t address = g->by->address > g->touch.address ? g->by->address : g->touch.address;
    struct reverse_content here, there;
    look(g, g->by, first, &here);
    look(g, g->by, behind, &there);
    bool known = here.sight == REVERSE_SIGHT_BYTES && there.sight == REVERSE_SIGHT_BYTES;
    bool write = g->by->type == TARGET_WATCHPOINT_WRITE, shows = is_shown(g, address, &there);
    g->told = shows;
    g->told_insn = g->hit;
    g->told_at = first;
    *position = shows ? first : behind;
    stop->kind = shows ? reason_of(g->by) : TARGET_HALT_TRAP;
    stop->address = address;
    if (shows)
        note_shown(g, address, behind);
    else
        snprintf(text, size,
                 "watchpoint at 0x%08" PRIx64 ": instruction %" PRIu64 " %s 0x%08" PRIx64 "%s\n",
                 g->by->address, g->hit + 1, write ? "writes" : "reads", g->touch.address,
                 known || !write ? "" : ", what that changed is not known");
    return !shows;
}

void reverse_watch_doubt(const struct reverse_watching *g, bool hit, char *text, size_t size)
{
    text[0] = '\0';
    if (!g->possible.count)
        return;
    if (!hit)
        snprintf(text, size,
                 "possibly a watchpoint was hit before: %" PRIu64 " instructions whose addresses "
                 "are not known may have done it ('monitor possible')\n",
                 g->possible.count);
    else
        snprintf(text, size,
                 "possibly not the %s one: %" PRIu64 " instructions between whose addresses are "
                 "not known may have done it, too ('monitor possible')\n",
                 g->scan.back ? "last" : "next", g->possible.count);
}
