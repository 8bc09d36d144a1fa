/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/flash/flash_algorithm.h"
#include "decoder/base/bytes.h"

#include "drivers/base/file_load.h"

#include <ctype.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE     0x1000000u
#define MAX_SECTIONS 1024u
#define MAX_SYMBOLS  100000u
#define IMAGE_ALIGN  8u

/* The structure FlashDevice: little-endian, as a compiler for Arm lays it out. */
#define DEVICE_NAME       2u
#define DEVICE_START      132u
#define DEVICE_SIZE       136u
#define DEVICE_PAGE       140u
#define DEVICE_EMPTY      148u
#define DEVICE_PROGRAM_MS 152u
#define DEVICE_ERASE_MS   156u
#define DEVICE_SECTORS    160u
#define SECTOR_ENTRY      8u
#define SECTOR_END        0xffffffffu

static const char *const NAMES[FLASH_FUNCTIONS] = {
    [FLASH_INIT] = "Init",
    [FLASH_UNINIT] = "UnInit",
    [FLASH_ERASE_SECTOR] = "EraseSector",
    [FLASH_PROGRAM_PAGE] = "ProgramPage",
    [FLASH_ERASE_CHIP] = "EraseChip",
    [FLASH_BLANK_CHECK] = "BlankCheck",
    [FLASH_VERIFY] = "Verify",
};

const char *flash_function_name(enum flash_function function)
{
    return (unsigned)function < FLASH_FUNCTIONS ? NAMES[function] : "?";
}

/* One file while it is read. */
struct reader {
    Elf *elf;
    const uint8_t *data;
    size_t size;
    struct flash_algorithm *algorithm;
    size_t device_section;  /* of FlashDevice; 0: none */
    uint64_t device_offset; /* of FlashDevice in the file */
    uint64_t device_room;   /* bytes from there to the end of its section */
    uint64_t base;          /* address of the first byte of the image */
    uint64_t symbol[FLASH_FUNCTIONS];
    bool found[FLASH_FUNCTIONS];
    struct message *why;
};

/* Sections and symbols. */

static int check_header(struct reader *r)
{
    GElf_Ehdr h;
    size_t sections = 0;
    if (elf_kind(r->elf) != ELF_K_ELF || !gelf_getehdr(r->elf, &h))
        return message_fail(r->why, BT_ERR_FORMAT, "not an ELF file");
    if (h.e_machine != EM_ARM || h.e_ident[EI_CLASS] != ELFCLASS32 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB)
        return message_fail(r->why, BT_ERR_UNSUPPORTED,
                            "not for a little-endian Arm core of 32 bits");
    if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
        return message_fail(r->why, BT_ERR_UNSUPPORTED, "not linked");
    if (elf_getshdrnum(r->elf, &sections) != 0 || sections == 0)
        return message_fail(r->why, BT_ERR_FORMAT, "no sections");
    if (sections > MAX_SECTIONS)
        return message_fail(r->why, BT_ERR_RANGE, "too many sections");
    return 0;
}

/* The section's header, if its bytes are in the file. */
static bool section_at(const struct reader *r, size_t index, GElf_Shdr *header)
{
    Elf_Scn *scn = elf_getscn(r->elf, index);
    if (!scn || !gelf_getshdr(scn, header))
        return false;
    if (header->sh_addr > UINT32_MAX ||
        header->sh_size > UINT32_MAX + UINT64_C(1) - header->sh_addr)
        return false;
    return header->sh_type == SHT_NOBITS ||
           (header->sh_offset <= r->size && header->sh_size <= r->size - header->sh_offset);
}

