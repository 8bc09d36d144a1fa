/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thread IDs that another server chose: "2", or "p1.2" with the process of the multiprocess
 * extension. "0" and "-1" (any, all) and "p1" are no single thread.
 */
#ifndef PROTOCOL_GDB_THREAD_H
#define PROTOCOL_GDB_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/rsp/gdb_args.h"

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
