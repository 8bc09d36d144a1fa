/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections over TCP, a Unix socket, or standard input and output. */
#ifndef SERVER_STREAM_CONNECTION_H
#define SERVER_STREAM_CONNECTION_H

#include "server/net/connection.h"

#include <sys/socket.h>
#include <uv.h>

/* An open stream socket, TCP or Unix, that the connection takes over; NULL: not possible, and the
 * socket is closed. */
struct connection *stream_connection_new(uv_loop_t *loop, int fd);

/*
 * Of a TCP socket: a peer that shows no sign of life for so many seconds is gone, whether it was
 * sent something or not. Nothing happens for other sockets. */
void stream_connection_watch(int fd, unsigned seconds);

/* Standard input and output as one connection; NULL: they are no pipes or sockets, as they are for
 * a program that GDB starts. */
struct connection *stream_connection_stdio(uv_loop_t *loop);

#define STREAM_CONNECTION_NO_PIPE                                                                  \
    "standard input and output are no pipes; GDB starts it so: target remote | btraced ..."

#endif
