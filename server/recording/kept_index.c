/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recording/kept_index.h"

#include "drivers/base/file_load.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC      "btraced replay index 1\n" /* the format's version is in it */
#define MAGIC_SIZE (sizeof MAGIC - 1)
#define HEAD       (MAGIC_SIZE + KEPT_INDEX_ID) /* behind the magic: what it belongs to */
#define LEAST      (HEAD + KEPT_INDEX_ID)       /* at the end: the signature */
#define MOST       ((size_t)1 << 30)            /* bytes of the file */

/* Pieces: eight bytes of length, then the bytes. */

void kept_index_release(struct kept_index *x)
{
    free(x->data);
    memset(x, 0, sizeof *x);
}

int kept_index_add(struct kept_index *x, const void *data, size_t size)
{
    const uint64_t length = size;
    uint8_t *grown = realloc(x->data, x->size + sizeof length + size);
    if (!grown)
        return BT_ERR_NOMEM;
    memcpy(grown + x->size, &length, sizeof length);
    if (size)
        memcpy(grown + x->size + sizeof length, data, size);
    x->data = grown;
    x->size += sizeof length + size;
    return BT_OK;
}

int kept_index_next(struct kept_index *x, const uint8_t **data, size_t *size)
{
    uint64_t length;
    if (x->size - x->at < sizeof length)
        return BT_ERR_FORMAT;
    memcpy(&length, x->data + x->at, sizeof length);
    if (length > x->size - x->at - sizeof length)
        return BT_ERR_FORMAT;
    *data = x->data + x->at + sizeof length;
    *size = (size_t)length;
    x->at += sizeof length + (size_t)length;
    return BT_OK;
}

int kept_index_add_history(struct kept_index *x, const struct recording_history *rh)
{
    uint8_t *bytes = NULL;
    size_t size;
    int error = history_keep(rh->history, &bytes, &size);
    if (!error)
        error = kept_index_add(x, bytes, size);
    free(bytes);
    if (!error)
        error = kept_index_add(x, &rh->pass, sizeof rh->pass);
    if (!error)
        error = kept_index_add(x, &rh->index, sizeof rh->index);
    return error ? error
                 : kept_index_add(x, rh->index.places, rh->index.count * sizeof *rh->index.places);
}

/* Places of files that are there. */
static int take_places(struct kept_index *x, const struct recording_source *source,
                       struct recording_history *rh)
{
    struct recording_index *places = &rh->index;
    const struct snapshot_buffer *buffer = source->buffer;
    const size_t limit = places->limit;
    const uint8_t *data;
    size_t size;
    int error = kept_index_next(x, &data, &size);
    if (error || size != sizeof *places)
        return BT_ERR_FORMAT;
    memcpy(places, data, sizeof *places);
    places->places = NULL;
    places->max = places->count;
    error = kept_index_next(x, &data, &size);
    if (error || places->limit != limit || places->count > limit ||
        size != places->count * sizeof *places->places)
        return BT_ERR_FORMAT;
    if (size == 0)
        return BT_OK;
    places->places = malloc(size);
    if (!places->places)
        return BT_ERR_NOMEM;
    memcpy(places->places, data, size);
    for (size_t i = 0; i < places->count; i++)
        if (places->places[i].file >= buffer->file_count ||
            places->places[i].at > buffer->files[places->places[i].file].size)
            return BT_ERR_FORMAT;
    rh->near = places->places[0];
    return BT_OK;
}

int kept_index_next_history(struct kept_index *x, struct recording *r,
                            const struct recording_source *source, struct recording_history *rh)
{
    const uint8_t *data;
    size_t size;
    int error = recording_history_prepare(rh, r, source, NULL);
    if (!error)
        error = kept_index_next(x, &data, &size);
    if (!error)
        error = history_restore(rh->history, data, size);
    if (!error)
        error = kept_index_next(x, &data, &size);
    if (error || size != sizeof rh->pass)
        return error ? error : BT_ERR_FORMAT;
    memcpy(&rh->pass, data, sizeof rh->pass);
    return take_places(x, source, rh);
}

/* The file. */

static bool sign_index(const struct kept_index_id *id, const uint8_t *data, size_t size,
                       uint8_t *out)
{
    unsigned length = 0;
    return HMAC(EVP_sha256(), id->key, sizeof id->key, data, size, out, &length) &&
           length == KEPT_INDEX_ID;
}

int kept_index_open(const uint8_t *file, size_t size, const struct kept_index_id *id,
                    struct kept_index *x, struct message *why)
{
    uint8_t sum[KEPT_INDEX_ID];
    memset(x, 0, sizeof *x);
    if (size < LEAST || memcmp(file, MAGIC, MAGIC_SIZE) != 0)
        return message_fail(why, BT_ERR_FORMAT, "no index, or one of another version");
    if (memcmp(file + MAGIC_SIZE, id->belongs, sizeof id->belongs) != 0)
        return message_fail(why, BT_ERR_FORMAT,
                            "of another recording, program or version of btraced, or the recording "
                            "was changed or copied");
    if (!sign_index(id, file, size - sizeof sum, sum) ||
        CRYPTO_memcmp(sum, file + size - sizeof sum, sizeof sum) != 0)
        return message_fail(why, BT_ERR_FORMAT, "another user's, cut off or changed");
    x->size = size - LEAST;
    x->data = malloc(x->size ? x->size : 1);
    if (!x->data)
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
    memcpy(x->data, file + HEAD, x->size);
    return BT_OK;
}

int kept_index_read(const char *folder, const struct kept_index_id *id, struct kept_index *x,
                    struct message *why)
{
    char path[KEPT_INDEX_PATH];
    memset(x, 0, sizeof *x);
    snprintf(path, sizeof path, "%s/" KEPT_INDEX_NAME, folder);
    char *data = NULL;
    size_t size;
    int error = file_load_path(path, MOST, &data, &size);
    if (error == BT_ERR_IO && errno == ENOENT)
        return BT_ERR_RANGE;
    if (error == BT_ERR_IO)
        message_set(why, "%s", strerror(errno));
    else if (error)
        message_set(why, "too large");
    else
        error = kept_index_open((const uint8_t *)data, size, id, x, why);
    free(data);
    return error == BT_ERR_RANGE ? BT_ERR_NOMEM : error;
}

int kept_index_write(const char *folder, const struct kept_index_id *id, const struct kept_index *x,
                     struct message *why)
{
    char path[KEPT_INDEX_PATH], made[KEPT_INDEX_PATH];
    size_t size = LEAST + x->size;
    uint8_t *data = malloc(size);
    if (!data)
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
    memcpy(data, MAGIC, MAGIC_SIZE);
    memcpy(data + MAGIC_SIZE, id->belongs, sizeof id->belongs);
    if (x->size)
        memcpy(data + HEAD, x->data, x->size);
    bool ok = sign_index(id, data, size - KEPT_INDEX_ID, data + size - KEPT_INDEX_ID);
    snprintf(path, sizeof path, "%s/" KEPT_INDEX_NAME, folder);
    snprintf(made, sizeof made, "%s/." KEPT_INDEX_NAME ".XXXXXX", folder);
    int fd = ok ? mkostemp(made, O_CLOEXEC) : -1;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    ok = file && fwrite(data, 1, size, file) == size;
    if (file)
        ok = fclose(file) == 0 && ok;
    else if (fd >= 0)
        close(fd);
    ok = ok && rename(made, path) == 0;
    int error = ok ? BT_OK : message_fail(why, BT_ERR_IO, "%s", strerror(errno));
    if (!ok && fd >= 0)
        unlink(made);
    free(data);
    return error;
}
