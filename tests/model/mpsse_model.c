/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpsse_model.h"

#include <string.h>

/* Bits of the opcodes below 0x80. */
#define OP_WRITE_FALLING 0x01u
#define OP_BITS          0x02u
#define OP_READ_FALLING  0x04u
#define OP_LSB           0x08u
#define OP_WRITE         0x10u
#define OP_READ          0x20u
#define OP_TMS           0x40u
#define OP_TMS_FORM      (OP_TMS | OP_LSB | OP_BITS)
#define OP_OTHER         0x80u

#define BASE_CLOCK   60000000u
#define YIELD_CLOCKS 64u /* of a clock without end, before others get their turn */
#define ENDLESS      UINT32_MAX
#define TMS_BITS     7u

enum engine_state {
    ENGINE_OPCODE,
    ENGINE_ARGS,
    ENGINE_SHIFT,
    ENGINE_CLOCKS,
    ENGINE_WAIT,
};

void mpsse_set_pins(struct mpsse_model *m, uint16_t level, uint16_t output)
{
    if (level == m->level && output == m->output)
        return;
    m->level = level;
    m->output = output;
    if (m->pins.drive)
        m->pins.drive(m->pins.ctx, level, output);
}

uint16_t mpsse_get_pins(const struct mpsse_model *m)
{
    uint16_t outside = m->pins.sense ? m->pins.sense(m->pins.ctx) : 0xffff;
    return (uint16_t)((m->level & m->output) | (outside & ~m->output));
}

void mpsse_reset(struct mpsse_model *m)
{
    m->loopback = m->adaptive = m->three_phase = false;
    m->flush = 0;
    m->divide_by_5 = true;
    m->divisor = 0;
    memset(&m->engine, 0, sizeof m->engine);
    mpsse_set_pins(m, 0, 0);
}

void mpsse_init(struct mpsse_model *m, const struct mpsse_pins *pins)
{
    memset(m, 0, sizeof *m);
    m->pins = *pins;
    mpsse_reset(m);
}

uint32_t mpsse_rate(const struct mpsse_model *m)
{
    uint32_t base = m->divide_by_5 ? BASE_CLOCK / 5 : BASE_CLOCK;
    return base / 2 / (1u + m->divisor);
}

static void set_level(struct mpsse_model *m, uint16_t mask, unsigned bit)
{
    uint16_t level = (uint16_t)(bit ? m->level | mask : m->level & ~mask);
    mpsse_set_pins(m, level, m->output);
}

/* With adaptive clocking nothing goes on until the target has sent the level of TCK back. */
static bool is_behind(const struct mpsse_model *m)
{
    bool tck = m->level & MPSSE_TCK;
    return m->adaptive && tck != (bool)(mpsse_get_pins(m) & MPSSE_GPIOL3);
}

static void put_bit(struct mpsse_model *m)
{
    const struct mpsse_engine *e = &m->engine;
    unsigned at = e->op & OP_LSB ? e->bit : 7 - e->bit;
    if (e->op & OP_TMS) {
        set_level(m, MPSSE_TDI, e->data >> TMS_BITS);
        set_level(m, MPSSE_TMS, e->data >> e->bit & 1);
    } else if (e->op & OP_WRITE) {
        set_level(m, MPSSE_TDI, e->data >> at & 1);
    }
}

static void take_bit(struct mpsse_model *m)
{
    struct mpsse_engine *e = &m->engine;
    unsigned bit = m->loopback ? (m->level & MPSSE_TDI) != 0 : (mpsse_get_pins(m) & MPSSE_TDO) != 0;
    e->in = (uint8_t)(e->op & OP_LSB ? e->in >> 1 | bit << 7 : e->in << 1 | bit);
}

/*
 * One of the two edges of a bit. Data that changes on the second edge has to be there before the
 * first one; inputs are sampled just before an edge. False: the clock has to wait.
 */
static bool clock_edge(struct mpsse_model *m, bool shifts)
{
    const struct mpsse_engine *e = &m->engine;
    bool falling = m->level & MPSSE_TCK; /* what this edge will be */
    bool writes_here = shifts && falling == (bool)(e->op & OP_WRITE_FALLING);
    if (is_behind(m))
        return false;
    if (e->half == 0 && !writes_here && shifts)
        put_bit(m);
    if (shifts && e->op & OP_READ && falling == (bool)(e->op & OP_READ_FALLING))
        take_bit(m);
    set_level(m, MPSSE_TCK, !falling);
    if (e->half == 0 && writes_here)
        put_bit(m);
    return true;
}

static bool clock_bit(struct mpsse_model *m, bool shifts)
{
    struct mpsse_engine *e = &m->engine;
    for (; e->half < 2; e->half++)
        if (!clock_edge(m, shifts))
            return false;
    e->half = 0;
    m->counters.clocks++;
    return true;
}

