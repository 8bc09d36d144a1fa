/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/session/gdb_proxy.c. */
/* Reverse execution of a core behind another server: its answers, with stack pointers put in their
 * place. */
#include <stdio.h>

#include "protocol/remote/gdb_remote_client.h"
#include "tests/protocol/remote/test_gdb_remote.h"

#define NUMBER_MSP 26u /* and the others behind it, as in enum gdb_stack */
#define DIGITS     8
#define BEFORE     17 /* registers of a g packet before the stack pointers */
#define REPLAY_SP  "00100038"

static const char now_stacks[] = "111111112222222211111111222222223333333344444444";

static bool is_replaying(void *ctx, int core)
{
    (void)ctx, (void)core;
    return true;
}

static size_t reverse_memory(void *ctx, int core, uint64_t address, void *bytes, size_t len)
{
    (void)ctx, (void)core, (void)address, (void)bytes;
    return len;
}

/* A Cortex-M33 with both security states, halted in the Secure one with the main stack. */
static void connect_m33(void)
{
    static const char *const stacks[] = {"msp", "psp", "msp_s", "psp_s", "msp_ns", "psp_ns"};
    struct text_buf xml;
    const char *asked;
    fake_remote_init(&f);
    text_buf_init(&xml);
    text_buf_puts(&xml, "l<target>");
    for (unsigned i = 0; i < 16; i++)
        text_buf_printf(&xml, "<reg name=\"%s\" bitsize=\"32\"/>", i == 15 ? "pc" : "r");
    text_buf_puts(&xml, "<reg name=\"xpsr\" bitsize=\"32\" regnum=\"25\"/>");
    for (unsigned i = 0; i < 6; i++)
        text_buf_printf(&xml, "<reg name=\"%s\" bitsize=\"32\"/>", stacks[i]);
    text_buf_puts(&xml, "</target>");
    gdb_remote_connected(f.u);
    while (strcmp(asked = fake_server_got(&f), "(none)") != 0)
        fake_server_sends_packet(&f, strncmp(asked, "qSupported", 10) == 0 ? "qXfer:features:read+"
                                     : strcmp(asked, "?") == 0             ? "T05thread:1;"
                                     : strcmp(asked, "qfThreadInfo") == 0  ? "m1"
                                     : strcmp(asked, "qsThreadInfo") == 0  ? "l"
                                     : strcmp(asked, "vCont?") == 0        ? "vCont;c;C"
                                     : strncmp(asked, "qXfer", 5) == 0     ? xml.data
                                                                           : "OK");
    text_buf_release(&xml);
    ck_assert(gdb_remote_is_ready(f.u));
    const struct gdb_target all = f.target.ops;
    fake_remote_open(&f);
    f.target.ops.is_replaying = is_replaying;
    f.target.ops.reverse_memory = reverse_memory;
    f.target.ops.reverse = all.reverse;
    f.target.ops.read_regs = all.read_regs;
    f.target.regs[0].value[TARGET_REG_SP] = 0x38001000;
    f.target.regs[0].value[TARGET_REG_PSR] = 3;
}

/* Asked for registers, the server is first told of which thread. */
static const char *shown_for(const char *packet, const char *now)
{
    const char *asked;
    CLIENT_SAYS(packet);
    while (strcmp(asked = fake_server_got(&f), "Hg1") == 0)
        SERVER_SAYS("OK");
    ck_assert_str_eq(asked, packet);
    SERVER_SAYS(now);
    return fake_client_got(&f);
}

/* The six stack pointers of the answer to `g`. */
static const char *stacks_shown(void)
{
    char regs[BEFORE * DIGITS + sizeof now_stacks];
    memset(regs, '1', BEFORE * DIGITS);
    memcpy(regs + BEFORE * DIGITS, now_stacks, sizeof now_stacks);
    const char *shown = shown_for("g", regs);
    ck_assert_uint_eq(strlen(shown), strlen(regs));
    return shown + BEFORE * DIGITS;
}

/* The answer to a question for one of them. */
static const char *one_shown(enum gdb_stack stack)
{
    char packet[16], now[DIGITS + 1] = "";
    snprintf(packet, sizeof packet, "p%x", NUMBER_MSP + (unsigned)stack);
    memcpy(now, now_stacks + (size_t)stack * DIGITS, DIGITS);
    return shown_for(packet, now);
}

START_TEST(stack_of_the_state_then)
{
    connect_m33();
    f.target.regs[0].security = TARGET_SECURITY_NONSECURE;
    ck_assert_str_eq(stacks_shown(), REPLAY_SP "22222222"
                                               "1111111122222222" REPLAY_SP "44444444");
    ck_assert_str_eq(one_shown(GDB_STACK_MSP), REPLAY_SP);
    ck_assert_str_eq(one_shown(GDB_STACK_MSP_S), "11111111");
    ck_assert_str_eq(one_shown(GDB_STACK_MSP_NS), REPLAY_SP);
    f.target.regs[0].security = TARGET_SECURITY_SECURE;
    ck_assert_str_eq(stacks_shown(), REPLAY_SP "22222222" REPLAY_SP "22222222"
                                               "3333333344444444");
    ck_assert_str_eq(one_shown(GDB_STACK_MSP_S), REPLAY_SP);
    ck_assert_str_eq(one_shown(GDB_STACK_MSP_NS), "33333333");
    teardown();
}
END_TEST

/* The one that the core is halted in. */
START_TEST(stack_of_an_unknown_state)
{
    connect_m33();
    ck_assert_str_eq(stacks_shown(), REPLAY_SP "22222222" REPLAY_SP "22222222"
                                               "3333333344444444");
    ck_assert_str_eq(one_shown(GDB_STACK_MSP_S), REPLAY_SP);
    ck_assert_str_eq(one_shown(GDB_STACK_PSP_NS), "44444444");
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("gdb reverse");
    unit_case(s, "gdb reverse: SP is the stack pointer of the security state of then",
              stack_of_the_state_then);
    unit_case(s, "gdb reverse: and of the halt's where that is not known",
              stack_of_an_unknown_state);
    return s;
}
