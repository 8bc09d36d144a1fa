/* SPDX-License-Identifier: BSD-3-Clause */
/* A small kernel for a Cortex-A9 or A53, see kernel_a.S and kernel_a64.S; TASKS and the others as
 * kernel.c has them. */
#include "kernel.h"

#ifdef __aarch64__
#define CPU_BASE         0x08010000u
#define DISTRIBUTOR_BASE 0x08000000u
#define TIMER_INTERRUPT  27u
#define COUNTS           2u /* of the timer in an instruction */
#define STACK_WORDS      320u
#define OPEN             "msr daifclr, #2"
#define CLOSE            "msr daifset, #2"
#define RESULT           "w0"
#define SECOND           "w1"
#else
#define CPU_BASE         0x1e000100u
#define DISTRIBUTOR_BASE 0x1e001000u
#define TIMER_INTERRUPT  29u
#define COUNTS           16u / 5u
#define STACK_WORDS      288u
#define OPEN             "cpsie i"
#define CLOSE            "cpsid i"
#define RESULT           "r0"
#define SECOND           "r1"
#endif

#define REGISTER(address) (*(volatile u32 *)(address))
#define GICC_CTLR         REGISTER(CPU_BASE)
#define GICC_PMR          REGISTER(CPU_BASE + 4u)
#define GICD_CTLR         REGISTER(DISTRIBUTOR_BASE)
#define GICD_ISENABLER0   REGISTER(DISTRIBUTOR_BASE + 0x100u)
#define GICD_IPRIORITYR   ((volatile unsigned char *)(DISTRIBUTOR_BASE + 0x400u))
#define GICD_SGIR         REGISTER(DISTRIBUTOR_BASE + 0xf00u)
#define TIMER_LOAD        REGISTER(0x1e000600u)
#define TIMER_CONTROL     REGISTER(0x1e000608u)
#define TIMER_STATUS      REGISTER(0x1e00060cu)

#define OTHER_INTERRUPT 1u
#define QUEUE           8u
#define MODE_SYSTEM     0x1fu
#define FRAME_WORDS     17u /* nesting, r0-r12, LR, PC, CPSR */
#define WIDE_FRAME      34u /* x0-x30, SP, PC, PSTATE */

struct task {
#ifdef __aarch64__
    unsigned long frame[WIDE_FRAME];
    u32 nesting;
#else
    u32 *top; /* first: kernel_a.S knows */
#endif
    u32 priority, wait;
    u32 stack[STACK_WORDS] __attribute__((aligned(16)));
};

void start_kernel(void);
void switch_context(void);
void interrupt(u32 number);
void finished(void);

struct task tasks[TASKS];
struct task *volatile current;
volatile u32 ticks, interrupts, steps, nesting, switches, interrupted, yield_wanted;
u32 queue[QUEUE];
volatile u32 queue_in, queue_out, latest_bit;
#ifdef NO_INPUT
volatile u32 input_number;
#endif

/* Handlers. */

NOINLINE void switch_context(void)
{
    u32 best = 0, first = switches++ % TASKS;

    for (u32 i = 0; i < TASKS; i++) {
        struct task *t = &tasks[(first + i) % TASKS];
        if (t->wait || t->priority <= best)
            continue;
        best = t->priority + 1;
        current = t;
    }
}

#ifdef __aarch64__
void serve(unsigned long *frame, u32 number);
void take_task(unsigned long *frame);
void change_task_if_wanted(unsigned long *frame);
u32 call_upper(u32 value);

NOINLINE void take_task(unsigned long *frame)
{
    for (u32 i = 0; i < WIDE_FRAME; i++)
        frame[i] = current->frame[i];
    nesting = current->nesting;
}

static void change_task(unsigned long *frame)
{
    for (u32 i = 0; i < WIDE_FRAME; i++)
        current->frame[i] = frame[i];
    current->nesting = nesting;
    switch_context();
    take_task(frame);
}

NOINLINE void change_task_if_wanted(unsigned long *frame)
{
    if (!yield_wanted)
        return;
    yield_wanted = 0;
    change_task(frame);
}

NOINLINE void serve(unsigned long *frame, u32 number)
{
    if (number == 2)
        change_task(frame);
    else if (number == 3)
        finished();
    else
        frame[0] = (u32)(frame[0] * 3 + frame[1] + call_upper(ticks));
}
#else
void serve(u32 *frame);

NOINLINE void serve(u32 *frame)
{
    frame[0] = frame[0] * 3 + frame[1] + ticks;
}
#endif

