/* SPDX-License-Identifier: BSD-3-Clause */
/* Random packets of an STM, encoded as MIPI STP 2.2 has them. */
#ifndef TESTS_SUPPORT_RANDOM_STM_H
#define TESTS_SUPPORT_RANDOM_STM_H

#include "decoder/stm/stm.h"

#define RANDOM_STM_BYTES (1 << 16)

struct random_stm {
    uint32_t seed;
    uint64_t time; /* as the STM has it */
    uint16_t master, channel;
    bool gray;
    bool timed;     /* a whole timestamp was sent */
    size_t nibbles; /* sent so far */
    size_t count;
    uint8_t bytes[RANDOM_STM_BYTES];
    struct stm_packet packets[RANDOM_STM_BYTES]; /* without `raw`; `size` counts nibbles */
};

/*
 * `count` packets of every kind; a synchronisation and a version first and every `period`. Ends at
 * a whole byte.
 */
void random_stm_make(struct random_stm *r, uint32_t seed, size_t count, unsigned period);

#endif
