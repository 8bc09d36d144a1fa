/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One or two Cortex-A9 (vexpress-a9) that QEMU emulates, with the virtual board's trace units, as
 * cores behind the modelled debug logic.
 *
 * Known differences from silicon: to stop one core QEMU stops all for a moment, in which no time
 * passes for them; there are no caches, so maintenance of them does nothing.
 */
#ifndef TESTS_USB_CORE_A9_H
#define TESTS_USB_CORE_A9_H

#include "core_a.h"
#include "qemu_link.h"

/* Private. */
struct core_a9_one {
    enum core_a_run want, does;
    enum core_a_stop stop; /* that poll() has not told */
    uint32_t address;
    bool masked;
    bool traced;
    size_t taken; /* of the link's buffer of its trace */
};

/* Fields are private. */
struct core_a9 {
    struct qemu_link link;
    unsigned count;
    bool rests;     /* all stand still */
    unsigned sstep; /* as QEMU was told last */
    struct core_a9_one core[CORE_A_MAX];
};

/* Starts it, running. 0, or -1 with `message`. Stop also after a failure. */
int core_a9_start(struct core_a9 *c, const struct qemu_link_options *o, char *message, size_t size);
void core_a9_stop(struct core_a9 *c);

/* The cores as the models see them; valid as long as `c`. */
struct core_a core_a9_cores(struct core_a9 *c);

#endif
