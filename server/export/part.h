/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One part of a recording, cut by its raw bytes: counted from the places (marks) behind its cut
 * where the part before may go on for it, to a mark of a later part, where that decodes what the
 * rest of the recording needs of the past. Whether it does is seen from the state of both: so the
 * parts, merged in turn, count what one run counts, of any bytes. Where nothing fits (a protocol
 * whose decodes cannot be joined, say), a part goes on through the next ones, up to the end.
 */
#ifndef SERVER_PART_H
#define SERVER_PART_H

#include "server/export/counts_file.h"

/* "I/N", I from 1: part number I - 1. False: it is not that. */
bool part_parse(const char *text, uint64_t *part, uint64_t *parts);

/* Part f->part of f->parts, with ranges and branches if f->pairs or calls if f->calls, of one
 * source into *out. `out` is all 0; its owner releases it. 0 or a bt_error; BT_ERR_UNSUPPORTED: its
 * calls are nested too deeply, or return too often to what is not known. */
int part_count(const struct counts_file *f, struct recording *r,
               const struct recording_source *source, const struct export_names *names,
               struct counts_source *out);

/* What the recording and its programs are known by; `path` names it. BT_ERR_NOMEM, BT_ERR_IO,
 * BT_ERR_FORMAT: its compressed trace is damaged. */
int part_identify(struct counts_file *f, struct recording *r,
                  const struct recording_source *sources, size_t source_count,
                  const struct export_names *names, const char *path);

/* The programs alone. BT_ERR_NOMEM. */
int part_programs(struct counts_file *f, const struct export_names *names);

#endif
