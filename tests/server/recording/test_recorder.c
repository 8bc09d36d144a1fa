/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/recording/recorder.c and recording.c. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "drivers/virtual/encoder/frame_builder.h"
#include "tests/server/recording/test_recorder_folder.h"

static struct recorder *start(const char *format, const char *path)
{
    static const struct code_image *const no_images[CONFIG_MAX_CORES];
    struct config c;
    struct recorder *r;
    struct message why;
    make_config(&c, format);
    int error = recorder_start(&c, path, no_images, &r, &why);
    ck_assert_msg(error == 0, "%s", why.text);
    config_release(&c);
    return r;
}

static void refuse_start(const char *path, int error, const char *message)
{
    static const struct code_image *const no_images[CONFIG_MAX_CORES];
    struct config c;
    struct recorder *r;
    struct message why;
    make_config(&c, "tpiu");
    ck_assert_int_eq(recorder_start(&c, path, no_images, &r, &why), error);
    ck_assert_ptr_null(r);
    ck_assert_str_eq(why.text, message);
    config_release(&c);
}

static struct snapshot *open_folder(const char *path)
{
    struct snapshot *snap;
    struct message err;
    int error = snapshot_open(path, &snap, &err);
    ck_assert_msg(error == 0, "%s:%u: %s", err.file, err.line, err.text);
    ck_assert_msg(snap->warning_count == 0, "%s:%u: %s", snap->warnings[0].file,
                  snap->warnings[0].line, snap->warnings[0].text);
    return snap;
}

/* All that is recorded; the caller frees it. */
static uint8_t *recorded(const char *path, size_t *size)
{
    struct snapshot *snap = open_folder(path);
    const uint8_t *data;
    uint64_t length;
    ck_assert_int_eq(snapshot_map_buffer(snap, &snap->buffers[0], 0, &data, &length), 0);
    *size = (size_t)length;
    uint8_t *copy = malloc(*size + 1);
    ck_assert_ptr_nonnull(copy);
    if (*size)
        memcpy(copy, data, *size);
    snapshot_close(snap);
    return copy;
}

static uint64_t reg(const struct snapshot *snap, const char *device, const char *name)
{
    uint64_t value = 0;
    const struct snapshot_device *d = snapshot_device(snap, device);
    ck_assert_msg(d && snapshot_reg(d, name, &value) == 0, "%s %s", device, name);
    return value;
}

/* What the folder says. */

START_TEST(board)
{
    static const char *const texts[] = {"tpiu", "frames", "raw"};
    static const enum snapshot_format formats[] = {
        SNAPSHOT_FORMAT_DSTREAM_CORESIGHT, SNAPSHOT_FORMAT_CORESIGHT, SNAPSHOT_FORMAT_SOURCE_DATA};
    make_parent();
    ck_assert_int_eq(recorder_stop(start(texts[_i], folder)), 0);
    struct snapshot *snap = open_folder(folder);
    bool two = formats[_i] != SNAPSHOT_FORMAT_SOURCE_DATA;
    ck_assert_str_eq(snap->description, "a board");
    ck_assert_int_eq(snap->buffers[0].format, formats[_i]);
    ck_assert_uint_eq(snap->buffer_count, 1);
    ck_assert_uint_eq(snap->device_count, two ? 5 : 3);
    ck_assert_str_eq(snapshot_core_of(snap, "PTM_0")->name, "cpu0");
    ck_assert_str_eq(snapshot_core_of(snap, "PTM_0")->type, "Cortex-A9");
    ck_assert_str_eq(snapshot_device(snap, "PTM_0")->type, "PTM1.0");
    ck_assert_str_eq(snapshot_device(snap, "cpu2")->type, "Cortex-M4");
    ck_assert_uint_eq(reg(snap, "PTM_0", "ETMCR"), 0x20000000);
    ck_assert_uint_eq(snapshot_find_reg(snapshot_device(snap, "PTM_0"), "ETMTRACEIDR")->index,
                      0x80);
    if (two) {
        ck_assert_str_eq(snapshot_core_of(snap, "PTM_2")->name, "cpu1");
        ck_assert_uint_eq(reg(snap, "PTM_2", "ETMTRACEIDR"), 0x20);
        ck_assert_uint_eq(reg(snap, "cpu1", "SCTLR"), 0x2000);
    }
    snapshot_close(snap);
    remove_parent();
}
END_TEST

