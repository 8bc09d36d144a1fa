/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay_known.h"

#include "server/reverse/reverse_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CPSR_T (1u << 5)

/* Number of a core among the recording's, as its states have it. */
static bool is_of_core(const struct recording *r, const struct snapshot_device *state,
                       const struct snapshot_device *core)
{
    uint64_t number;
    if (strcmp(state->class_name, RECORDER_KNOWN_CLASS) != 0 ||
        snapshot_reg(state, RECORDER_KNOWN_CORE, &number) != BT_OK)
        return false;
    for (size_t i = 0; i < r->snapshot->device_count; i++) {
        const struct snapshot_device *d = &r->snapshot->devices[i];
        if (d->device_class == SNAPSHOT_CLASS_CORE && number-- == 0)
            return d == core;
    }
    return false;
}

static enum execute_profile profile_of_state(const struct snapshot_device *core,
                                             const struct snapshot_device *state)
{
    uint64_t value;
    if (strncasecmp(core->type, "Cortex-M", 8) == 0)
        return EXECUTE_PROFILE_M;
    return snapshot_reg(state, "X0", &value) == BT_OK ? EXECUTE_PROFILE_A64 : EXECUTE_PROFILE_AR;
}

/* Registers of A64 and A32 are others: what comes before such a change is of no use. */
static int add_known_state(struct replay_known *known, const struct snapshot_device *device)
{
    enum execute_profile profile = profile_of_state(known->source->core, device);
    if (known->count && profile != known->profile)
        while (known->count)
            reverse_snapshot_release(&known->states[--known->count].state);
    known->profile = profile;
    struct replay_known_state *s = &known->states[known->count];
    int error = reverse_recorded_get(known->recording->snapshot, device, profile, &s->state,
                                     &s->way, &known->bytes[known->count]);
    known->count++;
    return error;
}

int replay_known_read(struct replay_known *known, struct recording *r,
                      const struct recording_source *source)
{
    size_t count = r->snapshot ? r->snapshot->device_count : 0;
    int error = BT_OK;
    *known = (struct replay_known){.recording = r, .source = source};
    if (!source->core || source->ordered || !count)
        return BT_OK;
    known->states = calloc(count, sizeof *known->states);
    known->bytes = calloc(count, sizeof *known->bytes);
    if (!known->states || !known->bytes)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < count && !error; i++)
        if (is_of_core(r, &r->snapshot->devices[i], source->core))
            error = add_known_state(known, &r->snapshot->devices[i]);
    return error;
}

void replay_known_release(struct replay_known *known)
{
    for (size_t i = 0; i < known->count; i++)
        reverse_snapshot_release(&known->states[i].state);
    free(known->states);
    free(known->bytes);
    memset(known, 0, sizeof *known);
}

/*
 * As a live target's halt: where the trace so far, and the PC, lead to. Where nothing was traced so
 * far it is the beginning, unless the recording began later.
 */
static int place_state(void *ctx, size_t mark, struct history *h)
{
    struct replay_known *known = ctx;
    const struct replay_known_state *last = mark ? &known->states[mark - 1] : NULL;
    struct replay_known_state *s = &known->states[mark];
    bool again =
        !s->state.ends && last && last->placed && known->bytes[mark - 1] == known->bytes[mark];
    struct btrace_view view = {
        .history = h,
        .image = known->source->image,
        .pc = s->state.pc,
        .thumb = known->profile == EXECUTE_PROFILE_M ||
                 (known->profile == EXECUTE_PROFILE_AR && (s->state.regs.psr & CPSR_T)),
        .size = BTRACE_DEFAULT_SIZE,
        .untraced = s->way.untraced};
    struct reverse place;
    btrace_end_key(h, known->source->config.core, &view.key);
    int error = again ? BT_OK : reverse_init(&place, &view);
    s->state.position = again ? last->state.position : place.end;
    s->state.decoded = history_end(h);
    s->placed = (!error || error == BT_ERR_RANGE) && (s->state.position || s->way.first);
    if (!again)
        reverse_release(&place);
    return error == BT_ERR_NOMEM ? error : BT_OK;
}

void replay_known_marks(struct replay_known *known, struct recording_marks *marks)
{
    *marks = (struct recording_marks){
        .bytes = known->bytes, .count = known->count, .reached = place_state, .ctx = known};
}

void replay_known_ranges(const struct snapshot_device *core, const char *what,
                         struct config_ranges *ranges)
{
    ranges->count = 0;
    for (unsigned i = 0; i < CONFIG_MAX_RANGES; i++) {
        char name[32];
        uint64_t address, size;
        snprintf(name, sizeof name, "%s%u", what, i);
        if (snapshot_reg(core, name, &address) != BT_OK)
            return;
        snprintf(name, sizeof name, "%s" RECORDER_SIZE "%u", what, i);
        if (snapshot_reg(core, name, &size) != BT_OK || size > UINT64_MAX - address)
            return;
        ranges->at[ranges->count++] = (struct config_range){.address = address, .size = size};
    }
}

static int map_known(void *ctx, struct reverse_map *map)
{
    struct replay_core *c = ctx;
    const struct replay *r = c->replay;
    int error = BT_OK;
    for (size_t i = 0; i < r->recording.elf_count && !error; i++)
        error = reverse_map_program(map, r->recording.elf[i], c->image, c->image_core);
    return error ? error : reverse_forward_map(c->forward, map, &c->ram, &c->shared);
}

