/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests calls_piece.c, and calls.c below it: random ways through functions, cut at random places,
 * joined, have the paths of one run, each with its number; BTRACED_SEED repeats a run. */
#include "decoder/calls/calls_piece.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS      400u
#define STEPS     1500u
#define FUNCTIONS 12u
#define SIZE      0x100u /* of a function, in bytes */
#define KNOWN     64u    /* addresses to which something may return */
#define EDGES     (2 * STEPS)
#define BATCH     24u

/* A program that runs: what it tells goes to whole calls, and to a piece of them; in batches to
 * others, and perhaps to the piece. */
struct walk {
    struct calls whole, batched, joined;
    struct calls_cutter *cutter;
    struct counts_edge edges[EDGES]; /* each once */
    unsigned edge_count;
    struct counts_transfer batch[BATCH];
    unsigned batch_count;
    unsigned places;    /* in a function, that branches are at */
    unsigned functions; /* few, and the same ways come again and again */
    bool cuts_batches;
    bool counted; /* cycles are */
    uint64_t seed, random;
    uint64_t pc, number, cycles, from;
    uint64_t returns[KNOWN];
    unsigned known;
    unsigned symbols; /* functions without a name: one of so many; 0: none */
    unsigned cut;     /* a piece ends behind one of so many steps */
    bool m_profile;
    bool tasks; /* they are told: no piece knows them */
    bool odd;   /* what follows a call may be another function */
    int error;
};

static unsigned pick(struct walk *w, unsigned below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->random >> 33) % below;
}

static uint64_t function_of(const struct walk *w, uint64_t pc)
{
    uint64_t function = pc & ~(uint64_t)(SIZE - 1);
    return w->symbols && function / SIZE % w->symbols == 0 ? 0 : function;
}

static uint64_t any_entry(struct walk *w)
{
    return (uint64_t)pick(w, w->functions) * SIZE;
}

/* Inside of a function. Calls return to no multiple of 8, but for one right at a function's end. */
static uint64_t any_place(struct walk *w, uint64_t pc)
{
    return (pc & ~(uint64_t)(SIZE - 1)) + 8 * (1 + pick(w, SIZE / 8 - 1));
}

static uint64_t any_branch(struct walk *w)
{
    return (w->pc & ~(uint64_t)(SIZE - 1)) + 8 * (1 + pick(w, w->places));
}

static const struct counts_edge *walk_edge(struct walk *w, const struct counts_edge *edge)
{
    unsigned i = 0;
    while (i < w->edge_count &&
           (w->edges[i].from != edge->from || w->edges[i].block.first != edge->block.first ||
            w->edges[i].kind != edge->kind || w->edges[i].switches != edge->switches))
        i++;
    if (i == w->edge_count) {
        ck_assert_uint_lt(i, EDGES);
        w->edges[i] = *edge;
        w->edges[i].id = ++w->edge_count;
    }
    return &w->edges[i];
}

static void tell_batch(struct walk *w)
{
    calls_transfers(&w->batched, w->batch, w->batch_count, w->cycles);
    if (w->cuts_batches)
        calls_cutter_transfers(w->cutter, w->batch, w->batch_count, w->cycles);
    w->batch_count = 0;
}

static void tell_transfer(struct walk *w, enum counts_kind kind, uint64_t from, uint64_t to,
                          bool switches)
{
    const struct counts_edge edge = {.from = from,
                                     .block = {.first = to, .info = 1},
                                     .behind = from + 4,
                                     .function = function_of(w, to),
                                     .kind = (uint8_t)kind,
                                     .switches = switches};
    unsigned cycles = w->counted ? pick(w, 3) : 0;
    if (cycles || w->batch_count == BATCH)
        tell_batch(w);
    w->number += 1 + pick(w, 5);
    w->cycles += cycles;
    w->batch[w->batch_count++] = (struct counts_transfer){walk_edge(w, &edge), w->number};
    calls_transfer(&w->whole, &edge, w->number, w->cycles);
    if (!w->cuts_batches)
        calls_cutter_transfer(w->cutter, &edge, w->number, w->cycles);
    w->pc = to;
}

static void tell_event(struct walk *w, struct bt_event *event)
{
    tell_batch(w);
    event->position = w->number + pick(w, 2);
    w->number = event->position;
    calls_event(&w->whole, event, w->cycles);
    calls_event(&w->batched, event, w->cycles);
    calls_cutter_event(w->cutter, event, w->cycles);
}

static uint64_t known_return(struct walk *w)
{
    if (!w->known || pick(w, 9) == 0)
        return any_place(w, any_entry(w)) + 4;
    return w->returns[w->known > 1 && pick(w, 4) == 0 ? pick(w, w->known) : --w->known];
}

static void keep_return(struct walk *w, uint64_t address)
{
    if (w->known == KNOWN)
        memmove(w->returns, w->returns + 1, --w->known * sizeof *w->returns);
    w->returns[w->known++] = address;
}

