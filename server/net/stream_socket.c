/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/net/stream_socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define CONNECT_S 1  /* until a peer has to take the connection */
#define LOOK_MS   50 /* whether the answer is still wanted */

typedef int (*attach_fn)(int fd, const struct sockaddr *address, socklen_t len);

static int attach_listener(int fd, const struct sockaddr *address, socklen_t len)
{
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(fd, address, len) == 0 && listen(fd, 1) == 0 ? 0 : -1;
}

static int attach_client(int fd, const struct sockaddr *address, socklen_t len)
{
    const struct timeval limit = {.tv_sec = CONNECT_S};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return connect(fd, address, len);
}

static int attach_socket(int family, const struct sockaddr *address, socklen_t len,
                         attach_fn attach)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || attach(fd, address, len) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int open_unix(const char *path, attach_fn attach)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(a.sun_path, path);
    if (attach == attach_listener)
        unlink(path);
    return attach_socket(AF_UNIX, (struct sockaddr *)&a, sizeof a, attach);
}

static int open_tcp(const struct address *address, attach_fn attach)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    char port[8];
    int fd = -1, on = 1;
    snprintf(port, sizeof port, "%u", address->port);
    if (getaddrinfo(address->host, port, &hints, &found) != 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
        fd = attach_socket(a->ai_family, a->ai_addr, a->ai_addrlen, attach);
    freeaddrinfo(found);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static int open_socket(const struct address *address, attach_fn attach)
{
    if (address->kind == ADDRESS_UNIX)
        return open_unix(address->host, attach);
    if (address->kind == ADDRESS_TCP)
        return open_tcp(address, attach);
    errno = EDESTADDRREQ;
    return -1;
}

int stream_socket_listen(const struct address *address)
{
    return open_socket(address, attach_listener);
}

int stream_socket_connect(const struct address *address)
{
    return open_socket(address, attach_client);
}

int stream_socket_accept(int listener)
{
    int fd;
    do
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int stream_socket_read_line(int fd, char *answer, size_t size, unsigned timeout_ms,
                                   const _Atomic bool *end)
{
    uint64_t deadline = uv_hrtime() / 1000000 + timeout_ms;
    size_t used = 0;
    for (;;) {
        uint64_t now = uv_hrtime() / 1000000;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char c;
        if (now >= deadline || *end)
            return BT_ERR_IO;
        int n = poll(&p, 1, deadline - now < LOOK_MS ? (int)(deadline - now) : LOOK_MS);
        if (n == 0 || (n < 0 && errno == EINTR))
            continue;
        if (n < 0 || read(fd, &c, 1) != 1)
            return BT_ERR_IO;
        if (c == '\n')
            break;
        if (used + 1 < size)
            answer[used++] = c;
    }
    answer[used] = 0;
    return BT_OK;
}

int stream_socket_ask(int fd, const char *line, char *answer, size_t size, unsigned timeout_ms,
                      const _Atomic bool *end)
{
    char text[256];
    int len = snprintf(text, sizeof text, "%s\n", line);
    answer[0] = 0;
    /* A peer that has left no room for a line reads none: nobody waits for it. */
    if (len < 0 || (size_t)len >= sizeof text ||
        send(fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) != len)
        return BT_ERR_IO;
    return stream_socket_read_line(fd, answer, size, timeout_ms, end);
}
