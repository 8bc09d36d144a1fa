/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one A32 or T32 instruction does to the core registers, the flags and memory, as plain data.
 * Own decoder; what it does not know is EFFECT_OTHER with everything clobbered.
 */
#ifndef DECODER_EFFECT_H
#define DECODER_EFFECT_H

#include "btrace/types.h"

enum effect_kind {
    EFFECT_NONE,   /* nothing that is modelled */
    EFFECT_ALU,    /* rd = op(rn, operand 2) */
    EFFECT_MEMORY, /* loads, stores */
    EFFECT_BRANCH, /* B, BL, BX, BLX, CBZ, CBNZ */
    EFFECT_IT,     /* imm: ITSTATE for the next instruction */
    EFFECT_OTHER,  /* clobbers only */
    EFFECT_SYSTEM, /* A and R profile: modes and status; where they are not followed, as OTHER */
};

enum effect_op {
    EFFECT_AND,
    EFFECT_EOR,
    EFFECT_SUB,
    EFFECT_RSB,
    EFFECT_ADD,
    EFFECT_ADC,
    EFFECT_SBC,
    EFFECT_RSC,
    EFFECT_ORR,
    EFFECT_MOV,
    EFFECT_BIC,
    EFFECT_MVN,
    EFFECT_ORN,
    EFFECT_MUL,   /* rn * rm */
    EFFECT_MLA,   /* ra + rn * rm */
    EFFECT_MLS,   /* ra - rn * rm */
    EFFECT_UMULL, /* rd, ra = high, low word of rn * rm */
    EFFECT_SMULL,
    EFFECT_UDIV, /* rn / rm */
    EFFECT_SDIV,
    EFFECT_FIELD,  /* imm: lsb | width << 8 | sign << 16, of operand rn (after ROR amount) */
    EFFECT_INSERT, /* rd with a field of rn; rn none: of zero */
    EFFECT_MOVT,
    EFFECT_CLZ,
    EFFECT_REV,
    EFFECT_REV16,
    EFFECT_REVSH,
    EFFECT_RBIT,
};

enum effect_system {
    EFFECT_SET_MODE,       /* imm: CPS */
    EFFECT_SET_STATUS,     /* CPSR = rn or imm, fields imm2 */
    EFFECT_SET_SAVED,      /* SPSR */
    EFFECT_GET_STATUS,     /* rd = CPSR */
    EFFECT_GET_SAVED,      /* rd = SPSR */
    EFFECT_STORE_RETURN,   /* SRS: imm is the mode whose stack it is */
    EFFECT_RETURN_MEMORY,  /* RFE */
    EFFECT_RETURN_MOVE,    /* MOVS PC, SUBS PC */
    EFFECT_RETURN_LOAD,    /* LDM with PC and ^ */
    EFFECT_USER_REGISTERS, /* LDM, STM with ^ */
};

enum effect_shift { EFFECT_LSL, EFFECT_LSR, EFFECT_ASR, EFFECT_ROR, EFFECT_RRX };

enum effect_carry {
    EFFECT_C_KEEP, /* logical, operand not shifted */
    EFFECT_C_0,
    EFFECT_C_1,
    EFFECT_C_SHIFT, /* out of the shifter */
};

/* A and R profile: what addresses mean. */
enum effect_context {
    EFFECT_CONTEXT_SAME,
    EFFECT_CONTEXT_CHANGES,     /* perhaps: the change counts from an ISB or an exception on, */
    EFFECT_CONTEXT_CHANGES_TLB, /* from an ISB behind a DSB on; before that it may, or not */
    EFFECT_CONTEXT_DSB,
    EFFECT_CONTEXT_ISB,
};

#define EFFECT_NO_REG   0xff
#define EFFECT_ALWAYS   14
#define EFFECT_NZ       16 /* registers after r15: N and Z, C, V */
#define EFFECT_C        17
#define EFFECT_V        18
#define EFFECT_ALL_REGS 0x77fffu /* r0-r14 and flags */
#define EFFECT_FLAGS    0x70000u
#define EFFECT_BANKED   0x7f00u /* r8-r14: another mode may have its own */

