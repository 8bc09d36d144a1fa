/* SPDX-License-Identifier: BSD-3-Clause */
/* What an index belongs to, and whose it is. */
#include "server/recording/kept_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHOLE   (1u << 20) /* bytes: files up to here are looked at whole */
#define SAMPLES 256        /* of longer ones, and at both ends */
#define SAMPLE  4096       /* bytes */

static bool hash_bytes(EVP_MD_CTX *hash, const void *bytes, size_t size)
{
    return !size || EVP_DigestUpdate(hash, bytes, size) == 1;
}

static bool hash_word(EVP_MD_CTX *hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

static bool hash_value(EVP_MD_CTX *hash, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return hash_word(hash, text);
}

static bool hash_piece(EVP_MD_CTX *hash, int fd, uint64_t at, size_t size)
{
    uint8_t bytes[SAMPLE];
    while (size > 0) {
        ssize_t n = pread(fd, bytes, size < sizeof bytes ? size : sizeof bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || !hash_bytes(hash, bytes, (size_t)n))
            return false;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

/* One that is there; false if it cannot be read. What is no file is passed over. */
static bool hash_file(EVP_MD_CTX *hash, int folder, const char *name, bool whole)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool ok = fd >= 0 && fstat(fd, &st) == 0;
    if (ok && S_ISREG(st.st_mode)) {
        uint64_t size = (uint64_t)st.st_size;
        ok = hash_word(hash, name) && hash_value(hash, size);
        if (!whole)
            ok = ok && hash_value(hash, (uint64_t)st.st_mtim.tv_sec) &&
                 hash_value(hash, (uint64_t)st.st_mtim.tv_nsec);
        if (whole || size <= WHOLE)
            ok = ok && hash_piece(hash, fd, 0, (size_t)size);
        for (uint64_t i = 0; !whole && size > WHOLE && ok && i <= SAMPLES; i++)
            ok = hash_piece(hash, fd, (size - SAMPLE) / SAMPLES * i, SAMPLE);
        if (!whole && size > WHOLE)
            ok = ok && hash_piece(hash, fd, size - SAMPLE, SAMPLE);
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

static int is_text(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".ini") == 0;
}

/* Those that the recording names. */
static bool hash_named(EVP_MD_CTX *hash, int folder, const struct snapshot *snap)
{
    bool ok = true;
    for (size_t i = 0; ok && i < snap->device_count; i++) {
        const struct snapshot_device *d = &snap->devices[i];
        ok = hash_file(hash, folder, d->path, false);
        for (size_t k = 0; ok && k < d->dump_count; k++)
            ok = hash_file(hash, folder, d->dumps[k].path, false);
    }
    for (size_t i = 0; ok && i < snap->buffer_count; i++)
        for (size_t k = 0; ok && k < snap->buffers[i].file_count; k++)
            ok = hash_file(hash, folder, snap->buffers[i].files[k].path, false);
    return ok;
}

/* What the recording's text was understood as, wherever it stands. */
static bool hash_sources(EVP_MD_CTX *hash, const struct recording *r)
{
    bool ok = hash_value(hash, r->source_count);
    for (size_t i = 0; ok && i < r->source_count; i++) {
        const struct recording_source *s = &r->sources[i];
        ok = hash_word(hash, s->name) && hash_word(hash, s->core_name) &&
             hash_value(hash, s->trace_id) && hash_value(hash, s->config.protocol) &&
             hash_value(hash, s->config.core) && hash_word(hash, s->buffer->name) &&
             hash_value(hash, s->buffer->format) && hash_value(hash, s->buffer->file_count) &&
             hash_value(hash, s->buffer->size);
        for (size_t k = 0; ok && k < s->buffer->file_count; k++)
            ok = hash_word(hash, s->buffer->files[k].path) &&
                 hash_value(hash, s->buffer->files[k].size) &&
                 hash_value(hash, s->buffer->files[k].anew) &&
                 hash_value(hash, s->buffer->files[k].before);
    }
    return ok;
}

static bool hash_all(EVP_MD_CTX *hash, const struct recording *r, const char *path,
                     const char *const *elf, size_t elf_count)
{
    struct dirent **names = NULL;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int count = folder < 0 ? -1 : scandirat(folder, ".", &names, is_text, alphasort);
    bool ok =
        count >= 0 && hash_file(hash, AT_FDCWD, "/proc/self/exe", true) && hash_sources(hash, r);
    for (int i = 0; i < count; i++) {
        ok = ok && hash_file(hash, folder, names[i]->d_name, false);
        free(names[i]);
    }
    free(names);
    ok = ok && hash_named(hash, folder, r->snapshot);
    for (size_t i = 0; ok && i < elf_count; i++)
        ok = hash_file(hash, AT_FDCWD, elf[i], true);
    if (folder >= 0)
        close(folder);
    return ok;
}

/* 32 bytes that nobody else can read; made if there are none. */
static bool find_key(const char *path, uint8_t *key)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        bool ok =
            RAND_bytes(key, KEPT_INDEX_ID) == 1 && write(fd, key, KEPT_INDEX_ID) == KEPT_INDEX_ID;
        ok = close(fd) == 0 && ok;
        if (!ok)
            unlink(path);
        return ok;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
              !(st.st_mode & 077) && st.st_size == KEPT_INDEX_ID &&
              read(fd, key, KEPT_INDEX_ID) == KEPT_INDEX_ID;
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Folders above a file; those that are there stay as they are. */
static void make_folders(char *path)
{
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
}

static bool own_key(uint8_t *key)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char path[KEPT_INDEX_PATH];
    if (state && *state == '/')
        snprintf(path, sizeof path, "%s/btraced/index.key", state);
    else if (home && *home == '/')
        snprintf(path, sizeof path, "%s/.local/state/btraced/index.key", home);
    else
        return false;
    make_folders(path);
    return find_key(path, key);
}

int kept_index_identify(struct recording *r, const char *path, const char *const *elf,
                        size_t elf_count, struct kept_index_id *id, struct message *why)
{
    if (!own_key(id->key))
        return message_fail(why, BT_ERR_IO, "no key of this user to sign it with");
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool ok = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
              hash_all(hash, r, path, elf, elf_count) &&
              EVP_DigestFinal_ex(hash, id->belongs, NULL) == 1;
    EVP_MD_CTX_free(hash);
    return ok ? BT_OK : message_fail(why, BT_ERR_IO, "not a folder whose files can all be read");
}
