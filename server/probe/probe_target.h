/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores behind a probe of ours: run control, registers, memory, breakpoints, flash, reset. All of
 * it belongs to the probe's thread, see probe_thread.h, and may wait for USB. What differs between
 * Cortex-M and ARMv7-A is behind struct probe_core_ops.
 *
 * All cores stand, or those run that were let go; when one of them stops all are halted. What
 * another one had stopped for by then is told as soon as it is let go again.
 *
 * A probe that is pulled makes every question an error, and ends what runs; it is looked for again
 * at the next question, and once a second. Then the cores are halted, and what was set is set
 * again.
 *
 * Functions return 0 or a bt_error unless they say something else. `core` is an index of the
 * configuration's cores.
 */
#ifndef SERVER_PROBE_TARGET_H
#define SERVER_PROBE_TARGET_H

#include "drivers/cortex_a/cortex_a.h"
#include "drivers/cortex_m/cortex_m.h"
#include "server/base/console.h"
#include "server/probe/probe_link.h"
#include "server/probe/probe_target_flash.h"
#include "server/probe/probe_target_trace.h"

#include <stdatomic.h>

#define PROBE_TARGET_BREAKPOINTS 128 /* of clients, watchpoints too */
#define PROBE_A_FAULTS           4   /* DFSR, DFAR, IFSR, IFAR */

struct probe_target;

/* A `monitor` command; a table of them ends with a name of NULL. */
struct probe_command {
    const char *name;
    void (*run)(struct probe_target *t, const char *rest, const struct console *c);
    const char *help;
    bool hidden; /* told of elsewhere */
};

/* Why a breakpoint was refused, as far as another kind of it may help. */
enum probe_refusal {
    PROBE_REFUSED,       /* nothing helps */
    PROBE_REFUSED_FULL,  /* all comparators are in use */
    PROBE_REFUSED_PLACE, /* not possible at this address */
};

/* What a kind of core does for the target: probe_target_m.c, probe_target_a.c. */
struct probe_core_ops {
    enum target_profile profile;
    const struct probe_command *commands;

    /* Attach to all cores, neither halted nor reset; *why is filled. Then what they have, and
     * t->extra. */
    int (*open)(struct probe_target *t, struct message *why);
    /* Take away what was set, and let them run if `run`. */
    void (*close)(struct probe_target *t, bool run);
    /* The probe was away: attach, halt, set again what was set. */
    int (*take_back)(struct probe_target *t);
    /* What went wrong last. */
    const char *(*describe)(const struct probe_target *t, char *text, size_t size);
    const char *(*name)(const struct probe_target *t, unsigned core);

    /* A halt and a reset give up when t->due_us has come. */
    int (*status)(struct probe_target *t, unsigned core, struct target_core_status *s);
    int (*halt)(struct probe_target *t, unsigned core);
    int (*resume)(struct probe_target *t, unsigned core);
    int (*step)(struct probe_target *t, unsigned core, bool mask_interrupts,
                struct target_core_status *s);
    /* All cores; they are halted at their first instruction. */
    int (*reset)(struct probe_target *t);
    /* Signal of a halt by vector catch; 0: it is none. */
    int (*signal)(struct probe_target *t, unsigned core);

    int (*read_regs)(struct probe_target *t, unsigned core, enum target_register_set set,
                     struct target_regs *regs);
    int (*write_reg)(struct probe_target *t, unsigned core, unsigned reg, uint32_t value);
    int (*write_extra)(struct probe_target *t, unsigned core, unsigned index, uint64_t value);

    /* Within 32 bits; `device`: word by word, else single accesses where their width may matter. */
    int (*read)(struct probe_target *t, unsigned core, uint32_t address, uint8_t *bytes, size_t len,
                bool device);
    int (*write)(struct probe_target *t, unsigned core, uint32_t address, const uint8_t *bytes,
                 size_t len);
    /* The last access failed because there is nothing at *address. */
    bool (*nothing_at)(const struct probe_target *t, uint64_t *address);

    /* For all cores. */
    int (*insert)(struct probe_target *t, const struct target_breakpoint *bp);
    int (*remove)(struct probe_target *t, const struct target_breakpoint *bp);
    enum probe_refusal (*refusal)(const struct probe_target *t);
    /* Comparators for breakpoints, and for watchpoints. */
    void (*units)(const struct probe_target *t, unsigned *breakpoints, unsigned *watchpoints);
    /* Code from here on is likely to be in memory that takes software breakpoints. */
    uint32_t ram_start;

