/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_data.h"

#include <inttypes.h>

#define WORD 4u

/*
 * The register that a T32 store writes out; -1: none alone. QEMU keeps all registers up to date
 * where an access may fault, so that here they are those of before the store.
 */
static int stored_register(const struct board_insn *insn)
{
    uint32_t first = insn->size == 4 ? insn->opcode >> 16 : insn->opcode & 0xffff;

    if (insn->size == 4) /* STRB, STRH, STR */
        return (first & 0xff90) == 0xf880 || (first & 0xff90) == 0xf800
                   ? (int)(insn->opcode >> 12 & 0xf)
                   : -1;
    if ((first & 0xe800) == 0x6000 || (first & 0xf800) == 0x8000 || (first & 0xf800) == 0x5000)
        return (int)(first & 7); /* immediate offsets; register offsets */
    return -1;
}

static void data_stimulus(struct board_cpu *c, unsigned port, const struct board_insn *insn,
                          unsigned size)
{
    int number = stored_register(insn);
    uint32_t value = 0;

    if (number < 0 || !board_qemu_register(c->qemu, c->index, number, &value)) {
        c->anomalies++;
        return;
    }
    if (size < WORD)
        value &= (1u << 8 * size) - 1;
    board_truth_log(&c->truth, c->count, "stimulus %u %u 0x%x", port, size, value);
    board_itm_stimulus(c->itm, port, size, value);
}

/* Behind the access memory has what was stored, or still what was loaded. */
static bool value_there(struct board_cpu *c, uint32_t address, unsigned size, uint32_t *value)
{
    uint32_t word, shift = 8 * (address % WORD);

    if (address % WORD + size > WORD ||
        !board_qemu_word(c->qemu, c->index, address - address % WORD, &word))
        return false;
    *value = word >> shift;
    if (size < WORD)
        *value &= (1u << 8 * size) - 1;
    return true;
}

static void data_watched(struct board_cpu *c, const struct board_ranges *watch,
                         const struct board_insn *insn, const struct board_data *a)
{
    uint32_t value, pc = (uint32_t)insn->address;

    for (unsigned k = 0; k < watch->count; k++) {
        if (a->address < watch->all[k].first || a->address > watch->all[k].last)
            continue;
        if (!value_there(c, a->address, a->size, &value)) {
            c->anomalies++;
            continue;
        }
        board_truth_log(&c->truth, c->count, "watch %u %s %u 0x%x 0x%08x", k,
                        a->store ? "store" : "load", a->size, value, pc);
        board_itm_access(c->itm, k, a->store, a->size, value, pc);
    }
}

void board_data_access(struct board_cpu *c, const struct board_ranges *watch,
                       const struct board_insn *insn, const struct board_data *access)
{
    int port = c->m_profile ? board_itm_port(access->address) : -1;

    /* QEMU translates an instruction once more to let it access a device, and starts it no more. */
    if (!c->pending || c->pending->address != insn->address)
        return;
    if (port >= 0 && access->store && access->size <= WORD)
        data_stimulus(c, (unsigned)port, insn, access->size);
    for (unsigned at = 0; at < access->size && watch->count; at += WORD) {
        struct board_data piece = *access;
        piece.address += at;
        piece.size = access->size - at < WORD ? access->size - at : WORD;
        data_watched(c, watch, insn, &piece);
    }
}
