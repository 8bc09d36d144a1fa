/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/gdb_listener.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_SIZE 65536
#define QUEUE_MAX (16u << 20) /* bytes a client may leave unread before it is dropped */
#define BACKLOG   4

/* One connection. Freed by its close callback alone. */
struct gdb_client {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    uv_pipe_t output;              /* stdio only: what is written goes there */
    uv_stream_t *sink;             /* the socket, or the output */
    struct gdb_listener *listener; /* NULL once the listener has let go of it */
    struct gdb_session session;
    bool session_open;
    bool closing;
    char buffer[READ_SIZE];
};

struct pending_write {
    uv_write_t request;
    char bytes[];
};

static void on_closed(uv_handle_t *handle)
{
    struct gdb_client *c = handle->data;
    if (c->sink == (uv_stream_t *)&c->output && handle != (uv_handle_t *)&c->output) {
        uv_close((uv_handle_t *)&c->output, on_closed);
        return;
    }
    if (c->session_open)
        gdb_session_release(&c->session);
    free(c);
}

static void accept_client(struct gdb_listener *l);

static void client_close(struct gdb_client *c)
{
    struct gdb_listener *l = c->listener;
    if (c->closing)
        return;
    c->closing = true;
    if (l && c->session_open && l->service.close)
        l->service.close(l->service.ctx);
    c->listener = NULL;
    uv_close(&c->socket.handle, on_closed);
    if (!l || l->client != c)
        return;
    l->client = NULL;
    if (l->is_stdio)
        l->ended(l->service.ctx);
    else if (l->deferred && !uv_is_closing(&l->socket.handle))
        accept_client(l);
}

/* The other side has ended the connection, though what it sent before may not be read yet. */
static bool client_is_leaving(const struct gdb_client *c)
{
    uv_os_fd_t fd;
    if (uv_fileno(&c->socket.handle, &fd) < 0)
        return true;
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0;
}

static void on_written(uv_write_t *request, int status)
{
    struct gdb_client *c = request->handle->data;
    free(request); /* first member of struct pending_write */
    if (status < 0 && status != UV_ECANCELED)
        client_close(c);
}

