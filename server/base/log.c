/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_SHOWN 160

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

void log_write(enum log_level level, const char *format, ...)
{
    va_list args;
    if (!log_shows(level))
        return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
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
        fprintf(stderr, "%s %s... (%zu bytes)\n", who, text, length);
    else
        fprintf(stderr, "%s %s\n", who, text);
}
