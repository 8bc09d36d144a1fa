/* SPDX-License-Identifier: BSD-3-Clause */
/* The Non-secure part of the program that program_secure.c begins. */
#include "secure.h"

#define SHCSR         0xe000ed24u
#define SHPR2         0xe000ed1cu
#define SHPR3         0xe000ed20u
#define ICSR          0xe000ed04u
#define NVIC_ISER     0xe000e100u
#define NVIC_ISPR     0xe000e200u
#define SYSTICK       0xe000e010u
#define FAULTS        0x00040000u /* of SHCSR: Usage */
#define PEND_SV       0x10000000u
#define SECURE_MEMORY 0x38000000u

/* start_nonsecure.S */
void nonsecure_service_call(void);
void nonsecure_undefined(void);
unsigned nonsecure_load(unsigned address);

void nonsecure_interrupt(void);
void nonsecure_interrupt_calls(void);
void nonsecure_tick(void);
void nonsecure_service(void);
void nonsecure_pend(void);
void nonsecure_fault(unsigned *frame);

static volatile unsigned sums;

static void write_word(unsigned address, unsigned value)
{
    *(volatile unsigned *)address = value;
}

void nonsecure_interrupt(void)
{
    COUNTS->interrupts++;
}

void nonsecure_interrupt_calls(void)
{
    COUNTS->interrupts++;
    sums += secure_sum(sums, 5);
}

void nonsecure_tick(void)
{
    COUNTS->ticks++;
    if (COUNTS->ticks % 4 == 0)
        sums += secure_sum(COUNTS->ticks, 1);
    if (COUNTS->ticks % 3 == 0)
        write_word(ICSR, PEND_SV);
}

void nonsecure_service(void)
{
    COUNTS->services++;
}

void nonsecure_pend(void)
{
    COUNTS->pends++;
}

void nonsecure_fault(unsigned *frame)
{
    unsigned half = *(const unsigned short *)frame[6];

    COUNTS->faults++;
    frame[6] += half >> 11 >= 0x1d ? 4 : 2;
}

static __attribute__((noinline)) unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static __attribute__((noinline)) unsigned called_back(unsigned value)
{
    if (value & 1)
        sums += secure_sum(value, 3);
    return value + fibonacci(value & 7);
}

void nonsecure_main(unsigned rounds)
{
    write_word(SHCSR, FAULTS);
    write_word(SHPR2, 0x80000000u);
    write_word(SHPR3, 0x60e00000u);
    write_word(NVIC_ISER, 0xc);
    write_word(SYSTICK + 4, TICK + 170);
    write_word(SYSTICK + 8, 0);
    write_word(SYSTICK, 7);
    for (unsigned round = 0; round < rounds; round++) {
        sums += fibonacci(round & 7);
        sums += secure_sum(round, sums);
        sums += secure_with_service(round);
        sums += secure_calls_back(called_back, round);
        nonsecure_service_call();
        nonsecure_undefined();
        sums += nonsecure_load(SECURE_MEMORY);
        secure_raise(1u << (round & 3));
        secure_raise(0xfu & ~(1u << (round % 5)));
        write_word(NVIC_ISPR, 4u << (round & 1));
        if (round % 3 == 1)
            write_word(ICSR, PEND_SV);
    }
    write_word(SYSTICK, 0);
}
