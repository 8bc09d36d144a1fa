/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced serve: a live target, its trace, and GDB; btraced record: the same without GDB. */
#include "server/commands.h"
#include "server/config_reload.h"
#include "server/entrance.h"
#include "server/exit_codes.h"
#include "server/gdb_clients.h"
#include "server/live.h"
#include "server/live_status.h"
#include "server/metrics.h"
#include "server/run_folder.h"
#include "server/stream_connection.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 15000 /* until the target's GDB server answers */

struct serve {
    const char *command; /* "btraced serve": messages begin with it */
    const char *path;    /* of the board file */
    const char *listen[CONFIG_MAX_LISTEN];
    unsigned listen_count;
    const char *program;
    const char *record;
    bool attach;
    bool check_only;
    bool stdio;
    bool recording_only;
    unsigned seconds; /* record: stop then; 0: until a signal */
    uv_loop_t loop;
    uv_signal_t interrupt, terminate, hangup;
    uv_timer_t patience;
    struct run_folder folder;
    struct config config;
    struct config *file; /* as it was read last: without options, and what hardware told */
    struct metrics *metrics;
    struct live live;
    struct native_server native;
    struct board_process board;
    struct entrance entrance;
    struct gdb_limits limits;
    struct gdb_clients clients;
    bool stopping;
    int code;
};

enum {
    OPT_ATTACH = 256,
    OPT_CHECK,
    OPT_LISTEN,
    OPT_PROGRAM,
    OPT_RECORD,
    OPT_SECONDS,
    OPT_STDIO,
};

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},
    {"attach", no_argument, NULL, OPT_ATTACH},
    {"check-config", no_argument, NULL, OPT_CHECK},
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"program", required_argument, NULL, OPT_PROGRAM},
    {"record", required_argument, NULL, OPT_RECORD},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"stdio", no_argument, NULL, OPT_STDIO},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char serve_help[] =
    "usage: btraced serve -c BOARD [OPTION]...\n"
    "Serves a live target to GDB, with the history of what it executed at every halt.\n"
    "BOARD is a board file, or the name of an installed one: virtual-a9, virtual-a9-smp,\n"
    "virtual-m3, virtual-m4. Ends at Ctrl-C, and ends what it has started.\n"
    "\n"
    "  -c, --config BOARD     the board file\n"
    "  --listen ADDRESS:PORT  where GDB connects, instead of the board file's [gdb] listen;\n"
    "                         port 0 takes a free one; unix:PATH listens on a socket file;\n"
    "                         may be given several times\n"
    "  --stdio                serve one GDB that starts btraced itself:\n"
    "                         target extended-remote | btraced serve -c BOARD --stdio\n"
    "  --program ELF          the program that runs, instead of the one in the board file\n"
    "  --record FOLDER        write the raw trace to disk as it comes: into this folder, or into\n"
    "                         a new numbered one in it if it exists\n"
    "  --attach               take the target as it is, without a reset: what its trace buffer\n"
    "                         holds is the history (see btraced arm)\n"
    "  --check-config         read the board file, say what is wrong with it, and end\n"
    "\n"
    "example:\n"
    "  btraced serve -c virtual-a9\n"
    "  (gdb) target extended-remote :3333\n"
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
    "  --seconds N            end after so many seconds, 1 to 86400\n"
    "  --program ELF          the program that runs, instead of the one in the board file\n"
    "  --check-config         read the board file, say what is wrong with it, and end\n"
    "\n"
    "example:\n"
    "  btraced record -c virtual-a9 --record run --seconds 2\n"
    "  btraced replay run\n";

/* ---- the end ----------------------------------------------------------------------------------
 */

static void stop(struct serve *s, int code)
{
    if (s->stopping)
        return;
    s->stopping = true;
    s->code = code;
    entrance_stop(&s->entrance);
    metrics_stop(s->metrics);
    gdb_clients_stop(&s->clients);
    live_stop(&s->live);
    board_process_stop(&s->board);
    uv_close((uv_handle_t *)&s->patience, NULL);
    uv_close((uv_handle_t *)&s->interrupt, NULL);
    uv_close((uv_handle_t *)&s->terminate, NULL);
    uv_close((uv_handle_t *)&s->hangup, NULL);
}

static void print_line(void *to, const char *text)
{
    fputs(text, to);
}

static void set_limits(struct serve *s)
{
    s->limits = (struct gdb_limits){s->config.limits.clients, s->config.limits.packet,
                                    s->config.limits.memory, s->config.limits.idle};
}

