/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_machine.h"

#include "decoder/program/insn.h"

#include <strings.h>

#define STACK_NEAR 16384u /* bytes on either side of SP that are taken for the stack */

#define RAM_MOST 65536u /* bytes in which stacks of tasks are looked for */

#define SYSM_PSP     9
#define SYSM_CONTROL 20

/* BXNS or BLXNS. */
static bool leaves_state(uint16_t h1, uint16_t h2)
{
    (void)h2;
    return (h1 & 0xff07) == 0x4704;
}

/* MSR PSP or CONTROL. */
static bool sets_stack(uint16_t h1, uint16_t h2)
{
    unsigned sysm = h2 & 0xff;
    return (h1 & 0xfff0) == 0xf380 && (h2 & 0xff00) == 0x8800 &&
           (sysm == SYSM_PSP || sysm == SYSM_CONTROL);
}

/* A coprocessor instruction of the FPU. */
static bool is_float(uint16_t h1, uint16_t h2)
{
    return (h1 & 0xec00) == 0xec00 && (h2 & 0x0e00) == 0x0a00;
}

/* MCR to SCR or HCR, in either instruction set. */
static bool routes_exceptions(uint16_t h1, uint16_t h2)
{
    bool t32 = (h1 & 0xff1f) == 0xee01 && (h2 & 0x0fff) == 0x0f11;
    bool a32 = (h2 & 0x0f1f) == 0x0e01 && (h1 & 0x0fff) == 0x0f11;
    return t32 || a32;
}

/* What there is of it in the code, as bits. */
#define LEAVES_STATE      1u
#define SETS_STACK        2u
#define ROUTES_EXCEPTIONS 4u
#define FLOAT             8u
#define ALL               15u

static unsigned kinds_of(uint16_t h1, uint16_t h2)
{
    return (leaves_state(h1, h2) ? LEAVES_STATE : 0) | (sets_stack(h1, h2) ? SETS_STACK : 0) |
           (routes_exceptions(h1, h2) ? ROUTES_EXCEPTIONS : 0) | (is_float(h1, h2) ? FLOAT : 0);
}

/* Where the file tells code from data, instruction by instruction; else at every halfword. */
static unsigned kinds_in(const struct elf_image *elf, const struct elf_segment *s)
{
    bool big = elf->code_big_endian;
    unsigned kinds = 0;
    for (uint64_t i = 0; i + 4 <= s->file_size && kinds != ALL;) {
        const uint8_t *at = s->data + i;
        uint16_t h1 = (uint16_t)(at[big] | at[!big] << 8);
        uint16_t h2 = (uint16_t)(at[2 + big] | at[2 + !big] << 8);
        enum elf_content content = elf_image_content(elf, s->vaddr + i);
        if (content != ELF_CONTENT_DATA)
            kinds |= kinds_of(h1, h2);
        i += content == ELF_CONTENT_T32 ? insn_t32_size(h1) : 2;
    }
    return kinds;
}

bool reverse_program_add_ram(struct reverse_program *p, uint64_t address, uint64_t size)
{
    uint64_t from = (address + 3) & ~3ull, sum = size;
    for (size_t i = 0; i < p->ram_count; i++)
        sum += p->ram[i].size;
    if (p->ram_count == REVERSE_RAM || size > RAM_MOST || sum > RAM_MOST ||
        address + size > UINT32_MAX) {
        p->ram_count = 0;
        return false;
    }
    p->ram[p->ram_count++] =
        (struct values_ram){(uint32_t)from, (uint32_t)(address + size - from) & ~3u};
    return true;
}

/* Memory that no section names is given to whom asks for it: tasks' stacks may be there. */
static bool allocates(const struct elf_image *elf)
{
    static const char *const names[] = {"malloc", "_malloc_r", "_sbrk", "sbrk"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (elf_image_find(elf, names[i]))
            return true;
    return elf->symbol_count == 0;
}

static void find_ram(struct reverse_program *p, const struct elf_image *elf)
{
    for (uint64_t at = 0, to; at < UINT32_MAX; at = to)
        if (elf_image_use_run(elf, at, &to) == ELF_USE_RAM &&
            !reverse_program_add_ram(p, at, to - at))
            return;
}

struct reverse_program reverse_program_of(struct elf_image *const *elf, size_t elf_count)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < elf_count; i++)
        for (size_t k = 0; k < elf[i]->segment_count && kinds != ALL; k++)
            if (elf[i]->segments[k].executable)
                kinds |= kinds_in(elf[i], &elf[i]->segments[k]);
    struct reverse_program p = {
        .one_stack = elf_count > 0 && !(kinds & SETS_STACK),
        .two_states = elf_count == 0 || kinds & LEAVES_STATE,
        .plain_modes = elf_count > 0 && !(kinds & ROUTES_EXCEPTIONS),
        .has_float = elf_count == 0 || kinds & FLOAT,
    };
    if (elf_count == 1 && !p.one_stack && !allocates(elf[0]))
        find_ram(&p, elf[0]);
    return p;
}

enum values_memory reverse_memory_kind(struct elf_image *const *elf, size_t elf_count,
                                       uint32_t address, uint32_t sp, bool shared)
{
    bool stack = address - (sp - STACK_NEAR) < 2 * STACK_NEAR;
    enum values_memory own = shared ? VALUES_MEMORY_SAVED : VALUES_MEMORY_RAM;
    uint64_t start, size;
    const char *name;
    for (size_t i = 0; i < elf_count; i++) {
        enum elf_use kind = elf_image_use(elf[i], address);
        if (kind == ELF_USE_CONST)
            return VALUES_MEMORY_CONST;
        if (kind == ELF_USE_RAM)
            return shared && (!stack ||
                              (elf_image_variable_at(elf[i], address, &start, &size, &name) &&
                               sp - start >= size))
                       ? VALUES_MEMORY_SHARED
                       : own;
    }
    return stack ? own : VALUES_MEMORY_OTHER;
}

bool reverse_has_bit_band(const char *type)
{
    return strcasecmp(type, "Cortex-M3") == 0 || strcasecmp(type, "Cortex-M4") == 0;
}

bool reverse_has_limits(const char *type)
{
    static const char *const names[] = {"Cortex-M0", "Cortex-M0+", "Cortex-M0plus", "Cortex-M1",
                                        "Cortex-M3", "Cortex-M4",  "Cortex-M7"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(type, names[i]) == 0)
            return false;
    return strncasecmp(type, "Cortex-M", 8) == 0;
}

bool reverse_is_v4t(const char *type)
{
    static const char *const names[] = {"ARM7TDMI", "ARM7TDMI-S", "ARM720T", "ARM9TDMI",
                                        "ARM920T",  "ARM922T",    "ARM940T"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(type, names[i]) == 0)
            return true;
    return false;
}
