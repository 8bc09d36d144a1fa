/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of ARMv7-A cores: probe_target_core.h. */
#include "drivers/cortex_a/cortex_a.h"
#include "probe_target_internal.h"

#include <stdio.h>
#include <string.h>

#define VFP "org.gnu.gdb.arm.vfp"

/* Notes who failed. */
static int note(struct probe_target *t, unsigned core, int rc)
{
    if (rc) {
        t->a.failed = core;
        t->a.failed_memory = false;
    }
    return rc;
}

/* The core that memory and system registers are reached by: the one asked, or any that stands. */
static struct cortex_a *standing(struct probe_target *t, unsigned core)
{
    for (unsigned k = 0; k < t->a.count; k++) {
        struct cortex_a *c = &t->a.cores[(core + k) % t->a.count];
        if (c->halted)
            return c;
    }
    return &t->a.cores[core];
}

static unsigned index_of(const struct probe_target *t, const struct cortex_a *c)
{
    return (unsigned)(c - t->a.cores);
}

static const char *describe(const struct probe_target *t, char *text, size_t size)
{
    const struct probe_target_a *a = &t->a;
    char why[160];
    if (a->failed_memory)
        snprintf(text, size, "no access to the system's memory: %s",
                 adiv5_describe(&t->link.dp, why, sizeof why));
    else if (a->count > 1)
        snprintf(text, size, "core %s: %s", t->config->cores[a->failed].name,
                 cortex_a_describe(&a->cores[a->failed], why, sizeof why));
    else
        cortex_a_describe(&a->cores[a->failed], text, size);
    return text;
}

static const char *name(const struct probe_target *t, unsigned core)
{
    return t->a.cores[core].name;
}

/* The driver keeps the core registers itself, and knows when they are void. */
static void forget(struct probe_target *t)
{
    memset(t->a.vfp_read, 0, sizeof t->a.vfp_read);
}

/* Power came: it gets the breakpoints that the others have. */
static int wake(struct probe_target *t, unsigned core)
{
    struct cortex_a *c = &t->a.cores[core];
    for (unsigned k = 0; k < t->a.count; k++) {
        const struct cortex_a *other = &t->a.cores[k];
        if (k == core || !other->attached || t->a.off[k])
            continue;
        memcpy(c->breakpoints, other->breakpoints, sizeof c->breakpoints);
        memcpy(c->watchpoints, other->watchpoints, sizeof c->watchpoints);
        break;
    }
    int rc = cortex_a_attach(c);
    if (!rc && t->a.joined)
        rc = cortex_a_join(c, PROBE_TARGET_A_CHANNEL);
    return rc;
}

static enum probe_target_reason reason_of(const struct cortex_a_status *s)
{
    static const enum probe_target_reason reasons[] = {
        [CORTEX_A_REASON_NONE] = PROBE_TARGET_REASON_NONE,
        [CORTEX_A_REASON_REQUEST] = PROBE_TARGET_REASON_REQUEST,
        [CORTEX_A_REASON_STEP] = PROBE_TARGET_REASON_STEP,
        [CORTEX_A_REASON_BREAKPOINT] = PROBE_TARGET_REASON_BREAKPOINT,
        [CORTEX_A_REASON_BKPT] = PROBE_TARGET_REASON_BKPT,
        [CORTEX_A_REASON_WATCHPOINT] = PROBE_TARGET_REASON_WATCHPOINT,
        [CORTEX_A_REASON_VECTOR] = PROBE_TARGET_REASON_VECTOR,
        [CORTEX_A_REASON_EXTERNAL] = PROBE_TARGET_REASON_EXTERNAL,
        [CORTEX_A_REASON_OS_UNLOCK] = PROBE_TARGET_REASON_NONE,
    };
    return reasons[s->reason];
}

static enum gdb_stop_kind watch_of(const struct cortex_a_status *s)
{
    if (s->watch_length == 0)
        return GDB_STOP_TRAP;
    return s->watch_kind == CORTEX_A_WATCH_READ     ? GDB_STOP_RWATCH
           : s->watch_kind == CORTEX_A_WATCH_ACCESS ? GDB_STOP_AWATCH
                                                    : GDB_STOP_WATCH;
}

