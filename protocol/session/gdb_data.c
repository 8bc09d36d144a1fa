/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers, memory, flash and breakpoints. Registers (g, G, p, P) are laid out as the target
 * describes them, at a replay position, too.
 */
#include "decoder/base/bytes.h"
#include "gdb_internal.h"
#include "protocol/rsp/gdb_packet.h"

#include <string.h>

/* What a client without target.xml counts as the number of the PSR. */
#define PSR_OLD_NUMBER 16

#define BYTES_MAX 16

static unsigned session_registers(const struct gdb_session *s, int core,
                                  const struct target_register **list)
{
    *list = NULL;
    return s->target->ops->registers(s->target, core, list);
}

static unsigned register_bytes(const struct target_register *r)
{
    return (r->bits + 7) / 8;
}

static void register_add(const struct target_register *list, unsigned i, bool big,
                         const struct target_regs *regs, struct text_buf *out)
{
    uint8_t bytes[BYTES_MAX];
    unsigned size = register_bytes(&list[i]);
    int vector = target_register_vector(&list[i]);
    uint64_t value[2] = {0, 0};
    bool known = vector < 0 && size <= 8 && target_regs_get(regs, list, i, &value[0]);
    if (vector >= 0 && (known = regs->vector_known >> vector & 1))
        memcpy(value, regs->vector[vector], sizeof value);
    for (unsigned k = 0; known && k < size; k++)
        bytes[big ? size - 1 - k : k] = (uint8_t)(value[k / 8] >> k % 8 * 8);
    if (known)
        text_buf_hex(out, bytes, size);
    for (unsigned k = 0; !known && k < size; k++)
        text_buf_puts(out, "xx");
}

void gdb_add_registers(const struct gdb_session *s, int core, const struct target_regs *regs,
                       struct text_buf *out)
{
    const struct target_register *list;
    unsigned count = session_registers(s, core, &list);
    bool big = gdb_core_info(s, core).big_endian;
    size_t begin = out->len, wanted = s->target->registers_length;
    for (unsigned i = 0; i < count; i++)
        register_add(list, i, big, regs, out);
    if (wanted == 0)
        return;
    while (out->len - begin < wanted && text_buf_error(out) == BT_OK)
        text_buf_putc(out, 'x');
    if (out->len - begin > wanted) {
        out->len = begin + wanted;
        out->data[out->len] = '\0';
    }
}

/* Off the front of `a`: the entry of `list` that a p or P packet is about. False: there is none. */
static bool register_take(const struct target_register *list, unsigned count, struct gdb_args *a,
                          unsigned *entry)
{
    uint64_t number;
    if (!gdb_args_hex(a, &number))
        return false;
    for (*entry = 0; *entry < count && list[*entry].number != number; ++*entry)
        ;
    if (*entry == count && number == PSR_OLD_NUMBER && count > TARGET_REG_PSR)
        *entry = TARGET_REG_PSR;
    return *entry < count;
}

/* LLDB takes the `x` of a value that is not known for 0xcc, and an error for "unavailable". Without
 * those that make up a frame it has no thread. */
static bool lldb_may_have(const struct gdb_session *s, const struct target_register *list,
                          unsigned i, const struct target_regs *regs)
{
    int reg = target_register_reg(&list[i]);
    uint64_t value;
    int vector = target_register_vector(&list[i]);
    if (vector >= 0)
        return s->front_end != GDB_FRONT_END_LLDB || regs->vector_known >> vector & 1;
    return s->front_end != GDB_FRONT_END_LLDB || (reg >= TARGET_REG_SP && reg <= TARGET_REG_PSR) ||
           target_regs_get(regs, list, i, &value);
}

/* Of the register s->asked.at, or of all. */
static int registers_reply(struct gdb_session *s, const struct target_regs *regs)
{
    const struct target_register *list;
    unsigned count = session_registers(s, s->general, &list), i = (unsigned)s->asked.at;
    if (s->asked.kind == 'g')
        gdb_add_registers(s, s->general, regs, &s->reply);
    else if (i < count && lldb_may_have(s, list, i, regs))
        register_add(list, i, gdb_core_info(s, s->general).big_endian, regs, &s->reply);
    return s->reply.len > 0 ? BT_OK : BT_ERR_INVAL;
}

/* A GDB that connects gives up when it cannot have the registers: here it must learn why. */
static int registers_answered(struct gdb_session *s, const struct target_answer *a)
{
    if (a->error < 0 || !a->regs)
        return a->why[0] != '\0' ? gdb_reply_error(s, a->why)
               : a->error < 0    ? a->error
                                 : BT_ERR_INVAL;
    int error = registers_reply(s, a->regs);
    if (error == BT_OK && s->asked.kind == 'g')
        gdb_note_shown(s, s->reply.data, s->reply.len);
    return error;
}

