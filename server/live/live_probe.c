/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A live target behind a probe of ours. Its GDB server is a thread; packets go through a pair of
 * sockets, trace through live_sink(), and what neither tells through live.moved.
 */
#include "live_internal.h"

#include <unistd.h>

static void on_bytes(void *user, const uint8_t *data, size_t length)
{
    struct live *l = user;
    l->fed += length;
    live_take_bytes(l, data, length);
}

static void on_lost(void *user, enum bt_gap_cause cause)
{
    live_take_loss(user, cause);
}

struct trace_sink live_sink(struct live *l)
{
    return (struct trace_sink){.user = l, .bytes = on_bytes, .lost = on_lost};
}

/* In the server's thread. */
static void report_moved(void *ctx)
{
    uv_async_send(&((struct live *)ctx)->moved);
}

static void on_moved(uv_async_t *async)
{
    struct live *l = async->data;
    bool reset = live_probe_reset(l);
    if (reset)
        l->setup = 0;
    /* Cores that run are looked at when they halt. */
    if (!gdb_remote_is_running(l->remote))
        live_was_moved(l);
}

void live_use_probe(struct live *l, struct probe_server *probe)
{
    l->probe = probe;
}

int live_connect_probe(struct live *l)
{
    if (uv_async_init(l->loop, &l->moved, on_moved) != 0)
        return BT_ERR_NOMEM;
    l->moved.data = l;
    int fd = probe_server_start(l->probe, report_moved, l);
    if (fd < 0)
        return fd;
    if (remote_link_open(&l->link, l->loop, fd, l->remote) == 0)
        return BT_OK;
    close(fd);
    return BT_ERR_IO;
}

bool live_probe_reset(struct live *l)
{
    unsigned before = l->resets;
    if (l->probe)
        l->resets = probe_server_resets(l->probe);
    return l->resets != before;
}
