/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay_index.h"

#include "decoder/source/source.h"
#include "server/history/btrace_blocks.h"
#include "server/recording/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CPSR_T       (1u << 5)
#define XPSR_T       (1u << 24)
#define DOUBLES      16
#define CPSR_DEFAULT 0x1d3u /* supervisor mode, interrupts masked: the state after a reset */

static void set_reg(struct target_regs *regs, unsigned reg, uint64_t value)
{
    regs->value[reg] = value;
    regs->known |= 1u << reg;
}

/* Names of a core's registers in recordings, in GDB's order. The first that is there counts. */
static void read_recorded_regs(const struct snapshot_device *device, struct target_regs *regs)
{
    static const struct {
        const char *name;
        unsigned reg;
    } names[] = {
        {"SP", TARGET_REG_SP},    {"R13", TARGET_REG_SP},   {"LR", TARGET_REG_LR},
        {"R14", TARGET_REG_LR},   {"PC", TARGET_REG_PC},    {"R15", TARGET_REG_PC},
        {"CPSR", TARGET_REG_PSR}, {"xPSR", TARGET_REG_PSR}, {"PSR", TARGET_REG_PSR},
    };
    uint64_t value;
    for (unsigned i = 0; i <= 12; i++) {
        char name[8];
        snprintf(name, sizeof name, "R%u", i);
        if (snapshot_reg(device, name, &value) == BT_OK)
            set_reg(regs, i, value);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(regs->known >> names[i].reg & 1) &&
            snapshot_reg(device, names[i].name, &value) == BT_OK)
            set_reg(regs, names[i].reg, value);
}

/* Of our own recordings: which of it is of the halt that they end with. */
static void read_recorded_state(const struct snapshot_device *device, struct replay_core *core)
{
    uint64_t bytes, state;
    core->ours = snapshot_reg(device, RECORDER_BYTES, &bytes) == BT_OK;
    if (!core->ours || !core->regs.known)
        return;
    if (snapshot_reg(device, RECORDER_STATE_BYTES, &state) != BT_OK || state != bytes)
        core->regs.known &= 1u << TARGET_REG_PC | 1u << TARGET_REG_PSR;
    else if (snapshot_reg(device, RECORDER_STACK, &core->stack) != BT_OK ||
             snapshot_reg(device, RECORDER_STACK_BYTES, &core->stack_bytes) != BT_OK)
        core->stack_bytes = 0;
}

/*
 * A recording of ours that was cut off while the core ran has the PC of the halt before: more trace
 * follows that, or some of it is missing.
 */
static bool is_cut(const struct replay *r, const struct snapshot_device *device,
                   const struct recording_history *trace)
{
    uint64_t bytes, all = 0;
    if (!trace || snapshot_reg(device, RECORDER_BYTES, &bytes) != BT_OK)
        return false;
    for (size_t i = 0; i < trace->source->buffer->file_count; i++) {
        const uint8_t *data;
        uint64_t size;
        if (snapshot_map_buffer(r->recording.snapshot, trace->source->buffer, i, &data, &size) !=
            BT_OK)
            return true;
        all += size;
    }
    return all != bytes;
}

/* Where the traced path ends. */
static bool find_traced_end(struct history *h, uint64_t *address, enum bt_isa *isa)
{
    struct history_window w;
    if (history_position(h, address, isa))
        return true;
    uint64_t end = history_end(h);
    if (end == 0 || history_window(h, end - 1, &w) || w.block_count == 0)
        return false;
    struct bt_block last;
    history_block(&w, w.block_count - 1, &last);
    *address = bt_block_last(&last);
    *isa = bt_block_isa(&last);
    return true;
}

/* GDB cannot do without PC and PSR: where the recording has none the trace's end stands in. */
static void complete_regs(struct replay_core *core)
{
    uint64_t address = 0;
    enum bt_isa isa = core->profile == TARGET_PROFILE_M ? BT_ISA_T32 : BT_ISA_A32;
    bool traced = core->trace && find_traced_end(core->trace->history, &address, &isa);
    if (!(core->regs.known >> TARGET_REG_PC & 1))
        set_reg(&core->regs, TARGET_REG_PC, traced ? address : 0);
    if (traced && isa == BT_ISA_A64)
        core->profile = TARGET_PROFILE_A64;
    if (core->regs.known >> TARGET_REG_PSR & 1)
        return;
    bool thumb = isa == BT_ISA_T32 || isa == BT_ISA_T32EE;
    if (core->profile == TARGET_PROFILE_M)
        set_reg(&core->regs, TARGET_REG_PSR, XPSR_T);
    else
        set_reg(&core->regs, TARGET_REG_PSR, CPSR_DEFAULT | (thumb ? CPSR_T : 0));
}

