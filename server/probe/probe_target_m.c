/* SPDX-License-Identifier: BSD-3-Clause */
/* A Cortex-M as probe_target_core.h wants it: registers, words, run control, memory. */
#include "probe_target_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define IDLE_CLOCKS           8
#define DEFAULT_CATCH         CORTEX_M_CATCH_HARDFAULT
#define SIGNAL_ILL            4
#define SIGNAL_SEGV           11
#define EXCEPTION_HARDFAULT   3u
#define EXCEPTION_USAGEFAULT  6u
#define EXCEPTION_SECUREFAULT 7u

/* Of the architecture's map: devices, where each access counts and its width matters. */
#define RAM_START     0x20000000u
#define DEVICES_START 0x40000000u
#define DEVICES_END   0x60000000u
#define PRIVATE_START 0xe0000000u

/* Features of a target description, GDB manual, "ARM Features". */
#define SYSTEM   "org.gnu.gdb.arm.m-system"
#define SECURITY "org.gnu.gdb.arm.secext"
#define VFP      "org.gnu.gdb.arm.vfp"

struct system_register {
    unsigned reg;
    const char *feature;
    const char *type;
    unsigned bits;
};

/* GDB wants msp and psp of the first feature, the four stack pointers of the second. */
static const struct system_register system_registers[] = {
    {CORTEX_M_MSP, SYSTEM, "data_ptr", 32},       {CORTEX_M_PSP, SYSTEM, "data_ptr", 32},
    {CORTEX_M_PRIMASK, SYSTEM, "uint8", 8},       {CORTEX_M_BASEPRI, SYSTEM, "uint8", 8},
    {CORTEX_M_FAULTMASK, SYSTEM, "uint8", 8},     {CORTEX_M_CONTROL, SYSTEM, "uint8", 8},
    {CORTEX_M_MSPLIM_S, SYSTEM, "data_ptr", 32},  {CORTEX_M_PSPLIM_S, SYSTEM, "data_ptr", 32},
    {CORTEX_M_MSPLIM_NS, SYSTEM, "data_ptr", 32}, {CORTEX_M_PSPLIM_NS, SYSTEM, "data_ptr", 32},
    {CORTEX_M_MSP_NS, SECURITY, "data_ptr", 32},  {CORTEX_M_PSP_NS, SECURITY, "data_ptr", 32},
    {CORTEX_M_MSP_S, SECURITY, "data_ptr", 32},   {CORTEX_M_PSP_S, SECURITY, "data_ptr", 32},
};

/* GDB makes s0-s31 of them. */
static const char *const doubles[] = {
    "d0", "d1", "d2",  "d3",  "d4",  "d5",  "d6",  "d7",
    "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15",
};

static void probe_m_add_register(struct probe_target *t, const struct target_register *r,
                                 unsigned first, bool pair)
{
    t->described[t->extra_count] = *r;
    t->m.extra[t->extra_count] = (struct probe_target_m_register){first, pair};
    t->extra_count++;
}

static void probe_m_describe_registers(struct probe_target *t)
{
    t->extra_count = 0;
    for (size_t i = 0; i < sizeof system_registers / sizeof *system_registers; i++) {
        const struct system_register *s = &system_registers[i];
        struct target_register r = {s->feature, cortex_m_register_name(s->reg), s->type, s->bits, 0};
        if (cortex_m_has_register(&t->m.core, s->reg))
            probe_m_add_register(t, &r, s->reg, false);
    }
    if (!cortex_m_has_register(&t->m.core, CORTEX_M_FPSCR))
        return;
    for (unsigned i = 0; i < sizeof doubles / sizeof *doubles; i++)
        probe_m_add_register(t, &(struct target_register){VFP, doubles[i], "ieee_double", 64, 0},
                             CORTEX_M_S0 + 2 * i, true);
    probe_m_add_register(t, &(struct target_register){VFP, "fpscr", "uint32", 32, 0}, CORTEX_M_FPSCR,
                         false);
}

static int probe_m_load_values(struct probe_target *t)
{
    int error = t->m.values_known ? BT_OK : cortex_m_read_all(&t->m.core, t->m.values);
    t->m.values_known = !error;
    return error;
}

static int probe_m_read_regs(struct probe_target *t, unsigned core, struct target_regs *regs)
{
    (void)core;
    int error = probe_m_load_values(t);
    if (error)
        return error;
    for (unsigned i = 0; i < TARGET_REG_COUNT; i++)
        regs->value[i] = t->m.values[i];
    regs->known = (1u << TARGET_REG_COUNT) - 1;
    return BT_OK;
}

