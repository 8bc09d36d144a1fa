/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/fake_gdb_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/rsp_frame.h"

/* The target. */

static struct fake_target *fake_of(struct target *t)
{
    return (struct fake_target *)t;
}

static const char *fake_words(const struct fake_target *t)
{
    return t->why ? t->why : "";
}

static void fake_write_registers(struct fake_target *t, const struct target_request *r)
{
    for (int i = 0; i < TARGET_REG_COUNT; i++)
        if (r->regs->known >> i & 1)
            text_buf_printf(&t->log, "reg %d %d %llx;", r->core, i,
                            (unsigned long long)r->regs->value[i]);
    for (int i = 0; i < TARGET_STACKS; i++)
        if (r->regs->stack_known >> i & 1)
            text_buf_printf(&t->log, "stack %d %d %x;", r->core, i, r->regs->stack[i]);
    for (int i = 0; i < TARGET_EXTRA_MAX; i++)
        if (r->regs->extra_known >> i & 1)
            text_buf_printf(&t->log, "extra %d %d %llx;", r->core, i,
                            (unsigned long long)r->regs->extra[i]);
}

static int fake_memory(const struct fake_target *t, const struct target_request *r,
                       struct target_answer *a)
{
    if (t->result < 0)
        return t->result;
    if (r->address < FAKE_MEMORY || r->address >= FAKE_MEMORY + FAKE_SIZE)
        return BT_ERR_RANGE;
    size_t left = (size_t)(FAKE_MEMORY + FAKE_SIZE - r->address);
    a->bytes = t->memory + (r->address - FAKE_MEMORY);
    a->length = r->length < left ? r->length : left;
    return BT_OK;
}

static int fake_write_memory(struct fake_target *t, const struct target_request *r)
{
    if (r->address < FAKE_MEMORY || r->address > FAKE_MEMORY + FAKE_SIZE ||
        r->length > FAKE_MEMORY + FAKE_SIZE - r->address)
        return BT_ERR_RANGE;
    memcpy(t->memory + (r->address - FAKE_MEMORY), r->bytes, r->length);
    text_buf_printf(&t->log, "write %d %llx %zx;", r->core, (unsigned long long)r->address,
                    r->length);
    return t->result;
}

static int fake_breakpoint(struct fake_target *t, const struct target_request *r)
{
    const struct target_breakpoint *bp = &r->breakpoint;
    if (t->no_breakpoints)
        return BT_ERR_UNSUPPORTED;
    text_buf_printf(&t->log, "%s %d %d %llx %x;", r->kind == TARGET_INSERT ? "insert" : "remove",
                    r->core, (int)bp->type, (unsigned long long)bp->address, bp->kind);
    return t->result;
}

static int fake_flash(struct fake_target *t, const struct target_request *r)
{
    if (t->no_flash)
        return BT_ERR_UNSUPPORTED;
    if (r->kind == TARGET_FLASH_ERASE)
        text_buf_printf(&t->log, "erase %llx %llx;", (unsigned long long)r->address,
                        (unsigned long long)r->length);
    if (r->kind == TARGET_FLASH_WRITE) {
        text_buf_printf(&t->log, "flash %llx ", (unsigned long long)r->address);
        text_buf_hex(&t->log, r->bytes, r->length);
    }
    text_buf_puts(&t->log, r->kind == TARGET_FLASH_WRITE  ? ";"
                           : r->kind == TARGET_FLASH_DONE ? "done;"
                                                          : "");
    return t->result;
}

static int fake_command(struct fake_target *t, const struct target_request *r)
{
    text_buf_printf(&t->log, "command '%.*s';", (int)r->length, (const char *)r->bytes);
    if (r->length != 3 || memcmp(r->bytes, "say", 3) != 0)
        return BT_ERR_UNSUPPORTED;
    target_output(&t->target, "said\n", 5);
    return t->result;
}

static void fake_resume(struct fake_target *t, const struct target_resume *r)
{
    static const char letters[] = {'-', 'c', 's'};
    struct target_stop failed = {.kind = TARGET_HALT_FAILED};
    text_buf_puts(&t->log, "resume ");
    for (int i = 0; r && i < t->target.core_count; i++)
        text_buf_putc(&t->log, letters[r->action[i]]);
    text_buf_printf(&t->log, " %d%s%s;", r ? r->core : -1, r && r->step ? " step" : "",
                    r && r->threads_listed ? " listed" : "");
    if (t->result == TARGET_PENDING)
        return;
    target_stopped(&t->target, &(struct target_halt){.stop = t->result < 0 ? &failed : &t->stop,
                                                     .text = t->result >= 0 ? ""
                                                             : t->why       ? t->why
                                                                      : bt_strerror(t->result)});
}

