/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of an ITM as it comes, taken apart by the thread that has the bytes, for others who
 * take from it: text of port 0, and packets as a client of an ITM over SWO expects them.
 *
 * Packets are passed on whole, but for those that such clients do not know: global timestamps,
 * extensions with the ports beyond 31. What is damaged, or was lost, becomes an overflow packet.
 */
#ifndef SERVER_ITM_TAP_H
#define SERVER_ITM_TAP_H

#include "btrace/types.h"
#include "decoder/itm/itm.h"

#include <uv.h>

#define ITM_TAP_ROOM        (1u << 20) /* bytes that wait; what finds no room is dropped and counted */
#define ITM_TAP_STORES      16384u     /* that are kept; a power of two */
#define ITM_TAP_COMPARATORS 4
#define ITM_TAP_TAIL        8u /* longer than any packet but a synchronisation */

struct itm_tap_counts {
    uint64_t writes, exceptions, samples, values, overflows, damaged;
    uint64_t dropped; /* bytes of text or packets that nobody took in time */
};

/* A store that the DWT told of, with the address of the instruction. */
struct itm_tap_store {
    uint32_t pc, value;
    uint8_t comparator;
};

struct itm_tap_queue {
    bool wanted;
    uint8_t *bytes; /* ITM_TAP_ROOM; NULL: nothing came yet */
    size_t used;
};

enum itm_tap_kind {
    ITM_TAP_TEXT,
    ITM_TAP_PACKETS,
    ITM_TAP_KINDS,
};

struct itm_tap {
    /* Of the thread that has the bytes. */
    struct itm parser;
    uint64_t taken; /* bytes of the stream */
    uint8_t tail[ITM_TAP_TAIL];
    /* Whoever holds the lock. */
    uv_mutex_t lock;
    struct itm_tap_queue queues[ITM_TAP_KINDS];
    struct itm_tap_counts counts;
    struct itm_tap_store *stores; /* ITM_TAP_STORES, the latest at store_count - 1, modulo that */
    uint64_t store_count;         /* since something was lost */
    struct {
        bool known;
        uint32_t pc;
    } halves[ITM_TAP_COMPARATORS]; /* of an access whose value comes next */
    bool hole;                     /* packets were dropped: the next one has an overflow in front */
    void (*wake)(void *ctx);
    void *ctx;
};

/* `wake` is called by the thread that has the bytes, when something can be taken. 0 or
 * BT_ERR_NOMEM. */
int itm_tap_open(struct itm_tap *t, void (*wake)(void *ctx), void *ctx);
void itm_tap_close(struct itm_tap *t);

/* The next bytes; bytes are missing here. From one thread. */
void itm_tap_bytes(struct itm_tap *t, const uint8_t *data, size_t len);
void itm_tap_lost(struct itm_tap *t);

/* Any thread. Nothing is kept of what nobody wants. */
void itm_tap_want(struct itm_tap *t, enum itm_tap_kind kind, bool wanted);
/* Up to `size` bytes, oldest first; returns how many. */
size_t itm_tap_take(struct itm_tap *t, enum itm_tap_kind kind, uint8_t *bytes, size_t size);
void itm_tap_counts(struct itm_tap *t, struct itm_tap_counts *counts);

/* The stores up to now: others may have been made that were not traced. Any thread. */
void itm_tap_forget(struct itm_tap *t);

/*
 * Stores of that comparator, newest first, as far back as nothing of the stream was lost: all that
 * were made since. Returns how many, at most `max`.
 */
size_t itm_tap_stores(struct itm_tap *t, unsigned comparator, struct itm_tap_store *out,
                      size_t max);

/* What a client gets first: from there on it knows where packets begin. */
#define ITM_TAP_SYNC_SIZE 6u
extern const uint8_t itm_tap_sync[ITM_TAP_SYNC_SIZE];

#endif
