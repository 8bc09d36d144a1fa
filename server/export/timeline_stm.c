/* SPDX-License-Identifier: BSD-3-Clause */
#include "timeline_stm.h"

#include "timeline_itm.h"

#include <inttypes.h>
#include <stdlib.h>

#define NOBODY UINT32_MAX

struct stm_channels {
    struct timeline_itm itm; /* whose ports stand for channels */
    uint32_t of[TIMELINE_PORTS];
    unsigned count;
    unsigned newest;    /* that was asked for last */
    uint64_t left_out;  /* what came by further ones */
    uint32_t hertz;     /* of the timestamps; 0: not told */
    uint64_t time;      /* of what is known last */
    bool timed, writes; /* there are timestamps; the second walk */
};

/* The port that stands for the channel; NOBODY: there is none left. */
static unsigned stm_port(struct stm_channels *c, const struct bt_stimulus *s)
{
    uint32_t channel = (uint32_t)s->master << 16 | s->channel;
    if (c->newest < c->count && c->of[c->newest] == channel)
        return c->newest;
    unsigned i = 0;
    while (i < c->count && c->of[i] != channel)
        i++;
    if (i == TIMELINE_PORTS)
        return NOBODY;
    c->of[i] = channel;
    c->count += i == c->count;
    c->newest = i;
    return i;
}

/* What comes between two timestamps is at the first of them; without any the order is all. */
static void stm_time_passes(struct stm_channels *c, const struct bt_event *e)
{
    uint64_t time = c->time + !c->timed;
    if (e->kind == BT_EVENT_TIMESTAMP)
        time = e->u.timestamp.value;
    else if (e->kind == BT_EVENT_STIMULUS && e->u.stimulus.has_time)
        time = e->u.stimulus.time;
    c->time = time > c->time ? time : c->time;
}

static void stm_event(void *ctx, const struct bt_event *event)
{
    struct stm_channels *c = ctx;
    struct bt_event e = *event;
    if (c->writes)
        stm_time_passes(c, &e);
    else if (e.kind == BT_EVENT_FREQUENCY)
        c->hertz = e.u.frequency.hertz;
    c->timed |=
        e.kind == BT_EVENT_TIMESTAMP || (e.kind == BT_EVENT_STIMULUS && e.u.stimulus.has_time);
    if (e.kind == BT_EVENT_STIMULUS) {
        unsigned port = stm_port(c, &e.u.stimulus);
        c->left_out += port == NOBODY && c->writes;
        if (port == NOBODY)
            return;
        e.u.stimulus.channel = (uint16_t)port;
    }
    if (c->writes)
        timeline_itm_event(&c->itm, &e, c->time);
    else
        timeline_itm_look(&c->itm, &e);
}

static void stm_process(const struct stm_channels *c, const char *name, uint64_t track,
                        struct perfetto *out)
{
    char text[600], hertz[40] = "";
    if (c->hertz)
        snprintf(hertz, sizeof hertz, " of %" PRIu32 " Hz", c->hertz);
    snprintf(text, sizeof text, "btraced: %s: %" PRIu64 " bytes of trace; gaps: %" PRIu64 "; %s%s",
             name, c->itm.trace_bytes, c->itm.gaps,
             c->timed ? "1 ns is a tick of its timestamps" : "no timestamps: the order alone",
             c->timed ? hertz : "");
    perfetto_process(out, track, text);
}

int timeline_stm(struct export_opened *o, const struct recording_source *stm, uint64_t max_bytes,
                 uint64_t track, struct perfetto *out, uint64_t *left_out)
{
    uint64_t begin = out->bytes, bytes = 0;
    struct stm_channels *c = calloc(1, sizeof *c);
    if (!c)
        return BT_ERR_NOMEM;
    struct timeline_itm *m = &c->itm;
    m->names = &o->names;
    m->source = stm;
    m->channels = c->of;
    m->tasks = TIMELINE_COMPARATORS;
    m->lines = calloc(TIMELINE_PORTS, sizeof *m->lines);
    int error =
        m->lines ? export_listen(&o->recording, stm, stm_event, c, &m->trace_bytes) : BT_ERR_NOMEM;
    if (!error) {
        stm_process(c, stm->name, track, out);
        m->max_bytes = max_bytes ? max_bytes : timeline_itm_bytes(m);
        m->bytes = out->bytes - begin;
        timeline_itm_begin(m, out, track, track, stm->name);
        c->writes = true;
        error = export_listen(&o->recording, stm, stm_event, c, &bytes);
        timeline_itm_end(m, c->time);
        *left_out += m->left_out + c->left_out;
    }
    timeline_itm_release(m);
    free(c);
    return error;
}
