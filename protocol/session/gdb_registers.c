/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers: g, G, p, P. The core's seventeen come first in the g packet, behind them those that
 * the target describes beyond, in the order of their numbers.
 */
#include "gdb_internal.h"

/* In the g packet and as the number of p and P; 16 is what a client without target.xml counts. */
#define PSR_NUMBER 25

#define BYTES_MAX 8

/* `size` bytes of the value, in the order of the core. */
static void put_order(const struct gdb_session *s, uint64_t value, uint8_t *out, unsigned size)
{
    bool big = gdb_core_info(s, s->general).big_endian;
    for (unsigned i = 0; i < size; i++)
        out[big ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_order(const struct gdb_session *s, const uint8_t *in, unsigned size)
{
    bool big = gdb_core_info(s, s->general).big_endian;
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)in[big ? size - 1 - i : i] << 8 * i;
    return value;
}

unsigned gdb_extra_registers(const struct gdb_session *s, int core,
                             const struct gdb_register **list)
{
    if (s->target->extra_registers == NULL)
        return 0;
    int count = s->target->extra_registers(s->target_ctx, core, list);
    return count < 0 ? 0 : count > GDB_EXTRA_MAX ? GDB_EXTRA_MAX : (unsigned)count;
}

static unsigned size_of(const struct gdb_register *r)
{
    return r->bits / 8 < BYTES_MAX ? r->bits / 8 : BYTES_MAX;
}

static void add_value(struct gdb_session *s, bool known, uint64_t value, unsigned size)
{
    uint8_t bytes[BYTES_MAX];
    put_order(s, value, bytes, size);
    if (known)
        text_buf_hex(&s->reply, bytes, size);
    for (unsigned i = 0; !known && i < size; i++)
        text_buf_puts(&s->reply, "xx");
}

/* AArch64: x0 to x30, SP and PC, of 64 bits, and CPSR; further ones have no numbers. */

#define A64_COUNT 34u

/* Which of enum gdb_reg a number is; GDB_REG_COUNT: one that nobody knows. */
static unsigned a64_reg(unsigned number)
{
    static const uint8_t last[] = {GDB_REG_LR, GDB_REG_SP, GDB_REG_PC, GDB_REG_PSR};
    return number < A64_COUNT - sizeof last ? GDB_REG_COUNT
                                            : last[number - (A64_COUNT - sizeof last)];
}

static unsigned a64_size(unsigned number)
{
    return number == A64_COUNT - 1 ? 4 : 8;
}

static bool is_a64(const struct gdb_session *s)
{
    return gdb_core_info(s, s->general).profile == GDB_PROFILE_A64;
}

static int read_a64(struct gdb_session *s, unsigned first, unsigned end)
{
    struct gdb_regs regs = {.known = 0};
    int rc = s->target->read_regs(s->target_ctx, s->general, &regs);
    for (unsigned i = first; i < end && rc >= 0; i++) {
        unsigned reg = a64_reg(i);
        bool known = reg < GDB_REG_COUNT && (regs.known >> reg & 1);
        add_value(s, known, known ? regs.value[reg] : 0, a64_size(i));
    }
    return rc < 0 ? rc : BT_OK;
}

/* A register of p and P. */
struct which {
    bool is_extra;
    enum gdb_reg reg;
    unsigned index; /* of the extra one */
    unsigned size;  /* bytes */
};

static bool take_which(struct gdb_session *s, struct gdb_args *a, struct which *w)
{
    const struct gdb_register *list = NULL;
    uint64_t number;
    if (!gdb_args_hex(a, &number))
        return false;
    if (number == PSR_NUMBER)
        number = GDB_REG_PSR;
    *w = (struct which){.reg = (enum gdb_reg)number, .size = 4};
    if (number < GDB_REG_COUNT)
        return true;
    unsigned count = gdb_extra_registers(s, s->general, &list);
    if (number < GDB_EXTRA_NUMBER || number - GDB_EXTRA_NUMBER >= count)
        return false;
    w->is_extra = true;
    w->index = (unsigned)(number - GDB_EXTRA_NUMBER);
    w->size = size_of(&list[w->index]);
    return true;
}

static int add_core(struct gdb_session *s, unsigned first, unsigned end)
{
    struct gdb_regs regs = {.known = 0};
    int rc = s->target->read_regs(s->target_ctx, s->general, &regs);
    for (unsigned i = first; i < end && rc >= 0; i++)
        add_value(s, regs.known >> i & 1, regs.value[i], 4);
    return rc < 0 ? rc : BT_OK;
}

static int add_extra(struct gdb_session *s, unsigned index, unsigned size)
{
    uint64_t value = 0;
    int rc = s->target->read_extra(s->target_ctx, s->general, index, &value);
    if (rc < 0 && rc != BT_ERR_UNSUPPORTED)
        return rc;
    add_value(s, rc >= 0, value, size);
    return BT_OK;
}

/* A GDB that connects gives up when it cannot have the registers: here it must learn why. */
static int finish_read(struct gdb_session *s, int rc)
{
    struct gdb_why why = {""};
    if (rc >= 0)
        return rc;
    text_buf_clear(&s->reply);
    if (s->target->read_refused != NULL)
        s->target->read_refused(s->target_ctx, &why);
    return why.text[0] != '\0' ? gdb_reply_result(s, rc, &why) : rc;
}

static int read_all(struct gdb_session *s, struct gdb_args *a)
{
    const struct gdb_register *list = NULL;
    unsigned count = gdb_extra_registers(s, s->general, &list);
    (void)a;
    if (is_a64(s))
        return finish_read(s, read_a64(s, 0, A64_COUNT));
    int rc = add_core(s, 0, GDB_REG_COUNT);
    for (unsigned i = 0; i < count && rc >= 0; i++)
        rc = add_extra(s, i, size_of(&list[i]));
    return finish_read(s, rc);
}

static int read_one(struct gdb_session *s, struct gdb_args *a)
{
    struct which w;
    uint64_t number;
    if (is_a64(s))
        return gdb_args_hex(a, &number) && number < A64_COUNT && gdb_args_empty(a)
                   ? finish_read(s, read_a64(s, (unsigned)number, (unsigned)number + 1))
                   : BT_ERR_INVAL;
    if (!take_which(s, a, &w) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return finish_read(s,
                       w.is_extra ? add_extra(s, w.index, w.size) : add_core(s, w.reg, w.reg + 1u));
}

static int write_which(struct gdb_session *s, const struct which *w, uint64_t value,
                       struct gdb_why *why)
{
    const struct gdb_target *t = s->target;
    if (w->is_extra)
        return t->write_extra == NULL
                   ? BT_ERR_UNSUPPORTED
                   : t->write_extra(s->target_ctx, s->general, w->index, value, why);
    return t->write_reg == NULL
               ? BT_ERR_UNSUPPORTED
               : t->write_reg(s->target_ctx, s->general, w->reg, (uint32_t)value, why);
}

static int write_one(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_why why = {""};
    struct which w;
    uint8_t bytes[BYTES_MAX];
    if (is_a64(s))
        return BT_ERR_UNSUPPORTED;
    if (!take_which(s, a, &w) || !gdb_args_char(a, '=') || !gdb_args_bytes(a, bytes, w.size) ||
        !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return gdb_reply_result(s, write_which(s, &w, get_order(s, bytes, w.size), &why), &why);
}

/* The values of a G packet. */
struct register_values {
    uint64_t value[GDB_REG_COUNT + GDB_EXTRA_MAX];
    bool given[GDB_REG_COUNT + GDB_EXTRA_MAX]; /* `x` digits leave a register as it is */
};

static bool take_value(struct gdb_session *s, struct gdb_args *a, unsigned size, uint64_t *value,
                       bool *given)
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
    *value = get_order(s, bytes, size);
    return true;
}

/* All of the packet before the first is written. A client may leave the further ones away. */
static int write_all(struct gdb_session *s, struct gdb_args *a)
{
    const struct gdb_register *list = NULL;
    unsigned extra = gdb_extra_registers(s, s->general, &list);
    unsigned count = GDB_REG_COUNT + extra;
    struct register_values v = {.given = {false}};
    struct gdb_why why = {""};
    if (is_a64(s))
        return BT_ERR_UNSUPPORTED;
    for (unsigned i = 0; i < count; i++) {
        if (i >= GDB_REG_COUNT && gdb_args_empty(a))
            break;
        unsigned size = i < GDB_REG_COUNT ? 4 : size_of(&list[i - GDB_REG_COUNT]);
        if (!take_value(s, a, size, &v.value[i], &v.given[i]))
            return BT_ERR_INVAL;
    }
    if (!gdb_args_empty(a))
        return BT_ERR_INVAL;
    int rc = BT_OK;
    for (unsigned i = 0; i < count && rc >= 0; i++) {
        struct which w = {.is_extra = i >= GDB_REG_COUNT, .reg = (enum gdb_reg)i};
        w.index = w.is_extra ? i - GDB_REG_COUNT : 0;
        if (v.given[i])
            rc = write_which(s, &w, v.value[i], &why);
    }
    return gdb_reply_result(s, rc, &why);
}

const struct gdb_command gdb_register_commands[] = {
    {"g", GDB_BARE, false, read_all},   {"G", GDB_PREFIX, false, write_all},
    {"p", GDB_PREFIX, false, read_one}, {"P", GDB_PREFIX, false, write_one},
    {NULL, GDB_EXACT, false, NULL},
};
