/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of `monitor` on a live target. */
#include "protocol/rsp/gdb_packet.h"
#include "server/base/console.h"
#include "server/monitor/status.h"
#include "server/recording/record_place.h"

#include "live_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Commands that a client may give to the target's own GDB server. These servers have commands that
 * run programs and write files of their machine: Tcl's `exec` and `dump_image` of OpenOCD,
 * `migrate` and `logfile` of QEMU, `!` of pyOCD.
 */
#define SEPARATORS " ,\t"

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            " _.:,/+-=*%@";

static bool monitor_is(const char *list, const char *word)
{
    const char *from = list + strspn(list, SEPARATORS);
    size_t len = strcspn(from, SEPARATORS);
    return len == strlen(word) && memcmp(from, word, len) == 0 &&
           from[len + strspn(from + len, SEPARATORS)] == '\0';
}

static bool monitor_has_word(const char *list, const char *word, size_t len)
{
    for (const char *at = list; *(at += strspn(at, SEPARATORS)) != '\0';) {
        size_t n = strcspn(at, SEPARATORS);
        if (n == len && memcmp(at, word, n) == 0)
            return true;
        at += n;
    }
    return false;
}

/*
 * `list` is that of [target] monitor. A command of the list is plain words: without characters that
 * some server takes for a second command, a variable or a quotation. "all" admits any text.
 */
static bool remote_monitor_admits(const char *list, const char *text)
{
    size_t blanks = strspn(text, " ");
    size_t word = strcspn(text + blanks, " ");
    if (monitor_is(list, "all"))
        return true;
    if (monitor_is(list, "none") || word == 0 || text[strspn(text, plain)] != '\0')
        return false;
    return monitor_has_word(list, text + blanks, word);
}

/* Why not. */
static void remote_monitor_refuse(const char *list, const char *text, const struct console *c)
{
    text += strspn(text, " ");
    int word = (int)strcspn(text, " ");
    if (monitor_is(list, "none"))
        console_print(c, "no command of btraced ('monitor help' lists them), and none is passed to "
                         "the target's own GDB server: [target] monitor = none\n");
    else if (monitor_has_word(list, text, (size_t)word))
        console_print(c,
                      "to the target's own GDB server goes '%.*s' with plain words only: "
                      "letters, digits, _ . : , / + - = * %% @\n",
                      word, text);
    else
        console_print(c,
                      "'%.*s' is no command of btraced ('monitor help' lists them), and is not "
                      "passed to the target's own GDB server; [target] monitor allows: %s\n",
                      word < 80 ? word : 80, text, list);
}

/* The line of `monitor help`. */
static void remote_monitor_help(const char *list, const struct console *c)
{
    if (monitor_is(list, "none"))
        console_print(c, "nothing else goes to the target's own GDB server\n");
    else if (monitor_is(list, "all"))
        console_print(c, "everything else goes to the target's own GDB server\n");
    else
        console_print(c, "to the target's own GDB server go: %s\n", list);
}

static int cmd_status(const struct live_line *q)
{
    static const char *const drains[] = {
        [LIVE_DRAIN_NONE] = "the core has not stopped yet",
        [LIVE_DRAIN_DONE] = "complete up to the halt",
        [LIVE_DRAIN_TIMEOUT] = "NOT complete: the trace did not arrive in time",
        [LIVE_DRAIN_SILENT] = "taken as complete: the board did not say how much there is",
    };
    struct live *l = q->live;
    char apart[256];
    live_summary(l, false, q->c->print, q->c->to);
    if (!l->pipeline)
        return BT_OK;
    if (l->drain == LIVE_DRAIN_APART)
        live_join_describe(l, apart, sizeof apart);
    console_print(q->c, "last run      %s\n",
                  l->drain == LIVE_DRAIN_APART ? apart : drains[l->drain]);
    if (l->tracing != LIVE_TRACING_ON)
        console_print(q->c, "tracing       off by command\n");
    if (!q->core)
        return BT_OK;
    console_print(q->c, "core          %s, traced by %s\n", q->core->config->name,
                  q->core->config->source_device.type);
    pipeline_lock(l->pipeline);
    status_report_history(q->c, live_history(l, (int)(q->core - l->cores)));
    pipeline_unlock(l->pipeline);
    return BT_OK;
}

/* The core of a question about its history; NULL: said already that there is none. */
static struct live_core *core_of_question(const struct live_line *q)
{
    if (!q->core)
        console_print(q->c, "this core has no trace unit in the board file\n");
    return q->core;
}

