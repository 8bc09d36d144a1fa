/* SPDX-License-Identifier: BSD-3-Clause */
/* Where board files and the virtual board's plugin are: beside the program, or installed. */
#include "config_internal.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static bool program_folder(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0 || (size_t)n >= size - 1)
        return false;
    path[n] = '\0';
    return go_up(path);
}

/* The source tree, if the program stands in its build folder. */
static bool source_tree(char *path, size_t size)
{
    if (!program_folder(path, size))
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
static bool prefix(char *path, size_t size)
{
    return program_folder(path, size) && go_up(path);
}

static bool is_there(char *path, size_t size, const char *folder, const char *rest)
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

int config_find_board(const char *name, char *path, size_t size, struct message *why)
{
    char folders[2][PATH_MAX], rest[NAME_MAX + 1], best[NAME_MAX + 1];
    char list[CONFIG_LIST_SIZE] = "";
    struct config_nearest nearest = {.word = name};
    bool found[2] = {source_tree(folders[0], PATH_MAX), prefix(folders[1], PATH_MAX)};
    static const char *const below[2] = {"configs", "share/btraced/configs"};
    for (unsigned i = 0; i < 2; i++) {
        size_t n = strlen(folders[i]);
        if (!found[i] || n + strlen(below[i]) + 2 > PATH_MAX)
            continue;
        snprintf(folders[i] + n, PATH_MAX - n, "/%s", below[i]);
        int length = snprintf(rest, sizeof rest, "%s.conf", name);
        if ((size_t)length < sizeof rest && is_there(path, size, folders[i], rest))
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

bool config_find_plugin(char *path, size_t size)
{
    char folder[PATH_MAX];
    if (program_folder(folder, sizeof folder) && is_there(path, size, folder, PLUGIN))
        return true;
    if (source_tree(folder, sizeof folder) && is_there(path, size, folder, "build/" PLUGIN))
        return true;
    if (prefix(folder, sizeof folder))
        return is_there(path, size, folder, "lib/btraced/" PLUGIN);
    snprintf(path, size, "lib/btraced/%s", PLUGIN);
    return false;
}
