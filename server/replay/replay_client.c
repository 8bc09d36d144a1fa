/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of a recording: its target, its place in the history, and what its session asks. */
#include "decoder/base/bytes.h"
#include "replay_known.h"

#include "server/history/btrace_blocks.h"
#include "server/reverse/reverse_machine.h"
#include "server/tasks/contexts.h"

#include <stdio.h>
#include <stdlib.h>

static int motion_view(void *ctx, int core, struct btrace_view *view, struct target_error *why)
{
    const struct replay_client *k = ctx;
    const struct replay *r = k->replay;
    if (!r->cores[core].trace) {
        snprintf(why->text, sizeof why->text, "the recording has no trace of %s",
                 r->cores[core].name);
        return BT_ERR_UNSUPPORTED;
    }
    replay_view(&r->cores[core], k->size, view);
    return BT_OK;
}

static bool in_dump(const struct replay_core *c, uint32_t address)
{
    for (size_t i = 0; c->device && i < c->device->dump_count; i++) {
        const struct snapshot_dump *d = &c->device->dumps[i];
        if (address >= d->address && address - d->address + 4 <= d->length)
            return true;
    }
    return false;
}

/* Dumps of other programs were made at the halt whose PC is told; in ours the program stands as it
 * was at first. */
static bool is_present(const struct replay_core *c, uint32_t address)
{
    uint64_t in = address - c->stack;
    if (!c->ours)
        return c->recorded >> TARGET_REG_PC & 1;
    return address >= c->stack && c->stack_bytes >= 4 && in <= c->stack_bytes - 4;
}

/* Memory that no program file speaks of, but that somebody dumped, is memory. */
static enum values_memory kind_of(const struct replay *r, const struct replay_core *c,
                                  uint32_t address, bool dumped)
{
    bool shared = r->core_count > 1;
    enum values_memory kind = reverse_memory_kind(r->recording.elf, r->recording.elf_count, address,
                                                  c->regs.value[TARGET_REG_SP], shared);
    return kind == VALUES_MEMORY_OTHER && dumped && !shared ? VALUES_MEMORY_RAM : kind;
}

static enum values_memory read_word(void *ctx, uint32_t address, uint32_t *value)
{
    const struct replay_core *c = ctx;
    const struct replay *r = c->replay;
    uint8_t b[4];
    bool dumped = in_dump(c, address);
    enum values_memory kind = kind_of(r, c, address, dumped);
    if (kind >= VALUES_MEMORY_RAM && (config_ranges_hold(&c->shared, address) ||
                                      (c->forward && reverse_forward_outside(c->forward, address))))
        return VALUES_MEMORY_SHARED;
    if (kind == VALUES_MEMORY_RAM && replay_known_memory(c, address, b, sizeof b) == sizeof b) {
        *value = (uint32_t)bytes_number(b, sizeof b, c->big_endian);
        return kind;
    }
    bool there = (dumped || kind == VALUES_MEMORY_CONST) &&
                 code_image_read(c->image, &c->key, address, b, sizeof b) == sizeof b;
    if (!there || (kind == VALUES_MEMORY_RAM && !is_present(c, address)))
        return kind == VALUES_MEMORY_RAM                                     ? VALUES_MEMORY_UNREAD
               : kind == VALUES_MEMORY_SHARED || kind == VALUES_MEMORY_SAVED ? kind
                                                                             : VALUES_MEMORY_OTHER;
    *value = (uint32_t)bytes_number(b, sizeof b, c->big_endian);
    return kind;
}