/* A question about the history of the selected thread's core. */
static int ask_live_history(const struct live_line *q,
                            struct call_job *(*begin)(const struct call_query *query,
                                                      const char *text, const struct console *c))
{
    struct live *l = q->live;
    struct live_core *k = core_of_question(q);
    if (!k)
        return BT_OK;
    int core = (int)(k - l->cores);
    pipeline_lock(l->pipeline);
    const struct call_query query = {.history = live_history(l, core),
                                     .image = &k->image,
                                     .elf = &k->elf,
                                     .elf_count = k->elf ? 1 : 0,
                                     .m_profile = live_is_m_profile(k),
                                     .end = reverse_motion_position(&q->client->motion, q->thread)};
    struct call_job *job = begin(&query, q->rest, q->c);
    pipeline_unlock(l->pipeline);
    if (!job)
        return BT_OK;
    live_question_begin(q->client, job, core, query.history);
    return TARGET_PENDING;
}

static int cmd_gaps(const struct live_line *q)
{
    struct live *l = q->live;
    const struct live_core *k = core_of_question(q);
    if (!k)
        return BT_OK;
    pipeline_lock(l->pipeline);
    status_report_gaps(q->c, live_history(l, (int)(k - l->cores)));
    pipeline_unlock(l->pipeline);
    return BT_OK;
}

static int cmd_history(const struct live_line *q)
{
    return ask_live_history(q, call_history_begin);
}

static int ask_counts(const struct live_line *q, enum live_counts_kind kind, const char *name)
{
    int code = live_counts_ask(q->client, kind, name, q->c);
    if (code == TARGET_PENDING)
        live_questions_begin(q->live);
    return code;
}

static int cmd_count(const struct live_line *q, enum live_counts_kind kind)
{
    char name[300];
    if (strcmp(q->rest, "start") == 0)
        live_counts_start(q->live, kind, q->c);
    else if (strcmp(q->rest, "stop") == 0)
        live_counts_stop(q->live, kind, q->c);
    else if (!*q->rest)
        return ask_counts(q, kind, "");
    else if (console_rest(q->rest, "write", name, sizeof name) && *name)
        return ask_counts(q, kind, name);
    else
        console_print(q->c, "start, stop, write FILE, or nothing: text; not '%s'\n", q->rest);
    return BT_OK;
}

static int cmd_coverage(const struct live_line *q)
{
    return cmd_count(q, LIVE_COVERAGE);
}

static int cmd_profile(const struct live_line *q)
{
    return cmd_count(q, LIVE_PROFILE);
}

static int cmd_when(const struct live_line *q)
{
    return ask_live_history(q, call_when_begin);
}

/* What ran since tracing was switched off is missing at this place. */
static void add_trace_hole(struct live_core *c, struct history *h)
{
    struct history_tail tail;
    if (c->hole_count == LIVE_HOLES)
        memmove(c->holes, c->holes + 1, --c->hole_count * sizeof *c->holes);
    history_tail(h, &tail);
    c->holes[c->hole_count++] =
        (struct btrace_hole){history_end(h), history_end(h) + tail.instructions};
}

static void tracing_is_on(struct live *l)
{
    bool missed = l->tracing == LIVE_TRACING_MISSED && l->pipeline;
    l->tracing = LIVE_TRACING_ON;
    if (!missed)
        return;
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (l->cores[i].source >= 0)
            add_trace_hole(&l->cores[i], live_history(l, (int)i));
    pipeline_unlock(l->pipeline);
}

static void tracing_is_off(struct live *l)
{
    if (l->tracing == LIVE_TRACING_ON)
        l->tracing = LIVE_TRACING_OFF;
}

/* What was set by a command, or will be. */
static int look_at_units(struct live *l, int code)
{
    if (code == BT_OK && l->units.wanted)
        live_look_again(l);
    return code == TARGET_PENDING ? code : BT_OK;
}

static int cmd_on(const struct live_line *q)
{
    return look_at_units(q->live, live_trace_switch(q->client, true, q->c, tracing_is_on));
}

static int cmd_off(const struct live_line *q)
{
    return look_at_units(q->live, live_trace_switch(q->client, false, q->c, tracing_is_off));
}

static int cmd_filter(const struct live_line *q)
{
    if (!live_is_remote(q->live)) /* a probe's trace units belong to its thread, which answers */
        return BT_ERR_UNSUPPORTED;
    return look_at_units(q->live, live_trace_filter(q->client, q->rest, q->c));
}

/* What was told before says no more of what comes. */
static int cmd_set(const struct live_line *q)
{
    if (q->live->itm.open)
        itm_tap_forget(&q->live->itm.tap);
    if (!live_is_remote(q->live))
        return BT_ERR_UNSUPPORTED;
    if (live_trace_set(q->live, q->rest, q->c))
        live_look_again(q->live);
    return BT_OK;
}

