/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * M profile: special registers, exception entry and return (DDI 0403E.e B1.5). Cores with a
 * Security Extension are not followed through exceptions.
 */
#include "execute_work.h"

#define IPSR         0x1ffu
#define IT_HIGH      0xfc00u
#define ALIGNED      (1u << 9) /* stacked xPSR: SP was not a multiple of 8 */
#define STATUS_T     (1u << 24)
#define STATUS_SFPA  (1u << 20) /* v8-M in Secure state, stacked */
#define FLAGS        0xf80f0000u
#define SPSEL        2u
#define CONTROL_SFPA 8u
#define MPU_ENABLE   1u
#define HARD_FAULT   3
#define MEM_MANAGE   4
#define BUS_FAULT    5
#define USAGE_FAULT  6
#define CCR_ALIGN    (1u << 9)
#define FPCCR_ASPEN  (1u << 31)
#define FPCCR_LSPEN  (1u << 30)
#define FPCCR_ACT    1u
#define BASIC        0x20u /* bytes of a frame */
#define WITH_FLOATS  0x68u
#define FLOATS       16u         /* registers in a frame, and FPSCR behind them */
#define FPSCR_NEW    0x07ff0000u /* bits that FPDSCR gives */

static const uint8_t frame_regs[6] = {0, 1, 2, 3, 12, EXECUTE_LR};

static bool is_known(const struct execute *x, unsigned reg)
{
    return x->regs.known >> reg & 1;
}

static void set_register(struct execute *x, unsigned reg, uint32_t v, bool known)
{
    x->regs.value[reg] = v;
    x->regs.bounded &= reg < 32 ? ~(1u << reg) : ~0u;
    x->ways.differs &= reg < 32 ? ~(1u << reg) : ~0u;
    x->regs.compared.reg = 0;
    execute_unrelate(&x->regs, reg < EXECUTE_PC ? 1u << reg : 0);
    x->regs.known = (x->regs.known & ~(UINT64_C(1) << reg)) | (uint64_t)known << reg;
}

/* 1 handler, 0 thread, -1 not known. */
static int in_handler(const struct execute *x)
{
    if (x->regs.psr & x->regs.psr_known & IPSR || x->regs.handler)
        return 1;
    return (x->regs.psr_known & IPSR) == IPSR ? 0 : -1;
}

static bool is_privileged(const struct execute *x)
{
    return in_handler(x) == 1 ||
           (is_known(x, EXECUTE_CONTROL) && !(x->regs.value[EXECUTE_CONTROL] & 1));
}

/* Is PSP the stack pointer in use? -1: not known. */
static int uses_process_stack(const struct execute *x)
{
    if (in_handler(x) == 1)
        return 0;
    if (in_handler(x) < 0 || !is_known(x, EXECUTE_CONTROL))
        return -1;
    return x->regs.value[EXECUTE_CONTROL] >> 1 & 1;
}

/* Where MSR and MRS find a special register; 0: nowhere that is followed. */
static unsigned special_place(const struct execute *x, unsigned which)
{
    static const uint8_t places[32] = {
        [8] = EXECUTE_MSP,      [9] = EXECUTE_PSP,        [10] = EXECUTE_MSPLIM,
        [11] = EXECUTE_PSPLIM,  [16] = EXECUTE_PRIMASK,   [17] = EXECUTE_BASEPRI,
        [18] = EXECUTE_BASEPRI, [19] = EXECUTE_FAULTMASK, [20] = EXECUTE_CONTROL};
    int process = uses_process_stack(x);
    if (which == 8 || which == 9)
        return process < 0 ? 0 : process == (which == 9) ? EXECUTE_SP : places[which];
    return which < 32 ? places[which] : 0;
}

static void forget_stacks(struct execute *x)
{
    x->regs.known &=
        ~(UINT64_C(1) << EXECUTE_SP | UINT64_C(1) << EXECUTE_MSP | UINT64_C(1) << EXECUTE_PSP);
    x->regs.bounded &= ~(1u << EXECUTE_SP);
    x->ways.differs &= ~(1u << EXECUTE_SP);
}

