/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/capture/itm_tap.h"

#include <stdlib.h>
#include <string.h>

#define CONSOLE_PORT    0
#define PORTS           32u /* of a client */
#define OVERFLOW_PACKET 0x70
#define PACKETS         64u
#define STEP            4096u

const uint8_t itm_tap_sync[ITM_TAP_SYNC_SIZE] = {0, 0, 0, 0, 0, 0x80};

int itm_tap_open(struct itm_tap *t, void (*wake)(void *ctx), void *ctx)
{
    const struct itm_config config = {.wait_sync = false};
    memset(t, 0, sizeof *t);
    itm_init(&t->parser, &config);
    t->wake = wake;
    t->ctx = ctx;
    return uv_mutex_init(&t->lock) == 0 ? BT_OK : BT_ERR_NOMEM;
}

void itm_tap_close(struct itm_tap *t)
{
    uv_mutex_destroy(&t->lock);
    for (unsigned i = 0; i < ITM_TAP_KINDS; i++)
        free(t->queues[i].bytes);
    free(t->stores);
    memset(t, 0, sizeof *t);
}

/* With the lock held. */
static bool tap_put(struct itm_tap *t, enum itm_tap_kind kind, const uint8_t *bytes, size_t len)
{
    struct itm_tap_queue *q = &t->queues[kind];
    if (!q->wanted || len == 0)
        return true;
    if (!q->bytes)
        q->bytes = malloc(ITM_TAP_ROOM);
    if (!q->bytes || len > ITM_TAP_ROOM - q->used) {
        t->counts.dropped += len;
        return false;
    }
    memcpy(q->bytes + q->used, bytes, len);
    q->used += len;
    return true;
}

static void tap_put_packet(struct itm_tap *t, const uint8_t *bytes, size_t len)
{
    uint8_t both[ITM_TAP_TAIL + 1] = {OVERFLOW_PACKET};
    memcpy(both + 1, bytes, len);
    t->hole = !tap_put(t, ITM_TAP_PACKETS, t->hole ? both : both + 1, len + t->hole);
}

/* A carriage return would move the cursor of a console, and a 0 end its text. */
static void tap_put_text(struct itm_tap *t, const struct itm_packet *k)
{
    uint8_t text[4];
    size_t used = 0;
    for (unsigned i = 0; i < k->bytes; i++) {
        uint8_t c = (uint8_t)(k->value >> 8 * i);
        if (c != '\0' && c != '\r')
            text[used++] = c;
    }
    (void)tap_put(t, ITM_TAP_TEXT, text, used);
}

/* One that began in the bytes before lies in both. */
static void tap_copy(struct itm_tap *t, const struct itm_packet *k, const uint8_t *data)
{
    uint8_t bytes[ITM_TAP_TAIL] = {0};
    for (unsigned i = 0; i < k->size && i < sizeof bytes; i++) {
        uint64_t at = k->offset + i;
        bytes[i] = at >= t->taken ? data[at - t->taken] : t->tail[at % ITM_TAP_TAIL];
    }
    if (k->size <= sizeof bytes)
        tap_put_packet(t, bytes, k->size);
}

/* What was stored before something was lost follows no more from what comes. */
static void tap_forget_stores(struct itm_tap *t)
{
    t->store_count = 0;
    memset(t->halves, 0, sizeof t->halves);
}

/* The PC of an access comes before its value. A store without one cannot be placed. */
static void tap_take_access(struct itm_tap *t, const struct itm_packet *k)
{
    unsigned n = k->number % ITM_TAP_COMPARATORS;
    bool paired = t->halves[n].known;
    t->halves[n].known = k->kind == ITM_DATA_PC;
    if (k->kind == ITM_DATA_PC)
        t->halves[n].pc = k->value;
    if (k->kind == ITM_DATA_PC || !paired || !(k->flags & ITM_WRITE))
        return;
    if (!t->stores)
        t->stores = calloc(ITM_TAP_STORES, sizeof *t->stores);
    if (t->stores)
        t->stores[t->store_count++ % ITM_TAP_STORES] =
            (struct itm_tap_store){t->halves[n].pc, k->value, (uint8_t)n};
}

