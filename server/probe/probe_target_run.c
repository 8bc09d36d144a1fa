/* SPDX-License-Identifier: BSD-3-Clause */
/* Running and halting: what a stop is called, and what becomes of the trace. */
#include "probe_target_internal.h"

#include <string.h>

#define SIGNAL_SEGV    11
#define PAUSE_FIRST_MS 1
#define PAUSE_MOST_MS  10
#define SAME_FIRST     8u /* resumes */

/* GDB runs on where it is told of a breakpoint that it does not have. */
static enum target_halt_reason stop_kind_at(const struct probe_target *t, uint32_t address)
{
    enum target_halt_reason kind = TARGET_HALT_TRAP;
    for (unsigned i = 0; i < t->breakpoint_count; i++) {
        const struct target_breakpoint *bp = &t->breakpoints[i].asked;
        if (bp->address == address && bp->type == TARGET_BREAKPOINT_SOFTWARE)
            return TARGET_HALT_SWBREAK;
        if (bp->address == address && bp->type == TARGET_BREAKPOINT_HARDWARE)
            kind = TARGET_HALT_HWBREAK;
    }
    return kind;
}

static void name_core_stop(struct probe_target *t, unsigned core,
                           const struct probe_target_status *s, struct target_stop *stop)
{
    *stop = (struct target_stop){.kind = TARGET_HALT_TRAP, .core = (int)core};
    switch (s->reason) {
    case PROBE_TARGET_REASON_BREAKPOINT:
        stop->kind = stop_kind_at(t, s->pc);
        break;
    case PROBE_TARGET_REASON_WATCHPOINT:
        stop->kind = s->watch;
        stop->address = s->watch_address;
        break;
    case PROBE_TARGET_REASON_VECTOR:
        t->ops->name_stop(t, core, stop);
        break;
    case PROBE_TARGET_REASON_REQUEST:
    case PROBE_TARGET_REASON_EXTERNAL:
        if (t->interrupted)
            stop->kind = TARGET_HALT_INTERRUPT;
        break;
    default:
        break;
    }
}

static void report_reason(struct probe_target *t, unsigned core,
                          const struct probe_target_status *s)
{
    if (s->reason == PROBE_TARGET_REASON_BKPT)
        probe_target_report(t, "halted at a BKPT instruction of the program itself");
    else if (s->reason == PROBE_TARGET_REASON_EXTERNAL)
        probe_target_report(t, "halted by another debugger or another core");
    t->ops->reports->stop(t, core, s);
}

/* All cores stand: the trace comes first, so that it is complete when the stop is told. */
static void take_core_halt(struct probe_target *t, unsigned core,
                           const struct probe_target_status *s, struct target_stop *stop)
{
    struct message why;
    t->ops->forget(t);
    t->last = core;
    t->pending[core].there = false;
    if (probe_target_trace_halted(&t->trace, &why))
        probe_target_report(t, "the trace of this run cannot be read: %s", why.text);
    report_reason(t, core, s);
    name_core_stop(t, core, s, stop);
    t->interrupted = false;
}

/* Several cores. */

/* How much a stop is worth telling: what a core stopped for by itself goes before requests. */
static unsigned stop_weight(const struct probe_target_status *s)
{
    if (s->state != PROBE_TARGET_HALTED)
        return 0;
    switch (s->reason) {
    case PROBE_TARGET_REASON_NONE:
    case PROBE_TARGET_REASON_EXTERNAL:
        return 1;
    case PROBE_TARGET_REASON_REQUEST:
        return 2;
    case PROBE_TARGET_REASON_STEP:
        return 3;
    default:
        return 4;
    }
}

/*
 * Halts those that still run. The one to be told of goes to *core, with its status in *s: it is
 * `first` if that has a reason of its own; the others of those let go that have one wait for their
 * turn.
 */
