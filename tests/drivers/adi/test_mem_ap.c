/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/adi/mem_ap.h"

#include "tests/drivers/adi/test_adiv5_model.h"
#include "tests/support/unit_main.h"

struct bench {
    struct model *m;
    struct adiv5_dp dp;
    struct mem_ap ap;
};

static void setup(struct bench *b, uint8_t index, bool posted)
{
    b->m = model_new();
    b->dp = model_connected(b->m, posted);
    ck_assert_int_eq(mem_ap_init(&b->ap, &b->dp, index), 0);
    b->m->byte_accesses = b->m->half_accesses = b->m->word_accesses = 0;
}

START_TEST(test_identify)
{
    struct bench b;
    setup(&b, 0, false);
    ck_assert(b.ap.packed);
    ck_assert(!b.ap.words_only);
    ck_assert_int_eq(mem_ap_init(&b.ap, &b.dp, 2), 0);
    ck_assert(!b.ap.packed);
    ck_assert(b.ap.words_only);
    ck_assert_int_eq(mem_ap_init(&b.ap, &b.dp, 1), BT_ERR_IO);
    ck_assert_int_eq(b.dp.failure, DEBUG_FAIL_NO_MEM_AP);
    b.m->aps[0].disabled = true;
    b.m->aps[0].csw = 0;
    ck_assert_int_eq(mem_ap_init(&b.ap, &b.dp, 0), BT_ERR_IO);
    ck_assert_int_eq(b.dp.failure, DEBUG_FAIL_LOCKED);
    free(b.m);
}
END_TEST

/* Every alignment and length around words and wrap blocks, against the memory itself. */
START_TEST(test_read_any)
{
    struct bench b;
    static const uint32_t starts[] = {0, 1, 2, 3, 1000, 1021, 1022, 1023, 1024, 5000};
    static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 63, 65, 100, 1023, 1024, 1025, 3001};
    uint8_t bytes[3001];
    setup(&b, _i & 1 ? 2 : 0, (_i & 2) != 0);
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            memset(bytes, 0, sizeof bytes);
            ck_assert_int_eq(mem_ap_read(&b.ap, MODEL_BASE + starts[s], bytes, lengths[l]), 0);
            ck_assert_int_eq(memcmp(bytes, b.m->memory + starts[s], lengths[l]), 0);
        }
    }
    free(b.m);
}
END_TEST

START_TEST(test_write_any)
{
    struct bench b;
    uint8_t shadow[MODEL_SIZE];
    uint8_t bytes[2100];
    unsigned seed = 1;
    setup(&b, 0, _i != 0);
    memcpy(shadow, b.m->memory, sizeof shadow);
    for (unsigned round = 0; round < 200; round++) {
        uint32_t at = (uint32_t)(rand_r(&seed) % 8000);
        size_t length = (size_t)rand_r(&seed) % (round % 4 ? 9 : sizeof bytes);
        for (size_t k = 0; k < length; k++)
            bytes[k] = (uint8_t)rand_r(&seed);
        ck_assert_int_eq(mem_ap_write(&b.ap, MODEL_BASE + at, bytes, length), 0);
        memcpy(shadow + at, bytes, length);
        ck_assert_int_eq(memcmp(shadow, b.m->memory, sizeof shadow), 0);
    }
    free(b.m);
}
END_TEST

START_TEST(test_words_only)
{
    struct bench b;
    uint8_t bytes[8] = {0};
    setup(&b, 2, false);
    ck_assert_int_eq(mem_ap_write(&b.ap, MODEL_BASE, bytes, 8), 0);
    ck_assert_int_eq(mem_ap_write(&b.ap, MODEL_BASE + 1, bytes, 2), BT_ERR_UNSUPPORTED);
    ck_assert_int_eq(mem_ap_read_sized(&b.ap, MODEL_BASE, 1, bytes, 2), BT_ERR_UNSUPPORTED);
    free(b.m);
}
END_TEST

