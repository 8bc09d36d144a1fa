/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the PTM flow: ptm_flow.c has every operation, ptm_fast.c the common ones, fast. */
#ifndef DECODER_PTM_FLOW_INTERNAL_H
#define DECODER_PTM_FLOW_INTERNAL_H

#include "decoder/ptm/ptm_flow.h"

#include <string.h>

#define PTM_EXC_DEBUG 1u

/* Return stack (IHI 0035B chapter 4): `from` is the range of the call, to go on behind it without a
 * look-up. */
static inline void ptm_flow_push(struct ptm_flow *f, uint64_t address, uint8_t isa,
                                 uint8_t security, struct code_range *from)
{
    if (!flow_ranges_valid(&f->core)) {
        memset(f->rs_from, 0, sizeof f->rs_from);
        f->core.range_epoch = f->core.code->epoch;
    }
    f->rs[f->rs_top] = (struct ptm_return){(uint32_t)address, isa, security};
    f->rs_from[f->rs_top] = from;
    f->rs_top = (f->rs_top + 1) % PTM_RETURN_STACK;
    if (f->rs_count < PTM_RETURN_STACK)
        f->rs_count++;
}

/* Analyze_atomheader() for the last `n` atoms of a packet, of a synchronised flow. */
void ptm_flow_atoms(struct ptm_flow *f, const struct ptm_packet *k, unsigned n,
                    struct flow_out *out);

#endif
