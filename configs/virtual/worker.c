/* SPDX-License-Identifier: BSD-3-Clause */
/* The second core's own work: it sorts numbers, again and again, up and down in turn. */
#include "board.h"

#define NUMBERS 40

typedef int (*before_fn)(unsigned a, unsigned b);

volatile unsigned second_ticks;
volatile unsigned second_sorted; /* runs of numbers */
volatile unsigned second_errors; /* runs that came out in the wrong order */

static unsigned numbers[NUMBERS];

A32 static int lower(unsigned a, unsigned b)
{
    return a < b;
}

T32 static int higher(unsigned a, unsigned b)
{
    return a > b;
}

/* The same numbers for the same seed. */
T32 static unsigned fill(unsigned seed)
{
    for (unsigned i = 0; i < NUMBERS; i++) {
        seed = seed * 1664525u + 1013904223u;
        numbers[i] = seed >> 16;
    }
    return seed;
}

/* Numbers before the pivot to the left of it; returns where it ends up. */
T32 static int split(int first, int last, before_fn before)
{
    unsigned pivot = numbers[last];
    int place = first;

    for (int i = first; i <= last; i++) {
        unsigned value = numbers[i];
        if (i == last || before(value, pivot)) {
            numbers[i] = numbers[place];
            numbers[place] = value;
            place++;
        }
    }
    return place - 1;
}

A32 static void sort(int first, int last, before_fn before)
{
    int place;

    if (first >= last)
        return;
    place = split(first, last, before);
    sort(first, place - 1, before);
    sort(place + 1, last, before);
}

A32 static int in_order(before_fn before)
{
    for (int i = 1; i < NUMBERS; i++)
        if (before(numbers[i], numbers[i - 1]))
            return 0;
    return 1;
}

A32 void second_tick(void)
{
    second_ticks++;
}

A32 void second_main(void)
{
    unsigned seed = 1;

    start_timer();
    for (;;) {
        before_fn before = second_sorted & 1 ? higher : lower;
        seed = fill(seed);
        sort(0, NUMBERS - 1, before);
        if (!in_order(before))
            second_errors++;
        second_sorted++;
        if (wait_when_idle)
            wait_for_interrupt();
    }
}