/* The stack in use becomes the other one, if `process` differs. Thread mode. */
static void select_stack(struct execute *x, bool process)
{
    unsigned left = process ? EXECUTE_MSP : EXECUTE_PSP,
             taken = process ? EXECUTE_PSP : EXECUTE_MSP;
    set_register(x, left, (uint32_t)x->regs.value[EXECUTE_SP], is_known(x, EXECUTE_SP));
    set_register(x, EXECUTE_SP, (uint32_t)x->regs.value[taken], is_known(x, taken));
}

static void write_control(struct execute_work *w, struct execute_value v)
{
    struct execute *x = w->x;
    int process = uses_process_stack(x);
    bool handler = in_handler(x) == 1;
    uint32_t mask = x->core.fpu ? 7 : 3;
    if (x->core.limits && x->core.fpu)
        v.number &= ~CONTROL_SFPA;
    if (handler) { /* SPSEL is not written there */
        uint32_t old = (uint32_t)x->regs.value[EXECUTE_CONTROL];
        v.known = v.known && is_known(x, EXECUTE_CONTROL);
        v.number = (v.number & ~SPSEL) | (old & SPSEL);
    }
    if (w->maybe || process < 0 || !v.known)
        v.known = false;
    if (!v.known && !handler)
        forget_stacks(x);
    else if (!handler && process != (int)(v.number >> 1 & 1))
        select_stack(x, v.number & SPSEL);
    set_register(x, EXECUTE_CONTROL, v.number & mask, v.known && !(v.number & ~mask));
}

static void write_special(struct execute_work *w, unsigned which, struct execute_value v)
{
    struct execute *x = w->x;
    unsigned place = special_place(x, which);
    v.known = v.known && is_privileged(x);
    if (which < 4) {
        uint32_t mask = w->insn->opcode >> 10 & 1 ? FLAGS : FLAGS & 0xf8000000u;
        execute_set_psr(w, mask, v.number,
                        execute_read(w, w->insn->opcode >> 16 & 15).known ? 0xf8000000u : 0);
    } else if (which == 20) {
        write_control(w, v);
    } else if (!place || which == 18 || x->core.security) {
        x->regs.known &= ~(UINT64_C(0x3fff) << EXECUTE_MSP);
        if (which < 16 || x->core.security)
            forget_stacks(x);
    } else {
        v.number &= which >= 16 ? (which == 17 ? 0xff : 1) : which < 10 ? ~3u : ~7u;
        v.known = v.known && which != 17 && which != 19; /* as wide as the core has it */
        execute_write(w, place, v);
    }
}

bool execute_m_special(struct execute_work *w)
{
    uint32_t op = w->insn->opcode;
    unsigned which = op & 0xff, place = special_place(w->x, which);
    struct execute_value v = {0, false, 0};
    if (w->insn->size != 4 || w->insn->isa != BT_ISA_T32)
        return false;
    if ((op & 0xffe0d000) == 0xf3808000) {
        write_special(w, which, execute_read(w, op >> 16 & 15));
        return true;
    }
    if ((op & 0xffe0d000) != 0xf3e08000)
        return false;
    if (place && is_privileged(w->x) && !w->x->core.security && which != 19)
        v = execute_read(w, place);
    if (which == 20 && w->x->core.limits && w->x->core.fpu) /* SFPA is not followed */
        v = (struct execute_value){v.number & ~CONTROL_SFPA, false, v.known ? CONTROL_SFPA : 0};
    if (which == 5)
        v = (struct execute_value){w->x->regs.psr & IPSR, (w->x->regs.psr_known & IPSR) == IPSR, 0};
    if ((op >> 8 & 15) < EXECUTE_PC)
        execute_write(w, op >> 8 & 15, v);
    return true;
}

/* Between two handlers in a row the core may leave out that it takes a frame and puts it there
 * again (DDI 0403E.e B1.5.12). */
static void tell_frame(struct execute *x, uint32_t frame, bool store, bool perhaps)
{
    for (unsigned i = 0; i < BASIC / 4; i++)
        execute_tell(x, frame + 4 * i, 4, store, perhaps || x->chains);
}

static void forget_low_floats(struct execute *x)
{
    x->regs.vector_known &= ~UINT64_C(0xffff);
    x->regs.fpscr_known = 0;
}

