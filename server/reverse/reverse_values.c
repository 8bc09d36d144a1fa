/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_values.h"

#include <stdlib.h>
#include <string.h>

#define SP           GDB_REG_SP
#define LR           GDB_REG_LR
#define CPSR_T       (1u << 5)
#define XPSR_T       (1u << 24)
#define XPSR_NUMBER  0x1ffu
#define IT_BITS      0x0600fc00u /* of the present: what they were is not told */
#define ESTIMATE_MAX 4096u       /* positions that an estimate is looked for in */

void reverse_values_init(struct reverse_values *v)
{
    memset(v, 0, sizeof *v);
    v->limit = REVERSE_VALUES_DEFAULT;
    v->reach = SIZE_MAX;
    v->infer = VALUES_INFER_ALL;
}

void reverse_values_again(struct reverse_values *v)
{
    reverse_known_release(&v->now);
}

void reverse_values_forget(struct reverse_values *v)
{
    reverse_known_release(&v->now);
    reverse_known_release(&v->next);
    reverse_work_end(&v->work);
    v->tried = v->warm = 0;
    v->reach = SIZE_MAX;
    v->tried_around = 0;
    v->handler.known = false;
}

/* At once; what was begun ahead is gone on with. */
static int build(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                 uint64_t from, uint64_t to)
{
    int error = BT_OK;
    bool done = false;
    reverse_known_release(&v->now);
    reverse_known_release(&v->next);
    v->tried = 0;
    v->tried_around = 0;
    if (!v->work.active || v->work.wanted != from || v->work.to != to)
        error = reverse_work_begin(&v->work, p, m, from, to, v->infer);
    while (!error && !done)
        error = reverse_work_go_on(&v->work, SIZE_MAX, &done);
    if (error)
        reverse_work_end(&v->work);
    else
        reverse_work_take(&v->work, &v->now);
    return error;
}

static bool holds(const struct reverse_values *v, uint64_t position)
{
    return reverse_known_holds(&v->now, position);
}

static bool knows_sp(const struct reverse_values *v, uint64_t position)
{
    struct values_answer answer;
    return reverse_values_explain(v, position, SP, &answer);
}

/* Of a position that no window ending at the halt reaches: the halted core says nothing of it. */
static int build_local(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                       uint64_t position, uint64_t half)
{
    uint64_t from = position > p->first + half ? position - half : p->first;
    uint64_t to = p->end - position > half ? position + half : p->end;
    return build(v, p, m, from, to);
}

static bool fits(const struct reverse_values *v, const struct reverse *p, uint64_t position)
{
    const uint64_t edge = REVERSE_LOCAL_WINDOW / 8;
    return holds(v, position) && (v->now.wanted == p->first || position - v->now.wanted >= edge) &&
           v->now.to - position >= edge;
}

/* For a step: what is at hand, else a window that is short. The long ones are made ahead. */
static int at_once(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                   uint64_t position)
{
    uint64_t back = p->end - position, all = p->end - p->first, size = REVERSE_FIRST_WINDOW;
    uint64_t quick = all < REVERSE_QUICK_WINDOW ? all : REVERSE_QUICK_WINDOW;
    if (holds(v, position)) {
        bool grows = v->now.halted && v->now.to - v->now.wanted < quick;
        return grows && !knows_sp(v, position) ? build(v, p, m, p->end - quick, p->end) : BT_OK;
    }
    while (size < back + back / 2)
        size *= 4;
    if (size > REVERSE_QUICK_WINDOW || back > reverse_values_reach(v, p))
        return build_local(v, p, m, position, REVERSE_FIRST_WINDOW / 2);
    int error = build(v, p, m, p->end - (size < all ? size : all), p->end);
    if (error || size >= quick || !holds(v, position) || knows_sp(v, position))
        return error;
    return build(v, p, m, p->end - quick, p->end);
}

/*
 * Windows grow fourfold: what is asked first is close to the halt, as a rule, and an answer there
 * costs little. What came before a position counts, too (a call's return address), so a window
 * reaches further back than it is asked about; one that does not tell SP is made longer.
 */
int reverse_values_at(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                      uint64_t position, bool quick)
{
    uint64_t back = p->end - position;
    uint64_t limit = reverse_values_reach(v, p), size = REVERSE_FIRST_WINDOW;
    v->quick = quick;
    reverse_values_better(v, position);
    if (quick)
        return at_once(v, p, m, position);
    if (back > limit)
        return fits(v, p, position) ? BT_OK
                                    : build_local(v, p, m, position, REVERSE_LOCAL_WINDOW / 2);
    if (v->now.built && v->now.halted)
        size = v->now.to - v->now.wanted;
    else
        reverse_known_release(&v->now);
    while (size < back + back / 2 && size < limit)
        size *= 4;
    for (;; size *= 4) {
        uint64_t n = size < limit ? size : limit;
        bool enough = v->now.built && v->now.to - v->now.wanted >= n;
        int error = enough ? BT_OK : build(v, p, m, p->end - n, p->end);
        bool began_later = v->now.built && v->now.from > p->end - n;
        if (error || n == limit || began_later || knows_sp(v, position))
            return error;
    }
}

