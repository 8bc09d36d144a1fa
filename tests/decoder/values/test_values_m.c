/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/values/values_canceled.c, values_m.c and values_turns.c: exceptions and security
 * states of the M-profile, by hand. Everything at once: tests/bench/values. */
#include "tests/decoder/values/values_path.h"

/* ARMv7-M: the frame that an exception pushed has LR, xPSR bit 9 tells of the alignment. */
START_TEST(test_exception_frame)
{
    struct path p;
    struct values_answer a;
    begin(&p, BT_ISA_T32);
    p.w.m_profile = p.w.m_one_stack = true;
    add(&p, 0x3101, BT_COND_PASS);
    add(&p, 0x3101, BT_COND_PASS);
    p.next = 0x8200;
    add(&p, 0x3201, BT_COND_PASS); /* adds r2, #1 */
    p.events[0] = (struct bt_event){.position = 2,
                                    .kind = BT_EVENT_EXCEPTION,
                                    .u.exception = {.return_address = 0x8004, .has_return = true}};
    p.w.event_count = 1;
    p.w.final[13] = RAM + 16;
    p.w.final[14] = 0xfffffff9;
    p.ram[4] = 1000;
    p.ram[9] = 0x8111;      /* LR */
    p.ram[11] = 0x01000200; /* xPSR: SP was moved by 4 */
    struct values *r = work(&p);
    ck_assert(is_known(r, 2, 13, RAM + 16));
    ck_assert(is_known(r, 0, 0, 1000)); /* of an IT block or not, it does not write r0 */
    ck_assert(!values_register(r, 0, 16, &a));
    ck_assert(values_word(r, 2, RAM + 16 + 24, &a));
    values_free(r);

    /* With the IT state known the frame tells the registers from before. */
    begin(&p, BT_ISA_A32);
    add(&p, 0xe1a00000, BT_COND_PASS);
    p.w.m_profile = p.w.m_one_stack = true;
    p.events[0] = (struct bt_event){.position = 1,
                                    .kind = BT_EVENT_EXCEPTION,
                                    .u.exception = {.return_address = 0x8004, .has_return = true}};
    p.w.event_count = 1;
    add(&p, 0xe1a00000, BT_COND_PASS);
    p.w.final[13] = RAM + 16;
    p.w.final[14] = 0xfffffff9;
    p.ram[4] = 1000;
    p.ram[9] = 0x8111;
    p.ram[10] = 0x8004;
    p.ram[11] = 0x01000200;
    r = work(&p);
    ck_assert(is_known(r, 0, 13, RAM + 16 + 0x24));
    ck_assert(is_known(r, 0, 0, 1000));
    ck_assert(is_known(r, 0, 14, 0x8111));
    struct values_counts c;
    values_counts(r, &c);
    ck_assert_uint_eq(c.conflicts, 0);
    values_free(r);
}
END_TEST

/* What the exception comes back to may have begun: any part of an LDM or STM may be done. */
START_TEST(test_begun)
{
    static const struct {
        uint32_t opcode;
        bool load, several;
    } rows[] = {{0xcc24, true, true},   /* ldmia r4!, {r2, r5} */
                {0xc424, false, true},  /* stmia r4!, {r2, r5} */
                {0x6822, true, false},  /* ldr r2, [r4] */
                {0xbf00, true, false}}; /* nop */
    for (unsigned i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct path p;
        struct values_answer a;
        bool comes_back = i & 1;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_one_stack = true;
        for (unsigned k = 0; k < 4; k++)
            add(&p, 0xbf00, BT_COND_PASS);
        add(&p, 0x2200, BT_COND_PASS); /* movs r2, #0 */
        add(&p, 0x2500, BT_COND_PASS); /* movs r5, #0 */
        p.events[0] = (struct bt_event){
            .position = 6,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 15, .return_address = p.next, .has_return = true, .m_profile = true}};
        p.w.event_count = 1;
        uint32_t back = p.next;
        p.next = 0x8200;
        add(&p, 0xbf00, BT_COND_PASS);
        if (comes_back) {
            p.events[p.w.event_count++] =
                (struct bt_event){.position = 7, .kind = BT_EVENT_EXCEPTION_RET};
            p.next = back;
            add(&p, rows[i / 2].opcode, BT_COND_PASS);
            add(&p, 0x2200, BT_COND_PASS);
            add(&p, 0x2500, BT_COND_PASS);
        }
        p.w.final[4] = RAM + 16;
        p.w.final[13] = RAM + 0x80;
        p.ram[10] = 5;
        struct values *r = work(&p);
        ck_assert(is_known(r, 5, 2, 0));
        /* Where it is not in the path the code is 0xc0de....: STMIA. */
        bool loads = comes_back && rows[i / 2].load && rows[i / 2].several;
        ck_assert_int_eq(is_known(r, 6, 5, 0), !loads);
        if (comes_back && !loads)
            ck_assert_int_eq(values_word(r, 6, RAM + 8, &a), rows[i / 2].load);
        values_free(r);
    }
}
END_TEST

