/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reverse execution of a live target: registers and memory of the halted cores for value
 * reconstruction, and what the motions of its clients ask for.
 */
#include "decoder/base/bytes.h"
#include "live_internal.h"

#include "decoder/base/array.h"
#include "server/reverse/reverse_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CPSR_T (1u << 5)

void live_view(const struct live *l, const struct live_core *c, uint32_t size,
               struct btrace_view *view)
{
    *view = (struct btrace_view){
        .image = &c->image,
        .history = live_history(l, (int)(c - l->cores)),
        .pc = c->left ? c->left_pc : c->regs.value[TARGET_REG_PC],
        .thumb = live_is_m_profile(c) ||
                 (c->left ? c->left_thumb : c->regs.value[TARGET_REG_PSR] & CPSR_T),
        .size = size,
        .jumped = c->jumped,
        .untraced = l->untraced,
        .holes = c->holes,
        .hole_count = c->hole_count};
    btrace_end_key(view->history, (uint16_t)(c - l->cores), &view->key);
}

static struct live_client *client_of_number(const struct live *l, unsigned number)
{
    struct live_client *k = l->clients;
    while (k && k->client->number != number)
        k = k->next;
    return k;
}

/* Of all clients, any of which may leave. */
static void each_motion(const struct live *l, void (*tell)(struct reverse_motion *m))
{
    for (struct live_client *k = l->clients, *next; k; k = next) {
        next = k->next;
        tell(&k->motion);
    }
}

static const struct live_reverse_line *find_memory_line(const struct live_reverse *p, int core,
                                                        uint32_t line)
{
    for (size_t i = 0; i < p->line_count; i++)
        if (p->lines[i].address == line && p->lines[i].core == core)
            return &p->lines[i];
    return NULL;
}

static void note_line_miss(struct live_client *k, uint32_t line)
{
    struct live_reverse_misses *m = &k->misses[reverse_motion_ahead(&k->motion)];
    for (size_t i = 0; i < m->count; i++)
        if (m->lines[i] == line)
            return;
    if (m->count < LIVE_REVERSE_MISSES)
        m->lines[m->count++] = line;
}

/* Present bytes of a word; NULL when they are not here. */
static const uint8_t *present_word(struct live_reverse_reader *r, uint32_t address)
{
    struct live_reverse *p = &r->client->live->reverse;
    uint32_t line = address & ~(LIVE_REVERSE_LINE - 1), at = address - line;
    uint64_t in = address - p->reply.address;
    if (p->reply.bytes && address >= p->reply.address && in + 4 <= p->reply.length)
        return p->reply.bytes + in;
    const struct live_reverse_line *found = find_memory_line(p, r->core, line);
    if (!found)
        note_line_miss(r->client, line);
    return found && at + 4 <= found->length ? found->bytes + at : NULL;
}

static enum values_memory read_halted_word(void *ctx, uint32_t address, uint32_t *value)
{
    struct live_reverse_reader *r = ctx;
    struct live *l = r->client->live;
    const struct live_reverse_core *pc = &l->reverse.cores[r->core];
    const struct live_core *c = live_core_of(l, r->core);
    bool big = c->elf && c->elf->big_endian, shared = target_cores(l->target) > 1;
    enum values_memory kind = reverse_memory_kind(&c->elf, c->elf ? 1 : 0, address,
                                                  pc->regs.value[TARGET_REG_SP], shared);
    const struct reverse_forward *forward = live_snapshot_forward(l, c);
    const uint8_t *bytes;
    uint8_t code[4];
    if (kind >= VALUES_MEMORY_RAM && (config_ranges_hold(&c->config->shared, address) ||
                                      (forward && reverse_forward_outside(forward, address))))
        return VALUES_MEMORY_SHARED;
    if (kind == VALUES_MEMORY_CONST) {
        struct code_key key = {.core = (uint16_t)(c - l->cores), .generation = c->image.generation};
        if (code_image_read(&c->image, &key, address, code, sizeof code) != sizeof code)
            return VALUES_MEMORY_OTHER;
        bytes = code;
    } else if (kind == VALUES_MEMORY_RAM) {
        bytes = l->reverse.written ? NULL : present_word(r, address);
        if (!bytes)
            return VALUES_MEMORY_UNREAD;
    } else {
        return kind;
    }
    *value = (uint32_t)bytes_number(bytes, 4, big);
    return kind;
}

