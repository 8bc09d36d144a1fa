/* SPDX-License-Identifier: BSD-3-Clause */
/* ITM sources: DDI 0403E.e chapter C1 and appendix D4. */
#include "decoder/source/source.h"

#include <inttypes.h>

/*
 * ITMTCR has the trace ID and the prescaler; who has neither frames nor local timestamps can do
 * without. WAIT_SYNC of 1: the buffer begins in the middle of the trace.
 */
static int configure_itm(const struct bt_source *source, struct stream_config *config,
                         unsigned *trace_id, char *why, size_t size)
{
    uint64_t tcr = 0, wait = 0;
    if (source_reg(source, "ITMTCR", &tcr))
        source_reg(source, "ITM_TCR", &tcr);
    source_reg(source, "WAIT_SYNC", &wait);
    if (wait > 1)
        return source_fail(BT_ERR_FORMAT, why, size,
                           "WAIT_SYNC is 0x%" PRIx64 ", but must be 0 (packets from the first byte "
                           "on) or 1 (from the first synchronisation packet on)",
                           wait);
    itm_config_from_regs(&config->itm, (uint32_t)tcr, trace_id);
    config->itm.wait_sync = wait;
    return BT_OK;
}

static const char *const itm_names[] = {
    [ITM_ASYNC] = "sync",
    [ITM_OVERFLOW] = "overflow",
    [ITM_LOCAL_TIME] = "local-time",
    [ITM_GLOBAL_LOW] = "global-time-low",
    [ITM_GLOBAL_HIGH] = "global-time-high",
    [ITM_PAGE] = "page",
    [ITM_EXTENSION] = "extension",
    [ITM_SOFTWARE] = "software",
    [ITM_COUNTERS] = "counters",
    [ITM_PMU] = "pmu-overflow",
    [ITM_EXCEPTION] = "exception",
    [ITM_SAMPLE] = "pc-sample",
    [ITM_DATA_PC] = "data-pc",
    [ITM_DATA_MATCH] = "data-match",
    [ITM_DATA_ADDRESS] = "data-address",
    [ITM_DATA_VALUE] = "data-value",
    [ITM_HARDWARE] = "hardware",
    [ITM_RESERVED] = "reserved",
    [ITM_MALFORMED] = "malformed",
    [ITM_UNSYNCED] = "unsynced",
    [ITM_INCOMPLETE] = "incomplete",
};

static void itm_add_value(struct detail *d, const struct itm_packet *k)
{
    detail_add(d, "value=0x%0*" PRIx64, 2 * k->bytes, k->value);
    detail_add(d, "bytes=%u", k->bytes);
}

static void itm_add_time(struct detail *d, const struct itm_packet *k)
{
    detail_add(d, "value=0x%" PRIx64, k->value);
    if (k->kind == ITM_LOCAL_TIME) {
        detail_add(d, "relation=%s", detail_relation(k->relation));
        return;
    }
    detail_add(d, "bits=%u", k->bits);
    detail_flag(d, "freq", k->flags & ITM_CLOCK_CHANGE);
    detail_flag(d, "wrap", k->flags & ITM_WRAP);
}

static void itm_add_sample(struct detail *d, const struct itm_packet *k)
{
    if (k->bytes == 4)
        detail_add(d, "address=0x%08" PRIx64, k->value);
    else
        detail_add(d, "state=%s", k->value ? "prohibited" : "asleep");
}

static void itm_add_comparator(struct detail *d, const struct itm_packet *k)
{
    detail_add(d, "comparator=%u", k->number);
    if (k->kind == ITM_DATA_PC)
        detail_add(d, "address=0x%08" PRIx64, k->value);
    if (k->kind == ITM_DATA_ADDRESS || k->kind == ITM_DATA_VALUE)
        itm_add_value(d, k);
    if (k->kind == ITM_DATA_VALUE)
        detail_add(d, "access=%s", k->flags & ITM_WRITE ? "store" : "load");
}

static const char *describe_itm(const struct stream_config *config, const void *packet,
                                struct detail *d)
{
    const struct itm_packet *k = packet;
    (void)config;
    switch ((enum itm_kind)k->kind) {
    case ITM_LOCAL_TIME:
    case ITM_GLOBAL_LOW:
    case ITM_GLOBAL_HIGH:
        itm_add_time(d, k);
        break;
    case ITM_PAGE:
        detail_add(d, "page=%" PRIu64, k->value);
        break;
    case ITM_EXTENSION:
        detail_add(d, "value=0x%" PRIx64 " bits=%u source=%s", k->value, k->bits,
                   k->flags ? "hardware" : "software");
        break;
    case ITM_SOFTWARE:
        detail_add(d, "port=%u", k->number);
        itm_add_value(d, k);
        break;
    case ITM_COUNTERS:
    case ITM_PMU:
        detail_add(d, "mask=0x%02" PRIx64, k->value);
        break;
    case ITM_EXCEPTION:
        detail_add(d, "number=%u name=%s", k->number, detail_exception(k->number, true));
        detail_add(d, "action=%s", detail_action(k->relation));
        break;
    case ITM_SAMPLE:
        itm_add_sample(d, k);
        break;
    case ITM_DATA_PC:
    case ITM_DATA_MATCH:
    case ITM_DATA_ADDRESS:
    case ITM_DATA_VALUE:
        itm_add_comparator(d, k);
        break;
    case ITM_HARDWARE:
        detail_add(d, "discriminator=%u", k->number);
        itm_add_value(d, k);
        break;
    case ITM_RESERVED:
        detail_add(d, "header=0x%02" PRIx64, k->value);
        break;
    case ITM_MALFORMED:
        detail_add(d, "header=0x%02x", k->number);
        break;
    case ITM_UNSYNCED:
    case ITM_INCOMPLETE:
        detail_add(d, "count=%" PRIu64, k->value);
        break;
    case ITM_ASYNC:
    case ITM_OVERFLOW:
        break;
    }
    return k->kind < sizeof itm_names / sizeof *itm_names ? itm_names[k->kind] : "?";
}

const struct source_protocol source_itm = {
    .protocol = STREAM_ITM,
    .no_instructions = true,
    .types = {"ITM"},
    .configure = configure_itm,
    .registers = "ITMTCR",
    .describe = describe_itm,
};
