/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an ETMv4 or ETE stream: the first ones choose the configuration and the code. */
#include "tests/support/stream_fuzz.h"

#define HEADER 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A64, and T32 and A32 that read as something else; the last ones are P0 where the unit says so. */
static const uint32_t words[] = {0xd503201f, 0x34000040, 0x94000004, 0x17fffff0, 0xd65f03c0,
                                 0xd63f0060, 0xd5033fdf, 0xd69f03e0, 0x54000041, 0x47704780,
                                 0xd1fabf00, 0xf802f000, 0xbd10b510, 0xfa00003e, 0xe8bd8010,
                                 0xc001f00f, 0xd503207f, 0xbf30bf20, 0xd5233060};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream_fuzz f = {
        .words = words, .word_count = sizeof words / sizeof *words, .address = 0x8000};
    if (size < HEADER)
        return 0;
    uint32_t bits = stream_fuzz_word(data);
    struct etmv4_registers r = {.configr = stream_fuzz_word(data + 4) & 0x3fff9u,
                                .traceidr = 0x10,
                                .devarch = bits & 1 ? 0x47705a13 : 0x47704a13};
    r.devarch |= (bits >> 1 & 7) << 16;
    r.idr[0] = stream_fuzz_word(data + 8);
    r.idr[2] = stream_fuzz_word(data + 12);
    r.idr[8] = bits & 0x10 ? bits >> 5 & 0x1f : 0;
    f.config.protocol = STREAM_ETMV4;
    if (etmv4_config_from_regs(&f.config.etmv4, &r, bits & 0x8000))
        return 0;
    f.seed = bits >> 16;
    stream_fuzz(&f, data + HEADER, size - HEADER);
    return 0;
}
