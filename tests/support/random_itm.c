/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_itm.h"
#include "tests/support/random_next.h"

static unsigned itm_choice(struct random_itm *r, unsigned n)
{
    return (random_next(&r->seed) >> 12) % n;
}

static uint32_t itm_number(struct random_itm *r, unsigned bits)
{
    uint32_t value = random_next(&r->seed) << 16;
    value |= random_next(&r->seed) >> 16;
    return bits == 32 ? value : value & ((1u << bits) - 1);
}

static void itm_put(struct random_itm *r, unsigned byte)
{
    r->bytes[r->size++] = (uint8_t)byte;
}

/* So many groups of seven bits. */
static void itm_put_groups(struct random_itm *r, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++, value >>= 7)
        itm_put(r, (unsigned)(value & 0x7f) | (i + 1 < n ? 0x80 : 0));
}

static void itm_put_source(struct random_itm *r, unsigned id, bool hardware, unsigned bytes,
                           uint64_t value)
{
    itm_put(r, id << 3 | (hardware ? 4 : 0) | (bytes == 4 ? 3 : bytes));
    for (unsigned i = 0; i < bytes; i++)
        itm_put(r, (unsigned)(value >> 8 * i & 0xff));
}

static void itm_make_sync(struct random_itm *r, struct itm_packet *k)
{
    unsigned zeros = 5 + itm_choice(r, 3);
    for (unsigned i = 0; i < zeros; i++)
        itm_put(r, 0);
    itm_put(r, 0x80);
    k->kind = ITM_ASYNC;
    k->value = zeros + 1;
}

static void itm_make_software(struct random_itm *r, struct itm_packet *k)
{
    unsigned port = itm_choice(r, 32);
    k->kind = ITM_SOFTWARE;
    k->bytes = (uint8_t)(1u << itm_choice(r, 3));
    k->value = itm_number(r, 8 * k->bytes);
    k->number = (uint16_t)(32 * r->page + port);
    itm_put_source(r, port, false, k->bytes, k->value);
}

static void itm_make_local(struct random_itm *r, struct itm_packet *k)
{
    k->kind = ITM_LOCAL_TIME;
    if (itm_choice(r, 2)) {
        k->value = 1 + itm_choice(r, 6);
        itm_put(r, (unsigned)k->value << 4);
        return;
    }
    unsigned n = 1 + itm_choice(r, 4);
    k->value = itm_number(r, 7 * n);
    k->relation = (uint8_t)itm_choice(r, 4);
    itm_put(r, 0xc0 | (unsigned)k->relation << 4);
    itm_put_groups(r, k->value, n);
}

static void itm_make_global(struct random_itm *r, struct itm_packet *k)
{
    if (itm_choice(r, 2)) {
        unsigned n = itm_choice(r, 2) ? 4 : 6;
        k->kind = ITM_GLOBAL_HIGH;
        k->bits = n == 4 ? 22 : 38;
        k->value = ((uint64_t)itm_number(r, 32) << 6 | itm_number(r, 6)) >> (n == 4 ? 16 : 0);
        itm_put(r, 0xb4);
        itm_put_groups(r, k->value, n);
        return;
    }
    unsigned n = 1 + itm_choice(r, 4), flags = n == 4 ? itm_choice(r, 4) : 0;
    k->kind = ITM_GLOBAL_LOW;
    k->bits = (uint8_t)(n == 4 ? 26 : 7 * n);
    k->value = itm_number(r, k->bits);
    k->flags = (uint8_t)((flags & 1 ? ITM_CLOCK_CHANGE : 0) | (flags & 2 ? ITM_WRAP : 0));
    itm_put(r, 0x94);
    itm_put_groups(r, k->value | (uint64_t)flags << 26, n);
}

static void itm_make_extension(struct random_itm *r, struct itm_packet *k)
{
    unsigned low = itm_choice(r, 8), hardware = itm_choice(r, 2), n = itm_choice(r, 5);
    uint32_t high = n ? itm_number(r, 7 * n) : 0;
    k->kind = n || hardware ? ITM_EXTENSION : ITM_PAGE;
    k->value = (uint64_t)high << 3 | low;
    k->bits = (uint8_t)(3 + 7 * n);
    k->flags = hardware ? ITM_WRITE : 0;
    if (k->kind == ITM_PAGE)
        r->page = low;
    itm_put(r, (n ? 0x80 : 0) | low << 4 | 8 | hardware << 2);
    itm_put_groups(r, high, n);
}

static void itm_make_core(struct random_itm *r, struct itm_packet *k)
{
    unsigned id = itm_choice(r, 4);
    k->bytes = 1;
    if (id == 0) {
        k->kind = ITM_COUNTERS;
        k->value = itm_number(r, 6);
    } else if (id == 1) {
        k->kind = ITM_EXCEPTION;
        k->bytes = 2;
        k->number = (uint16_t)itm_number(r, 9);
        k->relation = (uint8_t)(1 + itm_choice(r, 3));
        k->value = k->number | (uint64_t)k->relation << 12;
    } else if (id == 2) {
        k->kind = ITM_SAMPLE;
        k->bytes = itm_choice(r, 2) ? 4 : 1;
        k->value = k->bytes == 4 ? itm_number(r, 31) * 2u : itm_choice(r, 2) ? 0xff : 0;
    } else {
        k->kind = ITM_PMU;
        k->value = itm_number(r, 8);
    }
    itm_put_source(r, id, true, k->bytes, k->value);
}

static void itm_make_data(struct random_itm *r, struct itm_packet *k)
{
    unsigned id = 8 + itm_choice(r, 16);
    k->number = id >> 1 & 3;
    k->bytes = (uint8_t)(1u << itm_choice(r, 3));
    if (id >= 16) {
        k->kind = ITM_DATA_VALUE;
        k->flags = id & 1 ? ITM_WRITE : 0;
    } else if (id & 1) {
        k->kind = ITM_DATA_ADDRESS;
    } else {
        k->bytes = itm_choice(r, 2) ? 4 : 1;
        k->kind = k->bytes == 4 ? ITM_DATA_PC : ITM_DATA_MATCH;
    }
    k->value = k->kind == ITM_DATA_MATCH ? 1 : itm_number(r, 8 * k->bytes);
    itm_put_source(r, id, true, k->bytes, k->value);
}

static void itm_make_overflow(struct random_itm *r, struct itm_packet *k)
{
    k->kind = ITM_OVERFLOW;
    itm_put(r, 0x70);
}

void random_itm_make(struct random_itm *r, uint32_t seed, size_t count, unsigned period)
{
    static void (*const makers[])(struct random_itm *, struct itm_packet *) = {
        itm_make_software, itm_make_local, itm_make_global,   itm_make_extension,
        itm_make_core,     itm_make_data,  itm_make_software, itm_make_overflow,
    };
    memset(r, 0, sizeof *r);
    r->seed = seed;
    for (size_t i = 0; i < count && r->size + 16 < RANDOM_ITM_BYTES; i++) {
        struct itm_packet *k = &r->packets[r->count++];
        k->offset = r->size;
        if (i % period == 0)
            itm_make_sync(r, k);
        else
            makers[itm_choice(r, sizeof makers / sizeof *makers)](r, k);
        k->size = (uint16_t)(r->size - k->offset);
    }
}
