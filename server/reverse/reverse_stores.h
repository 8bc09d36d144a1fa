/* SPDX-License-Identifier: BSD-3-Clause */
/* Where instructions have stored, or perhaps so, between two halts; shared by reverse_forward.c and
 * reverse_cores.c. */
#ifndef SERVER_REVERSE_STORES_H
#define SERVER_REVERSE_STORES_H

#include "reverse_forward_internal.h"

/* True: it has more than before. */
bool reverse_stores_add(struct reverse_stores *to, const struct reverse_stores *from);

/* An execute_kind_fn; `context` is the segment: its RAM but for what other cores have stored to. */
enum execute_memory_kind reverse_stores_kind(void *context, uint64_t address, uint64_t *from,
                                             uint64_t *to, const uint8_t **bytes);

/* The segment that is being walked has accessed memory. */
void reverse_stores_note(struct reverse_forward *f, const struct execute_access *a);

/* Nothing is known of the stores of any core. */
void reverse_stores_release(struct reverse_segment *s);

#endif
