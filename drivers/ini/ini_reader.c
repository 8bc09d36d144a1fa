/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/ini/ini_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * inih sees each line in a protected form: a colon in a key becomes COLON, and a value that does
 * not fit its line buffer becomes VALUE. Both are control characters,
 * which the text cannot hold. */
#define COLON '\x01'
#define VALUE "\x02"

/* Invariant: `line` is the line that inih is working on, `key_end` its '=', if it has one. */
struct reader {
    const char *next;
    const char *end;
    enum ini_comments comments;
    ini_entry_fn fn;
    void *user;
    struct ini_error *err;
    int result; /* first error; stops the reading */
    unsigned line_number;
    unsigned section_line;
    char section[INI_READER_MAX_SECTION + 1];
    char *line; /* INI_READER_MAX_LINE + 1 characters: comments and outer blanks removed */
};

__attribute__((format(printf, 3, 4))) static int fail(struct reader *r, int error,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->err->text, sizeof r->err->text, format, args);
    va_end(args);
    r->err->line = r->line_number;
    r->result = error;
    return error;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t trim_end(const char *s, size_t length)
{
    while (length > 0 && (is_blank(s[length - 1]) || s[length - 1] == '\r'))
        length--;
    return length;
}

static bool starts_with_bom(const char *s, size_t length)
{
    return length >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0;
}

/* Length of the part of a line before its comment. */
static size_t before_comment(const char *s, size_t length, enum ini_comments comments)
{
    for (size_t i = 0; i < length; i++) {
        if (s[i] != ';' && s[i] != '#')
            continue;
        if (comments == INI_COMMENTS_ANYWHERE || i == 0 || is_blank(s[i - 1]))
            return i;
    }
    return length;
}

/* Take the next line of the text into r->line. Returns 1, 0 at the end, or an error. */
static int take_line(struct reader *r)
{
    if (r->next == r->end)
        return 0;
    r->line_number++;
    const char *s = r->next;
    const char *newline = memchr(s, '\n', (size_t)(r->end - s));
    r->next = newline ? newline + 1 : r->end;
    size_t length = (size_t)((newline ? newline : r->end) - s);

    if (r->line_number == 1 && starts_with_bom(s, length)) {
        s += 3;
        length -= 3;
    }
    length = trim_end(s, length);
    if (length > INI_READER_MAX_LINE)
        return fail(r, BT_ERR_RANGE, "line is longer than %u characters", INI_READER_MAX_LINE);
    if (memchr(s, '\0', length))
        return fail(r, BT_ERR_FORMAT, "NUL byte: not a text file");
    length = trim_end(s, before_comment(s, length, r->comments));
    while (length > 0 && is_blank(*s)) {
        s++;
        length--;
    }
    /* inih would take it out of the key. */
    if (starts_with_bom(s, length))
        return fail(r, BT_ERR_FORMAT, "byte order mark within the text");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)s[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return fail(r, BT_ERR_FORMAT, "control character 0x%02x", c);
    }
    memcpy(r->line, s, length);
    r->line[length] = '\0';
    return 1;
}

static int enter_section(struct reader *r)
{
    char *close = strchr(r->line, ']');
    if (!close)
        return fail(r, BT_ERR_FORMAT, "section header without ']'");
    if (close[1] != '\0')
        return fail(r, BT_ERR_FORMAT, "text after the section header");

    const char *name = r->line + 1;
    while (is_blank(*name))
        name++;
    size_t length = trim_end(name, close > name ? (size_t)(close - name) : 0);
    if (length > INI_READER_MAX_SECTION)
        return fail(r, BT_ERR_RANGE, "section name is longer than %u characters",
                    INI_READER_MAX_SECTION);
    memcpy(r->section, name, length);
    r->section[length] = '\0';
    r->section_line = r->line_number;

    const struct ini_entry entry = {
        .section = r->section, .section_line = r->section_line, .line = r->line_number};
    r->err->line = r->line_number;
    r->result = r->fn(r->user, &entry, r->err);
    return r->result;
}

/* Write the line for inih to `out`. */
static int protect_line(struct reader *r, char *out, size_t room)
{
    if (r->line[0] == '[') {
        /* The name is kept here, where it is not cut; inih only needs to see a section. */
        snprintf(out, room, "[]\n");
        return enter_section(r);
    }
    const char *equals = strchr(r->line, '=');
    if (!equals)
        return fail(r, BT_ERR_FORMAT, "neither '[section]' nor 'key=value'");
    size_t key = trim_end(r->line, (size_t)(equals - r->line));
    if (key == 0)
        return fail(r, BT_ERR_FORMAT, "no key before '='");
    if (key > INI_READER_MAX_KEY)
        return fail(r, BT_ERR_RANGE, "key is longer than %u characters", INI_READER_MAX_KEY);
    if (key + sizeof "=" VALUE "\n" > room)
        return fail(r, BT_ERR_RANGE, "key does not fit inih's line of %zu characters", room);

    memcpy(out, r->line, key);
    for (char *p = out; p < out + key; p++)
        if (*p == ':')
            *p = COLON;
    size_t value = strlen(equals + 1);
    const char *text = key + 1 + value + 2 <= room ? equals + 1 : VALUE;
    snprintf(out + key, room - key, "=%s\n", text);
    return 0;
}