START_TEST(memory)
{
    struct code_image shared, own;
    const struct code_image *images[CONFIG_MAX_CORES] = {&shared, &own, &shared};
    struct config c;
    struct recorder *r;
    struct recording rec;
    struct message why;
    make_parent();
    code_image_init(&shared);
    code_image_init(&own);
    code_image_new_generation(&shared);
    add_region(&shared, 0x8000, "old code", 0, 0, 0);
    add_region(&shared, 0x8002, "new", 1, 0, 0);
    add_region(&shared, 0x8004, "behind", 1, 0, 0);
    add_region(&shared, 0x9000, "hypervisor", 0, CODE_BY_SECURITY, BT_SEC_HYP);
    add_region(&shared, 0xa000, "not for core 0", 0, CODE_BY_CORE, 0);
    add_region(&shared, 0xb000, "of one process", 0, CODE_BY_CONTEXT, 0);
    add_region(&own, 0x8000, "of cpu2", 0, 0, 0);
    make_config(&c, "frames");
    ck_assert_int_eq(recorder_start(&c, folder, images, &r, &why), 0);
    ck_assert_int_eq(recorder_stop(r), 0);
    config_release(&c);

    ck_assert_int_eq(recording_open(&rec, folder, NULL, 0, &why), 0);
    for (unsigned i = 0; i < 3; i++) {
        struct code_key key;
        uint8_t was[16], is[16];
        code_key_init(&key);
        for (uint64_t at = 0x8000; at < 0xc000; at++) {
            key.core = (uint16_t)i;
            key.security = at < 0xa000 && at >= 0x9000 ? BT_SEC_HYP : BT_SEC_SECURE;
            key.generation = images[i]->generation;
            size_t n = code_image_read(images[i], &key, at, was, 1);
            key.generation = 0;
            ck_assert_uint_eq(code_image_read(&rec.cores[i].image, &key, at, is, 1), n);
            ck_assert_msg(!n || was[0] == is[0], "core %u at 0x%llx", i, (unsigned long long)at);
        }
    }
    const struct snapshot_device *first = snapshot_device(rec.snapshot, "cpu0");
    const struct snapshot_device *third = snapshot_device(rec.snapshot, "cpu1");
    ck_assert_uint_eq(first->dump_count, 5); /* "new" in two */
    for (size_t i = 0; i < 5; i++)
        ck_assert_str_eq(first->dumps[i].path, third->dumps[i].path);
    recording_close(&rec);
    code_image_release(&shared);
    code_image_release(&own);
    remove_parent();
}
END_TEST

START_TEST(halts)
{
    make_parent();
    struct recorder *r = start("tpiu", folder);
    recorder_halted(r, 0, 0x8000, 0x1d3, NULL);
    recorder_halted(r, 1, 0x4000, 0x01000000, NULL);
    recorder_halted(r, 0, 0x8010, 0x1f3, NULL);
    recorder_halted(r, CONFIG_MAX_CORES, 1, 1, NULL); /* no such core */
    ck_assert_int_eq(recorder_stop(r), 0);
    struct snapshot *snap = open_folder(folder);
    ck_assert_uint_eq(reg(snap, "cpu0", "PC"), 0x8010);
    ck_assert_uint_eq(reg(snap, "cpu0", "CPSR"), 0x1f3);
    ck_assert_uint_eq(reg(snap, "cpu2", "PC"), 0x4000);
    ck_assert_uint_eq(reg(snap, "cpu2", "xPSR"), 0x01000000);
    ck_assert_ptr_null(snapshot_find_reg(snapshot_device(snap, "cpu1"), "PC"));
    snapshot_close(snap);
    remove_parent();
}
END_TEST

static void make_state(struct recorder_state *s, uint32_t first, uint32_t stack, uint32_t length)
{
    *s = (struct recorder_state){.stack = stack, .length = length};
    for (unsigned i = 0; i < 15; i++)
        s->regs[i] = first + i;
    memset(s->memory, (int)first, length);
}