/* What is wrong with the new file leaves everything as it is. */
static void reload(void *ctx, const struct console *c)
{
    struct serve *s = ctx;
    struct message why;
    const struct config_names names = {.run = s->folder.path};
    struct config *now = calloc(1, sizeof *now);
    if (!now) {
        console_say(c, "no memory to read the board file again\n");
        return;
    }
    if (config_load(now, s->path, &names, &why)) {
        console_say(c, "nothing is changed: %s\n", why.text);
        config_release(now);
        free(now);
        return;
    }
    config_reload(s->file, now, &s->config, c);
    set_limits(s);
    if (!s->stdio && entrance_reload(&s->entrance, &now->access, now->path, &why))
        console_say(c, "certificates and networks stay as they were: %s\n", why.text);
    config_release(s->file);
    free(s->file);
    s->file = now;
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct serve *s = handle->data;
    const struct console c = {print_line, stderr};
    if (number != SIGHUP || s->stdio || s->recording_only) {
        stop(s, EXIT_OK);
        return;
    }
    fprintf(stderr, "%s: SIGHUP: %s is read again\n", s->command, s->config.path);
    if (s->file && !s->stopping)
        reload(s, &c);
}

static void watch(struct serve *s)
{
    uv_signal_t *const handles[] = {&s->interrupt, &s->terminate, &s->hangup};
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (unsigned i = 0; i < 3; i++) {
        uv_signal_init(&s->loop, handles[i]);
        handles[i]->data = s;
        uv_signal_start(handles[i], on_signal, numbers[i]);
    }
    uv_timer_init(&s->loop, &s->patience);
    s->patience.data = s;
}

static void on_board_ended(void *ctx, const struct board_process *b)
{
    struct serve *s = ctx;
    char text[640];
    board_process_describe(b, text, sizeof text);
    fprintf(stderr, "%s: the board's program '%s' has ended: %s%s\n", s->command,
            s->config.command[0], text, board_process_hint(b));
    stop(s, EXIT_INPUT);
}

static void on_impatient(uv_timer_t *timer)
{
    struct serve *s = timer->data;
    char where[300];
    config_format_address(&s->config.target, where, sizeof where);
    if (s->live.native)
        fprintf(stderr, "%s: the target does not answer in %d s\n", s->command, PATIENCE_MS / 1000);
    else
        fprintf(stderr,
                "%s: no GDB server answers at %s ([target] connect in %s): is the board's server "
                "running?\n",
                s->command, where, s->config.path);
    stop(s, EXIT_INPUT);
}

/* ---- ready ------------------------------------------------------------------------------------
 */

static int open_session(void *ctx, struct gdb_client *c, gdb_send_fn send, void *send_ctx)
{
    return live_admit(&((struct serve *)ctx)->live, c, send, send_ctx);
}

static void close_session(void *ctx, struct gdb_client *c)
{
    live_leave(&((struct serve *)ctx)->live, c);
}

static void release_session(void *ctx, struct gdb_client *c)
{
    (void)ctx;
    live_client_free(c->served);
}

static void on_client_gone(void *ctx)
{
    stop(ctx, EXIT_OK);
}

static void on_admitted(void *ctx, struct connection *c)
{
    gdb_clients_admit(&((struct serve *)ctx)->clients, c);
}

static void write_page(void *ctx, struct text_buf *out)
{
    live_status_page(&((struct serve *)ctx)->live, out);
}

static bool start_metrics(struct serve *s)
{
    struct message why;
    unsigned port = 0;
    if (s->config.metrics.kind == CONFIG_NOWHERE)
        return true;
    s->metrics = metrics_start(&s->loop, &s->config.metrics, write_page, s, &port, &why);
    if (!s->metrics) {
        fprintf(stderr, "%s: %s\n", s->command, why.text);
        stop(s, EXIT_LISTEN);
        return false;
    }
    fprintf(stderr, "numbers at http://%s:%u/metrics\n", s->config.metrics.host, port);
    return true;
}

