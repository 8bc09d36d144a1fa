/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests counts.c and counts_table.c: against counting each instruction by itself, on random ways
 * through random code; BTRACED_SEED repeats a run. */
#include "decoder/counts/counts_table.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORDS  256u
#define BASE   0x8000u
#define BLOCKS 20000u
#define BATCH  100u
#define STEPS  50u

#define NOP   0xe1a00000u
#define BNE   0x1a000000u /* to the word two behind it */
#define BL    0xeb000000u
#define BX_LR 0xe12fff1eu

struct made {
    uint32_t words[WORDS];
    uint64_t ran[WORDS], taken[WORDS], passed_by[WORDS];
    uint64_t transfers, instructions;
    struct code_image image;
    struct code_steps *steps;        /* NULL: none */
    struct code_range ranges[STEPS]; /* none of the program's: a step begins at each */
    unsigned seed;
};

static unsigned made_random(struct made *m, unsigned below)
{
    m->seed = m->seed * 1103515245u + 12345u;
    return (m->seed >> 8) % below;
}

static struct made *made_new(void)
{
    static const uint32_t kinds[] = {NOP, NOP, NOP, BNE, BL, BX_LR};
    struct made *m = calloc(1, sizeof *m);
    const char *seed = getenv("BTRACED_SEED");
    ck_assert_ptr_nonnull(m);
    m->seed = seed ? (unsigned)strtoul(seed, NULL, 0) : (unsigned)time(NULL);
    printf("# seed %u\n", m->seed);
    for (unsigned i = 0; i < WORDS; i++)
        m->words[i] = kinds[made_random(m, 6)];
    code_image_init(&m->image);
    struct code_region region = {
        .address = BASE, .size = sizeof m->words, .bytes = (const uint8_t *)m->words};
    ck_assert_int_eq(code_image_add(&m->image, &region), 0);
    return m;
}

static void made_free(struct made *m)
{
    code_image_release(&m->image);
    code_steps_free(m->steps);
    free(m);
}

/* A block of `count` instructions from word `first` on; what it is counted as. */
static struct bt_block made_block(struct made *m, unsigned first, unsigned count)
{
    unsigned last = first + count - 1;
    enum bt_cond cond = made_random(m, 2) ? BT_COND_PASS : BT_COND_FAIL;
    for (unsigned i = first; i <= last; i++)
        m->ran[i]++;
    m->taken[last] += cond == BT_COND_PASS;
    m->passed_by[last] += cond == BT_COND_FAIL;
    m->instructions += count;
    return (struct bt_block){.first = BASE + 4 * first,
                             .extent = 4 * (count - 1),
                             .info = bt_block_info(count, BT_ISA_A32, cond)};
}

static void see_transfer(void *ctx, const struct counts_edge *edge, uint64_t number,
                         uint64_t cycles)
{
    struct made *m = ctx;
    (void)number;
    (void)cycles;
    ck_assert_int_ge(edge->kind, COUNTS_CALL);
    m->transfers++;
}

static void feed_blocks(struct made *m, struct counts *c)
{
    struct bt_block blocks[BATCH];
    struct bt_event event = {.kind = BT_EVENT_GAP, .cause = BT_GAP_OVERFLOW};
    for (unsigned i = 0; i < BLOCKS; i += BATCH) {
        event.position = m->instructions + made_random(m, 50);
        struct flow_out out = {
            .blocks = blocks, .block_count = BATCH, .events = &event, .event_count = 1};
        for (unsigned b = 0; b < BATCH; b++)
            blocks[b] = made_block(m, made_random(m, WORDS - 8), 1 + made_random(m, 8));
        counts_feed(c, &out);
    }
}

static void compare_counts(const struct made *m, const struct counts_table *t, uint64_t times)
{
    for (unsigned i = 0; i < WORDS; i++) {
        const struct counts_insn *insn = counts_table_at(t, BASE + 4 * i);
        ck_assert_uint_eq(insn ? insn->count : 0, times * m->ran[i]);
        ck_assert_uint_eq(insn ? insn->passed : 0, times * m->taken[i]);
        ck_assert_uint_eq(insn ? insn->failed : 0, times * m->passed_by[i]);
    }
}

START_TEST(each_instruction)
{
    struct made *m = made_new();
    struct code_key key;
    struct counts c;
    struct counts_table t;
    code_key_init(&key);
    struct counts_config config = {.transfer = see_transfer, .ctx = m};
    ck_assert_int_eq(counts_init(&c, &config, &m->image, &key), 0);
    feed_blocks(m, &c);
    ck_assert_uint_eq(c.left_out, 0);
    ck_assert_uint_eq(c.number, m->instructions);
    ck_assert_uint_gt(m->transfers, 0);
    counts_table_init(&t);
    ck_assert_int_eq(counts_table_add(&t, &c), 0);
    ck_assert_int_eq(counts_table_add(&t, &c), 0); /* a second run of the same program */
    counts_table_sort(&t);
    compare_counts(m, &t, 2);
    counts_table_release(&t);
    counts_release(&c);
    made_free(m);
}
END_TEST

