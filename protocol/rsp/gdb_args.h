/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cursor over the arguments of a packet (GDB manual, "Packets"), and thread IDs. Each function
 * takes what it names off the front and returns true, or returns false and leaves the cursor where
 * it was.
 */
#ifndef PROTOCOL_GDB_ARGS_H
#define PROTOCOL_GDB_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gdb_args {
    const char *at;
    const char *end;
};

static inline bool gdb_args_empty(const struct gdb_args *a)
{
    return a->at == a->end;
}

static inline size_t gdb_args_left(const struct gdb_args *a)
{
    return (size_t)(a->end - a->at);
}

static inline bool gdb_args_char(struct gdb_args *a, char c)
{
    if (gdb_args_empty(a) || *a->at != c)
        return false;
    a->at++;
    return true;
}

static inline bool gdb_args_text(struct gdb_args *a, const char *text)
{
    size_t len = strlen(text);
    if (gdb_args_left(a) < len || memcmp(a->at, text, len) != 0)
        return false;
    a->at += len;
    return true;
}

/* 1 to 16 digits, most significant first, no "0x". */
bool gdb_args_hex(struct gdb_args *a, uint64_t *value);

/* The same, but no more than `max`. */
bool gdb_args_hex_max(struct gdb_args *a, uint64_t max, uint64_t *value);

/* 2 * len digits: bytes in the order of memory. */
bool gdb_args_bytes(struct gdb_args *a, void *bytes, size_t len);

/* Everything up to the next `stop` (which is taken off as well) or the end of the packet. */
bool gdb_args_until(struct gdb_args *a, char stop, struct gdb_args *word);

/* The whole of what is left is this text. */
static inline bool gdb_args_equal(const struct gdb_args *a, const char *text)
{
    size_t len = strlen(text);
    return gdb_args_left(a) == len && memcmp(a->at, text, len) == 0;
}

#define GDB_THREAD_ALL (-1)
#define GDB_THREAD_ANY 0

/*
 * Thread ID: hex, "0" (any), "-1" (all), and the form "p1.2" of the multiprocess extension,
 * whose process part is of no interest here. At most INT32_MAX.
 */
bool gdb_args_thread(struct gdb_args *a, int *thread);

/*
 * A thread ID that another server chose: "2", or "p1.2" with the process of the multiprocess
 * extension. "0" and "-1" (any, all) and "p1" are no single thread.
 */
struct gdb_thread {
    bool single; /* else: any, all, or not known */
    bool has_process;
    uint64_t process;
    uint64_t thread;
};

#define GDB_THREAD_TEXT 40 /* bytes of the longest ID as text, with its NUL */

/* Takes an ID off the front; false (and nothing taken) when there is none. */
bool gdb_thread_take(struct gdb_args *a, struct gdb_thread *t);

/* Both single and the same one; a process that only one of them names does not count. */
bool gdb_thread_same(const struct gdb_thread *a, const struct gdb_thread *b);

/* The text of a single thread. */
void gdb_thread_text(const struct gdb_thread *t, char text[GDB_THREAD_TEXT]);

/* The thread that a stop reply names with "thread:". False when it names none. */
bool gdb_thread_of_stop(const char *reply, size_t len, struct gdb_thread *t);

#endif
