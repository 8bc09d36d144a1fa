/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_stm.h"
#include "tests/support/random_next.h"

#include <string.h>

static unsigned stm_choice(struct random_stm *r, unsigned n)
{
    return (random_next(&r->seed) >> 12) % n;
}

static uint64_t stm_value(struct random_stm *r, unsigned bits)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 4; i++)
        value = value << 16 | random_next(&r->seed) >> 16;
    if (stm_choice(r, 8) == 0)
        value = ~(uint64_t)0; /* many ones */
    return bits == 64 ? value : value & (((uint64_t)1 << bits) - 1);
}

static void stm_put(struct random_stm *r, unsigned nibble)
{
    r->bytes[r->nibbles / 2] |= (uint8_t)(nibble << 4 * (r->nibbles & 1));
    r->nibbles++;
}

/* Most significant nibble first. */
static void stm_put_value(struct random_stm *r, uint64_t value, unsigned nibbles)
{
    for (unsigned i = nibbles; i > 0; i--)
        stm_put(r, (unsigned)(value >> 4 * (i - 1) & 0xf));
}

static uint64_t stm_gray(uint64_t value)
{
    return value ^ value >> 1;
}

/* A length that the change needs; now and then a longer one. */
static void stm_put_stamp(struct random_stm *r, struct stm_packet *k)
{
    static const uint8_t bits_of[15] = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64};
    uint64_t before = r->gray ? stm_gray(r->time) : r->time, now;
    unsigned length = 0;
    r->time += stm_choice(r, 4) ? stm_choice(r, 1u << (4 * stm_choice(r, 5))) : stm_value(r, 50);
    now = r->gray ? stm_gray(r->time) : r->time;
    while (bits_of[length] < 64 && before >> bits_of[length] != now >> bits_of[length])
        length++;
    length = !r->timed ? 14 : stm_choice(r, 5) ? length : length + stm_choice(r, 15 - length);
    k->stamp_bits = bits_of[length];
    k->stamp = k->stamp_bits == 64 ? now : now & (((uint64_t)1 << k->stamp_bits) - 1);
    k->time = r->time;
    k->flags |= STM_TIMED | STM_TIME_KNOWN;
    r->timed = true;
    stm_put(r, length);
    stm_put_value(r, k->stamp, k->stamp_bits / 4u);
}

static struct stm_packet *stm_next(struct random_stm *r, enum stm_kind kind)
{
    struct stm_packet *k = &r->packets[r->count++];
    memset(k, 0, sizeof *k);
    k->kind = (uint8_t)kind;
    k->offset = r->nibbles / 2;
    k->phase = r->nibbles & 1;
    return k;
}

static void stm_done(struct random_stm *r, struct stm_packet *k)
{
    k->master = r->master;
    k->channel = r->channel;
    k->size = r->nibbles - 2 * k->offset - k->phase;
}

/* Data of 4 to 64 bits: plain, marked, stamped, both. */
static void stm_make_data(struct random_stm *r)
{
    static const uint8_t opcodes[4][5] = {
        /* 4 bits, 8, 16, 32, 64; above F: behind an F */
        {0xc, 0x4, 0x5, 0x6, 0x7},
        {0x1d, 0x18, 0x19, 0x1a, 0x1b},
        {0x1c, 0x14, 0x15, 0x16, 0x17},
        {0xd, 0x8, 0x9, 0xa, 0xb},
    };
    static const uint8_t widths[5] = {4, 8, 16, 32, 64};
    struct stm_packet *k = stm_next(r, STM_DATA);
    unsigned form = stm_choice(r, 4), size = stm_choice(r, 5), opcode = opcodes[form][size];
    if (opcode > 0xf)
        stm_put(r, 0xf);
    stm_put(r, opcode & 0xf);
    k->bits = widths[size];
    k->value = stm_value(r, k->bits);
    k->flags = form & 1 ? STM_MARKED : 0;
    stm_put_value(r, k->value, k->bits / 4u);
    if (form & 2)
        stm_put_stamp(r, k);
    stm_done(r, k);
}

