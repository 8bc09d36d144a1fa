/* SPDX-License-Identifier: BSD-3-Clause */
/* `monitor` commands on a live target. */
#include "live_internal.h"
#include "protocol/rsp/gdb_packet.h"
#include "server/history/call_history.h"
#include "server/live/live_status.h"
#include "server/monitor/history_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void report_drain(const struct live *l, const struct console *c)
{
    static const char *const texts[] = {
        [LIVE_DRAIN_NONE] = "the core has not stopped yet",
        [LIVE_DRAIN_DONE] = "complete up to the halt",
        [LIVE_DRAIN_TIMEOUT] = "NOT complete: the trace did not arrive in time",
        [LIVE_DRAIN_SILENT] = "taken as complete: the board did not say how much there is",
    };
    console_print(c, "last run      %s\n", texts[l->drain]);
}

static int cmd_status(struct live_client *k, int core, const char *rest, const struct console *c)
{
    struct live *l = k->live;
    (void)rest;
    live_summary(l, false, c->print, c->to);
    if (!l->pipeline)
        return BT_OK;
    report_drain(l, c);
    if (l->trace_off)
        console_print(c, "tracing       off by command\n");
    for (unsigned i = 0; i < l->config->core_count; i++) {
        if ((int)l->config->cores[i].thread - 1 != core || l->cores[i].source < 0)
            continue;
        console_print(c, "core          %s, traced by %s\n", l->cores[i].config->name,
                      l->cores[i].config->source_device.type);
        pipeline_lock(l->pipeline);
        history_text_summary(c, live_history(l, (int)i));
        pipeline_unlock(l->pipeline);
    }
    return BT_OK;
}

static int cmd_gaps(struct live_client *k, int core, const char *rest, const struct console *c)
{
    struct live *l = k->live;
    (void)rest;
    for (unsigned i = 0; i < l->config->core_count; i++) {
        if ((int)l->config->cores[i].thread - 1 != core || l->cores[i].source < 0)
            continue;
        pipeline_lock(l->pipeline);
        history_text_gaps(c, live_history(l, (int)i));
        pipeline_unlock(l->pipeline);
        return BT_OK;
    }
    console_print(c, "this core has no trace unit in the board file\n");
    return BT_OK;
}

/* True: the board has done it. */
static bool ask(struct live *l, const char *line, const struct console *c, const char *done)
{
    char answer[256];
    int error = live_ask_board(l, line, answer, sizeof answer);
    if (error == BT_ERR_UNSUPPORTED)
        console_print(c, "this board has no way to do that: no [trace] control in %s\n",
                      l->config->path);
    else if (error)
        console_print(c, "the board does not answer at its control socket\n");
    else if (strncmp(answer, "ok", 2) != 0)
        console_print(c, "the board says: %s\n", answer);
    else
        console_print(c, "%s\n", done);
    return !error && strncmp(answer, "ok", 2) == 0;
}

/* One of the other server's own commands; its answer comes before GDB's next packet does. */
static int ask_server(struct live *l, const char *text, gdb_remote_reply_fn reply)
{
    char packet[8 + 2 * sizeof l->config->reset] = "qRcmd,";
    size_t n = strlen(packet);
    for (const char *p = text; *p && n + 2 < sizeof packet; p++)
        n += (size_t)snprintf(packet + n, sizeof packet - n, "%02x", (unsigned char)*p);
    return gdb_remote_ask(l->remote, packet, n, reply, l);
}

/* What ran since tracing was switched off is missing at this place. */
static void add_hole(struct live_core *c, struct history *h)
{
    struct history_tail tail;
    if (c->hole_count == LIVE_HOLES)
        memmove(c->holes, c->holes + 1, --c->hole_count * sizeof *c->holes);
    history_tail(h, &tail);
    c->holes[c->hole_count++] =
        (struct btrace_hole){history_end(h), history_end(h) + tail.instructions};
}

static void on_switched(void *ctx, const char *reply, size_t len)
{
    (void)reply, (void)len;
    gdb_remote_hold_client(((struct live *)ctx)->remote, false);
}

