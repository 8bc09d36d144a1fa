/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Value reconstruction against what the core really did: every register at every position that is
 * called known, flags, words of the stack and variables, for several halts of one run.
 *
 *     engine FOLDER RAM-BASE HALTS WINDOW [one-stack] [fpu] [float-manual] [unaligned]
 *     [forward [halts [lacking]] [where] [wide] [joined]]
 *
 * Prints a line of JSON for each way of asking: with and without assumptions, with and without
 * data trace. Or one: what is executed from the run's first state on (engine_forward.h), also of
 * AArch64 ("wide"). "joined": another one for what is known of registers and RAM in the last WINDOW
 * instructions forwards, backwards from the end, and in one way or the other.
 */
#include "tests/bench/reverse/engine_forward.h"
#include "tests/bench/reverse/engine_path.h"
#include "tests/support/random_next.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BANDS 5 /* up to 10, 100, 1,000, 10,000, 100,000 instructions before the halt */
#define START                                                                                      \
    400         /* instructions left out: who sees the reset knows too much; of short runs fewer */
#define SHOWN 8 /* wrong values printed */

struct tally {
    uint64_t checks, words, words_known, wrong, wrong_inferred, conflicts;
    uint64_t total[BANDS], known[BANDS][15];
    uint64_t locals[BANDS], locals_known[BANDS];
    uint64_t insns, bytes;
    unsigned shown;
};

struct engine {
    const struct truth *truth;
    const struct path *path;
    struct truth_ram now; /* at the halt */
    struct truth_ram earlier;
    struct tally tally;
    size_t first, halt;
    bool one_stack, fpu, float_manual, unaligned;
    uint32_t seed;
};

/* Memory of Secure and of Non-secure state: what one of them has is not written down. */
static const uint32_t other_ram[] = {0x38000000, 0x28200000};

static enum values_memory present(void *context, uint32_t address, uint32_t *value)
{
    const struct engine *e = context;
    if (truth_ram_word(&e->now, address, value))
        return VALUES_MEMORY_RAM;
    for (size_t i = 0; i < sizeof other_ram / sizeof *other_ram; i++)
        if (address - other_ram[i] < TRUTH_RAM_SIZE)
            return VALUES_MEMORY_UNREAD;
    return path_code_word(e->path, address, value) ? VALUES_MEMORY_CONST : VALUES_MEMORY_OTHER;
}

static unsigned band_of(size_t distance)
{
    unsigned band = 0;
    for (size_t edge = 10; band + 1 < BANDS && distance > edge; edge *= 10)
        band++;
    return band;
}

static void compare(struct engine *e, size_t at, const char *what, uint32_t which,
                    const struct values_answer *a, uint32_t truth)
{
    if (a->value == truth)
        return;
    *(a->inferred ? &e->tally.wrong_inferred : &e->tally.wrong) += 1;
    if (e->tally.shown++ < SHOWN)
        fprintf(stderr, "  at %zu, halt %zu, pc %08x: %s %x is %08x, said %08x (%s%s) by %zu\n", at,
                e->halt, e->truth->states[at][15], what, which, truth, a->value,
                values_how_name((enum values_how)a->how), a->inferred ? ", inferred" : "",
                e->first + a->step);
}

static void check_registers(struct engine *e, const struct values *r, size_t at)
{
    const uint32_t *state = e->truth->states[at];
    struct values_answer a;
    uint32_t mask, inferred, flags = values_flags(r, at - e->first, &mask, &inferred);
    unsigned band = band_of(e->halt - at);

    if (at < e->halt)
        e->tally.total[band]++;
    for (unsigned reg = 0; reg < 15; reg++) {
        e->tally.checks++;
        if (!values_register(r, at - e->first, reg, &a))
            continue;
        if (at < e->halt)
            e->tally.known[band][reg]++;
        compare(e, at, "r", reg, &a, state[reg]);
    }
    a = (struct values_answer){.value = flags & mask, .inferred = inferred != 0};
    compare(e, at, "flags", 0, &a, state[16] & mask);
}

/* False if the value is not known. */
static bool check_word(struct engine *e, const struct values *r, size_t at, uint32_t address)
{
    struct values_answer a;
    uint32_t truth;
    if (!truth_ram_word(&e->earlier, address, &truth))
        return false;
    e->tally.words++;
    if (!values_word(r, at - e->first, address, &a))
        return false;
    e->tally.words_known++;
    compare(e, at, "word", address, &a, truth);
    return true;
}

/* Words of the stack, and of what was written. */
static void check_some_words(struct engine *e, const struct values *r, size_t at)
{
    const struct truth *t = e->truth;
    uint32_t sp = t->states[at][13] & ~3u;
    for (unsigned i = 0; i < 2; i++) {
        random_next(&e->seed);
        check_word(e, r, at, sp + 4 * (e->seed >> 16 & 31));
        check_word(e, r, at, t->accesses[(e->seed >> 8) % t->access_count].address & ~3u);
    }
}

