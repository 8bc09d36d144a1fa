/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of a live target, once: `monitor status` and the page of metrics print the same. */
#ifndef SERVER_LIVE_STATUS_H
#define SERVER_LIVE_STATUS_H

#include "protocol/rsp/text_buf.h"
#include "server/base/console.h"

struct live;

/* Lines for people. */
void live_status_report(const struct live *l, const struct console *c);

/* In the text format of Prometheus, version 0.0.4. */
void live_status_page(const struct live *l, struct text_buf *out);

#endif
