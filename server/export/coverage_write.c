/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/coverage.h"

#include <inttypes.h>
#include <string.h>

static bool of_file(const char *file, const char *wanted)
{
    return !wanted || strcmp(file, wanted) == 0;
}

void coverage_sum(const struct coverage *c, const char *file, struct coverage_total *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < c->line_count; i++) {
        out->lines += of_file(c->lines[i].file, file);
        out->lines_hit += c->lines[i].count && of_file(c->lines[i].file, file);
    }
    for (size_t i = 0; i < c->function_count; i++) {
        out->functions += of_file(c->functions[i].file, file);
        out->functions_hit += c->functions[i].count && of_file(c->functions[i].file, file);
    }
    for (size_t i = 0; i < c->branch_count; i++) {
        if (!of_file(c->branches[i].file, file))
            continue;
        out->branches += 2;
        out->branches_hit += (c->branches[i].taken != 0) + (c->branches[i].not_taken != 0);
    }
}

/* The lines of one file are in one piece: its end. */
static size_t file_end(const struct coverage *c, size_t first)
{
    size_t end = first;
    while (end < c->line_count && strcmp(c->lines[end].file, c->lines[first].file) == 0)
        end++;
    return end;
}

static uint64_t line_count(const struct coverage *c, size_t first, size_t end, uint32_t line)
{
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (c->lines[middle].line == line)
            return c->lines[middle].count;
        if (c->lines[middle].line < line)
            first = middle + 1;
        else
            end = middle;
    }
    return 0;
}

static void lcov_functions(const struct coverage *c, const char *file, FILE *out)
{
    for (size_t i = 0; i < c->function_count; i++)
        if (of_file(c->functions[i].file, file))
            fprintf(out, "FN:%" PRIu32 ",%s\n", c->functions[i].line, c->functions[i].name);
    for (size_t i = 0; i < c->function_count; i++)
        if (of_file(c->functions[i].file, file))
            fprintf(out, "FNDA:%" PRIu64 ",%s\n", c->functions[i].count, c->functions[i].name);
}

/* Not evaluated at all is "-"; but readers refuse a line that ran and has nothing else. */
static void lcov_branches(const struct coverage *c, size_t first, size_t end, FILE *out)
{
    const char *file = c->lines[first].file;
    for (size_t i = 0; i < c->branch_count; i++) {
        const struct coverage_branch *b = &c->branches[i];
        if (!of_file(b->file, file))
            continue;
        if (line_count(c, first, end, b->line) == 0) {
            fprintf(out, "BRDA:%" PRIu32 ",%" PRIu32 ",0,-\n", b->line, b->number);
            fprintf(out, "BRDA:%" PRIu32 ",%" PRIu32 ",1,-\n", b->line, b->number);
        } else {
            fprintf(out, "BRDA:%" PRIu32 ",%" PRIu32 ",0,%" PRIu64 "\n", b->line, b->number,
                    b->not_taken);
            fprintf(out, "BRDA:%" PRIu32 ",%" PRIu32 ",1,%" PRIu64 "\n", b->line, b->number,
                    b->taken);
        }
    }
}

static void lcov_file(const struct coverage *c, const struct export_names *names, size_t first,
                      size_t end, FILE *out)
{
    char path[4096];
    struct coverage_total sum;
    const char *file = c->lines[first].file;
    coverage_sum(c, file, &sum);
    fprintf(out, "SF:%s\n", export_source_path(names, file, path, sizeof path));
    lcov_functions(c, file, out);
    fprintf(out, "FNF:%" PRIu64 "\nFNH:%" PRIu64 "\n", sum.functions, sum.functions_hit);
    lcov_branches(c, first, end, out);
    fprintf(out, "BRF:%" PRIu64 "\nBRH:%" PRIu64 "\n", sum.branches, sum.branches_hit);
    for (size_t i = first; i < end; i++)
        fprintf(out, "DA:%" PRIu32 ",%" PRIu64 "\n", c->lines[i].line, c->lines[i].count);
    fprintf(out, "LF:%" PRIu64 "\nLH:%" PRIu64 "\nend_of_record\n", sum.lines, sum.lines_hit);
}

