/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What really ran, for tests: FILE has 4 bytes for each executed instruction (8 where addresses
 * have 64 bits), little-endian address with bit 0 set in T32 state. FILE.log has a line for each
 * other event: number of the instruction that follows, name, details. Cores after the first write
 * FILE.1 and FILE.1.log, and so on.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_TRUTH_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_TRUTH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define BOARD_TRUTH_BUFFER 4096

struct board_truth {
    FILE *instructions; /* NULL: not wanted */
    FILE *log;
    unsigned used;
    unsigned step; /* words of an address: 1 or 2 */
    uint32_t buffer[BOARD_TRUTH_BUFFER];
};

/* `where`: file:PATH, or NULL for none. `wide`: addresses of 64 bits. 0 or -1 (errno). */
int board_truth_open(struct board_truth *t, const char *where, unsigned core, bool wide);
void board_truth_flush(struct board_truth *t);
void board_truth_close(struct board_truth *t);

static inline void board_truth_add(struct board_truth *t, uint64_t address)
{
    t->buffer[t->used] = (uint32_t)address;
    t->buffer[t->used + t->step - 1] = (uint32_t)(address >> 32 * (t->step - 1));
    t->used += t->step;
    if (t->used == BOARD_TRUTH_BUFFER)
        board_truth_flush(t);
}

__attribute__((format(printf, 3, 4))) void board_truth_log(struct board_truth *t, uint64_t index,
                                                           const char *format, ...);

#endif