/* Trace units behind a probe of ours belong to the probe target's thread, and obey its command. */
static bool switch_probe_trace(struct live *l, const char *command, const struct console *c)
{
    gdb_remote_hold_client(l->remote, true);
    if (ask_server(l, command, on_switched) == BT_OK)
        return true;
    gdb_remote_hold_client(l->remote, false);
    console_print(c, "the target cannot be asked now\n");
    return false;
}

/* True: from the next resume on it is so. */
static bool switch_trace(struct live *l, bool on, const struct console *c)
{
    const char *done = on ? "tracing is on" : "tracing is off: what runs now is not in the history";
    if (!l->units.wanted && !l->probe)
        return ask(l, on ? "on" : "off", c, done);
    if (!l->pipeline) {
        console_print(c, "nothing is traced: 'monitor trace status' says why\n");
        return false;
    }
    if (l->probe && !switch_probe_trace(l, on ? "trace on" : "trace off", c))
        return false;
    if (l->units.wanted) {
        live_units_enable(l, on);
        live_look_again(l);
    }
    console_print(c, "%s\n", done);
    return true;
}

static int cmd_on(struct live_client *k, int core, const char *rest, const struct console *c)
{
    struct live *l = k->live;
    (void)core, (void)rest;
    if (!switch_trace(l, true, c))
        return BT_OK;
    if (l->ran_off && l->pipeline) {
        pipeline_lock(l->pipeline);
        for (unsigned i = 0; i < l->config->core_count; i++)
            if (l->cores[i].source >= 0)
                add_hole(&l->cores[i], live_history(l, (int)i));
        pipeline_unlock(l->pipeline);
    }
    l->trace_off = l->ran_off = false;
    return BT_OK;
}

static int cmd_off(struct live_client *k, int core, const char *rest, const struct console *c)
{
    struct live *l = k->live;
    (void)core, (void)rest;
    if (switch_trace(l, false, c))
        l->trace_off = true;
    return BT_OK;
}

static int cmd_filter(struct live_client *k, int core, const char *rest, const struct console *c)
{
    struct live *l = k->live;
    struct message why;
    (void)core;
    if (l->probe) /* its trace units belong to its own thread, which answers */
        return BT_ERR_UNSUPPORTED;
    if (l->units.wanted) {
        if (live_units_filter(l, rest, &why) == BT_OK)
            live_look_again(l);
        console_print(c, "%s\n", why.text);
    } else if (!trace_setup_filter_is_good(rest)) {
        console_print(c,
                      "monitor trace filter include|exclude START-END, or none, such as include "
                      "0x8000-0x8fff; not '%s'\n",
                      rest);
    } else if (strcmp(rest, "none") == 0) {
        if (ask(l, "include none", c, "all addresses are traced"))
            ask(l, "exclude none", c, "none is left out");
    } else if (strstr(rest, "none")) {
        ask(l, rest, c, "these ranges are taken away");
    } else {
        ask(l, rest, c, "the filter is set");
    }
    return BT_OK;
}

static int cmd_record_start(struct live_client *k, int core, const char *rest,
                            const struct console *c)
{
    struct live *l = k->live;
    struct message why;
    struct recorder_stats stats;
    (void)core;
    if (live_record(l, *rest ? rest : NULL, &why)) {
        console_print(c, "not recording: %s\n", why.text);
        return BT_OK;
    }
    recorder_stats(l->recorder, &stats);
    console_print(c, "recording to %s\n", stats.folder);
    return BT_OK;
}

static int cmd_record_stop(struct live_client *k, int core, const char *rest,
                           const struct console *c)
{
    struct live *l = k->live;
    struct recorder_stats stats;
    (void)core, (void)rest;
    if (!l->recorder) {
        console_print(c, "nothing is being recorded\n");
        return BT_OK;
    }
    recorder_stats(l->recorder, &stats);
    uint64_t bytes = stats.bytes + stats.waiting;
    int error = live_record_stop(l);
    if (error)
        console_print(c, "%s: writing failed: %s\n", stats.folder, bt_strerror(error));
    else
        console_print(c, "%s: %" PRIu64 " bytes of trace; replay it with: btraced replay %s\n",
                      stats.folder, bytes, stats.folder);
    return BT_OK;
}

