/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of a Cortex-M: probe_target_core.h. */
#include "probe_target_internal.h"

#include <stdio.h>
#include <string.h>

#define IDLE_CLOCKS   8
#define DEFAULT_CATCH CORTEX_M_CATCH_HARDFAULT

#define SIGNAL_ILL  4
#define SIGNAL_SEGV 11

#define EXCEPTION_HARDFAULT   3u
#define EXCEPTION_USAGEFAULT  6u
#define EXCEPTION_SECUREFAULT 7u

/* Of the architecture's map: devices, where each access counts and its width matters. */
#define RAM_START     0x20000000u
#define DEVICES_START 0x40000000u
#define DEVICES_END   0x60000000u
#define PRIVATE_START 0xe0000000u

/* As the link was made: the port sleeps again behind some resets. */
static void set_wake(struct probe_target *t)
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

static const char *describe(const struct probe_target *t, char *text, size_t size)
{
    return cortex_m_describe(&t->m.core, text, size);
}

static int open_core(struct probe_target *t, struct message *why)
{
    struct cortex_m *core = &t->m.core;
    char text[200];
    cortex_m_init(core, &t->link.ap);
    set_wake(t);
    core->reconnect = &t->m.wake;
    int rc = cortex_m_attach(core);
    t->m.caught = DEFAULT_CATCH;
    if (!rc)
        rc = cortex_m_vector_catch(core, t->m.caught);
    if (rc)
        message_set(why, "%s: no core to debug: %s", t->config->path,
                    describe(t, text, sizeof text));
    else if (config_programs_trace(t->config) && !t->config->attach)
        trace_setup_init_try(&t->link.bus, t->config); /* trace units without a clock do not answer */
    return rc ? rc : probe_target_flash_open(&t->flash, t->config, core, why);
}

static void close_core(struct probe_target *t, bool run)
{
    if (run)
        cortex_m_detach(&t->m.core, t->config->sink == CONFIG_SINK_TPIU);
    else
        cortex_m_vector_catch(&t->m.core, 0);
}

static int take_back(struct probe_target *t)
{
    int rc = cortex_m_attach(&t->m.core);
    if (!rc)
        rc = cortex_m_halt(&t->m.core);
    return rc ? rc : cortex_m_vector_catch(&t->m.core, t->m.caught);
}

static void forget(struct probe_target *t)
{
    t->m.values_known = false;
}

static const char *name(const struct probe_target *t, unsigned core)
{
    (void)core;
    return t->m.core.name;
}

static enum probe_target_reason reason_of(const struct cortex_m_status *s)
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

static enum gdb_stop_kind watch_of(const struct cortex_m_status *s)
{
    if (s->watch_length == 0)
        return GDB_STOP_TRAP;
    return s->watch_kind == CORTEX_M_WATCH_READ     ? GDB_STOP_RWATCH
           : s->watch_kind == CORTEX_M_WATCH_ACCESS ? GDB_STOP_AWATCH
                                                    : GDB_STOP_WATCH;
}

static int status(struct probe_target *t, unsigned core, struct probe_target_status *to)
{
    static const enum probe_target_state states[] = {
        [CORTEX_M_RUNNING] = PROBE_TARGET_RUNNING,
        [CORTEX_M_SLEEPING] = PROBE_TARGET_SLEEPING,
        [CORTEX_M_LOCKUP] = PROBE_TARGET_LOCKUP,
        [CORTEX_M_HALTED] = PROBE_TARGET_HALTED,
    };
    struct cortex_m_status s;
    (void)core;
    int rc = cortex_m_status(&t->m.core, &s);
    *to = (struct probe_target_status){.state = states[s.state],
                                       .reason = reason_of(&s),
                                       .reset_seen = s.reset_seen,
                                       .pc = s.pc,
                                       .watch = watch_of(&s),
                                       .watch_address = s.watch_address};
    return rc;
}

static int halt(struct probe_target *t, unsigned core)
{
    (void)core;
    return cortex_m_halt(&t->m.core);
}

static int resume(struct probe_target *t, unsigned core)
{
    (void)core;
    return cortex_m_resume(&t->m.core);
}

static int step(struct probe_target *t, unsigned core, bool mask_interrupts)
{
    (void)core;
    return cortex_m_step(&t->m.core, mask_interrupts);
}

static int reset(struct probe_target *t)
{
    enum cortex_m_reset_kind kind =
        t->config->probe.connect_under_reset ? CORTEX_M_RESET_PIN : CORTEX_M_RESET_SYSTEM;
    memset(t->m.reported, 0, sizeof t->m.reported);
    return cortex_m_reset(&t->m.core, kind, true);
}

static bool is_fault(unsigned exception)
{
    return exception >= EXCEPTION_HARDFAULT && exception <= EXCEPTION_SECUREFAULT;
}

/* Vector catch: before the first instruction of a handler, or of the reset. */
static void name_stop(struct probe_target *t, unsigned core, struct gdb_stop *stop)
{
    (void)core;
    if (probe_target_m_load_values(t))
        return;
    unsigned exception = t->m.values[CORTEX_M_XPSR] & 0x1ff;
    if (!is_fault(exception))
        return;
    stop->kind = GDB_STOP_SIGNAL;
    stop->signal = exception == EXCEPTION_USAGEFAULT ? SIGNAL_ILL : SIGNAL_SEGV;
}

