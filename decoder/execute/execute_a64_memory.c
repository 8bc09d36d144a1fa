/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores of A64 (Arm DDI 0487L.a, C4.1, "Loads and Stores"). */
#include "execute_a64.h"
#include "execute_work.h"

#include <string.h>

/* What an access moves: up to 16 bytes, the lowest ones first, as registers hold them. */
struct a64_data {
    uint64_t half[2];
    bool known[2];
    uint64_t range; /* if it is not known, but at most so much more */
    uint32_t bits;  /* if the first half is not known: it is a status of which these bits are */
};

/* An address without its tag; false: not known. */
static bool place(struct execute *x, struct a64_value at, uint64_t *address)
{
    *address = (uint64_t)a64_signed(at.bits, 56);
    x->has_access = at.known;
    x->last_access = *address;
    return at.known;
}

/* False: which byte is the lowest one nobody knows. */
static bool has_order(const struct execute *x, unsigned size)
{
    return size == 1 || a64_order(x) >= 0;
}

/* It may be anywhere in a known range. Tells of that; false: nor is that known. */
static bool near_place(struct execute *x, struct a64_value at, unsigned size, bool is_store,
                       int *error)
{
    uint64_t from = (uint64_t)a64_signed(at.bits, 56), length = at.range + size;
    if (!at.range || at.range > EXECUTE_RANGE_MAX ||
        (uint64_t)a64_signed(at.bits + length, 56) != from + length)
        return false;
    if (is_store)
        *error = execute_memory_write(&x->memory, from, NULL, length);
    execute_tell(x, from, length, is_store, true);
    return true;
}

static struct a64_data load(struct execute *x, struct a64_value at, unsigned size)
{
    static const uint8_t zeros[4];
    struct a64_data d = {.known = {false, false}};
    uint8_t bytes[16] = {0};
    uint64_t address;
    bool there = place(x, at, &address);
    if (there)
        execute_tell(x, address, size, false, false);
    else if (!near_place(x, at, size, false, NULL))
        execute_tell_any(x, false);
    if (!there || !has_order(x, size)) {
        d.range = size < 4 ? (UINT64_C(1) << 8 * size) - 1 : 0;
        return d;
    }
    if (!execute_memory_read(&x->memory, address, bytes, size)) {
        struct a64_value v = size <= 8 ? a64_loaded(x, address, size, false) : a64_unknown();
        d.half[0] = v.bits;
        d.range = v.range;
        uint32_t status = 0;
        if (size == 8 && !execute_is_big(x) &&
            execute_memory_read(&x->memory, address + 4, bytes, 4) && !memcmp(bytes, zeros, 4))
            status = execute_get_status(x, address, &d.bits);
        d.half[0] = d.bits ? status : d.half[0];
        d.range = d.bits ? 0 : d.range;
        return d;
    }
    execute_swap(x, bytes, size);
    for (unsigned n = 0; n < 16; n++)
        d.half[n / 8] |= (uint64_t)bytes[n] << 8 * (n % 8);
    d.known[0] = d.known[1] = true;
    return d;
}

/* Eight bytes at a time are known or not. */
static void store(struct execute *x, struct a64_value at, struct a64_data d, unsigned size,
                  int *error)
{
    static const uint8_t zeros[4];
    uint8_t bytes[16];
    uint64_t address;
    if (!place(x, at, &address)) {
        if (near_place(x, at, size, true, error))
            return;
        x->clobbers++;
        execute_forget_memory(x);
        return;
    }
    if (!has_order(x, size))
        d = (struct a64_data){.known = {false, false}};
    for (unsigned n = 0; n < 16; n++)
        bytes[n] = (uint8_t)(d.half[n / 8] >> 8 * (n % 8));
    bool high = size <= 8 || d.known[1];
    if (execute_is_big(x) || d.known[0] == high || size <= 8) {
        execute_swap(x, bytes, size);
        *error = execute_memory_write(&x->memory, address, d.known[0] && high ? bytes : NULL, size);
    } else {
        for (unsigned h = 0; h < 2 && *error == BT_OK; h++)
            *error = execute_memory_write(&x->memory, address + 8 * h,
                                          d.known[h] ? bytes + 8 * h : NULL, 8);
    }
    if (d.bits && !d.known[0] && size == 8 && !execute_is_big(x) && *error == BT_OK) {
        *error = execute_memory_write(&x->memory, address + 4, zeros, 4);
        execute_memory_set_bits(&x->memory, address, (uint32_t)d.half[0], d.bits);
    }
    if (!d.known[0] && size <= 8 && !d.bits && *error == BT_OK)
        a64_bound(x, address, size, (struct a64_value){d.half[0], false, d.range}, error);
    execute_tell(x, address, size, true, !(d.known[0] && high)); /* store-exclusives, too */
}

