/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an ITM's stream: the first one chooses the configuration. */
#include "tests/support/stream_fuzz.h"

#define HEADER 1

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t nop = 0xbf00bf00;
    struct stream_fuzz f = {.words = &nop, .word_count = 1, .address = 0x8000};
    unsigned id;
    if (size < HEADER)
        return 0;
    f.config.protocol = STREAM_ITM;
    itm_config_from_regs(&f.config.itm, (uint32_t)*data << 8, &id);
    f.config.itm.wait_sync = *data >> 7;
    stream_fuzz(&f, data + HEADER, size - HEADER);
    return 0;
}
