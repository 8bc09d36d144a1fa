/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the clients of a live target ask for: who of them is in control, history and motions through
 * it, and `monitor` commands. The rest is the target's own server's.
 */
#include "live_internal.h"
#include "remote_monitor.h"

#include "protocol/rsp/gdb_packet.h"
#include "server/base/log.h"
#include "server/monitor/status.h"
#include "server/recording/record_place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void live_client_free(struct live_client *k)
{
    if (!k)
        return;
    reverse_motion_release(&k->motion);
    live_question_forget(k);
    free(k);
}

static void audit_client(const struct live_client *k, const char *what, const char *detail)
{
    audit_write(k->live->audit, k->client->number, k->client->connection->peer, what, "%s", detail);
}

static void log_control(const struct live_client *k)
{
    audit_client(k, "control", "in control");
    log_write(LOG_AT_INFO, "btraced: client %u (%s) is in control\n", k->client->number,
              k->client->connection->peer);
}

static void give_control(struct live *l, struct live_client *k)
{
    l->control = k;
    if (!k)
        return;
    gdb_session_take_control(k->session);
    log_control(k);
}

static bool may_control(const struct live_client *k)
{
    return k->client->connection->role == ROLE_CONTROL;
}

/* The one that has waited longest; only a queue passes control on by itself. */
static void pass_control(struct live *l)
{
    struct live_client *next = l->clients;
    while (next && (next == l->control || !may_control(next)))
        next = next->next;
    give_control(l, l->config->others == CONFIG_OTHERS_QUEUE ? next : NULL);
}

static const char *client_role(const struct live_client *k)
{
    if (k == k->live->control)
        return "in control";
    if (gdb_session_is_asking(k->session))
        return "asks";
    if (!may_control(k))
        return "looks on, by [access]";
    return k->live->config->others == CONFIG_OTHERS_QUEUE ? "looks on, waits for control"
                                                          : "looks on";
}

static void unlink_live_client(struct live_client *k)
{
    struct live_client **at = &k->live->clients;
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
}

void live_granted(struct live *l, struct gdb_client *c)
{
    struct live_client *k = c->served;
    if (c->connection->role == ROLE_QUERY)
        gdb_session_only_asks(k->session);
    if (k != l->control || may_control(k))
        return;
    gdb_session_lose_control(k->session, "[access] does not let you control the target any more\n");
    log_write(LOG_AT_INFO, "btraced: client %u (%s) looks on, by [access]\n", c->number,
              c->connection->peer);
    pass_control(l);
}

void live_leave(struct live *l, struct gdb_client *c)
{
    struct live_client *k = c->served;
    if (k == l->control)
        audit_client(k, "control", "left");
    live_question_forget(k);
    if (k == l->control && l->phase < LIVE_LEAVING)
        pass_control(l);
    if (k == l->control)
        l->control = NULL;
    unlink_live_client(k);
}

/* One line of `monitor`. */
struct live_line {
    struct live_client *client;
    struct live *live;
    int thread;
    struct live_core *core; /* of the thread; NULL: it has no trace */
    const char *rest;       /* behind the command's name */
    const struct console *c;
};

