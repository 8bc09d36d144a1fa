/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks on a Cortex-M, in the manner of the kernel that is linked with it: what they do is random,
 * by services and ticks. A task's r4-r11, and with HAS_FPU of every other one s0 and s16-s31, are
 * what its number says from its first instructions on, and its stack pointer is where it began.
 */
#include "kernel.h"

#define REGISTER(address) (*(volatile u32 *)(address))
#define SYST_CSR          REGISTER(0xe000e010u)
#define SYST_RVR          REGISTER(0xe000e014u)
#define SYST_CVR          REGISTER(0xe000e018u)
#define ICSR              REGISTER(0xe000ed04u)
#define CPACR             REGISTER(0xe000ed88u)

#define ICSR_PENDSVSET (1u << 28)
#define TICK           900u

void reset(void);
void body(u32 number);
void service(void);
void tick(void);
void unexpected(void);
void PendSV_Handler(void);
void choose(void);

volatile u32 truth_busy, truth_current, truth_state[TASKS], truth_top[TASKS], truth_control[TASKS];
volatile u32 truth_switches;
static u32 stacks[TASKS][STACK_WORDS] __attribute__((aligned(8)));
static u32 main_stack[256] __attribute__((aligned(8)));
static volatile u32 wait[TASKS], dice;

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))(main_stack + 256),
    reset,
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
    PendSV_Handler,
    tick,
};

void unexpected(void)
{
    for (;;)
        ;
}

static u32 roll(u32 sides)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 16) % sides;
}

void *memset(void *to, int value, u32 size);

__attribute__((noinline)) void *memset(void *to, int value, u32 size)
{
    volatile u8 *at = to;

    while (size--)
        *at++ = (u8)value;
    return to;
}

/* Task 0 is always ready. */
static void move(u32 number, u32 state)
{
    if (truth_state[number] == state)
        return;
    truth_busy = 1;
    truth_state[number] = state;
    kernel_move(number, state);
    truth_busy = 0;
}

__attribute__((used)) void choose(void)
{
    u32 number = roll(TASKS);

    while (truth_state[number] != READY)
        number = (number + 1) % TASKS;
    truth_busy = 1;
    truth_current = number;
    truth_switches++;
    kernel_choose(number);
    truth_busy = 0;
}

void service(void)
{
    u32 state = roll(4);

    if (truth_current != 0) {
        wait[truth_current] = 1 + roll(6);
        move(truth_current, state);
    }
    ICSR = ICSR_PENDSVSET;
}

void tick(void)
{
    for (u32 i = 1; i < TASKS; i++)
        if (truth_state[i] != READY && --wait[i] == 0)
            move(i, READY);
    if (roll(3))
        ICSR = ICSR_PENDSVSET;
}

__attribute__((naked)) void body(u32 number)
{
    (void)number;
    __asm__("add r4, r0, #0x100\n"
            "    add r5, r0, #0x200\n"
            "    add r6, r0, #0x300\n"
            "    add r7, r0, #0x400\n"
            "    add r8, r0, #0x500\n"
            "    add r9, r0, #0x600\n"
            "    add r10, r0, #0x700\n"
            "    add r11, r0, #0x800\n"
#ifdef HAS_FPU
            "    tst r0, #1\n"
            "    beq 1f\n"
            "    vmov s0, r4\n"
            "    vmov s16, r5\n"
            "    vmov s17, r6\n"
            "    vmov s30, r7\n"
            "    vmov s31, r8\n"
#endif
            "1:  movs r1, #0\n"
            "    .global body_loop\n"
            "body_loop:\n"
            "2:  adds r1, r1, #1\n"
            "    adds r0, r0, r1\n"
            "    cmp r1, #200\n"
            "    blt 2b\n"
            "    movs r1, #0\n"
            "    svc 1\n"
            "    b 2b\n"
            "    .global body_end\n"
            "body_end:\n"
            "    nop\n");
}

void reset(void)
{
    static const char *const names[TASKS] = {"idle",         "radio", "logger",
                                             "motor & <co>", "ui",    "net"};

#ifdef HAS_FPU
    CPACR |= 0xfu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    truth_busy = 1; /* until the first task is chosen */
    for (u32 i = 0; i < TASKS; i++) {
        u32 *top = stacks[i] + STACK_WORDS;
        truth_top[i] = (u32)top;
        *--top = FIRST_STATUS;
        *--top = (u32)body & ~1u;
        *--top = (u32)unexpected;
        top -= 5;
        *top = i;
        kernel_create(i, names[i], top);
    }
    SYST_RVR = TICK;
    SYST_CVR = 0;
    SYST_CSR = 7;
    kernel_start();
    unexpected();
}
