/* SPDX-License-Identifier: BSD-3-Clause */
#include "disasm_a64.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_B (1u << 10)

/*
 * A text; behind a '%' stands an operand:
 *   d n    the register of bits 4-0, 9-5; 31 is xzr
 *   D N M  that of bits 4-0, 9-5, 20-16; 31 is sp
 *   k      the letter of the key in bit 10
 *   c l    condition and target of a conditional branch
 *   i u    the number of bits 20-5, 15-0
 */
struct form {
    uint32_t mask;
    uint32_t value;
    const char *text;
};

/* First match wins. */
static const struct form forms[] = {
    {0xfffffbff, 0xd65f0bff, "reta%k"},           {0xfffffbff, 0xd69f0bff, "ereta%k"},
    {0xfffff800, 0xd71f0800, "bra%k %n, %D"},     {0xfffff800, 0xd73f0800, "blra%k %n, %D"},
    {0xfffff81f, 0xd61f081f, "bra%kz %n"},        {0xfffff81f, 0xd63f081f, "blra%kz %n"},
    {0xff000010, 0x54000010, "bc.%c %l"},         {0xffe0001f, 0xd4600000, "tcancel %i"},
    {0xffffffe0, 0xd5233060, "tstart %d"},        {0xffffffe0, 0xd5233160, "ttest %d"},
    {0xffffffff, 0xd503307f, "tcommit"},          {0xffffffe0, 0xd5031000, "wfet %d"},
    {0xffffffe0, 0xd5031020, "wfit %d"},          {0xffffffff, 0xd50330ff, "sb"},
    {0xffe0fc00, 0x9ac03000, "pacga %d, %n, %M"}, {0xfffffc00, 0xdac10000, "pacia %d, %N"},
    {0xfffffc00, 0xdac10400, "pacib %d, %N"},     {0xfffffc00, 0xdac10800, "pacda %d, %N"},
    {0xfffffc00, 0xdac10c00, "pacdb %d, %N"},     {0xfffffc00, 0xdac11000, "autia %d, %N"},
    {0xfffffc00, 0xdac11400, "autib %d, %N"},     {0xfffffc00, 0xdac11800, "autda %d, %N"},
    {0xfffffc00, 0xdac11c00, "autdb %d, %N"},     {0xffffffe0, 0xdac123e0, "paciza %d"},
    {0xffffffe0, 0xdac127e0, "pacizb %d"},        {0xffffffe0, 0xdac12be0, "pacdza %d"},
    {0xffffffe0, 0xdac12fe0, "pacdzb %d"},        {0xffffffe0, 0xdac133e0, "autiza %d"},
    {0xffffffe0, 0xdac137e0, "autizb %d"},        {0xffffffe0, 0xdac13be0, "autdza %d"},
    {0xffffffe0, 0xdac13fe0, "autdzb %d"},        {0xffffffe0, 0xdac143e0, "xpaci %d"},
    {0xffffffe0, 0xdac147e0, "xpacd %d"},         {0xffff0000, 0x00000000, "udf %u"},
};

/* HINT #n, by n; others stay with capstone. */
static const char *const hints[40] = {
    [7] = "xpaclri",    [8] = "pacia1716", [10] = "pacib1716", [12] = "autia1716",
    [14] = "autib1716", [16] = "esb",      [17] = "psb csync", [18] = "tsb csync",
    [20] = "csdb",      [24] = "paciaz",   [25] = "paciasp",   [26] = "pacibz",
    [27] = "pacibsp",   [28] = "autiaz",   [29] = "autiasp",   [30] = "autibz",
    [31] = "autibsp",   [32] = "bti",      [34] = "bti c",     [36] = "bti j",
    [38] = "bti jc",
};

static const char *const conditions[16] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc",
                                           "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"};

struct text {
    char *out;
    size_t size;
    size_t len;
};

static void put_text(struct text *t, const char *string)
{
    size_t len = strlen(string), room = t->size - t->len - 1;
    memcpy(t->out + t->len, string, len < room ? len : room);
    t->len += len < room ? len : room;
}

static void put_number(struct text *t, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, number > 9 ? "#0x%" PRIx64 : "#%" PRIu64, number);
    put_text(t, digits);
}

/* Register of the bits from `low` on. */
static void put_register(struct text *t, uint32_t op, unsigned low, char size, bool stack)
{
    unsigned reg = op >> low & 31;
    char name[8];
    if (reg == 31)
        snprintf(name, sizeof name, "%s", stack ? "sp" : size == 'w' ? "wzr" : "xzr");
    else
        snprintf(name, sizeof name, "%c%u", size, reg);
    put_text(t, name);
}

static void put_operand(struct text *t, char what, uint32_t op, uint64_t address)
{
    uint64_t imm19 = (op >> 5 & 0x7ffff) ^ 0x40000;
    switch (what) {
    case 'd':
    case 'D':
        put_register(t, op, 0, 'x', what == 'D');
        break;
    case 'n':
    case 'N':
        put_register(t, op, 5, 'x', what == 'N');
        break;
    case 'M':
        put_register(t, op, 16, 'x', true);
        break;
    case 'k':
        put_text(t, op & KEY_B ? "b" : "a");
        break;
    case 'c':
        put_text(t, conditions[op & 15]);
        break;
    case 'l':
        put_number(t, address + (imm19 - 0x40000) * 4);
        break;
    case 'i':
        put_number(t, op >> 5 & 0xffff);
        break;
    default:
        put_number(t, op & 0xffff);
    }
}

