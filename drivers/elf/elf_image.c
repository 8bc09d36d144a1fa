/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/elf/elf_image.h"
#include "decoder/base/bytes.h"

#include "decoder/base/search.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_image_internal.h"

#define TAG_FILE             1
#define TAG_CPU_RAW_NAME     4
#define TAG_CPU_NAME         5
#define TAG_CPU_ARCH         6
#define TAG_CPU_ARCH_PROFILE 7
#define TAG_COMPATIBILITY    32

/* Tag_CPU_arch values that imply a profile. */
#define ARCH_V6_M      11
#define ARCH_V6S_M     12
#define ARCH_V7E_M     13
#define ARCH_V8_A      14
#define ARCH_V8_R      15
#define ARCH_V8_M_BASE 16
#define ARCH_V8_M_MAIN 17
#define ARCH_V8_1_M    21
#define ARCH_V9_A      22

/* What is left of a piece of the section. Reads past the end give zeros and set `bad`. */
struct cursor {
    const uint8_t *p;
    const uint8_t *end;
    bool big_endian;
    bool bad;
};

static size_t elf_left(const struct cursor *c)
{
    return (size_t)(c->end - c->p);
}

static uint32_t take_u32(struct cursor *c)
{
    if (elf_left(c) < 4) {
        c->bad = true;
        c->p = c->end;
        return 0;
    }
    c->p += 4;
    return (uint32_t)bytes_number(c->p - 4, 4, c->big_endian);
}

static uint64_t take_uleb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; c->p < c->end; shift += 7) {
        uint8_t byte = *c->p++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    c->bad = true;
    return 0;
}

/* A NUL-terminated string; "" at a damaged end. */
static const char *take_string(struct cursor *c)
{
    const uint8_t *nul = elf_left(c) > 0 ? memchr(c->p, 0, elf_left(c)) : NULL;
    if (!nul) {
        c->bad = true;
        c->p = c->end;
        return "";
    }
    const char *text = (const char *)c->p;
    c->p = nul + 1;
    return text;
}

/* Cut the next `size` bytes off. */
static struct cursor take_part(struct cursor *c, size_t size)
{
    struct cursor part = *c;
    if (size > elf_left(c)) {
        c->bad = part.bad = true;
        size = elf_left(c);
    }
    part.end = c->p + size;
    c->p += size;
    return part;
}

/* How a tag's value is written (ADDENDA32 3.2): even tags from 32 on are numbers, odd ones strings;
 * those below have a form of their own. */
static bool tag_is_string(uint64_t tag)
{
    if (tag == TAG_CPU_RAW_NAME || tag == TAG_CPU_NAME)
        return true;
    return tag > TAG_COMPATIBILITY && (tag & 1) != 0;
}

static void copy_name(char *out, size_t size, const char *text)
{
    size_t n = 0;
    for (; text[n] && n + 1 < size; n++)
        out[n] = text[n] >= 0x20 && text[n] < 0x7f ? text[n] : '?';
    out[n] = '\0';
}

static void take_attributes(struct elf_image *image, struct cursor c)
{
    while (c.p < c.end && !c.bad) {
        uint64_t tag = take_uleb(&c);
        if (tag_is_string(tag)) {
            const char *text = take_string(&c);
            if (tag == TAG_CPU_NAME && !c.bad)
                copy_name(image->cpu_name, sizeof image->cpu_name, text);
            continue;
        }
        uint64_t value = take_uleb(&c);
        if (tag == TAG_COMPATIBILITY)
            take_string(&c);
        if (c.bad)
            return;
        if (tag == TAG_CPU_ARCH && value < 256)
            image->cpu_arch = (unsigned)value;
        else if (tag == TAG_CPU_ARCH_PROFILE &&
                 (value == 'A' || value == 'R' || value == 'M' || value == 'S'))
            image->profile = (char)value;
    }
}

static char profile_of_arch(unsigned arch)
{
    switch (arch) {
    case ARCH_V6_M:
    case ARCH_V6S_M:
    case ARCH_V7E_M:
    case ARCH_V8_M_BASE:
    case ARCH_V8_M_MAIN:
    case ARCH_V8_1_M:
        return 'M';
    case ARCH_V8_A:
    case ARCH_V9_A:
        return 'A';
    case ARCH_V8_R:
        return 'R';
    default:
        return 0;
    }
}

