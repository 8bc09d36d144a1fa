/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/stream.h"

#include <string.h>

#define BATCH 256 /* packets between the two stages: stays in the first-level cache */

void stream_code_options(const struct stream_config *config, struct code_options *options)
{
    memset(options, 0, sizeof *options);
    options->barrier_waypoints = config->ptm.barrier_waypoints;
    options->t32_split = config->ptm.t32_split;
}

void stream_init(struct stream *s, const struct stream_config *config, struct code_cache *code)
{
    memset(s, 0, sizeof *s);
    s->protocol = (uint8_t)config->protocol;
    ptm_init(&s->ptm, &config->ptm);
    ptm_flow_init(&s->flow, &config->ptm, code, config->core, config->generation);
}

void stream_save(const struct stream *s, struct stream *copy)
{
    *copy = *s;
    flow_core_link(&copy->flow.core, NULL);
}

void stream_resume(struct stream *s, const struct stream *copy, struct code_cache *code)
{
    *s = *copy;
    flow_core_link(&s->flow.core, code);
}

static void take_packets(struct stream *s, const struct ptm_packet *packets, size_t count,
                         struct stream_sink *sink)
{
    s->packets += count;
    size_t done = 0;
    while (done < count) {
        /* A listing wants each packet followed by its effect; otherwise whole batches go. */
        size_t step = sink->packets ? 1 : count - done;
        size_t taken = ptm_flow_run(&s->flow, packets + done, step, &sink->out);
        if (taken && sink->packets)
            sink->packets(sink->ctx, packets + done, taken);
        done += taken;
        if (taken < step || sink->packets)
            sink->flush(sink->ctx, &sink->out);
    }
}

static void count_skipped(struct stream *s, const struct ptm_packet *packets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (packets[i].kind == PTM_UNSYNCED)
            s->skipped += packets[i].value;
}

void stream_feed(struct stream *s, const uint8_t *data, size_t len, struct stream_sink *sink)
{
    struct ptm_packet packets[BATCH];
    while (len > 0) {
        size_t count;
        bool hunting = !s->ptm.synced;
        size_t used = ptm_parse(&s->ptm, data, len, packets, BATCH, &count);
        data += used;
        len -= used;
        if (hunting || !s->ptm.synced)
            count_skipped(s, packets, count);
        take_packets(s, packets, count, sink);
    }
}

void stream_gap(struct stream *s, enum bt_gap_cause cause, uint64_t bytes, struct stream_sink *sink)
{
    if (!flow_room(&sink->out))
        sink->flush(sink->ctx, &sink->out);
    ptm_discontinuity(&s->ptm);
    ptm_flow_gap(&s->flow, stream_offset(s), cause, bytes, &sink->out);
}

void stream_finish(struct stream *s, struct stream_sink *sink)
{
    struct ptm_packet packet;
    size_t count = ptm_finish(&s->ptm, &packet);
    count_skipped(s, &packet, count);
    take_packets(s, &packet, count, sink);
}

uint64_t stream_offset(const struct stream *s)
{
    return s->ptm.offset + s->ptm.carry_len;
}

uint64_t stream_instructions(const struct stream *s)
{
    return s->flow.core.instructions;
}

void stream_code_key(const struct stream *s, struct code_key *key)
{
    flow_core_key(&s->flow.core, key);
}

bool stream_position(const struct stream *s, uint64_t *address, enum bt_isa *isa)
{
    *address = s->flow.core.cur.address;
    *isa = (enum bt_isa)s->flow.core.cur.isa;
    return s->flow.core.cur.known || s->flow.core.cur.halted;
}
