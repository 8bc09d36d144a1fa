/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/reverse/engine_forward.h"

#include "decoder/execute/execute.h"
#include "decoder/values/values.h"
#include "tests/support/random_next.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AGAIN 600 /* instructions between two halts, at most */
#define SHOWN 8   /* wrong values printed */
#define PIECE (TRUTH_RAM_SIZE / 64)

#define FPCR_BITS 0x07c80000u /* AHP, DN, FZ, RMode, FZ16 */
#define FPCR_ALL  0x07ff9f00u /* what MRS has of them: Stride, Len and IDE to IOE, too */

struct forward {
    const struct truth *truth;
    const struct path *path;
    struct truth_ram ram;
    struct execute x;
    struct execute_budget budget;
    size_t again; /* the next halt; 0: none */
    uint32_t seed;
    struct forward_known *known;
    bool lacking; /* what halts tell is not all */
    uint64_t vectors, vectors_known;
    uint64_t registers, registers_known, sp_known, words, words_known, wrong;
};

static enum execute_memory_kind kind_of(void *context, uint64_t address, uint64_t *from,
                                        uint64_t *to, const uint8_t **bytes)
{
    const struct forward *f = context;
    uint64_t base = f->truth->ram_base;
    *from = address;
    *to = address + 1;
    if (address - base < TRUTH_RAM_SIZE) {
        *from = base;
        *to = base + TRUTH_RAM_SIZE;
        return EXECUTE_MEMORY_RAM;
    }
    for (size_t i = 0; i < f->path->image->count; i++) {
        const struct code_region *r = &f->path->image->regions[i];
        if (address - r->address >= r->size)
            continue;
        *from = r->address;
        *to = r->address + r->size;
        *bytes = r->bytes;
        return EXECUTE_MEMORY_CONST;
    }
    return EXECUTE_MEMORY_OTHER;
}

static void wrong(struct forward *f, size_t at, const char *what, uint32_t which, uint64_t truth,
                  uint64_t said)
{
    if (f->wrong++ < SHOWN)
        fprintf(stderr, "  forwards at %zu, pc %08x: %s %x is %08" PRIx64 ", said %08" PRIx64 "\n",
                at, truth_pc(f->truth, at), what, which, truth, said);
}

static void compare_ram(struct forward *f, size_t at)
{
    for (uint32_t i = 0; i < FORWARD_WORDS; i++) {
        uint32_t address = f->truth->ram_base + 4 * i, said, truth;
        f->words++;
        if (!execute_memory_read(&f->x.memory, address, &said, 4))
            continue;
        f->words_known++;
        if (f->known)
            f->known->words[at / FORWARD_MEMORY][i / 8] |= (uint8_t)(1u << i % 8);
        truth_ram_word(&f->ram, address, &truth);
        if (said != truth)
            wrong(f, at, "word", address, truth, said);
    }
}

static void compare_wide(struct forward *f, size_t at);

static void compare(struct forward *f, size_t at)
{
    if (at % FORWARD_MEMORY == 0)
        compare_ram(f, at);
    if (f->truth->wide) {
        compare_wide(f, at);
        return;
    }
    const uint32_t *state = f->truth->states[at];
    const struct execute_regs *r = &f->x.regs;
    uint32_t flags = r->psr_known & 0xf0000000u;
    for (unsigned i = 0; i < 15; i++) {
        bool known = r->known >> i & 1;
        f->registers++;
        f->registers_known += known;
        if (f->known && known)
            f->known->registers[at] |= (uint16_t)(1u << i);
        f->sp_known += known && i == EXECUTE_SP;
        if (known && (uint32_t)r->value[i] != state[i])
            wrong(f, at, "r", i, state[i], (uint32_t)r->value[i]);
    }
    if ((r->psr ^ state[16]) & flags)
        wrong(f, at, "flags", flags, state[16] & flags, r->psr & flags);
}

/* Which entry of enum truth_wide is which of execute_regs; how many in a row. */
static const struct {
    const char *name;
    uint8_t entry, reg, count;
} levels[] = {
    {"SP_EL", TRUTH_SP0, A64_SP0, 4},          {"ELR_EL1+", TRUTH_ELR1, A64_ELR1, 3},
    {"SPSR_EL1+", TRUTH_SPSR1, A64_SPSR1, 3},  {"VBAR_EL1+", TRUTH_VBAR1, A64_VBAR1, 3},
    {"TPIDR_EL", TRUTH_TPIDR0, A64_TPIDR, 5},  {"SCTLR_EL1+", TRUTH_SCTLR1, A64_SCTLR1, 3},
    {"TTBR0_EL1+", TRUTH_TTBR1, A64_TTBR1, 3}, {"TCR_EL1+", TRUTH_TCR1, A64_TCR1, 3},
    {"TTBR1_EL", TRUTH_UPPER, A64_UPPER, 1},   {"HCR_EL", TRUTH_HCR, A64_HCR, 1},
};

