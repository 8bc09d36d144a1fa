/* SPDX-License-Identifier: BSD-3-Clause */
/* PTM (Program Flow Trace) sources: IHI 0035B. */
#include "decoder/source/source.h"

#include <inttypes.h>

static int configure_ptm(const struct bt_source *source, struct stream_config *config,
                         unsigned *trace_id, char *why, size_t size)
{
    static const char *const names[4] = {"ETMCR", "ETMIDR", "ETMCCER", "ETMTRACEIDR"};
    uint32_t v[4];
    for (size_t i = 0; i < 4; i++) {
        int error = source_need_reg(source, names[i], &v[i], why, size);
        if (error)
            return error;
    }
    int error = ptm_config_from_regs(&config->ptm, v[0], v[1], v[2], v[3]);
    if (error)
        return source_fail(error, why, size,
                           "ETMIDR 0x%08x is not that of a PTM (bits [11:8] must be 3)", v[1]);
    *trace_id = config->ptm.trace_id;
    return BT_OK;
}

static uint32_t source_ptm_sync_period(const struct stream_config *config)
{
    (void)config;
    return 1024; /* the reset value of ETMSYNCFR */
}

static const char *const ptm_names[] = {
    [PTM_ATOM] = "atom",
    [PTM_BRANCH] = "branch",
    [PTM_ISYNC] = "i-sync",
    [PTM_UPDATE] = "waypoint-update",
    [PTM_TIMESTAMP] = "timestamp",
    [PTM_CONTEXT] = "context-id",
    [PTM_VMID] = "vmid",
    [PTM_EXC_RETURN] = "exception-return",
    [PTM_TRIGGER] = "trigger",
    [PTM_IGNORE] = "ignore",
    [PTM_ASYNC] = "a-sync",
    [PTM_RESERVED] = "reserved",
    [PTM_MALFORMED] = "malformed",
    [PTM_UNSYNCED] = "unsynced",
    [PTM_INCOMPLETE] = "incomplete",
};

static void source_ptm_add_target(struct detail *d, const struct ptm_packet *k)
{
    detail_target(d, k->flags & PTM_PARTIAL, k->value, ptm_packet_isa(k));
}

static void source_ptm_add_branch(struct detail *d, const struct ptm_packet *k)
{
    source_ptm_add_target(d, k);
    if (!(k->flags & PTM_HAS_INFO))
        return;
    detail_add(d, "sec=%s", detail_security(ptm_packet_security(k)));
    detail_add(d, "exception=%u", k->number);
}

static void source_ptm_add_atoms(struct detail *d, const struct ptm_packet *k)
{
    char atoms[9] = {0};
    for (unsigned i = 0; i < k->n && i < 8; i++)
        atoms[i] = k->value >> (k->n - 1 - i) & 1 ? 'N' : 'E';
    detail_add(d, "atoms=%s", atoms);
}

static void source_ptm_add_fields(struct detail *d, const struct ptm_config *config,
                                  const struct ptm_packet *k)
{
    switch ((enum ptm_kind)k->kind) {
    case PTM_ATOM:
        source_ptm_add_atoms(d, k);
        break;
    case PTM_BRANCH:
        source_ptm_add_branch(d, k);
        break;
    case PTM_ISYNC:
        detail_add(d, "reason=%u", k->number);
        source_ptm_add_target(d, k);
        detail_add(d, "sec=%s", detail_security(ptm_packet_security(k)));
        break;
    case PTM_UPDATE:
        source_ptm_add_target(d, k);
        break;
    case PTM_TIMESTAMP:
        detail_timestamp(d, k->value, k->n, k->flags & PTM_TS_VALID, config->timestamp_gray);
        detail_flag(d, "freq", k->flags & PTM_TS_FREQ);
        break;
    case PTM_ASYNC:
        if (k->size > 64)
            detail_add(d, "count=%" PRIu64, k->value);
        break;
    case PTM_VMID:
        detail_add(d, "vmid=0x%02" PRIx64, k->value);
        break;
    case PTM_RESERVED:
    case PTM_MALFORMED:
        detail_add(d, "header=0x%02" PRIx64, k->value);
        break;
    case PTM_UNSYNCED:
    case PTM_INCOMPLETE:
        detail_add(d, "count=%" PRIu64, k->value);
        break;
    default:
        break;
    }
}

static const char *describe_ptm(const struct stream_config *config, const void *packet,
                                struct detail *d)
{
    const struct ptm_packet *k = packet;
    source_ptm_add_fields(d, &config->ptm, k);
    if (k->flags & PTM_HAS_CYCLES)
        detail_add(d, "cycles=%u", k->cycles);
    if (k->flags & PTM_HAS_CONTEXT)
        detail_add(d, "cid=0x%x", k->context);
    return k->kind < sizeof ptm_names / sizeof *ptm_names ? ptm_names[k->kind] : "?";
}

const struct source_protocol source_ptm = {
    .protocol = STREAM_PTM,
    .types = {"PTM", "PFT"},
    .configure = configure_ptm,
    .sync_period = source_ptm_sync_period,
    .registers = "ETMCR and ETMIDR",
    .describe = describe_ptm,
};
