/* SPDX-License-Identifier: BSD-3-Clause */
/* Effects of A32 instructions. Fields as in the ARM architecture's encoding tables. */
#include "decoder/effect/effect.h"

static uint32_t rotate(uint32_t v, unsigned by)
{
    return by ? v >> by | v << (32 - by) : v;
}

static void immediate_shift(struct insn_effect *e, unsigned type, unsigned amount)
{
    e->shift = (uint8_t)type;
    e->amount = (uint8_t)amount;
    if (!amount && (type == EFFECT_LSR || type == EFFECT_ASR))
        e->amount = 32;
    if (!amount && type == EFFECT_ROR) {
        e->shift = EFFECT_RRX;
        e->amount = 1;
    }
    e->carry = e->amount ? EFFECT_C_SHIFT : EFFECT_C_KEEP;
}

static void data_processing(uint32_t op, struct insn_effect *e)
{
    static const uint8_t ops[16] = {EFFECT_AND, EFFECT_EOR, EFFECT_SUB, EFFECT_RSB,
                                    EFFECT_ADD, EFFECT_ADC, EFFECT_SBC, EFFECT_RSC,
                                    EFFECT_AND, EFFECT_EOR, EFFECT_SUB, EFFECT_ADD,
                                    EFFECT_ORR, EFFECT_MOV, EFFECT_BIC, EFFECT_MVN};
    unsigned code = effect_field(op, 21, 4);
    e->kind = EFFECT_ALU;
    e->op = ops[code];
    e->set_flags = effect_field(op, 20, 1);
    e->rn = code == 13 || code == 15 ? EFFECT_NO_REG : (uint8_t)effect_field(op, 16, 4);
    e->rd = code >= 8 && code < 12 ? EFFECT_NO_REG : (uint8_t)effect_field(op, 12, 4);
    if (op & 1u << 25) {
        unsigned by = effect_field(op, 8, 4) * 2;
        e->imm = rotate(op & 0xff, by);
        e->carry = !by ? EFFECT_C_KEEP : e->imm >> 31 ? EFFECT_C_1 : EFFECT_C_0;
    } else {
        e->rm = (uint8_t)effect_field(op, 0, 4);
        if (op & 0x10) {
            e->rs = (uint8_t)effect_field(op, 8, 4);
            e->shift = (uint8_t)effect_field(op, 5, 2);
            e->carry = EFFECT_C_SHIFT;
        } else {
            immediate_shift(e, effect_field(op, 5, 2), effect_field(op, 7, 5));
        }
    }
    /* An exception return: another mode's registers. */
    if (e->rd == 15 && e->set_flags)
        effect_set_system(e, EFFECT_RETURN_MOVE, EFFECT_BANKED | EFFECT_FLAGS);
}

static void a32_multiply(uint32_t op, struct insn_effect *e)
{
    unsigned code = effect_field(op, 21, 3);
    e->rn = (uint8_t)effect_field(op, 0, 4);
    e->rm = (uint8_t)effect_field(op, 8, 4);
    e->rd = (uint8_t)effect_field(op, 16, 4);
    e->set_flags = effect_field(op, 20, 1);
    e->kind = EFFECT_ALU;
    e->carry = EFFECT_C_KEEP;
    if (code != 0)
        e->ra = (uint8_t)effect_field(op, 12, 4);
    e->op = code == 0 ? EFFECT_MUL : code == 1 ? EFFECT_MLA : EFFECT_MLS;
    if (code == 4 || code == 6) {
        e->op = code == 4 ? EFFECT_UMULL : EFFECT_SMULL;
        e->clobber = e->set_flags ? EFFECT_FLAGS : 0;
        e->set_flags = false;
        return;
    }
    if (code == 2 || code > 3 || (code == 3 && e->set_flags))
        effect_clobber(e, 1u << effect_field(op, 16, 4) | 1u << effect_field(op, 12, 4) |
                              (e->set_flags ? EFFECT_FLAGS : 0));
    else if (e->set_flags) /* before ARMv5 the carry is not kept */
        e->clobber = 1u << EFFECT_C;
}

