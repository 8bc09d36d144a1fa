/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a Cortex-M, and the software breakpoints in it. */
#include <string.h>

#include "cortex_m_breakpoints.h"
#include "cortex_m_internal.h"

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
    int rc = cortex_m_port(core, mem_ap_read(core->ap, address, bytes, length));
    if (rc == 0)
        show_original(core, address, bytes, length);
    return rc;
}

int cortex_m_read_sized(struct cortex_m *core, uint32_t address, unsigned size, uint8_t *bytes,
                        size_t count)
{
    int rc = cortex_m_port(core, mem_ap_read_sized(core->ap, address, size, bytes, count));
    if (rc == 0)
        show_original(core, address, bytes, size * count);
    return rc;
}

/* Behind a write: the breakpoints in its range are put back. */
static int cortex_m_written(struct cortex_m *core, uint32_t address, const uint8_t *bytes, size_t length)
{
    int rc = 0;
    if (keep_original(core, address, bytes, length)) {
        for (unsigned k = 0; rc == 0 && k < core->software_count; k++) {
            uint32_t at = core->software[k].address;
            if (at - address < length || at + 1 - address < length)
                rc = put_bkpt(core, at);
        }
    }
    int flushed = memory_changed(core);
    return rc != 0 ? rc : flushed;
}

int cortex_m_write_memory(struct cortex_m *core, uint32_t address, const uint8_t *bytes,
                          size_t length)
{
    int rc = cortex_m_port(core, mem_ap_write(core->ap, address, bytes, length));
    return rc == 0 ? cortex_m_written(core, address, bytes, length) : rc;
}

int cortex_m_write_sized(struct cortex_m *core, uint32_t address, unsigned size,
                         const uint8_t *bytes, size_t count)
{
    int rc = cortex_m_port(core, mem_ap_write_sized(core->ap, address, size, bytes, count));
    return rc == 0 ? cortex_m_written(core, address, bytes, size * count) : rc;
}

/* Software breakpoints. */

static struct cortex_m_software *find_software(struct cortex_m *core, uint32_t address)
{
    for (unsigned k = 0; k < core->software_count; k++) {
        if (core->software[k].address == address)
            return &core->software[k];
    }
    return NULL;
}

static int insert_software(struct cortex_m *core, uint32_t address)
{
    struct cortex_m_software breakpoint = {.address = address};
    uint8_t now[2] = {0};
    if (find_software(core, address))
        return 0;
    if (core->software_count == CORTEX_M_SOFTWARE)
        return cortex_m_fail(core, CORTEX_M_FAIL_FULL, address, BT_ERR_RANGE);
    int rc = cortex_m_port(core, mem_ap_read(core->ap, address, breakpoint.original, 2));
    if (rc != 0)
        return rc;
    rc = put_bkpt(core, address);
    if (rc == 0)
        rc = cortex_m_port(core, mem_ap_read(core->ap, address, now, 2));
    bool refused = rc == BT_ERR_IO && core->ap->dp->failure == DEBUG_FAIL_FAULT;
    if (refused || (rc == 0 && memcmp(now, BKPT, 2) != 0))
        return cortex_m_fail(core, CORTEX_M_FAIL_NOT_RAM, address, BT_ERR_UNSUPPORTED);
    if (rc == 0)
        rc = memory_changed(core);
    /* Where it is not known whether the write got through, the list keeps the original. */
    core->software[core->software_count++] = breakpoint;
    return rc;
}

static int remove_software(struct cortex_m *core, uint32_t address)
{
    uint8_t now[2];
    struct cortex_m_software *breakpoint = find_software(core, address);
    if (!breakpoint)
        return BT_ERR_RANGE;
    int rc = cortex_m_port(core, mem_ap_read(core->ap, address, now, 2));
    /* A program that was loaded anew, by itself or by a reset, is not damaged. */
    if (rc == 0 && memcmp(now, BKPT, 2) == 0)
        rc = cortex_m_port(core, mem_ap_write(core->ap, address, breakpoint->original, 2));
    if (rc == 0)
        rc = memory_changed(core);
    if (rc == 0)
        *breakpoint = core->software[--core->software_count];
    return rc;
}

int cortex_m_insert(struct cortex_m *core, enum cortex_m_breakpoint_kind kind, uint32_t address,
                    uint32_t length)
{
    if (kind > CORTEX_M_BREAK_HARDWARE)
        return kind <= CORTEX_M_WATCH_ACCESS ? cortex_m_insert_watch(core, kind, address, length)
                                             : BT_ERR_INVAL;
    if (address % 2 != 0)
        return BT_ERR_INVAL;
    return kind == CORTEX_M_BREAK_SOFTWARE ? insert_software(core, address)
                                           : cortex_m_insert_hardware(core, address);
}

int cortex_m_remove(struct cortex_m *core, enum cortex_m_breakpoint_kind kind, uint32_t address,
                    uint32_t length)
{
    if (kind == CORTEX_M_BREAK_SOFTWARE)
        return remove_software(core, address);
    if (kind == CORTEX_M_BREAK_HARDWARE)
        return cortex_m_remove_hardware(core, address);
    return cortex_m_remove_watch(core, kind, address, length);
}

bool cortex_m_breakpoint_at(const struct cortex_m *core, uint32_t address)
{
    for (unsigned k = 0; k < core->software_count; k++) {
        if (core->software[k].address == address)
            return true;
    }
    return cortex_m_hardware_at(core, address);
}

/* The lists stay as they are. */
int cortex_m_lift(struct cortex_m *core, uint32_t address, bool away)
{
    const struct cortex_m_software *breakpoint = find_software(core, address);
    int rc = 0;
    if (away) {
        core->lifted = true;
        core->lifted_at = address;
    }
    if (!away || cortex_m_hardware_at(core, address))
        rc = cortex_m_enable_units(core, !away);
    if (breakpoint && rc == 0)
        rc = away ? cortex_m_port(core, mem_ap_write(core->ap, address, breakpoint->original, 2))
                  : put_bkpt(core, address);
    if (breakpoint && rc == 0)
        rc = memory_changed(core);
    if (!away && rc == 0)
        core->lifted = false;
    return rc;
}
