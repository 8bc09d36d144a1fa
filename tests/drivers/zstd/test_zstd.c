/* SPDX-License-Identifier: BSD-3-Clause */
/* zstd_writer.c and zstd_frames.c: what was written is read by place, also of other programs'
 * frames and of files that were cut off; memory is given back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "drivers/zstd/zstd_frames.h"
#include "drivers/zstd/zstd_writer.h"
#include "tests/support/unit_main.h"

#define SIZE (3u << 20)

static uint8_t *make_bytes(unsigned seed)
{
    uint8_t *bytes = malloc(SIZE);
    ck_assert_ptr_nonnull(bytes);
    srandom(seed);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(random() % 5 * (i / 70000 + 1));
    return bytes;
}

static unsigned new_seed(void)
{
    unsigned seed = (unsigned)time(NULL) ^ (unsigned)getpid();
    printf("seed %u\n", seed);
    return seed;
}

static uint64_t file_size(int fd)
{
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    return (uint64_t)st.st_size;
}

/* In pieces of any length, some of them flushed; *cut: where its end begins, with the table. */
static int write_frames(const uint8_t *bytes, uint64_t *cut)
{
    int fd = memfd_create("frames", MFD_CLOEXEC);
    struct zstd_writer *w = zstd_writer_new();
    ck_assert(w && fd >= 0);
    for (size_t at = 0; at < SIZE;) {
        size_t n = (size_t)(random() % 3 ? random() % 5000 : random() % 600000) + 1;
        n = n < SIZE - at ? n : SIZE - at;
        ck_assert_int_eq(zstd_writer_append(w, fd, bytes + at, n), 0);
        if (random() % 20 == 0)
            ck_assert_int_eq(zstd_writer_flush(w, fd), 0);
        at += n;
    }
    ck_assert_int_eq(zstd_writer_flush(w, fd), 0);
    *cut = file_size(fd);
    ck_assert_int_eq(zstd_writer_close(w, fd), 0);
    return fd;
}

/* Any ranges, in any order, are those of `bytes`; returns how many bytes there are. */
static uint64_t check_reads(int fd, uint64_t length, const uint8_t *bytes)
{
    struct zstd_frames *f;
    const uint8_t *data;
    ck_assert_int_eq(zstd_frames_open(dup(fd), length, &f), 0);
    uint64_t size = zstd_frames_size(f);
    ck_assert_uint_le(size, SIZE);
    ck_assert_int_eq(zstd_frames_map(f, &data), 0);
    for (unsigned i = 0; i < 300 && size; i++) {
        uint64_t from = (uint64_t)random() % size;
        uint64_t n = (uint64_t)random() % (random() % 10 ? 65536 : SIZE);
        uint64_t to = from + n < size ? from + n : size;
        ck_assert_int_eq(zstd_frames_need(f, from, to), 0);
        ck_assert_int_eq(memcmp(data + from, bytes + from, to - from), 0);
    }
    zstd_frames_close(f);
    return size;
}

START_TEST(written)
{
    uint64_t cut;
    uint8_t *bytes = make_bytes(new_seed());
    int fd = write_frames(bytes, &cut);
    ck_assert_uint_eq(check_reads(fd, file_size(fd), bytes), SIZE);
    ck_assert_uint_eq(check_reads(fd, cut, bytes), SIZE);
    uint64_t last = 0;
    for (unsigned i = 0; i < 20; i++) {
        uint64_t size = check_reads(fd, cut / 20 * i + 8, bytes);
        ck_assert_uint_ge(size, last);
        last = size;
    }
    ck_assert(last > 0 && last < SIZE);
    close(fd);
    free(bytes);
}
END_TEST

