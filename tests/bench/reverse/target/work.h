/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of the program share. Compiled for many options and run without a library.
 * MIXED: functions take turns between the two instruction sets.
 */
#ifndef TESTS_REVERSE_TARGET_WORK_H
#define TESTS_REVERSE_TARGET_WORK_H

#ifdef MIXED
#define A32 __attribute__((target("arm"), noinline, noclone))
#define T32 __attribute__((target("thumb"), noinline, noclone))
#else
#define A32 __attribute__((noinline, noclone))
#define T32 __attribute__((noinline, noclone))
#endif

#ifdef __clang__ /* it makes no clones */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

typedef unsigned int u32;

/* Sum over all parts for one round: the same for the same number. */
u32 work(u32 round);

u32 input(void);

/* The parts. */
u32 work_calls(u32 seed);
u32 work_data(u32 seed);
u32 work_board(u32 seed); /* of the board: exceptions, floating point */

int main(void);

/* A counter that runs on: what it was cannot be found out afterwards. */
static inline u32 counted(void)
{
#if defined(__aarch64__)
    unsigned long count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return (u32)count;
#elif defined(INPUT)
    return *(volatile u32 *)INPUT;
#else
    return 0;
#endif
}

/* start_a.S, board_m.c: everything is done. */
void finished(u32 sum);

#endif
