/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make up a live target. */
#ifndef SERVER_LIVE_INTERNAL_H
#define SERVER_LIVE_INTERNAL_H

#include "server/live/live.h"

/* Thread of the target's own GDB server, 0-based. */
static inline int live_thread(const struct live_core *c)
{
    return (int)c->config->thread - 1;
}

/* live_gdb.c: the core of a thread; NULL if the board file does not name it. */
struct live_core *live_core_of(struct live *l, int thread);
/* live_gdb.c: the core has halted in AArch64 state: its PSTATE.M[4] is 0. */
bool live_is_a64(const struct live_core *c);
/* live_gdb.c: how the core's history leads to the halt; `size` is that of GDB's buffer. With the
 * pipeline locked. */
void live_view(const struct live *l, const struct live_core *c, uint32_t size,
               struct btrace_view *view);

/* live_reverse_read.c: see machine() and fetch() of struct reverse_host. */
int live_reverse_machine(void *ctx, int core, struct reverse_machine *m);
int live_reverse_fetch(void *ctx, int core);

/* live_trace.c: pipeline, link, and recording if the board file wants it. */
int live_start_trace(struct live *l, const struct pipeline_config *p, struct message *why);

/* live.c: the same, with a source for each core that has one. After an error there is no trace. */
int live_start_sources(struct live *l, struct message *why);

/* live_monitor.c: resets the target with the words of the board file; BT_ERR_UNSUPPORTED: it has
 * none, or the probe target does it. */
int live_restart(struct live *l);

/* live.c: what is known of the halted cores, and what was programmed for them, may be otherwise. */
void live_look_again(struct live *l);

/* live_record.c: a recording gets the cores as they are halted. Then `done` is called (maybe at
 * once), unless the connection is lost meanwhile. */
void live_record_halt(struct live *l, void (*done)(struct live *l));

/* live_trace.c: bytes from whoever captures, in its thread. */
void live_take_bytes(struct live *l, const uint8_t *data, size_t len);
void live_take_loss(struct live *l, enum bt_gap_cause cause);
uint64_t live_bytes(const struct live *l);

/* live_probe.c */
int live_connect_probe(struct live *l);
/* The probe target was reset since this was asked last. */
bool live_probe_reset(struct live *l);

/* live_trace.c: for a worker thread; work->data is the target. l->drain tells how it ended. */
void live_drain_work(uv_work_t *work);

#endif