/* One vendor's subsection. */
static void take_vendor(struct elf_image *image, struct cursor c)
{
    if (strcmp(take_string(&c), "aeabi") != 0)
        return;
    while (c.p < c.end && !c.bad) {
        const uint8_t *start = c.p;
        uint64_t tag = take_uleb(&c);
        uint32_t size = take_u32(&c);
        size_t used = (size_t)(c.p - start);
        if (c.bad || size < used)
            return;
        struct cursor part = take_part(&c, size - used);
        /* Attributes of single sections or symbols are not of interest. */
        if (tag == TAG_FILE)
            take_attributes(image, part);
    }
}

void elf_attributes_parse(struct elf_image *image, const uint8_t *data, size_t size,
                          bool big_endian)
{
    if (size == 0 || data[0] != 'A')
        return;
    struct cursor c = {.p = data + 1, .end = data + size, .big_endian = big_endian};
    while (c.p < c.end && !c.bad) {
        uint32_t length = take_u32(&c);
        if (c.bad || length < 4)
            break;
        take_vendor(image, take_part(&c, length - 4));
    }
    if (image->profile == 0)
        image->profile = profile_of_arch(image->cpu_arch);
}

/* Fill in profile, cpu_arch and cpu_name from .ARM.attributes, as far as it can be read. */
static void elf_attributes_load(struct elf_image *image)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(image->priv->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_ARM_ATTRIBUTES)
            continue;
        const Elf_Data *data = elf_rawdata(section, NULL);
        if (data && data->d_buf)
            elf_attributes_parse(image, data->d_buf, data->d_size, image->big_endian);
        return;
    }
}

/* A symbol while they are collected. Of several at one address the last in the order wins. */
struct candidate {
    struct elf_symbol symbol;
    unsigned rank; /* label < local < weak < global */
};

struct collector {
    struct elf_image *image;
    Elf_Data *data;
    size_t strings; /* section number of the names */
    struct candidate *candidates;
    size_t count;
};

/* Mapping symbols. */

/* $a, $t, $d, $x, alone or followed by a dot and anything (AAELF32 5.5.5, AAELF64 5.9). */
static enum elf_content mapping_kind(const char *name)
{
    if (name[0] != '$' || name[1] == '\0' || (name[2] != '\0' && name[2] != '.'))
        return ELF_CONTENT_UNKNOWN;
    switch (name[1]) {
    case 'a':
        return ELF_CONTENT_A32;
    case 't':
        return ELF_CONTENT_T32;
    case 'd':
        return ELF_CONTENT_DATA;
    case 'x':
        return ELF_CONTENT_A64;
    default:
        return ELF_CONTENT_UNKNOWN;
    }
}

static int compare_mappings(const void *a, const void *b)
{
    const struct elf_mapping *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (int)x->content - (int)y->content;
}

enum elf_content elf_image_content(const struct elf_image *image, uint64_t address)
{
    const struct elf_mapping *m = image->priv->mappings;
    size_t low;
    SEARCH_FIRST(low, image->priv->mapping_count, m[low].address <= address);
    if (low == 0 || address >= m[low - 1].end)
        return ELF_CONTENT_UNKNOWN;
    return m[low - 1].content;
}

/* End of the section that holds a symbol; 0 if it is not in a section of code. */
static uint64_t code_section_end(const struct collector *c, const GElf_Sym *sym)
{
    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
        return 0;
    Elf_Scn *section = elf_getscn(c->image->priv->elf, sym->st_shndx);
    GElf_Shdr header;
    if (!section || !gelf_getshdr(section, &header) || (header.sh_flags & SHF_EXECINSTR) == 0)
        return 0;
    if (header.sh_size > UINT64_MAX - header.sh_addr)
        return UINT64_MAX;
    return header.sh_addr + header.sh_size;
}

