/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A decoder takes the bytes of one trace source and finds what its core executed: blocks of
 * instructions that ran one after the other, and events between them (exceptions, gaps, context,
 * timestamps, data accesses). What was lost or is damaged becomes a gap with its cause; nothing is
 * guessed.
 *
 * Instructions have numbers: the first one of the trace is 0. A decoder with a sink hands out what
 * it finds as it comes. One without a sink keeps a history: the bytes of the trace and its own
 * state every so often, so that any part can be read at any time, with bounded memory.
 */
#ifndef BTRACE_DECODER_H
#define BTRACE_DECODER_H

#include "btrace/image.h"
#include "btrace/source.h"
#include "btrace/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bt_decoder; /* opaque */

/* What an instruction is. */
#define BT_INSTRUCTION_BRANCH   1u /* may go elsewhere than on: direct or indirect branch */
#define BT_INSTRUCTION_CALL     2u /* a branch that writes the return address */
#define BT_INSTRUCTION_INDIRECT 4u /* where a branch goes is not in its opcode */

struct bt_instruction {
    uint64_t number;
    uint64_t address;
    uint64_t cycles;   /* as the trace counts them since the count before, or BT_NO_CYCLES */
    uint32_t opcode;   /* T32 of 4 bytes: the first halfword is the upper half */
    uint8_t size;      /* bytes: 2 or 4 */
    uint8_t isa;       /* enum bt_isa */
    uint8_t condition; /* enum bt_cond: whether its condition held, as far as the trace tells */
    uint8_t flags;     /* BT_INSTRUCTION_* */
};

/* A packet of the trace protocol. */
struct bt_packet {
    uint64_t offset;    /* of its first byte in the source's bytes */
    uint64_t size;      /* bytes */
    const char *name;   /* "branch", "i-sync" ... */
    const char *detail; /* its fields as "key=value key=value"; may be empty */
    bool skipped;       /* no packet, but bytes before the first synchronisation */
};

/*
 * Where output goes. Functions that are NULL are not called; each gets `ctx`. Blocks and events
 * come in the order of the stream: an event before the instruction of its position. A block comes
 * right before its instructions, a packet before what follows from it. Pointers are valid during
 * the call. The functions must not use the decoder, but for bt_instruction_text().
 */
struct bt_sink {
    /* `number`: of the first instruction. `cycles`: of the block, or BT_NO_CYCLES. */
    void (*block)(void *ctx, uint64_t number, const struct bt_block *block, uint64_t cycles);
    void (*instruction)(void *ctx, const struct bt_instruction *instruction);
    void (*event)(void *ctx, const struct bt_event *event);
    void (*packet)(void *ctx, const struct bt_packet *packet); /* not from a history */
    void *ctx;
};

/* Bounds of a history's memory. All 0: the defaults. */
struct bt_limits {
    size_t trace_bytes;  /* of trace kept, 64 KiB or more: then the oldest go; 0: 64 MiB. Unused
                            with `read` */
    size_t window_bytes; /* of trace between two kept states of the decoder; 0: 64 KiB */
    /* Fills `out` with `size` bytes of the source from `offset` on, for a trace that is kept
     * elsewhere: then the history keeps none, and nothing is dropped. Returns 0, or an enum
     * bt_error that the reading function hands on. NULL: the history keeps the bytes. */
    int (*read)(void *ctx, uint64_t offset, uint8_t *out, size_t size);
    void *ctx;
};

/* What has come of the bytes so far. */
struct bt_status {
    uint64_t bytes;   /* fed */
    uint64_t skipped; /* of these, without synchronisation */
    uint64_t packets;
    uint64_t blocks;
    uint64_t first; /* number of the oldest instruction that a history can show; 0 with a sink */
    uint64_t end;   /* one past the number of the newest instruction */
    bool position_known; /* where execution goes on: */
    uint8_t isa;         /* enum bt_isa */
    uint64_t address;
};

