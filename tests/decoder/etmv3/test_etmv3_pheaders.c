/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/etmv3/etmv3_headers.c. */
/* Tests decoder/etmv3/etmv3_frequent.c. */
/* ETMv3 model: atoms into P-headers, in both modes, all versions and every packing. */
#include <string.h>

#include "tests/support/etmv3_script_case.h"

#define CA ETMV3_CR_CYCLE_ACCURATE

/* E and N: one instruction each, '.' a cycle, when cycle-accurate. */
static void atoms(struct etmv3_script *s, const char *letters)
{
    s->cycles = 0;
    for (; *letters; letters++) {
        if (*letters == '.')
            etmv3_encoder_add_cycles(s->encoder, 1);
        else if (*letters == 'E')
            etmv3_script_run(s, A32_NOP);
        else
            etmv3_script_fail(s, A32_BEQ);
    }
}

START_TEST(test_pheaders_plain)
{
    static const struct {
        const char *atoms;
        const char *hex;
    } rows[] = {{"EEN", "C8"}, {"NE", "8A"}, {"EEEEEEEEEEEEEEEN", "FC"},    {"EE", "88"},
                {"EN", "C4"},  {"NN", "8E"}, {"EEEEEEEEEEEEEEEEE", "BC 88"}};
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    atoms(&s, rows[_i].atoms);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_pheaders_cycles)
{
    static const struct {
        uint8_t minor;
        const char *atoms;
        const char *hex;
    } rows[] = {
        {5, ".E.E.N", "C8"},    {5, ".NE", "8A"},     {5, "..", "A4"},
        {5, "...E", "E8"},      {5, ".EE", "82"},     {5, "E", "92"},
        {5, "N", "96"},         {2, "E", "84"},       {2, ".EEE", "82 84"},
        {2, "...EN", "A4 86"},  {3, ".EEE", "82 92"}, {5, "........................", "BC BC BC"},
        {5, "........E", "FC"}, {0, "...E", "E8"}};
    struct etmv3_script s;

    start_on(&s, CA, ETMV3_IDR_MINOR(ETMV3_IDR_A7, rows[_i].minor), 0x8000);
    atoms(&s, rows[_i].atoms);
    finish(&s, rows[_i].hex);
}
END_TEST

/* What a header unpacks to, straight from IHI 0014Q table 7-2 and table 7-3; false: reserved. */
static bool unpack(uint8_t h, bool cycles, unsigned minor, char *text)
{
    char *p = text + strlen(text);

    if ((h & 0xf3) == 0x82) {
        if (cycles)
            *p++ = '.';
        *p++ = h & 8 ? 'N' : 'E';
        *p++ = h & 4 ? 'N' : 'E';
    } else if (!cycles && (h & 0x83) == 0x80) {
        for (unsigned i = 0; i < (h >> 2 & 15u); i++)
            *p++ = 'E';
        if (h & 0x40)
            *p++ = 'N';
    } else if (cycles && h == 0x80) {
        *p++ = '.';
        *p = 0;
        return minor == 0;
    } else if (cycles && (h & 0xa3) == 0x80) {
        for (unsigned i = 0; i < (h >> 2 & 7u); i++) {
            *p++ = '.';
            *p++ = 'E';
        }
        if (h & 0x40) {
            *p++ = '.';
            *p++ = 'N';
        }
    } else if (cycles && (h & 0xa3) == 0xa0) {
        for (unsigned i = 0; i <= (h >> 2 & 7u); i++)
            *p++ = '.';
        if (h & 0x40)
            *p++ = 'E';
    } else if (cycles && (h & 0xfb) == 0x92) {
        *p++ = h & 4 ? 'N' : 'E';
        *p = 0;
        return minor >= 3;
    } else {
        return false;
    }
    *p = 0;
    return true;
}

/* Random packing: every legal header is used, none but legal ones, and the atoms come back. */
START_TEST(test_pheaders_random)
{
    static char wanted[8000];
    static char got[9000];
    struct trace_random random = {.state = 77};
    bool cycles = _i < 6;
    unsigned minor = cycles ? (unsigned)_i : 5;
    bool used[256] = {false};
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, cycles ? CA : 0, ETMV3_IDR_MINOR(ETMV3_IDR_A7, minor));
    o.packing = ETMV3_PACK_RANDOM;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_script_on(&s, 5);
    size_t mark = s.out.size;
    unsigned bare = 0;
    wanted[0] = got[0] = 0;
    for (size_t n = 0; n + 20 < sizeof wanted;) {
        bool bursts = trace_random_percent(&random, 60);
        unsigned idle = !cycles ? 0 : bursts ? 1 : trace_random_below(&random, 12);
        /* Before v3.3 a header holds at most two of one cycle, and begins with a W. */
        bare = idle ? 0 : bare + 1;
        if (cycles && minor < 3 && (bare > 1 || n == 0)) {
            idle = 1;
            bare = 0;
        }
        bool fail = trace_random_percent(&random, 20);
        for (unsigned i = 0; i < idle; i++)
            wanted[n++] = '.';
        wanted[n++] = fail ? 'N' : 'E';
        wanted[n] = 0;
        s.cycles = idle;
        fail ? etmv3_script_fail(&s, A32_BEQ) : etmv3_script_run(&s, A32_NOP);
    }
    etmv3_encoder_flush(s.encoder);
    for (size_t i = mark; i < s.out.size; i++) {
        used[s.out.data[i]] = true;
        ck_assert_msg(unpack(s.out.data[i], cycles, minor, got), "reserved header");
        ck_assert_uint_lt(strlen(got), sizeof got - 20);
    }
    if (!cycles || minor >= 3)
        ck_assert_str_eq(got, wanted);
    unsigned missing = 0;
    for (unsigned h = 0x84; h < 0x100; h += 2) {
        char text[40] = "";
        missing += unpack((uint8_t)h, cycles, minor, text) && !used[h];
    }
    /* Long runs of E are rare in random atoms; most headers must be there. */
    ck_assert_uint_le(missing, 12);
    etmv3_script_end(&s);
}
END_TEST

/* The same program in both modes: the same E and N, not more bytes without cycles. */
START_TEST(test_modes_agree)
{
    char text[2][64] = {"", ""};
    size_t size[2];

    for (unsigned mode = 0; mode < 2; mode++) {
        struct etmv3_script s;
        start_on(&s, mode ? CA : 0, ETMV3_IDR_A7, 0x8000);
        atoms(&s, mode ? ".E.EE...N.E.N.N" : "EEENENN");
        etmv3_encoder_flush(s.encoder);
        size[mode] = s.out.size - s.mark;
        for (size_t i = s.mark; i < s.out.size; i++)
            ck_assert(unpack(s.out.data[i], mode, 5, text[mode]));
        etmv3_script_end(&s);
    }
    ck_assert_str_eq(text[0], "EEENENN");
    ck_assert_str_eq(text[1], ".E.EE...N.E.N.N");
    ck_assert_uint_le(size[0], size[1]);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv3_pheaders");

    unit_cases(s, "etmv3_encoder: P-headers", test_pheaders_plain, 0, 7);
    unit_cases(s, "etmv3_encoder: cycle-accurate P-headers", test_pheaders_cycles, 0, 14);
    unit_cases(s, "etmv3_encoder: random packing", test_pheaders_random, 0, 7);
    unit_case(s, "etmv3_encoder: both modes give the same atoms", test_modes_agree);
    return s;
}
