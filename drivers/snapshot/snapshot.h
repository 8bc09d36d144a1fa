/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading recordings: folders in the CoreSight trace snapshot format, version 1.0, as ARM DS-5 and
 * OpenCSD's snapshot reader understand it. snapshot.ini lists one file a device (core or trace
 * source, with registers and memory dumps) and names the trace metadata: which buffers there are,
 * which sources they hold, which core each source belongs to.
 *
 * snapshot_open() reads and checks all of the text; contents of dumps and buffers are only sized
 * then, and mapped read-only when asked for, so a recording of any size costs no memory.
 * Everything handed out belongs to the snapshot and is valid until snapshot_close().
 * Opening and mapping are for one thread; a struct snapshot that is no longer mapped into may be
 * read from any number of threads.
 *
 * A file that another program cuts shorter while it is mapped raises SIGBUS on access, as with any
 * mapping; a buffer file that grows (a recording still in progress) is seen with the size it had
 * when the snapshot was opened.
 */
#ifndef DRIVERS_SNAPSHOT_H
#define DRIVERS_SNAPSHOT_H

#include "btrace/types.h"
#include "drivers/base/message.h"

enum snapshot_class {
    SNAPSHOT_CLASS_CORE,         /* class=core */
    SNAPSHOT_CLASS_TRACE_SOURCE, /* class=trace_source */
    SNAPSHOT_CLASS_OTHER,        /* anything else, see class_name */
};

/* One line of [regs]: NAME=value, NAME(0x080)=value, NAME(id:0x80)=value or NAME(size:64)=value. */
struct snapshot_reg {
    const char *name; /* without the parenthesised part */
    bool has_index;
    uint32_t index; /* register number (byte offset / 4) in the programmer's model */
    unsigned size;  /* bits, from (size:N); otherwise 32, or 64 if the value needs it */
    uint64_t value;
    unsigned line;
};

/* One [dump...] section: bytes of memory at the time of the snapshot. */
struct snapshot_dump {
    uint64_t address;
    uint64_t length;   /* bytes; `length=` clamped to the file; not given or 0: rest of it */
    uint64_t offset;   /* first byte's place in the file; 0 without `offset=` */
    const char *space; /* as written: "S", "N", "H", "EL1N", "EL2", "EL3"...; "" if not given */
    const char *path;  /* relative to the folder */
    size_t file;       /* for the snapshot's own use */
    unsigned line;     /* of the section's header */
    uint32_t context;  /* who sees the bytes, if one of the next two is set; otherwise all do */
    bool by_context;   /* context ID `context` */
    bool by_vmid;      /* VMID `context` */
};

struct snapshot_device {
    const char *name;       /* unique in the snapshot */
    const char *class_name; /* as written */
    enum snapshot_class device_class;
    const char *type;          /* core: "Cortex-A9"; source: "PTM1.1", "PFT1.1",
                                  "ETM3.5", "ETM4", "ITM"... */
    const char *path;          /* its ini file, relative to the folder */
    struct snapshot_reg *regs; /* in file order */
    size_t reg_count;
    struct snapshot_dump *dumps; /* in file order; spans may overlap, the first one wins */
    size_t dump_count;
};

enum snapshot_format {
    SNAPSHOT_FORMAT_CORESIGHT,         /* formatter frames, aligned, without frame syncs */
    SNAPSHOT_FORMAT_SOURCE_DATA,       /* bytes of one trace source, no frames */
    SNAPSHOT_FORMAT_DSTREAM_CORESIGHT, /* formatter frames with frame syncs (port capture) */
    SNAPSHOT_FORMAT_OTHER,             /* anything else, see format_name */
};

/* One piece of a buffer's contents. */
struct snapshot_buffer_file {
    const char *path; /* relative to the folder */
    uint64_t size;    /* bytes */
    size_t file;      /* for the snapshot's own use */
    uint64_t offset;  /* likewise: of the first byte in that file */
    bool anew;        /* frames begin anew here: not a continuation of the piece before */
    uint8_t before;   /* enum bt_gap_cause: what is missing before the piece */
};

/* One trace buffer. Its contents are those of its files, one after the other. */
struct snapshot_buffer {
    const char *name;        /* unique in the snapshot: what [source_buffers] refers to */
    const char *format_name; /* as written; "coresight" if not given */
    enum snapshot_format format;
    struct snapshot_buffer_file *files;
    size_t file_count; /* at least 1 */
    uint64_t size;     /* bytes of all files */
    unsigned line;     /* of the section's header in the trace metadata */
};

