/* SPDX-License-Identifier: BSD-3-Clause */
/* PTM model: what the worked examples do not show, and what the options of the model change. */
#include <string.h>

#include "drivers/virtual/encoder/ptm_packets.h"
#include "tests/support/encoder_script.h"
#include "tests/support/unit_main.h"

#define A32_ISB    0xf57ff06fu
#define A32_BXJ    0xe12fff23u
#define T32_ENTERX 0xf3bf8f1fu

/* Secure A32 at 0x1000, trace on; output is looked at from there. */
static void start(struct script *s, const struct ptm_encoder_options *o)
{
    ck_assert(script_start(s, o));
    script_at(s, 0x1000);
    script_trace_on(s);
    s->mark = s->out.size;
}

static void start_with(struct script *s, uint32_t etmcr)
{
    struct ptm_encoder_options o;

    script_options(&o, etmcr, PTM_IDR_A15, PTM_CCER_A15);
    start(s, &o);
}

static void finish(struct script *s, const char *hex)
{
    ck_assert_str_eq(script_hex(s), hex);
    script_end(s);
}

static void branch_to_state(struct script *s, uint32_t opcode, uint32_t address, enum bt_isa isa)
{
    const struct ptm_insn insn = {
        .address = s->pc.address,
        .isa = s->pc.isa,
        .opcode = opcode,
        .pass = true,
        .next = {.address = address, .isa = isa, .security = s->pc.security}};

    ck_assert_int_ge(ptm_encoder_insn(s->encoder, &insn), 0);
    s->pc = insn.next;
}

START_TEST(test_t32ee)
{
    struct script s;

    start_with(&s, 0);
    branch_to_state(&s, A32_BX_LR, 0x2000, BT_ISA_T32EE);
    branch_to_state(&s, T16_BX_LR, 0x2010, BT_ISA_T32EE);
    script_exception(&s, 14, 0x18);
    branch_to_state(&s, A32_SUBS_PC, 0x2012, BT_ISA_T32EE);
    /* To A32 without an information byte AltISA stays; the way to plain T32 has to clear it. */
    branch_to_state(&s, T16_BX_LR, 0x3000, BT_ISA_A32);
    branch_to_state(&s, A32_BX_LR, 0x4000, BT_ISA_T32);
    finish(&s, "81 C0 80 80 50 40 11 8D 80 80 80 48 1C 93 C0 80 80 50 40 76 "
               "81 B0 80 80 08 81 80 81 80 50 00");
}
END_TEST

START_TEST(test_t32ee_update)
{
    struct script s;

    start_with(&s, 0);
    script_branch(&s, A32_BX_LR, 0x2001);
    branch_to_state(&s, T32_ENTERX, 0x2004, BT_ISA_T32EE);
    script_run(&s, T16_NOP);
    script_exception(&s, 14, 0x18);
    finish(&s, "81 C0 80 80 10 84 72 85 C0 80 80 50 40 8D 80 80 80 48 1C");
}
END_TEST

START_TEST(test_jazelle)
{
    struct script s;

    start_with(&s, 0);
    branch_to_state(&s, A32_BXJ, 0x2345, BT_ISA_JAZELLE);
    script_exception(&s, 14, 0x18); /* not traced in Jazelle state */
    script_at(&s, 0x1010);
    script_trace_on(&s);
    finish(&s, "8B 8D 81 80 20 08 10 10 00 00 21");
}
END_TEST

START_TEST(test_large_exception_number)
{
    struct script s;

    start_with(&s, 0);
    script_exception(&s, 0x1f5, 0x18);
    ck_assert_int_eq(ptm_encoder_exception(s.encoder, 0, &s.pc), BT_ERR_INVAL);
    ck_assert_int_eq(ptm_encoder_exception(s.encoder, 1, &s.pc), BT_ERR_INVAL);
    ck_assert_int_eq(ptm_encoder_exception(s.encoder, 512, &s.pc), BT_ERR_INVAL);
    finish(&s, "8D 40 8A 1F");
}
END_TEST

START_TEST(test_broadcast)
{
    struct script s;

    start_with(&s, PTM_CR_BROADCAST);
    script_branch(&s, A32_B, 0x1010);
    script_fail(&s, A32_BEQ);
    script_run(&s, A32_ISB);
    script_branch(&s, A32_BX_LR, 0x1000);
    finish(&s, "09 86 0D 01");
}
END_TEST