static int motion_machine(void *ctx, int core, struct reverse_machine *m)
{
    const struct replay *r = ((const struct replay_client *)ctx)->replay;
    struct replay_core *c = &r->cores[core];
    bool is_m = c->profile == TARGET_PROFILE_M;
    *m = (struct reverse_machine){
        .regs = c->regs,
        .profile = is_m                               ? EXECUTE_PROFILE_M
                   : c->profile == TARGET_PROFILE_A64 ? EXECUTE_PROFILE_A64
                                                      : EXECUTE_PROFILE_AR,
        .program = reverse_program_of(r->recording.elf, r->recording.elf_count),
        .bit_band = c->device && reverse_has_bit_band(c->device->type),
        .v4t = c->device && reverse_is_v4t(c->device->type),
        .big_endian = c->big_endian,
        .halts_known = c->halts_known,
        .written = c->written,
        .written_count = c->halts_known ? c->written_count : 0,
        .written_before = c->written_before,
        .list = c->registers,
        .list_count = c->register_count,
        .forward = c->forward,
        .read = read_word,
        .context = c};
    for (unsigned i = 0; i < c->ram.count && m->program.ram_count; i++)
        reverse_program_add_ram(&m->program, c->ram.at[i].address, c->ram.at[i].size);
    m->regs.known = c->recorded; /* without what only stands in for them */
    return BT_OK;
}

static bool has_breakpoint(const struct replay_client *k, const struct target_breakpoint *bp)
{
    const struct target_breakpoint *set;
    size_t count = target_breakpoints(&k->target, &set), i = 0;
    while (i < count && (set[i].type != bp->type || set[i].address != bp->address))
        i++;
    return i < count;
}

/*
 * GDB keeps to itself why a watchpoint cannot be inserted, but shows why a motion is refused: it
 * may insert them where the motions are ours.
 */
static bool is_taken(const struct replay_client *k, const struct target_breakpoint *bp)
{
    bool records = false;
    for (size_t i = 0; i < k->replay->core_count; i++)
        records |= k->cores[i].recording;
    return bp->type <= TARGET_BREAKPOINT_HARDWARE || !records;
}

static size_t motion_breakpoints(void *ctx, const struct target_breakpoint **set)
{
    return target_breakpoints(&((const struct replay_client *)ctx)->target, set);
}

static size_t motion_programs(void *ctx, int core, struct elf_image *const **elf)
{
    const struct replay *r = ((const struct replay_client *)ctx)->replay;
    (void)core;
    *elf = r->recording.elf;
    return r->recording.elf_count;
}

static void motion_answered(void *ctx)
{
    gdb_session_command_done(((const struct replay_client *)ctx)->session);
}

static const char *motion_core_name(void *ctx, int core)
{
    return ((const struct replay_client *)ctx)->replay->cores[core].name;
}

static void motion_later(void *ctx)
{
    const struct replay *r = ((const struct replay_client *)ctx)->replay;
    if (r->io.later)
        r->io.later(r->io.ctx);
}

static void motion_stopped(void *ctx, const struct target_stop *stop)
{
    const struct replay_client *k = ctx;
    if (k->session)
        gdb_session_stopped(k->session, stop);
}

static void motion_failed(void *ctx, const struct target_error *why)
{
    const struct replay_client *k = ctx;
    if (k->session)
        gdb_session_resume_failed(k->session, why->text);
}

static void motion_report(void *ctx, const char *text)
{
    const struct replay_client *k = ctx;
    if (k->session)
        gdb_session_output(k->session, text);
}

static const struct reverse_host motion_host = {
    .view = motion_view,
    .machine = motion_machine,
    .breakpoints = motion_breakpoints,
    .programs = motion_programs,
    .answered = motion_answered,
    .core_name = motion_core_name,
    .later = motion_later,
    .stopped = motion_stopped,
    .failed = motion_failed,
    .report = motion_report,
};

/* The target: what was recorded, wherever the client is in the history. */

static const struct replay_core *core_of(const struct target *t, int core)
{
    return &((const struct replay_client *)t->ctx)->replay->cores[core];
}

static unsigned replay_registers(struct target *t, int core, const struct target_register **list)
{
    const struct replay_core *c = core_of(t, core);
    *list = c->registers;
    return c->register_count;
}

