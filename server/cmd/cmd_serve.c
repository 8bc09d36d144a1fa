/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced serve: a live target, its trace, and GDB; btraced record: the same without GDB. */
#include "commands.h"
#include "serve.h"
#include "server/access/access_control.h"
#include "server/access/gdb_clients.h"
#include "server/base/exit_codes.h"
#include "server/base/log.h"
#include "server/base/notify.h"
#include "server/base/run_folder.h"
#include "server/base/sandbox.h"
#include "server/config/config.h"
#include "server/config/serve_args.h"
#include "server/live/live.h"
#include "server/monitor/metrics.h"
#include "server/net/stream_connection.h"
#include "server/probe/probe_table.h"
#include "server/probe/probe_target_flash.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_MS       UINT64_C(15000) /* until a target behind a probe answers */
#define MISTAKES_SHOWN 50
#define SILENCE_MS     1000 /* until a person is told what is waited for */
#define REMINDER_MS    4000 /* until it is said again */

struct serve {
    struct serve_args args;
    unsigned mistakes; /* of the board file */
    uv_loop_t loop;
    uv_signal_t interrupt, terminate, hangup;
    uv_timer_t patience;
    uint64_t connecting; /* ms: since when */
    struct run_folder folder;
    struct config config;
    struct config *file; /* as it was read last: without options, and what hardware told */
    struct metrics *metrics;
    struct audit *audit; /* NULL: none is kept */
    struct watchdog watchdog;
    struct live live;
    struct probe_thread probe;
    struct board_process board;
    struct access_control access;
    struct gdb_clients clients;
    const struct serve_attendant *attendant; /* NULL: none */
    bool stopping;
    bool ended; /* nothing is left but to close the loop's handles */
    int code;
};

static void report_recorded(const struct serve *s)
{
    struct recorder_stats stats;
    const char *elf = s->config.core_count == 1 ? s->config.cores[0].program : "";
    if (!s->live.recorder || s->attendant)
        return;
    recorder_stats(s->live.recorder, &stats);
    if (!stats.error)
        log_write(LOG_AT_INFO,
                  "%s: %" PRIu64 " bytes of trace in %s; replay it with: btraced replay%s%s %s\n",
                  s->args.command, stats.bytes + stats.waiting, stats.folder, *elf ? " --elf " : "",
                  elf, stats.folder);
}

static int complain_of_serve(const struct serve *s, const struct message *why, int code)
{
    log_write(LOG_AT_ERROR, "%s: %s\n", s->args.command, why->text);
    return code;
}

/* The target was left as it is to be. */
static void end_serving(void *ctx)
{
    struct serve *s = ctx;
    if (s->ended)
        return;
    s->ended = true;
    report_recorded(s);
    if (s->attendant)
        s->attendant->ended(s->attendant->ctx, &s->live);
    live_stop(&s->live);
    board_process_stop(&s->board);
    watchdog_stop(&s->watchdog);
    uv_close((uv_handle_t *)&s->patience, NULL);
    uv_close((uv_handle_t *)&s->interrupt, NULL);
    uv_close((uv_handle_t *)&s->terminate, NULL);
    uv_close((uv_handle_t *)&s->hangup, NULL);
}

/* Who asks twice does not want to wait. */
static void stop_serving(struct serve *s, int code)
{
    if (s->stopping) {
        end_serving(s);
        return;
    }
    s->stopping = true;
    s->code = code;
    notify_systemd(NOTIFY_STOPPING, NULL);
    access_control_stop(&s->access);
    metrics_stop(s->metrics);
    s->live.phase = LIVE_LEAVING; /* control is not passed on any more */
    gdb_clients_stop(&s->clients);
    live_detach(&s->live, end_serving, s);
}

void serve_end(struct live *l, int code)
{
    stop_serving(l->ctx, code);
}

static void print_line(void *to, const char *text)
{
    fputs(text, to);
}

static bool connection_holds(void *ctx, struct connection *c, char *why, size_t size)
{
    return access_control_holds(&((struct serve *)ctx)->access, c, why, size);
}

