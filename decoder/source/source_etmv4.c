/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv4 and ETE sources: IHI 0064H.b, DDI 0487L.a chapter D4. */
#include "decoder/source/source.h"

#include <inttypes.h>
#include <string.h>

static void optional_reg(const struct bt_source *source, const char *name, uint32_t *value)
{
    uint64_t v;
    if (source_reg(source, name, &v) == BT_OK)
        *value = (uint32_t)v;
}

static int read_registers(const struct bt_source *source, struct etmv4_registers *r, char *why,
                          size_t size)
{
    const struct {
        const char *name;
        uint32_t *value;
    } needed[] = {
        {"TRCCONFIGR", &r->configr}, {"TRCTRACEIDR", &r->traceidr}, {"TRCIDR0", &r->idr[0]},
        {"TRCIDR1", &r->idr[1]},     {"TRCIDR2", &r->idr[2]},
    };
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        int error = source_need_reg(source, needed[i].name, needed[i].value, why, size);
        if (error)
            return error;
    }
    optional_reg(source, "TRCIDR8", &r->idr[8]);
    optional_reg(source, "TRCDEVARCH", &r->devarch);
    return BT_OK;
}

static int configure_etmv4(const struct bt_source *source, struct stream_config *config,
                           unsigned *trace_id, char *why, size_t size)
{
    struct etmv4_registers r;
    int error = read_registers(source, &r, why, size);
    if (error)
        return error;
    error = etmv4_config_from_regs(&config->etmv4, &r, source_m_profile(source));
    if (error == BT_ERR_UNSUPPORTED)
        return source_fail(
            error, why, size,
            "TRCCONFIGR 0x%08x, TRCIDR8 0x%08x: loads and stores as P0 elements "
            "(TRCCONFIGR[2:1]) and more than %d speculated elements cannot be decoded",
            r.configr, r.idr[8], ETMV4_SPECULATED_MAX);
    if (error)
        return source_fail(error, why, size,
                           "TRCIDR1 0x%08x, TRCDEVARCH 0x%08x are not those of an ETMv4 or ETE",
                           r.idr[1], r.devarch);
    *trace_id = config->etmv4.trace_id;
    return BT_OK;
}

static const char *const etmv4_names[] = {
    [ETMV4_ATOM] = "atom",
    [ETMV4_ADDRESS] = "address",
    [ETMV4_CONTEXT] = "context",
    [ETMV4_EXCEPTION] = "exception",
    [ETMV4_EXC_RETURN] = "exception-return",
    [ETMV4_FUNC_RETURN] = "function-return",
    [ETMV4_TRACE_INFO] = "trace-info",
    [ETMV4_TRACE_ON] = "trace-on",
    [ETMV4_DISCARD] = "discard",
    [ETMV4_OVERFLOW] = "overflow",
    [ETMV4_RESYNC] = "resync",
    [ETMV4_CYCLES] = "cycle-count",
    [ETMV4_COMMIT] = "commit",
    [ETMV4_CANCEL] = "cancel",
    [ETMV4_MISPREDICT] = "mispredict",
    [ETMV4_Q] = "q",
    [ETMV4_SOURCE] = "source-address",
    [ETMV4_TIMESTAMP] = "timestamp",
    [ETMV4_MARKER] = "timestamp-marker",
    [ETMV4_EVENT] = "event",
    [ETMV4_INSTRUMENTATION] = "instrumentation",
    [ETMV4_TRANSACTION] = "transaction",
    [ETMV4_FUTURE_FLUSH] = "branch-future-flush",
    [ETMV4_DATA_SYNC] = "data-sync-marker",
    [ETMV4_CONDITION] = "conditional",
    [ETMV4_IGNORE] = "ignore",
    [ETMV4_ASYNC] = "a-sync",
    [ETMV4_RESERVED] = "reserved",
    [ETMV4_MALFORMED] = "malformed",
    [ETMV4_UNSYNCED] = "unsynced",
    [ETMV4_INCOMPLETE] = "incomplete",
};

/* "EEN", oldest first. */
static void source_etmv4_add_atoms(struct detail *d, const struct etmv4_packet *k)
{
    char atoms[40];
    size_t n = 0;
    for (; n < k->n && n + 1 < sizeof atoms; n++)
        atoms[n] = k->value >> n & 1 ? 'E' : 'N';
    atoms[n] = 0;
    if (n)
        detail_add(d, "atoms=%s", atoms);
}

static void add_address(struct detail *d, const struct etmv4_packet *k)
{
    detail_add(d, "address=0x%08" PRIx64, k->value);
    detail_add(d, "is=%u", k->isa_bit);
}