/* The answer of a question about the selected thread's core; the history is locked meanwhile. */
static int
ask_history(struct live_client *client, int core, const char *rest, const struct console *c,
            void (*answer)(const struct call_query *q, const char *text, const struct console *c))
{
    struct live *l = client->live;
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct live_core *k = &l->cores[i];
        if ((int)k->config->thread - 1 != core || k->source < 0)
            continue;
        pipeline_lock(l->pipeline);
        const struct call_query q = {.history = live_history(l, (int)i),
                                     .image = &k->image,
                                     .elf = &k->elf,
                                     .elf_count = k->elf != NULL,
                                     .m_profile = strncmp(k->config->type, "Cortex-M", 8) == 0,
                                     .end = reverse_motion_position(&client->motion, core)};
        answer(&q, rest, c);
        pipeline_unlock(l->pipeline);
        return BT_OK;
    }
    console_print(c, "this core has no trace unit in the board file\n");
    return BT_OK;
}

static int cmd_history(struct live_client *k, int core, const char *rest, const struct console *c)
{
    return ask_history(k, core, rest, c, call_history_command);
}

static int cmd_when(struct live_client *k, int core, const char *rest, const struct console *c)
{
    return ask_history(k, core, rest, c, call_history_when);
}

static void on_reset(void *ctx, const char *reply, size_t len)
{
    struct live *l = ctx;
    (void)reply, (void)len;
    live_was_reset(l);
}

int live_restart(struct live *l)
{
    if (!l->config->reset[0] || l->probe)
        return BT_ERR_UNSUPPORTED;
    gdb_remote_hold_client(l->remote, true);
    int error = ask_server(l, l->config->reset, on_reset);
    if (error)
        gdb_remote_hold_client(l->remote, false);
    return error;
}

static int cmd_reset(struct live_client *k, int core, const char *rest, const struct console *c)
{
    struct live *l = k->live;
    bool run = strcmp(rest, "run") == 0;
    (void)core;
    if (!l->config->reset[0])
        return BT_ERR_UNSUPPORTED;
    if (*rest && !run && strcmp(rest, "halt") != 0 && strcmp(rest, "init") != 0) {
        console_print(c, "monitor reset, reset halt, or reset run, not '%s'\n", rest);
        return BT_OK;
    }
    if (l->probe) {
        /* It says itself whether there was a reset, which is heard when its answer comes. */
        l->run_after = run && !gdb_remote_is_running(l->remote);
        return BT_ERR_UNSUPPORTED;
    }
    if (live_restart(l) != BT_OK) {
        console_print(c, "the target's GDB server cannot be asked now\n");
        return BT_OK;
    }
    l->run_after = run;
    console_print(c, run ? "reset; the target runs until GDB asks for something\n"
                         : "reset; the target is halted\n");
    return BT_OK;
}

static int cmd_version(struct live_client *k, int core, const char *rest, const struct console *c)
{
    (void)k, (void)core, (void)rest;
    console_print(c, "btraced " BTRACED_VERSION "\n");
    return BT_OK;
}

static int cmd_numbers(struct live_client *k, int core, const char *rest, const struct console *c)
{
    (void)core, (void)rest;
    live_status_report(k->live, c);
    return BT_OK;
}

static int cmd_reload(struct live_client *k, int core, const char *rest, const struct console *c)
{
    struct live *l = k->live;
    (void)core, (void)rest;
    if (!l->reload)
        return BT_ERR_UNSUPPORTED;
    l->reload(l->ctx, c);
    return BT_OK;
}

static int cmd_clients(struct live_client *k, int core, const char *rest, const struct console *c)
{
    (void)core, (void)rest;
    live_clients_list(k->live, k, c);
    return BT_OK;
}

static int cmd_control(struct live_client *k, int core, const char *rest, const struct console *c)
{
    struct gdb_why why = {""};
    (void)core, (void)rest;
    if (live_take_control(k, &why))
        console_print(c, "%s\n", why.text);
    else
        console_print(c, "you are in control of the target now\n");
    return BT_OK;
}

static int cmd_release(struct live_client *k, int core, const char *rest, const struct console *c)
{
    (void)core, (void)rest;
    if (live_release_control(k))
        console_print(c, "you give control to client %u; you look on\n",
                      k->live->control->client->number);
    else
        console_print(c, "nobody is in control now; you look on. 'monitor control' takes it\n");
    return BT_OK;
}

static int cmd_help(struct live_client *k, int core, const char *rest, const struct console *c);

