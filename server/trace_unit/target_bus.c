/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/trace_unit/target_bus.h"
#include "decoder/base/bytes.h"

#include <string.h>
#include <unistd.h>

#define MEMORY_CORE 0 /* whose view of memory is taken */

/* A target that is late or lost would be waited for again by each access. */
static void on_access_done(void *ctx, const struct target_answer *answer)
{
    struct target_bus *b = ctx;
    uv_mutex_lock(&b->lock);
    b->good = 0;
    if (answer->error == BT_ERR_IO)
        b->failed = target_is_ready(b->target) ? DEBUG_FAIL_TIMEOUT : DEBUG_FAIL_PROBE;
    else if (b->write)
        b->good = answer->error ? 0 : b->count;
    else
        b->good = answer->length / 4;
    if (!b->write && b->good)
        memcpy(b->bytes, answer->bytes, 4 * b->good);
    b->access = TARGET_BUS_DONE;
    uv_cond_signal(&b->done);
    uv_mutex_unlock(&b->lock);
}

/* The answer may come from within the question, so the lock is not held meanwhile. */
static void on_access_wanted(uv_async_t *wake)
{
    struct target_bus *b = wake->data;
    uv_mutex_lock(&b->lock);
    bool wanted = b->access == TARGET_BUS_WANTED;
    if (wanted)
        b->access = TARGET_BUS_ASKED;
    const struct target_request r = {.kind = b->write ? TARGET_WRITE_MEMORY : TARGET_READ_MEMORY,
                                     .core = MEMORY_CORE,
                                     .address = b->address,
                                     .length = 4 * b->count,
                                     .bytes = b->write ? b->bytes : NULL,
                                     .device = true};
    uv_mutex_unlock(&b->lock);
    int error = wanted ? target_ask(b->target, NULL, &r, on_access_done, b) : BT_OK;
    if (error)
        on_access_done(b, &(struct target_answer){.error = error});
}

/* In the user's thread. */

static int bus_fail(struct target_bus *b, enum debug_failure failure, uint64_t address)
{
    b->bus.failure = failure;
    b->bus.fault_address = address;
    return BT_ERR_IO;
}

/* One access of at most TARGET_BUS_WORDS, whose words to write are in b->bytes;
 * holds the lock. */
static int access_words(struct target_bus *b, bool write, uint64_t address, size_t count)
{
    b->good = 0;
    if (b->state == TARGET_BUS_OPEN && !b->failed) {
        b->write = write;
        b->address = address;
        b->count = count;
        b->access = TARGET_BUS_WANTED;
        uv_async_send(&b->wake);
    }
    while (b->access != TARGET_BUS_DONE && b->state == TARGET_BUS_OPEN)
        uv_cond_wait(&b->done, &b->lock);
    if (b->state != TARGET_BUS_OPEN)
        return bus_fail(b, DEBUG_FAIL_PROBE, address);
    if (b->failed)
        return bus_fail(b, b->failed, address);
    return b->good == count ? BT_OK : bus_fail(b, DEBUG_FAIL_FAULT, address + 4 * b->good);
}

/* What was read before an access was refused is handed out, too. */
static int read_piece(struct target_bus *b, uint64_t address, uint32_t *words, size_t count)
{
    uv_mutex_lock(&b->lock);
    int error = access_words(b, false, address, count);
    for (size_t i = 0; i < (error ? b->good : count); i++)
        words[i] = (uint32_t)bytes_number(b->bytes + 4 * i, 4, b->big_endian);
    uv_mutex_unlock(&b->lock);
    return error;
}

static int write_piece(struct target_bus *b, uint64_t address, const uint32_t *words, size_t count)
{
    uv_mutex_lock(&b->lock);
    for (size_t i = 0; i < count; i++)
        bytes_set_number(b->bytes + 4 * i, 4, b->big_endian, words[i]);
    int error = access_words(b, true, address, count);
    uv_mutex_unlock(&b->lock);
    return error;
}

static size_t bus_piece(size_t count)
{
    return count < TARGET_BUS_WORDS ? count : TARGET_BUS_WORDS;
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

static const struct coresight_bus_ops target_bus_ops = {
    .read = bus_read,
    .write = bus_write,
    .read_fifo = bus_read_fifo,
};

int target_bus_open(struct target_bus *b, uv_loop_t *loop, struct target *target, bool big_endian)
{
    memset(b, 0, sizeof *b);
    b->bus =
        (struct coresight_bus){.ops = &target_bus_ops, .self = b, .clock = debug_clock_monotonic};
    b->target = target;
    b->big_endian = big_endian;
    if (uv_mutex_init(&b->lock) != 0)
        return BT_ERR_NOMEM;
    if (uv_cond_init(&b->done) != 0) {
        uv_mutex_destroy(&b->lock);
        return BT_ERR_NOMEM;
    }
    if (uv_async_init(loop, &b->wake, on_access_wanted) != 0) {
        uv_cond_destroy(&b->done);
        uv_mutex_destroy(&b->lock);
        return BT_ERR_NOMEM;
    }
    b->wake.data = b;
    b->state = TARGET_BUS_OPEN;
    return BT_OK;
}

void target_bus_begin(struct target_bus *b)
{
    uv_mutex_lock(&b->lock);
    b->failed = DEBUG_FAIL_NONE;
    b->bus.failure = DEBUG_FAIL_NONE;
    uv_mutex_unlock(&b->lock);
}

void target_bus_stop(struct target_bus *b)
{
    if (b->state != TARGET_BUS_OPEN)
        return;
    uv_mutex_lock(&b->lock);
    b->state = TARGET_BUS_STOPPING;
    uv_cond_signal(&b->done);
    uv_close((uv_handle_t *)&b->wake, NULL);
    uv_mutex_unlock(&b->lock);
}

void target_bus_close(struct target_bus *b)
{
    if (b->state == TARGET_BUS_CLOSED)
        return;
    uv_cond_destroy(&b->done);
    uv_mutex_destroy(&b->lock);
    b->state = TARGET_BUS_CLOSED;
}
