/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every fuzzer of a protocol checks: no crash, no runaway, and the same blocks and events
 * however the stream is cut, wherever its state is copied,
 * and packet by packet. Aborts otherwise. */
#ifndef TESTS_SUPPORT_STREAM_FUZZ_H
#define TESTS_SUPPORT_STREAM_FUZZ_H

#include "decoder/stream/stream.h"

struct stream_fuzz {
    struct stream_config config;
    const uint32_t *words; /* that the program is made of, by chance */
    size_t word_count;
    uint64_t address; /* of the program */
    uint32_t seed;
};

void stream_fuzz(const struct stream_fuzz *f, const uint8_t *data, size_t size);

/* Little-endian, from a fuzzer's first bytes. */
static inline uint32_t stream_fuzz_word(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#endif