/* Of each core the state at its last halt, if it has one. */
START_TEST(states_of_halts)
{
    static struct recorder_state s;
    const uint8_t *bytes;
    make_parent();
    struct recorder *r = start("tpiu", folder);
    make_state(&s, 0x10, 0x1000, 64);
    recorder_halted(r, 0, 0x8000, 0x1d3, &s);
    recorder_halted(r, CONFIG_MAX_CORES, 1, 1, &s); /* no such core */
    make_state(&s, 0x30, 0x3000, 16);
    recorder_halted(r, 1, 0x4000, 0x01000000, &s);
    make_state(&s, 0x20, 0x2000, RECORDER_STACK_MAX);
    record(r, (const uint8_t *)"0123456789abcdef", 16);
    recorder_halted(r, 0, 0x8010, 0x1f3, &s);
    record(r, (const uint8_t *)"0123456789abcdef", 16);
    recorder_halted(r, 1, 0x4010, 0x01000000, NULL);
    ck_assert_int_eq(recorder_stop(r), 0);
    struct snapshot *snap = open_folder(folder);
    ck_assert_uint_eq(reg(snap, "cpu0", "PC"), 0x8010);
    ck_assert_uint_eq(reg(snap, "cpu0", "R0"), 0x20);
    ck_assert_uint_eq(reg(snap, "cpu0", "R12"), 0x2c);
    ck_assert_uint_eq(reg(snap, "cpu0", "SP"), 0x2d);
    ck_assert_uint_eq(reg(snap, "cpu0", "LR"), 0x2e);
    ck_assert_uint_eq(reg(snap, "cpu0", "STATE_BYTES"), reg(snap, "cpu0", "TRACE_BYTES"));
    ck_assert_uint_eq(reg(snap, "cpu0", "STACK_ADDRESS"), 0x2000);
    ck_assert_uint_eq(reg(snap, "cpu0", "STACK_BYTES"), RECORDER_STACK_MAX);
    const struct snapshot_device *cpu0 = snapshot_device(snap, "cpu0");
    ck_assert_uint_eq(cpu0->dump_count, 1);
    ck_assert_uint_eq(cpu0->dumps[0].address, 0x2000);
    ck_assert_uint_eq(cpu0->dumps[0].length, RECORDER_STACK_MAX);
    ck_assert_int_eq(snapshot_map_dump(snap, &cpu0->dumps[0], &bytes), 0);
    ck_assert(bytes[0] == 0x20 && bytes[RECORDER_STACK_MAX - 1] == 0x20);
    /* What an earlier halt has left, if it was committed, is of no halt that counts. */
    uint64_t state = 0;
    snapshot_reg(snapshot_device(snap, "cpu2"), "STATE_BYTES", &state);
    ck_assert_uint_ne(state, reg(snap, "cpu2", "TRACE_BYTES"));
    snapshot_close(snap);
    remove_parent();
}
END_TEST

/* Each of many halts is on disk in the end, and the first one long before. */
START_TEST(halts_while_running)
{
    make_parent();
    struct recorder *r = start("tpiu", folder);
    uint64_t pc = 0;
    recorder_halted(r, 0, 0x100, 0, NULL);
    for (int i = 0; i < 500 && pc == 0; i++) {
        usleep(10000);
        struct snapshot *snap = open_folder(folder);
        snapshot_reg(snapshot_device(snap, "cpu0"), "PC", &pc);
        snapshot_close(snap);
    }
    ck_assert_uint_eq(pc, 0x100);
    for (unsigned i = 0; i < 1000; i++)
        recorder_halted(r, 0, 0x1000 + i, 0, NULL);
    ck_assert_int_eq(recorder_stop(r), 0);
    struct snapshot *snap = open_folder(folder);
    ck_assert_uint_eq(reg(snap, "cpu0", "PC"), 0x1000 + 999);
    snapshot_close(snap);
    remove_parent();
}
END_TEST

/* Where the folder is. */

START_TEST(folders)
{
    struct recorder_stats stats;
    char path[128], message[256];
    static const char *const ends[] = {"", "/0001", "/0002"};
    make_parent();
    for (size_t i = 0; i < 3; i++) {
        struct recorder *r = start("tpiu", folder);
        record(r, (const uint8_t *)"abc", i);
        recorder_stats(r, &stats);
        snprintf(path, sizeof path, "%s%s", folder, ends[i]);
        ck_assert_str_eq(stats.folder, path);
        ck_assert_int_eq(recorder_stop(r), 0);
    }
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        snprintf(path, sizeof path, "%s%s", folder, ends[i]);
        free(recorded(path, &size));
        ck_assert_uint_eq(size, i);
    }
    snprintf(path, sizeof path, "%s/a/b", parent);
    snprintf(message, sizeof message, "cannot record to '%s': No such file or directory", path);
    refuse_start(path, BT_ERR_IO, message);
    snprintf(path, sizeof path, "%s/snapshot.ini", folder);
    snprintf(message, sizeof message, "cannot record to '%s': it exists and is not a folder", path);
    refuse_start(path, BT_ERR_IO, message);
    refuse_start("/proc/self/rec", BT_ERR_IO,
                 "cannot record to '/proc/self/rec': No such file or directory");
    refuse_start("", BT_ERR_IO, "cannot record to '': No such file or directory");
    remove_parent();
}
END_TEST

