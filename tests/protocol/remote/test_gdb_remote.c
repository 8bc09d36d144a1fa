/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/remote/gdb_remote.c, gdb_remote_greet.c, gdb_remote_link.c */
/* The connection to another GDB server: greeting, own questions, running and halting, its end. */
#include "protocol/remote/gdb_remote.h"

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

static void got_reply(void *ctx, const struct target_answer *a)
{
    (void)ctx;
    if (!a->bytes)
        text_buf_puts(answers(), "none;");
    else
        text_buf_printf(answers(), "'%.*s';", (int)a->length, (const char *)a->bytes);
}

static void got_regs(void *ctx, const struct target_answer *a)
{
    const int *core = ctx;
    if (!a->regs)
        text_buf_printf(answers(), "core %d none;", *core);
    else
        text_buf_printf(answers(), "core %d pc %" PRIx64 " psr %" PRIx64 " known %x;", *core,
                        a->regs->value[TARGET_REG_PC], a->regs->value[TARGET_REG_PSR],
                        a->regs->known);
}

static void got_memory(void *ctx, const struct target_answer *a)
{
    (void)ctx;
    text_buf_printf(answers(), "memory %d %zx:", a->error, a->length);
    text_buf_hex(answers(), a->bytes, a->length < 4 ? a->length : 4);
    text_buf_putc(answers(), ';');
}

/* A packet of the owner's. */
static int ask(const char *text)
{
    struct target_request r = gdb_packet_read(text, strlen(text)).request;
    return target_ask(f.t, NULL, &r, got_reply, NULL);
}

static int read_regs(int core, enum target_register_set set)
{
    static int cores[] = {0, 1, 2};
    struct target_request r = {.kind = TARGET_READ_REGISTERS, .core = core, .set = set};
    return target_ask(f.t, NULL, &r, got_regs, core < 0 ? NULL : &cores[core]);
}

static int read_pc(int core)
{
    return read_regs(core, TARGET_REGISTERS_PC);
}

static int read_memory(int core, uint64_t address, size_t length)
{
    struct target_request r = {
        .kind = TARGET_READ_MEMORY, .core = core, .address = address, .length = length};
    return target_ask(f.t, NULL, &r, got_memory, NULL);
}

static int write_memory(uint64_t address, const uint8_t *bytes, size_t length)
{
    struct target_request r = {
        .kind = TARGET_WRITE_MEMORY, .address = address, .length = length, .bytes = bytes};
    return target_ask(f.t, NULL, &r, got_memory, NULL);
}

START_TEST(greeting)
{
    ck_assert(!target_is_ready(f.t));
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
    ck_assert(!target_is_ready(f.t));
    EXCHANGE("vCont?", "vCont;c;C");
    LOG("ready 0;");
    ck_assert(target_is_ready(f.t));
    ck_assert(!target_is_running(f.t));
    ck_assert_int_eq(target_cores(f.t), 2);
    ck_assert_int_eq(f.t->stopped_core, 1);
    ck_assert_int_eq(read_pc(0), BT_OK);
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
    ck_assert_int_eq(target_cores(f.t), 1);
    ck_assert_int_eq(f.t->stopped_core, 0);
    ck_assert_int_eq(read_pc(0), BT_OK);
    EXCHANGE("pf", "");
    memset(regs, '0', sizeof(regs) - 1);
    regs[sizeof(regs) - 1] = '\0';
    regs[15 * 8 + 1] = '4';
    regs[16 * 8 + 1] = '9';
    EXCHANGE("g", regs);
    LOG("core 0 pc 4 psr 9 known 1ffff;");
    ck_assert_int_eq(target_resume(f.t), BT_OK);
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
    ck_assert_int_eq(target_cores(f.t), TARGET_CORES_MAX);
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
}
END_TEST

START_TEST(registers)
{
    ck_assert_int_eq(read_pc(2), BT_ERR_INVAL);
    ck_assert_int_eq(read_pc(-1), BT_ERR_INVAL);
    ck_assert_int_eq(read_pc(0), BT_OK);
    ck_assert_int_eq(read_pc(1), BT_OK);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("pf", "00100000");
    EXCHANGE("p19", "xxxxxxxx");
    EXCHANGE("Hg2", "OK");
    EXCHANGE("pf", "E01");
    EXCHANGE("g", "E01");
    LOG("core 0 pc 1000 psr 0 known 8000;core 1 none;");
    ck_assert_int_eq(read_pc(1), BT_OK);
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
    ck_assert_int_eq(read_pc(0), BT_OK);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("pf", "E01");
    EXCHANGE("g", regs);
    LOG("core 0 pc 4 psr 9 known 1ffff;");
    ck_assert_int_eq(read_pc(0), BT_OK);
    EXCHANGE("g", regs);
    LOG("core 0 pc 4 psr 9 known 1ffff;");
    ck_assert_int_eq(read_regs(0, TARGET_REGISTERS_CORE), BT_OK);
    EXCHANGE("g", regs);
    LOG("core 0 pc 4 psr 9 known 1ffff;");
    ck_assert_int_eq(read_pc(0), BT_OK);
    EXCHANGE("g", "E01");
    LOG("core 0 none;");
}
END_TEST

