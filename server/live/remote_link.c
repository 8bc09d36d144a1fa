/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/live/remote_link.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_MS  100
#define QUEUE_MAX (16u << 20) /* bytes that the other side may leave unread */

static void attempt_link(struct remote_link *l);

static void on_retry(uv_timer_t *timer)
{
    attempt_link(timer->data);
}

static void on_closed(uv_handle_t *handle)
{
    struct remote_link *l = handle->data;
    l->state = REMOTE_LINK_CLOSED;
    if (!l->stopping)
        uv_timer_start(&l->retry, on_retry, RETRY_MS, 0);
}

void remote_link_again(struct remote_link *l)
{
    bool was_connected = l->state == REMOTE_LINK_CONNECTED;
    if (was_connected || l->state == REMOTE_LINK_OPENING) {
        l->state = REMOTE_LINK_CLOSING;
        uv_close(&l->socket.handle, on_closed);
    }
    if (was_connected)
        gdb_remote_disconnected(l->remote);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct remote_link *l = handle->data;
    (void)suggested;
    *buf = uv_buf_init(l->buffer, sizeof l->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct remote_link *l = stream->data;
    if (n > 0)
        gdb_remote_input(l->remote, buf->base, (size_t)n);
    else if (n < 0)
        remote_link_again(l);
}

static void on_connected(uv_connect_t *request, int status)
{
    struct remote_link *l = request->data;
    if (status < 0 || l->stopping || l->state != REMOTE_LINK_OPENING) {
        remote_link_again(l);
        return;
    }
    l->state = REMOTE_LINK_CONNECTED;
    if (l->address.kind == ADDRESS_TCP)
        uv_tcp_nodelay(&l->socket.tcp, 1);
    uv_read_start(&l->socket.stream, on_alloc, on_read);
    gdb_remote_connected(l->remote);
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct remote_link *l = lookup->data;
    struct addrinfo *a = found;
    for (unsigned i = 0; a && i < l->attempts; i++)
        a = a->ai_next;
    if (!a) {
        a = found;
        l->attempts = 0;
    }
    l->attempts++;
    if (status < 0 || l->stopping ||
        uv_tcp_connect(&l->request, &l->socket.tcp, a->ai_addr, on_connected) < 0)
        remote_link_again(l);
    uv_freeaddrinfo(found);
}

static void attempt_link(struct remote_link *l)
{
    if (l->stopping || l->state != REMOTE_LINK_CLOSED)
        return;
    l->state = REMOTE_LINK_OPENING;
    if (l->address.kind == ADDRESS_UNIX) {
        uv_pipe_init(l->loop, &l->socket.pipe, 0);
        l->socket.handle.data = l;
        uv_pipe_connect(&l->request, &l->socket.pipe, l->address.host, on_connected);
        return;
    }
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    snprintf(port, sizeof port, "%u", l->address.port);
    uv_tcp_init(l->loop, &l->socket.tcp);
    l->socket.handle.data = l;
    if (uv_getaddrinfo(l->loop, &l->lookup, on_found, l->address.host, port, &hints) < 0)
        remote_link_again(l);
}

int remote_link_start(struct remote_link *l, uv_loop_t *loop, const struct address *address,
                      struct gdb_remote *remote)
{
    *l = (struct remote_link){.loop = loop, .address = *address, .remote = remote};
    l->request.data = l->lookup.data = l;
    int error = uv_timer_init(loop, &l->retry);
    l->retry.data = l;
    if (!error)
        attempt_link(l);
    return error;
}

struct pending_write {
    uv_write_t request;
    char bytes[];
};

static void on_written(uv_write_t *request, int status)
{
    (void)status; /* a broken connection is told to the reader */
    free(request);
}

void remote_link_send(void *link, const void *bytes, size_t len)
{
    struct remote_link *l = link;
    if (l->state != REMOTE_LINK_CONNECTED)
        return;
    struct pending_write *w = NULL;
    if (uv_stream_get_write_queue_size(&l->socket.stream) < QUEUE_MAX)
        w = malloc(sizeof *w + len);
    if (!w) {
        remote_link_again(l);
        return;
    }
    memcpy(w->bytes, bytes, len);
    uv_buf_t buf = uv_buf_init(w->bytes, (unsigned)len);
    if (uv_write(&w->request, &l->socket.stream, &buf, 1, on_written) < 0) {
        free(w);
        remote_link_again(l);
    }
}

void remote_link_stop(struct remote_link *l)
{
    if (!l->loop || l->stopping)
        return;
    l->stopping = true;
    uv_cancel((uv_req_t *)&l->lookup);
    remote_link_again(l);
    uv_close((uv_handle_t *)&l->retry, NULL);
}
