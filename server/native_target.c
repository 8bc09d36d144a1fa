/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/native_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define IDLE_MS     1000 /* between looks at a halted core, or for a probe that is gone */
#define CAPTURE_MS  20   /* a port that is captured sends while the core stands, too */
#define IDLE_US     1000000u
#define SHORTEST_US 250000u /* between looks for a probe: questions come in bursts */

#define IDLE_CLOCKS   8
#define DEFAULT_CATCH CORTEX_M_CATCH_HARDFAULT

static uint64_t now_us(void)
{
    return probe_link_clock.now_us(probe_link_clock.user);
}

/* ---- words ------------------------------------------------------------------------------------
 */

const char *native_describe(const struct native_target *t, char *text, size_t size)
{
    if (t->gone || probe_link_is_gone(&t->link))
        snprintf(text, size, "the probe does not answer: is it unplugged?");
    else
        cortex_m_describe(&t->core, text, size);
    return text;
}

void native_say(struct native_target *t, const char *format, ...)
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

int native_refuse(struct native_target *t, struct gdb_why *why, int rc, const char *format, ...)
{
    struct gdb_why text;
    va_list args;
    va_start(args, format);
    vsnprintf(text.text, sizeof text.text, format, args);
    va_end(args);
    memcpy(t->said, text.text, sizeof t->said);
    if (why)
        *why = text;
    return rc;
}

/* ---- a probe that goes and comes --------------------------------------------------------------
 */

static void lose(struct native_target *t)
{
    if (t->gone)
        return;
    t->gone = true;
    t->looked = now_us();
    t->values_known = false;
    fprintf(stderr, "btraced: the probe does not answer any more; it is looked for\n");
    native_give_up(t, "the probe does not answer: is it unplugged? The session goes on when it is "
                      "back");
}

/* The core is halted, as GDB takes it to be; what the trace units do is not known. */
static int take_back(struct native_target *t)
{
    int rc = cortex_m_attach(&t->core);
    if (!rc)
        rc = cortex_m_halt(&t->core);
    if (!rc)
        rc = cortex_m_vector_catch(&t->core, t->caught);
    if (!rc)
        native_trace_reset(&t->trace);
    return rc;
}

static int look_for_probe(struct native_target *t)
{
    struct message why;
    uint64_t now = now_us();
    if (now - t->looked < SHORTEST_US)
        return BT_ERR_IO;
    int rc = probe_link_reopen(&t->link, &why);
    if (!rc) {
        t->gone = false;
        rc = take_back(t);
    }
    t->gone = rc != BT_OK;
    t->looked = now_us();
    if (rc)
        return BT_ERR_IO;
    t->values_known = false;
    t->resets++;
    fprintf(stderr, "btraced: the probe is back, the core is halted\n");
    if (t->moved)
        t->moved(t->ctx);
    return BT_OK;
}

int native_ready(struct native_target *t)
{
    return t->gone ? look_for_probe(t) : BT_OK;
}

int native_result(struct native_target *t, int rc, struct gdb_why *why)
{
    char text[sizeof t->said];
    if (rc >= 0)
        return rc;
    if (probe_link_is_gone(&t->link))
        lose(t);
    if (!why || why->text[0] == '\0')
        native_refuse(t, why, rc, "%s", native_describe(t, text, sizeof text));
    return rc;
}

/* ---- what goes on without questions -----------------------------------------------------------
 */

int native_reset(struct native_target *t)
{
    enum cortex_m_reset_kind kind =
        t->config->probe.connect_under_reset ? CORTEX_M_RESET_PIN : CORTEX_M_RESET_SYSTEM;
    t->values_known = false;
    memset(t->told, 0, sizeof t->told);
    int rc = cortex_m_reset(&t->core, kind, true);
    t->resets++;
    native_trace_reset(&t->trace);
    return rc;
}

/* A core that GDB takes for halted: somebody may have reset it, or let it run. */
static void look_at_halted(struct native_target *t)
{
    struct cortex_m_status s;
    int rc = cortex_m_status(&t->core, &s);
    t->looked = now_us();
    if (rc || (s.state == CORTEX_M_HALTED && !s.reset_seen)) {
        native_result(t, rc, NULL);
        return;
    }
    fprintf(stderr, "btraced: the core was %s behind GDB's back; it is halted\n",
            s.reset_seen ? "reset" : "resumed");
    if (native_result(t, cortex_m_halt(&t->core), NULL))
        return;
    t->values_known = false;
    if (s.reset_seen) {
        t->resets++;
        native_trace_reset(&t->trace);
    }
    if (t->moved)
        t->moved(t->ctx);
}

