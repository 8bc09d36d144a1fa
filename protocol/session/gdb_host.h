/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a GDB session needs beside the target: its history, its replay position, and commands of
 * ours. Live and recorded targets each supply one, for each client one `ctx`. GDB sees one thread a
 * core, and those of tasks.
 *
 * Every operation gets the `ctx` that was given to gdb_session_init(), is called from within
 * gdb_session_input() or an answer of the target (one thread), and returns BT_OK, a count where
 * said so, or a negative enum bt_error. Packets: GDB manual, "Packets" and "General Query Packets";
 * what is said of GDB itself was found with GDB 13.1.
 */
#ifndef PROTOCOL_GDB_HOST_H
#define PROTOCOL_GDB_HOST_H

#include "drivers/target/target.h"

/* Return value of resume(): the cores are to run, not the replay position. */
#define GDB_PASS_ON 2

/*
 * Of qXfer:btrace:read.
 *
 * ALL    everything retained; the oldest block with its real begin
 * NEW    the same if anything ran since the last delivered read, else no block
 * DELTA  what ran since the last delivered read; the oldest block has begin 0
 */
enum gdb_annex {
    GDB_ANNEX_ALL,
    GDB_ANNEX_NEW,
    GDB_ANNEX_DELTA,
};

struct gdb_btrace_block {
    uint64_t begin; /* first instruction */
    uint64_t end;   /* first byte of the last instruction */
};

/* Filled by btrace_read(), newest block first. Owned by the session. */
struct gdb_btrace_blocks {
    struct gdb_btrace_block *block;
    size_t count;
    size_t capacity;
};

/* Both append one older block: BT_OK or BT_ERR_NOMEM. Neighbouring gaps become one. */
int gdb_btrace_blocks_add(struct gdb_btrace_blocks *b, uint64_t begin, uint64_t end);
int gdb_btrace_blocks_add_gap(struct gdb_btrace_blocks *b);

struct gdb_btrace_conf {
    bool recording;
    uint32_t size; /* real size of the buffer in bytes, shown by "info record" */
};

/*
 * A task of a real-time kernel, which GDB sees as a thread behind those of the cores. One that runs
 * has the registers of its core, whose thread is what steps and continues; another one has those
 * that it goes on with, and runs nothing.
 */
struct gdb_task {
    int thread; /* the same at every halt */
    int core;   /* whose kernel knows it */
    bool running;
    char name[32];
    char state[80]; /* "blocked, priority 3" */
    struct target_regs regs;
};

#define GDB_TASK_FIRST     1001 /* thread */
#define GDB_TASK_NOTE_SIZE 160

/* Valid as long as the halt. */
struct gdb_tasks {
    const struct gdb_task *task;
    size_t count;
    char (*notes)[GDB_TASK_NOTE_SIZE]; /* of each core: why there are none, or not all; "" */
};

struct gdb_host {
    /* The branch trace operations: all or none. Errors with text reach the user. */
    int (*btrace_enable)(void *ctx, int core, struct target_error *why); /* when enabled: BT_OK */
    void (*btrace_disable)(void *ctx, int core);
    /* Bytes, of all cores; 0xffffffff = unlimited. The target clamps and remembers. */
    void (*btrace_set_size)(void *ctx, uint32_t size);
    /* `recording` at connect (flight recorder) makes GDB reopen the recording. */
    struct gdb_btrace_conf (*btrace_conf)(void *ctx, int core);
    /*
     * Fills `out`, which is empty, newest block first; the newest ends at the halted PC. An error
     * makes the annex fail and GDB tries the next one (also for when delta must fail). The session
     * refuses a delta whose oldest block does not begin at 0: GDB would abort. Must not move the
     * mark of what was read: only btrace_delivered() does.
     */
    int (*btrace_read)(void *ctx, int core, enum gdb_annex annex, struct gdb_btrace_blocks *out);
    /* The last chunk of what btrace_read() gave was sent. */
    void (*btrace_delivered)(void *ctx, int core, enum gdb_annex annex);

    /*
     * Optional. One line of "monitor"; output through print(to, text). BT_ERR_UNSUPPORTED = no
     * such command (the session says so); other errors are printed by their code. Never fails on
     * the wire: GDB cannot show texts of errors here. TARGET_PENDING: more output and
     * gdb_session_command_done() follow; interrupt() is Ctrl-C meanwhile, leave() the end.
     */
    int (*monitor)(void *ctx, int core, const char *text, target_print_fn print, void *to);

    /*
     * The replay position; all or none. True while the core (-1: any of them, or a motion is under
     * way) is at one: then its registers come from read_regs(), memory that was read from the
     * target goes through reverse_memory(), every resume comes to resume() first, and nothing is
     * written.
     */
    bool (*is_replaying)(void *ctx, int core);
    int (*read_regs)(void *ctx, int core, struct target_regs *regs);
    /* `there` of the `len` bytes are the present ones, as many as could be read: replaces those
     * that were others, and puts what is known behind them; returns how many can be told from the
     * start on, 0 .. len. */
    size_t (*reverse_memory)(void *ctx, int core, uint64_t address, void *bytes, size_t there,
                             size_t len);
    /*
     * With a text where it is refused. BT_OK: done already, *stop is filled. TARGET_PENDING: runs;
     * gdb_session_stopped() follows. GDB_PASS_ON: it is the target's.
     */
    int (*resume)(void *ctx, const struct target_resume *resume, struct target_stop *stop,
                  struct target_error *why);
    /*
     * One instruction back (step), or back to a breakpoint or the start. Returns as resume() does:
     * GDB manual, "Reverse Execution".
     */
    int (*reverse)(void *ctx, int core, bool step, struct target_stop *stop,
                   struct target_error *why);
    /* Ctrl-C while that, or monitor(), is pending; must lead to its end. */
    void (*interrupt)(void *ctx);

    /*
     * Optional, both or none. Is it known of some core what its tasks are, now or in the past?
     * Tasks of the halted cores: BT_OK, TARGET_PENDING (gdb_session_go_on() follows, then this is
     * called again), or an error: none are shown.
     */
    bool (*has_tasks)(void *ctx);
    int (*tasks)(void *ctx, struct gdb_tasks *out);

    /* Optional. State in words for "info threads" ("replaying, at 216"); "": that of the target. */
    void (*core_status)(void *ctx, int core, char *text, size_t size);
    /* Optional: the client in control asks for what changes the target: writes, flash, a
     * reset; and the answer to its File-I/O request, which ends up in its registers. */
    void (*changes)(void *ctx, const struct target_request *request);
    /* Optional: the client lets go, by `D` or `k`. */
    void (*leave)(void *ctx);
    /* Optional: R and vRun, where the target itself cannot. BT_OK: done or under way, clients are
     * held until then; BT_ERR_UNSUPPORTED: the target is asked. */
    int (*restart)(void *ctx, struct target_error *why);
};

#endif
