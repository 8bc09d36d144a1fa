/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session on a remote target, with bytes from both sides and everything that the daemon may do in
 * between. What goes out on either wire must be well framed, every question is answered once, and
 * what a careless server or client sends is bounded.
 *
 * Input: steps of a code, a length and as many bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_session.h"
#include "tests/support/rsp_frame.h"

enum step {
    STEP_CLIENT_BYTES,
    STEP_CLIENT_PACKET,
    STEP_SERVER_BYTES,
    STEP_SERVER_PACKET,
    STEP_ACKNOWLEDGE, /* what both sides have got */
    STEP_ACTION,      /* each byte is one */
    STEP_COUNT
};

enum action {
    ACTION_RELEASE,
    ACTION_HOLD,
    ACTION_ASK,
    ACTION_READ_PC,
    ACTION_READ_MEMORY,
    ACTION_WRITE_MEMORY,
    ACTION_RESUME,
    ACTION_INTERRUPT,
    ACTION_BREAK, /* the connection */
    ACTION_BREAK_IN_SEND,
    ACTION_CONNECT,
    ACTION_GREET,
    ACTION_CLOSE, /* the session */
    ACTION_OPEN,
    ACTION_NO_ACK,
    ACTION_ASK_IN_EVENTS,
    ACTION_HOLD_CLIENTS,
    ACTION_LET_GO,
    ACTION_TICK, /* a second later */
    ACTION_CHANGE_CONTROL,
    ACTION_COUNT
};

static const struct gdb_btrace_block blocks[] = {{0x8010, 0x8010}, {0x0, 0x8004}};

struct run {
    struct fake_session fake; /* first: events get a pointer to it */
    uint64_t now_ms;
    int open_questions;
    bool ask_in_events;
};

static void answered(struct run *r)
{
    if (--r->open_questions < 0)
        abort();
}

static void got_answer(void *ctx, const struct target_answer *a)
{
    if (!a->why || (a->length > 0 && !a->bytes))
        abort();
    answered(ctx);
}

static void got_regs(void *ctx, const struct target_answer *a)
{
    if ((a->error == BT_OK) != (a->regs && (a->regs->known >> TARGET_REG_PC & 1)))
        abort();
    answered(ctx);
}

static void got_memory(void *ctx, const struct target_answer *a)
{
    if (a->length > 1024 || (a->error == BT_OK && (a->length == 0 || !a->bytes)))
        abort();
    answered(ctx);
}

/* The answer may come before the question returns. */
static void ask_for(struct run *r, const struct target_request *request, target_done_fn done)
{
    r->open_questions++;
    if (target_ask(r->fake.r.t, NULL, request, done, r) < 0)
        answered(r);
}

static void ask(struct run *r)
{
    struct target_request request = gdb_packet_read("qC", 2).request;
    ask_for(r, &request, got_answer);
}

static void access_target(struct run *r, enum action action)
{
    static const uint8_t bytes[64];
    struct target_request request = {.kind = TARGET_READ_REGISTERS,
                                     .core = target_cores(r->fake.r.t) - 1,
                                     .set = TARGET_REGISTERS_CORE,
                                     .background = r->ask_in_events};
    target_done_fn done = got_regs;
    if (action == ACTION_READ_MEMORY) {
        request.kind = TARGET_READ_MEMORY;
        request.address = 0x1000;
        request.length = 1024;
        done = got_memory;
    } else if (action == ACTION_WRITE_MEMORY) {
        request.kind = TARGET_WRITE_MEMORY;
        request.address = 0x2000;
        request.length = sizeof(bytes);
        request.bytes = bytes;
        done = got_answer;
    }
    ask_for(r, &request, done);
}

static void on_event(struct fake_remote *fake)
{
    /* The first member of the first one. */
    struct run *r = (struct run *)fake;
    if (r->ask_in_events) {
        ask(r);
        access_target(r, ACTION_READ_PC);
    }
}

static void close_session(struct fake_session *f)
{
    fake_session_close(f);
    text_buf_clear(&f->to_client);
}

static void greet(struct fake_remote *f)
{
    gdb_remote_disconnected(f->u);
    text_buf_clear(&f->to_server);
    text_buf_clear(&f->log);
    f->server_no_ack = false;
    f->drop_on_send = false;
    fake_remote_connect(f);
}

