/* SPDX-License-Identifier: BSD-3-Clause */
/* Observers beside the client, and what they are told without the other side. */
#include <stdlib.h>
#include <string.h>

#include "protocol/remote/gdb_remote_internal.h"

#define KNOWN_MAX ((size_t)1 << 20) /* bytes */

void gdb_remote_add_observer(struct gdb_remote *u, struct gdb_remote_observer *g)
{
    g->next = u->observers;
    g->linked = true;
    u->observers = g;
}

void gdb_remote_remove_observer(struct gdb_remote *u, struct gdb_remote_observer *g)
{
    if (!g->linked)
        return;
    g->linked = false;
    struct gdb_remote_observer **at = &u->observers;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    for (struct gdb_request **look = &u->looks; *look != NULL;) {
        struct gdb_request *r = *look;
        if (r->observer != g) {
            look = &r->next;
            continue;
        }
        *look = r->next;
        free(r);
    }
    if (u->in_flight != NULL && u->in_flight->observer == g) {
        u->in_flight->observer = NULL;
        u->in_flight->reply = NULL;
    }
}

static void observer_reply(void *ctx, const char *reply, size_t len)
{
    const struct gdb_remote_observer *g = ctx;
    g->ops->reply(g->ctx, reply, len);
}

int gdb_remote_look(struct gdb_remote *u, struct gdb_remote_observer *g,
                    const struct gdb_thread *thread, const char *payload, size_t len)
{
    if (u->phase != GDB_REMOTE_READY || !g->linked)
        return BT_ERR_IO;
    struct gdb_request *r = gdb_request_new(payload, len, observer_reply, g);
    if (r == NULL)
        return BT_ERR_NOMEM;
    r->observer = g;
    r->thread = *thread;
    struct gdb_request **at = &u->looks;
    while (*at != NULL)
        at = &(*at)->next;
    *at = r;
    gdb_remote_pump(u);
    return BT_OK;
}

struct gdb_request *gdb_remote_take_look(struct gdb_remote *u)
{
    struct gdb_request *r = u->looks;
    if (r == NULL || u->run != GDB_REMOTE_HALTED || u->holds_client)
        return NULL;
    u->looks = r->next;
    r->next = NULL;
    return r;
}

void gdb_remote_refuse_looks(struct gdb_remote *u, const char *reply)
{
    while (u->looks != NULL) {
        struct gdb_request *r = u->looks;
        u->looks = r->next;
        gdb_request_finish(r, reply, reply != NULL ? strlen(reply) : 0);
    }
}

/* Whoever is told may leave, but nobody else does from within. */
void gdb_remote_observers_stopped(struct gdb_remote *u, const char *reply, size_t len)
{
    for (struct gdb_remote_observer *g = u->observers, *next; g != NULL; g = next) {
        next = g->next;
        g->ops->stopped(g->ctx, reply, len);
    }
}

void gdb_remote_observers_go_on(struct gdb_remote *u)
{
    for (struct gdb_remote_observer *g = u->observers, *next; g != NULL; g = next) {
        next = g->next;
        g->ops->go_on(g->ctx);
    }
}

void gdb_remote_drop_observers(struct gdb_remote *u)
{
    while (u->observers != NULL) {
        struct gdb_remote_observer *g = u->observers;
        gdb_remote_remove_observer(u, g);
        g->ops->dropped(g->ctx);
    }
}

void gdb_remote_outdate(struct gdb_remote *u)
{
    u->epoch++;
}

/* What the other side says of itself. */

struct gdb_known {
    struct gdb_known *next;
    size_t question_len, reply_len;
    char bytes[]; /* the question, then the reply */
};

/* The features that were asked with make no difference: qSupported is known by its name. */
static size_t question_of(const char *payload, size_t len)
{
    static const char *const same[] = {"qXfer:features:read:", "qXfer:memory-map:read:", "vCont?",
                                       "qAttached", "qOffsets"};
    if (gdb_packet_starts(payload, len, "qSupported"))
        return strlen("qSupported");
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        if (gdb_packet_starts(payload, len, same[i]))
            return len;
    }
    return 0;
}

static struct gdb_known **find(struct gdb_remote *u, const char *payload, size_t len)
{
    struct gdb_known **at = &u->known;
    while (*at != NULL && ((*at)->question_len != len || memcmp((*at)->bytes, payload, len) != 0))
        at = &(*at)->next;
    return at;
}

static void remember_registers(struct gdb_remote *u, const struct gdb_request *r, const char *reply,
                               size_t len)
{
    int core = gdb_remote_core_of(u, &r->thread);
    if (reply == NULL || len == 0 || reply[0] == 'E' || memchr(reply, '\0', len) != NULL)
        return;
    if (core < 0)
        core = gdb_remote_stopped_core(u);
    free(u->registers[core]);
    u->registers[core] = strndup(reply, len);
}

void gdb_remote_forget_registers(struct gdb_remote *u)
{
    for (size_t i = 0; i < GDB_CORES_MAX; i++) {
        free(u->registers[i]);
        u->registers[i] = NULL;
    }
}

void gdb_remote_remember(struct gdb_remote *u, const struct gdb_request *r, const char *reply,
                         size_t len)
{
    size_t n = question_of(r->payload, r->len), used = 0;
    if (r->len == 1 && r->payload[0] == 'g')
        remember_registers(u, r, reply, len);
    if (n == 0 || reply == NULL || (len > 0 && reply[0] == 'E'))
        return;
    struct gdb_known **at = find(u, r->payload, n);
    if (*at != NULL) {
        struct gdb_known *old = *at;
        *at = old->next;
        free(old);
    }
    for (const struct gdb_known *k = u->known; k != NULL; k = k->next)
        used += k->question_len + k->reply_len;
    struct gdb_known *k = used + n + len > KNOWN_MAX ? NULL : malloc(sizeof(*k) + n + len);
    if (k == NULL)
        return;
    *k = (struct gdb_known){.next = u->known, .question_len = n, .reply_len = len};
    memcpy(k->bytes, r->payload, n);
    memcpy(k->bytes + n, reply, len);
    u->known = k;
}

const char *gdb_remote_known(const struct gdb_remote *u, const char *payload, size_t len,
                             size_t *reply_len)
{
    for (const struct gdb_known *k = u->known; k != NULL; k = k->next) {
        if (k->question_len != len || memcmp(k->bytes, payload, len) != 0)
            continue;
        *reply_len = k->reply_len;
        return k->bytes + k->question_len;
    }
    return NULL;
}

void gdb_remote_forget_known(struct gdb_remote *u)
{
    while (u->known != NULL) {
        struct gdb_known *k = u->known;
        u->known = k->next;
        free(k);
    }
}