/* [source_buffers]: trace of `source` is in buffers[buffer]. A source may have several entries. */
struct snapshot_source_buffer {
    const char *source; /* device name; the device itself may be missing (a warning) */
    size_t buffer;      /* index into the snapshot's buffers */
};

/* [core_trace_sources]: `source` traces `core`. */
struct snapshot_core_source {
    const char *core;   /* device name; the device itself may be missing (a warning) */
    const char *source; /* likewise */
};

struct snapshot {
    const char *version;             /* "1.0"; "" if not given */
    const char *description;         /* "" if not given */
    uint64_t timestamp_frequency;    /* Hz, from [timestamp] frequency; 0 if not given */
    struct snapshot_device *devices; /* in the order of [device_list] */
    size_t device_count;
    struct snapshot_buffer *buffers; /* in the order of [trace_buffers] */
    size_t buffer_count;
    struct snapshot_source_buffer *source_buffers; /* in file order */
    size_t source_buffer_count;
    struct snapshot_core_source *core_sources; /* in file order */
    size_t core_source_count;
    struct message *warnings; /* oddities that were passed over; with their places */
    size_t warning_count;
    struct snapshot_private *priv;
};

/*
 * Open the recording in folder `path` (or the folder of `path`, if that names a snapshot.ini).
 * Return:
 *   0                 *out is the snapshot; release with snapshot_close()
 *   BT_ERR_IO         a file is missing or unreadable
 *   BT_ERR_FORMAT     a file's text is not of the format, or contradicts itself
 *   BT_ERR_RANGE      a limit of this reader is reached (line length, size of an ini file...)
 *   BT_ERR_UNSUPPORTED  a version other than 1.0
 *   BT_ERR_NOMEM
 * On error *out is NULL and *why (may be NULL) says where and why: its file is relative to the
 * folder ("trace.ini"), or the folder itself.
 */
int snapshot_open(const char *path, struct snapshot **out, struct message *why);

/* Unmap and free everything. NULL is allowed. */
void snapshot_close(struct snapshot *snap);

/* The device of this exact name, or NULL. */
const struct snapshot_device *snapshot_device(const struct snapshot *snap, const char *name);

/* The buffer of this exact name, or NULL. */
const struct snapshot_buffer *snapshot_buffer(const struct snapshot *snap, const char *name);

/* Device that `source` traces, or NULL if none is named or it is not in the snapshot. */
const struct snapshot_device *snapshot_core_of(const struct snapshot *snap, const char *source);

/*
 * Value of a register. `name` is compared without regard to case, and without the parenthesised
 * part of either side; the first match in file order is taken.
 * Return 0, or BT_ERR_RANGE if the device has no such register (*value is unchanged).
 */
int snapshot_reg(const struct snapshot_device *dev, const char *name, uint64_t *value);

/* Like snapshot_reg(), for whoever wants the size and the index too. NULL if there is none. */
const struct snapshot_reg *snapshot_find_reg(const struct snapshot_device *dev, const char *name);

/*
 * Map a dump's bytes. *data points at dump->length bytes (NULL if that is 0); the mapping is made
 * once a file and lives until snapshot_close().
 * Return 0, or BT_ERR_IO (cannot be opened or mapped,
 * or has become shorter since snapshot_open). */
int snapshot_map_dump(struct snapshot *snap, const struct snapshot_dump *dump,
                      const uint8_t **data);

/*
 * Map file number `n` of a buffer: *data points at *size bytes (NULL if that is 0). Those of a
 * compressed file (".zst") are there once snapshot_need() was asked for them.
 * Return 0, BT_ERR_RANGE (no such file), or BT_ERR_IO as above; BT_ERR_NOMEM.
 */
int snapshot_map_buffer(struct snapshot *snap, const struct snapshot_buffer *buffer, size_t n,
                        const uint8_t **data, uint64_t *size);

/*
 * After snapshot_map_buffer(): bytes [from, to) may be read, until the next call for this file.
 * Return 0, BT_ERR_FORMAT (the compressed file is damaged), BT_ERR_IO, BT_ERR_NOMEM.
 */
int snapshot_need(struct snapshot *snap, const struct snapshot_buffer *buffer, size_t n,
                  uint64_t from, uint64_t to);

/* Bytes [from, to) are not looked at for a while: their memory goes back to the system. */
void snapshot_give_back(struct snapshot *snap, const struct snapshot_buffer *buffer, size_t n,
                        uint64_t from, uint64_t to);

#endif
