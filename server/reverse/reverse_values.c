/* SPDX-License-Identifier: BSD-3-Clause */
/* Values at a replay position: told, worked out at once, and worked out ahead. */
#include "server/reverse/reverse_values.h"

#include <string.h>

/* Which handler a core of M profile runs. */
#define HANDLER_ANY   0xffffu /* it is not known which */
#define FAR           2       /* windows that are looked through, in each direction */
#define NEAR          1
#define HALF          (REVERSE_LOCAL_WINDOW / 2)
#define EDGE          (HALF / 2) /* so near to where a window ends another one is wanted */
#define AHEAD         16384u     /* instructions that history is decoded before they are reached */
#define SP            TARGET_REG_SP
#define LR            TARGET_REG_LR
#define CPSR_T        (1u << 5)
#define NO_STACK_NEAR 0x8000u /* bytes on either side */
#define XPSR_T        (1u << 24)
#define XPSR_NUMBER   0x1ffu
#define IT_BITS       0x0600fc00u /* of the present: what they were is not told */

static bool is_turn(const struct bt_event *e)
{
    return e->kind == BT_EVENT_EXCEPTION || e->kind == BT_EVENT_EXCEPTION_RET;
}

/* The positions around `position` that no exception and no return lies between. */
static void find_bounds(struct reverse_handler *h, const struct reverse_history_window *s,
                        uint64_t position)
{
    h->first = s->first;
    h->end = s->end;
    for (size_t i = 0; i < s->window.event_count; i++) {
        const struct bt_event *e = &s->window.events[i];
        if (!is_turn(e))
            continue;
        if (e->position > position) {
            h->end = e->position < h->end ? e->position : h->end;
            return;
        }
        h->first = e->position > h->first ? e->position : h->first;
    }
}

/* The handler that the events of one window before `position` leave the core in. */
static bool number_before(const struct reverse_history_window *s, uint64_t position, int *depth,
                          uint32_t *number)
{
    for (size_t i = s->window.event_count; i > 0; i--) {
        const struct bt_event *e = &s->window.events[i - 1];
        if (e->position > position)
            continue;
        if (e->kind == BT_EVENT_EXCEPTION_RET) {
            ++*depth;
        } else if (e->kind == BT_EVENT_EXCEPTION && (*depth)-- == 0) {
            *number = e->u.exception.number;
            return true;
        }
    }
    return false;
}

/* No handler was entered before: it is the present one if none is left or entered since. */
static bool number_after(const struct reverse_history_window *s, uint64_t position, int *depth)
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

static uint32_t look_for_handler(struct reverse *p, size_t at, uint64_t position, uint32_t now,
                                 size_t tries)
{
    struct reverse_history_window s;
    int depth = 0;
    uint32_t number;
    for (size_t i = at + 1; i > 0 && at + 1 - i < tries; i--)
        if (reverse_history_window(p, i - 1, &s) == BT_OK &&
            number_before(&s, position, &depth, &number))
            return number;
    depth = 0;
    for (size_t i = at; i < reverse_history_window_count(p) && i < at + tries; i++)
        if (reverse_history_window(p, i, &s) == BT_OK && !number_after(&s, position, &depth))
            return HANDLER_ANY;
    return depth == 0 ? now : HANDLER_ANY;
}

/*
 * The exception that the core handles at the position, from the events nearby, or HANDLER_ANY.
 * `now`: at the halt. `near`: looks only at what is decoded in next to no time.
 */
static uint32_t handler_at(struct reverse_handler *h, struct reverse *p, uint64_t position,
                           uint32_t now, bool near)
{
    struct reverse_history_window s;
    size_t at;
    if (h->known && position >= h->first && position < h->end)
        return h->number;
    if (reverse_history_window_find(p, position, &at) != BT_OK)
        return now;
    uint32_t number = look_for_handler(p, at, position, now, near ? NEAR : FAR);
    if (!near && reverse_history_window(p, at, &s) == BT_OK) {
        h->number = number;
        h->known = true;
        find_bounds(h, &s, position);
    }
    return number;
}

/*
 * Ahead, between two questions of GDB: windows that the next ones will need. Whatever is not ready
 * is not waited for, and no answer depends on it but in that more is known.
 */

