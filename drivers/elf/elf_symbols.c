/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions, code labels and mapping symbols of an ELF file, by address. */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "elf_image_internal.h"

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
    size_t low = 0, high = image->priv->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
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

int elf_symbols_load(struct elf_image *image)
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
    int result = elf_publish(&c);
    free(c.candidates);
    return result;
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
    size_t low = 0, high = image->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->symbols[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
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
