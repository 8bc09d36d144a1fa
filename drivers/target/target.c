/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all kinds of target have in common: whose turn it is, what an answer changes, who hears of a
 * halt, and what is late. One request at a time goes to the kind, its answer comes back.
 */
#include "target_question.h"

#include "decoder/base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKS_MAX        4096 /* questions of the owner that wait */
#define BREAKPOINTS_MAX 1024
#define DEADLINE_MS     3000

/* IDLE to ACTIVE while requests are started; ACTIVE to AGAIN when there may be more from within. */
enum target_pump {
    TARGET_PUMP_IDLE,
    TARGET_PUMP_ACTIVE,
    TARGET_PUMP_AGAIN,
};

static void target_pump_questions(struct target *t);

/* Questions. */

static bool target_runs(const struct target *t)
{
    return t->run == TARGET_RUNNING || t->run == TARGET_HALTING;
}

/* Those of one client, or of all but the client in control. */
static struct target_question **question_find(struct target *t, const struct target_client *of)
{
    struct target_question **at = &t->of_clients;
    while (*at && (of ? (*at)->client != of : (*at)->client == t->control))
        at = &(*at)->next;
    return at;
}

static void target_fail_all(struct target_question **queue, int error, const char *why)
{
    while (*queue)
        target_question_fail(target_question_take(queue), error, why);
}

/* Clients. Whoever is told may leave, but nobody else does from within. */

static void target_tell_stop(struct target *t, const struct target_halt *halt)
{
    enum target_run run = t->run;
    for (struct target_client *c = t->clients, *next; c && t->run == run; c = next) {
        bool waits = c->waits;
        next = c->next;
        c->waits = false;
        if (waits)
            c->ops->stopped(c->ctx, halt);
    }
}

static void target_tell_go_on(struct target *t)
{
    for (struct target_client *c = t->clients, *next; c; c = next) {
        next = c->next;
        c->ops->go_on(c->ctx);
    }
}

static void client_forget_questions(struct target *t, struct target_client *c)
{
    struct target_question **at;
    while (*(at = question_find(t, c)))
        free(target_question_take(at));
    if (t->under_way && t->under_way->client == c) {
        t->under_way->client = NULL;
        t->under_way->done = NULL;
        t->under_way->abandoned = true;
    }
}

static void target_remove_orphans(struct target *t);

static void client_lose_control(struct target *t, struct target_client *c)
{
    client_forget_questions(t, c);
    t->control = NULL;
    if (t->serves_client && t->ops->client_gone)
        t->ops->client_gone(t);
    t->serves_client = false;
    t->orphaned = t->orphaned || t->breakpoint_count > 0;
    target_remove_orphans(t);
}

static void client_unlink(struct target *t, struct target_client *c)
{
    struct target_client **at = &t->clients;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->linked = false;
    c->waits = false;
    if (t->control == c)
        client_lose_control(t, c);
    else
        client_forget_questions(t, c);
}

void target_remove_client(struct target *t, struct target_client *c)
{
    if (!c->linked)
        return;
    client_unlink(t, c);
    target_pump_questions(t);
}

static void client_drop(struct target *t, struct target_client *c)
{
    client_unlink(t, c);
    c->ops->dropped(c->ctx);
}

void target_add_client(struct target *t, struct target_client *c, bool control)
{
    if (control && t->control && t->control != c)
        client_drop(t, t->control);
    if (!control && t->control == c)
        client_lose_control(t, c);
    if (!c->linked) {
        c->linked = true;
        c->next = t->clients;
        t->clients = c;
    }
    if (control)
        t->control = c;
    target_pump_questions(t);
}

/* Breakpoints. */

static size_t breakpoint_index(const struct target *t, const struct target_breakpoint *bp)
{
    size_t i = 0;
    while (i < t->breakpoint_count && !target_same_breakpoint(&t->breakpoints[i], bp))
        i++;
    return i;
}

/* Room for one more, before it is inserted. */
static int breakpoint_reserve(struct target *t)
{
    bool room = t->breakpoint_count < BREAKPOINTS_MAX &&
                array_room(&t->breakpoints, t->breakpoint_count, &t->breakpoint_capacity,
                           sizeof *t->breakpoints);
    return room ? BT_OK : BT_ERR_NOMEM;
}

