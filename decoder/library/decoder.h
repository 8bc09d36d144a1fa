/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A decoder of the library: a stream whose output goes to the caller's functions, or a history.
 * Private to the library.
 */
#ifndef DECODER_LIBRARY_DECODER_H
#define DECODER_LIBRARY_DECODER_H

#include "btrace/decoder.h"
#include "decoder/history/history.h"

#define OUT_BLOCKS 1024
#define OUT_EVENTS 256

struct instruction_text; /* private to text.c */

/* Blocks and events on their way to a caller's functions, and the code behind them. */
struct handout {
    struct bt_sink sink;
    struct code_cache code; /* for opcodes of what was decoded */
    struct code_view *view; /* NULL: `key` has changed */
    struct code_key key;
    uint64_t number;     /* of the next instruction to come */
    uint64_t first, end; /* instructions that are wanted */
};

/* What only a decoder with a sink has. */
struct live {
    const struct source_protocol *protocol;
    struct stream_config config;
    struct code_cache code; /* of the decoder */
    struct stream stream;
    struct stream_sink sink;
    struct bt_block blocks[OUT_BLOCKS];
    uint64_t cycles[OUT_BLOCKS];
    struct bt_event events[OUT_EVENTS];
};

struct bt_decoder {
    struct live *live; /* one of these two */
    struct history *history;
    struct handout handout;
    bool finished;
    bool m_profile;
    struct instruction_text *text; /* NULL: not asked for yet */
    void (*free_text)(struct instruction_text *text);
};

#endif
