/* SPDX-License-Identifier: BSD-3-Clause */
/* Small programs in C for a Cortex-M3: small_start.S runs work_small(). */
#ifndef TESTS_REVERSE_TARGET_SMALL_H
#define TESTS_REVERSE_TARGET_SMALL_H

typedef unsigned int u32;

#define NOINLINE __attribute__((noinline))
#define COUNTER  (*(volatile u32 *)0xe000e018u) /* SysTick: nobody knows it afterwards */

void work_small(void);

#endif
