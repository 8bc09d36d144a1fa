/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_cpu.h"

#include <inttypes.h>

#include "board_exception.h"
#include "drivers/virtual/encoder/waypoint.h"

#define MODE(psr)    ((psr)&0x1f)
#define LEVEL(mode)  ((uint8_t)((mode) >> 2 & 3)) /* PSTATE */
#define IPSR(psr)    ((psr)&0x1ff)
#define HIDDEN       1u /* IPSR */
#define MODE_USER    0x10
#define MODE_MONITOR 0x16
#define MODE_HYP     0x1a

/* SG: as waypoint_classify() takes it, and as a word of memory. */
#define GATE_OPCODE 0xe97fe97fu
#define GATE_WORD   0xe97fe97fu
#define GATE_SIZE   4u

void board_cpu_init(struct board_cpu *c, unsigned index, enum board_profile profile,
                    const struct board_qemu *q)
{
    c->qemu = q;
    c->m_profile = profile == BOARD_PROFILE_M;
    c->a64 = profile == BOARD_PROFILE_A64;
    c->index = index;
    c->mode = 0x13;
    c->nonsecure = c->a64; /* below EL3: the machines have no EL3, or leave it for good */
    c->last_isa = c->m_profile ? BT_ISA_T32 : c->a64 ? BT_ISA_A64 : BT_ISA_A32;
}

enum bt_security board_cpu_security(const struct board_cpu *c, uint32_t mode)
{
    if (c->a64)
        return LEVEL(mode) == 3 ? BT_SEC_SECURE : BT_SEC_NONSECURE;
    return c->nonsecure && mode != MODE_MONITOR ? BT_SEC_NONSECURE : BT_SEC_SECURE;
}

/* Secure modes but User are at EL3 where EL3 is AArch32. */
static uint8_t level_of(const struct board_cpu *c, enum bt_security security)
{
    if (c->m_profile)
        return c->handlers.current ? 3 : 0;
    if (c->a64)
        return LEVEL(c->mode);
    if (c->mode == MODE_USER)
        return 0;
    if (c->mode == MODE_HYP)
        return 2;
    return security == BT_SEC_SECURE ? 3 : 1;
}

struct board_state board_cpu_state(const struct board_cpu *c, uint64_t address, enum bt_isa isa)
{
    enum bt_security security = board_cpu_security(c, c->mode);

    return (struct board_state){address, isa, security, level_of(c, security)};
}

/* M profile: the state that the core is in now. */
static bool is_secure_now(const struct board_cpu *c)
{
    uint32_t secure = 0;

    return board_qemu_get(c->qemu, c->index, BOARD_QEMU_SECURE, &secure) && secure;
}

uint32_t board_cpu_handler(const struct board_cpu *c, uint32_t psr, bool call)
{
    const struct board_handlers *h = &c->handlers;

    if (!c->has_security || IPSR(psr) != HIDDEN)
        return IPSR(psr);
    for (unsigned i = h->depth; !h->hidden && !call && i > 0; i--)
        if (h->below[i - 1].hidden)
            return h->below[i - 1].number & BOARD_HANDLER_NUMBER;
    return h->current & BOARD_HANDLER_NUMBER;
}

unsigned board_cpu_vectors(const struct board_cpu *c, uint32_t mode)
{
    if (mode == MODE_MONITOR)
        return 2;
    return c->nonsecure && c->mode != MODE_MONITOR;
}

bool board_cpu_psr(struct board_cpu *c, struct board_place *at)
{
    if (!at->has_psr)
        at->has_psr = board_qemu_register(c->qemu, c->index, BOARD_REG_CPSR, &at->psr);
    return at->has_psr;
}

static bool runs_on(const struct board_insn *insn, struct board_place to)
{
    return to.address == insn->address + insn->size && to.isa == (enum bt_isa)insn->isa;
}

bool board_cpu_follows(const struct board_insn *insn, struct board_place to)
{
    switch (insn->cls) {
    case WAYPOINT_INDIRECT:
        return true;
    case WAYPOINT_DIRECT:
        return (to.address == insn->target && to.isa == (enum bt_isa)insn->target_isa) ||
               runs_on(insn, to);
    default:
        return runs_on(insn, to);
    }
}

