/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BUDGET 30000u /* units of values_work() of a slice: some milliseconds */
#define LOOKS  32u    /* of a slice, each of which may go over all behind a checkpoint */

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
    g->foresight.from = g->foresight.to = 0;
    g->foresight.waits = false;
    g->foresight.at_hand = g->scan.back ? from - to == 1 : to - from == 1; /* a step */
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

static struct reverse_seen *seen_of(struct reverse_watching *g, const struct target_breakpoint *w)
{
    for (size_t i = 0; i < g->seen_count; i++)
        if (target_same_breakpoint(&g->seen[i].w, w))
            return &g->seen[i];
    return NULL;
}

static void add_sight(struct reverse_seen *seen, const struct reverse_content *now)
{
    for (unsigned i = 0; i < seen->count; i++)
        if (seen->last[i].sight == now->sight &&
            (now->sight != REVERSE_SIGHT_BYTES || is_equal(&seen->last[i], now, seen->w.kind)))
            return;
    if (seen->count < REVERSE_SIGHTS)
        seen->last[seen->count++] = *now;
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

/* Of an instruction: what it did to what is watched for writes. */
enum {
    DID_ANYTHING,
    DID_NOTHING,
    DID_WAITS,  /* it is not known yet */
    DID_CHANGE, /* the first one, and so on */
};

static void read_watched(const struct reverse_watching *g, uint64_t position,
                         struct reverse_content *c)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->watches[i].type == TARGET_WATCHPOINT_WRITE)
            c[i].sight = g->watches[i].kind <= sizeof c->bytes
                             ? look_forward(g, &g->watches[i], position, c[i].bytes)
                             : REVERSE_SIGHT_OTHER;
}

static uint8_t what_changed(const struct reverse_watching *g, const struct reverse_content *before,
                            const struct reverse_content *now)
{
    uint8_t did = DID_NOTHING;
    for (size_t i = 0; i < g->count; i++) {
        if (g->watches[i].type != TARGET_WATCHPOINT_WRITE ||
            is_equal(&before[i], &now[i], g->watches[i].kind))
            continue;
        if (before[i].sight == REVERSE_SIGHT_BYTES && now[i].sight == REVERSE_SIGHT_BYTES)
            return (uint8_t)(DID_CHANGE + i);
        did = DID_ANYTHING;
    }
    return did;
}

/* The instructions around `position` that the motion goes over. */
static void foresee(struct reverse_watching *g, uint64_t position)
{
    const struct reverse_scan *s = &g->scan;
    struct reverse_foresight *o = &g->foresight;
    struct reverse_content content[2][REVERSE_WATCHES_MAX];
    uint64_t first = s->back ? s->bound : g->from, end = s->back ? g->from : s->bound;
    uint64_t from = position - position % REVERSE_FORESEEN, to = from + REVERSE_FORESEEN;
    o->from = o->to = from > first ? from : first;
    to = to < end ? to : end;
    read_watched(g, o->from, content[o->from & 1]);
    for (; o->to < to; o->to++) {
        uint64_t at = o->to;
        if (!o->at_hand && reverse_forward_waits(g->machine->forward, at))
            break;
        read_watched(g, at + 1, content[(at + 1) & 1]);
        o->did[at % REVERSE_FORESEEN] = what_changed(g, content[at & 1], content[(at + 1) & 1]);
    }
    o->waits = o->to <= position;
}

static unsigned foreseen(struct reverse_watching *g, uint64_t position)
{
    struct reverse_foresight *o = &g->foresight;
    if (!g->machine->forward)
        return DID_ANYTHING;
    if (position < o->from || position >= o->to)
        foresee(g, position);
    return o->waits ? DID_WAITS : o->did[position % REVERSE_FORESEEN];
}

/* An access whose address is not known may be a read that is watched for. */
static bool may_be_read(const struct reverse_watching *g, const struct values_touch *t)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->watches[i].type == TARGET_WATCHPOINT_ACCESS ||
            (g->watches[i].type == TARGET_WATCHPOINT_READ && (!t || t->load)))
            return true;
    return false;
}

static bool be_hit(struct reverse_watching *g, uint64_t position, const struct target_breakpoint *w,
                   struct values_touch touch)
{
    g->hit = position;
    g->by = w;
    g->touch = touch;
    return true;
}

/* A reverse_take_fn. A write that changes nothing is none for GDB. What does not follow backwards
 * may be known forwards. */