static struct a64_data of_register(struct a64_value v)
{
    return (struct a64_data){.half = {v.bits, 0}, .known = {v.known, true}, .range = v.range};
}

static struct a64_data of_general(const struct execute *x, unsigned reg, unsigned size)
{
    struct a64_data d = of_register(a64_span(x, reg, size == 8));
    if (x->regs.partial == reg + 1) {
        d.half[0] = x->regs.partial_bits;
        d.bits = x->regs.partial_known;
    }
    return d;
}

static struct a64_data of_vector(const struct execute *x, unsigned reg)
{
    struct a64_value lo = a64_half(x, reg, 0), hi = a64_half(x, reg, 1);
    return (struct a64_data){.half = {lo.bits, hi.bits}, .known = {lo.known, hi.known}};
}

static void to_vector(struct execute *x, unsigned reg, struct a64_data d)
{
    for (unsigned h = 0; h < 2; h++)
        a64_set_half(x, reg, h, a64_perhaps(d.half[h], d.known[h]));
}

/* A register from memory: `sign` of `size` bytes to `wide`. */
static void to_register(struct execute *x, unsigned reg, struct a64_data d, unsigned size,
                        bool sign, bool wide)
{
    struct a64_value v = {d.half[0], d.known[0], d.range};
    if (sign && v.known)
        v.bits = (uint64_t)a64_signed(v.bits, 8 * size);
    else if (sign)
        v = a64_extended(v, size);
    a64_set(x, reg, wide && (size == 8 || sign || v.known), v);
    if (!v.known && size == 8)
        a64_set_partial(x, reg, (uint32_t)d.half[0], d.bits);
}

/* It was loaded, and nothing is stored there meanwhile. */
static void loaded(struct execute *x, unsigned reg, struct a64_value at, unsigned size)
{
    uint64_t address;
    if (!place(x, at, &address) || a64_get(x, reg, true).known)
        return;
    struct execute_work w = {.x = x};
    a64_mirror(x, reg, address, size);
    if (size == 4 && reg != A64_ZR && !execute_is_big(x))
        execute_reload(&w, reg, address);
}

static void store_general(struct execute *x, unsigned reg, struct a64_value at, unsigned size,
                          int *error)
{
    uint64_t address;
    store(x, at, of_general(x, reg, size), size, error);
    if (size == 4 && place(x, at, &address) && !a64_get(x, reg, true).known)
        a64_keep(x, reg, address);
}

static struct a64_value offset(struct a64_value base, uint64_t by)
{
    base.bits += by;
    return base;
}

/* Registers of both files, by size and opc as all single forms have them. False: reserved. */
static bool single(struct execute *x, uint32_t op, struct a64_value at, int *error)
{
    unsigned size = op >> 30, opc = a64_field(op, 22, 2), rt = op & 31;
    if (op >> 26 & 1) {
        unsigned bytes = opc & 2 ? 16 : 1u << size;
        if (opc & 2 && size)
            return false;
        if (opc & 1)
            to_vector(x, rt, load(x, at, bytes));
        else
            store(x, at, of_vector(x, rt), bytes, error);
        return true;
    }
    if (size == 3 && opc == 2)
        return true; /* PRFM */
    if ((size == 3 && opc == 3) || (size == 2 && opc == 3))
        return false;
    if (opc == 0) {
        store_general(x, rt, at, 1u << size, error);
        return true;
    }
    to_register(x, rt, load(x, at, 1u << size), 1u << size, opc >= 2, opc != 3);
    if (opc == 1)
        loaded(x, rt, at, 1u << size);
    return true;
}

