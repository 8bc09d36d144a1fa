/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/etmv3/etmv3_fast.c and decoder/etmv3/etmv3_fast_cycles.c. */
/*
 * ETMv3, as a property: random executions of random code with data accesses, encoded with random
 * options by the model of a trace unit and cut into random pieces,
 * decode to what really ran. */
#include "decoder/source/detail.h"
#include "tests/support/decoded.h"
#include "tests/support/random_etmv3.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_FLOWS 35

typedef unsigned long long ull;

static void random_registers(uint64_t seed, struct etmv3_encoder_options *e)
{
    unsigned minor = random_pick(seed, 0, 2) ? 5 : random_pick(seed, 1, 5);
    e->m_profile = minor >= 4 && random_pick(seed, 2, 4) == 0;
    e->etmidr = e->m_profile ? ETMV3_IDR_M4 : ETMV3_IDR_A7;
    if (!e->m_profile && random_pick(seed, 3, 3) == 0)
        e->etmidr |= ETMV3_IDR_ALTERNATIVE;
    e->etmidr = ETMV3_IDR_MINOR(e->etmidr, minor);
    e->etmccer = ETMV3_CCER_TIMESTAMP;
    e->etmccer |= random_pick(seed, 4, 2) ? ETMV3_CCER_BINARY_TIME : 0;
    e->etmccer |= random_pick(seed, 5, 2) ? ETMV3_CCER_TIMESTAMP_64 : 0;
    e->etmccer |= random_pick(seed, 6, 2) && !e->m_profile ? ETMV3_CCER_VIRTUALIZATION : 0;
    e->etmcr = ETMV3_CR_CONTEXT_ID(random_pick(seed, 7, 4));
    e->etmcr |= random_pick(seed, 8, 2) ? ETMV3_CR_CYCLE_ACCURATE : 0;
    e->etmcr |= random_pick(seed, 9, 2) && minor == 5 ? ETMV3_CR_TIMESTAMP : 0;
    e->etmcr |= random_pick(seed, 10, 3) == 0 ? ETMV3_CR_BROADCAST : 0;
    e->etmcr |= random_pick(seed, 11, 3) && minor == 5 ? ETMV3_CR_VMID : 0;
    if (random_pick(seed, 12, 2))
        e->etmcr |= random_pick(seed, 13, 4) * ETMV3_CR_DATA_VALUE; /* and ETMV3_CR_DATA_ADDRESS */
    e->etmcr |= random_pick(seed, 14, 2) ? ETMV3_CR_CPRT : 0;
}

static void random_encoder(uint64_t seed, struct etmv3_encoder_options *e)
{
    random_registers(seed, e);
    e->sync_period = random_pick(seed, 20, 3) ? 64 + random_pick(seed, 21, 2000) : 0;
    e->isync_delay = random_pick(seed, 22, 8);
    e->zeros_max = 5 + random_pick(seed, 23, 20);
    e->packing = (enum etmv3_packing)random_pick(seed, 24, 3);
    e->longer_percent = random_pick(seed, 25, 2) * 20;
    e->ignore_percent = random_pick(seed, 26, 3) * 5;
    e->inline_percent = random_pick(seed, 27, 3) * 50;
    e->late_percent = random_pick(seed, 28, 3) * 20;
    e->extra_percent = random_pick(seed, 29, 4) == 0 ? 10 : 0;
    e->count_percent = random_pick(seed, 30, 3) * 50;
    e->count_delay = random_pick(seed, 31, 10);
    e->gap_cycles = random_pick(seed, 32, 2) ? 0 : 80;
    e->blx_packets = random_pick(seed, 33, 2);
    e->plain_data_headers = random_pick(seed, 34, 2);
    e->gap_atom = random_pick(seed, 35, 2);
}

static void random_options(uint64_t seed, struct random_etmv3_options *o)
{
    random_etmv3_default_options(o);
    random_encoder(seed, &o->encoder);
    unsigned minor = o->encoder.etmidr >> 4 & 0xf;
    unsigned isa = random_pick(seed, 40, 4);
    o->instructions = 2000;
    o->a32 = isa != 0 || minor < 2;
    o->t32 = isa != 1;
    o->t32_vectors = minor >= 2 && random_pick(seed, 41, 3) == 0;
    o->it_blocks = random_pick(seed, 42, 2);
    o->security = minor >= 2 && random_pick(seed, 43, 2);
    o->hyp =
        (o->encoder.etmccer & ETMV3_CCER_VIRTUALIZATION) && minor == 5 && random_pick(seed, 44, 2);
    o->scr_writes = o->security ? 2 : 0;
    o->back_to_back = random_pick(seed, 45, 2) * 40;
    o->waypoints = 5 + random_pick(seed, 46, 50);
    o->exceptions = random_pick(seed, 47, 40);
    o->resets = random_pick(seed, 48, 3);
}

