/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_FILE_LOAD_H
#define DRIVERS_FILE_LOAD_H

#include "btrace/types.h"

/*
 * All of an open file, *length bytes and a NUL behind them, into *text (malloc, caller frees).
 * 0, BT_ERR_IO (errno says why), BT_ERR_RANGE (it has more than `most` bytes), BT_ERR_NOMEM.
 */
int file_load(int fd, size_t most, char **text, size_t *length);

/* The same of a path. Nobody waits for a pipe: it is no file. */
int file_load_path(const char *path, size_t most, char **text, size_t *length);

/* All of it, or BT_ERR_IO. *written grows by the bytes that were; NULL: nobody counts. */
int file_write_all(int fd, const void *data, size_t length, uint64_t *written);

#endif