static int probe_m_write_value(struct probe_target *t, unsigned reg, uint32_t value)
{
    t->m.values_known = false; /* sp is msp or psp, d0 is s0 */
    return cortex_m_write_register(&t->m.core, reg, value);
}

static int probe_m_write_reg(struct probe_target *t, unsigned core, enum target_reg reg,
                             uint32_t value)
{
    (void)core;
    return probe_m_write_value(t, (unsigned)reg, value);
}

static int probe_m_read_extra(struct probe_target *t, unsigned core, unsigned index,
                              uint64_t *value)
{
    const struct probe_target_m_register *r = &t->m.extra[index];
    (void)core;
    int error = probe_m_load_values(t);
    if (error)
        return error;
    *value = t->m.values[r->first];
    if (r->pair)
        *value |= (uint64_t)t->m.values[r->first + 1] << 32;
    return BT_OK;
}

static int probe_m_write_extra(struct probe_target *t, unsigned core, unsigned index,
                               uint64_t value)
{
    const struct probe_target_m_register *r = &t->m.extra[index];
    (void)core;
    int error = probe_m_write_value(t, r->first, (uint32_t)value);
    if (!error && r->pair)
        error = probe_m_write_value(t, r->first + 1, (uint32_t)(value >> 32));
    return error;
}

/* The first seventeen have the same numbers there and here. */
_Static_assert((int)TARGET_REG_PC == (int)CORTEX_M_PC && (int)TARGET_REG_PSR == (int)CORTEX_M_XPSR,
               "register numbers");
_Static_assert(sizeof system_registers / sizeof *system_registers + 17 <= TARGET_EXTRA_MAX,
               "room for all further registers");

static const char *probe_m_fault_text(struct probe_target *t, char *text, size_t size)
{
    struct cortex_m_exception e;
    text[0] = '\0';
    if (cortex_m_exception(&t->m.core, &e) == BT_OK)
        cortex_m_exception_text(&e, text, size);
    return text;
}

static void probe_m_report_core(const struct probe_target *t, const struct console *c)
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
static void probe_m_report_other_core(const struct probe_target *t, const struct console *c)
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

static void probe_m_report_cores(const struct probe_target *t, const struct console *c)
{
    probe_m_report_core(t, c);
    probe_m_report_other_core(t, c);
}

static void probe_m_report_state(struct probe_target *t, const struct console *c)
{
    struct cortex_m_status s;
    char text[400];
    static const char *const states[] = {
        [CORTEX_M_RUNNING] = "running",
        [CORTEX_M_SLEEPING] = "running, asleep",
        [CORTEX_M_LOCKUP] = "locked up by a fault within a fault handler",
    };
    int error = probe_target_ready(t);
    if (!error)
        error = cortex_m_status(&t->m.core, &s);
    if (error) {
        console_print(c, "state         not known: %s\n",
                      probe_target_describe(t, text, sizeof text));
        return;
    }
    if (s.state != CORTEX_M_HALTED) {
        console_print(c, "state         %s\n", states[s.state]);
        return;
    }
    console_print(c, "state         halted at 0x%08" PRIx32 "\n", s.pc);
    if (probe_m_fault_text(t, text, sizeof text)[0])
        console_print(c, "exception     %s\n", text);
}

static void probe_m_cmd_fault(struct probe_target *t, const char *rest, const struct console *c)
{
    struct cortex_m_exception e;
    char text[400];
    (void)rest;
    int error = probe_target_ready(t);
    if (!error)
        error = cortex_m_exception(&t->m.core, &e);
    if (error) {
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
        int error = probe_target_ready(t);
        if (probe_target_result(t, error ? error : cortex_m_vector_catch(&t->m.core, bits), NULL)) {
            console_print(c, "not set: %s\n", probe_target_describe(t, text, sizeof text));
            return;
        }
        t->m.caught = bits;
    }
    report_catches(t, c);
}

static const struct probe_target_command probe_m_commands[] = {
    {"fault", probe_m_cmd_fault, "the exception the core is in, in words", false},
    {"vector_catch", cmd_vector_catch, "[WORD]...|none: exceptions before which the core halts",
     false},
    {NULL, NULL, NULL, true},
};

