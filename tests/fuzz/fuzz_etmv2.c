/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the port of an ETMv2 over a small program: no crash, no runaway, and the same blocks
 * and events however the stream is cut. The first bytes choose the configuration
 * and the code. */
#include "tests/support/port_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream_config config;
    if (size < PORT_FUZZ_HEADER)
        return 0;
    memset(&config, 0, sizeof config);
    config.protocol = STREAM_ETMV2;
    uint32_t bits = port_fuzz_word(data);
    if (etmv2_config_from_regs(&config.etmv2, bits & 0xd12e, 0x41000110))
        return 0;
    static const uint8_t ports[4] = {8, 4, 16, 8};
    config.etmv2.port.bits = ports[bits >> 4 & 3];
    config.etmv2.port.layout = bits & 1 ? PORT_ETB : PORT_CYCLES;
    config.etmv2.late_group = bits >> 9 & 1;
    config.etmv2.tfo4_extra = 1 + (bits >> 10 & 1);
    config.etmv2.wait_zeros = bits >> 11 & 1;
    config.etmv2.tfo_straight = bits >> 13 & 1;
    config.etmv2.tfo_in_trigger = bits >> 16 & 1;
    config.etmv2.high_word_first = bits >> 17 & 1;
    config.etmv2.no_tag_reserved = (bits >> 18 & 3) == 3;
    config.etmv2.status_together = (bits >> 20 & 7) == 7;
    config.etmv2.abort_no_status = bits >> 23 & 1;
    config.etmv2.big_endian = bits >> 24 & 1;
    port_fuzz(&config, data, size);
    return 0;
}
