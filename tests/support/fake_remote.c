/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/fake_remote.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/rsp_frame.h"

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
    text_buf_printf(&f->log, "stopped %d;", f->t->stopped_core);
    if (f->on_stopped != NULL)
        f->on_stopped(f);
    if (!f->hold)
        target_release_stop(f->t);
}

static void changed(void *ctx, enum target_change change, uint64_t address, uint64_t length)
{
    struct fake_remote *f = ctx;
    if (change == TARGET_CHANGE_MEMORY)
        text_buf_printf(&f->log, "memory %llx %llx;", (unsigned long long)address,
                        (unsigned long long)length);
    else
        text_buf_puts(&f->log, change == TARGET_CHANGE_RESET ? "reset;" : "registers;");
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

static const struct target_events events = {ready, resumed, stopped, changed, programmed, lost};

static void send_to_server(void *ctx, const void *bytes, size_t len)
{
    struct fake_remote *f = ctx;
    text_buf_add(&f->to_server, bytes, len);
    if (f->drop_on_send) {
        f->drop_on_send = false;
        gdb_remote_disconnected(f->u);
    }
}

void fake_remote_init(struct fake_remote *f)
{
    *f = (struct fake_remote){.hold = false};
    text_buf_init(&f->to_server);
    text_buf_init(&f->text);
    text_buf_init(&f->log);
    if (gdb_remote_new(&events, f, send_to_server, f, &f->u) < 0)
        abort();
    f->t = &f->u->target;
}

void fake_remote_release(struct fake_remote *f)
{
    gdb_remote_free(f->u);
    text_buf_release(&f->to_server);
    text_buf_release(&f->text);
    text_buf_release(&f->log);
}

static void server_acknowledges(void *ctx)
{
    struct fake_remote *f = ctx;
    if (!f->server_no_ack)
        gdb_remote_input(f->u, "+", 1);
}

const char *fake_server_got(struct fake_remote *f)
{
    return rsp_frames_take(&f->to_server, &f->text, server_acknowledges, f);
}

void fake_server_sends(struct fake_remote *f, const char *bytes)
{
    gdb_remote_input(f->u, bytes, strlen(bytes));
}

void fake_server_sends_packet(struct fake_remote *f, const char *payload)
{
    struct text_buf frame;
    text_buf_init(&frame);
    rsp_frame_put(&frame, payload, strlen(payload));
    gdb_remote_input(f->u, frame.data, frame.len);
    text_buf_release(&frame);
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
