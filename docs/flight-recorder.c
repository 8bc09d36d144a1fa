/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flight recorder for firmware: trace of a Cortex-M3 or Cortex-M4 into the ETB of its chip, with
 * no debugger attached. To be copied into a program; docs/flight-recorder.md says how.
 *
 *   flight_recorder_arm()     once at start-up: from here on the buffer keeps the newest trace
 *   flight_recorder_freeze()  first thing in a fault handler: what led there stays in the buffer
 *
 * Nothing is allocated, no interrupt is used, each wait has an end.
 * Needs about 250 bytes of code. */
#include <stdbool.h>
#include <stdint.h>

#ifndef FLIGHT_RECORDER_ETB
#define FLIGHT_RECORDER_ETB 0xe0043000u /* see the chip's manual */
#endif
#ifndef FLIGHT_RECORDER_TRACE_ID
#define FLIGHT_RECORDER_TRACE_ID 0x10u /* ETMTRACEIDR in the board file */
#endif
/* Trace options: 0x100 writes every branch's target: longer trace, and less is lost where the
 * buffer has wrapped. 0 for the longest history. */
#ifndef FLIGHT_RECORDER_OPTIONS
#define FLIGHT_RECORDER_OPTIONS 0u
#endif

#ifndef FLIGHT_RECORDER_REGISTER_ACCESS
static inline void reg_write(uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)address = value;
}

static inline uint32_t reg_read(uint32_t address)
{
    return *(volatile uint32_t *)(uintptr_t)address;
}
#endif

#define DEMCR        0xe000edfcu
#define DEMCR_TRCENA 0x01000000u
#define ETM          0xe0041000u
#define ETB          FLIGHT_RECORDER_ETB

#define ETMCR       (ETM + 0x000u)
#define ETMTRIGGER  (ETM + 0x008u)
#define ETMSR       (ETM + 0x010u)
#define ETMTEEVR    (ETM + 0x020u)
#define ETMTECR1    (ETM + 0x024u)
#define ETMTESSEICR (ETM + 0x1f0u)
#define ETMTSEVR    (ETM + 0x1f8u)
#define ETMTRACEIDR (ETM + 0x200u)
#define ETMLAR      (ETM + 0xfb0u)

#define ETBRRP  (ETB + 0x014u)
#define ETBRWP  (ETB + 0x018u)
#define ETBTRG  (ETB + 0x01cu)
#define ETBCTL  (ETB + 0x020u)
#define ETBFFSR (ETB + 0x300u)
#define ETBFFCR (ETB + 0x304u)
#define ETBLAR  (ETB + 0xfb0u)

#define UNLOCK       0xc5acce55u
#define CR_PROG      0x400u /* registers may be written, and nothing is traced */
#define CR_ETMEN     0x800u
#define SR_PROG      0x2u
#define EVENT_ALWAYS 0x6fu
#define EVENT_NEVER  0x406fu
#define EXCLUDE_NONE 0x01000000u
#define FF_STOPPED   0x2u
#define FF_FRAMES    0x1u
#define FF_FLUSH     0x40u
#define FF_STOP_FL   0x1000u
#define PATIENCE     10000u

/* Waits until the bits of `mask` are as wanted; false: they never are. */
static bool reg_wait(uint32_t address, uint32_t mask, uint32_t value)
{
    for (uint32_t i = 0; i < PATIENCE; i++)
        if ((reg_read(address) & mask) == value)
            return true;
    return false;
}

/* False: this chip has no ETM or no ETB there, and nothing is traced. */
bool flight_recorder_arm(void)
{
    reg_write(DEMCR, reg_read(DEMCR) | DEMCR_TRCENA);

    /* The buffer first, so that it is there when the first byte comes. */
    reg_write(ETBLAR, UNLOCK);
    reg_write(ETBCTL, 0);
    if (!reg_wait(ETBFFSR, FF_STOPPED, FF_STOPPED))
        return false;
    reg_write(ETBRWP, 0);
    reg_write(ETBRRP, 0);
    reg_write(ETBTRG, 0);
    reg_write(ETBFFCR, FF_FRAMES);
    reg_write(ETBCTL, 1);

    /* All of the program: TraceEnable is the event "always", and no address is excluded. */
    reg_write(ETMLAR, UNLOCK);
    reg_write(ETMCR, CR_PROG);
    if (!reg_wait(ETMSR, SR_PROG, SR_PROG))
        return false;
    reg_write(ETMTRACEIDR, FLIGHT_RECORDER_TRACE_ID);
    reg_write(ETMTRIGGER, EVENT_NEVER);
    reg_write(ETMTEEVR, EVENT_ALWAYS);
    reg_write(ETMTECR1, EXCLUDE_NONE);
    reg_write(ETMTESSEICR, 0);
    reg_write(ETMTSEVR, EVENT_NEVER);
    reg_write(ETMCR, CR_PROG | CR_ETMEN | FLIGHT_RECORDER_OPTIONS);
    reg_write(ETMCR, CR_ETMEN | FLIGHT_RECORDER_OPTIONS);
    return reg_wait(ETMSR, SR_PROG, 0);
}

/* The endless loop of a fault handler would overwrite the buffer within milliseconds. */
void flight_recorder_freeze(void)
{
    reg_write(ETBFFCR, FF_FRAMES | FF_STOP_FL);
    reg_write(ETBFFCR, FF_FRAMES | FF_STOP_FL | FF_FLUSH); /* not in one write with the stop */
    (void)reg_wait(ETBFFCR, FF_FLUSH, 0);
    reg_write(ETBCTL, 0);
    (void)reg_wait(ETBFFSR, FF_STOPPED, FF_STOPPED);
}
