/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoder/program/insn.h against OpenCSD's classifier: waypoint or not, direct or indirect, link, target
 * and its instruction set, size, condition. All 16-bit T32 opcodes, 3 million A32 words and 3
 * million 32-bit T32 instructions.
 *
 * OpenCSD ships no header for its classifier, though the library exports it. The declarations
 * below are what the linker needs: the mangled names say nothing about the classes' members.
 */
#include <cstdlib>
#include <cstring>

#include <opencsd/ocsd_if_types.h>

#include "tests/oracle/classify.h"

class TrcIDecode
{
  public:
    ocsd_err_t DecodeInstruction(ocsd_instr_info *info);
};

class DecodeTree
{
  public:
    static TrcIDecode s_instruction_decoder;
};

static bool conditional_space(uint32_t op)
{
    return op >> 28 != 0xf;
}

static bool matches(uint32_t op, uint32_t mask, uint32_t value)
{
    return (op & mask) == value;
}

static bool wrong_barrier(uint32_t op)
{
    return !matches(op, 0x2f00, 0x0f00);
}

/* Rd is PC in the data-processing space, i[27:26] = 00; `mask` and `value` select a part of it. */
static bool to_pc(uint32_t op, uint32_t mask, uint32_t value)
{
    return conditional_space(op) && (op & 0x0c00f000) == 0x0000f000 && (op & mask) == value;
}

/* Multiplies, SWP, exclusives, halfword and doubleword transfers: i[7] = i[4] = 1. */
static bool extra_to_pc(uint32_t op)
{
    bool known = (op & 0x019000f0) == 0x01800090 && (op & 0x00600000) != 0x00200000;
    return to_pc(op, 0x02000090, 0x00000090) && !known;
}

static reason reasons[] = {
    /* PFT: ERET of the Virtualization Extensions is an indirect branch. */
    {"A32 ERET is unknown to it", SET_A32,
     [](uint32_t op) { return conditional_space(op) && (op & 0x0fffffff) == 0x0160006e; },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 18412, 0},
    /* UNPREDICTABLE encodings are never waypoints; it takes these for branches. */
    {"A32 register TST, TEQ, CMP, CMN with 1111 in the unused Rd field", SET_A32,
     [](uint32_t op) { return to_pc(op, 0x03900000, 0x01100000) && (op & 0x90) != 0x90; },
     DIFF_CLASS, INSN_OTHER, INSN_INDIRECT, 9805, 0},
    {"A32 MOVW, MOVT to PC", SET_A32, [](uint32_t op) { return to_pc(op, 0x03b00000, 0x03000000); },
     DIFF_CLASS, INSN_OTHER, INSN_INDIRECT, 4053, 0},
    {"A32 halfword multiplies with 1111 in i[15:12]", SET_A32,
     [](uint32_t op) { return to_pc(op, 0x03900090, 0x01000080); }, DIFF_CLASS, INSN_OTHER,
     INSN_INDIRECT, 3214, 0},
    {"A32 multiplies and extra loads and stores with 1111 in i[15:12]", SET_A32, extra_to_pc,
     DIFF_CLASS, INSN_OTHER, INSN_INDIRECT, 31484, 0},
    /* MCR2 is another instruction: no CP15 barrier. */
    {"A32 MCR2 taken for the CP15 ISB", SET_A32,
     [](uint32_t op) { return (op & 0xffff0fff) == 0xfe070f95; }, DIFF_CLASS, INSN_OTHER, INSN_ISB,
     3319, 0},
    {"A32 MCR2 taken for the CP15 DSB and DMB", SET_A32,
     [](uint32_t op) { return (op & 0xffff0fff) == 0xfe070f9a || (op & 0xffff0fff) == 0xfe070fba; },
     DIFF_CLASS, INSN_OTHER, INSN_BARRIER, 6721, 0},
    {"T32 ISB with a wrong should-be field is none for it", SET_T32,
     [](uint32_t op) { return matches(op, 0xffffd0f0, 0xf3bf8060) && wrong_barrier(op); },
     DIFF_CLASS, INSN_ISB, INSN_OTHER, 195, 0},
    {"T32 DMB, DSB with a wrong should-be field are none for it", SET_T32,
     [](uint32_t op) {
         return (matches(op, 0xffffd0f0, 0xf3bf8040) || matches(op, 0xffffd0f0, 0xf3bf8050)) &&
                wrong_barrier(op);
     },
     DIFF_CLASS, INSN_BARRIER, INSN_OTHER, 340, 0},
    {"T32 low-overhead loops of v8.1-M: undefined in its ARMv7", SET_T32,
     [](uint32_t op) {
         return matches(op, 0xfffff001, 0xf00fc001) || matches(op, 0xfffff001, 0xf02fc001) ||
                matches(op, 0xfffff001, 0xf01fc001) || matches(op, 0xfff0f001, 0xf040c001) ||
                matches(op, 0xffc0f001, 0xf000c001);
     },
     DIFF_CLASS, INSN_DIRECT, INSN_OTHER, 30165, 0},
    {"T32 CLRM of v8.1-M: LDMIA from the PC in its ARMv7", SET_T32,
     [](uint32_t op) { return matches(op, 0xffffa000, 0xe89f8000); }, DIFF_CLASS, INSN_OTHER,
     INSN_INDIRECT, 934, 0},
    {"T32 ENTERX, LEAVEX: no ThumbEE in it", SET_T32,
     [](uint32_t op) { return matches(op, 0xffffd0e0, 0xf3bf8000); }, DIFF_CLASS, INSN_DIRECT,
     INSN_OTHER, 3255, 0},
    {"T32 LDR of the PC with P = W = 0 (undefined), LDRT of the PC", SET_T32,
     [](uint32_t op) {
         return matches(op, 0xfff0f800, 0xf850f800) && !matches(op, 0xf0000, 0xf0000) &&
                (matches(op, 0x0500, 0) || matches(op, 0x0700, 0x0600));
     },
     DIFF_CLASS, INSN_OTHER, INSN_INDIRECT, 11323, 0},
};

