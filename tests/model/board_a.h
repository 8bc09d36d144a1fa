/* SPDX-License-Identifier: BSD-3-Clause */
/* QEMU's Cortex-A9 cores and the modelled system around them, as a target for a probe. */
#ifndef TESTS_USB_BOARD_A_H
#define TESTS_USB_BOARD_A_H

#include "core_a9.h"
#include "probe_board.h"
#include "system_a.h"

/* Public; the parts are for tests. */
struct board_a {
    struct core_a9 cores;
    struct system_a system;
    struct probe_system target; /* for probe_board_options */
};

/* Starts it, running. 0, or -1 with `message`. Stop also after a failure. */
int board_a_start(struct board_a *b, const struct qemu_link_options *o,
                  const struct trace_a_options *trace, char *message, size_t size);
void board_a_stop(struct board_a *b);

#endif
