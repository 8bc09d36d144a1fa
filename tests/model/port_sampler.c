/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_sampler.h"

#include <string.h>

#define FULL_SYNC 0xffffff7fu
#define SYNC_HEAD 0xff
#define SYNC_TAIL 0x7f
#define AUX       15u

static void align(struct port_sampler *s)
{
    s->aligned = true;
    s->half = s->odd = false;
    s->fill = 0;
}

void port_sampler_lost(struct port_sampler *s)
{
    s->aligned = false;
    s->window = 0;
    s->fill = 0;
}

/* Looks for the next full sync; bytes used. */
static size_t search(struct port_sampler *s, const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    while (i < size && !s->aligned) {
        s->window = s->window << 8 | bytes[i++];
        s->unsynced++;
        if (s->window == FULL_SYNC)
            align(s);
    }
    return i;
}

/* A pair of bytes in the frame that grows, or a sync word or a half of one in its place. */
static void put_pair(struct port_sampler *s, uint8_t even, uint8_t odd)
{
    bool head = even == SYNC_HEAD && odd == SYNC_HEAD;
    bool tail = even == SYNC_HEAD && odd == SYNC_TAIL;
    if ((s->half && !tail) || (even == SYNC_HEAD && !head && !tail)) {
        port_sampler_lost(s);
        s->cut++;
        return;
    }
    s->half = false;
    if (tail)
        return;
    if (head) {
        s->cut += s->fill > 0;
        s->fill = 0;
        s->half = true;
        return;
    }
    s->part[s->fill++] = even;
    s->part[s->fill++] = odd;
    if (s->fill == PORT_FRAME) {
        s->fill = 0;
        s->frame(s->ctx, s->part);
    }
}

/* No even byte of 16 is the head of a sync word. */
static bool is_plain(const uint8_t *bytes)
{
    for (unsigned i = 0; i < PORT_FRAME; i += 2)
        if (bytes[i] == SYNC_HEAD)
            return false;
    return true;
}

static size_t follow(struct port_sampler *s, const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    while (s->aligned && size - i >= 2) {
        if (s->fill == 0 && !s->half && size - i >= PORT_FRAME && is_plain(bytes + i)) {
            s->frame(s->ctx, bytes + i);
            i += PORT_FRAME;
        } else {
            put_pair(s, bytes[i], bytes[i + 1]);
            i += 2;
        }
    }
    return i;
}

void port_sampler_put(struct port_sampler *s, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        if (s->aligned && s->odd) { /* its other half comes now */
            s->odd = false;
            put_pair(s, s->even, *bytes);
            bytes++;
            size--;
            continue;
        }
        size_t n = s->aligned ? follow(s, bytes, size) : search(s, bytes, size);
        bytes += n;
        size -= n;
        if (s->aligned && size == 1) {
            s->odd = true;
            s->even = *bytes;
            return;
        }
    }
}

void port_deframe(uint8_t *id, const uint8_t frame[PORT_FRAME],
                  void (*put)(void *ctx, uint8_t id, const uint8_t *bytes, size_t size), void *ctx)
{
    uint8_t run[AUX];
    size_t n = 0;
    for (unsigned i = 0; i < AUX; i += 2) {
        unsigned bit = frame[AUX] >> (i / 2) & 1;
        bool last = i == AUX - 1; /* nothing is behind it: the ID is for the next frame */
        if (!(frame[i] & 1)) {
            run[n++] = (uint8_t)(frame[i] | bit);
            if (!last)
                run[n++] = frame[i + 1];
            continue;
        }
        if (bit && !last)
            run[n++] = frame[i + 1];
        if (n > 0)
            put(ctx, *id, run, n);
        n = 0;
        *id = frame[i] >> 1;
        if (!bit && !last)
            run[n++] = frame[i + 1];
    }
    if (n > 0)
        put(ctx, *id, run, n);
}
