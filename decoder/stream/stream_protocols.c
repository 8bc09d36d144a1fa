/* SPDX-License-Identifier: BSD-3-Clause */
/* What each protocol is to stream.c: one form, filled in for each. */
#include "stream_internal.h"

/* The operations that differ in names alone: NAME_init() and so on. */
#define STAGES(name)                                                                               \
    static void stream_##name##_init(struct stream *s, const struct stream_config *config,         \
                                     struct code_cache *code)                                      \
    {                                                                                              \
        name##_init(&s->u.name.parser, &config->name);                                             \
        name##_flow_init(&s->u.name.flow, &config->name, code, config->core, config->generation);  \
    }                                                                                              \
    static size_t stream_##name##_parse(struct stream *s, const uint8_t *data, size_t len,         \
                                        size_t max, struct stream_batch *b)                        \
    {                                                                                              \
        return name##_parse(&s->u.name.parser, data, len, b->u.name, max, &b->count);              \
    }                                                                                              \
    static void stream_##name##_finish(struct stream *s, struct stream_batch *b)                   \
    {                                                                                              \
        b->count = name##_finish(&s->u.name.parser, b->u.name);                                    \
    }                                                                                              \
    static size_t stream_##name##_run(struct stream *s, const struct stream_batch *b, size_t from, \
                                      size_t count, struct flow_out *out)                          \
    {                                                                                              \
        return name##_flow_run(&s->u.name.flow, b->u.name + from, count, out);                     \
    }                                                                                              \
    static void stream_##name##_gap(struct stream *s, uint64_t offset, enum bt_gap_cause cause,    \
                                    uint64_t bytes, struct flow_out *out)                          \
    {                                                                                              \
        name##_discontinuity(&s->u.name.parser);                                                   \
        name##_flow_gap(&s->u.name.flow, offset, cause, bytes, out);                               \
    }

/* Those of a protocol that finds its packets in a stream of bytes: packet_scan.h. */
#define SCANNED(name, NAME)                                                                        \
    STAGES(name)                                                                                   \
    static struct flow_core *stream_##name##_core(struct stream *s)                                \
    {                                                                                              \
        return &s->u.name.flow.core;                                                               \
    }                                                                                              \
    static struct stream_place stream_##name##_place(const struct stream *s)                       \
    {                                                                                              \
        return scan_place(&s->u.name.parser.scan);                                                 \
    }                                                                                              \
    static void stream_##name##_view(const struct stream *s, const struct stream_batch *b,         \
                                     size_t i, struct stream_packet *out)                          \
    {                                                                                              \
        const struct name##_packet *k = &b->u.name[i];                                             \
        (void)s;                                                                                   \
        out->offset = k->offset;                                                                   \
        out->size = k->size == 0xffff ? k->value : k->size;                                        \
        out->zeros = k->kind == NAME##_ASYNC;                                                      \
        out->skipped = k->kind == NAME##_UNSYNCED;                                                 \
        out->packet = k;                                                                           \
    }

/* The same with a way past the packets. */
#define BYTES(name, NAME)                                                                          \
    SCANNED(name, NAME)                                                                            \
    static size_t stream_##name##_fast_path(struct stream *s, const uint8_t *data, size_t len,     \
                                            struct flow_out *out)                                  \
    {                                                                                              \
        return name##_fast(&s->u.name.parser, &s->u.name.flow, data, len, out, &s->packets);       \
    }

/* Those of a protocol of a port's cycles: ETMv1, ETMv2. `lost`: packet k is bytes thrown away. */
#define CYCLES(name, lost)                                                                         \
    STAGES(name)                                                                                   \
    static struct flow_core *stream_##name##_core(struct stream *s)                                \
    {                                                                                              \
        return &s->u.name.flow.cursor.core;                                                        \
    }                                                                                              \
    static void stream_##name##_view(const struct stream *s, const struct stream_batch *b,         \
                                     size_t i, struct stream_packet *out)                          \
    {                                                                                              \
        const struct name##_packet *k = &b->u.name[i];                                             \
        out->offset = k->offset;                                                                   \
        out->size = name##_packet_size(&s->u.name.parser.config, k);                               \
        out->skipped = (lost);                                                                     \
        out->packet = k;                                                                           \
    }

/* What a table has of them. */
#define FORM(name)                                                                                 \
    .init = stream_##name##_init, .state_size = stream_##name##_size,                              \
    .core = stream_##name##_core, .place = stream_##name##_place, .parse = stream_##name##_parse,  \
    .finish = stream_##name##_finish, .run = stream_##name##_run, .gap = stream_##name##_gap,      \
    .view = stream_##name##_view

