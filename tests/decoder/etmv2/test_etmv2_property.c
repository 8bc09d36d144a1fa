/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv2, as a property: random executions of random code, encoded with random options by the model
 * of a trace unit and cut into random pieces, decode to what really ran.
 */
#include "tests/support/random_etmv2.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_FLOWS 40

static void random_encoder(uint64_t seed, struct etmv2_encoder_options *e)
{
    e->etmcr = ETMV2_MODEL_CR_PORT(random_pick(seed, 0, 3)) |
               ETMV2_MODEL_CR_CONTEXT_ID(random_pick(seed, 1, 4));
    e->etmcr |= random_pick(seed, 2, 4) << 2; /* data access */
    e->etmcr |= random_pick(seed, 3, 2) ? ETMV2_MODEL_CR_CPRT : 0;
    e->etmcr |= random_pick(seed, 4, 4) == 0 ? ETMV2_MODEL_CR_BROADCAST : 0;
    e->etmcr |= random_pick(seed, 5, 3) == 0 ? ETMV2_MODEL_CR_CYCLE_ACCURATE : 0;
    e->etmidr = random_pick(seed, 6, 2) ? ETMV2_MODEL_IDR_V20 : ETMV2_MODEL_IDR_V21;
    e->layout = random_pick(seed, 7, 2) ? PORT_MODEL_ETB : PORT_MODEL_CYCLES;
    e->sync_period = random_pick(seed, 8, 4) ? 64 + random_pick(seed, 9, 1000) : 0;
    e->fifo_size = 24 + random_pick(seed, 10, 80);
    e->lose_when_full = random_pick(seed, 11, 3) == 0;
    e->late_group = random_pick(seed, 12, 4) == 0;
    e->tfo4_extra = 1 + random_pick(seed, 13, 2);
    e->wait = random_pick(seed, 20, 2) ? ETMV2_MODEL_WAIT_ZEROS : ETMV2_MODEL_WAIT_ONES;
    e->drop_idle = random_pick(seed, 14, 2);
    e->noise = random_pick(seed, 15, 2);
    e->phantom_percent = random_pick(seed, 16, 2) * 60;
    e->late_percent = random_pick(seed, 17, 3) * 40;
    e->exception_percent = random_pick(seed, 18, 2) * 50;
    e->longer_percent = random_pick(seed, 19, 2) * 20;
}

static void random_options(uint64_t seed, struct random_etmv2_options *o)
{
    random_etmv2_default_options(o);
    random_encoder(seed, &o->encoder);
    o->thumb = random_pick(seed, 30, 3) != 0;
    o->high_vectors = random_pick(seed, 31, 2);
    o->partial_percent = random_pick(seed, 32, 2) * 30;
    o->busy_percent = random_pick(seed, 33, 2) * 50;
    o->miss_percent = random_pick(seed, 34, 2) * 30;
    o->waits = random_pick(seed, 35, 3) * 200;
}

static void configure(const struct random_etmv2_options *o, struct stream_config *config)
{
    const struct etmv2_encoder_options *e = &o->encoder;

    memset(config, 0, sizeof *config);
    config->protocol = STREAM_ETMV2;
    ck_assert_int_eq(etmv2_config_from_regs(&config->etmv2, e->etmcr, e->etmidr), 0);
    config->etmv2.port.layout = e->layout == PORT_MODEL_ETB ? PORT_ETB : PORT_CYCLES;
    config->etmv2.late_group = e->late_group;
    config->etmv2.tfo4_extra = (uint8_t)e->tfo4_extra;
    config->etmv2.wait_zeros = e->wait == ETMV2_MODEL_WAIT_ZEROS;
    config->etmv2.low_vectors = !o->high_vectors;
    config->etmv2.high_vectors = o->high_vectors;
}

static void check_flow(uint64_t seed)
{
    struct random_etmv2 f;
    struct random_etmv2_options o;
    struct stream_config config;
    struct code_image image;
    static struct decoded cut, whole;

    random_options(seed, &o);
    ck_assert_int_eq(random_etmv2_init(&f, seed, &o), 0);
    port_truth_image(&f.code, &image);
    configure(&o, &config);
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
    random_etmv2_release(&f);
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

/* Nothing that the model can send is left out by the flows. */
START_TEST(flows_reach_everything)
{
    uint64_t packets[ETMV2_MODEL_KINDS] = {0}, statuses[16] = {0};

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random_etmv2 f;
        struct random_etmv2_options o;
        random_options(seed, &o);
        ck_assert_int_eq(random_etmv2_init(&f, seed, &o), 0);
        for (unsigned i = 0; i < ETMV2_MODEL_KINDS; i++)
            packets[i] += f.packets[i];
        for (unsigned i = 0; i < 16; i++)
            statuses[i] += f.statuses[i];
        random_etmv2_release(&f);
    }
    for (unsigned i = 0; i < ETMV2_MODEL_KINDS; i++)
        ck_assert_msg(packets[i] > 0, "no packet of kind %u", i);
    for (unsigned i = 0; i < 16; i++)
        ck_assert_msg(statuses[i] > 0 || i == ETMV2_MODEL_TR, "no status %u", i);
}
END_TEST

START_TEST(flows_repeat)
{
    struct random_etmv2 a, b;
    struct random_etmv2_options o;

    random_options((uint64_t)_i, &o);
    ck_assert_int_eq(random_etmv2_init(&a, 7, &o), 0);
    ck_assert_int_eq(random_etmv2_init(&b, 7, &o), 0);
    ck_assert_uint_eq(a.trace.size, b.trace.size);
    ck_assert_mem_eq(a.trace.data, b.trace.data, a.trace.size);
    random_etmv2_release(&a);
    random_etmv2_release(&b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv2 property");

    unit_cases(s, "etmv2 property: random flows decode to what ran",
               random_flows_decode_to_what_ran, 0, 4);
    unit_case(s, "etmv2 property: flows reach every packet and status", flows_reach_everything);
    unit_cases(s, "etmv2 property: flows repeat", flows_repeat, 0, 3);
    return s;
}
