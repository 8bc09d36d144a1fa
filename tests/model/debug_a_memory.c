/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores of a halted core through ITR, and what becomes of those that abort. */
#include <string.h>

#include "debug_a.h"

#define SCTLR      CORE_A_CP15(1, 0, 0, 0)
#define TTBR0      CORE_A_CP15(2, 0, 0, 0)
#define TTBR1      CORE_A_CP15(2, 0, 0, 1)
#define TTBCR      CORE_A_CP15(2, 0, 0, 2)
#define DACR       CORE_A_CP15(3, 0, 0, 0)
#define DFSR       CORE_A_CP15(5, 0, 0, 0)
#define DFAR       CORE_A_CP15(6, 0, 0, 0)
#define DFSR_WRITE (1u << 11)
#define SCTLR_M    1u
#define PAGE       4096u

/* Fault status, short descriptors; those of a page are 2 more than those of a section. */
#define FAULT_TRANSLATION 0x5u
#define FAULT_DOMAIN      0x9u
#define FAULT_PERMISSION  0xdu
#define FAULT_EXTERNAL    0x8u
#define FAULT_OF_PAGE     2u

#define P 24
#define U 23
#define W 21
#define L 20

static bool bit(uint32_t opcode, unsigned n)
{
    return opcode >> n & 1;
}

static unsigned rn(uint32_t opcode)
{
    return opcode >> 16 & 0xf;
}

static unsigned rt(uint32_t opcode)
{
    return opcode >> 12 & 0xf;
}

static uint32_t cp15(const struct debug_a *d, uint32_t reg)
{
    uint32_t value = 0;
    d->cores.ops->get_cp15(d->cores.ctx, d->index, reg, &value);
    return value;
}

static uint32_t table_word(const struct debug_a *d, uint32_t address)
{
    uint32_t value = 0;
    d->cores.ops->read_memory(d->cores.ctx, address, &value, sizeof value);
    return value;
}

/* Of what the MMU refuses: the translation table says why. Architecture: short descriptors. */
static uint32_t walk(const struct debug_a *d, uint32_t address)
{
    unsigned n = cp15(d, TTBCR) & 7;
    bool second = n && address >> (32 - n);
    uint32_t base = cp15(d, second ? TTBR1 : TTBR0) & ~(0x3fffu >> (second ? 0 : n));
    uint32_t first = table_word(d, base | (address >> 20 & (0xfffu >> (second ? 0 : n))) << 2);
    unsigned type = first & 3;
    uint32_t domain = (first >> 5 & 0xf) << 4;
    uint32_t level = type == 1 ? FAULT_OF_PAGE : 0;
    if (type == 0 || type == 3)
        return FAULT_TRANSLATION;
    if (type == 1 && !(table_word(d, (first & ~0x3ffu) | (address >> 12 & 0xff) << 2) & 3))
        return domain | (FAULT_TRANSLATION + FAULT_OF_PAGE);
    bool no_access = !(cp15(d, DACR) >> (first >> 5 & 0xf) * 2 & 3);
    return domain | ((no_access ? FAULT_DOMAIN : FAULT_PERMISSION) + level);
}

uint32_t debug_a_fault_status(struct debug_a *d, uint32_t address, int why)
{
    if (why == CORE_A_UNMAPPED && cp15(d, SCTLR) & SCTLR_M)
        return walk(d, address);
    return FAULT_EXTERNAL;
}

/* As an abort outside of Debug state, but for the exception. */
void debug_a_abort(struct debug_a *d, uint32_t address, bool write, int why)
{
    uint32_t status = debug_a_fault_status(d, address, why);
    d->counters.aborts++;
    d->dscr |= DSCR_SDABORT;
    d->cores.ops->set_cp15(d->cores.ctx, d->index, DFSR, status | (write ? DFSR_WRITE : 0));
    d->cores.ops->set_cp15(d->cores.ctx, d->index, DFAR, address);
}

/* Single accesses. */

static bool in_window(const struct debug_a *d, uint32_t address, uint32_t *offset)
{
    uint32_t physical;
    if (!d->window.size || d->cores.ops->translate(d->cores.ctx, d->index, address, &physical))
        return false;
    *offset = physical - d->window.base;
    return *offset < d->window.size;
}

