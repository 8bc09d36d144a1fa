/* SPDX-License-Identifier: BSD-3-Clause */
/* A Cortex-M: its debug registers, its registers, and what the exception that it is in says.
 * DDI 0403E.e chapter C1. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "drivers/cortex_m/cortex_m.h"

#include "cortex_m_internal.h"

static const char *failure_text(enum cortex_m_failure failure)
{
    static const char *const texts[] = {
        [CORTEX_M_FAIL_NONE] = "no failure",
        [CORTEX_M_FAIL_PORT] = "the access failed",
        [CORTEX_M_FAIL_NO_CORE] = "no Cortex-M answers behind this access port: is it the right "
                                  "one, is it powered?",
        [CORTEX_M_FAIL_DISABLED] = "the core does not let itself be debugged: the part is locked",
        [CORTEX_M_FAIL_NO_HALT] = "reset it by nRESET, or connect under reset",
        [CORTEX_M_FAIL_NO_RESET] = "the reset did not work: the core did not come out of it as "
                                   "asked",
        [CORTEX_M_FAIL_REGISTER] = "the core does not hand over its registers: reset it",
        [CORTEX_M_FAIL_RUNNING] = "the core runs: halt it first",
        [CORTEX_M_FAIL_FULL] = "all comparators of the core are in use: remove a breakpoint or "
                               "watchpoint, or watch less data by trace",
        [CORTEX_M_FAIL_UPPER] = "hardware breakpoints of this core reach only addresses below "
                                "0x20000000",
        [CORTEX_M_FAIL_NOT_RAM] = "no software breakpoint is possible here: the memory does not "
                                  "keep it",
        [CORTEX_M_FAIL_NO_PIN] = "the probe does not drive nRESET",
        [CORTEX_M_FAIL_SECURE] = "the core does not halt: it runs Secure code, which this chip "
                                 "does not let debug; try again, or set a breakpoint in Non-secure "
                                 "code",
    };
    return texts[failure];
}

const char *cortex_m_describe(const struct cortex_m *core, char *text, size_t size)
{
    char cause[128];
    if (core->failure == CORTEX_M_FAIL_PORT)
        snprintf(text, size, "no access to 0x%08x: %s", (unsigned)core->failure_address,
                 adiv5_describe(core->ap->dp, cause, sizeof cause));
    else if (core->failure == CORTEX_M_FAIL_NO_HALT)
        snprintf(text, size,
                 "the core does not halt: DHCSR.C_HALT was set for %u ms, and S_HALT stays 0: %s",
                 core->limit_ms, failure_text(core->failure));
    else if (core->failure == CORTEX_M_FAIL_NO_RESET)
        snprintf(text, size, "%s within %u ms", failure_text(core->failure), core->limit_ms);
    else if (core->failure_address != 0)
        snprintf(text, size, "%s (0x%08x)", failure_text(core->failure),
                 (unsigned)core->failure_address);
    else
        snprintf(text, size, "%s", failure_text(core->failure));
    return text;
}

/* Registers of the system control space. */

static int cortex_m_bank(struct cortex_m *core, uint32_t address, struct mem_ap_banked *list,
                         size_t count, bool repeat)
{
    unsigned tries = 0;
    int error;
    do {
        error = mem_ap_banked(core->ap, address & ~15u, list, count);
    } while (repeat && mem_ap_again(core->ap, error, &tries));
    return cortex_m_port(core, error);
}

int cortex_m_peek(struct cortex_m *core, uint32_t address, uint32_t *value)
{
    struct mem_ap_banked read = {.offset = address & 15};
    int error = cortex_m_bank(core, address, &read, 1, true);
    *value = error == 0 ? read.value : *value;
    return error;
}

int cortex_m_poke(struct cortex_m *core, uint32_t address, uint32_t value)
{
    struct mem_ap_banked write = {.offset = address & 15, .write = true, .value = value};
    return cortex_m_bank(core, address, &write, 1, true);
}

int cortex_m_read_dhcsr(struct cortex_m *core, uint32_t *value)
{
    *value = 0;
    int error = cortex_m_peek(core, SCS_DHCSR, value);
    if (error == 0 && (*value & S_RESET_ST) != 0)
        core->reset_seen = true;
    if (error == 0 && core->security)
        core->security = *value & S_SDE ? CORTEX_M_SECURITY_OPEN : CORTEX_M_SECURITY_CLOSED;
    return error;
}