static void take_mapping(struct collector *c, const GElf_Sym *sym, enum elf_content content)
{
    uint64_t end = code_section_end(c, sym);
    if (end == 0)
        return;
    struct elf_image_private *priv = c->image->priv;
    priv->mappings[priv->mapping_count++] =
        (struct elf_mapping){.address = sym->st_value, .end = end, .content = content};
}

static unsigned rank_of(const GElf_Sym *sym)
{
    if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)
        return 0;
    switch (GELF_ST_BIND(sym->st_info)) {
    case STB_GLOBAL:
        return 3;
    case STB_WEAK:
        return 2;
    default:
        return 1;
    }
}

static void take_symbol(struct collector *c, const GElf_Sym *sym)
{
    unsigned type = GELF_ST_TYPE(sym->st_info);
    bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if ((!function && type != STT_NOTYPE) || sym->st_shndx == SHN_UNDEF)
        return;
    const char *name = elf_strptr(c->image->priv->elf, c->strings, sym->st_name);
    if (!name || name[0] == '\0')
        return;
    enum elf_content kind = function ? ELF_CONTENT_UNKNOWN : mapping_kind(name);
    if (kind != ELF_CONTENT_UNKNOWN) {
        take_mapping(c, sym, kind);
        return;
    }
    if (name[0] == '$' || (!function && code_section_end(c, sym) == 0))
        return;
    bool arm = c->image->machine == ELF_MACHINE_ARM;
    c->candidates[c->count++] = (struct candidate){
        .symbol = {.address = arm ? sym->st_value & ~UINT64_C(1) : sym->st_value,
                   .size = sym->st_size,
                   .name = name,
                   .thumb = arm && (sym->st_value & 1) != 0},
        .rank = rank_of(sym),
    };
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->symbol.address != y->symbol.address)
        return x->symbol.address < y->symbol.address ? -1 : 1;
    if (x->symbol.size != y->symbol.size)
        return x->symbol.size < y->symbol.size ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(y->symbol.name, x->symbol.name);
}

static bool elf_covers(const struct elf_symbol *s, uint64_t address)
{
    return address >= s->address && address - s->address < s->size;
}

/* Copy the sorted candidates out, and note for each the sized symbol around it. */
static int elf_publish(struct collector *c)
{
    struct elf_image *image = c->image;
    if (c->count == 0)
        return 0;
    image->symbols = calloc(c->count, sizeof *image->symbols);
    image->priv->cover = calloc(c->count, sizeof *image->priv->cover);
    if (!image->symbols || !image->priv->cover)
        return BT_ERR_NOMEM;
    image->symbol_count = c->count;
    size_t outer = ELF_NO_COVER; /* innermost sized symbol that is still open */
    for (size_t i = 0; i < c->count; i++) {
        image->symbols[i] = c->candidates[i].symbol;
        struct elf_symbol *s = &image->symbols[i];
        while (outer != ELF_NO_COVER && !elf_covers(&image->symbols[outer], s->address))
            outer = image->priv->cover[outer];
        image->priv->cover[i] = outer;
        if (s->size > 0)
            outer = i;
        /* A label of the assembler has no Thumb bit; the mapping symbols know. */
        if (image->machine == ELF_MACHINE_ARM && !s->thumb && c->candidates[i].rank == 0)
            s->thumb = elf_image_content(image, s->address) == ELF_CONTENT_T32;
    }
    return 0;
}

/* The table to use: .symtab, or else .dynsym. NULL if there is none. */
static Elf_Scn *find_table(const struct elf_image *image, GElf_Shdr *header)
{
    Elf_Scn *dynamic = NULL;
    GElf_Shdr dynamic_header = {0};
    for (Elf_Scn *s = NULL; (s = elf_nextscn(image->priv->elf, s));) {
        if (!gelf_getshdr(s, header))
            continue;
        if (header->sh_type == SHT_SYMTAB)
            return s;
        if (header->sh_type == SHT_DYNSYM && !dynamic) {
            dynamic = s;
            dynamic_header = *header;
        }
    }
    *header = dynamic_header;
    return dynamic;
}

