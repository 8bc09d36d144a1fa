/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/session/gdb_xfer.c. */
/* Branch trace packets: enabling, size, documents and their chunks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_gdb_target.h"
#include "tests/support/unit_main.h"

static struct fake_wire w;

static void setup(void)
{
    fake_wire_init(&w);
    fake_wire_open(&w);
}

static void teardown(void)
{
    fake_wire_release(&w);
}

#define ASK(packet, reply) ck_assert_str_eq(fake_ask(&w, packet), reply)
#define LOG(text)          ck_assert_str_eq(fake_log(&w), text)

#define HEAD "<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n<btrace version=\"1.0\">\n"
#define TAIL "</btrace>\n"
#define CONF "<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n<btrace-conf version=\"1.0\">\n"

START_TEST(enable_and_disable)
{
    ASK("Qbtrace:bts", "OK");
    ASK("Qbtrace:bts", "OK");
    ASK("Hg2", "OK");
    ASK("Qbtrace:bts", "OK");
    ASK("Qbtrace:off", "OK");
    LOG("enable 0;enable 0;enable 1;disable 1;");
    w.target.result = BT_ERR_INVAL;
    w.target.why = "ETF not present";
    ASK("Qbtrace:bts", "E.ETF not present");
    w.target.why = NULL;
    ASK("Qbtrace:bts", "E.value out of its allowed range");
    ASK("Qbtrace:off", "OK");
    ASK("Qbtrace:pt", "E.only the bts format is available");
    ASK("Qbtrace:", "E.only the bts format is available");
    ASK("Qbtrace:btsx", "E.only the bts format is available");
}
END_TEST

START_TEST(buffer_size)
{
    ASK("Qbtrace-conf:bts:size=0x10000", "OK");
    ASK("Qbtrace-conf:bts:size=2000", "OK");
    ASK("Qbtrace-conf:bts:size=0xffffffff", "OK");
    ASK("Qbtrace-conf:bts:size=0x0", "OK");
    ASK("Qbtrace-conf:bts:size=0x1234567890", "OK");
    LOG("size 10000;size 2000;size ffffffff;size ffffffff;size ffffffff;");
    /* What the target has clamped it to, and again in the next recording. */
    ASK("Qbtrace:bts", "OK");
    ASK("qXfer:btrace-conf:read::0,1000", "l" CONF "<bts size=\"0x100000\"/>\n</btrace-conf>\n");
    ASK("Qbtrace:off", "OK");
    ASK("Qbtrace:bts", "OK");
    ASK("qXfer:btrace-conf:read::0,1000", "l" CONF "<bts size=\"0x100000\"/>\n</btrace-conf>\n");
    static const char *const bad[] = {
        "Qbtrace-conf:bts:size",     "Qbtrace-conf:bts:size=",   "Qbtrace-conf:bts:size=0x",
        "Qbtrace-conf:bts:size=12x", "Qbtrace-conf:bts:other=1", "Qbtrace-conf:bts:"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ASK(bad[i], "E01");
    ASK("Qbtrace-conf:pt:size=0x1000", "");
}
END_TEST

START_TEST(configuration_document)
{
    ASK("qXfer:btrace-conf:read::0,1000", "l" CONF "</btrace-conf>\n");
    w.target.recording[1] = true;
    ASK("qXfer:btrace-conf:read::0,1000", "l" CONF "</btrace-conf>\n");
    ASK("Hg2", "OK");
    ASK("qXfer:btrace-conf:read::0,1000", "l" CONF "<bts size=\"0x4000\"/>\n</btrace-conf>\n");
    ASK("qXfer:btrace-conf:read:x:0,1000", "E01");
}
END_TEST

static const struct gdb_btrace_block three[] = {
    {0x600100a0, 0x600100b0}, {0x1, 0x0}, {0x0, 0x6001008c}};