/* Once for each fault, not at every step through its handler. */
static void report(struct probe_target *t, unsigned core, const struct probe_target_status *s)
{
    struct cortex_m_exception e;
    char text[400];
    (void)core, (void)s;
    if (probe_target_m_load_values(t) || !is_fault(t->m.values[CORTEX_M_XPSR] & 0x1ff)) {
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

static void mode(struct probe_target *t, unsigned core, char *text, size_t size)
{
    char name_of[64];
    bool secure = false;
    (void)core;
    if (probe_target_m_load_values(t))
        return;
    cortex_m_exception_name(t->m.values[CORTEX_M_XPSR] & 0x1ff, name_of, sizeof name_of);
    bool known = t->m.core.security && cortex_m_is_secure(&t->m.core, &secure) == BT_OK;
    snprintf(text, size, "%s%s", name_of, !known ? "" : secure ? ", Secure" : ", Non-secure");
}

static bool is_device(uint32_t address)
{
    return (address >= DEVICES_START && address < DEVICES_END) || address >= PRIVATE_START;
}

/* Width of the access for `len` bytes of a device; 0: no single one. */
static unsigned width(uint32_t address, size_t len)
{
    bool one = len == 1 || len == 2 || len == 4;
    return one && is_device(address) && address % len == 0 ? (unsigned)len : 0;
}

static int read_bytes(struct probe_target *t, unsigned core, uint32_t address, void *bytes,
                      size_t len)
{
    unsigned size = width(address, len);
    (void)core;
    return size ? cortex_m_read_sized(&t->m.core, address, size, bytes, 1)
                : cortex_m_read_memory(&t->m.core, address, bytes, len);
}

/* Flash refuses writes, or swallows them without a word: the first that does not stick tells. */
static int check_written(struct probe_target *t, int rc, uint32_t address, const uint8_t *bytes,
                         size_t len)
{
    uint8_t now[256];
    bool refused = rc == BT_ERR_IO && t->link.dp.failure == DEBUG_FAIL_FAULT;
    if (address >= RAM_START || t->config->flash.algorithm[0] || (rc && !refused))
        return rc;
    bool same = !refused;
    for (size_t done = 0, n; same && done < len; done += n) {
        n = len - done < sizeof now ? len - done : sizeof now;
        rc = cortex_m_read_memory(&t->m.core, (uint32_t)(address + done), now, n);
        if (rc)
            return rc;
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

static int write_bytes(struct probe_target *t, unsigned core, uint32_t address, const void *bytes,
                       size_t len)
{
    unsigned size = width(address, len);
    (void)core;
    int rc = size ? cortex_m_write_sized(&t->m.core, address, size, bytes, 1)
                  : cortex_m_write_memory(&t->m.core, address, bytes, len);
    t->m.values_known = t->m.values_known && !is_device(address);
    return check_written(t, rc, address, bytes, len);
}

static bool nothing_at(const struct probe_target *t, unsigned core, uint64_t *address)
{
    (void)core;
    *address = t->link.ap.fault_address;
    return t->link.dp.failure == DEBUG_FAIL_FAULT;
}

/* Breakpoints and watchpoints. */

static int insert(struct probe_target *t, enum probe_target_place place, uint32_t address,
                  uint32_t length)
{
    return cortex_m_insert(&t->m.core, (enum cortex_m_breakpoint_kind)place, address, length);
}

static int lift(struct probe_target *t, enum probe_target_place place, uint32_t address,
                uint32_t length)
{
    return cortex_m_remove(&t->m.core, (enum cortex_m_breakpoint_kind)place, address, length);
}

static enum probe_target_refusal refusal(const struct probe_target *t)
{
    enum cortex_m_failure f = t->m.core.failure;
    if (f == CORTEX_M_FAIL_FULL)
        return PROBE_TARGET_REFUSED_FULL;
    return f == CORTEX_M_FAIL_UPPER || f == CORTEX_M_FAIL_NOT_RAM ? PROBE_TARGET_REFUSED_PLACE
                                                                  : PROBE_TARGET_REFUSED;
}

static void units(const struct probe_target *t, unsigned *breakpoints, unsigned *watchpoints)
{
    *breakpoints = t->m.core.breakpoint_count;
    *watchpoints = t->m.core.watchpoint_count;
}

static bool prefers_hardware(const struct probe_target *t, uint32_t address)
{
    (void)t;
    return address < RAM_START;
}

_Static_assert((int)PROBE_TARGET_BREAK_SOFTWARE == (int)CORTEX_M_BREAK_SOFTWARE &&
                   (int)PROBE_TARGET_WATCH_ACCESS == (int)CORTEX_M_WATCH_ACCESS,
               "places are in the driver's order");

const struct probe_target_core_ops probe_target_m_ops = {
    .profile = GDB_PROFILE_M,
    .commands = probe_target_m_commands,
    .open = open_core,
    .close = close_core,
    .take_back = take_back,
    .describe = describe,
    .name = name,
    .status = status,
    .halt = halt,
    .resume = resume,
    .step = step,
    .reset = reset,
    .report = report,
    .name_stop = name_stop,
    .forget = forget,
    .describe_registers = probe_target_m_describe_registers,
    .read_regs = probe_target_m_read_regs,
    .write_reg = probe_target_m_write_reg,
    .read_extra = probe_target_m_read_extra,
    .write_extra = probe_target_m_write_extra,
    .read = read_bytes,
    .write = write_bytes,
    .nothing_at = nothing_at,
    .insert = insert,
    .remove = lift,
    .refusal = refusal,
    .units = units,
    .prefers_hardware = prefers_hardware,
    .report_cores = probe_target_m_report_cores,
    .report_state = probe_target_m_report_state,
    .mode = mode,
};