static void fill_image(const struct random_etmv3 *f, struct code_image *image)
{
    code_image_init(image);
    for (size_t i = 0; i < f->region_count; i++) {
        struct code_region r = {.address = f->regions[i].address,
                                .size = f->regions[i].size,
                                .bytes = f->regions[i].bytes};
        ck_assert_int_eq(code_image_add(image, &r), 0);
    }
}

/* The next instruction of the truth that is traced from index *t on, NULL at the end. */
static const struct random_etmv3_insn *next_traced(const struct random_etmv3 *f, size_t *t)
{
    while (*t < f->insn_count && !f->insns[*t].traced)
        ++*t;
    return *t < f->insn_count ? &f->insns[(*t)++] : NULL;
}

/* One block against the instructions from *t on. All of it but the end passed its condition. */
static const struct random_etmv3_insn *
check_block(const struct random_etmv3 *f, const struct bt_block *block, size_t *t, uint64_t seed)
{
    const struct random_etmv3_insn *r = NULL;
    uint64_t address = block->first;
    for (uint32_t i = 0; i < bt_block_count(block); i++) {
        bool last = i + 1 == bt_block_count(block);
        enum bt_cond cond = last ? bt_block_cond(block) : BT_COND_PASS;
        r = next_traced(f, t);
        ck_assert_msg(r, "seed %llu: more instructions than ran", (ull)seed);
        ck_assert_msg(r->address == address && r->isa == bt_block_isa(block) && r->cond == cond &&
                          (!last || address == bt_block_last(block)),
                      "seed %llu: instruction %zu: 0x%llx instead of 0x%llx (cond %d, %d)",
                      (ull)seed, *t, (ull)address, (ull)r->address, cond, r->cond);
        address += r->size;
    }
    return r;
}

static void check_instructions(const struct random_etmv3 *f, const struct decoded *d, bool cycles,
                               uint64_t seed)
{
    const struct random_etmv3_insn *before = NULL;
    size_t t = 0;
    for (size_t b = 0; b < d->block_count; b++) {
        const struct random_etmv3_insn *r = check_block(f, &d->blocks[b], &t, seed);
        uint64_t passed = before ? r->cycle - before->cycle : 0;
        if (cycles && before && before->region == r->region)
            ck_assert_msg(d->cycles[b] == passed,
                          "seed %llu: %llu cycles instead of %llu at instruction %zu, 0x%llx",
                          (ull)seed, (ull)d->cycles[b], (ull)passed, t, (ull)r->address);
        before = r;
    }
    ck_assert_msg(!next_traced(f, &t), "seed %llu: instructions are missing from %zu on", (ull)seed,
                  t);
}

static bool same_exception(const struct bt_exception *want, const struct bt_exception *got)
{
    bool debug = want->number == 1 && !want->m_profile;
    if (want->has_return && (!got->has_return || want->return_address != got->return_address ||
                             want->return_isa != got->return_isa))
        return false;
    return want->number == got->number && want->m_profile == got->m_profile &&
           want->canceled == got->canceled && (debug || want->vector == got->vector);
}

static bool same_trace_on(const struct bt_event *want, const struct bt_event *got)
{
    const struct bt_trace_on *w = &want->u.trace_on, *g = &got->u.trace_on;
    if (w->has_address && (!g->has_address || w->address != g->address || w->isa != g->isa))
        return false;
    return w->reason == g->reason && want->has_cycles == got->has_cycles &&
           (!got->has_cycles || want->cycles == got->cycles);
}

static bool same_event(const struct bt_event *want, const struct bt_event *got)
{
    if (want->kind != got->kind || want->position != got->position || want->offset != got->offset)
        return false;
    switch (want->kind) {
    case BT_EVENT_TRACE_ON:
        return same_trace_on(want, got);
    case BT_EVENT_EXCEPTION:
        return same_exception(&want->u.exception, &got->u.exception);
    case BT_EVENT_CONTEXT:
        return want->u.context.id == got->u.context.id;
    case BT_EVENT_VMID:
        return want->u.vmid.id == got->u.vmid.id;
    case BT_EVENT_TIMESTAMP:
        return want->u.timestamp.value == got->u.timestamp.value &&
               want->u.timestamp.rate_changed == got->u.timestamp.rate_changed;
    default:
        return true;
    }
}