START_TEST(trace_document)
{
    ASK("qXfer:btrace:read:all:0,1000", "l" HEAD TAIL);
    w.target.blocks = three;
    w.target.block_count = 3;
    ASK("qXfer:btrace:read:all:0,1000",
        "l" HEAD "<block begin=\"0x600100a0\" end=\"0x600100b0\"/>\n"
        "<block begin=\"0x1\" end=\"0x0\"/>\n"
        "<block begin=\"0x0\" end=\"0x6001008c\"/>\n" TAIL);
    ASK("Hg2", "OK");
    fake_ask(&w, "qXfer:btrace:read:new:0,1000");
    fake_ask(&w, "qXfer:btrace:read:delta:0,1000");
    LOG("read 0 0;delivered 0 0;read 0 0;delivered 0 0;read 1 1;delivered 1 1;read 1 2;"
        "delivered 1 2;");
    static const char *const bad[] = {"qXfer:btrace:read::0,1000", "qXfer:btrace:read:al:0,1000",
                                      "qXfer:btrace:read:all0,1000", "qXfer:btrace:read:all:0,0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ASK(bad[i], "E01");
    LOG("");
}
END_TEST

START_TEST(failed_annex)
{
    w.target.result = BT_ERR_UNSUPPORTED;
    ASK("qXfer:btrace:read:delta:0,1000", "E01");
    w.target.result = BT_ERR_RANGE;
    ASK("qXfer:btrace:read:all:0,1000", "E0e");
    LOG("read 0 2;read 0 0;");
    ASK("qXfer:btrace:read:all:10,1000", "E01");
}
END_TEST

/* GDB aborts on such a delta: it must not leave the server. */
START_TEST(delta_that_kills_gdb)
{
    static const struct gdb_btrace_block wrong[] = {{0x0, 0x8010}, {0x8000, 0x8004}};
    static const struct gdb_btrace_block gap[] = {{0x9000, 0x9000}, {0x1, 0x0}};
    w.target.blocks = wrong;
    w.target.block_count = 2;
    ASK("qXfer:btrace:read:delta:0,1000", "E01");
    w.target.blocks = gap;
    ASK("qXfer:btrace:read:delta:0,1000", "E01");
    ck_assert_int_eq(fake_ask(&w, "qXfer:btrace:read:new:0,1000")[0], 'l');
    w.target.block_count = 0;
    ASK("qXfer:btrace:read:delta:0,1000", "l" HEAD TAIL);
    LOG("read 0 2;read 0 2;read 0 1;delivered 0 1;read 0 2;delivered 0 2;");
}
END_TEST

#define MANY 3000

static const struct gdb_btrace_block *many_blocks(void)
{
    static struct gdb_btrace_block blocks[MANY];
    for (int i = 0; i < MANY; i++)
        blocks[i] = (struct gdb_btrace_block){(uint64_t)i * 0x1234567 & 0xffffffff,
                                              (uint64_t)i * 0x7654321 & 0xffffffff};
    return blocks;
}

/* Reads as GDB does: on at what it has, until 'l'. */
static void read_document(struct text_buf *out, const char *annex, size_t chunk)
{
    char packet[80];
    char kind;
    text_buf_clear(out);
    do {
        snprintf(packet, sizeof(packet), "qXfer:btrace:read:%s:%zx,%zx", annex, out->len, chunk);
        const char *reply = fake_ask(&w, packet);
        kind = reply[0];
        ck_assert(kind == 'l' || (kind == 'm' && strlen(reply) > 1));
        ck_assert_uint_le(strlen(reply), chunk + 1);
        text_buf_puts(out, reply + 1);
    } while (kind != 'l');
}

START_TEST(chunks_make_the_same_document)
{
    static const size_t chunks[] = {0xfb, 0x3fb, 0x1000, 0x3fff, 0xffffffff};
    struct text_buf first;
    struct text_buf next;
    text_buf_init(&first);
    text_buf_init(&next);
    w.target.blocks = many_blocks();
    w.target.block_count = MANY;
    read_document(&first, "all", 1);
    ck_assert_uint_gt(first.len, MANY * 30);
    for (size_t i = 0; i < sizeof(chunks) / sizeof(*chunks); i++) {
        read_document(&next, "all", chunks[i]);
        ck_assert_str_eq(next.data, first.data);
    }
    LOG("read 0 0;delivered 0 0;read 0 0;delivered 0 0;read 0 0;delivered 0 0;read 0 0;"
        "delivered 0 0;read 0 0;delivered 0 0;read 0 0;delivered 0 0;");
    text_buf_release(&first);
    text_buf_release(&next);
}
END_TEST

/* The mark moves with the last chunk only. */
START_TEST(mark_of_delivery)
{
    w.target.blocks = three;
    w.target.block_count = 3;
    ck_assert_int_eq(fake_ask(&w, "qXfer:btrace:read:delta:0,20")[0], 'm');
    ck_assert_int_eq(fake_ask(&w, "qXfer:btrace:read:delta:20,20")[0], 'm');
    LOG("read 0 2;");
    ck_assert_int_eq(fake_ask(&w, "qXfer:btrace:read:delta:40,1000")[0], 'l');
    LOG("delivered 0 2;");
    ASK("qXfer:btrace:read:delta:1000,1000", "l");
    ASK("qXfer:btrace:read:delta:ffffffffffffffff,1000", "l");
    LOG("");
    ck_assert_int_eq(fake_ask(&w, "qXfer:btrace:read:delta:0,20")[0], 'm');
    LOG("read 0 2;");
}
END_TEST

START_TEST(frozen_documents)
{
    struct text_buf want;
    text_buf_init(&want);
    w.target.blocks = three;
    w.target.block_count = 3;
    read_document(&want, "all", 0x1000);
    char first = fake_ask(&w, "qXfer:btrace:read:all:0,10")[0];
    ck_assert_int_eq(first, 'm');
    w.target.block_count = 1;
    const char *rest = fake_ask(&w, "qXfer:btrace:read:all:10,1000");
    ck_assert_str_eq(rest + 1, want.data + 0x10);
    /* Offset 0 makes a new one. */
    ck_assert_uint_lt(strlen(fake_ask(&w, "qXfer:btrace:read:all:0,1000")), want.len);
    /* No chunks of another annex, of another thread, or from before a resume. */
    fake_ask(&w, "qXfer:btrace:read:all:0,10");
    ASK("qXfer:btrace:read:new:10,1000", "E01");
    ASK("Hg2", "OK");
    ASK("qXfer:btrace:read:all:10,1000", "E01");
    ASK("Hg1", "OK");
    ck_assert_int_eq(fake_ask(&w, "qXfer:btrace:read:all:10,10")[0], 'm');
    ASK("vCont;s:1", "T05thread:1;");
    ASK("qXfer:btrace:read:all:10,1000", "E01");
    fake_ask(&w, "qXfer:btrace:read:all:0,10");
    ASK("Qbtrace:off", "OK");
    ASK("qXfer:btrace:read:all:10,1000", "E01");
    text_buf_release(&want);
}
END_TEST

START_TEST(block_lists)
{
    struct gdb_btrace_blocks b = {.block = NULL};
    for (uint64_t i = 0; i < 1000; i++)
        ck_assert_int_eq(gdb_btrace_blocks_add(&b, i, i + 4), BT_OK);
    ck_assert_int_eq(gdb_btrace_blocks_add_gap(&b), BT_OK);
    ck_assert_int_eq(gdb_btrace_blocks_add_gap(&b), BT_OK);
    ck_assert_uint_eq(b.count, 1001);
    ck_assert_uint_eq(b.block[999].end, 1003);
    ck_assert_uint_eq(b.block[1000].begin, 1);
    ck_assert_uint_eq(b.block[1000].end, 0);
    free(b.block);
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test);
    suite_add_tcase(suite, tc);
}

Suite *unit_suite(void)
{
    Suite *suite = suite_create("gdb_btrace");
    add(suite, "gdb_btrace: Qbtrace:bts and :off, with texts", enable_and_disable);
    add(suite, "gdb_btrace: buffer size, clamped and kept", buffer_size);
    add(suite, "gdb_btrace: btrace-conf document", configuration_document);
    add(suite, "gdb_btrace: btrace document", trace_document);
    add(suite, "gdb_btrace: an annex that fails", failed_annex);
    add(suite, "gdb_btrace: a delta must begin at 0", delta_that_kills_gdb);
    add(suite, "gdb_btrace: all chunk lengths make one document", chunks_make_the_same_document);
    add(suite, "gdb_btrace: delivered with the last chunk only", mark_of_delivery);
    add(suite, "gdb_btrace: documents are frozen at offset 0", frozen_documents);
    add(suite, "gdb_btrace: lists of blocks, gaps merged", block_lists);
    return suite;
}
