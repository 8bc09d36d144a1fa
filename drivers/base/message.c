/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/message.h"

#include <stdio.h>
#include <string.h>

#include "btrace/types.h"

void message_vset(struct message *m, const char *format, va_list args)
{
    char text[sizeof m->text];
    vsnprintf(text, sizeof text, format, args);
    memcpy(m->text, text, strlen(text) + 1);
    m->file[0] = '\0';
    m->line = 0;
}

void message_set(struct message *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message_vset(m, format, args);
    va_end(args);
}

int message_fail(struct message *m, int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message_vset(m, format, args);
    va_end(args);
    return error;
}

int message_default(struct message *m, int error)
{
    if (!*m->text)
        snprintf(m->text, sizeof m->text, "%s", bt_strerror(error));
    return error;
}

void message_place(struct message *m, const char *path)
{
    char line[16] = "";
    bool inside = *m->file && strcmp(m->file, path) != 0;
    if (m->line)
        snprintf(line, sizeof line, ":%u", m->line);
    message_set(m, "%s%s%s%s: %s", path, inside ? "/" : "", inside ? m->file : "", line, m->text);
}
