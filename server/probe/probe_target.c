/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe_target_internal.h"

#include "server/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define IDLE_MS     1000 /* between looks at a halted core, or for a probe that is gone */
#define CAPTURE_MS  20   /* a port that is captured sends while the core stands, too */
#define IDLE_US     1000000u
#define SHORTEST_US 250000u /* between looks for a probe: questions come in bursts */

/* Looks that fail in a row: somebody must look for the target. A core that runs is looked at every
 * few milliseconds, one that stands every second. */
#define ERRORS_RUNNING 20
#define ERRORS_HALTED  2

static uint64_t now_us(void)
{
    return probe_link_clock.now_us(probe_link_clock.user);
}

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

int probe_target_refuse(struct probe_target *t, struct gdb_why *why, int rc, const char *format,
                        ...)
{
    struct gdb_why text;
    va_list args;
    va_start(args, format);
    vsnprintf(text.text, sizeof text.text, format, args);
    va_end(args);
    memcpy(t->reported, text.text, sizeof t->reported);
    if (why)
        *why = text;
    return rc;
}

/* A probe that goes and comes. */

static void lose(struct probe_target *t)
{
    char text[200], reason[260];
    if (t->gone)
        return;
    t->dark = !probe_link_is_gone(&t->link);
    t->gone = true;
    t->losses++;
    t->looked = now_us();
    probe_target_forget(t);
    log_write(LOG_AT_WARNING, "btraced: the %s does not answer any more; it is looked for\n",
              t->dark ? "target" : "probe");
    snprintf(reason, sizeof reason, "%s The session goes on when it is back",
             probe_target_describe(t, text, sizeof text));
    probe_target_give_up(t, reason);
}

void probe_target_silent(struct probe_target *t)
{
    if (++t->errors >= (t->running ? ERRORS_RUNNING : ERRORS_HALTED))
        lose(t);
}

/* The cores are halted, as GDB takes them to be; what the trace units do is not known. That there
 * was a reset meanwhile is no news. */
static int take_back(struct probe_target *t)
{
    struct probe_target_status s;
    int rc = t->ops->take_back(t);
    for (unsigned i = 0; i < t->core_count && !rc; i++)
        rc = t->ops->status(t, i, &s);
    if (!rc)
        probe_target_trace_reset(&t->trace);
    return rc;
}

