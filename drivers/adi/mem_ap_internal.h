/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the MEM-AP driver. */
#ifndef DRIVERS_MEM_AP_INTERNAL_H
#define DRIVERS_MEM_AP_INTERNAL_H

#include "drivers/adi/mem_ap.h"

/* CSW fields. */
#define CSW_SIZE_MASK  0x07u
#define CSW_SIZE_BYTE  0x00u
#define CSW_SIZE_HALF  0x01u
#define CSW_SIZE_WORD  0x02u
#define CSW_INC_MASK   0x30u
#define CSW_INC_OFF    0x00u
#define CSW_INC_SINGLE 0x10u
#define CSW_INC_PACKED 0x20u
#define CSW_DEVICE_EN  0x40u

/* The address increment carries no further than this. */
#define MEM_AP_WRAP 1024u

/* A run of accesses to DRW that needs no new TAR. */
struct mem_ap_run {
    uint64_t address;
    uint32_t mode; /* size and increment of CSW */
    unsigned step; /* bytes each access moves on; 0: none */
    bool write;
    bool retry; /* may be done again as a whole when the line fails */
};

/* Do it: `words` are DRW values, lanes as they are. The run must not cross MEM_AP_WRAP. */
int mem_ap_run(struct mem_ap *ap, const struct mem_ap_run *run, uint32_t *words, size_t count);

/* Is [address, address + length) within what the AP can address? Return 0 or BT_ERR_RANGE. */
int mem_ap_check(const struct mem_ap *ap, uint64_t address, uint64_t length);

#endif
