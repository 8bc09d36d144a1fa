/* SPDX-License-Identifier: BSD-3-Clause */
/* What a live target reports: the summary, and its numbers for people and for programs. */
#include "live_internal.h"

#include "server/monitor/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_SEEN 4096 /* bytes among which a frame synchronisation would be */

static void print_bytes(const struct console *c, uint64_t n, const char *after)
{
    if (n >= 10u << 20)
        console_print(c, "%" PRIu64 " MB%s", n >> 20, after);
    else if (n >= 10u << 10)
        console_print(c, "%" PRIu64 " kB%s", n >> 10, after);
    else
        console_print(c, "%" PRIu64 " bytes%s", n, after);
}

static void line_clock(struct live *l, const struct console *c)
{
    char where[sizeof((struct message *)0)->text + 16];
    if (!l->trace && !l->probe) {
        trace_setup_describe_sink(&l->units.setup, where, sizeof where);
        console_print(c, "trace clock   not needed: %s, read out at each halt\n", where);
        return;
    }
    if (!l->trace) {
        console_print(c, "trace clock   seen by the probe: %s\n", l->probe->sink);
        return;
    }
    trace_link_describe(l->trace, where, sizeof where);
    console_print(c, "trace clock   %s%s\n", where,
                  l->join.silent ? "; NOTHING came of the last run" : "");
}

static void line_lock(const struct live *l, const struct console *c, const struct pipeline_stats *s)
{
    if (!l->config->formatted)
        console_print(c, "frame lock    not needed: one source without frames\n");
    else if (s->decoded == 0)
        console_print(c, "frame lock    none yet: nothing has arrived\n");
    else
        console_print(c, "frame lock    %s, lost %" PRIu64 " times\n", s->aligned ? "yes" : "NO",
                      s->losses);
}

static const char *other_id_text(unsigned id)
{
    return id == TRACE_SETUP_PUSH_ID ? "(what pushes the last trace out at a halt)"
                                     : "(no core of the board file)";
}

static bool is_itm_id(const struct live *l, unsigned id)
{
    return l->config->itm.on && l->config->formatted && id == l->config->itm.id;
}

static const char *core_of_id(const struct live *l, unsigned id)
{
    for (unsigned i = 0; i < l->config->core_count; i++) {
        uint64_t value = 0;
        const struct config_core *core = &l->config->cores[i];
        if (core->has_source && config_trace_id(core, &value) && value == id)
            return core->name;
    }
    return NULL;
}

static void line_ids(const struct live *l, const struct console *c, const struct pipeline_stats *s)
{
    bool any = false;
    console_print(c, "trace IDs     ");
    for (unsigned id = 1; id < 0x70; id++) {
        const char *core = core_of_id(l, id);
        if (!s->seen[id] && !(core && l->config->formatted))
            continue;
        console_print(c, "%s0x%02x %s%s", any ? ", " : "", id,
                      core               ? core
                      : is_itm_id(l, id) ? "ITM"
                                         : other_id_text(id),
                      s->seen[id] ? "" : " (silent so far)");
        any = true;
    }
    console_print(c, any                    ? "\n"
                     : l->config->formatted ? "none\n"
                                            : "without frames there are none\n");
}

static void line_rate(struct live *l, const struct console *c)
{
    console_print(c, "rate          ");
    print_bytes(c, l->rate, "/s in the last second, ");
    print_bytes(c, live_bytes(l), " in all\n");
}

static void line_loss(struct live *l, const struct console *c, const struct pipeline_stats *s)
{
    bool any = false;
    console_print(c, "lost          ");
    if (s->dropped) {
        print_bytes(c, s->dropped, "");
        console_print(c, " (ring full, %" PRIu64 " transfers)", s->drops);
        any = true;
    }
    pipeline_lock(l->pipeline);
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        uint64_t n = 0;
        for (unsigned i = 0; i < l->config->core_count; i++)
            if (l->cores[i].source >= 0)
                n += history_gap_count(live_history(l, (int)i), (enum bt_gap_cause)cause);
        bool harmless = cause == BT_GAP_DEBUG;
        if (!n || harmless)
            continue;
        console_print(c, "%s%" PRIu64 " %s", any ? ", " : "", n,
                      bt_gap_name((enum bt_gap_cause)cause));
        any = true;
    }
    pipeline_unlock(l->pipeline);
    console_print(c, any ? "\n" : "nothing\n");
}

