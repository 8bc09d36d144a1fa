/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests target.c and target_question.c: what all kinds of target have in common, with a kind that
 * answers when the test says so. */
#include "drivers/target/target.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit_main.h"

static struct {
    struct target t;
    char log[4000];
    size_t len;
    bool at_once; /* what is asked is answered from within */
    bool stops_at_once;
    bool lost_when_resumed;
    bool releases;
    struct target_stop stop;
} f;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(f.log + f.len, sizeof f.log - f.len, format, args);
    va_end(args);
    f.len += (size_t)n < sizeof f.log - f.len ? (size_t)n : 0;
}

#define LOG(text)                                                                                  \
    do {                                                                                           \
        ck_assert_str_eq(f.log, text);                                                             \
        f.len = 0;                                                                                 \
        f.log[0] = '\0';                                                                           \
    } while (0)

/* The kind. */

static void answer_now(int error)
{
    target_answered(&f.t, &(struct target_answer){.error = error});
}

static void stop_now(enum target_halt_reason why)
{
    f.stop = (struct target_stop){.kind = why, .core = 1};
    target_stopped(&f.t, &(struct target_halt){.stop = &f.stop});
}

static void fake_start(struct target *t, const struct target_request *r)
{
    static const char *const names[] = {"regs",   "setregs", "mem",   "setmem", "insert",
                                        "remove", "erase",   "flash", "done",   "status",
                                        "run",    "reset",   "cmd",   "packet"};
    ck_assert_ptr_eq(t, &f.t);
    if (r->kind == TARGET_INSERT || r->kind == TARGET_REMOVE)
        note("%s %llx;", names[r->kind], (unsigned long long)r->breakpoint.address);
    else if (r->packet)
        note("%s %.*s;", names[r->kind], (int)r->packet_length, r->packet);
    else
        note("%s %llx;", names[r->kind], (unsigned long long)r->address);
    if (f.at_once && r->kind != TARGET_RESUME)
        answer_now(BT_OK);
    if (f.stops_at_once && r->kind == TARGET_RESUME)
        stop_now(TARGET_HALT_STEP);
}

static void fake_interrupt(struct target *t)
{
    (void)t;
    note("^C;");
}

static void fake_gone(struct target *t)
{
    ck_assert(t->serves_client);
    note("gone;");
}

static struct target_ops fake_ops = {
    .start = fake_start, .interrupt = fake_interrupt, .client_gone = fake_gone, .writable = true};

/* The owner. */

static void on_ready(void *ctx, int error)
{
    (void)ctx;
    note("ready %d;", error);
}

static void on_resumed(void *ctx)
{
    (void)ctx;
    note("resumed;");
    if (f.lost_when_resumed)
        target_lost(&f.t, BT_ERR_IO);
}

static void on_stopped(void *ctx)
{
    (void)ctx;
    note("stopped %d;", f.t.stopped_core);
    if (f.releases)
        target_release_stop(&f.t);
}

static void on_changed(void *ctx, enum target_change change, uint64_t address, uint64_t length)
{
    static const char *const names[] = {"memory", "registers", "reset"};
    (void)ctx;
    note("changed %s %llx %llx;", names[change], (unsigned long long)address,
         (unsigned long long)length);
}

static void on_programmed(void *ctx, uint64_t address, const void *bytes, size_t length)
{
    (void)ctx;
    note("programmed %llx '%.*s';", (unsigned long long)address, (int)length, (const char *)bytes);
}

static void on_lost(void *ctx)
{
    (void)ctx;
    note("lost;");
}

static const struct target_events events = {on_ready,   on_resumed,    on_stopped,
                                            on_changed, on_programmed, on_lost};

/* Clients. */

struct person {
    struct target_client c;
    const char *name;
};

static void client_stopped(void *ctx, const struct target_halt *halt)
{
    const struct person *p = ctx;
    if (!halt)
        note("%s: lost;", p->name);
    else
        note("%s: stop %d%s%s;", p->name, (int)halt->stop->kind, halt->text[0] ? " " : "",
             halt->text);
}