static int cmd_console(const struct live_line *q)
{
    bool on = strcmp(q->rest, "on") == 0;
    if (!q->live->itm.open)
        console_print(q->c, "no ITM: no 'itm', 'dwt' or 'watch' in [trace] of %s\n",
                      q->live->config->path);
    else if (!on && strcmp(q->rest, "off") != 0)
        console_print(q->c, "monitor trace console on, or off, not '%s'\n", q->rest);
    else {
        live_itm_console(q->live, on);
        console_print(q->c, on ? "port 0 of the ITM goes to the console while the target runs\n"
                               : "port 0 of the ITM is not shown\n");
    }
    return BT_OK;
}

static int cmd_record_start(const struct live_line *q)
{
    struct message why;
    struct recorder_stats stats;
    char path[600];
    if (record_place(q->live->config, *q->rest ? q->rest : NULL, path, sizeof path, &why) ||
        live_record(q->live, path, &why)) {
        console_print(q->c, "not recording: %s\n", why.text);
        return BT_OK;
    }
    recorder_stats(q->live->recorder, &stats);
    console_print(q->c, "recording to %s\n", stats.folder);
    return BT_OK;
}

static int cmd_record_stop(const struct live_line *q)
{
    struct recorder_stats stats;
    if (!q->live->recorder) {
        console_print(q->c, "nothing is being recorded\n");
        return BT_OK;
    }
    recorder_stats(q->live->recorder, &stats);
    int error = live_record_stop(q->live);
    if (error)
        console_print(q->c, "%s: %s\n", stats.folder, stats.error ? stats.why : bt_strerror(error));
    else
        console_print(q->c, "%s: %" PRIu64 " bytes of trace; replay it with: btraced replay %s\n",
                      stats.folder, stats.bytes + stats.waiting, stats.folder);
    return BT_OK;
}

static void on_target_reset(void *ctx, const struct target_answer *answer)
{
    (void)answer;
    live_was_reset(ctx);
}

int live_restart(struct live *l)
{
    if (!l->config->reset[0] || !live_is_remote(l))
        return BT_ERR_UNSUPPORTED;
    return live_command(l, l->config->reset, on_target_reset);
}

static int cmd_reset(const struct live_line *q)
{
    struct live *l = q->live;
    bool run = strcmp(q->rest, "run") == 0;
    if (!l->config->reset[0])
        return BT_ERR_UNSUPPORTED;
    if (*q->rest && !run && strcmp(q->rest, "halt") != 0 && strcmp(q->rest, "init") != 0) {
        console_print(q->c, "monitor reset, reset halt, or reset run, not '%s'\n", q->rest);
        return BT_OK;
    }
    if (!live_is_remote(l)) { /* it says itself whether it was reset, when its answer comes */
        l->run_after = run && !target_is_running(l->target);
        return BT_ERR_UNSUPPORTED;
    }
    if (live_restart(l) != BT_OK) {
        console_print(q->c, "the target's GDB server cannot be asked now\n");
        return BT_OK;
    }
    l->run_after = run;
    console_print(q->c, run ? "reset; the target runs until GDB asks for something\n"
                            : "reset; the target is halted\n");
    return BT_OK;
}

static int cmd_version(const struct live_line *q)
{
    console_print(q->c, "btraced " BTRACED_VERSION "\n");
    return BT_OK;
}

static int cmd_numbers(const struct live_line *q)
{
    live_status_report(q->live, q->c);
    return BT_OK;
}

static int cmd_reload(const struct live_line *q)
{
    if (!q->live->reload)
        return BT_ERR_UNSUPPORTED;
    q->live->reload(q->live->ctx, q->c);
    return BT_OK;
}

static int cmd_tasks(const struct live_line *q)
{
    int code = contexts_command(&q->client->motion, q->thread, q->rest, q->c);
    if (code == BT_ERR_UNSUPPORTED)
        live_tasks_command(q->client, q->thread, q->rest, q->c);
    return code == TARGET_PENDING ? code : BT_OK;
}

static int cmd_help(const struct live_line *q);

