/* SPDX-License-Identifier: BSD-3-Clause */
#include "execute_a64.h"
#include "execute_work.h"

#include <stdlib.h>
#include <string.h>

#define STATUS_T   (1u << 24) /* M profile: an instruction that runs has found it set */
#define CODE_SLOTS 8192u      /* a power of two */

struct execute_code {
    struct {
        uint64_t address;
        uint32_t opcode;
        uint8_t isa, size, in_it, used;
        struct insn_effect effect;
    } slots[CODE_SLOTS];
};

struct execute_code *execute_code_new(void)
{
    return calloc(1, sizeof(struct execute_code));
}

void execute_code_free(struct execute_code *code)
{
    free(code);
}

/* ITSTATE as one byte; the PSR has it in two pieces. */
static uint8_t it_state(uint32_t psr)
{
    return (uint8_t)((psr >> 25 & 3) | (psr >> 8 & 0xfc));
}

static void decode_effect(const struct execute_insn *i, bool in_it, struct insn_effect *e)
{
    if (i->isa == BT_ISA_A32)
        effect_a32(i->opcode, e);
    else if (i->size == 2)
        effect_t16((uint16_t)i->opcode, (uint32_t)i->address, in_it, e);
    else
        effect_t32(i->opcode, (uint32_t)i->address, e);
}

static const struct insn_effect *effect_of(struct execute *x, const struct execute_insn *i,
                                           bool in_it, struct insn_effect *local)
{
    if (!x->code) {
        decode_effect(i, in_it, local);
        return local;
    }
    size_t at = (size_t)(i->address >> 1) & (CODE_SLOTS - 1);
    if (!x->code->slots[at].used || x->code->slots[at].address != i->address ||
        x->code->slots[at].opcode != i->opcode || x->code->slots[at].isa != i->isa ||
        x->code->slots[at].size != i->size || x->code->slots[at].in_it != in_it) {
        decode_effect(i, in_it, &x->code->slots[at].effect);
        x->code->slots[at].address = i->address;
        x->code->slots[at].opcode = i->opcode;
        x->code->slots[at].isa = i->isa;
        x->code->slots[at].size = i->size;
        x->code->slots[at].in_it = in_it;
        x->code->slots[at].used = 1;
    }
    return &x->code->slots[at].effect;
}

static bool writes_pc(const struct insn_effect *e)
{
    return e->kind == EFFECT_BRANCH || (e->kind == EFFECT_ALU && e->rd == EXECUTE_PC) ||
           (e->kind == EFFECT_MEMORY && e->load &&
            (e->list >> 15 || e->rt == EXECUTE_PC || e->rt2 == EXECUTE_PC));
}

/* Whether the instruction runs, by what is known and by the path: 1, 0, -1 not known. */
static int condition_of(struct execute_work *w, unsigned cond)
{
    const struct execute_insn *i = w->insn;
    struct execute_regs *r = &w->x->regs;
    int path = i->cond == BT_COND_PASS ? 1 : i->cond == BT_COND_FAIL ? 0 : -1, known;
    if (path < 0 && writes_pc(w->e) && i->has_next && i->next != i->address + i->size)
        path = i->next == i->address && !(w->e->kind == EFFECT_BRANCH) ? -1 : 1;
    if (w->e->zero) {
        struct execute_value v = execute_read(w, w->e->rn);
        known = !v.known ? -1 : (v.number == 0) == (w->e->cond == 0);
        if (path >= 0 && !v.known && w->e->rn < EXECUTE_PC)
            execute_ways_learn(w, &(struct execute_compared){.reg = w->e->rn + 1}, w->e->cond,
                               path);
    } else {
        if (cond >= EFFECT_ALWAYS)
            return 1;
        known = execute_flags_pass(r, cond);
        if (known < 0 && path < 0 && r->compared.reg && !w->maybe)
            path = execute_compared_pass(w, cond);
        if (path >= 0 && known < 0) {
            if (r->compared.reg && !w->maybe)
                execute_ways_learn(w, &r->compared, cond, path);
            execute_learn_flags(r, cond, path);
        }
    }
    if (path >= 0 && known >= 0 && path != known)
        w->error = BT_ERR_RANGE;
    return known >= 0 ? known : path;
}

static void forget_all(struct execute_work *w)
{
    uint8_t it = it_state(w->x->regs.psr);
    bool known = (w->x->regs.psr_known & EXECUTE_IT_BITS) == EXECUTE_IT_BITS;
    execute_forget_registers(w->x);
    if (known)
        execute_set_it(&w->x->regs, it);
}

