/* SPDX-License-Identifier: BSD-3-Clause */
/* A path of a few instructions, made by hand, for the tests of value reconstruction. */
#ifndef TESTS_VALUES_PATH_H
#define TESTS_VALUES_PATH_H

#include "decoder/values/values.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define RAM 0x20000000u

struct path {
    struct values_insn insns[32];
    struct bt_event events[4];
    struct values_window w;
    uint32_t ram[64]; /* present, from RAM */
    uint32_t next;
};

static inline enum values_memory read_ram(void *context, uint32_t address, uint32_t *value)
{
    const struct path *p = context;
    if (address - RAM < sizeof p->ram) {
        *value = p->ram[(address - RAM) / 4];
        return VALUES_MEMORY_RAM;
    }
    if (address - 0x8000 < 0x1000) {
        *value = 0xc0de0000u | address;
        return VALUES_MEMORY_CONST;
    }
    return VALUES_MEMORY_OTHER;
}

static inline void begin(struct path *p, enum bt_isa isa)
{
    memset(p, 0, sizeof *p);
    p->next = 0x8000;
    p->w = (struct values_window){.insns = p->insns,
                                  .events = p->events,
                                  .read = read_ram,
                                  .context = p,
                                  .final_isa = (uint8_t)isa};
}

static inline struct values_insn *add(struct path *p, uint32_t opcode, enum bt_cond cond)
{
    struct values_insn *i = &p->insns[p->w.count++];
    bool t32 = p->w.final_isa == BT_ISA_T32;
    *i = (struct values_insn){.address = p->next,
                              .opcode = opcode,
                              .isa = p->w.final_isa,
                              .size = t32 && opcode < 0x10000 ? 2 : 4,
                              .cond = (uint8_t)cond};
    p->next += i->size;
    return i;
}

/* Worked out in the smallest slices: the same. */
static inline void compare_slices(const struct path *p, const struct values *whole)
{
    struct values *r = NULL;
    struct values_counts a, b;
    ck_assert_int_eq(values_begin(&r, &p->w), 0);
    for (bool done = false; !done;)
        ck_assert_int_eq(values_work(r, 1, &done), 0);
    values_counts(whole, &a);
    values_counts(r, &b);
    ck_assert(a.values == b.values && a.rules == b.rules && a.rounds == b.rounds);
    for (size_t at = 0; at <= p->w.count; at++)
        for (unsigned reg = 0; reg < VALUES_REGS; reg++) {
            struct values_answer x, y;
            ck_assert_int_eq(values_register(whole, at, reg, &x), values_register(r, at, reg, &y));
            ck_assert(x.value == y.value && x.how == y.how && x.inferred == y.inferred);
        }
    values_free(r);
}

/* The core halted behind the last instruction; all registers are known. */
static inline struct values *work(struct path *p)
{
    struct values *r = NULL;
    p->w.final[15] = p->next;
    p->w.final_known = 0xffff;
    bool done;
    ck_assert_int_eq(values_begin(&r, &p->w), 0);
    ck_assert_int_eq(values_work(r, SIZE_MAX, &done), 0);
    compare_slices(p, r);
    return r;
}

static inline bool is_known(const struct values *r, size_t at, unsigned reg, uint32_t value)
{
    struct values_answer a;
    bool known = values_register(r, at, reg, &a);
    if (known)
        ck_assert_uint_eq(a.value, value);
    return known;
}

#endif