/* All of its state is in use. */
#define WHOLE_STATE(name)                                                                          \
    static size_t stream_##name##_size(const struct stream_config *config)                         \
    {                                                                                              \
        (void)config;                                                                              \
        return sizeof(struct stream_##name);                                                       \
    }

/* Its blocks have counts where the unit counts cycles. */
#define COUNTED(name)                                                                              \
    static bool stream_##name##_counts(const struct stream_config *config)                         \
    {                                                                                              \
        return config->name.cycle_accurate;                                                        \
    }

static struct stream_place scan_place(const struct packet_scan *scan)
{
    return (struct stream_place){.offset = scan->offset + scan->carry_len,
                                 .lost_at = scan->resync_start,
                                 .synced = scan->synced};
}

BYTES(ptm, PTM)
COUNTED(ptm)

static void stream_ptm_options(const struct stream_config *config, struct code_options *options)
{
    options->barrier_waypoints = config->ptm.barrier_waypoints;
    options->t32_split = config->ptm.t32_split;
}

static size_t stream_ptm_size(const struct stream_config *config)
{
    (void)config;
    return offsetof(struct stream_ptm, flow) + offsetof(struct ptm_flow, rs_from);
}

BYTES(etmv3, ETMV3)
COUNTED(etmv3)
WHOLE_STATE(etmv3)

static void stream_etmv3_options(const struct stream_config *config, struct code_options *options)
{
    options->t32_split = config->etmv3.t32_split;
}

static bool stream_etmv3_position(const struct stream *s, uint64_t *address, enum bt_isa *isa)
{
    return etmv3_flow_position(&s->u.etmv3.flow, address, isa);
}

static bool stream_etmv3_drain(struct stream *s, struct flow_out *out)
{
    etmv3_flow_finish(&s->u.etmv3.flow, out);
    return true;
}

static void stream_etmv3_commit(struct stream *s, uint64_t offset, struct flow_out *out)
{
    etmv3_flow_commit(&s->u.etmv3.flow, offset, out);
}

BYTES(etmv4, ETMV4)

static void stream_etmv4_options(const struct stream_config *config, struct code_options *options)
{
    options->wait_waypoints = config->etmv4.wait_waypoints;
    options->start_waypoints = config->etmv4.ete; /* whether or not its packet is a P0 element */
}

static size_t stream_etmv4_size(const struct stream_config *config)
{
    return offsetof(struct stream_etmv4, flow) + offsetof(struct etmv4_flow, queue) +
           etmv4_queue_size(config->etmv4.max_speculated);
}

static bool stream_etmv4_drain(struct stream *s, struct flow_out *out)
{
    return etmv4_flow_finish(&s->u.etmv4.flow, out);
}

CYCLES(etmv2, k->kind == ETMV2_UNSYNCED)
COUNTED(etmv2)
WHOLE_STATE(etmv2)

static void stream_arm_options(const struct stream_config *config, struct code_options *options)
{
    (void)config;
    options->t32_split = true; /* no Thumb-2: a BL is two instructions */
}

static struct stream_place stream_etmv2_place(const struct stream *s)
{
    const struct etmv2 *parser = &s->u.etmv2.parser;
    return (struct stream_place){.offset = parser->in.offset,
                                 .lost_at = parser->resync_start,
                                 .synced = parser->sync == ETMV2_SYNC_FOLLOWS};
}

CYCLES(etmv1, false)
COUNTED(etmv1)
WHOLE_STATE(etmv1)

/* It throws nothing away. */
static struct stream_place stream_etmv1_place(const struct stream *s)
{
    return (struct stream_place){.offset = s->u.etmv1.parser.in.offset, .synced = true};
}

SCANNED(itm, ITM)
WHOLE_STATE(itm)

static bool stream_itm_drain(struct stream *s, struct flow_out *out)
{
    itm_flow_finish(&s->u.itm.flow, out);
    return true;
}

STAGES(stm)
WHOLE_STATE(stm)

static struct flow_core *stream_stm_core(struct stream *s)
{
    return &s->u.stm.flow.core;
}

static struct stream_place stream_stm_place(const struct stream *s)
{
    const struct stm *parser = &s->u.stm.parser;
    return (struct stream_place){
        .offset = parser->at / 2, .lost_at = parser->resync_start, .synced = parser->synced};
}

static void stream_stm_view(const struct stream *s, const struct stream_batch *b, size_t i,
                            struct stream_packet *out)
{
    const struct stm_packet *k = &b->u.stm[i];
    (void)s;
    out->offset = k->offset;
    out->size = k->size;
    out->skipped = k->kind == STM_UNSYNCED;
    out->packet = k;
}

STAGES(mtb)
WHOLE_STATE(mtb)

static struct flow_core *stream_mtb_core(struct stream *s)
{
    return &s->u.mtb.flow.core;
}

/* It throws nothing away. */
static struct stream_place stream_mtb_place(const struct stream *s)
{
    return (struct stream_place){.offset = s->u.mtb.parser.offset, .synced = true};
}

static void stream_mtb_view(const struct stream *s, const struct stream_batch *b, size_t i,
                            struct stream_packet *out)
{
    const struct mtb_packet *k = &b->u.mtb[i];
    (void)s;
    out->offset = k->offset;
    out->size = k->kind == MTB_INCOMPLETE ? k->source : MTB_PACKET;
    out->packet = k;
}

/* One row a protocol. */
const struct stream_ops stream_protocols[STREAM_PROTOCOLS] = {
    [STREAM_PTM] = {FORM(ptm), .code_options = stream_ptm_options,
                    .counts_blocks = stream_ptm_counts, .fast_path = stream_ptm_fast_path},
    [STREAM_ETMV3] = {FORM(etmv3), .code_options = stream_etmv3_options,
                      .counts_blocks = stream_etmv3_counts, .fast_path = stream_etmv3_fast_path,
                      .position = stream_etmv3_position, .drain = stream_etmv3_drain,
                      .commit = stream_etmv3_commit, .facts = {.all_conditions = true}},
    [STREAM_ETMV2] = {FORM(etmv2), .code_options = stream_arm_options,
                      .counts_blocks = stream_etmv2_counts},
    [STREAM_ETMV1] = {FORM(etmv1), .code_options = stream_arm_options,
                      .counts_blocks = stream_etmv1_counts},
    [STREAM_ETMV4] = {FORM(etmv4), .code_options = stream_etmv4_options,
                      .fast_path = stream_etmv4_fast_path, .drain = stream_etmv4_drain},
    [STREAM_ITM] = {FORM(itm), .drain = stream_itm_drain},
    [STREAM_STM] = {FORM(stm)},
    [STREAM_MTB] = {FORM(mtb), .facts = {.taken_told = true}},
};