static void store_bit(struct execute_work *w, uint32_t address, unsigned width,
                      struct execute_value v)
{
    struct execute *x = w->x;
    uint32_t at = execute_bit_byte(address);
    uint8_t byte, bit = (uint8_t)(1u << (address >> 2 & 7));
    if (!v.known || w->maybe || x->core.big_endian || width != 4 || address & 3 ||
        !execute_memory_read(&x->memory, at, &byte, 1)) {
        execute_clobber_range(w, address, width);
        execute_tell(x, at, 1, true, w->maybe || width != 4 || address & 3);
        return;
    }
    byte = (uint8_t)(v.number & 1 ? byte | bit : byte & ~bit);
    x->regs.float_place = 0;
    int error = execute_memory_write(&x->memory, at, &byte, 1);
    w->error = error ? error : w->error;
    execute_tell(x, at, 1, true, false);
}

#define CPACR        0xe000ed88u
#define CPACR_FLOATS 0xf00000u

/* Registers that are in memory; parts of them are not followed. */
static void store_system(struct execute_work *w, uint32_t address, unsigned width,
                         struct execute_value v)
{
    static const struct {
        uint32_t address, mask;
        unsigned place;
    } rows[] = {{0xe000ed14, UINT32_MAX, EXECUTE_CCR},
                {0xe000ed94, UINT32_MAX, EXECUTE_MPU_CTRL},
                {0xe000ef34, UINT32_MAX, EXECUTE_FPCCR},
                {0xe000ef38, ~7u, EXECUTE_FPCAR},
                {0xe000ef3c, 0x07c00000, EXECUTE_FPDSCR}};
    if (address >> 2 == CPACR >> 2)
        w->x->regs.float_off =
            w->maybe || !(width == 4 && v.known && (v.number & CPACR_FLOATS) == CPACR_FLOATS);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (address >= rows[i].address + 4 || address + width <= rows[i].address)
            continue;
        v.known = v.known && width == 4 && address == rows[i].address;
        v.number &= rows[i].mask;
        execute_write(w, rows[i].place, v);
    }
}

static void store(struct execute_work *w, uint32_t address, unsigned width, struct execute_value v)
{
    struct execute *x = w->x;
    bool odd = address & (width - 1);
    if (execute_is_bit(x, address)) {
        store_bit(w, address, width, v);
        return;
    }
    if (x->core.profile == EXECUTE_PROFILE_M && address >= EXECUTE_SYSTEM)
        store_system(w, address, width, v);
    if (x->regs.float_place && address + width - x->regs.float_place < EXECUTE_FLOATS + width)
        x->regs.float_place = 0;
    if (x->core.v4t && odd) { /* the word or halfword that holds it */
        address &= ~(uint32_t)(width - 1);
        v = (struct execute_value){0, false, 0};
    }
    struct execute_pair pair = {.instance = 0};
    if (w->maybe)
        v = execute_ways_perhaps(w, address, width, v, &pair);
    uint8_t bytes[4] = {(uint8_t)v.number, (uint8_t)(v.number >> 8), (uint8_t)(v.number >> 16),
                        (uint8_t)(v.number >> 24)};
    execute_swap(x, bytes, width);
    int error = execute_memory_write(&x->memory, address, v.known ? bytes : NULL, width);
    w->error = error ? error : w->error;
    if (!v.known && v.range && !odd)
        execute_bound(x, address, width, v);
    if (pair.instance)
        execute_memory_set_pair(&x->memory, &pair);
    execute_tell(x, address, width, true, w->maybe || w->e->exclusive);
}

static struct execute_value load(struct execute_work *w, uint32_t address, unsigned width,
                                 bool sign)
{
    uint8_t bytes[4];
    uint32_t number = 0;
    bool bit = execute_is_bit(w->x, address);
    execute_tell(w->x, bit ? execute_bit_byte(address) : address, bit ? 1 : width, false,
                 w->maybe || (w->x->core.v4t && address & (width - 1)));
    if ((w->x->core.v4t && address & (width - 1)) ||
        !execute_memory_read(&w->x->memory, address, bytes, width)) {
        struct execute_value found = {0, false, 0};
        if (execute_is_own_order(w->x))
            found.range = execute_memory_range(&w->x->memory, address, width, &found.number);
        return execute_loaded(found, width, sign);
    }
    execute_swap(w->x, bytes, width);
    for (unsigned i = 0; i < width; i++)
        number |= (uint32_t)bytes[i] << (8 * i);
    if (sign && number >> (8 * width - 1))
        number |= width == 1 ? 0xffffff00u : width == 2 ? 0xffff0000u : 0;
    return (struct execute_value){number, true, 0};
}

