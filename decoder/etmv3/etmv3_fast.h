/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path from bytes to blocks, past the packets: P-headers and branch packets that go along
 * code that has been looked up before, most bytes of any ETMv3 stream without data trace. The
 * states of both stages are then those that the slow path would have left.
 * Private to decoder/. */
#ifndef DECODER_ETMV3_FAST_H
#define DECODER_ETMV3_FAST_H

#include "decoder/etmv3/etmv3_flow.h"

/*
 * Takes what bytes it can: none where state or configuration do not allow it. Stops before the
 * first packet that is not simple, or when `out` has less than FLOW_SLACK room left. Returns the
 * bytes taken, and adds their packets to *packets.
 */
size_t etmv3_fast(struct etmv3 *p, struct etmv3_flow *f, const uint8_t *data, size_t len,
                  struct flow_out *out, uint64_t *packets);

#endif
