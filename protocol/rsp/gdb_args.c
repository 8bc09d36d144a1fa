/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/gdb_args.h"

#include <inttypes.h>
#include <stdio.h>

#include "protocol/rsp/text_buf.h"

bool gdb_args_hex(struct gdb_args *a, uint64_t *value)
{
    const char *at = a->at;
    uint64_t result = 0;
    for (; at != a->end && text_hex_digit(*at) >= 0; at++) {
        if (at - a->at >= 16)
            return false;
        result = result << 4 | (uint64_t)text_hex_digit(*at);
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
        int high = text_hex_digit(a->at[2 * i]);
        int low = text_hex_digit(a->at[2 * i + 1]);
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
    *word = (struct gdb_args){a->at, end ? end : a->end};
    a->at = end ? end + 1 : a->end;
    return true;
}

static bool args_thread_number(struct gdb_args *a, int *thread)
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
        if (!args_thread_number(&copy, &process))
            return false;
        /* "p1" alone: all threads of the process. */
        *thread = GDB_THREAD_ALL;
        if (gdb_args_char(&copy, '.') && !args_thread_number(&copy, thread))
            return false;
    } else if (!args_thread_number(&copy, thread)) {
        return false;
    }
    *a = copy;
    return true;
}

/* "-1" and "0" leave `single` false. */
static bool thread_take_number(struct gdb_args *a, uint64_t *number, bool *single)
{
    if (gdb_args_text(a, "-1")) {
        *single = false;
        return true;
    }
    if (!gdb_args_hex(a, number))
        return false;
    *single = *number != 0;
    return true;
}

bool gdb_thread_take(struct gdb_args *a, struct gdb_thread *t)
{
    struct gdb_args copy = *a;
    struct gdb_thread got = {.single = false};
    if (gdb_args_char(&copy, 'p')) {
        if (!thread_take_number(&copy, &got.process, &got.has_process))
            return false;
        if (gdb_args_char(&copy, '.') && !thread_take_number(&copy, &got.thread, &got.single))
            return false;
    } else if (!thread_take_number(&copy, &got.thread, &got.single)) {
        return false;
    }
    *a = copy;
    *t = got;
    return true;
}

bool gdb_thread_same(const struct gdb_thread *a, const struct gdb_thread *b)
{
    if (!a->single || !b->single || a->thread != b->thread)
        return false;
    return !a->has_process || !b->has_process || a->process == b->process;
}

void gdb_thread_text(const struct gdb_thread *t, char text[GDB_THREAD_TEXT])
{
    if (t->has_process)
        snprintf(text, GDB_THREAD_TEXT, "p%" PRIx64 ".%" PRIx64, t->process, t->thread);
    else
        snprintf(text, GDB_THREAD_TEXT, "%" PRIx64, t->thread);
}

bool gdb_thread_of_stop(const char *reply, size_t len, struct gdb_thread *t)
{
    struct gdb_args a = {reply, reply + len};
    struct gdb_args word;
    uint8_t signal;
    if (!gdb_args_char(&a, 'T') || !gdb_args_bytes(&a, &signal, 1))
        return false;
    while (gdb_args_until(&a, ';', &word)) {
        if (gdb_args_text(&word, "thread:"))
            return gdb_thread_take(&word, t) && t->single;
    }
    return false;
}