static bool register_offset(struct execute *x, uint32_t op, int *error)
{
    unsigned option = a64_field(op, 13, 3), rn = a64_field(op, 5, 5);
    bool vector = op >> 26 & 1;
    unsigned scale = vector && op >> 23 & 1 ? 4 : op >> 30;
    if (!(option & 2))
        return false;
    struct a64_value base = a64_get_sp(x, rn, true), by;
    const struct a64_bits bits = {.width = option & 1 ? 64 : 32,
                                  .at = op >> 12 & 1 ? scale : 0,
                                  .wide = true,
                                  .sign = option & 4};
    by = a64_get(x, a64_field(op, 16, 5), option & 1);
    if (!(option & 1) && option & 4)
        by.bits = (uint64_t)a64_signed(by.bits, 32);
    by.bits <<= bits.at;
    if (!by.known)
        by = a64_part(x, a64_field(op, 16, 5), &bits);
    return single(x, op, a64_sum(base, by, false, true), error);
}

static uint64_t atomic_result(unsigned which, uint64_t old, uint64_t with, unsigned bits)
{
    int64_t a = a64_signed(old, bits), b = a64_signed(with, bits);
    uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    old &= mask;
    with &= mask;
    switch (which) {
    case 0:
        return old + with;
    case 1:
        return old & ~with;
    case 2:
        return old ^ with;
    case 3:
        return old | with;
    case 4:
        return a > b ? old : with;
    case 5:
        return a < b ? old : with;
    case 6:
        return old > with ? old : with;
    default:
        return old < with ? old : with;
    }
}

static bool atomic(struct execute *x, uint32_t op, int *error)
{
    unsigned bytes = 1u << (op >> 30), which = a64_field(op, 12, 3), rt = op & 31;
    bool other = op >> 15 & 1;
    if (op >> 26 & 1 || (other && which != 0 && which != 4))
        return false;
    struct a64_value at = a64_get_sp(x, a64_field(op, 5, 5), true);
    struct a64_value with = a64_get(x, a64_field(op, 16, 5), true);
    struct a64_data old = load(x, at, bytes);
    if (!(other && which == 4)) {
        struct a64_value new = with;
        if (!other)
            new = (struct a64_value){atomic_result(which, old.half[0], with.bits, 8 * bytes),
                                     with.known && old.known[0], 0};
        store(x, at, of_register(new), bytes, error);
    }
    to_register(x, rt, old, bytes, false, true);
    return true;
}

/* Forms with an immediate or a register, size in bits 31 to 30. */
static bool single_forms(struct execute *x, uint32_t op, int *error)
{
    unsigned rn = a64_field(op, 5, 5), form = a64_field(op, 10, 2);
    struct a64_value base = a64_get_sp(x, rn, true);
    if (op >> 24 & 1) {
        unsigned scale = op >> 26 & 1 && op >> 23 & 1 ? 4 : op >> 30;
        return single(x, op, offset(base, (uint64_t)a64_field(op, 10, 12) << scale), error);
    }
    if (op >> 21 & 1)
        return form == 0 ? atomic(x, op, error) : form == 2 ? register_offset(x, op, error) : false;
    struct a64_value moved = offset(base, (uint64_t)a64_signed(a64_field(op, 12, 9), 9));
    if (form & 1 && rn != A64_ZR && rn == (op & 31) && !(op >> 26 & 1))
        return false; /* CONSTRAINED UNPREDICTABLE (DDI 0487L.a, K1.2) */
    if (!single(x, op, form == 1 ? base : moved, error))
        return false;
    if (form & 1)
        a64_set_sp(x, rn, true, moved);
    return true;
}