static int halt_all(struct probe_target *t, unsigned first, unsigned *core,
                    struct probe_target_status *s)
{
    struct probe_target_status all[CONFIG_MAX_CORES] = {{.state = PROBE_TARGET_RUNNING}};
    int worst = BT_OK;
    *core = first;
    for (unsigned k = 0; k < t->core_count; k++) {
        unsigned i = (first + k) % t->core_count;
        int error = t->ops->status(t, i, &all[i]);
        bool runs = all[i].state != PROBE_TARGET_HALTED && all[i].state != PROBE_TARGET_OFF;
        if (!error && runs)
            error = t->ops->halt(t, i);
        if (!error && runs)
            error = t->ops->status(t, i, &all[i]);
        worst = worst ? worst : error;
        if (t->let_go[i] && stop_weight(&all[i]) > stop_weight(&all[*core]))
            *core = i;
    }
    for (unsigned i = 0; i < t->core_count; i++) {
        if (t->let_go[i])
            t->pending[i] = (struct probe_target_pending){stop_weight(&all[i]) > 3, all[i]};
        t->let_go[i] = false;
    }
    *s = all[*core];
    return worst;
}

/* While one core steps the others stand, unless the user wants it otherwise: in the milliseconds
 * that a step takes here they would run far, and push its trace out of a buffer. */
static bool is_to_run(const struct probe_target *t, const struct target_resume *resume,
                      unsigned core)
{
    return resume->action[core] == TARGET_ACTION_CONTINUE && (!resume->step || t->step_all);
}

/* A core that is to run, and has stopped for a reason that nobody was told of. */
static bool find_pending_stop(struct probe_target *t, const struct target_resume *resume,
                              unsigned *core, struct probe_target_status *s)
{
    for (unsigned i = 0; i < t->core_count; i++) {
        struct probe_target_pending p = t->pending[i];
        bool steps = resume->step && (int)i == resume->core;
        if (!p.there || !(steps || is_to_run(t, resume, i)))
            continue;
        t->pending[i].there = false;
        int error = t->ops->status(t, i, s);
        bool gone = error || s->state != PROBE_TARGET_HALTED || s->pc != p.status.pc ||
                    (s->reason == PROBE_TARGET_REASON_BREAKPOINT &&
                     stop_kind_at(t, s->pc) == TARGET_HALT_TRAP);
        *core = i;
        if (!gone)
            return true;
    }
    return false;
}

/* While it runs. */

static void begin_run(struct probe_target *t)
{
    t->running = true;
    t->errors = 0;
    t->pause = PAUSE_FIRST_MS;
}

static void end_run(struct probe_target *t, unsigned first)
{
    struct probe_target_status s;
    struct target_stop stop;
    unsigned core;
    int error = halt_all(t, first, &core, &s);
    probe_target_result(t, error, NULL);
    if (!t->running) /* the probe is gone, and that was told */
        return;
    take_core_halt(t, core, &s, &stop);
    if (error)
        probe_target_report(t, "not all cores are halted: %s", t->reported);
    t->running = false;
    gdb_session_stopped(t->session, &stop);
}

static void begin_run_trace(struct probe_target *t)
{
    struct message why;
    if (probe_target_trace_resume(&t->trace, &why))
        probe_target_report(t, "what runs now is not traced: %s", why.text);
}

/* The trace units have forgotten everything, too. */
static void take_reset(struct probe_target *t)
{
    probe_target_report(t, "the core was reset");
    t->resets++;
    probe_target_trace_reset(&t->trace);
    begin_run_trace(t);
}

/* Stopped by a fault in a fault handler: nothing but a reset helps, and nobody would ever know. */
static void take_lockup(struct probe_target *t, unsigned core)
{
    struct probe_target_status s;
    struct target_stop stop;
    probe_target_report(t, "the core is locked up: a fault within a fault handler");
    if (halt_all(t, core, &core, &s))
        return;
    take_core_halt(t, core, &s, &stop);
    t->running = false;
    stop =
        (struct target_stop){.kind = TARGET_HALT_SIGNAL, .signal = SIGNAL_SEGV, .core = (int)core};
    gdb_session_stopped(t->session, &stop);
}

static void look_failed(struct probe_target *t, int error)
{
    probe_target_result(t, error, NULL);
    if (t->running)
        probe_target_silent(t);
}

/* False: the others need not be looked at any more. */
static bool watch_core(struct probe_target *t, unsigned core)
{
    struct probe_target_status s;
    int error = t->ops->status(t, core, &s);
    if (error) {
        look_failed(t, error);
        return false;
    }
    t->errors = 0;
    if (s.reset_seen)
        take_reset(t);
    if (s.state == PROBE_TARGET_HALTED)
        end_run(t, core);
    else if (s.state == PROBE_TARGET_LOCKUP)
        take_lockup(t, core);
    return t->running;
}

