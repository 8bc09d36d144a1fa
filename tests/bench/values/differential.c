/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Value reconstruction against an emulator: every value that is called known, at every position.
 * differential MODE CHECKS [PROGRAM.bin ...]:
 * prints PASS or FAIL lines and shares known. */
#include "tests/bench/values/generate.h"
#include "tests/bench/values/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum knowledge { KNOW_ALL, KNOW_BRANCHES, KNOWLEDGES };

#define BANDS 4 /* by distance from the halt: 100, 1000, 10000, more */

struct tally {
    uint64_t checks, wrong, inferred, inferred_wrong, words, words_known, words_wrong;
    uint64_t words_inferred_wrong;
    uint64_t conflicts;
    uint64_t total[BANDS], known[BANDS][16], exact[BANDS][16];
    uint64_t flags, flags_wrong;
    size_t insns, bytes;
    unsigned shown, rounds;
};

static enum values_memory present(void *context, uint32_t address, uint32_t *value)
{
    const struct machine *m = context;
    if (address - RAM_BASE <= RAM_SIZE - 4) {
        memcpy(value, m->ram + (address - RAM_BASE), 4);
        return VALUES_MEMORY_RAM;
    }
    if (address - CODE_BASE <= CODE_SIZE - 4) {
        memcpy(value, m->code + (address - CODE_BASE), 4);
        return VALUES_MEMORY_CONST;
    }
    return VALUES_MEMORY_OTHER;
}

static bool is_branch(const struct values_insn *i)
{
    if (i->isa == BT_ISA_A32)
        return (i->opcode & 0x0e000000) == 0x0a000000 || (i->opcode & 0x0ffffff0) == 0x012fff10 ||
               (i->opcode & 0x0e108000) == 0x08108000;
    if (i->size == 2)
        return (i->opcode >> 12 == 13 && (i->opcode >> 8 & 15) < 14) || i->opcode >> 11 == 28 ||
               (i->opcode & 0xff00) == 0x4700 || (i->opcode & 0xf500) == 0xb100 ||
               (i->opcode & 0xff00) == 0xbd00;
    return (i->opcode & 0xf8008000) == 0xf0008000;
}

static void wrong(struct tally *t, const struct machine *m, size_t at, const char *what,
                  uint32_t number, const struct values_answer *a, uint32_t truth)
{
    if (t->shown++ >= 12)
        return;
    const struct values_insn *i = &m->insns[at < m->count ? at : m->count - 1];
    printf(
        "  at %zu of %zu pc %08x: %s %x is %08x, said %08x (%s at %u%s) insn there %08x isa %u\n",
        at, m->count, i->address, what, number, truth, a->value,
        values_how_name((enum values_how)a->how), a->step, a->inferred ? ", inferred" : "",
        i->opcode, i->isa);
}

static void check_registers(struct tally *t, const struct values *r, const struct machine *m,
                            size_t first, size_t at)
{
    const struct state *s = &m->states[first + at];
    size_t distance = m->count - first - at;
    unsigned band = distance < 100 ? 0 : distance < 1000 ? 1 : distance < 10000 ? 2 : 3;
    struct values_answer a;
    uint32_t mask, inferred, flags = values_flags(r, at, &mask, &inferred);
    t->total[band]++;
    for (unsigned reg = 0; reg < 15; reg++) {
        t->checks++;
        if (!values_register(r, at, reg, &a))
            continue;
        t->known[band][reg]++;
        t->exact[band][reg] += !a.inferred;
        t->inferred += a.inferred;
        if (a.value == s->regs[reg])
            continue;
        *(a.inferred ? &t->inferred_wrong : &t->wrong) += 1;
        wrong(t, m, first + at, "r", reg, &a, s->regs[reg]);
    }
    t->flags += mask != 0;
    if (((flags ^ s->cpsr) & mask) != 0) {
        *((flags ^ s->cpsr) & mask & ~inferred ? &t->flags_wrong : &t->inferred_wrong) += 1;
        a = (struct values_answer){.value = flags, .step = mask};
        wrong(t, m, first + at, "flags", 0, &a, s->cpsr);
    }
}

