/* SPDX-License-Identifier: BSD-3-Clause */
/* What all parts of forward execution do to a state. */
#include "execute_a64.h"
#include "execute_work.h"

#include <string.h>

#define SYSTEM_REGS (UINT64_C(0x1f) << EXECUTE_CCR)

#define SCTLR_M    1u
#define SCTLR_C    4u
#define SCTLR_SAFE 0x733a7c07u /* bits that change neither addresses nor data */
#define SCTLR_ANY  0x72003807u /* and read as they were written, on every core */
#define A64_EE     0x02000000u /* of SCTLR_EL1 to SCTLR_EL3 what changes data: */
#define A64_E0E    0x01000000u
/* Those that every core has, and in SCTLR_EL1; who writes the order has a core with both. */
#define A64_ANY   0x0208100fu
#define A64_ANY_1 0x070dd21fu

void execute_set_it(struct execute_regs *r, uint8_t it)
{
    r->psr = (r->psr & ~EXECUTE_IT_BITS) | (it & 3u) << 25 | (it & 0xfcu) << 8;
    r->psr_known |= EXECUTE_IT_BITS;
    r->it_unknown = 0;
}

void execute_tell_any(struct execute *x, bool store)
{
    const struct execute_access a = {0, UINT64_MAX, true, store, true};
    if (store && x->regs.tables_to)
        x->regs.tables_hit = EXECUTE_TABLES_LOST;
    if (x->accessed)
        x->accessed(x->ctx, &a);
}

void execute_tell(struct execute *x, uint64_t address, uint64_t size, bool store, bool perhaps)
{
    const struct execute_access a = {address, address + size, !store, store, perhaps};
    bool changing = x->regs.translation >= EXECUTE_TRANSLATION_CHANGING;
    if (store && !x->regs.tables_hit && a.from < x->regs.tables_to && a.to > x->regs.tables_from)
        x->regs.tables_hit = EXECUTE_TABLES_HIT;
    if (!x->accessed)
        return;
    if (store && (changing || execute_memory_kind(&x->memory, a.from) == EXECUTE_MEMORY_ALIAS ||
                  execute_memory_kind(&x->memory, a.to - 1) == EXECUTE_MEMORY_ALIAS))
        execute_tell_any(x, true);
    else
        x->accessed(x->ctx, &a);
}

void execute_learn_flags(struct execute_regs *r, unsigned cond, bool pass)
{
    static const uint32_t bits[4] = {0x40000000u, 0x20000000u, 0x80000000u, 0x10000000u};
    if (cond >= 8)
        return;
    bool set = pass != (cond & 1);
    r->psr = set ? r->psr | bits[cond >> 1] : r->psr & ~bits[cond >> 1];
    r->psr_known |= bits[cond >> 1];
}

static uint32_t related_bit(uint8_t reg)
{
    return reg ? 1u << (reg - 1) : 0;
}

void execute_note_others(struct execute_multiples *m)
{
    m->others = related_bit(m->whole) | related_bit(m->part) | related_bit(m->zeros) |
                related_bit(m->zeros_of) | related_bit(m->stored) | related_bit(m->rest) |
                related_bit(m->apart) | related_bit(m->half) | related_bit(m->copy) |
                related_bit(m->copied);
}

void execute_unrelate_others(struct execute_multiples *m, uint32_t regs)
{
    if (regs & (related_bit(m->whole) | related_bit(m->part)))
        m->whole = m->part = 0;
    if (regs & (related_bit(m->zeros) | related_bit(m->zeros_of)))
        m->zeros = m->zeros_of = 0;
    m->stored = regs & related_bit(m->stored) ? 0 : m->stored;
    m->apart = regs & related_bit(m->apart) ? 0 : m->apart;
    m->half = regs & related_bit(m->half) ? 0 : m->half;
    if (regs & (related_bit(m->copy) | related_bit(m->copied)))
        m->copy = m->copied = 0;
    if (regs & related_bit(m->rest))
        m->rest = m->due = 0;
    execute_note_others(m);
}

void execute_clobber_store(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    w->x->clobbers++;
    r->known &= ~SYSTEM_REGS;
    execute_forget_memory(w->x);
}

void execute_clobber_range(struct execute_work *w, uint32_t address, uint32_t size)
{
    struct execute *x = w->x;
    bool bits = x->core.bit_band && address - EXECUTE_BIT_BAND < EXECUTE_BIT_BAND_SIZE;
    bool wraps = address + size < address, system = address >= EXECUTE_SYSTEM || wraps;
    x->regs.float_place = 0;
    if (wraps || execute_is_bit(x, address + size - 1) != bits) {
        execute_clobber_store(w);
        return;
    }
    if (system)
        x->regs.known &= ~SYSTEM_REGS;
    if (bits) { /* whole words: a big-endian core has the bytes in the other order */
        uint32_t end = execute_bit_byte(address + size - 1) | 3;
        address = execute_bit_byte(address) & ~3u;
        size = end - address + 1;
    }
    int error = execute_memory_write(&x->memory, address, NULL, size);
    w->error = error ? error : w->error;
}