static void note_symbol(struct reader *r, const char *name, const GElf_Sym *symbol)
{
    GElf_Shdr section;
    for (unsigned f = 0; f < FLASH_FUNCTIONS; f++) {
        if (!r->found[f] && strcmp(name, NAMES[f]) == 0) {
            r->symbol[f] = symbol->st_value;
            r->found[f] = true;
        }
    }
    if (r->device_section != 0 || strcmp(name, "FlashDevice") != 0 ||
        !section_at(r, symbol->st_shndx, &section) || section.sh_type == SHT_NOBITS ||
        symbol->st_value < section.sh_addr || symbol->st_value - section.sh_addr > section.sh_size)
        return;
    r->device_section = symbol->st_shndx;
    r->device_offset = section.sh_offset + (symbol->st_value - section.sh_addr);
    r->device_room = section.sh_size - (symbol->st_value - section.sh_addr);
}

static int read_symbols(struct reader *r)
{
    Elf_Scn *scn = NULL;
    while ((scn = elf_nextscn(r->elf, scn))) {
        GElf_Shdr header;
        if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_SYMTAB || header.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(scn, NULL);
        size_t count = data ? data->d_size / header.sh_entsize : 0;
        if (count > MAX_SYMBOLS)
            return message_fail(r->why, BT_ERR_RANGE, "too many symbols");
        for (size_t k = 0; k < count; k++) {
            GElf_Sym symbol;
            if (!gelf_getsym(data, (int)k, &symbol) || symbol.st_shndx == SHN_UNDEF ||
                symbol.st_shndx >= SHN_LORESERVE)
                continue;
            const char *name = elf_strptr(r->elf, header.sh_link, symbol.st_name);
            if (name)
                note_symbol(r, name, &symbol);
        }
    }
    return 0;
}

/* What every algorithm has. */
static int check_symbols(struct reader *r)
{
    char text[64];
    for (unsigned f = 0; f < FLASH_ERASE_CHIP; f++) {
        if (!r->found[f]) {
            snprintf(text, sizeof text, "no flash algorithm: no function %s", NAMES[f]);
            return message_fail(r->why, BT_ERR_FORMAT, "%s", text);
        }
    }
    if (r->device_section == 0)
        return message_fail(r->why, BT_ERR_FORMAT, "no flash algorithm: no FlashDevice");
    if (r->device_room < DEVICE_SECTORS + 2 * SECTOR_ENTRY)
        return message_fail(r->why, BT_ERR_FORMAT, "FlashDevice is cut off");
    return 0;
}

/* Sections that belong into RAM: not the description, unless it lies amid the code. */
static bool in_image(const struct reader *r, size_t index, const GElf_Shdr *header)
{
    bool description =
        index == r->device_section && (header->sh_flags & (SHF_EXECINSTR | SHF_WRITE)) == 0;
    return (header->sh_flags & SHF_ALLOC) != 0 && header->sh_size > 0 && !description &&
           (header->sh_type == SHT_PROGBITS || header->sh_type == SHT_NOBITS);
}

static int measure_image(struct reader *r, size_t sections)
{
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    uint64_t data = UINT64_MAX;
    for (size_t k = 1; k < sections; k++) {
        GElf_Shdr h;
        if (!section_at(r, k, &h))
            return message_fail(r->why, BT_ERR_FORMAT,
                                "a section reaches beyond the end of the file");
        if (!in_image(r, k, &h))
            continue;
        low = h.sh_addr < low ? h.sh_addr : low;
        high = h.sh_addr + h.sh_size > high ? h.sh_addr + h.sh_size : high;
        if ((h.sh_flags & SHF_WRITE) != 0 && h.sh_addr < data)
            data = h.sh_addr;
    }
    if (low > high)
        return message_fail(r->why, BT_ERR_FORMAT, "no code");
    r->base = low & ~(uint64_t)(IMAGE_ALIGN - 1);
    if (high - r->base > FLASH_ALGORITHM_IMAGE)
        return message_fail(r->why, BT_ERR_RANGE, "code and data are larger than 1 MB");
    r->algorithm->image_size = (uint32_t)(high - r->base);
    r->algorithm->static_base = (uint32_t)((data < high ? data : high) - r->base);
    return 0;
}

