/* SPDX-License-Identifier: BSD-3-Clause */
/* Effects of 32-bit T32 instructions: first halfword in the upper half of the opcode. */
#include "decoder/effect/effect.h"

static uint32_t expand_immediate(uint32_t op, struct insn_effect *e)
{
    uint32_t imm12 = effect_field(op, 26, 1) << 11 | effect_field(op, 12, 3) << 8 | (op & 0xff);
    uint32_t byte = op & 0xff, value;
    unsigned by = imm12 >> 7;
    e->carry = EFFECT_C_KEEP;
    switch (imm12 >> 8) {
    case 0:
        return byte;
    case 1:
        return byte << 16 | byte;
    case 2:
        return byte << 24 | byte << 8;
    case 3:
        return byte * 0x01010101u;
    default:
        value = (byte & 0x7f) | 0x80;
        value = value >> by | value << (32 - by);
        e->carry = value >> 31 ? EFFECT_C_1 : EFFECT_C_0;
        return value;
    }
}

/* Data processing, modified immediate or shifted register: bits 24..21 are the operation. */
static void data_processing(uint32_t op, struct insn_effect *e, bool immediate)
{
    static const uint8_t ops[16] = {
        EFFECT_AND, EFFECT_BIC, EFFECT_ORR, EFFECT_ORN, EFFECT_EOR, 0xff,       0xff,       0xff,
        EFFECT_ADD, 0xff,       EFFECT_ADC, EFFECT_SBC, 0xff,       EFFECT_SUB, EFFECT_RSB, 0xff};
    unsigned code = effect_field(op, 21, 4);
    if (!immediate && (op & 0x8000)) { /* v8.1-M: CSEL and its like */
        effect_clobber(e, 1u << effect_field(op, 8, 4));
        return;
    }
    if (!immediate && code == 2 &&
        (effect_field(op, 0, 4) & 13) == 13) { /* v8.1-M: shifts of one or two */
        effect_clobber(e,
                       3u << (effect_field(op, 8, 4) & 14) | 3u << (effect_field(op, 16, 4) & 14));
        return;
    }
    if (ops[code] == 0xff) { /* PKH and unused */
        effect_clobber(e, 1u << effect_field(op, 8, 4));
        return;
    }
    e->kind = EFFECT_ALU;
    e->op = ops[code];
    e->set_flags = effect_field(op, 20, 1);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->rd = (uint8_t)effect_field(op, 8, 4);
    if (e->rd == 15 && (code == 0 || code == 4 || code == 8 || code == 13))
        e->rd = EFFECT_NO_REG;
    if (e->rn == 15 && (code == 2 || code == 3)) {
        e->rn = EFFECT_NO_REG;
        e->op = code == 2 ? EFFECT_MOV : EFFECT_MVN;
    }
    if (immediate) {
        e->imm = expand_immediate(op, e);
        return;
    }
    e->rm = (uint8_t)effect_field(op, 0, 4);
    e->shift = (uint8_t)effect_field(op, 4, 2);
    e->amount = (uint8_t)(effect_field(op, 12, 3) << 2 | effect_field(op, 6, 2));
    if (!e->amount && (e->shift == EFFECT_LSR || e->shift == EFFECT_ASR))
        e->amount = 32;
    if (!e->amount && e->shift == EFFECT_ROR) {
        e->shift = EFFECT_RRX;
        e->amount = 1;
    }
    e->carry = e->amount ? EFFECT_C_SHIFT : EFFECT_C_KEEP;
}

