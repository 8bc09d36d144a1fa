/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cursor over the arguments of a packet. Each function takes what it names off the front and
 * returns true, or returns false and leaves the cursor where it was.
 */
#ifndef PROTOCOL_GDB_ARGS_H
#define PROTOCOL_GDB_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gdb_args {
    const char *at;
    const char *end;
};

bool gdb_args_empty(const struct gdb_args *a);
size_t gdb_args_left(const struct gdb_args *a);

bool gdb_args_char(struct gdb_args *a, char c);
bool gdb_args_text(struct gdb_args *a, const char *text);

/* 1 to 16 digits, most significant first, no "0x". */
bool gdb_args_hex(struct gdb_args *a, uint64_t *value);

/* The same, but no more than `max`. */
bool gdb_args_hex_max(struct gdb_args *a, uint64_t max, uint64_t *value);

/* 2 * len digits: bytes in the order of memory. */
bool gdb_args_bytes(struct gdb_args *a, void *bytes, size_t len);

/* Everything up to the next `stop` (which is taken off as well) or the end of the packet. */
bool gdb_args_until(struct gdb_args *a, char stop, struct gdb_args *word);

/* The whole of what is left is this text. */
bool gdb_args_equal(const struct gdb_args *a, const char *text);

#define GDB_THREAD_ALL (-1)
#define GDB_THREAD_ANY 0

/*
 * Thread ID: hex, "0" (any), "-1" (all), and the form "p1.2" of the multiprocess extension,
 * whose process part is of no interest here. At most INT32_MAX.
 */
bool gdb_args_thread(struct gdb_args *a, int *thread);

#endif