/* A branch to `v`, with bit 0 as BX has it. What goes to an exception's end is not a target. */
static void check_target(struct execute_work *w, struct execute_value v)
{
    const struct execute_insn *i = w->insn;
    bool m = w->x->core.profile == EXECUTE_PROFILE_M;
    bool magic = m && v.number >= 0xf0000000u;
    if (m) {
        w->x->regs.returning = magic && v.known && !w->maybe ? v.number : 0;
        execute_set_psr(w, STATUS_T, v.number << 24, v.known ? STATUS_T : 0);
    }
    if (v.known && i->has_next && !w->maybe && !magic &&
        (v.number & ~1u) != ((uint32_t)i->next & ~1u) && i->next != i->address)
        w->error = BT_ERR_RANGE;
}

static void transfer(struct execute_work *w, unsigned reg, uint32_t address, bool known)
{
    const struct insn_effect *e = w->e;
    struct execute_value v = {0, false, 0};
    if (!e->load) {
        v = reg == EXECUTE_PC || reg >= 16 ? v : execute_read(w, reg);
        if (reg == e->rn && e->writeback && (!e->list || e->list & ((1u << reg) - 1)))
            v = (struct execute_value){0, false, 0};
        bool sole = e->rt2 == EFFECT_NO_REG && e->rt < EXECUTE_PC && e->clobber;
        if (e->exclusive)
            v = known && sole && !w->maybe ? execute_begin_exclusive(w, address, v)
                                           : (struct execute_value){0, false, 0};
        if (known)
            store(w, address, e->width, v);
        bool whole =
            known && e->width == 4 && !w->maybe && !e->exclusive && !(e->writeback && e->rn == reg);
        if (whole && w->x->regs.partial == reg + 1 && execute_is_own_order(w->x)) {
            execute_memory_set_bits(&w->x->memory, address, w->x->regs.partial_bits,
                                    w->x->regs.partial_known);
            execute_ways_store_saved(w->x, EXECUTE_WAYS_PARTIAL, address);
        }
        if (whole && !v.known && reg < EXECUTE_PC) {
            execute_ways_store(w->x, reg, address);
            execute_keep(w, reg, address);
        }
        if (whole)
            execute_hold(w->x, reg, address);
        return;
    }
    v = known ? load(w, address, e->width, e->sign) : execute_loaded(v, e->width, e->sign);
    if (reg == EXECUTE_PC)
        check_target(w, v);
    else if (reg < EXECUTE_PC)
        execute_write(w, reg, v);
    if (known && !v.known && !w->maybe && reg < EXECUTE_PC && execute_is_own_order(w->x))
        execute_mirror(w, reg, address);
    if (known && !v.known && e->width == 4 && !w->maybe && reg < EXECUTE_PC) {
        execute_ways_load(w->x, reg, address);
        execute_reload(w, reg, address);
    }
    if (known && e->width == 4 && !w->maybe)
        execute_take_held(w->x, reg, address);
    if (known && !v.known && e->width == 4 && w->x->core.profile == EXECUTE_PROFILE_AR &&
        execute_is_own_order(w->x)) {
        uint32_t bits, mask = execute_memory_bits(&w->x->memory, address, &bits);
        execute_set_partial(w, reg, bits, mask);
        if (w->x->regs.partial == reg + 1)
            execute_ways_load_saved(w->x, EXECUTE_WAYS_PARTIAL, address);
    }
}

