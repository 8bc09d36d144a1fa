/* SPDX-License-Identifier: BSD-3-Clause */
/* Breakpoint and watchpoint comparators. DDI 0406C.d chapter C11. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cortex_a_internal.h"

struct cortex_a_access {
    uint32_t address;
    uint32_t length; /* bytes */
    bool load, store;
};

#define CPSR      16u
#define CPSR_C    (1u << 29)
#define CPSR_T    (1u << 5)
#define LOAD_BIT  (1u << 20)
#define WRITEBACK (1u << 21)
#define UP_BIT    (1u << 23)
#define INDEX_BIT (1u << 24)

static unsigned cortex_a_bits(uint32_t code, unsigned low, unsigned count)
{
    return code >> low & ((1u << count) - 1);
}

/* As a base or offset: the PC is ahead, and a word's. */
static uint32_t cortex_a_reg(const uint32_t *r, unsigned n)
{
    bool thumb = (r[CPSR] & CPSR_T) != 0;
    return n == 15 ? (r[15] + (thumb ? 4 : 8)) & ~3u : r[n];
}

static bool cortex_a_found(struct cortex_a_access *a, uint32_t address, uint32_t length, bool load)
{
    *a = (struct cortex_a_access){address, length, load, !load};
    return true;
}

static unsigned cortex_a_ones(uint32_t list)
{
    unsigned n = 0;
    for (; list; list &= list - 1)
        n++;
    return n;
}

static bool cortex_a_several(struct cortex_a_access *a, uint32_t base, unsigned count, bool up,
                             bool before, bool load)
{
    uint32_t low = up ? base : base - 4 * count;
    return cortex_a_found(a, low + (up == before ? 4 : 0), 4 * count, load);
}

/* A register, shifted by a constant. */
static uint32_t cortex_a_shifted(uint32_t code, const uint32_t *r)
{
    uint32_t value = cortex_a_reg(r, cortex_a_bits(code, 0, 4));
    unsigned amount = cortex_a_bits(code, 7, 5), kind = cortex_a_bits(code, 5, 2);
    switch (kind) {
    case 0:
        return value << amount;
    case 1:
        return amount ? value >> amount : 0;
    case 2:
        amount = amount ? amount : 31;
        return value >> amount | (value >> 31 ? ~(UINT32_MAX >> amount) : 0);
    default:
        if (amount == 0)
            return value >> 1 | ((r[CPSR] & CPSR_C) != 0 ? 1u << 31 : 0);
        return value >> amount | value << (32 - amount);
    }
}

/* Base, and the offset before the access if it is indexed. */
static uint32_t arm_address(uint32_t code, const uint32_t *r, uint32_t offset)
{
    uint32_t base = cortex_a_reg(r, cortex_a_bits(code, 16, 4));
    if ((code & INDEX_BIT) == 0)
        return base;
    return (code & UP_BIT) != 0 ? base + offset : base - offset;
}

/* LDRH, LDRSB, LDRSH, LDRD, STRH, STRD; SWP and the exclusive ones. */
static bool arm_extra(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    unsigned op = cortex_a_bits(code, 5, 2);
    bool load = (code & LOAD_BIT) != 0;
    if (op == 0 && cortex_a_bits(code, 23, 5) == 0x03) {
        static const uint8_t sizes[] = {4, 8, 1, 2};
        return cortex_a_found(a, cortex_a_reg(r, cortex_a_bits(code, 16, 4)),
                              sizes[cortex_a_bits(code, 21, 2)], load);
    }
    if (op == 0 && cortex_a_bits(code, 23, 5) == 0x02 && cortex_a_bits(code, 20, 2) == 0) {
        cortex_a_found(a, cortex_a_reg(r, cortex_a_bits(code, 16, 4)),
                       (code & 1u << 22) != 0 ? 1 : 4, true);
        a->store = true;
        return true;
    }
    if (op == 0)
        return false;
    bool immediate = (code & 1u << 22) != 0;
    uint32_t offset = immediate ? cortex_a_bits(code, 8, 4) << 4 | cortex_a_bits(code, 0, 4)
                                : cortex_a_reg(r, cortex_a_bits(code, 0, 4));
    uint32_t size = op == 1 ? 2 : load ? op == 2 ? 1 : 2 : 8;
    return cortex_a_found(a, arm_address(code, r, offset), size, load || op == 2);
}

