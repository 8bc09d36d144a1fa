/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floating-point registers of a recording. Their values are never known, but a GDB that is told to
 * expect them, by its program, and does not find them described does not
 * survive a `finish`. */
#include "server/replay/replay.h"
#include "server/reverse/reverse_machine.h"

#include <strings.h>

#define VFP    "org.gnu.gdb.arm.vfp"
#define DOUBLE "ieee_double", 64

static const struct gdb_register registers[] = {
    {VFP, "d0", DOUBLE},          {VFP, "d1", DOUBLE},  {VFP, "d2", DOUBLE},  {VFP, "d3", DOUBLE},
    {VFP, "d4", DOUBLE},          {VFP, "d5", DOUBLE},  {VFP, "d6", DOUBLE},  {VFP, "d7", DOUBLE},
    {VFP, "d8", DOUBLE},          {VFP, "d9", DOUBLE},  {VFP, "d10", DOUBLE}, {VFP, "d11", DOUBLE},
    {VFP, "d12", DOUBLE},         {VFP, "d13", DOUBLE}, {VFP, "d14", DOUBLE}, {VFP, "d15", DOUBLE},
    {VFP, "fpscr", "uint32", 32},
};

#define COUNT (sizeof registers / sizeof *registers)

/* Cores of M profile that have such registers, or may. */
static bool may_have(const char *type)
{
    static const char *const names[] = {"Cortex-M4",  "Cortex-M4F",  "Cortex-M7",
                                        "Cortex-M33", "Cortex-M33F", "Cortex-M35P",
                                        "Cortex-M52", "Cortex-M55",  "Cortex-M85"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(type, names[i]) == 0)
            return true;
    return false;
}

int replay_extra_registers(void *ctx, int core, const struct gdb_register **list)
{
    const struct replay *r = ((const struct replay_client *)ctx)->replay;
    const struct replay_core *c = &r->cores[core];
    if (c->profile == GDB_PROFILE_A64)
        return 0;
    bool wanted = c->device && may_have(c->device->type);
    for (size_t i = 0; i < r->recording.elf_count; i++)
        wanted |= r->recording.elf[i]->hard_float;
    *list = registers;
    return wanted ? (int)COUNT : 0;
}

int replay_read_extra(void *ctx, int core, unsigned index, uint64_t *value)
{
    (void)ctx, (void)core, (void)index, (void)value;
    return BT_ERR_UNSUPPORTED;
}
