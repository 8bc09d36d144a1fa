/* SPDX-License-Identifier: BSD-3-Clause */
/* Running and halting: what a stop is called, what is told of a fault, what becomes of the trace.
 */
#include "server/native_internal.h"

#include <string.h>

#define SIGNAL_ILL  4
#define SIGNAL_SEGV 11

#define PAUSE_FIRST_MS 1
#define PAUSE_MOST_MS  10

#define ERRORS_MAX 20 /* looks that fail in a row: the core does not come back */

#define EXCEPTION_HARDFAULT   3u
#define EXCEPTION_USAGEFAULT  6u
#define EXCEPTION_SECUREFAULT 7u

/* ---- what a stop is ---------------------------------------------------------------------------
 */

static bool is_fault(unsigned exception)
{
    return exception >= EXCEPTION_HARDFAULT && exception <= EXCEPTION_SECUREFAULT;
}

static enum gdb_stop_kind watch_kind(enum cortex_m_point kind)
{
    return kind == CORTEX_M_WATCH_READ     ? GDB_STOP_RWATCH
           : kind == CORTEX_M_WATCH_ACCESS ? GDB_STOP_AWATCH
                                           : GDB_STOP_WATCH;
}

/* Vector catch: before the first instruction of a handler, or of the reset. */
static void name_vector(struct native_target *t, struct gdb_stop *stop)
{
    if (native_load_values(t))
        return;
    unsigned exception = t->values[CORTEX_M_XPSR] & 0x1ff;
    if (!is_fault(exception))
        return;
    stop->kind = GDB_STOP_SIGNAL;
    stop->signal = exception == EXCEPTION_USAGEFAULT ? SIGNAL_ILL : SIGNAL_SEGV;
}

static void name_stop(struct native_target *t, const struct cortex_m_status *s,
                      struct gdb_stop *stop)
{
    *stop = (struct gdb_stop){.kind = GDB_STOP_TRAP};
    switch (s->reason) {
    case CORTEX_M_REASON_BREAKPOINT:
        stop->kind = native_stop_kind(t, s->pc);
        break;
    case CORTEX_M_REASON_WATCHPOINT:
        if (s->watch_length == 0)
            break;
        stop->kind = watch_kind(s->watch_kind);
        stop->address = s->watch_address;
        break;
    case CORTEX_M_REASON_VECTOR:
        name_vector(t, stop);
        break;
    case CORTEX_M_REASON_REQUEST:
        if (t->interrupted)
            stop->kind = GDB_STOP_INTERRUPT;
        break;
    default:
        break;
    }
}

/* Once for each fault, not at every step through its handler. */
static void tell_fault(struct native_target *t)
{
    struct cortex_m_exception e;
    char text[400];
    if (native_load_values(t) || !is_fault(t->values[CORTEX_M_XPSR] & 0x1ff)) {
        memset(t->told, 0, sizeof t->told);
        return;
    }
    if (cortex_m_exception(&t->core, &e))
        return;
    const uint32_t now[3] = {e.number, e.cfsr, e.hfsr};
    if (memcmp(now, t->told, sizeof now) == 0)
        return;
    memcpy(t->told, now, sizeof now);
    native_say(t, "%s", cortex_m_exception_text(&e, text, sizeof text));
}

static void tell_reason(struct native_target *t, const struct cortex_m_status *s)
{
    if (s->reason == CORTEX_M_REASON_BKPT)
        native_say(t, "halted at a BKPT instruction of the program itself");
    else if (s->reason == CORTEX_M_REASON_EXTERNAL)
        native_say(t, "halted by another debugger or another core");
    tell_fault(t);
}

/* The core stands: the trace comes first, so that it is complete when the stop is told. */
static void take_halt(struct native_target *t, const struct cortex_m_status *s,
                      struct gdb_stop *stop)
{
    struct message why;
    t->values_known = false;
    if (native_trace_halted(&t->trace, &why))
        native_say(t, "the trace of this stretch cannot be read: %s", why.text);
    tell_reason(t, s);
    name_stop(t, s, stop);
    t->interrupted = false;
}

/* ---- while it runs ----------------------------------------------------------------------------
 */

static void begin_run(struct native_target *t)
{
    t->running = true;
    t->errors = 0;
    t->pause = PAUSE_FIRST_MS;
}

static void end_run(struct native_target *t, const struct cortex_m_status *s)
{
    struct gdb_stop stop;
    take_halt(t, s, &stop);
    t->running = false;
    gdb_session_stopped(t->session, &stop);
}

void native_give_up(struct native_target *t, const char *reason)
{
    struct gdb_stop stop = {.kind = GDB_STOP_INTERRUPT};
    if (!t->running)
        return;
    native_say(t, "%s", reason);
    t->running = false;
    t->interrupted = false;
    gdb_session_stopped(t->session, &stop);
}

