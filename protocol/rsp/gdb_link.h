/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GDB's end of a connection to a server: frames out, whole packets in, acknowledgements, damaged
 * and repeated frames. Knows nothing of what the packets mean.
 * Not for use outside of protocol/. */
#ifndef PROTOCOL_GDB_LINK_H
#define PROTOCOL_GDB_LINK_H

#include "protocol/rsp/rsp.h"

struct gdb_link_events {
    /* A packet, valid until the end of the call. Oversize ones come with payload NULL. */
    void (*packet)(void *ctx, const char *payload, size_t len);
    /*
     * The connection is of no use any more: BT_ERR_FORMAT (not the protocol), BT_ERR_IO (damaged
     * frames without end), BT_ERR_NOMEM. The link is closed before.
     */
    void (*broken)(void *ctx, int error);
};

struct gdb_link {
    const struct gdb_link_events *events;
    void *ctx;
    struct rsp_receiver receiver;
    struct rsp_sender sender;
    bool open;
    bool greeted;     /* a byte has come in */
    unsigned damaged; /* frames in a row */
    unsigned epoch;   /* counts connections */
};

/* `limit`: bytes of the longest payload that comes in. BT_OK or BT_ERR_NOMEM. */
int gdb_link_init(struct gdb_link *l, size_t limit, const struct gdb_link_events *events, void *ctx,
                  rsp_write_fn write, void *write_ctx);
void gdb_link_release(struct gdb_link *l);

/* A new connection, in ack mode. */
void gdb_link_open(struct gdb_link *l);
void gdb_link_close(struct gdb_link *l);

/* Both events may come from here; they may close and open the link. */
void gdb_link_input(struct gdb_link *l, const void *bytes, size_t len);

/* BT_OK, BT_ERR_NOMEM, BT_ERR_IO (not open). `write` may close the link, and nothing else. */
int gdb_link_send(struct gdb_link *l, const void *payload, size_t len);
void gdb_link_interrupt(struct gdb_link *l);

#endif
