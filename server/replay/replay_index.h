/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index beside a recording, as `replay` uses it: histories, and where the states of its cores
 * belong in them. For replay.c.
 */
#ifndef SERVER_REPLAY_INDEX_H
#define SERVER_REPLAY_INDEX_H

#include "replay_known.h"
#include "server/recording/kept_index.h"

struct replay_index_of {
    const char *path; /* of the recording */
    const char *const *elf;
    size_t elf_count;
    bool wanted;
};

struct replay_index {
    struct kept_index_id id;
    struct kept_index in;
    char folder[KEPT_INDEX_PATH];
    bool wanted; /* one is kept */
    bool found;  /* and this is it */
};

/* Looks for it, and says what it does without one; `bytes` of trace would be decoded. */
void replay_index_begin(struct replay_index *x, struct recording *r,
                        const struct replay_index_of *of, uint64_t bytes);

/* The next source's. False: `trace` is as it was, and is to be decoded. */
bool replay_index_take(struct replay_index *x, struct recording *r,
                       const struct recording_source *source, struct recording_history *trace,
                       struct replay_known *known);

/* Writes what had to be decoded. */
void replay_index_keep(const struct replay_index *x, const struct recording_history *traces,
                       const struct replay_known *known, size_t count);

#endif
