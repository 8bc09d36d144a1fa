/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/timeline.h"

#include "decoder/calls/calls.h"
#include "decoder/source/detail.h"
#include "server/export/export_tasks.h"
#include "timeline_itm.h"
#include "timeline_stm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES (1u << 20) /* of a short trace's timeline, if nobody says more */
#define CALL_BYTES  40u        /* of a call, at most, but for its name */
#define END_BYTES   24u
#define POINTS      65536u
#define PROCESS     1u
#define NOT_YET     UINT64_MAX
#define GAP_KEY     ((uint64_t)1 << 62)
#define RAISED_KEY  48
#define TRACKS      4096u /* numbers of tracks for a core: calls, exceptions, gaps; from here on */
#define TRACKS_ITM  512u
#define TRACKS_TASK 16u
#define TASKS_MAX   128u /* that have tracks of their own */
#define TASK_KEY    ((uint64_t)1 << 57)

enum timeline_time {
    TIME_INSTRUCTIONS,
    TIME_TIMESTAMPS,
    TIME_CYCLES,  /* told for each range of instructions */
    TIME_COUNTED, /* cycles, told now and then */
};

struct clock_point {
    uint64_t number;
    uint64_t time;
};

/* Points where the time is known; when there are too many every second one goes. */
struct clock_map {
    struct clock_point *points;
    size_t count;
    size_t every;
    size_t seen;
    size_t near; /* where the last question was answered */
};

/* A call that is open. */
struct open_slice {
    uint64_t number;
    uint64_t time;
    uint64_t key;
    uint64_t function;
    int32_t exception;
    uint64_t track;
    bool raised;  /* on the track of exceptions */
    bool written; /* its begin is */
};

struct timeline_core {
    const struct export_args *args;
    const struct export_opened *opened;
    const struct recording_source *source;
    struct perfetto *out;
    struct timeline_itm itm;
    struct export_tasks tasks;
    size_t task_next;            /* the next switch */
    uint64_t task_of[TASKS_MAX]; /* that have tracks */
    size_t task_count;
    uint64_t calls_track; /* of the task that runs */
    bool task_open;       /* its slice */
    struct calls calls;
    enum timeline_time time;
    struct clock_map stamps;
    struct clock_map counted;
    uint64_t lengths[65]; /* of calls, by the bits of their length in instructions */
    struct open_slice open[CALLS_DEPTH];
    unsigned depth;
    uint64_t track;
    uint64_t from, to; /* of the window, instructions; NOT_YET: not reached */
    uint64_t from_time;
    uint64_t from_function, to_function;
    uint64_t shortest, max_bytes;
    uint64_t left_out;
    uint64_t last_time;
    bool writes;        /* the second walk */
    bool entered, left; /* the window */
};

static int clock_add(struct clock_map *m, uint64_t number, uint64_t time)
{
    if (!m->points) {
        m->points = malloc(POINTS * sizeof *m->points);
        m->every = 1;
    }
    if (!m->points)
        return BT_ERR_NOMEM;
    if (m->seen++ % m->every || (m->count && m->points[m->count - 1].time > time))
        return BT_OK; /* one that goes back is no time */
    if (m->count == POINTS) {
        for (size_t i = 0; i < POINTS / 2; i++)
            m->points[i] = m->points[2 * i];
        m->count = POINTS / 2;
        m->every *= 2;
    }
    m->points[m->count++] = (struct clock_point){number, time};
    return BT_OK;
}

/* Between two points time goes with the instructions. Numbers that are asked for ascend. */
static uint64_t clock_at(struct clock_map *m, uint64_t number)
{
    while (m->near + 1 < m->count && m->points[m->near + 1].number <= number)
        m->near++;
    const struct clock_point *a = &m->points[m->near], *b = a + 1;
    if (number <= a->number || m->near + 1 == m->count || b->number == a->number)
        return a->time;
    double share = (double)(number - a->number) / (double)(b->number - a->number);
    return a->time + (uint64_t)(share * (double)(b->time - a->time));
}

static uint64_t timeline_now(struct timeline_core *t, uint64_t number, uint64_t cycles)
{
    uint64_t time = t->time == TIME_CYCLES       ? cycles
                    : t->time == TIME_COUNTED    ? clock_at(&t->counted, number)
                    : t->time == TIME_TIMESTAMPS ? clock_at(&t->stamps, number)
                                                 : number;
    t->last_time = time > t->last_time ? time : t->last_time;
    return t->last_time;
}

