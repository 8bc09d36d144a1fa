/* SPDX-License-Identifier: BSD-3-Clause */
/* A live target's trace: capture, the last run's trace at a halt, and what is written to disk. */
#include "live_internal.h"

#include "server/net/stream_socket.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET_MS      30 /* a source that cannot be asked has sent all when it is silent so long */
#define CONTROL_TRIES 20 /* 50 ms each: the board makes its socket when it starts */

/* Capture: the link's thread. */

void live_take_bytes(struct live *l, const uint8_t *data, size_t len)
{
    uv_mutex_lock(&l->lock);
    if (l->recorder)
        recorder_bytes(l->recorder, data, len);
    uv_mutex_unlock(&l->lock);
    pipeline_push(l->pipeline, data, len, l->config->backpressure || l->units.wanted);
}

/* What a buffer holds says only as a whole whether it has run over. */
static void on_bytes(void *ctx, const uint8_t *data, size_t len)
{
    struct live *l = ctx;
    if (!l->config->buffer) {
        live_take_bytes(l, data, len);
        return;
    }
    uv_mutex_lock(&l->lock);
    size_t room = l->config->buffer - l->readout.used, n = len < room ? len : room;
    memcpy(l->readout.bytes + l->readout.used, data, n);
    l->readout.used += n;
    uv_mutex_unlock(&l->lock);
}

void live_take_loss(struct live *l, enum bt_gap_cause cause)
{
    pipeline_lost(l->pipeline, cause, 0);
    uv_mutex_lock(&l->lock);
    if (l->recorder)
        recorder_lost(l->recorder);
    uv_mutex_unlock(&l->lock);
}

/* The buffer has been read: full, it has run over since the last time. */
static void take_readout(struct live *l)
{
    if (!l->config->buffer)
        return;
    uv_mutex_lock(&l->lock);
    size_t n = l->readout.used;
    l->readout.used = 0;
    uv_mutex_unlock(&l->lock);
    if (n == l->config->buffer)
        live_take_loss(l, BT_GAP_OVERWRITTEN);
    if (n)
        live_take_bytes(l, l->readout.bytes, n);
}

static void on_lost(void *ctx, enum bt_gap_cause cause)
{
    live_take_loss(ctx, cause);
}

uint64_t live_bytes(const struct live *l)
{
    struct trace_link_stats stats;
    if (!l->trace)
        return l->fed;
    trace_link_stats(l->trace, &stats);
    return stats.bytes;
}

/* The virtual board's control socket. */

static bool control_open(struct live *l)
{
    for (unsigned i = 0; l->board < 0 && i < CONTROL_TRIES; i++) {
        if (i)
            uv_sleep(50);
        l->board = stream_socket_connect(&l->config->control);
    }
    return l->board >= 0;
}

int live_ask_board(struct live *l, const char *line, char *answer, size_t size)
{
    if (l->config->control.kind == ADDRESS_NONE)
        return BT_ERR_UNSUPPORTED;
    if (!control_open(l))
        return BT_ERR_IO;
    int error = stream_socket_ask(l->board, line, answer, size, l->config->drain_ms);
    if (error) { /* a late answer must not be taken for that of the next question */
        close(l->board);
        l->board = -1;
    }
    return error;
}

/* A stop: fetch and decode the trace of the last run. */

/* In a worker thread: the event loop goes on meanwhile. */
void live_drain_work(uv_work_t *work)
{
    struct live *l = work->data;
    unsigned ms = l->config->drain_ms;
    char answer[256];
    bool all;
    l->drain = LIVE_DRAIN_DONE;
    live_units_collect(l);
    if (!l->trace) {
        all = true; /* it came before the stop, or has been read out */
    } else if (l->config->control.kind == ADDRESS_NONE) {
        all = trace_link_wait_quiet(l->trace, QUIET_MS, ms);
    } else if (live_ask_board(l, "flush", answer, sizeof answer) != BT_OK ||
               strncmp(answer, "ok ", 3) != 0) {
        l->drain = LIVE_DRAIN_SILENT;
        all = trace_link_wait_quiet(l->trace, QUIET_MS, ms);
    } else {
        all = trace_link_wait(l->trace, strtoull(answer + 3, NULL, 10), ms);
    }
    if (l->trace)
        take_readout(l);
    all = pipeline_drain(l->pipeline, ms) && all;
    if (!all)
        l->drain = LIVE_DRAIN_TIMEOUT;
}

int live_start_trace(struct live *l, const struct pipeline_config *p, struct message *why)
{
    const struct trace_link_sink sink = {.bytes = on_bytes, .lost = on_lost, .ctx = l};
    int error = pipeline_new(p, &l->pipeline);
    if (error) {
        message_set(why, "%s: the trace cannot be decoded with this [history]: %s", l->config->path,
                    bt_strerror(error));
        return error;
    }
    if (l->config->buffer && !(l->readout.bytes = malloc(l->config->buffer))) {
        message_set(why, "%s: out of memory for this [trace] buffer", l->config->path);
        return BT_ERR_NOMEM;
    }
    if (l->config->record_dir[0])
        error = live_record(l, NULL, why);
    if (!error && config_has_trace_input(l->config))
        error = trace_link_start(l->config, &sink, &l->trace, why);
    return error;
}

int live_record(struct live *l, const char *dir, struct message *why)
{
    const struct code_image *images[CONFIG_MAX_CORES];
    struct recorder *r;
    if (l->recorder) {
        struct recorder_stats stats;
        recorder_stats(l->recorder, &stats);
        message_set(why, "already recording to %s", stats.folder);
        return BT_ERR_INVAL;
    }
    if (!dir && !l->config->record_dir[0]) {
        message_set(why, "no folder named, and no [record] dir in %s", l->config->path);
        return BT_ERR_INVAL;
    }
    for (unsigned i = 0; i < l->config->core_count; i++)
        images[i] = &l->cores[i].image;
    int error = recorder_start(l->config, dir ? dir : l->config->record_dir, images, &r, why);
    if (error)
        return error;
    uv_mutex_lock(&l->lock);
    l->recorder = r;
    uv_mutex_unlock(&l->lock);
    return BT_OK;
}

int live_record_stop(struct live *l)
{
    uv_mutex_lock(&l->lock);
    struct recorder *r = l->recorder;
    l->recorder = NULL;
    uv_mutex_unlock(&l->lock);
    return r ? recorder_stop(r) : BT_OK;
}
