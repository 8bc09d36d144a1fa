/* SPDX-License-Identifier: BSD-3-Clause */
/* MTB sources: DDI 0486B chapter 3. */
#include "decoder/source/source.h"

#include <inttypes.h>

/* Without POSITION the bytes are in order, oldest first. */
static int configure_mtb(const struct bt_source *source, struct stream_config *config,
                         unsigned *trace_id, char *why, size_t size)
{
    uint64_t position;
    uint32_t master;
    *trace_id = 0;
    if (source_reg(source, "POSITION", &position))
        return BT_OK;
    int error = source_need_reg(source, "MASTER", &master, why, size);
    if (!error)
        mtb_config_from_regs(&config->mtb, (uint32_t)position, master);
    return error;
}

static const char *const mtb_names[] = {
    [MTB_BRANCH] = "branch", [MTB_EXCEPTION] = "exception", [MTB_INCOMPLETE] = "incomplete"};

static const char *describe_mtb(const struct stream_config *config, const void *packet,
                                struct detail *d)
{
    const struct mtb_packet *k = packet;
    (void)config;
    if (k->kind == MTB_INCOMPLETE) {
        detail_add(d, "count=%" PRIu32, k->source);
    } else {
        detail_add(d, "from=0x%08" PRIx32, k->source);
        detail_add(d, "address=0x%08" PRIx32, k->destination);
        detail_flag(d, "start", k->start);
    }
    return k->kind < sizeof mtb_names / sizeof *mtb_names ? mtb_names[k->kind] : "?";
}

const struct source_protocol source_mtb = {
    .protocol = STREAM_MTB,
    .types = {"MTB"},
    .configure = configure_mtb,
    .registers = "POSITION and MASTER",
    .describe = describe_mtb,
};