/* One register twice, or the base as well (DDI 0487L.a, K1.2). */
static bool is_unpredictable_pair(uint32_t op, bool vector, bool is_load)
{
    unsigned rn = a64_field(op, 5, 5), rt = op & 31, rt2 = a64_field(op, 10, 5);
    bool written = op >> 23 & 1 && rn != A64_ZR && !vector;
    return (is_load && rt == rt2) || (written && (rn == rt || rn == rt2));
}

/* LDP, STP and their like. */
static bool pair(struct execute *x, uint32_t op, int *error)
{
    bool vector = op >> 26 & 1, is_load = op >> 22 & 1;
    unsigned opc = op >> 30, mode = a64_field(op, 23, 2), rn = a64_field(op, 5, 5);
    unsigned reg[2] = {op & 31, a64_field(op, 10, 5)};
    unsigned size = vector ? 4u << opc : opc & 2 ? 8 : 4;
    if (opc == 3 || (!vector && opc == 1 && (!is_load || mode == 0)))
        return false; /* memory tags */
    if (is_unpredictable_pair(op, vector, is_load))
        return false;
    struct a64_value base = a64_get_sp(x, rn, true);
    struct a64_value moved =
        offset(base, (uint64_t)a64_signed(a64_field(op, 15, 7), 7) * (int64_t)size);
    struct a64_value at = mode == 1 ? base : moved;
    struct a64_data d[2];
    for (unsigned n = 0; n < 2 && *error == BT_OK; n++) {
        if (is_load)
            d[n] = load(x, offset(at, n * size), size);
        else if (vector)
            store(x, offset(at, n * size), of_vector(x, reg[n]), size, error);
        else
            store_general(x, reg[n], offset(at, n * size), size, error);
    }
    for (unsigned n = 0; n < 2 && is_load; n++) {
        if (vector)
            to_vector(x, reg[n], d[n]);
        else
            to_register(x, reg[n], d[n], size, opc == 1, true);
    }
    if (mode & 1)
        a64_set_sp(x, rn, true, moved);
    return true;
}

/* CAS, CASA, CASL, CASAL: it stores if what is there is what Rs says. */
static bool compare_and_swap(struct execute *x, uint32_t op, int *error)
{
    unsigned bytes = 1u << (op >> 30), rs = a64_field(op, 16, 5);
    struct a64_value at = a64_get_sp(x, a64_field(op, 5, 5), true), want = a64_get(x, rs, true);
    struct a64_data old = load(x, at, bytes), new = of_register(a64_get(x, op & 31, true));
    uint64_t mask = bytes == 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
    bool known = old.known[0] && want.known, same = !((old.half[0] ^ want.bits) & mask);
    if (!known)
        new.known[0] = false;
    if (!known || same)
        store(x, at, new, bytes, error);
    to_register(x, rs, old, bytes, false, true);
    return true;
}

/* As with 32 bits: the result is known where the path shows it. */
static void begin_exclusive(struct execute *x, struct a64_value at, struct a64_value new,
                            unsigned bytes, unsigned rs)
{
    uint64_t address, old = 0;
    uint8_t b[8] = {0};
    bool known = place(x, at, &address) && has_order(x, bytes) &&
                 execute_memory_read(&x->memory, address, b, bytes);
    execute_swap(x, b, bytes);
    for (unsigned n = 0; n < bytes && known; n++)
        old |= (uint64_t)b[n] << 8 * n;
    x->exclusive = (struct execute_exclusive){.reg = (uint8_t)(rs + 1),
                                              .width = (uint8_t)bytes,
                                              .known = {new.known, known},
                                              .value = {new.bits, old},
                                              .address = address};
}