static void connect_described(const char *document)
{
    gdb_remote_connected(f.u);
    EXCHANGE("qSupported:xmlRegisters=arm", "qXfer:features:read+;PacketSize=1000");
    EXCHANGE("?", "S05");
    EXCHANGE("qfThreadInfo", "m1");
    EXCHANGE("qsThreadInfo", "l");
    EXCHANGE("qXfer:features:read:target.xml:0,ff0", document);
    EXCHANGE("vCont?", "");
    f.log.len = 0;
}

/* A server whose g ends before its list of registers does: what is wanted is asked one by one. */
START_TEST(registers_of_a_description)
{
    const struct target_register *list;
    text_buf_clear(&f.to_server);
    connect_described(
        "l<target><feature name=\"org.gnu.gdb.arm.m-profile\"><reg name=\"r0\" bitsize=\"32\"/>"
        "<reg name=\"r1\" bitsize=\"32\"/><reg name=\"sp\" bitsize=\"32\" regnum=\"13\" "
        "type=\"data_ptr\"/><reg name=\"lr\"/><reg name=\"pc\" bitsize=\"32\"/>"
        "<reg name=\"xpsr\" bitsize=\"32\" regnum=\"25\"/></feature>"
        "<feature name='org.gnu.gdb.arm.m-system'><reg name='psp' bitsize='32' regnum='27'/>"
        "<reg name='msp' bitsize='32' regnum='26'/><reg name='huge' regnum='28' "
        "bitsize='4000000000'/>"
        "</feature></target>");
    ck_assert_uint_eq(f.t->ops->registers(f.t, 0, &list), 9);
    ck_assert_str_eq(list[2].name, "sp");
    ck_assert_str_eq(list[2].type, "data_ptr");
    ck_assert_str_eq(list[6].name, "msp");
    ck_assert_str_eq(list[6].feature, "org.gnu.gdb.arm.m-system");
    ck_assert_uint_eq(list[7].number, 27);
    ck_assert_uint_eq(list[8].number, 28);
    ck_assert_uint_eq(list[8].bits, 2048);
    struct target_core info;
    ck_assert_int_eq(f.t->ops->core_info(f.t, 0, &info), BT_OK);
    ck_assert_int_eq(info.profile, TARGET_PROFILE_M);
    ck_assert_int_eq(read_regs(0, TARGET_REGISTERS_CORE), BT_OK);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("g", "000000000100000002000000030000000400000005000000");
    EXCHANGE("p1a", "00000020");
    EXCHANGE("p1b", "xxxxxxxx");
    LOG("core 0 pc 4 psr 5 known 1e003;");
    ck_assert_uint_eq(f.t->registers_length, 48);
    ck_assert_uint_eq(f.u->regs.stack[TARGET_STACK_MSP], 0x20000000);
    ck_assert_uint_eq(f.u->regs.stack_known, 1u << TARGET_STACK_MSP);
}
END_TEST

/* Without one there are 26 registers, or the 17 that the server has shown to have. */
START_TEST(registers_without_a_description)
{
    const struct target_register *list;
    char regs[336 + 1];
    memset(regs, '0', sizeof(regs) - 1);
    regs[sizeof(regs) - 1] = '\0';
    regs[328 + 1] = '7';
    ck_assert_uint_eq(f.t->ops->registers(f.t, 0, &list), 26);
    ck_assert_uint_eq(list[25].number, 25);
    read_regs(0, TARGET_REGISTERS_CORE);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("g", regs);
    LOG("core 0 pc 0 psr 7 known 1ffff;");
    regs[17 * 8] = '\0';
    regs[16 * 8 + 1] = '9';
    read_regs(0, TARGET_REGISTERS_CORE);
    EXCHANGE("g", regs);
    LOG("core 0 pc 0 psr 9 known 1ffff;");
    ck_assert_uint_eq(f.t->ops->registers(f.t, 0, &list), 17);
    ck_assert_str_eq(list[16].name, "cpsr");
}
END_TEST

/* Another core's registers are worse than none. */
START_TEST(core_that_cannot_be_selected)
{
    read_pc(1);
    EXCHANGE("Hg2", "E22");
    SERVER_GOT("(none)");
    LOG("core 1 none;");
    read_pc(1);
    EXCHANGE("Hg2", "");
    LOG("core 1 none;");
}
END_TEST

