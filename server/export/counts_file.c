/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/counts_file.h"
#include "drivers/base/file_load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC      "btraced counts 2\n" /* the format's version is in it */
#define OLD_MAGIC  "btraced counts 1\n" /* has no calls, and is a form of the other otherwise */
#define MAGIC_SIZE (sizeof MAGIC - 1)
#define TEXT_MAX   4096
#define MANY       4096 /* sources and programs */
#define ROW_LEAST  10   /* bytes of an instruction's counts */
#define PAIR_LEAST 4
#define CALL_LEAST 7 /* of a path */
#define STEP_LEAST 6
#define OPEN_LEAST 5 /* of a call that is open */

_Static_assert(COUNTS_FILE_ID == SHA256_DIGEST_LENGTH, "an ID is a SHA-256");

void counts_segment_release(struct counts_segment *s)
{
    free(s->insns);
    free(s->pairs);
    calls_piece_release(&s->calls);
}

void counts_file_release(struct counts_file *f)
{
    for (size_t i = 0; i < f->source_count; i++) {
        for (size_t k = 0; k < f->sources[i].segment_count; k++)
            counts_segment_release(&f->sources[i].segments[k]);
        free(f->sources[i].name);
        free(f->sources[i].core);
    }
    for (size_t i = 0; i < f->program_count; i++)
        free(f->programs[i].name);
    free(f->sources);
    free(f->programs);
    free(f->run);
    memset(f, 0, sizeof *f);
}

/* Writing, to memory. */

static void put_number(FILE *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        putc_unlocked((int)(value & 0x7f) | 0x80, out);
    putc_unlocked((int)value, out);
}

/* Small ones below 0 are short, too. */
static void put_signed(FILE *out, uint64_t value)
{
    put_number(out, value << 1 ^ (value >> 63 ? UINT64_MAX : 0));
}

static void put_text(FILE *out, const char *text)
{
    put_number(out, strlen(text));
    fputs(text, out);
}

/* A parent, or another row before number `at`; 0: none. */
static void put_row(FILE *out, uint32_t row, size_t at)
{
    put_number(out, row == CALLS_NO_PATH ? 0 : at - row);
}

static void put_call(FILE *out, const struct calls_path *row, size_t at)
{
    put_row(out, row->parent, at);
    put_signed(out, (uint64_t)(int64_t)row->exception);
    put_number(out, row->function);
    put_number(out, row->site);
    put_number(out, row->calls);
    put_number(out, row->self);
    put_number(out, row->self_cycles);
}

static void put_step(FILE *out, const struct calls_step *s)
{
    putc_unlocked(s->op, out);
    put_number(out, s->rows);
    put_number(out, s->function);
    put_number(out, s->deepest);
    put_number(out, s->frames);
    put_number(out, s->absent);
    if (s->op == CALLS_OP_EXCEPTION)
        put_number(out, (uint64_t)s->exception);
    if (s->op < CALLS_OP_TRANSFER)
        return;
    put_number(out, s->from);
    put_signed(out, s->to - s->from);
    put_signed(out, s->target - s->to);
    put_signed(out, s->behind - s->from);
    putc_unlocked(s->closed ? 1 : 0, out);
}

static void put_calls(FILE *out, const struct calls_piece *p)
{
    size_t frame = 0, absent = 0;
    put_number(out, p->row_count);
    for (size_t i = 0; i < p->row_count; i++)
        put_call(out, &p->rows[i], i);
    put_number(out, p->frame_count);
    put_number(out, p->absent_count);
    put_number(out, p->step_count);
    for (size_t i = 0; i < p->step_count; i++) {
        const struct calls_step *s = &p->steps[i];
        put_step(out, s);
        for (size_t end = frame + s->frames; frame < end; frame++) {
            const struct calls_frame *f = &p->frames[frame];
            put_row(out, f->path, s->rows);
            put_signed(out, (uint64_t)(int64_t)f->exception);
            put_number(out, f->function);
            put_signed(out, f->return_address - f->function);
            putc_unlocked((f->tail ? 1 : 0) | (f->begun ? 2 : 0), out);
        }
        for (size_t end = absent + s->absent; absent < end; absent++)
            put_number(out, p->absent[absent]);
    }
}

