/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv3_packets.h"

/* Continuation bit of addresses, counts and timestamps. */
#define MORE 0x80

static unsigned address_shift(enum bt_isa isa)
{
    return isa == BT_ISA_A32 ? 2 : isa == BT_ISA_JAZELLE ? 0 : 1;
}

static bool is_thumb(enum bt_isa isa)
{
    return isa == BT_ISA_T32 || isa == BT_ISA_T32EE;
}

/* Address bits in a branch packet of n bytes, before shifting (IHI 0014Q 7.3). */
static unsigned bits_supplied(unsigned n, bool alternative)
{
    static const uint8_t original[] = {0, 6, 13, 20, 27, 32};
    static const uint8_t alternate[] = {0, 6, 12, 19, 26, 32};

    return alternative ? alternate[n] : original[n];
}

unsigned etmv3_address_bytes(uint32_t address, uint32_t base, enum bt_isa isa, bool alternative)
{
    uint32_t changed = (address ^ base) >> address_shift(isa);
    unsigned n = 1;

    while (n < 5 && changed >> bits_supplied(n, alternative))
        n++;
    return n;
}

unsigned etmv3_data_address_bytes(uint32_t address, uint32_t base)
{
    uint32_t changed = address ^ base;
    unsigned n = 1;

    while (n < 5 && changed >> 7 * n)
        n++;
    return n;
}

static size_t etmv3_packets_put_word(uint8_t *p, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (uint8_t)(value >> 8 * i);
    return bytes;
}

/* Address bytes of a branch; `five` is the fifth one's state and exception bits. */
static size_t put_address(uint8_t *p, const struct etmv3_branch_fields *f, uint8_t flag)
{
    uint32_t v = f->address >> address_shift(f->isa);
    unsigned last = f->address_bytes - 1;
    unsigned five = 0x08 | (v >> 27 & 7);

    if (is_thumb(f->isa))
        five = 0x10 | (v >> 27 & 15);
    else if (f->isa == BT_ISA_JAZELLE)
        five = 0x20 | (v >> 27 & 31);
    p[0] = (uint8_t)((v & 0x3f) << 1 | 1 | MORE);
    v >>= 6;
    for (unsigned i = 1; i <= last && i < 4; i++, v >>= 7)
        p[i] = (uint8_t)((v & 0x7f) | MORE);
    if (last == 4)
        p[4] = (uint8_t)(five | flag);
    else if (last > 0 && f->alternative)
        p[last] = (uint8_t)((p[last] & 0x3f) | flag);
    else
        p[last] &= (uint8_t)~MORE;
    return f->address_bytes;
}

size_t etmv3_put_branch(uint8_t *p, const struct etmv3_branch_fields *f)
{
    size_t n = put_address(p, f, f->info_bytes ? 0x40 : 0);

    if (f->info_bytes == 0)
        return n;
    p[n++] = (uint8_t)(f->nonsecure | (f->exception & 15) << 1 | (unsigned)f->cancel << 5 |
                       (unsigned)(f->isa == BT_ISA_T32EE) << 6 |
                       (f->info_bytes > 1 || f->has_resume ? MORE : 0));
    if (f->info_bytes > 1)
        p[n++] = (uint8_t)((f->exception >> 4 & 31) | (unsigned)f->hyp << 5 |
                           (f->has_resume ? MORE : 0));
    if (f->has_resume)
        p[n++] = (uint8_t)(0x40 | (f->resume & 15));
    return n;
}

size_t etmv3_put_inline_exception(uint8_t *p, uint32_t address, unsigned code, bool cancel)
{
    const struct etmv3_branch_fields f = {
        .address = address, .isa = BT_ISA_A32, .address_bytes = 5};
    size_t n = put_address(p, &f, 0);

    p[4] = (uint8_t)(MORE | (unsigned)cancel << 6 | code << 3 | address >> 29);
    return n;
}

static size_t etmv3_packets_put_count(uint8_t *p, uint32_t count)
{
    size_t n = 0;

    while (count > 0x7f) {
        p[n++] = (uint8_t)(count | MORE);
        count >>= 7;
    }
    p[n++] = (uint8_t)count;
    return n;
}

