/* SPDX-License-Identifier: BSD-3-Clause */
/* A service that gives its result back in the stacked r0, as kernels do. */
#include "small.h"

volatile u32 nest, out;

__attribute__((naked, noinline)) static u32 call_service(u32 a, u32 b)
{
    (void)a;
    (void)b;
    __asm__("svc 1\n    bx lr");
}

NOINLINE __attribute__((used)) void serve(u32 *frame)
{
    frame[0] = frame[0] + frame[1] + nest;
}

__attribute__((naked)) void svc_h(void)
{
    __asm__("mov r0, sp\n    b serve");
}

NOINLINE static u32 input(void)
{
    return COUNTER & 0xff;
}

NOINLINE static u32 two_calls(void)
{
    return call_service(input(), 5) + call_service(7, input() & 3);
}

NOINLINE static u32 wrapped(void)
{
    volatile u32 sum = 0;

    sum += two_calls();
    return sum;
}

void work_small(void)
{
    u32 sum = 0;

    for (int i = 0; i < 40; i++) {
        sum = sum * 3 + wrapped();
        nest++;
        out = sum;
    }
}
