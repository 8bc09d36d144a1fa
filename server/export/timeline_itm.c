/* SPDX-License-Identifier: BSD-3-Clause */
#include "timeline_itm.h"

#include "decoder/source/detail.h"
#include "server/export/export_tasks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TRACK_BYTES  48u /* of one, at most, but for its name */
#define TRACKS_OTHER (TRACK_COUNTER + TIMELINE_COUNTERS)
#define END_BYTES    32u
#define EVENT_BYTES  40u /* of one, at most, but for its text */
#define TRACK_PORT   TIMELINE_PORTS
#define HANDLER_KEY  ((uint64_t)1 << 61) /* even: those of calls are odd */
#define SAMPLE_KEY   ((uint64_t)1 << 60)
#define ACCESS_KEY   ((uint64_t)1 << 59)
#define GAP_KEY      ((uint64_t)1 << 58)
#define TASK_KEY     ((uint64_t)1 << 57)
#define TRIGGER_KEY  ((uint64_t)1 << 56)
#define FLAG_KEY     ((uint64_t)1 << 55)
#define PMU          8u /* counters of the DWT are before those of a PMU */
#define CYCLES       5u
#define WRAP         256u /* counts of the others: DDI 0403E.e C1.8 */
#define PENDING      4096u
#define EXPANSION    16u        /* bytes of output for a byte of trace, if nobody says more */
#define LEAST_BYTES  (1u << 20) /* of a short trace's, the same */

enum {
    TRACK_WATCH,
    TRACK_HANDLERS = TRACK_WATCH + TIMELINE_COMPARATORS,
    TRACK_SAMPLES,
    TRACK_GAPS,
    TRACK_TASKS,
    TRACK_TRIGGERS,
    TRACK_COUNTER
};

static bool is_text(uint64_t value, unsigned bits)
{
    if (bits % 8)
        return false;
    for (unsigned at = 0; at < bits; at += 8) {
        unsigned c = value >> at & 0xff;
        if ((c < ' ' && c && !strchr("\t\n\r\033", (int)c)) || c == 0x7f)
            return false;
    }
    return true;
}

void timeline_itm_look(void *itm, const struct bt_event *e)
{
    struct timeline_itm *m = itm;
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
        m->gaps++;
        break;
    case BT_EVENT_TRIGGER:
        m->triggers = true;
        break;
    case BT_EVENT_COUNTERS:
        m->wanted += (PMU - 1) * EVENT_BYTES;
        m->counters |= (uint16_t)(e->u.counters.mask << (e->u.counters.pmu ? PMU : 0));
        break;
    default:
        m->wanted -= EVENT_BYTES;
        m->clocks |= e->kind == BT_EVENT_LOCAL_TIME  ? TIMELINE_LOCAL
                     : e->kind == BT_EVENT_TIMESTAMP ? TIMELINE_GLOBAL
                                                     : 0;
    }
}

uint64_t timeline_itm_bytes(const struct timeline_itm *m)
{
    return LEAST_BYTES + EXPANSION * m->trace_bytes;
}

static int itm_open(struct timeline_itm *m, struct export_opened *o,
                    const struct recording_source *itm)
{
    m->source = itm;
    m->names = &o->names;
    m->tasks = TIMELINE_COMPARATORS;
    m->lines = calloc(TIMELINE_PORTS, sizeof *m->lines);
    if (!m->lines)
        return BT_ERR_NOMEM;
    int error = export_listen(&o->recording, itm, timeline_itm_look, m, &m->trace_bytes);
    for (unsigned i = 0; i < TIMELINE_PORTS; i++)
        m->wanted += m->ports[i] ? TRACK_BYTES + strlen(itm->core_name) + 16 : 0;
    if (m->wanted)
        m->wanted += 3 * END_BYTES + TRACKS_OTHER * (TRACK_BYTES + strlen(itm->core_name) + 300);
    return error;
}

