/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG  64
#define PAUSE_MS 20 /* without descriptors there is nothing to accept with */

/* What a person may try. */
static const char *listener_advice(int error, const struct address *a)
{
    struct stat st;
    if (error == EADDRINUSE && a->kind == ADDRESS_UNIX)
        return lstat(a->host, &st) == 0 && !S_ISSOCK(st.st_mode)
                   ? ": what is there is no socket, and is left alone"
                   : ": another program listens there";
    if (error == EADDRINUSE)
        return ": another program listens there; another port, or port 0 for a free one, would do";
    if (error == EADDRNOTAVAIL)
        return ": this machine has no such address ('ip address' lists them)";
    if (error == EACCES && a->kind == ADDRESS_TCP && a->port && a->port < 1024)
        return ": ports below 1024 are for the system";
    return "";
}

static int listener_fail(struct listener *l, int error, struct message *why)
{
    char where[300];
    address_format(&l->address, where, sizeof where);
    message_set(why, "cannot listen on %s: %s%s", where, uv_strerror(-error),
                listener_advice(error, &l->address));
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    return BT_ERR_IO;
}

static void listener_note_tcp(struct listener *l, const struct sockaddr_storage *a)
{
    l->address.kind = ADDRESS_TCP;
    if (a->ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, a, sizeof v4);
        uv_ip4_name(&v4, l->address.host, sizeof l->address.host);
        l->address.port = ntohs(v4.sin_port);
    } else {
        struct sockaddr_in6 v6;
        memcpy(&v6, a, sizeof v6);
        uv_ip6_name(&v6, l->address.host, sizeof l->address.host);
        l->address.port = ntohs(v6.sin6_port);
    }
    l->loopback = address_is_loopback(&l->address);
}

static int listener_bind_tcp(struct listener *l, struct message *why)
{
    struct sockaddr_storage a;
    socklen_t length = sizeof a;
    int on = 1, port = (int)l->address.port;
    memset(&a, 0, sizeof a);
    if (uv_ip4_addr(l->address.host, port, (struct sockaddr_in *)&a) != 0 &&
        uv_ip6_addr(l->address.host, port, (struct sockaddr_in6 *)&a) != 0)
        return listener_fail(l, EINVAL, why);
    l->fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return listener_fail(l, errno, why);
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(l->fd, (struct sockaddr *)&a,
             a.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)) !=
            0 ||
        getsockname(l->fd, (struct sockaddr *)&a, &length) != 0)
        return listener_fail(l, errno, why);
    listener_note_tcp(l, &a);
    return BT_OK;
}

static socklen_t unix_address(struct sockaddr_un *a, const char *path)
{
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    memcpy(a->sun_path, path, strnlen(path, sizeof a->sun_path - 1));
    return sizeof *a;
}

/* The file of a socket that nobody listens on any more. */
static bool is_stale_socket(const char *path)
{
    struct sockaddr_un a;
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    socklen_t length = unix_address(&a, path);
    bool stale = connect(fd, (struct sockaddr *)&a, length) != 0 && errno == ECONNREFUSED;
    close(fd);
    return stale;
}

/* The descriptor's mode is the file's mode from the start: nobody can be quicker. */
static int listener_bind_unix(struct listener *l, const struct listener_file *file,
                              struct message *why)
{
    const char *path = l->address.host;
    struct sockaddr_un a;
    struct stat st;
    socklen_t length = unix_address(&a, path);
    l->loopback = true;
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0 || fchmod(l->fd, 0600) != 0)
        return listener_fail(l, errno, why);
    if (is_stale_socket(path))
        unlink(path);
    if (bind(l->fd, (struct sockaddr *)&a, length) != 0)
        return listener_fail(l, errno, why);
    if ((file->uid != ADDRESS_SAME_OWNER || file->gid != ADDRESS_SAME_OWNER) &&
        lchown(path, file->uid, file->gid) != 0) {
        int error = errno;
        unlink(path);
        return listener_fail(l, error, why);
    }
    if (chmod(path, file->mode) != 0 || lstat(path, &st) != 0)
        return listener_fail(l, errno, why);
    l->dev = st.st_dev;
    l->ino = st.st_ino;
    l->owns_file = true;
    return BT_OK;
}

