/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores behind a probe as GDB's target: all but running, see probe_target_run.c. */
#include "probe_target_internal.h"

#include "server/base/log.h"

#include <stdio.h>
#include <string.h>

#define IDLE_MS          1000 /* between looks at a halted core, or for a probe that is gone */
#define CAPTURE_MS       20   /* a port that is captured sends while the core stands, too */
#define IDLE_US          1000000u
#define ADDRESS_SPACE    ((uint64_t)1 << 32)
#define LINE_ERRORS_MANY 10

static int probe_op_core_count(void *ctx)
{
    return (int)((const struct probe_target *)ctx)->core_count;
}

static int probe_op_core_info(void *ctx, int core, struct target_core *info)
{
    const struct probe_target *t = ctx;
    *info =
        (struct target_core){.name = t->ops->name(t, (unsigned)core), .profile = t->ops->profile};
    return BT_OK;
}

static int probe_op_core_status(void *ctx, int core, char *text, size_t size)
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

/* Registers. */

static int probe_op_read_regs(void *ctx, int core, struct target_regs *regs)
{
    struct probe_target *t = ctx;
    int error = probe_target_ready(t);
    return probe_target_result(t, error ? error : t->ops->read_regs(t, (unsigned)core, regs), NULL);
}

static void probe_op_read_refused(void *ctx, struct target_error *why)
{
    const struct probe_target *t = ctx;
    memcpy(why->text, t->reported, sizeof why->text);
}

static int probe_op_write_reg(void *ctx, int core, enum target_reg reg, uint32_t value,
                              struct target_error *why)
{
    struct probe_target *t = ctx;
    int error = probe_target_ready(t);
    if (!error)
        error = t->ops->write_reg(t, (unsigned)core, reg, value);
    return probe_target_result(t, error, why);
}

static int probe_op_extra_registers(void *ctx, int core, const struct target_register **list)
{
    struct probe_target *t = ctx;
    (void)core;
    *list = t->described;
    return (int)t->extra_count;
}

static int probe_op_read_extra(void *ctx, int core, unsigned index, uint64_t *value)
{
    struct probe_target *t = ctx;
    int error = probe_target_ready(t);
    return probe_target_result(
        t, error ? error : t->ops->read_extra(t, (unsigned)core, index, value), NULL);
}

static int probe_op_write_extra(void *ctx, int core, unsigned index, uint64_t value,
                                struct target_error *why)
{
    struct probe_target *t = ctx;
    int error = probe_target_ready(t);
    if (!error)
        error = t->ops->write_extra(t, (unsigned)core, index, value);
    return probe_target_result(t, error, why);
}

/* Memory, and flash as GDB writes it. */

/* What lies before the place that cannot be read. */
static int read_before_fault(struct probe_target *t, unsigned core, int error, uint64_t address,
                             void *bytes, size_t len)
{
    uint64_t end;
    bool nothing = error == BT_ERR_IO && t->ops->nothing_at(t, core, &end);
    probe_target_result(t, error, NULL);
    if (!nothing)
        return error;
    if (end <= address || end - address >= len ||
        t->ops->read(t, core, (uint32_t)address, bytes, end - address))
        return BT_ERR_RANGE;
    return (int)(end - address);
}

static int probe_op_read_memory(void *ctx, int core, uint64_t address, void *bytes, size_t len)
{
    struct probe_target *t = ctx;
    int error = probe_target_ready(t);
    if (error)
        return error;
    if (address >= ADDRESS_SPACE)
        return BT_ERR_RANGE;
    if (len > ADDRESS_SPACE - address)
        len = (size_t)(ADDRESS_SPACE - address);
    error = t->ops->read(t, (unsigned)core, (uint32_t)address, bytes, len);
    return error ? read_before_fault(t, (unsigned)core, error, address, bytes, len) : (int)len;
}

static int probe_op_write_memory(void *ctx, int core, uint64_t address, const void *bytes,
                                 size_t len, struct target_error *why)
{
    struct probe_target *t = ctx;
    int error = probe_target_ready(t);
    if (error)
        return probe_target_result(t, error, why);
    if (address > ADDRESS_SPACE || len > ADDRESS_SPACE - address)
        return probe_target_refuse(t, why, BT_ERR_RANGE, "no such address");
    t->reported[0] = '\0';
    if (len > 0)
        error = t->ops->write(t, (unsigned)core, (uint32_t)address, bytes, len);
    return error && t->reported[0] ? probe_target_refuse(t, why, error, "%s", t->reported)
                                   : probe_target_result(t, error, why);
}

