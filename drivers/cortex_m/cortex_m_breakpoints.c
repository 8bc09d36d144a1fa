/* SPDX-License-Identifier: BSD-3-Clause */
/* Breakpoint unit (FPB) and watchpoint unit (DWT). */
#include <string.h>

#include "drivers/cortex_m/cortex_m.h"

#include "cortex_m_internal.h"

#define FP_CTRL        0xe0002000u
#define FP_COMP        0xe0002008u
#define FP_KEY         0x2u
#define FP_KEY_ENABLE  0x3u
#define FP_ADDRESS_V1  0x1ffffffcu
#define FP_UPPER_V1    0x20000000u /* the first address out of reach */
#define DWT_CTRL       0xe0001000u
#define DWT_COMP       0xe0001020u
#define DWT_DEVARCH    0xe0001fbcu
#define DWT_STEP       16u
#define DWT_MASK       4u
#define DWT_FUNCTION   8u
#define MASK_ALL       0x1fu
#define FUNCTION_MASK  0xfu
#define MATCHED        0x01000000u
#define ACTION_MASK_V8 0x30u
#define ACTION_HALT_V8 0x10u
#define SIZE_SHIFT_V8  10
#define MAX_SIZE_V8    2u /* log2: a word */
#define DEVARCH_V2     0x00101a02u
#define DEVARCH_MASK   0x0010ffffu

static uint32_t cortex_m_dwt(unsigned k, unsigned reg)
{
    return DWT_COMP + DWT_STEP * k + reg;
}

static int find_breakpoints(struct cortex_m *core)
{
    uint32_t ctrl;
    int error = cortex_m_peek(core, FP_CTRL, &ctrl);
    if (error != 0)
        return error;
    unsigned count = (ctrl >> 8 & 0x70) | (ctrl >> 4 & 0xf);
    core->breakpoint_version = (ctrl >> 28) + 1;
    core->breakpoint_count = count < CORTEX_M_BREAKPOINTS ? count : CORTEX_M_BREAKPOINTS;
    return 0;
}

/* A comparator that would halt the core, left on by somebody; others may belong to trace. */
static int stop_comparator(struct cortex_m *core, unsigned k)
{
    uint32_t function;
    int error = cortex_m_peek(core, cortex_m_dwt(k, DWT_FUNCTION), &function);
    bool halts =
        core->watchpoint_v8
            ? (function & FUNCTION_MASK) != 0 && (function & ACTION_MASK_V8) == ACTION_HALT_V8
            : (function & FUNCTION_MASK) >= 4 && (function & FUNCTION_MASK) <= 7;
    return error == 0 && halts ? cortex_m_poke(core, cortex_m_dwt(k, DWT_FUNCTION), 0) : error;
}

/* How many address bits a comparator can leave out. */
static int find_mask(struct cortex_m *core)
{
    uint32_t before;
    uint32_t mask = 0;
    core->watchpoint_size = 1u << MAX_SIZE_V8;
    if (core->watchpoint_v8 || core->watchpoint_count == 0)
        return 0;
    int error = cortex_m_peek(core, cortex_m_dwt(0, DWT_MASK), &before);
    if (error == 0)
        error = cortex_m_poke(core, cortex_m_dwt(0, DWT_MASK), MASK_ALL);
    if (error == 0)
        error = cortex_m_peek(core, cortex_m_dwt(0, DWT_MASK), &mask);
    if (error == 0)
        error = cortex_m_poke(core, cortex_m_dwt(0, DWT_MASK), before);
    core->watchpoint_size = 1u << (mask & MASK_ALL);
    return error;
}

int cortex_m_find_units(struct cortex_m *core)
{
    uint32_t ctrl = 0;
    uint32_t devarch = 0;
    int error = find_breakpoints(core);
    if (error == 0)
        error = cortex_m_peek(core, DWT_CTRL, &ctrl);
    if (error == 0 && core->arch >= CORTEX_M_V8M_BASE)
        error = cortex_m_peek(core, DWT_DEVARCH, &devarch);
    core->watchpoint_count = ctrl >> 28;
    core->watchpoint_v8 = (devarch & DEVARCH_MASK) == DEVARCH_V2;
    for (unsigned k = 0; error == 0 && k < core->watchpoint_count; k++)
        error = stop_comparator(core, k);
    return error == 0 ? find_mask(core) : error;
}

