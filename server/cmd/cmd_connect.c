/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced connect: the pipe from GDB to a server on another machine, through TLS if there are
 * certificates. btraced ctl: one `monitor` command at such a server, without GDB. */
#include "commands.h"
#include "protocol/rsp/plain_text.h"
#include "protocol/rsp/rsp.h"
#include "server/base/command_line.h"
#include "server/base/exit_codes.h"
#include "server/net/address.h"
#include "server/net/stream_connection.h"
#include "server/net/tls.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_MS   10000      /* for each address, and for the handshake */
#define SILENCE_MS   30000      /* after GDB has ended, for the rest of the answers */
#define UNSENT_MAX   (1u << 20) /* bytes; then the other side has to wait */
#define SETTINGS_MAX 512
#define ANSWER_MAX   0x4000 /* bytes of a packet */
#define WORDS_MAX    1000   /* of a command */

struct pipe_args {
    struct address to;
    const char *ca, *cert, *key, *name;
    bool plain;
    char files[3][SETTINGS_MAX]; /* ca, cert and key of the user's own folder */
    const char *command;         /* connect or ctl: */
    char words[WORDS_MAX];       /* what is asked instead of being a pipe */
};

struct pipe_ends {
    uv_loop_t loop;
    const struct pipe_args *args;
    struct connection *gdb;    /* NULL: closed */
    struct connection *server; /* NULL: not yet, or closed */
    uv_timer_t patience;
    bool ready; /* the server has admitted us, as far as can be told */
    bool asked; /* GDB has sent something */
    bool heard; /* the server has */
    bool gdb_over;
    struct gdb_link link; /* of ctl */
    int code;
};

static const char connect_help[] =
    "usage: btraced connect HOST:PORT [OPTION]...\n"
    "The pipe from GDB to a btraced on another machine. GDB starts it:\n"
    "\n"
    "  (gdb) target extended-remote | btraced connect lab-7:3334\n"
    "\n"
    "  --cert FILE   the certificate to show (PEM)\n"
    "  --key FILE    its private key, readable by you alone (default: in the file of --cert)\n"
    "  --ca FILE     the authority that has signed the server's certificate (default: those that\n"
    "                this machine trusts)\n"
    "  --name NAME   the name that the server's certificate must have (default: HOST)\n"
    "  --plain       without TLS, for a server that admits whole networks\n"
    "\n"
    "Without --cert and --ca the files cert.pem, key.pem and ca.pem are taken from\n"
    "~/.config/btraced, if there are any; if there are none it is as with --plain.\n";

static const char ctl_help[] =
    "usage: btraced ctl [OPTION]... HOST:PORT WORD...\n"
    "One 'monitor' command at a server, as GDB would send it; what it answers is printed:\n"
    "\n"
    "  btraced ctl unix:/run/btraced.sock clients\n"
    "  btraced ctl lab-7:3334 kick 2\n"
    "\n"
    "Who one is, and what one may, is as with GDB ([access] in the board file); options in front "
    "of\n"
    "HOST:PORT, and certificates, as for 'btraced connect'. 'btraced ctl HOST:PORT help' lists "
    "the\n"
    "commands. The exit code is 0 if there was an answer.\n";

static void close_pipe(struct pipe_ends *p)
{
    gdb_link_close(&p->link);
    if (p->gdb)
        connection_finish(p->gdb);
    if (p->server)
        connection_finish(p->server);
    if (!uv_is_closing((uv_handle_t *)&p->patience))
        uv_close((uv_handle_t *)&p->patience, NULL);
    p->gdb = p->server = NULL;
}

static void end_pipe(struct pipe_ends *p, const char *why)
{
    char where[300], text[600];
    address_format(&p->args->to, where, sizeof where);
    snprintf(text, sizeof text, "btraced %s: %s: %s\n", p->args->command, where, why);
    plain_text(text, strlen(text), "\n"); /* the server's certificate may be quoted in it */
    fputs(text, stderr);
    p->code = EXIT_CONNECT;
    close_pipe(p);
}