static const struct {
    const char *name;
    int (*run)(const struct live_line *q);
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
    {"trace set", cmd_set, true, "itm PORTS|dwt EVENTS|watch VARIABLES: what the ITM tells"},
    {"trace console", cmd_console, true, "on|off: what port 0 of the ITM prints, while it runs"},
    {"history", cmd_history, false, "[N]: the last N calls, indented by depth, exceptions marked"},
    {"when", cmd_when, false, "FUNCTION|0xADDRESS: where it ran last"},
    {"coverage", cmd_coverage, true,
     "[start|stop|write FILE]: lines that ran; LCOV below [record] dir"},
    {"profile", cmd_profile, true, "[start|stop|write FILE]: where instructions went; callgrind"},
    {"tasks", cmd_tasks, false,
     "[history [N]|previous|next]: tasks of the real-time kernel; which ran when"},
    {"record start", cmd_record_start, true, "[NAME]: write the raw trace to disk as it comes"},
    {"record stop", cmd_record_stop, true, "end that; the folder can be replayed"},
    {"reset", cmd_reset, true, "[halt|run]: reset the target; without run it stays halted"},
    {"status", cmd_numbers, false, "target, clients, throughput, ring, history, gaps, recording"},
    {"clients", live_list_clients, false, "who is connected, and who is in control"},
    {"control", live_take_free, false, "take control, when nobody has it"},
    {"take-control", live_take_control, false, "take control from whoever has it"},
    {"kick", live_kick, false, "N: end the session of client N"},
    {"release", live_give_up, true, "give control away, and look on"},
    {"reload", cmd_reload, true, "read the board file again; says what holds from now on"},
    {"version", cmd_version, false, "version of the server"},
    {"help", cmd_help, false, "this list"},
};

/* The board's own commands are listed as well: an error here hands the text on to it. */
static int cmd_help(const struct live_line *q)
{
    const struct live *l = q->live;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].run != cmd_reset || l->config->reset[0])
            console_print(q->c, "monitor %-14s %s\n", commands[i].name, commands[i].help);
    reverse_monitor_help(q->c->print, q->c->to);
    if (l->probe)
        probe_thread_help(l->config, q->c->print, q->c->to);
    else
        remote_monitor_help(l->config->monitor, q->c);
    return BT_OK;
}

static int run_live_command(size_t i, const struct live_line *q)
{
    bool others = commands[i].run == live_kick || commands[i].run == live_take_control;
    bool does = commands[i].control && !gdb_session_observes(q->client->session);
    char text[340];
    if (does || (others && live_may_control(q->client))) {
        snprintf(text, sizeof text, "%s %s", commands[i].name, q->rest);
        live_audit(q->client, "monitor", text);
    }
    if (!commands[i].control || does)
        return commands[i].run(q);
    console_print(q->c, "you look on: 'monitor %s' is for the client in control\n",
                  commands[i].name);
    return BT_OK;
}

/* "monitor trace" alone, or with a word that is none of ours. Another GDB server may have commands
 * that begin so; QEMU and a probe target have none. */
static bool help_live_group(const struct live *l, const char *text, const struct console *c)
{
    static const char *const groups[] = {"trace", "record"};
    char rest[300];
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        size_t n = strlen(groups[i]);
        if (!console_rest(text, groups[i], rest, sizeof rest))
            continue;
        if (*rest && live_is_remote(l) && l->config->control.kind == ADDRESS_NONE)
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

int live_monitor(void *client, int core, const char *text, target_print_fn print, void *to)
{
    struct live_client *k = client;
    const struct console c = {print, to};
    char rest[300] = "";
    const struct live_line q = {k, k->live, core, live_traced_core(k->live, core), rest, &c};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (console_rest(text, commands[i].name, rest, sizeof rest))
            return run_live_command(i, &q);
    if (gdb_session_is_asking(k->session)) {
        console_print(&c, "you may ask: trace status, trace gaps, history, when, status, clients, "
                          "version\n");
        return BT_OK;
    }
    if (help_live_group(k->live, text, &c))
        return BT_OK;
    if (text[strspn(text, " ")] == '\0')
        return cmd_help(&q);
    int error = reverse_monitor(&k->motion, core, text, print, to);
    if (error == BT_ERR_UNSUPPORTED && !gdb_session_observes(k->session) &&
        !gdb_packet_only_shows(text))
        live_audit(k, "monitor", text);
    if (error != BT_ERR_UNSUPPORTED || !live_is_remote(k->live) || gdb_session_observes(k->session))
        return error;
    if (!remote_monitor_admits(k->live->config->monitor, text)) {
        remote_monitor_refuse(k->live->config->monitor, text, &c);
        return BT_OK;
    }
    if (!reverse_motion_any(&k->motion) || gdb_packet_only_shows(text))
        return error;
    /* It may change anything, and GDB would go on as if it were still at a replay position. */
    console_print(&c,
                  "no command of btraced ('monitor help' lists them), and for the target's own GDB "
                  "server not at a replay position: 'monitor goto end' and 'stepi' first\n");
    return BT_OK;
}
