/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A Cortex-M0 (microbit), M3 (mps2-an385), M4 (netduinoplus2), M7 (mps2-an500) or M33 (mps2-an505)
 * that QEMU emulates, with peripherals, exceptions and the virtual board's trace unit, as a core
 * behind the modelled debug logic.
 *
 * Known differences from silicon: C_MASKINTS holds for steps only; a reset that the program asks
 * for itself is not seen by the debug logic; a locked-up core ends QEMU, and then every access
 * fails.
 */
#ifndef TESTS_USB_CORE_QEMU_H
#define TESTS_USB_CORE_QEMU_H

#include "core_model.h"
#include "qemu_link.h"

/* A window that a debugger cannot write, as real flash. */
struct core_qemu_flash {
    uint32_t address;
    uint32_t size; /* 0: none */
    bool silent;   /* writes are ignored, else the bus refuses them */
};

/* Fields are private, but for `flash`, which may be set at any time. */
struct core_qemu {
    struct qemu_link link;
    struct core_qemu_flash flash;
    enum core_stop stop;
    bool masked;    /* C_MASKINTS */
    uint32_t dhcsr; /* as told last */
    uint32_t demcr;
    bool etmv4, mtb;
    struct core_trace trace;
    uint32_t code_breakpoint[32]; /* addresses, bit 0: 32-bit; */
    unsigned code_breakpoints;
};

/* Starts it, running. 0, or -1 with `message`. Stop also after a failure. */
int core_qemu_start(struct core_qemu *c, const struct qemu_link_options *o, char *message,
                    size_t size);
void core_qemu_stop(struct core_qemu *c);

/* The core as the models see it; valid as long as `c`. */
struct core_model core_qemu_model(struct core_qemu *c);

#endif
