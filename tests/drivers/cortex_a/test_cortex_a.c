/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/cortex_a/cortex_a.c, cortex_a_registers.c, cortex_a_memory.c and
 * cortex_a_breakpoints.c. */
/* Run control of an ARMv7-A core: what goes to the debug registers, and what comes of it. */
#include "drivers/cortex_a/cortex_a.h"

#include "tests/drivers/cortex_a/test_cortex_a_core.h"
#include "tests/support/unit_main.h"

#define CODE (CORE_MEMORY + 0x100)
#define DATA (CORE_MEMORY + 0x1000)

struct bench {
    struct model *m;
    struct fake_core *c;
    struct adiv5_dp dp;
    struct mem_ap ap;
    struct cortex_a_software software;
    struct cortex_a core;
};

static struct bench *bench_new(void)
{
    struct bench *b = calloc(1, sizeof *b);
    b->m = model_new();
    b->c = calloc(1, sizeof *b->c);
    b->c->prsr = 0x0b; /* powered; it was off, and reset */
    b->c->auth = 0xff;
    b->c->cpsr = 0x600001d3;
    b->c->dscr = 2;
    for (unsigned k = 0; k < 16; k++)
        b->c->reg[k] = 0x1000u * k + k;
    for (unsigned k = 0; k < CORE_SIZE; k++)
        b->c->memory[k] = (uint8_t)(k * 5 + (k >> 7));
    b->c->reg[15] = CODE;
    b->m->device = fake_device;
    b->m->device_state = b->c;
    b->dp = model_connected(b->m, true);
    ck_assert_int_eq(mem_ap_init(&b->ap, &b->dp, 2), 0);
    cortex_a_init(&b->core, &b->ap, CORE_BASE, &b->software);
    return b;
}

static struct bench *bench_halted(void)
{
    struct bench *b = bench_new();
    ck_assert_int_eq(cortex_a_attach(&b->core), 0);
    ck_assert_int_eq(cortex_a_halt(&b->core), 0);
    return b;
}

static void bench_free(struct bench *b)
{
    free(b->c);
    free(b->m);
    free(b);
}

static struct target_core_status look(struct bench *b)
{
    struct target_core_status s;
    ck_assert_int_eq(cortex_a_status(&b->core, &s), 0);
    return s;
}

static void check_words(struct bench *b, const char *part)
{
    char text[200];
    cortex_a_describe(&b->core, text, sizeof text);
    ck_assert_msg(strstr(text, part) != NULL, "%s", text);
}

START_TEST(test_attach)
{
    struct bench *b = bench_new();
    b->c->bcr[2] = 0x1e7; /* somebody else's */
    b->c->wcr[1] = 0x1ff;
    ck_assert_int_eq(cortex_a_attach(&b->core), 0);
    ck_assert_str_eq(b->core.name, "Cortex-A9");
    ck_assert_uint_eq(b->core.breakpoint_count, 6);
    ck_assert_uint_eq(b->core.watchpoint_count, 4);
    ck_assert_uint_eq(b->c->bcr[2] | b->c->wcr[1], 0);
    ck_assert_uint_ne(b->c->dscr & 0x4000, 0);
    ck_assert_uint_eq(b->c->executed, 0);
    ck_assert_int_eq(look(b).state, TARGET_CORE_RUNNING);
    ck_assert(!look(b).reset_seen);
    bench_free(b);
}
END_TEST

START_TEST(test_refusals)
{
    struct bench *b = bench_new();
    b->c->off = true;
    b->c->prsr = 0;
    ck_assert_int_eq(cortex_a_attach(&b->core), BT_ERR_IO);
    ck_assert_int_eq(b->core.failure, CORTEX_A_FAIL_POWER);
    check_words(b, "powered down");
    b->c->off = false;
    b->c->prsr = 1;
    b->c->oslsr = 3;
    ck_assert_int_eq(cortex_a_attach(&b->core), 0);
    ck_assert_uint_eq(b->c->oslsr, 1);
    b->c->oslsr = 3;
    b->c->deaf = true;
    ck_assert_int_eq(cortex_a_attach(&b->core), BT_ERR_IO);
    check_words(b, "OS lock");
    b->c->oslsr = 0;
    b->c->auth = 0xaa;
    ck_assert_int_eq(cortex_a_attach(&b->core), BT_ERR_IO);
    check_words(b, "authentication");
    b->c->auth = 0xff;
    ck_assert_int_eq(cortex_a_attach(&b->core), 0);
    ck_assert_int_eq(cortex_a_halt(&b->core), BT_ERR_IO);
    check_words(b, "does not halt");
    b->core.base = CORE_BASE + 0x100000;
    ck_assert_int_eq(cortex_a_attach(&b->core), BT_ERR_IO);
    check_words(b, "no access");
    bench_free(b);
}
END_TEST

