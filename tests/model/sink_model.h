/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of an ETB, or of a TMC that is configured as one (DDI 0314H chapter 9, DDI 0461B):
 * formatter, memory, and the registers with their rules.
 *
 * Known difference from silicon: a software FIFO that is full does not press back on the trace
 * units; what comes waits in front of it.
 */
#ifndef TESTS_USB_SINK_MODEL_H
#define TESTS_USB_SINK_MODEL_H

#include "drivers/virtual/encoder/frame_builder.h"

#define SINK_WORDS_MAX 65536u

/* Private, but for the counters. */
struct sink_model {
    bool tmc;
    uint32_t words;
    uint32_t rrp, rwp; /* words, also of a TMC */
    uint32_t count;    /* words in a TMC */
    uint32_t trg, ctl, mode, ffcr, watermark, pscr, level;
    bool full, stopped, locked;
    unsigned flush_reads; /* of FFCR until the flush is done */
    bool flush_stops;     /* the flush that was asked for ends the capture */
    struct frame_builder frames;
    struct trace_bytes framed; /* not yet in the memory */
    unsigned locked_writes;
    unsigned ignored_writes; /* in a state that does not allow them */
    uint32_t ram[SINK_WORDS_MAX];
};

/* `words`: up to SINK_WORDS_MAX, a multiple of 4. */
void sink_init(struct sink_model *s, bool tmc, uint32_t words);
void sink_release(struct sink_model *s);

/* As after power-on; counters stay, and what the memory holds. */
void sink_reset(struct sink_model *s);

/* Does it take trace? */
bool sink_captures(const struct sink_model *s);

/* Bytes of a source; those that come while it does not capture are lost. */
void sink_put(struct sink_model *s, uint8_t id, const uint8_t *bytes, size_t size);

uint32_t sink_read(struct sink_model *s, unsigned offset, bool external);

/* True: a flush was asked for. The caller empties the sources, then calls sink_flush(). */
bool sink_write(struct sink_model *s, unsigned offset, bool external, uint32_t value);
void sink_flush(struct sink_model *s);

#endif
