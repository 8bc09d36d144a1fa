/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another GDB server as the run-control and memory side: OpenOCD, pyOCD, QEMU, a J-Link. This is
 * the client's end of that connection. Packets of our own client are passed on through it (see
 * gdb_session_init_upstream()), and the server's own questions go in between, one at a time.
 *
 * No sockets, no clock, no threads: the event loop hands in what arrived and takes what is to be
 * sent. Callbacks may call any function here but gdb_upstream_input() and gdb_upstream_free().
 *
 * Threads of the other side are cores here, in the order in which it lists them
 * at the start. */
#ifndef PROTOCOL_GDB_UPSTREAM_H
#define PROTOCOL_GDB_UPSTREAM_H

#include "protocol/target/gdb_target.h"

struct gdb_upstream; /* private */

/* What has been changed behind the back of what was known before. */
enum gdb_change {
    GDB_CHANGE_MEMORY,    /* `address` and `length` tell where */
    GDB_CHANGE_REGISTERS, /* a core's registers were written: its PC may be another one */
    GDB_CHANGE_RESET,     /* the target may have started over: R, vRun, k, unknown monitor text */
};

struct gdb_upstream_events {
    /* Connected and asked for what it can do; error: BT_ERR_IO, BT_ERR_FORMAT (no GDB server). */
    void (*ready)(void *ctx, int error);
    /* Cores start to run; called before the packet that does it is sent. */
    void (*resumed)(void *ctx);
    /*
     * The cores have halted. The stop reply stays here until gdb_upstream_release_stop(): whoever
     * needs time for the trace of the last stretch takes it now. Also called when nobody of ours
     * is connected.
     */
    void (*stopped)(void *ctx);
    void (*changed)(void *ctx, enum gdb_change change, uint64_t address, uint64_t length);
    /* Optional: the client has programmed flash. What is there now need not be so already. */
    void (*programmed)(void *ctx, uint64_t address, const void *bytes, size_t len);
    /* The connection broke; every open question is answered with an error first. */
    void (*lost)(void *ctx);
};

/* Takes all the bytes; may call gdb_upstream_disconnected() and nothing else here. */
typedef void (*gdb_upstream_send_fn)(void *ctx, const void *bytes, size_t len);

/*
 * The answer to a question: the payload without escapes, or NULL when there will be none
 * (connection lost, maybe while it is asked: then from within the asking function).
 */
typedef void (*gdb_upstream_reply_fn)(void *ctx, const char *reply, size_t len);

/* `events` must outlive it. BT_OK or BT_ERR_NOMEM. */
int gdb_upstream_new(const struct gdb_upstream_events *events, void *ctx, gdb_upstream_send_fn send,
                     void *send_ctx, struct gdb_upstream **out);
void gdb_upstream_free(struct gdb_upstream *u);

/* A connection is there: asks who is at the other end; ready() follows. Also after lost(). */
void gdb_upstream_connected(struct gdb_upstream *u);
void gdb_upstream_disconnected(struct gdb_upstream *u);
void gdb_upstream_input(struct gdb_upstream *u, const void *bytes, size_t len);

/* Between ready() and lost(). */
bool gdb_upstream_is_ready(const struct gdb_upstream *u);

/*
 * A number that changes with each packet of the other side and each of ours; 0 while no answer is
 * owed, or one that may take its time (a command, flash, a halt). Seen twice, seconds apart: the
 * other side does not answer.
 */
uint64_t gdb_upstream_owed(const struct gdb_upstream *u);

/* Cores run, or their stop has not been released yet (then gdb_upstream_is_held(), too). */
bool gdb_upstream_is_running(const struct gdb_upstream *u);
bool gdb_upstream_is_held(const struct gdb_upstream *u);

/* Number of threads that the other side listed; 1 .. GDB_CORES_MAX. */
int gdb_upstream_cores(const struct gdb_upstream *u);

/* Core that the last stop was about. */
int gdb_upstream_stopped_core(const struct gdb_upstream *u);

/*
 * The stop reply goes to the client, if one waits for it.
 * Nothing happens if none is held. */