/* A core that goes to sleep for good and comes back has forgotten everything. */
START_TEST(test_power)
{
    struct bench *b = bench_halted();
    ck_assert_int_eq(cortex_a_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, CODE + 0x400, 4), 0);
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    b->c->off = true;
    b->c->prsr = 2;
    ck_assert_int_eq(look(b).state, TARGET_CORE_OFF);
    ck_assert_int_eq(cortex_a_halt(&b->core), BT_ERR_IO);
    check_words(b, "powered down");
    b->c->off = false;
    b->c->prsr = 3;
    b->c->oslsr = 3;
    b->c->dscr = 2;
    memset(b->c->bcr, 0, sizeof b->c->bcr);
    struct target_core_status s = look(b);
    ck_assert_int_eq(s.state, TARGET_CORE_RUNNING);
    ck_assert(s.reset_seen);
    ck_assert_uint_ne(b->c->dscr & 0x4000, 0);
    ck_assert_uint_ne(b->c->bcr[0], 0);
    b->c->oslsr = 3; /* closed by the program itself */
    ck_assert_int_eq(look(b).state, TARGET_CORE_RUNNING);
    bench_free(b);
}
END_TEST

START_TEST(test_registers)
{
    struct bench *b = bench_new();
    struct fake_core before = *b->c;
    uint32_t value;
    if (_i == 1)
        before.cpsr = b->c->cpsr |= 0x20;
    ck_assert_int_eq(cortex_a_attach(&b->core), 0);
    ck_assert_int_eq(cortex_a_read_register(&b->core, 0, &value), BT_ERR_INVAL);
    ck_assert_int_eq(cortex_a_halt(&b->core), 0);
    for (unsigned k = 0; k < 16; k++) {
        ck_assert_int_eq(cortex_a_read_register(&b->core, k, &value), 0);
        ck_assert_uint_eq(value, before.reg[k]);
    }
    ck_assert_int_eq(cortex_a_read_register(&b->core, CORTEX_A_CPSR, &value), 0);
    ck_assert_uint_eq(value, before.cpsr);
    ck_assert_int_eq(cortex_a_read_register(&b->core, 17, &value), BT_ERR_INVAL);
    ck_assert_int_eq(cortex_a_write_register(&b->core, 0, 0x11), 0);
    ck_assert_int_eq(cortex_a_write_register(&b->core, 14, 0xee), 0);
    ck_assert_int_eq(cortex_a_write_register(&b->core, CORTEX_A_PC, CODE + 0x100), 0);
    ck_assert_int_eq(
        cortex_a_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, CODE + 0x108, _i == 1 ? 2 : 4), 0);
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    ck_assert_uint_eq(b->c->reg[0], 0x11);
    ck_assert_uint_eq(b->c->reg[1], before.reg[1]);
    ck_assert_uint_eq(b->c->reg[14], 0xee);
    ck_assert_uint_eq(b->c->reg[15], CODE + 0x108);
    ck_assert_uint_eq(b->c->cpsr, before.cpsr);
    ck_assert_uint_eq(b->c->ignored, 0);
    ck_assert_int_eq(look(b).reason, TARGET_HALT_HWBREAK);
    bench_free(b);
}
END_TEST