static bool knows_sp(const struct reverse_known *k, uint64_t position)
{
    struct values_answer answer;
    return reverse_known_holds(k, position) && k->values && !k->conflict &&
           values_register(k->values, (size_t)(position - k->from), TARGET_REG_SP, &answer);
}

/* Distance of a position to the nearer end. */
static uint64_t margin_of(const struct reverse_known *k, uint64_t position)
{
    uint64_t back = position - k->wanted, on = k->to - position;
    return back < on ? back : on;
}

static bool is_better(const struct reverse_known *next, const struct reverse_known *now,
                      uint64_t position)
{
    if (!reverse_known_holds(next, position))
        return !now->built && next->built;
    if (!reverse_known_holds(now, position))
        return true;
    if (next->conflict || now->conflict)
        return !next->conflict;
    if (knows_sp(now, position) && !knows_sp(next, position))
        return false;
    if (next->halted != now->halted)
        return next->halted;
    return next->halted ? next->wanted < now->wanted
                        : margin_of(next, position) > margin_of(now, position);
}

/* Takes what was made ahead if that is better for the position. */
static void take_better(struct reverse_values *v, uint64_t position)
{
    if (!v->next.built || !is_better(&v->next, &v->now, position))
        return;
    reverse_known_release(&v->now);
    v->now = v->next;
    v->next = (struct reverse_known){.values = NULL};
}

/* How long a window that ends at the halt can be. */
static size_t reach_of(const struct reverse_values *v, const struct reverse *p)
{
    uint64_t all = p->end - p->first;
    size_t reach = v->reach < v->limit ? v->reach : v->limit;
    return all < reach ? (size_t)all : reach;
}

/* What contradicts itself still does when more is added. */
static void give_up_longer(struct reverse_values *v)
{
    uint64_t have = v->now.built && v->now.halted ? v->now.to - v->now.wanted : 0;
    v->reach = v->now.conflict ? 0 : (size_t)have;
    reverse_known_release(&v->next);
}

void reverse_values_take(struct reverse_values *v, const struct reverse *p, uint64_t position)
{
    if (v->work.halted)
        v->tried = (size_t)(v->work.to - v->work.wanted);
    reverse_work_take(&v->work, &v->next);
    if (v->next.conflict && v->next.halted)
        give_up_longer(v);
    take_better(v, position);
    /* Of one that ends at the halt nothing can be hoped for later. */
    if (v->next.built && v->next.to == p->end)
        reverse_known_release(&v->next);
}

static uint64_t lesser_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The next longer window that ends at the halt: four times as long, or the longest. */
static bool choose_halted(const struct reverse_values *v, const struct reverse *p,
                          uint64_t position, uint64_t *from)
{
    uint64_t limit = reach_of(v, p);
    uint64_t have = v->now.built && v->now.halted ? v->now.to - v->now.wanted : 0;
    have = v->tried > have ? v->tried : have;
    if (p->end - position > limit || have >= limit)
        return false;
    uint64_t size = have && 8 * have < limit ? 4 * have : limit;
    *from = p->end - size;
    return true;
}

static bool window_surrounds(const struct reverse_known *k, const struct reverse *p,
                             uint64_t position)
{
    return k->built && position >= k->wanted && position <= k->to &&
           (k->wanted == p->first || position - k->wanted >= EDGE) &&
           (k->halted || k->to - position >= EDGE);
}

/* A window around the position, where one that ends at the halt does not reach, or hardly. */
static bool choose_local(struct reverse_values *v, const struct reverse *p, uint64_t position,
                         uint64_t *from, uint64_t *to)
{
    uint64_t back = p->end - position, limit = reach_of(v, p);
    uint64_t around = v->tried_around ? v->tried_around - 1 : UINT64_MAX;
    uint64_t moved = around > position ? around - position : position - around;
    if (limit == p->end - p->first || back + EDGE < limit ||
        window_surrounds(&v->now, p, position) || window_surrounds(&v->next, p, position) ||
        (v->tried_around && moved < EDGE))
        return false;
    *from = position > p->first + HALF ? position - HALF : p->first;
    *to = position + lesser_of(back, HALF);
    v->tried_around = position + 1;
    return true;
}

