/* SPDX-License-Identifier: BSD-3-Clause */
#include "qemu_link.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TRACE_CHUNK 65536

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whole records go to the buffer of their source. */
static void sort_records(struct qemu_link *l)
{
    struct trace_bytes *r = &l->records;
    size_t used = 0;
    while (r->size - used >= 2 && r->size - used >= 2u + r->data[used + 1]) {
        unsigned from = (unsigned)r->data[used] - QEMU_LINK_ID;
        if (from >= QEMU_LINK_SOURCES ||
            trace_bytes_append(&l->source[from], r->data + used + 2, r->data[used + 1]) < 0)
            l->dead = true;
        used += 2u + r->data[used + 1];
    }
    if (used)
        memmove(r->data, r->data + used, r->size - used);
    r->size -= used;
}

void qemu_link_read_trace(struct qemu_link *l)
{
    uint8_t bytes[TRACE_CHUNK];
    ssize_t n;
    if (l->trace < 0)
        return;
    n = recv(l->trace, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        l->dead = true;
    if (n <= 0)
        return;
    l->received += (uint64_t)n;
    if (trace_bytes_append(&l->records, bytes, (size_t)n) < 0)
        l->dead = true;
    sort_records(l);
}

/* Waits for `fd`, or just reads trace if that is negative. 1: readable; 0: time is over. */
static int wait_for(struct qemu_link *l, int fd, int64_t until)
{
    while (!l->dead) {
        struct pollfd p[2] = {{.fd = l->trace, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
        int64_t left = until - now_ms();
        int n = poll(p, fd < 0 ? 1 : 2, left > 0 ? (int)left : 0);
        if (n < 0 && errno != EINTR)
            l->dead = true;
        if (n > 0 && p[0].revents)
            qemu_link_read_trace(l);
        if (n > 0 && p[1].revents)
            return 1;
        if (n > 0 && fd < 0)
            return 1;
        if (n == 0 && left <= 0)
            return 0;
    }
    return -1;
}

static int send_all(struct qemu_link *l, int fd, const char *text, size_t size)
{
    while (size > 0 && !l->dead) {
        ssize_t n = send(fd, text, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            l->dead = true;
        if (n > 0) {
            text += n;
            size -= (size_t)n;
        }
    }
    return l->dead ? -1 : 0;
}

static int read_line(struct qemu_link *l, char line[QEMU_LINK_TEXT])
{
    int64_t until = now_ms() + QEMU_LINK_WAIT_MS;
    size_t size = 0;
    while (size == 0 || line[size - 1] != '\n') {
        ssize_t n = -1;
        if (size + 1 < QEMU_LINK_TEXT && wait_for(l, l->control, until) > 0)
            n = recv(l->control, line + size, QEMU_LINK_TEXT - 1 - size, 0);
        if (n <= 0) {
            l->dead = true;
            return -1;
        }
        size += (size_t)n;
    }
    line[size - 1] = '\0';
    return 0;
}

int qemu_link_command(struct qemu_link *l, char *answer, const char *format, ...)
{
    char text[QEMU_LINK_TEXT];
    uint64_t written;
    int used = 0;
    va_list arguments;
    if (l->dead)
        return -1;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    text[size++] = '\n';
    if (send_all(l, l->control, text, (size_t)size) < 0 || read_line(l, text) < 0)
        return -1;
    if (sscanf(text, "ok %" SCNu64 "%n", &written, &used) != 1) {
        if (answer && strncmp(text, "error ", 6) == 0)
            strcpy(answer, text + 6);
        return -1;
    }
    int64_t until = now_ms() + QEMU_LINK_WAIT_MS;
    while (l->received < written) {
        if (wait_for(l, -1, until) <= 0) {
            l->dead = true;
            return -1;
        }
    }
    if (answer)
        strcpy(answer, text + used + (text[used] == ' '));
    return 0;
}

int qemu_link_packet(struct qemu_link *l, const char *body)
{
    char text[QEMU_LINK_TEXT];
    unsigned sum = 0;
    if (l->dead)
        return -1;
    if (!body)
        return send_all(l, l->gdb, "\x03", 1);
    for (const char *c = body; *c; c++)
        sum += (uint8_t)*c;
    int size = snprintf(text, sizeof text, "$%s#%02x", body, sum & 0xff);
    return send_all(l, l->gdb, text, (size_t)size);
}

/* A whole packet from what has been received; it is acknowledged. 1 or 0. */
static int take_packet(struct qemu_link *l, char *body, size_t size)
{
    uint8_t *start = memchr(l->gdb_bytes, '$', l->gdb_size);
    uint8_t *end = start ? memchr(start, '#', l->gdb_size - (size_t)(start - l->gdb_bytes)) : NULL;
    size_t used = end ? (size_t)(end - l->gdb_bytes) + 3 : 0;
    if (!end || used > l->gdb_size)
        return 0;
    snprintf(body, size, "%.*s", (int)(end - start - 1), (const char *)start + 1);
    memmove(l->gdb_bytes, l->gdb_bytes + used, l->gdb_size - used);
    l->gdb_size -= used;
    return send_all(l, l->gdb, "+", 1) < 0 ? -1 : 1;
}

int qemu_link_reply(struct qemu_link *l, char *body, size_t size, int ms)
{
    int64_t until = now_ms() + ms;
    for (;;) {
        int r = l->dead ? -1 : take_packet(l, body, size);
        if (r != 0)
            return r;
        r = wait_for(l, l->gdb, until);
        if (r <= 0)
            return r;
        ssize_t n = recv(l->gdb, l->gdb_bytes + l->gdb_size, sizeof l->gdb_bytes - l->gdb_size, 0);
        if (n <= 0) {
            l->dead = true;
            return -1;
        }
        l->gdb_size += (size_t)n;
    }
}
