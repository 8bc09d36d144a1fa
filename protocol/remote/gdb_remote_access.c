/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests for registers and memory, as packets, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb_remote_internal.h"

/* "Mffffffffffffffff,10000:" */
#define WRITE_HEADER 32

/* Registers of devices are read and written whole. */
#define WORD 4u

#define CORE_FEATURE "org.gnu.gdb.arm.core"

/* Registers. */

#define CORE(name, number)                                                                         \
    {                                                                                              \
        CORE_FEATURE, name, "uint32", 32, number                                                   \
    }
#define GENERAL                                                                                    \
    CORE("r0", 0), CORE("r1", 1), CORE("r2", 2), CORE("r3", 3), CORE("r4", 4), CORE("r5", 5),      \
        CORE("r6", 6), CORE("r7", 7), CORE("r8", 8), CORE("r9", 9), CORE("r10", 10),               \
        CORE("r11", 11), CORE("r12", 12), CORE("sp", 13), CORE("lr", 14), CORE("pc", 15)
#define FLOAT(name, number)                                                                        \
    {                                                                                              \
        "org.gnu.gdb.arm.fpa", name, "arm_fpa_ext", 96, number                                     \
    }

/* Without a description: eight registers of 12 bytes and one of 4 that no core has any more. */
static const struct target_register customary[] = {
    GENERAL,         FLOAT("f0", 16), FLOAT("f1", 17),  FLOAT("f2", 18),
    FLOAT("f3", 19), FLOAT("f4", 20), FLOAT("f5", 21),  FLOAT("f6", 22),
    FLOAT("f7", 23), CORE("fps", 24), CORE("cpsr", 25),
};
static const struct target_register customary_short[] = {GENERAL, CORE("cpsr", 25)};

/* Digits of `count` registers in a g packet. */
static size_t registers_digits(const struct target_register *list, unsigned count)
{
    size_t digits = 0;
    for (unsigned i = 0; i < count; i++)
        digits += (list[i].bits + 7) / 8 * 2;
    return digits;
}

#define COUNT(list) (unsigned)(sizeof(list) / sizeof(*(list)))

unsigned gdb_remote_registers(struct target *t, int core, const struct target_register **list)
{
    struct gdb_remote *r = gdb_remote_of(t);
    size_t length = t->registers_length;
    (void)core;
    if (r->register_count > 0) {
        *list = r->registers;
        return r->register_count;
    }
    bool whole = length == 0 || length >= registers_digits(customary, COUNT(customary));
    *list = whole ? customary : customary_short;
    return whole ? COUNT(customary) : COUNT(customary_short);
}

/* `x` digits: not known. */
static void regs_take(struct gdb_remote *r, const struct target_register *list, unsigned entry,
                      const char *digits, size_t len)
{
    struct gdb_args a = {digits, digits + len};
    uint8_t bytes[8];
    uint64_t value = 0;
    size_t size = len / 2;
    if ((size != 4 && size != 8) || len % 2 != 0 || !gdb_args_bytes(&a, bytes, size))
        return;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    target_regs_set(&r->regs, list, entry, value);
}

void gdb_remote_take_regs(struct gdb_remote *r, const char *reply, size_t len)
{
    const struct target_register *list;
    bool good = len > 0 && reply[0] != 'E';
    memset(&r->regs, 0, sizeof(r->regs));
    if (good)
        r->target.registers_length = len;
    unsigned count = gdb_remote_registers(&r->target, 0, &list);
    for (unsigned i = 0; good && i < count; i++) {
        size_t digits = registers_digits(&list[i], 1);
        if (digits > len)
            break;
        regs_take(r, list, i, reply, digits);
        reply += digits;
        len -= digits;
    }
}

static void regs_finish(struct gdb_remote *r)
{
    bool known = (r->regs.known >> TARGET_REG_PC & 1) != 0;
    gdb_remote_answer(r, &(struct target_answer){.error = known ? BT_OK : BT_ERR_RANGE,
                                                 .regs = known ? &r->regs : NULL});
}

/* The next one that is asked for by its number: what is wanted, and not yet known. */
static bool regs_is_missing(const struct gdb_remote *r, const struct target_register *list,
                            unsigned entry)
{
    int reg = target_register_reg(&list[entry]);
    uint64_t value;
    if (r->request->set == TARGET_REGISTERS_PC && reg != TARGET_REG_PC && reg != TARGET_REG_PSR)
        return false;
    if (reg != TARGET_REG_PC && reg != TARGET_REG_PSR && target_register_stack(&list[entry]) < 0)
        return false;
    return !target_regs_get(&r->regs, list, entry, &value);
}

static void regs_got_one(struct gdb_remote *r, const char *reply, size_t len);

static void regs_ask_missing(struct gdb_remote *r)
{
    const struct target_register *list;
    unsigned count = gdb_remote_registers(&r->target, 0, &list);
    char text[16];
    while (r->entry < count && (r->only_g || !regs_is_missing(r, list, r->entry)))
        r->entry++;
    if (r->entry >= count) {
        regs_finish(r);
        return;
    }
    snprintf(text, sizeof(text), "p%x", list[r->entry].number);
    gdb_remote_send_text(r, text, regs_got_one);
}

