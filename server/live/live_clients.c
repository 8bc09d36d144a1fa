/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/live/live_clients.h"

#include "live_internal.h"
#include "server/base/log.h"
#include "server/monitor/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct live_client *new_client(struct live *l, struct gdb_client *c)
{
    struct live_client *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    if (live_reverse_client(l, k) != BT_OK) {
        free(k);
        return NULL;
    }
    k->live = l;
    k->client = c;
    k->session = &c->session;
    k->size = BTRACE_DEFAULT_SIZE;
    for (unsigned i = 0; i < l->config->core_count; i++)
        k->cores[i].recording = l->cores[i].recording;
    struct live_client **at = &l->clients;
    while (*at)
        at = &(*at)->next;
    *at = k;
    return k;
}

static void unlink_client(struct live_client *k)
{
    struct live_client **at = &k->live->clients;
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
}

void live_client_free(struct live_client *k)
{
    if (!k)
        return;
    reverse_motion_release(&k->motion);
    free(k);
}

struct live_client *live_client_of(const struct live *l, unsigned number)
{
    struct live_client *k = l->clients;
    while (k && k->client->number != number)
        k = k->next;
    return k;
}

static void log_control(const struct live_client *k)
{
    log_write(LOG_AT_INFO, "btraced: client %u (%s) is in control\n", k->client->number,
              k->client->connection->peer);
}

static void give_control(struct live *l, struct live_client *k)
{
    l->control = k;
    if (!k)
        return;
    gdb_session_take_control(k->session);
    log_control(k);
}

/* The one that has waited longest; only a queue passes control on by itself. */
static void pass_control(struct live *l)
{
    struct live_client *next = l->clients;
    while (next && next == l->control)
        next = next->next;
    give_control(l, l->config->others == CONFIG_OTHERS_QUEUE ? next : NULL);
}

static int open_control(struct live_client *k, gdb_send_fn send, void *send_ctx)
{
    struct live *l = k->live;
    int error = gdb_session_init_remote(k->session, &live_target, k, l->remote, send, send_ctx);
    if (error)
        return error;
    l->control = k;
    log_control(k);
    return BT_OK;
}

static int open_observer(struct live_client *k, gdb_send_fn send, void *send_ctx)
{
    const struct live *l = k->live;
    const struct gdb_client *c = l->control->client;
    char text[360];
    snprintf(text, sizeof text,
             "client %u (%s) is in control of the target, you look on: registers, memory and "
             "history can be read while it is halted%s\n",
             c->number, c->connection->peer,
             l->config->others == CONFIG_OTHERS_QUEUE ? "; you wait for control" : "");
    int error =
        gdb_session_init_observer(k->session, &live_target, k, l->remote, text, send, send_ctx);
    if (!error)
        log_write(LOG_AT_INFO, "btraced: client %u (%s) looks on\n", k->client->number,
                  k->client->connection->peer);
    return error;
}

static int open_refused(struct live_client *k, gdb_send_fn send, void *send_ctx)
{
    const struct gdb_client *c = k->live->control->client;
    char text[CONNECTION_PEER_MAX + 120];
    int error =
        gdb_session_init_observer(k->session, &live_target, k, k->live->remote, "", send, send_ctx);
    if (error)
        return error;
    snprintf(text, sizeof text, "client %u (%s) is in control, and [gdb] others = refuse",
             c->number, c->connection->peer);
    gdb_session_refuse(k->session, text);
    return BT_OK;
}

int live_admit(struct live *l, struct gdb_client *c, gdb_send_fn send, void *send_ctx)
{
    int error;
    struct live_client *k = new_client(l, c);
    if (!k)
        return BT_ERR_NOMEM;
    if (!l->control)
        error = open_control(k, send, send_ctx);
    else if (l->config->others == CONFIG_OTHERS_REFUSE)
        error = open_refused(k, send, send_ctx);
    else
        error = open_observer(k, send, send_ctx);
    c->served = error ? NULL : k;
    if (error) {
        unlink_client(k);
        live_client_free(k);
    }
    return error;
}

void live_leave(struct live *l, struct gdb_client *c)
{
    struct live_client *k = c->served;
    if (k == l->control && !l->leaving)
        pass_control(l);
    if (k == l->control)
        l->control = NULL;
    unlink_client(k);
}

int live_take_control(struct live_client *k, struct gdb_why *why)
{
    struct live *l = k->live;
    if (l->control == k) {
        snprintf(why->text, sizeof why->text, "you are in control already");
        return BT_ERR_INVAL;
    }
    if (l->control) {
        snprintf(why->text, sizeof why->text, "client %u (%.80s) is in control",
                 l->control->client->number, l->control->client->connection->peer);
        return BT_ERR_INVAL;
    }
    give_control(l, k);
    return BT_OK;
}

/* GDB keeps what it shows: the target has not run since. */
bool live_release_control(struct live_client *k)
{
    struct live *l = k->live;
    gdb_session_give_control(k->session);
    pass_control(l);
    log_write(LOG_AT_INFO, "btraced: client %u (%s) has given control away\n", k->client->number,
              k->client->connection->peer);
    return l->control != NULL;
}

static const char *role(const struct live *l, const struct live_client *k)
{
    if (k == l->control)
        return "in control";
    return l->config->others == CONFIG_OTHERS_QUEUE ? "looks on, waits for control" : "looks on";
}

void live_clients_list(const struct live *l, const struct live_client *me, const struct console *c)
{
    uint64_t now = uv_now(l->loop);
    for (const struct live_client *k = l->clients; k; k = k->next)
        status_report_client(k->client, k == me, role(l, k), now, c);
}

/* What concerns all. */

/* GDB waits for the end of a motion that can have none any more. */
static void end_motion(struct live_client *k, const char *why)
{
    bool waits = reverse_motion_running(&k->motion);
    reverse_motion_forget(&k->motion);
    memset(k->misses, 0, sizeof k->misses);
    if (waits)
        gdb_session_resume_failed(k->session, why);
}

void live_clients_forget(struct live *l)
{
    for (struct live_client *k = l->clients, *next; k; k = next) {
        next = k->next;
        end_motion(k, "the target was changed or runs again: its history is another one now");
    }
}

void live_clients_moved(struct live *l)
{
    for (struct live_client *k = l->clients; k; k = k->next)
        for (unsigned i = 0; i < l->config->core_count; i++)
            k->cores[i].moved = true;
    gdb_remote_outdate(l->remote);
}

void live_clients_go_on(struct live *l)
{
    for (struct live_client *k = l->clients, *next; k; k = next) {
        next = k->next;
        reverse_motion_go_on(&k->motion);
    }
}

void live_clients_report(struct live *l, const char *text)
{
    for (struct live_client *k = l->clients, *next; k; k = next) {
        next = k->next;
        gdb_session_output(k->session, text);
    }
}