/* VLDR, VSTR, VLDM, VSTM, LDC, STC. */
static bool cortex_a_coprocessor(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    uint32_t words = cortex_a_bits(code, 0, 8), base = cortex_a_reg(r, cortex_a_bits(code, 16, 4));
    bool load = (code & LOAD_BIT) != 0, up = (code & UP_BIT) != 0;
    bool before = (code & INDEX_BIT) != 0, back = (code & WRITEBACK) != 0;
    if (cortex_a_bits(code, 21, 4) == 0 ||
        cortex_a_bits(code, 21, 4) == 2) /* transfers between registers */
        return false;
    if (before && !back)
        return cortex_a_found(a, up ? base + 4 * words : base - 4 * words,
                              (code & 1u << 8) != 0 ? 8 : 4, load);
    return cortex_a_found(a, up ? base : base - 4 * words, 4 * words, load);
}

static bool cortex_a_arm(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    bool load = (code & LOAD_BIT) != 0;
    uint32_t offset;
    switch (cortex_a_bits(code, 25, 3)) {
    case 0:
        return (code & 0x90) == 0x90 && arm_extra(code, r, a);
    case 2:
    case 3:
        if ((code & 0x02000010u) == 0x02000010u)
            return false;
        offset = (code & 1u << 25) != 0 ? cortex_a_shifted(code, r) : cortex_a_bits(code, 0, 12);
        return cortex_a_found(a, arm_address(code, r, offset), (code & 1u << 22) != 0 ? 1 : 4,
                              load);
    case 4:
        return cortex_a_several(a, cortex_a_reg(r, cortex_a_bits(code, 16, 4)),
                                cortex_a_ones(code & 0xffff), (code & UP_BIT) != 0,
                                (code & INDEX_BIT) != 0, load);
    case 6:
        return cortex_a_coprocessor(code, r, a);
    default:
        return false;
    }
}

static bool cortex_a_thumb16(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    static const uint8_t sizes[] = {4, 2, 1, 1, 4, 2, 1, 2}; /* STR STRH STRB LDRSB LDR ... */
    uint32_t base = r[cortex_a_bits(code, 3, 3)], n = cortex_a_bits(code, 6, 5);
    bool load = (code & 0x800) != 0;
    unsigned op = cortex_a_bits(code, 9, 3);
    switch (code >> 11) {
    case 0x09: /* literal */
        return cortex_a_found(a, cortex_a_reg(r, 15) + 4 * cortex_a_bits(code, 0, 8), 4, true);
    case 0x0a:
    case 0x0b:
        return cortex_a_found(a, base + r[cortex_a_bits(code, 6, 3)], sizes[op], op >= 3);
    case 0x0c:
    case 0x0d:
        return cortex_a_found(a, base + 4 * n, 4, load);
    case 0x0e:
    case 0x0f:
        return cortex_a_found(a, base + n, 1, load);
    case 0x10:
    case 0x11:
        return cortex_a_found(a, base + 2 * n, 2, load);
    case 0x12:
    case 0x13:
        return cortex_a_found(a, r[13] + 4 * cortex_a_bits(code, 0, 8), 4, load);
    case 0x16:
    case 0x17:
        if ((code & 0x600) != 0x400)
            return false;
        return cortex_a_several(a, r[13], cortex_a_ones(code & 0x1ff), load, !load, load);
    case 0x18:
    case 0x19:
        return cortex_a_several(a, r[cortex_a_bits(code, 8, 3)], cortex_a_ones(code & 0xff), true,
                                false, load);
    default:
        return false;
    }
}

