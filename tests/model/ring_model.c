/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring_model.h"

#include <string.h>

#define ACCESS      0x40060058u
#define ACCESS_KEY  0xacceu
#define ACCESS_DMA  0x40u
#define TIMESTAMPS  0x40146000u
#define FUNNEL      0x40147000u
#define TPIU        0x40148000u
#define DMA_CHANNEL 0x50000300u /* number 12 */
#define DMA_ABORT   0x50000464u
#define FIFO        0x50700000u
#define PAGE        0xfffu
#define LAR         0xfb0u

#define FFCR_ENFTC  1u
#define FFCR_MANUAL 0x40u
#define FFCR_STOPFL 0x1000u
#define PORT_ETM0   2u
#define WIDTH_32    0x80000000u

/* EN, 4 bytes, write address goes up and wraps, request 53. */
#define DMA_MUST      0x006a1049u
#define DMA_MUST_HAVE 0x007e10fdu
#define TAKEN_A_LOOK  3u /* words */

/* The first frame behind a stop names its source. */
static void start_frames(struct ring_model *m)
{
    static const struct frame_options options = {.repeat_id_period = 8};
    m->stopped = false;
    frame_builder_init(&m->frames, &options, &m->framed);
}

void ring_model_reset(struct ring_model *m)
{
    m->overflow = m->flush_stops = false;
    m->locked = true;
    m->cspsr = 1;
    m->ffcr = m->funnel = 0;
    m->access = 0xb8;
    m->fifo_flush = 1;
    m->dma_read = m->dma_write = m->dma_count = m->dma_control = 0;
    m->flush_reads = 0;
    m->framed.size = m->sent = 0;
    memset(m->ram, 0xa5, sizeof m->ram);
    start_frames(m);
}

void ring_model_release(struct ring_model *m)
{
    trace_bytes_release(&m->framed);
}

static bool dma_runs(const struct ring_model *m)
{
    return m->access & ACCESS_DMA && (m->dma_control & DMA_MUST_HAVE) == DMA_MUST &&
           m->dma_read == FIFO + 4 && m->dma_count == 0xffffffff;
}

static uint32_t ring_bytes(const struct ring_model *m)
{
    return 1u << (m->dma_control >> 8 & 15);
}

static void take_word(struct ring_model *m, const uint8_t *word)
{
    uint32_t at = m->dma_write - RING_MODEL_RAM;
    if (m->words++ == m->lose_after - 1) {
        m->overflow = true;
        return;
    }
    if (at <= RING_MODEL_BYTES - 4)
        memcpy(m->ram + at, word, 4);
    else
        m->bad_writes++;
    at = m->dma_write & ~(ring_bytes(m) - 1);
    m->dma_write = at | ((m->dma_write + 4) & (ring_bytes(m) - 1));
}

/* All but what the FIFO holds, and some of that. */
static void move_words(struct ring_model *m)
{
    size_t left = (m->framed.size - m->sent) / 4;
    if (m->fifo_flush || !dma_runs(m)) {
        m->overflow |= left > 8 && !m->fifo_flush;
        m->sent = m->fifo_flush ? m->framed.size : m->sent;
    } else {
        size_t n = left > 8 ? left - 8 : left < TAKEN_A_LOOK ? left : TAKEN_A_LOOK;
        for (; n > 0; n--, m->sent += 4)
            take_word(m, m->framed.data + m->sent);
    }
    if (m->sent == m->framed.size)
        m->framed.size = m->sent = 0;
}

void ring_model_put(struct ring_model *m, uint8_t id, const uint8_t *bytes, size_t size)
{
    if (!m->stopped && m->ffcr & FFCR_ENFTC && m->cspsr == WIDTH_32 && m->funnel & PORT_ETM0)
        frame_builder_write(&m->frames, id, bytes, size);
}

void ring_model_flush(struct ring_model *m)
{
    if (!m->stopped && m->ffcr & FFCR_ENFTC)
        frame_builder_flush(&m->frames);
    m->flush_reads = 2;
    m->stopped |= m->flush_stops;
}