START_TEST(test_refused_options)
{
    struct ptm_encoder_options good, o;
    struct script s;

    script_options(&good, 0, PTM_IDR_A15, PTM_CCER_A15);
    o = good;
    o.etmcr = PTM_CR_BROADCAST | PTM_CR_RETURN_STACK;
    ck_assert(!script_start(&s, &o));
    o = good;
    o.etmidr &= ~(1u << 18);
    ck_assert(!script_start(&s, &o));
    o = good;
    o.return_stack_depth = 17;
    ck_assert(!script_start(&s, &o));
    o = good;
    o.atoms_max = 6;
    ck_assert(!script_start(&s, &o));
    o = good;
    o.zeros_min = 4;
    ck_assert(!script_start(&s, &o));
    ck_assert(script_start(&s, &good));
    script_end(&s);
}
END_TEST

START_TEST(test_security_by_register)
{
    struct script s;

    start_with(&s, 0);
    ptm_encoder_set_security(s.encoder, BT_SEC_NONSECURE);
    script_secure(&s, BT_SEC_NONSECURE);
    script_fail(&s, A32_BEQ);
    script_branch(&s, A32_B, 0x1020);
    script_branch(&s, A32_B, 0x1000);
    finish(&s, "86 91 50 01 84");
}
END_TEST

START_TEST(test_no_block_updates)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0, PTM_IDR_A15, PTM_CCER_A15);
    o.no_block_updates = true;
    start(&s, &o);
    script_run_to(&s, 0x3000);
    script_branch(&s, A32_B, 0x1000);
    finish(&s, "84");
}
END_TEST

START_TEST(test_block_limit)
{
    struct script s;

    /* A waypoint exactly 4096 bytes behind the last target needs no update, one word more does. */
    start_with(&s, 0);
    script_run_to(&s, 0x2000);
    script_branch(&s, A32_B, 0x1000);
    script_run_to(&s, 0x2004);
    script_branch(&s, A32_B, 0x1000);
    finish(&s, "84 72 FF 1F 84");
}
END_TEST

START_TEST(test_vmid_behind_isync)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, PTM_CR_VMID, PTM_IDR_A15, PTM_CCER_A15);
    start(&s, &o);
    ptm_encoder_trace_off(s.encoder);
    ptm_encoder_set_vmid(s.encoder, 9);
    script_trace_on(&s);
    ptm_encoder_trace_off(s.encoder);
    script_trace_on(&s);
    finish(&s, "08 00 10 00 00 21 3C 09 08 00 10 00 00 21");
    o.vmid_after_isync = true;
    start(&s, &o);
    ptm_encoder_trace_off(s.encoder);
    script_trace_on(&s);
    finish(&s, "08 00 10 00 00 21 3C 00");
    o.etmidr = PTM_IDR_A9; /* v1.0 has no such packet */
    start(&s, &o);
    ptm_encoder_set_vmid(s.encoder, 9);
    finish(&s, "");
}
END_TEST

START_TEST(test_context_id_waits_for_waypoint)
{
    struct script s;

    start_with(&s, PTM_CR_CONTEXT_ID(1));
    script_run(&s, A32_NOP);
    ptm_encoder_set_context_id(s.encoder, 0x1ab);
    script_run(&s, A32_NOP);
    script_run(&s, A32_ISB);
    script_run(&s, A32_BEQ);
    finish(&s, "84 6E AB 84");
}
END_TEST

START_TEST(test_counts)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, PTM_CR_CYCLE_ACCURATE, PTM_IDR_A9, PTM_CCER_A9);
    start(&s, &o);
    ptm_encoder_add_cycles(s.encoder, (uint64_t)1 << 33);
    script_run(&s, A32_BEQ);
    ck_assert_uint_eq(ptm_encoder_last_count(s.encoder), UINT32_MAX);
    ptm_encoder_add_cycles(s.encoder, 5);
    script_run(&s, A32_NOP);
    ptm_encoder_add_cycles(s.encoder, 6);
    script_exception(&s, 14, 0x18); /* the update has no count, the exception all of it */
    ptm_encoder_overflow(s.encoder);
    ptm_encoder_add_cycles(s.encoder, 7);
    ptm_encoder_restart(s.encoder, &s.pc); /* bit 7 of the count is as seen on hardware */
    finish(&s, "FC FF FF FF 7F 72 03 8D 40 1C 2C 08 18 00 00 00 41 9C");
}
END_TEST

START_TEST(test_timestamps_48_binary)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, PTM_CR_TIMESTAMP, PTM_IDR_A15, PTM_CCER_A15 & ~PTM_CCER_TIMESTAMP_64);
    start(&s, &o);
    ptm_encoder_set_time(s.encoder, 0xffff123456789abc);
    script_run(&s, A32_ISB); /* asks for one; the first carries all bytes, bits above 47 are lost */
    ptm_encoder_set_time(s.encoder, 0xffff123456789abd);
    script_run(&s, A32_BEQ);
    ptm_encoder_request_timestamp(s.encoder, true);
    ptm_encoder_request_timestamp(s.encoder, false);
    finish(&s, "84 42 BC B5 E2 B3 C5 C6 04 84 46 3D 42 3D");
}
END_TEST

