/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/disasm/disasm.h"
#include "decoder/base/bytes.h"
#include "decoder/program/insn.h"
#include "disasm_a64.h"

#include <capstone/capstone.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 4096       /* slots of the table of texts, a power of two */
#define MAX_TEXTS  (1u << 20) /* then it starts over */

/* T32 instructions of the M profile that capstone 4 lacks or takes for others: those between the
 * security states, the loops and conditional selects of v8.1-M. Operands as GNU binutils writes
 * them, targets as capstone does. */

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

static int m_profile_text(uint32_t op, unsigned size, uint64_t address, unsigned cond, char *out,
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

struct entry {
    uint64_t address;
    uint32_t opcode;
    uint8_t isa;
    uint8_t it_cond;
    char *text;
};

struct disasm {
    csh a32;
    csh t32;
    csh a64;
    bool open;
    bool m_profile;
    struct entry *table; /* open addressing; a hit needs the same address, opcode, condition */
    size_t size;
    size_t used;
    uint64_t calls;
    uint64_t texts;
};

static void forget_texts(struct disasm *d)
{
    for (size_t i = 0; i < d->size; i++) {
        free(d->table[i].text);
        d->table[i].text = NULL;
    }
    d->used = 0;
}

struct disasm *disasm_new(bool m_profile)
{
    struct disasm *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->table = calloc(FIRST_SIZE, sizeof *d->table);
    d->size = d->table ? FIRST_SIZE : 0;
    d->m_profile = m_profile;
    int m_class = m_profile ? CS_MODE_MCLASS : 0;
    cs_mode arm = (cs_mode)(CS_MODE_ARM | CS_MODE_V8);
    cs_mode thumb = (cs_mode)(CS_MODE_THUMB | CS_MODE_V8 | m_class);
    d->open = d->table && cs_open(CS_ARCH_ARM, arm, &d->a32) == CS_ERR_OK &&
              cs_open(CS_ARCH_ARM, thumb, &d->t32) == CS_ERR_OK &&
              cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &d->a64) == CS_ERR_OK;
    if (d->open)
        return d;
    disasm_free(d);
    return NULL;
}

void disasm_free(struct disasm *d)
{
    if (!d)
        return;
    forget_texts(d);
    free(d->table);
    cs_close(&d->a32);
    cs_close(&d->t32);
    cs_close(&d->a64);
    free(d);
}

/* Bytes as capstone wants them. In an IT block an IT instruction for this one alone goes ahead. */
static size_t encode(uint8_t *out, enum bt_isa isa, uint32_t opcode, unsigned size, uint8_t it_cond)
{
    size_t n = 0;
    if (it_cond != DISASM_NO_IT) {
        bytes_set_half(out, 0xbf08u | (uint32_t)it_cond << 4);
        n = 2;
    }
    bool thumb = isa == BT_ISA_T32 || isa == BT_ISA_T32EE;
    if (size == 2) {
        bytes_set_half(out + n, opcode);
    } else {
        bytes_set_half(out + n, thumb ? opcode >> 16 : opcode);
        bytes_set_half(out + n + 2, thumb ? opcode : opcode >> 16);
    }
    return n + size;
}

static char *make_text(struct disasm *d, uint64_t address, enum bt_isa isa, uint32_t opcode,
                       unsigned size, uint8_t it_cond)
{
    uint8_t bytes[8];
    char younger[80];
    if (isa == BT_ISA_A64 && disasm_a64_text(opcode, address, younger, sizeof younger))
        return strdup(younger);
    unsigned cond = it_cond == DISASM_NO_IT ? 14 : it_cond;
    if (isa == BT_ISA_T32 && d->m_profile &&
        m_profile_text(opcode, size, address, cond, younger, sizeof younger))
        return strdup(younger);
    bool thumb = isa == BT_ISA_T32 || isa == BT_ISA_T32EE;
    size_t len = encode(bytes, isa, opcode, size, thumb ? it_cond : DISASM_NO_IT);
    csh handle = thumb ? d->t32 : isa == BT_ISA_A64 ? d->a64 : d->a32;
    cs_insn *insn = NULL;
    size_t want = len == size ? 1 : 2;
    size_t n = cs_disasm(handle, bytes, len, address - (len - size), want, &insn);
    char *text = NULL;
    int made = -1;
    if (n == want && insn[n - 1].size == size)
        made = asprintf(&text, "%s%s%s", insn[n - 1].mnemonic, *insn[n - 1].op_str ? " " : "",
                        insn[n - 1].op_str);
    else if (size == 2)
        made = asprintf(&text, ".inst.n 0x%04x", opcode);
    else
        made = asprintf(&text, thumb ? ".inst.w 0x%08x" : ".inst 0x%08x", opcode);
    if (n)
        cs_free(insn, n);
    return made < 0 ? NULL : text;
}

