/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The walk of ROM tables over a bus made of the input: 8 bytes of BASE, then records of 8 bytes,
 * address and value. What no record names reads as identification registers of a table, zero, or a
 * fault, by the address.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/coresight/coresight.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *records;
    size_t count;
    unsigned reads;
};

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Identification of a class 1 table at the end of each page. */
static uint32_t default_word(uint32_t address)
{
    static const uint8_t ids[12] = {4, 0, 0, 0, 0xc4, 0xb4, 0x0b, 0, 0x0d, 0x10, 0x05, 0xb1};
    uint32_t offset = address & 0xfff;
    return offset >= 0xfd0 ? ids[(offset - 0xfd0) / 4] : 0;
}

static int read_words(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    struct input *in = bus->self;
    for (size_t k = 0; k < count; k++) {
        uint32_t at = (uint32_t)(address + 4 * k);
        if (address % 4 != 0)
            abort();
        if (++in->reads > 200000)
            abort(); /* the walk is bounded */
        if ((at >> 28) == 7) {
            bus->failure = DEBUG_FAIL_FAULT;
            return BT_ERR_IO;
        }
        words[k] = default_word(at);
        for (size_t r = 0; r < in->count; r++) {
            if (get32(in->records + 8 * r) == at)
                words[k] = get32(in->records + 8 * r + 4);
        }
    }
    return 0;
}

static int write_words(struct coresight_bus *bus, uint64_t address, const uint32_t *words,
                       size_t count)
{
    (void)bus;
    (void)address;
    (void)words;
    (void)count;
    abort(); /* a walk writes nothing */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct coresight_bus_ops OPS = {
        .read = read_words, .write = write_words, .read_fifo = read_words};
    struct coresight_component list[32];
    if (size < 8)
        return 0;
    struct input in = {.records = data + 8, .count = (size - 8) / 8};
    if (in.count > 64)
        in.count = 64;
    struct coresight_bus bus = {.ops = &OPS, .self = &in};
    int n = coresight_scan(&bus, (uint64_t)get32(data + 4) << 32 | get32(data), list, 32);
    if (n > 32)
        abort();
    for (int k = 0; k < n; k++) {
        (void)coresight_kind_of(&list[k]);
        for (int other = 0; other < k; other++) {
            if (list[other].base == list[k].base)
                abort(); /* each component once */
        }
    }
    return 0;
}
