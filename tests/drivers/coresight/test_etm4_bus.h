/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bus with an ETMv4 on one page and an ETB on another, as far as a test of who programs them
 * needs: locks, power, idle, and a check that settings are only written when
 * they are taken. */
#ifndef TESTS_UNIT_TEST_ETM4_BUS_H
#define TESTS_UNIT_TEST_ETM4_BUS_H

#include <string.h>

#include "drivers/coresight/coresight_etm4.h"
#include "tests/support/unit_main.h"

#define ETM4_UNIT  0xe0041000u
#define ETM4_ETB   0xe0043000u
#define ETM4_DEMCR 0xe000edfcu

struct etm4_bus {
    struct coresight_bus bus;
    uint32_t regs[1024]; /* of the unit */
    uint32_t etb[1024];
    uint32_t demcr;
    uint64_t now;
    unsigned writes, early; /* settings, and those written when they are not taken */
    /* How the unit is. */
    bool no_power_control, no_power, lock_stuck, never_idle, never_starts, deaf;
    uint32_t config_mask; /* bits of TRCCONFIGR that it has; RES1 is always set */
    uint64_t fault;       /* an address that the bus refuses; 0: none */
};

static inline uint32_t *etm4_reg(struct etm4_bus *b, unsigned offset)
{
    return &b->regs[offset / 4];
}

static inline bool etm4_is_setting(unsigned offset)
{
    bool trace = offset >= 0x008 && offset < 0x300 && offset != 0x00c;
    return trace || (offset >= 0x400 && offset < 0xf00);
}

/* Why a setting would not be taken now. */
static inline bool etm4_is_open(struct etm4_bus *b)
{
    bool power = b->no_power_control || (*etm4_reg(b, 0x314) & 1) != 0;
    return *etm4_reg(b, 0xfb0) == 0xc5acce55 && power && (*etm4_reg(b, 0x304) & 2) == 0 &&
           (*etm4_reg(b, 0x004) & 1) == 0 && (*etm4_reg(b, 0x00c) & 1) != 0;
}

static inline void etm4_write_unit(struct etm4_bus *b, unsigned offset, uint32_t value)
{
    uint32_t *reg = etm4_reg(b, offset);
    if (etm4_is_setting(offset)) {
        b->writes++;
        b->early += !etm4_is_open(b);
        if (!etm4_is_open(b) || (b->deaf && offset == 0x040))
            return;
    }
    switch (offset) {
    case 0x004:
        *reg = value & 1;
        *etm4_reg(b, 0x00c) =
            (value & 1) != 0 ? (b->never_starts ? 3 : 0) : (b->never_idle ? 2 : 3);
        return;
    case 0x010:
        *reg = (value & b->config_mask) | 1;
        return;
    case 0x034:
        *reg = (*etm4_reg(b, 0x1ec) & 1u << 25) != 0 ? *reg : value;
        return;
    case 0x300:
        *etm4_reg(b, 0x304) = b->lock_stuck ? 0xa : 0x8;
        return;
    case 0x310:
        *reg = b->no_power_control ? 0 : value;
        *etm4_reg(b, 0x314) = (value & 8) != 0 && !b->no_power && !b->no_power_control;
        return;
    default:
        *reg = value;
    }
}

/* Capture is off as soon as it is switched off, and a flush ends at once. */
static inline void etm4_write_etb(struct etm4_bus *b, unsigned offset, uint32_t value)
{
    if (offset == 0x304)
        value &= ~0x40u;
    if (offset == 0x020)
        b->etb[0x300 / 4] = value == 0 ? 2 : 0;
    b->etb[offset / 4] = value;
}

static inline uint32_t *etm4_place(struct etm4_bus *b, uint64_t address)
{
    if (address == ETM4_DEMCR)
        return &b->demcr;
    if ((address & ~0xfffull) == ETM4_ETB)
        return &b->etb[(address & 0xfff) / 4];
    return (address & ~0xfffull) == ETM4_UNIT ? &b->regs[(address & 0xfff) / 4] : NULL;
}

static inline int etm4_bus_refuse(struct coresight_bus *bus, uint64_t address)
{
    bus->failure = DEBUG_FAIL_FAULT;
    bus->fault_address = address;
    return BT_ERR_IO;
}

static inline int etm4_bus_read(struct coresight_bus *bus, uint64_t address, uint32_t *words,
                                size_t count)
{
    struct etm4_bus *b = bus->self;
    for (size_t k = 0; k < count; k++) {
        const uint32_t *place = etm4_place(b, address + 4 * k);
        if (!place || (b->fault != 0 && address + 4 * k == b->fault))
            return etm4_bus_refuse(bus, address + 4 * k);
        words[k] = *place;
    }
    return 0;
}

