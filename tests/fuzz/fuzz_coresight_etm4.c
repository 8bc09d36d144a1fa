/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ETMv4 whose registers answer what the input says: 10 bytes of options, then records of 8
 * bytes: offset, how often that answer is given, value. Registers without a record keep what is
 * written. Whatever a unit says, nothing outside its page is accessed, the number of accesses is
 * bounded, and it is not switched on unless everything before that went well.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/coresight/coresight_etm4.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE         0xe0041000u
#define HEAD         10u
#define MAX_ACCESSES 20000u

struct unit {
    uint32_t regs[1024];
    const uint8_t *records;
    size_t count;
    uint8_t given[256]; /* how often each record has answered */
    unsigned accesses;
    uint64_t now;
    bool on;
};

static unsigned get16(const uint8_t *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static uint32_t get32(const uint8_t *p)
{
    return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static unsigned place(struct unit *u, uint64_t address)
{
    if (address < BASE || address >= BASE + 0x1000 || address % 4 != 0)
        abort();
    if (++u->accesses > MAX_ACCESSES)
        abort();
    return (unsigned)(address - BASE);
}

/* 0: a fault; else *value is set. */
static bool answer(struct unit *u, unsigned offset, uint32_t *value)
{
    *value = u->regs[offset / 4];
    for (size_t k = 0; k < u->count; k++) {
        const uint8_t *r = u->records + 8 * k;
        unsigned times = get16(r + 2);
        if ((get16(r) & 0xffc) != offset || (times != 0 && u->given[k] >= (times & 0x7f)))
            continue;
        u->given[k] += u->given[k] < UINT8_MAX;
        *value = get32(r + 4);
        return (get16(r) & 1) == 0;
    }
    return true;
}

static int read_words(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (!answer(bus->self, place(bus->self, address + 4 * k), &words[k])) {
            bus->failure = DEBUG_FAIL_FAULT;
            bus->fault_address = address + 4 * k;
            return BT_ERR_IO;
        }
    }
    return 0;
}

static int write_words(struct coresight_bus *bus, uint64_t address, const uint32_t *words,
                       size_t count)
{
    struct unit *u = bus->self;
    unsigned offset = place(u, address);
    if (count != 1)
        abort();
    if (u->on && offset != 0x004)
        abort(); /* settings while it runs */
    if (offset == 0x004)
        u->on = words[0] != 0;
    u->regs[offset / 4] = words[0];
    if (offset == 0x004)
        u->regs[0x00c / 4] = words[0] != 0 ? 0 : 3;
    if (offset == 0x310)
        u->regs[0x314 / 4] = words[0] >> 3 & 1;
    return 0;
}

static uint64_t now_us(void *user)
{
    struct unit *u = user;
    return u->now += 10;
}

static void sleep_us(void *user, uint32_t time)
{
    struct unit *u = user;
    u->now += time;
}

static struct coresight_etm4_options options_of(const uint8_t *p)
{
    struct coresight_etm4_options o = {.trace_id = p[0],
                                       .config = get32(p + 1),
                                       .stall = get16(p + 5),
                                       .cycle_threshold = p[7],
                                       .sync_log2 = p[8] & 0x1f,
                                       .range_count = p[9] % (CORESIGHT_ETM4_RANGES + 1)};
    for (unsigned k = 0; k < o.range_count; k++)
        o.ranges[k] = (struct coresight_etm4_range){
            .first = 0x1000u * k, .last = 0x1000u * k + 0xff, .exclude = (p[9] >> k & 1) != 0};
    return o;
}

static void check(const struct unit *u, const struct coresight_etm4_options *o,
                  const struct coresight_etm4_state *s, int rc)
{
    if ((rc == 0) != s->enabled || (rc == 0 && s->failure != CORESIGHT_ETM4_FINE))
        abort();
    if (u->on && rc != 0 && s->failure != CORESIGHT_ETM4_STUCK && rc != BT_ERR_IO)
        abort(); /* switched on in spite of an error */
    if (rc == 0 &&
        ((s->trace_id & 0x7f) != o->trace_id || o->range_count > coresight_etm4_ranges(s)))
        abort();
    if (coresight_etm4_sync_bytes(s) > 1u << 20 || coresight_etm4_version(s) > 15)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct coresight_bus_ops OPS = {
        .read = read_words, .write = write_words, .read_fifo = read_words};
    struct coresight_etm4_state state;
    if (size < HEAD)
        return 0;
    struct unit u = {.records = data + HEAD, .count = (size - HEAD) / 8};
    if (u.count > sizeof u.given)
        u.count = sizeof u.given;
    u.regs[0x00c / 4] = 3;
    u.regs[0x1e4 / 4] = 0x4100f420;
    struct coresight_bus bus = {
        .ops = &OPS, .self = &u, .clock = {.now_us = now_us, .sleep_us = sleep_us, .user = &u}};
    const struct coresight_etm4_options o = options_of(data);
    check(&u, &o, &state, coresight_etm4_start(&bus, BASE, &o, &state));
    (void)coresight_etm4_runs(&bus, BASE, &state);
    u.on = false; /* whoever stops it opens the lock first */
    (void)coresight_etm4_stop(&bus, BASE, &state);
    if (coresight_etm4_read(&bus, BASE, &state) == 0 && !state.devarch && state.idr[1] == 0)
        abort(); /* taken for an ETMv4 without a word of it */
    return 0;
}