/* The next tick is counted from now. */
static void set_timer(u32 count)
{
#ifdef __aarch64__
    __asm__ volatile(
        "msr cntv_tval_el0, %0\n    msr cntv_ctl_el0, %1\n    isb" ::"r"((unsigned long)count),
        "r"(1ul));
#else
    TIMER_LOAD = count;
    TIMER_CONTROL = 7;
#endif
}

NOINLINE static void count_interrupt(void)
{
    interrupts++;
    queue[interrupts % QUEUE] ^= interrupts;
}

NOINLINE static void tick(void)
{
#ifdef __aarch64__
    set_timer(TICK * COUNTS);
#else
    TIMER_STATUS = 1;
#endif
    if (++ticks == TICKS)
        finished();
    for (u32 i = 0; i < TASKS; i++)
        if (tasks[i].wait)
            tasks[i].wait--;
    if (ticks % 3)
        yield_wanted = 1;
    if (ticks % INTERRUPT == 0) { /* taken at once, or a little later */
        GICD_SGIR = 2u << 24 | OTHER_INTERRUPT;
        if (ticks & 1)
            __asm__ volatile(OPEN "\n    nop\n    " CLOSE ::: "memory");
    }
}

NOINLINE void interrupt(u32 number)
{
    if ((number & 0x3ff) == TIMER_INTERRUPT) {
        tick();
        return;
    }
    count_interrupt();
    if (interrupts & 1)
        yield_wanted = 1;
}

/* What tasks call, the compiler's own first. */

void *memset(void *to, int value, u32 size);

NOINLINE void *memset(void *to, int value, u32 size)
{
    unsigned char *at = to;

    while (size--)
        *at++ = (unsigned char)value;
    return to;
}

NOINLINE u32 service_mix(u32 a, u32 b)
{
    register u32 r0 __asm__(RESULT) = a;
    register u32 r1 __asm__(SECOND) = b;
    __asm__ volatile("svc #1" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

NOINLINE void service_yield(void)
{
    __asm__ volatile("svc #2" ::: "memory");
}

NOINLINE void enter_critical(void)
{
    __asm__ volatile(CLOSE ::: "memory");
    nesting++;
}

NOINLINE void leave_critical(void)
{
    if (--nesting == 0)
        __asm__ volatile(OPEN ::: "memory");
}

NOINLINE void yield(void)
{
    service_yield();
}

NOINLINE void queue_send(u32 value)
{
    enter_critical();
    queue[queue_in++ % QUEUE] = value;
    leave_critical();
}

NOINLINE u32 queue_receive(void)
{
    u32 value;

    enter_critical();
    value = queue[queue_out++ % QUEUE];
    leave_critical();
    yield();
    return value;
}

NOINLINE u32 coroutine_step(u32 value)
{
    return value;
}

NOINLINE void set_bit(volatile u32 *word, u32 bit, u32 value)
{
    *word = (*word & ~(1u << (bit & 31))) | (value & 1) << (bit & 31);
    __atomic_exchange_n(&latest_bit, bit, __ATOMIC_SEQ_CST); /* exclusives */
}

NOINLINE void count_step(void)
{
    if (++steps == STEPS) {
#ifdef __aarch64__
        __asm__ volatile("svc #3" ::: "memory");
#else
        finished();
#endif
    }
}

#ifdef __aarch64__
static void make_task(struct task *t, u32 number)
{
    t->frame[0] = number;
    t->frame[31] = (unsigned long)(t->stack + STACK_WORDS);
    t->frame[32] = (unsigned long)task_main;
    t->frame[33] = LEVEL;
    t->priority = 1 + number % 3;
}
#else
/* As kernel_a.S puts it away. */
static void make_task(struct task *t, u32 number)
{
    u32 *top = t->stack + STACK_WORDS - FRAME_WORDS - 1;

    for (u32 i = 0; i < FRAME_WORDS; i++)
        top[i] = 0;
    top[1] = number;
    top[14] = (u32)finished;
    top[15] = (u32)task_main & ~1u;
    top[16] = MODE_SYSTEM | ((u32)task_main & 1) << 5;
    t->top = top;
    t->priority = 1 + number % 3;
}
#endif

void start_kernel(void)
{
    for (u32 i = 0; i < TASKS; i++)
        make_task(&tasks[i], i);
    current = &tasks[0];
    GICD_IPRIORITYR[OTHER_INTERRUPT] = 0x40;
    GICD_IPRIORITYR[TIMER_INTERRUPT] = 0x80;
    GICD_ISENABLER0 = 1u << TIMER_INTERRUPT | 1u << OTHER_INTERRUPT;
    GICC_PMR = 0xf0;
    GICC_CTLR = 1;
    GICD_CTLR = 1;
    set_timer(TICK * COUNTS);
}
