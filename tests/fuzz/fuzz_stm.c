/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an STM's stream. */
#include "tests/support/stream_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t nop = 0xe1a00000;
    struct stream_fuzz f = {.words = &nop, .word_count = 1, .address = 0x8000};
    f.config.protocol = STREAM_STM;
    stream_fuzz(&f, data, size);
    return 0;
}
