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

static inline uint32_t random_next16(uint32_t *seed)
{
    return random_next(seed) >> 16;
}

/* A number below `below` for this seed and purpose. */
static inline unsigned random_pick(uint64_t seed, unsigned what, unsigned below)
{
    uint64_t x = seed * 64 + what;
    x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
    return (unsigned)((x ^ x >> 33) % below);
}

#endif