/* What is wrong with the new file leaves everything as it is. */
static void reload_board_file(void *ctx, const struct console *c)
{
    struct serve *s = ctx;
    struct message why;
    const struct config_names names = {.run = s->folder.path};
    struct config *now = calloc(1, sizeof *now);
    if (!now) {
        console_print(c, "no memory to read the board file again\n");
        return;
    }
    int error = config_load(now, s->args.path, &names, &why);
    if (!error && !s->args.stdio)
        error = access_control_reload(&s->access, &now->access, now->path, &why);
    if (error) {
        console_print(c, "nothing is changed: %s\n", why.text);
        config_release(now);
        free(now);
        return;
    }
    audit_reopen(s->audit);
    audit_write(s->audit, 0, "btraced", "reload", "%s", s->config.path);
    config_reload(s->file, now, &s->config, c);
    if (config_has_tls(&now->access))
        console_print(c, "the certificates are read again: they hold for those who come\n");
    if (!s->args.stdio)
        gdb_clients_judge(&s->clients, connection_holds, s);
    config_release(s->file);
    free(s->file);
    s->file = now;
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct serve *s = handle->data;
    const struct console c = {print_line, stderr};
    if (number != SIGHUP || s->args.stdio || s->args.recording_only) {
        stop_serving(s, EXIT_OK);
        return;
    }
    log_write(LOG_AT_INFO, "%s: SIGHUP: %s is read again\n", s->args.command, s->config.path);
    if (!s->file || s->stopping)
        return;
    notify_systemd(NOTIFY_RELOADING, NULL);
    reload_board_file(s, &c);
    notify_systemd(NOTIFY_READY, s->config.name);
}

static void watch_serve_signals(struct serve *s)
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

static void on_board_ended(void *ctx, const char *how)
{
    struct serve *s = ctx;
    log_write(LOG_AT_ERROR, "%s: the board's program '%s' has ended: %s\n", s->args.command,
              s->config.command[0], how);
    stop_serving(s, s->attendant && s->live.phase == LIVE_SERVING ? EXIT_OK : EXIT_INPUT);
}

static void on_board_said(void *ctx, const char *line)
{
    const struct serve *s = ctx;
    s->attendant->said(s->attendant->ctx, line);
}

/* Or five times as long as a single answer may take. */
static uint64_t probe_limit_ms(const struct config *config)
{
    uint64_t patient = UINT64_C(5) * config->deadline_ms;
    return patient > PROBE_MS ? patient : PROBE_MS;
}

static void on_impatient(uv_timer_t *timer)
{
    struct serve *s = timer->data;
    char where[300];
    uint64_t limit =
        s->live.probe ? probe_limit_ms(&s->config) : (uint64_t)s->config.connect_timeout * 1000;
    uint64_t waited = uv_now(&s->loop) - s->connecting, next = REMINDER_MS;
    address_format(&s->config.target, where, sizeof where);
    if (!limit || waited < limit) {
        if (!s->live.probe && (!s->config.command || waited >= REMINDER_MS))
            log_write(LOG_AT_INFO, "waiting for the GDB server at %s ([target] connect in %s)\n",
                      where, s->config.path);
        next = limit && limit - waited < next ? limit - waited : next;
        uv_timer_start(timer, on_impatient, next, 0);
        return;
    }
    if (s->live.probe)
        log_write(LOG_AT_ERROR, "%s: the target does not answer in %" PRIu64 " s\n",
                  s->args.command, limit / 1000);
    else
        log_write(LOG_AT_ERROR,
                  "%s: no GDB server answers at %s ([target] connect in %s) within %u s "
                  "(connect_timeout): is the board's server running?\n",
                  s->args.command, where, s->config.path, s->config.connect_timeout);
    stop_serving(s, EXIT_INPUT);
}

static int admit_to_live(void *ctx, struct gdb_client *c, gdb_send_fn send, void *send_ctx)
{
    return live_admit(&((struct serve *)ctx)->live, c, send, send_ctx);
}

static void leave_live(void *ctx, struct gdb_client *c)
{
    live_leave(&((struct serve *)ctx)->live, c);
}

static void grant_live(void *ctx, struct gdb_client *c)
{
    live_granted(&((struct serve *)ctx)->live, c);
}

static void release_live_client(void *ctx, struct gdb_client *c)
{
    (void)ctx;
    live_client_free(c->served);
}

static void on_client_gone(void *ctx, bool last)
{
    struct serve *s = ctx;
    if (s->args.stdio || (s->args.exit_after_detach && last))
        stop_serving(s, EXIT_OK);
}