static uint32_t comparator_value(const struct cortex_m *core, const struct cortex_m_comparator *c)
{
    if (c->halves == 0)
        return 0;
    if (core->breakpoint_version > 1)
        return c->address | 1;
    return (c->address & FP_ADDRESS_V1) | (uint32_t)c->halves << 30 | 1;
}

static int write_comparator(struct cortex_m *core, unsigned k)
{
    return cortex_m_poke(core, FP_COMP + 4 * k, comparator_value(core, &core->breakpoints[k]));
}

/* The address as a comparator has it, and which half of it. */
static struct cortex_m_comparator cortex_m_coded(const struct cortex_m *core, uint32_t address)
{
    if (core->breakpoint_version > 1)
        return (struct cortex_m_comparator){.address = address & ~1u, .halves = 1};
    return (struct cortex_m_comparator){.address = address & ~3u,
                                        .halves = (address & 2) != 0 ? 2 : 1};
}

static struct cortex_m_comparator *find_comparator(struct cortex_m *core, uint32_t address)
{
    for (unsigned k = 0; k < core->breakpoint_count; k++) {
        if (core->breakpoints[k].halves != 0 && core->breakpoints[k].address == address)
            return &core->breakpoints[k];
    }
    return NULL;
}

static struct cortex_m_comparator *free_comparator(struct cortex_m *core)
{
    for (unsigned k = 0; k < core->breakpoint_count; k++) {
        if (core->breakpoints[k].halves == 0)
            return &core->breakpoints[k];
    }
    return NULL;
}

static int cortex_m_insert_hardware(struct cortex_m *core, uint32_t address)
{
    struct cortex_m_comparator want = cortex_m_coded(core, address);
    if (core->breakpoint_version == 1 && address >= FP_UPPER_V1)
        return cortex_m_fail(core, CORTEX_M_FAIL_UPPER, address, BT_ERR_UNSUPPORTED);
    struct cortex_m_comparator *c = find_comparator(core, want.address);
    if (!c)
        c = free_comparator(core);
    if (!c)
        return cortex_m_fail(core, CORTEX_M_FAIL_FULL, address, BT_ERR_RANGE);
    struct cortex_m_comparator before = *c;
    c->address = want.address;
    c->halves |= want.halves;
    int error = write_comparator(core, (unsigned)(c - core->breakpoints));
    if (error != 0)
        *c = before;
    return error;
}

static int cortex_m_remove_hardware(struct cortex_m *core, uint32_t address)
{
    struct cortex_m_comparator want = cortex_m_coded(core, address);
    struct cortex_m_comparator *c = find_comparator(core, want.address);
    if (!c || (c->halves & want.halves) == 0)
        return BT_ERR_RANGE;
    c->halves &= (uint8_t)~want.halves;
    int error = write_comparator(core, (unsigned)(c - core->breakpoints));
    if (error != 0)
        c->halves |= want.halves;
    return error;
}

static int cortex_m_enable_units(struct cortex_m *core, bool on)
{
    if (core->breakpoint_count == 0)
        return 0;
    return cortex_m_poke(core, FP_CTRL, on ? FP_KEY_ENABLE : FP_KEY);
}

static bool cortex_m_hardware_at(const struct cortex_m *core, uint32_t address)
{
    struct cortex_m_comparator want = cortex_m_coded(core, address);
    for (unsigned k = 0; k < core->breakpoint_count; k++) {
        if (core->breakpoints[k].address == want.address &&
            (core->breakpoints[k].halves & want.halves) != 0)
            return true;
    }
    return false;
}

static uint32_t function_value(const struct cortex_m *core, const struct cortex_m_watch *w)
{
    static const uint8_t V7[] = {[TARGET_WATCHPOINT_WRITE] = 6,
                                 [TARGET_WATCHPOINT_READ] = 5,
                                 [TARGET_WATCHPOINT_ACCESS] = 7};
    static const uint8_t V8[] = {[TARGET_WATCHPOINT_WRITE] = 5,
                                 [TARGET_WATCHPOINT_READ] = 6,
                                 [TARGET_WATCHPOINT_ACCESS] = 4};
    if (core->watchpoint_v8)
        return V8[w->kind] | ACTION_HALT_V8 | (uint32_t)w->size << SIZE_SHIFT_V8;
    return V7[w->kind];
}

