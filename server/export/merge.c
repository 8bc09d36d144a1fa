/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct merge_file {
    const char *path;
    struct counts_file head; /* without segments */
};

static void forget_segments(struct counts_file *f)
{
    for (size_t i = 0; i < f->source_count; i++) {
        for (size_t k = 0; k < f->sources[i].segment_count; k++)
            counts_segment_release(&f->sources[i].segments[k]);
        f->sources[i].segment_count = 0;
    }
}

void merge_release(struct merge *m)
{
    for (size_t i = 0; i < m->file_count; i++)
        counts_file_release(&m->files[i].head);
    for (size_t i = 0; m->cores && i < m->source_count; i++)
        calls_release(&m->cores[i].calls);
    free(m->files);
    free(m->sources);
    free(m->cores);
    counts_table_release(&m->table);
    feedback_release(&m->feedback);
    memset(m, 0, sizeof *m);
}

static int file_order(const void *a, const void *b)
{
    const struct merge_file *x = a, *y = b;
    int names = strcmp(x->head.run, y->head.run);
    int ids = names ? names : memcmp(x->head.recording, y->head.recording, COUNTS_FILE_ID);
    return ids ? ids : (x->head.part > y->head.part) - (x->head.part < y->head.part);
}

static bool same_recording(const struct counts_file *a, const struct counts_file *b)
{
    return strcmp(a->run, b->run) == 0 && memcmp(a->recording, b->recording, COUNTS_FILE_ID) == 0;
}

static bool has_program(const struct counts_file *f, const struct counts_program *p)
{
    for (size_t i = 0; i < f->program_count; i++)
        if (memcmp(f->programs[i].id, p->id, COUNTS_FILE_ID) == 0)
            return true;
    return false;
}

static int wrong_program(const struct merge_file *f, const struct counts_program *p,
                         const char *what, struct message *why)
{
    return message_fail(why, BT_ERR_INVAL, "'%s' %s program '%s' (%02x%02x%02x%02x...)", f->path,
                        what, p->name, p->id[0], p->id[1], p->id[2], p->id[3]);
}

static int check_programs(const struct merge_file *f, const struct counts_file *programs,
                          struct message *why)
{
    for (size_t i = 0; i < f->head.program_count; i++)
        if (!has_program(programs, &f->head.programs[i]))
            return wrong_program(f, &f->head.programs[i], "counts another", why);
    for (size_t i = 0; i < programs->program_count; i++)
        if (!has_program(&f->head, &programs->programs[i]))
            return wrong_program(f, &programs->programs[i], "was made without", why);
    return BT_OK;
}

static int read_head(struct merge_file *f, const struct counts_file *programs,
                     enum merge_needs needs, struct message *why)
{
    int error = counts_file_read(f->path, &f->head, why);
    forget_segments(&f->head);
    if (!error && needs == MERGE_CALLS && !f->head.calls)
        return message_fail(why, BT_ERR_INVAL,
                            "'%s' has no calls: 'btraced profile --part' counts them", f->path);
    if (!error && needs == MERGE_PAIRS && !f->head.pairs)
        return message_fail(
            why, BT_ERR_INVAL,
            "'%s' has no ranges and branches: 'btraced feedback --part' counts them", f->path);
    return error || !programs ? error : check_programs(f, programs, why);
}

/* The command that made the file. */
static const char *made_by(const struct counts_file *f)
{
    return f->calls ? "profile" : f->pairs ? "feedback" : "coverage";
}

/* `f` is of the same recording as `first`, which is cut and decoded in the same way. */
static int check_alike(const struct merge_file *first, const struct merge_file *f,
                       struct message *why)
{
    const struct counts_file *a = &first->head, *b = &f->head;
    if (a->pairs != b->pairs || a->calls != b->calls)
        return message_fail(why, BT_ERR_INVAL,
                            "'%s' is a part of '%s' made by 'btraced %s', '%s' one made by "
                            "'btraced %s': all parts must be made by one command",
                            first->path, a->run, made_by(a), f->path, made_by(b));
    bool same = a->parts == b->parts && a->source_count == b->source_count &&
                a->program_count == b->program_count;
    for (size_t i = 0; same && i < a->source_count; i++)
        same = strcmp(a->sources[i].name, b->sources[i].name) == 0;
    for (size_t i = 0; same && i < a->program_count; i++)
        same = has_program(b, &a->programs[i]);
    if (same)
        return BT_OK;
    return message_fail(why, BT_ERR_INVAL,
                        "'%s' and '%s' are parts of '%s' that were not made alike: number of "
                        "parts, sources or programs differ",
                        first->path, f->path, a->run);
}