static bool is_shift(uint8_t op)
{
    if (op & OP_OTHER)
        return false;
    if (op & OP_TMS)
        return (op & OP_TMS_FORM) == OP_TMS_FORM && !(op & OP_WRITE);
    return op & (OP_WRITE | OP_READ);
}

/* The table has one edge for each direction that is used, and for both directions two. */
static bool is_listed(uint8_t op)
{
    bool writes = op & (OP_WRITE | OP_TMS);
    unsigned edges = op & (OP_WRITE_FALLING | OP_READ_FALLING);
    if (op & OP_TMS)
        return op & OP_READ || !(op & OP_READ_FALLING);
    if (writes && op & OP_READ)
        return edges == OP_WRITE_FALLING || edges == OP_READ_FALLING;
    return writes ? !(op & OP_READ_FALLING) : !(op & OP_WRITE_FALLING);
}

/* Bytes behind the opcode, without the data that is shifted. Negative: no command. */
static int arguments(uint8_t op)
{
    if (is_shift(op))
        return op & OP_BITS ? 1 : 2;
    switch (op) {
    case 0x80:
    case 0x82:
    case 0x86:
    case 0x8f:
    case 0x9c:
    case 0x9d:
        return 2;
    case 0x8e:
        return 1;
    case 0x81:
    case 0x83:
    case 0x84:
    case 0x85:
    case 0x87:
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
    case 0x8c:
    case 0x8d:
    case 0x94:
    case 0x95:
    case 0x96:
    case 0x97:
        return 0;
    default:
        return -1;
    }
}

static void answer(struct mpsse_model *m, uint8_t byte)
{
    m->engine.reply[m->engine.replies++] = byte;
}

static void start_shift(struct mpsse_model *m)
{
    struct mpsse_engine *e = &m->engine;
    unsigned count = e->args[0] + 1u;
    bool writes = e->op & (OP_WRITE | OP_TMS);
    e->left = 1;
    e->unit_bits = (e->args[0] & 7) + 1u;
    if (!(e->op & OP_BITS)) {
        e->left = count + 256u * e->args[1];
        e->unit_bits = 8;
    } else if (e->op & OP_TMS && e->unit_bits > TMS_BITS) {
        m->counters.long_tms++;
        e->unit_bits = TMS_BITS;
    }
    m->counters.unlisted += !is_listed(e->op);
    /* Right is the edge that brings the clock back to where it rests. */
    if (writes && (bool)(m->level & MPSSE_TCK) == (bool)(e->op & OP_WRITE_FALLING))
        m->counters.wrong_edge++;
    e->state = ENGINE_SHIFT;
}

static void start_clocks(struct mpsse_model *m, uint32_t clocks, bool until)
{
    struct mpsse_engine *e = &m->engine;
    e->left = clocks;
    e->until = until;
    e->want_high = !(e->op & 1); /* 94, 9c: high; 95, 9d: low */
    e->state = ENGINE_CLOCKS;
}

static void set_byte(struct mpsse_model *m, unsigned shift)
{
    const uint8_t *a = m->engine.args;
    unsigned keep = 0xff00u >> shift;
    mpsse_set_pins(m, (uint16_t)((m->level & keep) | (unsigned)a[0] << shift),
                   (uint16_t)((m->output & keep) | (unsigned)a[1] << shift));
}

static void set_option(struct mpsse_model *m)
{
    switch (m->engine.op) {
    case 0x84:
    case 0x85:
        m->loopback = m->engine.op == 0x84;
        break;
    case 0x8a:
    case 0x8b:
        m->divide_by_5 = m->engine.op == 0x8b;
        break;
    case 0x8c:
    case 0x8d:
        m->three_phase = m->engine.op == 0x8c;
        break;
    default: /* 96, 97 */
        m->adaptive = m->engine.op == 0x96;
        break;
    }
}

/* The opcode and its arguments are there. */
static void start(struct mpsse_model *m, const struct ftdi_fifo *in)
{
    struct mpsse_engine *e = &m->engine;
    uint32_t count = e->args[0] | (uint32_t)e->args[1] << 8;
    e->state = ENGINE_OPCODE;
    m->counters.commands++;
    if (is_shift(e->op)) {
        start_shift(m);
        return;
    }
    switch (e->op) {
    case 0x80:
        set_byte(m, 0);
        break;
    case 0x82:
        m->counters.no_pins += m->no_high_byte;
        if (!m->no_high_byte)
            set_byte(m, 8);
        break;
    case 0x81:
    case 0x83:
        m->counters.no_pins += e->op == 0x83 && m->no_high_byte;
        answer(m, (uint8_t)(mpsse_get_pins(m) >> (e->op == 0x81 ? 0 : 8)));
        break;
    case 0x86:
        m->divisor = (uint16_t)count;
        break;
    case 0x87:
        m->flush = in->count;
        break;
    case 0x88:
    case 0x89:
        e->want_high = e->op == 0x88;
        e->state = ENGINE_WAIT;
        break;
    case 0x8e:
        start_clocks(m, (e->args[0] & 7u) + 1, false);
        break;
    case 0x8f:
        start_clocks(m, 8 * (count + 1), false);
        break;
    case 0x94:
    case 0x95:
        start_clocks(m, ENDLESS, true);
        break;
    case 0x9c:
    case 0x9d:
        start_clocks(m, 8 * (count + 1), true);
        break;
    default:
        set_option(m);
        break;
    }
}

