/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One trace source's way from bytes to blocks, whatever its protocol. Plain data: a copy taken
 * between two calls is a checkpoint from which the same bytes give the same output.
 */
#ifndef DECODER_STREAM_H
#define DECODER_STREAM_H

#include "decoder/ptm_flow.h"

enum stream_protocol {
    STREAM_PTM,
};

struct stream_config {
    enum stream_protocol protocol;
    uint16_t core;       /* selects code, see struct code_key */
    uint32_t generation; /* of the program image */
    struct ptm_config ptm;
};

/*
 * Where output goes. `out` points at arrays of the caller; `flush` is called whenever they are
 * nearly full, must use up what is there and set the counts to 0. What is left after a call of
 * stream_feed() is the caller's to take. `packets`, if set, sees every packet right before its
 * output is flushed.
 */
struct stream_sink {
    struct flow_out out;
    void (*flush)(void *ctx, struct flow_out *out);
    void (*packets)(void *ctx, const struct ptm_packet *packets, size_t count);
    void *ctx;
};

struct stream {
    uint8_t protocol;
    uint64_t skipped; /* bytes thrown away while looking for synchronisation */
    uint64_t packets;
    struct ptm ptm;
    struct ptm_flow flow;
};

/* Options that the protocol sets for the program image's cache. */
void stream_code_options(const struct stream_config *config, struct code_options *options);

void stream_init(struct stream *s, const struct stream_config *config, struct code_cache *code);

/* Copy of the state without pointers, and back into use with a cache. */
void stream_save(const struct stream *s, struct stream *copy);
void stream_resume(struct stream *s, const struct stream *copy, struct code_cache *code);

void stream_feed(struct stream *s, const uint8_t *data, size_t len, struct stream_sink *sink);

/* `bytes` (0: unknown) are missing at this point. */
void stream_gap(struct stream *s, enum bt_gap_cause cause, uint64_t bytes,
                struct stream_sink *sink);

/* End of the stream: what is incomplete is reported to `packets`. */
void stream_finish(struct stream *s, struct stream_sink *sink);

uint64_t stream_offset(const struct stream *s);       /* bytes taken */
uint64_t stream_instructions(const struct stream *s); /* instructions put out */

/* Who looks at the program image at this point of the flow. */
void stream_code_key(const struct stream *s, struct code_key *key);

/* Where execution goes on. False if that is not known. */
bool stream_position(const struct stream *s, uint64_t *address, enum bt_isa *isa);

#endif
