/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/snapshot/snapshot.c, snapshot_load.c and snapshot_trace.c. */
#include "drivers/snapshot/snapshot.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit_main.h"

/* A folder to play in: one a test, made and removed around it. */

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_snapshot.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void put_bytes(const char *name, const void *data, size_t length)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, length, f), length);
    ck_assert_int_eq(fclose(f), 0);
}

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

/* A recording that is right; tests replace what they are about. */
static void put_all(void)
{
    put("snapshot.ini", "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=cpu.ini\n"
                        "device1=ptm.ini\n\n[trace]\nmetadata=trace.ini\n");
    put("cpu.ini", "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A9\n");
    put("ptm.ini", "[device]\nname=PTM_0\nclass=trace_source\ntype=PTM1.1\n\n"
                   "[regs]\nETMCR(0x000)=0x400\nETMTRACEIDR(0x080)=0x11\n");
    put("trace.ini", "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB_0\nfile=trace.bin\n"
                     "format=coresight\n\n[source_buffers]\nPTM_0=ETB_0\n\n"
                     "[core_trace_sources]\ncpu_0=PTM_0\n");
    put("trace.bin", "0123456789abcdef");
    put("mem.bin", "ABCDEFGH");
}

static struct snapshot *open_ok(void)
{
    struct snapshot *snap;
    struct message err;
    int result = snapshot_open(folder, &snap, &err);
    ck_assert_msg(result == 0, "%s:%u: %s", err.file, err.line, err.text);
    return snap;
}

static struct snapshot *open_quiet(void)
{
    struct snapshot *snap = open_ok();
    ck_assert_msg(snap->warning_count == 0, "%s:%u: %s", snap->warnings[0].file,
                  snap->warnings[0].line, snap->warnings[0].text);
    return snap;
}

static void expect_error(int error, const char *file, unsigned line, const char *text)
{
    struct snapshot *snap;
    struct message err;
    ck_assert_int_eq(snapshot_open(folder, &snap, &err), error);
    ck_assert_ptr_null(snap);
    ck_assert_str_eq(err.text, text);
    ck_assert_str_eq(err.file, file);
    ck_assert_uint_eq(err.line, line);
}

static void expect_warning(const struct snapshot *snap, size_t n, const char *file, unsigned line,
                           const char *text)
{
    ck_assert_uint_gt(snap->warning_count, n);
    ck_assert_str_eq(snap->warnings[n].text, text);
    ck_assert_str_eq(snap->warnings[n].file, file);
    ck_assert_uint_eq(snap->warnings[n].line, line);
}

/* What is read. */

/* The n-th device whose trace is in a buffer. */
static const struct snapshot_device *source_in(const struct snapshot *snap, size_t buffer, size_t n)
{
    for (size_t i = 0; i < snap->source_buffer_count; i++) {
        const char *name = snap->source_buffers[i].source;
        const struct snapshot_device *dev = snapshot_device(snap, name);
        if (snap->source_buffers[i].buffer == buffer && dev && n-- == 0)
            return dev;
    }
    return NULL;
}

START_TEST(whole)
{
    put_all();
    struct snapshot *snap = open_quiet();
    ck_assert_str_eq(snap->version, "1.0");
    ck_assert_str_eq(snap->description, "");
    ck_assert_uint_eq(snap->device_count, 2);
    ck_assert_int_eq(snap->devices[0].device_class, SNAPSHOT_CLASS_CORE);
    ck_assert_str_eq(snap->devices[0].type, "Cortex-A9");
    ck_assert_int_eq(snap->devices[1].device_class, SNAPSHOT_CLASS_TRACE_SOURCE);
    ck_assert_str_eq(snap->devices[1].path, "ptm.ini");
    ck_assert_uint_eq(snap->buffer_count, 1);
    ck_assert_int_eq(snap->buffers[0].format, SNAPSHOT_FORMAT_CORESIGHT);
    ck_assert_uint_eq(snap->buffers[0].size, 16);
    ck_assert_uint_eq(snap->source_buffer_count, 1);
    ck_assert_uint_eq(snap->core_source_count, 1);

    ck_assert_ptr_eq(snapshot_device(snap, "PTM_0"), &snap->devices[1]);
    ck_assert_ptr_null(snapshot_device(snap, "ptm_0"));
    ck_assert_ptr_eq(snapshot_buffer(snap, "ETB_0"), &snap->buffers[0]);
    ck_assert_ptr_null(snapshot_buffer(snap, "buffer0"));
    ck_assert_ptr_eq(snapshot_core_of(snap, "PTM_0"), &snap->devices[0]);
    ck_assert_ptr_null(snapshot_core_of(snap, "cpu_0"));
    ck_assert_ptr_eq(source_in(snap, 0, 0), &snap->devices[1]);
    ck_assert_ptr_null(source_in(snap, 0, 1));
    ck_assert_ptr_null(source_in(snap, 1, 0));

    const uint8_t *data;
    uint64_t size;
    ck_assert_int_eq(snapshot_map_buffer(snap, &snap->buffers[0], 0, &data, &size), 0);
    ck_assert_uint_eq(size, 16);
    ck_assert_mem_eq(data, "0123456789abcdef", 16);
    ck_assert_int_eq(snapshot_map_buffer(snap, &snap->buffers[0], 1, &data, &size), BT_ERR_RANGE);
    snapshot_close(snap);
}
END_TEST

