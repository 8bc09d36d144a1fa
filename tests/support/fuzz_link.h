/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A debug link for fuzzers, and a clock: all it does beside transfers works, and costs nothing.
 * What it reaches is the caller's, who has a struct fuzz_link as the first member
 * of his own. */
#ifndef TESTS_SUPPORT_FUZZ_LINK_H
#define TESTS_SUPPORT_FUZZ_LINK_H

#include "drivers/adi/debug_link.h"

struct fuzz_link {
    /* Set by the caller; as in debug_link.h, with the caller's struct as `self`. */
    int (*transfer)(void *self, struct debug_transfer *list, size_t count,
                    struct debug_result *result);
    uint32_t tick; /* microseconds that go by at each look at the clock */
    uint64_t now;
};

/* Both wires; `caps` are more of DEBUG_LINK_*. Blocks are transfers, one by one. */
struct debug_link fuzz_link(struct fuzz_link *f, uint32_t caps);
struct debug_clock fuzz_clock(struct fuzz_link *f);

#endif
