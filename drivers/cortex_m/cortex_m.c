/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaching to a Cortex-M, and accesses to its debug registers. */
#include "drivers/cortex_m/cortex_m.h"

#include <stdio.h>

#include "cortex_m_internal.h"

#define RETRIES 2u

#define SCS_ID_PFR1 0xe000ed44u
#define SCS_CLIDR   0xe000ed78u
#define SCS_MVFR0   0xe000ef40u
#define SCS_DEVARCH 0xe000efbcu

#define CPUID_ARCH(cpuid)  ((cpuid) >> 16 & 0xfu)
#define CPUID_PART(cpuid)  ((cpuid) >> 4 & 0xfffu)
#define CPUID_ARM          0x41u
#define ARCH_BASELINE      0xcu
#define ARCH_MAINLINE      0xfu
#define PFR1_SECURITY      0x000000f0u
#define CLIDR_INSTRUCTIONS 0x1u
#define DEVARCH_PRESENT    0x00100000u
#define ARCHID_V8M         0x2a04u

static const struct {
    uint16_t part;
    uint8_t arch;
    const char *name;
} PARTS[] = {
    {0xc20, CORTEX_M_V6M, "Cortex-M0"},
    {0xc21, CORTEX_M_V6M, "Cortex-M1"},
    {0xc60, CORTEX_M_V6M, "Cortex-M0+"},
    {0xc23, CORTEX_M_V7M, "Cortex-M3"},
    {0xc24, CORTEX_M_V7M, "Cortex-M4"},
    {0xc27, CORTEX_M_V7M, "Cortex-M7"},
    {0xd20, CORTEX_M_V8M_BASE, "Cortex-M23"},
    {0xd21, CORTEX_M_V8M_MAIN, "Cortex-M33"},
    /* As in CMSIS-Core and the public product manuals. */
    {0xd22, CORTEX_M_V8M_MAIN, "Cortex-M55"},
    {0xd23, CORTEX_M_V8M_MAIN, "Cortex-M85"},
};

void cortex_m_init(struct cortex_m *core, struct mem_ap *ap)
{
    *core = (struct cortex_m){.ap = ap, .name = "", .ready_reads = 1};
}

int cortex_m_fail(struct cortex_m *core, enum cortex_m_failure failure, uint32_t address, int rc)
{
    core->failure = failure;
    core->failure_address = address;
    return rc;
}

int cortex_m_port(struct cortex_m *core, int rc)
{
    if (rc == 0)
        return 0;
    return cortex_m_fail(core, CORTEX_M_FAIL_PORT, (uint32_t)core->ap->fault_address, rc);
}

bool cortex_m_again(const struct cortex_m *core, int rc, unsigned *tries)
{
    enum debug_failure failure = core->ap->dp->failure;
    return rc == BT_ERR_IO && (failure == DEBUG_FAIL_LINE || failure == DEBUG_FAIL_WAIT) &&
           (*tries)++ < RETRIES;
}

static const char *failure_text(const struct cortex_m *core)
{
    switch (core->failure) {
    case CORTEX_M_FAIL_NONE:
        return "no failure";
    case CORTEX_M_FAIL_PORT:
        break;
    case CORTEX_M_FAIL_NO_CORE:
        return "no Cortex-M answers behind this access port: is it the right one, is it powered?";
    case CORTEX_M_FAIL_DISABLED:
        return "the core does not let itself be debugged: the part is locked";
    case CORTEX_M_FAIL_NO_HALT:
        return "the core does not halt: reset it by nRESET, or connect under reset";
    case CORTEX_M_FAIL_NO_RESET:
        return "the reset did not work: the core did not come out of it as asked";
    case CORTEX_M_FAIL_REGISTER:
        return "the core does not hand over its registers: reset it";
    case CORTEX_M_FAIL_RUNNING:
        return "the core runs: halt it first";
    case CORTEX_M_FAIL_FULL:
        return "all comparators of the core are in use: remove a breakpoint or watchpoint";
    case CORTEX_M_FAIL_UPPER:
        return "hardware breakpoints of this core reach only addresses below 0x20000000";
    case CORTEX_M_FAIL_NOT_RAM:
        return "no software breakpoint is possible here: the memory does not keep it";
    case CORTEX_M_FAIL_NO_PIN:
        return "the probe does not drive nRESET";
    case CORTEX_M_FAIL_SECURE:
        return "the core does not halt: it runs Secure code, which this chip does not let debug; "
               "try again, or set a breakpoint in Non-secure code";
    }
    return "the access failed";
}

