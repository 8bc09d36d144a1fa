/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking stream sockets, TCP or Unix, for the threads that are no event loop. */
#ifndef SERVER_STREAM_SOCKET_H
#define SERVER_STREAM_SOCKET_H

#include "btrace/types.h"
#include "server/net/address.h"

/* Each returns a file descriptor, or -1 with errno. A Unix socket's old file is removed first.
 * Connecting ends within a second: a peer that hangs takes nobody in. */
int stream_socket_listen(const struct address *address);
int stream_socket_accept(int listener);
int stream_socket_connect(const struct address *address);

/*
 * Sends a line and reads one back, without its line end: how the virtual board is asked. The
 * answer is cut to `size`. BT_OK, or BT_ERR_IO when the peer is gone or silent for `timeout_ms`, at
 * once when it has not read what was sent before, or soon after another thread has set *end. */
int stream_socket_ask(int fd, const char *line, char *answer, size_t size, unsigned timeout_ms,
                      const _Atomic bool *end);

#endif
