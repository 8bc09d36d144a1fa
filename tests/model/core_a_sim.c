/* SPDX-License-Identifier: BSD-3-Clause */
#include "core_a_sim.h"

#include <string.h>

#define MODE        0x1fu
#define MODE_USER   0x10u
#define MODE_SYSTEM 0x1fu
#define PAGE        0xfffu
#define MIDR        CORE_A_CP15(0, 0, 0, 0)
#define MPIDR       CORE_A_CP15(0, 0, 0, 5)
#define SCTLR       CORE_A_CP15(1, 0, 0, 0)
#define CPACR       CORE_A_CP15(1, 0, 0, 2)
#define DFSR        CORE_A_CP15(5, 0, 0, 0)
#define DFAR        CORE_A_CP15(6, 0, 0, 0)
#define CONTEXTIDR  CORE_A_CP15(13, 0, 0, 1)
#define SPSR_BANK   2

static struct core_a_sim_core *core_of(void *ctx, unsigned core)
{
    return &((struct core_a_sim *)ctx)->core[core];
}

static bool inside(uint32_t address, size_t size)
{
    uint32_t offset = address - CORE_A_SIM_MEMORY;
    return offset < CORE_A_SIM_SIZE && CORE_A_SIM_SIZE - offset >= size;
}

static int read_memory(void *ctx, uint32_t address, void *bytes, size_t size)
{
    const struct core_a_sim *s = ctx;
    if (!inside(address, size))
        return -1;
    memcpy(bytes, s->memory + (address - CORE_A_SIM_MEMORY), size);
    return 0;
}

static int write_memory(void *ctx, uint32_t address, const void *bytes, size_t size)
{
    struct core_a_sim *s = ctx;
    if (!inside(address, size))
        return -1;
    memcpy(s->memory + (address - CORE_A_SIM_MEMORY), bytes, size);
    return 0;
}

static int translate(void *ctx, unsigned core, uint32_t address, uint32_t *physical)
{
    (void)ctx;
    (void)core;
    *physical = address;
    return (address & ~PAGE) == CORE_A_SIM_HOLE ? CORE_A_UNMAPPED : 0;
}

static int load(void *ctx, unsigned core, uint32_t address, void *bytes, size_t size)
{
    int r = translate(ctx, core, address, &address);
    return r ? r : read_memory(ctx, address, bytes, size) < 0 ? CORE_A_REFUSED : 0;
}

static int store(void *ctx, unsigned core, uint32_t address, const void *bytes, size_t size)
{
    int r = translate(ctx, core, address, &address);
    return r ? r : write_memory(ctx, address, bytes, size) < 0 ? CORE_A_REFUSED : 0;
}

static bool breakpoint_at(const struct core_a_sim_core *c, enum core_a_breakpoint_kind kind,
                          uint32_t address)
{
    for (unsigned i = 0; i < CORE_A_SIM_BREAKPOINTS; i++) {
        bool code = c->breakpoints[i].kind == CORE_A_BREAKPOINT_CODE;
        if (c->breakpoints[i].on && code == (kind == CORE_A_BREAKPOINT_CODE) &&
            (code || c->breakpoints[i].kind == CORE_A_BREAKPOINT_ACCESS ||
             c->breakpoints[i].kind == kind) &&
            (code ? address == c->breakpoints[i].address
                  : address - c->breakpoints[i].address < c->breakpoints[i].size))
            return true;
    }
    return false;
}

static void stop(struct core_a_sim_core *c, enum core_a_stop why)
{
    c->stop = why;
    c->does = c->want = CORE_A_STOPPED;
}

