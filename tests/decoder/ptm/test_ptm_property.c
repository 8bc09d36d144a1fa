/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/ptm/ptm.c, decoder/ptm/ptm_common.c and decoder/ptm/ptm_fast.c. */
/*
 * PTM, as a property: random executions of random code, encoded with random options by the model
 * of a trace unit and cut into random pieces, decode to what really ran.
 */
#include "decoder/source/detail.h"
#include "tests/support/decoded.h"
#include "tests/support/random_flow.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FLOWS 60

static void random_encoder(uint64_t seed, struct random_flow_options *o)
{
    static const uint32_t idrs[2] = {PTM_IDR_A9, PTM_IDR_A15};
    struct ptm_encoder_options *e = &o->encoder;
    bool v11 = random_pick(seed, 0, 4) != 0;
    e->etmidr = idrs[v11];
    e->etmccer = PTM_CCER_TIMESTAMP | PTM_CCER_RETURN_STACK;
    if (random_pick(seed, 1, 2))
        e->etmccer |= PTM_CCER_DMB_DSB;
    if (v11 && random_pick(seed, 2, 2))
        e->etmccer |= PTM_CCER_BINARY_TIME;
    if (v11 && random_pick(seed, 3, 2))
        e->etmccer |= PTM_CCER_TIMESTAMP_64;
    if (v11 && random_pick(seed, 4, 2))
        e->etmccer |= PTM_CCER_VIRTUALIZATION;
    e->etmcr = PTM_CR_CONTEXT_ID(random_pick(seed, 5, 4));
    if (random_pick(seed, 6, 2))
        e->etmcr |= PTM_CR_CYCLE_ACCURATE;
    if (random_pick(seed, 7, 2))
        e->etmcr |= PTM_CR_TIMESTAMP;
    if (e->etmccer & PTM_CCER_VIRTUALIZATION)
        e->etmcr |= random_pick(seed, 8, 2) ? PTM_CR_VMID : 0;
    unsigned way = random_pick(seed, 9, 4);
    e->etmcr |= way == 0 ? PTM_CR_BROADCAST : way == 1 ? 0 : PTM_CR_RETURN_STACK;
    e->return_stack_depth = 1 + random_pick(seed, 10, PTM_RETURN_STACK_MAX);
    e->sync_period = random_pick(seed, 11, 3) ? 64 + random_pick(seed, 12, 2000) : 0;
    e->isync_delay = random_pick(seed, 13, 8);
    e->zeros_min = 5;
    e->zeros_max = 5 + random_pick(seed, 14, 20);
    e->atoms_max = 1 + random_pick(seed, 15, 5);
    e->atoms_random = random_pick(seed, 16, 2);
    e->longer_percent = random_pick(seed, 17, 2) * 20;
    e->ignore_percent = random_pick(seed, 18, 3) * 5;
    e->no_block_updates = random_pick(seed, 19, 4) == 0;
    e->vmid_after_isync = random_pick(seed, 21, 2);
}

static void random_options(uint64_t seed, struct random_flow_options *o)
{
    random_flow_default_options(o);
    random_encoder(seed, o);
    o->instructions = 2000;
    unsigned isa = random_pick(seed, 30, 4);
    o->a32 = isa != 0;
    o->t32 = isa != 1;
    o->t32_vectors = random_pick(seed, 31, 3) == 0;
    o->it_blocks = random_pick(seed, 32, 2);
    o->hvc_insns = (o->encoder.etmccer & PTM_CCER_VIRTUALIZATION) && random_pick(seed, 33, 2);
    o->large_blocks = random_pick(seed, 34, 4) == 0;
    o->back_to_back = random_pick(seed, 35, 2) * 40;
    o->waypoints = 5 + random_pick(seed, 36, 50);
}

static void fill_image(const struct random_flow *f, struct code_image *image)
{
    code_image_init(image);
    for (size_t i = 0; i < f->region_count; i++) {
        struct code_region r = {.address = f->regions[i].address,
                                .size = f->regions[i].size,
                                .bytes = f->regions[i].bytes};
        ck_assert_int_eq(code_image_add(image, &r), 0);
    }
}

