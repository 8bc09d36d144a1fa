/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_port.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK  4096 /* bytes that wait for each other before they are sent */
#define SHARES 64   /* of a second: a core that waits for a slow port is never further ahead */

int board_port_init(struct board_port *p, const struct board_options *o)
{
    struct frame_options frames = {.repeat_id_period = 8};

    *p = (struct board_port){.options = o};
    if (o->format == BOARD_FORMAT_TPIU) {
        frames.full_sync_period = o->full_sync;
        frames.half_sync_percent = o->half_sync;
    }
    frame_builder_init(&p->builder, &frames, &p->bytes);
    if (o->format == BOARD_FORMAT_TPIU)
        frame_builder_full_sync(&p->builder);
    if (o->format == BOARD_FORMAT_ETB) {
        p->ring = malloc(o->etb);
        if (!p->ring)
            return -1;
    }
    if (pthread_mutex_init(&p->lock, NULL) == 0 && board_link_open(&p->link, o->out, o->rate) == 0)
        return 0;
    free(p->ring);
    return -1;
}

void board_port_close(struct board_port *p)
{
    pthread_mutex_lock(&p->lock);
    board_link_close(&p->link);
    trace_bytes_release(&p->bytes);
    free(p->ring);
    p->ring = NULL;
    pthread_mutex_unlock(&p->lock);
}

static void drop_front(struct board_port *p, size_t size)
{
    memmove(p->bytes.data, p->bytes.data + size, p->bytes.size - size);
    p->bytes.size -= size;
}

static void fill_ring(struct board_port *p)
{
    size_t size = p->options->etb;

    for (size_t i = 0; i < p->bytes.size; i++) {
        p->ring[p->ring_at++] = p->bytes.data[i];
        if (p->ring_at == size) {
            p->ring_at = 0;
            p->ring_wrapped = true;
        }
    }
    p->bytes.size = 0;
}

static void read_out_ring(struct board_port *p)
{
    if (p->ring_wrapped)
        board_link_write(&p->link, p->ring + p->ring_at, p->options->etb - p->ring_at);
    board_link_write(&p->link, p->ring, p->ring_at);
    p->ring_at = 0;
    p->ring_wrapped = false;
}

/* Moves what is formatted on; all of it, or as much as goes without waiting. */
static void move(struct board_port *p, bool wait)
{
    if (p->ring) {
        fill_ring(p);
    } else if (wait) {
        board_link_write(&p->link, p->bytes.data, p->bytes.size);
        p->bytes.size = 0;
    } else {
        drop_front(p, board_link_try(&p->link, p->bytes.data, p->bytes.size));
    }
}

static void append_tagged(struct board_port *p, uint8_t id, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t part = size < UINT8_MAX ? size : UINT8_MAX;
        const uint8_t head[2] = {id, (uint8_t)part};
        trace_bytes_append(&p->bytes, head, sizeof head);
        trace_bytes_append(&p->bytes, bytes, part);
        bytes += part;
        size -= part;
    }
}

static size_t gather_size(const struct board_options *o)
{
    return o->rate && o->rate / SHARES < CHUNK ? (size_t)(o->rate / SHARES) : CHUNK;
}

bool board_port_write(struct board_port *p, uint8_t id, const uint8_t *bytes, size_t size)
{
    const struct board_options *o = p->options;
    bool room = true;

    pthread_mutex_lock(&p->lock);
    if (o->format == BOARD_FORMAT_RAW)
        trace_bytes_append(&p->bytes, bytes, size);
    else if (o->format == BOARD_FORMAT_TAGGED)
        append_tagged(p, id, bytes, size);
    else
        frame_builder_write(&p->builder, id, bytes, size);
    if (o->drop && !p->ring) {
        move(p, false);
        room = p->bytes.size < o->fifo;
    } else if (p->bytes.size >= gather_size(o)) {
        move(p, true);
    }
    pthread_mutex_unlock(&p->lock);
    return room;
}

bool board_port_recovered(struct board_port *p)
{
    pthread_mutex_lock(&p->lock);
    move(p, false);
    bool recovered = p->bytes.size <= p->options->fifo / 2;
    pthread_mutex_unlock(&p->lock);
    return recovered;
}

/* Completes the frame: what a port without data does. */
static void board_port_complete(struct board_port *p)
{
    const struct board_options *o = p->options;

    if (o->format != BOARD_FORMAT_RAW && o->format != BOARD_FORMAT_TAGGED)
        frame_builder_flush(&p->builder);
    if (o->format == BOARD_FORMAT_TPIU && o->idle) {
        frame_builder_idle(&p->builder, true);
        frame_builder_idle(&p->builder, false);
    }
}

void board_port_flush(struct board_port *p)
{
    pthread_mutex_lock(&p->lock);
    board_port_complete(p);
    move(p, true);
    if (p->ring)
        read_out_ring(p);
    pthread_mutex_unlock(&p->lock);
}

void board_port_push(struct board_port *p)
{
    pthread_mutex_lock(&p->lock);
    board_port_complete(p);
    move(p, !p->options->drop);
    pthread_mutex_unlock(&p->lock);
}

void board_port_pace(struct board_port *p, uint64_t rate)
{
    pthread_mutex_lock(&p->lock);
    board_link_pace(&p->link, rate);
    pthread_mutex_unlock(&p->lock);
}

uint64_t board_port_written(struct board_port *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t written = p->link.written;
    pthread_mutex_unlock(&p->lock);
    return written;
}
