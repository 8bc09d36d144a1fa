/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of the trace unit that shape the stream: IHI 0014Q chapter 3. */
#include "decoder/etmv3/etmv3.h"

#include <string.h>

#define ETMCR_DATA_VALUE       (1u << 2)
#define ETMCR_DATA_ADDRESS     (1u << 3)
#define ETMCR_BRANCH_BROADCAST (1u << 8)
#define ETMCR_CYCLE_ACCURATE   (1u << 12)
#define ETMCR_DATA_ONLY        (1u << 20)
#define ETMIDR_T32_ONE         (1u << 18)
#define ETMIDR_ALTERNATIVE     (1u << 20)
#define ETMCCER_VIRTUALIZATION (1u << 26)
#define ETMCCER_TS_BINARY      (1u << 28)
#define ETMCCER_TS64           (1u << 29)

int etmv3_config_from_regs(struct etmv3_config *config, uint32_t etmcr, uint32_t etmidr,
                           uint32_t etmccer, uint32_t etmtraceidr)
{
    static const uint8_t context_bytes[4] = {0, 1, 2, 4};
    if ((etmidr >> 8 & 0xf) != 2)
        return BT_ERR_INVAL;
    memset(config, 0, sizeof *config);
    config->sync_period = ETMV3_SYNC_PERIOD;
    config->trace_id = etmtraceidr & 0x7f;
    config->version_minor = etmidr >> 4 & 0xf;
    config->context_bytes = context_bytes[etmcr >> 14 & 3];
    config->cycle_accurate = etmcr & ETMCR_CYCLE_ACCURATE;
    config->data_value = etmcr & ETMCR_DATA_VALUE;
    config->data_address = etmcr & ETMCR_DATA_ADDRESS;
    config->data_only = (etmcr & ETMCR_DATA_ONLY) && config->version_minor >= 1;
    config->branch_broadcast = etmcr & ETMCR_BRANCH_BROADCAST;
    config->alternative = (etmidr & ETMIDR_ALTERNATIVE) && config->version_minor >= 4;
    config->t32_split = !(etmidr & ETMIDR_T32_ONE);
    if (config->version_minor >= 5) {
        config->virtualization = etmccer & ETMCCER_VIRTUALIZATION;
        config->timestamp64 = etmccer & ETMCCER_TS64;
        config->timestamp_gray = !(etmccer & ETMCCER_TS_BINARY);
    }
    return BT_OK;
}

uint64_t etmv3_timestamp(const struct etmv3_config *config, uint64_t raw)
{
    if (!config->timestamp_gray)
        return raw;
    for (unsigned shift = 1; shift < 64; shift *= 2)
        raw ^= raw >> shift;
    return raw;
}

/* IHI 0014Q 7.5: the frequent ones were moved below 16. */
uint16_t etmv3_architectural(uint16_t number)
{
    static const uint8_t numbers[24] = {0,  17, 18, 19, 20, 21, 22, 23, 16, 6, 2, 11,
                                        12, 4,  14, 15, 8,  1,  10, 3,  9,  5, 7, 13};
    return number < 24 ? numbers[number] : number;
}