static enum target_profile profile_of(const struct snapshot_device *device)
{
    if (device && strncasecmp(device->type, "Cortex-M", 8) == 0)
        return TARGET_PROFILE_M;
    if (device && strncasecmp(device->type, "Cortex-R", 8) == 0)
        return TARGET_PROFILE_R;
    return TARGET_PROFILE_A;
}

static void add_replay_core(struct replay *r, const char *name,
                            const struct snapshot_device *device, struct recording_history *trace,
                            const struct recording_core *image)
{
    struct replay_core *core = &r->cores[r->core_count++];
    core->replay = r;
    core->name = name;
    core->device = device;
    core->trace = trace;
    core->image = &image->image;
    core->image_core = (uint16_t)(image - r->recording.cores);
    core->profile = profile_of(device);
    if (device && !is_cut(r, device, trace))
        read_recorded_regs(device, &core->regs);
    if (device)
        read_recorded_state(device, core);
    for (size_t i = 0; i < r->recording.elf_count; i++)
        core->big_endian |= r->recording.elf[i]->big_endian;
    core->recorded = core->regs.known;
    if (device) {
        replay_known_ranges(device, RECORDER_RAM, &core->ram);
        replay_known_ranges(device, RECORDER_SHARED, &core->shared);
    }
    complete_regs(core);
    if (trace)
        btrace_end_key(trace->history, core->image_core, &core->key);
    else
        core->key = (struct code_key){.core = core->image_core};
}

static bool has_trace(const struct replay *r, const struct snapshot_device *device)
{
    for (size_t i = 0; i < r->core_count; i++)
        if (r->cores[i].device == device)
            return true;
    return false;
}

/* GDB takes one description for all threads: what one core shows, all of its kind are. */
static void agree_on_width(struct replay *r)
{
    bool a64 = false;
    for (size_t i = 0; i < r->core_count; i++)
        a64 |= r->cores[i].profile == TARGET_PROFILE_A64;
    for (size_t i = 0; a64 && i < r->core_count; i++)
        if (r->cores[i].profile == TARGET_PROFILE_A)
            r->cores[i].profile = TARGET_PROFILE_A64;
}

/* Cores of M profile that have such registers, or may. */
static bool may_have_float(const char *type)
{
    static const char *const names[] = {"Cortex-M4",  "Cortex-M4F",  "Cortex-M7",
                                        "Cortex-M33", "Cortex-M33F", "Cortex-M35P",
                                        "Cortex-M52", "Cortex-M55",  "Cortex-M85"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(type, names[i]) == 0)
            return true;
    return false;
}

/*
 * Values of floating-point registers are never known, but a GDB that is told by its program to
 * expect them, and does not find them described, does not survive a `finish`.
 */
static void describe_registers(struct replay_core *c, const struct recording *recording)
{
    bool wanted = c->device && may_have_float(c->device->type);
    for (size_t i = 0; i < recording->elf_count; i++)
        wanted |= recording->elf[i]->hard_float;
    c->register_count = target_describe_core(c->registers, c->profile);
    if (wanted && c->profile != TARGET_PROFILE_A64)
        c->register_count += target_describe_float(c->registers + c->register_count, DOUBLES);
}

/* All that is known of the end. */
static void tell_end(struct replay_core *c)
{
    if (!c->end)
        return;
    if (c->profile != TARGET_PROFILE_A64)
        for (unsigned i = 0; i <= TARGET_REG_LR; i++)
            if (c->end->regs.known >> i & 1)
                set_reg(&c->regs, i, c->end->regs.value[i]);
    reverse_snapshot_tell(&c->end->regs, c->registers, c->register_count, c->forward->core.profile,
                          &c->regs);
    c->recorded |= c->regs.known & ((1u << TARGET_REG_PC) - 1);
}

/* Cores with trace come first: GDB selects the first thread. */
static int add_replay_cores(struct replay *r, struct replay_known *known)
{
    struct recording *rec = &r->recording;
    r->cores = calloc(rec->source_count + rec->core_count + 1, sizeof *r->cores);
    if (!r->cores)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < r->trace_count && r->core_count < TARGET_CORES_MAX; i++) {
        const struct recording_source *s = r->traces[i].source;
        add_replay_core(r, s->core_name, s->core, &r->traces[i], &rec->cores[s->config.core]);
    }
    for (size_t i = 0; i < rec->core_count && r->core_count < TARGET_CORES_MAX; i++)
        if (!has_trace(r, rec->cores[i].device))
            add_replay_core(r, rec->cores[i].device->name, rec->cores[i].device, NULL,
                            &rec->cores[i]);
    agree_on_width(r);
    int error = BT_OK;
    for (size_t i = 0; i < r->core_count && !error; i++) {
        describe_registers(&r->cores[i], rec);
        if (i < r->trace_count && known[i].count)
            error = replay_known_give(&known[i], &r->cores[i]);
        if (!error)
            tell_end(&r->cores[i]);
    }
    return error;
}

