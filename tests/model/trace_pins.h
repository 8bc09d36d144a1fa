/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has left on the pins of a trace port, parallel or SWO, and was not yet taken by a capture
 * unit (DDI 0314H chapter 8).
 */
#ifndef TESTS_USB_TRACE_PINS_H
#define TESTS_USB_TRACE_PINS_H

#include "drivers/virtual/encoder/frame_builder.h"

#define TRACE_PINS_CLOCK 64000000u /* edges a second of a parallel port; Hz of SWO's divider */
/* a test bench that is late must not lose what a probe takes */
#define TRACE_PINS_BUFFER 0x100000u

/* All zero: nothing yet. Public: holes and size. */
struct trace_pins {
    uint8_t bytes[TRACE_PINS_BUFFER];
    size_t size;
    bool full;        /* bytes were lost behind these: nothing is kept until all are taken */
    unsigned holes;   /* places where bytes are missing, counted when they have been passed */
    uint64_t idle_us; /* idle output is complete up to here; 0: the port is not idle */
};

void trace_pins_put(struct trace_pins *p, const uint8_t *bytes, size_t size);

/* Up to `size` bytes; how many. */
size_t trace_pins_take(struct trace_pins *p, uint8_t *bytes, size_t size);

/* Another port was selected: what nobody took is gone. */
void trace_pins_clear(struct trace_pins *p);

/*
 * Whether the port is idle now: half syncs follow each other then, as fast as its `rate` in bytes a
 * second, and a frame that was begun waits in `frames`.
 */
void trace_pins_rest(struct trace_pins *p, struct frame_builder *frames, bool idle, uint64_t rate);

#endif
