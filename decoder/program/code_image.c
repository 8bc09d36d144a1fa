/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/program/code_image.h"

#include <stdlib.h>
#include <string.h>

void code_image_init(struct code_image *image)
{
    memset(image, 0, sizeof *image);
}

void code_image_release(struct code_image *image)
{
    free(image->regions);
    code_image_init(image);
}

int code_image_add(struct code_image *image, const struct code_region *region)
{
    if (region->size == 0 || region->address + (region->size - 1) < region->address)
        return BT_ERR_INVAL;
    if (image->count == image->capacity) {
        size_t capacity = image->capacity ? image->capacity * 2 : 16;
        struct code_region *grown = realloc(image->regions, capacity * sizeof *grown);
        if (!grown)
            return BT_ERR_NOMEM;
        image->regions = grown;
        image->capacity = capacity;
    }
    image->regions[image->count++] = *region;
    image->by |= region->by;
    image->edits++;
    if (region->generation > image->generation)
        image->generation = region->generation;
    return BT_OK;
}

uint32_t code_image_new_generation(struct code_image *image)
{
    image->edits++;
    return ++image->generation;
}

static bool region_visible(const struct code_region *r, const struct code_key *key)
{
    if (r->generation > key->generation)
        return false;
    if ((r->by & CODE_BY_CORE) && r->core != key->core)
        return false;
    if ((r->by & CODE_BY_SECURITY) && r->security != key->security)
        return false;
    if ((r->by & CODE_BY_VMID) && (!key->has_vmid || r->vmid != key->vmid))
        return false;
    if ((r->by & CODE_BY_CONTEXT) && (!key->has_context || r->context != key->context))
        return false;
    return true;
}

static bool region_better(const struct code_region *a, const struct code_region *b)
{
    int sa = __builtin_popcount(a->by), sb = __builtin_popcount(b->by);
    if (sa != sb)
        return sa > sb;
    return a->generation > b->generation;
}

size_t code_image_resolve(const struct code_image *image, const struct code_key *key,
                          const struct code_region **out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < image->count; i++) {
        const struct code_region *r = &image->regions[i];
        if (!region_visible(r, key))
            continue;
        size_t at = n;
        while (at > 0 && region_better(r, out[at - 1]))
            at--;
        if (at >= max)
            continue;
        size_t moved = (n < max ? n : max - 1) - at;
        memmove(out + at + 1, out + at, moved * sizeof *out);
        out[at] = r;
        if (n < max)
            n++;
    }
    return n;
}

/* The best region at `address`, and how far it goes before a better one begins. */
static const struct code_region *region_at(const struct code_region *const *regions, size_t count,
                                           uint64_t address, uint64_t *run)
{
    uint64_t limit = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct code_region *r = regions[i];
        if (address - r->address < r->size) {
            uint64_t rest = r->size - (address - r->address);
            *run = rest < limit ? rest : limit;
            return r;
        }
        if (r->address > address && r->address - address < limit)
            limit = r->address - address;
    }
    return NULL;
}

const uint8_t *code_regions_span(const struct code_region *const *regions, size_t count,
                                 uint64_t address, uint64_t *size, bool *big_endian)
{
    const struct code_region *r = region_at(regions, count, address, size);
    if (!r) {
        *size = 0;
        return NULL;
    }
    *big_endian = r->big_endian;
    return r->bytes + (address - r->address);
}

size_t code_regions_read(const struct code_region *const *regions, size_t count, uint64_t address,
                         uint8_t *out, size_t len, bool *big_endian)
{
    size_t done = 0;
    while (done < len) {
        uint64_t run;
        const struct code_region *r = region_at(regions, count, address + done, &run);
        if (!r)
            break;
        if (done == 0)
            *big_endian = r->big_endian;
        size_t n = len - done < run ? len - done : (size_t)run;
        memcpy(out + done, r->bytes + (address + done - r->address), n);
        done += n;
    }
    return done;
}

size_t code_image_read(const struct code_image *image, const struct code_key *key, uint64_t address,
                       uint8_t *out, size_t len)
{
    if (image->count == 0)
        return 0;
    const struct code_region **regions = malloc(image->count * sizeof *regions);
    if (!regions)
        return 0;
    bool big_endian;
    size_t n = code_image_resolve(image, key, regions, image->count);
    size_t done = code_regions_read(regions, n, address, out, len, &big_endian);
    free(regions);
    return done;
}