static void breakpoint_note(struct target *t, const struct target_breakpoint *bp, bool inserted)
{
    size_t i = breakpoint_index(t, bp);
    bool known = i < t->breakpoint_count;
    if (inserted && !known && t->breakpoint_count < t->breakpoint_capacity)
        t->breakpoints[t->breakpoint_count++] = *bp;
    else if (!inserted && known)
        t->breakpoints[i] = t->breakpoints[--t->breakpoint_count];
}

size_t target_breakpoints(const struct target *t, const struct target_breakpoint **out)
{
    *out = t->breakpoints;
    return t->breakpoint_count;
}

/* Whatever the answer is, nothing better can be done. */
static void target_remove_orphans(struct target *t)
{
    if (!t->orphaned || target_runs(t))
        return;
    t->orphaned = false;
    while (t->breakpoint_count > 0) {
        struct target_request r = {.kind = TARGET_REMOVE,
                                   .breakpoint = t->breakpoints[--t->breakpoint_count]};
        struct target_question *q = target_question_new(&r);
        if (!q)
            return;
        q->since_ms = t->now_ms;
        target_question_add(&t->asks, q);
    }
}

/* Halts. */

void target_note_stop(struct target *t, const struct target_halt *halt)
{
    size_t length = halt->packet_length;
    t->stop = *halt->stop;
    t->stopped_core = t->stop.core >= 0 && t->stop.core < target_cores(t) ? t->stop.core : 0;
    snprintf(t->stop_text, sizeof t->stop_text, "%s", halt->text ? halt->text : "");
    free(t->stop_packet);
    /* Without memory, the stop is told without its packet. */
    t->stop_packet = halt->packet ? malloc(length + 1) : NULL;
    t->stop_packet_length = t->stop_packet ? length : 0;
    if (t->stop_packet) {
        memcpy(t->stop_packet, halt->packet, length);
        t->stop_packet[length] = '\0';
    }
}

static void target_forget_regs(struct target *t)
{
    for (size_t i = 0; i < TARGET_CORES_MAX; i++) {
        free(t->last_regs[i]);
        t->last_regs[i] = NULL;
    }
}

static void target_interrupt_now(struct target *t)
{
    if (t->run == TARGET_RUNNING)
        t->due_ms = t->now_ms + t->deadline_ms;
    t->run = TARGET_HALTING;
    t->ops->interrupt(t);
}

void target_interrupt(struct target *t)
{
    if (target_runs(t))
        target_interrupt_now(t);
    else if (t->run != TARGET_HELD && target_is_running(t))
        t->interrupt_wanted = true;
}

void target_stopped(struct target *t, const struct target_halt *halt)
{
    if (!target_runs(t))
        return;
    target_note_stop(t, halt);
    t->run = TARGET_HELD;
    t->due_ms = 0;
    t->serves_client = false;
    target_forget_regs(t);
    free(t->resumed);
    t->resumed = NULL;
    target_remove_orphans(t);
    t->events->stopped(t->ctx);
    target_pump_questions(t);
}

void target_release_stop(struct target *t)
{
    if (t->run != TARGET_HELD)
        return;
    t->run = TARGET_HALTED;
    target_tell_stop(t, &(struct target_halt){.stop = &t->stop,
                                              .text = t->stop_text,
                                              .packet = t->stop_packet,
                                              .packet_length = t->stop_packet_length});
    target_pump_questions(t);
}

void target_hold_clients(struct target *t, bool hold)
{
    bool done = t->holds_clients && !hold;
    t->holds_clients = hold;
    if (!done)
        return;
    target_tell_go_on(t);
    target_pump_questions(t);
}

void target_outdate(struct target *t)
{
    t->epoch++;
}

/* What an answer has changed. */

static void question_note_breakpoint(struct target *t, const struct target_question *q)
{
    bool inserted = q->request.kind == TARGET_INSERT;
    breakpoint_note(t, &q->request.breakpoint, inserted);
    if (!inserted)
        return;
    t->orphaned = t->orphaned || (q->abandoned && !q->client);
    target_remove_orphans(t);
}

