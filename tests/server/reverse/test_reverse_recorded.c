/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/reverse/reverse_recorded.c and server/recording/recorder_board.c: states written to
 * a recording are read as they were, but for RAM that nobody knows any more. */
#include "server/reverse/reverse_recorded.h"
#include "tests/server/recording/test_recorder_folder.h"

#define AT 0x20000000u

/* Bytes of RAM as a state's pieces tell them, later ones over earlier ones: -1: not known. */
#define RAM 64
static void paint(const struct reverse_snapshot *s, int ram[RAM])
{
    for (int i = 0; i < RAM; i++)
        ram[i] = -1;
    for (size_t i = 0; i < s->piece_count; i++)
        for (size_t k = 0; k < s->pieces[i].length; k++)
            ram[s->pieces[i].address + k - AT] = s->pieces[i].bytes ? s->pieces[i].bytes[k] : -1;
}

static struct recorder *begin(void)
{
    static const struct code_image *const no_images[CONFIG_MAX_CORES];
    struct config c;
    struct recorder *r;
    struct message why;
    make_parent();
    make_config(&c, "raw");
    c.cores[1].shared = (struct config_ranges){{{AT, 16}, {AT + 64, 0x100000000}}, 2};
    ck_assert_int_eq(recorder_start(&c, folder, no_images, &r, &why), 0);
    config_release(&c);
    return r;
}

