/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers, memory, flash, breakpoints and the choice of threads. Registers (g, G, p, P): the
 * core's seventeen come first in the g packet, behind them those that the target describes beyond,
 * in the order of their numbers.
 */
#include "gdb_internal.h"
#include "protocol/rsp/gdb_packet.h"

/* In the g packet and as the number of p and P; 16 is what a client without target.xml counts. */
#define PSR_NUMBER 25

#define BYTES_MAX 8

/* `size` bytes of the value, in the order of the core. */
static void register_to_wire(const struct gdb_session *s, uint64_t value, uint8_t *out,
                             unsigned size)
{
    bool big = gdb_core_info(s, s->general).big_endian;
    for (unsigned i = 0; i < size; i++)
        out[big ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

static uint64_t register_from_wire(const struct gdb_session *s, const uint8_t *in, unsigned size)
{
    bool big = gdb_core_info(s, s->general).big_endian;
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)in[big ? size - 1 - i : i] << 8 * i;
    return value;
}

static unsigned register_size(const struct target_register *r)
{
    return r->bits / 8 < BYTES_MAX ? r->bits / 8 : BYTES_MAX;
}

static void register_add_value(struct gdb_session *s, bool known, uint64_t value, unsigned size)
{
    uint8_t bytes[BYTES_MAX];
    register_to_wire(s, value, bytes, size);
    if (known)
        text_buf_hex(&s->reply, bytes, size);
    for (unsigned i = 0; !known && i < size; i++)
        text_buf_puts(&s->reply, "xx");
}

/* AArch64: x0 to x30, SP and PC, of 64 bits, and CPSR; further ones have no numbers. */

#define A64_COUNT 34u

/* Which of enum target_reg a number is; TARGET_REG_COUNT: one that nobody knows. */
static unsigned a64_reg(unsigned number)
{
    static const uint8_t last[] = {TARGET_REG_LR, TARGET_REG_SP, TARGET_REG_PC, TARGET_REG_PSR};
    return number < A64_COUNT - sizeof last ? TARGET_REG_COUNT
                                            : last[number - (A64_COUNT - sizeof last)];
}

static unsigned a64_size(unsigned number)
{
    return number == A64_COUNT - 1 ? 4 : 8;
}

static bool session_is_a64(const struct gdb_session *s)
{
    return gdb_core_info(s, s->general).profile == TARGET_PROFILE_A64;
}

static int register_add_a64(struct gdb_session *s, unsigned first, unsigned end)
{
    struct target_regs regs = {.known = 0};
    int error = s->target->read_regs(s->target_ctx, s->general, &regs);
    for (unsigned i = first; i < end && error >= 0; i++) {
        unsigned reg = a64_reg(i);
        bool known = reg < TARGET_REG_COUNT && (regs.known >> reg & 1);
        register_add_value(s, known, known ? regs.value[reg] : 0, a64_size(i));
    }
    return error < 0 ? error : BT_OK;
}

/* A register of p and P. */
struct which_register {
    bool is_extra;
    enum target_reg reg;
    unsigned index; /* of the extra one */
    unsigned size;  /* bytes */
};

static bool register_take_which(struct gdb_session *s, struct gdb_args *a, struct which_register *w)
{
    const struct target_register *list = NULL;
    uint64_t number;
    if (!gdb_args_hex(a, &number))
        return false;
    if (number == PSR_NUMBER)
        number = TARGET_REG_PSR;
    *w = (struct which_register){.reg = (enum target_reg)number, .size = 4};
    if (number < TARGET_REG_COUNT)
        return true;
    unsigned count = gdb_extra_registers(s, s->general, &list);
    if (number < TARGET_EXTRA_NUMBER || number - TARGET_EXTRA_NUMBER >= count)
        return false;
    w->is_extra = true;
    w->index = (unsigned)(number - TARGET_EXTRA_NUMBER);
    w->size = register_size(&list[w->index]);
    return true;
}

static int register_add_core(struct gdb_session *s, unsigned first, unsigned end)
{
    struct target_regs regs = {.known = 0};
    int error = s->target->read_regs(s->target_ctx, s->general, &regs);
    for (unsigned i = first; i < end && error >= 0; i++)
        register_add_value(s, regs.known >> i & 1, regs.value[i], 4);
    return error < 0 ? error : BT_OK;
}

static int register_add_extra(struct gdb_session *s, unsigned index, unsigned size)
{
    uint64_t value = 0;
    int error = s->target->read_extra(s->target_ctx, s->general, index, &value);
    if (error < 0 && error != BT_ERR_UNSUPPORTED)
        return error;
    register_add_value(s, error >= 0, value, size);
    return BT_OK;
}

/* A GDB that connects gives up when it cannot have the registers: here it must learn why. */
static int register_read_result(struct gdb_session *s, int error)
{
    struct target_error why = {""};
    if (error >= 0)
        return error;
    text_buf_clear(&s->reply);
    if (s->target->read_refused)
        s->target->read_refused(s->target_ctx, &why);
    return why.text[0] != '\0' ? gdb_reply_result(s, error, &why) : error;
}

static int answer_read_registers(struct gdb_session *s, struct gdb_args *a)
{
    const struct target_register *list = NULL;
    unsigned count = gdb_extra_registers(s, s->general, &list);
    (void)a;
    if (session_is_a64(s))
        return register_read_result(s, register_add_a64(s, 0, A64_COUNT));
    int error = register_add_core(s, 0, TARGET_REG_COUNT);
    for (unsigned i = 0; i < count && error >= 0; i++)
        error = register_add_extra(s, i, register_size(&list[i]));
    return register_read_result(s, error);
}

static int answer_read_register(struct gdb_session *s, struct gdb_args *a)
{
    struct which_register w;
    uint64_t number;
    if (session_is_a64(s))
        return gdb_args_hex(a, &number) && number < A64_COUNT && gdb_args_empty(a)
                   ? register_read_result(
                         s, register_add_a64(s, (unsigned)number, (unsigned)number + 1))
                   : BT_ERR_INVAL;
    if (!register_take_which(s, a, &w) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return register_read_result(s, w.is_extra ? register_add_extra(s, w.index, w.size)
                                              : register_add_core(s, w.reg, w.reg + 1u));
}

static int register_write(struct gdb_session *s, const struct which_register *w, uint64_t value,
                          struct target_error *why)
{
    const struct gdb_target *t = s->target;
    if (w->is_extra)
        return !t->write_extra ? BT_ERR_UNSUPPORTED
                               : t->write_extra(s->target_ctx, s->general, w->index, value, why);
    return !t->write_reg ? BT_ERR_UNSUPPORTED
                         : t->write_reg(s->target_ctx, s->general, w->reg, (uint32_t)value, why);
}

static int answer_write_register(struct gdb_session *s, struct gdb_args *a)
{
    struct target_error why = {""};
    struct which_register w;
    uint8_t bytes[BYTES_MAX];
    if (session_is_a64(s))
        return BT_ERR_UNSUPPORTED;
    if (!register_take_which(s, a, &w) || !gdb_args_char(a, '=') ||
        !gdb_args_bytes(a, bytes, w.size) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return gdb_reply_result(s, register_write(s, &w, register_from_wire(s, bytes, w.size), &why),
                            &why);
}

/* The values of a G packet. */
struct register_values {
    uint64_t value[TARGET_REG_COUNT + TARGET_EXTRA_MAX];
    bool given[TARGET_REG_COUNT + TARGET_EXTRA_MAX]; /* `x` digits leave a register as it is */
};

static bool register_take_value(struct gdb_session *s, struct gdb_args *a, unsigned size,
                                uint64_t *value, bool *given)
{
    uint8_t bytes[BYTES_MAX];
    unsigned unknown = 0;
    while (unknown < size && gdb_args_text(a, "xx"))
        unknown++;
    *given = unknown == 0;
    if (unknown > 0)
        return unknown == size;
    if (!gdb_args_bytes(a, bytes, size))
        return false;
    *value = register_from_wire(s, bytes, size);
    return true;
}

/* All of the packet before the first is written. A client may leave the further ones away. */
static int answer_write_registers(struct gdb_session *s, struct gdb_args *a)
{
    const struct target_register *list = NULL;
    unsigned extra = gdb_extra_registers(s, s->general, &list);
    unsigned count = TARGET_REG_COUNT + extra;
    struct register_values v = {.given = {false}};
    struct target_error why = {""};
    if (session_is_a64(s))
        return BT_ERR_UNSUPPORTED;
    for (unsigned i = 0; i < count; i++) {
        if (i >= TARGET_REG_COUNT && gdb_args_empty(a))
            break;
        unsigned size = i < TARGET_REG_COUNT ? 4 : register_size(&list[i - TARGET_REG_COUNT]);
        if (!register_take_value(s, a, size, &v.value[i], &v.given[i]))
            return BT_ERR_INVAL;
    }
    if (!gdb_args_empty(a))
        return BT_ERR_INVAL;
    int error = BT_OK;
    for (unsigned i = 0; i < count && error >= 0; i++) {
        struct which_register w = {.is_extra = i >= TARGET_REG_COUNT, .reg = (enum target_reg)i};
        w.index = w.is_extra ? i - TARGET_REG_COUNT : 0;
        if (v.given[i])
            error = register_write(s, &w, v.value[i], &why);
    }
    return gdb_reply_result(s, error, &why);
}

/* Memory, breakpoints, threads. */

#define READ_MAX (GDB_PACKET_SIZE / 2)

static bool args_take_range(struct gdb_args *a, uint64_t *address, uint64_t *len)
{
    return gdb_args_hex(a, address) && gdb_args_char(a, ',') && gdb_args_hex(a, len);
}

static int answer_read_memory(struct gdb_session *s, struct gdb_args *a)
{
    uint8_t bytes[READ_MAX];
    uint64_t address;
    uint64_t len;
    if (!args_take_range(a, &address, &len) || !gdb_args_empty(a) || len == 0)
        return BT_ERR_INVAL;
    if (len > READ_MAX)
        len = READ_MAX;
    int got = s->target->read_memory(s->target_ctx, s->general, address, bytes, (size_t)len);
    if (got <= 0)
        return got < 0 ? got : BT_ERR_RANGE;
    if ((uint64_t)got > len)
        return BT_ERR_INVAL;
    text_buf_hex(&s->reply, bytes, (size_t)got);
    return BT_OK;
}

static int session_write_memory(struct gdb_session *s, uint64_t address, const void *bytes,
                                size_t len)
{
    struct target_error why = {""};
    int error = BT_ERR_UNSUPPORTED;
    if (s->target->write_memory)
        error = s->target->write_memory(s->target_ctx, s->general, address, bytes, len, &why);
    return gdb_reply_result(s, error, &why);
}

static int answer_write_hex(struct gdb_session *s, struct gdb_args *a)
{
    uint8_t bytes[READ_MAX];
    uint64_t address;
    uint64_t len;
    if (!args_take_range(a, &address, &len) || !gdb_args_char(a, ':') || len > sizeof(bytes) ||
        !gdb_args_bytes(a, bytes, (size_t)len) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return session_write_memory(s, address, bytes, (size_t)len);
}

static int answer_write_binary(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t address;
    uint64_t len;
    if (!args_take_range(a, &address, &len) || !gdb_args_char(a, ':') || gdb_args_left(a) != len)
        return BT_ERR_INVAL;
    return session_write_memory(s, address, a->at, (size_t)len);
}

static int session_change_breakpoint(struct gdb_session *s, struct gdb_args *a, bool insert)
{
    const struct gdb_target *t = s->target;
    struct target_error why = {""};
    struct target_breakpoint bp;
    if (!t->insert_breakpoint)
        return BT_OK;
    if (!gdb_packet_take_breakpoint(a, &bp) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    int error = insert ? t->insert_breakpoint(s->target_ctx, s->general, &bp, &why)
                       : t->remove_breakpoint(s->target_ctx, s->general, &bp, &why);
    if (error == BT_ERR_UNSUPPORTED)
        return BT_OK;
    return gdb_reply_result(s, error, &why);
}

static int answer_insert_breakpoint(struct gdb_session *s, struct gdb_args *a)
{
    return session_change_breakpoint(s, a, true);
}

static int answer_remove_breakpoint(struct gdb_session *s, struct gdb_args *a)
{
    return session_change_breakpoint(s, a, false);
}

static int session_set_general(struct gdb_session *s, int thread)
{
    /* All threads at once make no sense here: the one that is selected stays. */
    if (thread == GDB_THREAD_ALL)
        return gdb_reply(s, "OK");
    if (!gdb_core_of_thread(s, thread, &s->general))
        return BT_ERR_INVAL;
    return gdb_reply(s, "OK");
}

static int session_set_motion(struct gdb_session *s, int thread)
{
    int core = 0;
    if (thread != GDB_THREAD_ALL && !gdb_core_of_thread(s, thread, &core))
        return BT_ERR_INVAL;
    if (thread == GDB_THREAD_ALL)
        s->motion = GDB_MOTION_ALL;
    else
        s->motion = thread == GDB_THREAD_ANY ? GDB_MOTION_GENERAL : core;
    return gdb_reply(s, "OK");
}

void gdb_note_motion(struct gdb_session *s, const char *payload, size_t len)
{
    struct gdb_args a = {payload, payload + len};
    int thread;
    if (gdb_args_text(&a, "Hc") && gdb_args_thread(&a, &thread))
        session_set_motion(s, thread);
    text_buf_clear(&s->reply);
}

static int answer_set_thread(struct gdb_session *s, struct gdb_args *a)
{
    int thread;
    bool general = gdb_args_char(a, 'g');
    if (!general && !gdb_args_char(a, 'c'))
        return BT_ERR_INVAL;
    if (!gdb_args_thread(a, &thread) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return general ? session_set_general(s, thread) : session_set_motion(s, thread);
}

static int answer_thread_alive(struct gdb_session *s, struct gdb_args *a)
{
    int thread;
    int core;
    if (!gdb_args_thread(a, &thread) || !gdb_args_empty(a) || !gdb_core_of_thread(s, thread, &core))
        return BT_ERR_INVAL;
    return gdb_reply(s, "OK");
}

/*
 * vFlashErase, vFlashWrite, vFlashDone: `load` and the download of IDEs into flash. GDB takes a
 * console packet here for the answer, so that there is none.
 */

static int answer_flash_erase(struct gdb_session *s, struct gdb_args *a)
{
    struct target_error why = {""};
    uint64_t address;
    uint64_t len;
    if (!s->target->flash_erase)
        return BT_OK;
    if (!gdb_args_hex(a, &address) || !gdb_args_char(a, ',') || !gdb_args_hex(a, &len) ||
        !gdb_args_empty(a) || len == 0 || len > UINT64_MAX - address)
        return BT_ERR_INVAL;
    return gdb_reply_result(s, s->target->flash_erase(s->target_ctx, address, len, &why), &why);
}

static int answer_flash_write(struct gdb_session *s, struct gdb_args *a)
{
    struct target_error why = {""};
    uint64_t address;
    if (!s->target->flash_write)
        return BT_OK;
    if (!gdb_args_hex(a, &address) || !gdb_args_char(a, ':') || gdb_args_empty(a))
        return BT_ERR_INVAL;
    int error = s->target->flash_write(s->target_ctx, address, a->at, gdb_args_left(a), &why);
    return gdb_reply_result(s, error, &why);
}

static int answer_flash_done(struct gdb_session *s, struct gdb_args *a)
{
    struct target_error why = {""};
    (void)a;
    if (!s->target->flash_done)
        return BT_OK;
    return gdb_reply_result(s, s->target->flash_done(s->target_ctx, &why), &why);
}

const struct gdb_command gdb_data_commands[] = {
    {"g", GDB_BARE, false, answer_read_registers},
    {"G", GDB_PREFIX, false, answer_write_registers},
    {"p", GDB_PREFIX, false, answer_read_register},
    {"P", GDB_PREFIX, false, answer_write_register},
    {"m", GDB_PREFIX, false, answer_read_memory},
    {"M", GDB_PREFIX, false, answer_write_hex},
    {"X", GDB_PREFIX, false, answer_write_binary},
    {"Z", GDB_PREFIX, false, answer_insert_breakpoint},
    {"z", GDB_PREFIX, false, answer_remove_breakpoint},
    {"H", GDB_PREFIX, false, answer_set_thread},
    {"T", GDB_PREFIX, false, answer_thread_alive},
    {"vFlashErase:", GDB_PREFIX, false, answer_flash_erase},
    {"vFlashWrite:", GDB_PREFIX, false, answer_flash_write},
    {"vFlashDone", GDB_BARE, false, answer_flash_done},
    {NULL, GDB_EXACT, false, NULL},
};
