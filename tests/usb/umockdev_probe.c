/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * umockdev_probe [options] -- COMMAND ARGS...: runs a command that sees a modelled CMSIS-DAP probe
 * on USB. Exits with the command's code (124: killed by a signal, 125: the bed did not come up).
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <umockdev.h>
#include <unistd.h>

#include "tests/usb/umock_usb.h"

#define EXIT_SIGNAL 124
#define EXIT_BED    125

static const char usage[] =
    "usage: umockdev_probe [options] -- COMMAND ARGS...\n"
    "  --v1             HID probe, else v2 with bulk endpoints\n"
    "  --jtag, --dpv2   the target's DP: JTAG at first; version 2, dormant at first\n"
    "  --wrap-1k        the AHB-AP's increment wraps at 1 KiB, not at 4\n"
    "  --packet-size N, --packet-count N\n"
    "  --fault TEXT     wait=N,fault=N,parity=N,noack=N,skip=N,trace=N\n"
    "  --unplug-after N, --stall-after N, --short-after N, --lose-after N\n"
    "  --report FILE    counters of what the command did, when it is done\n";

struct run {
    GMainLoop *loop;
    int code;
};

struct arguments {
    struct probe_board_options board;
    struct usb_faults usb;
    const char *faults;
    const char *report;
    bool hid;
};

static void child_done(GPid pid, gint status, gpointer data)
{
    struct run *r = data;
    r->code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL;
    g_spawn_close_pid(pid);
    g_main_loop_quit(r->loop);
}

/* The preload library must be there before the program starts: starts it again when it is not. */
static void enter_mock(char **argv)
{
    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "umockdev"))
        return;
    int argc = 0;
    while (argv[argc])
        argc++;
    char **again = g_new0(char *, (gsize)argc + 2);
    again[0] = g_strdup("umockdev-wrapper");
    memcpy(again + 1, argv, (size_t)argc * sizeof *argv);
    execvp(again[0], again);
    perror("umockdev-wrapper");
    exit(EXIT_BED);
}

static void parse(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {
        {"v1", no_argument, NULL, '1'},
        {"jtag", no_argument, NULL, 'j'},
        {"dpv2", no_argument, NULL, '2'},
        {"wrap-1k", no_argument, NULL, 'w'},
        {"packet-size", required_argument, NULL, 's'},
        {"packet-count", required_argument, NULL, 'c'},
        {"fault", required_argument, NULL, 'f'},
        {"unplug-after", required_argument, NULL, 'u'},
        {"stall-after", required_argument, NULL, 't'},
        {"short-after", required_argument, NULL, 'h'},
        {"lose-after", required_argument, NULL, 'l'},
        {"report", required_argument, NULL, 'r'},
        {NULL, 0, NULL, 0},
    };
    int c;
    while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        unsigned number = optarg ? (unsigned)strtoul(optarg, NULL, 0) : 0;
        switch (c) {
        case '1':
            a->hid = true;
            break;
        case 'j':
            a->board.jtag = true;
            break;
        case '2':
            a->board.dpv2 = true;
            break;
        case 'w':
            a->board.wrap_1k = true;
            break;
        case 's':
            a->board.packet_size = number;
            break;
        case 'c':
            a->board.packet_count = number;
            break;
        case 'f':
            a->faults = optarg;
            break;
        case 'u':
            a->usb.unplug_after = number;
            break;
        case 't':
            a->usb.stall_after = number;
            break;
        case 'h':
            a->usb.short_after = number;
            break;
        case 'l':
            a->usb.lose_after = number;
            break;
        case 'r':
            a->report = optarg;
            break;
        default:
            fputs(usage, stderr);
            exit(EXIT_BED);
        }
    }
    if (optind == argc) {
        fputs(usage, stderr);
        exit(EXIT_BED);
    }
    if (a->hid)
        a->board.packet_size = 64;
}

static int run_command(char **argv)
{
    struct run r = {g_main_loop_new(NULL, FALSE), EXIT_BED};
    GError *error = NULL;
    GPid pid;
    GSpawnFlags flags =
        G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH | G_SPAWN_CHILD_INHERITS_STDIN;
    if (g_spawn_async(NULL, argv, NULL, flags, NULL, NULL, &pid, &error)) {
        g_child_watch_add(pid, child_done, &r);
        g_main_loop_run(r.loop);
    } else {
        fprintf(stderr, "umockdev_probe: %s\n", error->message);
        g_error_free(error);
    }
    g_main_loop_unref(r.loop);
    return r.code;
}

static int write_report(const char *path, const struct probe_board *b)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return -1;
    probe_board_report(b, out);
    return fclose(out);
}

int main(int argc, char **argv)
{
    struct arguments a = {.faults = ""};
    enter_mock(argv);
    parse(argc, argv, &a);
    struct probe_board *board = g_new0(struct probe_board, 1);
    struct usb_probe usb;
    if (probe_board_init(board, &a.board) < 0 || probe_board_faults(board, a.faults) < 0) {
        fprintf(stderr, "umockdev_probe: bad packet size, packet count or fault\n");
        return EXIT_BED;
    }
    usb_probe_init(&usb, board, a.hid);
    usb.faults = a.usb;
    struct umock_usb *bed = umock_usb_new(&usb);
    if (!bed)
        return EXIT_BED;
    int code = run_command(argv + optind);
    if (a.report && write_report(a.report, board) < 0) {
        perror(a.report);
        code = EXIT_BED;
    }
    umock_usb_free(bed);
    probe_board_release(board);
    g_free(board);
    return code;
}
