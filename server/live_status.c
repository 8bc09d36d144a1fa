/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/live_status.h"

#include "server/live_internal.h"

#include <inttypes.h>
#include <string.h>

struct core_status {
    const char *name;
    uint64_t first, end; /* instructions kept */
    uint64_t memory;     /* bytes of the history */
    uint64_t gaps[BT_GAP_CAUSES];
};

struct status {
    const char *target; /* in a word */
    uint64_t up_s, halts, target_losses;
    unsigned clients, looking_on;
    uint64_t connections, refused, dropped, received, sent;
    bool traced, recording, recording_failed;
    uint64_t trace_bytes, rate;
    struct pipeline_stats pipeline;
    struct recorder_stats recorder;
    struct core_status cores[CONFIG_MAX_CORES];
    unsigned core_count;
};

/* ---- gathered ---------------------------------------------------------------------------------
 */

static const char *target_state(const struct live *l)
{
    if (!gdb_upstream_is_ready(l->upstream))
        return "lost";
    return gdb_upstream_is_running(l->upstream) ? "running" : "halted";
}

static void gather_clients(const struct live *l, struct status *s)
{
    for (const struct live_client *k = l->clients; k; k = k->next) {
        s->clients++;
        s->looking_on += k != l->control;
        s->received += k->client->received;
        s->sent += k->client->sent;
    }
    if (l->visitors) {
        s->connections = l->visitors->last_number;
        s->refused = l->visitors->refused;
        s->dropped = l->visitors->dropped;
    }
}

static void gather_cores(const struct live *l, struct status *s)
{
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        const struct history *h = live_history(l, (int)i);
        struct core_status *c = &s->cores[s->core_count];
        if (!h)
            continue;
        s->core_count++;
        *c = (struct core_status){.name = l->cores[i].config->name,
                                  .first = history_first(h),
                                  .end = history_end(h),
                                  .memory = history_memory(h)};
        for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++)
            c->gaps[cause] = history_gap_count(h, (enum bt_gap_cause)cause);
    }
    pipeline_unlock(l->pipeline);
}

static void gather(const struct live *l, struct status *s)
{
    memset(s, 0, sizeof *s);
    s->target = target_state(l);
    s->up_s = (uv_hrtime() - l->started) / 1000000000;
    s->halts = l->stretch;
    s->target_losses = l->losses;
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

/* ---- for people -------------------------------------------------------------------------------
 */

static void say_core(const struct console *c, const struct core_status *k)
{
    console_say(c, "history       %s: instructions %" PRIu64 " to %" PRIu64 ", %" PRIu64 " kB\n",
                k->name, k->first + 1, k->end, k->memory >> 10);
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++)
        if (k->gaps[cause])
            console_say(c, "gaps          %s: %" PRIu64 " %s\n", k->name, k->gaps[cause],
                        bt_gap_name((enum bt_gap_cause)cause));
}

void live_status_say(const struct live *l, const struct console *c)
{
    struct status s;
    gather(l, &s);
    console_say(c,
                "target        %s, %" PRIu64 " halts, lost %" PRIu64 " times; up %" PRIu64 " s\n",
                s.target, s.halts, s.target_losses, s.up_s);
    console_say(c,
                "clients       %u of %u, of which %u look on; %" PRIu64 " bytes received, %" PRIu64
                " sent; %" PRIu64 " turned away, %" PRIu64 " dropped at a limit\n",
                s.clients, l->config->limits.clients, s.looking_on, s.received, s.sent, s.refused,
                s.dropped);
    if (s.traced) {
        console_say(c, "throughput    %" PRIu64 " bytes/s, %" PRIu64 " bytes in all\n", s.rate,
                    s.trace_bytes);
        console_say(c, "ring          %" PRIu64 " of %zu bytes wait; %" PRIu64 " dropped\n",
                    s.pipeline.waiting, l->config->ring, s.pipeline.dropped);
    }
    for (unsigned i = 0; i < s.core_count; i++)
        say_core(c, &s.cores[i]);
    if (s.recording_failed)
        console_say(c, "recording     %s\n", s.recorder.why);
    else if (s.recording)
        console_say(c,
                    "recording     %s: %" PRIu64 " bytes, %" PRIu64 " wait, %" PRIu64 " dropped\n",
                    s.recorder.folder, s.recorder.bytes, s.recorder.waiting, s.recorder.dropped);
}

