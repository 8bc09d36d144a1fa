/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work for the virtual board's Cortex-A53 in AArch64 state: calls, recursion, function pointers,
 * two exception levels, and every exception that QEMU has. The compiler is given ROUNDS and TIMER,
 * the period of the timer in steps of 16 ns.
 */
#include "print.h"
#include "work.h"

#define DEVICES         0xffffff8000000000ul
#define GIC_DISTRIBUTOR 0x08000000u
#define GIC_CPU         0x08010000u
#define TIMER_INTERRUPT 27
#define NOT_MAPPED      0x10000ul

#define CLASS_FLOAT 0x07
#define CLASS_SVC   0x15
#define CLASS_FETCH 0x20
#define CLASS_PC    0x22
#define LEVEL_1     5ul

struct frame {
    unsigned long x[19];
    unsigned long lr;
    unsigned long elr;
    unsigned long spsr;
};

/* start_a64.S */
void service_call(void);
void undefined(void);
void floating(unsigned long value);
void breakpoint(void);
unsigned long load(unsigned long address);
unsigned long load_first(unsigned long address);
void load_pair(unsigned long address);
unsigned long tables(unsigned long value);
void next_branches(unsigned long value);
void set_context_id(unsigned long value);
unsigned long long_block(unsigned long value);
void run_user(unsigned long count);
void wake_second(void);
extern char user_done[];

int main(void);
void second(void);
void synchronous(struct frame *frame);
void interrupt(struct frame *frame);

volatile unsigned services, traps, faults, ticks, generated, second_sum, second_done;

static void write_word(unsigned long address, unsigned value)
{
    *(volatile unsigned *)(DEVICES + address) = value;
}

static unsigned read_word(unsigned long address)
{
    return *(volatile unsigned *)(DEVICES + address);
}

static unsigned core(void)
{
    unsigned long id;

    __asm__ volatile("mrs %0, mpidr_el1" : "=r"(id));
    return id & 0xff;
}

static void serve(struct frame *frame, unsigned number)
{
    services++;
    if (number != 1)
        return;
    frame->elr = (unsigned long)user_done;
    frame->spsr = LEVEL_1;
}

/* A fault of a fetch goes on where the call came from, others behind the instruction. */
void synchronous(struct frame *frame)
{
    unsigned long syndrome;
    unsigned class;

    __asm__ volatile("mrs %0, esr_el1" : "=r"(syndrome));
    class = syndrome >> 26 & 0x3f;
    if (class == CLASS_SVC) {
        serve(frame, syndrome & 0xffff);
        return;
    }
    if (class == 0 || class == CLASS_FLOAT || class >= 0x3c)
        traps++;
    else
        faults++;
    if ((class & ~1u) == CLASS_FETCH || class == CLASS_PC)
        frame->elr = frame->lr;
    else
        frame->elr += 4;
}

static unsigned period(void)
{
    return core() ? 997 : TIMER;
}

void interrupt(struct frame *frame)
{
    unsigned id = read_word(GIC_CPU + 0xc);

    (void)frame;
    if ((id & 0x3ff) == TIMER_INTERRUPT) {
        __asm__ volatile("msr cntv_tval_el0, %0\n\tisb" ::"r"((unsigned long)period()));
        if (core() == 0)
            ticks++;
    } else {
        generated++;
    }
    write_word(GIC_CPU + 0x10, id);
}

static __attribute__((noinline)) unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static unsigned numbers[24];

static __attribute__((noinline)) unsigned work(unsigned round)
{
    unsigned sum = fibonacci(9 + round % 3);

    for (unsigned i = 0; i < 24; i++)
        numbers[i] = round * 31 + i * 7919 % 97;
    sort(numbers, 24, round & 1 ? lower : higher);
    sum += checksum((const unsigned char *)numbers, sizeof numbers / 2);
    for (unsigned i = 0; i < 8; i++)
        sum += tables(round ^ i);
    return sum;
}

/* One of each, while the timer's interrupts come between any two instructions. */
static void exceptions(unsigned round)
{
    service_call();
    undefined();
    floating(round);
    breakpoint();
    load(NOT_MAPPED);
    load_first(NOT_MAPPED);
    load_pair(NOT_MAPPED);
    ((void (*)(void))NOT_MAPPED)();
    ((void (*)(void))((unsigned long)tables | 2))();
    run_user(round % 5 + 1);
    write_word(GIC_DISTRIBUTOR + 0xf00, 0x02000000u | (round & 7)); /* SGI to itself */
    next_branches(round & 1);
    set_context_id(round << 8 | 0x5a);
    if (round % 8 == 3)
        __asm__ volatile("wfi");
}

static void start_interrupts(void)
{
    write_word(GIC_DISTRIBUTOR, 1);
    write_word(GIC_DISTRIBUTOR + 0x100, 1u << TIMER_INTERRUPT | 0xffff);
    write_word(GIC_CPU + 4, 0xf0);
    write_word(GIC_CPU, 1);
    __asm__ volatile(
        "msr cntv_tval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb\n\tmsr daifclr, #2" ::"r"(
            (unsigned long)period()),
        "r"(1ul));
}

void second(void)
{
    start_interrupts();
    for (unsigned i = 0; i < 1000; i++)
        second_sum += fibonacci(i % 10);
    /* A pending interrupt, though masked, would let it never sleep. */
    __asm__ volatile("msr daifset, #2\n\tmsr cntv_ctl_el0, xzr\n\tisb");
    second_done = 1;
}

int main(void)
{
    unsigned sum = 0;

#ifdef CORES
    wake_second();
#endif
    start_interrupts();
    for (unsigned round = 0; round < ROUNDS; round++) {
        sum += work(round);
        exceptions(round);
        if (round % 8 == 7)
            sum += (unsigned)long_block(sum);
    }
#ifdef CORES
    while (!second_done)
        __asm__ volatile("yield");
#endif
    __asm__ volatile("msr daifset, #2");
    print_count("services ", services);
    print_count("traps ", traps);
    print_count("faults ", faults);
    print_count("interrupts ", ticks + generated);
    return (int)sum;
}
