/* SPDX-License-Identifier: BSD-3-Clause */
/* Running, stopping, stepping back, and how a session begins and ends. */
#include "gdb_internal.h"

static int session_reply_resumed(struct gdb_session *s, int outcome, const struct target_stop *stop,
                                 const struct target_error *why)
{
    if (outcome == TARGET_PENDING)
        return TARGET_PENDING;
    s->running = false;
    if (outcome < 0)
        return gdb_reply_result(s, outcome, why);
    gdb_reply_stop(s, stop);
    return BT_OK;
}

/* TARGET_PENDING may come back with the stop reported already, from within the operation. */
static void session_start_running(struct gdb_session *s)
{
    s->running = true;
    gdb_document_forget(s);
}

static int session_ask_halt_reason(struct gdb_session *s)
{
    struct target_stop stop = {.core = s->stopped};
    struct target_error why = {""};
    s->state = GDB_SESSION_OPEN;
    session_start_running(s);
    int outcome = s->target->halt_reason(s->target_ctx, &stop);
    return session_reply_resumed(s, outcome, &stop, &why);
}

static int answer_halt_reason(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return session_ask_halt_reason(s);
}

/* The thread that a resume is about: one that steps, else the general one, else any. */
static void resume_choose_core(const struct gdb_session *s, struct target_resume *r)
{
    int any = -1;
    for (int i = s->core_count - 1; i >= 0; i--) {
        if (r->action[i] != TARGET_ACTION_NONE)
            any = i;
    }
    r->core = r->action[s->general] != TARGET_ACTION_NONE ? s->general : any;
    r->step = false;
    for (int i = s->core_count - 1; i >= 0; i--) {
        if (r->action[i] == TARGET_ACTION_STEP) {
            r->step = true;
            r->core = i;
        }
    }
    if (r->action[s->general] == TARGET_ACTION_STEP)
        r->core = s->general;
}

static int session_resume(struct gdb_session *s, struct target_resume *r)
{
    struct target_stop stop = {.core = s->general};
    struct target_error why = {""};
    resume_choose_core(s, r);
    if (r->core < 0)
        return BT_ERR_INVAL;
    if (!s->target->resume)
        return gdb_reply_result(s, BT_ERR_UNSUPPORTED,
                                &(struct target_error){"the target cannot run"});
    r->threads_listed = s->threads_listed;
    stop.core = r->core;
    session_start_running(s);
    int outcome = s->target->resume(s->target_ctx, r, &stop, &why);
    if (outcome == GDB_PASS_ON) {
        s->running = false;
        return outcome;
    }
    return session_reply_resumed(s, outcome, &stop, &why);
}

static int session_motion_core(const struct gdb_session *s)
{
    return s->motion >= 0 ? s->motion : s->general;
}

static int session_set_pc(struct gdb_session *s, int core, uint64_t pc, struct target_error *why)
{
    if (!s->target->write_reg)
        return BT_ERR_UNSUPPORTED;
    return s->target->write_reg(s->target_ctx, core, TARGET_REG_PC, (uint32_t)pc, why);
}

/* What remains of c, s, C and S after the signal: an optional address to go on from. */
static int session_resume_plain(struct gdb_session *s, struct gdb_args *a,
                                enum target_action action)
{
    struct target_resume r = {.core = 0};
    struct target_error why = {""};
    uint64_t pc;
    int core = session_motion_core(s);
    bool jump = !gdb_args_empty(a);
    if (jump && (!gdb_args_hex_max(a, UINT32_MAX, &pc) || !gdb_args_empty(a)))
        return BT_ERR_INVAL;
    for (int i = 0; i < s->core_count; i++) {
        if (i == core || (action == TARGET_ACTION_CONTINUE && s->motion < 0))
            r.action[i] = action;
    }
    int error = jump ? session_set_pc(s, core, pc, &why) : BT_OK;
    return error < 0 ? gdb_reply_result(s, error, &why) : session_resume(s, &r);
}

static int answer_continue(struct gdb_session *s, struct gdb_args *a)
{
    return session_resume_plain(s, a, TARGET_ACTION_CONTINUE);
}

static int answer_step(struct gdb_session *s, struct gdb_args *a)
{
    return session_resume_plain(s, a, TARGET_ACTION_STEP);
}

/* "05" or "05;address". Cores take no signals: the number is checked and dropped. */
static bool args_take_signal(struct gdb_args *a)
{
    uint64_t signal;
    return gdb_args_hex_max(a, 0xff, &signal) && (gdb_args_empty(a) || gdb_args_char(a, ';'));
}

static int answer_continue_signal(struct gdb_session *s, struct gdb_args *a)
{
    return args_take_signal(a) ? answer_continue(s, a) : BT_ERR_INVAL;
}

