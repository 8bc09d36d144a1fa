/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary that a live target is presented with. */
#include "live_internal.h"
#include "server/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void report_bytes(const struct console *c, uint64_t n, const char *after)
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
    console_print(c, "trace clock   %s\n", where);
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

static const char *other_id(unsigned id)
{
    return id == TRACE_SETUP_PUSH_ID ? "(what pushes the last trace out at a halt)"
                                     : "(no core of the board file)";
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
        console_print(c, "%s0x%02x %s%s", any ? ", " : "", id, core ? core : other_id(id),
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
    report_bytes(c, l->rate, "/s in the last second, ");
    report_bytes(c, live_bytes(l), " in all\n");
}

static void line_loss(struct live *l, const struct console *c, const struct pipeline_stats *s)
{
    bool any = false;
    console_print(c, "lost          ");
    if (s->dropped) {
        report_bytes(c, s->dropped, "");
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
    console_print(c, "\n");
}

/* The state is that of the moment when the probe was opened: later it is not told again. */
static void report_probe(const struct live *l, bool first, gdb_print_fn print, void *to)
{
    char line[PROBE_SERVER_SUMMARY];
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
    if (!first && probe_server_is_lost(l->probe, &losses))
        print(to, "state         the probe or the target does not answer; it is looked for\n");
}

void live_summary(struct live *l, bool first, gdb_print_fn print, void *to)
{
    const struct console c = {print, to};
    struct pipeline_stats stats;
    if (l->probe)
        report_probe(l, first, print, to);
    live_units_report(l, print, to);
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
    line_decoded(l, &c, &stats);
}

/* Trace that no core gets. */

#define FRAMES_SEEN 4096 /* bytes among which a frame synchronisation would be */

/* An ID that arrives and is nobody's; 0: none, or some core has its trace. */
static unsigned stray_id(const struct live *l, const struct pipeline_stats *s)
{
    unsigned stray = 0;
    for (unsigned id = 1; id < 0x70; id++) {
        if (!s->seen[id] || id == TRACE_SETUP_PUSH_ID)
            continue;
        if (core_of_id(l, id))
            return 0;
        stray = stray ? stray : id;
    }
    return stray;
}

static bool any_id(const struct pipeline_stats *s)
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

void live_look_for_strays(struct live *l, bool halted)
{
    struct pipeline_stats s;
    char text[400] = "";
    unsigned expected;
    if (l->strays_reported || !l->pipeline || !l->config->formatted)
        return;
    pipeline_stats(l->pipeline, &s);
    unsigned stray = halted ? stray_id(l, &s) : 0;
    const char *core = silent_core(l, &expected);
    if (stray && core)
        snprintf(text, sizeof text,
                 "no history: the trace has ID 0x%02x, which no core of the board file has; core "
                 "%s has 0x%02x\n",
                 stray, core, expected);
    else if (s.decoded >= FRAMES_SEEN && !s.aligned && !any_id(&s))
        snprintf(text, sizeof text,
                 "no history: trace arrives, but no frames are found in it; %s\n",
                 l->config->capture.baud
                     ? "is [capture] baud (or swo_rate) the rate of the pin, and [trace] format "
                       "what it sends?"
                 : l->config->sink == CONFIG_SINK_SWO
                     ? "are [trace] swo_rate and trace_clock those of the port?"
                 : l->config->sink == CONFIG_SINK_TPIU
                     ? "has the port as many pins as [trace] tpiu_width says?"
                     : "is [trace] format what the source sends?");
    if (!text[0])
        return;
    l->strays_reported = true;
    log_write(LOG_AT_WARNING, "btraced: %s", text);
    live_clients_report(l, text);
}