static void target_note_regs(struct target *t, int core, const struct target_regs *regs)
{
    struct target_regs **last = &t->last_regs[core];
    if (!*last)
        *last = malloc(sizeof **last);
    if (*last)
        **last = *regs;
}

/* Those that are written, by bits; 0: not told. */
static uint64_t question_written(struct target *t, const struct target_request *r)
{
    const struct target_register *list;
    if (r->regs || !r->packet || !r->length)
        return r->regs ? r->regs->known : 0;
    unsigned count = t->ops->registers(t, r->core, &list);
    for (unsigned i = 0; i < count; i++)
        if (list[i].number == r->address && target_register_reg(&list[i]) >= 0)
            return UINT64_C(1) << target_register_reg(&list[i]);
    return 0;
}

/* Changes that the owner has made itself are no news. */
static void question_report_change(struct target *t, const struct target_request *r)
{
    bool unknown = r->kind == TARGET_COMMAND && t->ops->packets && !r->only_shows;
    if (r->kind == TARGET_WRITE_MEMORY && r->length > 0)
        t->events->changed(t->ctx, TARGET_CHANGE_MEMORY, r->address, r->length);
    else if (r->kind == TARGET_FLASH_WRITE && t->events->programmed)
        t->events->programmed(t->ctx, r->address, r->bytes, r->length);
    else if (r->kind == TARGET_WRITE_REGISTERS)
        t->events->changed(t->ctx, TARGET_CHANGE_REGISTERS, (uint64_t)r->core,
                           question_written(t, r));
    else if (r->kind == TARGET_RESET || unknown)
        t->events->changed(t->ctx, TARGET_CHANGE_RESET, 0, 0);
}

static void question_apply(struct target *t, const struct target_question *q,
                           const struct target_answer *a)
{
    const struct target_request *r = &q->request;
    if (a->error != BT_OK)
        return;
    if (a->stop)
        target_note_stop(t, &(struct target_halt){a->stop, "",
                                                  t->ops->packets ? (const char *)a->bytes : NULL,
                                                  a->length});
    if (!q->from_client)
        return;
    if (a->regs && r->kind == TARGET_READ_REGISTERS && r->set == TARGET_REGISTERS_ALL)
        target_note_regs(t, r->core, a->regs);
    if (r->kind == TARGET_INSERT || r->kind == TARGET_REMOVE)
        question_note_breakpoint(t, q);
    question_report_change(t, r);
}

void target_answered(struct target *t, const struct target_answer *answer)
{
    struct target_question *q = t->under_way;
    struct target_answer a = *answer;
    if (!q)
        return;
    if (!a.why)
        a.why = "";
    question_apply(t, q, &a);
    /* Its client may have gone, or the target, from within. */
    if (t->under_way == q) {
        t->under_way = NULL;
        target_question_finish(q, &a);
    }
    target_pump_questions(t);
}

void target_changed(struct target *t, enum target_change change)
{
    t->events->changed(t->ctx, change, 0, 0);
}

void target_output(struct target *t, const char *text, size_t length)
{
    const struct target_question *q = t->under_way;
    struct target_client *c = t->control && t->control->waits ? t->control : NULL;
    if (q)
        c = q->request.takes_time && q->request.kind != TARGET_PACKET ? q->client : NULL;
    if (c)
        c->ops->output(c->ctx, text, length);
}

/* Whose turn it is. */

bool target_is_running(const struct target *t)
{
    return t->run != TARGET_HALTED || t->resume_wanted || (t->control && t->control->waits);
}

bool target_will_run(const struct target *t)
{
    return t->resume_wanted || t->run == TARGET_RESUMING || t->run == TARGET_RUNNING;
}

bool target_steps(const struct target *t)
{
    return t->resumed && t->resumed->request.resume && t->resumed->request.resume->step;
}

bool target_is_idle(const struct target *t)
{
    bool moves = t->run == TARGET_RESUMING || t->run == TARGET_HALTING || t->run == TARGET_HELD ||
                 t->resume_wanted || t->holds_clients;
    return !t->under_way && !t->asks && !t->background && !moves;
}