void execute_swap(const struct execute *x, uint8_t *bytes, unsigned width)
{
    for (unsigned i = 0; execute_is_big(x) && i < width / 2; i++) {
        uint8_t b = bytes[i];
        bytes[i] = bytes[width - 1 - i];
        bytes[width - 1 - i] = b;
    }
}

struct execute_value execute_begin_exclusive(struct execute_work *w, uint32_t address,
                                             struct execute_value v)
{
    const struct insn_effect *e = w->e;
    uint32_t mask = e->width == 4 ? UINT32_MAX : (1u << 8 * e->width) - 1;
    struct execute_value old = {0, false, 0};
    uint8_t bytes[4];
    old.known = execute_memory_read(&w->x->memory, address, bytes, e->width);
    execute_swap(w->x, bytes, e->width);
    for (unsigned i = 0; i < e->width; i++)
        old.number |= (uint32_t)bytes[i] << (8 * i);
    v.number &= mask;
    w->x->exclusive = (struct execute_exclusive){.reg = (uint8_t)(__builtin_ctz(e->clobber) + 1),
                                                 .width = e->width,
                                                 .known = {v.known, old.known},
                                                 .value = {v.number, old.number},
                                                 .address = address,
                                                 .at = w->x->insns};
    return execute_either(v, old);
}

int execute_end_exclusive(struct execute *x, uint64_t result)
{
    struct execute_exclusive *e = &x->exclusive;
    unsigned n = result != 0;
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(e->value[n] >> 8 * i);
    execute_swap(x, bytes, e->width);
    e->reg = 0;
    return execute_memory_write(&x->memory, e->address, e->known[n] ? bytes : NULL, e->width);
}

int a64_order(const struct execute *x)
{
    int level = a64_level(x), has = -1;
    if (level > 0)
        has = execute_control_has(&x->regs, A64_SCTLR1 + (unsigned)level - 1, A64_EE);
    else if (level == 0 && !a64_may_be_host(x))
        has = execute_control_has(&x->regs, A64_SCTLR1, A64_E0E);
    return has >= 0 ? has : x->regs.mixed ? -1 : x->core.big_endian;
}

void a64_note_order(struct execute *x)
{
    struct execute_regs *r = &x->regs;
    for (unsigned n = A64_SCTLR1; n < A64_SCTLR1 + 3; n++) {
        uint64_t bits = A64_EE | (n == A64_SCTLR1 ? A64_E0E : 0);
        uint64_t other = r->value[n] ^ (x->core.big_endian ? bits : 0);
        r->mixed |= r->known >> n & 1 && (other | r->value[n] >> 32) & bits;
    }
}

void execute_forget_registers(struct execute *x)
{
    if (x->core.profile == EXECUTE_PROFILE_A64)
        a64_note_order(x);
    x->regs.known = 0;
    x->regs.bounded = 0;
    x->regs.compared.reg = x->regs.compared.width = x->regs.partial = 0;
    x->regs.chained = 0;
    execute_unrelate(&x->regs, UINT32_MAX);
    x->ways.instance = x->ways.differs = 0;
    memset(x->derived.in, 0, sizeof x->derived.in);
    x->ways.flags = false;
    for (unsigned b = 0; b <= EXECUTE_WAYS_PARTIAL; b++)
        x->ways.saved[b].instance = 0;
    memset(x->regs.interrupted.saved, 0, sizeof x->regs.interrupted.saved);
    x->regs.psr_known = 0;
    x->regs.vector_known = 0;
    x->regs.vector_known64 = 0;
    x->regs.fpscr_known = 0;
    x->regs.it_unknown = EXECUTE_IT_LENGTH;
    x->regs.returning = 0;
    x->regs.float_place = 0;
    x->regs.float_settled = x->regs.float_pending = x->regs.handler = false;
    if (x->regs.translation < EXECUTE_TRANSLATION_CHANGING)
        x->regs.translation = EXECUTE_TRANSLATION_FIXED;
}

void execute_forget_memory(struct execute *x)
{
    execute_memory_forget(&x->memory);
    x->regs.float_place = 0;
    execute_tell_any(x, true);
}

/* Bit n of a set: NZCV may be n. */
int execute_flags_pass(const struct execute_regs *r, unsigned cond)
{
    static const uint16_t ones[4] = {0xaaaa, 0xcccc, 0xf0f0, 0xff00}; /* V, C, Z, N is 1 */
    static const uint16_t pass[8] = {0xf0f0, 0xcccc, 0xff00, 0xaaaa,
                                     0x0c0c, 0xaa55, 0x0a05, 0xffff};
    unsigned holds = cond & 1 ? pass[cond >> 1] ^ 0xffffu : pass[cond >> 1], may = 0xffff;
    for (unsigned n = 0; n < 4; n++)
        if (r->psr_known >> 28 >> n & 1)
            may &= r->psr >> 28 >> n & 1 ? ones[n] : ~(unsigned)ones[n];
    return !(may & ~holds) ? 1 : may & holds ? -1 : 0;
}

