/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/trace_link.h"
#include "server/stream_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define READ_SIZE (256u << 10)
#define RETRY_MS  200

struct trace_link {
    struct config_address address;
    struct trace_link_sink sink;
    bool listens;
    int listener; /* -1 if the link connects */
    int wake[2];  /* a byte in it ends the thread */
    uv_thread_t thread;
    bool running;
    uv_mutex_t lock; /* guards the rest */
    uv_cond_t arrived;
    struct trace_link_stats stats;
    uint64_t last; /* time of the last byte that is more than a sync, ns */
};

/* ---- the thread ----------------------------------------------------------------------------- */

/* False: the thread is to end. */
static bool wait_for(struct trace_link *l, int fd, int timeout_ms)
{
    struct pollfd fds[2] = {{.fd = l->wake[0], .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int n;
    do
        n = poll(fds, 2, timeout_ms);
    while (n < 0 && errno == EINTR);
    return !fds[0].revents;
}

/* A connected socket, or -1 to end. */
static int next_connection(struct trace_link *l)
{
    for (;;) {
        int fd;
        if (l->listens) {
            if (!wait_for(l, l->listener, -1))
                return -1;
            fd = stream_socket_accept(l->listener);
        } else {
            fd = stream_socket_connect(&l->address);
        }
        if (fd >= 0)
            return fd;
        if (!wait_for(l, -1, RETRY_MS))
            return -1;
    }
}

/* A trace port never rests: it sends syncs (7fff) while there is nothing to tell. */
static bool only_syncs(const uint8_t *data, size_t n)
{
    size_t i = 0;
    while (i < n && (data[i] == 0xff || data[i] == 0x7f))
        i++;
    return i == n;
}

static void count(struct trace_link *l, const uint8_t *data, size_t n)
{
    bool idle = only_syncs(data, n);
    uv_mutex_lock(&l->lock);
    l->stats.bytes += n;
    l->stats.connection += n;
    if (!idle)
        l->last = uv_hrtime();
    uv_cond_broadcast(&l->arrived);
    uv_mutex_unlock(&l->lock);
}

static void mark_connected(struct trace_link *l, bool connected)
{
    uv_mutex_lock(&l->lock);
    if (connected) {
        l->stats.connection = 0;
        l->stats.connections++;
    }
    l->stats.connected = connected;
    uv_cond_broadcast(&l->arrived);
    uv_mutex_unlock(&l->lock);
}

/* False: the thread is to end. */
static bool read_all(struct trace_link *l, int fd, uint8_t *buffer)
{
    for (;;) {
        if (!wait_for(l, fd, -1))
            return false;
        ssize_t n = read(fd, buffer, READ_SIZE);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return true;
        l->sink.bytes(l->sink.ctx, buffer, (size_t)n);
        count(l, buffer, (size_t)n);
    }
}

static void capture_thread(void *arg)
{
    struct trace_link *l = arg;
    uint8_t *buffer = malloc(READ_SIZE);
    bool first = true, go_on = buffer != NULL;
    while (go_on) {
        int fd = next_connection(l);
        if (fd < 0)
            break;
        if (!first)
            l->sink.again(l->sink.ctx);
        first = false;
        mark_connected(l, true);
        go_on = read_all(l, fd, buffer);
        mark_connected(l, false);
        close(fd);
    }
    free(buffer);
}

/* ---- everybody else ------------------------------------------------------------------------- */

void trace_link_stats(struct trace_link *l, struct trace_link_stats *stats)
{
    uv_mutex_lock(&l->lock);
    *stats = l->stats;
    uv_mutex_unlock(&l->lock);
}

bool trace_link_wait(struct trace_link *l, uint64_t bytes, unsigned timeout_ms)
{
    uint64_t deadline = uv_hrtime() + (uint64_t)timeout_ms * 1000000;
    uv_mutex_lock(&l->lock);
    while (l->stats.connection < bytes) {
        uint64_t now = uv_hrtime();
        if (now >= deadline || uv_cond_timedwait(&l->arrived, &l->lock, deadline - now) != 0)
            break;
    }
    bool done = l->stats.connection >= bytes;
    uv_mutex_unlock(&l->lock);
    return done;
}

bool trace_link_settle(struct trace_link *l, unsigned quiet_ms, unsigned timeout_ms)
{
    uint64_t begin = uv_hrtime(), deadline = begin + (uint64_t)timeout_ms * 1000000;
    uint64_t quiet = (uint64_t)quiet_ms * 1000000, end;
    uv_mutex_lock(&l->lock);
    for (;;) {
        uint64_t now = uv_hrtime(), since = l->last > begin ? l->last : begin;
        end = since + quiet;
        if (now >= end || now >= deadline)
            break;
        uv_cond_timedwait(&l->arrived, &l->lock, (end < deadline ? end : deadline) - now);
    }
    uv_mutex_unlock(&l->lock);
    return end <= deadline;
}

/* ---- life ----------------------------------------------------------------------------------- */

int trace_link_start(const struct config_address *address, bool listens,
                     const struct trace_link_sink *sink, struct trace_link **out,
                     struct message *why)
{
    char text[300];
    *out = NULL;
    struct trace_link *l = calloc(1, sizeof *l);
    message_set(why, "out of memory");
    if (!l)
        return BT_ERR_NOMEM;
    l->address = *address;
    l->sink = *sink;
    l->listens = listens;
    l->listener = l->wake[0] = l->wake[1] = -1;
    uv_mutex_init(&l->lock);
    uv_cond_init(&l->arrived);
    int error = pipe(l->wake) == 0 ? BT_OK : BT_ERR_IO;
    if (!error && listens) {
        l->listener = stream_socket_listen(address);
        error = l->listener < 0 ? BT_ERR_IO : BT_OK;
        config_format_address(address, text, sizeof text);
        if (error)
            message_set(why, "cannot listen for trace on %s: %s", text, strerror(errno));
    }
    if (!error && uv_thread_create(&l->thread, capture_thread, l) != 0)
        error = BT_ERR_NOMEM;
    l->running = !error;
    if (error)
        trace_link_stop(l);
    else
        *out = l;
    return error;
}

void trace_link_stop(struct trace_link *l)
{
    if (!l)
        return;
    if (l->running) {
        ssize_t n;
        do
            n = write(l->wake[1], "", 1);
        while (n < 0 && errno == EINTR);
        uv_thread_join(&l->thread);
    }
    for (int i = 0; i < 2; i++)
        if (l->wake[i] >= 0)
            close(l->wake[i]);
    if (l->listener >= 0)
        close(l->listener);
    uv_cond_destroy(&l->arrived);
    uv_mutex_destroy(&l->lock);
    free(l);
}
