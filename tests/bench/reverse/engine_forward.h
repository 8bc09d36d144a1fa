/* SPDX-License-Identifier: BSD-3-Clause */
/* Forward execution against what the core really did. */
#ifndef TESTS_REVERSE_ENGINE_FORWARD_H
#define TESTS_REVERSE_ENGINE_FORWARD_H

#include "tests/bench/reverse/engine_path.h"

/* What was known: a bit for each register at each position; for each word at each
 * FORWARD_MEMORYth. */
#define FORWARD_MEMORY 64
#define FORWARD_WORDS  (TRUTH_RAM_SIZE / 4)
struct forward_known {
    uint16_t *registers;
    uint8_t (*words)[FORWARD_WORDS / 8];
};

/*
 * Executes from the run's first state to its end and compares every register that is called known
 * at every position, and RAM at some; with `halts` from states along the way,
 * too, of which all is known or, where they are `lacking`, of AArch64 not all. Prints a line of
 * JSON, and before it, if asked for, `where` all of RAM became unknown, or an instruction was not
 * followed. `known`: NULL, or to be filled; then it prints nothing.
 */
void forward_examine(const struct truth *t, const struct path *p, bool fpu, bool where, bool halts,
                     bool lacking, struct forward_known *known);

#endif