static bool compared(const struct bt_event *e)
{
    return e->kind != BT_EVENT_STATE && e->kind != BT_EVENT_DATA && e->kind != BT_EVENT_CYCLES;
}

/* A count that came late, into the trace-on it belongs to. */
static void fold_counts(struct decoded *d)
{
    struct bt_event *trace_on = NULL;
    for (size_t i = 0; i < d->event_count; i++) {
        struct bt_event *e = &d->events[i];
        if (e->kind == BT_EVENT_TRACE_ON)
            trace_on = e;
        if (e->kind != BT_EVENT_CYCLES)
            continue;
        ck_assert(trace_on && !trace_on->has_cycles);
        trace_on->cycles = e->cycles;
        trace_on->has_cycles = e->has_cycles;
    }
}

/* Data that was suppressed is all that a good stream may warn of. */
static bool suppressed(const struct random_etmv3 *f, const struct bt_event *e)
{
    return e->kind == BT_EVENT_WARNING && e->cause == BT_GAP_OVERFLOW &&
           f->trace.data[e->offset] == 0x62;
}

static void check_events(const struct random_etmv3 *f, const struct decoded *d, uint64_t seed)
{
    size_t w = 0;
    uint64_t suppressions = 0;
    for (size_t i = 0; i < d->event_count; i++) {
        const struct bt_event *got = &d->events[i];
        suppressions += suppressed(f, got);
        if (!compared(got) || suppressed(f, got))
            continue;
        ck_assert_msg(got->kind != BT_EVENT_GAP && got->kind != BT_EVENT_WARNING,
                      "seed %llu: %s %s at byte %llu", (ull)seed,
                      bt_event_name((enum bt_event_kind)got->kind),
                      bt_gap_name((enum bt_gap_cause)got->cause), (ull)got->offset);
        ck_assert_msg(w < f->event_count, "seed %llu: too many events", (ull)seed);
        const struct bt_event *want = &f->events[w++];
        char have[DETAIL_MAX], wanted[DETAIL_MAX];
        detail_event(got, have);
        detail_event(want, wanted);
        ck_assert_msg(same_event(want, got),
                      "seed %llu: event %zu: %s at %llu, byte %llu, %s instead of %s at %llu, "
                      "byte %llu, %s",
                      (ull)seed, w, bt_event_name((enum bt_event_kind)got->kind),
                      (ull)got->position, (ull)got->offset, have,
                      bt_event_name((enum bt_event_kind)want->kind), (ull)want->position,
                      (ull)want->offset, wanted);
    }
    ck_assert_msg(w == f->event_count, "seed %llu: %zu events instead of %zu", (ull)seed, w,
                  f->event_count);
    ck_assert_uint_eq(suppressions, f->packets[ETMV3_PACKET_DATA_SUPPRESSED]);
}

static int by_value_offset(const void *a, const void *b)
{
    const struct random_etmv3_access *x = a, *y = b;
    return x->value_offset < y->value_offset ? -1 : x->value_offset > y->value_offset;
}

/* Number of an instruction among those traced. */
static uint64_t traced_number(const struct random_etmv3 *f, size_t insn)
{
    uint64_t number = 0;
    for (size_t i = 0; i < insn; i++)
        number += f->insns[i].traced;
    return number;
}

/* Trace restarted between an instruction and position `number`: whose data comes is not certain. */
static bool restarted(const struct random_etmv3 *f, size_t insn, uint64_t number)
{
    uint64_t n = 0;
    uint32_t region = f->insns[insn].region;
    for (size_t i = 0; i < f->insn_count && n < number; i++)
        if (f->insns[i].traced && ++n == number)
            region = f->insns[i].region;
    return region != f->insns[insn].region;
}

static void check_access(const struct random_etmv3 *f, const struct random_etmv3_access *a,
                         const struct bt_event *e, uint64_t seed)
{
    /* M profile: the transfers of an exception's entry and return are no instruction's. */
    bool frame = a->insn == SIZE_MAX;
    uint64_t owner = frame ? 0 : traced_number(f, a->insn);
    bool unsure = frame || e->position - owner > UINT8_MAX || restarted(f, a->insn, e->position);
    const struct bt_access *d = &e->u.data;
    ck_assert_msg(d->back == 0 ? unsure : e->position - d->back == owner,
                  "seed %llu: data at byte %llu: %u before %llu instead of %llu", (ull)seed,
                  (ull)e->offset, d->back, (ull)e->position, (ull)owner);
    /* Where only the packets tell, the address may be that of the transfer before. */
    if (d->back == 0 && !frame)
        return;
    char have[DETAIL_MAX];
    detail_event(e, have);
    ck_assert_msg(d->has_address == a->has_address && d->has_value == a->has_value &&
                      d->store == (a->store && d->back) && d->failed == a->failed &&
                      (!a->has_address || d->address == a->address) &&
                      (!a->has_value || d->value == a->value) && (frame || d->bytes == a->size),
                  "seed %llu: data at byte %llu: %s instead of 0x%x, value 0x%x, %u bytes",
                  (ull)seed, (ull)e->offset, have, a->address, a->value, a->size);
}

