/* SPDX-License-Identifier: BSD-3-Clause */
/* A Cortex-M as the core of a probe target: its part of struct probe_target. */
#ifndef SERVER_PROBE_TARGET_M_H
#define SERVER_PROBE_TARGET_M_H

#include "drivers/cortex_m/cortex_m.h"
#include "protocol/target/gdb_target.h"

/* Where the value of a further register comes from. */
struct probe_target_m_register {
    unsigned first; /* enum cortex_m_register */
    bool pair;      /* with the next one above it: d0 is s0 and s1 */
};

struct probe_target_m {
    struct cortex_m core;
    struct adiv5_connect_options wake; /* what the core's port is woken up with, behind a reset */
    struct probe_target_m_register extra[TARGET_EXTRA_MAX];
    uint32_t values[CORTEX_M_REGISTERS]; /* of this halt, if values_known */
    bool values_known;
    uint32_t caught;      /* CORTEX_M_CATCH_* */
    uint32_t reported[3]; /* the exception that was told of last: number, CFSR, HFSR */
};

#endif