static int probe_op_memory_map(void *ctx, const struct target_region **regions)
{
    const struct probe_target_flash *f = &((struct probe_target *)ctx)->flash;
    *regions = f->regions;
    return f->region_count;
}

/* An algorithm counts on a core as it is behind a reset: the program's MPU or watchdog ends it. */
static int prepare_flash(struct probe_target *t)
{
    int error = probe_target_ready(t);
    if (!error && !t->flash.busy && t->flash.algorithm)
        error = probe_target_reset(t);
    t->ops->forget(t);
    return error;
}

static int flash_result(struct probe_target *t, int error, struct target_error *why)
{
    t->ops->forget(t);
    if (!t->flash.busy && t->moved)
        t->moved(t->ctx);
    probe_target_result(t, error, NULL); /* a probe that is gone is noted, whatever the words are */
    if (error && t->flash.reported[0])
        return probe_target_refuse(t, why, error, "%s", t->flash.reported);
    return probe_target_result(t, error, why);
}

static int probe_op_flash_erase(void *ctx, uint64_t address, uint64_t length,
                                struct target_error *why)
{
    struct probe_target *t = ctx;
    int error = prepare_flash(t);
    return flash_result(t, error ? error : probe_target_flash_erase(&t->flash, address, length),
                        why);
}

static int probe_op_flash_write(void *ctx, uint64_t address, const void *bytes, size_t len,
                                struct target_error *why)
{
    struct probe_target *t = ctx;
    int error = prepare_flash(t);
    return flash_result(t, error ? error : probe_target_flash_write(&t->flash, address, bytes, len),
                        why);
}

static int probe_op_flash_done(void *ctx, struct target_error *why)
{
    struct probe_target *t = ctx;
    int error = probe_target_ready(t);
    return flash_result(t, error ? error : probe_target_flash_done(&t->flash), why);
}

/*
 * Breakpoints and watchpoints. What GDB calls a software breakpoint is a comparator where the code
 * is likely to be in flash, and a BKPT in RAM, each as far as that is possible. Two of GDB's may
 * stand on one of the core's.
 */

static bool same_breakpoint(const struct target_breakpoint *a, const struct target_breakpoint *b)
{
    bool watch = a->type >= TARGET_WATCHPOINT_WRITE;
    return a->type == b->type && a->address == b->address && (!watch || a->kind == b->kind);
}

static struct probe_target_breakpoint *find_placed(struct probe_target *t,
                                                   const struct target_breakpoint *bp)
{
    for (unsigned i = 0; i < t->breakpoint_count; i++)
        if (same_breakpoint(&t->breakpoints[i].asked, bp))
            return &t->breakpoints[i];
    return NULL;
}

static enum probe_target_place place_of_type(enum target_breakpoint_type type)
{
    static const enum probe_target_place places[] = {
        [TARGET_BREAKPOINT_SOFTWARE] = PROBE_TARGET_BREAK_SOFTWARE,
        [TARGET_BREAKPOINT_HARDWARE] = PROBE_TARGET_BREAK_HARDWARE,
        [TARGET_WATCHPOINT_WRITE] = PROBE_TARGET_WATCH_WRITE,
        [TARGET_WATCHPOINT_READ] = PROBE_TARGET_WATCH_READ,
        [TARGET_WATCHPOINT_ACCESS] = PROBE_TARGET_WATCH_ACCESS,
    };
    return places[type];
}

static int place_breakpoint(struct probe_target *t, const struct target_breakpoint *bp,
                            enum probe_target_place as)
{
    return t->ops->insert(t, as, (uint32_t)bp->address, bp->kind);
}

/* A refusal that the other kind of breakpoint may not meet. */
static bool may_try_other(const struct probe_target *t, int error)
{
    return (error == BT_ERR_RANGE || error == BT_ERR_UNSUPPORTED) &&
           t->ops->refusal(t) != PROBE_TARGET_REFUSED;
}

