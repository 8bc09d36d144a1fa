/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/past_machine.h"

#include <strings.h>

#define STACK_NEAR 16384u /* bytes on either side of SP that are taken for the stack */

#define SYSM_PSP     9
#define SYSM_CONTROL 20

/* MSR PSP or CONTROL, or a coprocessor instruction of the FPU. */
static bool other_stack(uint16_t h1, uint16_t h2)
{
    bool msr = (h1 & 0xfff0) == 0xf380 && (h2 & 0xff00) == 0x8800;
    unsigned sysm = h2 & 0xff;
    bool fpu = (h1 & 0xec00) == 0xec00 && (h2 & 0x0e00) == 0x0a00;
    return (msr && (sysm == SYSM_PSP || sysm == SYSM_CONTROL)) || fpu;
}

static bool segment_switches(const struct elf_image *elf, const struct elf_segment *s)
{
    for (uint64_t i = 0; i + 4 <= s->file_size; i += 2) {
        const uint8_t *at = s->data + i;
        bool big = elf->code_big_endian;
        uint16_t h1 = (uint16_t)(at[big] | at[!big] << 8);
        uint16_t h2 = (uint16_t)(at[2 + big] | at[2 + !big] << 8);
        if (other_stack(h1, h2) && elf_image_content(elf, s->vaddr + i) != ELF_CONTENT_DATA)
            return true;
    }
    return false;
}

bool past_one_stack(struct elf_image *const *elf, size_t elf_count)
{
    for (size_t i = 0; i < elf_count; i++)
        for (size_t k = 0; k < elf[i]->segment_count; k++)
            if (elf[i]->segments[k].executable && segment_switches(elf[i], &elf[i]->segments[k]))
                return false;
    return elf_count > 0;
}

enum recover_memory past_memory_kind(struct elf_image *const *elf, size_t elf_count,
                                     uint32_t address, uint32_t sp, bool shared)
{
    bool stack = address - (sp - STACK_NEAR) < 2 * STACK_NEAR;
    for (size_t i = 0; i < elf_count; i++) {
        enum elf_use kind = elf_image_use(elf[i], address);
        if (kind == ELF_USE_CONST)
            return RECOVER_MEMORY_CONST;
        if (kind == ELF_USE_RAM)
            return stack || !shared ? RECOVER_MEMORY_RAM : RECOVER_MEMORY_OTHER;
    }
    return stack ? RECOVER_MEMORY_RAM : RECOVER_MEMORY_OTHER;
}

bool past_is_v4t(const char *type)
{
    static const char *const names[] = {"ARM7TDMI", "ARM7TDMI-S", "ARM720T", "ARM9TDMI",
                                        "ARM920T",  "ARM922T",    "ARM940T"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(type, names[i]) == 0)
            return true;
    return false;
}
