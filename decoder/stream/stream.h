/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One trace source's way from bytes to blocks, whatever its protocol. Plain data: a copy taken
 * between two calls is a checkpoint from which the same bytes give the same output.
 *
 * A protocol is a parser (bytes -> packets) and a flow stage (packets -> blocks and events) with
 * the shape of ptm.h and ptm_flow.h. It joins with an enumerator, a configuration in struct
 * stream_config, a pair of states in the union of struct stream, and the table of operations that
 * stream_internal.h describes.
 */
#ifndef DECODER_STREAM_H
#define DECODER_STREAM_H

#include "decoder/etmv1/etmv1_flow.h"
#include "decoder/etmv2/etmv2_flow.h"
#include "decoder/etmv3/etmv3_flow.h"
#include "decoder/etmv4/etmv4_flow.h"
#include "decoder/itm/itm_flow.h"
#include "decoder/mtb/mtb_flow.h"
#include "decoder/ptm/ptm_flow.h"
#include "decoder/stm/stm_flow.h"

enum stream_protocol {
    STREAM_PTM,
    STREAM_ETMV3,
    STREAM_ETMV2,
    STREAM_ETMV1,
    STREAM_ETMV4,
    STREAM_ITM,
    STREAM_STM,
    STREAM_MTB,
};

#define STREAM_PROTOCOLS 8

struct stream_config {
    enum stream_protocol protocol;
    uint16_t core;       /* selects code, see struct code_key */
    uint32_t generation; /* of the program image */
    /* Only that of `protocol` counts. */
    struct ptm_config ptm;
    struct etmv3_config etmv3;
    struct etmv2_config etmv2;
    struct etmv1_config etmv1;
    struct etmv4_config etmv4;
    struct itm_config itm;
    struct stm_config stm;
    struct mtb_config mtb;
};

/* One packet of any protocol, for those who list packets. */
struct stream_packet {
    uint64_t offset;    /* of the first byte in the source's stream */
    uint64_t size;      /* bytes */
    bool zeros;         /* an A-sync: all bytes but the last are 0, perhaps a great many */
    bool skipped;       /* not a packet, but bytes thrown away for want of synchronisation */
    const void *packet; /* struct ptm_packet ..., as the stream's protocol says; valid during the
                           call */
};

/*
 * Where output goes. `out` points at arrays of the caller; `flush` is called whenever they are
 * nearly full, must use up what is there and set the counts to 0. What is left after a call of
 * stream_feed() is the caller's to take. `packet`, if set, sees every packet right before its
 * output is flushed.
 */
struct stream_sink {
    struct flow_out out;
    void (*flush)(void *ctx, struct flow_out *out);
    void (*packet)(void *ctx, const struct stream_packet *packet);
    void *ctx;
};

struct stream_ptm {
    struct ptm parser;
    struct ptm_flow flow;
};

struct stream_etmv3 {
    struct etmv3 parser;
    struct etmv3_flow flow;
};

struct stream_etmv2 {
    struct etmv2 parser;
    struct etmv2_flow flow;
};

struct stream_etmv1 {
    struct etmv1 parser;
    struct etmv1_flow flow;
};

struct stream_etmv4 {
    struct etmv4 parser;
    struct etmv4_flow flow;
};

struct stream_itm {
    struct itm parser;
    struct itm_flow flow;
};

struct stream_stm {
    struct stm parser;
    struct stm_flow flow;
};

struct stream_mtb {
    struct mtb parser;
    struct mtb_flow flow;
};

struct stream {
    uint8_t protocol; /* enum stream_protocol */
    uint32_t size;    /* stream_state_size() */
    uint64_t skipped; /* bytes thrown away while looking for synchronisation */
    uint64_t packets;
    union {
        struct stream_ptm ptm;
        struct stream_etmv3 etmv3;
        struct stream_etmv2 etmv2;
        struct stream_etmv1 etmv1;
        struct stream_etmv4 etmv4;
        struct stream_itm itm;
        struct stream_stm stm;
        struct stream_mtb mtb;
    } u;
};

/* Options that the protocol sets for the program image's cache. */
void stream_code_options(const struct stream_config *config, struct code_options *options);

void stream_init(struct stream *s, const struct stream_config *config, struct code_cache *code);

/* What the trace of a protocol says besides where execution went. */
struct stream_facts {
    bool all_conditions; /* each instruction has an atom: within a block all but the last have run
                          */
    bool taken_told;     /* each branch that is taken: behind the last one none was */
};
struct stream_facts stream_facts(const struct stream *s);

/* Whether its blocks can have counts of cycles: if not, an array for them is only work. */
bool stream_counts_blocks(const struct stream_config *config);

/* Whether it traces context IDs. */
bool stream_traces_context(const struct stream_config *config);

/*
 * Copy of the state without pointers, and back into use with a cache. A copy may be kept cut to
 * stream_state_size() bytes: what is behind belongs to other protocols,
 * or is void in a copy. */
size_t stream_state_size(const struct stream_config *config);
void stream_save(const struct stream *s, struct stream *copy);
void stream_resume(struct stream *s, const struct stream *copy, struct code_cache *code);

/* Another stream is about to use the same cache: keep no pointer into it. */
void stream_unlink(struct stream *s);

void stream_feed(struct stream *s, const uint8_t *data, size_t len, struct stream_sink *sink);

/* `bytes` (0: unknown) are missing at this point. */
void stream_gap(struct stream *s, enum bt_gap_cause cause, uint64_t bytes,
                struct stream_sink *sink);

/* End of the stream: what is incomplete is reported to `packet`, what is pending is put out. */
void stream_finish(struct stream *s, struct stream_sink *sink);

/* From here on code is looked up as of this generation of the program image; what was executed
 * before stays what it was. */
void stream_set_generation(struct stream *s, uint32_t generation, struct stream_sink *sink);

uint64_t stream_offset(const struct stream *s);        /* bytes taken */
uint64_t stream_instructions(const struct stream *s);  /* instructions put out */
uint64_t stream_blocks(const struct stream *s);        /* blocks put out */
uint64_t stream_cycles(const struct stream *s);        /* sum of all counts */
uint64_t stream_atoms_dropped(const struct stream *s); /* atoms on an unknown position */

/* A synchronising packet that gives the position was seen since the beginning. */
bool stream_started(const struct stream *s);

/* Who looks at the program image at this point of the flow: who executes what comes out next. */
void stream_code_key(const struct stream *s, struct code_key *key);

/* Where execution goes on. False if that is not known. */
bool stream_position(const struct stream *s, uint64_t *address, enum bt_isa *isa);

#endif
