/* SPDX-License-Identifier: BSD-3-Clause */
/* TLS over another connection. */
#ifndef SERVER_TLS_CONNECTION_H
#define SERVER_TLS_CONNECTION_H

#include "server/net/connection.h"
#include "server/net/tls_context.h"

/*
 * Begins the handshake on a connection that is not started, and owns it from now on. `done` is
 * called once and from the loop, unless the new connection is closed before: with NULL, and then it
 * can be started and its `peer` begins with the name in the certificate; or with the reason of the
 * failure, and then it has to be closed or finished (which lets the other side read the reason).
 * NULL: out of memory, and `lower` is closed.
 */
struct connection *
tls_connection_new(struct connection *lower, struct tls_context *context,
                   void (*done)(void *ctx, struct connection *c, const char *why), void *ctx);

#endif
