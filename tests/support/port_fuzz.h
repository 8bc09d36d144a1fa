/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzzers of ETMv1 and ETMv2 share: a program, and the comparison of two decodes. */
#ifndef TESTS_SUPPORT_PORT_FUZZ_H
#define TESTS_SUPPORT_PORT_FUZZ_H

#include "tests/support/decoded.h"

#include <string.h>

#define PORT_FUZZ_HEADER 4 /* bytes of the input before the stream */

static inline uint32_t port_fuzz_word(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/*
 * Decodes `data` behind its header twice, at once and cut at places that the header chooses, over
 * code at 0 and at 0x8000 that depends on it, too. Aborts if the two differ, or if blocks and
 * events are not a history.
 */
void port_fuzz(const struct stream_config *config, const uint8_t *data, size_t size);

#endif
