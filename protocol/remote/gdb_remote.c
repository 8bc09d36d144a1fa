/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions for the server and for the session: state, questions, beginning and end. */
#include "protocol/remote/gdb_remote.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/remote/gdb_remote_internal.h"

/* File-I/O: "interrupted", with the request to stop. */
static const char file_interrupted[] = "F-1,4,C";

bool gdb_remote_is_ready(const struct gdb_remote *u)
{
    return u->phase == GDB_REMOTE_READY;
}

uint64_t gdb_remote_owed(const struct gdb_remote *u)
{
    const struct gdb_request *r = u->in_flight;
    return r != NULL && r->packet.answer == GDB_ANSWER_ONE ? u->packets : 0;
}

bool gdb_remote_is_running(const struct gdb_remote *u)
{
    return u->run != GDB_REMOTE_HALTED || u->resuming || u->resume_wanted || u->client_runs;
}

bool gdb_remote_is_held(const struct gdb_remote *u)
{
    return u->run == GDB_REMOTE_HELD;
}

bool gdb_remote_will_run(const struct gdb_remote *u)
{
    return u->resuming || u->resume_wanted || (u->run == GDB_REMOTE_RUNNING && !u->halting);
}

bool gdb_remote_is_idle(const struct gdb_remote *u)
{
    bool moves = u->resuming || u->resume_wanted || u->halting || u->holds_client;
    return u->in_flight == NULL && u->asks == NULL && !moves && u->run != GDB_REMOTE_HELD;
}

int gdb_remote_cores(const struct gdb_remote *u)
{
    return u->core_count > 0 ? u->core_count : 1;
}

int gdb_remote_core_of(const struct gdb_remote *u, const struct gdb_thread *thread)
{
    for (int i = 0; i < u->core_count; i++) {
        if (gdb_thread_same(&u->threads[i], thread))
            return i;
    }
    return -1;
}

int gdb_remote_stopped_core(const struct gdb_remote *u)
{
    int core = gdb_remote_core_of(u, &u->stopped);
    return core < 0 ? 0 : core;
}

void gdb_remote_interrupt(struct gdb_remote *u)
{
    if (u->run == GDB_REMOTE_RUNNING)
        gdb_remote_interrupt_now(u);
    else if (u->run == GDB_REMOTE_HALTED && gdb_remote_is_running(u))
        u->interrupt_wanted = true;
}

void gdb_remote_release_stop(struct gdb_remote *u)
{
    if (u->run != GDB_REMOTE_HELD)
        return;
    u->run = GDB_REMOTE_HALTED;
    if (u->client_runs) {
        u->client_runs = false;
        u->client->stopped(u->client_ctx, u->stop.data, u->stop.len);
    }
    gdb_remote_observers_stopped(u, u->stop.data, u->stop.len);
    gdb_remote_pump(u);
}

void gdb_remote_hold_client(struct gdb_remote *u, bool holds_client)
{
    bool done = u->holds_client && !holds_client;
    u->holds_client = holds_client;
    if (!done)
        return;
    if (u->client != NULL)
        u->client->go_on(u->client_ctx);
    gdb_remote_observers_go_on(u);
    gdb_remote_pump(u);
}

/* Questions of our own. */

static int new_ask(const struct gdb_remote *u, const struct gdb_thread *thread, const char *payload,
                   size_t len, gdb_remote_reply_fn reply, void *ctx, struct gdb_request **out)
{
    if (u->phase != GDB_REMOTE_READY)
        return BT_ERR_IO;
    struct gdb_request *r = gdb_request_new(payload, len, reply, ctx);
    if (r == NULL)
        return BT_ERR_NOMEM;
    if (thread != NULL)
        r->thread = *thread;
    *out = r;
    return BT_OK;
}

int gdb_remote_ask_thread(struct gdb_remote *u, const struct gdb_thread *thread,
                          const char *payload, size_t len, gdb_remote_reply_fn reply, void *ctx)
{
    struct gdb_request *r;
    int rc = new_ask(u, thread, payload, len, reply, ctx, &r);
    if (rc < 0)
        return rc;
    *u->asks_end = r;
    u->asks_end = &r->next;
    u->ask_count++;
    gdb_remote_pump(u);
    return BT_OK;
}

int gdb_remote_ask_next(struct gdb_remote *u, const struct gdb_thread *thread, const char *payload,
                        size_t len, gdb_remote_reply_fn reply, void *ctx)
{
    struct gdb_request *r;
    int rc = new_ask(u, thread, payload, len, reply, ctx, &r);
    if (rc < 0)
        return rc;
    r->next = u->asks;
    if (u->asks == NULL)
        u->asks_end = &r->next;
    u->asks = r;
    u->ask_count++;
    gdb_remote_pump(u);
    return BT_OK;
}

