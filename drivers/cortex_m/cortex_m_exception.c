/* SPDX-License-Identifier: BSD-3-Clause */
/* The exception in which a Cortex-M is, in words. */
#include <stdarg.h>
#include <stdio.h>

#include "cortex_m_internal.h"

#define EXCEPTION_HARDFAULT  3u
#define EXCEPTION_SECURE     7u
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
    int rc = cortex_m_read_register(core, CORTEX_M_LR, &lr);
    if (rc != 0 || (lr & RETURN_MASK) != RETURN_MASK || lr == UINT32_MAX)
        return;
    rc = cortex_m_read_register(core, (lr & RETURN_PSP) != 0 ? CORTEX_M_PSP : CORTEX_M_MSP, &sp);
    if (rc == 0 && sp % 4 == 0 && mem_ap_read32(core->ap, sp + FRAME_PC, &e->interrupted) == 0)
        e->frame_known = true;
}

static int read_faults(struct cortex_m *core, struct cortex_m_exception *e)
{
    uint32_t words[5] = {0}; /* CFSR, HFSR, DFSR, MMFAR, BFAR */
    int rc = 0;
    if (cortex_m_mainline(core))
        rc = cortex_m_port(core, mem_ap_read_words(core->ap, SCS_CFSR, words, 5));
    e->cfsr = words[0];
    e->hfsr = words[1];
    e->mmfar = words[3];
    e->bfar = words[4];
    if (rc == 0 && core->security && core->arch == CORTEX_M_V8M_MAIN) {
        rc = cortex_m_port(core, mem_ap_read_words(core->ap, SCS_SFSR, words, 2));
        e->sfsr = words[0];
        e->sfar = words[1];
    }
    return rc;
}

int cortex_m_exception(struct cortex_m *core, struct cortex_m_exception *e)
{
    uint32_t xpsr = 0;
    uint32_t dhcsr = 0;
    *e = (struct cortex_m_exception){0};
    int rc = cortex_m_read_register(core, CORTEX_M_XPSR, &xpsr);
    e->number = xpsr & IPSR_MASK;
    if (rc == 0)
        rc = cortex_m_read_dhcsr(core, &dhcsr);
    e->lockup = (dhcsr & S_LOCKUP) != 0;
    bool fault = e->lockup || (e->number >= EXCEPTION_HARDFAULT && e->number <= EXCEPTION_SECURE);
    if (rc == 0 && fault)
        rc = read_faults(core, e);
    if (rc == 0 && fault)
        find_frame(core, e);
    return rc;
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
