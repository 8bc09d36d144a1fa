/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of a piece of trace whose begin is not known: calls_piece_*() follow it above a base, which
 * stands for what is open before, and write down what only the frames below it decide (a return to
 * one of them, say), each as a step. calls_join() takes the steps in turn to the calls of all that
 * came before: so pieces, joined, are what one run counts, or it says that they are not.
 */
#ifndef DECODER_CALLS_PIECE_H
#define DECODER_CALLS_PIECE_H

#include "decoder/calls/calls.h"

#define CALLS_PIECE_ROWS (256u << 10) /* at most, of a piece */
#define CALLS_ROW_BASE   (-2)         /* exception of a row that stands for what is below */

/* How a step ends. */
enum calls_op {
    CALLS_OP_END, /* of the piece */
    CALLS_OP_EXCEPTION,
    CALLS_OP_EXCEPTION_RETURN, /* the event */
    CALLS_OP_GAP,
    CALLS_OP_TRANSFER, /* plus its enum counts_kind */
    CALLS_OPS = CALLS_OP_TRANSFER + COUNTS_ENTRY + 1,
};

/* A new base, what ran above it, and what ends that. */
struct calls_step {
    uint64_t rows;             /* paths seen up to its end: the first of its own is its base */
    uint64_t function;         /* the newest call below must be of that; 0: any */
    uint64_t from, to, target; /* of the transfer: branch, target and the target's function */
    uint64_t behind;   /* what is behind the branch; or, `closed`, where an exception interrupted */
    uint32_t frames;   /* calls that are open at its end */
    uint32_t deepest;  /* calls that were open at once */
    uint32_t absent;   /* addresses to which no call below may return */
    int32_t exception; /* number */
    uint8_t op;        /* enum calls_op */
    bool closed;       /* the event of this exception's return came in the same step */
};

struct calls_piece {
    struct calls_path *rows; /* parents are rows, and stand before */
    size_t row_count;
    struct calls_step *steps; /* the last one is the end */
    size_t step_count;
    struct calls_frame *frames; /* of all steps in turn; paths are rows */
    size_t frame_count;
    uint64_t *absent; /* of all steps in turn */
    size_t absent_count;
};

void calls_piece_release(struct calls_piece *p);

#define CALLS_PIECE_SEEN 256u

struct calls_cutter {
    struct calls calls; /* frame 0 is the base */
    struct calls_piece piece;
    size_t step_max, frame_max, absent_max;
    size_t step_absent;              /* `absent` of this step begin there */
    uint64_t seen[CALLS_PIECE_SEEN]; /* some of them */
    bool entered;                    /* something is open below */
    bool relied;                     /* on the base's function */
    bool closed; /* the event of an exception's return was the newest, and closed one */
    int error;   /* BT_ERR_NOMEM; BT_ERR_UNSUPPORTED: too deep, or too many rows */
};

/* BT_ERR_NOMEM. Release in both cases. */
int calls_cutter_init(struct calls_cutter *c, bool m_profile);
void calls_cutter_release(struct calls_cutter *c);

/* As calls_transfer(), calls_transfers() and calls_event(). */
void calls_cutter_transfers(void *cutter, const struct counts_transfer *transfers, size_t count,
                            uint64_t cycles);
void calls_cutter_transfer(void *cutter, const struct counts_edge *edge, uint64_t number,
                           uint64_t cycles);
void calls_cutter_event(void *cutter, const struct bt_event *event, uint64_t cycles);

/* A piece begins at instruction `number`, in place of the one that did before, at first at 0. */
void calls_cutter_begin(struct calls_cutter *c, uint64_t number, uint64_t cycles);

/* It ends, and is the caller's. 0, or `error` above. */
int calls_cutter_end(struct calls_cutter *c, uint64_t number, uint64_t cycles,
                     struct calls_piece *out);

/*
 * Adds what follows. The piece is one that counts_file.c has accepted, or that was cut in this
 * process. BT_ERR_NOMEM; BT_ERR_UNSUPPORTED: it would not be what one run counts.
 */
int calls_join(struct calls *c, const struct calls_piece *p);

#endif
