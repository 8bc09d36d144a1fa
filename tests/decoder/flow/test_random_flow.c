/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/flow/flow_core.c, decoder/flow/flow_walk.c, decoder/flow/flow.c,
 * decoder/stream/stream.c and decoder/stream/stream_protocols.c. */
/* The generator of random flows: repeatable, in itself consistent, and it reaches everything. */
#include <string.h>

#include "drivers/virtual/encoder/waypoint.h"
#include "tests/support/random_flow.h"
#include "tests/support/unit_main.h"

#define ALL_CR                                                                                     \
    (PTM_CR_TIMESTAMP | PTM_CR_RETURN_STACK | PTM_CR_VMID | PTM_CR_CONTEXT_ID(3) |                 \
     PTM_CR_CYCLE_ACCURATE)

/* Everything on. */
static void all_options(struct random_flow_options *o)
{
    random_flow_default_options(o);
    o->encoder.etmcr = ALL_CR;
    o->encoder.ignore_percent = 5;
    o->encoder.longer_percent = 20;
    o->encoder.isync_delay = 4;
    o->encoder.zeros_max = 9;
    o->t32_vectors = true;
    o->smc_insns = o->hvc_insns = o->eret_a32 = true;
    o->security = true;
    o->large_blocks = true;
    o->exceptions = 20;
    o->resets = 2;
    o->debugs = 5;
    o->filters = 5;
    o->overflows = 5;
    o->vmids = 10;
    o->scr_writes = 5;
}

START_TEST(test_same_seed)
{
    struct random_flow_options o;
    struct random_flow a, b, c;

    all_options(&o);
    ck_assert_int_eq(random_flow_init(&a, 3, &o), 0);
    ck_assert_int_eq(random_flow_init(&b, 3, &o), 0);
    ck_assert_int_eq(random_flow_init(&c, 4, &o), 0);
    ck_assert_uint_eq(a.trace.size, b.trace.size);
    ck_assert_mem_eq(a.trace.data, b.trace.data, a.trace.size);
    ck_assert_uint_eq(a.insn_count, b.insn_count);
    for (size_t i = 0; i < a.insn_count; i++)
        ck_assert_uint_eq(a.insns[i].address, b.insns[i].address);
    ck_assert(a.trace.size != c.trace.size || memcmp(a.trace.data, c.trace.data, a.trace.size));
    random_flow_release(&a);
    random_flow_release(&b);
    random_flow_release(&c);
}
END_TEST

START_TEST(test_reaches_everything)
{
    static const enum bt_event_kind kinds[] = {
        BT_EVENT_TRACE_ON, BT_EVENT_EXCEPTION, BT_EVENT_EXCEPTION_RET, BT_EVENT_CONTEXT,
        BT_EVENT_VMID,     BT_EVENT_TIMESTAMP, BT_EVENT_TRIGGER};
    uint64_t packets[PTM_PACKET_KINDS] = {0};
    unsigned events[BT_EVENT_KINDS] = {0};
    unsigned exceptions[16] = {0};
    unsigned reasons[4] = {0};
    unsigned back_to_back = 0, information = 0;
    struct random_flow_options o;
    struct random_flow f;

    all_options(&o);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        ck_assert_int_eq(random_flow_init(&f, seed, &o), 0);
        for (unsigned k = 0; k < PTM_PACKET_KINDS; k++)
            packets[k] += f.packets[k];
        uint64_t last_exception = UINT64_MAX;
        for (size_t i = 0; i < f.event_count; i++) {
            const struct bt_event *e = &f.events[i];
            events[e->kind]++;
            if (e->kind == BT_EVENT_EXCEPTION)
                exceptions[e->u.exception.number & 15]++;
            if (e->kind == BT_EVENT_TRACE_ON)
                reasons[e->u.trace_on.reason & 3]++;
            if (e->kind == BT_EVENT_EXCEPTION) {
                back_to_back += last_exception == e->position;
                last_exception = e->position;
            }
        }
        for (size_t i = 0; i < f.insn_count; i++)
            information += f.insns[i].information;
        random_flow_release(&f);
    }
    for (unsigned k = 0; k < PTM_PACKET_KINDS; k++)
        ck_assert_msg(packets[k] > 0, "no packet of kind %u", k);
    for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        ck_assert_msg(events[kinds[k]] > 0, "no %d event", (int)kinds[k]);
    for (unsigned n = 1; n < 16; n++)
        ck_assert_msg(exceptions[n] > 0 || (n >= 5 && n <= 7), "no exception %u", n);
    for (unsigned r = 1; r < 4; r++)
        ck_assert_msg(reasons[r] > 0, "no I-sync with reason %u", r);
    ck_assert_uint_gt(back_to_back, 0);
    ck_assert_uint_gt(information, 0);
}
END_TEST