static int look_for_probe(struct probe_target *t)
{
    struct message why;
    uint64_t now = now_us();
    if (now - t->looked < SHORTEST_US)
        return BT_ERR_IO;
    bool dark = t->dark;
    int rc = probe_link_reopen(&t->link, &why);
    if (!rc)
        rc = take_back(t);
    t->gone = rc != BT_OK;
    t->dark = rc && t->link.dp.failure != DEBUG_FAIL_PROBE;
    t->looked = now_us();
    if (rc)
        return BT_ERR_IO;
    t->errors = 0;
    probe_target_forget(t);
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

int probe_target_result(struct probe_target *t, int rc, struct gdb_why *why)
{
    char text[sizeof t->reported];
    if (rc >= 0)
        return rc;
    if (probe_link_is_gone(&t->link))
        lose(t);
    if (!why || why->text[0] == '\0')
        probe_target_refuse(t, why, rc, "%s", probe_target_describe(t, text, sizeof text));
    return rc;
}

/* What goes on without questions. */

void probe_target_forget(struct probe_target *t)
{
    t->ops->forget(t);
}

int probe_target_reset(struct probe_target *t)
{
    probe_target_forget(t);
    memset(t->pending, 0, sizeof t->pending);
    int rc = t->ops->reset(t);
    if (rc == BT_ERR_UNSUPPORTED)
        return rc;
    t->resets++;
    probe_target_trace_reset(&t->trace);
    return rc;
}

/* A core that GDB takes for halted: somebody may have reset it, or let it run. */
static void look_at_halted(struct probe_target *t, unsigned core)
{
    struct probe_target_status s;
    int rc = t->ops->status(t, core, &s);
    bool off =
        s.state == PROBE_TARGET_OFF; /* it never ran, or a power-down is seen behind its end */
    if (rc) {
        probe_target_result(t, rc, NULL);
        probe_target_silent(t);
        return;
    }
    t->errors = 0;
    if ((s.state == PROBE_TARGET_HALTED && !s.reset_seen) || off)
        return;
    log_write(LOG_AT_WARNING, "btraced: the core was %s behind GDB's back; it is halted\n",
              s.reset_seen ? "reset" : "resumed");
    if (probe_target_result(t, t->ops->halt(t, core), NULL))
        return;
    probe_target_forget(t);
    if (s.reset_seen) {
        t->resets++;
        probe_target_trace_reset(&t->trace);
    }
    if (t->moved)
        t->moved(t->ctx);
}

void probe_target_tick(struct probe_target *t)
{
    struct message why;
    bool idle = now_us() - t->looked >= IDLE_US;
    if (t->running) {
        probe_target_watch(t);
    } else if (t->gone) {
        if (idle)
            look_for_probe(t);
    } else {
        probe_target_trace_poll(&t->trace, &why); /* what is wrong is seen at the next halt, too */
        for (unsigned i = 0; idle && t->halted_once && !t->gone && i < t->core_count; i++)
            look_at_halted(t, i);
        t->looked = idle ? now_us() : t->looked;
    }
}

unsigned probe_target_pause(const struct probe_target *t)
{
    if (t->running)
        return t->pause;
    return t->trace.capturing && !t->gone ? CAPTURE_MS : IDLE_MS;
}

const struct probe_target_core_ops *probe_target_ops_of(const struct config *config)
{
    return config_is_a_profile(&config->cores[0]) ? &probe_target_a_ops : &probe_target_m_ops;
}

int probe_target_open(struct probe_target *t, struct config *config, const struct trace_sink *sink,
                      struct message *why)
{
    memset(t, 0, sizeof *t);
    t->config = config;
    t->ops = probe_target_ops_of(config);
    t->core_count = t->ops == &probe_target_a_ops ? config->core_count : 1;
    t->mask_interrupts = true; /* `next` is to come to the next line, whatever is pending */
    int rc = probe_link_open(&t->link, config, why);
    if (!rc)
        rc = t->ops->open(t, why);
    if (!rc)
        rc = probe_target_trace_open(&t->trace, &t->link, config, sink, why);
    if (!rc)
        t->ops->describe_registers(t);
    return rc;
}

void probe_target_close(struct probe_target *t)
{
    if (t->link.is_open && !t->gone) {
        probe_target_remove_breakpoints(t);
        t->ops->close(t, t->config->probe.at_exit == CONFIG_EXIT_RUN);
    }
    probe_target_trace_close(&t->trace);
    probe_target_flash_close(&t->flash);
    probe_link_close(&t->link);
}

static int op_core_count(void *ctx)
{
    return (int)((const struct probe_target *)ctx)->core_count;
}

static int op_core_info(void *ctx, int core, struct gdb_core *info)
{
    const struct probe_target *t = ctx;
    *info = (struct gdb_core){.name = t->ops->name(t, (unsigned)core), .profile = t->ops->profile};
    return BT_OK;
}

static int op_core_status(void *ctx, int core, char *text, size_t size)
{
    struct probe_target *t = ctx;
    text[0] = '\0';
    if (t->gone)
        snprintf(text, size, "the %s does not answer", t->dark ? "target" : "probe");
    else if (t->running && t->let_go[core])
        snprintf(text, size, "running");
    else
        t->ops->mode(t, (unsigned)core, text, size);
    return BT_OK;
}

const struct gdb_target probe_target_ops = {
    .core_count = op_core_count,
    .core_info = op_core_info,
    .core_status = op_core_status,
    .halt_reason = probe_target_op_halt_reason,
    .read_regs = probe_target_op_read_regs,
    .read_refused = probe_target_op_read_refused,
    .write_reg = probe_target_op_write_reg,
    .read_memory = probe_target_op_read_memory,
    .write_memory = probe_target_op_write_memory,
    .memory_map = probe_target_op_memory_map,
    .resume = probe_target_op_resume,
    .interrupt = probe_target_op_interrupt,
    .insert_breakpoint = probe_target_op_insert,
    .remove_breakpoint = probe_target_op_remove,
    .monitor = probe_target_op_monitor,
    .restart = probe_target_op_restart,
    .extra_registers = probe_target_op_extra_registers,
    .read_extra = probe_target_op_read_extra,
    .write_extra = probe_target_op_write_extra,
    .flash_erase = probe_target_op_flash_erase,
    .flash_write = probe_target_op_flash_write,
    .flash_done = probe_target_op_flash_done,
};
