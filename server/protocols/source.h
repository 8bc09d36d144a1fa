/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the server knows of a trace protocol: which device types speak it, which registers
 * configure its decoder, and its packets in words. One row a protocol in source.c,
 * one file each. */
#ifndef SERVER_SOURCE_H
#define SERVER_SOURCE_H

#include "decoder/stream/stream.h"
#include "drivers/snapshot/snapshot.h"
#include "server/base/message.h"
#include "server/protocols/dump_describe.h"

struct source_protocol {
    enum stream_protocol protocol;
    /* `type=` of a snapshot's device. */
    bool (*matches)(const char *type);
    /* Fills the protocol's part of `config` and *trace_id from the device's registers; `core` may
     * be NULL. Returns 0 or a bt_error with *why filled. */
    int (*configure)(const struct snapshot_device *device, const struct snapshot_device *core,
                     struct stream_config *config, unsigned *trace_id, struct message *why);
    /* Bytes from one synchronisation to the next; 0: not known. With `registers`, those that decide
     * how the stream reads, for the message when it makes no sense. */
    uint32_t (*sync_period)(const struct stream_config *config);
    const char *registers;
    /* The `packet` column: "a-sync", "branch" ... */
    const char *(*name)(const void *packet);
    /* The `detail` column. */
    void (*describe)(const struct stream_config *config, const void *packet, struct detail *d);
};

/* The protocol of a device type, or NULL. */
const struct source_protocol *source_protocol_of_type(const char *type);
const struct source_protocol *source_protocol(enum stream_protocol protocol);

/* A register that the decoder cannot do without: BT_ERR_FORMAT,
 * and *why names file and register. */
int source_need_reg(const struct snapshot_device *device, const char *name, uint32_t *value,
                    struct message *why);

/* ETMv1, ETMv2: how the cycles of the port are stored (PORT_LAYOUT; 0 if missing). */
int source_port_layout(const struct snapshot_device *device, struct port_format *format,
                       struct message *why);

/* ETMs have no register that tells ARM's M-profile from the others: the core's name does. */
bool source_m_profile(const struct snapshot_device *core);

/* Where the core's exception vectors are, from its SCTLR: both places if that is not known. */
void source_vectors(const struct snapshot_device *core, bool *low, bool *high);

extern const struct source_protocol source_ptm;
extern const struct source_protocol source_etmv3;
extern const struct source_protocol source_etmv2;
extern const struct source_protocol source_etmv1;
extern const struct source_protocol source_etmv4;

#endif