/* Of a status or control register the bits in `known`. */
static uint64_t known_bits(unsigned reg, uint64_t value)
{
    if (reg >= A64_SPSR1 && reg < A64_SPSR1 + 3)
        return value >> 32;
    return reg >= A64_SCTLR1 && reg < A64_SCTLR1 + 3 ? ~(value >> 32) & UINT32_MAX : UINT64_MAX;
}

static void compare_levels(struct forward *f, size_t at, int sp)
{
    const struct execute_regs *r = &f->x.regs;
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++)
        for (unsigned k = 0; k < levels[i].count; k++) {
            unsigned reg = levels[i].reg + k;
            uint64_t truth = f->truth->wide_system[at][levels[i].entry + k];
            if ((int)reg == sp || !(r->known >> reg & 1))
                continue;
            if ((r->value[reg] ^ truth) & known_bits(reg, r->value[reg]))
                wrong(f, at, levels[i].name, k, truth, r->value[reg]);
        }
}

static void compare_wide(struct forward *f, size_t at)
{
    const uint64_t *state = f->truth->wide[at], *system = f->truth->wide_system[at];
    const struct execute_regs *r = &f->x.regs;
    int sp = execute_sp(EXECUTE_PROFILE_A64, r);
    for (int i = 0; i < 32; i++) {
        int reg = i < 31 ? i : sp;
        bool known = reg >= 0 && (r->known >> reg & 1);
        f->registers++;
        f->registers_known += known;
        f->sp_known += known && i == 31;
        if (known && r->value[reg] != state[i])
            wrong(f, at, "x", (unsigned)i, state[i], r->value[reg]);
    }
    for (unsigned i = 0; i < 64; i++) {
        bool known = r->vector_known64 >> i & 1;
        f->vectors++;
        f->vectors_known += known;
        if (known && r->vector[i] != system[i])
            wrong(f, at, i & 1 ? "upper half of v" : "v", i / 2, system[i], r->vector[i]);
    }
    if ((r->psr ^ state[33]) & r->psr_known)
        wrong(f, at, "PSTATE", r->psr_known, state[33], r->psr);
    if ((r->fpscr ^ system[TRUTH_FPCR]) & r->fpscr_known & FPCR_BITS)
        wrong(f, at, "FPCR", r->fpscr_known, system[TRUTH_FPCR], r->fpscr);
    compare_levels(f, at, sp);
}

/* As at a halt; behind the first one without one in eight registers and pieces of memory: what is
 * not known may lead to what is wrong. */
static void begin_wide(struct forward *f, size_t at)
{
    const uint64_t *state = f->truth->wide[at], *system = f->truth->wide_system[at];
    struct execute_regs *r = &f->x.regs;
    memset(r, 0, sizeof *r);
    r->psr = (uint32_t)state[33];
    r->psr_known = ~0u;
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++)
        for (unsigned k = 0; k < levels[i].count; k++) {
            bool status = levels[i].reg == A64_SPSR1;
            r->value[levels[i].reg + k] =
                system[levels[i].entry + k] | (status ? UINT64_MAX << 32 : 0);
            r->known |= UINT64_C(1) << (levels[i].reg + k);
        }
    r->value[EXECUTE_MPIDR] = 0x80000000;
    memcpy(r->value, state, 31 * sizeof *state);
    r->value[execute_sp(EXECUTE_PROFILE_A64, r)] = state[31];
    r->known |= UINT64_C(1) << EXECUTE_MPIDR | UINT64_C(0x7fffffff);
    memcpy(r->vector, system, sizeof r->vector);
    r->vector_known64 = UINT64_MAX;
    r->fpscr = (uint32_t)system[TRUTH_FPCR] & FPCR_ALL;
    r->fpscr_known = ~0u;
    execute_memory_write(&f->x.memory, f->truth->ram_base, f->ram.bytes, TRUTH_RAM_SIZE);
    if (!at || !f->lacking)
        return;
    for (unsigned i = 0; i < 128; i++) {
        random_next(&f->seed);
        if (f->seed >> 29)
            continue;
        if (i < 64)
            r->known &= ~(UINT64_C(1) << i);
        else
            execute_memory_write(&f->x.memory, f->truth->ram_base + (i - 64) * PIECE, NULL, PIECE);
    }
}

/* System registers as a debugger reads them at a halt; those in front of the first instruction are
 * as a reset leaves them. */
