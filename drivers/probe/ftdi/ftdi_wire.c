/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes over the wire: batches of commands and their answers, the lines of the board, and an
 * access as shifts of SWD or of a JTAG chain. AN_108; IHI 0031F chapters B3 and B4. */
#include <string.h>

#include "decoder/base/bytes.h"
#include "ftdi_internal.h"

#define SYNC_MS    300u
#define SYNC_TRIES 4u

/* Two commands that do not exist: their echoes show that answers belong to commands. */
static const uint8_t BOGUS[] = {0xaa, 0xab};

static void ftdi_empty_batch(struct ftdi *f, struct mpsse *m)
{
    mpsse_start(m, f->command, sizeof f->command, f->layout.sample_falling);
}

static int ftdi_exchange(struct ftdi *f, struct mpsse *m, unsigned timeout_ms)
{
    size_t got = 0;
    uint8_t command;
    if (m->reply > 0)
        mpsse_command(m, MPSSE_SEND_IMMEDIATE, 0);
    if (m->overflow || m->reply > sizeof f->answer)
        return BT_ERR_INVAL;
    int error = f->port.ops->exchange(f->port.self, m->bytes, m->length, f->answer, m->reply, &got,
                                      timeout_ms);
    if (error == 0 && got != m->reply)
        error = FTDI_TIMED_OUT;
    if (error == FTDI_TIMED_OUT)
        error =
            got <= m->reply && mpsse_is_echo(f->answer, got, &command) ? BT_ERR_FORMAT : BT_ERR_IO;
    return error;
}

static int try_echo(struct ftdi *f, uint8_t command)
{
    struct mpsse m;
    ftdi_empty_batch(f, &m);
    mpsse_command(&m, command, 2);
    int error = ftdi_exchange(f, &m, SYNC_MS);
    if (error != 0)
        return error;
    return f->answer[0] == MPSSE_ECHO && f->answer[1] == command ? 0 : BT_ERR_FORMAT;
}

int ftdi_synchronise(struct ftdi *f)
{
    struct mpsse m;
    int error = BT_ERR_IO;
    for (unsigned k = 0; k < SYNC_TRIES && error != 0; k++) {
        if (f->port.ops->purge(f->port.self) != 0)
            return BT_ERR_IO;
        error = 0;
        for (unsigned i = 0; error == 0 && i < sizeof BOGUS; i++)
            error = try_echo(f, BOGUS[i]);
    }
    if (error != 0)
        return error;
    ftdi_empty_batch(f, &m);
    mpsse_command_with(&m, MPSSE_SET_LOW, (uint8_t)f->value, (uint8_t)f->direction);
    if (f->port.has_high_byte)
        mpsse_command_with(&m, MPSSE_SET_HIGH, (uint8_t)(f->value >> 8),
                           (uint8_t)(f->direction >> 8));
    error = ftdi_exchange(f, &m, f->answer_ms);
    f->stale = error != 0;
    return error;
}

/* After a failure commands and answers are brought in step before anything is built: pins that
 * are noted are then those that the engine drives. */
void ftdi_start(struct ftdi *f, struct mpsse *m)
{
    if (f->stale)
        (void)ftdi_synchronise(f);
    ftdi_empty_batch(f, m);
}

int ftdi_run(struct ftdi *f, struct mpsse *m)
{
    if (f->stale)
        return BT_ERR_IO;
    int error = ftdi_exchange(f, m, f->answer_ms + (unsigned)(m->clocks * 2000 / f->hz));
    if (error != 0) {
        f->stale = true;
        f->ir = FTDI_IR_UNKNOWN;
        f->bank_known = false;
        f->queues = false;
    }
    return error;
}

void ftdi_put_pins(struct ftdi *f, struct mpsse *m, uint16_t value, uint16_t direction)
{
    unsigned changed = (unsigned)(f->value ^ value) | (unsigned)(f->direction ^ direction);
    if ((changed & 0xff) != 0)
        mpsse_command_with(m, MPSSE_SET_LOW, (uint8_t)value, (uint8_t)direction);
    if ((changed >> 8) != 0 && f->port.has_high_byte)
        mpsse_command_with(m, MPSSE_SET_HIGH, (uint8_t)(value >> 8), (uint8_t)(direction >> 8));
    f->value = value;
    f->direction = direction;
}

#define SETTABLE     (DEBUG_PIN_NTRST | DEBUG_PIN_NRESET)
#define INPUT_TDI    0x04u /* of the pins operation */
#define INPUT_TDO    0x08u
#define PINS_ANSWERS 2u

