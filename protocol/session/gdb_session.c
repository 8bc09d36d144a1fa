/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/session/gdb_session.h"

#include <stdio.h>
#include <string.h>

#include "gdb_internal.h"
#include "gdb_proxy.h"

#define PACKET_SIZE_MIN 1024

/* Bytes of console text in one O packet. */
#define CONSOLE_CHUNK 1024

static const struct gdb_command *const command_tables[] = {
    gdb_register_commands, gdb_data_commands,  gdb_run_commands,    gdb_query_commands,
    gdb_xfer_commands,     gdb_flash_commands, gdb_btrace_commands,
};

static bool all_or_none(const bool *have, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (have[i] != have[0])
            return false;
    }
    return true;
}

static bool btrace_complete(const struct gdb_target *t)
{
    const bool btrace[] = {
        t->btrace_enable != NULL, t->btrace_disable != NULL, t->btrace_set_size != NULL,
        t->btrace_conf != NULL,   t->btrace_read != NULL,    t->btrace_delivered != NULL,
    };
    return all_or_none(btrace, sizeof(btrace) / sizeof(*btrace));
}

static bool target_complete(const struct gdb_target *t)
{
    const bool breakpoints[] = {t->insert_breakpoint != NULL, t->remove_breakpoint != NULL};
    const bool extra[] = {t->extra_registers != NULL, t->read_extra != NULL};
    const bool flash[] = {t->flash_erase != NULL, t->flash_write != NULL, t->flash_done != NULL};
    return t->core_count != NULL && t->core_info != NULL && t->halt_reason != NULL &&
           t->read_regs != NULL && t->read_memory != NULL && btrace_complete(t) &&
           all_or_none(breakpoints, sizeof(breakpoints) / sizeof(*breakpoints)) &&
           all_or_none(extra, sizeof(extra) / sizeof(*extra)) &&
           all_or_none(flash, sizeof(flash) / sizeof(*flash));
}

static void write_bytes(void *ctx, const void *bytes, size_t len)
{
    struct gdb_session *s = ctx;
    s->send(s->send_ctx, bytes, len);
}

static int init(struct gdb_session *s, const struct gdb_target *target, void *target_ctx,
                gdb_send_fn send, void *send_ctx)
{
    *s = (struct gdb_session){
        .target = target,
        .target_ctx = target_ctx,
        .send = send,
        .send_ctx = send_ctx,
        .motion = GDB_MOTION_ALL,
        .packet_size = GDB_PACKET_SIZE,
    };
    s->document = gdb_document_new();
    if (s->document == NULL)
        return BT_ERR_NOMEM;
    if (rsp_receiver_init(&s->receiver, GDB_PACKET_SIZE) < 0) {
        gdb_document_free(s->document);
        return BT_ERR_NOMEM;
    }
    rsp_sender_init(&s->sender, write_bytes, s);
    text_buf_init(&s->reply);
    return BT_OK;
}

int gdb_session_init(struct gdb_session *s, const struct gdb_target *target, void *target_ctx,
                     gdb_send_fn send, void *send_ctx)
{
    if (!target_complete(target))
        return BT_ERR_INVAL;
    int cores = target->core_count(target_ctx);
    if (cores < 1 || cores > GDB_CORES_MAX)
        return BT_ERR_INVAL;
    int rc = init(s, target, target_ctx, send, send_ctx);
    s->core_count = cores;
    return rc;
}

/* `greeting` NULL: it has the other server to itself. */
static int init_beside(struct gdb_session *s, const struct gdb_target *target, void *target_ctx,
                       struct gdb_remote *u, const char *greeting, gdb_send_fn send, void *send_ctx)
{
    if (!btrace_complete(target))
        return BT_ERR_INVAL;
    int cores = target->core_count != NULL ? target->core_count(target_ctx) : gdb_remote_cores(u);
    if (cores < 1 || cores > GDB_CORES_MAX)
        return BT_ERR_INVAL;
    int rc = init(s, target, target_ctx, send, send_ctx);
    if (rc < 0)
        return rc;
    s->core_count = cores;
    s->proxy = greeting != NULL ? gdb_proxy_new_observer(s, u, greeting) : gdb_proxy_new(s, u);
    if (s->proxy == NULL)
        gdb_session_release(s);
    return s->proxy != NULL ? BT_OK : BT_ERR_NOMEM;
}

int gdb_session_init_remote(struct gdb_session *s, const struct gdb_target *target,
                            void *target_ctx, struct gdb_remote *u, gdb_send_fn send,
                            void *send_ctx)
{
    return init_beside(s, target, target_ctx, u, NULL, send, send_ctx);
}

int gdb_session_init_observer(struct gdb_session *s, const struct gdb_target *target,
                              void *target_ctx, struct gdb_remote *u, const char *greeting,
                              gdb_send_fn send, void *send_ctx)
{
    return init_beside(s, target, target_ctx, u, greeting, send, send_ctx);
}

