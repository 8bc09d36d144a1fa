/* SPDX-License-Identifier: BSD-3-Clause */
/* Cortex-A9 of vexpress-a9: private timers, interrupt controller, faults. */
#include "board.h"

#define REGISTER(address) (*(volatile unsigned *)(address))
#define GICC_CTLR         REGISTER(0x1e000100u)
#define GICC_PMR          REGISTER(0x1e000104u)
#define GICC_IAR          REGISTER(0x1e00010cu)
#define GICC_EOIR         REGISTER(0x1e000110u)
#define GICD_CTLR         REGISTER(0x1e001000u)
#define GICD_ISENABLER0   REGISTER(0x1e001100u)
#define GICD_SGIR         REGISTER(0x1e001f00u)
#define TIMER_LOAD        REGISTER(0x1e000600u)
#define TIMER_CONTROL     REGISTER(0x1e000608u)
#define TIMER_STATUS      REGISTER(0x1e00060cu)

#define TIMER_CLOCK     100000000u
#define TIMER_INTERRUPT 29
#define WAKE_INTERRUPT  0
#define FRAME_PC        7 /* word of what start-a9.S pushes */

/* start-a9.S */
unsigned core_number(void);
unsigned data_fault_address(void);
unsigned fetch_fault_address(void);

void data_abort_handler(const unsigned *frame);
void prefetch_abort_handler(const unsigned *frame);
void undefined_handler(const unsigned *frame);
void interrupt_handler(const unsigned *frame);
void wake_second_core(void);
void wait_to_be_woken(void);

static volatile unsigned awake;

A32 void data_abort_handler(const unsigned *frame)
{
    fault.pc = frame[FRAME_PC];
    fault.address = data_fault_address();
    stopped_here();
}

A32 void prefetch_abort_handler(const unsigned *frame)
{
    fault.pc = frame[FRAME_PC];
    fault.address = fetch_fault_address();
    stopped_here();
}

A32 void undefined_handler(const unsigned *frame)
{
    fault.pc = frame[FRAME_PC];
    stopped_here();
}

A32 void interrupt_handler(const unsigned *frame)
{
    unsigned id = GICC_IAR;

    (void)frame;
    if ((id & 0x3ff) == TIMER_INTERRUPT) {
        TIMER_STATUS = 1;
        if (core_number() == 0)
            timer_tick();
        else
            second_tick();
    }
    GICC_EOIR = id;
}

/* This core's share of the interrupt controller. */
static void open_interrupts(void)
{
    GICD_ISENABLER0 = 1u << TIMER_INTERRUPT | 1u << WAKE_INTERRUPT;
    GICC_PMR = 0xf0;
    GICC_CTLR = 1;
}

void wake_second_core(void)
{
    GICD_CTLR = 1;
    awake = 1;
    __asm__ volatile("dsb" ::: "memory");
    GICD_SGIR = 2u << 16 | WAKE_INTERRUPT;
}

void wait_to_be_woken(void)
{
    open_interrupts();
    while (!awake)
        wait_for_interrupt();
}

void start_timer(void)
{
    open_interrupts();
    TIMER_LOAD = TIMER_CLOCK / TICKS_PER_SECOND - 1;
    TIMER_CONTROL = 7; /* interrupt, reload, on */
    unmask_interrupts();
}

void stop_interrupts(void)
{
    TIMER_CONTROL = 0;
    GICC_CTLR = 0;
}

A32 void mask_interrupts(void)
{
    __asm__ volatile("cpsid i" ::: "memory");
}

/* The hint lets an emulator that runs its cores in turns go on with the next one: without it a core
 * that never rests may keep all the time to itself. */
A32 void unmask_interrupts(void)
{
    __asm__ volatile("cpsie i\n\tyield" ::: "memory");
}

A32 void wait_for_interrupt(void)
{
    __asm__ volatile("dsb\n\twfi" ::: "memory");
}
