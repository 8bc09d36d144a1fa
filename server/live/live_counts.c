/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_internal.h"

#include "decoder/calls/calls.h"
#include "server/export/coverage.h"
#include "server/export/profile.h"
#include "server/history/history_counts.h"
#include "server/recording/record_place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EDGES_MAX 65536u /* of a core: adding them up stays short */
#define PRINT_MAX 300u

static const char *const kind_names[] = {"coverage", "profile"};

struct counting_core {
    struct live_counting *job;
    unsigned core;                 /* of the board file */
    const struct history *history; /* as it was when it began */
    uint64_t from, to;
    uint64_t window; /* the next one, counted from the begin of the history */
    bool begun;
    struct counts counts;
    struct calls *calls; /* of the profile */
    struct export_tasks tasks;
    bool contexts; /* are the tasks */
    uint64_t task; /* of those, that was told last */
};

struct live_counting {
    struct live *live;
    struct live_client *client; /* NULL: it is gone */
    enum live_counts_kind kind;
    struct console console;
    uv_work_t work;
    FILE *out; /* the file; NULL: text */
    char *text;
    size_t text_size;
    char path[600];
    bool interrupted, working;
    int error;
    struct gap_ledger gaps;
    struct export_loss loss;
    struct counts_table table;
    struct export_names names; /* of the walk: without lines */
    const char *paths[CONFIG_MAX_CORES];
    struct elf_image *elf[CONFIG_MAX_CORES]; /* the live cores' */
    size_t elf_count;
    struct profile profile;
    struct profile_task task_names[LIVE_TASKS_NAMED]; /* of one core: its kernel's */
    struct counting_core cores[CONFIG_MAX_CORES];
    unsigned core_count, at;
};

void live_counts_resumed(struct live *l)
{
    if (!l->pipeline)
        return;
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        const struct history *h = live_history(l, (int)i);
        for (unsigned kind = 0; h && kind < LIVE_COUNTS; kind++)
            if (!l->cores[i].counted[kind].started)
                l->cores[i].counted[kind].from = history_end(h);
    }
    pipeline_unlock(l->pipeline);
}

void live_counts_start(struct live *l, enum live_counts_kind kind, const struct console *c)
{
    if (!l->pipeline) {
        console_print(c, "nothing is traced: 'monitor trace status' says why\n");
        return;
    }
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        const struct history *h = live_history(l, (int)i);
        if (h)
            l->cores[i].counted[kind] =
                (struct live_counts_span){.from = history_end(h), .started = true};
    }
    pipeline_unlock(l->pipeline);
    console_print(c, "%s: what runs from now on counts\n", kind_names[kind]);
}

void live_counts_stop(struct live *l, enum live_counts_kind kind, const struct console *c)
{
    bool stopped = false;
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; l->pipeline && i < l->config->core_count; i++) {
        const struct history *h = live_history(l, (int)i);
        struct live_counts_span *s = &l->cores[i].counted[kind];
        if (!h || !s->started || s->stopped)
            continue;
        s->to = history_end(h);
        s->stopped = stopped = true;
    }
    pipeline_unlock(l->pipeline);
    if (stopped)
        console_print(c, "%s: what runs from now on does not count\n", kind_names[kind]);
    else
        console_print(c, "it was not started: 'monitor %s start'\n", kind_names[kind]);
}

static uint64_t counting_function(void *ctx, uint64_t address)
{
    const struct counting_core *c = ctx;
    return export_function(&c->job->names, address);
}

static void counting_tell(struct counting_core *c, uint64_t number)
{
    uint64_t task = c->contexts ? export_context(&c->counts.key) : 0;
    export_tasks_tell(&c->tasks, c->calls, number);
    if (task != c->task)
        calls_switch(c->calls, c->task = task, number);
}

static void counting_transfer(void *ctx, const struct counts_edge *edge, uint64_t number,
                              uint64_t cycles)
{
    struct counting_core *c = ctx;
    counting_tell(c, number);
    calls_transfer(c->calls, edge, number, cycles);
}

