/* SPDX-License-Identifier: BSD-3-Clause */
#include "core_sim.h"

#include <string.h>

#define PC   15
#define XPSR 16
#define MSP  17

#define XPSR_T 0x01000000u
#define XPSR_Z 0x40000000u

/* Vectors: stack, reset; then the loop. */
static const uint8_t program[] = {
    0x00, 0x80, 0x00, 0x20, /* 00: stack 0x20008000 */
    0x41, 0x00, 0x00, 0x08, /* 04: reset 0x08000040 */
};
static const uint16_t loop[] = {
    0x2000, /* 40: movs r0, #0 */
    0x2120, /* 42: movs r1, #0x20 */
    0xbf00, /* 44: nop */
    0x3001, /* 46: adds r0, #1 */
    0x6010, /* 48: str r0, [r2] */
    0xe7fb, /* 4a: b 44 */
};

static uint8_t *locate(struct core_sim *c, uint32_t address, size_t size)
{
    uint32_t base[] = {0, CORE_SIM_FLASH, CORE_SIM_RAM};
    uint8_t *bytes[] = {c->flash, c->flash, c->ram};
    uint32_t length[] = {CORE_SIM_FLASH_SIZE, CORE_SIM_FLASH_SIZE, CORE_SIM_RAM_SIZE};
    for (unsigned i = 0; i < 3; i++) {
        uint32_t offset = address - base[i];
        if (offset < length[i] && size <= length[i] - offset)
            return bytes[i] + offset;
    }
    return NULL;
}

static int read_memory(void *ctx, uint32_t address, void *bytes, size_t size)
{
    const uint8_t *from = locate(ctx, address, size);
    if (!from)
        return -1;
    memcpy(bytes, from, size);
    return 0;
}

static int write_memory(void *ctx, uint32_t address, const void *bytes, size_t size)
{
    uint8_t *to = locate(ctx, address, size);
    if (!to)
        return -1;
    memcpy(to, bytes, size);
    return 0;
}

static bool at_breakpoint(const struct core_sim *c, enum core_breakpoint_kind kind,
                          uint32_t address)
{
    for (unsigned i = 0; i < CORE_SIM_BREAKPOINTS; i++) {
        bool match =
            c->breakpoints[i].kind == kind ||
            (c->breakpoints[i].kind == CORE_BREAKPOINT_ACCESS && kind != CORE_BREAKPOINT_CODE);
        if (c->breakpoints[i].on && match &&
            address - c->breakpoints[i].address < c->breakpoints[i].size)
            return true;
    }
    return false;
}

static void set_zero(struct core_sim *c, bool zero)
{
    c->reg[XPSR] = zero ? c->reg[XPSR] | XPSR_Z : c->reg[XPSR] & ~XPSR_Z;
}

static void immediate(struct core_sim *c, unsigned op)
{
    uint32_t *rd = &c->reg[op >> 8 & 7];
    uint32_t imm = op & 0xff;
    switch (op >> 11 & 3) {
    case 0:
        *rd = imm;
        set_zero(c, imm == 0);
        break;
    case 1:
        set_zero(c, *rd == imm);
        break;
    case 2:
        *rd += imm;
        set_zero(c, *rd == 0);
        break;
    default:
        *rd -= imm;
        set_zero(c, *rd == 0);
        break;
    }
}

static void load_store(struct core_sim *c, unsigned op)
{
    bool load = op >> 11 & 1;
    uint32_t address = c->reg[op >> 3 & 7] + (op >> 6 & 31) * 4;
    uint32_t *rt = &c->reg[op & 7];
    int r = load ? read_memory(c, address, rt, 4) : write_memory(c, address, rt, 4);
    if (r < 0)
        c->stop = CORE_STOP_VECTOR;
    else if (at_breakpoint(c, load ? CORE_BREAKPOINT_READ : CORE_BREAKPOINT_WRITE, address))
        c->stop = CORE_STOP_WATCHPOINT;
}

static void branch(struct core_sim *c, unsigned op)
{
    uint32_t pc = c->reg[PC];
    bool zero = c->reg[XPSR] & XPSR_Z;
    if ((op & 0xf800) == 0xe000)
        c->reg[PC] = pc + 2 + (uint32_t)((int32_t)(op << 21) >> 20);
    else if ((op >> 8 & 0xf) == (zero ? 0 : 1))
        c->reg[PC] = pc + 2 + (uint32_t)((int32_t)(op << 24) >> 23);
}

