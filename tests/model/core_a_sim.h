/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores small enough to read, for unit tests without an emulator: memory, registers with the banks
 * of each mode, a few values in CP15, and the A32 instructions that a counting loop needs (ADD and
 * MOV of an immediate value, STR without offset, B, BKPT, NOP). They advance by a few instructions
 * when they are looked at, so every run is the same.
 */
#ifndef TESTS_USB_CORE_A_SIM_H
#define TESTS_USB_CORE_A_SIM_H

#include "core_a.h"

#define CORE_A_SIM_MEMORY      0x60000000u
#define CORE_A_SIM_SIZE        0x10000u
#define CORE_A_SIM_HOLE        0x60008000u /* a page that the MMU does not map */
#define CORE_A_SIM_VALUE       0x60004000u /* where the program stores what it counts */
#define CORE_A_SIM_LOOP        0x60000004u /* its loop: ADD, STR, B */
#define CORE_A_SIM_BREAKPOINTS 8

struct core_a_sim_core {
    uint32_t reg[CORE_A_FP_END];
    uint32_t bank[32][3]; /* R13, R14, SPSR of the modes that are not current */
    enum core_a_run want, does;
    enum core_a_stop stop;
    uint32_t accessed; /* address at a watchpoint */
    bool bkpt, debug;
    struct {
        enum core_a_breakpoint_kind kind;
        uint32_t address, size;
        bool on;
    } breakpoints[CORE_A_SIM_BREAKPOINTS];
    uint32_t dfsr, dfar, contextid;
    struct core_a_trace trace;
};

/* Fields are public to tests. */
struct core_a_sim {
    uint8_t memory[CORE_A_SIM_SIZE];
    struct core_a_sim_core core[CORE_A_MAX];
    unsigned count;
    unsigned burst; /* instructions a look */
    uint64_t pace;  /* bytes of trace a second, as it was told */
};

/* The program is loaded; all cores run, in System mode. */
void core_a_sim_init(struct core_a_sim *s, unsigned count);

/* The cores as the models see them; valid as long as `s`. */
struct core_a core_a_sim_cores(struct core_a_sim *s);

#endif