START_TEST(by_the_name_of_its_index)
{
    put_all();
    char path[128];
    snprintf(path, sizeof path, "%s/snapshot.ini", folder);
    struct snapshot *snap;
    ck_assert_int_eq(snapshot_open(path, &snap, NULL), 0);
    snapshot_close(snap);
    snprintf(path, sizeof path, "%s/trace.ini", folder);
    ck_assert_int_eq(snapshot_open(path, &snap, NULL), BT_ERR_IO);
    snapshot_close(NULL);
}
END_TEST

START_TEST(crlf_comments_quotes)
{
    put_all();
    put("snapshot.ini", "\xef\xbb\xbf; made by hand\r\n[snapshot]\r\nversion=1\r\n"
                        "description=a board\r\n\r\n[device_list]\r\n"
                        "  device0=cpu.ini   # the core\r\n"
                        "device1 = 'ptm.ini' ; its trace\r\n[clusters]\r\nCluster 0=cpu_0\r\n"
                        "[trace]\r\nmetadata=\"trace.ini\"\r\n");
    put("cpu.ini", "[device]\r\n\tname=cpu_0\r\nclass=core\r\ntype=Cortex-A9\r\n[regs]\r\n"
                   "PC='0x100'\r\n[dump]\r\nfile=\"mem.bin\"\r\naddress=0x100\r\nspace='S'\r\n");
    struct snapshot *snap = open_quiet();
    ck_assert_str_eq(snap->description, "a board");
    uint64_t pc = 0;
    ck_assert_int_eq(snapshot_reg(&snap->devices[0], "PC", &pc), 0);
    ck_assert_uint_eq(pc, 0x100);
    ck_assert_str_eq(snap->devices[0].dumps[0].space, "S");
    snapshot_close(snap);
}
END_TEST

START_TEST(register_forms)
{
    put_all();
    put("cpu.ini", "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A15\n[regs]\n"
                   "ETMCR(0x000)=0x10\nETMIDR(id:0x79)=17\nCNTPCT(size:64)=0x0000043429D1ACFF\n"
                   "SP(size:64)=0\nR15=0xC0008000\nOCT=010\nBOTH( id:0x10 , size:64 )=1\n"
                   "BIG=0x123456789\nETMTRACEIDR (0x080)=2\nV0(size:128)=0x1\nTWO WORDS=5\n");
    struct snapshot *snap = open_quiet();
    const struct snapshot_device *cpu = &snap->devices[0];
    uint64_t v = 99;
    ck_assert_int_eq(snapshot_reg(cpu, "etmcr", &v), 0);
    ck_assert_uint_eq(v, 0x10);
    ck_assert_int_eq(snapshot_reg(cpu, "ETMIDR(0x001)", &v), 0);
    ck_assert_uint_eq(v, 17);
    ck_assert_int_eq(snapshot_reg(cpu, "CNTPCT", &v), 0);
    ck_assert_uint_eq(v, 0x43429D1ACFFu);
    ck_assert_int_eq(snapshot_reg(cpu, "oct", &v), 0);
    ck_assert_uint_eq(v, 8);
    ck_assert_int_eq(snapshot_reg(cpu, "ETMTRACEIDR", &v), 0);
    ck_assert_uint_eq(v, 2);
    ck_assert_int_eq(snapshot_reg(cpu, "two words (0x1)", &v), 0);
    ck_assert_uint_eq(v, 5);
    v = 99;
    ck_assert_int_eq(snapshot_reg(cpu, "TWO", &v), BT_ERR_RANGE);
    ck_assert_int_eq(snapshot_reg(cpu, "ETM", &v), BT_ERR_RANGE);
    ck_assert_int_eq(snapshot_reg(cpu, "ETMCR2", &v), BT_ERR_RANGE);
    ck_assert_int_eq(snapshot_reg(cpu, "", &v), BT_ERR_RANGE);
    ck_assert_uint_eq(v, 99);

    const struct snapshot_reg *r = snapshot_find_reg(cpu, "ETMIDR");
    ck_assert(r->has_index && r->index == 0x79 && r->size == 32 && r->line == 7);
    r = snapshot_find_reg(cpu, "SP");
    ck_assert(!r->has_index && r->size == 64);
    r = snapshot_find_reg(cpu, "BOTH");
    ck_assert(r->has_index && r->index == 0x10 && r->size == 64);
    r = snapshot_find_reg(cpu, "BIG");
    ck_assert(r->size == 64 && r->value == 0x123456789u);
    snapshot_close(snap);
}
END_TEST