const char *cortex_m_describe(const struct cortex_m *core, char *text, size_t size)
{
    char cause[128];
    if (core->failure == CORTEX_M_FAIL_PORT)
        snprintf(text, size, "no access to 0x%08x: %s", (unsigned)core->failure_address,
                 adiv5_describe(core->ap->dp, cause, sizeof cause));
    else if (core->failure_address != 0)
        snprintf(text, size, "%s (0x%08x)", failure_text(core), (unsigned)core->failure_address);
    else
        snprintf(text, size, "%s", failure_text(core));
    return text;
}

/* Registers of the system control space. */

int cortex_m_peek(struct cortex_m *core, uint32_t address, uint32_t *value)
{
    unsigned tries = 0;
    int rc;
    do {
        rc = mem_ap_read32(core->ap, address, value);
    } while (cortex_m_again(core, rc, &tries));
    return cortex_m_port(core, rc);
}

int cortex_m_poke(struct cortex_m *core, uint32_t address, uint32_t value)
{
    unsigned tries = 0;
    int rc;
    do {
        rc = mem_ap_write32(core->ap, address, value);
    } while (cortex_m_again(core, rc, &tries));
    return cortex_m_port(core, rc);
}

int cortex_m_bank(struct cortex_m *core, struct mem_ap_banked *list, size_t count, bool repeat)
{
    unsigned tries = repeat ? 0 : RETRIES;
    int rc;
    do {
        rc = mem_ap_banked(core->ap, SCS_DHCSR, list, count);
    } while (cortex_m_again(core, rc, &tries));
    return cortex_m_port(core, rc);
}

int cortex_m_read_dhcsr(struct cortex_m *core, uint32_t *value)
{
    struct mem_ap_banked read = {.offset = BANK_DHCSR};
    int rc = cortex_m_bank(core, &read, 1, true);
    *value = read.value;
    if (rc == 0 && (*value & S_RESET_ST) != 0)
        core->reset_seen = true;
    if (rc == 0)
        core->secure_debug = core->security && (*value & S_SDE) != 0;
    return rc;
}

int cortex_m_write_dhcsr(struct cortex_m *core, uint32_t bits)
{
    struct mem_ap_banked write = {.offset = BANK_DHCSR, .write = true, .value = DHCSR_KEY | bits};
    bool mask = (bits & C_MASKINTS) != 0;
    /* A step that is taken twice is one too many. */
    int rc = cortex_m_bank(core, &write, 1, (bits & C_STEP) == 0);
    core->mask_unsure = rc != 0;
    core->masked = mask;
    return rc;
}

int cortex_m_write_demcr(struct cortex_m *core, uint32_t more)
{
    struct mem_ap_banked read = {.offset = BANK_DEMCR};
    int rc = cortex_m_bank(core, &read, 1, true);
    if (rc != 0)
        return rc;
    struct mem_ap_banked write = {.offset = BANK_DEMCR,
                                  .write = true,
                                  .value = (read.value & ~DEMCR_CATCHES) | core->catch | more |
                                           DEMCR_TRCENA};
    return write.value == read.value ? 0 : cortex_m_bank(core, &write, 1, true);
}

int cortex_m_need_halt(struct cortex_m *core)
{
    return core->halted ? 0 : cortex_m_fail(core, CORTEX_M_FAIL_RUNNING, 0, BT_ERR_INVAL);
}

/* A part that is not in the table: by its architecture. */
static int identify_unknown(struct cortex_m *core)
{
    bool mainline = CPUID_ARCH(core->cpuid) == ARCH_MAINLINE;
    uint32_t devarch = 0;
    int rc = cortex_m_peek(core, SCS_DEVARCH, &devarch);
    /* An older part may refuse a register that it does not have. */
    if (rc != 0 && core->ap->dp->failure != DEBUG_FAIL_FAULT)
        return rc;
    bool v8 = rc == 0 && (devarch & DEVARCH_PRESENT) != 0 && (devarch & 0xffff) == ARCHID_V8M;
    if (v8) {
        core->arch = mainline ? CORTEX_M_V8M_MAIN : CORTEX_M_V8M_BASE;
        core->name = mainline ? "ARMv8-M mainline" : "ARMv8-M baseline";
    } else {
        core->arch = mainline ? CORTEX_M_V7M : CORTEX_M_V6M;
        core->name = mainline ? "ARMv7-M" : "ARMv6-M";
    }
    return 0;
}

static int cortex_m_identify(struct cortex_m *core)
{
    int rc = cortex_m_peek(core, SCS_CPUID, &core->cpuid);
    if (rc != 0)
        return rc;
    unsigned arch = CPUID_ARCH(core->cpuid);
    if (core->cpuid >> 24 == 0 || core->cpuid == UINT32_MAX ||
        (arch != ARCH_BASELINE && arch != ARCH_MAINLINE))
        return cortex_m_fail(core, CORTEX_M_FAIL_NO_CORE, 0, BT_ERR_FORMAT);
    for (size_t k = 0; k < sizeof PARTS / sizeof *PARTS; k++) {
        if (core->cpuid >> 24 == CPUID_ARM && CPUID_PART(core->cpuid) == PARTS[k].part) {
            core->name = PARTS[k].name;
            core->arch = (enum cortex_m_arch)PARTS[k].arch;
            return 0;
        }
    }
    return identify_unknown(core);
}