static void begin_system(struct execute_regs *r, const uint32_t *system)
{
    static const uint8_t regs[TRUTH_SYSTEM_WORDS] = {
        [TRUTH_MSP] = EXECUTE_MSP,         [TRUTH_PSP] = EXECUTE_PSP,
        [TRUTH_SPECIAL] = EXECUTE_CONTROL, [TRUTH_MSPLIM] = EXECUTE_MSPLIM,
        [TRUTH_PSPLIM] = EXECUTE_PSPLIM,   [TRUTH_CCR] = EXECUTE_CCR,
        [TRUTH_FPCCR] = EXECUTE_FPCCR,     [TRUTH_FPCAR] = EXECUTE_FPCAR,
        [TRUTH_FPDSCR] = EXECUTE_FPDSCR,   [TRUTH_MPU_CTRL] = EXECUTE_MPU_CTRL};
    static const uint8_t masks[] = {EXECUTE_PRIMASK, EXECUTE_BASEPRI, EXECUTE_FAULTMASK,
                                    EXECUTE_CONTROL};
    for (unsigned i = 0; i < TRUTH_SYSTEM_WORDS; i++)
        r->value[regs[i]] = system[i];
    for (unsigned i = 0; i < 4; i++)
        r->value[masks[i]] = system[TRUTH_SPECIAL] >> 8 * i & 0xff;
    for (unsigned i = EXECUTE_MSP; i <= EXECUTE_MPU_CTRL; i++)
        r->known |= UINT64_C(1) << i;
    bool process = !(r->psr & 0x1ff) && r->value[EXECUTE_CONTROL] & 2;
    r->known &= ~(UINT64_C(1) << (process ? EXECUTE_PSP : EXECUTE_MSP));
}

/* As a Cortex-A9's reset leaves it, or as it was before the halt. */
static void begin_translation(struct execute_regs *r, const struct execute_regs *before)
{
    for (unsigned i = EXECUTE_SCTLR; i <= EXECUTE_TTBCR; i++) {
        r->value[i] = before ? before->value[i] : i == EXECUTE_SCTLR ? 0xc50078 : 0;
        r->known |= (before ? before->known : ~UINT64_C(0)) & UINT64_C(1) << i;
    }
}

/* All is known, as at a halt. */
static void begin(struct forward *f, size_t at)
{
    f->x.ways = (struct execute_ways){0};
    f->x.derived = (struct execute_derived){0};
    f->x.returned = false;
    f->x.exclusive = (struct execute_exclusive){0};
    if (f->truth->wide) {
        begin_wide(f, at);
        return;
    }
    const uint32_t *state = f->truth->states[at];
    struct execute_regs *r = &f->x.regs, before = *r;
    memset(r, 0, sizeof *r);
    for (unsigned i = 0; i < 15; i++)
        r->value[i] = state[i];
    r->known = 0x7fff;
    r->psr = state[16];
    r->psr_known = ~0u;
    r->float_settled = !at;
    if (f->path->m_profile && f->truth->system && at) {
        begin_system(r, f->truth->system[at]);
    } else if (f->path->m_profile) {
        r->value[EXECUTE_MSP] = state[13];
        r->value[EXECUTE_CCR] = 0x200;
        r->value[EXECUTE_FPCCR] = 0xc0000000;
        for (unsigned i = EXECUTE_MSP; i <= EXECUTE_MPU_CTRL; i++)
            r->known |= UINT64_C(1) << i;
        r->known &= ~(UINT64_C(1) << EXECUTE_PSP);
    }
    if (!f->path->m_profile)
        begin_translation(r, at ? &before : NULL);
    execute_memory_write(&f->x.memory, f->truth->ram_base, f->ram.bytes, TRUTH_RAM_SIZE);
}

static bool counts(const struct bt_event *e)
{
    return (e->kind == BT_EVENT_EXCEPTION && !values_is_halt(e)) ||
           e->kind == BT_EVENT_EXCEPTION_RET;
}

/* The events at `at`; *next: where the instruction before them went on. */
static int run_events(struct forward *f, size_t at, size_t *event)
{
    const struct path *p = f->path;
    int error = BT_OK;
    for (; *event < p->event_count && p->events[*event].position <= at && !error; ++*event) {
        const struct bt_event *e = &p->events[*event];
        uint64_t next = truth_pc(f->truth, at);
        if (e->position < at || !counts(e))
            continue;
        for (size_t i = *event + 1; i < p->event_count && p->events[i].position == at; i++)
            if (p->events[i].kind == BT_EVENT_EXCEPTION && !values_is_halt(&p->events[i])) {
                next = p->events[i].u.exception.has_return ? p->events[i].u.exception.return_address
                                                           : EXECUTE_NO_ADDRESS;
                break;
            }
        error = e->kind == BT_EVENT_EXCEPTION ? execute_exception(&f->x, e, next)
                                              : execute_exception_return(&f->x, e, next);
    }
    return error;
}

