/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers as GDB counts them: seventeen that each core has, and what this one has more. */
#include "probe_target_internal.h"

#include <string.h>

int probe_target_op_read_regs(void *ctx, int core, struct gdb_regs *regs)
{
    struct probe_target *t = ctx;
    int rc = probe_target_ready(t);
    return probe_target_result(t, rc ? rc : t->ops->read_regs(t, (unsigned)core, regs), NULL);
}

void probe_target_op_read_refused(void *ctx, struct gdb_why *why)
{
    const struct probe_target *t = ctx;
    memcpy(why->text, t->reported, sizeof why->text);
}

int probe_target_op_write_reg(void *ctx, int core, enum gdb_reg reg, uint32_t value,
                              struct gdb_why *why)
{
    struct probe_target *t = ctx;
    int rc = probe_target_ready(t);
    if (!rc)
        rc = t->ops->write_reg(t, (unsigned)core, reg, value);
    return probe_target_result(t, rc, why);
}

int probe_target_op_extra_registers(void *ctx, int core, const struct gdb_register **list)
{
    struct probe_target *t = ctx;
    (void)core;
    *list = t->described;
    return (int)t->extra_count;
}

int probe_target_op_read_extra(void *ctx, int core, unsigned index, uint64_t *value)
{
    struct probe_target *t = ctx;
    int rc = probe_target_ready(t);
    return probe_target_result(t, rc ? rc : t->ops->read_extra(t, (unsigned)core, index, value),
                               NULL);
}

int probe_target_op_write_extra(void *ctx, int core, unsigned index, uint64_t value,
                                struct gdb_why *why)
{
    struct probe_target *t = ctx;
    int rc = probe_target_ready(t);
    if (!rc)
        rc = t->ops->write_extra(t, (unsigned)core, index, value);
    return probe_target_result(t, rc, why);
}