START_TEST(test_sized)
{
    struct bench b;
    uint8_t bytes[2048];
    setup(&b, 0, false);
    b.m->aps[0].no_packed = _i != 0;
    ck_assert_int_eq(mem_ap_init(&b.ap, &b.dp, 0), 0);
    ck_assert(b.ap.packed == (_i == 0));
    ck_assert_int_eq(mem_ap_read_sized(&b.ap, MODEL_BASE + 3, 1, bytes, 1500), 0);
    ck_assert_int_eq(memcmp(bytes, b.m->memory + 3, 1500), 0);
    ck_assert_uint_eq(b.m->byte_accesses, 1500);
    ck_assert_int_eq(mem_ap_read_sized(&b.ap, MODEL_BASE + 2, 2, bytes, 700), 0);
    ck_assert_int_eq(memcmp(bytes, b.m->memory + 2, 1400), 0);
    ck_assert_uint_eq(b.m->half_accesses, 700);
    for (unsigned k = 0; k < sizeof bytes; k++)
        bytes[k] = (uint8_t)(k ^ 0x5a);
    ck_assert_int_eq(mem_ap_write_sized(&b.ap, MODEL_BASE + 1022, 2, bytes, 10), 0);
    ck_assert_int_eq(memcmp(bytes, b.m->memory + 1022, 20), 0);
    ck_assert_uint_eq(b.m->half_accesses, 710);
    ck_assert_uint_eq(b.m->word_accesses, 0);
    ck_assert_int_eq(mem_ap_read_sized(&b.ap, MODEL_BASE + 1, 2, bytes, 1), BT_ERR_INVAL);
    ck_assert_int_eq(mem_ap_read_sized(&b.ap, MODEL_BASE, 3, bytes, 1), BT_ERR_INVAL);
    free(b.m);
}
END_TEST

START_TEST(test_caches)
{
    struct bench b;
    uint32_t word;
    setup(&b, 0, false);
    ck_assert_int_eq(mem_ap_read32(&b.ap, MODEL_BASE, &word), 0);
    unsigned before = b.m->accesses;
    ck_assert_int_eq(mem_ap_read32(&b.ap, MODEL_BASE + 4, &word), 0);
    ck_assert_uint_eq(b.m->accesses - before, 2); /* DRW and RDBUFF only */
    ck_assert_uint_eq(word & 0xff, b.m->memory[4]);
    before = b.m->accesses;
    ck_assert_int_eq(mem_ap_read32(&b.ap, MODEL_BASE + 0x3fc, &word), 0);
    ck_assert_int_eq(mem_ap_read32(&b.ap, MODEL_BASE + 0x400, &word), 0);
    ck_assert_uint_eq(word & 0xff, b.m->memory[0x400]); /* TAR had wrapped */
    ck_assert_uint_eq(b.m->accesses - before, 8);
    /* Somebody else moves TAR. */
    b.m->aps[0].tar = MODEL_BASE + 0x800;
    mem_ap_forget(&b.ap);
    ck_assert_int_eq(mem_ap_read32(&b.ap, MODEL_BASE + 0x404, &word), 0);
    ck_assert_uint_eq(word & 0xff, b.m->memory[0x404]);
    free(b.m);
}
END_TEST