/* Single ones: the size in 22:21, immediates of 12 and 8 bits, or a register. */
static bool thumb_single(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    unsigned n = cortex_a_bits(code, 16, 4);
    uint32_t base = cortex_a_reg(r, n), size = 1u << cortex_a_bits(code, 21, 2),
             imm8 = cortex_a_bits(code, 0, 8);
    bool load = (code & LOAD_BIT) != 0;
    if (n == 15)
        return cortex_a_found(a,
                              (code & UP_BIT) != 0 ? base + cortex_a_bits(code, 0, 12)
                                                   : base - cortex_a_bits(code, 0, 12),
                              size, load);
    if ((code & UP_BIT) != 0)
        return cortex_a_found(a, base + cortex_a_bits(code, 0, 12), size, load);
    if ((code & 0x800) == 0)
        return cortex_a_found(
            a, base + (cortex_a_reg(r, cortex_a_bits(code, 0, 4)) << cortex_a_bits(code, 4, 2)),
            size, load);
    if ((code & 0x400) == 0)
        return cortex_a_found(a, base, size, load);
    return cortex_a_found(a, (code & 0x200) != 0 ? base + imm8 : base - imm8, size, load);
}

/* Two registers, and the exclusive ones. */
static bool thumb_dual(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    static const uint8_t sizes[] = {1, 2, 4, 8};
    uint32_t base = cortex_a_reg(r, cortex_a_bits(code, 16, 4)),
             offset = 4 * cortex_a_bits(code, 0, 8);
    bool load = (code & LOAD_BIT) != 0;
    if (cortex_a_bits(code, 21, 4) == 2) /* P and W are 0, U is 0: LDREX, STREX */
        return cortex_a_found(a, base + offset, 4, load);
    if (cortex_a_bits(code, 21, 4) == 6)
        return cortex_a_bits(code, 6, 2) == 1 &&
               cortex_a_found(a, base, sizes[cortex_a_bits(code, 4, 2)], load);
    if ((code & INDEX_BIT) == 0)
        offset = 0;
    return cortex_a_found(a, (code & UP_BIT) != 0 ? base + offset : base - offset, 8, load);
}

static bool cortex_a_thumb32(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    bool load = (code & LOAD_BIT) != 0;
    if (code >> 25 == 0x7c && cortex_a_bits(code, 21, 2) != 3)
        return thumb_single(code, r, a);
    if (code >> 25 == 0x74 && (code & 1u << 22) != 0)
        return thumb_dual(code, r, a);
    if (code >> 25 == 0x74 && cortex_a_bits(code, 23, 2) != 0 && cortex_a_bits(code, 23, 2) != 3)
        return cortex_a_several(a, cortex_a_reg(r, cortex_a_bits(code, 16, 4)),
                                cortex_a_ones(code & 0xffff), (code & UP_BIT) != 0,
                                (code & INDEX_BIT) != 0, load);
    return code >> 25 == 0x76 && cortex_a_coprocessor(code, r, a);
}

/*
 * `code`: an ARM instruction; or a Thumb one, its first halfword in the upper half if it has two,
 * else in the lower half. `regs`: r0 to r15 and CPSR before it is executed, r15 its address. False:
 * it is no access, or of a kind that is not known here.
 */
static bool cortex_a_find_access(uint32_t code, const uint32_t *regs,
                                 struct cortex_a_access *access)
{
    if ((regs[CPSR] & CPSR_T) == 0)
        return code >> 28 != 15 && cortex_a_arm(code, regs, access);
    return code >> 16 != 0 ? cortex_a_thumb32(code, regs, access)
                           : cortex_a_thumb16(code, regs, access);
}

#define CONTROL_ON       0x7u /* enabled, in any mode */
#define CONTROL_BAS      5u
#define CONTROL_LOAD     (1u << 3)
#define CONTROL_STORE    (2u << 3)
#define CONTROL_MISMATCH (4u << 20)
#define CONTROL_MASK     24u
#define MASK_MIN         3u /* log2 of the smallest range that is masked */
#define MASK_MAX         31u

/* Which halves of the word a breakpoint is about. */
static uint32_t cortex_a_halves(uint32_t address, bool thumb)
{
    return !thumb ? 0xfu : (address & 2) != 0 ? 0xcu : 0x3u;
}

static uint32_t breakpoint_control(uint32_t address, bool thumb)
{
    return cortex_a_halves(address, thumb) << CONTROL_BAS | CONTROL_ON;
}

