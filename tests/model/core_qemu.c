/* SPDX-License-Identifier: BSD-3-Clause */
#include "core_qemu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PC        15
#define FPSCR     0x21
#define S0        0x40
#define S_LAST    0x5f
#define GDB_D0    26
#define GDB_FPSCR 42
#define SECURITY  0x100 /* the virtual board's number of the security state */

#define C_DEBUGEN  (1u << 0)
#define C_MASKINTS (1u << 3)

/* Exception numbers, and what DEMCR and CFSR say of them. */
#define EXC_HARD_FAULT  3
#define EXC_MEM_MANAGE  4
#define EXC_BUS_FAULT   5
#define EXC_USAGE_FAULT 6
#define VC_MMERR        (1u << 4)
#define VC_NOCPERR      (1u << 5)
#define VC_CHKERR       (1u << 6)
#define VC_STATERR      (1u << 7)
#define VC_BUSERR       (1u << 8)
#define VC_INTERR       (1u << 9)
#define VC_HARDERR      (1u << 10)
#define CFSR            0xe000ed28u
#define CFSR_INTERR     0x00001818u /* MSTKERR, MUNSTKERR, STKERR, UNSTKERR */
#define CFSR_STATERR    0x00070000u /* INVPC, INVSTATE, UNDEFINSTR */
#define CFSR_NOCPERR    0x00080000u
#define CFSR_CHKERR     0x03000000u /* DIVBYZERO, UNALIGNED */

#define STOP_MS 5000
#define STEP_MS 300 /* a WFI sleeps until an interrupt comes; the step must not */

static int get_register(struct core_qemu *c, unsigned reg, uint32_t *value)
{
    char text[QEMU_LINK_TEXT];
    if (qemu_link_command(&c->link, text, "register %x", reg) < 0)
        return -1;
    *value = (uint32_t)strtoul(text, NULL, 16);
    return 0;
}

