/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cores of a native target as its common parts see them: a table of operations for each
 * architecture (native_m.c, native_a.c). Everything here belongs to the thread that owns the probe.
 *
 * Functions return 0 or a bt_error unless they say something else; describe() tells in words what
 * went wrong last. `core` is an index of the configuration's cores.
 */
#ifndef SERVER_NATIVE_CORE_H
#define SERVER_NATIVE_CORE_H

#include "protocol/target/gdb_target.h"
#include "server/base/console.h"
#include "server/base/message.h"

struct native_target;

enum native_state {
    NATIVE_RUNNING,
    NATIVE_SLEEPING,
    NATIVE_OFF,    /* without power; counts as running */
    NATIVE_LOCKUP, /* stopped for good, but it can be halted */
    NATIVE_HALTED,
};

enum native_reason {
    NATIVE_REASON_NONE,
    NATIVE_REASON_REQUEST,
    NATIVE_REASON_STEP,
    NATIVE_REASON_BREAKPOINT,
    NATIVE_REASON_BKPT, /* an instruction of the program itself */
    NATIVE_REASON_WATCHPOINT,
    NATIVE_REASON_VECTOR,
    NATIVE_REASON_EXTERNAL, /* another core, or a pin */
};

struct native_status {
    enum native_state state;
    enum native_reason reason; /* halted: why */
    bool reset_seen;           /* since the last look */
    uint32_t pc;               /* halted */
    /* NATIVE_REASON_WATCHPOINT: GDB_STOP_WATCH, _RWATCH or _AWATCH; GDB_STOP_TRAP: not known which
     * one. */
    enum gdb_stop_kind watch;
    uint32_t watch_address;
};

/* What a breakpoint of GDB's becomes. */
enum native_place {
    NATIVE_BREAK_SOFTWARE,
    NATIVE_BREAK_HARDWARE,
    NATIVE_WATCH_WRITE,
    NATIVE_WATCH_READ,
    NATIVE_WATCH_ACCESS,
};

/* Why a place was refused, as far as another one may help. */
enum native_refusal {
    NATIVE_REFUSED,       /* nothing helps */
    NATIVE_REFUSED_FULL,  /* all comparators are in use */
    NATIVE_REFUSED_PLACE, /* not possible at this address */
};

/* A `monitor` command; a table of them ends with a name of NULL. */
struct native_command {
    const char *name;
    void (*run)(struct native_target *t, const char *rest, const struct console *c);
    const char *help;
    bool hidden; /* told of elsewhere */
};

struct native_core_ops {
    enum gdb_profile profile;
    const struct native_command *commands;

    /* Attach to all cores, neither halted nor reset; *why is filled. Then what they have. */
    int (*open)(struct native_target *t, struct message *why);
    /* Take away what was set, and let them run if `run`. */
    void (*close)(struct native_target *t, bool run);
    /* The probe was away: attach, halt, set again what was set. */
    int (*take_back)(struct native_target *t);
    const char *(*describe)(const struct native_target *t, char *text, size_t size);
    const char *(*name)(const struct native_target *t, unsigned core);

    int (*status)(struct native_target *t, unsigned core, struct native_status *s);
    int (*halt)(struct native_target *t, unsigned core);
    int (*resume)(struct native_target *t, unsigned core);
    int (*step)(struct native_target *t, unsigned core, bool mask_interrupts);
    /* All cores; they are halted at their first instruction. */
    int (*reset)(struct native_target *t);

    /* Before a stop is told: a line on faults and the like, once for each; and what it is called,
     * when the reason alone does not say. `stop` is filled. */
    void (*tell)(struct native_target *t, unsigned core, const struct native_status *s);
    void (*name_stop)(struct native_target *t, unsigned core, struct gdb_stop *stop);
    /* What was read of the registers is void. */
    void (*forget)(struct native_target *t);

    /* Fills t->described. */
    void (*describe_registers)(struct native_target *t);
    int (*read_regs)(struct native_target *t, unsigned core, struct gdb_regs *regs);
    int (*write_reg)(struct native_target *t, unsigned core, enum gdb_reg reg, uint32_t value);
    int (*read_extra)(struct native_target *t, unsigned core, unsigned index, uint64_t *value);
    int (*write_extra)(struct native_target *t, unsigned core, unsigned index, uint64_t value);

    /* Within 32 bits; single accesses where their width may matter. */
    int (*read)(struct native_target *t, unsigned core, uint32_t address, void *bytes, size_t len);
    int (*write)(struct native_target *t, unsigned core, uint32_t address, const void *bytes,
                 size_t len);
    /* The last access failed because there is nothing at *address. */
    bool (*nothing_at)(const struct native_target *t, unsigned core, uint64_t *address);

    /* For all cores. */
    int (*insert)(struct native_target *t, enum native_place place, uint32_t address,
                  uint32_t length);
    int (*remove)(struct native_target *t, enum native_place place, uint32_t address,
                  uint32_t length);
    enum native_refusal (*refusal)(const struct native_target *t);
    /* Comparators for breakpoints, and for watchpoints. */
    void (*units)(const struct native_target *t, unsigned *breakpoints, unsigned *watchpoints);
    /* Is code likely to be in memory that takes no software breakpoint? */
    bool (*prefers_hardware)(const struct native_target *t, uint32_t address);

    /* "Cortex-M4 r0p1 with FPU, ..." as lines of the first screen; and one core's state. */
    void (*say_cores)(const struct native_target *t, const struct console *c);
    void (*say_state)(struct native_target *t, const struct console *c);
    /* For "info threads": the core is halted. */
    void (*mode)(struct native_target *t, unsigned core, char *text, size_t size);
};

extern const struct native_core_ops native_m_ops;
extern const struct native_core_ops native_a_ops;

#endif
