/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv3 sources: IHI 0014Q chapter 7. */
#include "decoder/source/source.h"

#include <inttypes.h>

#define CCER_SINCE 5 /* minor version whose decoder needs ETMCCER */

static int configure_etmv3(const struct bt_source *source, struct stream_config *config,
                           unsigned *trace_id, char *why, size_t size)
{
    static const char *const names[3] = {"ETMCR", "ETMIDR", "ETMTRACEIDR"};
    uint32_t v[3], ccer = 0;
    uint64_t period;
    for (size_t i = 0; i < 3; i++) {
        int error = source_need_reg(source, names[i], &v[i], why, size);
        if (error)
            return error;
    }
    if ((v[1] >> 4 & 0xf) >= CCER_SINCE) {
        int error = source_need_reg(source, "ETMCCER", &ccer, why, size);
        if (error)
            return error;
    }
    int error = etmv3_config_from_regs(&config->etmv3, v[0], v[1], ccer, v[2]);
    if (error)
        return source_fail(error, why, size,
                           "ETMIDR 0x%08x is not that of an ETMv3 (bits [11:8] must be 2)", v[1]);
    if (source_reg(source, "ETMSYNCFR", &period) == BT_OK)
        config->etmv3.sync_period = period & 0xfff;
    config->etmv3.m_profile = source_m_profile(source);
    *trace_id = config->etmv3.trace_id;
    return BT_OK;
}

static uint32_t source_etmv3_sync_period(const struct stream_config *config)
{
    return config->etmv3.sync_period;
}

static const char *const etmv3_names[] = {
    [ETMV3_ATOM] = "atom",
    [ETMV3_BRANCH] = "branch",
    [ETMV3_ISYNC] = "i-sync",
    [ETMV3_CYCLE_COUNT] = "cycle-count",
    [ETMV3_CONTEXT] = "context-id",
    [ETMV3_VMID] = "vmid",
    [ETMV3_TIMESTAMP] = "timestamp",
    [ETMV3_TRIGGER] = "trigger",
    [ETMV3_IGNORE] = "ignore",
    [ETMV3_EXC_ENTRY] = "exception-entry",
    [ETMV3_EXC_RETURN] = "exception-return",
    [ETMV3_DATA] = "data",
    [ETMV3_PLACEHOLDER] = "data-placeholder",
    [ETMV3_OOO_DATA] = "data-out-of-order",
    [ETMV3_NOT_TRACED] = "data-not-traced",
    [ETMV3_STORE_FAILED] = "store-failed",
    [ETMV3_SUPPRESSED] = "data-suppressed",
    [ETMV3_ASYNC] = "a-sync",
    [ETMV3_END] = "end",
    [ETMV3_RESERVED] = "reserved",
    [ETMV3_MALFORMED] = "malformed",
    [ETMV3_UNSYNCED] = "unsynced",
    [ETMV3_INCOMPLETE] = "incomplete",
};

static const char *isa_name(uint8_t state)
{
    return bt_isa_name((enum bt_isa)(state & 0xf));
}

static const char *security_name(uint8_t state)
{
    return detail_security((enum bt_security)(state >> 4));
}

/* "WEWEWN", oldest first; "-" for none. */
static void source_etmv3_add_atoms(struct detail *d, const struct etmv3_packet *k)
{
    char atoms[40];
    size_t n = 0;
    bool each = k->flags & ETMV3_W_EACH;
    for (unsigned i = 0; !each && i < k->cycles && n < 16; i++)
        atoms[n++] = 'W';
    for (unsigned i = 0; i < k->n && n + 3 < sizeof atoms; i++) {
        if (each)
            atoms[n++] = 'W';
        atoms[n++] = k->value >> (k->n - 1 - i) & 1 ? 'N' : 'E';
    }
    atoms[n] = 0;
    detail_add(d, "atoms=%s", n ? atoms : "-");
}

static void etmv3_add_target(struct detail *d, const struct etmv3_packet *k)
{
    detail_target(d, k->flags & ETMV3_PARTIAL, k->value, (enum bt_isa)(k->isa_state & 0xf));
}