void native_target_tick(struct native_target *t)
{
    struct message why;
    bool idle = now_us() - t->looked >= IDLE_US;
    if (t->running) {
        native_watch(t);
    } else if (t->gone) {
        if (idle)
            look_for_probe(t);
    } else {
        native_trace_poll(&t->trace, &why); /* what is wrong is seen at the next halt, too */
        if (idle && t->halted_once)
            look_at_halted(t);
    }
}

unsigned native_target_pause(const struct native_target *t)
{
    if (t->running)
        return t->pause;
    return t->trace.capturing && !t->gone ? CAPTURE_MS : IDLE_MS;
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

/* As the link was made: the port sleeps again behind some resets. */
static void set_wake(struct native_target *t)
{
    const struct config_probe *p = &t->config->probe;
    t->wake = (struct adiv5_connect_options){
        .wire = (enum debug_wire)p->wire,
        .clock_hz = p->clock,
        .idle_clocks = IDLE_CLOCKS,
        .ir_lengths = p->jtag_chain.ir_lengths,
        .chain_count = p->jtag_chain.count,
        .chain_dap = p->jtag_device,
    };
}

static int open_core(struct native_target *t, struct message *why)
{
    char text[200];
    cortex_m_init(&t->core, &t->link.ap);
    set_wake(t);
    t->core.reconnect = &t->wake;
    int rc = cortex_m_attach(&t->core);
    t->caught = DEFAULT_CATCH;
    if (!rc)
        rc = cortex_m_vector_catch(&t->core, t->caught);
    if (rc)
        message_set(why, "%s: no core to debug: %s", t->config->path,
                    cortex_m_describe(&t->core, text, sizeof text));
    return rc;
}

int native_target_open(struct native_target *t, struct config *config,
                       const struct trace_sink *sink, struct message *why)
{
    memset(t, 0, sizeof *t);
    t->config = config;
    t->mask_interrupts = true; /* `next` is to come to the next line, whatever is pending */
    int rc = probe_link_open(&t->link, config, why);
    if (!rc)
        rc = open_core(t, why);
    if (!rc)
        rc = native_flash_open(&t->flash, config, &t->core, why);
    if (!rc)
        rc = native_trace_open(&t->trace, &t->link, config, sink, why);
    native_describe_registers(t);
    return rc;
}

void native_target_close(struct native_target *t)
{
    if (t->link.is_open && !t->gone) {
        native_remove_points(t);
        if (t->config->probe.at_exit == CONFIG_EXIT_RUN)
            cortex_m_detach(&t->core, t->config->sink == CONFIG_SINK_TPIU);
        else
            cortex_m_vector_catch(&t->core, 0);
    }
    native_trace_close(&t->trace);
    native_flash_close(&t->flash);
    probe_link_close(&t->link);
}

/* ---- the table --------------------------------------------------------------------------------
 */

static int op_core_count(void *ctx)
{
    (void)ctx;
    return 1;
}

static int op_core_info(void *ctx, int core, struct gdb_core *info)
{
    const struct native_target *t = ctx;
    (void)core;
    *info = (struct gdb_core){.name = t->core.name, .profile = GDB_PROFILE_M};
    return BT_OK;
}

static int op_core_status(void *ctx, int core, char *text, size_t size)
{
    struct native_target *t = ctx;
    (void)core;
    if (t->gone)
        snprintf(text, size, "the probe does not answer");
    else if (t->running)
        snprintf(text, size, "running");
    else if (native_load_values(t) == BT_OK)
        cortex_m_exception_name(t->values[CORTEX_M_XPSR] & 0x1ff, text, size);
    return BT_OK;
}

const struct gdb_target native_target_ops = {
    .core_count = op_core_count,
    .core_info = op_core_info,
    .core_status = op_core_status,
    .halt_reason = native_op_halt_reason,
    .read_regs = native_op_read_regs,
    .write_reg = native_op_write_reg,
    .read_memory = native_op_read_memory,
    .write_memory = native_op_write_memory,
    .memory_map = native_op_memory_map,
    .resume = native_op_resume,
    .interrupt = native_op_interrupt,
    .insert_breakpoint = native_op_insert,
    .remove_breakpoint = native_op_remove,
    .monitor = native_op_monitor,
    .restart = native_op_restart,
    .extra_registers = native_op_extra_registers,
    .read_extra = native_op_read_extra,
    .write_extra = native_op_write_extra,
    .flash_erase = native_op_flash_erase,
    .flash_write = native_op_flash_write,
    .flash_done = native_op_flash_done,
};