/* Did the condition pass? The address says so, but where both ways lead to the same place. */
static bool passed(struct board_cpu *c, const struct board_insn *insn, struct board_place to)
{
    bool to_target = to.address == insn->target && to.isa == (enum bt_isa)insn->target_isa;

    if (insn->cls == WAYPOINT_NONE)
        return !c->failed;
    if (!runs_on(insn, to))
        return true;
    if (insn->cls == WAYPOINT_DIRECT && !to_target)
        return false;
    if (c->unit.each)
        return !c->failed;
    return insn->condition >= BOARD_COND_ALWAYS || !board_cpu_psr(c, &to) ||
           board_condition_passes(insn->condition, to.psr);
}

/* Value of the register that an MCR wrote: it is still there when the next instruction starts. */
static bool written_value(struct board_cpu *c, const struct board_insn *insn, bool pass,
                          struct board_place to, uint32_t *value)
{
    int number = (int)(insn->opcode >> 12 & 0xf);
    uint64_t wide;

    if (c->a64) {
        *value = 0;
        if ((insn->opcode & 31) == 31)
            return true;
        if (!board_qemu_x(c->qemu, c->index, insn->opcode & 31, &wide))
            return false;
        *value = (uint32_t)wide;
        return true;
    }
    if (insn->condition < BOARD_COND_ALWAYS)
        pass = board_cpu_psr(c, &to) && board_condition_passes(insn->condition, to.psr);
    return pass && board_qemu_register(c->qemu, c->index, number, value);
}

void board_cpu_commit(struct board_cpu *c, const struct board_insn *insn, struct board_place to)
{
    bool pass = passed(c, insn, to);
    uint32_t value;

    board_cpu_log_accesses(c);
    c->count++;
    if (c->truth.instructions)
        board_truth_add(&c->truth, insn->address | (insn->isa == BT_ISA_T32));
    if (insn->flags & (BOARD_INSN_EXCEPTION_RETURN | BOARD_INSN_WRITES_PSR) &&
        board_cpu_psr(c, &to))
        c->mode = MODE(to.psr);
    if (insn->flags & BOARD_INSN_SECURE_CONFIG && written_value(c, insn, pass, to, &value))
        c->nonsecure = value & 1;
    c->next = board_cpu_state(c, to.address, to.isa);
    const struct board_step step = {.insn = insn,
                                    .pass = pass,
                                    .exception_return = c->returns,
                                    .preempted = c->preempted,
                                    .function_return = c->function_returns,
                                    .next = c->next};
    c->returns = c->preempted = c->function_returns = false;
    board_unit_ran(&c->unit, &step);
    if (c->itm)
        board_itm_pc(c->itm, c->count, (uint32_t)to.address);
    if (insn->flags & BOARD_INSN_VECTOR_BASE && written_value(c, insn, pass, to, &value))
        c->vector_base[insn->opcode & 0x20 ? 2 : c->nonsecure] = value & ~0x1fu;
    if (insn->flags & BOARD_INSN_CONTEXT_ID && written_value(c, insn, pass, to, &value)) {
        board_truth_log(&c->truth, c->count, "context-id 0x%08x", value);
        board_unit_context_id(&c->unit, value);
    }
}

struct board_step board_cpu_cancelled(const struct board_cpu *c, const struct board_insn *insn)
{
    return (struct board_step){.insn = insn,
                               .pass = !c->failed,
                               .next = {insn->address + insn->size, (enum bt_isa)insn->isa,
                                        c->next.security, c->next.level}};
}

void board_cpu_access(struct board_cpu *c, const struct board_insn *insn, uint32_t address,
                      unsigned size)
{
    if (c->pending == insn)
        board_unit_access(&c->unit, address, size);
}

void board_cpu_log_accesses(struct board_cpu *c)
{
    for (unsigned i = 0; i < c->unit.access_count; i++)
        board_truth_log(&c->truth, c->count, "data 0x%08x %u", c->unit.accesses[i].address,
                        c->unit.accesses[i].size);
}

bool board_cpu_condition_fails(struct board_cpu *c, const struct board_insn *insn)
{
    uint32_t psr;

    return board_qemu_register(c->qemu, c->index, BOARD_REG_CPSR, &psr) &&
           !board_condition_passes(insn->condition, psr);
}

struct board_state board_cpu_here(const struct board_cpu *c)
{
    if (!c->pending)
        return c->next;
    return board_cpu_state(c, c->pending->address, (enum bt_isa)c->pending->isa);
}

