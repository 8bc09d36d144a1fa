/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of coresight_etm4.h share. IHI 0064H.b chapter 7. */
#ifndef DRIVERS_CORESIGHT_ETM4_INTERNAL_H
#define DRIVERS_CORESIGHT_ETM4_INTERNAL_H

#include "drivers/coresight/coresight_etm4.h"

#define TRCPRGCTLR    0x004u
#define TRCPROCSELR   0x008u
#define TRCSTATR      0x00cu
#define TRCCONFIGR    0x010u
#define TRCAUXCTLR    0x018u
#define TRCEVENTCTL0R 0x020u
#define TRCEVENTCTL1R 0x024u
#define TRCSTALLCTLR  0x02cu
#define TRCTSCTLR     0x030u
#define TRCSYNCPR     0x034u
#define TRCCCCTLR     0x038u
#define TRCBBCTLR     0x03cu
#define TRCTRACEIDR   0x040u
#define TRCQCTLR      0x044u
#define TRCVICTLR     0x080u
#define TRCVIIECTLR   0x084u
#define TRCVISSCTLR   0x088u
#define TRCVIPCSSCTLR 0x08cu
#define TRCVDCTLR     0x0a0u
#define TRCSEQEVR     0x100u
#define TRCSEQRSTEVR  0x118u
#define TRCSEQSTR     0x11cu
#define TRCEXTINSELR  0x120u
#define TRCCNTCTLR    0x150u
#define TRCIDR8       0x180u
#define TRCIDR0       0x1e0u
#define TRCRSCTLR     0x200u
#define TRCOSLAR      0x300u
#define TRCOSLSR      0x304u
#define TRCPDCR       0x310u
#define TRCPDSR       0x314u
#define TRCACVR       0x400u
#define TRCACATR      0x480u
#define TRCAUTHSTATUS 0xfb8u
#define TRCDEVARCH    0xfbcu

#define PRGCTLR_EN 0x1u

#define SYNC_LEAST 8u
#define SYNC_MOST  20u

/* All that can be read without changing anything. */
int coresight_etm4_identify(struct coresight_bus *bus, uint64_t base,
                            struct coresight_etm4_state *state);

/* The settings that *state has room for. */
int coresight_etm4_settings(struct coresight_bus *bus, uint64_t base,
                            struct coresight_etm4_state *state);

/* Nothing of what the core runs may be traced. */
bool coresight_etm4_is_forbidden(const struct coresight_etm4_state *state);

/* Sets state->failure; returns `rc`. */
static inline int coresight_etm4_fail(struct coresight_etm4_state *state,
                                      enum coresight_etm4_failure failure, int rc)
{
    state->failure = failure;
    return rc;
}

#endif