static void floats(struct execute_work *w, uint32_t address, bool known)
{
    uint32_t d = effect_field(w->insn->opcode, 12, 4), bit = effect_field(w->insn->opcode, 22, 1);
    bool twice = effect_field(w->insn->opcode, 8, 1);
    unsigned first = twice ? 2 * (bit << 4 | d) : d << 1 | bit;
    struct execute_regs *r = &w->x->regs;
    for (unsigned k = 0; k < w->e->words; k++, address += 4) {
        unsigned s = first + (execute_is_big(w->x) && twice ? k ^ 1 : k), half = s & 1 ? 32 : 0;
        bool low = s < 32;
        bool has = low ? r->vector_known >> s & 1 : s < 64 && r->vector_known64 >> (s / 2 - 16) & 1;
        if (s >= 64)
            break;
        if (!w->e->load) {
            if (known)
                store(w, address, 4,
                      (struct execute_value){(uint32_t)(r->vector[s / 2] >> half), has, 0});
            continue;
        }
        struct execute_value v = {0, false, 0};
        if (known)
            v = load(w, address, 4, false);
        if (w->maybe)
            v.known = v.known && has && (uint32_t)(r->vector[s / 2] >> half) == v.number;
        r->vector[s / 2] = (r->vector[s / 2] & ~(UINT64_C(0xffffffff) << half)) | (uint64_t)v.number
                                                                                      << half;
        if (low)
            r->vector_known = (r->vector_known & ~(UINT64_C(1) << s)) | (uint64_t)v.known << s;
        else if (!v.known) /* d16-d31: only both halves together */
            r->vector_known64 &= ~(UINT64_C(1) << (s / 2 - 16));
        else if (k & 1 && execute_memory_read(&w->x->memory, address - 4, &(uint32_t){0}, 4))
            r->vector_known64 |= UINT64_C(1) << (s / 2 - 16);
    }
}

/* A base that is loaded as well, or the PC written back: UNPREDICTABLE. */
static bool is_unpredictable(const struct insn_effect *e)
{
    bool loaded = e->rn == e->rt || e->rn == e->rt2 || (e->list >> e->rn & 1);
    return e->kind == EFFECT_MEMORY && e->writeback &&
           (e->rn == EXECUTE_PC || (e->load && !e->words && loaded) ||
            (!e->list && !e->words && !e->load && loaded));
}

/* An access whose address is not known, or is `at` or up to `range` more. */
static void access_somewhere(struct execute_work *w, uint32_t at, uint32_t range)
{
    const struct insn_effect *e = w->e;
    bool bounded = range && range <= EXECUTE_RANGE_MAX, aligns = e->list || w->x->core.v4t;
    uint32_t size = e->list    ? 4 * (uint32_t)__builtin_popcount(e->list)
                    : e->words ? 4u * e->words
                               : e->width * (e->rt2 == EFFECT_NO_REG ? 1u : 2u);
    size += range + (aligns ? 4 : 0);
    at &= aligns ? ~3u : ~0u;
    if (!e->load && bounded)
        execute_clobber_range(w, at, size);
    else if (!e->load)
        execute_clobber_store(w);
    if (bounded && at < at + size && !execute_is_bit(w->x, at) && !execute_is_bit(w->x, at + size))
        execute_tell(w->x, at, size, !e->load, true);
    else
        execute_tell_any(w->x, !e->load);
}

static void access_memory(struct execute_work *w)
{
    const struct insn_effect *e = w->e;
    struct execute_value base = execute_read(w, e->rn), moved = base,
                         by = {(uint32_t)e->delta, true, 0};
    uint32_t carry, carry_known, at;
    if (e->align_pc && e->rn == EXECUTE_PC)
        moved.number = base.number &= ~3u;
    if (e->rm != EFFECT_NO_REG) {
        by = execute_operand(w, &carry, &carry_known);
        if (e->subtract)
            by = execute_sum((struct execute_value){0, true, 0}, by, 1);
    }
    moved = execute_sum(base, by, 0);
    bool offset = !e->list && !e->words && e->index;
    at = offset ? moved.number : base.number + (e->list || e->words ? (uint32_t)e->start : 0);
    bool known = offset ? moved.known : base.known;
    if (!known)
        access_somewhere(w, at, offset ? moved.range : base.range);
    if (e->writeback && e->rn < EXECUTE_PC && e->load)
        execute_write(w, e->rn, moved);
    if (e->words) {
        floats(w, at, known);
    } else if (e->list) {
        for (unsigned reg = 0; reg < 16; reg++) {
            if (!(e->list >> reg & 1))
                continue;
            transfer(w, reg, at, known);
            at += 4;
        }
    } else {
        transfer(w, e->rt, at, known);
        if (e->rt2 != EFFECT_NO_REG)
            transfer(w, e->rt2, at + 4, known);
    }
    if (e->writeback && e->rn < EXECUTE_PC && !e->load)
        execute_write(w, e->rn, moved);
}

static void branch(struct execute_work *w)
{
    const struct execute_insn *i = w->insn;
    uint32_t back = (uint32_t)(i->address + i->size);
    if (w->e->rn != EFFECT_NO_REG && !w->e->zero)
        check_target(w, execute_read(w, w->e->rn));
    if (w->e->link)
        execute_write(w, EXECUTE_LR,
                      (struct execute_value){i->isa == BT_ISA_T32 ? back | 1 : back, true, 0});
}

