/* SPDX-License-Identifier: BSD-3-Clause */
/* The first questions on a connection: what the other side can do, and which threads it has. */
#include <string.h>

#include "protocol/remote/gdb_remote_internal.h"

/* Replies to a listing of threads: one thread each at the worst, and some that are no cores. */
#define LISTINGS_MAX 1024

void gdb_remote_greet_with(struct gdb_remote *u, const char *text, gdb_remote_reply_fn reply)
{
    struct gdb_request *r = gdb_request_new(text, strlen(text), reply, u);
    if (r == NULL) {
        gdb_remote_fail(u, BT_ERR_NOMEM);
        return;
    }
    u->greeting = r;
    gdb_remote_pump(u);
}

static void got_vcont(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    struct gdb_args word;
    if (reply == NULL)
        return;
    struct gdb_args a = {reply, reply + len};
    if (gdb_args_text(&a, "vCont")) {
        while (gdb_args_until(&a, ';', &word))
            u->can_vcont = u->can_vcont || gdb_args_equal(&word, "c");
    }
    u->phase = GDB_REMOTE_READY;
    u->events->ready(u->ctx, BT_OK);
}

static void finish_threads(struct gdb_remote *u)
{
    /* Without a list there is one core, whose thread never needs to be named. */
    if (u->core_count == 0)
        u->threads[u->core_count++] = (struct gdb_thread){.single = false};
    if (u->has_description)
        gdb_remote_describe(u);
    else
        gdb_remote_described(u);
}

void gdb_remote_described(struct gdb_remote *u)
{
    gdb_remote_greet_with(u, "vCont?", got_vcont);
}

static void add_thread(struct gdb_remote *u, const struct gdb_thread *thread)
{
    if (thread->single && u->core_count < GDB_CORES_MAX && gdb_remote_core_of(u, thread) < 0)
        u->threads[u->core_count++] = *thread;
}

static void got_threads(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    struct gdb_thread thread;
    if (reply == NULL)
        return;
    struct gdb_args a = {reply, reply + len};
    if (!gdb_args_char(&a, 'm') || ++u->listings > LISTINGS_MAX) {
        finish_threads(u);
        return;
    }
    while (gdb_thread_take(&a, &thread)) {
        add_thread(u, &thread);
        gdb_args_char(&a, ',');
    }
    gdb_remote_greet_with(u, "qsThreadInfo", got_threads);
}

/* Every server answers `?`; one that does not is none. */
static void got_state(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    struct gdb_packet question = gdb_packet_read("?", 1);
    if (reply == NULL)
        return;
    if (gdb_packet_succeeded(&question, reply, len))
        gdb_remote_greet_with(u, "qfThreadInfo", got_threads);
    else
        gdb_remote_fail(u, BT_ERR_FORMAT);
}

static void got_no_ack(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    if (reply == NULL)
        return;
    if (len == 2 && memcmp(reply, "OK", 2) == 0)
        rsp_sender_set_no_ack(&u->link.sender);
    gdb_remote_greet_with(u, "?", got_state);
}

static void got_features(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    struct gdb_args word;
    bool can_no_ack = false;
    if (reply == NULL)
        return;
    struct gdb_args a = {reply, reply + len};
    while (gdb_args_until(&a, ';', &word)) {
        uint64_t size;
        if (gdb_args_equal(&word, "QStartNoAckMode+"))
            can_no_ack = true;
        else if (gdb_args_equal(&word, "qXfer:features:read+"))
            u->has_description = true;
        else if (gdb_args_text(&word, "PacketSize=") && gdb_args_hex(&word, &size) &&
                 size >= GDB_REMOTE_PACKET_SIZE_MIN)
            u->packet_size = size < GDB_PACKET_SIZE ? (size_t)size : GDB_PACKET_SIZE;
    }
    if (can_no_ack)
        gdb_remote_greet_with(u, "QStartNoAckMode", got_no_ack);
    else
        gdb_remote_greet_with(u, "?", got_state);
}

void gdb_remote_greet(struct gdb_remote *u)
{
    u->core_count = 0;
    u->listings = 0;
    u->stopped = (struct gdb_thread){.single = false};
    u->packet_size = GDB_REMOTE_PACKET_SIZE;
    u->can_vcont = false;
    u->has_description = false;
    u->only_g = false;
    u->number_pc = GDB_NUMBER_PC;
    u->number_psr = GDB_NUMBER_PSR;
    /* There are servers (pyOCD) that answer nothing to a question without features. */
    gdb_remote_greet_with(u, "qSupported:xmlRegisters=arm", got_features);
}