struct pins {
    uint16_t value, direction;
};

static bool ftdi_exists(const struct ftdi_line *s)
{
    return (s->data | s->enable) != 0;
}

static void ftdi_set(uint16_t *word, uint16_t mask, bool high)
{
    *word = (uint16_t)(high ? *word | mask : *word & ~mask);
}

/* The line is driven to a level. */
static void ftdi_drive(struct pins *p, const struct ftdi_line *s, bool high)
{
    ftdi_set(&p->value, s->data, high != s->data_inverted);
    ftdi_set(&p->value, s->enable, !s->enable_inverted);
    p->direction |= s->data | s->enable;
}

/* A reset line goes high: its buffer off if it has one, its pin as the layout wants it at rest. */
static void ftdi_release(const struct ftdi *f, struct pins *p, const struct ftdi_line *s)
{
    ftdi_set(&p->value, s->data, !s->data_inverted);
    ftdi_set(&p->value, s->enable, s->enable_inverted);
    ftdi_set(&p->direction, s->data, false);
    p->direction |= (f->layout.direction & s->data) | s->enable;
}

static void ftdi_swdio(const struct ftdi *f, struct pins *p, bool host)
{
    if (ftdi_exists(&f->layout.swdio_enable))
        ftdi_drive(p, &f->layout.swdio_enable, host);
    else
        ftdi_set(&p->direction, MPSSE_PIN_TDI, host);
}

static void ftdi_put_swdio(struct ftdi *f, struct mpsse *m, bool host)
{
    struct pins p = {f->value, f->direction};
    ftdi_swdio(f, &p, host);
    ftdi_put_pins(f, m, p.value, p.direction);
}

void ftdi_put_wire(struct ftdi *f, struct mpsse *m, enum debug_wire wire)
{
    const struct ftdi_pinout *l = &f->layout;
    const struct ftdi_line *s = &l->swdio_enable;
    struct pins p = {f->value, f->direction};
    bool swd = wire == DEBUG_WIRE_SWD;
    if (ftdi_exists(&l->swd_enable))
        ftdi_drive(&p, &l->swd_enable, swd);
    if (swd) {
        ftdi_swdio(f, &p, true);
    } else {
        uint16_t mask = (uint16_t)(s->data | s->enable);
        p.value = (uint16_t)((p.value & ~mask) | (l->value & mask));
        p.direction |= MPSSE_PIN_TDI;
    }
    ftdi_put_pins(f, m, p.value, p.direction);
}

static void set_line(const struct ftdi *f, struct pins *p, const struct ftdi_line *s, bool high)
{
    if (high)
        ftdi_release(f, p, s);
    else
        ftdi_drive(p, s, false);
}

/* What the line shows; without a pin that could be read it is what it was set to. */
static bool ftdi_level(const struct ftdi *f, const struct ftdi_line *s, unsigned levels)
{
    if (s->data == 0)
        return ((f->value & s->enable) != 0) == s->enable_inverted;
    return ((levels & s->data) != 0) != s->data_inverted;
}

/* Reads all pins, as bits of the pins operation. */
static int read_pins(struct ftdi *f, uint8_t *input)
{
    const struct ftdi_pinout *l = &f->layout;
    struct mpsse m;
    ftdi_start(f, &m);
    mpsse_command(&m, MPSSE_READ_LOW, 1);
    if (f->port.has_high_byte)
        mpsse_command(&m, MPSSE_READ_HIGH, 1);
    int error = ftdi_run(f, &m);
    if (error != 0)
        return error;
    unsigned levels = f->answer[0];
    if (m.reply == PINS_ANSWERS)
        levels |= (unsigned)f->answer[1] << 8;
    unsigned data = f->wire == DEBUG_WIRE_SWD ? MPSSE_PIN_TDO : MPSSE_PIN_TMS;
    unsigned in = 0;
    in |= levels & MPSSE_PIN_TCK ? DEBUG_PIN_SWCLK : 0;
    in |= levels & data ? DEBUG_PIN_SWDIO : 0;
    in |= levels & MPSSE_PIN_TDI ? INPUT_TDI : 0;
    in |= levels & MPSSE_PIN_TDO ? INPUT_TDO : 0;
    in |= ftdi_exists(&l->ntrst) && ftdi_level(f, &l->ntrst, levels) ? DEBUG_PIN_NTRST : 0;
    in |= ftdi_exists(&l->nsrst) && ftdi_level(f, &l->nsrst, levels) ? DEBUG_PIN_NRESET : 0;
    *input = (uint8_t)in;
    return 0;
}

