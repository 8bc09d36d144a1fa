/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftdi_mpsse.h"

#include <string.h>

/* Bits of a shift command. */
#define OUT_FALLING 0x01u
#define BIT_MODE    0x02u
#define IN_FALLING  0x04u
#define LSB_FIRST   0x08u
#define WRITE_TDI   0x10u
#define READ_TDO    0x20u
#define WRITE_TMS   0x40u

enum {
    SET_LOW = 0x80,
    READ_LOW = 0x81,
    SET_HIGH = 0x82,
    READ_HIGH = 0x83,
    LOOPBACK_ON = 0x84,
    LOOPBACK_OFF = 0x85,
    SET_DIVISOR = 0x86,
    SEND_IMMEDIATE = 0x87,
    BASE_FAST = 0x8a,
    BASE_SLOW = 0x8b,
    THREE_PHASE_OFF = 0x8d,
    ADAPTIVE_ON = 0x96,
    ADAPTIVE_OFF = 0x97,
};

#define STATUS_BYTES 2u

void mpsse_start(struct mpsse *m, uint8_t *buffer, size_t capacity, bool sample_falling)
{
    *m = (struct mpsse){.bytes = buffer, .capacity = capacity, .sample_falling = sample_falling};
}

/* A command of `head` bytes and data behind it. All of it or nothing. */
static void mpsse_put(struct mpsse *m, const uint8_t *head, size_t head_length, const uint8_t *data,
                size_t length)
{
    if (m->overflow || head_length + length > m->capacity - m->length) {
        m->overflow = true;
        return;
    }
    memcpy(m->bytes + m->length, head, head_length);
    m->length += head_length;
    if (length > 0)
        memcpy(m->bytes + m->length, data, length);
    m->length += length;
}

static uint8_t command_of(const struct mpsse *m, unsigned flags)
{
    if ((flags & (WRITE_TDI | WRITE_TMS)) != 0)
        flags |= OUT_FALLING;
    if ((flags & READ_TDO) != 0 && m->sample_falling)
        flags |= IN_FALLING;
    return (uint8_t)(flags | LSB_FIRST);
}

static void shift_bytes(struct mpsse *m, unsigned flags, const uint8_t *bytes, size_t count)
{
    const uint8_t head[] = {command_of(m, flags), (uint8_t)(count - 1),
                            (uint8_t)((count - 1) >> 8)};
    if (count == 0 || count > MPSSE_MAX_BYTES) {
        m->overflow = true;
        return;
    }
    mpsse_put(m, head, sizeof head, bytes, bytes ? count : 0);
    m->clocks += 8 * (uint64_t)count;
    if ((flags & READ_TDO) != 0)
        m->reply += count;
}

static void shift_bits(struct mpsse *m, unsigned flags, unsigned bits, uint8_t value)
{
    const uint8_t head[] = {command_of(m, flags | BIT_MODE), (uint8_t)(bits - 1), value};
    if (bits == 0 || bits > 8) {
        m->overflow = true;
        return;
    }
    bool writes = (flags & (WRITE_TDI | WRITE_TMS)) != 0;
    mpsse_put(m, head, writes ? 3 : 2, NULL, 0);
    m->clocks += bits;
    if ((flags & READ_TDO) != 0)
        m->reply++;
}

void mpsse_bytes_out(struct mpsse *m, const uint8_t *bytes, size_t count)
{
    shift_bytes(m, WRITE_TDI, bytes, count);
}

void mpsse_bits_out(struct mpsse *m, unsigned bits, uint8_t value)
{
    shift_bits(m, WRITE_TDI, bits, value);
}

void mpsse_bytes_in(struct mpsse *m, size_t count)
{
    shift_bytes(m, READ_TDO, NULL, count);
}

void mpsse_bits_in(struct mpsse *m, unsigned bits)
{
    shift_bits(m, READ_TDO, bits, 0);
}

void mpsse_bytes_both(struct mpsse *m, const uint8_t *bytes, size_t count)
{
    shift_bytes(m, WRITE_TDI | READ_TDO, bytes, count);
}

void mpsse_bits_both(struct mpsse *m, unsigned bits, uint8_t value)
{
    shift_bits(m, WRITE_TDI | READ_TDO, bits, value);
}

void mpsse_tms(struct mpsse *m, unsigned bits, uint8_t value, bool tdi, bool read)
{
    if (bits > MPSSE_MAX_TMS) {
        m->overflow = true;
        return;
    }
    shift_bits(m, WRITE_TMS | (read ? READ_TDO : 0), bits,
               (uint8_t)((value & 0x7f) | (tdi ? 0x80 : 0)));
}

static bool bit_of(const uint8_t *data, unsigned index)
{
    return (data[index / 8] >> index % 8 & 1) != 0;
}

