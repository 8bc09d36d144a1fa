/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a PTM stream: the first ones choose the configuration and the code. */
#include "tests/support/stream_fuzz.h"

#define HEADER 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Branches in both instruction sets. */
static const uint32_t words[] = {0xe1a00000, 0xe12fff1e, 0xebfffffe, 0x0a000002,
                                 0xeafffff0, 0xe12fff33, 0x47704780, 0xd1fabf00,
                                 0xf01df000, 0xe7f0bd10, 0xfa00003e, 0xe8bd8010};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream_fuzz f = {
        .words = words, .word_count = sizeof words / sizeof *words, .address = 0x1000};
    if (size < HEADER)
        return 0;
    uint32_t bits = stream_fuzz_word(data);
    f.config.protocol = STREAM_PTM;
    ptm_config_from_regs(&f.config.ptm, bits & 0x6000d100, bits & 1 ? 0x411cf312 : 0x411cf301,
                         stream_fuzz_word(data + 4), 0x10);
    f.seed = bits >> 16;
    stream_fuzz(&f, data + HEADER, size - HEADER);
    return 0;
}
