/* SPDX-License-Identifier: BSD-3-Clause */
/* The format of Callgrind, which callgrind_annotate and KCachegrind open: Valgrind manual,
 * "Callgrind Format Specification". */
#include "server/export/export_tasks.h"
#include "server/export/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Calls from one place to one function. */
struct call_arc {
    uint64_t caller;
    uint64_t site;
    uint64_t callee;
    uint64_t calls, all, cycles;
    bool task; /* the caller is one */
};

/* What ran of one function. */
struct function_part {
    uint64_t function;
    size_t insn; /* index in the table */
};

static int arc_order(const void *a, const void *b)
{
    const struct call_arc *x = a, *y = b;
    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static int part_order(const void *a, const void *b)
{
    const struct function_part *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return x->insn < y->insn ? -1 : x->insn > y->insn;
}

/* Inside a call from the same place what runs is counted once. */
static bool is_repeated(const struct calls *calls, const struct calls_path *p)
{
    for (uint32_t up = p->parent; up != CALLS_NO_PATH; up = calls->paths[up].parent)
        if (calls->paths[up].function == p->function && calls->paths[up].site == p->site)
            return true;
    return false;
}

/* Sorted, one entry an arc. NULL: no memory. */
static struct call_arc *collect_arcs(const struct profile *p, size_t *count)
{
    size_t max = 1, n = 0;
    for (size_t i = 0; i < p->core_count; i++)
        max += p->cores[i].calls.path_count;
    struct call_arc *arcs = calloc(max, sizeof *arcs);
    if (!arcs)
        return NULL;
    for (size_t i = 0; i < p->core_count; i++) {
        const struct calls *calls = &p->cores[i].calls;
        for (size_t k = 0; k < calls->path_count; k++) {
            const struct calls_path *path = &calls->paths[k];
            bool repeated = is_repeated(calls, path);
            if (path->parent == CALLS_NO_PATH)
                continue;
            arcs[n++] = (struct call_arc){.caller = calls->paths[path->parent].function,
                                          .site = path->site,
                                          .callee = path->function,
                                          .calls = path->calls,
                                          .all = repeated ? 0 : path->all,
                                          .cycles = repeated ? 0 : path->all_cycles,
                                          .task = calls->paths[path->parent].task};
        }
    }
    if (n)
        qsort(arcs, n, sizeof *arcs, arc_order);
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        struct call_arc *last = *count ? &arcs[*count - 1] : NULL;
        if (last && arc_order(last, &arcs[i]) == 0) {
            last->calls += arcs[i].calls;
            last->all += arcs[i].all;
            last->cycles += arcs[i].cycles;
        } else {
            arcs[(*count)++] = arcs[i];
        }
    }
    return arcs;
}

static const char *file_of(const struct profile *p, uint64_t address, char *path, size_t size,
                           unsigned *line)
{
    const char *file;
    if (!export_line(p->names, address, &file, line)) {
        *line = 0;
        return "???";
    }
    return export_source_path(p->names, file, path, size);
}

static void write_cost(const struct profile *p, uint64_t address, unsigned line, uint64_t ir,
                       uint64_t cycles, FILE *out)
{
    fprintf(out, "0x%" PRIx64 " %u %" PRIu64, address, line, ir);
    if (p->cycles)
        fprintf(out, " %" PRIu64, cycles);
    fputc('\n', out);
}

static void write_insn(const struct profile *p, const struct counts_insn *insn, const char *own,
                       FILE *out)
{
    char path[4096];
    unsigned line;
    const char *file = file_of(p, insn->address, path, sizeof path, &line);
    bool elsewhere = strcmp(file, own) != 0;
    if (elsewhere)
        fprintf(out, "fi=%s\n", file);
    write_cost(p, insn->address, line, insn->count, insn->cycles, out);
    if (insn->cls == INSN_DIRECT && !(insn->flags & INSN_LINK) &&
        export_function(p->names, insn->target) == export_function(p->names, insn->address)) {
        char target[4096];
        unsigned target_line;
        file_of(p, insn->target, target, sizeof target, &target_line);
        if (insn->flags & INSN_CONDITIONAL || insn->failed)
            fprintf(out, "jcnd=%" PRIu64 "/%" PRIu64, insn->passed, insn->count);
        else
            fprintf(out, "jump=%" PRIu64, insn->count);
        fprintf(out, " 0x%" PRIx64 " %u\n0x%" PRIx64 " %u\n", insn->target, target_line,
                insn->address, line);
    }
    if (elsewhere)
        fprintf(out, "fe=%s\n", own);
}