/* SP is no multiple of 8: the frame is moved, unless the core is set not to. */
START_TEST(test_unaligned)
{
    for (unsigned unaligned = 0; unaligned < 2; unaligned++) {
        struct path p;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_one_stack = true;
        p.w.m_unaligned = unaligned;
        p.w.infer = VALUES_INFER_ALL;
        for (unsigned k = 0; k < 5; k++)
            add(&p, 0xbf00, BT_COND_PASS);
        add(&p, 0xf2400064, BT_COND_PASS); /* movw r0, #0x64 */
        add(&p, 0xf2c20000, BT_COND_PASS); /* movt r0, #0x2000 */
        add(&p, 0x4685, BT_COND_PASS);     /* mov sp, r0 */
        p.events[0] = (struct bt_event){
            .position = 8,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 15, .return_address = p.next, .has_return = true, .m_profile = true}};
        p.w.event_count = 1;
        p.next = 0x8200;
        add(&p, 0xbf00, BT_COND_PASS);
        add(&p, 0x468d, BT_COND_PASS); /* mov sp, r1 */
        p.ram[16] = RAM + 0x64;
        p.ram[22] = 0x8014;
        p.ram[23] = 0x01000200;
        struct values *r = work(&p);
        ck_assert(is_known(r, 8 - 1, 0, RAM + 0x64));
        ck_assert_int_eq(is_known(r, 8, 13, RAM + 0x40), !unaligned);
        values_free(r);
    }
}
END_TEST

/* A fault whose return address is not where its frame should be has found no room for it. */
START_TEST(test_no_room)
{
    for (unsigned i = 0; i < 8; i++) {
        struct path p;
        bool there = i & 1, limits = i & 2;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_one_stack = true;
        p.w.m_bit_band = !limits;
        for (unsigned k = 0; k < 5; k++)
            add(&p, 0xbf00, BT_COND_PASS);
        p.events[0] = (struct bt_event){.position = 5,
                                        .kind = BT_EVENT_EXCEPTION,
                                        .u.exception = {.number = i & 4 && !limits ? 5 : 3,
                                                        .return_address = p.next,
                                                        .has_return = true,
                                                        .m_profile = true}};
        p.w.event_count = 1;
        uint32_t back = p.next;
        p.next = 0x8200;
        add(&p, 0xbf00, BT_COND_PASS);
        p.w.final[13] = RAM + 0x40;
        p.ram[16] = 1000;
        p.ram[22] = there ? back : 0;
        struct values *r = work(&p);
        ck_assert(is_known(r, 5, 13, RAM + 0x40));
        ck_assert_int_eq(is_known(r, 4, 13, RAM + 0x60), there);
        ck_assert_int_eq(is_known(r, 4, 0, 1000), there);
        values_free(r);
    }
}
END_TEST

/* The instruction in front has used floating-point registers: there is room for them. Otherwise LR
 * tells; `mov lr, r0` leaves nothing of it. */
