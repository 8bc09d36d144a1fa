/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an ETMv3 stream: the first ones choose the configuration and the code. */
#include "tests/support/stream_fuzz.h"

#define HEADER 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Branches, loads and stores in both instruction sets. */
static const uint32_t words[] = {0xe1a00000, 0xe12fff1e, 0xeb000004, 0x0a000002, 0xeafffff0,
                                 0xe8b200f8, 0x47704780, 0xd1fabf00, 0xf802f000, 0x68136011,
                                 0xfa00003e, 0xe8bd8010, 0xe5912000, 0xbf18e7fe};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream_fuzz f = {
        .words = words, .word_count = sizeof words / sizeof *words, .address = 0x8000};
    if (size < HEADER)
        return 0;
    uint32_t bits = stream_fuzz_word(data);
    uint32_t idr =
        0x41000200 | (bits & 7) % 6 << 4 | (bits & 8 ? 1u << 18 : 0) | (bits & 16 ? 1u << 20 : 0);
    f.config.protocol = STREAM_ETMV3;
    etmv3_config_from_regs(&f.config.etmv3, stream_fuzz_word(data + 4) & 0x0010d10c, idr,
                           stream_fuzz_word(data + 8), 0x10);
    f.config.etmv3.m_profile = bits & 32;
    f.seed = bits >> 8;
    stream_fuzz(&f, data + HEADER, size - HEADER);
    return 0;
}
