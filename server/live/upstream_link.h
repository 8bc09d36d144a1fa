/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket to the target's own GDB server, on the event loop; tried again when it is lost. */
#ifndef SERVER_UPSTREAM_LINK_H
#define SERVER_UPSTREAM_LINK_H

#include "protocol/remote/gdb_upstream.h"
#include "server/config/config.h"

#include <uv.h>

struct upstream_link {
    uv_loop_t *loop;
    struct address address;
    struct gdb_upstream *upstream;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    uv_connect_t request;
    uv_getaddrinfo_t lookup;
    uv_timer_t retry;
    bool socket_open; /* the handle is in use */
    bool connected;
    bool stopping;
    bool given; /* the socket: there is no other */
    char buffer[65536];
};

/* Begins to connect. gdb_upstream_connected() follows, also after each loss. 0 or a uv error. */
int upstream_link_start(struct upstream_link *l, uv_loop_t *loop, const struct address *address,
                        struct gdb_upstream *upstream);

/* The same on a socket that is connected already, which it closes; nothing comes after its loss. */
int upstream_link_open(struct upstream_link *l, uv_loop_t *loop, int fd,
                       struct gdb_upstream *upstream);

/* Sends; for gdb_upstream_new(), with the link as context. */
void upstream_link_send(void *link, const void *bytes, size_t len);

/* Ends the connection and calls again; not for one that was handed over. */
void upstream_link_again(struct upstream_link *l);

/* Closes the handles; the loop ends when they are closed. */
void upstream_link_stop(struct upstream_link *l);

#endif
