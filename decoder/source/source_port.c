/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of a trace port's cycles: ETMv1 and ETMv2 (IHI 0014Q chapters 5 and 6). */
#include "decoder/source/source.h"

#include <inttypes.h>
#include <string.h>

/* What the specification leaves open: a field of the decoder's configuration, and a key of the
 * source's [regs] in a recording. */
struct source_choice {
    const char *key;
    size_t at; /* of the field, a bool or uint8_t, in the configuration */
    uint8_t min, max;
    bool (*valid)(unsigned value); /* if not any value from min to max */
    const char *allowed;           /* what the values mean, for the message */
};

_Static_assert(sizeof(bool) == sizeof(uint8_t), "a field is one byte");

static bool source_port_allowed(const struct source_choice *r, uint64_t value)
{
    return value >= r->min && value <= r->max && (!r->valid || r->valid((unsigned)value));
}

/* Sets the fields of `config` whose key is there. BT_ERR_FORMAT: a value is not allowed; `why`
 * names key and what is. */
static int source_choices(const struct bt_source *source, const struct source_choice *choices,
                          size_t count, void *config, char *why, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        const struct source_choice *r = &choices[i];
        uint64_t value;
        if (source_reg(source, r->key, &value))
            continue;
        if (!source_port_allowed(r, value))
            return source_fail(BT_ERR_FORMAT, why, size, "%s is 0x%" PRIx64 ", but must be %s",
                               r->key, value, r->allowed);
        ((uint8_t *)config)[r->at] = (uint8_t)value;
    }
    return BT_OK;
}

/* How the cycles of the port are stored (PORT_LAYOUT; 0 if missing). */
static int source_port_layout(const struct bt_source *source, struct port_format *format, char *why,
                              size_t size)
{
    uint64_t layout = PORT_ETB;
    if (source_reg(source, "PORT_LAYOUT", &layout) == BT_OK && layout >= PORT_LAYOUTS)
        return source_fail(BT_ERR_FORMAT, why, size,
                           "PORT_LAYOUT must be 0 (words of an ETB) or 1 (a cycle a record)");
    format->layout = (uint8_t)layout;
    return BT_OK;
}

/* Where the core's exception vectors are, from its SCTLR: both places if that is not known. */
static void source_vectors(const struct bt_source *source, bool *low, bool *high)
{
    uint64_t sctlr;
    *low = *high = true;
    if (source_reg(source, "SCTLR", &sctlr))
        return;
    *high = sctlr >> 13 & 1;
    *low = !*high;
}

/* ETMv1 sources: IHI 0014Q chapter 5. */

#define SCTLR_B (1u << 7) /* data is big-endian */

#define ETMV1_CHOICE(name, field, what)                                                            \
    {                                                                                              \
        .key = name, .at = offsetof(struct etmv1_config, field), .max = 1, .allowed = what         \
    }

/* What IHI 0014Q chapter 5 leaves open. */
static const struct source_choice etmv1_choices[] = {
    ETMV1_CHOICE(
        "HOLD_SINGLE", hold_single,
        "0 (a byte that is alone goes at once) or 1 (on a 16-bit port it waits for another)"),
    ETMV1_CHOICE("DATA_LATENCY", late_data,
                 "0 or 1: cycles from a status to its first data byte if no other byte waits"),
    ETMV1_CHOICE("VALUE_ORDER", big_endian,
                 "0 (least significant byte of a value first) or 1 (most significant byte first)"),
    ETMV1_CHOICE("SWP_ADDRESSES", swp_addresses,
                 "0 (SWP has one address) or 1 (both of its transfers have one)"),
    ETMV1_CHOICE("CPRT_VALUES", cprt_values,
                 "0 (no values of coprocessor registers without other values) or 1 (always)"),
    ETMV1_CHOICE("TD_IDLE", idle_high,
                 "0 or 1: TRACEPKT[0] of a cycle without trace that does not count"),
};