static int replay_core_info(struct target *t, int core, struct target_core *info)
{
    const struct replay_core *c = core_of(t, core);
    *info =
        (struct target_core){.name = c->name, .profile = c->profile, .big_endian = c->big_endian};
    return BT_OK;
}

static void replay_core_status(struct target *t, int core, char *text, size_t size)
{
    const struct replay_core *c = core_of(t, core);
    if (c->trace)
        snprintf(text, size, "recorded, %llu instructions",
                 (unsigned long long)history_end(c->trace->history));
    else
        snprintf(text, size, "recorded, no trace");
}

/* Where the last known state sees nothing the others are asked: a reader of a recording wants
 * what was recorded. */
static size_t read_recorded_memory(const struct replay_core *c, uint64_t address, void *bytes,
                                   size_t len)
{
    struct code_key key = c->key;
    size_t n = replay_known_memory(c, address, bytes, len);
    if (n == 0)
        n = code_image_read(c->image, &key, address, bytes, len);
    for (unsigned s = BT_SEC_SECURE; s <= BT_SEC_HYP && n == 0; s++) {
        key.security = (uint8_t)s;
        n = code_image_read(c->image, &key, address, bytes, len);
    }
    return n;
}

/* A stop where it stands, with the reason: a front end that continues by itself shows the end of
 * history, and LLDB would take an error for the end of the session. */
static void refuse_resume(const struct replay_client *k, struct target *t, int core)
{
    const struct target_stop stop = {.kind = TARGET_HALT_REPLAY_END, .core = core};
    if (k->session)
        gdb_session_output(k->session, "a recording cannot run on: go back with reverse-stepi or "
                                       "'record goto'\n");
    target_stopped(t, &(struct target_halt){.stop = &stop});
}

/* Nothing is planted: GDB checks its breakpoints against its own record, the server against the
 * history. */
static int change_breakpoint(const struct replay_client *k, const struct target_request *r,
                             struct target_error *why)
{
    bool insert = r->kind == TARGET_INSERT, there = has_breakpoint(k, &r->breakpoint);
    if (!is_taken(k, &r->breakpoint) && (insert || !there))
        return BT_ERR_UNSUPPORTED;
    if (!insert || there || k->target.breakpoint_count < REVERSE_BREAKPOINTS_MAX)
        return BT_OK;
    snprintf(why->text, sizeof why->text, "more than %d breakpoints", REVERSE_BREAKPOINTS_MAX);
    return BT_ERR_NOMEM;
}

static void replay_answer(struct target *t, const struct target_request *r)
{
    static const struct target_stop stands = {.kind = TARGET_HALT_TRAP};
    struct replay_client *k = t->ctx;
    struct target_error why = {""};
    struct target_answer a = {.why = why.text};
    switch (r->kind) {
    case TARGET_READ_REGISTERS:
        a.regs = &core_of(t, r->core)->regs;
        break;
    case TARGET_READ_MEMORY:
        a.bytes = k->bytes;
        a.length = read_recorded_memory(core_of(t, r->core), r->address, k->bytes, r->length);
        a.error = a.length > 0 ? BT_OK : BT_ERR_NO_CODE;
        break;
    case TARGET_INSERT:
    case TARGET_REMOVE:
        a.error = change_breakpoint(k, r, &why);
        break;
    case TARGET_STATUS:
        a.stop = &stands;
        break;
    case TARGET_RESUME:
        refuse_resume(k, t, r->resume ? r->resume->core : 0);
        return;
    case TARGET_WRITE_REGISTERS:
    case TARGET_WRITE_MEMORY:
        a.why = "a recording is read-only";
        a.error = BT_ERR_UNSUPPORTED;
        break;
    default:
        a.error = BT_ERR_UNSUPPORTED;
        break;
    }
    target_answered(t, &a);
}

/* A resume is refused before anything can interrupt it. */
static void replay_interrupt(struct target *t)
{
    (void)t;
}