/* s0 to s15 and FPSCR go to their place in a frame, and are left unknown. */
static int preserve_floats(struct execute *x, uint32_t at)
{
    struct execute_regs *r = &x->regs;
    int error = BT_OK;
    for (unsigned s = 0; s < FLOATS; s++)
        execute_put_word(x, at + 4 * s, (uint32_t)(r->vector[s / 2] >> (s & 1 ? 32 : 0)),
                         r->vector_known >> s & 1 ? UINT32_MAX : 0, &error);
    execute_put_word(x, at + 4 * FLOATS, r->fpscr, r->fpscr_known, &error);
    if (r->fpscr_known != UINT32_MAX)
        execute_memory_set_bits(&x->memory, at + 4 * FLOATS, r->fpscr, r->fpscr_known);
    execute_tell(x, at, WITH_FLOATS - BASIC, true, true);
    forget_low_floats(x);
    return error;
}

/* Whether they are put there is not known. */
static int forget_floats_at(struct execute *x, uint32_t at)
{
    int error = execute_memory_write(&x->memory, at, NULL, WITH_FLOATS - BASIC);
    execute_tell(x, at, WITH_FLOATS - BASIC, true, true);
    return error;
}

/* Floats that an exception has left where they were go to its frame now. */
static void settle_floats(struct execute_work *w)
{
    struct execute *x = w->x;
    bool there = is_known(x, EXECUTE_FPCAR), stacked = x->regs.float_pending && there && !w->maybe;
    uint32_t at = (uint32_t)x->regs.value[EXECUTE_FPCAR];
    if (stacked)
        w->error = preserve_floats(x, at);
    else if (there)
        w->error = forget_floats_at(x, at);
    else
        execute_clobber_store(w);
    if (!stacked)
        forget_low_floats(x);
}

static void recall_floats(struct execute_regs *r)
{
    r->vector_known = (r->vector_known & ~UINT64_C(0xffff)) | r->place_floats;
    r->fpscr_known = r->place_status;
}

/* CPS; and what the first floating-point instruction of a context does. */
void execute_m_before(struct execute_work *w, bool uses_floats)
{
    struct execute *x = w->x;
    struct execute_regs *r = &x->regs;
    uint32_t op = w->insn->opcode;
    if (w->insn->size == 2 && (op & 0xffec) == 0xb660) {
        struct execute_value v = {op >> 4 & 1, is_privileged(x), 0};
        if (op & 2)
            execute_write(w, EXECUTE_PRIMASK, v);
        r->known &= ~(UINT64_C(1) << EXECUTE_FAULTMASK);
    }
    if (!uses_floats)
        return;
    uint64_t ccr = r->value[EXECUTE_FPCCR];
    bool nothing = is_known(x, EXECUTE_FPCCR) && !(ccr & FPCCR_ACT) && r->float_settled;
    if (!nothing && !r->float_settled)
        settle_floats(w);
    if (r->float_place && !w->maybe) {
        recall_floats(r);
        w->error = preserve_floats(x, r->float_place);
    }
    r->float_place = 0;
    r->float_pending = false;
    r->float_settled = r->float_settled || !w->maybe;
    if (is_known(x, EXECUTE_CONTROL) && r->value[EXECUTE_CONTROL] & FPCA)
        return;
    bool automatic = is_known(x, EXECUTE_FPCCR) && ccr & FPCCR_ASPEN && !w->maybe;
    bool was_known = is_known(x, EXECUTE_CONTROL);
    r->value[EXECUTE_CONTROL] |= FPCA;
    r->fpscr_known = 0;
    if (!automatic)
        r->known &= ~(UINT64_C(1) << EXECUTE_CONTROL);
    if (automatic && was_known && is_known(x, EXECUTE_FPDSCR)) {
        r->fpscr = (uint32_t)r->value[EXECUTE_FPDSCR];
        r->fpscr_known = FPSCR_NEW;
    }
}

/*
 * Bits 7..2 of ITSTATE are 0: a block goes on only at its first or second instruction, if it begins
 * with EQ (DDI 0403E.e A7.3.3). Halfwords that may be its IT instruction are not in front?
 */
static bool is_in_no_block(struct execute *x, uint64_t address)
{
    for (unsigned back = 2; back <= 6; back += 2) {
        uint8_t b[2];
        if (!execute_memory_read(&x->memory, (address & ~UINT64_C(1)) - back, b, 2) ||
            (b[1] == 0xbf && b[0] && b[0] < 16))
            return false;
    }
    return true;
}

