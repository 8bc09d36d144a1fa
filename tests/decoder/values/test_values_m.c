/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/values/values_canceled.c, values_m.c and values_turns.c: exceptions, stacks and
 * security states of the M-profile, by hand. Everything at once: tests/bench/values. */
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

/* A scheduler: PendSV keeps one task's PSP in memory and takes another's from there. */
START_TEST(test_two_stacks)
{
    static const uint32_t handler[] = {
        0xf3ef8009, 0xf2400200, 0xf2c20200, /* mrs r0, psp; movw r2, #0; movt r2, #0x2000 */
        0xe9200ff0, 0x6010,     0x6850,  /* stmdb r0!, {r4-r11}; str r0, [r2]; ldr r0, [r2, #4] */
        0xe8b00ff0, 0xf3808809, 0x4770}; /* ldmia r0!, {r4-r11}; msr psp, r0; bx lr */
    for (unsigned told = 0; told < 2; told++) {
        struct path p;
        uint32_t stacks[2];
        bool process;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = true;
        for (unsigned i = 0; i < 8; i++)
            add(&p, 0xbf00, BT_COND_PASS);
        p.next = 0x8200;
        for (unsigned i = 0; i < sizeof handler / sizeof *handler; i++)
            add(&p, handler[i], BT_COND_PASS);
        p.events[0] = (struct bt_event){
            .position = 8,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 14, .return_address = 0x8010, .has_return = true, .m_profile = true}};
        p.events[1] = (struct bt_event){.position = 17, .kind = BT_EVENT_EXCEPTION_RET};
        p.w.event_count = 2;
        p.next = 0x8010; /* where the first one was, too */
        add(&p, 0xbf00, BT_COND_PASS);
        p.ram[0] = RAM + 0x40;  /* top of the first task */
        p.ram[1] = RAM + 0x80;  /* and of the other one */
        p.ram[31] = 0x01000000; /* their status */
        p.ram[47] = 0x01000000;
        p.w.final[13] = p.w.final_psp = RAM + 0xc0;
        p.w.final_msp = RAM + 0xf0;
        p.w.final_stacks_known = told;
        p.w.final_cpsr = 0x01000000;
        p.w.final_cpsr_known = true;
        struct values *r = work(&p);
        ck_assert_int_eq(is_known(r, 17, 13, RAM + 0xc0), 1);
        ck_assert_int_eq(is_known(r, 16, 13, RAM + 0xf0), told);
        ck_assert_int_eq(is_known(r, 16, 14, 0xfffffffd), told);
        ck_assert_int_eq(is_known(r, 7, 13, RAM + 0x80), told);
        ck_assert_uint_eq(values_stacks(r, 7, stacks, &process), told ? 7 : 0);
        ck_assert(!told || (process && stacks[0] == RAM + 0xf0 && stacks[1] == RAM + 0x80));
        ck_assert_uint_eq(values_stacks(r, 15, stacks, &process), told ? 7 : 6);
        ck_assert(!process && (!told || stacks[0] == RAM + 0xf0) && stacks[1] == RAM + 0x60);
        values_free(r);
    }
}
END_TEST

/* A handler goes on with a task that nobody knows: `to`. */
static void add_switch(struct path *p, uint32_t to)
{
    struct bt_event *e = &p->events[p->w.event_count];
    e[0] = (struct bt_event){
        .position = p->w.count,
        .kind = BT_EVENT_EXCEPTION,
        .u.exception = {
            .number = 14, .return_address = p->next, .has_return = true, .m_profile = true}};
    p->next = 0x8200;
    add(p, 0x6808, BT_COND_PASS);     /* ldr r0, [r1] */
    add(p, 0xf3808809, BT_COND_PASS); /* msr psp, r0 */
    add(p, 0x4770, BT_COND_PASS);     /* bx lr */
    e[1] = (struct bt_event){.position = p->w.count, .kind = BT_EVENT_EXCEPTION_RET};
    p->w.event_count += 2;
    p->next = to;
    add(p, 0xbf00, BT_COND_PASS);
}

static void put_frame(struct path *p, uint32_t offset, uint32_t pc)
{
    p->ram[offset / 4 + 6] = pc;
    p->ram[offset / 4 + 7] = 0x01000000;
}

static const struct values_ram all = {RAM, 0x100};

static struct values *work_switches(struct path *p, const struct values_ram *ram)
{
    p->w.infer = VALUES_INFER_ALL;
    p->w.m_profile = true;
    p->w.ram = ram;
    p->w.ram_count = ram ? 1 : 0;
    p->w.final[13] = p->w.final_psp = RAM + 0xc0;
    p->w.final_msp = RAM + 0xf0;
    p->w.final_stacks_known = p->events[0].u.exception.number != 11;
    p->w.final_cpsr_known = true;
    p->w.final_cpsr = 0x01000000;
    return work(p);
}