static void client_output(void *ctx, const char *text, size_t length)
{
    const struct person *p = ctx;
    note("%s: '%.*s';", p->name, (int)length, text);
}

static void client_dropped(void *ctx)
{
    const struct person *p = ctx;
    note("%s: dropped;", p->name);
}

static void client_go_on(void *ctx)
{
    const struct person *p = ctx;
    note("%s: go on;", p->name);
}

static const struct target_client_ops client_ops = {client_stopped, client_output, client_dropped,
                                                    client_go_on};
static struct person ann = {{.ops = &client_ops, .ctx = &ann}, "ann"};
static struct person bob = {{.ops = &client_ops, .ctx = &bob}, "bob"};

/* Name and error of each answer. */
static void got(void *ctx, const struct target_answer *a)
{
    note("%s=%d%s%s;", (const char *)ctx, a->error, a->error == BT_ERR_IO ? " " : "",
         a->error == BT_ERR_IO ? a->why : "");
}

static int ask(struct person *p, enum target_request_kind kind, uint64_t address)
{
    struct target_request r = {.kind = kind,
                               .address = address,
                               .length = 4,
                               .bytes = (const uint8_t *)"abcd",
                               .breakpoint = {.address = address, .kind = 2}};
    r.takes_time = kind == TARGET_COMMAND;
    return target_ask(&f.t, p ? &p->c : NULL, &r, got, (void *)(p ? p->name : "own"));
}

static void run(struct person *p)
{
    ck_assert_int_eq(ask(p, TARGET_RESUME, 0), BT_OK);
}

static void setup(void)
{
    memset(&f, 0, sizeof f);
    fake_ops.packets = false;
    target_init(&f.t, &fake_ops, &events, NULL);
    target_opening(&f.t);
    f.t.core_count = 2;
    target_opened(&f.t, TARGET_HALTED);
    target_tick(&f.t, 1000);
    LOG("ready 0;");
}

static void setup_clients(void)
{
    setup();
    target_add_client(&f.t, &bob.c, false);
    target_add_client(&f.t, &ann.c, true);
}

static void teardown(void)
{
    target_release(&f.t);
    ck_assert(!ann.c.linked && !bob.c.linked);
}

START_TEST(test_one_at_a_time)
{
    ck_assert_int_eq(ask(&bob, TARGET_READ_MEMORY, 1), BT_OK);
    ck_assert_int_eq(ask(&ann, TARGET_READ_MEMORY, 2), BT_OK);
    ck_assert_int_eq(ask(NULL, TARGET_READ_MEMORY, 3), BT_OK);
    LOG("mem 1;");
    ck_assert(!target_is_idle(&f.t));
    answer_now(BT_OK);
    LOG("bob=0;mem 3;");
    answer_now(BT_ERR_RANGE);
    LOG("own=-3;mem 2;");
    answer_now(BT_OK);
    LOG("ann=0;");
    ck_assert(target_is_idle(&f.t));
    answer_now(BT_OK);
    LOG("");
}
END_TEST

START_TEST(test_from_within)
{
    f.at_once = true;
    for (int i = 0; i < 3; i++)
        ask(&ann, TARGET_READ_MEMORY, (uint64_t)i);
    LOG("mem 0;ann=0;mem 1;ann=0;mem 2;ann=0;");
    f.stops_at_once = f.releases = true;
    run(&ann);
    LOG("resumed;run 0;stopped 1;ann: stop 2;");
    ck_assert_int_eq(f.t.run, TARGET_HALTED);
}
END_TEST