START_TEST(no_permission)
{
    char message[256];
    uid_t user = geteuid();
    if (user == 0) /* may write anywhere */
        ck_assert_int_eq(seteuid(65534), 0);
    make_parent();
    ck_assert_int_eq(chmod(parent, 0500), 0);
    snprintf(message, sizeof message, "cannot record to '%s': Permission denied", folder);
    refuse_start(folder, BT_ERR_IO, message);
    snprintf(message, sizeof message, "cannot record to '%s/0001': Permission denied", parent);
    refuse_start(parent, BT_ERR_IO, message);
    ck_assert_int_eq(chmod(parent, 0700), 0);
    ck_assert_int_eq(rmdir(parent), 0);
    ck_assert_int_eq(seteuid(user), 0);
}
END_TEST

START_TEST(all_bytes_in_order)
{
    static const char *const formats[] = {"tpiu", "frames", "raw"};
    enum { TOTAL = 3 << 20 };
    struct trace_random random = {(uint64_t)_i};
    struct recorder_stats stats;
    uint8_t *bytes = malloc(TOTAL);
    make_parent();
    for (size_t i = 0; i < TOTAL; i++)
        bytes[i] = (uint8_t)trace_random_next(&random);
    struct recorder *r = start(formats[_i], folder);
    for (size_t at = 0; at < TOTAL;) {
        uint32_t n = trace_random_below(&random, trace_random_percent(&random, 50) ? 40 : 100000);
        n = n < TOTAL - at ? n : (uint32_t)(TOTAL - at);
        record(r, bytes + at, n);
        at += n;
    }
    recorder_stats(r, &stats);
    ck_assert_uint_eq(stats.dropped, 0);
    ck_assert_uint_eq(stats.drops, 0);
    ck_assert_int_eq(recorder_stop(r), 0);
    size_t size;
    uint8_t *found = recorded(folder, &size);
    ck_assert_uint_eq(size, TOTAL);
    ck_assert_mem_eq(found, bytes, TOTAL);
    free(found);
    free(bytes);
    remove_parent();
}
END_TEST

/* Output of a formatter: bytes of source 0x10, and where losses are. */
struct output {
    uint8_t data[4096];
    size_t len;
    size_t loss_at;
    unsigned losses;
};

static void take_run(void *ctx, const struct formatter_run *run)
{
    struct output *o = ctx;
    if (run->kind == FORMATTER_LOSS && o->losses++ == 0)
        o->loss_at = o->len;
    if (run->kind != FORMATTER_DATA || run->id != 0x10)
        return;
    ck_assert_uint_le(o->len + run->len, sizeof o->data);
    memcpy(o->data + o->len, run->data, run->len);
    o->len += run->len;
}

/* Frames of two sources; each byte of source 0x10 tells its place, two by two. */
static void make_frames(struct trace_bytes *out, bool port)
{
    struct frame_builder b;
    frame_builder_init(&b, &(struct frame_options){.full_sync_period = port ? 4 : 0}, out);
    for (unsigned i = 0; i < 600; i++) {
        uint8_t pair[2] = {(uint8_t)(i >> 8 | (i & 1) << 7), (uint8_t)i};
        ck_assert_int_eq(frame_builder_write(&b, 0x10, pair, 2), 0);
        if (i % 3 == 0)
            ck_assert_int_eq(frame_builder_put(&b, 0x20, 0xff), 0);
    }
    ck_assert_int_eq(frame_builder_flush(&b), 0);
}

/* What is read after a cut: a beginning of the truth, a loss, a later piece of the truth. */
static void check_cut(const struct output *truth, const struct output *o, size_t cut)
{
    ck_assert_uint_ge(o->losses, 1);
    ck_assert_msg(memcmp(o->data, truth->data, o->loss_at) == 0,
                  "cut at %zu, before the loss at %zu", cut, o->loss_at);
    const uint8_t *rest = o->data + o->loss_at;
    size_t n = o->len - o->loss_at;
    ck_assert_uint_gt(n, 600);
    ck_assert_msg(memcmp(rest, truth->data + truth->len - n, n) == 0,
                  "cut at %zu, behind the loss at %zu", cut, o->loss_at);
}