static int put_breakpoint(struct cortex_a *core, unsigned k, uint32_t value, uint32_t control)
{
    int error = cortex_a_poke(core, DBG_BCR + 4 * k, 0);
    if (error == 0 && control != 0)
        error = cortex_a_poke(core, DBG_BVR + 4 * k, value);
    return error == 0 && control != 0 ? cortex_a_poke(core, DBG_BCR + 4 * k, control) : error;
}

static int put_watchpoint(struct cortex_a *core, unsigned k, uint32_t value, uint32_t control)
{
    int error = cortex_a_poke(core, DBG_WCR + 4 * k, 0);
    if (error == 0 && control != 0)
        error = cortex_a_poke(core, DBG_WVR + 4 * k, value);
    return error == 0 && control != 0 ? cortex_a_poke(core, DBG_WCR + 4 * k, control) : error;
}

int cortex_a_restore_breakpoints(struct cortex_a *core)
{
    int error = 0;
    for (unsigned k = 0; k < core->breakpoint_count && error == 0; k++)
        error = put_breakpoint(core, k, core->breakpoints[k].value, core->breakpoints[k].control);
    for (unsigned k = 0; k < core->watchpoint_count && error == 0; k++)
        error = put_watchpoint(core, k, core->watchpoints[k].value, core->watchpoints[k].control);
    return error;
}

int cortex_a_clear_breakpoints(struct cortex_a *core)
{
    memset(core->breakpoints, 0, sizeof core->breakpoints);
    memset(core->watchpoints, 0, sizeof core->watchpoints);
    return cortex_a_restore_breakpoints(core);
}

static struct cortex_a_comparator *find_breakpoint(struct cortex_a *core, uint32_t address)
{
    for (unsigned k = 0; k < core->breakpoint_count; k++) {
        if (core->breakpoints[k].control != 0 && core->breakpoints[k].address == address)
            return &core->breakpoints[k];
    }
    return NULL;
}

bool cortex_a_breakpoint_at(const struct cortex_a *core, uint32_t address)
{
    for (unsigned k = 0; k < core->breakpoint_count; k++) {
        if (core->breakpoints[k].control != 0 && core->breakpoints[k].address == address)
            return true;
    }
    return cortex_a_software_at(core, address);
}

static int insert_hardware(struct cortex_a *core, uint32_t address, unsigned length)
{
    unsigned k = 0;
    if (find_breakpoint(core, address))
        return 0;
    while (k < core->breakpoint_count && core->breakpoints[k].control != 0)
        k++;
    if (k == core->breakpoint_count)
        return cortex_a_fail(core, CORTEX_A_FAIL_FULL, address, BT_ERR_RANGE);
    uint32_t control = breakpoint_control(address, length == 2);
    int error = put_breakpoint(core, k, address & ~3u, control);
    if (error == 0)
        core->breakpoints[k] = (struct cortex_a_comparator){
            .value = address & ~3u, .control = control, .address = address, .length = length};
    return error;
}

static int remove_hardware(struct cortex_a *core, uint32_t address)
{
    struct cortex_a_comparator *c = find_breakpoint(core, address);
    if (!c)
        return BT_ERR_RANGE;
    int error = put_breakpoint(core, (unsigned)(c - core->breakpoints), 0, 0);
    if (error == 0)
        c->control = 0;
    return error;
}

int cortex_a_lift(struct cortex_a *core, uint32_t address, bool away)
{
    const struct cortex_a_comparator *c = find_breakpoint(core, address);
    int error = cortex_a_lift_software(core, address, away);
    if (error == 0 && c)
        error = put_breakpoint(core, (unsigned)(c - core->breakpoints), c->value,
                               away ? 0 : c->control);
    return error;
}

/* The first comparator is lent for the step: it ends before any of the others could matter. */
int cortex_a_arm_step(struct cortex_a *core, uint32_t pc, bool thumb)
{
    return put_breakpoint(core, 0, pc & ~3u, breakpoint_control(pc, thumb) | CONTROL_MISMATCH);
}

