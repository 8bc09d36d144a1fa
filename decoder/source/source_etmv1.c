/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv1 sources: IHI 0014Q chapter 5. */
#include "source_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SCTLR_B (1u << 7) /* data is big-endian */

#define READING(name, field, what)                                                                 \
    {                                                                                              \
        .key = name, .at = offsetof(struct etmv1_config, field), .max = 1, .allowed = what         \
    }

/* What IHI 0014Q chapter 5 leaves open. */
static const struct source_choice choices[] = {
    READING("HOLD_SINGLE", hold_single,
            "0 (a byte that is alone goes at once) or 1 (on a 16-bit port it waits for another)"),
    READING("DATA_LATENCY", late_data,
            "0 or 1: cycles from a status to its first data byte if no other byte waits"),
    READING("VALUE_ORDER", big_endian,
            "0 (least significant byte of a value first) or 1 (most significant byte first)"),
    READING("SWP_ADDRESSES", swp_addresses,
            "0 (SWP has one address) or 1 (both of its transfers have one)"),
    READING("CPRT_VALUES", cprt_values,
            "0 (no values of coprocessor registers without other values) or 1 (always)"),
    READING("TD_IDLE", idle_high,
            "0 or 1: TRACEPKT[0] of a cycle without trace that does not count"),
};

static bool is_etmv1(const char *type)
{
    return strncasecmp(type, "ETM1", 4) == 0 || strncasecmp(type, "ETMv1", 5) == 0;
}

/* From ETMCCR if it is known, else from the device's type. */
static int minor_version(const struct bt_source *source, struct source_error *why)
{
    uint64_t etmccr;
    const char *dot = strchr(source->type, '.');
    int minor = dot && dot[1] >= '0' && dot[1] <= '3' && !dot[2] ? dot[1] - '0' : BT_ERR_FORMAT;
    if (source_reg(source, "ETMCCR", &etmccr) == BT_OK)
        minor = etmv1_minor_of_ccr((uint32_t)etmccr);
    if (minor < 0)
        source_fail(why,
                    "type '%s' must be ETM1.0 to ETM1.3, or ETMCCR that of an ETMv1 "
                    "(bit 31 is 0, bits [30:28] not 6)",
                    source->type);
    return minor;
}

static int configure_etmv1(const struct bt_source *source, struct stream_config *config,
                           unsigned *trace_id, struct source_error *why)
{
    uint32_t etmcr;
    uint64_t id = 0, sctlr;
    int error = source_need_reg(source, "ETMCR", &etmcr, why);
    int minor = error ? 0 : minor_version(source, why);
    if (error || minor < 0)
        return BT_ERR_FORMAT;
    error = etmv1_config_from_regs(&config->etmv1, etmcr, (unsigned)minor);
    if (error) {
        source_fail(why, "ETMCR 0x%08x has no port size of an ETMv1 (bits [6:4] must be 0 to 2)",
                    etmcr);
        return error;
    }
    source_vectors(source, &config->etmv1.low_vectors, &config->etmv1.high_vectors);
    if (source_reg(source, "SCTLR", &sctlr) == BT_OK)
        config->etmv1.big_endian = sctlr & SCTLR_B;
    if (source_reg(source, "ETMTRACEIDR", &id) == BT_OK)
        *trace_id = id & 0x7f;
    error = source_choices(source, choices, sizeof choices / sizeof *choices, &config->etmv1, why);
    return error ? error : source_port_layout(source, &config->etmv1.port, why);
}

static uint32_t sync_period(const struct stream_config *config)
{
    (void)config;
    return 0; /* counted in processor cycles: as bytes it depends on the program */
}

static const char *etmv1_name(const void *packet)
{
    static const char *const statuses[8] = {"IE", "ID", "IN", "WT", "BE", "BD", "TR", "TD"};
    static const char *const names[] = {
        [ETMV1_CYCLE] = "cycle",
        [ETMV1_ADDRESS] = "address",
        [ETMV1_MALFORMED] = "malformed",
        [ETMV1_INCOMPLETE] = "incomplete",
        [ETMV1_END] = "end",
    };
    const struct etmv1_packet *k = packet;
    if (k->kind == ETMV1_CYCLE)
        return statuses[k->status & 7];
    return k->kind < sizeof names / sizeof *names ? names[k->kind] : "?";
}

static void add_cycle(struct detail *d, const struct etmv1_packet *k)
{
    if (k->flags & ETMV1_TRIGGER)
        detail_add(d, "trigger=1");
    if (k->flags & ETMV1_SYNC)
        detail_add(d, "sync=1");
    if (k->flags & ETMV1_COUNTED)
        detail_add(d, "wait=1");
}

static void add_address(struct detail *d, const struct etmv1_packet *k)
{
    char hex[2 * ETMV1_RAW + 1];
    if (k->flags & ETMV1_PARTIAL) {
        detail_add(d, "address=partial");
    } else {
        detail_add(d, "address=0x%08" PRIx64, k->value);
        detail_add(d, "isa=%s", bt_isa_name((enum bt_isa)k->isa));
    }
    detail_add(d, "reason=%u", k->reason);
    if (k->flags & ETMV1_HAS_CONTEXT)
        detail_add(d, "cid=0x%" PRIx32, k->context);
    for (unsigned i = 0; i < k->raw_len; i++)
        snprintf(hex + 2 * i, 3, "%02X", k->raw[i]);
    detail_add(d, "raw=%s", hex);
}

static void describe_etmv1(const struct stream_config *config, const void *packet, struct detail *d)
{
    const struct etmv1_packet *k = packet;
    (void)config;
    switch ((enum etmv1_kind)k->kind) {
    case ETMV1_CYCLE:
        add_cycle(d, k);
        break;
    case ETMV1_ADDRESS:
        add_address(d, k);
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
}

const struct source_protocol source_etmv1 = {
    .protocol = STREAM_ETMV1,
    .matches = is_etmv1,
    .configure = configure_etmv1,
    .sync_period = sync_period,
    .registers = "ETMCR and ETMCCR",
    .name = etmv1_name,
    .describe = describe_etmv1,
};
