/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/remote/gdb_remote.c, gdb_remote_greet.c, gdb_remote_access.c. */
/* The connection to another GDB server: greeting, own questions, running and halting, its end. */
#include "protocol/remote/gdb_remote_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_remote.h"
#include "tests/support/unit_main.h"

static struct fake_remote f;

static void setup(void)
{
    fake_remote_init(&f);
}

static void setup_connected(void)
{
    fake_remote_init(&f);
    fake_remote_connect(&f);
}

static void teardown(void)
{
    fake_remote_release(&f);
}

#define SERVER_GOT(text) ck_assert_str_eq(fake_server_got(&f), text)
#define LOG(text)        ck_assert_str_eq(fake_remote_log(&f), text)
#define EXCHANGE(text, reply)                                                                      \
    do {                                                                                           \
        SERVER_GOT(text);                                                                          \
        fake_server_sends_packet(&f, reply);                                                       \
    } while (0)

/* What questions of the test were answered with. */
static struct text_buf *answers(void)
{
    return &f.log;
}

static void got_reply(void *ctx, const char *reply, size_t len)
{
    (void)ctx;
    if (reply == NULL)
        text_buf_puts(answers(), "none;");
    else
        text_buf_printf(answers(), "'%.*s';", (int)len, reply);
}

static void got_regs(void *ctx, int core, const struct target_regs *regs)
{
    (void)ctx;
    if (regs == NULL)
        text_buf_printf(answers(), "core %d none;", core);
    else
        text_buf_printf(answers(), "core %d pc %" PRIx64 " psr %" PRIx64 " known %x;", core,
                        regs->value[TARGET_REG_PC], regs->value[TARGET_REG_PSR], regs->known);
}

static void got_memory(void *ctx, uint64_t address, const uint8_t *bytes, size_t len)
{
    (void)ctx;
    text_buf_printf(answers(), "memory %llx %zx:", (unsigned long long)address, len);
    text_buf_hex(answers(), bytes, len < 4 ? len : 4);
    text_buf_putc(answers(), ';');
}

static int ask(const char *text)
{
    return gdb_remote_ask(f.u, text, strlen(text), got_reply, NULL);
}

START_TEST(greeting)
{
    ck_assert(!gdb_remote_is_ready(f.u));
    ck_assert_int_eq(ask("m0,4"), BT_ERR_IO);
    gdb_remote_connected(f.u);
    EXCHANGE("qSupported:xmlRegisters=arm",
             "PacketSize=4000;QStartNoAckMode+;QNonStop+;qXfer:features:read+");
    EXCHANGE("QStartNoAckMode", "OK");
    f.server_no_ack = true;
    EXCHANGE("?", "T05thread:p1.2;");
    EXCHANGE("qfThreadInfo", "mp1.1,p1.2,p1.1");
    EXCHANGE("qsThreadInfo", "l");
    EXCHANGE("qXfer:features:read:target.xml:0,ff0", "m<target><!-- <reg name=\"pc\"/> -->");
    EXCHANGE("qXfer:features:read:target.xml:21,ff0", "l<xi:include href=\"a.xml\"/></target>");
    EXCHANGE("qXfer:features:read:a.xml:0,ff0",
             "l<reg name='r0'/><reg bitsize=\"32\" name=\"PC\" regnum=\"32\"/><reg name='xPSR'/>"
             "<!-- <reg name='pc' regnum='7'/> -->");
    ck_assert(!gdb_remote_is_ready(f.u));
    EXCHANGE("vCont?", "vCont;c;C");
    LOG("ready 0;");
    ck_assert(gdb_remote_is_ready(f.u));
    ck_assert(!gdb_remote_is_running(f.u));
    ck_assert_int_eq(gdb_remote_cores(f.u), 2);
    ck_assert_int_eq(gdb_remote_stopped_core(f.u), 1);
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 0, got_regs, NULL), BT_OK);
    EXCHANGE("Hgp1.1", "OK");
    EXCHANGE("p20", "78563412");
    EXCHANGE("p21", "33000060");
    LOG("core 0 pc 12345678 psr 60000033 known 18000;");
}
END_TEST

