/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/export/part.c, part_identity.c, counts_file.c, merge.c, export_walk.c and
 * decoder/stream/stream_join.c. */
/*
 * Parts of a recording, as a property: random executions, encoded with random options, damaged at
 * random places, in formatter frames or not, cut into any number of parts and merged in any order,
 * count what one run counts.
 */
#include "drivers/virtual/encoder/frame_builder.h"
#include "server/export/merge.h"
#include "server/export/part.h"
#include "tests/support/random_next.h"
#include "tests/support/random_sample.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_FLOWS 12
#define ID            0x21
#define PARTS_MAX     40

typedef unsigned long long ull;

static char folder[] = "/tmp/test_part.XXXXXX";

/* A recording of one source, in memory. */
struct fixture {
    struct random_sample sample;
    struct trace_bytes frames;
    struct recording recording;
    struct recording_source source;
    struct snapshot_buffer buffer;
    struct snapshot_buffer_file file;
    struct export_names names;
    uint64_t seed;
    uint64_t joined; /* parts that go on where another one ended */
    uint64_t parts;
    uint64_t profiles; /* with calls */
    uint64_t refused;  /* of them, for calls that are nested too deeply; */
    uint64_t early;    /* though one run had just room: below a part is a level for its caller */
};

/* The source's bytes in turns with those of another one, and damage of the frames. */
static void put_in_frames(struct fixture *t)
{
    struct frame_builder b;
    struct frame_options o = {.seed = t->seed, .repeat_id_period = random_pick(t->seed, 41, 2) * 8};
    frame_builder_init(&b, &o, &t->frames);
    for (size_t at = 0, turn = 0; at < t->sample.size; turn++) {
        size_t n = 1 + random_pick(t->seed + turn, 42, 400), left = t->sample.size - at;
        n = n < left ? n : left;
        ck_assert_int_eq(frame_builder_write(&b, ID, t->sample.bytes + at, n), 0);
        for (unsigned i = random_pick(t->seed + turn, 43, 60); i > 0; i--)
            ck_assert_int_eq(frame_builder_put(&b, ID + 1, (uint8_t)i), 0);
        at += n;
    }
    ck_assert_int_eq(frame_builder_flush(&b), 0);
    for (unsigned i = random_pick(t->seed, 44, 2) * 5; i > 0; i--)
        t->frames.data[random_pick(t->seed + i, 45, (unsigned)t->frames.size)] ^=
            (uint8_t)(1u << i % 8);
}

static void set_up(struct fixture *t, enum stream_protocol protocol, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->seed = seed;
    ck_assert_int_eq(random_sample_init(&t->sample, protocol, seed), 0);
    bool frames = random_pick(seed, 40, 2);
    if (frames)
        put_in_frames(t);
    t->source = (struct recording_source){
        .buffer = &t->buffer,
        .name = "ETM",
        .core_name = "core",
        .trace_id = ID,
        .config = t->sample.config,
        .image = &t->sample.image,
        .ordered = frames ? t->frames.data : t->sample.bytes,
        .ordered_size = frames ? t->frames.size : t->sample.size,
    };
    t->buffer = (struct snapshot_buffer){.format = frames ? SNAPSHOT_FORMAT_CORESIGHT
                                                          : SNAPSHOT_FORMAT_SOURCE_DATA,
                                         .files = &t->file,
                                         .file_count = 1,
                                         .size = t->source.ordered_size};
    t->recording.sources = &t->source;
    t->recording.source_count = 1;
}

static void tear_down(struct fixture *t)
{
    if (t->buffer.format == SNAPSHOT_FORMAT_CORESIGHT)
        trace_bytes_release(&t->frames);
    random_sample_release(&t->sample);
}

static char *part_path(unsigned i)
{
    static char paths[PARTS_MAX][64];
    snprintf(paths[i], sizeof paths[i], "%s/%u.counts", folder, i);
    return paths[i];
}

/* False: its calls are nested too deeply. */
static bool count_part(struct fixture *t, unsigned i, unsigned parts, enum merge_needs needs)
{
    struct counts_file f = {
        .part = i, .parts = parts, .pairs = needs == MERGE_PAIRS, .calls = needs == MERGE_CALLS};
    struct message why;
    ck_assert_int_eq(part_identify(&f, &t->recording, &t->source, 1, &t->names, "run"), 0);
    f.sources = calloc(1, sizeof *f.sources);
    f.source_count = 1;
    int error = part_count(&f, &t->recording, &t->source, &t->names, f.sources);
    ck_assert(!error || (f.calls && error == BT_ERR_UNSUPPORTED));
    t->parts += i > 0;
    t->joined += f.sources->next < parts;
    ck_assert_int_eq(counts_file_write(part_path(i), &f, &why), 0);
    counts_file_release(&f);
    return !error;
}