START_TEST(test_modes)
{
    struct bench *b = bench_halted();
    uint32_t value;
    b->c->banked_sp = 0xabcd0000;
    ck_assert_int_eq(cortex_a_write_register(&b->core, 13, 0x1234), 0);
    ck_assert_int_eq(cortex_a_write_register(&b->core, CORTEX_A_CPSR, 0x600001df), 0);
    ck_assert_int_eq(cortex_a_read_register(&b->core, 13, &value), 0);
    ck_assert_uint_eq(value, 0xabcd0000);
    ck_assert_int_eq(cortex_a_write_register(&b->core, CORTEX_A_CPSR, 0x600001d3), 0);
    ck_assert_int_eq(cortex_a_read_register(&b->core, 13, &value), 0);
    ck_assert_uint_eq(value, 0x1234);
    /* A user program cannot ask for system registers, its debugger can. */
    ck_assert_int_eq(cortex_a_write_register(&b->core, CORTEX_A_CPSR, 0x60000010), 0);
    b->c->sctlr = 0xc5187f;
    ck_assert_int_eq(cortex_a_read_system(&b->core, 0xee110f10, &value), 0);
    ck_assert_uint_eq(value, 0xc5187f);
    ck_assert_uint_eq(b->c->cpsr, 0x60000010);
    ck_assert_int_eq(cortex_a_read_system(&b->core, 0xee190f10, &value), BT_ERR_UNSUPPORTED);
    check_words(b, "no such register");
    bench_free(b);
}
END_TEST

START_TEST(test_vfp)
{
    struct bench *b = bench_new();
    b->c->no_vfp = _i == 0;
    for (unsigned k = 0; k < 32; k++)
        b->c->d[k] = 0x0101010101010101u * k;
    ck_assert_int_eq(cortex_a_attach(&b->core), 0);
    ck_assert_int_eq(cortex_a_halt(&b->core), 0);
    ck_assert_uint_eq(b->core.vfp_doubles, _i == 0 ? 0 : 32);
    ck_assert_uint_eq(b->c->cpacr, 0); /* as the program has it */
    ck_assert_int_eq(cortex_a_load_vfp(&b->core, 32), BT_ERR_UNSUPPORTED);
    b->c->fpexc = 0x40000000;
    ck_assert_int_eq(cortex_a_write_system(&b->core, 0xee010f50, 0x00f00000), 0);
    if (_i == 1) {
        ck_assert_int_eq(cortex_a_load_vfp(&b->core, 32), 0);
        for (unsigned k = 0; k < 32; k++)
            ck_assert(b->core.vfp[k] == 0x0101010101010101u * k);
        ck_assert_int_eq(cortex_a_write_double(&b->core, 17, 0x1122334455667788u), 0);
        ck_assert(b->c->d[17] == 0x1122334455667788u);
        ck_assert_int_eq(cortex_a_write_fpscr(&b->core, 0x03000000), 0);
        ck_assert_int_eq(cortex_a_load_vfp(&b->core, 32), 0);
        ck_assert(b->core.vfp[17] == 0x1122334455667788u);
        ck_assert(b->core.vfp[32] == 0x03000000);
    }
    bench_free(b);
}
END_TEST

/* Off in one of its ways: nothing that is undefined is executed, and nothing behind it lost. */
START_TEST(test_vfp_off)
{
    static const struct {
        uint32_t cpacr, fpexc, cpsr;
        bool on;
    } ways[] = {
        {0x00000000, 0x40000000, 0x1d3, false}, {0x00f00000, 0x00000000, 0x1d3, false},
        {0x00500000, 0x40000000, 0x010, false}, {0x00f00000, 0x00000000, 0x010, false},
        {0x00500000, 0x40000000, 0x1d3, true},  {0x00f00000, 0x40000000, 0x010, true},
    };
    struct bench *b = bench_new();
    int expected = ways[_i].on ? 0 : BT_ERR_UNSUPPORTED;
    b->c->cpacr = ways[_i].cpacr;
    b->c->fpexc = ways[_i].fpexc;
    b->c->cpsr = ways[_i].cpsr;
    b->c->d[31] = 0x31;
    ck_assert_int_eq(cortex_a_attach(&b->core), 0);
    ck_assert_int_eq(cortex_a_halt(&b->core), 0);
    ck_assert_uint_eq(b->core.vfp_doubles, 32);
    ck_assert_int_eq(cortex_a_load_vfp(&b->core, 32), expected);
    ck_assert_uint_eq(b->core.vfp[31], ways[_i].on ? 0x31 : 0);
    ck_assert_int_eq(cortex_a_write_double(&b->core, 3, 7), expected);
    ck_assert_int_eq(cortex_a_write_fpscr(&b->core, 7), expected);
    ck_assert_uint_eq(b->c->d[3], ways[_i].on ? 7 : 0);
    ck_assert_uint_eq(b->c->undefined, 0);
    ck_assert_uint_eq(b->c->ignored, 0);
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    ck_assert_uint_eq(b->c->cpsr, ways[_i].cpsr);
    ck_assert_uint_eq(b->c->reg[0], 0); /* as bench_new() has it */
    bench_free(b);
}
END_TEST

