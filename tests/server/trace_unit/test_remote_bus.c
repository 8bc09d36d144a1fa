/* SPDX-License-Identifier: BSD-3-Clause */
/* A CoreSight bus on memory packets: the packets, words in both orders, refusals, silence. */
#include "server/trace_unit/remote_bus.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/fake_remote.h"
#include "tests/support/unit_main.h"

#define BASE    0x40000000u
#define SIZE    4096u
#define REFUSED (BASE + 0x800) /* and all behind it */
#define FIFO    (BASE + 0x10)  /* counts its reads */

static struct {
    struct fake_remote f;
    struct remote_bus b;
    uv_loop_t loop;
    uv_check_t server;
    uv_work_t work;
    uint8_t memory[SIZE];
    uint8_t reads;
    unsigned packets;
    bool silent;
    void (*user)(struct coresight_bus *bus);
} t;

/* The other server, between two rounds of the loop. */

static void answer_read(unsigned address, unsigned len)
{
    char text[2 * SIZE + 1] = "E01";
    if (address == FIFO)
        t.memory[FIFO - BASE] = ++t.reads;
    for (unsigned i = 0; i < len && address + len <= REFUSED; i++)
        snprintf(text + 2 * i, 3, "%02x", t.memory[address - BASE + i]);
    fake_server_sends_packet(&t.f, text);
}

static void answer_write(unsigned address, unsigned len, const char *digits)
{
    bool good = address + len <= REFUSED;
    for (unsigned i = 0; i < len && good; i++) {
        unsigned byte = 0;
        sscanf(digits + 2 * i, "%2x", &byte);
        t.memory[address - BASE + i] = (uint8_t)byte;
    }
    fake_server_sends_packet(&t.f, good ? "OK" : "E0e");
}

static void on_check(uv_check_t *check)
{
    (void)check;
    for (;;) {
        unsigned address, len;
        char packet[4 * SIZE];
        snprintf(packet, sizeof packet, "%s", fake_server_got(&t.f));
        if (strcmp(packet, "(none)") == 0 || t.silent)
            return;
        if (packet[0] == 'H') {
            fake_server_sends_packet(&t.f, "OK");
            continue;
        }
        t.packets++;
        ck_assert_ptr_null(strchr(packet, '|'));
        ck_assert_int_eq(sscanf(packet + 1, "%x,%x", &address, &len), 2);
        ck_assert_uint_eq((address | len) % 4, 0);
        if (packet[0] == 'm')
            answer_read(address, len);
        else
            answer_write(address, len, strchr(packet, ':') + 1);
    }
}

/* The user's thread. */

static void work(uv_work_t *w)
{
    (void)w;
    remote_bus_begin(&t.b);
    t.user(&t.b.bus);
}

static void after(uv_work_t *w, int status)
{
    (void)w, (void)status;
    remote_bus_stop(&t.b);
    uv_close((uv_handle_t *)&t.server, NULL);
}

static void run(void (*user)(struct coresight_bus *bus), bool big_endian)
{
    t.user = user;
    fake_remote_init(&t.f);
    fake_remote_connect(&t.f);
    ck_assert_int_eq(uv_loop_init(&t.loop), 0);
    uv_check_init(&t.loop, &t.server);
    uv_check_start(&t.server, on_check);
    for (unsigned i = 0; i < SIZE; i++)
        t.memory[i] = (uint8_t)(i ^ i >> 8);
    ck_assert_int_eq(remote_bus_open(&t.b, &t.loop, t.f.u, 100, big_endian), BT_OK);
    uv_queue_work(&t.loop, &t.work, work, after);
    uv_run(&t.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&t.loop), 0);
    fake_remote_release(&t.f);
    remote_bus_close(&t.b);
}

