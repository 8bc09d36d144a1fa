/* SPDX-License-Identifier: BSD-3-Clause */
/* What was predicted is compared with what a halt has, and what has come of that is reported. */
#include "reverse_forward_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COMPARED   65536u /* bytes of RAM at a time */
#define ROUNDS_MAX 16u

#define FLAGS 0xf80f0000u /* NZCVQ and GE */

#define FPCCR_SET 0xc0000000u /* ASPEN, LSPEN; the others are a status that is not followed */
#define ALL_SAME  UINT32_MAX

/* Bits that are compared where both are known. */
static uint64_t bits_compared(const struct execute_regs *a, const struct execute_regs *b,
                              unsigned r)
{
    if (r == EXECUTE_SCTLR)
        return (uint32_t) ~((a->value[r] | b->value[r]) >> 32);
    return r == EXECUTE_FPCCR ? FPCCR_SET : UINT64_MAX;
}

/* The first register that both know otherwise: an enum execute_reg, or EXECUTE_REGS and the number
 * of a word of floating-point registers. ALL_SAME: none. */
static unsigned differing_register(const struct execute_regs *a, const struct execute_regs *b,
                                   bool a64)
{
    /* Of system registers of AArch64 not all bits are as they were written. */
    uint64_t both = a->known & b->known & (a64 ? UINT64_MAX >> (64 - A64_SP0 - 4) : UINT64_MAX);
    uint64_t floats = a->vector_known & b->vector_known;
    uint64_t halves = a64 ? a->vector_known64 & b->vector_known64 : 0;
    for (unsigned r = 0; r < EXECUTE_REGS; r++)
        if ((both >> r & 1) && (a->value[r] ^ b->value[r]) & bits_compared(a, b, r))
            return r;
    if ((a->psr ^ b->psr) & a->psr_known & b->psr_known & FLAGS)
        return EXECUTE_PSR;
    for (unsigned n = 0; n < 32; n++)
        if ((floats >> n & 1) && (uint32_t)((a->vector[n / 2] ^ b->vector[n / 2]) >> 32 * (n & 1)))
            return EXECUTE_REGS + n;
    for (unsigned n = 0; n < 64; n++)
        if ((halves >> n & 1) && a->vector[n] != b->vector[n])
            return EXECUTE_REGS + n;
    return ALL_SAME;
}

bool reverse_forward_outside(const struct reverse_forward *f, uint64_t address)
{
    for (size_t i = 0; i < f->outside_count; i++)
        if (address >= f->outside[i].from && address < f->outside[i].to)
            return true;
    return false;
}

/* Memory around `address` is written by others. False: there are too many such ranges. */
static bool add_outside(struct reverse_forward *f, uint64_t address)
{
    uint64_t start, size;
    const char *name = "";
    struct reverse_outside *last = f->outside_count ? &f->outside[f->outside_count - 1] : NULL;
    struct reverse_outside now = {.from = address & ~(uint64_t)(REVERSE_FORWARD_LINE - 1)};
    now.to = now.from + REVERSE_FORWARD_LINE;
    if (f->owner.variable && f->owner.variable(f->owner.ctx, address, &start, &size, &name)) {
        now.from = start;
        now.to = start + size;
        snprintf(now.name, sizeof now.name, "%s", name);
    } else if (last && !last->name[0] && last->to == now.from) {
        last->to = now.to;
        return true;
    }
    if (f->outside_count == REVERSE_FORWARD_OUTSIDE)
        return false;
    f->outside[f->outside_count++] = now;
    return true;
}

static bool is_stored(const struct reverse_forward *f, uint64_t address)
{
    uint64_t line = address / REVERSE_FORWARD_LINE;
    return f->stored[line % REVERSE_FORWARD_LINES / 32] >> line % 32 & 1;
}

/* One piece of RAM. What an instruction has stored may follow from other memory that differs: it
 * counts if there is no such (`all`). False: too much of it differs. */
static bool compare_piece(struct reverse_forward *f, struct reverse_segment *s,
                          struct execute_memory *memory, const struct reverse_piece *piece,
                          bool all)
{
    for (size_t at = 0; piece->bytes && at < piece->length; at++) {
        uint8_t now[16];
        uint64_t address = piece->address + at;
        if (at % 16 == 0 && at + 16 <= piece->length &&
            execute_memory_read(memory, address, now, 16) &&
            memcmp(now, piece->bytes + at, 16) == 0) {
            at += 15;
            continue;
        }
        if (!execute_memory_read(memory, address, now, 1) || now[0] == piece->bytes[at] ||
            reverse_forward_outside(f, address))
            continue;
        s->derives = true;
        if (!all && is_stored(f, address))
            continue;
        s->differs = true;
        f->outside_found++;
        if (!add_outside(f, address))
            return false;
    }
    return true;
}

static void break_at_end(struct reverse_segment *s, enum reverse_segment_why why, unsigned reg,
                         uint64_t end)
{
    s->status = REVERSE_SEGMENT_BROKEN;
    s->why = why;
    s->reg = reg;
    s->reach = end;
}

/* All is compared. */
static int judge_segment(struct reverse_forward *f, struct reverse_segment *s,
                         const struct reverse_snapshot *end)
{
    const struct reverse_point *last = &s->points[s->point_count - 1];
    unsigned reg =
        differing_register(&last->regs, &end->regs, f->core.profile == EXECUTE_PROFILE_A64);
    if (s->differs && f->rounds++ < ROUNDS_MAX) {
        f->mapped = false;
        return REVERSE_PROOF_WITHDRAW;
    }
    if (s->differs) {
        break_at_end(s, REVERSE_WHY_MEMORY, 0, end->position);
    } else if (s->believes) {
        s->status = REVERSE_SEGMENT_BROKEN;
    } else if (reg != ALL_SAME) {
        break_at_end(s, REVERSE_WHY_REGISTER, reg, end->position);
    } else {
        s->status = REVERSE_SEGMENT_PROVED;
        s->reach = end->position;
    }
    return TARGET_PENDING;
}

