/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the target through a MEM-AP. IHI 0031F chapter C2.
 *
 * Any address and length is accepted; words are used wherever they fit. Bytes are in the order of
 * the addresses. Register words (mem_ap_read32...) are in the order of the host.
 *
 * Functions return 0 or
 *   BT_ERR_IO           refused; ap->dp->failure says why, ap->fault_address where
 *   BT_ERR_RANGE        the address does not fit this AP, or the range ends beyond it
 *   BT_ERR_UNSUPPORTED  a size that this AP cannot do
 *   BT_ERR_INVAL        a size other than 1, 2, 4, or an address that is not aligned to it
 *   BT_ERR_FORMAT       the probe's answer has no sense
 * What was transferred before a failure is in the buffer, or in memory.
 *
 * CSW and TAR are cached; all failures, and accesses to the AP behind this module's back
 * (mem_ap_forget), end that.
 */
#ifndef DRIVERS_MEM_AP_H
#define DRIVERS_MEM_AP_H

#include "drivers/adi/adiv5.h"

struct mem_ap {
    struct adiv5_dp *dp;
    uint8_t ap;
    uint32_t idr;
    bool big_endian;        /* CFG.BE: not supported for single bytes and halfwords */
    bool large_address;     /* addresses of 64 bits */
    bool words_only;        /* no accesses of 8 and 16 bits */
    bool packed;            /* packed transfers work */
    uint64_t fault_address; /* of the last failure: the first access not known to have worked */
    /* Private. */
    uint32_t csw_base;
    unsigned generation;
    bool csw_known;
    bool tar_known;
    uint32_t csw;
    uint64_t tar;
};

/*
 * Identify the AP, find out which sizes it can do. Nothing is accessed in memory.
 * BT_ERR_IO with DEBUG_FAIL_NO_MEM_AP: not there or of another kind; with DEBUG_FAIL_LOCKED: it is
 * disabled by authentication.
 */
int mem_ap_init(struct mem_ap *ap, struct adiv5_dp *dp, uint8_t index);

/* The cached registers are void: somebody else has used the AP. */
void mem_ap_forget(struct mem_ap *ap);

/* Plain memory: where the line failed, reads are tried again. */
int mem_ap_read(struct mem_ap *ap, uint64_t address, uint8_t *bytes, size_t length);
int mem_ap_write(struct mem_ap *ap, uint64_t address, const uint8_t *bytes, size_t length);

/*
 * `count` items of `size` bytes (1, 2, 4), each accessed once and with that size: for peripherals
 * that care. `address` is aligned to `size`.
 */
int mem_ap_read_sized(struct mem_ap *ap, uint64_t address, unsigned size, uint8_t *bytes,
                      size_t count);
int mem_ap_write_sized(struct mem_ap *ap, uint64_t address, unsigned size, const uint8_t *bytes,
                       size_t count);

/* Words at rising addresses; each register is accessed once, never again after a failure. */
int mem_ap_read_words(struct mem_ap *ap, uint64_t address, uint32_t *words, size_t count);
int mem_ap_write_words(struct mem_ap *ap, uint64_t address, const uint32_t *words, size_t count);

/* One word. */
static inline int mem_ap_read32(struct mem_ap *ap, uint64_t address, uint32_t *word)
{
    *word = 0;
    return mem_ap_read_words(ap, address, word, 1);
}

static inline int mem_ap_write32(struct mem_ap *ap, uint64_t address, uint32_t word)
{
    return mem_ap_write_words(ap, address, &word, 1);
}

/* One word register `count` times, without increment: FIFOs such as the RAM of an ETB. After a
 * failure it is not known how many words were taken out. */
int mem_ap_read_fifo(struct mem_ap *ap, uint64_t address, uint32_t *words, size_t count);
int mem_ap_write_fifo(struct mem_ap *ap, uint64_t address, const uint32_t *words, size_t count);

#define MEM_AP_LISTED 16u

/* `count` (at most MEM_AP_LISTED) accesses to single words anywhere, in order, in one round trip:
 * registers that are far from each other. Each is accessed once, never again after a failure; which
 * of those in front of `fault_address` worked is not told. */
struct mem_ap_access {
    uint64_t address;
    bool write;
    uint32_t value;
};
int mem_ap_list(struct mem_ap *ap, struct mem_ap_access *list, size_t count);

#define MEM_AP_BANKED 60u

/* `count` (at most MEM_AP_BANKED) accesses to the four words in the 16 bytes at `address` (aligned
 * to 16), by the banked registers: offsets 0, 4, 8, 12 in any order and as often as wanted, in one
 * round trip. */
struct mem_ap_banked {
    uint8_t offset;
    bool write;
    uint32_t value;
};
int mem_ap_banked(struct mem_ap *ap, uint64_t address, struct mem_ap_banked *list, size_t count);

/* What failed with `error` is worth another try: bits were damaged, or the port was busy, and not
 * often. `*tries` begins with 0. */
bool mem_ap_again(const struct mem_ap *ap, int error, unsigned *tries);

#endif