static void line_decoded(struct live *l, const struct console *c, const struct pipeline_stats *s)
{
    bool any = false;
    console_print(c, "decoded up to ");
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        uint64_t address;
        enum bt_isa isa;
        struct history *h = live_history(l, (int)i);
        if (!h || history_end(h) == 0)
            continue;
        console_print(c, "%s%s: instruction %" PRIu64, any ? "; " : "", l->cores[i].config->name,
                      history_end(h));
        if (history_position(h, &address, &isa))
            console_print(c, ", next 0x%08" PRIx64, address);
        any = true;
    }
    pipeline_unlock(l->pipeline);
    if (!any)
        console_print(c, l->config->attach ? "nothing yet: the trace buffer held nothing of use"
                                           : "nothing yet: the core has not run");
    if (s->waiting)
        console_print(c, "; %" PRIu64 " bytes wait", s->waiting);
    if (s->waiting && l->rate)
        console_print(c, ", about %" PRIu64 " ms behind", s->waiting * 1000 / l->rate);
    if (s->error)
        console_print(c, "; a part is missing: %s", bt_strerror(s->error));
    console_print(c, "\n");
}

/* The state is that of the moment when the probe was opened: later it is not told again. */
static void print_probe(const struct live *l, bool first, target_print_fn print, void *to)
{
    char line[PROBE_THREAD_SUMMARY];
    unsigned losses;
    for (const char *at = l->probe->summary; *at;) {
        size_t len = strcspn(at, "\n");
        len += at[len] == '\n';
        snprintf(line, sizeof line, "%.*s", (int)len, at);
        bool state = strncmp(line, "state ", 6) == 0 || strncmp(line, "exception ", 10) == 0;
        if (first || !state)
            print(to, line);
        at += len;
    }
    if (!first && probe_thread_is_lost(l->probe, &losses))
        print(to, "state         the probe or the target does not answer; it is looked for\n");
}

/* What was found of trace units, and what is wrong. */
static void print_units(const struct live *l, void (*print)(void *to, const char *text), void *to)
{
    const struct live_units *u = &l->units;
    char text[sizeof u->notes.text + 1];
    if (!u->wanted)
        return;
    snprintf(text, sizeof text, "%.*s", (int)u->notes.used, u->notes.text);
    print(to, text);
    if (!u->reported[0])
        return;
    snprintf(text, sizeof text, "history is missing: %s\n", u->reported);
    print(to, text);
}

void live_summary(struct live *l, bool first, target_print_fn print, void *to)
{
    const struct console c = {print, to};
    struct pipeline_stats stats;
    if (l->probe)
        print_probe(l, first, print, to);
    print_units(l, print, to);
    if (!l->pipeline) {
        console_print(&c, "%s\n",
                      l->probe           ? "no history: nothing is traced"
                      : !l->units.wanted ? "no trace: the board file names no trace unit"
                      : !l->units.found
                          ? "no trace: the trace units are looked for at the next halt"
                          : "no trace: there is no history of this target");
        return;
    }
    pipeline_stats(l->pipeline, &stats);
    line_clock(l, &c);
    line_lock(l, &c, &stats);
    line_ids(l, &c, &stats);
    line_rate(l, &c);
    line_loss(l, &c, &stats);
    live_itm_report(l, &c);
    if (!config_is_itm_alone(l->config))
        line_decoded(l, &c, &stats);
}

/* An ID that arrives and is nobody's; 0: none, or some core has its trace. */
static unsigned stray_id(const struct live *l, const struct pipeline_stats *s)
{
    unsigned stray = 0;
    for (unsigned id = 1; id < 0x70; id++) {
        if (!s->seen[id] || id == TRACE_SETUP_PUSH_ID || is_itm_id(l, id))
            continue;
        if (core_of_id(l, id))
            return 0;
        stray = stray ? stray : id;
    }
    return stray;
}