/* Steps: each returns false when it cannot go on now. */

static bool step_opcode(struct mpsse_model *m, struct ftdi_fifo *out)
{
    struct mpsse_engine *e = &m->engine;
    if (out->count == 0)
        return false;
    e->op = ftdi_fifo_get(out);
    int want = arguments(e->op);
    e->have = 0;
    e->args[0] = e->args[1] = 0;
    if (want < 0) {
        m->counters.bad_commands++;
        answer(m, MPSSE_BAD_COMMAND);
        answer(m, e->op);
        return true;
    }
    e->want = (unsigned)want;
    e->state = ENGINE_ARGS;
    return true;
}

static bool step_args(struct mpsse_model *m, struct ftdi_fifo *out, const struct ftdi_fifo *in)
{
    struct mpsse_engine *e = &m->engine;
    for (; e->have < e->want; e->have++) {
        if (out->count == 0)
            return false;
        e->args[e->have] = ftdi_fifo_get(out);
    }
    start(m, in);
    return true;
}

static bool is_full(struct mpsse_model *m, const struct ftdi_fifo *in)
{
    bool full = ftdi_fifo_room(in) == 0;
    m->counters.full += full && !m->engine.stopped;
    m->engine.stopped = full;
    return full;
}

/* One unit: a byte, or the bits of a command in bit mode. */
static bool step_shift(struct mpsse_model *m, struct ftdi_fifo *out, struct ftdi_fifo *in)
{
    struct mpsse_engine *e = &m->engine;
    bool writes = e->op & (OP_WRITE | OP_TMS);
    if (!e->loaded) {
        if ((writes && out->count == 0) || (e->op & OP_READ && is_full(m, in)))
            return false;
        e->data = writes ? ftdi_fifo_get(out) : 0;
        e->in = 0;
        e->bit = 0;
        e->loaded = true;
    }
    for (; e->bit < e->unit_bits; e->bit++)
        if (!clock_bit(m, true))
            return false;
    e->loaded = false;
    if (e->op & OP_READ)
        ftdi_fifo_put(in, e->in);
    if (--e->left == 0)
        e->state = ENGINE_OPCODE;
    return true;
}

static bool step_clocks(struct mpsse_model *m)
{
    struct mpsse_engine *e = &m->engine;
    for (unsigned n = 0; e->left && n < YIELD_CLOCKS; n++) {
        bool high = mpsse_get_pins(m) & MPSSE_GPIOL1;
        if (e->half == 0 && e->until && high == e->want_high)
            e->left = 0;
        else if (!clock_bit(m, false))
            return false;
        else if (e->left != ENDLESS)
            e->left--;
    }
    if (e->left == 0)
        e->state = ENGINE_OPCODE;
    return e->left != ENDLESS;
}

static bool step_wait(struct mpsse_model *m)
{
    bool high = mpsse_get_pins(m) & MPSSE_GPIOL1;
    if (high == m->engine.want_high)
        m->engine.state = ENGINE_OPCODE;
    return high == m->engine.want_high;
}

static bool step_reply(struct mpsse_model *m, struct ftdi_fifo *in)
{
    struct mpsse_engine *e = &m->engine;
    if (is_full(m, in))
        return false;
    ftdi_fifo_put(in, e->reply[0]);
    e->reply[0] = e->reply[1];
    e->replies--;
    return true;
}

static bool step(struct mpsse_model *m, struct ftdi_fifo *out, struct ftdi_fifo *in)
{
    if (m->engine.replies)
        return step_reply(m, in);
    switch (m->engine.state) {
    case ENGINE_ARGS:
        return step_args(m, out, in);
    case ENGINE_SHIFT:
        return step_shift(m, out, in);
    case ENGINE_CLOCKS:
        return step_clocks(m);
    case ENGINE_WAIT:
        return step_wait(m);
    default:
        return step_opcode(m, out);
    }
}

void mpsse_run(struct mpsse_model *m, struct ftdi_fifo *out, struct ftdi_fifo *in)
{
    while (step(m, out, in)) {
    }
}