/* ADDW, SUBW, MOVW, MOVT, bit fields, saturation. */
static void plain_immediate(uint32_t op, uint32_t address, struct insn_effect *e)
{
    uint32_t imm12 = effect_field(op, 26, 1) << 11 | effect_field(op, 12, 3) << 8 | (op & 0xff);
    uint32_t lsb = effect_field(op, 12, 3) << 2 | effect_field(op, 6, 2);
    e->kind = EFFECT_ALU;
    e->rd = (uint8_t)effect_field(op, 8, 4);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    switch (effect_field(op, 20, 5)) {
    case 0x00:
    case 0x0a:
        e->op = effect_field(op, 20, 5) ? EFFECT_SUB : EFFECT_ADD;
        e->imm = imm12;
        if (e->rn == 15) { /* ADR */
            e->imm = ((address + 4) & ~3u) + (e->op == EFFECT_ADD ? imm12 : 0 - imm12);
            e->op = EFFECT_MOV;
            e->rn = EFFECT_NO_REG;
        }
        break;
    case 0x04:
    case 0x0c:
        e->op = effect_field(op, 20, 5) == 4 ? EFFECT_MOV : EFFECT_MOVT;
        e->imm = effect_field(op, 16, 4) << 12 | imm12;
        e->rn = EFFECT_NO_REG;
        break;
    case 0x14:
    case 0x1c:
        e->op = EFFECT_FIELD;
        e->imm = lsb | (effect_field(op, 0, 5) + 1) << 8 | (op & 1u << 23 ? 0 : 1u << 16);
        break;
    case 0x16:
        e->op = EFFECT_INSERT;
        e->imm = lsb | (effect_field(op, 0, 5) - lsb + 1) << 8;
        if (e->rn == 15)
            e->rn = EFFECT_NO_REG;
        break;
    default:
        effect_clobber(e, 1u << e->rd);
    }
}

/* Branches, MSR, MRS, hints, barriers: bit 15 of the second halfword is set. */
static void branch_or_control(uint32_t op, struct insn_effect *e)
{
    unsigned which = effect_field(op, 20, 7);
    if (op & 0x5000) { /* B, BL, BLX: 1x1, 1x0 or 0x1 in bits 14..12 */
        e->kind = EFFECT_BRANCH;
        e->link = effect_field(op, 14, 1);
        if ((op & 0x5001) == 0x4001) /* v8.1-M loops */
            effect_unknown(e);
        return;
    }
    if (effect_field(op, 22, 4) < 14) { /* B<cond> */
        e->kind = EFFECT_BRANCH;
        e->cond = (uint8_t)effect_field(op, 22, 4);
    } else if ((which & 0x7e) == 0x38) { /* MSR */
        effect_clobber(e, EFFECT_ALL_REGS);
        if (!(op & 0x20))
            effect_set_system(e, op & 1u << 20 ? EFFECT_SET_SAVED : EFFECT_SET_STATUS,
                              op & 1u << 20 ? 0 : EFFECT_FLAGS | EFFECT_BANKED);
        e->rn = (uint8_t)effect_field(op, 16, 4);
        e->imm2 = (uint8_t)effect_field(op, 8, 4);
    } else if (which == 0x3a) { /* hints, CPS: with a mode it switches */
        effect_clobber(e, 0);
        if (op & 0x100)
            effect_set_system(e, EFFECT_SET_MODE, EFFECT_BANKED);
        e->imm = effect_field(op, 0, 5);
    } else if (which == 0x3b) {
        e->kind = EFFECT_NONE; /* barriers, CLREX */
        effect_barrier(op, e);
    } else if (which == 0x3d) { /* SUBS PC, LR, ERET */
        effect_set_system(e, EFFECT_RETURN_MOVE, EFFECT_BANKED | EFFECT_FLAGS);
        e->op = EFFECT_SUB;
        e->rn = 14;
        e->imm = effect_field(op, 0, 8);
    } else if ((which & 0x7e) == 0x3e) { /* MRS */
        effect_clobber(e, EFFECT_ALL_REGS);
        if (!(op & 0x20))
            effect_set_system(e, op & 1u << 20 ? EFFECT_GET_SAVED : EFFECT_GET_STATUS,
                              1u << effect_field(op, 8, 4));
        e->rd = (uint8_t)effect_field(op, 8, 4);
    } else {
        effect_unknown(e);
    }
}

