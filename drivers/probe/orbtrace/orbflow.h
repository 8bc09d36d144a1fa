/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ORBFLOW: trace that a probe has already taken apart by source. Packets of a tag and payload, COBS
 * encoded, each ended by a zero byte. As Orbuculum's own sources write it.
 *
 * Incremental: any split of the input gives the same packets. Fields are private.
 */
#ifndef DRIVERS_ORBFLOW_H
#define DRIVERS_ORBFLOW_H

#include "btrace/types.h"

#define ORBFLOW_PACKET_MAX 4096u /* bytes with tag and checksum; what is longer is damage */
#define ORBFLOW_TAG_MAX    0x7fu

struct orbflow_sink {
    void *user;
    /* A good packet: tag 1..ORBFLOW_TAG_MAX, length at least 1; valid during the call only. */
    void (*packet)(void *user, uint8_t tag, const uint8_t *payload, size_t length);
    /* Bytes of any tag are missing or damaged here. */
    void (*damaged)(void *user);
};

struct orbflow {
    unsigned magic; /* bytes of a file's header that have matched so far */
    bool resyncing; /* up to the next zero byte all is thrown away */
    bool zero_due;  /* the group that has ended stands before a zero, if the packet goes on */
    uint8_t left;   /* bytes of the group that are still to come */
    size_t used;
    uint8_t packet[ORBFLOW_PACKET_MAX];
};

/* A stream is joined in the middle of a packet, which is thrown away; a captured file that is sent
 * from its beginning is known by its header, and nothing of it is. */
void orbflow_init(struct orbflow *o);

/* What comes next is the beginning of a packet: the source was silent for longer than it holds back
 * one that is not full. */
void orbflow_begin(struct orbflow *o);

/* Never fails: damage is told and passed over. */
void orbflow_feed(struct orbflow *o, const uint8_t *data, size_t length,
                  const struct orbflow_sink *sink);

/* Bytes were lost before the next feed: drops the packet that is not complete. The caller knows of
 * the damage. */
void orbflow_discontinuity(struct orbflow *o);

#endif
