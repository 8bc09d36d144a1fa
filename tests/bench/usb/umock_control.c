/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/usb/umock_control.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS 4
#define LINE    256

struct client {
    struct umock_control *owner;
    guint source; /* 0: free */
    size_t size;
    char line[LINE];
};

struct umock_control {
    struct umock_bench *bench;
    struct sockaddr_un address;
    int fd;
    guint source;
    struct client clients[CLIENTS];
};

static const char *set_usb_fault(struct usb_faults *f, const char *name, unsigned number)
{
    if (strcmp(name, "stall") == 0)
        f->stall_after = number;
    else if (strcmp(name, "short") == 0)
        f->short_after = number;
    else if (strcmp(name, "lose") == 0)
        f->lose_after = number;
    else if (strcmp(name, "mute") == 0)
        f->mute_after = number;
    else if (strcmp(name, "unplug") == 0)
        f->unplug_after = number;
    else
        return "unknown command";
    return NULL;
}

static const char *ask_board(struct usb_device *d, const char *line, FILE *out)
{
    struct probe_board *b = d->board;
    int error = 0;
    pthread_mutex_lock(&b->lock);
    if (strcmp(line, "counters") == 0)
        usb_device_report(d, out);
    else if (strncmp(line, "power ", 6) == 0)
        error = probe_board_power(b, strcmp(line + 6, "on") == 0);
    else
        error = probe_board_faults(b, line + 6);
    pthread_mutex_unlock(&b->lock);
    return error < 0 ? "bad fault" : NULL;
}

/* Does it; NULL, or what is wrong. */
static const char *command(struct umock_control *c, const char *line, FILE *out)
{
    char name[16];
    unsigned number;
    if (strcmp(line, "unplug") == 0) {
        umock_bench_unplug(c->bench);
        return NULL;
    }
    if (strcmp(line, "replug") == 0)
        return umock_bench_replug(c->bench) < 0 ? "the test bench refuses" : NULL;
    bool power = strcmp(line, "power on") == 0 || strcmp(line, "power off") == 0;
    if (strcmp(line, "counters") == 0 || strncmp(line, "fault ", 6) == 0 || power)
        return ask_board(c->bench->device, line, out);
    if (sscanf(line, "%15s %u", name, &number) == 2)
        return set_usb_fault(&c->bench->device->faults, name, number);
    return "unknown command";
}

static void answer(struct umock_control *c, int fd, const char *line)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    const char *wrong = command(c, line, out);
    fprintf(out, wrong ? "error %s\n" : "ok\n", wrong);
    fclose(out);
    if (send(fd, text, size, MSG_NOSIGNAL) < 0)
        perror("umock_control");
    free(text);
}

static gboolean on_client(gint fd, GIOCondition condition, gpointer data)
{
    struct client *client = data;
    char *end;
    (void)condition;
    ssize_t n = read(fd, client->line + client->size, sizeof client->line - client->size);
    if (n > 0)
        client->size += (size_t)n;
    while (n > 0 && (end = memchr(client->line, '\n', client->size))) {
        *end++ = '\0';
        answer(client->owner, fd, client->line);
        client->size -= (size_t)(end - client->line);
        memmove(client->line, end, client->size);
    }
    if (n > 0 && client->size < sizeof client->line)
        return G_SOURCE_CONTINUE;
    close(fd);
    client->source = 0;
    return G_SOURCE_REMOVE;
}

static gboolean on_listener(gint fd, GIOCondition condition, gpointer data)
{
    struct umock_control *c = data;
    int client = accept(fd, NULL, NULL);
    (void)condition;
    for (unsigned i = 0; client >= 0 && i < CLIENTS; i++) {
        if (c->clients[i].source == 0) {
            c->clients[i].owner = c;
            c->clients[i].size = 0;
            c->clients[i].source = g_unix_fd_add(client, G_IO_IN, on_client, &c->clients[i]);
            return G_SOURCE_CONTINUE;
        }
    }
    if (client >= 0)
        close(client);
    return G_SOURCE_CONTINUE;
}

struct umock_control *umock_control_new(const char *path, struct umock_bench *bench)
{
    struct umock_control *c = g_new0(struct umock_control, 1);
    c->bench = bench;
    c->address.sun_family = AF_UNIX;
    c->fd = -1;
    if (strlen(path) < sizeof c->address.sun_path) {
        strcpy(c->address.sun_path, path);
        unlink(path);
        c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    } else {
        errno = ENAMETOOLONG;
    }
    if (c->fd < 0 || bind(c->fd, (struct sockaddr *)&c->address, sizeof c->address) < 0 ||
        listen(c->fd, CLIENTS) < 0) {
        g_free(c);
        return NULL;
    }
    c->source = g_unix_fd_add(c->fd, G_IO_IN, on_listener, c);
    return c;
}

void umock_control_free(struct umock_control *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < CLIENTS; i++)
        if (c->clients[i].source)
            g_source_remove(c->clients[i].source);
    g_source_remove(c->source);
    close(c->fd);
    unlink(c->address.sun_path);
    g_free(c);
}
