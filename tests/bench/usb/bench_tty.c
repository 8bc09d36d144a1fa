/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/usb/bench_tty.h"

#include <asm/termbits.h> /* the rate as a number; <termios.h> has names for some alone */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define POLL_MS      2
#define BAUD_PERCENT 3u
#define BUFFER       65536u /* of the driver; the terminal itself holds a few thousand */

struct bench_tty {
    struct probe_board *board;
    char *path;
    int fd; /* the adapter's end */
    guint timer;
    uint8_t late[BUFFER]; /* what the terminal has not taken */
    size_t size;
    unsigned long sent, unread, wrong_baud, overruns; /* bytes */
};

/* Whether somebody has it open at the other end. */
static bool is_open(const struct bench_tty *t)
{
    struct pollfd p = {.fd = t->fd};
    return poll(&p, 1, 0) == 0;
}

/* Eight bits without parity, at the rate of the pin. */
static bool listens(const struct bench_tty *t)
{
    struct termios2 s;
    uint64_t rate = probe_board_port(t->board).baud;
    if (rate == 0 || ioctl(t->fd, TCGETS2, &s) < 0)
        return false;
    uint64_t off = rate > s.c_ispeed ? rate - s.c_ispeed : s.c_ispeed - rate;
    return 100 * off <= BAUD_PERCENT * rate && (s.c_cflag & CSIZE) == CS8 && !(s.c_cflag & PARENB);
}

static void receive(struct bench_tty *t, const uint8_t *bytes, size_t size)
{
    size_t n = size < BUFFER - t->size ? size : BUFFER - t->size;
    memcpy(t->late + t->size, bytes, n);
    t->size += n;
    t->overruns += size - n;
}

static void pass_on(struct bench_tty *t)
{
    ssize_t n = t->size > 0 ? write(t->fd, t->late, t->size) : 0;
    if (n <= 0)
        return;
    t->sent += (unsigned long)n;
    t->size -= (size_t)n;
    memmove(t->late, t->late + n, t->size);
}

static gboolean on_timer(gpointer data)
{
    struct bench_tty *t = data;
    uint8_t bytes[4096];
    size_t n;
    bool open = is_open(t);
    if (!open)
        t->size = 0;
    pthread_mutex_lock(&t->board->lock);
    while ((n = probe_board_swo(t->board, bytes, sizeof bytes)) > 0) {
        if (!open)
            t->unread += n;
        else if (!listens(t))
            t->wrong_baud += n;
        else
            receive(t, bytes, n);
    }
    pthread_mutex_unlock(&t->board->lock);
    pass_on(t);
    return G_SOURCE_CONTINUE;
}

struct bench_tty *bench_tty_new(const char *path, struct probe_board *board)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    const char *name = NULL;
    if (fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0)
        name = ptsname(fd);
    /* Only behind a first user does it say whether there is one. */
    int user = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    if (user >= 0)
        close(user);
    if (user < 0 || symlink(name, path) < 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        errno = error;
        return NULL;
    }
    struct bench_tty *t = g_new0(struct bench_tty, 1);
    t->board = board;
    t->path = g_strdup(path);
    t->fd = fd;
    t->timer = g_timeout_add(POLL_MS, on_timer, t);
    return t;
}

void bench_tty_free(struct bench_tty *t)
{
    if (!t)
        return;
    g_source_remove(t->timer);
    unlink(t->path);
    close(t->fd);
    g_free(t->path);
    g_free(t);
}

void bench_tty_report(const struct bench_tty *t, FILE *out)
{
    fprintf(out, "tty-sent %lu\ntty-unread %lu\ntty-wrong-baud %lu\ntty-overruns %lu\n", t->sent,
            t->unread, t->wrong_baud, t->overruns);
}
