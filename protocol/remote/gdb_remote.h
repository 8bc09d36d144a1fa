/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A remote target: another GDB server controls the core and accesses its memory (OpenOCD, pyOCD,
 * QEMU, a J-Link). This is its client. Packets of our own client are passed on through it (see
 * gdb_session_init_remote()), and the server's own questions go in between, one at a time.
 *
 * No sockets, no clock, no threads: the event loop hands in what arrived and takes what is to be
 * sent. Callbacks may call any function here but gdb_remote_input() and gdb_remote_free().
 *
 * Threads of the other side are cores here, in the order in which it lists them
 * at the start.
 */
#ifndef PROTOCOL_GDB_REMOTE_H
#define PROTOCOL_GDB_REMOTE_H

#include "protocol/target/gdb_target.h"

struct gdb_remote; /* private */

/* What has been changed behind the back of what was known before. */
enum gdb_change {
    GDB_CHANGE_MEMORY,    /* `address` and `length` are where */
    GDB_CHANGE_REGISTERS, /* a core's registers were written: its PC may be another one */
    GDB_CHANGE_RESET,     /* the target may have started over: R, vRun, k, unknown monitor text */
};

struct gdb_remote_events {
    /* Connected and asked for what it can do; error: BT_ERR_IO, BT_ERR_FORMAT (no GDB server). */
    void (*ready)(void *ctx, int error);
    /* Cores start to run; called before the packet that does it is sent. */
    void (*resumed)(void *ctx);
    /*
     * The cores have halted. The stop reply stays here until gdb_remote_release_stop(): whoever
     * needs time for the trace of the last run takes it now. Also called when nobody of ours
     * is connected.
     */
    void (*stopped)(void *ctx);
    void (*changed)(void *ctx, enum gdb_change change, uint64_t address, uint64_t length);
    /* Optional: the client has programmed flash. What is there now need not be so already. */
    void (*programmed)(void *ctx, uint64_t address, const void *bytes, size_t len);
    /* The connection broke; every open question is answered with an error first. */
    void (*lost)(void *ctx);
};

/* Takes all the bytes; may call gdb_remote_disconnected() and nothing else here. */
typedef void (*gdb_remote_send_fn)(void *ctx, const void *bytes, size_t len);

/*
 * The answer to a question: the payload without escapes, or NULL when there will be none
 * (connection lost, maybe while it is asked: then from within the asking function).
 */
typedef void (*gdb_remote_reply_fn)(void *ctx, const char *reply, size_t len);

/* `events` must outlive it. BT_OK or BT_ERR_NOMEM. */
int gdb_remote_new(const struct gdb_remote_events *events, void *ctx, gdb_remote_send_fn send,
                   void *send_ctx, struct gdb_remote **out);
void gdb_remote_free(struct gdb_remote *u);

/* A connection is there: asks who is at the other end; ready() follows. Also after lost(). */
void gdb_remote_connected(struct gdb_remote *u);
void gdb_remote_disconnected(struct gdb_remote *u);
void gdb_remote_input(struct gdb_remote *u, const void *bytes, size_t len);

/* Between ready() and lost(). */
bool gdb_remote_is_ready(const struct gdb_remote *u);

/*
 * A number that changes with each packet of the other side and each of ours; 0 while no answer is
 * owed, or one that may take its time (a command, flash, a halt). Seen twice, seconds apart: the
 * other side does not answer.
 */
uint64_t gdb_remote_owed(const struct gdb_remote *u);

/* Cores run, or their stop has not been released yet. */
bool gdb_remote_is_running(const struct gdb_remote *u);

/* Number of threads that the other side listed; 1 .. TARGET_CORES_MAX. */
int gdb_remote_cores(const struct gdb_remote *u);

/* Core that the last stop was about. */
int gdb_remote_stopped_core(const struct gdb_remote *u);

/*
 * The stop reply goes to the client, if one waits for it.
 * Nothing happens if none is held.
 */
void gdb_remote_release_stop(struct gdb_remote *u);

/*
 * Whether more is to be done here before the state of the halted cores is good: while it is so,
 * packets of the client wait (those about its history, too), and questions of our own go on. Ends
 * by itself when the connection is lost.
 */
void gdb_remote_hold_client(struct gdb_remote *u, bool holds_client);

/*
 * The halted cores are not what they were: something was written, or they were reset. Clients that
 * look on are told so instead of being given a mixture of both.
 */
void gdb_remote_outdate(struct gdb_remote *u);

/*
 * A question of our own, for halted cores (also while a stop is held). Waits its turn behind what
 * is under way. BT_OK, BT_ERR_NOMEM, BT_ERR_IO (not ready), BT_ERR_INVAL (cores run).
 */
int gdb_remote_ask(struct gdb_remote *u, const char *payload, size_t len, gdb_remote_reply_fn reply,
                   void *ctx);

/*
 * PC and PSR of one core (the registers that the other side's description calls pc, cpsr or xpsr;
 * numbers 15 and 25 without one), selected and read by questions as above; what the client has
 * selected is selected again afterwards. regs is NULL on error; a PSR that is not known is not
 * marked as known.
 */
typedef void (*gdb_remote_regs_fn)(void *ctx, int core, const struct target_regs *regs);
int gdb_remote_read_pc(struct gdb_remote *u, int core, gdb_remote_regs_fn fn, void *ctx);

/* The same for r0 to r14, PC and PSR; those that the other side does not report are not known. */
int gdb_remote_read_regs(struct gdb_remote *u, int core, gdb_remote_regs_fn fn, void *ctx);

/* Breakpoints and watchpoints of the client that are set: their number, *out points at them. */
size_t gdb_remote_breakpoints(const struct gdb_remote *u, const struct target_breakpoint **out);

/*
 * Memory as the core sees it: bytes read from the start on; length 0 when not even the first is
 * readable. At most 1024 bytes a call.
 */
typedef void (*gdb_remote_memory_fn)(void *ctx, uint64_t address, const uint8_t *bytes, size_t len);
int gdb_remote_read_memory(struct gdb_remote *u, int core, uint64_t address, size_t len,
                           gdb_remote_memory_fn fn, void *ctx);
/*
 * Words of device registers: nothing is asked again when it was refused, and no access is smaller
 * than a word. `address` and `len` are multiples of 4, at most 1024; a length that is less than
 * that in fn is where it was refused.
 */
int gdb_remote_read_device(struct gdb_remote *u, int core, uint64_t address, size_t len,
                           gdb_remote_memory_fn fn, void *ctx);
/* One write of at most 1024 bytes; fn gets length 0 when it was refused. */
int gdb_remote_write_memory(struct gdb_remote *u, int core, uint64_t address, const uint8_t *bytes,
                            size_t len, gdb_remote_memory_fn fn, void *ctx);

/* All cores run; stopped() follows some time. BT_OK, BT_ERR_IO, BT_ERR_INVAL (they run). */
int gdb_remote_resume(struct gdb_remote *u);
/* Asks for a halt (the interrupt byte); stopped() follows. Nothing happens when halted. */
void gdb_remote_interrupt(struct gdb_remote *u);

/*
 * The client lets go, or we do: its breakpoints are removed, for which cores that run are halted,
 * then the cores run, or stay halted. Takes a while: gdb_remote_is_idle().
 */
void gdb_remote_let_go(struct gdb_remote *u, bool run);

/* What becomes of the cores if nobody asks for anything more. */
bool gdb_remote_will_run(const struct gdb_remote *u);

/* Nothing is under way, waits for its turn or is still to happen. */
bool gdb_remote_is_idle(const struct gdb_remote *u);

#endif
