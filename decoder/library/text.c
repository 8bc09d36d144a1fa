/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of instructions: the part of the library that needs capstone. */
#include "decoder.h"
#include "decoder/disasm/disasm.h"

#include <stdlib.h>

struct instruction_text {
    struct disasm *disasm;
    struct it_track it;
};

static void text_free(struct instruction_text *t)
{
    disasm_free(t->disasm);
    free(t);
}

static struct instruction_text *text_new(bool m_profile)
{
    struct instruction_text *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->disasm = disasm_new(m_profile);
    if (t->disasm)
        return t;
    free(t);
    return NULL;
}

const char *bt_instruction_text(struct bt_decoder *d, const struct bt_instruction *i)
{
    if (!d || !i)
        return NULL;
    if (!d->text) {
        d->text = text_new(d->m_profile);
        d->free_text = text_free;
    }
    if (!d->text)
        return NULL;
    enum bt_isa isa = (enum bt_isa)i->isa;
    uint8_t it = it_track_step(&d->text->it, i->address, isa, i->opcode, i->size);
    return disasm_text(d->text->disasm, i->address, isa, i->opcode, i->size, it);
}