static int fill_image(struct reader *r, size_t sections)
{
    struct flash_algorithm *a = r->algorithm;
    a->image = calloc(1, a->image_size);
    if (!a->image)
        return message_fail(r->why, BT_ERR_NOMEM, "out of memory");
    for (size_t k = 1; k < sections; k++) {
        GElf_Shdr h;
        if (section_at(r, k, &h) && in_image(r, k, &h) && h.sh_type == SHT_PROGBITS)
            memcpy(a->image + (h.sh_addr - r->base), r->data + h.sh_offset, h.sh_size);
    }
    return 0;
}

/* Is there code at the address? */
static bool flash_executable(const struct reader *r, size_t sections, uint64_t address)
{
    for (size_t k = 1; k < sections; k++) {
        GElf_Shdr h;
        if (section_at(r, k, &h) && in_image(r, k, &h) && h.sh_type == SHT_PROGBITS &&
            (h.sh_flags & SHF_EXECINSTR) != 0 && address >= h.sh_addr &&
            address - h.sh_addr < h.sh_size)
            return true;
    }
    return false;
}

static int find_functions(struct reader *r, size_t sections)
{
    char text[64];
    for (unsigned f = 0; f < FLASH_FUNCTIONS; f++) {
        uint64_t address = r->symbol[f] & ~UINT64_C(1);
        r->algorithm->functions[f] = FLASH_ALGORITHM_NONE;
        if (!r->found[f])
            continue;
        if (!flash_executable(r, sections, address)) {
            snprintf(text, sizeof text, "function %s is outside of the code", NAMES[f]);
            return message_fail(r->why, BT_ERR_FORMAT, "%s", text);
        }
        r->algorithm->functions[f] = (uint32_t)(address - r->base);
    }
    return 0;
}

static int flash_add_region(struct reader *r, uint32_t sector, uint32_t offset, uint32_t end)
{
    struct flash_algorithm *a = r->algorithm;
    if (offset >= end || sector == 0 || (end - offset) % sector != 0)
        return message_fail(r->why, BT_ERR_FORMAT, "the sector table makes no sense");
    a->regions[a->region_count++] = (struct flash_region){
        .start = a->start + offset, .size = end - offset, .sector_size = sector};
    return 0;
}

static int read_sectors(struct reader *r)
{
    struct flash_algorithm *a = r->algorithm;
    const uint8_t *entry = r->data + r->device_offset + DEVICE_SECTORS;
    uint64_t room = (r->device_room - DEVICE_SECTORS) / SECTOR_ENTRY;
    uint64_t count = 0;
    while (count < room && (bytes_word(entry + SECTOR_ENTRY * count) != SECTOR_END ||
                            bytes_word(entry + SECTOR_ENTRY * count + 4) != SECTOR_END))
        count++;
    if (count == room || count == 0 || count > FLASH_ALGORITHM_REGIONS ||
        bytes_word(entry + 4) != 0)
        return message_fail(r->why, BT_ERR_FORMAT, "the sector table has no start or no end");
    a->regions = calloc(count, sizeof *a->regions);
    if (!a->regions)
        return message_fail(r->why, BT_ERR_NOMEM, "out of memory");
    int error = 0;
    for (uint64_t k = 0; error == 0 && k < count; k++) {
        const uint8_t *next = entry + SECTOR_ENTRY * (k + 1);
        uint32_t end = k + 1 < count ? bytes_word(next + 4) : a->size;
        error =
            end > a->size
                ? message_fail(r->why, BT_ERR_FORMAT, "the sector table is longer than the flash")
                : flash_add_region(r, bytes_word(next - SECTOR_ENTRY), bytes_word(next - 4), end);
    }
    return error;
}

