/* SPDX-License-Identifier: BSD-3-Clause */
/* The native target in words: the first screen, and the `monitor` commands of its own. */
#include "server/native_internal.h"

#include <inttypes.h>
#include <string.h>

#define LINE_ERRORS_MANY 10

const char *native_fault_text(struct native_target *t, char *text, size_t size)
{
    struct cortex_m_exception e;
    text[0] = '\0';
    if (cortex_m_exception(&t->core, &e) == BT_OK)
        cortex_m_exception_text(&e, text, size);
    return text;
}

/* ---- the first screen -------------------------------------------------------------------------
 */

static void say_probe(const struct native_target *t, const struct console *c)
{
    const struct probe_link *p = &t->link;
    console_say(c, "probe         %s%s%s%s%s\n", p->name, p->serial[0] ? ", serial " : "",
                p->serial, p->firmware[0] ? ", firmware " : "", p->firmware);
    console_say(c, "wire          %s, debug port version %u\n", p->wire, p->dp.version);
}

static void say_core(const struct native_target *t, const struct console *c)
{
    const struct cortex_m *k = &t->core;
    console_say(c, "core          %s r%" PRIu32 "p%" PRIu32 "%s, %u breakpoints, %u watchpoints\n",
                k->name, k->cpuid >> 20 & 15, k->cpuid & 15, k->fpu ? " with FPU" : "",
                k->breakpoint_count, k->watchpoint_count);
}

/* Decoding goes by the board file's word, so a wrong one is told. */
static void say_other_core(const struct native_target *t, const struct console *c)
{
    const struct config_core *told = &t->config->cores[0];
    const char *name = t->core.name;
    bool known = strncmp(name, "Cortex-", 7) == 0;
    if (known && strcmp(told->type, name) != 0)
        console_say(c,
                    "warning       the board file says that core %s is a %s, but the chip has a "
                    "%s: set 'type'\n",
                    told->name, told->type, name);
}

static void say_state(struct native_target *t, const struct console *c)
{
    struct cortex_m_status s;
    char text[400];
    static const char *const states[] = {
        [CORTEX_M_RUNNING] = "running",
        [CORTEX_M_SLEEPING] = "running, asleep",
        [CORTEX_M_LOCKUP] = "locked up by a fault within a fault handler",
    };
    int rc = native_ready(t);
    if (!rc)
        rc = cortex_m_status(&t->core, &s);
    if (rc) {
        console_say(c, "state         not known: %s\n", native_describe(t, text, sizeof text));
        return;
    }
    if (s.state != CORTEX_M_HALTED) {
        console_say(c, "state         %s\n", states[s.state]);
        return;
    }
    console_say(c, "state         halted at 0x%08" PRIx32 "\n", s.pc);
    if (native_fault_text(t, text, sizeof text)[0])
        console_say(c, "exception     %s\n", text);
}

static void say_notes(struct native_target *t, const struct console *c)
{
    struct trace_notes *n = &t->trace.setup.notes;
    for (size_t at = 0; at < n->used;) {
        size_t len = strcspn(n->text + at, "\n");
        console_say(c, "trace         %.*s\n", (int)len, n->text + at);
        at += len + 1;
    }
    n->used = 0;
}

void native_target_screen(struct native_target *t, gdb_print_fn print, void *to)
{
    const struct console c = {print, to};
    say_probe(t, &c);
    say_core(t, &c);
    say_other_core(t, &c);
    say_state(t, &c);
    native_flash_say(&t->flash, &c);
    say_notes(t, &c);
}

/* ---- commands ---------------------------------------------------------------------------------
 */

typedef void (*command_fn)(struct native_target *t, const char *rest, const struct console *c);

static void cmd_probe(struct native_target *t, const char *rest, const struct console *c)
{
    const struct adiv5_dp *dp = &t->link.dp;
    (void)rest;
    say_probe(t, c);
    say_core(t, c);
    say_state(t, c);
    console_say(c, "line errors   %u since the probe was opened%s\n", dp->line_errors,
                dp->line_errors > LINE_ERRORS_MANY ? ": lower [probe] clock" : "");
    say_notes(t, c);
}

static void cmd_fault(struct native_target *t, const char *rest, const struct console *c)
{
    struct cortex_m_exception e;
    char text[400];
    (void)rest;
    int rc = native_ready(t);
    if (!rc)
        rc = cortex_m_exception(&t->core, &e);
    if (rc) {
        console_say(c, "not known: %s\n", native_describe(t, text, sizeof text));
        return;
    }
    if (cortex_m_exception_text(&e, text, sizeof text)[0])
        console_say(c, "%s\n", text);
    else
        console_say(c, "no exception: the core is in thread mode\n");
    if (e.cfsr || e.hfsr)
        console_say(c,
                    "CFSR 0x%08" PRIx32 ", HFSR 0x%08" PRIx32 ", MMFAR 0x%08" PRIx32
                    ", BFAR 0x%08" PRIx32 "\n",
                    e.cfsr, e.hfsr, e.mmfar, e.bfar);
}

static void cmd_reset(struct native_target *t, const char *rest, const struct console *c)
{
    char text[200];
    if (*rest && strcmp(rest, "halt") != 0 && strcmp(rest, "init") != 0) {
        console_say(c, "reset, or reset halt, not '%s'\n", rest);
        return;
    }
    int rc = native_ready(t);
    if (native_result(t, rc ? rc : native_reset(t), NULL))
        console_say(c, "not reset: %s\n", native_describe(t, text, sizeof text));
    else
        console_say(c, "reset; the core is halted at its first instruction\n");
}

