/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a model of debug hardware asks of a core beside GDB: memory as a bus master or the core sees
 * it, registers, comparators, BKPT and vector catch, all while the core runs too; and what its
 * trace unit's registers say. The commands are those of board_control.h.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_DEBUG_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOARD_DEBUG_BYTES 512 /* of memory in one command */
#define BOARD_DEBUG_STOPS 64  /* BKPTs that were met since the machine last stood still */

struct board;
struct board_cpu;

enum board_debug_kind {
    BOARD_DEBUG_NONE,
    BOARD_DEBUG_READ,
    BOARD_DEBUG_WRITE,
    BOARD_DEBUG_GET,
    BOARD_DEBUG_SET,
    BOARD_DEBUG_SET_BREAKPOINT,
    BOARD_DEBUG_CLEAR_BREAKPOINT,
    BOARD_DEBUG_HALTING,
    BOARD_DEBUG_CATCH,
    BOARD_DEBUG_CAUGHT,
    BOARD_DEBUG_ETMCR,
    BOARD_DEBUG_ETMV4,
    BOARD_DEBUG_PACE,
    BOARD_DEBUG_LOAD,
    BOARD_DEBUG_STORE,
    BOARD_DEBUG_TRANSLATE,
    BOARD_DEBUG_CP15_GET,
    BOARD_DEBUG_CP15_SET,
    BOARD_DEBUG_STATE,
};

/* One command, and its answer. */
struct board_debug_order {
    enum board_debug_kind kind;
    char what; /* of a breakpoint: x, r, w or a; of a pace: 0 drops */
    bool failed;
    bool unmapped;    /* the MMU has no address for it, or does not allow it */
    uint32_t address; /* or register, or mask; of an ETMv4 the cycle count threshold */
    uint32_t size;    /* of an ETMv4: TRCSYNCPR */
    uint64_t value;
    uint8_t bytes[BOARD_DEBUG_BYTES];
};

/* Of the whole board; the core's thread, or the machine at rest. */
struct board_debug {
    uint32_t halting; /* cores, a bit each, in which a BKPT stops the machine */
    uint32_t held;    /* those that are in Debug state whatever the machine does */
    uint32_t catch;   /* exceptions, by number, whose entry stops it */
    unsigned caught;  /* that did; 0: none */
    unsigned stop_count;
    /* Where QEMU was given a breakpoint to stop at. */
    struct {
        unsigned vcpu;
        uint32_t address;
    } stops[BOARD_DEBUG_STOPS];
};

/* False: the line is none of these commands. */
bool board_debug_parse(const char *line, struct board_debug_order *order);

/* Does it, in the core's thread. */
void board_debug_run(struct board *b, struct board_cpu *c, struct board_debug_order *order);

/* What the reply says behind the number of bytes. */
void board_debug_reply(const struct board_debug_order *order, char *reply, size_t size);

/*
 * From the callback of a block's first instruction, whose return address is `host`: a BKPT at
 * `address` is in the block, or an exception has just been entered there. Does not return when
 * the machine has to stop at that place.
 */
void board_debug_bkpt(struct board *b, unsigned vcpu, uint32_t address, uintptr_t host);
void board_debug_entered(struct board *b, struct board_cpu *c, uint32_t address, uintptr_t host);

/* The machine has stopped. */
void board_debug_stopped(struct board *b);

#endif