static void counting_event(void *ctx, const struct bt_event *event, uint64_t cycles)
{
    struct counting_core *c = ctx;
    counting_tell(c, event->position);
    calls_event(c->calls, event, cycles);
}

static void counting_free(struct live_counting *j)
{
    for (unsigned i = 0; i < j->core_count; i++) {
        counts_release(&j->cores[i].counts);
        calls_release(j->cores[i].calls);
        export_tasks_release(&j->cores[i].tasks);
    }
    gap_ledger_release(&j->gaps);
    export_names_release(&j->names);
    counts_table_release(&j->table);
    if (j->out)
        fclose(j->out);
    free(j->profile.cores);
    free(j->text);
    free(j);
}

void live_counts_forget(struct live_counting *j)
{
    if (!j)
        return;
    j->client = NULL;
    if (!j->working)
        counting_free(j);
}

void live_counts_interrupt(struct live_counting *j)
{
    j->interrupted = true;
}

static int begin_core(struct counting_core *c, const struct history_window *w)
{
    const struct live_core *core = &c->job->live->cores[c->core];
    bool m_profile = live_is_m_profile(core);
    struct calls_config calls = {.m_profile = m_profile};
    struct counts_config config = {.max_edges = EDGES_MAX,
                                   .m_profile = m_profile,
                                   .function = counting_function,
                                   .function_ctx = c,
                                   .transfer = counting_transfer,
                                   .event = counting_event,
                                   .ctx = c};
    struct code_key key = w->key;
    for (size_t i = 0; i < w->event_count && w->events[i].position < c->from; i++)
        flow_track_key(&key, &w->events[i]);
    int error = calls_init(c->calls, &calls);
    if (!error)
        error = counts_init(&c->counts, &config, &core->image, &key);
    c->begun = true;
    c->contexts = !m_profile && history_traces_context(c->history);
    c->counts.number = c->calls->number = c->from > w->first ? c->from : w->first;
    return error;
}

static void end_core(struct live_counting *j, struct counting_core *c)
{
    j->at++;
    if (!c->begun)
        return;
    export_tasks_tell(&c->tasks, c->calls, c->counts.number);
    calls_finish(c->calls, c->counts.number, c->counts.cycles);
    j->loss.left_out += c->counts.left_out;
    j->loss.taken_back += c->counts.taken_back;
    if (!j->error)
        j->error = counts_table_add(&j->table, &c->counts);
    counts_release(&c->counts);
    memset(&c->counts, 0, sizeof c->counts);
}

/* The oldest part has gone meanwhile, or since it was started. */
static void note_overwritten(struct live_counting *j, struct counting_core *c, uint64_t first)
{
    struct bt_event gap = {
        .position = c->counts.number, .kind = BT_EVENT_GAP, .cause = BT_GAP_OVERWRITTEN};
    const struct flow_out out = {.events = &gap, .event_count = 1};
    j->loss.gaps[BT_GAP_OVERWRITTEN]++;
    if (!c->begun)
        return;
    counts_feed(&c->counts, &out);
    c->counts.number = first;
}

/* One window, with the pipeline locked. True: the core is done. */
static bool count_window(struct live_counting *j, struct counting_core *c, struct history *h)
{
    uint64_t dropped = history_windows_dropped(h);
    struct history_window w;
    if (c->window < dropped) {
        c->window = dropped;
        note_overwritten(j, c, history_first(h));
    }
    if (c->window - dropped >= history_window_count(h))
        return true;
    j->error = history_window_index(h, (size_t)(c->window - dropped), &w);
    if (!j->error && !c->begun)
        j->error = begin_core(c, &w);
    if (j->error)
        return true;
    uint64_t before = c->counts.number;
    history_counts_feed(&c->counts, &w, c->from, c->to, &j->gaps);
    j->loss.instructions += c->counts.number - before;
    c->window++;
    return w.end >= c->to;
}