/* Instructions of the blocks against those that ran and are in the trace. */
static void check_instructions(const struct random_flow *f, struct decoded *d, uint64_t seed)
{
    size_t t = 0;
    struct code_key key;
    struct insn insn;
    uint32_t opcode;
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
            const struct random_flow_insn *r = &f->insns[t++];
            bool last = i + 1 == bt_block_count(block);
            enum bt_cond cond = last ? bt_block_cond(block) : BT_COND_UNKNOWN;
            ck_assert_msg(r->address == address && r->isa == bt_block_isa(block) &&
                              r->cond == cond && (!last || address == bt_block_last(block)),
                          "seed %llu: instruction %zu: 0x%llx instead of 0x%llx (cond %d, %d)",
                          (unsigned long long)seed, t, (unsigned long long)address,
                          (unsigned long long)r->address, cond, r->cond);
            ck_assert_int_eq(
                code_insn(&d->code, view, address, bt_block_isa(block), &insn, &opcode), 0);
            address += insn.size;
        }
    }
    while (t < f->insn_count && !f->insns[t].traced)
        t++;
    ck_assert_msg(t == f->insn_count, "seed %llu: instructions are missing from %zu on",
                  (unsigned long long)seed, t);
}

static bool same_exception(const struct bt_exception *want, const struct bt_exception *got)
{
    if (want->has_return && (!got->has_return || want->return_address != got->return_address ||
                             want->return_isa != got->return_isa))
        return false;
    return want->number == got->number && (want->number == 1 || want->vector == got->vector);
}

static bool same_trace_on(const struct bt_trace_on *want, const struct bt_trace_on *got)
{
    if (want->has_address &&
        (!got->has_address || want->address != got->address || want->isa != got->isa))
        return false;
    return want->reason == got->reason;
}

