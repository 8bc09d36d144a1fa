/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that live targets and recordings have in common, in the words of `monitor status`,
 * `monitor clients` and of the page of metrics (text format of Prometheus, version 0.0.4).
 */
#ifndef SERVER_STATUS_H
#define SERVER_STATUS_H

#include "decoder/history/history.h"
#include "protocol/rsp/text_buf.h"
#include "server/access/gdb_clients.h"
#include "server/base/console.h"

#include <inttypes.h>

struct status_clients {
    unsigned here, looking_on;
    uint64_t received, sent;                           /* bytes, of those who are here */
    uint64_t connections, refused, dropped;            /* since the start */
    uint64_t away_longest_us, away_work_us, away_long; /* struct loop_time, of all who come */
};

/* `name` is borrowed. */
struct status_core {
    const char *name;
    uint64_t first, end; /* instructions kept */
    uint64_t memory;     /* bytes of the history */
    uint64_t gaps[BT_GAP_CAUSES];
};

/* Begins with what all connections have in common; NULL: there can be none. */
void status_of_connections(struct status_clients *s, const struct gdb_clients *g);
void status_add_client(struct status_clients *s, const struct gdb_client *c);

/* Nobody may write to the history meanwhile. */
void status_of_core(struct status_core *s, const char *name, const struct history *h);

/* For people. `limit`: clients at once. `now`: uv_now(). */
void status_report_clients(const struct status_clients *s, unsigned limit, const struct console *c);
void status_report_client(const struct gdb_client *k, bool me, const char *role, uint64_t now,
                          const struct console *c);
void status_report_core(const struct status_core *s, const struct console *c);

/* The ledger of a history, a line an entry. Then the lines that say what was decoded: trace,
 * history, gaps by cause. Nobody may write to the history meanwhile. */
void status_report_gaps(const struct console *c, const struct history *h);
void status_report_history(const struct console *c, const struct history *h);

/* For programs: the lines in front of samples; a sample with them; samples. `type` is gauge or
 * counter. */
void status_head(struct text_buf *out, const char *name, const char *type, const char *help);
static inline void status_number(struct text_buf *out, const char *name, const char *type,
                                 const char *help, uint64_t value)
{
    status_head(out, name, type, help);
    text_buf_printf(out, "btraced_%s %" PRIu64 "\n", name, value);
}
void status_page_clients(const struct status_clients *s, struct text_buf *out);
void status_page_cores(const struct status_core *cores, unsigned count, struct text_buf *out);

#endif