static size_t slot_of(const struct disasm *d, uint64_t address, enum bt_isa isa, uint32_t opcode,
                      uint8_t it_cond)
{
    uint64_t h = (address ^ (uint64_t)opcode << 32 ^ it_cond ^ (uint64_t)isa << 61);
    size_t slot = (size_t)(h * 0x9e3779b97f4a7c15u >> 32) & (d->size - 1);
    for (; d->table[slot].text; slot = (slot + 1) & (d->size - 1)) {
        const struct entry *e = &d->table[slot];
        if (e->address == address && e->opcode == opcode && e->isa == isa && e->it_cond == it_cond)
            break;
    }
    return slot;
}

static bool table_grow(struct disasm *d)
{
    struct entry *old = d->table;
    size_t old_size = d->size;
    if (d->used == MAX_TEXTS) {
        forget_texts(d);
        return true;
    }
    d->table = calloc(old_size * 2, sizeof *d->table);
    if (!d->table) {
        d->table = old;
        return false;
    }
    d->size = old_size * 2;
    for (size_t i = 0; i < old_size; i++) {
        const struct entry *e = &old[i];
        if (e->text)
            d->table[slot_of(d, e->address, (enum bt_isa)e->isa, e->opcode, e->it_cond)] = *e;
    }
    free(old);
    return true;
}

void disasm_counts(const struct disasm *d, uint64_t *calls, uint64_t *texts)
{
    *calls = d->calls;
    *texts = d->texts;
}

const char *disasm_text(struct disasm *d, uint64_t address, enum bt_isa isa, uint32_t opcode,
                        unsigned size, uint8_t it_cond)
{
    if (2 * d->used >= d->size && !table_grow(d))
        forget_texts(d);
    struct entry *e = &d->table[slot_of(d, address, isa, opcode, it_cond)];
    if (e->text)
        return e->text;
    d->calls++;
    char *text = make_text(d, address, isa, opcode, size, it_cond);
    if (!text)
        return "?";
    *e = (struct entry){address, opcode, (uint8_t)isa, it_cond, text};
    d->used++;
    d->texts++;
    return text;
}

/* A path that leaves a block in the middle may come back to it behind an exception. */
static void it_leave(struct it_track *it)
{
    if (it->state & 0xf) {
        it->saved[it->saved_next].address = it->next;
        it->saved[it->saved_next].state = it->state;
        it->saved_next = (it->saved_next + 1) % 8;
    }
    it->state = 0;
}

static void it_resume(struct it_track *it, uint64_t address)
{
    for (unsigned i = 0; i < 8; i++) {
        if (it->saved[i].state && it->saved[i].address == address) {
            it->state = it->saved[i].state;
            it->saved[i].state = 0;
            return;
        }
    }
}

uint8_t it_track_step(struct it_track *it, uint64_t address, enum bt_isa isa, uint32_t opcode,
                      unsigned size)
{
    if (address != it->next) {
        it_leave(it);
        it_resume(it, address);
    }
    it->next = address + size;
    if (isa != BT_ISA_T32 && isa != BT_ISA_T32EE) {
        it->state = 0;
        return DISASM_NO_IT;
    }
    uint8_t cond = it->state & 0xf ? it->state >> 4 : DISASM_NO_IT;
    /* ITAdvance(): the low five bits shift up; the block ends with its last mask bit. */
    it->state = it->state & 7 ? (uint8_t)((it->state & 0xe0) | (it->state << 1 & 0x1f)) : 0;
    if (size == 2 && (opcode & 0xff00) == 0xbf00 && (opcode & 0xf))
        it->state = (uint8_t)opcode;
    return cond;
}