static void on_reverse_regs(void *ctx, const struct target_answer *a)
{
    struct live_reverse_core *pc = ctx;
    if (!pc->asked)
        return; /* of an earlier halt */
    const struct live_core *c = live_core_of(pc->live, pc->core);
    pc->reported = true;
    pc->regs = a->error ? c->regs : *a->regs;
    if (!(pc->regs.known >> TARGET_REG_PSR & 1)) {
        pc->regs.value[TARGET_REG_PSR] = c->regs.value[TARGET_REG_PSR];
        pc->regs.known |= c->regs.known & 1u << TARGET_REG_PSR;
    }
    each_motion(pc->live, reverse_motion_go_on);
}

/* Looks through all of the code: once. */
static void look_at_core_program(struct live_reverse_core *pc, const struct live_core *c)
{
    if (pc->program_known)
        return;
    pc->program_known = true;
    pc->program = reverse_program_of(&c->elf, c->elf ? 1 : 0);
    const struct config_ranges *ram = &c->config->ram;
    for (unsigned i = 0; i < ram->count && pc->program.ram_count; i++)
        reverse_program_add_ram(&pc->program, ram->at[i].address, ram->at[i].size);
}

static int live_host_machine(void *ctx, int core, struct reverse_machine *m)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    struct live_reverse_core *pc = &l->reverse.cores[core];
    const struct live_core *c = live_core_of(l, core);
    const struct target_request r = {
        .kind = TARGET_READ_REGISTERS, .core = core, .set = TARGET_REGISTERS_CORE};
    pc->live = l;
    k->readers[core] = (struct live_reverse_reader){k, core};
    pc->core = core;
    if (!pc->reported) {
        pc->asked = true;
        int error = target_ask(l->target, NULL, &r, on_reverse_regs, pc);
        return error < 0 ? error : TARGET_PENDING;
    }
    look_at_core_program(pc, c);
    const struct target_register *list;
    unsigned list_count = l->target->ops->registers(l->target, core, &list);
    *m = (struct reverse_machine){.regs = pc->regs,
                                  .profile = live_profile(c),
                                  .program = pc->program,
                                  .bit_band = reverse_has_bit_band(c->config->type),
                                  .v4t = reverse_is_v4t(c->config->type),
                                  .big_endian = c->elf && c->elf->big_endian,
                                  .registers_written = c->jumped,
                                  .halts_known = true,
                                  .written = c->written,
                                  .written_count = c->written_count,
                                  .written_before = c->written_before,
                                  .list = list,
                                  .list_count = list_count,
                                  .forward = live_snapshot_forward(l, c),
                                  .read = read_halted_word,
                                  .context = &k->readers[core]};
    return BT_OK;
}

struct line_question {
    struct live *live;
    unsigned client; /* its number: it may have left since */
    uint32_t halt, address;
    uint16_t core;
    bool ahead;
};

static struct live_reverse_line *add_memory_line(struct live_reverse *p)
{
    if (!array_room(&p->lines, p->line_count, &p->line_max, sizeof *p->lines))
        return NULL;
    return &p->lines[p->line_count++];
}

static void on_line_memory(void *ctx, const struct target_answer *a)
{
    struct line_question *q = ctx;
    struct live *l = q->live;
    struct live_reverse *p = &l->reverse;
    bool late = q->halt != p->halt;
    struct live_reverse_line *line = late ? NULL : add_memory_line(p);
    if (line) {
        line->address = q->address;
        line->core = q->core;
        line->length = (uint16_t)a->length;
        if (a->length)
            memcpy(line->bytes, a->bytes, a->length);
    }
    struct line_question asked = *q;
    free(q);
    struct live_client *k = late ? NULL : client_of_number(l, asked.client);
    if (!k || --k->misses[asked.ahead].waiting)
        return;
    if (asked.ahead)
        reverse_motion_fetched(&k->motion, asked.core);
    else
        reverse_motion_go_on(&k->motion);
}