static void source_etmv3_add_branch(struct detail *d, const struct etmv3_packet *k)
{
    etmv3_add_target(d, k);
    if (k->flags & ETMV3_HAS_INFO)
        detail_add(d, "sec=%s", security_name(k->isa_state));
    if (k->flags & (ETMV3_HAS_INFO | ETMV3_INLINE))
        detail_add(d, "exception=%u", k->number);
    detail_flag(d, "inline", k->flags & ETMV3_INLINE);
    detail_flag(d, "cancel", k->flags & ETMV3_CANCEL);
    if (k->flags & ETMV3_RESUME)
        detail_add(d, "resume=%u", k->extra);
}

static void add_isync(struct detail *d, const struct etmv3_packet *k)
{
    detail_add(d, "reason=%u", k->number);
    if (!(k->flags & ETMV3_DATA_ONLY))
        etmv3_add_target(d, k);
    detail_add(d, "sec=%s", security_name(k->isa_state));
    if (k->flags & ETMV3_ODD_STATE)
        detail_add(d, "state=reserved");
    if (k->flags & ETMV3_LSIP) {
        detail_add(d, "from=0x%08x", k->address);
        if ((k->extra ^ k->isa_state) & 0xf)
            detail_add(d, "from-isa=%s", isa_name(k->extra));
        if ((k->extra ^ k->isa_state) >> 4)
            detail_add(d, "from-sec=%s", security_name(k->extra));
    }
    if (k->flags & ETMV3_HAS_CYCLES)
        detail_add(d, "cycles=%u", k->cycles);
}

/* Address and value as far as they were sent. */
static void source_etmv3_add_data(struct detail *d, const struct etmv3_packet *k)
{
    if (k->kind == ETMV3_PLACEHOLDER || k->kind == ETMV3_OOO_DATA)
        detail_add(d, "tag=%u", k->number);
    if (k->flags & ETMV3_HAS_ADDRESS) {
        detail_add(d, "address=0x%08x", k->address);
        if (k->extra < 32)
            detail_add(d, "bits=%u", k->extra);
    }
    detail_flag(d, "be", k->flags & ETMV3_BIG_ENDIAN);
    if (k->flags & ETMV3_HAS_VALUE)
        detail_add(d, "value=0x%" PRIx64, k->value);
}

static void source_etmv3_add_fields(struct detail *d, const struct etmv3_config *config,
                                    const struct etmv3_packet *k)
{
    switch ((enum etmv3_kind)k->kind) {
    case ETMV3_ATOM:
        source_etmv3_add_atoms(d, k);
        break;
    case ETMV3_BRANCH:
        source_etmv3_add_branch(d, k);
        break;
    case ETMV3_ISYNC:
        add_isync(d, k);
        break;
    case ETMV3_CYCLE_COUNT:
        detail_add(d, "cycles=%u", k->cycles);
        break;
    case ETMV3_TIMESTAMP:
        detail_timestamp(d, k->value, k->n, k->flags & ETMV3_TS_VALID, config->timestamp_gray);
        detail_flag(d, "freq", k->flags & ETMV3_TS_FREQ);
        break;
    case ETMV3_VMID:
        detail_add(d, "vmid=0x%02" PRIx64, k->value);
        break;
    case ETMV3_RESERVED:
    case ETMV3_MALFORMED:
        detail_add(d, "header=0x%02" PRIx64, k->value);
        break;
    case ETMV3_ASYNC:
        if (k->size > 64)
            detail_add(d, "count=%" PRIu64, k->value);
        break;
    case ETMV3_UNSYNCED:
    case ETMV3_INCOMPLETE:
    case ETMV3_END:
        detail_add(d, "count=%" PRIu64, k->value);
        break;
    default:
        source_etmv3_add_data(d, k);
        break;
    }
}

static const char *describe_etmv3(const struct stream_config *config, const void *packet,
                                  struct detail *d)
{
    const struct etmv3_packet *k = packet;
    source_etmv3_add_fields(d, &config->etmv3, k);
    if (k->flags & ETMV3_HAS_CONTEXT)
        detail_add(d, "cid=0x%x", k->context);
    return k->kind < sizeof etmv3_names / sizeof *etmv3_names ? etmv3_names[k->kind] : "?";
}

const struct source_protocol source_etmv3 = {
    .protocol = STREAM_ETMV3,
    .types = {"ETM3", "ETMv3"},
    .configure = configure_etmv3,
    .sync_period = source_etmv3_sync_period,
    .registers = "ETMCR, ETMIDR and ETMCCER",
    .describe = describe_etmv3,
};