/* Fill in symbols, cover and mappings. 0, BT_ERR_RANGE or BT_ERR_NOMEM. */
static int elf_symbols_load(struct elf_image *image)
{
    GElf_Shdr header;
    Elf_Scn *table = find_table(image, &header);
    struct collector c = {.image = image, .strings = table ? header.sh_link : 0};
    c.data = table ? elf_getdata(table, NULL) : NULL;
    size_t entry = gelf_fsize(image->priv->elf, ELF_T_SYM, 1, EV_CURRENT);
    if (!c.data || !c.data->d_buf || entry == 0)
        return 0; /* stripped, or damaged: no names */
    size_t count = c.data->d_size / entry;
    if (count > ELF_MAX_SYMBOLS)
        return BT_ERR_RANGE;
    if (count == 0)
        return 0;
    c.candidates = calloc(count, sizeof *c.candidates);
    image->priv->mappings = calloc(count, sizeof *image->priv->mappings);
    if (!c.candidates || !image->priv->mappings) {
        free(c.candidates);
        return BT_ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Sym sym;
        if (gelf_getsym(c.data, (int)i, &sym))
            take_symbol(&c, &sym);
    }
    qsort(image->priv->mappings, image->priv->mapping_count, sizeof *image->priv->mappings,
          compare_mappings);
    qsort(c.candidates, c.count, sizeof *c.candidates, compare_candidates);
    int error = elf_publish(&c);
    free(c.candidates);
    return error;
}

bool elf_image_variable(const struct elf_image *image, const char *name, uint64_t *address,
                        uint64_t *size)
{
    GElf_Shdr header = {0};
    Elf_Scn *table = find_table(image, &header);
    Elf_Data *data = table ? elf_getdata(table, NULL) : NULL;
    GElf_Sym sym;
    for (int i = 0; data && data->d_buf && gelf_getsym(data, i, &sym); i++) {
        const char *other = elf_strptr(image->priv->elf, header.sh_link, sym.st_name);
        if (GELF_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_shndx == SHN_UNDEF || !other ||
            strcmp(other, name) != 0)
            continue;
        *address = sym.st_value;
        *size = sym.st_size;
        return true;
    }
    return false;
}

bool elf_image_variable_at(const struct elf_image *image, uint64_t address, uint64_t *start,
                           uint64_t *size, const char **name)
{
    GElf_Shdr header = {0};
    Elf_Scn *table = find_table(image, &header);
    Elf_Data *data = table ? elf_getdata(table, NULL) : NULL;
    GElf_Sym sym;
    for (int i = 0; data && data->d_buf && gelf_getsym(data, i, &sym); i++) {
        if (GELF_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_shndx == SHN_UNDEF ||
            address < sym.st_value || address - sym.st_value >= sym.st_size)
            continue;
        *start = sym.st_value;
        *size = sym.st_size;
        *name = elf_strptr(image->priv->elf, header.sh_link, sym.st_name);
        return *name != NULL;
    }
    return false;
}

static bool same_segment(const struct elf_image *image, uint64_t a, uint64_t b)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (a >= s->vaddr && a - s->vaddr < s->mem_size && b >= s->vaddr &&
            b - s->vaddr < s->mem_size)
            return true;
    }
    return false;
}

const struct elf_symbol *elf_image_symbol(const struct elf_image *image, uint64_t address,
                                          uint64_t *offset)
{
    size_t low;
    SEARCH_FIRST(low, image->symbol_count, image->symbols[low].address <= address);
    if (low == 0)
        return NULL;
    size_t nearest = low - 1;
    const struct elf_symbol *found = NULL;
    for (size_t i = nearest; i != ELF_NO_COVER && !found; i = image->priv->cover[i])
        if (elf_covers(&image->symbols[i], address))
            found = &image->symbols[i];
    if (!found && image->symbols[nearest].size == 0 &&
        same_segment(image, image->symbols[nearest].address, address))
        found = &image->symbols[nearest];
    if (found && offset)
        *offset = address - found->address;
    return found;
}

const struct elf_symbol *elf_image_find(const struct elf_image *image, const char *name)
{
    for (size_t i = 0; i < image->symbol_count; i++)
        if (strcmp(image->symbols[i].name, name) == 0)
            return &image->symbols[i];
    return NULL;
}