static int read_bytes(struct core_qemu *c, uint32_t address, uint8_t *bytes, size_t size)
{
    char text[QEMU_LINK_TEXT];
    if (qemu_link_command(&c->link, text, "read %x %zx", address, size) < 0 ||
        strlen(text) != 2 * size)
        return -1;
    for (size_t i = 0; i < size; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return 0;
}

/* Does the debugger want to know of this exception? */
static bool catches(struct core_qemu *c, unsigned exception)
{
    uint8_t b[4] = {0};
    read_bytes(c, CFSR, b, sizeof b);
    uint32_t cfsr =
        (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    if (c->demcr & VC_INTERR && cfsr & CFSR_INTERR)
        return true;
    switch (exception) {
    case EXC_HARD_FAULT:
        return c->demcr & VC_HARDERR;
    case EXC_MEM_MANAGE:
        return c->demcr & VC_MMERR;
    case EXC_BUS_FAULT:
        return c->demcr & VC_BUSERR;
    case EXC_USAGE_FAULT:
        return (c->demcr & VC_STATERR && cfsr & CFSR_STATERR) ||
               (c->demcr & VC_NOCPERR && cfsr & CFSR_NOCPERR) ||
               (c->demcr & VC_CHKERR && cfsr & CFSR_CHKERR);
    default:
        return false;
    }
}

/* QEMU has stopped and says why in `body`. False: for nothing that the debugger asked for. */
static bool stopped(struct core_qemu *c, const char *body, enum core_stop usual)
{
    char text[QEMU_LINK_TEXT];
    qemu_link_command(&c->link, NULL, "flush");
    if (qemu_link_command(&c->link, text, "caught") < 0)
        return true;
    unsigned exception = (unsigned)strtoul(text, NULL, 16);
    if (strstr(body, "watch:")) {
        c->stop = CORE_STOP_WATCHPOINT;
    } else if (exception) {
        if (!catches(c, exception))
            return false;
        c->stop = CORE_STOP_VECTOR;
    } else {
        c->stop = usual;
    }
    return true;
}

static int halt(void *ctx)
{
    struct core_qemu *c = ctx;
    char body[256];
    if (c->stop != CORE_RUNNING)
        return 0;
    if (qemu_link_packet(&c->link, NULL) < 0 ||
        qemu_link_reply(&c->link, body, sizeof body, STOP_MS) <= 0)
        return -1;
    /* It may have met a breakpoint just before; then the request finds it standing. */
    bool asked = strncmp(body, "T02", 3) == 0;
    if (!stopped(c, body, asked ? CORE_STOP_REQUEST : CORE_STOP_BREAKPOINT))
        c->stop = CORE_STOP_REQUEST;
    return 0;
}

static int go(struct core_qemu *c)
{
    c->stop = CORE_RUNNING;
    return qemu_link_packet(&c->link, "c");
}

static int resume(void *ctx)
{
    struct core_qemu *c = ctx;
    return c->stop == CORE_RUNNING ? 0 : go(c);
}

static int state(void *ctx, enum core_stop *stop)
{
    struct core_qemu *c = ctx;
    char body[256];
    int r = 0;
    if (c->stop == CORE_RUNNING) {
        r = qemu_link_reply(&c->link, body, sizeof body, 0);
        if (r > 0 && body[0] == 'T' && !stopped(c, body, CORE_STOP_BREAKPOINT))
            r = go(c);
    }
    *stop = c->stop;
    return r < 0 ? -1 : 0;
}

/* A comparator or a BKPT where the core stands stops it again, before anything has run. */
static bool breaks_here(struct core_qemu *c)
{
    uint8_t code[2] = {0};
    uint32_t pc = 0;
    if (get_register(c, PC, &pc) < 0)
        return false;
    for (unsigned i = 0; i < c->code_breakpoints; i++)
        if (c->code_breakpoint[i] == pc)
            return true;
    return read_bytes(c, pc, code, sizeof code) == 0 && code[1] == 0xbe;
}

static int step(void *ctx)
{
    struct core_qemu *c = ctx;
    char body[256];
    if (breaks_here(c)) {
        c->stop = CORE_STOP_BREAKPOINT;
        return 0;
    }
    /* Bits: on, no interrupts, no timers. */
    if (qemu_link_packet(&c->link, c->masked ? "Qqemu.sstep=7" : "Qqemu.sstep=1") < 0 ||
        qemu_link_reply(&c->link, body, sizeof body, STOP_MS) <= 0 ||
        qemu_link_packet(&c->link, "s") < 0)
        return -1;
    int r = qemu_link_reply(&c->link, body, sizeof body, STEP_MS);
    if (r == 0 && qemu_link_packet(&c->link, NULL) == 0)
        r = qemu_link_reply(&c->link, body, sizeof body, STOP_MS);
    if (r <= 0)
        return -1;
    if (!stopped(c, body, CORE_STOP_REQUEST))
        c->stop = CORE_STOP_REQUEST;
    return 0;
}

static int reset(void *ctx, bool stay)
{
    struct core_qemu *c = ctx;
    char body[256];
    const char *command = "qRcmd,73797374656d5f7265736574"; /* system_reset */
    if (halt(c) < 0 || qemu_link_packet(&c->link, command) < 0 ||
        qemu_link_reply(&c->link, body, sizeof body, STOP_MS) <= 0)
        return -1;
    c->stop = CORE_STOP_VECTOR;
    /* The reset happens after the answer, in front of the next packet: one that, unlike `?`, leaves
     * the breakpoints alone. */
    if (qemu_link_packet(&c->link, "qC") < 0 ||
        qemu_link_reply(&c->link, body, sizeof body, STOP_MS) <= 0)
        return -1;
    return stay ? 0 : go(c);
}

/* S registers are halves of the gdbstub's D registers, which are in memory order. */
static int fp_packet(struct core_qemu *c, unsigned reg, char body[64])
{
    char request[16];
    unsigned number = reg == FPSCR ? GDB_FPSCR : GDB_D0 + (reg - S0) / 2;
    snprintf(request, sizeof request, "p%x", number);
    if (c->stop == CORE_RUNNING || qemu_link_packet(&c->link, request) < 0 ||
        qemu_link_reply(&c->link, body, 64, STOP_MS) <= 0)
        return -1;
    return strlen(body) == (reg == FPSCR ? 8 : 16) ? 0 : -1;
}

static char *fp_digits(char *body, unsigned reg)
{
    return reg != FPSCR && reg & 1 ? body + 8 : body;
}

static int read_fp(struct core_qemu *c, unsigned reg, uint32_t *value)
{
    char body[64], digits[9] = "";
    if (fp_packet(c, reg, body) < 0)
        return -1;
    memcpy(digits, fp_digits(body, reg), 8);
    *value = __builtin_bswap32((uint32_t)strtoul(digits, NULL, 16));
    return 0;
}

static int write_fp(struct core_qemu *c, unsigned reg, uint32_t value)
{
    char body[64], request[80], digits[9];
    if (fp_packet(c, reg, body) < 0)
        return -1;
    snprintf(digits, sizeof digits, "%08x", __builtin_bswap32(value));
    memcpy(fp_digits(body, reg), digits, 8);
    snprintf(request, sizeof request, "P%x=%s", reg == FPSCR ? GDB_FPSCR : GDB_D0 + (reg - S0) / 2,
             body);
    if (qemu_link_packet(&c->link, request) < 0 ||
        qemu_link_reply(&c->link, body, sizeof body, STOP_MS) <= 0)
        return -1;
    return strcmp(body, "OK") == 0 ? 0 : -1;
}

static bool is_fp(unsigned reg)
{
    return reg == FPSCR || (reg >= S0 && reg <= S_LAST);
}

static int read_register(void *ctx, unsigned reg, uint32_t *value)
{
    struct core_qemu *c = ctx;
    return is_fp(reg) ? read_fp(c, reg, value) : get_register(c, reg, value);
}

static int write_register(void *ctx, unsigned reg, uint32_t value)
{
    struct core_qemu *c = ctx;
    if (is_fp(reg))
        return write_fp(c, reg, value);
    return qemu_link_command(&c->link, NULL, "register %x %x", reg, value);
}

/* Memory and comparators. */

static int read_memory(void *ctx, uint32_t address, void *bytes, size_t size)
{
    return read_bytes(ctx, address, bytes, size);
}

static int write_memory(void *ctx, uint32_t address, const void *bytes, size_t size)
{
    struct core_qemu *c = ctx;
    const uint8_t *b = bytes;
    char text[2 * 64 + 1];
    if (size > 64)
        return -1;
    if (address - c->flash.address < c->flash.size)
        return c->flash.silent ? 0 : -1;
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", b[i]);
    return qemu_link_command(&c->link, NULL, "write %x %s", address, text);
}

static void note_code_breakpoint(struct core_qemu *c, uint32_t address, bool on)
{
    unsigned n = sizeof c->code_breakpoint / sizeof c->code_breakpoint[0];
    if (on && c->code_breakpoints < n)
        c->code_breakpoint[c->code_breakpoints++] = address;
    for (unsigned i = 0; !on && i < c->code_breakpoints; i++) {
        if (c->code_breakpoint[i] == address) {
            c->code_breakpoint[i] = c->code_breakpoint[--c->code_breakpoints];
            return;
        }
    }
}

static int code_breakpoint(struct core_qemu *c, uint32_t address, bool on)
{
    note_code_breakpoint(c, address, on);
    return qemu_link_command(&c->link, NULL, "breakpoint x %x 2 %s", address, on ? "on" : "off");
}

static int set_breakpoint(void *ctx, enum core_breakpoint_kind kind, uint32_t address,
                          uint32_t size, bool on)
{
    static const char kinds[] = "xrwa";
    struct core_qemu *c = ctx;
    int r = 0;
    if (kind != CORE_BREAKPOINT_CODE)
        return qemu_link_command(&c->link, NULL, "breakpoint %c %x %x %s", kinds[kind], address,
                                 size, on ? "on" : "off");
    for (uint32_t i = 0; i < size && r == 0; i += 2)
        r = code_breakpoint(c, address + i, on);
    return r;
}

/* Debug and trace control. */

static int set_debug(void *ctx, uint32_t dhcsr, uint32_t demcr)
{
    struct core_qemu *c = ctx;
    uint32_t faults =
        VC_HARDERR | VC_MMERR | VC_BUSERR | VC_STATERR | VC_CHKERR | VC_NOCPERR | VC_INTERR;
    bool enabled = dhcsr & C_DEBUGEN;
    int r = 0;
    c->masked = dhcsr & C_MASKINTS;
    if ((dhcsr ^ c->dhcsr) & C_DEBUGEN)
        r = qemu_link_command(&c->link, NULL, "halting %s", enabled ? "on" : "off");
    if (r == 0 && ((dhcsr ^ c->dhcsr) & C_DEBUGEN || (demcr ^ c->demcr) & faults))
        r = qemu_link_command(&c->link, NULL, "catch %x", enabled && demcr & faults ? 0x78 : 0);
    c->dhcsr = dhcsr;
    c->demcr = demcr;
    return r;
}

static int set_ranges(struct core_qemu *c, const char *what, const struct core_trace_range *ranges,
                      unsigned count)
{
    int r = qemu_link_command(&c->link, NULL, "%s none", what);
    for (unsigned i = 0; i < count && r == 0; i++)
        r = qemu_link_command(&c->link, NULL, "%s 0x%x-0x%x", what, ranges[i].first,
                              ranges[i].last);
    return r;
}

/* Settings of the trace unit, which is off. */
static int program_unit(struct core_qemu *c, const struct core_trace *t)
{
    if (c->mtb) /* it has no settings */
        return 0;
    if (!c->etmv4)
        return qemu_link_command(&c->link, NULL, "etmcr %x", t->etmcr);
    if (set_ranges(c, "include", t->v4.include, t->v4.includes) < 0 ||
        set_ranges(c, "exclude", t->v4.exclude, t->v4.excludes) < 0)
        return -1;
    return qemu_link_command(&c->link, NULL, "etmv4 %x %x %x", t->v4.configr, t->v4.ccctlr,
                             t->v4.syncpr);
}

static int set_trace(void *ctx, const struct core_trace *t)
{
    struct core_qemu *c = ctx;
    int r = 0;
    if (c->trace.etm && (!t->etm || t->etmcr != c->trace.etmcr ||
                         memcmp(&t->v4, &c->trace.v4, sizeof t->v4) != 0)) {
        r = qemu_link_command(&c->link, NULL, "off");
        if (r == 0)
            r = qemu_link_command(&c->link, NULL, "flush");
        c->trace.etm = false;
    }
    if (r == 0 && (t->rate != c->trace.rate || t->stall != c->trace.stall))
        r = qemu_link_command(&c->link, NULL, "pace %llu%s", (unsigned long long)t->rate,
                              t->stall ? " stall" : "");
    if (r == 0 && t->etm && !c->trace.etm)
        r = program_unit(c, t);
    if (r == 0 && t->etm && !c->trace.etm)
        r = qemu_link_command(&c->link, NULL, "on");
    if (r == 0)
        c->trace = *t;
    return r;
}

static int secure(void *ctx)
{
    uint32_t value;
    return get_register(ctx, SECURITY, &value) < 0 ? -1 : (int)value;
}

static size_t take(struct core_qemu *c, struct trace_bytes *from, uint8_t *bytes, size_t size)
{
    qemu_link_read_trace(&c->link);
    if (size > from->size)
        size = from->size;
    if (size == 0)
        return 0;
    memcpy(bytes, from->data, size);
    memmove(from->data, from->data + size, from->size - size);
    from->size -= size;
    return size;
}

static size_t trace(void *ctx, uint8_t *bytes, size_t size)
{
    struct core_qemu *c = ctx;
    return take(c, &c->link.source[0], bytes, size);
}

static size_t instrumentation(void *ctx, uint8_t *bytes, size_t size)
{
    struct core_qemu *c = ctx;
    return take(c, &c->link.source[1], bytes, size);
}

int core_qemu_start(struct core_qemu *c, const struct qemu_link_options *o, char *message,
                    size_t size)
{
    char body[256];
    memset(c, 0, sizeof *c);
    c->etmv4 = o->etmv4;
    c->mtb = o->mtb;
    if (qemu_link_start(&c->link, o, message, size) < 0)
        return -1;
    /* The gdbstub answers `p` and `P` only to who has read its description. */
    if (qemu_link_packet(&c->link, "qXfer:features:read:target.xml:0,10") < 0 ||
        qemu_link_reply(&c->link, body, sizeof body, STOP_MS) <= 0 || go(c) < 0) {
        snprintf(message, size, "QEMU's gdbstub does not answer");
        return -1;
    }
    return 0;
}

void core_qemu_stop(struct core_qemu *c)
{
    if (halt(c) == 0)
        qemu_link_packet(&c->link, "qRcmd,71756974"); /* quit */
    qemu_link_stop(&c->link);
}

struct core_model core_qemu_model(struct core_qemu *c)
{
    static const struct core_model_ops ops = {
        .halt = halt,
        .resume = resume,
        .step = step,
        .reset = reset,
        .state = state,
        .read_register = read_register,
        .write_register = write_register,
        .read_memory = read_memory,
        .write_memory = write_memory,
        .set_breakpoint = set_breakpoint,
        .trace = trace,
        .set_trace = set_trace,
        .instrumentation = instrumentation,
        .set_debug = set_debug,
        .secure = secure,
        .owns_system = true,
    };
    return (struct core_model){&ops, c};
}
