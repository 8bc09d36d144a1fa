/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/fuzz_unit.h"

#include <stdlib.h>
#include <string.h>

#define RECORD       8u
#define MAX_ACCESSES 20000u

/* The offset of an access to the page; 0x1000 and up: to the store. */
static unsigned place(struct fuzz_unit *u, uint64_t address, size_t count)
{
    if (address % 4 != 0 || count == 0 || ++u->accesses > MAX_ACCESSES)
        abort();
    if (address >= u->base && address + 4 * (uint64_t)count <= u->base + 0x1000)
        return (unsigned)(address - u->base);
    if (address < u->store || address + 4 * (uint64_t)count > u->store + u->store_bytes)
        abort();
    return 0x1000u + (unsigned)(address - u->store);
}

/* False: a fault; else *value is set. */
static bool answer(struct fuzz_unit *u, unsigned offset, uint32_t *value)
{
    *value = offset < 0x1000 ? u->regs[offset / 4] : offset * 0x9e3779b1u;
    for (size_t k = 0; k < u->count; k++) {
        const uint8_t *r = u->records + RECORD * k;
        unsigned times = fuzz_get16(r + 2);
        if ((fuzz_get16(r) & 0x1ffc) != offset || (times != 0 && u->given[k] >= (times & 0x7f)))
            continue;
        u->given[k] += u->given[k] < UINT8_MAX;
        *value = fuzz_get32(r + 4);
        return (fuzz_get16(r) & 1) == 0;
    }
    return true;
}

static int fail(struct coresight_bus *bus, uint64_t address)
{
    bus->failure = DEBUG_FAIL_FAULT;
    bus->fault_address = address;
    return BT_ERR_IO;
}

static int read_words(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    unsigned offset = place(bus->self, address, count);
    for (size_t k = 0; k < count; k++) {
        if (!answer(bus->self, offset + 4 * (unsigned)k, &words[k]))
            return fail(bus, address + 4 * k);
    }
    return 0;
}

static int read_fifo(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    unsigned offset = place(bus->self, address, 1);
    for (size_t k = 0; k < count; k++) {
        if (!answer(bus->self, offset, &words[k]))
            return fail(bus, address);
    }
    return 0;
}

static int write_words(struct coresight_bus *bus, uint64_t address, const uint32_t *words,
                       size_t count)
{
    struct fuzz_unit *u = bus->self;
    unsigned offset = place(u, address, count);
    if (count != 1 || offset >= 0x1000)
        abort();
    u->regs[offset / 4] = words[0];
    if (u->wrote)
        u->wrote(u, offset);
    return 0;
}

static uint64_t now_us(void *user)
{
    struct fuzz_unit *u = user;
    return u->now += 10;
}

static void sleep_us(void *user, uint32_t time)
{
    struct fuzz_unit *u = user;
    u->now += time;
}

void fuzz_unit_init(struct fuzz_unit *u, uint64_t base, const uint8_t *data, size_t size)
{
    static const struct coresight_bus_ops OPS = {
        .read = read_words, .write = write_words, .read_fifo = read_fifo};
    memset(u, 0, sizeof *u);
    u->base = base;
    u->records = data;
    u->count = size / RECORD < sizeof u->given ? size / RECORD : sizeof u->given;
    u->bus = (struct coresight_bus){
        .ops = &OPS, .self = u, .clock = {.now_us = now_us, .sleep_us = sleep_us, .user = u}};
}
