/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Perfetto's trace format, as far as it is needed: slices and instants on tracks, with interned
 * names. Field numbers: perfetto/trace/perfetto_trace.proto.
 */
#ifndef SERVER_PERFETTO_H
#define SERVER_PERFETTO_H

#include "btrace/types.h"

#include <stdio.h>

struct perfetto_name {
    uint64_t key; /* 0: a free entry */
    uint32_t iid;
};

struct perfetto {
    FILE *out;
    uint64_t bytes;              /* written so far */
    struct perfetto_name *names; /* a hash table */
    size_t name_count, name_max;
    bool begun;
};

void perfetto_init(struct perfetto *p, FILE *out);
void perfetto_release(struct perfetto *p);

/* Uuids are not 0 and unique; a parent comes before its children. */
void perfetto_process(struct perfetto *p, uint64_t uuid, const char *name);
void perfetto_thread(struct perfetto *p, uint64_t uuid, uint32_t tid, const char *name);
void perfetto_track(struct perfetto *p, uint64_t uuid, uint64_t parent, bool counter,
                    const char *name);

/*
 * A number for the name that `key` stands for; 0: not known yet, or no memory: then the name goes
 * into the next event that is given it.
 */
uint32_t perfetto_known(const struct perfetto *p, uint64_t key);

enum perfetto_type {
    PERFETTO_BEGIN = 1,
    PERFETTO_END = 2,
    PERFETTO_INSTANT = 3,
    PERFETTO_COUNTER = 4,
};

/* `key` and `name`: of the event; not of an end. The name may be NULL if perfetto_known(). A key of
 * 0: the name comes once. */
void perfetto_event(struct perfetto *p, enum perfetto_type type, uint64_t track, uint64_t time,
                    uint64_t key, const char *name);

/* On a track of a counter. */
void perfetto_value(struct perfetto *p, uint64_t track, uint64_t time, uint64_t value);

#endif
