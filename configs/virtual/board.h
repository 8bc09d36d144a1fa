/* SPDX-License-Identifier: BSD-3-Clause */
/* What crash.c and worker.c need of a board, and what a board calls. */
#ifndef BOARD_H
#define BOARD_H

/* A Cortex-A9 has both instruction sets, and a call changes between them. */
#ifdef BOARD_A9
#define A32 __attribute__((target("arm")))
#define T32 __attribute__((target("thumb")))
#else
#define A32
#define T32
#endif
#ifndef TICKS_PER_SECOND
#define TICKS_PER_SECOND 10000
#endif
/* Tells why the program stopped, for whoever looks at it with a debugger. */
struct fault {
    unsigned long pc;      /* of the instruction that failed */
    unsigned long address; /* that it wanted, 0 if the core does not tell */
};

extern struct fault fault;
extern volatile unsigned wait_when_idle; /* 0: never sleep */

/* board-a9.c, board-a53.c, board-m.c */

/* Interrupts of this core's timer, TICKS_PER_SECOND of them. Each calls timer_tick. */
void start_timer(void);

/* No interrupt of this core wakes it any more, nor one that is pending. */
void stop_interrupts(void);

/* Interrupts of this core wait in between, so that a check and the sleep are one step. */
void mask_interrupts(void);
void unmask_interrupts(void);

/* Sleeps until an interrupt is pending, masked or not. */
void wait_for_interrupt(void);

/* crash.c, worker.c */

int main(void);
void second_main(void); /* the second core, if there is one */
void timer_tick(void);  /* in the interrupt, on the first core */
void second_tick(void); /* the same on the second core */
void stopped_here(void);

#endif
