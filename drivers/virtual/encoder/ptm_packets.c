/* SPDX-License-Identifier: BSD-3-Clause */
#include "ptm_packets.h"

#define CONTINUE 0x80u
#define HAS_INFO 0x40u

/* Address bits below the first transmitted one. */
static unsigned address_shift(enum bt_isa isa)
{
    if (isa == BT_ISA_A32)
        return 2;
    return isa == BT_ISA_JAZELLE ? 0 : 1;
}

unsigned ptm_address_bytes(uint32_t address, uint32_t base, enum bt_isa isa)
{
    uint32_t changed = (address ^ base) >> address_shift(isa);
    unsigned bytes = 1;

    /* The first byte carries 6 bits, a last one 6, others 7. */
    for (unsigned bits = 6; bytes < 5 && changed >> bits; bytes++)
        bits = bytes == 1 ? 12 : bits + 7;
    return bytes;
}

static uint8_t fifth_byte(uint32_t address, enum bt_isa isa)
{
    if (isa == BT_ISA_A32)
        return (uint8_t)(0x08 | address >> 29);
    if (isa == BT_ISA_JAZELLE)
        return (uint8_t)(0x20 | address >> 27);
    return (uint8_t)(0x10 | address >> 28);
}

static size_t put_address(uint8_t *p, uint32_t address, enum bt_isa isa, unsigned bytes, bool info)
{
    uint32_t value = address >> address_shift(isa);

    p[0] = (uint8_t)((value & 0x3f) << 1 | 1);
    value >>= 6;
    for (unsigned i = 1; i < bytes; i++, value >>= 7) {
        p[i - 1] |= CONTINUE;
        p[i] = (uint8_t)(value & (i == bytes - 1 ? 0x3f : 0x7f));
    }
    if (bytes == 5)
        p[4] = fifth_byte(address, isa);
    if (info)
        p[bytes - 1] |= HAS_INFO;
    return bytes;
}

/* Continuation bytes of a count whose low four bits are in a byte before. */
static size_t put_count_rest(uint8_t *p, uint32_t rest)
{
    size_t n = 0;

    for (; rest; rest >>= 7)
        p[n++] = (uint8_t)(rest & 0x7f) | (rest >> 7 ? CONTINUE : 0);
    return n;
}

static size_t ptm_packets_put_count(uint8_t *p, int64_t count)
{
    if (count == PTM_NO_COUNT)
        return 0;
    uint32_t cycles = (uint32_t)count;
    p[0] = (uint8_t)((cycles & 0xf) << 2 | (cycles >> 4 ? 0x40 : 0));
    return 1 + put_count_rest(p + 1, cycles >> 4);
}

static size_t put_little_endian(uint8_t *p, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (uint8_t)(value >> 8 * i);
    return bytes;
}

size_t ptm_put_isync(uint8_t *p, const struct ptm_isync_fields *f)
{
    bool thumb = f->isa != BT_ISA_A32;
    size_t n = 0;

    p[n++] = 0x08;
    n += put_little_endian(p + n, f->address | thumb, 4);
    p[n++] = (uint8_t)(f->reason << 5 | (f->security != BT_SEC_SECURE ? 0x08 : 0) |
                       (f->isa == BT_ISA_T32EE ? 0x04 : 0) |
                       (f->security == BT_SEC_HYP ? 0x02 : 0) | 0x01);
    size_t count_bytes = ptm_packets_put_count(p + n, f->count);
    if (count_bytes && f->count_bit7)
        p[n] |= 0x80;
    n += count_bytes;
    n += put_little_endian(p + n, f->context_id, f->context_id_bytes);
    return n;
}

size_t ptm_put_branch(uint8_t *p, const struct ptm_branch_fields *f)
{
    size_t n = put_address(p, f->address, f->isa, f->address_bytes, f->info_bytes > 0);

    if (f->info_bytes > 0)
        p[n++] =
            (uint8_t)((f->info_bytes > 1 ? CONTINUE : 0) | (f->isa == BT_ISA_T32EE ? 0x40 : 0) |
                      (f->exception & 0xf) << 1 | (f->security != BT_SEC_SECURE ? 0x01 : 0));
    if (f->info_bytes > 1)
        p[n++] = (uint8_t)((f->security == BT_SEC_HYP ? 0x20 : 0) | (f->exception >> 4 & 0x1f));
    return n + ptm_packets_put_count(p + n, f->count);
}

size_t ptm_put_update(uint8_t *p, uint32_t address, enum bt_isa isa, unsigned address_bytes,
                      int alt)
{
    size_t n = 0;

    p[n++] = 0x72;
    n += put_address(p + n, address, isa, address_bytes, alt >= 0);
    if (alt >= 0)
        p[n++] = alt ? 0x40 : 0x00;
    return n;
}

size_t ptm_put_atoms(uint8_t *p, unsigned atoms, unsigned count)
{
    p[0] = (uint8_t)(0x80 | 2u << count | atoms << 1);
    return 1;
}

size_t ptm_put_cycle_atom(uint8_t *p, bool n, uint32_t cycles)
{
    p[0] = (uint8_t)(0x80 | (cycles >> 4 ? 0x40 : 0) | (cycles & 0xf) << 2 | (n ? 0x02 : 0));
    return 1 + put_count_rest(p + 1, cycles >> 4);
}

size_t ptm_put_context_id(uint8_t *p, uint32_t value, unsigned bytes)
{
    p[0] = 0x6e;
    return 1 + put_little_endian(p + 1, value, bytes);
}

size_t ptm_put_timestamp(uint8_t *p, uint64_t raw, unsigned bytes, bool wide, bool clock_changed,
                         int64_t count)
{
    unsigned full = wide ? 9 : 7;
    size_t n = 0;

    p[n++] = clock_changed ? 0x46 : 0x42;
    for (unsigned i = 0; i < bytes; i++, raw >>= 7) {
        if (i == full - 1)
            p[n++] = (uint8_t)(wide ? raw & 0xff : raw & 0x3f);
        else
            p[n++] = (uint8_t)((raw & 0x7f) | (i < bytes - 1 ? CONTINUE : 0));
    }
    return n + ptm_packets_put_count(p + n, count);
}