static int look(struct probe_target *t, unsigned core, struct cortex_a_status *s)
{
    struct cortex_a *c = &t->a.cores[core];
    int rc = BT_OK;
    *s = (struct cortex_a_status){.state = CORTEX_A_OFF};
    if (t->a.off[core]) {
        rc = wake(t, core);
        if (rc == BT_ERR_IO && c->failure == CORTEX_A_FAIL_POWER)
            return BT_OK;
    }
    if (!rc)
        rc = cortex_a_status(c, s);
    if (!rc)
        t->a.off[core] = s->state == CORTEX_A_OFF;
    return rc;
}

static int status(struct probe_target *t, unsigned core, struct probe_target_status *to)
{
    static const enum probe_target_state states[] = {
        [CORTEX_A_RUNNING] = PROBE_TARGET_RUNNING,
        [CORTEX_A_OFF] = PROBE_TARGET_OFF,
        [CORTEX_A_HALTED] = PROBE_TARGET_HALTED,
    };
    struct cortex_a_status s;
    int rc = look(t, core, &s);
    *to = (struct probe_target_status){.state = states[s.state],
                                       .reason = reason_of(&s),
                                       .reset_seen = s.reset_seen,
                                       .pc = s.pc,
                                       .watch = watch_of(&s),
                                       .watch_address = s.watch_address};
    return note(t, core, rc);
}

static int halt(struct probe_target *t, unsigned core)
{
    int rc = cortex_a_halt(&t->a.cores[core]);
    if (rc == BT_ERR_IO && t->a.cores[core].failure == CORTEX_A_FAIL_POWER) {
        t->a.off[core] = true; /* its program has switched it off */
        rc = BT_OK;
    }
    return note(t, core, rc);
}

static int resume(struct probe_target *t, unsigned core)
{
    return note(t, core, t->a.off[core] ? BT_OK : cortex_a_resume(&t->a.cores[core]));
}

static int step(struct probe_target *t, unsigned core, bool mask_interrupts)
{
    struct cortex_a *c = &t->a.cores[core];
    if (!t->a.off[core])
        return note(t, core, cortex_a_step(c, mask_interrupts));
    c->failure = CORTEX_A_FAIL_POWER;
    return note(t, core, BT_ERR_IO);
}

static void mode(struct probe_target *t, unsigned core, char *text, size_t size)
{
    uint32_t cpsr;
    if (t->a.off[core])
        snprintf(text, size, "powered down");
    else if (cortex_a_read_register(&t->a.cores[core], CORTEX_A_CPSR, &cpsr) == BT_OK)
        cortex_a_mode_text(cpsr, text, size);
}

static void name_stop(struct probe_target *t, unsigned core, struct gdb_stop *stop)
{
    (void)t, (void)core, (void)stop;
}

/* GDB makes s0-s31 of them. */
static void describe_registers(struct probe_target *t)
{
    static const char *const doubles[] = {
        "d0",  "d1",  "d2",  "d3",  "d4",  "d5",  "d6",  "d7",  "d8",  "d9",  "d10",
        "d11", "d12", "d13", "d14", "d15", "d16", "d17", "d18", "d19", "d20", "d21",
        "d22", "d23", "d24", "d25", "d26", "d27", "d28", "d29", "d30", "d31",
    };
    t->extra_count = 0;
    for (unsigned i = 0; i < t->a.doubles; i++)
        t->described[t->extra_count++] = (struct gdb_register){VFP, doubles[i], "ieee_double", 64};
    if (t->a.doubles > 0)
        t->described[t->extra_count++] = (struct gdb_register){VFP, "fpscr", "uint32", 32};
}

/* A core without power has no registers: GDB cannot go on without numbers. */
static int read_regs(struct probe_target *t, unsigned core, struct gdb_regs *regs)
{
    int rc = BT_OK;
    memset(regs, 0, sizeof *regs);
    for (unsigned i = 0; i < GDB_REG_COUNT && !rc && !t->a.off[core]; i++) {
        uint32_t value = 0;
        rc = cortex_a_read_register(&t->a.cores[core], i, &value);
        regs->value[i] = value;
    }
    regs->known = (1u << GDB_REG_COUNT) - 1;
    return note(t, core, rc);
}

