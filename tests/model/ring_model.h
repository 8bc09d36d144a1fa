/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of the way of trace into memory of an RP2350: funnel, TPIU, the FIFO behind it, one channel
 * of the DMA, the register that lets it read the FIFO, and the RAM that it writes to. After the
 * register descriptions of the pico-sdk, which are those of the RP2350's datasheet. The FIFO has 8
 * words, and the DMA takes some of them each time that somebody looks: what is on its way after a
 * flush is not yet there.
 *
 * Known differences from silicon: the DMA has one channel, which runs for ever; the core does not
 * see the RAM.
 */
#ifndef TESTS_USB_RING_MODEL_H
#define TESTS_USB_RING_MODEL_H

#include "drivers/virtual/encoder/frame_builder.h"

#define RING_MODEL_RAM   0x20040000u
#define RING_MODEL_BYTES 0x8000u

/* Private, but for `present`, `lose_after` and the counters. */
struct ring_model {
    bool present, stopped, overflow, locked;
    uint32_t funnel, cspsr, ffcr, access, fifo_flush;
    uint32_t dma_read, dma_write, dma_count, dma_control;
    unsigned flush_reads;
    bool flush_stops;
    uint64_t lose_after; /* words: then one is lost; 0: none */
    uint64_t words;      /* that the FIFO took */
    unsigned bad_writes; /* against the rules */
    struct frame_builder frames;
    struct trace_bytes framed; /* on its way */
    size_t sent;               /* of them, to the RAM */
    uint8_t ram[RING_MODEL_BYTES];
};

/* As after power-on; `present` and the counters stay. */
void ring_model_reset(struct ring_model *m);
void ring_model_release(struct ring_model *m);

/* Bytes of the trace unit, which is at port 1 of the funnel. */
void ring_model_put(struct ring_model *m, uint8_t id, const uint8_t *bytes, size_t size);

/* True: the address is one of its registers or its RAM. A flush that is asked for is done by
 * ring_model_flush(), once the trace unit is empty. */
bool ring_model_has(const struct ring_model *m, uint32_t address);
uint32_t ring_model_read(struct ring_model *m, uint32_t address);
bool ring_model_write(struct ring_model *m, uint32_t address, uint32_t value);
void ring_model_flush(struct ring_model *m);

#endif
