/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path from bytes to blocks, past the packets: atoms and addresses that go along code that
 * has been looked up before, most bytes of any ETMv4 stream. The states of both stages are then
 * those that the slow path would have left. Private to decoder/.
 */
#ifndef DECODER_ETMV4_FAST_H
#define DECODER_ETMV4_FAST_H

#include "decoder/etmv4/etmv4_flow.h"

/*
 * Takes what bytes it can: none where the states do not allow it. Stops where synchronisation ends
 * or the end of `data` cuts a packet, or when `out` has less than FLOW_SLACK room left. Returns the
 * bytes taken, and adds their packets to *packets.
 */
size_t etmv4_fast(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data, size_t len,
                  struct flow_out *out, uint64_t *packets);

#endif
