/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ADIv5: the Debug Port at the end of a debug link, and accesses to the registers of its Access
 * Ports. IHI 0031F part B.
 *
 * A port belongs to one thread. Functions return 0 or
 *   BT_ERR_IO           the target or the probe refused; dp->failure tells which and why
 *   BT_ERR_FORMAT       the probe's answer has no sense
 *   BT_ERR_UNSUPPORTED  the probe or the port cannot do this
 *   BT_ERR_INVAL        argument out of range
 * and leave dp->failure set in all of these cases but the last. After a failure sticky errors are
 * cleared and the line is in step again if that was possible, so the next access may be tried;
 * dp->generation has changed: what was cached of any AP's registers is void.
 */
#ifndef DRIVERS_ADIV5_H
#define DRIVERS_ADIV5_H

#include "drivers/adi/debug_link.h"

#define ADIV5_MAX_LIST 64u /* accesses of one adiv5_ap_list() */

/* AP register addresses. */
#define ADIV5_AP_CSW    0x00u
#define ADIV5_AP_TAR    0x04u
#define ADIV5_AP_TAR_HI 0x08u
#define ADIV5_AP_DRW    0x0cu
#define ADIV5_AP_BD0    0x10u
#define ADIV5_AP_CFG    0xf4u
#define ADIV5_AP_BASE   0xf8u
#define ADIV5_AP_IDR    0xfcu

/* CTRL/STAT. */
#define ADIV5_STICKYORUN   0x00000002u
#define ADIV5_STICKYCMP    0x00000010u
#define ADIV5_STICKYERR    0x00000020u
#define ADIV5_WDATAERR     0x00000080u
#define ADIV5_CDBGPWRUPREQ 0x10000000u
#define ADIV5_CDBGPWRUPACK 0x20000000u
#define ADIV5_CSYSPWRUPREQ 0x40000000u
#define ADIV5_CSYSPWRUPACK 0x80000000u

struct adiv5_dp {
    struct debug_link link;
    struct debug_clock clock;
    enum debug_wire wire;
    uint32_t dpidr;
    unsigned version; /* of the debug port: 0, 1, 2 */
    /* Of the last failure. */
    enum debug_failure failure;
    size_t failed_at;     /* index in the list, or word of the block, that failed */
    uint32_t ctrl_stat;   /* as read after a FAULT; 0: not read */
    unsigned line_errors; /* since connect; many: lower the clock */
    unsigned generation;  /* changes with every failure and connect */
    /* Private. */
    bool connected;
    bool reset_low; /* nRESET is driven low, for all that is known */
    bool select_known;
    uint32_t select;
};

struct adiv5_connect_options {
    enum debug_wire wire;
    bool hold_reset;       /* nRESET is low before the port is woken, and stays low */
    uint32_t clock_hz;     /* 0: 1 MHz */
    uint8_t idle_clocks;   /* behind each access; 8 to 64 help slow targets */
    uint16_t wait_retries; /* of the probe; 0: 200 */
    /* JTAG: the chain, from TDO on; count 0: one device of 4 bits. */
    const uint8_t *ir_lengths;
    unsigned chain_count;
    unsigned chain_dap;
};

/* Nothing is sent. `link` and `clock` are copied. */
void adiv5_init(struct adiv5_dp *dp, const struct debug_link *link,
                const struct debug_clock *clock);

/*
 * Wake the port up (JTAG to SWD, line reset, dormant to SWD, several times; or JTAG), identify it,
 * clear its errors, power up debug and system within one second. A target that powers up debug
 * only is accepted, though its buses may not answer. With hold_reset the order is: the probe
 * connects, which lets its pins go or drives them high; nRESET is pulled low; then the port is
 * woken.
 */
int adiv5_connect(struct adiv5_dp *dp, const struct adiv5_connect_options *options);

/*
 * Drive nRESET and wait, up to `wait_us` (0: not at all), until the pin reads as driven: that it
 * does not is no error. Return 0, BT_ERR_UNSUPPORTED (the probe has no such pin), BT_ERR_IO,
 * BT_ERR_FORMAT. */
int adiv5_drive_reset(struct adiv5_dp *dp, bool low, uint32_t wait_us);

/* Let the wire go; debug and system stay powered. */
void adiv5_disconnect(struct adiv5_dp *dp);

/* A register of an AP that may be read or written twice without harm: repeated on WAIT. */
int adiv5_ap_read(struct adiv5_dp *dp, uint8_t ap, uint8_t address, uint32_t *value);
int adiv5_ap_write(struct adiv5_dp *dp, uint8_t ap, uint8_t address, uint32_t value);

struct adiv5_access {
    uint8_t address; /* AP register */
    bool write;
    uint32_t value;
};

/* Accesses to registers of one AP, in order, at most ADIV5_MAX_LIST; not repeated. On failure
 * dp->failed_at is the number of those that are done, with valid values. */
int adiv5_ap_list(struct adiv5_dp *dp, uint8_t ap, struct adiv5_access *list, size_t count);

/* One AP register `count` times. Its bank must be selected already by the access before, else it
 * costs one more round trip. On failure dp->failed_at is the number of words done. */
int adiv5_ap_block_read(struct adiv5_dp *dp, uint8_t ap, uint8_t address, uint32_t *words,
                        size_t count);
int adiv5_ap_block_write(struct adiv5_dp *dp, uint8_t ap, uint8_t address, const uint32_t *words,
                         size_t count);

/* Note a failure that a user of the port found. Returns BT_ERR_IO. */
static inline int adiv5_fail(struct adiv5_dp *dp, enum debug_failure failure)
{
    dp->failure = failure;
    dp->generation++;
    return BT_ERR_IO;
}

struct adiv5_ap_info {
    uint8_t ap;
    uint32_t idr;
};

/* Find APs: 0 on, until 8 in a row are missing. Ports that answer with an error are passed over.
 * Returns how many (at most `max` are stored), or an error as above. */
int adiv5_scan(struct adiv5_dp *dp, struct adiv5_ap_info *found, unsigned max);

#define ADIV5_CLASS_MEM_AP 8u

/* IDR: does the AP reach memory? What is it called ("AHB3", "APB2/3", "AXI3/4", ...)? */
static inline bool adiv5_is_mem_ap(uint32_t idr)
{
    return (idr >> 13 & 0xf) == ADIV5_CLASS_MEM_AP;
}

const char *adiv5_ap_name(uint32_t idr);

/* The last failure for people, with CTRL/STAT where it was read. Returns `text`. */
const char *adiv5_describe(const struct adiv5_dp *dp, char *text, size_t size);

#endif
