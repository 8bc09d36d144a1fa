/* SPDX-License-Identifier: BSD-3-Clause */
/* ELF files, and build attributes by themselves. */
#include <stdlib.h>
#include <string.h>

#include "drivers/elf/elf_image_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_address(const struct elf_image *image, uint64_t address)
{
    uint64_t offset = 0;
    const struct elf_symbol *symbol = elf_image_symbol(image, address, &offset);
    require(!symbol || symbol->address + offset == address);
    elf_image_content(image, address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A block of that very size, so that reads beyond it are seen, and aligned as a mapping is. */
    uint8_t *file = malloc(size ? size : 1);
    if (!file)
        return 0;
    memcpy(file, data, size);
    struct elf_image *image;
    struct message why;
    int result = elf_image_from_memory(file, size, &image, &why);
    require((result == 0) == (image != NULL));
    if (image) {
        for (size_t i = 0; i < image->segment_count; i++) {
            const struct elf_segment *s = &image->segments[i];
            require(s->data >= file && s->file_size <= size - (size_t)(s->data - file));
            require(s->file_size <= s->mem_size);
            require(i == 0 || s[-1].vaddr <= s->vaddr);
            check_address(image, s->vaddr);
            check_address(image, s->vaddr + s->file_size - 1);
        }
        for (size_t i = 0; i < image->symbol_count; i++) {
            require(i == 0 || image->symbols[i - 1].address <= image->symbols[i].address);
            check_address(image, image->symbols[i].address + image->symbols[i].size / 2);
            elf_image_find(image, image->symbols[i].name);
        }
        require(memcmp(file, data, size) == 0); /* libelf did not write to it */
        elf_image_close(image);
    }
    struct elf_image attributes = {0};
    elf_attributes_parse(&attributes, file, size, (size & 1) != 0);
    require(memchr(attributes.cpu_name, 0, sizeof attributes.cpu_name) != NULL);
    free(file);
    return 0;
}