int cortex_m_write_dhcsr(struct cortex_m *core, uint32_t bits)
{
    int error = cortex_m_poke(core, SCS_DHCSR, DHCSR_KEY | bits);
    core->mask = error == 0 ? cortex_m_mask_of(bits) : CORTEX_M_MASK_UNSURE;
    return error;
}

int cortex_m_write_step(struct cortex_m *core, uint32_t bits, uint32_t *dhcsr)
{
    struct mem_ap_banked list[] = {
        {.offset = BANK_DHCSR, .write = true, .value = DHCSR_KEY | C_STEP | bits},
        {.offset = BANK_DHCSR}};
    /* A step that is taken twice is one too many. */
    int error = cortex_m_bank(core, SCS_DHCSR, list, 2, false);
    core->mask = error == 0 ? cortex_m_mask_of(bits) : CORTEX_M_MASK_UNSURE;
    *dhcsr = list[1].value;
    if (error == 0 && (*dhcsr & S_RESET_ST) != 0)
        core->reset_seen = true;
    return error;
}

int cortex_m_write_demcr(struct cortex_m *core, uint32_t more)
{
    uint32_t before = 0;
    int error = cortex_m_peek(core, SCS_DEMCR, &before);
    uint32_t wanted = (before & ~DEMCR_CATCHES) | core->catch | more | DEMCR_TRCENA;
    return error != 0 || wanted == before ? error : cortex_m_poke(core, SCS_DEMCR, wanted);
}

#define READY_LIMIT_US 100000u
#define READY_SLEEP_US 100u
#define MAX_READY      4u /* reads of DHCSR in one list */

#define SELECT_SPECIAL 20u /* CONTROL, FAULTMASK, BASEPRI, PRIMASK, a byte each */
#define SELECT_FPSCR   0x21u
#define SELECT_S0      0x40u

/* DCRSR selectors from CORTEX_M_XPSR to CORTEX_M_FPSCR; below and above they count on. */
static const struct {
    const char *name;
    uint8_t selector;
    uint8_t shift; /* of its byte, for those of SELECT_SPECIAL */
} SPECIAL[] = {
    {"xpsr", 16, 0},
    {"msp", 17, 0},
    {"psp", 18, 0},
    {"primask", SELECT_SPECIAL, 0},
    {"basepri", SELECT_SPECIAL, 8},
    {"faultmask", SELECT_SPECIAL, 16},
    {"control", SELECT_SPECIAL, 24},
    {"msp_ns", 0x18, 0},
    {"psp_ns", 0x19, 0},
    {"msp_s", 0x1a, 0},
    {"psp_s", 0x1b, 0},
    {"msplim_s", 0x1c, 0},
    {"psplim_s", 0x1d, 0},
    {"msplim_ns", 0x1e, 0},
    {"psplim_ns", 0x1f, 0},
    {"fpscr", SELECT_FPSCR, 0},
};

_Static_assert(CORTEX_M_XPSR + sizeof SPECIAL / sizeof *SPECIAL == CORTEX_M_S0,
               "one line for each register between r15 and s0");

static unsigned cortex_m_selector(unsigned reg)
{
    if (reg < CORTEX_M_XPSR)
        return reg;
    return reg < CORTEX_M_S0 ? SPECIAL[reg - CORTEX_M_XPSR].selector
                             : SELECT_S0 + (reg - CORTEX_M_S0);
}

bool cortex_m_has_register(const struct cortex_m *core, unsigned reg)
{
    if (reg >= CORTEX_M_REGISTERS)
        return false;
    if (reg >= CORTEX_M_FPSCR)
        return core->fpu;
    if (reg == CORTEX_M_MSPLIM_NS || reg == CORTEX_M_PSPLIM_NS)
        return core->arch == CORTEX_M_V8M_MAIN;
    if (reg >= CORTEX_M_MSP_S)
        return core->security == CORTEX_M_SECURITY_OPEN; /* they would read as 0 */
    if (reg >= CORTEX_M_MSP_NS)
        return core->security;
    if (reg == CORTEX_M_BASEPRI || reg == CORTEX_M_FAULTMASK)
        return cortex_m_mainline(core);
    return true;
}

