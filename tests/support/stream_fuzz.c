/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/stream_fuzz.h"
#include "tests/support/random_next.h"

#include "tests/support/decoded.h"

#include <stdlib.h>
#include <string.h>

#define CODE 1024u

static void fill_code(uint8_t *code, const struct stream_fuzz *f)
{
    uint32_t seed = f->seed;
    for (unsigned i = 0; i < CODE / 4; i++) {
        random_next(&seed);
        memcpy(code + 4 * i, &f->words[(seed >> 24) % f->word_count], 4);
    }
}

static void check_blocks(const struct decoded *d)
{
    uint64_t number = 0;
    for (size_t i = 0; i < d->block_count; i++) {
        if (bt_block_count(&d->blocks[i]) == 0)
            abort();
        number += bt_block_count(&d->blocks[i]);
    }
    for (size_t e = 0; e < d->event_count; e++)
        if (d->events[e].position > number ||
            (d->events[e].kind == BT_EVENT_DATA &&
             d->events[e].u.data.back > d->events[e].position) ||
            (e && d->events[e].position < d->events[e - 1].position))
            abort();
    if (number != stream_instructions(&d->stream))
        abort();
}

/* In pieces, with the state copied and the cache changed between them. */
static void feed_with_copies(struct decoded *d, const uint8_t *data, size_t size, uint32_t seed)
{
    while (size) {
        random_next(&seed);
        size_t piece = 1 + (seed >> 20) % 64;
        if (piece > size)
            piece = size;
        decoded_feed(d, data, piece, 0);
        data += piece;
        size -= piece;
        struct stream copy;
        stream_save(&d->stream, &copy);
        stream_resume(&d->stream, &copy, &d->code);
        if (seed & 1)
            stream_unlink(&d->stream);
    }
}

/* A sink for packets makes the stream take the slow path for every byte. */
static void ignore(void *ctx, const struct stream_packet *packet)
{
    (void)ctx;
    (void)packet;
}

static bool same_counts(const struct stream *a, const struct stream *b)
{
    return a->packets == b->packets && a->skipped == b->skipped &&
           stream_instructions(a) == stream_instructions(b) &&
           stream_blocks(a) == stream_blocks(b) && stream_cycles(a) == stream_cycles(b) &&
           stream_atoms_dropped(a) == stream_atoms_dropped(b);
}

static void finish(struct decoded *d)
{
    stream_finish(&d->stream, &d->sink);
    decoded_take(d);
}

void stream_fuzz(const struct stream_fuzz *f, const uint8_t *data, size_t size)
{
    static uint8_t code[CODE];
    static struct decoded whole, cut, copied, listed;
    struct code_image image;
    fill_code(code, f);
    code_image_init(&image);
    struct code_region region = {.address = f->address, .size = CODE, .bytes = code};
    if (code_image_add(&image, &region))
        abort();
    struct decoded *const all[] = {&whole, &cut, &copied, &listed};
    for (size_t i = 0; i < 4; i++)
        decoded_init(all[i], &f->config, &image);
    listed.sink.packet = ignore;
    decoded_feed(&whole, data, size, 0);
    decoded_feed(&cut, data, size, f->seed | 1);
    feed_with_copies(&copied, data, size, f->seed);
    decoded_feed(&listed, data, size, 0);
    for (size_t i = 0; i < 4; i++)
        finish(all[i]);
    for (size_t i = 1; i < 4; i++)
        if (decoded_difference(&whole, all[i]) || !same_counts(&whole.stream, &all[i]->stream))
            abort();
    check_blocks(&whole);
    for (size_t i = 0; i < 4; i++)
        decoded_release(all[i]);
    code_image_release(&image);
}