/* SWP, LDREX, STREX, LDA, STL and their sizes. */
static void a32_synchronise(uint32_t op, struct insn_effect *e)
{
    unsigned size = effect_field(op, 21, 2);
    bool swap = !(op & 1u << 23);
    e->kind = EFFECT_MEMORY;
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->index = true;
    if (swap) {
        e->rt = EFFECT_NO_REG; /* what it stores is not followed */
        e->width = op & 1u << 22 ? 1 : 4;
        e->exclusive = true;
        e->clobber = 1u << effect_field(op, 12, 4);
        return;
    }
    e->width = size == 2 ? 1 : size == 3 ? 2 : 4;
    e->load = effect_field(op, 20, 1);
    e->rt = (uint8_t)(e->load ? effect_field(op, 12, 4) : effect_field(op, 0, 4));
    if (size == 1)
        e->rt2 = (uint8_t)(e->rt + 1);
    if (e->load)
        return;
    e->exclusive = effect_field(op, 8, 2) != 0;
    if (e->exclusive)
        e->clobber = 1u << effect_field(op, 12, 4);
}

static void extra_load_store(uint32_t op, struct insn_effect *e)
{
    unsigned type = effect_field(op, 5, 2);
    bool up = effect_field(op, 23, 1);
    e->kind = EFFECT_MEMORY;
    e->load = effect_field(op, 20, 1);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->rt = (uint8_t)effect_field(op, 12, 4);
    e->index = effect_field(op, 24, 1);
    e->writeback = !e->index || effect_field(op, 21, 1);
    e->width = 2;
    if (type == 1) {
        e->width = 2;
    } else if (e->load) {
        e->width = type == 2 ? 1 : 2;
        e->sign = true;
    } else {
        e->load = type == 2;
        e->rt2 = (uint8_t)(e->rt + 1);
        e->width = 4;
    }
    e->subtract = !up;
    if (op & 1u << 22)
        e->delta = (int32_t)(effect_field(op, 8, 4) << 4 | effect_field(op, 0, 4)) * (up ? 1 : -1);
    else
        e->rm = (uint8_t)effect_field(op, 0, 4);
}

static void load_store(uint32_t op, struct insn_effect *e)
{
    bool up = effect_field(op, 23, 1);
    e->kind = EFFECT_MEMORY;
    e->load = effect_field(op, 20, 1);
    e->width = op & 1u << 22 ? 1 : 4;
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->rt = (uint8_t)effect_field(op, 12, 4);
    e->index = effect_field(op, 24, 1);
    e->writeback = !e->index || effect_field(op, 21, 1);
    e->subtract = !up;
    if (op & 1u << 25) {
        e->rm = (uint8_t)effect_field(op, 0, 4);
        immediate_shift(e, effect_field(op, 5, 2), effect_field(op, 7, 5));
    } else {
        e->delta = (int32_t)effect_field(op, 0, 12) * (up ? 1 : -1);
    }
}

static void load_store_multiple(uint32_t op, struct insn_effect *e)
{
    int32_t bytes = 0;
    bool up = effect_field(op, 23, 1), before = effect_field(op, 24, 1);
    e->list = (uint16_t)op;
    for (unsigned i = 0; i < 16; i++)
        bytes += (op >> i & 1) * 4;
    e->kind = EFFECT_MEMORY;
    e->load = effect_field(op, 20, 1);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->writeback = effect_field(op, 21, 1);
    e->index = false;
    e->delta = up ? bytes : -bytes;
    e->start = up ? (before ? 4 : 0) : -bytes + (before ? 0 : 4);
    if (!(op & 1u << 22) && e->list)
        return;
    /* With ^: registers of User mode, or an exception return. */
    bool store = !e->load;
    if (!e->list)
        effect_clobber(e, EFFECT_ALL_REGS);
    else
        effect_set_system(e, e->load && op & 0x8000 ? EFFECT_RETURN_LOAD : EFFECT_USER_REGISTERS,
                          EFFECT_BANKED | EFFECT_FLAGS | (op & 0x7fff) | 1u << e->rn);
    e->clobber_memory = store;
}

/* MSR: into the SPSR it does no harm, into the CPSR it may switch. */
static void write_status(uint32_t op, struct insn_effect *e, bool saved)
{
    effect_set_system(e, saved ? EFFECT_SET_SAVED : EFFECT_SET_STATUS,
                      saved ? 0 : EFFECT_FLAGS | (effect_field(op, 16, 3) ? EFFECT_BANKED : 0));
    e->imm2 = (uint8_t)effect_field(op, 16, 4);
}