static void start_listening(struct serve *s)
{
    const struct gdb_service service = {open_session, close_session, release_session,
                                        s->stdio ? on_client_gone : NULL, s};
    struct message why;
    gdb_clients_init(&s->clients, &s->loop, &service, &s->limits);
    s->live.visitors = &s->clients;
    s->live.reload = reload;
    if (!start_metrics(s))
        return;
    if (s->stdio) {
        struct connection *c = stream_connection_stdio(&s->loop);
        if (c) {
            gdb_clients_admit(&s->clients, c);
            return;
        }
        fprintf(stderr, "%s: --stdio: " STREAM_CONNECTION_NO_PIPE "\n", s->command);
        stop(s, EXIT_LISTEN);
        return;
    }
    if (entrance_start(&s->entrance, &s->loop, on_admitted, s, &why)) {
        fprintf(stderr, "%s: %s\n", s->command, why.text);
        stop(s, EXIT_LISTEN);
        return;
    }
    live_screen(&s->live, print_line, stderr);
    entrance_announce(&s->entrance, true);
}

static void on_seconds(uv_timer_t *timer)
{
    struct serve *s = timer->data;
    gdb_upstream_interrupt(s->live.upstream);
}

static void start_recording(struct serve *s)
{
    struct recorder_stats stats;
    recorder_stats(s->live.recorder, &stats);
    fprintf(stderr, "%s: recording to %s\n", s->command, stats.folder);
    if (s->seconds)
        uv_timer_start(&s->patience, on_seconds, (uint64_t)s->seconds * 1000, 0);
    if (gdb_upstream_resume(s->live.upstream) != BT_OK) {
        fprintf(stderr, "%s: the target cannot be resumed\n", s->command);
        stop(s, EXIT_INPUT);
    }
}

static void on_ready(void *ctx, struct live *l, int error)
{
    struct serve *s = ctx;
    (void)l;
    uv_timer_stop(&s->patience);
    if (error) {
        char where[300];
        config_format_address(&s->config.target, where, sizeof where);
        fprintf(stderr, "%s: what answers at %s is no GDB server: %s\n", s->command, where,
                bt_strerror(error));
        stop(s, EXIT_INPUT);
    } else if (s->recording_only) {
        start_recording(s);
    } else {
        start_listening(s);
    }
}

static void on_halted(void *ctx, struct live *l)
{
    struct serve *s = ctx;
    (void)l;
    if (s->recording_only && !s->stopping)
        stop(s, EXIT_OK);
}

/* ---- start ------------------------------------------------------------------------------------
 */

static int complain(const struct serve *s, const struct message *why, int code)
{
    fprintf(stderr, "%s: %s\n", s->command, why->text);
    return code;
}

