/* SPDX-License-Identifier: BSD-3-Clause */
/* Random straight code with short forward branches, without unpredictable encodings. */
#ifndef TESTS_VALUES_GENERATE_H
#define TESTS_VALUES_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes written; at most `max`. */
size_t generate(uint8_t *code, size_t max, bool thumb, uint32_t seed);

#endif