/* Every alignment, short and in the fast mode, against the memory itself. */
START_TEST(test_memory)
{
    struct bench *b = bench_halted();
    static const size_t lengths[] = {1, 2, 3, 4, 5, 11, 228, 230, 233, 1000, 4099, 8200};
    static uint8_t bytes[8200];
    for (unsigned start = 0; start < 4; start++) {
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            size_t n = lengths[k];
            memset(bytes, 0, sizeof bytes);
            ck_assert_int_eq(cortex_a_read_memory(&b->core, DATA + start, bytes, n), 0);
            ck_assert_int_eq(memcmp(bytes, b->c->memory + 0x1000 + start, n), 0);
            for (size_t i = 0; i < n; i++)
                bytes[i] ^= (uint8_t)(0x5a + i);
            uint8_t before = b->c->memory[0x1000 + start - 1];
            uint8_t behind = b->c->memory[0x1000 + start + n];
            ck_assert_int_eq(cortex_a_write_memory(&b->core, DATA + start, bytes, n), 0);
            ck_assert_int_eq(memcmp(bytes, b->c->memory + 0x1000 + start, n), 0);
            ck_assert_uint_eq(b->c->memory[0x1000 + start - 1], before);
            ck_assert_uint_eq(b->c->memory[0x1000 + start + n], behind);
        }
    }
    ck_assert_uint_eq(b->c->ignored, 0);
    ck_assert_uint_eq(b->c->dscr & 0x600001c0, 0);
    bench_free(b);
}
END_TEST

/* Where memory ends: what lies before it is there,
 * and the program's fault registers are its own. */
START_TEST(test_abort)
{
    struct bench *b = bench_halted();
    static uint8_t bytes[2000];
    const size_t lengths[] = {8, 9, 300, 2000};
    uint32_t end = CORE_MEMORY + CORE_SIZE;
    b->c->dfsr = 0x80d;
    b->c->dfar = 0xcafe;
    for (unsigned k = 0; k < 4; k++) {
        size_t n = lengths[k];
        uint32_t address = end - (uint32_t)n + 4;
        ck_assert_int_eq(cortex_a_read_memory(&b->core, address, bytes, n), BT_ERR_IO);
        ck_assert_int_eq(b->core.failure, CORTEX_A_FAIL_ABORT);
        ck_assert_uint_eq(b->core.failure_address, end);
        ck_assert_int_eq(cortex_a_write_memory(&b->core, address, bytes, n), BT_ERR_IO);
        ck_assert_uint_eq(b->core.failure_address, end);
        ck_assert_uint_eq(b->c->dfsr, 0x80d);
        ck_assert_uint_eq(b->c->dfar, 0xcafe);
        ck_assert_uint_eq(b->c->dscr & 0x600001c0, 0);
    }
    check_words(b, "data abort at 0x40004000");
    ck_assert_int_eq(cortex_a_read_sized(&b->core, end, 2, bytes, 1), BT_ERR_IO);
    ck_assert_int_eq(cortex_a_read_memory(&b->core, DATA, bytes, 4), 0);
    ck_assert_int_eq(memcmp(bytes, b->c->memory + 0x1000, 4), 0);
    bench_free(b);
}
END_TEST

