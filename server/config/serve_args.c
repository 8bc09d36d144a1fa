/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/config/serve_args.h"

#include "server/base/command_line.h"
#include "server/base/log.h"

#include <getopt.h>

static const char serve_help[] =
    "usage: btraced serve -c BOARD [OPTION]...\n"
    "Serves a live target to GDB, with the history of what it executed at every halt.\n"
    "BOARD is a board file, or the name of an installed one. Boards that exist in QEMU only:\n"
    "virtual-m3, virtual-m4, virtual-m4-tasks, virtual-m7, virtual-m33, virtual-a9,\n"
    "virtual-a9-smp, virtual-a53, virtual-a53-smp. Ends at Ctrl-C, and ends what it has started.\n"
    "\n"
    "  -c, --config BOARD     the board file\n"
    "  --listen ADDRESS:PORT  where GDB connects, instead of the board file's [gdb] listen;\n"
    "                         port 0 takes a free one; unix:PATH listens on a socket file;\n"
    "                         may be given several times\n"
    "  --stdio                serve one GDB that starts btraced itself:\n"
    "                         target extended-remote | btraced serve -c BOARD --stdio\n"
    "  --exit-after-detach    end when the last GDB has left, as front ends that start a server "
    "for\n"
    "                         each session want it\n"
    "  --log LEVEL            what is logged on standard error: " LOG_LEVELS ";\n"
    "                         also by the environment, " LOG_VARIABLE "=LEVEL\n"
    "  --program ELF          the program that runs, instead of the one in the board file\n"
    "  --record FOLDER        write the raw trace to disk as it comes: into this folder, or into\n"
    "                         a new numbered one in it if it exists\n"
    "  --compress             the recording's trace is compressed (zstd)\n"
    "  --attach               take the target as it is, without a reset: what its trace buffer\n"
    "                         holds is the history (see btraced arm)\n"
    "  --user NAME            become this user when the probe is open and the addresses are taken\n"
    "  --no-sandbox           keep all system calls, and write anywhere\n"
    "  --check-config         read the board file, say what is wrong with it, and end\n"
    "\n"
    "example:\n"
    "  btraced serve -c virtual-a9\n"
    "  (gdb) target extended-remote 127.0.0.1:3333\n"
    "  (gdb) record btrace\n"
    "  (gdb) continue\n"
    "  (gdb) record function-call-history\n"
    "  (gdb) monitor help\n";

static const char record_help[] =
    "usage: btraced record -c BOARD --record FOLDER [OPTION]...\n"
    "Lets a live target run and writes its raw trace to FOLDER, without GDB. Ends at Ctrl-C, when\n"
    "the target halts by itself, or after --seconds.\n"
    "\n"
    "  -c, --config BOARD     the board file\n"
    "  --record FOLDER        made anew; a numbered folder in it if it exists\n"
    "  --compress             the trace is compressed (zstd); all commands read it as it is\n"
    "  --seconds N            end after so many seconds, 1 to 86400\n"
    "  --program ELF          the program that runs, instead of the one in the board file\n"
    "  --log LEVEL            " LOG_LEVELS "; also " LOG_VARIABLE "=LEVEL\n"
    "  --check-config         read the board file, say what is wrong with it, and end\n"
    "\n"
    "example:\n"
    "  btraced record -c virtual-a9 --record run --seconds 2\n"
    "  btraced replay run\n";

int serve_args_parse(struct serve_args *a, int argc, char **argv)
{
    enum log_level level;
    bool record = a->recording_only;
    const char *name = record ? "record" : "serve";
    const struct command_option options[] = {
        {.name = "config", .letter = 'c', .text = &a->path},
        {.name = "attach", .elsewhere = record, .flag = &a->attach},
        {.name = "check-config", .flag = &a->check_only},
        {.name = "compress", .flag = &a->compress},
        {.name = "exit-after-detach", .elsewhere = record, .flag = &a->exit_after_detach},
        {.name = "listen",
         .elsewhere = record,
         .list = {a->listen, &a->listen_count, CONFIG_MAX_LISTEN}},
        {.name = "log", .take = command_line_log},
        {.name = "no-sandbox", .flag = &a->no_sandbox},
        {.name = "program", .text = &a->program},
        {.name = "record", .text = &a->record},
        {.name = "seconds", .elsewhere = !record, .number = SERVE_SECONDS(&a->seconds)},
        {.name = "stdio", .elsewhere = record, .flag = &a->stdio},
        {.name = "user", .elsewhere = record, .text = &a->user},
        {.name = NULL},
    };
    const struct command_line line = {
        .name = name, .help = record ? record_help : serve_help, .options = options};
    int code = command_line_parse(&line, argc, argv);
    if (code)
        return code;
    if (!log_level_now(&level))
        return usage_error(name, LOG_VARIABLE " is none of " LOG_LEVELS, NULL);
    if (optind != argc)
        return usage_error(name, "a board file is named with -c, not", argv[optind]);
    if (a->stdio && a->listen_count > 0)
        return usage_error(name, "--stdio serves one GDB through pipes, and takes no --listen",
                           NULL);
    if (!a->path)
        return usage_error(name, "no board file: -c BOARD, for example -c virtual-a9", NULL);
    return 0;
}
