/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs whose trace is measured: one kind of work for ever, and a timer interrupt that filters
 * samples meanwhile. Each round checks its own result, so a trace tells whether it all went right:
 * round_right() ran once a round, stopped_here() never.
 *
 * CALM: without interrupts.
 */
#include "configs/virtual/board.h"
#include "tests/performance/programs/work.h"

#define SAMPLES 16 /* a power of two */

struct fault fault;
volatile unsigned wait_when_idle; /* what boards offer, and nothing here does */
volatile unsigned rounds;
volatile unsigned stopped;
volatile unsigned filtered;

void round_right(void);
void round_wrong(void);

/* The middle of the three newest samples, and the mean of all that are kept. */
void timer_tick(void)
{
    static unsigned samples[SAMPLES], newest, noise = 1;
    unsigned a, b, c, sum = 0;

    newest = (newest + 1) % SAMPLES;
    samples[newest] = next_random(&noise) & 0xfff;
    a = samples[newest];
    b = samples[(newest - 1) % SAMPLES];
    c = samples[(newest - 2) % SAMPLES];
    if ((a < b) == (b < c))
        samples[newest] = b;
    else if ((b < a) == (a < c))
        samples[newest] = a;
    else
        samples[newest] = c;
    for (unsigned i = 0; i < SAMPLES; i++)
        sum += samples[i];
    filtered = sum / SAMPLES;
}

/* The boards have one core here; a second one would only sleep. */
void second_tick(void)
{
}

void second_main(void)
{
    for (;;)
        wait_for_interrupt();
}

/* Faults end here, too. */
__attribute__((noinline)) void stopped_here(void)
{
    stop_interrupts();
    for (stopped = 1; stopped;)
        wait_for_interrupt();
}

__attribute__((noinline)) void round_right(void)
{
    rounds++;
}

__attribute__((noinline)) void round_wrong(void)
{
    stopped_here();
}

int main(void)
{
#ifndef CALM
    start_timer();
#endif
    for (unsigned seed = 1;; seed++) {
        if (work(seed))
            round_right();
        else
            round_wrong();
    }
}
