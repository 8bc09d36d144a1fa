/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which task ran when, along the path of an M-profile core: each store to the kernel's pointer to
 * the current task that the DWT told of (instruction, value) is one of that instruction on the
 * traced path. Both are in order, and a packet of the ITM stands at most EXPORT_TASKS_LAG bytes of
 * the core's trace from what it tells of. Where both are silent for longer than that, all before is
 * certain. Where either lacks something, or one contradicts the other, what is not certain is not
 * known, and nothing is up to the next silence.
 *
 * Of other cores the context IDs in the trace tell, where there are several: an operating system
 * writes one for each of its tasks (processes).
 */
#ifndef SERVER_EXPORT_TASKS_H
#define SERVER_EXPORT_TASKS_H

#include "decoder/calls/calls.h"
#include "server/export/export_args.h"

#define EXPORT_TASKS_LAG 128u
#define EXPORT_CONTEXT   ((uint64_t)1 << 62) /* and a context ID: a task; no address has it alone */

/* The task of whom context ID `key` has; 0: it has none. */
static inline uint64_t export_context(const struct code_key *key)
{
    return key->has_context ? EXPORT_CONTEXT | key->context : 0;
}

/* From `position` on (an instruction, from 0) `task` is the current one. */
struct export_switch {
    uint64_t position;
    uint64_t task; /* address of its control block, or EXPORT_CONTEXT with an ID; 0: not known */
};

struct export_tasks {
    struct export_switch *list; /* NULL: nothing is told of tasks */
    size_t count, max;
    size_t next; /* that the calls have not been told of */
};

/*
 * Decodes the source, and its ITM; fine where no comparator watches such a pointer: that of
 * FreeRTOS, Zephyr, ThreadX, or a variable `current_task`; and where the core's trace has less than
 * two context IDs. 0 or a bt_error. Release in both cases.
 */
int export_tasks_find(struct export_tasks *t, struct export_opened *o,
                      const struct recording_source *source);

/* Whether there is such a comparator, or trace of context IDs. */
bool export_tasks_watched(const struct export_opened *o, const struct recording_source *source);
void export_tasks_release(struct export_tasks *t);

/* What a task is called: as its control block's variable, or by its context ID. Into `out`. */
const char *export_task_name(const struct export_names *names, uint64_t task, char *out,
                             size_t size);

/* The comparator of the ITM's core that watches such a pointer; 4: none. */
unsigned export_tasks_comparator(const struct export_opened *o, const struct recording_source *itm);

/* Tells the calls of all switches before instruction `number`, before they get what comes there. */
void export_tasks_tell(struct export_tasks *t, struct calls *calls, uint64_t number);

#endif