static void put_segment(FILE *out, const struct counts_file *f, const struct counts_segment *s)
{
    uint64_t address = 0;
    for (unsigned i = 0; i < COUNTS_NUMBERS; i++)
        put_signed(out, s->numbers[i]);
    put_number(out, s->insn_count);
    for (size_t i = 0; i < s->insn_count; i++) {
        const struct counts_insn *n = &s->insns[i];
        put_number(out, n->address - address);
        putc_unlocked(n->isa, out);
        putc_unlocked(n->size, out);
        putc_unlocked(n->cls, out);
        putc_unlocked(n->flags, out);
        put_signed(out, n->target - n->address);
        put_signed(out, n->count);
        put_signed(out, n->passed);
        put_signed(out, n->failed);
        put_signed(out, n->cycles);
        address = n->address;
    }
    address = 0;
    put_number(out, s->pair_count);
    for (size_t i = 0; i < s->pair_count; i++) {
        const struct feedback_pair *p = &s->pairs[i];
        putc_unlocked(p->branch ? 1 : 0, out);
        put_signed(out, p->from - address);
        put_signed(out, p->to - p->from);
        put_number(out, p->count);
        address = p->from;
    }
    if (f->calls)
        put_calls(out, &s->calls);
}

static void put_source(FILE *out, const struct counts_file *f, const struct counts_source *s)
{
    put_text(out, s->name);
    put_text(out, s->core);
    putc_unlocked((s->formatted ? 1 : 0) | (s->m_profile ? 2 : 0), out);
    put_number(out, s->next);
    put_number(out, s->mark);
    put_number(out, s->segment_count);
    for (size_t k = 0; k < s->segment_count; k++)
        put_segment(out, f, &s->segments[k]);
}

static void put_all(FILE *out, const struct counts_file *f)
{
    fputs(MAGIC, out);
    put_number(out, COUNTS_NUMBERS);
    put_text(out, f->run);
    fwrite(f->recording, 1, sizeof f->recording, out);
    put_number(out, f->part);
    put_number(out, f->parts);
    putc_unlocked((f->pairs ? 1 : 0) | (f->calls ? 2 : 0), out);
    put_number(out, f->program_count);
    for (size_t i = 0; i < f->program_count; i++) {
        put_text(out, f->programs[i].name);
        fwrite(f->programs[i].id, 1, sizeof f->programs[i].id, out);
    }
    put_number(out, f->source_count);
    for (size_t i = 0; i < f->source_count; i++)
        put_source(out, f, &f->sources[i]);
}

int counts_file_encode(const struct counts_file *f, uint8_t **data, size_t *size)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return BT_ERR_NOMEM;
    put_all(out, f);
    bool failed = fflush(out) != 0;
    uint8_t sum[SHA256_DIGEST_LENGTH];
    if (!failed) {
        SHA256((const uint8_t *)text, length, sum);
        fwrite(sum, 1, sizeof sum, out);
    }
    failed |= ferror(out) != 0;
    failed |= fclose(out) != 0;
    if (failed) {
        free(text);
        return BT_ERR_NOMEM;
    }
    *data = (uint8_t *)text;
    *size = length;
    return BT_OK;
}

/* Reading. */

struct reader {
    const uint8_t *begin;
    const uint8_t *p;
    const uint8_t *end;
    struct message *why;
    int error; /* the first one */
};

static size_t reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->p);
}

/* What is wrong here; the rest is not read. */
static void reader_fail(struct reader *r, const char *expected)
{
    if (!r->error)
        r->error = message_fail(r->why, BT_ERR_FORMAT, "byte 0x%zx: expected %s",
                                (size_t)(r->p - r->begin), expected);
    r->p = r->end;
}

static void reader_no_memory(struct reader *r)
{
    if (!r->error)
        r->error = message_fail(r->why, BT_ERR_NOMEM, "%s", bt_strerror(BT_ERR_NOMEM));
    r->p = r->end;
}

/* At most `most`. */
static uint64_t take_number(struct reader *r, uint64_t most, const char *expected)
{
    const uint8_t *begin = r->p;
    uint64_t value = 0;
    for (unsigned shift = 0; r->p < r->end && shift < 64; shift += 7) {
        uint8_t byte = *r->p++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (value <= most)
            return value;
        break;
    }
    r->p = begin;
    reader_fail(r, expected);
    return 0;
}

static uint64_t take_any(struct reader *r)
{
    return take_number(r, UINT64_MAX, "a number of at most 64 bits");
}

