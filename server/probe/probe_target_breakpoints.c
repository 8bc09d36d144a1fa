/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Breakpoints and watchpoints. What GDB calls a software breakpoint is a comparator where the code
 * is likely to be in flash, and a BKPT in RAM, each as far as that is possible. Two of GDB's may
 * stand on one of the core's.
 */
#include "probe_target_internal.h"

static bool same(const struct gdb_breakpoint *a, const struct gdb_breakpoint *b)
{
    bool watch = a->type >= GDB_WATCHPOINT_WRITE;
    return a->type == b->type && a->address == b->address && (!watch || a->kind == b->kind);
}

static struct probe_target_breakpoint *find(struct probe_target *t, const struct gdb_breakpoint *bp)
{
    for (unsigned i = 0; i < t->breakpoint_count; i++)
        if (same(&t->breakpoints[i].asked, bp))
            return &t->breakpoints[i];
    return NULL;
}

static enum probe_target_place place_of(enum gdb_breakpoint_type type)
{
    static const enum probe_target_place places[] = {
        [GDB_BREAKPOINT_SOFTWARE] = PROBE_TARGET_BREAK_SOFTWARE,
        [GDB_BREAKPOINT_HARDWARE] = PROBE_TARGET_BREAK_HARDWARE,
        [GDB_WATCHPOINT_WRITE] = PROBE_TARGET_WATCH_WRITE,
        [GDB_WATCHPOINT_READ] = PROBE_TARGET_WATCH_READ,
        [GDB_WATCHPOINT_ACCESS] = PROBE_TARGET_WATCH_ACCESS,
    };
    return places[type];
}

static int place(struct probe_target *t, const struct gdb_breakpoint *bp,
                 enum probe_target_place as)
{
    return t->ops->insert(t, as, (uint32_t)bp->address, bp->kind);
}

/* A refusal that the other kind of breakpoint may not meet. */
static bool may_try_other(const struct probe_target *t, int rc)
{
    return (rc == BT_ERR_RANGE || rc == BT_ERR_UNSUPPORTED) &&
           t->ops->refusal(t) != PROBE_TARGET_REFUSED;
}

/* In *placed as what. */
static int place_software(struct probe_target *t, const struct gdb_breakpoint *bp,
                          enum probe_target_place *placed)
{
    bool hardware_first = t->ops->prefers_hardware(t, (uint32_t)bp->address);
    unsigned breakpoints, watchpoints;
    *placed = hardware_first ? PROBE_TARGET_BREAK_HARDWARE : PROBE_TARGET_BREAK_SOFTWARE;
    int rc = place(t, bp, *placed);
    if (!may_try_other(t, rc))
        return rc;
    bool full = t->ops->refusal(t) == PROBE_TARGET_REFUSED_FULL;
    *placed = hardware_first ? PROBE_TARGET_BREAK_SOFTWARE : PROBE_TARGET_BREAK_HARDWARE;
    rc = place(t, bp, *placed);
    t->ops->units(t, &breakpoints, &watchpoints);
    if (hardware_first && full && rc == BT_ERR_UNSUPPORTED)
        return probe_target_refuse(
            t, NULL, BT_ERR_RANGE,
            "all %u hardware breakpoints are in use, and the memory at 0x%08x "
            "takes no others",
            breakpoints, (unsigned)bp->address);
    return rc;
}

int probe_target_op_insert(void *ctx, int core, const struct gdb_breakpoint *bp,
                           struct gdb_why *why)
{
    struct probe_target *t = ctx;
    struct probe_target_breakpoint p = {*bp, place_of(bp->type)};
    unsigned breakpoints, watchpoints;
    (void)core;
    int rc = probe_target_ready(t);
    if (rc)
        return probe_target_result(t, rc, why);
    if (find(t, bp))
        return BT_OK;
    if (bp->address > UINT32_MAX)
        return probe_target_refuse(t, why, BT_ERR_RANGE, "no such address");
    if (t->breakpoint_count == PROBE_TARGET_BREAKPOINTS)
        return probe_target_refuse(t, why, BT_ERR_RANGE, "%u breakpoints are the most",
                                   PROBE_TARGET_BREAKPOINTS);
    t->reported[0] = '\0';
    if (bp->type == GDB_BREAKPOINT_SOFTWARE)
        rc = place_software(t, bp, &p.placed);
    else
        rc = place(t, bp, p.placed);
    if (!rc)
        t->breakpoints[t->breakpoint_count++] = p;
    else if (t->reported[0] != '\0')
        return probe_target_refuse(t, why, rc, "%s", t->reported);
    /* GDB takes "unsupported" for a type that does not exist, and tries another. */
    rc = probe_target_result(t, rc, why);
    t->ops->units(t, &breakpoints, &watchpoints);
    return rc == BT_ERR_UNSUPPORTED && breakpoints + watchpoints > 0 ? BT_ERR_RANGE : rc;
}

/* Does another of GDB's stand on the same? */
static bool shared(const struct probe_target *t, const struct probe_target_breakpoint *p)
{
    for (unsigned i = 0; i < t->breakpoint_count; i++) {
        const struct probe_target_breakpoint *q = &t->breakpoints[i];
        if (q != p && q->placed == p->placed && q->asked.address == p->asked.address &&
            (q->placed == PROBE_TARGET_BREAK_SOFTWARE || q->placed == PROBE_TARGET_BREAK_HARDWARE))
            return true;
    }
    return false;
}

static int lift(struct probe_target *t, const struct probe_target_breakpoint *p)
{
    if (shared(t, p))
        return BT_OK;
    return t->ops->remove(t, p->placed, (uint32_t)p->asked.address, p->asked.kind);
}

int probe_target_op_remove(void *ctx, int core, const struct gdb_breakpoint *bp,
                           struct gdb_why *why)
{
    struct probe_target *t = ctx;
    struct probe_target_breakpoint *p = find(t, bp);
    (void)core;
    int rc = probe_target_ready(t);
    if (rc || !p)
        return probe_target_result(t, rc, why);
    rc = lift(t, p);
    if (!rc)
        *p = t->breakpoints[--t->breakpoint_count];
    return probe_target_result(t, rc, why);
}

/* GDB runs on where it is told of a breakpoint that it does not have. */
enum gdb_stop_kind probe_target_stop_kind(const struct probe_target *t, uint32_t address)
{
    enum gdb_stop_kind kind = GDB_STOP_TRAP;
    for (unsigned i = 0; i < t->breakpoint_count; i++) {
        const struct gdb_breakpoint *bp = &t->breakpoints[i].asked;
        if (bp->address == address && bp->type == GDB_BREAKPOINT_SOFTWARE)
            return GDB_STOP_SWBREAK;
        if (bp->address == address && bp->type == GDB_BREAKPOINT_HARDWARE)
            kind = GDB_STOP_HWBREAK;
    }
    return kind;
}

void probe_target_remove_breakpoints(struct probe_target *t)
{
    while (t->breakpoint_count > 0) {
        lift(t, &t->breakpoints[t->breakpoint_count - 1]);
        t->breakpoint_count--;
    }
}
