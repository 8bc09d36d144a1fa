/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the modelled debug logic needs from a core: the small core of core_sim.h for unit tests, or
 * another simulator behind its own back-end. Every function returns 0,
 * or negative on failure. */
#ifndef TESTS_USB_CORE_MODEL_H
#define TESTS_USB_CORE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a core stopped; the values are those of DFSR. */
enum core_stop {
    CORE_RUNNING = 0,
    CORE_STOP_REQUEST = 1,    /* halted or stepped */
    CORE_STOP_BREAKPOINT = 2, /* comparator or BKPT */
    CORE_STOP_WATCHPOINT = 4,
    CORE_STOP_VECTOR = 8,
};

enum core_breakpoint_kind {
    CORE_BREAKPOINT_CODE,
    CORE_BREAKPOINT_READ,
    CORE_BREAKPOINT_WRITE,
    CORE_BREAKPOINT_ACCESS,
};

#define CORE_TRACE_RANGES 4

/* Both ends belong to it. */
struct core_trace_range {
    uint32_t first, last;
};

/* Settings of an ETMv4; unused ranges are zero. */
struct core_trace_v4 {
    uint32_t configr; /* TRCCONFIGR */
    uint32_t ccctlr;
    uint32_t syncpr; /* 2^N bytes; 0: none */
    unsigned includes, excludes;
    struct core_trace_range include[CORE_TRACE_RANGES]; /* none: everything */
    struct core_trace_range exclude[CORE_TRACE_RANGES];
};

/* How the trace unit is set; a core without one ignores it. */
struct core_trace {
    bool etm; /* it traces */
    uint32_t etmcr;
    struct core_trace_v4 v4;
    uint64_t rate; /* bytes a second that the sink takes; 0: any */
    bool stall;    /* more stops the core, else it overflows */
};

/* Register numbers are DCRSR selectors: 0..15, 16 xPSR, 17 MSP, 18 PSP, 20 CONTROL..PRIMASK,
 * 0x21 FPSCR, 0x40..0x5f. */
struct core_model_ops {
    int (*halt)(void *ctx);
    int (*resume)(void *ctx);
    int (*step)(void *ctx);                        /* one instruction, then halted */
    int (*reset)(void *ctx, bool halt);            /* halt: before the first instruction */
    int (*state)(void *ctx, enum core_stop *stop); /* also lets the core run a little */
    int (*read_register)(void *ctx, unsigned reg, uint32_t *value);
    int (*write_register)(void *ctx, unsigned reg, uint32_t value);
    int (*read_memory)(void *ctx, uint32_t address, void *bytes, size_t size);
    int (*write_memory)(void *ctx, uint32_t address, const void *bytes, size_t size);
    int (*set_breakpoint)(void *ctx, enum core_breakpoint_kind kind, uint32_t address,
                          uint32_t size, bool on);
    /* Takes up to `size` bytes of trace that the core's ETM made; returns how many. */
    size_t (*trace)(void *ctx, uint8_t *bytes, size_t size);

    /*
     * Those below may be NULL. With set_trace() trace() gives only what was made while it was on;
     * without, the model throws away what comes while it is off.
     */
    int (*set_trace)(void *ctx, const struct core_trace *t);
    /* Whole packets of the ITM; the same way as trace(). */
    size_t (*instrumentation)(void *ctx, uint8_t *bytes, size_t size);
    /* DHCSR and DEMCR were written: C_DEBUGEN, C_MASKINTS and the vector catch bits. */
    int (*set_debug)(void *ctx, uint32_t dhcsr, uint32_t demcr);
    /* Is a core with security states in the secure one? 1 or 0, or negative. */
    int (*secure)(void *ctx);
    /* The system control space, but for its debug registers, is in read_memory(). */
    bool owns_system;
};

struct core_model {
    const struct core_model_ops *ops;
    void *ctx;
};

#endif