static int write_pins(struct ftdi *f, uint8_t output, uint8_t select)
{
    const struct ftdi_pinout *l = &f->layout;
    struct pins p = {f->value, f->direction};
    struct mpsse m;
    bool trst = (select & DEBUG_PIN_NTRST) != 0;
    bool srst = (select & DEBUG_PIN_NRESET) != 0;
    if ((select & ~SETTABLE) != 0 || (trst && !ftdi_exists(&l->ntrst)) ||
        (srst && !ftdi_exists(&l->nsrst)))
        return BT_ERR_UNSUPPORTED;
    if (trst)
        set_line(f, &p, &l->ntrst, (output & DEBUG_PIN_NTRST) != 0);
    if (srst)
        set_line(f, &p, &l->nsrst, (output & DEBUG_PIN_NRESET) != 0);
    if (trst)
        f->ir = FTDI_IR_UNKNOWN;
    ftdi_start(f, &m);
    ftdi_put_pins(f, &m, p.value, p.direction);
    return m.length > 0 ? ftdi_run(f, &m) : 0;
}

int ftdi_link_pins(void *self, uint8_t output, uint8_t select, uint8_t *input)
{
    struct ftdi *f = self;
    int error = select ? write_pins(f, output, select) : 0;
    return error != 0 ? error : read_pins(f, input);
}

#define IR_DPACC    0x0au
#define IR_APACC    0x0bu
#define ACCESS_BITS 35u
#define ACK_OK      2u
#define ACK_WAIT    1u
#define ACK_NOTHING 7u /* TDO high */
#define SCAN_BYTES  8u
#define IR_BYTES    (FTDI_MAX_CHAIN * FTDI_MAX_IR / 8)

/* TMS, first bit lowest, from run-test/idle and back to it. */
#define TMS_TO_SHIFT_DR 0x01u /* 1 0 0 */
#define TMS_TO_SHIFT_IR 0x03u /* 1 1 0 0 */
#define TMS_TO_IDLE     0x01u /* from exit1: 1 0 */

static unsigned scan_bits(const struct ftdi *f)
{
    return ACCESS_BITS + f->chain_count - 1;
}

/* All others are in BYPASS: all ones. The device next to TDO gets the first bits. */
static void put_ir(struct ftdi *f, struct mpsse *m, uint8_t ir)
{
    uint8_t bits[IR_BYTES];
    unsigned total = 0;
    unsigned at = 0;
    for (unsigned k = 0; k < f->chain_count; k++) {
        if (k < f->chain_dap)
            at += f->ir_lengths[k];
        total += f->ir_lengths[k];
    }
    memset(bits, 0xff, sizeof bits);
    for (unsigned k = 0; k < 4; k++) {
        if ((ir >> k & 1) == 0)
            bits[(at + k) / 8] &= (uint8_t) ~(1u << (at + k) % 8);
    }
    mpsse_tms(m, 4, TMS_TO_SHIFT_IR, true, false);
    mpsse_shift(m, bits, total, false);
    mpsse_tms(m, 2, TMS_TO_IDLE, true, false);
    f->ir = ir;
}

static void put_idle(struct mpsse *m, unsigned clocks)
{
    while (clocks > 0) {
        unsigned now = clocks < MPSSE_MAX_TMS ? clocks : MPSSE_MAX_TMS;
        mpsse_tms(m, now, 0, true, false);
        clocks -= now;
    }
}

static void ftdi_jtag_put(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op)
{
    uint8_t ir = ftdi_is_ap(op->request) ? IR_APACC : IR_DPACC;
    uint64_t access = (ftdi_reads(op->request) ? 1u : 0u) |
                      (unsigned)(op->request & DEBUG_REG_MASK) >> 1 | (uint64_t)op->value << 3;
    uint8_t bits[SCAN_BYTES] = {0};
    if (f->ir != ir)
        put_ir(f, m, ir);
    for (unsigned k = 0; k < ACCESS_BITS; k++) {
        if ((access >> k & 1) != 0)
            bits[(f->chain_dap + k) / 8] |= (uint8_t)(1u << (f->chain_dap + k) % 8);
    }
    mpsse_tms(m, 3, TMS_TO_SHIFT_DR, true, false);
    mpsse_shift(m, bits, scan_bits(f), true);
    mpsse_tms(m, 2, TMS_TO_IDLE, true, false);
    put_idle(m, f->idle_clocks);
}

