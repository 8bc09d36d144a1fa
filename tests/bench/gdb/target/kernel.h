/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels share: tasks whose registers tell whose they are, and an account of what is so.
 */
#ifndef TASKS_KERNEL_H
#define TASKS_KERNEL_H

#define offsetof_(type, member) __builtin_offsetof(type, member)

typedef unsigned int u32;
typedef unsigned char u8;

#define TASKS       6u
#define STACK_WORDS 160u

#define FIRST_STATUS 0x01000000u
#ifndef FIRST_RETURN
#define FIRST_RETURN 0xfffffffdu
#endif

enum { READY, DELAYED, BLOCKED, SUSPENDED };

/* The account; not while it is busy. */
extern volatile u32 truth_busy, truth_current, truth_state[TASKS], truth_top[TASKS],
    truth_control[TASKS];

/* kernel_*.c */
void kernel_create(u32 number, const char *name, u32 *top);
void kernel_start(void);
void kernel_move(u32 number, u32 state);
void kernel_choose(u32 number);

#endif
