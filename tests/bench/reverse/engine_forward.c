/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/reverse/engine_forward.h"

#include "decoder/execute/execute.h"
#include "decoder/values/values.h"
#include "tests/support/random_next.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AGAIN  600 /* instructions between two halts, at most */
#define MEMORY 64  /* positions between two looks at all of RAM */
#define SHOWN  8   /* wrong values printed */
#define WORDS  (TRUTH_RAM_SIZE / 4)

struct forward {
    const struct truth *truth;
    const struct path *path;
    struct truth_ram ram;
    struct execute x;
    struct execute_budget budget;
    size_t again; /* the next halt; 0: none */
    uint32_t seed;
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

static void wrong(struct forward *f, size_t at, const char *what, uint32_t which, uint32_t truth,
                  uint32_t said)
{
    if (f->wrong++ < SHOWN)
        fprintf(stderr, "  forwards at %zu, pc %08x: %s %x is %08x, said %08x\n", at,
                f->truth->states[at][15], what, which, truth, said);
}

static void compare_ram(struct forward *f, size_t at)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t address = f->truth->ram_base + 4 * i, said, truth;
        f->words++;
        if (!execute_memory_read(&f->x.memory, address, &said, 4))
            continue;
        f->words_known++;
        truth_ram_word(&f->ram, address, &truth);
        if (said != truth)
            wrong(f, at, "word", address, truth, said);
    }
}

static void compare(struct forward *f, size_t at)
{
    const uint32_t *state = f->truth->states[at];
    const struct execute_regs *r = &f->x.regs;
    uint32_t flags = r->psr_known & 0xf0000000u;
    for (unsigned i = 0; i < 15; i++) {
        bool known = r->known >> i & 1;
        f->registers++;
        f->registers_known += known;
        f->sp_known += known && i == EXECUTE_SP;
        if (known && (uint32_t)r->value[i] != state[i])
            wrong(f, at, "r", i, state[i], (uint32_t)r->value[i]);
    }
    if ((r->psr ^ state[16]) & flags)
        wrong(f, at, "flags", flags, state[16] & flags, r->psr & flags);
    if (at % MEMORY == 0)
        compare_ram(f, at);
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

/* All is known, as at a halt. */
static void begin(struct forward *f, size_t at)
{
    const uint32_t *state = f->truth->states[at];
    struct execute_regs *r = &f->x.regs;
    memset(r, 0, sizeof *r);
    for (unsigned i = 0; i < 15; i++)
        r->value[i] = state[i];
    r->known = 0x7fff;
    r->psr = state[16];
    r->psr_known = ~0u;
    r->float_settled = !at;
    f->x.ways.open = f->x.returned = false;
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
        uint64_t next = at < p->count ? p->insns[at].address : f->truth->states[at][15];
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
                             .next = at + 1 < p->count ? p->insns[at + 1].address
                                                       : f->truth->states[at + 1][15],
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

static void say_where(const struct execute *x, size_t at, const struct execute_insn *i,
                      const struct execute *before)
{
    if (x->clobbers != before->clobbers)
        printf("# at %zu, pc %08x, %08x: a store to somewhere\n", at, (uint32_t)i->address,
               i->opcode);
    if (x->unknown != before->unknown)
        printf("# at %zu, pc %08x, %08x: not followed\n", at, (uint32_t)i->address, i->opcode);
}

/* What QEMU tells of the PSR lacks the block. */
static bool may_be_in_it_block(struct forward *f, size_t at)
{
    uint8_t it[2];
    for (uint32_t back = 2; back <= 14; back += 2)
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
        struct execute before = {.clobbers = f->x.clobbers, .unknown = f->x.unknown};
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
            fprintf(stderr, "  forwards at %zu, pc %08x: error %d\n", at, f->truth->states[at][15],
                    error);
            return error;
        }
    }
    return BT_OK;
}

void forward_examine(const struct truth *t, const struct path *p, bool fpu, bool where, bool halts)
{
    static struct forward f;
    f = (struct forward){.truth = t, .path = p};
    f.budget.limit = 64u << 20;
    f.x.core =
        (struct execute_core){.profile = p->m_profile ? EXECUTE_PROFILE_M : EXECUTE_PROFILE_AR,
                              .fpu = fpu,
                              .bit_band = p->bit_band,
                              .limits = p->limits};
    f.x.code = execute_code_new();
    execute_memory_init(&f.x.memory, &f.budget, kind_of, &f);
    if (halts && (t->system || !p->m_profile))
        f.again = f.seed = AGAIN / 2;
    int error = run(&f, where);
    printf("{\"wrong\":%" PRIu64 ",\"error\":%d,\"registers\":%" PRIu64
           ",\"registers_known\":%" PRIu64 ",\"sp_known\":%" PRIu64 ",\"words\":%" PRIu64
           ",\"words_known\":%" PRIu64 ",\"clobbers\":%" PRIu64 ",\"unknown\":%" PRIu64 "}\n",
           f.wrong, error, f.registers, f.registers_known, f.sp_known, f.words, f.words_known,
           f.x.clobbers, f.x.unknown);
    execute_memory_release(&f.x.memory);
    execute_code_free(f.x.code);
}