/* As the link was made: the port sleeps again behind some resets. */
static void probe_m_set_wake(struct probe_target *t)
{
    const struct config_probe *p = &t->config->probe;
    t->m.wake = (struct adiv5_connect_options){
        .wire = (enum debug_wire)p->wire,
        .clock_hz = p->clock,
        .idle_clocks = IDLE_CLOCKS,
        .ir_lengths = p->jtag_chain.ir_lengths,
        .chain_count = p->jtag_chain.count,
        .chain_dap = p->jtag_device,
    };
}

static const char *probe_m_describe(const struct probe_target *t, char *text, size_t size)
{
    return cortex_m_describe(&t->m.core, text, size);
}

static int probe_m_open_core(struct probe_target *t, struct message *why)
{
    struct cortex_m *core = &t->m.core;
    char text[200];
    cortex_m_init(core, &t->link.ap);
    probe_m_set_wake(t);
    core->reconnect = &t->m.wake;
    int error = cortex_m_attach(core);
    t->m.caught = DEFAULT_CATCH;
    if (!error)
        error = cortex_m_vector_catch(core, t->m.caught);
    if (error)
        message_set(why, "%s: no core to debug: %s", t->config->path,
                    probe_m_describe(t, text, sizeof text));
    else if (config_programs_trace(t->config) && !t->config->attach)
        trace_setup_init_try(&t->link.bus,
                             t->config); /* trace units without a clock do not answer */
    return error ? error : probe_target_flash_open(&t->flash, t->config, core, why);
}

static void probe_m_close_core(struct probe_target *t, bool run)
{
    if (run)
        cortex_m_detach(&t->m.core, t->config->sink == CONFIG_SINK_TPIU);
    else
        cortex_m_vector_catch(&t->m.core, 0);
}

static int probe_m_take_back(struct probe_target *t)
{
    int error = cortex_m_attach(&t->m.core);
    if (!error)
        error = cortex_m_halt(&t->m.core);
    return error ? error : cortex_m_vector_catch(&t->m.core, t->m.caught);
}

static void probe_m_forget(struct probe_target *t)
{
    t->m.values_known = false;
}

static const char *probe_m_name(const struct probe_target *t, unsigned core)
{
    (void)core;
    return t->m.core.name;
}

static enum probe_target_reason probe_m_reason_of(const struct cortex_m_status *s)
{
    static const enum probe_target_reason reasons[] = {
        [CORTEX_M_REASON_NONE] = PROBE_TARGET_REASON_NONE,
        [CORTEX_M_REASON_REQUEST] = PROBE_TARGET_REASON_REQUEST,
        [CORTEX_M_REASON_STEP] = PROBE_TARGET_REASON_STEP,
        [CORTEX_M_REASON_BREAKPOINT] = PROBE_TARGET_REASON_BREAKPOINT,
        [CORTEX_M_REASON_BKPT] = PROBE_TARGET_REASON_BKPT,
        [CORTEX_M_REASON_WATCHPOINT] = PROBE_TARGET_REASON_WATCHPOINT,
        [CORTEX_M_REASON_VECTOR] = PROBE_TARGET_REASON_VECTOR,
        [CORTEX_M_REASON_RESET] = PROBE_TARGET_REASON_NONE,
        [CORTEX_M_REASON_EXTERNAL] = PROBE_TARGET_REASON_EXTERNAL,
    };
    return reasons[s->reason];
}

static enum target_halt_reason probe_m_watch_of(const struct cortex_m_status *s)
{
    if (s->watch_length == 0)
        return TARGET_HALT_TRAP;
    return s->watch_kind == CORTEX_M_WATCH_READ     ? TARGET_HALT_RWATCH
           : s->watch_kind == CORTEX_M_WATCH_ACCESS ? TARGET_HALT_AWATCH
                                                    : TARGET_HALT_WATCH;
}

static int probe_m_status(struct probe_target *t, unsigned core, struct probe_target_status *to)
{
    static const enum probe_target_state states[] = {
        [CORTEX_M_RUNNING] = PROBE_TARGET_RUNNING,
        [CORTEX_M_SLEEPING] = PROBE_TARGET_SLEEPING,
        [CORTEX_M_LOCKUP] = PROBE_TARGET_LOCKUP,
        [CORTEX_M_HALTED] = PROBE_TARGET_HALTED,
    };
    struct cortex_m_status s;
    (void)core;
    int error = cortex_m_status(&t->m.core, &s);
    *to = (struct probe_target_status){.state = states[s.state],
                                       .reason = probe_m_reason_of(&s),
                                       .reset_seen = s.reset_seen,
                                       .pc = s.pc,
                                       .watch = probe_m_watch_of(&s),
                                       .watch_address = s.watch_address};
    return error;
}

