/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core behind the modelled debug logic that runs any Thumb code: Unicorn, with RAM at 0 and at
 * 0x20000000. A fault stops it as vector catch would.
 */
#ifndef TESTS_USB_UNIT_UNICORN_CORE_H
#define TESTS_USB_UNIT_UNICORN_CORE_H

#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "core_model.h"

#define UNICORN_SIZE  0x100000u
#define UNICORN_RAM   0x20000000u
#define UNICORN_BURST 20000u /* instructions run a look */

struct unicorn_core {
    uc_engine *uc;
    enum core_stop stop;
    uint32_t special;
    unsigned calls; /* times it was let go */
    bool hangs;     /* runs, and never gets anywhere */
    bool stuck;     /* does not halt */
};

static inline int unicorn_id(unsigned reg)
{
    static const int IDS[] = {UC_ARM_REG_R0,   UC_ARM_REG_R1, UC_ARM_REG_R2,  UC_ARM_REG_R3,
                              UC_ARM_REG_R4,   UC_ARM_REG_R5, UC_ARM_REG_R6,  UC_ARM_REG_R7,
                              UC_ARM_REG_R8,   UC_ARM_REG_R9, UC_ARM_REG_R10, UC_ARM_REG_R11,
                              UC_ARM_REG_R12,  UC_ARM_REG_SP, UC_ARM_REG_LR,  UC_ARM_REG_PC,
                              UC_ARM_REG_XPSR, UC_ARM_REG_SP, UC_ARM_REG_PSP};
    return reg < sizeof IDS / sizeof *IDS ? IDS[reg] : UC_ARM_REG_INVALID;
}

/* Stops before a BKPT, as the core does. */
static inline void unicorn_code(uc_engine *uc, uint64_t address, uint32_t size, void *user)
{
    struct unicorn_core *c = user;
    uint16_t op = 0;
    (void)size;
    if (uc_mem_read(uc, address, &op, 2) == UC_ERR_OK && (op & 0xff00) == 0xbe00) {
        c->stop = CORE_STOP_BREAKPOINT;
        uc_emu_stop(uc);
    }
}

static inline void unicorn_run(struct unicorn_core *c, size_t count)
{
    uint32_t pc = 0;
    uc_reg_read(c->uc, UC_ARM_REG_PC, &pc);
    uc_err err = uc_emu_start(c->uc, pc | 1, 0xfffffffe, 0, count);
    if (err != UC_ERR_OK)
        c->stop = CORE_STOP_VECTOR;
}

static inline int unicorn_halt(void *ctx)
{
    struct unicorn_core *c = ctx;
    if (c->stop == CORE_RUNNING && !c->stuck)
        c->stop = CORE_STOP_REQUEST;
    return 0;
}

static inline int unicorn_resume(void *ctx)
{
    struct unicorn_core *c = ctx;
    c->stop = CORE_RUNNING;
    c->calls++;
    return 0;
}

static inline int unicorn_step(void *ctx)
{
    struct unicorn_core *c = ctx;
    c->stop = CORE_RUNNING;
    unicorn_run(c, 1);
    if (c->stop == CORE_RUNNING)
        c->stop = CORE_STOP_REQUEST;
    return 0;
}

static inline int unicorn_reset(void *ctx, bool halt)
{
    struct unicorn_core *c = ctx;
    c->stop = halt ? CORE_STOP_VECTOR : CORE_RUNNING;
    return 0;
}

static inline int unicorn_state(void *ctx, enum core_stop *stop)
{
    struct unicorn_core *c = ctx;
    if (c->stop == CORE_RUNNING && !c->hangs)
        unicorn_run(c, UNICORN_BURST);
    *stop = c->stop;
    return 0;
}

static inline int unicorn_read_register(void *ctx, unsigned reg, uint32_t *value)
{
    struct unicorn_core *c = ctx;
    *value = 0;
    if (reg == 20)
        *value = c->special;
    else if (unicorn_id(reg) != UC_ARM_REG_INVALID)
        uc_reg_read(c->uc, unicorn_id(reg), value);
    return 0;
}

static inline int unicorn_write_register(void *ctx, unsigned reg, uint32_t value)
{
    struct unicorn_core *c = ctx;
    if (reg == 15)
        value |= 1;
    if (reg == 20)
        c->special = value;
    else if (unicorn_id(reg) != UC_ARM_REG_INVALID)
        uc_reg_write(c->uc, unicorn_id(reg), &value);
    return 0;
}

static inline int unicorn_read_memory(void *ctx, uint32_t address, void *bytes, size_t size)
{
    struct unicorn_core *c = ctx;
    return uc_mem_read(c->uc, address, bytes, size) == UC_ERR_OK ? 0 : -1;
}

static inline int unicorn_write_memory(void *ctx, uint32_t address, const void *bytes, size_t size)
{
    struct unicorn_core *c = ctx;
    if (uc_mem_write(c->uc, address, bytes, size) != UC_ERR_OK)
        return -1;
    uc_ctl_remove_cache(c->uc, address, address + size);
    return 0;
}

static inline int unicorn_set_breakpoint(void *ctx, enum core_breakpoint_kind kind,
                                         uint32_t address, uint32_t size, bool on)
{
    (void)ctx;
    (void)kind;
    (void)address;
    (void)size;
    (void)on;
    return 0;
}

static inline size_t unicorn_trace(void *ctx, uint8_t *bytes, size_t size)
{
    (void)ctx;
    (void)bytes;
    (void)size;
    return 0;
}

/* It runs a branch to itself. 0 or -1. */
static inline int unicorn_core_init(struct unicorn_core *c, struct core_model *model)
{
    static const struct core_model_ops OPS = {
        .halt = unicorn_halt,
        .resume = unicorn_resume,
        .step = unicorn_step,
        .reset = unicorn_reset,
        .state = unicorn_state,
        .read_register = unicorn_read_register,
        .write_register = unicorn_write_register,
        .read_memory = unicorn_read_memory,
        .write_memory = unicorn_write_memory,
        .set_breakpoint = unicorn_set_breakpoint,
        .trace = unicorn_trace,
    };
    const uint16_t loop = 0xe7fe;
    const uint32_t pc = UNICORN_RAM + UNICORN_SIZE - 0x100;
    uc_hook hook;
    memset(c, 0, sizeof *c);
    *model = (struct core_model){&OPS, c};
    if (uc_open(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS, &c->uc) != UC_ERR_OK)
        return -1;
    if (uc_mem_map(c->uc, 0, UNICORN_SIZE, UC_PROT_ALL) != UC_ERR_OK ||
        uc_mem_map(c->uc, UNICORN_RAM, UNICORN_SIZE, UC_PROT_ALL) != UC_ERR_OK ||
        uc_hook_add(c->uc, &hook, UC_HOOK_CODE, (void *)(uintptr_t)unicorn_code, c, 1, 0) !=
            UC_ERR_OK)
        return -1;
    uc_mem_write(c->uc, pc, &loop, 2);
    return unicorn_write_register(c, 15, pc);
}

static inline void unicorn_core_release(struct unicorn_core *c)
{
    uc_close(c->uc);
}

#endif
