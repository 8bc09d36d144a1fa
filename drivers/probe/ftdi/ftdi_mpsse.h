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
#define MPSSE_MAX_HZ       30000000u
#define MPSSE_MAX_BYTES    65536u /* of one byte-wise shift */
#define MPSSE_MAX_TMS      6u     /* TMS bits of one command: 7 are said to fail on old chips */
#define MPSSE_ECHO         0xfau  /* the answer to an unknown command: this, then the command */

/* Pins of the low byte. */
#define MPSSE_PIN_TCK 0x0001u
#define MPSSE_PIN_TDI 0x0002u
#define MPSSE_PIN_TDO 0x0004u
#define MPSSE_PIN_TMS 0x0008u

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

void mpsse_start(struct mpsse *m, uint8_t *buffer, size_t capacity, bool sample_falling);

/* Out on TDI: `count` bytes (1..MPSSE_MAX_BYTES), or `bits` (1..8) of a value. */
void mpsse_bytes_out(struct mpsse *m, const uint8_t *bytes, size_t count);
void mpsse_bits_out(struct mpsse *m, unsigned bits, uint8_t value);

/* In from TDO. Answered with `count` bytes, or one byte to be read with mpsse_bits(). */
void mpsse_bytes_in(struct mpsse *m, size_t count);
void mpsse_bits_in(struct mpsse *m, unsigned bits);

/* Both at once. */
void mpsse_bytes_both(struct mpsse *m, const uint8_t *bytes, size_t count);
void mpsse_bits_both(struct mpsse *m, unsigned bits, uint8_t value);

/* `bits` (1..MPSSE_MAX_TMS) on TMS while TDI keeps one level; with `read` TDO is read, one byte. */
void mpsse_tms(struct mpsse *m, unsigned bits, uint8_t value, bool tdi, bool read);

/*
 * `bits` (at least 1) through the selected register of a TAP in a shift state; TMS is high with the
 * last one, so the TAP stands in exit1 afterwards. With `read` the answer is for
 * mpsse_shift_answer().
 */
void mpsse_shift(struct mpsse *m, const uint8_t *data, unsigned bits, bool read);

/* Value and direction (1: output) of the pins of the low and the high byte. */
void mpsse_set_low(struct mpsse *m, uint8_t value, uint8_t direction);
void mpsse_set_high(struct mpsse *m, uint8_t value, uint8_t direction);

/* Levels of these pins: one byte. */
void mpsse_read_low(struct mpsse *m);
void mpsse_read_high(struct mpsse *m);

/* Base clock and divisor as mpsse_clock() gives them. */
void mpsse_set_clock(struct mpsse *m, bool slow_base, uint16_t divisor);
void mpsse_adaptive(struct mpsse *m, bool on); /* RTCK on GPIOL3 */
void mpsse_three_phase_off(struct mpsse *m);
void mpsse_loopback(struct mpsse *m, bool on);

/* A command that no chip knows: answered with MPSSE_ECHO and itself. */
void mpsse_bogus(struct mpsse *m, uint8_t command);

/* What was answered is handed to USB now. Ends every batch that is answered. */
void mpsse_send_immediate(struct mpsse *m);

/*
 * The fastest clock that is not above `hz`. Returns it; *slow_base tells which base clock it needs.
 * Below 92 Hz the slowest clock there is.
 */
uint32_t mpsse_clock(uint32_t hz, bool *slow_base, uint16_t *divisor);

/* The value of a bit-wise read (1..8 bits) from its answer. */
uint8_t mpsse_bits(uint8_t answer, unsigned bits);

/* Answer bytes of mpsse_shift(), and the bits in them, bit 0 of out[0] first. `out` has room for
 * all bits. */
size_t mpsse_shift_length(unsigned bits);
void mpsse_shift_answer(const uint8_t *answer, unsigned bits, uint8_t *out);

/*
 * Takes the status bytes out of what one IN transfer delivered: every USB packet of `packet` bytes
 * begins with two. Works in place. Returns how many bytes are left.
 */
size_t mpsse_strip_status(uint8_t *data, size_t length, size_t packet);

/* Does an answer that is shorter than expected end with the echo of an unknown command? */
bool mpsse_is_echo(const uint8_t *answer, size_t length, uint8_t *command);

#endif
