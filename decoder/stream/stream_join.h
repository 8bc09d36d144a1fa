/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining decodes that began at different places of one stream. A decoder that starts in the
 * middle finds the next synchronisation; from some place on its state is that of a decoder that
 * came from the beginning, but for its counters, and so is all of its output.
 */
#ifndef DECODER_STREAM_JOIN_H
#define DECODER_STREAM_JOIN_H

#include "decoder/stream/stream.h"

/* Streams whose decodes can be joined; the functions below are for these alone. */
bool stream_can_join(const struct stream_config *config);

/* A fresh stream whose first byte is at `offset` of the source's stream. */
void stream_start_at(struct stream *s, uint64_t offset);

/*
 * `mark` and `end` are states of one decode, `s` one of another at the same byte as `mark`. True if
 * what `mark` gave until `end` is what `s` would give, but for instruction numbers.
 */
bool stream_same(const struct stream *s, const struct stream *mark, const struct stream *end);

/* After stream_same(): brings `s` to where `end` is, in its own numbers. */
void stream_take_over(struct stream *s, const struct stream *mark, const struct stream *end);

/* Instructions that a contradiction would put in doubt. */
uint64_t stream_doubtful(const struct stream *s);

/*
 * As stream_same() where the end of `mark`'s decode is not known: true if both give the same from
 * here on, whatever follows, as long as stream_reached_back(mark, end) is false. Who began at
 * `mark` alone cannot give what it asks of the time before.
 */
bool stream_joins(const struct stream *s, const struct stream *mark);
bool stream_reached_back(const struct stream *mark, const struct stream *end);

#endif
