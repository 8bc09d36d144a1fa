/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaching to an ARMv7-A core, its locks and power, and accesses to its debug registers. */
#include "drivers/cortex_a/cortex_a.h"

#include <stdio.h>

#include "cortex_a_internal.h"

#define RETRIES 2u

#define UNLOCK_KEY 0xc5acce55u

#define DIDR_VERSION(didr)     ((didr) >> 16 & 0xfu)
#define DIDR_BREAKPOINTS(didr) (((didr) >> 24 & 0xfu) + 1)
#define DIDR_WATCHPOINTS(didr) (((didr) >> 28) + 1)
#define VERSION_FIRST          3u /* v7 */
#define VERSION_LAST           5u /* v7.1 */

#define OSLSR_MODEL 0x9u
#define OSLSR_LOCK  0x2u

#define AUTH_MASK     0x3u /* invasive debug, non-secure; secure is 4 bits above */
#define AUTH_DISABLED 0x2u
#define AUTH_SECURE   4u

/* Entry reason, DbgAck to MDBGen, mode: what is not changed is written back. */
#define DSCR_WRITABLE (0x0000fc3cu | DSCR_MODE_MASK)

static const struct {
    uint16_t part;
    const char *name;
} PARTS[] = {
    {0xc05, "Cortex-A5"},  {0xc07, "Cortex-A7"},  {0xc08, "Cortex-A8"},  {0xc09, "Cortex-A9"},
    {0xc0d, "Cortex-A12"}, {0xc0e, "Cortex-A17"}, {0xc0f, "Cortex-A15"},
};

void cortex_a_init(struct cortex_a *core, struct mem_ap *ap, uint32_t base,
                   struct cortex_a_software *software)
{
    *core = (struct cortex_a){.ap = ap, .base = base, .software = software, .name = ""};
}

int cortex_a_fail(struct cortex_a *core, enum cortex_a_failure failure, uint32_t address, int rc)
{
    core->failure = failure;
    core->failure_address = address;
    return rc;
}

int cortex_a_port(struct cortex_a *core, int rc)
{
    if (rc == 0)
        return 0;
    return cortex_a_fail(core, CORTEX_A_FAIL_PORT, (uint32_t)core->ap->fault_address, rc);
}

bool cortex_a_again(const struct cortex_a *core, int rc, unsigned *tries)
{
    enum debug_failure failure = core->ap->dp->failure;
    return rc == BT_ERR_IO && (failure == DEBUG_FAIL_LINE || failure == DEBUG_FAIL_WAIT) &&
           (*tries)++ < RETRIES;
}

static const char *failure_text(enum cortex_a_failure failure)
{
    static const char *const texts[] = {
        [CORTEX_A_FAIL_NONE] = "no failure",
        [CORTEX_A_FAIL_PORT] = "the access failed",
        [CORTEX_A_FAIL_NO_CORE] = "no debug registers of an ARMv7-A core are here: set 'debug' of "
                                  "[core], or [probe] ap",
        [CORTEX_A_FAIL_POWER] = "the core is powered down: its program, or the chip's start-up "
                                "code, has to switch it on",
        [CORTEX_A_FAIL_LOCKED] = "the OS lock of the core stays closed",
        [CORTEX_A_FAIL_DISABLED] = "the chip does not allow halting debug: its authentication "
                                   "signals are off",
        [CORTEX_A_FAIL_NO_HALT] = "the core does not halt: its clock may be off, or it waits for "
                                  "memory that does not answer",
        [CORTEX_A_FAIL_NO_RUN] = "the core does not run again: another request keeps it halted",
        [CORTEX_A_FAIL_STUCK] = "the core does not end an instruction: it waits for memory that "
                                "does not answer; reset it",
        [CORTEX_A_FAIL_ABORT] = "data abort",
        [CORTEX_A_FAIL_UNDEFINED] = "the core has no such register, or has not switched it on",
        [CORTEX_A_FAIL_RUNNING] = "the core runs: halt it first",
        [CORTEX_A_FAIL_FULL] = "all comparators of the core are in use: remove a breakpoint or "
                               "watchpoint",
        [CORTEX_A_FAIL_NOT_RAM] = "no software breakpoint is possible here: the memory does not "
                                  "keep it",
        [CORTEX_A_FAIL_NO_RESET] = "there is no reset line to the target, and its debug registers "
                                   "do not reset it: 'nsrst' in [probe] names the line of an FTDI "
                                   "adapter",
    };
    return texts[failure];
}

