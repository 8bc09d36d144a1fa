/* SPDX-License-Identifier: BSD-3-Clause */
/* What trace on a Cortex-M needs beside its ETM: DDI 0403E.e C1.7, C1.8 and C1.10. */
#include "trace_setup_internal.h"

#include <strings.h>

#define DEMCR         0xe000edfcu
#define DEMCR_TRCENA  0x01000000u
#define DWT           0xe0001000u
#define DWT_CTRL      0x000u
#define DWT_TAP_MASK  0x00000c01u
#define DWT_TAP       0x00000401u /* CYCCNTENA, SYNCTAP at its shortest */
#define ITM           0xe0000000u
#define ITM_LAST_PORT 31u
#define ITM_TER       0xe00u
#define ITM_TCR       0xe80u
#define ITM_ENABLE    0x00000001u
#define ITM_BUSY      0x00800000u
#define ITM_OWN       (TRACE_SETUP_PUSH_ID << 16 | ITM_ENABLE)
#define PUSH_WORDS    4u /* of 5 bytes each: more than any frame holds */

bool trace_setup_is_m_profile(const struct config_core *core)
{
    return strncasecmp(core->type, "Cortex-M", 8) == 0 || strncasecmp(core->type, "SC300", 5) == 0;
}

int trace_setup_enable_trace(struct trace_setup *t)
{
    return coresight_modify(t->bus, DEMCR, DEMCR_TRCENA, DEMCR_TRCENA);
}

int trace_setup_enable_syncs(struct trace_setup *t)
{
    int rc = coresight_unlock(t->bus, DWT);
    return rc ? rc : coresight_modify(t->bus, DWT + DWT_CTRL, DWT_TAP_MASK, DWT_TAP);
}

static int put_words(struct trace_setup *t)
{
    const uint64_t port = ITM + 4 * (uint64_t)ITM_LAST_PORT;
    int rc = 0;
    for (unsigned k = 0; rc == 0 && k < PUSH_WORDS; k++) {
        rc = coresight_poll(t->bus, port, 1, 1);
        if (rc == 0)
            rc = coresight_write(t->bus, port, 0);
    }
    return rc ? rc : coresight_poll(t->bus, ITM + ITM_TCR, ITM_BUSY, 0);
}

/* A program that uses the ITM keeps its settings: only its last port is opened for a moment. */
int trace_setup_push_out(struct trace_setup *t)
{
    uint32_t control = 0, ports = 0;
    int rc = coresight_unlock(t->bus, ITM);
    if (rc == 0)
        rc = coresight_read(t->bus, ITM + ITM_TCR, &control);
    if (rc == 0)
        rc = coresight_read(t->bus, ITM + ITM_TER, &ports);
    if (rc == 0)
        rc = coresight_write(t->bus, ITM + ITM_TER, ports | 1u << ITM_LAST_PORT);
    if (rc == 0 && (control & ITM_ENABLE) == 0)
        rc = coresight_write(t->bus, ITM + ITM_TCR, ITM_OWN);
    if (rc == 0)
        rc = put_words(t);
    if ((control & ITM_ENABLE) == 0)
        (void)coresight_write(t->bus, ITM + ITM_TCR, control & ~ITM_BUSY);
    (void)coresight_write(t->bus, ITM + ITM_TER, ports);
    return rc;
}
