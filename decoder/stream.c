/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/stream.h"

#include "decoder/etmv3_follow.h"
#include "decoder/etmv4_follow.h"
#include "decoder/ptm_follow.h"

#include <string.h>

#define BATCH 256 /* packets between the two stages: stays in the first-level cache */
#define FEW   3   /* packets after which the short way is tried again */

/* Packets on their way from the parser to the flow stage. */
struct batch {
    size_t count;
    union {
        struct ptm_packet ptm[BATCH];
        struct etmv3_packet etmv3[BATCH];
        struct etmv2_packet etmv2[BATCH];
        struct etmv1_packet etmv1[BATCH];
        struct etmv4_packet etmv4[BATCH];
    } u;
};

/* ---- one switch an operation: once a batch, never once a packet ------------------------------ */

void stream_code_options(const struct stream_config *config, struct code_options *options)
{
    memset(options, 0, sizeof *options);
    switch (config->protocol) {
    case STREAM_PTM:
        options->barrier_waypoints = config->ptm.barrier_waypoints;
        options->t32_split = config->ptm.t32_split;
        break;
    case STREAM_ETMV3:
        options->t32_split = config->etmv3.t32_split;
        break;
    case STREAM_ETMV1: /* no Thumb-2: a BL is two instructions */
    case STREAM_ETMV2:
        options->t32_split = true;
        break;
    case STREAM_ETMV4:
        options->wait_waypoints = config->etmv4.wait_waypoints;
        options->start_waypoints = config->etmv4.transactions_p0;
        break;
    }
}

void stream_init(struct stream *s, const struct stream_config *config, struct code_cache *code)
{
    memset(s, 0, sizeof *s);
    s->protocol = (uint8_t)config->protocol;
    switch (config->protocol) {
    case STREAM_PTM:
        ptm_init(&s->u.ptm.parser, &config->ptm);
        ptm_flow_init(&s->u.ptm.flow, &config->ptm, code, config->core, config->generation);
        break;
    case STREAM_ETMV3:
        etmv3_init(&s->u.etmv3.parser, &config->etmv3);
        etmv3_flow_init(&s->u.etmv3.flow, &config->etmv3, code, config->core, config->generation);
        break;
    case STREAM_ETMV2:
        etmv2_init(&s->u.etmv2.parser, &config->etmv2);
        etmv2_flow_init(&s->u.etmv2.flow, &config->etmv2, code, config->core, config->generation);
        break;
    case STREAM_ETMV1:
        etmv1_init(&s->u.etmv1.parser, &config->etmv1);
        etmv1_flow_init(&s->u.etmv1.flow, &config->etmv1, code, config->core, config->generation);
        break;
    case STREAM_ETMV4:
        etmv4_init(&s->u.etmv4.parser, &config->etmv4);
        etmv4_flow_init(&s->u.etmv4.flow, &config->etmv4, code, config->core, config->generation);
        break;
    }
}

static struct flow_core *core_of(struct stream *s)
{
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        return &s->u.ptm.flow.core;
    case STREAM_ETMV3:
        return &s->u.etmv3.flow.core;
    case STREAM_ETMV2:
        return &s->u.etmv2.flow.trail.core;
    case STREAM_ETMV1:
        return &s->u.etmv1.flow.trail.core;
    case STREAM_ETMV4:
        return &s->u.etmv4.flow.core;
    }
    return NULL;
}

static const struct flow_core *const_core(const struct stream *s)
{
    return core_of((struct stream *)s);
}

static bool synced(const struct stream *s)
{
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        return s->u.ptm.parser.synced;
    case STREAM_ETMV3:
        return s->u.etmv3.parser.synced;
    case STREAM_ETMV2:
        return s->u.etmv2.parser.synced;
    case STREAM_ETMV4:
        return s->u.etmv4.parser.synced;
    case STREAM_ETMV1: /* the parser throws nothing away */
        return true;
    }
    return false;
}

/* Where the search for synchronisation began the last time. */
static uint64_t lost_at(const struct stream *s)
{
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        return s->u.ptm.parser.hunt_start;
    case STREAM_ETMV3:
        return s->u.etmv3.parser.hunt_start;
    case STREAM_ETMV2:
        return s->u.etmv2.parser.hunt_start;
    case STREAM_ETMV4:
        return s->u.etmv4.parser.hunt_start;
    case STREAM_ETMV1:
        return 0;
    }
    return 0;
}