/* `q` NULL: the owner's. */
static void target_start_resume(struct target *t, struct target_question *q)
{
    static const struct target_request all = {.kind = TARGET_RESUME};
    const struct target_request *r = q ? &q->request : &all;
    t->run = TARGET_RESUMING;
    t->resume_wanted = false;
    free(t->resumed); /* a client that is served while cores run may resume them again */
    t->resumed = q;
    if (r->regs)
        t->events->changed(t->ctx, TARGET_CHANGE_REGISTERS, 0, 0);
    t->events->resumed(t->ctx);
    t->epoch++;
    target_fail_all(&t->background, BT_ERR_INVAL, "the target runs");
    for (struct target_question **at; *(at = question_find(t, NULL));)
        target_question_fail(target_question_take(at), BT_ERR_INVAL, "the target runs");
    if (t->run != TARGET_RESUMING)
        return; /* lost meanwhile */
    t->run = TARGET_RUNNING;
    t->ops->start(t, r);
    if (t->interrupt_wanted && t->run == TARGET_RUNNING)
        target_interrupt_now(t);
    t->interrupt_wanted = false;
}

static struct target_question *target_next_of_clients(struct target *t)
{
    bool serves = t->serves_client && t->control;
    if (t->run == TARGET_HALTED && !t->holds_clients)
        return target_question_take(&t->of_clients);
    return serves ? target_question_take(question_find(t, t->control)) : NULL;
}

/* The next question that may be asked now, taken out of its queue; NULL when there is none. */
static struct target_question *target_next_question(struct target *t)
{
    struct target_question *q = NULL;
    bool halted = t->run == TARGET_HALTED || t->run == TARGET_HELD;
    if (halted)
        q = target_question_take(&t->asks);
    if (!q)
        q = target_next_of_clients(t);
    if (!q && halted)
        q = target_question_take(&t->background);
    return q;
}

/* A client that is new while cores run: GDB cannot do anything before they are halted. */
static void target_halt_for_client(struct target *t)
{
    bool asks = t->control && *question_find(t, t->control);
    if (asks && t->run == TARGET_RUNNING && !t->serves_client)
        target_interrupt_now(t);
}

/* True when there may be more to start. */
static bool target_pump_one(struct target *t)
{
    if (t->phase != TARGET_READY || t->under_way)
        return false;
    bool resume = t->resume_wanted && t->run == TARGET_HALTED && !t->asks && !t->holds_clients;
    struct target_question *q = resume ? NULL : target_next_question(t);
    if (resume || (q && q->request.kind == TARGET_RESUME)) {
        target_start_resume(t, q);
        return true;
    }
    if (!q) {
        target_halt_for_client(t);
        return false;
    }
    q->since_ms = t->now_ms;
    t->under_way = q;
    t->ops->start(t, &q->request);
    return false;
}

static void target_pump_questions(struct target *t)
{
    if (t->pump != TARGET_PUMP_IDLE) {
        t->pump = TARGET_PUMP_AGAIN;
        return;
    }
    bool more;
    do {
        t->pump = TARGET_PUMP_ACTIVE;
        more = target_pump_one(t);
    } while (more || t->pump == TARGET_PUMP_AGAIN);
    t->pump = TARGET_PUMP_IDLE;
}

/* Asking. */

static int owner_may_ask(const struct target *t)
{
    size_t count = 0;
    if (t->phase != TARGET_READY)
        return BT_ERR_IO;
    /* Whatever the client waits for. */
    bool halted = t->holds_clients && (t->run == TARGET_HALTED || t->run == TARGET_RESUMING);
    if (t->run != TARGET_HELD && !halted && target_is_running(t))
        return BT_ERR_INVAL;
    for (const struct target_question *q = t->asks; q; q = q->next)
        count++;
    return count < ASKS_MAX ? BT_OK : BT_ERR_NOMEM;
}

