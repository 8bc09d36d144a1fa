/* SPDX-License-Identifier: BSD-3-Clause */
#include "timeline_itm.h"

#include "decoder/source/detail.h"

#include <stdlib.h>
#include <string.h>

#define EVENT_BYTES 40u /* of one, at most, but for its text */
#define TRACK_PORT  TIMELINE_PORTS
#define HANDLER_KEY ((uint64_t)1 << 61) /* even: those of calls are odd */
#define SAMPLE_KEY  ((uint64_t)1 << 60)
#define ACCESS_KEY  ((uint64_t)1 << 59)
#define GAP_KEY     ((uint64_t)1 << 58)

enum {
    TRACK_WATCH,
    TRACK_HANDLERS = TRACK_WATCH + TIMELINE_COMPARATORS,
    TRACK_SAMPLES,
    TRACK_GAPS
};

static bool is_text(uint64_t value, unsigned bits)
{
    for (unsigned at = 0; at < bits; at += 8) {
        unsigned c = value >> at & 0xff;
        if ((c < ' ' && c && !strchr("\t\n\r\033", (int)c)) || c == 0x7f)
            return false;
    }
    return true;
}

/* The first look: what there is. */
static void itm_look(void *ctx, const struct bt_event *e)
{
    struct timeline_itm *m = ctx;
    uint8_t *use;
    m->wanted += EVENT_BYTES;
    switch ((enum bt_event_kind)e->kind) {
    case BT_EVENT_STIMULUS:
        use = &m->ports[e->u.stimulus.channel % TIMELINE_PORTS];
        if (!is_text(e->u.stimulus.value, e->u.stimulus.bits))
            *use = TIMELINE_NUMBER;
        else if (*use == TIMELINE_UNUSED)
            *use = TIMELINE_TEXT;
        break;
    case BT_EVENT_WATCH:
        use = &m->watches[e->u.watch.comparator % TIMELINE_COMPARATORS];
        if (e->u.watch.has_value)
            *use = TIMELINE_NUMBER;
        else if (*use == TIMELINE_UNUSED)
            *use = TIMELINE_TEXT;
        break;
    case BT_EVENT_EXCEPTION_TRACE:
        m->handlers = true;
        break;
    case BT_EVENT_SAMPLE:
        m->samples = true;
        break;
    case BT_EVENT_GAP:
        m->gaps = true;
        break;
    default:
        m->wanted -= EVENT_BYTES;
    }
}

int timeline_itm_init(struct timeline_itm *m, struct export_opened *o,
                      const struct recording_source *core)
{
    m->source = recording_itm(&o->recording, core);
    m->names = &o->names;
    if (!m->source)
        return BT_OK;
    m->lines = calloc(TIMELINE_PORTS, sizeof *m->lines);
    return m->lines ? export_listen(&o->recording, m->source, itm_look, m, &m->trace_bytes)
                    : BT_ERR_NOMEM;
}

void timeline_itm_release(struct timeline_itm *m)
{
    free(m->lines);
    m->lines = NULL;
}

/* What a comparator watches, where the recording says so. */
static void watch_name(const struct timeline_itm *m, unsigned comparator, char *out, size_t size)
{
    uint64_t address = recording_watched(m->source, comparator);
    if (address)
        export_variable_name(m->names, address, out, size);
    else
        snprintf(out, size, "comparator %u", comparator);
}

static void itm_track(const struct timeline_itm *m, unsigned track, uint64_t process, bool counter,
                      const char *core, const char *what)
{
    char name[600];
    snprintf(name, sizeof name, "%s %s", core, what);
    perfetto_track(m->out, m->track + track, process, counter, name);
}

void timeline_itm_begin(struct timeline_itm *m, struct perfetto *out, uint64_t track,
                        uint64_t process, const char *core)
{
    char what[300] = "ITM port ", variable[280];
    m->out = out;
    m->track = track;
    for (unsigned i = 0; i < TIMELINE_PORTS; i++) {
        snprintf(what, sizeof what, "ITM port %u", i);
        if (m->ports[i])
            itm_track(m, TRACK_PORT + i, process, m->ports[i] == TIMELINE_NUMBER, core, what);
    }
    for (unsigned i = 0; i < TIMELINE_COMPARATORS; i++) {
        if (!m->watches[i])
            continue;
        watch_name(m, i, variable, sizeof variable);
        snprintf(what, sizeof what, "watch %s", variable);
        itm_track(m, TRACK_WATCH + i, process, m->watches[i] == TIMELINE_NUMBER, core, what);
    }
    if (m->handlers)
        itm_track(m, TRACK_HANDLERS, process, false, core, "handlers by DWT");
    if (m->samples)
        itm_track(m, TRACK_SAMPLES, process, false, core, "PC samples");
    if (m->gaps)
        itm_track(m, TRACK_GAPS, process, false, core, "ITM gaps");
}

static bool itm_room(struct timeline_itm *m, unsigned length)
{
    if (m->bytes + EVENT_BYTES + length <= m->max_bytes)
        return true;
    m->left_out++;
    return false;
}

