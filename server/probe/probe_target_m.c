/* SPDX-License-Identifier: BSD-3-Clause */
/* A Cortex-M: registers, words, run control, memory. */
#include "probe_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define M_DOUBLES             16
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

#define CODE_US 50000u /* another master may write it */

/* Features of a target description, GDB manual, "ARM Features". */
#define SYSTEM   "org.gnu.gdb.arm.m-system"
#define SECURITY "org.gnu.gdb.arm.secext"

struct system_register {
    unsigned reg;
    const char *feature;
    const char *type;
    unsigned bits;
};

/* GDB wants msp and psp of the first feature, the four stack pointers of the second, which a closed
 * chip does not have. */
static const struct system_register system_registers[] = {
    {CORTEX_M_MSP, SYSTEM, "data_ptr", 32},       {CORTEX_M_PSP, SYSTEM, "data_ptr", 32},
    {CORTEX_M_PRIMASK, SYSTEM, "uint8", 8},       {CORTEX_M_BASEPRI, SYSTEM, "uint8", 8},
    {CORTEX_M_FAULTMASK, SYSTEM, "uint8", 8},     {CORTEX_M_CONTROL, SYSTEM, "uint8", 8},
    {CORTEX_M_MSPLIM_S, SYSTEM, "data_ptr", 32},  {CORTEX_M_PSPLIM_S, SYSTEM, "data_ptr", 32},
    {CORTEX_M_MSPLIM_NS, SYSTEM, "data_ptr", 32}, {CORTEX_M_PSPLIM_NS, SYSTEM, "data_ptr", 32},
    {CORTEX_M_MSP_NS, SECURITY, "data_ptr", 32},  {CORTEX_M_PSP_NS, SECURITY, "data_ptr", 32},
    {CORTEX_M_MSP_S, SECURITY, "data_ptr", 32},   {CORTEX_M_PSP_S, SECURITY, "data_ptr", 32},
};

static void probe_m_describe_registers(struct probe_target *t)
{
    struct target_register *list = t->registers + TARGET_REG_COUNT;
    bool open = t->m.core.security == CORTEX_M_SECURITY_OPEN;
    unsigned n = 0;
    for (size_t i = 0; i < sizeof system_registers / sizeof *system_registers; i++) {
        const struct system_register *s = &system_registers[i];
        if (!cortex_m_has_register(&t->m.core, s->reg))
            continue;
        t->m.extra[n] = (uint8_t)s->reg;
        const char *feature = open ? s->feature : SYSTEM;
        list[n++] =
            (struct target_register){feature, cortex_m_register_name(s->reg), s->type, s->bits, 0};
    }
    t->extra_count = n;
    if (!cortex_m_has_register(&t->m.core, CORTEX_M_FPSCR))
        return;
    t->extra_count += target_describe_float(list + n, M_DOUBLES);
    for (unsigned i = 0; i < M_DOUBLES; i++)
        t->m.extra[n++] = (uint8_t)(CORTEX_M_S0 + 2 * i);
    t->m.extra[n] = CORTEX_M_FPSCR;
}

static int probe_m_read_regs(struct probe_target *t, unsigned core, enum target_register_set set,
                             struct target_regs *regs)
{
    static const uint8_t stacks[TARGET_STACKS] = {
        [TARGET_STACK_MSP] = CORTEX_M_MSP,       [TARGET_STACK_PSP] = CORTEX_M_PSP,
        [TARGET_STACK_MSP_S] = CORTEX_M_MSP_S,   [TARGET_STACK_PSP_S] = CORTEX_M_PSP_S,
        [TARGET_STACK_MSP_NS] = CORTEX_M_MSP_NS, [TARGET_STACK_PSP_NS] = CORTEX_M_PSP_NS,
    };
    const uint32_t *values = t->m.core.values;
    bool secure, all = set == TARGET_REGISTERS_ALL;
    (void)core;
    int error = cortex_m_load(&t->m.core, all);
    if (error)
        return error;
    for (unsigned i = 0; i < TARGET_REG_COUNT; i++)
        regs->value[i] = values[i];
    regs->known = (1u << TARGET_REG_COUNT) - 1;
    for (unsigned i = 0; i < TARGET_STACKS; i++) {
        regs->stack[i] = values[stacks[i]];
        regs->stack_known |= (uint32_t)cortex_m_has_register(&t->m.core, stacks[i]) << i;
    }
    for (unsigned i = 0; i < t->extra_count; i++) {
        unsigned reg = t->m.extra[i];
        regs->extra[i] = values[reg];
        if (reg >= CORTEX_M_S0)
            regs->extra[i] |= (uint64_t)values[reg + 1] << 32;
        regs->extra_known |= (uint64_t)(all || reg < CORTEX_M_FPSCR) << i;
    }
    if (set != TARGET_REGISTERS_PC && t->m.core.security &&
        cortex_m_is_secure(&t->m.core, &secure) == BT_OK)
        regs->security = secure ? TARGET_SECURITY_SECURE : TARGET_SECURITY_NONSECURE;
    return BT_OK;
}

