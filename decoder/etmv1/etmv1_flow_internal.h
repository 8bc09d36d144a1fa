/* SPDX-License-Identifier: BSD-3-Clause */
/* The statuses that wait in the ring, and the data of one instruction. Private to etmv1_flow.c. */
#ifndef DECODER_ETMV1_FLOW_INTERNAL_H
#define DECODER_ETMV1_FLOW_INTERNAL_H

#include "decoder/etmv1/etmv1_flow.h"

/* An entry of the ring: status, and these. */
#define RING_STATUS  0x07
#define RING_TRIGGER 0x08
#define RING_SYNC    0x10
#define RING_LOW     0x20 /* TD: the run counts */
#define RING_HIGH    0x40
#define RING_APO     0x80

static inline uint8_t etmv1_info(const struct etmv1_flow *f, uint64_t place)
{
    return f->info[place % ETMV1_RING];
}

static inline unsigned etmv1_status_at(const struct etmv1_flow *f, uint64_t place)
{
    return etmv1_info(f, place) & RING_STATUS;
}

/* What a step came to. */
enum etmv1_step {
    ETMV1_STEP_DONE,
    ETMV1_STEP_WAIT, /* for more cycles */
    ETMV1_STEP_LOST, /* statuses and bytes do not agree */
};

#define ETMV1_WORDS 20 /* transfers told of one instruction: an LDM has 16 */

/* Data of one instruction. */
struct etmv1_data {
    uint64_t offset;
    struct transfer transfer;
    uint32_t address;
    bool has_address;
    bool has_values;
    uint32_t values[ETMV1_WORDS];
};

static inline bool etmv1_has_data(const struct etmv1_flow *f)
{
    return f->config.data_value || f->config.data_address || f->config.monitor_cprt;
}

#endif
