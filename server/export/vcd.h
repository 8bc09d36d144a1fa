/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A value change dump (IEEE 1364-2005, clause 18) of what a DWT told: watched data by comparator,
 * the handler that runs, samples of the PC. A nanosecond is a cycle of the local timestamps, which
 * hold for what came since the one before; without timestamps it is a packet. Where something was
 * lost all values are unknown, until they are told again.
 */
#ifndef SERVER_VCD_H
#define SERVER_VCD_H

#include "btrace/types.h"

#include <stdio.h>

#define VCD_PENDING 4096u

enum vcd_signal {
    VCD_WATCH, /* 4 of them, by comparator */
    VCD_HANDLER = 4,
    VCD_PC,
    VCD_SIGNALS,
};

struct vcd_change {
    uint32_t value;
    uint8_t signal; /* enum vcd_signal; VCD_SIGNALS: all are unknown */
};

struct vcd {
    FILE *out;
    bool timed; /* there are timestamps */
    uint64_t time, written;
    struct vcd_change pending[VCD_PENDING]; /* since the last timestamp */
    size_t count;
};

/* `name`: of the source. */
void vcd_begin(struct vcd *v, FILE *out, const char *name);
void vcd_event(struct vcd *v, const struct bt_event *e);
/* Returns how many changes came behind the last timestamp: they have no time, and are left out. */
size_t vcd_end(struct vcd *v);

#endif
