/* SPDX-License-Identifier: BSD-3-Clause */
/* `monitor` commands on a recording. */
#include "server/history/call_history.h"
#include "server/monitor/history_text.h"
#include "server/replay/replay.h"

#include <inttypes.h>

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
    history_text_summary(c, h);
    console_print(c, "halted at     0x%08" PRIx64 "\n", one->regs.value[GDB_REG_PC]);
    return BT_OK;
}

static int cmd_gaps(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    const struct replay_core *one = &k->replay->cores[core];
    (void)rest;
    if (one->trace)
        history_text_gaps(c, one->trace->history);
    else
        console_print(c, "%s: no trace in this recording\n", one->name);
    return BT_OK;
}

static bool query(const struct replay_client *k, int core, struct call_query *q,
                  const struct console *c)
{
    const struct replay *r = k->replay;
    const struct replay_core *one = &r->cores[core];
    *q = (struct call_query){.history = one->trace ? one->trace->history : NULL,
                             .image = one->image,
                             .elf = r->recording.elf,
                             .elf_count = r->recording.elf_count,
                             .m_profile = one->profile == GDB_PROFILE_M,
                             .end = reverse_motion_position(&k->reverse, core)};
    if (!one->trace)
        console_print(c, "%s: no trace in this recording\n", one->name);
    return one->trace != NULL;
}

static int cmd_history(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    struct call_query q;
    if (query(k, core, &q, c))
        call_history_command(&q, rest, c);
    return BT_OK;
}

static int cmd_when(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    struct call_query q;
    if (query(k, core, &q, c))
        call_history_when(&q, rest, c);
    return BT_OK;
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
    replay_status_report(k->replay, c);
    return BT_OK;
}

static int cmd_clients(struct replay_client *k, int core, const char *rest, const struct console *c)
{
    (void)core, (void)rest;
    replay_clients_list(k->replay, k, c);
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

int replay_monitor(struct replay_client *k, int core, const char *text, gdb_print_fn print,
                   void *to)
{
    const struct console c = {print, to};
    char rest[300];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (console_rest(text, commands[i].name, rest, sizeof rest))
            return commands[i].run(k, core, rest, &c);
    return reverse_monitor(&k->reverse, core, text, print, to);
}
