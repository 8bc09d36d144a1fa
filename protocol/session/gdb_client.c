/* SPDX-License-Identifier: BSD-3-Clause */
/* The session as a client of its target: what it asks, and what the target says by itself. */

#include "gdb_internal.h"

/* Console output that the client has not acknowledged; more is dropped. */
#define OUTPUT_MAX (1u << 20)

/* SIGKILL, which no program runs on after. */
static const char gone_stop[] = "X09";

static void session_answered(void *ctx, const struct target_answer *answer)
{
    struct gdb_session *s = ctx;
    gdb_answer_fn fn = s->asked.answer;
    if (!fn)
        return;
    s->asked.answer = NULL;
    text_buf_clear(&s->reply);
    gdb_reply_finish(s, fn(s, answer));
    s->go_on(s);
}

int gdb_ask(struct gdb_session *s, const struct target_request *r, gdb_answer_fn answer)
{
    int error = BT_ERR_IO;
    s->asked.answer = answer;
    if (s->target)
        error = target_ask(s->target, &s->client, r, session_answered, s);
    if (error == BT_OK)
        return TARGET_PENDING;
    s->asked.answer = NULL;
    if (error == BT_ERR_NOMEM)
        return gdb_reply(s, GDB_TOO_MUCH);
    return answer(s, &(struct target_answer){.error = error, .why = ""});
}

void gdb_answer_lost(struct gdb_session *s)
{
    session_answered(s, &(struct target_answer){.error = BT_ERR_IO, .why = ""});
}

static void session_lose_stop(struct gdb_session *s)
{
    s->run = GDB_HALTED;
    gdb_print(s, s->packets ? "the target's GDB server closed the connection\n"
                            : "the connection to the target is lost\n");
    gdb_reply(s, gone_stop);
    gdb_reply_send(s);
}

static void session_halted(void *ctx, const struct target_halt *halt)
{
    struct gdb_session *s = ctx;
    if (s->run != GDB_RUNS)
        return;
    if (!halt) {
        session_lose_stop(s);
        return;
    }
    s->run = GDB_HALTED;
    gdb_reply_finish(s, gdb_reply_halt(s, halt));
}

static void session_output(void *ctx, const char *text, size_t len)
{
    struct gdb_session *s = ctx;
    bool taken = s->run == GDB_RUNS || s->asked.command;
    if (s->sender.queue.len >= OUTPUT_MAX)
        return;
    if (!s->packets && taken)
        gdb_send_console(s, text, len);
    else if (s->packets && rsp_send(&s->sender, text, len) < 0)
        s->state = GDB_SESSION_FAILED;
}

static void session_dropped(void *ctx)
{
    struct gdb_session *s = ctx;
    s->target = NULL;
    gdb_answer_lost(s);
    if (s->run != GDB_HALTED)
        session_lose_stop(s);
}

static void session_goes_on(void *ctx)
{
    struct gdb_session *s = ctx;
    s->go_on(s);
}

const struct target_client_ops gdb_client_ops = {session_halted, session_output, session_dropped,
                                                 session_goes_on};