START_TEST(dumps)
{
    put_all();
    put("cpu.ini", "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A9\n"
                   "[dump]\nfile=mem.bin\naddress=0x1000\nlength=0x4\n"
                   "[dump]\nfile=mem.bin\naddress=0x1002\noffset=3\n"
                   "[dump__libc_thread_freeres_fn_and_some_more_characters_in_the_name]\n"
                   "address=0xFFFFFFFFFFFFFFF8\nspace=EL1N\nfile=mem.bin\nlength=0\n"
                   "[dump.x]\nfile=mem.bin\naddress=8\noffset=6\nlength=1\n");
    struct snapshot *snap = open_quiet();
    const struct snapshot_device *cpu = &snap->devices[0];
    static const struct {
        uint64_t address, length, offset;
        const char *space, *bytes;
    } expected[] = {
        {0x1000, 4, 0, "", "ABCD"},
        {0x1002, 5, 3, "", "DEFGH"},
        {0xFFFFFFFFFFFFFFF8u, 8, 0, "EL1N", "ABCDEFGH"},
        {8, 1, 6, "", "G"},
    };
    ck_assert_uint_eq(cpu->dump_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct snapshot_dump *d = &cpu->dumps[i];
        ck_assert_uint_eq(d->address, expected[i].address);
        ck_assert_uint_eq(d->length, expected[i].length);
        ck_assert_uint_eq(d->offset, expected[i].offset);
        ck_assert_str_eq(d->space, expected[i].space);
        const uint8_t *data;
        ck_assert_int_eq(snapshot_map_dump(snap, d, &data), 0);
        ck_assert_mem_eq(data, expected[i].bytes, d->length);
    }
    ck_assert_uint_eq(cpu->dumps[0].line, 5);
    ck_assert_uint_eq(cpu->dumps[1].line, 9);
    snapshot_close(snap);
}
END_TEST

START_TEST(dumps_cut_short)
{
    put_all();
    put("cpu.ini", "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A9\n"
                   "[dump1]\nfile=mem.bin\naddress=0x1000\nlength=0x50\noffset=2\n"
                   "[dump2]\nfile=mem.bin\naddress=0x1000\noffset=9\n");
    struct snapshot *snap = open_ok();
    const struct snapshot_dump *d = snap->devices[0].dumps;
    ck_assert_uint_eq(d[0].length, 6);
    ck_assert_uint_eq(d[1].length, 0);
    const uint8_t *data;
    ck_assert_int_eq(snapshot_map_dump(snap, &d[0], &data), 0);
    ck_assert_mem_eq(data, "CDEFGH", 6);
    ck_assert_int_eq(snapshot_map_dump(snap, &d[1], &data), 0);
    ck_assert_ptr_null(data);
    expect_warning(snap, 0, "cpu.ini", 8, "dump is cut short: 'mem.bin' has 6 bytes from there");
    expect_warning(snap, 1, "cpu.ini", 10,
                   "offset of dump is behind the end of 'mem.bin' (8 bytes)");
    snapshot_close(snap);
}
END_TEST

