/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_internal.h"

#include "server/base/log.h"
#include "server/net/stream_connection.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define READERS_MAX 8u
#define PIECE       1024u
#define UNSENT_MAX  (4u << 20) /* a reader that is so far behind does not read */

/* Someone who is connected to the port. */
struct live_itm_reader {
    struct live_itm_reader *next;
    struct live *live;
    struct connection *connection;
};

static void wake_itm(void *ctx)
{
    struct live *l = ctx;
    uv_async_send(&l->itm.wake);
}

/* Of the decode thread. */
static void itm_bytes(void *ctx, const uint8_t *data, size_t len)
{
    itm_tap_bytes(&((struct live *)ctx)->itm.tap, data, len);
}

static void itm_lost(void *ctx, enum bt_gap_cause cause)
{
    (void)cause;
    itm_tap_lost(&((struct live *)ctx)->itm.tap);
}

struct pipeline_passed live_itm_passed(struct live *l)
{
    if (!l->itm.open || !l->config->itm.on)
        return (struct pipeline_passed){.trace_id = 0};
    return (struct pipeline_passed){
        .trace_id = l->config->itm.id, .bytes = itm_bytes, .lost = itm_lost, .ctx = l};
}

static void remove_reader(struct live_itm_reader *r)
{
    struct live_itm *itm = &r->live->itm;
    struct live_itm_reader **at = &itm->readers;
    while (*at && *at != r)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = r->next;
    itm_tap_want(&itm->tap, ITM_TAP_PACKETS, itm->readers != NULL);
    connection_close(r->connection);
}

/* Nobody has anything to say there. */
static void on_reader_input(void *ctx, const void *bytes, size_t length)
{
    (void)ctx, (void)bytes, (void)length;
}

static void on_reader_ended(void *ctx, const char *why)
{
    (void)why;
    remove_reader(ctx);
}

static void send_to_reader(struct live_itm_reader *r, const uint8_t *bytes, size_t size)
{
    if (connection_write(r->connection, bytes, size) == BT_OK &&
        connection_unsent(r->connection) <= UNSENT_MAX)
        return;
    log_write(LOG_AT_WARNING, "btraced: %s does not read the ITM's packets: disconnected\n",
              r->connection->peer);
    remove_reader(r);
}

/* Those who came before get what waits, the new one begins behind it. */
static void pass_packets(struct live *l)
{
    uint8_t bytes[PIECE * 4];
    for (size_t n; (n = itm_tap_take(&l->itm.tap, ITM_TAP_PACKETS, bytes, sizeof bytes)) > 0;)
        for (struct live_itm_reader *r = l->itm.readers, *next; r; r = next) {
            next = r->next;
            send_to_reader(r, bytes, n);
        }
}

static void on_reader(void *ctx, struct listener *listener, int fd)
{
    struct live *l = ctx;
    struct live_itm_reader *r = calloc(1, sizeof *r);
    unsigned count = 0;
    (void)listener;
    for (const struct live_itm_reader *k = l->itm.readers; k; k = k->next)
        count++;
    struct connection *c = r && count < READERS_MAX ? stream_connection_new(l->loop, fd) : NULL;
    if (!c) {
        if (!r || count >= READERS_MAX)
            close(fd);
        free(r);
        return;
    }
    const struct connection_user user = {
        .input = on_reader_input, .ended = on_reader_ended, .released = free, .ctx = r};
    pass_packets(l);
    *r = (struct live_itm_reader){.next = l->itm.readers, .live = l, .connection = c};
    l->itm.readers = r;
    itm_tap_want(&l->itm.tap, ITM_TAP_PACKETS, true);
    if (connection_start(c, &user) == BT_OK)
        send_to_reader(r, itm_tap_sync, sizeof itm_tap_sync);
    else
        remove_reader(r);
}

void live_itm_flush(struct live *l)
{
    char text[PIECE + 1];
    if (!l->itm.open)
        return;
    pass_packets(l);
    for (size_t n; (n = itm_tap_take(&l->itm.tap, ITM_TAP_TEXT, (uint8_t *)text, PIECE)) > 0;) {
        text[n] = '\0';
        for (struct live_client *k = l->clients; k; k = k->next)
            gdb_session_output(k->session, text);
    }
}

/* GDB takes text while it waits for a halt: what comes later is shown when the cores run again. */
static void on_itm_wake(uv_async_t *wake)
{
    struct live *l = wake->data;
    if (l->target && target_is_running(l->target))
        live_itm_flush(l);
    else
        pass_packets(l);
}

void live_itm_console(struct live *l, bool on)
{
    itm_tap_want(&l->itm.tap, ITM_TAP_TEXT, on);
}

static int listen_for_readers(struct live *l, struct message *why)
{
    const struct address *a = &l->config->itm.listen;
    if (a->kind == ADDRESS_NONE)
        return BT_OK;
    int error = listener_bind(&l->itm.listener, a, NULL, why);
    l->itm.listens = !error;
    if (!error)
        error = listener_start(&l->itm.listener, l->loop, on_reader, l, why);
    if (error) {
        message_set(why, "[trace] itm_listen: %s", why->text);
        return error;
    }
    l->itm.port = l->itm.listener.address.port;
    log_write(LOG_AT_INFO, "packets of the ITM at %s:%u\n", l->itm.listener.address.host,
              l->itm.port);
    return BT_OK;
}

int live_itm_open(struct live *l, struct message *why)
{
    struct live_itm *itm = &l->itm;
    if (!l->config->itm.on)
        return BT_OK;
    int error = itm_tap_open(&itm->tap, wake_itm, l);
    if (!error && uv_async_init(l->loop, &itm->wake, on_itm_wake) != 0) {
        itm_tap_close(&itm->tap);
        error = BT_ERR_NOMEM;
    }
    if (error) {
        message_set(why, "out of memory");
        return error;
    }
    itm->wake.data = l;
    itm->open = true;
    live_itm_console(l, l->config->itm.console);
    return listen_for_readers(l, why);
}

void live_itm_stop(struct live *l)
{
    struct live_itm *itm = &l->itm;
    if (!itm->open)
        return;
    while (itm->readers)
        remove_reader(itm->readers);
    live_itm_console(l, false);
    if (itm->listens)
        listener_stop(&itm->listener);
    uv_close((uv_handle_t *)&itm->wake, NULL);
}

void live_itm_release(struct live *l)
{
    if (l->itm.open)
        itm_tap_close(&l->itm.tap);
    l->itm.open = false;
}

void live_itm_report(struct live *l, const struct console *c)
{
    struct itm_tap_counts n;
    if (!l->itm.open || !l->config->itm.on)
        return;
    itm_tap_counts(&l->itm.tap, &n);
    console_print(c,
                  "ITM           %" PRIu64 " writes, %" PRIu64 " exceptions, %" PRIu64
                  " samples, %" PRIu64 " values; %" PRIu64 " overflows, %" PRIu64
                  " damaged packets\n",
                  n.writes, n.exceptions, n.samples, n.values, n.overflows, n.damaged);
    if (n.dropped)
        console_print(c, "              %" PRIu64 " bytes of it that nobody took in time\n",
                      n.dropped);
}
