/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does OpenCSD's lister (trc_pkt_lister) read what the writer writes? Recordings made from nothing,
 * and copies of real ones (read by snapshot_open, written by the writer), of which the lister must
 * say what it says of the original.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/snapshot/snapshot.h"
#include "drivers/snapshot/snapshot_writer.h"

static int failures(int more)
{
    static int count;
    return count += more;
}

static void pass(const char *name)
{
    printf("PASS %s\n", name);
}

static void fail(const char *name, const char *why)
{
    printf("FAIL %s: %s\n", name, why);
    failures(1);
}

/* Start the lister on one buffer of a recording. */
static FILE *start_lister(const char *folder, const char *buffer)
{
    char command[1024];
    /* It always writes a log file, too, where it runs unless told otherwise. */
    snprintf(command, sizeof command,
             "trc_pkt_lister -ss_dir '%s' -src_name '%s' -decode -logstdout -logfilename /dev/null "
             "2>&1",
             folder, buffer);
    return popen(command, "r");
}

/* The next line of the lister that begins with "Idx:": a packet or an element. */
static bool next_item(FILE *f, char **line, size_t *room)
{
    while (getline(line, room, f) > 0)
        if (strncmp(*line, "Idx:", 4) == 0)
            return true;
    return false;
}

/* Recordings made here. */

/* 8000: nop; 8004: b 8000. */
static const uint8_t loop_code[] = {0x00, 0x00, 0xa0, 0xe1, 0xfd, 0xff, 0xff, 0xea};

#define LOOP_RANGE "INSTR_RANGE(exec range=0x8000:[0x8008] num_i(2)"
#define LOOPS      9

/* A-sync, I-sync at 8000 (A32, secure, trace on), one E atom a round: PFT 1.1. */
static const uint8_t loop_trace[21] = {
    0x00, 0x00, 0x00, 0x00, 0x00, 0x80,                   /* A-sync */
    0x08, 0x00, 0x80, 0x00, 0x00, 0x21,                   /* I-sync */
    0x84, 0x84, 0x84, 0x84, 0x84, 0x84, 0x84, 0x84, 0x84, /* atoms */
};

struct recording {
    struct snapshot_writer *writer;
    int core[2];
    int source[2];
    int buffer;
    int errors; /* of the writer */
};

static void describe_core(struct recording *r, int n)
{
    char core[16], source[16];
    snprintf(core, sizeof core, "cpu_%d", n);
    snprintf(source, sizeof source, "PTM_%d", n);
    const struct snapshot_writer_device core_device = {
        .name = core, .class_name = "core", .type = "Cortex-A9"};
    const struct snapshot_writer_device source_device = {
        .name = source, .class_name = "trace_source", .type = "PTM1.1"};
    struct snapshot_writer *w = r->writer;
    r->core[n] = snapshot_writer_add_device(w, &core_device);
    r->source[n] = snapshot_writer_add_device(w, &source_device);
    int s = r->source[n];
    r->errors += snapshot_writer_set_reg(w, s, "ETMCR", 0x000, 32, 0x400) != 0;
    r->errors += snapshot_writer_set_reg(w, s, "ETMIDR", 0x079, 32, 0x411cf312) != 0;
    r->errors += snapshot_writer_set_reg(w, s, "ETMCCER", 0x07a, 32, 0x34c01ac2) != 0;
    r->errors += snapshot_writer_set_reg(w, s, "ETMTRACEIDR", 0x080, 32, 0x10 + (uint64_t)n) != 0;
    r->errors += snapshot_writer_add_source(w, s, r->buffer, r->core[n]) != 0;
}

/* A recording of `cores` cores that run the loop, all in one buffer. */
static bool start_recording(struct recording *r, const char *folder, const char *format, int cores)
{
    *r = (struct recording){0};
    if (snapshot_writer_create(folder, "loop of two instructions", &r->writer) != 0)
        return false;
    r->buffer = snapshot_writer_add_buffer(r->writer, "ETB_0", format);
    for (int i = 0; i < cores; i++)
        describe_core(r, i);
    r->errors += snapshot_writer_add_dump(r->writer, r->core[0], 0x8000, "", loop_code,
                                          sizeof loop_code) != 0;
    if (cores > 1)
        r->errors += snapshot_writer_share_dump(r->writer, r->core[1]) != 0;
    r->errors += snapshot_writer_commit(r->writer) != 0;
    return r->errors == 0;
}

/* Count the loop's ranges of one trace ID, as the lister prints it ("ID:10;"). */
static int count_ranges(const char *folder, const char *id)
{
    FILE *f = start_lister(folder, "ETB_0");
    if (!f)
        return -1;
    char *line = NULL;
    size_t room = 0;
    int count = 0;
    while (next_item(f, &line, &room))
        if (strstr(line, LOOP_RANGE) && strstr(line, id))
            count++;
    free(line);
    return pclose(f) == 0 ? count : -1;
}

