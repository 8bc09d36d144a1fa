/* SPDX-License-Identifier: BSD-3-Clause */
/* Forward execution against what the core really did. */
#ifndef TESTS_REVERSE_ENGINE_FORWARD_H
#define TESTS_REVERSE_ENGINE_FORWARD_H

#include "tests/bench/reverse/engine_path.h"

/*
 * Executes from the run's first state to its end and compares every register that is called known
 * at every position, and RAM at some; with `halts` from states along the way,
 * too, of which all is known or, where they are `lacking`, of AArch64 not all. Prints a line of
 * JSON, and before it, if asked for, `where` all of RAM became unknown, or an instruction was not
 * followed.
 */
void forward_examine(const struct truth *t, const struct path *p, bool fpu, bool where, bool halts,
                     bool lacking);

#endif
