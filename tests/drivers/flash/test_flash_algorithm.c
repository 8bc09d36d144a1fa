/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/flash/flash_algorithm.c and flash_algorithm_run.c. */
/* The flash algorithm of the virtual board, read and run through the modelled probe. */
#include <stdio.h>

#include "drivers/flash/flash_algorithm_run.h"
#include "tests/drivers/cortex_m/probe_bench.h"
#include "tests/model/unicorn_core.h"

#define ALGORITHM "configs/virtual/flash-m3.flm"
#define RAM       0x20000000u
#define RAM_SIZE  0x4000u
#define SECTOR    4096u
#define PAGE      1024u

struct flash_bench {
    struct unicorn_core core;
    struct core_model model;
    struct probe_bench *bench;
    struct flash_algorithm *algorithm;
    struct flash_run run;
};

static void setup(struct flash_bench *f, uint32_t ram_size)
{
    const struct probe_board_options options = {.core = &f->model};
    struct message why = {.text = ""};
    memset(f, 0, sizeof *f);
    ck_assert_int_eq(unicorn_core_init(&f->core, &f->model), 0);
    f->bench = bench_new(&options, false);
    ck_assert_int_eq(cortex_m_attach(&f->bench->core), 0);
    ck_assert_int_eq(cortex_m_halt(&f->bench->core), 0);
    int rc = flash_algorithm_open(ALGORITHM, &f->algorithm, &why);
    ck_assert_msg(rc == 0, "%s", why.text);
    ck_assert_int_eq(flash_run_init(&f->run, f->algorithm, &f->bench->core, RAM, ram_size), 0);
}

static void teardown(struct flash_bench *f)
{
    flash_run_release(&f->run);
    flash_algorithm_close(f->algorithm);
    bench_free(f->bench);
    unicorn_core_release(&f->core);
}

static void reports(const struct flash_bench *f, const char *part)
{
    char text[256];
    flash_run_describe(&f->run, text, sizeof text);
    ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in '%s'", part, text);
}

static void fill(struct flash_bench *f, uint8_t value)
{
    static uint8_t bytes[4 * SECTOR];
    memset(bytes, value, sizeof bytes);
    ck_assert_int_eq(uc_mem_write(f->core.uc, 0, bytes, sizeof bytes), UC_ERR_OK);
}

static uint8_t flash_byte(struct flash_bench *f, uint32_t address)
{
    uint8_t byte = 0;
    ck_assert_int_eq(uc_mem_read(f->core.uc, address, &byte, 1), UC_ERR_OK);
    return byte;
}

START_TEST(test_read)
{
    struct flash_algorithm *a;
    struct message why = {.text = ""};
    uint32_t start;
    uint32_t size;
    ck_assert_int_eq(flash_algorithm_open(ALGORITHM, &a, &why), 0);
    ck_assert_str_eq(a->name, "btraced virtual flash 256 kB");
    ck_assert_uint_eq(a->start, 0);
    ck_assert_uint_eq(a->size, 64 * SECTOR);
    ck_assert_uint_eq(a->page_size, PAGE);
    ck_assert_uint_eq(a->empty, 0xff);
    ck_assert_uint_eq(a->erase_ms, 1000);
    ck_assert_uint_eq(a->region_count, 1);
    ck_assert_uint_eq(a->regions[0].sector_size, SECTOR);
    ck_assert_uint_eq(a->regions[0].size, a->size);
    ck_assert_uint_eq(a->static_base, a->image_size - 4);
    ck_assert_uint_ne(a->functions[FLASH_ERASE_CHIP], FLASH_ALGORITHM_NONE);
    ck_assert_uint_eq(a->functions[FLASH_VERIFY], FLASH_ALGORITHM_NONE);
    ck_assert_int_eq(flash_algorithm_sector(a, 2 * SECTOR + 5, &start, &size), 0);
    ck_assert_uint_eq(start, 2 * SECTOR);
    ck_assert_uint_eq(size, SECTOR);
    ck_assert_int_eq(flash_algorithm_sector(a, 64 * SECTOR, &start, &size), BT_ERR_RANGE);
    flash_algorithm_close(a);
    ck_assert_int_eq(flash_algorithm_open("configs/virtual/none.flm", &a, &why), BT_ERR_IO);
    ck_assert_str_eq(why.text, "No such file or directory");
    ck_assert_int_eq(flash_algorithm_open("configs/virtual/crash-m3.elf", &a, &why), BT_ERR_FORMAT);
    ck_assert_str_eq(why.text, "no flash algorithm: no function Init");
    ck_assert_int_eq(flash_algorithm_open("configs/virtual/README.md", &a, &why), BT_ERR_FORMAT);
    ck_assert_str_eq(why.text, "not an ELF file");
}
END_TEST

