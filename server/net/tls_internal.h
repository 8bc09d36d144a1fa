/* SPDX-License-Identifier: BSD-3-Clause */
/* What connections through TLS want of their contexts. */
#ifndef SERVER_TLS_INTERNAL_H
#define SERVER_TLS_INTERNAL_H

#include "server/net/tls.h"

#include <openssl/ssl.h>

#define TLS_NAME_SIZE 96

/* What is known of the other side while its certificates are looked at. */
struct tls_peer {
    char name[TLS_NAME_SIZE]; /* of the certificate that was looked at last; at last the name that
                                 admitted */
    char *names;              /* struct identity; NULL: none yet */
    int64_t expires;          /* the first of the chain; 0: none yet */
    bool no_eku;              /* it says nothing of clients */
};

void tls_peer_release(struct tls_peer *p);

/* One more user, who drops it. */
struct tls_context *tls_context_keep(struct tls_context *t);
bool tls_context_is_server(const struct tls_context *t);

/* With memory buffers; NULL: out of memory. `peer` gets what its certificates say, and must stay as
 * long as the session. */
SSL *tls_context_session(struct tls_context *t, struct tls_peer *peer);

/* Why the handshake failed, in words, from the session and the thread's queue of errors, which is
 * emptied. */
void tls_context_failure(const struct tls_context *t, SSL *ssl, char *text, size_t size);

/* Whether a certificate that was accepted once is so still. An X509_V_ code. */
int tls_context_verify(struct tls_context *now, X509 *certificate, STACK_OF(X509) * chain,
                       struct tls_peer *peer);

#endif
