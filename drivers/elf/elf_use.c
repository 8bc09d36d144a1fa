/* SPDX-License-Identifier: BSD-3-Clause */
/* What the sections of a program say of memory at an address. */
#include <gelf.h>

#include "elf_image_internal.h"

static enum elf_use of_segment(const struct elf_image *image, uint64_t address)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (address >= s->vaddr && address - s->vaddr < s->mem_size)
            return s->writable ? ELF_USE_RAM : ELF_USE_CONST;
    }
    return ELF_USE_NONE;
}

enum elf_use elf_image_use(const struct elf_image *image, uint64_t address)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(image->priv->elf, section)) != NULL) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL || !(header.sh_flags & SHF_ALLOC) ||
            address < header.sh_addr || address - header.sh_addr >= header.sh_size)
            continue;
        return header.sh_flags & SHF_WRITE ? ELF_USE_RAM : ELF_USE_CONST;
    }
    return of_segment(image, address);
}
