/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_SIZE 1152

struct client {
    size_t used;
    char line[BOARD_CONTROL_LINE];
};

struct board_control {
    struct sockaddr_un address;
    board_command command;
    void *context;
    pthread_t thread;
    struct pollfd fds[1 + BOARD_CONTROL_CLIENTS]; /* [0] listens; fd -1: free */
    struct client clients[BOARD_CONTROL_CLIENTS];
};

static void accept_client(struct board_control *c)
{
    int fd = accept(c->fds[0].fd, NULL, NULL);

    if (fd < 0)
        return;
    for (unsigned i = 0; i < BOARD_CONTROL_CLIENTS; i++) {
        if (c->fds[1 + i].fd < 0) {
            c->fds[1 + i] = (struct pollfd){.fd = fd, .events = POLLIN};
            c->clients[i].used = 0;
            return;
        }
    }
    close(fd);
}

static bool board_control_answer(struct board_control *c, int fd, char *line)
{
    char reply[REPLY_SIZE];
    size_t size = strlen(line);

    if (size > 0 && line[size - 1] == '\r')
        line[size - 1] = '\0';
    c->command(c->context, line, reply, sizeof reply - 1);
    strcat(reply, "\n");
    size = strlen(reply);
    return send(fd, reply, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* False: the client has gone, or sends no lines. */
static bool board_control_serve(struct board_control *c, int fd, struct client *client)
{
    ssize_t got = read(fd, client->line + client->used, sizeof client->line - client->used);
    char *end, *line = client->line;

    if (got <= 0)
        return got < 0 && errno == EINTR;
    client->used += (size_t)got;
    while ((end = memchr(line, '\n', client->used - (size_t)(line - client->line)))) {
        *end = '\0';
        if (!board_control_answer(c, fd, line))
            return false;
        line = end + 1;
    }
    client->used -= (size_t)(line - client->line);
    memmove(client->line, line, client->used);
    return client->used < sizeof client->line;
}

static void *board_control_run(void *context)
{
    struct board_control *c = context;

    for (;;) {
        if (poll(c->fds, 1 + BOARD_CONTROL_CLIENTS, -1) < 0) {
            if (errno == EINTR)
                continue; /* revents is what it was before */
            return NULL;
        }
        for (unsigned i = 0; i < BOARD_CONTROL_CLIENTS; i++) {
            struct pollfd *p = &c->fds[1 + i];
            if (p->fd >= 0 && p->revents && !board_control_serve(c, p->fd, &c->clients[i])) {
                close(p->fd);
                p->fd = -1;
            }
        }
        if (c->fds[0].revents)
            accept_client(c);
    }
}

static int listen_at(struct board_control *c, const char *where)
{
    c->address.sun_family = AF_UNIX;
    if (strncmp(where, "unix:", 5) != 0 || strlen(where + 5) >= sizeof c->address.sun_path) {
        errno = EINVAL;
        return -1;
    }
    strcpy(c->address.sun_path, where + 5);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(c->address.sun_path);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&c->address, sizeof c->address) != 0 ||
                    listen(fd, BOARD_CONTROL_CLIENTS) != 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

struct board_control *board_control_start(const char *where, board_command command, void *context)
{
    struct board_control *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->command = command;
    c->context = context;
    for (unsigned i = 0; i < BOARD_CONTROL_CLIENTS; i++)
        c->fds[1 + i].fd = -1;
    c->fds[0] = (struct pollfd){.fd = listen_at(c, where), .events = POLLIN};
    if (c->fds[0].fd < 0 || pthread_create(&c->thread, NULL, board_control_run, c) != 0) {
        free(c);
        return NULL;
    }
    pthread_detach(c->thread);
    return c;
}

void board_control_stop(struct board_control *control)
{
    if (control)
        unlink(control->address.sun_path);
}
