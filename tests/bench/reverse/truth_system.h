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

#endif