/* The core of a thread; NULL: it has no trace. */
static struct live_core *traced_core(struct live *l, int thread)
{
    struct live_core *c = live_core_of(l, thread);
    return c && c->source >= 0 ? c : NULL;
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

static bool switch_tracing(struct live *l, bool on, const struct console *c)
{
    bool done = live_trace_switch(l, on, c);
    if (done && l->units.wanted)
        live_look_again(l);
    return done;
}

static int cmd_on(const struct live_line *q)
{
    struct live *l = q->live;
    if (!switch_tracing(l, true, q->c))
        return BT_OK;
    if (l->tracing == LIVE_TRACING_MISSED && l->pipeline) {
        pipeline_lock(l->pipeline);
        for (unsigned i = 0; i < l->config->core_count; i++)
            if (l->cores[i].source >= 0)
                add_trace_hole(&l->cores[i], live_history(l, (int)i));
        pipeline_unlock(l->pipeline);
    }
    l->tracing = LIVE_TRACING_ON;
    return BT_OK;
}

static int cmd_off(const struct live_line *q)
{
    if (switch_tracing(q->live, false, q->c) && q->live->tracing == LIVE_TRACING_ON)
        q->live->tracing = LIVE_TRACING_OFF;
    return BT_OK;
}

static int cmd_filter(const struct live_line *q)
{
    if (!live_is_remote(q->live)) /* a probe's trace units belong to its thread, which answers */
        return BT_ERR_UNSUPPORTED;
    if (live_trace_filter(q->live, q->rest, q->c))
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

static int restart_target(struct live *l)
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
    if (restart_target(l) != BT_OK) {
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

static int cmd_clients(const struct live_line *q)
{
    uint64_t now = uv_now(q->live->loop);
    for (const struct live_client *k = q->live->clients; k; k = k->next)
        status_report_client(k->client, k == q->client, client_role(k), now, q->c);
    return BT_OK;
}

static int cmd_control(const struct live_line *q)
{
    const struct live_client *has = q->live->control;
    if (has == q->client) {
        console_print(q->c, "you are in control already\n");
    } else if (!may_control(q->client)) {
        console_print(q->c, "you look on: [access] does not let you control the target\n");
    } else if (has) {
        console_print(q->c, "client %u (%.80s) is in control\n", has->client->number,
                      has->client->connection->peer);
    } else {
        give_control(q->live, q->client);
        console_print(q->c, "you are in control of the target now\n");
    }
    return BT_OK;
}

/* From whoever has it, who goes on looking on. */
static int cmd_take_control(const struct live_line *q)
{
    struct live *l = q->live;
    struct live_client *from = l->control;
    const struct gdb_client *me = q->client->client;
    char text[CONNECTION_PEER_MAX + 80];
    if (!from || from == q->client || !may_control(q->client))
        return cmd_control(q);
    snprintf(text, sizeof text, "client %u (%s) has taken control of the target; you look on\n",
             me->number, me->connection->peer);
    gdb_session_lose_control(from->session, text);
    log_write(LOG_AT_WARNING, "btraced: client %u (%s) takes control from client %u (%s)\n",
              me->number, me->connection->peer, from->client->number,
              from->client->connection->peer);
    give_control(l, q->client);
    console_print(q->c, "you are in control of the target now; client %u looks on\n",
                  from->client->number);
    return BT_OK;
}

/* Any connection, also one that was refused and is still there. */
static int cmd_kick(const struct live_line *q)
{
    const struct gdb_client *me = q->client->client;
    char *end, text[CONNECTION_PEER_MAX + 80];
    unsigned long number = strtoul(q->rest, &end, 10);
    struct gdb_client *k = q->live->connections->first;
    while (k && k->number != number)
        k = k->next;
    if (!may_control(q->client)) {
        console_print(q->c, "you look on: [access] does not let you end the session of others\n");
    } else if (end == q->rest || *end || number == 0 || !k) {
        console_print(q->c,
                      "no such client: 'monitor kick N' wants a number of 'monitor clients'\n");
    } else if (k == me) {
        console_print(q->c, "that is you: 'disconnect' ends your session\n");
    } else {
        snprintf(text, sizeof text, "client %u (%s) has ended your session", me->number,
                 me->connection->peer);
        console_print(q->c, "client %lu is disconnected\n", number);
        gdb_client_end(k, text);
    }
    return BT_OK;
}

/* GDB keeps what it shows: the target has not run since. */
static int cmd_release(const struct live_line *q)
{
    const struct gdb_client *c = q->client->client;
    gdb_session_give_control(q->client->session);
    pass_control(q->live);
    log_write(LOG_AT_INFO, "btraced: client %u (%s) has given control away\n", c->number,
              c->connection->peer);
    if (q->live->control)
        console_print(q->c, "you give control to client %u; you look on\n",
                      q->live->control->client->number);
    else
        console_print(q->c, "nobody is in control now; you look on. 'monitor control' takes it\n");
    return BT_OK;
}

static int cmd_tasks(const struct live_line *q)
{
    live_tasks_command(q->client, q->thread, q->rest, q->c);
    return BT_OK;
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
    {"clients", cmd_clients, false, "who is connected, and who is in control"},
    {"control", cmd_control, false, "take control, when nobody has it"},
    {"take-control", cmd_take_control, false, "take control from whoever has it"},
    {"kick", cmd_kick, false, "N: end the session of client N"},
    {"release", cmd_release, true, "give control away, and look on"},
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
    bool others = commands[i].run == cmd_kick || commands[i].run == cmd_take_control;
    bool does = commands[i].control && !gdb_session_observes(q->client->session);
    char text[340];
    if (does || (others && may_control(q->client))) {
        snprintf(text, sizeof text, "%s %s", commands[i].name, q->rest);
        audit_client(q->client, "monitor", text);
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

static int op_monitor(void *ctx, int core, const char *text, target_print_fn print, void *to)
{
    struct live_client *k = ctx;
    const struct console c = {print, to};
    char rest[300] = "";
    const struct live_line q = {k, k->live, core, traced_core(k->live, core), rest, &c};
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
        audit_client(k, "monitor", text);
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

static bool op_is_replaying(void *ctx, int core)
{
    const struct live_client *k = ctx;
    return core < 0 ? reverse_motion_concerned(&k->motion)
                    : reverse_motion_active(&k->motion, core);
}

static void op_core_status(void *ctx, int core, char *text, size_t size)
{
    live_tasks_status(ctx, core, text, size);
}

static int op_read_regs(void *ctx, int core, struct target_regs *regs)
{
    struct live_client *k = ctx;
    return reverse_motion_regs(&k->motion, core, regs);
}

static size_t op_reverse_memory(void *ctx, int core, uint64_t address, void *bytes, size_t len)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    uint8_t now[GDB_PACKET_SIZE / 2];
    len = len < sizeof now ? len : sizeof now;
    memcpy(now, bytes, len);
    l->reverse.reply.bytes = now;
    l->reverse.reply.address = address;
    l->reverse.reply.length = len;
    size_t n = reverse_motion_memory(&k->motion, core, address, bytes, len);
    l->reverse.reply.bytes = NULL;
    k->misses[false].count = 0;
    return n;
}

static int op_resume(void *ctx, const struct target_resume *resume, struct target_stop *stop,
                     struct target_error *why)
{
    struct live_client *k = ctx;
    if (!reverse_motion_takes(&k->motion, resume))
        return GDB_PASS_ON;
    return reverse_motion_resume(&k->motion, resume, stop, why);
}

static int op_reverse(void *ctx, int core, bool step, struct target_stop *stop,
                      struct target_error *why)
{
    struct live_client *k = ctx;
    const struct live_core *c = live_core_of(k->live, core);
    if (c && live_is_a64(c)) {
        snprintf(why->text, sizeof why->text,
                 "values of AArch64 cannot be reconstructed: use 'record btrace' first");
        return BT_ERR_UNSUPPORTED;
    }
    return reverse_motion_back(&k->motion, core, step, stop, why);
}

static void op_interrupt(void *ctx)
{
    struct live_client *k = ctx;
    if (k->question.job)
        call_job_interrupt(k->question.job);
    else if (k->counting)
        live_counts_interrupt(k->counting);
    else
        reverse_motion_interrupt(&k->motion);
}

/* What the one in control has switched on is on for a GDB that comes later. */
static void set_recording(struct live_client *k, struct live_core *c, bool on)
{
    k->cores[c - k->live->cores].recording = on;
    if (!gdb_session_observes(k->session))
        c->recording = on;
}

static int op_btrace_enable(void *ctx, int core, struct target_error *why)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    struct live_core *c = traced_core(l, core);
    if (!c) {
        snprintf(why->text, sizeof why->text, "%s",
                 config_programs_trace(l->config)
                     ? "this core has no trace: 'monitor trace status' says why"
                     : "the board file names no trace unit for this core");
        return BT_ERR_UNSUPPORTED;
    }
    if (reverse_motion_active(&k->motion, core)) {
        snprintf(why->text, sizeof why->text,
                 "the core is at a replay position: 'monitor goto end' and 'stepi' first");
        return BT_ERR_UNSUPPORTED;
    }
    if (!k->cores[c - l->cores].recording)
        k->cores[c - l->cores].delivered = false;
    set_recording(k, c, true);
    return BT_OK;
}

static int op_btrace_disable(void *ctx, int core)
{
    struct live_client *k = ctx;
    struct live_core *c = live_core_of(k->live, core);
    if (c)
        set_recording(k, c, false);
    return BT_OK;
}

static int op_btrace_set_size(void *ctx, uint32_t size, struct target_error *why)
{
    (void)why;
    ((struct live_client *)ctx)->size = btrace_clamp_size(size);
    return BT_OK;
}

static int op_btrace_conf(void *ctx, int core, struct gdb_btrace_conf *conf)
{
    const struct live_client *k = ctx;
    const struct live_core *c = live_core_of(k->live, core);
    conf->recording = c && k->cores[c - k->live->cores].recording;
    conf->size = k->size;
    return BT_OK;
}

static int read_blocks(struct live_client *k, struct live_core *c, bool delta,
                       struct gdb_btrace_blocks *out)
{
    struct live *l = k->live;
    struct btrace_mark *given = &k->cores[c - l->cores].given;
    const struct btrace_mark *has = &k->cores[c - l->cores].has;
    struct btrace_view view;
    pipeline_lock(l->pipeline);
    live_view(l, c, k->size, &view);
    int error = delta ? btrace_delta(&view, has, out, given) : btrace_blocks(&view, out, given);
    pipeline_unlock(l->pipeline);
    return error;
}

/* Before the first read GDB has the PC of the start, and nothing to join the history to. */
static int op_btrace_read(void *ctx, int core, enum gdb_annex annex, struct gdb_btrace_blocks *out)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    struct live_core *c = traced_core(l, core);
    if (!c || !(c->regs.known >> TARGET_REG_PC & 1) || !k->cores[c - l->cores].recording)
        return BT_ERR_UNSUPPORTED;
    bool delivered = k->cores[c - l->cores].delivered, moved = k->cores[c - l->cores].moved;
    if (annex != GDB_ANNEX_ALL && delivered && !moved && k->cores[c - l->cores].stop == l->stops)
        return BT_OK;
    bool delta = annex == GDB_ANNEX_DELTA;
    if (delta && (!delivered || moved))
        return BT_ERR_RANGE;
    return read_blocks(k, c, delta, out);
}

static void op_btrace_delivered(void *ctx, int core, enum gdb_annex annex)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    const struct live_core *c = traced_core(l, core);
    if (!c)
        return;
    size_t i = (size_t)(c - l->cores);
    if (!k->cores[i].delivered || k->cores[i].moved || k->cores[i].stop != l->stops ||
        annex == GDB_ANNEX_ALL)
        k->cores[i].has = k->cores[i].given;
    k->cores[i].delivered = true;
    k->cores[i].moved = false;
    k->cores[i].stop = l->stops;
}

/* GDB's `run`: many GDB servers cannot start over by a packet of the protocol. */
static int op_restart(void *ctx, struct target_error *why)
{
    (void)why;
    return restart_target(((struct live_client *)ctx)->live);
}

static void op_changes(void *ctx, const struct target_request *r)
{
    const struct live_client *k = ctx;
    const char *what = r->kind == TARGET_WRITE_MEMORY  ? "memory"
                       : r->kind == TARGET_FLASH_WRITE ? "flash"
                       : r->kind == TARGET_FLASH_ERASE ? "flash-erase"
                                                       : NULL;
    char core[40];
    snprintf(core, sizeof core, "of core %d", r->core);
    if (what)
        audit_range(k->live->audit, k->client->number, k->client->connection->peer, what,
                    r->address, r->length);
    else if (r->kind == TARGET_WRITE_REGISTERS)
        audit_client(k, "registers", core);
    else if (r->kind == TARGET_RESET)
        audit_client(k, "reset", "by GDB");
}

static bool op_has_tasks(void *ctx)
{
    return tasks_has(((const struct live_client *)ctx)->live->tasks);
}

static int op_tasks(void *ctx, struct gdb_tasks *out)
{
    const struct live *l = ((const struct live_client *)ctx)->live;
    return tasks_at(l->tasks, l->target, out);
}

static void op_leave(void *ctx)
{
    reverse_motion_forget(&((struct live_client *)ctx)->motion);
}

static const struct gdb_host live_gdb_host = {
    .btrace_enable = op_btrace_enable,
    .btrace_disable = op_btrace_disable,
    .btrace_set_size = op_btrace_set_size,
    .btrace_conf = op_btrace_conf,
    .btrace_read = op_btrace_read,
    .btrace_delivered = op_btrace_delivered,
    .monitor = op_monitor,
    .is_replaying = op_is_replaying,
    .core_status = op_core_status,
    .read_regs = op_read_regs,
    .reverse_memory = op_reverse_memory,
    .resume = op_resume,
    .reverse = op_reverse,
    .interrupt = op_interrupt,
    .leave = op_leave,
    .restart = op_restart,
    .changes = op_changes,
    .has_tasks = op_has_tasks,
    .tasks = op_tasks,
};

static struct live_client *new_live_client(struct live *l, struct gdb_client *c)
{
    struct live_client *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    if (live_reverse_client(l, k) != BT_OK) {
        free(k);
        return NULL;
    }
    k->live = l;
    k->client = c;
    k->session = &c->session;
    k->size = BTRACE_DEFAULT_SIZE;
    for (unsigned i = 0; i < l->config->core_count; i++)
        k->cores[i].recording = l->cores[i].recording;
    struct live_client **at = &l->clients;
    while (*at)
        at = &(*at)->next;
    *at = k;
    return k;
}

static int open_session(struct live_client *k, enum gdb_role role, const char *greeting,
                        gdb_send_fn send, void *send_ctx)
{
    return gdb_session_init(k->session, k->live->target, &live_gdb_host, k, role, greeting, send,
                            send_ctx);
}

static int open_control(struct live_client *k, gdb_send_fn send, void *send_ctx)
{
    int error = open_session(k, GDB_CONTROLS, "", send, send_ctx);
    if (error)
        return error;
    k->live->control = k;
    log_control(k);
    return BT_OK;
}

static int open_observer(struct live_client *k, gdb_send_fn send, void *send_ctx)
{
    const struct live *l = k->live;
    char text[360], who[CONNECTION_PEER_MAX + 20] = "nobody";
    bool queued = l->config->others == CONFIG_OTHERS_QUEUE && may_control(k);
    if (l->control)
        snprintf(who, sizeof who, "client %u (%s)", l->control->client->number,
                 l->control->client->connection->peer);
    snprintf(text, sizeof text,
             "%s is in control of the target, you look on: registers, memory and "
             "history can be read while it is halted%s\n",
             who, queued ? "; you wait for control" : "");
    int error = open_session(k, GDB_OBSERVES, text, send, send_ctx);
    if (!error && k->client->connection->role == ROLE_QUERY)
        gdb_session_only_asks(k->session);
    if (!error)
        log_write(LOG_AT_INFO, "btraced: client %u (%s) looks on\n", k->client->number,
                  k->client->connection->peer);
    return error;
}

static int open_refused(struct live_client *k, gdb_send_fn send, void *send_ctx)
{
    const struct gdb_client *c = k->live->control->client;
    char text[CONNECTION_PEER_MAX + 120];
    int error = open_session(k, GDB_OBSERVES, "", send, send_ctx);
    if (error)
        return error;
    snprintf(text, sizeof text, "client %u (%s) is in control, and [gdb] others = refuse",
             c->number, c->connection->peer);
    gdb_session_refuse(k->session, text);
    return BT_OK;
}

int live_admit(struct live *l, struct gdb_client *c, gdb_send_fn send, void *send_ctx)
{
    int error;
    struct live_client *k = new_live_client(l, c);
    if (!k)
        return BT_ERR_NOMEM;
    if (!may_control(k))
        error = open_observer(k, send, send_ctx);
    else if (!l->control)
        error = open_control(k, send, send_ctx);
    else if (l->config->others == CONFIG_OTHERS_REFUSE)
        error = open_refused(k, send, send_ctx);
    else
        error = open_observer(k, send, send_ctx);
    c->served = error ? NULL : k;
    if (error) {
        unlink_live_client(k);
        live_client_free(k);
    }
    return error;
}