START_TEST(test_exception_floats)
{
    static const struct {
        uint32_t before, after, lr, size;
        bool manual;
    } cases[] = {{0xee300a20, 0x4686, 0, 0x68, false},          /* vadd.f32 s0, s0, s1 */
                 {0xf3af8000, 0x4686, 0, 0, false},             /* nop.w */
                 {0xf3af8000, 0x3201, 0xfffffff9, 0x20, false}, /* adds r2, #1 */
                 {0xf3af8000, 0x3201, 0xffffffe9, 0x68, false},
                 {0xee300a20, 0x4686, 0, 0, true}, /* the core does not make it by itself */
                 {0xee300a20, 0x3201, 0xfffffff9, 0x20, true}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct path p;
        struct values_answer a;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_one_stack = p.w.m_fpu = true;
        p.w.m_float_manual = cases[i].manual;
        for (unsigned k = 0; k < 8; k++) /* the IT state is known */
            add(&p, 0xbf00, BT_COND_PASS);
        add(&p, cases[i].before, BT_COND_PASS);
        p.next = 0x8200;
        add(&p, cases[i].after, BT_COND_PASS);
        p.events[0] =
            (struct bt_event){.position = 9,
                              .kind = BT_EVENT_EXCEPTION,
                              .u.exception = {.return_address = 0x8014, .has_return = true}};
        p.w.event_count = 1;
        p.w.final[13] = RAM;
        p.w.final[14] = cases[i].lr;
        p.ram[7] = 0x01000000; /* xPSR */
        struct values *r = work(&p);
        ck_assert(is_known(r, 9, 13, RAM));
        ck_assert_int_eq(is_known(r, 8, 13, RAM + cases[i].size), cases[i].size != 0);
        ck_assert_int_eq(values_word(r, 8, RAM + 0x18, &a), 0);
        values_free(r);
    }
}
END_TEST

/* The room for floating-point registers is filled late, unless the return is the one of that frame.
 */
START_TEST(test_floats_pending)
{
    for (unsigned i = 0; i < 2; i++) {
        struct path p;
        struct values_answer a;
        bool same = i;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_fpu = true;
        for (unsigned k = 0; k < 5; k++)
            add(&p, 0xbf00, BT_COND_PASS);
        add(&p, 0xee300a20, BT_COND_PASS); /* vadd.f32 s0, s0, s1 */
        p.events[0] = (struct bt_event){
            .position = 6,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 15, .return_address = p.next, .has_return = true, .m_profile = true}};
        p.events[1] = (struct bt_event){.position = 9, .kind = BT_EVENT_EXCEPTION_RET};
        p.w.event_count = 2;
        uint32_t back = p.next;
        p.next = 0x8200;
        add(&p, 0xbf00, BT_COND_PASS);
        add(&p, same ? 0xf06f0e16 : 0xf06f0e06, BT_COND_PASS); /* mvn lr, #0x16: 0xffffffe9 */
        add(&p, 0x4770, BT_COND_PASS);                         /* bx lr */
        p.next = same ? back : 0x8300;
        add(&p, 0xee300a20, BT_COND_PASS);
        p.w.final[13] = RAM + (same ? 0x68 : 0x20);
        p.ram[7] = 0x01000000; /* xPSR */
        struct values *r = work(&p);
        ck_assert(is_known(r, 6, 13, RAM));
        ck_assert_int_eq(values_word(r, 6, RAM + 0x24, &a), same);
        values_free(r);
    }
}
END_TEST

/* ARMv7-M: a return that the next exception takes over leaves the frame where it is. An ETMv4 tells
 * that return, and the halt behind it all. */
static void check_chained(bool etmv4)
{
    struct path p;
    begin(&p, BT_ISA_T32);
    p.w.m_profile = p.w.m_one_stack = true;
    for (unsigned i = 0; i < 8; i++)
        add(&p, 0xbf00, BT_COND_PASS);
    p.next = 0x8200;
    add(&p, 0x4770, BT_COND_PASS); /* bx lr */
    p.next = 0x8300;
    add(&p, 0x3201, BT_COND_PASS); /* adds r2, #1 */
    p.events[0] = (struct bt_event){.position = 8,
                                    .kind = BT_EVENT_EXCEPTION,
                                    .u.exception = {.return_address = 0x8010, .has_return = true}};
    p.w.event_count = 1;
    if (etmv4)
        p.events[p.w.event_count++] =
            (struct bt_event){.position = 9, .kind = BT_EVENT_EXCEPTION_RET};
    p.events[p.w.event_count++] =
        (struct bt_event){.position = 9,
                          .kind = BT_EVENT_EXCEPTION,
                          .u.exception = {.number = 15, .m_profile = true}};
    if (etmv4)
        p.events[p.w.event_count++] =
            (struct bt_event){.position = 10, .kind = BT_EVENT_EXCEPTION, .u.exception.number = 1};
    p.w.final[13] = RAM;
    p.w.final[14] = 0xfffffff9;
    p.ram[7] = 0x01000000;
    struct values *r = work(&p);
    ck_assert(is_known(r, 9, 13, RAM));
    ck_assert(is_known(r, 8, 13, RAM));
    ck_assert(is_known(r, 7, 13, RAM + 0x20));
    ck_assert(is_known(r, 8, 14, 0xfffffff9));
    values_free(r);
}

