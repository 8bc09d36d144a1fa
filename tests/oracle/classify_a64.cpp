/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoder/program/insn.h's A64 against three others: the disassembler of GNU binutils, whose
 * mnemonics and operands are read as a person would, OpenCSD's classifier, and the table of the
 * virtual trace units (drivers/virtual/encoder/p0_insn.h). Class, link, target, condition,
 * exception return flag; of the words of classify_a64.h and of a whole program. BTRACED_FULL=1
 * tries more words.
 *
 * Who is right where they differ is decided by IHI 0064H.b and DDI 0487L.a (P0 instructions).
 */
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <unistd.h>
#include <unordered_map>

#include <opencsd/ocsd_if_types.h>

#include "tests/oracle/classify_a64.h"

extern "C" {
#include "drivers/virtual/encoder/p0_insn.h"
}

/* OpenCSD ships no header for its classifier: see classify.cpp. */
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

static void fatal(const char *what)
{
    std::printf("FAIL classify A64: %s\n", what);
    std::exit(1);
}

static bool matches(uint32_t op, uint32_t mask, uint32_t value)
{
    return (op & mask) == value;
}

/* Instructions of v9.5 and v9.6 that DDI 0487L.a lists and that are younger than both of them. They
 * are P0 there: a decoder that takes them for others loses count of the atoms of such a core. The
 * two reserved conditions of CB, CBB and CBH are taken along, as btraced's masks do: they are
 * undefined, so that they never have an atom. */
static bool compare_and_branch(uint32_t op)
{
    return matches(op, 0xff00c000, 0xf4000000) || matches(op, 0x7f004000, 0x75000000) ||
           (matches(op, 0xff000000, 0x74000000) && !matches(op, 0xc000, 0x4000));
}

static bool return_with_label(uint32_t op)
{
    return matches(op, 0xffc0001f, 0x5500001f);
}

/* With 31 as the register it is RETAA or RETAB. */
static bool return_with_register(uint32_t op)
{
    return matches(op, 0xfffffbe0, 0xd65f0be0) && !matches(op, 31, 31);
}

static bool exit_of_vector(uint32_t op)
{
    return matches(op, 0xfffffbff, 0xd6ff03e0);
}

static const reason younger[] = {
    {"CB, CBB, CBH are younger", SET_A64, compare_and_branch, DIFF_CLASS, INSN_DIRECT, INSN_OTHER,
     0, 0, true},
    {"RETAASPPC, RETABSPPC are younger", SET_A64, return_with_label, DIFF_CLASS, INSN_INDIRECT,
     INSN_OTHER, 0, 0, true},
    {"RETAASPPCR, RETABSPPCR are younger", SET_A64, return_with_register, DIFF_CLASS, INSN_INDIRECT,
     INSN_OTHER, 0, 0, true},
    {"TEXIT is younger", SET_A64, exit_of_vector, DIFF_CLASS, INSN_INDIRECT, INSN_OTHER, 0, 0,
     true},
};

/* Encodings of the younger ones as Arm's machine-readable architecture and newer assemblers have
 * them, with the distance of the branch, and what stands next to them. */
