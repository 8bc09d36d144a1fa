/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the port of an ETMv1 over a small program: no crash, no runaway, and the same blocks
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
    config.protocol = STREAM_ETMV1;
    uint32_t bits = port_fuzz_word(data);
    if (etmv1_config_from_regs(&config.etmv1, bits & 0xd10e, 3 - (bits >> 9 & 3)))
        return 0;
    static const uint8_t ports[4] = {8, 4, 16, 8};
    config.etmv1.port.bits = ports[bits >> 4 & 3];
    config.etmv1.port.layout = bits & 1 ? PORT_ETB : PORT_CYCLES;
    config.etmv1.big_endian = bits >> 11 & 1;
    config.etmv1.hold_single = bits >> 13 & 1;
    config.etmv1.late_data = (bits >> 16 & 3) == 3;
    config.etmv1.swp_addresses = bits >> 18 & 1;
    config.etmv1.cprt_values = bits >> 19 & 1;
    config.etmv1.idle_high = bits >> 20 & 1;
    port_fuzz(&config, data, size);
    return 0;
}