static uint32_t stack_now(const struct board_cpu *c)
{
    uint32_t sp = 0;
    return board_qemu_register(c->qemu, c->index, BOARD_REG_SP, &sp) ? sp : 0;
}

/*
 * QEMU starts some instructions twice: after a watchpoint, and when an access turns out to be one
 * of a device. The first start has done nothing then. A POP behind a function's call of itself
 * leads to itself: then it has moved SP. An exception return may lead to where it stands itself,
 * when that was interrupted outside the handler: then the mode changes.
 */
static bool starts_again(struct board_cpu *c, const struct board_insn *insn, struct board_place to)
{
    if (to.address != insn->address || to.isa != (enum bt_isa)insn->isa ||
        (insn->cls == WAYPOINT_DIRECT && insn->target == insn->address))
        return false;
    if (insn->cls != WAYPOINT_INDIRECT)
        return true;
    if (c->has_stack && stack_now(c) != c->stack)
        return false;
    if (!board_cpu_psr(c, &to))
        return true;
    return c->m_profile
               ? board_cpu_handler(c, to.psr, false) == (c->handlers.current & BOARD_HANDLER_NUMBER)
               : MODE(to.psr) == c->mode;
}

static void board_cpu_begin(struct board_cpu *c, struct board_place to)
{
    c->started = true;
    if (board_cpu_psr(c, &to)) {
        c->mode = MODE(to.psr);
        c->handlers.current = c->m_profile ? IPSR(to.psr) : 0;
    }
    c->has_security = c->m_profile && is_secure_now(c); /* that is how such a core comes up */
    c->next = board_cpu_state(c, to.address, to.isa);
    if (c->unit.enabled) {
        board_truth_log(&c->truth, c->count, "on 0x%08" PRIx64, to.address);
        board_unit_on(&c->unit, &c->next);
    }
}

/* A reset, or a debugger, has changed the handler that runs. */
static void forget_handlers(struct board_cpu *c, uint32_t number)
{
    if (c->m_profile && (c->handlers.current & BOARD_HANDLER_NUMBER) != number)
        c->handlers = (struct board_handlers){.current = number};
}

/* It goes on at `to`, wherever a debugger has put the PC. */
static void leave_debug(struct board_cpu *c, struct board_place to)
{
    c->halted = false;
    if (board_cpu_psr(c, &to)) {
        c->mode = MODE(to.psr);
        forget_handlers(c, board_cpu_handler(c, to.psr, false));
    }
    c->nonsecure = c->has_security ? !is_secure_now(c) : c->nonsecure;
    c->next = board_cpu_state(c, to.address, to.isa);
    if (c->pending && c->pending->address != to.address)
        c->pending = NULL;
    board_truth_log(&c->truth, c->count, "debug-exit 0x%08" PRIx64, c->next.address);
    board_unit_debug_exit(&c->unit, &c->next);
}

static void jump(struct board_cpu *c, struct board_place to)
{
    c->anomalies++;
    board_truth_log(&c->truth, c->count, "jump from 0x%08" PRIx64 " to 0x%08" PRIx64,
                    board_cpu_here(c).address, to.address);
    if (board_cpu_psr(c, &to))
        c->mode = MODE(to.psr);
    c->next = board_cpu_state(c, to.address, to.isa);
    board_unit_jump(&c->unit, &c->next);
}

bool board_cpu_through_gate(struct board_cpu *c, const struct board_insn *pending,
                            struct board_place to)
{
    struct board_place gate = to;
    uint32_t word, back = pending && pending->cls == WAYPOINT_INDIRECT ? c->handlers.back : 0;
    bool in_front = back == (uint32_t)to.address - GATE_SIZE + 1, behind = back == to.address;

    /* A handler may have interrupted what it goes back to in front of the SG or behind it. */
    if (!c->has_security || (!c->nonsecure && !in_front) || (c->nonsecure && behind) ||
        !board_qemu_word_of(c->qemu, c->index, true, (uint32_t)to.address - GATE_SIZE, &word) ||
        word != GATE_WORD)
        return false;
    gate.address -= GATE_SIZE;
    if (pending ? !board_cpu_follows(pending, gate) : gate.address != c->next.address)
        return false;
    c->nonsecure = true;
    if (pending && (pending->cls != WAYPOINT_INDIRECT || !board_exception_take(c, pending, gate)))
        board_cpu_commit(c, pending, gate);
    c->gate = (struct board_insn){.address = gate.address,
                                  .opcode = GATE_OPCODE,
                                  .size = GATE_SIZE,
                                  .isa = BT_ISA_T32,
                                  .cls = WAYPOINT_NONE,
                                  .condition = BOARD_COND_ALWAYS};
    c->nonsecure = c->failed = false;
    board_cpu_commit(c, &c->gate, to);
    c->pending = NULL;
    return true;
}