static int check_younger()
{
    static const struct {
        uint32_t op;
        uint8_t cls;
        bool exc_return;
        int64_t distance;
    } rows[] = {
        {0x74052005, INSN_DIRECT, false, -1024}, /* CBGT W5, W5 */
        {0xf4051fe5, INSN_DIRECT, false, 1020},  /* CBGT X5, X5 */
        {0x74e52005, INSN_DIRECT, false, -1024}, /* CBNE W5, W5 */
        {0x7405a005, INSN_DIRECT, false, -1024}, /* CBBGT */
        {0x74e5a005, INSN_DIRECT, false, -1024}, /* CBBNE */
        {0x7425e005, INSN_DIRECT, false, -1024}, /* CBHGE */
        {0x74e5e005, INSN_DIRECT, false, -1024}, /* CBHNE */
        {0x751f9fe5, INSN_DIRECT, false, 1020},  /* CBGT W5, #63 */
        {0xf5002005, INSN_DIRECT, false, -1024}, /* CBGT X5, #0 */
        {0x75cf9fe5, INSN_DIRECT, false, 1020},  /* CBEQ W5, #31 */
        {0xf5efa005, INSN_DIRECT, false, -1024}, /* CBNE X5, #31 */
        {0x74056005, INSN_OTHER, false, 0},      /* neither CB, CBB nor CBH */
        {0xf405a005, INSN_OTHER, false, 0},      /* no CBB of 64 bits */
        {0xf405e005, INSN_OTHER, false, 0},      /* no CBH of 64 bits */
        {0x751fdfe5, INSN_OTHER, false, 0},      /* bit 14 of an immediate form */
        {0x5500001f, INSN_INDIRECT, false, 0},   /* RETAASPPC */
        {0x551fffff, INSN_INDIRECT, false, 0},   /* RETAASPPC, the farthest label */
        {0x5520003f, INSN_INDIRECT, false, 0},   /* RETABSPPC */
        {0x5500001e, INSN_OTHER, false, 0},      /* other than 31 in its low bits */
        {0xd65f0be2, INSN_INDIRECT, false, 0},   /* RETAASPPCR X2 */
        {0xd65f0fe2, INSN_INDIRECT, false, 0},   /* RETABSPPCR X2 */
        {0xd6ff03e0, INSN_INDIRECT, true, 0},    /* TEXIT */
        {0xd6ff07e0, INSN_INDIRECT, true, 0},    /* TEXIT NB */
        {0xd6ff0be0, INSN_OTHER, false, 0},      /* and nothing more of its kind */
        {0xd4e00400, INSN_OTHER, false, 0},      /* TENTER goes there as an exception does */
    };
    int wrong = 0;
    for (const auto &r : rows) {
        view v = a64_our_view({r.op, A64_BASE});
        uint64_t target = r.cls == INSN_DIRECT ? A64_BASE + static_cast<uint64_t>(r.distance) : 0;
        if (v.cls == r.cls && v.exc_return == r.exc_return && !v.link && v.target == target &&
            v.conditional == (r.cls == INSN_DIRECT))
            continue;
        std::printf("# a64 %08" PRIx32 ": class=%d link=%d cond=%d exc=%d target=%" PRIx64 "\n",
                    r.op, v.cls, v.link, v.conditional, v.exc_return, v.target);
        wrong = 1;
    }
    std::printf("%s classify A64 of v9.5 and v9.6: published encodings\n", wrong ? "FAIL" : "PASS");
    return wrong;
}

struct meaning {
    uint8_t cls;
    bool link, conditional, exc_return;
};

static std::unordered_map<std::string, meaning> vocabulary()
{
    std::unordered_map<std::string, meaning> words = {
        {"b", {INSN_DIRECT, false, false, false}},    {"bl", {INSN_DIRECT, true, false, false}},
        {"cbz", {INSN_DIRECT, false, true, false}},   {"cbnz", {INSN_DIRECT, false, true, false}},
        {"tbz", {INSN_DIRECT, false, true, false}},   {"tbnz", {INSN_DIRECT, false, true, false}},
        {"br", {INSN_INDIRECT, false, false, false}}, {"blr", {INSN_INDIRECT, true, false, false}},
        {"isb", {INSN_ISB, false, false, false}},     {"tstart", {INSN_START, false, false, false}},
    };
    static const char *const conditions[] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc",
                                             "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"};
    for (const char *c : conditions) {
        words[std::string("b.") + c] = {INSN_DIRECT, false, true, false};
        words[std::string("bc.") + c] = {INSN_DIRECT, false, true, false};
    }
    for (const char *key : {"aa", "ab", "aaz", "abz"}) {
        words[std::string("br") + key] = {INSN_INDIRECT, false, false, false};
        words[std::string("blr") + key] = {INSN_INDIRECT, true, false, false};
    }
    for (const char *key : {"", "aa", "ab"}) {
        words[std::string("ret") + key] = {INSN_INDIRECT, false, false, false};
        words[std::string("eret") + key] = {INSN_INDIRECT, false, false, true};
    }
    for (const char *name : {"wfi", "wfe", "wfit", "wfet"})
        words[name] = {INSN_WAIT, false, false, false};
    return words;
}

