/* SPDX-License-Identifier: BSD-3-Clause */
/* Running, stopping, stepping back, and how a session begins and ends. */
#include "gdb_internal.h"

void gdb_start_running(struct gdb_session *s, enum gdb_run run)
{
    s->run = run;
    s->task = 0;
    gdb_document_forget(s);
}

/* Of a motion of the host. TARGET_PENDING may come back with the stop reported already, from within
 * the operation. */
static int session_reply_moved(struct gdb_session *s, int outcome, const struct target_stop *stop,
                               const struct target_error *why)
{
    if (outcome == TARGET_PENDING)
        return TARGET_PENDING;
    s->run = GDB_HALTED;
    if (outcome == GDB_PASS_ON)
        return GDB_PASS_ON;
    if (outcome < 0)
        return gdb_reply_result(s, outcome, why->text);
    gdb_reply_stop(s, stop);
    return BT_OK;
}

static int status_answered(struct gdb_session *s, const struct target_answer *a)
{
    if (a->error < 0 || !a->stop)
        return gdb_reply_result(s, a->error < 0 ? a->error : BT_ERR_INVAL, a->why);
    return gdb_reply_halt(s, &(struct target_halt){.stop = a->stop});
}

/* There is nothing to choose from: any process number means the target. */
static bool args_take_process(struct gdb_args *a)
{
    uint64_t process;
    return gdb_args_char(a, ';') && gdb_args_hex(a, &process) && gdb_args_empty(a);
}

static int session_ask_status(struct gdb_session *s)
{
    struct target_request r = gdb_request(s, TARGET_STATUS);
    s->state = GDB_SESSION_OPEN;
    gdb_document_forget(s);
    return gdb_ask(s, &r, status_answered);
}

/* ? and vAttach */
static int answer_status(struct gdb_session *s, struct gdb_args *a)
{
    return gdb_args_name(a) == '?' || args_take_process(a) ? session_ask_status(s) : BT_ERR_INVAL;
}

/* The thread that a resume is about: one that steps, else the general one, else any. */
static void resume_choose_core(const struct gdb_session *s, struct target_resume *r)
{
    int any = -1, steps = -1;
    for (int i = gdb_cores(s) - 1; i >= 0; i--) {
        if (r->action[i] != TARGET_ACTION_NONE)
            any = i;
        if (r->action[i] == TARGET_ACTION_STEP)
            steps = i;
    }
    enum target_action general = r->action[s->general];
    r->step = steps >= 0;
    r->core = r->step ? steps : any;
    if (general == TARGET_ACTION_STEP || (!r->step && general != TARGET_ACTION_NONE))
        r->core = s->general;
}

int gdb_run_cores(struct gdb_session *s, const struct target_request *r)
{
    if (s->role == GDB_OBSERVES)
        return gdb_reply(s, GDB_NO_RUN);
    gdb_start_running(s, GDB_RUNS);
    gdb_report_news(s);
    int error = target_ask(s->target, &s->client, r, NULL, NULL);
    if (error == BT_OK)
        return TARGET_PENDING;
    s->run = GDB_HALTED;
    return error == BT_ERR_NOMEM ? gdb_reply(s, GDB_TOO_MUCH)
           : gdb_gone(s)         ? gdb_reply(s, gdb_gone(s))
                                 : gdb_reply_result(s, error, "");
}

/* A motion of the replay position, if it is one. */
static int session_move(struct gdb_session *s, const struct target_resume *r)
{
    struct target_stop stop = {.core = r->core};
    struct target_error why = {""};
    if (!s->host->resume)
        return GDB_PASS_ON;
    gdb_start_running(s, GDB_MOVES);
    int outcome = s->host->resume(s->host_ctx, r, &stop, &why);
    return session_reply_moved(s, outcome, &stop, &why);
}

static int session_resume(struct gdb_session *s, struct target_resume *r)
{
    resume_choose_core(s, r);
    if (r->core < 0)
        return BT_ERR_INVAL;
    r->threads_listed = s->threads_listed;
    int outcome = session_move(s, r);
    struct target_request run = gdb_request(s, TARGET_RESUME);
    run.resume = r;
    return outcome == GDB_PASS_ON && !s->packets ? gdb_run_cores(s, &run) : outcome;
}

static int session_motion_core(const struct gdb_session *s)
{
    return s->motion >= 0                       ? s->motion
           : s->front_end == GDB_FRONT_END_LLDB ? s->stopped
                                                : s->general;
}

/* LLDB chooses no thread by Hc, and reads the registers of all with Hg: the thread of the last stop
 * moves. */
