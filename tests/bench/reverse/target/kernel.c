/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small kernel for the M profile that switches tasks as those of the field do: PSP for tasks, SVC
 * to start the first one and for services, PendSV with stmdb/ldmia through PSP and BASEPRI, a tick
 * that pends PendSV and is chained to it, first frames that are made up, with HAS_FPU frames of
 * either length. TASKS, STEPS, TICK, INTERRUPT: how many. TICKS: it ends then at the latest.
 */
#include "kernel.h"
#include "finish_m.h"

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

/* Whose turn it is: a matter of a number that nobody knows, or of what the kernel has written down.
 */
#ifdef PLAIN
#define CHANCE 0
#else
#define CHANCE (input() & 1)
#endif

#define ICSR_PENDSVSET (1u << 28)
#define STACK_WORDS    288u
#define QUEUE          8u
#define FIRST_STATUS   0x01000000u
#ifndef FIRST_RETURN
#define FIRST_RETURN 0xfffffffdu
#endif

struct task {
    u32 *top; /* first: the handlers know */
    u32 priority, wait;
    u32 stack[STACK_WORDS] __attribute__((aligned(8)));
};

extern u32 stack_top[];
void start(void);
void unexpected(void);
void service(void);
void pend(void);
void tick(void);
void interrupt(void);
void finished(void);

#ifdef NO_INPUT
volatile u32 input_number;
#endif
struct task tasks[TASKS];
struct task *volatile current;
volatile u32 ticks, interrupts, steps, nesting, switches;
u32 queue[QUEUE];
volatile u32 queue_in, queue_out;

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

void unexpected(void)
{
    finished();
}

/* Handlers. */

NOINLINE __attribute__((used)) void switch_context(void)
{
    u32 best = 0, first = switches++ % TASKS;

    for (u32 i = 0; i < TASKS; i++) {
        struct task *t = &tasks[(first + i) % TASKS];
        if (t->wait)
            continue;
        if (t->priority + CHANCE > best) {
            best = t->priority + 1;
            current = t;
        }
    }
}

__attribute__((naked)) void pend(void)
{
    __asm__("mrs r0, psp\n"
            "    isb\n"
            "    ldr r3, =current\n"
            "    ldr r2, [r3]\n"
#ifdef HAS_FPU
            "    tst r14, #0x10\n"
            "    it eq\n"
            "    vstmdbeq r0!, {s16-s31}\n"
            "    stmdb r0!, {r4-r11, r14}\n"
#else
            "    stmdb r0!, {r4-r11}\n"
#endif
            "    str r0, [r2]\n"
            "    stmdb sp!, {r3, r14}\n"
            "    mov r0, #0x20\n"
            "    msr basepri, r0\n"
            "    dsb\n"
            "    isb\n"
            "    bl switch_context\n"
            "    mov r0, #0\n"
            "    msr basepri, r0\n"
            "    ldmia sp!, {r3, r14}\n"
            "    ldr r1, [r3]\n"
            "    ldr r0, [r1]\n"
#ifdef HAS_FPU
            "    ldmia r0!, {r4-r11, r14}\n"
            "    tst r14, #0x10\n"
            "    it eq\n"
            "    vldmiaeq r0!, {s16-s31}\n"
#else
            "    ldmia r0!, {r4-r11}\n"
#endif
            "    msr psp, r0\n"
            "    isb\n"
            "    bx r14\n"
            "    .ltorg\n");
}

NOINLINE __attribute__((used)) void serve(u32 *frame)
{
    u32 number = ((const unsigned char *)frame[6])[-2];

    if (number == 1)
        frame[0] = frame[0] * 3 + frame[1] + ticks;
    else
        ICSR = ICSR_PENDSVSET;
}

/* SVC 0 begins the first task. */
__attribute__((naked)) void service(void)
{
    __asm__("tst lr, #4\n"
            "    ite eq\n"
            "    mrseq r0, msp\n"
            "    mrsne r0, psp\n"
            "    ldr r1, [r0, #24]\n"
            "    ldrb r1, [r1, #-2]\n"
            "    cbz r1, 1f\n"
            "    b serve\n"
            "1:  ldr r3, =current\n"
            "    ldr r1, [r3]\n"
            "    ldr r0, [r1]\n"
#ifdef HAS_FPU
            "    ldmia r0!, {r4-r11, r14}\n"
#else
            "    ldmia r0!, {r4-r11}\n"
            "    orr r14, #0xd\n"
#endif
            "    msr psp, r0\n"
            "    isb\n"
            "    mov r0, #0\n"
            "    msr basepri, r0\n"
            "    bx r14\n"
            "    .ltorg\n");
}

