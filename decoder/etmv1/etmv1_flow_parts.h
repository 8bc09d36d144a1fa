/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the ETMv1 flow stage share. Private to decoder/etmv1*.c. */
#ifndef DECODER_ETMV1_FLOW_PARTS_H
#define DECODER_ETMV1_FLOW_PARTS_H

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

/* etmv1_flow.c */

/* Where in the stream the status at f->next is. */
uint64_t etmv1_offset(const struct etmv1_flow *f);

/* The entry at f->next: its cycle is counted, its trigger told. Then it is left behind. */
void etmv1_count(struct etmv1_flow *f, struct flow_out *out);
void etmv1_move(struct etmv1_flow *f);

/* Both, for `n` entries. */
void etmv1_pass(struct etmv1_flow *f, struct flow_out *out, unsigned n);

/* etmv1_flow_branch.c */

/* The BE or BD at f->next, with its address packet offset. */
enum etmv1_step etmv1_branch(struct etmv1_flow *f, struct flow_out *out);

/* The same while not synchronised. */
enum etmv1_step etmv1_resync(struct etmv1_flow *f, struct flow_out *out);

/* A start of tracing that waits to be told is told now: nothing took its place. */
void etmv1_commit(struct etmv1_flow *f, struct flow_out *out);

/* etmv1_flow_data.c */

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

/*
 * Reads the data of the instruction `step` whose status (ID or BD) is at f->next. LOST: there is
 * none to be had; data is not followed until the next address.
 */
enum etmv1_step etmv1_read_data(struct etmv1_flow *f, const struct flow_cursor_step *step,
                                struct etmv1_data *data);

/* Events for it, behind the instruction. */
void etmv1_report_data(struct etmv1_flow *f, struct flow_out *out, const struct etmv1_data *data);

/* The bytes behind an address are the next status's. False: some before it were nobody's. */
bool etmv1_align(struct etmv1_flow *f, const struct etmv1_target *target);

#endif