static void connection_action(struct fake_session *f, enum action action)
{
    if (action == ACTION_BREAK)
        gdb_remote_disconnected(f->r.u);
    else if (action == ACTION_BREAK_IN_SEND)
        f->r.drop_on_send = true;
    else if (action == ACTION_CONNECT)
        gdb_remote_connected(f->r.u);
    else if (action == ACTION_GREET)
        greet(&f->r);
    else if (action == ACTION_CLOSE || f->open)
        close_session(f);
    else
        fake_session_open(f, f->r.t, GDB_CONTROLS);
}

static void change_control(struct fake_session *f)
{
    if (!f->open)
        return;
    if (gdb_session_observes(&f->session))
        gdb_session_take_control(&f->session);
    else
        gdb_session_give_control(&f->session);
}

static void act(struct run *r, enum action action)
{
    struct fake_session *f = &r->fake;
    struct target *t = f->r.t;
    switch (action) {
    case ACTION_RELEASE:
        target_release_stop(t);
        break;
    case ACTION_HOLD:
        f->r.hold = !f->r.hold;
        break;
    case ACTION_ASK:
        ask(r);
        break;
    case ACTION_READ_PC:
    case ACTION_READ_MEMORY:
    case ACTION_WRITE_MEMORY:
        access_target(r, action);
        break;
    case ACTION_RESUME:
        target_resume(t);
        break;
    case ACTION_INTERRUPT:
        target_interrupt(t);
        break;
    case ACTION_NO_ACK:
        f->r.server_no_ack = !f->r.server_no_ack;
        break;
    case ACTION_ASK_IN_EVENTS:
        r->ask_in_events = !r->ask_in_events;
        break;
    case ACTION_HOLD_CLIENTS:
        target_hold_clients(t, !t->holds_clients);
        break;
    case ACTION_LET_GO:
        target_let_go(t, r->ask_in_events);
        break;
    case ACTION_TICK:
        r->now_ms += 1000;
        target_tick(t, r->now_ms);
        break;
    case ACTION_CHANGE_CONTROL:
        change_control(f);
        break;
    default:
        connection_action(f, action);
    }
}

static void check(const struct run *r)
{
    const struct target *t = r->fake.r.t;
    if (t->run == TARGET_HELD && !target_is_running(t))
        abort();
    if (target_is_running(t) && !target_is_ready(t) && !r->fake.open)
        abort();
    if (target_cores(t) > TARGET_CORES_MAX || t->stopped_core >= target_cores(t))
        abort();
    if (t->pump != 0 || (t->run == TARGET_HALTED && t->resumed))
        abort();
}

/* Both end the program when they see a frame that is not right. */
static void acknowledge(struct fake_session *f)
{
    fake_server_got(&f->r);
    if (f->open && gdb_session_state(&f->session) != GDB_SESSION_FAILED)
        fake_client_got(f);
}

static void do_step(struct run *r, enum step step, const uint8_t *bytes, size_t len)
{
    struct fake_session *f = &r->fake;
    struct text_buf frame;
    text_buf_init(&frame);
    rsp_frame_put(&frame, bytes, len);
    if (step == STEP_CLIENT_BYTES && f->open)
        gdb_session_input(&f->session, bytes, len);
    else if (step == STEP_CLIENT_PACKET && f->open)
        gdb_session_input(&f->session, frame.data, frame.len);
    else if (step == STEP_SERVER_BYTES)
        gdb_remote_input(f->r.u, bytes, len);
    else if (step == STEP_SERVER_PACKET)
        gdb_remote_input(f->r.u, frame.data, frame.len);
    else if (step == STEP_ACKNOWLEDGE)
        acknowledge(f);
    for (size_t i = 0; step == STEP_ACTION && i < len; i++)
        act(r, (enum action)(bytes[i] % ACTION_COUNT));
    text_buf_release(&frame);
    text_buf_clear(&f->log);
    text_buf_clear(&f->r.log);
    check(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r = {.now_ms = 1000};
    fake_session_init(&r.fake);
    r.fake.r.on_stopped = on_event;
    r.fake.r.on_changed = on_event;
    r.fake.blocks = blocks;
    r.fake.block_count = sizeof(blocks) / sizeof(*blocks);
    target_tick(r.fake.r.t, r.now_ms);
    fake_remote_connect(&r.fake.r);
    fake_session_open(&r.fake, r.fake.r.t, GDB_CONTROLS);
    while (size >= 2) {
        enum step step = (enum step)(data[0] % STEP_COUNT);
        size_t len = data[1] < size - 2 ? data[1] : size - 2;
        do_step(&r, step, data + 2, len);
        data += 2 + len;
        size -= 2 + len;
    }
    acknowledge(&r.fake);
    fake_session_release(&r.fake);
    if (r.open_questions != 0)
        abort();
    return 0;
}