static int write_watch(struct cortex_m *core, unsigned k)
{
    const struct cortex_m_watch *w = &core->watchpoints[k];
    int error = cortex_m_poke(core, cortex_m_dwt(k, DWT_FUNCTION), 0);
    if (!w->used || error != 0)
        return error;
    error = cortex_m_poke(core, cortex_m_dwt(k, 0), w->at);
    if (error == 0 && !core->watchpoint_v8)
        error = cortex_m_poke(core, cortex_m_dwt(k, DWT_MASK), w->size);
    return error == 0 ? cortex_m_poke(core, cortex_m_dwt(k, DWT_FUNCTION), function_value(core, w))
                      : error;
}

/* The largest piece from `at` on that one comparator watches: its size, log2. */
static uint8_t cortex_m_piece(const struct cortex_m *core, uint32_t at, uint32_t left)
{
    uint8_t size = 0;
    while (size < 31 && 2u << size <= core->watchpoint_size && 2u << size <= left &&
           at % (2u << size) == 0)
        size++;
    return size;
}

/* A comparator that neither we nor somebody's trace set-up uses, from `from` on; or count. */
static int free_watch(struct cortex_m *core, unsigned from, unsigned *found)
{
    uint32_t function = 0;
    int error = 0;
    for (*found = from; error == 0 && *found < core->watchpoint_count; ++*found) {
        if (core->watchpoints[*found].used)
            continue;
        error = cortex_m_peek(core, cortex_m_dwt(*found, DWT_FUNCTION), &function);
        if (error == 0 && (function & FUNCTION_MASK) == 0)
            break;
    }
    return error;
}

static bool is_watch(const struct cortex_m_watch *w, enum target_breakpoint_type kind,
                     uint32_t address, uint32_t length)
{
    return w->used && w->kind == kind && w->address == address && w->length == length;
}

static int cortex_m_remove_watch(struct cortex_m *core, enum target_breakpoint_type kind,
                                 uint32_t address, uint32_t length)
{
    int error = BT_ERR_RANGE;
    int first = 0;
    for (unsigned k = 0; k < core->watchpoint_count; k++) {
        struct cortex_m_watch *w = &core->watchpoints[k];
        if (!is_watch(w, kind, address, length))
            continue;
        w->used = false;
        error = write_watch(core, k);
        w->used = error != 0;
        if (first == 0)
            first = error;
    }
    return first != 0 ? first : error;
}

/* All comparators for breakpoints on or off. */
static int cortex_m_insert_watch(struct cortex_m *core, enum target_breakpoint_type kind,
                                 uint32_t address, uint32_t length)
{
    unsigned k = 0;
    int error = 0;
    if (length == 0 || length - 1 > UINT32_MAX - address)
        return BT_ERR_INVAL;
    for (unsigned n = 0; n < core->watchpoint_count; n++) {
        if (is_watch(&core->watchpoints[n], kind, address, length))
            return 0;
    }
    for (uint32_t done = 0; error == 0 && done < length; k++) {
        uint8_t size = cortex_m_piece(core, address + done, length - done);
        error = free_watch(core, k, &k);
        if (error == 0 && k >= core->watchpoint_count)
            error = cortex_m_fail(core, CORTEX_M_FAIL_FULL, address, BT_ERR_RANGE);
        if (error != 0)
            break;
        core->watchpoints[k] = (struct cortex_m_watch){.used = true,
                                                       .size = size,
                                                       .kind = (uint8_t)kind,
                                                       .at = address + done,
                                                       .address = address,
                                                       .length = length};
        error = write_watch(core, k);
        done += 1u << size;
    }
    if (error != 0)
        (void)cortex_m_remove_watch(core, kind, address, length);
    return error;
}

int cortex_m_find_watch(struct cortex_m *core)
{
    int error = 0;
    for (unsigned k = 0; error == 0 && k < core->watchpoint_count; k++) {
        const struct cortex_m_watch *w = &core->watchpoints[k];
        uint32_t function = 0;
        if (!w->used)
            continue;
        error = cortex_m_peek(core, cortex_m_dwt(k, DWT_FUNCTION), &function); /* clears MATCHED */
        if (error != 0 || (function & MATCHED) == 0 || core->last.watch_length != 0)
            continue;
        core->last.reason = target_watch_reason((enum target_breakpoint_type)w->kind);
        core->last.watch_address = w->address;
        core->last.watch_length = w->length;
    }
    return error;
}