START_TEST(test_refusals)
{
    struct target_request r = {.kind = TARGET_READ_MEMORY, .length = 4, .core = 2};
    ck_assert_int_eq(target_ask(&f.t, NULL, &r, got, NULL), BT_ERR_INVAL);
    r.core = -1;
    ck_assert_int_eq(target_ask(&f.t, NULL, &r, got, NULL), BT_ERR_INVAL);
    r.core = 0;
    r.device = true;
    r.address = 2;
    ck_assert_int_eq(target_ask(&f.t, NULL, &r, got, NULL), BT_ERR_INVAL);
    r.device = false;
    r.length = 0;
    ck_assert_int_eq(target_ask(&f.t, NULL, &r, got, NULL), BT_ERR_INVAL);
    r.length = TARGET_ACCESS_MAX + 1;
    ck_assert_int_eq(target_ask(&f.t, NULL, &r, got, NULL), BT_ERR_INVAL);
    r.length = 4;
    r.packet = "m0,4";
    r.packet_length = 4;
    ck_assert_int_eq(target_ask(&f.t, &ann.c, &r, got, NULL), BT_ERR_INVAL);
    ck_assert_int_eq(ask(NULL, TARGET_RESUME, 0), BT_ERR_INVAL);
    ck_assert_int_eq(ask(NULL, TARGET_PACKET, 0), BT_ERR_INVAL);
    for (int i = 0; i <= 4096; i++)
        ck_assert_int_eq(ask(NULL, TARGET_READ_MEMORY, 0), BT_OK);
    ck_assert_int_eq(ask(NULL, TARGET_READ_MEMORY, 0), BT_ERR_NOMEM);
    target_remove_client(&f.t, &bob.c);
    ck_assert_int_eq(ask(&bob, TARGET_READ_MEMORY, 0), BT_ERR_IO);
    target_remove_client(&f.t, &bob.c);
}
END_TEST

START_TEST(test_run_and_halt)
{
    bob.c.waits = true;
    run(&ann);
    LOG("resumed;run 0;");
    ck_assert(target_is_running(&f.t) && target_will_run(&f.t));
    ck_assert_int_eq(ask(NULL, TARGET_READ_MEMORY, 0), BT_ERR_INVAL);
    ck_assert_int_eq(target_resume(&f.t), BT_ERR_INVAL);
    target_output(&f.t, "hello", 5);
    LOG("ann: 'hello';");
    target_interrupt(&f.t);
    ck_assert_int_eq(f.t.run, TARGET_HALTING);
    stop_now(TARGET_HALT_INTERRUPT);
    LOG("^C;stopped 1;");
    ck_assert_int_eq(f.t.run, TARGET_HELD);
    /* While it is held, the owner asks. */
    ask(&ann, TARGET_READ_MEMORY, 7);
    ask(NULL, TARGET_READ_MEMORY, 8);
    LOG("mem 8;");
    answer_now(BT_OK);
    target_release_stop(&f.t);
    LOG("own=0;ann: stop 1;bob: stop 1;mem 7;");
    answer_now(BT_OK);
    LOG("ann=0;");
    stop_now(TARGET_HALT_TRAP);
    LOG("");
}
END_TEST

/* The owner's resume waits for its questions; Ctrl-C comes last. */
START_TEST(test_owner_resumes)
{
    ask(NULL, TARGET_READ_MEMORY, 1);
    ck_assert_int_eq(target_resume(&f.t), BT_OK);
    ask(&bob, TARGET_READ_MEMORY, 2);
    target_interrupt(&f.t);
    LOG("mem 1;");
    answer_now(BT_OK);
    LOG("own=0;resumed;bob=-2;run 0;^C;");
    stop_now(TARGET_HALT_INTERRUPT);
    target_release_stop(&f.t);
    LOG("stopped 1;");
    target_interrupt(&f.t);
    LOG("");
}
END_TEST

START_TEST(test_background)
{
    struct target_request r = {.kind = TARGET_READ_MEMORY, .length = 4, .background = true};
    ask(NULL, TARGET_READ_MEMORY, 1);
    target_ask(&f.t, NULL, &r, got, (void *)"back");
    target_ask(&f.t, NULL, &r, got, (void *)"more");
    ask(&ann, TARGET_READ_MEMORY, 2);
    answer_now(BT_OK);
    answer_now(BT_OK);
    LOG("mem 1;own=0;mem 2;ann=0;mem 0;");
    run(&ann);
    answer_now(BT_OK);
    LOG("back=0;resumed;more=-2;run 0;");
}
END_TEST

