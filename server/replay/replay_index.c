/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay_index.h"

#include "server/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of a state that was recorded. */
struct kept_place {
    uint64_t position, decoded, placed;
};

/* RECORDING may be its snapshot.ini. */
static void find_folder(struct replay_index *x, const char *path)
{
    struct stat st;
    snprintf(x->folder, sizeof x->folder, "%s", path);
    if (stat(path, &st) != 0 || S_ISDIR(st.st_mode))
        return;
    char *slash = strrchr(x->folder, '/');
    if (slash)
        slash[slash == x->folder] = '\0';
    else
        snprintf(x->folder, sizeof x->folder, ".");
}

void replay_index_begin(struct replay_index *x, struct recording *r,
                        const struct replay_index_of *of, uint64_t bytes)
{
    struct message why = {.text = ""};
    memset(x, 0, sizeof *x);
    if (!of->wanted || bytes < KEPT_INDEX_LEAST || strlen(of->path) > KEPT_INDEX_PATH / 2)
        return;
    find_folder(x, of->path);
    int error = kept_index_identify(r, x->folder, of->elf, of->elf_count, &x->id, &why);
    x->wanted = !error;
    if (error) {
        log_write(LOG_AT_INFO, "btraced replay: keeps no index: %s\n", why.text);
        return;
    }
    error = kept_index_read(x->folder, &x->id, &x->in, &why);
    x->found = !error;
    if (x->found)
        return;
    if (error != BT_ERR_RANGE)
        log_write(LOG_AT_INFO, "btraced replay: '%s/" KEPT_INDEX_NAME "' is not used: %s\n",
                  x->folder, why.text);
    log_write(LOG_AT_INFO,
              "btraced replay: decodes all %" PRIu64 " MB first, for want of an index\n",
              bytes / 1000000);
}

static bool take_known(struct replay_index *x, struct replay_known *known)
{
    const uint8_t *data;
    size_t size;
    if (kept_index_next(&x->in, &data, &size) || size != known->count * sizeof(struct kept_place))
        return false;
    for (size_t i = 0; i < known->count; i++) {
        struct kept_place place;
        memcpy(&place, data + i * sizeof place, sizeof place);
        known->states[i].state.position = place.position;
        known->states[i].state.decoded = place.decoded;
        known->states[i].placed = place.placed != 0;
    }
    return true;
}

bool replay_index_take(struct replay_index *x, struct recording *r,
                       const struct recording_source *source, struct recording_history *trace,
                       struct replay_known *known)
{
    if (!x->found)
        return false;
    x->found = !kept_index_next_history(&x->in, r, source, trace) && take_known(x, known);
    if (!x->found) {
        recording_history_release(trace);
        return false;
    }
    progress_add(r->progress, recording_bytes(source));
    return true;
}

static int add_known(struct kept_index *out, const struct replay_known *known)
{
    struct kept_place *places = calloc(known->count + 1, sizeof *places);
    if (!places)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < known->count; i++)
        places[i] = (struct kept_place){known->states[i].state.position,
                                        known->states[i].state.decoded, known->states[i].placed};
    int error = kept_index_add(out, places, known->count * sizeof *places);
    free(places);
    return error;
}

void replay_index_keep(const struct replay_index *x, const struct recording_history *traces,
                       const struct replay_known *known, size_t count)
{
    struct kept_index out = {.data = NULL};
    struct message why = {.text = "out of memory"};
    int error = BT_OK;
    if (!x->wanted || x->found)
        return;
    for (size_t i = 0; i < count && !error; i++) {
        error = kept_index_add_history(&out, &traces[i]);
        if (!error)
            error = add_known(&out, &known[i]);
    }
    if (!error)
        error = kept_index_write(x->folder, &x->id, &out, &why);
    if (error)
        log_write(LOG_AT_INFO, "btraced replay: keeps no index in '%s': %s\n", x->folder, why.text);
    else
        log_write(LOG_AT_INFO, "btraced replay: '%s/" KEPT_INDEX_NAME "' is there the next time\n",
                  x->folder);
    kept_index_release(&out);
}