START_TEST(test_exception_chained)
{
    check_chained(false);
    check_chained(true);
}
END_TEST

/* An interrupt gives all registers back, but not those for which a service that was chained to it
 * has written results into the frame of both. */
START_TEST(test_service_chained)
{
    for (unsigned number = 11; number <= 15; number += 4) {
        struct path p;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_one_stack = true;
        p.w.infer = VALUES_INFER_ABI | VALUES_INFER_EXCEPTION;
        for (unsigned i = 0; i < 8; i++)
            add(&p, 0xbf00, BT_COND_PASS);
        p.next = 0x8200;
        add(&p, 0x4770, BT_COND_PASS); /* bx lr */
        p.next = 0x8300;
        add(&p, 0x600b, BT_COND_PASS); /* str r3, [r1]: into the frame, maybe */
        add(&p, 0x4770, BT_COND_PASS);
        p.events[0] = (struct bt_event){
            .position = 8,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 15, .return_address = 0x8010, .has_return = true, .m_profile = true}};
        p.events[1] = (struct bt_event){.position = 9,
                                        .kind = BT_EVENT_EXCEPTION,
                                        .u.exception = {.number = number, .m_profile = true}};
        p.events[2] = (struct bt_event){.position = 11, .kind = BT_EVENT_EXCEPTION_RET};
        p.w.event_count = 3;
        p.next = 0x8010;
        add(&p, 0xbf00, BT_COND_PASS);
        p.w.final[0] = 0x55;
        p.w.final[4] = 0x66;
        p.w.final[13] = RAM + 0x20;
        p.ram[0] = 0x55;
        p.ram[6] = 0x8010;
        p.ram[7] = 0x01000000;
        struct values *r = work(&p);
        ck_assert(is_known(r, 11, 0, 0x55));
        ck_assert(is_known(r, 7, 4, 0x66));
        ck_assert_int_eq(is_known(r, 7, 0, 0x55), number == 15);
        values_free(r);
    }
}
END_TEST

/* A fault's VLDR may have been the first floating-point instruction, or was not even fetched. */
START_TEST(test_begun_floats)
{
    for (unsigned used = 0; used < 2; used++) {
        struct path p;
        struct values_answer a;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_one_stack = p.w.m_fpu = true;
        for (unsigned k = 0; k < 4; k++)
            add(&p, 0xbf00, BT_COND_PASS);
        if (used)
            add(&p, 0xeef00a60, BT_COND_PASS); /* vmov.f32 s1, s1 */
        uint32_t back = p.next;
        p.events[0] = (struct bt_event){
            .position = p.w.count,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 4, .return_address = back, .has_return = true, .m_profile = true}};
        p.next = 0x8200;
        add(&p, 0xbf00, BT_COND_PASS);
        add(&p, 0xbd00, BT_COND_PASS); /* pop {pc} */
        p.events[1] = (struct bt_event){.position = p.w.count, .kind = BT_EVENT_EXCEPTION_RET};
        p.w.event_count = 2;
        p.next = back;
        add(&p, 0xed940a00, BT_COND_PASS); /* vldr s0, [r4] */
        p.w.final[4] = RAM;
        p.w.final[13] = RAM + 0xc0;
        struct values *r = work(&p);
        ck_assert_int_eq(values_register(r, p.w.count - 2, 13, &a), used);
        values_free(r);
    }
}
END_TEST

