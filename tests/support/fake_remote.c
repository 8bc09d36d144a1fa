/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/fake_remote.h"

#include <stdlib.h>
#include <string.h>

#define INTERRUPT '\x03'

static void ready(void *ctx, int error)
{
    struct fake_remote *f = ctx;
    text_buf_printf(&f->log, "ready %d;", error);
}

static void resumed(void *ctx)
{
    struct fake_remote *f = ctx;
    /* The packet that does it must not be on the wire yet. */
    if (memchr(f->to_server.data, '$', f->to_server.len) != NULL)
        text_buf_puts(&f->log, "late ");
    text_buf_puts(&f->log, "resumed;");
}

static void stopped(void *ctx)
{
    struct fake_remote *f = ctx;
    text_buf_printf(&f->log, "stopped %d;", gdb_remote_stopped_core(f->u));
    if (f->on_stopped != NULL)
        f->on_stopped(f);
    if (!f->hold)
        gdb_remote_release_stop(f->u);
}

static void changed(void *ctx, enum gdb_change change, uint64_t address, uint64_t length)
{
    struct fake_remote *f = ctx;
    if (change == GDB_CHANGE_MEMORY)
        text_buf_printf(&f->log, "memory %llx %llx;", (unsigned long long)address,
                        (unsigned long long)length);
    else
        text_buf_puts(&f->log, change == GDB_CHANGE_RESET ? "reset;" : "registers;");
    if (f->on_changed != NULL)
        f->on_changed(f);
}

static void lost(void *ctx)
{
    struct fake_remote *f = ctx;
    text_buf_puts(&f->log, "lost;");
}

static void programmed(void *ctx, uint64_t address, const void *bytes, size_t len)
{
    struct fake_remote *f = ctx;
    text_buf_printf(&f->log, "programmed %llx ", (unsigned long long)address);
    text_buf_hex(&f->log, bytes, len);
    text_buf_putc(&f->log, ';');
}

static const struct gdb_remote_events events = {ready, resumed, stopped, changed, programmed, lost};

static void send_to_server(void *ctx, const void *bytes, size_t len)
{
    struct fake_remote *f = ctx;
    text_buf_add(&f->to_server, bytes, len);
    if (f->drop_on_send) {
        f->drop_on_send = false;
        gdb_remote_disconnected(f->u);
    }
}

static void send_to_client(void *ctx, const void *bytes, size_t len)
{
    struct fake_remote *f = ctx;
    text_buf_add(&f->to_client, bytes, len);
}

void fake_remote_init(struct fake_remote *f)
{
    *f = (struct fake_remote){.hold = false};
    fake_target_init(&f->target);
    text_buf_init(&f->to_server);
    text_buf_init(&f->to_client);
    text_buf_init(&f->text);
    text_buf_init(&f->log);
    if (gdb_remote_new(&events, f, send_to_server, f, &f->u) < 0)
        abort();
}

void fake_remote_release(struct fake_remote *f)
{
    fake_remote_close(f);
    gdb_remote_free(f->u);
    fake_target_release(&f->target);
    text_buf_release(&f->to_server);
    text_buf_release(&f->to_client);
    text_buf_release(&f->text);
    text_buf_release(&f->log);
}

void fake_remote_open(struct fake_remote *f)
{
    /* Only what such a session may use: anything else would crash. */
    const struct gdb_target *t = &f->target.ops;
    f->target.ops = (struct gdb_target){
        .btrace_enable = t->btrace_enable,
        .btrace_disable = t->btrace_disable,
        .btrace_set_size = t->btrace_set_size,
        .btrace_conf = t->btrace_conf,
        .btrace_read = t->btrace_read,
        .btrace_delivered = t->btrace_delivered,
        .monitor = t->monitor,
    };
    text_buf_clear(&f->to_client);
    if (gdb_session_init_remote(&f->session, &f->target.ops, &f->target, f->u, send_to_client, f) <
        0)
        abort();
    f->has_session = true;
}

void fake_remote_close(struct fake_remote *f)
{
    if (f->has_session)
        gdb_session_release(&f->session);
    f->has_session = false;
}

/* Takes the frames of one wire; acknowledgements are dropped. */
static const char *take_all(struct fake_remote *f, struct text_buf *wire,
                            void (*acknowledge)(struct fake_remote *f))
{
    struct text_buf payload;
    bool first = true;
    text_buf_init(&payload);
    text_buf_clear(&f->text);
    while (wire->len > 0) {
        char start = wire->data[0];
        long len = start == INTERRUPT ? 1 : fake_take_frame(wire->data, wire->len, &payload);
        if (len <= 0)
            abort();
        text_buf_drop(wire, (size_t)len);
        if (start != '$' && start != INTERRUPT)
            continue;
        text_buf_puts(&f->text, first ? "" : "|");
        first = false;
        if (start == INTERRUPT) {
            text_buf_puts(&f->text, "^C");
        } else {
            text_buf_add(&f->text, payload.data, payload.len);
            acknowledge(f);
        }
    }
    text_buf_release(&payload);
    if (first)
        text_buf_puts(&f->text, "(none)");
    return f->text.data;
}

static void server_acknowledges(struct fake_remote *f)
{
    if (!f->server_no_ack)
        gdb_remote_input(f->u, "+", 1);
}

static void client_acknowledges(struct fake_remote *f)
{
    gdb_session_input(&f->session, "+", 1);
}

const char *fake_server_got(struct fake_remote *f)
{
    return take_all(f, &f->to_server, server_acknowledges);
}

const char *fake_client_got(struct fake_remote *f)
{
    return take_all(f, &f->to_client, client_acknowledges);
}

void fake_server_sends(struct fake_remote *f, const char *bytes)
{
    gdb_remote_input(f->u, bytes, strlen(bytes));
}

void fake_server_sends_packet(struct fake_remote *f, const char *payload)
{
    struct text_buf frame;
    text_buf_init(&frame);
    fake_frame(&frame, payload, strlen(payload));
    gdb_remote_input(f->u, frame.data, frame.len);
    text_buf_release(&frame);
}

void fake_client_sends_packet_bytes(struct fake_remote *f, const void *payload, size_t len)
{
    struct text_buf frame;
    text_buf_init(&frame);
    fake_frame(&frame, payload, len);
    gdb_session_input(&f->session, frame.data, frame.len);
    text_buf_release(&frame);
}

void fake_client_sends_packet(struct fake_remote *f, const char *payload)
{
    fake_client_sends_packet_bytes(f, payload, strlen(payload));
}

static void answer(struct fake_remote *f, const char *question, const char *reply)
{
    if (strcmp(fake_server_got(f), question) != 0)
        abort();
    fake_server_sends_packet(f, reply);
}

void fake_remote_connect(struct fake_remote *f)
{
    gdb_remote_connected(f->u);
    answer(f, "qSupported:xmlRegisters=arm",
           "PacketSize=1000;qXfer:features:read-;vContSupported+");
    answer(f, "?", "T05thread:01;");
    answer(f, "qfThreadInfo", "m01");
    answer(f, "qsThreadInfo", "m02");
    answer(f, "qsThreadInfo", "l");
    answer(f, "vCont?", "vCont;c;C;s;S");
    if (strcmp(fake_remote_log(f), "ready 0;") != 0)
        abort();
}

const char *fake_remote_log(struct fake_remote *f)
{
    text_buf_clear(&f->text);
    text_buf_add(&f->text, f->log.data, f->log.len);
    text_buf_clear(&f->log);
    return f->text.data;
}
