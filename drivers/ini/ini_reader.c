/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/ini/ini_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Invariant: `line` is the line of number `line_number`. */
struct ini_reader {
    const char *next;
    const char *end;
    enum ini_comments comments;
    ini_entry_fn fn;
    void *user;
    struct message *why;
    unsigned line_number;
    unsigned section_line;
    char section[INI_READER_MAX_SECTION + 1];
    char *line; /* INI_READER_MAX_LINE + 1 characters: comments and outer blanks removed */
};

__attribute__((format(printf, 3, 4))) static int ini_fail(struct ini_reader *r, int error,
                                                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message_vset(r->why, format, args);
    va_end(args);
    r->why->line = r->line_number;
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

/* Takes the next line of the text, which has one, into r->line. */
static int ini_take_line(struct ini_reader *r)
{
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
        return ini_fail(r, BT_ERR_RANGE, "line is longer than %u characters", INI_READER_MAX_LINE);
    if (memchr(s, '\0', length))
        return ini_fail(r, BT_ERR_FORMAT, "NUL byte: not a text file");
    length = trim_end(s, before_comment(s, length, r->comments));
    while (length > 0 && is_blank(*s)) {
        s++;
        length--;
    }
    if (starts_with_bom(s, length))
        return ini_fail(r, BT_ERR_FORMAT, "byte order mark within the text");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)s[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return ini_fail(r, BT_ERR_FORMAT, "control character 0x%02x", c);
    }
    memcpy(r->line, s, length);
    r->line[length] = '\0';
    return BT_OK;
}

static int ini_pass_on(struct ini_reader *r, const char *key, const char *value)
{
    const struct ini_entry entry = {.section = r->section,
                                    .section_line = r->section_line,
                                    .key = key,
                                    .value = value,
                                    .line = r->line_number};
    int error = r->fn(r->user, &entry);
    if (error && !r->why->line)
        r->why->line = r->line_number;
    return error;
}

static int ini_enter_section(struct ini_reader *r)
{
    char *close = strchr(r->line, ']');
    if (!close)
        return ini_fail(r, BT_ERR_FORMAT, "section header without ']'");
    if (close[1] != '\0')
        return ini_fail(r, BT_ERR_FORMAT, "text after the section header");

    const char *name = r->line + 1;
    while (is_blank(*name))
        name++;
    size_t length = trim_end(name, close > name ? (size_t)(close - name) : 0);
    if (length > INI_READER_MAX_SECTION)
        return ini_fail(r, BT_ERR_RANGE, "section name is longer than %u characters",
                        INI_READER_MAX_SECTION);
    memcpy(r->section, name, length);
    r->section[length] = '\0';
    r->section_line = r->line_number;

    return ini_pass_on(r, NULL, NULL);
}

static int ini_take_key(struct ini_reader *r)
{
    char *equals = strchr(r->line, '=');
    if (!equals)
        return ini_fail(r, BT_ERR_FORMAT, "neither '[section]' nor 'key=value'");
    size_t length = trim_end(r->line, (size_t)(equals - r->line));
    if (length == 0)
        return ini_fail(r, BT_ERR_FORMAT, "no key before '='");
    if (length > INI_READER_MAX_KEY)
        return ini_fail(r, BT_ERR_RANGE, "key is longer than %u characters", INI_READER_MAX_KEY);
    r->line[length] = '\0';
    const char *value = equals + 1;
    while (is_blank(*value))
        value++;
    return ini_pass_on(r, r->line, value);
}

int ini_reader_text(const char *text, size_t length, enum ini_comments comments, ini_entry_fn fn,
                    void *user, struct message *why)
{
    *why = (struct message){.text = ""};
    if (length == 0)
        return BT_OK;
    struct ini_reader r = {.next = text,
                           .end = text + length,
                           .comments = comments,
                           .fn = fn,
                           .user = user,
                           .why = why,
                           .line = malloc(INI_READER_MAX_LINE + 1)};
    if (!r.line)
        return ini_fail(&r, BT_ERR_NOMEM, "out of memory");
    int error = BT_OK;
    while (!error && r.next < r.end) {
        error = ini_take_line(&r);
        if (!error && r.line[0] == '[')
            error = ini_enter_section(&r);
        else if (!error && r.line[0])
            error = ini_take_key(&r);
    }
    free(r.line);
    return error;
}
