/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of a Cortex-M as GDB counts them: seventeen that each has, and what this one has more.
 */
#include "server/native_internal.h"

#include <string.h>

#define SYSTEM   "org.gnu.gdb.arm.m-system"
#define SECURITY "org.gnu.gdb.arm.secext"
#define VFP      "org.gnu.gdb.arm.vfp"

struct system_register {
    unsigned reg;
    const char *feature;
    const char *type;
    unsigned bits;
};

/* GDB wants msp and psp of the first feature, the four stack pointers of the second. */
static const struct system_register system_registers[] = {
    {CORTEX_M_MSP, SYSTEM, "data_ptr", 32},       {CORTEX_M_PSP, SYSTEM, "data_ptr", 32},
    {CORTEX_M_PRIMASK, SYSTEM, "uint8", 8},       {CORTEX_M_BASEPRI, SYSTEM, "uint8", 8},
    {CORTEX_M_FAULTMASK, SYSTEM, "uint8", 8},     {CORTEX_M_CONTROL, SYSTEM, "uint8", 8},
    {CORTEX_M_MSPLIM_S, SYSTEM, "data_ptr", 32},  {CORTEX_M_PSPLIM_S, SYSTEM, "data_ptr", 32},
    {CORTEX_M_MSPLIM_NS, SYSTEM, "data_ptr", 32}, {CORTEX_M_PSPLIM_NS, SYSTEM, "data_ptr", 32},
    {CORTEX_M_MSP_NS, SECURITY, "data_ptr", 32},  {CORTEX_M_PSP_NS, SECURITY, "data_ptr", 32},
    {CORTEX_M_MSP_S, SECURITY, "data_ptr", 32},   {CORTEX_M_PSP_S, SECURITY, "data_ptr", 32},
};

/* GDB makes s0-s31 of them. */
static const char *const doubles[] = {
    "d0", "d1", "d2",  "d3",  "d4",  "d5",  "d6",  "d7",
    "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15",
};

static void add(struct native_target *t, const struct gdb_register *r, unsigned first, bool pair)
{
    t->described[t->extra_count] = *r;
    t->extra[t->extra_count] = (struct native_register){first, pair};
    t->extra_count++;
}

void native_describe_registers(struct native_target *t)
{
    t->extra_count = 0;
    for (size_t i = 0; i < sizeof system_registers / sizeof *system_registers; i++) {
        const struct system_register *s = &system_registers[i];
        struct gdb_register r = {s->feature, cortex_m_register_name(s->reg), s->type, s->bits};
        if (cortex_m_has_register(&t->core, s->reg))
            add(t, &r, s->reg, false);
    }
    if (!cortex_m_has_register(&t->core, CORTEX_M_FPSCR))
        return;
    for (unsigned i = 0; i < sizeof doubles / sizeof *doubles; i++)
        add(t, &(struct gdb_register){VFP, doubles[i], "ieee_double", 64}, CORTEX_M_S0 + 2 * i,
            true);
    add(t, &(struct gdb_register){VFP, "fpscr", "uint32", 32}, CORTEX_M_FPSCR, false);
}

int native_load_values(struct native_target *t)
{
    int rc = t->values_known ? BT_OK : cortex_m_read_all(&t->core, t->values);
    t->values_known = !rc;
    return rc;
}

int native_op_read_regs(void *ctx, int core, struct gdb_regs *regs)
{
    struct native_target *t = ctx;
    (void)core;
    int rc = native_ready(t);
    if (!rc)
        rc = native_result(t, native_load_values(t), NULL);
    if (rc)
        return rc;
    memcpy(regs->value, t->values, sizeof regs->value);
    regs->known = (1u << GDB_REG_COUNT) - 1;
    return BT_OK;
}

static int write_value(struct native_target *t, unsigned reg, uint32_t value, struct gdb_why *why)
{
    int rc = native_ready(t);
    if (rc)
        return native_result(t, rc, why);
    t->values_known = false; /* sp is msp or psp, d0 is s0 */
    return native_result(t, cortex_m_write_register(&t->core, reg, value), why);
}

int native_op_write_reg(void *ctx, int core, enum gdb_reg reg, uint32_t value, struct gdb_why *why)
{
    (void)core;
    return write_value(ctx, (unsigned)reg, value, why);
}

int native_op_extra_registers(void *ctx, int core, const struct gdb_register **list)
{
    struct native_target *t = ctx;
    (void)core;
    *list = t->described;
    return (int)t->extra_count;
}

int native_op_read_extra(void *ctx, int core, unsigned index, uint64_t *value)
{
    struct native_target *t = ctx;
    const struct native_register *r = &t->extra[index];
    (void)core;
    int rc = native_ready(t);
    if (!rc)
        rc = native_result(t, native_load_values(t), NULL);
    if (rc)
        return rc;
    *value = t->values[r->first];
    if (r->pair)
        *value |= (uint64_t)t->values[r->first + 1] << 32;
    return BT_OK;
}

int native_op_write_extra(void *ctx, int core, unsigned index, uint64_t value, struct gdb_why *why)
{
    struct native_target *t = ctx;
    const struct native_register *r = &t->extra[index];
    (void)core;
    int rc = write_value(t, r->first, (uint32_t)value, why);
    if (!rc && r->pair)
        rc = write_value(t, r->first + 1, (uint32_t)(value >> 32), why);
    return rc;
}

/* The first seventeen have the same numbers there and here. */
_Static_assert((int)GDB_REG_PC == (int)CORTEX_M_PC && (int)GDB_REG_PSR == (int)CORTEX_M_XPSR,
               "register numbers");
_Static_assert(sizeof system_registers / sizeof *system_registers + 17 <= GDB_EXTRA_MAX,
               "room for all further registers");
