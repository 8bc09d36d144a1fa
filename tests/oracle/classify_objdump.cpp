/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoder/program/insn.h against the disassembler of GNU binutils: each line's mnemonic and
 * operands are read as a person would (does it write the PC? from where? which barrier?) and
 * compared with our class, link, target, target instruction set, size, condition and exception
 * return flag. All 16-bit T32 opcodes, 3 million A32 words and 3 million 32-bit T32 instructions.
 */
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <unordered_map>

#include "tests/oracle/classify.h"

#define BASE 0x40000000u /* away from 0, so that no target wraps */

static bool conditional_space(uint32_t op)
{
    return op >> 28 != 0xf;
}

static bool matches(uint32_t op, uint32_t mask, uint32_t value)
{
    return (op & mask) == value;
}

/* Like `matches`, for an A32 instruction with a condition. */
static bool plain(uint32_t op, uint32_t mask, uint32_t value)
{
    return conditional_space(op) && matches(op, mask, value);
}

/* BX, BXJ, BLX register: `from` 1, 2, 3 */
static bool a32_bx(uint32_t op, unsigned from)
{
    return plain(op, 0x0ff000f0, 0x01200000 | from << 4);
}

static bool a32_bx_sbo(uint32_t op)
{
    return (a32_bx(op, 1) || a32_bx(op, 2) || a32_bx(op, 3)) && !matches(op, 0xfff00, 0xfff00);
}

/* Data processing with the PC as Rd: no comparison, no miscellaneous or extra instruction. */
static bool a32_data_to_pc(uint32_t op, uint32_t mask, uint32_t value)
{
    bool extra = matches(op, 0x02000090, 0x00000090);
    return plain(op, 0x0c00f000, 0x0000f000) && (op >> 23 & 3) != 2 && !extra &&
           matches(op, mask, value);
}

/* Where the tables of waypoint instructions leave fields free that DDI 0406C.d fixes, or where it
 * restricts registers, decoder/program/insn.h follows the tables: it calls the encoding what it
 * would be if the core took it. The architecture calls them UNPREDICTABLE (a trace unit need not
 * treat them as waypoints), and objdump does not disassemble or marks them. */
