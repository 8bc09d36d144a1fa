/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/past_values.h"

#include <stdlib.h>
#include <string.h>

#define SP            GDB_REG_SP
#define LR            GDB_REG_LR
#define CPSR_T        (1u << 5)
#define XPSR_T        (1u << 24)
#define XPSR_NUMBER   0x1ffu
#define IT_BITS       0x0600fc00u /* of the present: what they were is not told */
#define ESTIMATE_MAX  4096u       /* positions that an estimate is looked for in */
#define EXCEPTION_ANY 0xffffu

void past_values_init(struct past_values *v)
{
    memset(v, 0, sizeof *v);
    v->limit = PAST_VALUES_DEFAULT;
    v->infer = RECOVER_INFER_ALL;
}

void past_values_forget(struct past_values *v)
{
    recover_free(v->recover);
    v->recover = NULL;
    v->stack_known = false;
    v->built = false;
}

/* ---- windows ----------------------------------------------------------------------------------
 */

static int build(struct past_values *v, struct past *p, const struct past_machine *m, uint64_t from,
                 uint64_t to)
{
    struct past_window w;
    past_values_forget(v);
    int error = past_window_init(&w, p, m, from, to);
    v->from = w.w.first;
    v->to = to;
    v->halted = to == p->end;
    w.w.infer = v->infer;
    if (!error && w.w.count)
        error = recover_new(&v->recover, &w.w);
    past_window_release(&w);
    if (error)
        return error;
    v->built = true;
    v->from = v->recover ? v->from : from;
    memset(&v->counts, 0, sizeof v->counts);
    if (v->recover)
        recover_counts(v->recover, &v->counts);
    v->conflict = v->counts.conflicts != 0;
    return BT_OK;
}

static bool holds(const struct past_values *v, uint64_t position)
{
    return v->built && position >= v->from && position <= v->to;
}

static bool knows_sp(const struct past_values *v, uint64_t position)
{
    struct recover_answer answer;
    return past_values_explain(v, position, SP, &answer);
}

/* Of a position that no window ending at the halt reaches: the halted core says nothing of it. */
static int build_local(struct past_values *v, struct past *p, const struct past_machine *m,
                       uint64_t position)
{
    const uint64_t half = PAST_LOCAL_WINDOW / 2;
    bool fits = holds(v, position) && (v->from == p->first || position - v->from >= half / 4) &&
                v->to - position >= half / 4;
    if (fits)
        return BT_OK;
    uint64_t from = position > p->first + half ? position - half : p->first;
    uint64_t to = p->end - position > half ? position + half : p->end;
    return build(v, p, m, from, to);
}

/*
 * Windows grow fourfold: what is asked first is close to the halt, as a rule, and an answer there
 * costs little. What came before a position counts, too (a call's return address), so a window
 * reaches further back than it is asked about; one that does not tell SP is made longer.
 */
int past_values_at(struct past_values *v, struct past *p, const struct past_machine *m,
                   uint64_t position, bool quick)
{
    uint64_t back = p->end - position, all = p->end - p->first;
    uint64_t limit = v->limit < all ? v->limit : all, size = PAST_FIRST_WINDOW;
    if (back > limit)
        return build_local(v, p, m, position);
    if (v->built && v->halted)
        size = v->to - v->from;
    else
        past_values_forget(v);
    while (size < back + back / 2 && size < limit)
        size *= 4;
    for (unsigned grown = 0;; size *= 4, grown++) {
        uint64_t n = size < limit ? size : limit;
        bool enough = v->built && v->to - v->from >= n;
        int error = enough ? BT_OK : build(v, p, m, p->end - n, p->end);
        bool began_later = v->built && v->from > p->end - n;
        bool told = holds(v, position) && (knows_sp(v, position) || (quick && grown));
        if (error || n == limit || began_later || told)
            return error;
    }
}

bool past_values_explain(const struct past_values *v, uint64_t position, unsigned reg,
                         struct recover_answer *answer)
{
    *answer = (struct recover_answer){.step = UINT32_MAX};
    return holds(v, position) && v->recover && !v->conflict &&
           recover_register(v->recover, (size_t)(position - v->from), reg, answer);
}

/* ---- registers --------------------------------------------------------------------------------
 */

/* The value that the register had nearest to the position, else the present one. */
static uint32_t estimate(const struct past_values *v, const struct past_machine *m,
                         uint64_t position, unsigned reg)
{
    struct recover_answer answer;
    for (uint64_t d = 1; d < ESTIMATE_MAX; d++) {
        if (past_values_explain(v, position + d, reg, &answer))
            return answer.value;
        if (position >= d && past_values_explain(v, position - d, reg, &answer))
            return answer.value;
    }
    return m->regs.known >> reg & 1 ? m->regs.value[reg] : 0;
}

/* The handler that the events of one stretch before `position` leave the core in. */
static bool number_before(const struct past_stretch *s, uint64_t position, int *depth,
                          uint32_t *number)
{
    for (size_t i = s->window.event_count; i > 0; i--) {
        const struct bt_event *e = &s->window.events[i - 1];
        if (e->position > position)
            continue;
        if (e->kind == BT_EVENT_EXCEPTION_RET) {
            ++*depth;
        } else if (e->kind == BT_EVENT_EXCEPTION && (*depth)-- == 0) {
            *number = e->number;
            return true;
        }
    }
    return false;
}

