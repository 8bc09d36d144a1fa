/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cortex-M3 of mps2-an385, M4 of netduinoplus2, M7 of mps2-an500 and M33 of mps2-an505 (in Secure
 * state all along): interrupts that interrupt each other and a supervisor call. HAS_FPU: there are
 * floating-point registers in the frames.
 */
#include "finish_m.h"
#include "work.h"

#define REGISTER(address) (*(volatile u32 *)(address))
#define SYST_CSR          REGISTER(0xe000e010u)
#define SYST_RVR          REGISTER(0xe000e014u)
#define SYST_CVR          REGISTER(0xe000e018u)
#define NVIC_ISER         REGISTER(0xe000e100u)
#define NVIC_ISPR         REGISTER(0xe000e200u)
#define NVIC_IPR          REGISTER(0xe000e400u)
#define ICSR              REGISTER(0xe000ed04u)
#define SHPR2             REGISTER(0xe000ed1cu)
#define SHPR3             REGISTER(0xe000ed20u)
#define CPACR             REGISTER(0xe000ed88u)

#define ICSR_PENDSVSET (1u << 28)

#ifdef HAS_FPU
typedef float number;
#else
typedef int number;
#endif

extern u32 stack_top[];

void start(void);
void unexpected(void);
void service(void);
void pend(void);
void tick(void);
void interrupt(void);

volatile u32 ticks, services, pends, interrupts;
volatile number mean;

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))stack_top,
    start,
    unexpected,
    unexpected,
    unexpected,
    unexpected,
    unexpected,
    0,
    0,
    0,
    0,
    service,
    unexpected,
    0,
    pend,
    tick,
    interrupt,
};

/* Handlers, the lowest first. */

/* With floating point its result is in a register that only the description of such cores has. */
T32 number weighted(u32 value)
{
    return mean * 3 + (number)value;
}

T32 void blend(u32 value)
{
    mean = weighted(value) / 4;
}

void pend(void)
{
    pends++;
    blend(pends & 7);
}

T32 u32 count_tick(u32 by)
{
    ticks += by;
    if (ticks % 2 == 0)
        ICSR = ICSR_PENDSVSET;
    return ticks;
}

void tick(void)
{
    if (count_tick(1) % 3 == 0)
        NVIC_ISPR = 1; /* of a higher priority: at once */
    blend(2);
}

T32 void count_interrupt(void)
{
    interrupts++;
}

void interrupt(void)
{
    count_interrupt();
    blend(4);
}

void service(void)
{
    services++;
}

void unexpected(void)
{
    finished(0);
}

/* Thread mode. */

T32 static void call_service(void)
{
    __asm__ volatile("svc 1" ::: "memory");
}

T32 static u32 polynomial(u32 at, u32 terms)
{
    number x = (number)at / 2, sum = 0;

    for (u32 i = 0; i < terms; i++)
        sum = sum * x + (number)i;
    return (u32)sum;
}

u32 work_board(u32 seed)
{
    u32 value = polynomial(seed & 3, 5);

    if (seed % 2)
        call_service();
    blend(value);
    return (u32)mean + services;
}

void start(void)
{
#ifdef HAS_FPU
    CPACR |= 0xfu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    blend(8);
    NVIC_IPR = 0x20;
    SHPR2 = 0x60u << 24;
    SHPR3 = 0x40u << 24 | 0xe0u << 16;
    NVIC_ISER = 1;
    SYST_RVR = TICK;
    SYST_CVR = 0;
    SYST_CSR = 7;
    main();
}

__attribute__((naked)) void finished(u32 sum)
{
    (void)sum;
    FINISH_M;
}
