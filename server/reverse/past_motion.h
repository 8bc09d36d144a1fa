/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reverse execution by the server (GDB digest 5): which core is shown at which position of its
 * history, how GDB's packets move it, and what the user is told. Replayed and live targets bring
 * the history, the halted core and the console.
 *
 * While a core is shown in the past no core runs. A motion is done in slices; it may have to wait
 * for memory of the target in between.
 */
#ifndef SERVER_PAST_MOTION_H
#define SERVER_PAST_MOTION_H

#include "server/reverse/past_values.h"

struct past_core {
    struct past past;
    struct past_values values;
    struct past_machine machine;
    bool open;        /* `past` is that of this halt */
    bool prepared;    /* `machine` is, too */
    bool goto_wanted; /* the next motion begins with it (5.6 trap 4) */
    uint64_t goto_position;
    bool arrived;  /* the last motion was a step that reached the halted core (5.6 trap 3) */
    uint32_t told; /* bit n: register n was known when GDB read them here last */
    bool waits;    /* what is worked out ahead waits for memory */
    unsigned rounds_ahead;
};

struct past_host {
    /*
     * The history that leads to the halted core. BT_ERR_UNSUPPORTED with a text: there is none.
     * Between lock() and unlock(), both optional.
     */
    int (*view)(void *ctx, int core, struct btrace_view *view, struct gdb_why *why);
    void (*lock)(void *ctx);
    void (*unlock)(void *ctx);
    /* The halted core, for its values. GDB_PENDING: past_motion_go_on() follows,
     * asked again then. */
    int (*machine)(void *ctx, int core, struct past_machine *m);
    /*
     * Optional. Fetches memory that machine.read was asked for in vain: GDB_PENDING when something
     * is on its way, BT_OK when there was nothing to fetch. past_motion_go_on() follows, or, if it
     * was asked for while past_motion_ahead() was true, past_motion_fetched().
     */
    int (*fetch)(void *ctx, int core);
    /* Breakpoints that are set: at most `max` addresses; *watch: there is a watchpoint. */
    size_t (*breakpoints)(void *ctx, uint64_t *addresses, size_t max, bool *watch);
    const char *(*core_name)(void *ctx, int core);
    /* past_motion_idle() is wanted from the event loop, soon. */
    void (*later)(void *ctx);
    /* A motion that was GDB_PENDING is over; text of a failure in *why. */
    void (*stopped)(void *ctx, const struct gdb_stop *stop);
    void (*failed)(void *ctx, const struct gdb_why *why);
    /* Text for GDB's console, only while a motion goes on. */
    void (*say)(void *ctx, const char *text);
};

struct past_motion {
    const struct past_host *host;
    void *ctx;
    struct past_core *cores;
    int core_count;
    size_t limit; /* PAST_VALUES_DEFAULT and the like, for all cores */
    uint32_t infer;
    enum past_memory memory;
    bool told_alone; /* that other cores do not move along */
    bool told_watch; /* that watchpoints are not checked */

    /* The motion under way. */
    int state; /* enum in past_motion.c */
    int core;
    bool step, back;
    bool jumps; /* to where a command told it to go */
    bool interrupted;
    bool ahead;      /* values are being worked out that GDB has not asked for yet */
    bool busy;       /* within past_motion_go_on() or an operation */
    bool again;      /* something has come meanwhile */
    unsigned rounds; /* of fetching memory, at this position */
    struct past_search search;
    struct gdb_stop stop;
};

/* `host` and `ctx` must outlive it. BT_OK or BT_ERR_NOMEM; release in both cases. */
int past_motion_init(struct past_motion *m, const struct past_host *host, void *ctx,
                     int core_count);
void past_motion_release(struct past_motion *m);

/* All cores are as they are: they are about to run, or a new GDB has come. */
void past_motion_forget(struct past_motion *m);
/* A new GDB: that, and the commands of the one before are forgotten. */
void past_motion_reset(struct past_motion *m);

bool past_motion_any(const struct past_motion *m);
bool past_motion_active(const struct past_motion *m, int core);
/* A motion is GDB_PENDING. */
bool past_motion_running(const struct past_motion *m);

/* A resume may be one of the past. */
bool past_motion_concerned(const struct past_motion *m);

/* The operations of struct gdb_target. */
int past_motion_reverse(struct past_motion *m, int core, bool step, struct gdb_stop *stop,
                        struct gdb_why *why);
/* A resume is one of the past, see past_motion_resume(); else the cores run. */
bool past_motion_takes(const struct past_motion *m, const struct gdb_resume *resume);
int past_motion_resume(struct past_motion *m, const struct gdb_resume *resume,
                       struct gdb_stop *stop, struct gdb_why *why);
void past_motion_interrupt(struct past_motion *m);

/* Goes on with a motion that waits. */
void past_motion_go_on(struct past_motion *m);
/*
 * What host.later() asked for: a slice of a search, or, when no motion is under way, of what the
 * next ones will need.
 */
void past_motion_idle(struct past_motion *m);

/* What machine.read is asked for now is for later. */
bool past_motion_ahead(const struct past_motion *m);
/* Memory has come that such questions lacked. */
void past_motion_fetched(struct past_motion *m, int core);

/* The core's history is open, maybe from now on. BT_OK or a bt_error with a text. */
int past_motion_open(struct past_motion *m, int core, struct gdb_why *why);

/* For a core that is in the past. */
int past_motion_regs(struct past_motion *m, int core, struct gdb_regs *regs);
size_t past_motion_memory(struct past_motion *m, int core, uint64_t address, uint8_t *bytes,
                          size_t len);

/* The position of a core in the past; 0 if it is not there, or at the very beginning. */
uint64_t past_motion_position(const struct past_motion *m, int core);

/* "in the past, at 216"; false if it is not. */
bool past_motion_status(const struct past_motion *m, int core, char *text, size_t size);

/* server/reverse/past_say.c: what the user is told while a motion goes on. */
void past_say_gap(struct past_motion *m, enum bt_gap_cause cause);
void past_say_left_out(struct past_motion *m);  /* by the search */
void past_say_alone(struct past_motion *m);     /* once: other cores do not move */
void past_say_unwatched(struct past_motion *m); /* once: if there are watchpoints, a step does not
                                                   see */

/* server/reverse/past_monitor.c: "monitor" commands; BT_ERR_UNSUPPORTED: no such command here. */
int past_monitor(struct past_motion *m, int core, const char *text, gdb_print_fn print, void *to);
void past_monitor_help(gdb_print_fn print, void *to);

#endif
