/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording ready to be decoded: its trace sources with their decoder configuration, the cores
 * they belong to, and the program image of each core.
 * Wires drivers/snapshot to the decoder. */
#ifndef SERVER_RECORDING_H
#define SERVER_RECORDING_H

#include "decoder/port/formatter.h"
#include "decoder/stream/stream.h"
#include "drivers/elf/elf_image.h"
#include "drivers/perf/perf_snapshot.h"
#include "drivers/snapshot/snapshot.h"
#include "server/base/message.h"

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
};

struct recording_core {
    const struct snapshot_device *device; /* NULL: stands for "unknown" */
    struct code_image image;
};

struct recording {
    struct snapshot *snapshot;
    struct recording_source *sources;
    size_t source_count;
    struct recording_core *cores;
    size_t core_count;
    struct elf_image *elf[RECORDING_MAX_ELF];
    size_t elf_count;
    char **warnings; /* lines for standard error */
    size_t warning_count;
};

/*
 * Opens the folder; `elf` names `elf_count` program files whose segments complete the dumps.
 * Returns 0 or a bt_error with *why filled.
 * Release with recording_close() in both cases. */
int recording_open(struct recording *r, const char *path, const char *const *elf, size_t elf_count,
                   struct message *why);
void recording_close(struct recording *r);

/* As above, of a perf.data file of Linux; its programs are looked for at `places`. */
int recording_open_perf(struct recording *r, const char *path, const struct perf_places *places,
                        const char *const *elf, size_t elf_count, struct message *why);

/* Source by device name, or by trace ID; NULL if there is none. */
const struct recording_source *recording_find_name(const struct recording *r, const char *name);
const struct recording_source *recording_find_id(const struct recording *r, unsigned id);

/* Where the bytes of one source go, in order. */
struct recording_sink {
    int (*data)(void *ctx, const uint8_t *data, size_t len);
    int (*loss)(void *ctx); /* frame alignment was lost before the next data */
    /* Optional: as the recording says, something else lies before the next data. */
    int (*gap)(void *ctx, enum bt_gap_cause cause);
    /* Optional: called before each piece of raw bytes, with its place in the buffer's files. */
    int (*piece)(void *ctx, size_t file, uint64_t at, const struct formatter *f);
    void *ctx;
};

/* Frames begin anew; the counts go on. */
void recording_anew(struct formatter *f);

/* A run of trace ID `id` belongs to the source of ID `wanted`; 0: of all, they are one thread's. */
static inline bool recording_is_of(unsigned id, unsigned wanted)
{
    return id == wanted || (wanted == 0 && id <= FORMATTER_ID_MAX);
}

#define RECORDING_PIECE (64u << 10) /* raw bytes between two calls of `piece` */

/* Pages of the mapped file that were read go back to the system: a buffer of any size costs no
 * memory. */
void recording_give_back(const uint8_t *data, size_t len);

/* Statistics of a pass over a buffer. */
struct recording_pass {
    uint64_t raw_bytes;
    struct formatter formatter; /* as the pass left it; untouched for unformatted buffers */
    bool formatted;
};

/*
 * One pass over the source's buffer: hands its bytes to `sink`, in pieces. Stops at the first
 * error that the sink returns, and returns it; BT_ERR_IO if the files cannot be mapped.
 */
int recording_feed(struct recording *r, const struct recording_source *source,
                   const struct recording_sink *sink, struct recording_pass *pass);

#endif