const char *cortex_m_register_name(unsigned reg)
{
    static const char *const CORE[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                       "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"};
    static const char SINGLE[32][4] = {"s0",  "s1",  "s2",  "s3",  "s4",  "s5",  "s6",  "s7",
                                       "s8",  "s9",  "s10", "s11", "s12", "s13", "s14", "s15",
                                       "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23",
                                       "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31"};
    if (reg < CORTEX_M_XPSR)
        return CORE[reg];
    if (reg < CORTEX_M_S0)
        return SPECIAL[reg - CORTEX_M_XPSR].name;
    return reg < CORTEX_M_REGISTERS ? SINGLE[reg - CORTEX_M_S0] : "?";
}

static int wait_ready(struct cortex_m *core, uint32_t dhcsr)
{
    uint64_t begin = cortex_m_now(core);
    while ((dhcsr & S_REGRDY) == 0) {
        bool late = cortex_m_now(core) - begin > READY_LIMIT_US;
        int error = cortex_m_read_dhcsr(core, &dhcsr);
        if (error != 0)
            return error;
        if ((dhcsr & S_HALT) == 0) {
            core->halted = false;
            return cortex_m_need_halt(core);
        }
        if ((dhcsr & S_REGRDY) == 0 && late)
            return cortex_m_fail(core, CORTEX_M_FAIL_REGISTER, 0, BT_ERR_IO);
        if ((dhcsr & S_REGRDY) == 0)
            cortex_m_sleep(core, READY_SLEEP_US);
    }
    return 0;
}

static void note_reset(struct cortex_m *core, uint32_t dhcsr)
{
    if ((dhcsr & S_RESET_ST) != 0)
        core->reset_seen = true;
}

static int read_selector(struct cortex_m *core, unsigned select, uint32_t *value)
{
    struct mem_ap_banked list[] = {{.offset = BANK_DCRSR, .write = true, .value = select},
                                   {.offset = BANK_DHCSR}};
    int error = cortex_m_bank(core, SCS_DHCSR, list, 2, true);
    if (error != 0)
        return error;
    note_reset(core, list[1].value);
    error = wait_ready(core, list[1].value);
    struct mem_ap_banked data = {.offset = BANK_DCRDR};
    if (error == 0)
        error = cortex_m_bank(core, SCS_DHCSR, &data, 1, true);
    *value = data.value;
    return error;
}

static int write_selector(struct cortex_m *core, unsigned select, uint32_t value)
{
    struct mem_ap_banked list[] = {
        {.offset = BANK_DCRDR, .write = true, .value = value},
        {.offset = BANK_DCRSR, .write = true, .value = select | DCRSR_WRITE},
        {.offset = BANK_DHCSR}};
    int error = cortex_m_bank(core, SCS_DHCSR, list, 3, true);
    if (error != 0)
        return error;
    note_reset(core, list[2].value);
    return wait_ready(core, list[2].value);
}

static bool in_special(unsigned reg)
{
    return reg >= CORTEX_M_PRIMASK && reg <= CORTEX_M_CONTROL;
}

int cortex_m_read_register(struct cortex_m *core, unsigned reg, uint32_t *value)
{
    *value = 0;
    if (!cortex_m_has_register(core, reg))
        return BT_ERR_UNSUPPORTED;
    int error = cortex_m_need_halt(core);
    if (error == 0)
        error = read_selector(core, cortex_m_selector(reg), value);
    if (in_special(reg))
        *value = *value >> SPECIAL[reg - CORTEX_M_XPSR].shift & 0xff;
    return error;
}

int cortex_m_write_register(struct cortex_m *core, unsigned reg, uint32_t value)
{
    if (!cortex_m_has_register(core, reg))
        return BT_ERR_UNSUPPORTED;
    int error = cortex_m_need_halt(core);
    core->known = CORTEX_M_KNOWN_NONE; /* sp is msp or psp */
    if (error == 0 && in_special(reg)) {
        unsigned shift = SPECIAL[reg - CORTEX_M_XPSR].shift;
        uint32_t all;
        error = read_selector(core, SELECT_SPECIAL, &all);
        value = (all & ~(0xffu << shift)) | (value & 0xff) << shift;
    }
    if (reg == CORTEX_M_PC)
        value &= ~1u;
    return error == 0 ? write_selector(core, cortex_m_selector(reg), value) : error;
}