/* Frames of any length, without a table, with skippable ones between. */
START_TEST(other_programs)
{
    static const uint8_t skippable[] = {0x53, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'h', 'i'};
    uint8_t *bytes = make_bytes(new_seed());
    size_t max = ZSTD_compressBound(SIZE);
    uint8_t *packed = malloc(max);
    int fd = memfd_create("frames", MFD_CLOEXEC);
    for (size_t at = 0; at < SIZE;) {
        size_t n = (size_t)(random() % 900000) + 1;
        n = n < SIZE - at ? n : SIZE - at;
        size_t length = ZSTD_compress(packed, max, bytes + at, n, 1 + (int)(random() % 9));
        ck_assert(!ZSTD_isError(length));
        ck_assert_int_eq(write(fd, packed, length), (ssize_t)length);
        if (random() % 3 == 0)
            ck_assert_int_eq(write(fd, skippable, sizeof skippable), sizeof skippable);
        at += n;
    }
    ck_assert_uint_eq(check_reads(fd, file_size(fd), bytes), SIZE);
    close(fd);
    free(packed);
    free(bytes);
}
END_TEST

/* A changed byte is found where it is looked at, or the file is refused: never other contents. */
START_TEST(damaged)
{
    uint64_t cut;
    uint8_t *bytes = make_bytes(new_seed());
    int fd = write_frames(bytes, &cut), found = 0;
    uint64_t length = file_size(fd);
    for (unsigned i = 0; i < 100; i++) {
        struct zstd_frames *f;
        const uint8_t *data;
        off_t at = (off_t)((uint64_t)random() % length);
        uint8_t old, changed;
        ck_assert_int_eq(pread(fd, &old, 1, at), 1);
        changed = old ^ (uint8_t)(1u << random() % 8);
        ck_assert_int_eq(pwrite(fd, &changed, 1, at), 1);
        int error = zstd_frames_open(dup(fd), length, &f);
        ck_assert_int_eq(error != 0, f == NULL);
        if (!error && zstd_frames_map(f, &data) == 0) {
            uint64_t size = zstd_frames_size(f);
            error = zstd_frames_need(f, 0, size);
            ck_assert(error || (size <= SIZE && memcmp(data, bytes, size) == 0));
        }
        found += error != 0;
        zstd_frames_close(f);
        ck_assert_int_eq(pwrite(fd, &old, 1, at), 1);
    }
    ck_assert_int_gt(found, 50);
    close(fd);
    free(bytes);
}
END_TEST

/* Only those frames that were looked at last take memory. */
START_TEST(bounded)
{
    uint64_t cut, pages = SIZE / 4096;
    uint8_t *bytes = make_bytes(new_seed());
    unsigned char resident[SIZE / 4096];
    int fd = memfd_create("frames", MFD_CLOEXEC);
    struct zstd_writer *w = zstd_writer_new();
    struct zstd_frames *f;
    const uint8_t *data;
    for (size_t at = 0; at < SIZE; at += 10000) { /* frames that share pages */
        size_t n = SIZE - at < 10000 ? SIZE - at : 10000;
        ck_assert_int_eq(zstd_writer_append(w, fd, bytes + at, n), 0);
        ck_assert_int_eq(zstd_writer_flush(w, fd), 0);
    }
    ck_assert_int_eq(zstd_writer_close(w, fd), 0);
    cut = file_size(fd);
    ck_assert_int_eq(zstd_frames_open(fd, cut, &f), 0);
    ck_assert_int_eq(zstd_frames_map(f, &data), 0);
    for (uint64_t at = 0; at < SIZE; at += 5000)
        ck_assert_int_eq(zstd_frames_need(f, at, at + 5000 < SIZE ? at + 5000 : SIZE), 0);
    ck_assert_int_eq(mincore((void *)data, SIZE, resident), 0);
    unsigned count = 0;
    for (uint64_t i = 0; i < pages; i++)
        count += resident[i] & 1;
    ck_assert_uint_gt(count, 2);
    ck_assert_uint_le(count, (ZSTD_FRAMES_KEPT + 2) * 4);
    zstd_frames_close(f);
    free(bytes);
}
END_TEST

static void add(Suite *s, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_test(tc, test);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("zstd");
    add(s, "zstd: written frames are read by place, also of a file that was cut off", written);
    add(s, "zstd: frames of other programs", other_programs);
    add(s, "zstd: a changed byte never gives other contents", damaged);
    add(s, "zstd: memory is that of the frames looked at last", bounded);
    return s;
}
