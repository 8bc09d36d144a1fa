/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/etmv4/etmv4.c, decoder/etmv4/etmv4_fast.c, decoder/etmv4/etmv4_flow.c,
 * decoder/etmv4/etmv4_frequent.c and decoder/etmv4/etmv4_queue.c. */
/*
 * ETMv4 and ETE, as a property: random executions of random code, encoded with random options by
 * the model of a trace unit and cut into random pieces, decode to what really ran.
 */
#include "decoder/source/detail.h"
#include "tests/support/decoded.h"
#include "tests/support/random_etmv4.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_FLOWS 30
#define KINDS         6

enum kind {
    A_PROFILE,
    M_PROFILE,
    ETE,
};

/* Sizes and versions as real units have them, and some that none has. */
static void random_unit(uint64_t seed, enum kind kind, struct etmv4_encoder_options *e)
{
    static const uint32_t vmid_bytes[] = {0, 1, 2, 4};
    unsigned minor = random_pick(seed, 0, kind == ETE ? 4 : 7);
    bool wide_vmid = kind == ETE || minor >= 1;

    e->devarch = 0x47704a13u + (minor << 16) + (kind == ETE ? 0x1000 : 0);
    e->m_profile = kind == M_PROFILE;
    e->idr0 = 1u << 5 | ETMV4_IDR0_CYCLES | 1u << 9 | ETMV4_IDR0_COMMOPT | 8u << 24;
    if (kind == ETE && minor >= 1 && random_pick(seed, 1, 2))
        e->idr0 |= ETMV4_IDR0_MARKERS;
    e->idr2 = 8 | random_pick(seed, 2, 9) << 25;
    if (kind == M_PROFILE)
        e->idr2 = 4 | random_pick(seed, 2, 9) << 25;
    else
        e->idr2 |= random_pick(seed, 3, 4) ? 4u << 5 : 0;
    if (kind != M_PROFILE)
        e->idr2 |= vmid_bytes[random_pick(seed, 4, wide_vmid ? 4 : 2)] << 10;
    if (random_pick(seed, 5, 2) && (kind == ETE || minor >= 3))
        e->idr2 |= ETMV4_IDR2_WAIT_P0;
}

static void random_encoder(uint64_t seed, enum kind kind, struct etmv4_encoder_options *e)
{
    unsigned way = random_pick(seed, 10, 4);

    random_unit(seed, kind, e);
    e->configr = 1 | (random_pick(seed, 11, 2) ? ETMV4_CONFIG_CYCLES : 0) |
                 (random_pick(seed, 12, 2) ? ETMV4_CONFIG_TIMESTAMP : 0) |
                 (way == 0   ? ETMV4_CONFIG_BROADCAST
                  : way == 1 ? 0
                             : ETMV4_CONFIG_RETURN_STACK);
    if (e->idr2 >> 5 & 0x1f)
        e->configr |= random_pick(seed, 13, 4) ? ETMV4_CONFIG_CONTEXT_ID : 0;
    if (e->idr2 >> 10 & 0x1f)
        e->configr |= random_pick(seed, 14, 4) ? ETMV4_CONFIG_VMID : 0;
    e->ccctlr = 4 + random_pick(seed, 15, 2) * random_pick(seed, 16, 300);
    e->return_stack_depth = 1 + random_pick(seed, 17, ETMV4_MODEL_STACK_MAX);
    e->sync_period = random_pick(seed, 18, 3) ? 64 + random_pick(seed, 19, 2000) : 0;
    e->atoms_max = random_pick(seed, 20, 2) ? 25 : 1 + random_pick(seed, 21, 25);
    e->flush_percent = random_pick(seed, 22, 2) * 20;
    e->longer_percent = random_pick(seed, 23, 2) * 20;
    e->repeat_percent = random_pick(seed, 24, 2) * 20;
    e->ignore_percent = random_pick(seed, 25, 3) * 5;
    e->source_percent = random_pick(seed, 26, 2) * 10;
    e->zero_percent = random_pick(seed, 28, 2) * 60;
    e->count_known_percent = random_pick(seed, 27, 2) * 100;
}

