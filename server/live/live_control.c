/* SPDX-License-Identifier: BSD-3-Clause */
/* Who of the clients of a live target is in control, and how that changes. */
#include "live_internal.h"

#include "server/base/log.h"
#include "server/monitor/status.h"

#include <stdio.h>
#include <stdlib.h>

void live_audit(const struct live_client *k, const char *what, const char *detail)
{
    audit_write(k->live->audit, k->client->number, k->client->connection->peer, what, "%s", detail);
}

void live_log_control(const struct live_client *k)
{
    live_audit(k, "control", "in control");
    log_write(LOG_AT_INFO, "btraced: client %u (%s) is in control\n", k->client->number,
              k->client->connection->peer);
}

static void give_control(struct live *l, struct live_client *k)
{
    l->control = k;
    if (!k)
        return;
    gdb_session_take_control(k->session);
    live_log_control(k);
}

bool live_may_control(const struct live_client *k)
{
    return k->client->connection->role == ROLE_CONTROL;
}

/* The one that has waited longest; only a queue passes control on by itself. */
static void pass_control(struct live *l)
{
    struct live_client *next = l->clients;
    while (next && (next == l->control || !live_may_control(next)))
        next = next->next;
    give_control(l, l->config->others == CONFIG_OTHERS_QUEUE ? next : NULL);
}

static const char *client_role(const struct live_client *k)
{
    if (k == k->live->control)
        return "in control";
    if (gdb_session_is_asking(k->session))
        return "asks";
    if (!live_may_control(k))
        return "looks on, by [access]";
    return k->live->config->others == CONFIG_OTHERS_QUEUE ? "looks on, waits for control"
                                                          : "looks on";
}

void live_unlink(struct live_client *k)
{
    struct live_client **at = &k->live->clients;
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
}

void live_granted(struct live *l, struct gdb_client *c)
{
    struct live_client *k = c->served;
    if (c->connection->role == ROLE_QUERY)
        gdb_session_only_asks(k->session);
    if (k != l->control || live_may_control(k))
        return;
    gdb_session_lose_control(k->session, "[access] does not let you control the target any more\n");
    log_write(LOG_AT_INFO, "btraced: client %u (%s) looks on, by [access]\n", c->number,
              c->connection->peer);
    pass_control(l);
}

void live_leave(struct live *l, struct gdb_client *c)
{
    struct live_client *k = c->served;
    if (k == l->control)
        live_audit(k, "control", "left");
    live_question_forget(k);
    if (k == l->control && l->phase < LIVE_LEAVING)
        pass_control(l);
    if (k == l->control)
        l->control = NULL;
    live_unlink(k);
}

int live_list_clients(const struct live_line *q)
{
    uint64_t now = uv_now(q->live->loop);
    for (const struct live_client *k = q->live->clients; k; k = k->next)
        status_report_client(k->client, k == q->client, client_role(k), now, q->c);
    return BT_OK;
}

int live_take_free(const struct live_line *q)
{
    const struct live_client *has = q->live->control;
    if (has == q->client) {
        console_print(q->c, "you are in control already\n");
    } else if (!live_may_control(q->client)) {
        console_print(q->c, "you look on: [access] does not let you control the target\n");
    } else if (has) {
        console_print(q->c, "client %u (%.80s) is in control\n", has->client->number,
                      has->client->connection->peer);
    } else {
        give_control(q->live, q->client);
        console_print(q->c, "you are in control of the target now\n");
    }
    return BT_OK;
}

/* From whoever has it, who goes on looking on. */
int live_take_control(const struct live_line *q)
{
    struct live *l = q->live;
    struct live_client *from = l->control;
    const struct gdb_client *me = q->client->client;
    char text[CONNECTION_PEER_MAX + 80];
    if (!from || from == q->client || !live_may_control(q->client))
        return live_take_free(q);
    snprintf(text, sizeof text, "client %u (%s) has taken control of the target; you look on\n",
             me->number, me->connection->peer);
    gdb_session_lose_control(from->session, text);
    log_write(LOG_AT_WARNING, "btraced: client %u (%s) takes control from client %u (%s)\n",
              me->number, me->connection->peer, from->client->number,
              from->client->connection->peer);
    give_control(l, q->client);
    console_print(q->c, "you are in control of the target now; client %u looks on\n",
                  from->client->number);
    return BT_OK;
}

/* Any connection, also one that was refused and is still there. */
int live_kick(const struct live_line *q)
{
    const struct gdb_client *me = q->client->client;
    char *end, text[CONNECTION_PEER_MAX + 80];
    unsigned long number = strtoul(q->rest, &end, 10);
    struct gdb_client *k = q->live->connections->first;
    while (k && k->number != number)
        k = k->next;
    if (!live_may_control(q->client)) {
        console_print(q->c, "you look on: [access] does not let you end the session of others\n");
    } else if (end == q->rest || *end || number == 0 || !k) {
        console_print(q->c,
                      "no such client: 'monitor kick N' wants a number of 'monitor clients'\n");
    } else if (k == me) {
        console_print(q->c, "that is you: 'disconnect' ends your session\n");
    } else {
        snprintf(text, sizeof text, "client %u (%s) has ended your session", me->number,
                 me->connection->peer);
        console_print(q->c, "client %lu is disconnected\n", number);
        gdb_client_end(k, text);
    }
    return BT_OK;
}

/* GDB keeps what it shows: the target has not run since. */
int live_give_up(const struct live_line *q)
{
    const struct gdb_client *c = q->client->client;
    gdb_session_give_control(q->client->session);
    pass_control(q->live);
    log_write(LOG_AT_INFO, "btraced: client %u (%s) has given control away\n", c->number,
              c->connection->peer);
    if (q->live->control)
        console_print(q->c, "you give control to client %u; you look on\n",
                      q->live->control->client->number);
    else
        console_print(q->c, "nobody is in control now; you look on. 'monitor control' takes it\n");
    return BT_OK;
}