int cortex_m_restore(struct cortex_m *core)
{
    int error = cortex_m_write_demcr(core, 0);
    for (unsigned k = 0; error == 0 && k < core->breakpoint_count; k++)
        error = write_comparator(core, k);
    if (error == 0)
        error = cortex_m_enable_units(core, true);
    for (unsigned k = 0; error == 0 && k < core->watchpoint_count; k++) {
        if (core->watchpoints[k].used)
            error = write_watch(core, k);
    }
    return error;
}

int cortex_m_clear_units(struct cortex_m *core)
{
    int first = 0;
    for (unsigned k = 0; k < core->breakpoint_count; k++) {
        core->breakpoints[k].halves = 0;
        int error = write_comparator(core, k);
        first = first != 0 ? first : error;
    }
    for (unsigned k = 0; k < core->watchpoint_count; k++) {
        if (!core->watchpoints[k].used)
            continue;
        core->watchpoints[k].used = false;
        int error = write_watch(core, k);
        first = first != 0 ? first : error;
    }
    return first;
}

#define SCS_ICIALLU 0xe000ef50u

static const uint8_t BKPT[2] = {0x00, 0xbe};

/* Memory as the program has it. */

/* Instructions that were cached are fetched again. */
static int memory_changed(struct cortex_m *core)
{
    return core->instruction_cache ? cortex_m_poke(core, SCS_ICIALLU, 0) : 0;
}

static void show_original(const struct cortex_m *core, uint32_t address, uint8_t *bytes,
                          size_t length)
{
    for (unsigned k = 0; k < core->software_count; k++) {
        for (unsigned b = 0; b < 2; b++) {
            uint32_t at = core->software[k].address + b - address;
            if (at < length)
                bytes[at] = core->software[k].original[b];
        }
    }
}

/* Is there a software breakpoint in the range? Then its original bytes are those of `bytes`. */
static bool keep_original(struct cortex_m *core, uint32_t address, const uint8_t *bytes,
                          size_t length)
{
    bool any = false;
    for (unsigned k = 0; k < core->software_count; k++) {
        for (unsigned b = 0; b < 2; b++) {
            uint32_t at = core->software[k].address + b - address;
            if (at < length) {
                core->software[k].original[b] = bytes[at];
                any = true;
            }
        }
    }
    return any;
}

static int put_bkpt(struct cortex_m *core, uint32_t address)
{
    return cortex_m_port(core, mem_ap_write(core->ap, address, BKPT, sizeof BKPT));
}

int cortex_m_read_memory(struct cortex_m *core, uint32_t address, uint8_t *bytes, size_t length)
{
    int error = cortex_m_port(core, mem_ap_read(core->ap, address, bytes, length));
    if (error == 0)
        show_original(core, address, bytes, length);
    return error;
}

int cortex_m_read_sized(struct cortex_m *core, uint32_t address, unsigned size, uint8_t *bytes,
                        size_t count)
{
    int error = cortex_m_port(core, mem_ap_read_sized(core->ap, address, size, bytes, count));
    if (error == 0)
        show_original(core, address, bytes, size * count);
    return error;
}

/* Behind a write: the breakpoints in its range are put back. */
static int cortex_m_written(struct cortex_m *core, uint32_t address, const uint8_t *bytes,
                            size_t length)
{
    int error = 0;
    if (keep_original(core, address, bytes, length)) {
        for (unsigned k = 0; error == 0 && k < core->software_count; k++) {
            uint32_t at = core->software[k].address;
            if (at - address < length || at + 1 - address < length)
                error = put_bkpt(core, at);
        }
    }
    int flushed = memory_changed(core);
    return error != 0 ? error : flushed;
}

int cortex_m_write_memory(struct cortex_m *core, uint32_t address, const uint8_t *bytes,
                          size_t length)
{
    int error = cortex_m_port(core, mem_ap_write(core->ap, address, bytes, length));
    return error == 0 ? cortex_m_written(core, address, bytes, length) : error;
}

int cortex_m_write_sized(struct cortex_m *core, uint32_t address, unsigned size,
                         const uint8_t *bytes, size_t count)
{
    int error = cortex_m_port(core, mem_ap_write_sized(core->ap, address, size, bytes, count));
    return error == 0 ? cortex_m_written(core, address, bytes, size * count) : error;
}

