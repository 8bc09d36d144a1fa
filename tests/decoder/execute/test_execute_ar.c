/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/execute/execute_ar.c, execute_interrupted.c, execute.c, execute_alu.c: modes,
 * statuses of which not all is known, A32 conditions. */
#include "decoder/execute/execute.h"
#include "tests/support/unit_main.h"

#define RAM    0x60000000u
#define STACK  0x60001000u
#define FLAGS  0xf0000000u
#define SYSTEM 0x1fu
#define IRQ    0x12u

struct bench {
    struct execute x;
    struct execute_budget budget;
};

static enum execute_memory_kind all_ram(void *context, uint64_t address, uint64_t *from,
                                        uint64_t *to, const uint8_t **bytes)
{
    (void)context;
    *bytes = NULL;
    *from = address < RAM ? 0 : RAM;
    *to = address < RAM ? RAM : UINT64_C(1) << 32;
    return address < RAM ? EXECUTE_MEMORY_OTHER : EXECUTE_MEMORY_RAM;
}

/* In System mode, of the flags all or none known; stacks of the modes 0x100 apart. */
static struct execute_regs *begin(struct bench *b, bool flags)
{
    *b = (struct bench){.x = {.core = {.profile = EXECUTE_PROFILE_AR}},
                        .budget = {.limit = 1 << 20}};
    struct execute_regs *r = &b->x.regs;
    execute_memory_init(&b->x.memory, &b->budget, all_ram, NULL);
    r->known = UINT64_MAX;
    r->psr_known = flags ? UINT32_MAX : ~FLAGS;
    r->psr = SYSTEM;
    for (unsigned i = 0; i < 15; i++)
        r->value[i] = 0x100 + i;
    r->value[EXECUTE_SP] = STACK;
    for (unsigned bank = 1; bank <= EXECUTE_BANK_MONITOR; bank++)
        r->value[execute_bank_reg(bank)] = STACK + 0x100 * bank;
    return r;
}

static void end(struct bench *b)
{
    execute_memory_release(&b->x.memory);
    ck_assert_uint_eq(b->budget.used, 0);
}

static void step_to(struct bench *b, uint32_t opcode, uint32_t next)
{
    bool branch = opcode >> 24 == 0x1a;
    enum bt_cond cond = !branch ? BT_COND_UNKNOWN : next == 0x104 ? BT_COND_FAIL : BT_COND_PASS;
    ck_assert_int_eq(execute_step(&b->x, &(struct execute_insn){.address = 0x100,
                                                                .opcode = opcode,
                                                                .isa = BT_ISA_A32,
                                                                .size = 4,
                                                                .cond = (uint8_t)cond,
                                                                .next = next,
                                                                .has_next = true}),
                     BT_OK);
}

static void step(struct bench *b, uint32_t opcode)
{
    step_to(b, opcode, 0x104);
}

static void interrupt(struct bench *b)
{
    const struct bt_event event = {
        .kind = BT_EVENT_EXCEPTION,
        .u.exception = {
            .number = 14, .has_return = true, .return_address = 0x8000, .return_isa = BT_ISA_T32}};
    ck_assert_int_eq(execute_exception(&b->x, &event, 0x18), BT_OK);
}