static int load(struct serve *s)
{
    struct message why;
    const struct config_names names = {.run = s->folder.path};
    if (config_load(&s->config, s->path, &names, &why))
        return complain(s, &why, EXIT_USAGE);
    s->file = calloc(1, sizeof *s->file);
    if (!s->file || config_load(s->file, s->path, &names, &why))
        return EXIT_INTERNAL;
    set_limits(s);
    if (s->listen_count)
        s->config.access.listen_count = 0;
    for (unsigned i = 0; i < s->listen_count; i++)
        if (config_access_listen(&s->config.access, s->listen[i], &why))
            return complain(s, &why, EXIT_USAGE);
    if (s->listen_count && config_access_check(&s->config.access, &why)) {
        fprintf(stderr, "%s: --listen: %s\n", s->command, why.text);
        return EXIT_USAGE;
    }
    if (s->attach && !config_has_probe(&s->config)) {
        fprintf(stderr,
                "%s: --attach: %s has no [probe], and another GDB server attaches as it "
                "likes\n",
                s->command, s->config.path);
        return EXIT_USAGE;
    }
    s->config.attach = s->attach;
    s->config.probe.connect_under_reset &= !s->attach;
    if (s->record)
        snprintf(s->config.record_dir, sizeof s->config.record_dir, "%s", s->record);
    for (unsigned i = 0; s->program && i < s->config.core_count; i++)
        snprintf(s->config.cores[i].program, sizeof s->config.cores[i].program, "%s", s->program);
    if (s->recording_only && !s->config.record_dir[0]) {
        fprintf(stderr, "%s: no folder: --record FOLDER, or [record] dir in %s\n", s->command,
                s->config.path);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* What --check-config looks at beside the board file. */
static int check_files(const struct serve *s)
{
    struct message why;
    if (config_has_tls(&s->config.access)) {
        struct tls_context *t = tls_context_server(&s->config.access.tls, s->config.path, &why);
        if (!t)
            return complain(s, &why, EXIT_USAGE);
        tls_context_drop(t);
    }
    printf("%s: good: %s, %u core%s\n", s->config.path, s->config.name, s->config.core_count,
           s->config.core_count == 1 ? "" : "s");
    return EXIT_OK;
}

/* Everything that can go wrong before there is a loop to run. */
static int start(struct serve *s)
{
    struct message why;
    const struct trace_sink sink = live_sink(&s->live);
    bool native = config_has_probe(&s->config);
    if (!s->stdio && !s->recording_only) {
        int error =
            entrance_open(&s->entrance, &s->config.access, s->config.path, s->command, &why);
        if (error)
            return complain(s, &why, error == BT_ERR_FORMAT ? EXIT_USAGE : EXIT_LISTEN);
    }
    if (native && native_server_open(&s->native, &s->config, &sink, &why))
        return complain(s, &why, EXIT_INPUT);
    if (live_start(&s->live, &s->loop, &s->config, on_ready, on_halted, s, &why))
        return complain(s, &why, EXIT_INPUT);
    if (s->config.command &&
        board_process_start(&s->board, &s->loop, s->config.command, on_board_ended, s, &why))
        return complain(s, &why, EXIT_INPUT);
    if (native)
        live_use_native(&s->live, &s->native);
    if (live_connect(&s->live))
        return EXIT_INTERNAL;
    uv_timer_start(&s->patience, on_impatient, PATIENCE_MS, 0);
    return EXIT_OK;
}

static int run(struct serve *s)
{
    struct message why;
    int code = EXIT_OK;
    if (run_folder_make(&s->folder, &why))
        return complain(s, &why, EXIT_INPUT);
    code = load(s);
    if (!code && s->check_only) {
        code = check_files(s);
    } else if (!code) {
        uv_loop_init(&s->loop);
        watch(s);
        code = start(s);
        if (code)
            stop(s, code);
        uv_run(&s->loop, UV_RUN_DEFAULT);
        uv_loop_close(&s->loop);
        native_server_stop(&s->native);
        live_release(&s->live);
        code = s->code;
    }
    config_release(&s->config);
    if (s->file)
        config_release(s->file);
    free(s->file);
    run_folder_remove(&s->folder);
    return code;
}

static int usage_error(const struct serve *s, const char *text)
{
    fprintf(stderr, "%s: %s; see '%s --help'\n", s->command, text, s->command);
    return EXIT_USAGE;
}

static int parse_args(int argc, char **argv, struct serve *s)
{
    char *end;
    for (int option; (option = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
        if (option == 'c')
            s->path = optarg;
        else if (option == OPT_CHECK)
            s->check_only = true;
        else if (option == OPT_ATTACH && !s->recording_only)
            s->attach = true;
        else if (option == OPT_LISTEN && !s->recording_only) {
            if (s->listen_count == CONFIG_MAX_LISTEN)
                return usage_error(s, "too many --listen");
            s->listen[s->listen_count++] = optarg;
        } else if (option == OPT_STDIO && !s->recording_only)
            s->stdio = true;
        else if (option == OPT_PROGRAM)
            s->program = optarg;
        else if (option == OPT_RECORD)
            s->record = optarg;
        else if (option == OPT_SECONDS && s->recording_only) {
            unsigned long n = strtoul(optarg, &end, 10);
            if (*end || n == 0 || n > 86400)
                return usage_error(s, "--seconds wants a number from 1 to 86400");
            s->seconds = (unsigned)n;
        } else if (option == 'h') {
            fputs(s->recording_only ? record_help : serve_help, stdout);
            return -1;
        } else {
            return usage_error(s, "an option that is not known here");
        }
    }
    if (optind != argc)
        return usage_error(s, "a board file is named with -c");
    if (!s->path)
        return usage_error(s, "no board file: -c BOARD, for example -c virtual-a9");
    return 0;
}

static int serve_or_record(int argc, char **argv, bool recording_only)
{
    static char names[2][16] = {"btraced serve", "btraced record"};
    struct serve *s = calloc(1, sizeof *s);
    if (!s)
        return EXIT_INTERNAL;
    s->recording_only = recording_only;
    s->command = argv[0] = names[recording_only]; /* getopt's messages begin with it */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a recording that grows too large is an error of writing */
    int code = parse_args(argc, argv, s);
    if (code == 0)
        code = run(s);
    free(s);
    return code < 0 ? EXIT_OK : code;
}

int cmd_serve(int argc, char **argv)
{
    return serve_or_record(argc, argv, false);
}

int cmd_record(int argc, char **argv)
{
    return serve_or_record(argc, argv, true);
}