static void on_admitted(void *ctx, struct connection *c)
{
    gdb_clients_admit(&((struct serve *)ctx)->clients, c);
}

static void write_live_page(void *ctx, struct text_buf *out)
{
    live_status_page(&((struct serve *)ctx)->live, out);
}

static bool start_live_metrics(struct serve *s)
{
    struct message why;
    if (s->config.metrics.kind == ADDRESS_NONE)
        return true;
    s->metrics = metrics_start(&s->loop, &s->config.metrics, write_live_page, s, &why);
    if (!s->metrics) {
        stop_serving(s, complain_of_serve(s, &why, EXIT_LISTEN));
        return false;
    }
    return true;
}

static void start_listening(struct serve *s)
{
    const struct gdb_service service = {admit_to_live,  leave_live, release_live_client,
                                        on_client_gone, grant_live, s};
    struct message why;
    gdb_clients_init(&s->clients, &s->loop, &service, &s->config.limits);
    s->live.connections = &s->clients;
    s->live.reload = reload_board_file;
    if (!start_live_metrics(s))
        return;
    if (s->args.stdio) {
        struct connection *c = stream_connection_stdio(&s->loop);
        if (c) {
            gdb_clients_admit(&s->clients, c);
            return;
        }
        log_write(LOG_AT_ERROR, "%s: --stdio: " STREAM_CONNECTION_NO_PIPE "\n", s->args.command);
        stop_serving(s, EXIT_LISTEN);
        return;
    }
    if (access_control_start(&s->access, &s->loop, on_admitted, s, &why)) {
        stop_serving(s, complain_of_serve(s, &why, EXIT_LISTEN));
        return;
    }
    if (log_shows(LOG_AT_INFO))
        live_summary(&s->live, true, print_line, stderr);
    access_control_announce(&s->access, true);
    notify_systemd(NOTIFY_READY, s->config.name);
}

static void on_seconds(uv_timer_t *timer)
{
    struct serve *s = timer->data;
    target_interrupt(s->live.target);
}

static void start_recording(struct serve *s)
{
    struct recorder_stats stats;
    if (s->attendant) {
        s->attendant->ready(s->attendant->ctx, &s->live);
        return;
    }
    recorder_stats(s->live.recorder, &stats);
    log_write(LOG_AT_INFO, "%s: recording to %s\n", s->args.command, stats.folder);
    if (s->args.seconds)
        uv_timer_start(&s->patience, on_seconds, (uint64_t)s->args.seconds * 1000, 0);
    if (target_resume(s->live.target) != BT_OK) {
        log_write(LOG_AT_ERROR, "%s: the target cannot be resumed\n", s->args.command);
        stop_serving(s, EXIT_INPUT);
    }
}

static void on_ready(void *ctx, struct live *l, int error)
{
    struct serve *s = ctx;
    (void)l;
    if (s->stopping) /* the connection ends because of that */
        return;
    uv_timer_stop(&s->patience);
    if (error) {
        char where[300];
        address_format(&s->config.target, where, sizeof where);
        log_write(LOG_AT_ERROR, "%s: what answers at %s is no GDB server: %s\n", s->args.command,
                  where, bt_strerror(error));
        stop_serving(s, EXIT_INPUT);
    } else if (s->args.recording_only) {
        start_recording(s);
    } else {
        start_listening(s);
    }
}

static void on_halted(void *ctx, struct live *l)
{
    struct serve *s = ctx;
    if (!s->args.recording_only || s->stopping)
        return;
    if (!s->attendant || s->attendant->halted(s->attendant->ctx, l))
        stop_serving(s, EXIT_OK);
}

static void on_mistake(void *ctx, const char *text)
{
    struct serve *s = ctx;
    if (++s->mistakes <= MISTAKES_SHOWN)
        log_write(LOG_AT_ERROR, "%s: %s\n", s->args.command, text);
    else if (s->mistakes == MISTAKES_SHOWN + 1)
        log_write(LOG_AT_ERROR, "%s: and more\n", s->args.command);
}

/* In the target's command, too: a word that is a core's program, such as that of QEMU's -kernel. */
static void use_program(struct config *config, const char *program)
{
    for (unsigned i = 0; i < config->core_count; i++) {
        struct config_core *core = &config->cores[i];
        for (char **word = config->command; word && *word; word++)
            if (core->program[0] && strcmp(*word, core->program) == 0)
                *word = core->program;
        snprintf(core->program, sizeof core->program, "%s", program);
    }
}

