/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/net/stream_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_SIZE   65536
#define LINGER_MS   2000
#define LINGER_MOST 15         /* times */
#define NOBODY      65534      /* who has no number in a user namespace: user_namespaces(7) */
#define DRAIN_SIZE  (1u << 20) /* bytes that are read and dropped at most after the end */

/* Whether its owner still wants it: from each state to one behind it. */
enum stream_life {
    STREAM_OPEN,
    STREAM_FINISHING, /* what waits is sent, what comes is dropped */
    STREAM_CLOSING,
};

/* What is written, from each state to the next; what is read goes on beside it. */
enum stream_output {
    STREAM_WRITING,
    STREAM_ENDING, /* nothing more is taken, what waits is sent */
    STREAM_ENDED,  /* the other side is told */
};

/* Freed when its last handle is closed. */
struct stream_connection {
    struct connection base;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    uv_pipe_t output;  /* stdio: what is written goes there */
    uv_stream_t *sink; /* the socket, or the output */
    uv_timer_t linger;
    uv_shutdown_t shutdown;
    unsigned handles; /* that are not closed */
    enum stream_life life;
    enum stream_output output_state;
    bool reading;
    bool ended; /* the other side has ended, or the connection is broken */
    size_t drained, unsent_before;
    unsigned lingered;
    char buffer[READ_SIZE];
};

struct pending_write {
    uv_write_t request;
    char bytes[];
};

static struct stream_connection *stream_connection_self(struct connection *c)
{
    return (struct stream_connection *)c;
}

static void on_closed(uv_handle_t *handle)
{
    struct stream_connection *s = handle->data;
    if (--s->handles > 0)
        return;
    if (s->base.user.released)
        s->base.user.released(s->base.user.ctx);
    free(s);
}

static void stream_connection_close(struct connection *c)
{
    struct stream_connection *s = stream_connection_self(c);
    if (s->life == STREAM_CLOSING)
        return;
    s->life = STREAM_CLOSING;
    uv_close(&s->socket.handle, on_closed);
    uv_close((uv_handle_t *)&s->linger, on_closed);
    if (s->sink != &s->socket.stream)
        uv_close((uv_handle_t *)&s->output, on_closed);
}

static void stream_connection_report_ended(struct stream_connection *s, const char *why)
{
    if (s->ended || s->life == STREAM_CLOSING)
        return;
    s->ended = true;
    if (s->life == STREAM_FINISHING && (s->output_state == STREAM_ENDED || why))
        stream_connection_close(&s->base);
    else if (s->life == STREAM_OPEN && s->base.user.ended)
        s->base.user.ended(s->base.user.ctx, why);
}

static size_t stream_connection_unsent(const struct connection *c)
{
    return uv_stream_get_write_queue_size(((const struct stream_connection *)c)->sink);
}

static void on_linger(uv_timer_t *timer)
{
    struct stream_connection *s = timer->data;
    size_t unsent = stream_connection_unsent(&s->base);
    if (unsent == 0 || unsent >= s->unsent_before || ++s->lingered >= LINGER_MOST) {
        stream_connection_close(&s->base);
        return;
    }
    s->unsent_before = unsent;
    uv_timer_again(timer);
}

/* The other side ends too, or the time is over: closing while it still sends would destroy what
 * it has not read yet. */
static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct stream_connection *s = request->handle->data;
    s->output_state = STREAM_ENDED;
    if (s->life == STREAM_FINISHING && (status < 0 || s->ended))
        stream_connection_close(&s->base);
}

static int stream_connection_begin_shutdown(struct stream_connection *s)
{
    if (s->output_state != STREAM_WRITING)
        return BT_OK;
    s->output_state = STREAM_ENDING;
    return uv_shutdown(&s->shutdown, s->sink, on_shutdown) == 0 ? BT_OK : BT_ERR_IO;
}

static void stream_connection_end(struct connection *c)
{
    struct stream_connection *s = stream_connection_self(c);
    if (s->life != STREAM_CLOSING)
        stream_connection_begin_shutdown(s);
}

static int stream_connection_begin_reading(struct stream_connection *s);