void coverage_write_lcov(const struct coverage *c, const struct export_names *names,
                         const struct export_loss *loss, FILE *out)
{
    char text[1024];
    export_loss_text(loss, text, sizeof text);
    fprintf(out, "# btraced: %s\nTN:\n", text);
    for (size_t first = 0; first < c->line_count;) {
        size_t end = file_end(c, first);
        lcov_file(c, names, first, end, out);
        first = end;
    }
}

static void write_share(uint64_t hit, uint64_t all, FILE *out)
{
    char text[48] = "-";
    if (all)
        snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 " %3.0f%%", hit, all,
                 (double)(hit * 100 / all));
    fprintf(out, "  %16s", text);
}

static void write_total(const char *name, const struct coverage_total *t, FILE *out)
{
    fprintf(out, "%-40s", name);
    write_share(t->lines_hit, t->lines, out);
    write_share(t->functions_hit, t->functions, out);
    write_share(t->branches_hit, t->branches, out);
}

/* Lines of code between two that did not run belong to no range that ran. */
static void write_never_run(const struct coverage *c, size_t first, size_t end, FILE *out)
{
    const char *before = "  ";
    for (size_t i = first; i < end;) {
        size_t last = i;
        if (c->lines[i].count) {
            i++;
            continue;
        }
        while (last + 1 < end && c->lines[last + 1].count == 0)
            last++;
        fprintf(out, "%s%" PRIu32, before, c->lines[i].line);
        if (last > i)
            fprintf(out, "-%" PRIu32, c->lines[last].line);
        before = ",";
        i = last + 1;
    }
    fputc('\n', out);
}

void coverage_write_text(const struct coverage *c, const struct export_names *names,
                         const struct export_loss *loss, FILE *out)
{
    char path[4096], text[1024];
    struct coverage_total sum;
    export_loss_text(loss, text, sizeof text);
    fprintf(out, "%s\n%-40s  %16s  %16s  %16s  %s\n", text, "file", "lines", "functions",
            "branches", "lines that never ran");
    for (size_t first = 0; first < c->line_count;) {
        size_t end = file_end(c, first);
        coverage_sum(c, c->lines[first].file, &sum);
        write_total(export_source_path(names, c->lines[first].file, path, sizeof path), &sum, out);
        write_never_run(c, first, end, out);
        first = end;
    }
    coverage_sum(c, NULL, &sum);
    write_total("all", &sum, out);
    fputc('\n', out);
}

void coverage_write_objects(const struct coverage *c, const struct export_names *names,
                            const struct export_loss *loss, FILE *out)
{
    char text[1024], name[512];
    export_loss_text(loss, text, sizeof text);
    fprintf(out,
            "# %s\n# range\tfirst\tbehind\tcount\tfunction\n# branch\taddress\ttaken\tnot "
            "taken\tfunction\n",
            text);
    for (size_t i = 0; i < c->insn_count;) {
        const struct coverage_insn *first = &c->insns[i];
        uint64_t function = export_function(names, first->address), behind = first->address;
        while (i < c->insn_count && c->insns[i].address == behind &&
               c->insns[i].count == first->count && export_function(names, behind) == function)
            behind += c->insns[i++].size;
        export_function_name(names, first->address, name, sizeof name);
        fprintf(out, "range\t0x%08" PRIx64 "\t0x%08" PRIx64 "\t%" PRIu64 "\t%s\n", first->address,
                behind, first->count, name);
        for (; first < &c->insns[i]; first++)
            if (first->branch)
                fprintf(out, "branch\t0x%08" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n",
                        first->address, first->taken, first->not_taken, name);
    }
}