START_TEST(test_hold)
{
    target_hold_clients(&f.t, true);
    ask(&ann, TARGET_READ_MEMORY, 1);
    target_resume(&f.t);
    ask(NULL, TARGET_READ_MEMORY, 2);
    LOG("mem 2;");
    answer_now(BT_OK);
    LOG("own=0;");
    target_hold_clients(&f.t, false);
    LOG("ann: go on;bob: go on;resumed;run 0;^C;");
}
END_TEST

START_TEST(test_changes)
{
    f.at_once = true;
    ask(NULL, TARGET_WRITE_MEMORY, 1);
    LOG("setmem 1;own=0;");
    ask(&ann, TARGET_WRITE_MEMORY, 1);
    ask(&ann, TARGET_WRITE_REGISTERS, 0);
    ask(&ann, TARGET_FLASH_WRITE, 2);
    ask(&ann, TARGET_RESET, 0);
    ask(&ann, TARGET_COMMAND, 0);
    LOG("setmem 1;changed memory 1 4;ann=0;setregs 0;changed registers 0 0;ann=0;"
        "flash 2;programmed 2 'abcd';ann=0;reset 0;changed reset 0 0;ann=0;cmd 0;ann=0;");
    /* What another server does at a command is not known. */
    fake_ops.packets = true;
    ask(&ann, TARGET_COMMAND, 0);
    LOG("cmd 0;changed reset 0 0;ann=0;");
    target_changed(&f.t, TARGET_CHANGE_RESET);
    LOG("changed reset 0 0;");
    f.at_once = false;
    ask(&ann, TARGET_WRITE_MEMORY, 1);
    answer_now(BT_ERR_RANGE);
    LOG("setmem 1;ann=-3;");
}
END_TEST

/* LLDB 21 inserts with the kind of Thumb code, and removes with that of ARM code. */
START_TEST(test_kinds)
{
    const struct target_breakpoint *bp;
    struct target_request r = {.kind = TARGET_REMOVE, .breakpoint = {.address = 0x10, .kind = 4}};
    f.at_once = true;
    ask(&ann, TARGET_INSERT, 0x10);
    ask(&ann, TARGET_INSERT, 0x20);
    ck_assert_int_eq(target_ask(&f.t, &ann.c, &r, got, (void *)ann.name), BT_OK);
    ck_assert_uint_eq(target_breakpoints(&f.t, &bp), 1);
    ck_assert_uint_eq(bp[0].address, 0x20);
    /* Of a watchpoint it is the length. */
    r.breakpoint = (struct target_breakpoint){TARGET_WATCHPOINT_WRITE, 0x20, 2};
    r.kind = TARGET_INSERT;
    ck_assert_int_eq(target_ask(&f.t, &ann.c, &r, got, (void *)ann.name), BT_OK);
    r.breakpoint.kind = 4;
    r.kind = TARGET_REMOVE;
    ck_assert_int_eq(target_ask(&f.t, &ann.c, &r, got, (void *)ann.name), BT_OK);
    ck_assert_uint_eq(target_breakpoints(&f.t, &bp), 2);
}
END_TEST

START_TEST(test_orphans)
{
    const struct target_breakpoint *bp;
    f.at_once = true;
    ask(&ann, TARGET_INSERT, 0x10);
    ask(&ann, TARGET_INSERT, 0x20);
    ask(&ann, TARGET_INSERT, 0x30);
    ask(&ann, TARGET_REMOVE, 0x30);
    ask(&ann, TARGET_INSERT, 0x20);
    ck_assert_uint_eq(target_breakpoints(&f.t, &bp), 2);
    f.len = 0;
    run(&ann);
    target_remove_client(&f.t, &ann.c);
    LOG("resumed;run 0;");
    stop_now(TARGET_HALT_TRAP);
    LOG("stopped 1;remove 20;remove 10;");
    ck_assert_uint_eq(target_breakpoints(&f.t, &bp), 0);
    /* Of one that was inserted after its client had gone, too. */
    target_release_stop(&f.t);
    target_add_client(&f.t, &ann.c, true);
    f.at_once = false;
    ask(&ann, TARGET_INSERT, 0x40);
    target_remove_client(&f.t, &ann.c);
    f.at_once = true;
    answer_now(BT_OK);
    LOG("insert 40;remove 40;");
}
END_TEST

