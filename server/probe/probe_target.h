/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores behind a probe of ours as the target of a GDB session: run control, registers, memory,
 * breakpoints, flash, reset. Everything here belongs to one thread, which may wait for USB. What
 * differs between Cortex-M and ARMv7-A is behind probe_target_core.h.
 *
 * All cores stand, or those run that GDB has let go; when one of them stops all are halted. What
 * another one had stopped for by then is told as soon as GDB lets it go again.
 *
 * A probe that is pulled makes every question an error, and ends what runs; it is looked for again
 * at the next question, and once a second. Then the cores are halted, and what was set is set
 * again.
 */
#ifndef SERVER_PROBE_TARGET_H
#define SERVER_PROBE_TARGET_H

#include "drivers/probe/trace_stream.h"
#include "protocol/session/gdb_session.h"
#include "server/probe/probe_link.h"
#include "server/probe/probe_target_a.h"
#include "server/probe/probe_target_core.h"
#include "server/probe/probe_target_flash.h"
#include "server/probe/probe_target_m.h"
#include "server/probe/probe_target_trace.h"

#include <stdatomic.h>

#define PROBE_TARGET_BREAKPOINTS 128 /* breakpoints and watchpoints of GDB */

/* One of GDB's, and as what it was placed. */
struct probe_target_breakpoint {
    struct target_breakpoint asked;
    enum probe_target_place placed;
};

/* What a core stopped for while another one was told of. */
struct probe_target_pending {
    bool there;
    struct probe_target_status status;
};

struct probe_target {
    const struct config *config;
    struct probe_link link;
    const struct probe_target_core_ops *ops;
    struct probe_target_m m; /* of a Cortex-M */
    struct probe_target_a a; /* of ARMv7-A cores */
    unsigned core_count;
    struct probe_target_flash flash;
    struct probe_target_trace trace;
    struct gdb_session *session;
    /* Tells, in this thread, that the halted core is elsewhere than it was: reset, or come back. */
    void (*moved)(void *ctx);
    void *ctx;
    _Atomic unsigned resets;
    struct target_register described[TARGET_EXTRA_MAX];
    unsigned extra_count;
    struct probe_target_breakpoint breakpoints[PROBE_TARGET_BREAKPOINTS];
    unsigned breakpoint_count;
    bool running; /* some core, as far as the session knows */
    bool let_go[CONFIG_MAX_CORES];
    struct probe_target_pending pending[CONFIG_MAX_CORES];
    unsigned resumes;
    unsigned last;     /* the core that was told of last */
    unsigned selected; /* the one that a `monitor` command is about */
    bool interrupted;  /* a halt was asked for */
    bool halted_once;  /* since it was opened: the first halt is ours */
    _Atomic bool gone; /* the probe; is_open of the link tells of the moment */
    _Atomic unsigned losses;
    bool dark;            /* gone, but the probe is there: it is the target that is silent */
    bool mask_interrupts; /* single steps enter no handler */
    bool step_all;        /* while one core steps the others run */
    unsigned errors;      /* looks at cores that failed in a row */
    uint64_t looked;      /* at the cores, or for the probe: microseconds */
    unsigned pause;       /* ms to the next look at cores that run */
    char reported[sizeof((struct target_error *)0)->text]; /* the last refusal; GDB shows few of
                                                              them */
};

/*
 * Opens the probe, the cores and their trace units, which complete `config`; a Cortex-M is neither
 * halted nor reset, but as the board file says (connect_under_reset); other cores are halted for a
 * moment. `config` must outlive the
 * target; `sink` is copied, and gets bytes in the thread that calls, from the first resume or halt
 * on. Returns 0, or a bt_error with *why filled: what is wrong and what to do.
 * Close in all cases. */
int probe_target_open(struct probe_target *t, struct config *config, const struct trace_sink *sink,
                      struct message *why);

/* Takes all breakpoints away, lets the core run or leaves it halted as the board file says, and
 * lets go of the probe. */
void probe_target_close(struct probe_target *t);

/* Operations of gdb_session_init(), with a struct probe_target as context; t->session must be set
 * before the session has input. */
extern const struct gdb_target probe_target_ops;

/* What goes on without questions: looks at a core that runs, at the trace, for a probe that is
 * gone. To be called when probe_target_pause() is over, or more often. */
void probe_target_tick(struct probe_target *t);

/* Milliseconds. */
unsigned probe_target_pause(const struct probe_target *t);

/* Lines for the summary: probe, wire, core, state. */
void probe_target_summary(struct probe_target *t, target_print_fn print, void *to);

/* Lines on the `monitor` commands that only such a target has. */
void probe_target_help(const struct config *config, target_print_fn print, void *to);

#endif
