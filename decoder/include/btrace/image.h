/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program image: which bytes stand at an address. Trace says which branches were taken; what
 * lies between them is read here.
 */
#ifndef BTRACE_IMAGE_H
#define BTRACE_IMAGE_H

#include "btrace/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bt_image; /* opaque */

/* What the contents of a region depend on. */
#define BT_BY_SECURITY 2u /* security state */
#define BT_BY_VMID     4u
#define BT_BY_CONTEXT  8u /* context ID */

struct bt_region {
    uint64_t address;     /* of the first byte */
    uint64_t size;        /* bytes */
    const uint8_t *bytes; /* borrowed: stay, unchanged, until bt_image_free() */
    uint32_t by;          /* BT_BY_*: which of the next three count; 0: seen by all */
    uint32_t context;
    uint32_t vmid;
    uint8_t security; /* enum bt_security */
    bool big_endian;  /* of instructions, not of data: false for BE8 */
};

/*
 * An empty image, to be released with bt_image_free().
 *
 * 0: *out is the image.
 * BT_ERR_INVAL: `out` is NULL.
 * BT_ERR_NOMEM
 */
BT_API int bt_image_new(struct bt_image **out);

/*
 * Adds a region. Of two that hold an address the one that depends on more counts, then the one
 * that was added first.
 *
 * 0: done.
 * BT_ERR_INVAL: `image`, `region` or its bytes are NULL, its size is 0, `by` has other bits, the
 *     security state is none, or the region reaches over the end of the address space.
 * BT_ERR_UNSUPPORTED: a decoder has been made with this image: it cannot change any more.
 * BT_ERR_NOMEM
 */
BT_API int bt_image_add(struct bt_image *image, const struct bt_region *region);

/* After the decoders that use it. NULL is allowed. */
BT_API void bt_image_free(struct bt_image *image);

#ifdef __cplusplus
}
#endif

#endif
