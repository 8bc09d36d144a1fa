/* SPDX-License-Identifier: BSD-3-Clause */
/* Where struct target_regs has a register of a list. */
#include "drivers/target/target.h"

#include <stdlib.h>
#include <strings.h>

static int name_index(const char *name, const char *const *names, int count)
{
    int i = 0;
    while (i < count && strcasecmp(name, names[i]) != 0)
        i++;
    return i < count ? i : -1;
}

int target_register_reg(const struct target_register *r)
{
    static const char *const names[] = {"sp", "lr", "pc", "cpsr", "xpsr", "x30"};
    static const enum target_reg regs[] = {TARGET_REG_SP,  TARGET_REG_LR,  TARGET_REG_PC,
                                           TARGET_REG_PSR, TARGET_REG_PSR, TARGET_REG_LR};
    char *end = NULL;
    long number = -1;
    if (r->name[0] == 'r' && r->name[1] >= '0' && r->name[1] <= '9')
        number = strtol(r->name + 1, &end, 10);
    if (number >= 0 && number < TARGET_REG_SP && *end == '\0')
        return (int)number;
    int i = name_index(r->name, names, sizeof names / sizeof *names);
    return i < 0 ? -1 : (int)regs[i];
}

int target_register_stack(const struct target_register *r)
{
    static const char *const names[TARGET_STACKS] = {"msp",   "psp",    "msp_s",
                                                     "psp_s", "msp_ns", "psp_ns"};
    return name_index(r->name, names, TARGET_STACKS);
}

/* As QEMU calls them. */
int target_register_system(const struct target_register *r)
{
    static const char *const names[TARGET_SYSTEMS] = {
        "SCR",       "SCTLR",     "TTBR0_EL1", "TTBCR",    "SCTLR_S",   "TTBR0_EL1_S", "TTBCR_S",
        "TTBR1_EL1", "TCR_EL1",   "VBAR",      "HCR_EL2",  "SP_EL0",    "SP_EL1",      "SP_EL2",
        "SCTLR_EL2", "TTBR0_EL2", "TCR_EL2",   "VBAR_EL2", "SCTLR_EL3", "TTBR0_EL3",   "TCR_EL3",
        "VBAR_EL3",  "ELR_EL1",   "ELR_EL2",   "ELR_EL3",  "SPSR_EL1",  "SPSR_EL2",    "SPSR_EL3"};
    return r->number < TARGET_REG_COUNT ? -1 : name_index(r->name, names, TARGET_SYSTEMS);
}

int target_register_vector(const struct target_register *r)
{
    char *end = NULL;
    long number = r->bits == 128 && r->name[0] == 'v' ? strtol(r->name + 1, &end, 10) : -1;
    return number >= 0 && number < TARGET_VECTORS && *end == '\0' ? (int)number : -1;
}

/* Its place among the extra registers; not less than TARGET_EXTRA_MAX: none. */
static unsigned extra_of(const struct target_register *list, unsigned entry)
{
    unsigned vectors = 0;
    if (list[0].name[0] != 'x')
        return entry - TARGET_REG_COUNT;
    for (unsigned i = TARGET_A64_COUNT; i < entry; i++)
        vectors += list[i].bits == 128;
    return list[entry].bits == 128 ? TARGET_EXTRA_MAX : entry - vectors;
}

bool target_regs_get(const struct target_regs *regs, const struct target_register *list,
                     unsigned entry, uint64_t *value)
{
    int reg = target_register_reg(&list[entry]), stack = target_register_stack(&list[entry]);
    unsigned extra = extra_of(list, entry);
    if (reg >= 0) {
        *value = regs->value[reg];
        return regs->known >> reg & 1;
    }
    if (stack >= 0 && (regs->stack_known >> stack & 1)) {
        *value = regs->stack[stack];
        return true;
    }
    int system = target_register_system(&list[entry]);
    if (system >= 0) {
        *value = regs->system[system];
        return regs->system_known >> system & 1;
    }
    if (extra >= TARGET_EXTRA_MAX)
        return false;
    *value = regs->extra[extra];
    return regs->extra_known >> extra & 1;
}

void target_regs_set(struct target_regs *regs, const struct target_register *list, unsigned entry,
                     uint64_t value)
{
    int reg = target_register_reg(&list[entry]), stack = target_register_stack(&list[entry]);
    unsigned extra = extra_of(list, entry);
    if (reg >= 0) {
        regs->value[reg] = value;
        regs->known |= 1u << reg;
    } else if (stack >= 0) {
        regs->stack[stack] = (uint32_t)value;
        regs->stack_known |= 1u << stack;
    } else if (target_register_system(&list[entry]) >= 0) {
        int system = target_register_system(&list[entry]);
        regs->system[system] = value;
        regs->system_known |= 1u << system;
    } else if (extra < TARGET_EXTRA_MAX) {
        regs->extra[extra] = value;
        regs->extra_known |= (uint64_t)1 << extra;
    }
}

#define PSR_NUMBER 25

unsigned target_describe_core(struct target_register *list, enum target_profile profile)
{
    static const char *const arm[TARGET_REG_COUNT] = {"r0",  "r1", "r2", "r3", "r4",  "r5",
                                                      "r6",  "r7", "r8", "r9", "r10", "r11",
                                                      "r12", "sp", "lr", "pc", "cpsr"};
    static const char *const a64[TARGET_A64_COUNT] = {
        "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10", "x11",
        "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
        "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",  "pc",  "cpsr"};
    bool m = profile == TARGET_PROFILE_M, wide = profile == TARGET_PROFILE_A64;
    unsigned count = wide ? TARGET_A64_COUNT : TARGET_REG_COUNT;
    for (unsigned i = 0; i < count; i++) {
        bool psr = i == count - 1;
        list[i] = (struct target_register){.feature = wide ? "org.gnu.gdb.aarch64.core"
                                                      : m  ? "org.gnu.gdb.arm.m-profile"
                                                           : "org.gnu.gdb.arm.core",
                                           .name = wide       ? a64[i]
                                                   : m && psr ? "xpsr"
                                                              : arm[i],
                                           .bits = wide && !psr ? 64 : 32,
                                           .number = psr && !wide ? PSR_NUMBER : i};
        int reg = target_register_reg(&list[i]);
        list[i].type = reg == TARGET_REG_SP              ? "data_ptr"
                       : reg == TARGET_REG_PC            ? "code_ptr"
                       : reg >= 0 && reg < TARGET_REG_SP ? "uint32"
                                                         : NULL;
    }
    return count;
}

unsigned target_describe_float(struct target_register *list, unsigned doubles)
{
    static const char *const names[TARGET_DOUBLES_MAX] = {
        "d0",  "d1",  "d2",  "d3",  "d4",  "d5",  "d6",  "d7",  "d8",  "d9",  "d10",
        "d11", "d12", "d13", "d14", "d15", "d16", "d17", "d18", "d19", "d20", "d21",
        "d22", "d23", "d24", "d25", "d26", "d27", "d28", "d29", "d30", "d31"};
    static const char vfp[] = "org.gnu.gdb.arm.vfp";
    for (unsigned i = 0; i < doubles; i++)
        list[i] =
            (struct target_register){vfp, names[i], "ieee_double", 64, TARGET_EXTRA_NUMBER + i};
    list[doubles] =
        (struct target_register){vfp, "fpscr", "uint32", 32, TARGET_EXTRA_NUMBER + doubles};
    return doubles + 1;
}
