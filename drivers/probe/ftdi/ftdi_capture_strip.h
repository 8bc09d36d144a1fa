/* SPDX-License-Identifier: BSD-3-Clause */
/* What an FTDI chip puts in front of each IN packet, taken away: two status bytes. */
#ifndef DRIVERS_FTDI_CAPTURE_STRIP_H
#define DRIVERS_FTDI_CAPTURE_STRIP_H

#include "drivers/probe/trace_stream.h"

#include <string.h>

#define FTDI_STATUS_BYTES   2u
#define FTDI_STATUS_OVERRUN 0x02u /* of the second */

/* One transfer of IN packets of `packet` bytes, each with two status bytes in front: what is left
 * without them goes to the sink's room(), in one piece if no status tells of an overrun. At most
 * TRACE_ROOM bytes. */
static inline void ftdi_capture_strip(const uint8_t *data, size_t length, size_t packet,
                                      const struct trace_sink *sink)
{
    size_t used = 0, size;
    uint8_t *out = sink->room(sink->user, TRACE_ROOM, &size);
    for (size_t at = 0; at < length; at += packet) {
        size_t n = length - at < packet ? length - at : packet;
        if (n < FTDI_STATUS_BYTES)
            break;
        if (data[at + 1] & FTDI_STATUS_OVERRUN) {
            if (used > 0)
                sink->bytes(sink->user, out, used);
            sink->lost(sink->user, BT_GAP_LOST_BYTES);
            out = sink->room(sink->user, TRACE_ROOM, &size);
            used = 0;
        }
        memcpy(out + used, data + at + FTDI_STATUS_BYTES, n - FTDI_STATUS_BYTES);
        used += n - FTDI_STATUS_BYTES;
    }
    if (used > 0)
        sink->bytes(sink->user, out, used);
}

#endif