static int answer_step_signal(struct gdb_session *s, struct gdb_args *a)
{
    return args_take_signal(a) ? answer_step(s, a) : BT_ERR_INVAL;
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
static void vcont_give_action(struct target_resume *r, bool *given, int core,
                              enum target_action action)
{
    if (!given[core])
        r->action[core] = action;
    given[core] = true;
}

static bool vcont_apply_action(struct gdb_session *s, struct gdb_args *word,
                               struct target_resume *r, bool *given)
{
    enum target_action action;
    int thread = GDB_THREAD_ALL;
    int core;
    if (!vcont_take_action(word, &action))
        return false;
    if (gdb_args_char(word, ':') && !gdb_args_thread(word, &thread))
        return false;
    if (!gdb_args_empty(word))
        return false;
    if (thread != GDB_THREAD_ALL) {
        if (!gdb_core_of_thread(s, thread, &core))
            return false;
        vcont_give_action(r, given, core, action);
        return true;
    }
    for (core = 0; core < s->core_count; core++)
        vcont_give_action(r, given, core, action);
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
static int session_reverse(struct gdb_session *s, bool step)
{
    struct target_stop stop = {.core = session_motion_core(s)};
    struct target_error why = {""};
    if (!s->target->reverse)
        return gdb_reply_result(s, BT_ERR_UNSUPPORTED,
                                &(struct target_error){"the target cannot run backwards"});
    session_start_running(s);
    int outcome = s->target->reverse(s->target_ctx, session_motion_core(s), step, &stop, &why);
    return session_reply_resumed(s, outcome, &stop, &why);
}

static int answer_reverse_step(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return session_reverse(s, true);
}

static int answer_reverse_continue(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return session_reverse(s, false);
}

static int answer_extended(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    s->extended = true;
    return gdb_reply(s, "OK");
}

/* There is nothing to choose from: any process number means the target. */
static int answer_attach(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t process;
    if (!gdb_args_char(a, ';') || !gdb_args_hex(a, &process) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return session_ask_halt_reason(s);
}

/* The file name and arguments of "run" mean nothing here. */
static int answer_run(struct gdb_session *s, struct gdb_args *a)
{
    struct target_error why = {""};
    if (!s->target->restart)
        return gdb_reply_result(s, BT_ERR_UNSUPPORTED,
                                &(struct target_error){"the target cannot be started again"});
    if (!gdb_args_char(a, ';') && !gdb_args_empty(a))
        return BT_ERR_INVAL;
    gdb_document_forget(s);
    int error = s->target->restart(s->target_ctx, &why);
    return error < 0 ? gdb_reply_result(s, error, &why) : session_ask_halt_reason(s);
}

/* R has no reply by definition; GDB asks `?` next. */
static int answer_restart(struct gdb_session *s, struct gdb_args *a)
{
    struct target_error why = {""};
    (void)a;
    s->state = GDB_SESSION_OPEN;
    gdb_document_forget(s);
    if (s->target->restart)
        s->target->restart(s->target_ctx, &why);
    return TARGET_PENDING;
}

static void session_end(struct gdb_session *s, enum gdb_session_state state,
                        void (*notify)(void *ctx))
{
    s->running = false;
    s->state = state;
    gdb_document_forget(s);
    if (notify)
        notify(s->target_ctx);
}

static int answer_detach(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t process;
    if (!gdb_args_empty(a) &&
        (!gdb_args_char(a, ';') || !gdb_args_hex(a, &process) || !gdb_args_empty(a)))
        return BT_ERR_INVAL;
    session_end(s, GDB_SESSION_DETACHED, s->target->detach);
    return gdb_reply(s, "OK");
}

/* k has no reply by definition: GDB would take one for the answer to its next packet. */
static int answer_kill(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    session_end(s, GDB_SESSION_KILLED, s->target->kill);
    return TARGET_PENDING;
}

static int answer_vkill(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t process;
    if (!gdb_args_char(a, ';') || !gdb_args_hex(a, &process) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    session_end(s, GDB_SESSION_KILLED, s->target->kill);
    return gdb_reply(s, "OK");
}

const struct gdb_command gdb_run_commands[] = {
    {"!", GDB_BARE, true, answer_extended},
    {"?", GDB_BARE, false, answer_halt_reason},
    {"vCont?", GDB_EXACT, true, answer_vcont_query},
    {"vCont", GDB_PREFIX, false, answer_vcont},
    {"c", GDB_PREFIX, false, answer_continue},
    {"s", GDB_PREFIX, false, answer_step},
    {"C", GDB_PREFIX, false, answer_continue_signal},
    {"S", GDB_PREFIX, false, answer_step_signal},
    {"bs", GDB_BARE, false, answer_reverse_step},
    {"bc", GDB_BARE, false, answer_reverse_continue},
    {"vAttach", GDB_PREFIX, false, answer_attach},
    {"vRun", GDB_PREFIX, false, answer_run},
    {"vKill", GDB_PREFIX, true, answer_vkill},
    {"k", GDB_BARE, true, answer_kill},
    {"R", GDB_PREFIX, false, answer_restart},
    {"D", GDB_PREFIX, true, answer_detach},
    {NULL, GDB_EXACT, false, NULL},
};
