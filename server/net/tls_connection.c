/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection through TLS, over another one. */
#include "tls_internal.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORD_TYPE_HANDSHAKE 22
#define FIRST_BYTES_MAX       65536 /* of a handshake; a chain of certificates is shorter */

/* States only go on: from each one to the next, or to one of the last two. */
enum tls_state {
    TLS_HANDSHAKE,
    TLS_READY,   /* the handshake is over, and nobody has called connection_start() */
    TLS_OPEN,    /* what comes is handed on */
    TLS_FAILED,  /* nothing is read or written any more: -> closing */
    TLS_CLOSING, /* by its owner */
};

/* Freed when the connection below is gone. */
struct tls_connection {
    struct connection base;
    struct connection *lower;
    struct tls_context *context;
    SSL *ssl;
    void (*done)(void *ctx, struct connection *c, const char *why);
    void *done_ctx;
    size_t handshake_bytes;
    enum tls_state state;
    bool paused;
    bool ended; /* the owner has been told that nothing more comes */
    struct tls_peer other;
};

/* The handshake is over, and nothing has failed. */
static bool tls_is_up(const struct tls_connection *t)
{
    return t->state == TLS_READY || t->state == TLS_OPEN;
}

static struct tls_connection *tls_self(struct connection *c)
{
    return (struct tls_connection *)c;
}

/* Towards the other side. */

/* What TLS wants to send goes to the connection below. */
static int tls_flush(struct tls_connection *t)
{
    BIO *out = SSL_get_wbio(t->ssl);
    char *bytes;
    long length = BIO_get_mem_data(out, &bytes);
    if (length <= 0)
        return BT_OK;
    int error = connection_write(t->lower, bytes, (size_t)length);
    (void)BIO_reset(out);
    return error;
}

static int tls_write(struct connection *c, const void *bytes, size_t length)
{
    struct tls_connection *t = tls_self(c);
    size_t written;
    if (!tls_is_up(t))
        return BT_ERR_IO;
    if (length == 0)
        return BT_OK;
    ERR_clear_error();
    if (SSL_write_ex(t->ssl, bytes, length, &written) != 1)
        return BT_ERR_IO;
    return tls_flush(t);
}

static void tls_send_close_notify(struct tls_connection *t)
{
    if (tls_is_up(t)) {
        ERR_clear_error();
        SSL_shutdown(t->ssl);
    }
    tls_flush(t);
}

static void tls_close(struct connection *c)
{
    struct tls_connection *t = tls_self(c);
    if (t->state != TLS_CLOSING)
        tls_send_close_notify(t);
    t->state = TLS_CLOSING;
    connection_close(t->lower); /* also when it is finishing already */
}

static void tls_finish(struct connection *c)
{
    struct tls_connection *t = tls_self(c);
    if (t->state == TLS_CLOSING)
        return;
    tls_send_close_notify(t);
    t->state = TLS_CLOSING;
    connection_finish(t->lower);
}

static void tls_end(struct connection *c)
{
    struct tls_connection *t = tls_self(c);
    if (t->state == TLS_CLOSING)
        return;
    tls_send_close_notify(t);
    connection_end(t->lower);
}

static size_t tls_unsent(const struct connection *c)
{
    return connection_unsent(((const struct tls_connection *)c)->lower);
}

static bool tls_leaving(const struct connection *c)
{
    return connection_leaving(((const struct tls_connection *)c)->lower);
}

/* From the other side. */

static void tls_report_done(struct tls_connection *t, const char *why)
{
    t->state = why ? TLS_FAILED : TLS_READY;
    if (why)
        tls_flush(t); /* the alert that says so */
    else
        connection_pause(t->lower, true);
    if (t->other.name[0] && !why) {
        char address[CONNECTION_PEER_MAX];
        snprintf(address, sizeof address, "%s", t->base.peer);
        snprintf(t->base.peer, sizeof t->base.peer, "%s (%.60s)", t->other.name, address);
    }
    t->base.who.names = t->other.names;
    t->base.who.expires = t->other.expires;
    t->done(t->done_ctx, &t->base, why);
}

static void tls_report_ended(struct tls_connection *t, const char *why)
{
    if (t->ended || t->state == TLS_CLOSING)
        return;
    t->ended = true;
    t->base.user.ended(t->base.user.ctx, why);
}

static void tls_shake_hands(struct tls_connection *t)
{
    char why[480];
    ERR_clear_error();
    int result = SSL_do_handshake(t->ssl);
    int state = SSL_get_error(t->ssl, result);
    if (result == 1 || state == SSL_ERROR_WANT_READ) {
        if (tls_flush(t) != BT_OK)
            tls_report_done(t, "the connection is broken");
        else if (result == 1)
            tls_report_done(t, NULL);
        return;
    }
    tls_context_failure(t->context, t->ssl, why, sizeof why);
    tls_report_done(t, why);
}

/* What has come, to the user, as long as he takes it. */
static void tls_deliver(struct tls_connection *t)
{
    char bytes[16384], why[480];
    size_t length;
    while (t->state == TLS_OPEN && !t->paused && !t->ended) {
        ERR_clear_error();
        int result = SSL_read_ex(t->ssl, bytes, sizeof bytes, &length);
        int state = SSL_get_error(t->ssl, result);
        if (result == 1) {
            t->base.user.input(t->base.user.ctx, bytes, length);
            continue;
        }
        if (state == SSL_ERROR_ZERO_RETURN) {
            tls_report_ended(t, NULL);
        } else if (state != SSL_ERROR_WANT_READ) {
            t->state = TLS_FAILED;
            tls_context_failure(t->context, t->ssl, why, sizeof why);
            tls_flush(t);
            tls_report_ended(t, why);
        } else {
            tls_flush(t); /* an answer of TLS's own */
        }
        return;
    }
}