/* MRS, MSR, BX, CLZ, saturating arithmetic and others: bits 24:23 are 10, S is 0. */
static void miscellaneous(uint32_t op, struct insn_effect *e)
{
    unsigned which = effect_field(op, 21, 2);
    unsigned rd = effect_field(op, 12, 4);
    switch (effect_field(op, 4, 4)) {
    case 0:
        if (op & 1u << 9)
            effect_unknown(e);
        else if (which & 1)
            write_status(op, e, which == 3);
        else
            effect_set_system(e, which ? EFFECT_GET_SAVED : EFFECT_GET_STATUS, 1u << rd);
        e->rn = which & 1 ? (uint8_t)effect_field(op, 0, 4) : EFFECT_NO_REG;
        e->rd = which & 1 ? EFFECT_NO_REG : (uint8_t)rd;
        break;
    case 1:
        e->kind = which == 3 ? EFFECT_ALU : EFFECT_BRANCH;
        e->op = EFFECT_CLZ;
        e->rd = (uint8_t)rd;
        e->rn = (uint8_t)effect_field(op, 0, 4);
        break;
    case 3:
        e->kind = EFFECT_BRANCH;
        e->rn = (uint8_t)effect_field(op, 0, 4);
        e->link = true;
        break;
    case 4:
    case 5:
        effect_clobber(e, 1u << rd);
        break;
    default:
        if (op & 0x80 && !(op & 0x10)) /* signed halfword multiplies */
            effect_clobber(e, 1u << effect_field(op, 16, 4) | 1u << rd);
        else /* BKPT too: semihosting writes registers and memory */
            effect_unknown(e);
    }
}

static void immediates(uint32_t op, struct insn_effect *e)
{
    unsigned which = effect_field(op, 20, 5);
    uint32_t imm = effect_field(op, 16, 4) << 12 | effect_field(op, 0, 12);
    if (which == 0x10 || which == 0x14) {
        e->kind = EFFECT_ALU;
        e->op = which == 0x10 ? EFFECT_MOV : EFFECT_MOVT;
        e->rd = (uint8_t)effect_field(op, 12, 4);
        e->imm = imm;
    } else if (which == 0x12 && effect_field(op, 16, 4) == 0) {
        e->kind = EFFECT_NONE; /* NOP, hints */
    } else if (which == 0x12) {
        write_status(op, e, false);
        e->imm = rotate(op & 0xff, effect_field(op, 8, 4) * 2);
    } else if (which == 0x16) {
        write_status(op, e, true);
        e->imm = rotate(op & 0xff, effect_field(op, 8, 4) * 2);
    } else {
        data_processing(op, e);
    }
}

static void extend(uint32_t op, struct insn_effect *e)
{
    unsigned which = effect_field(op, 20, 3);
    uint32_t width = which & 1 ? 16 : 8;
    if ((which & 3) < 2 ||
        effect_field(op, 16, 4) != 15) { /* two bytes at a time, or with an addition */
        effect_clobber(e, 1u << effect_field(op, 12, 4));
        return;
    }
    e->kind = EFFECT_ALU;
    e->op = EFFECT_FIELD;
    e->rd = (uint8_t)effect_field(op, 12, 4);
    e->rn = (uint8_t)effect_field(op, 0, 4);
    e->amount = (uint8_t)(effect_field(op, 10, 2) * 8);
    e->imm = width << 8 | (which < 4 ? 1u << 16 : 0);
}

static void media(uint32_t op, struct insn_effect *e)
{
    unsigned which = effect_field(op, 20, 5), low = effect_field(op, 5, 3);
    unsigned rd = effect_field(op, 12, 4);
    e->rd = (uint8_t)rd;
    e->rn = (uint8_t)effect_field(op, 0, 4);
    if ((which & 0x18) == 0x08 && low == 3) {
        extend(op, e);
    } else if ((which == 0x0b || which == 0x0f) && (low == 1 || low == 5)) {
        e->kind = EFFECT_ALU;
        e->op = which == 0x0b ? (low == 1 ? EFFECT_REV : EFFECT_REV16)
                              : (low == 1 ? EFFECT_RBIT : EFFECT_REVSH);
    } else if ((which & 0x1a) == 0x1a && (low & 3) == 2) {
        e->kind = EFFECT_ALU;
        e->op = EFFECT_FIELD;
        e->imm = effect_field(op, 7, 5) | (effect_field(op, 16, 5) + 1) << 8 |
                 (which & 4 ? 0 : 1u << 16);
    } else if ((which & 0x1e) == 0x1c && (low & 3) == 0) {
        e->kind = EFFECT_ALU;
        e->op = EFFECT_INSERT;
        if (e->rn == 15)
            e->rn = EFFECT_NO_REG;
        e->imm = effect_field(op, 7, 5) | (effect_field(op, 16, 5) - effect_field(op, 7, 5) + 1)
                                              << 8;
    } else if ((which == 0x11 || which == 0x13) && low == 0 && rd == 15) {
        e->kind = EFFECT_ALU;
        e->op = which == 0x11 ? EFFECT_SDIV : EFFECT_UDIV;
        e->rd = (uint8_t)effect_field(op, 16, 4);
        e->rm = (uint8_t)effect_field(op, 8, 4);
    } else {
        effect_clobber(e, 1u << rd | 1u << effect_field(op, 16, 4));
    }
}