static reason reasons[] = {
    {"A32 BX, BXJ, BLX with a 0 in the should-be-one field", SET_A32, a32_bx_sbo, DIFF_CLASS,
     INSN_INDIRECT, INSN_OTHER, 74381, 0},
    {"A32 MOV to the PC with a 1 in the should-be-zero Rn field", SET_A32,
     [](uint32_t op) { return a32_data_to_pc(op, 0x01e00000, 0x01a00000) && (op & 0xf0000) != 0; },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 7916, 0},
    {"A32 BXJ, BLX through the PC", SET_A32,
     [](uint32_t op) { return (a32_bx(op, 2) || a32_bx(op, 3)) && matches(op, 0xfff0f, 0xfff0f); },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 2465, 0},
    {"A32 data processing to the PC with a register-controlled shift", SET_A32,
     [](uint32_t op) { return a32_data_to_pc(op, 0x02000090, 0x10); }, DIFF_CLASS, INSN_INDIRECT,
     INSN_OTHER, 22330, 0},
    /* Here objdump is wrong: the manual allows it ("can only occur for ARM encoding"). */
    {"A32 MOV to the PC with a constant shift other than RRX", SET_A32,
     [](uint32_t op) {
         return a32_data_to_pc(op, 0x03e00010, 0x01a00000) && (op & 0xfe0) != 0 &&
                (op & 0xfe0) != 0x60;
     },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 1464, 0},
    {"A32 LDM of the PC with the PC as base", SET_A32,
     [](uint32_t op) { return plain(op, 0x0e1f8000, 0x081f8000); }, DIFF_CLASS, INSN_INDIRECT,
     INSN_OTHER, 6766, 0},
    {"A32 LDRT of the PC", SET_A32,
     [](uint32_t op) {
         return plain(op, 0x0f70f000, 0x0430f000) || plain(op, 0x0f70f010, 0x0630f000);
     },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 17723, 0},
    {"A32 RFE with other than 0x0a00 in the low half", SET_A32,
     [](uint32_t op) {
         return matches(op, 0xfe500000, 0xf8100000) && !matches(op, 0xffff, 0x0a00);
     },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 39502, 0},
    {"A32 ISB with a wrong should-be field", SET_A32,
     [](uint32_t op) {
         return matches(op, 0xfff000f0, 0xf5700060) && !matches(op, 0xfff00, 0xff000);
     },
     DIFF_CLASS, INSN_ISB, INSN_OTHER, 1732, 0},
    {"A32 DMB, DSB with a wrong should-be field", SET_A32,
     [](uint32_t op) {
         return (matches(op, 0xfff000f0, 0xf5700040) || matches(op, 0xfff000f0, 0xf5700050)) &&
                !matches(op, 0xfff00, 0xff000);
     },
     DIFF_CLASS, INSN_BARRIER, INSN_OTHER, 3497, 0},
    {"A32 CP15 ISB from the PC", SET_A32,
     [](uint32_t op) { return plain(op, 0x0fffffff, 0x0e07ff95); }, DIFF_CLASS, INSN_ISB,
     INSN_OTHER, 1219, 0},
    {"A32 CP15 DMB, DSB from the PC", SET_A32,
     [](uint32_t op) {
         return plain(op, 0x0fffffff, 0x0e07ff9a) || plain(op, 0x0fffffff, 0x0e07ffba);
     },
     DIFF_CLASS, INSN_BARRIER, INSN_OTHER, 2386, 0},

    {"T32 BLX register with a 1 in the should-be-zero field", SET_T16,
     [](uint32_t op) { return matches(op, 0xff800000, 0x47800000) && (op & 0x70000) != 0; },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 112, 0},
    {"T32 BX as ARMv8-M's BXNS", SET_T16,
     [](uint32_t op) { return matches(op, 0xff870000, 0x47040000); }, DIFF_CLASS, INSN_INDIRECT,
     INSN_OTHER, 16, 0},

    {"T32 CP15 ISB from the PC", SET_T32,
     [](uint32_t op) { return matches(op, 0xffffffff, 0xee07ff95); }, DIFF_CLASS, INSN_ISB,
     INSN_OTHER, 1356, 0},
    {"T32 CP15 DMB, DSB from the PC", SET_T32,
     [](uint32_t op) { return op == 0xee07ff9a || op == 0xee07ffba; }, DIFF_CLASS, INSN_BARRIER,
     INSN_OTHER, 2858, 0},
    {"T32 ISB with a wrong should-be field", SET_T32,
     [](uint32_t op) {
         return matches(op, 0xffffd0f0, 0xf3bf8060) && !matches(op, 0x2f00, 0x0f00);
     },
     DIFF_CLASS, INSN_ISB, INSN_OTHER, 149, 0},
    {"T32 DMB, DSB with a wrong should-be field", SET_T32,
     [](uint32_t op) {
         return (matches(op, 0xffffd0f0, 0xf3bf8040) || matches(op, 0xffffd0f0, 0xf3bf8050)) &&
                !matches(op, 0x2f00, 0x0f00);
     },
     DIFF_CLASS, INSN_BARRIER, INSN_OTHER, 326, 0},
    {"T32 BXJ with a wrong should-be field", SET_T32,
     [](uint32_t op) {
         return matches(op, 0xfff0d000, 0xf3c08000) && !matches(op, 0x2fff, 0x0f00);
     },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 29785, 0},
    {"T32 SUBS PC, LR with a wrong should-be field", SET_T32,
     [](uint32_t op) {
         return matches(op, 0xfff0d000, 0xf3d08000) && !matches(op, 0x000f2f00, 0x000e0f00);
     },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 28532, 0},
    {"T32 RFE with other than 0xc000 in the second half", SET_T32,
     [](uint32_t op) {
         return (matches(op, 0xffd00000, 0xe8100000) || matches(op, 0xffd00000, 0xe9900000)) &&
                !matches(op, 0xffff, 0xc000);
     },
     DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 94841, 0},
    /* The rest are limits of objdump. */
    {"T32 low-overhead loops of v8.1-M: undefined in its ARMv7", SET_T32,
     [](uint32_t op) {
         return matches(op, 0xfffff001, 0xf00fc001) || matches(op, 0xfffff001, 0xf02fc001) ||
                matches(op, 0xfffff001, 0xf01fc001) || matches(op, 0xfff0f001, 0xf040c001) ||
                matches(op, 0xffc0f001, 0xf000c001);
     },
     DIFF_CLASS, INSN_DIRECT, INSN_OTHER, 29879, 0},
    {"T32 ENTERX, LEAVEX: no ThumbEE in it", SET_T32,
     [](uint32_t op) { return matches(op, 0xffffd0e0, 0xf3bf8000); }, DIFF_CLASS, INSN_DIRECT,
     INSN_OTHER, 3174, 0},
    {"T32 LDR of the PC, literal, taken for LDRT", SET_T32,
     [](uint32_t op) { return matches(op, 0xffffff00, 0xf85ffe00); }, DIFF_CLASS, INSN_INDIRECT,
     INSN_OTHER, 973, 0},
    {"T32 LDR of the PC by register, h2[7:6] not 0: undefined", SET_T32,
     [](uint32_t op) {
         return matches(op, 0xfff0ff00, 0xf850f000) && (op & 0xc0) != 0 &&
                !matches(op, 0xf0000, 0xf0000);
     },
     DIFF_CLASS, INSN_OTHER, INSN_INDIRECT, 1054, 0},
};