/* The least that a server can be: no features, no list of threads, no vCont, no p. */
START_TEST(greeting_of_a_plain_server)
{
    char regs[17 * 8 + 1];
    gdb_remote_connected(f.u);
    EXCHANGE("qSupported:xmlRegisters=arm", "");
    EXCHANGE("?", "S05");
    EXCHANGE("qfThreadInfo", "");
    EXCHANGE("vCont?", "");
    LOG("ready 0;");
    ck_assert_int_eq(gdb_remote_cores(f.u), 1);
    ck_assert_int_eq(gdb_remote_stopped_core(f.u), 0);
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 0, got_regs, NULL), BT_OK);
    EXCHANGE("pf", "");
    memset(regs, '0', sizeof(regs) - 1);
    regs[sizeof(regs) - 1] = '\0';
    regs[15 * 8 + 1] = '4';
    regs[16 * 8 + 1] = '9';
    EXCHANGE("g", regs);
    LOG("core 0 pc 4 psr 9 known 18000;");
    ck_assert_int_eq(gdb_remote_resume(f.u), BT_OK);
    EXCHANGE("c", "S05");
    LOG("resumed;stopped 0;");
}
END_TEST

START_TEST(no_gdb_server)
{
    gdb_remote_connected(f.u);
    fake_server_sends(&f, "SSH-2.0-OpenSSH_9.2\r\n");
    LOG("ready -6;");
    gdb_remote_disconnected(f.u);
    LOG("");
    gdb_remote_connected(f.u);
    text_buf_clear(&f.to_server);
    gdb_remote_disconnected(f.u);
    LOG("ready -7;");
    gdb_remote_connected(f.u);
    EXCHANGE("qSupported:xmlRegisters=arm", "");
    EXCHANGE("?", "E01");
    LOG("ready -6;");
}
END_TEST

/* QEMU tells of the halt that the connection itself has caused, before any answer. */
START_TEST(stop_before_the_first_answer)
{
    gdb_remote_connected(f.u);
    fake_server_sends_packet(&f, "T02thread:02;");
    EXCHANGE("qSupported:xmlRegisters=arm", "PacketSize=1000");
    EXCHANGE("?", "T05thread:01;");
}
END_TEST

START_TEST(endless_threads)
{
    int asked = 0;
    gdb_remote_connected(f.u);
    EXCHANGE("qSupported:xmlRegisters=arm", "");
    EXCHANGE("?", "S05");
    SERVER_GOT("qfThreadInfo");
    for (int i = 1; asked == 0 && i < 5000; i++) {
        char list[32];
        snprintf(list, sizeof(list), "m%x", i);
        fake_server_sends_packet(&f, list);
        if (strcmp(fake_server_got(&f), "qsThreadInfo") != 0)
            asked = i;
    }
    ck_assert_int_eq(asked, 1025);
    fake_server_sends_packet(&f, "vCont;c");
    LOG("ready 0;");
    ck_assert_int_eq(gdb_remote_cores(f.u), TARGET_CORES_MAX);
}
END_TEST

/* A document that includes itself, and one that never ends. */
START_TEST(endless_description)
{
    int documents = 0;
    gdb_remote_connected(f.u);
    EXCHANGE("qSupported:xmlRegisters=arm", "qXfer:features:read+;PacketSize=1000");
    EXCHANGE("?", "S05");
    EXCHANGE("qfThreadInfo", "l");
    while (strncmp(fake_server_got(&f), "qXfer:", 6) == 0 && documents < 1000) {
        fake_server_sends_packet(&f, "l<xi:include href=\"target.xml\"/>");
        documents++;
    }
    ck_assert_int_eq(documents, 32);
    fake_server_sends_packet(&f, "");
    LOG("ready 0;");
    gdb_remote_connected(f.u);
    LOG("lost;");
    EXCHANGE("qSupported:xmlRegisters=arm", "qXfer:features:read+;PacketSize=1000");
    EXCHANGE("?", "S05");
    EXCHANGE("qfThreadInfo", "l");
    char chunk[0x1000];
    memset(chunk, 'm', sizeof(chunk));
    chunk[sizeof(chunk) - 1] = '\0';
    for (documents = 0; strncmp(fake_server_got(&f), "qXfer:", 6) == 0 && documents < 1000;
         documents++)
        fake_server_sends_packet(&f, chunk);
    ck_assert_int_eq(documents, 65);
}
END_TEST

