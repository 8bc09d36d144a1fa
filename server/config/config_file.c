/* SPDX-License-Identifier: BSD-3-Clause */
/* Board files on disk: where they and the virtual board's plugin are, beside the program or
 * installed. */
#include "config_internal.h"
#include "drivers/base/file_load.h"
#include "drivers/ini/ini_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUILD_DEPTH 3 /* build/, build/VARIANT/ and build/VARIANT/unit/ hold programs */
#define PLUGIN      "virtual-board.so"

/* Cuts the last part off a path; false at the root. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

static bool folder_of_program(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0 || (size_t)n >= size - 1)
        return false;
    path[n] = '\0';
    return go_up(path);
}

/* The source tree, if the program stands in its build folder. */
static bool folder_of_sources(char *path, size_t size)
{
    if (!folder_of_program(path, size))
        return false;
    for (unsigned i = 0; i < BUILD_DEPTH; i++) {
        const char *slash = strrchr(path, '/');
        bool build = slash && strcmp(slash, "/build") == 0;
        if (!go_up(path))
            return false;
        if (build)
            return true;
    }
    return false;
}

/* PREFIX of PREFIX/bin/btraced. */
static bool install_prefix(char *path, size_t size)
{
    return folder_of_program(path, size) && go_up(path);
}

static bool is_readable_in(char *path, size_t size, const char *folder, const char *rest)
{
    int n = snprintf(path, size, "%s/%s", folder, rest);
    return n > 0 && (size_t)n < size && access(path, R_OK) == 0;
}

static int is_board(const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    return n >= 6 && strcmp(e->d_name + n - 5, ".conf") == 0;
}

/* Offers the boards of a folder, and lists them. */
static void offer_boards(const char *folder, struct config_nearest *nearest, char *best,
                         size_t size, char *list, size_t list_size)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_board, alphasort);
    for (int i = 0; i < count; i++) {
        char name[NAME_MAX + 1];
        const char *file = entries[i]->d_name;
        snprintf(name, sizeof name, "%.*s", (int)(strlen(file) - 5), file);
        config_nearest_offer(nearest, name);
        config_list(list, list_size, name);
        if (nearest->best == name) {
            snprintf(best, size, "%s", name);
            nearest->best = best;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

/* The file of a board's bare name. Returns 0 or BT_ERR_IO with *why filled. */
static int find_board(const char *name, char *path, size_t size, struct message *why)
{
    char folders[2][PATH_MAX], rest[NAME_MAX + 1], best[NAME_MAX + 1];
    char list[CONFIG_LIST_SIZE] = "";
    struct config_nearest nearest = {.word = name};
    bool found[2] = {folder_of_sources(folders[0], PATH_MAX), install_prefix(folders[1], PATH_MAX)};
    static const char *const below[2] = {"configs", "share/btraced/configs"};
    for (unsigned i = 0; i < 2; i++) {
        size_t n = strlen(folders[i]);
        if (!found[i] || n + strlen(below[i]) + 2 > PATH_MAX)
            continue;
        snprintf(folders[i] + n, PATH_MAX - n, "/%s", below[i]);
        int length = snprintf(rest, sizeof rest, "%s.conf", name);
        if ((size_t)length < sizeof rest && is_readable_in(path, size, folders[i], rest))
            return BT_OK;
        offer_boards(folders[i], &nearest, best, sizeof best, list, sizeof list);
    }
    const char *folder = found[0] ? folders[0] : found[1] ? folders[1] : below[1];
    if (nearest.best)
        message_set(why, "%.64s: no such board in '%.300s'; did you mean '%.64s'?", name, folder,
                    nearest.best);
    else
        message_set(why,
                    "%.64s: no such board in '%.100s'; a file is named with its path or its "
                    "ending .conf. There is: %s",
                    name, folder, *list ? list : "none");
    return BT_ERR_IO;
}

/* False if there is none: `path` then names where it should be. */
static bool find_plugin(char *path, size_t size)
{
    char folder[PATH_MAX];
    if (folder_of_program(folder, sizeof folder) && is_readable_in(path, size, folder, PLUGIN))
        return true;
    if (folder_of_sources(folder, sizeof folder) &&
        is_readable_in(path, size, folder, "build/" PLUGIN))
        return true;
    if (install_prefix(folder, sizeof folder))
        return is_readable_in(path, size, folder, "lib/btraced/" PLUGIN);
    snprintf(path, size, "lib/btraced/%s", PLUGIN);
    return false;
}

static int read_board(const char *path, char **text, size_t *length, struct message *why)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int error = fd < 0 || fstat(fd, &st) != 0 ? BT_ERR_IO : BT_OK;
    if (!error && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        close(fd); /* a pipe would keep the server waiting */
        return message_fail(why, BT_ERR_FORMAT, "cannot read '%s': it is no regular file", path);
    }
    error = error ? error : file_load(fd, INI_READER_MAX_FILE, text, length);
    if (error)
        message_set(why, "cannot read '%s': %s", path,
                    error == BT_ERR_IO ? strerror(errno) : bt_strerror(error));
    if (fd >= 0)
        close(fd);
    return error == BT_ERR_RANGE ? BT_ERR_FORMAT : error;
}

/* The program that is started may run in another folder: $DIR is absolute. */
static int load_file(struct config *config, const char *path, const struct config_names *names,
                     bool access_only, struct message *why)
{
    char found[PATH_MAX], real[PATH_MAX], plugin[PATH_MAX], *text;
    struct config_names all = names ? *names : (struct config_names){0};
    size_t length, end = strlen(path);
    memset(config, 0, sizeof *config);
    bool bare = !strchr(path, '/') && (end < 5 || strcmp(path + end - 5, ".conf") != 0);
    if (bare) {
        int error = find_board(path, found, sizeof found, why);
        if (error)
            return error;
        path = found;
    }
    int error = read_board(path, &text, &length, why);
    if (error)
        return error;
    if (!all.plugin)
        *(find_plugin(plugin, sizeof plugin) ? &all.plugin : &all.no_plugin) = plugin;
    all.dir_of = realpath(path, real) ? real : path;
    all.access_only = access_only;
    error = config_parse(config, text, length, path, &all, why);
    free(text);
    return error;
}

int config_load(struct config *config, const char *path, const struct config_names *names,
                struct message *why)
{
    return load_file(config, path, names, false, why);
}

int config_load_access(struct config *config, const char *path, struct message *why)
{
    return load_file(config, path, NULL, true, why);
}