/* Bytes that make blocks without packets; returns how many. */
static size_t follow(struct stream *s, const uint8_t *data, size_t len, struct flow_out *out)
{
    struct stream_etmv3 *e = &s->u.etmv3;
    struct stream_ptm *p = &s->u.ptm;
    if (s->protocol == STREAM_PTM)
        return ptm_follow(&p->parser, &p->flow, data, len, out, &s->packets);
    if (s->protocol == STREAM_ETMV3)
        return etmv3_follow(&e->parser, &e->flow, data, len, out, &s->packets);
    if (s->protocol == STREAM_ETMV4)
        return etmv4_follow(&s->u.etmv4.parser, &s->u.etmv4.flow, data, len, out, &s->packets);
    return 0;
}

/* Up to `max` packets, FEW or more. */
static size_t parse(struct stream *s, const uint8_t *data, size_t len, size_t max, struct batch *b)
{
    b->count = 0;
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        return ptm_parse(&s->u.ptm.parser, data, len, b->u.ptm, max, &b->count);
    case STREAM_ETMV3:
        return etmv3_parse(&s->u.etmv3.parser, data, len, b->u.etmv3, max, &b->count);
    case STREAM_ETMV2:
        return etmv2_parse(&s->u.etmv2.parser, data, len, b->u.etmv2, max, &b->count);
    case STREAM_ETMV1:
        return etmv1_parse(&s->u.etmv1.parser, data, len, b->u.etmv1, max, &b->count);
    case STREAM_ETMV4:
        return etmv4_parse(&s->u.etmv4.parser, data, len, b->u.etmv4, max, &b->count);
    }
    return len;
}

static void parse_end(struct stream *s, struct batch *b)
{
    b->count = 0;
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        b->count = ptm_finish(&s->u.ptm.parser, b->u.ptm);
        break;
    case STREAM_ETMV3:
        b->count = etmv3_finish(&s->u.etmv3.parser, b->u.etmv3);
        break;
    case STREAM_ETMV2:
        b->count = etmv2_finish(&s->u.etmv2.parser, b->u.etmv2);
        break;
    case STREAM_ETMV1:
        b->count = etmv1_finish(&s->u.etmv1.parser, b->u.etmv1);
        break;
    case STREAM_ETMV4:
        b->count = etmv4_finish(&s->u.etmv4.parser, b->u.etmv4);
        break;
    }
}

/* Up to `count` packets from number `from`; returns how many were taken. */
static size_t run(struct stream *s, const struct batch *b, size_t from, size_t count,
                  struct flow_out *out)
{
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        return ptm_flow_run(&s->u.ptm.flow, b->u.ptm + from, count, out);
    case STREAM_ETMV3:
        return etmv3_flow_run(&s->u.etmv3.flow, b->u.etmv3 + from, count, out);
    case STREAM_ETMV2:
        return etmv2_flow_run(&s->u.etmv2.flow, b->u.etmv2 + from, count, out);
    case STREAM_ETMV1:
        return etmv1_flow_run(&s->u.etmv1.flow, b->u.etmv1 + from, count, out);
    case STREAM_ETMV4:
        return etmv4_flow_run(&s->u.etmv4.flow, b->u.etmv4 + from, count, out);
    }
    return count;
}

static void view_packet(const struct stream *s, const struct batch *b, size_t i,
                        struct stream_packet *view)
{
    *view = (struct stream_packet){.protocol = (enum stream_protocol)s->protocol};
    switch (view->protocol) {
    case STREAM_PTM: {
        const struct ptm_packet *k = &b->u.ptm[i];
        view->offset = k->offset;
        view->size = k->size == 0xffff ? k->value : k->size;
        view->zeros = k->kind == PTM_ASYNC;
        view->skipped = k->kind == PTM_UNSYNCED;
        view->packet = k;
        break;
    }
    case STREAM_ETMV3: {
        const struct etmv3_packet *k = &b->u.etmv3[i];
        view->offset = k->offset;
        view->size = k->size == 0xffff ? k->value : k->size;
        view->zeros = k->kind == ETMV3_ASYNC;
        view->skipped = k->kind == ETMV3_UNSYNCED;
        view->packet = k;
        break;
    }
    case STREAM_ETMV2: {
        const struct etmv2_packet *k = &b->u.etmv2[i];
        view->offset = k->offset;
        view->size = etmv2_packet_size(&s->u.etmv2.parser.config, k);
        view->skipped = k->kind == ETMV2_UNSYNCED;
        view->packet = k;
        break;
    }
    case STREAM_ETMV1: {
        const struct etmv1_packet *k = &b->u.etmv1[i];
        view->offset = k->offset;
        view->size = etmv1_packet_size(&s->u.etmv1.parser.config, k);
        view->packet = k;
        break;
    }
    case STREAM_ETMV4: {
        const struct etmv4_packet *k = &b->u.etmv4[i];
        view->offset = k->offset;
        view->size = k->size == 0xffff ? k->value : k->size;
        view->zeros = k->kind == ETMV4_ASYNC;
        view->skipped = k->kind == ETMV4_UNSYNCED;
        view->packet = k;
        break;
    }
    }
}

