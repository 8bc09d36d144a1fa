/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread of a probe target on the modelled probe and board: what is asked of the target on the
 * event loop, its stops, and a probe that goes and comes back. For probe_thread.c,
 * probe_target_run.c, probe_target_command.c, probe_target_recovery.c, probe_target_m.c and
 * probe_target_flash.c.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/probe/cmsis_dap/cmsis_dap.h"
#include "server/probe/probe_link.h"
#include "server/probe/probe_thread.h"
#include "tests/support/unit_main.h"

/* Driver and model name the bits of the protocol alike. */
#undef CMSIS_DAP_CAP_SWD
#undef CMSIS_DAP_CAP_JTAG
#undef CMSIS_DAP_CAP_SWO_UART
#undef CMSIS_DAP_CAP_SWO_STREAM
#include "tests/model/usb_probe.h"

#define BOARD                                                                                      \
    "[probe]\ntype = cmsis-dap\n[target]\ndeadline = 400\n[trace]\nsink = none\n[core "            \
    "cpu0]\ntype = Cortex-M4\n"
#define RAM        CORE_SIM_RAM
#define LOOP       0x08000046u
#define PATIENCE   5000 /* ms */
#define DEADLINE   400
#define TICK       20
#define PSR_NUMBER 25u

static struct probe_board board;
static struct usb_probe usb;
static struct cmsis_dap dap;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the board, and of `unplugged` */
static bool unplugged;
static unsigned sent; /* to the probe */

static struct config config;
static struct message why;
static uv_loop_t loop;
static uv_timer_t timer;
static struct probe_thread thread;
static struct target *target;
static struct target_client client;

static struct {
    int ready; /* 1: not yet */
    unsigned stops, resumes, changes, told;
    enum target_change change;
    struct target_stop stop; /* that the client was told of */
    char stop_text[200];
    char text[2000];
    /* The last answer. */
    unsigned answers;
    int error;
    char why[200];
    struct target_regs regs;
    uint8_t bytes[256];
    size_t length;
} got;

/* The probe without USB. */

static int pipe_send(void *self, const uint8_t *data, size_t length, unsigned timeout_ms)
{
    size_t taken = 0;
    (void)self, (void)timeout_ms;
    pthread_mutex_lock(&lock);
    sent++;
    int rc = unplugged ? -1 : usb_device_out(&usb.device, USB_PROBE_EP_OUT, data, length, &taken);
    pthread_mutex_unlock(&lock);
    return rc < 0 ? BT_ERR_IO : 0;
}

static int pipe_receive(void *self, uint8_t *data, size_t capacity, size_t *length,
                        unsigned timeout_ms)
{
    (void)self, (void)timeout_ms;
    pthread_mutex_lock(&lock);
    int rc = unplugged ? -1 : usb_device_in(&usb.device, USB_PROBE_EP_IN, data, capacity, length);
    pthread_mutex_unlock(&lock);
    return rc == USB_DEVICE_WAIT ? USB_TIMED_OUT : rc < 0 ? BT_ERR_IO : 0;
}

static int model_open(struct probe_link *p, const struct config *c, struct message *m)
{
    static const struct usb_pipe_ops ops = {.send = pipe_send, .receive = pipe_receive};
    const struct usb_pipe pipe = {.ops = &ops, .out_packet = 512, .in_packet = 512};
    (void)c;
    if (cmsis_dap_open(&dap, &pipe, CMSIS_DAP_BULK)) {
        message_set(m, "no probe");
        return BT_ERR_RANGE;
    }
    p->link = cmsis_dap_link(&dap);
    snprintf(p->name, sizeof p->name, "model");
    return BT_OK;
}

static void model_close(struct probe_link *p)
{
    (void)p;
}

static const struct probe_driver model_driver = {
    .type = "cmsis-dap", .open = model_open, .close = model_close};

/* The board's side, while the thread may use it, too. */
static void plug(bool in)
{
    pthread_mutex_lock(&lock);
    unplugged = !in;
    pthread_mutex_unlock(&lock);
}

static void never_halts(bool on)
{
    pthread_mutex_lock(&lock);
    board.system.never_halts = on;
    pthread_mutex_unlock(&lock);
}

/* The owner and a client of the target. */

static void on_ready(void *ctx, int error)
{
    (void)ctx;
    got.ready = error;
}

static void on_resumed(void *ctx)
{
    (void)ctx;
    got.resumes++;
}

static void on_stopped(void *ctx)
{
    (void)ctx;
    got.stops++;
    target_release_stop(target);
}