const char *cortex_a_describe(const struct cortex_a *core, char *text, size_t size)
{
    char cause[128];
    if (core->failure == CORTEX_A_FAIL_PORT)
        snprintf(text, size, "no access to 0x%08x: %s", (unsigned)core->failure_address,
                 adiv5_describe(core->ap->dp, cause, sizeof cause));
    else if (core->failure == CORTEX_A_FAIL_ABORT)
        snprintf(text, size, "data abort at 0x%08x: no memory, or the MMU does not allow it",
                 (unsigned)core->failure_address);
    else if (core->failure_address != 0)
        snprintf(text, size, "%s (0x%08x)", failure_text(core->failure),
                 (unsigned)core->failure_address);
    else
        snprintf(text, size, "%s", failure_text(core->failure));
    return text;
}

/* Debug registers. */

int cortex_a_peek(struct cortex_a *core, uint32_t offset, uint32_t *value)
{
    unsigned tries = 0;
    int rc;
    do {
        rc = mem_ap_read32(core->ap, core->base + offset, value);
    } while (cortex_a_again(core, rc, &tries));
    return cortex_a_port(core, rc);
}

int cortex_a_poke(struct cortex_a *core, uint32_t offset, uint32_t value)
{
    unsigned tries = 0;
    int rc;
    do {
        rc = mem_ap_write32(core->ap, core->base + offset, value);
    } while (cortex_a_again(core, rc, &tries));
    return cortex_a_port(core, rc);
}

int cortex_a_read_dscr(struct cortex_a *core)
{
    struct mem_ap_banked read = {.offset = BANK_DSCR};
    unsigned tries = 0;
    int rc;
    do {
        rc = mem_ap_banked(core->ap, core->base + DBG_BANK, &read, 1);
    } while (cortex_a_again(core, rc, &tries));
    core->dscr = rc == 0 ? read.value : core->dscr;
    return cortex_a_port(core, rc);
}

int cortex_a_write_dscr(struct cortex_a *core, uint32_t bits)
{
    struct mem_ap_banked write = {
        .offset = BANK_DSCR, .write = true, .value = bits & DSCR_WRITABLE};
    unsigned tries = 0;
    int rc;
    do {
        rc = mem_ap_banked(core->ap, core->base + DBG_BANK, &write, 1);
    } while (cortex_a_again(core, rc, &tries));
    if (rc == 0)
        core->dscr = (core->dscr & ~DSCR_WRITABLE) | write.value;
    return cortex_a_port(core, rc);
}

int cortex_a_need_halt(struct cortex_a *core)
{
    return core->halted ? 0 : cortex_a_fail(core, CORTEX_A_FAIL_RUNNING, 0, BT_ERR_INVAL);
}

/* Identification, power, locks. */

/* Reading clears the sticky bits. */
int cortex_a_look_power(struct cortex_a *core, bool *powered)
{
    uint32_t prsr = 0;
    int rc = cortex_a_peek(core, DBG_PRSR, &prsr);
    *powered = (prsr & PRSR_POWERED) != 0;
    if (rc == 0 && core->attached && (prsr & (PRSR_STICKY_POWER | PRSR_STICKY_RESET)) != 0)
        core->reset_seen = true;
    return rc;
}

static int open_os_lock(struct cortex_a *core)
{
    uint32_t oslsr = 0;
    int rc = cortex_a_peek(core, DBG_OSLSR, &oslsr);
    bool implemented = (oslsr & OSLSR_MODEL) == 0x1 || (oslsr & OSLSR_MODEL) == 0x8;
    if (rc != 0 || !implemented || (oslsr & OSLSR_LOCK) == 0)
        return rc;
    rc = cortex_a_poke(core, DBG_OSLAR, 0);
    if (rc == 0)
        rc = cortex_a_peek(core, DBG_OSLSR, &oslsr);
    if (rc == 0 && (oslsr & OSLSR_LOCK) != 0)
        return cortex_a_fail(core, CORTEX_A_FAIL_LOCKED, 0, BT_ERR_IO);
    return rc;
}