START_TEST(questions_one_at_a_time)
{
    ck_assert_int_eq(ask("m0,4"), BT_OK);
    ck_assert_int_eq(ask("m4,4"), BT_OK);
    EXCHANGE("m0,4", "11223344");
    EXCHANGE("m4,4", "E14");
    LOG("'11223344';'E14';");
    SERVER_GOT("(none)");
    ck_assert_int_eq(ask("vCont;c"), BT_ERR_INVAL);
    ck_assert_int_eq(ask("c"), BT_ERR_INVAL);
    ck_assert_int_eq(ask("R00"), BT_ERR_INVAL);
}
END_TEST

START_TEST(registers)
{
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 2, got_regs, NULL), BT_ERR_INVAL);
    ck_assert_int_eq(gdb_remote_read_pc(f.u, -1, got_regs, NULL), BT_ERR_INVAL);
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 0, got_regs, NULL), BT_OK);
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 1, got_regs, NULL), BT_OK);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("pf", "00100000");
    EXCHANGE("p19", "xxxxxxxx");
    EXCHANGE("Hg2", "OK");
    EXCHANGE("pf", "E01");
    EXCHANGE("g", "E01");
    LOG("core 0 pc 1000 psr 0 known 8000;core 1 none;");
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 1, got_regs, NULL), BT_OK);
    EXCHANGE("pf", "00100000");
    EXCHANGE("p19", "1300000000000000");
    LOG("core 1 pc 1000 psr 13 known 18000;");
}
END_TEST

/* It has g alone: that is found out once. */
START_TEST(registers_of_a_server_whose_p_fails)
{
    char regs[17 * 8 + 1];
    memset(regs, '0', sizeof(regs) - 1);
    regs[sizeof(regs) - 1] = '\0';
    regs[15 * 8 + 1] = '4';
    regs[16 * 8 + 1] = '9';
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 0, got_regs, NULL), BT_OK);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("pf", "E01");
    EXCHANGE("g", regs);
    LOG("core 0 pc 4 psr 9 known 18000;");
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 0, got_regs, NULL), BT_OK);
    EXCHANGE("g", regs);
    LOG("core 0 pc 4 psr 9 known 18000;");
    ck_assert_int_eq(gdb_remote_read_regs(f.u, 0, got_regs, NULL), BT_OK);
    EXCHANGE("g", regs);
    LOG("core 0 pc 4 psr 9 known 1ffff;");
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 0, got_regs, NULL), BT_OK);
    EXCHANGE("g", "E01");
    LOG("core 0 none;");
}
END_TEST

/* Another core's registers are worse than none. */
START_TEST(core_that_cannot_be_selected)
{
    gdb_remote_read_pc(f.u, 1, got_regs, NULL);
    EXCHANGE("Hg2", "E22"); /* for p */
    EXCHANGE("Hg2", "E22"); /* for g */
    SERVER_GOT("(none)");
    LOG("core 1 none;");
    gdb_remote_read_pc(f.u, 1, got_regs, NULL);
    EXCHANGE("Hg2", "");
    EXCHANGE("Hg2", "");
    LOG("core 1 none;");
}
END_TEST

START_TEST(memory)
{
    gdb_remote_read_memory(f.u, 0, 0x1000, 4, got_memory, NULL);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("m1000,4", "01020304");
    LOG("memory 1000 4:01020304;");
    ck_assert_int_eq(gdb_remote_read_memory(f.u, 0, 0, 1025, got_memory, NULL), BT_ERR_INVAL);
    ck_assert_int_eq(gdb_remote_read_memory(f.u, 0, 0, 0, got_memory, NULL), BT_ERR_INVAL);
    /* Shorter than asked for. */
    gdb_remote_read_memory(f.u, 0, 0x1000, 4, got_memory, NULL);
    EXCHANGE("m1000,4", "0102");
    EXCHANGE("m1002,2", "E01");
    EXCHANGE("m1002,1", "03");
    LOG("memory 1000 3:010203;");
    /* More than asked for, or no bytes: as good as an error. */
    gdb_remote_read_memory(f.u, 0, 0x1000, 1, got_memory, NULL);
    EXCHANGE("m1000,1", "0102");
    gdb_remote_read_memory(f.u, 0, 0x1000, 1, got_memory, NULL);
    EXCHANGE("m1000,1", "0g");
    gdb_remote_read_memory(f.u, 0, 0x1000, 1, got_memory, NULL);
    EXCHANGE("m1000,1", "");
    LOG("memory 1000 0:;memory 1000 0:;memory 1000 0:;");
}
END_TEST