static int access_window(const struct debug_a *d, bool read, uint32_t offset, uint8_t *bytes,
                         size_t size)
{
    const struct model_bus *bus = &d->window.bus;
    uint32_t word = 0;
    int r = -1;
    memcpy(&word, bytes, size < sizeof word ? size : sizeof word);
    if (size == sizeof word && offset % sizeof word == 0)
        r = read ? bus->read(bus->ctx, offset, 4, &word) : bus->write(bus->ctx, offset, 4, word);
    if (r == 0 && read)
        memcpy(bytes, &word, sizeof word);
    return r == 0 ? 0 : CORE_A_REFUSED;
}

/* False: it aborted. The MMU sees what is banked or dirty, so everything goes back first. */
static bool access_part(struct debug_a *d, bool read, uint32_t address, uint8_t *bytes, size_t size)
{
    const struct core_a *c = &d->cores;
    uint32_t offset;
    int r;
    if (in_window(d, address, &offset))
        r = access_window(d, read, offset, bytes, size);
    else
        r = read ? c->ops->load(c->ctx, d->index, address, bytes, size)
                 : c->ops->store(c->ctx, d->index, address, bytes, size);
    if (r != 0)
        debug_a_abort(d, address, !read, r);
    return r == 0;
}

static bool access(struct debug_a *d, bool read, uint32_t address, void *bytes, size_t size)
{
    uint8_t *b = bytes;
    size_t first = PAGE - address % PAGE;
    if (d->dirty >> CORE_A_CPSR & 1)
        debug_a_write_back(d);
    if (first >= size)
        return access_part(d, read, address, b, size);
    return access_part(d, read, address, b, first) &&
           access_part(d, read, address + (uint32_t)first, b + first, size - first);
}

static bool load(struct debug_a *d, uint32_t address, size_t size, uint32_t *value)
{
    *value = 0;
    return access(d, true, address, value, size);
}

static bool store(struct debug_a *d, uint32_t address, size_t size, uint32_t value)
{
    return access(d, false, address, &value, size);
}

/* Address of the transfer; the base afterwards, which is written only if nothing aborted. */
static uint32_t address_of(struct debug_a *d, uint32_t opcode, uint32_t offset, uint32_t *after)
{
    uint32_t base = debug_a_get(d, rn(opcode));
    uint32_t moved = bit(opcode, U) ? base + offset : base - offset;
    *after = moved;
    return bit(opcode, P) ? moved : base;
}

static bool writes_base(uint32_t opcode)
{
    return !bit(opcode, P) || bit(opcode, W);
}

static void single(struct debug_a *d, uint32_t opcode, uint32_t offset, size_t size, int sign)
{
    uint32_t after, value;
    uint32_t address = address_of(d, opcode, offset, &after);
    if (bit(opcode, L)) {
        if (!load(d, address, size, &value))
            return;
        if (sign)
            value = (uint32_t)((int32_t)(value << (32 - 8 * size)) >> (32 - 8 * size));
        if (writes_base(opcode))
            debug_a_set(d, rn(opcode), after);
        debug_a_set(d, rt(opcode), value);
    } else if (store(d, address, size, debug_a_get(d, rt(opcode))) && writes_base(opcode)) {
        debug_a_set(d, rn(opcode), after);
    }
}

/* LDR, STR, LDRB, STRB with a constant or an unshifted register. */
static bool word_or_byte(struct debug_a *d, uint32_t opcode)
{
    bool by_register = bit(opcode, 25);
    if (by_register && opcode & 0xff0)
        return false;
    single(d, opcode, by_register ? debug_a_get(d, opcode & 0xf) : opcode & 0xfff,
           bit(opcode, 22) ? 1 : 4, 0);
    return true;
}

/* LDRH, STRH, LDRSB, LDRSH; not those of two registers. */
static bool half_or_signed(struct debug_a *d, uint32_t opcode)
{
    unsigned kind = opcode >> 5 & 3; /* 1 halfword, 2 signed byte, 3 signed halfword */
    uint32_t offset =
        bit(opcode, 22) ? (opcode >> 4 & 0xf0) | (opcode & 0xf) : debug_a_get(d, opcode & 0xf);
    if (kind == 0 || (kind > 1 && !bit(opcode, L)) || (!bit(opcode, 22) && opcode & 0xf00))
        return false;
    single(d, opcode, offset, kind == 2 ? 1 : 2, kind > 1);
    return true;
}

