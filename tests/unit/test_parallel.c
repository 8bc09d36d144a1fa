/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decoding in pieces by several threads, as a property: random executions, encoded with random
 * options and damaged at random places, give the same blocks, counts and events as one decode.
 */
#include "server/parallel.h"
#include "tests/support/decoded.h"
#include "tests/support/random_etmv3.h"
#include "tests/support/random_etmv4.h"
#include "tests/unit/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_FLOWS 40

typedef unsigned long long ull;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
    return x ^ x >> 33;
}

static unsigned pick(uint64_t seed, unsigned what, unsigned below)
{
    return (unsigned)(mix(seed * 64 + what) % below);
}

/* ---- streams ---------------------------------------------------------------------------------
 */

/* One source's bytes and the code that ran. */
struct sample {
    struct stream_config config;
    struct code_image image;
    uint8_t *bytes;
    size_t size;
};

static void take_code(struct sample *s, const struct random_flow_region *regions, size_t count)
{
    code_image_init(&s->image);
    for (size_t i = 0; i < count; i++) {
        struct code_region r = {
            .address = regions[i].address, .size = regions[i].size, .bytes = regions[i].bytes};
        ck_assert_int_eq(code_image_add(&s->image, &r), 0);
    }
}

/* Bits turned over, bytes lost, doubled and put in: about one place in two kilobytes. */
static void take_bytes(struct sample *s, const struct trace_bytes *trace, uint64_t seed)
{
    unsigned places = pick(seed, 60, 2) * (1 + (unsigned)trace->size / 2048);
    s->size = trace->size;
    s->bytes = malloc(s->size + places);
    ck_assert_ptr_nonnull(s->bytes);
    memcpy(s->bytes, trace->data, s->size);
    for (unsigned i = 0; i < places; i++) {
        size_t at = pick(seed + i, 61, (unsigned)s->size - 1);
        uint8_t *p = s->bytes + at;
        switch (pick(seed + i, 62, 4)) {
        case 0:
            *p ^= (uint8_t)(1u << pick(seed + i, 63, 8));
            break;
        case 1:
            memmove(p, p + 1, --s->size - at);
            break;
        default: /* the byte that is there once more, or another one */
            memmove(p + 1, p, s->size++ - at);
            *p ^= (uint8_t)(pick(seed + i, 63, 2) * pick(seed + i, 59, 256));
            break;
        }
    }
}

static void ptm_sample(uint64_t seed, struct sample *s, struct random_flow *f)
{
    struct random_flow_options o;
    random_flow_default_options(&o);
    o.instructions = 20000;
    o.encoder.etmccer |= PTM_CCER_TIMESTAMP | PTM_CCER_RETURN_STACK;
    o.encoder.etmcr |= PTM_CR_CONTEXT_ID(pick(seed, 0, 4));
    o.encoder.etmcr |= pick(seed, 1, 2) ? PTM_CR_CYCLE_ACCURATE : 0;
    o.encoder.etmcr |= pick(seed, 2, 2) ? PTM_CR_TIMESTAMP : 0;
    o.encoder.etmcr |= pick(seed, 3, 3) ? PTM_CR_RETURN_STACK : 0;
    o.encoder.sync_period = 64 + pick(seed, 4, 1500);
    ck_assert_int_eq(random_flow_init(f, seed, &o), 0);
    s->config.protocol = STREAM_PTM;
    ck_assert_int_eq(ptm_config_from_regs(&s->config.ptm, o.encoder.etmcr, o.encoder.etmidr,
                                          o.encoder.etmccer, 0x10),
                     0);
    take_code(s, f->regions, f->region_count);
    take_bytes(s, &f->trace, seed);
}

static void etmv3_sample(uint64_t seed, struct sample *s, struct random_etmv3 *f)
{
    struct random_etmv3_options o;
    random_etmv3_default_options(&o);
    o.instructions = 12000;
    o.encoder.etmcr = ETMV3_CR_CONTEXT_ID(pick(seed, 0, 4));
    o.encoder.etmcr |= pick(seed, 1, 2) ? ETMV3_CR_CYCLE_ACCURATE : 0;
    o.encoder.etmcr |= pick(seed, 2, 3) ? 0 : ETMV3_CR_BROADCAST;
    o.encoder.sync_period = 64 + pick(seed, 4, 1500);
    ck_assert_int_eq(random_etmv3_init(f, seed, &o), 0);
    s->config.protocol = STREAM_ETMV3;
    ck_assert_int_eq(etmv3_config_from_regs(&s->config.etmv3, o.encoder.etmcr, o.encoder.etmidr,
                                            o.encoder.etmccer, 0x10),
                     0);
    take_code(s, f->regions, f->region_count);
    take_bytes(s, &f->trace, seed);
}

