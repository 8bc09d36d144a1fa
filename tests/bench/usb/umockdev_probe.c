/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * umockdev_probe [options] -- COMMAND ARGS...: runs a command that sees a modelled probe on USB,
 * CMSIS-DAP, FTDI or ORBTrace, and so do the processes that it starts. Exits with the command's
 * code (124: killed by a signal, 125: the test bench did not come up). With BTRACED_USB_BENCH=usbip
 * the probe is plugged into the kernel's virtual USB host instead.
 */
#include <glib-unix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <umockdev.h>
#include <unistd.h>

#include "tests/bench/usb/bench_tty.h"
#include "tests/bench/usb/umock_control.h"
#include "tests/bench/usb/umock_options.h"
#include "tests/model/board_a.h"
#include "tests/model/usb_probe.h"

#define EXIT_SIGNAL 124
#define EXIT_BENCH  125

struct run {
    GMainLoop *loop;
    GPid pid;
    int code;
    bool told; /* the command, to end */
};

static void child_done(GPid pid, gint status, gpointer data)
{
    struct run *r = data;
    r->code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL;
    g_spawn_close_pid(pid);
    g_main_loop_quit(r->loop);
}

/* The test bench is told to end: so is the command, which has the devices open until then. A second
 * signal waits for nothing. */
static gboolean on_signal(gpointer data)
{
    struct run *r = data;
    if (r->told)
        g_main_loop_quit(r->loop);
    r->told = true;
    kill(r->pid, SIGTERM);
    return G_SOURCE_CONTINUE;
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
    exit(EXIT_BENCH);
}

static int run_command(char **argv)
{
    struct run r = {.loop = g_main_loop_new(NULL, FALSE), .code = EXIT_BENCH};
    GError *error = NULL;
    GSpawnFlags flags =
        G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH | G_SPAWN_CHILD_INHERITS_STDIN;
    if (g_spawn_async(NULL, argv, NULL, flags, NULL, NULL, &r.pid, &error)) {
        g_child_watch_add(r.pid, child_done, &r);
        g_unix_signal_add(SIGTERM, on_signal, &r);
        g_unix_signal_add(SIGINT, on_signal, &r);
        g_main_loop_run(r.loop);
    } else {
        fprintf(stderr, "umockdev_probe: %s\n", error->message);
        g_error_free(error);
    }
    g_main_loop_unref(r.loop);
    return r.code;
}

static int write_report(const char *path, const struct usb_device *d, const struct bench_tty *tty)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return -1;
    usb_device_report(d, out);
    if (tty)
        bench_tty_report(tty, out);
    return fclose(out);
}

struct run_board {
    struct probe_board board;
    struct qemu_link *link; /* NULL: the built-in core */
};

