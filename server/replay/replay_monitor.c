/* SPDX-License-Identifier: BSD-3-Clause */
/* `monitor` commands on a recording, and its numbers for the page of metrics. */
#include "server/history/call_history.h"
#include "server/monitor/status.h"
#include "server/replay/replay.h"
#include "server/tasks/contexts.h"

#include <inttypes.h>

static void gather_replay_clients(const struct replay *r, struct status_clients *s)
{
    status_of_connections(s, r->connections);
    for (const struct replay_client *k = r->clients; k; k = k->next)
        status_add_client(s, k->client);
}

static unsigned gather_replay_cores(const struct replay *r, struct status_core *cores)
{
    unsigned count = 0;
    for (size_t i = 0; i < r->core_count; i++)
        if (r->cores[i].trace)
            status_of_core(&cores[count++], r->cores[i].name, r->cores[i].trace->history);
    return count;
}

static uint64_t replay_up_s(const struct replay *r)
{
    return (uv_hrtime() - r->started) / 1000000000;
}

static void report_numbers(const struct replay *r, const struct console *c)
{
    struct status_clients clients;
    struct status_core cores[TARGET_CORES_MAX];
    unsigned count = gather_replay_cores(r, cores);
    gather_replay_clients(r, &clients);
    console_print(c, "target        a recording; up %" PRIu64 " s\n", replay_up_s(r));
    status_report_clients(&clients, r->connections->limits->clients, c);
    for (unsigned i = 0; i < count; i++)
        status_report_core(&cores[i], c);
}

void replay_status_page(const struct replay *r, struct text_buf *out)
{
    struct status_clients clients;
    struct status_core cores[TARGET_CORES_MAX];
    unsigned count = gather_replay_cores(r, cores);
    gather_replay_clients(r, &clients);
    status_number(out, "up_seconds", "gauge", "Seconds since the start.", replay_up_s(r));
    status_page_clients(&clients, out);
    status_page_cores(cores, count, out);
}

/* Nobody is in control: each moves through the recording by itself. */
static const char *client_place(const struct replay_client *k)
{
    for (size_t i = 0; i < k->replay->core_count; i++)
        if (reverse_motion_active(&k->reverse, (int)i))
            return "replaying";
    return "at the end";
}

static void list_replay_clients(const struct replay *r, const struct replay_client *me,
                                const struct console *c)
{
    uint64_t now = uv_now(r->connections->loop);
    for (const struct replay_client *k = r->clients; k; k = k->next)
        status_report_client(k->client, k == me, client_place(k), now, c);
}

/* A line of `monitor`, behind the command's name. */
struct replay_line {
    struct replay_client *client;
    int core;
    const char *rest;
    const struct console *c;
};

/* The core of a question; NULL: said already that it has no trace. */
static const struct replay_core *core_of_line(const struct replay_line *q)
{
    const struct replay_core *one = &q->client->replay->cores[q->core];
    if (!one->trace)
        console_print(q->c, "%s: no trace in this recording\n", one->name);
    return one->trace ? one : NULL;
}

static int cmd_status(const struct replay_line *q)
{
    const struct console *c = q->c;
    const struct replay_core *one = core_of_line(q);
    if (!one)
        return BT_OK;
    const struct history *h = one->trace->history;
    const struct recording_pass *pass = &one->trace->pass;
    console_print(c, "core          %s, traced by %s (ID 0x%02x)\n", one->name,
                  one->trace->source->name, one->trace->source->trace_id);
    if (pass->formatted)
        console_print(c,
                      "buffer        %" PRIu64 " bytes, %" PRIu64 " frames, alignment lost %" PRIu64
                      " times\n",
                      pass->raw_bytes, pass->formatter.frames, pass->formatter.losses);
    else
        console_print(c, "buffer        %" PRIu64 " bytes, one source without frames\n",
                      pass->raw_bytes);
    status_report_history(c, h);
    console_print(c, "halted at     0x%08" PRIx64 "\n", one->regs.value[TARGET_REG_PC]);
    return BT_OK;
}

static int cmd_gaps(const struct replay_line *q)
{
    const struct replay_core *one = core_of_line(q);
    if (one)
        status_report_gaps(q->c, one->trace->history);
    return BT_OK;
}