/* Elements that are told before they are certain, and taken back (IHI 0064H.b, speculation). Not on
 * M profile. */
static void random_speculation(uint64_t seed, struct etmv4_encoder_options *e)
{
    if (e->m_profile || random_pick(seed, 30, 2))
        return;
    e->idr8 =
        1 + (random_pick(seed, 31, 2) ? random_pick(seed, 32, 8) : random_pick(seed, 32, 200));
    e->wrong_percent = random_pick(seed, 33, 3) * 10;
    e->mispredict_percent = random_pick(seed, 34, 3) * 10;
    e->commit_percent = random_pick(seed, 35, 3) * 20;
    if (random_pick(seed, 36, 2))
        e->idr0 &= ~ETMV4_IDR0_COMMOPT;
}

static void random_options(uint64_t seed, struct random_etmv4_options *o)
{
    enum kind kind = (enum kind)(random_pick(seed, 40, KINDS) / 2);
    unsigned states = 1 + random_pick(seed, 41, 7);

    random_etmv4_default_options(o);
    random_encoder(seed, kind, &o->encoder);
    random_speculation(seed, &o->encoder);
    o->instructions = 1500;
    o->a64 = kind != M_PROFILE && (states & 1);
    o->a32 = kind != M_PROFILE && (states & 2);
    o->t32 = kind == M_PROFILE || (states & 4);
    o->branches = 5 + random_pick(seed, 42, 50);
    o->back_to_back = random_pick(seed, 43, 2) * 40;
    o->discards = random_pick(seed, 44, 2);
    o->resets = kind == ETE;
    o->software = kind == ETE && (o->encoder.devarch >> 16 & 0xf) >= 3 ? 3 : 0;
}

static void configure(const struct etmv4_encoder_options *e, struct stream_config *config)
{
    struct etmv4_registers r = {.configr = e->configr, .traceidr = 0x10, .devarch = e->devarch};

    r.idr[0] = e->idr0;
    r.idr[2] = e->idr2;
    r.idr[8] = e->idr8;
    memset(config, 0, sizeof *config);
    config->protocol = STREAM_ETMV4;
    ck_assert_int_eq(etmv4_config_from_regs(&config->etmv4, &r, e->m_profile), 0);
}

static void fill_image(const struct random_etmv4 *f, struct code_image *image)
{
    code_image_init(image);
    for (size_t i = 0; i < f->region_count; i++) {
        struct code_region r = {.address = f->regions[i].address,
                                .size = f->regions[i].size,
                                .bytes = f->regions[i].bytes};
        ck_assert_int_eq(code_image_add(image, &r), 0);
    }
}

/* Context ID and VMID in force, as the events tell. */
struct in_force {
    const struct decoded *decoded;
    size_t next; /* event */
    uint32_t context_id;
    uint32_t vmid;
};

static void go_on(struct in_force *now, uint64_t position)
{
    const struct decoded *d = now->decoded;

    for (; now->next < d->event_count && d->events[now->next].position <= position; now->next++) {
        const struct bt_event *event = &d->events[now->next];
        if (event->kind == BT_EVENT_CONTEXT)
            now->context_id = event->u.context.id;
        else if (event->kind == BT_EVENT_VMID)
            now->vmid = event->u.vmid.id;
    }
}

/* Instructions of the blocks against those that ran and are in the trace. */
static void check_instructions(const struct random_etmv4 *f, const struct etmv4_encoder_options *e,
                               struct decoded *d, uint64_t seed)
{
    struct in_force now = {.decoded = d};
    uint64_t position = 0;
    struct code_key key;
    struct insn insn;
    uint32_t opcode;
    size_t t = 0;

