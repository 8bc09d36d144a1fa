/* SPDX-License-Identifier: BSD-3-Clause */
/* What to do after an access was refused, and words for it. IHI 0031F B1.2. */
#include <stdio.h>

#include "adiv5_internal.h"

#define RETRIES 2u /* of what was damaged on the wire */

/* 64 bits: more than 50 high, then low. */
static const uint8_t LINE_RESET[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};

const char *debug_failure_text(enum debug_failure failure)
{
    switch (failure) {
    case DEBUG_FAIL_NONE:
        return "no failure";
    case DEBUG_FAIL_PROBE:
        return "the probe does not answer: unplugged?";
    case DEBUG_FAIL_ANSWER:
        return "the probe's answer makes no sense";
    case DEBUG_FAIL_WIRE_KIND:
        return "the probe cannot do this: other wire or an older firmware?";
    case DEBUG_FAIL_SILENT:
        return "no answer on the debug wires: check power and wiring";
    case DEBUG_FAIL_LINE:
        return "damaged bits on the debug wires: check wiring, lower the clock";
    case DEBUG_FAIL_WAIT:
        return "the access port stays busy: is the bus clocked?";
    case DEBUG_FAIL_FAULT:
        return "the target refused the access";
    case DEBUG_FAIL_POWER:
        return "the chip answered but does not power up its debug logic: debug locked or no clock?";
    case DEBUG_FAIL_VERSION:
        return "a debug port of a kind that is not supported";
    case DEBUG_FAIL_LOCKED:
        return "the chip answered but refuses: debug locked?";
    case DEBUG_FAIL_NO_MEM_AP:
        return "no memory access port there";
    case DEBUG_FAIL_CHANGED:
        return "another debug port answers than before: other target connected?";
    case DEBUG_FAIL_TIMEOUT:
        return "the target did not get there in time";
    }
    return "unknown failure";
}

bool debug_link_again(int rc, enum debug_failure failure, unsigned *tries)
{
    return rc == BT_ERR_IO && failure == DEBUG_FAIL_LINE && (*tries)++ < RETRIES;
}

const char *adiv5_describe(const struct adiv5_dp *dp, char *text, size_t size)
{
    if (dp->ctrl_stat != 0 && dp->failure == DEBUG_FAIL_FAULT)
        snprintf(text, size, "%s (CTRL/STAT %08x%s%s%s)", debug_failure_text(dp->failure),
                 (unsigned)dp->ctrl_stat, dp->ctrl_stat & ADIV5_STICKYERR ? ", bus error" : "",
                 dp->ctrl_stat & ADIV5_STICKYORUN ? ", overrun" : "",
                 dp->ctrl_stat & ADIV5_WDATAERR ? ", damaged write" : "");
    else
        snprintf(text, size, "%s", debug_failure_text(dp->failure));
    return text;
}

int adiv5_fail(struct adiv5_dp *dp, enum debug_failure failure)
{
    dp->failure = failure;
    dp->generation++;
    return BT_ERR_IO;
}

int adiv5_link_failed(struct adiv5_dp *dp, int rc)
{
    dp->select_known = false;
    if (rc == BT_ERR_UNSUPPORTED)
        (void)adiv5_fail(dp, DEBUG_FAIL_WIRE_KIND);
    else
        (void)adiv5_fail(dp, rc == BT_ERR_FORMAT ? DEBUG_FAIL_ANSWER : DEBUG_FAIL_PROBE);
    return rc;
}

int adiv5_try_dpidr(struct adiv5_dp *dp, uint32_t *dpidr, bool *ok)
{
    struct debug_transfer read = {.request = DEBUG_DP | DEBUG_READ | DP_DPIDR};
    struct debug_result result;
    int rc = dp->link.ops->transfer(dp->link.self, &read, 1, &result);
    *ok = rc == 0 && result.done == 1 && result.ack == DEBUG_ACK_OK;
    *dpidr = *ok ? read.value : 0;
    return rc;
}

int adiv5_line_reset(struct adiv5_dp *dp)
{
    return dp->link.ops->sequence(dp->link.self, 8 * sizeof LINE_RESET, LINE_RESET);
}

/* Read the flags and clear them; nothing here is recovered again. `abort`: DAPABORT too. */
static int clear_raw(struct adiv5_dp *dp, bool abort, bool *ok)
{
    struct debug_result result;
    struct debug_transfer list[4];
    size_t n = 0;
    size_t flags;
    if (abort && dp->wire == DEBUG_WIRE_SWD)
        list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_WRITE | DP_ABORT,
                                            .value = ABORT_DAPABORT};
    /* The flags are in bank 0, but SELECT may not be writable now: the bank was 0 or the value
     * only describes the failure. */
    flags = n;
    list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_READ | DP_CTRL_STAT};
    if (dp->wire == DEBUG_WIRE_SWD) {
        list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_WRITE | DP_ABORT,
                                            .value = ABORT_CLEAR};
    } else {
        list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_WRITE | DP_SELECT};
        list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_WRITE | DP_CTRL_STAT,
                                            .value = JTAG_CLEAR};
    }
    int rc = dp->link.ops->transfer(dp->link.self, list, n, &result);
    *ok = rc == 0 && result.done == n && result.ack == DEBUG_ACK_OK;
    if (rc == 0 && result.done > flags)
        dp->ctrl_stat = list[flags].value;
    return rc;
}

/* The line lost step: reset it and see who answers. */
static int adiv5_resynchronise(struct adiv5_dp *dp)
{
    uint32_t dpidr = 0;
    bool ok = false;
    dp->line_errors++;
    for (unsigned k = 0; k < 3 && !ok; k++) {
        int rc = dp->wire == DEBUG_WIRE_SWD ? adiv5_line_reset(dp) : 0;
        if (rc == 0)
            rc = adiv5_try_dpidr(dp, &dpidr, &ok);
        if (rc != 0)
            return adiv5_link_failed(dp, rc);
    }
    if (!ok)
        return adiv5_fail(dp, DEBUG_FAIL_SILENT);
    if (dpidr != dp->dpidr)
        return adiv5_fail(dp, DEBUG_FAIL_CHANGED);
    int rc = clear_raw(dp, false, &ok);
    if (rc != 0)
        return adiv5_link_failed(dp, rc);
    return adiv5_fail(dp, DEBUG_FAIL_LINE);
}

int adiv5_recover(struct adiv5_dp *dp, enum debug_ack ack)
{
    bool ok;
    dp->select_known = false;
    dp->ctrl_stat = 0;
    if (ack == DEBUG_ACK_NONE || ack == DEBUG_ACK_PROTOCOL)
        return adiv5_resynchronise(dp);
    int rc = clear_raw(dp, ack == DEBUG_ACK_WAIT, &ok);
    if (rc != 0)
        return adiv5_link_failed(dp, rc);
    if (!ok)
        return adiv5_resynchronise(dp);
    return adiv5_fail(dp, ack == DEBUG_ACK_WAIT ? DEBUG_FAIL_WAIT : DEBUG_FAIL_FAULT);
}
