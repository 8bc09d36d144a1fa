/* SPDX-License-Identifier: BSD-3-Clause */
/* Waking a Debug Port up. IHI 0031F chapters B2 and B5. */
#include "adiv5_internal.h"

#define DEFAULT_HZ           1000000u
#define DEFAULT_WAIT_RETRIES 200u
#define ROUNDS               3u
#define POWER_LIMIT_US       1000000u
#define POWER_POLL_US        1000u
#define TAP_RESET_BITS       6u /* five clocks with TMS high reset the TAP, one low leaves it */

static const uint8_t JTAG_TO_SWD[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x9e, 0xe7,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};
static const uint8_t SWD_TO_JTAG[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3c, 0xe7, 0xff};
static const uint8_t TAP_RESET[] = {0x1f};
static const uint8_t DORMANT_TO_SWD[] = {0xff, 0x92, 0xf3, 0x09, 0x62, 0x95, 0x2d, 0x85, 0x86, 0xe9,
                                         0xaf, 0xdd, 0xe3, 0xa2, 0x0e, 0xbc, 0x19, 0xa0, 0xf1, 0xff,
                                         0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};

static int adiv5_wake(struct adiv5_dp *dp, unsigned way)
{
    void *self = dp->link.self;
    const struct debug_link_ops *ops = dp->link.ops;
    switch (way) {
    case 0:
        return ops->sequence(self, 8 * sizeof JTAG_TO_SWD, JTAG_TO_SWD);
    case 1:
        return adiv5_line_reset(dp);
    default:
        return ops->sequence(self, 8 * sizeof DORMANT_TO_SWD, DORMANT_TO_SWD);
    }
}

static bool dpidr_plausible(uint32_t dpidr)
{
    return (dpidr & 1) != 0 && dpidr != 0xffffffffu;
}

/* Ask for DPIDR in all ways until somebody answers. */
static int find_swd(struct adiv5_dp *dp)
{
    for (unsigned k = 0; k < 3 * ROUNDS; k++) {
        bool ok;
        int rc = adiv5_wake(dp, k % 3);
        if (rc == 0)
            rc = adiv5_try_dpidr(dp, &dp->dpidr, &ok);
        if (rc != 0)
            return adiv5_link_failed(dp, rc);
        if (ok && dpidr_plausible(dp->dpidr))
            return 0;
    }
    return adiv5_fail(dp, DEBUG_FAIL_SILENT);
}

/* A JTAG-DP of version 0 has no DPIDR; an answer at all, with or without value, will do. */
static int find_jtag(struct adiv5_dp *dp, const struct adiv5_connect_options *o)
{
    static const uint8_t ONE_DAP[] = {4};
    bool ok = false;
    const uint8_t *lengths = o->chain_count ? o->ir_lengths : ONE_DAP;
    unsigned count = o->chain_count ? o->chain_count : 1;
    int rc = dp->link.ops->jtag_chain(dp->link.self, lengths, count, o->chain_dap);
    if (rc == 0)
        rc = dp->link.ops->sequence(dp->link.self, 8 * sizeof SWD_TO_JTAG, SWD_TO_JTAG);
    if (rc == 0)
        rc = dp->link.ops->sequence(dp->link.self, TAP_RESET_BITS, TAP_RESET);
    for (unsigned k = 0; rc == 0 && !ok && k < ROUNDS; k++)
        rc = adiv5_try_dpidr(dp, &dp->dpidr, &ok);
    if (rc != 0)
        return adiv5_link_failed(dp, rc);
    return ok ? 0 : adiv5_fail(dp, DEBUG_FAIL_SILENT);
}

static int power_up(struct adiv5_dp *dp)
{
    const uint32_t both = ADIV5_CDBGPWRUPACK | ADIV5_CSYSPWRUPACK;
    uint32_t value = 0;
    int rc = adiv5_clear_errors(dp, NULL);
    if (rc == 0)
        rc = adiv5_dp_write(dp, DP_SELECT, 0, 0);
    if (rc == 0)
        rc = adiv5_dp_write(dp, DP_CTRL_STAT, 0, ADIV5_CDBGPWRUPREQ | ADIV5_CSYSPWRUPREQ);
    uint64_t begin = dp->clock.now_us(dp->clock.user);
    while (rc == 0) {
        rc = adiv5_dp_read(dp, DP_CTRL_STAT, 0, &value);
        if (rc != 0 || (value & both) == both)
            break;
        if (dp->clock.now_us(dp->clock.user) - begin > POWER_LIMIT_US)
            break;
        dp->clock.sleep_us(dp->clock.user, POWER_POLL_US);
    }
    if (rc != 0)
        return rc;
    dp->system_power = (value & ADIV5_CSYSPWRUPACK) != 0;
    return (value & ADIV5_CDBGPWRUPACK) != 0 ? 0 : adiv5_fail(dp, DEBUG_FAIL_POWER);
}

static int prepare_link(struct adiv5_dp *dp, const struct adiv5_connect_options *o)
{
    uint32_t need = o->wire == DEBUG_WIRE_SWD ? DEBUG_LINK_SWD : DEBUG_LINK_JTAG;
    if ((dp->link.caps & need) == 0)
        return BT_ERR_UNSUPPORTED;
    int rc = dp->link.ops->connect(dp->link.self, o->wire);
    if (rc == 0)
        rc = dp->link.ops->set_clock(dp->link.self, o->clock_hz ? o->clock_hz : DEFAULT_HZ);
    if (rc == 0)
        rc = dp->link.ops->configure(dp->link.self, o->idle_clocks,
                                     o->wait_retries ? o->wait_retries : DEFAULT_WAIT_RETRIES);
    return rc;
}

int adiv5_connect(struct adiv5_dp *dp, const struct adiv5_connect_options *options)
{
    dp->wire = options->wire;
    dp->connected = false;
    dp->select_known = false;
    dp->failure = DEBUG_FAIL_NONE;
    dp->ctrl_stat = 0;
    dp->line_errors = 0;
    dp->generation++;
    int rc = prepare_link(dp, options);
    if (rc != 0)
        return adiv5_link_failed(dp, rc);
    rc = options->wire == DEBUG_WIRE_SWD ? find_swd(dp) : find_jtag(dp, options);
    if (rc != 0)
        return rc;
    dp->version = dp->dpidr >> 12 & 0xf;
    if (dp->version > 2) {
        (void)adiv5_fail(dp, DEBUG_FAIL_VERSION);
        return BT_ERR_UNSUPPORTED;
    }
    rc = power_up(dp);
    dp->connected = rc == 0;
    return rc;
}

int adiv5_disconnect(struct adiv5_dp *dp, bool power_down)
{
    int rc = 0;
    if (power_down && dp->connected)
        rc = adiv5_dp_write(dp, DP_CTRL_STAT, 0, 0);
    dp->connected = false;
    dp->select_known = false;
    int end = dp->link.ops->disconnect(dp->link.self);
    return rc != 0 ? rc : end;
}