static void clobber(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    bool multiplies = w->e->kind == EFFECT_ALU; /* before ARMv5 the other flags are not kept */
    uint32_t regs = multiplies && !w->x->core.v4t ? 0 : w->e->clobber;
    r->known &= ~(uint64_t)(regs & 0x7fff);
    r->bounded &= ~regs;
    execute_unrelate(r, regs);
    w->x->ways.written |= regs & 0x7fff;
    w->x->ways.differs &= ~regs;
    if (regs & (1u << EFFECT_NZ | 1u << EFFECT_C | 1u << EFFECT_V))
        execute_end_ways(w->x);
    r->compared.reg = regs ? 0 : r->compared.reg;
    r->partial = regs ? 0 : r->partial;
    if (regs & 1u << EFFECT_NZ)
        r->psr_known &= ~0xc0000000u;
    if (regs & 1u << EFFECT_C)
        r->psr_known &= ~0x20000000u;
    if (regs & 1u << EFFECT_V)
        r->psr_known &= ~0x10000000u;
    if (w->e->clobber_memory)
        execute_clobber_store(w);
}

static void run_system(struct execute_work *w)
{
    if (w->x->core.profile == EXECUTE_PROFILE_M && execute_m_special(w))
        return;
    if (w->e->system == EFFECT_RETURN_LOAD && !w->maybe && !is_unpredictable(w->e))
        access_memory(w);
    if (w->x->core.profile == EXECUTE_PROFILE_AR && !is_unpredictable(w->e) && execute_ar_system(w))
        return;
    w->x->unknown++;
    forget_all(w);
    execute_tell_any(w->x, false);
    if (w->e->system == EFFECT_STORE_RETURN || w->e->clobber_memory)
        execute_clobber_store(w);
}

static void run(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    bool vectors = execute_uses_vectors(w->insn);
    if (r->mixed && !(r->psr_known & EXECUTE_E) &&
        (w->e->kind == EFFECT_MEMORY || w->e->kind == EFFECT_SYSTEM)) {
        w->x->unknown++;
        execute_forget_registers(w->x);
        execute_clobber_store(w);
        return;
    }
    if (w->x->core.profile == EXECUTE_PROFILE_M)
        execute_m_before(w, w->x->core.fpu && vectors);
    else if ((w->e->kind == EFFECT_NONE || w->e->kind == EFFECT_OTHER) && execute_ar_system(w))
        return;
    if (vectors && !(w->e->kind == EFFECT_MEMORY && w->e->words)) {
        if (execute_float(w))
            return;
        w->x->unknown += w->e->kind == EFFECT_NONE;
        r->vector_known = r->vector_known64 = 0;
        r->fpscr_known = 0;
    }
    switch (w->e->kind) {
    case EFFECT_ALU:
        execute_arithmetic(w);
        clobber(w);
        break;
    case EFFECT_MEMORY:
        if (is_unpredictable(w->e)) {
            w->x->unknown++;
            forget_all(w);
            execute_clobber_store(w);
        } else {
            access_memory(w);
        }
        clobber(w);
        if (w->x->exclusive.reg && w->x->exclusive.at == w->x->insns)
            execute_write(w, w->x->exclusive.reg - 1u, (struct execute_value){0, false, 1});
        break;
    case EFFECT_BRANCH:
        branch(w);
        break;
    case EFFECT_SYSTEM:
        run_system(w);
        break;
    case EFFECT_OTHER:
        if (execute_dsp(w))
            return;
        w->x->unknown++;
        r->psr_known &= ~0x080f0000u; /* Q and GE */
        if (w->e->clobber == EFFECT_ALL_REGS)
            forget_all(w);
        clobber(w);
        break;
    default:
        break;
    }
}

/* Of M profile as DDI 0403E.e B1.5 numbers them; a data abort of the A and R profiles. */
#define NUMBER_SVC   11
#define NUMBER_ABORT 12