static void check_locals(struct engine *e, const struct values *r, size_t at, size_t *next)
{
    const struct truth *t = e->truth;
    unsigned band = band_of(e->halt - at);
    struct values_answer a;

    while (*next < t->local_count && t->locals[*next].position < at)
        (*next)++;
    for (; *next < t->local_count && t->locals[*next].position == at; (*next)++) {
        uint32_t where = t->locals[*next].where;
        bool known = where < 15 ? values_register(r, at - e->first, where, &a)
                                : check_word(e, r, at, where & ~3u);
        if (at == e->halt)
            continue;
        e->tally.locals[band]++;
        e->tally.locals_known[band] += known;
    }
}

static int work_out(struct engine *e, uint32_t infer, struct values **r)
{
    const struct path *p = e->path;
    const uint32_t *state = e->truth->states[e->halt];
    size_t from = 0, to;

    while (from < p->event_count && p->events[from].position <= e->first)
        from++;
    for (to = from; to < p->event_count && p->events[to].position <= e->halt;)
        to++;
    struct values_ram ram = {e->truth->ram_base, TRUTH_RAM_SIZE};
    struct values_window w = {.insns = p->insns + e->first,
                              .count = e->halt - e->first,
                              .events = p->events + from,
                              .event_count = to - from,
                              .first = e->first,
                              .final_known = 0xffff,
                              .final_cpsr = state[16],
                              .final_cpsr_known = true,
                              .read = present,
                              .context = e,
                              .ram = &ram,
                              .ram_count = 1,
                              .infer = infer,
                              .m_profile = p->m_profile,
                              .a_banks = !p->m_profile,
                              .m_one_stack = e->one_stack,
                              .m_bit_band = p->bit_band,
                              .m_fpu = e->fpu,
                              .m_float_manual = e->float_manual,
                              .m_unaligned = e->unaligned};
    memcpy(w.final, state, sizeof w.final);
    if (e->truth->system) {
        w.final_stacks_known = true;
        w.final_msp = e->truth->system[e->halt][TRUTH_MSP];
        w.final_psp = e->truth->system[e->halt][TRUTH_PSP];
    }
    w.final_isa = state[16] >> (p->m_profile ? 24 : 5) & 1 ? BT_ISA_T32 : BT_ISA_A32;
    bool done;
    int error = values_begin(r, &w);
    if (!error)
        error = values_work(*r, SIZE_MAX, &done);
    if (error)
        values_free(*r);
    return error;
}

static int examine(struct engine *e, uint32_t infer)
{
    struct values_counts counts;
    struct values *r;
    size_t local = 0;
    int error = work_out(e, infer, &r);
    if (error)
        return error;
    values_counts(r, &counts);
    e->tally.conflicts += counts.conflicts;
    e->tally.bytes += counts.memory_bytes;
    e->tally.insns += e->halt - e->first;
    truth_ram_init(&e->earlier, e->truth);
    for (size_t at = e->first; at <= e->halt; at++) {
        truth_ram_move(&e->earlier, at);
        check_registers(e, r, at);
        check_some_words(e, r, at);
        check_locals(e, r, at, &local);
    }
    values_free(r);
    return BT_OK;
}

enum { FORWARDS, BACKWARDS, EITHER, DIRECTIONS };

static void count_known(uint64_t sums[DIRECTIONS], bool forwards, bool backwards)
{
    sums[FORWARDS] += forwards;
    sums[BACKWARDS] += backwards;
    sums[EITHER] += forwards || backwards;
}

