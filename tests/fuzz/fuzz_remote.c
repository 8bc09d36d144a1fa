/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session that is passed on, with bytes from both sides and everything that the daemon may do in
 * between. What goes out on either wire must be well framed, every question is answered once, and
 * what a careless server or client sends is bounded.
 *
 * Input: steps of a code, a length and as many bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "protocol/remote/gdb_remote_client.h"
#include "tests/support/fake_remote.h"

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
    ACTION_COUNT
};

static const struct gdb_btrace_block blocks[] = {{0x8010, 0x8010}, {0x0, 0x8004}};

struct run {
    struct fake_remote fake; /* first: events get a pointer to it */
    int open_questions;
    bool ask_in_events;
};

static void answered(struct run *r)
{
    if (--r->open_questions < 0)
        abort();
}

static void got_reply(void *ctx, const char *reply, size_t len)
{
    if (reply == NULL && len != 0)
        abort();
    answered(ctx);
}

static void got_regs(void *ctx, int core, const struct target_regs *regs)
{
    if (core < 0 || (regs != NULL && (regs->known >> TARGET_REG_PC & 1) == 0))
        abort();
    answered(ctx);
}

static void got_memory(void *ctx, uint64_t address, const uint8_t *bytes, size_t len)
{
    if (len > 1024 || (address != 0x1000 && address != 0x2000) || bytes == NULL)
        abort();
    answered(ctx);
}

/* The answer may come before the question returns. */
static void count(struct run *r, int rc)
{
    if (rc < 0)
        answered(r);
}

static void ask(struct run *r)
{
    r->open_questions++;
    count(r, gdb_remote_ask(r->fake.u, "qC", 2, got_reply, r));
}

static void access_target(struct run *r, enum action action)
{
    static const uint8_t bytes[64];
    struct gdb_remote *u = r->fake.u;
    int last = gdb_remote_cores(u) - 1;
    r->open_questions++;
    if (action == ACTION_READ_PC)
        count(r, gdb_remote_read_pc(u, last, got_regs, r));
    else if (action == ACTION_READ_MEMORY)
        count(r, gdb_remote_read_memory(u, 0, 0x1000, 1024, got_memory, r));
    else
        count(r, gdb_remote_write_memory(u, last, 0x2000, bytes, sizeof(bytes), got_memory, r));
}

static void on_event(struct fake_remote *fake)
{
    struct run *r = (struct run *)fake;
    if (r->ask_in_events) {
        ask(r);
        access_target(r, ACTION_READ_PC);
    }
}

static void close_session(struct fake_remote *f)
{
    fake_remote_close(f);
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

static void connection_action(struct fake_remote *f, enum action action)
{
    if (action == ACTION_BREAK)
        gdb_remote_disconnected(f->u);
    else if (action == ACTION_BREAK_IN_SEND)
        f->drop_on_send = true;
    else if (action == ACTION_CONNECT)
        gdb_remote_connected(f->u);
    else if (action == ACTION_GREET)
        greet(f);
    else if (action == ACTION_CLOSE || f->has_session)
        close_session(f);
    else
        fake_remote_open(f);
}

static void act(struct run *r, enum action action)
{
    struct fake_remote *f = &r->fake;
    switch (action) {
    case ACTION_RELEASE:
        gdb_remote_release_stop(f->u);
        break;
    case ACTION_HOLD:
        f->hold = !f->hold;
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
        gdb_remote_resume(f->u);
        break;
    case ACTION_INTERRUPT:
        gdb_remote_interrupt(f->u);
        break;
    case ACTION_NO_ACK:
        f->server_no_ack = !f->server_no_ack;
        break;
    case ACTION_ASK_IN_EVENTS:
        r->ask_in_events = !r->ask_in_events;
        break;
    default:
        connection_action(f, action);
    }
}

static void check(const struct run *r)
{
    const struct gdb_remote *u = r->fake.u;
    if (u->run == GDB_REMOTE_HELD && !gdb_remote_is_running(u))
        abort();
    if (gdb_remote_is_running(u) && !gdb_remote_is_ready(u) && !r->fake.has_session)
        abort();
    if (gdb_remote_cores(u) < 1 || gdb_remote_cores(u) > TARGET_CORES_MAX)
        abort();
    if (gdb_remote_stopped_core(u) >= gdb_remote_cores(u))
        abort();
}

/* Both end the program when they see a frame that is not right. */
static void acknowledge(struct fake_remote *f)
{
    fake_server_got(f);
    if (f->has_session && gdb_session_state(&f->session) != GDB_SESSION_FAILED)
        fake_client_got(f);
}

static void do_step(struct run *r, enum step step, const uint8_t *bytes, size_t len)
{
    struct fake_remote *f = &r->fake;
    struct text_buf frame;
    text_buf_init(&frame);
    fake_frame(&frame, bytes, len);
    if (step == STEP_CLIENT_BYTES && f->has_session)
        gdb_session_input(&f->session, bytes, len);
    else if (step == STEP_CLIENT_PACKET && f->has_session)
        gdb_session_input(&f->session, frame.data, frame.len);
    else if (step == STEP_SERVER_BYTES)
        gdb_remote_input(f->u, bytes, len);
    else if (step == STEP_SERVER_PACKET)
        gdb_remote_input(f->u, frame.data, frame.len);
    else if (step == STEP_ACKNOWLEDGE)
        acknowledge(f);
    for (size_t i = 0; step == STEP_ACTION && i < len; i++)
        act(r, (enum action)(bytes[i] % ACTION_COUNT));
    text_buf_release(&frame);
    text_buf_clear(&f->log);
    text_buf_clear(&f->target.log);
    check(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r = {.open_questions = 0};
    fake_remote_init(&r.fake);
    r.fake.on_stopped = on_event;
    r.fake.on_changed = on_event;
    r.fake.target.blocks = blocks;
    r.fake.target.block_count = sizeof(blocks) / sizeof(*blocks);
    fake_remote_connect(&r.fake);
    fake_remote_open(&r.fake);
    while (size >= 2) {
        enum step step = (enum step)(data[0] % STEP_COUNT);
        size_t len = data[1] < size - 2 ? data[1] : size - 2;
        do_step(&r, step, data + 2, len);
        data += 2 + len;
        size -= 2 + len;
    }
    acknowledge(&r.fake);
    fake_remote_release(&r.fake);
    if (r.open_questions != 0)
        abort();
    return 0;
}
