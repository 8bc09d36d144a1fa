/* SPDX-License-Identifier: BSD-3-Clause */
/* ARMv7-A cores of a probe target: their part of struct probe_target. */
#ifndef SERVER_PROBE_TARGET_A_H
#define SERVER_PROBE_TARGET_A_H

#include "drivers/cortex_a/cortex_a.h"
#include "server/config/config.h"

/* DFSR, DFAR, IFSR, IFAR. */
#define PROBE_TARGET_A_FAULTS 4

struct probe_target_a {
    struct cortex_a cores[CONFIG_MAX_CORES];
    unsigned count;
    struct cortex_a_software software;
    struct mem_ap memory;       /* of the system, beside the cores */
    bool has_memory;            /* [probe] memory_ap */
    bool through_system;        /* by command: memory is what that one reaches */
    bool off[CONFIG_MAX_CORES]; /* at the last look */
    bool joined;                /* they halt each other by their cross triggers */
    unsigned failed;            /* the core that failed last */
    bool failed_memory;         /* not a core, but `memory` */
    unsigned doubles;           /* d registers that are described */
    /* Of this halt, if vfp_read: what reading them gave, and they themselves. */
    bool vfp_read[CONFIG_MAX_CORES];
    int vfp_result[CONFIG_MAX_CORES];
    uint64_t vfp[CONFIG_MAX_CORES][32];
    uint32_t fpscr[CONFIG_MAX_CORES];
    uint32_t reported[CONFIG_MAX_CORES][PROBE_TARGET_A_FAULTS];
};

#endif
