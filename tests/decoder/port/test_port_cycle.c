/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts of a captured trace port: worked example E19 of ETMv1, and all formats. */
#include "decoder/port/port_cycle.h"
#include "tests/support/unit_main.h"

static size_t read_all(struct port_reader *r, const uint8_t *data, size_t len,
                       struct port_cycle *out)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        n += port_peek(r, data[i], &out[n]);
        port_take(r, data[i]);
    }
    return n;
}

static void start(struct port_reader *r, unsigned bits, enum port_layout layout)
{
    struct port_format format = {(uint8_t)bits, (uint8_t)layout};
    ck_assert_int_eq(port_reader_init(r, &format), BT_OK);
}

static void check(const struct port_cycle *c, unsigned status, unsigned pkt, unsigned high)
{
    ck_assert_uint_eq(c->status, status);
    ck_assert_uint_eq(c->pkt, pkt);
    ck_assert_uint_eq(c->high, high);
}

START_TEST(test_etb_words)
{
    static const uint8_t word8[4] = {0x04, 0x0c, 0x40, 0x00};
    static const uint8_t word4[4] = {0xa4, 0x50, 0x13, 0x00};
    static const uint8_t word16[4] = {0x24, 0x36, 0x0e, 0x00};
    struct port_reader r;
    struct port_cycle c[4];
    start(&r, 8, PORT_ETB);
    ck_assert_uint_eq(read_all(&r, word8, 4, c), 2);
    check(&c[0], 4, 0x80, 1);
    check(&c[1], 0, 0x80, 0);
    start(&r, 4, PORT_ETB);
    ck_assert_uint_eq(read_all(&r, word4, 4, c), 3);
    check(&c[0], 4, 0x4, 1);
    check(&c[1], 0, 0xa, 0);
    check(&c[2], 3, 0x2, 0);
    start(&r, 16, PORT_ETB);
    ck_assert_uint_eq(read_all(&r, word16, 4, c), 1);
    check(&c[0], 4, 0xc6c4, 1);
}
END_TEST

/* Every cycle is found at the offset that port_cycle_offset() gives for its number. */
START_TEST(test_offsets)
{
    static const unsigned bits[3] = {4, 8, 16};
    unsigned layout = (unsigned)_i / 3, width = bits[_i % 3];
    struct port_reader r;
    struct port_cycle c;
    start(&r, width, (enum port_layout)layout);
    uint64_t found = 0;
    for (unsigned i = 0; i < 64; i++) {
        if (port_peek(&r, 0xff, &c)) {
            uint64_t at = port_cycle_offset(&r.format, found);
            ck_assert_uint_eq(r.cycles, found);
            ck_assert_uint_eq(at + port_cycle_size(&r.format) - 1, i);
            found++;
        }
        port_take(&r, 0xff);
        ck_assert_uint_eq(r.cycles, found);
    }
    ck_assert_uint_gt(found, 15);
    port_take(&r, 0xff);
    port_reader_restart(&r);
    ck_assert_uint_eq(r.base, 65);
    ck_assert_uint_eq(r.cycles, 0);
    ck_assert_int_eq(port_peek(&r, 0, &c), width == 4);
}
END_TEST

START_TEST(test_no_such_port)
{
    static const struct port_format bad[] = {
        {0, PORT_ETB}, {5, PORT_ETB}, {32, PORT_ETB}, {8, PORT_LAYOUTS}};
    struct port_reader r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(port_reader_init(&r, &bad[i]), BT_ERR_INVAL);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("port_cycle");
    TCase *t = tcase_create("port_cycle: ETB words of E19");
    tcase_add_test(t, test_etb_words);
    suite_add_tcase(s, t);
    t = tcase_create("port_cycle: where each cycle is, in every layout");
    tcase_add_loop_test(t, test_offsets, 0, 6);
    suite_add_tcase(s, t);
    t = tcase_create("port_cycle: sizes that no port has");
    tcase_add_test(t, test_no_such_port);
    suite_add_tcase(s, t);
    return s;
}