bool ring_model_has(const struct ring_model *m, uint32_t address)
{
    static const uint32_t pages[] = {ACCESS & ~PAGE, TIMESTAMPS, FUNNEL,
                                     TPIU,           FIFO,       DMA_CHANNEL & ~PAGE};
    bool found = m->present && address - RING_MODEL_RAM < RING_MODEL_BYTES;
    for (unsigned i = 0; i < sizeof pages / sizeof *pages && m->present; i++)
        found |= (address & ~PAGE) == pages[i];
    return found;
}

static uint32_t read_tpiu(struct ring_model *m, unsigned offset)
{
    switch (offset) {
    case 0x000:
        return WIDTH_32 | 0x8f;
    case 0x004:
        return m->cspsr;
    case 0x300:
        return (m->flush_reads ? 1u : 0) | (m->stopped ? 2u : 0);
    case 0x304:
        if (m->flush_reads == 0)
            return m->ffcr;
        m->flush_reads--;
        return m->ffcr | FFCR_MANUAL;
    case 0xfb4:
        return 1u | (m->locked ? 2u : 0);
    case 0xfcc:
        return 0x11;
    default:
        return 0;
    }
}

uint32_t ring_model_read(struct ring_model *m, uint32_t address)
{
    uint32_t value;
    move_words(m);
    if (address - RING_MODEL_RAM < RING_MODEL_BYTES) {
        memcpy(&value, m->ram + ((address - RING_MODEL_RAM) & ~3u), sizeof value);
        return value;
    }
    if ((address & ~PAGE) == TPIU)
        return read_tpiu(m, address & PAGE);
    switch (address) {
    case ACCESS:
        return m->access;
    case FUNNEL:
        return m->funnel;
    case DMA_CHANNEL + 4:
        return m->dma_write;
    case DMA_CHANNEL + 12:
        return m->dma_control;
    case FIFO:
        return m->fifo_flush | (m->overflow ? 2u : 0);
    default:
        return 0;
    }
}

/* StopFl that comes with a flush is too late for it. */
static bool write_tpiu(struct ring_model *m, unsigned offset, uint32_t value)
{
    bool flush = false;
    if (offset == LAR) {
        m->locked = value != 0xc5acce55;
    } else if (m->locked) {
        m->bad_writes++;
    } else if (offset == 0x004) {
        m->bad_writes += !m->stopped && value != m->cspsr;
        m->cspsr = value;
    } else if (offset == 0x304) {
        flush = value & FFCR_MANUAL && m->flush_reads == 0;
        m->flush_stops = m->ffcr & FFCR_STOPFL;
        if (m->stopped && !(value & FFCR_STOPFL))
            start_frames(m);
        m->ffcr = value & (FFCR_ENFTC | FFCR_STOPFL | 2u);
    }
    return flush;
}

bool ring_model_write(struct ring_model *m, uint32_t address, uint32_t value)
{
    move_words(m);
    if (address - RING_MODEL_RAM < RING_MODEL_BYTES) {
        memcpy(m->ram + ((address - RING_MODEL_RAM) & ~3u), &value, sizeof value);
        return false;
    }
    if ((address & ~PAGE) == TPIU)
        return write_tpiu(m, address & PAGE, value);
    switch (address) {
    case ACCESS:
        m->bad_writes += value >> 16 != ACCESS_KEY;
        m->access = value >> 16 == ACCESS_KEY ? value & 0xff : m->access;
        break;
    case FUNNEL:
        m->funnel = value;
        break;
    case DMA_CHANNEL:
        m->dma_read = value;
        break;
    case DMA_CHANNEL + 4:
        m->dma_write = value;
        break;
    case DMA_CHANNEL + 8:
        m->dma_count = value;
        break;
    case DMA_CHANNEL + 12:
        m->dma_control = value;
        break;
    case DMA_ABORT:
        m->dma_control &= value & 1u << 12 ? ~1u : ~0u;
        break;
    case FIFO:
        m->fifo_flush = value & 1;
        m->overflow &= !(value & 2);
        break;
    default:
        break;
    }
    return false;
}
