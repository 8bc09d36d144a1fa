/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/part.h"

#include "decoder/stream/stream_join.h"
#include "export_walk_internal.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_MARK 256u /* raw bytes behind a cut; each mark is twice as far */

/* One decode. The bytes of one that is only there to be compared begin where its formatter knows
 * the source. */
struct side {
    struct walk_state walk;
    struct export_walk options;
    struct counts counts;
    struct feedback feedback;
    struct calls_cutter *calls; /* NULL: nobody follows them */
    struct recording_pass pass;
    uint64_t at;               /* raw bytes */
    bool waits;                /* no byte has come yet: they are kept, to be told their offset */
    uint8_t first[FIRST_MARK]; /* of one piece */
    size_t first_length;
    bool spoiled; /* more than bytes came while it waited: never compared */
};

struct part {
    const struct counts_file *file;
    struct recording *recording;
    const struct recording_source *source;
    const struct export_names *names;
    struct counts_source *out;
    struct side *here;
    struct counts_table table;        /* of a segment; here, to have room once */
    struct stream mark;               /* state of the decode at the first mark */
    uint64_t numbers[COUNTS_NUMBERS]; /* at the begin of the segment */
    bool counted;                     /* the segment has begun */
};

/* The raw byte where a part begins: in step with frames and blocks of frames. Behind the last one
 * lies the end, whatever belongs to it. */
static uint64_t part_cut(const struct part *p, uint64_t i)
{
    uint64_t size = p->source->buffer->size, parts = p->file->parts;
    if (i == parts)
        return UINT64_MAX;
    uint64_t cut = size / parts * i + size % parts * i / parts;
    bool blocks = p->source->buffer->format == SNAPSHOT_FORMAT_DSTREAM_CORESIGHT;
    return cut - cut % (blocks ? FORMATTER_BLOCK : FORMATTER_FRAME);
}

/* Mark number k of a part; 0: it has no such mark. */
static uint64_t part_mark(const struct part *p, uint64_t i, unsigned k)
{
    uint64_t end = part_cut(p, i + 1), size = p->source->buffer->size;
    uint64_t at = part_cut(p, i) + ((uint64_t)FIRST_MARK << k);
    return k < COUNTS_FILE_MARKS && at < (end < size ? end : size) ? at : 0;
}

static int side_data(void *ctx, const uint8_t *data, size_t len)
{
    struct side *s = ctx;
    if (!s->waits)
        return walk_data(&s->walk, data, len);
    if (len > sizeof s->first - s->first_length)
        return BT_ERR_RANGE; /* never: a piece is not larger */
    memcpy(s->first + s->first_length, data, len);
    s->first_length += len;
    return BT_OK;
}

static int side_gap(void *ctx, enum bt_gap_cause cause)
{
    struct side *s = ctx;
    s->spoiled |= s->waits && s->first_length;
    return walk_gap(&s->walk, cause);
}

/* What is only there to be compared is told, too, so that it counts alike. */
static void side_transfer(void *ctx, const struct counts_edge *edge, uint64_t number,
                          uint64_t cycles)
{
    (void)ctx, (void)edge, (void)number, (void)cycles;
}

/* Calls are followed, and cycles counted, as `btraced profile` does. */
static int side_follow(struct side *s, bool compared)
{
    s->options.cycles = stream_counts_blocks(&s->options.source->config);
    s->options.transfer = side_transfer;
    if (compared)
        return BT_OK;
    s->options.transfer = calls_cutter_transfer;
    s->options.transfers = calls_cutter_transfers;
    s->options.event = calls_cutter_event;
    s->options.ctx = s->calls = calloc(1, sizeof *s->calls);
    return s->calls ? calls_cutter_init(s->calls, export_m_profile(s->options.source))
                    : BT_ERR_NOMEM;
}

static void side_free(struct side *s)
{
    if (!s)
        return;
    if (s->calls)
        calls_cutter_release(s->calls);
    free(s->calls);
    walk_close(&s->walk);
    counts_release(&s->counts);
    feedback_release(&s->feedback);
    free(s);
}

/* A decode that begins at raw byte `at`; `compared`: for that alone. */
static int side_new(const struct part *p, uint64_t at, bool compared, struct side **out)
{
    struct side *s = *out = calloc(1, sizeof *s);
    if (!s)
        return BT_ERR_NOMEM;
    s->at = at;
    s->options =
        (struct export_walk){.recording = p->recording, .source = p->source, .names = p->names};
    int error = p->file->pairs ? feedback_init(&s->feedback) : BT_OK;
    if (!error && p->file->pairs)
        feedback_follow(&s->feedback, &s->options, &s->counts);
    if (!error && p->file->calls)
        error = side_follow(s, compared);
    int opened = walk_open(&s->walk, &s->options, &s->counts);
    error = error ? error : opened;
    if (!error && compared)
        recording_range_like(&p->here->pass, at, &s->pass);
    else if (!error)
        error = recording_range_init(p->recording, p->source, at, &s->pass);
    if (!error && at)
        stream_start_at(&s->walk.stream, at);
    return error;
}

