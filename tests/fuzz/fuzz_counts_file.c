/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of counts, behind their checksum: what is accepted is written again as what it was, and its
 * calls can be joined to any others. */
#include <stdlib.h>
#include <string.h>

#include "server/export/counts_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_segment(const struct counts_segment *s, bool pairs)
{
    for (size_t i = 0; i < s->insn_count; i++)
        require((s->insns[i].size == 2 || s->insns[i].size == 4) && s->insns[i].isa <= BT_ISA_A64 &&
                (i == 0 || s->insns[i - 1].address <= s->insns[i].address));
    require(pairs || s->pair_count == 0);
    for (size_t i = 0; i < s->pair_count; i++)
        require(s->pairs[i].count != 0);
}

static void check_calls(const struct calls_piece *p)
{
    size_t frames = 0, absent = 0;
    for (size_t i = 0; i < p->row_count; i++)
        require(p->rows[i].parent == CALLS_NO_PATH || p->rows[i].parent < i);
    for (size_t i = 0; i < p->step_count; i++) {
        frames += p->steps[i].frames;
        absent += p->steps[i].absent;
        require(p->steps[i].rows <= p->row_count && frames <= p->frame_count &&
                absent <= p->absent_count && p->steps[i].op < CALLS_OPS);
    }
}

/* Twice, so that the second time some are open. */
static void join_calls(const struct counts_source *s)
{
    struct calls_config config = {.max_paths = 16, .m_profile = s->m_profile};
    struct calls calls;
    require(calls_init(&calls, &config) == 0);
    for (size_t k = 0; k < 2 * s->segment_count; k++)
        if (calls_join(&calls, &s->segments[k / 2].calls))
            break;
    require(calls.depth <= CALLS_DEPTH && calls.path_count <= config.max_paths);
    for (size_t i = 0; i < calls.path_count; i++)
        require(calls.paths[i].parent == CALLS_NO_PATH || calls.paths[i].parent < i);
    calls_finish(&calls, 0, 0);
    calls_release(&calls);
}

static void check_file(const struct counts_file *f)
{
    require(f->part < f->parts && f->parts <= COUNTS_FILE_PARTS && f->run);
    for (size_t i = 0; i < f->source_count; i++) {
        const struct counts_source *s = &f->sources[i];
        require(s->name && s->core && s->next > f->part && s->next <= f->parts);
        require(s->mark < COUNTS_FILE_MARKS && s->segment_count <= COUNTS_FILE_MARKS);
        for (size_t k = 0; k < s->segment_count; k++) {
            check_segment(&s->segments[k], f->pairs);
            check_calls(&s->segments[k].calls);
        }
        if (f->calls)
            join_calls(s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A block of that very size, so that reads beyond it are seen. */
    uint8_t *file = malloc(size ? size : 1), *again;
    size_t length;
    struct counts_file f, g;
    struct message why = {.text = ""};
    require(file != NULL);
    memcpy(file, data, size);
    require(counts_file_decode(file, size, &f, &why) || size > 32);
    counts_file_release(&f);
    why.text[0] = '\0';
    int error = counts_file_decode_unchecked(file, size, &f, &why);
    require((error == 0) == (why.text[0] == '\0'));
    if (!error) {
        check_file(&f);
        require(counts_file_encode(&f, &again, &length) == 0);
        require(counts_file_decode(again, length, &g, &why) == 0);
        check_file(&g);
        require(g.part == f.part && g.source_count == f.source_count);
        counts_file_release(&g);
        free(again);
    }
    counts_file_release(&f);
    free(file);
    return 0;
}
