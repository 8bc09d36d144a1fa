/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftdi_mpsse.h"

#include <string.h>

#define STATUS_BYTES 2u

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
    if ((flags & (MPSSE_OUT_TDI | MPSSE_OUT_TMS)) != 0)
        flags |= MPSSE_OUT_FALLING;
    if ((flags & MPSSE_IN_TDO) != 0 && m->sample_falling)
        flags |= MPSSE_IN_FALLING;
    return (uint8_t)(flags | MPSSE_LSB_FIRST);
}

void mpsse_shift_bytes(struct mpsse *m, unsigned flags, const uint8_t *bytes, size_t count)
{
    const uint8_t head[] = {command_of(m, flags), (uint8_t)(count - 1),
                            (uint8_t)((count - 1) >> 8)};
    if (count == 0 || count > MPSSE_MAX_BYTES) {
        m->overflow = true;
        return;
    }
    mpsse_put(m, head, sizeof head, bytes, bytes ? count : 0);
    m->clocks += 8 * (uint64_t)count;
    if ((flags & MPSSE_IN_TDO) != 0)
        m->reply += count;
}

void mpsse_shift_bits(struct mpsse *m, unsigned flags, unsigned bits, uint8_t value)
{
    const uint8_t head[] = {command_of(m, flags | MPSSE_BIT_MODE), (uint8_t)(bits - 1), value};
    if (bits == 0 || bits > 8) {
        m->overflow = true;
        return;
    }
    bool writes = (flags & (MPSSE_OUT_TDI | MPSSE_OUT_TMS)) != 0;
    mpsse_put(m, head, writes ? 3 : 2, NULL, 0);
    m->clocks += bits;
    if ((flags & MPSSE_IN_TDO) != 0)
        m->reply++;
}

void mpsse_tms(struct mpsse *m, unsigned bits, uint8_t value, bool tdi, bool read)
{
    if (bits > MPSSE_MAX_TMS) {
        m->overflow = true;
        return;
    }
    mpsse_shift_bits(m, MPSSE_OUT_TMS | (read ? MPSSE_IN_TDO : 0), bits,
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
    unsigned flags = MPSSE_OUT_TDI | (read ? MPSSE_IN_TDO : 0);
    if (bytes > 0)
        mpsse_shift_bytes(m, flags, data, bytes);
    if (rest > 0)
        mpsse_shift_bits(m, flags, rest, (uint8_t)(data[bytes] & ((1u << rest) - 1)));
    mpsse_tms(m, 1, 1, bit_of(data, bits - 1), read);
}

void mpsse_command(struct mpsse *m, uint8_t command, unsigned answers)
{
    mpsse_put(m, &command, 1, NULL, 0);
    m->reply += answers;
}

void mpsse_command_with(struct mpsse *m, uint8_t command, uint8_t value, uint8_t direction)
{
    const uint8_t bytes[] = {command, value, direction};
    mpsse_put(m, bytes, sizeof bytes, NULL, 0);
}

void mpsse_set_clock(struct mpsse *m, bool slow_base, uint16_t divisor)
{
    mpsse_command(m, slow_base ? MPSSE_BASE_SLOW : MPSSE_BASE_FAST, 0);
    mpsse_command_with(m, MPSSE_SET_DIVISOR, (uint8_t)divisor, (uint8_t)(divisor >> 8));
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
