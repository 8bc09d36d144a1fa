/* SPDX-License-Identifier: BSD-3-Clause */
/* Running and halting: what a stop is called, and what becomes of the trace. */
#include "probe_target.h"

#define SIGNAL_SEGV    11
#define PAUSE_FIRST_MS 1
#define PAUSE_MOST_MS  10
#define SAME_FIRST     8u /* resumes */

/* GDB runs on where it is told of a breakpoint that it does not have. */
static enum target_halt_reason reason_at(const struct probe_target *t, uint32_t address)
{
    enum target_halt_reason reason = TARGET_HALT_TRAP;
    for (unsigned i = 0; i < t->breakpoint_count; i++) {
        const struct target_breakpoint *bp = &t->breakpoints[i].asked;
        if (bp->address == address && bp->type == TARGET_BREAKPOINT_SOFTWARE)
            return TARGET_HALT_SWBREAK;
        if (bp->address == address && bp->type == TARGET_BREAKPOINT_HARDWARE)
            reason = TARGET_HALT_HWBREAK;
    }
    return reason;
}

static bool is_breakpoint(const struct target_core_status *s)
{
    return s->reason == TARGET_HALT_SWBREAK || s->reason == TARGET_HALT_HWBREAK;
}

static void name_core_stop(struct probe_target *t, unsigned core,
                           const struct target_core_status *s, struct target_stop *stop)
{
    bool asked = s->reason == TARGET_HALT_INTERRUPT || s->reason == TARGET_HALT_EXTERNAL;
    *stop = (struct target_stop){.kind = s->reason, .core = (int)core};
    if (is_breakpoint(s)) {
        stop->kind = reason_at(t, s->pc);
    } else if (target_is_watch(s->reason)) {
        stop->kind = s->watch_length > 0 ? s->reason : TARGET_HALT_TRAP;
        stop->address = s->watch_address;
    } else if (s->reason == TARGET_HALT_VECTOR) {
        stop->signal = t->ops->signal(t, core);
        stop->kind = stop->signal ? TARGET_HALT_SIGNAL : TARGET_HALT_VECTOR;
    } else if (asked && t->run == PROBE_HALTING) {
        stop->kind = TARGET_HALT_INTERRUPT;
    } else if (s->reason == TARGET_HALT_INTERRUPT) {
        stop->kind = TARGET_HALT_TRAP; /* by somebody else, or at attach */
    }
}

/* All cores stand: the trace comes first, so that it is complete when the stop is told. */
static void take_core_halt(struct probe_target *t, unsigned core,
                           const struct target_core_status *s, struct target_stop *stop)
{
    struct message why;
    if (t->run == PROBE_HALTING)
        t->events->halted(t->ctx);
    t->last = core;
    t->pending[core].state = TARGET_CORE_RUNNING;
    if (probe_target_trace_halted(&t->trace, &why))
        probe_target_report(t, "the trace of this run cannot be read: %s", why.text);
    if (s->reason == TARGET_HALT_BKPT)
        probe_target_report(t, "halted at a BKPT instruction of the program itself");
    else if (s->reason == TARGET_HALT_EXTERNAL)
        probe_target_report(t, "halted by another debugger or another core");
    t->ops->report_stop(t, core);
    name_core_stop(t, core, s, stop);
    t->run = PROBE_STANDS;
}

/* Several cores. */

/* How much a stop is worth telling: what a core stopped for by itself goes before requests. */
static unsigned stop_weight(const struct target_core_status *s)
{
    if (s->state != TARGET_CORE_HALTED)
        return 0;
    switch (s->reason) {
    case TARGET_HALT_TRAP:
    case TARGET_HALT_EXTERNAL:
        return 1;
    case TARGET_HALT_INTERRUPT:
        return 2;
    case TARGET_HALT_STEP:
        return 3;
    default:
        return 4;
    }
}

static bool does_run(const struct target_core_status *s)
{
    return s->state != TARGET_CORE_HALTED && s->state != TARGET_CORE_OFF;
}

