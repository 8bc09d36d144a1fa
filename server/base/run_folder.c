/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX   "btraced-"
#define RANDOM   "XXXXXX"
#define LOCK     "lock"
#define NEW_LOCK "lock.new"

/* What dead daemons have left. */

static void run_folder_empty(int folder)
{
    int copy = dup(folder);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir) {
        if (copy >= 0)
            close(copy);
        return;
    }
    for (const struct dirent *e; (e = readdir(dir));)
        unlinkat(folder, e->d_name, 0);
    closedir(dir);
}

/* Ours alone: /tmp is everybody's, and a name there proves nothing. */
static bool is_own_folder(int folder)
{
    struct stat s;
    return fstat(folder, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           (s.st_mode & 077) == 0;
}

/* The lock of a daemon is held until it dies, however it dies. Without a lock it is not there yet,
 * or is no folder of a daemon. */
static bool is_dead(int folder)
{
    struct stat s;
    int lock = openat(folder, LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (lock < 0)
        return false;
    bool dead = fstat(lock, &s) == 0 && S_ISREG(s.st_mode) && flock(lock, LOCK_EX | LOCK_NB) == 0;
    close(lock);
    return dead;
}

static void remove_dead(int base, const char *name)
{
    int folder = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    if (is_own_folder(folder) && is_dead(folder)) {
        run_folder_empty(folder);
        unlinkat(base, name, AT_REMOVEDIR);
    }
    close(folder);
}

static void remove_all_dead(const char *base)
{
    DIR *dir = opendir(base);
    if (!dir)
        return;
    for (const struct dirent *e; (e = readdir(dir));)
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            strlen(e->d_name) == strlen(PREFIX RANDOM))
            remove_dead(dirfd(dir), e->d_name);
    closedir(dir);
}

static const char *base_folder(void)
{
    static const char *const variables[] = {"XDG_RUNTIME_DIR", "TMPDIR"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *base = getenv(variables[i]);
        if (base && access(base, W_OK) == 0)
            return base;
    }
    return "/tmp";
}

/* The lock gets its name when it is held: without that it could be taken for a dead one's. */
static int lock_folder(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int lock =
        folder < 0 ? -1 : openat(folder, NEW_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (lock >= 0 &&
        (flock(lock, LOCK_EX | LOCK_NB) != 0 || renameat(folder, NEW_LOCK, folder, LOCK) != 0)) {
        close(lock);
        lock = -1;
    }
    if (folder >= 0)
        close(folder);
    return lock;
}

int run_folder_make(struct run_folder *f, struct message *why)
{
    const char *base = base_folder();
    remove_all_dead(base);
    f->lock = -1;
    int n = snprintf(f->path, sizeof f->path, "%s/" PREFIX RANDOM, base);
    if (n < 0 || (size_t)n >= sizeof f->path) {
        message_set(why, "'%s': the path is too long for sockets in it", base);
        f->path[0] = '\0';
        return BT_ERR_IO;
    }
    if (!mkdtemp(f->path)) {
        message_set(why, "cannot make a folder in '%s': %s", base, strerror(errno));
        f->path[0] = '\0';
        return BT_ERR_IO;
    }
    f->lock = lock_folder(f->path);
    if (f->lock >= 0)
        return BT_OK;
    message_set(why, "cannot write to '%s': %s", f->path, strerror(errno));
    run_folder_remove(f);
    return BT_ERR_IO;
}

void run_folder_remove(struct run_folder *f)
{
    int folder = *f->path ? open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (folder >= 0) {
        run_folder_empty(folder);
        close(folder);
        rmdir(f->path);
    }
    if (f->lock >= 0)
        close(f->lock);
    f->path[0] = '\0';
    f->lock = -1;
}
