/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests' cheap generator of numbers: the sequence of a seed is the same on every machine. */
#ifndef TESTS_SUPPORT_RANDOM_NEXT_H
#define TESTS_SUPPORT_RANDOM_NEXT_H

#include <stdint.h>

/* The low bits have short periods: take high ones. Numerical Recipes' constants. */
static inline uint32_t random_next(uint32_t *seed)
{
    return *seed = *seed * 1664525u + 1013904223u;
}

#endif
