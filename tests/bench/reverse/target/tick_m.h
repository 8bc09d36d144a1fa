/* SPDX-License-Identifier: BSD-3-Clause */
/* A Cortex-M with one interrupt, SysTick: included once, by the program. */
#ifndef TESTS_REVERSE_TARGET_TICK_M_H
#define TESTS_REVERSE_TARGET_TICK_M_H

#include "finish_m.h"

#define REGISTER(address) (*(volatile unsigned *)(address))
#define SYST_CSR          REGISTER(0xe000e010u)
#define SYST_RVR          REGISTER(0xe000e014u)
#define SYST_CVR          REGISTER(0xe000e018u)

extern unsigned stack_top[];

int main(void);
void finished(unsigned sum);
void start(void);
void unexpected(void);
void tick(void); /* the program's */

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))stack_top,
    start,
    unexpected,
    unexpected,
    unexpected,
    unexpected,
    unexpected,
    unexpected,
    0,
    0,
    0,
    unexpected,
    unexpected,
    0,
    unexpected,
    tick,
};

void start(void)
{
    SYST_RVR = TICK;
    SYST_CVR = 0;
    SYST_CSR = 7;
    main();
}

void unexpected(void)
{
    finished(0);
}

__attribute__((naked)) void finished(unsigned sum)
{
    (void)sum;
    FINISH_M;
}

#endif
