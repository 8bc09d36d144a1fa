/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one core executed, addressed by instruction number.
 *
 * Trace is its own best compression: the history keeps the source's bytes (or knows where to
 * read them again) and a checkpoint of the decoder every so often. A window, from one checkpoint to
 * the next, is decoded again when somebody looks at it, always with the same
 * result: 8 bytes a block, 24 on a 64-bit core. Numbers are 0-based, count from the start of the
 * stream, and stay valid while the oldest part is dropped. Memory is bounded by the configuration.
 * Where the bytes are kept elsewhere nothing is dropped: the decoder's states become sparser, and
 * a window is decoded from the nearest one before it. For one thread at a time.
 */
#ifndef DECODER_HISTORY_H
#define DECODER_HISTORY_H

#include "decoder/history/gap_ledger.h"
#include "decoder/stream/stream.h"

struct history_config {
    size_t checkpoint_bytes; /* trace bytes between checkpoints; 0: 64 KiB */
    size_t max_checkpoints;  /* then the oldest go, or with `read` windows double; 0: 65536 */
    size_t max_states;       /* of the decoder, with `read`: they become sparser; 0: 512 */
    size_t max_bytes;        /* of trace kept in memory; 0: 64 MiB; unused with `read` */
    size_t max_gaps;         /* entries of the ledger: later ones are only counted; 0: 4096 */
    /* Reads stored bytes back, for sources that are kept elsewhere: fills all of `out` or fails
     * with a bt_error. NULL: the history keeps them itself. */
    int (*read)(void *ctx, uint64_t offset, uint8_t *out, size_t len);
    void *read_ctx;
};

struct window_store; /* private */

/* Decoded window of history. Valid until the next call with that history. */
struct history_window {
    uint64_t first; /* number of the first instruction */
    uint64_t end;   /* one past the last */
    size_t block_count;
    const struct bt_event *events;
    size_t event_count;
    struct code_key key; /* at the window's begin: see flow_track_key() */
    const struct window_store *store;
};

/* Block number i of the window, i < block_count. */
void history_block(const struct history_window *w, size_t i, struct bt_block *out);

/* From block *i, not included, back to block `least`: the first that spans the address becomes *i.
 * False: none does, and *i is `least`. */
bool history_block_back(const struct history_window *w, size_t least, uint64_t address, size_t *i);

/* Cycles that the trace counts for it; FLOW_NO_CYCLES if none. */
uint64_t history_block_cycles(const struct history_window *w, size_t i);

/* Number of its first instruction; not for every block of a long loop: adds up to 127 counts. */
uint64_t history_block_number(const struct history_window *w, size_t i);

struct history; /* private */

/*
 * `image` must outlive the history. *out is released with history_free().
 * BT_ERR_NOMEM; BT_ERR_INVAL for a configuration that cannot work.
 */
int history_new(const struct history_config *config, const struct stream_config *stream,
                const struct code_image *image, struct history **out);
void history_free(struct history *h);

/* The next bytes of the source. BT_ERR_NOMEM: nothing was taken. */
int history_append(struct history *h, const uint8_t *data, size_t len);

/* Bytes are missing before the next ones. Gaps at one place are one entry. */
int history_gap(struct history *h, enum bt_gap_cause cause, uint64_t bytes);

/* Code has been written: what comes next is followed through this generation of the image. */
int history_set_generation(struct history *h, uint32_t generation);

/*
 * Code that was missing is there now: decodes all that is kept again. Numbers from the oldest kept
 * instruction on may change. 0 or BT_ERR_NOMEM, or what `read` returned.
 */
int history_again(struct history *h);

/* No more bytes will come. */
void history_finish(struct history *h);

/*
 * What is known after history_finish(), for a later run of this very program: bytes to be freed,
 * and from them into a new history of the same configuration. They hold states of the decoder,
 * which are taken as they are: whoever keeps them must know that they are those. Only with `read`.
 * BT_ERR_NOMEM; BT_ERR_FORMAT: they do not fit together, and the history is only to be freed.
 */
int history_keep(const struct history *h, uint8_t **data, size_t *size);
int history_restore(struct history *h, const uint8_t *data, size_t size);

/* Numbers of the oldest instruction that can be shown, and one past the newest. */
uint64_t history_first(const struct history *h);
uint64_t history_end(const struct history *h);

/* What was decoded so far. */
struct history_totals {
    uint64_t bytes; /* of the source's stream */
    uint64_t packets;
    uint64_t skipped; /* bytes, for want of a sync */
    uint64_t blocks;
};

void history_totals(const struct history *h, struct history_totals *out);

/* Each instruction has an atom: within a block, whose last one tells whether its condition held,
 * all before it have run. */
bool history_has_all_conditions(const struct history *h);

/* The trace has context IDs. */
bool history_traces_context(const struct history *h);

/* Where execution goes on after the last instruction. False if that is not known. */
bool history_position(const struct history *h, uint64_t *address, enum bt_isa *isa);

/*
 * Instructions behind history_end() that are pending in the decoder, since what comes next could
 * take them back. At a halt nothing comes: if they lead to the halted PC, they ran.
 */
#define HISTORY_TAIL_MAX 16
struct history_tail {
    struct bt_block blocks[HISTORY_TAIL_MAX]; /* oldest first */
    size_t count;
    uint64_t instructions;
    bool known; /* execution goes on at `address`, nothing is missing up to there */
    uint64_t address;
    enum bt_isa isa;
    bool taken_told; /* the trace has each branch that is taken: behind it none was */
};
void history_tail(struct history *h, struct history_tail *out);

/*
 * The window that holds instruction `number` (or, for history_end(), the newest one).
 * BT_ERR_RANGE: dropped already or not yet executed; BT_ERR_NOMEM;
 * or what `read` returned. */
int history_window(struct history *h, uint64_t number, struct history_window *out);

/* The window right before / behind the one that begins / ends there; BT_ERR_RANGE at the ends.
 * Windows without instructions are visited, too: their events count. Appending may change the
 * number of a window. */
int history_window_index(struct history *h, size_t index, struct history_window *out);
size_t history_window_count(const struct history *h);
/* Index of the window that holds instruction `number`, which can be shown. */
size_t history_window_find(const struct history *h, uint64_t number);

/* Windows that were dropped so far: with it an index is a number that stays. Without `read`. */
uint64_t history_windows_dropped(const struct history *h);

/*
 * What a window's blocks reach, without decoding it: questions about a long history pass over those
 * that cannot hold the answer. No blocks: low > high.
 */
struct history_reach {
    uint64_t low, high; /* address of the lowest instruction, and of the highest */
    uint32_t isas;      /* bit n: some block is of enum bt_isa n */
    bool events;        /* some that are no mere warnings, counts, timestamps or data */
};
void history_window_reach(const struct history *h, size_t index, struct history_reach *out);

/* Index of the block of `w` that holds instruction `number`; w->block_count if none does. */
size_t history_block_index(const struct history_window *w, uint64_t number);

/* The ledger: entries kept, and the total by cause. */
size_t history_gaps(const struct history *h, const struct gap_entry **out);
uint64_t history_gap_count(const struct history *h, enum bt_gap_cause cause);

/* Bytes of memory in use. */
size_t history_memory(const struct history *h);

#endif