/* What finds no room is told, memory stays where it was, and the way of calls is still followed. */
START_TEST(bounded)
{
    struct made *m = made_new();
    struct code_key key;
    struct counts c;
    code_key_init(&key);
    struct counts_config config = {.max_edges = 64, .transfer = see_transfer, .ctx = m};
    ck_assert_int_eq(counts_init(&c, &config, &m->image, &key), 0);
    feed_blocks(m, &c);
    ck_assert_uint_eq(c.used, 64);
    ck_assert_uint_eq(c.number, m->instructions);
    uint64_t sum = c.left_out;
    for (size_t i = 0; i < c.size; i++)
        sum += c.edges[i].count;
    ck_assert_uint_eq(sum, BLOCKS);
    ck_assert_uint_gt(m->transfers, 0);
    counts_release(&c);
    made_free(m);
}
END_TEST

static bool made_leaves(const struct made *m, const struct bt_block *b)
{
    uint32_t last = m->words[(bt_block_last(b) - BASE) / 4];
    return last == BL || last == BX_LR;
}

/* Of random blocks; found again by its number. */
static struct code_steps *made_steps(struct made *m)
{
    struct code_steps *steps = code_steps_new();
    ck_assert_ptr_nonnull(steps);
    for (unsigned i = 0; i < STEPS; i++) {
        struct code_step_way way = {.count = 1 + made_random(m, CODE_STEP_BLOCKS)};
        for (unsigned k = 0; k < way.count; k++) {
            way.blocks[k] = made_block(m, made_random(m, WORDS - 8), 1 + made_random(m, 8));
            way.insns += bt_block_count(&way.blocks[k]);
            way.leaves |= (uint32_t)made_leaves(m, &way.blocks[k]) << k;
        }
        ck_assert_ptr_nonnull(code_step_add(steps, m->ranges + i, i, &way));
    }
    m->instructions = 0;
    return steps;
}

/* What was told of transfers. */
struct told {
    uint64_t count, sum;
};

static void tell_transfer(void *ctx, const struct counts_edge *edge, uint64_t number,
                          uint64_t cycles)
{
    struct told *told = ctx;
    uint64_t all[] = {edge->from, edge->block.first, edge->kind, edge->behind, number, cycles};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        told->sum = (told->sum ^ all[i]) * 0x100000001b3u;
    told->count++;
}

static void tell_transfers(void *ctx, const struct counts_transfer *transfers, size_t count,
                           uint64_t cycles)
{
    for (size_t i = 0; i < count; i++)
        tell_transfer(ctx, transfers[i].edge, transfers[i].number, cycles);
}

/* One batch for both, with a gap or an exception somewhere in it: where the decoder counts, blocks
 * lie where counts_room() says, and those of ranges are counted by these; others, and those that
 * may end with a transfer, have a mark. */
static void feed_both(struct made *m, struct counts *each, struct counts *times)
{
    struct bt_block blocks[1024];
    struct code_steps *steps = m->steps;
    struct flow_out out = {.blocks = blocks}, marked = {.block_count = 0};
    size_t wanted = made_random(m, 1025);
    uint64_t begins[1025]; /* of blocks and steps */
    struct bt_event event = {.kind = BT_EVENT_GAP, .cause = BT_GAP_DESYNC};
    uint64_t before = m->instructions;
    counts_room(times, &marked);
    ck_assert_uint_ge(marked.block_max, wanted);
    while (out.block_count < wanted) {
        struct bt_block *b = &blocks[out.block_count], *mark = &marked.blocks[marked.block_count];
        begins[marked.block_count++] = m->instructions;
        if (steps && wanted - out.block_count >= CODE_STEP_BLOCKS && made_random(m, 2)) {
            unsigned i = made_random(m, STEPS);
            struct code_step *step = code_step_find(steps, m->ranges + i, i);
            step->times++;
            *mark = flow_step_block(step);
            if (marked.leaves && step->leaves)
                marked.marks[marked.mark_count++] =
                    (struct flow_mark){mark, m->instructions + step->insns};
            memcpy(b, code_step_blocks(steps, step), step->blocks * sizeof *b);
            out.block_count += step->blocks;
            m->instructions += step->insns;
            continue;
        }
        *mark = *b = made_block(m, made_random(m, WORDS - 8), 1 + made_random(m, 8));
        out.block_count++;
        bool counted = made_random(m, 8), leaves = made_leaves(m, b);
        if (counted) {
            mark->info |= FLOW_COUNTED | (leaves ? CODE_LEAVES : 0);
            counts_times(times, b, 1);
        }
        if (!counted || (marked.leaves && leaves))
            marked.marks[marked.mark_count++] = (struct flow_mark){mark, m->instructions};
    }
    begins[marked.block_count] = m->instructions;
    event.position = steps ? begins[made_random(m, (unsigned)marked.block_count + 1)]
                           : before + made_random(m, (unsigned)(m->instructions - before) + 1);
    event.u.gap.doubtful = made_random(m, 2) ? made_random(m, 30000) : 0;
    if (made_random(m, 2))
        event = (struct bt_event){.kind = BT_EVENT_EXCEPTION, .position = event.position};
    out.events = marked.events = &event;
    out.event_count = marked.event_count = made_random(m, 2) == 0;
    counts_feed(each, &out);
    counts_feed_times(times, &marked, m->instructions);
}

