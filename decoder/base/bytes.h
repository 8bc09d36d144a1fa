/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as bytes, least significant first where nothing else is said. */
#ifndef DECODER_BYTES_H
#define DECODER_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t bytes_half(const uint8_t *b)
{
    return b[0] | (uint32_t)b[1] << 8;
}

static inline uint32_t bytes_word(const uint8_t *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t bytes_double(const uint8_t *b)
{
    uint64_t v; /* by shifts alone compilers do not always make it one load */
    memcpy(&v, b, sizeof v);
    return le64toh(v);
}

static inline void bytes_set_half(uint8_t *b, uint32_t value)
{
    b[0] = (uint8_t)value;
    b[1] = (uint8_t)(value >> 8);
}

static inline void bytes_set_word(uint8_t *b, uint32_t value)
{
    bytes_set_half(b, value);
    bytes_set_half(b + 2, value >> 16);
}

static inline void bytes_set_double(uint8_t *b, uint64_t value)
{
    value = htole64(value);
    memcpy(b, &value, sizeof value);
}

/* Of up to 8 bytes; `big`: most significant first. */
static inline uint64_t bytes_number(const uint8_t *b, unsigned size, bool big)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)b[big ? size - 1 - i : i] << 8 * i;
    return value;
}

static inline void bytes_set_number(uint8_t *b, unsigned size, bool big, uint64_t value)
{
    for (unsigned i = 0; i < size; i++)
        b[big ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

#endif
