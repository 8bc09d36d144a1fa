/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of a 32-bit MEM-AP (IHI 0031F chapter C2): CSW, TAR, DRW, BD0-3, CFG, BASE, IDR. An access
 * is done when its function returns; delays are the DP's business.
 */
#ifndef TESTS_USB_AP_MODEL_H
#define TESTS_USB_AP_MODEL_H

#include <stdbool.h>

#include "model_bus.h"

#define MEM_AP_CSW  0x00
#define MEM_AP_TAR  0x04
#define MEM_AP_DRW  0x0c
#define MEM_AP_BD0  0x10
#define MEM_AP_CFG  0xf4
#define MEM_AP_BASE 0xf8
#define MEM_AP_IDR  0xfc

struct ap_model_options {
    uint32_t idr;
    uint32_t base;
    uint32_t increment_span; /* TAR's increment wraps here; 0: 1 KiB, as every AP may */
    bool word_only;          /* CSW.Size reads back 2, as on many APB-APs */
    bool no_packed;          /* CSW.AddrInc = 2 reads back 0 */
};

/* Fields are private but for the counters, which tests read. Nothing to release. */
struct ap_model {
    struct ap_model_options options;
    struct model_bus bus;
    uint32_t csw;
    uint32_t tar;
    unsigned bus_errors;
    unsigned unaligned; /* accesses with TAR not aligned to the size: refused */
    unsigned wraps;     /* increments that wrapped at the end of the span */
};

/* Copies both; the bus's context must outlive the AP. TAR starts with a value no client wants. */
void ap_model_init(struct ap_model *ap, const struct ap_model_options *options,
                   const struct model_bus *bus);

/* reg: 0x00..0xfc. 0, or negative for a bus error; registers that are not there read as 0. */
int ap_model_read(struct ap_model *ap, unsigned reg, uint32_t *value);
int ap_model_write(struct ap_model *ap, unsigned reg, uint32_t value);

#endif
