/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/adi/adiv5.h"

#include "tests/drivers/adi/test_adiv5_model.h"
#include "tests/support/unit_main.h"

static const struct adiv5_connect_options SWD = {.wire = DEBUG_WIRE_SWD};

START_TEST(test_connect)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_dp(m, false);
    ck_assert_int_eq(adiv5_connect(&dp, &SWD), 0);
    ck_assert_uint_eq(dp.dpidr, MODEL_DPIDR);
    ck_assert_uint_eq(dp.version, 1);
    ck_assert_uint_eq(m->sequences, 1);
    adiv5_disconnect(&dp);
    ck_assert_uint_eq(m->ctrl_stat & 0xf0000000u, 0xf0000000u);
    free(m);
}
END_TEST

START_TEST(test_connect_dormant)
{
    struct model *m = model_new();
    m->dormant = true;
    struct adiv5_dp dp = model_dp(m, false);
    ck_assert_int_eq(adiv5_connect(&dp, &SWD), 0);
    ck_assert_uint_eq(m->sequences, 3);
    free(m);
}
END_TEST

START_TEST(test_connect_failures)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_dp(m, false);
    char text[160];
    m->unplugged = true;
    ck_assert_int_eq(adiv5_connect(&dp, &SWD), BT_ERR_IO);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_SILENT);
    ck_assert_ptr_nonnull(strstr(adiv5_describe(&dp, text, sizeof text), "check power and wiring"));
    m->unplugged = false;
    m->no_power = true;
    ck_assert_int_eq(adiv5_connect(&dp, &SWD), BT_ERR_IO);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_POWER);
    ck_assert_uint_gt(m->now, 1000000);
    ck_assert_uint_lt(m->now, 2000000);
    m->no_power = false;
    m->dpidr = 0x0be13477; /* version 3 */
    ck_assert_int_eq(adiv5_connect(&dp, &SWD), BT_ERR_UNSUPPORTED);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_VERSION);
    m->probe_error = BT_ERR_IO;
    ck_assert_int_eq(adiv5_connect(&dp, &SWD), BT_ERR_IO);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_PROBE);
    const struct adiv5_connect_options jtag = {.wire = DEBUG_WIRE_JTAG};
    ck_assert_int_eq(adiv5_connect(&dp, &jtag), BT_ERR_UNSUPPORTED);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_WIRE_KIND);
    free(m);
}
END_TEST

START_TEST(test_debug_power_only)
{
    struct model *m = model_new();
    m->debug_only = true;
    struct adiv5_dp dp = model_dp(m, false);
    ck_assert_int_eq(adiv5_connect(&dp, &SWD), 0);
    free(m);
}
END_TEST

START_TEST(test_connect_clears_errors)
{
    struct model *m = model_new();
    m->ctrl_stat = ADIV5_STICKYERR;
    struct adiv5_dp dp = model_dp(m, false);
    ck_assert_int_eq(adiv5_connect(&dp, &SWD), 0);
    ck_assert_uint_eq(m->ctrl_stat & ADIV5_STICKYERR, 0);
    free(m);
}
END_TEST

START_TEST(test_scan)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, _i != 0);
    struct adiv5_ap_info found[4];
    ck_assert_int_eq(adiv5_scan(&dp, found, 4), 2);
    ck_assert_uint_eq(found[0].ap, 0);
    ck_assert_uint_eq(found[0].idr, 0x24770011);
    ck_assert_uint_eq(found[1].ap, 2);
    ck_assert_uint_eq(found[1].idr, 0x44770002);
    ck_assert(adiv5_is_mem_ap(found[1].idr));
    ck_assert_str_eq(adiv5_ap_name(found[0].idr), "AHB3");
    ck_assert_str_eq(adiv5_ap_name(found[1].idr), "APB2/3");
    ck_assert_int_eq(adiv5_scan(&dp, found, 1), 1);
    free(m);
}
END_TEST

START_TEST(test_select_is_cached)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, false);
    uint32_t value;
    ck_assert_int_eq(adiv5_ap_read(&dp, 0, ADIV5_AP_IDR, &value), 0);
    unsigned before = m->accesses;
    ck_assert_int_eq(adiv5_ap_read(&dp, 0, ADIV5_AP_BASE, &value), 0);
    ck_assert_uint_eq(value, 0xe00ff003);
    ck_assert_uint_eq(m->accesses - before, 2); /* the read and RDBUFF: no SELECT */
    before = m->accesses;
    ck_assert_int_eq(adiv5_ap_read(&dp, 2, ADIV5_AP_BASE, &value), 0);
    ck_assert_uint_eq(value, 0x80000003);
    ck_assert_uint_eq(m->accesses - before, 3);
    free(m);
}
END_TEST