/* "ffffffc000000000:\tb77b6350 \ttbnz\tx16, #47, 0xffffffc000006cb8" */
static bool parse_line(const char *text, word &w, view &v)
{
    static const std::unordered_map<std::string, meaning> words = vocabulary();
    char *end;
    w.address = std::strtoull(text, &end, 16);
    if (*end != ':' || end[1] != '\t')
        return false;
    w.op = static_cast<uint32_t>(std::strtoul(end + 2, &end, 16));
    const char *mnemonic = std::strchr(end, '\t');
    if (!mnemonic++)
        return false;
    const char *after = mnemonic + std::strcspn(mnemonic, "\t\n");
    v.size = 4;
    v.target_isa = BT_ISA_A64;
    auto found = words.find(std::string(mnemonic, after));
    if (found == words.end())
        return true;
    const meaning &m = found->second;
    v.cls = m.cls;
    v.link = m.link;
    v.conditional = m.conditional;
    v.exc_return = m.exc_return;
    if (v.cls == INSN_DIRECT) {
        const char *target = std::strstr(after, "0x");
        if (!target)
            fatal("a direct branch without a target in the listing");
        v.target = std::strtoull(target, nullptr, 16);
    }
    return true;
}

static void write_image(const char *path, const std::vector<word> &words)
{
    FILE *f = std::fopen(path, "wb");
    if (!f)
        fatal("cannot write the image");
    for (const word &w : words)
        std::fwrite(&w.op, sizeof w.op, 1, f); /* the host is little endian, as the image */
    if (std::fclose(f) != 0)
        fatal("cannot write the image");
}

static void check_binutils(ledger &book, const std::vector<word> &words)
{
    const char *dir = std::getenv("TMPDIR");
    std::string path = std::string(dir ? dir : "/tmp") + "/classify.XXXXXX";
    int fd = mkstemp(&path[0]);
    if (fd < 0)
        fatal("cannot make a temporary file");
    close(fd);
    write_image(path.c_str(), words);
    char command[512];
    std::snprintf(
        command, sizeof command,
        "aarch64-linux-gnu-objdump -D -z -b binary -m aarch64 -EL --adjust-vma=%#llx '%s'",
        A64_BASE, path.c_str());
    FILE *listing = popen(command, "r");
    if (!listing)
        fatal("cannot start aarch64-linux-gnu-objdump");
    char text[512];
    size_t next = 0;
    while (std::fgets(text, sizeof text, listing)) {
        word w;
        view theirs;
        if (!parse_line(text, w, theirs))
            continue;
        if (next == words.size() || w.address != words[next].address || w.op != words[next].op)
            fatal("the listing is not of this image");
        book.check(SET_A64, w, a64_our_view(w), theirs);
        next++;
    }
    unlink(path.c_str());
    if (pclose(listing) != 0 || next != words.size())
        fatal("the listing ends early (is aarch64-linux-gnu-objdump installed? make deps)");
}

/* OpenCSD and the model. */

static view opencsd_view(const word &w)
{
    ocsd_instr_info info;
    std::memset(&info, 0, sizeof info);
    info.pe_type.arch = ARCH_AA64;
    info.pe_type.profile = profile_CortexA;
    info.isa = ocsd_isa_aarch64;
    info.instr_addr = w.address;
    info.opcode = w.op;
    info.wfi_wfe_branch = 1;
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
    case OCSD_INSTR_WFI_WFE:
        v.cls = INSN_WAIT;
        break;
    case OCSD_INSTR_TSTART:
        v.cls = INSN_START;
        break;
    default:
        v.cls = INSN_OTHER;
    }
    v.size = info.instr_size;
    v.link = info.is_link != 0;
    v.conditional = info.is_conditional != 0;
    v.exc_return = info.sub_type == OCSD_S_INSTR_V8_ERET;
    v.target = info.branch_addr;
    v.target_isa = info.next_isa == ocsd_isa_aarch64 ? BT_ISA_A64 : BT_ISA_A32;
    return v;
}