/* Units of both profiles and ETE, with and without speculation. */
static void etmv4_unit(uint64_t seed, struct random_etmv4_options *o)
{
    struct etmv4_encoder_options *e = &o->encoder;
    unsigned kind = pick(seed, 0, 4), states = 1 + pick(seed, 1, 7);
    e->m_profile = kind == 0;
    e->devarch = kind == 1 ? 0x47735a13u : kind == 0 ? 0x47724a13u : 0x47754a13u;
    e->idr0 = 1u << 5 | ETMV4_IDR0_CYCLES | 1u << 9 | ETMV4_IDR0_COMMOPT | 8u << 24;
    e->idr0 |= kind == 1 && pick(seed, 2, 2) ? ETMV4_IDR0_MARKERS : 0;
    e->idr2 = kind == 0 ? 4 : 8 | 4u << 5 | 1u << 10;
    if (kind != 0 && pick(seed, 3, 2)) {
        e->idr8 = 1 + pick(seed, 4, pick(seed, 5, 2) ? 8 : 200);
        e->wrong_percent = pick(seed, 6, 3) * 10;
        e->mispredict_percent = pick(seed, 7, 3) * 10;
        e->commit_percent = pick(seed, 8, 3) * 20;
        e->idr0 &= pick(seed, 9, 2) ? ~ETMV4_IDR0_COMMOPT : UINT32_MAX;
    }
    o->a64 = kind != 0 && (states & 1);
    o->a32 = kind != 0 && (states & 2);
    o->t32 = kind == 0 || (states & 4);
    o->resets = kind == 1;
    o->software = kind == 1 ? 3 : 0;
}

static void etmv4_sample(uint64_t seed, struct sample *s, struct random_etmv4 *f)
{
    struct random_etmv4_options o;
    random_etmv4_default_options(&o);
    etmv4_unit(seed, &o);
    struct etmv4_encoder_options *e = &o.encoder;
    o.instructions = 12000;
    o.branches = 5 + pick(seed, 20, 50);
    o.discards = pick(seed, 21, 2);
    e->configr = 1 | (pick(seed, 22, 2) ? ETMV4_CONFIG_CYCLES : 0) |
                 (pick(seed, 23, 2) ? ETMV4_CONFIG_TIMESTAMP : 0) |
                 (pick(seed, 24, 4) ? ETMV4_CONFIG_RETURN_STACK : ETMV4_CONFIG_BROADCAST);
    if (!e->m_profile)
        e->configr |= pick(seed, 25, 4) ? ETMV4_CONFIG_CONTEXT_ID | ETMV4_CONFIG_VMID : 0;
    e->ccctlr = 4;
    e->return_stack_depth = 1 + pick(seed, 26, ETMV4_MODEL_STACK_MAX);
    e->sync_period = 64 + pick(seed, 27, 1500);
    e->source_percent = pick(seed, 28, 2) * 10;
    e->repeat_percent = pick(seed, 29, 2) * 20;
    e->zero_percent = 0;
    ck_assert_int_eq(random_etmv4_init(f, seed, &o), 0);
    struct etmv4_registers r = {.configr = e->configr, .traceidr = 0x10, .devarch = e->devarch};
    r.idr[0] = e->idr0;
    r.idr[2] = e->idr2;
    r.idr[8] = e->idr8;
    s->config.protocol = STREAM_ETMV4;
    ck_assert_int_eq(etmv4_config_from_regs(&s->config.etmv4, &r, e->m_profile), 0);
    take_code(s, f->regions, f->region_count);
    take_bytes(s, &f->trace, seed);
}

/* ---- the property ----------------------------------------------------------------------------
 */

struct joins {
    uint64_t pieces; /* but for the first of each decode, which has nothing to be joined to */
    uint64_t joined;
};

