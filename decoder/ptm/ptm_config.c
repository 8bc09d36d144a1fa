/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of the trace unit that shape the stream: IHI 0035B chapter 3. */
#include "decoder/ptm/ptm.h"

#include <string.h>

#define ETMCR_RETURN_STACK     (1u << 29)
#define ETMCR_CYCLE_ACCURATE   (1u << 12)
#define ETMCR_BRANCH_BROADCAST (1u << 8)
#define ETMIDR_T32_ONE         (1u << 18)
#define ETMCCER_TS64           (1u << 29)
#define ETMCCER_TS_BINARY      (1u << 28)
#define ETMCCER_VIRTUALIZATION (1u << 26)
#define ETMCCER_BARRIERS       (1u << 24)

int ptm_config_from_regs(struct ptm_config *config, uint32_t etmcr, uint32_t etmidr,
                         uint32_t etmccer, uint32_t etmtraceidr)
{
    static const uint8_t context_bytes[4] = {0, 1, 2, 4};
    if ((etmidr >> 8 & 0xf) != 3)
        return BT_ERR_INVAL;
    memset(config, 0, sizeof *config);
    config->trace_id = etmtraceidr & 0x7f;
    config->version_minor = etmidr >> 4 & 0xf;
    config->context_bytes = context_bytes[etmcr >> 14 & 3];
    config->cycle_accurate = etmcr & ETMCR_CYCLE_ACCURATE;
    /* ETMCCER[23] is not asked: some parts read 0 there with a working return stack. */
    config->return_stack = etmcr & ETMCR_RETURN_STACK;
    config->branch_broadcast = etmcr & ETMCR_BRANCH_BROADCAST;
    config->barrier_waypoints = etmccer & ETMCCER_BARRIERS;
    config->t32_split = !(etmidr & ETMIDR_T32_ONE);
    if (config->version_minor == 0) {
        config->timestamp_gray = true;
        return BT_OK;
    }
    config->virtualization = etmccer & ETMCCER_VIRTUALIZATION;
    config->timestamp64 = etmccer & ETMCCER_TS64;
    config->timestamp_gray = !(etmccer & ETMCCER_TS_BINARY);
    return BT_OK;
}

uint64_t ptm_timestamp(const struct ptm_config *config, uint64_t raw)
{
    if (!config->timestamp_gray)
        return raw;
    for (unsigned shift = 1; shift < 64; shift *= 2)
        raw ^= raw >> shift;
    return raw;
}
