/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv1/etmv1.h"

#include <string.h>

#define ETMCR_CPRT           (1u << 1)
#define ETMCR_DATA_VALUE     (1u << 2)
#define ETMCR_DATA_ADDRESS   (1u << 3)
#define ETMCR_BRANCH_OUTPUT  (1u << 8)
#define ETMCR_CYCLE_ACCURATE (1u << 12)
#define ETMCCR_HAS_ID        (1u << 31) /* an ID register: ETMv2 or later */
#define CONTEXT_SINCE        2          /* minor version that has context IDs */

int etmv1_config_from_regs(struct etmv1_config *config, uint32_t etmcr, unsigned minor)
{
    static const uint8_t context_bytes[4] = {0, 1, 2, 4};
    static const uint8_t port_bits[8] = {4, 8, 16};
    memset(config, 0, sizeof *config);
    config->port.bits = port_bits[etmcr >> 4 & 7];
    if (minor > 3 || config->port.bits == 0)
        return BT_ERR_INVAL;
    config->version_minor = (uint8_t)minor;
    if (minor >= CONTEXT_SINCE)
        config->context_bytes = context_bytes[etmcr >> 14 & 3];
    config->data_value = etmcr & ETMCR_DATA_VALUE;
    config->data_address = etmcr & ETMCR_DATA_ADDRESS;
    config->monitor_cprt = etmcr & ETMCR_CPRT;
    config->branch_output = etmcr & ETMCR_BRANCH_OUTPUT;
    config->cycle_accurate = etmcr & ETMCR_CYCLE_ACCURATE;
    config->low_vectors = true;
    config->high_vectors = true;
    return BT_OK;
}

int etmv1_minor_of_ccr(uint32_t etmccr)
{
    static const int8_t minors[8] = {0, 1, 2, 3, 2, 3, -1, 3};
    int minor = minors[etmccr >> 28 & 7];
    return (etmccr & ETMCCR_HAS_ID) || minor < 0 ? BT_ERR_INVAL : minor;
}

uint64_t etmv1_packet_size(const struct etmv1_config *config, const struct etmv1_packet *k)
{
    switch (k->kind) {
    case ETMV1_CYCLE:
        return port_cycle_size(&config->port);
    case ETMV1_INCOMPLETE:
        return k->value;
    default:
        return 0;
    }
}