/* One instruction; anything it does not know stops it as a fault with vector catch would. */
static void execute(struct core_sim *c)
{
    uint16_t op;
    if (read_memory(c, c->reg[PC], &op, 2) < 0) {
        c->stop = CORE_STOP_VECTOR;
        return;
    }
    if ((op & 0xff00) == 0xbe00) {
        c->stop = CORE_STOP_BREAKPOINT;
        return;
    }
    c->reg[PC] += 2;
    c->instructions++;
    if ((op & 0xe000) == 0x2000)
        immediate(c, op);
    else if ((op & 0xf000) == 0x6000)
        load_store(c, op);
    else if ((op & 0xf800) == 0xe000 || (op & 0xfe00) == 0xd000)
        branch(c, op);
    else if (op != 0xbf00)
        c->stop = CORE_STOP_VECTOR;
}

static int halt(void *ctx)
{
    struct core_sim *c = ctx;
    if (c->stop == CORE_RUNNING)
        c->stop = CORE_STOP_REQUEST;
    return 0;
}

static int resume(void *ctx)
{
    struct core_sim *c = ctx;
    c->stop = CORE_RUNNING;
    return 0;
}

static int step(void *ctx)
{
    struct core_sim *c = ctx;
    if (at_breakpoint(c, CORE_BREAKPOINT_CODE, c->reg[PC])) {
        c->stop = CORE_STOP_BREAKPOINT; /* as hardware: a breakpoint here must go first */
        return 0;
    }
    c->stop = CORE_RUNNING;
    execute(c);
    if (c->stop == CORE_RUNNING)
        c->stop = CORE_STOP_REQUEST;
    return 0;
}

static int reset(void *ctx, bool stop)
{
    struct core_sim *c = ctx;
    memset(c->reg, 0, sizeof c->reg);
    read_memory(c, 0, &c->reg[MSP], 4);
    read_memory(c, 4, &c->reg[PC], 4);
    c->reg[PC] &= ~1u;
    c->reg[14] = UINT32_MAX;
    c->reg[XPSR] = XPSR_T;
    c->reg[2] = CORE_SIM_RAM + 0x100;
    c->stop = stop ? CORE_STOP_VECTOR : CORE_RUNNING;
    return 0;
}

static int state(void *ctx, enum core_stop *stop)
{
    struct core_sim *c = ctx;
    for (unsigned i = 0; c->stop == CORE_RUNNING && i < c->burst; i++) {
        if (at_breakpoint(c, CORE_BREAKPOINT_CODE, c->reg[PC]))
            c->stop = CORE_STOP_BREAKPOINT;
        else
            execute(c);
    }
    *stop = c->stop;
    return 0;
}

/* SP is MSP: the core has one mode. */
static unsigned number(unsigned reg)
{
    return reg == 13 ? MSP : reg;
}

static int read_register(void *ctx, unsigned reg, uint32_t *value)
{
    struct core_sim *c = ctx;
    if (reg >= CORE_SIM_REGISTERS)
        return -1;
    *value = c->reg[number(reg)];
    return 0;
}

static int write_register(void *ctx, unsigned reg, uint32_t value)
{
    struct core_sim *c = ctx;
    if (reg >= CORE_SIM_REGISTERS)
        return -1;
    c->reg[number(reg)] = reg == PC ? value & ~1u : value;
    return 0;
}

static int set_breakpoint(void *ctx, enum core_breakpoint_kind kind, uint32_t address,
                          uint32_t size, bool on)
{
    struct core_sim *c = ctx;
    for (unsigned i = 0; i < CORE_SIM_BREAKPOINTS; i++) {
        bool same = c->breakpoints[i].on && c->breakpoints[i].kind == kind &&
                    c->breakpoints[i].address == address && c->breakpoints[i].size == size;
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

static size_t trace(void *ctx, uint8_t *bytes, size_t size)
{
    struct core_sim *c = ctx;
    if (size > c->trace_size)
        size = c->trace_size;
    memcpy(bytes, c->trace, size);
    memmove(c->trace, c->trace + size, c->trace_size - size);
    c->trace_size -= size;
    return size;
}

int core_sim_put_trace(struct core_sim *c, const void *bytes, size_t size)
{
    if (size > sizeof c->trace - c->trace_size)
        return -1;
    memcpy(c->trace + c->trace_size, bytes, size);
    c->trace_size += size;
    return 0;
}

void core_sim_init(struct core_sim *c)
{
    memset(c, 0, sizeof *c);
    memcpy(c->flash, program, sizeof program);
    memcpy(c->flash + 0x40, loop, sizeof loop);
    c->burst = 16;
    reset(c, false);
}

struct core_model core_sim_model(struct core_sim *c)
{
    static const struct core_model_ops ops = {
        .halt = halt,
        .resume = resume,
        .step = step,
        .reset = reset,
        .state = state,
        .read_register = read_register,
        .write_register = write_register,
        .read_memory = read_memory,
        .write_memory = write_memory,
        .set_breakpoint = set_breakpoint,
        .trace = trace,
    };
    return (struct core_model){&ops, c};
}