static void on_impatient(uv_timer_t *timer)
{
    struct pipe_ends *p = timer->data;
    if (p->ready && *p->args->words)
        end_pipe(p, "no answer in 30 s");
    else if (p->ready)
        close_pipe(p);
    else
        end_pipe(p, "no answer to the handshake in 10 s: is it a btraced that speaks TLS?");
}

static void on_gdb_input(void *ctx, const void *bytes, size_t length)
{
    struct pipe_ends *p = ctx;
    p->asked = true;
    if (connection_write(p->server, bytes, length) != BT_OK)
        end_pipe(p, "the connection is broken");
    else if (connection_unsent(p->server) > UNSENT_MAX)
        connection_pause(p->gdb, true);
}

static void on_server_drained(void *ctx)
{
    struct pipe_ends *p = ctx;
    if (p->gdb)
        connection_pause(p->gdb, false);
}

/* GDB may still want to read what it has asked for. */
static void on_gdb_ended(void *ctx, const char *why)
{
    struct pipe_ends *p = ctx;
    (void)why;
    p->gdb_over = true;
    connection_end(p->server);
    uv_timer_start(&p->patience, on_impatient, SILENCE_MS, 0);
}

static void on_server_input(void *ctx, const void *bytes, size_t length)
{
    struct pipe_ends *p = ctx;
    p->heard = true;
    if (p->gdb_over)
        uv_timer_start(&p->patience, on_impatient, SILENCE_MS, 0);
    if (connection_write(p->gdb, bytes, length) != BT_OK)
        close_pipe(p); /* nobody reads any more */
    else if (connection_unsent(p->gdb) > UNSENT_MAX)
        connection_pause(p->server, true);
}

static void on_gdb_drained(void *ctx)
{
    struct pipe_ends *p = ctx;
    if (p->server)
        connection_pause(p->server, false);
}

/* With TLS 1.3 the server's refusal comes when the handshake is already over here. */
static void on_server_ended(void *ctx, const char *why)
{
    struct pipe_ends *p = ctx;
    if (why && !(p->heard && p->gdb_over))
        end_pipe(p, why);
    else if (p->heard || (p->gdb_over && !p->asked))
        close_pipe(p);
    else
        end_pipe(p, "the server has closed the connection: another client may have the target, or "
                    "it wants a certificate (--cert), or does not let this address in");
}

/* ctl */

static void write_question(void *ctx, const void *bytes, size_t length)
{
    struct pipe_ends *p = ctx;
    if (p->server && connection_write(p->server, bytes, length) != BT_OK)
        end_pipe(p, "the connection is broken");
}

/* Text of O packets until there is an OK or an error; stops and the like are passed over. */
static void on_answer(void *ctx, const char *payload, size_t length)
{
    struct pipe_ends *p = ctx;
    char text[ANSWER_MAX / 2 + 1];
    size_t n = 0;
    if (!payload || !length) {
        end_pipe(p, payload ? "it knows no 'monitor'" : "an answer that is too long");
    } else if (length == 2 && memcmp(payload, "OK", 2) == 0) {
        p->code = EXIT_OK;
        close_pipe(p);
    } else if (payload[0] == 'E') {
        snprintf(text, sizeof text, "refused: %s", length > 2 ? payload + 2 : payload);
        end_pipe(p, text);
    } else if (payload[0] == 'O') {
        for (size_t i = 1; i + 1 < length; i += 2)
            text[n++] = (char)((unsigned)text_hex_digit(payload[i]) << 4 |
                               (unsigned)text_hex_digit(payload[i + 1]));
        plain_text(text, n, "\n\t");
        fwrite(text, 1, n, stdout);
    }
}

static void on_answer_broken(void *ctx, int error)
{
    (void)error;
    end_pipe(ctx, "that is no GDB server");
}

static void on_answer_input(void *ctx, const void *bytes, size_t length)
{
    struct pipe_ends *p = ctx;
    uv_timer_start(&p->patience, on_impatient, SILENCE_MS, 0);
    gdb_link_input(&p->link, bytes, length);
}

static void on_answer_ended(void *ctx, const char *why)
{
    end_pipe(ctx, why ? why
                      : "the server has closed the connection: it wants a certificate (--cert), or "
                        "does not let this address in");
}