static bool is_followed(const struct execute *x, const struct bt_event *event)
{
    return x->core.profile == EXECUTE_PROFILE_M && !x->core.security &&
           event->u.exception.m_profile && event->u.exception.number > 1 &&
           uses_process_stack(x) >= 0 && (is_known(x, EXECUTE_CONTROL) || !x->core.fpu);
}

/* Where the frame goes is not known: what may be there is unknown. */
static int push_somewhere(struct execute *x)
{
    uint32_t sp = (uint32_t)x->regs.value[EXECUTE_SP], range = 0;
    struct execute_work w = {.x = x};
    bool bounded = x->regs.bounded >> EXECUTE_SP & 1;
    if (!is_known(x, EXECUTE_SP))
        range = bounded ? x->regs.range[EXECUTE_SP] : UINT32_MAX;
    if (range <= EXECUTE_RANGE_MAX && sp >= WITH_FLOATS + 4) {
        execute_clobber_range(&w, sp - WITH_FLOATS - 4, range + WITH_FLOATS + 8);
        execute_tell(x, sp - WITH_FLOATS - 4, range + WITH_FLOATS + 8, true, true);
    } else {
        execute_clobber_store(&w);
    }
    set_register(x, EXECUTE_SP, 0, false);
    return w.error;
}

/* Room for them, which they are put into at once, or when somebody else wants them (FPCCR.LSPEN).
 */
static int push_floats(struct execute *x, uint32_t at)
{
    uint64_t control = x->regs.value[EXECUTE_FPCCR];
    bool known = is_known(x, EXECUTE_FPCCR), lazy = known && control & FPCCR_LSPEN;
    x->regs.float_pending = lazy;
    x->regs.float_settled = known && !lazy;
    if (known)
        return lazy ? BT_OK : preserve_floats(x, at);
    return forget_floats_at(x, at);
}

/* A word of a frame, or perhaps not: what was there is known if it is the same. */
static void push_word(struct execute *x, uint32_t at, uint32_t word, uint32_t known, bool perhaps,
                      int *error)
{
    struct execute_value old = execute_get_word(x, at);
    if (perhaps && !(old.known && old.number == word))
        known = 0;
    execute_put_word(x, at, word, known, error);
}

/*
 * Does a fault perhaps come from a frame that found no room? The memory protection unit may have
 * kept it from being written, or parts of it (MSTKERR), or it may be where memory ends (STKERR).
 */
static bool is_doubtful(struct execute *x, unsigned number, uint32_t frame, uint32_t end)
{
    bool off = is_known(x, EXECUTE_MPU_CTRL) && !(x->regs.value[EXECUTE_MPU_CTRL] & MPU_ENABLE);
    bool outside = execute_memory_kind(&x->memory, frame) != EXECUTE_MEMORY_RAM ||
                   execute_memory_kind(&x->memory, end - 1) != EXECUTE_MEMORY_RAM;
    return ((number == HARD_FAULT || number == MEM_MANAGE) && !off) ||
           ((number == HARD_FAULT || number == BUS_FAULT) && outside);
}

/*
 * v8-M: a frame that would go below the stack's limit is not written, or only what is above it, and
 * SP is that limit (DDI 0553B.v, PushStack()). 1: so it is, 0: it is not, -1: the limit is not
 * known.
 */
static int is_below_limit(const struct execute *x, unsigned number, bool process, uint32_t frame)
{
    unsigned limit = process ? EXECUTE_PSPLIM : EXECUTE_MSPLIM;
    if (!x->core.limits || (number != HARD_FAULT && number != USAGE_FAULT))
        return 0;
    return is_known(x, limit) ? frame < (uint32_t)x->regs.value[limit] : -1;
}

/* Where they are stacked at once but the unit is off, they are not, and a fault says so
 * (DDI 0403E.e B1.5.6, CheckVFPEnabled()). */
static bool lacks_floats(const struct execute *x, unsigned number)
{
    bool lazy = is_known(x, EXECUTE_FPCCR) && x->regs.value[EXECUTE_FPCCR] & FPCCR_LSPEN;
    return !lazy && (x->regs.float_off || number == HARD_FAULT || number == USAGE_FAULT);
}

