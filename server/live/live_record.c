/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a recording gets of the halted cores beside PC and PSR: registers and the top of the stack.
 * Without them few values can be reconstructed when it is replayed.
 */
#include "live_internal.h"

#include <string.h>
#include <strings.h>

#define PIECE  1024u /* bytes of one question; the first piece lies below SP */
#define PIECES (RECORDER_STACK_MAX / PIECE)

static void next_core(struct live *l);

static void put(struct live *l, const struct recorder_state *state)
{
    const struct gdb_regs *regs = &l->cores[l->record.core].regs;
    uv_mutex_lock(&l->lock);
    if (l->recorder)
        recorder_halted(l->recorder, l->record.core, regs->value[GDB_REG_PC],
                        (uint32_t)regs->value[GDB_REG_PSR], state);
    uv_mutex_unlock(&l->lock);
    l->record.core++;
    next_core(l);
}

static void next_piece(struct live *l);

/* What was popped last still lies below SP; where nothing can be read there the stack is empty. */
static void on_stack(void *ctx, uint64_t address, const uint8_t *bytes, size_t len)
{
    struct live *l = ctx;
    struct recorder_state *s = &l->record.state;
    if (!l->record.active)
        return;
    bool below = l->record.piece == 0;
    if (below && len < PIECE)
        s->stack = s->regs[GDB_REG_SP] & ~3u;
    else if (address == s->stack + s->length) {
        memcpy(s->memory + s->length, bytes, len);
        s->length += (uint32_t)len;
    }
    l->record.piece++;
    if (!below && len < PIECE)
        put(l, s);
    else
        next_piece(l);
}

static void next_piece(struct live *l)
{
    struct recorder_state *s = &l->record.state;
    int thread = live_thread(&l->cores[l->record.core]);
    uint32_t at = s->stack + s->length;
    bool more = l->record.piece < PIECES && at <= UINT32_MAX - PIECE;
    if (!more || gdb_remote_read_memory(l->remote, thread, at, PIECE, on_stack, l) != BT_OK)
        put(l, s);
}

/* A wild SP may point at devices, some of which notice that they are read: an M-profile core's are
 * at fixed places. */
static bool may_be_stack(const struct live_core *c, uint32_t sp)
{
    bool m = strncasecmp(c->config->type, "Cortex-M", 8) == 0;
    return !m || sp >> 29 == 1 || sp >> 29 == 0 || (sp >= 0x60000000 && sp < 0xa0000000);
}

static void on_regs(void *ctx, int core, const struct gdb_regs *regs)
{
    struct live *l = ctx;
    struct recorder_state *s = &l->record.state;
    const uint32_t all = (1u << (GDB_REG_LR + 1)) - 1;
    (void)core;
    if (!l->record.active)
        return;
    if (!regs || (regs->known & all) != all) {
        put(l, NULL);
        return;
    }
    for (unsigned i = 0; i <= GDB_REG_LR; i++)
        s->regs[i] = (uint32_t)regs->value[i];
    uint32_t sp = s->regs[GDB_REG_SP] & ~3u;
    s->stack = sp > PIECE ? sp - PIECE : sp;
    s->length = 0;
    l->record.piece = sp > PIECE ? 0 : 1;
    if (may_be_stack(&l->cores[l->record.core], sp))
        next_piece(l);
    else
        put(l, s);
}

static void next_core(struct live *l)
{
    if (!gdb_remote_is_ready(l->remote)) {
        l->record.active = false;
        return;
    }
    while (l->record.core < l->config->core_count &&
           !(l->cores[l->record.core].regs.known >> GDB_REG_PC & 1))
        l->record.core++;
    if (l->record.core >= l->config->core_count) {
        l->record.active = false;
        l->record.done(l);
        return;
    }
    const struct live_core *c = &l->cores[l->record.core];
    if (live_is_a64(c) || gdb_remote_read_regs(l->remote, live_thread(c), on_regs, l) != BT_OK)
        put(l, NULL);
}

void live_record_halt(struct live *l, void (*done)(struct live *l))
{
    if (!l->recorder) {
        done(l);
        return;
    }
    l->record.active = true;
    l->record.core = 0;
    l->record.done = done;
    next_core(l);
}
