/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/gdb_thread.h"

#include <inttypes.h>
#include <stdio.h>

/* "-1" and "0" leave `single` false. */
static bool take_number(struct gdb_args *a, uint64_t *number, bool *single)
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
        if (!take_number(&copy, &got.process, &got.has_process))
            return false;
        if (gdb_args_char(&copy, '.') && !take_number(&copy, &got.thread, &got.single))
            return false;
    } else if (!take_number(&copy, &got.thread, &got.single)) {
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
