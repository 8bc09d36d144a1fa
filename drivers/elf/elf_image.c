/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/elf/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_image_internal.h"

/* Where the reason of a refusal goes. */
struct reason {
    char *text;
    size_t size;
};

static int elf_refuse(struct reason *why, int error, const char *text)
{
    if (why->text && why->size > 0)
        snprintf(why->text, why->size, "%s", text);
    return error;
}

static int read_header(struct elf_image *image, struct reason *why)
{
    GElf_Ehdr header;
    if (elf_kind(image->priv->elf) != ELF_K_ELF || !gelf_getehdr(image->priv->elf, &header))
        return elf_refuse(why, BT_ERR_FORMAT, "not an ELF file");
    unsigned char class = header.e_ident[EI_CLASS];
    if (header.e_machine == EM_ARM && class == ELFCLASS32)
        image->machine = ELF_MACHINE_ARM;
    else if (header.e_machine == EM_AARCH64 && class == ELFCLASS64)
        image->machine = ELF_MACHINE_AARCH64;
    else
        return elf_refuse(why, BT_ERR_UNSUPPORTED, "not for ARM or AArch64");
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return elf_refuse(why, BT_ERR_UNSUPPORTED, "not linked: neither executable nor shared object");

    image->big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    if (image->machine == ELF_MACHINE_ARM) {
        image->be8 = image->big_endian && (header.e_flags & EF_ARM_BE8) != 0;
        image->code_big_endian = image->big_endian && !image->be8;
        image->hard_float = (header.e_flags & EF_ARM_ABI_FLOAT_HARD) != 0;
        image->entry_thumb = (header.e_entry & 1) != 0;
        image->entry = header.e_entry & ~UINT64_C(1);
    } else {
        image->entry = header.e_entry; /* A64 code is little-endian always */
    }
    return 0;
}

static int check_segment(const GElf_Phdr *ph, const struct elf_image *image, size_t file_size,
                         struct reason *why)
{
    uint64_t last = image->machine == ELF_MACHINE_ARM ? UINT32_MAX : UINT64_MAX;
    if (ph->p_offset > file_size || ph->p_filesz > file_size - ph->p_offset)
        return elf_refuse(why, BT_ERR_FORMAT, "a segment reaches beyond the end of the file");
    if (ph->p_filesz > ph->p_memsz)
        return elf_refuse(why, BT_ERR_FORMAT, "a segment has more bytes in the file than in memory");
    if (ph->p_vaddr > last || ph->p_memsz - 1 > last - ph->p_vaddr)
        return elf_refuse(why, BT_ERR_FORMAT, "a segment reaches beyond the last address");
    return 0;
}

static int compare_segments(const void *a, const void *b)
{
    const struct elf_segment *x = a, *y = b;
    if (x->vaddr != y->vaddr)
        return x->vaddr < y->vaddr ? -1 : 1;
    return x->data < y->data ? -1 : x->data > y->data;
}

static int read_segments(struct elf_image *image, const uint8_t *data, size_t size,
                         struct reason *why)
{
    size_t count = 0;
    GElf_Ehdr header;
    /* libelf leaves out headers that reach beyond the file: then the numbers differ. */
    if (elf_getphdrnum(image->priv->elf, &count) != 0 || !gelf_getehdr(image->priv->elf, &header) ||
        (header.e_phnum != PN_XNUM && header.e_phnum != count))
        return elf_refuse(why, BT_ERR_FORMAT, "damaged program headers");
    if (count > ELF_MAX_SEGMENTS)
        return elf_refuse(why, BT_ERR_RANGE, "too many program headers");
    image->segments = calloc(count ? count : 1, sizeof *image->segments);
    if (!image->segments)
        return elf_refuse(why, BT_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr ph;
        if (!gelf_getphdr(image->priv->elf, (int)i, &ph))
            return elf_refuse(why, BT_ERR_FORMAT, "damaged program headers");
        if (ph.p_type != PT_LOAD || ph.p_filesz == 0)
            continue;
        int result = check_segment(&ph, image, size, why);
        if (result != 0)
            return result;
        image->segments[image->segment_count++] = (struct elf_segment){
            .vaddr = ph.p_vaddr,
            .paddr = ph.p_paddr,
            .data = data + ph.p_offset,
            .file_size = ph.p_filesz,
            .mem_size = ph.p_memsz,
            .executable = (ph.p_flags & PF_X) != 0,
            .writable = (ph.p_flags & PF_W) != 0,
        };
    }
    if (image->segment_count > 1)
        qsort(image->segments, image->segment_count, sizeof *image->segments, compare_segments);
    return 0;
}

