/* SPDX-License-Identifier: BSD-3-Clause */
/* What the client has planted at the other side, so that it can be taken out when it leaves. */
#include <stdio.h>
#include <stdlib.h>

#include "protocol/remote/gdb_remote_internal.h"

static bool same(const struct gdb_breakpoint *a, const struct gdb_breakpoint *b)
{
    return a->type == b->type && a->address == b->address && a->kind == b->kind;
}

static size_t find(const struct gdb_remote *u, const struct gdb_breakpoint *bp)
{
    size_t i = 0;
    while (i < u->breakpoint_count && !same(&u->breakpoints[i], bp))
        i++;
    return i;
}

static int grow(struct gdb_remote *u)
{
    size_t capacity = u->breakpoint_capacity > 0 ? 2 * u->breakpoint_capacity : 16;
    struct gdb_breakpoint *bp = realloc(u->breakpoints, capacity * sizeof(*bp));
    if (bp == NULL)
        return BT_ERR_NOMEM;
    u->breakpoints = bp;
    u->breakpoint_capacity = capacity;
    return BT_OK;
}

size_t gdb_remote_breakpoints(const struct gdb_remote *u, const struct gdb_breakpoint **out)
{
    *out = u->breakpoints;
    return u->breakpoint_count;
}

int gdb_remote_reserve(struct gdb_remote *u)
{
    if (u->breakpoint_count < u->breakpoint_capacity)
        return BT_OK;
    return u->breakpoint_count < GDB_REMOTE_BREAKPOINTS_MAX ? grow(u) : BT_ERR_NOMEM;
}

void gdb_remote_note_inserted(struct gdb_remote *u, const struct gdb_breakpoint *bp)
{
    if (find(u, bp) == u->breakpoint_count && u->breakpoint_count < u->breakpoint_capacity)
        u->breakpoints[u->breakpoint_count++] = *bp;
}

void gdb_remote_note_removed(struct gdb_remote *u, const struct gdb_breakpoint *bp)
{
    size_t i = find(u, bp);
    if (i < u->breakpoint_count)
        u->breakpoints[i] = u->breakpoints[--u->breakpoint_count];
}

/* Whatever the answer is, nothing better can be done. */
void gdb_remote_remove_orphans(struct gdb_remote *u)
{
    if (!u->orphaned || u->run == GDB_REMOTE_RUNNING)
        return;
    u->orphaned = false;
    while (u->breakpoint_count > 0) {
        struct gdb_breakpoint bp = u->breakpoints[--u->breakpoint_count];
        char text[64];
        int len = snprintf(text, sizeof(text), "z%x,%llx,%x", (unsigned)bp.type,
                           (unsigned long long)bp.address, (unsigned)bp.kind);
        gdb_remote_ask_thread(u, NULL, text, (size_t)len, NULL, NULL);
    }
}

void gdb_remote_forget_breakpoints(struct gdb_remote *u)
{
    free(u->breakpoints);
    u->breakpoints = NULL;
    u->breakpoint_count = 0;
    u->breakpoint_capacity = 0;
    u->orphaned = false;
}
