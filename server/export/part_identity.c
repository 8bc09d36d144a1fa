/* SPDX-License-Identifier: BSD-3-Clause */
/* What tells recordings and programs apart, without reading all of a long trace. */
#include "server/export/part.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define LOOK ((uint64_t)64 << 10) /* bytes of each file, at its begin and its end */

static bool hash_number(EVP_MD_CTX *hash, uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64 "\n", value);
    return EVP_DigestUpdate(hash, text, (size_t)n) == 1;
}

static bool hash_text(EVP_MD_CTX *hash, const char *text)
{
    return hash_number(hash, strlen(text)) && EVP_DigestUpdate(hash, text, strlen(text)) == 1;
}

static bool hash_program(EVP_MD_CTX *hash, const struct elf_image *elf)
{
    bool ok = true;
    for (size_t i = 0; ok && i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];
        ok = hash_number(hash, s->vaddr) && hash_number(hash, s->file_size) &&
             EVP_DigestUpdate(hash, s->data, s->file_size) == 1;
    }
    return ok;
}

static int hash_source(EVP_MD_CTX *hash, struct recording *r, const struct recording_source *source)
{
    bool ok = hash_text(hash, source->name) && hash_text(hash, source->core_name);
    int error = BT_OK;
    for (size_t i = 0; ok && i < source->buffer->file_count; i++) {
        const uint8_t *data;
        uint64_t size = 0;
        error = recording_map(r, source, i, &data, &size);
        uint64_t look = size < LOOK ? size : LOOK;
        error = error ? error : recording_need(r, source, i, 0, look);
        ok =
            !error && hash_number(hash, size) && (!look || EVP_DigestUpdate(hash, data, look) == 1);
        error = error ? error : recording_need(r, source, i, size - look, size);
        ok = ok && !error && (!look || EVP_DigestUpdate(hash, data + size - look, look) == 1);
    }
    return error ? error : ok ? BT_OK : BT_ERR_NOMEM;
}

/* The last part of the path, also of "runs/a/" and of ".". */
static char *base_name(const char *path)
{
    char *whole = realpath(path, NULL);
    const char *slash = whole ? strrchr(whole, '/') : NULL;
    char *name = strdup(slash && slash[1] ? slash + 1 : path);
    free(whole);
    for (char *p = name; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    return name;
}

int part_programs(struct counts_file *f, const struct export_names *names)
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool ok = hash != NULL;
    f->programs = calloc(names->count, sizeof *f->programs);
    for (size_t i = 0; ok && f->programs && i < names->count; i++) {
        struct counts_program *p = &f->programs[f->program_count++];
        p->name = base_name(names->programs[i].path);
        ok = p->name && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
             hash_program(hash, names->programs[i].elf) &&
             EVP_DigestFinal_ex(hash, p->id, NULL) == 1;
    }
    EVP_MD_CTX_free(hash);
    return ok && f->programs ? BT_OK : BT_ERR_NOMEM;
}

int part_identify(struct counts_file *f, struct recording *r,
                  const struct recording_source *sources, size_t source_count,
                  const struct export_names *names, const char *path)
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    f->run = base_name(path);
    int error = hash && f->run ? part_programs(f, names) : BT_ERR_NOMEM;
    bool ok = !error && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 && hash_text(hash, f->run);
    for (size_t i = 0; ok && !error && i < source_count; i++)
        error = hash_source(hash, r, &sources[i]);
    ok = ok && EVP_DigestFinal_ex(hash, f->recording, NULL) == 1;
    EVP_MD_CTX_free(hash);
    return error ? error : ok ? BT_OK : BT_ERR_NOMEM;
}