START_TEST(test_sized)
{
    struct bench *b = bench_halted();
    uint8_t bytes[8] = {0};
    for (unsigned size = 1; size <= 4; size *= 2) {
        ck_assert_int_eq(cortex_a_read_sized(&b->core, DATA + 8, size, bytes, 2), 0);
        ck_assert_int_eq(memcmp(bytes, b->c->memory + 0x1008, 2 * size), 0);
        bytes[0] ^= 0x33;
        ck_assert_int_eq(cortex_a_write_sized(&b->core, DATA + 8, size, bytes, 2), 0);
        ck_assert_int_eq(memcmp(bytes, b->c->memory + 0x1008, 2 * size), 0);
    }
    ck_assert_int_eq(cortex_a_read_sized(&b->core, DATA + 1, 2, bytes, 1), BT_ERR_INVAL);
    ck_assert_int_eq(cortex_a_read_sized(&b->core, DATA, 3, bytes, 1), BT_ERR_INVAL);
    /* Words of a core that runs big-endian are in the order of addresses all the same. */
    ck_assert_int_eq(cortex_a_write_register(&b->core, CORTEX_A_CPSR, 0x600003d3), 0);
    ck_assert_int_eq(cortex_a_read_sized(&b->core, DATA, 4, bytes, 1), 0);
    ck_assert_uint_eq(bytes[0], b->c->memory[0x1003]); /* this memory does not swap */
    bench_free(b);
}
END_TEST

/* What is written goes out of the data cache, and instructions are fetched anew. */
START_TEST(test_caches)
{
    struct bench *b = bench_halted();
    uint8_t bytes[100] = {0};
    ck_assert_int_eq(cortex_a_write_memory(&b->core, DATA, bytes, 100), 0);
    ck_assert_uint_eq(b->c->cleaned, 0); /* caches are off */
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    ck_assert_uint_eq(b->c->invalidated, 1);
    b->c->sctlr = 0x1004;
    b->c->cpsr = 0x60000010;
    ck_assert_int_eq(cortex_a_halt(&b->core), 0);
    ck_assert_int_eq(cortex_a_write_memory(&b->core, DATA + 31, bytes, 100), 0);
    ck_assert_uint_eq(b->c->cleaned, 5); /* lines of 32 bytes */
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    ck_assert_uint_eq(b->c->invalidated, 2);
    ck_assert_uint_eq(b->c->cpsr, 0x60000010);
    ck_assert_int_eq(cortex_a_halt(&b->core), 0);
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    ck_assert_uint_eq(b->c->invalidated, 2);
    bench_free(b);
}
END_TEST

START_TEST(test_step)
{
    struct bench *b = bench_halted();
    unsigned size = _i == 0 ? 4 : 2;
    if (_i == 1)
        ck_assert_int_eq(cortex_a_write_register(&b->core, CORTEX_A_CPSR, 0x600001f3), 0);
    for (unsigned k = 1; k <= 5; k++) {
        ck_assert_int_eq(cortex_a_step(&b->core, k % 2 == 0), 0);
        ck_assert_int_eq(look(b).reason, TARGET_HALT_STEP);
        ck_assert_uint_eq(look(b).pc, CODE + k * size);
        ck_assert_uint_eq((b->c->dscr & 0x800) != 0, k % 2 == 0);
    }
    for (unsigned k = 0; k < 6; k++)
        ck_assert_uint_eq(b->c->bcr[k], 0);
    b->c->loops = true;
    ck_assert_int_eq(cortex_a_step(&b->core, true), 0);
    ck_assert_int_eq(look(b).reason, TARGET_HALT_STEP);
    ck_assert_uint_eq(look(b).pc, CODE + 5 * size);
    bench_free(b);
}
END_TEST