static bool fetch(struct execute *x, const struct bt_exception *e, struct execute_insn *i)
{
    uint8_t b[4];
    uint8_t isa = x->core.profile == EXECUTE_PROFILE_M ? BT_ISA_T32 : e->return_isa;
    *i = (struct execute_insn){.address = e->return_address, .isa = isa, .size = 4};
    if (!execute_memory_read(&x->memory, i->address, b, 2))
        return false;
    i->size = i->isa == BT_ISA_T32 && b[1] < 0xe8 ? 2 : 4;
    if (i->size == 4 && !execute_memory_read(&x->memory, i->address, b, 4))
        return false;
    uint32_t low = (uint32_t)b[1] << 8 | b[0], high = (uint32_t)b[3] << 8 | b[2];
    i->opcode = i->size == 2 ? low : i->isa == BT_ISA_T32 ? low << 16 | high : high << 16 | low;
    return true;
}

/*
 * What the exception is to come back to is not in the path, but may have begun: of a load or store
 * of several registers any part may be done, only its base is as it was (DDI 0403E.e B1.5.10).
 * Assumed is that an interrupt does not find it as the first floating-point instruction of its
 * context, begun: whether frames have floating-point registers from there on nobody would know, nor
 * any task's SP. A fault does: in the access or, before it has begun, where it was fetched.
 */
static int begin_abandoned(struct execute *x, const struct bt_exception *e)
{
    bool m = x->core.profile == EXECUTE_PROFILE_M, fault = m ? e->number < NUMBER_SVC : true;
    struct insn_effect local, effect;
    struct execute_insn i;
    if (!e->has_return || (e->number == NUMBER_SVC && m) || (e->number != NUMBER_ABORT && !m))
        return BT_OK;
    if (execute_is_big(x) || !fetch(x, e, &i)) {
        x->regs.known &= ~UINT64_C(0x5fff);
        x->regs.bounded &= ~0x5fffu;
        execute_unrelate(&x->regs, 0x5fff);
        x->ways.differs = 0;
        x->regs.vector_known = x->regs.vector_known64 = 0;
        execute_forget_memory(x);
        return BT_OK;
    }
    effect = *effect_of(x, &i, false, &local);
    bool in_it = i.isa == BT_ISA_T32 && (x->regs.psr_known & EXECUTE_IT_BITS) == EXECUTE_IT_BITS &&
                 it_state(x->regs.psr);
    unsigned cond = in_it ? it_state(x->regs.psr) >> 4 : effect.cond;
    if (cond < EFFECT_ALWAYS && execute_flags_pass(&x->regs, cond) == 0)
        return BT_OK;
    bool several =
        (effect.list & (effect.list - 1)) || effect.words > 1 || effect.rt2 != EFFECT_NO_REG;
    if (effect.kind != EFFECT_MEMORY || !(several || (fault && (!effect.load || effect.words))))
        return BT_OK;
    effect.writeback = false;
    effect.list &= effect.load ? (uint16_t) ~(1u << 15 | 1u << effect.rn) : 0xffffu;
    struct execute_work w = {.x = x, .insn = &i, .e = &effect, .maybe = true};
    if (m && effect.words && x->core.fpu && (fault || (x->regs.value[EXECUTE_CONTROL] & FPCA)))
        execute_m_before(&w, true);
    if (effect.words)
        x->regs.float_place = 0;
    if (effect.list || effect.words || effect.rt != EFFECT_NO_REG)
        access_memory(&w);
    return w.error;
}

int execute_exception(struct execute *x, const struct bt_event *event, uint64_t next)
{
    x->exclusive.reg = 0;
    if (x->core.profile == EXECUTE_PROFILE_A64)
        return a64_take_exception(x, &event->u.exception, next);
    int error = begin_abandoned(x, &event->u.exception);
    if (error)
        return error;
    if (x->core.profile == EXECUTE_PROFILE_AR && execute_ar_exception(x, event))
        return BT_OK;
    return execute_m_exception(x, event);
}

static bool goes_on(const struct execute_insn *i)
{
    return !i->has_next || i->next == i->address + i->size;
}

/* Nothing but a write of the PC leaves the line of instructions. */
static bool contradicts_path(const struct execute_work *w, bool runs)
{
    const struct execute_insn *i = w->insn;
    bool ordinary = w->e->kind == EFFECT_ALU || w->e->kind == EFFECT_MEMORY ||
                    w->e->kind == EFFECT_IT || w->e->kind == EFFECT_BRANCH;
    return ordinary && !is_unpredictable(w->e) && !goes_on(i) && i->next != i->address &&
           !(runs && writes_pc(w->e));
}

