/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Erasing and programming flash by running a flash algorithm in the RAM of a halted Cortex-M.
 * Open-CMSIS-Pack Specification, "Flash Programming".
 *
 * The algorithm, its stack and buffers take the whole range of RAM that they are given; what was
 * there is lost. Registers are as before when it ends. It is best to reset and halt the core
 * first: the algorithm counts on clocks and watchdogs as they are after a reset.
 *
 * Functions return 0 or
 *   BT_ERR_IO     the core could not be reached, or the algorithm failed
 *   BT_ERR_INVAL  the core is not halted, has software breakpoints; nothing was begun
 *   BT_ERR_RANGE  outside of the flash; the RAM is too small
 *   BT_ERR_NOMEM
 *   or what cortex_m.h says.
 * flash_run_describe() tells in words why.
 */
#ifndef DRIVERS_FLASH_ALGORITHM_RUN_H
#define DRIVERS_FLASH_ALGORITHM_RUN_H

#include "drivers/cortex_m/cortex_m.h"
#include "drivers/flash/flash_algorithm.h"

enum flash_purpose {
    FLASH_FOR_NOTHING,
    FLASH_FOR_ERASE,
    FLASH_FOR_PROGRAM,
    FLASH_FOR_VERIFY,
};

enum flash_failure {
    FLASH_FAIL_NONE,
    FLASH_FAIL_CORE,        /* see cortex_m_describe() */
    FLASH_FAIL_RETURNED,    /* a function returned an error */
    FLASH_FAIL_TIME,        /* a function did not end in its time */
    FLASH_FAIL_CRASHED,     /* a function ended in a fault or somewhere else */
    FLASH_FAIL_RAM,         /* too little RAM */
    FLASH_FAIL_PLACE,       /* RAM at a place that cannot be */
    FLASH_FAIL_OUTSIDE,     /* address outside of the flash */
    FLASH_FAIL_BREAKPOINTS, /* software breakpoints are set */
    FLASH_FAIL_RUNNING,     /* the core is not halted */
    FLASH_FAIL_ORDER,       /* not begun for this */
};

struct flash_run {
    const struct flash_algorithm *algorithm;
    struct cortex_m *core;
    /* Of the last failure. */
    enum flash_failure failure;
    enum flash_function function;
    uint32_t address; /* that it was called for */
    uint32_t result;  /* what it returned; FLASH_FAIL_RAM: bytes that are needed */
    char cause[160];
    /* Private. */
    uint32_t ram_start;
    uint32_t code;
    uint32_t buffers[2];
    uint32_t stack;
    bool placed;
    enum flash_purpose purpose;
    bool called; /* a function runs */
    uint64_t deadline;
    unsigned next_buffer;
    uint32_t catch_before;
    uint32_t registers[CORTEX_M_REGISTERS];
    uint8_t *page; /* one that is not yet programmed */
    uint32_t page_address;
    bool page_used;
};

/*
 * Nothing is sent. `ram_start` is aligned to 8; algorithm and core must outlive the run.
 * BT_ERR_RANGE: FLASH_FAIL_RAM; BT_ERR_INVAL: FLASH_FAIL_PLACE. Release with flash_run_release()
 * also after a failure.
 */
int flash_run_init(struct flash_run *run, const struct flash_algorithm *algorithm,
                   struct cortex_m *core, uint32_t ram_start, uint32_t ram_size);
void flash_run_release(struct flash_run *run);

/* Place the algorithm if that was not done, call its Init for this purpose (UnInit of another one
 * before it). No effect if that is what was begun last. */
int flash_run_begin(struct flash_run *run, enum flash_purpose purpose);

/* After begin for erase: all sectors that the range touches. */
int flash_run_erase(struct flash_run *run, uint32_t address, uint32_t length);

/*
 * After begin for program. Pages are programmed as whole ones, what is not given of them with the
 * value of erased flash. Bytes of one page may come in several calls with rising addresses: a page
 * is programmed when another one begins, or at the end.
 */
int flash_run_program(struct flash_run *run, uint32_t address, const uint8_t *bytes, size_t length);

/* Program what is left, call UnInit, give the core its registers back. Everything is tried; the
 * first failure is returned. */
int flash_run_end(struct flash_run *run);

/* The last failure for people: one line, lower case, without full stop. Returns `text`. */
const char *flash_run_describe(const struct flash_run *run, char *text, size_t size);

#endif