START_TEST(test_requests_while_off)
{
    struct script s;

    start_with(&s, PTM_CR_TIMESTAMP | PTM_CR_CONTEXT_ID(1));
    script_run(&s, A32_BEQ);
    ptm_encoder_trace_off(s.encoder);
    s.mark = s.out.size;
    script_run(&s, A32_BEQ);
    script_exception(&s, 14, 0x18);
    ptm_encoder_debug_entry(s.encoder);
    ptm_encoder_set_context_id(s.encoder, 0x77);
    ck_assert_str_eq(script_hex(&s), "");
    ptm_encoder_request_sync(s.encoder);
    ptm_encoder_trigger(s.encoder);
    script_trace_on(&s);
    finish(&s, "00 00 00 00 00 80 0C 08 18 00 00 00 21 77");
}
END_TEST

/* Properties of long streams. */

/* What an observer saw. */
struct packets {
    uint64_t async_at; /* of the last A-sync */
    uint64_t least_gap;
    uint64_t most_gap;
    unsigned waypoints;  /* since an A-sync whose I-sync is not there yet */
    unsigned most_delay; /* of an I-sync, in packets */
    bool waiting;
    size_t bytes;
    unsigned kinds[PTM_PACKET_KINDS];
};

static void see(void *context, enum ptm_packet_kind kind, uint64_t offset, size_t size)
{
    struct packets *p = context;

    ck_assert_uint_eq(offset, p->bytes); /* packets tile the stream */
    p->bytes += size;
    if (kind == PTM_PACKET_ASYNC) {
        uint64_t gap = offset - p->async_at;
        if (p->kinds[kind] > 0) {
            p->least_gap = gap < p->least_gap ? gap : p->least_gap;
            p->most_gap = gap > p->most_gap ? gap : p->most_gap;
        }
        p->async_at = offset;
        p->waiting = true;
        p->waypoints = 0;
    }
    if (kind == PTM_PACKET_ATOM || kind == PTM_PACKET_BRANCH)
        p->waypoints++;
    if (kind == PTM_PACKET_ISYNC && p->waiting) {
        p->waiting = false;
        p->most_delay = p->waypoints > p->most_delay ? p->waypoints : p->most_delay;
    }
    p->kinds[kind]++;
}

static void run_long(struct script *s, const struct ptm_encoder_options *o, struct packets *p)
{
    *p = (struct packets){.least_gap = UINT64_MAX};
    ck_assert(script_start(s, o));
    ptm_encoder_observe(s->encoder, see, p);
    script_at(s, 0x1000);
    script_trace_on(s);
    for (unsigned i = 0; i < 3000; i++) {
        ptm_encoder_set_time(s->encoder, i * 1000);
        script_branch(s, A32_BX_LR, (i * 2654435761u) & ~3u);
        script_run(s, A32_BEQ);
        script_run(s, A32_BEQ);
    }
}

START_TEST(test_periodic_sync)
{
    struct ptm_encoder_options o;
    struct packets p;
    struct script s;

    script_options(&o, PTM_CR_TIMESTAMP, PTM_IDR_A15, PTM_CCER_A15);
    o.sync_period = 500;
    o.isync_delay = 6;
    run_long(&s, &o, &p);
    ck_assert_uint_gt(p.kinds[PTM_PACKET_ASYNC], 20);
    ck_assert_uint_ge(p.least_gap, 500);
    ck_assert_uint_lt(p.most_gap, 560);
    ck_assert_uint_ge(p.most_delay, 3);
    ck_assert_uint_le(p.most_delay, 7);
    ck_assert_uint_ge(p.kinds[PTM_PACKET_ISYNC] + 1, p.kinds[PTM_PACKET_ASYNC]);
    ck_assert_uint_ge(p.kinds[PTM_PACKET_TIMESTAMP] + 3, p.kinds[PTM_PACKET_ASYNC]);
    script_end(&s);
}
END_TEST

START_TEST(test_same_seed_same_bytes)
{
    struct ptm_encoder_options o;
    struct packets p;
    struct script a, b, c;

    script_options(&o, 0, PTM_IDR_A15, PTM_CCER_A15);
    o.zeros_max = 20;
    o.isync_delay = 4;
    o.sync_period = 100;
    o.atoms_random = true;
    o.longer_percent = 30;
    o.ignore_percent = 20;
    run_long(&a, &o, &p);
    ck_assert_uint_gt(p.kinds[PTM_PACKET_IGNORE], 100);
    run_long(&b, &o, &p);
    o.seed++;
    run_long(&c, &o, &p);
    ck_assert_uint_eq(a.out.size, b.out.size);
    ck_assert_mem_eq(a.out.data, b.out.data, a.out.size);
    ck_assert(a.out.size != c.out.size || memcmp(a.out.data, c.out.data, a.out.size));
    script_end(&a);
    script_end(&b);
    script_end(&c);
}
END_TEST

