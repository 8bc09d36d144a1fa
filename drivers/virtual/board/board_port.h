/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board's trace port: formatter and, behind it, the pins or an ETB. All vCPU threads write to
 * it and the control thread flushes it: every function takes the port's own lock.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_PORT_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_PORT_H

#include <pthread.h>

#include "board_link.h"
#include "board_options.h"
#include "drivers/virtual/encoder/frame_builder.h"
#include "drivers/virtual/encoder/trace_bytes.h"

/* Private. */
struct board_port {
    pthread_mutex_t lock;
    const struct board_options *options;
    struct board_link link;
    struct frame_builder builder;
    struct trace_bytes bytes; /* formatted, not yet in the link; ETB: not yet in the ring */
    uint8_t *ring;            /* ETB */
    size_t ring_at;           /* next byte */
    bool ring_wrapped;
};

/* Opens the link. `o` is kept. 0 or -1 (errno). */
int board_port_init(struct board_port *p, const struct board_options *o);
void board_port_close(struct board_port *p);

/* Bytes of source `id`. False: with drop=on the FIFO is full now, the source must overflow. */
bool board_port_write(struct board_port *p, uint8_t id, const uint8_t *bytes, size_t size);

/* With drop=on: sends what the link takes; true if the FIFO is at most half full. */
bool board_port_recovered(struct board_port *p);

/* Completes the frame and sends everything. An ETB is read out, oldest frame first, and empty. */
void board_port_flush(struct board_port *p);

/* The core has nothing to do: completes the frame and sends it. An ETB just keeps it. */
void board_port_push(struct board_port *p);

/* Another rate, in bytes a second; 0: as fast as the reader takes them. */
void board_port_pace(struct board_port *p, uint64_t rate);

/* Bytes in the link so far. */
uint64_t board_port_written(struct board_port *p);

#endif