/* ---- for programs -----------------------------------------------------------------------------
 */

static void head(struct text_buf *out, const char *name, const char *type, const char *help)
{
    text_buf_printf(out, "# HELP btraced_%s %s\n# TYPE btraced_%s %s\n", name, help, name, type);
}

static void number(struct text_buf *out, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    head(out, name, type, help);
    text_buf_printf(out, "btraced_%s %" PRIu64 "\n", name, value);
}

static void target_page(const struct status *s, struct text_buf *out)
{
    static const char *const states[] = {"halted", "running", "lost"};
    number(out, "up_seconds", "gauge", "Seconds since the start.", s->up_s);
    head(out, "target_state", "gauge", "1 for the state that the target is in.");
    for (unsigned i = 0; i < 3; i++)
        text_buf_printf(out, "btraced_target_state{state=\"%s\"} %d\n", states[i],
                        strcmp(states[i], s->target) == 0);
    number(out, "halts_total", "counter", "Halts of the target.", s->halts);
    number(out, "target_losses_total", "counter", "Times that the target's GDB server was lost.",
           s->target_losses);
    number(out, "clients", "gauge", "Clients that are connected.", s->clients);
    number(out, "clients_looking_on", "gauge", "Clients that are not in control.", s->looking_on);
    number(out, "client_connections_total", "counter", "Clients that have come.", s->connections);
    number(out, "clients_refused_total", "counter", "Clients that were turned away.", s->refused);
    number(out, "clients_dropped_total", "counter", "Clients that were dropped at a limit.",
           s->dropped);
}

static void trace_page(const struct live *l, const struct status *s, struct text_buf *out)
{
    const struct pipeline_stats *p = &s->pipeline;
    number(out, "trace_bytes_total", "counter", "Bytes of trace that have arrived.",
           s->trace_bytes);
    number(out, "trace_rate_bytes", "gauge", "Bytes of trace in the last second.", s->rate);
    number(out, "ring_bytes", "gauge", "Bytes that wait for the decoder.", p->waiting);
    number(out, "ring_size_bytes", "gauge", "Bytes that may wait for the decoder.",
           l->config->ring);
    number(out, "ring_dropped_bytes_total", "counter", "Bytes that found the ring full.",
           p->dropped);
    number(out, "decoded_bytes_total", "counter", "Bytes through the decoder.", p->decoded);
    number(out, "frame_losses_total", "counter", "Times that frame alignment was lost.", p->losses);
}

static void cores_page(const struct status *s, struct text_buf *out)
{
    head(out, "instructions_total", "counter", "Instructions decoded so far.");
    for (unsigned i = 0; i < s->core_count; i++)
        text_buf_printf(out, "btraced_instructions_total{core=\"%s\"} %" PRIu64 "\n",
                        s->cores[i].name, s->cores[i].end);
    head(out, "history_bytes", "gauge", "Memory of the history.");
    for (unsigned i = 0; i < s->core_count; i++)
        text_buf_printf(out, "btraced_history_bytes{core=\"%s\"} %" PRIu64 "\n", s->cores[i].name,
                        s->cores[i].memory);
    head(out, "gaps_total", "counter", "Places where trace is missing.");
    for (unsigned i = 0; i < s->core_count; i++)
        for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++)
            text_buf_printf(out, "btraced_gaps_total{core=\"%s\",cause=\"%s\"} %" PRIu64 "\n",
                            s->cores[i].name, bt_gap_name((enum bt_gap_cause)cause),
                            s->cores[i].gaps[cause]);
}

void live_status_page(const struct live *l, struct text_buf *out)
{
    struct status s;
    gather(l, &s);
    target_page(&s, out);
    if (s.traced) {
        trace_page(l, &s, out);
        cores_page(&s, out);
    }
    number(out, "recording", "gauge", "1 while trace is written to disk.",
           s.recording && !s.recording_failed);
    number(out, "recording_bytes", "gauge", "Bytes on disk.", s.recorder.bytes);
    number(out, "recording_dropped_bytes", "gauge", "Bytes that are missing there.",
           s.recorder.dropped);
    number(out, "recording_failed", "gauge", "1 when writing has failed.", s.recording_failed);
}
