/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A two-way stream of bytes to a peer that was admitted: what a session is given, whatever carries
 * the bytes. All calls belong to the thread of the event loop.
 *
 * Who gets a connection owns it: it fills in `user`, calls connection_start(), and ends with
 * connection_close() or connection_finish(), also from inside a callback. After that only
 * `released` is called, later and from the loop: then what `ctx` points to can go.
 */
#ifndef SERVER_CONNECTION_H
#define SERVER_CONNECTION_H

#include "btrace/types.h"
#include "server/net/identity.h"

#define CONNECTION_PEER_MAX 160

struct connection;

/* What the owner hears. No calls come before connection_start(), but for `released`. */
struct connection_user {
    /* Bytes have come; they are gone when it returns. */
    void (*input)(void *ctx, const void *bytes, size_t length);
    /* Nothing more will come: the other side has ended (`why` is NULL) or the connection is broken.
     * Comes once. The connection still has to be closed. */
    void (*ended)(void *ctx, const char *why);
    /* Optional: all that waited after connection_write() is on its way. */
    void (*drained)(void *ctx);
    /* Optional: the connection is gone. The last call. */
    void (*released)(void *ctx);
    void *ctx;
};

/* What a kind of connection can do; see the functions below. */
struct connection_ops {
    int (*start)(struct connection *c);
    int (*write)(struct connection *c, const void *bytes, size_t length);
    size_t (*unsent)(const struct connection *c);
    bool (*leaving)(const struct connection *c);
    void (*pause)(struct connection *c, bool paused);
    void (*end)(struct connection *c);
    void (*finish)(struct connection *c);
    void (*close)(struct connection *c);
};

struct connection {
    const struct connection_ops *ops;
    struct connection_user user;
    char peer[CONNECTION_PEER_MAX]; /* who it is, for logs: "10.1.0.5:40112" */
    struct identity who;            /* the same, as far as it is proven */
    enum access_role role;          /* what it may; set by whoever admits it */
};

/* Begins to read. Input may come before this returns. BT_OK or BT_ERR_IO. */
static inline int connection_start(struct connection *c, const struct connection_user *user)
{
    c->user = *user;
    return c->ops->start(c);
}

/*
 * Sends bytes; what the other side does not take at once is copied, and waits. BT_OK, BT_ERR_NOMEM,
 * or BT_ERR_IO when the connection is broken; then it should be closed (`ended`
 * is not called). */
static inline int connection_write(struct connection *c, const void *bytes, size_t length)
{
    return c->ops->write(c, bytes, length);
}

/* Bytes that wait for the other side to read. */
static inline size_t connection_unsent(const struct connection *c)
{
    return c->ops->unsent(c);
}

/* The other side has ended it already, though what it sent before may not be read yet. */
static inline bool connection_leaving(const struct connection *c)
{
    return c->ops->leaving(c);
}

/* Stops and continues reading: the other side is held up when its buffers are full. Input that was
 * kept may come before this returns. */
static inline void connection_pause(struct connection *c, bool paused)
{
    c->ops->pause(c, paused);
}

/* Tells the other side, after what waits, that nothing more will be sent. Reading goes on. */
static inline void connection_end(struct connection *c)
{
    c->ops->end(c);
}

/* Sends what waits, then closes. It gives up when nothing moves for two seconds, or after 30. */
static inline void connection_finish(struct connection *c)
{
    c->ops->finish(c);
}

/* Closes at once, also after connection_finish() while `released` was not called. What waits is not
 * sent. */
static inline void connection_close(struct connection *c)
{
    c->ops->close(c);
}

#endif