static void itm_put(struct timeline_itm *m, enum perfetto_type type, unsigned track, uint64_t time,
                    uint64_t key, const char *name)
{
    uint64_t before = m->out->bytes;
    if (type != PERFETTO_END && !itm_room(m, (unsigned)strlen(name)))
        return;
    if (track == TRACK_HANDLERS)
        m->in_handler = type == PERFETTO_BEGIN;
    perfetto_event(m->out, type, m->track + track, time, key, name);
    m->bytes += m->out->bytes - before;
}

static void itm_number(struct timeline_itm *m, unsigned track, uint64_t time, uint64_t value)
{
    uint64_t before = m->out->bytes;
    if (itm_room(m, 0))
        perfetto_value(m->out, m->track + track, time, value);
    m->bytes += m->out->bytes - before;
}

/* A line without its end. What is no UTF-8 in it is a question mark. */
static void itm_end_line(struct timeline_itm *m, unsigned port)
{
    struct timeline_line *line = &m->lines[port];
    for (size_t at = 0, n; at < line->length; at += n ? n : 1) {
        n = export_utf8((const unsigned char *)line->text + at, line->length - at);
        if (!n)
            line->text[at] = '?';
    }
    line->text[line->length] = '\0';
    if (line->length)
        itm_put(m, PERFETTO_INSTANT, TRACK_PORT + port, line->time, 0, line->text);
    line->length = 0;
}

static void itm_character(struct timeline_itm *m, unsigned port, char c, uint64_t time)
{
    struct timeline_line *line = &m->lines[port];
    if (c == '\n' || line->length + 1 == sizeof line->text)
        itm_end_line(m, port);
    if (c == '\n' || c == '\r' || c == '\0')
        return;
    if (line->length == 0)
        line->time = time;
    line->text[line->length++] = c;
}

static void itm_stimulus(struct timeline_itm *m, const struct bt_stimulus *s, uint64_t time)
{
    unsigned port = s->channel % TIMELINE_PORTS;
    if (m->ports[port] == TIMELINE_NUMBER)
        itm_number(m, TRACK_PORT + port, time, s->value);
    else
        for (unsigned at = 0; at < s->bits; at += 8)
            itm_character(m, port, (char)(s->value >> at & 0xff), time);
}

static void itm_watch(struct timeline_itm *m, const struct bt_watch *w, uint64_t time)
{
    unsigned i = w->comparator % TIMELINE_COMPARATORS;
    if (w->has_value)
        itm_number(m, TRACK_WATCH + i, time, w->value);
    else if (m->watches[i] == TIMELINE_TEXT)
        itm_put(m, PERFETTO_INSTANT, TRACK_WATCH + i, time, ACCESS_KEY, "access");
}

static void itm_handler(struct timeline_itm *m, const struct bt_exception_trace *x, uint64_t time)
{
    if (m->in_handler)
        itm_put(m, PERFETTO_END, TRACK_HANDLERS, time, 0, NULL);
    if (x->action != BT_EXCEPTION_EXITED && x->number)
        itm_put(m, PERFETTO_BEGIN, TRACK_HANDLERS, time, HANDLER_KEY + 2u * x->number,
                detail_exception(x->number, true));
}

static void itm_sample(struct timeline_itm *m, const struct bt_sample *s, uint64_t time)
{
    static const char *const states[] = {"", "asleep", "prohibited"};
    char name[400];
    uint64_t key = SAMPLE_KEY + 2u * s->state, function;
    if (s->state == BT_SAMPLE_RUNNING) {
        function = export_function(m->names, s->address);
        key = SAMPLE_KEY ^ (function ? function : s->address) << 4;
        export_function_name(m->names, s->address, name, sizeof name);
    } else {
        snprintf(name, sizeof name, "%s", states[s->state % 3]);
    }
    itm_put(m, PERFETTO_INSTANT, TRACK_SAMPLES, time, key, name);
}

/* What was open before it may have ended. */
static void itm_gap(struct timeline_itm *m, const struct bt_event *e, uint64_t time)
{
    char name[64];
    timeline_itm_end(m, time);
    snprintf(name, sizeof name, "gap: %s", bt_gap_name((enum bt_gap_cause)e->cause));
    itm_put(m, PERFETTO_INSTANT, TRACK_GAPS, time, GAP_KEY + 2u * e->cause, name);
}

void timeline_itm_event(struct timeline_itm *m, const struct bt_event *e, uint64_t time)
{
    switch ((enum bt_event_kind)e->kind) {
    case BT_EVENT_STIMULUS:
        itm_stimulus(m, &e->u.stimulus, time);
        break;
    case BT_EVENT_WATCH:
        itm_watch(m, &e->u.watch, time);
        break;
    case BT_EVENT_EXCEPTION_TRACE:
        itm_handler(m, &e->u.exception_trace, time);
        break;
    case BT_EVENT_SAMPLE:
        itm_sample(m, &e->u.sample, time);
        break;
    case BT_EVENT_GAP:
        itm_gap(m, e, time);
        break;
    default:
        break;
    }
}

void timeline_itm_end(struct timeline_itm *m, uint64_t time)
{
    for (unsigned i = 0; m->lines && i < TIMELINE_PORTS; i++)
        itm_end_line(m, i);
    if (m->in_handler)
        itm_put(m, PERFETTO_END, TRACK_HANDLERS, time, 0, NULL);
}
