/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/port_fuzz.h"
#include "tests/support/random_next.h"

#include <stdlib.h>

#define CODE 1024u

/* Code that branches a lot and transfers data, in both instruction sets. */
static void fill_code(uint8_t *code, uint32_t seed)
{
    static const uint32_t words[] = {0xe1a00000, 0xe12fff1e, 0xebfffffe, 0x0a000002, 0xeafffff0,
                                     0xe5910000, 0xe8bd8010, 0x47704780, 0xf01df000, 0xe8a1003c,
                                     0xe1d100d0, 0xef000001, 0xe1010090, 0x6808c0f0, 0xee010f10};
    for (unsigned i = 0; i < CODE / 4; i++) {
        random_next(&seed);
        uint32_t w = words[(seed >> 24) % (sizeof words / sizeof *words)];
        memcpy(code + 4 * i, &w, 4);
    }
}

static void check_history(const struct decoded *d)
{
    uint64_t number = 0;
    size_t e = 0;
    for (size_t i = 0; i < d->block_count; i++) {
        uint64_t end = number + bt_block_count(&d->blocks[i]);
        if (end == number)
            abort();
        for (; e < d->event_count && d->events[e].position < end; e++)
            if (d->events[e].position != number)
                abort(); /* inside a block, or not in order */
        number = end;
    }
    for (; e < d->event_count; e++)
        if (d->events[e].position != number)
            abort();
    if (number != stream_instructions(&d->stream))
        abort();
}

static void finish(struct decoded *d)
{
    stream_finish(&d->stream, &d->sink);
    decoded_take(d);
}

void port_fuzz(const struct stream_config *config, const uint8_t *data, size_t size)
{
    static uint8_t code[CODE];
    static struct decoded whole, cut;
    struct code_image image;
    uint32_t bits = port_fuzz_word(data);
    fill_code(code, bits >> 16);
    code_image_init(&image);
    struct code_region low = {.address = 0, .size = CODE, .bytes = code};
    struct code_region high = {.address = 0x8000, .size = CODE, .bytes = code};
    if (code_image_add(&image, &low) || code_image_add(&image, &high))
        abort();
    decoded_init(&whole, config, &image);
    decoded_init(&cut, config, &image);
    decoded_feed(&whole, data + PORT_FUZZ_HEADER, size - PORT_FUZZ_HEADER, 0);
    decoded_feed(&cut, data + PORT_FUZZ_HEADER, size - PORT_FUZZ_HEADER, bits | 1);
    finish(&whole);
    finish(&cut);
    if (decoded_difference(&whole, &cut))
        abort();
    check_history(&whole);
    decoded_release(&whole);
    decoded_release(&cut);
    code_image_release(&image);
}
