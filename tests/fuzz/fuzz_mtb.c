/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an MTB's packets, over a program that the first ones choose. */
#include "tests/support/stream_fuzz.h"

#define HEADER 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Branches of every kind and a 32-bit instruction among others; pairs of halfwords. */
static const uint32_t words[] = {0xbf00bf00, 0x4770bf00, 0xd1fabf00, 0xe7fe2000,
                                 0xf802f000, 0xbd10b510, 0xd0012800, 0x8f5ff3bf};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream_fuzz f = {
        .words = words, .word_count = sizeof words / sizeof *words, .address = 0x8000};
    if (size < HEADER)
        return 0;
    f.config.protocol = STREAM_MTB;
    f.seed = stream_fuzz_word(data);
    stream_fuzz(&f, data + HEADER, size - HEADER);
    return 0;
}