static void write_begin(struct timeline_core *t, struct open_slice *s)
{
    char name[512];
    if (!perfetto_known(t->out, s->key)) {
        export_function_name(&t->opened->names, s->function, name, sizeof name);
        size_t n = strlen(name);
        if (s->exception >= 0)
            snprintf(name + n, sizeof name - n, " [%s]",
                     detail_exception((unsigned)s->exception, t->calls.config.m_profile));
    }
    s->written = true;
    perfetto_event(t->out, PERFETTO_BEGIN, s->track,
                   s->time > t->from_time ? s->time : t->from_time, s->key, name);
}

/* Room for one more call, besides the ends of those that are open. */
static bool timeline_room(const struct timeline_core *t, unsigned calls)
{
    return t->out->bytes + (uint64_t)(calls + 1) * CALL_BYTES + 600 +
               (uint64_t)t->depth * END_BYTES + timeline_itm_left(&t->itm) <
           t->max_bytes;
}

/* The call, and those that it is in, appear. False: there is no room. */
static bool write_open(struct timeline_core *t)
{
    unsigned missing = 0;
    for (unsigned i = 0; i < t->depth; i++)
        missing += !t->open[i].written;
    if (!timeline_room(t, missing))
        return false;
    for (unsigned i = 0; i < t->depth; i++)
        if (!t->open[i].written)
            write_begin(t, &t->open[i]);
    return true;
}

/* Where calls of the task are from now on; the core's own track, where there is no other. */
static uint64_t track_of_task(struct timeline_core *t, uint64_t task, const char *variable)
{
    char name[300];
    size_t i = 0;
    while (i < t->task_count && t->task_of[i] != task)
        i++;
    if (i == TASKS_MAX || !task || (i == t->task_count && !timeline_room(t, 0)))
        return t->track;
    uint64_t track = t->track + TRACKS_TASK + i;
    if (i == t->task_count) {
        t->task_of[t->task_count++] = task;
        snprintf(name, sizeof name, "%s task %s", t->source->core_name, variable);
        perfetto_thread(t->out, track, (uint32_t)track, name);
    }
    return track;
}

static void end_task(struct timeline_core *t, uint64_t time)
{
    if (t->task_open)
        perfetto_event(t->out, PERFETTO_END, t->track + 3, time, 0, NULL);
    t->task_open = false;
}

/* The tasks that have run up to instruction `number`. */
static void reach_tasks(struct timeline_core *t, uint64_t number, uint64_t cycles)
{
    char name[280];
    for (; t->task_next < t->tasks.count; t->task_next++) {
        const struct export_switch *s = &t->tasks.list[t->task_next];
        if (s->position > number)
            break;
        export_task_name(&t->opened->names, s->task, name, sizeof name);
        t->calls_track = track_of_task(t, s->task, name);
        bool last = t->task_next + 1 == t->tasks.count || s[1].position > number;
        if (!t->entered || (s->position < t->from && !last))
            continue;
        uint64_t time = timeline_now(t, s->position > t->from ? s->position : t->from, cycles);
        end_task(t, time);
        if (s->task && timeline_room(t, 0)) {
            perfetto_event(t->out, PERFETTO_BEGIN, t->track + 3, time, TASK_KEY ^ s->task << 1,
                           name);
            t->task_open = true;
        }
    }
}

/* What is open at the window's end ends there, if it is long enough to be seen. */
static void leave_window(struct timeline_core *t, uint64_t cycles)
{
    uint64_t time = timeline_now(t, t->to, cycles);
    while (t->depth > 0) {
        const struct open_slice *s = &t->open[t->depth - 1];
        uint64_t begin = s->number > t->from ? s->number : t->from;
        if (!s->written && t->to > begin)
            if (t->to - begin < t->shortest || !write_open(t))
                t->left_out++;
        if (s->written)
            perfetto_event(t->out, PERFETTO_END, s->track, time, 0, NULL);
        t->depth--;
    }
    end_task(t, time);
    timeline_itm_end(&t->itm, time);
    t->left = true;
}

/* Before anything at instruction `number`. False: nothing is written. */
static bool timeline_reaches(struct timeline_core *t, uint64_t number, uint64_t cycles)
{
    if (!t->writes || t->left)
        return false;
    if (!t->entered && number >= t->from) {
        t->entered = true;
        t->from_time = timeline_now(t, t->from, cycles);
        t->task_next -= t->task_next > 0; /* the task that runs there */
    }
    reach_tasks(t, number < t->to ? number : t->to, cycles);
    if (t->entered && number >= t->to)
        leave_window(t, cycles);
    return t->entered && !t->left;
}

