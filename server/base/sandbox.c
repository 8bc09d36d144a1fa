/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <pwd.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_SIZE 600

/* Of an ABI that the headers may not have. */
#define FS_REFER    (1ull << 13)
#define FS_TRUNCATE (1ull << 14)

#define FS_FILE_WRITES LANDLOCK_ACCESS_FS_WRITE_FILE
#define FS_WRITES                                                                                  \
    (FS_FILE_WRITES | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |             \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
     LANDLOCK_ACCESS_FS_MAKE_SYM)

/* For administrators, debuggers, and ways into the kernel that are young or rarely used. */
static const char *const refused_calls[] = {
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "chroot",
    "clock_adjtime",
    "clock_settime",
    "create_module",
    "delete_module",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mknod",
    "mknodat",
    "modify_ldt",
    "mount",
    "mount_setattr",
    "move_mount",
    "name_to_handle_at",
    "nfsservctl",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "personality",
    "pidfd_getfd",
    "pivot_root",
    "process_vm_readv",
    "process_vm_writev",
#ifndef __SANITIZE_ADDRESS__ /* the search for leaks stops its own threads so */
    "ptrace",
#endif
    "quotactl",
    "reboot",
    "request_key",
    "sethostname",
    "setdomainname",
    "setns",
    "settimeofday",
    "stime",
    "swapoff",
    "swapon",
    "syslog",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
};

/* Of all threads, or of the calling one alone. */
static int refuse_calls(const char *const *names, size_t count, bool all, struct message *why)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int error = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, all) : -ENOMEM;
    for (size_t i = 0; i < count && !error; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);
        if (number != __NR_SCMP_ERROR && number >= 0)
            error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    }
    if (!error)
        error = seccomp_load(filter);
    if (filter)
        seccomp_release(filter);
    /* A kernel without it, or a service manager whose own filter has no place for another one. */
    if (!error || error == -ENOSYS || error == -EINVAL || error == -EOPNOTSUPP ||
        error == -ECANCELED || error == -EPERM || error == -EACCES)
        return BT_OK;
    return message_fail(why, BT_ERR_IO, "system calls cannot be given up: %s", strerror(-error));
}

/* Writing. */

bool sandbox_add_folder(struct sandbox_folders *f, const char *path)
{
    if (!path || !*path)
        return true;
    if (f->count == SANDBOX_MAX_FOLDERS)
        return false;
    f->path[f->count++] = path;
    return true;
}

/* The folder itself, or the one that what is not there yet, or is a file, is in. */
static int open_folder(const char *path)
{
    char text[PATH_SIZE];
    int fd = -1;
    if ((size_t)snprintf(text, sizeof text, "%s", path) >= sizeof text)
        return -1;
    while ((fd = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0) {
        char *slash = strrchr(text, '/');
        if (strcmp(text, ".") == 0 || strcmp(text, "/") == 0)
            return -1;
        if (!slash)
            snprintf(text, sizeof text, ".");
        else
            slash[slash == text] = '\0';
    }
    return fd;
}

static int allow_folder(int rules, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr below = {.allowed_access = access,
                                               .parent_fd = open_folder(path)};
    if (below.parent_fd < 0)
        return 0;
    long error = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    close(below.parent_fd);
    return error ? -errno : 0;
}

static int give_up_writing(const struct sandbox_folders *folders, struct message *why)
{
    static const char *const own[] = {"/dev", "/tmp", "."};
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr attr = {.handled_access_fs = FS_WRITES};
    if (version < 1)
        return BT_OK; /* a kernel without it, or one that has it switched off */
    attr.handled_access_fs |= version >= 2 ? FS_REFER : 0;
    attr.handled_access_fs |= version >= 3 ? FS_TRUNCATE : 0;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    int error = rules < 0 ? -errno : 0;
    for (size_t i = 0; i < sizeof own / sizeof *own && !error; i++)
        error = allow_folder(rules, own[i], attr.handled_access_fs);
    for (unsigned i = 0; i < folders->count && !error; i++)
        error = allow_folder(rules, folders->path[i], attr.handled_access_fs);
    if (!error && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        error = -errno;
    if (rules >= 0)
        close(rules);
    error = error == -EPERM || error == -EACCES ? 0 : error; /* as of a filter that is there */
    return error ? message_fail(why, BT_ERR_IO, "writing cannot be given up: %s", strerror(-error))
                 : BT_OK;
}

int sandbox_enter(const struct sandbox_folders *folders, struct message *why)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return message_fail(why, BT_ERR_IO, "new rights cannot be given up: %s", strerror(errno));
    int error = give_up_writing(folders, why);
    return error ? error
                 : refuse_calls(refused_calls, sizeof refused_calls / sizeof *refused_calls, true,
                                why);
}

int sandbox_end_exec(struct message *why)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)why;
    return BT_OK; /* they start a program that knows the names of functions */
#else
    static const char *const calls[] = {"execve", "execveat"};
    return refuse_calls(calls, sizeof calls / sizeof *calls, true, why);
#endif
}

/* In a thread of its own, which alone gives the call up: a board's program that is started later
 * has it. */
static void *init_loop_without_uring(void *loop)
{
    static const char *const calls[] = {"io_uring_setup"};
    struct message why;
    bool refused = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   refuse_calls(calls, sizeof calls / sizeof *calls, false, &why) == BT_OK;
    return refused && uv_loop_init(loop) == 0 ? loop : NULL;
}

int sandbox_loop_init(uv_loop_t *loop)
{
    pthread_t thread;
    void *made = NULL;
    if (pthread_create(&thread, NULL, init_loop_without_uring, loop) == 0)
        pthread_join(thread, &made);
    return made ? BT_OK : BT_ERR_NOMEM;
}

int sandbox_become(const char *user, const char *folder, struct message *why)
{
    const struct passwd *p = getpwnam(user);
    if (!p)
        return message_fail(why, BT_ERR_IO, "--user: this machine has no user '%s'", user);
    if (chown(folder, p->pw_uid, p->pw_gid) != 0 || initgroups(user, p->pw_gid) != 0 ||
        setresgid(p->pw_gid, p->pw_gid, p->pw_gid) != 0 ||
        setresuid(p->pw_uid, p->pw_uid, p->pw_uid) != 0)
        return message_fail(why, BT_ERR_IO, "--user: cannot become '%s': %s", user,
                            strerror(errno));
    return BT_OK;
}
