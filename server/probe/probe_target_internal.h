/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make up the probe target. */
#ifndef SERVER_PROBE_TARGET_INTERNAL_H
#define SERVER_PROBE_TARGET_INTERNAL_H

#include "server/probe/probe_target.h"

static inline uint64_t probe_target_now_us(void)
{
    return probe_link_clock.now_us(probe_link_clock.user);
}

/* probe_target_recovery.c */

/* BT_OK when the probe is there; one that was gone is looked for. Before each operation. */
int probe_target_ready(struct probe_target *t);

/*
 * Behind each operation: `error`. An error is put in words into t->reported and, when it is not
 * NULL and still empty, into `why`; a probe that turns out to be gone is noted.
 */
int probe_target_result(struct probe_target *t, int error, struct target_error *why);

/* Sets t->reported, and `why` when it is not NULL. Returns `error`. */
int probe_target_refuse(struct probe_target *t, struct target_error *why, int error,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A line for GDB's console while something runs; dropped otherwise. */
void probe_target_report(struct probe_target *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Why the last access failed: returns `text`. */
const char *probe_target_describe(const struct probe_target *t, char *text, size_t size);

/* A look at a core has failed. After some in a row the target is looked for, as a probe is. */
void probe_target_silent(struct probe_target *t);

/* What runs cannot be followed any more: the session gets a stop, and the reason. */
void probe_target_give_up(struct probe_target *t, const char *reason);

/* Resets; the cores are halted at their first instruction. */
int probe_target_reset(struct probe_target *t);

/* probe_target_run.c: operations of struct gdb_target. */
int probe_target_halt_reason(void *ctx, struct target_stop *stop);
int probe_target_resume(void *ctx, const struct target_resume *resume, struct target_stop *stop,
                        struct target_error *why);
void probe_target_interrupt(void *ctx);

/* The cores that run: one may have halted. */
void probe_target_watch(struct probe_target *t);

#endif