/* What the decoder counts, and what a gap takes back of it, is as if each block were counted. */
static void compare_times(bool transfers, bool steps, bool batches)
{
    struct made *m = made_new();
    struct code_key key;
    struct counts each, times;
    struct counts_table a, b;
    struct told told[2] = {{0}};
    struct counts_config config = {.transfer = transfers ? tell_transfer : NULL, .ctx = &told[0]};
    code_key_init(&key);
    ck_assert_int_eq(counts_init(&each, &config, &m->image, &key), 0);
    config.times = true;
    config.transfers = batches ? tell_transfers : NULL;
    config.ctx = &told[1];
    config.steps = m->steps = steps ? made_steps(m) : NULL;
    ck_assert_int_eq(counts_init(&times, &config, &m->image, &key), 0);
    for (unsigned i = 0; i < 200; i++) {
        feed_both(m, &each, &times);
        uint64_t doubtful = made_random(m, 30000);
        if (!transfers && !each.has_exception)
            ck_assert(counts_same(&each, &times, doubtful));
    }
    if (steps)
        code_steps_report(m->steps, &(struct code_options){.times = counts_times, .ctx = &times});
    ck_assert_uint_gt(each.taken_back, 0);
    ck_assert_uint_eq(each.taken_back, times.taken_back);
    ck_assert_uint_eq(each.number, times.number);
    ck_assert_int_eq(told[0].count > 0, transfers);
    ck_assert_uint_eq(told[0].count, told[1].count);
    ck_assert_uint_eq(told[0].sum, told[1].sum);
    counts_table_init(&a);
    counts_table_init(&b);
    ck_assert_int_eq(counts_table_add(&a, &each), 0);
    ck_assert_int_eq(counts_table_add(&b, &times), 0);
    counts_table_sort(&a);
    counts_table_sort(&b);
    ck_assert_uint_eq(a.count, b.count);
    for (size_t i = 0; i < a.count; i++)
        ck_assert_mem_eq(&a.insns[i], &b.insns[i], sizeof a.insns[i]);
    counts_table_release(&a);
    counts_table_release(&b);
    counts_release(&each);
    counts_release(&times);
    made_free(m);
}

START_TEST(times_of_ranges)
{
    compare_times(false, false, false);
}
END_TEST

START_TEST(times_and_transfers)
{
    compare_times(true, false, false);
    compare_times(true, false, true);
}
END_TEST

START_TEST(times_of_steps)
{
    compare_times(false, true, false);
}
END_TEST

START_TEST(transfers_of_steps)
{
    compare_times(true, true, false);
    compare_times(true, true, true);
}
END_TEST

/* Pieces that threads decode come as one batch, of a million blocks: the time for each event does
 * not grow with it. */
START_TEST(large_batch)
{
    enum { MANY = 1000000, OFTEN = 10 };
    struct made *m = made_new();
    struct code_key key;
    struct counts c;
    struct flow_out out = {.blocks = calloc(MANY, sizeof *out.blocks),
                           .cycles = malloc(MANY * sizeof *out.cycles),
                           .events = calloc(MANY / OFTEN, sizeof *out.events),
                           .block_count = MANY,
                           .event_count = MANY / OFTEN};
    ck_assert_ptr_nonnull(out.blocks);
    ck_assert_ptr_nonnull(out.cycles);
    ck_assert_ptr_nonnull(out.events);
    memset(out.cycles, 0xff, MANY * sizeof *out.cycles);
    for (unsigned i = 0; i < MANY; i++) {
        if (i % OFTEN == 0)
            out.events[i / OFTEN] =
                (struct bt_event){.kind = BT_EVENT_TIMESTAMP, .position = m->instructions};
        out.blocks[i] = made_block(m, made_random(m, WORDS - 8), 1 + made_random(m, 8));
    }
    code_key_init(&key);
    ck_assert_int_eq(counts_init(&c, &(struct counts_config){0}, &m->image, &key), 0);
    clock_t before = clock();
    counts_feed(&c, &out);
    ck_assert_int_lt((clock() - before) / CLOCKS_PER_SEC, 5); /* it would be more than 20 */
    ck_assert_uint_eq(c.number, m->instructions);
    counts_release(&c);
    free(out.blocks);
    free(out.cycles);
    free(out.events);
    made_free(m);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("counts");
    unit_case(suite, "each_instruction", each_instruction);
    unit_case(suite, "bounded", bounded);
    unit_case(suite, "times_of_ranges", times_of_ranges);
    unit_case(suite, "times_and_transfers", times_and_transfers);
    unit_case(suite, "times_of_steps", times_of_steps);
    unit_case(suite, "transfers_of_steps", transfers_of_steps);
    unit_case(suite, "large_batch", large_batch);
    return suite;
}
