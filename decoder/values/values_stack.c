/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which registers hold addresses of the stack in use, for as long as it is. SP that comes from
 * anywhere else is another stack's, or another place of this one: coroutines, schedulers,
 * longjmp(). What was called before does not come back then as it went, wherever the path goes.
 */
#include "values_turns.h"

#include <string.h>

#define SP           13
#define SP_BIT       (1u << SP)
#define MSR          0xf3808000u
#define MSR_MASK     0xffe0d000u
#define SYSM_MSP     8
#define SYSM_PSP     9
#define SYSM_CONTROL 20

void build_other_stack(struct build *b, bool process)
{
    size_t dead = b->frame_count, i = b->frame_count;
    if (process) {
        while (i && !b->frames[i - 1].exception)
            i--;
        dead = i ? i : dead;
    }
    memmove(b->frames, b->frames + dead, (b->frame_count - dead) * sizeof *b->frames);
    b->frame_count -= dead;
    b->floor = b->from;
    if (process)
        return;
    turns_unsure(b, false);
    b->on_stack = SP_BIT;
}

/* The core's special registers that are stack pointers, or say which of them is in use. */
static unsigned stack_register(const struct build *b)
{
    const struct values_insn *i = &b->w->insns[b->step];
    if (!b->w->m_profile || i->size != 4 || (i->opcode & MSR_MASK) != MSR)
        return 0;
    unsigned which = i->opcode & 0x7f; /* of the other security state: + 0x80 */
    return which == SYSM_MSP || which == SYSM_PSP || which == SYSM_CONTROL ? which : 0;
}

static bool has_tag(const struct build *b, unsigned reg)
{
    return reg < 15 && b->on_stack >> reg & 1;
}

/* The result is an address of the same stack, as far as anybody writes such code. */
static bool is_stack_address(const struct build *b, const struct insn_effect *e)
{
    bool plain = e->rs == EFFECT_NO_REG && !e->amount;
    if (e->kind != EFFECT_ALU)
        return false;
    switch (e->op) {
    case EFFECT_MOV:
        return plain && e->rn == EFFECT_NO_REG && has_tag(b, e->rm);
    case EFFECT_ADD:
        return has_tag(b, e->rn) != (plain && has_tag(b, e->rm));
    case EFFECT_SUB:
        return has_tag(b, e->rn) && !has_tag(b, e->rm);
    case EFFECT_AND:
    case EFFECT_BIC:
        return has_tag(b, e->rn);
    default:
        return false;
    }
}

/* As many bytes are moved as SP is. */
static bool is_push_or_pop(const struct insn_effect *e)
{
    unsigned words = e->words ? e->words : (unsigned)__builtin_popcount(e->list);
    unsigned bytes = words ? 4 * words : e->rt2 != EFFECT_NO_REG ? 8 : 4;
    return e->kind == EFFECT_MEMORY && e->rn == SP && e->writeback && e->rm == EFFECT_NO_REG &&
           (uint32_t)(e->delta < 0 ? -e->delta : e->delta) == bytes;
}

static bool is_lowered(const struct insn_effect *e)
{
    return e->kind == EFFECT_ALU && e->rd == SP && e->rn == SP && e->rm == EFFECT_NO_REG &&
           (e->op == EFFECT_SUB || e->op == EFFECT_AND || e->op == EFFECT_BIC);
}

static void note_raise(struct build *b, const struct insn_effect *e, uint32_t before)
{
    if (is_push_or_pop(e) || is_lowered(e))
        return;
    struct values_access *a = build_access(b, ACCESS_RAISE, b->cur[SP], 0, before);
    if (a)
        a->fixed = !b->pred && e->kind == EFFECT_ALU && e->op == EFFECT_ADD && e->rd == SP &&
                   e->rn == SP && e->rm == EFFECT_NO_REG;
}

void build_track_stack(struct build *b, const struct insn_effect *e, const uint32_t *before)
{
    uint32_t changed = 0, tags = 0;
    unsigned special = stack_register(b);
    for (unsigned reg = 0; reg < 15; reg++)
        changed |= (uint32_t)(b->cur[reg] != before[reg]) << reg;
    if (special) {
        build_other_stack(b, special == SYSM_PSP);
        b->r->stacks_from = b->from;
        if (changed & SP_BIT && special != SYSM_CONTROL) /* the one in use, to anywhere */
            build_access(b, ACCESS_RAISE, b->cur[SP], 0, before[SP]);
        return;
    }
    if (!changed)
        return;
    if (e->kind == EFFECT_SYSTEM && !(e->list & SP_BIT)) { /* another mode, or none of it */
        b->on_stack &= ~changed;
        b->on_stack = changed & SP_BIT ? SP_BIT : b->on_stack;
        return;
    }
    if (e->rd < 15 && is_stack_address(b, e))
        tags |= 1u << e->rd;
    if (e->kind == EFFECT_MEMORY && e->writeback && has_tag(b, e->rn) &&
        !(e->load && (e->list >> e->rn & 1 || e->rt == e->rn)))
        tags |= 1u << e->rn;
    if (b->pred)
        tags &= b->on_stack;
    if (changed & SP_BIT)
        note_raise(b, e, before[SP]);
    b->on_stack = (b->on_stack & ~changed) | (tags & changed);
    if (b->on_stack & SP_BIT)
        return;
    if (e->kind == EFFECT_OTHER && b->w->m_profile) /* BKPT, or SG, which goes back in the end */
        b->on_stack |= SP_BIT;
    else
        build_other_stack(b, false);
}
