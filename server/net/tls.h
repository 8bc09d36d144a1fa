/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TLS 1.2 and 1.3 over another connection, with certificates on both sides, on OpenSSL:
 * certificates and who they admit, and the connections themselves. Nothing is resumed, so that each
 * connection is checked by the lists that hold now. All calls belong to the thread of the event
 * loop.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include "drivers/base/message.h"
#include "server/net/connection.h"

#define TLS_MAX_NAMES  192
#define TLS_ALLOW_SIZE IDENTITY_NAME_SIZE /* bytes of a name that is allowed, with its NUL */

/* The files of one side, and the names that it admits. Lines are those of the keys in the board
 * file. */
struct tls_files {
    char ca[512]; /* "": no TLS */
    char cert[512];
    char key[512];
    char crl[512]; /* "": none but those in `ca` */
    unsigned ca_line, cert_line, key_line, crl_line;
    bool client_eku;                  /* a certificate says that it is for clients */
    const char *allow[TLS_MAX_NAMES]; /* names in certificates; "*": all */
    unsigned allow_count;
    unsigned handshake; /* seconds that one may take */
};

struct tls_context;

/*
 * Of the server: reads ca, cert and key, which must belong together; the key's file must not be
 * readable by everybody. Lists of revoked certificates, in `crl` and `ca`, must hold now; with any,
 * each authority of a chain wants one. NULL with *why = "FILE:LINE: KEY: what is wrong, what is
 * allowed". `tls` is copied. `path` is the board file, for messages.
 */
struct tls_context *tls_context_server(const struct tls_files *tls, const char *path,
                                       struct message *why);

/* What a client shows and believes. */
struct tls_client {
    const char *ca;   /* NULL: what the system trusts */
    const char *cert; /* NULL: none is shown; `key` belongs to it */
    const char *key;
    const char *name; /* the server's: a host name or an address, as in its certificate */
};

/* NULL with *why = "--OPTION: what is wrong". */
struct tls_context *tls_context_client(const struct tls_client *client, struct message *why);

/* Contexts are counted: connections keep the one that they began with. NULL is allowed. */
void tls_context_drop(struct tls_context *t);

/*
 * Whether the other side of an admitted connection would be admitted by `now`, too: its names, its
 * chain, its dates, the revocations. True for connections without TLS. False: `why` is filled.
 */
bool tls_connection_holds(const struct connection *c, struct tls_context *now, char *why,
                          size_t size);

/*
 * Begins the handshake on a connection that is not started, and owns it from now on. `done` is
 * called once and from the loop, unless the new connection is closed before: with NULL, and then it
 * can be started, its `peer` begins with the name in the certificate that
 * admitted it, and `who` has all its names; or with the reason of the
 * failure, and then it has to be closed or finished (which lets the other side read the reason).
 * NULL: out of memory, and `lower` is closed.
 */
struct connection *
tls_connection_new(struct connection *lower, struct tls_context *context,
                   void (*done)(void *ctx, struct connection *c, const char *why), void *ctx);

#endif