static int probe_m_halt(struct probe_target *t, unsigned core)
{
    (void)core;
    return cortex_m_halt(&t->m.core);
}

static int probe_m_resume(struct probe_target *t, unsigned core)
{
    (void)core;
    return cortex_m_resume(&t->m.core);
}

static int probe_m_step(struct probe_target *t, unsigned core, bool mask_interrupts)
{
    (void)core;
    return cortex_m_step(&t->m.core, mask_interrupts);
}

static int probe_m_reset(struct probe_target *t)
{
    enum cortex_m_reset_kind kind =
        t->config->probe.connect_under_reset ? CORTEX_M_RESET_PIN : CORTEX_M_RESET_SYSTEM;
    memset(t->m.reported, 0, sizeof t->m.reported);
    return cortex_m_reset(&t->m.core, kind, true);
}

static bool probe_m_is_fault(unsigned exception)
{
    return exception >= EXCEPTION_HARDFAULT && exception <= EXCEPTION_SECUREFAULT;
}

/* Vector catch: before the first instruction of a handler, or of the reset. */
static void probe_m_name_stop(struct probe_target *t, unsigned core, struct target_stop *stop)
{
    (void)core;
    if (probe_m_load_values(t))
        return;
    unsigned exception = t->m.values[CORTEX_M_XPSR] & 0x1ff;
    if (!probe_m_is_fault(exception))
        return;
    stop->kind = TARGET_HALT_SIGNAL;
    stop->signal = exception == EXCEPTION_USAGEFAULT ? SIGNAL_ILL : SIGNAL_SEGV;
}

/* Once for each fault, not at every step through its handler. */
static void probe_m_report(struct probe_target *t, unsigned core,
                           const struct probe_target_status *s)
{
    struct cortex_m_exception e;
    char text[400];
    (void)core, (void)s;
    if (probe_m_load_values(t) || !probe_m_is_fault(t->m.values[CORTEX_M_XPSR] & 0x1ff)) {
        memset(t->m.reported, 0, sizeof t->m.reported);
        return;
    }
    if (cortex_m_exception(&t->m.core, &e))
        return;
    const uint32_t now[3] = {e.number, e.cfsr, e.hfsr};
    if (memcmp(now, t->m.reported, sizeof now) == 0)
        return;
    memcpy(t->m.reported, now, sizeof now);
    probe_target_report(t, "%s", cortex_m_exception_text(&e, text, sizeof text));
}

static void probe_m_mode(struct probe_target *t, unsigned core, char *text, size_t size)
{
    char name_of[64];
    bool secure = false;
    (void)core;
    if (probe_m_load_values(t))
        return;
    cortex_m_exception_name(t->m.values[CORTEX_M_XPSR] & 0x1ff, name_of, sizeof name_of);
    bool known = t->m.core.security && cortex_m_is_secure(&t->m.core, &secure) == BT_OK;
    snprintf(text, size, "%s%s", name_of, !known ? "" : secure ? ", Secure" : ", Non-secure");
}

static bool probe_m_is_device(uint32_t address)
{
    return (address >= DEVICES_START && address < DEVICES_END) || address >= PRIVATE_START;
}

/* Width of the access for `len` bytes of a device; 0: no single one. */
static unsigned probe_m_width(uint32_t address, size_t len)
{
    bool one = len == 1 || len == 2 || len == 4;
    return one && probe_m_is_device(address) && address % len == 0 ? (unsigned)len : 0;
}

static int probe_m_read_bytes(struct probe_target *t, unsigned core, uint32_t address, void *bytes,
                              size_t len)
{
    unsigned size = probe_m_width(address, len);
    (void)core;
    return size ? cortex_m_read_sized(&t->m.core, address, size, bytes, 1)
                : cortex_m_read_memory(&t->m.core, address, bytes, len);
}