int reverse_proof(struct reverse_forward *f, size_t i)
{
    struct reverse_segment *s = f->segments[i];
    const struct reverse_snapshot *end = &f->segments[i + 1]->state;
    struct execute_memory *memory = &s->points[s->point_count - 1].memory;
    if (!end->ends) {
        s->status = REVERSE_SEGMENT_CUT;
        s->reach = end->position;
        return TARGET_PENDING;
    }
    for (size_t bytes = 0; bytes < COMPARED && s->compared < end->piece_count; s->compared++) {
        const struct reverse_piece *piece = &end->pieces[s->compared];
        bytes += piece->length;
        if (!compare_piece(f, s, memory, piece, false)) {
            break_at_end(s, REVERSE_WHY_MEMORY, 0, end->position);
            return TARGET_PENDING;
        }
    }
    if (s->compared < end->piece_count)
        return TARGET_PENDING;
    if (!end->complete && !s->differs)
        return BT_OK;
    for (size_t k = 0; !s->differs && s->derives && k < end->piece_count; k++)
        if (!compare_piece(f, s, memory, &end->pieces[k], true)) {
            break_at_end(s, REVERSE_WHY_MEMORY, 0, end->position);
            return TARGET_PENDING;
        }
    return judge_segment(f, s, end);
}

/* Reports. */

static const char *const whys[] = {
    [REVERSE_WHY_NONE] = "the halt at its end proves it",
    [REVERSE_WHY_GAP] = "trace is missing",
    [REVERSE_WHY_CODE] = "the code that ran is not known",
    [REVERSE_WHY_PATH] = "the trace goes elsewhere than what is known: others write memory, too",
    [REVERSE_WHY_REGISTER] = "a register is another one at its end",
    [REVERSE_WHY_MEMORY] = "too much memory is other than predicted at its end",
    [REVERSE_WHY_MOVED] = "the history has its beginning no more",
    [REVERSE_WHY_BUDGET] = "it takes more than [past] memory",
};

static void report_segment(const struct reverse_forward *f, size_t i, const struct console *c)
{
    const struct reverse_segment *s = f->segments[i];
    uint64_t from = s->state.position, to = f->segments[i + 1]->state.position;
    if (!s->state.begins || from == to)
        return;
    console_print(c,
                  "  %" PRIu64 " to %" PRIu64 ": %" PRIu64 " bytes of RAM known at its begin%s, ",
                  from + 1, to, s->state.bytes, s->state.whole ? "" : " (not all)");
    switch (s->status) {
    case REVERSE_SEGMENT_OPEN:
        console_print(c, "worked out when asked for\n");
        break;
    case REVERSE_SEGMENT_COMPARING:
        console_print(c, "its end is being compared\n");
        break;
    case REVERSE_SEGMENT_PROVED:
        console_print(c, "%s, %zu checkpoints\n", whys[s->why], s->point_count);
        break;
    case REVERSE_SEGMENT_CUT:
        console_print(c, "known up to %" PRIu64 ": %s\n", s->reach,
                      s->why ? whys[s->why] : "nothing was compared at its end");
        break;
    case REVERSE_SEGMENT_BROKEN:
        console_print(c, "NOT shown, at %" PRIu64 " %s", s->reach + 1, whys[s->why]);
        console_print(c, s->why == REVERSE_WHY_REGISTER ? ": number %u\n" : "\n", s->reg);
        break;
    }
    if (s->shared.all)
        console_print(c, "    other cores may have written any RAM meanwhile\n");
    else if (s->shared.count)
        console_print(c, "    other cores have written some RAM meanwhile: it is not known\n");
}

static void report_outside(const struct reverse_outside *o, const struct console *c)
{
    console_print(c, "  0x%08" PRIx64 "+%" PRIu64 " %s: written from outside", o->from,
                  o->to - o->from, o->name);
    if (o->touched)
        console_print(c, ", last accessed by instruction %" PRIu64 " at 0x%08" PRIx64, o->touched,
                      o->pc);
    console_print(c, "\n");
}

#define REPORTED 8u /* the latest segments */

void reverse_forward_report(const struct reverse_forward *f, const struct console *c)
{
    uint64_t bytes = 0, ns = 0;
    if (!f->count) {
        console_print(c, "values forwards: no halt or reset whose state is known\n");
        return;
    }
    for (size_t i = 0; i < f->count; i++) {
        bytes += f->segments[i]->state.bytes;
        ns += f->segments[i]->state.read_ns;
    }
    console_print(c,
                  "values forwards: %zu known states, %" PRIu64 " bytes of RAM read in %" PRIu64
                  " ms; %" PRIu64 " instructions executed, %zu of %zu KiB in use\n",
                  f->count, bytes, ns / 1000000, f->insns, f->budget.used >> 10,
                  f->budget.limit >> 10);
    for (size_t i = f->count > REPORTED ? f->count - REPORTED : 0; i + 1 < f->count; i++)
        report_segment(f, i, c);
    for (size_t i = 0; i < f->outside_count; i++)
        report_outside(&f->outside[i], c);
    if (f->conflicts)
        console_print(c, "  %" PRIu64 " values that differ backwards and forwards: not shown\n",
                      f->conflicts);
}
