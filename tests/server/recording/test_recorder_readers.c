/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings as other programs read them. */
#include "drivers/virtual/encoder/frame_builder.h"
#include "tests/server/recording/test_recorder_folder.h"

/* What a command prints, both streams. */
static char *output_of(const char *command)
{
    static char text[65536];
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    pclose(f);
    return text;
}

/* A-sync, I-sync at 0x8000, atoms, over and over. */
static void record_ptm(const char *format, const struct code_image *const *images)
{
    static const uint8_t ptm[] = {0, 0, 0, 0, 0, 0x80, 8, 0, 0x80, 0, 0, 0x21, 0x84, 0x86};
    struct trace_bytes stream = {0};
    struct frame_builder b;
    bool port = strcmp(format, "tpiu") == 0, raw = strcmp(format, "raw") == 0;
    frame_builder_init(&b, &(struct frame_options){.full_sync_period = port ? 4 : 0}, &stream);
    for (unsigned i = 0; i < 50; i++) {
        if (raw)
            ck_assert_int_eq(trace_bytes_append(&stream, ptm, sizeof ptm), 0);
        else
            ck_assert_int_eq(frame_builder_write(&b, 0x10, ptm, sizeof ptm), 0);
    }
    if (!raw)
        ck_assert_int_eq(frame_builder_flush(&b), 0);
    struct config c;
    struct recorder *r;
    struct message why;
    make_config(&c, format);
    ck_assert_int_eq(recorder_start(&c, folder, images, &r, &why), 0);
    record(r, stream.data, stream.size);
    ck_assert_int_eq(recorder_stop(r), 0);
    config_release(&c);
    trace_bytes_release(&stream);
}

static unsigned count_of(const char *text, const char *word)
{
    unsigned n = 0;
    for (const char *s = text; (s = strstr(s, word)); s += strlen(word))
        n++;
    return n;
}

static const struct code_image *const no_images[CONFIG_MAX_CORES];
static const char *const trace_formats[] = {"tpiu", "frames", "raw"};

START_TEST(read_by_decode)
{
    char command[512], self[256];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(n, 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    make_parent();
    record_ptm(trace_formats[_i], no_images);
    snprintf(command, sizeof command, "'%s/../btraced' decode --packets '%s' 2>&1", self, folder);
    char *text = output_of(command);
    ck_assert_msg(count_of(text, "i-sync") == 50, "%.1500s", text);
    ck_assert_msg(count_of(text, "address=0x00008000") == 50, "%.1500s", text);
    remove_parent();
}
END_TEST

START_TEST(read_by_opencsd)
{
    char command[512];
    make_parent();
    record_ptm(trace_formats[_i], no_images);
    if (system("command -v trc_pkt_lister >/dev/null") != 0) {
        printf("SKIP recorder: read by OpenCSD: trc_pkt_lister is not installed\n");
        fflush(stdout);
        remove_parent();
        return;
    }
    snprintf(command, sizeof command, "cd '%s' && trc_pkt_lister -ss_dir rec -logstdout 2>&1",
             parent);
    char *text = output_of(command);
    ck_assert_msg(count_of(text, "Addr=0x00008000;") == 50, "%.1500s", text);
    remove_parent();
}
END_TEST

/* OpenCSD takes no memory of an odd size. */
START_TEST(code_of_an_odd_size)
{
    static const char self[] = "\xfe\xff\xff\xea\xfe\xff\xff\xea!"; /* b . twice, and a byte */
    struct code_image image;
    const struct code_image *images[CONFIG_MAX_CORES] = {&image, &image, &image};
    struct recording rec;
    struct message why;
    struct code_key key;
    char command[512];
    make_parent();
    code_image_init(&image);
    add_region(&image, 0x8000, self, 0, 0, 0);
    add_region(&image, 0x9000, "abc", 0, 0, 0);
    record_ptm("frames", images);
    ck_assert_int_eq(recording_open(&rec, folder, NULL, 0, &why), 0);
    code_key_init(&key);
    for (uint64_t at = 0x8000; at < 0x9010; at++) {
        uint8_t was = 0, is = 0;
        size_t n = code_image_read(&image, &key, at, &was, 1);
        ck_assert_uint_eq(code_image_read(&rec.cores[0].image, &key, at, &is, 1), n);
        ck_assert_uint_eq(is, was);
    }
    const struct snapshot_device *cpu = snapshot_device(rec.snapshot, "cpu0");
    for (size_t i = 0; i < cpu->dump_count; i++)
        ck_assert(cpu->dumps[i].length % 2 == 0 || cpu->dumps[i].length == 1);
    recording_close(&rec);
    if (system("command -v trc_pkt_lister >/dev/null") == 0) {
        snprintf(command, sizeof command,
                 "cd '%s' && trc_pkt_lister -ss_dir rec -decode -logstdout 2>&1", parent);
        char *text = output_of(command);
        ck_assert_msg(count_of(text, "INSTR_RANGE(exec range=0x8000:") >= 50, "%.1500s", text);
    }
    code_image_release(&image);
    remove_parent();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("recorder, readers");
    unit_cases(s, "recorder: read by btraced decode", read_by_decode, 0, 3);
    unit_cases(s, "recorder: read by OpenCSD", read_by_opencsd, 0, 3);
    unit_case(s, "recorder: code of an odd size, read by OpenCSD", code_of_an_odd_size);
    return s;
}