/* Code of the programs, as their files have it. */
static int image_of_programs(const struct live_counting *j, struct code_image *image)
{
    int error = BT_OK;
    code_image_init(image);
    for (size_t p = 0; p < j->elf_count; p++) {
        for (size_t i = 0; i < j->elf[p]->segment_count && !error; i++) {
            const struct elf_segment *s = &j->elf[p]->segments[i];
            struct code_region region = {.address = s->vaddr,
                                         .size = s->file_size,
                                         .bytes = s->data,
                                         .big_endian = j->elf[p]->code_big_endian};
            error = code_image_add(image, &region);
            error = error == BT_ERR_INVAL ? BT_OK : error;
        }
    }
    return error;
}

static int write_live_coverage(struct live_counting *j, const struct export_names *names, FILE *out)
{
    struct coverage coverage;
    struct code_image image;
    memset(&coverage, 0, sizeof coverage);
    int error = image_of_programs(j, &image);
    if (!error)
        error = coverage_init(&coverage, names, &j->table, &image);
    if (!error && j->out)
        coverage_write_lcov(&coverage, names, &j->loss, out);
    else if (!error)
        coverage_write_text(&coverage, names, &j->loss, out);
    coverage_release(&coverage);
    code_image_release(&image);
    return error;
}

static int write_live_profile(struct live_counting *j, const struct export_names *names, FILE *out)
{
    j->profile.names = names;
    j->profile.loss = &j->loss;
    j->profile.table = &j->table;
    return j->out ? profile_write_callgrind(&j->profile, out)
                  : profile_write_text(&j->profile, out);
}

/* In a worker thread: nothing of the live target but its program files is read. */
static void counting_work(uv_work_t *work)
{
    struct live_counting *j = work->data;
    struct export_names names = {.count = 0};
    struct message why;
    FILE *out = j->out ? j->out : open_memstream(&j->text, &j->text_size);
    counts_table_sort(&j->table);
    if (!j->error)
        j->error = export_names_init(&names, j->paths, j->elf, j->elf_count, true, &why);
    if (!j->error && out)
        j->error = j->kind == LIVE_COVERAGE ? write_live_coverage(j, &names, out)
                                            : write_live_profile(j, &names, out);
    export_names_release(&names);
    if (!out || ferror(out) || fclose(out) != 0)
        j->error = j->error ? j->error : BT_ERR_IO;
}

static void print_text(const struct live_counting *j)
{
    char line[PRINT_MAX + 1];
    for (const char *p = j->text ? j->text : ""; *p; p += strlen(line)) {
        size_t n = strcspn(p, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(p[n] ? n + 1 : n), p);
        j->console.print(j->console.to, line);
    }
}

static void tell_end(struct live_counting *j)
{
    char text[1024];
    if (j->interrupted) {
        console_print(&j->console, "interrupted: nothing is written\n");
    } else if (j->error) {
        console_print(&j->console, "%s: %s\n", kind_names[j->kind], bt_strerror(j->error));
    } else if (j->path[0]) {
        export_loss_text(&j->loss, text, sizeof text);
        console_print(&j->console, "%s: %s\n", kind_names[j->kind], text);
        console_print(&j->console, "written to %s\n", j->path);
    } else {
        print_text(j);
    }
}

static void counting_done(struct live_counting *j)
{
    struct live_client *k = j->client;
    if (k) {
        tell_end(j);
        k->counting = NULL;
        gdb_session_command_done(k->session);
    }
    counting_free(j);
}

static void after_counting(uv_work_t *work, int status)
{
    struct live_counting *j = work->data;
    (void)status;
    j->working = false;
    j->out = NULL;
    counting_done(j);
}

