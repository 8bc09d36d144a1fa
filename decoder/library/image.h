/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the library. */
#ifndef DECODER_LIBRARY_IMAGE_H
#define DECODER_LIBRARY_IMAGE_H

#include "btrace/image.h"
#include "decoder/program/code_image.h"

struct bt_image {
    struct code_image code;
    bool used; /* a decoder reads it: it cannot change */
};

#endif
