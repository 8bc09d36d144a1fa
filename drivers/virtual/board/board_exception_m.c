/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions of the M profile. The number of the running handler (IPSR) is always right; what an
 * exception interrupted is in the frame that it pushed.
 */
#include "board_exception.h"

#include "drivers/virtual/encoder/waypoint.h"

#define IPSR(psr)          ((psr)&0x1ff)
#define HIDDEN             1u        /* IPSR */
#define PSR_PADDED         (1u << 9) /* of a frame: a word more was pushed to align it */
#define IS_EXC_RETURN(lr)  (((lr)&0xffffff00u) == 0xffffff00u)
#define RETURN_PSP         (1u << 2) /* EXC_RETURN: the frame is on the process stack */
#define RETURN_BASIC       (1u << 4) /* EXC_RETURN: no floating-point registers in it */
#define NUMBER_HARD_FAULT  3
#define NUMBER_USAGE_FAULT 6
#define BASIC_FRAME        0x20u
#define EXTENDED_FRAME     0x68u

/* EXC_RETURN of a core with security states. */
#define RETURN_TO_SECURE (1u << 0) /* ES: the exception was taken to Secure state */
#define RETURN_THREAD    (1u << 3) /* Mode: Thread mode was interrupted */
#define RETURN_NO_CALLEE (1u << 5) /* DCRS: by this one alone nobody has stacked r4-r11 */
#define RETURN_SECURE    (1u << 6) /* S: Secure state was interrupted, whose stack has the frame */
#define CALLEE_CONTEXT   0x28u     /* signature, a word kept free, r4-r11 */

/* As board_qemu_get() numbers them. */
#define NUMBER_MSP_NS     0x18u
#define NUMBER_MSP_S      0x1au
#define NUMBER_SPECIAL_S  0x22u
#define NUMBER_SPECIAL_NS 0x23u
#define SPECIAL_SPSEL     (2u << 24)
#define VTOR              0xe000ed08u
#define ETMV4_INTERRUPTS  0x200
#define NUMBER(handler)   ((handler)&BOARD_HANDLER_NUMBER)
#define CHAIN_MAX         4 /* exceptions without an instruction in between */

/* An exception that was taken, and what its frame tells. */
struct taken {
    uint32_t number; /* architectural, and BOARD_HANDLER_NS */
    uint32_t vector; /* address of the handler */
    uint32_t exc_return;
    uint32_t preferred; /* stacked: return address, PSR, LR */
    uint32_t psr;
    uint32_t lr;
    uint32_t stack; /* SP that was interrupted */
};

/*
 * Exception numbers of the trace. ETMv3 has moved the frequent ones below 16; ETMv4 those of
 * interrupts from the ninth on.
 */
static unsigned traced_number(const struct board_cpu *c, uint32_t number)
{
    static const uint8_t system[16] = {0,  17, 10, 19, 13, 21, 9,  22,
                                       16, 20, 18, 11, 12, 23, 14, 15};

    number &= BOARD_HANDLER_NUMBER;
    if (c->unit.model.ops->etmv4)
        return number < 24 ? number : number - 16 + ETMV4_INTERRUPTS;
    if (number < 16)
        return system[number];
    if (number == 16)
        return 8;
    return number <= 23 ? number - 16 : number;
}

static bool is_active(const struct board_handlers *h, uint32_t number)
{
    bool found = number == 0 || number == NUMBER(h->current);

    for (unsigned i = 0; i < h->depth; i++)
        found |= NUMBER(h->below[i].number) == number;
    return found;
}

/* What the current handler leaves to, by its number. */
static uint32_t running_below(const struct board_handlers *h, uint32_t number)
{
    for (unsigned i = h->depth; i > 0; i--)
        if (NUMBER(h->below[i - 1].number) == number)
            return h->below[i - 1].number;
    return number;
}

static void enter(struct board_cpu *c, uint32_t number, uint32_t entry, uint32_t back)
{
    struct board_handlers *h = &c->handlers;

    if (h->depth < BOARD_ACTIVE_MAX) {
        h->below[h->depth].number = h->current;
        h->below[h->depth].hidden = h->hidden;
        h->below[h->depth].back = h->back;
        h->below[h->depth++].entry = h->entry;
    }
    h->hidden = false;
    h->current = number;
    h->entry = entry;
    h->back = back;
    c->entered = NUMBER(number);
    if (c->itm)
        board_itm_exception(c->itm, NUMBER(number), BOARD_ITM_ENTERED);
}

