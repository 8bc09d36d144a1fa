/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bus behind a modelled MEM-AP. Values travel in the low bits, whatever the address: byte lanes
 * are the MEM-AP's business.
 */
#ifndef TESTS_USB_MODEL_BUS_H
#define TESTS_USB_MODEL_BUS_H

#include <stdint.h>

/* size: 1, 2 or 4 bytes, address aligned to it. 0, or negative for a bus error. */
struct model_bus {
    void *ctx;
    int (*read)(void *ctx, uint32_t address, unsigned size, uint32_t *value);
    int (*write)(void *ctx, uint32_t address, unsigned size, uint32_t value);
};

#endif