static size_t ftdi_jtag_length(const struct ftdi *f)
{
    return mpsse_shift_length(scan_bits(f));
}

static enum debug_ack ftdi_jtag_take(const struct ftdi *f, const uint8_t *answer, uint32_t *value)
{
    uint8_t bits[SCAN_BYTES] = {0};
    uint64_t scan = 0;
    mpsse_shift_answer(answer, scan_bits(f), bits);
    for (unsigned k = 0; k < SCAN_BYTES; k++)
        scan |= (uint64_t)bits[k] << (8 * k);
    scan >>= f->chain_dap;
    *value = (uint32_t)(scan >> 3);
    switch (scan & 7) {
    case ACK_OK:
        return DEBUG_ACK_OK;
    case ACK_WAIT:
        return DEBUG_ACK_WAIT;
    case 0:
    case ACK_NOTHING:
        return DEBUG_ACK_NONE;
    default:
        return DEBUG_ACK_PROTOCOL;
    }
}

static void ftdi_jtag_put_sequence(struct mpsse *m, unsigned bits, const uint8_t *bytes)
{
    for (unsigned at = 0; at < bits;) {
        unsigned now = bits - at < MPSSE_MAX_TMS ? bits - at : MPSSE_MAX_TMS;
        unsigned value = 0;
        for (unsigned k = 0; k < now; k++)
            value |= (unsigned)(bytes[(at + k) / 8] >> (at + k) % 8 & 1) << k;
        mpsse_tms(m, now, (uint8_t)value, true, false);
        at += now;
    }
}

int ftdi_link_chain(void *self, const uint8_t *ir_lengths, unsigned count, unsigned dap)
{
    struct ftdi *f = self;
    if (count == 0 || count > FTDI_MAX_CHAIN || dap >= count || ir_lengths[dap] < 4)
        return BT_ERR_INVAL;
    for (unsigned k = 0; k < count; k++) {
        if (ir_lengths[k] < 2 || ir_lengths[k] > FTDI_MAX_IR)
            return BT_ERR_INVAL;
    }
    memcpy(f->ir_lengths, ir_lengths, count);
    f->chain_count = count;
    f->chain_dap = dap;
    f->ir = FTDI_IR_UNKNOWN;
    return 0;
}

#define START_PARK     0x81u
#define ACK_BITS       4u /* turnaround, acknowledge */
#define WRITE_ACK_BITS 5u /* ... and turnaround */
#define READ_TAIL_BITS 6u /* of 38: turnaround, acknowledge, data, parity, turnaround */
#define DATA_TAIL_BITS 2u /* of 34: data, parity, turnaround */
#define END_CLOCKS     8u /* for the access to get through inside the port */

static unsigned ftdi_parity(uint32_t value)
{
    value ^= value >> 16;
    value ^= value >> 8;
    value ^= value >> 4;
    return 0x6996u >> (value & 0xf) & 1;
}

static void put_request(struct ftdi *f, struct mpsse *m, uint8_t request)
{
    unsigned bits = request & FTDI_REQUEST_MASK;
    uint8_t byte = (uint8_t)(START_PARK | bits << 1 | ftdi_parity(bits) << 5);
    mpsse_bytes_out(m, &byte, 1);
    ftdi_put_swdio(f, m, false);
}

static void put_zeros(struct mpsse *m, unsigned bits)
{
    static const uint8_t ZEROS[32];
    while (bits >= 8) {
        unsigned bytes = bits / 8 < sizeof ZEROS ? bits / 8 : (unsigned)sizeof ZEROS;
        mpsse_bytes_out(m, ZEROS, bytes);
        bits -= 8 * bytes;
    }
    if (bits > 0)
        mpsse_bits_out(m, bits, 0);
}

static void put_data(struct mpsse *m, uint32_t value)
{
    const uint8_t bytes[] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                             (uint8_t)(value >> 24)};
    mpsse_bytes_out(m, bytes, sizeof bytes);
    mpsse_bits_out(m, 1, (uint8_t)ftdi_parity(value));
}

static void ftdi_swd_put(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op)
{
    put_request(f, m, op->request);
    if (ftdi_reads(op->request)) {
        mpsse_bytes_in(m, 4);
        mpsse_bits_in(m, READ_TAIL_BITS);
        ftdi_put_swdio(f, m, true);
    } else {
        mpsse_bits_in(m, WRITE_ACK_BITS);
        ftdi_put_swdio(f, m, true);
        put_data(m, op->value);
    }
    put_zeros(m, f->idle_clocks);
}