static void ask_server(struct pipe_ends *p)
{
    static const struct gdb_link_events events = {on_answer, on_answer_broken};
    const struct connection_user of_server = {
        .input = on_answer_input, .ended = on_answer_ended, .ctx = p};
    struct text_buf packet;
    text_buf_init(&packet);
    int error = gdb_link_init(&p->link, ANSWER_MAX, &events, p, write_question, p);
    text_buf_add(&packet, "qRcmd,", 6);
    text_buf_hex(&packet, p->args->words, strlen(p->args->words));
    error = error ? error : text_buf_error(&packet);
    if (!error)
        error = connection_start(p->server, &of_server);
    gdb_link_open(&p->link);
    if (!error)
        error = gdb_link_send(&p->link, packet.data, packet.len);
    text_buf_release(&packet);
    if (error && p->server)
        end_pipe(p, "the connection is broken");
    else if (p->server)
        uv_timer_start(&p->patience, on_impatient, SILENCE_MS, 0);
}

static void on_ready(struct pipe_ends *p)
{
    const struct connection_user of_server = {
        .input = on_server_input, .ended = on_server_ended, .drained = on_server_drained, .ctx = p};
    const struct connection_user of_gdb = {
        .input = on_gdb_input, .ended = on_gdb_ended, .drained = on_gdb_drained, .ctx = p};
    p->ready = true;
    uv_timer_stop(&p->patience);
    if (*p->args->words)
        ask_server(p);
    else if (connection_start(p->server, &of_server) != BT_OK ||
             (p->gdb && connection_start(p->gdb, &of_gdb) != BT_OK))
        end_pipe(p, "the connection is broken");
}

static void on_shaken(void *ctx, struct connection *c, const char *why)
{
    struct pipe_ends *p = ctx;
    (void)c;
    if (why)
        end_pipe(p, why);
    else
        on_ready(p);
}

/* 0, or the error number. */
static int try_address(int fd, const struct sockaddr *address, socklen_t length)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof error;
    if (connect(fd, address, length) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    if (poll(&wait, 1, CONNECT_MS) <= 0)
        return ETIMEDOUT;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

/* A connected socket, or -1 with *why. */
static int try_socket(int family, const struct sockaddr *address, socklen_t length,
                      const char **why)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = fd < 0 ? errno : try_address(fd, address, length);
    if (!error)
        return fd;
    *why = error == ECONNREFUSED ? "nobody listens there (connection refused)" : strerror(error);
    if (fd >= 0)
        close(fd);
    return -1;
}

static int reach_server(const struct address *to, const char **why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    struct sockaddr_un u = {.sun_family = AF_UNIX};
    char port[8];
    int fd = -1;
    if (to->kind == ADDRESS_UNIX) {
        memcpy(u.sun_path, to->host, strnlen(to->host, sizeof u.sun_path - 1));
        return try_socket(AF_UNIX, (struct sockaddr *)&u, sizeof u, why);
    }
    snprintf(port, sizeof port, "%u", to->port);
    int error = getaddrinfo(to->host, port, &hints, &found);
    if (error) {
        *why = gai_strerror(error);
        return -1;
    }
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
        fd = try_socket(a->ai_family, a->ai_addr, a->ai_addrlen, why);
    freeaddrinfo(found);
    return fd;
}

static void begin_pipe(struct pipe_ends *p, struct tls_context *context)
{
    const char *why = "no reason is given";
    int fd = reach_server(&p->args->to, &why);
    if (fd < 0) {
        end_pipe(p, why);
        return;
    }
    p->server = stream_connection_new(&p->loop, fd);
    if (p->server && context)
        p->server = tls_connection_new(p->server, context, on_shaken, p);
    if (!p->server)
        end_pipe(p, "the connection is broken");
    else if (context)
        uv_timer_start(&p->patience, on_impatient, CONNECT_MS, 0);
    else
        on_ready(p);
}