static view their_view(word_set set, const word &w)
{
    ocsd_instr_info info;
    std::memset(&info, 0, sizeof info);
    info.pe_type.arch = ARCH_V7;
    info.pe_type.profile = profile_CortexA;
    info.isa = set == SET_A32 ? ocsd_isa_arm : ocsd_isa_thumb2;
    info.instr_addr = w.address;
    info.opcode = set == SET_A32 ? w.op : w.op >> 16 | w.op << 16; /* as read from memory */
    info.dsb_dmb_waypoints = 1;
    if (DecodeTree::s_instruction_decoder.DecodeInstruction(&info) != OCSD_OK)
        std::abort();
    view v;
    switch (info.type) {
    case OCSD_INSTR_BR:
        v.cls = INSN_DIRECT;
        break;
    case OCSD_INSTR_BR_INDIRECT:
        v.cls = INSN_INDIRECT;
        break;
    case OCSD_INSTR_ISB:
        v.cls = INSN_ISB;
        break;
    case OCSD_INSTR_DSB_DMB:
        v.cls = INSN_BARRIER;
        break;
    default:
        v.cls = INSN_OTHER;
    }
    v.size = info.instr_size;
    v.link = info.is_link != 0;
    v.conditional = info.is_conditional != 0;
    v.target = static_cast<uint32_t>(info.branch_addr);
    v.target_isa = info.next_isa == ocsd_isa_arm ? BT_ISA_A32 : BT_ISA_T32;
    return v;
}

static unsigned long check_all(ledger &book, word_set set, const std::vector<word> &words)
{
    for (const word &w : words)
        book.check(set, w, our_view(set, w), their_view(set, w));
    return words.size();
}

int main()
{
    ledger book = {"opencsd", reasons, sizeof reasons / sizeof *reasons,
                   ~static_cast<unsigned>(DIFF_EXC_RETURN)};
    std::vector<word> t16;
    random_source rnd = {16};
    for (uint32_t h = 0; h < 0xe800; h++)
        t16.push_back({h << 16 | (rnd.next() & 0xffff), rnd.next() & ~1u});
    unsigned long words = check_all(book, SET_T16, t16);
    words += check_all(book, SET_A32, random_words(SET_A32, 32, 2000000, 1000000));
    words += check_all(book, SET_T32, random_words(SET_T32, 2, 2000000, 1000000));
    return book.finish(words);
}
