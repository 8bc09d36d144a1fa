/* SPDX-License-Identifier: BSD-3-Clause */
#include "orbflow_sender.h"

#include <string.h>

#define GROUP 254u /* bytes behind a code byte; then there is no zero to stand for */

/* Writes a code byte for each zero, and for each run of GROUP bytes without one. */
static size_t cobs(const uint8_t *bytes, size_t size, uint8_t *wire)
{
    size_t at = 0, out = 0;
    for (;;) {
        size_t left = size - at;
        size_t most = left < GROUP ? left : GROUP;
        const uint8_t *zero = memchr(bytes + at, 0, most);
        size_t n = zero ? (size_t)(zero - bytes) - at : most;
        wire[out++] = (uint8_t)(n + 1);
        memcpy(wire + out, bytes + at, n);
        out += n;
        at += n;
        if (zero)
            at++;
        else if (at == size)
            return out;
    }
}

static uint8_t checksum(const uint8_t *bytes, size_t size)
{
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += bytes[i];
    return (uint8_t)(0u - sum);
}

/* `packet` has a byte of room for the checksum. */
static size_t finish(uint8_t *packet, size_t payload, uint8_t *wire)
{
    size_t size = 1 + payload;
    packet[size] = checksum(packet, size);
    size = cobs(packet, size + 1, wire);
    wire[size] = 0;
    return size + 1;
}

size_t orbflow_sender_encode(uint8_t tag, const uint8_t *payload, size_t size, uint8_t *wire)
{
    uint8_t packet[1 + ORBFLOW_PAYLOAD + 1] = {tag};
    memcpy(packet + 1, payload, size);
    return finish(packet, size, wire);
}

void orbflow_sender_end(struct orbflow_sender *o)
{
    uint8_t wire[ORBFLOW_WIRE];
    if (o->payload == 0)
        return;
    size_t size = finish(o->packet, o->payload, wire);
    o->payload = 0;
    o->send(o->ctx, wire, size);
}

bool orbflow_sender_tick(struct orbflow_sender *o, uint64_t now)
{
    if (o->payload == 0 || now - o->began < ORBFLOW_AGE_US)
        return false;
    orbflow_sender_end(o);
    return true;
}

void orbflow_sender_put(struct orbflow_sender *o, uint64_t now, uint8_t tag, const uint8_t *bytes,
                        size_t size)
{
    if (tag == 0)
        return;
    if (tag != o->packet[0])
        orbflow_sender_end(o);
    while (size > 0) {
        if (o->payload == 0) {
            o->packet[0] = tag;
            o->began = now;
        }
        size_t room = ORBFLOW_PAYLOAD - o->payload;
        size_t n = size < room ? size : room;
        memcpy(o->packet + 1 + o->payload, bytes, n);
        o->payload += n;
        bytes += n;
        size -= n;
        if (o->payload == ORBFLOW_PAYLOAD)
            orbflow_sender_end(o);
    }
}