static void regs_got_all(struct gdb_remote *r, const char *reply, size_t len)
{
    gdb_remote_take_regs(r, reply, len);
    bool known = (r->regs.known >> TARGET_REG_PC & 1) != 0;
    /* It was asked for after a p that failed. */
    if (r->request->set == TARGET_REGISTERS_PC)
        r->only_g = r->only_g || known;
    if (known)
        regs_ask_missing(r);
    else
        regs_finish(r);
}

/* An empty reply: the other side has no p. There are servers whose p fails, and GDB never asks. */
static void regs_got_one(struct gdb_remote *r, const char *reply, size_t len)
{
    const struct target_register *list;
    gdb_remote_registers(&r->target, 0, &list);
    bool pc = target_register_reg(&list[r->entry]) == TARGET_REG_PC;
    regs_take(r, list, r->entry, reply, len);
    if (pc && r->regs.known == 0 && list[r->entry].number == TARGET_REG_PC &&
        (len == 0 || reply[0] == 'E')) {
        gdb_remote_send_text(r, "g", regs_got_all);
        return;
    }
    r->entry++;
    if (pc && r->regs.known == 0)
        regs_finish(r);
    else
        regs_ask_missing(r);
}

void gdb_remote_read_regs(struct gdb_remote *r)
{
    memset(&r->regs, 0, sizeof(r->regs));
    r->entry = 0;
    if (r->request->set == TARGET_REGISTERS_PC && !r->only_g)
        regs_ask_missing(r);
    else
        gdb_remote_send_text(r, "g", regs_got_all);
}

/* Memory. */

static void memory_got(struct gdb_remote *r, const char *reply, size_t len);

static void memory_ask_read(struct gdb_remote *r, size_t take)
{
    char text[48];
    bool device = r->request->device;
    size_t longest = ((r->packet_size - 1) / 2) & ~(size_t)(device ? WORD - 1 : 0);
    r->take = take < longest ? take : longest;
    snprintf(text, sizeof(text), "m%llx,%zx",
             (unsigned long long)r->request->address + r->bytes.len, r->take);
    gdb_remote_send_text(r, text, memory_got);
}

/* Bytes in the reply, 0 when it is an error or too long. */
static size_t memory_take_bytes(struct gdb_remote *r, const char *reply, size_t len)
{
    size_t count = len / 2;
    struct gdb_args a = {reply, reply + len};
    char *to = len % 2 == 0 && count <= r->take ? text_buf_room(&r->bytes, count) : NULL;
    if (!to || !gdb_args_bytes(&a, to, count))
        return 0;
    text_buf_took(&r->bytes, count);
    return count;
}

/*
 * Servers refuse a read that is good in part only: the end of the good part is searched, with
 * half as many bytes after each refusal. A word of a device is asked for once.
 */
static void memory_got(struct gdb_remote *r, const char *reply, size_t len)
{
    size_t next = 0, before = r->bytes.len;
    size_t got = memory_take_bytes(r, reply, len);
    if (got > 0 && (got == r->take || !r->request->device)) {
        next = r->end - r->bytes.len;
    } else if (!r->request->device) {
        r->end = before + r->take - 1;
        next = r->take / 2;
    }
    if (next > 0) {
        memory_ask_read(r, next);
        return;
    }
    gdb_remote_answer(r, &(struct target_answer){.error = r->bytes.len > 0 ? BT_OK : BT_ERR_RANGE,
                                                 .bytes = (const uint8_t *)r->bytes.data,
                                                 .length = r->bytes.len});
}

void gdb_remote_read_memory(struct gdb_remote *r)
{
    text_buf_clear(&r->bytes);
    r->end = r->request->length;
    memory_ask_read(r, r->end);
}

static void memory_got_write(struct gdb_remote *r, const char *reply, size_t len);

static void memory_ask_write(struct gdb_remote *r)
{
    struct text_buf text;
    const struct target_request *q = r->request;
    size_t longest = ((r->packet_size - WRITE_HEADER) / 2) & ~(size_t)(WORD - 1);
    size_t left = q->length - r->done;
    r->take = left < longest ? left : longest;
    text_buf_init(&text);
    text_buf_printf(&text, "M%llx,%zx:", (unsigned long long)q->address + r->done, r->take);
    text_buf_hex(&text, q->bytes + r->done, r->take);
    if (text_buf_error(&text) < 0)
        gdb_remote_answer(r, &(struct target_answer){.error = BT_ERR_NOMEM});
    else
        gdb_remote_send(r, text.data, text.len, memory_got_write);
    text_buf_release(&text);
}

static void memory_got_write(struct gdb_remote *r, const char *reply, size_t len)
{
    bool good = len == 2 && memcmp(reply, "OK", 2) == 0;
    r->done += r->take;
    if (good && r->done < r->request->length)
        memory_ask_write(r);
    else
        gdb_remote_answer(r, &(struct target_answer){.error = good ? BT_OK : BT_ERR_RANGE});
}

void gdb_remote_write_memory(struct gdb_remote *r)
{
    r->done = 0;
    memory_ask_write(r);
}