static void timeline_begin(void *ctx, const struct calls_frame *frame, uint64_t number,
                           uint64_t cycles)
{
    struct timeline_core *t = ctx;
    if (t->writes && t->from == NOT_YET && frame->function == t->from_function)
        t->from = number;
    else if (t->entered && t->to == NOT_YET && number > t->from && t->to_function &&
             frame->function == t->to_function)
        t->to = number;
    timeline_reaches(t, number, cycles);
    if (t->left)
        return;
    const struct open_slice *below = t->depth ? &t->open[t->depth - 1] : NULL;
    bool raised = frame->exception >= 0 || (below && below->raised);
    t->open[t->depth++] = (struct open_slice){
        .number = number,
        .time = timeline_now(t, number, cycles),
        .key = (frame->function << 1) ^ ((uint64_t)(frame->exception + 1) << RAISED_KEY) ^ 1,
        .function = frame->function,
        .exception = frame->exception,
        .raised = raised,
        .track = raised ? t->track + 1 : t->calls_track,
    };
}

static void timeline_end(void *ctx, uint64_t number, uint64_t cycles)
{
    struct timeline_core *t = ctx;
    bool inside = timeline_reaches(t, number, cycles);
    if (t->left)
        return;
    struct open_slice *s = &t->open[t->depth - 1];
    uint64_t begin = inside && s->number < t->from ? t->from : s->number, length = number - begin;
    t->lengths[length ? 64 - __builtin_clzll(length) : 0]++;
    if (inside && !s->written && (length < t->shortest || !write_open(t)))
        t->left_out++;
    if (s->written)
        perfetto_event(t->out, PERFETTO_END, s->track, timeline_now(t, number, cycles), 0, NULL);
    t->depth--;
}

static void timeline_transfer(void *ctx, const struct counts_edge *edge, uint64_t number,
                              uint64_t cycles)
{
    struct timeline_core *t = ctx;
    export_tasks_tell(&t->tasks, &t->calls, number);
    calls_transfer(&t->calls, edge, number, cycles);
}

static void timeline_gap(struct timeline_core *t, const struct bt_event *e, uint64_t cycles)
{
    char name[64];
    if (!timeline_reaches(t, e->position, cycles) || !timeline_room(t, 0))
        return;
    snprintf(name, sizeof name, "gap: %s", bt_gap_name((enum bt_gap_cause)e->cause));
    perfetto_event(t->out, PERFETTO_INSTANT, t->track + 2, timeline_now(t, e->position, cycles),
                   GAP_KEY + e->cause, name);
}

static void timeline_event(void *ctx, const struct bt_event *e, uint64_t cycles)
{
    struct timeline_core *t = ctx;
    if (!t->writes && e->kind == BT_EVENT_TIMESTAMP)
        clock_add(&t->stamps, e->position, e->u.timestamp.value);
    else if (!t->writes && e->has_cycles)
        clock_add(&t->counted, e->position, cycles);
    export_tasks_tell(&t->tasks, &t->calls, e->position);
    calls_event(&t->calls, e, cycles);
    if (e->kind == BT_EVENT_GAP || (e->kind == BT_EVENT_TRACE_ON && e->cause != BT_GAP_NONE))
        timeline_gap(t, e, cycles);
}

static void timeline_told(void *ctx, const struct bt_event *e, uint64_t number, uint64_t cycles)
{
    struct timeline_core *t = ctx;
    export_tasks_tell(&t->tasks, &t->calls, number);
    if (timeline_reaches(t, number, cycles))
        timeline_itm_event(&t->itm, e, timeline_now(t, number, cycles));
}

/* One walk. */
static int timeline_walk(struct timeline_core *t, struct export_loss *loss)
{
    struct calls_config config = {.max_paths = 1024, /* nobody reads them */
                                  .m_profile = export_m_profile(t->source),
                                  .begin = timeline_begin,
                                  .end = timeline_end,
                                  .ctx = t};
    struct export_walk walk = {.recording = (struct recording *)&t->opened->recording,
                               .source = t->source,
                               .names = &t->opened->names,
                               .jobs = t->args->jobs,
                               .cycles = stream_counts_blocks(&t->source->config),
                               .transfer = timeline_transfer,
                               .event = timeline_event,
                               .beside = t->writes ? t->itm.source : NULL,
                               .told = timeline_told,
                               .ctx = t};
    struct counts counts;
    t->tasks.next = 0;
    int error = calls_init(&t->calls, &config);
    if (!error) {
        error = export_walk(&walk, &counts, loss);
        calls_finish(&t->calls, counts.number, counts.cycles);
        if (t->entered && !t->left) {
            end_task(t, t->last_time);
            timeline_itm_end(&t->itm, t->last_time);
        }
        if (!t->writes)
            t->time = walk.cycles && counts.cycles ? TIME_CYCLES
                      : t->stamps.count > 1        ? TIME_TIMESTAMPS
                      : t->counted.count > 1       ? TIME_COUNTED
                                                   : TIME_INSTRUCTIONS;
        counts_release(&counts);
    }
    calls_release(&t->calls);
    return error;
}