/* A service: registers, SP and status come back. */
START_TEST(test_load_return)
{
    struct bench b;
    struct execute_regs *r = begin(&b, _i);
    interrupt(&b);
    ck_assert_uint_eq(r->value[EXECUTE_SP], STACK + 0x200);
    step(&b, 0xe24ee004);            /* sub lr, lr, #4 */
    step(&b, 0xe92d500f);            /* push {r0-r3, r12, lr} */
    step(&b, 0xe3a00007);            /* mov r0, #7 */
    step(&b, 0xe58d0004);            /* str r0, [sp, #4] */
    step(&b, 0xe3a0c000);            /* mov r12, #0 */
    step_to(&b, 0xe8fd900f, 0x8000); /* ldm sp!, {r0-r3, r12, pc}^ */
    ck_assert_uint_eq(r->known & 0x7fff, 0x7fff);
    ck_assert_uint_eq(r->value[0], 0x100);
    ck_assert_uint_eq(r->value[1], 7);
    ck_assert_uint_eq(r->value[12], 0x10c);
    ck_assert_uint_eq(r->value[EXECUTE_SP], STACK);
    ck_assert_uint_eq(r->value[execute_bank_reg(EXECUTE_BANK_IRQ)], STACK + 0x200);
    ck_assert_uint_eq(r->psr & r->psr_known, SYSTEM | 0x20);
    ck_assert_uint_eq(r->psr_known & FLAGS, _i ? FLAGS : 0);
    end(&b);
}
END_TEST

/* Flags that nobody knows cost nothing else of a status that is put away and given back. */
START_TEST(test_partial)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    interrupt(&b);
    if (_i == 0) {
        step(&b, 0xe14f1000); /* mrs r1, spsr */
        ck_assert(!(r->known & 2));
        step(&b, 0xe92d0006); /* push {r1, r2} */
        step(&b, 0xe3110020); /* tst r1, #0x20 */
        ck_assert_uint_eq(r->psr & r->psr_known & 0xc0000000u, 0);
        ck_assert_uint_eq(r->psr_known & 0xc0000000u, 0xc0000000u);
        step(&b, 0xe3a01000);            /* mov r1, #0 */
        step(&b, 0xe16ff001);            /* msr spsr_fsxc, r1 */
        step(&b, 0xe8bd0018);            /* pop {r3, r4} */
        step(&b, 0xe1a05003);            /* mov r5, r3 */
        step(&b, 0xe16ff005);            /* msr spsr_fsxc, r5 */
        step(&b, 0xe24ee004);            /* sub lr, lr, #4 */
        step_to(&b, 0xe1b0f00e, 0x8000); /* movs pc, lr */
    } else {
        step(&b, 0xe24ee004);            /* sub lr, lr, #4 */
        step(&b, 0xf96d051f);            /* srsdb sp!, #0x1f */
        step(&b, 0xf102001f);            /* cps #0x1f */
        step_to(&b, 0xf8bd0a00, 0x8000); /* rfeia sp! */
    }
    ck_assert_uint_eq(r->psr & r->psr_known, SYSTEM | 0x20);
    ck_assert_uint_eq(r->psr_known, ~FLAGS);
    ck_assert_uint_eq(r->value[EXECUTE_SP], STACK);
    ck_assert(r->known >> EXECUTE_SP & 1);
    end(&b);
}
END_TEST

/* mrs, bic, orr, msr: into another mode. What is written over is another number. */
START_TEST(test_partial_constants)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    step(&b, 0xe10f1000); /* mrs r1, cpsr */
    step(&b, 0xe3c1101f); /* bic r1, r1, #0x1f */
    step(&b, 0xe3811012); /* orr r1, r1, #0x12 */
    if (_i == 1)
        step(&b, 0xe0811002); /* add r1, r1, r2 */
    if (_i == 2)
        step(&b, 0xe5911000); /* ldr r1, [r1] */
    if (_i == 3)
        step(&b, 0xee111f50); /* mrc p15, 0, r1, c1, c0, 2 */
    step(&b, 0xe121f001);     /* msr cpsr_c, r1 */
    ck_assert_int_eq((r->psr_known & 0x1f) == 0x1f, !_i);
    if (!_i) {
        ck_assert_uint_eq(r->psr & 0x1f, IRQ);
        ck_assert_uint_eq(r->value[EXECUTE_SP], STACK + 0x200);
    }
    ck_assert_uint_eq(r->known >> EXECUTE_SP & 1, !_i);
    end(&b);
}
END_TEST