static struct execute_insn insn_at(const struct forward *f, size_t at, size_t event)
{
    const struct path *p = f->path;
    const struct values_insn *v = &p->insns[at];
    struct execute_insn i = {.address = v->address,
                             .opcode = v->opcode,
                             .isa = v->isa,
                             .size = v->size,
                             .cond = v->cond,
                             .next = truth_pc(f->truth, at + 1),
                             .has_next = true};
    for (; event < p->event_count && p->events[event].position <= at + 1; event++)
        if (p->events[event].position == at + 1 && p->events[event].kind == BT_EVENT_EXCEPTION &&
            !values_is_halt(&p->events[event])) {
            i.has_next = p->events[event].u.exception.has_return;
            i.next = p->events[event].u.exception.return_address;
            break;
        }
    return i;
}

static bool sp_is_known(const struct execute *x)
{
    int sp = execute_sp(x->core.profile, &x->regs);
    return sp >= 0 && (x->regs.known >> sp & 1);
}

static void say_where(const struct execute *x, size_t at, const struct execute_insn *i,
                      const struct execute *before)
{
    if (x->clobbers != before->clobbers)
        printf("# at %zu, pc %08x, %08x: a store to somewhere\n", at, (uint32_t)i->address,
               i->opcode);
    if (x->unknown != before->unknown)
        printf("# at %zu, pc %08x, %08x: not followed\n", at, (uint32_t)i->address, i->opcode);
    if (sp_is_known(before) && !sp_is_known(x))
        printf("# at %zu, pc %08x, %08x: SP lost\n", at, (uint32_t)i->address, i->opcode);
}

/* What QEMU tells of the PSR lacks the block. */
static bool may_be_in_it_block(struct forward *f, size_t at)
{
    uint8_t it[2];
    for (uint32_t back = 2; back <= 14 && !f->truth->wide; back += 2)
        if (execute_memory_read(&f->x.memory, f->truth->states[at][15] - back, it, 2) &&
            it[1] == 0xbf && it[0] & 15)
            return true;
    return false;
}

/* From the run's beginning to its end, or where what is known contradicts the path. */
static int run(struct forward *f, bool where)
{
    size_t event = 0, at;
    truth_ram_init(&f->ram, f->truth);
    truth_ram_move(&f->ram, 0);
    begin(f, 0);
    for (at = 0; at < f->truth->count; at++) {
        struct execute before = {.core = f->x.core,
                                 .regs = f->x.regs,
                                 .clobbers = f->x.clobbers,
                                 .unknown = f->x.unknown};
        int error = run_events(f, at, &event);
        truth_ram_move(&f->ram, at);
        if (!error) {
            compare(f, at);
            if (f->again && at >= f->again && !may_be_in_it_block(f, at)) {
                random_next(&f->seed);
                f->again = at + 1 + (f->seed >> 16) % AGAIN;
                begin(f, at);
            }
            struct execute_insn i = insn_at(f, at, event);
            error = execute_step(&f->x, &i);
            if (where)
                say_where(&f->x, at, &i, &before);
        }
        if (error) {
            fprintf(stderr, "  forwards at %zu, pc %08x: error %d\n", at, truth_pc(f->truth, at),
                    error);
            return error;
        }
    }
    return BT_OK;
}

void forward_examine(const struct truth *t, const struct path *p, bool fpu, bool where, bool halts,
                     bool lacking, struct forward_known *known)
{
    static struct forward f;
    f = (struct forward){.truth = t, .path = p, .known = known};
    f.budget.limit = 64u << 20;
    f.x.core = (struct execute_core){.profile = t->wide        ? EXECUTE_PROFILE_A64
                                                : p->m_profile ? EXECUTE_PROFILE_M
                                                               : EXECUTE_PROFILE_AR,
                                     .fpu = fpu,
                                     .bit_band = p->bit_band,
                                     .limits = p->limits};
    f.x.code = execute_code_new();
    execute_memory_init(&f.x.memory, &f.budget, kind_of, &f);
    f.lacking = lacking;
    if (halts && (t->system || !p->m_profile))
        f.again = f.seed = AGAIN / 2;
    int error = run(&f, where);
    if (!known)
        printf("{\"wrong\":%" PRIu64 ",\"error\":%d,\"registers\":%" PRIu64
               ",\"registers_known\":%" PRIu64 ",\"sp_known\":%" PRIu64 ",\"words\":%" PRIu64
               ",\"words_known\":%" PRIu64 ",\"vectors\":%" PRIu64 ",\"vectors_known\":%" PRIu64
               ",\"clobbers\":%" PRIu64 ",\"unknown\":%" PRIu64 "}\n",
               f.wrong, error, f.registers, f.registers_known, f.sp_known, f.words, f.words_known,
               f.vectors, f.vectors_known, f.x.clobbers, f.x.unknown);
    execute_memory_release(&f.x.memory);
    execute_code_free(f.x.code);
}
