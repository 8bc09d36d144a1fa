/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions of the M profile. The number of the running handler (IPSR) is always right; what an
 * exception interrupted is in the frame that it pushed.
 */
#include "drivers/virtual/board/board_exception.h"

#include "drivers/virtual/waypoint.h"

#define IPSR(psr)         ((psr)&0x1ff)
#define PSR_PADDED        (1u << 9) /* of a frame: a word more was pushed to align it */
#define IS_EXC_RETURN(lr) (((lr)&0xffffff00u) == 0xffffff00u)
#define RETURN_PSP        (1u << 2) /* EXC_RETURN: the frame is on the process stack */
#define RETURN_BASIC      (1u << 4) /* EXC_RETURN: no floating-point registers in it */
#define BASIC_FRAME       0x20u
#define EXTENDED_FRAME    0x68u
#define ETMV4_INTERRUPTS  0x200
#define CHAIN_MAX         4 /* exceptions without an instruction in between */

/* An exception that was taken, and what its frame tells. */
struct taken {
    uint32_t number; /* architectural */
    uint32_t vector; /* address of the handler */
    uint32_t exc_return;
    uint32_t preferred; /* stacked: return address, PSR, LR */
    uint32_t psr;
    uint32_t lr;
};

/*
 * Exception numbers of the trace. ETMv3 has moved the frequent ones below 16; ETMv4 those of
 * interrupts from the ninth on.
 */
static unsigned traced_number(const struct board_cpu *c, uint32_t number)
{
    static const uint8_t system[16] = {0,  17, 10, 19, 13, 21, 9,  22,
                                       16, 20, 18, 11, 12, 23, 14, 15};

    if (c->unit.model.ops->etmv4)
        return number < 24 ? number : number - 16 + ETMV4_INTERRUPTS;
    if (number < 16)
        return system[number];
    if (number == 16)
        return 8;
    return number <= 23 ? number - 16 : number;
}

/* ---- handlers that are active -----------------------------------------------------------------
 */

static bool is_active(const struct board_handlers *h, uint32_t number)
{
    bool found = number == 0 || number == h->current;

    for (unsigned i = 0; i < h->depth; i++)
        found |= h->below[i].number == number;
    return found;
}

static void enter(struct board_cpu *c, uint32_t number, uint32_t entry)
{
    struct board_handlers *h = &c->handlers;

    if (h->depth < BOARD_ACTIVE_MAX) {
        h->below[h->depth].number = h->current;
        h->below[h->depth++].entry = h->entry;
    }
    h->current = number;
    h->entry = entry;
    c->entered = number;
    if (c->itm)
        board_itm_exception(c->itm, number, BOARD_ITM_ENTERED);
}

static void leave_to(struct board_cpu *c, uint32_t number)
{
    struct board_handlers *h = &c->handlers;

    if (c->itm)
        board_itm_exception(c->itm, h->current, BOARD_ITM_EXITED);
    do {
        h->depth -= h->depth > 0;
        h->current = h->below[h->depth].number;
        h->entry = h->below[h->depth].entry;
    } while (h->depth > 0 && h->current != number);
    h->current = number;
    if (c->itm && !c->preempted)
        board_itm_exception(c->itm, number, BOARD_ITM_RETURNED);
}

/* ---- frames -----------------------------------------------------------------------------------
 */

static bool read_frame(const struct board_cpu *c, uint32_t frame, struct taken *t)
{
    return board_qemu_word(c->qemu, c->index, frame + 0x14, &t->lr) &&
           board_qemu_word(c->qemu, c->index, frame + 0x18, &t->preferred) &&
           board_qemu_word(c->qemu, c->index, frame + 0x1c, &t->psr);
}

/* Where the frame of `t` is; `main_stack`: MSP just after it was pushed. */
static bool find_frame(const struct board_cpu *c, const struct taken *t, uint32_t main_stack,
                       uint32_t *frame)
{
    *frame = main_stack;
    return !(t->exc_return & RETURN_PSP) || board_qemu_other_sp(c->qemu, c->index, frame);
}