/* The IT block's condition of this instruction; the block moves on. */
static unsigned advance_it(struct execute *x, const struct execute_insn *i, uint8_t it)
{
    struct execute_regs *r = &x->regs;
    if (i->isa != BT_ISA_T32) {
        execute_set_it(r, 0);
        return EFFECT_ALWAYS;
    }
    if (!it)
        return EFFECT_ALWAYS;
    execute_set_it(r, it & 7 ? (uint8_t)((it & 0xe0) | (it << 1 & 0x1f)) : 0);
    return it >> 4;
}

/* Somewhere in an IT block, perhaps: what is written may not have been. */
static void step_blind(struct execute *x)
{
    if (!x->regs.it_unknown)
        x->regs.it_unknown = EXECUTE_IT_LENGTH;
    if (!--x->regs.it_unknown)
        execute_set_it(&x->regs, 0);
}

/* With what registers are on each of the two ways. What they tell of each other on both they tell.
 */
static void run_both(struct execute_work *w)
{
    struct execute *x = w->x;
    struct execute_low before, after[2];
    struct execute_multiples *m = &x->regs.multiples, then = *m, tell[2];
    uint32_t differs = x->ways.differs, written = 0;
    execute_ways_save(x, &before);
    for (unsigned n = 0; n < 2; n++) {
        execute_ways_restore(x, written, &before);
        x->ways.differs = differs;
        execute_ways_take(x, n);
        *m = then;
        x->ways.written = 0;
        w->way = n;
        run(w);
        execute_ways_save(x, &after[n]);
        written |= x->ways.written;
        tell[n] = *m;
    }
    execute_ways_join(x, differs | written, &after[0], &after[1]);
    tell[0].most = tell[1].most = tell[0].most > tell[1].most ? tell[0].most : tell[1].most;
    if (!memcmp(&tell[0], &tell[1], sizeof tell[0]))
        *m = tell[0];
}

/*
 * An instruction of an IT block, or with a condition of its own, that may not run writes registers:
 * on one way it does, on the other one it does not, so that of `ite eq; moveq r0, #1; movne r0, #2`
 * nothing is left of what r0 was. What it stores goes where its registers say on that way. False:
 * it does something else, too.
 */
static bool run_apart(struct execute_work *w, unsigned cond)
{
    struct execute *x = w->x;
    const struct insn_effect *e = w->e;
    struct execute_low runs, not ;
    bool plain = e->kind == EFFECT_ALU ? !e->set_flags
                                       : e->kind == EFFECT_MEMORY && (e->load || !e->clobber);
    bool again = w->insn->has_next && w->insn->next == w->insn->address; /* it was left */
    if (!plain || again || writes_pc(e) || execute_uses_vectors(w->insn) || is_unpredictable(e))
        return false;
    if (e->kind == EFFECT_ALU && execute_ways_tell(x, e->rd)) {
        run_both(w); /* on either way it may */
        return true;
    }
    if (!x->ways.flags || (cond ^ x->ways.cond) > 1)
        execute_ways_open(x, cond);
    bool second = cond != x->ways.cond;
    uint32_t differs = x->ways.differs;
    execute_ways_save(x, &not );
    execute_ways_take(x, second);
    w->apart = true;
    w->way = second;
    x->ways.written = 0;
    run(w);
    execute_ways_save(x, &runs);
    execute_ways_restore(x, differs | x->ways.written, &not );
    x->ways.differs = differs;
    execute_ways_take(x, !second);
    execute_ways_save(x, &not );
    execute_ways_join(x, differs | x->ways.written, second ? &not : &runs, second ? &runs : &not );
    return true;
}

/* Registers that the instruction works with. */
static uint32_t sources_of(const struct insn_effect *e)
{
    uint32_t of = 1u << (e->rn & 31) | 1u << (e->rm & 31) | 1u << (e->rs & 31) | 1u << (e->ra & 31);
    return of & 0x7fff;
}

/* One that runs on both ways: with what registers are there, if it leaves the flags. */
static void run_beside(struct execute_work *w)
{
    struct execute *x = w->x;
    const struct insn_effect *e = w->e;
    bool plain = (e->kind == EFFECT_ALU && !e->set_flags && !e->clobber) ||
                 (e->kind == EFFECT_MEMORY && !e->clobber && !e->words && !is_unpredictable(e));
    if (!(x->ways.differs & sources_of(e)) || w->maybe || !plain || writes_pc(e)) {
        run(w);
        return;
    }
    w->maybe = w->apart = e->kind == EFFECT_MEMORY;
    run_both(w);
}

/* `runs`: as condition_of() has it. */
static void run_as(struct execute_work *w, unsigned cond, int runs, bool conditional)
{
    bool beside = runs < 0 ? !conditional || !run_apart(w, cond) : runs;
    if (beside && w->x->ways.differs)
        run_beside(w);
    else if (beside)
        run(w);
}