/* `_i` bytes of 1024 can be read: the server refuses what reaches beyond. */
START_TEST(memory_that_ends)
{
    static const size_t ends[] = {0, 1, 2, 511, 512, 513, 1000, 1023, 1024};
    size_t good = ends[_i];
    int asked = 0;
    char wanted[64];
    gdb_remote_read_memory(f.u, 0, 0x1000, 1024, got_memory, NULL);
    EXCHANGE("Hg1", "OK");
    for (;;) {
        unsigned address;
        unsigned len;
        char reply[2049] = "E0e";
        if (sscanf(fake_server_got(&f), "m%x,%x", &address, &len) != 2)
            break;
        if (address + len <= 0x1000 + good) {
            memset(reply, '7', 2 * len);
            reply[2 * len] = '\0';
        }
        fake_server_sends_packet(&f, reply);
        asked++;
    }
    ck_assert_int_le(asked, 22);
    snprintf(wanted, sizeof(wanted), "memory 1000 %zx:%.*s;", good,
             (int)(2 * (good < 4 ? good : 4)), "77777777");
    LOG(wanted);
}
END_TEST

START_TEST(memory_in_small_packets)
{
    uint8_t bytes[200];
    memset(bytes, 0xab, sizeof(bytes));
    gdb_remote_connected(f.u);
    LOG("lost;");
    EXCHANGE("qSupported:xmlRegisters=arm", "PacketSize=90");
    EXCHANGE("?", "S05");
    EXCHANGE("qfThreadInfo", "l");
    EXCHANGE("vCont?", "");
    LOG("ready 0;");
    gdb_remote_write_memory(f.u, 0, 0x20, bytes, sizeof(bytes), got_memory, NULL);
    ck_assert_int_eq(strncmp(fake_server_got(&f), "M20,38:abab", 11), 0);
    ck_assert_uint_le(strlen(f.text.data), 0x90);
    fake_server_sends_packet(&f, "OK");
    ck_assert_int_eq(strncmp(fake_server_got(&f), "M58,38:", 7), 0);
    fake_server_sends_packet(&f, "OK");
    ck_assert_int_eq(strncmp(fake_server_got(&f), "M90,38:", 7), 0);
    fake_server_sends_packet(&f, "OK");
    EXCHANGE("Mc8,20:"
             "abababababababababababababababababababababababababababababababab",
             "OK");
    LOG("memory 20 c8:abababab;");
    gdb_remote_write_memory(f.u, 0, 0x20, bytes, 4, got_memory, NULL);
    EXCHANGE("M20,4:abababab", "E01");
    LOG("memory 20 0:;");
    gdb_remote_read_memory(f.u, 0, 0, 0x48, got_memory, NULL);
    SERVER_GOT("m0,47");
}
END_TEST

START_TEST(running_without_a_client)
{
    f.hold = true;
    ck_assert_int_eq(gdb_remote_resume(f.u), BT_OK);
    SERVER_GOT("vCont;c");
    LOG("resumed;");
    ck_assert(gdb_remote_is_running(f.u));
    ck_assert_int_eq(f.u->run, GDB_REMOTE_RUNNING);
    ck_assert_int_eq(gdb_remote_resume(f.u), BT_ERR_INVAL);
    ck_assert_int_eq(ask("m0,4"), BT_ERR_INVAL);
    gdb_remote_release_stop(f.u);
    fake_server_sends_packet(&f, "O48");
    gdb_remote_interrupt(f.u);
    SERVER_GOT("^C");
    fake_server_sends_packet(&f, "T02thread:02;");
    LOG("stopped 1;");
    ck_assert_int_eq(f.u->run, GDB_REMOTE_HELD);
    ck_assert(gdb_remote_is_running(f.u));
    gdb_remote_interrupt(f.u);
    ck_assert_int_eq(gdb_remote_resume(f.u), BT_ERR_INVAL);
    ck_assert_int_eq(ask("m0,4"), BT_OK);
    EXCHANGE("m0,4", "00000000");
    LOG("'00000000';");
    gdb_remote_release_stop(f.u);
    ck_assert(!gdb_remote_is_running(f.u));
    gdb_remote_release_stop(f.u);
    gdb_remote_interrupt(f.u);
    SERVER_GOT("(none)");
    LOG("");
}
END_TEST