/* From ETMCCR if it is known, else from the device's type. */
static int etmv1_minor_version(const struct bt_source *source, char *why, size_t size)
{
    uint64_t etmccr;
    const char *dot = strchr(source->type, '.');
    int minor = dot && dot[1] >= '0' && dot[1] <= '3' && !dot[2] ? dot[1] - '0' : BT_ERR_FORMAT;
    if (source_reg(source, "ETMCCR", &etmccr) == BT_OK)
        minor = etmv1_minor_of_ccr((uint32_t)etmccr);
    if (minor < 0)
        source_fail(minor, why, size,
                    "type '%s' must be ETM1.0 to ETM1.3, or ETMCCR that of an ETMv1 "
                    "(bit 31 is 0, bits [30:28] not 6)",
                    source->type);
    return minor;
}

static int configure_etmv1(const struct bt_source *source, struct stream_config *config,
                           unsigned *trace_id, char *why, size_t size)
{
    uint32_t etmcr;
    uint64_t id = 0, sctlr;
    int error = source_need_reg(source, "ETMCR", &etmcr, why, size);
    int minor = error ? 0 : etmv1_minor_version(source, why, size);
    if (error || minor < 0)
        return BT_ERR_FORMAT;
    error = etmv1_config_from_regs(&config->etmv1, etmcr, (unsigned)minor);
    if (error)
        return source_fail(error, why, size,
                           "ETMCR 0x%08x has no port size of an ETMv1 (bits [6:4] must be 0 to 2)",
                           etmcr);
    source_vectors(source, &config->etmv1.low_vectors, &config->etmv1.high_vectors);
    if (source_reg(source, "SCTLR", &sctlr) == BT_OK)
        config->etmv1.big_endian = sctlr & SCTLR_B;
    if (source_reg(source, "ETMTRACEIDR", &id) == BT_OK)
        *trace_id = id & 0x7f;
    error = source_choices(source, etmv1_choices, sizeof etmv1_choices / sizeof *etmv1_choices,
                           &config->etmv1, why, size);
    return error ? error : source_port_layout(source, &config->etmv1.port, why, size);
}

static const char *const etmv1_statuses[8] = {"IE", "ID", "IN", "WT", "BE", "BD", "TR", "TD"};
static const char *const etmv1_names[] = {
    [ETMV1_ADDRESS] = "address",
    [ETMV1_MALFORMED] = "malformed",
    [ETMV1_INCOMPLETE] = "incomplete",
    [ETMV1_END] = "end",
};

static void etmv1_add_cycle(struct detail *d, const struct etmv1_packet *k)
{
    detail_flag(d, "trigger", k->flags & ETMV1_TRIGGER);
    detail_flag(d, "sync", k->flags & ETMV1_SYNC);
    detail_flag(d, "wait", k->flags & ETMV1_COUNTED);
}

static void etmv1_add_address(struct detail *d, const struct etmv1_packet *k)
{
    if (k->flags & ETMV1_PARTIAL)
        detail_add(d, "address=partial");
    else
        detail_target(d, false, k->value, (enum bt_isa)k->isa);
    detail_add(d, "reason=%u", k->reason);
    if (k->flags & ETMV1_HAS_CONTEXT)
        detail_add(d, "cid=0x%" PRIx32, k->context);
    detail_raw(d, k->raw, k->raw_len);
}

static const char *describe_etmv1(const struct stream_config *config, const void *packet,
                                  struct detail *d)
{
    const struct etmv1_packet *k = packet;
    (void)config;
    switch ((enum etmv1_kind)k->kind) {
    case ETMV1_CYCLE:
        etmv1_add_cycle(d, k);
        return etmv1_statuses[k->status & 7];
    case ETMV1_ADDRESS:
        etmv1_add_address(d, k);
        break;
    case ETMV1_MALFORMED:
        detail_add(d, "value=0x%02" PRIx64, k->value);
        break;
    case ETMV1_INCOMPLETE:
        detail_add(d, "count=%" PRIu64, k->value);
        break;
    case ETMV1_END:
        break;
    }
    return k->kind < sizeof etmv1_names / sizeof *etmv1_names ? etmv1_names[k->kind] : "?";
}

const struct source_protocol source_etmv1 = {
    .protocol = STREAM_ETMV1,
    .types = {"ETM1", "ETMv1"},
    .configure = configure_etmv1,
    .registers = "ETMCR and ETMCCR",
    .describe = describe_etmv1,
};

