/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exceptions to AArch64 state: where they come from is in ELR, what they are in vector and ESR. */
#include "board_exception.h"

#include "drivers/virtual/encoder/waypoint.h"

#define MODE(psr)  ((psr)&0x1f)
#define LEVEL(psr) ((psr) >> 2 & 3)

#define TABLE_SIZE  0x800u
#define VECTOR_SIZE 0x80u
#define VECTOR_KIND 0x180u
#define SYNCHRONOUS 0x000u
#define IRQ         0x080u
#define FIQ         0x100u
#define CLASS(esr)  ((esr) >> 26 & 0x3f)
#define CLASS_SVC   0x15u
#define CLASS_SMC   0x17u
#define CLASS_FETCH 0x20u /* also from the same level, 0x21 */
#define CLASS_PC    0x22u
#define CLASS_DATA  0x24u
#define CLASS_SP    0x26u
#define CLASS_DEBUG 0x30u /* to 0x35; watchpoints are 0x34, 0x35 */
#define CLASS_BRK   0x3cu

/* Exception types of the trace (IHI 0064H.b chapter 6). */
enum type {
    TYPE_CALL = 2,
    TYPE_TRAP = 3,
    TYPE_SYSTEM_ERROR = 4,
    TYPE_INSN_DEBUG = 6,
    TYPE_DATA_DEBUG = 7,
    TYPE_ALIGNMENT = 10,
    TYPE_INSN_FAULT = 11,
    TYPE_DATA_FAULT = 12,
    TYPE_IRQ = 14,
    TYPE_FIQ = 15,
};

static enum type synchronous(uint32_t syndrome)
{
    uint32_t class = CLASS(syndrome);

    if (class >= CLASS_SVC && class <= CLASS_SMC)
        return TYPE_CALL;
    switch (class & ~1u) {
    case CLASS_FETCH:
        return TYPE_INSN_FAULT;
    case CLASS_DATA:
        return TYPE_DATA_FAULT;
    case CLASS_PC:
    case CLASS_SP:
        return TYPE_ALIGNMENT;
    case CLASS_DEBUG:
    case CLASS_DEBUG + 2:
    case CLASS_BRK:
        return TYPE_INSN_DEBUG;
    case CLASS_DEBUG + 4:
        return TYPE_DATA_DEBUG;
    default:
        return TYPE_TRAP;
    }
}

static enum type type_of(uint64_t vector, uint32_t syndrome)
{
    switch (vector & VECTOR_KIND) {
    case SYNCHRONOUS:
        return synchronous(syndrome);
    case IRQ:
        return TYPE_IRQ;
    case FIQ:
        return TYPE_FIQ;
    default:
        return TYPE_SYSTEM_ERROR;
    }
}

/* What became of the instruction that had started. False: nothing fits. */
static bool board_exception_a64_commit(struct board_cpu *c, const struct board_insn *pending,
                                       struct board_place back, const struct board_insn **cancelled)
{
    *cancelled = NULL;
    if (!pending)
        return back.address == c->next.address;
    if (back.address == pending->address &&
        !(pending->cls == WAYPOINT_INDIRECT && pending->flags & BOARD_INSN_EXCEPTION_RETURN)) {
        *cancelled = pending; /* it will start again, or has failed */
        return true;
    }
    if (!board_cpu_follows(pending, back))
        return false;
    board_cpu_commit(c, pending, back);
    return true;
}

bool board_exception_take_a64(struct board_cpu *c, const struct board_insn *pending,
                              struct board_place to)
{
    struct board_qemu_taken taken;
    const struct board_insn *cancelled;
    uint64_t offset;

    if (to.address % VECTOR_SIZE || !board_cpu_psr(c, &to) ||
        !board_qemu_taken(c->qemu, c->index, LEVEL(to.psr), &taken))
        return false;
    offset = to.address - taken.vectors;
    if (offset >= TABLE_SIZE)
        return false;
    const struct board_place back = {taken.elr, BT_ISA_A64, true, taken.spsr};
    if (!board_exception_a64_commit(c, pending, back, &cancelled))
        return false;
    c->mode = MODE(taken.spsr);
    const struct board_exception x = {.number = type_of(offset, taken.syndrome),
                                      .preferred = board_cpu_state(c, back.address, back.isa)};
    c->mode = MODE(to.psr);
    c->next = board_cpu_state(c, to.address, to.isa);
    board_exception_trace(c, &x, cancelled);
    return true;
}