static void ftdi_swd_put_end(struct ftdi *f, struct mpsse *m)
{
    if (f->idle_clocks < END_CLOCKS)
        put_zeros(m, END_CLOCKS - f->idle_clocks);
}

static size_t ftdi_swd_length(const struct ftdi_op *op)
{
    return ftdi_reads(op->request) ? 5 : 1;
}

static enum debug_ack ftdi_swd_take(const struct ftdi_op *op, const uint8_t *answer,
                                    uint32_t *value)
{
    *value = 0;
    if (!ftdi_reads(op->request))
        return debug_ack_of((unsigned)mpsse_bits(answer[0], WRITE_ACK_BITS) >> 1);
    uint64_t bits = bytes_word(answer) | (uint64_t)mpsse_bits(answer[4], READ_TAIL_BITS) << 32;
    enum debug_ack ack = debug_ack_of((unsigned)(bits >> 1));
    *value = (uint32_t)(bits >> 4);
    if (ack == DEBUG_ACK_OK && (bits >> 36 & 1) != ftdi_parity(*value))
        return DEBUG_ACK_PROTOCOL;
    return ack;
}

/* What follows the acknowledge. */
static void put_rest(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op, enum debug_ack ack)
{
    bool refused = ack == DEBUG_ACK_WAIT || ack == DEBUG_ACK_FAULT;
    bool data = ack == DEBUG_ACK_OK || (refused && f->overrun);
    if (data && ftdi_reads(op->request)) {
        mpsse_bytes_in(m, 4);
        mpsse_bits_in(m, DATA_TAIL_BITS);
    } else {
        mpsse_bits_in(m, 1);
    }
    ftdi_put_swdio(f, m, true);
    if (data && !ftdi_reads(op->request))
        put_data(m, ack == DEBUG_ACK_OK ? op->value : 0);
    put_zeros(m, f->idle_clocks);
    ftdi_swd_put_end(f, m);
}

int ftdi_swd_step(struct ftdi *f, const struct ftdi_op *op, enum debug_ack *ack, uint32_t *value)
{
    struct mpsse m;
    ftdi_start(f, &m);
    put_request(f, &m, op->request);
    mpsse_bits_in(&m, ACK_BITS);
    int error = ftdi_run(f, &m);
    if (error != 0)
        return error;
    *ack = debug_ack_of((unsigned)mpsse_bits(f->answer[0], ACK_BITS) >> 1);
    ftdi_start(f, &m);
    put_rest(f, &m, op, *ack);
    error = ftdi_run(f, &m);
    if (error != 0 || *ack != DEBUG_ACK_OK || !ftdi_reads(op->request))
        return error;
    *value = bytes_word(f->answer);
    if ((mpsse_bits(f->answer[4], DATA_TAIL_BITS) & 1) != ftdi_parity(*value))
        *ack = DEBUG_ACK_PROTOCOL;
    return 0;
}

static void ftdi_swd_put_sequence(struct ftdi *f, struct mpsse *m, unsigned bits,
                                  const uint8_t *bytes)
{
    ftdi_put_swdio(f, m, true);
    if (bits >= 8)
        mpsse_bytes_out(m, bytes, bits / 8);
    if (bits % 8 != 0)
        mpsse_bits_out(m, bits % 8, bytes[bits / 8]);
}

void ftdi_put_access(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op)
{
    if (f->wire == DEBUG_WIRE_SWD)
        ftdi_swd_put(f, m, op);
    else
        ftdi_jtag_put(f, m, op);
}

void ftdi_put_end(struct ftdi *f, struct mpsse *m)
{
    if (f->wire == DEBUG_WIRE_SWD)
        ftdi_swd_put_end(f, m);
}

size_t ftdi_access_length(const struct ftdi *f, const struct ftdi_op *op)
{
    return f->wire == DEBUG_WIRE_SWD ? ftdi_swd_length(op) : ftdi_jtag_length(f);
}

enum debug_ack ftdi_take_access(const struct ftdi *f, const struct ftdi_op *op,
                                const uint8_t *answer, uint32_t *value)
{
    return f->wire == DEBUG_WIRE_SWD ? ftdi_swd_take(op, answer, value)
                                     : ftdi_jtag_take(f, answer, value);
}

void ftdi_put_sequence(struct ftdi *f, struct mpsse *m, unsigned bits, const uint8_t *bytes)
{
    if (f->wire == DEBUG_WIRE_SWD)
        ftdi_swd_put_sequence(f, m, bits, bytes);
    else
        ftdi_jtag_put_sequence(m, bits, bytes);
}
