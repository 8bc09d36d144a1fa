/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/probe/probe_target_trace.h"

#include <string.h>

#define QUIET_MS      10u /* a port that is silent so long has sent all */
#define POLL_WAIT_MS  2u
#define FIRST_WAIT_MS 0u

static bool by_probe(const struct probe_target_trace *t)
{
    return t->probe->swo.ops && t->setup.config->sink == CONFIG_SINK_SWO;
}

/* Between packets a port repeats sync words for ever: that is not trace. */
static void count_bytes(void *user, const uint8_t *data, size_t length)
{
    struct probe_target_trace *t = user;
    for (size_t i = 0; i < length; i++)
        t->received += (data[i] | 0x80) != 0xff;
    t->sink.bytes(t->sink.user, data, length);
}

static void pass_loss(void *user, enum bt_gap_cause cause)
{
    struct probe_target_trace *t = user;
    t->sink.lost(t->sink.user, cause);
}

static int capture_broken(struct probe_target_trace *t, int error, struct message *why)
{
    message_set(why, "SWO cannot be captured: %s",
                error == BT_ERR_IO ? "the probe does not answer" : bt_strerror(error));
    t->capturing = false;
    t->sink.lost(t->sink.user, BT_GAP_LOST_BYTES);
    return error;
}

static int begin_capture(struct probe_target_trace *t, struct message *why)
{
    const struct trace_sink counted = {.user = t, .bytes = count_bytes, .lost = pass_loss};
    if (!by_probe(t) || t->capturing)
        return BT_OK;
    (void)t->probe->swo.ops->stop(t->probe->swo.self); /* of a capture that broke */
    int error = t->probe->swo.ops->start(t->probe->swo.self, &counted);
    t->capturing = !error;
    return error ? capture_broken(t, error, why) : BT_OK;
}

static int poll_port(struct probe_target_trace *t, unsigned wait_ms, struct message *why)
{
    if (!t->capturing)
        return BT_OK;
    int error = t->probe->swo.ops->poll(t->probe->swo.self, wait_ms);
    return error ? capture_broken(t, error, why) : BT_OK;
}

static void capture_progress(const struct probe_target_trace *t, uint64_t *came, uint64_t *due)
{
    *came = *due = 0;
    if (t->probe->swo.ops->progress)
        t->probe->swo.ops->progress(t->probe->swo.self, came, due);
}

/* Until nothing has come for a while, and then what the probe holds back; drain_ms at most. */
static int drain_port(struct probe_target_trace *t, struct message *why)
{
    uint64_t begin = debug_now(&debug_clock_monotonic), last = begin, now = begin;
    uint64_t came = 0, due = 0, goal = 0, limit = t->setup.config->drain_ms * UINT64_C(1000);
    bool quiet = false;
    int error = BT_OK;
    while (!error && t->capturing && !(quiet && came >= goal)) {
        uint64_t before = t->received;
        error = poll_port(t, POLL_WAIT_MS, why);
        now = debug_now(&debug_clock_monotonic);
        capture_progress(t, &came, &due);
        if (t->received != before) {
            last = now;
            quiet = false;
        } else if (!quiet && now - last >= QUIET_MS * 1000u) {
            quiet = true;
            goal = due;
        }
        if (now - begin >= limit && !(quiet && came >= goal)) {
            t->sink.lost(t->sink.user, BT_GAP_LOST_BYTES);
            break;
        }
    }
    return error;
}

int probe_target_trace_open(struct probe_target_trace *t, struct probe_link *probe,
                            struct config *config, const struct trace_sink *sink,
                            struct message *why)
{
    memset(t, 0, sizeof *t);
    t->probe = probe;
    t->sink = *sink;
    t->generation = probe->generation;
    int error = trace_setup_discover(&t->setup, &probe->bus, config, probe->rom, why);
    t->attached = config->attach && t->setup.history;
    return error;
}

/* The probe was away: its capture has ended, and nobody knows what the target has done. */
static void look_for_return(struct probe_target_trace *t)
{
    if (t->generation == t->probe->generation)
        return;
    t->generation = t->probe->generation;
    if (t->setup.history)
        t->sink.lost(t->sink.user, BT_GAP_LOST_BYTES);
    t->capturing = false;
    probe_target_trace_reset(t);
}

int probe_target_trace_resume(struct probe_target_trace *t, struct message *why)
{
    if (!t->setup.history)
        return BT_OK;
    look_for_return(t);
    t->attached = false;
    t->ran = false;
    if (t->off)
        return t->setup.programmed ? trace_setup_stop(&t->setup, why) : BT_OK;
    int error = begin_capture(t, why);
    if (t->setup.programmed && !trace_setup_runs(&t->setup))
        probe_target_trace_reset(t); /* it has lost its power, or its settings to somebody else */
    if (!error && !t->setup.programmed)
        error = trace_setup_program(&t->setup, why);
    else if (!error && t->stopped)
        error = trace_setup_rearm(&t->setup, why);
    if (error && probe_link_is_gone(t->probe))
        probe_target_trace_reset(t);
    t->stopped = error && t->stopped;
    t->ran = !error;
    return error;
}

int probe_target_trace_poll(struct probe_target_trace *t, struct message *why)
{
    return poll_port(t, FIRST_WAIT_MS, why);
}

int probe_target_trace_halted(struct probe_target_trace *t, struct message *why)
{
    if (!t->setup.history)
        return BT_OK;
    look_for_return(t);
    if (t->attached) {
        t->attached = false;
        return trace_setup_collect(&t->setup, &t->sink, why);
    }
    if (!t->ran || !t->setup.programmed)
        return BT_OK;
    t->ran = false;
    t->stopped = true;
    int error = trace_setup_collect(&t->setup, &t->sink, why);
    int drained = drain_port(t, why);
    return error ? error : drained;
}

void probe_target_trace_close(struct probe_target_trace *t)
{
    if (t->capturing && t->generation == t->probe->generation && !probe_link_is_gone(t->probe))
        (void)t->probe->swo.ops->stop(t->probe->swo.self);
    t->capturing = false;
    trace_setup_release(&t->setup);
}
