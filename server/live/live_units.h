/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace units of a target behind another GDB server, found and programmed through its memory
 * (trace_setup.h over target_bus.h), and the trace buffer read out the same way. Only
 * with [trace] sink in the board file.
 *
 * Called on the event loop, but where said otherwise; the registers are accessed in a worker
 * thread, while the client of the GDB server waits.
 */
#ifndef SERVER_LIVE_UNITS_H
#define SERVER_LIVE_UNITS_H

#include "server/trace_unit/target_bus.h"
#include "server/trace_unit/trace_setup.h"

struct live;

/* Legal: idle -> busy -> idle; busy -> again -> busy. */
enum live_units_work {
    LIVE_UNITS_IDLE,
    LIVE_UNITS_BUSY,  /* the worker has the registers */
    LIVE_UNITS_AGAIN, /* the same, for a connection that was lost: it is to begin anew */
};

struct live_units {
    bool wanted; /* the board file names a sink */
    bool found;  /* trace_setup_discover() has succeeded; l->pipeline is there if it has history */
    _Atomic bool off; /* by command; the worker reads it */
    enum live_units_work state;
    uv_mutex_t lock; /* of the worker threads: one at a time */
    struct target_bus bus;
    struct trace_setup setup; /* the worker's, while there is one */
    uv_work_t work;
    int error; /* of the worker */
    struct message why;
    char reported[640];       /* the trouble that was told last; "" if there is none now */
    struct trace_notes notes; /* about what was found */
    void (*done)(struct live *l);
};

/*
 * At a halt, when its trace is decoded: finds the components if that was not done yet, makes the
 * decoders, and programs what a reset has undone. Then calls `done`, maybe at once. What goes wrong
 * is logged on standard error and in the summary; the target goes on without history.
 */
void live_units_prepare(struct live *l, void (*done)(struct live *l));

#endif