/* In *placed as what. */
static int place_software(struct probe_target *t, const struct target_breakpoint *bp,
                          enum probe_target_place *placed)
{
    bool hardware_first = t->ops->prefers_hardware(t, (uint32_t)bp->address);
    unsigned breakpoints, watchpoints;
    *placed = hardware_first ? PROBE_TARGET_BREAK_HARDWARE : PROBE_TARGET_BREAK_SOFTWARE;
    int error = place_breakpoint(t, bp, *placed);
    if (!may_try_other(t, error))
        return error;
    bool full = t->ops->refusal(t) == PROBE_TARGET_REFUSED_FULL;
    *placed = hardware_first ? PROBE_TARGET_BREAK_SOFTWARE : PROBE_TARGET_BREAK_HARDWARE;
    error = place_breakpoint(t, bp, *placed);
    t->ops->units(t, &breakpoints, &watchpoints);
    if (hardware_first && full && error == BT_ERR_UNSUPPORTED)
        return probe_target_refuse(t, NULL, BT_ERR_RANGE,
                                   "all %u hardware breakpoints are in use, and the memory at "
                                   "0x%08x takes no others",
                                   breakpoints, (unsigned)bp->address);
    return error;
}

static int probe_op_insert(void *ctx, int core, const struct target_breakpoint *bp,
                           struct target_error *why)
{
    struct probe_target *t = ctx;
    struct probe_target_breakpoint p = {*bp, place_of_type(bp->type)};
    unsigned breakpoints, watchpoints;
    (void)core;
    int error = probe_target_ready(t);
    if (error)
        return probe_target_result(t, error, why);
    if (find_placed(t, bp))
        return BT_OK;
    if (bp->address > UINT32_MAX)
        return probe_target_refuse(t, why, BT_ERR_RANGE, "no such address");
    if (t->breakpoint_count == PROBE_TARGET_BREAKPOINTS)
        return probe_target_refuse(t, why, BT_ERR_RANGE, "%u breakpoints are the most",
                                   PROBE_TARGET_BREAKPOINTS);
    t->reported[0] = '\0';
    if (bp->type == TARGET_BREAKPOINT_SOFTWARE)
        error = place_software(t, bp, &p.placed);
    else
        error = place_breakpoint(t, bp, p.placed);
    if (!error)
        t->breakpoints[t->breakpoint_count++] = p;
    else if (t->reported[0] != '\0')
        return probe_target_refuse(t, why, error, "%s", t->reported);
    /* GDB takes "unsupported" for a type that does not exist, and tries another. */
    error = probe_target_result(t, error, why);
    t->ops->units(t, &breakpoints, &watchpoints);
    return error == BT_ERR_UNSUPPORTED && breakpoints + watchpoints > 0 ? BT_ERR_RANGE : error;
}

/* Does another of GDB's stand on the same? */
static bool is_shared_place(const struct probe_target *t, const struct probe_target_breakpoint *p)
{
    for (unsigned i = 0; i < t->breakpoint_count; i++) {
        const struct probe_target_breakpoint *q = &t->breakpoints[i];
        if (q != p && q->placed == p->placed && q->asked.address == p->asked.address &&
            (q->placed == PROBE_TARGET_BREAK_SOFTWARE || q->placed == PROBE_TARGET_BREAK_HARDWARE))
            return true;
    }
    return false;
}

static int lift_breakpoint(struct probe_target *t, const struct probe_target_breakpoint *p)
{
    if (is_shared_place(t, p))
        return BT_OK;
    return t->ops->remove(t, p->placed, (uint32_t)p->asked.address, p->asked.kind);
}

static int probe_op_remove(void *ctx, int core, const struct target_breakpoint *bp,
                           struct target_error *why)
{
    struct probe_target *t = ctx;
    struct probe_target_breakpoint *p = find_placed(t, bp);
    (void)core;
    int error = probe_target_ready(t);
    if (error || !p)
        return probe_target_result(t, error, why);
    error = lift_breakpoint(t, p);
    if (!error)
        *p = t->breakpoints[--t->breakpoint_count];
    return probe_target_result(t, error, why);
}

static void remove_breakpoints(struct probe_target *t)
{
    while (t->breakpoint_count > 0) {
        lift_breakpoint(t, &t->breakpoints[t->breakpoint_count - 1]);
        t->breakpoint_count--;
    }
}

static const struct probe_target_core_ops *core_ops_of(const struct config *config)
{
    return config_is_a_profile(&config->cores[0]) ? &probe_target_a_ops : &probe_target_m_ops;
}

/* The summary. */

static void report_probe(const struct probe_target *t, const struct console *c)
{
    const struct probe_link *p = &t->link;
    console_print(c, "probe         %s%s%s%s%s\n", p->name, p->serial[0] ? ", serial " : "",
                  p->serial, p->firmware[0] ? ", firmware " : "", p->firmware);
    console_print(c, "wire          %s, debug port version %u\n", p->wire, p->dp.version);
}