/* Bytes are missing behind `cut`: whole frames where they have their place. */
static void check_missing(bool port, bool dropped, size_t cut)
{
    size_t resume = cut + 10 * FORMATTER_FRAME + (port ? cut % 5 : 0);
    struct trace_bytes stream = {0};
    struct output truth = {0}, seen = {0};
    struct formatter f;
    struct recorder_stats stats;
    make_parent();
    make_frames(&stream, port);
    formatter_init(&f, port ? FORMATTER_SYNC : FORMATTER_ALIGNED);
    formatter_feed(&f, stream.data, stream.size, take_run, &truth);
    ck_assert_uint_eq(truth.len, 1200);
    ck_assert_uint_eq(truth.losses, 0);

    struct recorder *r = start(port ? "tpiu" : "frames", folder);
    record(r, stream.data, cut / 2);
    record(r, stream.data + cut / 2, cut - cut / 2);
    if (dropped) {
        size_t size = RECORDER_MEMORY + FORMATTER_FRAME;
        uint8_t *transfer = calloc(1, size);
        record(r, transfer, size);
        free(transfer);
    } else {
        recorder_lost(r);
    }
    for (size_t at = resume; at < stream.size; at += 100)
        record(r, stream.data + at, stream.size - at < 100 ? stream.size - at : 100);
    recorder_stats(r, &stats);
    ck_assert_uint_eq(stats.drops, 1);
    ck_assert_uint_ge(stats.dropped, dropped ? RECORDER_MEMORY : 0);
    ck_assert_uint_le(stats.dropped, (dropped ? RECORDER_MEMORY + 16 : 0) + 2 * 16);
    ck_assert_int_eq(recorder_stop(r), 0);

    size_t size;
    uint8_t *found = recorded(folder, &size);
    formatter_init(&f, port ? FORMATTER_SYNC : FORMATTER_ALIGNED);
    formatter_feed(&f, found, size, take_run, &seen);
    check_cut(&truth, &seen, cut);
    free(found);
    trace_bytes_release(&stream);
    remove_parent();
}

/* At each place of a frame, as the capture says. */
START_TEST(missing_bytes)
{
    for (size_t cut = 200; cut < 248; cut++)
        check_missing(_i == 0, false, cut);
}
END_TEST

/* Because a transfer does not fit into memory. */
START_TEST(dropped_transfers)
{
    for (size_t cut = 613; cut < 640; cut += 13)
        check_missing(_i == 0, true, cut);
}
END_TEST

START_TEST(raw_bytes_dropped)
{
    struct recorder_stats stats;
    size_t size = RECORDER_MEMORY + 1, found_size;
    uint8_t *transfer = calloc(1, size);
    make_parent();
    struct recorder *r = start("raw", folder);
    record(r, (const uint8_t *)"abc", 3);
    record(r, transfer, size);
    record(r, (const uint8_t *)"defg", 4);
    recorder_stats(r, &stats);
    ck_assert_uint_eq(stats.dropped, size);
    ck_assert_int_eq(recorder_stop(r), 0);
    uint8_t *found = recorded(folder, &found_size);
    ck_assert_uint_eq(found_size, 7);
    ck_assert_mem_eq(found, "abcdefg", 7);
    free(found);
    free(transfer);
    remove_parent();
}
END_TEST

/* Losses between small transfers: what waits is bounded in number, too. */
START_TEST(memory_is_bounded)
{
    struct recorder_stats stats;
    uint64_t given = 0;
    make_parent();
    struct recorder *r = start("raw", folder);
    for (unsigned i = 0; i < 20000; i++) {
        recorder_lost(r);
        record(r, (const uint8_t *)"x", 1);
        given++;
        recorder_stats(r, &stats);
        ck_assert_uint_le(stats.waiting, 4096 + 1); /* one is being written */
    }
    ck_assert_int_eq(recorder_stop(r), 0);
    size_t size;
    free(recorded(folder, &size));
    ck_assert_uint_eq(size + stats.dropped, given);
    remove_parent();
}
END_TEST

/* Byte n of a stream without end. */
static uint8_t pattern(size_t n)
{
    return (uint8_t)(n * 7 + n / 251);
}