static int client_may_ask(struct target *t, const struct target_client *c,
                          const struct target_request *r)
{
    if (!c->linked || t->phase == TARGET_DOWN || (t->phase != TARGET_READY && c != t->control))
        return BT_ERR_IO;
    return r->kind == TARGET_INSERT ? breakpoint_reserve(t) : BT_OK;
}

static bool request_is_good(const struct target *t, const struct target_client *c,
                            const struct target_request *r)
{
    bool memory = r->kind == TARGET_READ_MEMORY || r->kind == TARGET_WRITE_MEMORY;
    if (r->core < 0 || r->core >= target_cores(t))
        return false;
    if (!c && r->kind == TARGET_RESUME)
        return false;
    if (r->packet)
        return t->ops->packets;
    if (memory && (r->length == 0 || r->length > TARGET_ACCESS_MAX))
        return false;
    if (memory && r->device && (r->address % 4 != 0 || r->length % 4 != 0))
        return false;
    return r->kind != TARGET_PACKET;
}

static bool kind_takes_time(enum target_request_kind kind)
{
    return kind == TARGET_FLASH_ERASE || kind == TARGET_FLASH_WRITE || kind == TARGET_FLASH_DONE ||
           kind == TARGET_RESET || kind == TARGET_COMMAND;
}

int target_ask(struct target *t, struct target_client *client, const struct target_request *request,
               target_done_fn done, void *ctx)
{
    int error = client ? client_may_ask(t, client, request) : owner_may_ask(t);
    if (error == BT_OK && !request_is_good(t, client, request))
        error = BT_ERR_INVAL;
    struct target_question *q = error == BT_OK ? target_question_new(request) : NULL;
    if (!q)
        return error < 0 ? error : BT_ERR_NOMEM;
    q->done = request->kind == TARGET_RESUME ? NULL : done;
    q->request.takes_time = request->takes_time || kind_takes_time(request->kind);
    q->ctx = ctx;
    q->client = client;
    q->from_client = client != NULL;
    q->since_ms = t->now_ms;
    if (request->kind == TARGET_RESUME)
        client->waits = true;
    if (client)
        target_question_add(&t->of_clients, q);
    else
        target_question_add(request->background ? &t->background : &t->asks, q);
    target_pump_questions(t);
    return BT_OK;
}

int target_resume(struct target *t)
{
    if (t->phase != TARGET_READY)
        return BT_ERR_IO;
    if (target_is_running(t))
        return BT_ERR_INVAL;
    t->resume_wanted = true;
    target_pump_questions(t);
    return BT_OK;
}

void target_let_go(struct target *t, bool run)
{
    bool planted = t->breakpoint_count > 0;
    /* A resume that was not started, too. */
    if (t->control) {
        client_forget_questions(t, t->control);
        t->control->waits = false;
    }
    if (t->phase != TARGET_READY)
        return;
    t->orphaned = true;
    target_remove_orphans(t);
    t->resume_wanted = run && (!target_runs(t) || planted);
    if (target_runs(t) && (planted || !run))
        target_interrupt_now(t);
    target_pump_questions(t);
}

/* What is late. */

static bool question_is_late(const struct target *t, const struct target_question *q)
{
    return t->deadline_ms > 0 && t->now_ms - q->since_ms >= t->deadline_ms;
}

static bool target_owes_late(const struct target *t)
{
    const struct target_question *q = t->under_way;
    return q && !q->request.takes_time && question_is_late(t, q);
}

static bool target_fail_late(struct target *t, struct target_question **queue, const char *why)
{
    bool late = false;
    for (struct target_question **at = queue; *at;) {
        if (!question_is_late(t, *at)) {
            at = &(*at)->next;
            continue;
        }
        late = true;
        target_question_fail(target_question_take(at), BT_ERR_IO, why);
        at = queue; /* which may be another one now */
    }
    return late;
}

static bool target_abandon_late(struct target *t, const char *why)
{
    struct target_question *q = t->under_way;
    if (!target_owes_late(t) || q->abandoned)
        return false;
    target_done_fn done = q->done;
    q->abandoned = true;
    q->done = NULL;
    if (done)
        done(q->ctx, &(struct target_answer){.error = BT_ERR_IO, .why = why});
    return true;
}