static void expect_ranges(const char *name, const char *folder, const char *id, int expected)
{
    int count = count_ranges(folder, id);
    char why[64];
    snprintf(why, sizeof why, "%d rounds decoded, not %d", count, expected);
    if (count == expected)
        pass(name);
    else
        fail(name, why);
}

static void check_source_data(const char *folder)
{
    const char *name = "snapshot_opencsd: one source without frames";
    struct recording r;
    if (!start_recording(&r, folder, "source_data", 1)) {
        fail(name, "writer refused");
        return;
    }
    for (size_t i = 0; i < sizeof loop_trace; i++)
        r.errors += snapshot_writer_append(r.writer, r.buffer, &loop_trace[i], 1) != 0;
    /* Still open: the recording must be readable as it is. */
    if (r.errors != 0)
        fail(name, "append failed");
    else
        expect_ranges(name, folder, "ID:10;", LOOPS);
    if (snapshot_writer_close(r.writer) != 0)
        fail(name, "close failed");
}

/* A frame (CoreSight formatter) of 14 bytes of one source. */
static void make_frame(uint8_t frame[16], uint8_t id, const uint8_t *data)
{
    memset(frame, 0, 16);
    frame[0] = (uint8_t)(id << 1 | 1);
    for (int i = 1; i < 15; i++) {
        uint8_t byte = data[i - 1];
        if (i % 2 == 0) {
            frame[15] |= (uint8_t)((byte & 1) << (i / 2));
            byte &= 0xfe;
        }
        frame[i] = byte;
    }
}

static void check_frames(const char *folder)
{
    struct recording r;
    if (!start_recording(&r, folder, "coresight", 2)) {
        fail("snapshot_opencsd: two sources in frames", "writer refused");
        return;
    }
    /* Two frames a source, interleaved; the atoms of the second frame fill it: 7 more. */
    uint8_t stream[28];
    memset(stream, 0x84, sizeof stream);
    memcpy(stream, loop_trace, sizeof loop_trace);
    for (int half = 0; half < 2; half++) {
        for (uint8_t id = 0x10; id <= 0x11; id++) {
            uint8_t frame[16];
            make_frame(frame, id, stream + 14 * half);
            r.errors += snapshot_writer_append(r.writer, r.buffer, frame, sizeof frame) != 0;
        }
    }
    if (snapshot_writer_close(r.writer) != 0 || r.errors != 0)
        fail("snapshot_opencsd: two sources in frames", "append or close failed");
    expect_ranges("snapshot_opencsd: first of two sources in frames", folder, "ID:10;", 16);
    expect_ranges("snapshot_opencsd: second of two sources in frames", folder, "ID:11;", 16);
}

/* A recording that was cut off in the middle: what is whole is decoded. */
static void check_cut_off(const char *folder)
{
    const char *name = "snapshot_opencsd: cut off in the middle";
    struct recording r;
    if (!start_recording(&r, folder, "source_data", 1)) {
        fail(name, "writer refused");
        return;
    }
    if (snapshot_writer_append(r.writer, r.buffer, loop_trace, sizeof loop_trace - 4) != 0)
        fail(name, "append failed");
    else
        expect_ranges(name, folder, "ID:10;", LOOPS - 4);
    snapshot_writer_close(r.writer);
}

/* Copies of real recordings. */

static int copy_device(struct snapshot *snap, const struct snapshot_device *from,
                       struct snapshot_writer *w)
{
    const struct snapshot_writer_device dev = {
        .name = from->name, .class_name = from->class_name, .type = from->type};
    int n = snapshot_writer_add_device(w, &dev);
    int errors = n < 0;
    for (size_t i = 0; i < from->reg_count; i++) {
        const struct snapshot_reg *reg = &from->regs[i];
        uint32_t index = reg->has_index ? reg->index : SNAPSHOT_WRITER_NO_INDEX;
        errors +=
            snapshot_writer_set_reg(w, n, reg->name, index, reg->size == 64 ? 64 : 32, reg->value);
    }
    for (size_t i = 0; i < from->dump_count; i++) {
        const struct snapshot_dump *dump = &from->dumps[i];
        const uint8_t *data;
        errors += snapshot_map_dump(snap, dump, &data) != 0 ||
                  snapshot_writer_add_dump(w, n, dump->address, dump->space, data,
                                           (size_t)dump->length) != 0;
    }
    return errors;
}

static int device_number(const struct snapshot *snap, const struct snapshot_device *dev)
{
    return dev ? (int)(dev - snap->devices) : -1;
}

