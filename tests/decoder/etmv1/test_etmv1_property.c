/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv1, as a property: random executions of random code, encoded with random options by the model
 * of a trace unit and cut into random pieces, decode to what really ran.
 */
#include "tests/support/random_etmv1.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_FLOWS 40

static void random_encoder(uint64_t seed, struct etmv1_encoder_options *e)
{
    static const uint32_t versions[] = {ETMV1_MODEL_CCR_V10, ETMV1_MODEL_CCR_V11,
                                        ETMV1_MODEL_CCR_V12, ETMV1_MODEL_CCR_V13};

    e->etmcr = ETMV1_MODEL_CR_PORT(random_pick(seed, 0, 3)) |
               ETMV1_MODEL_CR_CONTEXT_ID(random_pick(seed, 1, 4));
    e->etmcr |= random_pick(seed, 2, 4) << 2; /* data access */
    /* On a 16-bit port it is not certain where data begins behind a byte that was alone: but where
     * a byte is never alone. What a cycle without a byte shows must not look like one then. */
    e->hold_single = random_pick(seed, 0, 3) == 2 && random_pick(seed, 2, 4);
    e->etmcr |= random_pick(seed, 3, 2) ? ETMV1_MODEL_CR_CPRT : 0;
    e->etmcr |= random_pick(seed, 4, 4) == 0 ? ETMV1_MODEL_CR_BROADCAST : 0;
    e->etmcr |= random_pick(seed, 5, 3) == 0 ? ETMV1_MODEL_CR_CYCLE_ACCURATE : 0;
    e->etmccr = versions[random_pick(seed, 6, 4)];
    e->layout = random_pick(seed, 7, 2) ? PORT_MODEL_ETB : PORT_MODEL_CYCLES;
    e->sync_period = random_pick(seed, 8, 4) ? 50 + random_pick(seed, 9, 1000) : 0;
    e->sync_patience = random_pick(seed, 10, 500);
    e->fifo_size = 24 + random_pick(seed, 11, 80);
    e->big_endian = random_pick(seed, 12, 4) == 0;
    e->drop_idle = random_pick(seed, 13, 2);
    e->noise = random_pick(seed, 14, 2) && !e->hold_single;
    e->early_percent = random_pick(seed, 15, 2) * 40;
    e->abandon_percent = random_pick(seed, 16, 2) * 60;
    e->longer_percent = random_pick(seed, 17, 2) * 20;
}

static void random_options(uint64_t seed, struct random_etmv1_options *o)
{
    random_etmv1_default_options(o);
    random_encoder(seed, &o->encoder);
    o->thumb = random_pick(seed, 30, 3) != 0;
    o->high_vectors = random_pick(seed, 31, 2);
    o->waits = random_pick(seed, 35, 3) * 200;
}

static void configure(const struct random_etmv1_options *o, struct stream_config *config)
{
    const struct etmv1_encoder_options *e = &o->encoder;

    memset(config, 0, sizeof *config);
    config->protocol = STREAM_ETMV1;
    int minor = etmv1_minor_of_ccr(e->etmccr);
    ck_assert_int_ge(minor, 0);
    ck_assert_int_eq(etmv1_config_from_regs(&config->etmv1, e->etmcr, (unsigned)minor), 0);
    config->etmv1.port.layout = e->layout == PORT_MODEL_ETB ? PORT_ETB : PORT_CYCLES;
    config->etmv1.big_endian = e->big_endian;
    config->etmv1.hold_single = e->hold_single;
    config->etmv1.low_vectors = !o->high_vectors;
    config->etmv1.high_vectors = o->high_vectors;
}

/* Was the last branch so late that an address's last byte is in one of its APO cycles,
 * or is not? */
static bool ends_in_branch(const struct random_etmv1 *f)
{
    for (size_t i = 1; i <= 3 && 4 * i <= f->trace.size; i++)
        if ((f->trace.data[f->trace.size - 4 * i] & 6) == ETMV1_MODEL_BE)
            return true;
    return false;
}

/*
 * A byte that waited for another until the end is only certain when an address follows: a restart
 * at 0x8000.
 */
static void append_restart(struct random_etmv1 *f, const struct etmv1_config *c)
{
    static const uint8_t bytes[] = {0x80, 0x80, 0x82, 0x80, 0x20, 0x5a, 0x5a, 0x5a, 0x5a, 0};
    uint32_t words[8] = {ETMV1_MODEL_BE, ETMV1_MODEL_IE, ETMV1_MODEL_IE}, context = 0;
    unsigned count = 3;

    for (unsigned i = 0; i < 5u + c->context_bytes; i += 2)
        words[count++] = ETMV1_MODEL_WT | (uint32_t)bytes[i] << 3 | (uint32_t)bytes[i + 1] << 11 |
                         (uint32_t)(i == 0) << 19;
    for (unsigned i = 0; i < count; i++) {
        const uint8_t record[4] = {(uint8_t)words[i], (uint8_t)(words[i] >> 8),
                                   (uint8_t)(words[i] >> 16), 0};
        ck_assert_int_eq(trace_bytes_append(&f->trace, record, 4), 0);
    }
    for (size_t i = 0; i < f->truth.event_count; i++) /* a single byte of data, likewise */
        f->truth.events[i].optional |= f->truth.events[i].event.kind == BT_EVENT_DATA &&
                                       f->truth.events[i].owner == f->truth.insn_count - 1;
    port_truth_event(&f->truth, BT_EVENT_WARNING)->optional = true;
    port_truth_trace_on(&f->truth, 2, 0x8000, f->truth.insn_count - 1, NULL);
    for (unsigned i = 0; i < c->context_bytes; i++)
        context = context << 8 | 0x5a;
    if (c->context_bytes == 0)
        return;
    struct port_truth_event *e = port_truth_event(&f->truth, BT_EVENT_CONTEXT);
    e->event.u.context.id = context;
    e->optional = true; /* it may have been the same before */
}

