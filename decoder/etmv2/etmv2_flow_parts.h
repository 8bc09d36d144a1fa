/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the ETMv2 flow stage share. Private to decoder/etmv2*.c. */
#ifndef DECODER_ETMV2_FLOW_PARTS_H
#define DECODER_ETMV2_FLOW_PARTS_H

#include "decoder/etmv2/etmv2_flow.h"

/* etmv2_flow.c */

/* The pending instruction is final: puts it out, and the events behind it. */
void etmv2_release(struct etmv2_flow *f, struct flow_out *out);

/* An event behind the pending instruction, or right away if there is none. `flags`: BT_EVENT_*. */
void etmv2_note(struct etmv2_flow *f, struct flow_out *out, const struct etmv2_pending_event *e);

/* etmv2_flow_data.c */

static inline bool etmv2_has_data(const struct etmv2_flow *f)
{
    return f->config.data_value || f->config.data_address || f->config.monitor_cprt;
}

/* Does the instruction make several transfers, or a number that the code does not say? */
bool etmv2_is_lsm(struct etmv2_flow *f, const struct flow_cursor_step *step);

/* The pending instruction was executed: does it transfer data? */
void etmv2_data_owner(struct etmv2_flow *f);

void etmv2_data_packet(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out);

/* The pending instruction's data never was: it was canceled or aborted. */
void etmv2_data_drop(struct etmv2_flow *f);

/* Forgets loads that missed. */
void etmv2_data_forget(struct etmv2_flow *f);

#endif