static bool take_hit(void *context, uint64_t position, const struct values_touch *t,
                     const struct target_breakpoint *w)
{
    struct reverse_watching *g = context;
    struct reverse_content before, after;
    bool write = w && w->type == TARGET_WATCHPOINT_WRITE, sure = w && !write && !t->perhaps;
    if (g->told && position == g->told_insn)
        return false;
    if (write) {
        look_at_bytes(g, w, position, &before);
        look_at_bytes(g, w, position + 1, &after);
        if (is_equal(&before, &after, w->kind))
            return false;
        sure = before.sight == REVERSE_SIGHT_BYTES && after.sight == REVERSE_SIGHT_BYTES;
    }
    unsigned did = sure || (w && !write) ? DID_ANYTHING : foreseen(g, position);
    if (did == DID_ANYTHING && write && !sure && g->machine->forward &&
        g->foresight.looks++ < LOOKS) {
        look(g, w, position, &before);
        look(g, w, position + 1, &after);
        if (is_equal(&before, &after, w->kind))
            return false;
        sure = before.sight == REVERSE_SIGHT_BYTES && after.sight == REVERSE_SIGHT_BYTES;
    }
    g->foresight.again = did == DID_WAITS || g->foresight.looks > LOOKS;
    if (g->foresight.again)
        return true;
    if (did >= DID_CHANGE) {
        w = &g->watches[did - DID_CHANGE];
        return be_hit(g, position, w, (struct values_touch){.address = (uint32_t)w->address});
    }
    if (did == DID_NOTHING && (w || !may_be_read(g, t)))
        return false;
    if (sure || (w && !t->perhaps))
        return be_hit(g, position, w, *t);
    reverse_possible_add(&g->possible, position);
    return false;
}

/* What is known forwards is worked out; false: that goes on. If more cannot be had the rest goes
 * without. */
static bool foresight_ready(struct reverse_watching *g)
{
    struct reverse_foresight *o = &g->foresight;
    struct reverse_forward *f = g->machine->forward;
    if (!o->waits)
        return true;
    int error = reverse_forward_work(f, g->reverse, o->to, REVERSE_FORWARD_SLICE);
    if (error == TARGET_PENDING)
        return false;
    o->waits = false;
    o->at_hand = reverse_forward_waits(f, o->to);
    o->from = o->to = 0; /* what it rests on may be known better */
    return true;
}

/* A64: no access is known by its address, but what each instruction has changed is. */
static void take_blind(struct reverse_known *k, uint64_t position)
{
    k->wanted = position - position % REVERSE_FORESEEN;
    k->to = k->wanted + REVERSE_FORESEEN;
}

int reverse_watch_some(struct reverse_watching *g, struct reverse *p,
                       const struct reverse_values *v, const struct reverse_machine *m,
                       uint32_t infer)
{
    struct reverse_scan *s = &g->scan;
    if (s->next == s->bound)
        return REVERSE_WATCH_NONE;
    uint64_t position = s->back ? s->next - 1 : s->next;
    g->reverse = p;
    g->values = v;
    g->machine = m;
    g->foresight.looks = 0;
    if (!foresight_ready(g))
        return TARGET_PENDING;
    int error = BT_OK;
    if (reverse_machine_is_a64(m))
        take_blind(&g->accesses.now, position);
    else
        error = reverse_accesses_reach(&g->accesses, p, m, infer, position, s->back, BUDGET);
    if (error)
        return error;
    if (!g->noted)
        note_start(g);
    if (reverse_accesses_scan(&g->accesses, s, take_hit, g)) {
        if (!g->foresight.again)
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

/* GDB compares what it sees behind its step with what it has seen last. */
static bool shows_change(struct reverse_watching *g, const struct reverse_content *now)
{
    const struct reverse_seen *seen = seen_of(g, g->by);
    if (seen && seen->count == REVERSE_SIGHTS)
        return false;
    for (unsigned i = 0; seen && i < seen->count; i++)
        if (may_look_equal(now, &seen->last[i], g->by->kind))
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
    bool shows = g->by->type != TARGET_WATCHPOINT_WRITE || shows_change(g, &there);
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
                 "watchpoint at 0x%08" PRIx64 ": instruction %" PRIu64 " writes 0x%08" PRIx64
                 "%s\n",
                 g->by->address, g->hit + 1,
                 reverse_machine_is_a64(g->machine) ? address : g->touch.address,
                 known ? "" : ", what that changed is not known");
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
