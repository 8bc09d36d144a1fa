/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flash of a probe target: the algorithm that the board file names ([flash] algorithm), its
 * regions for GDB's memory map, and the erase, write, done of GDB's packets.
 *
 * Functions return 0 or a bt_error with the reason in `reported`. The core must be halted; while
 * programming is under way its registers are the algorithm's.
 */
#ifndef SERVER_PROBE_TARGET_FLASH_H
#define SERVER_PROBE_TARGET_FLASH_H

#include "drivers/flash/flash_algorithm_run.h"
#include "drivers/target/target.h"
#include "server/base/console.h"
#include "server/config/config.h"

#define PROBE_TARGET_FLASH_REGIONS (FLASH_ALGORITHM_REGIONS + 2)

struct probe_target_flash {
    struct flash_algorithm *algorithm; /* NULL: none is named */
    struct flash_run run;
    bool busy; /* between the first packet and done */
    /* As target_ops.memory_map: flash, and everything else as RAM. */
    struct target_region regions[PROBE_TARGET_FLASH_REGIONS];
    unsigned region_count;
    char reported[200]; /* the last refusal */
};

/* Reads the algorithm's file, if one is named. *why is filled on error. `core` must outlive it;
 * NULL: there is none that runs algorithms, so none may be named. */
int probe_target_flash_open(struct probe_target_flash *f, const struct config *config,
                            struct cortex_m *core, struct message *why);
void probe_target_flash_close(struct probe_target_flash *f);

/* For --check-config: the algorithm that is named, if one is, can be read and fits its RAM. *why is
 * filled on error. */
int probe_target_flash_check(const struct config *config, struct message *why);

/* After a failure the core has its registers back, and it is to begin with erase again. */
int probe_target_flash_erase(struct probe_target_flash *f, uint64_t address, uint64_t length);
int probe_target_flash_write(struct probe_target_flash *f, uint64_t address, const void *bytes,
                             size_t len);
int probe_target_flash_done(struct probe_target_flash *f);

/* Ends what a client has left unfinished. */
void probe_target_flash_abandon(struct probe_target_flash *f);

/* A line on what can be programmed. */
void probe_target_flash_report(const struct probe_target_flash *f, const struct console *c);

#endif