static void write_arc(const struct profile *p, const struct call_arc *arc, FILE *out)
{
    char path[4096], name[512];
    unsigned line, site;
    const char *file = file_of(p, arc->callee, path, sizeof path, &line);
    export_function_name(p->names, arc->callee, name, sizeof name);
    fprintf(out, "cfi=%s\ncfn=%s\ncalls=%" PRIu64 " 0x%" PRIx64 " %u\n", file, name, arc->calls,
            arc->callee, line);
    file_of(p, arc->site, path, sizeof path, &site);
    write_cost(p, arc->site, site, arc->all, arc->cycles, out);
}

/* A task is a function that calls all that runs in it. */
static void write_tasks(const struct profile *p, const struct call_arc *arcs, size_t count,
                        FILE *out)
{
    char name[512];
    for (size_t i = 0; i < count; i++) {
        if (!arcs[i].task)
            continue;
        if (i == 0 || arcs[i - 1].caller != arcs[i].caller)
            fprintf(out, "\nfl=???\nfn=task %s\n",
                    export_task_name(p->names, arcs[i].caller, name, sizeof name));
        write_arc(p, &arcs[i], out);
    }
}

static void write_header(const struct profile *p, FILE *out)
{
    char text[1024];
    export_loss_text(p->loss, text, sizeof text);
    fprintf(out, "# callgrind format\nversion: 1\ncreator: btraced\n# %s\n", text);
    if (p->names->count)
        fprintf(out, "cmd: %s\n", p->names->programs[0].path);
    fprintf(out, "positions: instr line\nevents: %s%s\n", p->loss->sampled ? "Samples" : "Ir",
            p->cycles ? " Cycles" : "");
    if (p->names->count)
        fprintf(out, "\nob=%s\n", p->names->programs[0].path);
}

static void write_functions(const struct profile *p, const struct function_part *parts,
                            const struct call_arc *arcs, size_t arc_count, FILE *out)
{
    char own[4096], name[512];
    size_t arc = 0;
    uint64_t ir = 0, cycles = 0;
    for (size_t i = 0; i < p->table->count;) {
        uint64_t function = parts[i].function;
        unsigned line;
        const char *file = file_of(p, function, own, sizeof own, &line);
        export_function_name(p->names, function, name, sizeof name);
        fprintf(out, "\nfl=%s\nfn=%s\n", file, name);
        for (; i < p->table->count && parts[i].function == function; i++) {
            const struct counts_insn *insn = &p->table->insns[parts[i].insn];
            write_insn(p, insn, file, out);
            ir += insn->count;
            cycles += insn->cycles;
        }
        while (arc < arc_count && arcs[arc].caller < function)
            arc++;
        for (; arc < arc_count && arcs[arc].caller == function; arc++)
            write_arc(p, &arcs[arc], out);
    }
    fprintf(out, "\ntotals: %" PRIu64, ir);
    if (p->cycles)
        fprintf(out, " %" PRIu64, cycles);
    fputc('\n', out);
}

int profile_write_callgrind(const struct profile *p, FILE *out)
{
    size_t arc_count = 0;
    struct function_part *parts = calloc(p->table->count + 1, sizeof *parts);
    struct call_arc *arcs = collect_arcs(p, &arc_count);
    if (parts && arcs) {
        for (size_t i = 0; i < p->table->count; i++) {
            uint64_t address = p->table->insns[i].address;
            uint64_t function = export_function(p->names, address);
            parts[i] = (struct function_part){function ? function : address, i};
        }
        if (p->table->count)
            qsort(parts, p->table->count, sizeof *parts, part_order);
        write_header(p, out);
        write_tasks(p, arcs, arc_count, out);
        write_functions(p, parts, arcs, arc_count, out);
    }
    int error = parts && arcs ? BT_OK : BT_ERR_NOMEM;
    free(parts);
    free(arcs);
    return error;
}