int cortex_a_disarm_step(struct cortex_a *core)
{
    return put_breakpoint(core, 0, core->breakpoints[0].value, core->breakpoints[0].control);
}

/* Bytes of one word by their lanes, more by a mask of the address. Returns how many bytes of the
 * range this comparator takes. */
static uint32_t take_piece(uint32_t address, uint32_t length, struct cortex_a_comparator *c)
{
    uint32_t lanes = address & 3, size = 4 - lanes < length ? 4 - lanes : length;
    unsigned log2 = MASK_MIN;
    c->value = address & ~3u;
    c->control = ((1u << size) - 1) << lanes << CONTROL_BAS;
    if (length < 1u << MASK_MIN || (address & ((1u << MASK_MIN) - 1)) != 0)
        return size;
    while (log2 < MASK_MAX && length >> (log2 + 1) != 0 && (address >> log2 & 1) == 0)
        log2++;
    c->control = log2 << CONTROL_MASK | 0xfu << CONTROL_BAS;
    return 1u << log2;
}

static uint32_t access_bits(enum target_breakpoint_type kind)
{
    return kind == TARGET_WATCHPOINT_READ    ? CONTROL_LOAD
           : kind == TARGET_WATCHPOINT_WRITE ? CONTROL_STORE
                                             : CONTROL_LOAD | CONTROL_STORE;
}

/* The next comparator of a watchpoint, from number `k` on. */
static unsigned find_watch(const struct cortex_a *core, unsigned k,
                           enum target_breakpoint_type kind, uint32_t address, uint32_t length)
{
    for (; k < core->watchpoint_count; k++) {
        const struct cortex_a_comparator *c = &core->watchpoints[k];
        if (c->control != 0 && c->kind == kind && c->address == address && c->length == length)
            break;
    }
    return k;
}

static int remove_watch(struct cortex_a *core, enum target_breakpoint_type kind, uint32_t address,
                        uint32_t length)
{
    unsigned k = find_watch(core, 0, kind, address, length);
    int error = k < core->watchpoint_count ? 0 : BT_ERR_RANGE;
    for (; k < core->watchpoint_count && error == 0;
         k = find_watch(core, k + 1, kind, address, length)) {
        error = put_watchpoint(core, k, 0, 0);
        if (error == 0)
            core->watchpoints[k].control = 0;
    }
    return error;
}

/* Several comparators where the range is neither within a word nor an aligned power of two. */
static int insert_watch(struct cortex_a *core, enum target_breakpoint_type kind, uint32_t address,
                        uint32_t length)
{
    uint32_t done = 0;
    int error = 0;
    if (length == 0 || length - 1 > UINT32_MAX - address)
        return BT_ERR_INVAL;
    if (find_watch(core, 0, kind, address, length) < core->watchpoint_count)
        return 0;
    while (done < length && error == 0) {
        struct cortex_a_comparator c = {
            .kind = (uint8_t)kind, .address = address, .length = length};
        unsigned k = 0;
        done += take_piece(address + done, length - done, &c);
        c.control |= access_bits(kind) | CONTROL_ON;
        while (k < core->watchpoint_count && core->watchpoints[k].control != 0)
            k++;
        if (k == core->watchpoint_count)
            error = cortex_a_fail(core, CORTEX_A_FAIL_FULL, address, BT_ERR_RANGE);
        else
            error = put_watchpoint(core, k, c.value, c.control);
        if (error == 0)
            core->watchpoints[k] = c;
    }
    if (error == BT_ERR_RANGE)
        (void)remove_watch(core, kind, address, length);
    return error;
}

/* Which watchpoint it was. */

/* Comparators in use that are not part of the same watchpoint as the first of them. */
static bool cortex_a_several_slots(const struct cortex_a *core)
{
    const struct cortex_a_comparator *first = NULL;
    bool more = false;
    for (unsigned k = 0; k < core->watchpoint_count; k++) {
        const struct cortex_a_comparator *c = &core->watchpoints[k];
        if (c->control == 0)
            continue;
        first = first ? first : c;
        more |=
            c->address != first->address || c->length != first->length || c->kind != first->kind;
    }
    return more;
}