START_TEST(memory)
{
    read_memory(0, 0x1000, 4);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("m1000,4", "01020304");
    LOG("memory 0 4:01020304;");
    ck_assert_int_eq(read_memory(0, 0, TARGET_ACCESS_MAX + 1), BT_ERR_INVAL);
    ck_assert_int_eq(read_memory(0, 0, 0), BT_ERR_INVAL);
    /* Shorter than asked for. */
    read_memory(0, 0x1000, 4);
    EXCHANGE("m1000,4", "0102");
    EXCHANGE("m1002,2", "E01");
    EXCHANGE("m1002,1", "03");
    LOG("memory 0 3:010203;");
    /* More than asked for, or no bytes: as good as an error. */
    read_memory(0, 0x1000, 1);
    EXCHANGE("m1000,1", "0102");
    read_memory(0, 0x1000, 1);
    EXCHANGE("m1000,1", "0g");
    read_memory(0, 0x1000, 1);
    EXCHANGE("m1000,1", "");
    LOG("memory -3 0:;memory -3 0:;memory -3 0:;");
}
END_TEST

/* `_i` bytes of 1024 can be read: the server refuses what reaches beyond. */
START_TEST(memory_that_ends)
{
    static const size_t ends[] = {0, 1, 2, 511, 512, 513, 1000, 1023, 1024};
    size_t good = ends[_i];
    int asked = 0;
    char wanted[64];
    read_memory(0, 0x1000, 1024);
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
    snprintf(wanted, sizeof(wanted), "memory %d %zx:%.*s;", good > 0 ? 0 : BT_ERR_RANGE, good,
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
    write_memory(0x20, bytes, sizeof(bytes));
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
    LOG("memory 0 0:;");
    write_memory(0x20, bytes, 4);
    EXCHANGE("M20,4:abababab", "E01");
    LOG("memory -3 0:;");
    read_memory(0, 0, 0x48);
    SERVER_GOT("m0,47");
}
END_TEST

START_TEST(running_without_a_client)
{
    f.hold = true;
    ck_assert_int_eq(target_resume(f.t), BT_OK);
    SERVER_GOT("vCont;c");
    LOG("resumed;");
    ck_assert(target_is_running(f.t));
    ck_assert_int_eq(f.t->run, TARGET_RUNNING);
    ck_assert_int_eq(target_resume(f.t), BT_ERR_INVAL);
    ck_assert_int_eq(ask("m0,4"), BT_ERR_INVAL);
    target_release_stop(f.t);
    fake_server_sends_packet(&f, "O48");
    target_interrupt(f.t);
    SERVER_GOT("^C");
    fake_server_sends_packet(&f, "T02thread:02;");
    LOG("stopped 1;");
    ck_assert_int_eq(f.t->run, TARGET_HELD);
    ck_assert(target_is_running(f.t));
    target_interrupt(f.t);
    ck_assert_int_eq(target_resume(f.t), BT_ERR_INVAL);
    ck_assert_int_eq(ask("m0,4"), BT_OK);
    EXCHANGE("m0,4", "00000000");
    LOG("'00000000';");
    target_release_stop(f.t);
    ck_assert(!target_is_running(f.t));
    target_release_stop(f.t);
    target_interrupt(f.t);
    SERVER_GOT("(none)");
    LOG("");
}
END_TEST

/* Questions that were asked of halted cores come first; an interrupt comes last. */
START_TEST(resume_waits_for_questions)
{
    ask("m0,4");
    target_resume(f.t);
    ck_assert(target_is_running(f.t));
    target_interrupt(f.t);
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
    read_pc(0);
    read_memory(0, 0, 4);
    gdb_remote_disconnected(f.u);
    LOG("none;none;core 0 none;memory -7 0:;lost;");
    ck_assert(!target_is_ready(f.t));
    gdb_remote_disconnected(f.u);
    LOG("");
    ck_assert_int_eq(ask("m0,4"), BT_ERR_IO);
    ck_assert_int_eq(target_resume(f.t), BT_ERR_IO);
    ck_assert_int_eq(read_pc(0), BT_ERR_IO);
    text_buf_clear(&f.to_server);
    fake_remote_connect(&f);
    /* From within an event, and from within a write. */
    f.on_stopped = disconnect_now;
    target_resume(f.t);
    EXCHANGE("vCont;c", "T05thread:01;");
    LOG("resumed;stopped 0;lost;");
    ck_assert(!target_is_running(f.t));
    text_buf_clear(&f.to_server);
    fake_remote_connect(&f);
    f.drop_on_send = true;
    target_resume(f.t);
    LOG("resumed;lost;");
    ck_assert(!target_is_running(f.t));
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
    read_memory(0, 0, 4);
    EXCHANGE("Hg1", "OK");
    EXCHANGE("m0,4", payload);
    EXCHANGE("m0,2", payload);
    EXCHANGE("m0,1", payload);
    LOG("memory -3 0:;");
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

static void typed(struct target_request r)
{
    ck_assert_int_eq(target_ask(f.t, NULL, &r, got_memory, NULL), BT_OK);
}

START_TEST(other_requests)
{
    struct target_breakpoint bp = {TARGET_WATCHPOINT_READ, 0x2000, 8};
    typed((struct target_request){.kind = TARGET_INSERT, .breakpoint = bp});
    EXCHANGE("Z3,2000,8", "OK");
    typed((struct target_request){.kind = TARGET_INSERT, .breakpoint = bp});
    EXCHANGE("Z3,2000,8", "");
    typed((struct target_request){.kind = TARGET_REMOVE, .breakpoint = bp});
    EXCHANGE("z3,2000,8", "E01");
    typed((struct target_request){
        .kind = TARGET_COMMAND, .bytes = (const uint8_t *)"reset", .length = 5});
    SERVER_GOT("qRcmd,7265736574");
    f.log.len = 0;
    fake_server_sends_packet(&f, "O41");
    fake_server_sends_packet(&f, "OK");
    typed((struct target_request){.kind = TARGET_STATUS});
    EXCHANGE("?", "T0bthread:2;");
    ck_assert_int_eq(f.t->stop.kind, TARGET_HALT_SIGNAL);
    ck_assert_int_eq(f.t->stop.signal, 11);
    ck_assert_int_eq(f.t->stopped_core, 1);
    ck_assert_str_eq(f.t->stop_packet, "T0bthread:2;");
    typed((struct target_request){.kind = TARGET_STATUS});
    EXCHANGE("?", "OK");
    typed((struct target_request){.kind = TARGET_RESET});
    SERVER_GOT("(none)");
    typed((struct target_request){.kind = TARGET_READ_MEMORY, .length = 8, .device = true});
    EXCHANGE("Hg1", "OK");
    EXCHANGE("m0,8", "11223344");
}
END_TEST

/* What the server owes, and since when. */
START_TEST(silence)
{
    target_tick(f.t, 1000);
    ask("m0,1");
    SERVER_GOT("m0,1");
    target_tick(f.t, 3000);
    ck_assert_uint_eq(target_silent_ms(f.t), 2000);
    fake_server_sends_packet(&f, "O41");
    ck_assert_uint_eq(target_silent_ms(f.t), 0);
    target_tick(f.t, 5000);
    LOG("none;");
    fake_server_sends_packet(&f, "00");
    ck_assert_uint_eq(target_silent_ms(f.t), 0);
    ask("qRcmd,00");
    target_tick(f.t, 90000);
    ck_assert_uint_eq(target_silent_ms(f.t), 0);
    fake_server_got(&f);
    fake_server_sends_packet(&f, "OK");
    LOG("'OK';");
}
END_TEST

/* What it has said to a client of what stays the same. */
START_TEST(known)
{
    static const struct target_client_ops ops = {NULL, NULL, NULL, NULL};
    struct target_client c = {.ops = &ops};
    struct target_request r = gdb_packet_read("qSupported:a+", 13).request;
    size_t len = 1;
    target_add_client(f.t, &c, false);
    for (int i = 0; i < 3; i++) {
        target_ask(f.t, &c, &r, NULL, NULL);
        fake_server_got(&f);
        fake_server_sends_packet(&f, i == 2 ? "E01" : i == 1 ? "new" : "old");
    }
    ck_assert_int_eq(strncmp(gdb_remote_known(f.u, "qSupported", 10, &len), "new", 3), 0);
    ck_assert_uint_eq(len, 3);
    ck_assert_ptr_null(gdb_remote_known(f.u, "vCont?", 6, &len));
    gdb_remote_disconnected(f.u);
    ck_assert_ptr_null(gdb_remote_known(f.u, "qSupported", 10, &len));
    target_remove_client(f.t, &c);
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
    target_resume(f.t);
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
    add(suite, "gdb_remote: registers of a description", registers_of_a_description,
        setup_connected);
    add(suite, "gdb_remote: registers without a description", registers_without_a_description,
        setup_connected);
    add(suite, "gdb_remote: other requests", other_requests, setup_connected);
    add(suite, "gdb_remote: silence", silence, setup_connected);
    add(suite, "gdb_remote: what is known without a question", known, setup_connected);
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
