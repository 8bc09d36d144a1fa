/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by reverse_forward.c, reverse_cores.c and reverse_proof.c. */
#ifndef SERVER_REVERSE_FORWARD_INTERNAL_H
#define SERVER_REVERSE_FORWARD_INTERNAL_H

#include "server/reverse/reverse_forward.h"

/* What was worked out of it; what is known of other cores' stores stays. */
void reverse_forward_forget(struct reverse_forward *f, struct reverse_segment *s);
/* Executes a part of segment `i`, which is OPEN; as reverse_forward_work(). */
int reverse_forward_walk(struct reverse_forward *f, struct reverse *p, size_t i, size_t budget);

#define REVERSE_PROOF_WITHDRAW                                                                     \
    2 /* all segments are to be worked out again: they rest on what is                             \
         not so */

/* All segments of all cores are to be worked out again. */
void reverse_forward_withdraw(struct reverse_forward *f);
/* The segment to work on for a position; f->count: none. */
size_t reverse_forward_next(const struct reverse_forward *f, uint64_t position);

/* Compares what segment `i` leads to with what is known there, a part at a time: TARGET_PENDING,
 * REVERSE_PROOF_WITHDRAW, or BT_OK when RAM there is still to be read. */
int reverse_proof(struct reverse_forward *f, size_t i);

#endif