struct insn_effect {
    uint32_t imm;
    uint32_t clobber; /* registers, bits as above, that become unknown besides */
    int32_t start;    /* memory: of the lowest access, from the base before or after writeback */
    int32_t delta;    /* memory: writeback by a constant; also an immediate offset */
    uint16_t list;    /* memory: registers, ascending with addresses; 0: rt (and rt2) */
    uint8_t kind;     /* enum effect_kind */
    uint8_t op;       /* enum effect_op */
    uint8_t system;   /* enum effect_system */
    uint8_t imm2;     /* system: bit 0 control, bit 3 flags */
    uint8_t cond;     /* 0..14 from the encoding */
    uint8_t rd, rn, rm, rs, ra; /* rm: EFFECT_NO_REG: operand 2 is imm */
    uint8_t rt, rt2;
    uint8_t shift, amount; /* of rm; by rs if that is a register */
    uint8_t carry;         /* enum effect_carry */
    uint8_t width;         /* memory: bytes an access, 1, 2 or 4 */
    uint8_t words;         /* memory: of floating-point registers, instead of core registers */
    uint8_t context;       /* enum effect_context */
    bool set_flags;
    bool load;
    bool sign;
    bool index; /* memory: the address has the offset; else it is added afterwards */
    bool writeback;
    bool subtract;  /* memory: rm is subtracted */
    bool exclusive; /* store-exclusive: may not store; rd gets the status */
    bool align_pc;  /* rn = 15 reads the PC's word */
    bool link;      /* branch: LR is the return address */
    bool zero;      /* CBZ, CBNZ: taken if rn is zero (cond 0) or not (cond 1) */
    bool clobber_memory;
};

static inline unsigned effect_field(uint32_t op, unsigned lsb, unsigned bits)
{
    return op >> lsb & ((1u << bits) - 1);
}

static inline void effect_clobber(struct insn_effect *e, uint32_t regs)
{
    e->kind = EFFECT_OTHER;
    e->clobber = regs & EFFECT_ALL_REGS;
}

static inline void effect_init(struct insn_effect *e)
{
    *e = (struct insn_effect){.cond = EFFECT_ALWAYS,
                              .rd = EFFECT_NO_REG,
                              .rn = EFFECT_NO_REG,
                              .rm = EFFECT_NO_REG,
                              .rs = EFFECT_NO_REG,
                              .ra = EFFECT_NO_REG,
                              .rt = EFFECT_NO_REG,
                              .rt2 = EFFECT_NO_REG,
                              .width = 4};
}
static inline void effect_unknown(struct insn_effect *e)
{
    e->kind = EFFECT_OTHER;
    e->clobber = EFFECT_ALL_REGS;
    e->clobber_memory = true;
}

/* EFFECT_SYSTEM; `regs` are clobbered where it is not followed. */
static inline void effect_set_system(struct insn_effect *e, enum effect_system which, uint32_t regs)
{
    effect_clobber(e, regs);
    e->kind = EFFECT_SYSTEM;
    e->system = (uint8_t)which;
}

/* DSB and ISB, in bits 7 to 4 of either set. */
static inline void effect_barrier(uint32_t op, struct insn_effect *e)
{
    unsigned which = effect_field(op, 4, 4);
    e->context = which == 4 ? EFFECT_CONTEXT_DSB : which == 6 ? EFFECT_CONTEXT_ISB : e->context;
}

void effect_a32(uint32_t op, struct insn_effect *e);

/* `in_it`: in an IT block, where 16-bit arithmetic leaves the flags. */
void effect_t16(uint16_t op, uint32_t address, bool in_it, struct insn_effect *e);
void effect_t32(uint32_t op, uint32_t address, struct insn_effect *e);

/* Coprocessor space and SIMD, the same in both sets but for the condition (bits 27..0). */
void effect_coprocessor(uint32_t op, struct insn_effect *e);

/* The architecture's Shift_C(): amounts up to 255; *carry goes in and comes out. */
static inline uint32_t effect_shift_value(unsigned type, uint32_t v, unsigned by, uint32_t *carry)
{
    uint64_t wide;
    if (type == EFFECT_RRX) {
        uint32_t out = *carry << 31 | v >> 1;
        *carry = v & 1;
        return out;
    }
    if (!by)
        return v;
    switch (type) {
    case EFFECT_LSL:
        wide = by > 32 ? 0 : (uint64_t)v << by;
        *carry = wide >> 32 & 1;
        return (uint32_t)wide;
    case EFFECT_LSR:
        *carry = by > 32 ? 0 : v >> (by - 1) & 1;
        return by > 31 ? 0 : v >> by;
    case EFFECT_ASR:
        by = by > 32 ? 32 : by;
        wide = (uint64_t)(int64_t)(int32_t)v;
        *carry = (uint32_t)(wide >> (by - 1)) & 1;
        return (uint32_t)(wide >> by);
    default:
        by &= 31;
        v = by ? v >> by | v << (32 - by) : v;
        *carry = v >> 31;
        return v;
    }
}

#endif