/* Of the A and R profile: which registers are r8 to r14, perhaps. */
static bool changes_modes(const struct execute_work *w)
{
    return w->x->core.profile == EXECUTE_PROFILE_AR &&
           (w->e->kind == EFFECT_NONE || w->e->kind == EFFECT_OTHER || w->e->kind == EFFECT_SYSTEM);
}

/* What the path says of the condition that chooses between two ways. */
static void choose_way(struct execute *x, unsigned cond, bool holds)
{
    if ((cond ^ x->ways.cond) > 1)
        return;
    execute_ways_take(x, (cond == x->ways.cond) != holds);
    x->ways.flags = false;
}

int execute_step(struct execute *x, const struct execute_insn *insn)
{
    struct insn_effect local;
    struct execute_regs *r = &x->regs;
    if (insn->isa == BT_ISA_A64 && x->core.profile == EXECUTE_PROFILE_A64)
        return a64_step(x, insn);
    if (x->core.profile == EXECUTE_PROFILE_A64)
        return BT_ERR_UNSUPPORTED;
    if (insn->isa != BT_ISA_A32 && insn->isa != BT_ISA_T32)
        return BT_ERR_UNSUPPORTED;
    bool blind = insn->isa == BT_ISA_T32 && (r->psr_known & EXECUTE_IT_BITS) != EXECUTE_IT_BITS;
    uint8_t it = blind || insn->isa != BT_ISA_T32 ? 0 : it_state(r->psr);
    struct execute_work w = {.x = x, .insn = insn};
    w.e = effect_of(x, insn, it != 0, &local);
    x->insns++;
    x->returned = false;
    if (x->core.profile == EXECUTE_PROFILE_M) {
        r->psr |= STATUS_T;
        r->psr_known |= STATUS_T;
    }
    if (x->core.profile == EXECUTE_PROFILE_AR)
        execute_ar_before(x, insn);
    execute_translation_before(x);
    unsigned cond = w.e->cond;
    if (blind) {
        step_blind(x);
        r->psr_known &= w.e->kind == EFFECT_ALU ? ~0xf0000000u : ~0u;
    } else if (insn->isa != BT_ISA_T32 || it) {
        unsigned block = advance_it(x, insn, it);
        cond = block < EFFECT_ALWAYS ? block : cond;
    }
    if (w.e->kind == EFFECT_IT) {
        execute_set_it(r, (uint8_t)w.e->imm);
        return BT_OK;
    }
    w.maybe = blind;
    int runs = blind && insn->cond != BT_COND_PASS ? -1 : condition_of(&w, cond);
    w.maybe = runs < 0 || (insn->has_next && insn->next == insn->address && !writes_pc(w.e));
    if (w.error || contradicts_path(&w, runs != 0))
        return w.error ? w.error : BT_ERR_RANGE;
    if (!(w.e->kind == EFFECT_BRANCH && !w.e->link) &&
        !(w.e->kind == EFFECT_ALU && w.e->rd == EFFECT_NO_REG))
        x->exclusive.reg = 0;
    bool conditional = it || (insn->isa == BT_ISA_A32 && cond < EFFECT_ALWAYS);
    if (runs >= 0 && x->ways.flags && cond < EFFECT_ALWAYS && !w.e->zero)
        choose_way(x, cond, runs);
    uint32_t mode = r->psr;
    if (changes_modes(&w) && w.e->kind == EFFECT_SYSTEM)
        execute_end_ways(x);
    if (r->multiples.due && execute_takes_divisor(&w, cond)) {
        const struct execute_multiples before = r->multiples;
        run_as(&w, cond, runs, conditional);
        execute_take_divisor(&w, &before);
    } else {
        run_as(&w, cond, runs, conditional);
    }
    if (changes_modes(&w))
        x->ways.differs &= ~(execute_banked(mode) | execute_banked(r->psr));
    if (blind) {
        x->ways.differs = 0;
        x->ways.flags = false;
    }
    if (blind && w.e->kind == EFFECT_ALU) /* in a block it leaves the flags as they are */
        r->psr_known &= ~0xf0000000u;
    if (!goes_on(insn) && it) /* a branch ends the block */
        execute_set_it(r, 0);
    if (r->tables_hit || r->translation >= EXECUTE_TRANSLATION_CHANGING)
        execute_translation_after(x);
    return w.error;
}