/* ETMv2 sources: IHI 0014Q chapter 6. */

#define ETMV2_CHOICE(name, field, low, high, what)                                                 \
    {                                                                                              \
        .key = name, .at = offsetof(struct etmv2_config, field), .min = low, .max = high,          \
        .allowed = what                                                                            \
    }

/* What IHI 0014Q chapter 6 leaves open, point by point; STATUS_CODES (1) is apart. */
static const struct source_choice etmv2_choices[] = {
    {.key = "TFO_HEADER",
     .at = offsetof(struct etmv2_config, tfo_header),
     .max = 0xff,
     .valid = etmv2_tfo_header_valid,
     .allowed = "0xLR, the bit of 'LSM in progress' and the lower bit of the reason (0x75)"},
    ETMV2_CHOICE("TFO_VALUE", tfo_straight, 0, 1,
                 "0 (lower bits in TRACEPKT[7:4]) or 1 (TRACEPKT[7:1] as it stands)"),
    ETMV2_CHOICE("GROUP_LATENCY", late_group, 0, 1,
                 "0 or 1: cycles from a status to the first byte of its packets"),
    ETMV2_CHOICE("TFO4_CYCLES", tfo4_extra, 1, 2,
                 "1 or 2: cycles behind a TFO of a 4-bit port that have no byte"),
    ETMV2_CHOICE(
        "WAIT_CODE", wait_zeros, 0, 1,
        "0 (a wait cycle has TRACEPKT[3:1] = 111) or 1 (000, TFO values are 16 too large)"),
    ETMV2_CHOICE(
        "TRIGGER_TFO", tfo_in_trigger, 0, 1,
        "0 (value of a TFO that a trigger hides comes in the next cycle) or 1 (in TRACEPKT[7:4])"),
    ETMV2_CHOICE(
        "MISS_TAG0", no_tag_reserved, 0, 1,
        "0 (load miss data without a tag is the first half of 64 bits) or 1 (it is reserved)"),
    ETMV2_CHOICE("WORD_ORDER", high_word_first, 0, 1,
                 "0 (lower word of LDRD and STRD first) or 1 (higher word first)"),
    ETMV2_CHOICE("PIPESTAT3", status_together, 0, 1,
                 "0 (PIPESTAT[3] is captured above TRACEPKT) or 1 (below it)"),
    ETMV2_CHOICE("VALUE_ORDER", big_endian, 0, 1,
                 "0 (least significant byte of a value first) or 1 (most significant byte first)"),
    ETMV2_CHOICE("ABORT_STATUS", abort_no_status, 0, 1,
                 "0 (an instruction whose prefetch aborted has a status) or 1 (it has none)"),
};

static int etmv2_status_codes(const struct bt_source *source, uint64_t *codes, char *why,
                              size_t size)
{
    if (source_reg(source, "STATUS_CODES", codes) || etmv2_status_codes_valid(*codes))
        return BT_OK;
    return source_fail(BT_ERR_FORMAT, why, size,
                       "STATUS_CODES is 0x%016" PRIx64
                       ", but must have each hexadecimal digit once, "
                       "7 and 6 at their places in 0x%016" PRIx64,
                       *codes, (uint64_t)ETMV2_STATUS_CODES);
}

static int etmv2_configure_choices(const struct bt_source *source, struct etmv2_config *config,
                                   char *why, size_t size)
{
    int error = etmv2_status_codes(source, &config->status_codes, why, size);
    if (!error)
        error = source_choices(source, etmv2_choices, sizeof etmv2_choices / sizeof *etmv2_choices,
                               config, why, size);
    return error;
}

static int configure_etmv2(const struct bt_source *source, struct stream_config *config,
                           unsigned *trace_id, char *why, size_t size)
{
    uint32_t etmcr, etmidr;
    uint64_t id = 0;
    int error = source_need_reg(source, "ETMCR", &etmcr, why, size);
    if (!error)
        error = source_need_reg(source, "ETMIDR", &etmidr, why, size);
    if (error)
        return error;
    error = etmv2_config_from_regs(&config->etmv2, etmcr, etmidr);
    if (error)
        return source_fail(
            error, why, size,
            "ETMIDR 0x%08x is not that of an ETMv2 (bits [11:8] must be 1), or ETMCR "
            "0x%08x has no port size of one (bits [6:4] must be 0 to 2)",
            etmidr, etmcr);
    source_vectors(source, &config->etmv2.low_vectors, &config->etmv2.high_vectors);
    if (source_reg(source, "ETMTRACEIDR", &id) == BT_OK)
        *trace_id = id & 0x7f;
    error = etmv2_configure_choices(source, &config->etmv2, why, size);
    return error ? error : source_port_layout(source, &config->etmv2.port, why, size);
}

