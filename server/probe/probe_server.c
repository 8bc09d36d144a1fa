/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/probe/probe_server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The other end always reads; when it is gone the next recv() tells. */
static void send_to_client(void *ctx, const void *bytes, size_t len)
{
    const struct probe_server *n = ctx;
    const char *at = bytes;
    while (len > 0) {
        ssize_t sent = send(n->socket, at, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return;
        at += sent;
        len -= (size_t)sent;
    }
}

/* False: the other end is closed. */
static bool take_input(struct probe_server *n)
{
    char buffer[4096];
    ssize_t got = recv(n->socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0)
        gdb_session_input(&n->session, buffer, (size_t)got);
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

static void serve_session(void *arg)
{
    struct probe_server *n = arg;
    bool open = true;
    while (open) {
        struct pollfd wait = {.fd = n->socket, .events = POLLIN};
        int events = poll(&wait, 1, (int)probe_target_pause(&n->target));
        if (events > 0)
            open = take_input(n);
        if (open)
            probe_target_tick(&n->target);
    }
}

static void add_summary_line(void *to, const char *text)
{
    struct probe_server *n = to;
    size_t used = strlen(n->summary);
    snprintf(n->summary + used, sizeof n->summary - used, "%s", text);
}

int probe_server_open(struct probe_server *n, struct config *config, const struct trace_sink *sink,
                      struct message *why)
{
    memset(n, 0, sizeof *n);
    n->socket = -1;
    n->opened = true;
    int error = probe_target_open(&n->target, config, sink, why);
    if (error)
        return error;
    if (config->reset[0] == '\0')
        snprintf(config->reset, sizeof config->reset, "reset halt");
    if (n->target.trace.setup.history)
        trace_setup_describe_sink(&n->target.trace.setup, n->sink, sizeof n->sink);
    probe_target_summary(&n->target, add_summary_line, n);
    return BT_OK;
}

static int open_socket_session(struct probe_server *n, int *other)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return BT_ERR_IO;
    n->socket = ends[0];
    *other = ends[1];
    int error = gdb_session_init(&n->session, &probe_target_ops, &n->target, send_to_client, n);
    n->target.session = error ? NULL : &n->session;
    return error;
}

int probe_server_start(struct probe_server *n, void (*moved)(void *ctx), void *ctx)
{
    int other = -1;
    n->target.moved = moved;
    n->target.ctx = ctx;
    int error = open_socket_session(n, &other);
    if (!error && uv_thread_create(&n->thread, serve_session, n) != 0)
        error = BT_ERR_NOMEM;
    n->started = !error;
    if (error && other >= 0)
        close(other);
    return error ? error : other;
}

void probe_server_stop(struct probe_server *n)
{
    if (!n->opened)
        return;
    n->opened = false;
    if (n->started)
        uv_thread_join(&n->thread);
    probe_target_close(&n->target);
    if (n->target.session)
        gdb_session_release(&n->session);
    if (n->socket >= 0)
        close(n->socket);
}