/* The bytes come in two parts, with a loss between them if `seed` says so. */
static void feed_all(struct decoded *d, struct parallel *p, const struct sample *s, uint64_t seed)
{
    size_t half = pick(seed, 50, (unsigned)s->size);
    for (unsigned part = 0; part < 2; part++) {
        const uint8_t *from = s->bytes + part * half;
        size_t size = part ? s->size - half : half;
        if (p)
            ck_assert_int_eq(parallel_feed(p, from, size), 0);
        else
            stream_feed(&d->stream, from, size, &d->sink);
        if (part || pick(seed, 51, 4))
            continue;
        if (p)
            ck_assert_int_eq(parallel_drain(p), 0);
        stream_gap(&d->stream, BT_GAP_WIRE, 0, &d->sink);
    }
    if (p)
        ck_assert_int_eq(parallel_drain(p), 0);
    stream_finish(&d->stream, &d->sink);
    decoded_take(d);
}

static void check_counts(const struct stream *one, const struct stream *many, uint64_t seed)
{
    ck_assert_msg(one->packets == many->packets && one->skipped == many->skipped &&
                      stream_instructions(one) == stream_instructions(many) &&
                      stream_blocks(one) == stream_blocks(many) &&
                      stream_cycles(one) == stream_cycles(many) &&
                      stream_atoms_dropped(one) == stream_atoms_dropped(many) &&
                      stream_offset(one) == stream_offset(many) &&
                      stream_started(one) == stream_started(many),
                  "seed %llu: other counts", (ull)seed);
}

static void check_sample(const struct sample *s, uint64_t seed, struct joins *joins)
{
    static struct decoded one, many;
    struct parallel_options o = {.threads = 1 + pick(seed, 52, 3),
                                 .piece_bytes = 1024 + pick(seed, 53, 2048),
                                 .want_blocks = true};
    decoded_init(&one, &s->config, &s->image);
    decoded_init(&many, &s->config, &s->image);
    struct parallel *p = parallel_new(&o, &s->config, &s->image, &many.stream, &many.sink);
    ck_assert_ptr_nonnull(p);
    feed_all(&one, NULL, s, seed);
    feed_all(&many, p, s, seed);
    joins->pieces += (s->size + o.piece_bytes - 1) / o.piece_bytes - 1;
    joins->joined += parallel_joined(p);
    parallel_free(p);
    const char *difference = decoded_difference(&one, &many);
    ck_assert_msg(!difference, "seed %llu: %s", (ull)seed, difference);
    check_counts(&one.stream, &many.stream, seed);
    decoded_release(&one);
    decoded_release(&many);
}

/* What is never joined is the same without fail. */
static void check_joins(const struct joins *joins)
{
    ck_assert_msg(joins->joined > joins->pieces / 3, "%llu of %llu pieces were joined",
                  (ull)joins->joined, (ull)joins->pieces);
}

static unsigned flows(void)
{
    const char *count = getenv("BTRACED_PROPERTY_COUNT");
    return count ? (unsigned)atoi(count) : DEFAULT_FLOWS;
}

static void release(struct sample *s)
{
    code_image_release(&s->image);
    free(s->bytes);
}

START_TEST(ptm)
{
    struct joins joins = {0};
    for (unsigned i = 1; i <= flows(); i++) {
        struct sample s = {0};
        struct random_flow f;
        ptm_sample(i, &s, &f);
        check_sample(&s, i, &joins);
        release(&s);
        random_flow_release(&f);
    }
    check_joins(&joins);
}
END_TEST

START_TEST(etmv3)
{
    struct joins joins = {0};
    for (unsigned i = 1; i <= flows(); i++) {
        struct sample s = {0};
        struct random_etmv3 f;
        etmv3_sample(i, &s, &f);
        check_sample(&s, i, &joins);
        release(&s);
        random_etmv3_release(&f);
    }
    check_joins(&joins);
}
END_TEST

START_TEST(etmv4)
{
    struct joins joins = {0};
    for (unsigned i = 1; i <= flows(); i++) {
        struct sample s = {0};
        struct random_etmv4 f;
        etmv4_sample(i, &s, &f);
        check_sample(&s, i, &joins);
        release(&s);
        random_etmv4_release(&f);
    }
    check_joins(&joins);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("parallel");
    unit_case(s, "parallel: PTM in pieces decodes to the same", ptm);
    unit_case(s, "parallel: ETMv3 in pieces decodes to the same", etmv3);
    unit_case(s, "parallel: ETMv4 and ETE in pieces decode to the same", etmv4);
    return s;
}