NOINLINE static void count_interrupt(void)
{
    interrupts++;
    queue[interrupts % QUEUE] ^= interrupts;
}

void tick(void)
{
    if (++ticks == TICKS)
        finished();
    for (u32 i = 0; i < TASKS; i++)
        if (tasks[i].wait)
            tasks[i].wait--;
    if (ticks % 3)
        ICSR = ICSR_PENDSVSET;
    if (ticks % INTERRUPT == 0)
        NVIC_ISPR = 1;
}

void interrupt(void)
{
    count_interrupt();
    if (interrupts & 1)
        ICSR = ICSR_PENDSVSET;
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

__attribute__((naked)) u32 service_mix(u32 a, u32 b)
{
    (void)a;
    (void)b;
    __asm__("svc 1\n    bx lr");
}

__attribute__((naked)) void service_yield(void)
{
    __asm__("svc 2\n    bx lr");
}

NOINLINE void enter_critical(void)
{
    u32 level = 0x20;
    __asm__ volatile("msr basepri, %0\n    isb\n    dsb" ::"r"(level) : "memory");
    nesting++;
}

NOINLINE void leave_critical(void)
{
    if (--nesting == 0)
        __asm__ volatile("msr basepri, %0" ::"r"(0) : "memory");
}

NOINLINE void yield(void)
{
    enter_critical();
    ICSR = ICSR_PENDSVSET;
    leave_critical();
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
    if (value & 1)
        current->wait = value & 3;
    leave_critical();
    yield();
    return value;
}

/* Two stacks that take turns; the other one is that of all tasks, one at a time. */
u32 co_stack[96] __attribute__((aligned(8)));
u32 *co_top;

__attribute__((naked, noinline)) static u32 co_switch(u32 value)
{
    (void)value;
    __asm__("push {r4-r11, lr}\n"
            "    ldr r1, =co_top\n"
            "    ldr r2, [r1]\n"
            "    str sp, [r1]\n"
            "    mov sp, r2\n"
            "    pop {r4-r11, pc}\n"
            "    .ltorg\n");
}

NOINLINE __attribute__((used)) void co_body(void)
{
    u32 value = 0;

    for (;;)
        value = co_switch(value * 5 + 1) ^ 0x55;
}

NOINLINE u32 coroutine_step(u32 value)
{
    enter_critical();
    if (!co_top) {
        co_top = co_stack + 96 - 9;
        co_top[8] = (u32)co_body;
    }
    value = co_switch(value);
    leave_critical();
    return value;
}

__attribute__((naked, noinline, returns_twice)) int set_jump(u32 *to)
{
    (void)to;
    __asm__("mov ip, sp\n    stmia r0!, {r4-r11, ip, lr}\n    movs r0, #0\n    bx lr");
}

__attribute__((naked, noinline)) void long_jump(u32 *to, int value)
{
    (void)to;
    (void)value;
    __asm__("ldmia r0!, {r4-r11, ip, lr}\n    mov sp, ip\n    movs r0, r1\n    bx lr");
}

NOINLINE void set_bit(volatile u32 *word, u32 bit, u32 value)
{
#ifdef BIT_BAND
    ((volatile u32 *)(0x22000000u + (((u32)word & 0xfffff) << 5)))[bit & 31] = value;
#else
    *word = (*word & ~(1u << (bit & 31))) | (value & 1) << (bit & 31);
#endif
}

__attribute__((naked)) void finished(void)
{
    FINISH_M;
}

NOINLINE void count_step(void)
{
    if (++steps == STEPS)
        finished();
}

/* A frame as an exception leaves it, above it r4-r11 as PendSV does. */
static void make_task(struct task *t, u32 number)
{
    u32 *top = t->stack + STACK_WORDS;

    *--top = FIRST_STATUS;
    *--top = (u32)task_main & ~1u;
    *--top = (u32)unexpected;
    top -= 5;
    *top = number;
#ifdef HAS_FPU
    *--top = FIRST_RETURN;
#endif
    top -= 8;
    t->top = top;
    t->priority = 1 + number % 3;
}

void start(void)
{
#ifdef HAS_FPU
    CPACR |= 0xfu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    for (u32 i = 0; i < TASKS; i++)
        make_task(&tasks[i], i);
    current = &tasks[0];
    NVIC_IPR = 0x20;
    SHPR2 = 0;
    SHPR3 = 0xe0u << 24 | 0xf0u << 16;
    NVIC_ISER = 1;
    SYST_RVR = TICK;
    SYST_CVR = 0;
    SYST_CSR = 7;
    __asm__ volatile("cpsie i\n    dsb\n    isb\n    svc 0");
    for (;;)
        ;
}
