/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Build attributes of ARM ELF files (ADDENDA32 chapter 3): which architecture and profile the code
 * was built for.
 *
 *   'A'  { uint32 length, vendor NTBS, { tag ULEB128, uint32 size, attributes... }... }...
 *
 * Lengths count themselves; the sub-subsection's size counts its tag too.
 */
#include <gelf.h>
#include <stdio.h>
#include <string.h>

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
    const uint8_t *b = c->p;
    c->p += 4;
    if (c->big_endian)
        return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    return (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
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

void elf_attributes_load(struct elf_image *image)
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
