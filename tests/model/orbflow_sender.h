/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending side of ORBFLOW 1.0 (as Orbuculum reads it): runs of bytes with a tag become packets
 * of tag, payload and a checksum that makes the sum of all bytes zero, COBS encoded, each ended by
 * a zero byte.
 */
#ifndef TESTS_USB_ORBFLOW_SENDER_H
#define TESTS_USB_ORBFLOW_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORBFLOW_PAYLOAD 1024u
#define ORBFLOW_WIRE    (ORBFLOW_PAYLOAD + 2 + 6 + 1) /* code bytes, the zero byte */
#define ORBFLOW_AGE_US  100000u                       /* a packet does not grow older */

/* All zero: nothing collected, nobody to send to. Set send and ctx; the rest is private. */
struct orbflow_sender {
    void (*send)(void *ctx, const uint8_t *wire, size_t size); /* one packet */
    void *ctx;
    uint8_t packet[1 + ORBFLOW_PAYLOAD + 1]; /* tag and payload */
    size_t payload;
    uint64_t began; /* microseconds */
};

/* Bytes of `tag` at `now`; packets that end are sent. Tag 0 is padding and goes nowhere. */
void orbflow_sender_put(struct orbflow_sender *o, uint64_t now, uint8_t tag, const uint8_t *bytes,
                        size_t size);

/* Ends a packet that has been open for too long at `now`. True: one ended. */
bool orbflow_sender_tick(struct orbflow_sender *o, uint64_t now);

/* Ends the packet that is open. */
void orbflow_sender_end(struct orbflow_sender *o);

/* The packet as it goes over the wire, up to ORBFLOW_WIRE bytes; its size. */
size_t orbflow_sender_encode(uint8_t tag, const uint8_t *payload, size_t size, uint8_t *wire);

#endif
