/* SPDX-License-Identifier: BSD-3-Clause */
#include "disasm_m.h"

#include "decoder/program/insn.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const conditions[15] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc",
                                           "hi", "ls", "ge", "lt", "gt", "le", ""};
static const char *const registers[16] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
                                          "r8", "sb", "sl", "fp", "ip", "sp", "lr", "pc"};
static const char *const sizes[4] = {"8", "16", "32", "64"};

static int gate_text(uint32_t op, const char *cond, char *out, size_t room)
{
    static const char *const tests[4] = {"tt", "ttt", "tta", "ttat"};
    if (op == 0xe97fe97f)
        return snprintf(out, room, "sg");
    if ((op & 0xfff0f03f) != 0xe840f000)
        return 0;
    return snprintf(out, room, "%s%s %s, %s", tests[op >> 6 & 3], cond, registers[op >> 8 & 15],
                    registers[op >> 16 & 15]);
}

static int loop_text(uint32_t op, uint64_t address, char *out, size_t room)
{
    const char *size = sizes[op >> 20 & 3], *reg = registers[op >> 16 & 15];
    struct insn insn;
    insn_decode_t32((uint16_t)(op >> 16), (uint16_t)op, address, &insn);
    if (op == 0xf00fe001)
        return snprintf(out, room, "lctp");
    if ((op & 0xfff0ffff) == 0xf040e001)
        return snprintf(out, room, "dls lr, %s", reg);
    if ((op & 0xffc0ffff) == 0xf000e001)
        return snprintf(out, room, "dlstp.%s lr, %s", size, reg);
    if ((op & 0xf800f001) != 0xf000c001 || insn.cls != INSN_DIRECT)
        return 0;
    if ((op & 0xfffff001) == 0xf02fc001)
        return snprintf(out, room, "le #0x%" PRIx64, insn.target);
    if ((op & 0xffeff001) == 0xf00fc001)
        return snprintf(out, room, "%s lr, #0x%" PRIx64, op >> 20 & 1 ? "letp" : "le", insn.target);
    if ((op & 0xfff0f001) == 0xf040c001)
        return snprintf(out, room, "wls lr, %s, #0x%" PRIx64, reg, insn.target);
    return snprintf(out, room, "wlstp.%s lr, %s, #0x%" PRIx64, size, reg, insn.target);
}

/* In place of ORRS with a bit that is 0 there. */
static int select_text(uint32_t op, char *out, size_t room)
{
    static const char *const names[4] = {"csel", "csinc", "csinv", "csneg"};
    unsigned n = op >> 16 & 15, m = op & 15, cond = op >> 4 & 15;
    if ((op & 0xfff0c000) != 0xea508000 || cond > 13 || n == 13 || m == 13)
        return 0;
    return snprintf(out, room, "%s %s, %s, %s, %s", names[op >> 12 & 3], registers[op >> 8 & 15],
                    n == 15 ? "zr" : registers[n], m == 15 ? "zr" : registers[m], conditions[cond]);
}

/* As LDM from the PC would be. */
static int clear_text(uint32_t op, const char *cond, char *out, size_t room)
{
    int len;
    if ((op & 0xffff2000) != 0xe89f0000 || !(op & 0xffff))
        return 0;
    len = snprintf(out, room, "clrm%s {", cond);
    for (unsigned i = 0; i < 16 && len > 0 && (size_t)len < room; i++)
        if (op >> i & 1)
            len += snprintf(out + len, room - (size_t)len, "%s%s", op & ((1u << i) - 1) ? ", " : "",
                            i == 15 ? "apsr" : registers[i]);
    if (len > 0 && (size_t)len < room)
        len += snprintf(out + len, room - (size_t)len, "}");
    return len;
}

int disasm_m_text(uint32_t op, unsigned size, uint64_t address, unsigned cond, char *out,
                  size_t room)
{
    const char *suffix = cond < 15 ? conditions[cond] : "";
    int len;
    if (size == 2) {
        if ((op & 0xff07) != 0x4704)
            return 0;
        return snprintf(out, room, "%s%s %s", op & 0x80 ? "blxns" : "bxns", suffix,
                        registers[op >> 3 & 15]);
    }
    len = gate_text(op, suffix, out, room);
    if (!len)
        len = loop_text(op, address, out, room);
    if (!len)
        len = select_text(op, out, room);
    return len ? len : clear_text(op, suffix, out, room);
}