/* A task that was interrupted at 0x8010 waits where its frame is, if that is the only one. */
START_TEST(test_task_waits)
{
    static const struct values_ram part = {RAM, 0x400};
    static const struct {
        const struct values_ram *ram;
        uint32_t other; /* where the PC of a second frame leads to */
        bool known;
    } rows[] = {{&all, 0, true},
                {NULL, 0, false},
                {&part, 0, false},
                {&all, 0x8010, false},
                {&all, 0x8012, true}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct path p;
        begin(&p, BT_ISA_T32);
        for (unsigned k = 0; k < 8; k++)
            add(&p, 0xbf00, BT_COND_PASS);
        add_switch(&p, 0x8100);
        put_frame(&p, 0x40, 0x8010);
        put_frame(&p, 0x70, rows[i].other);
        struct values *r = work_switches(&p, rows[i].ram);
        ck_assert_int_eq(is_known(r, 7, 13, RAM + 0x60), rows[i].known);
        values_free(r);
    }
}
END_TEST

/* The same, entered with exception `number` behind 0x8010; the handler is at 0x8200. */
static void begin_served(struct path *p, uint16_t number)
{
    begin(p, BT_ISA_T32);
    for (unsigned k = 0; k < 8; k++)
        add(p, 0xbf00, BT_COND_PASS);
    p->events[0] = (struct bt_event){
        .position = p->w.count,
        .kind = BT_EVENT_EXCEPTION,
        .u.exception = {
            .number = number, .return_address = p->next, .has_return = true, .m_profile = true}};
    p->w.event_count = 1;
    p->next = 0x8200;
    put_frame(p, 0x80, 0x8010);
    p->ram[37] = 0x8123; /* LR */
    p->w.infer = VALUES_INFER_ALL;
    p->w.m_profile = true;
    p->w.ram = &all;
    p->w.ram_count = 1;
    p->w.final[13] = p->w.final_msp = RAM + 0xc0;
    p->w.final[14] = 0xfffffffd;
    p->w.final_psp = RAM + 0x80;
    p->w.final_cpsr = 0x01000000 | number;
    p->w.final_stacks_known = p->w.final_cpsr_known = true;
}

/* Its frame at the halt: a service may have written there what it did not find. */
START_TEST(test_task_served)
{
    for (uint16_t number = 11; number < 15; number += 3) {
        struct path p;
        struct values_answer a;
        begin_served(&p, number);
        add(&p, 0x6019, BT_COND_PASS); /* str r1, [r3] */
        add(&p, 0x2300, BT_COND_PASS); /* movs r3, #0 */
        struct values *r = work(&p);
        ck_assert(is_known(r, 7, 13, RAM + 0xa0));
        ck_assert_int_eq(values_register(r, 7, 14, &a), number == 14);
        values_free(r);
    }
}
END_TEST

/* A service that has stored the return address there may have made the frame. */
START_TEST(test_task_moved)
{
    for (unsigned word = 5; word < 7; word++) {
        struct path p;
        struct values_answer a;
        begin_served(&p, 11);
        add(&p, 0xf2400380, BT_COND_PASS);         /* movw r3, #0x80 */
        add(&p, 0xf2c20300, BT_COND_PASS);         /* movt r3, #0x2000 */
        add(&p, 0x6019 | word << 6, BT_COND_PASS); /* str r1, [r3, #4 * word] */
        add(&p, 0xf3838809, BT_COND_PASS);         /* msr psp, r3 */
        add(&p, 0x2300, BT_COND_PASS);             /* movs r3, #0 */
        p.w.final[1] = p.ram[0x20 + word];
        struct values *r = work(&p);
        ck_assert_int_eq(values_register(r, 7, 13, &a), word == 5);
        values_free(r);
    }
}
END_TEST

/* Code that gives its own stack pointer another number: what it had saved may lie where it pushes
 * next, though it is popped in the end. */
