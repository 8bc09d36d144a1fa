/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/coverage.h"

#include "decoder/base/array.h"
#include "decoder/base/search.h"
#include "decoder/disasm/disasm.h"

#include <stdlib.h>
#include <string.h>

/* Of one copy of a line's code. */
struct copy {
    uint32_t file;
    uint32_t line;
    uint32_t instance;
    uint32_t branches; /* seen so far */
    uint64_t count;
};

struct sweep {
    struct coverage *out;
    const struct counts_table *table;
    const struct dwarf_lines *lines;
    struct copy *copies;
    size_t copy_count, copy_max;
    struct code_cache code;
    struct code_view *view;
};

/* Conditional by its encoding, by an IT block, or because it once was not taken. */
static bool is_branch(const struct insn *insn, uint8_t it_cond, const struct counts_insn *ran)
{
    if (insn->cls != INSN_DIRECT && insn->cls != INSN_INDIRECT)
        return false;
    return insn->flags & INSN_CONDITIONAL || it_cond < 14 || (ran && ran->failed);
}

static int sweep_insn(struct sweep *s, uint64_t address, const struct insn *insn, uint8_t it_cond)
{
    struct coverage *c = s->out;
    const struct counts_insn *ran = counts_table_at(s->table, address);
    if (!array_room(&c->insns, c->insn_count, &c->insn_max, sizeof *c->insns))
        return BT_ERR_NOMEM;
    struct coverage_insn *i = &c->insns[c->insn_count++];
    *i = (struct coverage_insn){.address = address,
                                .count = ran ? ran->count : 0,
                                .size = insn->size,
                                .branch = is_branch(insn, it_cond, ran)};
    if (i->branch && ran) {
        i->taken = ran->passed;
        i->not_taken = ran->failed;
    }
    return BT_OK;
}

/* All instructions of a segment, as the program's mapping symbols tell them from data. */
static int sweep_segment(struct sweep *s, const struct elf_image *elf,
                         const struct elf_segment *segment)
{
    struct it_track it = {0};
    uint64_t end = segment->vaddr + segment->file_size;
    for (uint64_t at = segment->vaddr; at < end;) {
        enum elf_content content = elf_image_content(elf, at);
        struct insn insn;
        uint32_t opcode;
        enum bt_isa isa = content == ELF_CONTENT_A64   ? BT_ISA_A64
                          : content == ELF_CONTENT_A32 ? BT_ISA_A32
                                                       : BT_ISA_T32;
        if (content == ELF_CONTENT_DATA || content == ELF_CONTENT_UNKNOWN ||
            code_insn(&s->code, s->view, at, isa, &insn, &opcode)) {
            at += 2 - at % 2;
            continue;
        }
        uint8_t it_cond = it_track_step(&it, at, isa, opcode, insn.size);
        int error = sweep_insn(s, at, &insn, it_cond);
        if (error)
            return error;
        at += insn.size;
    }
    return BT_OK;
}

