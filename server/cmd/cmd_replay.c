/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced replay: a recording served to GDB. */
#include "commands.h"
#include "server/access/access_control.h"
#include "server/access/gdb_clients.h"
#include "server/base/command_line.h"
#include "server/base/exit_codes.h"
#include "server/base/log.h"
#include "server/base/notify.h"
#include "server/base/sandbox.h"
#include "server/monitor/metrics.h"
#include "server/net/stream_connection.h"
#include "server/recording/perf_args.h"
#include "server/replay/replay.h"

#include <getopt.h>
#include <stdlib.h>

#define DEFAULT_LISTEN "127.0.0.1:3333"

struct replay_args {
    struct config config; /* as by config_load_access() */
    const char *config_path;
    const char *listen[CONFIG_MAX_LISTEN];
    size_t listen_count;
    bool odd_thumb;
    bool stdio;
    bool exit_after_detach;
    bool no_record;
    struct {
        bool tasks, index;
    } without;
    bool no_sandbox;
    const char *elf[RECORDING_MAX_ELF];
    size_t elf_count;
    const char *path;
    struct perf_args perf;
};

static const char replay_help[] =
    "usage: btraced replay [OPTION]... RECORDING\n"
    "Serves a recorded execution history to GDB. RECORDING is a CoreSight snapshot folder.\n"
    "\n"
    "  --listen ADDRESS:PORT  where GDB connects (default " DEFAULT_LISTEN ");\n"
    "                         port 0 takes a free one; unix:PATH listens on a socket file;\n"
    "                         may be given several times\n"
    "  -c, --config FILE      a board file, or one with only [gdb], [tls], [limits] and "
    "[metrics]:\n"
    "                         where GDB connects, and who may; needed for addresses that other\n"
    "                         machines reach\n"
    "  --stdio                serve one GDB that starts btraced itself:\n"
    "                         target remote | btraced replay --stdio RECORDING\n"
    "  --exit-after-detach    end when the last GDB has left, as front ends that start a server "
    "for\n"
    "                         each session want it\n"
    "  --log LEVEL            what is logged on standard error: " LOG_LEVELS ";\n"
    "                         also by the environment, " LOG_VARIABLE "=LEVEL\n"
    "  --elf FILE             program file that completes the recording's memory dumps\n"
    "  --odd-thumb            give T32 code odd addresses, for a GDB that has no symbols to tell\n"
    "                         A32 from T32; breakpoints in T32 code are then not hit\n"
    "  --no-record            do not tell GDB that it records already: reverse-step, "
    "reverse-next,\n"
    "                         reverse-finish and bt are then answered with "
    "reconstructed values\n"
    "  --no-tasks             show no tasks of a real-time kernel as threads\n"
    "  --no-index             read all of a long recording, and keep no index beside it\n"
    "  --no-sandbox           keep all system calls, and write anywhere\n" PERF_HELP "\n"
    "example:\n"
    "  btraced replay --listen 127.0.0.1:3333 recording\n"
    "  (gdb) target remote 127.0.0.1:3333\n"
    "  (gdb) record instruction-history\n";

/* Where and who, from the file and the options, which win. */
static int complete_access(struct replay_args *args)
{
    struct config_access *a = &args->config.access;
    struct message why;
    int error = BT_OK;
    if (args->config_path) {
        error = config_load_access(&args->config, args->config_path, &why);
    } else {
        a->unix_mode = 0600;
        a->unix_owner = (struct config_owner){ADDRESS_SAME_OWNER, ADDRESS_SAME_OWNER};
        a->vanished = CONFIG_VANISHED;
        error = config_access_listen(a, DEFAULT_LISTEN, &why);
    }
    if (args->listen_count > 0)
        a->listen_count = 0;
    for (size_t i = 0; i < args->listen_count && !error; i++)
        error = config_access_listen(a, args->listen[i], &why);
    if (!error && args->listen_count > 0 && config_access_check(a, &why) != BT_OK) {
        fprintf(stderr, "btraced replay: --listen: %s\n", why.text);
        return EXIT_USAGE;
    }
    if (error)
        fprintf(stderr, "btraced replay: %s\n", why.text);
    return error ? EXIT_USAGE : 0;
}

