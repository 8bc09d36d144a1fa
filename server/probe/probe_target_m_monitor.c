/* SPDX-License-Identifier: BSD-3-Clause */
/* A Cortex-M in words: lines of the summary, and `monitor` commands of its own. */
#include "probe_target_internal.h"

#include <inttypes.h>
#include <string.h>

static const char *fault_text(struct probe_target *t, char *text, size_t size)
{
    struct cortex_m_exception e;
    text[0] = '\0';
    if (cortex_m_exception(&t->m.core, &e) == BT_OK)
        cortex_m_exception_text(&e, text, size);
    return text;
}

static void report_core(const struct probe_target *t, const struct console *c)
{
    const struct cortex_m *k = &t->m.core;
    console_print(
        c, "core          %s r%" PRIu32 "p%" PRIu32 "%s%s, %u breakpoints, %u watchpoints\n",
        k->name, k->cpuid >> 20 & 15, k->cpuid & 15, k->fpu ? " with FPU" : "",
        k->security ? ", Security Extension" : "", k->breakpoint_count, k->watchpoint_count);
    if (k->security && !k->secure_debug)
        console_print(c,
                      "security      only Non-secure code can be debugged: the chip is closed for "
                      "more\n");
}

/* Decoding goes by the board file's word, so a wrong one is told. */
static void report_other_core(const struct probe_target *t, const struct console *c)
{
    const struct config_core *reported = &t->config->cores[0];
    const char *name = t->m.core.name;
    bool known = strncmp(name, "Cortex-", 7) == 0;
    if (known && strcmp(reported->type, name) != 0)
        console_print(c,
                      "warning       the board file says that core %s is a %s, but the chip has a "
                      "%s: set 'type'\n",
                      reported->name, reported->type, name);
}

void probe_target_m_report_cores(const struct probe_target *t, const struct console *c)
{
    report_core(t, c);
    report_other_core(t, c);
}

void probe_target_m_report_state(struct probe_target *t, const struct console *c)
{
    struct cortex_m_status s;
    char text[400];
    static const char *const states[] = {
        [CORTEX_M_RUNNING] = "running",
        [CORTEX_M_SLEEPING] = "running, asleep",
        [CORTEX_M_LOCKUP] = "locked up by a fault within a fault handler",
    };
    int rc = probe_target_ready(t);
    if (!rc)
        rc = cortex_m_status(&t->m.core, &s);
    if (rc) {
        console_print(c, "state         not known: %s\n",
                      probe_target_describe(t, text, sizeof text));
        return;
    }
    if (s.state != CORTEX_M_HALTED) {
        console_print(c, "state         %s\n", states[s.state]);
        return;
    }
    console_print(c, "state         halted at 0x%08" PRIx32 "\n", s.pc);
    if (fault_text(t, text, sizeof text)[0])
        console_print(c, "exception     %s\n", text);
}

static void cmd_fault(struct probe_target *t, const char *rest, const struct console *c)
{
    struct cortex_m_exception e;
    char text[400];
    (void)rest;
    int rc = probe_target_ready(t);
    if (!rc)
        rc = cortex_m_exception(&t->m.core, &e);
    if (rc) {
        console_print(c, "not known: %s\n", probe_target_describe(t, text, sizeof text));
        return;
    }
    if (cortex_m_exception_text(&e, text, sizeof text)[0])
        console_print(c, "%s\n", text);
    else
        console_print(c, "no exception: the core is in thread mode\n");
    if (e.cfsr || e.hfsr)
        console_print(c,
                      "CFSR 0x%08" PRIx32 ", HFSR 0x%08" PRIx32 ", MMFAR 0x%08" PRIx32
                      ", BFAR 0x%08" PRIx32 "\n",
                      e.cfsr, e.hfsr, e.mmfar, e.bfar);
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

static void report_catches(const struct probe_target *t, const struct console *c)
{
    console_print(c, "the core halts before the first instruction of:");
    for (size_t i = 0; i < CATCHES_SINGLE; i++)
        if (t->m.caught & catches[i].bits)
            console_print(c, " %s", catches[i].name);
    console_print(c, t->m.caught ? "\n" : " nothing\n");
}

static void cmd_vector_catch(struct probe_target *t, const char *rest, const struct console *c)
{
    uint32_t bits = 0;
    char text[200];
    for (const char *p = rest; *p;) {
        size_t len = strcspn(p, " ");
        if (len > 0 && !add_catch(p, len, &bits)) {
            console_print(c,
                          "not '%.*s': reset memory nocp check state bus entry hardfault secure, "
                          "all, faults, none\n",
                          (int)len, p);
            return;
        }
        p += len + (p[len] != '\0');
    }
    if (*rest) {
        int rc = probe_target_ready(t);
        if (probe_target_result(t, rc ? rc : cortex_m_vector_catch(&t->m.core, bits), NULL)) {
            console_print(c, "not set: %s\n", probe_target_describe(t, text, sizeof text));
            return;
        }
        t->m.caught = bits;
    }
    report_catches(t, c);
}

const struct probe_target_command probe_target_m_commands[] = {
    {"fault", cmd_fault, "the exception the core is in, in words", false},
    {"vector_catch", cmd_vector_catch, "[WORD]...|none: exceptions before which the core halts",
     false},
    {NULL, NULL, NULL, true},
};
