/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as an ETMv3 stream over a small program: no crash, no runaway, and the same blocks and
 * events however the stream is cut, wherever its state is copied, and packet by packet. The first
 * bytes choose the configuration and the code.
 */
#include "tests/support/decoded.h"

#include <stdlib.h>
#include <string.h>

#define HEADER 12
#define CODE   1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t word(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Branches, loads and stores in both instruction sets, from a few bits of the input. */
static void fill_code(uint8_t *code, uint32_t seed)
{
    static const uint32_t words[] = {0xe1a00000, 0xe12fff1e, 0xeb000004, 0x0a000002, 0xeafffff0,
                                     0xe8b200f8, 0x47704780, 0xd1fabf00, 0xf802f000, 0x68136011,
                                     0xfa00003e, 0xe8bd8010, 0xe5912000, 0xbf18e7fe};
    for (unsigned i = 0; i < CODE / 4; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t w = words[(seed >> 24) % (sizeof words / sizeof *words)];
        memcpy(code + 4 * i, &w, 4);
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
        if (d->events[e].position > number || d->events[e].back > d->events[e].position ||
            (e && d->events[e].position < d->events[e - 1].position))
            abort();
    if (number != stream_instructions(&d->stream))
        abort();
}

static void configure(const uint8_t *header, struct stream_config *config)
{
    uint32_t bits = word(header);
    uint32_t idr =
        0x41000200 | (bits & 7) % 6 << 4 | (bits & 8 ? 1u << 18 : 0) | (bits & 16 ? 1u << 20 : 0);
    memset(config, 0, sizeof *config);
    config->protocol = STREAM_ETMV3;
    etmv3_config_from_regs(&config->etmv3, word(header + 4) & 0x0010d10c, idr, word(header + 8),
                           0x10);
    config->etmv3.m_profile = bits & 32;
}

/* In pieces, with the state copied and the cache changed between them. */
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

/* A sink for packets makes the stream take the long way for every byte. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t code[CODE];
    static struct decoded whole, cut, copied, listed;
    struct stream_config config;
    struct code_image image;
    if (size < HEADER)
        return 0;
    configure(data, &config);
    uint32_t bits = word(data);
    fill_code(code, bits >> 8);
    code_image_init(&image);
    struct code_region region = {.address = 0x8000, .size = CODE, .bytes = code};
    if (code_image_add(&image, &region))
        abort();
    decoded_init(&whole, &config, &image);
    decoded_init(&cut, &config, &image);
    decoded_init(&copied, &config, &image);
    decoded_init(&listed, &config, &image);
    listed.sink.packet = ignore;
    decoded_feed(&whole, data + HEADER, size - HEADER, 0);
    decoded_feed(&cut, data + HEADER, size - HEADER, bits | 1);
    feed_with_copies(&copied, data + HEADER, size - HEADER, bits);
    decoded_feed(&listed, data + HEADER, size - HEADER, 0);
    finish(&whole);
    finish(&cut);
    finish(&copied);
    finish(&listed);
    if (decoded_difference(&whole, &cut) || decoded_difference(&whole, &copied) ||
        decoded_difference(&whole, &listed))
        abort();
    if (!same_counts(&whole.stream, &cut.stream) || !same_counts(&whole.stream, &listed.stream))
        abort();
    check_blocks(&whole);
    decoded_release(&whole);
    decoded_release(&cut);
    decoded_release(&copied);
    decoded_release(&listed);
    code_image_release(&image);
    return 0;
}