static int parse_replay_args(int argc, char **argv, struct replay_args *args)
{
    enum log_level level;
    const struct command_option options[] = {
        {.name = "config", .letter = 'c', .text = &args->config_path},
        {.name = "listen", .list = {args->listen, &args->listen_count, CONFIG_MAX_LISTEN}},
        {.name = "elf", .list = {args->elf, &args->elf_count, RECORDING_MAX_ELF}},
        {.name = "stdio", .flag = &args->stdio},
        {.name = "exit-after-detach", .flag = &args->exit_after_detach},
        {.name = "log", .take = command_line_log},
        {.name = "no-record", .flag = &args->no_record},
        {.name = "no-tasks", .flag = &args->without.tasks},
        {.name = "no-index", .flag = &args->without.index},
        {.name = "no-sandbox", .flag = &args->no_sandbox},
        {.name = "odd-thumb", .flag = &args->odd_thumb},
        PERF_OPTIONS(&args->perf),
        {.name = NULL},
    };
    const struct command_line line = {.name = "replay", .help = replay_help, .options = options};
    int code = command_line_parse(&line, argc, argv);
    if (code)
        return code;
    if (!log_level_now(&level))
        return usage_error("replay", LOG_VARIABLE " is none of " LOG_LEVELS, NULL);
    code = command_line_argument(&line, argc, "recording");
    if (code)
        return code;
    if (args->stdio && args->listen_count > 0)
        return usage_error("replay", "--stdio serves one GDB through pipes, and takes no --listen",
                           NULL);
    args->path = argv[optind];
    const char *wrong = perf_args_complete(&args->perf);
    return wrong ? usage_error("replay", wrong, NULL) : complete_access(args);
}

struct daemon {
    struct replay *replay;
    uv_loop_t loop;
    struct access_control access;
    struct metrics *metrics;
    struct gdb_limits limits;
    struct gdb_clients clients;
    uv_signal_t interrupt, terminate, hangup;
    struct watchdog watchdog;
    uv_idle_t search;        /* active while one goes on */
    const char *config_path; /* NULL: nothing to read again */
    const struct replay_args *args;
};

static void stop_replay(struct daemon *d)
{
    if (uv_is_closing((uv_handle_t *)&d->interrupt))
        return;
    notify_systemd(NOTIFY_STOPPING, NULL);
    access_control_stop(&d->access);
    metrics_stop(d->metrics);
    watchdog_stop(&d->watchdog);
    gdb_clients_stop(&d->clients);
    uv_close((uv_handle_t *)&d->interrupt, NULL);
    uv_close((uv_handle_t *)&d->terminate, NULL);
    uv_close((uv_handle_t *)&d->hangup, NULL);
    uv_close((uv_handle_t *)&d->search, NULL);
}

/* A slice of a search, then what GDB sends is looked at: it may be Ctrl-C. */
static void on_search(uv_idle_t *idle)
{
    struct daemon *d = idle->data;
    uv_idle_stop(idle);
    replay_go_on(d->replay);
}

static void search_later(void *ctx)
{
    struct daemon *d = ctx;
    if (!uv_is_closing((uv_handle_t *)&d->search))
        uv_idle_start(&d->search, on_search);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    stop_replay(handle->data);
}

static bool connection_holds(void *ctx, struct connection *c, char *why, size_t size)
{
    return access_control_holds(&((struct daemon *)ctx)->access, c, why, size);
}

/* Who may connect, and what they may use, anew; what became of it is put in words. */
static int read_config_again(struct daemon *d, struct message *reported)
{
    struct config *fresh = calloc(1, sizeof *fresh);
    *reported = (struct message){.text = ""};
    int error = !fresh ? BT_ERR_NOMEM : config_load_access(fresh, d->config_path, reported);
    if (!error)
        error = access_control_reload(&d->access, &fresh->access, fresh->path, reported);
    if (error) {
        message_default(reported, error);
        message_set(reported, "%s; who may connect stays as it was", reported->text);
    } else {
        d->limits = fresh->limits;
        gdb_clients_judge(&d->clients, connection_holds, d);
        message_set(reported,
                    "%s: read again; limits and who is admitted hold from now on, other keys after "
                    "a restart",
                    fresh->path);
    }
    if (fresh)
        config_release(fresh);
    free(fresh);
    return error;
}

