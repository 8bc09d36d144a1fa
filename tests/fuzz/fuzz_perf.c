/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.data files: what is read of them, and the recording that is made of it, without programs. */
#include <stdlib.h>
#include <string.h>

#include "drivers/perf/perf_snapshot_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_data(const struct perf_data *p, const uint8_t *file, size_t size)
{
    const char *begin = (const char *)file, *end = begin + size;
    for (size_t i = 0; i < p->span_count; i++)
        require(p->spans[i].at <= size && p->spans[i].size <= size - p->spans[i].at);
    for (size_t i = 0; i < p->map_count && !p->unpacked_count; i++)
        require(p->maps[i].path >= begin && p->maps[i].path + strlen(p->maps[i].path) < end);
    for (size_t i = 0; i < p->unit_count; i++)
        require(p->units[i].count <= PERF_PARAMS && p->units[i].trace_id < 0x70);
    for (size_t i = 0; i < p->build_id_count; i++)
        require(p->build_ids[i].size <= PERF_BUILD_ID);
}

static void check_snapshot(const struct snapshot *snap, size_t size)
{
    for (size_t i = 0; i < snap->buffer_count; i++) {
        const struct snapshot_buffer *b = &snap->buffers[i];
        uint64_t sum = 0;
        for (size_t n = 0; n < b->file_count; n++) {
            require(b->files[n].offset <= size && b->files[n].size <= size - b->files[n].offset);
            require(b->files[n].before < BT_GAP_CAUSES);
            sum += b->files[n].size;
        }
        require(sum == b->size);
    }
    for (size_t i = 0; i < snap->source_buffer_count; i++)
        require(snap->source_buffers[i].buffer < snap->buffer_count);
    for (size_t i = 0; i < snap->core_source_count; i++)
        require(snapshot_core_of(snap, snap->core_sources[i].source) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A block of that very size, so that reads beyond it are seen. */
    uint8_t *file = malloc(size ? size : 1);
    struct snapshot *snap = calloc(1, sizeof *snap);
    require(file && snap);
    snap->priv = calloc(1, sizeof *snap->priv);
    require(snap->priv != NULL);
    memcpy(file, data, size);
    const struct perf_places nowhere = {.root = "/nonexistent"};
    struct message err = {.text = ""};
    struct message why;
    struct perf_build b = {.ld = {.snap = snap, .why = &err}, .places = &nowhere};
    int error = perf_data_read(&b.data, file, size, &why);
    require((error == 0) == (why.text[0] == 0));
    require(error == 0 || strtoull(why.text + strlen("byte "), NULL, 16) <= size);
    check_data(&b.data, file, size);
    if (!error)
        error = perf_add_trace(&b);
    if (!error)
        error = perf_add_code(&b);
    if (!error)
        check_snapshot(snap, size);
    perf_data_release(&b.data);
    free(b.programs);
    snapshot_close(snap);
    free(file);
    return 0;
}