START_TEST(test_fault_address)
{
    struct bench b;
    uint8_t bytes[4096];
    uint32_t word = 0;
    setup(&b, 0, _i != 0);
    uint32_t end = MODEL_BASE + MODEL_SIZE;
    memset(bytes, 0xee, sizeof bytes);
    ck_assert_int_eq(mem_ap_read(&b.ap, end - 1500, bytes, 2000), BT_ERR_IO);
    ck_assert_int_eq(b.dp.failure, DEBUG_FAIL_FAULT);
    ck_assert_uint_le(b.ap.fault_address, end);
    /* With posted reads the values just before the fault cannot be told from old ones. */
    ck_assert_uint_ge(b.ap.fault_address, end - 8);
    ck_assert_int_eq(memcmp(bytes, b.m->memory + MODEL_SIZE - 1500, 1024), 0);
    ck_assert_int_eq(mem_ap_read32(&b.ap, MODEL_BASE + 8, &word), 0);
    ck_assert_uint_eq(word & 0xff, b.m->memory[8]);
    ck_assert_int_eq(mem_ap_write(&b.ap, end, bytes, 3), BT_ERR_IO);
    ck_assert_uint_eq(b.ap.fault_address, end);
    ck_assert_int_eq(mem_ap_read(&b.ap, 0xfffffff0, bytes, 17), BT_ERR_RANGE);
    ck_assert_int_eq(mem_ap_read(&b.ap, 0x100000000ull, bytes, 1), BT_ERR_RANGE);
    ck_assert_int_eq(mem_ap_read(&b.ap, UINT64_MAX, bytes, 4), BT_ERR_RANGE);
    free(b.m);
}
END_TEST

/* At every access of a read a line error comes: memory is read all the same. Words are not. */
START_TEST(test_line_errors)
{
    struct bench b;
    uint8_t bytes[256];
    uint32_t words[4];
    setup(&b, 0, false);
    for (unsigned at = 0; at < 140; at++) {
        model_inject(b.m, at % 2 ? DEBUG_ACK_NONE : DEBUG_ACK_WAIT, at, 1);
        memset(bytes, 0, sizeof bytes);
        ck_assert_int_eq(mem_ap_read(&b.ap, MODEL_BASE + 1023, bytes, sizeof bytes), 0);
        ck_assert_int_eq(memcmp(bytes, b.m->memory + 1023, sizeof bytes), 0);
        b.m->fault_times = 0;
    }
    mem_ap_forget(&b.ap);
    model_inject(b.m, DEBUG_ACK_NONE, 4, 1);
    ck_assert_int_eq(mem_ap_read_words(&b.ap, MODEL_BASE, words, 4), BT_ERR_IO);
    ck_assert_int_eq(b.dp.failure, DEBUG_FAIL_LINE);
    free(b.m);
}
END_TEST

/* A register that gives another value each time it is read. */
static bool counter_device(struct model *m, uint32_t address, bool write, uint32_t *value,
                           bool *bad)
{
    unsigned *next = m->device_state;
    *bad = false;
    if (address != 0xe0040010u)
        return false;
    if (!write)
        *value = (*next)++;
    return true;
}

START_TEST(test_fifo)
{
    struct bench b;
    uint32_t words[600];
    unsigned next = 0;
    setup(&b, 0, _i != 0);
    b.m->device = counter_device;
    b.m->device_state = &next;
    ck_assert_int_eq(mem_ap_read_fifo(&b.ap, 0xe0040010u, words, 3), 0);
    ck_assert_int_eq(mem_ap_read_fifo(&b.ap, 0xe0040010u, words + 3, 1), 0);
    /* A posted link reads ahead by nothing: each word is taken out once. */
    ck_assert_uint_eq(next, 4);
    ck_assert_int_eq(mem_ap_read_fifo(&b.ap, 0xe0040010u, words + 4, 596), 0);
    ck_assert_uint_eq(next, 600);
    for (unsigned k = 0; k < 600; k++)
        ck_assert_uint_eq(words[k], k);
    free(b.m);
}
END_TEST