/* A number of an instruction, from 1 on, or a function: where it is first called. */
static int timeline_bound(const struct export_opened *o, const char *text, uint64_t *number,
                          uint64_t *function, struct message *why)
{
    char *end;
    if (!text)
        return BT_OK;
    *number = strtoull(text, &end, 10);
    if (end != text && !*end) {
        *number -= *number > 0;
        return BT_OK;
    }
    *number = NOT_YET;
    if (export_find(&o->names, text, function))
        return BT_OK;
    return message_fail(why, BT_ERR_INVAL,
                        "'%s' is neither an instruction's number nor a function of the program",
                        text);
}

/* The shortest calls go until the others have room. */
static uint64_t choose_shortest(const struct timeline_core *cores, size_t count, uint64_t max)
{
    uint64_t calls = 0;
    for (unsigned bits = 64; bits > 0; bits--) {
        for (size_t i = 0; i < count; i++)
            calls += cores[i].lengths[bits];
        if (calls > max / CALL_BYTES)
            return bits == 64 ? UINT64_MAX : (uint64_t)1 << bits;
    }
    return 0;
}

/* Of the room that STMs have there are as many parts. */
static size_t stm_count(const struct export_args *args, const struct export_opened *o)
{
    const struct recording_source *s = &o->recording.sources[o->recording.source_count];
    size_t count = 0;
    for (size_t i = 0; i < o->recording.beside_count && !args->source; i++)
        count += s[i].config.protocol == STREAM_STM;
    return count;
}

/* STMs beside the cores, which have their share of the room in equal parts. */
static int timeline_stms(const struct export_args *args, struct export_opened *o, uint64_t share,
                         struct perfetto *out, struct timeline_result *result)
{
    size_t count = stm_count(args, o), next = o->source_count + 1;
    int error = BT_OK;
    for (size_t i = 0; i < o->recording.beside_count && count && !error; i++) {
        const struct recording_source *s = &o->recording.sources[o->recording.source_count + i];
        if (s->config.protocol == STREAM_STM)
            error = timeline_stm(o, s, share / count, TRACKS * next++, out, &result->untold);
    }
    return error;
}

/* What the ITMs tell takes half of the room at most, shared alike. */
static uint64_t share_itm(struct timeline_core *cores, size_t count, uint64_t max)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        struct timeline_itm *m = &cores[i].itm;
        m->max_bytes = m->wanted < max / 2 / count ? m->wanted : max / 2 / count;
        sum += m->max_bytes;
    }
    return sum;
}

static void write_tracks(struct timeline_core *t)
{
    static const char *const units[] = {"1 ns is an instruction",
                                        "1 ns is a tick of the timestamps", "1 ns is a cycle",
                                        "1 ns is a cycle"};
    char name[300];
    uint32_t tid = (uint32_t)t->track;
    snprintf(name, sizeof name, "%s (%s)", t->source->core_name, units[t->time]);
    perfetto_thread(t->out, t->track, tid, name);
    snprintf(name, sizeof name, "%s exceptions", t->source->core_name);
    perfetto_thread(t->out, t->track + 1, tid + 1, name);
    snprintf(name, sizeof name, "%s gaps", t->source->core_name);
    perfetto_track(t->out, t->track + 2, PROCESS, false, name);
    snprintf(name, sizeof name, "%s tasks", t->source->core_name);
    if (t->tasks.count)
        perfetto_track(t->out, t->track + 3, PROCESS, false, name);
    if (t->itm.source)
        timeline_itm_begin(&t->itm, t->out, t->track + TRACKS_ITM, PROCESS, t->source->core_name);
}

/* Not before it is known that there is something to write: an older file stays until then. */
static bool create_timeline(const struct export_args *args, FILE **out)
{
    *out = *out ? *out : export_create(args);
    return *out != NULL;
}

