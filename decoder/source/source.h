/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a trace protocol besides decoding it: which device types speak it, which
 * registers configure its decoder, and its packets in words. One row a protocol in source.c, one
 * file each.
 */
#ifndef DECODER_SOURCE_H
#define DECODER_SOURCE_H

#include "btrace/source.h"
#include "decoder/source/detail.h"
#include "decoder/stream/stream.h"

/* Writes why a source cannot be decoded, lower case and without a full stop, to `why`, which has
 * room for `size` bytes and may be NULL if that is 0. Returns `error`. */
int source_fail(int error, char *why, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

struct source_protocol {
    enum stream_protocol protocol;
    /* What the type in struct bt_source begins with, in any case; NULL at the end. */
    const char *types[4];
    /* Tells what software and the core did, but not which instructions ran: no history. */
    bool no_instructions;
    /* Fills the protocol's part of `config` and *trace_id. Returns 0 or a bt_error by
     * source_fail(). */
    int (*configure)(const struct bt_source *source, struct stream_config *config,
                     unsigned *trace_id, char *why, size_t size);
    /* Bytes from one synchronisation to the next; NULL, 0: not known, as where cycles of the
     * processor are counted. With `registers`, those that decide
     * how the stream reads, for the message when it makes no sense. */
    uint32_t (*sync_period)(const struct stream_config *config);
    const char *registers;
    /* Returns the `packet` column: "a-sync", "branch" ..., and fills the `detail` column. */
    const char *(*describe)(const struct stream_config *config, const void *packet,
                            struct detail *d);
};

/* The protocol of a device type, or NULL. */
const struct source_protocol *source_protocol_of_type(const char *type);
const struct source_protocol *source_protocol(enum stream_protocol protocol);

/* A register's value: BT_ERR_RANGE if it is not among the source's. */
int source_reg(const struct bt_source *source, const char *name, uint64_t *value);

/* A register that the decoder cannot do without: BT_ERR_FORMAT, and `why` names it. */
int source_need_reg(const struct bt_source *source, const char *name, uint32_t *value, char *why,
                    size_t size);

/* ETMs have no register that tells ARM's M-profile from the others: the core's name does. */
bool source_m_profile(const struct bt_source *source);

extern const struct source_protocol source_ptm;
extern const struct source_protocol source_etmv3;
extern const struct source_protocol source_etmv2;
extern const struct source_protocol source_etmv1;
extern const struct source_protocol source_etmv4;
extern const struct source_protocol source_itm;
extern const struct source_protocol source_stm;
extern const struct source_protocol source_mtb;

#endif
