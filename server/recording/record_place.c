/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recording/record_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static const char name_set[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

static bool record_name_is_plain(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= RECORD_NAME_MAX && name[0] != '.' && name[0] != '-' &&
           name[strspn(name, name_set)] == '\0';
}

/* Recordings in a folder, and in those folders of it that are none themselves. */
static unsigned count_recordings(const char *path, unsigned depth)
{
    char inner[800];
    unsigned count = 0;
    struct stat st;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        int n = snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (e->d_name[0] == '.' || n < 0 || (size_t)n >= sizeof inner || lstat(inner, &st) != 0)
            continue;
        if (strcmp(e->d_name, "snapshot.ini") == 0)
            count++;
        else if (S_ISDIR(st.st_mode) && depth > 0)
            count += count_recordings(inner, depth - 1);
    }
    if (dir)
        closedir(dir);
    return count;
}

static int record_place_named(const char *root, const char *name, char *path, size_t size,
                              struct message *why)
{
    struct stat st;
    int n = snprintf(path, size, "%s/%s", root, name);
    if (n < 0 || (size_t)n >= size)
        return message_fail(why, BT_ERR_RANGE, "[record] dir is too long a name");
    if (mkdir(root, 0777) != 0 && errno != EEXIST)
        return message_fail(why, BT_ERR_IO, "cannot make [record] dir '%.200s': %s", root,
                            strerror(errno));
    if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return message_fail(why, BT_ERR_IO, "'%s' is there, and is no folder", name);
    return BT_OK;
}

int record_place(const struct config *config, const char *name, char *path, size_t size,
                 struct message *why)
{
    const char *root = config->record_dir;
    if (!*root)
        return message_fail(why, BT_ERR_INVAL,
                            "the board file names no place for recordings: [record] dir");
    if (name && !record_name_is_plain(name))
        return message_fail(
            why, BT_ERR_INVAL,
            "a recording has a name, not a path: letters, digits, '.', '_' and '-', at "
            "most %u; it goes into [record] dir",
            RECORD_NAME_MAX);
    if (count_recordings(root, 2) >= config->record_max_count)
        return message_fail(why, BT_ERR_RANGE,
                            "there are %u recordings, which is [record] max_count",
                            config->record_max_count);
    if (name)
        return record_place_named(root, name, path, size, why);
    snprintf(path, size, "%s", root);
    return BT_OK;
}

/* Recordings and other files in a folder. */
static unsigned count_entries(const char *path)
{
    unsigned count = 0;
    DIR *dir = opendir(path);
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

int record_file(const struct config *config, const char *name, char *path, size_t size, FILE **out,
                struct message *why)
{
    const char *root = config->record_dir;
    struct stat st;
    int error = record_place(config, name, path, size, why);
    if (*root && lstat(path, &st) == 0)
        return message_fail(why, BT_ERR_IO, "'%s' is there already", name);
    if (error)
        return error;
    if (count_entries(root) >= config->record_max_count + 2 ||
        record_place_room(config->record_keep_free, root) == 0)
        return message_fail(why, BT_ERR_RANGE, "no room: [record] max_count, keep_free");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (*out)
        return BT_OK;
    return message_fail(why, BT_ERR_IO, "cannot write '%s': %s", name, strerror(errno));
}

uint64_t record_place_room(uint64_t keep_free, const char *path)
{
    struct statvfs fs;
    if (statvfs(path, &fs) != 0)
        return UINT64_MAX;
    uint64_t available = (uint64_t)fs.f_bavail * fs.f_frsize;
    return available > keep_free ? available - keep_free : 0;
}
