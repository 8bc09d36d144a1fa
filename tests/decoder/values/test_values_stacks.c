/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/values/values_m.c and values_turns.c: the two stacks of the M-profile, and the
 * tasks that wait on theirs, by hand. */
#include "tests/decoder/values/values_path.h"

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

/* A return may go to the other stack: it takes what is there, and writes nothing. */
START_TEST(test_return_writes_nothing)
{
    struct path p;
    begin(&p, BT_ISA_T32);
    p.w.m_profile = true;
    add(&p, 0x4770, BT_COND_PASS); /* bx lr */
    p.events[0] = (struct bt_event){.position = 1, .kind = BT_EVENT_EXCEPTION_RET};
    p.w.event_count = 1;
    p.next = 0x8200;
    add(&p, 0xbf00, BT_COND_PASS);
    p.w.final[13] = RAM + 0x40;
    struct values *r = work(&p);
    struct values_touch t;
    ck_assert_uint_gt(values_touches(r), 0);
    for (size_t i = 0; i < values_touches(r); i++)
        ck_assert(!values_touch(r, i, &t) || !t.store);
    values_free(r);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("values_stacks");
    unit_case(s, "values: M-profile, two stacks", test_two_stacks);
    unit_case(s, "values: M-profile, a task that waits", test_task_waits);
    unit_case(s, "values: M-profile, what a handler has stored of a task", test_task_kept);
    unit_case(s, "values: M-profile, a task whose service runs", test_task_served);
    unit_case(s, "values: M-profile, a service makes a frame", test_task_moved);
    unit_case(s, "values: M-profile, code that moves its own stack", test_moves_own_stack);
    unit_case(s, "values: M-profile, a task that goes on", test_task_goes_on);
    unit_case(s, "values: M-profile, a return writes nothing", test_return_writes_nothing);
    return s;
}
