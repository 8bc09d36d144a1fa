/* SPDX-License-Identifier: BSD-3-Clause */
/* Cortex-A53 of QEMU's machine virt: generic timers, interrupt controller, faults. */
#include "board.h"

#define DEVICES           0xffffff8000000000u /* where start-a53.S maps them */
#define REGISTER(address) (*(volatile unsigned *)(DEVICES + (address)))
#define GICD_CTLR         REGISTER(0x08000000u)
#define GICD_ISENABLER0   REGISTER(0x08000100u)
#define GICC_CTLR         REGISTER(0x08010000u)
#define GICC_PMR          REGISTER(0x08010004u)
#define GICC_IAR          REGISTER(0x0801000cu)
#define GICC_EOIR         REGISTER(0x08010010u)

#define TIMER_CLOCK     62500000u
#define TIMER_INTERRUPT 27
#define FRAME_PC        20 /* word of what start-a53.S pushes */

/* start-a53.S */
unsigned core_number(void);
unsigned long fault_address(void);

void data_abort_handler(const unsigned long *frame);
void interrupt_handler(const unsigned long *frame);
void open_interrupts(void);

void data_abort_handler(const unsigned long *frame)
{
    fault.pc = frame[FRAME_PC];
    fault.address = fault_address();
    stopped_here();
}

/* The next tick is counted from the last one, however late this comes. */
static void reload_timer(void)
{
    unsigned long next;

    __asm__ volatile("mrs %0, cntv_cval_el0" : "=r"(next));
    next += TIMER_CLOCK / TICKS_PER_SECOND;
    __asm__ volatile("msr cntv_cval_el0, %0\n\tisb" ::"r"(next));
}

void interrupt_handler(const unsigned long *frame)
{
    unsigned id = GICC_IAR;

    (void)frame;
    if ((id & 0x3ff) == TIMER_INTERRUPT) {
        reload_timer();
        if (core_number() == 0)
            timer_tick();
        else
            second_tick();
    }
    GICC_EOIR = id;
}

/* This core's share of the interrupt controller. */
void open_interrupts(void)
{
    GICD_CTLR = 1;
    GICD_ISENABLER0 = 1u << TIMER_INTERRUPT;
    GICC_PMR = 0xf0;
    GICC_CTLR = 1;
}

void start_timer(void)
{
    unsigned long now;

    open_interrupts();
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    now += TIMER_CLOCK / TICKS_PER_SECOND;
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb" ::"r"(now), "r"(1ul));
    unmask_interrupts();
}

void stop_interrupts(void)
{
    __asm__ volatile("msr cntv_ctl_el0, xzr\n\tisb");
    GICC_CTLR = 0;
}

void mask_interrupts(void)
{
    __asm__ volatile("msr daifset, #2" ::: "memory");
}

/* The hint lets an emulator that runs its cores in turns go on with the next one. */
void unmask_interrupts(void)
{
    __asm__ volatile("msr daifclr, #2\n\tyield" ::: "memory");
}

void wait_for_interrupt(void)
{
    __asm__ volatile("dsb sy\n\twfi" ::: "memory");
}
