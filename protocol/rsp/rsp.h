/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Framing of GDB's remote serial protocol: $payload#checksum, '+' and '-', the interrupt byte.
 * Receiver and sender are independent of each other and of what the packets mean.
 */
#ifndef PROTOCOL_RSP_H
#define PROTOCOL_RSP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "btrace/types.h"
#include "protocol/rsp/text_buf.h"

#define RSP_INTERRUPT 0x03

enum rsp_event {
    RSP_NONE,     /* input used up, nothing complete yet */
    RSP_PACKET,   /* payload and payload_len are valid until the next call */
    RSP_ACK,      /* '+' */
    RSP_NAK,      /* '-' */
    RSP_BREAK,    /* 0x03 between packets */
    RSP_BAD,      /* a frame with a wrong or malformed checksum, escape or run */
    RSP_OVERSIZE, /* a correct frame longer than the limit; its payload is cut */
};

enum rsp_state {
    RSP_STATE_IDLE,
    RSP_STATE_PAYLOAD,
    RSP_STATE_ESCAPE,
    RSP_STATE_REPEAT,
    RSP_STATE_CHECKSUM1,
    RSP_STATE_CHECKSUM2,
};

struct rsp_receiver {
    char *payload; /* escapes undone, NUL after the last byte; may hold NULs */
    size_t payload_len;
    size_t limit;
    enum rsp_state state;
    uint8_t sum;
    uint8_t wanted; /* checksum digits read so far */
    bool bad;
    bool oversize;
    /*
     * Expand runs: '*' and a count after a byte. Servers may send them, GDB never does, so it is
     * off after rsp_receiver_init().
     */
    bool expand;
};

/* `limit`: bytes of the longest payload, without escapes. BT_OK or BT_ERR_NOMEM. */
int rsp_receiver_init(struct rsp_receiver *r, size_t limit);
void rsp_receiver_release(struct rsp_receiver *r);

/*
 * Takes bytes from *bytes (advancing it and reducing *len) up to and including the end of the
 * next event, and returns that event; RSP_NONE when *len became 0 before. Bytes between frames
 * that mean nothing are skipped. A '$' inside a frame starts the frame anew: the rest of the
 * broken one was lost.
 */
enum rsp_event rsp_receive(struct rsp_receiver *r, const uint8_t **bytes, size_t *len);

/* Called with whole frames and single acknowledgements. */
typedef void (*rsp_write_fn)(void *ctx, const void *bytes, size_t len);

/*
 * Sends frames one at a time in ack mode: the next one waits for the '+' of the one before.
 * Without acks everything goes out at once.
 */
struct rsp_sender {
    rsp_write_fn write;
    void *write_ctx;
    struct text_buf queue; /* frames not yet acknowledged; the first is in flight */
    unsigned resends;      /* of the frame in flight */
    bool no_ack;
};

void rsp_sender_init(struct rsp_sender *s, rsp_write_fn write, void *write_ctx);
static inline void rsp_sender_release(struct rsp_sender *s)
{
    text_buf_release(&s->queue);
}

/* Frames and sends a payload; '$', '#', '}', '*' are escaped. BT_OK or BT_ERR_NOMEM. */
int rsp_send(struct rsp_sender *s, const void *payload, size_t len);

/* Acknowledges a frame that came in: '+' or '-'; nothing in no-ack mode. */
void rsp_send_ack(struct rsp_sender *s, bool good);

/* '+' arrived: the next frame goes out. A '+' without a frame in flight is ignored. */
void rsp_sender_acked(struct rsp_sender *s);

/*
 * '-' arrived: the frame in flight is sent again. BT_OK, or BT_ERR_IO when it was refused too
 * often to go on.
 */
int rsp_sender_nacked(struct rsp_sender *s);

/*
 * A new packet arrived, so the peer is done with the frame in flight, whether it said '+' or not
 * (simple clients never do). What still waits goes out at once,
 * for it may be waited for.
 */
void rsp_sender_implied_ack(struct rsp_sender *s);

/* From now on no acknowledgements are expected or sent (QStartNoAckMode, after its OK). */
void rsp_sender_set_no_ack(struct rsp_sender *s);

/*
 * GDB's end of a connection to a server: frames out, whole packets in, acknowledgements, damaged
 * and repeated frames. Knows nothing of what the packets mean.
 */
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
/* The queue stays until the next connection: this may be called from within a write. */
static inline void gdb_link_close(struct gdb_link *l)
{
    l->open = false;
}

/* Both events may come from here; they may close and open the link. */
void gdb_link_input(struct gdb_link *l, const void *bytes, size_t len);

/* BT_OK, BT_ERR_NOMEM, BT_ERR_IO (not open). `write` may close the link, and nothing else. */
int gdb_link_send(struct gdb_link *l, const void *payload, size_t len);
void gdb_link_interrupt(struct gdb_link *l);

#endif