void probe_target_watch(struct probe_target *t)
{
    struct message why;
    bool go_on = true;
    probe_target_trace_poll(&t->trace, &why); /* what is wrong is seen at the halt, too */
    t->pause = t->pause * 2 < PAUSE_MOST_MS ? t->pause * 2 : PAUSE_MOST_MS;
    for (unsigned i = 0; i < t->core_count && go_on; i++)
        go_on = !t->let_go[i] || watch_core(t, i);
}

/* Cores that run are halted: GDB can do nothing with one that does not stand. */
int probe_target_halt_reason(void *ctx, struct target_stop *stop)
{
    struct probe_target *t = ctx;
    struct probe_target_status s = {.state = PROBE_TARGET_RUNNING};
    unsigned core;
    probe_target_flash_abandon(&t->flash);
    int error = probe_target_ready(t);
    *stop = (struct target_stop){.kind = TARGET_HALT_TRAP};
    bool ran = false;
    for (unsigned i = 0; i < t->core_count && !error; i++) {
        error = t->ops->status(t, i, &s);
        ran |= s.state != PROBE_TARGET_HALTED && s.state != PROBE_TARGET_OFF;
    }
    if (!error)
        error = halt_all(t, t->last, &core, &s);
    if (probe_target_result(t, error, NULL))
        return BT_OK;
    if (ran || !t->halted_once)
        take_core_halt(t, core, &s, stop);
    else
        name_core_stop(t, core, &s, stop);
    t->halted_once = true;
    return BT_OK;
}

/* One of those let go stands already: at a breakpoint just ahead, before the next one could go. */
static bool is_run_over(struct probe_target *t)
{
    struct probe_target_status s;
    for (unsigned i = 0; i < t->core_count; i++)
        if (t->let_go[i] && t->ops->status(t, i, &s) == BT_OK && s.state == PROBE_TARGET_HALTED)
            return true;
    return false;
}

/* Those that are to run freely; the first failure ends it. Who goes first changes now and then:
 * a breakpoint that one core hits again and again must not keep the others from running. */
static int let_cores_go(struct probe_target *t, const struct target_resume *resume)
{
    unsigned first = t->resumes++ / SAME_FIRST % t->core_count;
    int error = BT_OK;
    bool over = false;
    for (unsigned k = 0; k < t->core_count && !error && !over; k++) {
        unsigned i = (first + k) % t->core_count;
        if (!is_to_run(t, resume, i))
            continue;
        error = t->ops->resume(t, i);
        t->let_go[i] = true;
        over = !error && k + 1 < t->core_count && is_run_over(t);
    }
    return error;
}

static int step_core(struct probe_target *t, unsigned core, struct target_stop *stop)
{
    struct probe_target_status s;
    t->ops->forget(t);
    t->let_go[core] = true;
    int error = t->ops->step(t, core, t->mask_interrupts);
    int halted = halt_all(t, core, &core, &s);
    error = error ? error : halted;
    if (!error)
        take_core_halt(t, core, &s, stop);
    return error;
}

int probe_target_resume(void *ctx, const struct target_resume *resume, struct target_stop *stop,
                        struct target_error *why)
{
    struct probe_target *t = ctx;
    struct probe_target_status s;
    unsigned core;
    int error = probe_target_ready(t);
    if (error)
        return probe_target_result(t, error, why);
    probe_target_flash_abandon(&t->flash);
    if (find_pending_stop(t, resume, &core, &s)) {
        t->last = core;
        name_core_stop(t, core, &s, stop);
        return BT_OK;
    }
    begin_run_trace(t);
    t->interrupted = false;
    t->ops->forget(t);
    error = let_cores_go(t, resume);
    if (!error && resume->step)
        return probe_target_result(t, step_core(t, (unsigned)resume->core, stop), why);
    if (error) {
        probe_target_result(t, error, why);
        halt_all(t, t->last, &core, &s);
        return error;
    }
    begin_run(t);
    return TARGET_PENDING;
}

void probe_target_interrupt(void *ctx)
{
    struct probe_target *t = ctx;
    if (!t->running)
        return;
    t->interrupted = true;
    int error = t->ops->halt(t, t->last);
    if (!error) {
        end_run(t, t->last);
        return;
    }
    probe_target_result(t, error, NULL);
    probe_target_give_up(t, t->reported);
}
