/* SPDX-License-Identifier: BSD-3-Clause */
/* Effects of 16-bit T32 instructions. */
#include "decoder/effect/effect.h"

static void t16_arithmetic(struct insn_effect *e, enum effect_op op, unsigned rd, unsigned rn)
{
    e->kind = EFFECT_ALU;
    e->op = (uint8_t)op;
    e->rd = (uint8_t)rd;
    e->rn = (uint8_t)rn;
}

static void t16_memory(struct insn_effect *e, bool load, unsigned width, unsigned rt, unsigned rn)
{
    e->kind = EFFECT_MEMORY;
    e->load = load;
    e->width = (uint8_t)width;
    e->rt = (uint8_t)rt;
    e->rn = (uint8_t)rn;
    e->index = true;
}

/* Shift, add, subtract, move, compare with immediates: 00xx... */
static void immediates(uint16_t op, bool in_it, struct insn_effect *e)
{
    unsigned rd = effect_field(op, 8, 3), low = effect_field(op, 0, 3),
             mid = effect_field(op, 3, 3);
    e->set_flags = !in_it;
    switch (effect_field(op, 11, 3)) {
    case 0:
    case 1:
    case 2:
        t16_arithmetic(e, EFFECT_MOV, low, EFFECT_NO_REG);
        e->rm = (uint8_t)mid;
        e->shift = (uint8_t)effect_field(op, 11, 2);
        e->amount = (uint8_t)effect_field(op, 6, 5);
        if (!e->amount && e->shift != EFFECT_LSL)
            e->amount = 32;
        e->carry = e->amount ? EFFECT_C_SHIFT : EFFECT_C_KEEP;
        break;
    case 3:
        t16_arithmetic(e, op & 0x200 ? EFFECT_SUB : EFFECT_ADD, low, mid);
        if (op & 0x400)
            e->imm = effect_field(op, 6, 3);
        else
            e->rm = (uint8_t)effect_field(op, 6, 3);
        break;
    case 4:
        t16_arithmetic(e, EFFECT_MOV, rd, EFFECT_NO_REG);
        e->imm = op & 0xff;
        break;
    case 5:
        t16_arithmetic(e, EFFECT_SUB, EFFECT_NO_REG, rd);
        e->imm = op & 0xff;
        e->set_flags = true;
        break;
    default:
        t16_arithmetic(e, op & 0x800 ? EFFECT_SUB : EFFECT_ADD, rd, rd);
        e->imm = op & 0xff;
    }
}

static void t16_registers(uint16_t op, bool in_it, struct insn_effect *e)
{
    static const uint8_t ops[16] = {EFFECT_AND, EFFECT_EOR, EFFECT_MOV, EFFECT_MOV,
                                    EFFECT_MOV, EFFECT_ADC, EFFECT_SBC, EFFECT_MOV,
                                    EFFECT_AND, EFFECT_RSB, EFFECT_SUB, EFFECT_ADD,
                                    EFFECT_ORR, EFFECT_MUL, EFFECT_BIC, EFFECT_MVN};
    unsigned code = effect_field(op, 6, 4), rd = effect_field(op, 0, 3),
             rm = effect_field(op, 3, 3);
    bool compare = code == 8 || code == 10 || code == 11;
    t16_arithmetic(e, (enum effect_op)ops[code], rd, rd);
    e->rm = (uint8_t)rm;
    e->set_flags = !in_it || compare;
    if (compare)
        e->rd = EFFECT_NO_REG;
    if (code == 9) { /* RSB rd, rm, #0 */
        e->rn = (uint8_t)rm;
        e->rm = EFFECT_NO_REG;
    } else if (ops[code] == EFFECT_MOV) { /* shifts by a register */
        e->rn = EFFECT_NO_REG;
        e->rm = (uint8_t)rd;
        e->rs = (uint8_t)rm;
        e->shift = code == 7 ? EFFECT_ROR : (uint8_t)(code - 2);
        e->carry = EFFECT_C_SHIFT;
    } else if (code == 15) {
        e->rn = EFFECT_NO_REG;
    }
}

static void high_registers(uint16_t op, struct insn_effect *e)
{
    unsigned rm = effect_field(op, 3, 4), rd = effect_field(op, 0, 3) | effect_field(op, 7, 1) << 3;
    switch (effect_field(op, 8, 2)) {
    case 0:
        t16_arithmetic(e, EFFECT_ADD, rd, rd);
        e->rm = (uint8_t)rm;
        break;
    case 1:
        t16_arithmetic(e, EFFECT_SUB, EFFECT_NO_REG, rd);
        e->rm = (uint8_t)rm;
        e->set_flags = true;
        break;
    case 2:
        t16_arithmetic(e, EFFECT_MOV, rd, EFFECT_NO_REG);
        e->rm = (uint8_t)rm;
        break;
    default: /* BXNS and BLXNS, too: where the state changes an event says so */
        e->kind = EFFECT_BRANCH;
        e->rn = (uint8_t)rm;
        e->link = effect_field(op, 7, 1);
        if (op & 3)
            effect_unknown(e);
    }
}