static void gap(struct stream *s, enum bt_gap_cause cause, uint64_t bytes, struct flow_out *out)
{
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        ptm_discontinuity(&s->u.ptm.parser);
        ptm_flow_gap(&s->u.ptm.flow, stream_offset(s), cause, bytes, out);
        break;
    case STREAM_ETMV3:
        etmv3_discontinuity(&s->u.etmv3.parser);
        etmv3_flow_gap(&s->u.etmv3.flow, stream_offset(s), cause, bytes, out);
        break;
    case STREAM_ETMV2:
        etmv2_discontinuity(&s->u.etmv2.parser);
        etmv2_flow_gap(&s->u.etmv2.flow, stream_offset(s), cause, bytes, out);
        break;
    case STREAM_ETMV1:
        etmv1_discontinuity(&s->u.etmv1.parser);
        etmv1_flow_gap(&s->u.etmv1.flow, stream_offset(s), cause, bytes, out);
        break;
    case STREAM_ETMV4:
        etmv4_discontinuity(&s->u.etmv4.parser);
        etmv4_flow_gap(&s->u.etmv4.flow, stream_offset(s), cause, bytes, out);
        break;
    }
}

uint64_t stream_offset(const struct stream *s)
{
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        return s->u.ptm.parser.offset + s->u.ptm.parser.carry_len;
    case STREAM_ETMV3:
        return s->u.etmv3.parser.offset + s->u.etmv3.parser.carry_len;
    case STREAM_ETMV2:
        return s->u.etmv2.parser.in.offset;
    case STREAM_ETMV1:
        return s->u.etmv1.parser.in.offset;
    case STREAM_ETMV4:
        return s->u.etmv4.parser.offset + s->u.etmv4.parser.carry_len;
    }
    return 0;
}

/* What the flow stage holds back. False: there is more than room for it. */
static bool put_out(struct stream *s, struct flow_out *out)
{
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        break;
    case STREAM_ETMV1:
    case STREAM_ETMV2: /* by its last packet */
        break;
    case STREAM_ETMV3:
        etmv3_flow_finish(&s->u.etmv3.flow, out);
        break;
    case STREAM_ETMV4:
        return etmv4_flow_finish(&s->u.etmv4.flow, out);
    }
    return true;
}

bool stream_position(const struct stream *s, uint64_t *address, enum bt_isa *isa)
{
    if (s->protocol == STREAM_ETMV3)
        return etmv3_flow_position(&s->u.etmv3.flow, address, isa);
    const struct flow_core *core = const_core(s);
    *address = core->cur.address;
    *isa = (enum bt_isa)core->cur.isa;
    return core->cur.known || core->cur.halted;
}

/* ---- the same for all ------------------------------------------------------------------------ */

void stream_unlink(struct stream *s)
{
    struct flow_core *core = core_of(s);
    core->run = NULL;
    core->view_stale = true;
}

size_t stream_state_size(const struct stream_config *config)
{
    size_t head = offsetof(struct stream, u);
    switch (config->protocol) {
    case STREAM_PTM:
        return head + offsetof(struct stream_ptm, flow) + offsetof(struct ptm_flow, rs_from);
    case STREAM_ETMV3:
        return head + sizeof(struct stream_etmv3);
    case STREAM_ETMV2:
        return head + sizeof(struct stream_etmv2);
    case STREAM_ETMV1:
        return head + sizeof(struct stream_etmv1);
    case STREAM_ETMV4:
        return head + offsetof(struct stream_etmv4, flow) + offsetof(struct etmv4_flow, queue) +
               etmv4_queue_size(config->etmv4.max_speculated);
    }
    return sizeof(struct stream);
}