/* Both kinds at the PC and behind it; the first comparator is lent for the step and given back. */
START_TEST(test_breakpoints)
{
    struct bench *b = bench_halted();
    enum target_breakpoint_type kind =
        _i % 2 == 0 ? TARGET_BREAKPOINT_HARDWARE : TARGET_BREAKPOINT_SOFTWARE;
    unsigned size = _i < 2 ? 4 : 2;
    uint8_t code[4];
    if (size == 2)
        ck_assert_int_eq(cortex_a_write_register(&b->core, CORTEX_A_CPSR, 0x600001f3), 0);
    memcpy(code, b->c->memory + 0x100, 4);
    for (unsigned k = 0; k < 3; k++)
        ck_assert_int_eq(cortex_a_insert(&b->core, kind, CODE + k * size, size), 0);
    uint32_t control = b->c->bcr[0];
    for (unsigned k = 1; k < 3; k++) {
        ck_assert_int_eq(cortex_a_resume(&b->core), 0);
        ck_assert_int_eq(look(b).reason, _i % 2 == 0 ? TARGET_HALT_HWBREAK : TARGET_HALT_SWBREAK);
        ck_assert_uint_eq(look(b).pc, CODE + k * size);
        ck_assert_uint_eq(b->c->bcr[0], control);
    }
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    ck_assert_int_eq(look(b).state, TARGET_CORE_RUNNING);
    ck_assert_int_eq(cortex_a_halt(&b->core), 0);
    ck_assert_int_eq(look(b).reason, TARGET_HALT_INTERRUPT);
    uint8_t seen[4];
    ck_assert_int_eq(cortex_a_read_memory(&b->core, CODE, seen, 4), 0);
    ck_assert_int_eq(memcmp(seen, code, 4), 0);
    for (unsigned k = 0; k < 3; k++)
        ck_assert_int_eq(cortex_a_remove(&b->core, kind, CODE + k * size, size), 0);
    ck_assert_int_eq(cortex_a_remove(&b->core, kind, CODE, size), BT_ERR_RANGE);
    ck_assert_int_eq(memcmp(b->c->memory + 0x100, code, 4), 0);
    ck_assert_uint_eq(b->c->bcr[0], 0);
    bench_free(b);
}
END_TEST

/* A write to where a software breakpoint stands goes below it. */
START_TEST(test_software)
{
    struct bench *b = bench_halted();
    const uint8_t fresh[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint8_t seen[8];
    ck_assert_int_eq(cortex_a_insert(&b->core, TARGET_BREAKPOINT_SOFTWARE, CODE, 4), 0);
    ck_assert_int_eq(cortex_a_write_memory(&b->core, CODE - 2, fresh, 8), 0);
    ck_assert_uint_eq(b->c->memory[0x103], 0xe1);
    ck_assert_int_eq(cortex_a_read_memory(&b->core, CODE - 2, seen, 8), 0);
    ck_assert_int_eq(memcmp(seen, fresh, 8), 0);
    ck_assert_int_eq(cortex_a_remove(&b->core, TARGET_BREAKPOINT_SOFTWARE, CODE, 4), 0);
    ck_assert_int_eq(memcmp(b->c->memory + 0xfe, fresh, 8), 0);
    ck_assert_int_eq(cortex_a_insert(&b->core, TARGET_BREAKPOINT_SOFTWARE, 0x90000000, 4),
                     BT_ERR_IO);
    /* One of the program's own: it goes on behind it. */
    memcpy(b->c->memory + 0x200, (const uint8_t[4]){0x70, 0, 0x20, 0xe1}, 4);
    ck_assert_int_eq(cortex_a_write_register(&b->core, CORTEX_A_PC, CODE + 0xf8), 0);
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    ck_assert_int_eq(look(b).reason, TARGET_HALT_BKPT);
    ck_assert_uint_eq(look(b).pc, CODE + 0x100);
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    ck_assert_int_eq(look(b).state, TARGET_CORE_RUNNING);
    bench_free(b);
}
END_TEST

START_TEST(test_full)
{
    struct bench *b = bench_halted();
    for (unsigned k = 0; k < 6; k++)
        ck_assert_int_eq(
            cortex_a_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, CODE + 0x400 + 4 * k, 4), 0);
    ck_assert_int_eq(cortex_a_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, CODE + 0x404, 4), 0);
    ck_assert_int_eq(cortex_a_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, CODE + 0x800, 4),
                     BT_ERR_RANGE);
    check_words(b, "in use");
    /* A step needs a comparator, and finds one. */
    ck_assert_int_eq(cortex_a_step(&b->core, true), 0);
    ck_assert_uint_eq(look(b).pc, CODE + 4);
    ck_assert_uint_eq(b->c->bvr[0], CODE + 0x400);
    ck_assert_uint_eq(b->c->bcr[0], 0x1e7);
    bench_free(b);
}
END_TEST