static size_t cortex_a_noted(const struct cortex_a_comparator *c)
{
    return c->length < sizeof c->before ? c->length : sizeof c->before;
}

/* With one there is no question. */
int cortex_a_note_watched(struct cortex_a *core)
{
    bool wanted = cortex_a_several_slots(core);
    for (unsigned k = 0; k < core->watchpoint_count; k++) {
        struct cortex_a_comparator *c = &core->watchpoints[k];
        c->before_known = false;
        if (!wanted || c->control == 0)
            continue;
        int error = cortex_a_read_memory(core, c->address, c->before, cortex_a_noted(c));
        if (error != 0 && core->failure != CORTEX_A_FAIL_ABORT)
            return error;
        c->before_known = error == 0;
    }
    return 0;
}

static bool has_changed(struct cortex_a *core, const struct cortex_a_comparator *c)
{
    uint8_t now[sizeof c->before];
    return c->before_known && cortex_a_read_memory(core, c->address, now, cortex_a_noted(c)) == 0 &&
           memcmp(now, c->before, cortex_a_noted(c)) != 0;
}

/* The instruction at the PC, where the access is still to come. */
static bool next_access(struct cortex_a *core, struct cortex_a_access *access)
{
    uint8_t b[4] = {0};
    uint32_t pc = core->values[CORTEX_A_PC];
    if (cortex_a_read_memory(core, pc, b, 4) != 0 && cortex_a_read_memory(core, pc, b, 2) != 0)
        return false;
    uint32_t code = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    if (cortex_a_thumb(core))
        code = (code & 0xf800) >= 0xe800 ? code << 16 | code >> 16 : code & 0xffff;
    return cortex_a_find_access(code, core->values, access);
}

static bool is_accessed(const struct cortex_a_comparator *c, const struct cortex_a_access *access)
{
    bool kind = c->kind == TARGET_WATCHPOINT_READ    ? access->load
                : c->kind == TARGET_WATCHPOINT_WRITE ? access->store
                                                     : true;
    return kind && (access->address - c->address < c->length ||
                    c->address - access->address < access->length);
}

/* What is accessed next goes before what has changed: that may be another core's doing. */
int cortex_a_find_watch(struct cortex_a *core)
{
    const struct cortex_a_comparator *found = NULL;
    struct cortex_a_access access;
    bool one = !cortex_a_several_slots(core);
    bool ahead = !one && next_access(core, &access);
    for (unsigned k = 0; k < 2 * core->watchpoint_count && !found; k++) {
        const struct cortex_a_comparator *c = &core->watchpoints[k % core->watchpoint_count];
        bool first = k < core->watchpoint_count;
        if (c->control == 0)
            continue;
        if (one || (first ? ahead && is_accessed(c, &access) : has_changed(core, c)))
            found = c;
    }
    if (!found)
        return 0;
    core->last.reason = target_watch_reason((enum target_breakpoint_type)found->kind);
    core->last.watch_address = found->address;
    core->last.watch_length = found->length;
    return 0;
}

int cortex_a_insert(struct cortex_a *core, enum target_breakpoint_type kind, uint32_t address,
                    uint32_t length)
{
    if (kind > TARGET_WATCHPOINT_ACCESS)
        return BT_ERR_INVAL;
    if (kind >= TARGET_WATCHPOINT_WRITE)
        return insert_watch(core, kind, address, length);
    unsigned size = length == 4 ? 4 : 2;
    if (address % size != 0 || length < 2 || length > 4)
        return BT_ERR_INVAL;
    return kind == TARGET_BREAKPOINT_SOFTWARE ? cortex_a_insert_software(core, address, size)
                                              : insert_hardware(core, address, size);
}

int cortex_a_remove(struct cortex_a *core, enum target_breakpoint_type kind, uint32_t address,
                    uint32_t length)
{
    if (kind == TARGET_BREAKPOINT_SOFTWARE)
        return cortex_a_remove_software(core, address);
    if (kind == TARGET_BREAKPOINT_HARDWARE)
        return remove_hardware(core, address);
    return remove_watch(core, kind, address, length);
}