static void on_changed(void *ctx, enum target_change change, uint64_t address, uint64_t length)
{
    (void)ctx, (void)address, (void)length;
    got.changes++;
    got.change = change;
}

static void on_lost(void *ctx)
{
    (void)ctx;
    ck_abort_msg("a probe target is never lost");
}

static void on_told(void *ctx, const struct target_halt *halt)
{
    (void)ctx;
    got.told++;
    got.stop = *halt->stop;
    snprintf(got.stop_text, sizeof got.stop_text, "%s", halt->text);
}

static void on_output(void *ctx, const char *text, size_t length)
{
    (void)ctx;
    size_t used = strlen(got.text);
    snprintf(got.text + used, sizeof got.text - used, "%.*s", (int)length, text);
}

static void on_nothing(void *ctx)
{
    (void)ctx;
}

static void on_answer(void *ctx, const struct target_answer *a)
{
    (void)ctx;
    got.answers++;
    got.error = a->error;
    snprintf(got.why, sizeof got.why, "%s", a->why);
    if (a->regs)
        got.regs = *a->regs;
    got.length = a->length;
    if (a->bytes && a->length <= sizeof got.bytes)
        memcpy(got.bytes, a->bytes, a->length);
}

static void on_tick(uv_timer_t *t)
{
    target_tick(target, uv_now(t->loop));
}

/* Until *count has become more than `before`. */
static void await(const unsigned *count, unsigned before)
{
    uint64_t begin = uv_now(&loop);
    while (*count == before && uv_now(&loop) - begin < PATIENCE)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_uint_gt(*count, before);
}

static void open_target(bool halts)
{
    static const struct probe_board_options options = {.packet_count = 4};
    static const struct target_events events = {.ready = on_ready,
                                                .resumed = on_resumed,
                                                .stopped = on_stopped,
                                                .changed = on_changed,
                                                .lost = on_lost};
    static const struct target_client_ops ops = {
        .stopped = on_told, .output = on_output, .dropped = on_nothing, .go_on = on_nothing};
    const struct trace_sink sink = {0};
    memset(&got, 0, sizeof got);
    unplugged = false;
    int error = config_parse(&config, BOARD, strlen(BOARD), "b.conf", NULL, &why);
    ck_assert_msg(error == 0, "%s", why.text);
    ck_assert_int_eq(probe_board_init(&board, &options), 0);
    usb_probe_init(&usb, &board, false);
    board.system.never_halts = !halts;
    error = probe_thread_open(&thread, &model_driver, &config, &sink, &why);
    ck_assert_msg(error == 0, "%s", why.text);
    uv_loop_init(&loop);
    uv_timer_init(&loop, &timer);
    got.ready = 1;
    target = probe_thread_start(&thread, &loop, &events, NULL);
    ck_assert_ptr_nonnull(target);
    uv_timer_start(&timer, on_tick, 0, TICK);
    uint64_t begin = uv_now(&loop);
    while (got.ready == 1 && uv_now(&loop) - begin < PATIENCE)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(got.ready, BT_OK);
    client = (struct target_client){.ops = &ops};
    target_add_client(target, &client, true);
}

static void close_target(void)
{
    target_remove_client(target, &client);
    probe_thread_stop(&thread);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    probe_thread_release(&thread);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    probe_board_release(&board);
    config_release(&config);
}

/* Returns the answer's error. */
static int ask(const struct target_request *r)
{
    unsigned before = got.answers;
    ck_assert_int_eq(target_ask(target, &client, r, on_answer, NULL), BT_OK);
    await(&got.answers, before);
    return got.error;
}

static int command(const char *text)
{
    got.text[0] = '\0';
    return ask(&(struct target_request){.kind = TARGET_COMMAND,
                                        .bytes = (const uint8_t *)text,
                                        .length = strlen(text),
                                        .takes_time = true});
}

static const struct target_regs *registers(void)
{
    ck_assert_int_eq(
        ask(&(struct target_request){.kind = TARGET_READ_REGISTERS, .set = TARGET_REGISTERS_ALL}),
        BT_OK);
    return &got.regs;
}

static void resume(enum target_action action)
{
    const struct target_resume resume = {.action = {action}, .step = action == TARGET_ACTION_STEP};
    ck_assert_int_eq(target_ask(target, &client,
                                &(struct target_request){.kind = TARGET_RESUME, .resume = &resume},
                                NULL, NULL),
                     BT_OK);
}

static void run_for(unsigned ms)
{
    uint64_t begin = uv_now(&loop);
    while (uv_now(&loop) - begin < ms)
        uv_run(&loop, UV_RUN_ONCE);
}

