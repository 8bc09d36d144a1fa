/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/log.h"

#include "protocol/rsp/plain_text.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_SHOWN 160
#define LINE_BYTES  2048

_Static_assert(LINE_BYTES <= PIPE_BUF, "a pipe takes it as one piece");

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static bool log_find_level(const char *name, enum log_level *level)
{
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (strcmp(level_names[i], name) != 0)
            continue;
        *level = (enum log_level)i;
        return true;
    }
    return false;
}

bool log_choose(const char *name)
{
    enum log_level level;
    return log_find_level(name, &level) && setenv(LOG_VARIABLE, name, 1) == 0;
}

bool log_level_now(enum log_level *level)
{
    const char *name = getenv(LOG_VARIABLE);
    *level = LOG_AT_INFO;
    return !name || !*name || log_find_level(name, level);
}

bool log_shows(enum log_level level)
{
    enum log_level now;
    log_level_now(&now);
    return level <= now;
}

/* Standard error as this process writes to it. Guarded by the mutex. */
static struct {
    pthread_mutex_t mutex;
    bool opened, socket;
    int fd;
    uint64_t lost, unsaid; /* lines: since the start, since one was taken */
    char rest[LINE_BYTES]; /* of a line that was taken in part */
    size_t rest_len;
} out = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO};

/*
 * A pipe or a terminal gets a description of its own, as others have standard error, too, and
 * would not expect it not to wait. A file never waits.
 */
static void log_open(void)
{
    struct stat st;
    out.opened = true;
    if (fstat(STDERR_FILENO, &st) != 0)
        return;
    out.socket = S_ISSOCK(st.st_mode);
    if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
        return;
    int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        out.fd = fd;
}

/* Bytes that were taken, 0 when that would have to wait or nobody is there. */
static size_t log_try(const char *text, size_t len)
{
    struct pollfd ready = {.fd = out.fd, .events = POLLOUT};
    ssize_t n;
    if (out.socket)
        n = send(out.fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT))
        n = write(out.fd, text, len);
    else
        n = 0;
    return n > 0 ? (size_t)n : 0;
}

/* What was begun is a line of its own first. */
static bool log_finish_rest(void)
{
    size_t n = out.rest_len ? log_try(out.rest, out.rest_len) : 0;
    memmove(out.rest, out.rest + n, out.rest_len - n);
    out.rest_len -= n;
    return out.rest_len == 0;
}

static bool log_put(const char *text, size_t len)
{
    size_t n = log_finish_rest() ? log_try(text, len) : 0;
    if (n == 0)
        return false;
    out.rest_len = len - n;
    memcpy(out.rest, text + n, len - n);
    return true;
}

static bool log_say_lost(void)
{
    char line[80];
    if (out.unsaid == 0)
        return true;
    int len = snprintf(line, sizeof line, "btraced: %llu lines of the log were lost\n",
                       (unsigned long long)out.unsaid);
    bool done = log_put(line, (size_t)len);
    if (done)
        out.unsaid = 0;
    return done;
}

/* At most LINE_BYTES, which a pipe takes as one piece. */
static void log_line(const char *text, size_t len)
{
    pthread_mutex_lock(&out.mutex);
    if (!out.opened)
        log_open();
    if (!log_say_lost() || !log_put(text, len)) {
        out.lost++;
        out.unsaid++;
    }
    pthread_mutex_unlock(&out.mutex);
}

uint64_t log_lost(void)
{
    pthread_mutex_lock(&out.mutex);
    uint64_t lost = out.lost;
    pthread_mutex_unlock(&out.mutex);
    return lost;
}

void log_write(enum log_level level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    if (!log_shows(level))
        return;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0)
        return;
    size_t len = (size_t)n;
    if (len >= sizeof line) { /* the end of it goes */
        len = sizeof line - 1;
        line[len - 1] = '\n';
    }
    plain_text(line, len, "\n\t");
    log_line(line, len);
}

void log_bytes(const char *who, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    char text[4 * BYTES_SHOWN + 1], *to = text;
    const uint8_t *from = bytes;
    size_t shown = length < BYTES_SHOWN ? length : BYTES_SHOWN;
    if (!log_shows(LOG_AT_DEBUG))
        return;
    for (size_t i = 0; i < shown; i++) {
        if (from[i] >= ' ' && from[i] < 0x7f && from[i] != '\\') {
            *to++ = (char)from[i];
            continue;
        }
        *to++ = '\\';
        *to++ = 'x';
        *to++ = digits[from[i] >> 4];
        *to++ = digits[from[i] & 15];
    }
    *to = '\0';
    if (shown < length)
        log_write(LOG_AT_DEBUG, "%s %s... (%zu bytes)\n", who, text, length);
    else
        log_write(LOG_AT_DEBUG, "%s %s\n", who, text);
}
