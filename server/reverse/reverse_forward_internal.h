/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by reverse_forward.c and reverse_proof.c. */
#ifndef SERVER_REVERSE_FORWARD_INTERNAL_H
#define SERVER_REVERSE_FORWARD_INTERNAL_H

#include "server/reverse/reverse_forward.h"

#define REVERSE_PROOF_WITHDRAW                                                                     \
    2 /* all stretches are to be worked out again: they rest on what is                            \
         not so */

/* Compares what stretch `i` leads to with what is known there, a part at a time: TARGET_PENDING,
 * REVERSE_PROOF_WITHDRAW, or BT_OK when RAM there is still to be read. */
int reverse_proof(struct reverse_forward *f, size_t i);

#endif
