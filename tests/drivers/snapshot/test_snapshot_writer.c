/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/snapshot/snapshot_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/snapshot/snapshot.h"
#include "tests/support/unit_main.h"

static char parent[64];
static char folder[96];

static void make_folder(void)
{
    snprintf(parent, sizeof parent, "/tmp/test_snapshot_writer.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(parent));
    snprintf(folder, sizeof folder, "%s/rec", parent);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", parent);
    ck_assert_int_eq(system(command), 0);
}

static struct snapshot *open_quiet(void)
{
    struct snapshot *snap;
    struct message err;
    int result = snapshot_open(folder, &snap, &err);
    ck_assert_msg(result == 0, "%s:%u: %s", err.file, err.line, err.text);
    ck_assert_msg(snap->warning_count == 0, "%s:%u: %s", snap->warnings[0].file,
                  snap->warnings[0].line, snap->warnings[0].text);
    return snap;
}

static struct snapshot_writer *create(void)
{
    struct snapshot_writer *w;
    ck_assert_int_eq(snapshot_writer_create(folder, NULL, &w), 0);
    return w;
}

static int add_device(struct snapshot_writer *w, const char *name, const char *class_name,
                      const char *type)
{
    const struct snapshot_writer_device dev = {
        .name = name, .class_name = class_name, .type = type};
    return snapshot_writer_add_device(w, &dev);
}

/* One core, its trace source, one buffer; committed. */
static struct snapshot_writer *create_small(void)
{
    struct snapshot_writer *w = create();
    ck_assert_int_eq(add_device(w, "cpu_0", "core", "Cortex-A9"), 0);
    ck_assert_int_eq(add_device(w, "PTM_0", "trace_source", "PTM1.1"), 1);
    ck_assert_int_eq(snapshot_writer_add_buffer(w, "ETB_0", "coresight"), 0);
    ck_assert_int_eq(snapshot_writer_add_source(w, 1, 0, 0), 0);
    ck_assert_int_eq(snapshot_writer_commit(w), 0);
    return w;
}

static void expect_buffer(const struct snapshot_buffer *b, struct snapshot *snap, const void *bytes,
                          size_t length)
{
    const uint8_t *data;
    uint64_t size;
    ck_assert_int_eq(snapshot_map_buffer(snap, b, 0, &data, &size), 0);
    ck_assert_uint_eq(size, length);
    if (length > 0)
        ck_assert_mem_eq(data, bytes, length);
}

/* The first source whose trace is in a buffer. */
static const char *source_of(const struct snapshot *snap, size_t buffer)
{
    for (size_t i = 0; i < snap->source_buffer_count; i++) {
        if (snap->source_buffers[i].buffer == buffer)
            return snap->source_buffers[i].source;
    }
    return "none";
}

START_TEST(round_trip)
{
    struct snapshot_writer *w;
    ck_assert_int_eq(snapshot_writer_create(folder, "board; rev\n#2", &w), 0);
    int cpu = add_device(w, "cpu 0", "core", "Cortex-A9");
    int cpu1 = add_device(w, "cpu_1", "core", "Cortex-A9");
    int ptm = add_device(w, "PTM_0", "trace_source", "PTM1.1");
    int itm = add_device(w, "ITM_0", "trace_source", "ITM");
    int etb = snapshot_writer_add_buffer(w, "ETB_0", "coresight");
    int swo = snapshot_writer_add_buffer(w, "SWO", "source_data");
    ck_assert_int_eq(snapshot_writer_add_source(w, ptm, etb, cpu), 0);
    ck_assert_int_eq(snapshot_writer_add_source(w, itm, swo, -1), 0);
    ck_assert_int_eq(snapshot_writer_set_reg(w, ptm, "ETMCR", 0, 32, 0x400), 0);
    ck_assert_int_eq(snapshot_writer_set_reg(w, ptm, "ETMTRACEIDR", 0x80, 32, 0x10), 0);
    ck_assert_int_eq(snapshot_writer_set_reg(w, ptm, "etmtraceidr", 0x80, 32, 0x11), 0);
    ck_assert_int_eq(
        snapshot_writer_set_reg(w, cpu, "PC", SNAPSHOT_WRITER_NO_INDEX, 32, 0xffffffff), 0);
    ck_assert_int_eq(snapshot_writer_set_reg(w, cpu, "CNT", 1, 64, UINT64_MAX), 0);
    ck_assert_int_eq(snapshot_writer_add_dump(w, cpu, 0x8000, "S", "abcdef", 6), 0);
    ck_assert_int_eq(snapshot_writer_share_dump(w, cpu1), 0);
    ck_assert_int_eq(snapshot_writer_add_dump(w, cpu, UINT64_MAX - 1, NULL, "gh", 2), 0);
    ck_assert_int_eq(snapshot_writer_commit(w), 0);
    ck_assert_int_eq(snapshot_writer_append(w, etb, "12", 2), 0);
    ck_assert_int_eq(snapshot_writer_append(w, swo, "xyz", 3), 0);
    ck_assert_int_eq(snapshot_writer_append(w, etb, "345", 3), 0);
    ck_assert_uint_eq(snapshot_writer_size(w, etb), 5);
    ck_assert_int_eq(snapshot_writer_close(w), 0);

    struct snapshot *snap = open_quiet();
    ck_assert_str_eq(snap->description, "board  rev  2");
    const struct snapshot_device *c = snapshot_device(snap, "cpu 0");
    const struct snapshot_device *p = snapshot_device(snap, "PTM_0");
    ck_assert_ptr_eq(snapshot_core_of(snap, "PTM_0"), c);
    ck_assert_ptr_null(snapshot_core_of(snap, "ITM_0"));
    uint64_t v;
    ck_assert_int_eq(snapshot_reg(p, "ETMTRACEIDR", &v), 0);
    ck_assert_uint_eq(v, 0x11);
    ck_assert_uint_eq(snapshot_find_reg(p, "ETMTRACEIDR")->index, 0x80);
    ck_assert_int_eq(snapshot_reg(c, "CNT", &v), 0);
    ck_assert_uint_eq(v, UINT64_MAX);
    ck_assert(!snapshot_find_reg(c, "PC")->has_index);

    const uint8_t *data;
    ck_assert_uint_eq(c->dump_count, 2);
    ck_assert_uint_eq(c->dumps[0].address, UINT64_MAX - 1);
    ck_assert_uint_eq(c->dumps[1].address, 0x8000);
    ck_assert_str_eq(c->dumps[1].space, "S");
    ck_assert_int_eq(snapshot_map_dump(snap, &c->dumps[1], &data), 0);
    ck_assert_mem_eq(data, "abcdef", 6);
    const struct snapshot_device *c1 = snapshot_device(snap, "cpu_1");
    ck_assert_uint_eq(c1->dump_count, 1);
    ck_assert_str_eq(c1->dumps[0].path, c->dumps[1].path);
    expect_buffer(snapshot_buffer(snap, "ETB_0"), snap, "12345", 5);
    expect_buffer(snapshot_buffer(snap, "SWO"), snap, "xyz", 3);
    ck_assert_int_eq(snapshot_buffer(snap, "SWO")->format, SNAPSHOT_FORMAT_SOURCE_DATA);
    ck_assert_str_eq(source_of(snap, 1), "ITM_0");
    snapshot_close(snap);
}
END_TEST

START_TEST(readable_while_it_grows)
{
    struct snapshot_writer *w = create_small();
    struct snapshot *snap = open_quiet();
    expect_buffer(&snap->buffers[0], snap, NULL, 0);
    snapshot_close(snap);
    char bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)i;
        ck_assert_int_eq(snapshot_writer_append(w, 0, &bytes[i], 1), 0);
        if (i % 97 != 0)
            continue;
        snap = open_quiet();
        expect_buffer(&snap->buffers[0], snap, bytes, i + 1);
        snapshot_close(snap);
    }
    ck_assert_int_eq(snapshot_writer_close(w), 0);
}
END_TEST