/* In a process of its own, which must not assert: both would write to the file of the results. */
static void record_for_ever(const struct config *c, int pipe_end)
{
    static const struct code_image *const no_images[CONFIG_MAX_CORES];
    static uint8_t bytes[3000];
    struct recorder *r;
    struct recorder_stats stats = {0};
    struct message why;
    if (recorder_start(c, folder, no_images, &r, &why) != 0)
        _exit(1);
    for (size_t at = 0;;) {
        recorder_stats(r, &stats);
        if (stats.waiting > (1u << 20))
            continue;
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = pattern(at + i);
        record(r, bytes, sizeof bytes);
        recorder_halted(r, 0, at, 0, NULL);
        at += sizeof bytes;
        if (write(pipe_end, "x", 1) != 1)
            _exit(1);
    }
}

START_TEST(killed)
{
    int ends[2], status;
    char x[64], path[128];
    struct stat st;
    struct recording rec;
    struct message why;
    struct config c;
    make_parent();
    make_config(&c, "raw");
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        record_for_ever(&c, ends[1]);
    close(ends[1]);
    config_release(&c);
    snprintf(path, sizeof path, "%s/buffer_0.bin", folder);
    do
        ck_assert_int_gt(read(ends[0], x, sizeof x), 0);
    while (_i > 0 && (stat(path, &st) != 0 || st.st_size < 1 << 2 * _i));
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    ck_assert_msg(recording_open(&rec, folder, NULL, 0, &why) == 0, "%s", why.text);
    ck_assert_uint_eq(rec.source_count, 1);
    recording_close(&rec);
    size_t size;
    uint8_t *found = recorded(folder, &size);
    for (size_t i = 0; i < size; i++)
        ck_assert_uint_eq(found[i], pattern(i));
    ck_assert_uint_ge(size, _i > 0 ? (size_t)1 << 2 * _i : 0);
    free(found);
    remove_parent();
}
END_TEST

/* A limit on the size of files stands for a full disk: part of a write is done, then none. */
START_TEST(disk_full)
{
    struct rlimit limit;
    struct recorder_stats stats;
    static uint8_t bytes[1000];
    make_parent();
    signal(SIGXFSZ, SIG_IGN);
    struct recorder *r = start("raw", folder);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 64500;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    size_t given = 0;
    do { /* Check keeps a file of what was asserted, which the limit meets, too: nothing here */
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = pattern(given + i);
        record(r, bytes, sizeof bytes);
        given += sizeof bytes;
        recorder_stats(r, &stats);
    } while (!stats.error && given < (size_t)1 << 30);
    recorder_halted(r, 0, 0x8000, 0, NULL);
    for (unsigned i = 0; i < 10; i++)
        record(r, bytes, sizeof bytes);
    recorder_stats(r, &stats);
    ck_assert_int_eq(stats.error, BT_ERR_IO);
    ck_assert_msg(strncmp(stats.why, "recording to '", 14) == 0 &&
                      strstr(stats.why, "' has ended: File too large"),
                  "%s", stats.why);
    ck_assert_uint_ge(stats.dropped, 10 * sizeof bytes);
    ck_assert_uint_eq(stats.bytes, 64500);
    ck_assert_int_eq(recorder_stop(r), BT_ERR_IO);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    size_t size;
    uint8_t *found = recorded(folder, &size);
    ck_assert_uint_eq(size, 64500);
    for (size_t i = 0; i < size; i++)
        ck_assert_uint_eq(found[i], pattern(i));
    free(found);
    remove_parent();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("recorder");
    unit_cases(s, "recorder: what the folder says of the board", board, 0, 3);
    unit_case(s, "recorder: memory as each core saw it", memory);
    unit_case(s, "recorder: registers of halts", halts);
    unit_case(s, "recorder: registers of halts are there while it runs", halts_while_running);
    unit_case(s, "recorder: where folders are made", folders);
    unit_case(s, "recorder: a folder that may not be written", no_permission);
    unit_cases(s, "recorder: all bytes in order", all_bytes_in_order, 0, 3);
    unit_cases(s, "recorder: missing bytes are a loss", missing_bytes, 0, 2);
    unit_cases(s, "recorder: dropped transfers are a loss", dropped_transfers, 0, 2);
    unit_case(s, "recorder: raw bytes that do not fit", raw_bytes_dropped);
    unit_case(s, "recorder: memory is bounded", memory_is_bounded);
    unit_case(s, "recorder: states of halts", states_of_halts);
    unit_cases(s, "recorder: killed at any time", killed, 0, 10);
    unit_case(s, "recorder: a full disk", disk_full);
    return s;
}
