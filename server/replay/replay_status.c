/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of a recording: `monitor status`, `monitor clients`, the page of metrics. */
#include "server/monitor/status.h"
#include "server/replay/replay.h"

#include <inttypes.h>

static void gather_clients(const struct replay *r, struct status_clients *s)
{
    status_of_connections(s, r->connections);
    for (const struct replay_client *k = r->clients; k; k = k->next)
        status_add_client(s, k->client);
}

static unsigned gather_cores(const struct replay *r, struct status_core *cores)
{
    unsigned count = 0;
    for (size_t i = 0; i < r->core_count; i++)
        if (r->cores[i].trace)
            status_of_core(&cores[count++], r->cores[i].name, r->cores[i].trace->history);
    return count;
}

static uint64_t up_s(const struct replay *r)
{
    return (uv_hrtime() - r->started) / 1000000000;
}

void replay_status_report(const struct replay *r, const struct console *c)
{
    struct status_clients clients;
    struct status_core cores[GDB_CORES_MAX];
    unsigned count = gather_cores(r, cores);
    gather_clients(r, &clients);
    console_print(c, "target        a recording; up %" PRIu64 " s\n", up_s(r));
    status_report_clients(&clients, r->connections->limits->clients, c);
    for (unsigned i = 0; i < count; i++)
        status_report_core(&cores[i], c);
}

void replay_status_page(const struct replay *r, struct text_buf *out)
{
    struct status_clients clients;
    struct status_core cores[GDB_CORES_MAX];
    unsigned count = gather_cores(r, cores);
    gather_clients(r, &clients);
    status_number(out, "up_seconds", "gauge", "Seconds since the start.", up_s(r));
    status_page_clients(&clients, out);
    status_page_cores(cores, count, out);
}

/* Nobody is in control: each moves through the recording by itself. */
static const char *place(const struct replay_client *k)
{
    for (size_t i = 0; i < k->replay->core_count; i++)
        if (reverse_motion_active(&k->reverse, (int)i))
            return "replaying";
    return "at the end";
}

void replay_clients_list(const struct replay *r, const struct replay_client *me,
                         const struct console *c)
{
    uint64_t now = uv_now(r->connections->loop);
    for (const struct replay_client *k = r->clients; k; k = k->next)
        status_report_client(k->client, k == me, place(k), now, c);
}