/* What one run says. */
static void count_whole(struct fixture *t, struct merge *whole)
{
    struct export_walk walk = {
        .recording = &t->recording, .source = &t->source, .names = &t->names};
    struct counts counts;
    memset(whole, 0, sizeof *whole);
    ck_assert_int_eq(feedback_init(&whole->feedback), 0);
    ck_assert_int_eq(feedback_add(&whole->feedback, &walk, &whole->loss), 0);
    memset(&whole->loss, 0, sizeof whole->loss);
    walk.transfer = NULL;
    ck_assert_int_eq(export_walk(&walk, &counts, &whole->loss), 0);
    ck_assert_int_eq(counts_table_add(&whole->table, &counts), 0);
    counts_release(&counts);
}

/* The same, with the calls and the cycles of a profile. */
static void count_whole_calls(struct fixture *t, struct merge *whole)
{
    const struct calls_config config = {.m_profile = export_m_profile(&t->source)};
    struct counts counts;
    memset(whole, 0, sizeof *whole);
    whole->source_count = 1;
    whole->sources = calloc(1, sizeof *whole->sources);
    whole->cores = calloc(1, sizeof *whole->cores);
    ck_assert_ptr_nonnull(whole->cores);
    struct calls *calls = &whole->cores[0].calls;
    struct export_walk walk = {.recording = &t->recording,
                               .source = &t->source,
                               .names = &t->names,
                               .cycles = stream_counts_blocks(&t->source.config),
                               .transfer = calls_transfer,
                               .event = calls_event,
                               .ctx = calls};
    ck_assert_int_eq(feedback_init(&whole->feedback), 0);
    ck_assert_int_eq(calls_init(calls, &config), 0);
    ck_assert_int_eq(export_walk(&walk, &counts, &whole->loss), 0);
    calls_finish(calls, counts.number, counts.cycles);
    ck_assert_int_eq(counts_table_add(&whole->table, &counts), 0);
    counts_release(&counts);
}

static int insn_order(const void *a, const void *b)
{
    const struct counts_insn *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->isa > y->isa) - (x->isa < y->isa);
}

/* In the order of addresses and instruction sets. */
static size_t settle_table(struct counts_table *table)
{
    if (!table->sorted)
        counts_table_sort(table);
    if (table->count)
        qsort(table->insns, table->count, sizeof *table->insns, insn_order);
    return table->count;
}

static bool same_insns(const struct counts_table *a, const struct counts_table *b, size_t n)
{
    bool same = true;
    for (size_t i = 0; same && i < n; i++) {
        const struct counts_insn *x = &a->insns[i], *y = &b->insns[i];
        same = x->address == y->address && x->isa == y->isa && x->size == y->size &&
               x->cls == y->cls && x->flags == y->flags && x->target == y->target &&
               x->count == y->count && x->passed == y->passed && x->failed == y->failed &&
               x->cycles == y->cycles;
    }
    return same;
}

static bool same_pairs(struct feedback *a, struct feedback *b)
{
    feedback_finish(a);
    feedback_finish(b);
    bool same = a->used == b->used && a->left_out == b->left_out;
    for (size_t i = 0; same && i < a->used; i++) {
        const struct feedback_pair *x = &a->pairs[i], *y = &b->pairs[i];
        same =
            x->from == y->from && x->to == y->to && x->branch == y->branch && x->count == y->count;
    }
    return same;
}

static bool same_calls(const struct calls *a, const struct calls *b)
{
    bool same = a->path_count == b->path_count;
    for (size_t i = 0; same && i < a->path_count; i++) {
        const struct calls_path *x = &a->paths[i], *y = &b->paths[i];
        same = x->function == y->function && x->site == y->site && x->parent == y->parent &&
               x->exception == y->exception && x->calls == y->calls && x->self == y->self &&
               x->self_cycles == y->self_cycles && x->all == y->all &&
               x->all_cycles == y->all_cycles;
    }
    return same;
}