static void check_word(struct tally *t, const struct values *r, const struct machine *m,
                       size_t first, size_t at, const uint8_t *ram, uint32_t address)
{
    struct values_answer a;
    uint32_t truth;
    if (address - RAM_BASE > RAM_SIZE - 4)
        return;
    t->words++;
    if (!values_word(r, at, address, &a))
        return;
    t->words_known++;
    memcpy(&truth, ram + (address - RAM_BASE), 4);
    if (truth == a.value)
        return;
    *(a.inferred ? &t->words_inferred_wrong : &t->words_wrong) += 1;
    wrong(t, m, first + at, "word", address, &a, truth);
}

/* From the end back, with the memory of each position. */
static void compare(struct tally *t, const struct values *r, const struct machine *m, size_t first)
{
    static uint8_t ram[RAM_SIZE];
    size_t left = m->write_count;
    uint32_t seed = 77;
    memcpy(ram, m->ram, RAM_SIZE);
    for (size_t at = m->count - first + 1; at-- > 0;) {
        check_registers(t, r, m, first, at);
        uint32_t sp = m->states[first + at].regs[13] & ~3u;
        for (unsigned i = 0; i < 3; i++)
            check_word(t, r, m, first, at, ram, sp + 4 * (machine_random(&seed) % 24));
        for (unsigned i = 0; i < 3 && m->write_count; i++)
            check_word(t, r, m, first, at, ram,
                       m->writes[machine_random(&seed) % m->write_count].address);
        while (left) {
            const struct write *w = &m->writes[left - 1];
            size_t seen = w->step & 0x80000000u ? w->step & 0x7fffffff : (size_t)w->step + 1;
            if (seen < first + at)
                break;
            for (unsigned i = 0; i < 3; i++)
                if (w->address + 4 * i - RAM_BASE <= RAM_SIZE - 4)
                    memcpy(ram + (w->address + 4 * i - RAM_BASE), &w->old[i], 4);
            left--;
        }
    }
}

static int examine(struct tally *t, struct machine *m, size_t first, enum knowledge knowledge,
                   uint32_t infer)
{
    size_t count = m->count - first;
    struct values_insn *insns = malloc((count + 1) * sizeof *insns);
    struct bt_event *events = calloc(m->event_count + 1, sizeof *events);
    size_t event_count = 0;
    for (size_t i = 0; i < count; i++) {
        insns[i] = m->insns[first + i];
        if (knowledge == KNOW_BRANCHES && !is_branch(&insns[i]))
            insns[i].cond = BT_COND_UNKNOWN;
    }
    for (size_t i = 0; i < m->event_count; i++)
        if (m->events[i].position > first)
            events[event_count++] = m->events[i];
    struct values_window w = {.insns = insns,
                              .count = count,
                              .events = events,
                              .event_count = event_count,
                              .first = first,
                              .final_known = 0xffff,
                              .final_cpsr_known = true,
                              .read = present,
                              .context = m,
                              .infer = infer,
                              .m_profile = m->handler != 0,
                              .m_one_stack = m->handler != 0};
    memcpy(w.final, m->states[m->count].regs, sizeof w.final);
    w.final_cpsr = m->states[m->count].cpsr;
    w.final_isa = w.final_cpsr >> 5 & 1 ? BT_ISA_T32 : BT_ISA_A32;
    struct values *r;
    int error = values_begin(&r, &w);
    bool done = false;
    for (size_t slice = 1 + count % 997; !error && !done; slice = slice * 3 % 4099 + 1)
        error = values_work(r, slice, &done);
    if (!error) {
        struct values_counts c;
        compare(t, r, m, first);
        values_counts(r, &c);
        t->conflicts += c.conflicts;
        t->insns += count;
        t->bytes += c.memory_bytes;
        t->rounds = c.rounds > t->rounds ? c.rounds : t->rounds;
        values_free(r);
    }
    free(insns);
    free(events);
    return error;
}

