/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the Debug Port driver. */
#ifndef DRIVERS_ADIV5_INTERNAL_H
#define DRIVERS_ADIV5_INTERNAL_H

#include "drivers/adi/adiv5.h"

/* DP register addresses. */
#define DP_DPIDR     0x0u
#define DP_ABORT     0x0u
#define DP_CTRL_STAT 0x4u
#define DP_SELECT    0x8u
#define DP_RDBUFF    0xcu

#define ABORT_DAPABORT 0x01u
#define ABORT_CLEAR    0x1eu

/* Write to CTRL/STAT of a JTAG-DP that clears its sticky flags and keeps the power requests. */
#define JTAG_CLEAR                                                                                 \
    (ADIV5_CDBGPWRUPREQ | ADIV5_CSYSPWRUPREQ | ADIV5_STICKYORUN | ADIV5_STICKYCMP | ADIV5_STICKYERR)

/* Bits of the line sequences that make the port listen; then DPIDR is read. */
int adiv5_line_reset(struct adiv5_dp *dp);

/*
 * Execute accesses as they are. With `repeat`, what answers WAIT is tried again; otherwise the
 * first refusal is the end. On failure dp->failed_at is the number done, and the port was brought
 * back to order as far as it can be.
 */
int adiv5_run(struct adiv5_dp *dp, struct debug_transfer *list, size_t count, bool repeat);

/* Read DPIDR without any recovery. Return 0 or an error of the link; *ok: it answered. */
int adiv5_try_dpidr(struct adiv5_dp *dp, uint32_t *dpidr, bool *ok);

/* After an access was refused: clear, resynchronise, note the failure. Returns an error. */
int adiv5_recover(struct adiv5_dp *dp, enum debug_ack ack);

/* An error of the link, not of the target. Returns `rc`. */
int adiv5_link_failed(struct adiv5_dp *dp, int rc);

#endif