START_TEST(test_let_go)
{
    f.at_once = true;
    ask(&ann, TARGET_INSERT, 0x10);
    run(&ann);
    f.len = 0;
    target_let_go(&f.t, true);
    LOG("^C;");
    ck_assert(target_will_run(&f.t));
    f.releases = true;
    stop_now(TARGET_HALT_INTERRUPT);
    LOG("stopped 1;remove 10;resumed;run 0;");
    target_let_go(&f.t, true);
    LOG("");
    target_let_go(&f.t, false);
    stop_now(TARGET_HALT_INTERRUPT);
    LOG("^C;stopped 1;");
    ck_assert(target_is_idle(&f.t));
}
END_TEST

START_TEST(test_control)
{
    struct person eve = {{.ops = &client_ops, .ctx = &eve}, "eve"};
    f.at_once = true;
    ask(&ann, TARGET_INSERT, 0x10);
    f.len = 0;
    target_add_client(&f.t, &eve.c, true);
    LOG("ann: dropped;remove 10;");
    ck_assert(!ann.c.linked && f.t.control == &eve.c);
    target_add_client(&f.t, &eve.c, false);
    ck_assert(eve.c.linked && f.t.control != &eve.c);
    target_add_client(&f.t, &bob.c, true);
    ck_assert(f.t.control == &bob.c);
    target_remove_client(&f.t, &eve.c);
    LOG("");
    target_release(&f.t);
    LOG("bob: dropped;");
}
END_TEST

/* GDB can do nothing before the cores are halted; who looks on must not halt them. */
START_TEST(test_question_while_running)
{
    target_resume(&f.t);
    ask(&bob, TARGET_STATUS, 0);
    LOG("resumed;run 0;");
    ask(&ann, TARGET_STATUS, 0);
    LOG("^C;");
    f.releases = true;
    stop_now(TARGET_HALT_INTERRUPT);
    LOG("stopped 1;status 0;");
    answer_now(BT_OK);
    LOG("bob=0;status 0;");
}
END_TEST

/* A file request of the program. */
START_TEST(test_serving)
{
    run(&ann);
    f.t.serves_client = true;
    ask(&bob, TARGET_READ_MEMORY, 1);
    ask(&ann, TARGET_READ_MEMORY, 2);
    LOG("resumed;run 0;mem 2;");
    answer_now(BT_OK);
    LOG("ann=0;");
    target_remove_client(&f.t, &ann.c);
    LOG("gone;");
    ck_assert(!f.t.serves_client);
}
END_TEST

START_TEST(test_output)
{
    ask(&bob, TARGET_READ_MEMORY, 1);
    target_output(&f.t, "nobody's", 8);
    answer_now(BT_OK);
    ask(&bob, TARGET_COMMAND, 1);
    target_output(&f.t, "text", 4);
    LOG("mem 1;bob=0;cmd 1;bob: 'text';");
}
END_TEST

#define LATE " the target has not answered for 3000 ms"

START_TEST(test_late_answer)
{
    ask(&ann, TARGET_WRITE_MEMORY, 1);
    ck_assert(!target_tick(&f.t, 3000));
    ask(&bob, TARGET_READ_MEMORY, 2);
    LOG("setmem 1;");
    ck_assert(target_tick(&f.t, 4000));
    LOG("ann=-7" LATE ";");
    ck_assert(!target_tick(&f.t, 5999));
    ck_assert(target_tick(&f.t, 6000));
    LOG("bob=-7" LATE ";");
    ask(&bob, TARGET_READ_MEMORY, 3);
    LOG("");
    /* It has been written, after all. */
    answer_now(BT_OK);
    LOG("changed memory 1 4;mem 3;");
    answer_now(BT_OK);
    LOG("bob=0;");
}
END_TEST

