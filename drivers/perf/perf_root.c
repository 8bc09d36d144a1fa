/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_MAX  40 /* as the kernel's */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* A path without links and dots, and what of the wanted one is still to be looked at. */
struct perf_walk {
    char done[PATH_MAX];
    char rest[PATH_MAX];
    unsigned links;
};

/* The folder of `path` below `root`, no link followed; *name is behind it. -1 with errno. */
static int open_folder_of(int root, const char *path, const char **name)
{
    char part[PATH_MAX];
    int folder = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (*name = path; folder >= 0; *name += strcspn(*name, "/") + 1) {
        size_t length = strcspn(*name, "/");
        if ((*name)[length] == '\0')
            return folder;
        snprintf(part, sizeof part, "%.*s", (int)length, *name);
        int next = openat(folder, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int saved = errno;
        close(folder);
        errno = saved;
        folder = next;
    }
    return -1;
}

/* Puts the link's target in front of what is left. */
static bool perf_walk_link(struct perf_walk *w, int folder, const char *name)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(folder, name, target, sizeof target);
    if (n < 0)
        return false;
    if (++w->links > LINKS_MAX) {
        errno = ELOOP;
        return false;
    }
    if (n == 0 || (size_t)n + strlen(w->rest) + 1 > sizeof w->rest) {
        errno = n ? ENAMETOOLONG : ENOENT;
        return false;
    }
    memmove(w->rest + n, w->rest, strlen(w->rest) + 1);
    memcpy(w->rest, target, (size_t)n);
    if (*target == '/')
        w->done[0] = '\0';
    return true;
}

/* Takes the first part off what is left; false: none is. */
static bool perf_walk_part(struct perf_walk *w, char part[PATH_MAX], bool *folder)
{
    const char *from = w->rest + strspn(w->rest, "/");
    size_t length = strcspn(from, "/");
    if (length == 0)
        return false;
    snprintf(part, PATH_MAX, "%.*s", (int)length, from);
    *folder = from[length] == '/';
    memmove(w->rest, from + length, strlen(from + length) + 1);
    return true;
}

/* One part further. 0, or -1 with errno. */
static int perf_walk_on(struct perf_walk *w, int root, const char *part, bool needs_folder)
{
    struct stat st;
    const char *name;
    size_t used = strlen(w->done);
    if (strcmp(part, ".") == 0)
        return 0;
    if (strcmp(part, "..") == 0) {
        char *slash = strrchr(w->done, '/');
        *(slash ? slash : w->done) = '\0';
        return 0;
    }
    int added = snprintf(w->done + used, sizeof w->done - used, "%s%s", used ? "/" : "", part);
    if (added < 0 || (size_t)added >= sizeof w->done - used) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int folder = open_folder_of(root, w->done, &name);
    if (folder < 0)
        return -1;
    int error = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW);
    if (!error && S_ISLNK(st.st_mode)) {
        w->done[used] = '\0';
        error = perf_walk_link(w, folder, part) ? 0 : -1;
    } else if (!error && needs_folder && !S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        error = -1;
    }
    int saved = errno;
    close(folder);
    errno = saved;
    return error;
}

int perf_root_walk(int root, const char *path)
{
    struct perf_walk w = {.links = 0};
    char part[PATH_MAX];
    const char *name;
    bool folder;
    if (strlen(path) >= sizeof w.rest) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(w.rest, path, strlen(path) + 1);
    while (perf_walk_part(&w, part, &folder))
        if (perf_walk_on(&w, root, part, folder) != 0)
            return -1;
    if (!w.done[0])
        return openat(root, ".", READ_FLAGS);
    int in = open_folder_of(root, w.done, &name);
    if (in < 0)
        return -1;
    int fd = openat(in, name, READ_FLAGS | O_NOFOLLOW);
    int saved = errno;
    close(in);
    errno = saved;
    return fd;
}

int perf_root_open(const char *root, const char *path)
{
    const struct open_how how = {.flags = READ_FLAGS,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    if (!root)
        return open(path, READ_FLAGS);
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
        fd = perf_root_walk(folder, path);
    int saved = errno;
    close(folder);
    errno = saved;
    return fd;
}
