/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv2 sources: IHI 0014Q chapter 6. */
#include "source_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#define READING(name, field, low, high, what)                                                      \
    {                                                                                              \
        .key = name, .at = offsetof(struct etmv2_config, field), .min = low, .max = high,          \
        .allowed = what                                                                            \
    }

/* What IHI 0014Q chapter 6 leaves open, point by point; STATUS_CODES (1) is apart. */
static const struct source_choice choices[] = {
    {.key = "TFO_HEADER",
     .at = offsetof(struct etmv2_config, tfo_header),
     .max = 0xff,
     .valid = etmv2_tfo_header_valid,
     .allowed = "0xLR, the bit of 'LSM in progress' and the lower bit of the reason (0x75)"},
    READING("TFO_VALUE", tfo_straight, 0, 1,
            "0 (lower bits in TRACEPKT[7:4]) or 1 (TRACEPKT[7:1] as it stands)"),
    READING("GROUP_LATENCY", late_group, 0, 1,
            "0 or 1: cycles from a status to the first byte of its packets"),
    READING("TFO4_CYCLES", tfo4_extra, 1, 2,
            "1 or 2: cycles behind a TFO of a 4-bit port that have no byte"),
    READING("WAIT_CODE", wait_zeros, 0, 1,
            "0 (a wait cycle has TRACEPKT[3:1] = 111) or 1 (000, TFO values are 16 too large)"),
    READING(
        "TRIGGER_TFO", tfo_in_trigger, 0, 1,
        "0 (value of a TFO that a trigger hides comes in the next cycle) or 1 (in TRACEPKT[7:4])"),
    READING("MISS_TAG0", no_tag_reserved, 0, 1,
            "0 (load miss data without a tag is the first half of 64 bits) or 1 (it is reserved)"),
    READING("WORD_ORDER", high_word_first, 0, 1,
            "0 (lower word of LDRD and STRD first) or 1 (higher word first)"),
    READING("PIPESTAT3", status_together, 0, 1,
            "0 (PIPESTAT[3] is captured above TRACEPKT) or 1 (below it)"),
    READING("VALUE_ORDER", big_endian, 0, 1,
            "0 (least significant byte of a value first) or 1 (most significant byte first)"),
    READING("ABORT_STATUS", abort_no_status, 0, 1,
            "0 (an instruction whose prefetch aborted has a status) or 1 (it has none)"),
};

static int status_codes(const struct bt_source *source, uint64_t *codes, struct source_error *why)
{
    if (source_reg(source, "STATUS_CODES", codes) || etmv2_status_codes_valid(*codes))
        return BT_OK;
    source_fail(why,
                "STATUS_CODES is 0x%016" PRIx64 ", but must have each hexadecimal digit once, "
                "7 and 6 at their places in 0x%016" PRIx64,
                *codes, (uint64_t)ETMV2_STATUS_CODES);
    return BT_ERR_FORMAT;
}

static int configure_choices(const struct bt_source *source, struct etmv2_config *config,
                             struct source_error *why)
{
    int error = status_codes(source, &config->status_codes, why);
    if (!error)
        error = source_choices(source, choices, sizeof choices / sizeof *choices, config, why);
    return error;
}

static int configure_etmv2(const struct bt_source *source, struct stream_config *config,
                           unsigned *trace_id, struct source_error *why)
{
    uint32_t etmcr, etmidr;
    uint64_t id = 0;
    int error = source_need_reg(source, "ETMCR", &etmcr, why);
    if (!error)
        error = source_need_reg(source, "ETMIDR", &etmidr, why);
    if (error)
        return error;
    error = etmv2_config_from_regs(&config->etmv2, etmcr, etmidr);
    if (error) {
        source_fail(why,
                    "ETMIDR 0x%08x is not that of an ETMv2 (bits [11:8] must be 1), or ETMCR "
                    "0x%08x has no port size of one (bits [6:4] must be 0 to 2)",
                    etmidr, etmcr);
        return error;
    }
    source_vectors(source, &config->etmv2.low_vectors, &config->etmv2.high_vectors);
    if (source_reg(source, "ETMTRACEIDR", &id) == BT_OK)
        *trace_id = id & 0x7f;
    error = configure_choices(source, &config->etmv2, why);
    return error ? error : source_port_layout(source, &config->etmv2.port, why);
}

static bool is_etmv2(const char *type)
{
    return strncasecmp(type, "ETM2", 4) == 0 || strncasecmp(type, "ETMv2", 5) == 0;
}

static uint32_t sync_period(const struct stream_config *config)
{
    (void)config;
    return 0; /* counted in processor cycles: as bytes it depends on the program */
}