START_TEST(test_banked)
{
    struct bench b;
    setup(&b, 0, _i != 0);
    struct mem_ap_banked list[] = {{.offset = 4, .write = true, .value = 0x11223344},
                                   {.offset = 0},
                                   {.offset = 4},
                                   {.offset = 12}};
    unsigned calls = b.m->calls;
    ck_assert_int_eq(mem_ap_banked(&b.ap, MODEL_BASE + 0x100, list, 4), 0);
    ck_assert_uint_eq(b.m->calls - calls, 1);
    ck_assert_uint_eq(list[2].value, 0x11223344);
    ck_assert_uint_eq(list[1].value & 0xff, b.m->memory[0x100]);
    ck_assert_uint_eq(list[3].value & 0xff, b.m->memory[0x10c]);
    struct mem_ap_banked bad[] = {{.offset = 8}};
    ck_assert_int_eq(mem_ap_banked(&b.ap, 0x10000000, bad, 1), BT_ERR_IO);
    ck_assert_uint_eq(b.ap.fault_address, 0x10000008);
    ck_assert_int_eq(mem_ap_banked(&b.ap, MODEL_BASE + 4, bad, 1), BT_ERR_INVAL);
    free(b.m);
}
END_TEST

/* Writes and reads as they come, of registers far from each other, and where one is refused. */
START_TEST(test_list)
{
    struct bench b;
    setup(&b, 0, _i != 0);
    struct mem_ap_access list[] = {{MODEL_BASE + 0x100, true, 0x11223344},
                                   {.address = MODEL_BASE + 0x1f0c},
                                   {.address = MODEL_BASE + 0x100},
                                   {MODEL_BASE + 0x100, true, 0x55667788},
                                   {.address = MODEL_BASE + 0x100}};
    unsigned calls = b.m->calls;
    ck_assert_int_eq(mem_ap_list(&b.ap, list, 5), 0);
    ck_assert_uint_eq(b.m->calls - calls, 1);
    ck_assert_uint_eq(list[2].value, 0x11223344);
    ck_assert_uint_eq(list[4].value, 0x55667788);
    ck_assert_mem_eq(&list[1].value, b.m->memory + 0x1f0c, 4);
    /* What is noted of the AP fits: the next access finds its place. */
    uint32_t word;
    ck_assert_int_eq(mem_ap_read32(&b.ap, MODEL_BASE + 0x1f0c, &word), 0);
    ck_assert_uint_eq(word, list[1].value);
    list[3].address = 0x10000000;
    ck_assert_int_eq(mem_ap_list(&b.ap, list, 5), BT_ERR_IO);
    ck_assert_uint_eq(b.ap.fault_address, 0x10000000);
    list[3].address = MODEL_BASE + 2;
    ck_assert_int_eq(mem_ap_list(&b.ap, list, 5), BT_ERR_INVAL);
    list[3].address = 1ull << 32;
    ck_assert_int_eq(mem_ap_list(&b.ap, list, 5), BT_ERR_RANGE);
    ck_assert_int_eq(mem_ap_list(&b.ap, list, 0), BT_ERR_INVAL);
    ck_assert_int_eq(mem_ap_list(&b.ap, list, MEM_AP_LISTED + 1), BT_ERR_INVAL);
    ck_assert_int_eq(mem_ap_read32(&b.ap, MODEL_BASE + 0x100, &word), 0);
    ck_assert_uint_eq(word, 0x11223344);
    free(b.m);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("mem_ap");
    unit_case(s, "mem_ap: what it can do, and who is none", test_identify);
    unit_cases(s, "mem_ap: read any address and length", test_read_any, 0, 4);
    unit_cases(s, "mem_ap: write any address and length", test_write_any, 0, 2);
    unit_case(s, "mem_ap: no small writes where there are words only", test_words_only);
    unit_cases(s, "mem_ap: accesses of a given size, packed and not", test_sized, 0, 2);
    unit_case(s, "mem_ap: CSW and TAR are written when they change", test_caches);
    unit_cases(s, "mem_ap: where it failed", test_fault_address, 0, 2);
    unit_case(s, "mem_ap: plain reads outlive line errors", test_line_errors);
    unit_cases(s, "mem_ap: FIFO words are taken out once", test_fifo, 0, 2);
    unit_cases(s, "mem_ap: banked registers in one round trip", test_banked, 0, 2);
    unit_cases(s, "mem_ap: registers anywhere in one round trip", test_list, 0, 2);
    return s;
}