static uint64_t take_signed(struct reader *r)
{
    uint64_t value = take_any(r);
    return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

static uint8_t take_byte(struct reader *r, unsigned most, const char *expected)
{
    if (r->p < r->end && *r->p <= most)
        return *r->p++;
    reader_fail(r, expected);
    return 0;
}

static void take_id(struct reader *r, uint8_t *id)
{
    if (reader_left(r) < COUNTS_FILE_ID) {
        reader_fail(r, "an ID of 32 bytes");
        return;
    }
    memcpy(id, r->p, COUNTS_FILE_ID);
    r->p += COUNTS_FILE_ID;
}

static char *take_text(struct reader *r)
{
    size_t n = (size_t)take_number(r, TEXT_MAX, "the length of a name, up to 4096");
    if (n > reader_left(r)) {
        reader_fail(r, "a name");
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (r->p[i] < ' ' || r->p[i] == 0x7f) {
            reader_fail(r, "a name without control characters");
            n = 0;
        }
    }
    char *text = strndup((const char *)r->p, n);
    if (!text)
        reader_no_memory(r);
    r->p += n;
    return text;
}

/* How many items of at least `least` bytes follow, in an array for them. NULL: none. */
static void *take_array(struct reader *r, size_t least, size_t size, size_t *count)
{
    size_t n = (size_t)take_number(r, reader_left(r) / least, "no more items than there are bytes");
    void *items = n ? calloc(n, size) : NULL;
    if (n && !items) {
        reader_no_memory(r);
        n = 0;
    }
    *count = n;
    return items;
}

static void take_insn(struct reader *r, struct counts_insn *n, const struct counts_insn *before)
{
    n->address = (before ? before->address : 0) + take_any(r);
    n->isa = take_byte(r, BT_ISA_A64, "an instruction set");
    n->size = take_byte(r, 4, "an instruction's size, 2 or 4");
    n->cls = take_byte(r, UINT8_MAX, "an instruction's class");
    n->flags = take_byte(r, UINT8_MAX, "an instruction's properties");
    n->target = n->address + take_signed(r);
    n->count = take_signed(r);
    n->passed = take_signed(r);
    n->failed = take_signed(r);
    n->cycles = take_signed(r);
    if (n->size != 2 && n->size != 4)
        reader_fail(r, "an instruction of 2 or 4 bytes");
    if (before &&
        (n->address < before->address || (n->address == before->address && n->isa <= before->isa)))
        reader_fail(r, "instructions in the order of their addresses");
}

static void take_pair(struct reader *r, struct feedback_pair *p, uint64_t address)
{
    p->branch = take_byte(r, 1, "0 for a range or 1 for a branch");
    p->from = address + take_signed(r);
    p->to = p->from + take_signed(r);
    p->count = take_any(r);
    if (!p->count)
        reader_fail(r, "a count above 0");
}

/* At most `most` below 0. */
static int32_t take_exception(struct reader *r, int64_t most)
{
    int64_t value = (int64_t)take_signed(r);
    if (value < -most || value > UINT16_MAX)
        reader_fail(r, "an exception's number");
    return (int32_t)value;
}

static uint32_t take_row(struct reader *r, size_t at)
{
    uint64_t back = take_number(r, at, "a path that stands before");
    return back ? (uint32_t)(at - back) : CALLS_NO_PATH;
}

static void take_call(struct reader *r, struct calls_path *row, size_t at)
{
    row->parent = take_row(r, at);
    row->exception = take_exception(r, -CALLS_ROW_BASE);
    row->function = take_any(r);
    row->site = take_any(r);
    row->calls = take_any(r);
    row->self = take_any(r);
    row->self_cycles = take_any(r);
    if (row->exception != -1 && row->parent != CALLS_NO_PATH)
        reader_fail(r, "an exception without a caller");
}

static void take_frame(struct reader *r, struct calls_frame *f, size_t rows)
{
    f->path = take_row(r, rows);
    f->exception = take_exception(r, 1);
    f->function = take_any(r);
    f->return_address = f->function + take_signed(r);
    uint8_t flags = take_byte(r, 3, "0 to 3: how a call was begun");
    f->tail = flags & 1;
    f->begun = flags & 2;
}

static void take_step(struct reader *r, struct calls_step *s, size_t rows, size_t before)
{
    s->op = take_byte(r, CALLS_OPS - 1, "how a step ends");
    s->rows = take_number(r, rows, "a number of paths, all of them at most");
    s->function = take_any(r);
    s->deepest = (uint32_t)take_number(r, CALLS_DEPTH, "a number of open calls");
    s->frames = (uint32_t)take_number(r, s->deepest, "a number of open calls");
    s->absent = (uint32_t)take_number(r, UINT32_MAX, "a number of addresses");
    if (s->op == CALLS_OP_EXCEPTION)
        s->exception = (int32_t)take_number(r, UINT16_MAX, "an exception's number");
    if (s->rows <= before)
        reader_fail(r, "a path of the step");
    if (s->op < CALLS_OP_TRANSFER)
        return;
    s->from = take_any(r);
    s->to = s->from + take_signed(r);
    s->target = s->to + take_signed(r);
    s->behind = s->from + take_signed(r);
    s->closed = take_byte(r, 1, "0 or 1: an exception was closed");
}

/* The steps use up all there is, and the last one is the end. */
static void take_steps(struct reader *r, struct calls_piece *p)
{
    size_t frames = 0, absent = 0, rows = 0;
    for (size_t i = 0; i < p->step_count && !r->error; i++) {
        struct calls_step *s = &p->steps[i];
        take_step(r, s, p->row_count, rows);
        if (s->frames > p->frame_count - frames || s->absent > p->absent_count - absent ||
            (s->op == CALLS_OP_END) != (i + 1 == p->step_count))
            reader_fail(r, "a step of so many");
        for (uint32_t k = 0; k < s->frames && !r->error; k++)
            take_frame(r, &p->frames[frames++], s->rows);
        for (uint32_t k = 0; k < s->absent && !r->error; k++)
            p->absent[absent++] = take_any(r);
        rows = s->rows;
    }
    if (!p->step_count || frames != p->frame_count || absent != p->absent_count ||
        rows != p->row_count)
        reader_fail(r, "steps for all calls");
}

static void take_calls(struct reader *r, struct calls_piece *p)
{
    p->rows = take_array(r, CALL_LEAST, sizeof *p->rows, &p->row_count);
    if (p->row_count > CALLS_PIECE_ROWS)
        reader_fail(r, "at most 262144 paths");
    for (size_t i = 0; i < p->row_count && !r->error; i++)
        take_call(r, &p->rows[i], i);
    p->frame_count = (size_t)take_number(r, reader_left(r) / OPEN_LEAST, "a number of open calls");
    p->absent_count = (size_t)take_number(r, reader_left(r), "a number of addresses");
    p->steps = take_array(r, STEP_LEAST, sizeof *p->steps, &p->step_count);
    p->frames = calloc(p->frame_count + 1, sizeof *p->frames);
    p->absent = calloc(p->absent_count + 1, sizeof *p->absent);
    if (!p->frames || !p->absent)
        reader_no_memory(r);
    else
        take_steps(r, p);
}

static void take_segment(struct reader *r, const struct counts_file *f, struct counts_segment *s)
{
    for (unsigned i = 0; i < COUNTS_NUMBERS; i++)
        s->numbers[i] = take_signed(r);
    s->insns = take_array(r, ROW_LEAST, sizeof *s->insns, &s->insn_count);
    for (size_t i = 0; i < s->insn_count && !r->error; i++)
        take_insn(r, &s->insns[i], i ? &s->insns[i - 1] : NULL);
    s->pairs = take_array(r, PAIR_LEAST, sizeof *s->pairs, &s->pair_count);
    if (s->pair_count && !f->pairs)
        reader_fail(r, "no ranges and branches in a file that has none");
    for (size_t i = 0; i < s->pair_count && !r->error; i++)
        take_pair(r, &s->pairs[i], i ? s->pairs[i - 1].from : 0);
    if (f->calls)
        take_calls(r, &s->calls);
}

static void take_source(struct reader *r, const struct counts_file *f, struct counts_source *s)
{
    s->name = take_text(r);
    s->core = take_text(r);
    uint8_t flags = take_byte(r, f->calls ? 3 : 1, "0 or 1: formatted");
    s->formatted = flags & 1;
    s->m_profile = flags & 2;
    s->next = take_number(r, f->parts, "the next part, up to the number of parts");
    s->mark = take_number(r, COUNTS_FILE_MARKS - 1, "a mark of the next part");
    if (s->next <= f->part || (s->next == f->parts && s->mark))
        reader_fail(r, "a part that follows");
    size_t count = (size_t)take_number(r, COUNTS_FILE_MARKS, "a number of segments, up to 15");
    if (f->part == 0 && count != 1)
        reader_fail(r, "one segment of the first part");
    for (; s->segment_count < count && !r->error; s->segment_count++)
        take_segment(r, f, &s->segments[s->segment_count]);
}

static bool is_counts(const uint8_t *data, size_t size)
{
    return size >= MAGIC_SIZE &&
           (memcmp(data, MAGIC, MAGIC_SIZE) == 0 || memcmp(data, OLD_MAGIC, MAGIC_SIZE) == 0);
}

static void take_all(struct reader *r, struct counts_file *f)
{
    if (!is_counts(r->p, reader_left(r))) {
        reader_fail(r, "'btraced counts 2', or 1: this is no file of counts, or a newer one");
        return;
    }
    bool old = memcmp(r->p, OLD_MAGIC, MAGIC_SIZE) == 0;
    r->p += MAGIC_SIZE;
    if (take_any(r) != COUNTS_NUMBERS)
        reader_fail(r, "the numbers of this version of btraced");
    f->run = take_text(r);
    take_id(r, f->recording);
    f->part = take_number(r, COUNTS_FILE_PARTS - 1, "a part's number");
    f->parts = take_number(r, COUNTS_FILE_PARTS, "a number of parts");
    if (f->part >= f->parts)
        reader_fail(r, "a part of so many");
    uint8_t flags = take_byte(r, old ? 1 : 2, "0, 1 for ranges and branches, or 2 for calls");
    f->pairs = flags == 1;
    f->calls = flags == 2;
    f->programs = take_array(r, 1 + COUNTS_FILE_ID, sizeof *f->programs, &f->program_count);
    for (size_t i = 0; i < f->program_count && !r->error; i++) {
        f->programs[i].name = take_text(r);
        take_id(r, f->programs[i].id);
    }
    size_t least = 6 > reader_left(r) / MANY ? 6 : reader_left(r) / MANY; /* at most MANY */
    f->sources = take_array(r, least, sizeof *f->sources, &f->source_count);
    for (size_t i = 0; i < f->source_count && !r->error; i++)
        take_source(r, f, &f->sources[i]);
    if (r->p != r->end)
        reader_fail(r, "the end");
}

int counts_file_decode_unchecked(const uint8_t *data, size_t size, struct counts_file *out,
                                 struct message *why)
{
    struct reader r = {data, data, data + size, why, BT_OK};
    memset(out, 0, sizeof *out);
    take_all(&r, out);
    return r.error;
}

int counts_file_decode(const uint8_t *data, size_t size, struct counts_file *out,
                       struct message *why)
{
    uint8_t sum[SHA256_DIGEST_LENGTH];
    memset(out, 0, sizeof *out);
    if (!is_counts(data, size))
        return counts_file_decode_unchecked(data, size, out, why);
    size_t length = size < sizeof sum ? 0 : size - sizeof sum;
    SHA256(data, length, sum);
    if (memcmp(sum, data + length, size - length) != 0)
        return message_fail(why, BT_ERR_FORMAT,
                            "the checksum of %zu bytes is wrong: it was cut off or changed", size);
    return counts_file_decode_unchecked(data, length, out, why);
}

int counts_file_read(const char *path, struct counts_file *out, struct message *why)
{
    char *data = NULL;
    size_t size;
    memset(out, 0, sizeof *out);
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* a pipe is waited for */
    int error = fd < 0 ? BT_ERR_IO : file_load(fd, SIZE_MAX, &data, &size);
    if (error)
        message_set(why, "cannot read '%s': %s", path,
                    error == BT_ERR_IO ? strerror(errno) : bt_strerror(error));
    else if ((error = counts_file_decode((const uint8_t *)data, size, out, why)))
        message_set(why, "'%s': %s", path, why->text);
    free(data);
    if (fd >= 0)
        close(fd);
    return error;
}

int counts_file_write(const char *path, const struct counts_file *f, struct message *why)
{
    uint8_t *data = NULL;
    size_t size = 0;
    char *made = NULL;
    int error = counts_file_encode(f, &data, &size);
    /* What others look at is whole. A device or a pipe stays one, and a link leads there. */
    struct stat there;
    bool apart = lstat(path, &there) != 0 || S_ISREG(there.st_mode);
    char end[24] = "";
    if (apart)
        snprintf(end, sizeof end, ".%ld", (long)getpid());
    if (!error && asprintf(&made, "%s%s", path, end) < 0)
        error = BT_ERR_NOMEM;
    if (error) {
        free(data);
        return message_default(why, error);
    }
    FILE *out = fopen(made, "wbe");
    bool failed = !out || fwrite(data, 1, size, out) != size;
    failed |= out && fclose(out) != 0;
    failed = failed || (apart && rename(made, path) != 0);
    if (failed) {
        error = message_fail(why, BT_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
        if (out && apart)
            unlink(made);
    }
    free(made);
    free(data);
    return error;
}