bool reverse_values_explain(const struct reverse_values *v, uint64_t position, unsigned reg,
                            struct values_answer *answer)
{
    *answer = (struct values_answer){.step = UINT32_MAX};
    return holds(v, position) && v->now.values && !v->now.conflict &&
           values_register(v->now.values, (size_t)(position - v->now.from), reg, answer);
}

/* The value that the register had nearest to the position, else the present one. */
static uint32_t estimate(const struct reverse_values *v, const struct reverse_machine *m,
                         uint64_t position, unsigned reg)
{
    const struct reverse_known *k = &v->now;
    struct values_answer answer;
    if (holds(v, position) && k->values && !k->conflict &&
        values_nearest(k->values, (size_t)(position - k->from), reg, ESTIMATE_MAX, &answer))
        return answer.value;
    return m->regs.known >> reg & 1 ? m->regs.value[reg] : 0;
}

static uint32_t psr_at(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                       uint64_t position, enum bt_isa isa)
{
    uint32_t psr = m->regs.value[GDB_REG_PSR] & ~IT_BITS;
    uint32_t t = m->m_profile ? XPSR_T : CPSR_T;
    uint32_t mask = 0, inferred = 0, flags = 0;
    psr = isa == BT_ISA_A32 ? psr & ~t : psr | t;
    if (v->now.values && !v->now.conflict && holds(v, position))
        flags = values_flags(v->now.values, (size_t)(position - v->now.from), &mask, &inferred);
    psr = (psr & ~mask) | (flags & mask);
    if (!m->m_profile)
        return psr;
    uint32_t number = reverse_handler_at(&v->handler, p, position, psr & XPSR_NUMBER, v->quick);
    return (psr & ~XPSR_NUMBER) | (number == REVERSE_HANDLER_ANY ? 0 : number);
}

static enum gdb_security security_at(struct reverse *p, uint64_t position)
{
    enum bt_security state;
    if (reverse_security(p, position, &state) != BT_OK)
        return GDB_SECURITY_UNKNOWN;
    return state == BT_SEC_SECURE ? GDB_SECURITY_SECURE : GDB_SECURITY_NONSECURE;
}

int reverse_values_regs(struct reverse_values *v, struct reverse *p,
                        const struct reverse_machine *m, uint64_t position, struct gdb_regs *regs,
                        uint32_t *estimated)
{
    uint32_t guessed = 1u << GDB_REG_PSR;
    uint64_t pc;
    enum bt_isa isa;
    int error = reverse_pc(p, position, &pc, &isa);
    if (error)
        return error;
    *regs = (struct gdb_regs){.known = 1u << GDB_REG_PC | 1u << GDB_REG_PSR};
    regs->value[GDB_REG_PC] = (uint32_t)pc;
    regs->value[GDB_REG_PSR] = psr_at(v, p, m, position, isa);
    if (m->m_profile)
        regs->security = security_at(p, position);
    for (unsigned reg = 0; reg <= LR; reg++) {
        struct values_answer answer;
        bool known = reverse_values_explain(v, position, reg, &answer);
        bool needed = reg == SP || reg == LR;
        regs->value[reg] = known ? answer.value : needed ? estimate(v, m, position, reg) : 0;
        regs->known |= (uint32_t)(known || needed) << reg;
        guessed |= (uint32_t)(!known && needed) << reg;
    }
    if (estimated)
        *estimated = guessed;
    return BT_OK;
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

size_t reverse_values_memory(struct reverse_values *v, const struct reverse_machine *m,
                             uint64_t position, uint64_t address, uint8_t *bytes, size_t len)
{
    const struct reverse_known *k = &v->now;
    if (!holds(v, position) || address > UINT32_MAX || k->conflict)
        return len;
    size_t at = (size_t)(position - k->from);
    for (uint64_t word = address & ~UINT64_C(3); word < address + len && word <= UINT32_MAX - 3;
         word += 4) {
        struct values_answer answer;
        uint32_t status; /* an estimate, as the PSR itself */
        if (k->values && values_word(k->values, at, (uint32_t)word, &answer)) {
            put_word((uint32_t)word, answer.value, m->big_endian, address, bytes, len);
            continue;
        }
        if (k->values && values_status(k->values, at, (uint32_t)word, &status)) {
            put_word((uint32_t)word, status, m->big_endian, address, bytes, len);
            continue;
        }
        bool stale = k->stack_known && word >= (k->stack_low & ~3u) && word < k->stack_high;
        if (stale && v->memory == REVERSE_MEMORY_ERROR)
            return word > address ? (size_t)(word - address) : 0;
    }
    return len;
}
