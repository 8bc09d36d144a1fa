/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, and flash as GDB writes it. */
#include "probe_target_internal.h"

#define ADDRESS_SPACE ((uint64_t)1 << 32)

/* What lies before the place that cannot be read. */
static int read_rest(struct probe_target *t, unsigned core, int rc, uint64_t address, void *bytes,
                     size_t len)
{
    uint64_t end;
    bool nothing = rc == BT_ERR_IO && t->ops->nothing_at(t, core, &end);
    probe_target_result(t, rc, NULL);
    if (!nothing)
        return rc;
    if (end <= address || end - address >= len ||
        t->ops->read(t, core, (uint32_t)address, bytes, end - address))
        return BT_ERR_RANGE;
    return (int)(end - address);
}

int probe_target_op_read_memory(void *ctx, int core, uint64_t address, void *bytes, size_t len)
{
    struct probe_target *t = ctx;
    int rc = probe_target_ready(t);
    if (rc)
        return rc;
    if (address >= ADDRESS_SPACE)
        return BT_ERR_RANGE;
    if (len > ADDRESS_SPACE - address)
        len = (size_t)(ADDRESS_SPACE - address);
    rc = t->ops->read(t, (unsigned)core, (uint32_t)address, bytes, len);
    return rc ? read_rest(t, (unsigned)core, rc, address, bytes, len) : (int)len;
}

int probe_target_op_write_memory(void *ctx, int core, uint64_t address, const void *bytes,
                                 size_t len, struct gdb_why *why)
{
    struct probe_target *t = ctx;
    int rc = probe_target_ready(t);
    if (rc)
        return probe_target_result(t, rc, why);
    if (address > ADDRESS_SPACE || len > ADDRESS_SPACE - address)
        return probe_target_refuse(t, why, BT_ERR_RANGE, "no such address");
    t->reported[0] = '\0';
    if (len > 0)
        rc = t->ops->write(t, (unsigned)core, (uint32_t)address, bytes, len);
    return rc && t->reported[0] ? probe_target_refuse(t, why, rc, "%s", t->reported)
                                : probe_target_result(t, rc, why);
}

int probe_target_op_memory_map(void *ctx, const struct gdb_region **regions)
{
    return probe_target_flash_map(&((struct probe_target *)ctx)->flash, regions);
}

/* An algorithm counts on a core as it is behind a reset: the program's MPU or watchdog ends it. */
static int begin_flash(struct probe_target *t)
{
    int rc = probe_target_ready(t);
    if (!rc && !t->flash.busy && t->flash.algorithm)
        rc = probe_target_reset(t);
    probe_target_forget(t);
    return rc;
}

static int end_flash(struct probe_target *t, int rc, struct gdb_why *why)
{
    probe_target_forget(t);
    if (!t->flash.busy && t->moved)
        t->moved(t->ctx);
    probe_target_result(t, rc, NULL); /* a probe that is gone is noted, whatever the words are */
    if (rc && t->flash.reported[0])
        return probe_target_refuse(t, why, rc, "%s", t->flash.reported);
    return probe_target_result(t, rc, why);
}

int probe_target_op_flash_erase(void *ctx, uint64_t address, uint64_t length, struct gdb_why *why)
{
    struct probe_target *t = ctx;
    int rc = begin_flash(t);
    return end_flash(t, rc ? rc : probe_target_flash_erase(&t->flash, address, length), why);
}

int probe_target_op_flash_write(void *ctx, uint64_t address, const void *bytes, size_t len,
                                struct gdb_why *why)
{
    struct probe_target *t = ctx;
    int rc = begin_flash(t);
    return end_flash(t, rc ? rc : probe_target_flash_write(&t->flash, address, bytes, len), why);
}

int probe_target_op_flash_done(void *ctx, struct gdb_why *why)
{
    struct probe_target *t = ctx;
    int rc = probe_target_ready(t);
    return end_flash(t, rc ? rc : probe_target_flash_done(&t->flash), why);
}