static int read_device(struct reader *r)
{
    struct flash_algorithm *a = r->algorithm;
    const uint8_t *d = r->data + r->device_offset;
    for (unsigned k = 0; k < FLASH_ALGORITHM_NAME && d[DEVICE_NAME + k] != 0; k++)
        a->name[k] = isprint(d[DEVICE_NAME + k]) ? (char)d[DEVICE_NAME + k] : '?';
    a->start = bytes_word(d + DEVICE_START);
    a->size = bytes_word(d + DEVICE_SIZE);
    a->page_size = bytes_word(d + DEVICE_PAGE);
    a->empty = d[DEVICE_EMPTY];
    a->program_ms = bytes_word(d + DEVICE_PROGRAM_MS);
    a->erase_ms = bytes_word(d + DEVICE_ERASE_MS);
    if (a->size == 0 || a->size - 1 > UINT32_MAX - a->start)
        return message_fail(r->why, BT_ERR_FORMAT, "the size of the flash makes no sense");
    if (a->page_size == 0 || a->page_size > FLASH_ALGORITHM_PAGE)
        return message_fail(r->why, BT_ERR_FORMAT, "the size of a page makes no sense");
    return read_sectors(r);
}

static int flash_read_all(struct reader *r)
{
    size_t sections = 0;
    int error = check_header(r);
    if (error == 0)
        error = read_symbols(r);
    if (error == 0)
        error = check_symbols(r);
    if (error == 0 && elf_getshdrnum(r->elf, &sections) != 0)
        error = message_fail(r->why, BT_ERR_FORMAT, "no sections");
    if (error == 0)
        error = measure_image(r, sections);
    if (error == 0)
        error = find_functions(r, sections);
    if (error == 0)
        error = read_device(r);
    return error == 0 ? fill_image(r, sections) : error;
}

int flash_algorithm_from_memory(const uint8_t *data, size_t size, struct flash_algorithm **out,
                                struct message *why)
{
    struct reader r = {.size = size, .why = why};
    int error = 0;
    *out = NULL;
    if (size > MAX_FILE)
        return message_fail(why, BT_ERR_RANGE, "larger than 16 MB");
    if (elf_version(EV_CURRENT) == EV_NONE)
        return message_fail(why, BT_ERR_UNSUPPORTED, "libelf is too old");
    /* A copy of its own: aligned, and libelf may convert in place. */
    uint8_t *copy = malloc(size ? size : 1);
    r.algorithm = calloc(1, sizeof *r.algorithm);
    if (!copy || !r.algorithm) {
        error = message_fail(why, BT_ERR_NOMEM, "out of memory");
    } else {
        memcpy(copy, data, size);
        r.data = data;
        r.elf = elf_memory((char *)copy, size);
        error = r.elf ? flash_read_all(&r) : message_fail(why, BT_ERR_FORMAT, "not an ELF file");
    }
    elf_end(r.elf);
    free(copy);
    if (error == 0)
        *out = r.algorithm;
    else
        flash_algorithm_close(r.algorithm);
    return error;
}

int flash_algorithm_open(const char *path, struct flash_algorithm **out, struct message *why)
{
    char *data = NULL;
    size_t size = 0;
    *out = NULL;
    int error = file_load_path(path, MAX_FILE, &data, &size);
    if (error == 0)
        error = flash_algorithm_from_memory((const uint8_t *)data, size, out, why);
    else
        message_set(why, "%s", error == BT_ERR_IO ? strerror(errno) : bt_strerror(error));
    free(data);
    return error;
}

void flash_algorithm_close(struct flash_algorithm *algorithm)
{
    if (!algorithm)
        return;
    free(algorithm->regions);
    free(algorithm->image);
    free(algorithm);
}

int flash_algorithm_sector(const struct flash_algorithm *algorithm, uint32_t address,
                           uint32_t *start, uint32_t *size)
{
    for (unsigned k = 0; k < algorithm->region_count; k++) {
        const struct flash_region *region = &algorithm->regions[k];
        uint32_t offset = address - region->start;
        if (address < region->start || offset >= region->size)
            continue;
        *start = address - offset % region->sector_size;
        *size = region->sector_size;
        return 0;
    }
    return BT_ERR_RANGE;
}
