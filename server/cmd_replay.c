/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced replay: a recording served to GDB. */
#include "server/commands.h"
#include "server/exit_codes.h"
#include "server/gdb_listener.h"
#include "server/replay.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LISTEN "127.0.0.1:3333"
#define ADDRESS_MAX    64

struct replay_args {
    char address[ADDRESS_MAX];
    unsigned port;
    bool odd_thumb;
    bool stdio;
    bool no_record;
    const char *elf[RECORDING_MAX_ELF];
    size_t elf_count;
    const char *path;
};

enum {
    OPT_LISTEN = 256,
    OPT_ELF,
    OPT_ODD_THUMB,
    OPT_STDIO,
    OPT_NO_RECORD,
};

static const struct option options[] = {
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"elf", required_argument, NULL, OPT_ELF},
    {"stdio", no_argument, NULL, OPT_STDIO},
    {"no-record", no_argument, NULL, OPT_NO_RECORD},
    {"odd-thumb", no_argument, NULL, OPT_ODD_THUMB},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

const char replay_help[] =
    "usage: btraced replay [OPTION]... RECORDING\n"
    "Serves a recorded execution history to GDB. RECORDING is a CoreSight snapshot folder.\n"
    "\n"
    "  --listen ADDRESS:PORT  where GDB connects (default " DEFAULT_LISTEN "); loopback only,\n"
    "                         port 0 takes a free one\n"
    "  --stdio                serve one GDB that starts btraced itself:\n"
    "                         target remote | btraced replay --stdio RECORDING\n"
    "  --elf FILE             program file that completes the recording's memory dumps\n"
    "  --odd-thumb            give T32 code odd addresses, for a GDB that has no symbols to tell\n"
    "                         A32 from T32; breakpoints in T32 code are then not hit\n"
    "  --no-record            do not tell GDB that it records already: reverse-step, "
    "reverse-next,\n"
    "                         reverse-finish, bt in the past are then answered with values\n"
    "\n"
    "example:\n"
    "  btraced replay --listen 127.0.0.1:3333 recording\n"
    "  (gdb) target remote :3333\n"
    "  (gdb) record instruction-history\n";

static int usage_error(const char *text, const char *value)
{
    fprintf(stderr, "btraced replay: %s%s%s%s; see 'btraced replay --help'\n", text,
            value ? " '" : "", value ? value : "", value ? "'" : "");
    return EXIT_USAGE;
}

static bool is_loopback(const char *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (uv_ip4_addr(address, 0, &v4) == 0)
        return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    return uv_ip6_addr(address, 0, &v6) == 0 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

/* ADDRESS:PORT, [ADDRESS]:PORT or :PORT */
static int parse_listen(const char *text, struct replay_args *args)
{
    const char *colon = strrchr(text, ':');
    char *end;
    if (!colon || !colon[1])
        return usage_error("--listen wants ADDRESS:PORT, not", text);
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (!isdigit((unsigned char)colon[1]) || *end || port > 65535)
        return usage_error("a port is a number from 0 to 65535, not", colon + 1);
    size_t len = (size_t)(colon - text);
    if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    }
    if (len >= ADDRESS_MAX)
        return usage_error("--listen wants ADDRESS:PORT, not", text);
    if (len == 0)
        strcpy(args->address, "127.0.0.1");
    else
        snprintf(args->address, sizeof args->address, "%.*s", (int)len, text);
    if (strcmp(args->address, "localhost") == 0)
        strcpy(args->address, "127.0.0.1");
    args->port = (unsigned)port;
    if (!is_loopback(args->address))
        return usage_error("only loopback addresses (127.0.0.1, ::1) can be listened on, not",
                           args->address);
    return 0;
}

static int parse_args(int argc, char **argv, struct replay_args *args)
{
    memset(args, 0, sizeof *args);
    int code = parse_listen(DEFAULT_LISTEN, args);
    for (int option; !code && (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == OPT_LISTEN) {
            code = parse_listen(optarg, args);
        } else if (option == OPT_ELF) {
            if (args->elf_count == RECORDING_MAX_ELF)
                return usage_error("too many --elf options", NULL);
            args->elf[args->elf_count++] = optarg;
        } else if (option == OPT_STDIO) {
            args->stdio = true;
        } else if (option == OPT_ODD_THUMB) {
            args->odd_thumb = true;
        } else if (option == OPT_NO_RECORD) {
            args->no_record = true;
        } else if (option == 'h') {
            fputs(replay_help, stdout);
            return -1;
        } else {
            return EXIT_USAGE;
        }
    }
    if (!code && optind != argc - 1)
        return usage_error(optind == argc ? "no recording given" : "more than one recording given",
                           NULL);
    args->path = argv[argc - 1];
    return code;
}