/* It was begun for a position that is far away now. */
static bool is_useless_work(const struct reverse_values *v, const struct reverse *p,
                            uint64_t position)
{
    const struct reverse_work *w = &v->work;
    if (w->halted && w->to - w->wanted <= reach_of(v, p))
        return p->end - position > reach_of(v, p);
    return position < w->wanted || position > w->to;
}

/* The part of the history that steps will come to is decoded, and which handler runs there is
 * found. */
static void warm_up(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                    uint64_t position)
{
    struct reverse_history_window s;
    size_t index;
    uint64_t at = position > p->first + AHEAD ? position - AHEAD : p->first;
    if (reverse_machine_is_m(m))
        handler_at(&v->handler, p, position, m->regs.value[TARGET_REG_PSR] & 0x1ff, false);
    if (reverse_history_window_find(p, at, &index) != BT_OK || v->warm == index + 1)
        return;
    v->warm = index + 1;
    reverse_history_window(p, index, &s);
}

int reverse_values_ahead(struct reverse_values *v, struct reverse *p,
                         const struct reverse_machine *m, uint64_t position, size_t budget)
{
    uint64_t from, to = p->end;
    bool done = false;
    int error;
    if (reverse_machine_is_a64(m))
        return BT_OK;
    if (v->work.active && is_useless_work(v, p, position))
        reverse_work_end(&v->work);
    if (v->work.active) {
        error = reverse_work_go_on(&v->work, budget, &done);
    } else if (choose_halted(v, p, position, &from) || choose_local(v, p, position, &from, &to)) {
        error = reverse_work_begin(&v->work, p, m, from, to, v->infer);
    } else {
        warm_up(v, p, m, position);
        return BT_OK;
    }
    if (error)
        reverse_work_end(&v->work);
    return error ? error : done ? REVERSE_AHEAD_DONE : TARGET_PENDING;
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
static int build_window(struct reverse_values *v, struct reverse *p,
                        const struct reverse_machine *m, uint64_t from, uint64_t to)
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

/* What is told. */

static bool now_holds(const struct reverse_values *v, uint64_t position)
{
    return reverse_known_holds(&v->now, position);
}

/* Of a position that no window ending at the halt reaches: the halted core says nothing of it. */
static int build_local(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                       uint64_t position, uint64_t half)
{
    uint64_t from = position > p->first + half ? position - half : p->first;
    uint64_t to = p->end - position > half ? position + half : p->end;
    return build_window(v, p, m, from, to);
}

static bool fits_local(const struct reverse_values *v, const struct reverse *p, uint64_t position)
{
    const uint64_t edge = REVERSE_LOCAL_WINDOW / 8;
    return now_holds(v, position) &&
           (v->now.wanted == p->first || position - v->now.wanted >= edge) &&
           v->now.to - position >= edge;
}

/* For a step: what is at hand, else a window that is short. The long ones are made ahead. */
static int build_at_once(struct reverse_values *v, struct reverse *p,
                         const struct reverse_machine *m, uint64_t position)
{
    uint64_t back = p->end - position, all = p->end - p->first, size = REVERSE_FIRST_WINDOW;
    uint64_t quick = all < REVERSE_QUICK_WINDOW ? all : REVERSE_QUICK_WINDOW;
    if (now_holds(v, position)) {
        bool grows = v->now.halted && v->now.to - v->now.wanted < quick;
        return grows && !knows_sp(&v->now, position) ? build_window(v, p, m, p->end - quick, p->end)
                                                     : BT_OK;
    }
    while (size < back + back / 2)
        size *= 4;
    if (size > REVERSE_QUICK_WINDOW || back > reach_of(v, p))
        return build_local(v, p, m, position, REVERSE_FIRST_WINDOW / 2);
    int error = build_window(v, p, m, p->end - (size < all ? size : all), p->end);
    if (error || size >= quick || !now_holds(v, position) || knows_sp(&v->now, position))
        return error;
    return build_window(v, p, m, p->end - quick, p->end);
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
    uint64_t limit = reach_of(v, p), size = REVERSE_FIRST_WINDOW;
    v->quick = quick;
    if (reverse_machine_is_a64(m))
        return BT_OK;
    take_better(v, position);
    if (quick)
        return build_at_once(v, p, m, position);
    if (back > limit)
        return fits_local(v, p, position)
                   ? BT_OK
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
        int error = enough ? BT_OK : build_window(v, p, m, p->end - n, p->end);
        bool began_later = v->now.built && v->now.from > p->end - n;
        if (error || n == limit || began_later || knows_sp(&v->now, position))
            return error;
    }
}