void execute_put_word(struct execute *x, uint32_t address, uint32_t word, uint32_t known,
                      int *error)
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned at = execute_is_big(x) ? 24 - 8 * i : 8 * i;
        uint8_t byte = (uint8_t)(word >> at);
        int failed = execute_memory_write(&x->memory, address + i,
                                          (known >> at & 0xff) == 0xff ? &byte : NULL, 1);
        *error = failed ? failed : *error;
    }
}

struct execute_value execute_get_word(struct execute *x, uint32_t address)
{
    uint8_t b[4];
    struct execute_value v = {0, execute_memory_read(&x->memory, address, b, 4), 0};
    if (!v.known) {
        if (execute_is_own_order(x))
            v.range = execute_memory_range(&x->memory, address, 4, &v.number);
        return v;
    }
    execute_swap(x, b, 4);
    v.number = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return v;
}

/* As far as its bytes are known: what was interrupted may have had flags that are not. */
uint32_t execute_get_status(struct execute *x, uint64_t address, uint32_t *known)
{
    uint32_t status = 0;
    *known = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned at = execute_is_big(x) ? 24 - 8 * i : 8 * i;
        uint8_t byte;
        if (!execute_memory_read(&x->memory, address + i, &byte, 1))
            continue;
        status |= (uint32_t)byte << at;
        *known |= 0xffu << at;
    }
    uint32_t word, bits = execute_memory_bits(&x->memory, address, &word) & ~*known;
    bits = execute_is_own_order(x) ? bits : 0;
    *known |= bits;
    return status | (word & bits);
}

static uint32_t unknown_bits(const struct execute_regs *r, unsigned sctlr)
{
    return r->known >> sctlr & 1 ? (uint32_t)(r->value[sctlr] >> 32) : UINT32_MAX;
}

int execute_control_has(const struct execute_regs *r, unsigned sctlr, uint32_t mask)
{
    uint32_t unknown = unknown_bits(r, sctlr), bits = (uint32_t)r->value[sctlr];
    return mask & ~bits & ~unknown ? 0 : mask & unknown ? -1 : 1;
}

bool execute_translation_entry(struct execute *x, uint64_t address, uint64_t *entry, unsigned size)
{
    uint8_t b[8] = {0};
    struct execute_regs *r = &x->regs;
    if (!execute_memory_read(&x->memory, address, b, size))
        return false;
    *entry = 0;
    for (unsigned i = 0; i < size; i++)
        *entry |= (uint64_t)b[i] << 8 * i;
    if (execute_memory_kind(&x->memory, address) != EXECUTE_MEMORY_RAM)
        return true;
    if (r->tables_from == r->tables_to)
        r->tables_from = r->tables_to = address;
    r->tables_from = address < r->tables_from ? address : r->tables_from;
    r->tables_to = address + size > r->tables_to ? address + size : r->tables_to;
    return true;
}

void execute_translation_change(struct execute *x, enum effect_context how)
{
    bool tlb = how == EFFECT_CONTEXT_CHANGES_TLB ||
               x->regs.translation == EXECUTE_TRANSLATION_CHANGING_TLB;
    x->regs.translation = tlb ? EXECUTE_TRANSLATION_CHANGING_TLB : EXECUTE_TRANSLATION_CHANGING;
    execute_forget_memory(x);
}

static uint32_t any_core_has(unsigned sctlr)
{
    return sctlr == EXECUTE_SCTLR ? SCTLR_ANY : sctlr == A64_SCTLR1 ? A64_ANY_1 : A64_ANY;
}

bool execute_put_control(struct execute_regs *r, unsigned reg, uint64_t value, uint32_t known,
                         bool control)
{
    uint32_t before = (uint32_t)r->value[reg], bits = (uint32_t)value;
    uint32_t unknown = ((unknown_bits(r, reg) | (before ^ bits)) & ~any_core_has(reg)) | ~known;
    bool all = known == UINT32_MAX;
    r->value[reg] = control ? bits | (uint64_t)unknown << 32 : value;
    r->known = (r->known & ~(UINT64_C(1) << reg)) | (uint64_t)(all || control) << reg;
    return all;
}

bool execute_write_control(struct execute *x, unsigned reg, uint64_t value, uint32_t known)
{
    struct execute_regs *r = &x->regs;
    uint32_t before = (uint32_t)r->value[reg], unknown = unknown_bits(r, reg) | ~known;
    uint32_t other = reg == EXECUTE_SCTLR ? ~SCTLR_SAFE : A64_EE | A64_E0E;
    bool cached = execute_control_has(r, reg, SCTLR_M | SCTLR_C) != 0;
    execute_put_control(r, reg, value, known, true);
    return !(((before ^ (uint32_t)value) | unknown) & other) &&
           !(cached && execute_control_has(r, reg, SCTLR_M | SCTLR_C) != 1);
}
