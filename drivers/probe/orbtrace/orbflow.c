/* SPDX-License-Identifier: BSD-3-Clause */
#include "orbflow.h"

#include <string.h>

#define DELIMITER  0x00u
#define LONG_GROUP 0xffu /* 254 bytes, no zero behind them */
#define LEAST      3u    /* tag, one byte of payload, checksum */

#define BYTES_OF_PAIRS 0x00ff00ff00ff00ffu

static const char MAGIC[] = "%%ORBFLOW1.0.0%%"; /* at the start of files */
#define MAGIC_LENGTH (sizeof MAGIC - 1)
#define NO_MAGIC     UINT32_MAX

void orbflow_init(struct orbflow *o)
{
    *o = (struct orbflow){.resyncing = true};
}

void orbflow_begin(struct orbflow *o)
{
    o->resyncing = false;
    o->zero_due = false;
    o->left = 0;
    o->used = 0;
}

void orbflow_discontinuity(struct orbflow *o)
{
    orbflow_begin(o);
    o->resyncing = true;
    o->magic = NO_MAGIC;
}

/* Eight at a time: every second one has a sum of its own, with room for the carry. */
static uint8_t orbflow_sum(const uint8_t *data, size_t length)
{
    uint64_t sums = 0, eight;
    uint8_t sum = 0;
    for (; length >= sizeof eight; data += sizeof eight, length -= sizeof eight) {
        memcpy(&eight, data, sizeof eight);
        sums += (eight & BYTES_OF_PAIRS) + (eight >> 8 & BYTES_OF_PAIRS);
        sums &= BYTES_OF_PAIRS;
    }
    for (; sums; sums >>= 16)
        sum = (uint8_t)(sum + sums);
    while (length--)
        sum = (uint8_t)(sum + *data++);
    return sum;
}

static void end_packet(struct orbflow *o, const struct orbflow_sink *sink)
{
    uint8_t sum = orbflow_sum(o->packet, o->used);
    uint8_t tag = o->packet[0];
    if (o->used >= LEAST && sum == 0 && tag > 0 && tag <= ORBFLOW_TAG_MAX) {
        sink->packet(sink->user, tag, o->packet + 1, o->used - 2);
    } else if (o->used > 0) {
        sink->damaged(sink->user);
    }
    orbflow_begin(o);
}

/* False: the packet is longer than any that is meant. */
static bool orbflow_append(struct orbflow *o, const uint8_t *data, size_t length)
{
    if (length > sizeof o->packet - o->used)
        return false;
    memcpy(o->packet + o->used, data, length);
    o->used += length;
    return true;
}

/* Bytes of a group: returns how many were taken. */
static size_t take_group(struct orbflow *o, const uint8_t *data, size_t length,
                         const struct orbflow_sink *sink)
{
    size_t n = length < o->left ? length : o->left;
    const uint8_t *zero = memchr(data, DELIMITER, n);
    if (zero || !orbflow_append(o, data, n)) {
        /* It may be this zero that is wrong, so the packet behind it is not trusted either. */
        sink->damaged(sink->user);
        orbflow_discontinuity(o);
        return zero ? (size_t)(zero - data) + 1 : n;
    }
    o->left = (uint8_t)(o->left - n);
    return n;
}

static void take_code(struct orbflow *o, uint8_t code, const struct orbflow_sink *sink)
{
    static const uint8_t ZERO = 0;
    if (code == DELIMITER) {
        end_packet(o, sink);
        return;
    }
    if (o->zero_due && !orbflow_append(o, &ZERO, 1)) {
        sink->damaged(sink->user);
        orbflow_discontinuity(o);
        return;
    }
    o->left = (uint8_t)(code - 1);
    o->zero_due = code != LONG_GROUP;
}

/* Up to and including the next delimiter: returns how many bytes that are. */
static size_t orbflow_resync(struct orbflow *o, const uint8_t *data, size_t length)
{
    if (o->magic < MAGIC_LENGTH) {
        o->magic = *data == (uint8_t)MAGIC[o->magic] ? o->magic + 1 : NO_MAGIC;
        if (o->magic == MAGIC_LENGTH)
            orbflow_begin(o);
        if (o->magic != NO_MAGIC)
            return 1;
    }
    const uint8_t *zero = memchr(data, DELIMITER, length);
    if (!zero)
        return length;
    orbflow_begin(o);
    return (size_t)(zero - data) + 1;
}

void orbflow_feed(struct orbflow *o, const uint8_t *data, size_t length,
                  const struct orbflow_sink *sink)
{
    while (length > 0) {
        size_t n = 1;
        if (o->resyncing)
            n = orbflow_resync(o, data, length);
        else if (o->left > 0)
            n = take_group(o, data, length, sink);
        else
            take_code(o, *data, sink);
        data += n;
        length -= n;
    }
}
