/* SPDX-License-Identifier: BSD-3-Clause */
/* `monitor` commands on a recording. */
#include "server/console.h"
#include "server/replay.h"

#include <inttypes.h>

static int cmd_status(struct replay *r, int core, const struct console *c)
{
    const struct replay_core *k = &r->cores[core];
    if (!k->trace) {
        console_say(c, "%s: no trace in this recording\n", k->name);
        return BT_OK;
    }
    const struct history *h = k->trace->history;
    const struct recording_pass *pass = &k->trace->pass;
    console_say(c, "core          %s, traced by %s (ID 0x%02x)\n", k->name, k->trace->source->name,
                k->trace->source->trace_id);
    if (pass->formatted)
        console_say(c,
                    "buffer        %" PRIu64 " bytes, %" PRIu64 " frames, alignment lost %" PRIu64
                    " times\n",
                    pass->raw_bytes, pass->formatter.frames, pass->formatter.losses);
    else
        console_say(c, "buffer        %" PRIu64 " bytes, one source without frames\n",
                    pass->raw_bytes);
    console_history(c, h);
    console_say(c, "halted at     0x%08" PRIx32 "\n", k->regs.value[GDB_REG_PC]);
    return BT_OK;
}

static int cmd_gaps(struct replay *r, int core, const struct console *c)
{
    const struct replay_core *k = &r->cores[core];
    if (k->trace)
        console_gaps(c, k->trace->history);
    else
        console_say(c, "%s: no trace in this recording\n", k->name);
    return BT_OK;
}

static int cmd_version(struct replay *r, int core, const struct console *c)
{
    (void)r, (void)core;
    console_say(c, "btraced " BTRACED_VERSION "\n");
    return BT_OK;
}

/* What IDEs send on launch, whatever the target is. */
static int cmd_nothing(struct replay *r, int core, const struct console *c)
{
    (void)r, (void)core;
    console_say(c, "nothing to do: this is a recording\n");
    return BT_OK;
}

static int cmd_help(struct replay *r, int core, const struct console *c);

static const struct {
    const char *name;
    int (*run)(struct replay *r, int core, const struct console *c);
    const char *help; /* NULL: accepted, not advertised */
} commands[] = {
    {"help", cmd_help, "this list"},
    {"trace status", cmd_status, "what was decoded for the selected thread's core"},
    {"trace gaps", cmd_gaps, "where trace is missing, and why"},
    {"version", cmd_version, "version of the server"},
    {"halt", cmd_nothing, NULL},
    {"reset", cmd_nothing, NULL},
    {"reset halt", cmd_nothing, NULL},
    {"reset init", cmd_nothing, NULL},
    {"reset run", cmd_nothing, NULL},
    {"gdb_sync", cmd_nothing, NULL},
};

static int cmd_help(struct replay *r, int core, const struct console *c)
{
    (void)r, (void)core;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].help)
            console_say(c, "monitor %-14s %s\n", commands[i].name, commands[i].help);
    return BT_OK;
}

int replay_monitor(struct replay *r, int core, const char *text, gdb_print_fn print, void *to)
{
    const struct console c = {print, to};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (console_is(text, commands[i].name))
            return commands[i].run(r, core, &c);
    return BT_ERR_UNSUPPORTED;
}