/* Every byte of the file changed, and every length of it: refused or read, never more than that. */
START_TEST(test_read_damaged)
{
    static uint8_t file[4096];
    FILE *in = fopen(ALGORITHM, "rb");
    ck_assert_ptr_nonnull(in);
    size_t size = fread(file, 1, sizeof file, in);
    fclose(in);
    ck_assert_uint_gt(size, 1000);
    ck_assert_uint_lt(size, sizeof file);
    unsigned refused = 0;
    for (size_t k = 0; k < 2 * size; k++) {
        struct flash_algorithm *a;
        uint8_t *copy = malloc(k < size ? size : k - size + 1);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, file, k < size ? size : k - size);
        if (k < size)
            copy[k] ^= (uint8_t)(1 + k % 255);
        struct message why = {.text = ""};
        if (flash_algorithm_from_memory(copy, k < size ? size : k - size, &a, &why) != 0) {
            ck_assert_ptr_null(a);
            ck_assert_str_ne(why.text, "");
            refused++;
        }
        free(copy);
        flash_algorithm_close(a);
    }
    ck_assert_uint_gt(refused, size);
}
END_TEST

/* RAM for one buffer, and for two. */
START_TEST(test_erase_and_program)
{
    struct flash_bench f;
    uint8_t data[3 * PAGE];
    setup(&f, _i == 0 ? 2304 : RAM_SIZE);
    ck_assert_int_eq(f.run.buffers[0] != f.run.buffers[1], _i != 0);
    uint32_t before[CORTEX_M_REGISTERS];
    uint32_t after[CORTEX_M_REGISTERS];
    for (unsigned r = 0; r < 13; r++)
        ck_assert_int_eq(cortex_m_write_register(&f.bench->core, r, 0x1000 + r), 0);
    ck_assert_int_eq(cortex_m_read_all(&f.bench->core, before), 0);
    for (unsigned k = 0; k < sizeof data; k++)
        data[k] = (uint8_t)(k * 13 + 1);
    fill(&f, 0x55);
    ck_assert_int_eq(flash_run_begin(&f.run, FLASH_FOR_ERASE), 0);
    ck_assert_int_eq(flash_run_erase(&f.run, SECTOR + 4, SECTOR), 0);
    ck_assert_uint_eq(flash_byte(&f, SECTOR - 1), 0x55);
    ck_assert_uint_eq(flash_byte(&f, SECTOR), 0xff);
    ck_assert_uint_eq(flash_byte(&f, 3 * SECTOR - 1), 0xff);
    ck_assert_uint_eq(flash_byte(&f, 3 * SECTOR), 0x55);
    ck_assert_int_eq(flash_run_begin(&f.run, FLASH_FOR_PROGRAM), 0);
    /* In pieces that do not care for pages. */
    uint32_t at = SECTOR + 100;
    for (unsigned done = 0; done < sizeof data;) {
        unsigned n = 333 < sizeof data - done ? 333 : (unsigned)sizeof data - done;
        ck_assert_int_eq(flash_run_program(&f.run, at + done, data + done, n), 0);
        done += n;
    }
    ck_assert_int_eq(flash_run_end(&f.run), 0);
    for (unsigned k = 0; k < sizeof data; k++)
        ck_assert_uint_eq(flash_byte(&f, at + k), data[k]);
    ck_assert_uint_eq(flash_byte(&f, at - 1), 0xff);
    ck_assert_uint_eq(flash_byte(&f, at + sizeof data), 0xff);
    ck_assert_int_eq(cortex_m_read_all(&f.bench->core, after), 0);
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert_uint_eq(f.bench->core.catch, 0);
    teardown(&f);
}
END_TEST

/* Flash that was not erased: the algorithm says so, and the words name page and function. */
START_TEST(test_not_erased)
{
    struct flash_bench f;
    uint8_t data[2 * PAGE];
    setup(&f, RAM_SIZE);
    memset(data, 0xa5, sizeof data);
    fill(&f, 0x0f);
    ck_assert_int_eq(flash_run_begin(&f.run, FLASH_FOR_PROGRAM), 0);
    ck_assert_int_eq(flash_run_program(&f.run, 2 * PAGE, data, sizeof data), 0);
    ck_assert_int_eq(flash_run_end(&f.run), BT_ERR_IO);
    reports(&f, "error 1: ProgramPage(0x00000800)");
    ck_assert_uint_eq(flash_byte(&f, 2 * PAGE), 0x0f);
    ck_assert_int_eq(bench_status(f.bench).state, TARGET_CORE_HALTED);
    teardown(&f);
}
END_TEST