static void tap_take(struct itm_tap *t, const struct itm_packet *k, const uint8_t *data)
{
    static const uint8_t overflow = OVERFLOW_PACKET;
    switch ((enum itm_kind)k->kind) {
    case ITM_ASYNC:
        tap_put_packet(t, itm_tap_sync, sizeof itm_tap_sync);
        return;
    case ITM_OVERFLOW:
        t->counts.overflows++;
        tap_forget_stores(t);
        break;
    case ITM_SOFTWARE:
        t->counts.writes++;
        if (k->number == CONSOLE_PORT)
            tap_put_text(t, k);
        if (k->number >= PORTS)
            return;
        break;
    case ITM_EXCEPTION:
        t->counts.exceptions++;
        break;
    case ITM_SAMPLE:
        t->counts.samples++;
        break;
    case ITM_DATA_VALUE:
        t->counts.values++;
        tap_take_access(t, k);
        break;
    case ITM_DATA_PC:
        tap_take_access(t, k);
        break;
    case ITM_LOCAL_TIME:
    case ITM_COUNTERS:
    case ITM_PMU:
    case ITM_DATA_MATCH:
    case ITM_DATA_ADDRESS:
    case ITM_HARDWARE:
        break;
    case ITM_MALFORMED:
    case ITM_RESERVED:
        t->counts.damaged++;
        tap_forget_stores(t);
        tap_put_packet(t, &overflow, 1);
        return;
    default:
        return;
    }
    tap_copy(t, k, data);
}

static void tap_step(struct itm_tap *t, const uint8_t *data, size_t len)
{
    struct itm_packet packets[PACKETS];
    for (size_t done = 0, n; done < len; done += n) {
        size_t count;
        n = itm_parse(&t->parser, data + done, len - done, packets, PACKETS, &count);
        for (size_t i = 0; i < count; i++)
            tap_take(t, &packets[i], data);
    }
    for (size_t i = len < ITM_TAP_TAIL ? 0 : len - ITM_TAP_TAIL; i < len; i++)
        t->tail[(t->taken + i) % ITM_TAP_TAIL] = data[i];
    t->taken += len;
}

void itm_tap_bytes(struct itm_tap *t, const uint8_t *data, size_t len)
{
    bool any = false;
    for (size_t n; len > 0; data += n, len -= n) {
        n = len < STEP ? len : STEP;
        uv_mutex_lock(&t->lock);
        tap_step(t, data, n);
        any |= t->queues[ITM_TAP_TEXT].used > 0 || t->queues[ITM_TAP_PACKETS].used > 0;
        uv_mutex_unlock(&t->lock);
    }
    if (any)
        t->wake(t->ctx);
}

void itm_tap_lost(struct itm_tap *t)
{
    uv_mutex_lock(&t->lock);
    itm_discontinuity(&t->parser);
    tap_forget_stores(t);
    t->hole = true;
    uv_mutex_unlock(&t->lock);
}

void itm_tap_want(struct itm_tap *t, enum itm_tap_kind kind, bool wanted)
{
    uv_mutex_lock(&t->lock);
    t->queues[kind].wanted = wanted;
    if (!wanted)
        t->queues[kind].used = 0;
    uv_mutex_unlock(&t->lock);
}

size_t itm_tap_take(struct itm_tap *t, enum itm_tap_kind kind, uint8_t *bytes, size_t size)
{
    struct itm_tap_queue *q = &t->queues[kind];
    uv_mutex_lock(&t->lock);
    size_t n = q->used < size ? q->used : size;
    if (n > 0) {
        memcpy(bytes, q->bytes, n);
        memmove(q->bytes, q->bytes + n, q->used - n);
        q->used -= n;
    }
    uv_mutex_unlock(&t->lock);
    return n;
}

void itm_tap_counts(struct itm_tap *t, struct itm_tap_counts *counts)
{
    uv_mutex_lock(&t->lock);
    *counts = t->counts;
    uv_mutex_unlock(&t->lock);
}

void itm_tap_forget(struct itm_tap *t)
{
    uv_mutex_lock(&t->lock);
    tap_forget_stores(t);
    uv_mutex_unlock(&t->lock);
}

size_t itm_tap_stores(struct itm_tap *t, unsigned comparator, struct itm_tap_store *out, size_t max)
{
    size_t n = 0;
    uv_mutex_lock(&t->lock);
    uint64_t kept = t->store_count < ITM_TAP_STORES ? t->store_count : ITM_TAP_STORES;
    for (uint64_t i = 0; i < kept && n < max && t->stores; i++) {
        const struct itm_tap_store *s = &t->stores[(t->store_count - 1 - i) % ITM_TAP_STORES];
        if (s->comparator == comparator)
            out[n++] = *s;
    }
    uv_mutex_unlock(&t->lock);
    return n;
}
