/* SPDX-License-Identifier: BSD-3-Clause */
/* ARMv7-A cores in words: lines of the summary, faults, and `monitor` commands. */
#include "probe_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* MRC with r0: the architecture's fault registers. */
#define READ_DFSR 0xee150f10u
#define READ_DFAR 0xee160f10u
#define READ_IFSR 0xee150f30u
#define READ_IFAR 0xee160f50u

#define FSR_WRITE  0x800u
#define MODE_MASK  0x1fu
#define MODE_ABORT 0x17u

static const char *probe_a_core_name(const struct probe_target *t, unsigned i)
{
    return t->config->cores[i].name;
}

static void probe_a_report_core(const struct probe_target *t, unsigned i, const struct console *c)
{
    const struct cortex_a *k = &t->a.cores[i];
    if (t->a.off[i]) {
        console_print(c, "core          %s: powered down, debug registers at 0x%08" PRIx32 "\n",
                      probe_a_core_name(t, i), k->base);
        return;
    }
    console_print(c,
                  "core          %s: %s r%" PRIu32 "p%" PRIu32
                  "%s, %u breakpoints, %u watchpoints, debug registers at 0x%08" PRIx32 "\n",
                  probe_a_core_name(t, i), k->name, k->midr >> 20 & 15, k->midr & 15,
                  t->a.doubles == 32   ? " with VFP, 32 registers"
                  : t->a.doubles == 16 ? " with VFP, 16 registers"
                                       : "",
                  k->breakpoint_count, k->watchpoint_count, k->base);
}

void probe_a_report_cores(const struct probe_target *t, const struct console *c)
{
    for (unsigned i = 0; i < t->a.count; i++)
        probe_a_report_core(t, i, c);
    if (t->a.count > 1)
        console_print(c, "halting       %s\n",
                      t->a.joined ? "together, by the cross triggers"
                                  : "one core after the other: 'cti' of [core] is not set for all");
    console_print(c, "memory        %s\n",
                  t->a.through_system ? "as the system's bus has it: physical, past the caches"
                                      : "as the core has it: through its MMU and caches");
}

/* Fault status, short descriptors: bit 10 and bits 3:0. From the public description of the
 * registers; what is not here is told as a number. */
static const char *fault_cause(uint32_t fsr)
{
    static const char *const causes[32] = {
        [0x01] = "alignment fault",
        [0x02] = "debug event",
        [0x03] = "access flag fault",
        [0x04] = "fault while cleaning the instruction cache",
        [0x05] = "no translation for the address",
        [0x06] = "access flag fault",
        [0x07] = "no translation for the address",
        [0x08] = "refused by the bus",
        [0x09] = "not allowed by the domain",
        [0x0b] = "not allowed by the domain",
        [0x0c] = "refused by the bus during translation",
        [0x0d] = "not allowed by the page's permissions",
        [0x0e] = "refused by the bus during translation",
        [0x0f] = "not allowed by the page's permissions",
        [0x16] = "asynchronous, refused by the bus",
    };
    const char *cause = causes[(fsr >> 6 & 0x10) | (fsr & 0xf)];
    return cause ? cause : "other cause";
}

static int probe_a_read_faults(struct probe_target *t, unsigned core,
                               uint32_t values[PROBE_A_FAULTS])
{
    static const uint32_t registers[PROBE_A_FAULTS] = {READ_DFSR, READ_DFAR, READ_IFSR, READ_IFAR};
    int error = BT_OK;
    for (unsigned k = 0; k < PROBE_A_FAULTS && !error; k++)
        error = cortex_a_read_system(&t->a.cores[core], registers[k], &values[k]);
    return error;
}

