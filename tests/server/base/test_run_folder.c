/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/base/run_folder.c: what a dead daemon has left goes, and nothing else. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/run_folder.h"
#include "tests/support/unit_main.h"

static char base[32];

static void set_up(void)
{
    snprintf(base, sizeof base, "/tmp/test_run_folder.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    setenv("XDG_RUNTIME_DIR", base, 1);
}

static void tear_down(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", base);
    ck_assert_int_eq(system(command), 0);
}

static void put_file(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

START_TEST(goes_with_its_files)
{
    struct run_folder f;
    struct message why;
    struct stat st;
    ck_assert_int_eq(run_folder_make(&f, &why), 0);
    ck_assert_int_eq(strncmp(f.path, base, strlen(base)), 0);
    ck_assert_int_eq(stat(f.path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
    put_file(f.path, "socket");
    char path[sizeof f.path];
    memcpy(path, f.path, sizeof path);
    run_folder_remove(&f);
    ck_assert(!is_there(path));
    run_folder_remove(&f); /* there is nothing left to remove */
}
END_TEST

START_TEST(dead_ones_go)
{
    struct run_folder living, next;
    struct message why;
    char dead[64], other[64];
    ck_assert_int_eq(run_folder_make(&living, &why), 0);
    snprintf(dead, sizeof dead, "%s/btraced-123456", base);
    snprintf(other, sizeof other, "%s/btraced-654321", base);
    ck_assert_int_eq(mkdir(dead, 0700), 0);
    put_file(dead, "lock");
    put_file(dead, "trace");
    ck_assert_int_eq(mkdir(other, 0700), 0); /* without a lock: of no daemon */
    ck_assert_int_eq(run_folder_make(&next, &why), 0);
    ck_assert(!is_there(dead));
    ck_assert(is_there(other));
    ck_assert(is_there(living.path));
    run_folder_remove(&living);
    run_folder_remove(&next);
}
END_TEST

START_TEST(names_what_is_too_long)
{
    struct run_folder f;
    struct message why;
    char path[200];
    snprintf(path, sizeof path, "%s/%0120d", base, 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    setenv("XDG_RUNTIME_DIR", path, 1);
    ck_assert_int_eq(run_folder_make(&f, &why), BT_ERR_IO);
    ck_assert_ptr_nonnull(strstr(why.text, "': the path is too long for sockets in it"));
    run_folder_remove(&f);
}
END_TEST

static void add(Suite *s, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, test);
    suite_add_tcase(s, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("run_folder");
    add(s, "run_folder: goes with the files in it", goes_with_its_files);
    add(s, "run_folder: those of dead daemons are removed, others stay", dead_ones_go);
    add(s, "run_folder: names a path that is too long", names_what_is_too_long);
    return s;
}
