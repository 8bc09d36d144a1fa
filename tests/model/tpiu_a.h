/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of a full TPIU (DDI 0314H chapter 8; IHI 0029E, trace formatter) and of its pins. There is
 * no TRACECTL: what is not sent in continuous mode cannot be told from idle pins, and is lost. Test
 * patterns drive the pins in the place of trace.
 */
#ifndef TESTS_USB_TPIU_A_H
#define TESTS_USB_TPIU_A_H

#include "trace_pins.h"

/* For tests to look at; the counters may be written. */
struct tpiu_a {
    bool wired; /* something may be connected to the pins */
    uint32_t cspsr, ffcr, fscr, ctpmr, tprcr, tcvr, tmr;
    bool locked, stopped;
    unsigned flush_reads; /* of FFCR until the flush is done */
    bool flush_stops;     /* the flush that was asked for ends the stream */
    struct frame_builder frames;
    struct trace_bytes framed; /* not yet on the pins */
    struct trace_pins pins;
    unsigned locked_writes;
    unsigned ignored_writes; /* in a state that does not allow them, or of what it does not have */
    unsigned long unsent;    /* bytes of trace that could not go on the pins */
};

void tpiu_a_init(struct tpiu_a *t, bool wired);
void tpiu_a_release(struct tpiu_a *t);

/* As after power-on; counters stay, and what has left on the pins. */
void tpiu_a_reset(struct tpiu_a *t);

/* Bytes of a source; a stopped TPIU takes them and does nothing. */
void tpiu_a_put(struct tpiu_a *t, uint8_t id, const uint8_t *bytes, size_t size);

uint32_t tpiu_a_read(struct tpiu_a *t, unsigned offset, bool external);

/* True: a flush was asked for. The caller empties the sources, then calls tpiu_a_flush(). */
bool tpiu_a_write(struct tpiu_a *t, unsigned offset, bool external, uint32_t value);
void tpiu_a_flush(struct tpiu_a *t);

/* Whether trace goes on the pins; and bytes a second that fit on them then, else 0: any. */
bool tpiu_a_sends(const struct tpiu_a *t);
uint64_t tpiu_a_rate(const struct tpiu_a *t);

/* Width of the port in bits. */
unsigned tpiu_a_width(const struct tpiu_a *t);

/* Takes up to `size` bytes from the pins; `idle`: nothing makes trace. */
size_t tpiu_a_pins(struct tpiu_a *t, bool idle, uint8_t *bytes, size_t size);

#endif