static void walk_exception(struct walk *w)
{
    struct bt_event event = {.kind = BT_EVENT_EXCEPTION};
    event.u.exception.number = (uint16_t)(1 + pick(w, 4));
    event.u.exception.has_return = pick(w, 4) != 0;
    event.u.exception.return_address = w->pc;
    keep_return(w, w->pc);
    tell_event(w, &event);
    if (pick(w, 9))
        tell_transfer(w, COUNTS_EXCEPTION, COUNTS_FROM_EXCEPTION, any_entry(w), false);
}

static void walk_exception_return(struct walk *w)
{
    struct bt_event event = {.kind = BT_EVENT_EXCEPTION_RET};
    uint64_t to = known_return(w);
    if (w->m_profile)
        tell_event(w, &event);
    if (pick(w, 9))
        tell_transfer(w, COUNTS_EXCEPTION_RETURN,
                      w->m_profile ? COUNTS_FROM_EXCEPTION_RETURN : w->pc, to, false);
}

static void walk_gap(struct walk *w)
{
    struct bt_event event = {.kind = pick(w, 2) ? BT_EVENT_GAP : BT_EVENT_TRACE_ON};
    tell_event(w, &event);
    if (event.kind == BT_EVENT_GAP && pick(w, 9))
        tell_transfer(w, COUNTS_ENTRY, COUNTS_FROM_NOWHERE, any_place(w, any_entry(w)), false);
}

static void walk_switch(struct walk *w)
{
    uint64_t task = 0x1000 * (uint64_t)pick(w, 4);
    tell_batch(w);
    calls_switch(&w->whole, task, w->number);
    calls_switch(&w->batched, task, w->number);
}

static void walk_step(struct walk *w)
{
    uint64_t from = any_branch(w);
    unsigned what = pick(w, 100);
    if (w->tasks && pick(w, 20) == 0)
        walk_switch(w);
    if (what < 30) {
        if (w->odd && pick(w, 9) == 0)
            from |= SIZE - 4;
        keep_return(w, from + 4);
        tell_transfer(w, COUNTS_CALL, from, any_entry(w), false);
    } else if (what < 58) {
        tell_transfer(w, COUNTS_INDIRECT, from, known_return(w), false);
    } else if (what < 66) {
        tell_transfer(w, COUNTS_INDIRECT, from, any_place(w, w->pc), true);
    } else if (what < 71) {
        tell_transfer(w, COUNTS_INDIRECT, from, any_entry(w), pick(w, 2));
    } else if (what < 80) {
        uint64_t to = any_entry(w);
        tell_transfer(w, COUNTS_LEAVE, from, pick(w, 2) ? to : any_place(w, to), false);
    } else if (what < 88) {
        walk_exception(w);
    } else if (what < 97) {
        walk_exception_return(w);
    } else {
        walk_gap(w);
    }
}

static void walk_cut(struct walk *w)
{
    struct calls_piece piece;
    tell_batch(w);
    int error = calls_cutter_end(w->cutter, w->number, w->cycles, &piece);
    ck_assert_int_eq(error, 0);
    if (!w->error)
        w->error = calls_join(&w->joined, &piece);
    calls_piece_release(&piece);
    calls_cutter_begin(w->cutter, w->number, w->cycles);
}

static void check_paths(const struct walk *w, const struct calls *calls)
{
    ck_assert_msg(calls->path_count == w->whole.path_count, "seed %llu: %zu paths, not %zu",
                  (unsigned long long)w->seed, calls->path_count, w->whole.path_count);
    for (size_t i = 0; i < w->whole.path_count; i++) {
        const struct calls_path *a = &w->whole.paths[i], *b = &calls->paths[i];
        ck_assert_msg(a->function == b->function && a->site == b->site && a->parent == b->parent &&
                          a->exception == b->exception && a->calls == b->calls &&
                          a->self == b->self && a->self_cycles == b->self_cycles &&
                          a->all == b->all && a->all_cycles == b->all_cycles,
                      "seed %llu: path %zu of %zu is another one", (unsigned long long)w->seed, i,
                      w->whole.path_count);
    }
}