static void fake_start(struct target *target, const struct target_request *r)
{
    struct fake_target *t = fake_of(target);
    struct target_answer a = {.error = t->result, .why = fake_words(t)};
    switch (r->kind) {
    case TARGET_READ_REGISTERS:
        a.regs = &t->regs[r->core];
        break;
    case TARGET_WRITE_REGISTERS:
        fake_write_registers(t, r);
        break;
    case TARGET_READ_MEMORY:
        a.error = fake_memory(t, r, &a);
        break;
    case TARGET_WRITE_MEMORY:
        a.error = fake_write_memory(t, r);
        break;
    case TARGET_INSERT:
    case TARGET_REMOVE:
        a.error = fake_breakpoint(t, r);
        break;
    case TARGET_FLASH_ERASE:
    case TARGET_FLASH_WRITE:
    case TARGET_FLASH_DONE:
        a.error = fake_flash(t, r);
        break;
    case TARGET_STATUS:
    case TARGET_RESET:
        text_buf_puts(&t->log, r->kind == TARGET_STATUS ? "halt;" : "reset;");
        a.stop = &t->stop;
        break;
    case TARGET_COMMAND:
        a.error = fake_command(t, r);
        break;
    case TARGET_RESUME:
        fake_resume(t, r->resume);
        return;
    case TARGET_PACKET:
        break;
    }
    if (t->result == TARGET_PENDING && r->kind == TARGET_STATUS)
        return;
    a.error = a.error < 0 ? a.error : BT_OK;
    target_answered(target, &a);
}

void fake_target_stop(struct fake_target *t, const struct target_stop *stop)
{
    if (t->target.under_way)
        target_answered(&t->target, &(struct target_answer){.why = "", .stop = stop});
    target_stopped(&t->target, &(struct target_halt){.stop = stop, .text = "gone #$}*"});
}

static void fake_interrupt(struct target *target)
{
    text_buf_puts(&fake_of(target)->log, "interrupt;");
}

#define CORE "org.gnu.gdb.arm.core"
#define M    "org.gnu.gdb.arm.m-profile"
#define CORE_REGISTERS(feature, psr)                                                               \
    {feature, "r0", "uint32", 32, 0}, {feature, "r1", "uint32", 32, 1},                            \
        {feature, "r2", "uint32", 32, 2}, {feature, "r3", "uint32", 32, 3},                        \
        {feature, "r4", "uint32", 32, 4}, {feature, "r5", "uint32", 32, 5},                        \
        {feature, "r6", "uint32", 32, 6}, {feature, "r7", "uint32", 32, 7},                        \
        {feature, "r8", "uint32", 32, 8}, {feature, "r9", "uint32", 32, 9},                        \
        {feature, "r10", "uint32", 32, 10}, {feature, "r11", "uint32", 32, 11},                    \
        {feature, "r12", "uint32", 32, 12}, {feature, "sp", "data_ptr", 32, 13},                   \
        {feature, "lr", NULL, 32, 14}, {feature, "pc", "code_ptr", 32, 15},                        \
        {feature, psr, NULL, 32, 25}, {"org.gnu.gdb.arm.m-system", "control", "uint32", 32, 26},   \
        {"org.gnu.gdb.arm.m-system", "primask", "uint8", 8, 27},                                   \
    {                                                                                              \
        "org.gnu.gdb.arm.vfp", "d0", "ieee_double", 64, 28                                         \
    }

static unsigned fake_registers(struct target *target, int core, const struct target_register **list)
{
    static const struct target_register a_list[] = {CORE_REGISTERS(CORE, "cpsr")};
    static const struct target_register m_list[] = {CORE_REGISTERS(M, "xpsr")};
    const struct fake_target *t = fake_of(target);
    (void)core;
    *list = t->registers ? t->registers : t->profile == TARGET_PROFILE_M ? m_list : a_list;
    return t->registers ? t->register_count : TARGET_REG_COUNT + t->extra_count;
}

static int fake_core_info(struct target *target, int core, struct target_core *info)
{
    static const char *const names[FAKE_CORES] = {"A9 #0", "A9 <#1>", "A9 #2"};
    const struct fake_target *t = fake_of(target);
    *info = (struct target_core){names[core], t->profile, t->big_endian};
    return BT_OK;
}