bool reverse_values_explain(const struct reverse_values *v, uint64_t position, unsigned reg,
                            struct values_answer *answer)
{
    *answer = (struct values_answer){.step = UINT32_MAX};
    return now_holds(v, position) && v->now.values && !v->now.conflict &&
           values_register(v->now.values, (size_t)(position - v->now.from), reg, answer);
}

static uint32_t psr_at(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                       uint64_t position, enum bt_isa isa)
{
    uint32_t psr = m->regs.value[TARGET_REG_PSR] & ~IT_BITS;
    uint32_t t = reverse_machine_is_m(m) ? XPSR_T : CPSR_T;
    uint32_t mask = 0, inferred = 0, flags = 0;
    psr = isa == BT_ISA_A32 ? psr & ~t : psr | t;
    if (v->now.values && !v->now.conflict && now_holds(v, position))
        flags = values_flags(v->now.values, (size_t)(position - v->now.from), &mask, &inferred);
    psr = (psr & ~mask) | (flags & mask);
    if (!reverse_machine_is_m(m))
        return psr;
    uint32_t number = handler_at(&v->handler, p, position, psr & XPSR_NUMBER, v->quick);
    return (psr & ~XPSR_NUMBER) | (number == HANDLER_ANY ? 0 : number);
}

static enum target_security security_at(struct reverse *p, uint64_t position)
{
    struct code_key key;
    if (reverse_key(p, position, &key) != BT_OK)
        return TARGET_SECURITY_UNKNOWN;
    return key.security == BT_SEC_SECURE ? TARGET_SECURITY_SECURE : TARGET_SECURITY_NONSECURE;
}

static bool stacks_are_equal(const struct target_regs *regs, enum target_stack a,
                             enum target_stack b)
{
    return (regs->stack_known >> a & regs->stack_known >> b & 1) &&
           regs->stack[a] == regs->stack[b];
}

/* Which of two security states the core was in then, else the one that it is halted in. */
static bool was_nonsecure(const struct target_regs *now, const struct target_regs *regs)
{
    if (regs->security != TARGET_SECURITY_UNKNOWN)
        return regs->security == TARGET_SECURITY_NONSECURE;
    return stacks_are_equal(now, TARGET_STACK_MSP, TARGET_STACK_MSP_NS) &&
           !stacks_are_equal(now, TARGET_STACK_MSP, TARGET_STACK_MSP_S);
}

/* Nothing has changed the other stack pointers up to the halt. */
static bool stacks_kept(const struct reverse_values *v, uint64_t position)
{
    const struct reverse_known *k = &v->now;
    return now_holds(v, position) && k->halted && k->values &&
           values_stacks_kept(k->values, (size_t)(position - k->from));
}

/* As values_stacks(); a value that is inferred counts as others. */
static unsigned stacks_at(const struct reverse_values *v, uint64_t position, uint32_t stacks[2],
                          bool *process)
{
    const struct reverse_known *k = &v->now;
    if (!now_holds(v, position) || k->conflict || !k->values)
        return 0;
    return values_stacks(k->values, (size_t)(position - k->from), stacks, process);
}

/*
 * GDB asks for all stack pointers of an M-profile core when it unwinds, and gives up without one.
 * The one in use is SP: as at the halt, but that handlers have the main stack. Of the others nobody
 * knows where they were, if the program uses more than one.
 */