/* No handler was entered before: it is the present one if none is left or entered since. */
static bool number_after(const struct past_stretch *s, uint64_t position, int *depth)
{
    for (size_t i = 0; i < s->window.event_count; i++) {
        const struct bt_event *e = &s->window.events[i];
        if (e->position <= position)
            continue;
        *depth += e->kind == BT_EVENT_EXCEPTION;
        if (e->kind == BT_EVENT_EXCEPTION_RET && (*depth)-- == 0)
            return false;
    }
    return true;
}

/* The exception that the core handles at the position, from the events nearby; EXCEPTION_ANY. */
static uint32_t exception_number(struct past *p, uint64_t position, uint32_t now)
{
    struct past_stretch s;
    size_t at, tries = 4;
    int depth = 0;
    uint32_t number;
    if (past_stretch_find(p, position, &at) != BT_OK)
        return now;
    for (size_t i = at + 1; i > 0 && tries; i--, tries--)
        if (past_stretch(p, i - 1, &s) == BT_OK && number_before(&s, position, &depth, &number))
            return number;
    depth = 0;
    for (size_t i = at; i < past_stretch_count(p) && i < at + 4; i++)
        if (past_stretch(p, i, &s) == BT_OK && !number_after(&s, position, &depth))
            return EXCEPTION_ANY;
    return depth == 0 ? now : EXCEPTION_ANY;
}

static uint32_t psr_at(struct past_values *v, struct past *p, const struct past_machine *m,
                       uint64_t position, enum bt_isa isa)
{
    uint32_t psr = m->regs.value[GDB_REG_PSR] & ~IT_BITS;
    uint32_t t = m->m_profile ? XPSR_T : CPSR_T;
    uint32_t mask = 0, inferred = 0, flags = 0;
    psr = isa == BT_ISA_A32 ? psr & ~t : psr | t;
    if (v->recover && !v->conflict && holds(v, position))
        flags = recover_flags(v->recover, (size_t)(position - v->from), &mask, &inferred);
    psr = (psr & ~mask) | (flags & mask);
    if (!m->m_profile)
        return psr;
    uint32_t number = exception_number(p, position, psr & XPSR_NUMBER);
    return (psr & ~XPSR_NUMBER) | (number == EXCEPTION_ANY ? 0 : number);
}

int past_values_regs(struct past_values *v, struct past *p, const struct past_machine *m,
                     uint64_t position, struct gdb_regs *regs, uint32_t *estimated)
{
    uint32_t guessed = 1u << GDB_REG_PSR;
    uint64_t pc;
    enum bt_isa isa;
    int error = past_pc(p, position, &pc, &isa);
    if (error)
        return error;
    *regs = (struct gdb_regs){.known = 1u << GDB_REG_PC | 1u << GDB_REG_PSR};
    regs->value[GDB_REG_PC] = (uint32_t)pc;
    regs->value[GDB_REG_PSR] = psr_at(v, p, m, position, isa);
    for (unsigned reg = 0; reg <= LR; reg++) {
        struct recover_answer answer;
        bool known = past_values_explain(v, position, reg, &answer);
        bool needed = reg == SP || reg == LR;
        regs->value[reg] = known ? answer.value : needed ? estimate(v, m, position, reg) : 0;
        regs->known |= (uint32_t)(known || needed) << reg;
        guessed |= (uint32_t)(!known && needed) << reg;
    }
    if (estimated)
        *estimated = guessed;
    return BT_OK;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* The stack that the window saw in use: what is there at one time may be overwritten later. */
static void find_stack(struct past_values *v)
{
    struct recover_answer answer;
    size_t count = (size_t)(v->to - v->from);
    v->stack_low = UINT32_MAX;
    v->stack_high = 0;
    v->stack_known = true;
    for (size_t k = 0; k <= count; k++) {
        if (!recover_register(v->recover, k, SP, &answer))
            continue;
        v->stack_low = answer.value < v->stack_low ? answer.value : v->stack_low;
        v->stack_high = answer.value > v->stack_high ? answer.value : v->stack_high;
    }
}

/* The bytes of a word that lie in [address, address + len). */
static void put_word(uint32_t word, uint32_t value, bool big, uint64_t address, uint8_t *bytes,
                     size_t len)
{
    for (unsigned i = 0; i < 4; i++) {
        uint64_t at = (uint64_t)word + i;
        if (at >= address && at - address < len)
            bytes[at - address] = (uint8_t)(value >> 8 * (big ? 3 - i : i));
    }
}

size_t past_values_memory(struct past_values *v, const struct past_machine *m, uint64_t position,
                          uint64_t address, uint8_t *bytes, size_t len)
{
    if (!holds(v, position) || address > UINT32_MAX || v->conflict)
        return len;
    if (v->recover && !v->stack_known)
        find_stack(v);
    for (uint64_t word = address & ~UINT64_C(3); word < address + len && word <= UINT32_MAX - 3;
         word += 4) {
        struct recover_answer answer;
        if (v->recover &&
            recover_word(v->recover, (size_t)(position - v->from), (uint32_t)word, &answer)) {
            put_word((uint32_t)word, answer.value, m->big_endian, address, bytes, len);
            continue;
        }
        uint32_t status; /* an estimate, as the PSR itself */
        if (v->recover &&
            recover_status(v->recover, (size_t)(position - v->from), (uint32_t)word, &status)) {
            put_word((uint32_t)word, status, m->big_endian, address, bytes, len);
            continue;
        }
        bool stale = v->stack_known && word >= (v->stack_low & ~3u) && word < v->stack_high;
        if (stale && v->memory == PAST_MEMORY_ERROR)
            return word > address ? (size_t)(word - address) : 0;
    }
    return len;
}