/* Where no branch changes it the security state is as before. */
static void look_at_security(struct board_cpu *c)
{
    bool was_nonsecure = c->nonsecure;

    if (!c->has_security)
        return;
    c->nonsecure = !is_secure_now(c);
    c->function_returns = was_nonsecure && !c->nonsecure && !c->returns;
}

void board_cpu_advance(struct board_cpu *c, struct board_place to)
{
    const struct board_insn *insn;

    if (!c->started)
        board_cpu_begin(c, to);
    if (c->halted)
        leave_debug(c, to);
    if (c->has_security && is_secure_now(c))
        board_cpu_through_gate(c, c->pending, to);
    insn = c->pending;
    if (!insn) {
        bool expected = to.address == c->next.address && to.isa == c->next.isa;
        if (!expected && !board_exception_take(c, NULL, to))
            jump(c, to);
        return;
    }
    if (starts_again(c, insn, to)) {
        board_unit_no_access(&c->unit);
        return;
    }
    if (insn->cls == WAYPOINT_INDIRECT) {
        if (!board_exception_take(c, insn, to)) {
            look_at_security(c);
            board_cpu_commit(c, insn, to);
        }
    } else if (board_cpu_follows(insn, to)) {
        board_cpu_commit(c, insn, to);
    } else if (!board_exception_take(c, insn, to)) {
        jump(c, to);
    }
}

void board_cpu_start_slowly(struct board_cpu *c, const struct board_insn *insn)
{
    struct board_place to = {.address = insn->address, .isa = (enum bt_isa)insn->isa};

    board_cpu_advance(c, to);
    c->pending = insn;
    c->has_stack = insn->cls == WAYPOINT_INDIRECT;
    c->stack = c->has_stack ? stack_now(c) : 0;
    c->last_isa = to.isa;
    c->failed =
        c->unit.each && insn->condition < BOARD_COND_ALWAYS && board_cpu_condition_fails(c, insn);
    if (insn->flags & BOARD_INSN_WAIT) {
        board_unit_flush(&c->unit);
        board_port_push(c->unit.port);
    }
}

enum bt_isa board_cpu_isa(const struct board_cpu *c, uint32_t psr)
{
    return c->a64 ? BT_ISA_A64 : board_code_state(psr, c->m_profile).isa;
}

/* Where a core that stands still is. */
static bool read_place(const struct board_cpu *c, struct board_place *at)
{
    at->has_psr = true;
    if (!board_qemu_pc(c->qemu, c->index, &at->address) ||
        !board_qemu_register(c->qemu, c->index, BOARD_REG_CPSR, &at->psr))
        return false;
    at->isa = board_cpu_isa(c, at->psr);
    return true;
}

void board_cpu_catch_up(struct board_cpu *c)
{
    struct board_place to;

    if (!c->started || c->halted || !read_place(c, &to))
        return;
    if (!c->pending && to.address == c->next.address && to.isa == c->next.isa)
        return;
    if (c->pending && starts_again(c, c->pending, to))
        return;
    board_cpu_advance(c, to);
    c->pending = NULL;
}

void board_cpu_resume(struct board_cpu *c)
{
    struct board_place to;

    if (!c->halted || !read_place(c, &to))
        return;
    leave_debug(c, to);
}

void board_cpu_halt(struct board_cpu *c, bool debug)
{
    struct board_state here;

    if (!c->started || c->halted)
        return;
    board_cpu_catch_up(c);
    c->has_stack = false; /* a debugger may write SP */
    if (debug) {
        board_truth_log(&c->truth, c->count, "debug-entry 0x%08" PRIx64, board_cpu_here(c).address);
        here = board_cpu_here(c);
        board_unit_debug_entry(&c->unit, &here);
        c->halted = true;
    }
    board_unit_flush(&c->unit);
    board_truth_flush(&c->truth);
}

void board_cpu_keep(struct board_cpu *c)
{
    if (c->pending) {
        c->kept = *c->pending;
        c->pending = &c->kept;
    }
    board_unit_keep(&c->unit);
}