static void t32_multiple(uint32_t op, struct insn_effect *e)
{
    int32_t bytes = 0;
    unsigned mode = effect_field(op, 23, 2);
    for (unsigned i = 0; i < 16; i++)
        bytes += (int32_t)(op >> i & 1) * 4;
    e->kind = EFFECT_MEMORY;
    e->list = (uint16_t)op;
    e->load = effect_field(op, 20, 1);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->writeback = effect_field(op, 21, 1);
    e->delta = mode == 1 ? bytes : -bytes;
    e->start = mode == 1 ? 0 : -bytes;
    if (mode == 1 && e->load && e->rn == 15) { /* v8.1-M: CLRM */
        effect_unknown(e);
        return;
    }
    if (mode == 1 || mode == 2) {
        if (!e->list)
            effect_unknown(e);
        return;
    }
    effect_unknown(e);
    effect_set_system(e, e->load ? EFFECT_RETURN_MEMORY : EFFECT_STORE_RETURN, EFFECT_ALL_REGS);
    e->imm = effect_field(op, 0, 5);
    e->start = mode == 3 ? 0 : -8;
    e->delta = mode == 3 ? 8 : -8;
}

/* LDRD, STRD, exclusives, table branches. */
static void dual_or_exclusive(uint32_t op, struct insn_effect *e)
{
    unsigned size = effect_field(op, 4, 4);
    e->kind = EFFECT_MEMORY;
    e->load = effect_field(op, 20, 1);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->rt = (uint8_t)effect_field(op, 12, 4);
    if (op & (1u << 24 | 1u << 21)) {
        bool up = effect_field(op, 23, 1);
        e->rt2 = (uint8_t)effect_field(op, 8, 4);
        e->index = effect_field(op, 24, 1);
        e->writeback = effect_field(op, 21, 1);
        e->delta = (int32_t)(op & 0xff) * (up ? 4 : -4);
        e->align_pc = true;
        return;
    }
    e->index = true;
    e->exclusive = !e->load;
    if (!(op & 1u << 23)) { /* LDREX, STREX; TT of v8-M is in the same place */
        e->delta = (int32_t)(op & 0xff) * 4;
        e->clobber = e->load ? 0 : 1u << effect_field(op, 8, 4);
        if (!e->load && e->rt == 15)
            effect_clobber(e, 1u << effect_field(op, 8, 4));
        return;
    }
    e->width = size & 2 || size == 3 ? 4 : size & 1 ? 2 : 1;
    if (e->load && size < 2) { /* TBB, TBH */
        e->kind = EFFECT_NONE;
    } else if ((size & 3) == 3) {
        e->rt2 = (uint8_t)effect_field(op, 8, 4);
    }
    e->exclusive = !e->load && size != 8 && size != 9 && size != 10;
    e->clobber = e->exclusive ? 1u << effect_field(op, 0, 4) : 0;
}

/* One byte, halfword or word: 1111 100x. */
static void t32_single(uint32_t op, struct insn_effect *e)
{
    unsigned size = effect_field(op, 21, 2);
    e->kind = EFFECT_MEMORY;
    e->load = effect_field(op, 20, 1);
    e->sign = effect_field(op, 24, 1);
    e->width = (uint8_t)(1u << size);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->rt = (uint8_t)effect_field(op, 12, 4);
    e->index = true;
    if (size == 3) {
        effect_unknown(e);
    } else if (e->load && e->rt == 15 && size != 2) {
        e->kind = EFFECT_NONE; /* PLD, PLI */
    } else if (e->rn == 15) {
        e->delta = (int32_t)effect_field(op, 0, 12) * (op & 1u << 23 ? 1 : -1);
        e->align_pc = true;
    } else if (op & 1u << 23) {
        e->delta = (int32_t)effect_field(op, 0, 12);
    } else if (op & 0x800) {
        e->index = effect_field(op, 10, 1);
        e->writeback = effect_field(op, 8, 1);
        e->delta = (int32_t)(op & 0xff) * (op & 0x200 ? 1 : -1);
    } else {
        e->rm = (uint8_t)effect_field(op, 0, 4);
        e->amount = (uint8_t)effect_field(op, 4, 2);
    }
}

