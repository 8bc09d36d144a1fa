/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of a Cortex-M as GDB counts them: seventeen that each has,
 * and what this one has more. */
#include "probe_target_internal.h"

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

static void add(struct probe_target *t, const struct gdb_register *r, unsigned first, bool pair)
{
    t->described[t->extra_count] = *r;
    t->m.extra[t->extra_count] = (struct probe_target_m_register){first, pair};
    t->extra_count++;
}

void probe_target_m_describe_registers(struct probe_target *t)
{
    t->extra_count = 0;
    for (size_t i = 0; i < sizeof system_registers / sizeof *system_registers; i++) {
        const struct system_register *s = &system_registers[i];
        struct gdb_register r = {s->feature, cortex_m_register_name(s->reg), s->type, s->bits};
        if (cortex_m_has_register(&t->m.core, s->reg))
            add(t, &r, s->reg, false);
    }
    if (!cortex_m_has_register(&t->m.core, CORTEX_M_FPSCR))
        return;
    for (unsigned i = 0; i < sizeof doubles / sizeof *doubles; i++)
        add(t, &(struct gdb_register){VFP, doubles[i], "ieee_double", 64}, CORTEX_M_S0 + 2 * i,
            true);
    add(t, &(struct gdb_register){VFP, "fpscr", "uint32", 32}, CORTEX_M_FPSCR, false);
}

int probe_target_m_load_values(struct probe_target *t)
{
    int rc = t->m.values_known ? BT_OK : cortex_m_read_all(&t->m.core, t->m.values);
    t->m.values_known = !rc;
    return rc;
}

int probe_target_m_read_regs(struct probe_target *t, unsigned core, struct gdb_regs *regs)
{
    (void)core;
    int rc = probe_target_m_load_values(t);
    if (rc)
        return rc;
    for (unsigned i = 0; i < GDB_REG_COUNT; i++)
        regs->value[i] = t->m.values[i];
    regs->known = (1u << GDB_REG_COUNT) - 1;
    return BT_OK;
}

static int write_value(struct probe_target *t, unsigned reg, uint32_t value)
{
    t->m.values_known = false; /* sp is msp or psp, d0 is s0 */
    return cortex_m_write_register(&t->m.core, reg, value);
}

int probe_target_m_write_reg(struct probe_target *t, unsigned core, enum gdb_reg reg,
                             uint32_t value)
{
    (void)core;
    return write_value(t, (unsigned)reg, value);
}

int probe_target_m_read_extra(struct probe_target *t, unsigned core, unsigned index,
                              uint64_t *value)
{
    const struct probe_target_m_register *r = &t->m.extra[index];
    (void)core;
    int rc = probe_target_m_load_values(t);
    if (rc)
        return rc;
    *value = t->m.values[r->first];
    if (r->pair)
        *value |= (uint64_t)t->m.values[r->first + 1] << 32;
    return BT_OK;
}

int probe_target_m_write_extra(struct probe_target *t, unsigned core, unsigned index,
                               uint64_t value)
{
    const struct probe_target_m_register *r = &t->m.extra[index];
    (void)core;
    int rc = write_value(t, r->first, (uint32_t)value);
    if (!rc && r->pair)
        rc = write_value(t, r->first + 1, (uint32_t)(value >> 32));
    return rc;
}

/* The first seventeen have the same numbers there and here. */
_Static_assert((int)GDB_REG_PC == (int)CORTEX_M_PC && (int)GDB_REG_PSR == (int)CORTEX_M_XPSR,
               "register numbers");
_Static_assert(sizeof system_registers / sizeof *system_registers + 17 <= GDB_EXTRA_MAX,
               "room for all further registers");
