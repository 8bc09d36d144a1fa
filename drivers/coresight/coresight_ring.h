/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings in memory, a kind of coresight_buffer; reading what any kind has in memory. Private to it.
 */
#ifndef DRIVERS_CORESIGHT_RING_H
#define DRIVERS_CORESIGHT_RING_H

#include "drivers/coresight/coresight_trace.h"

int coresight_ring_start(struct coresight_buffer *b);
int coresight_ring_read(struct coresight_buffer *b, uint32_t *words,
                        struct coresight_buffer_content *content);

/* Words from `from` to `to` of the store, behind those that are there already. */
int coresight_store_read(struct coresight_buffer *b, size_t from, size_t to, uint32_t *words,
                         struct coresight_buffer_content *content);

#endif
