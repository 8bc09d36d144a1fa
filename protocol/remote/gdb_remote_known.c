/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of the other side without asking it: its threads, what it said of itself, the
 * registers of the last halt, and the breakpoints that a client has planted there, so that they can
 * be taken out when it leaves.
 */
#include <stdlib.h>
#include <string.h>

#include "gdb_remote_internal.h"

#define KNOWN_MAX ((size_t)1 << 20) /* bytes */

int gdb_remote_cores(const struct gdb_remote *u)
{
    return u->core_count > 0 ? u->core_count : 1;
}

int gdb_remote_core_of(const struct gdb_remote *u, const struct gdb_thread *thread)
{
    for (int i = 0; i < u->core_count; i++) {
        if (gdb_thread_same(&u->threads[i], thread))
            return i;
    }
    return -1;
}

int gdb_remote_stopped_core(const struct gdb_remote *u)
{
    int core = gdb_remote_core_of(u, &u->stopped);
    return core < 0 ? 0 : core;
}

struct gdb_known {
    struct gdb_known *next;
    size_t question_len, reply_len;
    char bytes[]; /* the question, then the reply */
};

/* The features that were asked with make no difference: qSupported is known by its name. */
static size_t known_question_len(const char *payload, size_t len)
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

static struct gdb_known **known_find(struct gdb_remote *u, const char *payload, size_t len)
{
    struct gdb_known **at = &u->known;
    while (*at && ((*at)->question_len != len || memcmp((*at)->bytes, payload, len) != 0))
        at = &(*at)->next;
    return at;
}

static void known_remember_registers(struct gdb_remote *u, const struct gdb_request *r,
                                     const char *reply, size_t len)
{
    int core = gdb_remote_core_of(u, &r->thread);
    if (!reply || len == 0 || reply[0] == 'E' || memchr(reply, '\0', len))
        return;
    if (core < 0)
        core = gdb_remote_stopped_core(u);
    free(u->registers[core]);
    u->registers[core] = strndup(reply, len);
}

void gdb_remote_forget_registers(struct gdb_remote *u)
{
    for (size_t i = 0; i < TARGET_CORES_MAX; i++) {
        free(u->registers[i]);
        u->registers[i] = NULL;
    }
}

void gdb_remote_remember(struct gdb_remote *u, const struct gdb_request *r, const char *reply,
                         size_t len)
{
    size_t n = known_question_len(r->payload, r->len), used = 0;
    if (r->len == 1 && r->payload[0] == 'g')
        known_remember_registers(u, r, reply, len);
    if (n == 0 || !reply || (len > 0 && reply[0] == 'E'))
        return;
    struct gdb_known **at = known_find(u, r->payload, n);
    if (*at) {
        struct gdb_known *old = *at;
        *at = old->next;
        free(old);
    }
    for (const struct gdb_known *k = u->known; k; k = k->next)
        used += k->question_len + k->reply_len;
    struct gdb_known *k = used + n + len > KNOWN_MAX ? NULL : malloc(sizeof(*k) + n + len);
    if (!k)
        return;
    *k = (struct gdb_known){.next = u->known, .question_len = n, .reply_len = len};
    memcpy(k->bytes, r->payload, n);
    memcpy(k->bytes + n, reply, len);
    u->known = k;
}

const char *gdb_remote_known(const struct gdb_remote *u, const char *payload, size_t len,
                             size_t *reply_len)
{
    for (const struct gdb_known *k = u->known; k; k = k->next) {
        if (k->question_len != len || memcmp(k->bytes, payload, len) != 0)
            continue;
        *reply_len = k->reply_len;
        return k->bytes + k->question_len;
    }
    return NULL;
}

static bool breakpoint_same(const struct target_breakpoint *a, const struct target_breakpoint *b)
{
    return a->type == b->type && a->address == b->address && a->kind == b->kind;
}

static size_t breakpoint_index(const struct gdb_remote *u, const struct target_breakpoint *bp)
{
    size_t i = 0;
    while (i < u->breakpoint_count && !breakpoint_same(&u->breakpoints[i], bp))
        i++;
    return i;
}

static int breakpoints_grow(struct gdb_remote *u)
{
    size_t capacity = u->breakpoint_capacity > 0 ? 2 * u->breakpoint_capacity : 16;
    struct target_breakpoint *bp = realloc(u->breakpoints, capacity * sizeof(*bp));
    if (!bp)
        return BT_ERR_NOMEM;
    u->breakpoints = bp;
    u->breakpoint_capacity = capacity;
    return BT_OK;
}

size_t gdb_remote_breakpoints(const struct gdb_remote *u, const struct target_breakpoint **out)
{
    *out = u->breakpoints;
    return u->breakpoint_count;
}

int gdb_remote_reserve(struct gdb_remote *u)
{
    if (u->breakpoint_count < u->breakpoint_capacity)
        return BT_OK;
    return u->breakpoint_count < GDB_REMOTE_BREAKPOINTS_MAX ? breakpoints_grow(u) : BT_ERR_NOMEM;
}

void gdb_remote_note_breakpoint(struct gdb_remote *u, const struct target_breakpoint *bp,
                                bool inserted)
{
    size_t i = breakpoint_index(u, bp);
    bool known = i < u->breakpoint_count;
    if (inserted && !known && u->breakpoint_count < u->breakpoint_capacity)
        u->breakpoints[u->breakpoint_count++] = *bp;
    else if (!inserted && known)
        u->breakpoints[i] = u->breakpoints[--u->breakpoint_count];
}

void gdb_remote_forget(struct gdb_remote *u)
{
    free(u->breakpoints);
    u->breakpoints = NULL;
    u->breakpoint_count = 0;
    u->breakpoint_capacity = 0;
    u->orphaned = false;
    while (u->known) {
        struct gdb_known *k = u->known;
        u->known = k->next;
        free(k);
    }
    gdb_remote_forget_registers(u);
}