/* SRS, RFE */
static void return_state(uint32_t op, struct insn_effect *e)
{
    bool up = effect_field(op, 23, 1), before = effect_field(op, 24, 1),
         load = effect_field(op, 20, 1);
    effect_unknown(e);
    if (!load && !effect_field(op, 22, 1))
        return;
    effect_set_system(e, load ? EFFECT_RETURN_MEMORY : EFFECT_STORE_RETURN, EFFECT_ALL_REGS);
    e->imm = effect_field(op, 0, 5);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->writeback = effect_field(op, 21, 1);
    e->start = up ? (before ? 4 : 0) : before ? -8 : -4;
    e->delta = up ? 8 : -8;
}

static void unconditional(uint32_t op, struct insn_effect *e)
{
    e->cond = EFFECT_ALWAYS;
    if (effect_field(op, 25, 3) == 5) {
        e->kind = EFFECT_BRANCH;
        e->link = true; /* BLX immediate */
    } else if ((op & 0x0e000000) == 0x02000000 || (op & 0x0f000e10) == 0x0e000a00) {
        e->kind = EFFECT_NONE; /* Advanced SIMD arithmetic; floating point without condition */
    } else if ((op & 0x0f100000) == 0x04000000) {
        effect_clobber(
            e, 1u << effect_field(op, 16, 4)); /* SIMD structures; bit 21 tells load from store */
        e->clobber_memory = !(op & 1u << 21);
    } else if ((op & 0x0d70f000) == 0x0550f000 || (op & 0x0d70f000) == 0x0510f000 ||
               (op & 0x0d70f000) == 0x0450f000) {
        e->kind = EFFECT_NONE; /* PLD, PLI */
    } else if ((op & 0x0ff00000) == 0x05700000) {
        e->kind = EFFECT_NONE; /* barriers, CLREX */
        effect_barrier(op, e);
    } else if ((op & 0x0ff1fe20) == 0x01000000) {
        if (op & 1u << 17) /* CPS with a mode */
            effect_set_system(e, EFFECT_SET_MODE, EFFECT_BANKED);
        e->imm = effect_field(op, 0, 5);
    } else if ((op & 0x0e500000) == 0x08400000 || (op & 0x0e500000) == 0x08100000) {
        return_state(op, e);
    } else if ((op & 0x0ffffdff) == 0x01010000) {
        e->kind = EFFECT_NONE; /* SETEND: a window with mixed data order is the caller's */
    } else {
        effect_unknown(e);
    }
}

void effect_a32(uint32_t op, struct insn_effect *e)
{
    effect_init(e);
    if (op >> 28 == 15) {
        unconditional(op, e);
        return;
    }
    e->cond = (uint8_t)(op >> 28);
    switch (effect_field(op, 25, 3)) {
    case 0:
        if ((op & 0x90) == 0x90) {
            if (op & 0x60)
                extra_load_store(op, e);
            else if (op & 1u << 24)
                a32_synchronise(op, e);
            else
                a32_multiply(op, e);
        } else if ((op & 0x01900000) == 0x01000000) {
            miscellaneous(op, e);
        } else {
            data_processing(op, e);
        }
        break;
    case 1:
        immediates(op, e);
        break;
    case 2:
        load_store(op, e);
        break;
    case 3:
        if (op & 0x10)
            media(op, e);
        else
            load_store(op, e);
        break;
    case 4:
        load_store_multiple(op, e);
        break;
    case 5:
        e->kind = EFFECT_BRANCH;
        e->link = effect_field(op, 24, 1);
        break;
    default:
        if ((op & 0x0f000000) == 0x0f000000)
            e->kind = EFFECT_NONE; /* SVC: what follows is an exception */
        else
            effect_coprocessor(op, e);
    }
}