bool gdb_session_observes(const struct gdb_session *s)
{
    return s->proxy != NULL && gdb_proxy_observes(s->proxy);
}

void gdb_session_take_control(struct gdb_session *s)
{
    if (s->proxy != NULL)
        gdb_proxy_take_control(s->proxy);
}

void gdb_session_give_control(struct gdb_session *s)
{
    if (s->proxy != NULL)
        gdb_proxy_give_control(s->proxy);
}

void gdb_session_release(struct gdb_session *s)
{
    gdb_proxy_free(s->proxy);
    s->proxy = NULL;
    gdb_document_free(s->document);
    s->document = NULL;
    rsp_receiver_release(&s->receiver);
    rsp_sender_release(&s->sender);
    text_buf_release(&s->reply);
}

int gdb_reply(struct gdb_session *s, const char *text)
{
    text_buf_clear(&s->reply);
    text_buf_puts(&s->reply, text);
    return BT_OK;
}

/* GDB prints the text as it stands on the wire: no character that would be escaped there. */
static void add_plain(struct text_buf *b, const char *text)
{
    for (; *text != '\0'; text++)
        text_buf_putc(b, *text < ' ' || *text > '~' || strchr("#$}*", *text) ? '?' : *text);
}

int gdb_reply_result(struct gdb_session *s, int rc, const struct gdb_why *why)
{
    if (rc >= 0)
        return gdb_reply(s, "OK");
    gdb_reply(s, "E.");
    add_plain(&s->reply, why->text[0] != '\0' ? why->text : bt_strerror(rc));
    return BT_OK;
}

/* GDB shows no more than the number: that of errno where there is one. */
static int reply_number(struct gdb_session *s, int error)
{
    switch (error) {
    case BT_ERR_NOMEM:
        return gdb_reply(s, "E0c");
    case BT_ERR_RANGE:
    case BT_ERR_NO_CODE:
        return gdb_reply(s, "E0e");
    case BT_ERR_IO:
        return gdb_reply(s, "E05");
    default:
        return gdb_reply(s, "E01");
    }
}

void gdb_reply_send(struct gdb_session *s)
{
    if (text_buf_error(&s->reply) < 0)
        reply_number(s, BT_ERR_NOMEM);
    if (text_buf_error(&s->reply) < 0 || rsp_send(&s->sender, s->reply.data, s->reply.len) < 0)
        s->state = GDB_SESSION_FAILED;
    text_buf_clear(&s->reply);
}

bool gdb_core_of_thread(const struct gdb_session *s, int thread, int *core)
{
    if (thread == GDB_THREAD_ANY) {
        *core = s->stopped;
        return true;
    }
    if (s->proxy != NULL)
        return gdb_proxy_core_of(s->proxy, thread, core);
    if (thread < 1 || thread > s->core_count)
        return false;
    *core = thread - 1;
    return true;
}

int gdb_thread_of_core(int core)
{
    return core + 1;
}

void gdb_add_stop_thread(struct gdb_session *s, int core)
{
    if (s->proxy != NULL)
        gdb_proxy_add_thread(s->proxy, core, &s->reply);
    else
        text_buf_printf(&s->reply, "thread:%x;", (unsigned)gdb_thread_of_core(core));
}

struct gdb_core gdb_core_info(const struct gdb_session *s, int core)
{
    struct gdb_core info = {.name = NULL};
    if (s->target->core_info == NULL || s->target->core_info(s->target_ctx, core, &info) < 0)
        info = (struct gdb_core){.name = NULL};
    if (info.name == NULL)
        info.name = "core";
    return info;
}

void gdb_send_console(struct gdb_session *s, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t len = left < CONSOLE_CHUNK ? left : CONSOLE_CHUNK;
        gdb_reply(s, "O");
        text_buf_hex(&s->reply, text, len);
        gdb_reply_send(s);
        text += len;
        left -= len;
    }
}

static bool matches(const struct gdb_command *c, const struct gdb_args *packet)
{
    return c->match == GDB_EXACT
               ? gdb_args_equal(packet, c->name)
               : gdb_args_text(&(struct gdb_args){packet->at, packet->end}, c->name);
}

static const struct gdb_command *find_command(const struct gdb_args *packet)
{
    for (size_t t = 0; t < sizeof(command_tables) / sizeof(*command_tables); t++) {
        for (const struct gdb_command *c = command_tables[t]; c->name != NULL; c++) {
            if (matches(c, packet))
                return c;
        }
    }
    return NULL;
}

static int run_packet(struct gdb_session *s, struct gdb_args *packet)
{
    const struct gdb_command *c = find_command(packet);
    if (c == NULL)
        return BT_OK;
    if (s->running && !c->while_running)
        return gdb_reply(s, "E.the target is running");
    gdb_args_text(packet, c->name);
    if (c->match == GDB_BARE && !gdb_args_empty(packet))
        return BT_ERR_INVAL;
    return c->run(s, packet);
}

