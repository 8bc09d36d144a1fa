/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/console.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void console_print(const struct console *c, const char *format, ...)
{
    char line[400];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    c->print(c->to, line);
}

static size_t console_trim(const char **text)
{
    while (**text == ' ')
        (*text)++;
    size_t len = strlen(*text);
    while (len > 0 && (*text)[len - 1] == ' ')
        len--;
    return len;
}

const char *console_rest(const char *text, const char *name, char *out, size_t size)
{
    size_t len = console_trim(&text), n = strlen(name);
    if (len < n || strncmp(text, name, n) != 0 || (len > n && text[n] != ' '))
        return NULL;
    const char *rest = text + n;
    while (rest < text + len && *rest == ' ')
        rest++;
    snprintf(out, size, "%.*s", (int)(text + len - rest), rest);
    return out;
}
