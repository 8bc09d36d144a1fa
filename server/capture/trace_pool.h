/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for captured bytes. A buffer has holders: whoever fills it, the decoder's ring, the
 * recorder. The last one gives it back. Whoever fills it writes only behind what it has handed on,
 * so holders read without a lock.
 *
 * Take, hold and release may be called by any thread. Buffers are allocated when none is free, and
 * kept afterwards, so that a steady capture allocates nothing; how many are out is bounded by those
 * who hold them.
 */
#ifndef SERVER_TRACE_POOL_H
#define SERVER_TRACE_POOL_H

#include "btrace/types.h"

#include <stdatomic.h>

#define TRACE_BUFFER_SIZE ((size_t)256 << 10)

struct trace_pool; /* private */

struct trace_buffer {
    struct trace_pool *pool;
    struct trace_buffer *next; /* of the free ones */
    atomic_uint holders;
    uint8_t bytes[TRACE_BUFFER_SIZE];
};

/* NULL: out of memory. */
struct trace_pool *trace_pool_new(void);

/* All buffers must be back. NULL is allowed. */
void trace_pool_free(struct trace_pool *pool);

/* A buffer whose one holder is the caller. NULL: out of memory. */
struct trace_buffer *trace_pool_take(struct trace_pool *pool);

/* One holder more; the caller is one. */
void trace_buffer_hold(struct trace_buffer *b);

/* One holder less. NULL is allowed. */
void trace_buffer_release(struct trace_buffer *b);

/* The caller is the only holder: what was handed on is not read any more. */
bool trace_buffer_is_own(struct trace_buffer *b);

#endif
