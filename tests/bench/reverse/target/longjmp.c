/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that a longjmp leaves: the registers in them are never given back. */
#include "small.h"

volatile u32 out;
u32 env[12];

__attribute__((naked, noinline, returns_twice)) static int set_jump(u32 *to)
{
    (void)to;
    __asm__("mov ip, sp\n    stmia r0!, {r4-r11, ip, lr}\n    movs r0, #0\n    bx lr");
}

__attribute__((naked, noinline)) static void jump(u32 *to, int value)
{
    (void)to;
    (void)value;
    __asm__("ldmia r0!, {r4-r11, ip, lr}\n    mov sp, ip\n    movs r0, r1\n    bx lr");
}

NOINLINE static u32 input(void)
{
    return COUNTER;
}

NOINLINE static u32 deep(u32 n)
{
    volatile u32 pad[2];

    pad[n & 1] = n;
    if (n == 0) {
        jump(env, 1);
        return 0;
    }
    return deep(n - 1) + pad[0];
}

NOINLINE static u32 use(void)
{
    volatile u32 bytes[24];
    u32 sum = 0;

    for (u32 i = 0; i < 24; i++) {
        u32 k = input() & 15;
        bytes[(i + k) % 24] = input();
    }
    for (int i = 0; i < 24; i++)
        sum = sum * 3 + bytes[i];
    return sum;
}

NOINLINE static void one_round(void)
{
    if (set_jump(env) == 0)
        deep(3);
    out = use();
}

void work_small(void)
{
    for (int i = 0; i < 10; i++)
        one_round();
    out = 0;
}