/* Questions that were asked of halted cores come first; an interrupt comes last. */
START_TEST(resume_waits_for_questions)
{
    ask("m0,4");
    gdb_remote_resume(f.u);
    ck_assert(gdb_remote_is_running(f.u));
    gdb_remote_interrupt(f.u);
    ck_assert_int_eq(ask("m4,4"), BT_ERR_INVAL);
    LOG("");
    EXCHANGE("m0,4", "00");
    LOG("'00';resumed;");
    SERVER_GOT("vCont;c|^C");
    fake_server_sends_packet(&f, "T02thread:01;");
    LOG("stopped 0;");
}
END_TEST

static void disconnect_now(struct fake_remote *fake)
{
    gdb_remote_disconnected(fake->u);
}

START_TEST(lost_connection)
{
    ask("m0,4");
    ask("m4,4");
    gdb_remote_read_pc(f.u, 0, got_regs, NULL);
    gdb_remote_read_memory(f.u, 0, 0, 4, got_memory, NULL);
    gdb_remote_disconnected(f.u);
    LOG("none;none;core 0 none;memory 0 0:;lost;");
    ck_assert(!gdb_remote_is_ready(f.u));
    gdb_remote_disconnected(f.u);
    LOG("");
    ck_assert_int_eq(ask("m0,4"), BT_ERR_IO);
    ck_assert_int_eq(gdb_remote_resume(f.u), BT_ERR_IO);
    ck_assert_int_eq(gdb_remote_read_pc(f.u, 0, got_regs, NULL), BT_ERR_IO);
    text_buf_clear(&f.to_server);
    fake_remote_connect(&f);
    /* From within an event, and from within a write. */
    f.on_stopped = disconnect_now;
    gdb_remote_resume(f.u);
    EXCHANGE("vCont;c", "T05thread:01;");
    LOG("resumed;stopped 0;lost;");
    ck_assert(!gdb_remote_is_running(f.u));
    text_buf_clear(&f.to_server);
    fake_remote_connect(&f);
    f.drop_on_send = true;
    gdb_remote_resume(f.u);
    LOG("resumed;lost;");
    ck_assert(!gdb_remote_is_running(f.u));
    text_buf_clear(&f.to_server);
    fake_remote_connect(&f);
    f.drop_on_send = true;
    ask("m0,4");
    LOG("none;lost;");
}
END_TEST

START_TEST(damaged_and_repeated)
{
    ask("m0,8");
    SERVER_GOT("m0,8");
    fake_server_sends(&f, "$0* 12#00");
    ck_assert_str_eq(f.to_server.data, "-");
    /* '*' and a blank: three more. */
    fake_server_sends(&f, "$0* 1#ab");
    LOG("'00001';");
    ask("m0,8");
    SERVER_GOT("m0,8");
    /* Runs of nothing, of too many and without a count. */
    fake_server_sends(&f, "$* #4a");
    ck_assert_str_eq(f.to_server.data, "-");
    fake_server_sends(&f, "$0*\x7f#d9");
    fake_server_sends(&f, "$0*#5a");
    ck_assert_str_eq(f.to_server.data, "---");
    text_buf_clear(&f.to_server);
    for (int i = 0; i < 13; i++)
        fake_server_sends(&f, "$#01");
    LOG("");
    fake_server_sends(&f, "$#01");
    fake_server_sends(&f, "$#01");
    LOG("none;lost;");
}
END_TEST

START_TEST(refused_for_ever)
{
    ask("m0,8");
    for (int i = 0; i < 16; i++)
        fake_server_sends(&f, "-");
    LOG("");
    fake_server_sends(&f, "-");
    LOG("none;lost;");
}
END_TEST

