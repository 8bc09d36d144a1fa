/* SPDX-License-Identifier: BSD-3-Clause */
/* What the drivers of cores (drivers/cortex_m, drivers/cortex_a) tell of one core, with the words
 * of target.h. */
#ifndef DRIVERS_TARGET_CORE_H
#define DRIVERS_TARGET_CORE_H

#include "drivers/target/target.h"

enum target_core_state {
    TARGET_CORE_RUNNING,
    TARGET_CORE_SLEEPING, /* WFI or WFE; counts as running */
    TARGET_CORE_OFF,      /* powered down: by its program, or not yet started; counts as running */
    TARGET_CORE_LOCKUP,   /* stopped by a fault within a fault handler; it can be halted */
    TARGET_CORE_HALTED,
};

struct target_core_status {
    enum target_core_state state;
    /*
     * Halted: why; it stays until the core runs again. INTERRUPT also when it was found halted, and
     * behind a reset that was to end so; SWBREAK and HWBREAK as the breakpoint was placed; BKPT
     * also for one that was left over.
     */
    enum target_halt_reason reason;
    bool reset_seen; /* there was a reset or power-down since the last look */
    uint32_t pc;     /* halted: of the next instruction */
    /* Of a watchpoint, as set; length 0: it is not known which one. */
    uint32_t watch_address;
    uint32_t watch_length;
};

/* What a watchpoint of this type is called when it halts. */
static inline enum target_halt_reason target_watch_reason(enum target_breakpoint_type type)
{
    return type == TARGET_WATCHPOINT_READ     ? TARGET_HALT_RWATCH
           : type == TARGET_WATCHPOINT_ACCESS ? TARGET_HALT_AWATCH
                                              : TARGET_HALT_WATCH;
}

static inline bool target_is_watch(enum target_halt_reason reason)
{
    return reason == TARGET_HALT_WATCH || reason == TARGET_HALT_RWATCH ||
           reason == TARGET_HALT_AWATCH;
}

#endif
