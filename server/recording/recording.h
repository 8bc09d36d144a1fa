/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording ready to be decoded: its trace sources with their decoder configuration, the cores
 * they belong to, and the program image of each core. Wires drivers/snapshot to the decoder.
 */
#ifndef SERVER_RECORDING_H
#define SERVER_RECORDING_H

#include "decoder/stream/stream.h"
#include "drivers/base/message.h"
#include "drivers/elf/elf_image.h"
#include "drivers/perf/perf_snapshot.h"
#include "drivers/snapshot/snapshot.h"
#include "server/base/progress.h"

#define RECORDING_MAX_ELF 8

/* One trace source whose protocol can be decoded. */
struct recording_source {
    const struct snapshot_device *device;
    const struct snapshot_device *core; /* NULL if the recording does not say */
    const struct snapshot_buffer *buffer;
    const char *name;      /* of the source */
    const char *core_name; /* of the core, or of the source where that is unknown */
    unsigned trace_id;
    struct stream_config config;
    struct code_image *image; /* of the core; owned by the recording */
    uint8_t *ordered;         /* an MTB's RAM, oldest packet first; NULL: the files as they are */
    uint64_t ordered_size;
};

struct recording_core {
    const struct snapshot_device *device; /* NULL: stands for "unknown" */
    struct code_image image;
};

struct recording {
    struct snapshot *snapshot;
    struct recording_source *sources;
    size_t source_count;
    size_t beside_count; /* more of them: recording_keep_instructions() */
    struct recording_core *cores;
    size_t core_count;
    struct elf_image *elf[RECORDING_MAX_ELF];
    size_t elf_count;
    char **warnings; /* lines for standard error */
    size_t warning_count;
    struct progress *progress; /* of passes over sources; NULL: nobody wants to know */
};

/*
 * Opens the folder; `elf` names `elf_count` program files whose segments complete the dumps.
 * Returns 0 or a bt_error with *why filled. Release with recording_close() in both cases.
 */
int recording_open(struct recording *r, const char *path, const char *const *elf, size_t elf_count,
                   struct message *why);
void recording_close(struct recording *r);

/* As above, of a perf.data file of Linux; its programs are looked for at `places`. */
int recording_open_perf(struct recording *r, const char *path, const struct perf_places *places,
                        const char *const *elf, size_t elf_count, struct message *why);

/* Leaves those sources that tell which instructions ran; the others are behind them. */
void recording_keep_instructions(struct recording *r);

/* Of those others, the ITM of the source's core whose bytes stand between the source's; NULL: there
 * is none. */
const struct recording_source *recording_itm(const struct recording *r,
                                             const struct recording_source *source);

/* Of those others, the ITMs and, with `stm`, the STMs, or the one of that name; the order of the
 * others is not kept. */
const struct recording_source *recording_tellers(struct recording *r, const char *name, bool stm,
                                                 size_t *count);

/* Bytes of file `i` of the source's buffer, in the order in which they are decoded. */
int recording_map(struct recording *r, const struct recording_source *source, size_t i,
                  const uint8_t **data, uint64_t *size);

/* After recording_map(): bytes [from, to) of the file may be read; as snapshot_need(). */
int recording_need(struct recording *r, const struct recording_source *source, size_t i,
                   uint64_t from, uint64_t to);

/* The address that a comparator of an ITM's core watches; 0: the recording does not say. */
uint64_t recording_watched(const struct recording_source *itm, unsigned comparator);

/* In words, an error of those who read trace: BT_ERR_FORMAT is that of a compressed file. */
const char *recording_strerror(int error);

/* Of all files. */
static inline uint64_t recording_bytes(const struct recording_source *source)
{
    return source->ordered ? source->ordered_size : source->buffer->size;
}

/* Source by device name, or (NULL) by trace ID; NULL if there is none. */
const struct recording_source *recording_find(const struct recording *r, const char *name,
                                              unsigned id);

#endif