static void begin_trace(struct native_target *t)
{
    struct message why;
    if (native_trace_resume(&t->trace, &why))
        native_say(t, "what runs now is not traced: %s", why.text);
}

/* The trace units have forgotten everything, too. */
static void take_reset(struct native_target *t)
{
    native_say(t, "the core was reset");
    t->resets++;
    native_trace_reset(&t->trace);
    begin_trace(t);
}

/* Stopped by a fault in a fault handler: nothing but a reset helps, and nobody would ever know. */
static void take_lockup(struct native_target *t)
{
    struct cortex_m_status s;
    struct gdb_stop stop;
    native_say(t, "the core is locked up: a fault within a fault handler");
    if (cortex_m_halt(&t->core) || cortex_m_status(&t->core, &s))
        return;
    take_halt(t, &s, &stop);
    t->running = false;
    stop = (struct gdb_stop){.kind = GDB_STOP_SIGNAL, .signal = SIGNAL_SEGV};
    gdb_session_stopped(t->session, &stop);
}

static void look_failed(struct native_target *t, int rc)
{
    native_result(t, rc, NULL);
    if (t->running && ++t->errors >= ERRORS_MAX)
        native_give_up(t, t->said);
}

void native_watch(struct native_target *t)
{
    struct cortex_m_status s;
    struct message why;
    native_trace_poll(&t->trace, &why); /* what is wrong is seen at the halt, too */
    int rc = cortex_m_status(&t->core, &s);
    t->pause = t->pause * 2 < PAUSE_MOST_MS ? t->pause * 2 : PAUSE_MOST_MS;
    if (rc) {
        look_failed(t, rc);
        return;
    }
    t->errors = 0;
    if (s.reset_seen)
        take_reset(t);
    if (s.state == CORTEX_M_HALTED)
        end_run(t, &s);
    else if (s.state == CORTEX_M_LOCKUP)
        take_lockup(t);
}

/* ---- operations -------------------------------------------------------------------------------
 */

/* A core that runs is halted: GDB can do nothing with one that does not stand. */
int native_op_halt_reason(void *ctx, struct gdb_stop *stop)
{
    struct native_target *t = ctx;
    struct cortex_m_status s;
    native_flash_abandon(&t->flash);
    int rc = native_ready(t);
    *stop = (struct gdb_stop){.kind = GDB_STOP_TRAP};
    if (!rc)
        rc = cortex_m_status(&t->core, &s);
    if (rc) {
        native_result(t, rc, NULL);
        return BT_OK;
    }
    bool ran = s.state != CORTEX_M_HALTED;
    if (ran)
        rc = cortex_m_halt(&t->core);
    if (!rc)
        rc = cortex_m_status(&t->core, &s);
    if (native_result(t, rc, NULL))
        return BT_OK;
    if (ran || !t->halted_once)
        take_halt(t, &s, stop);
    else
        name_stop(t, &s, stop);
    t->halted_once = true;
    return BT_OK;
}

static int step(struct native_target *t, struct gdb_stop *stop)
{
    struct cortex_m_status s;
    t->values_known = false;
    int rc = cortex_m_step(&t->core, t->mask_interrupts);
    if (!rc)
        rc = cortex_m_status(&t->core, &s);
    if (!rc)
        take_halt(t, &s, stop);
    return rc;
}

int native_op_resume(void *ctx, const struct gdb_resume *resume, struct gdb_stop *stop,
                     struct gdb_why *why)
{
    struct native_target *t = ctx;
    int rc = native_ready(t);
    if (rc)
        return native_result(t, rc, why);
    native_flash_abandon(&t->flash);
    begin_trace(t);
    t->interrupted = false;
    if (resume->step)
        return native_result(t, step(t, stop), why);
    t->values_known = false;
    rc = cortex_m_resume(&t->core);
    if (rc)
        return native_result(t, rc, why);
    begin_run(t);
    return GDB_PENDING;
}

void native_op_interrupt(void *ctx)
{
    struct native_target *t = ctx;
    struct cortex_m_status s;
    if (!t->running)
        return;
    t->interrupted = true;
    int rc = cortex_m_halt(&t->core);
    if (!rc)
        rc = cortex_m_status(&t->core, &s);
    if (!rc && s.state == CORTEX_M_HALTED) {
        end_run(t, &s);
        return;
    }
    if (rc)
        native_result(t, rc, NULL);
    native_give_up(t, t->said);
}

int native_op_restart(void *ctx, struct gdb_why *why)
{
    struct native_target *t = ctx;
    int rc = native_ready(t);
    return native_result(t, rc ? rc : native_reset(t), why);
}