/* The frame was put, whole. */
static void hold_frame(struct execute *x, uint32_t frame)
{
    uint32_t number = execute_interrupt(x);
    for (unsigned i = 0; i < 6; i++)
        execute_hold(x, frame_regs[i], frame + 4 * i);
    execute_hold_status(x, number, frame + 28);
}

/* `number`: of the exception. `pc`: where it is to return to. SP becomes the frame. */
static int push_frame(struct execute *x, unsigned number, struct execute_value pc, bool floats)
{
    int error = BT_OK;
    uint32_t sp = (uint32_t)x->regs.value[EXECUTE_SP];
    bool process = uses_process_stack(x) == 1;
    if (!is_known(x, EXECUTE_SP) || (sp & 4 && !is_known(x, EXECUTE_CCR)))
        return push_somewhere(x);
    bool padded = sp & 4 && (floats || x->regs.value[EXECUTE_CCR] & CCR_ALIGN);
    uint32_t frame = sp - (floats ? WITH_FLOATS : BASIC) - (padded ? 4 : 0);
    int below = is_below_limit(x, number, process, frame);
    bool perhaps = below || is_doubtful(x, number, frame, sp);
    for (unsigned i = 0; i < 6; i++) {
        unsigned reg = frame_regs[i];
        bool known = is_known(x, reg), bounded = !known && x->regs.bounded >> reg & 1;
        push_word(x, frame + 4 * i, (uint32_t)x->regs.value[reg], known ? UINT32_MAX : 0, perhaps,
                  &error);
        if (bounded && !perhaps && !error)
            execute_memory_bound(&x->memory, frame + 4 * i, 4, (uint32_t)x->regs.value[reg],
                                 x->regs.range[reg]);
        if (!perhaps)
            execute_ways_store(x, reg, frame + 4 * i);
    }
    push_word(x, frame + 24, pc.number, pc.known ? UINT32_MAX : 0, perhaps, &error);
    uint32_t status = (x->regs.psr & ~ALIGNED) | (padded ? ALIGNED : 0),
             known = x->regs.psr_known | ALIGNED;
    if (x->core.limits && x->core.fpu) /* that of CONTROL, which is not followed */
        known &= ~STATUS_SFPA;
    push_word(x, frame + 28, status, known, perhaps, &error);
    if (!perhaps) {
        execute_memory_set_bits(&x->memory, frame + 28, status, known);
        execute_ways_enter(x, frame + 28);
    }
    tell_frame(x, frame, true, perhaps);
    if (!perhaps)
        hold_frame(x, frame);
    uint32_t top =
        below > 0 ? (uint32_t)x->regs.value[process ? EXECUTE_PSPLIM : EXECUTE_MSPLIM] : frame;
    set_register(x, EXECUTE_SP, top, below >= 0);
    if (!floats || error)
        return error;
    if (!perhaps && !lacks_floats(x, number))
        return push_floats(x, frame + BASIC);
    forget_low_floats(x);
    x->regs.float_settled = x->regs.float_pending = false;
    return forget_floats_at(x, frame + BASIC);
}

static void enter_handler(struct execute *x, const struct bt_event *event, uint32_t lr)
{
    for (unsigned i = 0; i < 5; i++)
        set_register(x, frame_regs[i], 0, false);
    set_register(x, EXECUTE_LR, lr, true);
    x->regs.psr = (x->regs.psr & ~IPSR) | STATUS_T | (event->u.exception.number & IPSR);
    x->regs.psr_known = (x->regs.psr_known & ~FLAGS) | IPSR | STATUS_T;
    execute_set_it(&x->regs, 0);
    x->ways.flags = false;
    x->regs.handler = true;
}

/*
 * The handler that returns is followed by another one: its frame stays (DDI 0403E.e B1.5.12). Some
 * trace units tell of no return then, and of no address that the exception returns to. Where one is
 * told that is not the frame's it is that of a third handler, of which no instruction has run yet.
 */
