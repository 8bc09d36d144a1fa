/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that decoding a stream puts out, kept for comparison. */
#ifndef TESTS_SUPPORT_DECODED_H
#define TESTS_SUPPORT_DECODED_H

#include "decoder/stream/stream.h"

struct decoded {
    struct stream_sink sink; /* give this to stream_feed() and its kind */
    struct code_cache code;
    struct stream stream;
    struct bt_block *blocks; /* after decoded_take(): all so far */
    uint64_t *cycles;
    struct bt_event *events;
    size_t block_count, block_max;
    size_t event_count, event_max;
    struct bt_block out_blocks[64]; /* small: flushed often, at odd places */
    uint64_t out_cycles[64];
    struct bt_event out_events[64];
};

/* Ready to be fed. Aborts without memory: this is for tests. */
void decoded_init(struct decoded *d, const struct stream_config *config,
                  const struct code_image *image);
void decoded_release(struct decoded *d);

/* Feeds the bytes in pieces of random size (seed != 0) or at once, then takes all output. */
void decoded_feed(struct decoded *d, const uint8_t *data, size_t len, uint32_t seed);

/* Moves what the sink still holds to the arrays. */
void decoded_take(struct decoded *d);

/* Compares two decodes; returns NULL if equal, else a text that says where they differ. */
const char *decoded_difference(const struct decoded *a, const struct decoded *b);

#endif
