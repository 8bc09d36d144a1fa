/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of captured bytes: who holds one may read it, the last one gives it back. */
#include "server/capture/trace_pool.h"
#include "tests/support/unit_main.h"

#include <string.h>
#include <uv.h>

START_TEST(last_holder_gives_it_back)
{
    struct trace_pool *pool = trace_pool_new();
    struct trace_buffer *a = trace_pool_take(pool), *b = trace_pool_take(pool);
    ck_assert_ptr_ne(a, b);
    ck_assert(trace_buffer_is_own(a));
    trace_buffer_hold(a);
    ck_assert(!trace_buffer_is_own(a));
    trace_buffer_release(a);
    ck_assert(trace_buffer_is_own(a));
    trace_buffer_release(a);
    ck_assert_ptr_eq(trace_pool_take(pool), a);
    trace_buffer_release(b);
    trace_buffer_release(a);
    trace_buffer_release(NULL);
    trace_pool_free(pool);
    trace_pool_free(NULL);
}
END_TEST

/* More than a pool keeps: the others are freed at once. */
START_TEST(many_at_a_time)
{
    static struct trace_buffer *all[100];
    struct trace_pool *pool = trace_pool_new();
    for (unsigned turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < 100; i++) {
            all[i] = trace_pool_take(pool);
            all[i]->bytes[TRACE_BUFFER_SIZE - 1] = (uint8_t)i;
        }
        for (size_t i = 0; i < 100; i++) {
            ck_assert_uint_eq(all[i]->bytes[TRACE_BUFFER_SIZE - 1], i);
            trace_buffer_release(all[i]);
        }
    }
    trace_pool_free(pool);
}
END_TEST

/* A place where one thread leaves buffers for another. */
struct handover {
    uv_mutex_t lock;
    struct trace_buffer *waiting[64];
    size_t count;
    bool end;
    bool damaged;
};

static bool whole(const struct trace_buffer *b)
{
    for (size_t i = 1; i < 64; i++)
        if (b->bytes[i] != b->bytes[0])
            return false;
    return true;
}

static void reader(void *arg)
{
    struct handover *h = arg;
    for (bool end = false; !end;) {
        struct trace_buffer *b = NULL;
        uv_mutex_lock(&h->lock);
        if (h->count)
            b = h->waiting[--h->count];
        end = h->end && !b;
        uv_mutex_unlock(&h->lock);
        if (b && !whole(b))
            h->damaged = true; /* read by the other one after the end */
        trace_buffer_release(b);
    }
}

START_TEST(two_threads)
{
    struct handover h = {.count = 0};
    struct trace_pool *pool = trace_pool_new();
    uv_thread_t thread;
    uv_mutex_init(&h.lock);
    uv_thread_create(&thread, reader, &h);
    struct trace_buffer *b = trace_pool_take(pool);
    for (unsigned i = 0; i < 20000; i++) {
        if (!trace_buffer_is_own(b)) {
            trace_buffer_release(b);
            b = trace_pool_take(pool);
        }
        memset(b->bytes, (int)(i & 0xff), 64);
        uv_mutex_lock(&h.lock);
        if (h.count < 64) {
            trace_buffer_hold(b);
            h.waiting[h.count++] = b;
        }
        uv_mutex_unlock(&h.lock);
    }
    trace_buffer_release(b);
    uv_mutex_lock(&h.lock);
    h.end = true;
    uv_mutex_unlock(&h.lock);
    uv_thread_join(&thread);
    ck_assert(!h.damaged);
    uv_mutex_destroy(&h.lock);
    trace_pool_free(pool);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("trace_pool");
    unit_case(s, "trace_pool: the last holder gives a buffer back", last_holder_gives_it_back);
    unit_case(s, "trace_pool: many at a time", many_at_a_time);
    unit_case(s, "trace_pool: filled by one thread, read by another", two_threads);
    return s;
}
