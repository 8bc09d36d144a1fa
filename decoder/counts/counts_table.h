/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of ranges as counts of instructions. Several sources, or several runs, of one program add
 * up. Where code changed while it ran, an address has one instruction: that of the image's
 * beginning.
 */
#ifndef DECODER_COUNTS_TABLE_H
#define DECODER_COUNTS_TABLE_H

#include "decoder/counts/counts.h"

struct counts_insn {
    uint64_t address;
    uint64_t count;  /* times that it ran */
    uint64_t passed; /* of those that ended a range: its condition held, the branch was taken */
    uint64_t failed; /* its condition did not hold */
    uint64_t cycles; /* counted for the ranges that it ends */
    uint64_t target; /* of a direct branch */
    uint8_t isa;     /* enum bt_isa */
    uint8_t size;    /* bytes */
    uint8_t cls;     /* enum insn_class */
    uint8_t flags;   /* INSN_* */
};

struct counts_table {
    struct counts_insn *insns; /* a hash table until it is sorted */
    size_t count;
    size_t size;
    bool sorted;
};

void counts_table_init(struct counts_table *t);
void counts_table_release(struct counts_table *t);

/* Adds what `c` has counted. BT_ERR_NOMEM. Not after counts_table_sort(). */
int counts_table_add(struct counts_table *t, struct counts *c);

/* Adds the counts of one instruction to those of its address. BT_ERR_NOMEM; BT_ERR_FORMAT: the
 * table has another instruction there. Not after counts_table_sort(). */
int counts_table_put(struct counts_table *t, const struct counts_insn *insn);

/* Nothing more is added; what was all taken back is left out, with its cycles: insns[0] to
 * insns[count - 1] are in the order of their addresses; of two instruction sets at one address,
 * which damage may show, the more frequent one is first. */
void counts_table_sort(struct counts_table *t);

/* What a part counts, to be freed: by address and instruction set. What it takes back of the part
 * before is there, too. Instead of counts_table_sort(): the table is empty again. BT_ERR_NOMEM. */
int counts_table_take(struct counts_table *t, struct counts_insn **out, size_t *count);

/* Of a sorted table, the instruction at the address; NULL: none ran there. */
const struct counts_insn *counts_table_at(const struct counts_table *t, uint64_t address);

#endif