static bool ask_memory_line(struct live_client *k, int core, bool ahead, uint32_t address)
{
    struct live *l = k->live;
    struct line_question *q = malloc(sizeof *q);
    if (!q)
        return false;
    *q = (struct line_question){l,       k->client->number, l->reverse.halt,
                                address, (uint16_t)core,    ahead};
    const struct target_request r = {.kind = TARGET_READ_MEMORY,
                                     .core = core,
                                     .address = address,
                                     .length = LIVE_REVERSE_LINE,
                                     .background = ahead};
    k->misses[ahead].waiting++;
    if (target_ask(l->target, NULL, &r, on_line_memory, q) == BT_OK)
        return true;
    k->misses[ahead].waiting--;
    free(q);
    return false;
}

static int live_host_fetch(void *ctx, int core)
{
    struct live_client *k = ctx;
    const struct live_reverse *p = &k->live->reverse;
    bool any = false, ahead = reverse_motion_ahead(&k->motion);
    struct live_reverse_misses *m = &k->misses[ahead];
    size_t n = m->count;
    m->count = 0;
    for (size_t i = 0;
         i < n && p->line_count + k->misses[0].waiting + k->misses[1].waiting < LIVE_REVERSE_LINES;
         i++)
        any |= ask_memory_line(k, core, ahead, m->lines[i]);
    return any ? TARGET_PENDING : BT_OK;
}

static int live_host_view(void *ctx, int core, struct btrace_view *view, struct target_error *why)
{
    const struct live_client *k = ctx;
    struct live *l = k->live;
    const struct live_core *c = live_core_of(l, core);
    if (!c || c->source < 0 || !(c->regs.known >> TARGET_REG_PC & 1)) {
        snprintf(why->text, sizeof why->text, "%s",
                 !c || c->source < 0            ? "the board file names no trace unit for this core"
                 : target_is_running(l->target) ? "the target runs"
                                                : "the halted core cannot be read");
        return BT_ERR_UNSUPPORTED;
    }
    live_view(l, c, k->size, view);
    return BT_OK;
}

static void live_host_lock(void *ctx)
{
    pipeline_lock(((struct live_client *)ctx)->live->pipeline);
}

static void live_host_unlock(void *ctx)
{
    pipeline_unlock(((struct live_client *)ctx)->live->pipeline);
}

static size_t live_host_breakpoints(void *ctx, const struct target_breakpoint **set)
{
    const struct live_client *k = ctx;
    if (gdb_session_observes(k->session))
        return 0; /* those that are set are another's */
    return target_breakpoints(k->live->target, set);
}

static size_t live_host_programs(void *ctx, int core, struct elf_image *const **elf)
{
    const struct live_core *c = live_core_of(((struct live_client *)ctx)->live, core);
    *elf = c ? &c->elf : NULL;
    return c && c->elf;
}

static void live_host_answered(void *ctx)
{
    gdb_session_command_done(((struct live_client *)ctx)->session);
}

static const char *live_host_core_name(void *ctx, int core)
{
    const struct live_core *c = live_core_of(((struct live_client *)ctx)->live, core);
    return c ? c->config->name : "this core";
}

/* A slice of a search, then what GDB sends is looked at: it may be Ctrl-C. */
static void on_search(uv_idle_t *idle)
{
    struct live *l = idle->data;
    uv_idle_stop(idle);
    each_motion(l, reverse_motion_idle);
}

static void live_host_later(void *ctx)
{
    struct live *l = ((struct live_client *)ctx)->live;
    if (l->phase != LIVE_STOPPED)
        uv_idle_start(&l->reverse.search, on_search);
}

static void live_host_stopped(void *ctx, const struct target_stop *stop)
{
    const struct live_client *k = ctx;
    if (k->session)
        gdb_session_stopped(k->session, stop);
}

static void live_host_failed(void *ctx, const struct target_error *why)
{
    const struct live_client *k = ctx;
    if (k->session)
        gdb_session_resume_failed(k->session, why->text);
}