static int lldb_reply_moved(struct gdb_session *s, int outcome, const struct target_stop *stop,
                            const struct target_error *why)
{
    s->motion = GDB_MOTION_GENERAL;
    if (outcome != GDB_PASS_ON && outcome >= 0)
        return session_reply_moved(s, outcome, stop, why);
    s->run = GDB_HALTED;
    gdb_reply_stuck(s, why->text[0] != '\0' ? why->text
                       : outcome < 0        ? bt_strerror(outcome)
                                            : "the target cannot run backwards");
    return BT_OK;
}

static int pc_written(struct gdb_session *s, const struct target_answer *a)
{
    return a->error < 0 ? gdb_reply_done(s, a) : session_resume(s, &s->asked.resume);
}

/* The cores go on from elsewhere, which is written first. */
static int session_resume_from(struct gdb_session *s, const struct target_resume *r, int core,
                               uint64_t pc)
{
    struct target_request w = gdb_request(s, TARGET_WRITE_REGISTERS);
    struct target_regs regs = {.known = 1u << TARGET_REG_PC};
    regs.value[TARGET_REG_PC] = pc;
    w.core = core;
    w.regs = &regs;
    if (gdb_is_replaying(s, -1) && (s->packets || s->target->ops->writable))
        return gdb_reply_result(s, BT_ERR_UNSUPPORTED, "");
    s->asked.resume = *r;
    return gdb_ask(s, &w, pc_written);
}

/* c, s, C and S: a signal, which cores do not take, and an optional address to go on from. */
static int answer_resume(struct gdb_session *s, struct gdb_args *a)
{
    struct target_resume r = {.core = 0};
    uint64_t signal, pc;
    char name = gdb_args_name(a);
    bool step = name == 's' || name == 'S', signalled = name == 'C' || name == 'S';
    int core = session_motion_core(s);
    if (signalled &&
        (!gdb_args_hex_max(a, 0xff, &signal) || (!gdb_args_empty(a) && !gdb_args_char(a, ';'))))
        return BT_ERR_INVAL;
    bool jump = !gdb_args_empty(a);
    if (jump && (!gdb_args_hex_max(a, UINT32_MAX, &pc) || !gdb_args_empty(a)))
        return BT_ERR_INVAL;
    for (int i = 0; i < gdb_cores(s); i++) {
        if (i == core || (!step && s->motion < 0))
            r.action[i] = step ? TARGET_ACTION_STEP : TARGET_ACTION_CONTINUE;
    }
    return jump ? session_resume_from(s, &r, core, pc) : session_resume(s, &r);
}

static int answer_vcont_query(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return gdb_reply(s, "vCont;c;C;s;S;t");
}

/* One action of a vCont packet without its thread. */
static bool vcont_take_action(struct gdb_args *a, enum target_action *action)
{
    uint64_t signal;
    bool signalled = gdb_args_char(a, 'C');
    if (signalled || gdb_args_char(a, 'c')) {
        *action = TARGET_ACTION_CONTINUE;
    } else if ((signalled = gdb_args_char(a, 'S')) || gdb_args_char(a, 's')) {
        *action = TARGET_ACTION_STEP;
    } else if (gdb_args_char(a, 't')) {
        *action = TARGET_ACTION_NONE;
    } else {
        return false;
    }
    return !signalled || gdb_args_hex_max(a, 0xff, &signal);
}

/* The leftmost action that names a core counts for it. */
static bool vcont_apply_action(struct gdb_session *s, struct gdb_args *word,
                               struct target_resume *r, bool *given)
{
    enum target_action action;
    int thread = GDB_THREAD_ALL;
    int only = -1;
    if (!vcont_take_action(word, &action))
        return false;
    if (gdb_args_char(word, ':') && !gdb_args_thread(word, &thread))
        return false;
    if (!gdb_args_empty(word))
        return false;
    if (thread != GDB_THREAD_ALL && !gdb_core_of_thread(s, thread, &only))
        return false;
    for (int core = 0; core < gdb_cores(s); core++) {
        if ((only >= 0 && core != only) || given[core])
            continue;
        r->action[core] = action;
        given[core] = true;
    }
    return true;
}

static int answer_vcont(struct gdb_session *s, struct gdb_args *a)
{
    struct target_resume r = {.core = 0};
    bool given[TARGET_CORES_MAX] = {false};
    struct gdb_args word;
    if (!gdb_args_char(a, ';'))
        return BT_ERR_INVAL;
    do {
        if (!gdb_args_until(a, ';', &word) || !vcont_apply_action(s, &word, &r, given))
            return BT_ERR_INVAL;
    } while (!gdb_args_empty(a));
    return session_resume(s, &r);
}

/* An empty reply to bs or bc makes GDB wait for ever (found with GDB 13.1): there is always a
 * text. */