bool live_counts_work(struct live_counting *j)
{
    struct live *l = j->live;
    if (j->working)
        return true;
    if (j->at < j->core_count && !j->interrupted && !j->error) {
        struct counting_core *c = &j->cores[j->at];
        pipeline_lock(l->pipeline);
        struct history *h = live_history(l, (int)c->core);
        if (h != c->history || count_window(j, c, h))
            end_core(j, c);
        pipeline_unlock(l->pipeline);
        return false;
    }
    for (unsigned cause = 0; cause < BT_GAP_CAUSES; cause++)
        j->loss.gaps[cause] += j->gaps.totals[cause];
    j->work.data = j;
    j->working = !j->interrupted && !j->error &&
                 uv_queue_work(l->loop, &j->work, counting_work, after_counting) == 0;
    if (!j->working)
        counting_done(j);
    return true;
}

/* Where the walk begins. */
static void counting_place(struct live_counting *j, struct counting_core *c, struct history *h)
{
    uint64_t first = history_first(h);
    c->window = UINT64_MAX; /* it has not run */
    if (c->from >= c->to)
        return;
    c->window =
        history_windows_dropped(h) + history_window_find(h, c->from > first ? c->from : first);
    if (c->from < first)
        note_overwritten(j, c, first);
}

/* All traced cores, and their programs. */
static void counting_choose(struct live_counting *j)
{
    struct live *l = j->live;
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct history *h = live_history(l, (int)i);
        const struct live_counts_span *s = &l->cores[i].counted[j->kind];
        size_t k = 0;
        if (!h)
            continue;
        struct counting_core *c = &j->cores[j->core_count];
        struct profile_core *p = &j->profile.cores[j->core_count++];
        *c = (struct counting_core){.job = j,
                                    .core = i,
                                    .history = h,
                                    .from = s->from,
                                    .to = s->stopped ? s->to : history_end(h),
                                    .calls = &p->calls};
        *p = (struct profile_core){.name = l->cores[i].config->name,
                                   .m_profile = live_is_m_profile(&l->cores[i])};
        counting_place(j, c, h);
        while (k < j->elf_count && strcmp(j->paths[k], l->cores[i].config->program) != 0)
            k++;
        if (l->cores[i].elf && k == j->elf_count) {
            j->paths[k] = l->cores[i].config->program;
            j->elf[j->elf_count++] = l->cores[i].elf;
        }
    }
    pipeline_unlock(l->pipeline);
    j->profile.core_count = j->core_count;
}

/* BT_OK, or it is said why not. */
static int counting_open(struct live_counting *j, const char *name)
{
    struct message why = {.text = ""};
    int error = BT_OK;
    counting_choose(j);
    if (!j->elf_count)
        error = message_fail(&why, BT_ERR_INVAL, "the board file names no program");
    else if (*name)
        error = record_file(j->live->config, name, j->path, sizeof j->path, &j->out, &why);
    if (!error)
        error = export_names_init(&j->names, j->paths, j->elf, j->elf_count, false, &why);
    if (error)
        console_print(&j->console, "%s: %s\n", kind_names[j->kind], why.text);
    return error;
}

int live_counts_ask(struct live_client *k, enum live_counts_kind kind, const char *name,
                    const struct console *c)
{
    struct live *l = k->live;
    if (!l->pipeline) {
        console_print(c, "nothing is traced: 'monitor trace status' says why\n");
        return BT_OK;
    }
    struct live_counting *j = calloc(1, sizeof *j);
    if (!j)
        return BT_ERR_NOMEM;
    j->live = l;
    j->client = k;
    j->kind = kind;
    j->console = *c;
    counts_table_init(&j->table);
    gap_ledger_init(&j->gaps, 0);
    j->profile.cores = calloc(l->config->core_count, sizeof *j->profile.cores);
    if (!j->profile.cores || counting_open(j, name)) {
        counting_free(j);
        return BT_OK;
    }
    for (unsigned i = 0; i < j->core_count && kind == LIVE_PROFILE; i++)
        j->profile.task_count += live_tasks_switches(l, j->cores[i].core, j->cores[i].from,
                                                     &j->cores[i].tasks, j->task_names);
    j->profile.tasks = j->task_names;
    k->counting = j;
    return TARGET_PENDING;
}