/* With the states that were recorded of its core: as the index has it, or decoded. */
static int open_replay_trace(struct replay *r, const struct recording_source *s,
                             struct replay_index *index, struct replay_known *known)
{
    struct recording_history *trace = &r->traces[r->trace_count];
    struct recording_marks marks;
    int error = replay_known_read(known, &r->recording, s);
    if (error)
        return error;
    r->trace_count++;
    if (replay_index_take(index, &r->recording, s, trace, known))
        return BT_OK;
    replay_known_marks(known, &marks);
    return recording_history_init(trace, &r->recording, s, NULL, &marks);
}

static bool has_instructions(const struct recording_source *s)
{
    return !source_protocol(s->config.protocol)->no_instructions;
}

/* A long recording takes its time before GDB can connect. */
static uint64_t begin_progress(struct replay *r, struct progress *progress)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < r->recording.source_count; i++)
        if (has_instructions(&r->recording.sources[i]))
            bytes += recording_bytes(&r->recording.sources[i]);
    progress_begin(progress, "btraced replay", bytes, true);
    r->recording.progress = progress;
    return bytes;
}

static int open_replay_traces(struct replay *r, const struct replay_index_of *of,
                              struct message *why)
{
    struct progress progress;
    struct replay_index index;
    const char *path = of->path;
    struct replay_known *known = calloc(r->recording.source_count, sizeof *known);
    int error = known ? BT_OK : BT_ERR_NOMEM;
    replay_index_begin(&index, &r->recording, of, begin_progress(r, &progress));
    for (size_t i = 0; i < r->recording.source_count && !error; i++) {
        const struct recording_source *s = &r->recording.sources[i];
        if (!has_instructions(s))
            continue;
        error = open_replay_trace(r, s, &index, &known[r->trace_count]);
        if (error)
            message_set(why, "%s: cannot decode '%s': %s", path, s->name,
                        recording_strerror(error));
    }
    progress_end(&progress);
    r->recording.progress = NULL;
    if (!error)
        replay_index_keep(&index, r->traces, known, r->trace_count);
    kept_index_release(&index.in);
    if (!error) {
        error = add_replay_cores(r, known);
        if (error)
            message_set(why, "out of memory");
    }
    for (size_t i = 0; known && i < r->recording.source_count; i++)
        replay_known_release(&known[i]);
    free(known);
    return error;
}

int replay_init(struct replay *r, const char *path, const struct perf_places *perf,
                const char *const *elf, size_t elf_count, bool indexed, struct message *why)
{
    const struct replay_index_of of = {path, elf, elf_count, indexed && !perf};
    memset(r, 0, sizeof *r);
    int error = perf ? recording_open_perf(&r->recording, path, perf, elf, elf_count, why)
                     : recording_open(&r->recording, path, elf, elf_count, why);
    if (error)
        return error;
    if (r->recording.source_count == 0)
        return message_fail(why, BT_ERR_UNSUPPORTED, "%s: no trace source that can be decoded",
                            path);
    r->traces = calloc(r->recording.source_count, sizeof *r->traces);
    if (!r->traces)
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
    return open_replay_traces(r, &of, why);
}

void replay_release(struct replay *r)
{
    for (size_t i = 0; i < r->trace_count; i++)
        recording_history_release(&r->traces[i]);
    free(r->traces);
    tasks_free(r->tasks);
    for (size_t i = 0; i < r->core_count; i++) {
        if (r->cores[i].forward)
            reverse_forward_release(r->cores[i].forward);
        free(r->cores[i].forward);
        free(r->cores[i].written);
    }
    free(r->cores);
    recording_close(&r->recording);
    memset(r, 0, sizeof *r);
}

/* A recording answers at once. */
static void on_tasks_known(void *ctx)
{
    (void)ctx;
}

int replay_show_tasks(struct replay *r)
{
    int error = BT_OK;
    if (r->core_count != 1 || r->cores[0].profile != TARGET_PROFILE_M)
        return BT_OK;
    r->tasks = tasks_new(on_tasks_known, NULL);
    if (!r->tasks)
        return BT_ERR_NOMEM;
    for (size_t i = 0; !error && i < r->recording.elf_count; i++)
        if (!tasks_has(r->tasks))
            error = tasks_add(r->tasks, 0, r->cores[0].name, RTOS_AUTO, r->recording.elf[i]);
    return error;
}