/* The files [0, count) are of one recording: all parts, each once. */
static int check_recording(const struct merge_file *f, size_t count, struct message *why)
{
    uint64_t parts = f->head.parts;
    for (size_t i = 0; i < count; i++) {
        int error = check_alike(f, &f[i], why);
        if (error)
            return error;
        if (i && f[i].head.part == f[i - 1].head.part)
            return message_fail(why, BT_ERR_INVAL,
                                "'%s' and '%s' are both part %" PRIu64 "/%" PRIu64
                                " of '%s': name one of them, or give each run its name (--run)",
                                f[i - 1].path, f[i].path, f[i].head.part + 1, parts, f->head.run);
        if (f[i].head.part != i)
            return message_fail(why, BT_ERR_INVAL,
                                "part %zu/%" PRIu64 " of '%s' is missing (of %zu that are there, "
                                "one is '%s')",
                                i + 1, parts, f->head.run, count, f->path);
    }
    if (count < parts)
        return message_fail(why, BT_ERR_INVAL,
                            "part %zu/%" PRIu64 " of '%s' is missing (of %zu that are there, one "
                            "is '%s')",
                            count + 1, parts, f->head.run, count, f->path);
    return BT_OK;
}

/* `path`: whose it is. */
static int add_segment(struct merge *m, struct merge_source *s, const struct counts_segment *g,
                       const char *path, struct message *why)
{
    int error = BT_OK;
    for (unsigned i = 0; i < COUNTS_NUMBERS; i++)
        s->numbers[i] += g->numbers[i];
    for (size_t i = 0; i < g->insn_count && !error; i++)
        error = counts_table_put(&m->table, &g->insns[i]);
    for (size_t i = 0; i < g->pair_count; i++)
        feedback_put(&m->feedback, &g->pairs[i]);
    if (error == BT_ERR_FORMAT)
        message_set(why, "'%s' has another instruction at an address than the others", path);
    if (error || !m->cores)
        return error;
    error = calls_join(&m->cores[s - m->sources].calls, &g->calls);
    if (error == BT_ERR_UNSUPPORTED)
        message_set(why,
                    "the calls of '%s' do not go on from those of the part before (nested too "
                    "deeply, or mixed up): only 'btraced profile' without --part counts them",
                    path);
    return error;
}

/* Those of a file's segments that belong to the whole. */
static int add_file(struct merge *m, const struct merge_file *f, struct merge_source *sources,
                    struct message *why)
{
    struct counts_file whole;
    int error = counts_file_read(f->path, &whole, why);
    if (!error && (whole.source_count != f->head.source_count || whole.part != f->head.part))
        error = message_fail(why, BT_ERR_FORMAT, "'%s' was changed meanwhile", f->path);
    for (size_t i = 0; !error && i < whole.source_count; i++) {
        const struct counts_source *from = &whole.sources[i];
        struct merge_source *s = &sources[i];
        if (s->part != whole.part)
            continue; /* an earlier part went on through this one */
        if (s->mark >= from->segment_count)
            error = message_fail(why, BT_ERR_FORMAT,
                                 "'%s' does not begin where the part before ended: make both again",
                                 f->path);
        for (uint64_t k = s->mark; !error && k < from->segment_count; k++)
            error = add_segment(m, s, &from->segments[k], f->path, why);
        s->part = from->next;
        s->mark = from->mark;
    }
    counts_file_release(&whole);
    return error;
}

static void add_loss(struct export_loss *loss, const uint64_t *n)
{
    loss->instructions += n[COUNTS_INSTRUCTIONS];
    loss->bytes += n[COUNTS_BYTES];
    loss->skipped += n[COUNTS_SKIPPED];
    loss->doubtful += n[COUNTS_DOUBTFUL];
    loss->taken_back += n[COUNTS_TAKEN_BACK];
    loss->left_out += n[COUNTS_LEFT_OUT];
    loss->dropped += n[COUNTS_DROPPED];
    for (unsigned cause = 0; cause < BT_GAP_CAUSES; cause++)
        loss->gaps[cause] += n[COUNTS_GAPS + cause];
}

/* Calls of a recording's sources begin, the first one's in *core. */
static int begin_calls(struct profile_core *core, const struct counts_file *f)
{
    int error = BT_OK;
    for (size_t i = 0; i < f->source_count && !error; i++) {
        const struct calls_config config = {.m_profile = f->sources[i].m_profile};
        core[i].name = f->sources[i].core;
        core[i].m_profile = config.m_profile;
        error = calls_init(&core[i].calls, &config);
    }
    return error;
}