START_TEST(test_moves_own_stack)
{
    for (unsigned moves = 0; moves < 2; moves++) {
        struct path p;
        struct values_answer a;
        begin(&p, BT_ISA_T32);
        add(&p, 0x2405, BT_COND_PASS);                          /* movs r4, #5 */
        add(&p, 0xb410, BT_COND_PASS);                          /* push {r4} */
        add(&p, 0x466f, BT_COND_PASS);                          /* mov r7, sp */
        add(&p, moves ? 0xf38c8809 : 0xf3bf8f6f, BT_COND_PASS); /* msr psp, r12; isb */
        add(&p, 0xb420, BT_COND_PASS);                          /* push {r5} */
        add(&p, 0xbf00, BT_COND_PASS);
        add(&p, 0x46bd, BT_COND_PASS); /* mov sp, r7 */
        add(&p, 0xbc10, BT_COND_PASS); /* pop {r4} */
        add(&p, 0x2401, BT_COND_PASS); /* movs r4, #1 */
        add(&p, 0x603a, BT_COND_PASS); /* str r2, [r7] */
        p.w.infer = VALUES_INFER_ALL;
        p.w.m_profile = true;
        p.w.final[4] = 1;
        p.w.final[7] = RAM + 0x3c;
        p.w.final[13] = RAM + 0x40;
        struct values *r = work(&p);
        ck_assert(is_known(r, 2, 13, RAM + 0x3c));
        ck_assert_int_eq(values_word(r, 5, RAM + 0x3c, &a), !moves);
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

/* It goes on later, and no frame waits: what its own pop has left does not count. */
START_TEST(test_task_goes_on)
{
    for (unsigned waits = 0; waits < 3; waits++) {
        struct path p;
        begin(&p, BT_ISA_T32);
        for (unsigned k = 0; k < 8; k++)
            add(&p, 0xbf00, BT_COND_PASS);
        add_switch(&p, 0x8100);
        add_switch(&p, 0x8010);
        if (waits == 2) /* a service may give its caller another stack */
            p.events[0].u.exception.number = 11;
        put_frame(&p, 0xa0, 0x8010);
        put_frame(&p, 0x40, waits == 1 ? 0x8010 : 0x8102);
        struct values *r = work_switches(&p, &all);
        ck_assert_int_eq(is_known(r, 7, 13, RAM + 0xc0), !waits);
        ck_assert_int_eq(is_known(r, 11, 13, RAM + 0x60), waits != 1);
        values_free(r);
    }
}
END_TEST

/* Registers that the handler has stored below the frame of the task that waits are still there, but
 * not what it has left on a stack of its own. */
START_TEST(test_task_kept)
{
    for (unsigned process = 0; process < 2; process++) {
        struct path p;
        struct values_answer a;
        begin(&p, BT_ISA_T32);
        for (unsigned k = 0; k < 8; k++)
            add(&p, 0xbf00, BT_COND_PASS);
        p.events[0] = (struct bt_event){
            .position = 8,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 15, .return_address = p.next, .has_return = true, .m_profile = true}};
        p.w.event_count = 1;
        p.next = 0x8200;
        if (process) {
            add(&p, 0xf3ef8009, BT_COND_PASS); /* mrs r0, psp */
            add(&p, 0xf8407c04, BT_COND_PASS); /* str r7, [r0, #-4] */
        } else {
            add(&p, 0xb480, BT_COND_PASS); /* push {r7} */
        }
        add(&p, 0x2705, BT_COND_PASS); /* movs r7, #5 */
        if (!process) {
            add(&p, 0xb001, BT_COND_PASS); /* add sp, #4 */
            add(&p, 0xb480, BT_COND_PASS);
        }
        put_frame(&p, 0x40, 0x8010);
        p.ram[15] = process ? 7 : 5;
        p.w.infer = VALUES_INFER_ALL;
        p.w.m_profile = true;
        p.w.ram = &all;
        p.w.ram_count = 1;
        p.w.final[14] = process ? 0xfffffffd : 0xfffffff9;
        p.w.final[13] = p.w.final_msp = process ? RAM + 0xf0 : RAM + 0x3c;
        p.w.final[0] = p.w.final_psp = RAM + (process ? 0x40 : 0xc0);
        p.w.final_stacks_known = p.w.final_cpsr_known = true;
        p.w.final_cpsr = 0x0100000f;
        struct values *r = work(&p);
        ck_assert(is_known(r, 7, 13, RAM + 0x60));
        ck_assert_int_eq(values_register(r, 7, 7, &a), process);
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
    unit_case(s, "values: M-profile, two stacks", test_two_stacks);
    unit_case(s, "values: M-profile, a task that waits", test_task_waits);
    unit_case(s, "values: M-profile, what a handler has stored of a task", test_task_kept);
    unit_case(s, "values: M-profile, a task whose service runs", test_task_served);
    unit_case(s, "values: M-profile, a service makes a frame", test_task_moved);
    unit_case(s, "values: M-profile, code that moves its own stack", test_moves_own_stack);
    unit_case(s, "values: a floating-point instruction that faults", test_begun_floats);
    unit_case(s, "values: M-profile, a task that goes on", test_task_goes_on);
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
