/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernel.c gives the tasks that firmware.py writes. */
#ifndef TESTS_REVERSE_TARGET_KERNEL_H
#define TESTS_REVERSE_TARGET_KERNEL_H

typedef unsigned int u32;

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

#ifdef NO_INPUT
extern volatile u32 input_number;

/* Numbers that follow from those before. */
static inline u32 input(void)
{
    input_number = input_number * 1664525u + 1013904223u;
    return input_number >> 3;
}
#elif defined(__aarch64__)
/* A counter that runs on: what it was cannot be found out afterwards. */
static inline u32 input(void)
{
    unsigned long count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return (u32)count >> 3;
}
#else
#ifndef INPUT
#define INPUT 0xe000e018u
#endif

/* Likewise. */
static inline u32 input(void)
{
    return *(volatile u32 *)INPUT >> 3;
}
#endif

/* Services (SVC): the result comes back in the stacked r0. */
u32 service_mix(u32 a, u32 b);
void service_yield(void);

/* PendSV becomes pending within and is taken at the end of the critical section, or at the tick. */
void yield(void);
void enter_critical(void);
void leave_critical(void);

void queue_send(u32 value);
u32 queue_receive(void);

/* Another stack within the task. */
u32 coroutine_step(u32 value);

#define JUMP_WORDS 26 /* of the largest */
int set_jump(u32 *to);
void long_jump(u32 *to, int value);

void set_bit(volatile u32 *word, u32 bit,
             u32 value); /* by its second address, where there is one */

/* A step of the run: the last one does not come back. */
void count_step(void);

/* firmware.py: task number n, for ever. */
void task_main(u32 number);

#endif
