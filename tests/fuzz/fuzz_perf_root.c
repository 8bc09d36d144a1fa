/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/perf/perf_root.c: a tree of folders, files and links, and a path in it. Nothing
 * beside the root is opened, and by hand the same is found as by the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/perf/perf_root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ENTRIES 8
#define TEXT    128

#define BASE "/tmp/fuzz_perf_root.XXXXXX"

static char base[] = BASE, root_folder[sizeof BASE + 8], secret[sizeof BASE + 8];
static char made[ENTRIES][TEXT];
static unsigned made_count;

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void clean_up(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    require(system(command) == 0);
}

static void make_base(void)
{
    require(mkdtemp(base) != NULL);
    snprintf(root_folder, sizeof root_folder, "%s/root", base);
    snprintf(secret, sizeof secret, "%s/secret", base);
    require(mkdir(root_folder, 0700) == 0);
    int fd = open(secret, O_CREAT | O_WRONLY, 0600);
    require(fd >= 0 && close(fd) == 0);
    atexit(clean_up);
}

/* The next text of the input, up to a NUL. */
static size_t take_text(const uint8_t **data, size_t *size, char text[TEXT])
{
    size_t n = strnlen((const char *)*data, *size), kept = n < TEXT - 1 ? n : TEXT - 1;
    memcpy(text, *data, kept);
    text[kept] = '\0';
    n += n < *size;
    *data += n;
    *size -= n;
    return kept;
}

/* A name of at most one folder and a file: "d/f". Nothing is made outside. */
static bool is_plain(const char *name)
{
    return *name && *name != '/' && !strstr(name, "..") && !strstr(name, "//");
}

static void make_entry(uint8_t kind, const char *name, const char *target)
{
    char path[PATH_MAX], real[PATH_MAX], folder[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", root_folder, name);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    if (!is_plain(name) || !realpath(folder, real) ||
        strncmp(real, root_folder, strlen(root_folder)) != 0 || lstat(path, &st) == 0)
        return;
    int error = -1;
    if (kind % 3 == 0)
        error = mkdir(path, 0700);
    else if (kind % 3 == 1)
        error = symlink(target, path);
    else if ((error = open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0600)) >= 0)
        error = close(error);
    if (error == 0)
        snprintf(made[made_count++], TEXT, "%s", name);
}

static void remove_entries(void)
{
    char path[PATH_MAX];
    while (made_count) {
        snprintf(path, sizeof path, "%s/%s", root_folder, made[--made_count]);
        require(remove(path) == 0);
    }
}

/* Where the file is that was opened. */
static void check_inside(int fd)
{
    char link[40], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    require(n > 0);
    path[n] = '\0';
    size_t length = strlen(root_folder);
    require(strncmp(path, root_folder, length) == 0 &&
            (path[length] == '/' || path[length] == '\0'));
}

static void look_up(const char *path)
{
    struct stat a, b;
    int root = open(root_folder, O_PATH | O_DIRECTORY);
    int by_kernel = perf_root_open(root_folder, path), by_hand = perf_root_walk(root, path);
    require((by_kernel < 0) == (by_hand < 0));
    if (by_hand >= 0) {
        check_inside(by_kernel);
        check_inside(by_hand);
        require(fstat(by_kernel, &a) == 0 && fstat(by_hand, &b) == 0 && a.st_ino == b.st_ino);
        close(by_kernel);
        close(by_hand);
    }
    close(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    char name[TEXT], target[TEXT], path[TEXT + 1] = "/";
    if (!ready)
        make_base();
    ready = true;
    take_text(&data, &size, path + 1);
    for (unsigned i = 0; i < ENTRIES && size > 1; i++) {
        uint8_t kind = *data;
        data++;
        size--;
        take_text(&data, &size, name);
        take_text(&data, &size, target);
        make_entry(kind, name, *target ? target : ".");
    }
    look_up(path);
    remove_entries();
    return 0;
}
