/* SPDX-License-Identifier: BSD-3-Clause */
/* What the plugin that knows the truth writes down of system registers. */
#ifndef TESTS_REVERSE_TRUTH_SYSTEM_H
#define TESTS_REVERSE_TRUTH_SYSTEM_H

/* Of an M-profile core; zero is also what cannot be read. SPECIAL: CONTROL, FAULTMASK, BASEPRI and
 * PRIMASK, the highest byte first. */
enum truth_system {
    TRUTH_MSP,
    TRUTH_PSP,
    TRUTH_SPECIAL,
    TRUTH_MSPLIM,
    TRUTH_PSPLIM,
    TRUTH_CCR,
    TRUTH_FPCCR,
    TRUTH_FPCAR,
    TRUTH_FPDSCR,
    TRUTH_MPU_CTRL,
    TRUTH_SYSTEM_WORDS
};

/* Of AArch64, of 64 bits each; levels in ascending order. */
enum truth_wide {
    TRUTH_VECTORS,     /* v0.d[0], v0.d[1], v1.d[0] ... */
    TRUTH_FPCR = 64,   /* with FPSR */
    TRUTH_SP0,         /* to SP_EL3; of the one in use what it was */
    TRUTH_ELR1 = 69,   /* to ELR_EL3 */
    TRUTH_SPSR1 = 72,  /* to SPSR_EL3 */
    TRUTH_VBAR1 = 75,  /* to VBAR_EL3 */
    TRUTH_TPIDR0 = 78, /* to TPIDR_EL3, TPIDRRO_EL0 */
    TRUTH_SCTLR1 = 83, /* to SCTLR_EL3 */
    TRUTH_TTBR1 = 86,  /* TTBR0_EL1 to TTBR0_EL3 */
    TRUTH_TCR1 = 89,   /* to TCR_EL3 */
    TRUTH_UPPER = 92,  /* TTBR1_EL1 */
    TRUTH_HCR,
    TRUTH_WIDE_WORDS
};

#endif