/* The meaning of a line. */

enum verb {
    VERB_B,
    VERB_BL,
    VERB_BLX,
    VERB_BX,
    VERB_CB, /* CBZ, CBNZ */
    VERB_TB, /* TBB, TBH */
    VERB_RFE,
    VERB_ERET,
    VERB_ISB,
    VERB_BARRIER,
    VERB_LDM,
    VERB_LDR,
    VERB_DATA, /* data processing; its first operand is written */
    VERB_DATA_S,
    VERB_MCR,
    VERB_ENTERX,
    VERB_LEAVEX,
};

struct meaning {
    verb what;
    bool conditional;
};

static std::unordered_map<std::string, meaning> vocabulary()
{
    static const struct {
        const char *name;
        verb what;
    } verbs[] = {
        {"b", VERB_B},           {"bl", VERB_BL},         {"blx", VERB_BLX},
        {"bx", VERB_BX},         {"bxj", VERB_BX},        {"tbb", VERB_TB},
        {"tbh", VERB_TB},        {"rfeda", VERB_RFE},     {"rfedb", VERB_RFE},
        {"rfeia", VERB_RFE},     {"rfeib", VERB_RFE},     {"eret", VERB_ERET},
        {"isb", VERB_ISB},       {"dsb", VERB_BARRIER},   {"dmb", VERB_BARRIER},
        {"ssbb", VERB_BARRIER},  {"pssbb", VERB_BARRIER}, {"dfb", VERB_BARRIER},
        {"ldm", VERB_LDM},       {"ldmia", VERB_LDM},     {"ldmda", VERB_LDM},
        {"ldmdb", VERB_LDM},     {"ldmib", VERB_LDM},     {"pop", VERB_LDM},
        {"ldr", VERB_LDR},       {"mcr", VERB_MCR},       {"enterx", VERB_ENTERX},
        {"leavex", VERB_LEAVEX},
    };
    static const char *const data[] = {"and", "eor", "sub", "rsb", "add", "adc",
                                       "sbc", "rsc", "orr", "mov", "bic", "mvn",
                                       "lsl", "lsr", "asr", "ror", "rrx"};
    static const char *const conditions[] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs",
                                             "vc", "hi", "ls", "ge", "lt", "gt", "le"};
    std::unordered_map<std::string, meaning> words = {{"cbz", {VERB_CB, true}},
                                                      {"cbnz", {VERB_CB, true}}};
    auto add = [&](const std::string &name, verb what) {
        words[name] = {what, false};
        for (const char *c : conditions)
            words[name + c] = {what, true};
    };
    for (const auto &v : verbs)
        add(v.name, v.what);
    for (const char *name : data) {
        add(name, VERB_DATA);
        add(std::string(name) + "s", VERB_DATA_S);
    }
    return words;
}

/* One line of the listing, cut at its tabs. */
struct line {
    uint32_t address;
    uint32_t op;
    uint8_t size;
    std::string mnemonic, operands;
    bool rejected; /* undefined, or marked as unpredictable */
};

static bool starts(const std::string &s, const char *prefix)
{
    return s.compare(0, std::strlen(prefix), prefix) == 0;
}

/* "pc, lr, ..." -> true if the first operand is the PC. */
static bool writes_pc(const std::string &operands)
{
    return starts(operands, "pc,");
}

