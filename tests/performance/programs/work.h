/* SPDX-License-Identifier: BSD-3-Clause */
/* What each of parser.c, packer.c and machine.c does for main.c, again and again. */
#ifndef WORK_H
#define WORK_H

#include <stdbool.h>
#include <stddef.h>

/* One round of work with data made from `seed`. False: the result is not the one it must be. */
bool work(unsigned seed);

/* The next of a sequence that `state` stands for; it must not be 0. */
static inline unsigned next_random(unsigned *state)
{
    unsigned x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

#endif