START_TEST(test_no_deadline)
{
    ask(&ann, TARGET_COMMAND, 1);
    ask(&bob, TARGET_READ_MEMORY, 2);
    ck_assert(!target_tick(&f.t, 100000));
    LOG("cmd 1;");
    answer_now(BT_OK);
    ck_assert(!target_tick(&f.t, 102000));
    LOG("ann=0;mem 2;");
    f.t.deadline_ms = 0;
    ck_assert(!target_tick(&f.t, 900000));
}
END_TEST

#define NO_HALT " the target was asked to halt and has not within 3000 ms"

START_TEST(test_no_halt)
{
    run(&ann);
    target_interrupt(&f.t);
    target_tick(&f.t, 3000);
    target_interrupt(&f.t);
    LOG("resumed;run 0;^C;^C;");
    ck_assert(target_tick(&f.t, 4000));
    LOG("ann: stop 14" NO_HALT ";");
    ck_assert_int_eq(f.t.run, TARGET_RUNNING);
    /* What would need a halt is late, too: even what may take its time. */
    ask(&ann, TARGET_COMMAND, 1);
    LOG("^C;");
    ck_assert(target_tick(&f.t, 7000));
    LOG("ann=-7" LATE ";");
    stop_now(TARGET_HALT_INTERRUPT);
    LOG("stopped 1;");
}
END_TEST

START_TEST(test_lost)
{
    run(&ann);
    bob.c.waits = true;
    target_lost(&f.t, BT_ERR_IO);
    LOG("resumed;run 0;ann: lost;bob: lost;lost;");
    target_lost(&f.t, BT_ERR_IO);
    ck_assert_int_eq(ask(&ann, TARGET_READ_MEMORY, 0), BT_ERR_IO);
    ck_assert_int_eq(target_resume(&f.t), BT_ERR_IO);
    target_opening(&f.t);
    ck_assert_int_eq(ask(&bob, TARGET_READ_MEMORY, 0), BT_ERR_IO);
    ask(&ann, TARGET_READ_MEMORY, 0);
    LOG("");
    target_opened(&f.t, TARGET_HALTED);
    LOG("ready 0;mem 0;");
    ask(NULL, TARGET_READ_MEMORY, 0);
    target_hold_clients(&f.t, true);
    target_lost(&f.t, BT_ERR_IO);
    LOG("ann=-7 the connection to the target is lost;own=-7 the connection to the target is lost;"
        "ann: go on;bob: go on;lost;");
    target_opening(&f.t);
    target_lost(&f.t, BT_ERR_FORMAT);
    LOG("ready -6;");
    target_opening(&f.t);
    target_opened(&f.t, TARGET_HALTED);
    f.lost_when_resumed = true;
    run(&ann);
    LOG("ready 0;resumed;ann: lost;lost;");
}
END_TEST

Suite *unit_suite(void)
{
    const struct {
        const char *name;
        const TTest *test;
    } tests[] = {
        {"one at a time", test_one_at_a_time},
        {"answers from within", test_from_within},
        {"refusals", test_refusals},
        {"run and halt", test_run_and_halt},
        {"the owner resumes", test_owner_resumes},
        {"background", test_background},
        {"clients are held", test_hold},
        {"changes", test_changes},
        {"breakpoints of another kind", test_kinds},
        {"orphaned breakpoints", test_orphans},
        {"control is let go", test_let_go},
        {"control changes hands", test_control},
        {"a question while cores run", test_question_while_running},
        {"cores that wait for a client", test_serving},
        {"output", test_output},
        {"an answer that is late", test_late_answer},
        {"no deadline", test_no_deadline},
        {"a halt that does not come", test_no_halt},
        {"lost", test_lost},
    };
    Suite *suite = suite_create("target");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        TCase *c = tcase_create(tests[i].name);
        tcase_add_checked_fixture(c, setup_clients, teardown);
        tcase_add_test(c, tests[i].test);
        suite_add_tcase(suite, c);
    }
    return suite;
}