    /* In words: "HardFault"; the core is halted. */
    void (*mode)(struct probe_target *t, unsigned core, char *text, size_t size);
    /* Before a stop is told: a line on faults and the like, once for each. */
    void (*report_stop)(struct probe_target *t, unsigned core);
    /* "Cortex-M4 r0p1 with FPU, ..." as lines of the summary. */
    void (*report_cores)(const struct probe_target *t, const struct console *c);
    /* Behind the line of the state; NULL: `mode` is in it. */
    void (*report_halted)(struct probe_target *t, const struct console *c);
};

extern const struct probe_core_ops probe_m_ops;
extern const struct probe_core_ops probe_a_ops;

/* probe_target_a_monitor.c: of probe_a_ops. */
extern const struct probe_command probe_a_commands[];
void probe_a_report_fault(struct probe_target *t, unsigned core);
void probe_a_report_cores(const struct probe_target *t, const struct console *c);

/* probe_access.c: a cortex_a_find_access. */
bool probe_a_find_access(uint32_t code, const uint32_t *regs, struct cortex_a_access *access);

#define PROBE_CODE_LINES 8u
#define PROBE_CODE_LINE  32u

/* Memory in the Code region, as it was a moment ago. */
struct probe_code_line {
    uint64_t read_us; /* 0: not known */
    uint32_t address;
    uint8_t bytes[PROBE_CODE_LINE];
};

/* Of a Cortex-M. */
struct probe_target_m {
    struct probe_code_line code[PROBE_CODE_LINES];
    struct cortex_m core;
    struct adiv5_connect_options wake; /* what the core's port is woken up with, behind a reset */
    /* Where the values of further registers come from; d0 is s0 and the next one, s1. */
    uint8_t extra[TARGET_EXTRA_MAX]; /* enum cortex_m_register */
    uint32_t caught;                 /* CORTEX_M_CATCH_* */
    uint32_t reported[3];            /* the exception that was told of last: number, CFSR, HFSR */
};

/* Of ARMv7-A cores. */
struct probe_target_a {
    struct cortex_a cores[CONFIG_MAX_CORES];
    unsigned count;
    struct cortex_a_software software;
    struct mem_ap memory;       /* of the system, beside the cores */
    bool has_memory;            /* [probe] memory_ap */
    bool through_system;        /* by command: memory is what that one reaches */
    bool off[CONFIG_MAX_CORES]; /* at the last look */
    bool joined;                /* they halt each other by their cross triggers */
    unsigned failed;            /* the core that failed last */
    bool failed_memory;         /* not a core, but `memory` */
    unsigned doubles;           /* d registers that are described */
    uint32_t reported[CONFIG_MAX_CORES][PROBE_A_FAULTS];
};

/* A breakpoint of a client's, and as what it was placed. */
struct probe_breakpoint {
    struct target_breakpoint asked;
    enum target_breakpoint_type placed;
};

/*
 * UNSEEN    not halted since it was opened: the first halt is ours
 * STANDS    all cores, as clients know
 * RUNS      some core
 * HALTING   the same, and a halt was asked for
 *
 * UNSEEN to STANDS by probe_target_begin(), or to RUNS when they do not halt; STANDS to RUNS by a
 * resume; RUNS to HALTING by an interrupt, and back when they do not halt in their time; either to
 * STANDS with the stop, or when the probe is gone.
 */
enum probe_run {
    PROBE_UNSEEN,
    PROBE_STANDS,
    PROBE_RUNS,
    PROBE_HALTING,
};

/* Of the moment tells probe_link.is_open. */
enum probe_presence {
    PROBE_THERE,
    PROBE_GONE,
    PROBE_DARK, /* the probe is there: it is the target that is silent */
};

/* For the one that it serves. */
struct probe_target_events {
    void (*output)(void *ctx, const char *text);
    /* A resume is over; text: of TARGET_HALT_FAILED. */
    void (*stopped)(void *ctx, const struct target_stop *stop, const char *text);
    /* The cores are halted, as they were asked to; the stop may take a while. */
    void (*halted)(void *ctx);
    /* A halt that was asked for does not come. */
    void (*not_halted)(void *ctx, const char *text);
};