static bool put_form(struct text *t, uint32_t op, uint64_t address)
{
    const struct form *f = forms, *end = forms + sizeof forms / sizeof *forms;
    while (f < end && (op & f->mask) != f->value)
        f++;
    if (f == end)
        return false;
    for (const char *c = f->text; *c; c++) {
        char one[2] = {*c, '\0'};
        if (*c == '%')
            put_operand(t, *++c, op, address);
        else
            put_text(t, one);
    }
    return true;
}

static bool put_hint(struct text *t, uint32_t op)
{
    unsigned n = op >> 5 & 0x7f;
    bool hint = (op & 0xfffff01f) == 0xd503201f && n < sizeof hints / sizeof *hints && hints[n];
    if (hint)
        put_text(t, hints[n]);
    return hint;
}

/* Atomics and authenticated loads. */

static char size_of(uint32_t op)
{
    return op >> 30 == 3 ? 'x' : 'w';
}

static void put_suffix(struct text *t, uint32_t op, bool acquire, bool release)
{
    put_text(t, acquire ? "a" : "");
    put_text(t, release ? "l" : "");
    put_text(t, op >> 30 == 0 ? "b" : op >> 30 == 1 ? "h" : "");
}

static void put_base(struct text *t, uint32_t op)
{
    put_text(t, "[");
    put_register(t, op, 5, 'x', true);
    put_text(t, "]");
}

/* LDADD and its like, their forms without a result, SWP, LDAPR. */
static bool put_atomic(struct text *t, uint32_t op)
{
    static const char *const names[8] = {"add",  "clr",  "eor",  "set",
                                         "smax", "smin", "umax", "umin"};
    bool acquire = op >> 23 & 1, release = op >> 22 & 1, other = op >> 15 & 1;
    unsigned what = op >> 12 & 7;
    if ((op & 0x3f200c00) != 0x38200000)
        return false;
    if ((op & 0x00dff000) == 0x009fc000) {
        put_text(t, "ldapr");
        put_suffix(t, op, false, false);
        put_text(t, " ");
    } else if (other && what) {
        return false;
    } else {
        bool store = !other && !acquire && (op & 31) == 31;
        put_text(t, other ? "swp" : store ? "st" : "ld");
        put_text(t, other ? "" : names[what]);
        put_suffix(t, op, acquire, release);
        put_text(t, " ");
        put_register(t, op, 16, size_of(op), false);
        put_text(t, ", ");
        if (store) {
            put_base(t, op);
            return true;
        }
    }
    put_register(t, op, 0, size_of(op), false);
    put_text(t, ", ");
    put_base(t, op);
    return true;
}

/* Registers that follow each other. */
static void put_operands(struct text *t, uint32_t op, unsigned low, char size, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        put_register(t, op | i << low, low, size, false);
        put_text(t, ", ");
    }
}

static bool put_compare_and_swap(struct text *t, uint32_t op)
{
    bool acquire = op >> 22 & 1, release = op >> 15 & 1;
    bool single = (op & 0x3fa07c00) == 0x08a07c00;
    bool pair = (op & 0xbfa07c00) == 0x08207c00 && !(op & 0x00010001);
    char size = pair ? op >> 30 & 1 ? 'x' : 'w' : size_of(op);
    if (!single && !pair)
        return false;
    put_text(t, pair ? "casp" : "cas");
    put_suffix(t, pair ? UINT32_MAX : op, acquire, release);
    put_text(t, " ");
    put_operands(t, op, 16, size, pair ? 2 : 1);
    put_operands(t, op, 0, size, pair ? 2 : 1);
    put_base(t, op);
    return true;
}

/* LDRAA, LDRAB. */
static bool put_authenticated_load(struct text *t, uint32_t op)
{
    int offset = (int)(op >> 12 & 0x1ff) - (op >> 22 & 1 ? 512 : 0);
    bool before = op >> 11 & 1;
    if ((op & 0xff200400) != 0xf8200400)
        return false;
    put_text(t, op >> 23 & 1 ? "ldrab " : "ldraa ");
    put_register(t, op, 0, 'x', false);
    put_text(t, ", [");
    put_register(t, op, 5, 'x', true);
    if (offset < 0) {
        char digits[16];
        snprintf(digits, sizeof digits, offset == -1 ? ", #-%d" : ", #-0x%x", -offset * 8);
        put_text(t, digits);
    } else if (offset) {
        put_text(t, ", ");
        put_number(t, (uint64_t)offset * 8);
    }
    put_text(t, before ? "]!" : "]");
    return true;
}

int disasm_a64_text(uint32_t op, uint64_t address, char *out, size_t size)
{
    struct text t = {out, size, 0};
    bool found = put_form(&t, op, address) || put_hint(&t, op) || put_atomic(&t, op) ||
                 put_compare_and_swap(&t, op) || put_authenticated_load(&t, op);
    out[t.len] = '\0';
    return found ? (int)t.len : 0;
}
