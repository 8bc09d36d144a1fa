/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reverse execution by the server (GDB manual, "Reverse Execution"): which core is shown at which
 * position of its history, how GDB's packets move it, and what the user is told. Replayed and live
 * targets bring the history, the halted core and the console.
 *
 * While a core is at a replay position no core runs. A motion is done in slices; it may have to
 * wait for memory of the target in between. Searches decode the history window by window and look
 * at blocks, not at single instructions. Places where trace is missing are never passed unnoticed:
 * a search ends right behind one, a step says so.
 */
#ifndef SERVER_REVERSE_MOTION_H
#define SERVER_REVERSE_MOTION_H

#include "drivers/elf/elf_image.h"
#include "server/reverse/reverse_values.h"
#include "server/reverse/reverse_watch.h"

#define REVERSE_BREAKPOINTS_MAX 256

/* A motion to the next breakpoint. The position where it starts does not count. */
struct reverse_search {
    uint64_t from;
    bool back;
    bool all_gaps; /* stops also where the trace unit was told to leave instructions out */
    uint64_t addresses[REVERSE_BREAKPOINTS_MAX];
    size_t address_count;
    uint64_t low, high;      /* of the addresses; set when it begins */
    size_t next;             /* window to be looked at next */
    uint64_t reached;        /* all positions up to here are looked at: where an interrupt stops */
    uint64_t found;          /* where the search ended */
    enum bt_gap_cause cause; /* of the gap found */
    size_t left_out;         /* places passed where the trace unit left instructions out */
    int ended;               /* enum reverse_found: what is at `found` */
    bool watched;            /* there are watchpoints, so accesses up to there are looked at, */
    bool watching;           /* as is done now */
    bool step;               /* of one instruction */
};

/* What there is of a core: CLOSED -> OPEN -> PREPARED, and from each back to CLOSED. */
enum reverse_core_state {
    REVERSE_CORE_CLOSED,
    REVERSE_CORE_OPEN,     /* `reverse` is that of this halt */
    REVERSE_CORE_PREPARED, /* `machine` is, too */
};

struct reverse_core {
    struct reverse reverse;
    struct reverse_values values;
    struct reverse_machine machine;
    enum reverse_core_state state;
    bool goto_wanted; /* the next motion begins with it */
    uint64_t goto_position;
    unsigned outside;  /* machine.forward->outside_found, when values were worked out */
    bool arrived;      /* the last motion was a step that reached the halted core */
    uint32_t reported; /* bit n: register n was known when GDB read them here last */
    bool waits;        /* what is worked out ahead waits for memory */
    unsigned rounds_ahead;
    struct reverse_watching watching;
};

struct reverse_host {
    /*
     * The history that leads to the halted core. BT_ERR_UNSUPPORTED with a text: there is none.
     * Between lock() and unlock(), both optional.
     */
    int (*view)(void *ctx, int core, struct btrace_view *view, struct target_error *why);
    void (*lock)(void *ctx);
    void (*unlock)(void *ctx);
    /* The halted core, for its values. TARGET_PENDING: reverse_motion_go_on() follows,
     * asked again then. */
    int (*machine)(void *ctx, int core, struct reverse_machine *m);
    /*
     * Optional. Fetches memory that machine.read was asked for in vain: TARGET_PENDING when
     * something is on its way, BT_OK when there was nothing to fetch. reverse_motion_go_on()
     * follows, or, if it was asked for while reverse_motion_ahead() was true,
     * reverse_motion_fetched().
     */
    int (*fetch)(void *ctx, int core);
    /* Breakpoints and watchpoints that are set, and how many. */
    size_t (*breakpoints)(void *ctx, const struct target_breakpoint **set);
    /* The core's programs, for names, and how many. */
    size_t (*programs)(void *ctx, int core, struct elf_image *const **elf);
    /* The `monitor` command that was TARGET_PENDING is answered. */
    void (*answered)(void *ctx);
    const char *(*core_name)(void *ctx, int core);
    /* reverse_motion_idle() is wanted from the event loop, soon. */
    void (*later)(void *ctx);
    /* A motion that was TARGET_PENDING is over; text of a failure in *why. */
    void (*stopped)(void *ctx, const struct target_stop *stop);
    void (*failed)(void *ctx, const struct target_error *why);
    /* Text for GDB's console, only while a motion goes on. */
    void (*report)(void *ctx, const char *text);
};