/*
 * A decoder for `source` and the program `image`, which must outlive it. With `sink`, which is
 * copied, it hands out what it finds; `limits` is not used then. With `sink` NULL it keeps a
 * history within `limits` (copied, too; NULL: the defaults). Released with bt_decoder_free().
 *
 * 0: *out is the decoder.
 * BT_ERR_INVAL: `source`, `image` or `out` is NULL, the limits are too small to work with, or as
 * for bt_source_check(). BT_ERR_UNSUPPORTED: as for bt_source_check(). BT_ERR_FORMAT: as for
 * bt_source_check(). BT_ERR_NOMEM
 */
BT_API int bt_decoder_new(const struct bt_source *source, struct bt_image *image,
                          const struct bt_sink *sink, const struct bt_limits *limits,
                          struct bt_decoder **out);

/*
 * The next `size` bytes of the source, of any number: cut anywhere, they give the same output.
 * Damage is no error, but a gap event.
 *
 * 0: taken.
 * BT_ERR_INVAL: `decoder` is NULL, `data` is NULL and `size` is not 0, or the decoder has finished.
 * BT_ERR_NOMEM: a part was taken; bt_decoder_status() tells how many bytes.
 */
BT_API int bt_decoder_feed(struct bt_decoder *decoder, const uint8_t *data, size_t size);

/*
 * Bytes of the source are missing before the next ones: `bytes` of them, 0 if that is not known.
 *
 * 0: done.
 * BT_ERR_INVAL: `decoder` is NULL, `cause` is not one of BT_GAP_WIRE, BT_GAP_LOST_BYTES and
 *     BT_GAP_OVERWRITTEN, or the decoder has finished.
 * BT_ERR_NOMEM
 */
BT_API int bt_decoder_gap(struct bt_decoder *decoder, enum bt_gap_cause cause, uint64_t bytes);

/*
 * No more bytes will come: what was held back, since later bytes could have changed it, is put out.
 *
 * 0: done.
 * BT_ERR_INVAL: `decoder` is NULL, or it has finished already.
 */
BT_API int bt_decoder_finish(struct bt_decoder *decoder);

/*
 * 0: *out is filled.
 * BT_ERR_INVAL: `decoder` or `out` is NULL.
 */
BT_API int bt_decoder_status(const struct bt_decoder *decoder, struct bt_status *out);

/*
 * Reads the history: instructions `first` to `end` - 1 with the events right before them, and if
 * `end` is that of bt_decoder_status() those behind the last one, too. Blocks that hold one of the
 * instructions are handed out whole. Any part may be read in any order: backwards in steps of a few
 * hundred instructions costs no more than forwards.
 *
 * 0: read; `first` = `end` is allowed.
 * BT_ERR_INVAL: `decoder` or `sink` is NULL, or `end` is less than `first`.
 * BT_ERR_UNSUPPORTED: the decoder has a sink and keeps no history.
 * BT_ERR_RANGE: instructions were dropped already, or have not been executed yet.
 * BT_ERR_NOMEM
 * What `read` of struct bt_limits returned.
 */
BT_API int bt_decoder_read(struct bt_decoder *decoder, uint64_t first, uint64_t end,
                           const struct bt_sink *sink);

/*
 * Text of an instruction, such as "bl #0x8000": UAL syntax as capstone writes it, ".inst 0x..." for
 * what nobody knows. The conditions that an IT block lends are followed from one call to the next:
 * ask for the instructions in the order in which they ran. The text is the decoder's, valid until
 * the next call with that decoder. NULL: an argument is NULL, or there is no memory.
 *
 * This is the only function that needs capstone.
 */
BT_API const char *bt_instruction_text(struct bt_decoder *decoder,
                                       const struct bt_instruction *instruction);

/* NULL is allowed. */
BT_API void bt_decoder_free(struct bt_decoder *decoder);

#ifdef __cplusplus
}
#endif

#endif
