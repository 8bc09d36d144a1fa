/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work for the virtual board's Cortex-M: calls, recursion, function pointers, IT blocks, every
 * exception that QEMU has, nested, tail-chained and late. The compiler is given ROUNDS and TICK,
 * the processor clocks between two SysTicks.
 */
#include "print.h"
#include "work.h"

#define NVIC_ISER    0xe000e100u
#define NVIC_IPR     0xe000e400u
#define SYSTICK      0xe000e010u
#define ICSR         0xe000ed04u
#define SHPR2        0xe000ed1cu
#define SHPR3        0xe000ed20u
#define SHCSR        0xe000ed24u
#define CPACR        0xe000ed88u
#define PEND_NMI     0x80000000u
#define PEND_PENDSV  0x10000000u
#define FAULTS       0x00070000u /* of SHCSR: Usage, Bus, MemManage instead of HardFault */
#define NOT_MAPPED   0x70000000u
#define FRAME_RETURN 6
#define FRAME_PSR    7
#define PSR_IT       0x0600fc00u

/* start_m.S */
void service_call(void);
void undefined(void);
unsigned load(unsigned address);
unsigned load_first(unsigned address);
void load_many(unsigned address);
void load_pc(unsigned address);
void pend_and_call(unsigned bits);
void pend_together(unsigned bits);
unsigned tables(unsigned value);
void next_branches(unsigned value);
unsigned long_block(unsigned value);

int main(void);
void service(void);
void skip_fault(unsigned *frame);
void interrupt(void);
void tick(void);
void nmi(void);

volatile unsigned services, faults, interrupts, ticks, nmis, pends;

static void write_word(unsigned address, unsigned value)
{
    *(volatile unsigned *)address = value;
}

void service(void)
{
    services++;
    if (services % 5 == 0)
        write_word(ICSR, PEND_PENDSV);
    if (services % 7 == 0)
        undefined();
}

/* Goes on behind the instruction that faulted, and behind its place in an IT block. */
void skip_fault(unsigned *frame)
{
    unsigned half = *(const unsigned short *)frame[FRAME_RETURN];

    faults++;
    frame[FRAME_RETURN] += half >> 11 >= 0x1d ? 4 : 2;
    frame[FRAME_PSR] &= ~PSR_IT;
}

void interrupt(void)
{
    interrupts++;
}

void tick(void)
{
    ticks++;
    if (ticks % 3 == 0)
        write_word(ICSR, PEND_PENDSV);
}

void nmi(void)
{
    nmis++;
}

static __attribute__((noinline)) unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static unsigned numbers[24];

#ifdef __ARM_FP
static float sum_of_roots;

/* Its registers make the frames of exceptions longer. */
static __attribute__((noinline)) unsigned floating(unsigned value)
{
    sum_of_roots = sum_of_roots * 0.5f + (float)value / 3.0f;
    return (unsigned)sum_of_roots;
}
#else
static unsigned floating(unsigned value)
{
    return value / 3;
}
#endif

static __attribute__((noinline)) unsigned work(unsigned round)
{
    unsigned sum = fibonacci(7 + round % 4);

    for (unsigned i = 0; i < 24; i++)
        numbers[i] = round * 31 + (i * 7919) % 97 + floating(i);
    sort(numbers, 24, round & 1 ? lower : higher);
    sum += checksum((const unsigned char *)numbers, sizeof numbers / 2);
    for (unsigned i = 0; i < 8; i++)
        sum += tables(round ^ i);
    return sum;
}

/* One of each, while SysTick comes between any two instructions. */
static void exceptions(unsigned round)
{
    write_word(SHCSR, round & 1 ? FAULTS : 0);
    service_call();
    undefined();
    load_many((unsigned)numbers + 1);
    load_pc((unsigned)numbers + 2);
#ifdef HAS_HOLES
    load(NOT_MAPPED);
    load_first(NOT_MAPPED);
#endif
    pend_and_call(1u << (round % 16) | 1u << 3);
    pend_together(1u << 9 | 1u << (round % 12) | 1u << 3);
    if (round % 4 == 1)
        write_word(ICSR, PEND_NMI | PEND_PENDSV);
    next_branches(round & 1);
    if (round % 8 == 3)
        __asm__ volatile("wfi");
}

static void start_interrupts(void)
{
    write_word(SHPR2, 0x80000000u); /* SVC */
    write_word(SHPR3, 0x40ff0000u); /* SysTick, PendSV */
    for (unsigned i = 0; i < 16; i += 4)
        write_word(NVIC_IPR + i, 0x2060a080u);
    write_word(NVIC_ISER, 0xffff);
    write_word(SYSTICK + 4, TICK - 1);
    write_word(SYSTICK + 8, 0);
    write_word(SYSTICK, 7);
}

int main(void)
{
    unsigned sum = 0;

#ifdef __ARM_FP
    write_word(CPACR, 0xf << 20);
    __asm__ volatile("dsb\n isb");
#endif
    start_interrupts();
    for (unsigned round = 0; round < ROUNDS; round++) {
        sum += work(round);
        exceptions(round);
        if (round % 8 == 7)
            sum += long_block(sum);
    }
    __asm__ volatile("cpsid i");
    print_count("services ", services);
    print_count("faults ", faults);
    print_count("interrupts ", interrupts);
    print_count("ticks ", ticks);
    print_count("nmis ", nmis);
    print_count("pends ", pends);
    return (int)sum;
}