/* The opcode of an executed instruction, from memory. */
static uint32_t opcode_of(const struct random_flow *f, const struct random_flow_insn *insn)
{
    uint8_t b[4];

    ck_assert_uint_eq(random_flow_read(f, insn->address, b, sizeof b), sizeof b);
    if (insn->isa == BT_ISA_A32)
        return (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
    uint32_t h1 = (uint32_t)b[1] << 8 | b[0];
    return waypoint_t32_size((uint16_t)h1) == 2 ? h1 : h1 << 16 | (uint32_t)b[3] << 8 | b[2];
}

/* From one executed instruction to the next where no event stands between. */
static void check_order(const struct random_flow *f, size_t i)
{
    const struct random_flow_insn *insn = &f->insns[i];
    const struct random_flow_insn *next = &f->insns[i + 1];
    struct waypoint w;

    waypoint_classify((enum bt_isa)insn->isa, opcode_of(f, insn), insn->address, &w);
    ck_assert_uint_eq(w.size, insn->size);
    if (insn->waypoint && insn->cond == BT_COND_PASS && w.cls == WAYPOINT_DIRECT)
        ck_assert_uint_eq(next->address, w.target);
    else if (!insn->waypoint || insn->cond == BT_COND_FAIL || w.cls != WAYPOINT_INDIRECT)
        ck_assert_uint_eq(next->address, insn->address + insn->size);
}

static void check_flow(const struct random_flow *f)
{
    size_t traced = 0, event = 0;

    for (size_t i = 0; i < f->insn_count; i++) {
        const struct random_flow_insn *insn = &f->insns[i];
        ck_assert(insn->traced || (!insn->closes));
        ck_assert(!insn->closes || insn->traced);
        ck_assert(!insn->traced || !insn->waypoint || insn->closes);
        ck_assert_int_eq(insn->cond != BT_COND_UNKNOWN, insn->waypoint);
        traced += insn->traced;
        bool interrupted = false;
        for (; event < f->event_count && f->events[event].position <= traced; event++)
            interrupted |= f->events[event].position == traced &&
                           (f->events[event].kind == BT_EVENT_EXCEPTION ||
                            f->events[event].kind == BT_EVENT_TRACE_ON);
        if (insn->traced && i + 1 < f->insn_count && f->insns[i + 1].traced && !interrupted)
            check_order(f, i);
    }
    ck_assert_uint_eq(traced, f->traced_count);
    ck_assert_uint_eq(event, f->event_count);
    for (size_t i = 1; i < f->event_count; i++) {
        ck_assert_uint_le(f->events[i - 1].position, f->events[i].position);
        ck_assert_uint_le(f->events[i - 1].offset, f->events[i].offset);
    }
}

START_TEST(test_consistent)
{
    struct random_flow_options o;
    struct random_flow f;

    for (uint64_t seed = 1; seed <= 30; seed++) {
        all_options(&o);
        o.a32 = seed % 5 != 0;
        o.t32 = seed % 5 != 1;
        if (seed % 2)
            o.encoder.etmccer |= PTM_CCER_DMB_DSB;
        ck_assert_int_eq(random_flow_init(&f, seed, &o), 0);
        ck_assert_uint_ge(f.insn_count, o.instructions);
        ck_assert_uint_lt(f.traced_count, f.insn_count);
        ck_assert_uint_gt(f.traced_count, f.insn_count / 4);
        check_flow(&f);
        random_flow_release(&f);
    }
}
END_TEST

/* The header byte that an event's packet begins with. */
START_TEST(test_event_offsets)
{
    struct random_flow_options o;
    struct random_flow f;

    all_options(&o);
    ck_assert_int_eq(random_flow_init(&f, 9, &o), 0);
    for (size_t i = 0; i < f.event_count; i++) {
        const struct bt_event *e = &f.events[i];
        uint8_t header = f.trace.data[e->offset];
        switch (e->kind) {
        case BT_EVENT_TRACE_ON:
            ck_assert_uint_eq(header, 0x08);
            ck_assert_uint_eq(f.trace.data[e->offset + 5] >> 5, e->u.trace_on.reason);
            break;
        case BT_EVENT_EXCEPTION:
            ck_assert_uint_eq(header & 1, 1);
            break;
        case BT_EVENT_EXCEPTION_RET:
            ck_assert_uint_eq(header, 0x76);
            break;
        case BT_EVENT_CONTEXT:
            ck_assert(header == 0x6e || header == 0x08);
            break;
        case BT_EVENT_VMID:
            ck_assert_uint_eq(header, 0x3c);
            ck_assert_uint_eq(f.trace.data[e->offset + 1], e->u.vmid.id);
            break;
        case BT_EVENT_TIMESTAMP:
            ck_assert_uint_eq(header, e->u.timestamp.rate_changed ? 0x46 : 0x42);
            break;
        default:
            ck_assert_uint_eq(e->kind, BT_EVENT_TRIGGER);
            ck_assert_uint_eq(header, 0x0c);
        }
    }
    random_flow_release(&f);
}
END_TEST

START_TEST(test_bad_options)
{
    struct random_flow_options o;
    struct random_flow f;

    random_flow_default_options(&o);
    o.a32 = o.t32 = false;
    ck_assert_int_eq(random_flow_init(&f, 1, &o), BT_ERR_INVAL);
    random_flow_release(&f);
    random_flow_default_options(&o);
    o.encoder.atoms_max = 0;
    ck_assert_int_eq(random_flow_init(&f, 1, &o), BT_ERR_INVAL);
    random_flow_release(&f);
}
END_TEST

START_TEST(test_read)
{
    struct random_flow_options o;
    struct random_flow f;
    uint8_t b[8];

    random_flow_default_options(&o);
    ck_assert_int_eq(random_flow_init(&f, 1, &o), 0);
    const struct random_flow_region *r = &f.regions[1];
    ck_assert_uint_eq(random_flow_read(&f, r->address, b, 8), 8);
    ck_assert_mem_eq(b, r->bytes, 8);
    ck_assert_uint_eq(random_flow_read(&f, r->address + r->size - 3, b, 8), 3);
    ck_assert_mem_eq(b, r->bytes + r->size - 3, 3);
    ck_assert_uint_eq(random_flow_read(&f, r->address + r->size, b, 8), 0);
    ck_assert_uint_eq(random_flow_read(&f, r->address - 1, b, 8), 0);
    random_flow_release(&f);
}
END_TEST

static void add(Suite *s, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test);
    suite_add_tcase(s, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("random_flow");

    add(s, "random_flow: same seed, same flow", test_same_seed);
    add(s, "random_flow: reaches every packet, event and exception", test_reaches_everything);
    add(s, "random_flow: truth is consistent with the code", test_consistent);
    add(s, "random_flow: events know their packet", test_event_offsets);
    add(s, "random_flow: bad options are refused", test_bad_options);
    add(s, "random_flow: memory reads", test_read);
    return s;
}