/* Exclusives, ordered loads and stores. Whether a store-exclusive stores nobody tells. */
static bool exclusive(struct execute *x, uint32_t op, int *error)
{
    bool is_load = op >> 22 & 1, ordered = op >> 23 & 1, two = op >> 21 & 1;
    unsigned size = op >> 30, bytes = 1u << size, reg[2] = {op & 31, a64_field(op, 10, 5)};
    struct a64_value at = a64_get_sp(x, a64_field(op, 5, 5), true);
    if (ordered && two)
        return compare_and_swap(x, op, error);
    if (two && size < 2) { /* CASP: either */
        store(x, at, (struct a64_data){.known = {false, false}}, 8u << size, error);
        for (unsigned n = 0; n < 2; n++)
            a64_set(x, (a64_field(op, 16, 5) + n) & 31, true, a64_unknown());
        return true;
    }
    unsigned rs = a64_field(op, 16, 5), rn = a64_field(op, 5, 5);
    bool status = !is_load && !ordered, meets = rs == reg[0] || (two && rs == reg[1]);
    if ((is_load && two && reg[0] == reg[1]) || (status && (meets || (rs == rn && rn != A64_ZR))))
        return false; /* CONSTRAINED UNPREDICTABLE */
    struct a64_data d[2];
    if (status && !two && at.known && rs != A64_ZR)
        begin_exclusive(x, at, a64_get(x, reg[0], true), bytes, rs);
    for (unsigned n = 0; n < 1u + two && *error == BT_OK; n++) {
        if (is_load) {
            d[n] = load(x, offset(at, n * bytes), bytes);
        } else {
            d[n] = of_register(a64_get(x, reg[n], true));
            d[n].known[0] = d[n].known[0] && ordered;
            store(x, offset(at, n * bytes), d[n], bytes, error);
        }
    }
    for (unsigned n = 0; n < 1u + two && is_load; n++)
        to_register(x, reg[n], d[n], bytes, false, true);
    if (status)
        a64_set(x, rs, false, a64_unknown());
    return true;
}

static bool literal(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    unsigned opc = op >> 30, rt = op & 31;
    struct a64_value at =
        a64_known(i->address + (uint64_t)a64_signed((uint64_t)a64_field(op, 5, 19) << 2, 21));
    if (op >> 26 & 1) {
        if (opc == 3)
            return false;
        to_vector(x, rt, load(x, at, 4u << opc));
    } else if (opc != 3) {
        unsigned bytes = opc == 1 ? 8 : 4;
        to_register(x, rt, load(x, at, bytes), bytes, opc == 2, true);
    }
    return true;
}

/* LDAPUR, STLUR and their like: opc as single(). */
static bool ordered_unscaled(struct execute *x, uint32_t op, int *error)
{
    if (op >> 26 & 1 || op >> 21 & 1 || a64_field(op, 10, 2))
        return false;
    uint64_t by = (uint64_t)a64_signed(a64_field(op, 12, 9), 9);
    return single(x, op, offset(a64_get_sp(x, a64_field(op, 5, 5), true), by), error);
}

/* Puts `bytes` of an element where lane `index` of a vector is; an unknown one spoils its half. */
static void set_lane(struct execute *x, unsigned reg, unsigned index, unsigned bytes,
                     struct a64_data d)
{
    unsigned h = index * bytes / 8, shift = index * bytes % 8 * 8;
    uint64_t mask = (bytes == 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1) << shift;
    struct a64_value v = a64_half(x, reg, h);
    v.known = (v.known || bytes == 8) && d.known[0];
    v.bits = (v.bits & ~mask) | (d.half[0] << shift & mask);
    a64_set_half(x, reg, h, v);
}

static struct a64_data lane(const struct execute *x, unsigned reg, unsigned index, unsigned bytes)
{
    struct a64_value v = a64_half(x, reg, index * bytes / 8);
    v.bits >>= index * bytes % 8 * 8;
    return of_register(v);
}

/* Where a structure access goes on, and the base register behind it. */
static void structure_done(struct execute *x, uint32_t op, unsigned bytes)
{
    unsigned rn = a64_field(op, 5, 5), rm = a64_field(op, 16, 5);
    struct a64_value base = a64_get_sp(x, rn, true), by = a64_known(bytes);
    if (!(op >> 23 & 1))
        return;
    if (rm != 31)
        by = a64_get(x, rm, true);
    a64_set_sp(x, rn, true, a64_sum(base, by, false, true));
}

