/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reverse execution by the server (GDB manual, "Reverse Execution"): which core is shown at which
 * position of its history, how GDB's packets move it, and what the user is told. Replayed and live
 * targets bring the history, the halted core and the console.
 *
 * While a core is at a replay position no core runs. A motion is done in slices; it may have to
 * wait for memory of the target in between.
 */
#ifndef SERVER_REVERSE_MOTION_H
#define SERVER_REVERSE_MOTION_H

#include "server/reverse/reverse_values.h"

struct reverse_core {
    struct reverse reverse;
    struct reverse_values values;
    struct reverse_machine machine;
    bool open;        /* `reverse` is that of this halt */
    bool prepared;    /* `machine` is, too */
    bool goto_wanted; /* the next motion begins with it */
    uint64_t goto_position;
    bool arrived;      /* the last motion was a step that reached the halted core */
    uint32_t reported; /* bit n: register n was known when GDB read them here last */
    bool waits;        /* what is worked out ahead waits for memory */
    unsigned rounds_ahead;
};

struct reverse_host {
    /*
     * The history that leads to the halted core. BT_ERR_UNSUPPORTED with a text: there is none.
     * Between lock() and unlock(), both optional.
     */
    int (*view)(void *ctx, int core, struct btrace_view *view, struct gdb_why *why);
    void (*lock)(void *ctx);
    void (*unlock)(void *ctx);
    /* The halted core, for its values. GDB_PENDING: reverse_motion_go_on() follows,
     * asked again then. */
    int (*machine)(void *ctx, int core, struct reverse_machine *m);
    /*
     * Optional. Fetches memory that machine.read was asked for in vain: GDB_PENDING when something
     * is on its way, BT_OK when there was nothing to fetch. reverse_motion_go_on() follows, or, if
     * it was asked for while reverse_motion_ahead() was true, reverse_motion_fetched().
     */
    int (*fetch)(void *ctx, int core);
    /* Breakpoints that are set: at most `max` addresses; *watch: there is a watchpoint. */
    size_t (*breakpoints)(void *ctx, uint64_t *addresses, size_t max, bool *watch);
    const char *(*core_name)(void *ctx, int core);
    /* reverse_motion_idle() is wanted from the event loop, soon. */
    void (*later)(void *ctx);
    /* A motion that was GDB_PENDING is over; text of a failure in *why. */
    void (*stopped)(void *ctx, const struct gdb_stop *stop);
    void (*failed)(void *ctx, const struct gdb_why *why);
    /* Text for GDB's console, only while a motion goes on. */
    void (*report)(void *ctx, const char *text);
};

struct reverse_motion {
    const struct reverse_host *host;
    void *ctx;
    struct reverse_core *cores;
    int core_count;
    size_t limit; /* REVERSE_VALUES_DEFAULT and the like, for all cores */
    uint32_t infer;
    enum reverse_memory memory;
    bool reported_alone; /* that other cores do not move along */
    bool reported_watch; /* that watchpoints are not checked */

    /* The motion under way. */
    int state; /* enum in reverse_motion.c */
    int core;
    bool step, back;
    bool jumps; /* to where a command told it to go */
    bool interrupted;
    bool ahead;      /* values are being worked out that GDB has not asked for yet */
    bool busy;       /* within reverse_motion_go_on() or an operation */
    bool again;      /* something has come meanwhile */
    unsigned rounds; /* of fetching memory, at this position */
    struct reverse_search search;
    struct gdb_stop stop;
};

/* `host` and `ctx` must outlive it. BT_OK or BT_ERR_NOMEM; release in both cases. */
int reverse_motion_init(struct reverse_motion *m, const struct reverse_host *host, void *ctx,
                        int core_count);
void reverse_motion_release(struct reverse_motion *m);

/* All cores are as they are: they are about to run, or a new GDB has come. */
void reverse_motion_forget(struct reverse_motion *m);
/* A new GDB: that, and the commands of the one before are forgotten. */
void reverse_motion_reset(struct reverse_motion *m);

bool reverse_motion_any(const struct reverse_motion *m);
bool reverse_motion_active(const struct reverse_motion *m, int core);
/* A motion is GDB_PENDING. */
bool reverse_motion_running(const struct reverse_motion *m);

/* A resume may be a motion along the history. */
bool reverse_motion_concerned(const struct reverse_motion *m);

/* The operations of struct gdb_target. */
int reverse_motion_back(struct reverse_motion *m, int core, bool step, struct gdb_stop *stop,
                        struct gdb_why *why);
/* A resume is such a motion, see reverse_motion_resume(); else the cores run. */
bool reverse_motion_takes(const struct reverse_motion *m, const struct gdb_resume *resume);
int reverse_motion_resume(struct reverse_motion *m, const struct gdb_resume *resume,
                          struct gdb_stop *stop, struct gdb_why *why);
void reverse_motion_interrupt(struct reverse_motion *m);

/* Goes on with a motion that waits. */
void reverse_motion_go_on(struct reverse_motion *m);
/*
 * What host.later() asked for: a slice of a search, or, when no motion is under way, of what the
 * next ones will need.
 */
void reverse_motion_idle(struct reverse_motion *m);

/* What machine.read is asked for now is for later. */
bool reverse_motion_ahead(const struct reverse_motion *m);
/* Memory has come that such questions lacked. */
void reverse_motion_fetched(struct reverse_motion *m, int core);

/* The core's history is open, maybe from now on. BT_OK or a bt_error with a text. */
int reverse_motion_open(struct reverse_motion *m, int core, struct gdb_why *why);

/* For a core at a replay position. */
int reverse_motion_regs(struct reverse_motion *m, int core, struct gdb_regs *regs);
size_t reverse_motion_memory(struct reverse_motion *m, int core, uint64_t address, uint8_t *bytes,
                             size_t len);

/* The replay position of a core; 0 if it has none, or is at the very beginning. */
uint64_t reverse_motion_position(const struct reverse_motion *m, int core);

/* "replaying, at 216"; false if it is not. */
bool reverse_motion_status(const struct reverse_motion *m, int core, char *text, size_t size);

/* server/reverse/reverse_report.c: what the user is told while a motion goes on. */
void reverse_report_gap(struct reverse_motion *m, enum bt_gap_cause cause);
void reverse_report_left_out(struct reverse_motion *m);  /* by the search */
void reverse_report_alone(struct reverse_motion *m);     /* once: other cores do not move */
void reverse_report_unwatched(struct reverse_motion *m); /* once: if there are watchpoints, a step
                                                   does not see */

/* server/reverse/reverse_monitor.c: "monitor" commands; BT_ERR_UNSUPPORTED:
 * no such command here. */
int reverse_monitor(struct reverse_motion *m, int core, const char *text, gdb_print_fn print,
                    void *to);
void reverse_monitor_help(gdb_print_fn print, void *to);

#endif