    code_key_init(&key);
    struct code_view *view = code_select(&d->code, &key);
    for (size_t b = 0; b < d->block_count; b++) {
        const struct bt_block *block = &d->blocks[b];
        uint64_t address = block->first;
        for (uint32_t i = 0; i < bt_block_count(block); i++) {
            while (t < f->insn_count && !f->insns[t].traced)
                t++;
            ck_assert_msg(t < f->insn_count, "seed %llu: more instructions than ran",
                          (unsigned long long)seed);
            const struct random_etmv4_insn *r = &f->insns[t++];
            bool last = i + 1 == bt_block_count(block);
            enum bt_cond cond = last ? bt_block_cond(block) : BT_COND_UNKNOWN;
            /* A source address runs straight over branches that were not taken. */
            bool over = cond == BT_COND_UNKNOWN && e->source_percent && r->cond == BT_COND_FAIL;
            ck_assert_msg(r->address == address && r->isa == bt_block_isa(block) &&
                              (r->cond == cond || over) &&
                              (!last || address == bt_block_last(block)),
                          "seed %llu: instruction %zu: 0x%llx instead of 0x%llx (cond %d, %d)",
                          (unsigned long long)seed, t, (unsigned long long)address,
                          (unsigned long long)r->address, cond, r->cond);
            ck_assert_int_eq(
                code_insn(&d->code, view, address, bt_block_isa(block), &insn, &opcode), 0);
            go_on(&now, position++);
            ck_assert_msg(
                (!(e->configr & ETMV4_CONFIG_CONTEXT_ID) || r->context_id == now.context_id) &&
                    (!(e->configr & ETMV4_CONFIG_VMID) || r->vmid == now.vmid),
                "seed %llu: instruction %zu: context 0x%x, VMID 0x%x instead of 0x%x, "
                "0x%x",
                (unsigned long long)seed, t, now.context_id, now.vmid, r->context_id, r->vmid);
            address += insn.size;
        }
    }
    while (t < f->insn_count && !f->insns[t].traced)
        t++;
    ck_assert_msg(t == f->insn_count, "seed %llu: instructions are missing from %zu on",
                  (unsigned long long)seed, t);
}

/* Events that lie between instructions, and packets that are told at a place of their own. */
enum group {
    CHECKED_OTHERWISE,
    OF_THE_FLOW,
    BESIDE_IT,
};

static enum group group_of(const struct bt_event *event)
{
    switch (event->kind) {
    case BT_EVENT_STATE:
    case BT_EVENT_CONTEXT:
    case BT_EVENT_VMID:
    case BT_EVENT_COUNT:
    case BT_EVENT_CYCLES:
        return CHECKED_OTHERWISE;
    case BT_EVENT_TIMESTAMP:
    case BT_EVENT_TRIGGER:
    case BT_EVENT_SOFTWARE:
        return BESIDE_IT;
    default:
        return OF_THE_FLOW;
    }
}

static bool same_exception(const struct bt_exception *want, const struct bt_exception *got)
{
    bool reset = want->type == 0 && !want->m_type;
    if (want->has_return &&
        (want->return_address != got->return_address || want->return_isa != got->return_isa))
        return false;
    if (want->has_vector && (want->vector != got->vector || want->vector_isa != got->vector_isa))
        return false;
    return want->type == got->type && want->m_type == got->m_type &&
           (!want->number || want->number == got->number) &&
           (reset || want->has_return == got->has_return);
}

static bool same_event(const struct bt_event *want, const struct bt_event *got)
{
    if (want->kind != got->kind || want->position != got->position)
        return false;
    switch (want->kind) {
    case BT_EVENT_TRACE_ON:
        return want->u.trace_on.address == got->u.trace_on.address &&
               want->u.trace_on.isa == got->u.trace_on.isa;
    case BT_EVENT_GAP:
        return want->cause == got->cause;
    case BT_EVENT_EXCEPTION:
        return same_exception(&want->u.exception, &got->u.exception);
    case BT_EVENT_SOFTWARE:
        return want->u.software.value == got->u.software.value &&
               want->u.software.level == got->u.software.level;
    case BT_EVENT_TIMESTAMP:
        return want->u.timestamp.value == got->u.timestamp.value;
    default:
        return true;
    }
}

static const struct bt_event *next_of(const struct bt_event *events, size_t count, size_t *i,
                                      enum group group)
{
    while (*i < count && group_of(&events[*i]) != group)
        ++*i;
    return *i < count ? &events[(*i)++] : NULL;
}