/* A handler within a handler: what LR is in Secure state is not taken for that of the other one. */
START_TEST(test_nonsecure)
{
    for (unsigned nonsecure = 0; nonsecure < 2; nonsecure++) {
        struct path p;
        struct values_answer a;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_one_stack = true;
        p.w.m_nonsecure = nonsecure;
        for (unsigned i = 0; i < 3; i++) {
            p.next = 0x8000 + 0x100 * i;
            add(&p, 0xbf00, BT_COND_PASS);
        }
        add(&p, 0x2001, BT_COND_PASS); /* movs r0, #1 */
        add(&p, 0x4686, BT_COND_PASS); /* mov lr, r0 */
        for (unsigned i = 0; i < 2; i++)
            p.events[i] = (struct bt_event){.position = i + 1,
                                            .kind = BT_EVENT_EXCEPTION,
                                            .u.exception = {.number = 15 - i,
                                                            .return_address = 0x8002 + 0x100 * i,
                                                            .has_return = true,
                                                            .m_profile = true}};
        p.w.event_count = 2;
        struct values *r = work(&p);
        ck_assert_int_eq(is_known(r, 3, 14, 0xfffffff1), !nonsecure);
        ck_assert_int_eq(values_register(r, 3, 14, &a), !nonsecure);
        values_free(r);
    }
}
END_TEST

/* The first instructions may be of an IT block. */
#define IT_KNOWN 5

static void begin_with_it_state(struct path *p)
{
    begin(p, BT_ISA_T32);
    p->w.m_profile = true;
    for (unsigned i = 0; i < IT_KNOWN; i++)
        add(p, 0xbf00, BT_COND_PASS);
}

static void add_state(struct path *p, uint64_t position, enum bt_security security)
{
    p->events[p->w.event_count++] = (struct bt_event){
        .position = position, .kind = BT_EVENT_STATE, .u.state.security = (uint8_t)security};
}

/* An exception to the other state and back: the frame is on a stack that nobody knows. */
START_TEST(test_two_states)
{
    for (unsigned infer = 0; infer < 2; infer++) {
        struct path p;
        struct values_answer a;
        begin_with_it_state(&p);
        p.w.m_one_stack = true;
        p.w.infer = infer ? VALUES_INFER_ALL : 0;
        uint32_t back = p.next;
        p.events[p.w.event_count++] = (struct bt_event){
            .position = IT_KNOWN,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 15, .return_address = back, .has_return = true, .m_profile = true}};
        add_state(&p, IT_KNOWN, BT_SEC_NONSECURE);
        p.next = 0x8200;
        add(&p, 0xbf00, BT_COND_PASS);
        add(&p, 0x4770, BT_COND_PASS); /* bx lr */
        p.events[p.w.event_count++] =
            (struct bt_event){.position = IT_KNOWN + 2, .kind = BT_EVENT_EXCEPTION_RET};
        add_state(&p, IT_KNOWN + 2, BT_SEC_SECURE);
        p.next = back;
        add(&p, 0xbf00, BT_COND_PASS);
        p.w.final[13] = RAM + 0x20;
        p.w.final[7] = 7;
        struct values *r = work(&p);
        for (size_t at = IT_KNOWN; at < IT_KNOWN + 2; at++) {
            ck_assert(!values_register(r, at, 13, &a)); /* not SP - 0x20 */
            ck_assert(!values_register(r, at, 7, &a));  /* the core took it away */
            ck_assert(!values_register(r, at, 14, &a)); /* not 0xfffffff9 */
        }
        ck_assert_int_eq(is_known(r, IT_KNOWN - 1, 13, RAM + 0x20), infer);
        ck_assert_int_eq(is_known(r, IT_KNOWN - 1, 7, 7), infer);
        values_free(r);
    }
}
END_TEST

/* A Non-secure function gives back what it was called with, but has another SP, and FNC_RETURN. */
START_TEST(test_nonsecure_call)
{
    struct path p;
    struct values_answer a;
    begin_with_it_state(&p);
    p.w.infer = VALUES_INFER_ALL;
    add(&p, 0x47a4, BT_COND_PASS); /* blxns r4 */
    add_state(&p, IT_KNOWN + 1, BT_SEC_NONSECURE);
    uint32_t back = p.next;
    p.next = 0x8200;
    add(&p, 0x4770, BT_COND_PASS); /* bx lr */
    add_state(&p, IT_KNOWN + 2, BT_SEC_SECURE);
    p.next = back;
    add(&p, 0xbf00, BT_COND_PASS);
    p.w.final[13] = RAM;
    p.w.final[5] = 5;
    struct values *r = work(&p);
    ck_assert(is_known(r, IT_KNOWN, 13, RAM) && is_known(r, IT_KNOWN, 5, 5));
    ck_assert(!values_register(r, IT_KNOWN + 1, 13, &a));
    ck_assert(!values_register(r, IT_KNOWN + 1, 14, &a));
    values_free(r);
}
END_TEST