static void leave_to(struct board_cpu *c, uint32_t handler)
{
    struct board_handlers *h = &c->handlers;

    if (c->itm)
        board_itm_exception(c->itm, NUMBER(h->current), BOARD_ITM_EXITED);
    do {
        h->depth -= h->depth > 0;
        h->current = h->below[h->depth].number;
        h->entry = h->below[h->depth].entry;
        h->hidden = h->below[h->depth].hidden;
        h->back = h->below[h->depth].back;
    } while (h->depth > 0 && h->current != handler);
    h->current = handler;
    if (c->itm && !c->preempted)
        board_itm_exception(c->itm, NUMBER(handler), BOARD_ITM_RETURNED);
}

static bool word(const struct board_cpu *c, const struct taken *t, uint32_t address,
                 uint32_t *value)
{
    if (c->has_security)
        return board_qemu_word_of(c->qemu, c->index, t->exc_return & RETURN_SECURE, address, value);
    return board_qemu_word(c->qemu, c->index, address, value);
}

static bool read_frame(const struct board_cpu *c, uint32_t frame, struct taken *t)
{
    return word(c, t, frame + 0x14, &t->lr) && word(c, t, frame + 0x18, &t->preferred) &&
           word(c, t, frame + 0x1c, &t->psr);
}

/* Of a core with security states: is the frame on a process stack? */
static bool on_process_stack(const struct board_cpu *c, uint32_t exc_return, bool *process)
{
    bool secure = exc_return & RETURN_SECURE, same = secure == (exc_return & RETURN_TO_SECURE);
    uint32_t special;

    *process = exc_return & RETURN_PSP;
    if (!same) { /* that bit is the other state's */
        if (!board_qemu_get(c->qemu, c->index, secure ? NUMBER_SPECIAL_S : NUMBER_SPECIAL_NS,
                            &special))
            return false;
        *process = special & SPECIAL_SPSEL;
    }
    *process &= (exc_return & RETURN_THREAD) != 0;
    return true;
}

/* Bytes that the core pushed below the frame, when it went on to Non-secure state. */
static uint32_t callee_context(uint32_t exc_return)
{
    bool there = exc_return & RETURN_SECURE &&
                 (!(exc_return & RETURN_TO_SECURE) || !(exc_return & RETURN_NO_CALLEE));

    return there ? CALLEE_CONTEXT : 0;
}

/* The tops of the main stacks as an exception in a row of them has left them: [1] that of Secure
 * state, or of a core that has no states. */
struct stacks {
    uint32_t main[2];
};

static bool read_stacks(const struct board_cpu *c, struct stacks *s)
{
    if (c->has_security)
        return board_qemu_get(c->qemu, c->index, NUMBER_MSP_NS, &s->main[0]) &&
               board_qemu_get(c->qemu, c->index, NUMBER_MSP_S, &s->main[1]);
    return board_qemu_register(c->qemu, c->index, BOARD_REG_SP, &s->main[1]);
}

/* Where the frame of `t` is; takes it from its stack. */
static bool pop_frame(const struct board_cpu *c, struct stacks *s, struct taken *t)
{
    bool secure = !c->has_security || t->exc_return & RETURN_SECURE;
    bool process = t->exc_return & RETURN_PSP;
    uint32_t *top = &s->main[secure], frame = *top;

    if (c->has_security && !on_process_stack(c, t->exc_return, &process))
        return false;
    if (process && c->has_security)
        process = board_qemu_get(c->qemu, c->index, secure ? NUMBER_MSP_S + 1 : NUMBER_MSP_NS + 1,
                                 &frame);
    else if (process)
        process = board_qemu_other_sp(c->qemu, c->index, &frame);
    if (c->has_security)
        frame += callee_context(t->exc_return);
    if (!read_frame(c, frame, t))
        return false;
    t->stack = frame + (t->exc_return & RETURN_BASIC ? BASIC_FRAME : EXTENDED_FRAME) +
               (t->psr & PSR_PADDED ? 4 : 0);
    if (!process)
        *top = t->stack;
    return true;
}

/* The handler of an exception with this EXC_RETURN, and what it has interrupted. */
static uint32_t handler_of(const struct board_cpu *c, uint32_t number, uint32_t exc_return)
{
    bool nonsecure = c->has_security && !(exc_return & RETURN_TO_SECURE);

    return number | (nonsecure ? BOARD_HANDLER_NS : 0);
}

static bool interrupted_nonsecure(const struct board_cpu *c, const struct taken *t)
{
    return c->has_security && !(t->exc_return & RETURN_SECURE);
}

/*
 * The exceptions that led to `to`, newest first. Each whose stacked PSR is that of a handler that
 * has not run yet came before its first instruction. Returns their number,
 * 0 if it was none. */
static unsigned find_chain(struct board_cpu *c, struct board_place to,
                           struct taken chain[CHAIN_MAX])
{
    struct stacks stacks;
    unsigned n = 0;