static int probe_m_write_reg(struct probe_target *t, unsigned core, unsigned reg, uint32_t value)
{
    (void)core;
    return cortex_m_write_register(&t->m.core, reg, value);
}

static int probe_m_write_extra(struct probe_target *t, unsigned core, unsigned index,
                               uint64_t value)
{
    unsigned reg = t->m.extra[index];
    int error = probe_m_write_reg(t, core, reg, (uint32_t)value);
    if (!error && reg >= CORTEX_M_S0)
        error = probe_m_write_reg(t, core, reg + 1, (uint32_t)(value >> 32));
    return error;
}

/* The first seventeen have the same numbers there and here. */
_Static_assert((int)TARGET_REG_PC == (int)CORTEX_M_PC && (int)TARGET_REG_PSR == (int)CORTEX_M_XPSR,
               "register numbers");
_Static_assert(sizeof system_registers / sizeof *system_registers + M_DOUBLES < TARGET_EXTRA_MAX,
               "room for all further registers");

static const char *probe_m_fault_text(struct probe_target *t, char *text, size_t size)
{
    struct cortex_m_exception e;
    text[0] = '\0';
    if (cortex_m_exception(&t->m.core, &e) == BT_OK)
        cortex_m_exception_text(&e, text, size);
    return text;
}

static void probe_m_report_cores(const struct probe_target *t, const struct console *c)
{
    const struct cortex_m *k = &t->m.core;
    console_print(
        c, "core          %s r%" PRIu32 "p%" PRIu32 "%s%s, %u breakpoints, %u watchpoints\n",
        k->name, k->cpuid >> 20 & 15, k->cpuid & 15, k->fpu ? " with FPU" : "",
        k->security ? ", Security Extension" : "", k->breakpoint_count, k->watchpoint_count);
    if (k->security == CORTEX_M_SECURITY_CLOSED)
        console_print(c,
                      "security      only Non-secure code can be debugged: the chip is closed for "
                      "more\n");
}

static void probe_m_report_halted(struct probe_target *t, const struct console *c)
{
    char text[400];
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
    if (probe_target_failed(t, error, c, "not known"))
        return;
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
        error = error ? error : cortex_m_vector_catch(&t->m.core, bits);
        if (probe_target_failed(t, error, c, "not set"))
            return;
        t->m.caught = bits;
    }
    report_catches(t, c);
}

static const struct probe_command probe_m_commands[] = {
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
    if (!error)
        probe_m_describe_registers(t);
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
    else if (cortex_m_vector_catch(&t->m.core, 0) == BT_OK && t->m.core.halted)
        cortex_m_halt(&t->m.core);
}

static int probe_m_take_back(struct probe_target *t)
{
    int error = cortex_m_attach(&t->m.core);
    if (!error)
        error = t->ops->halt(t, 0);
    return error ? error : cortex_m_vector_catch(&t->m.core, t->m.caught);
}

static const char *probe_m_name(const struct probe_target *t, unsigned core)
{
    (void)core;
    return t->m.core.name;
}

static int probe_m_status(struct probe_target *t, unsigned core, struct target_core_status *s)
{
    (void)core;
    return cortex_m_status(&t->m.core, s);
}

static int probe_m_halt(struct probe_target *t, unsigned core)
{
    (void)core;
    t->m.core.limit_ms = probe_target_left_ms(t);
    return cortex_m_halt(&t->m.core);
}

static int probe_m_resume(struct probe_target *t, unsigned core)
{
    (void)core;
    return cortex_m_resume(&t->m.core);
}

static int probe_m_step(struct probe_target *t, unsigned core, bool mask_interrupts,
                        struct target_core_status *s)
{
    (void)core;
    t->m.core.limit_ms = probe_target_left_ms(t);
    int error = cortex_m_step(&t->m.core, mask_interrupts);
    *s = t->m.core.last;
    return error;
}

static int probe_m_reset(struct probe_target *t)
{
    enum cortex_m_reset_kind kind =
        t->config->probe.connect_under_reset ? CORTEX_M_RESET_PIN : CORTEX_M_RESET_SYSTEM;
    memset(t->m.reported, 0, sizeof t->m.reported);
    t->m.core.limit_ms = probe_target_left_ms(t);
    return cortex_m_reset(&t->m.core, kind);
}

static bool probe_m_is_fault(unsigned exception)
{
    return exception >= EXCEPTION_HARDFAULT && exception <= EXCEPTION_SECUREFAULT;
}

/* Vector catch: before the first instruction of a handler, or of the reset. */
static int probe_m_signal(struct probe_target *t, unsigned core)
{
    (void)core;
    unsigned exception =
        cortex_m_load(&t->m.core, false) ? 0 : t->m.core.values[CORTEX_M_XPSR] & 0x1ff;
    if (!probe_m_is_fault(exception))
        return 0;
    return exception == EXCEPTION_USAGEFAULT ? SIGNAL_ILL : SIGNAL_SEGV;
}

