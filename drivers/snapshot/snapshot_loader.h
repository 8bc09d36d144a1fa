/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by snapshot*.c, and the entry for tests and fuzzers that have no folder: the parsers reach
 * files through struct snapshot_files only.
 */
#ifndef DRIVERS_SNAPSHOT_LOADER_H
#define DRIVERS_SNAPSHOT_LOADER_H

#include "drivers/ini/ini_reader.h"
#include "drivers/snapshot/snapshot.h"

/* Limits of a recording: far above any real one, low enough that no input takes long. */
#define SNAPSHOT_MAX_DEVICES  1024u
#define SNAPSHOT_MAX_BUFFERS  256u
#define SNAPSHOT_MAX_FILES    4096u  /* different dump and buffer files */
#define SNAPSHOT_MAX_DUMPS    16384u /* of all devices */
#define SNAPSHOT_MAX_REGS     65536u /* of one device */
#define SNAPSHOT_MAX_PARTS    256u   /* files of one buffer */
#define SNAPSHOT_MAX_LINKS    4096u  /* in [source_buffers] and [core_trace_sources] */
#define SNAPSHOT_MAX_WARNINGS 256u

/* Where the files of a recording come from. Paths have passed snapshot_path_ok(). */
struct snapshot_files {
    void *user;
    /* Whole text of an ini file: *text is malloc'ed. 0, or an error as of ini_reader_load(). */
    int (*read_text)(void *user, const char *path, char **text, size_t *length);
    /* Bytes of a dump or buffer file, of a compressed one those of its contents. 0, BT_ERR_IO with
     * errno, or another error. */
    int (*get_size)(void *user, const char *path, uint64_t *size);
};

/* A dump or buffer file. Several dumps may share one. */
struct snapshot_file {
    const char *path;
    uint64_t size;
    void *map;                  /* NULL until mapped */
    struct zstd_frames *frames; /* of a compressed file that is mapped */
};

struct snapshot_string;

struct snapshot_private {
    char *root; /* absolute path of the folder; NULL if there is none (memory) */
    struct snapshot_file *files;
    size_t file_count;
    size_t dump_total;
    struct snapshot_string *strings;
};

/* What the parsers pass around. */
struct snapshot_loader {
    struct snapshot *snap;
    const struct snapshot_files *files;
    struct message *why;
};

/* Parse a whole recording. Results and errors as of snapshot_open(); `why` is not NULL. */
int snapshot_load(const struct snapshot_files *files, struct snapshot **out, struct message *why);

/*
 * Open a regular file of the folder. Symbolic links are followed, but not out of the folder: a
 * recording from elsewhere must not make private files readable through GDB.
 * Returns the descriptor, the caller's, or -1 with errno. */
int snapshot_open_inside(const char *root, const char *path, uint64_t *size);

/* As its last four characters say: the file of a buffer holds its bytes compressed. */
bool snapshot_is_packed(const char *path);

/* The trace metadata file, named in line `line` of snapshot.ini. */
int snapshot_load_trace(struct snapshot_loader *ld, const char *path, unsigned line);

/* Helpers. */

/* Fill in *why and return `error`. */
__attribute__((format(printf, 5, 6))) int snapshot_fail(struct message *why, int error,
                                                        const char *file, unsigned line,
                                                        const char *format, ...);

/* The same in the file of a parser, which has `ld` and `path`. */
#define SNAPSHOT_FAIL_AT(p, line, ...)                                                             \
    snapshot_fail((p)->ld->why, BT_ERR_FORMAT, (p)->path, line, __VA_ARGS__)

/* Note a warning; beyond SNAPSHOT_MAX_WARNINGS they are not kept. 0 or BT_ERR_NOMEM. */
__attribute__((format(printf, 4, 5))) int
snapshot_warn(struct snapshot_loader *ld, const char *file, unsigned line, const char *format, ...);

/* Copy `length` characters; the copy lives as long as the snapshot. NULL: out of memory. */
const char *snapshot_string(struct snapshot *snap, const char *text, size_t length);

/* Room for one more element, zeroed, in an array whose sizes are powers of two; the caller counts
 * it. NULL: out of memory. */
void *snapshot_room(void *array, size_t count, size_t element);

/*
 * The same for a parser, with a limit. `what` is for the message.
 * Returns the new, zeroed element (the caller counts it),
 * or NULL with *error and ld->why set. */
void *snapshot_grow(struct snapshot_loader *ld, void *array, size_t count, size_t element,
                    size_t limit, const char *what, int *error);

/* Decimal, 0x hexadecimal or 0 octal, no sign, nothing after it. */
enum snapshot_number { SNAPSHOT_NUMBER_OK, SNAPSHOT_NUMBER_BAD, SNAPSHOT_NUMBER_TOO_LARGE };
enum snapshot_number snapshot_parse_number(const char *text, uint64_t *value);

/* Remove one pair of quotes around a value: *text moves, the length is returned. */
size_t snapshot_unquote(const char **text);

/* Relative, and without a ".." that could leave the folder. */
bool snapshot_path_ok(const char *path);

/* Read an ini file that `file`:`line` names; *text is malloc'ed. */
int snapshot_read_text(struct snapshot_loader *ld, const char *path, const char *file,
                       unsigned line, char **text, size_t *length);

/*
 * Hand each entry of the text of file `path` to `fn`. An `fn` that fails fills in ld->why; where
 * the file and the line are left empty they are added.
 */
int snapshot_parse_text(struct snapshot_loader *ld, const char *path, const char *text,
                        size_t length, ini_entry_fn fn, void *user);

/* "0x" or a decimal number, 64 bits: an error says that `key` has a bad value. */
int snapshot_number_of(struct snapshot_loader *ld, const char *path, const struct ini_entry *entry,
                       uint64_t *value);

/* Find or add a dump or buffer file; *index is its place in the table. */
int snapshot_add_file(struct snapshot_loader *ld, const char *path, const char *file, unsigned line,
                      size_t *index);

/* The next item of a comma-separated list, without blanks: *length characters at the returned
 * place, *list moves behind it. NULL at the end. */
const char *snapshot_next_item(const char **list, size_t *length);

#endif