/* A question about the history of the core: in slices; where nobody calls for them, at once. */
static int ask_history(const struct replay_line *q,
                       struct call_job *(*begin)(const struct call_query *query, const char *text,
                                                 const struct console *c))
{
    struct replay_client *k = q->client;
    const struct replay *r = k->replay;
    const struct replay_core *one = core_of_line(q);
    if (!one)
        return BT_OK;
    const struct call_query query = {.history = one->trace->history,
                                     .image = one->image,
                                     .elf = r->recording.elf,
                                     .elf_count = r->recording.elf_count,
                                     .m_profile = one->profile == TARGET_PROFILE_M,
                                     .end = reverse_motion_position(&k->reverse, q->core)};
    struct call_job *job = begin(&query, q->rest, q->c);
    if (job && r->io.later) {
        k->question = job;
        r->io.later(r->io.ctx);
        return TARGET_PENDING;
    }
    while (job && !call_job_work(job))
        continue;
    call_job_free(job);
    return BT_OK;
}

static int cmd_history(const struct replay_line *q)
{
    return ask_history(q, call_history_begin);
}

static int cmd_when(const struct replay_line *q)
{
    return ask_history(q, call_when_begin);
}

static int cmd_version(const struct replay_line *q)
{
    console_print(q->c, "btraced " BTRACED_VERSION "\n");
    return BT_OK;
}

static int cmd_numbers(const struct replay_line *q)
{
    report_numbers(q->client->replay, q->c);
    return BT_OK;
}

static int cmd_clients(const struct replay_line *q)
{
    list_replay_clients(q->client->replay, q->client, q->c);
    return BT_OK;
}

static int cmd_reload(const struct replay_line *q)
{
    const struct replay *r = q->client->replay;
    if (r->io.reload)
        r->io.reload(r->io.ctx, q->c);
    else
        console_print(q->c, "no file to read again: --config names one\n");
    return BT_OK;
}

static int cmd_tasks(const struct replay_line *q)
{
    struct replay_client *k = q->client;
    struct tasks *t = k->replay->tasks;
    struct gdb_tasks tasks;
    int code = contexts_command(&k->reverse, q->core, q->rest, q->c);
    if (code != BT_ERR_UNSUPPORTED)
        return code;
    if (tasks_has(t) && tasks_at(t, &k->target, &tasks) == BT_OK)
        tasks_report(t, q->c);
    else
        console_print(q->c, "the program has no kernel whose tasks are known\n");
    return BT_OK;
}

static int cmd_help(const struct replay_line *q);

static const char no_control[] =
    "a recording has nothing to control: each client moves through it by itself";
/* Of what IDEs send on launch, whatever the target is. */
static const char no_target[] = "nothing to do: this is a recording";

static const struct {
    const char *name;
    int (*run)(const struct replay_line *q); /* NULL: it is not listed, and says its `help` */
    const char *help;
} commands[] = {
    {"help", cmd_help, "this list"},
    {"trace status", cmd_status, "what was decoded for the selected thread's core"},
    {"trace gaps", cmd_gaps, "where trace is missing, and why"},
    {"gaps", cmd_gaps, "the same"},
    {"history", cmd_history, "[N]: the last N calls, indented by depth, exceptions marked"},
    {"when", cmd_when, "FUNCTION|0xADDRESS: where it ran last"},
    {"tasks", cmd_tasks,
     "tasks of the real-time kernel at the end; of context IDs history [N]|previous|next"},
    {"status", cmd_numbers, "clients, history, gaps"},
    {"clients", cmd_clients, "who is connected"},
    {"reload", cmd_reload, "read the file of --config again; says what holds from now on"},
    {"control", NULL, no_control},
    {"release", NULL, no_control},
    {"version", cmd_version, "version of the server"},
    {"halt", NULL, no_target},
    {"reset", NULL, no_target},
    {"reset halt", NULL, no_target},
    {"reset init", NULL, no_target},
    {"reset run", NULL, no_target},
    {"gdb_sync", NULL, no_target},
};

static int cmd_help(const struct replay_line *q)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].run)
            console_print(q->c, "monitor %-14s %s\n", commands[i].name, commands[i].help);
    reverse_monitor_help(q->c->print, q->c->to);
    return BT_OK;
}

int replay_monitor(void *ctx, int core, const char *text, target_print_fn print, void *to)
{
    struct replay_client *k = ctx;
    const struct console c = {print, to};
    char rest[300];
    const struct replay_line q = {k, core, rest, &c};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!console_rest(text, commands[i].name, rest, sizeof rest))
            continue;
        if (commands[i].run)
            return commands[i].run(&q);
        console_print(&c, "%s\n", commands[i].help);
        return BT_OK;
    }
    return reverse_monitor(&k->reverse, core, text, print, to);
}