/* Lists over several banks, reads and writes mixed, give each value to its access. */
START_TEST(test_list)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, _i != 0);
    struct adiv5_access list[] = {
        {.address = ADIV5_AP_TAR, .write = true, .value = 0x20000010},
        {.address = ADIV5_AP_TAR},
        {.address = ADIV5_AP_IDR},
        {.address = ADIV5_AP_BASE},
        {.address = ADIV5_AP_CSW},
        {.address = ADIV5_AP_TAR, .write = true, .value = 0x20000020},
        {.address = ADIV5_AP_TAR},
        {.address = ADIV5_AP_TAR},
    };
    ck_assert_int_eq(adiv5_ap_list(&dp, 0, list, 8), 0);
    ck_assert_uint_eq(list[1].value, 0x20000010);
    ck_assert_uint_eq(list[2].value, 0x24770011);
    ck_assert_uint_eq(list[3].value, 0xe00ff003);
    ck_assert_uint_eq(list[4].value & 0x40, 0x40);
    ck_assert_uint_eq(list[6].value, 0x20000020);
    ck_assert_uint_eq(list[7].value, 0x20000020);
    ck_assert_int_eq(adiv5_ap_list(&dp, 0, list, ADIV5_MAX_LIST + 1), BT_ERR_INVAL);
    free(m);
}
END_TEST

START_TEST(test_long_list)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, true);
    struct adiv5_access list[ADIV5_MAX_LIST];
    for (unsigned k = 0; k < ADIV5_MAX_LIST; k++)
        list[k] = (struct adiv5_access){.address = k % 2 ? ADIV5_AP_IDR : ADIV5_AP_TAR};
    m->aps[0].tar = 0x1234;
    ck_assert_int_eq(adiv5_ap_list(&dp, 0, list, ADIV5_MAX_LIST), 0);
    for (unsigned k = 0; k < ADIV5_MAX_LIST; k++)
        ck_assert_uint_eq(list[k].value, k % 2 ? 0x24770011 : 0x1234);
    free(m);
}
END_TEST

START_TEST(test_wait_is_repeated)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, false);
    uint32_t value;
    model_inject(m, DEBUG_ACK_WAIT, 1, 3);
    ck_assert_int_eq(adiv5_ap_read(&dp, 0, ADIV5_AP_IDR, &value), 0);
    ck_assert_uint_eq(value, 0x24770011);
    model_inject(m, DEBUG_ACK_WAIT, 1, 9); /* one more than is tried */
    ck_assert_int_eq(adiv5_ap_read(&dp, 2, ADIV5_AP_IDR, &value), BT_ERR_IO);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_WAIT);
    /* In a list it is not repeated: the address may have moved on. */
    struct adiv5_access list[] = {{.address = ADIV5_AP_DRW}, {.address = ADIV5_AP_DRW}};
    unsigned generation = dp.generation;
    m->aps[0].tar = MODEL_BASE;
    model_inject(m, DEBUG_ACK_WAIT, 3, 1);
    ck_assert_int_eq(adiv5_ap_list(&dp, 0, list, 2), BT_ERR_IO);
    ck_assert_uint_eq(dp.failed_at, 1);
    ck_assert_uint_ne(dp.generation, generation);
    free(m);
}
END_TEST

START_TEST(test_fault_is_cleared)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, _i != 0);
    uint32_t value;
    char text[160];
    m->aps[0].tar = 0x10000000; /* nothing there */
    m->aps[0].csw = 0x42;
    struct adiv5_access list[] = {{.address = ADIV5_AP_TAR}, {.address = ADIV5_AP_DRW}};
    ck_assert_int_eq(adiv5_ap_list(&dp, 0, list, 2), BT_ERR_IO);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_FAULT);
    ck_assert_uint_eq(dp.failed_at, 1);
    ck_assert_uint_eq(list[0].value, 0x10000000);
    ck_assert_ptr_nonnull(strstr(adiv5_describe(&dp, text, sizeof text), "bus error"));
    ck_assert_int_eq(adiv5_ap_read(&dp, 0, ADIV5_AP_IDR, &value), 0);
    ck_assert_uint_eq(value, 0x24770011);
    free(m);
}
END_TEST

