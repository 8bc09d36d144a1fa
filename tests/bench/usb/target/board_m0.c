/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What configs/virtual/crash.c needs of a Cortex-M0: vectors, start-up, SysTick. Each tick pends a
 * PendSV, which comes in place of the return from it, and calls a service (SVC) in its handler.
 */
#include "board.h"

#define CLOCK 16000000u

#define REGISTER(address) (*(volatile unsigned *)(address))
#define SYST_CSR          REGISTER(0xe000e010u)
#define SYST_RVR          REGISTER(0xe000e014u)
#define SYST_CVR          REGISTER(0xe000e018u)
#define ICSR              REGISTER(0xe000ed04u)
#define SHPR3             REGISTER(0xe000ed20u)

#define ICSR_PENDSTCLR (1u << 25)
#define ICSR_PENDSVSET (1u << 28)
#define SHPR3_LOW      0xc0c00000u /* SysTick and PendSV below SVC */

extern unsigned data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];

volatile unsigned services;

void reset_handler(void);
void fault_handler(void);
void service_handler(void);
void pended_handler(void);
void systick_handler(void);

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_top,
    reset_handler,
    fault_handler,
    fault_handler,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    service_handler,
    0,
    0,
    pended_handler,
    systick_handler,
};

void reset_handler(void)
{
    unsigned *from = data_load;
    for (unsigned *to = data_start; to < data_end;)
        *to++ = *from++;
    for (unsigned *to = bss_start; to < bss_end;)
        *to++ = 0;
    SHPR3 = SHPR3_LOW;
    main();
}

void fault_handler(void)
{
    stopped_here();
}

void service_handler(void)
{
    services++;
}

void pended_handler(void)
{
    __asm__ volatile("svc 0" ::: "memory");
}

void systick_handler(void)
{
    timer_tick();
    ICSR = ICSR_PENDSVSET;
}

void start_timer(void)
{
    SYST_RVR = CLOCK / TICKS_PER_SECOND - 1;
    SYST_CVR = 0;
    SYST_CSR = 7; /* core clock, interrupt, on */
}

void stop_interrupts(void)
{
    SYST_CSR = 0;
    ICSR = ICSR_PENDSTCLR;
}

void mask_interrupts(void)
{
    __asm__ volatile("cpsid i" ::: "memory");
}

void unmask_interrupts(void)
{
    __asm__ volatile("cpsie i" ::: "memory");
}

void wait_for_interrupt(void)
{
    __asm__ volatile("dsb\n\twfi" ::: "memory");
}