START_TEST(reply_that_is_too_long)
{
    size_t len = 4 * GDB_PACKET_SIZE + 1;
    char *payload = malloc(len + 1);
    memset(payload, '0', len);
    payload[len] = '\0';
    ask("m0,8");
    EXCHANGE("m0,8", payload);
    LOG("'E.the target's GDB server sent a packet that is too long';");
    payload[len - 1] = '\0';
    gdb_remote_read_memory(f.u, 0, 0, 4, got_memory, NULL);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("m0,4", payload);
    EXCHANGE("m0,2", payload);
    EXCHANGE("m0,1", payload);
    LOG("memory 0 0:;");
    free(payload);
    /* A run of 97 in each 3 bytes. */
    text_buf_clear(&f.to_server);
    ask("m0,8");
    SERVER_GOT("m0,8");
    fake_server_sends(&f, "$0");
    for (int i = 0; i < 100000; i++)
        fake_server_sends(&f, "*~");
    LOG("");
}
END_TEST

/* Packets that nobody asked for. */
START_TEST(unasked)
{
    fake_server_sends_packet(&f, "T05thread:02;");
    fake_server_sends_packet(&f, "O48");
    fake_server_sends_packet(&f, "Fwrite,1,2,3");
    fake_server_sends_packet(&f, "");
    fake_server_sends(&f, "%Stop:T05thread:01;#99+\x03");
    LOG("");
    ask("m0,1");
    fake_server_sends_packet(&f, "O48");
    EXCHANGE("m0,1", "55");
    LOG("'55';");
    gdb_remote_resume(f.u);
    EXCHANGE("vCont;c", "Fwrite,1,2,3");
    SERVER_GOT("F-1,270f");
    fake_server_sends_packet(&f, "T05thread:02;");
    LOG("resumed;stopped 1;");
}
END_TEST

static void ask_many(struct fake_remote *fake)
{
    (void)fake;
    while (ask("m0,1") == BT_OK) {
    }
}

START_TEST(too_many_questions)
{
    ask_many(&f);
    ck_assert_int_eq(ask("m0,1"), BT_ERR_NOMEM);
    EXCHANGE("m0,1", "00");
    ck_assert_int_eq(ask("m0,1"), BT_OK);
    gdb_remote_disconnected(f.u);
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *test, void (*before)(void))
{
    TCase *c = tcase_create(name);
    tcase_add_checked_fixture(c, before, teardown);
    tcase_add_test(c, test);
    suite_add_tcase(suite, c);
}

Suite *unit_suite(void)
{
    Suite *suite = suite_create("gdb_remote");
    add(suite, "gdb_remote: greeting with all features", greeting, setup);
    add(suite, "gdb_remote: greeting of a plain server", greeting_of_a_plain_server, setup);
    add(suite, "gdb_remote: no GDB server at the other end", no_gdb_server, setup);
    add(suite, "gdb_remote: a stop before the first answer", stop_before_the_first_answer, setup);
    add(suite, "gdb_remote: endless list of threads", endless_threads, setup);
    add(suite, "gdb_remote: endless description", endless_description, setup);
    add(suite, "gdb_remote: questions one at a time", questions_one_at_a_time, setup_connected);
    add(suite, "gdb_remote: PC and PSR", registers, setup_connected);
    add(suite, "gdb_remote: PC and PSR of a server whose p fails",
        registers_of_a_server_whose_p_fails, setup_connected);
    add(suite, "gdb_remote: core that cannot be selected", core_that_cannot_be_selected,
        setup_connected);
    add(suite, "gdb_remote: memory", memory, setup_connected);
    TCase *c = tcase_create("gdb_remote: memory that ends");
    tcase_add_checked_fixture(c, setup_connected, teardown);
    tcase_add_loop_test(c, memory_that_ends, 0, 9);
    suite_add_tcase(suite, c);
    add(suite, "gdb_remote: memory in small packets", memory_in_small_packets, setup_connected);
    add(suite, "gdb_remote: running without a client", running_without_a_client, setup_connected);
    add(suite, "gdb_remote: a resume waits for questions", resume_waits_for_questions,
        setup_connected);
    add(suite, "gdb_remote: lost connection", lost_connection, setup_connected);
    add(suite, "gdb_remote: damaged frames and runs", damaged_and_repeated, setup_connected);
    add(suite, "gdb_remote: a server that refuses for ever", refused_for_ever, setup_connected);
    add(suite, "gdb_remote: replies that are too long", reply_that_is_too_long, setup_connected);
    add(suite, "gdb_remote: packets that nobody asked for", unasked, setup_connected);
    add(suite, "gdb_remote: too many questions", too_many_questions, setup_connected);
    return suite;
}