struct probe_target {
    struct config *config;
    const struct probe_target_events *events; /* NULL until it is asked for anything */
    void *ctx;
    struct probe_link link;
    const struct probe_core_ops *ops;
    struct probe_target_m m;
    struct probe_target_a a;
    unsigned core_count;
    struct probe_target_flash flash;
    struct probe_target_trace trace;
    /* The list of target_ops.registers(): the same for all cores. */
    struct target_register registers[TARGET_REG_COUNT + TARGET_EXTRA_MAX];
    unsigned extra_count;
    struct probe_breakpoint breakpoints[PROBE_TARGET_BREAKPOINTS];
    unsigned breakpoint_count;
    enum probe_run run;
    _Atomic enum probe_presence presence;
    _Atomic unsigned losses;
    bool let_go[CONFIG_MAX_CORES];
    /* What a core stopped for while another one was told of; state: halted if there is any. */
    struct target_core_status pending[CONFIG_MAX_CORES];
    unsigned resumes;
    unsigned last;                /* the core that was told of last */
    unsigned selected;            /* the one that a `monitor` command is about */
    bool mask_interrupts;         /* single steps enter no handler */
    bool step_all;                /* while one core steps the others run */
    unsigned changes;             /* that the loop does not know of: bits of enum target_change */
    unsigned errors;              /* looks at cores that failed in a row */
    uint64_t looked;              /* at the cores, or for the probe: microseconds */
    uint64_t due_us;              /* when what is under way gives up */
    unsigned pause;               /* ms to the next look at cores that run */
    struct target_error reported; /* the last refusal; GDB shows few of them */
    /* Of the answer. */
    struct target_error why;
    struct target_regs regs;
    struct target_stop stop;
    uint8_t bytes[TARGET_ACCESS_MAX];
};

/* probe_target_command.c */

/* BT_ERR_UNSUPPORTED: there is no such command. */
int probe_target_command(struct probe_target *t, const char *text, const struct console *c);
/* Lines for the summary: probe, wire, core, state. */
void probe_target_summary(struct probe_target *t, const struct console *c);
const struct probe_core_ops *probe_ops_of(const struct config *config);

/* probe_target_run.c */

/* The first halt, and why the cores stand: cores that run are halted. BT_ERR_IO: they do not halt;
 * they count as running then, unless the probe is gone. */
int probe_target_begin(struct probe_target *t, struct target_stop *stop);
/* NULL: all run. A stop is told sooner or later. */
void probe_target_resume(struct probe_target *t, const struct target_resume *resume);
void probe_target_interrupt(struct probe_target *t);
/* The cores that run: one may have halted. */
void probe_target_watch(struct probe_target *t);

/* probe_target_recovery.c */

/* BT_OK when the probe is there; one that was gone is looked for. Before each operation. */
int probe_target_ready(struct probe_target *t);

/*
 * Behind each operation: `error`. An error is put in words into t->reported and, when it is not
 * NULL and still empty, into `why`; a probe that turns out to be gone is noted.
 */
int probe_target_result(struct probe_target *t, int error, struct target_error *why);

/* Of a command: the same, with a line of `what` and why. Returns whether it is an error. */
bool probe_target_failed(struct probe_target *t, int error, const struct console *c,
                         const char *what);

/* Sets t->reported, and `why` when it is not NULL. Returns `error`. */
int probe_target_refuse(struct probe_target *t, struct target_error *why, int error,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A line for the client's console while something runs; dropped otherwise. */
void probe_target_report(struct probe_target *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A look at a core has failed. After some in a row the target is looked for, as a probe is. */
void probe_target_silent(struct probe_target *t);

/* Resets; the cores are halted at their first instruction. */
int probe_target_reset(struct probe_target *t);

/* What begins now gives up within `ms`; and what is left of that, at least a little. */
void probe_target_allow(struct probe_target *t, unsigned ms);
unsigned probe_target_left_ms(const struct probe_target *t);

static inline bool probe_target_runs(const struct probe_target *t)
{
    return t->run >= PROBE_RUNS;
}

static inline uint64_t probe_target_now_us(void)
{
    return debug_now(&debug_clock_monotonic);
}

/* Told when no algorithm of the flash has the core any more. */
static inline void probe_target_note_change(struct probe_target *t, enum target_change change)
{
    t->changes |= 1u << change;
}

#endif