static void fill_stacks(const struct reverse_values *v, const struct reverse_machine *m,
                        uint64_t position, struct target_regs *regs)
{
    uint32_t stacks[2];
    bool process;
    unsigned known = stacks_at(v, position, stacks, &process);
    const struct target_regs *now = &m->regs;
    bool handler = regs->value[TARGET_REG_PSR] & XPSR_NUMBER;
    bool psp = now->stack_known >> TARGET_STACK_PSP & now->known >> SP & 1 &&
               now->stack[TARGET_STACK_PSP] == now->value[SP];
    unsigned used = known ? process : !handler && psp ? TARGET_STACK_PSP : TARGET_STACK_MSP;
    unsigned bank = was_nonsecure(now, regs) ? TARGET_STACK_MSP_NS : TARGET_STACK_MSP_S;
    bool alone = stacks_kept(v, position) || (m->program.one_stack && !m->program.two_states);
    for (unsigned i = 0; i < TARGET_STACKS; i++)
        regs->stack[i] = alone ? now->stack[i] : REVERSE_NO_STACK;
    regs->stack_known = now->stack_known | 1u << used | 1u << (bank + used);
    for (unsigned i = 0; i < 2; i++)
        if (known >> i & 1)
            regs->stack[i] = regs->stack[bank + i] = stacks[i];
    regs->stack[used] = regs->stack[bank + used] = (uint32_t)regs->value[SP];
}

/* What is known backwards, and numbers that GDB needs: returns which of them are estimates. */
static uint32_t fill_regs(struct reverse_values *v, struct reverse *p,
                          const struct reverse_machine *m, uint64_t position, enum bt_isa isa,
                          struct target_regs *regs)
{
    uint32_t guessed = 1u << TARGET_REG_PSR;
    regs->known |= 1u << TARGET_REG_PSR;
    regs->value[TARGET_REG_PSR] = psr_at(v, p, m, position, isa);
    if (reverse_machine_is_m(m))
        regs->security = security_at(p, position);
    for (unsigned reg = 0; reg <= LR; reg++) {
        struct values_answer answer;
        bool known = reverse_values_explain(v, position, reg, &answer);
        if (m->forward)
            known = reverse_forward_join(m->forward, position, reg, known, &answer.value);
        bool needed = reg == SP || reg == LR;
        regs->value[reg] = known ? answer.value : needed ? REVERSE_NO_STACK : 0;
        regs->known |= (uint32_t)(known || needed) << reg;
        guessed |= (uint32_t)(!known && needed) << reg;
    }
    if (reverse_machine_is_m(m))
        fill_stacks(v, m, position, regs);
    return guessed;
}

int reverse_values_regs(struct reverse_values *v, struct reverse *p,
                        const struct reverse_machine *m, uint64_t position,
                        struct target_regs *regs, uint32_t *estimated)
{
    uint64_t pc;
    enum bt_isa isa;
    int error = reverse_pc(p, position, &pc, &isa);
    if (error)
        return error;
    *regs = (struct target_regs){.known = 1u << TARGET_REG_PC};
    regs->value[TARGET_REG_PC] = pc;
    uint32_t guessed = reverse_machine_is_a64(m) ? 0 : fill_regs(v, p, m, position, isa, regs);
    const struct execute_regs *forward =
        m->forward ? reverse_forward_regs(m->forward, position) : NULL;
    if (forward)
        reverse_snapshot_tell(forward, m->list, m->list_count, m->profile, regs);
    if (estimated)
        *estimated = guessed;
    return BT_OK;
}

/* The bytes of a word that lie in [address, address + len). */
static void put_known_word(uint32_t word, uint32_t value, bool big, uint64_t address,
                           uint8_t *bytes, size_t len)
{
    for (unsigned i = 0; i < 4; i++) {
        uint64_t at = (uint64_t)word + i;
        if (at >= address && at - address < len)
            bytes[at - address] = (uint8_t)(value >> 8 * (big ? 3 - i : i));
    }
}

/* Might it have held something else at that time? Where nobody says what is there, as devices are.
 */
static bool may_be_stale(const struct reverse_machine *m, uint32_t address)
{
    uint32_t present;
    enum values_memory kind =
        m->read ? m->read(m->context, address, &present) : VALUES_MEMORY_OTHER;
    if (kind == VALUES_MEMORY_OTHER) /* DDI 0403E.e B3.1: SRAM and RAM */
        return reverse_machine_is_m(m) &&
               (address - 0x20000000u < 0x20000000u || address - 0x60000000u < 0x40000000u);
    return kind != VALUES_MEMORY_CONST;
}