/* The files [0, count) of one recording, that is whole. */
static int add_recording(struct merge *m, const struct merge_file *f, size_t count,
                         struct message *why)
{
    struct merge_source *sources = &m->sources[m->source_count];
    size_t source_count = f->head.source_count;
    for (size_t i = 0; i < source_count; i++)
        sources[i] = (struct merge_source){.run = f->head.run,
                                           .name = f->head.sources[i].name,
                                           .core = f->head.sources[i].core,
                                           .formatted = f->head.sources[i].formatted};
    struct profile_core *cores = m->cores ? &m->cores[m->source_count] : NULL;
    m->source_count += source_count;
    why->text[0] = '\0';
    int error = cores ? begin_calls(cores, &f->head) : BT_OK;
    for (size_t i = 0; i < count && !error; i++)
        error = add_file(m, &f[i], sources, why);
    if (error)
        return message_default(why, error);
    for (size_t i = 0; i < source_count; i++) {
        if (cores)
            calls_finish(&cores[i].calls, 0, 0);
        add_loss(&m->loss, sources[i].numbers);
        m->feedback.left_out += sources[i].numbers[COUNTS_PAIRS_LEFT_OUT];
    }
    return BT_OK;
}

/* Files of one recording from number `i` on. */
static size_t of_recording(const struct merge *m, size_t i)
{
    size_t n = 1;
    while (i + n < m->file_count && same_recording(&m->files[i].head, &m->files[i + n].head))
        n++;
    return n;
}

int merge_files(struct merge *m, char *const *paths, size_t count,
                const struct counts_file *programs, enum merge_needs needs, struct message *why)
{
    size_t sources = 0;
    memset(m, 0, sizeof *m);
    message_set(why, "%s", bt_strerror(BT_ERR_NOMEM));
    counts_table_init(&m->table);
    m->files = calloc(count, sizeof *m->files);
    int error = m->files ? feedback_init(&m->feedback) : BT_ERR_NOMEM;
    for (size_t i = 0; i < count && !error; i++) {
        m->file_count++;
        m->files[i].path = paths[i];
        error = read_head(&m->files[i], programs, needs, why);
        sources += m->files[i].head.source_count;
    }
    if (error)
        return error;
    qsort(m->files, count, sizeof *m->files, file_order);
    for (size_t i = 0; i < count && !error; i += of_recording(m, i))
        error = check_recording(&m->files[i], of_recording(m, i), why);
    m->sources = error ? NULL : calloc(sources + 1, sizeof *m->sources);
    if (!error && needs == MERGE_CALLS)
        m->cores = calloc(sources + 1, sizeof *m->cores);
    if (!error && (!m->sources || (needs == MERGE_CALLS && !m->cores)))
        return message_fail(why, BT_ERR_NOMEM, "%s", bt_strerror(BT_ERR_NOMEM));
    for (size_t i = 0; i < count && !error; i += of_recording(m, i))
        error = add_recording(m, &m->files[i], of_recording(m, i), why);
    if (!error) /* what one part counted and the next took back is 0 now */
        counts_table_sort(&m->table);
    return error;
}

static void summary_line(FILE *out, const struct merge_source *s, const char *key, uint64_t value)
{
    fprintf(out, "%s  %-20s  %12" PRIu64 "\n", s->name, key, value);
}

static void summary_source(FILE *out, const struct merge_source *s)
{
    static const struct {
        const char *key;
        enum counts_number number;
    } rows[] = {
        {"raw-bytes", COUNTS_RAW_BYTES},
        {"bytes", COUNTS_BYTES},
        {"bytes-skipped", COUNTS_SKIPPED},
        {"frames", COUNTS_FRAMES},
        {"frame-losses", COUNTS_FRAME_LOSSES},
        {"packets", COUNTS_PACKETS},
        {"blocks", COUNTS_BLOCKS},
        {"instructions", COUNTS_INSTRUCTIONS},
        {"exceptions", COUNTS_EXCEPTIONS},
        {"cycles", COUNTS_CYCLES},
        {"atoms-dropped", COUNTS_DROPPED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool frames = rows[i].number == COUNTS_FRAMES || rows[i].number == COUNTS_FRAME_LOSSES;
        if (!frames || s->formatted)
            summary_line(out, s, rows[i].key, s->numbers[rows[i].number]);
    }
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        char key[40];
        snprintf(key, sizeof key, "gaps-%s", bt_gap_name((enum bt_gap_cause)cause));
        if (s->numbers[COUNTS_GAPS + cause])
            summary_line(out, s, key, s->numbers[COUNTS_GAPS + cause]);
    }
}

void merge_write_summary(const struct merge *m, FILE *out)
{
    bool several = m->file_count && of_recording(m, 0) < m->file_count;
    for (size_t i = 0; i < m->source_count; i++) {
        const struct merge_source *s = &m->sources[i];
        if (several && (i == 0 || s->run != s[-1].run))
            fprintf(out, "recording %s\n", s->run);
        if (m->source_count > 1)
            fprintf(out, "source %s (core %s)\n", s->name, s->core);
        summary_source(out, s);
    }
}