static int run_pipe(const struct pipe_args *args)
{
    struct tls_client client = {args->ca, args->cert, args->key,
                                args->name ? args->name : args->to.host};
    struct pipe_ends p = {.args = args};
    struct tls_context *context = NULL;
    struct message why;
    if (!args->plain) {
        context = tls_context_client(&client, &why);
        if (!context) {
            fprintf(stderr, "btraced %s: %s\n", args->command, why.text);
            return EXIT_INPUT;
        }
    }
    uv_loop_init(&p.loop);
    uv_timer_init(&p.loop, &p.patience);
    p.patience.data = &p;
    p.gdb = *args->words ? NULL : stream_connection_stdio(&p.loop);
    if (p.gdb || *args->words) {
        begin_pipe(&p, context);
    } else {
        fprintf(stderr, "btraced connect: " STREAM_CONNECTION_NO_PIPE "\n");
        p.code = EXIT_USAGE;
        close_pipe(&p);
    }
    uv_run(&p.loop, UV_RUN_DEFAULT);
    uv_loop_close(&p.loop);
    tls_context_drop(context);
    gdb_link_release(&p.link);
    return p.code;
}

/* The user's own file, if it is there. */
static const char *own_file(char *path, const char *name)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config == '/')
        snprintf(path, SETTINGS_MAX, "%s/btraced/%s", config, name);
    else if (home && *home)
        snprintf(path, SETTINGS_MAX, "%s/.config/btraced/%s", home, name);
    else
        return NULL;
    return access(path, F_OK) == 0 ? path : NULL;
}

/* What was not given. */
static int complete_pipe_args(struct pipe_args *a)
{
    if (a->plain)
        return a->ca || a->cert || a->key || a->name
                   ? usage_error(a->command, "--plain is without certificates", NULL)
                   : 0;
    if (a->key && !a->cert)
        return usage_error(a->command, "--key wants --cert", NULL);
    if (a->cert && !a->key)
        a->key = a->cert;
    if (!a->cert) {
        a->cert = own_file(a->files[1], "cert.pem");
        a->key = a->cert ? own_file(a->files[2], "key.pem") : NULL;
        a->key = a->key ? a->key : a->cert;
    }
    if (!a->ca)
        a->ca = own_file(a->files[0], "ca.pem");
    a->plain = !a->ca && !a->cert && !a->name;
    return 0;
}

static int parse_connect_args(int argc, char **argv, struct pipe_args *a)
{
    bool ctl = strcmp(a->command, "ctl") == 0;
    size_t length = 0;
    const struct command_option options[] = {
        {.name = "ca", .text = &a->ca},       {.name = "cert", .text = &a->cert},
        {.name = "key", .text = &a->key},     {.name = "name", .text = &a->name},
        {.name = "plain", .flag = &a->plain}, {.name = NULL},
    };
    const struct command_line line = {.name = a->command,
                                      .help = ctl ? ctl_help : connect_help,
                                      .options = options,
                                      .ends_at_argument = ctl};
    int code = command_line_parse(&line, argc, argv);
    if (!code && !(ctl && optind < argc))
        code = command_line_argument(&line, argc, "HOST:PORT");
    if (code)
        return code;
    if (address_problem(argv[optind], &a->to) || (a->to.kind == ADDRESS_TCP && a->to.port == 0))
        return usage_error(a->command, "HOST:PORT, [ADDRESS]:PORT or unix:PATH is wanted", NULL);
    for (int i = optind + 1; i < argc && length < sizeof a->words; i++)
        length += (size_t)snprintf(a->words + length, sizeof a->words - length, "%s%s",
                                   length ? " " : "", argv[i]);
    if (ctl && (!length || length >= sizeof a->words))
        return usage_error("ctl", length ? "the command is too long" : "no command given", NULL);
    return complete_pipe_args(a);
}

static int reach(int argc, char **argv, const char *command)
{
    struct pipe_args args = {.command = command};
    int code = parse_connect_args(argc, argv, &args);
    if (code)
        return code < 0 ? EXIT_OK : code;
    return run_pipe(&args);
}

int cmd_connect(int argc, char **argv)
{
    return reach(argc, argv, "connect");
}

int cmd_ctl(int argc, char **argv)
{
    return reach(argc, argv, "ctl");
}
