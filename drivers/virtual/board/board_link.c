/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_link.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SECOND        1000000000u
#define CONNECT_TRIES 100
#define CONNECT_WAIT  (SECOND / 10)
#define PACED_CHUNK   1024 /* bytes between two looks at the clock */
/* A pin that was idle, or late, sends no faster for that: only so much is made up for. */
#define CREDIT (SECOND / 100)

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void pause_for(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};

    nanosleep(&t, NULL);
}

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int connect_first(const struct addrinfo *list)
{
    for (; list; list = list->ai_next) {
        int fd = socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC, list->ai_protocol);
        if (fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) == 0)
            return fd;
        int error = errno;
        if (fd >= 0)
            close(fd);
        errno = error;
    }
    return -1;
}

static int connect_tcp(const char *where)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    char host[256];
    const char *port = strrchr(where, ':');

    if (!port || (size_t)(port - where) >= sizeof host) {
        errno = EINVAL;
        return -1;
    }
    memcpy(host, where, (size_t)(port - where));
    host[port - where] = '\0';
    if (getaddrinfo(host, port + 1, &hints, &list) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    int fd = connect_first(list);
    freeaddrinfo(list);
    return fd;
}

int board_link_open(struct board_link *link, const char *where, uint64_t rate)
{
    *link = (struct board_link){.fd = -1, .rate = rate};
    if (strncmp(where, "file:", 5) == 0) {
        link->fd = open(where + 5, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    } else if (strncmp(where, "unix:", 5) == 0 || strncmp(where, "tcp:", 4) == 0) {
        link->socket = true;
        for (unsigned i = 0; i < CONNECT_TRIES && link->fd < 0; i++) {
            link->fd = where[0] == 'u' ? connect_unix(where + 5) : connect_tcp(where + 4);
            if (link->fd < 0 && errno != ENOENT && errno != ECONNREFUSED)
                break;
            if (link->fd < 0)
                pause_for(CONNECT_WAIT);
        }
    } else {
        errno = EINVAL;
    }
    link->started = now();
    return link->fd < 0 ? -1 : 0;
}

/* One attempt. 0: the reader takes nothing now. */
static size_t write_some(struct board_link *link, const uint8_t *bytes, size_t size, bool wait)
{
    struct pollfd p = {.fd = link->fd, .events = POLLOUT};
    ssize_t done;

    if (!wait && poll(&p, 1, 0) == 0)
        return 0;
    do {
        /* A writable pipe takes PIPE_BUF bytes without waiting. */
        size_t part = wait || link->socket || size < 4096 ? size : 4096;
        done = link->socket ? send(link->fd, bytes, part, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT))
                            : write(link->fd, bytes, part);
    } while (done < 0 && errno == EINTR);
    if (done < 0 && errno == EAGAIN)
        return 0;
    if (done < 0) {
        link->broken = true;
        return size;
    }
    link->written += (uint64_t)done;
    return (size_t)done;
}

/* Time at which byte `position` may leave. */
static uint64_t due(const struct board_link *link, uint64_t position)
{
    return link->started + position / link->rate * SECOND +
           position % link->rate * SECOND / link->rate;
}

void board_link_write(struct board_link *link, const uint8_t *bytes, size_t size)
{
    while (size > 0 && !link->broken) {
        size_t part = link->rate && size > PACED_CHUNK ? PACED_CHUNK : size;
        size_t done = write_some(link, bytes, part, true);
        bytes += done;
        size -= done;
        if (link->rate) {
            uint64_t time = now(), at = due(link, link->written);
            if (at > time)
                pause_for(at - time);
            else if (time - at > CREDIT)
                link->started += time - at - CREDIT;
        }
    }
}

size_t board_link_try(struct board_link *link, const uint8_t *bytes, size_t size)
{
    if (link->broken)
        return size;
    if (link->rate) {
        uint64_t time = now(), at = due(link, link->written);
        if (time < at)
            return 0;
        if (time - at > CREDIT)
            link->started += time - at - CREDIT;
        uint64_t allowed = (time - due(link, link->written)) * link->rate / SECOND;
        if (size > allowed)
            size = (size_t)allowed;
    }
    return size ? write_some(link, bytes, size, link->patient) : 0;
}

void board_link_pace(struct board_link *link, uint64_t rate)
{
    link->rate = rate;
    link->patient = rate > 0;
    if (rate) /* so that what has been written is just due */
        link->started =
            now() - link->written / rate * SECOND - link->written % rate * SECOND / rate;
}

void board_link_close(struct board_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
}