static const struct {
    const char *name;
    int (*run)(struct live_client *k, int core, const char *rest, const struct console *c);
    bool control; /* only for the client in control: it changes something */
    const char *help;
} commands[] = {
    {"trace status", cmd_status, false, "what arrives, what was lost, how far it is decoded"},
    {"trace gaps", cmd_gaps, false,
     "where trace of the selected thread's core is missing, and why"},
    {"gaps", cmd_gaps, false, "the same"},
    {"trace on", cmd_on, true, "go on tracing"},
    {"trace off", cmd_off, true, "stop tracing"},
    {"trace filter", cmd_filter, true, "include|exclude START-END|none: addresses that are traced"},
    {"history", cmd_history, false, "[N]: the last N calls, indented by depth, exceptions marked"},
    {"when", cmd_when, false, "FUNCTION|0xADDRESS: where it ran last"},
    {"record start", cmd_record_start, true, "[FOLDER]: write the raw trace to disk as it comes"},
    {"record stop", cmd_record_stop, true, "end that; the folder can be replayed"},
    {"reset", cmd_reset, true, "[halt|run]: reset the target; without run it stays halted"},
    {"status", cmd_numbers, false, "target, clients, throughput, ring, history, gaps, recording"},
    {"clients", cmd_clients, false, "who is connected, and who is in control"},
    {"control", cmd_control, false, "take control, when nobody has it"},
    {"release", cmd_release, true, "give control away, and look on"},
    {"reload", cmd_reload, true, "read the board file again; says what holds from now on"},
    {"version", cmd_version, false, "version of the server"},
    {"help", cmd_help, false, "this list"},
};

/* The board's own commands are listed as well: an error here hands the text on to it. */
static int cmd_help(struct live_client *k, int core, const char *rest, const struct console *c)
{
    struct live *l = k->live;
    (void)core, (void)rest;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].run != cmd_reset || l->config->reset[0])
            console_print(c, "monitor %-14s %s\n", commands[i].name, commands[i].help);
    reverse_monitor_help(c->print, c->to);
    if (l->probe)
        probe_target_help(l->config, c->print, c->to);
    else
        console_print(c, "everything else is for the target's own GDB server\n");
    return BT_OK;
}

static int run_command(struct live_client *k, size_t i, int core, const char *rest,
                       const struct console *c)
{
    if (!commands[i].control || !gdb_session_observes(k->session))
        return commands[i].run(k, core, rest, c);
    console_print(c, "you look on: 'monitor %s' is for the client in control\n", commands[i].name);
    return BT_OK;
}

/* "monitor trace" alone, or with a word that is none of ours. Another GDB server may have commands
 * that begin so; QEMU and a probe target have none. */
static bool help_group(const struct live *l, const char *text, const struct console *c)
{
    static const char *const groups[] = {"trace", "record"};
    char rest[300];
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        size_t n = strlen(groups[i]);
        if (!console_rest(text, groups[i], rest, sizeof rest))
            continue;
        if (*rest && !l->probe && l->config->control.kind == ADDRESS_NONE)
            return false;
        if (*rest)
            console_print(c, "no command '%s %s'; there is:\n", groups[i], rest);
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
            if (strncmp(commands[k].name, groups[i], n) == 0)
                console_print(c, "monitor %-14s %s\n", commands[k].name, commands[k].help);
        return true;
    }
    return false;
}

int live_monitor(struct live_client *k, int core, const char *text, gdb_print_fn print, void *to)
{
    const struct console c = {print, to};
    char rest[300];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (console_rest(text, commands[i].name, rest, sizeof rest))
            return run_command(k, i, core, rest, &c);
    if (help_group(k->live, text, &c))
        return BT_OK;
    if (text[strspn(text, " ")] == '\0')
        return cmd_help(k, core, "", &c);
    int error = reverse_monitor(&k->motion, core, text, print, to);
    if (error != BT_ERR_UNSUPPORTED || k->live->probe || !reverse_motion_any(&k->motion) ||
        gdb_packet_only_shows(text))
        return error;
    /* It may change anything, and GDB would go on as if it were still at a replay position. */
    console_print(&c,
                  "no command of btraced ('monitor help' lists them), and for the target's own GDB "
                  "server not at a replay position: 'monitor goto end' and 'stepi' first\n");
    return BT_OK;
}