START_TEST(later_commits)
{
    struct snapshot_writer *w = create_small();
    ck_assert_int_eq(snapshot_writer_append(w, 0, "ab", 2), 0);
    ck_assert_int_eq(snapshot_writer_add_dump(w, 0, 0x100, "", "mem", 3), 0);
    ck_assert_int_eq(snapshot_writer_set_reg(w, 0, "PC", SNAPSHOT_WRITER_NO_INDEX, 32, 4), 0);
    int second = snapshot_writer_add_buffer(w, "ETB_1", "coresight");
    ck_assert_int_eq(second, 1);
    ck_assert_int_eq(snapshot_writer_append(w, second, "x", 1), BT_ERR_INVAL);
    struct snapshot *snap = open_quiet();
    ck_assert_uint_eq(snap->devices[0].dump_count, 0);
    snapshot_close(snap);

    ck_assert_int_eq(snapshot_writer_commit(w), 0);
    ck_assert_int_eq(snapshot_writer_append(w, second, "x", 1), 0);
    ck_assert_int_eq(snapshot_writer_append(w, 0, "cd", 2), 0);
    snap = open_quiet();
    ck_assert_uint_eq(snap->devices[0].dump_count, 1);
    ck_assert_uint_eq(snap->devices[0].reg_count, 1);
    expect_buffer(&snap->buffers[0], snap, "abcd", 4);
    expect_buffer(&snap->buffers[1], snap, "x", 1);
    snapshot_close(snap);
    ck_assert_int_eq(snapshot_writer_close(w), 0);
}
END_TEST

