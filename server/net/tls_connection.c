/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/net/tls_connection.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_TYPE_HANDSHAKE 22
#define FIRST_BYTES_MAX       65536 /* of a handshake; a chain of certificates is shorter */

/* Freed when the connection below is gone. */
struct tls_connection {
    struct connection base;
    struct connection *lower;
    struct tls_context *context;
    SSL *ssl;
    void (*done)(void *ctx, struct connection *c, const char *why);
    void *done_ctx;
    size_t handshake_bytes;
    bool handshaken, failed, started, paused, ended, closing;
    char name[TLS_NAME_SIZE];
};

static struct tls_connection *self(struct connection *c)
{
    return (struct tls_connection *)c;
}

/* Towards the other side. */

/* What TLS wants to send goes to the connection below. */
static int flush(struct tls_connection *t)
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
    struct tls_connection *t = self(c);
    size_t written;
    if (t->closing || !t->handshaken)
        return BT_ERR_IO;
    if (length == 0)
        return BT_OK;
    ERR_clear_error();
    if (SSL_write_ex(t->ssl, bytes, length, &written) != 1)
        return BT_ERR_IO;
    return flush(t);
}

static void send_close_notify(struct tls_connection *t)
{
    if (t->handshaken && !t->failed) {
        ERR_clear_error();
        SSL_shutdown(t->ssl);
    }
    flush(t);
}

static void tls_close(struct connection *c)
{
    struct tls_connection *t = self(c);
    if (!t->closing)
        send_close_notify(t);
    t->closing = true;
    connection_close(t->lower); /* also when it is finishing already */
}

static void tls_finish(struct connection *c)
{
    struct tls_connection *t = self(c);
    if (t->closing)
        return;
    t->closing = true;
    send_close_notify(t);
    connection_finish(t->lower);
}

static void tls_end(struct connection *c)
{
    struct tls_connection *t = self(c);
    if (t->closing)
        return;
    send_close_notify(t);
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

static void report_done(struct tls_connection *t, const char *why)
{
    t->failed = why != NULL;
    t->handshaken = !why;
    if (why)
        flush(t); /* the alert that says so */
    else
        connection_pause(t->lower, true);
    if (t->name[0] && !why) {
        char address[CONNECTION_PEER_MAX];
        snprintf(address, sizeof address, "%s", t->base.peer);
        snprintf(t->base.peer, sizeof t->base.peer, "%s (%.60s)", t->name, address);
    }
    t->done(t->done_ctx, &t->base, why);
}

static void report_ended(struct tls_connection *t, const char *why)
{
    if (t->ended || t->closing)
        return;
    t->ended = true;
    t->base.user.ended(t->base.user.ctx, why);
}

static void shake_hands(struct tls_connection *t)
{
    char why[300];
    ERR_clear_error();
    int result = SSL_do_handshake(t->ssl);
    int state = SSL_get_error(t->ssl, result);
    if (result == 1 || state == SSL_ERROR_WANT_READ) {
        if (flush(t) != BT_OK)
            report_done(t, "the connection is broken");
        else if (result == 1)
            report_done(t, NULL);
        return;
    }
    tls_context_failure(t->context, t->ssl, why, sizeof why);
    report_done(t, why);
}

/* What has come, to the user, as long as he takes it. */
static void deliver(struct tls_connection *t)
{
    char bytes[16384], why[300];
    size_t length;
    while (t->started && !t->closing && !t->paused && !t->ended) {
        ERR_clear_error();
        int result = SSL_read_ex(t->ssl, bytes, sizeof bytes, &length);
        int state = SSL_get_error(t->ssl, result);
        if (result == 1) {
            t->base.user.input(t->base.user.ctx, bytes, length);
            continue;
        }
        if (state == SSL_ERROR_ZERO_RETURN) {
            report_ended(t, NULL);
        } else if (state != SSL_ERROR_WANT_READ) {
            t->failed = true;
            tls_context_failure(t->context, t->ssl, why, sizeof why);
            flush(t);
            report_ended(t, why);
        } else {
            flush(t); /* an answer of TLS's own */
        }
        return;
    }
}

static void on_input(void *ctx, const void *bytes, size_t length)
{
    struct tls_connection *t = ctx;
    if (t->closing || t->failed)
        return;
    /* Who speaks another protocol hears nothing at all. */
    if (!t->handshaken && t->handshake_bytes == 0 &&
        *(const uint8_t *)bytes != RECORD_TYPE_HANDSHAKE && tls_context_is_server(t->context)) {
        report_done(t, "what it sends is not TLS");
        return;
    }
    if (BIO_write(SSL_get_rbio(t->ssl), bytes, (int)length) != (int)length) {
        t->handshaken ? report_ended(t, "out of memory") : report_done(t, "out of memory");
        return;
    }
    if (t->handshaken) {
        deliver(t);
        return;
    }
    /* Behind its last word the client may have said much already that is none of the handshake. */
    t->handshake_bytes += length;
    shake_hands(t);
    if (!t->handshaken && !t->failed && t->handshake_bytes > FIRST_BYTES_MAX &&
        tls_context_is_server(t->context))
        report_done(t, "the handshake is too long");
}

static void on_ended(void *ctx, const char *why)
{
    struct tls_connection *t = ctx;
    if (t->closing || t->failed)
        return;
    if (t->handshaken)
        report_ended(t, why ? why : "the connection was cut");
    else
        report_done(t, why ? why : "it has ended the connection in the handshake");
}

static void on_drained(void *ctx)
{
    struct tls_connection *t = ctx;
    if (!t->closing && t->handshaken && t->base.user.drained)
        t->base.user.drained(t->base.user.ctx);
}

static void on_released(void *ctx)
{
    struct tls_connection *t = ctx;
    if (t->base.user.released)
        t->base.user.released(t->base.user.ctx);
    SSL_free(t->ssl);
    tls_context_drop(t->context);
    free(t);
}

static void tls_pause(struct connection *c, bool paused)
{
    struct tls_connection *t = self(c);
    if (t->closing)
        return;
    t->paused = paused;
    connection_pause(t->lower, paused);
    deliver(t);
}

static int tls_start(struct connection *c)
{
    struct tls_connection *t = self(c);
    if (!t->handshaken)
        return BT_ERR_IO;
    t->started = true;
    connection_pause(t->lower, false);
    deliver(t);
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

struct connection *
tls_connection_new(struct connection *lower, struct tls_context *context,
                   void (*done)(void *ctx, struct connection *c, const char *why), void *ctx)
{
    struct tls_connection *t = calloc(1, sizeof *t);
    SSL *ssl = t ? tls_context_session(context, t->name) : NULL;
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
    if (!tls_context_is_server(context)) {
        SSL_do_handshake(ssl); /* the first word is the client's */
        ERR_clear_error();
    }
    if (connection_start(lower, &user) != BT_OK || flush(t) != BT_OK) {
        t->closing = true;
        connection_close(lower);
        return NULL;
    }
    return &t->base;
}
