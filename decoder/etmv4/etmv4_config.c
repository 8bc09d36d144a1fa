/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of the trace unit that shape the stream: IHI 0064H.b chapter 7. */
#include "decoder/etmv4/etmv4.h"

#include <string.h>

#define CONFIGR_INSTP0 (3u << 1)
#define CONFIGR_CCI    (1u << 4)
#define CONFIGR_CID    (1u << 6)
#define CONFIGR_VMID   (1u << 7)
#define CONFIGR_COND   (7u << 8)
#define CONFIGR_RS     (1u << 12)
#define CONFIGR_DATA   (3u << 16)

#define IDR0_CCI       (1u << 7)
#define IDR0_CONDTYPE  (3u << 12)
#define IDR0_QSUPP     (3u << 15)
#define IDR0_TSMARK    (1u << 23)
#define IDR0_COMMOPT   (1u << 29)
#define IDR0_COMMTRANS (1u << 30)

#define IDR2_WFXMODE (1u << 31)

#define DEVARCH_PRESENT (1u << 20)
#define DEVARCH_PART    0xa13u
#define DEVARCH_ETMV4   4
#define DEVARCH_ETE     5

/* Version from TRCDEVARCH, or where that is absent from TRCIDR1. */
static int set_version(struct etmv4_config *config, const struct etmv4_registers *r)
{
    if (!(r->devarch & DEVARCH_PRESENT)) {
        config->version_minor = r->idr[1] >> 4 & 0xf;
        return (r->idr[1] >> 8 & 0xf) == 4 ? BT_OK : BT_ERR_INVAL;
    }
    unsigned architecture = r->devarch >> 12 & 0xf;
    config->version_minor = r->devarch >> 16 & 0xf;
    config->ete = architecture == DEVARCH_ETE;
    if ((r->devarch & 0xfff) != DEVARCH_PART ||
        (architecture != DEVARCH_ETMV4 && architecture != DEVARCH_ETE))
        return BT_ERR_INVAL;
    return BT_OK;
}

static void set_sizes(struct etmv4_config *config, uint32_t idr2)
{
    unsigned counter = 12 + (idr2 >> 25 & 0xf), vmid = idr2 >> 10 & 0x1f;
    config->context_bytes = (idr2 >> 5 & 0x1f) == 4 ? 4 : 0;
    config->vmid_bytes = vmid == 1 || vmid == 2 || vmid == 4 ? (uint8_t)vmid : 0;
    config->cycle_mask = (1u << counter) - 1;
}

int etmv4_config_from_regs(struct etmv4_config *config, const struct etmv4_registers *r,
                           bool m_profile)
{
    memset(config, 0, sizeof *config);
    int error = set_version(config, r);
    if (error)
        return error;
    if ((r->configr & CONFIGR_INSTP0) || r->idr[8] > ETMV4_SPECULATED_MAX)
        return BT_ERR_UNSUPPORTED;
    set_sizes(config, r->idr[2]);
    config->m_profile = m_profile;
    config->trace_id = r->traceidr & 0x7f;
    config->max_speculated = (uint16_t)r->idr[8];
    config->traces_context = config->context_bytes && (r->configr & CONFIGR_CID);
    config->traces_vmid = config->vmid_bytes && (r->configr & CONFIGR_VMID);
    config->cycle_accurate = r->configr & CONFIGR_CCI;
    config->counts_commit = (r->idr[0] & IDR0_CCI) && !(r->idr[0] & IDR0_COMMOPT);
    config->return_stack = r->configr & CONFIGR_RS;
    config->conditional = (r->configr & CONFIGR_COND) && !config->ete;
    config->condition_flags = r->idr[0] & IDR0_CONDTYPE;
    config->data_trace = (r->configr & CONFIGR_DATA) && !config->ete;
    config->q_packets = r->idr[0] & IDR0_QSUPP;
    config->wait_waypoints =
        (r->idr[2] & IDR2_WFXMODE) && (config->ete || config->version_minor >= 3);
    config->marked_times = (r->idr[0] & IDR0_TSMARK) && (config->ete || config->version_minor >= 6);
    config->transactions_p0 = config->ete && !(r->idr[0] & IDR0_COMMTRANS);
    return BT_OK;
}
