/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_FILE_LOAD_H
#define DRIVERS_FILE_LOAD_H

#include "btrace/types.h"

/*
 * All of an open file, *length bytes and a NUL behind them, into *text (malloc, caller frees).
 * 0, BT_ERR_IO (errno says why), BT_ERR_RANGE (it has more than `most` bytes), BT_ERR_NOMEM.
 */
int file_load(int fd, size_t most, char **text, size_t *length);

#endif
