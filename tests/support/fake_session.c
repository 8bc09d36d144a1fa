/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/fake_session.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/rsp_frame.h"

static int btrace_enable(void *ctx, int core, struct target_error *why)
{
    struct fake_session *f = ctx;
    (void)why;
    text_buf_printf(&f->log, "enable %d;", core);
    f->recording |= 1u << core;
    return BT_OK;
}

static void btrace_disable(void *ctx, int core)
{
    struct fake_session *f = ctx;
    text_buf_printf(&f->log, "disable %d;", core);
    f->recording &= ~(1u << core);
}

static void btrace_set_size(void *ctx, uint32_t size)
{
    struct fake_session *f = ctx;
    text_buf_printf(&f->log, "size %x;", size);
    f->btrace_size = size;
}

static struct gdb_btrace_conf btrace_conf(void *ctx, int core)
{
    const struct fake_session *f = ctx;
    return (struct gdb_btrace_conf){f->recording >> core & 1, f->btrace_size};
}

static int btrace_read(void *ctx, int core, enum gdb_annex annex, struct gdb_btrace_blocks *out)
{
    struct fake_session *f = ctx;
    text_buf_printf(&f->log, "read %d %d;", core, (int)annex);
    for (size_t i = 0; i < f->block_count; i++)
        gdb_btrace_blocks_add(out, f->blocks[i].begin, f->blocks[i].end);
    return BT_OK;
}

static void btrace_delivered(void *ctx, int core, enum gdb_annex annex)
{
    struct fake_session *f = ctx;
    text_buf_printf(&f->log, "delivered %d %d;", core, (int)annex);
}

static int monitor(void *ctx, int core, const char *text, target_print_fn print, void *to)
{
    struct fake_session *f = ctx;
    text_buf_printf(&f->log, "monitor %d '%s';", core, text);
    if (strcmp(text, "help") != 0)
        return BT_ERR_UNSUPPORTED;
    print(to, "one\n");
    print(to, "two\n");
    return BT_OK;
}

void fake_session_init(struct fake_session *f)
{
    *f = (struct fake_session){.open = false};
    f->host = (struct gdb_host){
        .btrace_enable = btrace_enable,
        .btrace_disable = btrace_disable,
        .btrace_set_size = btrace_set_size,
        .btrace_conf = btrace_conf,
        .btrace_read = btrace_read,
        .btrace_delivered = btrace_delivered,
        .monitor = monitor,
    };
    text_buf_init(&f->to_client);
    text_buf_init(&f->log);
    text_buf_init(&f->text);
    fake_remote_init(&f->r);
}

void fake_session_release(struct fake_session *f)
{
    fake_session_close(f);
    fake_remote_release(&f->r);
    text_buf_release(&f->to_client);
    text_buf_release(&f->log);
    text_buf_release(&f->text);
}

static void send_to_client(void *ctx, const void *bytes, size_t len)
{
    struct fake_session *f = ctx;
    text_buf_add(&f->to_client, bytes, len);
}

void fake_session_open(struct fake_session *f, struct target *t, enum gdb_role role)
{
    text_buf_clear(&f->to_client);
    if (gdb_session_init(&f->session, t, &f->host, f, role, "", send_to_client, f) < 0)
        abort();
    f->open = true;
}

void fake_session_close(struct fake_session *f)
{
    if (f->open)
        gdb_session_release(&f->session);
    f->open = false;
}

void fake_client_sends_packet_bytes(struct fake_session *f, const void *payload, size_t len)
{
    struct text_buf frame;
    text_buf_init(&frame);
    rsp_frame_put(&frame, payload, len);
    gdb_session_input(&f->session, frame.data, frame.len);
    text_buf_release(&frame);
}

void fake_client_sends_packet(struct fake_session *f, const char *payload)
{
    fake_client_sends_packet_bytes(f, payload, strlen(payload));
}

static void client_acknowledges(void *ctx)
{
    gdb_session_input(&((struct fake_session *)ctx)->session, "+", 1);
}

const char *fake_client_got(struct fake_session *f)
{
    return rsp_frames_take(&f->to_client, &f->text, client_acknowledges, f);
}

const char *fake_host_log(struct fake_session *f)
{
    text_buf_clear(&f->text);
    text_buf_add(&f->text, f->log.data, f->log.len);
    text_buf_clear(&f->log);
    return f->text.data;
}