/* What the socket takes at once goes at once; the rest waits in the loop. */
static void client_send(void *ctx, const void *bytes, size_t len)
{
    struct gdb_client *c = ctx;
    if (c->closing)
        return;
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)len);
    int sent = uv_stream_get_write_queue_size(c->sink) ? 0 : uv_try_write(c->sink, &buf, 1);
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (done == len)
        return;
    struct pending_write *w = NULL;
    if (uv_stream_get_write_queue_size(c->sink) < QUEUE_MAX)
        w = malloc(sizeof *w + (len - done));
    if (!w) {
        client_close(c);
        return;
    }
    memcpy(w->bytes, (const char *)bytes + done, len - done);
    buf = uv_buf_init(w->bytes, (unsigned)(len - done));
    if (uv_write(&w->request, c->sink, &buf, 1, on_written) < 0) {
        free(w);
        client_close(c);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct gdb_client *c = handle->data;
    (void)suggested;
    *buf = uv_buf_init(c->buffer, sizeof c->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct gdb_client *c = stream->data;
    if (n < 0) {
        client_close(c);
        return;
    }
    gdb_session_input(&c->session, buf->base, (size_t)n);
    enum gdb_session_state state = gdb_session_state(&c->session);
    bool over = state == GDB_SESSION_FAILED ||
                (state == GDB_SESSION_KILLED && !gdb_session_extended(&c->session));
    if (over)
        client_close(c);
}

static int client_start(struct gdb_client *c)
{
    struct gdb_listener *l = c->listener;
    int error = l->service.open(l->service.ctx, &c->session, client_send, c);
    if (error)
        return error;
    c->session_open = true;
    if (!l->is_pipe)
        uv_tcp_nodelay(&c->socket.tcp, 1);
    return uv_read_start(&c->socket.stream, on_alloc, on_read);
}

static void accept_client(struct gdb_listener *l)
{
    struct gdb_client *c = calloc(1, sizeof *c);
    l->deferred = false;
    if (!c)
        return;
    if (l->is_pipe)
        uv_pipe_init(l->loop, &c->socket.pipe, 0);
    else
        uv_tcp_init(l->loop, &c->socket.tcp);
    c->socket.handle.data = c;
    c->sink = &c->socket.stream;
    if (uv_accept(&l->socket.stream, &c->socket.stream) < 0 || l->client) {
        client_close(c); /* one at a time: the other side sees the connection end at once */
        return;
    }
    c->listener = l;
    l->client = c;
    if (client_start(c) < 0)
        client_close(c);
}

/*
 * A debugger that is started again may be here before the end of its last connection is: then it
 * waits in the socket's queue until the place is free, instead of being turned away.
 */
static void on_connection(uv_stream_t *server, int status)
{
    struct gdb_listener *l = server->data;
    if (status < 0)
        return;
    if (l->client && client_is_leaving(l->client))
        l->deferred = true;
    else
        accept_client(l);
}

static int parse_address(const char *address, unsigned port, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (uv_ip4_addr(address, (int)port, (struct sockaddr_in *)out) == 0)
        return 0;
    return uv_ip6_addr(address, (int)port, (struct sockaddr_in6 *)out);
}

static unsigned bound_port(uv_tcp_t *socket)
{
    struct sockaddr_storage a;
    int len = sizeof a;
    if (uv_tcp_getsockname(socket, (struct sockaddr *)&a, &len) < 0)
        return 0;
    uint16_t port = a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                            : ((struct sockaddr_in *)&a)->sin_port;
    return ntohs(port);
}

int gdb_listener_start(struct gdb_listener *l, uv_loop_t *loop, const char *address, unsigned port,
                       const struct gdb_service *service)
{
    struct sockaddr_storage where;
    memset(l, 0, sizeof *l);
    l->loop = loop;
    l->service = *service;
    int error = parse_address(address, port, &where);
    if (!error)
        error = uv_tcp_init(loop, &l->socket.tcp);
    if (error)
        return error;
    l->socket.handle.data = l;
    error = uv_tcp_bind(&l->socket.tcp, (const struct sockaddr *)&where, 0);
    if (!error)
        error = uv_listen(&l->socket.stream, BACKLOG, on_connection);
    if (error)
        uv_close(&l->socket.handle, NULL);
    else
        l->port = bound_port(&l->socket.tcp);
    return error;
}

static void init_pipe(struct gdb_listener *l, uv_loop_t *loop, const struct gdb_service *service)
{
    memset(l, 0, sizeof *l);
    l->loop = loop;
    l->service = *service;
    l->is_pipe = true;
}

int gdb_listener_start_unix(struct gdb_listener *l, uv_loop_t *loop, const char *path,
                            const struct gdb_service *service)
{
    struct stat old;
    init_pipe(l, loop, service);
    int error = uv_pipe_init(loop, &l->socket.pipe, 0);
    if (error)
        return error;
    l->socket.handle.data = l;
    if (lstat(path, &old) == 0 && S_ISSOCK(old.st_mode))
        unlink(path);
    mode_t mask = umask(0177);
    error = uv_pipe_bind(&l->socket.pipe, path);
    umask(mask);
    if (!error)
        error = uv_listen(&l->socket.stream, BACKLOG, on_connection);
    if (error)
        uv_close(&l->socket.handle, NULL);
    return error;
}

int gdb_listener_start_stdio(struct gdb_listener *l, uv_loop_t *loop,
                             const struct gdb_service *service, void (*ended)(void *ctx))
{
    struct gdb_client *c = calloc(1, sizeof *c);
    init_pipe(l, loop, service);
    l->is_stdio = true;
    l->ended = ended;
    if (!c)
        return UV_ENOMEM;
    uv_pipe_init(loop, &c->socket.pipe, 0);
    uv_pipe_init(loop, &c->output, 0);
    c->socket.handle.data = c->output.data = c;
    c->sink = (uv_stream_t *)&c->output;
    c->listener = l;
    l->client = c;
    int error = uv_pipe_open(&c->socket.pipe, STDIN_FILENO);
    if (!error)
        error = uv_pipe_open(&c->output, STDOUT_FILENO);
    if (!error && client_start(c) < 0)
        error = UV_ENOMEM;
    if (error) {
        l->client = NULL;
        c->listener = NULL;
        client_close(c);
    }
    return error;
}

void gdb_listener_stop(struct gdb_listener *l)
{
    if (!l->is_stdio && !uv_is_closing(&l->socket.handle))
        uv_close(&l->socket.handle, NULL);
    if (l->client)
        client_close(l->client);
}
