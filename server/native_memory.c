/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, and flash as GDB writes it. */
#include "server/native_internal.h"

/* Of the architecture's map: devices, where each access counts and its width matters. */
#define DEVICES_START  0x40000000u
#define DEVICES_END    0x60000000u
#define PRIVATE_START  0xe0000000u
#define CODE_END       0x20000000u
#define ADDRESS_SPACES ((uint64_t)1 << 32)

static bool is_device(uint64_t address)
{
    return (address >= DEVICES_START && address < DEVICES_END) || address >= PRIVATE_START;
}

/* Width of the access for `len` bytes of a device; 0: no single one. */
static unsigned width(uint64_t address, size_t len)
{
    bool one = len == 1 || len == 2 || len == 4;
    return one && is_device(address) && address % len == 0 ? (unsigned)len : 0;
}

static int read_bytes(struct native_target *t, uint64_t address, void *bytes, size_t len)
{
    unsigned size = width(address, len);
    return size ? cortex_m_read_sized(&t->core, (uint32_t)address, size, bytes, 1)
                : cortex_m_read_memory(&t->core, (uint32_t)address, bytes, len);
}

/* What lies before the place that cannot be read. */
static int read_rest(struct native_target *t, int rc, uint64_t address, void *bytes, size_t len)
{
    uint64_t end = t->link.ap.fault_address;
    if (rc != BT_ERR_IO || t->link.dp.failure != DEBUG_FAIL_FAULT)
        return native_result(t, rc, NULL);
    native_result(t, rc, NULL);
    if (end <= address || end - address >= len || read_bytes(t, address, bytes, end - address))
        return BT_ERR_RANGE;
    return (int)(end - address);
}

int native_op_read_memory(void *ctx, int core, uint64_t address, void *bytes, size_t len)
{
    struct native_target *t = ctx;
    (void)core;
    int rc = native_ready(t);
    if (rc)
        return rc;
    if (address >= ADDRESS_SPACES)
        return BT_ERR_RANGE;
    if (len > ADDRESS_SPACES - address)
        len = (size_t)(ADDRESS_SPACES - address);
    rc = read_bytes(t, address, bytes, len);
    return rc ? read_rest(t, rc, address, bytes, len) : (int)len;
}

/* Flash swallows writes without a word: the first that does not stick tells. */
static int check_written(struct native_target *t, uint64_t address, const uint8_t *bytes,
                         size_t len, struct gdb_why *why)
{
    uint8_t is = 0;
    if (address >= CODE_END || len == 0 || t->config->flash.algorithm[0])
        return BT_OK;
    int rc = cortex_m_read_memory(&t->core, (uint32_t)(address + len - 1), &is, 1);
    if (rc || is == bytes[len - 1])
        return native_result(t, rc, why);
    return native_refuse(t, why, BT_ERR_IO,
                         "the memory at 0x%08x does not take what is written: for flash name an "
                         "algorithm in the board file, [flash] algorithm = FILE.FLM",
                         (unsigned)address);
}

int native_op_write_memory(void *ctx, int core, uint64_t address, const void *bytes, size_t len,
                           struct gdb_why *why)
{
    struct native_target *t = ctx;
    (void)core;
    int rc = native_ready(t);
    if (rc)
        return native_result(t, rc, why);
    if (address > ADDRESS_SPACES || len > ADDRESS_SPACES - address)
        return native_refuse(t, why, BT_ERR_RANGE, "no such address");
    unsigned size = width(address, len);
    if (len > 0)
        rc = size ? cortex_m_write_sized(&t->core, (uint32_t)address, size, bytes, 1)
                  : cortex_m_write_memory(&t->core, (uint32_t)address, bytes, len);
    t->values_known = t->values_known && !is_device(address);
    return rc ? native_result(t, rc, why) : check_written(t, address, bytes, len, why);
}

int native_op_memory_map(void *ctx, const struct gdb_region **regions)
{
    return native_flash_map(&((struct native_target *)ctx)->flash, regions);
}

/* ---- flash ------------------------------------------------------------------------------------
 */

/* An algorithm counts on a core as it is behind a reset: the program's MPU or watchdog ends it. */
static int begin_flash(struct native_target *t)
{
    int rc = native_ready(t);
    if (!rc && !t->flash.busy && t->flash.algorithm)
        rc = native_reset(t);
    t->values_known = false;
    return rc;
}

static int end_flash(struct native_target *t, int rc, struct gdb_why *why)
{
    t->values_known = false;
    if (!t->flash.busy && t->moved)
        t->moved(t->ctx);
    native_result(t, rc, NULL); /* a probe that is gone is noted, whatever the words are */
    if (rc && t->flash.said[0])
        return native_refuse(t, why, rc, "%s", t->flash.said);
    return native_result(t, rc, why);
}

int native_op_flash_erase(void *ctx, uint64_t address, uint64_t length, struct gdb_why *why)
{
    struct native_target *t = ctx;
    int rc = begin_flash(t);
    return end_flash(t, rc ? rc : native_flash_erase(&t->flash, address, length), why);
}

int native_op_flash_write(void *ctx, uint64_t address, const void *bytes, size_t len,
                          struct gdb_why *why)
{
    struct native_target *t = ctx;
    int rc = begin_flash(t);
    return end_flash(t, rc ? rc : native_flash_write(&t->flash, address, bytes, len), why);
}

int native_op_flash_done(void *ctx, struct gdb_why *why)
{
    struct native_target *t = ctx;
    int rc = native_ready(t);
    return end_flash(t, rc ? rc : native_flash_done(&t->flash), why);
}
