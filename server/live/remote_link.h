/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket to a remote target's GDB server, on the event loop; opened again when it is lost. */
#ifndef SERVER_REMOTE_LINK_H
#define SERVER_REMOTE_LINK_H

#include "protocol/remote/gdb_remote.h"
#include "server/config/config.h"

#include <uv.h>

/* Legal: closed -> opening -> connected -> closing -> closed; opening -> closing. */
enum remote_link_state {
    REMOTE_LINK_CLOSED, /* the next attempt may wait for its time */
    REMOTE_LINK_OPENING,
    REMOTE_LINK_CONNECTED,
    REMOTE_LINK_CLOSING, /* the handle is in use still */
};

struct remote_link {
    uv_loop_t *loop;
    struct address address;
    struct gdb_remote *remote;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    uv_connect_t request;
    uv_getaddrinfo_t lookup;
    uv_timer_t retry;
    enum remote_link_state state;
    unsigned attempts; /* since the first of the name's addresses: each in its turn */
    bool stopping;
    char buffer[65536];
};

/* Begins to connect. gdb_remote_connected() follows, also after each loss. 0 or a uv error. */
int remote_link_start(struct remote_link *l, uv_loop_t *loop, const struct address *address,
                      struct gdb_remote *remote);

/* Sends; for gdb_remote_new(), with the link as context. */
void remote_link_send(void *link, const void *bytes, size_t len);

/* Ends the connection and calls again. */
void remote_link_again(struct remote_link *l);

/* Closes the handles; the loop ends when they are closed. */
void remote_link_stop(struct remote_link *l);

#endif