static bool target_misses_halt(const struct target *t)
{
    return t->run == TARGET_HALTING && t->deadline_ms > 0 && t->now_ms >= t->due_ms;
}

/* Only those who wait are told: nothing is known of the cores but that they do not answer. */
void target_halt_failed(struct target *t, const char *text)
{
    struct target_stop stop = {.kind = TARGET_HALT_FAILED, .core = t->stopped_core};
    if (t->run != TARGET_HALTING)
        return;
    t->run = TARGET_RUNNING;
    target_tell_stop(t, &(struct target_halt){.stop = &stop, .text = text});
}

static bool target_give_up_halt(struct target *t)
{
    char text[80];
    if (!target_misses_halt(t))
        return false;
    snprintf(text, sizeof text, "the target was asked to halt and has not within %u ms",
             t->deadline_ms);
    target_halt_failed(t, text);
    return true;
}

bool target_tick(struct target *t, uint64_t now_ms)
{
    char why[80];
    t->now_ms = now_ms;
    /* What waits for anything else is not late by that. */
    bool blocked = target_misses_halt(t) || target_owes_late(t);
    bool late = false;
    snprintf(why, sizeof why, "the target has not answered for %u ms", t->deadline_ms);
    if (blocked) {
        late = target_abandon_late(t, why);
        late = target_fail_late(t, &t->asks, why) || late;
        late = target_fail_late(t, &t->of_clients, why) || late;
        late = target_fail_late(t, &t->background, why) || late;
        late = target_give_up_halt(t) || late;
    }
    target_pump_questions(t);
    return late;
}

/* Beginning and end. */

static void target_forget_state(struct target *t)
{
    t->phase = TARGET_DOWN;
    t->run = TARGET_HALTED;
    t->resume_wanted = false;
    t->interrupt_wanted = false;
    t->holds_clients = false;
    t->serves_client = false;
    t->orphaned = false;
    t->owed_since_ms = 0;
    t->due_ms = 0;
    t->epoch++;
    free(t->breakpoints);
    t->breakpoints = NULL;
    t->breakpoint_count = 0;
    t->breakpoint_capacity = 0;
    target_forget_regs(t);
}

/* Everything that waits is told that no answer will come. */
static void target_answer_all(struct target *t)
{
    static const char why[] = "the connection to the target is lost";
    bool held = t->holds_clients;
    struct target_question *under_way = t->under_way;
    t->under_way = NULL;
    free(t->resumed);
    t->resumed = NULL;
    target_forget_state(t);
    if (under_way)
        target_question_fail(under_way, BT_ERR_IO, why);
    target_fail_all(&t->asks, BT_ERR_IO, why);
    target_fail_all(&t->of_clients, BT_ERR_IO, why);
    target_fail_all(&t->background, BT_ERR_IO, why);
    target_tell_stop(t, NULL);
    if (held)
        target_tell_go_on(t);
}

void target_lost(struct target *t, int error)
{
    enum target_phase phase = t->phase;
    if (phase == TARGET_DOWN)
        return;
    target_answer_all(t);
    if (phase == TARGET_OPENING)
        t->events->ready(t->ctx, error);
    else
        t->events->lost(t->ctx);
}

void target_opening(struct target *t)
{
    target_lost(t, BT_ERR_IO);
    t->phase = TARGET_OPENING;
    t->stopped_core = 0; /* it may have fewer cores than before */
}

void target_opened(struct target *t, enum target_run run)
{
    t->phase = TARGET_READY;
    t->run = run;
    t->events->ready(t->ctx, BT_OK);
    target_pump_questions(t);
}

void target_init(struct target *t, const struct target_ops *ops, const struct target_events *events,
                 void *ctx)
{
    *t = (struct target){.ops = ops,
                         .events = events,
                         .ctx = ctx,
                         .core_count = 1,
                         .epoch = 1,
                         .deadline_ms = DEADLINE_MS};
}

void target_release(struct target *t)
{
    while (t->clients)
        client_drop(t, t->clients);
    target_answer_all(t);
    free(t->stop_packet);
    t->stop_packet = NULL;
}