static int write_reg(struct probe_target *t, unsigned core, enum gdb_reg reg, uint32_t value)
{
    return note(t, core, cortex_a_write_register(&t->a.cores[core], (unsigned)reg, value));
}

/* All of a halt at once: GDB asks for one after the other. */
static int load_vfp(struct probe_target *t, unsigned core)
{
    struct cortex_a *c = &t->a.cores[core];
    if (t->a.off[core])
        return BT_ERR_UNSUPPORTED;
    if (t->a.vfp_read[core])
        return t->a.vfp_result[core];
    int rc = cortex_a_read_fpscr(c, &t->a.fpscr[core]);
    if (!rc)
        rc = cortex_a_read_doubles(c, t->a.vfp[core], t->a.doubles);
    t->a.vfp_read[core] = rc == BT_OK || rc == BT_ERR_UNSUPPORTED;
    t->a.vfp_result[core] = rc;
    return note(t, core, rc);
}

static int read_extra(struct probe_target *t, unsigned core, unsigned index, uint64_t *value)
{
    int rc = load_vfp(t, core);
    *value = rc ? 0 : index < t->a.doubles ? t->a.vfp[core][index] : t->a.fpscr[core];
    return rc;
}

static int write_extra(struct probe_target *t, unsigned core, unsigned index, uint64_t value)
{
    struct cortex_a *c = &t->a.cores[core];
    t->a.vfp_read[core] = false;
    return note(t, core,
                index < t->a.doubles ? cortex_a_write_double(c, index, value)
                                     : cortex_a_write_fpscr(c, (uint32_t)value));
}

/* Width of a single access: it may be a device. 0: any will do. */
static unsigned width(uint32_t address, size_t len)
{
    bool one = len == 1 || len == 2 || len == 4;
    return one && address % len == 0 ? (unsigned)len : 0;
}

static bool use_system(const struct probe_target *t, const struct cortex_a *c)
{
    return t->a.has_memory && (t->a.through_system || !c->halted);
}

static int system_result(struct probe_target *t, int rc)
{
    t->a.failed_memory = rc != BT_OK;
    return rc;
}

static int read_bytes(struct probe_target *t, unsigned core, uint32_t address, void *bytes,
                      size_t len)
{
    struct cortex_a *c = standing(t, core);
    unsigned size = width(address, len);
    if (use_system(t, c)) {
        int rc = size ? mem_ap_read_sized(&t->a.memory, address, size, bytes, 1)
                      : mem_ap_read(&t->a.memory, address, bytes, len);
        cortex_a_show_original(&t->a.software, address, bytes, len);
        return system_result(t, rc);
    }
    return note(t, index_of(t, c),
                size ? cortex_a_read_sized(c, address, size, bytes, 1)
                     : cortex_a_read_memory(c, address, bytes, len));
}

/* Whoever runs next fetches its instructions anew. */
static void changed(struct probe_target *t)
{
    for (unsigned i = 0; i < t->a.count; i++)
        cortex_a_code_changed(&t->a.cores[i]);
}

static int write_bytes(struct probe_target *t, unsigned core, uint32_t address, const void *bytes,
                       size_t len)
{
    struct cortex_a *c = standing(t, core);
    unsigned size = width(address, len);
    changed(t);
    if (use_system(t, c)) {
        int rc = size ? mem_ap_write_sized(&t->a.memory, address, size, bytes, 1)
                      : mem_ap_write(&t->a.memory, address, bytes, len);
        if (!rc && t->a.software.count > 0)
            rc = note(t, index_of(t, c), cortex_a_put_back(c, address, bytes, len));
        return system_result(t, rc);
    }
    return note(t, index_of(t, c),
                size ? cortex_a_write_sized(c, address, size, bytes, 1)
                     : cortex_a_write_memory(c, address, bytes, len));
}

static bool nothing_at(const struct probe_target *t, unsigned core, uint64_t *address)
{
    const struct cortex_a *c = &t->a.cores[t->a.failed];
    (void)core;
    if (t->a.failed_memory) {
        *address = t->a.memory.fault_address;
        return t->link.dp.failure == DEBUG_FAIL_FAULT;
    }
    *address = c->failure_address;
    return c->failure == CORTEX_A_FAIL_ABORT;
}