static void add_context(struct detail *d, const struct etmv4_config *config,
                        const struct etmv4_packet *k)
{
    if (!(k->flags & ETMV4_HAS_CONTEXT))
        return;
    static const char *const worlds[] = {"S", "NS", "root", "realm"};
    detail_add(d, "el=%u", k->info & ETMV4_INFO_EL);
    detail_add(d, "sec=%s", worlds[(k->info >> 2 & 2) | (k->info >> 5 & 1)]);
    detail_add(d, "sf=%u", k->info >> 4 & 1u);
    if ((k->info & ETMV4_INFO_VMID) && config->vmid_bytes)
        detail_add(d, "vmid=0x%02x", k->vmid);
    if ((k->info & ETMV4_INFO_CONTEXT) && config->context_bytes)
        detail_add(d, "cid=0x%x", k->context);
}

static void add_exception(struct detail *d, const struct etmv4_packet *k)
{
    static const char *const addresses[] = {"none", "return", "target"};
    detail_add(d, "type=%u", k->number);
    detail_add(d, "address=%s", addresses[k->n]);
    detail_flag(d, "pending", k->flags & ETMV4_PENDING);
}

static void add_trace_info(struct detail *d, const struct etmv4_packet *k)
{
    detail_add(d, "info=0x%" PRIx64, k->value);
    detail_add(d, "uncommitted=%u", k->commit);
    detail_add(d, "threshold=%u", k->cycles);
}

static void add_cycles(struct detail *d, const struct etmv4_packet *k)
{
    if (k->flags & ETMV4_COUNTED)
        detail_add(d, "cycles=%u", k->cycles);
}

static void add_speculation(struct detail *d, const struct etmv4_packet *k)
{
    source_etmv4_add_atoms(d, k);
    if (k->kind != ETMV4_MISPREDICT)
        detail_add(d, "count=%u", k->commit);
    detail_flag(d, "mispredict", k->kind == ETMV4_CANCEL && (k->flags & ETMV4_MISPREDICTS));
}

static void source_etmv4_add_fields(struct detail *d, const struct etmv4_config *config,
                                    const struct etmv4_packet *k)
{
    switch ((enum etmv4_kind)k->kind) {
    case ETMV4_ATOM:
        source_etmv4_add_atoms(d, k);
        break;
    case ETMV4_ADDRESS:
        add_address(d, k);
        add_context(d, config, k);
        break;
    case ETMV4_SOURCE:
        add_address(d, k);
        break;
    case ETMV4_CONTEXT:
        add_context(d, config, k);
        break;
    case ETMV4_EXCEPTION:
        add_exception(d, k);
        break;
    case ETMV4_TRACE_INFO:
        add_trace_info(d, k);
        break;
    case ETMV4_CYCLES:
        add_cycles(d, k);
        if (k->flags & ETMV4_COMMITS)
            detail_add(d, "commit=%u", k->commit);
        break;
    case ETMV4_COMMIT:
    case ETMV4_CANCEL:
    case ETMV4_MISPREDICT:
        add_speculation(d, k);
        break;
    case ETMV4_Q:
        if (k->flags & ETMV4_COUNTED)
            detail_add(d, "count=%u", k->commit);
        if (k->flags & ETMV4_ADDRESSED)
            add_address(d, k);
        break;
    case ETMV4_TIMESTAMP:
        detail_add(d, "value=0x%" PRIx64, k->value);
        add_cycles(d, k);
        break;
    case ETMV4_EVENT:
        detail_add(d, "mask=%u", k->number);
        break;
    case ETMV4_INSTRUMENTATION:
        detail_add(d, "el=%u", k->number);
        detail_add(d, "value=0x%" PRIx64, k->value);
        break;
    case ETMV4_TRANSACTION:
        detail_add(d, "start=%u", k->number);
        break;
    case ETMV4_RESERVED:
    case ETMV4_MALFORMED:
        detail_add(d, "header=0x%02" PRIx64, k->value);
        break;
    case ETMV4_UNSYNCED:
    case ETMV4_INCOMPLETE:
        detail_add(d, "count=%" PRIu64, k->value);
        break;
    default:
        break;
    }
}

static const char *describe_etmv4(const struct stream_config *config, const void *packet,
                                  struct detail *d)
{
    const struct etmv4_packet *k = packet;
    source_etmv4_add_fields(d, &config->etmv4, k);
    return k->kind < sizeof etmv4_names / sizeof *etmv4_names ? etmv4_names[k->kind] : "?";
}

const struct source_protocol source_etmv4 = {
    .protocol = STREAM_ETMV4,
    .types = {"ETM4", "ETMv4", "ETE"},
    .configure = configure_etmv4,
    .registers = "TRCCONFIGR, TRCIDR0 or TRCIDR2",
    .describe = describe_etmv4,
};