/* Software breakpoints. */

static const struct cortex_m_software *find_software(const struct cortex_m *core, uint32_t address)
{
    for (unsigned k = 0; k < core->software_count; k++) {
        if (core->software[k].address == address)
            return &core->software[k];
    }
    return NULL;
}

bool cortex_m_software_at(const struct cortex_m *core, uint32_t address)
{
    return find_software(core, address) != NULL;
}

static int insert_software(struct cortex_m *core, uint32_t address)
{
    struct cortex_m_software breakpoint = {.address = address};
    uint8_t now[2] = {0};
    if (find_software(core, address))
        return 0;
    if (core->software_count == CORTEX_M_SOFTWARE)
        return cortex_m_fail(core, CORTEX_M_FAIL_FULL, address, BT_ERR_RANGE);
    int error = cortex_m_port(core, mem_ap_read(core->ap, address, breakpoint.original, 2));
    if (error != 0)
        return error;
    error = put_bkpt(core, address);
    if (error == 0)
        error = cortex_m_port(core, mem_ap_read(core->ap, address, now, 2));
    bool refused = error == BT_ERR_IO && core->ap->dp->failure == DEBUG_FAIL_FAULT;
    if (refused || (error == 0 && memcmp(now, BKPT, 2) != 0))
        return cortex_m_fail(core, CORTEX_M_FAIL_NOT_RAM, address, BT_ERR_UNSUPPORTED);
    if (error == 0)
        error = memory_changed(core);
    /* Where it is not known whether the write got through, the list keeps the original. */
    core->software[core->software_count++] = breakpoint;
    return error;
}

static int remove_software(struct cortex_m *core, uint32_t address)
{
    uint8_t now[2];
    const struct cortex_m_software *breakpoint = find_software(core, address);
    if (!breakpoint)
        return BT_ERR_RANGE;
    int error = cortex_m_port(core, mem_ap_read(core->ap, address, now, 2));
    /* A program that was loaded anew, by itself or by a reset, is not damaged. */
    if (error == 0 && memcmp(now, BKPT, 2) == 0)
        error = cortex_m_port(core, mem_ap_write(core->ap, address, breakpoint->original, 2));
    if (error == 0)
        error = memory_changed(core);
    if (error == 0)
        core->software[breakpoint - core->software] = core->software[--core->software_count];
    return error;
}

int cortex_m_insert(struct cortex_m *core, enum target_breakpoint_type kind, uint32_t address,
                    uint32_t length)
{
    if (kind > TARGET_BREAKPOINT_HARDWARE)
        return kind <= TARGET_WATCHPOINT_ACCESS ? cortex_m_insert_watch(core, kind, address, length)
                                                : BT_ERR_INVAL;
    if (address % 2 != 0)
        return BT_ERR_INVAL;
    return kind == TARGET_BREAKPOINT_SOFTWARE ? insert_software(core, address)
                                              : cortex_m_insert_hardware(core, address);
}

int cortex_m_remove(struct cortex_m *core, enum target_breakpoint_type kind, uint32_t address,
                    uint32_t length)
{
    if (kind == TARGET_BREAKPOINT_SOFTWARE)
        return remove_software(core, address);
    if (kind == TARGET_BREAKPOINT_HARDWARE)
        return cortex_m_remove_hardware(core, address);
    return cortex_m_remove_watch(core, kind, address, length);
}

bool cortex_m_breakpoint_at(const struct cortex_m *core, uint32_t address)
{
    return cortex_m_software_at(core, address) || cortex_m_hardware_at(core, address);
}

/* The lists stay as they are. */
int cortex_m_lift(struct cortex_m *core, uint32_t address, bool away)
{
    const struct cortex_m_software *breakpoint = find_software(core, address);
    int error = 0;
    if (away) {
        core->lifted = true;
        core->lifted_at = address;
    }
    if (!away || cortex_m_hardware_at(core, address))
        error = cortex_m_enable_units(core, !away);
    if (breakpoint && error == 0)
        error = away ? cortex_m_port(core, mem_ap_write(core->ap, address, breakpoint->original, 2))
                     : put_bkpt(core, address);
    if (breakpoint && error == 0)
        error = memory_changed(core);
    if (!away && error == 0)
        core->lifted = false;
    return error;
}