START_TEST(test_line_error)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, false);
    uint32_t value;
    model_inject(m, _i ? DEBUG_ACK_PROTOCOL : DEBUG_ACK_NONE, 0, 1);
    ck_assert_int_eq(adiv5_ap_read(&dp, 0, ADIV5_AP_IDR, &value), BT_ERR_IO);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_LINE);
    ck_assert_uint_eq(dp.line_errors, 1);
    ck_assert_int_eq(adiv5_ap_read(&dp, 0, ADIV5_AP_IDR, &value), 0);
    ck_assert_uint_eq(value, 0x24770011);
    model_inject(m, DEBUG_ACK_NONE, 0, 1);
    m->dpidr = 0x6ba02477;
    ck_assert_int_eq(adiv5_ap_read(&dp, 0, ADIV5_AP_IDR, &value), BT_ERR_IO);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_CHANGED);
    m->unplugged = true;
    ck_assert_int_eq(adiv5_ap_read(&dp, 0, ADIV5_AP_IDR, &value), BT_ERR_IO);
    ck_assert_int_eq(dp.failure, DEBUG_FAIL_SILENT);
    free(m);
}
END_TEST

START_TEST(test_blocks)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, _i != 0);
    uint32_t words[300];
    for (unsigned k = 0; k < 300; k++)
        words[k] = k * 0x01010101u;
    m->aps[0].csw = 0x42; /* no increment */
    m->aps[0].tar = MODEL_BASE;
    ck_assert_int_eq(adiv5_ap_block_write(&dp, 0, ADIV5_AP_DRW, words, 300), 0);
    ck_assert_uint_eq(m->word_accesses, 300);
    ck_assert_uint_eq(m->memory[0], 299 & 0xff);
    m->aps[0].csw = 0x52;
    m->aps[0].tar = MODEL_BASE + 16;
    ck_assert_int_eq(adiv5_ap_block_read(&dp, 0, ADIV5_AP_DRW, words, 200), 0);
    for (unsigned k = 0; k < 200; k++)
        ck_assert_uint_eq(words[k] & 0xff, m->memory[16 + 4 * k]);
    ck_assert_int_eq(adiv5_ap_block_read(&dp, 0, ADIV5_AP_DRW, words, 0), 0);
    free(m);
}
END_TEST

START_TEST(test_block_fault)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, false);
    uint32_t words[64];
    m->aps[0].csw = 0x52;
    m->aps[0].tar = MODEL_BASE + MODEL_SIZE - 40;
    ck_assert_int_eq(adiv5_ap_block_read(&dp, 0, ADIV5_AP_DRW, words, 10), 0);
    m->aps[0].tar = MODEL_BASE - 40;
    ck_assert_int_eq(adiv5_ap_block_read(&dp, 0, ADIV5_AP_DRW, words, 10), BT_ERR_IO);
    ck_assert_uint_eq(dp.failed_at, 0);
    model_inject(m, DEBUG_ACK_FAULT, 1 + 2 * 5, 1); /* a SELECT, five reads */
    m->aps[0].tar = MODEL_BASE;
    ck_assert_int_eq(adiv5_ap_block_read(&dp, 0, ADIV5_AP_DRW, words, 10), BT_ERR_IO);
    ck_assert_uint_eq(dp.failed_at, 5);
    free(m);
}
END_TEST

START_TEST(test_texts)
{
    for (int k = DEBUG_FAIL_NONE; k <= DEBUG_FAIL_TIMEOUT; k++) {
        const char *text = debug_failure_text((enum debug_failure)k);
        ck_assert_str_ne(text, "unknown failure");
        ck_assert(text[0] >= 'a' && text[0] <= 'z');
        for (int other = 0; other < k; other++)
            ck_assert_str_ne(text, debug_failure_text((enum debug_failure)other));
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("adiv5");
    unit_case(s, "adiv5: connect by JTAG to SWD, power up, disconnect", test_connect);
    unit_case(s, "adiv5: a dormant port is woken", test_connect_dormant);
    unit_case(s, "adiv5: words for each way connecting fails", test_connect_failures);
    unit_case(s, "adiv5: debug power alone is accepted", test_debug_power_only);
    unit_case(s, "adiv5: sticky errors of an earlier client are cleared",
              test_connect_clears_errors);
    unit_cases(s, "adiv5: scan finds APs behind gaps", test_scan, 0, 2);
    unit_case(s, "adiv5: SELECT is written when it changes", test_select_is_cached);
    unit_cases(s, "adiv5: list over several banks", test_list, 0, 2);
    unit_case(s, "adiv5: longest list on a posted link", test_long_list);
    unit_case(s, "adiv5: WAIT is repeated where it is safe", test_wait_is_repeated);
    unit_cases(s, "adiv5: FAULT is cleared and told", test_fault_is_cleared, 0, 2);
    unit_cases(s, "adiv5: line errors, other target, unplugged", test_line_error, 0, 2);
    unit_cases(s, "adiv5: blocks", test_blocks, 0, 2);
    unit_case(s, "adiv5: block that fails in the middle", test_block_fault);
    unit_case(s, "adiv5: every failure has its own words", test_texts);
    return s;
}
