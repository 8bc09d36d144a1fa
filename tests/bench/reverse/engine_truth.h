/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run really did, as truth_plugin.c wrote it down, and the memory that goes with it. */
#ifndef TESTS_REVERSE_ENGINE_TRUTH_H
#define TESTS_REVERSE_ENGINE_TRUTH_H

#include "tests/bench/reverse/truth_system.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRUTH_STATE_WORDS 17
#define TRUTH_STATE_WIDE  34
#define TRUTH_RAM_SIZE    0x4000u

#define TRUTH_STORE 1u
#define TRUTH_FRAME 2u /* by the core itself, before instruction `index` */

struct truth_access {
    uint32_t index;
    uint32_t address;
    uint16_t size;
    uint16_t flags;
    uint32_t value[2];
};

/* A variable that a debugger would show at a position: in a register, or a word of memory. */
struct truth_local {
    uint32_t position;
    uint32_t where; /* number of the register, or address */
};

struct truth {
    uint32_t (*states)[TRUTH_STATE_WORDS]; /* NULL: AArch64, */
    uint64_t (*wide)[TRUTH_STATE_WIDE];    /* x0-x30, SP, PC, PSTATE */
    uint64_t (*wide_system)[TRUTH_WIDE_WORDS];
    size_t count;                           /* instructions; states[count] is the halt */
    uint32_t (*system)[TRUTH_SYSTEM_WORDS]; /* of each state; NULL: not known */
    struct truth_access *accesses;
    size_t access_count;
    struct truth_local *locals; /* by position; none if the file is missing */
    size_t local_count;
    uint32_t ram_base;
};

/* Files of the folder; ends the program with a message if one is missing. */
void truth_load(struct truth *t, const char *folder, uint32_t ram_base, bool wide);
void truth_release(struct truth *t);

uint32_t truth_pc(const struct truth *t, size_t position);

/* Memory that is moved along the run. */
struct truth_ram {
    const struct truth *truth;
    uint8_t bytes[TRUTH_RAM_SIZE];
    size_t next; /* access */
};

void truth_ram_init(struct truth_ram *ram, const struct truth *t);

/* As it is before instruction `position` runs; forwards only. */
void truth_ram_move(struct truth_ram *ram, size_t position);

/* False outside. */
bool truth_ram_word(const struct truth_ram *ram, uint32_t address, uint32_t *value);

#endif