static view model_view(const word &w)
{
    static const uint8_t classes[] = {INSN_OTHER, INSN_DIRECT, INSN_INDIRECT,
                                      INSN_ISB,   INSN_WAIT,   INSN_START};
    struct p0_insn p;
    view v;
    p0_classify(BT_ISA_A64, w.op, w.address, &p);
    v.cls = classes[p.cls];
    v.size = static_cast<uint8_t>(p.size);
    v.link = p.link;
    v.conditional = p.conditional;
    v.exc_return = p.exception_return;
    v.target = p.target;
    v.target_isa = static_cast<uint8_t>(p.target_isa);
    return v;
}

/* The three of them. */

/* Words, and how many of them are of each of the younger kinds. */
struct trial {
    const char *what;
    unsigned long expected[std::size(younger)];
};

static int check_all(const std::vector<word> &words, const trial &t)
{
    std::vector<reason> first(std::begin(younger), std::end(younger));
    for (size_t i = 0; i < first.size(); i++)
        first[i].expected = t.expected[i];
    std::vector<reason> second = first;
    std::string names[] = {std::string("binutils, ") + t.what, std::string("opencsd, ") + t.what,
                           std::string("the model, ") + t.what};
    ledger binutils = {names[0].c_str(), first.data(), first.size(), ~0u};
    ledger opencsd = {names[1].c_str(), second.data(), second.size(), ~0u};
    ledger model = {names[2].c_str(), nullptr, 0, ~0u};
    check_binutils(binutils, words);
    for (const word &w : words) {
        view ours = a64_our_view(w);
        opencsd.check(SET_A64, w, ours, opencsd_view(w));
        model.check(SET_A64, w, ours, model_view(w));
    }
    int status = binutils.finish(words.size());
    status |= opencsd.finish(words.size());
    return status | model.finish(words.size());
}

/* Code and the data between it: every word is tried. -1 if there is no such file. */
static long read_program(const std::string &path, std::vector<word> &words)
{
    FILE *f = std::fopen(path.c_str(), "rb");
    if (!f)
        return -1;
    uint32_t op;
    while (std::fread(&op, sizeof op, 1, f) == 1)
        a64_add(words, op);
    std::fclose(f);
    return static_cast<long>(words.size());
}

static int check_programs()
{
    const char *data = std::getenv("BTRACED_DATA");
    std::string root = data ? data : "../shared/data";
    /* One constant among cc1's code would be a CBH, were its condition not a reserved one. */
    static const struct {
        const char *path;
        trial t;
    } programs[] = {
        {"/cc1-etmv4/cc1.text_dump.bin", {"the code of cc1", {1, 0, 0, 0}}},
        {"/juno-etmv4/kernel_dump.bin", {"a Linux kernel", {0, 0, 0, 0}}},
    };
    const char *required = std::getenv("BTRACED_REQUIRE_DATA");
    bool fail = required && std::strcmp(required, "1") == 0;
    int status = 0;
    for (const auto &p : programs) {
        std::vector<word> words;
        if (read_program(root + p.path, words) > 0) {
            status |= check_all(words, p.t);
            continue;
        }
        std::printf("%s classify %s: no %s%s\n", fail ? "FAIL" : "SKIP", p.t.what, root.c_str(),
                    p.path);
        status |= fail;
    }
    return status;
}

int main()
{
    const char *full = std::getenv("BTRACED_FULL");
    std::vector<word> words =
        a64_words(a64_quick, sizeof a64_quick / sizeof *a64_quick, 64, 300000);
    int status =
        check_all(words, {"A64", {31861, 1359, 66, 2}}) | check_younger() | check_programs();
    if (!full || !*full)
        return status;
    words = a64_words(a64_full, sizeof a64_full / sizeof *a64_full, 65, 3000000);
    return status | check_all(words, {"A64 at length", {SOME, SOME, SOME, SOME}});
}