static const struct target_ops replay_ops = {
    .start = replay_answer,
    .interrupt = replay_interrupt,
    .registers = replay_registers,
    .core_info = replay_core_info,
    .core_status = replay_core_status,
};

/* Nobody owns the target but its client, who is told at once. */

static void on_ready(void *ctx, int error)
{
    (void)ctx, (void)error;
}

static void on_nothing(void *ctx)
{
    (void)ctx;
}

static void on_refused(void *ctx)
{
    target_release_stop(&((struct replay_client *)ctx)->target);
}

static void on_changed(void *ctx, enum target_change change, uint64_t address, uint64_t length)
{
    (void)ctx, (void)change, (void)address, (void)length;
}

static const struct target_events replay_events = {
    .ready = on_ready,
    .resumed = on_nothing,
    .stopped = on_refused,
    .changed = on_changed,
    .lost = on_nothing,
};

struct replay_client *replay_client_new(struct replay *r, struct gdb_session *s)
{
    struct replay_client *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    if (reverse_motion_init(&k->reverse, &motion_host, k, (int)r->core_count)) {
        free(k);
        return NULL;
    }
    k->replay = r;
    k->session = s;
    k->size = BTRACE_DEFAULT_SIZE;
    for (size_t i = 0; i < r->core_count; i++)
        k->cores[i].recording = r->cores[i].trace && !r->no_record;
    target_init(&k->target, &replay_ops, &replay_events, k);
    k->target.core_count = (int)r->core_count;
    target_opening(&k->target);
    target_opened(&k->target, TARGET_HALTED);
    struct replay_client **at = &r->clients;
    while (*at)
        at = &(*at)->next;
    *at = k;
    return k;
}

void replay_client_leave(struct replay_client *k)
{
    if (!k)
        return;
    struct replay_client **at = &k->replay->clients;
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
}

void replay_client_free(struct replay_client *k)
{
    if (!k)
        return;
    target_release(&k->target);
    reverse_motion_release(&k->reverse);
    call_job_free(k->question);
    free(k);
}

static void question_go_on(struct replay_client *k)
{
    if (!k->question)
        return;
    if (!call_job_work(k->question)) {
        motion_later(k);
        return;
    }
    call_job_free(k->question);
    k->question = NULL;
    gdb_session_command_done(k->session);
}

void replay_go_on(struct replay *r)
{
    for (struct replay_client *k = r->clients, *next; k; k = next) {
        next = k->next;
        reverse_motion_idle(&k->reverse);
        question_go_on(k);
    }
}

/* What a session asks of its host. */

static bool op_is_replaying(void *ctx, int core)
{
    const struct replay_client *k = ctx;
    return core < 0 ? reverse_motion_concerned(&k->reverse)
                    : reverse_motion_active(&k->reverse, core);
}

static int op_read_regs(void *ctx, int core, struct target_regs *regs)
{
    return reverse_motion_regs(&((struct replay_client *)ctx)->reverse, core, regs);
}

static size_t op_reverse_memory(void *ctx, int core, uint64_t address, void *bytes, size_t there,
                                size_t len)
{
    return reverse_motion_memory(&((struct replay_client *)ctx)->reverse, core, address, bytes,
                                 there, len);
}

static void op_core_status(void *ctx, int core, char *text, size_t size)
{
    struct replay_client *k = ctx;
    if (reverse_motion_status(&k->reverse, core, text, size))
        contexts_status(&k->reverse, core, text, size);
    else
        snprintf(text, size, "%s", "");
}

static int op_resume(void *ctx, const struct target_resume *resume, struct target_stop *stop,
                     struct target_error *why)
{
    struct replay_client *k = ctx;
    return reverse_motion_takes(&k->reverse, resume)
               ? reverse_motion_resume(&k->reverse, resume, stop, why)
               : GDB_PASS_ON;
}