START_TEST(test_watchpoints)
{
    static const struct {
        enum target_breakpoint_type kind;
        uint32_t offset, length, control;
    } points[] = {
        {TARGET_WATCHPOINT_WRITE, 0, 4, 0x1f7},        {TARGET_WATCHPOINT_READ, 1, 1, 0x04f},
        {TARGET_WATCHPOINT_ACCESS, 2, 2, 0x19f},       {TARGET_WATCHPOINT_WRITE, 8, 8, 0x030001f7},
        {TARGET_WATCHPOINT_ACCESS, 0, 64, 0x060001ff},
    };
    struct bench *b = bench_halted();
    for (unsigned k = 0; k < sizeof points / sizeof *points; k++) {
        uint32_t address = DATA + points[k].offset, length = points[k].length;
        ck_assert_int_eq(cortex_a_insert(&b->core, points[k].kind, address, length), 0);
        ck_assert_uint_eq(b->c->wcr[0], points[k].control);
        ck_assert_uint_eq(b->c->wvr[0], address & ~3u);
        b->c->watch_hit = true;
        ck_assert_int_eq(cortex_a_resume(&b->core), 0);
        struct target_core_status s = look(b);
        ck_assert_int_eq(s.reason, target_watch_reason(points[k].kind));
        ck_assert_uint_eq(s.watch_address, address);
        ck_assert_uint_eq(s.watch_length, length);
        b->c->watch_hit = false;
        ck_assert_int_eq(cortex_a_remove(&b->core, points[k].kind, address, length), 0);
        ck_assert_uint_eq(b->c->wcr[0], 0);
    }
    bench_free(b);
}
END_TEST

/* Ranges of any place and length are covered by what comparators can do, none is left over. */
START_TEST(test_watch_pieces)
{
    struct bench *b = bench_halted();
    ck_assert_int_eq(cortex_a_insert(&b->core, TARGET_WATCHPOINT_READ, DATA + 4, 8), 0);
    ck_assert_uint_eq(b->c->wvr[0], DATA + 4);
    ck_assert_uint_eq(b->c->wcr[0], 0x1ef);
    ck_assert_uint_eq(b->c->wvr[1], DATA + 8);
    ck_assert_uint_eq(b->c->wcr[1], 0x1ef);
    ck_assert_int_eq(cortex_a_insert(&b->core, TARGET_WATCHPOINT_WRITE, DATA + 3, 62),
                     BT_ERR_RANGE);
    check_words(b, "in use");
    ck_assert_uint_eq(b->c->wcr[2] | b->c->wcr[3], 0);
    ck_assert_int_eq(cortex_a_remove(&b->core, TARGET_WATCHPOINT_READ, DATA + 4, 8), 0);
    ck_assert_uint_eq(b->c->wcr[0] | b->c->wcr[1], 0);
    ck_assert_int_eq(cortex_a_insert(&b->core, TARGET_WATCHPOINT_WRITE, DATA + 7, 25), 0);
    const uint32_t values[] = {DATA + 4, DATA + 8, DATA + 16};
    const uint32_t controls[] = {0x117, 0x030001f7, 0x040001f7};
    for (unsigned k = 0; k < 3; k++) {
        ck_assert_uint_eq(b->c->wvr[k], values[k]);
        ck_assert_uint_eq(b->c->wcr[k], controls[k]);
    }
    b->c->watch_hit = true;
    ck_assert_int_eq(cortex_a_resume(&b->core), 0);
    ck_assert_uint_eq(look(b).watch_address, DATA + 7);
    ck_assert_uint_eq(look(b).watch_length, 25);
    bench_free(b);
}
END_TEST

START_TEST(test_cross_trigger)
{
    struct bench *b = bench_halted();
    ck_assert_int_eq(cortex_a_join(&b->core, 2), BT_ERR_UNSUPPORTED);
    b->core.cti = CORE_CTI;
    ck_assert_int_eq(cortex_a_join(&b->core, 2), 0);
    ck_assert_uint_eq(b->c->cti[0x20 / 4], 4);
    ck_assert_uint_eq(b->c->cti[0xa0 / 4], 4);
    ck_assert_uint_eq(b->c->cti[0x140 / 4] & 4, 4);
    for (unsigned k = 0; k < 3; k++) /* the request is taken back each time */
        ck_assert_int_eq(cortex_a_step(&b->core, true), 0);
    ck_assert_uint_eq(look(b).pc, CODE + 12);
    ck_assert_int_eq(cortex_a_detach(&b->core), 0);
    ck_assert_uint_eq(b->c->cti[0x20 / 4] | b->c->cti[0xa0 / 4], 0);
    ck_assert_uint_eq(b->c->dscr & 1, 0);
    bench_free(b);
}
END_TEST