/* Asynchronous aborts are masked for certain in Secure state. */
START_TEST(test_masks)
{
    struct bench b;
    struct execute_regs *r = begin(&b, true);
    r->value[EXECUTE_SCR] = _i == 1;
    r->known &= _i == 2 ? ~(UINT64_C(1) << EXECUTE_SCR) : UINT64_MAX;
    interrupt(&b);
    ck_assert_int_eq(r->psr_known >> 8 & 1, !_i);
    ck_assert(_i || r->psr & 0x100);
    end(&b);
}
END_TEST

/* A condition that nobody knows holds or not for all instructions up to one that sets the flags. */
START_TEST(test_ways)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    r->known &= ~UINT64_C(0x17); /* r0, r1, r2, r4 */
    step(&b, 0x03a00014);        /* moveq r0, #20 */
    step(&b, 0xe2833004);        /* add r3, r3, #4 */
    step(&b, 0xe58d3000);        /* str r3, [sp] */
    step(&b, 0x10801003);        /* addne r1, r0, r3 */
    step(&b, 0xe59d4000);        /* ldr r4, [sp] */
    step(&b, 0x13a00010);        /* movne r0, #16 */
    step(&b, 0xe0802004);        /* add r2, r0, r4 */
    ck_assert(r->bounded & 1 && r->value[0] == 16 && r->range[0] == 4);
    ck_assert(r->bounded & 4 && r->value[2] == 16 + 0x107 && r->range[2] == 4);
    ck_assert(!((r->known | r->bounded) & 2));
    ck_assert(r->known & 0x10 && r->value[4] == 0x107);
    step(&b, 0xe3520000); /* cmp r2, #0 */
    step(&b, 0x03a00001); /* moveq r0, #1: r2 is not */
    ck_assert(r->bounded & 1 && r->value[0] == 16 && r->range[0] == 4);
    step(&b, 0xe3520f46); /* cmp r2, #0x118 */
    step(&b, 0x03a00001); /* moveq r0, #1 */
    ck_assert(r->bounded & 1 && r->value[0] == 1 && r->range[0] == 19);
    step(&b, 0x23a00005); /* movcs r0, #5: another condition */
    ck_assert(r->bounded & 1 && r->value[0] == 1 && r->range[0] == 19);
    end(&b);
}
END_TEST

/* A handler's conditions are not those of what it interrupts. */
START_TEST(test_ways_interrupted)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    r->known &= ~UINT64_C(1);
    step(&b, 0x03a00014); /* moveq r0, #20 */
    if (_i)
        interrupt(&b);
    step(&b, 0x13a00010); /* movne r0, #16 */
    ck_assert_int_eq(r->bounded & 1, !_i);
    ck_assert(!(r->known & 1));
    end(&b);
}
END_TEST

/* SETEND, which handlers do not inherit and interrupted code gets back: theirs is SCTLR.EE. */
START_TEST(test_order)
{
    struct bench b;
    struct execute_regs *r = begin(&b, true);
    uint32_t bytes = 0x44332211;
    bool big = _i == 1 || _i == 2;
    execute_memory_write(&b.x.memory, STACK, &bytes, 4);
    r->value[1] = STACK;
    if (_i == 2)
        r->psr |= 0x200; /* before the halt */
    r->known |= UINT64_C(1) << EXECUTE_SCTLR;
    r->value[EXECUTE_SCTLR] = _i == 3 ? 0x02c50078 : 0x00c50078;
    step(&b, _i == 1 ? 0xf1010200 : 0xe1a00000); /* setend be */
    step(&b, 0xe5910000);                        /* ldr r0, [r1] */
    ck_assert_uint_eq(r->value[0], big ? 0x11223344 : 0x44332211);
    interrupt(&b);
    step(&b, 0xe5912000); /* ldr r2, [r1] */
    ck_assert_uint_eq(r->value[2], _i == 3 ? 0x11223344 : 0x44332211);
    step_to(&b, 0xe25ef004, 0x8000); /* subs pc, lr, #4 */
    step(&b, 0xe1d130b0);            /* ldrh r3, [r1] */
    ck_assert_uint_eq(r->value[3], big ? 0x1122 : 0x2211);
    ck_assert_uint_eq(r->known & 0xf, 0xf);
    interrupt(&b);
    r->known &= ~(UINT64_C(1) << (execute_bank_reg(EXECUTE_BANK_IRQ) + 2));
    step_to(&b, 0xe25ef004, 0x8000);
    r->value[1] = STACK;
    r->known |= 2;
    step(&b, 0xe5910000); /* ldr r0, [r1] */
    ck_assert_uint_eq(r->known & 1, !_i);
    end(&b);
}
END_TEST