START_TEST(buffers)
{
    put_all();
    put("a.bin", "aaa");
    put("b.bin", "");
    put("trace.ini", "[source_buffers]\nPTM_0=B, C\n[timestamp]\nfrequency=25000000\n"
                     "[b]\nname=B\nfile=trace.bin, a.bin ,b.bin\nformat=source_data\n"
                     "[c]\nname=C\nfile=a.bin\nformat=dstream_coresight\n"
                     "[d]\nname=D\nfile=a.bin\n"
                     "[core_trace_sources]\ncpu_0=PTM_0\n[trace_buffers]\nbuffers=b, c ,d\n");
    struct snapshot *snap = open_quiet();
    ck_assert_uint_eq(snap->timestamp_frequency, 25000000);
    ck_assert_uint_eq(snap->buffer_count, 3);
    const struct snapshot_buffer *b = snap->buffers;
    ck_assert_int_eq(b[0].format, SNAPSHOT_FORMAT_SOURCE_DATA);
    ck_assert_int_eq(b[1].format, SNAPSHOT_FORMAT_DSTREAM_CORESIGHT);
    ck_assert_int_eq(b[2].format, SNAPSHOT_FORMAT_CORESIGHT);
    ck_assert_uint_eq(b[0].file_count, 3);
    ck_assert_uint_eq(b[0].size, 19);
    const uint8_t *data;
    uint64_t size;
    ck_assert_int_eq(snapshot_map_buffer(snap, &b[0], 1, &data, &size), 0);
    ck_assert_uint_eq(size, 3);
    ck_assert_mem_eq(data, "aaa", 3);
    ck_assert_int_eq(snapshot_map_buffer(snap, &b[0], 2, &data, &size), 0);
    ck_assert_uint_eq(size, 0);
    ck_assert_ptr_null(data);
    ck_assert_uint_eq(snap->source_buffer_count, 2);
    ck_assert_uint_eq(snap->source_buffers[1].buffer, 1);
    ck_assert_ptr_eq(source_in(snap, 1, 0), snapshot_device(snap, "PTM_0"));
    snapshot_close(snap);
}
END_TEST

/* A sparse file: mapped, not read. */
START_TEST(large_buffer)
{
    put_all();
    char path[128];
    snprintf(path, sizeof path, "%s/trace.bin", folder);
    uint64_t length = UINT64_C(5) << 30;
    ck_assert_int_eq(truncate(path, (off_t)length), 0);
    struct snapshot *snap = open_quiet();
    ck_assert_uint_eq(snap->buffers[0].size, length);
    const uint8_t *data;
    uint64_t size;
    ck_assert_int_eq(snapshot_map_buffer(snap, &snap->buffers[0], 0, &data, &size), 0);
    ck_assert_uint_eq(size, length);
    ck_assert_uint_eq(data[0], '0');
    ck_assert_uint_eq(data[length - 1], 0);
    snapshot_close(snap);
}
END_TEST

START_TEST(file_that_shrank)
{
    put_all();
    struct snapshot *snap = open_quiet();
    put("trace.bin", "012");
    const uint8_t *data;
    uint64_t size;
    ck_assert_int_eq(snapshot_map_buffer(snap, &snap->buffers[0], 0, &data, &size), BT_ERR_IO);
    ck_assert_ptr_null(data);
    snapshot_close(snap);
}
END_TEST