int elf_image_bytes(const struct elf_image *image, uint64_t address, const uint8_t **data,
                    uint64_t *size)
{
    /* Few segments, and hostile ones may overlap: the first that has the address. */
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (address < s->vaddr || address - s->vaddr >= s->file_size)
            continue;
        *data = s->data + (address - s->vaddr);
        *size = s->file_size - (address - s->vaddr);
        return 0;
    }
    return BT_ERR_NO_CODE;
}

/* Open and close. */

static int elf_load(struct elf_image *image, const uint8_t *data, size_t size, struct reason *why)
{
    if (size < EI_NIDENT)
        return elf_refuse(why, BT_ERR_FORMAT, "not an ELF file");
    if (elf_version(EV_CURRENT) == EV_NONE)
        return elf_refuse(why, BT_ERR_UNSUPPORTED, "libelf is too old");
    /* libelf wants a char *, and only reads. */
    union {
        const uint8_t *in;
        char *out;
    } unconst = {.in = data};
    image->priv->elf = elf_memory(unconst.out, size);
    if (!image->priv->elf)
        return elf_refuse(why, BT_ERR_FORMAT, "damaged ELF header");
    int result = read_header(image, why);
    if (result == 0)
        result = read_segments(image, data, size, why);
    if (result != 0)
        return result;
    if (image->machine == ELF_MACHINE_ARM)
        elf_attributes_load(image);
    result = elf_symbols_load(image);
    if (result != 0)
        return elf_refuse(why, result, result == BT_ERR_RANGE ? "too many symbols" : "out of memory");
    return 0;
}

int elf_image_from_memory(const uint8_t *data, size_t size, struct elf_image **out, char *why,
                          size_t why_size)
{
    struct reason reason = {.text = why, .size = why_size};
    *out = NULL;
    struct elf_image *image = calloc(1, sizeof *image);
    struct elf_image_private *priv = calloc(1, sizeof *priv);
    if (!image || !priv) {
        free(image);
        free(priv);
        return elf_refuse(&reason, BT_ERR_NOMEM, "out of memory");
    }
    image->priv = priv;
    int result = elf_load(image, data, size, &reason);
    if (result != 0) {
        elf_image_close(image);
        return result;
    }
    *out = image;
    return 0;
}

/* Map a regular, non-empty file read-only. 0, or BT_ERR_IO with errno. */
static int map_file(const char *path, void **map, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return BT_ERR_IO;
    struct stat st;
    int saved = 0;
    *map = MAP_FAILED;
    if (fstat(fd, &st) != 0) {
        saved = errno;
    } else if (!S_ISREG(st.st_mode) || st.st_size == 0) {
        saved = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    } else {
        *size = (size_t)st.st_size;
        *map = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
        saved = errno;
    }
    close(fd);
    errno = saved;
    return *map == MAP_FAILED ? BT_ERR_IO : 0;
}

int elf_image_open(const char *path, struct elf_image **out, char *why, size_t why_size)
{
    struct reason reason = {.text = why, .size = why_size};
    *out = NULL;
    void *map;
    size_t size;
    if (map_file(path, &map, &size) != 0) {
        int saved = errno;
        elf_refuse(&reason, BT_ERR_IO, strerror(saved));
        errno = saved;
        return BT_ERR_IO;
    }
    int result = elf_image_from_memory(map, size, out, why, why_size);
    if (result != 0) {
        munmap(map, size);
        return result;
    }
    (*out)->priv->map = map;
    (*out)->priv->map_size = size;
    return 0;
}

void elf_image_close(struct elf_image *image)
{
    if (!image)
        return;
    if (image->priv->elf)
        elf_end(image->priv->elf);
    if (image->priv->map)
        munmap(image->priv->map, image->priv->map_size);
    free(image->priv->cover);
    free(image->priv->mappings);
    free(image->priv);
    free(image->segments);
    free(image->symbols);
    free(image);
}
