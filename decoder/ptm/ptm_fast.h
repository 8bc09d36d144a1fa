/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path from bytes to blocks, past the packets: atoms and branch packets that go along code
 * that has been looked up before, most bytes of any PTM stream. The states of both stages are then
 * those that the slow path would have left. Private to decoder/.
 */
#ifndef DECODER_PTM_FAST_H
#define DECODER_PTM_FAST_H

#include "decoder/ptm/ptm_flow.h"

/*
 * Takes what bytes it can: none where the states do not allow it. Stops before the first packet
 * that is rare, or when `out` has less than FLOW_SLACK room left. Returns the bytes taken, and adds
 * their packets to *packets.
 */
size_t ptm_fast(struct ptm *p, struct ptm_flow *f, const uint8_t *data, size_t len,
                struct flow_out *out, uint64_t *packets);

#endif
