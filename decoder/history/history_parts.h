/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One history decoded by several threads. Bytes are stored first; what is stored, but not decoded,
 * is cut at the begins of windows. Anybody decodes such a part by itself, from the first
 * synchronisation in it, and who appends to the history joins the parts in turn, each from where
 * its state is the true one (decoder/stream/stream_join.h). The history is that of one decode.
 *
 * There are no threads here. While parts are decoded nothing is stored, the image does not change,
 * and the history is used by one thread at a time.
 */
#ifndef DECODER_HISTORY_PARTS_H
#define DECODER_HISTORY_PARTS_H

#include "decoder/history/history.h"

/* Bytes for later: the next ones of the source. Not with `read` of struct history_config. Decodes
 * what would have no room. BT_ERR_NOMEM. */
int history_store(struct history *h, const uint8_t *data, size_t len);

/* Bytes of the stream that are there, and how many of them are not decoded yet. */
uint64_t history_stored(const struct history *h);
uint64_t history_pending(const struct history *h);

/* Decodes them, up to byte `end` of the stream; BT_ERR_NOMEM. */
int history_decode(struct history *h, uint64_t end);

struct history_part; /* private: one window, or what there is of the last one */

/* NULL: no memory. */
struct history_part *history_part_new(void);
void history_part_free(struct history_part *p);

/* The next of the pending bytes that can be cut off, [*begin, *end), as *part. *end is 0, or what
 * the call before left there. False: there are none, or the protocol's decodes cannot be joined. */
bool history_cut(const struct history *h, struct history_part *part, uint64_t *begin,
                 uint64_t *end);

struct part_decoder; /* private: the cache of one thread for parts of one history */

/* NULL: no memory. The history's image must outlive it. */
struct part_decoder *part_decoder_new(const struct history *h);
void part_decoder_free(struct part_decoder *d);

/* In any thread. A part that was not decoded, or without memory, is decoded when it is joined. */
void part_decode(struct part_decoder *d, struct history_part *p);

/* The history has been decoded up to the part's begin, and is up to its end afterwards. *taken:
 * the part's decode was of use. BT_ERR_NOMEM. */
int history_join(struct history *h, struct history_part *p, bool *taken);

#endif