/* True: the pieces were joined. */
static bool check_walk(uint64_t seed)
{
    static struct walk w;
    memset(&w, 0, sizeof w);
    w.seed = seed;
    w.random = seed * 0x9e3779b97f4a7c15u;
    w.pc = SIZE;
    struct calls_config config = {.max_paths = pick(&w, 4) ? 0 : 40, .m_profile = pick(&w, 2)};
    w.m_profile = config.m_profile;
    w.symbols = pick(&w, 3) ? 0 : 1 + pick(&w, 3);
    w.odd = pick(&w, 3) == 0;
    w.cut = 1 + pick(&w, 300);
    w.functions = pick(&w, 2) ? 3 : FUNCTIONS;
    w.places = pick(&w, 2) ? 1 : SIZE / 8 - 1;
    w.cuts_batches = pick(&w, 2);
    w.counted = pick(&w, 2);
    w.tasks = pick(&w, 4) == 0;
    w.error = w.tasks ? BT_ERR_UNSUPPORTED : BT_OK;
    w.cutter = calloc(1, sizeof *w.cutter);
    ck_assert_ptr_nonnull(w.cutter);
    ck_assert_int_eq(calls_init(&w.whole, &config), 0);
    ck_assert_int_eq(calls_init(&w.batched, &config), 0);
    ck_assert_int_eq(calls_init(&w.joined, &config), 0);
    ck_assert_int_eq(calls_cutter_init(w.cutter, config.m_profile), 0);
    calls_cutter_begin(w.cutter, 0, 0);
    for (unsigned i = 0; i < STEPS; i++) {
        walk_step(&w);
        if (pick(&w, w.cut) == 0)
            walk_cut(&w);
    }
    walk_cut(&w);
    calls_finish(&w.whole, w.number, w.cycles);
    calls_finish(&w.batched, w.number, w.cycles);
    calls_finish(&w.joined, 0, 0);
    check_paths(&w, &w.batched);
    if (!w.error)
        check_paths(&w, &w.joined);
    ck_assert(w.error == 0 || w.error == BT_ERR_UNSUPPORTED);
    calls_release(&w.whole);
    calls_release(&w.batched);
    calls_release(&w.joined);
    calls_cutter_release(w.cutter);
    free(w.cutter);
    return !w.error;
}

START_TEST(pieces)
{
    const char *given = getenv("BTRACED_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    unsigned joined = 0;
    printf("BTRACED_SEED=%llu\n", (unsigned long long)seed);
    for (unsigned i = 0; i < RUNS; i++)
        joined += check_walk(seed + i);
    printf("%u of %u walks could be joined\n", joined, RUNS);
    ck_assert_msg(joined > RUNS / 2, "seed %llu: %u of %u walks could be joined",
                  (unsigned long long)seed, joined, RUNS);
}
END_TEST

static uint64_t path_at(struct calls_cutter *c, const struct counts_edge *edges, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        calls_cutter_transfer(c, &edges[i], i + 1, 0);
    return c->piece.step_count;
}

/* A loop with a table of cases, a call and its return does not add a step a turn. */
START_TEST(loops)
{
    const struct counts_edge turn[] = {
        {.kind = COUNTS_ENTRY,
         .from = COUNTS_FROM_NOWHERE,
         .block.first = 0x100,
         .function = 0x100},
        {.kind = COUNTS_INDIRECT,
         .from = 0x110,
         .block.first = 0x120,
         .function = 0x100,
         .switches = true},
        {.kind = COUNTS_CALL,
         .from = 0x124,
         .block.first = 0x200,
         .behind = 0x128,
         .function = 0x200},
        {.kind = COUNTS_INDIRECT,
         .from = 0x210,
         .block.first = 0x220,
         .function = 0x200,
         .switches = true},
        {.kind = COUNTS_INDIRECT, .from = 0x230, .block.first = 0x128, .function = 0x100},
    };
    struct calls_cutter *c = calloc(1, sizeof *c);
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(calls_cutter_init(c, false), 0);
    calls_cutter_begin(c, 0, 0);
    ck_assert_uint_eq(path_at(c, turn, 1), 1);
    for (unsigned i = 0; i < 1000; i++)
        ck_assert_uint_eq(path_at(c, turn + 1, 4), 1);
    calls_cutter_release(c);
    free(c);
}
END_TEST

/* As many open calls as one run drops all of them at: refused, not nearly right. */
START_TEST(too_deep)
{
    struct calls_cutter *c = calloc(1, sizeof *c);
    struct calls_piece piece;
    struct calls calls;
    const struct calls_config config = {0};
    struct counts_edge edge = {.kind = COUNTS_CALL,
                               .from = 0x104,
                               .behind = 0x108,
                               .block.first = 0x100,
                               .function = 0x100};
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(calls_cutter_init(c, false), 0);
    ck_assert_int_eq(calls_init(&calls, &config), 0);
    for (unsigned part = 0; part < 2; part++) {
        calls_cutter_begin(c, 0, 0);
        for (unsigned i = 0; i < CALLS_DEPTH / 2 + 1; i++)
            calls_cutter_transfer(c, &edge, i, 0);
        ck_assert_int_eq(calls_cutter_end(c, CALLS_DEPTH, 0, &piece), 0);
        ck_assert_int_eq(calls_join(&calls, &piece), part ? BT_ERR_UNSUPPORTED : BT_OK);
        calls_piece_release(&piece);
    }
    calls_cutter_begin(c, 0, 0);
    for (unsigned i = 0; i < CALLS_DEPTH + 1; i++)
        calls_cutter_transfer(c, &edge, i, 0);
    ck_assert_int_eq(calls_cutter_end(c, CALLS_DEPTH, 0, &piece), BT_ERR_UNSUPPORTED);
    calls_release(&calls);
    calls_cutter_release(c);
    free(c);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("calls_piece");
    unit_case(s, "calls piece: random ways, cut anywhere, are joined to those of one run", pieces);
    unit_case(s, "calls piece: a loop takes no steps", loops);
    unit_case(s, "calls piece: what is too deep is refused", too_deep);
    return s;
}
