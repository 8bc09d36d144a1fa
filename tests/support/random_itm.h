/* SPDX-License-Identifier: BSD-3-Clause */
/* Random packets of an ITM, encoded as DDI 0403E.e appendix D4 and DDI 0553B.v F1.2 have them. */
#ifndef TESTS_SUPPORT_RANDOM_ITM_H
#define TESTS_SUPPORT_RANDOM_ITM_H

#include "decoder/itm/itm.h"

#define RANDOM_ITM_BYTES (1 << 16)

struct random_itm {
    uint32_t seed;
    unsigned page;
    size_t size;
    size_t count;
    uint8_t bytes[RANDOM_ITM_BYTES];
    struct itm_packet packets[RANDOM_ITM_BYTES];
};

/* Packets of every kind, a synchronisation packet first and every `period` packets. */
void random_itm_make(struct random_itm *r, uint32_t seed, size_t count, unsigned period);

#endif
