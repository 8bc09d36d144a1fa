/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory as bytes: any alignment, and accesses of a given size. */
#include "mem_ap_internal.h"

#define PART_WORDS (MEM_AP_WRAP / 4)

static unsigned shift_of(uint64_t address)
{
    return 8 * (unsigned)(address & 3);
}

static void put_bytes(uint8_t *bytes, uint32_t value, size_t count)
{
    for (size_t k = 0; k < count; k++)
        bytes[k] = (uint8_t)(value >> (8 * k));
}

static uint32_t get_bytes(const uint8_t *bytes, size_t count)
{
    uint32_t value = 0;
    for (size_t k = 0; k < count; k++)
        value |= (uint32_t)bytes[k] << (8 * k);
    return value;
}

/* How many whole items of `step` bytes of the rest stay within the wrap block. */
static size_t in_block(uint64_t address, size_t step, size_t left)
{
    size_t room = (MEM_AP_WRAP - (size_t)(address % MEM_AP_WRAP)) / step;
    return left < room ? left : room;
}

struct sized {
    struct mem_ap *ap;
    unsigned size;
    bool write;
    bool retry;
};

/* Items that fill whole words, one word an access: words, or packed smaller items. */
static int sized_words(const struct sized *s, uint64_t address, uint8_t *bytes, size_t words)
{
    uint32_t part[PART_WORDS];
    uint32_t mode = s->size == 4   ? CSW_SIZE_WORD | CSW_INC_SINGLE
                    : s->size == 2 ? CSW_SIZE_HALF | CSW_INC_PACKED
                                   : CSW_SIZE_BYTE | CSW_INC_PACKED;
    const struct mem_ap_run run = {
        .address = address, .mode = mode, .step = 4, .write = s->write, .retry = s->retry};
    for (size_t k = 0; k < words; k++)
        part[k] = s->write ? get_bytes(bytes + 4 * k, 4) : 0;
    int rc = mem_ap_run(s->ap, &run, part, words);
    size_t good = rc == 0 ? words : (size_t)(s->ap->fault_address - address) / 4;
    for (size_t k = 0; !s->write && k < good; k++)
        put_bytes(bytes + 4 * k, part[k], 4);
    return rc;
}

/* Items of less than a word, each in its lane. */
static int sized_lanes(const struct sized *s, uint64_t address, uint8_t *bytes, size_t count)
{
    uint32_t part[16];
    uint32_t mode = (s->size == 2 ? CSW_SIZE_HALF : CSW_SIZE_BYTE) | CSW_INC_SINGLE;
    const struct mem_ap_run run = {
        .address = address, .mode = mode, .step = s->size, .write = s->write, .retry = s->retry};
    for (size_t k = 0; k < count; k++)
        part[k] = s->write
                      ? get_bytes(bytes + s->size * k, s->size) << shift_of(address + s->size * k)
                      : 0;
    int rc = mem_ap_run(s->ap, &run, part, count);
    size_t good = rc == 0 ? count : (size_t)(s->ap->fault_address - address) / s->size;
    for (size_t k = 0; !s->write && k < good; k++)
        put_bytes(bytes + s->size * k, part[k] >> shift_of(address + s->size * k), s->size);
    return rc;
}

static int run_sized(const struct sized *s, uint64_t address, uint8_t *bytes, size_t count)
{
    int rc = 0;
    size_t per_word = 4 / s->size;
    bool by_words = s->size == 4 || s->ap->packed;
    while (rc == 0 && count > 0) {
        size_t n;
        if (by_words && address % 4 == 0 && count >= per_word) {
            size_t words = in_block(address, 4, count / per_word);
            rc = sized_words(s, address, bytes, words);
            n = words * per_word;
        } else {
            n = in_block(address, s->size, count);
            if (by_words && n > (4 - address % 4) / s->size)
                n = (4 - (size_t)(address % 4)) / s->size;
            if (n > 16)
                n = 16;
            rc = sized_lanes(s, address, bytes, n);
        }
        address += n * s->size;
        bytes += n * s->size;
        count -= n;
    }
    return rc;
}

static int check_sized(const struct sized *s, uint64_t address, size_t count)
{
    if ((s->size != 1 && s->size != 2 && s->size != 4) || address % s->size != 0)
        return BT_ERR_INVAL;
    if (s->size < 4 && (s->ap->words_only || s->ap->big_endian))
        return BT_ERR_UNSUPPORTED;
    return mem_ap_check(s->ap, address, (uint64_t)count * s->size);
}

int mem_ap_read_sized(struct mem_ap *ap, uint64_t address, unsigned size, uint8_t *bytes,
                      size_t count)
{
    const struct sized s = {.ap = ap, .size = size};
    int rc = check_sized(&s, address, count);
    return rc != 0 ? rc : run_sized(&s, address, bytes, count);
}

int mem_ap_write_sized(struct mem_ap *ap, uint64_t address, unsigned size, const uint8_t *bytes,
                       size_t count)
{
    const struct sized s = {.ap = ap, .size = size, .write = true};
    int rc = check_sized(&s, address, count);
    return rc != 0 ? rc : run_sized(&s, address, (uint8_t *)(uintptr_t)bytes, count);
}

/* Any address, any length. */

/* The part of a word that an AP without smaller accesses can only read as a whole. */
static int read_in_word(struct mem_ap *ap, uint64_t address, uint8_t *bytes, size_t count)
{
    uint32_t word;
    const struct mem_ap_run run = {.address = address & ~3ull,
                                   .mode = CSW_SIZE_WORD | CSW_INC_SINGLE,
                                   .step = 4,
                                   .retry = true};
    int rc = mem_ap_run(ap, &run, &word, 1);
    if (rc == 0)
        put_bytes(bytes, word >> shift_of(address), count);
    else
        ap->fault_address = address;
    return rc;
}

/* Less than a word, within one word: a byte up to the halfword, a halfword, a byte. */
static int mem_ap_edge(const struct sized *like, uint64_t address, uint8_t *bytes, size_t count)
{
    struct sized s = *like;
    if (s.ap->words_only || s.ap->big_endian)
        return s.write ? BT_ERR_UNSUPPORTED : read_in_word(s.ap, address, bytes, count);
    int rc = 0;
    while (rc == 0 && count > 0) {
        s.size = address % 2 == 0 && count >= 2 ? 2 : 1;
        rc = sized_lanes(&s, address, bytes, 1);
        address += s.size;
        bytes += s.size;
        count -= s.size;
    }
    return rc;
}

static int run_any(struct mem_ap *ap, uint64_t address, uint8_t *bytes, size_t length, bool write)
{
    const struct sized s = {.ap = ap, .size = 4, .write = write, .retry = !write};
    size_t to_word = (size_t)(-address & 3);
    size_t head = length < to_word ? length : to_word;
    int rc = mem_ap_check(ap, address, length);
    if (rc == 0 && head > 0)
        rc = mem_ap_edge(&s, address, bytes, head);
    address += head;
    bytes += head;
    length -= head;
    size_t words = length / 4;
    if (rc == 0)
        rc = run_sized(&s, address, bytes, words);
    if (rc == 0 && length % 4 > 0)
        rc = mem_ap_edge(&s, address + 4 * words, bytes + 4 * words, length % 4);
    return rc;
}

int mem_ap_read(struct mem_ap *ap, uint64_t address, uint8_t *bytes, size_t length)
{
    return run_any(ap, address, bytes, length, false);
}

int mem_ap_write(struct mem_ap *ap, uint64_t address, const uint8_t *bytes, size_t length)
{
    return run_any(ap, address, (uint8_t *)(uintptr_t)bytes, length, true);
}
