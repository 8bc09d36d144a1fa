/* SPDX-License-Identifier: BSD-3-Clause */
/* Indexes of recordings. As a file the input is refused, whatever it is. Behind the signature it is
 * a list of changes to an index that is right: what is taken of that can be looked at without
 * decoding. */
#include <stdlib.h>
#include <string.h>

#include "decoder/history/history_internal.h"
#include "server/recording/kept_index.h"

#define TRACE (200u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static struct base {
    struct recording recording;
    struct snapshot_buffer_file file;
    struct snapshot_buffer buffer;
    struct code_image image;
    struct recording_source source;
    struct kept_index index; /* of it */
    size_t windows;
    size_t states, states_end; /* of the decoder: what is signed is not changed there */
} base;

static void look_at_history(struct recording_history *rh)
{
    struct history *h = rh->history;
    struct history_totals totals;
    struct history_reach reach;
    struct history_window window;
    const struct gap_entry *gaps;
    size_t count = history_gaps(h, &gaps);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += gaps[i].offset;
    for (size_t i = 0; i < history_window_count(h); i++)
        history_window_reach(h, i, &reach);
    history_totals(h, &totals);
    require(history_memory(h) > sizeof rh && sum != 1);
    require(history_window_index(h, history_window_count(h), &window) == BT_ERR_RANGE);
    if (history_window_count(h))
        require(history_window_find(h, history_first(h)) < history_window_count(h));
    for (size_t i = 0; i < rh->index.count; i++)
        require(rh->index.places[i].file == 0 && rh->index.places[i].at <= TRACE);
}

/* Garbage with synchronisations in it, so that there are states, windows and gaps. */
static void make_base(void)
{
    static uint8_t trace[TRACE];
    static struct recording_history rh;
    uint32_t word = 1;
    for (size_t i = 0; i < sizeof trace; i++) {
        word = word * 1664525 + 1013904223;
        trace[i] = i % 97 < 5 ? 0 : i % 97 == 5 ? 0x80 : (uint8_t)(word >> 24);
    }
    base.file = (struct snapshot_buffer_file){.path = "x", .size = sizeof trace};
    base.buffer = (struct snapshot_buffer){.name = "x",
                                           .format = SNAPSHOT_FORMAT_SOURCE_DATA,
                                           .files = &base.file,
                                           .file_count = 1,
                                           .size = sizeof trace};
    base.source = (struct recording_source){.buffer = &base.buffer,
                                            .name = "x",
                                            .core_name = "x",
                                            .config = {.protocol = STREAM_PTM},
                                            .image = &base.image,
                                            .ordered = trace,
                                            .ordered_size = sizeof trace};
    code_image_init(&base.image);
    require(recording_history_init(&rh, &base.recording, &base.source, NULL, NULL) == 0);
    base.windows = history_window_count(rh.history);
    require(base.windows > 2 && kept_index_add_history(&base.index, &rh) == 0);
    const struct gap_entry *gaps;
    uint64_t length;
    memcpy(&length, base.index.data, sizeof length);
    base.states_end = sizeof length + (size_t)length -
                      history_gaps(rh.history, &gaps) * sizeof *gaps -
                      base.windows * sizeof(struct checkpoint);
    base.states = base.states_end - (base.windows + 1) * stream_state_size(&base.source.config);
    recording_history_release(&rh);
}

/* Three bytes of a place and one to change there, again and again. Without any the history is
 * taken. */
static void check_pieces(const uint8_t *data, size_t size)
{
    static struct recording_history rh;
    struct kept_index x = {malloc(base.index.size), base.index.size, 0};
    bool changed = false;
    require(x.data != NULL);
    memcpy(x.data, base.index.data, x.size);
    for (size_t i = 0; i + 4 <= size; i += 4) {
        size_t at = (size_t)data[i] << 16 | (size_t)data[i + 1] << 8 | data[i + 2];
        at %= x.size;
        if (at >= base.states && at < base.states_end)
            continue;
        x.data[at] ^= data[i + 3];
        changed = true;
    }
    if (size % 4) /* cut off */
        x.size -= size % 4 * (x.size / 4);
    changed |= size % 4 != 0;
    int error = kept_index_next_history(&x, &base.recording, &base.source, &rh);
    require(changed || (error == 0 && history_window_count(rh.history) == base.windows));
    if (!error)
        look_at_history(&rh);
    recording_history_release(&rh);
    kept_index_release(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct kept_index_id id = {.key = {1, 2, 3}};
    struct kept_index x;
    struct message why;
    if (!base.index.size)
        make_base();
    uint8_t *file = malloc(size ? size : 1); /* reads beyond it are seen */
    require(file != NULL);
    memcpy(file, data, size);
    require(kept_index_open(file, size, &id, &x, &why) == BT_ERR_FORMAT && !x.data);
    check_pieces(file, size);
    free(file);
    return 0;
}