/* Once for each fault, not at every step through its handler. */
static void probe_m_report(struct probe_target *t, unsigned core)
{
    struct cortex_m_exception e;
    char text[400];
    (void)core;
    if (cortex_m_load(&t->m.core, false) ||
        !probe_m_is_fault(t->m.core.values[CORTEX_M_XPSR] & 0x1ff)) {
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
    if (cortex_m_load(&t->m.core, false))
        return;
    cortex_m_exception_name(t->m.core.values[CORTEX_M_XPSR] & 0x1ff, name_of, sizeof name_of);
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

static const uint8_t *code_line(struct probe_target *t, uint32_t address)
{
    struct probe_code_line *line = &t->m.code[address / PROBE_CODE_LINE % PROBE_CODE_LINES];
    uint64_t now = probe_target_now_us();
    uint32_t start = address - address % PROBE_CODE_LINE;
    if (line->read_us && line->address == start && now - line->read_us < CODE_US)
        return line->bytes;
    *line = (struct probe_code_line){.address = start};
    if (cortex_m_read_memory(&t->m.core, start, line->bytes, sizeof line->bytes))
        return NULL;
    line->read_us = now;
    return line->bytes;
}

/* At each halt GDB reads the code around the PC, two or four bytes at a time and most of them more
 * than once. The Code region is Normal memory: what lies beside may be read (DDI 0403E.e B3.1). */
static bool read_code(struct probe_target *t, uint32_t address, uint8_t *bytes, size_t len)
{
    const uint8_t *line = NULL;
    if (t->run != PROBE_STANDS || len > sizeof(uint64_t) || address > RAM_START - len)
        return false;
    for (size_t k = 0; k < len; k++, address++) {
        if (!line || address % PROBE_CODE_LINE == 0)
            line = code_line(t, address);
        if (!line)
            return false;
        bytes[k] = line[address % PROBE_CODE_LINE];
    }
    return true;
}

static int probe_m_read_bytes(struct probe_target *t, unsigned core, uint32_t address,
                              uint8_t *bytes, size_t len, bool device)
{
    unsigned size = device ? 4 : probe_m_width(address, len);
    (void)core;
    if (!device && read_code(t, address, bytes, len))
        return BT_OK;
    return size ? cortex_m_read_sized(&t->m.core, address, size, bytes, len / size)
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
        t, &t->why, BT_ERR_IO,
        "the memory at 0x%08x does not take what is written: for flash name an "
        "algorithm in the board file, [flash] algorithm = FILE.FLM",
        (unsigned)address);
}

static int probe_m_write_bytes(struct probe_target *t, unsigned core, uint32_t address,
                               const uint8_t *bytes, size_t len)
{
    unsigned size = probe_m_width(address, len);
    (void)core;
    int error = size ? cortex_m_write_sized(&t->m.core, address, size, bytes, 1)
                     : cortex_m_write_memory(&t->m.core, address, bytes, len);
    if (probe_m_is_device(address))
        t->m.core.known = CORTEX_M_KNOWN_NONE;
    return probe_m_check_written(t, error, address, bytes, len);
}

static bool probe_m_nothing_at(const struct probe_target *t, uint64_t *address)
{
    *address = t->link.ap.fault_address;
    return t->link.dp.failure == DEBUG_FAIL_FAULT;
}

/* Breakpoints and watchpoints. */

static int probe_m_insert(struct probe_target *t, const struct target_breakpoint *bp)
{
    return cortex_m_insert(&t->m.core, bp->type, (uint32_t)bp->address, bp->kind);
}

static int probe_m_lift(struct probe_target *t, const struct target_breakpoint *bp)
{
    return cortex_m_remove(&t->m.core, bp->type, (uint32_t)bp->address, bp->kind);
}

static enum probe_refusal probe_m_refusal(const struct probe_target *t)
{
    enum cortex_m_failure f = t->m.core.failure;
    if (f == CORTEX_M_FAIL_FULL)
        return PROBE_REFUSED_FULL;
    return f == CORTEX_M_FAIL_UPPER || f == CORTEX_M_FAIL_NOT_RAM ? PROBE_REFUSED_PLACE
                                                                  : PROBE_REFUSED;
}

static void probe_m_units(const struct probe_target *t, unsigned *breakpoints,
                          unsigned *watchpoints)
{
    *breakpoints = t->m.core.breakpoint_count;
    *watchpoints = t->m.core.watchpoint_count;
}

const struct probe_core_ops probe_m_ops = {
    .profile = TARGET_PROFILE_M,
    .commands = probe_m_commands,
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
    .signal = probe_m_signal,
    .read_regs = probe_m_read_regs,
    .write_reg = probe_m_write_reg,
    .write_extra = probe_m_write_extra,
    .read = probe_m_read_bytes,
    .write = probe_m_write_bytes,
    .nothing_at = probe_m_nothing_at,
    .insert = probe_m_insert,
    .remove = probe_m_lift,
    .refusal = probe_m_refusal,
    .units = probe_m_units,
    .ram_start = RAM_START,
    .mode = probe_m_mode,
    .report_stop = probe_m_report,
    .report_cores = probe_m_report_cores,
    .report_halted = probe_m_report_halted,
};
