/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reverse execution of a live target: registers and memory of the halted cores, read from the
 * target when values are to be reconstructed, and kept until the cores run.
 */
#ifndef SERVER_LIVE_REVERSE_H
#define SERVER_LIVE_REVERSE_H

#include "protocol/session/gdb_session.h"
#include "server/reverse/reverse_motion.h"

#include <uv.h>

#define LIVE_REVERSE_LINE   256u  /* bytes of memory read at a time */
#define LIVE_REVERSE_LINES  4096u /* kept at one halt */
#define LIVE_REVERSE_MISSES 64u   /* asked for at a time */

struct live;
struct live_client;

struct live_reverse_line {
    uint32_t address;
    uint16_t core;
    uint16_t length; /* readable from the start on */
    uint8_t bytes[LIVE_REVERSE_LINE];
};

/* What reads registers and memory for one core. */
struct live_reverse_core {
    struct live *live;
    int core;
    struct target_regs regs;
    bool asked; /* for the registers, at this halt */
    bool reported;
    bool program_known; /* `program` is valid */
    struct reverse_program program;
};

struct live_reverse_misses {
    uint32_t lines[LIVE_REVERSE_MISSES];
    size_t count;
    size_t waiting; /* answers to come */
};

/* Who reads memory for values: a core that a client replays. */
struct live_reverse_reader {
    struct live_client *client;
    int core;
};

struct live_reverse {
    struct live_reverse_core cores[TARGET_CORES_MAX];
    struct live_reverse_line *lines;
    size_t line_count, line_max;
    uint32_t halt; /* number of the halt that the questions were asked at */
    bool written;  /* memory was, since the halt */
    struct {       /* what GDB is just reading */
        const uint8_t *bytes;
        uint64_t address;
        size_t length;
    } reply;
    uv_idle_t search; /* active while one goes on */
};

/* The motions of a new client, which has the rest of its fields already; BT_OK or BT_ERR_NOMEM. */
int live_reverse_client(struct live *l, struct live_client *k);

/* The cores are about to run, or have been reset: all are as they are. */
void live_reverse_forget(struct live *l);

/* GDB writes memory or registers at this halt: what was before is not carried over it. */
void live_reverse_written(struct live *l, bool memory);

/* The same of registers of a core, by bits; what they held before follows from what was read at
 * this halt. False: it does not. */
bool live_reverse_kept(struct live *l, uint64_t core, uint64_t regs);

/* All that is to be read of this halt is: motions may have waited for it. */
void live_reverse_known(struct live *l);

/* All clients: replay positions are void, for the cores run or are elsewhere. */
void live_clients_forget(struct live *l);

#endif
