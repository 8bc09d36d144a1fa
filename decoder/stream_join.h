/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining decodes that began at different places of one stream. A decoder that starts in the
 * middle finds the next synchronisation; from some place on its state is that of a decoder that
 * came from the beginning, but for its counters, and so is all of its output.
 */
#ifndef DECODER_STREAM_JOIN_H
#define DECODER_STREAM_JOIN_H

#include "decoder/stream.h"

/* Numbers that a stream has counted. */
struct stream_counts {
    uint64_t instructions;
    uint64_t blocks;
    uint64_t packets;
    uint64_t skipped;
    uint64_t cycles;
    uint64_t atoms_dropped;
};

/* Protocols whose decodes can be joined; the functions below are for these alone. */
bool stream_can_join(enum stream_protocol protocol);

/* A fresh stream whose first byte is at `offset` of the source's stream. */
void stream_start_at(struct stream *s, uint64_t offset);

/* True if both give the same output for whatever comes, but for instruction numbers. */
bool stream_same(const struct stream *a, const struct stream *b);

void stream_get_counts(const struct stream *s, struct stream_counts *counts);

/* Sets `s` to what it is plus (from - at): it was decoded from `at` on in another numbering. */
void stream_rebase(struct stream *s, const struct stream_counts *at,
                   const struct stream_counts *from);

#endif