static const char *status_name(const struct etmv2_packet *k)
{
    static const char *const names[16] = {
        "IE",    "DE",    "IN",    "DN",    "WT",    "DW",    "TR",    "TD",
        "PT-IE", "PT-DE", "PT-IN", "PT-DN", "PN-IE", "PN-DE", "PN-IN", "PN-DN",
    };
    return k->flags & ETMV2_TFO_CYCLE ? "TFO" : names[k->status & 0xf];
}

static const char *etmv2_name(const void *packet)
{
    static const char *const names[] = {
        [ETMV2_TFO] = "tfo-packet",
        [ETMV2_BRANCH] = "branch",
        [ETMV2_DATA] = "data",
        [ETMV2_NOT_TRACED] = "data-not-traced",
        [ETMV2_MISS] = "load-miss",
        [ETMV2_MISS_DATA] = "load-miss-data",
        [ETMV2_CONTEXT] = "context-id",
        [ETMV2_RESERVED] = "reserved",
        [ETMV2_DESYNC] = "desync",
        [ETMV2_UNSYNCED] = "unsynced",
        [ETMV2_INCOMPLETE] = "incomplete",
        [ETMV2_END] = "end",
    };
    const struct etmv2_packet *k = packet;
    if (k->kind == ETMV2_STATUS)
        return status_name(k);
    return k->kind < sizeof names / sizeof *names ? names[k->kind] : "?";
}

static void add_status(struct detail *d, const struct etmv2_packet *k)
{
    if (k->flags & ETMV2_TFO_CYCLE)
        detail_add(d, "n=%" PRIu64, k->value);
    if (k->flags & ETMV2_TRIGGER)
        detail_add(d, "trigger=1");
    if ((k->flags & ETMV2_WAITING) && !(k->flags & ETMV2_TFO_CYCLE))
        detail_add(d, "wait=1");
}

static void add_tfo(struct detail *d, const struct etmv2_packet *k)
{
    detail_add(d, "reason=%u", k->number);
    detail_add(d, "address=0x%08" PRIx64, k->value);
    detail_add(d, "isa=%s", bt_isa_name((enum bt_isa)k->isa));
    if (!(k->flags & ETMV2_LSIP))
        return;
    detail_add(d, "lsip=0x%08" PRIx32, k->address);
    detail_add(d, "lsip-isa=%s", bt_isa_name((enum bt_isa)k->isa2));
}

static void add_data(struct detail *d, const struct etmv2_packet *k)
{
    if (k->kind == ETMV2_MISS || k->kind == ETMV2_MISS_DATA)
        detail_add(d, "tag=%u", k->n);
    if (k->flags & ETMV2_FIRST)
        detail_add(d, "first=1");
    if (k->flags & ETMV2_HAS_ADDRESS)
        detail_add(d, "address=0x%08" PRIx32, k->address);
    if (k->flags & ETMV2_HAS_VALUE)
        detail_add(d, "value=0x%" PRIx64, k->value);
}

static void add_raw(struct detail *d, const struct etmv2_packet *k)
{
    char hex[2 * ETMV2_RAW + 1];
    for (unsigned i = 0; i < k->raw_len; i++)
        snprintf(hex + 2 * i, 3, "%02X", k->raw[i]);
    if (k->raw_len)
        detail_add(d, "raw=%s", hex);
}

static void describe_etmv2(const struct stream_config *config, const void *packet, struct detail *d)
{
    const struct etmv2_packet *k = packet;
    (void)config;
    switch ((enum etmv2_kind)k->kind) {
    case ETMV2_STATUS:
        add_status(d, k);
        break;
    case ETMV2_TFO:
        add_tfo(d, k);
        break;
    case ETMV2_BRANCH:
        detail_add(d, "address=0x%08" PRIx64, k->value);
        detail_add(d, "isa=%s", bt_isa_name((enum bt_isa)k->isa));
        if (k->flags & ETMV2_CANCEL)
            detail_add(d, "cancel=1");
        break;
    case ETMV2_RESERVED:
        detail_add(d, "byte=0x%02" PRIx64, k->value);
        break;
    case ETMV2_UNSYNCED:
    case ETMV2_INCOMPLETE:
        detail_add(d, "count=%" PRIu64, k->value);
        break;
    default:
        add_data(d, k);
        break;
    }
    if (k->flags & ETMV2_HAS_CONTEXT)
        detail_add(d, "cid=0x%x", k->context);
    if (k->flags & ETMV2_MORE)
        detail_add(d, "more=1");
    add_raw(d, k);
}

const struct source_protocol source_etmv2 = {
    .protocol = STREAM_ETMV2,
    .matches = is_etmv2,
    .configure = configure_etmv2,
    .sync_period = sync_period,
    .registers = "ETMCR and ETMIDR",
    .name = etmv2_name,
    .describe = describe_etmv2,
};
