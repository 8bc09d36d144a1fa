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

static int cmd_status(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    const struct replay_core *one = &k->replay->cores[core];
    (void)rest;
    if (!one->trace) {
        console_print(c, "%s: no trace in this recording\n", one->name);
        return BT_OK;
    }
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

static int cmd_gaps(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    const struct replay_core *one = &k->replay->cores[core];
    (void)rest;
    if (one->trace)
        status_report_gaps(c, one->trace->history);
    else
        console_print(c, "%s: no trace in this recording\n", one->name);
    return BT_OK;
}

static bool replay_query(const struct replay_client *k, int core, struct call_query *q,
                         const struct console *c)
{
    const struct replay *r = k->replay;
    const struct replay_core *one = &r->cores[core];
    *q = (struct call_query){.history = one->trace ? one->trace->history : NULL,
                             .image = one->image,
                             .elf = r->recording.elf,
                             .elf_count = r->recording.elf_count,
                             .m_profile = one->profile == TARGET_PROFILE_M,
                             .end = reverse_motion_position(&k->reverse, core)};
    if (!one->trace)
        console_print(c, "%s: no trace in this recording\n", one->name);
    return one->trace;
}

/* In slices; where nobody calls for them, at once. */
static int answer_question(struct replay_client *k, struct call_job *job)
{
    const struct replay *r = k->replay;
    if (!job)
        return BT_OK;
    if (r->io.later) {
        k->question = job;
        r->io.later(r->io.ctx);
        return TARGET_PENDING;
    }
    while (!call_job_work(job))
        continue;
    call_job_free(job);
    return BT_OK;
}

static int cmd_history(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    struct call_query q;
    return replay_query(k, core, &q, c) ? answer_question(k, call_history_begin(&q, rest, c))
                                        : BT_OK;
}

static int cmd_when(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    struct call_query q;
    return replay_query(k, core, &q, c) ? answer_question(k, call_when_begin(&q, rest, c)) : BT_OK;
}

static int cmd_version(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    (void)k, (void)core, (void)rest;
    console_print(c, "btraced " BTRACED_VERSION "\n");
    return BT_OK;
}

static int cmd_numbers(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    (void)core, (void)rest;
    report_numbers(k->replay, c);
    return BT_OK;
}

static int cmd_clients(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    (void)core, (void)rest;
    list_replay_clients(k->replay, k, c);
    return BT_OK;
}

static int cmd_reload(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    const struct replay *r = k->replay;
    (void)core, (void)rest;
    if (r->io.reload)
        r->io.reload(r->io.ctx, c);
    else
        console_print(c, "no file to read again: --config names one\n");
    return BT_OK;
}

static int cmd_control(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    (void)k, (void)core, (void)rest;
    console_print(c,
                  "a recording has nothing to control: each client moves through it by itself\n");
    return BT_OK;
}

/* What IDEs send on launch, whatever the target is. */
static int cmd_nothing(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    (void)k, (void)core, (void)rest;
    console_print(c, "nothing to do: this is a recording\n");
    return BT_OK;
}

static int cmd_tasks(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    struct tasks *t = k->replay->tasks;
    struct gdb_tasks tasks;
    int code = contexts_command(&k->reverse, core, rest, c);
    if (code != BT_ERR_UNSUPPORTED)
        return code;
    if (tasks_has(t) && tasks_at(t, &k->target, &tasks) == BT_OK)
        tasks_report(t, c);
    else
        console_print(c, "the program has no kernel whose tasks are known\n");
    return BT_OK;
}

static int cmd_help(struct replay_client *k, int core, const char *rest, const struct console *c);

static const struct {
    const char *name;
    int (*run)(struct replay_client *k, int core, const char *rest, const struct console *c);
    const char *help; /* NULL: accepted, not advertised */
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
    {"control", cmd_control, NULL},
    {"release", cmd_control, NULL},
    {"version", cmd_version, "version of the server"},
    {"halt", cmd_nothing, NULL},
    {"reset", cmd_nothing, NULL},
    {"reset halt", cmd_nothing, NULL},
    {"reset init", cmd_nothing, NULL},
    {"reset run", cmd_nothing, NULL},
    {"gdb_sync", cmd_nothing, NULL},
};

static int cmd_help(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    (void)k, (void)core, (void)rest;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].help)
            console_print(c, "monitor %-14s %s\n", commands[i].name, commands[i].help);
    reverse_monitor_help(c->print, c->to);
    return BT_OK;
}

int replay_monitor(void *ctx, int core, const char *text, target_print_fn print, void *to)
{
    struct replay_client *k = ctx;
    const struct console c = {print, to};
    char rest[300];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (console_rest(text, commands[i].name, rest, sizeof rest))
            return commands[i].run(k, core, rest, &c);
    return reverse_monitor(&k->reverse, core, text, print, to);
}