static void check_events(const struct random_etmv4 *f, const struct decoded *d, enum group group,
                         uint64_t seed)
{
    static const struct bt_event none;
    size_t w = 0, g = 0;

    for (;;) {
        const struct bt_event *want = next_of(f->events, f->event_count, &w, group);
        const struct bt_event *got = next_of(d->events, d->event_count, &g, group);
        if (!want && !got)
            return;
        bool same = want && got && same_event(want, got);
        want = want ? want : &none;
        got = got ? got : &none;
        char have[DETAIL_MAX], wanted[DETAIL_MAX];
        detail_event(got, have);
        detail_event(want, wanted);
        ck_assert_msg(
            same, "seed %llu: event %zu: %s at %llu, %s instead of %s at %llu, %s; byte %llu",
            (unsigned long long)seed, w, bt_event_name((enum bt_event_kind)got->kind),
            (unsigned long long)got->position, have, bt_event_name((enum bt_event_kind)want->kind),
            (unsigned long long)want->position, wanted, (unsigned long long)got->offset);
    }
}

static void check_flow(uint64_t seed)
{
    struct random_etmv4 f;
    struct random_etmv4_options o;
    struct stream_config config;
    struct code_image image;
    static struct decoded cut, whole;

    random_options(seed, &o);
    ck_assert_int_eq(random_etmv4_init(&f, seed, &o), 0);
    fill_image(&f, &image);
    configure(&o.encoder, &config);
    decoded_init(&cut, &config, &image);
    decoded_init(&whole, &config, &image);
    decoded_feed(&cut, f.trace.data, f.trace.size, (uint32_t)seed * 2 + 1);
    decoded_feed(&whole, f.trace.data, f.trace.size, 0);
    stream_finish(&cut.stream, &cut.sink);
    stream_finish(&whole.stream, &whole.sink);
    decoded_take(&cut);
    decoded_take(&whole);
    const char *difference = decoded_difference(&cut, &whole);
    ck_assert_msg(!difference, "seed %llu: cut and whole differ: %s", (unsigned long long)seed,
                  difference);
    check_instructions(&f, &o.encoder, &cut, seed);
    check_events(&f, &cut, OF_THE_FLOW, seed);
    check_events(&f, &cut, BESIDE_IT, seed);
    ck_assert_uint_eq(cut.stream.skipped, 0);
    ck_assert_msg(stream_cycles(&cut.stream) == f.cycles, "seed %llu: %llu cycles instead of %llu",
                  (unsigned long long)seed, (unsigned long long)stream_cycles(&cut.stream),
                  (unsigned long long)f.cycles);
    decoded_release(&cut);
    decoded_release(&whole);
    code_image_release(&image);
    random_etmv4_release(&f);
}

START_TEST(random_flows_decode_to_what_ran)
{
    const char *count = getenv("BTRACED_PROPERTY_COUNT");
    unsigned flows = count ? (unsigned)atoi(count) : DEFAULT_FLOWS;

    for (unsigned i = 0; i < flows; i++)
        check_flow((uint64_t)_i * 1000000 + i + 1);
}
END_TEST

/* A property that holds for nothing holds always: the flows must have what they are about. */
START_TEST(the_flows_have_every_packet)
{
    uint64_t packets[ETMV4_SENT_KINDS] = {0};
    size_t ran = 0, traced = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct random_etmv4 f;
        struct random_etmv4_options o;
        random_options(seed, &o);
        ck_assert_int_eq(random_etmv4_init(&f, seed, &o), 0);
        for (unsigned kind = 0; kind < ETMV4_SENT_KINDS; kind++)
            packets[kind] += f.packets[kind];
        ran += f.insn_count;
        traced += f.traced_count;
        random_etmv4_release(&f);
    }
    for (unsigned kind = 0; kind < ETMV4_SENT_KINDS; kind++)
        ck_assert_msg(packets[kind] != 0, "no packet of kind %u", kind);
    ck_assert_uint_gt(traced, ran / 2);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv4 property");

    unit_cases(s, "etmv4 property: random flows decode to what ran",
               random_flows_decode_to_what_ran, 0, 4);
    unit_case(s, "etmv4 property: the flows have every packet", the_flows_have_every_packet);
    return s;
}
