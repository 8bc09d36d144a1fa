/* SPDX-License-Identifier: BSD-3-Clause */
/* Running, stopping, stepping back, and how a session begins and ends. */
#include "gdb_internal.h"

#define SIGNAL_INT  2
#define SIGNAL_TRAP 5

static const char *stop_word(const struct gdb_session *s, enum gdb_stop_kind kind)
{
    switch (kind) {
    case GDB_STOP_SWBREAK:
        return s->client_swbreak ? "swbreak:;" : "";
    case GDB_STOP_HWBREAK:
        return s->client_hwbreak ? "hwbreak:;" : "";
    case GDB_STOP_REPLAY_BEGIN:
        return "replaylog:begin;";
    case GDB_STOP_REPLAY_END:
        return "replaylog:end;";
    default:
        return "";
    }
}

static const char *watch_word(enum gdb_stop_kind kind)
{
    switch (kind) {
    case GDB_STOP_WATCH:
        return "watch";
    case GDB_STOP_RWATCH:
        return "rwatch";
    case GDB_STOP_AWATCH:
        return "awatch";
    default:
        return NULL;
    }
}

static unsigned stop_signal(const struct gdb_stop *stop)
{
    if (stop->kind == GDB_STOP_INTERRUPT)
        return SIGNAL_INT;
    if (stop->kind == GDB_STOP_SIGNAL)
        return (unsigned)stop->signal & 0xff;
    return SIGNAL_TRAP;
}

void gdb_reply_stop(struct gdb_session *s, const struct gdb_stop *stop)
{
    struct text_buf *reply = &s->reply;
    const char *watch = watch_word(stop->kind);
    s->threads_listed = false;
    if (stop->core >= 0 && stop->core < s->core_count)
        s->stopped = stop->core;
    /* GDB takes the thread of the reply for the selected one, without an Hg. */
    s->general = s->stopped;
    text_buf_clear(reply);
    if (stop->kind == GDB_STOP_EXITED) {
        text_buf_printf(reply, "W%02x", (unsigned)stop->signal & 0xff);
        return;
    }
    text_buf_printf(reply, "T%02x", stop_signal(stop));
    if (watch != NULL)
        text_buf_printf(reply, "%s:%llx;", watch, (unsigned long long)stop->address);
    text_buf_puts(reply, stop_word(s, stop->kind));
    gdb_add_stop_thread(s, s->stopped);
}

int gdb_reply_resumed(struct gdb_session *s, int rc, const struct gdb_stop *stop,
                      const struct gdb_why *why)
{
    if (rc == GDB_PENDING)
        return GDB_PENDING;
    s->running = false;
    if (rc < 0)
        return gdb_reply_result(s, rc, why);
    gdb_reply_stop(s, stop);
    return BT_OK;
}

/* GDB_PENDING may come back with the stop told already, from within the operation. */
static void start_running(struct gdb_session *s)
{
    s->running = true;
    gdb_document_forget(s->document);
}

static int ask_halt_reason(struct gdb_session *s)
{
    struct gdb_stop stop = {.core = s->stopped};
    struct gdb_why why = {""};
    s->state = GDB_SESSION_OPEN;
    start_running(s);
    int rc = s->target->halt_reason(s->target_ctx, &stop);
    return gdb_reply_resumed(s, rc, &stop, &why);
}

static int halt_reason(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return ask_halt_reason(s);
}

/* The thread that a resume is about: one that steps, else the general one, else any. */
static void choose_core(const struct gdb_session *s, struct gdb_resume *r)
{
    int any = -1;
    for (int i = s->core_count - 1; i >= 0; i--) {
        if (r->action[i] != GDB_ACTION_NONE)
            any = i;
    }
    r->core = r->action[s->general] != GDB_ACTION_NONE ? s->general : any;
    r->step = false;
    for (int i = s->core_count - 1; i >= 0; i--) {
        if (r->action[i] == GDB_ACTION_STEP) {
            r->step = true;
            r->core = i;
        }
    }
    if (r->action[s->general] == GDB_ACTION_STEP)
        r->core = s->general;
}