static uint8_t cp15_barrier(const std::string &operands)
{
    size_t reg = operands.find("cr7, ");
    if (!starts(operands, "15, 0, ") || reg == std::string::npos)
        return INSN_OTHER;
    std::string rest = operands.substr(reg);
    if (rest == "cr7, cr5, {4}")
        return INSN_ISB;
    return rest == "cr7, cr10, {4}" || rest == "cr7, cr10, {5}" ? INSN_BARRIER : INSN_OTHER;
}

/* The 32-bit T32 instructions may write the PC in one data-processing form only. */
static bool data_writes_pc(word_set set, const line &l, verb what)
{
    if (set == SET_T32)
        return what == VERB_DATA_S && starts(l.mnemonic, "subs") && starts(l.operands, "pc, lr, #");
    return writes_pc(l.operands);
}

static void branch_to(const line &l, uint8_t isa, view &v)
{
    v.cls = INSN_DIRECT;
    v.target = static_cast<uint32_t>(std::strtoull(l.operands.c_str(), nullptr, 16));
    v.target_isa = isa;
}

static void apply(word_set set, const line &l, verb what, view &v)
{
    uint8_t same = set == SET_A32 ? BT_ISA_A32 : BT_ISA_T32;
    bool immediate = starts(l.operands, "0x");
    size_t list_end = l.operands.find("pc}");
    switch (what) {
    case VERB_B:
    case VERB_BL:
        branch_to(l, same, v);
        v.link = what == VERB_BL;
        break;
    case VERB_BLX:
        v.cls = INSN_INDIRECT;
        if (immediate)
            branch_to(l, set == SET_A32 ? BT_ISA_T32 : BT_ISA_A32, v);
        v.link = true;
        break;
    case VERB_CB: { /* "r0, 0x40000010" */
        line target = l;
        target.operands = l.operands.substr(l.operands.find("0x"));
        branch_to(target, same, v);
        break;
    }
    case VERB_RFE:
    case VERB_ERET:
        v.cls = INSN_INDIRECT;
        v.exc_return = true;
        break;
    case VERB_BX:
    case VERB_TB:
        v.cls = INSN_INDIRECT;
        break;
    case VERB_ISB:
        v.cls = INSN_ISB;
        break;
    case VERB_BARRIER:
        v.cls = INSN_BARRIER;
        break;
    case VERB_MCR:
        v.cls = cp15_barrier(l.operands);
        break;
    case VERB_LDM:
        if (list_end != std::string::npos)
            v.cls = INSN_INDIRECT;
        v.exc_return = l.operands.back() == '^';
        break;
    case VERB_LDR:
        if (writes_pc(l.operands))
            v.cls = INSN_INDIRECT;
        break;
    case VERB_DATA:
    case VERB_DATA_S:
        if (data_writes_pc(set, l, what))
            v.cls = INSN_INDIRECT;
        v.exc_return = what == VERB_DATA_S;
        break;
    case VERB_ENTERX:
    case VERB_LEAVEX:
        v.cls = INSN_DIRECT;
        v.target = l.address + 4;
        v.target_isa = what == VERB_ENTERX ? BT_ISA_T32EE : BT_ISA_T32;
        break;
    }
}

static view their_view(word_set set, const line &l)
{
    static const std::unordered_map<std::string, meaning> words = vocabulary();
    view v;
    v.size = l.size;
    if (l.rejected)
        return v;
    auto found = words.find(l.mnemonic);
    if (found == words.end())
        return v;
    apply(set, l, found->second.what, v);
    v.conditional = found->second.conditional;
    return v;
}