static void check_same(struct merge *whole, struct merge *merged, uint64_t seed, unsigned parts)
{
    size_t n = settle_table(&whole->table);
    ck_assert_msg(memcmp(&whole->loss, &merged->loss, sizeof whole->loss) == 0,
                  "seed %llu, %u parts: other sums: %llu instructions, not %llu", (ull)seed, parts,
                  (ull)merged->loss.instructions, (ull)whole->loss.instructions);
    ck_assert_msg(settle_table(&merged->table) == n && same_insns(&whole->table, &merged->table, n),
                  "seed %llu, %u parts: other instructions", (ull)seed, parts);
    ck_assert_msg(same_pairs(&whole->feedback, &merged->feedback),
                  "seed %llu, %u parts: other ranges and branches", (ull)seed, parts);
    ck_assert_msg(!whole->cores || same_calls(&whole->cores[0].calls, &merged->cores[0].calls),
                  "seed %llu, %u parts: other calls", (ull)seed, parts);
}

/* The files' order is of no matter. False: their calls cannot be joined. */
static bool merge_parts(struct merge *merged, uint64_t seed, unsigned parts, enum merge_needs needs)
{
    char *paths[PARTS_MAX];
    struct message why;
    for (unsigned i = 0; i < parts; i++)
        paths[i] = part_path(i);
    for (unsigned i = parts - 1; i > 0; i--) {
        unsigned other = random_pick(seed + i, 46, i + 1);
        char *path = paths[i];
        paths[i] = paths[other];
        paths[other] = path;
    }
    int error = merge_files(merged, paths, parts, NULL, needs, &why);
    ck_assert_msg(!error || (needs == MERGE_CALLS && error == BT_ERR_UNSUPPORTED &&
                             strstr(why.text, "do not go on")),
                  "seed %llu, %u parts: %s", (ull)seed, parts, why.text);
    return !error;
}

static void check_parts(struct fixture *t, unsigned parts, enum merge_needs needs)
{
    struct merge whole, merged = {.file_count = 0};
    bool same = true;
    if (needs == MERGE_CALLS)
        count_whole_calls(t, &whole);
    else
        count_whole(t, &whole);
    for (unsigned i = 0; i < parts && same; i++)
        same = count_part(t, i, parts, needs);
    if (same) /* one that was interrupted, once more */
        same =
            count_part(t, parts / 2, parts, needs) && merge_parts(&merged, t->seed, parts, needs);
    if (same)
        check_same(&whole, &merged, t->seed, parts);
    t->refused += !same;
    t->early += !same && !whole.cores[0].calls.crowded;
    t->profiles += needs == MERGE_CALLS;
    merge_release(&whole);
    merge_release(&merged);
}

static uint64_t first_seed(void)
{
    const char *given = getenv("BTRACED_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("BTRACED_SEED=%llu\n", (ull)seed);
    return seed;
}

static unsigned flows(void)
{
    const char *count = getenv("BTRACED_PROPERTY_COUNT");
    return count ? (unsigned)atoi(count) : DEFAULT_FLOWS;
}

static void check_protocol(enum stream_protocol protocol)
{
    static struct fixture t;
    uint64_t seed = first_seed(), joined = 0, parts = 0, profiles = 0, refused = 0, early = 0;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (unsigned i = 0; i < flows(); i++) {
        set_up(&t, protocol, seed + i);
        check_parts(&t, i % 2 ? 16 : 2 + random_pick(seed + i, 47, PARTS_MAX - 2),
                    i % 4 < 2 ? MERGE_PAIRS : MERGE_CALLS);
        joined += t.joined;
        parts += t.parts;
        profiles += t.profiles;
        refused += t.refused;
        early += t.early;
        tear_down(&t);
    }
    char command[80];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    printf("%llu of %llu parts go on for another, %llu of %llu profiles are too deep\n",
           (ull)joined, (ull)parts, (ull)refused, (ull)profiles);
    ck_assert_msg(refused < profiles, "all of %llu profiles were refused", (ull)profiles);
    ck_assert_msg(early <= 1, "of %llu profiles one run had room for all calls", (ull)early);
    ck_assert_msg(joined > parts / 4, "%llu of %llu parts were joined", (ull)joined, (ull)parts);
}

START_TEST(ptm)
{
    check_protocol(STREAM_PTM);
}
END_TEST

START_TEST(etmv3)
{
    check_protocol(STREAM_ETMV3);
}
END_TEST

START_TEST(etmv4)
{
    check_protocol(STREAM_ETMV4);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("part");
    unit_case(s, "part: parts of PTM count what one run counts", ptm);
    unit_case(s, "part: parts of ETMv3 count what one run counts", etmv3);
    unit_case(s, "part: parts of ETMv4 and ETE count what one run counts", etmv4);
    return s;
}