/* VLDR, VSTR, VLDM, VSTM, VPUSH, VPOP. */
static void floating_load_store(uint32_t op, struct insn_effect *e)
{
    bool up = effect_field(op, 23, 1), one = effect_field(op, 24, 1) && !effect_field(op, 21, 1);
    int32_t bytes = (int32_t)effect_field(op, 0, 8) * 4;
    e->kind = EFFECT_MEMORY;
    e->load = effect_field(op, 20, 1);
    e->rn = (uint8_t)effect_field(op, 16, 4);
    e->align_pc = true;
    e->width = 4;
    e->words = (uint8_t)(!one ? effect_field(op, 0, 8) : effect_field(op, 8, 1) ? 2 : 1);
    e->start = one ? (up ? bytes : -bytes) : up ? 0 : -bytes;
    e->delta = up ? bytes : -bytes;
    e->writeback = effect_field(op, 21, 1);
}

/* A write to CP15 that changes no address and no data (DDI 0406C.d B3.17, B4.2); any other may. */
static bool keeps_memory(uint32_t op)
{
    unsigned rn = effect_field(op, 16, 4), rm = effect_field(op, 0, 4),
             op2 = effect_field(op, 5, 3);
    if (effect_field(op, 21, 3))
        return false;
    switch (rn) {
    case 1:
        return rm == 0 && op2 == 2; /* CPACR */
    case 7:                         /* instruction caches, branch prediction, barriers */
        return rm == 5 || (rm == 1 && (op2 == 0 || op2 == 6)) ||
               (rm == 10 && (op2 == 4 || op2 == 5));
    case 9:
        return rm >= 12 && rm <= 14; /* performance monitors */
    case 12:
        return rm == 0 && op2 <= 1; /* VBAR, MVBAR */
    case 13:
        return rm == 0 && op2 >= 2 && op2 <= 4; /* thread IDs */
    default:
        return rn == 14; /* timers */
    }
}

/* A write to CP15. */
static void write_system(uint32_t op, struct insn_effect *e)
{
    unsigned rn = effect_field(op, 16, 4), rm = effect_field(op, 0, 4),
             op2 = effect_field(op, 5, 3);
    bool barrier = rn == 7 && op2 == 4 && !effect_field(op, 21, 3);
    e->clobber_memory = !keeps_memory(op);
    if (barrier && (rm == 5 || rm == 10))
        e->context = rm == 5 ? EFFECT_CONTEXT_ISB : EFFECT_CONTEXT_DSB;
    else if (e->clobber_memory && rn != 7) /* caches */
        e->context = rn == 8 ? EFFECT_CONTEXT_CHANGES_TLB : EFFECT_CONTEXT_CHANGES;
}

/* Bits 27..24 are 1100, 1101 or 1110. */
void effect_coprocessor(uint32_t op, struct insn_effect *e)
{
    unsigned rt = effect_field(op, 12, 4), rn = effect_field(op, 16, 4);
    bool load = effect_field(op, 20, 1);
    if ((op & 0x0fe00000) == 0x0c400000) { /* two registers: MCRR, MRRC, VMOV */
        effect_clobber(e, load ? 1u << rt | 1u << rn : 0);
        e->clobber_memory = !load && effect_field(op, 8, 4) == 15 && (op & 15) != 14; /* timers */
        e->context = e->clobber_memory ? EFFECT_CONTEXT_CHANGES : EFFECT_CONTEXT_SAME;
    } else if (!(op & 1u << 25) && effect_field(op, 9, 3) == 5) {
        floating_load_store(op, e);
    } else if (!(op & 1u << 25)) { /* LDC, STC, VLDR, VSTM ... */
        effect_clobber(e, op & 1u << 21 ? 1u << rn : 0);
        e->clobber_memory = !load;
    } else if (op & 0x10) { /* MCR, MRC; rt = 15 is the flags */
        effect_clobber(e, !load ? 0 : rt == 15 ? EFFECT_FLAGS : 1u << rt);
        if (!load && effect_field(op, 8, 4) == 15)
            write_system(op, e);
    } else {
        e->kind = EFFECT_NONE;
    }
}