static int copy_recording(struct snapshot *snap, const char *folder)
{
    struct snapshot_writer *w;
    if (snapshot_writer_create(folder, NULL, &w) != 0)
        return 1;
    int errors = 0;
    for (size_t i = 0; i < snap->device_count; i++)
        errors += copy_device(snap, &snap->devices[i], w);
    for (size_t i = 0; i < snap->buffer_count; i++)
        errors += snapshot_writer_add_buffer(w, snap->buffers[i].name,
                                             snap->buffers[i].format_name) != (int)i;
    for (size_t i = 0; i < snap->source_buffer_count; i++) {
        const struct snapshot_source_buffer *link = &snap->source_buffers[i];
        errors +=
            snapshot_writer_add_source(
                w, device_number(snap, snapshot_device(snap, link->source)), (int)link->buffer,
                device_number(snap, snapshot_core_of(snap, link->source))) != 0;
    }
    errors += snapshot_writer_commit(w) != 0;
    for (size_t i = 0; i < snap->buffer_count; i++) {
        const uint8_t *data;
        uint64_t size;
        errors += snapshot_map_buffer(snap, &snap->buffers[i], 0, &data, &size) != 0 ||
                  snapshot_writer_append(w, (int)i, data, (size_t)size) != 0;
    }
    return errors + (snapshot_writer_close(w) != 0);
}

/* Of a long recording the lister prints millions of lines: so many are compared. */
#define MAX_LINES 100000

/* Lines that both listings have in common, or -1 if they differ. */
static long compare_listings(const char *original, const char *copy, const char *buffer)
{
    FILE *a = start_lister(original, buffer);
    FILE *b = start_lister(copy, buffer);
    char *line_a = NULL, *line_b = NULL;
    size_t room_a = 0, room_b = 0;
    long lines = 0;
    while (a && b && lines >= 0 && lines < MAX_LINES) {
        bool more_a = next_item(a, &line_a, &room_a);
        bool more_b = next_item(b, &line_b, &room_b);
        if (!more_a && !more_b)
            break;
        lines = more_a && more_b && strcmp(line_a, line_b) == 0 ? lines + 1 : -1;
    }
    free(line_a);
    free(line_b);
    if (!a || !b)
        lines = -1;
    if (a)
        pclose(a);
    if (b)
        pclose(b);
    return lines;
}

static void check_copy(const char *original, const char *short_name, const char *folder)
{
    char name[512];
    struct snapshot *snap;
    struct message err;
    if (snapshot_open(original, &snap, &err) != 0) {
        fail(short_name, err.text);
        return;
    }
    int errors = copy_recording(snap, folder);
    for (size_t i = 0; i < snap->buffer_count; i++) {
        const struct snapshot_buffer *buffer = &snap->buffers[i];
        snprintf(name, sizeof name, "snapshot_opencsd: copy of %s, %s", short_name, buffer->name);
        if (errors != 0)
            fail(name, "cannot be copied");
        else if (compare_listings(original, folder, buffer->name) <= 0)
            fail(name, "the lister says something else, or nothing");
        else
            pass(name);
    }
    snapshot_close(snap);
}

static void check_copies(const char *parent)
{
    const char *data = getenv("BTRACED_DATA");
    const char *required = getenv("BTRACED_REQUIRE_DATA");
    data = data ? data : "../shared/data";
    DIR *dir = opendir(data);
    if (!dir) {
        if (required && strcmp(required, "1") == 0)
            fail("snapshot_opencsd: copies", "no captures at BTRACED_DATA");
        else
            printf("SKIP snapshot_opencsd: copies: no captures at BTRACED_DATA\n");
        return;
    }
    for (const struct dirent *e; (e = readdir(dir));) {
        char original[512], index[600], copy[512];
        snprintf(original, sizeof original, "%s/%s", data, e->d_name);
        snprintf(index, sizeof index, "%s/snapshot.ini", original);
        snprintf(copy, sizeof copy, "%s/copy-%s", parent, e->d_name);
        if (e->d_name[0] != '.' && access(index, R_OK) == 0)
            check_copy(original, e->d_name, copy);
    }
    closedir(dir);
}

int main(void)
{
    if (system("command -v trc_pkt_lister >/dev/null") != 0) {
        printf("SKIP snapshot_opencsd: no trc_pkt_lister\n");
        return 0;
    }
    char parent[] = "/tmp/snapshot_opencsd.XXXXXX";
    if (!mkdtemp(parent)) {
        fail("snapshot_opencsd", "cannot make a folder in /tmp");
        return 1;
    }
    char folder[64];
    snprintf(folder, sizeof folder, "%s/source", parent);
    check_source_data(folder);
    snprintf(folder, sizeof folder, "%s/frames", parent);
    check_frames(folder);
    snprintf(folder, sizeof folder, "%s/cut", parent);
    check_cut_off(folder);
    check_copies(parent);
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", parent);
    if (system(command) != 0)
        fail("snapshot_opencsd", "cannot remove its folder");
    return failures(0) != 0;
}
