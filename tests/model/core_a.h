/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the modelled ARMv7-A debug logic needs from the cores behind it. Functions return 0, or
 * negative on failure, if they say nothing else.
 */
#ifndef TESTS_USB_CORE_A_H
#define TESTS_USB_CORE_A_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORE_A_MAX    2
#define CORE_A_RANGES 4

/* Registers of the current mode; halves of D0 to D31 from CORE_A_FP on. */
#define CORE_A_SP     13
#define CORE_A_PC     15
#define CORE_A_CPSR   16
#define CORE_A_SPSR   17
#define CORE_A_FPSCR  18
#define CORE_A_FPEXC  19
#define CORE_A_FP     0x40
#define CORE_A_FP_END 0x80

/* A register of CP15. */
#define CORE_A_CP15(crn, crm, opc1, opc2)                                                          \
    ((uint32_t)(crn) << 11 | (uint32_t)(crm) << 7 | (uint32_t)(opc1) << 3 | (uint32_t)(opc2))

/* What load() and store() return when the access aborts. */
#define CORE_A_UNMAPPED 1 /* the MMU has no address, or does not allow it */
#define CORE_A_REFUSED  2 /* the bus answers with an error */

enum core_a_run {
    CORE_A_STOPPED,
    CORE_A_RUNNING,
    CORE_A_STEPPING, /* one instruction, then stopped */
};

enum core_a_stop {
    CORE_A_NONE,     /* it has not stopped by itself */
    CORE_A_STEPPED,  /* at a place of CORE_A_STEPPING, or at a breakpoint, or at a BKPT */
    CORE_A_ACCESSES, /* in front of the instruction that makes the access of a watchpoint */
};

enum core_a_breakpoint_kind {
    CORE_A_BREAKPOINT_CODE,
    CORE_A_BREAKPOINT_READ,
    CORE_A_BREAKPOINT_WRITE,
    CORE_A_BREAKPOINT_ACCESS,
};

/* What a trace unit does. */
struct core_a_trace {
    bool on;
    uint32_t etmcr; /* options alone */
    bool exclude;   /* these ranges, else nothing but these */
    unsigned ranges;
    uint32_t first[CORE_A_RANGES], last[CORE_A_RANGES]; /* bytes */
};

/* Those with `core` concern one of them, from 0. */
struct core_a_ops {
    /*
     * Run control in two steps: want() says what a core shall do; carry_out() makes all cores do
     * so, and until then they may stand still. poll() gives each stop once, with the address of a
     * watchpoint's access.
     */
    void (*want)(void *ctx, unsigned core, enum core_a_run run);
    int (*carry_out)(void *ctx);
    enum core_a_stop (*poll)(void *ctx, unsigned core, uint32_t *address);
    int (*reset)(void *ctx); /* all; they wait in front of their first instruction */

    /* Interrupts do not come while it steps. */
    int (*mask)(void *ctx, unsigned core, bool on);
    int (*get)(void *ctx, unsigned core, unsigned reg, uint32_t *value);
    int (*set)(void *ctx, unsigned core, unsigned reg, uint32_t value);
    int (*get_cp15)(void *ctx, unsigned core, uint32_t reg, uint32_t *value);
    int (*set_cp15)(void *ctx, unsigned core, uint32_t reg, uint32_t value);
    /* Through the MMU; within a page. Up to 64 bytes. */
    int (*load)(void *ctx, unsigned core, uint32_t address, void *bytes, size_t size);
    int (*store)(void *ctx, unsigned core, uint32_t address, const void *bytes, size_t size);
    /* The physical address that load() uses. */
    int (*translate)(void *ctx, unsigned core, uint32_t address, uint32_t *physical);
    int (*set_breakpoint)(void *ctx, unsigned core, enum core_a_breakpoint_kind kind,
                          uint32_t address, uint32_t size, bool on);
    int (*set_bkpt)(void *ctx, unsigned core, bool stops);  /* by a BKPT instruction */
    int (*set_debug)(void *ctx, unsigned core, bool state); /* Debug state, for its trace unit */

    /* The system's memory as another bus master sees it. */
    int (*read_memory)(void *ctx, uint32_t address, void *bytes, size_t size);
    int (*write_memory)(void *ctx, uint32_t address, const void *bytes, size_t size);

    /* The trace unit: its setting; what it holds comes out; what it made, how many bytes. */
    int (*set_trace)(void *ctx, unsigned core, const struct core_a_trace *trace);
    int (*flush_trace)(void *ctx, unsigned core);
    size_t (*trace)(void *ctx, unsigned core, uint8_t *bytes, size_t size);
    /* Bytes a second that all trace units together get rid of, else they overflow; 0: any. */
    int (*pace)(void *ctx, uint64_t rate);
};

struct core_a {
    const struct core_a_ops *ops;
    void *ctx;
    unsigned count; /* of cores */
};

#endif