/* Of a core in abort or undefined mode, once for each fault. */
void probe_a_report_fault(struct probe_target *t, unsigned core)
{
    uint32_t cpsr = 0, now[PROBE_A_FAULTS];
    const struct cortex_a *c = &t->a.cores[core];
    const char *who = probe_a_core_name(t, core);
    if (!c->halted || cortex_a_read_register(&t->a.cores[core], CORTEX_A_CPSR, &cpsr))
        return;
    uint32_t mode = cpsr & MODE_MASK;
    if (mode != MODE_ABORT || probe_a_read_faults(t, core, now)) {
        if (mode != MODE_ABORT)
            memset(t->a.reported[core], 0, sizeof t->a.reported[core]);
        return;
    }
    if (memcmp(now, t->a.reported[core], sizeof now) == 0)
        return;
    memcpy(t->a.reported[core], now, sizeof now);
    probe_target_report(t,
                        "core %s is in an abort handler: last data abort at 0x%08" PRIx32
                        " (%s, %s), last prefetch abort at 0x%08" PRIx32 " (%s)",
                        who, now[1], now[0] & FSR_WRITE ? "a write" : "a read", fault_cause(now[0]),
                        now[3], fault_cause(now[2]));
}

static void probe_a_cmd_fault(struct probe_target *t, const char *rest, const struct console *c)
{
    uint32_t v[PROBE_A_FAULTS];
    char text[200];
    (void)rest;
    int error = probe_target_ready(t);
    if (!error)
        error = probe_a_read_faults(t, t->selected, v);
    t->a.failed = error ? t->selected : t->a.failed;
    if (probe_target_failed(t, error, c, "not known"))
        return;
    t->ops->mode(t, t->selected, text, sizeof text);
    console_print(c, "core %s is in %s\n", probe_a_core_name(t, t->selected), text);
    console_print(c, "last data abort      0x%08" PRIx32 ", %s: %s (DFSR 0x%08" PRIx32 ")\n", v[1],
                  v[0] & FSR_WRITE ? "write" : "read", v[0] ? fault_cause(v[0]) : "none yet", v[0]);
    console_print(c, "last prefetch abort  0x%08" PRIx32 ": %s (IFSR 0x%08" PRIx32 ")\n", v[3],
                  v[2] ? fault_cause(v[2]) : "none yet", v[2]);
}

static void probe_a_cmd_memory(struct probe_target *t, const char *rest, const struct console *c)
{
    if (strcmp(rest, "system") == 0 && !t->a.has_memory) {
        console_print(c, "[probe] memory_ap is not set: there is no other way than the core's\n");
        return;
    }
    if (strcmp(rest, "system") == 0 || strcmp(rest, "core") == 0)
        t->a.through_system = strcmp(rest, "system") == 0;
    else if (*rest)
        console_print(c, "core or system, not '%s'\n", rest);
    console_print(c, "memory is shown and written %s\n",
                  t->a.through_system ? "as the system's bus has it: physical, past the caches"
                                      : "as the core has it: through its MMU and caches");
}

static void cmd_system(struct probe_target *t, const char *rest, const struct console *c)
{
    unsigned op1, crn, crm, op2;
    uint32_t value = 0;
    if (sscanf(rest, "%u %u %u %u", &op1, &crn, &crm, &op2) != 4 || op1 > 7 || crn > 15 ||
        crm > 15 || op2 > 7) {
        console_print(c, "four numbers: op1 CRn CRm op2, as MRC p15 has them; 0 1 0 0 is SCTLR\n");
        return;
    }
    int error = probe_target_ready(t);
    if (!error)
        error = cortex_a_read_system(&t->a.cores[t->selected],
                                     0xee100f10u | op1 << 21 | crn << 16 | op2 << 5 | crm, &value);
    t->a.failed = error ? t->selected : t->a.failed;
    if (!probe_target_failed(t, error, c, "not known"))
        console_print(c, "0x%08" PRIx32 "\n", value);
}

static void cmd_step_all(struct probe_target *t, const char *rest, const struct console *c)
{
    if (strcmp(rest, "on") == 0 || strcmp(rest, "off") == 0)
        t->step_all = strcmp(rest, "on") == 0;
    else if (*rest)
        console_print(c, "on or off, not '%s'\n", rest);
    console_print(c, "while one core steps the others %s\n", t->step_all ? "run" : "stand");
}

const struct probe_command probe_a_commands[] = {
    {"fault", probe_a_cmd_fault, "the selected core's last aborts, in words", false},
    {"memory", probe_a_cmd_memory, "[core|system]: through MMU and caches, or as the bus has it",
     false},
    {"step_all", cmd_step_all, "[on|off]: whether the other cores run while one steps", false},
    {"cp15", cmd_system, "OP1 CRN CRM OP2: a system register of the selected core", false},
    {NULL, NULL, NULL, true},
};
