/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors in words, and recovery: a probe or a target that does not answer is looked for, and what
 * ran ends with a stop. What everything else of the probe target stands on.
 */
#include "probe_target.h"

#include "server/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHORTEST_US 250000u /* between looks for a probe: questions come in bursts */

/* Looks that fail in a row: somebody must look for the target. A core that runs is looked at every
 * few milliseconds, one that stands every second. */
#define ERRORS_RUNNING 20
#define ERRORS_HALTED  2

/* Of the time that is allowed: what is said comes before those who wait for it give up. */
#define PART_US  875u
#define LEAST_MS 100u

void probe_target_allow(struct probe_target *t, unsigned ms)
{
    t->due_us = probe_target_now_us() + PART_US * (uint64_t)ms;
}

unsigned probe_target_left_ms(const struct probe_target *t)
{
    uint64_t now = probe_target_now_us();
    uint64_t left = t->due_us > now ? (t->due_us - now + 500) / 1000 : 0;
    return left > LEAST_MS ? (unsigned)left : LEAST_MS;
}

/* Why the last access failed: returns `text`. */
static const char *probe_describe(const struct probe_target *t, char *text, size_t size)
{
    if (t->presence == PROBE_DARK)
        snprintf(text, size, "the target does not answer: has it lost its power?");
    else if (t->presence == PROBE_GONE || probe_link_is_gone(&t->link))
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
    if (t->events)
        t->events->output(t->ctx, text);
}

int probe_target_refuse(struct probe_target *t, struct target_error *why, int error,
                        const char *format, ...)
{
    struct target_error text;
    va_list args;
    va_start(args, format);
    vsnprintf(text.text, sizeof text.text, format, args);
    va_end(args);
    t->reported = text;
    if (why)
        *why = text;
    return error;
}

static void note_loss(struct probe_target *t)
{
    const struct target_stop stop = {.kind = TARGET_HALT_INTERRUPT, .core = (int)t->last};
    char text[200];
    if (t->presence != PROBE_THERE)
        return;
    t->presence = probe_link_is_gone(&t->link) ? PROBE_GONE : PROBE_DARK;
    t->losses++;
    t->looked = probe_target_now_us();
    log_write(LOG_AT_WARNING, "btraced: the %s does not answer any more; it is looked for\n",
              t->presence == PROBE_DARK ? "target" : "probe");
    if (!probe_target_runs(t))
        return;
    probe_target_report(t, "%s The session goes on when it is back",
                        probe_describe(t, text, sizeof text));
    t->run = PROBE_STANDS;
    t->events->stopped(t->ctx, &stop, "");
}

void probe_target_silent(struct probe_target *t)
{
    if (++t->errors >= (probe_target_runs(t) ? ERRORS_RUNNING : ERRORS_HALTED))
        note_loss(t);
}

/* The cores are halted, as GDB takes them to be; what the trace units do is not known. That there
 * was a reset meanwhile is no news. */
static int take_target_back(struct probe_target *t)
{
    struct target_core_status s;
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
    bool dark = t->presence == PROBE_DARK;
    if (probe_target_now_us() - t->looked < SHORTEST_US)
        return BT_ERR_IO;
    probe_target_allow(t, t->config->deadline_ms);
    int error = probe_link_reopen(&t->link, &why);
    if (!error)
        error = take_target_back(t);
    t->looked = probe_target_now_us();
    if (error) {
        t->presence = t->link.dp.failure == DEBUG_FAIL_PROBE ? PROBE_GONE : PROBE_DARK;
        return BT_ERR_IO;
    }
    t->presence = PROBE_THERE;
    t->errors = 0;
    probe_target_note_change(t, TARGET_CHANGE_RESET);
    log_write(LOG_AT_INFO, "btraced: the %s, the core is halted\n",
              dark ? "target answers again" : "probe is back");
    return BT_OK;
}

int probe_target_ready(struct probe_target *t)
{
    return t->presence == PROBE_THERE ? BT_OK : look_for_probe(t);
}

int probe_target_result(struct probe_target *t, int error, struct target_error *why)
{
    char text[sizeof t->reported.text];
    if (error >= 0)
        return error;
    if (probe_link_is_gone(&t->link))
        note_loss(t);
    if (!why || why->text[0] == '\0')
        probe_target_refuse(t, why, error, "%s", probe_describe(t, text, sizeof text));
    return error;
}

bool probe_target_failed(struct probe_target *t, int error, const struct console *c,
                         const char *what)
{
    char text[240];
    if (probe_target_result(t, error, NULL))
        console_print(c, "%s: %s\n", what, probe_describe(t, text, sizeof text));
    return error != BT_OK;
}

int probe_target_reset(struct probe_target *t)
{
    memset(t->pending, 0, sizeof t->pending);
    int error = t->ops->reset(t);
    if (error == BT_ERR_UNSUPPORTED)
        return error;
    probe_target_note_change(t, TARGET_CHANGE_RESET);
    probe_target_trace_reset(&t->trace);
    return error;
}
