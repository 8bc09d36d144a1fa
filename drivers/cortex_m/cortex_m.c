/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaching to a Cortex-M; halting, stepping, resuming and resetting it. DDI 0403E.e chapter C1. */
#include "drivers/cortex_m/cortex_m.h"
#include "decoder/base/bytes.h"

#include "cortex_m_internal.h"

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
    *core =
        (struct cortex_m){.ap = ap, .limit_ms = CORTEX_M_LIMIT_MS, .name = "", .ready_reads = 1};
}

/* A part that is not in the table: by its architecture. */
static int identify_unknown(struct cortex_m *core)
{
    bool mainline = CPUID_ARCH(core->cpuid) == ARCH_MAINLINE;
    uint32_t devarch = 0;
    int error = cortex_m_peek(core, SCS_DEVARCH, &devarch);
    /* An older part may refuse a register that it does not have. */
    if (error != 0 && core->ap->dp->failure != DEBUG_FAIL_FAULT)
        return error;
    bool v8 = error == 0 && (devarch & DEVARCH_PRESENT) != 0 && (devarch & 0xffff) == ARCHID_V8M;
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
    int error = cortex_m_peek(core, SCS_CPUID, &core->cpuid);
    if (error != 0)
        return error;
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
    int error = 0;
    if (cortex_m_mainline(core)) {
        error = cortex_m_peek(core, SCS_MVFR0, &mvfr0);
        if (error == 0)
            error = cortex_m_peek(core, SCS_CLIDR, &clidr);
    }
    if (error == 0 && core->arch >= CORTEX_M_V8M_BASE)
        error = cortex_m_peek(core, SCS_ID_PFR1, &pfr1);
    core->fpu = mvfr0 != 0;
    core->instruction_cache = (clidr & CLIDR_INSTRUCTIONS) != 0;
    core->security =
        (pfr1 & PFR1_SECURITY) != 0 ? CORTEX_M_SECURITY_CLOSED : CORTEX_M_SECURITY_NONE;
    return error;
}

static int enable_debug(struct cortex_m *core)
{
    uint32_t dhcsr;
    int error = cortex_m_read_dhcsr(core, &dhcsr);
    bool halted = error == 0 && (dhcsr & S_HALT) != 0;
    if (error == 0)
        error = cortex_m_write_dhcsr(core, C_DEBUGEN | (halted ? C_HALT : 0));
    if (error == 0)
        error = cortex_m_read_dhcsr(core, &dhcsr);
    if (error == 0 && (dhcsr & C_DEBUGEN) == 0)
        return cortex_m_fail(core, CORTEX_M_FAIL_DISABLED, 0, BT_ERR_IO);
    return error;
}

int cortex_m_attach(struct cortex_m *core)
{
    core->halted = false;
    core->course = CORTEX_M_FREE; /* a core found halted: nobody here knows more */
    int error = cortex_m_identify(core);
    if (error == 0)
        error = find_features(core);
    if (error == 0)
        error = enable_debug(core);
    if (error == 0)
        error = cortex_m_write_demcr(core, 0);
    if (error == 0)
        error = cortex_m_find_units(core);
    if (error == 0)
        error = cortex_m_restore(core);
    return error;
}