static int registers_read(struct gdb_session *s, enum target_register_set set)
{
    struct target_request r = gdb_request(s, TARGET_READ_REGISTERS);
    struct target_regs regs = {.known = 0};
    const struct gdb_task *task = gdb_task_of(s, s->task);
    if (s->task != 0 && !task)
        return BT_ERR_INVAL;
    if (task && !task->running)
        return registers_reply(s, &task->regs);
    if (gdb_is_replaying(s, s->general)) {
        int error = s->host->read_regs(s->host_ctx, s->general, &regs);
        return error < 0 ? error : registers_reply(s, &regs);
    }
    r.set = set;
    return gdb_ask(s, &r, registers_answered);
}

static int answer_read_registers(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    s->asked.kind = 'g';
    return registers_read(s, TARGET_REGISTERS_ALL);
}

static int answer_read_register(struct gdb_session *s, struct gdb_args *a)
{
    const struct target_register *list;
    unsigned count = session_registers(s, s->general, &list), i;
    if (!register_take(list, count, a, &i) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    int reg = target_register_reg(&list[i]);
    s->asked.kind = 'p';
    s->asked.at = i;
    return registers_read(s, reg == TARGET_REG_PC || reg == TARGET_REG_PSR ? TARGET_REGISTERS_PC
                             : reg < 0                                     ? TARGET_REGISTERS_ALL
                                                                           : TARGET_REGISTERS_CORE);
}

/* A value off the front of `a`; `x` digits leave a register as it is. */
static bool register_take_value(const struct target_register *list, unsigned i, bool big,
                                struct gdb_args *a, struct target_regs *regs)
{
    uint8_t bytes[BYTES_MAX];
    unsigned size = register_bytes(&list[i]), unknown = 0;
    while (unknown < size && gdb_args_text(a, "xx"))
        unknown++;
    if (unknown > 0)
        return unknown == size;
    if (size > sizeof(uint64_t) || !gdb_args_bytes(a, bytes, size))
        return false;
    target_regs_set(regs, list, i, bytes_number(bytes, size, big));
    return true;
}

/* G, and P NUMBER=VALUE: all of the packet before the first is written. A client may leave the
 * further ones of G away, and write nothing with it. */
static int answer_write_registers(struct gdb_session *s, struct gdb_args *a)
{
    const struct target_register *list;
    struct target_request r = gdb_request(s, TARGET_WRITE_REGISTERS);
    struct target_regs regs = {.known = 0};
    struct target_core core = gdb_core_info(s, s->general);
    unsigned end = session_registers(s, s->general, &list), i = 0;
    bool all = gdb_args_name(a) == 'G';
    if (core.profile == TARGET_PROFILE_A64)
        return BT_ERR_UNSUPPORTED;
    if (!all && (!register_take(list, end, a, &i) || !gdb_args_char(a, '=')))
        return BT_ERR_INVAL;
    if (!all)
        end = i + 1;
    for (; i < end && (!all || i < TARGET_REG_COUNT || !gdb_args_empty(a)); i++) {
        if (!register_take_value(list, i, core.big_endian, a, &regs))
            return BT_ERR_INVAL;
    }
    bool given = regs.known != 0 || regs.stack_known != 0 || regs.extra_known != 0;
    if (!gdb_args_empty(a) || (!all && !given))
        return BT_ERR_INVAL;
    r.regs = &regs;
    return given ? gdb_ask(s, &r, gdb_reply_done) : gdb_reply(s, "OK");
}

/* Memory and breakpoints. */

#define READ_MAX   (GDB_PACKET_SIZE / 2)
#define BINARY_MAX (READ_MAX - 8) /* all may be escaped, and 'b' stands in front */

static bool args_take_range(struct gdb_args *a, uint64_t *address, uint64_t *len)
{
    return gdb_args_hex(a, address) && gdb_args_char(a, ',') && gdb_args_hex(a, len);
}

/* GDB takes no text for memory, but a number. */
static int memory_answered(struct gdb_session *s, const struct target_answer *a)
{
    uint8_t bytes[READ_MAX];
    size_t n = a->length < sizeof(bytes) ? a->length : sizeof(bytes);
    if (a->error < 0)
        n = 0;
    if (n > 0 && a->bytes)
        memcpy(bytes, a->bytes, n);
    if (gdb_is_replaying(s, s->general))
        n = s->host->reverse_memory(s->host_ctx, s->general, s->asked.at, bytes, n,
                                    s->asked.length);
    if (n == 0)
        return a->error < 0 ? a->error : BT_ERR_RANGE;
    if (s->asked.kind == 'm') {
        text_buf_hex(&s->reply, bytes, n);
    } else {
        text_buf_putc(&s->reply, 'b');
        text_buf_add(&s->reply, bytes, n);
    }
    return BT_OK;
}

/* m, and x: as hex digits, and binary. */
static int answer_read_memory(struct gdb_session *s, struct gdb_args *a)
{
    struct target_request r = gdb_request(s, TARGET_READ_MEMORY);
    uint64_t len;
    char name = gdb_args_name(a);
    if (!args_take_range(a, &r.address, &len) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    if (len == 0) /* LLDB asks for another form of x by it */
        return name == 'x' ? gdb_reply(s, "") : BT_ERR_INVAL;
    size_t most = name == 'x' ? BINARY_MAX : READ_MAX;
    r.length = len < most ? (size_t)len : most;
    s->asked.kind = name;
    s->asked.at = r.address;
    s->asked.length = r.length;
    return gdb_ask(s, &r, memory_answered);
}

/* A write of nothing is a question whether it would be possible. */
static int answer_write_memory(struct gdb_session *s, struct gdb_args *a)
{
    struct target_request r = gdb_request(s, TARGET_WRITE_MEMORY);
    bool hex = gdb_args_name(a) == 'M';
    uint8_t bytes[READ_MAX];
    uint64_t len;
    if (!args_take_range(a, &r.address, &len) || !gdb_args_char(a, ':') ||
        gdb_args_left(a) != (hex ? 2 * len : len) || len > GDB_PACKET_SIZE ||
        (hex && !gdb_args_bytes(a, bytes, (size_t)len)))
        return BT_ERR_INVAL;
    if (len == 0)
        return gdb_reply_result(s, s->target->ops->writable ? BT_OK : BT_ERR_UNSUPPORTED, "");
    r.bytes = hex ? bytes : (const uint8_t *)a->at;
    r.length = (size_t)len;
    return gdb_ask(s, &r, gdb_reply_done);
}

/* What is not there has an empty answer: GDB falls back. */
static int answered_or_unknown(struct gdb_session *s, const struct target_answer *a)
{
    return a->error == BT_ERR_UNSUPPORTED && a->why[0] == '\0' ? gdb_reply(s, "")
                                                               : gdb_reply_done(s, a);
}

/* GDB falls back to another type, whatever the words are. */
static int breakpoint_answered(struct gdb_session *s, const struct target_answer *a)
{
    return a->error == BT_ERR_UNSUPPORTED ? gdb_reply(s, "") : gdb_reply_done(s, a);
}

static int answer_breakpoint(struct gdb_session *s, struct gdb_args *a)
{
    bool insert = gdb_args_name(a) == 'Z';
    struct target_request r = gdb_request(s, insert ? TARGET_INSERT : TARGET_REMOVE);
    if (!gdb_packet_take_breakpoint(a, &r.breakpoint) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return gdb_ask(s, &r, breakpoint_answered);
}

/*
 * vFlashErase, vFlashWrite, vFlashDone: `load` and the download of IDEs into flash. GDB takes a
 * console packet here for the answer, so that there is none.
 */

static int answer_flash(struct gdb_session *s, struct gdb_args *a)
{
    struct target_request r = gdb_request(s, TARGET_FLASH_DONE);
    uint64_t len = 0;
    bool good;
    if (gdb_args_text(a, "Erase:")) {
        r.kind = TARGET_FLASH_ERASE;
        good = args_take_range(a, &r.address, &len) && gdb_args_empty(a) && len > 0 &&
               len <= UINT64_MAX - r.address;
        r.length = (size_t)len;
    } else if (gdb_args_text(a, "Write:")) {
        r.kind = TARGET_FLASH_WRITE;
        good = gdb_args_hex(a, &r.address) && gdb_args_char(a, ':') && !gdb_args_empty(a);
        r.bytes = (const uint8_t *)a->at;
        r.length = gdb_args_left(a);
    } else if (gdb_args_text(a, "Done")) {
        good = gdb_args_empty(a);
    } else {
        return BT_OK;
    }
    return good ? gdb_ask(s, &r, answered_or_unknown) : BT_ERR_INVAL;
}

const struct gdb_command gdb_data_commands[] = {
    {"g", GDB_BARE, false, answer_read_registers},
    {"G", GDB_PREFIX, false, answer_write_registers},
    {"p", GDB_PREFIX, false, answer_read_register},
    {"P", GDB_PREFIX, false, answer_write_registers},
    {"m", GDB_PREFIX, false, answer_read_memory},
    {"x", GDB_PREFIX, false, answer_read_memory},
    {"M", GDB_PREFIX, false, answer_write_memory},
    {"X", GDB_PREFIX, false, answer_write_memory},
    {"Z", GDB_PREFIX, false, answer_breakpoint},
    {"z", GDB_PREFIX, false, answer_breakpoint},
    {"vFlash", GDB_PREFIX, false, answer_flash},
    {NULL, GDB_EXACT, false, NULL},
};
