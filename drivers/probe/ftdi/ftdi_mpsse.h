/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command language of the MPSSE, the shift engine of FTDI's FT2232H, FT4232H and FT232H: a
 * builder of command batches and what is needed to read the answers. Nothing is sent here.
 * AN_108; first steps: AN_135.
 *
 * All shifts are least significant bit first and change TDI and TMS on the falling edge of TCK.
 * A batch belongs to one thread; the buffer it fills stays the caller's.
 */
#ifndef DRIVERS_FTDI_MPSSE_H
#define DRIVERS_FTDI_MPSSE_H

#include "btrace/types.h"

#define MPSSE_BASE_HZ      60000000u
#define MPSSE_SLOW_BASE_HZ 12000000u
#define MPSSE_MAX_BYTES    65536u /* of one byte-wise shift */
#define MPSSE_MAX_TMS      6u     /* TMS bits of one command: 7 are said to fail on old chips */
#define MPSSE_ECHO         0xfau  /* the answer to an unknown command: this, then the command */

/* Pins of the low byte. */
#define MPSSE_PIN_TCK 0x0001u
#define MPSSE_PIN_TDI 0x0002u
#define MPSSE_PIN_TDO 0x0004u
#define MPSSE_PIN_TMS 0x0008u

/* Bits of a shift command. */
#define MPSSE_OUT_FALLING 0x01u
#define MPSSE_BIT_MODE    0x02u
#define MPSSE_IN_FALLING  0x04u
#define MPSSE_LSB_FIRST   0x08u
#define MPSSE_OUT_TDI     0x10u
#define MPSSE_IN_TDO      0x20u
#define MPSSE_OUT_TMS     0x40u

/* Commands: SET, of the low and the high byte of pins, with their value and direction (1: output);
 * READ, answered by a byte. */
enum mpsse_command {
    MPSSE_SET_LOW = 0x80,
    MPSSE_READ_LOW = 0x81,
    MPSSE_SET_HIGH = 0x82,
    MPSSE_READ_HIGH = 0x83,
    MPSSE_LOOPBACK_ON = 0x84,
    MPSSE_LOOPBACK_OFF = 0x85,
    MPSSE_SET_DIVISOR = 0x86,
    MPSSE_SEND_IMMEDIATE = 0x87, /* what was answered goes to USB now: ends each such batch */
    MPSSE_BASE_FAST = 0x8a,
    MPSSE_BASE_SLOW = 0x8b,
    MPSSE_THREE_PHASE_OFF = 0x8d,
    MPSSE_ADAPTIVE_ON = 0x96, /* RTCK on GPIOL3 */
    MPSSE_ADAPTIVE_OFF = 0x97,
};

/* Commands under construction. Once `overflow` is set nothing more is added: the batch is void. */
struct mpsse {
    uint8_t *bytes;
    size_t capacity;
    size_t length;       /* bytes of commands */
    size_t reply;        /* bytes that the engine answers */
    uint64_t clocks;     /* of TCK */
    bool sample_falling; /* read TDO on the falling edge, for long cables at high clocks */
    bool overflow;
};

static inline void mpsse_start(struct mpsse *m, uint8_t *buffer, size_t capacity,
                               bool sample_falling)
{
    *m = (struct mpsse){.bytes = buffer, .capacity = capacity, .sample_falling = sample_falling};
}

/* A command of one byte, answered with `answers` bytes: one that no chip knows by MPSSE_ECHO and
 * itself. */
void mpsse_command(struct mpsse *m, uint8_t command, unsigned answers);

/* A command with two more bytes; not answered. */
void mpsse_command_with(struct mpsse *m, uint8_t command, uint8_t value, uint8_t direction);

/* Shifts of `count` bytes (1..MPSSE_MAX_BYTES) or `bits` (1..8): MPSSE_OUT_TDI, MPSSE_OUT_TMS
 * and MPSSE_IN_TDO in `flags`. */
void mpsse_shift_bytes(struct mpsse *m, unsigned flags, const uint8_t *bytes, size_t count);
void mpsse_shift_bits(struct mpsse *m, unsigned flags, unsigned bits, uint8_t value);

/* Out on TDI: `count` bytes (1..MPSSE_MAX_BYTES), or `bits` (1..8) of a value. */
static inline void mpsse_bytes_out(struct mpsse *m, const uint8_t *bytes, size_t count)
{
    mpsse_shift_bytes(m, MPSSE_OUT_TDI, bytes, count);
}

static inline void mpsse_bits_out(struct mpsse *m, unsigned bits, uint8_t value)
{
    mpsse_shift_bits(m, MPSSE_OUT_TDI, bits, value);
}

/* In from TDO. Answered with `count` bytes, or one byte to be read with mpsse_bits(). */
static inline void mpsse_bytes_in(struct mpsse *m, size_t count)
{
    mpsse_shift_bytes(m, MPSSE_IN_TDO, NULL, count);
}

static inline void mpsse_bits_in(struct mpsse *m, unsigned bits)
{
    mpsse_shift_bits(m, MPSSE_IN_TDO, bits, 0);
}

/* `bits` (1..MPSSE_MAX_TMS) on TMS while TDI keeps one level; with `read` TDO is read, one byte. */
void mpsse_tms(struct mpsse *m, unsigned bits, uint8_t value, bool tdi, bool read);

/*
 * `bits` (at least 1) through the selected register of a TAP in a shift state; TMS is high with the
 * last one, so the TAP stands in exit1 afterwards. With `read` the answer is for
 * mpsse_shift_answer().
 */
void mpsse_shift(struct mpsse *m, const uint8_t *data, unsigned bits, bool read);

/* Base clock and divisor as mpsse_clock() gives them. */
void mpsse_set_clock(struct mpsse *m, bool slow_base, uint16_t divisor);

/*
 * The fastest clock that is not above `hz`. Returns it; *slow_base tells which base clock it needs.
 * Below 92 Hz the slowest clock there is.
 */
uint32_t mpsse_clock(uint32_t hz, bool *slow_base, uint16_t *divisor);

/* The value of a bit-wise read (1..8 bits) from its answer. */
static inline uint8_t mpsse_bits(uint8_t answer, unsigned bits)
{
    return bits >= 8 ? answer : (uint8_t)(answer >> (8 - bits));
}

/* Answer bytes of mpsse_shift(), and the bits in them, bit 0 of out[0] first. `out` has room for
 * all bits. */
static inline size_t mpsse_shift_length(unsigned bits)
{
    return (bits - 1) / 8 + ((bits - 1) % 8 != 0) + 1;
}

void mpsse_shift_answer(const uint8_t *answer, unsigned bits, uint8_t *out);

/*
 * Takes the status bytes out of what one IN transfer delivered: every USB packet of `packet` bytes
 * begins with two. Works in place. Returns how many bytes are left.
 */
size_t mpsse_strip_status(uint8_t *data, size_t length, size_t packet);

/* Does an answer that is shorter than expected end with the echo of an unknown command? */
bool mpsse_is_echo(const uint8_t *answer, size_t length, uint8_t *command);

#endif