static void on_input(void *ctx, const void *bytes, size_t length)
{
    struct tls_connection *t = ctx;
    if (t->state >= TLS_FAILED)
        return;
    /* Who speaks another protocol hears nothing at all. */
    if (t->state == TLS_HANDSHAKE && t->handshake_bytes == 0 &&
        *(const uint8_t *)bytes != RECORD_TYPE_HANDSHAKE && tls_context_is_server(t->context)) {
        tls_report_done(t, "what it sends is not TLS");
        return;
    }
    if (BIO_write(SSL_get_rbio(t->ssl), bytes, (int)length) != (int)length) {
        if (t->state == TLS_HANDSHAKE)
            tls_report_done(t, "out of memory");
        else
            tls_report_ended(t, "out of memory");
        return;
    }
    if (t->state != TLS_HANDSHAKE) {
        tls_deliver(t);
        return;
    }
    /* Behind its last word the client may have said much already that is none of the handshake. */
    t->handshake_bytes += length;
    tls_shake_hands(t);
    if (t->state == TLS_HANDSHAKE && t->handshake_bytes > FIRST_BYTES_MAX &&
        tls_context_is_server(t->context))
        tls_report_done(t, "the handshake is too long");
}

static void on_ended(void *ctx, const char *why)
{
    struct tls_connection *t = ctx;
    if (t->state >= TLS_FAILED)
        return;
    if (t->state != TLS_HANDSHAKE)
        tls_report_ended(t, why ? why : "the connection was cut");
    else
        tls_report_done(t, why ? why : "it has ended the connection in the handshake");
}

static void on_drained(void *ctx)
{
    struct tls_connection *t = ctx;
    if (tls_is_up(t) && t->base.user.drained)
        t->base.user.drained(t->base.user.ctx);
}

static void on_released(void *ctx)
{
    struct tls_connection *t = ctx;
    if (t->base.user.released)
        t->base.user.released(t->base.user.ctx);
    SSL_free(t->ssl);
    tls_peer_release(&t->other);
    tls_context_drop(t->context);
    free(t);
}

static void tls_pause(struct connection *c, bool paused)
{
    struct tls_connection *t = tls_self(c);
    if (t->state == TLS_CLOSING)
        return;
    t->paused = paused;
    connection_pause(t->lower, paused);
    tls_deliver(t);
}

static int tls_start(struct connection *c)
{
    struct tls_connection *t = tls_self(c);
    if (t->state != TLS_READY)
        return BT_ERR_IO;
    t->state = TLS_OPEN;
    connection_pause(t->lower, false);
    tls_deliver(t);
    return BT_OK;
}

static const struct connection_ops tls_ops = {
    .start = tls_start,
    .write = tls_write,
    .unsent = tls_unsent,
    .leaving = tls_leaving,
    .pause = tls_pause,
    .end = tls_end,
    .finish = tls_finish,
    .close = tls_close,
};

bool tls_connection_holds(const struct connection *c, struct tls_context *now, char *why,
                          size_t size)
{
    const struct tls_connection *t = (const struct tls_connection *)c;
    struct tls_peer peer = {.names = NULL};
    if (c->ops != &tls_ops || !now)
        return true;
    X509 *certificate = SSL_get1_peer_certificate(t->ssl);
    int error = certificate
                    ? tls_context_verify(now, certificate, SSL_get_peer_cert_chain(t->ssl), &peer)
                    : X509_V_ERR_CERT_REJECTED;
    X509_free(certificate);
    tls_peer_release(&peer);
    if (error == X509_V_ERR_CERT_REJECTED)
        snprintf(why, size, "your name is not in 'allow' of [tls] any more");
    else if (error != X509_V_OK)
        snprintf(why, size, "your certificate is not accepted any more: %s",
                 X509_verify_cert_error_string(error));
    return error == X509_V_OK;
}

struct connection *
tls_connection_new(struct connection *lower, struct tls_context *context,
                   void (*done)(void *ctx, struct connection *c, const char *why), void *ctx)
{
    struct tls_connection *t = calloc(1, sizeof *t);
    SSL *ssl = t ? tls_context_session(context, &t->other) : NULL;
    if (!ssl) {
        free(t);
        connection_close(lower);
        return NULL;
    }
    const struct connection_user user = {.input = on_input,
                                         .ended = on_ended,
                                         .drained = on_drained,
                                         .released = on_released,
                                         .ctx = t};
    t->base.ops = &tls_ops;
    t->lower = lower;
    t->context = tls_context_keep(context);
    t->ssl = ssl;
    t->done = done;
    t->done_ctx = ctx;
    snprintf(t->base.peer, sizeof t->base.peer, "%s", lower->peer);
    t->base.who = lower->who;
    if (!tls_context_is_server(context)) {
        SSL_do_handshake(ssl); /* the first word is the client's */
        ERR_clear_error();
    }
    if (connection_start(lower, &user) != BT_OK || tls_flush(t) != BT_OK) {
        t->state = TLS_CLOSING;
        connection_close(lower);
        return NULL;
    }
    return &t->base;
}