/* The process is killed in the middle of a capture. */
START_TEST(killed)
{
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct snapshot_writer *w = create_small();
        for (unsigned i = 0;; i++) {
            char block[256];
            memset(block, (int)(i & 0xff), sizeof block);
            if (snapshot_writer_append(w, 0, block, sizeof block) != 0)
                _exit(1);
            if (i == 40 && write(pipes[1], "x", 1) != 1)
                _exit(1);
            if (i % 16 == 0 && snapshot_writer_commit(w) != 0)
                _exit(1);
        }
    }
    char c;
    ck_assert_int_eq(read(pipes[0], &c, 1), 1);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));

    struct snapshot *snap = open_quiet();
    const uint8_t *data;
    uint64_t size;
    ck_assert_int_eq(snapshot_map_buffer(snap, &snap->buffers[0], 0, &data, &size), 0);
    ck_assert_uint_ge(size, 41 * 256);
    for (uint64_t i = 0; i < size; i++)
        ck_assert_uint_eq(data[i], i / 256 & 0xff);
    snapshot_close(snap);
}
END_TEST

/* No room for more: what fits is kept and counted. */
START_TEST(disk_full)
{
    struct snapshot_writer *w = create_small();
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    const struct rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    char bytes[600];
    memset(bytes, 'b', sizeof bytes);
    /* Check writes a file, too: nothing is asserted below the limit. */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int first = snapshot_writer_append(w, 0, bytes, sizeof bytes);
    int second = snapshot_writer_append(w, 0, bytes, sizeof bytes);
    int reason = errno;
    setrlimit(RLIMIT_FSIZE, &none);
    ck_assert_int_eq(first, 0);
    ck_assert_int_eq(second, BT_ERR_IO);
    ck_assert_int_eq(reason, EFBIG);
    ck_assert_uint_eq(snapshot_writer_size(w, 0), 1000);
    struct snapshot *snap = open_quiet();
    ck_assert_uint_eq(snap->buffers[0].size, 1000);
    snapshot_close(snap);
    ck_assert_int_eq(snapshot_writer_close(w), 0);
}
END_TEST

START_TEST(folder_in_use)
{
    ck_assert_int_eq(snapshot_writer_close(create_small()), 0);
    struct snapshot_writer *w;
    ck_assert_int_eq(snapshot_writer_create(folder, NULL, &w), BT_ERR_IO);
    ck_assert_int_eq(errno, ENOTEMPTY);
    ck_assert_ptr_null(w);
    char path[128];
    snprintf(path, sizeof path, "%s/none/rec", parent);
    ck_assert_int_eq(snapshot_writer_create(path, NULL, &w), BT_ERR_IO);
    ck_assert_int_eq(errno, ENOENT);
    snprintf(path, sizeof path, "%s/rec/trace.ini", parent);
    ck_assert_int_eq(snapshot_writer_create(path, NULL, &w), BT_ERR_IO);
    ck_assert_int_eq(errno, ENOTDIR);
    snprintf(path, sizeof path, "%s/empty", parent);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(snapshot_writer_create(path, NULL, &w), 0);
    ck_assert_int_eq(snapshot_writer_commit(w), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_close(w), 0);
    ck_assert_int_eq(snapshot_writer_close(NULL), 0);
}
END_TEST

