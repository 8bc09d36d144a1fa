/* SPDX-License-Identifier: BSD-3-Clause */
/* What all parts of forward execution do to a state. */
#include "execute_work.h"

#define IT_BITS   0x0600fc00u
#define IT_LENGTH 4

void execute_set_it(struct execute_regs *r, uint8_t it)
{
    r->psr = (r->psr & ~IT_BITS) | (it & 3u) << 25 | (it & 0xfcu) << 8;
    r->psr_known |= IT_BITS;
    r->it_unknown = 0;
}

void execute_clobber_store(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    w->x->clobbers++;
    r->known &= ~(UINT64_C(1) << EXECUTE_CCR | UINT64_C(1) << EXECUTE_FPCCR);
    execute_memory_forget(&w->x->memory);
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
    x->regs.psr_known = 0;
    x->regs.vector_known = 0;
    x->regs.vector_known64 = 0;
    x->regs.fpscr_known = 0;
    x->regs.it_unknown = IT_LENGTH;
    x->regs.returning = 0;
    x->regs.float_settled = false;
}

void execute_forget_memory(struct execute *x)
{
    execute_memory_forget(&x->memory);
}
