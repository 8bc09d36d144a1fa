/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program image: which bytes stand at an address, for whom. A look-up depends on core,
 * security state, VMID, context ID and image generation; a region that names none of them is
 * seen by all, and a system of such regions has one address space.
 */
#ifndef DECODER_CODE_IMAGE_H
#define DECODER_CODE_IMAGE_H

#include "btrace/types.h"

/* Who looks. Fill with code_key_init() and set what is known. */
struct code_key {
    uint32_t generation;
    uint32_t context;
    uint32_t vmid;
    uint16_t core;
    uint8_t security; /* enum bt_security */
    bool has_context;
    bool has_vmid;
};

static inline void code_key_init(struct code_key *key)
{
    *key = (struct code_key){0};
}

/* What a region's contents depend on. */
#define CODE_BY_CORE     0x01u
#define CODE_BY_SECURITY 0x02u
#define CODE_BY_VMID     0x04u
#define CODE_BY_CONTEXT  0x08u

struct code_region {
    uint64_t address;
    uint64_t size;        /* bytes */
    const uint8_t *bytes; /* borrowed: must stay and not change while the image is used */
    uint32_t by;          /* CODE_BY_*: which of the selectors below count */
    uint32_t context;
    uint32_t vmid;
    uint32_t generation; /* seen by this generation and later ones, over older regions */
    uint16_t core;
    uint8_t security;
    bool big_endian; /* instruction bytes, not data: false for BE8 */
};

struct code_image {
    struct code_region *regions;
    size_t count;
    size_t capacity;
    uint32_t generation; /* newest */
    uint32_t by;         /* union of all regions' selectors */
};

void code_image_init(struct code_image *image);
void code_image_release(struct code_image *image);

/*
 * Adds a region; of two that hold an address the one with more selectors wins, then the newer
 * generation, then the one added first. BT_ERR_INVAL: empty, or it wraps around the address
 * space; BT_ERR_NOMEM.
 */
int code_image_add(struct code_image *image, const struct code_region *region);

/* Memory has been written: later look-ups use the new number. Returns it. */
uint32_t code_image_new_generation(struct code_image *image);

/* Regions that `key` sees, best first: stores at most `max` pointers, returns their number. */

/*
 * Copies up to `len` bytes at `address` as `key` sees them; returns how many there are, which is
 * fewer at the end of known memory.
 */
size_t code_image_read(const struct code_image *image, const struct code_key *key, uint64_t address,
                       uint8_t *out, size_t len);

/* The bytes from `address` on that lie in one piece: `*size` of them. NULL and 0: none. */

/* As above, from regions that are resolved already. *big_endian is that of the first byte. */

#endif