static uint32_t little(unsigned at)
{
    const uint8_t *p = t.memory + at;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void read_and_write(struct coresight_bus *bus)
{
    uint32_t words[400];
    ck_assert_int_eq(bus->ops->read(bus, BASE + 0x100, words, 400), BT_OK);
    for (unsigned i = 0; i < 400; i++)
        ck_assert_uint_eq(words[i], little(0x100 + 4 * i));
    words[0] = 0x11223344;
    ck_assert_int_eq(bus->ops->write(bus, BASE + 0x100, words, 400), BT_OK);
    ck_assert_uint_eq(t.memory[0x100], 0x44);
    ck_assert_uint_eq(t.memory[0x103], 0x11);
    ck_assert_int_eq(coresight_modify(bus, BASE + 0x100, 0xff, 0x55), BT_OK);
    ck_assert_uint_eq(little(0x100), 0x11223355);
    ck_assert_int_eq(bus->failure, DEBUG_FAIL_NONE);
}

START_TEST(plain_words)
{
    run(read_and_write, false);
}
END_TEST

static void read_fifo(struct coresight_bus *bus)
{
    uint32_t words[9];
    ck_assert_int_eq(bus->ops->read_fifo(bus, FIFO, words, 9), BT_OK);
    for (unsigned i = 0; i < 9; i++)
        ck_assert_uint_eq(words[i] & 0xff, i + 1);
    ck_assert_uint_eq(t.packets, 9);
}

START_TEST(fifo)
{
    run(read_fifo, false);
}
END_TEST

static void big_endian_words(struct coresight_bus *bus)
{
    uint32_t word = 0x11223344;
    ck_assert_int_eq(bus->ops->write(bus, BASE, &word, 1), BT_OK);
    ck_assert_uint_eq(t.memory[0], 0x11);
    ck_assert_int_eq(bus->ops->read(bus, BASE, &word, 1), BT_OK);
    ck_assert_uint_eq(word, 0x11223344);
}

START_TEST(big_endian)
{
    run(big_endian_words, true);
}
END_TEST

/* A register that is refused is not asked for again, in smaller pieces or whole. */
static void refused_words(struct coresight_bus *bus)
{
    uint32_t words[2] = {0};
    ck_assert_int_eq(bus->ops->read(bus, REFUSED + 4, words, 1), BT_ERR_IO);
    ck_assert_uint_eq(t.packets, 1);
    ck_assert_int_eq(bus->failure, DEBUG_FAIL_FAULT);
    ck_assert_uint_eq(bus->fault_address, REFUSED + 4);
    ck_assert_int_eq(bus->ops->write(bus, REFUSED + 8, words, 1), BT_ERR_IO);
    ck_assert_uint_eq(t.packets, 2);
    ck_assert_uint_eq(bus->fault_address, REFUSED + 8);
    ck_assert_int_eq(bus->ops->read(bus, BASE, words, 2), BT_OK);
}

START_TEST(refused)
{
    run(refused_words, false);
}
END_TEST

static void silent_server(struct coresight_bus *bus)
{
    uint32_t word;
    t.silent = true;
    ck_assert_int_eq(bus->ops->read(bus, BASE, &word, 1), BT_ERR_IO);
    ck_assert_int_eq(bus->failure, DEBUG_FAIL_TIMEOUT);
    /* The rest fails without that patience. */
    uint64_t start = uv_hrtime();
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(bus->ops->read(bus, BASE, &word, 1), BT_ERR_IO);
    ck_assert_uint_lt((uv_hrtime() - start) / 1000000, 100);
    ck_assert_int_eq(bus->failure, DEBUG_FAIL_PROBE);
}

START_TEST(silence)
{
    run(silent_server, false);
}
END_TEST

static uv_async_t breaker;

static void break_connection(uv_async_t *async)
{
    gdb_remote_disconnected(t.f.u);
    uv_close((uv_handle_t *)async, NULL);
}

static void broken_connection(struct coresight_bus *bus)
{
    uint32_t word;
    t.silent = true;
    uv_async_send(&breaker);
    ck_assert_int_eq(bus->ops->read(bus, BASE, &word, 1), BT_ERR_IO);
    ck_assert_int_eq(bus->ops->write(bus, BASE, &word, 1), BT_ERR_IO);
}

START_TEST(lost_connection)
{
    ck_assert_int_eq(uv_loop_init(&t.loop), 0);
    uv_async_init(&t.loop, &breaker, break_connection);
    t.user = broken_connection;
    fake_remote_init(&t.f);
    fake_remote_connect(&t.f);
    uv_check_init(&t.loop, &t.server);
    ck_assert_int_eq(remote_bus_open(&t.b, &t.loop, t.f.u, 5000, false), BT_OK);
    uv_queue_work(&t.loop, &t.work, work, after);
    uv_run(&t.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&t.loop), 0);
    fake_remote_release(&t.f);
    remote_bus_close(&t.b);
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *test)
{
    TCase *c = tcase_create(name);
    tcase_add_test(c, test);
    suite_add_tcase(suite, c);
}

Suite *unit_suite(void)
{
    Suite *suite = suite_create("remote_bus");
    add(suite, "remote_bus: words", plain_words);
    add(suite, "remote_bus: the same register again and again", fifo);
    add(suite, "remote_bus: big endian", big_endian);
    add(suite, "remote_bus: refused", refused);
    add(suite, "remote_bus: silence", silence);
    add(suite, "remote_bus: lost connection", lost_connection);
    return suite;
}
