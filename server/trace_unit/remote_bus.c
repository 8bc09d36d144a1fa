/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/trace_unit/remote_bus.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_CORE 0 /* whose view of memory is taken */

/* Outlives an access that nobody waits for any more. */
struct ticket {
    struct remote_bus *b;
    uint64_t serial;
};

static void bus_finish(struct ticket *t, const uint8_t *bytes, size_t len)
{
    struct remote_bus *b = t->b;
    uv_mutex_lock(&b->lock);
    if (t->serial == b->serial && b->access != REMOTE_BUS_DONE) {
        if (!b->write && len)
            memcpy(b->bytes, bytes, len);
        b->good = len / 4;
        b->access = REMOTE_BUS_DONE;
        uv_cond_signal(&b->done);
    }
    uv_mutex_unlock(&b->lock);
    free(t);
}

static void on_answer(void *ctx, uint64_t address, const uint8_t *bytes, size_t len)
{
    (void)address;
    bus_finish(ctx, bytes, len);
}

/* The answer may come from within the question, so the lock is not held meanwhile. */
static void on_wake(uv_async_t *wake)
{
    struct remote_bus *b = wake->data;
    struct ticket *t = malloc(sizeof *t);
    uint8_t bytes[sizeof b->bytes];
    int error;
    uv_mutex_lock(&b->lock);
    bool wanted = b->access == REMOTE_BUS_WANTED, write = b->write;
    uint64_t address = b->address;
    size_t len = 4 * b->count;
    if (wanted)
        b->access = REMOTE_BUS_ASKED;
    memcpy(bytes, b->bytes, len);
    if (t)
        *t = (struct ticket){b, b->serial};
    if (wanted && !t) {
        b->good = 0;
        b->access = REMOTE_BUS_DONE;
        uv_cond_signal(&b->done);
    }
    uv_mutex_unlock(&b->lock);
    if (!wanted || !t) {
        free(t);
        return;
    }
    if (write)
        error = gdb_remote_write_memory(b->remote, MEMORY_CORE, address, bytes, len, on_answer, t);
    else
        error = gdb_remote_read_device(b->remote, MEMORY_CORE, address, len, on_answer, t);
    if (error)
        bus_finish(t, NULL, 0);
}

/* In the user's thread. */

static int bus_fail(struct remote_bus *b, enum debug_failure failure, uint64_t address)
{
    b->bus.failure = failure;
    b->bus.fault_address = address;
    return BT_ERR_IO;
}

/* One access of at most REMOTE_BUS_WORDS, whose words to write are in b->bytes;
 * holds the lock. */
static int access_words(struct remote_bus *b, bool write, uint64_t address, size_t count)
{
    int late = 0;
    if (b->state != REMOTE_BUS_OPEN || b->failed)
        return bus_fail(b, DEBUG_FAIL_PROBE, address);
    b->serial++;
    b->write = write;
    b->address = address;
    b->count = count;
    b->good = 0;
    b->access = REMOTE_BUS_WANTED;
    uv_async_send(&b->wake);
    uint64_t end = uv_hrtime() + (uint64_t)b->timeout_ms * 1000000;
    for (uint64_t now = uv_hrtime();
         b->access != REMOTE_BUS_DONE && b->state == REMOTE_BUS_OPEN && !late; now = uv_hrtime())
        late = now >= end || uv_cond_timedwait(&b->done, &b->lock, end - now) == UV_ETIMEDOUT;
    bool answered = b->access == REMOTE_BUS_DONE;
    b->access = REMOTE_BUS_DONE;
    if (!answered) {
        b->failed = true;
        return bus_fail(b, b->state != REMOTE_BUS_OPEN ? DEBUG_FAIL_PROBE : DEBUG_FAIL_TIMEOUT,
                        address);
    }
    return b->good == count ? BT_OK : bus_fail(b, DEBUG_FAIL_FAULT, address + 4 * b->good);
}

static void bus_put_word(const struct remote_bus *b, uint8_t *bytes, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[b->big_endian ? 3 - i : i] = (uint8_t)(word >> 8 * i);
}

static uint32_t bus_get_word(const struct remote_bus *b, const uint8_t *bytes)
{
    uint32_t word = 0;
    for (unsigned i = 0; i < 4; i++)
        word |= (uint32_t)bytes[b->big_endian ? 3 - i : i] << 8 * i;
    return word;
}