struct daemon {
    struct replay *replay;
    uv_loop_t loop;
    struct gdb_listener listener;
    uv_signal_t interrupt, terminate;
    uv_idle_t search; /* active while one goes on */
};

static void stop(struct daemon *d)
{
    if (uv_is_closing((uv_handle_t *)&d->interrupt))
        return;
    gdb_listener_stop(&d->listener);
    uv_close((uv_handle_t *)&d->interrupt, NULL);
    uv_close((uv_handle_t *)&d->terminate, NULL);
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
    stop(handle->data);
}

static void watch_signals(struct daemon *d)
{
    uv_signal_init(&d->loop, &d->interrupt);
    uv_signal_init(&d->loop, &d->terminate);
    d->interrupt.data = d->terminate.data = d;
    uv_signal_start(&d->interrupt, on_signal, SIGINT);
    uv_signal_start(&d->terminate, on_signal, SIGTERM);
}

static int open_session(void *ctx, struct gdb_session *s, gdb_send_fn send, void *send_ctx)
{
    struct replay *r = ((struct daemon *)ctx)->replay;
    int error = gdb_session_init(s, &replay_target, r, send, send_ctx);
    replay_connected(r, error ? NULL : s);
    return error;
}

static void close_session(void *ctx)
{
    replay_connected(((struct daemon *)ctx)->replay, NULL);
}

static void on_client_gone(void *ctx)
{
    stop(ctx);
}

/* Two lines, because the front ends that start a server look for one or the other. */
static void announce(unsigned port)
{
    fprintf(stderr, "Info : Listening on port %u for gdb connections\n", port);
    fprintf(stderr, "Listening on port %u\n", port);
    fflush(stderr);
}

static int serve(struct replay *r, const struct replay_args *args)
{
    struct daemon d;
    memset(&d, 0, sizeof d);
    if (uv_loop_init(&d.loop) < 0)
        return EXIT_INTERNAL;
    d.replay = r;
    const struct gdb_service service = {open_session, close_session, &d};
    watch_signals(&d);
    uv_idle_init(&d.loop, &d.search);
    d.search.data = &d;
    r->io.later = search_later;
    r->io.ctx = &d;
    int error = args->stdio
                    ? gdb_listener_start_stdio(&d.listener, &d.loop, &service, on_client_gone)
                    : gdb_listener_start(&d.listener, &d.loop, args->address, args->port, &service);
    if (error) {
        fprintf(stderr, "btraced replay: cannot listen on '%s' port %u: %s\n", args->address,
                args->port, uv_strerror(error));
        uv_close((uv_handle_t *)&d.interrupt, NULL);
        uv_close((uv_handle_t *)&d.terminate, NULL);
        uv_close((uv_handle_t *)&d.search, NULL);
    } else if (!args->stdio) {
        announce(d.listener.port);
    }
    uv_run(&d.loop, UV_RUN_DEFAULT);
    uv_loop_close(&d.loop);
    return error ? EXIT_LISTEN : EXIT_OK;
}

int cmd_replay(int argc, char **argv)
{
    struct replay_args args;
    struct replay r;
    struct message why = {"out of memory"};
    char name[] = "btraced replay";
    argv[0] = name; /* getopt's messages begin with it */
    int code = parse_args(argc, argv, &args);
    if (code)
        return code < 0 ? EXIT_OK : code;
    int error = replay_init(&r, args.path, args.elf, args.elf_count, &why);
    for (size_t i = 0; i < r.recording.warning_count; i++)
        fprintf(stderr, "btraced replay: warning: %s\n", r.recording.warnings[i]);
    if (error) {
        fprintf(stderr, "btraced replay: %s\n", why.text);
        code = EXIT_INPUT;
    } else {
        r.odd_thumb = args.odd_thumb;
        r.no_record = args.no_record;
        code = serve(&r, &args);
    }
    replay_release(&r);
    return code;
}