int listener_bind(struct listener *l, const struct address *address,
                  const struct listener_file *file, struct message *why)
{
    *l = (struct listener){.fd = -1, .address = *address};
    return address->kind == ADDRESS_UNIX ? listener_bind_unix(l, file, why)
                                         : listener_bind_tcp(l, why);
}

unsigned listener_handed_over(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    bool ours = pid && fds && strtoul(pid, NULL, 10) == (unsigned long)getpid();
    unsigned long count = ours ? strtoul(fds, NULL, 10) : 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return count <= 1024 ? (unsigned)count : 0;
}

int listener_adopt(struct listener *l, int fd, struct message *why)
{
    struct sockaddr_storage a;
    socklen_t length = sizeof a, size = sizeof(int);
    int type = 0, listens = 0;
    memset(&a, 0, sizeof a);
    *l = (struct listener){.fd = -1};
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens ||
        getsockname(fd, (struct sockaddr *)&a, &length) != 0)
        return message_fail(
            why, BT_ERR_IO,
            "descriptor %d is not a listening stream socket: the .socket unit needs "
            "ListenStream= and Accept=no",
            fd);
    if (a.ss_family == AF_UNIX) {
        struct sockaddr_un u;
        memcpy(&u, &a, sizeof u);
        l->address.kind = ADDRESS_UNIX;
        snprintf(l->address.host, sizeof l->address.host, "%s", u.sun_path);
        l->loopback = true;
    } else if (a.ss_family == AF_INET || a.ss_family == AF_INET6) {
        listener_note_tcp(l, &a);
    } else {
        return message_fail(why, BT_ERR_IO,
                            "descriptor %d is a socket of a family that is not known here", fd);
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    l->fd = fd;
    return BT_OK;
}

static void on_listener_readable(uv_poll_t *poll, int status, int events);

static void on_pause_over(uv_timer_t *timer)
{
    struct listener *l = timer->data;
    uv_poll_start(&l->poll, UV_READABLE, on_listener_readable);
}

static void on_listener_readable(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;
    (void)events;
    int fd = status < 0 ? -1 : accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        l->arrived(l->ctx, l, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        uv_poll_stop(poll);
        uv_timer_start(&l->pause, on_pause_over, PAUSE_MS, 0);
    }
}

int listener_start(struct listener *l, uv_loop_t *loop,
                   void (*arrived)(void *ctx, struct listener *l, int fd), void *ctx,
                   struct message *why)
{
    l->arrived = arrived;
    l->ctx = ctx;
    if (listen(l->fd, BACKLOG) != 0)
        return listener_fail(l, errno, why);
    int error = uv_poll_init(loop, &l->poll, l->fd);
    if (error)
        return listener_fail(l, -error, why);
    uv_timer_init(loop, &l->pause);
    l->poll.data = l->pause.data = l;
    l->started = true;
    uv_poll_start(&l->poll, UV_READABLE, on_listener_readable);
    return BT_OK;
}

static void listener_remove_file(struct listener *l)
{
    struct stat st;
    if (l->owns_file && lstat(l->address.host, &st) == 0 && st.st_dev == l->dev &&
        st.st_ino == l->ino)
        unlink(l->address.host);
    l->owns_file = false;
}

void listener_stop(struct listener *l)
{
    if (l->fd < 0)
        return;
    if (l->started) {
        uv_poll_stop(&l->poll);
        uv_close((uv_handle_t *)&l->poll, NULL);
        uv_close((uv_handle_t *)&l->pause, NULL);
    }
    listener_remove_file(l);
    close(l->fd);
    l->fd = -1;
}
