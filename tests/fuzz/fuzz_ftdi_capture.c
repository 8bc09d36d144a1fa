/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of an FTDI chip: the first byte chooses the packet size, the second how long a transfer
 * is. What comes out is compared with what is between the status bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/probe/ftdi/ftdi_capture_strip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct taken {
    uint8_t *room; /* of the piece that is being made */
    uint8_t *bytes;
    size_t count;
    unsigned losses;
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static uint8_t *give_room(void *user, size_t least, size_t *size)
{
    struct taken *t = user;
    *size = least;
    return t->room;
}

static void take_bytes(void *user, const uint8_t *data, size_t length)
{
    struct taken *t = user;
    require(data == t->room && length > 0);
    memcpy(t->bytes + t->count, data, length);
    t->count += length;
}

static void take_loss(void *user, enum bt_gap_cause cause)
{
    require(cause == BT_GAP_LOST_BYTES);
    ((struct taken *)user)->losses++;
}

/* The same, byte by byte. */
static void check_transfer(const uint8_t *data, size_t length, size_t packet, const struct taken *t)
{
    size_t count = 0;
    unsigned losses = 0;
    for (size_t at = 0; at < length; at++) {
        size_t place = at % packet, rest = at - place;
        if (packet < FTDI_STATUS_BYTES || length - rest < FTDI_STATUS_BYTES)
            break;
        if (place == 1)
            losses += data[at] >> 1 & 1;
        else if (place > 1)
            require(count < t->count && t->bytes[count++] == data[at]);
    }
    require(count == t->count && losses == t->losses);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t packets[] = {64, 512, 1024, 8, 3, 2, 1, 62};
    if (size < 2)
        return 0;
    size_t packet = packets[data[0] & 7], most = 1 + (size_t)data[1] * 16;
    struct taken t = {.room = malloc(TRACE_ROOM), .bytes = malloc(size)};
    const struct trace_sink sink = {
        .user = &t, .bytes = take_bytes, .lost = take_loss, .room = give_room};
    require(t.room && t.bytes);
    for (size_t at = 2; at < size; at += most) {
        size_t n = size - at < most ? size - at : most;
        uint8_t *transfer = malloc(n); /* of that very size, so that reads beyond it are seen */
        require(transfer != NULL);
        memcpy(transfer, data + at, n);
        t.count = t.losses = 0;
        ftdi_capture_strip(transfer, n, packet, &sink);
        check_transfer(transfer, n, packet, &t);
        free(transfer);
    }
    free(t.room);
    free(t.bytes);
    return 0;
}