static int side_feed(struct part *p, struct side *s, uint64_t to)
{
    struct recording_sink sink = {.data = side_data, .gap = side_gap, .ctx = s};
    int error = BT_OK;
    if (to > s->at)
        error = recording_feed_range(p->recording, p->source, s->at, to, &sink, &s->pass);
    s->at = to;
    walk_settle(&s->walk);
    return error;
}

/* The true decode and the fresh one, up to the same place, to which the next bytes of both lead. */
static int feed_both(struct part *p, struct side *fresh, uint64_t to)
{
    int error = BT_OK;
    while (fresh->at < to && !error) {
        uint64_t end = fresh->waits && to - fresh->at > FIRST_MARK ? fresh->at + FIRST_MARK : to;
        error = side_feed(p, p->here, end);
        if (!error)
            error = side_feed(p, fresh, end);
        if (error || !fresh->waits || !fresh->first_length)
            continue;
        uint64_t offset = stream_offset(&p->here->walk.stream);
        stream_start_at(&fresh->walk.stream,
                        offset > fresh->first_length ? offset - fresh->first_length : 1);
        fresh->waits = false;
        error = walk_data(&fresh->walk, fresh->first, fresh->first_length);
        walk_settle(&fresh->walk);
    }
    return error;
}

/* Whatever follows, both count the same from here on. A gap at this very place is told once, and
 * once alone. */
static bool side_same(const struct part *p, const struct side *a, const struct side *b)
{
    const struct gap_entry *x = &a->walk.gaps.last, *y = &b->walk.gaps.last;
    uint64_t since = a->counts.number - x->position, since2 = b->counts.number - y->position;
    return !b->waits && !b->spoiled &&
           (!a->pass.formatted || formatter_same(&a->pass.formatter, &b->pass.formatter)) &&
           stream_joins(&a->walk.stream, &b->walk.stream) &&
           counts_same(&a->counts, &b->counts, stream_doubtful(&a->walk.stream)) &&
           ((since && since2) || (since == since2 && x->cause == y->cause)) &&
           (!p->file->pairs || feedback_same(&a->feedback, &b->feedback));
}

static void side_numbers(const struct side *s, uint64_t *n)
{
    const struct walk_state *w = &s->walk;
    n[COUNTS_RAW_BYTES] = s->pass.raw_bytes;
    n[COUNTS_BYTES] = stream_offset(&w->stream);
    n[COUNTS_SKIPPED] = w->stream.skipped;
    n[COUNTS_FRAMES] = s->pass.formatter.frames;
    n[COUNTS_FRAME_LOSSES] = s->pass.formatter.losses;
    n[COUNTS_PACKETS] = w->stream.packets;
    n[COUNTS_BLOCKS] = stream_blocks(&w->stream);
    n[COUNTS_INSTRUCTIONS] = stream_instructions(&w->stream);
    n[COUNTS_EXCEPTIONS] = w->exceptions;
    n[COUNTS_CYCLES] = stream_cycles(&w->stream);
    n[COUNTS_DROPPED] = stream_atoms_dropped(&w->stream);
    n[COUNTS_DOUBTFUL] = w->doubtful;
    n[COUNTS_TAKEN_BACK] = s->counts.taken_back;
    n[COUNTS_LEFT_OUT] = s->counts.left_out;
    n[COUNTS_PAIRS_LEFT_OUT] = s->feedback.left_out;
    for (unsigned cause = 0; cause < BT_GAP_CAUSES; cause++)
        n[COUNTS_GAPS + cause] = w->gaps.totals[cause];
}

static int segment_insns(struct part *p, struct counts_segment *out)
{
    int error = counts_table_add(&p->table, &p->here->counts);
    int taken = counts_table_take(&p->table, &out->insns, &out->insn_count);
    return error ? error : taken;
}

static int segment_pairs(struct side *s, struct counts_segment *out)
{
    struct feedback_pair *pairs = s->feedback.used ? calloc(s->feedback.used, sizeof *pairs) : NULL;
    if (s->feedback.used && !pairs)
        return BT_ERR_NOMEM;
    for (size_t i = 0; pairs && i < s->feedback.size; i++)
        if (s->feedback.pairs[i].count)
            pairs[out->pair_count++] = s->feedback.pairs[i];
    out->pairs = pairs;
    feedback_order(pairs, out->pair_count);
    return BT_OK;
}

static int segment_calls(struct side *s, struct counts_segment *out)
{
    return calls_cutter_end(s->calls, s->counts.number, s->counts.cycles, &out->calls);
}

