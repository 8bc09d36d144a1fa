/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors in words, and recovery: a probe or a target that does not answer is looked for, and what
 * ran ends with a stop. What everything else of the probe target stands on.
 */
#include "probe_target_internal.h"

#include "server/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHORTEST_US 250000u /* between looks for a probe: questions come in bursts */

/* Looks that fail in a row: somebody must look for the target. A core that runs is looked at every
 * few milliseconds, one that stands every second. */
#define ERRORS_RUNNING 20
#define ERRORS_HALTED  2

const char *probe_target_describe(const struct probe_target *t, char *text, size_t size)
{
    if (t->gone && t->dark)
        snprintf(text, size, "the target does not answer: has it lost its power?");
    else if (t->gone || probe_link_is_gone(&t->link))
        snprintf(text, size, "the probe does not answer: is it unplugged?");
    else
        t->ops->describe(t, text, size);
    return text;
}

void probe_target_report(struct probe_target *t, const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text - 1, format, args);
    va_end(args);
    strcat(text, "\n");
    if (t->session)
        gdb_session_output(t->session, text);
}

int probe_target_refuse(struct probe_target *t, struct target_error *why, int error,
                        const char *format, ...)
{
    struct target_error text;
    va_list args;
    va_start(args, format);
    vsnprintf(text.text, sizeof text.text, format, args);
    va_end(args);
    memcpy(t->reported, text.text, sizeof t->reported);
    if (why)
        *why = text;
    return error;
}

void probe_target_give_up(struct probe_target *t, const char *reason)
{
    struct target_stop stop = {.kind = TARGET_HALT_INTERRUPT, .core = (int)t->last};
    if (!t->running)
        return;
    probe_target_report(t, "%s", reason);
    t->running = false;
    t->interrupted = false;
    gdb_session_stopped(t->session, &stop);
}

static void note_loss(struct probe_target *t)
{
    char text[200], reason[260];
    if (t->gone)
        return;
    t->dark = !probe_link_is_gone(&t->link);
    t->gone = true;
    t->losses++;
    t->looked = probe_target_now_us();
    t->ops->forget(t);
    log_write(LOG_AT_WARNING, "btraced: the %s does not answer any more; it is looked for\n",
              t->dark ? "target" : "probe");
    snprintf(reason, sizeof reason, "%s The session goes on when it is back",
             probe_target_describe(t, text, sizeof text));
    probe_target_give_up(t, reason);
}

void probe_target_silent(struct probe_target *t)
{
    if (++t->errors >= (t->running ? ERRORS_RUNNING : ERRORS_HALTED))
        note_loss(t);
}

/* The cores are halted, as GDB takes them to be; what the trace units do is not known. That there
 * was a reset meanwhile is no news. */
static int take_target_back(struct probe_target *t)
{
    struct probe_target_status s;
    int error = t->ops->take_back(t);
    for (unsigned i = 0; i < t->core_count && !error; i++)
        error = t->ops->status(t, i, &s);
    if (!error)
        probe_target_trace_reset(&t->trace);
    return error;
}

static int look_for_probe(struct probe_target *t)
{
    struct message why;
    uint64_t now = probe_target_now_us();
    if (now - t->looked < SHORTEST_US)
        return BT_ERR_IO;
    bool dark = t->dark;
    int error = probe_link_reopen(&t->link, &why);
    if (!error)
        error = take_target_back(t);
    t->gone = error != BT_OK;
    t->dark = error && t->link.dp.failure != DEBUG_FAIL_PROBE;
    t->looked = probe_target_now_us();
    if (error)
        return BT_ERR_IO;
    t->errors = 0;
    t->ops->forget(t);
    t->resets++;
    log_write(LOG_AT_INFO, "btraced: the %s, the core is halted\n",
              dark ? "target answers again" : "probe is back");
    if (t->moved)
        t->moved(t->ctx);
    return BT_OK;
}

int probe_target_ready(struct probe_target *t)
{
    return t->gone ? look_for_probe(t) : BT_OK;
}

int probe_target_result(struct probe_target *t, int error, struct target_error *why)
{
    char text[sizeof t->reported];
    if (error >= 0)
        return error;
    if (probe_link_is_gone(&t->link))
        note_loss(t);
    if (!why || why->text[0] == '\0')
        probe_target_refuse(t, why, error, "%s", probe_target_describe(t, text, sizeof text));
    return error;
}

int probe_target_reset(struct probe_target *t)
{
    t->ops->forget(t);
    memset(t->pending, 0, sizeof t->pending);
    int error = t->ops->reset(t);
    if (error == BT_ERR_UNSUPPORTED)
        return error;
    t->resets++;
    probe_target_trace_reset(&t->trace);
    return error;
}