/* Where GDB looks for the frames of an SP that is not known. */
static bool is_no_stack(uint32_t word)
{
    return word - (REVERSE_NO_STACK - NO_STACK_NEAR) < 2 * NO_STACK_NEAR;
}

bool reverse_values_word(const struct reverse_values *v, uint64_t position, uint32_t address,
                         struct values_answer *answer)
{
    *answer = (struct values_answer){.step = UINT32_MAX};
    return now_holds(v, position) && v->now.values && !v->now.conflict &&
           values_word(v->now.values, (size_t)(position - v->now.from), address, answer);
}

bool reverse_values_may_be_stale(const struct reverse_values *v, const struct reverse_machine *m,
                                 uint32_t address)
{
    return is_no_stack(address) || (v->memory == REVERSE_MEMORY_ERROR && may_be_stale(m, address));
}

/* The same of what is known forwards. 1: its bytes are put; 0: they are not known; -1: it is
 * another one than `known`. */
static int put_forward_word(const struct reverse_machine *m, uint64_t position, uint32_t word,
                            const struct values_answer *known, uint64_t address, uint8_t *bytes,
                            size_t len)
{
    uint8_t now[4], other[4];
    if (!m->forward)
        return 0;
    if (known && reverse_forward_memory(m->forward, position, word, now, 4)) {
        put_known_word(word, known->value, m->big_endian, word, other, 4);
        m->forward->conflicts += memcmp(now, other, 4) != 0;
        return memcmp(now, other, 4) != 0 ? -1 : 0;
    }
    for (unsigned i = 0; i < 4; i++)
        if ((uint64_t)word + i >= address && (uint64_t)word + i - address < len &&
            !reverse_forward_memory(m->forward, position, word + i, &now[i], 1))
            return 0;
    for (unsigned i = 0; !known && i < 4; i++)
        if ((uint64_t)word + i >= address && (uint64_t)word + i - address < len)
            bytes[word + i - address] = now[i];
    return 1;
}

static size_t a64_memory(const struct reverse_machine *m, uint64_t position, uint64_t address,
                         uint8_t *bytes, size_t len)
{
    size_t n = 0;
    while (n < len && m->forward &&
           (reverse_forward_memory(m->forward, position, address + n, bytes + n, 1) ||
            reverse_forward_constant(m->forward, address + n, bytes + n)))
        n++;
    return n;
}

size_t reverse_values_memory(struct reverse_values *v, const struct reverse_machine *m,
                             uint64_t position, uint64_t address, uint8_t *bytes, size_t there,
                             size_t len, bool unwinds)
{
    const struct reverse_known *k = &v->now;
    if (reverse_machine_is_a64(m))
        return a64_memory(m, position, address, bytes, len);
    if (address > UINT32_MAX)
        return there;
    bool holds = now_holds(v, position) && !k->conflict && k->values;
    size_t at = holds ? (size_t)(position - k->from) : 0;
    for (uint64_t word = address & ~UINT64_C(3); word < address + len && word <= UINT32_MAX - 3;
         word += 4) {
        struct values_answer answer;
        uint32_t status; /* an estimate, as the PSR itself */
        bool known = holds && values_word(k->values, at, (uint32_t)word, &answer);
        int forward = put_forward_word(m, position, (uint32_t)word, known ? &answer : NULL, address,
                                       bytes, len);
        if (forward < 0)
            return word > address ? (size_t)(word - address) : 0;
        if (known)
            put_known_word((uint32_t)word, answer.value, m->big_endian, address, bytes, len);
        else if (forward)
            continue;
        else if (unwinds && holds && values_status(k->values, at, (uint32_t)word, &status))
            put_known_word((uint32_t)word, status, m->big_endian, address, bytes, len);
        else if ((there < len && word + 4 > address + there) ||
                 reverse_values_may_be_stale(v, m, (uint32_t)word))
            return word > address ? (size_t)(word - address) : 0;
    }
    return len;
}