START_TEST(test_open)
{
    struct target_core core;
    const struct target_register *list;
    const struct target_region *regions;
    char text[64];
    open_target(true);
    ck_assert_int_eq(target_cores(target), 1);
    ck_assert_int_eq(target->run, TARGET_HALTED);
    ck_assert_int_eq(target->ops->core_info(target, 0, &core), BT_OK);
    ck_assert_str_eq(core.name, "Cortex-M4");
    ck_assert_int_eq(core.profile, TARGET_PROFILE_M);
    ck_assert_uint_gt(target->ops->registers(target, 0, &list), TARGET_REG_COUNT);
    ck_assert_str_eq(list[TARGET_REG_SP].name, "sp");
    ck_assert_str_eq(list[TARGET_REG_PSR].name, "xpsr");
    ck_assert_uint_eq(list[TARGET_REG_PSR].number, PSR_NUMBER);
    ck_assert_str_eq(list[TARGET_REG_COUNT].name, "msp");
    ck_assert_uint_eq(list[TARGET_REG_COUNT].number, TARGET_EXTRA_NUMBER);
    ck_assert_uint_eq(target->ops->memory_map(target, &regions), 1);
    target->ops->core_status(target, 0, text, sizeof text);
    ck_assert_str_eq(text, "thread mode");
    ck_assert_ptr_nonnull(strstr(thread.summary, "Cortex-M4"));
    close_target();
}
END_TEST

START_TEST(test_registers)
{
    struct target_regs regs = {.known = 1u << 3 | 1u << TARGET_REG_SP, .value[3] = 0x12345678};
    open_target(true);
    regs.value[TARGET_REG_SP] = RAM + 0x100;
    regs.extra[1] = RAM + 0x200; /* psp */
    regs.extra_known = 2;
    ck_assert_int_eq(ask(&(struct target_request){.kind = TARGET_WRITE_REGISTERS, .regs = &regs}),
                     BT_OK);
    ck_assert_uint_eq(got.changes, 1);
    ck_assert_int_eq(got.change, TARGET_CHANGE_REGISTERS);
    const struct target_regs *now = registers();
    ck_assert_uint_eq(now->known, (1u << TARGET_REG_COUNT) - 1);
    ck_assert_uint_eq(now->value[3], 0x12345678);
    ck_assert_uint_eq(now->value[TARGET_REG_SP], RAM + 0x100);
    ck_assert_uint_eq(now->stack_known & 3, 3);
    ck_assert_uint_eq(now->stack[TARGET_STACK_MSP], RAM + 0x100);
    ck_assert_uint_eq(now->stack[TARGET_STACK_PSP], RAM + 0x200);
    ck_assert_uint_eq(now->extra[1], RAM + 0x200);
    close_target();
}
END_TEST

START_TEST(test_memory)
{
    struct target_request r = {.kind = TARGET_WRITE_MEMORY,
                               .address = RAM + 1,
                               .bytes = (const uint8_t *)"abcdefg",
                               .length = 7};
    open_target(true);
    ck_assert_int_eq(ask(&r), BT_OK);
    ck_assert_int_eq(got.change, TARGET_CHANGE_MEMORY);
    r = (struct target_request){.kind = TARGET_READ_MEMORY, .address = RAM + 1, .length = 7};
    ck_assert_int_eq(ask(&r), BT_OK);
    ck_assert_uint_eq(got.length, 7);
    ck_assert_mem_eq(got.bytes, "abcdefg", 7);
    r = (struct target_request){
        .kind = TARGET_READ_MEMORY, .address = RAM, .length = 8, .device = true};
    ck_assert_int_eq(ask(&r), BT_OK);
    ck_assert_mem_eq(got.bytes + 1, "abcdefg", 7);
    /* Up to where there is nothing any more. */
    r = (struct target_request){
        .kind = TARGET_READ_MEMORY, .address = RAM + CORE_SIM_RAM_SIZE - 4, .length = 16};
    ck_assert_int_eq(ask(&r), BT_OK);
    ck_assert_uint_eq(got.length, 4);
    r.address += 4;
    ck_assert_int_ne(ask(&r), BT_OK);
    ck_assert_str_ne(got.why, "");
    close_target();
}
END_TEST

static unsigned sent_by_now(void)
{
    pthread_mutex_lock(&lock);
    unsigned now = sent;
    pthread_mutex_unlock(&lock);
    return now;
}

static void reads_flash(const struct target_request *r)
{
    ck_assert_int_eq(ask(r), BT_OK);
    ck_assert_uint_eq(got.length, r->length);
    ck_assert_mem_eq(got.bytes, board.sim.flash + (r->address - CORE_SIM_FLASH), r->length);
}