/* One instruction; false: it stops in front of it. */
static bool run_one(struct core_a_sim *s, struct core_a_sim_core *c)
{
    uint32_t *pc = &c->reg[CORE_A_PC], opcode = 0;
    read_memory(s, *pc, &opcode, sizeof opcode);
    if (breakpoint_at(c, CORE_A_BREAKPOINT_CODE, *pc) || (c->bkpt && opcode == 0xe1200070)) {
        stop(c, CORE_A_STEPPED);
        return false;
    }
    if ((opcode & 0xffff0000) == 0xe5810000 &&
        breakpoint_at(c, CORE_A_BREAKPOINT_WRITE, c->reg[1])) { /* STR rt, [r1] */
        c->accessed = c->reg[1];
        stop(c, CORE_A_ACCESSES);
        return false;
    }
    if ((opcode & 0xffff0000) == 0xe5810000)
        write_memory(s, c->reg[1], &c->reg[opcode >> 12 & 0xf], 4);
    else if ((opcode & 0xfff00000) == 0xe2800000)
        c->reg[opcode >> 12 & 0xf] = c->reg[opcode >> 16 & 0xf] + (opcode & 0xff);
    else if ((opcode & 0xffff0f00) == 0xe3a00000)
        c->reg[opcode >> 12 & 0xf] = opcode & 0xff;
    else if ((opcode & 0xff000000) == 0xea000000)
        *pc += 4 + (uint32_t)((int32_t)(opcode << 8) >> 6);
    *pc += 4;
    return true;
}

static void advance(struct core_a_sim *s, struct core_a_sim_core *c)
{
    unsigned count = c->does == CORE_A_STEPPING ? 1 : s->burst;
    bool steps = c->does == CORE_A_STEPPING;
    for (unsigned i = 0; i < count && c->does != CORE_A_STOPPED; i++)
        run_one(s, c);
    if (steps && c->does != CORE_A_STOPPED)
        stop(c, CORE_A_STEPPED);
}

static void want(void *ctx, unsigned core, enum core_a_run run)
{
    core_of(ctx, core)->want = run;
}

static int carry_out(void *ctx)
{
    struct core_a_sim *s = ctx;
    for (unsigned i = 0; i < s->count; i++)
        s->core[i].does = s->core[i].want;
    return 0;
}

static enum core_a_stop poll_core(void *ctx, unsigned core, uint32_t *address)
{
    struct core_a_sim_core *c = core_of(ctx, core);
    advance(ctx, c);
    enum core_a_stop why = c->stop;
    *address = c->accessed;
    c->stop = CORE_A_NONE;
    return why;
}

static int reset(void *ctx)
{
    struct core_a_sim *s = ctx;
    for (unsigned i = 0; i < s->count; i++) {
        s->core[i].reg[CORE_A_PC] = CORE_A_SIM_MEMORY;
        s->core[i].does = s->core[i].want = CORE_A_STOPPED;
    }
    return 0;
}

static int mask(void *ctx, unsigned core, bool on)
{
    (void)ctx;
    (void)core;
    (void)on;
    return 0;
}

static unsigned bank_of(uint32_t cpsr)
{
    unsigned mode = cpsr & MODE;
    return mode == MODE_SYSTEM ? MODE_USER : mode;
}

static void swap_banks(struct core_a_sim_core *c, uint32_t cpsr)
{
    static const uint8_t banked[] = {13, 14, CORE_A_SPSR};
    unsigned from = bank_of(c->reg[CORE_A_CPSR]), to = bank_of(cpsr);
    for (unsigned i = 0; i < sizeof banked && from != to; i++) {
        c->bank[from][i] = c->reg[banked[i]];
        c->reg[banked[i]] = c->bank[to][i];
    }
}

static int get(void *ctx, unsigned core, unsigned reg, uint32_t *value)
{
    if (reg >= CORE_A_FP_END)
        return -1;
    *value = core_of(ctx, core)->reg[reg];
    return 0;
}

static int set(void *ctx, unsigned core, unsigned reg, uint32_t value)
{
    struct core_a_sim_core *c = core_of(ctx, core);
    if (reg >= CORE_A_FP_END)
        return -1;
    if (reg == CORE_A_CPSR)
        swap_banks(c, value);
    c->reg[reg] = value;
    return 0;
}

static uint32_t *cp15(struct core_a_sim_core *c, uint32_t reg)
{
    switch (reg) {
    case DFSR:
        return &c->dfsr;
    case DFAR:
        return &c->dfar;
    case CONTEXTIDR:
        return &c->contextid;
    default:
        return NULL;
    }
}