static bool chain_handler(struct execute *x, const struct bt_event *event, int *error)
{
    uint32_t how = x->regs.returning;
    x->regs.returning = 0;
    if (!how || in_handler(x) != 1 || !is_followed(x, event))
        return false;
    unsigned sp = how & 4 ? EXECUTE_PSP : EXECUTE_SP;
    struct execute_value pc = {0, false, 0},
                         to = {(uint32_t)event->u.exception.return_address, true, 0};
    if (is_known(x, sp))
        pc = execute_get_word(x, (uint32_t)x->regs.value[sp] + 24);
    bool same = !event->u.exception.has_return || (pc.number ^ to.number) < 2;
    if (event->u.exception.has_return && !pc.known)
        return false;
    x->regs.value[EXECUTE_CONTROL] &= ~(uint64_t)FPCA;
    enter_handler(x, event, how);
    if (same)
        return true;
    x->regs.psr_known &= ~IPSR;
    *error = push_frame(x, event->u.exception.number, to, false);
    enter_handler(x, event, x->nonsecure ? 0xffffffb0u : 0xfffffff1u);
    x->returned = false;
    return true;
}

/* Where a handler returns to: of one that is chained, where the one before would have. */
static bool return_of(const struct execute *x, const struct bt_event *event,
                      struct execute_value *pc)
{
    if (event->u.exception.has_return)
        *pc = (struct execute_value){(uint32_t)event->u.exception.return_address, true, 0};
    else
        *pc = (struct execute_value){x->returned_to, x->returned_known, 0};
    return event->u.exception.has_return || x->returned;
}

/* The frame of the handler before stays, and may be neither taken nor put there again: what that
 * handler has left in floating-point registers is still there then. In its place is what it has
 * been, or what is written there later, which is the same. */
static void chain_floats(struct execute *x)
{
    struct execute_regs *r = &x->regs;
    r->float_settled = is_known(x, EXECUTE_SP);
    r->float_place = r->float_settled && r->float_pending ? (uint32_t)r->value[EXECUTE_FPCAR] : 0;
    r->place_floats = (uint16_t)r->vector_known;
    r->place_status = r->fpscr_known;
    r->float_pending = false;
    set_register(x, EXECUTE_FPCAR, 0, false);
    forget_low_floats(x);
}

int execute_m_exception(struct execute *x, const struct bt_event *event)
{
    struct execute_value pc;
    int error = BT_OK;
    if (chain_handler(x, event, &error))
        return error;
    if (!is_followed(x, event) || !return_of(x, event, &pc)) {
        execute_forget_registers(x);
        execute_forget_memory(x);
        execute_set_it(&x->regs, 0);
        return BT_OK;
    }
    bool handler = in_handler(x) == 1, process = uses_process_stack(x) == 1;
    bool floats = x->core.fpu && x->regs.value[EXECUTE_CONTROL] & FPCA;
    error = push_frame(x, event->u.exception.number, pc, floats);
    if (floats && !is_known(x, EXECUTE_SP)) {
        forget_low_floats(x);
        x->regs.float_settled = x->regs.float_pending = false;
    }
    if (floats)
        set_register(x, EXECUTE_FPCAR, (uint32_t)x->regs.value[EXECUTE_SP] + BASIC,
                     is_known(x, EXECUTE_SP));
    if (floats && x->returned && x->reloaded)
        chain_floats(x);
    if (process)
        select_stack(x, false);
    x->regs.value[EXECUTE_CONTROL] &= ~(uint64_t)(SPSEL | FPCA);
    uint32_t low = handler ? 1 : process ? 0xd : 9, kind = floats ? 0xe0 : 0xf0;
    enter_handler(x, event,
                  x->nonsecure ? 0xffffff00u | (kind & 0xb0) | (low & 0xc)
                               : 0xffffff00u | kind | low);
    x->returned = false;
    return error;
}

/* They are where they were, if nobody wanted them, or in the frame. */
static void pop_floats(struct execute *x, bool there, uint32_t at)
{
    struct execute_regs *r = &x->regs;
    bool own = there && is_known(x, EXECUTE_FPCAR) && r->value[EXECUTE_FPCAR] == at;
    bool pending = r->float_pending, settled = r->float_settled;
    uint32_t place = r->float_place;
    r->float_place = 0;
    r->float_settled = own || (settled && !pending);
    r->float_pending = false;
    x->reloaded = there && settled && !pending;
    if (pending && own)
        return;
    forget_low_floats(x);
    if (place && there && place == at)
        recall_floats(r);
    if (place)
        return;
    for (unsigned s = 0; there && settled && s < FLOATS; s++) {
        struct execute_value v = execute_get_word(x, at + 4 * s);
        unsigned half = s & 1 ? 32 : 0;
        r->vector[s / 2] = (r->vector[s / 2] & ~(UINT64_C(0xffffffff) << half)) | (uint64_t)v.number
                                                                                      << half;
        r->vector_known |= (uint64_t)v.known << s;
    }
    if (there && settled)
        r->fpscr = execute_get_status(x, at + 4 * FLOATS, &r->fpscr_known);
}

