/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core small enough to read: flash, RAM, registers and a dozen Thumb instructions (NOP, B, B<eq>,
 * B<ne>, BKPT, MOVS, ADDS, SUBS and CMP with an immediate, LDR and STR with an offset). It advances
 * only when somebody looks at it, so every run is the same.
 */
#ifndef TESTS_USB_CORE_SIM_H
#define TESTS_USB_CORE_SIM_H

#include "core_model.h"

#define CORE_SIM_FLASH       0x08000000u
#define CORE_SIM_FLASH_SIZE  0x10000u
#define CORE_SIM_RAM         0x20000000u
#define CORE_SIM_RAM_SIZE    0x40000u
#define CORE_SIM_BREAKPOINTS 16
#define CORE_SIM_TRACE       65536u
#define CORE_SIM_REGISTERS   0x60

/* Fields are public to tests. Flash is seen at 0 too. */
struct core_sim {
    uint8_t flash[CORE_SIM_FLASH_SIZE];
    uint8_t ram[CORE_SIM_RAM_SIZE];
    uint32_t reg[CORE_SIM_REGISTERS];
    enum core_stop stop;
    unsigned burst; /* instructions run a look */
    uint64_t instructions;
    struct {
        enum core_breakpoint_kind kind;
        uint32_t address;
        uint32_t size;
        bool on;
    } breakpoints[CORE_SIM_BREAKPOINTS];
    uint8_t trace[CORE_SIM_TRACE]; /* bytes that wait for the trace sink */
    size_t trace_size;
};

/* A program that counts in R0 and stores it to RAM in a loop, loaded and reset, running. */
void core_sim_init(struct core_sim *c);

/* The core as the models see it; valid as long as `c`. */
struct core_model core_sim_model(struct core_sim *c);

/* Queues trace for the sink. 0 or -1 when there is no room. */
int core_sim_put_trace(struct core_sim *c, const void *bytes, size_t size);

#endif
