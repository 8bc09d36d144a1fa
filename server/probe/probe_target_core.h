/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cores of a probe target as its common parts see them: a table of operations for each
 * architecture (probe_target_m.c, probe_target_a.c). Everything here belongs to the thread that
 * owns the probe.
 *
 * Functions return 0 or a bt_error unless they say something else; describe() tells in words what
 * went wrong last. `core` is an index of the configuration's cores.
 */
#ifndef SERVER_PROBE_TARGET_CORE_H
#define SERVER_PROBE_TARGET_CORE_H

#include "drivers/base/message.h"
#include "protocol/target/gdb_target.h"
#include "server/base/console.h"

struct probe_target;

enum probe_target_state {
    PROBE_TARGET_RUNNING,
    PROBE_TARGET_SLEEPING,
    PROBE_TARGET_OFF,    /* without power; counts as running */
    PROBE_TARGET_LOCKUP, /* stopped for good, but it can be halted */
    PROBE_TARGET_HALTED,
};

enum probe_target_reason {
    PROBE_TARGET_REASON_NONE,
    PROBE_TARGET_REASON_REQUEST,
    PROBE_TARGET_REASON_STEP,
    PROBE_TARGET_REASON_BREAKPOINT,
    PROBE_TARGET_REASON_BKPT, /* an instruction of the program itself */
    PROBE_TARGET_REASON_WATCHPOINT,
    PROBE_TARGET_REASON_VECTOR,
    PROBE_TARGET_REASON_EXTERNAL, /* another core, or a pin */
};

struct probe_target_status {
    enum probe_target_state state;
    enum probe_target_reason reason; /* halted: why */
    bool reset_seen;                 /* since the last look */
    uint32_t pc;                     /* halted */
    /* PROBE_TARGET_REASON_WATCHPOINT: TARGET_HALT_WATCH, _RWATCH or _AWATCH; TARGET_HALT_TRAP: not
     * known which one. */
    enum target_halt_reason watch;
    uint32_t watch_address;
};

/* What a breakpoint of GDB's becomes. */
enum probe_target_place {
    PROBE_TARGET_BREAK_SOFTWARE,
    PROBE_TARGET_BREAK_HARDWARE,
    PROBE_TARGET_WATCH_WRITE,
    PROBE_TARGET_WATCH_READ,
    PROBE_TARGET_WATCH_ACCESS,
};

/* Why a place was refused, as far as another one may help. */
enum probe_target_refusal {
    PROBE_TARGET_REFUSED,       /* nothing helps */
    PROBE_TARGET_REFUSED_FULL,  /* all comparators are in use */
    PROBE_TARGET_REFUSED_PLACE, /* not possible at this address */
};

/* A `monitor` command; a table of them ends with a name of NULL. */
struct probe_target_command {
    const char *name;
    void (*run)(struct probe_target *t, const char *rest, const struct console *c);
    const char *help;
    bool hidden; /* told of elsewhere */
};

/* What is told of the cores. */
struct probe_target_core_reports {
    const struct probe_target_command *commands;
    /* Before a stop is told: a line on faults and the like, once for each. */
    void (*stop)(struct probe_target *t, unsigned core, const struct probe_target_status *s);
    /* "Cortex-M4 r0p1 with FPU, ..." as lines of the summary; and their state. */
    void (*cores)(const struct probe_target *t, const struct console *c);
    void (*state)(struct probe_target *t, const struct console *c);
};

struct probe_target_core_ops {
    enum target_profile profile;
    const struct probe_target_core_reports *reports;

    /* Attach to all cores, neither halted nor reset; *why is filled. Then what they have. */
    int (*open)(struct probe_target *t, struct message *why);
    /* Take away what was set, and let them run if `run`. */
    void (*close)(struct probe_target *t, bool run);
    /* The probe was away: attach, halt, set again what was set. */
    int (*take_back)(struct probe_target *t);
    const char *(*describe)(const struct probe_target *t, char *text, size_t size);
    const char *(*name)(const struct probe_target *t, unsigned core);

    int (*status)(struct probe_target *t, unsigned core, struct probe_target_status *s);
    int (*halt)(struct probe_target *t, unsigned core);
    int (*resume)(struct probe_target *t, unsigned core);
    int (*step)(struct probe_target *t, unsigned core, bool mask_interrupts);
    /* All cores; they are halted at their first instruction. */
    int (*reset)(struct probe_target *t);

    /* What a stop is called when the reason alone does not say. `stop` is filled. */
    void (*name_stop)(struct probe_target *t, unsigned core, struct target_stop *stop);
    /* What was read of the registers is void. */
    void (*forget)(struct probe_target *t);

    /* Fills t->described. */
    void (*describe_registers)(struct probe_target *t);
    int (*read_regs)(struct probe_target *t, unsigned core, struct target_regs *regs);
    int (*write_reg)(struct probe_target *t, unsigned core, enum target_reg reg, uint32_t value);
    int (*read_extra)(struct probe_target *t, unsigned core, unsigned index, uint64_t *value);
    int (*write_extra)(struct probe_target *t, unsigned core, unsigned index, uint64_t value);

    /* Within 32 bits; single accesses where their width may matter. */
    int (*read)(struct probe_target *t, unsigned core, uint32_t address, void *bytes, size_t len);
    int (*write)(struct probe_target *t, unsigned core, uint32_t address, const void *bytes,
                 size_t len);
    /* The last access failed because there is nothing at *address. */
    bool (*nothing_at)(const struct probe_target *t, unsigned core, uint64_t *address);

    /* For all cores. */
    int (*insert)(struct probe_target *t, enum probe_target_place place, uint32_t address,
                  uint32_t length);
    int (*remove)(struct probe_target *t, enum probe_target_place place, uint32_t address,
                  uint32_t length);
    enum probe_target_refusal (*refusal)(const struct probe_target *t);
    /* Comparators for breakpoints, and for watchpoints. */
    void (*units)(const struct probe_target *t, unsigned *breakpoints, unsigned *watchpoints);
    /* Is code likely to be in memory that takes no software breakpoint? */
    bool (*prefers_hardware)(const struct probe_target *t, uint32_t address);

    /* For "info threads": the core is halted. */
    void (*mode)(struct probe_target *t, unsigned core, char *text, size_t size);
};

extern const struct probe_target_core_ops probe_target_m_ops;
extern const struct probe_target_core_ops probe_target_a_ops;
extern const struct probe_target_core_reports probe_target_a_reports;

#endif