static void report_notes(struct probe_target *t, const struct console *c)
{
    struct trace_notes *n = &t->trace.setup.notes;
    for (size_t at = 0; at < n->used;) {
        size_t len = strcspn(n->text + at, "\n");
        console_print(c, "trace         %.*s\n", (int)len, n->text + at);
        at += len + 1;
    }
    n->used = 0;
}

void probe_target_summary(struct probe_target *t, target_print_fn print, void *to)
{
    const struct console c = {print, to};
    report_probe(t, &c);
    t->ops->reports->cores(t, &c);
    t->ops->reports->state(t, &c);
    probe_target_flash_report(&t->flash, &c);
    report_notes(t, &c);
}

static void cmd_probe(struct probe_target *t, const char *rest, const struct console *c)
{
    const struct adiv5_dp *dp = &t->link.dp;
    (void)rest;
    report_probe(t, c);
    t->ops->reports->cores(t, c);
    t->ops->reports->state(t, c);
    console_print(c, "line errors   %u since the probe was opened%s\n", dp->line_errors,
                  dp->line_errors > LINE_ERRORS_MANY && !t->gone ? ": lower [probe] clock" : "");
    report_notes(t, c);
}

static void cmd_reset(struct probe_target *t, const char *rest, const struct console *c)
{
    char text[240];
    bool run = strcmp(rest, "run") == 0; /* whoever asked lets it go */
    if (*rest && !run && strcmp(rest, "halt") != 0 && strcmp(rest, "init") != 0) {
        console_print(c, "reset, reset halt, or reset run, not '%s'\n", rest);
        return;
    }
    int error = probe_target_ready(t);
    if (probe_target_result(t, error ? error : probe_target_reset(t), NULL))
        console_print(c, "not reset: %s\n", probe_target_describe(t, text, sizeof text));
    else
        console_print(c, run ? "reset; the target runs until GDB asks for something\n"
                             : "reset; the target is halted\n");
}

static void cmd_mask(struct probe_target *t, const char *rest, const struct console *c)
{
    if (strcmp(rest, "on") == 0 || strcmp(rest, "off") == 0)
        t->mask_interrupts = strcmp(rest, "on") == 0;
    else if (*rest)
        console_print(c, "on or off, not '%s'\n", rest);
    console_print(c, "single steps %s interrupt handlers\n",
                  t->mask_interrupts ? "do not enter" : "enter");
}

static void cmd_flash(struct probe_target *t, const char *rest, const struct console *c)
{
    (void)rest;
    probe_target_flash_report(&t->flash, c);
    if (!t->flash.algorithm)
        console_print(c,
                      "no flash algorithm: [flash] algorithm = FILE of the board file names one\n");
    if (t->flash.reported[0])
        console_print(c, "last refusal  %s\n", t->flash.reported);
}

/* From the server in front of this one, which has words of its own for it. */
static void cmd_trace(struct probe_target *t, const char *rest, const struct console *c)
{
    char filter[300];
    struct message why;
    if (console_rest(rest, "filter", filter, sizeof filter)) {
        trace_setup_filter(&t->trace.setup, filter, &why);
        console_print(c, "%s\n", why.text);
    } else if (strcmp(rest, "on") == 0 || strcmp(rest, "off") == 0)
        probe_target_trace_enable(&t->trace, strcmp(rest, "on") == 0);
    else
        console_print(c, "trace on, trace off, or trace filter, not '%s'\n", rest);
}

static void cmd_why(struct probe_target *t, const char *rest, const struct console *c)
{
    (void)rest;
    console_print(c, "%s\n", t->reported[0] ? t->reported : "nothing was refused");
}

static const struct probe_target_command commands[] = {
    {"probe", cmd_probe, "probe, wire, core, and errors on the line", false},
    {"reset", cmd_reset, "[halt]: reset; the core halts at its first instruction", true},
    {"mask_interrupts", cmd_mask, "[on|off]: whether single steps keep interrupts away", false},
    {"trace", cmd_trace, "on|off|filter: whether what runs next is traced", true},
    {"flash", cmd_flash, "what can be programmed, and what went wrong last", false},
    {"why", cmd_why, "why the last thing was refused: GDB shows few of the reasons", false},
    {NULL, NULL, NULL, true},
};

static void print_commands(const struct probe_target_command *list, const struct console *c)
{
    for (; list->name; list++)
        if (!list->hidden)
            console_print(c, "monitor %-14s %s\n", list->name, list->help);
}

