/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_map.h"

#include "decoder/base/array.h"
#include "decoder/base/search.h"

#include <stdlib.h>
#include <string.h>

#define CHECKED 4096u /* bytes of a constant that are compared at a time */

int reverse_map_init(struct reverse_map *m)
{
    memset(m, 0, sizeof *m);
    if (!array_room(&m->ranges, 0, &m->max, sizeof *m->ranges))
        return BT_ERR_NOMEM;
    m->ranges[m->count++] = (struct reverse_map_range){.to = UINT64_MAX};
    return BT_OK;
}

void reverse_map_release(struct reverse_map *m)
{
    free(m->ranges);
    *m = (struct reverse_map){.ranges = NULL};
}

static size_t map_find(const struct reverse_map *m, uint64_t address)
{
    size_t low;
    SEARCH_LAST(low, m->count, m->ranges[low].from <= address);
    return low;
}

static int map_add(struct reverse_map *m, const struct reverse_map_range *range)
{
    if (range->from >= range->to)
        return BT_OK;
    if (!array_room(&m->ranges, m->count, &m->max, sizeof *m->ranges))
        return BT_ERR_NOMEM;
    m->ranges[m->count++] = *range;
    return BT_OK;
}

/* The part of a range that lies in [from, to). */
static struct reverse_map_range part_of(const struct reverse_map_range *r, uint64_t from,
                                        uint64_t to)
{
    struct reverse_map_range part = *r;
    part.from = r->from > from ? r->from : from;
    part.to = r->to < to ? r->to : to;
    if (part.bytes && part.from < part.to)
        part.bytes += part.from - r->from;
    return part;
}

int reverse_map_put(struct reverse_map *m, const struct reverse_map_range *range, bool over)
{
    struct reverse_map old = *m;
    *m = (struct reverse_map){.max = old.count + 4};
    m->ranges = malloc(m->max * sizeof *m->ranges);
    int error = m->ranges ? BT_OK : BT_ERR_NOMEM;
    for (size_t i = 0; i < old.count && !error; i++) {
        const struct reverse_map_range *r = &old.ranges[i];
        bool replaced = over || r->kind == EXECUTE_MEMORY_OTHER;
        const struct reverse_map_range before = part_of(r, 0, range->from);
        const struct reverse_map_range inside =
            replaced ? part_of(range, r->from, r->to) : part_of(r, range->from, range->to);
        const struct reverse_map_range behind = part_of(r, range->to, UINT64_MAX);
        error = map_add(m, &before);
        error = error ? error : map_add(m, &inside);
        error = error ? error : map_add(m, &behind);
    }
    free(old.ranges);
    return error;
}

/* The program's bytes of [from, to), as far as the newest code has the same; the rest is OTHER. */
static int put_constant(struct reverse_map *m, const struct code_image *image, uint16_t core,
                        const struct reverse_map_range *range)
{
    const struct code_key key = {.core = core, .generation = image->generation};
    uint8_t now[CHECKED];
    int error = BT_OK;
    for (uint64_t at = range->from; at < range->to && !error; at += CHECKED) {
        struct reverse_map_range part = part_of(range, at, at + CHECKED);
        size_t size = (size_t)(part.to - part.from);
        size_t known = code_image_read(image, &key, at, now, size);
        if (known == size && memcmp(now, part.bytes, size) == 0)
            error = reverse_map_put(m, &part, false);
    }
    return error;
}

/* The segment whose bytes in the file hold `address`. */
static const struct elf_segment *segment_of(const struct elf_image *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->segment_count; i++)
        if (address >= elf->segments[i].vaddr &&
            address - elf->segments[i].vaddr < elf->segments[i].file_size)
            return &elf->segments[i];
    return NULL;
}

/* Of one kind for the program. */
static int put_run(struct reverse_map *m, const struct elf_image *elf,
                   const struct code_image *image, uint16_t core, struct reverse_map_range run,
                   enum elf_use use)
{
    if (use == ELF_USE_RAM) {
        run.kind = EXECUTE_MEMORY_RAM;
        return reverse_map_put(m, &run, true);
    }
    const struct elf_segment *s = use == ELF_USE_CONST ? segment_of(elf, run.from) : NULL;
    if (!s)
        return BT_OK;
    run.kind = EXECUTE_MEMORY_CONST;
    run.bytes = s->data + (run.from - s->vaddr);
    run.to = run.to < s->vaddr + s->file_size ? run.to : s->vaddr + s->file_size;
    return put_constant(m, image, core, &run);
}

int reverse_map_program(struct reverse_map *m, const struct elf_image *elf,
                        const struct code_image *image, uint16_t core)
{
    int error = BT_OK;
    for (uint64_t at = 0, to = 0; at < UINT64_MAX && !error; at = to) {
        enum elf_use use = elf_image_use_run(elf, at, &to);
        error = put_run(m, elf, image, core, (struct reverse_map_range){.from = at, .to = to}, use);
    }
    for (size_t i = 0; i < elf->segment_count && !error; i++) {
        const struct elf_segment *s = &elf->segments[i];
        const struct reverse_map_range loaded = {.from = s->paddr,
                                                 .to = s->paddr + s->file_size,
                                                 .kind = EXECUTE_MEMORY_CONST,
                                                 .bytes = s->data};
        if (s->paddr != s->vaddr && image->generation == 0)
            error = reverse_map_put(m, &loaded, false);
    }
    return error;
}

enum execute_memory_kind reverse_map_kind(void *context, uint64_t address, uint64_t *from,
                                          uint64_t *to, const uint8_t **bytes)
{
    struct reverse_map *m = context;
    const struct reverse_map_range *r = &m->ranges[m->last < m->count ? m->last : 0];
    if (address < r->from || address >= r->to) {
        m->last = map_find(m, address);
        r = &m->ranges[m->last];
    }
    *from = r->from;
    *to = r->to;
    *bytes = r->bytes;
    return r->kind;
}