static int cortex_a_identify(struct cortex_a *core)
{
    uint32_t didr = 0;
    bool powered = false;
    int rc = cortex_a_peek(core, DBG_DIDR, &didr);
    core->debug_version = DIDR_VERSION(didr);
    if (rc == 0 && (core->debug_version < VERSION_FIRST || core->debug_version > VERSION_LAST))
        return cortex_a_fail(core, CORTEX_A_FAIL_NO_CORE, core->base, BT_ERR_FORMAT);
    if (rc == 0)
        rc = cortex_a_look_power(core, &powered);
    if (rc == 0 && !powered)
        return cortex_a_fail(core, CORTEX_A_FAIL_POWER, 0, BT_ERR_IO);
    if (rc == 0)
        rc = cortex_a_poke(core, DBG_LAR, UNLOCK_KEY);
    if (rc == 0)
        rc = open_os_lock(core);
    if (rc == 0)
        rc = cortex_a_peek(core, DBG_MIDR, &core->midr);
    if (rc != 0)
        return rc;
    core->breakpoint_count = DIDR_BREAKPOINTS(didr);
    core->watchpoint_count = DIDR_WATCHPOINTS(didr);
    core->name = "ARMv7-A";
    for (size_t k = 0; k < sizeof PARTS / sizeof *PARTS; k++) {
        if (core->midr >> 24 == 0x41 && (core->midr >> 4 & 0xfff) == PARTS[k].part)
            core->name = PARTS[k].name;
    }
    return 0;
}

/* Both worlds closed: nothing will ever halt. */
static int check_authentication(struct cortex_a *core)
{
    uint32_t auth = 0;
    int rc = cortex_a_peek(core, DBG_AUTH, &auth);
    uint32_t secure = auth >> AUTH_SECURE & AUTH_MASK;
    if (rc == 0 && (auth & AUTH_MASK) == AUTH_DISABLED && (secure == AUTH_DISABLED || secure == 0))
        return cortex_a_fail(core, CORTEX_A_FAIL_DISABLED, 0, BT_ERR_IO);
    return rc;
}

/* What a power-down or a reset takes away: locks, halting debug, comparators. */
int cortex_a_enable(struct cortex_a *core)
{
    int rc = open_os_lock(core);
    if (rc == 0)
        rc = cortex_a_poke(core, DBG_DSCCR, 0);
    if (rc == 0)
        rc = cortex_a_poke(core, DBG_DSMCR, 0);
    if (rc == 0)
        rc = cortex_a_read_dscr(core);
    if (rc == 0)
        rc = cortex_a_write_dscr(core, (core->dscr & ~DSCR_MODE_MASK) | DSCR_HDBGEN);
    return rc == 0 ? cortex_a_restore_breakpoints(core) : rc;
}

int cortex_a_attach(struct cortex_a *core)
{
    core->attached = false;
    core->halted = false;
    core->stepped = false;
    core->cti_on = false;
    core->dirty = 0; /* who knows what became of it */
    int rc = cortex_a_identify(core);
    if (rc == 0)
        rc = check_authentication(core);
    if (rc == 0)
        rc = cortex_a_enable(core);
    core->attached = rc == 0;
    return rc;
}

int cortex_a_detach(struct cortex_a *core)
{
    int results[3];
    results[0] = cortex_a_clear_breakpoints(core);
    results[1] = cortex_a_leave(core);
    results[2] = core->halted ? cortex_a_resume(core) : 0;
    core->attached = false;
    core->halted = false;
    for (unsigned k = 0; k < 3; k++) {
        if (results[k] != 0)
            return results[k];
    }
    return 0;
}

const char *cortex_a_mode_text(uint32_t cpsr, char *text, size_t size)
{
    static const struct {
        uint8_t mode;
        const char *name;
    } modes[] = {
        {0x10, "user"},       {0x11, "FIQ"},       {0x12, "IRQ"},
        {0x13, "supervisor"}, {0x16, "monitor"},   {0x17, "abort"},
        {0x1a, "hyp"},        {0x1b, "undefined"}, {0x1f, "system"},
    };
    const char *name = "unknown";
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
        if (modes[k].mode == (cpsr & CPSR_MODE))
            name = modes[k].name;
    }
    snprintf(text, size, "%s mode, %s%s%s%s", name, (cpsr & CPSR_THUMB) != 0 ? "Thumb" : "ARM",
             (cpsr & CPSR_BIG) != 0 ? ", big-endian data" : "",
             (cpsr & CPSR_IRQ) != 0 ? ", IRQ masked" : "",
             (cpsr & CPSR_FIQ) != 0 ? ", FIQ masked" : "");
    return text;
}