/*
 * Every transfer has its event, where its value comes; those whose value was lost where that is
 * known. None has two.
 */
static void check_data(struct random_etmv3 *f, const struct decoded *d, uint64_t seed)
{
    size_t wanted = 0;
    if (f->access_count)
        qsort(f->accesses, f->access_count, sizeof *f->accesses, by_value_offset);
    for (size_t a = 0; a < f->access_count; a++)
        wanted += !f->accesses[a].canceled;
    for (size_t i = 0; i < d->event_count; i++) {
        const struct random_etmv3_access key = {.value_offset = d->events[i].offset};
        if (d->events[i].kind != BT_EVENT_DATA)
            continue;
        struct random_etmv3_access *a =
            f->access_count
                ? bsearch(&key, f->accesses, f->access_count, sizeof key, by_value_offset)
                : NULL;
        ck_assert_msg(a && !a->canceled, "seed %llu: no data at byte %llu", (ull)seed,
                      (ull)key.value_offset);
        check_access(f, a, &d->events[i], seed);
        a->canceled = true;
        wanted--;
    }
    ck_assert_msg(wanted == 0, "seed %llu: %zu transfers are missing", (ull)seed, wanted);
}

static void configure(const struct random_etmv3_options *o, struct stream_config *config)
{
    memset(config, 0, sizeof *config);
    config->protocol = STREAM_ETMV3;
    ck_assert_int_eq(etmv3_config_from_regs(&config->etmv3, o->encoder.etmcr, o->encoder.etmidr,
                                            o->encoder.etmccer, 0x10),
                     0);
    config->etmv3.m_profile = o->encoder.m_profile;
}

static void check_flow(uint64_t seed)
{
    struct random_etmv3 f;
    struct random_etmv3_options o;
    struct stream_config config;
    struct code_image image;
    static struct decoded cut, whole;
    random_options(seed, &o);
    ck_assert_msg(random_etmv3_init(&f, seed, &o) == 0, "seed %llu: no flow", (ull)seed);
    fill_image(&f, &image);
    configure(&o, &config);
    decoded_init(&cut, &config, &image);
    decoded_init(&whole, &config, &image);
    decoded_feed(&cut, f.trace.data, f.trace.size, (uint32_t)seed * 2 + 1);
    decoded_feed(&whole, f.trace.data, f.trace.size, 0);
    stream_finish(&cut.stream, &cut.sink);
    stream_finish(&whole.stream, &whole.sink);
    decoded_take(&cut);
    decoded_take(&whole);
    const char *difference = decoded_difference(&cut, &whole);
    ck_assert_msg(!difference, "seed %llu: cut and whole differ: %s", (ull)seed, difference);
    check_instructions(&f, &cut, o.encoder.etmcr & ETMV3_CR_CYCLE_ACCURATE, seed);
    fold_counts(&cut);
    check_events(&f, &cut, seed);
    check_data(&f, &cut, seed);
    ck_assert_uint_eq(cut.stream.skipped, 0);
    decoded_release(&cut);
    decoded_release(&whole);
    code_image_release(&image);
    random_etmv3_release(&f);
}