void mpsse_shift(struct mpsse *m, const uint8_t *data, unsigned bits, bool read)
{
    if (bits == 0) {
        m->overflow = true;
        return;
    }
    unsigned bytes = (bits - 1) / 8;
    unsigned rest = (bits - 1) % 8;
    unsigned flags = WRITE_TDI | (read ? READ_TDO : 0);
    if (bytes > 0)
        shift_bytes(m, flags, data, bytes);
    if (rest > 0)
        shift_bits(m, flags, rest, (uint8_t)(data[bytes] & ((1u << rest) - 1)));
    mpsse_tms(m, 1, 1, bit_of(data, bits - 1), read);
}

static void put_simple(struct mpsse *m, uint8_t command)
{
    mpsse_put(m, &command, 1, NULL, 0);
}

static void put_pins(struct mpsse *m, uint8_t command, uint8_t value, uint8_t direction)
{
    const uint8_t bytes[] = {command, value, direction};
    mpsse_put(m, bytes, sizeof bytes, NULL, 0);
}

void mpsse_set_low(struct mpsse *m, uint8_t value, uint8_t direction)
{
    put_pins(m, SET_LOW, value, direction);
}

void mpsse_set_high(struct mpsse *m, uint8_t value, uint8_t direction)
{
    put_pins(m, SET_HIGH, value, direction);
}

void mpsse_read_low(struct mpsse *m)
{
    put_simple(m, READ_LOW);
    m->reply++;
}

void mpsse_read_high(struct mpsse *m)
{
    put_simple(m, READ_HIGH);
    m->reply++;
}

void mpsse_set_clock(struct mpsse *m, bool slow_base, uint16_t divisor)
{
    put_simple(m, slow_base ? BASE_SLOW : BASE_FAST);
    put_pins(m, SET_DIVISOR, (uint8_t)divisor, (uint8_t)(divisor >> 8));
}

void mpsse_adaptive(struct mpsse *m, bool on)
{
    put_simple(m, on ? ADAPTIVE_ON : ADAPTIVE_OFF);
}

void mpsse_three_phase_off(struct mpsse *m)
{
    put_simple(m, THREE_PHASE_OFF);
}

void mpsse_loopback(struct mpsse *m, bool on)
{
    put_simple(m, on ? LOOPBACK_ON : LOOPBACK_OFF);
}

void mpsse_bogus(struct mpsse *m, uint8_t command)
{
    put_simple(m, command);
    m->reply += 2;
}

void mpsse_send_immediate(struct mpsse *m)
{
    put_simple(m, SEND_IMMEDIATE);
}

/* Numbers and answers. */

uint32_t mpsse_clock(uint32_t hz, bool *slow_base, uint16_t *divisor)
{
    const uint64_t most = UINT16_MAX;
    uint64_t wanted = hz ? hz : 1;
    uint32_t base = MPSSE_BASE_HZ;
    uint64_t d = (base + 2 * wanted - 1) / (2 * wanted) - 1;
    *slow_base = d > most;
    if (*slow_base) {
        base = MPSSE_SLOW_BASE_HZ;
        d = (base + 2 * wanted - 1) / (2 * wanted) - 1;
    }
    if (d > most)
        d = most;
    *divisor = (uint16_t)d;
    return (uint32_t)(base / 2 / (1 + d));
}

uint8_t mpsse_bits(uint8_t answer, unsigned bits)
{
    return bits >= 8 ? answer : (uint8_t)(answer >> (8 - bits));
}

size_t mpsse_shift_length(unsigned bits)
{
    return (bits - 1) / 8 + ((bits - 1) % 8 != 0) + 1;
}

void mpsse_shift_answer(const uint8_t *answer, unsigned bits, uint8_t *out)
{
    unsigned bytes = (bits - 1) / 8;
    unsigned rest = (bits - 1) % 8;
    size_t at = bytes;
    memcpy(out, answer, bytes);
    out[bytes] = rest > 0 ? mpsse_bits(answer[at++], rest) : 0;
    out[bytes] |= (uint8_t)(mpsse_bits(answer[at], 1) << rest);
}

size_t mpsse_strip_status(uint8_t *data, size_t length, size_t packet)
{
    size_t kept = 0;
    for (size_t at = 0; at < length && packet > STATUS_BYTES; at += packet) {
        size_t size = length - at < packet ? length - at : packet;
        if (size <= STATUS_BYTES)
            continue;
        memmove(data + kept, data + at + STATUS_BYTES, size - STATUS_BYTES);
        kept += size - STATUS_BYTES;
    }
    return kept;
}

bool mpsse_is_echo(const uint8_t *answer, size_t length, uint8_t *command)
{
    if (length < 2 || answer[length - 2] != MPSSE_ECHO)
        return false;
    *command = answer[length - 1];
    return true;
}