/* LD1 to LD4, ST1 to ST4 (multiple structures): `registers` of them, in turns of `turns`. */
static bool structures(struct execute *x, uint32_t op, int *error)
{
    static const struct {
        uint8_t registers, turns;
    } forms[16] = {{4, 4}, {0, 0}, {4, 1}, {0, 0}, {3, 3}, {0, 0}, {3, 1}, {1, 1},
                   {2, 2}, {0, 0}, {2, 1}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}};
    unsigned form = a64_field(op, 12, 4), registers = forms[form].registers;
    unsigned turns = forms[form].turns, bytes = 1u << a64_field(op, 10, 2);
    unsigned lanes = (op >> 30 & 1 ? 16 : 8) / bytes, rt = op & 31, at = 0;
    bool is_load = op >> 22 & 1;
    if (!registers || op >> 21 & 1 || (turns > 1 && lanes == 1))
        return false;
    struct a64_value base = a64_get_sp(x, a64_field(op, 5, 5), true);
    for (unsigned first = 0; first < registers; first += turns)
        for (unsigned n = 0; n < lanes * turns && *error == BT_OK; n++, at += bytes) {
            unsigned reg = (rt + first + n % turns) & 31, index = n / turns;
            struct a64_value place_of = offset(base, at);
            if (is_load && index == 0 && !(op >> 30 & 1))
                a64_set_half(x, reg, 1, a64_known(0));
            if (is_load && index * bytes % 8 == 0) /* what was there does not count */
                a64_set_half(x, reg, index * bytes / 8, a64_known(0));
            if (is_load)
                set_lane(x, reg, index, bytes, load(x, place_of, bytes));
            else
                store(x, place_of, lane(x, reg, index, bytes), bytes, error);
        }
    structure_done(x, op, at);
    return true;
}

/* The same of one lane, or of all lanes from one element. */
static bool structure_lane(struct execute *x, uint32_t op, int *error)
{
    unsigned opcode = a64_field(op, 13, 3), size = a64_field(op, 10, 2), q = op >> 30 & 1;
    unsigned selected = (opcode & 1) << 1 | a64_field(op, 21, 1), scale = opcode >> 1;
    unsigned s = a64_field(op, 12, 1), rt = op & 31, index = q << 3 | s << 2 | size;
    bool is_load = op >> 22 & 1, all = scale == 3;
    if (all)
        scale = size;
    else if (scale == 1)
        index >>= 1;
    else if (scale == 2 && size & 1)
        index >>= 3, scale = 3;
    else if (scale == 2)
        index >>= 2;
    unsigned bytes = 1u << scale;
    if (all && !is_load)
        return false;
    struct a64_value base = a64_get_sp(x, a64_field(op, 5, 5), true);
    for (unsigned n = 0; n <= selected && *error == BT_OK; n++) {
        unsigned reg = (rt + n) & 31;
        struct a64_value at = offset(base, n * bytes);
        if (!is_load) {
            store(x, at, lane(x, reg, index, bytes), bytes, error);
            continue;
        }
        struct a64_data d = load(x, at, bytes);
        if (!all) {
            set_lane(x, reg, index, bytes, d);
            continue;
        }
        a64_set_scalar(x, reg, a64_known(0));
        for (unsigned k = 0; k < (q ? 16u : 8u) / bytes; k++)
            set_lane(x, reg, k, bytes, d);
    }
    structure_done(x, op, (selected + 1) * bytes);
    return true;
}

bool a64_memory(struct execute *x, const struct execute_insn *i, int *error)
{
    uint32_t op = i->opcode;
    switch (a64_field(op, 28, 2)) {
    case 0:
        if (!(op >> 26 & 1))
            return !(op >> 24 & 1) && exclusive(x, op, error);
        if (op >> 31)
            return false;
        return op >> 24 & 1 ? structure_lane(x, op, error) : structures(x, op, error);
    case 1:
        return op >> 24 & 1 ? ordered_unscaled(x, op, error) : literal(x, i);
    case 2:
        return pair(x, op, error);
    default:
        return single_forms(x, op, error);
    }
}
