/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file beside a recording in which its histories are kept, so that the next `replay` need not
 * decode all of it before its first answer. docs/scale.md says what is in it.
 *
 * It holds states of the decoder, which nobody can check: so it is signed (HMAC-SHA256) with a key
 * that is the user's own, and is for the recording, the programs and the very binary that it was
 * made of. One that is anything else is not looked into.
 */
#ifndef SERVER_KEPT_INDEX_H
#define SERVER_KEPT_INDEX_H

#include "drivers/base/message.h"
#include "server/recording/recording_history.h"

#define KEPT_INDEX_NAME  "replay.index" /* in the recording's folder */
#define KEPT_INDEX_ID    32             /* bytes: SHA-256 */
#define KEPT_INDEX_PATH  4096           /* bytes of a path, longer ones find nothing */
#define KEPT_INDEX_LEAST (32u << 20)    /* bytes of trace: fewer are decoded as soon */

/* What an index must be for. */
struct kept_index_id {
    uint8_t key[KEPT_INDEX_ID];
    uint8_t belongs[KEPT_INDEX_ID];
};

/*
 * Of the recording in folder `path` with these program files: names, sizes, times of the last
 * change, and the contents of small files; of long ones samples, not all. The key is made where
 * there is none: $XDG_STATE_HOME/btraced/index.key, below ~/.local/state without that variable.
 * BT_ERR_IO with *why filled: there can be no index.
 */
int kept_index_identify(struct recording *r, const char *path, const char *const *elf,
                        size_t elf_count, struct kept_index_id *id, struct message *why);

/* Pieces of bytes, one behind the other. */
struct kept_index {
    uint8_t *data; /* owned */
    size_t size, at;
};

void kept_index_release(struct kept_index *x);

/* A copy of the bytes becomes the last piece. BT_ERR_NOMEM: the index is as it was. */
int kept_index_add(struct kept_index *x, const void *data, size_t size);

/* The next piece; valid until the index is released. BT_ERR_FORMAT: there is no more. */
int kept_index_next(struct kept_index *x, const uint8_t **data, size_t *size);

/* The history, as pieces and back; `rh` as for recording_history_init(), released in all cases. */
int kept_index_add_history(struct kept_index *x, const struct recording_history *rh);
int kept_index_next_history(struct kept_index *x, struct recording *r,
                            const struct recording_source *source, struct recording_history *rh);

/*
 * BT_OK: *x is to be released. BT_ERR_RANGE: there is no such file. Otherwise *why tells why it is
 * of no use. The file is there whole or not at all.
 */
int kept_index_read(const char *folder, const struct kept_index_id *id, struct kept_index *x,
                    struct message *why);
int kept_index_write(const char *folder, const struct kept_index_id *id, const struct kept_index *x,
                     struct message *why);

/* Whether bytes of a file are for `id`: *x has a copy then. As kept_index_read(). */
int kept_index_open(const uint8_t *file, size_t size, const struct kept_index_id *id,
                    struct kept_index *x, struct message *why);

#endif