static bool any_id_seen(const struct pipeline_stats *s)
{
    for (unsigned id = 1; id < 0x70; id++)
        if (s->seen[id])
            return true;
    return false;
}

/* The first core whose trace is waited for, with its ID. */
static const char *silent_core(const struct live *l, unsigned *expected)
{
    for (unsigned id = 1; id < 0x70; id++) {
        const char *core = core_of_id(l, id);
        *expected = id;
        if (core)
            return core;
    }
    return NULL;
}

void live_strays(const struct live *l, bool halted, char *text, size_t size)
{
    struct pipeline_stats s;
    unsigned expected;
    *text = '\0';
    if (!l->pipeline || !l->config->formatted)
        return;
    pipeline_stats(l->pipeline, &s);
    unsigned stray = halted ? stray_id(l, &s) : 0;
    const char *core = silent_core(l, &expected);
    if (stray && core)
        snprintf(text, size,
                 "no history: the trace has ID 0x%02x, which no core of the board file has; core "
                 "%s has 0x%02x\n",
                 stray, core, expected);
    else if (s.decoded >= FRAMES_SEEN && !s.aligned && !any_id_seen(&s))
        snprintf(text, size, "no history: trace arrives, but no frames are found in it; %s\n",
                 l->config->capture.baud
                     ? "is [capture] baud (or swo_rate) the rate of the pin, and [trace] format "
                       "what it sends?"
                 : l->config->sink == CONFIG_SINK_SWO
                     ? "are [trace] swo_rate and trace_clock those of the port?"
                 : l->config->sink == CONFIG_SINK_TPIU
                     ? "has the port as many pins as [trace] tpiu_width says?"
                     : "is [trace] format what the source sends?");
}

struct live_numbers {
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
static const char *live_target_state(const struct live *l, uint64_t *losses)
{
    unsigned of_probe = 0;
    bool lost = l->probe && probe_thread_is_lost(l->probe, &of_probe);
    *losses = l->losses + of_probe;
    if (lost || !target_is_ready(l->target))
        return "lost";
    return target_is_running(l->target) ? "running" : "halted";
}

static void gather_live_clients(const struct live *l, struct live_numbers *s)
{
    status_of_connections(&s->clients, l->connections);
    for (const struct live_client *k = l->clients; k; k = k->next) {
        status_add_client(&s->clients, k->client);
        s->clients.looking_on += k != l->control;
    }
}

static void gather_live_cores(const struct live *l, struct live_numbers *s)
{
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        const struct history *h = live_history(l, (int)i);
        if (h)
            status_of_core(&s->cores[s->core_count++], l->cores[i].config->name, h);
    }
    pipeline_unlock(l->pipeline);
}

static void gather_live(const struct live *l, struct live_numbers *s)
{
    memset(s, 0, sizeof *s);
    s->target = live_target_state(l, &s->target_losses);
    s->up_s = (uv_hrtime() - l->started) / 1000000000;
    s->halts = l->stops;
    gather_live_clients(l, s);
    s->traced = l->pipeline;
    if (l->pipeline) {
        s->trace_bytes = live_bytes(l);
        s->rate = l->rate;
        pipeline_stats(l->pipeline, &s->pipeline);
        gather_live_cores(l, s);
    }
    s->recording = l->recorder;
    if (l->recorder)
        recorder_stats(l->recorder, &s->recorder);
    s->recording_failed = s->recorder.error != 0;
}

void live_status_report(const struct live *l, const struct console *c)
{
    struct live_numbers s;
    gather_live(l, &s);
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

static void write_target_page(const struct live_numbers *s, struct text_buf *out)
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

static void write_trace_page(const struct live *l, const struct live_numbers *s,
                             struct text_buf *out)
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
    struct live_numbers s;
    gather_live(l, &s);
    write_target_page(&s, out);
    if (s.traced) {
        write_trace_page(l, &s, out);
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
