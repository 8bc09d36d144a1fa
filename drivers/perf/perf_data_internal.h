/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by perf_data*.c. */
#ifndef DRIVERS_PERF_DATA_INTERNAL_H
#define DRIVERS_PERF_DATA_INTERNAL_H

#include "perf_data.h"

#define PERF_MAX_ATTRS 256u
#define PERF_MAX_UNITS 4096u
#define PERF_MAX_ITEMS 1048576u /* of any other list */

#define PERF_HEADER 8u /* bytes of a record's header */

struct perf_record {
    uint64_t at;   /* of its header in the file */
    uint64_t size; /* with the header */
    uint32_t type;
    uint16_t misc;
};

struct perf_reader {
    struct perf_data *data;
    struct perf_error *why;
};

/* Numbers in the file's byte order; the caller has checked that they are inside. */
uint32_t perf_u32(const struct perf_data *p, uint64_t at);
uint64_t perf_u64(const struct perf_data *p, uint64_t at);

__attribute__((format(printf, 4, 5))) int perf_fail(struct perf_reader *r, int error, uint64_t at,
                                                    const char *format, ...);

/* Room for one more, zeroed and counted, in an array that grows by doubling; NULL: *error. */
void *perf_grow(struct perf_reader *r, void *array, size_t *count, size_t element, size_t limit,
                uint64_t at, int *error);

/* One attribute of `size` bytes with its numbers. 0 or a bt_error. */
int perf_take_attr(struct perf_reader *r, uint64_t at, uint64_t size, uint64_t ids_at,
                   uint64_t ids_size);

/* One record inside the file; *follows: bytes behind it that are not records. */
int perf_take_record(struct perf_reader *r, const struct perf_record *k, uint64_t *follows);

/* A record of a build ID, in the stream or in the file's table. */
int perf_take_build_id(struct perf_reader *r, const struct perf_record *k);

/* perf_data_info.c: what perf keeps of the trace units. */
int perf_take_info(struct perf_reader *r, const struct perf_record *k);

#endif