static bool same_rest(const struct bt_event *want, const struct bt_event *got)
{
    switch (want->kind) {
    case BT_EVENT_TRACE_ON:
        return same_trace_on(&want->u.trace_on, &got->u.trace_on);
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

static bool same_event(const struct bt_event *want, const struct bt_event *got)
{
    bool counted = want->has_cycles && got->has_cycles;
    return want->kind == got->kind && want->position == got->position &&
           want->offset == got->offset && same_rest(want, got) &&
           (!counted || want->cycles == got->cycles);
}

static void check_events(const struct random_flow *f, const struct decoded *d, uint64_t seed)
{
    size_t w = 0;
    for (size_t i = 0; i < d->event_count; i++) {
        const struct bt_event *got = &d->events[i];
        if (got->kind == BT_EVENT_STATE)
            continue;
        ck_assert_msg(got->kind != BT_EVENT_GAP && got->kind != BT_EVENT_WARNING,
                      "seed %llu: %s %s at byte %llu", (unsigned long long)seed,
                      bt_event_name((enum bt_event_kind)got->kind),
                      bt_gap_name((enum bt_gap_cause)got->cause), (unsigned long long)got->offset);
        ck_assert_msg(w < f->event_count, "seed %llu: too many events", (unsigned long long)seed);
        const struct bt_event *want = &f->events[w++];
        char have[DETAIL_MAX], wanted[DETAIL_MAX];
        detail_event(got, have);
        detail_event(want, wanted);
        ck_assert_msg(
            same_event(want, got), "seed %llu: event %zu: %s at %llu, %s instead of %s at %llu, %s",
            (unsigned long long)seed, w, bt_event_name((enum bt_event_kind)got->kind),
            (unsigned long long)got->position, have, bt_event_name((enum bt_event_kind)want->kind),
            (unsigned long long)want->position, wanted);
    }
    ck_assert_msg(w == f->event_count, "seed %llu: %zu events instead of %zu",
                  (unsigned long long)seed, w, f->event_count);
}

static void configure(const struct random_flow_options *o, struct stream_config *config)
{
    memset(config, 0, sizeof *config);
    config->protocol = STREAM_PTM;
    ck_assert_int_eq(ptm_config_from_regs(&config->ptm, o->encoder.etmcr, o->encoder.etmidr,
                                          o->encoder.etmccer, 0x10),
                     0);
}

static void check_flow(uint64_t seed)
{
    struct random_flow f;
    struct random_flow_options o;
    struct stream_config config;
    struct code_image image;
    static struct decoded cut, whole;
    random_options(seed, &o);
    ck_assert_int_eq(random_flow_init(&f, seed, &o), 0);
    fill_image(&f, &image);
    configure(&o, &config);
    decoded_init(&cut, &config, &image);
    decoded_init(&whole, &config, &image);
    decoded_feed(&cut, f.trace.data, f.trace.size, (uint32_t)seed * 2 + 1);
    decoded_feed(&whole, f.trace.data, f.trace.size, 0);
    const char *difference = decoded_difference(&cut, &whole);
    ck_assert_msg(!difference, "seed %llu: cut and whole differ: %s", (unsigned long long)seed,
                  difference);
    check_instructions(&f, &cut, seed);
    check_events(&f, &cut, seed);
    ck_assert_uint_eq(cut.stream.skipped, 0);
    decoded_release(&cut);
    decoded_release(&whole);
    code_image_release(&image);
    random_flow_release(&f);
}

START_TEST(random_flows_decode_to_what_ran)
{
    const char *count = getenv("BTRACED_PROPERTY_COUNT");
    unsigned flows = count ? (unsigned)atoi(count) : DEFAULT_FLOWS;
    for (unsigned i = 0; i < flows; i++)
        check_flow((uint64_t)_i * 1000000 + i + 1);
}
END_TEST

/*
 * Damage: whatever is done to the bytes, no instruction is listed that cannot follow from the
 * code, memory stays within bounds, and the end of a long undamaged tail
 * decodes as before. */
START_TEST(damage_never_reaches_behind_the_next_sync)
{
    struct random_flow f;
    struct random_flow_options o;
    struct stream_config config;
    struct code_image image;
    static struct decoded good, bad;
    random_flow_default_options(&o);
    o.instructions = 20000;
    o.encoder.sync_period = 256;
    ck_assert_int_eq(random_flow_init(&f, (uint64_t)_i + 77, &o), 0);
    fill_image(&f, &image);
    configure(&o, &config);
    decoded_init(&good, &config, &image);
    decoded_init(&bad, &config, &image);
    decoded_feed(&good, f.trace.data, f.trace.size, 0);
    uint8_t *damaged = malloc(f.trace.size);
    memcpy(damaged, f.trace.data, f.trace.size);
    for (unsigned k = 0; k < 20; k++) /* in the first half only */
        damaged[random_pick((uint64_t)_i, 100 + k, (unsigned)f.trace.size / 2)] ^=
            (uint8_t)(1u << random_pick((uint64_t)_i, 200 + k, 8));
    decoded_feed(&bad, damaged, f.trace.size, 5);
    /* The last blocks are the same ones: synchronisation was found again. */
    size_t same = 0;
    while (same < good.block_count && same < bad.block_count &&
           memcmp(&good.blocks[good.block_count - 1 - same],
                  &bad.blocks[bad.block_count - 1 - same], sizeof *good.blocks) == 0)
        same++;
    ck_assert_msg(same >= good.block_count / 4, "only %zu of %zu blocks recovered", same,
                  good.block_count);
    free(damaged);
    decoded_release(&good);
    decoded_release(&bad);
    code_image_release(&image);
    random_flow_release(&f);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("ptm property");
    unit_cases(s, "ptm property: random flows decode to what ran", random_flows_decode_to_what_ran,
               0, 4);
    unit_cases(s, "ptm property: damage ends at the next sync",
               damage_never_reaches_behind_the_next_sync, 0, 10);
    return s;
}
