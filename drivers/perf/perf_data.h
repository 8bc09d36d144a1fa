/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linux perf.data with CoreSight trace: what such a file says, as plain arrays. Both forms, the
 * file with its section table and the stream that went through a pipe, of either byte order.
 * Format: of Linux, tools/perf/Documentation/perf.data-file-format.txt, perf_event_open(2); flags
 * of AUX records: include/uapi/linux/perf_event.h; trace units: see perf_data.c; trace IDs:
 * perf_data.c.
 *
 * Nothing is copied but numbers: texts and trace stay in the file's bytes, or in what was unpacked.
 * No limit of the file itself is trusted; a text says what is wrong and at which byte.
 */
#ifndef DRIVERS_PERF_DATA_H
#define DRIVERS_PERF_DATA_H

#include "btrace/types.h"
#include "drivers/base/message.h"

#define PERF_NO_CPU    UINT32_MAX
#define PERF_TRACE_IDS 0x70 /* from here on an ID is none of a trace unit */
#define PERF_PARAMS    9    /* registers that perf keeps of a trace unit */
#define PERF_BUILD_ID  20   /* bytes, at most */

enum perf_unit_kind {
    PERF_UNIT_ETMV3, /* ETMv3 or PTM: ETMCR, ETMTRACEIDR, ETMCCER, ETMIDR */
    PERF_UNIT_ETMV4, /* TRCCONFIGR, TRCTRACEIDR, TRCIDR0, 1, 2, 8, TRCAUTHSTATUS */
    PERF_UNIT_ETE,   /* as above, then TRCDEVARCH */
};

/* The trace unit of one CPU. */
struct perf_unit {
    uint32_t cpu;
    uint32_t count; /* of params */
    uint64_t params[PERF_PARAMS];
    uint8_t kind;     /* enum perf_unit_kind */
    uint8_t trace_id; /* 0: not known; less than PERF_TRACE_IDS */
};

/* Trace as perf wrote it: a span of one buffer, which is a CPU's or a thread's. */
struct perf_span {
    uint64_t at; /* of its first byte in the file */
    uint64_t size;
    uint64_t offset; /* of its first byte in the buffer, which counts on for ever */
    uint32_t cpu;    /* PERF_NO_CPU: the buffer is that of thread `tid` */
    uint32_t tid;
};

#define PERF_AUX_TRUNCATED 0x01u /* what came next did not fit */
#define PERF_AUX_OVERWRITE 0x02u /* snapshot: the buffer runs round */
#define PERF_AUX_PARTIAL   0x04u /* bytes are missing inside */
#define PERF_AUX_COLLISION 0x08u
#define PERF_AUX_FORMAT    0xff00u
#define PERF_AUX_RAW       0x0100u /* no formatter frames: TRBE */

/* What the kernel says of a span: trace was on once, from start to end. */
struct perf_aux {
    uint64_t offset;
    uint64_t size;
    uint64_t flags; /* PERF_AUX_* */
    uint32_t cpu;   /* where the kernel said it; PERF_NO_CPU: the file does not tell */
    uint32_t tid;
};

/* Program bytes: [offset, offset + size) of a file stand at `address`. */
struct perf_map {
    uint64_t at; /* of the record, in a file without compressed ones: the order of events */
    uint64_t address;
    uint64_t size;
    uint64_t offset;
    const char *path; /* in the file's bytes, or in `unpacked` */
    uint32_t pid;     /* UINT32_MAX: the kernel */
    uint8_t build_id[PERF_BUILD_ID];
    uint8_t build_id_size; /* 0: not known */
};

enum perf_task_kind {
    PERF_TASK_SEEN, /* thread `tid` of `pid` */
    PERF_TASK_EXEC, /* `pid` runs another program: what was mapped before is gone */
    PERF_TASK_FORK, /* `pid` begins with what `parent` has */
};

struct perf_task {
    uint64_t at;
    uint32_t pid;
    uint32_t tid;
    uint32_t parent;
    uint8_t kind; /* enum perf_task_kind */
};

struct perf_build_id {
    const char *path;
    uint8_t id[PERF_BUILD_ID];
    uint8_t size;
};

struct perf_attr {
    uint64_t sample_type;
    const uint8_t *ids; /* `id_count` 64-bit numbers, in the file's byte order */
    uint64_t id_count;
    uint32_t type;
    bool all_have_id; /* other records end with a sample's identification, too */
};

struct perf_data {
    const uint8_t *bytes;
    uint64_t size;
    bool swapped; /* the other byte order than this machine's */
    bool has_info;
    bool cut; /* the last record is not whole: perf was killed, or the disk was full */
    uint32_t pmu_type;
    uint64_t lost; /* records that the kernel could not write */
    struct perf_attr *attrs;
    size_t attr_count;
    struct perf_unit *units;
    size_t unit_count;
    struct perf_span *spans;
    size_t span_count;
    struct perf_aux *aux;
    size_t aux_count;
    struct perf_map *maps;
    size_t map_count;
    struct perf_task *tasks;
    size_t task_count;
    struct perf_build_id *build_ids;
    size_t build_id_count;
    uint8_t **unpacked; /* what was in compressed records, and is still referred to */
    size_t unpacked_count;
};

/*
 * Reads the whole file. `bytes` must stay and not change as long as *p is used.
 * Return 0, or with *why filled, which begins with the byte that is to blame: BT_ERR_FORMAT,
 * BT_ERR_UNSUPPORTED (no CoreSight trace, a version that is not known),
 * BT_ERR_RANGE (more of something than this reader takes), BT_ERR_NOMEM. Release with
 * perf_data_release() in all cases.
 */
int perf_data_read(struct perf_data *p, const uint8_t *bytes, uint64_t size, struct message *why);
void perf_data_release(struct perf_data *p);

#endif