    chain[0] = (struct taken){.number = IPSR(to.psr), .vector = (uint32_t)to.address};
    if (!board_qemu_register(c->qemu, c->index, BOARD_REG_LR, &chain[0].exc_return) ||
        !read_stacks(c, &stacks))
        return 0;
    for (;;) {
        struct taken *t = &chain[n++];
        if (!IS_EXC_RETURN(t->exc_return) || !pop_frame(c, &stacks, t))
            return 0;
        t->number = handler_of(c, t->number, t->exc_return);
        if (is_active(&c->handlers, board_cpu_handler(c, t->psr, true)))
            return n;
        if (n == CHAIN_MAX)
            return 0;
        chain[n] =
            (struct taken){.number = IPSR(t->psr), .vector = t->preferred, .exc_return = t->lr};
    }
}

/* BLXNS: in a handler it makes IPSR 1. */
static bool hides(const struct board_insn *insn)
{
    return insn && insn->size == 2 && (insn->opcode & 0xff87) == 0x4784;
}

/* What became of the instruction that had started. */

/*
 * `pending` returned from the current handler, and the exception came before another instruction.
 * The frame does not tell whether it was popped in between, and both are known to happen: so both
 * are traced, in turns.
 */
static void return_and_preempt(struct board_cpu *c, const struct board_insn *pending,
                               struct board_place back)
{
    c->returns = true;
    c->preempted = c->count & 1;
    leave_to(c, running_below(&c->handlers, board_cpu_handler(c, back.psr, false)));
    board_cpu_commit(c, pending, back);
}

/* Has the first of the exceptions interrupted the handler that was running last? */
static bool interrupts_current(const struct board_cpu *c, const struct board_insn *pending,
                               const struct taken *first)
{
    uint32_t current = c->handlers.current;

    if (board_cpu_handler(c, first->psr, hides(pending)) != NUMBER(current) ||
        first->number == current)
        return false;
    /* A Secure handler is hidden in Non-secure state: else it is that state's of
     * the same number. */
    return current == 0 || current & BOARD_HANDLER_NS || !interrupted_nonsecure(c, first) ||
           IPSR(first->psr) != NUMBER(current) || !c->has_security;
}

/* False: the frame does not fit what was running. */
static bool board_exception_m_commit(struct board_cpu *c, const struct board_insn *pending,
                                     const struct taken *first, const struct board_insn **cancelled,
                                     bool *preempts)
{
    const struct board_place back = {
        .address = first->preferred, .isa = BT_ISA_T32, .has_psr = true, .psr = first->psr};
    bool indirect, popped;

    if (!interrupted_nonsecure(c, first) && board_cpu_through_gate(c, pending, back))
        pending = NULL;
    indirect = pending && pending->cls == WAYPOINT_INDIRECT;
    *cancelled = NULL;
    *preempts = false;
    if (!interrupts_current(c, pending, first)) {
        if (!indirect)
            return false;
        *preempts = c->count & 1;
        c->nonsecure = interrupted_nonsecure(c, first);
        return_and_preempt(c, pending, back);
        return true;
    }
    if (!pending)
        return back.address == c->next.address;
    popped = indirect && c->has_stack && c->stack != first->stack; /* and returned to itself */
    if (!indirect && board_cpu_follows(pending, back)) {
        board_cpu_commit(c, pending, back);
    } else if (back.address == pending->address && !popped) {
        *cancelled = pending; /* a fault, or it will start again */
    } else if (indirect) {
        c->function_returns = c->nonsecure && !interrupted_nonsecure(c, first);
        c->nonsecure = interrupted_nonsecure(c, first);
        board_cpu_commit(c, pending, back);
    } else {
        return false;
    }
    return true;
}

/* PUSH of core registers: what finds no room on a stack itself. */
static bool pushes(const struct board_insn *insn)
{
    return insn->size == 2 ? (insn->opcode & 0xfe00) == 0xb400 : insn->opcode >> 16 == 0xe92d;
}

/* A fault because there is no room for a frame, or for what is pushed: what is where the frame
 * should be tells nothing. */
static bool has_no_frame(const struct board_cpu *c, const struct board_insn *pending,
                         struct taken *t)
{
    if (t->number < NUMBER_HARD_FAULT || t->number > NUMBER_USAGE_FAULT ||
        !IS_EXC_RETURN(t->exc_return) || (pending && pending->cls == WAYPOINT_INDIRECT))
        return false;
    t->psr = NUMBER(c->handlers.current);
    t->preferred = (uint32_t)c->next.address;
    if (pending)
        t->preferred = (uint32_t)pending->address + (pushes(pending) ? 0 : pending->size);
    return true;
}