/* `known`: bits of the status. Nothing is known where SP is not. */
static void pop_frame(struct execute *x, bool floats, uint32_t status, uint32_t known)
{
    bool there = is_known(x, EXECUTE_SP);
    uint32_t frame = (uint32_t)x->regs.value[EXECUTE_SP];
    if (there)
        tell_frame(x, frame, false, false);
    else
        execute_tell_any(x, false);
    if (there && floats)
        execute_tell(x, frame + BASIC, WITH_FLOATS - BASIC, false, true);
    x->ways.flags = false;
    for (unsigned i = 0; i < 6; i++) {
        unsigned reg = frame_regs[i];
        struct execute_value v = {0, false, 0};
        if (there)
            v = execute_get_word(x, frame + 4 * i);
        set_register(x, reg, v.number, v.known);
        x->regs.range[reg] = v.range;
        x->regs.bounded |= (uint32_t)(v.range != 0) << reg;
        if (there) {
            execute_ways_load(x, reg, frame + 4 * i);
            execute_take_held(x, reg, frame + 4 * i);
        }
    }
    if (there)
        execute_ways_return(x, frame + 28);
    uint32_t sp = frame + (floats ? WITH_FLOATS : BASIC);
    set_register(x, EXECUTE_SP, status & ALIGNED ? sp | 4 : sp, there && known & ALIGNED);
    if (there && !(known & ALIGNED)) {
        x->regs.range[EXECUTE_SP] = 4;
        x->regs.bounded |= 1u << EXECUTE_SP;
    }
    x->regs.psr = status & ~ALIGNED;
    x->regs.psr_known = known;
    x->regs.it_unknown = (known & EXECUTE_IT_BITS) == EXECUTE_IT_BITS ? 0 : EXECUTE_IT_LENGTH;
    x->reloaded = false;
    if (floats)
        pop_floats(x, there, frame + BASIC);
    execute_interrupt_end(x, there ? execute_held_status(x, frame + 28) : 0);
}

int execute_exception_return(struct execute *x, const struct bt_event *event, uint64_t next)
{
    uint32_t how = x->regs.returning, known = 0, status = 0;
    bool process = how & 4, thread = how & 8, floats = !(how & 0x10);
    struct execute_value pc = {0, false, 0};
    (void)event;
    x->regs.returning = 0;
    if (x->core.profile != EXECUTE_PROFILE_M)
        return BT_OK;
    if (!how || x->core.security || in_handler(x) != 1) {
        execute_forget_registers(x);
        return BT_OK;
    }
    if (process)
        select_stack(x, true);
    if (is_known(x, EXECUTE_SP)) {
        pc = execute_get_word(x, (uint32_t)x->regs.value[EXECUTE_SP] + 24);
        status = execute_get_status(x, (uint32_t)x->regs.value[EXECUTE_SP] + 28, &known);
    }
    if (next != EXECUTE_NO_ADDRESS && pc.known && (pc.number & ~1u) != ((uint32_t)next & ~1u))
        return BT_ERR_RANGE;
    uint32_t control = (uint32_t)x->regs.value[EXECUTE_CONTROL] & 1;
    control |= (process && thread ? SPSEL : 0) | (floats ? FPCA : 0);
    set_register(x, EXECUTE_CONTROL, control, is_known(x, EXECUTE_CONTROL));
    x->regs.handler = !thread;
    if (thread) {
        status &= ~IPSR;
        known |= IPSR;
    }
    if ((known & EXECUTE_IT_BITS) == IT_HIGH && !(status & IT_HIGH) && is_in_no_block(x, next)) {
        status &= ~EXECUTE_IT_BITS;
        known |= EXECUTE_IT_BITS;
    }
    pop_frame(x, floats, status, known);
    x->returned = true;
    x->returned_to = pc.number;
    x->returned_known = pc.known;
    return BT_OK;
}
