/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/decoded.h"
#include "tests/support/random_next.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *array, size_t count, size_t *max, size_t more, size_t item)
{
    if (count + more <= *max)
        return array;
    *max = 2 * (count + more);
    array = realloc(array, *max * item);
    if (!array)
        abort();
    return array;
}

static void take(struct decoded *d, struct flow_out *out)
{
    size_t max = d->block_max;
    d->blocks =
        grown(d->blocks, d->block_count, &d->block_max, out->block_count, sizeof *d->blocks);
    d->cycles = grown(d->cycles, d->block_count, &max, out->block_count, sizeof *d->cycles);
    d->events =
        grown(d->events, d->event_count, &d->event_max, out->event_count, sizeof *d->events);
    if (out->block_count) {
        memcpy(d->blocks + d->block_count, out->blocks, out->block_count * sizeof *d->blocks);
        memcpy(d->cycles + d->block_count, out->cycles, out->block_count * sizeof *d->cycles);
    }
    if (out->event_count)
        memcpy(d->events + d->event_count, out->events, out->event_count * sizeof *d->events);
    d->block_count += out->block_count;
    d->event_count += out->event_count;
    out->block_count = 0;
    out->event_count = 0;
}

void decoded_take(struct decoded *d)
{
    take(d, &d->sink.out);
}

static void flush(void *ctx, struct flow_out *out)
{
    take(ctx, out);
}

void decoded_init(struct decoded *d, const struct stream_config *config,
                  const struct code_image *image)
{
    struct code_options options;
    memset(d, 0, sizeof *d);
    stream_code_options(config, &options);
    code_cache_init(&d->code, image, &options);
    stream_init(&d->stream, config, &d->code);
    d->sink.out = (struct flow_out){.blocks = d->out_blocks,
                                    .cycles = d->out_cycles,
                                    .events = d->out_events,
                                    .block_max = 64,
                                    .event_max = 64};
    d->sink.flush = flush;
    d->sink.ctx = d;
    d->blocks = malloc(sizeof *d->blocks);
    d->cycles = malloc(sizeof *d->cycles);
    d->events = malloc(sizeof *d->events);
}

void decoded_release(struct decoded *d)
{
    code_cache_release(&d->code);
    free(d->blocks);
    free(d->cycles);
    free(d->events);
}

/* Mostly tiny pieces, sometimes large ones. */
static size_t piece(uint32_t *seed, size_t left)
{
    random_next(seed);
    size_t n = *seed >> 28 ? 1 + (*seed >> 20) % 7 : 1 + (*seed >> 12) % 1000;
    return n < left ? n : left;
}

void decoded_feed(struct decoded *d, const uint8_t *data, size_t len, uint32_t seed)
{
    while (len > 0) {
        size_t n = seed ? piece(&seed, len) : len;
        /* A copy of exactly this size: reading past the piece is seen by the sanitizer. */
        uint8_t *copy = malloc(n);
        if (!copy)
            abort();
        memcpy(copy, data, n);
        stream_feed(&d->stream, copy, n, &d->sink);
        free(copy);
        data += n;
        len -= n;
    }
    decoded_take(d);
}

const char *decoded_difference(const struct decoded *a, const struct decoded *b)
{
    static char text[128];
    for (size_t i = 0; i < a->block_count && i < b->block_count; i++) {
        if (memcmp(&a->blocks[i], &b->blocks[i], sizeof a->blocks[i]) == 0 &&
            a->cycles[i] == b->cycles[i])
            continue;
        snprintf(text, sizeof text, "block %zu: 0x%llx+%u and 0x%llx+%u", i,
                 (unsigned long long)a->blocks[i].first, a->blocks[i].extent,
                 (unsigned long long)b->blocks[i].first, b->blocks[i].extent);
        return text;
    }
    for (size_t i = 0; i < a->event_count && i < b->event_count; i++) {
        if (memcmp(&a->events[i], &b->events[i], sizeof a->events[i]) == 0)
            continue;
        snprintf(text, sizeof text, "event %zu: %s and %s", i,
                 bt_event_name((enum bt_event_kind)a->events[i].kind),
                 bt_event_name((enum bt_event_kind)b->events[i].kind));
        return text;
    }
    if (a->block_count == b->block_count && a->event_count == b->event_count)
        return NULL;
    snprintf(text, sizeof text, "%zu blocks, %zu events and %zu blocks, %zu events", a->block_count,
             a->event_count, b->block_count, b->event_count);
    return text;
}
