/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Live trace bytes: a thread of its own opens the input, reads, and hands on what
 * arrives. One that ends, or is pulled, is waited for again.
 */
#ifndef SERVER_TRACE_LINK_H
#define SERVER_TRACE_LINK_H

#include "drivers/probe/trace_stream.h"
#include "server/config/config.h"

struct trace_link; /* private */

struct trace_link_stats {
    uint64_t bytes;      /* of all connections */
    uint64_t trace;      /* the same, without pieces that are only syncs */
    uint64_t connection; /* of the present one, or the last */
    unsigned connections;
    bool connected;
};

/*
 * What the board file names; `config` must outlive the link. `sink` is called in the link's thread,
 * has a room(), and may block: then the source is held up. A socket is ready for the source when
 * this returns, a capture unit captures. Returns 0 or a bt_error with *why filled.
 */
int trace_link_start(const struct config *config, const struct trace_sink *sink,
                     struct trace_link **out, struct message *why);

/* Ends the thread; nothing is called after it. NULL is allowed. */
void trace_link_stop(struct trace_link *l);

void trace_link_stats(struct trace_link *l, struct trace_link_stats *stats);

/* Until the present connection has brought `bytes`; false after `timeout_ms`. Any thread. */
bool trace_link_wait(struct trace_link *l, uint64_t bytes, unsigned timeout_ms);

/* Until more than `trace` has come of what the statistics call so; false after `timeout_ms`. Any
 * thread. */
bool trace_link_wait_trace(struct trace_link *l, uint64_t trace, unsigned timeout_ms);

/* Where it stands, in words: "running: the source is connected", "stopped:
 * no source yet at ...". */
void trace_link_describe(struct trace_link *l, char *text, size_t size);

/* Until nothing but syncs has arrived for `quiet_ms`, and nothing can be on its way in the input
 * any more; false after `timeout_ms`. Any thread. */
bool trace_link_wait_quiet(struct trace_link *l, unsigned quiet_ms, unsigned timeout_ms);

#endif