static int timeline_cores(struct timeline_core *cores, const struct export_args *args,
                          struct export_opened *o, FILE **out, struct export_loss *loss,
                          struct timeline_result *result, struct message *why)
{
    struct perfetto perfetto;
    struct export_loss again = {0};
    uint64_t from = 0, to = NOT_YET, from_function = 0, to_function = 0;
    char name[1200], text[1024];
    int error = timeline_bound(o, args->from, &from, &from_function, why);
    if (!error)
        error = timeline_bound(o, args->to, &to, &to_function, why);
    for (size_t i = 0; i < o->source_count && !error; i++) {
        cores[i].args = args;
        cores[i].opened = o;
        cores[i].source = &o->sources[i];
        error = timeline_itm_init(&cores[i].itm, o, &o->sources[i]);
        if (!error)
            error = export_tasks_find(&cores[i].tasks, o, &o->sources[i]);
        if (!error)
            error = timeline_walk(&cores[i], loss);
    }
    if (error)
        return error;
    uint64_t max = 2 * loss->bytes;
    for (size_t i = 0; i < o->source_count; i++)
        max += 2 * cores[i].itm.trace_bytes;
    if (args->max_bytes || max < LEAST_BYTES)
        max = args->max_bytes ? args->max_bytes : LEAST_BYTES;
    uint64_t share = args->max_bytes && stm_count(args, o) ? max / 4 : 0;
    max -= share; /* of STMs; without --max-size they have room of their own */
    result->shortest =
        choose_shortest(cores, o->source_count, max - share_itm(cores, o->source_count, max));
    if (result->shortest < args->shortest)
        result->shortest = args->shortest;
    if (!create_timeline(args, out))
        return BT_OK;
    perfetto_init(&perfetto, *out);
    export_loss_text(loss, text, sizeof text);
    snprintf(name, sizeof name, "btraced: %s", text);
    perfetto_process(&perfetto, PROCESS, name);
    for (size_t i = 0; i < o->source_count && !error; i++) {
        struct timeline_core *t = &cores[i];
        t->out = &perfetto;
        t->track = t->calls_track = TRACKS * (i + 1);
        t->from = from;
        t->to = to;
        t->from_function = from_function;
        t->to_function = to_function;
        t->shortest = result->shortest;
        t->max_bytes = perfetto.bytes + (max - perfetto.bytes) / (o->source_count - i);
        t->last_time = 0;
        t->writes = true;
        write_tracks(t);
        error = timeline_walk(t, &again);
        result->left_out += t->left_out;
        result->untold += t->itm.left_out;
    }
    if (!error)
        error = timeline_stms(args, o, share, &perfetto, result);
    perfetto_release(&perfetto);
    return error;
}

static int one_alone(struct export_opened *o, const struct recording_source *source,
                     uint64_t max_bytes, uint64_t track, struct perfetto *out, uint64_t *left_out)
{
    struct timeline_itm itm = {0};
    if (source->config.protocol == STREAM_STM)
        return timeline_stm(o, source, max_bytes, track, out, left_out);
    int error = timeline_itm_alone(&itm, o, source, max_bytes, track, out);
    *left_out += itm.left_out;
    timeline_itm_release(&itm);
    return error;
}

/* What ITMs and STMs tell that stand alone. */
static int timeline_alone(const struct export_args *args, struct export_opened *o, FILE **out,
                          struct timeline_result *result, struct message *why)
{
    struct perfetto perfetto;
    int error = BT_OK;
    if (args->from || args->to) {
        snprintf(why->text, sizeof why->text, "--from and --to need trace of instructions");
        return BT_ERR_INVAL;
    }
    if (!create_timeline(args, out))
        return BT_OK;
    perfetto_init(&perfetto, *out);
    for (size_t i = 0; i < o->source_count && !error; i++) {
        uint64_t left = args->max_bytes > perfetto.bytes ? args->max_bytes - perfetto.bytes : 1;
        error = one_alone(o, &o->sources[i], args->max_bytes ? left / (o->source_count - i) : 0,
                          TRACKS * (i + 1), &perfetto, &result->untold);
    }
    perfetto_release(&perfetto);
    return error;
}

int timeline_write(const struct export_args *args, struct export_opened *o, FILE **out,
                   struct export_loss *loss, struct timeline_result *result, struct message *why)
{
    if (o->alone) {
        memset(result, 0, sizeof *result);
        return timeline_alone(args, o, out, result, why);
    }
    struct timeline_core *cores = calloc(o->source_count, sizeof *cores);
    memset(result, 0, sizeof *result);
    why->text[0] = '\0';
    if (!cores)
        return BT_ERR_NOMEM;
    int error = timeline_cores(cores, args, o, out, loss, result, why);
    for (size_t i = 0; i < o->source_count; i++) {
        free(cores[i].stamps.points);
        free(cores[i].counted.points);
        timeline_itm_release(&cores[i].itm);
        export_tasks_release(&cores[i].tasks);
    }
    free(cores);
    return error;
}
