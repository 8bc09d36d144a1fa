/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A page of numbers in the text format of Prometheus, by libmicrohttpd on the event loop: only
 * GET /metrics, on an address of this machine, under no name but localhost.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "protocol/rsp/text_buf.h"
#include "server/config/config.h"

#include <uv.h>

struct metrics; /* private */

/* Writes the page; from the event loop. */
typedef void (*metrics_page_fn)(void *ctx, struct text_buf *out);

/* Says in the log where the page is. NULL with *why filled: the address cannot be listened on. */
struct metrics *metrics_start(uv_loop_t *loop, const struct address *address, metrics_page_fn page,
                              void *ctx, struct message *why);

/* The loop ends when it is closed. NULL is allowed. */
void metrics_stop(struct metrics *m);

#endif