static inline int etm4_bus_fifo(struct coresight_bus *bus, uint64_t address, uint32_t *words,
                                size_t count)
{
    (void)address;
    (void)bus;
    memset(words, 0, count * sizeof *words);
    return 0;
}

static inline int etm4_bus_write(struct coresight_bus *bus, uint64_t address, const uint32_t *words,
                                 size_t count)
{
    struct etm4_bus *b = bus->self;
    ck_assert_uint_eq(count, 1);
    uint32_t *place = etm4_place(b, address);
    if (!place || (b->fault != 0 && address == b->fault))
        return etm4_bus_refuse(bus, address);
    if ((address & ~0xfffull) == ETM4_UNIT)
        etm4_write_unit(b, (unsigned)(address & 0xfff), words[0]);
    else if ((address & ~0xfffull) == ETM4_ETB)
        etm4_write_etb(b, (unsigned)(address & 0xfff), words[0]);
    else
        *place = words[0];
    return 0;
}

static inline uint64_t etm4_bus_now(void *user)
{
    struct etm4_bus *b = user;
    return b->now += 10;
}

static inline void etm4_bus_sleep(void *user, uint32_t time)
{
    struct etm4_bus *b = user;
    b->now += time;
}

/* CoreSight component, ARM's: PIDR and CIDR. */
static inline void etm4_set_ids(uint32_t *regs, unsigned part, uint8_t type, uint32_t devarch)
{
    static const uint8_t cidr[4] = {0x0d, 0x90, 0x05, 0xb1};
    regs[0xfbc / 4] = devarch;
    regs[0xfcc / 4] = type;
    regs[0xfd0 / 4] = 4;
    regs[0xfe0 / 4] = part & 0xff;
    regs[0xfe4 / 4] = 0xb0 | part >> 8;
    regs[0xfe8 / 4] = 0x0b;
    for (unsigned k = 0; k < 4; k++)
        regs[0xff0 / 4 + k] = cidr[k];
}

/* What a Cortex-M33's says of itself; locked, stopped. */
static inline void etm4_bus_m33(struct etm4_bus *b)
{
    static const struct coresight_bus_ops OPS = {
        .read = etm4_bus_read, .write = etm4_bus_write, .read_fifo = etm4_bus_fifo};
    *b = (struct etm4_bus){.no_power_control = true, .config_mask = 0x1ff9};
    b->bus = (struct coresight_bus){
        .ops = &OPS,
        .self = b,
        .clock = {.now_us = etm4_bus_now, .sleep_us = etm4_bus_sleep, .user = b}};
    etm4_set_ids(b->regs, 0xd21, 0x13, 0x47724a13);
    *etm4_reg(b, 0x00c) = 3;
    *etm4_reg(b, 0x034) = 0xa;
    *etm4_reg(b, 0x1e0) = 0x280006e1;
    *etm4_reg(b, 0x1e4) = 0x4100f420;
    *etm4_reg(b, 0x1e8) = 0x00000004;
    *etm4_reg(b, 0x1ec) = 0x0f090004 & ~0x01000000u; /* period fixed, stall control, threshold 4 */
    *etm4_reg(b, 0x1f0) = 0x00114000;
    *etm4_reg(b, 0x1f4) = 0x90c70004;
    *etm4_reg(b, 0x190) = 1;
    *etm4_reg(b, 0xfb8) = 0xff;
    etm4_set_ids(b->etb, 0x907, 0x21, 0);
    b->etb[1] = 64;
    b->etb[0x300 / 4] = 2;
}

/* A Cortex-A53's: 64 bits, context, power control, OS lock, four pairs of comparators. */
static inline void etm4_bus_a53(struct etm4_bus *b)
{
    etm4_bus_m33(b);
    b->no_power_control = false;
    etm4_set_ids(b->regs, 0x95d, 0x13, 0x47704a13);
    *etm4_reg(b, 0x1e0) = 0x28000ea1;
    *etm4_reg(b, 0x1e4) = 0x4100f402;
    *etm4_reg(b, 0x1e8) = 0x00000488;
    *etm4_reg(b, 0x1ec) = 0x0d7b0004;
    *etm4_reg(b, 0x1f0) = 0x11170004;
    *etm4_reg(b, 0x1f4) = 0x28c7081e;
    *etm4_reg(b, 0x304) = 0xa;
}

#endif
