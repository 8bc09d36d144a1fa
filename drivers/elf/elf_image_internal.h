/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by elf_*.c; nobody else includes it. */
#ifndef DRIVERS_ELF_IMAGE_INTERNAL_H
#define DRIVERS_ELF_IMAGE_INTERNAL_H

#include <libelf.h>

#include "drivers/elf/elf_image.h"

#define ELF_MAX_SEGMENTS 4096u
#define ELF_MAX_SYMBOLS  (8u << 20)

/* A mapping symbol: in effect from `address` to the next one, or to the end of its section. */
struct elf_mapping {
    uint64_t address;
    uint64_t end;
    enum elf_content content;
};

#define ELF_NO_COVER SIZE_MAX

struct elf_image_private {
    void *map; /* the file, or NULL if the bytes are the caller's */
    size_t map_size;
    Elf *elf;      /* keeps the symbols' names */
    size_t *cover; /* of each symbol: the innermost sized one around its address, not itself */
    struct elf_mapping *mappings; /* sorted by address */
    size_t mapping_count;
};

/* Parse build attributes (ADDENDA32 3): the contents of the section, byte order of the file. */
void elf_attributes_parse(struct elf_image *image, const uint8_t *data, size_t size,
                          bool big_endian);

#endif
