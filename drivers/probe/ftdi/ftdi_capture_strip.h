/* SPDX-License-Identifier: BSD-3-Clause */
/* What an FTDI chip puts in front of each IN packet, taken away: two status bytes. */
#ifndef DRIVERS_FTDI_CAPTURE_STRIP_H
#define DRIVERS_FTDI_CAPTURE_STRIP_H

#include "drivers/probe/trace_stream.h"

#include <string.h>

#define FTDI_STATUS_BYTES   2u
#define FTDI_STATUS_OVERRUN 0x02u /* of the second */

static inline void ftdi_capture_deliver(const struct trace_sink *sink, const uint8_t *data,
                                        size_t length)
{
    if (length > 0)
        sink->bytes(sink->user, data, length);
}

/* One transfer of IN packets of `packet` bytes, each with two status bytes in front: what is left
 * without them goes to the sink, in one piece if no status tells of an overrun. `out` has room for
 * all of it. */
static inline void ftdi_capture_strip(const uint8_t *data, size_t length, size_t packet,
                                      uint8_t *out, const struct trace_sink *sink)
{
    size_t used = 0;
    for (size_t at = 0; at < length; at += packet) {
        size_t n = length - at < packet ? length - at : packet;
        if (n < FTDI_STATUS_BYTES)
            break;
        if (data[at + 1] & FTDI_STATUS_OVERRUN) {
            ftdi_capture_deliver(sink, out, used);
            used = 0;
            sink->lost(sink->user, BT_GAP_LOST_BYTES);
        }
        memcpy(out + used, data + at + FTDI_STATUS_BYTES, n - FTDI_STATUS_BYTES);
        used += n - FTDI_STATUS_BYTES;
    }
    ftdi_capture_deliver(sink, out, used);
}

#endif