START_TEST(test_atom_limit)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0, PTM_IDR_A15, PTM_CCER_A15);
    for (unsigned most = 1; most <= 5; most++) {
        unsigned seen = 0;
        o.atoms_max = most;
        o.atoms_random = true;
        start(&s, &o);
        for (unsigned i = 0; i < 200; i++) {
            size_t size = s.out.size;
            unsigned before = ptm_encoder_pending_atoms(s.encoder);
            script_run(&s, A32_BEQ);
            if (s.out.size > size)
                seen |= 1u << (before + 1);
        }
        ck_assert_uint_eq(seen, (2u << most) - 2);
        script_end(&s);
    }
}
END_TEST

/* The textbook decoder of address bytes. */
static uint32_t read_address(const uint8_t *p, unsigned bytes, uint32_t base, enum bt_isa isa)
{
    static const unsigned low_bits[2][6] = {{0, 8, 14, 21, 28, 32}, {0, 7, 13, 20, 27, 32}};
    bool thumb = isa != BT_ISA_A32;
    uint64_t value = p[0] >> 1 & 0x3f;
    unsigned shift = 6;

    for (unsigned i = 1; i < bytes; i++, shift += 7) {
        uint8_t mask = i < bytes - 1 ? 0x7f : i < 4 ? 0x3f : thumb ? 0x0f : 0x07;
        value |= (uint64_t)(p[i] & mask) << shift;
    }
    uint64_t kept = ~(uint64_t)0 << low_bits[thumb][bytes];
    return (uint32_t)((base & kept) | value << (thumb ? 1 : 2));
}

START_TEST(test_shortest_address)
{
    struct trace_random random = {.state = 7};
    unsigned lengths = 0;

    for (unsigned i = 0; i < 10000; i++) {
        enum bt_isa isa = i % 2 ? BT_ISA_T32 : BT_ISA_A32;
        uint32_t align = i % 2 ? ~1u : ~3u;
        uint32_t base = (uint32_t)trace_random_next(&random) & align;
        uint32_t changed = (uint32_t)trace_random_next(&random) >> trace_random_below(&random, 32);
        struct ptm_branch_fields f = {
            .address = (base ^ changed) & align, .isa = isa, .count = PTM_NO_COUNT};
        unsigned least = ptm_address_bytes(f.address, base, isa);
        uint8_t p[PTM_PACKET_MAX];
        for (f.address_bytes = 1; f.address_bytes <= 5; f.address_bytes++) {
            ck_assert_uint_eq(ptm_put_branch(p, &f), f.address_bytes);
            bool same = read_address(p, f.address_bytes, base, isa) == f.address;
            ck_assert_int_eq(same, f.address_bytes >= least);
        }
        lengths |= 1u << least;
    }
    ck_assert_uint_eq(lengths, 0x3e);
}
END_TEST

static void add(Suite *s, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_test(tc, test);
    suite_add_tcase(s, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("ptm_options");

    add(s, "ptm_options: ThumbEE has its bit in information bytes", test_t32ee);
    add(s, "ptm_options: waypoint update in ThumbEE", test_t32ee_update);
    add(s, "ptm_options: branch into Jazelle stops trace", test_jazelle);
    add(s, "ptm_options: exception numbers over 15", test_large_exception_number);
    add(s, "ptm_options: branch broadcast", test_broadcast);
    add(s, "ptm_options: contradictory options are refused", test_refused_options);
    add(s, "ptm_options: security changed by a register write", test_security_by_register);
    add(s, "ptm_options: no updates in long blocks", test_no_block_updates);
    add(s, "ptm_options: limit of a block", test_block_limit);
    add(s, "ptm_options: VMID behind an I-sync", test_vmid_behind_isync);
    add(s, "ptm_options: context ID in a block waits", test_context_id_waits_for_waypoint);
    add(s, "ptm_options: cycle counts", test_counts);
    add(s, "ptm_options: 48-bit binary timestamps", test_timestamps_48_binary);
    add(s, "ptm_options: what is sent while trace is off", test_requests_while_off);
    add(s, "ptm_options: periodic synchronisation", test_periodic_sync);
    add(s, "ptm_options: same seed, same bytes", test_same_seed_same_bytes);
    add(s, "ptm_options: atoms in a header", test_atom_limit);
    add(s, "ptm_options: shortest addresses (10,000 random)", test_shortest_address);
    return s;
}