static int load_serve_config(struct serve *s)
{
    struct message why;
    struct config_names names = {.run = s->folder.path, .mistake = on_mistake, .ctx = s};
    if (config_load(&s->config, s->args.path, &names, &why)) {
        if (s->mistakes && s->args.check_only)
            config_check_programs(&s->config, on_mistake, s);
        return s->mistakes ? EXIT_USAGE : complain_of_serve(s, &why, EXIT_USAGE);
    }
    names.mistake = NULL;
    s->file = calloc(1, sizeof *s->file);
    if (!s->file || config_load(s->file, s->args.path, &names, &why))
        return EXIT_INTERNAL;
    if (s->args.listen_count)
        s->config.access.listen_count = 0;
    for (size_t i = 0; i < s->args.listen_count; i++)
        if (config_access_listen(&s->config.access, s->args.listen[i], &why))
            return complain_of_serve(s, &why, EXIT_USAGE);
    if (s->args.listen_count && config_access_check(&s->config.access, &why)) {
        log_write(LOG_AT_ERROR, "%s: --listen: %s\n", s->args.command, why.text);
        return EXIT_USAGE;
    }
    if (s->args.attach && !config_has_probe(&s->config)) {
        log_write(LOG_AT_ERROR,
                  "%s: --attach: %s has no [probe], and another GDB server attaches as it "
                  "likes\n",
                  s->args.command, s->config.path);
        return EXIT_USAGE;
    }
    s->config.attach = s->args.attach;
    s->config.probe.connect_under_reset &= !s->args.attach;
    if (s->args.record)
        snprintf(s->config.record_dir, sizeof s->config.record_dir, "%s", s->args.record);
    s->config.record.compress |= s->args.compress;
    s->config.record.start |= s->args.record || s->args.recording_only;
    if (s->args.program)
        use_program(&s->config, s->args.program);
    if (s->args.recording_only && !s->config.record_dir[0]) {
        log_write(LOG_AT_ERROR, "%s: no folder: --record FOLDER, or [record] dir in %s\n",
                  s->args.command, s->config.path);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* What --check-config looks at beside the board file. */
static int check_files(struct serve *s)
{
    struct message why;
    if (config_has_tls(&s->config.access)) {
        struct tls_context *t = tls_context_server(&s->config.access.tls, s->config.path, &why);
        if (!t)
            return complain_of_serve(s, &why, EXIT_USAGE);
        tls_context_drop(t);
    }
    config_check_programs(&s->config, on_mistake, s);
    if (probe_target_flash_check(&s->config, &why))
        on_mistake(s, why.text);
    if (s->mistakes)
        return EXIT_INPUT;
    printf("%s: good: %s, %u core%s\n", s->config.path, s->config.name, s->config.core_count,
           s->config.core_count == 1 ? "" : "s");
    config_notes(&s->config);
    return EXIT_OK;
}

/* The folders that are written in, and that files are removed from at the end. */
static int enter_sandbox(const struct serve *s, struct message *why)
{
    const struct config *c = &s->config;
    struct sandbox_folders folders = {.count = 0};
    char beside[sizeof s->folder.path];
    if (s->args.no_sandbox)
        return BT_OK;
    snprintf(beside, sizeof beside, "%s", s->folder.path);
    char *slash = strrchr(beside, '/');
    if (slash)
        *slash = '\0';
    sandbox_add_folder(&folders, beside);
    sandbox_add_folder(&folders, c->record_dir);
    sandbox_add_folder(&folders, c->audit.file);
    for (unsigned i = 0; i < s->args.output_count; i++)
        sandbox_add_folder(&folders, s->args.outputs[i]);
    if (c->trace.kind == ADDRESS_UNIX)
        sandbox_add_folder(&folders, c->trace.host);
    for (unsigned i = 0; i < c->access.listen_count; i++)
        if (c->access.listen[i].address.kind == ADDRESS_UNIX)
            sandbox_add_folder(&folders, c->access.listen[i].address.host);
    return sandbox_enter(&folders, why);
}

/* The board's program has a sandbox of its own, or none, as nobody here knows what it needs: its
 * process is there before this one enters its own, which threads do not enter that are there. */
static int fork_board(struct serve *s, const struct board_command *command, struct message *why)
{
    int error = board_process_fork(&s->board, &s->loop, command, on_board_ended, s, why);
    if (s->attendant)
        s->board.said = on_board_said;
    return error ? error : enter_sandbox(s, why);
}

/* Everything that can go wrong before there is a loop to run. */
static int start_serving(struct serve *s)
{
    struct message why;
    const struct trace_sink sink = live_sink(&s->live);
    bool has_probe = config_has_probe(&s->config);
    const struct board_command board = {s->config.command, s->config.user, s->folder.path};
    if (!board.words && enter_sandbox(s, &why))
        return complain_of_serve(s, &why, EXIT_INPUT);
    if (!s->args.stdio && !s->args.recording_only) {
        int error = access_control_open(&s->access, &s->config.access, s->config.path,
                                        s->args.command, &why);
        if (error)
            return complain_of_serve(s, &why, error == BT_ERR_FORMAT ? EXIT_USAGE : EXIT_LISTEN);
    }
    s->audit = audit_open(&s->config.audit, &why);
    if (!s->audit && why.text[0])
        return complain_of_serve(s, &why, EXIT_INPUT);
    const struct probe_driver *driver = probe_driver_named(s->config.probe.type);
    if (has_probe && probe_thread_open(&s->probe, driver, &s->config, &sink, &why))
        return complain_of_serve(s, &why, EXIT_INPUT);
    if (s->args.user && sandbox_become(s->args.user, s->folder.path, &why))
        return complain_of_serve(s, &why, EXIT_USAGE);
    if (board.words && fork_board(s, &board, &why))
        return complain_of_serve(s, &why, EXIT_INPUT);
    if (live_start(&s->live, &s->loop, &s->config, on_ready, on_halted, s, &why))
        return complain_of_serve(s, &why, EXIT_INPUT);
    s->live.audit = s->audit;
    if (board.words && board_process_start(&s->board, &board, &why))
        return complain_of_serve(s, &why, EXIT_INPUT);
    if (!s->args.no_sandbox && sandbox_end_exec(&why))
        return complain_of_serve(s, &why, EXIT_INPUT);
    if (live_connect(&s->live, has_probe ? &s->probe : NULL))
        return EXIT_INTERNAL;
    s->connecting = uv_now(&s->loop);
    uv_timer_start(&s->patience, on_impatient, SILENCE_MS, 0);
    return EXIT_OK;
}

static int run_serve(struct serve *s)
{
    struct message why;
    int code = EXIT_OK;
    if (run_folder_make(&s->folder, &why))
        return complain_of_serve(s, &why, EXIT_INPUT);
    code = load_serve_config(s);
    if (!code && s->args.check_only) {
        code = check_files(s);
    } else if (!code && sandbox_loop_init(&s->loop)) {
        code = EXIT_INTERNAL;
    } else if (!code) {
        watch_serve_signals(s);
        watchdog_start(&s->watchdog, &s->loop);
        code = start_serving(s);
        if (code)
            stop_serving(s, code);
        uv_run(&s->loop, UV_RUN_DEFAULT);
        probe_thread_release(&s->probe);
        live_release(&s->live);
        audit_close(s->audit);
        uv_loop_close(&s->loop); /* behind all threads: they may be given its file descriptors */
        code = s->code;
    }
    config_release(&s->config);
    if (s->file)
        config_release(s->file);
    free(s->file);
    run_folder_remove(&s->folder);
    return code;
}

int serve_unattended(const struct serve_args *args, const struct serve_attendant *attendant)
{
    struct serve *s = calloc(1, sizeof *s);
    if (!s)
        return EXIT_INTERNAL;
    signal(SIGXFSZ, SIG_IGN);
    s->args = *args;
    s->attendant = attendant;
    int code = run_serve(s);
    free(s);
    return code;
}

static int serve_or_record(int argc, char **argv, bool recording_only)
{
    struct serve *s = calloc(1, sizeof *s);
    if (!s)
        return EXIT_INTERNAL;
    s->args.recording_only = recording_only;
    s->args.command = recording_only ? "btraced record" : "btraced serve";
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a recording that grows too large is an error of writing */
    int code = serve_args_parse(&s->args, argc, argv);
    if (code == 0)
        code = run_serve(s);
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
