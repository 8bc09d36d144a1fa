/* SPDX-License-Identifier: BSD-3-Clause */
/* `monitor` commands on a recording. */
#include "server/replay.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct console {
    gdb_print_fn print;
    void *to;
};

static void say(const struct console *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct console *c, const char *format, ...)
{
    char line[400];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    c->print(c->to, line);
}

static void gap_counts(const struct console *c, const struct history *h)
{
    bool any = false;
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        uint64_t n = history_gap_count(h, (enum bt_gap_cause)cause);
        if (!n)
            continue;
        say(c, "%s%" PRIu64 " %s", any ? ", " : "", n, bt_gap_name((enum bt_gap_cause)cause));
        any = true;
    }
    say(c, any ? "\n" : "none\n");
}

static int cmd_status(struct replay *r, int core, const struct console *c)
{
    const struct replay_core *k = &r->cores[core];
    if (!k->trace) {
        say(c, "%s: no trace in this recording\n", k->name);
        return BT_OK;
    }
    const struct history *h = k->trace->history;
    const struct recording_pass *pass = &k->trace->pass;
    say(c, "core          %s, traced by %s (ID 0x%02x)\n", k->name, k->trace->source->name,
        k->trace->source->trace_id);
    if (pass->formatted)
        say(c,
            "buffer        %" PRIu64 " bytes, %" PRIu64 " frames, alignment lost %" PRIu64
            " times\n",
            pass->raw_bytes, pass->formatter.frames, pass->formatter.losses);
    else
        say(c, "buffer        %" PRIu64 " bytes, one source without frames\n", pass->raw_bytes);
    say(c,
        "trace         %" PRIu64 " bytes, %" PRIu64 " packets, %" PRIu64
        " bytes skipped without synchronisation\n",
        history_bytes(h), history_packets(h), history_skipped(h));
    say(c, "history       instructions 1 to %" PRIu64 " in %" PRIu64 " blocks\n", history_end(h),
        history_blocks(h));
    say(c, "gaps          ");
    gap_counts(c, h);
    say(c, "halted at     0x%08" PRIx32 "\n", k->regs.value[GDB_REG_PC]);
    return BT_OK;
}

static int cmd_gaps(struct replay *r, int core, const struct console *c)
{
    const struct replay_core *k = &r->cores[core];
    const struct history_gap *gaps;
    size_t n = k->trace ? history_gaps(k->trace->history, &gaps) : 0;
    for (size_t i = 0; i < n; i++) {
        say(c, "before instruction %" PRIu64 ", trace byte %" PRIu64 ": %s", gaps[i].position + 1,
            gaps[i].offset, bt_gap_name((enum bt_gap_cause)gaps[i].cause));
        if (gaps[i].has_address)
            say(c, ", address 0x%08" PRIx64, gaps[i].address);
        if (gaps[i].bytes)
            say(c, ", %" PRIu64 " bytes", gaps[i].bytes);
        say(c, "\n");
    }
    if (n == 0)
        say(c, "no gaps\n");
    return BT_OK;
}

static int cmd_version(struct replay *r, int core, const struct console *c)
{
    (void)r, (void)core;
    say(c, "btraced " BTRACED_VERSION "\n");
    return BT_OK;
}

/* What IDEs send on launch, whatever the target is. */
static int cmd_nothing(struct replay *r, int core, const struct console *c)
{
    (void)r, (void)core;
    say(c, "nothing to do: this is a recording\n");
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
            say(c, "monitor %-14s %s\n", commands[i].name, commands[i].help);
    return BT_OK;
}

int replay_monitor(struct replay *r, int core, const char *text, gdb_print_fn print, void *to)
{
    const struct console c = {print, to};
    while (*text == ' ')
        text++;
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strlen(commands[i].name) == len && strncmp(commands[i].name, text, len) == 0)
            return commands[i].run(r, core, &c);
    return BT_ERR_UNSUPPORTED;
}