/* A file that was cut: what its header points to lies behind its end. */
static bool is_truncated(const GElf_Ehdr *h, size_t size)
{
    uint64_t programs = (uint64_t)h->e_phnum * h->e_phentsize;
    uint64_t sections = (uint64_t)h->e_shnum * h->e_shentsize;
    return (programs && (h->e_phoff > size || programs > size - h->e_phoff)) ||
           (sections && (h->e_shoff > size || sections > size - h->e_shoff));
}

static int read_header(struct elf_image *image, size_t size, struct message *why)
{
    GElf_Ehdr header;
    if (elf_kind(image->priv->elf) != ELF_K_ELF || !gelf_getehdr(image->priv->elf, &header))
        return message_fail(why, BT_ERR_FORMAT, "not an ELF file");
    unsigned char class = header.e_ident[EI_CLASS];
    if (header.e_machine == EM_ARM && class == ELFCLASS32)
        image->machine = ELF_MACHINE_ARM;
    else if (header.e_machine == EM_AARCH64 && class == ELFCLASS64)
        image->machine = ELF_MACHINE_AARCH64;
    else
        return message_fail(why, BT_ERR_UNSUPPORTED, "not for ARM or AArch64");
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return message_fail(why, BT_ERR_UNSUPPORTED,
                            "not linked: neither executable nor shared object");

    if (is_truncated(&header, size))
        return message_fail(why, BT_ERR_FORMAT,
                            "truncated: its headers lie beyond the end of the file");
    image->big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    if (image->machine == ELF_MACHINE_ARM) {
        image->be8 = image->big_endian && (header.e_flags & EF_ARM_BE8) != 0;
        image->code_big_endian = image->big_endian && !image->be8;
        image->hard_float = (header.e_flags & EF_ARM_ABI_FLOAT_HARD) != 0;
        image->entry = header.e_entry & ~UINT64_C(1);
    } else {
        image->entry = header.e_entry; /* A64 code is little-endian always */
    }
    return 0;
}