static void live_host_report(void *ctx, const char *text)
{
    const struct live_client *k = ctx;
    if (k->session)
        gdb_session_output(k->session, text);
}

static const struct reverse_host live_host = {
    .view = live_host_view,
    .lock = live_host_lock,
    .unlock = live_host_unlock,
    .machine = live_host_machine,
    .fetch = live_host_fetch,
    .breakpoints = live_host_breakpoints,
    .programs = live_host_programs,
    .answered = live_host_answered,
    .core_name = live_host_core_name,
    .later = live_host_later,
    .stopped = live_host_stopped,
    .failed = live_host_failed,
    .report = live_host_report,
};

int live_reverse_client(struct live *l, struct live_client *k)
{
    return reverse_motion_init(&k->motion, &live_host, k, target_cores(l->target));
}

/* GDB waits for the end of a motion that can have none any more. */
static void end_client_motion(struct live_client *k)
{
    bool waits = reverse_motion_running(&k->motion), asks = k->motion.question;
    reverse_motion_forget(&k->motion);
    memset(k->misses, 0, sizeof k->misses);
    if (waits)
        gdb_session_resume_failed(
            k->session, "the target was changed or runs again: its history is another one now");
    if (asks)
        gdb_session_command_done(k->session);
}

void live_clients_forget(struct live *l)
{
    for (struct live_client *k = l->clients, *next; k; k = next) {
        next = k->next;
        end_client_motion(k);
    }
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (l->snapshot.cores[i])
            reverse_forward_leave(&l->snapshot.cores[i]->forward);
}

void live_reverse_forget(struct live *l)
{
    struct live_reverse *p = &l->reverse;
    live_clients_forget(l);
    for (int i = 0; i < TARGET_CORES_MAX; i++)
        p->cores[i].asked = p->cores[i].reported = false;
    task_switches_release(&l->switches);
    p->halt++;
    p->line_count = 0;
    p->written = false;
}

void live_reverse_known(struct live *l)
{
    each_motion(l, reverse_motion_known);
}

/* The number of the next instruction to run, as later reads of the history count it. */
static void mark_halt_written(struct live *l, struct live_core *c)
{
    struct btrace_view view;
    struct reverse reverse;
    live_view(l, c, BTRACE_DEFAULT_SIZE, &view);
    bool traced = reverse_init(&reverse, &view) == BT_OK;
    uint64_t at = reverse.end;
    reverse_release(&reverse);
    if (!traced || (c->written_count && c->written[c->written_count - 1] == at))
        return;
    if (c->written_count == LIVE_HOLES) {
        c->written_before = c->written[0] + 1;
        memmove(c->written, c->written + 1, --c->written_count * sizeof *c->written);
    }
    c->written[c->written_count++] = at;
}

void live_reverse_written(struct live *l, bool memory)
{
    bool before = l->reverse.written;
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (l->cores[i].source >= 0 && (l->cores[i].regs.known >> TARGET_REG_PC & 1))
            mark_halt_written(l, &l->cores[i]);
    pipeline_unlock(l->pipeline);
    live_reverse_forget(l);
    l->reverse.written = memory || before;
}

bool live_reverse_kept(struct live *l, uint64_t core, uint64_t regs)
{
    struct live_core *c = core < TARGET_CORES_MAX ? live_core_of(l, (int)core) : NULL;
    if (!regs || !c)
        return false;
    struct live_reverse_core *pc = &l->reverse.cores[core];
    const struct target_regs *last = target_last_regs(l->target, (int)core);
    if (!pc->reported && !last)
        return false;
    struct target_regs before = pc->reported ? pc->regs : *last;
    live_reverse_written(l, false);
    pc->regs = before;
    pc->reported = true;
    for (struct live_client *k = regs >> TARGET_REG_PC ? l->clients : NULL; k; k = k->next)
        k->cores[c - l->cores].moved = true;
    if (regs >> TARGET_REG_PC && !c->left && !c->jumped) {
        c->left = true;
        c->left_pc = c->regs.value[TARGET_REG_PC];
        c->left_thumb = c->regs.value[TARGET_REG_PSR] & CPSR_T;
    }
    return !c->jumped;
}