void probe_target_help(const struct config *config, target_print_fn print, void *to)
{
    const struct console c = {print, to};
    print_commands(commands, &c);
    print_commands(core_ops_of(config)->reports->commands, &c);
}

static bool run_command(struct probe_target *t, const struct probe_target_command *list,
                        const char *text, const struct console *c)
{
    char rest[300];
    for (; list->name; list++) {
        if (!console_rest(text, list->name, rest, sizeof rest))
            continue;
        list->run(t, rest, c);
        return true;
    }
    return false;
}

static int probe_op_monitor(void *ctx, int core, const char *text, target_print_fn print, void *to)
{
    const struct console c = {print, to};
    struct probe_target *t = ctx;
    t->selected = (unsigned)core;
    bool known =
        run_command(t, commands, text, &c) || run_command(t, t->ops->reports->commands, text, &c);
    return known ? BT_OK : BT_ERR_UNSUPPORTED;
}

static int probe_op_restart(void *ctx, struct target_error *why)
{
    struct probe_target *t = ctx;
    int error = probe_target_ready(t);
    return probe_target_result(t, error ? error : probe_target_reset(t), why);
}

const struct gdb_target probe_target_ops = {
    .core_count = probe_op_core_count,
    .core_info = probe_op_core_info,
    .core_status = probe_op_core_status,
    .halt_reason = probe_target_halt_reason,
    .read_regs = probe_op_read_regs,
    .read_refused = probe_op_read_refused,
    .write_reg = probe_op_write_reg,
    .read_memory = probe_op_read_memory,
    .write_memory = probe_op_write_memory,
    .memory_map = probe_op_memory_map,
    .resume = probe_target_resume,
    .interrupt = probe_target_interrupt,
    .insert_breakpoint = probe_op_insert,
    .remove_breakpoint = probe_op_remove,
    .monitor = probe_op_monitor,
    .restart = probe_op_restart,
    .extra_registers = probe_op_extra_registers,
    .read_extra = probe_op_read_extra,
    .write_extra = probe_op_write_extra,
    .flash_erase = probe_op_flash_erase,
    .flash_write = probe_op_flash_write,
    .flash_done = probe_op_flash_done,
};

/* What goes on without questions. */

/* A core that GDB takes for halted: somebody may have reset it, or let it run. */
static void look_at_halted(struct probe_target *t, unsigned core)
{
    struct probe_target_status s;
    int error = t->ops->status(t, core, &s);
    /* Off: it never ran, or a power-down is seen behind its end. */
    bool off = s.state == PROBE_TARGET_OFF;
    if (error) {
        probe_target_result(t, error, NULL);
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
    t->ops->forget(t);
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
    bool idle = probe_target_now_us() - t->looked >= IDLE_US;
    if (t->running) {
        probe_target_watch(t);
    } else if (t->gone) {
        if (idle)
            probe_target_ready(t);
    } else {
        probe_target_trace_poll(&t->trace, &why); /* what is wrong is seen at the next halt, too */
        for (unsigned i = 0; idle && t->halted_once && !t->gone && i < t->core_count; i++)
            look_at_halted(t, i);
        t->looked = idle ? probe_target_now_us() : t->looked;
    }
}

unsigned probe_target_pause(const struct probe_target *t)
{
    if (t->running)
        return t->pause;
    return t->trace.capturing && !t->gone ? CAPTURE_MS : IDLE_MS;
}

int probe_target_open(struct probe_target *t, struct config *config, const struct trace_sink *sink,
                      struct message *why)
{
    memset(t, 0, sizeof *t);
    t->config = config;
    t->ops = core_ops_of(config);
    t->core_count = t->ops == &probe_target_a_ops ? config->core_count : 1;
    t->mask_interrupts = true; /* `next` is to come to the next line, whatever is pending */
    int error = probe_link_open(&t->link, probe_driver_named(config->probe.type), config, why);
    if (!error)
        error = t->ops->open(t, why);
    if (!error)
        error = probe_target_trace_open(&t->trace, &t->link, config, sink, why);
    if (!error)
        t->ops->describe_registers(t);
    return error;
}

void probe_target_close(struct probe_target *t)
{
    if (t->link.is_open && !t->gone) {
        remove_breakpoints(t);
        t->ops->close(t, t->config->probe.at_exit == CONFIG_EXIT_RUN);
    }
    probe_target_trace_close(&t->trace);
    probe_target_flash_close(&t->flash);
    probe_link_close(&t->link);
}
