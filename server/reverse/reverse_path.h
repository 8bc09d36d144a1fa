/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forward execution along the history: instruction by instruction, with the exceptions in between,
 * from one position to another.
 */
#ifndef SERVER_REVERSE_PATH_H
#define SERVER_REVERSE_PATH_H

#include "decoder/execute/execute.h"
#include "server/reverse/reverse.h"

#define REVERSE_PATH_BLOCKS 4096u /* a power of two */

/* A block whose instructions were read before. */
struct reverse_path_block {
    uint64_t first;
    uint32_t extent, shape; /* of struct bt_block, without its condition; 0: none */
    struct execute_insn *insns;
};

/* What instructions are read through: kept from call to call, of one image. */
struct reverse_path_cache {
    struct reverse_path_block blocks[REVERSE_PATH_BLOCKS];
    struct code_key key;
    bool valid; /* the key is */
};

enum reverse_path_stop {
    REVERSE_PATH_THERE, /* at its end */
    REVERSE_PATH_MORE,  /* the budget is used up */
    REVERSE_PATH_GAP,   /* trace is missing at `gap`; the state says nothing any more */
    REVERSE_PATH_CODE,  /* the code of the next instruction is not known, nor is what it does */
    REVERSE_PATH_WRONG, /* what is known contradicts the path */
};

struct reverse_path {
    struct execute x;
    uint64_t position; /* that the state is of; what happened right before it has happened */
    uint64_t gap;      /* REVERSE_PATH_GAP: from here on it is not known what ran */
    /* Where it ends: a halt, whose PC may be another one now that somebody has written it. */
    uint64_t end, end_pc;
    bool m_profile;
    bool believes; /* the path, whatever contradicts it: flags are unknown then, and it goes on */
    uint64_t insn, pc; /* the one that ran last, which exceptions follow; for `x.accessed` */
};

void reverse_path_cache_release(struct reverse_path_cache *cache);

/*
 * Executes up to `to`, which is not behind p->end, or about `budget` instructions. An enum
 * reverse_path_stop, or a bt_error: BT_ERR_NOMEM (the state is that of p->position still, but for
 * what one instruction has done in part), or what reading the history returned.
 */
int reverse_path_go(struct reverse_path *p, struct reverse *reverse,
                    struct reverse_path_cache *cache, uint64_t to, size_t budget);

/*
 * The core has been halted at p->position, with this PC, and runs on from there: an exception that
 * waited for that is taken. As reverse_path_go(), without REVERSE_PATH_MORE; of errors BT_ERR_NOMEM
 * alone. REVERSE_PATH_WRONG: the history does not go on from there.
 */
int reverse_path_begin(struct reverse_path *p, struct reverse *reverse,
                       struct reverse_path_cache *cache, uint64_t pc);

/* A halted core ran on at `position`, when the history ended at `from`: instructions may be missing
 * between them, or right there. */
bool reverse_path_begins_late(struct reverse *reverse, uint64_t from, uint64_t position);

#endif