/* What is known of a word that is not is of the order in which it was stored or loaded. */
START_TEST(test_order_of_ranges)
{
    struct bench b;
    struct execute_regs *r = begin(&b, true);
    uint32_t word;
    r->known &= ~UINT64_C(1);
    r->value[1] = STACK;
    step(&b, 0xe2000007); /* and r0, r0, #7 */
    step(&b, 0xf1010200); /* setend be */
    step(&b, 0xe5810000); /* str r0, [r1] */
    step(&b, 0xe5913004); /* ldr r3, [r1, #4] */
    step(&b, 0xf1010000); /* setend le */
    step(&b, 0xe5912000); /* ldr r2, [r1] */
    ck_assert(!((r->known | r->bounded) & 4));
    step(&b, 0xe3530005); /* cmp r3, #5 */
    step_to(&b, 0x1a000010, 0x104);
    ck_assert(r->known & 8 && r->value[3] == 5);
    ck_assert(!execute_memory_read(&b.x.memory, STACK + 4, &word, 4) || word == 0x05000000);
    end(&b);
}
END_TEST

/* Bits that are not there read as 0, whatever is written. */
START_TEST(test_reserved)
{
    struct bench b;
    struct execute_regs *r = begin(&b, true);
    r->value[1] = 0x00f00000;
    step(&b, 0xe124f001); /* msr cpsr_s, r1 */
    step(&b, 0xe10f0000); /* mrs r0, cpsr */
    ck_assert(!(r->known & 1 && r->value[0] & 0x00f00000));
    r->value[1] = 0x000f0000;
    step(&b, 0xe124f001);
    step(&b, 0xe10f0000);
    ck_assert(r->known & 1 && r->value[0] == (SYSTEM | 0x000f0000));
    end(&b);
}
END_TEST

/* Handlers that put away what they interrupt and give it back: in SPSR alone, with SRS and RFE, by
 * way of a register; the last one changes the flags. */
START_TEST(test_ways_given_back)
{
    static const uint32_t handlers[4][9] = {
        {0xe3a01000},                         /* mov r1, #0 */
        {0xe24ee004, 0xf96d051f, 0xf102001f,  /* sub lr, lr, #4; srsdb sp!, #31; cps #31 */
         0xe92d000f, 0xe3a00001, 0xe8bd000f}, /* push {r0-r3}; mov r0, #1; pop {r0-r3} */
        {0xe24ee004, 0xe52de004, 0xe14fe000,  /* sub lr, lr, #4; push {lr}; mrs lr, SPSR */
         0xe52de004, 0xe3a0e000, 0xe3500000,  /* push {lr}; mov lr, #0; cmp r0, #0 */
         0xe49de004, 0xe16ff00e},             /* pop {lr}; msr SPSR_fsxc, lr */
        {0xe168f001},                         /* msr SPSR_f, r1 */
    };
    static const uint32_t returns[4] = {0xe25ef004, 0xf8bd0a00, 0xe8fd8000, 0xe25ef004};
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    r->known &= ~UINT64_C(3);
    step(&b, 0x03a00014); /* moveq r0, #20 */
    interrupt(&b);
    for (unsigned i = 0; i < 9 && handlers[_i][i]; i++)
        step(&b, handlers[_i][i]);
    step_to(&b, returns[_i], 0x8000); /* subs pc, lr, #4; rfeia sp!; ldm sp!, {pc}^ */
    ck_assert_uint_eq(r->psr & SYSTEM, SYSTEM);
    step(&b, 0x13a00010); /* movne r0, #16 */
    ck_assert_int_eq(r->bounded & 1, _i != 3);
    ck_assert(_i == 3 || (r->value[0] == 16 && r->range[0] == 4));
    end(&b);
}
END_TEST

