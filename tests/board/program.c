/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work for the virtual board's Cortex-A9: calls, recursion, function pointers, both instruction
 * sets, and every exception that QEMU has. The compiler is given ROUNDS, and may be given TIMER,
 * the period of the timer in steps of 10 ns.
 */
#include "print.h"

#ifndef TIMER
#define TIMER 1237
#endif

#define A32 __attribute__((target("arm"), noinline))
#define T32 __attribute__((target("thumb"), noinline))

#define WORK_ONE   A32
#define WORK_OTHER T32
#include "work.h"

#define SCU_CONFIGURATION 0x1e000004u
#define GIC_CPU           0x1e000100u
#define GIC_DISTRIBUTOR   0x1e001000u
#define PRIVATE_TIMER     0x1e000600u
#define TIMER_INTERRUPT   29
#define NOT_MAPPED        0x70000000u

/* start.S */
void service_call(unsigned value);
void service_call_thumb(unsigned value);
void set_monitor(const void *base);
void monitor_call(void);
void monitor_entry(void);
void undefined_a32(void);
void undefined_t32(void);
void undefined_entry(void);
unsigned load(unsigned address);
unsigned load_first(unsigned address);
unsigned load_pc(unsigned address);
void breakpoint(void);
unsigned indirect(unsigned value);
unsigned tables(unsigned value);
void barriers(void);
void set_context_id(unsigned value);
void next_branches(unsigned value);
unsigned long_block(unsigned value);
void set_exceptions(const void *base, unsigned te);
extern char vectors[], vectors_twice[], vectors_thumb[], vectors_monitor[];

int main(void);
void second(void);
unsigned service(unsigned value);
unsigned skip_undefined(unsigned address);
unsigned prefetch_abort(unsigned address);
void data_abort(void);
void interrupt(void);

volatile unsigned services, undefined, aborts, ticks, generated, second_sum, second_done;

static unsigned read_word(unsigned address)
{
    return *(volatile unsigned *)address;
}

static void write_word(unsigned address, unsigned value)
{
    *(volatile unsigned *)address = value;
}

T32 unsigned service(unsigned value)
{
    services++;
    return value;
}

/* The instruction after the one at `address`: 16 bits only if it is the short UDF. */
A32 unsigned skip_undefined(unsigned address)
{
    unsigned half = *(const unsigned short *)address;

    undefined++;
    return half >> 8 == 0xde ? address + 2 : address + 4;
}

/* Where a prefetch abort goes on: a breakpoint is skipped, that of vectors_twice is undefined. */
T32 unsigned prefetch_abort(unsigned address)
{
    aborts++;
    if (address == (unsigned)vectors_twice + 4)
        return (unsigned)undefined_entry;
    if (address == NOT_MAPPED + 8) /* vector of an SMC that could not be fetched */
        return (unsigned)monitor_entry;
    if (address == NOT_MAPPED)
        return (unsigned)breakpoint + 4; /* a return: the call's LR is in place */
    return address + 4;
}

A32 void data_abort(void)
{
    aborts++;
}

A32 void interrupt(void)
{
    unsigned id = read_word(GIC_CPU + 0xc) & 0x3ff;

    if (id == TIMER_INTERRUPT) {
        write_word(PRIVATE_TIMER + 0xc, 1);
        ticks++;
    } else {
        generated++;
    }
    write_word(GIC_CPU + 0x10, id);
}

T32 static unsigned fibonacci_t32(unsigned n);

A32 static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci_t32(n - 1) + fibonacci(n - 2);
}

T32 static unsigned fibonacci_t32(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci_t32(n - 2);
}

T32 static unsigned choose(unsigned value)
{
    switch (value % 7) {
    case 0:
        return value + 3;
    case 1:
        return value ^ 0x55;
    case 2:
        return value * 5;
    case 3:
        return value >> 1;
    case 4:
        return fibonacci(value % 5);
    case 5:
        return ~value;
    default:
        return 1;
    }
}

static unsigned numbers[24];

A32 static unsigned work(unsigned round)
{
    unsigned sum = fibonacci(9 + round % 3);

    for (unsigned i = 0; i < 24; i++)
        numbers[i] = choose(round * 31 + i * 7);
    sort(numbers, 24, round & 1 ? lower : higher);
    sum += checksum((const unsigned char *)numbers, sizeof numbers / 2);
    for (unsigned i = 0; i < 8; i++)
        sum += indirect(round + i) + tables(round ^ i);
    return sum;
}

/* One of each, while the timer's interrupts come between any two instructions. */
A32 static void exceptions(unsigned round)
{
    service_call(round);
    service_call_thumb(round);
    undefined_a32();
    undefined_t32();
    load(NOT_MAPPED);
    load_first(NOT_MAPPED);
    load_pc(NOT_MAPPED);
    breakpoint();
    ((void (*)(void))NOT_MAPPED)();
    set_monitor(round % 4 == 1 ? (void *)NOT_MAPPED : vectors_monitor);
    if (round % 4 != 3) /* Monitor mode's vectors are A32 */
        monitor_call();
    write_word(GIC_DISTRIBUTOR + 0xf00, 0x02000000u | (round & 7)); /* SGI to itself */
    barriers();
    next_branches(round & 1);
    set_context_id(round << 8 | 0x5a);
}

A32 static void start_timer(unsigned period)
{
    write_word(GIC_CPU + 4, 0xf0);
    write_word(GIC_CPU, 1);
    write_word(GIC_DISTRIBUTOR + 0x100, 1u << TIMER_INTERRUPT | 0xffff);
    write_word(GIC_DISTRIBUTOR, 1);
    write_word(PRIVATE_TIMER, period);
    write_word(PRIVATE_TIMER + 8, 7); /* interrupt, reload, on */
    __asm__ volatile("cpsie i");
}

A32 void second(void)
{
    start_timer(997);
    for (unsigned i = 0; i < 1000; i++)
        second_sum += fibonacci(i % 10);
    __asm__ volatile("cpsid i");
    second_done = 1;
}

A32 int main(void)
{
    unsigned sum = 0;

    start_timer(TIMER);
    for (unsigned round = 0; round < ROUNDS; round++) {
        sum += work(round);
        if (round % 4 == 3)
            set_exceptions(vectors_thumb, 1);
        else
            set_exceptions(round % 4 == 1 ? vectors_twice : vectors, 0);
        exceptions(round);
        if (round % 8 == 7)
            sum += long_block(sum);
    }
    if (read_word(SCU_CONFIGURATION) & 3) /* number of cores - 1 */
        while (!second_done)
            __asm__ volatile("yield");
    __asm__ volatile("cpsid i");
    print_count("services ", services);
    print_count("undefined ", undefined);
    print_count("aborts ", aborts);
    print_count("interrupts ", ticks + generated);
    return (int)sum;
}