/* What was read before an access was refused is handed out, too. */
static int read_piece(struct remote_bus *b, uint64_t address, uint32_t *words, size_t count)
{
    uv_mutex_lock(&b->lock);
    int error = access_words(b, false, address, count);
    for (size_t i = 0; i < (error ? b->good : count); i++)
        words[i] = bus_get_word(b, b->bytes + 4 * i);
    uv_mutex_unlock(&b->lock);
    return error;
}

static int write_piece(struct remote_bus *b, uint64_t address, const uint32_t *words, size_t count)
{
    uv_mutex_lock(&b->lock);
    for (size_t i = 0; i < count; i++)
        bus_put_word(b, b->bytes + 4 * i, words[i]);
    int error = access_words(b, true, address, count);
    uv_mutex_unlock(&b->lock);
    return error;
}

static size_t bus_piece(size_t count)
{
    return count < REMOTE_BUS_WORDS ? count : REMOTE_BUS_WORDS;
}

static int bus_read(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    int error = BT_OK;
    for (size_t n; count && !error; address += 4 * n, words += n, count -= n) {
        n = bus_piece(count);
        error = read_piece(bus->self, address, words, n);
    }
    return error;
}

static int bus_write(struct coresight_bus *bus, uint64_t address, const uint32_t *words,
                     size_t count)
{
    int error = BT_OK;
    for (size_t n; count && !error; address += 4 * n, words += n, count -= n) {
        n = bus_piece(count);
        error = write_piece(bus->self, address, words, n);
    }
    return error;
}

static int bus_read_fifo(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    int error = BT_OK;
    for (size_t i = 0; i < count && !error; i++)
        error = read_piece(bus->self, address, words + i, 1);
    return error;
}

static const struct coresight_bus_ops REMOTE_OPS = {
    .read = bus_read,
    .write = bus_write,
    .read_fifo = bus_read_fifo,
};

static uint64_t bus_now_us(void *user)
{
    (void)user;
    return uv_hrtime() / 1000;
}

static void bus_sleep_us(void *user, uint32_t time)
{
    (void)user;
    usleep(time);
}

int remote_bus_open(struct remote_bus *b, uv_loop_t *loop, struct gdb_remote *remote,
                    unsigned timeout_ms, bool big_endian)
{
    memset(b, 0, sizeof *b);
    b->bus = (struct coresight_bus){
        .ops = &REMOTE_OPS, .self = b, .clock = {.now_us = bus_now_us, .sleep_us = bus_sleep_us}};
    b->remote = remote;
    b->timeout_ms = timeout_ms;
    b->big_endian = big_endian;
    if (uv_mutex_init(&b->lock) != 0)
        return BT_ERR_NOMEM;
    if (uv_cond_init(&b->done) != 0) {
        uv_mutex_destroy(&b->lock);
        return BT_ERR_NOMEM;
    }
    if (uv_async_init(loop, &b->wake, on_wake) != 0) {
        uv_cond_destroy(&b->done);
        uv_mutex_destroy(&b->lock);
        return BT_ERR_NOMEM;
    }
    b->wake.data = b;
    b->state = REMOTE_BUS_OPEN;
    return BT_OK;
}

void remote_bus_begin(struct remote_bus *b)
{
    uv_mutex_lock(&b->lock);
    b->failed = false;
    b->bus.failure = DEBUG_FAIL_NONE;
    uv_mutex_unlock(&b->lock);
}

void remote_bus_stop(struct remote_bus *b)
{
    if (b->state != REMOTE_BUS_OPEN)
        return;
    uv_mutex_lock(&b->lock);
    b->state = REMOTE_BUS_STOPPING;
    uv_cond_signal(&b->done);
    uv_close((uv_handle_t *)&b->wake, NULL);
    uv_mutex_unlock(&b->lock);
}

void remote_bus_close(struct remote_bus *b)
{
    if (b->state == REMOTE_BUS_CLOSED)
        return;
    uv_cond_destroy(&b->done);
    uv_mutex_destroy(&b->lock);
    b->state = REMOTE_BUS_CLOSED;
}