/* "40000000:\te12fff1e \tbx\tlr\t@ comment" */
static bool parse(const char *text, bool thumb, line &l)
{
    char *end;
    l.address = static_cast<uint32_t>(std::strtoull(text, &end, 16));
    if (*end != ':' || end[1] != '\t')
        return false;
    const char *hex = end + 2;
    l.op = static_cast<uint32_t>(std::strtoul(hex, &end, 16));
    l.size = static_cast<uint8_t>((end - hex) / 2);
    if (thumb && *end == ' ' && end[1] != ' ' && end[1] != '\t') {
        l.op = l.op << 16 | static_cast<uint32_t>(std::strtoul(end + 1, &end, 16));
        l.size = 4;
    } else if (thumb) {
        l.op <<= 16;
    }
    l.rejected = std::strstr(end, "<UNDEFINED>") || std::strstr(end, "<UNPREDICTABLE>") ||
                 std::strstr(end, "<undefined>") || std::strstr(end, "<illegal");
    const char *mnemonic = std::strchr(end, '\t');
    if (!mnemonic++)
        return false;
    const char *after = mnemonic + std::strcspn(mnemonic, "\t\n");
    l.mnemonic.assign(mnemonic, after);
    if (l.mnemonic.find("??") != std::string::npos)
        l.rejected = true;
    size_t width = l.mnemonic.rfind('.');
    if (width != std::string::npos &&
        (l.mnemonic.compare(width, 2, ".n") == 0 || l.mnemonic.compare(width, 2, ".w") == 0))
        l.mnemonic.resize(width);
    l.operands.clear();
    if (*after == '\t')
        l.operands.assign(after + 1, after + 1 + std::strcspn(after + 1, "\t\n"));
    return true;
}

static void fatal(const char *what)
{
    std::printf("FAIL classify against objdump: %s\n", what);
    std::exit(1);
}

/* Gives the words their addresses in the file and writes it. */
static void write_image(const char *path, word_set set, std::vector<word> &words)
{
    FILE *f = std::fopen(path, "wb");
    if (!f)
        fatal("cannot write the image");
    uint32_t address = BASE;
    for (word &w : words) {
        bool narrow = set != SET_A32 && !is_wide(w.op);
        uint16_t half[2] = {static_cast<uint16_t>(w.op >> 16), static_cast<uint16_t>(w.op)};
        if (set == SET_A32)
            std::swap(half[0], half[1]);
        w.address = address;
        std::fwrite(half, 2, narrow ? 1 : 2, f); /* the host is little endian, as the image */
        address += narrow ? 2 : 4;
    }
    if (std::fclose(f) != 0)
        fatal("cannot write the image");
}

static unsigned long check_all(ledger &book, word_set set, std::vector<word> words)
{
    const char *dir = std::getenv("TMPDIR");
    std::string path = std::string(dir ? dir : "/tmp") + "/classify.XXXXXX";
    int fd = mkstemp(&path[0]);
    if (fd < 0)
        fatal("cannot make a temporary file");
    close(fd);
    write_image(path.c_str(), set, words);
    char command[512];
    std::snprintf(command, sizeof command,
                  "arm-none-eabi-objdump -D -z -b binary -m arm -EL --adjust-vma=%#x %s '%s'", BASE,
                  set == SET_A32 ? "" : "-M force-thumb", path.c_str());
    FILE *listing = popen(command, "r");
    if (!listing)
        fatal("cannot start arm-none-eabi-objdump");
    char text[512];
    size_t next = 0;
    line l;
    while (std::fgets(text, sizeof text, listing)) {
        if (!parse(text, set != SET_A32, l))
            continue;
        if (next == words.size())
            fatal("more lines than words");
        const word &w = words[next++];
        uint32_t want = set != SET_A32 && !is_wide(w.op) ? w.op & 0xffff0000 : w.op;
        if (l.address != w.address || l.op != want)
            fatal("the listing is not of this image");
        book.check(set, w, our_view(set, w), their_view(set, l));
    }
    if (pclose(listing) != 0 || next != words.size())
        fatal("the listing ends early");
    unlink(path.c_str());
    return words.size();
}

/* Every 16-bit opcode. An IT instruction is followed by NOPs, for objdump follows IT blocks. */
static std::vector<word> all_t16()
{
    const uint32_t nop = 0xbf000000;
    std::vector<word> words;
    for (uint32_t h = 0; h < 0xe800; h++) {
        words.push_back({h << 16, 0});
        if ((h & 0xff00) == 0xbf00 && (h & 0xf) != 0)
            words.insert(words.end(), 4, {nop, 0});
    }
    return words;
}

int main()
{
    ledger book = {"objdump", reasons, sizeof reasons / sizeof *reasons, ~0u};
    unsigned long count = check_all(book, SET_T16, all_t16());
    count += check_all(book, SET_A32, random_words(SET_A32, 33, 2000000, 1000000));
    std::vector<word> t32 = random_words(SET_T32, 3, 2000000, 1000000);
    /* a halfword in the middle: BLX depends on bit 1 of its address */
    t32.insert(t32.begin() + 1500000, {0xbf000000, 0});
    count += check_all(book, SET_T32, t32);
    return book.finish(count);
}