/* Data-only mode: no instructions; of a transfer only what its packet says. */
START_TEST(data_only_flows_decode_to_transfers)
{
    uint64_t seed = 5000 + (uint64_t)_i;
    struct random_etmv3 f;
    struct random_etmv3_options o;
    struct stream_config config;
    struct code_image image;
    static struct decoded d;
    random_options(seed, &o);
    o.encoder.etmidr = ETMV3_IDR_MINOR(o.encoder.etmidr, 1 + random_pick(seed, 60, 5));
    o.encoder.etmcr |= ETMV3_CR_DATA_ONLY | ETMV3_CR_DATA_VALUE | ETMV3_CR_DATA_ADDRESS;
    o.encoder.no_value_not_traced = random_pick(seed, 61, 2);
    o.encoder.m_profile = false;
    o.security = o.hyp = o.t32_vectors = false;
    o.a32 = true;
    ck_assert_int_eq(random_etmv3_init(&f, seed, &o), 0);
    fill_image(&f, &image);
    configure(&o, &config);
    decoded_init(&d, &config, &image);
    decoded_feed(&d, f.trace.data, f.trace.size, (uint32_t)seed);
    stream_finish(&d.stream, &d.sink);
    decoded_take(&d);
    check_events(&f, &d, seed);
    qsort(f.accesses, f.access_count, sizeof *f.accesses, by_value_offset);
    size_t count = 0;
    for (size_t i = 0; i < d.event_count; i++) {
        const struct random_etmv3_access key = {.value_offset = d.events[i].offset};
        if (d.events[i].kind != BT_EVENT_DATA)
            continue;
        const struct random_etmv3_access *a =
            bsearch(&key, f.accesses, f.access_count, sizeof key, by_value_offset);
        ck_assert(a != NULL);
        if (a->has_value)
            ck_assert_uint_eq(d.events[i].u.data.value, a->value);
        if (a->has_address && f.trace.data[a->offset] & 0x20 && f.trace.data[a->offset] != 0x6a)
            ck_assert_uint_eq(d.events[i].u.data.address, a->address);
        count++;
    }
    ck_assert_uint_eq(count, f.access_count);
    ck_assert_uint_gt(count, 100);
    ck_assert_uint_eq(d.block_count, 0);
    decoded_release(&d);
    code_image_release(&image);
    random_etmv3_release(&f);
}
END_TEST

/* The flows of these tests have every kind of packet. */
START_TEST(random_flows_have_all_packets)
{
    uint64_t packets[ETMV3_PACKET_KINDS] = {0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct random_etmv3 f;
        struct random_etmv3_options o;
        random_options(seed, &o);
        ck_assert_int_eq(random_etmv3_init(&f, seed, &o), 0);
        for (unsigned k = 0; k < ETMV3_PACKET_KINDS; k++)
            packets[k] += f.packets[k];
        random_etmv3_release(&f);
    }
    for (unsigned k = 0; k < ETMV3_PACKET_KINDS; k++)
        ck_assert_msg(packets[k] > 0, "no packet of kind %u", k);
}
END_TEST

/* Damage: the end of a long undamaged tail decodes as before. */
START_TEST(damage_ends_at_the_next_sync)
{
    struct random_etmv3 f;
    struct random_etmv3_options o;
    struct stream_config config;
    struct code_image image;
    static struct decoded good, bad;
    random_options((uint64_t)_i + 1, &o);
    o.instructions = 10000;
    o.encoder.sync_period = 256;
    ck_assert_int_eq(random_etmv3_init(&f, (uint64_t)_i + 77, &o), 0);
    fill_image(&f, &image);
    configure(&o, &config);
    decoded_init(&good, &config, &image);
    decoded_init(&bad, &config, &image);
    decoded_feed(&good, f.trace.data, f.trace.size, 0);
    for (unsigned k = 0; k < 20; k++) /* in the first half only */
        f.trace.data[random_pick((uint64_t)_i, 100 + k, (unsigned)f.trace.size / 2)] ^=
            (uint8_t)(1u << random_pick((uint64_t)_i, 200 + k, 8));
    decoded_feed(&bad, f.trace.data, f.trace.size, 5);
    size_t same = 0;
    while (same < good.block_count && same < bad.block_count &&
           memcmp(&good.blocks[good.block_count - 1 - same],
                  &bad.blocks[bad.block_count - 1 - same], sizeof *good.blocks) == 0)
        same++;
    ck_assert_msg(same >= good.block_count / 4, "only %zu of %zu blocks recovered", same,
                  good.block_count);
    decoded_release(&good);
    decoded_release(&bad);
    code_image_release(&image);
    random_etmv3_release(&f);
}
END_TEST

START_TEST(random_flows_decode_to_what_ran)
{
    const char *count = getenv("BTRACED_PROPERTY_COUNT");
    unsigned flows = count ? (unsigned)atoi(count) : DEFAULT_FLOWS;
    for (unsigned i = 0; i < flows; i++)
        check_flow((uint64_t)_i * 1000000 + i + 1);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv3 property");
    unit_cases(s, "etmv3 property: random flows decode to what ran",
               random_flows_decode_to_what_ran, 0, 4);
    unit_cases(s, "etmv3 property: data-only flows", data_only_flows_decode_to_transfers, 0, 10);
    unit_case(s, "etmv3 property: all kinds of packets", random_flows_have_all_packets);
    unit_cases(s, "etmv3 property: damage ends at the next sync", damage_ends_at_the_next_sync, 0,
               10);
    return s;
}
