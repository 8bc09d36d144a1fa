/* SPDX-License-Identifier: BSD-3-Clause */
/* AutoFDO's text: sample_reader.cc of google/autofdo. BOLT's:
 * bolt/include/bolt/Profile/DataAggregator.h of llvm-project. Stacks of branches:
 * llvm/tools/llvm-profgen/PerfReader.cpp there. */
#include "server/export/feedback.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE    ((size_t)1 << 12) /* entries, of which half are used */
#define FEEDBACK_SIZE ((size_t)1 << 20) /* at most */

int feedback_init(struct feedback *f)
{
    memset(f, 0, sizeof *f);
    f->size = FIRST_SIZE;
    f->pairs = calloc(f->size, sizeof *f->pairs);
    return f->pairs ? BT_OK : BT_ERR_NOMEM;
}

void feedback_release(struct feedback *f)
{
    free(f->pairs);
    f->pairs = NULL;
}

/* Its entry, or the free one that it would have. */
static struct feedback_pair *find_pair(const struct feedback *f, const struct feedback_pair *key)
{
    uint64_t x = key->from ^ key->to << 21 ^ key->before << 42 ^ (uint64_t)key->branch << 63;
    size_t at = (size_t)(x * 0x9e3779b97f4a7c15u >> 24) & (f->size - 1);
    struct feedback_pair *p = &f->pairs[at];
    while (p->count && (p->from != key->from || p->to != key->to || p->before != key->before ||
                        p->branch != key->branch))
        p = &f->pairs[at = (at + 1) & (f->size - 1)];
    return p;
}

static bool grow_pairs(struct feedback *f)
{
    struct feedback larger = {.size = f->size * 2};
    larger.pairs = f->size < FEEDBACK_SIZE ? calloc(larger.size, sizeof *larger.pairs) : NULL;
    if (!larger.pairs)
        return false;
    for (size_t i = 0; i < f->size; i++) {
        const struct feedback_pair *p = &f->pairs[i];
        if (p->count)
            *find_pair(&larger, p) = *p;
    }
    free(f->pairs);
    f->pairs = larger.pairs;
    f->size = larger.size;
    return true;
}

void feedback_put(struct feedback *f, const struct feedback_pair *pair)
{
    struct feedback_pair *p = find_pair(f, pair);
    if (p->count) {
        p->count += pair->count;
        return;
    }
    if (f->used * 2 >= f->size) {
        if (!grow_pairs(f)) {
            f->left_out += pair->count;
            return;
        }
        p = find_pair(f, pair);
    }
    f->used++;
    *p = *pair;
}

static void count_branch(struct feedback *f, uint64_t from, uint64_t to)
{
    feedback_put(f, &(struct feedback_pair){.from = from, .to = to, .count = 1, .branch = true});
}

/* The range that runs ends with the newest block. */
static void close_range(struct feedback *f)
{
    if (f->open)
        feedback_put(f, &(struct feedback_pair){.from = f->first,
                                                .to = bt_block_last(&f->counts->last),
                                                .before = f->before,
                                                .count = 1});
    f->open = false;
}

static void feedback_transfer(void *ctx, const struct counts_edge *edge, uint64_t number,
                              uint64_t cycles)
{
    struct feedback *f = ctx;
    bool branch = false;
    (void)number, (void)cycles;
    if (edge->kind == COUNTS_LEAVE && edge->block.first == edge->behind && f->open)
        return; /* into the function behind this one */
    close_range(f);
    if (!(edge->from & 1) && edge->kind != COUNTS_ENTRY && edge->kind != COUNTS_EXCEPTION_RETURN &&
        edge->block.first != edge->behind)
        branch = true;
    f->first = edge->block.first;
    f->open =
        (edge->block.info & COUNTS_ANY_BLOCK) != COUNTS_ANY_BLOCK; /* not before an exception */
    f->before = branch && f->stacks && f->open ? edge->from : 0;
    if (branch && !f->before)
        count_branch(f, edge->from, edge->block.first);
}

void feedback_follow(struct feedback *f, struct export_walk *walk, struct counts *counts)
{
    walk->transfer = feedback_transfer;
    walk->jumps = true;
    walk->ctx = f;
    f->counts = counts;
    f->open = false;
}

void feedback_close(struct feedback *f)
{
    close_range(f);
    f->counts = NULL;
}

int feedback_add(struct feedback *f, struct export_walk *walk, struct export_loss *loss)
{
    struct counts counts;
    feedback_follow(f, walk, &counts);
    int error = export_walk(walk, &counts, loss);
    feedback_close(f);
    counts_release(&counts);
    return error;
}

bool feedback_same(const struct feedback *a, const struct feedback *b)
{
    return a->open == b->open && (!a->open || a->first == b->first);
}