static int resume(struct gdb_session *s, struct gdb_resume *r)
{
    struct gdb_stop stop = {.core = s->general};
    struct gdb_why why = {""};
    choose_core(s, r);
    if (r->core < 0)
        return BT_ERR_INVAL;
    if (s->target->resume == NULL)
        return gdb_reply_result(s, BT_ERR_UNSUPPORTED, &(struct gdb_why){"the target cannot run"});
    r->threads_listed = s->threads_listed;
    stop.core = r->core;
    start_running(s);
    int rc = s->target->resume(s->target_ctx, r, &stop, &why);
    if (rc == GDB_PASS_ON) {
        s->running = false;
        return rc;
    }
    return gdb_reply_resumed(s, rc, &stop, &why);
}

static int motion_core(const struct gdb_session *s)
{
    return s->motion >= 0 ? s->motion : s->general;
}

static int set_pc(struct gdb_session *s, int core, uint64_t pc, struct gdb_why *why)
{
    if (s->target->write_reg == NULL)
        return BT_ERR_UNSUPPORTED;
    return s->target->write_reg(s->target_ctx, core, GDB_REG_PC, (uint32_t)pc, why);
}

/* What remains of c, s, C and S after the signal: an optional address to go on from. */
static int resume_plain(struct gdb_session *s, struct gdb_args *a, enum gdb_action action)
{
    struct gdb_resume r = {.core = 0};
    struct gdb_why why = {""};
    uint64_t pc;
    int core = motion_core(s);
    bool jump = !gdb_args_empty(a);
    if (jump && (!gdb_args_hex_max(a, UINT32_MAX, &pc) || !gdb_args_empty(a)))
        return BT_ERR_INVAL;
    for (int i = 0; i < s->core_count; i++) {
        if (i == core || (action == GDB_ACTION_CONTINUE && s->motion < 0))
            r.action[i] = action;
    }
    int rc = jump ? set_pc(s, core, pc, &why) : BT_OK;
    return rc < 0 ? gdb_reply_result(s, rc, &why) : resume(s, &r);
}

static int continue_plain(struct gdb_session *s, struct gdb_args *a)
{
    return resume_plain(s, a, GDB_ACTION_CONTINUE);
}

static int step_plain(struct gdb_session *s, struct gdb_args *a)
{
    return resume_plain(s, a, GDB_ACTION_STEP);
}

/* "05" or "05;address". Cores take no signals: the number is checked and dropped. */
static bool take_signal(struct gdb_args *a)
{
    uint64_t signal;
    return gdb_args_hex_max(a, 0xff, &signal) && (gdb_args_empty(a) || gdb_args_char(a, ';'));
}

static int continue_signal(struct gdb_session *s, struct gdb_args *a)
{
    return take_signal(a) ? continue_plain(s, a) : BT_ERR_INVAL;
}

static int step_signal(struct gdb_session *s, struct gdb_args *a)
{
    return take_signal(a) ? step_plain(s, a) : BT_ERR_INVAL;
}

static int vcont_query(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return gdb_reply(s, "vCont;c;C;s;S;t");
}

/* One action of a vCont packet without its thread. */
static bool take_action(struct gdb_args *a, enum gdb_action *action)
{
    uint64_t signal;
    bool signalled = gdb_args_char(a, 'C');
    if (signalled || gdb_args_char(a, 'c')) {
        *action = GDB_ACTION_CONTINUE;
    } else if ((signalled = gdb_args_char(a, 'S')) || gdb_args_char(a, 's')) {
        *action = GDB_ACTION_STEP;
    } else if (gdb_args_char(a, 't')) {
        *action = GDB_ACTION_NONE;
    } else {
        return false;
    }
    return !signalled || gdb_args_hex_max(a, 0xff, &signal);
}

/* The leftmost action that names a core counts for it. */
static void give_action(struct gdb_resume *r, bool *given, int core, enum gdb_action action)
{
    if (!given[core])
        r->action[core] = action;
    given[core] = true;
}

static bool apply_action(struct gdb_session *s, struct gdb_args *word, struct gdb_resume *r,
                         bool *given)
{
    enum gdb_action action;
    int thread = GDB_THREAD_ALL;
    int core;
    if (!take_action(word, &action))
        return false;
    if (gdb_args_char(word, ':') && !gdb_args_thread(word, &thread))
        return false;
    if (!gdb_args_empty(word))
        return false;
    if (thread != GDB_THREAD_ALL) {
        if (!gdb_core_of_thread(s, thread, &core))
            return false;
        give_action(r, given, core, action);
        return true;
    }
    for (core = 0; core < s->core_count; core++)
        give_action(r, given, core, action);
    return true;
}