/* The last `window` instructions. */
static int examine_joined(struct engine *e, size_t window)
{
    uint64_t registers[DIRECTIONS] = {0}, words[DIRECTIONS] = {0}, asked = 0;
    size_t count = e->truth->count;
    struct forward_known known = {calloc(count + 1, sizeof *known.registers),
                                  calloc(count / FORWARD_MEMORY + 1, sizeof *known.words)};
    struct values_answer a;
    struct values *r;
    if (!known.registers || !known.words)
        return BT_ERR_NOMEM;
    forward_examine(e->truth, e->path, e->fpu, false, false, false, &known);
    e->halt = count;
    e->first = count > window ? count - window : 0;
    truth_ram_move(&e->now, count);
    int error = work_out(e, VALUES_INFER_ALL, &r);
    if (error)
        return error;
    truth_ram_init(&e->earlier, e->truth);
    for (size_t at = e->first; at < count; at++) {
        truth_ram_move(&e->earlier, at);
        check_registers(e, r, at);
        for (unsigned reg = 0; reg < 15; reg++)
            count_known(registers, known.registers[at] >> reg & 1,
                        values_register(r, at - e->first, reg, &a));
        asked += at % FORWARD_MEMORY == 0;
        for (uint32_t i = 0; at % FORWARD_MEMORY == 0 && i < FORWARD_WORDS; i++)
            count_known(words, known.words[at / FORWARD_MEMORY][i / 8] >> i % 8 & 1,
                        check_word(e, r, at, e->truth->ram_base + 4 * i));
    }
    values_free(r);
    free(known.registers);
    free(known.words);
    printf("{\"registers\":%zu,\"words\":%" PRIu64 ",\"wrong\":%" PRIu64, 15 * (count - e->first),
           asked * FORWARD_WORDS, e->tally.wrong + e->tally.wrong_inferred);
    for (unsigned d = 0; d < DIRECTIONS; d++)
        printf(",\"%s\":[%" PRIu64 ",%" PRIu64 "]",
               (const char *[]){"forwards", "backwards", "either"}[d], registers[d], words[d]);
    printf("}\n");
    return BT_OK;
}

static void list(const char *name, const uint64_t values[BANDS])
{
    printf(",\"%s\":[", name);
    for (unsigned b = 0; b < BANDS; b++)
        printf("%s%" PRIu64, b ? "," : "", values[b]);
    printf("]");
}

static void report(const struct tally *t, bool infer, bool data)
{
    printf("{\"infer\":%d,\"data\":%d,\"checks\":%" PRIu64 ",\"words\":%" PRIu64
           ",\"words_known\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"wrong_inferred\":%" PRIu64
           ",\"conflicts\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"insns\":%" PRIu64,
           infer, data, t->checks, t->words, t->words_known, t->wrong, t->wrong_inferred,
           t->conflicts, t->bytes, t->insns);
    list("total", t->total);
    list("locals", t->locals);
    list("locals_known", t->locals_known);
    for (unsigned reg = 0; reg < 15; reg++) {
        uint64_t known[BANDS];
        char name[8];
        for (unsigned b = 0; b < BANDS; b++)
            known[b] = t->known[b][reg];
        snprintf(name, sizeof name, "r%u", reg);
        list(name, known);
    }
    printf("}\n");
}

static bool has_word(char **words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

int main(int argc, char **argv)
{
    struct truth truth;
    struct path path;
    static struct engine e;

    if (argc < 5) {
        fprintf(stderr,
                "usage: engine FOLDER RAM-BASE HALTS WINDOW [one-stack] [fpu] [float-manual] "
                "[unaligned] [forward [halts [lacking]] [where] [wide] [joined]]\n");
        return 2;
    }
    size_t halts = strtoul(argv[3], NULL, 0), window = strtoul(argv[4], NULL, 0);
    truth_load(&truth, argv[1], (uint32_t)strtoul(argv[2], NULL, 0), has_word(argv + 5, "wide"));
    if (has_word(argv + 5, "forward")) {
        path_load(&path, argv[1], &truth, false);
        int error = BT_OK;
        e = (struct engine){.truth = &truth, .path = &path, .fpu = has_word(argv + 5, "fpu")};
        truth_ram_init(&e.now, &truth);
        if (has_word(argv + 5, "joined"))
            error = examine_joined(&e, window);
        else
            forward_examine(&truth, &path, e.fpu, has_word(argv + 5, "where"),
                            has_word(argv + 5, "halts"), has_word(argv + 5, "lacking"), NULL);
        path_release(&path);
        truth_release(&truth);
        return error != BT_OK;
    }
    size_t start = truth.count / 8 < START ? truth.count / 8 : START;
    for (unsigned ask = 0; ask < 4; ask++) {
        bool infer = ask & 1, data = ask & 2;
        path_load(&path, argv[1], &truth, data);
        memset(&e.tally, 0, sizeof e.tally);
        e.truth = &truth;
        e.path = &path;
        e.one_stack = has_word(argv + 5, "one-stack");
        e.fpu = has_word(argv + 5, "fpu");
        e.float_manual = has_word(argv + 5, "float-manual");
        e.unaligned = has_word(argv + 5, "unaligned");
        truth_ram_init(&e.now, &truth);
        for (size_t i = 1; i <= halts; i++) {
            e.halt = truth.count * (halts + i) / (2 * halts); /* in the later half */
            e.first = e.halt > window + start ? e.halt - window : start;
            truth_ram_move(&e.now, e.halt);
            if (e.halt <= start || examine(&e, infer ? VALUES_INFER_ALL : 0) != BT_OK) {
                fprintf(stderr, "engine: cannot reconstruct values\n");
                return 1;
            }
        }
        report(&e.tally, infer, data);
        path_release(&path);
    }
    truth_release(&truth);
    return 0;
}
