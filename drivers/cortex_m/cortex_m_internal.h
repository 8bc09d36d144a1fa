/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the Cortex-M driver share. DDI 0403E.e C1.6. */
#ifndef DRIVERS_CORTEX_M_INTERNAL_H
#define DRIVERS_CORTEX_M_INTERNAL_H

#include "drivers/cortex_m/cortex_m.h"

#define SCS_CPUID 0xe000ed00u
#define SCS_AIRCR 0xe000ed0cu
#define SCS_CFSR  0xe000ed28u
#define SCS_DFSR  0xe000ed30u
#define SCS_DHCSR 0xe000edf0u
#define SCS_DEMCR 0xe000edfcu
#define SCS_SFSR  0xe000ede4u

/* Offsets of the debug registers in their 16 bytes. */
#define BANK_DHCSR 0x0u
#define BANK_DCRSR 0x4u
#define BANK_DCRDR 0x8u

#define DHCSR_KEY   0xa05f0000u
#define C_DEBUGEN   0x00000001u
#define C_HALT      0x00000002u
#define C_STEP      0x00000004u
#define C_MASKINTS  0x00000008u
#define S_REGRDY    0x00010000u
#define S_HALT      0x00020000u
#define S_SLEEP     0x00040000u
#define S_LOCKUP    0x00080000u
#define S_RESET_ST  0x02000000u
#define DCRSR_WRITE 0x00010000u

/*
 * Security Extension of v8-M. DDI 0553B.v; the registers as CMSIS-Core lists them, which chip
 * makers' headers repeat.
 */
#define SCS_DSCSR 0xe000ee08u
#define DSCSR_CDS 0x00010000u /* the core is in Secure state */
#define S_SDE     0x00100000u /* DHCSR: Secure state may be debugged */

#define DEMCR_TRCENA    0x01000000u
#define DEMCR_CORERESET 0x00000001u
#define DEMCR_CATCHES   0x00000ff1u

#define DFSR_BKPT     0x02u
#define DFSR_DWTTRAP  0x04u
#define DFSR_VCATCH   0x08u
#define DFSR_EXTERNAL 0x10u
#define DFSR_ALL      0x1fu

/* Records the failure; returns `error`. */
static inline int cortex_m_fail(struct cortex_m *core, enum cortex_m_failure failure,
                                uint32_t address, int error)
{
    core->failure = failure;
    core->failure_address = address;
    return error;
}

/* Records a failure of the port, if error is one; returns `error`. */
static inline int cortex_m_port(struct cortex_m *core, int error)
{
    if (error == 0)
        return 0;
    return cortex_m_fail(core, CORTEX_M_FAIL_PORT, (uint32_t)core->ap->fault_address, error);
}

/* One register; may be tried again, so not for those that count or start something. */
int cortex_m_peek(struct cortex_m *core, uint32_t address, uint32_t *value);
int cortex_m_poke(struct cortex_m *core, uint32_t address, uint32_t value);

/* The four debug registers; `repeat`: may be tried again. */
int cortex_m_read_dhcsr(struct cortex_m *core, uint32_t *value); /* notes resets */
int cortex_m_write_dhcsr(struct cortex_m *core, uint32_t bits);  /* with its key */
/* C_STEP on top, and DHCSR behind it. */
int cortex_m_write_step(struct cortex_m *core, uint32_t bits, uint32_t *dhcsr);

/* BT_ERR_INVAL with CORTEX_M_FAIL_RUNNING if the core was not halted at the last look. */
static inline int cortex_m_need_halt(struct cortex_m *core)
{
    return core->halted ? 0 : cortex_m_fail(core, CORTEX_M_FAIL_RUNNING, 0, BT_ERR_INVAL);
}

/* DEMCR as it has to be, `more` bits on top. */
int cortex_m_write_demcr(struct cortex_m *core, uint32_t more);

/* Breakpoint and watchpoint units. */
int cortex_m_find_units(struct cortex_m *core);
int cortex_m_restore(struct cortex_m *core);
int cortex_m_clear_units(struct cortex_m *core);
bool cortex_m_breakpoint_at(const struct cortex_m *core, uint32_t address);
bool cortex_m_software_at(const struct cortex_m *core, uint32_t address);
/* Take the breakpoints at `address` away for a step, or put them back. */
int cortex_m_lift(struct cortex_m *core, uint32_t address, bool away);
/* The watchpoint that matched: fills in the last status. */
int cortex_m_find_watch(struct cortex_m *core);

/* v7-M, v8-M mainline: BASEPRI, fault status registers... */
static inline bool cortex_m_mainline(const struct cortex_m *core)
{
    return core->arch == CORTEX_M_V7M || core->arch == CORTEX_M_V8M_MAIN;
}

/* Of a value for DHCSR. */
static inline enum cortex_m_mask cortex_m_mask_of(uint32_t bits)
{
    return (bits & C_MASKINTS) != 0 ? CORTEX_M_MASK_ON : CORTEX_M_MASK_OFF;
}

static inline uint64_t cortex_m_now(const struct cortex_m *core)
{
    return debug_now(&core->ap->dp->clock);
}

static inline void cortex_m_sleep(const struct cortex_m *core, uint32_t time)
{
    debug_sleep(&core->ap->dp->clock, time);
}

#endif