START_TEST(test_order_and_place)
{
    struct flash_bench f;
    struct flash_run small;
    uint8_t byte = 0;
    setup(&f, RAM_SIZE);
    ck_assert_int_eq(flash_run_erase(&f.run, 0, 1), BT_ERR_INVAL);
    reports(&f, "not begun");
    ck_assert_int_eq(flash_run_begin(&f.run, FLASH_FOR_ERASE), 0);
    ck_assert_int_eq(flash_run_program(&f.run, 0, &byte, 1), BT_ERR_INVAL);
    ck_assert_int_eq(flash_run_erase(&f.run, 63 * SECTOR, SECTOR + 1), BT_ERR_RANGE);
    reports(&f, "outside of the flash");
    ck_assert_int_eq(flash_run_end(&f.run), 0);
    ck_assert_int_eq(flash_run_init(&small, f.algorithm, &f.bench->core, RAM, 1024), BT_ERR_RANGE);
    ck_assert_uint_gt(small.result, 1024);
    flash_run_release(&small);
    ck_assert_int_eq(flash_run_init(&small, f.algorithm, &f.bench->core, RAM + 2, RAM_SIZE),
                     BT_ERR_INVAL);
    flash_run_release(&small);
    ck_assert_int_eq(cortex_m_insert(&f.bench->core, TARGET_BREAKPOINT_SOFTWARE, RAM + 0x8000, 2),
                     0);
    ck_assert_int_eq(flash_run_begin(&f.run, FLASH_FOR_ERASE), BT_ERR_INVAL);
    reports(&f, "software breakpoints");
    ck_assert_int_eq(cortex_m_remove(&f.bench->core, TARGET_BREAKPOINT_SOFTWARE, RAM + 0x8000, 2),
                     0);
    ck_assert_int_eq(cortex_m_resume(&f.bench->core), 0);
    ck_assert_int_eq(flash_run_begin(&f.run, FLASH_FOR_ERASE), BT_ERR_INVAL);
    reports(&f, "halt the core");
    teardown(&f);
}
END_TEST

START_TEST(test_hang)
{
    struct flash_bench f;
    setup(&f, RAM_SIZE);
    ck_assert_int_eq(flash_run_begin(&f.run, FLASH_FOR_ERASE), 0);
    f.core.hangs = true;
    uint64_t begin = f.bench->now;
    ck_assert_int_eq(flash_run_erase(&f.run, SECTOR, 1), BT_ERR_IO);
    reports(&f, "did not end within 1000 ms: EraseSector(0x00001000)");
    ck_assert_uint_lt(f.bench->now - begin, 3000000);
    ck_assert_int_eq(bench_status(f.bench).state, TARGET_CORE_HALTED);
    f.core.hangs = false;
    ck_assert_int_eq(flash_run_end(&f.run), 0);
    teardown(&f);
}
END_TEST

/* A function that jumps to where nothing is. */
START_TEST(test_crash)
{
    static const uint8_t jump[] = {0x00, 0x20, 0xc0, 0x43, 0x00, 0x47}; /* r0 = ~0; bx r0 */
    struct flash_bench f;
    setup(&f, RAM_SIZE);
    memcpy(f.algorithm->image + f.algorithm->functions[FLASH_ERASE_SECTOR], jump, sizeof jump);
    ck_assert_int_eq(flash_run_begin(&f.run, FLASH_FOR_ERASE), 0);
    ck_assert_int_eq(flash_run_erase(&f.run, SECTOR, 1), BT_ERR_IO);
    reports(&f, "crashed in EraseSector(0x00001000)");
    (void)flash_run_end(&f.run);
    teardown(&f);
}
END_TEST

/* The probe goes away at each of its transfers: always an error, never a hang. */
START_TEST(test_unplug)
{
    unsigned failed = 0;
    for (unsigned after = 1; after < 400; after += 7) {
        struct flash_bench f;
        uint8_t data[PAGE];
        setup(&f, RAM_SIZE);
        memset(data, 0x3c, sizeof data);
        f.bench->usb.device.faults.unplug_after = after;
        int rc = flash_run_begin(&f.run, FLASH_FOR_ERASE);
        if (rc == 0)
            rc = flash_run_erase(&f.run, 0, SECTOR);
        if (rc == 0)
            rc = flash_run_begin(&f.run, FLASH_FOR_PROGRAM);
        if (rc == 0)
            rc = flash_run_program(&f.run, 0, data, sizeof data);
        int end = flash_run_end(&f.run);
        ck_assert_int_eq(rc != 0 || end != 0, f.bench->usb.device.unplugged);
        if (rc != 0) {
            reports(&f, "probe");
            failed++;
        }
        teardown(&f);
    }
    ck_assert_uint_gt(failed, 10);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("flash_algorithm");
    unit_case(s, "read", test_read);
    unit_case(s, "damaged file", test_read_damaged);
    unit_cases(s, "erase and program", test_erase_and_program, 0, 2);
    unit_case(s, "program what is not erased", test_not_erased);
    unit_case(s, "order and place", test_order_and_place);
    unit_case(s, "algorithm that hangs", test_hang);
    unit_case(s, "algorithm that crashes", test_crash);
    unit_case(s, "unplugged", test_unplug);
    return s;
}