/* Shifts by a register, extends, reversals, parallel arithmetic: 1111 1010. */
static void t32_registers(uint32_t op, struct insn_effect *e)
{
    unsigned code = effect_field(op, 20, 4), low = effect_field(op, 4, 4);
    e->kind = EFFECT_ALU;
    e->rd = (uint8_t)effect_field(op, 8, 4);
    e->rn = (uint8_t)effect_field(op, 0, 4);
    if (code < 8 && low == 0) {
        e->op = EFFECT_MOV;
        e->rm = (uint8_t)effect_field(op, 16, 4);
        e->rs = (uint8_t)effect_field(op, 0, 4);
        e->rn = EFFECT_NO_REG;
        e->shift = (uint8_t)(code >> 1);
        e->set_flags = code & 1;
        e->carry = EFFECT_C_SHIFT;
    } else if (code < 6 && low >= 8 && effect_field(op, 16, 4) == 15 && (code & 6) != 2) {
        e->op = EFFECT_FIELD;
        e->amount = (uint8_t)(effect_field(op, 4, 2) * 8);
        e->imm = (code < 2 ? 16u : 8u) << 8 | (code & 1 ? 0 : 1u << 16);
    } else if (code == 9 && low >= 8 && low < 12) {
        static const uint8_t ops[4] = {EFFECT_REV, EFFECT_REV16, EFFECT_RBIT, EFFECT_REVSH};
        e->op = ops[low - 8];
    } else if (code == 11 && low == 8) {
        e->op = EFFECT_CLZ;
    } else {
        effect_clobber(e, 1u << e->rd);
    }
}

/* Multiplies and divisions: 1111 1011. */
static void t32_multiply(uint32_t op, struct insn_effect *e)
{
    unsigned code = effect_field(op, 20, 4), low = effect_field(op, 4, 4);
    e->kind = EFFECT_ALU;
    e->rd = (uint8_t)effect_field(op, 8, 4);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->rm = (uint8_t)effect_field(op, 0, 4);
    e->ra = (uint8_t)effect_field(op, 12, 4);
    if (code == 0 && low == 0)
        e->op = e->ra == 15 ? EFFECT_MUL : EFFECT_MLA;
    else if (code == 0 && low == 1)
        e->op = EFFECT_MLS;
    else if ((code == 9 || code == 11) && low == 15)
        e->op = code == 9 ? EFFECT_SDIV : EFFECT_UDIV;
    else if ((code == 8 || code == 10) && low == 0)
        e->op = code == 8 ? EFFECT_SMULL : EFFECT_UMULL;
    else
        effect_clobber(e, 1u << e->rd | (code >= 8 ? 1u << e->ra : 0));
}

static void by_group(uint32_t op, uint32_t address, struct insn_effect *e)
{
    switch (effect_field(op, 25, 4)) {
    case 4:
        if (op & 1u << 22)
            dual_or_exclusive(op, e);
        else
            t32_multiple(op, e);
        break;
    case 5:
        data_processing(op, e, false);
        break;
    case 6:
    case 7:
    case 14:
    case 15: /* coprocessors; with bits 25:24 = 11 SIMD arithmetic */
        if (effect_field(op, 24, 2) == 3)
            e->kind = EFFECT_NONE;
        else
            effect_coprocessor(op, e);
        break;
    case 8:
    case 9:
    case 10:
    case 11:
        if (op & 0x8000)
            branch_or_control(op, e);
        else if (op & 1u << 25)
            plain_immediate(op, address, e);
        else
            data_processing(op, e, true);
        break;
    case 12:
        if ((op & 0x01100000) == 0x01000000) { /* SIMD structures, bit 21 tells load from store */
            effect_clobber(e, 1u << effect_field(op, 16, 4));
            e->clobber_memory = !(op & 1u << 21);
        } else {
            t32_single(op, e);
        }
        break;
    case 13:
        if (op & 1u << 24)
            t32_multiply(op, e);
        else
            t32_registers(op, e);
        break;
    default:
        effect_unknown(e);
    }
}

/* SG from Non-secure state: another SP, and LR says where BXNS goes back to.
 * Else it does nothing. */
#define SECURE_GATE     0xe97fe97fu
#define CHANGED_BY_GATE (1u << 13 | 1u << 14)

void effect_t32(uint32_t op, uint32_t address, struct insn_effect *e)
{
    effect_init(e);
    if (op == SECURE_GATE) {
        e->kind = EFFECT_OTHER;
        e->clobber = CHANGED_BY_GATE;
        return;
    }
    by_group(op, address, e);
}
