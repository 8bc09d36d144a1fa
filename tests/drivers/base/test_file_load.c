/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/base/file_load.c. */
#include "drivers/base/file_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/unit_main.h"

#define MOST 100000u

START_TEST(all_of_a_file)
{
    char path[] = "/tmp/test_file_load.XXXXXX", *text;
    size_t length;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    unlink(path);
    ck_assert_int_eq(write(fd, "[a]\nk=v\n", 8), 8);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    ck_assert_int_eq(file_load(fd, MOST, &text, &length), 0);
    ck_assert_uint_eq(length, 8);
    ck_assert_str_eq(text, "[a]\nk=v\n");
    free(text);

    ck_assert_int_eq(ftruncate(fd, MOST + 1), 0);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    ck_assert_int_eq(file_load(fd, MOST, &text, &length), BT_ERR_RANGE);
    close(fd);
    fd = open("/", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    errno = 0;
    ck_assert_int_eq(file_load(fd, MOST, &text, &length), BT_ERR_IO);
    ck_assert_int_eq(errno, EISDIR);
    close(fd);
}
END_TEST

START_TEST(by_its_path)
{
    char path[] = "/tmp/test_file_load.XXXXXX", *text;
    uint64_t written = 3;
    size_t length;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(file_write_all(fd, "four", 4, &written), 0);
    ck_assert_uint_eq(written, 7);
    close(fd);
    ck_assert_int_eq(file_load_path(path, MOST, &text, &length), 0);
    ck_assert_str_eq(text, "four");
    free(text);
    unlink(path);
    errno = 0;
    ck_assert_int_eq(file_load_path(path, MOST, &text, &length), BT_ERR_IO);
    ck_assert_int_eq(errno, ENOENT);

    fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(file_write_all(fd, "four", 4, &written), BT_ERR_IO);
    ck_assert_uint_eq(written, 7);
    ck_assert_int_eq(errno, ENOSPC);
    close(fd);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("file_load");
    unit_case(s, "file_load: all of a file, one that is too large, and none", all_of_a_file);
    unit_case(s, "file_load: by its path, and all of it written", by_its_path);
    return s;
}
