/* SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "server/base/exit_codes.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char main_help[] =
    "usage: btraced COMMAND [OPTION]...\n"
    "Serves the execution history of ARM cores to GDB, reconstructed from CoreSight trace.\n"
    "\n"
    "commands:\n"
    "  serve -c BOARD     serve a live target to GDB, with the history of what it executed\n"
    "  record -c BOARD    write a live target's trace to a folder, without GDB\n"
    "  run -c BOARD       let a target run up to a goal, and judge it: for tests at night\n"
    "  replay RECORDING   serve such a folder to GDB\n"
    "  decode RECORDING   list its packets, instructions, blocks or events\n"
    "  coverage RECORDING lines, functions and branches that ran, as LCOV or text\n"
    "  profile RECORDING  where instructions and cycles went, for KCachegrind and others\n"
    "  timeline RECORDING calls, exceptions and gaps over time, for ui.perfetto.dev\n"
    "  report RECORDING   one page for a browser: timeline, profile, coverage, gaps\n"
    "  feedback RECORDING counts of ranges and branches, for AutoFDO and BOLT\n"
    "  merge FILE...      add up what parts of recordings counted\n"
    "  connect HOST:PORT  the pipe from GDB to a server on another machine\n"
    "  ctl HOST:PORT WORD one 'monitor' command there, without GDB\n"
    "  probes             list the debug probes that are attached\n"
    "  arm -c BOARD       start trace into the chip's buffer, and leave it alone\n"
    "\n"
    "  help [COMMAND], --help, --version\n"
    "\n"
    "examples:\n"
    "  btraced serve -c virtual-a9\n"
    "  (gdb) target extended-remote 127.0.0.1:3333\n"
    "  (gdb) record btrace\n"
    "\n"
    "  btraced record -c virtual-a9 --record run --seconds 2\n"
    "  btraced decode --instructions run\n"
    "  btraced replay run\n"
    "  (gdb) target remote 127.0.0.1:3333\n"
    "  (gdb) record instruction-history\n"
    "\n"
    "'btraced COMMAND --help' tells more; so does the manual page btraced(1).\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"arm", cmd_arm},       {"connect", cmd_connect}, {"coverage", cmd_coverage},
    {"ctl", cmd_ctl},       {"decode", cmd_decode},   {"feedback", cmd_feedback},
    {"merge", cmd_merge},   {"probes", cmd_probes},   {"profile", cmd_profile},
    {"record", cmd_record}, {"replay", cmd_replay},   {"report", cmd_report},
    {"run", cmd_run},       {"serve", cmd_serve},     {"timeline", cmd_timeline},
};

/* Who starts us may have closed them, and a socket in their place would get messages that are meant
 * for a person. */
static void fill_standard_files(void)
{
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDWR);
    if (fd >= 0)
        close(fd);
}

/* Files that those have open before anybody comes, generously: libraries end the process that
 * cannot have theirs. */
#define FILES 48

static bool can_open(const char *command)
{
    static const char *const with_loop[] = {"serve", "record", "replay", "connect", "ctl", "arm"};
    int taken[FILES], n = 0;
    bool wanted = false;
    for (size_t i = 0; i < sizeof with_loop / sizeof *with_loop; i++)
        wanted = wanted || strcmp(command, with_loop[i]) == 0;
    while (wanted && n < FILES && (taken[n] = dup(STDERR_FILENO)) >= 0)
        n++;
    for (int i = 0; i < n; i++)
        close(taken[i]);
    if (!wanted || n == FILES)
        return true;
    fprintf(stderr,
            "btraced %s: only %d more files can be open at once, and %d are wanted: 'ulimit -n' "
            "gives more\n",
            command, n, FILES);
    return false;
}

int main(int argc, char **argv)
{
    fill_standard_files();
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an error of that one write */
    if (argc < 2) {
        fputs(main_help, stderr);
        return EXIT_USAGE;
    }
    static char help[] = "--help";
    char *asked[] = {argv[0], argv[argc - 1], help, NULL};
    bool wants_help = strcmp(argv[1], "help") == 0;
    if ((wants_help && argc == 2) || strcmp(argv[1], help) == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(main_help, stdout);
        return EXIT_OK;
    }
    if (wants_help && argc == 3) { /* btraced help COMMAND */
        argv = asked;
        argc = 3;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("btraced " BTRACED_VERSION);
        return EXIT_OK;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return can_open(argv[1]) ? commands[i].run(argc - 1, argv + 1) : EXIT_INTERNAL;
    fprintf(stderr, "btraced: no command '%s'; see 'btraced --help'\n", argv[1]);
    return EXIT_USAGE;
}