static void fake_core_status(struct target *target, int core, char *text, size_t size)
{
    (void)target;
    snprintf(text, size, "%s", core == 1 ? "at \"216\"" : "");
}

static unsigned fake_memory_map(struct target *target, const struct target_region **regions)
{
    const struct fake_target *t = fake_of(target);
    *regions = t->regions;
    return t->region_count;
}

static void fake_ready(void *ctx, int error)
{
    (void)ctx, (void)error;
}

static void fake_resumed(void *ctx)
{
    (void)ctx;
}

static void fake_stopped(void *ctx)
{
    target_release_stop(&((struct fake_target *)ctx)->target);
}

static void fake_changed(void *ctx, enum target_change change, uint64_t address, uint64_t length)
{
    (void)ctx, (void)change, (void)address, (void)length;
}

static const struct target_events fake_events = {
    .ready = fake_ready,
    .resumed = fake_resumed,
    .stopped = fake_stopped,
    .changed = fake_changed,
    .lost = fake_resumed,
};

/* The host. */

static int answer(struct fake_target *t, struct target_error *why)
{
    if (t->result < 0 && t->why != NULL && why != NULL)
        snprintf(why->text, sizeof(why->text), "%s", t->why);
    return t->result;
}

static int stop_answer(struct fake_target *t, struct target_stop *stop, struct target_error *why)
{
    *stop = t->stop;
    if (t->stop_session != NULL)
        gdb_session_stopped(t->stop_session, &t->stop);
    return answer(t, why);
}

static int host_resume(void *ctx, const struct target_resume *r, struct target_stop *stop,
                       struct target_error *why)
{
    struct fake_target *t = ctx;
    if (!t->replaying)
        return GDB_PASS_ON;
    text_buf_printf(&t->log, "move %d%s;", r->core, r->step ? " step" : "");
    return stop_answer(t, stop, why);
}

static int host_reverse(void *ctx, int core, bool step, struct target_stop *stop,
                        struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "reverse %d%s;", core, step ? " step" : "");
    return stop_answer(t, stop, why);
}

static void host_interrupt(void *ctx)
{
    text_buf_puts(&((struct fake_target *)ctx)->log, "interrupt;");
}

static bool host_is_replaying(void *ctx, int core)
{
    (void)core;
    return ((const struct fake_target *)ctx)->replaying;
}

static int host_read_regs(void *ctx, int core, struct target_regs *regs)
{
    struct fake_target *t = ctx;
    *regs = t->regs[core];
    return answer(t, NULL);
}

static size_t host_reverse_memory(void *ctx, int core, uint64_t address, void *bytes, size_t there,
                                  size_t len)
{
    const struct fake_target *t = ctx;
    size_t n = len < t->told ? len : t->told;
    (void)core, (void)address, (void)there;
    memset(bytes, 0xaa, n);
    return n;
}

static int host_btrace_enable(void *ctx, int core, struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "enable %d;", core);
    t->recording[core] = t->result >= 0;
    return answer(t, why);
}

static void host_btrace_disable(void *ctx, int core)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "disable %d;", core);
    t->recording[core] = false;
}

static void host_btrace_set_size(void *ctx, uint32_t size)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "size %x;", size);
    t->btrace_size = size < 0x100000 ? size : 0x100000;
}

static struct gdb_btrace_conf host_btrace_conf(void *ctx, int core)
{
    const struct fake_target *t = ctx;
    return (struct gdb_btrace_conf){t->recording[core], t->btrace_size};
}

static int host_btrace_read(void *ctx, int core, enum gdb_annex annex,
                            struct gdb_btrace_blocks *out)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "read %d %d;", core, (int)annex);
    for (size_t i = 0; i < t->block_count; i++)
        gdb_btrace_blocks_add(out, t->blocks[i].begin, t->blocks[i].end);
    return t->result;
}

static void host_btrace_delivered(void *ctx, int core, enum gdb_annex annex)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "delivered %d %d;", core, (int)annex);
}

static int host_monitor(void *ctx, int core, const char *text, target_print_fn print, void *to)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "monitor %d '%s';", core, text);
    if (strcmp(text, "help") != 0)
        return t->result < 0 ? t->result : BT_ERR_UNSUPPORTED;
    print(to, "one\n");
    print(to, "two\n");
    return BT_OK;
}

