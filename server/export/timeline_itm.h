/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What software and the DWT tell by the ITM, on tracks beside those of the core: text and numbers
 * of ports, watched data, handlers, PC samples. The same of an STM: its channels have the place of
 * ports. Private to the timeline.
 */
#ifndef SERVER_TIMELINE_ITM_H
#define SERVER_TIMELINE_ITM_H

#include "perfetto.h"
#include "server/export/export_args.h"

#define TIMELINE_PORTS       256u
#define TIMELINE_COMPARATORS 4u
#define TIMELINE_LINE        200u
#define TIMELINE_COUNTERS    16u

/* What is written of a port or comparator. */
enum timeline_itm_use {
    TIMELINE_UNUSED,
    TIMELINE_TEXT,   /* a line is an instant; of a comparator: an access */
    TIMELINE_NUMBER, /* a counter */
};

enum { TIMELINE_LOCAL = 1, TIMELINE_GLOBAL = 2 };

struct timeline_line {
    uint64_t time; /* of its first character */
    unsigned length;
    char text[TIMELINE_LINE];
};

struct timeline_itm {
    const struct recording_source *source; /* NULL: there is none */
    const struct export_names *names;
    struct perfetto *out;
    uint64_t track;
    uint8_t ports[TIMELINE_PORTS]; /* enum timeline_itm_use */
    uint8_t watches[TIMELINE_COMPARATORS];
    bool handlers, samples, triggers, has_gaps; /* there are some */
    bool in_handler, in_task;                   /* whose slice is open */
    uint8_t clocks;                             /* of timestamps: TIMELINE_LOCAL, TIMELINE_GLOBAL */
    unsigned tasks; /* comparator of the pointer to the current task; TIMELINE_COMPARATORS: none */
    uint32_t task;
    uint16_t counters;                  /* bit n: counter n is told of */
    uint64_t counts[TIMELINE_COUNTERS]; /* so far */
    struct timeline_line *lines;        /* of each port */
    const uint32_t *channels;           /* of an STM, in place of ports: master << 16 | channel */
    uint64_t trace_bytes;
    uint64_t wanted;    /* bytes of output, about */
    uint64_t max_bytes; /* so many of them */
    uint64_t bytes;     /* written, with the names of tracks */
    uint64_t left_out;  /* events */
    uint64_t gaps;
};

/* Looks at all that the core's ITM tells; a source without one is fine. 0 or a bt_error. Release in
 * both cases. */
int timeline_itm_init(struct timeline_itm *m, struct export_opened *o,
                      const struct recording_source *core);
void timeline_itm_release(struct timeline_itm *m);

/* Its tracks, from `track` on; up to 512. What has no room for one is left out. */
void timeline_itm_begin(struct timeline_itm *m, struct perfetto *out, uint64_t track,
                        uint64_t process, const char *core);

/* Room for events, and for tracks, that comes by default with so many bytes of trace. */
uint64_t timeline_itm_bytes(const struct timeline_itm *m);

/* The first look at an event: what tracks there will be. */
void timeline_itm_look(void *itm, const struct bt_event *e);

/* Times ascend. */
void timeline_itm_event(struct timeline_itm *m, const struct bt_event *e, uint64_t time);

/* Room that is kept for what is still to come. */
static inline uint64_t timeline_itm_left(const struct timeline_itm *m)
{
    return m->max_bytes > m->bytes ? m->max_bytes - m->bytes : 0;
}

/* What is open ends. */
void timeline_itm_end(struct timeline_itm *m, uint64_t time);

/*
 * One that stands alone, as over SWO, as a process of its own: time is that of its timestamps. `m`
 * is all 0; at most `max_bytes` are added to `out`, 0: no limit was asked for. 0 or a bt_error.
 * Release in both cases.
 */
int timeline_itm_alone(struct timeline_itm *m, struct export_opened *o,
                       const struct recording_source *itm, uint64_t max_bytes, uint64_t track,
                       struct perfetto *out);

#endif