/* The selectors in one round trip, each with some looks at DHCSR; *ready: the last look was good.
 */
static int read_list(struct cortex_m *core, const uint8_t *selectors, size_t count, uint32_t *data,
                     bool *ready)
{
    struct mem_ap_banked list[MEM_AP_BANKED];
    size_t n = 0;
    for (size_t k = 0; k < count; k++) {
        list[n++] =
            (struct mem_ap_banked){.offset = BANK_DCRSR, .write = true, .value = selectors[k]};
        for (unsigned look = 0; look < core->ready_reads; look++)
            list[n++] = (struct mem_ap_banked){.offset = BANK_DHCSR};
        list[n++] = (struct mem_ap_banked){.offset = BANK_DCRDR};
    }
    int error = mem_ap_banked(core->ap, SCS_DHCSR, list, n);
    *ready = true;
    for (size_t k = 0; error == 0 && k < count; k++) {
        const struct mem_ap_banked *last = &list[(k + 1) * (core->ready_reads + 2) - 1];
        *ready = *ready && (last[-1].value & S_REGRDY) != 0;
        core->halted = core->halted && (last[-1].value & S_HALT) != 0;
        for (unsigned look = 1; look <= core->ready_reads; look++)
            note_reset(core, last[-(int)look].value);
        data[k] = last->value;
    }
    return error == 0 ? cortex_m_need_halt(core) : error;
}

static int read_selectors(struct cortex_m *core, const uint8_t *selectors, size_t count,
                          uint32_t *data)
{
    unsigned tries = 0;
    int error = 0;
    while (error == 0 && count > 0) {
        size_t most = MEM_AP_BANKED / (core->ready_reads + 2);
        size_t n = count < most ? count : most;
        bool ready = false;
        error = read_list(core, selectors, n, data, &ready);
        if (core->halted && mem_ap_again(core->ap, error, &tries)) {
            error = 0;
            continue;
        }
        if (error == 0 && !ready && core->ready_reads < MAX_READY) {
            core->ready_reads++;
            continue;
        }
        if (core->halted)
            (void)cortex_m_port(core, error);
        for (size_t k = 0; error == 0 && !ready && k < n; k++)
            error = read_selector(core, selectors[k], &data[k]);
        selectors += n;
        data += n;
        count -= n;
    }
    return error;
}

int cortex_m_load(struct cortex_m *core, bool all)
{
    enum cortex_m_known wanted = all ? CORTEX_M_KNOWN_ALL : CORTEX_M_KNOWN_CORE;
    unsigned first = core->known == CORTEX_M_KNOWN_CORE ? CORTEX_M_FPSCR : 0;
    unsigned end = all ? CORTEX_M_REGISTERS : CORTEX_M_FPSCR;
    uint8_t selectors[CORTEX_M_REGISTERS], owners[CORTEX_M_REGISTERS];
    uint32_t data[CORTEX_M_REGISTERS], *values = core->values;
    size_t n = 0;
    int error = cortex_m_need_halt(core);
    if (error != 0 || core->known >= wanted)
        return error;
    for (unsigned reg = first; reg < end; reg++) {
        values[reg] = 0;
        if (!cortex_m_has_register(core, reg) || (in_special(reg) && reg != CORTEX_M_PRIMASK))
            continue;
        owners[n] = (uint8_t)reg;
        selectors[n++] = (uint8_t)cortex_m_selector(reg);
    }
    error = read_selectors(core, selectors, n, data);
    if (error != 0)
        return error;
    for (size_t k = 0; k < n; k++)
        values[owners[k]] = data[k];
    uint32_t special = values[CORTEX_M_PRIMASK];
    for (unsigned reg = CORTEX_M_PRIMASK; first == 0 && reg <= CORTEX_M_CONTROL; reg++) {
        if (cortex_m_has_register(core, reg))
            values[reg] = special >> SPECIAL[reg - CORTEX_M_XPSR].shift & 0xff;
    }
    core->known = wanted;
    return 0;
}

