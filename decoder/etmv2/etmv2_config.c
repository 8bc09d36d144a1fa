/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv2/etmv2.h"

#include <string.h>

#define ETMCR_CPRT           (1u << 1)
#define ETMCR_DATA_VALUE     (1u << 2)
#define ETMCR_DATA_ADDRESS   (1u << 3)
#define ETMCR_BRANCH_OUTPUT  (1u << 8)
#define ETMCR_CYCLE_ACCURATE (1u << 12)

int etmv2_config_from_regs(struct etmv2_config *config, uint32_t etmcr, uint32_t etmidr)
{
    static const uint8_t context_bytes[4] = {0, 1, 2, 4};
    static const uint8_t port_bits[8] = {4, 8, 16};
    memset(config, 0, sizeof *config);
    config->port.bits = port_bits[etmcr >> 4 & 7];
    if ((etmidr >> 8 & 0xf) != 1 || config->port.bits == 0)
        return BT_ERR_INVAL;
    config->version_minor = etmidr >> 4 & 0xf;
    config->context_bytes = context_bytes[etmcr >> 14 & 3];
    config->data_value = etmcr & ETMCR_DATA_VALUE;
    config->data_address = etmcr & ETMCR_DATA_ADDRESS;
    config->cycle_accurate = etmcr & ETMCR_CYCLE_ACCURATE;
    config->branch_output = etmcr & ETMCR_BRANCH_OUTPUT;
    config->monitor_cprt = etmcr & ETMCR_CPRT;
    config->low_vectors = true;
    config->high_vectors = true;
    return BT_OK;
}

bool etmv2_status_codes_valid(uint64_t codes)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < 16; i++)
        seen |= 1u << (codes >> 4 * i & 0xf);
    return seen == 0xffff && (codes >> 4 * ETMV2_TR & 0xff) == (ETMV2_TD << 4 | ETMV2_TR);
}

bool etmv2_tfo_header_valid(unsigned header)
{
    unsigned lsip = header >> 4, reason = header & 0xf;
    return lsip <= 7 && reason <= 6 && lsip != reason && lsip != reason + 1;
}

uint64_t etmv2_packet_size(const struct etmv2_config *config, const struct etmv2_packet *k)
{
    switch (k->kind) {
    case ETMV2_STATUS:
        return port_cycle_size(&config->port);
    case ETMV2_UNSYNCED:
    case ETMV2_INCOMPLETE:
        return k->value;
    default:
        return 0;
    }
}
