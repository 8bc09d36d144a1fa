/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/capture/trace_pool.h"

#include <stdlib.h>
#include <uv.h>

#define KEPT 16u /* free ones; what a slow disk has held goes back to the system */

struct trace_pool {
    uv_mutex_t lock;
    struct trace_buffer *free; /* the one used last first: the cache still has it */
    unsigned count;
};

struct trace_pool *trace_pool_new(void)
{
    struct trace_pool *pool = calloc(1, sizeof *pool);
    if (pool)
        uv_mutex_init(&pool->lock);
    return pool;
}

void trace_pool_free(struct trace_pool *pool)
{
    if (!pool)
        return;
    while (pool->free) {
        struct trace_buffer *b = pool->free;
        pool->free = b->next;
        free(b);
    }
    uv_mutex_destroy(&pool->lock);
    free(pool);
}

struct trace_buffer *trace_pool_take(struct trace_pool *pool)
{
    uv_mutex_lock(&pool->lock);
    struct trace_buffer *b = pool->free;
    if (b) {
        pool->free = b->next;
        pool->count--;
    }
    uv_mutex_unlock(&pool->lock);
    if (!b && !(b = malloc(sizeof *b)))
        return NULL;
    b->pool = pool;
    atomic_init(&b->holders, 1);
    return b;
}

void trace_buffer_hold(struct trace_buffer *b)
{
    atomic_fetch_add_explicit(&b->holders, 1, memory_order_relaxed);
}

void trace_buffer_release(struct trace_buffer *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->holders, 1, memory_order_acq_rel) > 1)
        return;
    struct trace_pool *pool = b->pool;
    uv_mutex_lock(&pool->lock);
    bool keep = pool->count < KEPT;
    if (keep) {
        b->next = pool->free;
        pool->free = b;
        pool->count++;
    }
    uv_mutex_unlock(&pool->lock);
    if (!keep)
        free(b);
}

bool trace_buffer_is_own(struct trace_buffer *b)
{
    return atomic_load_explicit(&b->holders, memory_order_acquire) == 1;
}
