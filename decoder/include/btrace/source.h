/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace source as a decoder must know it: trace streams do not describe themselves, the registers
 * of the trace unit that made them do.
 */
#ifndef BTRACE_SOURCE_H
#define BTRACE_SOURCE_H

#include "btrace/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A register's name, as in the unit's manual and in any case of letters, and its value. */
struct bt_register {
    const char *name;
    uint64_t value;
};

/*
 * Which registers count depends on `type`; others are passed over:
 *
 *     PTM..., PFT...      ETMCR, ETMIDR, ETMCCER, ETMTRACEIDR
 *     ETM3..., ETMv3...   ETMCR, ETMIDR, ETMTRACEIDR; from ETMv3.5 on ETMCCER; if known ETMSYNCFR
 *     ETM2..., ETMv2...   ETMCR, ETMIDR; if known ETMTRACEIDR, PORT_LAYOUT, SCTLR
 *     ETM1.N              ETMCR; if known ETMCCR, ETMTRACEIDR, PORT_LAYOUT, SCTLR
 *     ETM4..., ETMv4..., ETE...   TRCCONFIGR, TRCTRACEIDR, TRCIDR0, TRCIDR1, TRCIDR2;
 *                         if known TRCIDR8, TRCDEVARCH
 *
 * SCTLR is the core's. PORT_LAYOUT is no register: 0 says that the bytes are 32-bit words of an
 * ETB, 1 that each is a cycle of the trace port.
 */
struct bt_source {
    const char *name; /* for messages: "PTM_0"; NULL: the type */
    const char *type; /* "PTM1.1", "ETM3.5", "ETM4", "ETE" ..., in any case of letters */
    const char *core; /* "Cortex-M4" ...; tells ARM's M-profile. NULL: of another profile */
    const struct bt_register *registers; /* of two with one name the first counts */
    size_t register_count;
};

/*
 * Checks that a decoder can be made of `source`. *trace_id, unless NULL, is the ID under which the
 * unit's bytes stand in formatter frames (1 to 0x6f; 0: not known). `why`, unless NULL, has room
 * for `size` bytes: an error's reason is written there, cut if it is longer, or an empty text.
 *
 * 0: it can.
 * BT_ERR_INVAL: `source`, its type, or a register's name is NULL, or the registers' values are
 *     those of another trace unit.
 * BT_ERR_UNSUPPORTED: the type is of no known protocol, or what the unit traces cannot be decoded.
 * BT_ERR_FORMAT: a register is missing, or has a value that is not allowed.
 */
BT_API int bt_source_check(const struct bt_source *source, unsigned *trace_id, char *why,
                           size_t size);

#ifdef __cplusplus
}
#endif

#endif