static void stream_connection_finish(struct connection *c)
{
    struct stream_connection *s = stream_connection_self(c);
    if (s->life != STREAM_OPEN)
        return;
    s->life = STREAM_FINISHING;
    s->unsent_before = stream_connection_unsent(c) + 1;
    uv_timer_start(&s->linger, on_linger, LINGER_MS, LINGER_MS);
    if (stream_connection_begin_shutdown(s) != BT_OK ||
        stream_connection_begin_reading(s) != BT_OK ||
        (s->output_state == STREAM_ENDED && s->ended))
        stream_connection_close(c);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct stream_connection *s = handle->data;
    (void)suggested;
    *buf = uv_buf_init(s->buffer, sizeof s->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct stream_connection *s = stream->data;
    if (n < 0) {
        stream_connection_report_ended(s, n == UV_EOF ? NULL : uv_strerror((int)n));
    } else if (s->life == STREAM_FINISHING) {
        s->drained += (size_t)n;
        if (s->drained > DRAIN_SIZE)
            stream_connection_close(&s->base);
    } else {
        s->base.user.input(s->base.user.ctx, buf->base, (size_t)n);
    }
}

static int stream_connection_begin_reading(struct stream_connection *s)
{
    if (s->reading || s->ended)
        return BT_OK;
    s->reading = uv_read_start(&s->socket.stream, on_alloc, on_read) == 0;
    return s->reading ? BT_OK : BT_ERR_IO;
}

static int stream_connection_start(struct connection *c)
{
    return stream_connection_begin_reading(stream_connection_self(c));
}

static void stream_connection_pause(struct connection *c, bool paused)
{
    struct stream_connection *s = stream_connection_self(c);
    if (s->life != STREAM_OPEN)
        return;
    if (!paused) {
        stream_connection_begin_reading(s);
    } else if (s->reading) {
        uv_read_stop(&s->socket.stream);
        s->reading = false;
    }
}

static void on_written(uv_write_t *request, int status)
{
    struct stream_connection *s = request->handle->data;
    free(request); /* first member of struct pending_write */
    if (s->life == STREAM_CLOSING)
        return;
    if (status < 0 && status != UV_ECANCELED)
        stream_connection_report_ended(s, uv_strerror(status));
    else if (s->life == STREAM_OPEN && s->base.user.drained &&
             stream_connection_unsent(&s->base) == 0)
        s->base.user.drained(s->base.user.ctx);
}

static int stream_connection_write(struct connection *c, const void *bytes, size_t length)
{
    struct stream_connection *s = stream_connection_self(c);
    if (s->life == STREAM_CLOSING || s->output_state != STREAM_WRITING)
        return BT_ERR_IO;
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)length);
    int sent = stream_connection_unsent(c) ? UV_EAGAIN : uv_try_write(s->sink, &buf, 1);
    if (sent < 0 && sent != UV_EAGAIN)
        return BT_ERR_IO;
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (done == length)
        return BT_OK;
    struct pending_write *w = malloc(sizeof *w + (length - done));
    if (!w)
        return BT_ERR_NOMEM;
    memcpy(w->bytes, (const char *)bytes + done, length - done);
    buf = uv_buf_init(w->bytes, (unsigned)(length - done));
    if (uv_write(&w->request, s->sink, &buf, 1, on_written) < 0) {
        free(w);
        return BT_ERR_IO;
    }
    return BT_OK;
}

static bool stream_connection_leaving(const struct connection *c)
{
    const struct stream_connection *s = (const struct stream_connection *)c;
    uv_os_fd_t fd;
    if (uv_fileno(&s->socket.handle, &fd) < 0)
        return true;
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0;
}

static const struct connection_ops stream_connection_ops = {
    .start = stream_connection_start,
    .write = stream_connection_write,
    .unsent = stream_connection_unsent,
    .leaving = stream_connection_leaving,
    .pause = stream_connection_pause,
    .end = stream_connection_end,
    .finish = stream_connection_finish,
    .close = stream_connection_close,
};

/* Of an IPv4 address that came in through IPv6 the IPv4 address, so that there is one way to write
 * it in a list. BT_ERR_UNSUPPORTED: it has none, as on a Unix socket. */
static int peer_address(int fd, struct sockaddr_storage *address)
{
    socklen_t length = sizeof *address;
    memset(address, 0, sizeof *address);
    if (getpeername(fd, (struct sockaddr *)address, &length) != 0)
        return BT_ERR_UNSUPPORTED;
    if (address->ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
            return BT_OK;
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = v6.sin6_port};
        memcpy(&v4.sin_addr, v6.sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
        memset(address, 0, sizeof *address);
        memcpy(address, &v4, sizeof v4);
    }
    return address->ss_family == AF_INET ? BT_OK : BT_ERR_UNSUPPORTED;
}

/* Whether this process sees all users: in a user namespace those that have no number there are all
 * the same. */