/* ini_reader of inih: like fgets(). */
static char *next_line(char *out, int room, void *stream)
{
    struct reader *r = stream;
    if (r->result != 0 || room < 8 || take_line(r) <= 0)
        return NULL;
    if (r->line[0] == '\0') {
        out[0] = '\n';
        out[1] = '\0';
        return out;
    }
    return protect_line(r, out, (size_t)room) == 0 ? out : NULL;
}

/* ini_handler of inih. */
static int handle_key(void *user, const char *section, const char *name, const char *value)
{
    (void)section;
    struct reader *r = user;
    char key[INI_READER_MAX_KEY + 1];
    size_t length = strlen(name);
    if (length > INI_READER_MAX_KEY)
        length = INI_READER_MAX_KEY;
    for (size_t i = 0; i < length; i++)
        key[i] = name[i] == COLON ? ':' : name[i];
    key[length] = '\0';

    if (strcmp(value, VALUE) == 0) {
        value = strchr(r->line, '=') + 1;
        while (is_blank(*value))
            value++;
    }
    const struct ini_entry entry = {.section = r->section,
                                    .section_line = r->section_line,
                                    .key = key,
                                    .value = value,
                                    .line = r->line_number};
    r->err->line = r->line_number;
    r->result = r->fn(r->user, &entry, r->err);
    return r->result == 0;
}

int ini_reader_text(const char *text, size_t length, enum ini_comments comments, ini_entry_fn fn,
                    void *user, struct ini_error *err)
{
    *err = (struct ini_error){0};
    if (length == 0)
        return 0;
    struct reader r = {
        .next = text, .end = text + length, .comments = comments, .fn = fn, .user = user};
    r.err = err;
    r.line = malloc(INI_READER_MAX_LINE + 1);
    if (!r.line) {
        fail(&r, BT_ERR_NOMEM, "out of memory");
        return BT_ERR_NOMEM;
    }
    int parsed = ini_parse_stream(next_line, &r, handle_key, &r);
    free(r.line);
    if (r.result == 0 && parsed != 0) {
        /* A line that this reader lets through and inih does not: inih tells its number only. */
        r.line_number = parsed > 0 ? (unsigned)parsed : 0;
        fail(&r, BT_ERR_FORMAT, "not INI text");
    }
    if (r.result == 0)
        *err = (struct ini_error){0};
    return r.result;
}

int ini_reader_load(int fd, char **text, size_t *length)
{
    size_t room = 16384, used = 0;
    char *buffer = malloc(room + 1);
    while (buffer) {
        ssize_t got = read(fd, buffer + used, room - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int saved = errno;
            free(buffer);
            errno = saved;
            return BT_ERR_IO;
        }
        if (got == 0) {
            buffer[used] = '\0';
            *text = buffer;
            *length = used;
            return 0;
        }
        used += (size_t)got;
        if (used > INI_READER_MAX_FILE) {
            free(buffer);
            return BT_ERR_RANGE;
        }
        if (used == room) {
            room *= 2;
            char *grown = realloc(buffer, room + 1);
            if (!grown)
                free(buffer);
            buffer = grown;
        }
    }
    return BT_ERR_NOMEM;
}

int ini_reader_file(const char *path, enum ini_comments comments, ini_entry_fn fn, void *user,
                    struct ini_error *err)
{
    *err = (struct ini_error){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(err->text, sizeof err->text, "cannot open: %s", strerror(errno));
        return BT_ERR_IO;
    }
    char *text = NULL;
    size_t length = 0;
    int result = ini_reader_load(fd, &text, &length);
    int saved = errno;
    close(fd);
    if (result != 0) {
        if (result == BT_ERR_RANGE)
            snprintf(err->text, sizeof err->text, "larger than %u bytes", INI_READER_MAX_FILE);
        else
            snprintf(err->text, sizeof err->text, "cannot read: %s",
                     result == BT_ERR_IO ? strerror(saved) : "out of memory");
        errno = saved;
        return result;
    }
    result = ini_reader_text(text, length, comments, fn, user, err);
    free(text);
    return result;
}