/* Trace flows into its sink, and cores stop, also while no client looks. */
static gboolean on_core(gint fd, GIOCondition condition, gpointer data)
{
    struct run_board *r = data;
    (void)fd;
    (void)condition;
    pthread_mutex_lock(&r->board.lock);
    probe_board_run(&r->board);
    pthread_mutex_unlock(&r->board.lock);
    return r->link->dead ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

/* The probe on the bus beside the first, at the same target. */
struct beside {
    struct usb_probe cmsis_dap;
    struct usb_ftdi ftdi;
};

static struct usb_device *init_beside(struct beside *b, const struct umock_options *o,
                                      struct probe_board *board)
{
    const struct usb_ftdi_options ftdi = {.layout = o->layout, .chain = o->chain};
    if (o->beside == UMOCK_CMSIS_DAP) {
        usb_probe_init(&b->cmsis_dap, board, o->hid);
        return &b->cmsis_dap.device;
    }
    if (o->beside != UMOCK_FTDI || usb_ftdi_init(&b->ftdi, board, &ftdi) < 0)
        return NULL;
    return &b->ftdi.device;
}

static int run_bench(struct umock_options *o, struct usb_device *device, char **command)
{
    struct beside *beside = g_new0(struct beside, 1);
    struct usb_device *second = init_beside(beside, o, device->board);
    struct umock_bench bench;
    struct umock_control *control = NULL;
    struct bench_tty *tty = NULL;
    int code = EXIT_BENCH;
    device->faults = o->usb;
    if (o->no_serial)
        usb_device_hide_serial(device);
    if (o->no_serial && second)
        usb_device_hide_serial(second);
    bool open = umock_bench_open(&bench, device, second) == 0;
    if (open && o->control && !(control = umock_control_new(o->control, &bench)))
        perror(o->control);
    if (open && o->tty && !(tty = bench_tty_new(o->tty, device->board)))
        perror(o->tty);
    if (open && (control || !o->control) && (tty || !o->tty))
        code = run_command(command);
    if (o->report && write_report(o->report, device, tty) < 0) {
        perror(o->report);
        code = EXIT_BENCH;
    }
    bench_tty_free(tty);
    umock_control_free(control);
    umock_bench_close(&bench);
    usb_ftdi_release(&beside->ftdi);
    g_free(beside);
    return code;
}

static int run_probe(struct umock_options *o, struct probe_board *board, char **command)
{
    struct usb_probe usb;
    usb_probe_init(&usb, board, o->hid);
    return run_bench(o, &usb.device, command);
}

/* The bytes of a file, to be freed; false with a message if there is no such. */
static bool load_feed(struct trace_feed *feed, const char *path)
{
    gchar *bytes = NULL;
    if (path && !g_file_get_contents(path, &bytes, &feed->size, NULL)) {
        fprintf(stderr, "umockdev_probe: cannot read '%s'\n", path);
        return false;
    }
    feed->bytes = (const uint8_t *)bytes;
    return true;
}

static int run_ftdi(struct umock_options *o, struct probe_board *board, struct trace_feed *feed,
                    char **command)
{
    struct trace_feed uart = {.rate = o->uart_baud / 10, .times = o->uart_times};
    /* With a FIFO in the EEPROM only where something is wired to it. */
    const struct usb_ftdi_options options = {.layout = o->layout,
                                             .chain = o->chain,
                                             .fifo = o->paced || o->board.parallel ? feed : NULL,
                                             .buffer = o->buffer,
                                             .uart = o->uart ? &uart : NULL,
                                             .uart_baud = (uint32_t)o->uart_baud,
                                             .full_speed = o->full_speed};
    struct usb_ftdi *usb = g_new0(struct usb_ftdi, 1);
    int code = EXIT_BENCH;
    if (!load_feed(&uart, o->uart)) {
        g_free(usb);
        return code;
    }
    if (usb_ftdi_init(usb, board, &options) < 0)
        fprintf(stderr, "umockdev_probe: bad chain '%s'\n", o->chain);
    else
        code = run_bench(o, &usb->device, command);
    usb_ftdi_release(usb);
    g_free(usb);
    g_free((void *)(uintptr_t)uart.bytes);
    return code;
}

static int run_orbtrace(struct umock_options *o, struct probe_board *board, struct trace_feed *feed,
                        char **command)
{
    struct usb_orbtrace *usb = g_new0(struct usb_orbtrace, 1);
    int code = EXIT_BENCH;
    o->orbtrace.feed = feed;
    /* A core that is late or early by the clock of this machine must not lose its trace. */
    o->orbtrace.capture.buffer = feed->board ? 0 : ORBTRACE_BUFFER;
    if (o->buffered)
        o->orbtrace.capture.buffer = o->buffer;
    if (usb_orbtrace_init(usb, board, &o->orbtrace) == 0)
        code = run_bench(o, &usb->device, command);
    usb_orbtrace_release(usb);
    g_free(usb);
    return code;
}

/* With a trace port of the board, or of a file. */
static int run_stream(struct umock_options *o, struct probe_board *board, char **command)
{
    struct trace_feed feed = {.rate = o->rate, .times = o->times};
    int code = EXIT_BENCH;
    if (!load_feed(&feed, o->paced))
        return code;
    if (!o->paced && o->board.no_etb)
        feed.board = board;
    if (o->probe == UMOCK_FTDI)
        code = run_ftdi(o, board, &feed, command);
    else
        code = run_orbtrace(o, board, &feed, command);
    g_free((void *)(uintptr_t)feed.bytes);
    return code;
}

static int run_board(struct umock_options *o, struct qemu_link *link, char **command)
{
    struct run_board *r = g_new0(struct run_board, 1);
    struct probe_board *board = &r->board;
    int code = EXIT_BENCH;
    r->link = link;
    if (probe_board_init(board, &o->board) < 0 || probe_board_faults(board, o->faults) < 0) {
        fprintf(stderr, "umockdev_probe: bad packet size, packet count, ETB size or fault\n");
    } else {
        if (link)
            g_unix_fd_add(link->trace, G_IO_IN, on_core, r);
        if (o->board.target)
            g_unix_fd_add(link->gdb, G_IO_IN, on_core, r);
        code = o->probe == UMOCK_CMSIS_DAP ? run_probe(o, board, command)
                                           : run_stream(o, board, command);
    }
    probe_board_release(board);
    g_free(r);
    return code;
}

static int run_m(struct umock_options *o, char **command)
{
    struct core_qemu *core = g_new0(struct core_qemu, 1);
    struct core_model model = core_qemu_model(core);
    char message[256];
    int code = EXIT_BENCH;
    o->board.core = &model;
    if (core_qemu_start(core, &o->qemu, message, sizeof message) < 0) {
        fprintf(stderr, "umockdev_probe: %s\n", message);
    } else {
        core->flash = o->flash;
        code = run_board(o, &core->link, command);
    }
    core_qemu_stop(core);
    g_free(core);
    return code;
}

static int run_a(struct umock_options *o, char **command)
{
    struct board_a *a = g_new0(struct board_a, 1);
    char message[256];
    int code = EXIT_BENCH;
    o->board.target = &a->target;
    if (board_a_start(a, &o->qemu, &o->trace_a, message, sizeof message) < 0) {
        fprintf(stderr, "umockdev_probe: %s\n", message);
    } else {
        a->system.hears_cores = o->core_resets;
        a->system.resets_trace = o->trace_resets;
        if (o->window)
            system_a_window(&a->system, o->window);
        code = run_board(o, &a->cores.link, command);
    }
    board_a_stop(a);
    g_free(a);
    return code;
}

int main(int argc, char **argv)
{
    struct umock_options o;
    if (!umock_bench_on_kernel())
        enter_mock(argv);
    if (umock_options_parse(&o, argc, argv) < 0) {
        fputs(umock_options_usage, stderr);
        return EXIT_BENCH;
    }
    if (!o.qemu.machine)
        return run_board(&o, NULL, argv + o.command);
    return (o.qemu.a_cores ? run_a : run_m)(&o, argv + o.command);
}