/*
 * The motion under way.
 *
 *   IDLE        -> AHEAD         values are worked out that GDB has not asked for yet
 *               -> SEARCH        to the next breakpoint or gap
 *               -> VALUES        a step, a jump, or nothing left to search: the position is chosen
 *   AHEAD       -> IDLE          a slice is done
 *   SEARCH      -> INTERRUPTED   by GDB: it ends before the next slice, where it has come to
 *               -> VALUES        found
 *               -> IDLE          the history cannot be read
 *   INTERRUPTED -> VALUES
 *   VALUES      -> IDLE          GDB is told; until then it may wait for memory
 *
 * and from each to IDLE when the cores are about to run.
 */
enum reverse_state {
    REVERSE_IDLE,
    REVERSE_AHEAD,
    REVERSE_SEARCH,
    REVERSE_INTERRUPTED,
    REVERSE_VALUES,
};

/* What was asked for may come while it is being asked for: OUTSIDE -> INSIDE, INSIDE <->
 * INSIDE_AGAIN, INSIDE or INSIDE_AGAIN -> OUTSIDE. */
enum reverse_turn {
    REVERSE_OUTSIDE,
    REVERSE_INSIDE,       /* within reverse_motion_go_on() or an operation */
    REVERSE_INSIDE_AGAIN, /* and something has come meanwhile */
};

struct reverse_motion;

/* A `monitor` command that is answered in slices; allocated. */
struct reverse_question {
    bool (*work)(struct reverse_motion *m); /* one, with the history locked; true: it is answered */
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

    /* The motion under way. */
    enum reverse_state state;
    enum reverse_turn turn;
    int core;
    bool quick;      /* a step: it waits for short windows only */
    bool waits;      /* for the halted core, or for memory */
    bool ctrl_c;     /* a question is to end with what was found */
    bool soon;       /* it goes on when nobody else has anything to do */
    unsigned rounds; /* of fetching memory, at this position */
    struct reverse_search search;
    struct target_stop stop;
    struct reverse_question *question; /* about accesses, by `monitor`; NULL: none */
};

/* `host` and `ctx` must outlive it. BT_OK or BT_ERR_NOMEM; release in both cases. */
int reverse_motion_init(struct reverse_motion *m, const struct reverse_host *host, void *ctx,
                        int core_count);
void reverse_motion_release(struct reverse_motion *m);

/* Around what reads a core's history. */
static inline void reverse_motion_lock(const struct reverse_motion *m)
{
    if (m->host->lock)
        m->host->lock(m->ctx);
}

static inline void reverse_motion_unlock(const struct reverse_motion *m)
{
    if (m->host->unlock)
        m->host->unlock(m->ctx);
}

/* All cores are as they are: they are about to run, or a new GDB has come. */
void reverse_motion_forget(struct reverse_motion *m);

/* The core, or any, is at a replay position. */
static inline bool reverse_motion_active(const struct reverse_motion *m, int core)
{
    return core >= 0 && core < m->core_count && m->cores[core].state != REVERSE_CORE_CLOSED &&
           reverse_active(&m->cores[core].reverse);
}

static inline bool reverse_motion_any(const struct reverse_motion *m)
{
    for (int i = 0; i < m->core_count; i++)
        if (reverse_motion_active(m, i))
            return true;
    return false;
}

/* A motion is TARGET_PENDING. */
static inline bool reverse_motion_running(const struct reverse_motion *m)
{
    return m->state != REVERSE_IDLE && m->state != REVERSE_AHEAD;
}

/* A resume may be a motion along the history. */
bool reverse_motion_concerned(const struct reverse_motion *m);

/* The operations of struct gdb_host. */
int reverse_motion_back(struct reverse_motion *m, int core, bool step, struct target_stop *stop,
                        struct target_error *why);