static bool sees_all_users(void)
{
    unsigned long inside = 1, outside = 1, count = 0;
    FILE *map = fopen("/proc/self/uid_map", "re");
    if (map && fscanf(map, "%lu %lu %lu", &inside, &outside, &count) != 3)
        count = 0;
    if (map)
        fclose(map);
    return inside == 0 && outside == 0 && count == UINT32_MAX;
}

static void note_unix_peer(int fd, struct identity *id, char *text, size_t size)
{
    struct ucred who;
    socklen_t length = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) {
        snprintf(text, size, "a local user");
        return;
    }
    if (who.uid != NOBODY || sees_all_users())
        id->uid = who.uid;
    const struct passwd *user = getpwuid(who.uid);
    snprintf(text, size, "user %s, process %d", user ? user->pw_name : "without a name",
             (int)who.pid);
}

static void note_peer(int fd, struct identity *id, char *text, size_t size)
{
    struct sockaddr_storage a;
    char host[INET6_ADDRSTRLEN];
    if (peer_address(fd, &a) != BT_OK) {
        note_unix_peer(fd, id, text, size);
        return;
    }
    id->address = a;
    if (a.ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, &a, sizeof v4);
        uv_ip4_name(&v4, host, sizeof host);
        snprintf(text, size, "%s:%u", host, ntohs(v4.sin_port));
    } else {
        struct sockaddr_in6 v6;
        memcpy(&v6, &a, sizeof v6);
        uv_ip6_name(&v6, host, sizeof host);
        snprintf(text, size, "[%s]:%u", host, ntohs(v6.sin6_port));
    }
}

static struct stream_connection *stream_connection_make(uv_loop_t *loop)
{
    struct stream_connection *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->base.ops = &stream_connection_ops;
    s->base.who.uid = IDENTITY_NO_USER;
    s->sink = &s->socket.stream;
    uv_timer_init(loop, &s->linger);
    s->linger.data = s;
    s->handles = 2; /* with the socket */
    return s;
}

static bool is_tcp(int fd)
{
    int domain = 0;
    socklen_t length = sizeof domain;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length);
    return domain == AF_INET || domain == AF_INET6;
}

/* The questions of keepalive begin after a third of the time. What was sent and is not acknowledged
 * counts from then on, and so does a window that stays closed: tcp(7). */
void stream_connection_watch(int fd, unsigned seconds)
{
    int on = 1, third = (int)seconds / 3, count = 2, ms = (int)seconds * 1000;
    if (!is_tcp(fd))
        return;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &third, sizeof third);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &third, sizeof third);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

struct connection *stream_connection_new(uv_loop_t *loop, int fd)
{
    struct stream_connection *s = stream_connection_make(loop);
    int error;
    if (!s) {
        close(fd);
        return NULL;
    }
    note_peer(fd, &s->base.who, s->base.peer, sizeof s->base.peer);
    if (is_tcp(fd)) {
        uv_tcp_init(loop, &s->socket.tcp);
        error = uv_tcp_open(&s->socket.tcp, fd);
        if (!error)
            uv_tcp_nodelay(&s->socket.tcp, 1);
    } else {
        uv_pipe_init(loop, &s->socket.pipe, 0);
        error = uv_pipe_open(&s->socket.pipe, fd);
    }
    s->socket.handle.data = s;
    if (error) {
        close(fd);
        stream_connection_close(&s->base);
        return NULL;
    }
    return &s->base;
}

/* Files and terminals would be changed for others, or cannot be waited for. */
static bool is_pipe(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

struct connection *stream_connection_stdio(uv_loop_t *loop)
{
    if (!is_pipe(STDIN_FILENO) || !is_pipe(STDOUT_FILENO))
        return NULL;
    struct stream_connection *s = stream_connection_make(loop);
    if (!s)
        return NULL;
    snprintf(s->base.peer, sizeof s->base.peer, "standard input");
    s->base.role = ROLE_CONTROL; /* who starts a program may end it, too */
    uv_pipe_init(loop, &s->socket.pipe, 0);
    uv_pipe_init(loop, &s->output, 0);
    s->socket.handle.data = s->output.data = s;
    s->sink = (uv_stream_t *)&s->output;
    s->handles++;
    if (uv_pipe_open(&s->socket.pipe, STDIN_FILENO) < 0 ||
        uv_pipe_open(&s->output, STDOUT_FILENO) < 0) {
        stream_connection_close(&s->base);
        return NULL;
    }
    return &s->base;
}
