/* SPDX-License-Identifier: BSD-3-Clause */
/* Where recordings of clients go: below [record] dir, by a name that cannot leave it. */
#ifndef SERVER_RECORD_PLACE_H
#define SERVER_RECORD_PLACE_H

#include "server/config/config.h"

#include <stdio.h>

#define RECORD_NAME_MAX 64u

/*
 * The path of a recording that a client asks for, into `path`: `name` is one plain word, NULL for
 * the folder of the board file itself. Makes [record] dir if it is missing. BT_OK, or with *why
 * filled: BT_ERR_INVAL (no such folder in the board file, or the name is none), BT_ERR_RANGE
 * ([record] max_count), BT_ERR_IO (it is a symbolic link, or no folder).
 */
int record_place(const struct config *config, const char *name, char *path, size_t size,
                 struct message *why);

/*
 * Makes a new file there, by the same rules; *out is to be closed. BT_ERR_IO also if the name is
 * taken already, BT_ERR_RANGE also without room for it.
 */
int record_file(const struct config *config, const char *name, char *path, size_t size, FILE **out,
                struct message *why);

/* Bytes of the file system of `path` that may be used: those beyond `keep_free`. UINT64_MAX:
 * it does not say. */
uint64_t record_place_room(uint64_t keep_free, const char *path);

#endif