/*
 * Halts those that still run. The one to be told of goes to *core, with its status in *s: it is
 * `first` if that has a reason of its own; the others of those let go that have one wait for their
 * turn.
 */
static int halt_all(struct probe_target *t, unsigned first, unsigned *core,
                    struct target_core_status *s)
{
    struct target_core_status all[CONFIG_MAX_CORES] = {{.state = TARGET_CORE_RUNNING}};
    int worst = BT_OK;
    *core = first;
    for (unsigned k = 0; k < t->core_count; k++) {
        unsigned i = (first + k) % t->core_count;
        int error = t->ops->status(t, i, &all[i]);
        bool runs = does_run(&all[i]);
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
            t->pending[i] = stop_weight(&all[i]) > 3 ? all[i] : (struct target_core_status){0};
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
    if (!resume)
        return true;
    return resume->action[core] == TARGET_ACTION_CONTINUE && (!resume->step || t->step_all);
}

/* A core that is to run, and has stopped for a reason that nobody was told of. */
static bool find_pending_stop(struct probe_target *t, const struct target_resume *resume,
                              unsigned *core, struct target_core_status *s)
{
    for (unsigned i = 0; i < t->core_count; i++) {
        const struct target_core_status p = t->pending[i];
        bool steps = resume && resume->step && (int)i == resume->core;
        if (p.state != TARGET_CORE_HALTED || !(steps || is_to_run(t, resume, i)))
            continue;
        t->pending[i].state = TARGET_CORE_RUNNING;
        int error = t->ops->status(t, i, s);
        bool gone = error || s->state != TARGET_CORE_HALTED || s->pc != p.pc ||
                    (is_breakpoint(s) && reason_at(t, s->pc) == TARGET_HALT_TRAP);
        *core = i;
        if (!gone)
            return true;
    }
    return false;
}

/* While it runs. */

static void end_run(struct probe_target *t, unsigned first)
{
    struct target_core_status s;
    struct target_stop stop;
    unsigned core;
    int error = halt_all(t, first, &core, &s);
    probe_target_result(t, error, NULL);
    if (!probe_target_runs(t)) /* the probe is gone, and that was told */
        return;
    take_core_halt(t, core, &s, &stop);
    if (error)
        probe_target_report(t, "not all cores are halted: %s", t->reported.text);
    t->events->stopped(t->ctx, &stop, "");
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
    probe_target_note_change(t, TARGET_CHANGE_RESET);
    probe_target_trace_reset(&t->trace);
    begin_run_trace(t);
}

/* Stopped by a fault in a fault handler: nothing but a reset helps, and nobody would ever know. */
static void take_lockup(struct probe_target *t, unsigned core)
{
    struct target_core_status s;
    struct target_stop stop;
    probe_target_report(t, "the core is locked up: a fault within a fault handler");
    if (halt_all(t, core, &core, &s))
        return;
    take_core_halt(t, core, &s, &stop);
    stop =
        (struct target_stop){.kind = TARGET_HALT_SIGNAL, .signal = SIGNAL_SEGV, .core = (int)core};
    t->events->stopped(t->ctx, &stop, "");
}

/* False: the others need not be looked at any more. */
static bool watch_core(struct probe_target *t, unsigned core)
{
    struct target_core_status s;
    int error = t->ops->status(t, core, &s);
    if (error) {
        probe_target_result(t, error, NULL);
        if (probe_target_runs(t))
            probe_target_silent(t);
        return false;
    }
    t->errors = 0;
    if (s.reset_seen)
        take_reset(t);
    probe_target_allow(t, t->config->deadline_ms);
    if (s.state == TARGET_CORE_HALTED)
        end_run(t, core);
    else if (s.state == TARGET_CORE_LOCKUP)
        take_lockup(t, core);
    return probe_target_runs(t);
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

int probe_target_begin(struct probe_target *t, struct target_stop *stop)
{
    struct target_core_status s = {.state = TARGET_CORE_RUNNING};
    unsigned core;
    bool first = t->run == PROBE_UNSEEN, ran = first;
    probe_target_flash_abandon(&t->flash);
    *stop = (struct target_stop){.kind = TARGET_HALT_TRAP};
    int error = probe_target_ready(t);
    for (unsigned i = 0; i < t->core_count && !error; i++) {
        error = t->ops->status(t, i, &s);
        ran |= does_run(&s);
    }
    if (!error)
        error = halt_all(t, t->last, &core, &s);
    t->run = PROBE_STANDS;
    if (probe_target_result(t, error, NULL) == BT_OK) {
        if (ran)
            take_core_halt(t, core, &s, stop);
        else
            name_core_stop(t, core, &s, stop);
    } else if (first && t->presence == PROBE_THERE) {
        t->run = PROBE_RUNS;
        t->pause = PAUSE_MOST_MS;
        for (unsigned i = 0; i < t->core_count; i++)
            t->let_go[i] = true;
    }
    return error;
}

/* One of those let go stands already: at a breakpoint just ahead, before the next one could go. */
static bool is_run_over(struct probe_target *t)
{
    struct target_core_status s;
    for (unsigned i = 0; i < t->core_count; i++)
        if (t->let_go[i] && t->ops->status(t, i, &s) == BT_OK && s.state == TARGET_CORE_HALTED)
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
    struct target_core_status s;
    t->let_go[core] = true;
    int error = t->ops->step(t, core, t->mask_interrupts, &s);
    /* With others to be looked at, or something gone wrong. */
    bool all = error || t->core_count > 1;
    int halted = all ? halt_all(t, core, &core, &s) : BT_OK;
    t->let_go[core] = false;
    error = error ? error : halted;
    if (!error)
        take_core_halt(t, core, &s, stop);
    return error;
}

/* True when it is over already: *stop; else it runs, or there is an error. */
static bool begin_run(struct probe_target *t, const struct target_resume *resume,
                      struct target_stop *stop, int *error)
{
    struct target_core_status s;
    unsigned core;
    *error = probe_target_ready(t);
    if (*error)
        return false;
    probe_target_flash_abandon(&t->flash);
    if (find_pending_stop(t, resume, &core, &s)) {
        t->last = core;
        name_core_stop(t, core, &s, stop);
        return true;
    }
    begin_run_trace(t);
    *error = let_cores_go(t, resume);
    if (!*error && resume && resume->step) {
        *error = step_core(t, (unsigned)resume->core, stop);
        return *error == BT_OK;
    }
    if (!*error) {
        t->run = PROBE_RUNS;
        t->errors = 0;
        t->pause = PAUSE_FIRST_MS;
        return false;
    }
    probe_target_result(t, *error, &t->why);
    halt_all(t, t->last, &core, &s);
    return false;
}

void probe_target_resume(struct probe_target *t, const struct target_resume *resume)
{
    struct target_stop stop;
    int error;
    t->why.text[0] = '\0';
    probe_target_allow(t, t->config->deadline_ms);
    bool over = begin_run(t, resume, &stop, &error);
    if (probe_target_result(t, error, &t->why))
        stop = (struct target_stop){.kind = TARGET_HALT_FAILED, .core = (int)t->last};
    if (over || error)
        t->events->stopped(t->ctx, &stop, error ? t->why.text : "");
}

void probe_target_interrupt(struct probe_target *t)
{
    if (!probe_target_runs(t))
        return;
    t->run = PROBE_HALTING;
    probe_target_allow(t, t->config->deadline_ms);
    int error = t->ops->halt(t, t->last);
    if (!error) {
        end_run(t, t->last);
        return;
    }
    probe_target_result(t, error, NULL);
    if (!probe_target_runs(t))
        return;
    t->run = PROBE_RUNS;
    t->events->not_halted(t->ctx, t->reported.text);
}