int gdb_remote_may_ask(const struct gdb_remote *u)
{
    if (u->phase != GDB_REMOTE_READY)
        return BT_ERR_IO;
    bool halted =
        u->run == GDB_REMOTE_HALTED && u->holds_client; /* whatever the client waits for */
    if (u->run != GDB_REMOTE_HELD && !halted && gdb_remote_is_running(u))
        return BT_ERR_INVAL;
    return u->ask_count < GDB_REMOTE_ASKS_MAX ? BT_OK : BT_ERR_NOMEM;
}

int gdb_remote_ask(struct gdb_remote *u, const char *payload, size_t len, gdb_remote_reply_fn reply,
                   void *ctx)
{
    int rc = gdb_remote_may_ask(u);
    enum gdb_packet_answer answer = gdb_packet_read(payload, len).answer;
    if (rc == BT_OK && (answer == GDB_ANSWER_STOP || answer == GDB_ANSWER_NONE))
        rc = BT_ERR_INVAL;
    return rc < 0 ? rc : gdb_remote_ask_thread(u, NULL, payload, len, reply, ctx);
}

int gdb_remote_resume(struct gdb_remote *u)
{
    if (u->phase != GDB_REMOTE_READY)
        return BT_ERR_IO;
    if (gdb_remote_is_running(u))
        return BT_ERR_INVAL;
    u->resume_wanted = true;
    gdb_remote_pump(u);
    return BT_OK;
}

static struct gdb_request *take(struct gdb_request **from)
{
    struct gdb_request *r = *from;
    *from = NULL;
    return r;
}

static void client_reply(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    if (u->client != NULL)
        u->client->reply(u->client_ctx, reply, len);
}

static bool client_request_under_way(const struct gdb_remote *u)
{
    return u->waiting != NULL ||
           (u->in_flight != NULL && u->in_flight->from_client && !u->in_flight->abandoned);
}

int gdb_remote_pass(struct gdb_remote *u, const struct gdb_thread *thread, const char *payload,
                    size_t len)
{
    if (u->phase == GDB_REMOTE_DOWN)
        return BT_ERR_IO;
    if (client_request_under_way(u))
        return BT_ERR_INVAL;
    struct gdb_request *r = gdb_request_new(payload, len, client_reply, u);
    if (r == NULL)
        return BT_ERR_NOMEM;
    if (r->packet.effect == GDB_EFFECT_INSERT && gdb_remote_reserve(u) < 0) {
        free(r);
        return BT_ERR_NOMEM;
    }
    r->from_client = true;
    r->thread = *thread;
    if (r->packet.answer == GDB_ANSWER_STOP || r->packet.answer == GDB_ANSWER_NONE) {
        r->reply = NULL;
        r->thread.single = false;
    }
    u->client_runs = u->client_runs || r->packet.answer == GDB_ANSWER_STOP;
    u->waiting = r;
    gdb_remote_pump(u);
    return BT_OK;
}

int gdb_remote_answer_file(struct gdb_remote *u, const char *payload, size_t len)
{
    if (!u->serving_file || u->in_flight != NULL || u->waiting != NULL)
        return BT_ERR_INVAL;
    u->serving_file = false;
    gdb_remote_send(u, payload, len);
    return BT_OK;
}

void gdb_remote_let_go(struct gdb_remote *u, bool run)
{
    bool planted = u->breakpoint_count > 0;
    /* A resume that has not been sent. */
    free(take(&u->waiting));
    u->client_runs = false;
    if (u->phase != GDB_REMOTE_READY)
        return;
    u->orphaned = true;
    gdb_remote_remove_orphans(u);
    u->resume_wanted = run && (u->run != GDB_REMOTE_RUNNING || planted);
    if (u->run == GDB_REMOTE_RUNNING && (planted || !run))
        gdb_remote_interrupt_now(u);
    gdb_remote_pump(u);
}

void gdb_remote_detach(struct gdb_remote *u)
{
    free(take(&u->waiting));
    u->client = NULL;
    u->client_runs = false;
    if (u->in_flight != NULL && u->in_flight->from_client) {
        u->in_flight->abandoned = true;
        u->in_flight->reply = NULL;
    }
    if (u->serving_file) {
        u->serving_file = false;
        gdb_remote_send(u, file_interrupted, strlen(file_interrupted));
    }
    u->orphaned = u->breakpoint_count > 0;
    gdb_remote_remove_orphans(u);
    gdb_remote_pump(u);
}

