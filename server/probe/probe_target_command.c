/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary of a probe target, and its `monitor` commands. */
#include "probe_target.h"
#include "server/probe/probe_thread.h"

#include <stdio.h>
#include <string.h>

#define LINE_ERRORS_MANY 10

const struct probe_core_ops *probe_ops_of(const struct config *config)
{
    return config_is_a_profile(&config->cores[0]) ? &probe_a_ops : &probe_m_ops;
}

/* The summary. */

static void report_probe(const struct probe_target *t, const struct console *c)
{
    const struct probe_link *p = &t->link;
    console_print(c, "probe         %s%s%s%s%s\n", p->name, p->serial[0] ? ", serial " : "",
                  p->serial, p->firmware[0] ? ", firmware " : "", p->firmware);
    console_print(c, "wire          %s, debug port version %u\n", p->wire, p->dp.version);
}

static void report_core_state(struct probe_target *t, unsigned core, const struct console *c)
{
    static const char *const states[] = {
        [TARGET_CORE_RUNNING] = "running",
        [TARGET_CORE_SLEEPING] = "running, asleep",
        [TARGET_CORE_OFF] = "powered down",
        [TARGET_CORE_LOCKUP] = "locked up by a fault within a fault handler",
    };
    struct target_core_status s;
    char who[100] = "", mode[100] = "", what[160];
    bool named = !t->ops->report_halted;
    if (named)
        snprintf(who, sizeof who, "%s: ", t->config->cores[core].name);
    snprintf(what, sizeof what, "state         %snot known", who);
    int error = probe_target_ready(t);
    if (probe_target_failed(t, error ? error : t->ops->status(t, core, &s), c, what))
        return;
    if (s.state != TARGET_CORE_HALTED) {
        console_print(c, "state         %s%s\n", who, states[s.state]);
        return;
    }
    if (named)
        t->ops->mode(t, core, mode, sizeof mode);
    console_print(c, "state         %shalted at 0x%08x%s%s\n", who, (unsigned)s.pc,
                  named ? ", " : "", mode);
    if (!named)
        t->ops->report_halted(t, c);
}

static void report_cores(struct probe_target *t, const struct console *c)
{
    t->ops->report_cores(t, c);
    /* Decoding goes by the board file's word, so a wrong one is told. */
    for (unsigned i = 0; i < t->core_count; i++) {
        const struct config_core *told = &t->config->cores[i];
        const char *name = t->ops->name(t, i);
        if (strncmp(name, "Cortex-", 7) == 0 && strcmp(told->type, name) != 0)
            console_print(c,
                          "warning       the board file says that core %s is a %s, but the chip "
                          "has a %s: set 'type'\n",
                          told->name, told->type, name);
    }
    for (unsigned i = 0; i < t->core_count; i++)
        report_core_state(t, i, c);
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

void probe_target_summary(struct probe_target *t, const struct console *c)
{
    report_probe(t, c);
    report_cores(t, c);
    probe_target_flash_report(&t->flash, c);
    report_notes(t, c);
}

static void cmd_probe(struct probe_target *t, const char *rest, const struct console *c)
{
    const struct adiv5_dp *dp = &t->link.dp;
    (void)rest;
    report_probe(t, c);
    report_cores(t, c);
    console_print(c, "line errors   %u since the probe was opened%s\n", dp->line_errors,
                  dp->line_errors > LINE_ERRORS_MANY && t->presence == PROBE_THERE
                      ? ": lower [probe] clock"
                      : "");
    report_notes(t, c);
}

static void cmd_reset(struct probe_target *t, const char *rest, const struct console *c)
{
    bool run = strcmp(rest, "run") == 0; /* whoever asked lets it go */
    if (*rest && !run && strcmp(rest, "halt") != 0 && strcmp(rest, "init") != 0) {
        console_print(c, "reset, reset halt, or reset run, not '%s'\n", rest);
        return;
    }
    int error = probe_target_ready(t);
    if (!probe_target_failed(t, error ? error : probe_target_reset(t), c, "not reset"))
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
    } else if (console_rest(rest, "set", filter, sizeof filter)) {
        trace_setup_set_itm(&t->trace.setup, filter, &why);
        console_print(c, "%s\n", why.text);
    } else if (strcmp(rest, "on") == 0 || strcmp(rest, "off") == 0)
        probe_target_trace_enable(&t->trace, strcmp(rest, "on") == 0);
    else
        console_print(c, "trace on, trace off, trace filter or trace set, not '%s'\n", rest);
}

static void cmd_why(struct probe_target *t, const char *rest, const struct console *c)
{
    (void)rest;
    console_print(c, "%s\n", t->reported.text[0] ? t->reported.text : "nothing was refused");
}

static const struct probe_command commands[] = {
    {"probe", cmd_probe, "probe, wire, core, and errors on the line", false},
    {"reset", cmd_reset, "[halt]: reset; the core halts at its first instruction", true},
    {"mask_interrupts", cmd_mask, "[on|off]: whether single steps keep interrupts away", false},
    {"trace", cmd_trace, "on|off|filter|set: whether what runs next is traced", true},
    {"flash", cmd_flash, "what can be programmed, and what went wrong last", false},
    {"why", cmd_why, "why the last thing was refused: GDB shows few of the reasons", false},
    {NULL, NULL, NULL, true},
};

static void print_commands(const struct probe_command *list, const struct console *c)
{
    for (; list->name; list++)
        if (!list->hidden)
            console_print(c, "monitor %-14s %s\n", list->name, list->help);
}

void probe_thread_help(const struct config *config, target_print_fn print, void *to)
{
    const struct console c = {print, to};
    print_commands(commands, &c);
    print_commands(probe_ops_of(config)->commands, &c);
}

static bool run_command(struct probe_target *t, const struct probe_command *list, const char *text,
                        const struct console *c)
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

int probe_target_command(struct probe_target *t, const char *text, const struct console *c)
{
    bool known = run_command(t, commands, text, c) || run_command(t, t->ops->commands, text, c);
    return known ? BT_OK : BT_ERR_UNSUPPORTED;
}
