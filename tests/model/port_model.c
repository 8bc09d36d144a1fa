/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_model.h"

int port_model_init(struct port_model *p, unsigned bits, enum port_model_layout layout,
                    struct trace_bytes *out)
{
    if (bits != 4 && bits != 8 && bits != 16)
        return BT_ERR_INVAL;
    *p = (struct port_model){.out = out, .layout = layout, .bits = bits};
    return 0;
}

void port_model_push(struct port_model *p, const uint8_t *bytes, unsigned size, bool start)
{
    for (unsigned i = 0; i < size && p->count < PORT_MODEL_FIFO; i++) {
        unsigned at = (p->head + p->count++) % PORT_MODEL_FIFO;
        p->fifo[at] = bytes[i];
        p->start[at] = start && i == 0;
    }
}

bool port_model_empty(const struct port_model *p)
{
    return p->count == 0 && !p->half;
}

unsigned port_model_starts(const struct port_model *p)
{
    unsigned starts = 0;

    for (unsigned i = 0; i < p->count; i++)
        starts += p->start[(p->head + i) % PORT_MODEL_FIFO];
    return starts;
}

/* Byte `index` of those that wait begins an address. */
static bool starts_at(const struct port_model *p, unsigned index)
{
    return p->count > index && p->start[(p->head + index) % PORT_MODEL_FIFO];
}

static uint8_t pop(struct port_model *p)
{
    uint8_t byte = p->fifo[p->head];

    p->head = (p->head + 1) % PORT_MODEL_FIFO;
    p->count--;
    return byte;
}

static struct port_model_slot drain_nibble(struct port_model *p)
{
    struct port_model_slot slot = {.valid = 0xf};

    if (p->half) {
        p->half = false;
        slot.pkt = p->nibble >> 4;
        return slot;
    }
    slot.sync = starts_at(p, 0);
    p->nibble = pop(p);
    p->half = true;
    slot.pkt = p->nibble & 0xf;
    return slot;
}

struct port_model_slot port_model_drain(struct port_model *p, enum port_model_lone lone)
{
    struct port_model_slot slot = {0};

    if (port_model_empty(p))
        return slot;
    if (p->bits == 4)
        return drain_nibble(p);
    bool aligned = lone != PORT_MODEL_LONE && starts_at(p, 1);
    bool two = p->bits == 16 && p->count > 1 && !aligned;
    if (p->bits == 16 && !two && !aligned && lone == PORT_MODEL_LONE_NEVER)
        return slot;
    slot.sync = starts_at(p, 0);
    slot.valid = two ? 0xffff : 0xff;
    slot.pkt = pop(p);
    if (two)
        slot.pkt |= (uint16_t)(pop(p) << 8);
    return slot;
}

static int write_bytes(struct port_model *p, uint32_t value, unsigned size)
{
    const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                              (uint8_t)(value >> 24)};

    return trace_bytes_append(p->out, bytes, size);
}

int port_model_write(struct port_model *p, unsigned pipestat, uint16_t pkt, bool high)
{
    unsigned width = p->bits + 4;
    unsigned per_word = 24 / width;
    uint32_t pkt_mask = (1u << p->bits) - 1;
    uint32_t cycle = (pipestat & 7) | (pkt & pkt_mask) << 3 | (uint32_t)high << (p->bits + 3);

    p->cycles++;
    if (p->layout == PORT_MODEL_CYCLES)
        return write_bytes(p, cycle, p->bits == 4 ? 1 : p->bits == 8 ? 2 : 4);
    p->word |= cycle << width * p->word_at++;
    if (p->word_at < per_word)
        return 0;
    uint32_t word = p->word;
    p->word = 0;
    p->word_at = 0;
    return write_bytes(p, word, 4);
}

int port_model_finish(struct port_model *p, unsigned pipestat)
{
    int error = 0;

    while (!error && p->word_at)
        error = port_model_write(p, pipestat, 0, false);
    return error;
}