static int answer_reverse(struct gdb_session *s, struct gdb_args *a)
{
    struct target_stop stop = {.core = session_motion_core(s)};
    struct target_error why = {""};
    bool step = gdb_args_name(a) == 's';
    if (!s->host->reverse)
        return s->front_end == GDB_FRONT_END_LLDB
                   ? lldb_reply_moved(s, GDB_PASS_ON, &stop, &why)
                   : gdb_reply_error(s, "the target cannot run backwards");
    gdb_start_running(s, GDB_MOVES);
    int outcome = s->host->reverse(s->host_ctx, stop.core, step, &stop, &why);
    return s->front_end == GDB_FRONT_END_LLDB ? lldb_reply_moved(s, outcome, &stop, &why)
                                              : session_reply_moved(s, outcome, &stop, &why);
}

static int answer_extended(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    s->extended = true;
    return gdb_reply(s, "OK");
}

static int restarted(struct gdb_session *s, const struct target_answer *a)
{
    if (a->error == BT_ERR_UNSUPPORTED && a->why[0] == '\0')
        return gdb_reply_error(s, "the target cannot be started again");
    return status_answered(s, a);
}

/* vRun, of which the file name and arguments mean nothing here, and R, which has no reply by
 * definition: GDB asks `?` next. The host first. */
static int answer_restart(struct gdb_session *s, struct gdb_args *a)
{
    struct target_request r = gdb_request(s, TARGET_RESET);
    struct target_error why = {""};
    int error = BT_ERR_UNSUPPORTED;
    bool replies = gdb_args_name(a) != 'R';
    if (replies && !gdb_args_char(a, ';') && !gdb_args_empty(a))
        return BT_ERR_INVAL;
    s->state = GDB_SESSION_OPEN;
    gdb_document_forget(s);
    if (s->host->restart)
        error = s->host->restart(s->host_ctx, &why);
    bool unknown = error == BT_ERR_UNSUPPORTED && (!replies || why.text[0] == '\0');
    if (unknown && s->packets)
        return GDB_PASS_ON;
    if (unknown && replies)
        return gdb_ask(s, &r, restarted);
    if (unknown)
        target_ask(s->target, &s->client, &r, NULL, NULL);
    if (!replies)
        return TARGET_PENDING;
    return error < 0 ? gdb_reply_result(s, error, why.text) : session_ask_status(s);
}

/* The target stays: a GDB that comes later finds the board as it is. */
static void session_end(struct gdb_session *s, enum gdb_session_state state)
{
    s->run = GDB_HALTED;
    s->client.waits = false;
    s->state = state;
    gdb_document_forget(s);
    if (s->host->leave)
        s->host->leave(s->host_ctx);
    if (s->target && s->role != GDB_OBSERVES)
        target_let_go(s->target, state == GDB_SESSION_DETACHED);
}

/* D, k and vKill. k has no reply by definition: GDB would take one for the answer to its next
 * packet. LLDB waits for one, of a process that ended. */
static int answer_end(struct gdb_session *s, struct gdb_args *a)
{
    char name = gdb_args_name(a);
    bool whole = name != 'l' && gdb_args_empty(a);
    if (!whole && !args_take_process(a))
        return BT_ERR_INVAL;
    session_end(s, name == 'D' ? GDB_SESSION_DETACHED : GDB_SESSION_KILLED);
    if (name == 'k' && s->front_end == GDB_FRONT_END_LLDB)
        return gdb_reply(s, "X09");
    return name == 'k' ? TARGET_PENDING : gdb_reply(s, "OK");
}

const struct gdb_command gdb_run_commands[] = {
    {"!", GDB_BARE, true, answer_extended},
    {"?", GDB_BARE, false, answer_status},
    {"vCont?", GDB_EXACT, true, answer_vcont_query},
    {"vCont", GDB_PREFIX, false, answer_vcont},
    {"c", GDB_PREFIX, false, answer_resume},
    {"s", GDB_PREFIX, false, answer_resume},
    {"C", GDB_PREFIX, false, answer_resume},
    {"S", GDB_PREFIX, false, answer_resume},
    {"bs", GDB_BARE, false, answer_reverse},
    {"bc", GDB_BARE, false, answer_reverse},
    {"vAttach", GDB_PREFIX, false, answer_status},
    {"vRun", GDB_PREFIX, false, answer_restart},
    {"vKill", GDB_PREFIX, true, answer_end},
    {"k", GDB_BARE, true, answer_end},
    {"R", GDB_PREFIX, false, answer_restart},
    {"D", GDB_PREFIX, true, answer_end},
    {NULL, GDB_EXACT, false, NULL},
};
