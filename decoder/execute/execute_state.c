/* SPDX-License-Identifier: BSD-3-Clause */
/* What all parts of forward execution do to a state. */
#include "execute_work.h"

#define SYSTEM_REGS (UINT64_C(0x1f) << EXECUTE_CCR)

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
    for (unsigned i = 0; x->core.big_endian && i < width / 2; i++) {
        uint8_t b = bytes[i];
        bytes[i] = bytes[width - 1 - i];
        bytes[width - 1 - i] = b;
    }
}

void execute_forget_registers(struct execute *x)
{
    x->regs.known = 0;
    x->regs.bounded = 0;
    x->regs.compared = x->regs.partial = 0;
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

/* Any flags that are possible are tried. */
int execute_flags_pass(const struct execute_regs *r, unsigned cond)
{
    int found = -1;
    for (unsigned flags = 0; flags < 16; flags++) {
        bool n = flags >> 3, z = flags >> 2 & 1, c = flags >> 1 & 1, v = flags & 1;
        bool table[8] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
        bool pass = table[cond >> 1] != (cond & 1);
        if ((flags << 28 ^ r->psr) & r->psr_known & 0xf0000000u)
            continue;
        if (found >= 0 && found != pass)
            return -1;
        found = pass;
    }
    return found;
}

void execute_put_word(struct execute *x, uint32_t address, uint32_t word, uint32_t known,
                      int *error)
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned at = x->core.big_endian ? 24 - 8 * i : 8 * i;
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
        v.range = execute_memory_range(&x->memory, address, &v.number);
        return v;
    }
    execute_swap(x, b, 4);
    v.number = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return v;
}

/* As far as its bytes are known: what was interrupted may have had flags that are not. */
uint32_t execute_get_status(struct execute *x, uint32_t address, uint32_t *known)
{
    uint32_t status = 0;
    *known = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned at = x->core.big_endian ? 24 - 8 * i : 8 * i;
        uint8_t byte;
        if (!execute_memory_read(&x->memory, address + i, &byte, 1))
            continue;
        status |= (uint32_t)byte << at;
        *known |= 0xffu << at;
    }
    uint32_t word, bits = execute_memory_bits(&x->memory, address, &word) & ~*known;
    *known |= bits;
    return status | (word & bits);
}