static int find_features(struct cortex_m *core)
{
    uint32_t mvfr0 = 0;
    uint32_t clidr = 0;
    uint32_t pfr1 = 0;
    int rc = 0;
    if (cortex_m_mainline(core)) {
        rc = cortex_m_peek(core, SCS_MVFR0, &mvfr0);
        if (rc == 0)
            rc = cortex_m_peek(core, SCS_CLIDR, &clidr);
    }
    if (rc == 0 && core->arch >= CORTEX_M_V8M_BASE)
        rc = cortex_m_peek(core, SCS_ID_PFR1, &pfr1);
    core->fpu = mvfr0 != 0;
    core->instruction_cache = (clidr & CLIDR_INSTRUCTIONS) != 0;
    core->security = (pfr1 & PFR1_SECURITY) != 0;
    return rc;
}

static int enable_debug(struct cortex_m *core)
{
    uint32_t dhcsr;
    int rc = cortex_m_read_dhcsr(core, &dhcsr);
    bool halted = rc == 0 && (dhcsr & S_HALT) != 0;
    if (rc == 0)
        rc = cortex_m_write_dhcsr(core, C_DEBUGEN | (halted ? C_HALT : 0));
    if (rc == 0)
        rc = cortex_m_read_dhcsr(core, &dhcsr);
    if (rc == 0 && (dhcsr & C_DEBUGEN) == 0)
        return cortex_m_fail(core, CORTEX_M_FAIL_DISABLED, 0, BT_ERR_IO);
    return rc;
}

int cortex_m_attach(struct cortex_m *core)
{
    core->attached = false;
    core->halted = false;
    core->stepped = false;
    core->reset_halted = false;
    core->halt_requested = true; /* a core found halted: nobody here knows more */
    int rc = cortex_m_identify(core);
    if (rc == 0)
        rc = find_features(core);
    if (rc == 0)
        rc = enable_debug(core);
    if (rc == 0)
        rc = cortex_m_write_demcr(core, 0);
    if (rc == 0)
        rc = cortex_m_find_units(core);
    if (rc == 0)
        rc = cortex_m_restore(core);
    core->attached = rc == 0;
    return rc;
}

/* Memory without software breakpoints; those that cannot be taken away stay in the list. */
static int remove_software(struct cortex_m *core)
{
    int first = 0;
    for (unsigned k = core->software_count; k > 0; k--) {
        int rc = cortex_m_remove(core, CORTEX_M_BREAK_SOFTWARE, core->software[k - 1].address, 2);
        if (first == 0)
            first = rc;
    }
    return first;
}

int cortex_m_detach(struct cortex_m *core, bool keep_debug)
{
    int results[4];
    core->catch = 0;
    results[0] = remove_software(core);
    results[1] = cortex_m_clear_units(core);
    results[2] = cortex_m_write_demcr(core, 0);
    results[3] = core->halted ? cortex_m_resume(core) : 0;
    if (results[3] == 0 && !keep_debug)
        results[3] = cortex_m_write_dhcsr(core, 0);
    core->attached = false;
    core->halted = false;
    for (unsigned k = 0; k < 4; k++) {
        if (results[k] != 0)
            return results[k];
    }
    return 0;
}

int cortex_m_vector_catch(struct cortex_m *core, uint32_t catches)
{
    uint32_t possible = CORTEX_M_CATCH_RESET | CORTEX_M_CATCH_HARDFAULT;
    if (cortex_m_mainline(core))
        possible |= CORTEX_M_CATCH_FAULTS & ~CORTEX_M_CATCH_SECURE;
    if (core->security)
        possible |= CORTEX_M_CATCH_SECURE;
    core->catch = catches & possible;
    return cortex_m_write_demcr(core, 0);
}

int cortex_m_is_secure(struct cortex_m *core, bool *secure)
{
    uint32_t dscsr = 0;
    int rc = core->security ? cortex_m_peek(core, SCS_DSCSR, &dscsr) : 0;
    *secure = (dscsr & DSCSR_CDS) != 0;
    return rc;
}

int cortex_m_sample_pc(struct cortex_m *core, uint32_t *pc)
{
    int rc = cortex_m_peek(core, DWT_PCSR, pc);
    if (rc == 0 && (*pc == UINT32_MAX || *pc == 0))
        return BT_ERR_UNSUPPORTED;
    return rc;
}