/* LDM, STM of the current mode's registers. */
static bool multiple(struct debug_a *d, uint32_t opcode)
{
    unsigned count = (unsigned)__builtin_popcount(opcode & 0xffff);
    uint32_t base = debug_a_get(d, rn(opcode));
    uint32_t words[16], value[16] = {0};
    uint32_t lowest = bit(opcode, U) ? base : base - 4 * count;
    unsigned n = 0;
    if (bit(opcode, 22) || count == 0)
        return false;
    if (bit(opcode, P) == bit(opcode, U))
        lowest += 4;
    for (unsigned i = 0; i < 16; i++)
        if (bit(opcode, i))
            words[n++] = i;
    for (unsigned i = 0; i < n; i++) {
        if (!bit(opcode, L))
            value[i] = debug_a_get(d, words[i]);
        if (!access(d, bit(opcode, L), lowest + 4 * i, &value[i], 4))
            return true;
    }
    if (bit(opcode, W))
        debug_a_set(d, rn(opcode), bit(opcode, U) ? base + 4 * count : base - 4 * count);
    for (unsigned i = 0; i < n && bit(opcode, L); i++)
        debug_a_set(d, words[i], value[i]);
    return true;
}

/* LDC, STC of p14, c5: memory to the DTR and back. */
static bool dtr_transfer(struct debug_a *d, uint32_t opcode)
{
    uint32_t after, value;
    uint32_t address = address_of(d, opcode, (opcode & 0xff) * 4, &after);
    if (bit(opcode, L)) {
        if (!load(d, address, 4, &value))
            return true;
        debug_a_put_tx(d, value);
    } else if (!store(d, address, 4, debug_a_take_rx(d))) {
        return true;
    }
    if (writes_base(opcode))
        debug_a_set(d, rn(opcode), after);
    return true;
}

/* VLDM, VSTM, VLDR, VSTR: halves of D registers in order. */
static bool fp_transfer(struct debug_a *d, uint32_t opcode)
{
    const struct core_a *c = &d->cores;
    bool twice = bit(opcode, 8);
    unsigned first =
        twice ? 2 * (rt(opcode) | (opcode >> 18 & 0x10)) : 2 * rt(opcode) + bit(opcode, 22);
    bool many = !bit(opcode, P) || bit(opcode, W);
    unsigned count = many ? opcode & 0xff : twice ? 2 : 1;
    uint32_t after, value = 0;
    uint32_t address = address_of(d, opcode, (opcode & 0xff) * 4, &after);
    if (many && !bit(opcode, U) && !bit(opcode, P))
        return false;
    if (!debug_a_fp_enabled(d, false)) {
        debug_a_undefined(d);
        return true;
    }
    if (first + count > CORE_A_FP_END - CORE_A_FP)
        return false;
    for (unsigned i = 0; i < count; i++) {
        unsigned reg = CORE_A_FP + first + i;
        if (!bit(opcode, L))
            c->ops->get(c->ctx, d->index, reg, &value);
        if (!access(d, bit(opcode, L), address + 4 * i, &value, 4))
            return true;
        if (bit(opcode, L))
            c->ops->set(c->ctx, d->index, reg, value);
    }
    if (bit(opcode, W))
        debug_a_set(d, rn(opcode), after);
    return true;
}

bool debug_a_transfer(struct debug_a *d, uint32_t opcode)
{
    if ((opcode & 0x0c000000) == 0x04000000)
        return word_or_byte(d, opcode);
    if ((opcode & 0x0e000090) == 0x00000090)
        return half_or_signed(d, opcode);
    if ((opcode & 0x0e000000) == 0x08000000)
        return multiple(d, opcode);
    if ((opcode & 0x0e00ff00) == 0x0c005e00)
        return dtr_transfer(d, opcode);
    if ((opcode & 0x0e000e00) == 0x0c000a00)
        return fp_transfer(d, opcode);
    return false;
}
