/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/monitor/status.h"

#include "server/base/log.h"

#include <inttypes.h>
#include <string.h>

void status_of_connections(struct status_clients *s, const struct gdb_clients *g)
{
    memset(s, 0, sizeof *s);
    if (!g)
        return;
    s->connections = g->last_number;
    s->refused = g->refused;
    s->dropped = g->dropped;
    s->away_longest_us = g->loop_time.longest_us;
    s->away_work_us = g->loop_time.longest_work_us;
    s->away_long = g->loop_time.long_rounds;
}

void status_add_client(struct status_clients *s, const struct gdb_client *c)
{
    s->here++;
    s->received += c->received;
    s->sent += c->sent;
}

void status_of_core(struct status_core *s, const char *name, const struct history *h)
{
    *s = (struct status_core){.name = name,
                              .first = history_first(h),
                              .end = history_end(h),
                              .memory = history_memory(h)};
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++)
        s->gaps[cause] = history_gap_count(h, (enum bt_gap_cause)cause);
}

void status_report_clients(const struct status_clients *s, unsigned limit, const struct console *c)
{
    console_print(c,
                  "clients       %u of %u, of which %u look on; %" PRIu64
                  " bytes received, %" PRIu64 " sent; %" PRIu64 " refused, %" PRIu64
                  " dropped at a limit\n",
                  s->here, limit, s->looking_on, s->received, s->sent, s->refused, s->dropped);
    console_print(c,
                  "event loop    away for %" PRIu64 ".%" PRIu64 " ms at most, %" PRIu64
                  " times for more than %d ms; at work for %" PRIu64 ".%" PRIu64 " ms at most\n",
                  s->away_longest_us / 1000, s->away_longest_us % 1000 / 100, s->away_long,
                  LOOP_TIME_LONG_MS, s->away_work_us / 1000, s->away_work_us % 1000 / 100);
    if (log_lost())
        console_print(c, "log           %" PRIu64 " lines were lost: nobody took them\n",
                      log_lost());
}

void status_report_client(const struct gdb_client *k, bool me, const char *role, uint64_t now,
                          const struct console *c)
{
    console_print(c,
                  "%c client %u  %s  %s, connected %" PRIu64 " s, heard %" PRIu64 " s ago, %" PRIu64
                  " bytes received, %" PRIu64 " sent\n",
                  me ? '*' : ' ', k->number, k->connection->peer, role, (now - k->since) / 1000,
                  (now - k->heard) / 1000, k->received, k->sent);
}

void status_report_core(const struct status_core *s, const struct console *c)
{
    if (s->end > s->first)
        console_print(c,
                      "history       %s: instructions %" PRIu64 " to %" PRIu64 ", %" PRIu64 " kB\n",
                      s->name, s->first + 1, s->end, s->memory >> 10);
    else
        console_print(c, "history       %s: no instruction, %" PRIu64 " kB\n", s->name,
                      s->memory >> 10);
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++)
        if (s->gaps[cause])
            console_print(c, "gaps          %s: %" PRIu64 " %s\n", s->name, s->gaps[cause],
                          bt_gap_name((enum bt_gap_cause)cause));
}

static void print_gap_counts(const struct console *c, const struct history *h)
{
    bool any = false;
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        uint64_t n = history_gap_count(h, (enum bt_gap_cause)cause);
        if (!n)
            continue;
        console_print(c, "%s%" PRIu64 " %s", any ? ", " : "", n,
                      bt_gap_name((enum bt_gap_cause)cause));
        any = true;
    }
    console_print(c, any ? "\n" : "none\n");
}

