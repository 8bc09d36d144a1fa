/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compressed records of perf.data: the pieces of one zstd stream, in which records lie one behind
 * the other, also over the end of a piece (Linux, tools/perf/util/zstd.c and session.c).
 */
#ifndef DRIVERS_PERF_UNPACK_H
#define DRIVERS_PERF_UNPACK_H

#include "btrace/types.h"

#define PERF_RECORD_MAX 65535u
#define PERF_UNPACKED_MAX                                                                          \
    (1ull << 32) /* bytes of all pieces: nobody records more beside the trace */

struct perf_unpack; /* private */

struct perf_unpack *perf_unpack_new(void); /* NULL: no memory */
void perf_unpack_free(struct perf_unpack *u);

/*
 * The next piece. *out, malloc'ed, the caller's: what perf_unpack_keep() kept, and behind it what
 * is unpacked. BT_ERR_FORMAT: damaged; BT_ERR_RANGE: more than PERF_UNPACKED_MAX; BT_ERR_NOMEM.
 */
int perf_unpack_piece(struct perf_unpack *u, const uint8_t *packed, size_t length, uint8_t **out,
                      size_t *out_length);

/* The begin of a record whose end comes with the next piece: at most PERF_RECORD_MAX bytes. */
void perf_unpack_keep(struct perf_unpack *u, const uint8_t *bytes, size_t length);

/* Bytes that are kept. */
size_t perf_unpack_kept(const struct perf_unpack *u);

#endif
