/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1400
#define DETAIL_MAX     500
#define WHO_MAX        200
#define PRIORITY       85 /* authpriv, notice */

/* What is written piece by piece. */
struct audit_span {
    unsigned client;
    char who[WHO_MAX], what[32];
    uint64_t begin, length, pieces;
    bool fresh; /* more has come since the last tick */
};

struct audit {
    struct audit_settings settings;
    int file, syslog; /* -1: none, or not reached */
    unsigned lost;
    struct audit_span span; /* pieces 0: none */
};

static int open_file(const char *path, struct message *why)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
    bool regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (regular)
        return fd;
    message_set(why, "[audit] file: cannot write '%s': %s", path,
                fd < 0 ? strerror(errno) : "it is no file");
    if (fd >= 0)
        close(fd);
    return -1;
}

struct audit *audit_open(const struct audit_settings *settings, struct message *why)
{
    *why = (struct message){.text = ""};
    if (!settings->file[0] && !settings->syslog[0])
        return NULL;
    struct audit *a = calloc(1, sizeof *a);
    if (!a) {
        message_set(why, "out of memory");
        return NULL;
    }
    a->settings = *settings;
    a->syslog = a->file = -1;
    if (settings->file[0] && (a->file = open_file(settings->file, why)) < 0) {
        free(a);
        return NULL;
    }
    return a;
}

static void reach_syslog(struct audit *a)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (a->syslog >= 0 || !a->settings.syslog[0])
        return;
    snprintf(to.sun_path, sizeof to.sun_path, "%s", a->settings.syslog);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        a->syslog = fd;
    else if (fd >= 0)
        close(fd);
}

/* True: it is there, or not wanted. A reader that has gone is looked for again the next time. */
static bool send_to_syslog(struct audit *a, const char *line, size_t length)
{
    char text[LINE_MAX_BYTES + 40];
    if (!a->settings.syslog[0])
        return true;
    int n = snprintf(text, sizeof text, "<%d>btraced[%d]: %.*s", PRIORITY, (int)getpid(),
                     (int)length, line);
    reach_syslog(a);
    if (a->syslog < 0)
        return false;
    if (send(a->syslog, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n)
        return true;
    if (errno != EAGAIN && errno != ENOBUFS) {
        close(a->syslog);
        a->syslog = -1;
    }
    return false;
}

/* Printable, and in JSON escaped. */
static void add_text(char *line, size_t *used, const char *text, bool json)
{
    for (; *text && *used + 3 < LINE_MAX_BYTES; text++) {
        if (json && (*text == '"' || *text == '\\'))
            line[(*used)++] = '\\';
        line[(*used)++] = *text < ' ' || *text > '~' ? '?' : *text;
    }
    line[*used] = '\0';
}

static void add_plain(char *line, size_t *used, const char *text)
{
    size_t n = strlen(text);
    if (*used + n >= LINE_MAX_BYTES)
        return;
    memcpy(line + *used, text, n + 1);
    *used += n;
}

static void write_line(struct audit *a, unsigned client, const char *who, const char *what,
                       const char *detail)
{
    char line[LINE_MAX_BYTES + 8], number[40], stamp[40];
    bool json = a->settings.json;
    size_t used = 0;
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &tm);
    snprintf(number, sizeof number, json ? "\",\"client\":%u,\"who\":\"" : " client %u (", client);
    add_plain(line, &used, json ? "{\"time\":\"" : "");
    add_plain(line, &used, stamp);
    add_plain(line, &used, number);
    add_text(line, &used, who, json);
    add_plain(line, &used, json ? "\",\"what\":\"" : ") ");
    add_text(line, &used, what, json);
    add_plain(line, &used, json ? "\",\"detail\":\"" : ": ");
    add_text(line, &used, detail, json);
    snprintf(number, sizeof number, json ? "\",\"lost\":%u}" : " (%u lines before were lost)",
             a->lost);
    add_plain(line, &used, a->lost || json ? number : "");
    bool there = send_to_syslog(a, line, used);
    line[used++] = '\n';
    if (a->file >= 0 && write(a->file, line, used) != (ssize_t)used)
        there = false;
    a->lost = there ? 0 : a->lost + 1;
}

static void end_span(struct audit *a)
{
    struct audit_span s = a->span;
    char detail[120];
    a->span.pieces = 0;
    if (s.pieces == 0)
        return;
    snprintf(detail, sizeof detail, "0x%" PRIx64 "+0x%" PRIx64, s.begin, s.length);
    write_line(a, s.client, s.who, s.what, detail);
}

void audit_write(struct audit *a, unsigned client, const char *who, const char *what,
                 const char *format, ...)
{
    char detail[DETAIL_MAX];
    va_list args;
    if (!a)
        return;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    end_span(a);
    write_line(a, client, who, what, detail);
}

void audit_range(struct audit *a, unsigned client, const char *who, const char *what,
                 uint64_t address, uint64_t length)
{
    if (!a || length == 0)
        return;
    struct audit_span *s = &a->span;
    bool on = s->pieces > 0 && s->client == client && strcmp(s->what, what) == 0 &&
              address == s->begin + s->length;
    if (!on) {
        end_span(a);
        *s = (struct audit_span){.client = client, .begin = address};
        snprintf(s->who, sizeof s->who, "%s", who);
        snprintf(s->what, sizeof s->what, "%s", what);
    }
    s->length += length;
    s->pieces++;
    s->fresh = true;
}

void audit_tick(struct audit *a)
{
    if (!a || a->span.pieces == 0)
        return;
    if (!a->span.fresh)
        end_span(a);
    a->span.fresh = false;
}

void audit_reopen(struct audit *a)
{
    struct message why;
    int fd = a && a->settings.file[0] ? open_file(a->settings.file, &why) : -1;
    if (fd < 0)
        return;
    close(a->file);
    a->file = fd;
}

void audit_close(struct audit *a)
{
    if (!a)
        return;
    end_span(a);
    if (a->file >= 0)
        close(a->file);
    if (a->syslog >= 0)
        close(a->syslog);
    free(a);
}