/* What begins as x / 5 has a remainder behind handlers that give back all that they take, one of
 * them interrupted itself, many times; not behind those that change a register where it is put
 * away, or return to another status. */
START_TEST(test_division_interrupted)
{
    static const uint32_t handlers[8][13] = {
        {0xe92d500f, 0xe3a00001, 0xe3a03002},                        /* push {r0-r3, r12, lr} */
        {0xf96d0513, 0xf1020013, 0xe92d100f, 0xe3a00001, 0xe3a03002, /* srsdb sp!, #19; cps #19 */
         0xe8bd100f},                                                /* push, pop {r0-r3, r12} */
        {0xe52de004, 0xe14fe000, 0xe52de004, 0xf1020013, 0xe92d101f, /* LR, SPSR; cps #19 */
         0xe3a00001, 0xe3a03002, 0xe8bd101f, 0xf1020012, 0xe49de004, /* cps #18; pop {lr} */
         0xe16ff00e, 0xe49de004},                                    /* msr SPSR_fsxc, lr */
        {0xe94d7fff, 0xe24dd03c, 0xe14f0000, 0xe52d0004, 0xe3a03002, /* stmdb sp, {r0-r14}^ */
         0xe49d0004, 0xe16ff000, 0xe8dd7fff, 0xe28dd03c},            /* ldm sp, {r0-r14}^ */
        {0xf96d0513, 0xf1020013, 0xe92d100f, 0xe3a03002, 1, 0xe8bd100f}, /* interrupted */
        {0xe92d500f, 0xe59d300c, 0xe58d300c},                            /* str r3, [sp, #12] */
        {0xe92d500f, 0xe58d100c},                                        /* str r1, [sp, #12] */
        {0xe92d500f, 0xe168f00c},                                        /* msr SPSR_f, r12 */
    };
    static const uint32_t back[8] = {0xe8fd900f, 0xf8bd0a00, 0xe1b0f00e, 0xe1b0f00e,
                                     0xf8bd0a00, 0xe8fd900f, 0xe8fd900f, 0xe8fd900f};
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    r->known &= ~(UINT64_C(1) | 1u << EXECUTE_LR);
    r->value[1] = 0xcccccccd;
    step(&b, 0xe20ee01f); /* and lr, lr, #31 */
    step(&b, 0xe0832091); /* umull r2, r3, r1, r0 */
    interrupt(&b);
    step(&b, 0xe24ee004); /* sub lr, lr, #4 */
    for (unsigned i = 0; i < 13 && handlers[_i][i]; i++) {
        if (handlers[_i][i] != 1) {
            step(&b, handlers[_i][i]);
            continue;
        }
        for (unsigned k = 0; k < 70; k++) {
            step(&b, 0xe24dd018); /* sub sp, sp, #24 */
            step(&b, 0xe3500001); /* cmp r0, #1 */
            interrupt(&b);
            step(&b, 0xe24ee004);
            step(&b, 0xf96d0513);
            step(&b, 0xf1020013);
            step(&b, 0xe92d000f);
            step(&b, 0xe8bd000f);
            step_to(&b, 0xf8bd0a00, 0x8000);
        }
        step(&b, 0xe28dde69); /* add sp, sp, #1680 */
    }
    step_to(&b, back[_i], 0x8000);
    ck_assert(r->bounded >> EXECUTE_LR & 1 && !r->value[EXECUTE_LR]);
    ck_assert_uint_eq(r->range[EXECUTE_LR], 31);
    step(&b, 0xe1a03123); /* lsr r3, r3, #2 */
    step(&b, 0xe0833103); /* add r3, r3, r3, lsl #2 */
    step(&b, 0xe0400003); /* sub r0, r0, r3 */
    ck_assert_int_eq(r->bounded & 1 && r->range[0] == 4 && !r->value[0], _i < 6);
    end(&b);
}
END_TEST

