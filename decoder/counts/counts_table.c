/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/counts/counts_table.h"

#include "decoder/base/search.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 4096u

void counts_table_init(struct counts_table *t)
{
    memset(t, 0, sizeof *t);
}

void counts_table_release(struct counts_table *t)
{
    free(t->insns);
    memset(t, 0, sizeof *t);
}

static struct counts_insn *table_find(const struct counts_table *t, uint64_t address, uint8_t isa)
{
    size_t at = (size_t)((address * 0x9e3779b97f4a7c15u) >> 20) & (t->size - 1);
    while (t->insns[at].size && (t->insns[at].address != address || t->insns[at].isa != isa))
        at = (at + 1) & (t->size - 1);
    return &t->insns[at];
}

static int table_grow(struct counts_table *t)
{
    struct counts_table larger = {.size = t->size ? t->size * 2 : FIRST_SIZE, .count = t->count};
    larger.insns = calloc(larger.size, sizeof *larger.insns);
    if (!larger.insns)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < t->size; i++)
        if (t->insns[i].size)
            *table_find(&larger, t->insns[i].address, t->insns[i].isa) = t->insns[i];
    free(t->insns);
    *t = larger;
    return BT_OK;
}

static int table_insn(struct counts_table *t, struct counts *c, struct code_view *view,
                      uint64_t address, enum bt_isa isa, struct counts_insn **out)
{
    struct insn insn;
    uint32_t opcode;
    if (t->count * 2 >= t->size && table_grow(t))
        return BT_ERR_NOMEM;
    *out = table_find(t, address, (uint8_t)isa);
    if ((*out)->size)
        return BT_OK;
    int error = code_insn(&c->code, view, address, isa, &insn, &opcode);
    if (error)
        return error;
    **out = (struct counts_insn){.address = address,
                                 .target = insn.cls == INSN_DIRECT ? insn.target : 0,
                                 .isa = (uint8_t)isa,
                                 .size = insn.size,
                                 .cls = insn.cls,
                                 .flags = insn.flags};
    t->count++;
    return BT_OK;
}

static int table_edge(struct counts_table *t, struct counts *c, struct code_view *view,
                      const struct counts_edge *e)
{
    uint64_t address = e->block.first, last = bt_block_last(&e->block);
    struct counts_insn *i = NULL;
    while (address <= last) {
        int error = table_insn(t, c, view, address, bt_block_isa(&e->block), &i);
        if (error == BT_ERR_NOMEM)
            return error;
        if (error) /* the image has no code for what ran when the image was another one */
            return BT_OK;
        i->count += e->count;
        address += i->size;
    }
    if (i && i->address == last) {
        i->cycles += e->cycles;
        if (bt_block_cond(&e->block) == BT_COND_PASS)
            i->passed += e->count;
        else if (bt_block_cond(&e->block) == BT_COND_FAIL)
            i->failed += e->count;
    }
    return BT_OK;
}

int counts_table_add(struct counts_table *t, struct counts *c)
{
    struct code_view *view = code_select(&c->code, &c->key);
    if (!view)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < c->size; i++) {
        const struct counts_edge *e = &c->edges[i];
        int error = e->count | e->cycles ? table_edge(t, c, view, e) : BT_OK;
        if (error)
            return error;
    }
    return BT_OK;
}

int counts_table_put(struct counts_table *t, const struct counts_insn *insn)
{
    if (t->count * 2 >= t->size && table_grow(t))
        return BT_ERR_NOMEM;
    struct counts_insn *i = table_find(t, insn->address, insn->isa);
    if (!i->size) {
        *i = *insn;
        t->count++;
        return BT_OK;
    }
    if (i->size != insn->size || i->cls != insn->cls || i->flags != insn->flags ||
        i->target != insn->target)
        return BT_ERR_FORMAT;
    i->count += insn->count;
    i->passed += insn->passed;
    i->failed += insn->failed;
    i->cycles += insn->cycles;
    return BT_OK;
}

static int by_address(const void *a, const void *b)
{
    const struct counts_insn *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->isa > y->isa) - (x->isa < y->isa);
}

static int by_place(const void *a, const void *b)
{
    const struct counts_insn *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->isa > y->isa) - (x->isa < y->isa);
}

/* Those of which nothing is known any more go; and those that did not run, unless `all` stay. */
static void table_pack(struct counts_table *t, bool all)
{
    size_t n = 0;
    for (size_t i = 0; i < t->size; i++) {
        const struct counts_insn *x = &t->insns[i];
        if (x->count || (all && (x->passed | x->failed | x->cycles)))
            t->insns[n++] = *x;
    }
    t->count = n;
    t->sorted = true;
}

void counts_table_sort(struct counts_table *t)
{
    table_pack(t, false);
    if (t->count)
        qsort(t->insns, t->count, sizeof *t->insns, by_address);
}

int counts_table_take(struct counts_table *t, struct counts_insn **out, size_t *count)
{
    table_pack(t, true);
    *count = t->count;
    *out = t->count ? malloc(t->count * sizeof **out) : NULL;
    if (*out) {
        memcpy(*out, t->insns, t->count * sizeof **out);
        qsort(*out, t->count, sizeof **out, by_place);
    }
    if (t->size)
        memset(t->insns, 0, t->size * sizeof *t->insns);
    t->count = 0;
    return *out || !*count ? BT_OK : BT_ERR_NOMEM;
}

const struct counts_insn *counts_table_at(const struct counts_table *t, uint64_t address)
{
    size_t low;
    SEARCH_FIRST(low, t->count, t->insns[low].address < address);
    return low < t->count && t->insns[low].address == address ? &t->insns[low] : NULL;
}