void gdb_remote_attach(struct gdb_remote *u, const struct gdb_remote_client *client, void *ctx)
{
    if (u->client != NULL) {
        u->client->dropped(u->client_ctx);
        gdb_remote_detach(u);
    }
    u->client = client;
    u->client_ctx = ctx;
}

static void forget_state(struct gdb_remote *u)
{
    u->phase = GDB_REMOTE_DOWN;
    u->run = GDB_REMOTE_HALTED;
    u->resume_wanted = false;
    u->resuming = false;
    u->interrupt_wanted = false;
    u->halting = false;
    u->holds_client = false;
    u->serving_file = false;
    u->selecting = false;
    u->client_runs = false;
    u->selected = (struct gdb_thread){.single = false};
    u->epoch++;
    gdb_remote_forget_breakpoints(u);
    gdb_remote_forget_known(u);
    gdb_remote_forget_registers(u);
}

/* Everything that waits is told that no answer will come. */
static void answer_all(struct gdb_remote *u)
{
    bool client_waits = u->client_runs;
    bool holds_client = u->holds_client;
    struct gdb_request *flying = take(&u->in_flight);
    struct gdb_request *greeting = take(&u->greeting);
    struct gdb_request *waiting = take(&u->waiting);
    forget_state(u);
    if (flying != NULL)
        gdb_request_finish(flying, NULL, 0);
    if (greeting != NULL)
        gdb_request_finish(greeting, NULL, 0);
    while (u->asks != NULL)
        gdb_request_finish(gdb_remote_take_ask(u), NULL, 0);
    if (waiting != NULL)
        gdb_request_finish(waiting, NULL, 0);
    gdb_remote_refuse_looks(u, NULL);
    if (client_waits && u->client != NULL)
        u->client->stopped(u->client_ctx, NULL, 0);
    gdb_remote_observers_stopped(u, NULL, 0);
    if (holds_client && u->client != NULL)
        u->client->go_on(u->client_ctx);
    if (holds_client)
        gdb_remote_observers_go_on(u);
}

void gdb_remote_fail(struct gdb_remote *u, int error)
{
    enum gdb_remote_phase phase = u->phase;
    if (phase == GDB_REMOTE_DOWN)
        return;
    gdb_link_close(&u->link);
    answer_all(u);
    if (phase == GDB_REMOTE_GREETING)
        u->events->ready(u->ctx, error);
    else
        u->events->lost(u->ctx);
}

static void link_broken(void *ctx, int error)
{
    gdb_remote_fail(ctx, error);
}

void gdb_remote_disconnected(struct gdb_remote *u)
{
    gdb_remote_fail(u, BT_ERR_IO);
}

void gdb_remote_connected(struct gdb_remote *u)
{
    gdb_remote_fail(u, BT_ERR_IO);
    gdb_link_open(&u->link);
    u->phase = GDB_REMOTE_GREETING;
    gdb_remote_greet(u);
}

void gdb_remote_input(struct gdb_remote *u, const void *bytes, size_t len)
{
    gdb_link_input(&u->link, bytes, len);
}

int gdb_remote_new(const struct gdb_remote_events *events, void *ctx, gdb_remote_send_fn send,
                   void *send_ctx, struct gdb_remote **out)
{
    static const struct gdb_link_events link_events = {gdb_remote_packet, link_broken};
    struct gdb_remote *u = calloc(1, sizeof(*u));
    if (u == NULL)
        return BT_ERR_NOMEM;
    u->events = events;
    u->ctx = ctx;
    u->core_count = 1;
    u->asks_end = &u->asks;
    u->epoch = 1;
    text_buf_init(&u->stop);
    text_buf_init(&u->description);
    text_buf_init(&u->document);
    if (gdb_link_init(&u->link, GDB_REMOTE_PAYLOAD_MAX, &link_events, u, send, send_ctx) < 0) {
        free(u);
        return BT_ERR_NOMEM;
    }
    *out = u;
    return BT_OK;
}

void gdb_remote_free(struct gdb_remote *u)
{
    if (u == NULL)
        return;
    gdb_link_close(&u->link);
    if (u->client != NULL)
        u->client->dropped(u->client_ctx);
    u->client = NULL;
    gdb_remote_drop_observers(u);
    answer_all(u);
    gdb_link_release(&u->link);
    text_buf_release(&u->stop);
    text_buf_release(&u->description);
    text_buf_release(&u->document);
    free(u);
}