/* What is divided is one of two numbers, neither of which is known: both have a remainder. */
START_TEST(test_ways_divided)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    r->known &= ~UINT64_C(0x20);
    r->value[1] = 0xcccccccd;
    step(&b, 0x03a04014); /* moveq r4, #20 */
    step(&b, 0xe0840005); /* add r0, r4, r5 */
    step(&b, 0xe0832091); /* umull r2, r3, r1, r0 */
    step(&b, 0xe1a03123); /* lsr r3, r3, #2 */
    step(&b, 0xe0833103); /* add r3, r3, r3, lsl #2 */
    step(&b, 0xe0400003); /* sub r0, r0, r3 */
    ck_assert(r->bounded & 1 && r->range[0] == 4 && !r->value[0]);
    end(&b);
}
END_TEST

/* A word that is stored to where a condition that nobody knows holds: it keeps within both, also
 * where the register was stored and compared before. */
START_TEST(test_perhaps_stored)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    r->known &= ~UINT64_C(4);
    r->value[1] = RAM + 0x100;
    step(&b, 0xe202201f); /* and r2, r2, #31 */
    step(&b, 0xe352000a); /* cmp r2, #10 */
    step(&b, 0xe5812000); /* str r2, [r1] */
    step(&b, 0xa242200a); /* subge r2, r2, #10 */
    step(&b, 0xa5812000); /* strge r2, [r1] */
    step(&b, 0xe5913000); /* ldr r3, [r1] */
    ck_assert(r->bounded & 8 && r->value[3] == 0 && r->range[3] == 21);
    step(&b, 0xe3550000); /* cmp r5, #0 */
    step(&b, 0xe5912000); /* ldr r2, [r1]: one of two, which is stored again */
    step(&b, 0xe2822001); /* add r2, r2, #1 */
    step(&b, 0xe352000c); /* cmp r2, #12 */
    step(&b, 0xe5812000); /* str r2, [r1] */
    step(&b, 0xa242200c); /* subge r2, r2, #12 */
    step(&b, 0xa5812000); /* strge r2, [r1] */
    step(&b, 0xe5913000); /* ldr r3, [r1] */
    ck_assert(r->bounded & 8 && r->value[3] == 0 && r->range[3] == 11);
    step(&b, 0xe5c1c004); /* strb r12, [r1, #4] */
    step(&b, 0xa5c13004); /* strbge r3, [r1, #4] */
    step(&b, 0xe5d14004); /* ldrb r4, [r1, #4] */
    ck_assert(r->bounded & 16 && r->value[4] == 0 && r->range[4] == 12);
    end(&b);
}
END_TEST

/* The upper word of a signed product. */
START_TEST(test_signed_upper)
{
    struct bench b;
    struct execute_regs *r = begin(&b, true);
    r->known &= ~UINT64_C(4);
    r->value[1] = 0x4ec4ec4f; /* 2^36 / 52 */
    step(&b, 0xe2022ffe);     /* and r2, r2, #0x3f8 */
    step(&b, 0xe2422064);     /* sub r2, r2, #100 */
    step(&b, 0xe0c43291);     /* smull r3, r4, r1, r2 */
    step(&b, 0xe1a04244);     /* asr r4, r4, #4 */
    ck_assert(r->bounded & 16 && r->value[4] == (uint32_t)-2 && r->range[4] == 19);
    end(&b);
}
END_TEST

/* A handler's own choice, of which no register tells any more, does not keep away that of what it
 * interrupts. */