static int insn_order(const void *a, const void *b)
{
    const struct coverage_insn *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* What ran though the program does not say that it is code: without mapping symbols, all of it. */
static int sweep_rest(struct sweep *s)
{
    struct coverage *c = s->out;
    size_t known = c->insn_count;
    if (known)
        qsort(c->insns, known, sizeof *c->insns, insn_order);
    for (size_t i = 0; i < s->table->count; i++) {
        const struct counts_insn *ran = &s->table->insns[i];
        struct coverage_insn key = {.address = ran->address};
        struct insn insn = {.size = ran->size, .cls = ran->cls, .flags = ran->flags};
        if (known && bsearch(&key, c->insns, known, sizeof key, insn_order))
            continue;
        int error = sweep_insn(s, ran->address, &insn, DISASM_NO_IT);
        if (error)
            return error;
    }
    if (c->insn_count)
        qsort(c->insns, c->insn_count, sizeof *c->insns, insn_order);
    return BT_OK;
}

/* The first instruction at or behind the address. */
static size_t coverage_from(const struct coverage *c, uint64_t address)
{
    size_t low;
    SEARCH_FIRST(low, c->insn_count, c->insns[low].address < address);
    return low;
}

static int copy_order(const void *a, const void *b)
{
    const struct copy *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->instance < y->instance ? -1 : x->instance > y->instance;
}

/* One entry for each line of each instance, with its largest count. */
static int collect_copies(struct sweep *s)
{
    struct coverage *c = s->out;
    for (size_t i = 0; i < s->lines->segment_count; i++) {
        const struct dwarf_segment *d = &s->lines->segments[i];
        size_t at = coverage_from(c, d->address);
        if (at == c->insn_count || c->insns[at].address >= d->end)
            continue; /* no code */
        if (!array_room(&s->copies, s->copy_count, &s->copy_max, sizeof *s->copies))
            return BT_ERR_NOMEM;
        struct copy *copy = &s->copies[s->copy_count++];
        *copy = (struct copy){.file = d->file, .line = d->line, .instance = d->instance};
        for (; at < c->insn_count && c->insns[at].address < d->end; at++)
            if (c->insns[at].count > copy->count)
                copy->count = c->insns[at].count;
    }
    if (s->copy_count)
        qsort(s->copies, s->copy_count, sizeof *s->copies, copy_order);
    size_t n = 0;
    for (size_t i = 0; i < s->copy_count; i++) {
        if (n && copy_order(&s->copies[n - 1], &s->copies[i]) == 0) {
            if (s->copies[i].count > s->copies[n - 1].count)
                s->copies[n - 1].count = s->copies[i].count;
        } else {
            s->copies[n++] = s->copies[i];
        }
    }
    s->copy_count = n;
    return BT_OK;
}

static int add_lines(struct sweep *s)
{
    struct coverage *c = s->out;
    for (size_t i = 0; i < s->copy_count; i++) {
        const struct copy *copy = &s->copies[i];
        struct coverage_line *last = c->line_count ? &c->lines[c->line_count - 1] : NULL;
        if (i && copy[-1].file == copy->file && copy[-1].line == copy->line) {
            last->count += copy->count;
            continue;
        }
        if (!array_room(&c->lines, c->line_count, &c->line_max, sizeof *c->lines))
            return BT_ERR_NOMEM;
        c->lines[c->line_count++] =
            (struct coverage_line){s->lines->files[copy->file], copy->line, copy->count};
    }
    return BT_OK;
}

/* The branches of each copy of a line are numbered in the order of their addresses: those of one
 * number belong together. */
static int add_branches(struct sweep *s)
{
    struct coverage *c = s->out;
    for (size_t i = 0; i < c->insn_count; i++) {
        const struct coverage_insn *insn = &c->insns[i];
        const struct dwarf_segment *d =
            insn->branch ? dwarf_lines_at(s->lines, insn->address) : NULL;
        if (!d || !s->copy_count)
            continue;
        struct copy key = {.file = d->file, .line = d->line, .instance = d->instance};
        struct copy *copy = bsearch(&key, s->copies, s->copy_count, sizeof key, copy_order);
        if (!copy)
            continue;
        if (!array_room(&c->branches, c->branch_count, &c->branch_max, sizeof *c->branches))
            return BT_ERR_NOMEM;
        c->branches[c->branch_count++] = (struct coverage_branch){.file = s->lines->files[d->file],
                                                                  .line = d->line,
                                                                  .number = copy->branches++,
                                                                  .taken = insn->taken,
                                                                  .not_taken = insn->not_taken};
    }
    return BT_OK;
}

/* What the segments and copies of a function say of it. */
struct tally {
    uint32_t own;   /* line where its own code begins, in its file; 0: none */
    uint32_t least; /* that has code in its file; 0: none */
    uint64_t count; /* how often it was entered */
};

/* Of each copy the least count of what ran, of each function the first line. */
static void tally_segments(const struct sweep *s, uint64_t *least, struct tally *tallies)
{
    const struct coverage *c = s->out;
    for (size_t i = 0; i < s->lines->segment_count; i++) {
        const struct dwarf_segment *d = &s->lines->segments[i];
        if (d->instance == DWARF_NO_INSTANCE)
            continue;
        uint32_t function = s->lines->instances[d->instance].function;
        const struct dwarf_function *f = &s->lines->functions[function];
        struct tally *tally = &tallies[function];
        if (d->file == f->file && d->line >= f->line && (!tally->least || d->line < tally->least))
            tally->least = d->line;
        for (size_t at = coverage_from(c, d->address);
             at < c->insn_count && c->insns[at].address < d->end; at++) {
            uint64_t count = c->insns[at].count;
            if (count && (!least[d->instance] || count < least[d->instance]))
                least[d->instance] = count;
        }
    }
}

/* The entry of a copy may have been moved behind others: then what ran least of it counts. */
static void tally_instances(const struct sweep *s, const uint64_t *least, struct tally *tallies)
{
    for (size_t i = 0; i < s->lines->instance_count; i++) {
        const struct dwarf_instance *instance = &s->lines->instances[i];
        const struct counts_insn *entry = counts_table_at(s->table, instance->entry);
        const struct dwarf_segment *d = dwarf_lines_at(s->lines, instance->entry);
        struct tally *tally = &tallies[instance->function];
        tally->count += entry && entry->count ? entry->count : least[i];
        if (!tally->own && instance->outer == DWARF_NO_INSTANCE && d &&
            d->file == s->lines->functions[instance->function].file)
            tally->own = d->line;
    }
}

static int add_tallied(struct sweep *s, const struct tally *tallies)
{
    struct coverage *c = s->out;
    for (size_t i = 0; i < s->lines->function_count; i++) {
        const struct dwarf_function *function = &s->lines->functions[i];
        uint32_t line = tallies[i].own ? tallies[i].own : tallies[i].least;
        if (!line)
            continue;
        if (!array_room(&c->functions, c->function_count, &c->function_max, sizeof *c->functions))
            return BT_ERR_NOMEM;
        c->functions[c->function_count++] = (struct coverage_function){
            s->lines->files[function->file], function->name, line, tallies[i].count};
    }
    return BT_OK;
}

static int add_functions(struct sweep *s)
{
    uint64_t *least = calloc(s->lines->instance_count + 1, sizeof *least);
    struct tally *tallies = calloc(s->lines->function_count + 1, sizeof *tallies);
    int error = BT_ERR_NOMEM;
    if (least && tallies) {
        tally_segments(s, least, tallies);
        tally_instances(s, least, tallies);
        error = add_tallied(s, tallies);
    }
    free(least);
    free(tallies);
    return error;
}

static int line_order(const void *a, const void *b)
{
    const struct coverage_line *x = a, *y = b;
    int files = strcmp(x->file, y->file);
    return files ? files : x->line < y->line ? -1 : x->line > y->line;
}

static int branch_order(const void *a, const void *b)
{
    const struct coverage_branch *x = a, *y = b;
    int files = strcmp(x->file, y->file);
    if (files || x->line != y->line)
        return files ? files : x->line < y->line ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int function_order(const void *a, const void *b)
{
    const struct coverage_function *x = a, *y = b;
    int files = strcmp(x->file, y->file);
    if (files || x->line != y->line)
        return files ? files : x->line < y->line ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Several programs may have files in common, and a header's function many definitions. */
static void coverage_join(struct coverage *c)
{
    size_t n = 0;
    if (c->line_count)
        qsort(c->lines, c->line_count, sizeof *c->lines, line_order);
    for (size_t i = 0; i < c->line_count; i++) {
        if (n && line_order(&c->lines[n - 1], &c->lines[i]) == 0)
            c->lines[n - 1].count += c->lines[i].count;
        else
            c->lines[n++] = c->lines[i];
    }
    c->line_count = n;
    n = 0;
    if (c->branch_count)
        qsort(c->branches, c->branch_count, sizeof *c->branches, branch_order);
    for (size_t i = 0; i < c->branch_count; i++) {
        if (n && branch_order(&c->branches[n - 1], &c->branches[i]) == 0) {
            c->branches[n - 1].taken += c->branches[i].taken;
            c->branches[n - 1].not_taken += c->branches[i].not_taken;
        } else {
            c->branches[n++] = c->branches[i];
        }
    }
    c->branch_count = n;
    n = 0;
    if (c->function_count)
        qsort(c->functions, c->function_count, sizeof *c->functions, function_order);
    for (size_t i = 0; i < c->function_count; i++) {
        if (n && function_order(&c->functions[n - 1], &c->functions[i]) == 0)
            c->functions[n - 1].count += c->functions[i].count;
        else
            c->functions[n++] = c->functions[i];
    }
    c->function_count = n;
}

static int coverage_sweep(struct sweep *s, const struct export_names *names)
{
    int error = BT_OK;
    for (size_t p = 0; p < names->count && !error; p++) {
        const struct elf_image *elf = names->programs[p].elf;
        for (size_t i = 0; i < elf->segment_count && !error; i++)
            if (elf->segments[i].executable)
                error = sweep_segment(s, elf, &elf->segments[i]);
    }
    return error ? error : sweep_rest(s);
}

int coverage_init(struct coverage *c, const struct export_names *names,
                  const struct counts_table *table, const struct code_image *image)
{
    const struct code_options options = {0};
    struct sweep s = {.out = c, .table = table};
    struct code_key key;
    memset(c, 0, sizeof *c);
    code_key_init(&key);
    int error = code_cache_init(&s.code, image, &options);
    s.view = error ? NULL : code_select(&s.code, &key);
    if (!s.view)
        error = BT_ERR_NOMEM;
    if (!error)
        error = coverage_sweep(&s, names);
    for (size_t p = 0; p < names->count && !error; p++) {
        s.lines = &names->programs[p].lines;
        s.copy_count = 0;
        error = collect_copies(&s);
        if (!error)
            error = add_lines(&s);
        if (!error)
            error = add_branches(&s);
        if (!error)
            error = add_functions(&s);
    }
    free(s.copies);
    code_cache_release(&s.code);
    if (!error)
        coverage_join(c);
    return error;
}

void coverage_release(struct coverage *c)
{
    free(c->insns);
    free(c->lines);
    free(c->branches);
    free(c->functions);
    memset(c, 0, sizeof *c);
}
