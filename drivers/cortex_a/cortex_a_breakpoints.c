/* SPDX-License-Identifier: BSD-3-Clause */
/* Breakpoint and watchpoint comparators. DDI 0406C.d chapter C11. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cortex_a_internal.h"
#include "decoder/base/bytes.h"

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
    uint32_t code = bytes_word(b);
    if (cortex_a_thumb(core))
        code = (code & 0xf800) >= 0xe800 ? code << 16 | code >> 16 : code & 0xffff;
    return core->find_access && core->find_access(code, core->values, access);
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
