/* SPDX-License-Identifier: BSD-3-Clause */
/* A small kernel for a Cortex-A9, see kernel_a.S; TASKS and the others as kernel.c has them. */
#include "kernel.h"

#define REGISTER(address) (*(volatile u32 *)(address))
#define GICC_CTLR         REGISTER(0x1e000100u)
#define GICC_PMR          REGISTER(0x1e000104u)
#define GICD_CTLR         REGISTER(0x1e001000u)
#define GICD_ISENABLER0   REGISTER(0x1e001100u)
#define GICD_IPRIORITYR   ((volatile unsigned char *)0x1e001400u)
#define GICD_SGIR         REGISTER(0x1e001f00u)
#define TIMER_LOAD        REGISTER(0x1e000600u)
#define TIMER_CONTROL     REGISTER(0x1e000608u)
#define TIMER_STATUS      REGISTER(0x1e00060cu)

#define TIMER_INTERRUPT 29u
#define OTHER_INTERRUPT 1u
#define COUNTS          16u / 5u /* of the timer in an instruction */
#define STACK_WORDS     288u
#define QUEUE           8u
#define MODE_SYSTEM     0x1fu
#define FRAME_WORDS     17u /* nesting, r0-r12, LR, PC, CPSR */

struct task {
    u32 *top; /* first: kernel_a.S knows */
    u32 priority, wait;
    u32 stack[STACK_WORDS] __attribute__((aligned(8)));
};

void start_kernel(void);
void switch_context(void);
void serve(u32 *frame);
void interrupt(u32 number);
void finished(void);

struct task tasks[TASKS];
struct task *volatile current;
volatile u32 ticks, interrupts, steps, nesting, switches, interrupted, yield_wanted;
u32 queue[QUEUE];
volatile u32 queue_in, queue_out;

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

NOINLINE void serve(u32 *frame)
{
    frame[0] = frame[0] * 3 + frame[1] + ticks;
}

NOINLINE static void count_interrupt(void)
{
    interrupts++;
    queue[interrupts % QUEUE] ^= interrupts;
}

NOINLINE static void tick(void)
{
    TIMER_STATUS = 1;
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
            __asm__ volatile("cpsie i\n    nop\n    cpsid i" ::: "memory");
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
    register u32 r0 __asm__("r0") = a;
    register u32 r1 __asm__("r1") = b;
    __asm__ volatile("svc 1" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

NOINLINE void service_yield(void)
{
    __asm__ volatile("svc 2" ::: "memory");
}

NOINLINE void enter_critical(void)
{
    __asm__ volatile("cpsid i" ::: "memory");
    nesting++;
}

NOINLINE void leave_critical(void)
{
    if (--nesting == 0)
        __asm__ volatile("cpsie i" ::: "memory");
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
}

NOINLINE void count_step(void)
{
    if (++steps == STEPS)
        finished();
}

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
    TIMER_LOAD = TICK * COUNTS;
    TIMER_CONTROL = 7;
}