/* In front of it SP and LR are others. */
START_TEST(test_gate)
{
    struct path p;
    struct values_answer a;
    begin_with_it_state(&p);
    add(&p, 0xe97fe97f, BT_COND_PASS); /* sg */
    add(&p, 0xbf00, BT_COND_PASS);
    p.w.final[13] = RAM;
    p.w.final[14] = 0x100;
    p.w.final[5] = 5;
    struct values *r = work(&p);
    ck_assert(is_known(r, IT_KNOWN + 1, 13, RAM) && is_known(r, IT_KNOWN + 1, 14, 0x100));
    ck_assert(is_known(r, IT_KNOWN, 5, 5));
    ck_assert(!values_register(r, IT_KNOWN, 13, &a));
    ck_assert(!values_register(r, IT_KNOWN, 14, &a));
    values_free(r);
}
END_TEST

/* v8.1-M: what older cores have in the place of these is not what they do. */
START_TEST(test_v81m)
{
    static const struct {
        uint32_t opcode;
        uint32_t r0, r3; /* behind it */
    } rows[] = {
        {0xea518012, 2, 8},    /* csel r0, r1, r2, ne */
        {0xea51901f, 1, 8},    /* csinc r0, r1, zr, ne */
        {0xea50132f, 0x10, 0}, /* asrl r0, r3, #4 */
        {0xea530fbf, 7, 32},   /* sqshl r3, #2 */
        {0xe89f0009, 0, 0},    /* clrm {r0, r3} */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct path p;
        struct values_counts counts;
        begin(&p, BT_ISA_T32);
        add(&p, 0x2007, BT_COND_PASS); /* movs r0, #7 */
        add(&p, 0x2101, BT_COND_PASS); /* movs r1, #1 */
        add(&p, 0x2202, BT_COND_PASS); /* movs r2, #2 */
        add(&p, 0x2308, BT_COND_PASS); /* movs r3, #8 */
        add(&p, 0x2404, BT_COND_PASS); /* movs r4, #4 */
        add(&p, rows[i].opcode, BT_COND_PASS);
        add(&p, 0xbf00, BT_COND_PASS); /* nop */
        p.w.m_profile = true;
        p.w.final[0] = rows[i].r0;
        p.w.final[1] = 1;
        p.w.final[2] = 2;
        p.w.final[3] = rows[i].r3;
        p.w.final[4] = 4;
        struct values *r = work(&p);
        values_counts(r, &counts);
        ck_assert_uint_eq(counts.conflicts, 0);
        ck_assert(is_known(r, 6, 0, rows[i].r0));
        ck_assert(is_known(r, 6, 3, rows[i].r3));
        values_free(r);
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("values_m");
    unit_case(s, "values: M-profile exception frame", test_exception_frame);
    unit_case(s, "values: what an exception comes back to has begun", test_begun);
    unit_case(s, "values: M-profile, no room for a frame", test_no_room);
    unit_case(s, "values: M-profile, frames where SP is", test_unaligned);
    unit_case(s, "values: a floating-point instruction that faults", test_begun_floats);
    unit_case(s, "values: M-profile frame with floating-point registers", test_exception_floats);
    unit_case(s, "values: M-profile frame that is filled late", test_floats_pending);
    unit_case(s, "values: M-profile exceptions in a row", test_exception_chained);
    unit_case(s, "values: a service behind an interrupt, in its frame", test_service_chained);
    unit_case(s, "values: M profile, handlers in Non-secure state", test_nonsecure);
    unit_case(s, "values: v8-M, a handler in the other security state", test_two_states);
    unit_case(s, "values: v8-M, BLXNS and FNC_RETURN", test_nonsecure_call);
    unit_case(s, "values: v8-M, SG", test_gate);
    unit_case(s, "values: instructions of v8.1-M", test_v81m);
    return s;
}
