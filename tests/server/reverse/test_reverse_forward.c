/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/reverse/reverse_forward.c. */
/*
 * A loop that counts is traced into a buffer of a few packets, and halted at random, with the
 * counter known at each halt: wherever it is told of the past, it is what it was there.
 */
#include "server/reverse/reverse_forward.h"
#include "tests/support/mtb_loop.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <string.h>

#define HALTS (MTB_LOOP_MAX / MTB_LOOP_LONG)
#define NEWER 3u /* halts whose segments are looked at */

static const uint16_t program[] = {
    0x4440, /*       add r0, r8 */
    0xbf00, /* 1002: nop */
    0x42a3, /*       cmp r3, r4 */
    0xd1fb, /*       bne 1000 */
    0x4440, /*       add r0, r8 */
    0xe7fa, /*       b 1002 */
};

static struct mtb_loop r;
static size_t index_of[MTB_LOOP_MAX]; /* of the instruction of a number, among those that ran */
static uint32_t counter[MTB_LOOP_MAX + 1]; /* r0 before it, by index */

static int no_memory(void *ctx, struct reverse_map *map)
{
    (void)ctx, (void)map;
    return BT_OK;
}

/* Numbers from `from` on are those of the instructions up to the latest branch. */
static void note_numbers(uint64_t from)
{
    uint64_t end = history_end(r.history);
    for (uint64_t n = from; n < end; n++)
        index_of[n] = r.branch - (size_t)(end - n);
    for (size_t i = 0; i < r.ran_count; i++)
        counter[i + 1] = counter[i] + (program[(r.ran[i] - MTB_LOOP_BASE) / 2] == program[0]);
}

static void note_halt(struct reverse_forward *f, struct reverse *p)
{
    struct reverse_snapshot *s = reverse_forward_halted(f, p, r.pc, true);
    ck_assert_ptr_nonnull(s);
    memset(&s->regs, 0, sizeof s->regs);
    s->regs.value[0] = counter[r.ran_count];
    s->regs.value[8] = 1;
    s->regs.known = 1u << 0 | 1u << 8;
    reverse_forward_complete(f, true);
}

static unsigned check_told(struct reverse_forward *f, struct reverse *p, uint64_t from)
{
    unsigned told = 0;
    for (uint64_t n = from; n < history_end(r.history); n++) {
        while (reverse_forward_work(f, p, n, 1000) == TARGET_PENDING)
            ;
        const struct execute_regs *regs =
            reverse_forward_at(f, p, n) ? reverse_forward_regs(f, n) : NULL;
        if (!regs || !(regs->known & 1))
            continue;
        told++;
        ck_assert_msg((uint32_t)regs->value[0] == counter[index_of[n]],
                      "instruction %llu: r0 was %u, and %u is told", (unsigned long long)n,
                      counter[index_of[n]], (unsigned)regs->value[0]);
    }
    return told;
}

START_TEST(values_are_told_of_what_ran_behind_their_halt)
{
    static const struct execute_core core = {.profile = EXECUTE_PROFILE_M};
    static const struct reverse_forward_owner owner = {.map = no_memory};
    struct reverse_forward f;
    uint64_t ends[NEWER] = {0};
    unsigned told = 0;
    mtb_loop_init(&r, program, "FORWARD_SEED");
    reverse_forward_init(&f, &core, &owner, 64u << 20);
    for (unsigned halt = 0; halt < HALTS; halt++) {
        uint64_t before = history_end(r.history);
        mtb_loop_run(&r);
        note_numbers(before);
        const struct btrace_view view = mtb_loop_view(&r);
        struct reverse p;
        int error = reverse_init(&p, &view);
        ck_assert(error == BT_OK || error == BT_ERR_RANGE);
        if (!error) {
            note_halt(&f, &p);
            told += check_told(&f, &p, ends[halt % NEWER]);
        }
        reverse_release(&p);
        ends[halt % NEWER] = history_end(r.history);
    }
    printf("%u values told, %u losses\n", told, r.losses);
    ck_assert_uint_gt(told, 1000);
    ck_assert_uint_gt(r.losses, HALTS / 10);
    reverse_forward_release(&f);
    mtb_loop_release(&r);
}
END_TEST

/* Of what is read at halts the latest is kept, in half of the memory. */
START_TEST(states_take_no_more_than_their_part)
{
    static const struct execute_core core = {.profile = EXECUTE_PROFILE_M};
    static const struct reverse_forward_owner owner = {.map = no_memory};
    static uint8_t piece[40000];
    struct reverse_forward f;
    mtb_loop_init(&r, program, "FORWARD_SEED");
    reverse_forward_init(&f, &core, &owner, 1u << 20);
    for (unsigned halt = 0; halt < 100; halt++) {
        mtb_loop_run(&r);
        const struct btrace_view view = mtb_loop_view(&r);
        struct reverse p;
        int error = reverse_init(&p, &view);
        ck_assert(error == BT_OK || error == BT_ERR_RANGE);
        ck_assert_ptr_nonnull(reverse_forward_halted(&f, &p, r.pc, true));
        reverse_release(&p);
        ck_assert_int_eq(reverse_forward_read(&f, 0x20000000, piece, sizeof piece), BT_OK);
        ck_assert_uint_lt(f.budget.used, (1u << 19) + 2 * sizeof piece);
    }
    ck_assert_uint_gt(f.count, 10);
    reverse_forward_release(&f);
    mtb_loop_release(&r);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("reverse_forward");
    unit_case(s, "values_are_told_of_what_ran_behind_their_halt",
              values_are_told_of_what_ran_behind_their_halt);
    unit_case(s, "states_take_no_more_than_their_part", states_take_no_more_than_their_part);
    return s;
}
