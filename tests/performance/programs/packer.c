/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops: a random text is compressed by references to earlier parts of itself, restored and
 * compared byte for byte and by checksum; then its words of four bytes are sorted
 * in a heap. */
#include "tests/performance/programs/work.h"

#define TEXT_SIZE  4096
#define PACKED_MAX (TEXT_SIZE + TEXT_SIZE / 8 + 1)
#define HEADS      512 /* a power of two */
#define MATCH_MIN  3u
#define MATCH_MAX  (MATCH_MIN + 255)
#define TRIES      8
#define WORDS      (TEXT_SIZE / 4)

static unsigned char text[TEXT_SIZE], restored[TEXT_SIZE], packed[PACKED_MAX];
static unsigned short heads[HEADS], earlier[TEXT_SIZE]; /* places + 1; 0: none */
static unsigned heap[WORDS];

static void make_text(unsigned seed)
{
    static const char sounds[] = "ta ke mi no ra su hiba deko ";

    for (unsigned i = 0; i < TEXT_SIZE;) {
        unsigned chance = next_random(&seed);
        unsigned from = chance >> 8, count = 2 + (chance >> 4) % 11;
        if (chance % 4 == 0 || i < 64) /* a new word, otherwise something once more */
            while (count-- && i < TEXT_SIZE)
                text[i++] = (unsigned char)sounds[from++ % (sizeof sounds - 1)];
        else
            for (from %= i - 16; count-- && i < TEXT_SIZE;)
                text[i++] = text[from++];
    }
}

static unsigned checksum(const unsigned char *bytes, unsigned size)
{
    unsigned a = 1, b = 0;

    for (unsigned i = 0; i < size; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static unsigned hash(const unsigned char *at)
{
    return (at[0] * 33u * 33u + at[1] * 33u + at[2]) * 2654435761u >> 23 & (HEADS - 1);
}

static void remember(unsigned at)
{
    unsigned h;

    if (at + MATCH_MIN > TEXT_SIZE)
        return;
    h = hash(text + at);
    earlier[at] = heads[h];
    heads[h] = (unsigned short)(at + 1);
}

/* The longest of the latest few that begin alike. */
static unsigned find_match(unsigned at, unsigned *from)
{
    unsigned best = 0, most = TEXT_SIZE - at < MATCH_MAX ? TEXT_SIZE - at : MATCH_MAX;

    if (most < MATCH_MIN)
        return 0;
    unsigned place = heads[hash(text + at)];
    for (unsigned tries = TRIES; place && tries; place = earlier[place - 1], tries--) {
        unsigned size = 0;
        while (size < most && text[place - 1 + size] == text[at + size])
            size++;
        if (size > best) {
            best = size;
            *from = place - 1;
        }
    }
    return best >= MATCH_MIN ? best : 0;
}

/* Eight flags in a byte; each stands for one byte as it is, or for place and size of a match. */
static unsigned pack(void)
{
    unsigned out = 0, flags = 0, bit = 8;

    for (unsigned i = 0; i < HEADS; i++)
        heads[i] = 0;
    for (unsigned at = 0; at < TEXT_SIZE;) {
        unsigned from = 0, size = find_match(at, &from);
        if (bit == 8) {
            flags = out;
            packed[out++] = 0;
            bit = 0;
        }
        if (size) {
            packed[flags] |= (unsigned char)(1u << bit);
            packed[out++] = (unsigned char)(from >> 8);
            packed[out++] = (unsigned char)from;
            packed[out++] = (unsigned char)(size - MATCH_MIN);
        } else {
            packed[out++] = text[at];
            size = 1;
        }
        bit++;
        while (size--)
            remember(at++);
    }
    return out;
}

static unsigned unpack(unsigned size)
{
    unsigned out = 0, flags = 0, bit = 8;

    for (unsigned at = 0; at < size;) {
        if (bit == 8) {
            flags = packed[at++];
            bit = 0;
        }
        if (flags >> bit++ & 1) {
            unsigned from = (unsigned)packed[at] << 8 | packed[at + 1];
            unsigned count = packed[at + 2] + MATCH_MIN;
            for (at += 3; count-- && out < TEXT_SIZE;)
                restored[out++] = restored[from++];
        } else if (out < TEXT_SIZE) {
            restored[out++] = packed[at++];
        }
    }
    return out;
}

static void sink(unsigned at, unsigned count)
{
    unsigned value = heap[at];

    for (unsigned child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= value)
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

/* Of the restored text, as it was before; so the sum must be that of the original. */
static bool sort_words(void)
{
    unsigned before = 0, after = 0;

    for (unsigned i = 0; i < WORDS; i++) {
        heap[i] = (unsigned)restored[4 * i] << 24 | (unsigned)restored[4 * i + 1] << 16 |
                  (unsigned)restored[4 * i + 2] << 8 | restored[4 * i + 3];
        before += heap[i];
    }
    for (unsigned i = WORDS / 2; i--;)
        sink(i, WORDS);
    for (unsigned count = WORDS; --count;) {
        unsigned largest = heap[0];
        heap[0] = heap[count];
        heap[count] = largest;
        sink(0, count);
    }
    for (unsigned i = 0; i < WORDS; i++) {
        if (i && heap[i] < heap[i - 1])
            return false;
        after += heap[i];
    }
    return before == after;
}

bool work(unsigned seed)
{
    unsigned size;

    make_text(seed * 2654435761u | 1);
    size = pack();
    if (size >= TEXT_SIZE || unpack(size) != TEXT_SIZE)
        return false;
    for (unsigned i = 0; i < TEXT_SIZE; i++)
        if (restored[i] != text[i])
            return false;
    return checksum(restored, TEXT_SIZE) == checksum(text, TEXT_SIZE) && sort_words();
}