size_t etmv3_put_isync(uint8_t *p, const struct etmv3_isync_fields *f)
{
    size_t n = 1;

    p[0] = 0x08;
    if (f->count != ETMV3_NO_COUNT) {
        p[0] = 0x70;
        n += etmv3_packets_put_count(p + n, (uint32_t)f->count);
    }
    n += etmv3_packets_put_word(p + n, f->context_id, f->context_id_bytes);
    /* Bit 0 keeps a zero context ID from imitating an A-sync. */
    p[n] = (uint8_t)(1 | (unsigned)f->hyp << 1 | (unsigned)f->nonsecure << 3 | f->reason << 5);
    if (f->data_only)
        return n + 1;
    p[n++] |= (uint8_t)((unsigned)(f->isa == BT_ISA_T32EE) << 2 |
                        (unsigned)(f->isa == BT_ISA_JAZELLE) << 4 | (unsigned)f->lsip << 7);
    n += etmv3_packets_put_word(p + n, f->address | is_thumb(f->isa), 4);
    if (f->lsip)
        n += etmv3_put_branch(p + n, &f->current);
    return n;
}

size_t etmv3_put_cycle_count(uint8_t *p, uint32_t count)
{
    p[0] = 0x04;
    return 1 + etmv3_packets_put_count(p + 1, count);
}

size_t etmv3_put_context_id(uint8_t *p, uint32_t value, unsigned bytes)
{
    p[0] = 0x6e;
    return 1 + etmv3_packets_put_word(p + 1, value, bytes);
}

size_t etmv3_put_timestamp(uint8_t *p, uint64_t raw, unsigned bytes, bool wide, bool clock_changed)
{
    size_t n = 0;

    p[n++] = clock_changed ? 0x46 : 0x42;
    for (unsigned i = 0; i < bytes; i++, raw >>= 7)
        p[n++] = (uint8_t)((raw & 0x7f) | (i + 1 < bytes ? MORE : 0));
    /* A ninth byte has eight bits of the value, a seventh of seven has six. */
    if (wide && bytes == 9)
        p[n - 1] |= (uint8_t)(raw << 7);
    else if (!wide && bytes == 7)
        p[n - 1] &= 0x3f;
    return n;
}

static size_t put_data_address(uint8_t *p, const struct etmv3_data_fields *f)
{
    for (unsigned i = 0; i < f->address_bytes; i++)
        p[i] = (uint8_t)((f->address >> 7 * i & 0x7f) | (i + 1 < f->address_bytes ? MORE : 0));
    if (f->address_bytes == 5)
        p[4] |= (uint8_t)((unsigned)f->big_endian << 4);
    return f->address_bytes;
}

/* Number of value bytes and its size code, which leaves out leading zeros. */
static unsigned value_bytes(uint32_t value)
{
    return value > 0xffff ? 4 : value > 0xff ? 2 : value != 0;
}

static uint8_t size_code(unsigned bytes)
{
    return (uint8_t)(bytes == 4 ? 3 : bytes);
}

size_t etmv3_put_data(uint8_t *p, const struct etmv3_data_fields *f)
{
    unsigned bytes = f->has_value ? value_bytes(f->value) : 0;
    size_t n = 1;

    p[0] = (uint8_t)(0x02 | (unsigned)f->has_address_bit << 5 | size_code(bytes) << 2);
    n += put_data_address(p + n, f);
    return n + etmv3_packets_put_word(p + n, f->value, bytes);
}

size_t etmv3_put_placeholder(uint8_t *p, unsigned tag, const struct etmv3_data_fields *f)
{
    p[0] = (uint8_t)(0x50 | (unsigned)f->has_address_bit << 5 | tag << 2);
    return 1 + put_data_address(p + 1, f);
}

size_t etmv3_put_late_data(uint8_t *p, unsigned tag, uint32_t value)
{
    unsigned bytes = value_bytes(value);

    p[0] = (uint8_t)(tag << 5 | size_code(bytes) << 2);
    return 1 + etmv3_packets_put_word(p + 1, value, bytes);
}

size_t etmv3_put_not_traced(uint8_t *p, const struct etmv3_data_fields *f)
{
    p[0] = (uint8_t)(0x6a | (unsigned)f->has_address_bit << 4);
    return 1 + put_data_address(p + 1, f);
}