int timeline_itm_init(struct timeline_itm *m, struct export_opened *o,
                      const struct recording_source *core)
{
    const struct recording_source *itm = recording_itm(&o->recording, core);
    return itm ? itm_open(m, o, itm) : BT_OK;
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

/* False: there is no room for it. */
static bool itm_track(struct timeline_itm *m, unsigned track, uint64_t process, bool counter,
                      const char *core, const char *what)
{
    char name[600];
    uint64_t before = m->out->bytes;
    int length = snprintf(name, sizeof name, "%s %s", core, what);
    if (m->bytes + TRACK_BYTES + (unsigned)length > m->max_bytes)
        return false;
    perfetto_track(m->out, m->track + track, process, counter, name);
    m->bytes += m->out->bytes - before;
    return true;
}

static void port_name(const struct timeline_itm *m, unsigned port, char *out, size_t size)
{
    if (m->channels)
        snprintf(out, size, "STM master 0x%x channel %u", m->channels[port] >> 16,
                 m->channels[port] & 0xffff);
    else
        snprintf(out, size, "ITM port %u", port);
}

void timeline_itm_begin(struct timeline_itm *m, struct perfetto *out, uint64_t track,
                        uint64_t process, const char *core)
{
    char what[300], variable[280];
    m->out = out;
    m->track = track;
    for (unsigned i = 0; i < TIMELINE_PORTS; i++) {
        port_name(m, i, what, sizeof what);
        if (m->ports[i] &&
            !itm_track(m, TRACK_PORT + i, process, m->ports[i] == TIMELINE_NUMBER, core, what))
            m->ports[i] = TIMELINE_UNUSED;
    }
    for (unsigned i = 0; i < TIMELINE_COMPARATORS; i++) {
        if (!m->watches[i])
            continue;
        watch_name(m, i, variable, sizeof variable);
        snprintf(what, sizeof what, "watch %s", variable);
        if (!itm_track(m, TRACK_WATCH + i, process, m->watches[i] == TIMELINE_NUMBER, core, what))
            m->watches[i] = TIMELINE_UNUSED;
    }
    for (unsigned i = 0; i < TIMELINE_COUNTERS; i++) {
        static const char *const counters[] = {"CPI",  "exception", "sleep",        "LSU",
                                               "fold", "cycle",     "reserved (6)", "reserved (7)"};
        if (i < PMU)
            snprintf(what, sizeof what, "DWT %s %s", counters[i],
                     i == CYCLES ? "periods" : "count");
        else
            snprintf(what, sizeof what, "PMU counter %u overflows", i - PMU);
        if (m->counters >> i & 1 && !itm_track(m, TRACK_COUNTER + i, process, true, core, what))
            m->counters &= (uint16_t) ~(1u << i);
    }
    if (m->tasks < TIMELINE_COMPARATORS &&
        !itm_track(m, TRACK_TASKS, process, false, core, "tasks"))
        m->tasks = TIMELINE_COMPARATORS;
    m->handlers =
        m->handlers && itm_track(m, TRACK_HANDLERS, process, false, core, "handlers by DWT");
    m->samples = m->samples && itm_track(m, TRACK_SAMPLES, process, false, core, "PC samples");
    m->triggers = m->triggers && itm_track(m, TRACK_TRIGGERS, process, false, core, "STM triggers");
    m->has_gaps = m->gaps && itm_track(m, TRACK_GAPS, process, false, core,
                                       m->channels ? "STM gaps" : "ITM gaps");
}

/* Of an event whose track found no room. */
static bool itm_shows(struct timeline_itm *m, bool has_track)
{
    m->left_out += !has_track;
    return has_track;
}

static bool itm_room(struct timeline_itm *m, unsigned length)
{
    unsigned ends = END_BYTES * (1u + m->in_handler + m->in_task);
    if (m->bytes + EVENT_BYTES + length + ends <= m->max_bytes)
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
    if (track == TRACK_TASKS)
        m->in_task = type == PERFETTO_BEGIN;
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

/* Of an STM: between messages, or all that there is. */
static void itm_flag(struct timeline_itm *m, unsigned port, uint64_t time)
{
    if (m->lines[port].length)
        itm_end_line(m, port);
    else
        itm_put(m, PERFETTO_INSTANT, TRACK_PORT + port, time, FLAG_KEY, "flag");
}

static void itm_stimulus(struct timeline_itm *m, const struct bt_stimulus *s, uint64_t time)
{
    unsigned port = s->channel % TIMELINE_PORTS;
    if (!itm_shows(m, m->ports[port]))
        return;
    if (m->ports[port] == TIMELINE_NUMBER && s->bits)
        itm_number(m, TRACK_PORT + port, time, s->value);
    else if (m->ports[port] == TIMELINE_TEXT && !s->bits)
        itm_flag(m, port, time);
    else if (m->ports[port] == TIMELINE_TEXT)
        for (unsigned at = 0; at < s->bits; at += 8)
            itm_character(m, port, (char)(s->value >> at & 0xff), time);
}

/* The kernel's pointer has another value. */
static void itm_task(struct timeline_itm *m, uint32_t task, uint64_t time)
{
    char name[280];
    if (m->in_task && m->task == task)
        return;
    if (m->in_task)
        itm_put(m, PERFETTO_END, TRACK_TASKS, time, 0, NULL);
    m->task = task;
    export_variable_name(m->names, task, name, sizeof name);
    if (task)
        itm_put(m, PERFETTO_BEGIN, TRACK_TASKS, time, TASK_KEY ^ (uint64_t)task << 1, name);
}

static void itm_counters(struct timeline_itm *m, const struct bt_counters *c, uint64_t time)
{
    for (unsigned i = c->pmu ? PMU : 0, mask = c->mask; mask; i++, mask >>= 1) {
        if (!(mask & 1) || !itm_shows(m, m->counters >> i & 1))
            continue;
        m->counts[i] += i < PMU && i != CYCLES ? WRAP : 1;
        itm_number(m, TRACK_COUNTER + i, time, m->counts[i]);
    }
}

static void itm_watch(struct timeline_itm *m, const struct bt_watch *w, uint64_t time)
{
    unsigned i = w->comparator % TIMELINE_COMPARATORS;
    if (i == m->tasks && w->has_value && w->store)
        itm_task(m, w->value, time);
    if (!itm_shows(m, m->watches[i]))
        return;
    if (w->has_value)
        itm_number(m, TRACK_WATCH + i, time, w->value);
    else if (m->watches[i] == TIMELINE_TEXT)
        itm_put(m, PERFETTO_INSTANT, TRACK_WATCH + i, time, ACCESS_KEY, "access");
}

static void itm_handler(struct timeline_itm *m, const struct bt_exception_trace *x, uint64_t time)
{
    if (!itm_shows(m, m->handlers))
        return;
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
    if (!itm_shows(m, m->samples))
        return;
    if (s->state == BT_SAMPLE_RUNNING) {
        function = export_function(m->names, s->address);
        key = SAMPLE_KEY ^ (function ? function : s->address) << 4;
        export_function_name(m->names, s->address, name, sizeof name);
    } else {
        snprintf(name, sizeof name, "%s", states[s->state % 3]);
    }
    itm_put(m, PERFETTO_INSTANT, TRACK_SAMPLES, time, key, name);
}

static void itm_trigger(struct timeline_itm *m, const struct bt_trigger *t, uint64_t time)
{
    char name[24];
    snprintf(name, sizeof name, "trigger 0x%02x", t->mask);
    if (itm_shows(m, m->triggers))
        itm_put(m, PERFETTO_INSTANT, TRACK_TRIGGERS, time, TRIGGER_KEY + 2u * t->mask, name);
}

/* What was open before it may have ended. */
static void itm_gap(struct timeline_itm *m, const struct bt_event *e, uint64_t time)
{
    char name[64];
    timeline_itm_end(m, time);
    if (!itm_shows(m, m->has_gaps))
        return;
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
    case BT_EVENT_COUNTERS:
        itm_counters(m, &e->u.counters, time);
        break;
    case BT_EVENT_TRIGGER:
        itm_trigger(m, &e->u.trigger, time);
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
    if (m->in_task)
        itm_put(m, PERFETTO_END, TRACK_TASKS, time, 0, NULL);
}

/* Events, which wait for the timestamp behind them. */
struct itm_alone {
    struct timeline_itm *itm;
    uint64_t time;
    size_t count;
    struct bt_event pending[PENDING];
};

static void alone_put(struct itm_alone *a)
{
    for (size_t i = 0; i < a->count; i++)
        timeline_itm_event(a->itm, &a->pending[i], a->time);
    a->count = 0;
}

/* Without timestamps there is the order alone. Too many without one are at the latest before. */
static void alone_event(void *ctx, const struct bt_event *e)
{
    struct itm_alone *a = ctx;
    bool timed = a->itm->clocks;
    if (e->kind == BT_EVENT_LOCAL_TIME || e->kind == BT_EVENT_TIMESTAMP) {
        bool is_local = e->kind == BT_EVENT_LOCAL_TIME;
        uint64_t time = is_local ? e->u.local_time.value : e->u.timestamp.value;
        if (is_local != (a->itm->clocks & TIMELINE_LOCAL))
            return;
        a->time = time > a->time ? time : a->time;
        alone_put(a);
        return;
    }
    if (a->count == PENDING || !timed)
        alone_put(a);
    a->pending[a->count++] = *e;
    a->time += !timed;
}

int timeline_itm_alone(struct timeline_itm *m, struct export_opened *o,
                       const struct recording_source *itm, uint64_t max_bytes, uint64_t track,
                       struct perfetto *out)
{
    char name[600];
    uint64_t bytes = 0;
    int error = itm_open(m, o, itm);
    struct itm_alone *a = error ? NULL : calloc(1, sizeof *a);
    if (!a)
        return error ? error : BT_ERR_NOMEM;
    m->tasks = export_tasks_comparator(o, itm);
    snprintf(name, sizeof name, "btraced: %s: %" PRIu64 " bytes of trace; gaps: %" PRIu64 "; %s",
             itm->name, m->trace_bytes, m->gaps,
             m->clocks & TIMELINE_LOCAL ? "1 ns is a cycle of its local timestamps"
             : m->clocks                ? "1 ns is a tick of its global timestamps"
                                        : "no timestamps: the order alone");
    uint64_t before = out->bytes;
    perfetto_process(out, track, name);
    m->max_bytes = max_bytes ? max_bytes : timeline_itm_bytes(m);
    m->bytes = out->bytes - before;
    timeline_itm_begin(m, out, track, track, itm->core_name);
    a->itm = m;
    error = export_listen(&o->recording, itm, alone_event, a, &bytes);
    alone_put(a);
    timeline_itm_end(m, a->time);
    free(a);
    return error;
}