static int get_cp15(void *ctx, unsigned core, uint32_t reg, uint32_t *value)
{
    const uint32_t *at = cp15(core_of(ctx, core), reg);
    if (at)
        *value = *at;
    else if (reg == MIDR)
        *value = 0x413fc090;
    else if (reg == MPIDR)
        *value = 0x80000000 | core;
    else if (reg == SCTLR)
        *value = 0x00c50079;
    else if (reg == CPACR)
        *value = 0x00f00000;
    else
        return -1;
    return 0;
}

static int set_cp15(void *ctx, unsigned core, uint32_t reg, uint32_t value)
{
    uint32_t *at = cp15(core_of(ctx, core), reg);
    if (at)
        *at = value;
    return at ? 0 : -1;
}

static int set_breakpoint(void *ctx, unsigned core, enum core_a_breakpoint_kind kind,
                          uint32_t address, uint32_t size, bool on)
{
    struct core_a_sim_core *c = core_of(ctx, core);
    for (unsigned i = 0; i < CORE_A_SIM_BREAKPOINTS; i++) {
        bool same = c->breakpoints[i].on && c->breakpoints[i].kind == kind &&
                    c->breakpoints[i].address == address;
        if (on ? !c->breakpoints[i].on : same) {
            c->breakpoints[i].kind = kind;
            c->breakpoints[i].address = address;
            c->breakpoints[i].size = size;
            c->breakpoints[i].on = on;
            return 0;
        }
    }
    return -1;
}

static int set_bkpt(void *ctx, unsigned core, bool stops)
{
    core_of(ctx, core)->bkpt = stops;
    return 0;
}

static int set_debug(void *ctx, unsigned core, bool state)
{
    core_of(ctx, core)->debug = state;
    return 0;
}

/* Trace: none. */

static int set_trace(void *ctx, unsigned core, const struct core_a_trace *trace)
{
    core_of(ctx, core)->trace = *trace;
    return 0;
}

static int flush_trace(void *ctx, unsigned core)
{
    (void)ctx;
    (void)core;
    return 0;
}

/* While it is on: a byte for each time that somebody asks. */
static size_t trace(void *ctx, unsigned core, uint8_t *bytes, size_t size)
{
    struct core_a_sim_core *c = core_of(ctx, core);
    if (!c->trace.on || size == 0)
        return 0;
    c->trace.on = false; /* once; the test says when again */
    bytes[0] = (uint8_t)(0xc0 | core);
    return 1;
}

static int pace(void *ctx, uint64_t rate)
{
    ((struct core_a_sim *)ctx)->pace = rate;
    return 0;
}

void core_a_sim_init(struct core_a_sim *s, unsigned count)
{
    /* MOV r0, #0; loop: ADD r0, r0, #1; STR r0, [r1]; B loop */
    static const uint32_t program[] = {0xe3a00000, 0xe2800001, 0xe5810000, 0xeafffffc};
    memset(s, 0, sizeof *s);
    s->count = count;
    s->burst = 7;
    memcpy(s->memory, program, sizeof program);
    for (unsigned i = 0; i < count; i++) {
        struct core_a_sim_core *c = &s->core[i];
        c->reg[CORE_A_PC] = CORE_A_SIM_MEMORY;
        c->reg[CORE_A_CPSR] = 0x000001df;
        c->reg[1] = CORE_A_SIM_VALUE + 4 * i;
        c->does = c->want = CORE_A_RUNNING;
    }
}

struct core_a core_a_sim_cores(struct core_a_sim *s)
{
    static const struct core_a_ops ops = {
        .want = want,
        .carry_out = carry_out,
        .poll = poll_core,
        .reset = reset,
        .mask = mask,
        .get = get,
        .set = set,
        .get_cp15 = get_cp15,
        .set_cp15 = set_cp15,
        .load = load,
        .store = store,
        .translate = translate,
        .set_breakpoint = set_breakpoint,
        .set_bkpt = set_bkpt,
        .set_debug = set_debug,
        .read_memory = read_memory,
        .write_memory = write_memory,
        .set_trace = set_trace,
        .flush_trace = flush_trace,
        .trace = trace,
        .pace = pace,
    };
    return (struct core_a){&ops, s, s->count};
}