static void host_leave(void *ctx)
{
    text_buf_puts(&((struct fake_target *)ctx)->log, "leave;");
}

static int host_restart(void *ctx, struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_puts(&t->log, "restart;");
    return answer(t, why);
}

void fake_target_init(struct fake_target *t)
{
    *t = (struct fake_target){.btrace_size = 0x4000};
    t->ops = (struct target_ops){
        .start = fake_start,
        .interrupt = fake_interrupt,
        .registers = fake_registers,
        .core_info = fake_core_info,
        .core_status = fake_core_status,
        .memory_map = fake_memory_map,
        .writable = true,
    };
    t->host = (struct gdb_host){
        .btrace_enable = host_btrace_enable,
        .btrace_disable = host_btrace_disable,
        .btrace_set_size = host_btrace_set_size,
        .btrace_conf = host_btrace_conf,
        .btrace_read = host_btrace_read,
        .btrace_delivered = host_btrace_delivered,
        .monitor = host_monitor,
        .is_replaying = host_is_replaying,
        .read_regs = host_read_regs,
        .reverse_memory = host_reverse_memory,
        .resume = host_resume,
        .reverse = host_reverse,
        .interrupt = host_interrupt,
        .leave = host_leave,
        .restart = host_restart,
    };
    for (int c = 0; c < FAKE_CORES; c++) {
        t->regs[c].known = (1u << TARGET_REG_COUNT) - 1;
        for (int i = 0; i < TARGET_REG_COUNT; i++)
            t->regs[c].value[i] = (uint32_t)(0x100 * c + i);
        t->regs[c].extra_known = 7;
        t->regs[c].extra[0] = 0x11223344;
        t->regs[c].extra[1] = 1;
        t->regs[c].extra[2] = 0x0123456789abcdef;
    }
    for (size_t i = 0; i < FAKE_SIZE; i++)
        t->memory[i] = (uint8_t)i;
    text_buf_init(&t->log);
    target_init(&t->target, &t->ops, &fake_events, t);
    t->target.core_count = 2;
    target_opening(&t->target);
    target_opened(&t->target, TARGET_HALTED);
}

void fake_target_release(struct fake_target *t)
{
    target_release(&t->target);
    text_buf_release(&t->log);
}

static void send_bytes(void *ctx, const void *bytes, size_t len)
{
    text_buf_add(ctx, bytes, len);
}

void fake_wire_init(struct fake_wire *w)
{
    *w = (struct fake_wire){.no_ack = false};
    fake_target_init(&w->target);
    text_buf_init(&w->sent);
    text_buf_init(&w->replies);
}

void fake_wire_open(struct fake_wire *w)
{
    if (gdb_session_init(&w->session, &w->target.target, &w->target.host, &w->target, GDB_CONTROLS,
                         "", send_bytes, &w->sent) < 0)
        abort();
}

void fake_wire_observe(struct fake_wire *w, struct fake_wire *other, const char *greeting)
{
    fake_wire_init(w);
    if (gdb_session_init(&w->session, &other->target.target, &w->target.host, &w->target,
                         GDB_OBSERVES, greeting, send_bytes, &w->sent) < 0)
        abort();
}

void fake_wire_release(struct fake_wire *w)
{
    gdb_session_release(&w->session);
    fake_target_release(&w->target);
    text_buf_release(&w->sent);
    text_buf_release(&w->replies);
}

static void wire_acknowledge(void *ctx)
{
    struct fake_wire *w = ctx;
    if (!w->no_ack)
        gdb_session_input(&w->session, "+", 1);
}

const char *fake_replies(struct fake_wire *w)
{
    return rsp_frames_take(&w->sent, &w->replies, wire_acknowledge, w);
}

const char *fake_ask_bytes(struct fake_wire *w, const void *payload, size_t len)
{
    struct text_buf frame;
    text_buf_init(&frame);
    rsp_frame_put(&frame, payload, len);
    gdb_session_input(&w->session, frame.data, frame.len);
    text_buf_release(&frame);
    return fake_replies(w);
}

const char *fake_ask(struct fake_wire *w, const char *payload)
{
    return fake_ask_bytes(w, payload, strlen(payload));
}

const char *fake_log(struct fake_wire *w)
{
    text_buf_clear(&w->replies);
    text_buf_add(&w->replies, w->target.log.data, w->target.log.len);
    text_buf_clear(&w->target.log);
    return w->replies.data;
}
