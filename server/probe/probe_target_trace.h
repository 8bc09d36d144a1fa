/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace of a target that is reached through a probe of ours: trace_setup.h over the probe's own
 * bus, and SWO as the probe captures it. All calls come from the thread that owns the probe; what
 * the sink gets comes from within them.
 *
 *   probe_target_trace_open          once, before the decoders are made: completes the
 * configuration probe_target_trace_resume        before the core runs, also for a single step
 *   probe_target_trace_poll          every few ms while it runs
 *   probe_target_trace_halted        when it has halted, before GDB is told
 *   probe_target_trace_reset         when the target was reset, or the probe was pulled
 *   probe_target_trace_close
 *
 * An error of a call means that history is missing, never that run control does not work: the
 * target can go on. The caller shows `why`, and looks at probe_link_is_gone().
 */
#ifndef SERVER_PROBE_TARGET_TRACE_H
#define SERVER_PROBE_TARGET_TRACE_H

#include "server/probe/probe_link.h"
#include "server/trace_unit/trace_setup.h"

struct probe_target_trace {
    struct trace_setup setup; /* setup.notes: lines for people; setup.history: is there any */
    /* Private. */
    struct probe_link *probe;
    struct trace_sink sink;
    unsigned generation; /* of the link at the last programming */
    bool capturing;      /* SWO */
    bool stopped;        /* the buffer was collected and has to be started again */
    bool attached;       /* config->attach: nothing has been programmed yet */
    bool off;            /* by command */
    bool ran;            /* since the last probe_target_trace_halted() */
    uint64_t received;   /* bytes of SWO */
};

/*
 * Discovers what the target has; config's cores are completed. `probe` and `config` must outlive
 * the trace. `sink` is copied; its `bytes` gets frames (config->formatted, config->mode), `lost`
 * the causes. Nothing is called before probe_target_trace_resume() or, with config->attach,
 * probe_target_trace_halted().
 * Returns 0, also if there is nothing to trace (t->setup.history is false, and the notes say why),
 * or BT_ERR_NOMEM, BT_ERR_IO (the probe or target is gone; *why is filled).
 * Close in all cases. */
int probe_target_trace_open(struct probe_target_trace *t, struct probe_link *probe,
                            struct config *config, const struct trace_sink *sink,
                            struct message *why);

/* Programs what has to be programmed, empties and starts the buffer. Quick when nothing changed. */
int probe_target_trace_resume(struct probe_target_trace *t, struct message *why);

/* Delivers what the probe has captured of SWO; returns at once for a buffer. */
int probe_target_trace_poll(struct probe_target_trace *t, struct message *why);

/*
 * Delivers all trace of the run that has ended: reads the buffer, or takes what the port still
 * sends. With config->attach, the first time,
 * that is what was captured before btraced came. */
int probe_target_trace_halted(struct probe_target_trace *t, struct message *why);

/* The trace units must be programmed again at the next resume. */
static inline void probe_target_trace_reset(struct probe_target_trace *t)
{
    t->setup.programmed = false;
    t->stopped = false;
}

/* Off: trace units are stopped before the core runs next, and the run has no history. */
static inline void probe_target_trace_enable(struct probe_target_trace *t, bool on)
{
    t->off = !on;
}

/* Ends the capture. Trace units and buffer are left as they are: a flight recorder goes on. */
void probe_target_trace_close(struct probe_target_trace *t);

#endif