START_TEST(test_own_ways)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    r->known &= ~UINT64_C(9);
    step(&b, 0xe3530000); /* cmp r3, #0 */
    step(&b, 0x03a01014); /* moveq r1, #20 */
    interrupt(&b);
    step(&b, 0xe24ee004);            /* sub lr, lr, #4 */
    step(&b, 0xf96d0513);            /* srsdb sp!, #19 */
    step(&b, 0xf1020013);            /* cps #19 */
    step(&b, 0xe92d000f);            /* push {r0-r3} */
    step(&b, 0xe3500003);            /* cmp r0, #3 */
    step(&b, 0x03a02005);            /* moveq r2, #5 */
    step(&b, 0xe3a02000);            /* mov r2, #0 */
    step(&b, 0xe8bd000f);            /* pop {r0-r3} */
    step_to(&b, 0xf8bd0a00, 0x8000); /* rfeia sp! */
    step(&b, 0x13a01010);            /* movne r1, #16 */
    ck_assert(r->bounded & 2 && r->value[1] == 16 && r->range[1] == 4);
    end(&b);
}
END_TEST

/* The path shows whether it has stored; before that memory is one of two. */
START_TEST(test_exclusive)
{
    struct bench b;
    struct execute_regs *r = begin(&b, true);
    uint32_t word = 0x100, number;
    r->value[3] = RAM + 0x40;
    ck_assert_int_eq(execute_memory_write(&b.x.memory, RAM + 0x40, &word, 4), BT_OK);
    step(&b, 0xe1832f91); /* strex r2, r1, [r3] */
    ck_assert(!(r->known & 4) && r->bounded & 4 && r->value[2] == 0 && r->range[2] == 1);
    ck_assert(!execute_memory_read(&b.x.memory, RAM + 0x40, &word, 4));
    ck_assert_uint_eq(execute_memory_range(&b.x.memory, RAM + 0x40, 4, &number), 1);
    ck_assert_uint_eq(number, 0x100);
    step(&b, 0xe3520000); /* cmp r2, #0 */
    if (_i == 2)
        step(&b, 0xe58d1000); /* str r1, [sp]: not where one waits for the result */
    step_to(&b, 0x1a000000, _i == 1 ? 0x108 : 0x104); /* bne */
    ck_assert(r->known & 4 && r->value[2] == (_i == 1));
    ck_assert_int_eq(execute_memory_read(&b.x.memory, RAM + 0x40, &word, 4), _i != 2);
    ck_assert(_i == 2 || word == (_i ? 0x100 : 0x101));
    end(&b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_ar");
    unit_cases(s, "execute: LDM that returns from an exception", test_load_return, 0, 2);
    unit_cases(s, "execute: a saved status whose flags are not known", test_partial, 0, 2);
    unit_cases(s, "execute: a status with constants", test_partial_constants, 0, 4);
    unit_cases(s, "execute: masks by security state", test_masks, 0, 3);
    unit_cases(s, "execute: store-exclusive and what the path shows", test_exclusive, 0, 3);
    unit_case(s, "execute: both ways of A32 conditions", test_ways);
    unit_cases(s, "execute: the order of data", test_order, 0, 4);
    unit_case(s, "execute: ranges, and another order of data", test_order_of_ranges);
    unit_case(s, "execute: reserved bits of the status", test_reserved);
    unit_cases(s, "execute: a handler between A32 conditions", test_ways_interrupted, 0, 2);
    unit_cases(s, "execute: a division that is interrupted", test_division_interrupted, 0, 8);
    unit_case(s, "execute: one of two numbers is divided", test_ways_divided);
    unit_case(s, "execute: a word that is stored to, perhaps", test_perhaps_stored);
    unit_case(s, "execute: the upper word of a signed product", test_signed_upper);
    unit_case(s, "execute: a handler that chooses between two ways itself", test_own_ways);
    unit_cases(s, "execute: handlers that give A32 conditions back", test_ways_given_back, 0, 4);
    return s;
}