START_TEST(oddities_are_warnings)
{
    put_all();
    put("snapshot.ini", "[snapshot]\nversion=1.0\nmood=good\n[device_list]\ndevice0=cpu.ini\n"
                        "device1=ptm.ini\n[weather]\nsun=1\n[trace]\nmetadata=trace.ini\n");
    put("cpu.ini", "[device]\nname=cpu_0\ncolour=red\n[extra]\nk=v\n[regs]\n"
                   "V0(size:128)=0x00112233445566778899aabbccddeeff\nR0(x:1)=1\nR1=1\nr1=1\n");
    put("trace.ini", "[trace_buffers]\nbuffers=buffer0\nsize=1\n[buffer0]\nname=ETB_0\n"
                     "file=trace.bin\nformat=new\nspeed=1\n[buffer1]\nname=x\n"
                     "[source_buffers]\nPTM_0=ETB_0\nPTM_0=ETB_0\nETM_9=ETB_0\n"
                     "[core_trace_sources]\ncpu_9=PTM_9\n");
    struct snapshot *snap = open_ok();
    static const struct {
        const char *file;
        unsigned line;
        const char *text;
    } expected[] = {
        {"snapshot.ini", 3, "unknown key 'mood' in [snapshot]"},
        {"snapshot.ini", 7, "unknown section [weather]"},
        {"cpu.ini", 3, "unknown key 'colour' in [device]"},
        {"cpu.ini", 4, "unknown section [extra]"},
        {"cpu.ini", 7, "register 'V0(size:128)' is wider than 64 bits"},
        {"cpu.ini", 8, "unknown register attribute 'x:1'"},
        {"cpu.ini", 0, "no 'class' in [device]"},
        {"cpu.ini", 0, "no 'type' in [device]"},
        {"cpu.ini", 10, "register 'r1' is given twice"},
        {"trace.ini", 3, "unknown key 'size' in [trace_buffers]"},
        {"trace.ini", 8, "unknown key 'speed' in [buffer0]"},
        {"trace.ini", 9, "unknown section [buffer1]"},
        {"trace.ini", 4, "unknown format 'new' of buffer 'ETB_0'"},
        {"trace.ini", 13, "source 'PTM_0' is linked to buffer 'ETB_0' twice"},
        {"trace.ini", 14, "source 'ETM_9' is not in the device list"},
        {"trace.ini", 16, "core 'cpu_9' is not in the device list"},
        {"trace.ini", 16, "source 'PTM_9' is not in the device list"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        expect_warning(snap, i, expected[i].file, expected[i].line, expected[i].text);
    ck_assert_uint_eq(snap->warning_count, sizeof expected / sizeof *expected);
    ck_assert_int_eq(snap->buffers[0].format, SNAPSHOT_FORMAT_OTHER);
    ck_assert_int_eq(snap->devices[0].device_class, SNAPSHOT_CLASS_OTHER);
    ck_assert_str_eq(snap->devices[0].type, "");
    snapshot_close(snap);
}
END_TEST

START_TEST(no_trace)
{
    put_all();
    put("snapshot.ini", "[device_list]\ndevice0=cpu.ini\n");
    struct snapshot *snap = open_ok();
    ck_assert_uint_eq(snap->buffer_count, 0);
    ck_assert_str_eq(snap->version, "");
    expect_warning(snap, 0, "snapshot.ini", 0, "no trace metadata: nothing to decode");
    snapshot_close(snap);
}
END_TEST

/* What is refused: one text in place of one file. */

struct refusal {
    const char *name; /* file that is replaced */
    const char *text;
    int error;
    const char *file; /* where the error is */
    unsigned line;
    const char *message;
};

#define CPU "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A9\n"

static void expect_refusals(const struct refusal *r, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put_all();
        put(r[i].name, r[i].text);
        expect_error(r[i].error, r[i].file, r[i].line, r[i].message);
    }
}

#define EXPECT_REFUSALS(array) expect_refusals(array, sizeof(array) / sizeof *(array))

START_TEST(bad_index)
{
    static const struct refusal refusals[] = {
        {"snapshot.ini", "", BT_ERR_FORMAT, "snapshot.ini", 0,
         "no device in [device_list]: not a trace snapshot"},
        {"snapshot.ini", "[snapshot]\nversion=2.0\n", BT_ERR_UNSUPPORTED, "snapshot.ini", 2,
         "version is '2.0', only 1.0 is known"},
        {"snapshot.ini", "[snapshot]\nversion=1.0\nversion=1.0\n", BT_ERR_FORMAT, "snapshot.ini", 3,
         "'version' is given twice"},
        {"snapshot.ini", "[device_list]\n\na=cpu.ini\nb=gone.ini\n", BT_ERR_IO, "snapshot.ini", 4,
         "cannot read 'gone.ini': No such file or directory"},
        {"snapshot.ini", "[device_list]\na=cpu.ini\n[trace]\nmetadata=gone.ini\n", BT_ERR_IO,
         "snapshot.ini", 4, "cannot read 'gone.ini': No such file or directory"},
        {"snapshot.ini", "[device_list]\na=cpu.ini\nb=cpu.ini\n", BT_ERR_FORMAT, "cpu.ini", 2,
         "device 'cpu_0' was already given in 'cpu.ini'"},
        {"snapshot.ini", "a=1\n", BT_ERR_FORMAT, "snapshot.ini", 1,
         "'a' stands before the first section"},
        {"snapshot.ini", "[device_list]\njunk\n", BT_ERR_FORMAT, "snapshot.ini", 2,
         "neither '[section]' nor 'key=value'"},
    };
    EXPECT_REFUSALS(refusals);
    put_all();
    char path[128];
    snprintf(path, sizeof path, "%s/snapshot.ini", folder);
    unlink(path);
    expect_error(BT_ERR_IO, "snapshot.ini", 0,
                 "cannot read 'snapshot.ini': No such file or directory");
}
END_TEST

START_TEST(bad_paths)
{
    static const struct refusal refusals[] = {
        {"snapshot.ini", "[device_list]\na=../cpu.ini\n", BT_ERR_FORMAT, "snapshot.ini", 2,
         "path '../cpu.ini' leaves the folder"},
        {"snapshot.ini", "[device_list]\na=/etc/passwd\n", BT_ERR_FORMAT, "snapshot.ini", 2,
         "path '/etc/passwd' leaves the folder"},
        {"snapshot.ini", "[device_list]\na=\n", BT_ERR_FORMAT, "snapshot.ini", 2,
         "path '' leaves the folder"},
        {"snapshot.ini", "[device_list]\na=cpu.ini\n[trace]\nmetadata=x/../../t.ini\n",
         BT_ERR_FORMAT, "snapshot.ini", 4, "path 'x/../../t.ini' leaves the folder"},
        {"cpu.ini", CPU "[dump]\naddress=0\nfile=..\\mem.bin\n", BT_ERR_FORMAT, "cpu.ini", 7,
         "path '..\\mem.bin' leaves the folder"},
        {"cpu.ini", CPU "[dump]\naddress=0\nfile=C:/mem.bin\n", BT_ERR_FORMAT, "cpu.ini", 7,
         "path 'C:/mem.bin' leaves the folder"},
        {"trace.ini", "[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=trace.bin,..\n", BT_ERR_FORMAT,
         "trace.ini", 5, "path '..' leaves the folder"},
    };
    EXPECT_REFUSALS(refusals);
}
END_TEST

START_TEST(links_and_special_files)
{
    char path[128];
    put_all();
    snprintf(path, sizeof path, "%s/trace.bin", folder);
    unlink(path);
    ck_assert_int_eq(symlink("mem.bin", path), 0);
    struct snapshot *snap = open_quiet();
    ck_assert_uint_eq(snap->buffers[0].size, 8);
    snapshot_close(snap);

    unlink(path);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    expect_error(BT_ERR_IO, "trace.ini", 6, "cannot open 'trace.bin': Invalid cross-device link");
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_error(BT_ERR_IO, "trace.ini", 6, "cannot open 'trace.bin': Invalid argument");
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    expect_error(BT_ERR_IO, "trace.ini", 6, "cannot open 'trace.bin': Is a directory");
}
END_TEST

START_TEST(bad_devices)
{
    static const struct refusal refusals[] = {
        {"cpu.ini", "[regs]\n", BT_ERR_FORMAT, "cpu.ini", 0, "no 'name' in [device]"},
        {"cpu.ini", "[device]\nname=\n", BT_ERR_FORMAT, "cpu.ini", 2, "no 'name' in [device]"},
        {"cpu.ini", CPU "name=x\n", BT_ERR_FORMAT, "cpu.ini", 5, "'name' is given twice"},
        {"ptm.ini", CPU, BT_ERR_FORMAT, "ptm.ini", 2,
         "device 'cpu_0' was already given in 'cpu.ini'"},
        {"cpu.ini", CPU "[regs]\nPC=1x\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "register value is not a number: '1x'"},
        {"cpu.ini", CPU "[regs]\nPC=\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "register value is not a number: ''"},
        {"cpu.ini", CPU "[regs]\nPC=-1\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "register value is not a number: '-1'"},
        {"cpu.ini", CPU "[regs]\nPC=0x\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "register value is not a number: '0x'"},
        {"cpu.ini", CPU "[regs]\nPC=FF\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "register value is not a number: 'FF'"},
        {"cpu.ini", CPU "[regs]\nPC(0x1=1\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "register name does not end with ')': 'PC(0x1'"},
        {"cpu.ini", CPU "[regs]\nPC(0x1)a=1\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "register name does not end with ')': 'PC(0x1)a'"},
        {"cpu.ini", CPU "[regs]\n(0x1)=1\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "register without a name: '(0x1)'"},
        {"cpu.ini", CPU "[regs]\nPC(size:x)=1\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "bad register attribute 'size:x'"},
        {"cpu.ini", CPU "[regs]\nPC=1\nSP=2\npc(0x1)=3\n", BT_ERR_FORMAT, "cpu.ini", 8,
         "register 'pc' has another value in line 6"},
    };
    EXPECT_REFUSALS(refusals);
}
END_TEST

START_TEST(bad_dumps)
{
    static const struct refusal refusals[] = {
        {"cpu.ini", CPU "[dump]\nfile=mem.bin\n", BT_ERR_FORMAT, "cpu.ini", 5,
         "dump without 'address'"},
        {"cpu.ini", CPU "[dump1]\n[dump2]\naddress=0\n", BT_ERR_FORMAT, "cpu.ini", 5,
         "dump without 'address'"},
        {"cpu.ini", CPU "[dump]\naddress=0\n[regs]\n", BT_ERR_FORMAT, "cpu.ini", 5,
         "dump without 'file'"},
        {"cpu.ini", CPU "[dump]\naddress=here\nfile=mem.bin\n", BT_ERR_FORMAT, "cpu.ini", 6,
         "address is not a number: 'here'"},
        {"cpu.ini", CPU "[dump]\naddress=0x10000000000000000\nfile=mem.bin\n", BT_ERR_FORMAT,
         "cpu.ini", 6, "address is more than 64 bits: '0x10000000000000000'"},
        {"cpu.ini", CPU "[dump]\naddress=0\naddress=1\nfile=mem.bin\n", BT_ERR_FORMAT, "cpu.ini", 7,
         "'address' is given twice"},
        {"cpu.ini", CPU "[dump]\naddress=0\nfile=mem.bin\nfile=mem.bin\n", BT_ERR_FORMAT, "cpu.ini",
         8, "'file' is given twice"},
        {"cpu.ini", CPU "[dump]\naddress=0xFFFFFFFFFFFFFFF9\nfile=mem.bin\n", BT_ERR_FORMAT,
         "cpu.ini", 5, "dump reaches beyond the last address"},
    };
    EXPECT_REFUSALS(refusals);
}
END_TEST

/* What it held is not known; the others are. */
START_TEST(missing_dump)
{
    put_all();
    put("cpu.ini", CPU "[dump1]\naddress=0x100\nfile=gone.bin\n[dump2]\naddress=0\nfile=mem.bin\n");
    struct snapshot *snap = open_ok();
    expect_warning(
        snap, 0, "cpu.ini", 7,
        "'gone.bin' is missing: nothing is known of the memory from 0x100 on that it held");
    ck_assert_uint_eq(snap->warning_count, 1);
    ck_assert_uint_eq(snap->devices[0].dump_count, 1);
    ck_assert_str_eq(snap->devices[0].dumps[0].path, "mem.bin");
    snapshot_close(snap);
}
END_TEST

#define LIST   "[trace_buffers]\nbuffers=b\n"
#define BUFFER LIST "[b]\nname=B\nfile=trace.bin\n"

START_TEST(bad_trace)
{
    static const struct refusal refusals[] = {
        {"trace.ini", LIST, BT_ERR_FORMAT, "trace.ini", 2, "buffer 'b' has no section"},
        {"trace.ini", "[trace_buffers]\nbuffers= ,\n", BT_ERR_FORMAT, "trace.ini", 2,
         "'buffers' lists no buffer"},
        {"trace.ini", "[trace_buffers]\nbuffers=b,b\n", BT_ERR_FORMAT, "trace.ini", 2,
         "buffer 'b' is listed twice"},
        {"trace.ini", LIST "buffers=c\n", BT_ERR_FORMAT, "trace.ini", 3,
         "'buffers' is given twice"},
        {"trace.ini", LIST "[b]\nfile=trace.bin\n", BT_ERR_FORMAT, "trace.ini", 3,
         "no 'name' in [b]"},
        {"trace.ini", LIST "[b]\nname=B\n", BT_ERR_FORMAT, "trace.ini", 3, "no 'file' in [b]"},
        {"trace.ini", LIST "[b]\nname=B\nfile=\n", BT_ERR_FORMAT, "trace.ini", 3,
         "no 'file' in [b]"},
        {"trace.ini", LIST "[b]\nname=B\nfile=gone.bin\n", BT_ERR_IO, "trace.ini", 5,
         "cannot open 'gone.bin': No such file or directory"},
        {"trace.ini", BUFFER "file=trace.bin\n", BT_ERR_FORMAT, "trace.ini", 6,
         "'file' is given twice"},
        {"trace.ini", BUFFER "[b]\n", BT_ERR_FORMAT, "trace.ini", 6, "buffer [b] is given twice"},
        {"trace.ini",
         "[trace_buffers]\nbuffers=b,c\n[b]\nname=B\nfile=trace.bin\n[c]\nname=B\nfile=mem.bin\n",
         BT_ERR_FORMAT, "trace.ini", 6, "two buffers have the name 'B'"},
        {"trace.ini", BUFFER "[source_buffers]\nPTM_0=b\n", BT_ERR_FORMAT, "trace.ini", 7,
         "source 'PTM_0' names unknown buffer 'b'"},
        {"trace.ini", BUFFER "[core_trace_sources]\ncpu_0=PTM_0\ncpu_1=PTM_0\n", BT_ERR_FORMAT,
         "trace.ini", 8, "source 'PTM_0' already traces core 'cpu_0'"},
        {"trace.ini", BUFFER "[timestamp]\nfrequency=fast\n", BT_ERR_FORMAT, "trace.ini", 7,
         "frequency is not a number: 'fast'"},
    };
    EXPECT_REFUSALS(refusals);
}
END_TEST

START_TEST(limits)
{
    put_all();
    size_t room = 2 << 20, used;
    char *text = malloc(room);
    ck_assert_ptr_nonnull(text);
    used = (size_t)snprintf(text, room, CPU);
    for (int i = 0; i < 16385; i++)
        used += (size_t)snprintf(text + used, room - used, "[dump%d]\naddress=%d\nfile=mem.bin\n",
                                 i, i * 16);
    put("cpu.ini", text);
    expect_error(BT_ERR_RANGE, "cpu.ini", 4 + 16384 * 3 + 1, "more than 16384 dumps");

    used = (size_t)snprintf(text, room, CPU "[regs]\n");
    for (int i = 0; i < 65537; i++)
        used += (size_t)snprintf(text + used, room - used, "R%d=%d\n", i, i);
    put("cpu.ini", text);
    expect_error(BT_ERR_RANGE, "cpu.ini", 5 + 65537, "more than 65536 registers");
    free(text);
}
END_TEST

/* Real recordings. */

static void check_real(const char *path, const char *name)
{
    struct snapshot *snap;
    struct message err;
    int result = snapshot_open(path, &snap, &err);
    ck_assert_msg(result == 0, "%s: %s:%u: %s", name, err.file, err.line, err.text);
    ck_assert_uint_gt(snap->device_count, 0);
    ck_assert_uint_gt(snap->buffer_count, 0);
    for (size_t i = 0; i < snap->buffer_count; i++) {
        const uint8_t *data;
        uint64_t size;
        ck_assert_int_eq(snapshot_map_buffer(snap, &snap->buffers[i], 0, &data, &size), 0);
        ck_assert_uint_gt(size, 1000);
        ck_assert_ptr_nonnull(source_in(snap, i, 0));
    }
    for (size_t i = 0; i < snap->device_count; i++) {
        const struct snapshot_device *d = &snap->devices[i];
        for (size_t j = 0; j < d->dump_count; j++) {
            const uint8_t *data;
            ck_assert_int_eq(snapshot_map_dump(snap, &d->dumps[j], &data), 0);
            ck_assert_uint_gt(d->dumps[j].length, 0);
        }
        uint64_t id;
        if (d->device_class == SNAPSHOT_CLASS_TRACE_SOURCE && strncmp(d->type, "ETM4", 4) != 0 &&
            strncmp(d->type, "STM", 3) != 0 && strncmp(d->type, "ITM", 3) != 0)
            ck_assert_int_eq(snapshot_reg(d, "ETMTRACEIDR", &id), 0);
    }
    for (size_t i = 0; i < snap->warning_count; i++)
        ck_assert_msg(strstr(snap->warnings[i].text, "is not in the device list") != NULL,
                      "%s: %s:%u: %s", name, snap->warnings[i].file, snap->warnings[i].line,
                      snap->warnings[i].text);
    snapshot_close(snap);
}

static const char *data_path(void)
{
    const char *data = getenv("BTRACED_DATA");
    return data ? data : "../shared/data";
}

START_TEST(real_recordings)
{
    DIR *dir = opendir(data_path());
    ck_assert_msg(dir != NULL, "no captures in '%s'", data_path());
    unsigned seen = 0;
    for (const struct dirent *e; (e = readdir(dir));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s/snapshot.ini", data_path(), e->d_name);
        if (access(path, R_OK) != 0)
            continue;
        seen++;
        check_real(path, e->d_name);
    }
    closedir(dir);
    ck_assert_uint_gt(seen, 0);
}
END_TEST

/* Without the captures the test is not run, unless it has to be. */
static bool want_real(const char *name)
{
    const char *required = getenv("BTRACED_REQUIRE_DATA");
    if (access(data_path(), R_OK) == 0 || (required && strcmp(required, "1") == 0))
        return true;
    printf("SKIP %s: no captures in '%s'\n", name, data_path());
    return false;
}

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
    Suite *s = suite_create("snapshot");
    add(s, "snapshot: a whole recording", whole);
    add(s, "snapshot: opened by the name of its index", by_the_name_of_its_index);
    add(s, "snapshot: CRLF, comments, quotes, byte order mark", crlf_comments_quotes);
    add(s, "snapshot: forms of registers", register_forms);
    add(s, "snapshot: dumps, overlapping and without length", dumps);
    add(s, "snapshot: dumps longer than their file", dumps_cut_short);
    add(s, "snapshot: several buffers and files, in any order", buffers);
    add(s, "snapshot: buffer of 5 GB is mapped", large_buffer);
    add(s, "snapshot: file that shrank after opening", file_that_shrank);
    add(s, "snapshot: oddities are warnings with file and line", oddities_are_warnings);
    add(s, "snapshot: no trace metadata", no_trace);
    add(s, "snapshot: bad snapshot.ini", bad_index);
    add(s, "snapshot: paths that leave the folder", bad_paths);
    add(s, "snapshot: symbolic links and special files", links_and_special_files);
    add(s, "snapshot: bad device files", bad_devices);
    add(s, "snapshot: bad dumps", bad_dumps);
    add(s, "snapshot: a dump that is missing", missing_dump);
    add(s, "snapshot: bad trace metadata", bad_trace);
    add(s, "snapshot: limits", limits);
    if (want_real("snapshot: real recordings"))
        add(s, "snapshot: real recordings", real_recordings);
    return s;
}