static int op_reverse(void *ctx, int core, bool step, struct target_stop *stop,
                      struct target_error *why)
{
    struct replay_client *k = ctx;
    return reverse_motion_back(&k->reverse, core, step, stop, why);
}

static void op_interrupt(void *ctx)
{
    struct replay_client *k = ctx;
    if (k->question)
        call_job_interrupt(k->question);
    else
        reverse_motion_interrupt(&k->reverse);
}

static int op_btrace_enable(void *ctx, int core, struct target_error *why)
{
    struct replay_client *k = ctx;
    struct replay *r = k->replay;
    struct replay_core *c = &r->cores[core];
    if (reverse_motion_active(&k->reverse, core)) {
        snprintf(why->text, sizeof why->text,
                 "the core is at a replay position: 'monitor goto end' and 'stepi' first");
        return BT_ERR_UNSUPPORTED;
    }
    if (!c->trace) {
        snprintf(why->text, sizeof why->text, "the recording has no trace of %s", c->name);
        return BT_ERR_UNSUPPORTED;
    }
    if (!k->cores[core].recording)
        k->cores[core].delivered = false;
    k->cores[core].recording = true;
    return BT_OK;
}

static void op_btrace_disable(void *ctx, int core)
{
    ((struct replay_client *)ctx)->cores[core].recording = false;
}

static void op_btrace_set_size(void *ctx, uint32_t size)
{
    ((struct replay_client *)ctx)->size = btrace_clamp_size(size);
}

static struct gdb_btrace_conf op_btrace_conf(void *ctx, int core)
{
    const struct replay_client *k = ctx;
    return (struct gdb_btrace_conf){k->cores[core].recording, k->size};
}

/* Nothing runs: after one delivery there is never anything new, and no delta can be joined to
 * what GDB has from before (the halted PC alone). */
static int op_btrace_read(void *ctx, int core, enum gdb_annex annex, struct gdb_btrace_blocks *out)
{
    const struct replay_client *k = ctx;
    const struct replay *r = k->replay;
    const struct replay_core *c = &r->cores[core];
    if (!c->trace || !k->cores[core].recording)
        return BT_ERR_UNSUPPORTED;
    if (annex != GDB_ANNEX_ALL && k->cores[core].delivered)
        return BT_OK;
    if (annex == GDB_ANNEX_DELTA)
        return BT_ERR_RANGE;
    struct btrace_view view;
    replay_view(&r->cores[core], k->size, &view);
    return btrace_blocks(&view, out, NULL);
}

static void op_btrace_delivered(void *ctx, int core, enum gdb_annex annex)
{
    (void)annex;
    ((struct replay_client *)ctx)->cores[core].delivered = true;
}

static bool op_has_tasks(void *ctx)
{
    return tasks_has(((const struct replay_client *)ctx)->replay->tasks);
}

static int op_tasks(void *ctx, struct gdb_tasks *out)
{
    struct replay_client *k = ctx;
    return tasks_at(k->replay->tasks, &k->target, out);
}

static int op_restart(void *ctx, struct target_error *why)
{
    (void)ctx, (void)why;
    return BT_OK; /* a recording is always at its end */
}

const struct gdb_host replay_host = {
    .btrace_enable = op_btrace_enable,
    .btrace_disable = op_btrace_disable,
    .btrace_set_size = op_btrace_set_size,
    .btrace_conf = op_btrace_conf,
    .btrace_read = op_btrace_read,
    .btrace_delivered = op_btrace_delivered,
    .monitor = replay_monitor,
    .is_replaying = op_is_replaying,
    .read_regs = op_read_regs,
    .reverse_memory = op_reverse_memory,
    .resume = op_resume,
    .reverse = op_reverse,
    .interrupt = op_interrupt,
    .core_status = op_core_status,
    .restart = op_restart,
    .has_tasks = op_has_tasks,
    .tasks = op_tasks,
};
