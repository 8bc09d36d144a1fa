/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/gdb_args.h"

#include <string.h>

bool gdb_args_empty(const struct gdb_args *a)
{
    return a->at == a->end;
}

size_t gdb_args_left(const struct gdb_args *a)
{
    return (size_t)(a->end - a->at);
}

bool gdb_args_char(struct gdb_args *a, char c)
{
    if (gdb_args_empty(a) || *a->at != c)
        return false;
    a->at++;
    return true;
}

bool gdb_args_text(struct gdb_args *a, const char *text)
{
    size_t len = strlen(text);
    if (gdb_args_left(a) < len || memcmp(a->at, text, len) != 0)
        return false;
    a->at += len;
    return true;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool gdb_args_hex(struct gdb_args *a, uint64_t *value)
{
    const char *at = a->at;
    uint64_t result = 0;
    for (; at != a->end && digit(*at) >= 0; at++) {
        if (at - a->at >= 16)
            return false;
        result = result << 4 | (uint64_t)digit(*at);
    }
    if (at == a->at)
        return false;
    a->at = at;
    *value = result;
    return true;
}

bool gdb_args_hex_max(struct gdb_args *a, uint64_t max, uint64_t *value)
{
    struct gdb_args copy = *a;
    uint64_t result;
    if (!gdb_args_hex(&copy, &result) || result > max)
        return false;
    *a = copy;
    *value = result;
    return true;
}

bool gdb_args_bytes(struct gdb_args *a, void *bytes, size_t len)
{
    uint8_t *to = bytes;
    if (gdb_args_left(a) / 2 < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = digit(a->at[2 * i]);
        int low = digit(a->at[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        to[i] = (uint8_t)(high << 4 | low);
    }
    a->at += 2 * len;
    return true;
}

bool gdb_args_until(struct gdb_args *a, char stop, struct gdb_args *word)
{
    if (gdb_args_empty(a))
        return false;
    const char *end = memchr(a->at, stop, gdb_args_left(a));
    *word = (struct gdb_args){a->at, end != NULL ? end : a->end};
    a->at = end != NULL ? end + 1 : a->end;
    return true;
}

bool gdb_args_equal(const struct gdb_args *a, const char *text)
{
    size_t len = strlen(text);
    return gdb_args_left(a) == len && memcmp(a->at, text, len) == 0;
}

static bool thread_number(struct gdb_args *a, int *thread)
{
    uint64_t value;
    if (gdb_args_text(a, "-1")) {
        *thread = GDB_THREAD_ALL;
        return true;
    }
    if (!gdb_args_hex_max(a, INT32_MAX, &value))
        return false;
    *thread = (int)value;
    return true;
}

bool gdb_args_thread(struct gdb_args *a, int *thread)
{
    struct gdb_args copy = *a;
    int process;
    if (gdb_args_char(&copy, 'p')) {
        if (!thread_number(&copy, &process))
            return false;
        /* "p1" alone: all threads of the process. */
        *thread = GDB_THREAD_ALL;
        if (gdb_args_char(&copy, '.') && !thread_number(&copy, thread))
            return false;
    } else if (!thread_number(&copy, thread)) {
        return false;
    }
    *a = copy;
    return true;
}
