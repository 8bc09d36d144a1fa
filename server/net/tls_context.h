/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Certificates and who they admit: TLS 1.2 and 1.3 with certificates on both sides, on OpenSSL.
 * Nothing is resumed, so that each connection is checked by the lists that hold now.
 */
#ifndef SERVER_TLS_CONTEXT_H
#define SERVER_TLS_CONTEXT_H

#include "server/base/message.h"
#include "server/net/tls_files.h"

#include <openssl/ssl.h>
#include <stdbool.h>

struct tls_context;

/*
 * Of the server: reads ca, cert and key, which must belong together; the key's file must not be
 * readable by everybody. NULL with *why = "FILE:LINE: KEY: what is wrong, what is allowed".
 * `tls` is copied. `path` is the board file, for messages.
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

/* Contexts are counted: connections keep the one that they began with. */
struct tls_context *tls_context_keep(struct tls_context *t);
void tls_context_drop(struct tls_context *t);

#define TLS_NAME_SIZE 96

/* A new TLS session with memory buffers; NULL: out of memory. `name` gets whom the certificate that
 * was checked last names, for logs and messages, and must stay as long as the session. */
SSL *tls_context_session(struct tls_context *t, char name[TLS_NAME_SIZE]);

bool tls_context_is_server(const struct tls_context *t);

/* Why the handshake failed, in words, from the session and the thread's queue of errors, which is
 * emptied. */
void tls_context_failure(const struct tls_context *t, SSL *ssl, char *text, size_t size);

#endif
