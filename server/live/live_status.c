/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/live/live_status.h"

#include "live_internal.h"
#include "server/monitor/status.h"

#include <inttypes.h>
#include <string.h>

struct status {
    const char *target; /* in a word */
    uint64_t up_s, halts, target_losses;
    struct status_clients clients;
    bool traced, recording, recording_failed;
    uint64_t trace_bytes, rate;
    struct pipeline_stats pipeline;
    struct recorder_stats recorder;
    struct status_core cores[CONFIG_MAX_CORES];
    unsigned core_count;
};

/* Between us and the target is another GDB server, or a probe. */
static const char *target_state(const struct live *l, uint64_t *losses)
{
    unsigned of_probe = 0;
    bool lost = l->probe && probe_server_is_lost(l->probe, &of_probe);
    *losses = l->losses + of_probe;
    if (lost || !gdb_remote_is_ready(l->remote))
        return "lost";
    return gdb_remote_is_running(l->remote) ? "running" : "halted";
}

static void gather_clients(const struct live *l, struct status *s)
{
    status_of_connections(&s->clients, l->connections);
    for (const struct live_client *k = l->clients; k; k = k->next) {
        status_add_client(&s->clients, k->client);
        s->clients.looking_on += k != l->control;
    }
}

static void gather_cores(const struct live *l, struct status *s)
{
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        const struct history *h = live_history(l, (int)i);
        if (h)
            status_of_core(&s->cores[s->core_count++], l->cores[i].config->name, h);
    }
    pipeline_unlock(l->pipeline);
}

static void gather(const struct live *l, struct status *s)
{
    memset(s, 0, sizeof *s);
    s->target = target_state(l, &s->target_losses);
    s->up_s = (uv_hrtime() - l->started) / 1000000000;
    s->halts = l->stops;
    gather_clients(l, s);
    s->traced = l->pipeline != NULL;
    if (l->pipeline) {
        s->trace_bytes = live_bytes(l);
        s->rate = l->rate;
        pipeline_stats(l->pipeline, &s->pipeline);
        gather_cores(l, s);
    }
    s->recording = l->recorder != NULL;
    if (l->recorder)
        recorder_stats(l->recorder, &s->recorder);
    s->recording_failed = s->recorder.error != 0;
}

/* For people. */

void live_status_report(const struct live *l, const struct console *c)
{
    struct status s;
    gather(l, &s);
    console_print(c,
                  "target        %s, %" PRIu64 " halts, lost %" PRIu64 " times; up %" PRIu64 " s\n",
                  s.target, s.halts, s.target_losses, s.up_s);
    status_report_clients(&s.clients, l->config->limits.clients, c);
    if (s.traced) {
        console_print(c, "throughput    %" PRIu64 " bytes/s, %" PRIu64 " bytes in all\n", s.rate,
                      s.trace_bytes);
        console_print(c, "ring          %" PRIu64 " of %zu bytes wait; %" PRIu64 " dropped\n",
                      s.pipeline.waiting, l->config->ring, s.pipeline.dropped);
    }
    for (unsigned i = 0; i < s.core_count; i++)
        status_report_core(&s.cores[i], c);
    if (s.recording_failed)
        console_print(c, "recording     %s\n", s.recorder.why);
    else if (s.recording)
        console_print(
            c, "recording     %s: %" PRIu64 " bytes, %" PRIu64 " wait, %" PRIu64 " dropped\n",
            s.recorder.folder, s.recorder.bytes, s.recorder.waiting, s.recorder.dropped);
}

/* For programs. */

static void target_page(const struct status *s, struct text_buf *out)
{
    static const char *const states[] = {"halted", "running", "lost"};
    status_number(out, "up_seconds", "gauge", "Seconds since the start.", s->up_s);
    status_head(out, "target_state", "gauge", "1 for the state that the target is in.");
    for (unsigned i = 0; i < 3; i++)
        text_buf_printf(out, "btraced_target_state{state=\"%s\"} %d\n", states[i],
                        strcmp(states[i], s->target) == 0);
    status_number(out, "halts_total", "counter", "Halts of the target.", s->halts);
    status_number(out, "target_losses_total", "counter",
                  "Times that the probe, the target or its GDB server was lost.", s->target_losses);
    status_page_clients(&s->clients, out);
}

static void trace_page(const struct live *l, const struct status *s, struct text_buf *out)
{
    const struct pipeline_stats *p = &s->pipeline;
    status_number(out, "trace_bytes_total", "counter", "Bytes of trace that have arrived.",
                  s->trace_bytes);
    status_number(out, "trace_rate_bytes", "gauge", "Bytes of trace in the last second.", s->rate);
    status_number(out, "ring_bytes", "gauge", "Bytes that wait for the decoder.", p->waiting);
    status_number(out, "ring_size_bytes", "gauge", "Bytes that may wait for the decoder.",
                  l->config->ring);
    status_number(out, "ring_dropped_bytes_total", "counter", "Bytes that found the ring full.",
                  p->dropped);
    status_number(out, "decoded_bytes_total", "counter", "Bytes through the decoder.", p->decoded);
    status_number(out, "frame_losses_total", "counter", "Times that frame alignment was lost.",
                  p->losses);
}

void live_status_page(const struct live *l, struct text_buf *out)
{
    struct status s;
    gather(l, &s);
    target_page(&s, out);
    if (s.traced) {
        trace_page(l, &s, out);
        status_page_cores(s.cores, s.core_count, out);
    }
    status_number(out, "recording", "gauge", "1 while trace is written to disk.",
                  s.recording && !s.recording_failed);
    status_number(out, "recording_bytes", "gauge", "Bytes on disk.", s.recorder.bytes);
    status_number(out, "recording_dropped_bytes", "gauge", "Bytes that are missing there.",
                  s.recorder.dropped);
    status_number(out, "recording_failed", "gauge", "1 when writing has failed.",
                  s.recording_failed);
}
