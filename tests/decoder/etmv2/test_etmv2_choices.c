/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv1 and ETMv2: what their specifications leave open is set by keys of a recording's device
 * file. Each key reaches the decoder, and a value that is none is refused with a reason. What the
 * values mean for the stream: tests/cases/etmv1-choices.case and etmv2-choices.case.
 */
#include "server/protocols/source_device.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <string.h>

struct key {
    const char *name;
    uint64_t good;
    uint64_t bad;
    size_t at; /* of the byte in the configuration that becomes `good` */
};

#define V2(field) offsetof(struct etmv2_config, field)
#define V1(field) offsetof(struct etmv1_config, field)

static const struct key v2_keys[] = {
    {"TFO_HEADER", 0x20, 0x76, V2(tfo_header)},  {"TFO_HEADER", 0x56, 0x66, V2(tfo_header)},
    {"TFO_HEADER", 0x71, 0x85, V2(tfo_header)},  {"TFO_HEADER", 0x04, 0x07, V2(tfo_header)},
    {"TFO_VALUE", 1, 2, V2(tfo_straight)},       {"GROUP_LATENCY", 1, 2, V2(late_group)},
    {"TFO4_CYCLES", 2, 3, V2(tfo4_extra)},       {"TFO4_CYCLES", 1, 0, V2(tfo4_extra)},
    {"WAIT_CODE", 1, 3, V2(wait_zeros)},         {"TRIGGER_TFO", 1, 256, V2(tfo_in_trigger)},
    {"MISS_TAG0", 1, 2, V2(no_tag_reserved)},    {"WORD_ORDER", 1, 2, V2(high_word_first)},
    {"PIPESTAT3", 1, 2, V2(status_together)},    {"VALUE_ORDER", 1, 2, V2(big_endian)},
    {"ABORT_STATUS", 1, 2, V2(abort_no_status)},
};

static const struct key v1_keys[] = {
    {"HOLD_SINGLE", 1, 2, V1(hold_single)},     {"DATA_LATENCY", 1, 2, V1(late_data)},
    {"VALUE_ORDER", 1, 2, V1(big_endian)},      {"VALUE_ORDER", 0, 0x100, V1(big_endian)},
    {"SWP_ADDRESSES", 1, 2, V1(swp_addresses)}, {"CPRT_VALUES", 1, 2, V1(cprt_values)},
    {"TD_IDLE", 1, UINT64_MAX, V1(idle_high)},
};

/* Configures a source with one key; BT_OK or an error with *why. */
static int configure(bool v2, const char *name, uint64_t value, struct stream_config *config,
                     struct message *why)
{
    struct snapshot_reg sctlr = {.name = "SCTLR", .size = 32, .value = 0x80};
    struct snapshot_reg regs[] = {{.name = "ETMCR", .size = 32, .value = 0x10},
                                  {.name = "ETMIDR", .size = 32, .value = 0x41000110},
                                  {.name = name, .size = 64, .value = value}};
    struct snapshot_device core = {.name = "cpu", .regs = &sctlr, .reg_count = 1};
    struct snapshot_device d = {.name = "etm",
                                .path = "etm.ini",
                                .type = v2 ? "ETM2.1" : "ETM1.3",
                                .regs = regs,
                                .reg_count = 3};
    unsigned id = 0;
    memset(config, 0, sizeof *config);
    memset(why, 0, sizeof *why);
    return source_device_configure(v2 ? &source_etmv2 : &source_etmv1, &d, &core, config, &id, why);
}

static void check_key(bool v2, const struct key *k)
{
    struct stream_config config;
    struct message why;
    ck_assert_int_eq(configure(v2, k->name, k->good, &config, &why), BT_OK);
    const void *fields = v2 ? (const void *)&config.etmv2 : (const void *)&config.etmv1;
    ck_assert_uint_eq(((const uint8_t *)fields)[k->at], k->good);
    ck_assert_int_eq(configure(v2, k->name, k->bad, &config, &why), BT_ERR_FORMAT);
    char start[80];
    snprintf(start, sizeof start, "etm.ini: %s is 0x%llx, but must be ", k->name,
             (unsigned long long)k->bad);
    ck_assert_msg(strncmp(why.text, start, strlen(start)) == 0, "%s", why.text);
}

START_TEST(each_key_of_etmv2)
{
    check_key(true, &v2_keys[_i]);
}
END_TEST

START_TEST(each_key_of_etmv1)
{
    check_key(false, &v1_keys[_i]);
}
END_TEST

/* All keys missing: the choices that is preferred. */
START_TEST(defaults)
{
    struct stream_config config;
    struct message why;
    ck_assert_int_eq(configure(true, "OTHER", 1, &config, &why), BT_OK);
    for (size_t i = 0; i < sizeof v2_keys / sizeof *v2_keys; i++)
        ck_assert_uint_eq(((const uint8_t *)&config.etmv2)[v2_keys[i].at], 0);
    ck_assert_uint_eq(config.etmv2.status_codes, 0);
    ck_assert_int_eq(configure(false, "OTHER", 1, &config, &why), BT_OK);
    for (size_t i = 0; i < sizeof v1_keys / sizeof *v1_keys; i++)
        if (v1_keys[i].at != V1(big_endian))
            ck_assert_uint_eq(((const uint8_t *)&config.etmv1)[v1_keys[i].at], 0);
    ck_assert(config.etmv1.big_endian); /* as the core's SCTLR says */
}
END_TEST

START_TEST(status_codes)
{
    static const struct {
        uint64_t codes;
        bool good;
    } table[] = {
        {0xfedcba9876543210, true},  {0xba98fedc76543120, true},  {0xfedcba9876543211, false},
        {0xfedcba9867543210, false}, {0x7edcba98f6543210, false}, {0, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct stream_config config;
        struct message why;
        int error = configure(true, "STATUS_CODES", table[i].codes, &config, &why);
        ck_assert_int_eq(error, table[i].good ? BT_OK : BT_ERR_FORMAT);
        if (table[i].good)
            ck_assert_uint_eq(config.etmv2.status_codes, table[i].codes);
        else
            ck_assert_ptr_nonnull(strstr(why.text, "etm.ini: STATUS_CODES is 0x"));
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("choices");
    unit_cases(s, "etmv2: a key for each choice, and what it must be", each_key_of_etmv2, 0,
               (int)(sizeof v2_keys / sizeof *v2_keys));
    unit_cases(s, "etmv1: a key for each choice, and what it must be", each_key_of_etmv1, 0,
               (int)(sizeof v1_keys / sizeof *v1_keys));
    unit_case(s, "etmv1, etmv2: no keys: the choices that are preferred", defaults);
    unit_case(s, "etmv2: STATUS_CODES must be a table of the statuses", status_codes);
    return s;
}