/* A line that fails now and then costs time, nothing else. */
START_TEST(test_line)
{
    struct bench *b = bench_halted();
    uint8_t bytes[64];
    uint32_t value;
    unsigned good = 0;
    for (unsigned at = 1; at < 120; at += 3) {
        b->m->fault = DEBUG_ACK_PROTOCOL;
        b->m->fault_at = b->m->accesses + at;
        b->m->fault_times = 1;
        int rc = cortex_a_read_memory(&b->core, DATA, bytes, sizeof bytes);
        if (rc == 0) {
            ck_assert_int_eq(memcmp(bytes, b->c->memory + 0x1000, sizeof bytes), 0);
            good++;
        }
        b->m->fault_times = 0;
        ck_assert_int_eq(cortex_a_read_system(&b->core, 0xee110f10, &value), 0);
    }
    ck_assert_uint_gt(good, 35);
    ck_assert_int_eq(cortex_a_read_register(&b->core, 2, &value), 0);
    ck_assert_uint_eq(value, 0x2002);
    b->m->unplugged = true;
    ck_assert_int_eq(cortex_a_read_memory(&b->core, DATA, bytes, 4), BT_ERR_IO);
    check_words(b, "no access to");
    bench_free(b);
}
END_TEST

/* By its debug registers: a core that does not know that goes on as it was, and says so. */
START_TEST(test_warm_reset)
{
    struct bench *b = bench_halted();
    char text[200];
    b->c->resets_itself = _i == 1;
    ck_assert_int_eq(cortex_a_catch_reset(&b->core, true), 0);
    int rc = cortex_a_warm_reset(&b->core);
    if (_i == 0) {
        ck_assert_int_eq(rc, BT_ERR_UNSUPPORTED);
        ck_assert_str_eq(cortex_a_describe(&b->core, text, 12), "there is no");
        ck_assert_int_eq(look(b).state, TARGET_CORE_HALTED);
        ck_assert_uint_eq(look(b).pc, CODE);
    } else {
        ck_assert_int_eq(rc, 0);
        ck_assert_int_eq(cortex_a_attach(&b->core), 0);
        ck_assert_int_eq(look(b).reason, TARGET_HALT_VECTOR);
        ck_assert_uint_eq(look(b).pc, 0);
    }
    bench_free(b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("cortex_a");
    unit_case(s, "cortex_a: attach changes nothing but locks and breakpoints", test_attach);
    unit_case(s, "cortex_a: power, locks, authentication in words", test_refusals);
    unit_case(s, "cortex_a: a core that was off gets its breakpoints again", test_power);
    unit_cases(s, "cortex_a: registers, in ARM and Thumb state", test_registers, 0, 2);
    unit_case(s, "cortex_a: banked registers, and a user program", test_modes);
    unit_cases(s, "cortex_a: VFP, there or not", test_vfp, 0, 2);
    unit_cases(s, "cortex_a: VFP is off, in each way", test_vfp_off, 0, 6);
    unit_case(s, "cortex_a: memory of any length", test_memory);
    unit_case(s, "cortex_a: aborts leave no trace in the program", test_abort);
    unit_case(s, "cortex_a: accesses of a given size", test_sized);
    unit_case(s, "cortex_a: caches", test_caches);
    unit_cases(s, "cortex_a: steps", test_step, 0, 2);
    unit_cases(s, "cortex_a: breakpoints of each kind", test_breakpoints, 0, 4);
    unit_case(s, "cortex_a: software breakpoints and the program's memory", test_software);
    unit_case(s, "cortex_a: all comparators in use", test_full);
    unit_case(s, "cortex_a: watchpoints", test_watchpoints);
    unit_case(s, "cortex_a: watchpoints of several comparators", test_watch_pieces);
    unit_case(s, "cortex_a: cross trigger", test_cross_trigger);
    unit_cases(s, "cortex_a: a reset by the debug registers", test_warm_reset, 0, 2);
    unit_case(s, "cortex_a: a bad line", test_line);
    return s;
}
