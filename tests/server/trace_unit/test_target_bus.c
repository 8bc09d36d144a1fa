/* SPDX-License-Identifier: BSD-3-Clause */
/* A CoreSight bus over a target: its requests, words in both orders, refusals, silence. */
#include "server/trace_unit/target_bus.h"

#include <string.h>

#include "tests/support/unit_main.h"

#define BASE        0x40000000u
#define SIZE        4096u
#define REFUSED     (BASE + 0x800) /* and all behind it */
#define FIFO        (BASE + 0x10)  /* counts its reads */
#define DEADLINE_MS 100

static struct {
    struct target target;
    struct target_bus b;
    uv_loop_t loop;
    uv_timer_t clock;
    uv_work_t work;
    uint8_t memory[SIZE];
    uint8_t reads;
    unsigned requests;
    bool silent, lost;
    void (*user)(struct coresight_bus *bus);
} t;

/* The target. */

static void fake_start(struct target *target, const struct target_request *r)
{
    size_t room = r->address < REFUSED ? (size_t)(REFUSED - r->address) : 0;
    t.requests++;
    ck_assert(r->device);
    ck_assert_uint_eq((r->address | r->length) % 4, 0);
    if (t.silent)
        return;
    if (r->address == FIFO)
        t.memory[FIFO - BASE] = ++t.reads;
    struct target_answer a = {.error = room ? BT_OK : BT_ERR_RANGE};
    if (r->kind == TARGET_WRITE_MEMORY && r->length <= room)
        memcpy(t.memory + (r->address - BASE), r->bytes, r->length);
    else if (r->kind == TARGET_WRITE_MEMORY)
        a.error = BT_ERR_RANGE;
    if (r->kind == TARGET_READ_MEMORY && room) {
        a.bytes = t.memory + (r->address - BASE);
        a.length = r->length < room ? r->length : room;
    }
    target_answered(target, &a);
}

static void on_event(void *ctx)
{
    (void)ctx;
}

static void on_ready(void *ctx, int error)
{
    (void)ctx, (void)error;
}

static const struct target_ops fake_ops = {.start = fake_start};
static const struct target_events fake_events = {.ready = on_ready, .lost = on_event};

static void on_clock(uv_timer_t *clock)
{
    (void)clock;
    target_tick(&t.target, uv_hrtime() / 1000000);
    if (t.lost)
        target_lost(&t.target, BT_ERR_IO);
}

/* The user's thread. */

static void work(uv_work_t *w)
{
    (void)w;
    target_bus_begin(&t.b);
    t.user(&t.b.bus);
}

static void after(uv_work_t *w, int status)
{
    (void)w, (void)status;
    target_bus_stop(&t.b);
    uv_close((uv_handle_t *)&t.clock, NULL);
}

static void run(void (*user)(struct coresight_bus *bus), bool big_endian)
{
    t.user = user;
    target_init(&t.target, &fake_ops, &fake_events, NULL);
    t.target.deadline_ms = DEADLINE_MS;
    target_opening(&t.target);
    target_opened(&t.target, TARGET_HALTED);
    ck_assert_int_eq(uv_loop_init(&t.loop), 0);
    uv_timer_init(&t.loop, &t.clock);
    uv_timer_start(&t.clock, on_clock, 0, DEADLINE_MS / 4);
    for (unsigned i = 0; i < SIZE; i++)
        t.memory[i] = (uint8_t)(i ^ i >> 8);
    ck_assert_int_eq(target_bus_open(&t.b, &t.loop, &t.target, big_endian), BT_OK);
    uv_queue_work(&t.loop, &t.work, work, after);
    uv_run(&t.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&t.loop), 0);
    target_release(&t.target);
    target_bus_close(&t.b);
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
    ck_assert_uint_eq(t.requests, 9);
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
    ck_assert_uint_eq(t.requests, 1);
    ck_assert_int_eq(bus->failure, DEBUG_FAIL_FAULT);
    ck_assert_uint_eq(bus->fault_address, REFUSED + 4);
    ck_assert_int_eq(bus->ops->write(bus, REFUSED + 8, words, 1), BT_ERR_IO);
    ck_assert_uint_eq(t.requests, 2);
    ck_assert_uint_eq(bus->fault_address, REFUSED + 8);
    ck_assert_int_eq(bus->ops->read(bus, BASE, words, 2), BT_OK);
}

START_TEST(refused)
{
    run(refused_words, false);
}
END_TEST

static void silent_target(struct coresight_bus *bus)
{
    uint32_t word;
    t.silent = true;
    ck_assert_int_eq(bus->ops->read(bus, BASE, &word, 1), BT_ERR_IO);
    ck_assert_int_eq(bus->failure, DEBUG_FAIL_TIMEOUT);
    /* The rest fails without that patience. */
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(bus->ops->read(bus, BASE, &word, 1), BT_ERR_IO);
    ck_assert_uint_eq(t.requests, 1);
}

START_TEST(silence)
{
    run(silent_target, false);
}
END_TEST

static void lost_words(struct coresight_bus *bus)
{
    uint32_t word;
    t.silent = t.lost = true;
    ck_assert_int_eq(bus->ops->read(bus, BASE, &word, 1), BT_ERR_IO);
    ck_assert_int_eq(bus->failure, DEBUG_FAIL_PROBE);
    ck_assert_int_eq(bus->ops->write(bus, BASE, &word, 1), BT_ERR_IO);
}

START_TEST(lost_target)
{
    run(lost_words, false);
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
    Suite *suite = suite_create("target_bus");
    add(suite, "target_bus: words", plain_words);
    add(suite, "target_bus: the same register again and again", fifo);
    add(suite, "target_bus: big endian", big_endian);
    add(suite, "target_bus: refused", refused);
    add(suite, "target_bus: silence", silence);
    add(suite, "target_bus: lost", lost_target);
    return suite;
}