/* What of a stream its protocol uses: that of ETMv4 is large, and no other's business. */
static size_t bytes_used(const struct stream *s)
{
    size_t head = offsetof(struct stream, u);
    switch ((enum stream_protocol)s->protocol) {
    case STREAM_PTM:
        return head + sizeof(struct stream_ptm);
    case STREAM_ETMV3:
        return head + sizeof(struct stream_etmv3);
    case STREAM_ETMV2:
        return head + sizeof(struct stream_etmv2);
    case STREAM_ETMV1:
        return head + sizeof(struct stream_etmv1);
    case STREAM_ETMV4:
        return head + offsetof(struct stream_etmv4, flow) + offsetof(struct etmv4_flow, queue) +
               etmv4_queue_size(s->u.etmv4.flow.config.max_speculated);
    }
    return sizeof *s;
}

void stream_save(const struct stream *s, struct stream *copy)
{
    memcpy(copy, s, bytes_used(s));
    flow_core_link(core_of(copy), NULL);
}

void stream_resume(struct stream *s, const struct stream *copy, struct code_cache *code)
{
    memcpy(s, copy, bytes_used(copy));
    flow_core_link(core_of(s), code);
}

/* A listing wants each packet followed by its effect. */
static void take_one_by_one(struct stream *s, const struct batch *b, struct stream_sink *sink)
{
    for (size_t i = 0; i < b->count; i++) {
        struct stream_packet view;
        while (run(s, b, i, 1, &sink->out) == 0)
            sink->flush(sink->ctx, &sink->out);
        view_packet(s, b, i, &view);
        sink->packet(sink->ctx, &view);
        sink->flush(sink->ctx, &sink->out);
    }
}

static void take_packets(struct stream *s, const struct batch *b, struct stream_sink *sink)
{
    s->packets += b->count;
    if (sink->packet) {
        take_one_by_one(s, b, sink);
        return;
    }
    size_t done = 0;
    while (done < b->count) {
        done += run(s, b, done, b->count - done, &sink->out);
        if (done < b->count)
            sink->flush(sink->ctx, &sink->out);
    }
}

static void count_skipped(struct stream *s, const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        struct stream_packet view;
        view_packet(s, b, i, &view);
        if (view.skipped)
            s->skipped += view.size;
    }
}

void stream_feed(struct stream *s, const uint8_t *data, size_t len, struct stream_sink *sink)
{
    struct batch b;
    size_t max = BATCH;
    while (len > 0) {
        size_t used = sink->packet ? 0 : follow(s, data, len, &sink->out);
        data += used;
        len -= used;
        if (!flow_room(&sink->out)) {
            sink->flush(sink->ctx, &sink->out);
            continue;
        }
        max = used ? FEW : 2 * max < BATCH ? 2 * max : BATCH;
        bool hunting = !synced(s);
        uint64_t lost = lost_at(s);
        used = parse(s, data, len, max, &b);
        if (hunting || lost != lost_at(s))
            count_skipped(s, &b);
        take_packets(s, &b, sink);
        data += used;
        len -= used;
    }
}

void stream_gap(struct stream *s, enum bt_gap_cause cause, uint64_t bytes, struct stream_sink *sink)
{
    if (!flow_room(&sink->out))
        sink->flush(sink->ctx, &sink->out);
    gap(s, cause, bytes, &sink->out);
}

void stream_finish(struct stream *s, struct stream_sink *sink)
{
    struct batch b;
    parse_end(s, &b);
    count_skipped(s, &b);
    take_packets(s, &b, sink);
    do {
        if (!flow_room(&sink->out))
            sink->flush(sink->ctx, &sink->out);
    } while (!put_out(s, &sink->out));
}

void stream_set_generation(struct stream *s, uint32_t generation)
{
    struct flow_core *core = core_of(s);
    core->generation = generation;
    flow_core_link(core, core->code);
}

uint64_t stream_instructions(const struct stream *s)
{
    return const_core(s)->instructions;
}

uint64_t stream_blocks(const struct stream *s)
{
    return const_core(s)->blocks;
}

uint64_t stream_cycles(const struct stream *s)
{
    return const_core(s)->cycles;
}

uint64_t stream_atoms_dropped(const struct stream *s)
{
    return const_core(s)->dropped;
}

bool stream_started(const struct stream *s)
{
    return const_core(s)->started;
}

void stream_code_key(const struct stream *s, struct code_key *key)
{
    flow_core_key(const_core(s), key);
}