static const struct {
    const char *name;
    uint32_t bits;
} catches[] = {
    {"reset", CORTEX_M_CATCH_RESET},   {"memory", CORTEX_M_CATCH_MEMORY},
    {"nocp", CORTEX_M_CATCH_NOCP},     {"check", CORTEX_M_CATCH_CHECK},
    {"state", CORTEX_M_CATCH_STATE},   {"bus", CORTEX_M_CATCH_BUS},
    {"entry", CORTEX_M_CATCH_ENTRY},   {"hardfault", CORTEX_M_CATCH_HARDFAULT},
    {"secure", CORTEX_M_CATCH_SECURE}, {"all", CORTEX_M_CATCH_FAULTS | CORTEX_M_CATCH_RESET},
    {"faults", CORTEX_M_CATCH_FAULTS}, {"none", 0},
};

#define CATCHES        (sizeof catches / sizeof *catches)
#define CATCHES_SINGLE (CATCHES - 3) /* the last ones stand for several, or none */

static bool add_catch(const char *word, size_t len, uint32_t *bits)
{
    for (size_t i = 0; i < CATCHES; i++) {
        if (strlen(catches[i].name) != len || strncmp(catches[i].name, word, len) != 0)
            continue;
        *bits |= catches[i].bits;
        return true;
    }
    return false;
}

static void say_catches(const struct native_target *t, const struct console *c)
{
    console_say(c, "the core halts before the first instruction of:");
    for (size_t i = 0; i < CATCHES_SINGLE; i++)
        if (t->caught & catches[i].bits)
            console_say(c, " %s", catches[i].name);
    console_say(c, t->caught ? "\n" : " nothing\n");
}

static void cmd_vector_catch(struct native_target *t, const char *rest, const struct console *c)
{
    uint32_t bits = 0;
    char text[200];
    for (const char *p = rest; *p;) {
        size_t len = strcspn(p, " ");
        if (len > 0 && !add_catch(p, len, &bits)) {
            console_say(c,
                        "not '%.*s': reset memory nocp check state bus entry hardfault secure, "
                        "all, faults, none\n",
                        (int)len, p);
            return;
        }
        p += len + (p[len] != '\0');
    }
    if (*rest) {
        int rc = native_ready(t);
        if (native_result(t, rc ? rc : cortex_m_vector_catch(&t->core, bits), NULL)) {
            console_say(c, "not set: %s\n", native_describe(t, text, sizeof text));
            return;
        }
        t->caught = bits;
    }
    say_catches(t, c);
}

static void cmd_mask(struct native_target *t, const char *rest, const struct console *c)
{
    if (strcmp(rest, "on") == 0 || strcmp(rest, "off") == 0)
        t->mask_interrupts = strcmp(rest, "on") == 0;
    else if (*rest)
        console_say(c, "on or off, not '%s'\n", rest);
    console_say(c, "single steps %s interrupt handlers\n",
                t->mask_interrupts ? "do not enter" : "enter");
}

static void cmd_flash(struct native_target *t, const char *rest, const struct console *c)
{
    (void)rest;
    native_flash_say(&t->flash, c);
    if (!t->flash.algorithm)
        console_say(c,
                    "no flash algorithm: [flash] algorithm = FILE of the board file names one\n");
    if (t->flash.said[0])
        console_say(c, "last refusal  %s\n", t->flash.said);
}

/* From the server in front of this one, which has words of its own for it. */
static void cmd_trace(struct native_target *t, const char *rest, const struct console *c)
{
    if (strcmp(rest, "on") == 0 || strcmp(rest, "off") == 0)
        native_trace_enable(&t->trace, strcmp(rest, "on") == 0);
    else
        console_say(c, "trace on, or trace off, not '%s'\n", rest);
}

static void cmd_why(struct native_target *t, const char *rest, const struct console *c)
{
    (void)rest;
    console_say(c, "%s\n", t->said[0] ? t->said : "nothing was refused");
}

static const struct {
    const char *name;
    command_fn run;
    const char *help;
} commands[] = {
    {"probe", cmd_probe, "probe, wire, core, and errors on the line"},
    {"fault", cmd_fault, "the exception the core is in, in words"},
    {"reset", cmd_reset, "[halt]: reset; the core halts at its first instruction"},
    {"vector_catch", cmd_vector_catch, "[WORD]...|none: exceptions before which the core halts"},
    {"mask_interrupts", cmd_mask, "[on|off]: whether single steps keep interrupts away"},
    {"trace", cmd_trace, "on|off: whether what runs next is traced"},
    {"flash", cmd_flash, "what can be programmed, and what went wrong last"},
    {"why", cmd_why, "why the last thing was refused: GDB shows few of the reasons"},
};

void native_target_help(gdb_print_fn print, void *to)
{
    const struct console c = {print, to};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].run != cmd_reset && commands[i].run != cmd_trace)
            console_say(&c, "monitor %-14s %s\n", commands[i].name, commands[i].help);
}

int native_op_monitor(void *ctx, int core, const char *text, gdb_print_fn print, void *to)
{
    const struct console c = {print, to};
    char rest[300];
    (void)core;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!console_rest(text, commands[i].name, rest, sizeof rest))
            continue;
        commands[i].run(ctx, rest, &c);
        return BT_OK;
    }
    return BT_ERR_UNSUPPORTED;
}