/*
 * The exceptions that led to `to`, newest first. Each whose stacked PSR is that of a handler that
 * has not run yet came before its first instruction. Returns their number, 0 if it was none.
 */
static unsigned find_chain(struct board_cpu *c, struct board_place to,
                           struct taken chain[CHAIN_MAX])
{
    uint32_t stack, frame;
    unsigned n = 0;

    chain[0] = (struct taken){.number = IPSR(to.psr), .vector = (uint32_t)to.address};
    if (!board_qemu_register(c->qemu, c->index, BOARD_REG_LR, &chain[0].exc_return) ||
        !board_qemu_register(c->qemu, c->index, BOARD_REG_SP, &stack))
        return 0;
    for (;;) {
        struct taken *t = &chain[n++];
        if (!IS_EXC_RETURN(t->exc_return) || !find_frame(c, t, stack, &frame) ||
            !read_frame(c, frame, t))
            return 0;
        if (is_active(&c->handlers, IPSR(t->psr)))
            return n;
        if (n == CHAIN_MAX)
            return 0;
        chain[n] =
            (struct taken){.number = IPSR(t->psr), .vector = t->preferred, .exc_return = t->lr};
        if (frame == stack)
            stack += (t->exc_return & RETURN_BASIC ? BASIC_FRAME : EXTENDED_FRAME) +
                     (t->psr & PSR_PADDED ? 4 : 0);
    }
}

/* ---- what became of the instruction that had started ------------------------------------------
 */

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
    leave_to(c, IPSR(back.psr));
    board_cpu_commit(c, pending, back);
}

/* False: the frame does not fit what was running. */
static bool settle(struct board_cpu *c, const struct board_insn *pending, const struct taken *first,
                   const struct board_insn **cancelled, bool *preempts)
{
    const struct board_place back = {
        .address = first->preferred, .isa = BT_ISA_T32, .has_psr = true, .psr = first->psr};
    bool indirect = pending && pending->cls == WAYPOINT_INDIRECT;

    *cancelled = NULL;
    *preempts = false;
    if (IPSR(first->psr) != c->handlers.current || first->number == c->handlers.current) {
        if (!indirect)
            return false;
        *preempts = c->count & 1;
        return_and_preempt(c, pending, back);
        return true;
    }
    if (!pending)
        return back.address == c->next.address;
    if (!indirect && board_cpu_follows(pending, back)) {
        board_cpu_commit(c, pending, back);
    } else if (back.address == pending->address) {
        *cancelled = pending; /* a fault, or it will start again */
    } else if (indirect) {
        board_cpu_commit(c, pending, back);
    } else {
        return false;
    }
    return true;
}

static bool take(struct board_cpu *c, const struct board_insn *pending, struct board_place to)
{
    struct taken chain[CHAIN_MAX];
    unsigned n = find_chain(c, to, chain);
    const struct board_insn *cancelled;
    bool preempts;

    if (n == 0 || !settle(c, pending, &chain[n - 1], &cancelled, &preempts))
        return false;
    while (n-- > 0) {
        const struct taken *t = &chain[n];
        const struct board_exception x = {.number = traced_number(c, t->number),
                                          .chained = preempts,
                                          .preferred =
                                              board_cpu_state(c, t->preferred, BT_ISA_T32)};
        enter(c, t->number, t->vector);
        c->next = board_cpu_state(c, t->vector, BT_ISA_T32);
        board_exception_tell(c, &x, cancelled);
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

bool board_exception_take_m(struct board_cpu *c, const struct board_insn *pending,
                            struct board_place to)
{
    uint32_t number;

    if (!board_cpu_psr(c, &to))
        return false;
    number = IPSR(to.psr);
    if (number == c->handlers.current)
        return number != 0 && entered_again(c, pending, to) && take(c, pending, to);
    if (!is_active(&c->handlers, number))
        return take(c, pending, to);
    if (pending && pending->cls == WAYPOINT_INDIRECT) {
        c->returns = true;
        leave_to(c, number);
    }
    return false;
}