int cortex_m_read_all(struct cortex_m *core, uint32_t values[CORTEX_M_REGISTERS])
{
    core->known = CORTEX_M_KNOWN_NONE;
    int error = cortex_m_load(core, true);
    memcpy(values, core->values, sizeof core->values);
    return error;
}

#define EXCEPTION_INTERRUPTS 16u
#define IPSR_MASK            0x1ffu

#define MMFAR_VALID 0x00000080u
#define BFAR_VALID  0x00008000u
#define SFAR_VALID  0x00000040u
#define HFSR_VECTOR 0x00000002u
#define HFSR_DEBUG  0x80000000u
#define FRAME_PC    24u
#define RETURN_MASK 0xff000000u
#define RETURN_PSP  0x4u

struct words {
    uint32_t bit;
    uint32_t valid; /* bit that says that the address register belongs to it; 0: it has none */
    const char *text;
};

static const struct words CFSR_WORDS[] = {
    {1u << 0, 0, "an instruction was fetched where none may run"},
    {1u << 1, MMFAR_VALID, "an access was not allowed by the memory protection"},
    {1u << 3, 0, "the return from an exception could not read the stack (memory protection)"},
    {1u << 4, 0, "the entry to an exception could not write the stack (memory protection)"},
    {1u << 5, 0, "floating-point state could not be saved (memory protection)"},
    {1u << 8, 0, "an instruction could not be fetched (bus error)"},
    {1u << 9, BFAR_VALID, "precise data bus error: an access was refused by the bus"},
    {1u << 10, BFAR_VALID,
     "imprecise data bus error: a write some instructions before was refused by the bus"},
    {1u << 11, 0, "the return from an exception could not read the stack (bus error)"},
    {1u << 12, 0, "the entry to an exception could not write the stack (bus error)"},
    {1u << 13, 0, "floating-point state could not be saved (bus error)"},
    {1u << 16, 0, "an undefined instruction was reached"},
    {1u << 17, 0, "a branch left Thumb state: bit 0 of its target was clear"},
    {1u << 18, 0, "an exception return had an invalid value"},
    {1u << 19, 0, "a coprocessor or the FPU was used while it was off"},
    {1u << 20, 0, "the stack pointer went below its limit"},
    {1u << 24, 0, "an access was not aligned"},
    {1u << 25, 0, "a number was divided by zero"},
};

static const struct words SFSR_WORDS[] = {
    {1u << 0, 0, "Non-secure code entered Secure code other than at an SG instruction"},
    {1u << 1, 0, "the integrity signature of the stack frame was wrong"},
    {1u << 2, 0, "an exception return had an invalid value for its security state"},
    {1u << 3, SFAR_VALID, "Non-secure code accessed Secure memory"},
    {1u << 4, 0, "a branch changed from Secure to Non-secure without being marked for it"},
    {1u << 5, 0, "Secure floating-point state could not be saved"},
    {1u << 7, 0, "Secure floating-point state was lost"},
};

/* The stacked PC, as long as LR still is what the exception entry left there. */
static void find_frame(struct cortex_m *core, struct cortex_m_exception *e)
{
    uint32_t lr = 0;
    uint32_t sp = 0;
    int error = cortex_m_read_register(core, CORTEX_M_LR, &lr);
    if (error != 0 || (lr & RETURN_MASK) != RETURN_MASK || lr == UINT32_MAX)
        return;
    error = cortex_m_read_register(core, (lr & RETURN_PSP) != 0 ? CORTEX_M_PSP : CORTEX_M_MSP, &sp);
    if (error == 0 && sp % 4 == 0 && mem_ap_read32(core->ap, sp + FRAME_PC, &e->interrupted) == 0)
        e->frame_known = true;
}

static int read_faults(struct cortex_m *core, struct cortex_m_exception *e)
{
    uint32_t words[5] = {0}; /* CFSR, HFSR, DFSR, MMFAR, BFAR */
    int error = 0;
    if (cortex_m_mainline(core))
        error = cortex_m_port(core, mem_ap_read_words(core->ap, SCS_CFSR, words, 5));
    e->cfsr = words[0];
    e->hfsr = words[1];
    e->mmfar = words[3];
    e->bfar = words[4];
    if (error == 0 && core->security && core->arch == CORTEX_M_V8M_MAIN) {
        error = cortex_m_port(core, mem_ap_read_words(core->ap, SCS_SFSR, words, 2));
        e->sfsr = words[0];
        e->sfar = words[1];
    }
    return error;
}

