/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests sandbox.c. What a process can do no more, each tried in one of its own; what it needs, it
 * can. */
#include "server/base/sandbox.h"
#include "tests/support/unit_main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char own[64], other[] = "/var/tmp/btraced-sandbox-XXXXXX";

/* In a child that has entered it: the number of the first expectation that fails, 0: none. */
static int child_result(int (*try_all)(void))
{
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(try_all());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "it ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static bool enter(void)
{
    struct sandbox_folders folders = {.count = 0};
    struct message why;
    sandbox_add_folder(&folders, own);
    return chdir("/proc") == 0 && sandbox_enter(&folders, &why) == BT_OK;
}

static bool has_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 1;
}

static int try_calls(void)
{
    if (!enter())
        return 1;
    if (mount("none", "/mnt", "tmpfs", 0, NULL) == 0 || errno != EPERM)
        return 2;
    if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM)
        return 3;
    if (syscall(SYS_bpf, 0, NULL, 0) == 0 || errno != EPERM)
        return 4;
#ifndef __SANITIZE_ADDRESS__
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 || errno != EPERM)
        return 5;
#endif
    if (chroot("/") == 0 || errno != EPERM)
        return 6;
    return 0;
}

START_TEST(calls)
{
    ck_assert_int_eq(child_result(try_calls), 0);
}
END_TEST

static void on_timer(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

/* Where the loop would use io_uring, the first wait behind the sandbox's entry aborts. */
static int try_loop(void)
{
    uv_loop_t loop;
    uv_timer_t timer;
    uv_async_t wakes;
    bool fired = false;
    if (sandbox_loop_init(&loop) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0)
        return 1;
    if (!enter() || uv_async_init(&loop, &wakes, NULL) || uv_timer_init(&loop, &timer))
        return 2;
    uv_unref((uv_handle_t *)&wakes);
    timer.data = &fired;
    return uv_timer_start(&timer, on_timer, 1, 0) || uv_run(&loop, UV_RUN_DEFAULT) || !fired ? 3
                                                                                             : 0;
}

START_TEST(loop_behind)
{
    ck_assert_int_eq(child_result(try_loop), 0);
}
END_TEST

static bool can_make(const char *folder)
{
    char path[120];
    snprintf(path, sizeof path, "%s/file", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0 && unlink(path) == 0;
}

static int try_writing(void)
{
    struct stat st;
    if (!can_make(other) || !enter())
        return 1;
    if (!can_make(own) || !can_make("/tmp"))
        return 2;
    if (has_landlock() && can_make(other))
        return 3;
    if (has_landlock() && rmdir(other) == 0)
        return 4;
    if (stat("/etc/passwd", &st) != 0 || open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0)
        return 5;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return null >= 0 && write(null, "x", 1) == 1 ? 0 : 6;
}

START_TEST(writing)
{
    ck_assert_int_eq(child_result(try_writing), 0);
}
END_TEST

static void *exec_in_thread(void *ctx)
{
    char program[] = "true", *const words[] = {program, NULL};
    (void)ctx;
    execv("/bin/true", words);
    return errno == EPERM ? NULL : ctx;
}

static void *wait_in_thread(void *gate)
{
    char byte;
    if (read(*(int *)gate, &byte, 1) != 1)
        return gate;
    return exec_in_thread(gate);
}

/* Of a thread that was there before, too. */
static int try_exec(void)
{
    struct message why;
    pthread_t before;
    void *result = NULL;
    int gate[2];
    if (pipe(gate) != 0 || pthread_create(&before, NULL, wait_in_thread, &gate[0]) != 0)
        return 1;
    if (!enter() || sandbox_end_exec(&why) != BT_OK)
        return 2;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (exec_in_thread(&gate) != NULL)
        return 3;
    if (write(gate[1], "x", 1) != 1 || pthread_join(before, &result) != 0 || result)
        return 4;
#endif
    (void)result;
    return 0;
}

START_TEST(exec)
{
    ck_assert_int_eq(child_result(try_exec), 0);
}
END_TEST

static int try_user(void)
{
    struct message why;
    struct stat st;
    if (sandbox_become("no such user here", own, &why) != BT_ERR_IO)
        return 1;
    if (getuid() != 0)
        return 0;
    if (sandbox_become("nobody", own, &why) != BT_OK || getuid() == 0 || geteuid() == 0)
        return 2;
    if (stat(own, &st) != 0 || st.st_uid != getuid())
        return 3;
    return setuid(0) == 0 ? 4 : 0;
}

START_TEST(user)
{
    ck_assert_int_eq(child_result(try_user), 0);
}
END_TEST

static void make_folders(void)
{
    snprintf(own, sizeof own, "/var/tmp/btraced-own-XXXXXX");
    snprintf(other, sizeof other, "/var/tmp/btraced-sandbox-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(own));
    ck_assert_ptr_nonnull(mkdtemp(other));
}

static void remove_folders(void)
{
    rmdir(own);
    rmdir(other);
}

static void add_case(Suite *s, const char *name, const TTest *test)
{
    TCase *c = tcase_create(name);
    tcase_add_checked_fixture(c, make_folders, remove_folders);
    tcase_add_test(c, test);
    suite_add_tcase(s, c);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("sandbox");
    add_case(s, "sandbox: calls of administrators and debuggers", calls);
    add_case(s, "sandbox: a loop that was made before waits behind its entry", loop_behind);
    add_case(s, "sandbox: writing", writing);
    add_case(s, "sandbox: programs, in each thread", exec);
    add_case(s, "sandbox: another user", user);
    return s;
}