static bool variable_known(void *ctx, uint64_t address, uint64_t *start, uint64_t *size,
                           const char **name)
{
    const struct replay *r = ((const struct replay_core *)ctx)->replay;
    for (size_t i = 0; i < r->recording.elf_count; i++)
        if (elf_image_variable_at(r->recording.elf[i], address, start, size, name))
            return true;
    return false;
}

static bool other_known(void *ctx, unsigned n, struct reverse_forward **f)
{
    const struct replay_core *c = ctx;
    const struct replay *r = c->replay;
    size_t i = n + (n >= (size_t)(c - r->cores));
    if (i >= r->core_count)
        return false;
    *f = r->cores[i].forward;
    return true;
}

void replay_view(const struct replay_core *c, uint32_t size, struct btrace_view *view)
{
    bool m = c->profile == TARGET_PROFILE_M, a64 = c->profile == TARGET_PROFILE_A64;
    *view = (struct btrace_view){.history = c->trace->history,
                                 .image = c->image,
                                 .key = c->key,
                                 .pc = c->regs.value[TARGET_REG_PC],
                                 .thumb = m || (!a64 && (c->regs.value[TARGET_REG_PSR] & CPSR_T)),
                                 .odd_thumb = c->replay->odd_thumb,
                                 .size = size,
                                 .holes = c->holes,
                                 .hole_count = c->hole_count};
}

static bool view_known(void *ctx, struct btrace_view *view)
{
    const struct replay_core *c = ctx;
    if (c->trace)
        replay_view(c, BTRACE_DEFAULT_SIZE, view);
    return c->trace;
}

/* Where the core ran without trace up to a halt, before what it ran into there. */
static void add_known_hole(struct replay_core *c, const struct reverse_snapshot *s)
{
    if (c->hole_count == REPLAY_HOLES)
        memmove(c->holes, c->holes + 1, --c->hole_count * sizeof *c->holes);
    c->holes[c->hole_count++] = (struct btrace_hole){s->decoded, s->position};
}

/* With the states up to the end it is known where the debugger wrote; and what is so at the end, if
 * it did not there. */
static void look_at_end(struct replay_core *c, uint64_t bytes)
{
    const struct reverse_snapshot *last = reverse_forward_last(c->forward);
    uint64_t end;
    if (!c->recorded || !last || snapshot_reg(c->device, RECORDER_BYTES, &end) != BT_OK ||
        end != bytes)
        return;
    c->end = last->ends ? last : NULL;
    c->halts_known = true;
    c->written_before = c->forward->segments[0]->state.position;
}

int replay_known_give(struct replay_known *known, struct replay_core *c)
{
    const struct recording *r = known->recording;
    const struct reverse_program program = reverse_program_of(r->elf, r->elf_count);
    const struct reverse_forward_owner owner = {.map = map_known,
                                                .variable = variable_known,
                                                .other =
                                                    c->replay->core_count > 1 ? other_known : NULL,
                                                .view = view_known,
                                                .ctx = c};
    const struct execute_core core = {.profile = known->profile,
                                      .big_endian = c->big_endian,
                                      .fpu = program.has_float,
                                      .security =
                                          known->profile == EXECUTE_PROFILE_M && program.two_states,
                                      .v4t = reverse_is_v4t(c->device->type),
                                      .bit_band = reverse_has_bit_band(c->device->type),
                                      .limits = reverse_has_limits(c->device->type)};
    uint64_t bytes = 0;
    int error = BT_OK;
    c->forward = calloc(1, sizeof *c->forward);
    c->written = calloc(known->count, sizeof *c->written);
    if (!c->forward || !c->written)
        return BT_ERR_NOMEM;
    reverse_forward_init(c->forward, &core, &owner, REVERSE_FORWARD_MEMORY);
    for (size_t i = 0; i < known->count && !error; i++) {
        struct replay_known_state *s = &known->states[i];
        if (!s->placed)
            continue;
        const struct reverse_snapshot *last = reverse_forward_last(c->forward);
        if (last && last->position > s->state.position)
            reverse_forward_clear(c->forward); /* a loss took its numbers away */
        if (!s->state.ends)
            c->written[c->written_count++] = s->state.position;
        if (s->way.untraced)
            add_known_hole(c, &s->state);
        bytes = known->bytes[i];
        error = reverse_forward_take(c->forward, &s->state);
    }
    if (!error)
        look_at_end(c, bytes);
    return error;
}

size_t replay_known_memory(const struct replay_core *c, uint64_t address, uint8_t *bytes,
                           size_t len)
{
    size_t n = 0;
    for (size_t i = 0; c->end && i < c->end->piece_count && n < len; i++) {
        const struct reverse_piece *p = &c->end->pieces[i];
        uint64_t at = address + n - p->address;
        if (address + n < p->address || at >= p->length)
            continue;
        size_t some = p->length - at < len - n ? (size_t)(p->length - at) : len - n;
        memcpy(bytes + n, p->bytes + at, some);
        n += some;
        i = (size_t)-1; /* the next byte may be in any piece */
    }
    return n;
}