static void reload_replay(void *ctx, const struct console *c)
{
    struct message reported;
    read_config_again(ctx, &reported);
    console_print(c, "%s\n", reported.text);
}

static void on_hangup(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;
    struct message reported;
    (void)number;
    notify_systemd(NOTIFY_RELOADING, NULL);
    int error = read_config_again(d, &reported);
    log_write(error ? LOG_AT_WARNING : LOG_AT_INFO, "btraced replay: %s\n", reported.text);
    notify_systemd(NOTIFY_READY, d->args->path);
}

static void watch_signals(struct daemon *d)
{
    uv_signal_init(&d->loop, &d->interrupt);
    uv_signal_init(&d->loop, &d->terminate);
    uv_signal_init(&d->loop, &d->hangup);
    d->interrupt.data = d->terminate.data = d->hangup.data = d;
    if (d->config_path)
        uv_signal_start(&d->hangup, on_hangup, SIGHUP);
    uv_signal_start(&d->interrupt, on_signal, SIGINT);
    uv_signal_start(&d->terminate, on_signal, SIGTERM);
}

/* There is nothing to control: those alone who may only ask are told apart. */
static void grant_replay(void *ctx, struct gdb_client *c)
{
    (void)ctx;
    if (c->connection->role == ROLE_QUERY)
        gdb_session_only_asks(&c->session);
}

static int admit_to_replay(void *ctx, struct gdb_client *c, gdb_send_fn send, void *send_ctx)
{
    struct replay_client *k = replay_client_new(((struct daemon *)ctx)->replay, &c->session);
    int error = k ? gdb_session_init(&c->session, &k->target, &replay_host, k, GDB_CONTROLS, "",
                                     send, send_ctx)
                  : BT_ERR_NOMEM;
    if (error) {
        replay_client_leave(k);
        replay_client_free(k);
    } else {
        k->client = c;
        grant_replay(ctx, c);
    }
    c->served = error ? NULL : k;
    return error;
}

static void leave_replay(void *ctx, struct gdb_client *c)
{
    (void)ctx;
    replay_client_leave(c->served);
}

static void release_replay_client(void *ctx, struct gdb_client *c)
{
    (void)ctx;
    replay_client_free(c->served);
}

static void on_client_gone(void *ctx, bool last)
{
    struct daemon *d = ctx;
    if (d->args->stdio || (d->args->exit_after_detach && last))
        stop_replay(d);
}

static void on_admitted(void *ctx, struct connection *c)
{
    gdb_clients_admit(&((struct daemon *)ctx)->clients, c);
}

/* With the state of a halt the server could do more than GDB, which replays by itself at first. */
static void tell_of_values(const struct replay *r)
{
    bool halted = false;
    for (size_t i = 0; i < r->core_count; i++)
        halted = halted || (r->cores[i].trace && r->cores[i].recorded);
    if (halted && !r->no_record)
        log_write(LOG_AT_INFO, "GDB replays this recording itself, without values of the past; for "
                               "values type in GDB: record stop\n"
                               "    or start with --no-record\n");
}

static void announce_replay(const struct daemon *d)
{
    access_control_announce(&d->access, false);
    notify_systemd(NOTIFY_READY, d->args->path);
}

static void write_replay_page(void *ctx, struct text_buf *out)
{
    replay_status_page(((struct daemon *)ctx)->replay, out);
}

static int start_replay_metrics(struct daemon *d, const struct address *address,
                                struct message *why)
{
    if (address->kind == ADDRESS_NONE)
        return BT_OK;
    d->metrics = metrics_start(&d->loop, address, write_replay_page, d, why);
    return d->metrics ? BT_OK : BT_ERR_IO;
}