/* On a slow machine, or beside the look that goes on once a second, not each time. */
static bool is_known(const struct target_request *r)
{
    for (unsigned tries = 0; tries < 50; tries++) {
        reads_flash(r);
        unsigned before = sent_by_now();
        reads_flash(r);
        if (sent_by_now() == before)
            return true;
    }
    return false;
}

/* Code is read once at a halt, with what stands beside it, and not taken from an earlier halt, from
 * before a write, nor for long. */
START_TEST(test_code)
{
    const struct target_request write = {
        .kind = TARGET_WRITE_MEMORY, .address = RAM, .bytes = (const uint8_t *)"abcd", .length = 4};
    struct target_request r = {
        .kind = TARGET_READ_MEMORY, .address = CORE_SIM_FLASH + 0x5e, .length = 4};
    uint8_t *flash = board.sim.flash;
    open_target(true);
    ck_assert(is_known(&r)); /* from one line to the next */
    flash[0x60] ^= 1;
    resume(TARGET_ACTION_STEP);
    await(&got.told, 0);
    reads_flash(&r);
    flash[0x5f] ^= 1;
    ck_assert_int_eq(ask(&write), BT_OK);
    reads_flash(&r);
    flash[0x60] ^= 1;
    run_for(60); /* another master */
    reads_flash(&r);
    r.address = CORE_SIM_FLASH + 0x60;
    flash[0x61] ^= 1;
    r.device = true; /* as it is asked for */
    reads_flash(&r);
    ck_assert(!is_known(&r));
    r.device = false;
    r.address = CORE_SIM_FLASH + CORE_SIM_FLASH_SIZE - 2;
    ck_assert_int_eq(ask(&r), BT_OK);
    ck_assert_uint_eq(got.length, 2);
    r.address += 2;
    ck_assert_int_ne(ask(&r), BT_OK);
    r.address -= 6;
    r.length = 6;
    ck_assert(is_known(&r));
    r.length = 16; /* a listing is none of it */
    r.address = CORE_SIM_FLASH;
    ck_assert(!is_known(&r));
    close_target();
}
END_TEST

START_TEST(test_step_and_run)
{
    open_target(true);
    uint32_t pc = (uint32_t)registers()->value[TARGET_REG_PC];
    resume(TARGET_ACTION_STEP);
    await(&got.told, 0);
    ck_assert_int_eq(got.stop.kind, TARGET_HALT_STEP);
    ck_assert_uint_ne(registers()->value[TARGET_REG_PC], pc);
    struct target_request r = {.kind = TARGET_INSERT,
                               .breakpoint = {TARGET_BREAKPOINT_SOFTWARE, LOOP, 2}};
    ck_assert_int_eq(ask(&r), BT_OK);
    resume(TARGET_ACTION_CONTINUE);
    await(&got.told, 1);
    ck_assert_int_eq(got.stop.kind, TARGET_HALT_SWBREAK); /* as it was asked for */
    ck_assert_uint_eq(registers()->value[TARGET_REG_PC], r.breakpoint.address);
    r.kind = TARGET_REMOVE;
    ck_assert_int_eq(ask(&r), BT_OK);
    ck_assert_uint_eq(got.resumes, 2);
    ck_assert_uint_eq(got.stops, 2);
    close_target();
}
END_TEST

START_TEST(test_interrupt)
{
    char text[64];
    open_target(true);
    resume(TARGET_ACTION_CONTINUE);
    run_for(60);
    ck_assert_uint_eq(got.told, 0);
    target->ops->core_status(target, 0, text, sizeof text);
    ck_assert_str_eq(text, "running");
    target_interrupt(target);
    await(&got.told, 0);
    ck_assert_int_eq(got.stop.kind, TARGET_HALT_INTERRUPT);
    /* One that comes too late is none of the next run's. */
    target->ops->interrupt(target);
    resume(TARGET_ACTION_CONTINUE);
    run_for(60);
    ck_assert_uint_eq(got.told, 1);
    target_interrupt(target);
    await(&got.told, 1);
    close_target();
}
END_TEST