/* A resume is such a motion, see reverse_motion_resume(); else the cores run. */
bool reverse_motion_takes(const struct reverse_motion *m, const struct target_resume *resume);
int reverse_motion_resume(struct reverse_motion *m, const struct target_resume *resume,
                          struct target_stop *stop, struct target_error *why);
static inline void reverse_motion_interrupt(struct reverse_motion *m)
{
    if (m->state == REVERSE_SEARCH)
        m->state = REVERSE_INTERRUPTED;
    else if (m->state == REVERSE_VALUES)
        m->quick = true; /* with what is known by now */
    m->ctrl_c = true;
}

/* Goes on with a motion that waits. */
void reverse_motion_go_on(struct reverse_motion *m);
/*
 * What host.later() asked for: a slice of a search, or, when no motion is under way, of what the
 * next ones will need.
 */
void reverse_motion_idle(struct reverse_motion *m);

/* What machine.read is asked for now is for later. */
static inline bool reverse_motion_ahead(const struct reverse_motion *m)
{
    return m->state == REVERSE_AHEAD;
}

/* Memory has come that such questions lacked. */
void reverse_motion_fetched(struct reverse_motion *m, int core);

/* The same for what motions wait for: all has been read of the halted core that will be. */
void reverse_motion_known(struct reverse_motion *m);

/* The core's history is open, maybe from now on. BT_OK or a bt_error with a text. */
int reverse_motion_open(struct reverse_motion *m, int core, struct target_error *why);

/* For a core at a replay position. */
int reverse_motion_regs(struct reverse_motion *m, int core, struct target_regs *regs);
size_t reverse_motion_memory(struct reverse_motion *m, int core, uint64_t address, uint8_t *bytes,
                             size_t there, size_t len);

/* The replay position of a core; 0 if it has none, or is at the very beginning. */
static inline uint64_t reverse_motion_position(const struct reverse_motion *m, int core)
{
    return reverse_motion_active(m, core) ? m->cores[core].reverse.position : 0;
}

/* "replaying, at 216"; false if it is not. */
bool reverse_motion_status(const struct reverse_motion *m, int core, char *text, size_t size);

/* The halted core's machine is there. BT_OK, TARGET_PENDING, or a bt_error. */
int reverse_motion_prepare(struct reverse_motion *m, int core);
/* Memory that the newest window of accesses lacked is on its way: the window is dropped, and
 * reverse_motion_go_on() follows. */
bool reverse_motion_lacks(struct reverse_motion *m, int core);

/*
 * Windows of the search, or a slice of them. Returns an enum reverse_found or a bt_error; the
 * position of `p` does not change. Addresses and `back` are set before it is opened.
 */
enum reverse_found {
    REVERSE_FOUND_NOTHING, /* the end of the history was reached; position is first or end */
    REVERSE_FOUND_BREAKPOINT,
    REVERSE_FOUND_GAP,  /* trace is missing right before the position */
    REVERSE_FOUND_MORE, /* the slice is over */
};
int reverse_search_open(struct reverse *p, struct reverse_search *s);
int reverse_search_some(struct reverse *p, struct reverse_search *s);

/*
 * server/reverse/reverse_written.c: who wrote or read what `what` names, a variable or an address,
 * maybe with a number of answers behind it; up to the position. TARGET_PENDING: host.answered()
 * follows; BT_OK: all is said.
 */
int reverse_question_begin(struct reverse_motion *m, int core, const char *what, bool read,
                           target_print_fn print, void *to);
/* A variable of the core's programs, or an address with or without '*': false if it is neither. */
bool reverse_place(struct reverse_motion *m, int core, const char *text, uint64_t *address,
                   uint32_t *size);

/* server/reverse/reverse_monitor.c: "monitor" commands; BT_ERR_UNSUPPORTED:
 * no such command here. */
int reverse_monitor(struct reverse_motion *m, int core, const char *text, target_print_fn print,
                    void *to);
void reverse_monitor_help(target_print_fn print, void *to);

#endif