static const char *etmv2_status_name(const struct etmv2_packet *k)
{
    static const char *const names[16] = {
        "IE",    "DE",    "IN",    "DN",    "WT",    "DW",    "TR",    "TD",
        "PT-IE", "PT-DE", "PT-IN", "PT-DN", "PN-IE", "PN-DE", "PN-IN", "PN-DN",
    };
    return k->flags & ETMV2_TFO_CYCLE ? "TFO" : names[k->status & 0xf];
}

static const char *const etmv2_names[] = {
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

static void etmv2_add_status(struct detail *d, const struct etmv2_packet *k)
{
    if (k->flags & ETMV2_TFO_CYCLE)
        detail_add(d, "n=%" PRIu64, k->value);
    detail_flag(d, "trigger", k->flags & ETMV2_TRIGGER);
    detail_flag(d, "wait", (k->flags & ETMV2_WAITING) && !(k->flags & ETMV2_TFO_CYCLE));
}

static void etmv2_add_tfo(struct detail *d, const struct etmv2_packet *k)
{
    detail_add(d, "reason=%u", k->number);
    detail_target(d, false, k->value, (enum bt_isa)k->isa);
    if (!(k->flags & ETMV2_LSIP))
        return;
    detail_add(d, "lsip=0x%08" PRIx32, k->address);
    detail_add(d, "lsip-isa=%s", bt_isa_name((enum bt_isa)k->isa2));
}

static void etmv2_add_data(struct detail *d, const struct etmv2_packet *k)
{
    if (k->kind == ETMV2_MISS || k->kind == ETMV2_MISS_DATA)
        detail_add(d, "tag=%u", k->n);
    detail_flag(d, "first", k->flags & ETMV2_FIRST);
    if (k->flags & ETMV2_HAS_ADDRESS)
        detail_add(d, "address=0x%08" PRIx32, k->address);
    if (k->flags & ETMV2_HAS_VALUE)
        detail_add(d, "value=0x%" PRIx64, k->value);
}

static const char *describe_etmv2(const struct stream_config *config, const void *packet,
                                  struct detail *d)
{
    const struct etmv2_packet *k = packet;
    (void)config;
    switch ((enum etmv2_kind)k->kind) {
    case ETMV2_STATUS:
        etmv2_add_status(d, k);
        break;
    case ETMV2_TFO:
        etmv2_add_tfo(d, k);
        break;
    case ETMV2_BRANCH:
        detail_target(d, false, k->value, (enum bt_isa)k->isa);
        detail_flag(d, "cancel", k->flags & ETMV2_CANCEL);
        break;
    case ETMV2_RESERVED:
        detail_add(d, "byte=0x%02" PRIx64, k->value);
        break;
    case ETMV2_UNSYNCED:
    case ETMV2_INCOMPLETE:
        detail_add(d, "count=%" PRIu64, k->value);
        break;
    default:
        etmv2_add_data(d, k);
        break;
    }
    if (k->flags & ETMV2_HAS_CONTEXT)
        detail_add(d, "cid=0x%x", k->context);
    detail_flag(d, "more", k->flags & ETMV2_MORE);
    detail_raw(d, k->raw, k->raw_len);
    if (k->kind == ETMV2_STATUS)
        return etmv2_status_name(k);
    return k->kind < sizeof etmv2_names / sizeof *etmv2_names ? etmv2_names[k->kind] : "?";
}

const struct source_protocol source_etmv2 = {
    .protocol = STREAM_ETMV2,
    .types = {"ETM2", "ETMv2"},
    .configure = configure_etmv2,
    .registers = "ETMCR and ETMIDR",
    .describe = describe_etmv2,
};
