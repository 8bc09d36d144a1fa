/* SPDX-License-Identifier: BSD-3-Clause */
#include "image.h"

#include <stdlib.h>

_Static_assert(BT_BY_SECURITY == CODE_BY_SECURITY && BT_BY_VMID == CODE_BY_VMID &&
                   BT_BY_CONTEXT == CODE_BY_CONTEXT,
               "selectors are handed on as they are");

#define BY_ALL (BT_BY_SECURITY | BT_BY_VMID | BT_BY_CONTEXT)

int bt_image_new(struct bt_image **out)
{
    if (!out)
        return BT_ERR_INVAL;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return BT_ERR_NOMEM;
    code_image_init(&(*out)->code);
    return BT_OK;
}

int bt_image_add(struct bt_image *image, const struct bt_region *region)
{
    if (!image || !region || !region->bytes || (region->by & ~BY_ALL) ||
        region->security > BT_SEC_HYP)
        return BT_ERR_INVAL;
    if (image->used)
        return BT_ERR_UNSUPPORTED;
    const struct code_region code = {.address = region->address,
                                     .size = region->size,
                                     .bytes = region->bytes,
                                     .by = region->by,
                                     .context = region->context,
                                     .vmid = region->vmid,
                                     .security = region->security,
                                     .big_endian = region->big_endian};
    return code_image_add(&image->code, &code);
}

void bt_image_free(struct bt_image *image)
{
    if (!image)
        return;
    code_image_release(&image->code);
    free(image);
}
