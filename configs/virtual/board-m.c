/* SPDX-License-Identifier: BSD-3-Clause */
/* Cortex-M: vectors, start-up, SysTick, a memory protection unit that lets nothing stray. */
#include "board.h"

#if defined BOARD_M3 || defined BOARD_M7 /* mps2-an385, mps2-an500 */
#define FLASH_BASE 0x00000000u
#define FLASH_LOG2 22
#define RAM_LOG2   22
#define CLOCK      25000000u
#elif defined BOARD_M4 /* netduinoplus2 */
#define FLASH_BASE 0x08000000u
#define FLASH_LOG2 20
#define RAM_LOG2   17
#define CLOCK      168000000u
#elif defined BOARD_M33 /* mps2-an505, in Secure state */
#define FLASH_BASE 0x10000000u
#define FLASH_LOG2 22
#define RAM_BASE   0x38000000u
#define RAM_LOG2   22
#define CLOCK      20000000u
#define MPU_V8
#else
#error "no board"
#endif
#ifndef RAM_BASE
#define RAM_BASE 0x20000000u
#endif

#define REGISTER(address) (*(volatile unsigned *)(address))
#define SYST_CSR          REGISTER(0xe000e010u)
#define SYST_RVR          REGISTER(0xe000e014u)
#define SYST_CVR          REGISTER(0xe000e018u)
#define ICSR              REGISTER(0xe000ed04u)
#define VTOR              REGISTER(0xe000ed08u)
#define CFSR              REGISTER(0xe000ed28u)
#define MMFAR             REGISTER(0xe000ed34u)
#define BFAR              REGISTER(0xe000ed38u)
#define MPU_CTRL          REGISTER(0xe000ed94u)
#define MPU_RNR           REGISTER(0xe000ed98u)
#define MPU_RBAR          REGISTER(0xe000ed9cu)
#define MPU_RASR          REGISTER(0xe000eda0u) /* v8-M: MPU_RLAR */
#define MPU_MAIR0         REGISTER(0xe000edc0u)

#define ICSR_PENDSTCLR (1u << 25)
#define CFSR_MMARVALID 0x80u
#define CFSR_BFARVALID 0x8000u
#define RASR_CACHED    (1u << 17)
#define RASR_READ_ONLY (6u << 24)
#define RASR_FULL      (3u << 24)
#define RASR_NO_CODE   (1u << 28)

/* v8-M: of MPU_RBAR, and a memory type in the first byte of MPU_MAIR0. */
#define RBAR_READ_ONLY (3u << 1)
#define RBAR_FULL      (1u << 1)
#define RBAR_NO_CODE   1u
#define MAIR_CACHED    0xffu

#define FRAME_PC 6 /* word of what the core pushes at an exception */

/* Of the linker script. */
extern unsigned data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];

void reset_handler(void);
void hard_fault_entry(void);
void hard_fault_handler(const unsigned *frame);
void unexpected_handler(void);
void systick_handler(void);

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_top,
    reset_handler,
    unexpected_handler, /* NMI */
    hard_fault_entry,
    hard_fault_entry, /* MemManage, BusFault, UsageFault: off, so they escalate */
    hard_fault_entry,
    hard_fault_entry,
    0,
    0,
    0,
    0,
    unexpected_handler, /* SVC */
    unexpected_handler,
    0,
    unexpected_handler, /* PendSV */
    systick_handler,
};

#ifdef MPU_V8
static void allow(unsigned region, unsigned base, unsigned log2, unsigned attributes)
{
    MPU_RNR = region;
    MPU_RBAR = base | (attributes & RASR_NO_CODE ? RBAR_NO_CODE : 0) |
               ((attributes & RASR_READ_ONLY) == RASR_READ_ONLY ? RBAR_READ_ONLY : RBAR_FULL);
    MPU_RASR = (base + (1u << log2) - 32) | 1;
}
#else
static void allow(unsigned region, unsigned base, unsigned log2, unsigned attributes)
{
    MPU_RNR = region;
    MPU_RBAR = base;
    MPU_RASR = attributes | (log2 - 1) << 1 | 1;
}
#endif

/* Flash and RAM; any other address faults, but for the core's own registers. */
static void protect_memory(void)
{
#ifdef MPU_V8
    MPU_MAIR0 = MAIR_CACHED;
#endif
    allow(0, FLASH_BASE, FLASH_LOG2, RASR_READ_ONLY | RASR_CACHED);
    allow(1, RAM_BASE, RAM_LOG2, RASR_FULL | RASR_CACHED | RASR_NO_CODE);
    MPU_CTRL = 1;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

void reset_handler(void)
{
    unsigned *from = data_load;

    VTOR = (unsigned)vectors;
    for (unsigned *to = data_start; to < data_end;)
        *to++ = *from++;
    for (unsigned *to = bss_start; to < bss_end;)
        *to++ = 0;
    protect_memory();
    main();
}

/* The stack pointer still is where the core left it; C would have moved it. */
__attribute__((naked)) void hard_fault_entry(void)
{
    __asm__("mov r0, sp\n\tb hard_fault_handler");
}

void hard_fault_handler(const unsigned *frame)
{
    unsigned status = CFSR;

    fault.pc = frame[FRAME_PC];
    if (status & CFSR_MMARVALID)
        fault.address = MMFAR;
    else if (status & CFSR_BFARVALID)
        fault.address = BFAR;
    stopped_here();
}

void unexpected_handler(void)
{
    stopped_here();
}

void systick_handler(void)
{
    timer_tick();
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