/* Nothing is written, but the files of sockets are removed at the end. */
static int enter_sandbox(const struct replay_args *args, struct message *why)
{
    const struct config_access *a = &args->config.access;
    struct sandbox_folders folders = {.count = 0};
    if (args->no_sandbox)
        return BT_OK;
    for (unsigned i = 0; i < a->listen_count; i++)
        if (a->listen[i].address.kind == ADDRESS_UNIX)
            sandbox_add_folder(&folders, a->listen[i].address.host);
    int error = sandbox_enter(&folders, why);
    return error ? error : sandbox_end_exec(why);
}

static int start_replay(struct daemon *d, const struct replay_args *args)
{
    const struct gdb_service service = {admit_to_replay, leave_replay, release_replay_client,
                                        on_client_gone,  grant_replay, d};
    struct message why = {.text = "--stdio: " STREAM_CONNECTION_NO_PIPE};
    struct connection *c = NULL;
    int error;
    d->limits = args->config_path ? args->config.limits : GDB_LIMITS_DEFAULT;
    gdb_clients_init(&d->clients, &d->loop, &service, &d->limits);
    d->replay->connections = &d->clients;
    d->replay->started = uv_hrtime();
    error = enter_sandbox(args, &why);
    if (!error)
        error = start_replay_metrics(d, &args->config.metrics, &why);
    if (error) {
        fprintf(stderr, "btraced replay: %s\n", why.text);
        return error;
    }
    if (args->stdio) {
        c = stream_connection_stdio(&d->loop);
        error = c ? 0 : BT_ERR_IO;
    } else {
        error = access_control_open(&d->access, &args->config.access, args->config.path,
                                    "btraced replay", &why);
        if (!error)
            error = access_control_start(&d->access, &d->loop, on_admitted, d, &why);
    }
    if (!error)
        tell_of_values(d->replay);
    if (error)
        fprintf(stderr, "btraced replay: %s\n", why.text);
    else if (args->stdio)
        gdb_clients_admit(&d->clients, c);
    else
        announce_replay(d);
    return error;
}

static int serve_replay(struct replay *r, const struct replay_args *args)
{
    struct daemon *d = calloc(1, sizeof *d);
    if (!d || sandbox_loop_init(&d->loop)) {
        free(d);
        return EXIT_INTERNAL;
    }
    d->replay = r;
    d->args = args;
    d->config_path = args->stdio ? NULL : args->config_path;
    watch_signals(d);
    watchdog_start(&d->watchdog, &d->loop);
    uv_idle_init(&d->loop, &d->search);
    d->search.data = d;
    r->io.later = search_later;
    r->io.reload = d->config_path ? reload_replay : NULL;
    r->io.ctx = d;
    int error = start_replay(d, args);
    if (error)
        stop_replay(d);
    uv_run(&d->loop, UV_RUN_DEFAULT);
    uv_loop_close(&d->loop);
    free(d);
    return !error ? EXIT_OK : error == BT_ERR_FORMAT ? EXIT_USAGE : EXIT_LISTEN;
}

static int open_and_serve_replay(const struct replay_args *args)
{
    struct replay r;
    struct message why = {.text = ""};
    int code = EXIT_INPUT;
    int error = replay_init(&r, args->path, args->perf.on ? &args->perf.places : NULL, args->elf,
                            args->elf_count, !args->without.index, &why);
    if (!error && !args->without.tasks)
        error = replay_show_tasks(&r);
    for (size_t i = 0; i < r.recording.warning_count; i++)
        log_write(LOG_AT_WARNING, "btraced replay: warning: %s\n", r.recording.warnings[i]);
    if (error) {
        fprintf(stderr, "btraced replay: %s\n", *why.text ? why.text : bt_strerror(error));
    } else {
        r.odd_thumb = args->odd_thumb;
        r.no_record = args->no_record;
        code = serve_replay(&r, args);
    }
    replay_release(&r);
    return code;
}

int cmd_replay(int argc, char **argv)
{
    struct replay_args *args = calloc(1, sizeof *args);
    if (!args)
        return EXIT_INTERNAL;
    int code = parse_replay_args(argc, argv, args);
    if (code == 0)
        code = open_and_serve_replay(args);
    config_release(&args->config);
    free(args);
    return code < 0 ? EXIT_OK : code;
}
