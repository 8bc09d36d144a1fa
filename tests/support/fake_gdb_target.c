/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/fake_gdb_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int core_count(void *ctx)
{
    return ((struct fake_target *)ctx)->cores;
}

static int core_info(void *ctx, int core, struct target_core *info)
{
    static const char *const names[FAKE_CORES] = {"A9 #0", "A9 <#1>", "A9 #2"};
    struct fake_target *t = ctx;
    *info = (struct target_core){names[core], t->profile, t->big_endian};
    return BT_OK;
}

static int core_status(void *ctx, int core, char *text, size_t size)
{
    (void)ctx;
    snprintf(text, size, "%s", core == 1 ? "at \"216\"" : "");
    return BT_OK;
}

static int halt_reason(void *ctx, struct target_stop *stop)
{
    struct fake_target *t = ctx;
    text_buf_puts(&t->log, "halt;");
    return stop_answer(t, stop, NULL);
}

static int read_regs(void *ctx, int core, struct target_regs *regs)
{
    struct fake_target *t = ctx;
    *regs = t->regs[core];
    return answer(t, NULL);
}

static void read_refused(void *ctx, struct target_error *why)
{
    const struct fake_target *t = ctx;
    if (t->why != NULL)
        snprintf(why->text, sizeof(why->text), "%s", t->why);
}

static int write_reg(void *ctx, int core, enum target_reg reg, uint32_t value,
                     struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "reg %d %d %x;", core, (int)reg, value);
    return answer(t, why);
}

static int read_memory(void *ctx, int core, uint64_t address, void *bytes, size_t len)
{
    struct fake_target *t = ctx;
    (void)core;
    if (t->result < 0)
        return t->result;
    if (address < FAKE_MEMORY || address >= FAKE_MEMORY + FAKE_SIZE)
        return BT_ERR_RANGE;
    size_t left = (size_t)(FAKE_MEMORY + FAKE_SIZE - address);
    size_t take = len < left ? len : left;
    memcpy(bytes, t->memory + (address - FAKE_MEMORY), take);
    return (int)take;
}

static int write_memory(void *ctx, int core, uint64_t address, const void *bytes, size_t len,
                        struct target_error *why)
{
    struct fake_target *t = ctx;
    if (address < FAKE_MEMORY || address > FAKE_MEMORY + FAKE_SIZE ||
        len > FAKE_MEMORY + FAKE_SIZE - address)
        return BT_ERR_RANGE;
    memcpy(t->memory + (address - FAKE_MEMORY), bytes, len);
    text_buf_printf(&t->log, "write %d %llx %zx;", core, (unsigned long long)address, len);
    return answer(t, why);
}

static int memory_map(void *ctx, const struct target_region **regions)
{
    struct fake_target *t = ctx;
    *regions = t->regions;
    return t->region_count;
}

static int resume(void *ctx, const struct target_resume *r, struct target_stop *stop,
                  struct target_error *why)
{
    static const char letters[] = {'-', 'c', 's'};
    struct fake_target *t = ctx;
    text_buf_puts(&t->log, "resume ");
    for (int i = 0; i < t->cores; i++)
        text_buf_putc(&t->log, letters[r->action[i]]);
    text_buf_printf(&t->log, " %d%s%s;", r->core, r->step ? " step" : "",
                    r->threads_listed ? " listed" : "");
    return stop_answer(t, stop, why);
}

static int reverse(void *ctx, int core, bool step, struct target_stop *stop,
                   struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "reverse %d%s;", core, step ? " step" : "");
    return stop_answer(t, stop, why);
}

static void interrupt(void *ctx)
{
    struct fake_target *t = ctx;
    text_buf_puts(&t->log, "interrupt;");
}

static int insert_breakpoint(void *ctx, int core, const struct target_breakpoint *bp,
                             struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "insert %d %d %llx %x;", core, (int)bp->type,
                    (unsigned long long)bp->address, bp->kind);
    return answer(t, why);
}

