/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring in memory, as a DMA fills it from the FIFO behind a TPIU. It runs on all the time; the
 * TPIU is stopped and flushed before the ring is read. Nobody tells whether it went round: a word
 * that is in no frame is put where the last one before that goes.
 */
#include "coresight_ring.h"

#define MARK        0xffffffffu /* as a TMC's empty RAM reads */
#define FRAME_WORDS 4u
#define READ_WORDS  256u
#define LOOKS       64u /* until what is in the FIFO has arrived */

int coresight_buffer_init_ring(struct coresight_buffer *b, struct coresight_bus *bus, uint64_t base,
                               uint64_t store, uint64_t bytes, const struct coresight_ring *tell)
{
    *b = (struct coresight_buffer){.bus = bus,
                                   .base = base,
                                   .ring = true,
                                   .words = (uint32_t)(bytes / 4),
                                   .store = store,
                                   .tell = *tell};
    if ((store | bytes) % (4 * FRAME_WORDS) != 0 || bytes < 8 * FRAME_WORDS ||
        bytes / 4 > CORESIGHT_BUFFER_MAX_WORDS)
        return BT_ERR_INVAL;
    return coresight_unlock(bus, base);
}

int coresight_store_read(struct coresight_buffer *b, size_t from, size_t to, uint32_t *words,
                         struct coresight_buffer_content *content)
{
    while (from < to) {
        size_t n = to - from < READ_WORDS ? to - from : READ_WORDS;
        int error = b->bus->ops->read(b->bus, b->store + 4 * from, words + content->words, n);
        if (error != 0)
            return error;
        content->words += n;
        from += n;
    }
    return 0;
}

/* The word that is written next. BT_ERR_FORMAT: it is not in the ring. */
static int ring_next(const struct coresight_buffer *b, uint32_t *next)
{
    uint32_t address = 0;
    int error = coresight_read(b->bus, b->tell.position, &address);
    uint64_t at = address - b->store;
    if (error == 0 && (address < b->store || at > 4 * (uint64_t)b->words || at % 4 != 0))
        return BT_ERR_FORMAT;
    *next = (uint32_t)(at / 4) % b->words;
    return error;
}

/* The same, when it stays where it is. */
static int ring_rest(const struct coresight_buffer *b, uint32_t *next)
{
    uint32_t before;
    int error = ring_next(b, &before);
    for (unsigned same = 0, looks = 0; error == 0 && same < 2; looks++) {
        if (looks == LOOKS) {
            b->bus->failure = DEBUG_FAIL_TIMEOUT;
            b->bus->fault_address = b->tell.position;
            return BT_ERR_IO;
        }
        error = ring_next(b, next);
        same = *next == before ? same + 1 : 0;
        before = *next;
    }
    return error;
}

static uint64_t last_place(const struct coresight_buffer *b)
{
    return b->store + 4 * (uint64_t)((b->from + b->words - 1) % b->words);
}

int coresight_ring_start(struct coresight_buffer *b)
{
    int error = coresight_tpiu_ring_stop(b->bus, b->base);
    if (error == 0)
        error = ring_rest(b, &b->from);
    if (error == 0)
        error = coresight_write(b->bus, last_place(b), MARK);
    if (error == 0 && b->tell.overflow)
        error = coresight_write(b->bus, b->tell.overflow, b->tell.overflow_bits);
    return error == 0 ? coresight_tpiu_ring(b->bus, b->base) : error;
}

/* Frames begin at `from`, and each 16 bytes on, as long as no word was lost. */
int coresight_ring_read(struct coresight_buffer *b, uint32_t *words,
                        struct coresight_buffer_content *content)
{
    uint32_t next = 0, mark, lost = 0;
    int error = ring_rest(b, &next);
    if (error == 0)
        error = coresight_read(b->bus, last_place(b), &mark);
    if (error == 0 && b->tell.overflow)
        error = coresight_read(b->bus, b->tell.overflow, &lost);
    if (error != 0)
        return error;
    content->overflowed = lost & b->tell.overflow_bits;
    if (content->overflowed)
        return BT_OK;
    content->wrapped = mark != MARK;
    uint32_t came = (next + b->words - b->from) % b->words, cut = came % FRAME_WORDS;
    content->unclean = cut != 0;
    uint32_t first = b->from, count = came - cut;
    if (content->wrapped) { /* the oldest whole frame; the newest one that is not is left out */
        first = (next + (cut ? FRAME_WORDS - cut : 0)) % b->words;
        count = b->words - (cut ? FRAME_WORDS : 0);
    }
    uint32_t end = first + count;
    error = coresight_store_read(b, first, end < b->words ? end : b->words, words, content);
    if (error == 0 && end > b->words)
        error = coresight_store_read(b, 0, end - b->words, words, content);
    return error;
}