static void load_store(uint16_t op, struct insn_effect *e)
{
    static const uint8_t width[8] = {4, 2, 1, 1, 4, 2, 1, 2};
    unsigned rt = effect_field(op, 0, 3), rn = effect_field(op, 3, 3),
             code = effect_field(op, 9, 3);
    bool load = effect_field(op, 11, 1);
    switch (effect_field(op, 12, 4)) {
    case 5:
        t16_memory(e, code >= 3, width[code], rt, rn);
        e->sign = code == 3 || code == 7;
        e->rm = (uint8_t)effect_field(op, 6, 3);
        break;
    case 6:
        t16_memory(e, load, 4, rt, rn);
        e->delta = (int32_t)effect_field(op, 6, 5) * 4;
        break;
    case 7:
        t16_memory(e, load, 1, rt, rn);
        e->delta = (int32_t)effect_field(op, 6, 5);
        break;
    case 8:
        t16_memory(e, load, 2, rt, rn);
        e->delta = (int32_t)effect_field(op, 6, 5) * 2;
        break;
    default:
        t16_memory(e, load, 4, effect_field(op, 8, 3), 13);
        e->delta = (int32_t)(op & 0xff) * 4;
    }
}

static void t16_multiple(struct insn_effect *e, bool load, unsigned rn, unsigned list, bool down)
{
    int32_t bytes = 0;
    for (unsigned i = 0; i < 16; i++)
        bytes += (int32_t)(list >> i & 1) * 4;
    t16_memory(e, load, 4, EFFECT_NO_REG, rn);
    e->list = (uint16_t)list;
    e->delta = down ? -bytes : bytes;
    e->start = down ? -bytes : 0;
    e->index = false;
    e->writeback = !load || !(list >> rn & 1);
    if (!list)
        effect_unknown(e);
}

static void it_or_hint(uint16_t op, struct insn_effect *e)
{
    e->kind = EFFECT_NONE;
    if (!(op & 0xf))
        return;
    e->kind = EFFECT_IT;
    e->imm = op & 0xff;
}

/* 1011...: SP arithmetic, extends, PUSH, POP, CBZ, reversals, IT. */
static void t16_various(uint16_t op, struct insn_effect *e)
{
    unsigned rd = effect_field(op, 0, 3), rm = effect_field(op, 3, 3);
    switch (effect_field(op, 8, 4)) {
    case 0:
        t16_arithmetic(e, op & 0x80 ? EFFECT_SUB : EFFECT_ADD, 13, 13);
        e->imm = (op & 0x7f) * 4u;
        break;
    case 1:
    case 3:
    case 9:
    case 11:
        e->kind = EFFECT_BRANCH;
        e->zero = true;
        e->cond = op & 0x800 ? 1 : 0;
        e->rn = (uint8_t)rd;
        break;
    case 2:
        t16_arithmetic(e, EFFECT_FIELD, rd, rm);
        e->imm = (op & 0x40 ? 8u : 16u) << 8 | (op & 0x80 ? 0 : 1u << 16);
        break;
    case 4:
    case 5:
        t16_multiple(e, false, 13, (op & 0xffu) | (op & 0x100u) << 6, true);
        break;
    case 12:
    case 13:
        t16_multiple(e, true, 13, (op & 0xffu) | (op & 0x100u) << 7, false);
        break;
    case 6:
        e->kind = EFFECT_NONE; /* CPS (interrupts only), SETEND */
        break;
    case 10:
        t16_arithmetic(e,
                       effect_field(op, 6, 2) == 0   ? EFFECT_REV
                       : effect_field(op, 6, 2) == 1 ? EFFECT_REV16
                                                     : EFFECT_REVSH,
                       rd, rm);
        break;
    case 15:
        it_or_hint(op, e);
        break;
    default: /* BKPT too: semihosting writes registers and memory */
        effect_unknown(e);
    }
}

void effect_t16(uint16_t op, uint32_t address, bool in_it, struct insn_effect *e)
{
    effect_init(e);
    switch (effect_field(op, 12, 4)) {
    case 0:
    case 1:
    case 2:
    case 3:
        immediates(op, in_it, e);
        break;
    case 4:
        if (op & 0x800) { /* literal */
            t16_memory(e, true, 4, effect_field(op, 8, 3), 15);
            e->delta = (int32_t)(op & 0xff) * 4;
            e->align_pc = true;
        } else if (op & 0x400) {
            high_registers(op, e);
        } else {
            t16_registers(op, in_it, e);
        }
        break;
    case 10:
        t16_arithmetic(e, EFFECT_ADD, effect_field(op, 8, 3), op & 0x800 ? 13 : EFFECT_NO_REG);
        e->imm = (op & 0xff) * 4u;
        if (e->rn == EFFECT_NO_REG) { /* ADR */
            e->op = EFFECT_MOV;
            e->imm += (address + 4) & ~3u;
        }
        break;
    case 11:
        t16_various(op, e);
        break;
    case 12:
        t16_multiple(e, effect_field(op, 11, 1), effect_field(op, 8, 3), op & 0xff, false);
        break;
    case 13:
        if (effect_field(op, 8, 4) < 14) {
            e->kind = EFFECT_BRANCH;
            e->cond = (uint8_t)effect_field(op, 8, 4);
        }
        break; /* else SVC, UDF: what follows is an exception */
    case 14:
        e->kind = EFFECT_BRANCH;
        e->link = effect_field(op, 11, 1); /* second half of BLX */
        break;
    case 15: /* BL in two halves */
        if (op & 0x800) {
            e->kind = EFFECT_BRANCH;
            e->link = true;
        } else {
            t16_arithmetic(e, EFFECT_MOV, 14, EFFECT_NO_REG);
            e->imm = address + 4 + (effect_field(op, 0, 11) << 12) - (op & 0x400 ? 1u << 23 : 0);
        }
        break;
    default:
        load_store(op, e);
    }
}