static int remove_breakpoint(void *ctx, int core, const struct target_breakpoint *bp,
                             struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "remove %d %d %llx %x;", core, (int)bp->type,
                    (unsigned long long)bp->address, bp->kind);
    return answer(t, why);
}

static int btrace_enable(void *ctx, int core, struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "enable %d;", core);
    t->recording[core] = t->result >= 0;
    return answer(t, why);
}

static int btrace_disable(void *ctx, int core)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "disable %d;", core);
    t->recording[core] = false;
    return t->result;
}

static int btrace_set_size(void *ctx, uint32_t size, struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "size %x;", size);
    if (t->result >= 0)
        t->btrace_size = size < 0x100000 ? size : 0x100000;
    return answer(t, why);
}

static int btrace_conf(void *ctx, int core, struct gdb_btrace_conf *conf)
{
    struct fake_target *t = ctx;
    *conf = (struct gdb_btrace_conf){t->recording[core], t->btrace_size};
    return t->result;
}

static int btrace_read(void *ctx, int core, enum gdb_annex annex, struct gdb_btrace_blocks *out)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "read %d %d;", core, (int)annex);
    for (size_t i = 0; i < t->block_count; i++)
        gdb_btrace_blocks_add(out, t->blocks[i].begin, t->blocks[i].end);
    return t->result;
}

static void btrace_delivered(void *ctx, int core, enum gdb_annex annex)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "delivered %d %d;", core, (int)annex);
}

static int monitor(void *ctx, int core, const char *text, target_print_fn print, void *to)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "monitor %d '%s';", core, text);
    if (strcmp(text, "help") != 0)
        return t->result < 0 ? t->result : BT_ERR_UNSUPPORTED;
    print(to, "one\n");
    print(to, "two\n");
    return BT_OK;
}

static void detach(void *ctx)
{
    text_buf_puts(&((struct fake_target *)ctx)->log, "detach;");
}

static void kill_target(void *ctx)
{
    text_buf_puts(&((struct fake_target *)ctx)->log, "kill;");
}

static int restart(void *ctx, struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_puts(&t->log, "restart;");
    return answer(t, why);
}

static int extra_registers(void *ctx, int core, const struct target_register **list)
{
    static const struct target_register extra[FAKE_EXTRA] = {
        {"org.gnu.gdb.arm.m-system", "msp", "data_ptr", 32, 0},
        {"org.gnu.gdb.arm.m-system", "primask", "uint8", 8, 0},
        {"org.gnu.gdb.arm.vfp", "d0", "ieee_double", 64, 0},
    };
    const struct fake_target *t = ctx;
    (void)core;
    *list = extra;
    return (int)t->extra_count;
}

static int read_extra(void *ctx, int core, unsigned index, uint64_t *value)
{
    struct fake_target *t = ctx;
    (void)core;
    *value = t->extra[index];
    return t->extra_result;
}

static int write_extra(void *ctx, int core, unsigned index, uint64_t value,
                       struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "extra %d %u %llx;", core, index, (unsigned long long)value);
    return answer(t, why);
}

static int flash_erase(void *ctx, uint64_t address, uint64_t length, struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "erase %llx %llx;", (unsigned long long)address,
                    (unsigned long long)length);
    return answer(t, why);
}

static int flash_write(void *ctx, uint64_t address, const void *bytes, size_t len,
                       struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_printf(&t->log, "flash %llx ", (unsigned long long)address);
    text_buf_hex(&t->log, bytes, len);
    text_buf_putc(&t->log, ';');
    return answer(t, why);
}

static int flash_done(void *ctx, struct target_error *why)
{
    struct fake_target *t = ctx;
    text_buf_puts(&t->log, "done;");
    return answer(t, why);
}

