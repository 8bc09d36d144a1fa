/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loop in T32 code that goes two ways at random, and the history of an MTB of a few packets that
 * is read at each halt. Its instructions have the same addresses again and again.
 */
#ifndef TESTS_SUPPORT_MTB_LOOP_H
#define TESTS_SUPPORT_MTB_LOOP_H

#include "server/history/btrace_blocks.h"

#define MTB_LOOP_BASE 0x1000u
#define MTB_LOOP_ROOM 6u      /* packets of the buffer */
#define MTB_LOOP_LONG 60u     /* instructions between two halts, at most */
#define MTB_LOOP_MAX  24000u  /* instructions of all */
#define MTB_LOOP_CODE (2 * 6) /* bytes */

struct mtb_loop {
    const uint16_t *program; /* its branches are BNE and B */
    uint8_t code[MTB_LOOP_CODE];
    struct code_image image;
    struct history *history;
    uint32_t pc, seed;
    uint32_t ran[MTB_LOOP_MAX];
    size_t ran_count, branch;           /* index behind the latest branch that was taken */
    uint8_t packets[8 * MTB_LOOP_LONG]; /* since the last halt */
    size_t packet_count;
    unsigned losses;
};

/* `variable` may hold the seed, else it is another one each time; it is printed. */
void mtb_loop_init(struct mtb_loop *r, const uint16_t *program, const char *variable);
void mtb_loop_release(struct mtb_loop *r);

/* Runs up to the next halt, and reads the buffer out. */
void mtb_loop_run(struct mtb_loop *r);

/* At the halt. */
struct btrace_view mtb_loop_view(const struct mtb_loop *r);

#endif