static int vcont(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_resume r = {.core = 0};
    bool given[GDB_CORES_MAX] = {false};
    struct gdb_args word;
    if (!gdb_args_char(a, ';'))
        return BT_ERR_INVAL;
    do {
        if (!gdb_args_until(a, ';', &word) || !apply_action(s, &word, &r, given))
            return BT_ERR_INVAL;
    } while (!gdb_args_empty(a));
    return resume(s, &r);
}

/* An empty reply to bs or bc makes GDB wait for ever (found with GDB 13.1): there is always a
 * text. */
static int reverse(struct gdb_session *s, bool step)
{
    struct gdb_stop stop = {.core = motion_core(s)};
    struct gdb_why why = {""};
    if (s->target->reverse == NULL)
        return gdb_reply_result(s, BT_ERR_UNSUPPORTED,
                                &(struct gdb_why){"the target cannot run backwards"});
    start_running(s);
    int rc = s->target->reverse(s->target_ctx, motion_core(s), step, &stop, &why);
    return gdb_reply_resumed(s, rc, &stop, &why);
}

static int reverse_step(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return reverse(s, true);
}

static int reverse_continue(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return reverse(s, false);
}

static int extended_mode(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    s->extended = true;
    return gdb_reply(s, "OK");
}

/* There is nothing to choose from: any process number means the target. */
static int attach(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t process;
    if (!gdb_args_char(a, ';') || !gdb_args_hex(a, &process) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return ask_halt_reason(s);
}

/* The file name and arguments of "run" mean nothing here. */
static int run(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_why why = {""};
    if (s->target->restart == NULL)
        return gdb_reply_result(s, BT_ERR_UNSUPPORTED,
                                &(struct gdb_why){"the target cannot be started again"});
    if (!gdb_args_char(a, ';') && !gdb_args_empty(a))
        return BT_ERR_INVAL;
    gdb_document_forget(s->document);
    int rc = s->target->restart(s->target_ctx, &why);
    return rc < 0 ? gdb_reply_result(s, rc, &why) : ask_halt_reason(s);
}

/* R has no reply by definition; GDB asks `?` next. */
static int restart(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_why why = {""};
    (void)a;
    s->state = GDB_SESSION_OPEN;
    gdb_document_forget(s->document);
    if (s->target->restart != NULL)
        s->target->restart(s->target_ctx, &why);
    return GDB_PENDING;
}

static void end_session(struct gdb_session *s, enum gdb_session_state state,
                        void (*notify)(void *ctx))
{
    s->running = false;
    s->state = state;
    gdb_document_forget(s->document);
    if (notify != NULL)
        notify(s->target_ctx);
}

static int detach(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t process;
    if (!gdb_args_empty(a) &&
        (!gdb_args_char(a, ';') || !gdb_args_hex(a, &process) || !gdb_args_empty(a)))
        return BT_ERR_INVAL;
    end_session(s, GDB_SESSION_DETACHED, s->target->detach);
    return gdb_reply(s, "OK");
}

/* k has no reply by definition: GDB would take one for the answer to its next packet. */
static int kill_silent(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    end_session(s, GDB_SESSION_KILLED, s->target->kill);
    return GDB_PENDING;
}

static int kill_answered(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t process;
    if (!gdb_args_char(a, ';') || !gdb_args_hex(a, &process) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    end_session(s, GDB_SESSION_KILLED, s->target->kill);
    return gdb_reply(s, "OK");
}

const struct gdb_command gdb_run_commands[] = {
    {"!", GDB_BARE, true, extended_mode},
    {"?", GDB_BARE, false, halt_reason},
    {"vCont?", GDB_EXACT, true, vcont_query},
    {"vCont", GDB_PREFIX, false, vcont},
    {"c", GDB_PREFIX, false, continue_plain},
    {"s", GDB_PREFIX, false, step_plain},
    {"C", GDB_PREFIX, false, continue_signal},
    {"S", GDB_PREFIX, false, step_signal},
    {"bs", GDB_BARE, false, reverse_step},
    {"bc", GDB_BARE, false, reverse_continue},
    {"vAttach", GDB_PREFIX, false, attach},
    {"vRun", GDB_PREFIX, false, run},
    {"vKill", GDB_PREFIX, true, kill_answered},
    {"k", GDB_BARE, true, kill_silent},
    {"R", GDB_PREFIX, false, restart},
    {"D", GDB_PREFIX, true, detach},
    {NULL, GDB_EXACT, false, NULL},
};