/* A segment ends, and another one may begin, with counts of its own. */
static int part_segment(struct part *p)
{
    struct side *s = p->here;
    uint64_t now[COUNTS_NUMBERS];
    int error = BT_OK;
    code_cache_report_times(&s->walk.code);
    side_numbers(s, now);
    if (p->counted) {
        struct counts_segment *out = &p->out->segments[p->out->segment_count++];
        for (unsigned i = 0; i < COUNTS_NUMBERS; i++)
            out->numbers[i] = now[i] - p->numbers[i];
        error = segment_insns(p, out);
        if (!error && p->file->pairs)
            error = segment_pairs(s, out);
        if (!error && p->file->calls)
            error = segment_calls(s, out);
    }
    if (p->file->calls)
        calls_cutter_begin(s->calls, s->counts.number, s->counts.cycles);
    p->counted = true;
    counts_clear(&s->counts);
    feedback_clear(&s->feedback);
    side_numbers(s, p->numbers);
    return error;
}

/* The end of the recording. */
static int part_finish(struct part *p)
{
    walk_finish(&p->here->walk);
    if (p->file->pairs)
        feedback_close(&p->here->feedback);
    p->out->next = p->file->parts;
    p->out->mark = 0;
    return BT_OK;
}

/* Decodes the next part's head, as long as it is not seen that that goes on alike. */
static int part_meet(struct part *p, uint64_t next, bool *met)
{
    struct side *fresh = NULL;
    *met = false;
    int error = side_feed(p, p->here, part_cut(p, next));
    if (error || !part_mark(p, next, 0) || !stream_can_join(&p->source->config))
        return error;
    error = side_new(p, part_cut(p, next), true, &fresh);
    if (!error)
        fresh->waits = true;
    for (unsigned k = 0; !error && !*met && part_mark(p, next, k); k++) {
        error = feed_both(p, fresh, part_mark(p, next, k));
        *met = !error && side_same(p, p->here, fresh);
        p->out->next = next;
        p->out->mark = k;
    }
    side_free(fresh);
    return error;
}

/* From the begin of the recording, or (`cut`) from the part's. */
static int part_run(struct part *p, bool cut)
{
    uint64_t part = p->file->part, parts = p->file->parts;
    bool met = false;
    int error = side_new(p, cut ? part_cut(p, part) : 0, false, &p->here);
    if (!error && part == 0)
        error = part_segment(p);
    for (unsigned k = 0; part && !error && part_mark(p, part, k); k++) {
        error = side_feed(p, p->here, part_mark(p, part, k));
        if (!error)
            error = part_segment(p);
        if (k == 0)
            stream_save(&p->here->walk.stream, &p->mark);
    }
    for (uint64_t next = part + 1; !error && !met && next < parts; next++)
        error = part_meet(p, next, &met);
    if (!error && !met)
        error = side_feed(p, p->here, UINT64_MAX);
    if (!error && !met)
        error = part_finish(p);
    return error ? error : part_segment(p);
}

static void part_forget(struct part *p)
{
    side_free(p->here);
    p->here = NULL;
    for (size_t k = 0; k < p->out->segment_count; k++)
        counts_segment_release(&p->out->segments[k]);
    memset(p->out->segments, 0, sizeof p->out->segments);
    p->out->segment_count = 0;
    p->counted = false;
}

int part_count(const struct counts_file *f, struct recording *r,
               const struct recording_source *source, const struct export_names *names,
               struct counts_source *out)
{
    struct part p = {.file = f, .recording = r, .source = source, .names = names, .out = out};
    out->name = strdup(source->name);
    out->core = strdup(source->core_name);
    out->formatted = source->buffer->format != SNAPSHOT_FORMAT_SOURCE_DATA;
    out->m_profile = f->calls && export_m_profile(source);
    out->next = f->parts;
    if (!out->name || !out->core)
        return BT_ERR_NOMEM;
    bool later = f->part > 0;
    if (later && (!part_mark(&p, f->part, 0) || !stream_can_join(&source->config)))
        return BT_OK; /* the part before goes on through this one */
    int error = part_run(&p, later);
    if (!error && later && stream_reached_back(&p.mark, &p.here->walk.stream)) {
        part_forget(&p);
        error = part_run(&p, false);
    }
    side_free(p.here);
    counts_table_release(&p.table);
    return error;
}

bool part_parse(const char *text, uint64_t *part, uint64_t *parts)
{
    unsigned long long i, n;
    char rest, first = *text;
    if (first < '1' || first > '9' || sscanf(text, "%8llu/%8llu%c", &i, &n, &rest) != 2)
        return false;
    *part = i - 1;
    *parts = n;
    return i <= n && n <= COUNTS_FILE_PARTS;
}
