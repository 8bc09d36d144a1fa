/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/monitor/status.h"

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

/* For people. */

void status_report_clients(const struct status_clients *s, unsigned limit, const struct console *c)
{
    console_print(c,
                  "clients       %u of %u, of which %u look on; %" PRIu64
                  " bytes received, %" PRIu64 " sent; %" PRIu64 " refused, %" PRIu64
                  " dropped at a limit\n",
                  s->here, limit, s->looking_on, s->received, s->sent, s->refused, s->dropped);
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

/* For programs. */

void status_head(struct text_buf *out, const char *name, const char *type, const char *help)
{
    text_buf_printf(out, "# HELP btraced_%s %s\n# TYPE btraced_%s %s\n", name, help, name, type);
}

void status_number(struct text_buf *out, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    status_head(out, name, type, help);
    text_buf_printf(out, "btraced_%s %" PRIu64 "\n", name, value);
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
}

/* A quotation mark or a backslash in a name would end the label. */
static void label(struct text_buf *out, const char *name)
{
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            text_buf_putc(out, '\\');
        text_buf_putc(out, *name);
    }
}

static void sample(struct text_buf *out, const char *name, const char *core, const char *cause,
                   uint64_t value)
{
    text_buf_printf(out, "btraced_%s{core=\"", name);
    label(out, core);
    if (cause)
        text_buf_printf(out, "\",cause=\"%s", cause);
    text_buf_printf(out, "\"} %" PRIu64 "\n", value);
}

void status_page_cores(const struct status_core *cores, unsigned count, struct text_buf *out)
{
    status_head(out, "instructions_total", "counter", "Instructions decoded so far.");
    for (unsigned i = 0; i < count; i++)
        sample(out, "instructions_total", cores[i].name, NULL, cores[i].end);
    status_head(out, "history_bytes", "gauge", "Memory of the history.");
    for (unsigned i = 0; i < count; i++)
        sample(out, "history_bytes", cores[i].name, NULL, cores[i].memory);
    status_head(out, "gaps_total", "counter", "Places where trace is missing.");
    for (unsigned i = 0; i < count; i++)
        for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++)
            sample(out, "gaps_total", cores[i].name, bt_gap_name((enum bt_gap_cause)cause),
                   cores[i].gaps[cause]);
}
