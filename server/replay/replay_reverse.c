/* SPDX-License-Identifier: BSD-3-Clause */
/* Reverse execution of a recording: its history, last registers and memory dumps. */
#include "server/replay/replay.h"
#include "server/reverse/reverse_machine.h"

#include <stdio.h>
#include <string.h>

#define CPSR_T (1u << 5)

void replay_view(const struct replay_client *k, int core, struct btrace_view *view)
{
    const struct replay *r = k->replay;
    const struct replay_core *c = &r->cores[core];
    bool m = c->profile == GDB_PROFILE_M, a64 = c->profile == GDB_PROFILE_A64;
    *view = (struct btrace_view){.history = c->trace->history,
                                 .image = c->image,
                                 .key = c->key,
                                 .pc = c->regs.value[GDB_REG_PC],
                                 .thumb = m || (!a64 && (c->regs.value[GDB_REG_PSR] & CPSR_T)),
                                 .odd_thumb = r->odd_thumb,
                                 .size = k->size};
}

static int host_view(void *ctx, int core, struct btrace_view *view, struct gdb_why *why)
{
    const struct replay_client *k = ctx;
    const struct replay *r = k->replay;
    if (!r->cores[core].trace) {
        snprintf(why->text, sizeof why->text, "the recording has no trace of %s",
                 r->cores[core].name);
        return BT_ERR_UNSUPPORTED;
    }
    replay_view(k, core, view);
    return BT_OK;
}

static bool in_dump(const struct replay_core *c, uint32_t address)
{
    for (size_t i = 0; c->device && i < c->device->dump_count; i++) {
        const struct snapshot_dump *d = &c->device->dumps[i];
        if (address >= d->address && address - d->address + 4 <= d->length)
            return true;
    }
    return false;
}

/* Dumps of other programs were made at the halt whose PC is told; in ours the program stands as it
 * was at first. */
static bool is_present(const struct replay_core *c, uint32_t address)
{
    uint64_t in = address - c->stack;
    if (!c->ours)
        return c->recorded >> GDB_REG_PC & 1;
    return address >= c->stack && c->stack_bytes >= 4 && in <= c->stack_bytes - 4;
}

/* Memory that no program file speaks of, but that somebody dumped, is memory. */
static enum values_memory kind_of(const struct replay *r, const struct replay_core *c,
                                  uint32_t address, bool dumped)
{
    bool shared = r->core_count > 1;
    enum values_memory kind = reverse_memory_kind(r->recording.elf, r->recording.elf_count, address,
                                                  c->regs.value[GDB_REG_SP], shared);
    return kind == VALUES_MEMORY_OTHER && dumped && !shared ? VALUES_MEMORY_RAM : kind;
}

static enum values_memory read_word(void *ctx, uint32_t address, uint32_t *value)
{
    const struct replay_core *c = ctx;
    const struct replay *r = c->replay;
    uint8_t b[4];
    bool dumped = in_dump(c, address);
    enum values_memory kind = kind_of(r, c, address, dumped);
    bool there = (dumped || kind == VALUES_MEMORY_CONST) &&
                 code_image_read(c->image, &c->key, address, b, sizeof b) == sizeof b;
    if (!there || (kind == VALUES_MEMORY_RAM && !is_present(c, address)))
        return kind == VALUES_MEMORY_RAM ? VALUES_MEMORY_UNREAD : VALUES_MEMORY_OTHER;
    *value = c->big_endian ? (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]
                           : (uint32_t)b[3] << 24 | b[2] << 16 | b[1] << 8 | b[0];
    return kind;
}

static int host_machine(void *ctx, int core, struct reverse_machine *m)
{
    const struct replay *r = ((const struct replay_client *)ctx)->replay;
    struct replay_core *c = &r->cores[core];
    bool is_m = c->profile == GDB_PROFILE_M;
    *m = (struct reverse_machine){.regs = c->regs,
                                  .m_profile = is_m,
                                  .program =
                                      reverse_program_of(r->recording.elf, r->recording.elf_count),
                                  .v4t = c->device && reverse_is_v4t(c->device->type),
                                  .big_endian = c->big_endian,
                                  .read = read_word,
                                  .context = c};
    m->regs.known = c->recorded; /* without what only stands in for them */
    return BT_OK;
}

static size_t find_breakpoint(const struct replay_client *k, const struct gdb_breakpoint *bp)
{
    size_t i = 0;
    while (i < k->breakpoint_count &&
           (k->breakpoints[i].type != bp->type || k->breakpoints[i].address != bp->address))
        i++;
    return i;
}

/*
 * GDB keeps to itself why a watchpoint cannot be inserted, but shows why a motion is refused: it
 * may insert them where the motions are ours.
 */
static bool is_taken(const struct replay_client *k, const struct gdb_breakpoint *bp)
{
    bool records = false;
    for (size_t i = 0; i < k->replay->core_count; i++)
        records |= k->cores[i].recording;
    return bp->type <= GDB_BREAKPOINT_HARDWARE || !records;
}

int replay_insert(struct replay_client *k, const struct gdb_breakpoint *bp, struct gdb_why *why)
{
    if (!is_taken(k, bp))
        return BT_ERR_UNSUPPORTED;
    if (find_breakpoint(k, bp) < k->breakpoint_count)
        return BT_OK;
    if (k->breakpoint_count == REVERSE_BREAKPOINTS_MAX) {
        snprintf(why->text, sizeof why->text, "more than %d breakpoints", REVERSE_BREAKPOINTS_MAX);
        return BT_ERR_NOMEM;
    }
    k->breakpoints[k->breakpoint_count++] = *bp;
    return BT_OK;
}

int replay_remove(struct replay_client *k, const struct gdb_breakpoint *bp)
{
    size_t i = find_breakpoint(k, bp);
    if (i == k->breakpoint_count && !is_taken(k, bp))
        return BT_ERR_UNSUPPORTED;
    if (i < k->breakpoint_count)
        k->breakpoints[i] = k->breakpoints[--k->breakpoint_count];
    return BT_OK;
}

static size_t host_breakpoints(void *ctx, uint64_t *addresses, size_t max, bool *watch)
{
    const struct replay_client *k = ctx;
    size_t n = 0;
    *watch = false;
    for (size_t i = 0; i < k->breakpoint_count && n < max; i++) {
        if (k->breakpoints[i].type > GDB_BREAKPOINT_HARDWARE)
            *watch = true;
        else
            addresses[n++] = k->breakpoints[i].address;
    }
    return n;
}

static const char *host_core_name(void *ctx, int core)
{
    return ((const struct replay_client *)ctx)->replay->cores[core].name;
}

static void host_later(void *ctx)
{
    const struct replay *r = ((const struct replay_client *)ctx)->replay;
    if (r->io.later)
        r->io.later(r->io.ctx);
}

static void host_stopped(void *ctx, const struct gdb_stop *stop)
{
    const struct replay_client *k = ctx;
    if (k->session)
        gdb_session_stopped(k->session, stop);
}

static void host_failed(void *ctx, const struct gdb_why *why)
{
    const struct replay_client *k = ctx;
    if (k->session)
        gdb_session_resume_failed(k->session, why->text);
}

static void host_report(void *ctx, const char *text)
{
    const struct replay_client *k = ctx;
    if (k->session)
        gdb_session_output(k->session, text);
}

const struct reverse_host replay_reverse_host = {
    .view = host_view,
    .machine = host_machine,
    .breakpoints = host_breakpoints,
    .core_name = host_core_name,
    .later = host_later,
    .stopped = host_stopped,
    .failed = host_failed,
    .report = host_report,
};
