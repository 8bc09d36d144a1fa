/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a protocol is to stream.c: a row of operations in stream_protocols.c. They are called once a
 * piece of input or a batch of packets, never once a packet. Private to
 * decoder/stream.
 */
#ifndef DECODER_STREAM_INTERNAL_H
#define DECODER_STREAM_INTERNAL_H

#include "decoder/stream/stream.h"

#define STREAM_BATCH 256 /* packets between the two stages: stays in the first-level cache */

/* Packets on their way from the parser to the flow stage. */
struct stream_batch {
    size_t count;
    union {
        struct ptm_packet ptm[STREAM_BATCH];
        struct etmv3_packet etmv3[STREAM_BATCH];
        struct etmv2_packet etmv2[STREAM_BATCH];
        struct etmv1_packet etmv1[STREAM_BATCH];
        struct etmv4_packet etmv4[STREAM_BATCH];
        struct itm_packet itm[STREAM_BATCH];
        struct stm_packet stm[STREAM_BATCH];
        struct mtb_packet mtb[STREAM_BATCH];
    } u;
};

/* Where the parser is. */
struct stream_place {
    uint64_t offset;  /* bytes taken */
    uint64_t lost_at; /* where the search for synchronisation began the last time */
    bool synced;
};

/* What may be NULL says so; the others every protocol has. */
struct stream_ops {
    struct stream_facts facts;

    /* Sets those options that the protocol knows of; they are 0. NULL: none. */
    void (*code_options)(const struct stream_config *config, struct code_options *options);

    /* Parser and flow stage of `s`. */
    void (*init)(struct stream *s, const struct stream_config *config, struct code_cache *code);

    /* How much of `u` of struct stream is in use, and must be in a copy. */
    size_t (*state_size)(const struct stream_config *config);

    /* Whether blocks have counts of cycles. NULL: never. */
    bool (*counts_blocks)(const struct stream_config *config);

    struct flow_core *(*core)(struct stream *s);
    struct stream_place (*place)(const struct stream *s);

    /* Where execution goes on, see stream_position(). NULL: at the core's position. */
    bool (*position)(const struct stream *s, uint64_t *address, enum bt_isa *isa);

    /* Bytes that make blocks without packets; returns how many. NULL: there are none. */
    size_t (*fast_path)(struct stream *s, const uint8_t *data, size_t len, struct flow_out *out);

    /* Up to `max` packets into an empty batch; returns how many bytes they took. */
    size_t (*parse)(struct stream *s, const uint8_t *data, size_t len, size_t max,
                    struct stream_batch *b);

    /* The end: what is incomplete, as packets from number 0 on. */
    void (*finish)(struct stream *s, struct stream_batch *b);

    /* Up to `count` packets from number `from`; returns how many were taken. */
    size_t (*run)(struct stream *s, const struct stream_batch *b, size_t from, size_t count,
                  struct flow_out *out);

    /* The end, behind the last packet: what is pending in the flow stage. False: there is more than
     * room for it. NULL: it holds nothing back. */
    bool (*drain)(struct stream *s, struct flow_out *out);

    /* Bytes are missing at `offset`, for both stages. */
    void (*gap)(struct stream *s, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                struct flow_out *out);

    /* The code is about to change: nothing of a range that was followed in part may be left. NULL:
     * there never is. */
    void (*commit)(struct stream *s, uint64_t offset, struct flow_out *out);

    /* Packet number `i` for those who list packets; `protocol` is set, the rest is 0. */
    void (*view)(const struct stream *s, const struct stream_batch *b, size_t i,
                 struct stream_packet *out);
};

extern const struct stream_ops stream_protocols[STREAM_PROTOCOLS];

/* The part of the flow stage that all protocols have. */
static inline struct flow_core *stream_core(struct stream *s)
{
    return stream_protocols[s->protocol].core(s);
}

#endif