void feedback_clear(struct feedback *f)
{
    if (f->used)
        memset(f->pairs, 0, f->size * sizeof *f->pairs);
    f->used = 0;
    f->left_out = 0;
}

static int pair_order(const void *a, const void *b)
{
    const struct feedback_pair *x = a, *y = b;
    if (x->branch != y->branch)
        return x->branch ? 1 : -1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->before < y->before ? -1 : x->before > y->before;
}

void feedback_order(struct feedback_pair *pairs, size_t count)
{
    if (count)
        qsort(pairs, count, sizeof *pairs, pair_order);
}

void feedback_finish(struct feedback *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->size; i++)
        if (f->pairs[i].count)
            f->pairs[n++] = f->pairs[i];
    f->used = n;
    feedback_order(f->pairs, n);
}

/*
 * An address as create_llvm_prof counts it: from the first segment on, which is the offset in the
 * file where that begins with the segment. False: it is no code of the program.
 */
static bool code_offset(const struct elf_image *elf, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];
        if (s->executable && address >= s->vaddr && address - s->vaddr < s->file_size) {
            *offset = address - elf->segments[0].vaddr;
            return true;
        }
    }
    return false;
}

/* All of one kind; without a file only counted. */
static size_t write_pairs(const struct feedback *f, const struct elf_image *elf, bool branch,
                          FILE *out)
{
    size_t n = 0;
    for (size_t i = 0; i < f->used; i++) {
        const struct feedback_pair *p = &f->pairs[i];
        uint64_t from, to;
        if (p->branch != branch || !code_offset(elf, p->from, &from) ||
            !code_offset(elf, p->to, &to))
            continue;
        n++;
        if (out)
            fprintf(out, "%" PRIx64 "%s%" PRIx64 ":%" PRIu64 "\n", from, branch ? "->" : "-", to,
                    p->count);
    }
    return n;
}

void feedback_write_autofdo(const struct feedback *f, const struct export_program *program,
                            const struct export_loss *loss, FILE *out)
{
    char text[1024];
    fprintf(out, "%zu\n", write_pairs(f, program->elf, false, NULL));
    write_pairs(f, program->elf, false, out);
    fprintf(out, "0\n%zu\n", write_pairs(f, program->elf, true, NULL));
    write_pairs(f, program->elf, true, out);
    export_loss_text(loss, text, sizeof text);
    fprintf(out, "// %s\n// %s\n", program->path, text);
}

static bool is_of_program(const struct export_program *program, const struct feedback_pair *p)
{
    uint64_t offset;
    return code_offset(program->elf, p->from, &offset) && code_offset(program->elf, p->to, &offset);
}

void feedback_write_bolt(const struct feedback *f, const struct export_program *program, FILE *out)
{
    for (size_t i = 0; i < f->used; i++) {
        const struct feedback_pair *p = &f->pairs[i];
        if (!is_of_program(program, p))
            continue;
        if (p->branch)
            fprintf(out, "B %" PRIx64 " %" PRIx64 " %" PRIu64 " 0\n", p->from, p->to, p->count);
        else
            fprintf(out, "F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", p->from, p->to, p->count);
    }
}

/* Where its executable segments are, as a mapping of the file: as linked. */
static void write_mappings(const struct export_program *program, FILE *out)
{
    const char *name = strrchr(program->path, '/');
    for (size_t i = 0; i < program->elf->segment_count; i++) {
        const struct elf_segment *s = &program->elf->segments[i];
        if (s->executable)
            fprintf(out,
                    "PERF_RECORD_MMAP2 1/1: [0x%" PRIx64 "(0x%" PRIx64 ") @ 0x%" PRIx64
                    " 00:00 0 0]: r-xp %s\n",
                    s->vaddr, s->file_size, s->offset, name ? name + 1 : program->path);
    }
}

void feedback_write_brstack(const struct feedback *f, const struct export_program *program,
                            FILE *out)
{
    static const char flags[] = "P/-/-/0";
    write_mappings(program, out);
    for (size_t i = 0; i < f->used; i++) {
        const struct feedback_pair *p = &f->pairs[i];
        if (!is_of_program(program, p))
            continue;
        if (p->branch)
            fprintf(out, "%" PRIu64 "\n %" PRIx64 " 0x%" PRIx64 "/0x%" PRIx64 "/%s\n", p->count,
                    p->from, p->from, p->to, flags);
        else
            fprintf(out,
                    "%" PRIu64 "\n %" PRIx64 " 0x%" PRIx64 "/0x0/%s 0x%" PRIx64 "/0x%" PRIx64
                    "/%s\n",
                    p->count, p->to, p->to, flags, p->before, p->from, flags);
    }
}