void fake_target_init(struct fake_target *t)
{
    *t = (struct fake_target){
        .cores = 2, .btrace_size = 0x4000, .extra = {0x11223344, 1, 0x0123456789abcdef}};
    t->ops = (struct gdb_target){
        core_count,
        core_info,
        core_status,
        halt_reason,
        read_regs,
        read_refused,
        write_reg,
        read_memory,
        write_memory,
        memory_map,
        resume,
        reverse,
        interrupt,
        insert_breakpoint,
        remove_breakpoint,
        btrace_enable,
        btrace_disable,
        btrace_set_size,
        btrace_conf,
        btrace_read,
        btrace_delivered,
        monitor,
        detach,
        kill_target,
        restart,
        extra_registers,
        read_extra,
        write_extra,
        flash_erase,
        flash_write,
        flash_done,
        NULL, /* reverse execution: see tests of the server */
        NULL,
    };
    for (int c = 0; c < FAKE_CORES; c++) {
        t->regs[c].known = (1u << TARGET_REG_COUNT) - 1;
        for (int i = 0; i < TARGET_REG_COUNT; i++)
            t->regs[c].value[i] = (uint32_t)(0x100 * c + i);
    }
    for (size_t i = 0; i < FAKE_SIZE; i++)
        t->memory[i] = (uint8_t)i;
    text_buf_init(&t->log);
}

void fake_target_release(struct fake_target *t)
{
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
    if (gdb_session_init(&w->session, &w->target.ops, &w->target, send_bytes, &w->sent) < 0)
        abort();
}

void fake_wire_release(struct fake_wire *w)
{
    gdb_session_release(&w->session);
    fake_target_release(&w->target);
    text_buf_release(&w->sent);
    text_buf_release(&w->replies);
}

void fake_frame(struct text_buf *out, const void *payload, size_t len)
{
    const unsigned char *from = payload;
    unsigned sum = 0;
    text_buf_putc(out, '$');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = from[i];
        if (c == '$' || c == '#' || c == '}') {
            text_buf_putc(out, '}');
            sum += '}';
            c ^= 0x20;
        }
        text_buf_putc(out, (char)c);
        sum += c;
    }
    text_buf_printf(out, "#%02x", sum & 0xff);
}

long fake_take_frame(const char *bytes, size_t len, struct text_buf *payload)
{
    unsigned sum = 0;
    unsigned wanted;
    size_t i = 1;
    if (len == 0)
        return 0;
    if (bytes[0] == '+' || bytes[0] == '-')
        return 1;
    if (bytes[0] != '$')
        return -1;
    text_buf_clear(payload);
    for (; i < len && bytes[i] != '#'; i++) {
        /* '*' would be run-length encoding, which is not used. */
        if (bytes[i] == '$' || bytes[i] == '*')
            return -1;
        sum += (unsigned char)bytes[i];
        if (bytes[i] == '}') {
            i++;
            if (i >= len || bytes[i] == '#')
                return -1;
            sum += (unsigned char)bytes[i];
            text_buf_putc(payload, (char)(bytes[i] ^ 0x20));
        } else {
            text_buf_putc(payload, bytes[i]);
        }
    }
    char digits[3] = "";
    if (len - i < 3)
        return -1;
    memcpy(digits, bytes + i + 1, 2);
    if (sscanf(digits, "%2x", &wanted) != 1 || wanted != (sum & 0xff))
        return -1;
    return (long)i + 3;
}

const char *fake_replies(struct fake_wire *w)
{
    struct text_buf payload;
    int count = 0;
    text_buf_init(&payload);
    text_buf_clear(&w->replies);
    while (w->sent.len > 0) {
        bool frame = w->sent.data[0] == '$';
        long len = fake_take_frame(w->sent.data, w->sent.len, &payload);
        if (len <= 0)
            abort();
        text_buf_drop(&w->sent, (size_t)len);
        if (!frame)
            continue;
        if (count++ > 0)
            text_buf_putc(&w->replies, '|');
        text_buf_add(&w->replies, payload.data, payload.len);
        if (!w->no_ack)
            gdb_session_input(&w->session, "+", 1);
    }
    text_buf_release(&payload);
    if (count == 0)
        text_buf_puts(&w->replies, "(none)");
    return w->replies.data;
}

const char *fake_ask_bytes(struct fake_wire *w, const void *payload, size_t len)
{
    struct text_buf frame;
    text_buf_init(&frame);
    fake_frame(&frame, payload, len);
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
