/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/config/serve_args.h"

#include "server/base/exit_codes.h"
#include "server/base/log.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    OPT_ATTACH = 256,
    OPT_CHECK,
    OPT_COMPRESS,
    OPT_EXIT,
    OPT_LISTEN,
    OPT_LOG,
    OPT_NO_SANDBOX,
    OPT_PROGRAM,
    OPT_RECORD,
    OPT_SECONDS,
    OPT_STDIO,
    OPT_USER,
};

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},
    {"attach", no_argument, NULL, OPT_ATTACH},
    {"check-config", no_argument, NULL, OPT_CHECK},
    {"compress", no_argument, NULL, OPT_COMPRESS},
    {"exit-after-detach", no_argument, NULL, OPT_EXIT},
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"log", required_argument, NULL, OPT_LOG},
    {"no-sandbox", no_argument, NULL, OPT_NO_SANDBOX},
    {"program", required_argument, NULL, OPT_PROGRAM},
    {"record", required_argument, NULL, OPT_RECORD},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"stdio", no_argument, NULL, OPT_STDIO},
    {"user", required_argument, NULL, OPT_USER},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

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

static int serve_usage_error(const struct serve_args *a, const char *text)
{
    fprintf(stderr, "%s: %s; see '%s --help'\n", a->command, text, a->command);
    return EXIT_USAGE;
}

int serve_args_parse(struct serve_args *a, int argc, char **argv)
{
    enum log_level level;
    char *end;
    for (int option; (option = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
        if (option == 'c')
            a->path = optarg;
        else if (option == OPT_CHECK)
            a->check_only = true;
        else if (option == OPT_COMPRESS)
            a->compress = true;
        else if (option == OPT_ATTACH && !a->recording_only)
            a->attach = true;
        else if (option == OPT_LISTEN && !a->recording_only) {
            if (a->listen_count == CONFIG_MAX_LISTEN)
                return serve_usage_error(a, "too many --listen");
            a->listen[a->listen_count++] = optarg;
        } else if (option == OPT_LOG) {
            if (!log_choose(optarg))
                return serve_usage_error(a, "--log wants one of " LOG_LEVELS);
        } else if (option == OPT_STDIO && !a->recording_only)
            a->stdio = true;
        else if (option == OPT_EXIT && !a->recording_only)
            a->exit_after_detach = true;
        else if (option == OPT_NO_SANDBOX)
            a->no_sandbox = true;
        else if (option == OPT_USER && !a->recording_only)
            a->user = optarg;
        else if (option == OPT_PROGRAM)
            a->program = optarg;
        else if (option == OPT_RECORD)
            a->record = optarg;
        else if (option == OPT_SECONDS && a->recording_only) {
            unsigned long n = strtoul(optarg, &end, 10);
            if (*end || n == 0 || n > 86400)
                return serve_usage_error(a, "--seconds wants a number from 1 to 86400");
            a->seconds = (unsigned)n;
        } else if (option == 'h') {
            fputs(a->recording_only ? record_help : serve_help, stdout);
            return -1;
        } else if (option == '?') { /* getopt has told what is wrong */
            fprintf(stderr, "%s: see '%s --help'\n", a->command, a->command);
            return EXIT_USAGE;
        } else {
            return serve_usage_error(a, "an option that is not known here");
        }
    }
    if (!log_level_now(&level))
        return serve_usage_error(a, LOG_VARIABLE " is none of " LOG_LEVELS);
    if (optind != argc)
        return serve_usage_error(a, "a board file is named with -c");
    if (a->stdio && a->listen_count > 0)
        return serve_usage_error(a, "--stdio serves one GDB through pipes, and takes no --listen");
    if (!a->path)
        return serve_usage_error(a, "no board file: -c BOARD, for example -c virtual-a9");
    return 0;
}