static void report(const char *name, const struct tally *t, uint64_t least)
{
    static const char *const bands[BANDS] = {"<100", "<1000", "<10000", "more"};
    for (unsigned b = 0; b < BANDS; b++) {
        if (!t->total[b])
            continue;
        double sp = 0, lr = 0, saved = 0, low = 0, all = 100.0 / (double)t->total[b];
        sp = (double)t->known[b][13] * all;
        lr = (double)t->known[b][14] * all;
        for (unsigned i = 4; i < 12; i++)
            saved += (double)t->known[b][i] * all / 8;
        for (unsigned i = 0; i < 5; i++)
            low += (double)t->known[b][i == 4 ? 12 : i] * all / 5;
        printf("  %-7s sp %5.1f%% (proved %5.1f%%) lr %5.1f%% r4-r11 %5.1f%% r0-r3,r12 %5.1f%%\n",
               bands[b], sp, (double)t->exact[b][13] * all, lr, saved, low);
    }
    printf("  words %.1f%% of %llu, inferred %llu, flags %llu, %zu bytes an instruction, "
           "%u rounds\n",
           100.0 * (double)t->words_known / (double)(t->words ? t->words : 1),
           (unsigned long long)t->words, (unsigned long long)t->inferred,
           (unsigned long long)t->flags, t->bytes / (t->insns ? t->insns : 1), t->rounds);
    if (t->wrong || t->inferred_wrong || t->words_wrong || t->words_inferred_wrong ||
        t->flags_wrong || t->conflicts)
        printf("FAIL %s: wrong registers %llu, inferred %llu; words %llu, inferred %llu; flags "
               "%llu; contradictions %llu\n",
               name, (unsigned long long)t->wrong, (unsigned long long)t->inferred_wrong,
               (unsigned long long)t->words_wrong, (unsigned long long)t->words_inferred_wrong,
               (unsigned long long)t->flags_wrong, (unsigned long long)t->conflicts);
    else if (t->checks < least)
        printf("FAIL %s: only %llu checks\n", name, (unsigned long long)t->checks);
    else
        printf("PASS %s: %llu checks\n", name, (unsigned long long)t->checks);
}

static void random_code(bool thumb, uint64_t checks)
{
    for (unsigned k = 0; k < KNOWLEDGES; k++) {
        struct tally t = {0};
        char name[80];
        for (uint32_t seed = 1; t.checks < checks / 4 && seed < 20000; seed++) {
            static struct machine m;
            static uint8_t code[CODE_SIZE];
            size_t size = generate(code, 60000, thumb, seed * 7919);
            if (machine_run(&m, code, size, CODE_BASE | thumb, 4000, seed) == 0 && m.count > 8)
                examine(&t, &m, m.count > 3000 ? m.count - 3000 : 0, (enum knowledge)k, 0);
            machine_release(&m);
        }
        snprintf(name, sizeof name, "random %s, %s", thumb ? "T32" : "A32",
                 k ? "conditions of branches" : "all conditions");
        report(name, &t, checks / 4);
    }
}

static size_t read_program(const char *path, uint8_t *code)
{
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(code, 1, CODE_SIZE, f) : 0;
    if (f)
        fclose(f);
    return size;
}

static void program(const char *path, uint64_t checks, bool exceptions, uint32_t infer)
{
    struct tally t = {0};
    static uint8_t code[CODE_SIZE];
    size_t size = read_program(path, code);
    bool thumb = strstr(path, "thumb") != NULL;
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char name[160];
    for (uint32_t seed = 1; size && t.checks < checks && seed < 2000; seed++) {
        static struct machine m;
        m.handler = exceptions ? 0x18001 : 0;
        m.irq_every = 300;
        size_t max = 4000 + machine_random(&(uint32_t){seed * 31337}) % 20000;
        if (machine_run(&m, code, size, CODE_BASE | thumb, max, seed) == 0 && m.count > 100) {
            size_t span = seed % 4 == 0 ? 12000 : 2500;
            examine(&t, &m, m.count > span ? m.count - span : 0,
                    seed & 1 ? KNOW_ALL : KNOW_BRANCHES, infer);
        }
        machine_release(&m);
    }
    snprintf(name, sizeof name, "%s%s%s", base, exceptions ? ", exceptions" : "",
             infer ? ", with assumptions" : "");
    report(name, &t, checks);
}

/* LeakSanitizer asks: Unicorn 2.1 keeps a few bytes of each emulator that is closed. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libunicorn\n";
}

int main(int argc, char **argv)
{
    uint64_t checks = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    if (argc < 3) {
        fprintf(stderr, "usage: differential CHECKS PROGRAM.bin...\n");
        return 2;
    }
    random_code(false, checks / 2);
    random_code(true, checks / 2);
    for (int i = 2; i < argc; i++) {
        for (unsigned k = 0; k < 4; k++) {
            bool exceptions = k & 2;
            if (!exceptions || strstr(argv[i], "thumb"))
                program(argv[i], checks / (uint64_t)(argc - 2) / 2, exceptions,
                        k & 1 ? VALUES_INFER_ALL : 0);
        }
    }
    return 0;
}
