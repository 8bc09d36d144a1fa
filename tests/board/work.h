/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work for the boards' programs, whatever their core: loops and calls through a pointer. A program
 * that mixes two instruction sets defines WORK_ONE and WORK_OTHER as the attributes of functions in
 * either.
 */
#ifndef TESTS_BOARD_WORK_H
#define TESTS_BOARD_WORK_H

#ifndef WORK_ONE
#define WORK_ONE   __attribute__((noinline))
#define WORK_OTHER __attribute__((noinline))
#endif

WORK_ONE static unsigned checksum(const unsigned char *bytes, unsigned size)
{
    unsigned crc = ~0u;

    while (size--) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

WORK_OTHER static void sort(unsigned *values, int count, int (*before)(unsigned, unsigned))
{
    for (int i = 1; i < count; i++) {
        unsigned value = values[i];
        int j = i;
        while (j > 0 && before(value, values[j - 1])) {
            values[j] = values[j - 1];
            j--;
        }
        values[j] = value;
    }
}

WORK_ONE static int lower(unsigned a, unsigned b)
{
    return a < b;
}

WORK_OTHER static int higher(unsigned a, unsigned b)
{
    return a > b;
}

#endif