int gdb_session_answer(struct gdb_session *s, const char *payload, size_t len)
{
    struct gdb_args packet = {payload, payload + len};
    text_buf_clear(&s->reply);
    int rc = run_packet(s, &packet);
    if (rc == GDB_PENDING || rc == GDB_PASS_ON)
        return rc;
    if (rc < 0)
        reply_number(s, rc);
    gdb_reply_send(s);
    return BT_OK;
}

static void send_refusal(struct gdb_session *s)
{
    gdb_reply(s, "E.");
    add_plain(&s->reply, s->refusal);
    gdb_reply_send(s);
    s->refused++;
}

static void take_packet(struct gdb_session *s)
{
    rsp_send_ack(&s->sender, true);
    rsp_sender_implied_ack(&s->sender);
    if (s->refusal[0] != '\0')
        send_refusal(s);
    else if (s->proxy != NULL)
        gdb_proxy_packet(s->proxy, s->receiver.payload, s->receiver.payload_len);
    else
        gdb_session_answer(s, s->receiver.payload, s->receiver.payload_len);
}

static void take_oversize(struct gdb_session *s)
{
    rsp_send_ack(&s->sender, true);
    rsp_sender_implied_ack(&s->sender);
    gdb_reply(s, "E.the packet is longer than PacketSize");
    gdb_reply_send(s);
}

/* Without acknowledgements nothing asks for the frame again: say so, or the client waits. */
static void take_bad(struct gdb_session *s)
{
    rsp_send_ack(&s->sender, false);
    if (s->sender.no_ack) {
        reply_number(s, BT_ERR_FORMAT);
        gdb_reply_send(s);
    }
}

static void take_event(struct gdb_session *s, enum rsp_event event)
{
    switch (event) {
    case RSP_PACKET:
        take_packet(s);
        break;
    case RSP_OVERSIZE:
        take_oversize(s);
        break;
    case RSP_BAD:
        take_bad(s);
        break;
    case RSP_ACK:
        rsp_sender_acked(&s->sender);
        break;
    case RSP_NAK:
        if (rsp_sender_nacked(&s->sender) < 0)
            s->state = GDB_SESSION_FAILED;
        break;
    case RSP_BREAK:
        /* One that crosses a stop reply finds nothing to interrupt, which GDB expects. */
        if (s->refusal[0] != '\0')
            break;
        if (s->proxy != NULL)
            gdb_proxy_interrupt(s->proxy);
        else if (s->running && s->target->interrupt != NULL)
            s->target->interrupt(s->target_ctx);
        break;
    case RSP_NONE:
        break;
    }
}

void gdb_session_input(struct gdb_session *s, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    while (len > 0 && s->state != GDB_SESSION_FAILED)
        take_event(s, rsp_receive(&s->receiver, &at, &len));
}

void gdb_session_stopped(struct gdb_session *s, const struct gdb_stop *stop)
{
    if (!s->running)
        return;
    s->running = false;
    gdb_reply_stop(s, stop);
    gdb_reply_send(s);
}

void gdb_session_resume_failed(struct gdb_session *s, const char *text)
{
    if (!s->running)
        return;
    s->running = false;
    gdb_reply(s, "E.");
    add_plain(&s->reply, text);
    gdb_reply_send(s);
}

void gdb_session_output(struct gdb_session *s, const char *text)
{
    if (s->running)
        gdb_send_console(s, text);
}

/* Clients that are not served. */

void gdb_session_refuse(struct gdb_session *s, const char *text)
{
    gdb_proxy_free(s->proxy);
    s->proxy = NULL;
    snprintf(s->refusal, sizeof(s->refusal), "%s", text);
    if (s->running)
        send_refusal(s);
    s->running = false;
}

bool gdb_session_is_refused(const struct gdb_session *s)
{
    return s->refusal[0] != '\0';
}

const char *gdb_session_refusal(const struct gdb_session *s)
{
    return s->refusal;
}

unsigned gdb_session_refused(const struct gdb_session *s)
{
    return s->refused;
}

void gdb_session_limit(struct gdb_session *s, size_t size)
{
    if (size > GDB_PACKET_SIZE)
        size = GDB_PACKET_SIZE;
    s->packet_size = size < PACKET_SIZE_MIN ? PACKET_SIZE_MIN : size;
    s->receiver.limit = s->packet_size;
}

enum gdb_session_state gdb_session_state(const struct gdb_session *s)
{
    return s->state;
}

bool gdb_session_extended(const struct gdb_session *s)
{
    return s->extended;
}

bool gdb_session_running(const struct gdb_session *s)
{
    return s->running;
}