/* Flash refuses writes, or swallows them without a word: the first that does not stick tells. */
static int probe_m_check_written(struct probe_target *t, int error, uint32_t address,
                                 const uint8_t *bytes, size_t len)
{
    uint8_t now[256];
    bool refused = error == BT_ERR_IO && t->link.dp.failure == DEBUG_FAIL_FAULT;
    if (address >= RAM_START || t->config->flash.algorithm[0] || (error && !refused))
        return error;
    bool same = !refused;
    for (size_t done = 0, n; same && done < len; done += n) {
        n = len - done < sizeof now ? len - done : sizeof now;
        error = cortex_m_read_memory(&t->m.core, (uint32_t)(address + done), now, n);
        if (error)
            return error;
        same = memcmp(now, bytes + done, n) == 0;
    }
    if (same)
        return BT_OK;
    return probe_target_refuse(
        t, NULL, BT_ERR_IO,
        "the memory at 0x%08x does not take what is written: for flash name an "
        "algorithm in the board file, [flash] algorithm = FILE.FLM",
        (unsigned)address);
}

static int probe_m_write_bytes(struct probe_target *t, unsigned core, uint32_t address,
                               const void *bytes, size_t len)
{
    unsigned size = probe_m_width(address, len);
    (void)core;
    int error = size ? cortex_m_write_sized(&t->m.core, address, size, bytes, 1)
                     : cortex_m_write_memory(&t->m.core, address, bytes, len);
    t->m.values_known = t->m.values_known && !probe_m_is_device(address);
    return probe_m_check_written(t, error, address, bytes, len);
}

static bool probe_m_nothing_at(const struct probe_target *t, unsigned core, uint64_t *address)
{
    (void)core;
    *address = t->link.ap.fault_address;
    return t->link.dp.failure == DEBUG_FAIL_FAULT;
}

/* Breakpoints and watchpoints. */

static int probe_m_insert(struct probe_target *t, enum probe_target_place place, uint32_t address,
                          uint32_t length)
{
    return cortex_m_insert(&t->m.core, (enum cortex_m_breakpoint_kind)place, address, length);
}

static int probe_m_lift(struct probe_target *t, enum probe_target_place place, uint32_t address,
                        uint32_t length)
{
    return cortex_m_remove(&t->m.core, (enum cortex_m_breakpoint_kind)place, address, length);
}

static enum probe_target_refusal probe_m_refusal(const struct probe_target *t)
{
    enum cortex_m_failure f = t->m.core.failure;
    if (f == CORTEX_M_FAIL_FULL)
        return PROBE_TARGET_REFUSED_FULL;
    return f == CORTEX_M_FAIL_UPPER || f == CORTEX_M_FAIL_NOT_RAM ? PROBE_TARGET_REFUSED_PLACE
                                                                  : PROBE_TARGET_REFUSED;
}

static void probe_m_units(const struct probe_target *t, unsigned *breakpoints,
                          unsigned *watchpoints)
{
    *breakpoints = t->m.core.breakpoint_count;
    *watchpoints = t->m.core.watchpoint_count;
}

static bool probe_m_prefers_hardware(const struct probe_target *t, uint32_t address)
{
    (void)t;
    return address < RAM_START;
}

_Static_assert((int)PROBE_TARGET_BREAK_SOFTWARE == (int)CORTEX_M_BREAK_SOFTWARE &&
                   (int)PROBE_TARGET_WATCH_ACCESS == (int)CORTEX_M_WATCH_ACCESS,
               "places are in the driver's order");

static const struct probe_target_core_reports probe_m_reports = {
    .commands = probe_m_commands,
    .stop = probe_m_report,
    .cores = probe_m_report_cores,
    .state = probe_m_report_state,
};

const struct probe_target_core_ops probe_target_m_ops = {
    .profile = TARGET_PROFILE_M,
    .reports = &probe_m_reports,
    .open = probe_m_open_core,
    .close = probe_m_close_core,
    .take_back = probe_m_take_back,
    .describe = probe_m_describe,
    .name = probe_m_name,
    .status = probe_m_status,
    .halt = probe_m_halt,
    .resume = probe_m_resume,
    .step = probe_m_step,
    .reset = probe_m_reset,
    .name_stop = probe_m_name_stop,
    .forget = probe_m_forget,
    .describe_registers = probe_m_describe_registers,
    .read_regs = probe_m_read_regs,
    .write_reg = probe_m_write_reg,
    .read_extra = probe_m_read_extra,
    .write_extra = probe_m_write_extra,
    .read = probe_m_read_bytes,
    .write = probe_m_write_bytes,
    .nothing_at = probe_m_nothing_at,
    .insert = probe_m_insert,
    .remove = probe_m_lift,
    .refusal = probe_m_refusal,
    .units = probe_m_units,
    .prefers_hardware = probe_m_prefers_hardware,
    .mode = probe_m_mode,
};
