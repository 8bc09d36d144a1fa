/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions of admitted connections, however they came: their limits, and what they have sent and
 * received. A connection may end at any byte. Who comes while another is just ending waits for
 * that, instead of being refused.
 */
#ifndef SERVER_GDB_CLIENTS_H
#define SERVER_GDB_CLIENTS_H

#include "protocol/session/gdb_session.h"
#include "server/base/loop_time.h"
#include "server/config/config.h"
#include "server/net/connection.h"

#include <uv.h>

#define GDB_CLIENTS_WAITING 16

#define GDB_LIMITS_DEFAULT ((struct gdb_limits){8, GDB_PACKET_SIZE, (size_t)16 << 20, 0, 20, 0})

/* Freed when its connection is gone. */
struct gdb_client {
    struct gdb_client *next;
    struct gdb_clients *clients;
    struct connection *connection;
    struct gdb_session session;
    bool session_open, closing;
    bool over;     /* nothing is said to it or taken from it any more; it is closed from the loop */
    bool open;     /* the service has not closed it */
    bool admitted; /* it has a session, or had one until it was disconnected */
    bool asked;    /* it has said all, and may still read */
    void *served;  /* what the service made for it */
    unsigned number;
    uint64_t since, heard; /* uv_now(): connected, last byte from it */
    uint64_t begun;        /* the packet that is not complete began then; 0: there is none */
    uint64_t taken;        /* packets that were complete then */
    uint64_t received, sent;
};

/* What a connection is served with. */
struct gdb_service {
    /*
     * Makes c->session with `send` and `send_ctx`: gdb_session_init() or its kin. Returns what that
     * returns; c->served is the service's.
     * A client that is not wanted: gdb_session_refuse(). */
    int (*open)(void *ctx, struct gdb_client *c, gdb_send_fn send, void *send_ctx);
    /* The client is served no more, which may be found out while it is served. Once. */
    void (*close)(void *ctx, struct gdb_client *c);
    /* Its session is gone: what was made for it can go, too. Last. */
    void (*release)(void *ctx, struct gdb_client *c);
    /* Optional: a connection is over, and nobody waits. `last`: it was served,
     * and nobody else is. */
    void (*left)(void *ctx, bool last);
    /* Optional: what c->connection->role says is not what it was. */
    void (*granted)(void *ctx, struct gdb_client *c);
    void *ctx;
};

struct gdb_clients {
    uv_loop_t *loop;
    uv_timer_t timer; /* once a second: who is idle */
    struct gdb_service service;
    const struct gdb_limits *limits; /* may change at any time */
    struct gdb_client *first;
    struct gdb_client *parting; /* closed, but their connections are not gone */
    unsigned count, last_number;
    /* Came while a client was leaving, the first first. */
    struct connection *waiting[GDB_CLIENTS_WAITING];
    unsigned waiting_count;
    /* Set by gdb_clients_judge() until it was done. */
    bool (*holds)(void *ctx, struct connection *c, char *why, size_t size);
    void *holds_ctx;
    bool stopped;
    bool log_wire;              /* each packet is a line of the log */
    uint64_t refused, dropped;  /* refused; ended by a limit */
    struct loop_time loop_time; /* how long none of them was served */
};

/* `limits` must outlive it. Returns 0 or a negative libuv error. */
int gdb_clients_init(struct gdb_clients *g, uv_loop_t *loop, const struct gdb_service *service,
                     const struct gdb_limits *limits);

/* Takes over a connection that is not started. */
void gdb_clients_admit(struct gdb_clients *g, struct connection *c);

/*
 * Asks about each connection whether it holds (then its role may be another one), and ends those
 * that do not: `why` is told to them and to the log. From the loop, soon: whoever has asked for it
 * may be one of them.
 */
void gdb_clients_judge(struct gdb_clients *g,
                       bool (*holds)(void *ctx, struct connection *c, char *why, size_t size),
                       void *ctx);

/* Ends one; what is pending is answered with the reason, which the log has, too. Not from within
 * one of its own packets. */
void gdb_client_end(struct gdb_client *c, const char *why);

/* Closes all, and the timer; those who come later are refused. The structure must stay until
 * the loop has ended. Also for one that is all zero. */
void gdb_clients_stop(struct gdb_clients *g);

#endif
