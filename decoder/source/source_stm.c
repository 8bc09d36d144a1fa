/* SPDX-License-Identifier: BSD-3-Clause */
/* STM sources: DDI 0444B, MIPI STP 2.2. */
#include "decoder/source/source.h"

#include <inttypes.h>
#include <stdio.h>

/* STMTCSR has the trace ID: a stream without frames can do without. */
static int configure_stm(const struct bt_source *source, struct stream_config *config,
                         unsigned *trace_id, char *why, size_t size)
{
    uint64_t tcsr = 0;
    (void)why, (void)size;
    source_reg(source, "STMTCSR", &tcsr);
    stm_config_from_regs(&config->stm, (uint32_t)tcsr);
    *trace_id = config->stm.trace_id;
    return BT_OK;
}

static const char *const stm_names[] = {
    [STM_NULL] = "null",
    [STM_ASYNC] = "async",
    [STM_VERSION] = "version",
    [STM_MASTER] = "master",
    [STM_CHANNEL] = "channel",
    [STM_DATA] = "data",
    [STM_FLAG] = "flag",
    [STM_TRIGGER] = "trigger",
    [STM_USER] = "user",
    [STM_FREQUENCY] = "frequency",
    [STM_MASTER_ERROR] = "master-error",
    [STM_GLOBAL_ERROR] = "global-error",
    [STM_RESERVED] = "reserved",
    [STM_MALFORMED] = "malformed",
    [STM_UNSYNCED] = "unsynced",
    [STM_INCOMPLETE] = "incomplete",
};

static void stm_add_time(struct detail *d, const struct stm_packet *k)
{
    if (!(k->flags & STM_TIMED))
        return;
    detail_add(d, "stamp=0x%" PRIx64, k->stamp);
    detail_add(d, "stamp-bits=%u", k->stamp_bits);
    if (k->flags & STM_TIME_KNOWN)
        detail_add(d, "time=0x%" PRIx64, k->time);
}

/* As they come: most significant first in every value. */
static void stm_add_nibbles(struct detail *d, const struct stm_packet *k)
{
    char text[STM_NIBBLES + 1] = "";
    for (unsigned i = 0; i < k->nibbles; i++)
        snprintf(text + i, 2, "%X", k->raw[i / 2] >> 4 * (i & 1) & 0xf);
    if (k->nibbles)
        detail_add(d, "nibbles=%s", text);
}

static void stm_add_fields(struct detail *d, const struct stm_packet *k)
{
    switch ((enum stm_kind)k->kind) {
    case STM_DATA:
        detail_add(d, "master=0x%x channel=0x%x", k->master, k->channel);
        detail_add(d, "value=0x%0*" PRIx64 " bits=%u", k->bits / 4, k->value, k->bits);
        break;
    case STM_FLAG:
        detail_add(d, "master=0x%x channel=0x%x", k->master, k->channel);
        break;
    case STM_MASTER:
        detail_add(d, "master=0x%x", k->master);
        break;
    case STM_CHANNEL:
        detail_add(d, "channel=0x%x", k->channel);
        break;
    case STM_FREQUENCY:
        detail_add(d, "hertz=%" PRIu64, k->value);
        break;
    case STM_VERSION:
    case STM_TRIGGER:
    case STM_USER:
    case STM_MASTER_ERROR:
    case STM_GLOBAL_ERROR:
        detail_add(d, "value=0x%" PRIx64, k->value);
        break;
    case STM_UNSYNCED:
        detail_add(d, "count=%" PRIu64, k->value);
        break;
    default:
        break;
    }
}

static const char *describe_stm(const struct stream_config *config, const void *packet,
                                struct detail *d)
{
    const struct stm_packet *k = packet;
    (void)config;
    stm_add_fields(d, k);
    detail_flag(d, "marked", k->flags & STM_MARKED);
    stm_add_time(d, k);
    stm_add_nibbles(d, k);
    return k->kind < sizeof stm_names / sizeof *stm_names ? stm_names[k->kind] : "?";
}

const struct source_protocol source_stm = {
    .protocol = STREAM_STM,
    .no_instructions = true,
    .types = {"STM"},
    .configure = configure_stm,
    .registers = "STMTCSR",
    .describe = describe_stm,
};