static struct snapshot *end(struct recorder *r)
{
    struct snapshot *snap;
    struct message err;
    ck_assert_int_eq(recorder_stop(r), 0);
    ck_assert_msg(snapshot_open(folder, &snap, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(snap->warning_count, 0);
    return snap;
}

static struct reverse_snapshot some_state(enum execute_profile profile, unsigned seed)
{
    struct reverse_snapshot s = {.pc = profile == EXECUTE_PROFILE_A64 ? 0xffff000012345678 : 0x1234,
                                 .complete = true,
                                 .ends = seed & 1,
                                 .begins = seed & 2,
                                 .carries = true,
                                 .whole = seed & 4};
    unsigned count = profile == EXECUTE_PROFILE_A64 ? 31 : EXECUTE_PC;
    for (unsigned i = 0; i < count; i++)
        if (seed * 7 % (i + 3)) {
            s.regs.value[i] = 0x1000u * i + seed;
            s.regs.known |= UINT64_C(1) << i;
        }
    s.regs.psr = 0x61000003;
    s.regs.psr_known = UINT32_MAX;
    if (profile == EXECUTE_PROFILE_A64) {
        s.regs.value[33] = 0xffff800000000000;
        s.regs.known |= UINT64_C(1) << 33;
        for (unsigned i = A64_ELR1; i <= A64_HCR; i++)
            if (i != A64_SPSR0 && i != A64_VBAR0 && (i < A64_TPIDR || i >= A64_SCTLR1)) {
                bool status = i >= A64_SPSR1 && i < A64_SPSR1 + 3;
                s.regs.value[i] = (0x30d00800 + i) | (status ? UINT64_MAX << 32 : 0);
                s.regs.known |= (uint64_t)(seed * 5 % (i - 30) > 0) << i;
                s.regs.value[i] *= s.regs.known >> i & 1;
            }
        s.regs.vector[3] = 0x123456789abcdef0;
        s.regs.vector[62] = seed;
        s.regs.vector_known64 = 8 | UINT64_C(1) << 62;
        s.regs.fpscr = 0x03000000;
        s.regs.fpscr_known = UINT32_MAX;
    } else {
        s.regs.vector[3] = 0x123456789abcdef0;
        s.regs.vector_known = 3u << 6;
        s.regs.vector[17] = seed;
        s.regs.vector_known64 = 2;
        s.regs.fpscr = 0x03000000;
        s.regs.fpscr_known = UINT32_MAX;
    }
    if (profile == EXECUTE_PROFILE_M) {
        s.regs.value[EXECUTE_FPCCR] = 0xc0000000;
        s.regs.value[EXECUTE_PSP] = AT + 32;
        s.regs.known |= UINT64_C(1) << EXECUTE_FPCCR | UINT64_C(1) << EXECUTE_PSP;
        s.regs.float_settled = seed & 1;
    }
    return s;
}

static void same_regs(const struct execute_regs *a, const struct execute_regs *b)
{
    ck_assert_uint_eq(a->known, b->known);
    ck_assert_mem_eq(a->value, b->value, sizeof a->value);
    ck_assert_uint_eq(a->psr, b->psr);
    ck_assert_uint_eq(a->psr_known, b->psr_known);
    ck_assert_uint_eq(a->vector_known, b->vector_known);
    ck_assert_uint_eq(a->vector_known64, b->vector_known64);
    ck_assert_mem_eq(a->vector, b->vector, sizeof a->vector);
    ck_assert_uint_eq(a->fpscr, b->fpscr);
    ck_assert_uint_eq(a->fpscr_known, b->fpscr_known);
    ck_assert(a->float_settled == b->float_settled);
}

START_TEST(registers)
{
    static const enum execute_profile profiles[] = {EXECUTE_PROFILE_M, EXECUTE_PROFILE_AR,
                                                    EXECUTE_PROFILE_A64};
    enum execute_profile profile = profiles[_i];
    struct recorder *r = begin();
    for (unsigned seed = 0; seed < 8; seed++) {
        const struct reverse_snapshot s = some_state(profile, seed);
        const struct reverse_recorded_way way = {.untraced = seed & 1, .first = seed == 0};
        if (seed == 4)
            recorder_halted(r, 1, 0x1234, 0, NULL); /* nothing was traced */
        ck_assert_int_eq(reverse_recorded_put(&s, profile, &way, r, 1), 0);
    }
    struct snapshot *snap = end(r);
    for (unsigned seed = 0; seed < 8; seed++) {
        const struct reverse_snapshot s = some_state(profile, seed);
        struct reverse_snapshot back;
        struct reverse_recorded_way way;
        uint64_t bytes, core;
        char name[32];
        snprintf(name, sizeof name, "state_%u", seed);
        const struct snapshot_device *d = snapshot_device(snap, name);
        ck_assert_ptr_nonnull(d);
        ck_assert_str_eq(d->class_name, RECORDER_KNOWN_CLASS);
        ck_assert_int_eq(snapshot_reg(d, RECORDER_KNOWN_CORE, &core), 0);
        ck_assert_uint_eq(core, 1);
        ck_assert_int_eq(reverse_recorded_get(snap, d, profile, &back, &way, &bytes), 0);
        ck_assert_uint_eq(bytes, 0);
        ck_assert_uint_eq(back.pc, s.pc);
        same_regs(&back.regs, &s.regs);
        ck_assert(back.complete && back.carries && back.ends == s.ends);
        ck_assert(back.begins == s.begins && back.whole == s.whole);
        ck_assert(way.untraced == (seed & 1) && way.first == (seed == 0));
        ck_assert_uint_eq(back.piece_count, 0);
    }
    snapshot_close(snap);
    remove_parent();
}
END_TEST

/* Pieces at random, some of them written with what nobody knows. */
START_TEST(memory)
{
    unsigned random = (unsigned)_i + 1;
    struct recorder *r = begin();
    struct reverse_snapshot s = {.ends = true, .carries = true, .complete = true}, back;
    struct reverse_recorded_way way = {0};
    int was[RAM], is[RAM];
    uint64_t bytes;
    for (unsigned n = 0; n < 6; n++) {
        uint8_t data[RAM];
        random = random * 1103515245 + 12345;
        unsigned at = random >> 8 & 31, length = random >> 16 & 31;
        memset(data, (int)(n + 1), sizeof data);
        ck_assert_int_eq(reverse_snapshot_add(&s, AT + at, random >> 24 & 3 ? data : NULL, length),
                         0);
    }
    paint(&s, was);
    ck_assert_int_eq(reverse_recorded_put(&s, EXECUTE_PROFILE_M, &way, r, 0), 0);
    struct snapshot *snap = end(r);
    ck_assert_int_eq(reverse_recorded_get(snap, snapshot_device(snap, "state_0"), EXECUTE_PROFILE_M,
                                          &back, &way, &bytes),
                     0);
    paint(&back, is);
    bool lost = false;
    for (int i = 0; i < RAM; i++) {
        ck_assert_msg(is[i] == was[i] || is[i] == -1, "byte %d: %d, not %d", i, is[i], was[i]);
        lost |= is[i] != was[i];
    }
    for (size_t i = 0; i < s.piece_count; i++)
        if (!s.pieces[i].bytes && s.pieces[i].length && was[s.pieces[i].address - AT] == -1)
            ck_assert(!back.carries);
    ck_assert(!lost || !back.carries);
    reverse_snapshot_release(&s);
    reverse_snapshot_release(&back);
    snapshot_close(snap);
    remove_parent();
}
END_TEST

START_TEST(no_more_than_a_recording_takes)
{
    struct recorder *r = begin();
    const struct reverse_snapshot s = some_state(EXECUTE_PROFILE_M, 3);
    const struct reverse_recorded_way way = {0};
    for (unsigned i = 0; i < RECORDER_KNOWN_MAX; i++)
        ck_assert_int_eq(reverse_recorded_put(&s, EXECUTE_PROFILE_M, &way, r, 0), 0);
    ck_assert_int_eq(reverse_recorded_put(&s, EXECUTE_PROFILE_M, &way, r, 0), BT_ERR_RANGE);
    struct snapshot *snap = end(r);
    ck_assert_ptr_nonnull(snapshot_device(snap, "state_127"));
    uint64_t value;
    const struct snapshot_device *core = snapshot_device(snap, "cpu2");
    ck_assert_int_eq(snapshot_reg(core, RECORDER_SHARED RECORDER_SIZE "1", &value), 0);
    ck_assert_uint_eq(value, 0x100000000);
    ck_assert_int_eq(snapshot_reg(core, RECORDER_SHARED "0", &value), 0);
    ck_assert_uint_eq(value, AT);
    snapshot_close(snap);
    remove_parent();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("states in recordings");
    unit_cases(s, "states in recordings: registers", registers, 0, 3);
    unit_cases(s, "states in recordings: memory", memory, 0, 60);
    unit_case(s, "states in recordings: no more than it takes", no_more_than_a_recording_takes);
    return s;
}