int cortex_m_exception(struct cortex_m *core, struct cortex_m_exception *e)
{
    uint32_t xpsr = 0;
    uint32_t dhcsr = 0;
    *e = (struct cortex_m_exception){0};
    int error = cortex_m_read_register(core, CORTEX_M_XPSR, &xpsr);
    e->number = xpsr & IPSR_MASK;
    if (error == 0)
        error = cortex_m_read_dhcsr(core, &dhcsr);
    e->lockup = (dhcsr & S_LOCKUP) != 0;
    bool fault =
        e->lockup || (e->number >= CORTEX_M_HARDFAULT && e->number <= CORTEX_M_SECUREFAULT);
    if (error == 0 && fault)
        error = read_faults(core, e);
    if (error == 0 && fault)
        find_frame(core, e);
    return error;
}

const char *cortex_m_exception_name(unsigned number, char *text, size_t size)
{
    static const char *const NAMES[EXCEPTION_INTERRUPTS] = {
        [0] = "thread mode", [1] = "Reset",         [2] = "NMI",        [3] = "HardFault",
        [4] = "MemManage",   [5] = "BusFault",      [6] = "UsageFault", [7] = "SecureFault",
        [11] = "SVCall",     [12] = "DebugMonitor", [14] = "PendSV",    [15] = "SysTick"};
    if (number >= EXCEPTION_INTERRUPTS)
        snprintf(text, size, "interrupt %u", number - EXCEPTION_INTERRUPTS);
    else if (NAMES[number])
        snprintf(text, size, "%s", NAMES[number]);
    else
        snprintf(text, size, "exception %u", number);
    return text;
}

struct line {
    char *text;
    size_t size;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = line->used < line->size
                ? vsnprintf(line->text + line->used, line->size - line->used, format, args)
                : 0;
    va_end(args);
    line->used += n > 0 ? (size_t)n : 0;
}

/* What is set in `status`. Returns whether anything is. */
static bool add_causes(struct line *line, uint32_t status, uint32_t mask, const struct words *words,
                       size_t count, uint32_t address, bool any)
{
    for (size_t k = 0; k < count; k++) {
        if ((status & mask & words[k].bit) == 0)
            continue;
        add(line, "%s%s", any ? ", " : ": ", words[k].text);
        if (words[k].valid != 0 && (status & words[k].valid) != 0)
            add(line, " (0x%08x)", (unsigned)address);
        any = true;
    }
    return any;
}

const char *cortex_m_exception_text(const struct cortex_m_exception *e, char *text, size_t size)
{
    struct line line = {.text = text, .size = size};
    char name[32];
    bool any = false;
    if (size > 0)
        text[0] = '\0';
    if (e->number == 0 && !e->lockup)
        return text;
    if (e->lockup)
        add(&line, "lockup by a fault in a fault handler, in ");
    add(&line, "%s", cortex_m_exception_name(e->number, name, sizeof name));
    if ((e->hfsr & HFSR_VECTOR) != 0) {
        add(&line, ": an exception vector could not be read");
        any = true;
    }
    const size_t cfsr_count = sizeof CFSR_WORDS / sizeof *CFSR_WORDS;
    any = add_causes(&line, e->cfsr, 0x000000ffu, CFSR_WORDS, cfsr_count, e->mmfar, any);
    any = add_causes(&line, e->cfsr, 0xffffff00u, CFSR_WORDS, cfsr_count, e->bfar, any);
    any = add_causes(&line, e->sfsr, UINT32_MAX, SFSR_WORDS, sizeof SFSR_WORDS / sizeof *SFSR_WORDS,
                     e->sfar, any);
    if (!any && (e->hfsr & HFSR_DEBUG) != 0)
        add(&line, ": a BKPT instruction was reached without a debugger");
    if (e->frame_known)
        add(&line, "; at 0x%08x", (unsigned)e->interrupted);
    return text;
}