void status_report_gaps(const struct console *c, const struct history *h)
{
    const struct gap_entry *gaps;
    size_t n = history_gaps(h, &gaps);
    for (size_t i = 0; i < n; i++) {
        console_print(c, "before instruction %" PRIu64 ", trace byte %" PRIu64 ": %s",
                      gaps[i].position + 1, gaps[i].offset,
                      bt_gap_name((enum bt_gap_cause)gaps[i].cause));
        if (gaps[i].has_address)
            console_print(c, ", address 0x%08" PRIx64, gaps[i].address);
        if (gaps[i].bytes)
            console_print(c, ", %" PRIu64 " bytes", gaps[i].bytes);
        if (gaps[i].doubtful)
            console_print(c, ", instructions from %" PRIu64 " on may be wrong",
                          gaps[i].position - gaps[i].doubtful + 1);
        console_print(c, "\n");
    }
    if (n == 0)
        console_print(c, "no gaps\n");
}

void status_report_history(const struct console *c, const struct history *h)
{
    struct history_totals totals;
    history_totals(h, &totals);
    console_print(c,
                  "trace         %" PRIu64 " bytes, %" PRIu64 " packets, %" PRIu64
                  " bytes skipped without synchronisation\n",
                  totals.bytes, totals.packets, totals.skipped);
    if (history_end(h) > history_first(h))
        console_print(
            c, "history       instructions %" PRIu64 " to %" PRIu64 " in %" PRIu64 " blocks\n",
            history_first(h) + 1, history_end(h), totals.blocks);
    else
        console_print(c, "history       no instruction\n");
    console_print(c, "gaps          ");
    print_gap_counts(c, h);
}

void status_head(struct text_buf *out, const char *name, const char *type, const char *help)
{
    text_buf_printf(out, "# HELP btraced_%s %s\n# TYPE btraced_%s %s\n", name, help, name, type);
}

void status_page_clients(const struct status_clients *s, struct text_buf *out)
{
    status_number(out, "clients", "gauge", "Clients that are connected.", s->here);
    status_number(out, "clients_looking_on", "gauge", "Clients that are not in control.",
                  s->looking_on);
    status_number(out, "client_connections_total", "counter", "Clients that have come.",
                  s->connections);
    status_number(out, "clients_refused_total", "counter", "Clients that were refused.",
                  s->refused);
    status_number(out, "clients_dropped_total", "counter", "Clients that were dropped at a limit.",
                  s->dropped);
    status_number(out, "loop_away_longest_microseconds", "gauge",
                  "The longest time that the event loop served nobody.", s->away_longest_us);
    status_number(out, "loop_work_longest_microseconds", "gauge",
                  "The most processor time that the event loop took without serving anybody else.",
                  s->away_work_us);
    status_number(out, "loop_away_long_total", "counter",
                  "Times that the event loop served nobody for more than 50 ms.", s->away_long);
}

/* A quotation mark or a backslash in a name would end the label. */
static void put_label(struct text_buf *out, const char *name)
{
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            text_buf_putc(out, '\\');
        text_buf_putc(out, *name);
    }
}

static void put_sample(struct text_buf *out, const char *name, const char *core, const char *cause,
                       uint64_t value)
{
    text_buf_printf(out, "btraced_%s{core=\"", name);
    put_label(out, core);
    if (cause)
        text_buf_printf(out, "\",cause=\"%s", cause);
    text_buf_printf(out, "\"} %" PRIu64 "\n", value);
}

void status_page_cores(const struct status_core *cores, unsigned count, struct text_buf *out)
{
    status_head(out, "instructions_total", "counter", "Instructions decoded so far.");
    for (unsigned i = 0; i < count; i++)
        put_sample(out, "instructions_total", cores[i].name, NULL, cores[i].end);
    status_head(out, "history_bytes", "gauge", "Memory of the history.");
    for (unsigned i = 0; i < count; i++)
        put_sample(out, "history_bytes", cores[i].name, NULL, cores[i].memory);
    status_head(out, "gaps_total", "counter", "Places where trace is missing.");
    for (unsigned i = 0; i < count; i++)
        for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++)
            put_sample(out, "gaps_total", cores[i].name, bt_gap_name((enum bt_gap_cause)cause),
                       cores[i].gaps[cause]);
}