/* Memory without software breakpoints; those that cannot be taken away stay in the list. */
static int remove_software(struct cortex_m *core)
{
    int first = 0;
    for (unsigned k = core->software_count; k > 0; k--) {
        int error =
            cortex_m_remove(core, TARGET_BREAKPOINT_SOFTWARE, core->software[k - 1].address, 2);
        if (first == 0)
            first = error;
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
    int error = core->security ? cortex_m_peek(core, SCS_DSCSR, &dscsr) : 0;
    *secure = (dscsr & DSCSR_CDS) != 0;
    return error;
}

#define STEP_LIMIT_US  500000u
#define HALT_SLEEP_US  500u
#define RESET_SLEEP_US 1000u
#define RESET_HOLD_US  20000u
#define PIN_WAIT_US    100000u
#define FAILED_LOOKS   20u /* at a silent port, before it is woken up again */

#define AIRCR_SYSRESET 0x05fa0004u
#define BKPT_MASK      0xff00u
#define BKPT           0xbe00u

/* The halfword that the program has at `address`; 0 if it cannot be read. */
static uint16_t instruction_at(struct cortex_m *core, uint32_t address)
{
    uint8_t bytes[2] = {0};
    if (cortex_m_read_memory(core, address, bytes, sizeof bytes) != 0)
        return 0;
    return (uint16_t)bytes_half(bytes);
}

static enum target_halt_reason breakpoint_reason(struct cortex_m *core, uint32_t pc)
{
    if (cortex_m_software_at(core, pc))
        return TARGET_HALT_SWBREAK;
    bool program =
        !cortex_m_breakpoint_at(core, pc) && (instruction_at(core, pc) & BKPT_MASK) == BKPT;
    return program ? TARGET_HALT_BKPT : TARGET_HALT_HWBREAK;
}

static enum target_halt_reason cortex_m_reason_of(struct cortex_m *core, uint32_t dfsr, uint32_t pc)
{
    if ((dfsr & DFSR_VCATCH) != 0)
        return core->course == CORTEX_M_FROM_RESET ? TARGET_HALT_INTERRUPT : TARGET_HALT_VECTOR;
    if ((dfsr & DFSR_BKPT) != 0)
        return breakpoint_reason(core, pc);
    if ((dfsr & DFSR_DWTTRAP) != 0)
        return TARGET_HALT_WATCH;
    if ((dfsr & DFSR_EXTERNAL) != 0)
        return TARGET_HALT_EXTERNAL;
    return core->course == CORTEX_M_STEPPING ? TARGET_HALT_STEP : TARGET_HALT_INTERRUPT;
}

/* The core is seen halted for the first time. */
static int note_halt(struct cortex_m *core)
{
    uint32_t dfsr = 0;
    core->last = (struct target_core_status){.state = TARGET_CORE_HALTED};
    core->halted = true;
    core->known = CORTEX_M_KNOWN_NONE;
    int error = cortex_m_peek(core, SCS_DFSR, &dfsr);
    if (error == 0)
        error = cortex_m_load(core, false);
    core->last.pc = core->values[CORTEX_M_PC];
    if (error == 0)
        core->last.reason = cortex_m_reason_of(core, dfsr, core->last.pc);
    if (error == 0 && core->last.reason == TARGET_HALT_WATCH)
        error = cortex_m_find_watch(core);
    if (error == 0)
        error = cortex_m_poke(core, SCS_DFSR, DFSR_ALL);
    if (error != 0)
        core->halted = false; /* asked again at the next look */
    return error;
}

/* What DHCSR said. What is switched off by a reset is switched on again. */
static int cortex_m_take_look(struct cortex_m *core, uint32_t dhcsr)
{
    bool lost = (dhcsr & C_DEBUGEN) == 0 || (dhcsr & S_RESET_ST) != 0;
    int error = 0;
    if ((dhcsr & C_DEBUGEN) == 0)
        error = cortex_m_write_dhcsr(core, C_DEBUGEN | (dhcsr & S_HALT ? C_HALT : 0));
    if (lost && error == 0)
        error = cortex_m_restore(core);
    if (lost)
        core->halted = false;
    if (error == 0 && (dhcsr & S_HALT) == 0)
        core->halted = false;
    if (error == 0 && (dhcsr & S_HALT) != 0 && !core->halted)
        error = note_halt(core);
    return error;
}

static int cortex_m_look(struct cortex_m *core, uint32_t *dhcsr)
{
    int error = cortex_m_read_dhcsr(core, dhcsr);
    return error == 0 ? cortex_m_take_look(core, *dhcsr) : error;
}

static enum target_core_state running_state(uint32_t dhcsr)
{
    if ((dhcsr & S_LOCKUP) != 0)
        return TARGET_CORE_LOCKUP;
    return (dhcsr & S_SLEEP) != 0 ? TARGET_CORE_SLEEPING : TARGET_CORE_RUNNING;
}

int cortex_m_status(struct cortex_m *core, struct target_core_status *status)
{
    uint32_t dhcsr;
    *status = (struct target_core_status){.state = TARGET_CORE_RUNNING};
    int error = cortex_m_look(core, &dhcsr);
    if (error != 0)
        return error;
    if (core->halted)
        *status = core->last;
    else
        status->state = running_state(dhcsr);
    status->reset_seen = core->reset_seen;
    core->reset_seen = false;
    return 0;
}

/* Halt and run. */

/* Where Secure code may not be debugged a halt waits for its end. */
static enum cortex_m_failure no_halt(const struct cortex_m *core)
{
    return core->security == CORTEX_M_SECURITY_CLOSED ? CORTEX_M_FAIL_SECURE
                                                      : CORTEX_M_FAIL_NO_HALT;
}

static int wait_halt(struct cortex_m *core, uint32_t limit_us)
{
    uint64_t begin = cortex_m_now(core);
    for (;;) {
        bool late = cortex_m_now(core) - begin > limit_us;
        uint32_t dhcsr;
        int error = cortex_m_look(core, &dhcsr);
        if (error != 0 || core->halted)
            return error;
        if (late)
            return cortex_m_fail(core, no_halt(core), 0, BT_ERR_IO);
        cortex_m_sleep(core, HALT_SLEEP_US);
    }
}

int cortex_m_halt(struct cortex_m *core)
{
    uint32_t dhcsr;
    int error = cortex_m_look(core, &dhcsr);
    if (error != 0 || (core->halted && core->mask == CORTEX_M_MASK_OFF))
        return error;
    error = cortex_m_write_dhcsr(core, C_DEBUGEN | C_HALT);
    return error == 0 ? wait_halt(core, 1000 * core->limit_ms) : error;
}

/* C_MASKINTS may not change in the write that lets the core go. */
static int cortex_m_set_mask(struct cortex_m *core, uint32_t bits)
{
    return core->mask == cortex_m_mask_of(bits)
               ? 0
               : cortex_m_write_dhcsr(core, C_DEBUGEN | C_HALT | bits);
}

/* C_MASKINTS stays, for the next step. */
static int step_once(struct cortex_m *core, bool mask)
{
    uint32_t bits = mask ? C_MASKINTS : 0, limit = 1000 * core->limit_ms, dhcsr;
    uint32_t first = limit / 2 < STEP_LIMIT_US ? limit / 2 : STEP_LIMIT_US;
    int error = cortex_m_set_mask(core, bits);
    if (error != 0)
        return error;
    /* It counts as running whatever becomes of the access. */
    core->halted = false;
    core->course = CORTEX_M_STEPPING;
    error = cortex_m_write_step(core, C_DEBUGEN | bits, &dhcsr);
    if (error == 0)
        error = cortex_m_take_look(core, dhcsr);
    if (error == 0 && !core->halted)
        error = wait_halt(core, first);
    bool late = core->failure == CORTEX_M_FAIL_NO_HALT || core->failure == CORTEX_M_FAIL_SECURE;
    if (error == BT_ERR_IO && late) {
        /* An instruction that waits for something: the halt ends it. */
        error = cortex_m_write_dhcsr(core, C_DEBUGEN | C_HALT | bits);
        if (error == 0)
            error = wait_halt(core, limit - first);
    }
    return error;
}

/* Put back what an earlier step took away and could not put back. */
static int restore_lifted(struct cortex_m *core)
{
    return core->lifted ? cortex_m_lift(core, core->lifted_at, false) : 0;
}

/* A step that the breakpoint at the PC does not end. */
static int step_over(struct cortex_m *core, bool mask)
{
    int error = cortex_m_load(core, false);
    uint32_t pc = core->values[CORTEX_M_PC];
    if (error != 0 || !cortex_m_breakpoint_at(core, pc))
        return error != 0 ? error : step_once(core, mask);
    error = cortex_m_lift(core, pc, true);
    if (error == 0)
        error = step_once(core, mask);
    int back = cortex_m_lift(core, pc, false);
    return error != 0 ? error : back;
}

/* Where the core has stopped at a BKPT of the program, go behind it: *skipped. */
static int skip_bkpt(struct cortex_m *core, bool *skipped)
{
    uint32_t pc;
    *skipped = false;
    if (core->last.reason != TARGET_HALT_BKPT)
        return 0;
    int error = cortex_m_load(core, false);
    pc = core->values[CORTEX_M_PC];
    if (error != 0 || pc != core->last.pc || (instruction_at(core, pc) & BKPT_MASK) != BKPT)
        return error;
    error = cortex_m_write_register(core, CORTEX_M_PC, pc + 2);
    *skipped = error == 0;
    if (error == 0) {
        core->last.pc = pc + 2;
        core->last.reason = TARGET_HALT_STEP;
    }
    return error;
}

int cortex_m_step(struct cortex_m *core, bool mask_interrupts)
{
    bool skipped = false;
    int error = cortex_m_need_halt(core);
    if (error == 0)
        error = restore_lifted(core);
    if (error == 0)
        error = skip_bkpt(core, &skipped);
    return error == 0 && !skipped ? step_over(core, mask_interrupts) : error;
}

int cortex_m_resume(struct cortex_m *core)
{
    bool skipped;
    uint32_t dhcsr;
    int error = cortex_m_look(core, &dhcsr);
    if (error != 0 || !core->halted)
        return error;
    error = restore_lifted(core);
    if (error == 0)
        error = skip_bkpt(core, &skipped);
    if (error == 0)
        error = cortex_m_load(core, false);
    if (error == 0 && cortex_m_breakpoint_at(core, core->values[CORTEX_M_PC])) {
        error = step_over(core, true);
        /* Something else stopped it at once: that is what the user has to see. */
        if (error == 0 && core->last.reason != TARGET_HALT_STEP)
            return 0;
    }
    if (error == 0)
        error = cortex_m_set_mask(core, 0);
    if (error != 0)
        return error;
    core->halted = false; /* whatever becomes of the access */
    core->course = CORTEX_M_FREE;
    return cortex_m_write_dhcsr(core, C_DEBUGEN);
}

static int pin_failed(struct cortex_m *core, int error)
{
    if (error == BT_ERR_UNSUPPORTED)
        return cortex_m_fail(core, CORTEX_M_FAIL_NO_PIN, 0, error);
    return cortex_m_port(core, error);
}

static bool probe_gone(const struct cortex_m *core, int error)
{
    return error == BT_ERR_FORMAT || core->ap->dp->failure == DEBUG_FAIL_PROBE;
}

/* While the core is in reset its port may refuse everything; a probe that is gone ends that. */
static int cortex_m_tolerate(const struct cortex_m *core, int error)
{
    return error != 0 && probe_gone(core, error) ? error : 0;
}

static int wake_port(struct cortex_m *core)
{
    struct adiv5_dp *dp = core->ap->dp;
    if (!core->reconnect)
        return 0;
    int error = adiv5_connect(dp, core->reconnect);
    mem_ap_forget(core->ap);
    return cortex_m_tolerate(core, error);
}

/* Until the core has come out of its reset, and is halted if `halt`. */
static int wait_reset(struct cortex_m *core, bool halt, bool *seen)
{
    uint64_t begin = cortex_m_now(core);
    unsigned failed = 0;
    bool late = false;
    while (!late) {
        uint32_t dhcsr = 0;
        late = cortex_m_now(core) - begin > 1000 * core->limit_ms;
        int error = cortex_m_read_dhcsr(core, &dhcsr);
        if (error != 0 && probe_gone(core, error))
            return error;
        if (error != 0 && ++failed % FAILED_LOOKS == 0)
            error = wake_port(core);
        if (error != 0 && probe_gone(core, error))
            return error;
        if (error == 0 && (dhcsr & S_RESET_ST) != 0)
            *seen = true;
        else if (error == 0 && *seen && (!halt || (dhcsr & S_HALT) != 0))
            return 0;
        if ((dhcsr & S_RESET_ST) == 0)
            cortex_m_sleep(core, RESET_SLEEP_US);
    }
    /* S_RESET_ST is told once, and that answer may be lost; the vector catch stays. */
    uint32_t dfsr = 0;
    if (halt && cortex_m_peek(core, SCS_DFSR, &dfsr) == 0 && (dfsr & DFSR_VCATCH) != 0)
        return 0;
    return cortex_m_fail(core, CORTEX_M_FAIL_NO_RESET, 0, BT_ERR_IO);
}

/* What has to be set for the reset to end in a halt. */
static int cortex_m_prepare(struct cortex_m *core)
{
    uint32_t dhcsr;
    int error = cortex_m_write_dhcsr(core, C_DEBUGEN | (core->halted ? C_HALT : 0));
    if (error == 0)
        error = cortex_m_write_demcr(core, DEMCR_CORERESET);
    if (error == 0)
        error = cortex_m_poke(core, SCS_DFSR, DFSR_ALL);
    if (error == 0)
        error = cortex_m_read_dhcsr(core, &dhcsr); /* S_RESET_ST of earlier */
    return error;
}

static int reset_system(struct cortex_m *core)
{
    bool seen = false;
    int error = cortex_m_prepare(core);
    if (error != 0)
        return error;
    error = cortex_m_tolerate(core, mem_ap_write32(core->ap, SCS_AIRCR, AIRCR_SYSRESET));
    return error == 0 ? wait_reset(core, true, &seen) : cortex_m_port(core, error);
}

static int reset_pin(struct cortex_m *core)
{
    bool seen = false;
    int error = pin_failed(core, adiv5_drive_reset(core->ap->dp, true, 0));
    if (error != 0)
        return error;
    cortex_m_sleep(core, RESET_HOLD_US);
    core->halted = false;
    int prepared = cortex_m_prepare(core);
    error = cortex_m_tolerate(core, prepared);
    if (error == 0)
        error = pin_failed(core, adiv5_drive_reset(core->ap->dp, false, PIN_WAIT_US));
    if (error == 0)
        error = wait_reset(core, prepared == 0, &seen);
    /* A port that is dead in reset did not take the wish to halt: now it does. */
    return error == 0 && prepared != 0 ? reset_system(core) : error;
}

int cortex_m_reset(struct cortex_m *core, enum cortex_m_reset_kind kind)
{
    uint32_t dhcsr;
    int error = kind == CORTEX_M_RESET_PIN ? reset_pin(core) : reset_system(core);
    mem_ap_forget(core->ap);
    core->halted = false;
    core->course = CORTEX_M_FROM_RESET;
    if (error != 0)
        return error;
    error = cortex_m_restore(core); /* breakpoints may be lost by the reset */
    if (error == 0)
        error = cortex_m_look(core, &dhcsr);
    core->reset_seen = false;
    return error;
}