static int check_segment(const GElf_Phdr *ph, const struct elf_image *image, size_t file_size,
                         struct message *why)
{
    uint64_t last = image->machine == ELF_MACHINE_ARM ? UINT32_MAX : UINT64_MAX;
    if (ph->p_offset > file_size || ph->p_filesz > file_size - ph->p_offset)
        return message_fail(why, BT_ERR_FORMAT,
                            "truncated: a segment reaches beyond the end of the file");
    if (ph->p_filesz > ph->p_memsz)
        return message_fail(why, BT_ERR_FORMAT,
                            "a segment has more bytes in the file than in memory");
    if (ph->p_vaddr > last || ph->p_memsz - 1 > last - ph->p_vaddr)
        return message_fail(why, BT_ERR_FORMAT, "a segment reaches beyond the last address");
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
                         struct message *why)
{
    size_t count = 0;
    GElf_Ehdr header;
    /* libelf leaves out headers that reach beyond the file: then the numbers differ. */
    if (elf_getphdrnum(image->priv->elf, &count) != 0 || !gelf_getehdr(image->priv->elf, &header) ||
        (header.e_phnum != PN_XNUM && header.e_phnum != count))
        return message_fail(why, BT_ERR_FORMAT, "damaged program headers");
    if (count > ELF_MAX_SEGMENTS)
        return message_fail(why, BT_ERR_RANGE, "too many program headers");
    image->segments = calloc(count ? count : 1, sizeof *image->segments);
    if (!image->segments)
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr ph;
        if (!gelf_getphdr(image->priv->elf, (int)i, &ph))
            return message_fail(why, BT_ERR_FORMAT, "damaged program headers");
        if (ph.p_type != PT_LOAD || ph.p_filesz == 0)
            continue;
        int error = check_segment(&ph, image, size, why);
        if (error != 0)
            return error;
        image->segments[image->segment_count++] = (struct elf_segment){
            .vaddr = ph.p_vaddr,
            .paddr = ph.p_paddr,
            .data = data + ph.p_offset,
            .offset = ph.p_offset,
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

/* Open and close. */

static int elf_load(struct elf_image *image, const uint8_t *data, size_t size, struct message *why)
{
    if (size == 0)
        return message_fail(why, BT_ERR_FORMAT, "empty: it has no bytes");
    if (size < EI_NIDENT)
        return message_fail(why, BT_ERR_FORMAT,
                            memcmp(data, ELFMAG, size < SELFMAG ? size : SELFMAG) == 0
                                ? "truncated within its ELF header"
                                : "not an ELF file");
    if (elf_version(EV_CURRENT) == EV_NONE)
        return message_fail(why, BT_ERR_UNSUPPORTED, "libelf is too old");
    /* libelf wants a char *, and only reads. */
    union {
        const uint8_t *in;
        char *out;
    } unconst = {.in = data};
    image->priv->elf = elf_memory(unconst.out, size);
    if (!image->priv->elf)
        return message_fail(why, BT_ERR_FORMAT, "truncated or damaged: its ELF header");
    int error = read_header(image, size, why);
    if (error == 0)
        error = read_segments(image, data, size, why);
    if (error != 0)
        return error;
    if (image->machine == ELF_MACHINE_ARM)
        elf_attributes_load(image);
    error = elf_symbols_load(image);
    if (error != 0)
        return message_fail(why, error,
                            error == BT_ERR_RANGE ? "too many symbols" : "out of memory");
    return 0;
}

int elf_image_from_memory(const uint8_t *data, size_t size, struct elf_image **out,
                          struct message *why)
{
    *out = NULL;
    struct elf_image *image = calloc(1, sizeof *image);
    struct elf_image_private *priv = calloc(1, sizeof *priv);
    if (!image || !priv) {
        free(image);
        free(priv);
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
    }
    image->priv = priv;
    int error = elf_load(image, data, size, why);
    if (error != 0) {
        elf_image_close(image);
        return error;
    }
    *out = image;
    return 0;
}

/* Map a regular file read-only; nothing of an empty one. 0, or BT_ERR_IO with errno. */
static int map_file(const char *path, void **map, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return BT_ERR_IO;
    struct stat st;
    int saved = 0;
    *map = MAP_FAILED;
    *size = 0;
    if (fstat(fd, &st) != 0) {
        saved = errno;
    } else if (S_ISREG(st.st_mode) && st.st_size == 0) {
        *map = NULL;
    } else if (!S_ISREG(st.st_mode)) {
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

int elf_image_open(const char *path, struct elf_image **out, struct message *why)
{
    *out = NULL;
    void *map;
    size_t size;
    if (map_file(path, &map, &size) != 0)
        return message_fail(why, BT_ERR_IO, "%s", strerror(errno));
    int error = elf_image_from_memory(map, size, out, why);
    if (error != 0) {
        if (map)
            munmap(map, size);
        return error;
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

/* [start, start + size) ends what is of one kind with `address`, or begins behind it. */
static bool narrow_run(uint64_t start, uint64_t size, uint64_t address, uint64_t *to)
{
    bool holds = address >= start && address - start < size;
    uint64_t edge = holds ? start + size : start;
    if (edge > address && edge < *to)
        *to = edge;
    return holds;
}

enum elf_use elf_image_use_run(const struct elf_image *image, uint64_t address, uint64_t *to)
{
    enum elf_use use = ELF_USE_NONE;
    Elf_Scn *section = NULL;
    bool named = false;
    *to = UINT64_MAX;
    while ((section = elf_nextscn(image->priv->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
            !narrow_run(header.sh_addr, header.sh_size, address, to) || named)
            continue;
        use = header.sh_flags & SHF_WRITE ? ELF_USE_RAM : ELF_USE_CONST;
        named = true;
    }
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (narrow_run(s->vaddr, s->mem_size, address, to) && !named) {
            use = s->writable ? ELF_USE_RAM : ELF_USE_CONST;
            named = true;
        }
    }
    return use;
}

enum elf_use elf_image_use(const struct elf_image *image, uint64_t address)
{
    uint64_t to;
    return elf_image_use_run(image, address, &to);
}