START_TEST(bad_arguments)
{
    static const char *const names[] = {
        "",
        "a=b",
        "a;b",
        "a#b",
        "[a",
        "a]",
        "a(b",
        "a)",
        "a,b",
        "a/b",
        "..\\",
        " a",
        "a\n",
        "a ",
        "\"a",
        "a\x7f",
        "0123456789012345678901234567890123456789012345678901234567890123",
    };
    struct snapshot_writer *w = create_small();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert_int_eq(add_device(w, names[i], "core", "x"), BT_ERR_INVAL);
        ck_assert_int_eq(add_device(w, "x", names[i], "x"), BT_ERR_INVAL);
        ck_assert_int_eq(add_device(w, "x", "core", names[i]), BT_ERR_INVAL);
        ck_assert_int_eq(snapshot_writer_add_buffer(w, names[i], "coresight"), BT_ERR_INVAL);
        ck_assert_int_eq(snapshot_writer_set_reg(w, 0, names[i], 0, 32, 0), BT_ERR_INVAL);
        if (names[i][0] != '\0')
            ck_assert_int_eq(snapshot_writer_add_dump(w, 0, 0, names[i], "x", 1), BT_ERR_INVAL);
    }
    ck_assert_int_eq(add_device(w, "cpu_0", "core", "x"), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_add_buffer(w, "ETB_0", "coresight"), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_add_buffer(w, "ETB_1", "other"), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_add_source(w, 1, 0, 0), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_add_source(w, 2, 0, 0), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_add_source(w, 0, 1, -1), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_add_source(w, 0, 0, -2), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_set_reg(w, 0, "PC", 0, 32, 0x100000000), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_set_reg(w, 0, "PC", 0, 16, 0), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_set_reg(w, -1, "PC", 0, 32, 0), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_add_dump(w, 0, UINT64_MAX, "", "xy", 2), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_add_dump(w, 0, 0, "", "", 0), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_share_dump(w, 0), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_append(w, 1, "x", 1), BT_ERR_INVAL);
    ck_assert_int_eq(snapshot_writer_append(w, -1, "x", 1), BT_ERR_INVAL);
    ck_assert_uint_eq(snapshot_writer_size(w, 7), 0);
    ck_assert_int_eq(snapshot_writer_close(w), 0);
    snapshot_close(open_quiet());
}
END_TEST

START_TEST(limits)
{
    struct snapshot_writer *w = create_small();
    int result = 0;
    unsigned dumps = 0;
    for (; dumps < 5000 && result == 0; dumps++)
        result = dumps < 10 ? snapshot_writer_add_dump(w, 0, dumps, "", "x", 1)
                            : snapshot_writer_share_dump(w, 0);
    ck_assert_int_eq(result, 0);
    for (; dumps < 20000 && result == 0; dumps++)
        result = snapshot_writer_share_dump(w, 1);
    ck_assert_int_eq(result, BT_ERR_RANGE);
    ck_assert_int_eq(snapshot_writer_add_dump(w, 0, 0, "", "x", 1), BT_ERR_RANGE);
    char name[32];
    for (unsigned i = 2; i < 1024; i++) {
        snprintf(name, sizeof name, "d%u", i);
        ck_assert_int_eq(add_device(w, name, "core", "x"), (int)i);
    }
    ck_assert_int_eq(add_device(w, "last", "core", "x"), BT_ERR_RANGE);
    for (unsigned i = 1; i < 256; i++) {
        snprintf(name, sizeof name, "b%u", i);
        ck_assert_int_eq(snapshot_writer_add_buffer(w, name, "coresight"), (int)i);
    }
    ck_assert_int_eq(snapshot_writer_add_buffer(w, "last", "coresight"), BT_ERR_RANGE);
    ck_assert_int_eq(snapshot_writer_close(w), 0);
    struct snapshot *snap = open_quiet();
    ck_assert_uint_eq(snap->device_count, 1024);
    ck_assert_uint_eq(snap->buffer_count, 256);
    ck_assert_uint_eq(snap->devices[0].dump_count + snap->devices[1].dump_count, 16384);
    snapshot_close(snap);
}
END_TEST

static void add(Suite *s, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    tcase_add_test(tc, test);
    tcase_set_timeout(tc, 30);
    suite_add_tcase(s, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("snapshot_writer");
    add(s, "snapshot_writer: what is written is read back", round_trip);
    add(s, "snapshot_writer: readable while it grows", readable_while_it_grows);
    add(s, "snapshot_writer: dumps, registers and buffers after the first commit", later_commits);
    add(s, "snapshot_writer: readable after SIGKILL", killed);
    add(s, "snapshot_writer: no room on the disk", disk_full);
    add(s, "snapshot_writer: folders that exist", folder_in_use);
    add(s, "snapshot_writer: bad names, numbers and indexes", bad_arguments);
    add(s, "snapshot_writer: writes no more than the reader takes", limits);
    return s;
}