void gdb_upstream_release_stop(struct gdb_upstream *u);

/*
 * Whether more is to be done here before the state of the halted cores is good: while it is so,
 * packets of the client wait (those about its history, too), and questions of our own go on. Ends
 * by itself when the connection is lost.
 */
void gdb_upstream_settle(struct gdb_upstream *u, bool settling);

/*
 * The halted cores are not what they were: something was written, or they were reset. Clients that
 * look on are told so instead of being given a mixture of both.
 */
void gdb_upstream_outdate(struct gdb_upstream *u);

/*
 * A question of our own, for halted cores (also while a stop is held). Waits its turn behind what
 * is under way. BT_OK, BT_ERR_NOMEM, BT_ERR_IO (not ready), BT_ERR_INVAL (cores run).
 */
int gdb_upstream_ask(struct gdb_upstream *u, const char *payload, size_t len,
                     gdb_upstream_reply_fn reply, void *ctx);

/*
 * PC and PSR of one core (the registers that the other side's description calls pc, cpsr or xpsr;
 * numbers 15 and 25 without one), selected and read by questions as above; what the client has
 * selected is selected again afterwards. regs is NULL on error; a PSR that is not known is not
 * marked as known.
 */
typedef void (*gdb_upstream_regs_fn)(void *ctx, int core, const struct gdb_regs *regs);
int gdb_upstream_read_pc(struct gdb_upstream *u, int core, gdb_upstream_regs_fn fn, void *ctx);

/* The same for r0 to r14, PC and PSR; those that the other side does not tell are not known. */
int gdb_upstream_read_regs(struct gdb_upstream *u, int core, gdb_upstream_regs_fn fn, void *ctx);

/* Breakpoints and watchpoints of the client that are set: their number, *out points at them. */
size_t gdb_upstream_breakpoints(const struct gdb_upstream *u, const struct gdb_breakpoint **out);

/*
 * Memory as the core sees it: bytes read from the start on; length 0 when not even the first is
 * readable. At most 1024 bytes a call.
 */
typedef void (*gdb_upstream_memory_fn)(void *ctx, uint64_t address, const uint8_t *bytes,
                                       size_t len);
int gdb_upstream_read_memory(struct gdb_upstream *u, int core, uint64_t address, size_t len,
                             gdb_upstream_memory_fn fn, void *ctx);
/*
 * Words of device registers: nothing is asked again when it was refused, and no access is smaller
 * than a word. `address` and `len` are multiples of 4, at most 1024; a length that is less than
 * that in fn is where it was refused.
 */
int gdb_upstream_read_device(struct gdb_upstream *u, int core, uint64_t address, size_t len,
                             gdb_upstream_memory_fn fn, void *ctx);
/* One write of at most 1024 bytes; fn gets length 0 when it was refused. */
int gdb_upstream_write_memory(struct gdb_upstream *u, int core, uint64_t address,
                              const uint8_t *bytes, size_t len, gdb_upstream_memory_fn fn,
                              void *ctx);

/* Registers on the wire are big endian (the default is little). */
void gdb_upstream_set_big_endian(struct gdb_upstream *u, bool big_endian);

/* All cores run; stopped() follows some time. BT_OK, BT_ERR_IO, BT_ERR_INVAL (they run). */
int gdb_upstream_resume(struct gdb_upstream *u);
/* Asks for a halt (the interrupt byte); stopped() follows. Nothing happens when halted. */
void gdb_upstream_interrupt(struct gdb_upstream *u);

/*
 * The client lets go, or we do: its breakpoints are removed, for which cores that run are halted,
 * then the cores run, or stay halted. Takes a while: gdb_upstream_is_idle().
 */
void gdb_upstream_let_go(struct gdb_upstream *u, bool run);

/* What becomes of the cores if nobody asks for anything more. */
bool gdb_upstream_will_run(const struct gdb_upstream *u);

/* Nothing is under way, waits for its turn or is still to happen. */
bool gdb_upstream_is_idle(const struct gdb_upstream *u);

#endif