START_TEST(test_command)
{
    open_target(true);
    ck_assert_int_eq(command("probe"), BT_OK);
    ck_assert_ptr_nonnull(strstr(got.text, "Cortex-M4"));
    ck_assert_int_eq(command("mask_interrupts off"), BT_OK);
    ck_assert_str_eq(got.text, "single steps enter interrupt handlers\n");
    ck_assert_int_eq(command("no such thing"), BT_ERR_UNSUPPORTED);
    ck_assert_uint_eq(got.changes, 0);
    ck_assert_int_eq(command("reset halt"), BT_OK);
    ck_assert_str_eq(got.text, "reset; the target is halted\n");
    ck_assert_uint_eq(got.changes, 1);
    ck_assert_int_eq(got.change, TARGET_CHANGE_RESET);
    ck_assert_int_eq(ask(&(struct target_request){.kind = TARGET_RESET, .takes_time = true}),
                     BT_OK);
    ck_assert_int_eq(got.change, TARGET_CHANGE_RESET);
    ck_assert_int_eq(ask(&(struct target_request){
                         .kind = TARGET_FLASH_ERASE, .length = 0x100, .takes_time = true}),
                     BT_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(got.why, "no flash algorithm"));
    close_target();
}
END_TEST

/* Pulled while the core runs, and while it stands. */
START_TEST(test_unplugged)
{
    unsigned losses;
    open_target(true);
    if (_i == 0) {
        resume(TARGET_ACTION_CONTINUE);
        run_for(60);
        plug(false);
        await(&got.told, 0);
        ck_assert_ptr_nonnull(strstr(got.text, "The session goes on when it is back"));
    } else {
        plug(false);
    }
    const struct target_request r = {.kind = TARGET_READ_MEMORY, .address = RAM, .length = 4};
    ck_assert_int_ne(ask(&r), BT_OK);
    ck_assert_str_eq(got.why, "the probe does not answer: is it unplugged?");
    ck_assert(probe_thread_is_lost(&thread, &losses));
    ck_assert_uint_eq(losses, 1);
    plug(true);
    unsigned before = got.changes;
    await(&got.changes, before); /* it is looked for */
    ck_assert_int_eq(got.change, TARGET_CHANGE_RESET);
    ck_assert(!probe_thread_is_lost(&thread, &losses));
    (void)registers();
    close_target();
}
END_TEST

/* Whoever waits is told in time; others are served, and it may halt after all. */
START_TEST(test_never_halts)
{
    open_target(true);
    resume(TARGET_ACTION_CONTINUE);
    run_for(60);
    never_halts(true);
    uint64_t begin = uv_now(&loop);
    target_interrupt(target);
    await(&got.told, 0);
    ck_assert_uint_le(uv_now(&loop) - begin, DEADLINE + TICK);
    ck_assert_int_eq(got.stop.kind, TARGET_HALT_FAILED);
    ck_assert_ptr_nonnull(
        strstr(got.stop_text, "the core does not halt: DHCSR.C_HALT was set for"));
    ck_assert_int_eq(target->run, TARGET_RUNNING);
    ck_assert_uint_eq(got.stops, 0);
    never_halts(false);
    client.waits = true;
    target_interrupt(target);
    await(&got.told, 1);
    ck_assert_int_eq(got.stop.kind, TARGET_HALT_INTERRUPT);
    (void)registers();
    close_target();
}
END_TEST

/* One that does not halt even at first counts as running. */
START_TEST(test_never_halted)
{
    open_target(false);
    ck_assert_int_eq(target->run, TARGET_RUNNING);
    never_halts(false);
    target_interrupt(target);
    await(&got.stops, 0);
    (void)registers();
    close_target();
}
END_TEST

/* The thread ends, whatever is under way. */
START_TEST(test_end)
{
    open_target(true);
    if (_i == 0)
        resume(TARGET_ACTION_CONTINUE);
    else
        ck_assert_int_eq(target_ask(target, &client,
                                    &(struct target_request){.kind = TARGET_READ_REGISTERS},
                                    on_answer, NULL),
                         BT_OK);
    close_target();
    ck_assert_uint_eq(got.answers, 0);
    ck_assert_int_eq(board.system.scs.halted, false);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("probe_thread");
    unit_case(s, "probe_thread: what there is", test_open);
    unit_case(s, "probe_thread: registers", test_registers);
    unit_case(s, "probe_thread: memory", test_memory);
    unit_case(s, "probe_thread: code is read once at a halt", test_code);
    unit_case(s, "probe_thread: steps and breakpoints", test_step_and_run);
    unit_case(s, "probe_thread: interrupt", test_interrupt);
    unit_case(s, "probe_thread: commands, reset, no flash", test_command);
    unit_cases(s, "probe_thread: unplugged and back", test_unplugged, 0, 2);
    unit_case(s, "probe_thread: a core that never halts", test_never_halts);
    unit_case(s, "probe_thread: a core that never halted", test_never_halted);
    unit_cases(s, "probe_thread: its end", test_end, 0, 2);
    return s;
}