static bool board_exception_m_take(struct board_cpu *c, const struct board_insn *pending,
                                   struct board_place to)
{
    struct taken chain[CHAIN_MAX];
    unsigned n = find_chain(c, to, chain);
    const struct board_insn *cancelled;
    bool preempts;

    if (n == 0 || !board_exception_m_commit(c, pending, &chain[n - 1], &cancelled, &preempts)) {
        n = 1;
        if (!has_no_frame(c, pending, &chain[0]) ||
            !board_exception_m_commit(c, pending, &chain[0], &cancelled, &preempts))
            return false;
    }
    while (n-- > 0) {
        const struct taken *t = &chain[n];
        c->nonsecure = interrupted_nonsecure(c, t);
        const struct board_exception x = {.number = traced_number(c, t->number),
                                          .chained = preempts,
                                          .preferred =
                                              board_cpu_state(c, t->preferred, BT_ISA_T32)};
        c->handlers.hidden = c->has_security && IPSR(t->psr) == HIDDEN;
        enter(c, t->number, t->vector, (t->preferred & ~1u) | interrupted_nonsecure(c, t));
        c->nonsecure = (t->number & BOARD_HANDLER_NS) != 0;
        c->next = board_cpu_state(c, t->vector, BT_ISA_T32);
        board_exception_trace(c, &x, cancelled);
        cancelled = NULL;
        preempts = false;
    }
    return true;
}

/* At the entry of the handler that runs already: has it been taken again, by tail-chaining? */
static bool entered_again(const struct board_cpu *c, const struct board_insn *pending,
                          struct board_place to)
{
    uint32_t lr;

    return pending && pending->cls == WAYPOINT_INDIRECT && to.address == c->handlers.entry &&
           board_qemu_register(c->qemu, c->index, BOARD_REG_LR, &lr) && IS_EXC_RETURN(lr);
}

static bool is_running(const struct board_handlers *h, uint32_t handler)
{
    bool found = handler == 0 || handler == h->current;

    for (unsigned i = 0; i < h->depth; i++)
        found |= h->below[i].number == handler;
    return found;
}

/* At the first instruction of the handler that an exception of this EXC_RETURN has: code may keep
 * any number in LR. */
static bool at_entry(const struct board_cpu *c, uint32_t number, uint32_t exc_return,
                     uint64_t address)
{
    bool secure = exc_return & RETURN_TO_SECURE;
    uint32_t table, vector;

    return board_qemu_word_of(c->qemu, c->index, secure, VTOR, &table) &&
           board_qemu_word_of(c->qemu, c->index, secure, table + 4 * number, &vector) &&
           address == (vector & ~1u);
}

/*
 * The handler in which the core is. Both security states have some exceptions of their own: then LR
 * tells of a new one, and of one that goes on the state or where its interruption has to end. (A
 * Secure handler that calls a Non-secure function is hidden there.)
 */
static uint32_t handler_at(const struct board_cpu *c, const struct board_place *to, bool call)
{
    const struct board_handlers *h = &c->handlers;
    uint32_t current = h->current, number = board_cpu_handler(c, to->psr, call), lr, other, secure;

    if (!c->has_security || number == 0 || IPSR(to->psr) != number)
        return number;
    if (board_qemu_register(c->qemu, c->index, BOARD_REG_LR, &lr) && IS_EXC_RETURN(lr) &&
        (handler_of(c, number, lr) == current || at_entry(c, number, lr, to->address)))
        return handler_of(c, number, lr);
    if (number != NUMBER(current))
        return running_below(h, number);
    other = current ^ BOARD_HANDLER_NS;
    if (!is_running(h, other) || !board_qemu_get(c->qemu, c->index, BOARD_QEMU_SECURE, &secure))
        return current;
    return (!secure && !(current & BOARD_HANDLER_NS)) || to->address == (h->back & ~1u) ? other
                                                                                        : current;
}

bool board_exception_take_m(struct board_cpu *c, const struct board_insn *pending,
                            struct board_place to)
{
    uint32_t handler;

    if (!board_cpu_psr(c, &to))
        return false;
    handler = handler_at(c, &to, hides(pending));
    if (handler == c->handlers.current) {
        if (handler != 0 && entered_again(c, pending, to))
            return board_exception_m_take(c, pending, to);
        c->handlers.hidden = c->has_security && IPSR(to.psr) == HIDDEN;
        return false;
    }
    if (!is_running(&c->handlers, handler))
        return board_exception_m_take(c, pending, to);
    if (pending && pending->cls == WAYPOINT_INDIRECT) {
        c->returns = true;
        leave_to(c, handler);
    }
    return false;
}
