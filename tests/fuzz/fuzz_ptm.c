/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a PTM stream over a small program: no crash, no runaway, and the same blocks and
 * events however the stream is cut and wherever its state is copied. The first bytes choose the
 * configuration and the code.
 */
#include "tests/support/decoded.h"

#include <stdlib.h>
#include <string.h>

#define HEADER 8
#define CODE   1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t word(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Code that branches a lot, in both instruction sets, from a few bits of the input. */
static void fill_code(uint8_t *code, uint32_t seed)
{
    static const uint32_t words[] = {0xe1a00000, 0xe12fff1e, 0xebfffffe, 0x0a000002,
                                     0xeafffff0, 0xe12fff33, 0x47704780, 0xd1fabf00,
                                     0xf01df000, 0xe7f0bd10, 0xfa00003e, 0xe8bd8010};
    for (unsigned i = 0; i < CODE / 4; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t w = words[(seed >> 24) % (sizeof words / sizeof *words)];
        memcpy(code + 4 * i, &w, 4);
    }
}

static void check_blocks(const struct decoded *d)
{
    uint64_t number = 0;
    size_t e = 0;
    for (size_t i = 0; i < d->block_count; i++) {
        if (bt_block_count(&d->blocks[i]) == 0)
            abort();
        number += bt_block_count(&d->blocks[i]);
    }
    for (; e < d->event_count; e++)
        if (d->events[e].position > number ||
            (e && d->events[e].position < d->events[e - 1].position))
            abort();
    if (number != stream_instructions(&d->stream))
        abort();
}

/* In pieces, with the state copied and the links into the cache dropped between them. */
static void feed_with_copies(struct decoded *d, const uint8_t *data, size_t size, uint32_t seed)
{
    while (size) {
        seed = seed * 1664525u + 1013904223u;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEADER)
        return 0;
    static uint8_t code[CODE];
    static struct decoded whole, cut, copied;
    struct stream_config config;
    struct code_image image;
    memset(&config, 0, sizeof config);
    config.protocol = STREAM_PTM;
    uint32_t bits = word(data);
    uint32_t idr = bits & 1 ? 0x411cf312 : 0x411cf301;
    ptm_config_from_regs(&config.ptm, bits & 0x6000d100, idr, word(data + 4), 0x10);
    fill_code(code, bits >> 16);
    code_image_init(&image);
    struct code_region region = {.address = 0x1000, .size = CODE, .bytes = code};
    if (code_image_add(&image, &region))
        abort();
    decoded_init(&whole, &config, &image);
    decoded_init(&cut, &config, &image);
    decoded_init(&copied, &config, &image);
    decoded_feed(&whole, data + HEADER, size - HEADER, 0);
    decoded_feed(&cut, data + HEADER, size - HEADER, bits | 1);
    feed_with_copies(&copied, data + HEADER, size - HEADER, bits);
    finish(&whole);
    finish(&cut);
    finish(&copied);
    if (decoded_difference(&whole, &cut) || decoded_difference(&whole, &copied))
        abort();
    if (!same_counts(&whole.stream, &cut.stream) || !same_counts(&whole.stream, &copied.stream))
        abort();
    check_blocks(&whole);
    decoded_release(&whole);
    decoded_release(&cut);
    decoded_release(&copied);
    code_image_release(&image);
    return 0;
}