/* Breakpoints and watchpoints. */

static int lift(struct probe_target *t, enum probe_target_place place, uint32_t address,
                uint32_t length)
{
    struct cortex_a *c = standing(t, 0);
    int first = BT_OK;
    if (place == PROBE_TARGET_BREAK_SOFTWARE) {
        changed(t);
        return note(t, index_of(t, c),
                    cortex_a_remove(c, CORTEX_A_BREAK_SOFTWARE, address, length));
    }
    for (unsigned i = 0; i < t->a.count; i++) {
        if (t->a.off[i])
            continue;
        int rc =
            cortex_a_remove(&t->a.cores[i], (enum cortex_a_breakpoint_kind)place, address, length);
        if (rc != BT_ERR_RANGE && !first)
            first = note(t, i, rc);
    }
    return first;
}

/* All cores have it, or none. */
static int insert(struct probe_target *t, enum probe_target_place place, uint32_t address,
                  uint32_t length)
{
    struct cortex_a *c = standing(t, 0);
    int rc = BT_OK;
    if (place == PROBE_TARGET_BREAK_SOFTWARE) {
        changed(t);
        return note(t, index_of(t, c),
                    cortex_a_insert(c, CORTEX_A_BREAK_SOFTWARE, address, length));
    }
    for (unsigned i = 0; i < t->a.count && !rc; i++) {
        if (!t->a.off[i])
            rc = note(t, i,
                      cortex_a_insert(&t->a.cores[i], (enum cortex_a_breakpoint_kind)place, address,
                                      length));
    }
    if (rc) {
        enum cortex_a_failure failure = t->a.cores[t->a.failed].failure;
        uint32_t at = t->a.cores[t->a.failed].failure_address;
        unsigned failed = t->a.failed;
        lift(t, place, address, length);
        t->a.failed = failed;
        t->a.cores[failed].failure = failure;
        t->a.cores[failed].failure_address = at;
    }
    return rc;
}

static enum probe_target_refusal refusal(const struct probe_target *t)
{
    enum cortex_a_failure f = t->a.cores[t->a.failed].failure;
    return f == CORTEX_A_FAIL_FULL      ? PROBE_TARGET_REFUSED_FULL
           : f == CORTEX_A_FAIL_NOT_RAM ? PROBE_TARGET_REFUSED_PLACE
                                        : PROBE_TARGET_REFUSED;
}

static void units(const struct probe_target *t, unsigned *breakpoints, unsigned *watchpoints)
{
    *breakpoints = t->a.cores[0].breakpoint_count;
    *watchpoints = t->a.cores[0].watchpoint_count;
}

static bool prefers_hardware(const struct probe_target *t, uint32_t address)
{
    (void)t, (void)address;
    return false;
}

_Static_assert((int)PROBE_TARGET_BREAK_SOFTWARE == (int)CORTEX_A_BREAK_SOFTWARE &&
                   (int)PROBE_TARGET_WATCH_ACCESS == (int)CORTEX_A_WATCH_ACCESS,
               "places are in the driver's order");
_Static_assert((int)GDB_REG_PC == (int)CORTEX_A_PC && (int)GDB_REG_PSR == (int)CORTEX_A_CPSR,
               "register numbers");

const struct probe_target_core_ops probe_target_a_ops = {
    .profile = GDB_PROFILE_A,
    .commands = probe_target_a_commands,
    .open = probe_target_a_open,
    .close = probe_target_a_close,
    .take_back = probe_target_a_take_back,
    .describe = describe,
    .name = name,
    .status = status,
    .halt = halt,
    .resume = resume,
    .step = step,
    .reset = probe_target_a_reset,
    .report = probe_target_a_report,
    .name_stop = name_stop,
    .forget = forget,
    .describe_registers = describe_registers,
    .read_regs = read_regs,
    .write_reg = write_reg,
    .read_extra = read_extra,
    .write_extra = write_extra,
    .read = read_bytes,
    .write = write_bytes,
    .nothing_at = nothing_at,
    .insert = insert,
    .remove = lift,
    .refusal = refusal,
    .units = units,
    .prefers_hardware = prefers_hardware,
    .report_cores = probe_target_a_report_cores,
    .report_state = probe_target_a_report_state,
    .mode = mode,
};