static void check_flow(uint64_t seed)
{
    struct random_etmv1 f;
    struct random_etmv1_options o;
    struct stream_config config;
    struct code_image image;
    static struct decoded cut, whole;

    random_options(seed, &o);
    ck_assert_int_eq(random_etmv1_init(&f, seed, &o), 0);
    port_truth_image(&f.code, &image);
    configure(&o, &config);
    if (o.encoder.hold_single && ends_in_branch(&f)) {
        code_image_release(&image);
        random_etmv1_release(&f);
        return;
    }
    if (o.encoder.hold_single)
        append_restart(&f, &config.etmv1);
    decoded_init(&cut, &config, &image);
    decoded_init(&whole, &config, &image);
    decoded_feed(&cut, f.trace.data, f.trace.size, (uint32_t)seed * 2 + 1);
    stream_finish(&cut.stream, &cut.sink);
    decoded_take(&cut);
    decoded_feed(&whole, f.trace.data, f.trace.size, 0);
    stream_finish(&whole.stream, &whole.sink);
    decoded_take(&whole);
    const char *difference = decoded_difference(&cut, &whole);
    ck_assert_msg(!difference, "seed %llu: cut and whole differ: %s", (unsigned long long)seed,
                  difference);
    difference = port_truth_difference(&f.truth, &whole);
    ck_assert_msg(!difference, "seed %llu: %s", (unsigned long long)seed, difference);
    decoded_release(&cut);
    decoded_release(&whole);
    code_image_release(&image);
    random_etmv1_release(&f);
}

START_TEST(random_flows_decode_to_what_ran)
{
    const char *one = getenv("BTRACED_PROPERTY_SEED");
    const char *count = getenv("BTRACED_PROPERTY_COUNT");
    unsigned flows = count ? (unsigned)atoi(count) : DEFAULT_FLOWS;

    if (one) {
        check_flow(strtoull(one, NULL, 0));
        return;
    }
    for (unsigned i = 0; i < flows; i++)
        check_flow((uint64_t)_i * 1000000 + i + 1);
}
END_TEST

static void add(uint64_t *sum, const uint64_t *more, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sum[i] += more[i];
}

/* Nothing that the model can send is left out by the flows. */
START_TEST(flows_reach_everything)
{
    struct random_etmv1 sum = {.abandoned = 0};

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random_etmv1 f;
        struct random_etmv1_options o;
        random_options(seed, &o);
        ck_assert_int_eq(random_etmv1_init(&f, seed, &o), 0);
        add(sum.statuses, f.statuses, 8);
        add(sum.reasons, f.reasons, 5);
        add(sum.address_bytes, f.address_bytes, 6);
        add(sum.offsets, f.offsets, 16);
        sum.abandoned += f.abandoned;
        random_etmv1_release(&f);
    }
    for (unsigned i = 0; i < 8; i++)
        ck_assert_msg(sum.statuses[i] > 0 || i == ETMV1_MODEL_TR, "no status %u", i);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_msg(sum.reasons[i] > 0, "no reason %u", i);
    for (unsigned i = 1; i < 6; i++)
        ck_assert_msg(sum.address_bytes[i] > 0, "no address of %u bytes", i);
    for (unsigned i = 0; i < 8; i++)
        ck_assert_msg(sum.offsets[i] > 0, "no offset of %u", i);
    ck_assert_uint_gt(sum.abandoned, 0);
}
END_TEST

START_TEST(flows_repeat)
{
    struct random_etmv1 a, b;
    struct random_etmv1_options o;

    random_options((uint64_t)_i, &o);
    ck_assert_int_eq(random_etmv1_init(&a, 7, &o), 0);
    ck_assert_int_eq(random_etmv1_init(&b, 7, &o), 0);
    ck_assert_uint_eq(a.trace.size, b.trace.size);
    ck_assert_mem_eq(a.trace.data, b.trace.data, a.trace.size);
    random_etmv1_release(&a);
    random_etmv1_release(&b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv1 property");

    unit_cases(s, "etmv1 property: random flows decode to what ran",
               random_flows_decode_to_what_ran, 0, 4);
    unit_case(s, "etmv1 property: flows reach every packet and status", flows_reach_everything);
    unit_cases(s, "etmv1 property: flows repeat", flows_repeat, 0, 3);
    return s;
}