static void stm_make_flag(struct random_stm *r)
{
    struct stm_packet *k = stm_next(r, STM_FLAG);
    if (stm_choice(r, 2)) {
        stm_put_value(r, 0xfe, 2);
    } else {
        stm_put(r, 0xe);
        stm_put_stamp(r, k);
    }
    stm_done(r, k);
}

static void stm_make_master(struct random_stm *r)
{
    struct stm_packet *k = stm_next(r, STM_MASTER);
    bool wide = stm_choice(r, 4) == 0;
    k->bits = wide ? 16 : 8;
    k->value = stm_value(r, k->bits);
    stm_put_value(r, wide ? 0xf1 : 1, wide ? 2 : 1);
    stm_put_value(r, k->value, k->bits / 4u);
    r->master = (uint16_t)k->value;
    r->channel = 0;
    stm_done(r, k);
}

static void stm_make_channel(struct random_stm *r)
{
    struct stm_packet *k = stm_next(r, STM_CHANNEL);
    bool wide = stm_choice(r, 2);
    k->bits = wide ? 16 : 8;
    k->value = stm_value(r, k->bits);
    stm_put_value(r, wide ? 0xf3 : 3, wide ? 2 : 1);
    stm_put_value(r, k->value, k->bits / 4u);
    r->channel = (uint16_t)((wide ? 0 : r->channel & 0xff00) | k->value);
    stm_done(r, k);
}

static void stm_make_trigger(struct random_stm *r)
{
    struct stm_packet *k = stm_next(r, STM_TRIGGER);
    bool stamped = stm_choice(r, 2);
    k->bits = 8;
    k->value = stm_value(r, 8);
    stm_put_value(r, stamped ? 0xf07 : 0xf06, 3);
    stm_put_value(r, k->value, 2);
    if (stamped)
        stm_put_stamp(r, k);
    stm_done(r, k);
}

static void stm_make_frequency(struct random_stm *r)
{
    struct stm_packet *k = stm_next(r, STM_FREQUENCY);
    k->bits = 32;
    k->value = stm_value(r, 32);
    stm_put_value(r, 0xf08, 3);
    stm_put_value(r, k->value, 8);
    stm_done(r, k);
}

static void stm_make_error(struct random_stm *r)
{
    bool all = stm_choice(r, 2);
    struct stm_packet *k = stm_next(r, all ? STM_GLOBAL_ERROR : STM_MASTER_ERROR);
    k->bits = 8;
    k->value = stm_value(r, 8);
    stm_put_value(r, all ? 0xf2 : 2, all ? 2 : 1);
    stm_put_value(r, k->value, 2);
    r->master = all ? 0 : r->master;
    r->channel = 0;
    stm_done(r, k);
}

static void stm_make_null(struct random_stm *r)
{
    struct stm_packet *k = stm_next(r, STM_NULL);
    stm_put(r, 0);
    stm_done(r, k);
}

static void stm_make_sync(struct random_stm *r)
{
    struct stm_packet *k = stm_next(r, STM_ASYNC);
    for (unsigned i = 0; i < 21; i++)
        stm_put(r, 0xf);
    stm_put(r, 0);
    k->size = 22;
    k = stm_next(r, STM_VERSION);
    k->bits = 4;
    k->value = r->gray ? 4 : 3;
    stm_put_value(r, 0xf00, 3);
    stm_put_value(r, k->value, 1);
    r->master = r->channel = 0;
    r->timed = false; /* the next one is whole: who starts here knows no other */
    stm_done(r, k);
}

void random_stm_make(struct random_stm *r, uint32_t seed, size_t count, unsigned period)
{
    static void (*const makers[])(struct random_stm *) = {
        stm_make_data,    stm_make_data,      stm_make_data,  stm_make_flag, stm_make_master,
        stm_make_channel, stm_make_frequency, stm_make_error, stm_make_null, stm_make_trigger,
    };
    memset(r, 0, sizeof *r);
    r->seed = seed;
    r->gray = stm_choice(r, 2);
    for (size_t i = 0; r->count < count && r->nibbles / 2 + 64 < RANDOM_STM_BYTES; i++) {
        if (i % period == 0)
            stm_make_sync(r);
        makers[stm_choice(r, sizeof makers / sizeof *makers)](r);
    }
    if (r->nibbles & 1)
        stm_make_null(r);
}
