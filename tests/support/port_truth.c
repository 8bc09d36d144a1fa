/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/port_truth.h"
#include "decoder/source/detail.h"

#include <stdio.h>
#include <stdlib.h>

#define EVENT_MAX (DETAIL_MAX + 60)

static void *grown(void *array, size_t count, size_t *room, size_t item)
{
    if (count < *room)
        return array;
    size_t more = *room ? 2 * *room : 256;
    void *larger = realloc(array, more * item);
    if (!larger)
        abort();
    *room = more;
    return larger;
}

size_t port_truth_insn(struct port_truth *t, const struct arm5_insn *insn, bool pass)
{
    t->insns = grown(t->insns, t->insn_count, &t->insn_room, sizeof *t->insns);
    t->insns[t->insn_count] = (struct port_truth_insn){
        .address = insn->address, .isa = insn->isa, .cond = pass ? BT_COND_PASS : BT_COND_FAIL};
    return t->insn_count++;
}

void port_truth_report(struct port_truth *t)
{
    if (t->reported < t->insn_count)
        t->insns[t->reported++].traced = true;
}

void port_truth_skip(struct port_truth *t, size_t end)
{
    if (t->reported < end)
        t->reported = end;
}

void port_truth_drop_data(struct port_truth *t, size_t insn)
{
    for (size_t i = t->event_count; i-- > 0;)
        if (t->events[i].event.kind == BT_EVENT_DATA && t->events[i].owner == insn)
            t->events[i].dropped = true;
}

void port_truth_cancel(struct port_truth *t, size_t insn)
{
    t->insns[insn].traced = false;
    port_truth_drop_data(t, insn);
}

void port_truth_trace_on(struct port_truth *t, unsigned reason, uint32_t address, size_t after,
                         const uint32_t *gap)
{
    static const uint8_t causes[] = {BT_GAP_NONE, BT_GAP_TRACE_ON, BT_GAP_OVERFLOW, BT_GAP_DEBUG};

    if (t->started) {
        struct port_truth_event *e = port_truth_event(t, BT_EVENT_GAP);
        e->after = after;
        e->event.cause = causes[reason];
        e->event.u.gap.has_address = gap;
        e->event.u.gap.address = gap ? *gap : 0;
        e->optional = true;
    }
    struct port_truth_event *e = port_truth_event(t, BT_EVENT_TRACE_ON);
    e->after = after;
    e->event.cause = t->started ? causes[reason] : BT_GAP_NONE;
    e->event.u.trace_on.reason = (uint8_t)reason;
    e->event.u.trace_on.has_address = true;
    e->event.u.trace_on.address = address;
    t->started = true;
}

struct port_truth_event *port_truth_event(struct port_truth *t, enum bt_event_kind kind)
{
    t->events = grown(t->events, t->event_count, &t->event_room, sizeof *t->events);
    struct port_truth_event *e = &t->events[t->event_count++];
    *e = (struct port_truth_event){.after = t->insn_count - 1, .owner = PORT_TRUTH_NONE};
    e->event.kind = (uint8_t)kind;
    return e;
}

void port_truth_commit(struct port_truth *t, bool lost)
{
    for (size_t i = t->event_count; i-- > 0 && t->events[i].pending;) {
        t->events[i].pending = false;
        t->events[i].dropped = t->events[i].dropped || lost;
    }
}

void port_truth_release(struct port_truth *t)
{
    free(t->insns);
    free(t->events);
    *t = (struct port_truth){0};
}

static char text[2 * EVENT_MAX + 60];

static bool next_traced(const struct port_truth *t, size_t *at)
{
    while (*at < t->insn_count && !t->insns[*at].traced)
        ++*at;
    return *at < t->insn_count;
}

static const char *compare_insns(const struct port_truth *t, const struct decoded *d)
{
    size_t at = 0, number = 0;

    for (size_t b = 0; b < d->block_count; b++) {
        const struct bt_block *block = &d->blocks[b];
        uint64_t address = block->first;
        for (uint32_t i = 0; i < bt_block_count(block); i++, at++, number++) {
            bool last = i + 1 == bt_block_count(block);
            if (!next_traced(t, &at)) {
                snprintf(text, sizeof text, "more instructions than ran: %zu", number);
                return text;
            }
            const struct port_truth_insn *want = &t->insns[at];
            enum bt_cond cond = last ? bt_block_cond(block) : BT_COND_PASS;
            if (want->address != address || want->isa != bt_block_isa(block) ||
                want->cond != cond || (last && address != bt_block_last(block))) {
                snprintf(text, sizeof text,
                         "instruction %zu: 0x%llx, condition %d, instead of 0x%x, %d", number,
                         (unsigned long long)address, cond, want->address, want->cond);
                return text;
            }
            address += want->isa == BT_ISA_T32 ? 2 : 4;
        }
    }
    if (next_traced(t, &at)) {
        snprintf(text, sizeof text, "instructions are missing from %zu, 0x%x on", number,
                 t->insns[at].address);
        return text;
    }
    return NULL;
}

/*
 * Data of an instruction that is not the newest one may be told before that one: what counts is
 * whose it is.
 */
static bool same_owner(const struct bt_event *want, const struct bt_event *got)
{
    unsigned wanted = want->u.data.back, back = got->u.data.back;

    if (wanted == 0 || back == 0)
        return wanted == back;
    return want->position - wanted == got->position - back && got->position <= want->position;
}

static bool same_data(const struct bt_event *want, const struct bt_event *got)
{
    const struct bt_access *w = &want->u.data, *g = &got->u.data;

    return (!w->has_address || w->address == g->address) && w->value == g->value &&
           w->bytes == g->bytes && same_owner(want, got) && w->has_address == g->has_address &&
           w->has_value == g->has_value && w->store == g->store;
}

static bool same_rest(const struct bt_event *want, const struct bt_event *got)
{
    switch (want->kind) {
    case BT_EVENT_TRACE_ON:
        return want->cause == got->cause && want->u.trace_on.reason == got->u.trace_on.reason &&
               want->u.trace_on.address == got->u.trace_on.address;
    case BT_EVENT_GAP:
        return want->cause == got->cause && want->u.gap.bytes == got->u.gap.bytes &&
               (!want->u.gap.has_address || want->u.gap.address == got->u.gap.address);
    case BT_EVENT_EXCEPTION:
        return want->u.exception.number == got->u.exception.number &&
               want->u.exception.vector == got->u.exception.vector &&
               (!want->u.exception.has_return ||
                want->u.exception.return_address == got->u.exception.return_address);
    case BT_EVENT_CONTEXT:
        return want->u.context.id == got->u.context.id;
    default:
        return true;
    }
}

static bool same(const struct bt_event *want, const struct bt_event *got)
{
    if (want->kind == BT_EVENT_DATA)
        return got->kind == BT_EVENT_DATA && same_data(want, got);
    return want->kind == got->kind && want->position == got->position && same_rest(want, got);
}

static void print_event(char *to, size_t room, const struct bt_event *e)
{
    char detail[DETAIL_MAX];

    detail_event(e, detail);
    snprintf(to, room, "%s at %llu, %s", bt_event_name((enum bt_event_kind)e->kind),
             (unsigned long long)e->position, detail);
}

/* The event as a decoder should see it, now that all is known. */
static struct bt_event finished(const struct port_truth_event *e, const size_t *positions)
{
    struct bt_event want = e->event;

    want.position = e->after == PORT_TRUTH_NONE ? 0 : positions[e->after + 1];
    if (e->event.kind == BT_EVENT_DATA && e->owner != PORT_TRUTH_NONE &&
        positions[e->owner + 1] != positions[e->owner] &&
        want.position - positions[e->owner] <= UINT8_MAX)
        want.u.data.back = (uint8_t)(want.position - positions[e->owner]);
    return want;
}

/* Data, or all else: the two may be told in a different order. */
static bool skip_truth(const struct port_truth *t, size_t i, const struct bt_event *got, bool data)
{
    const struct port_truth_event *e = &t->events[i];

    if (e->optional && (e->event.kind == BT_EVENT_WARNING || !got || got->kind != e->event.kind))
        return true;
    return e->dropped || (e->event.kind == BT_EVENT_DATA) != data;
}

/* A warning that may be there. */
static bool excused(const struct port_truth *t, const size_t *positions, const struct bt_event *got)
{
    for (size_t i = 0; got->kind == BT_EVENT_WARNING && i < t->event_count; i++) {
        const struct port_truth_event *e = &t->events[i];
        if (e->optional && e->event.kind == BT_EVENT_WARNING &&
            finished(e, positions).position == got->position)
            return true;
    }
    return false;
}

static const char *compare_events(const struct port_truth *t, const struct decoded *d,
                                  const size_t *positions, bool data)
{
    size_t at = 0;

    for (size_t i = 0; i <= d->event_count; i++) {
        if (i < d->event_count &&
            ((d->events[i].kind == BT_EVENT_DATA) != data || excused(t, positions, &d->events[i])))
            continue;
        const struct bt_event *got = i < d->event_count ? &d->events[i] : NULL;
        while (at < t->event_count && skip_truth(t, at, got, data))
            at++;
        if (i == d->event_count && at == t->event_count)
            return NULL;
        char have[EVENT_MAX] = "nothing", wanted[EVENT_MAX] = "nothing";
        struct bt_event want = {0};
        if (i < d->event_count)
            print_event(have, sizeof have, &d->events[i]);
        if (at < t->event_count) {
            want = finished(&t->events[at], positions);
            print_event(wanted, sizeof wanted, &want);
        }
        if (i == d->event_count || at == t->event_count || !same(&want, &d->events[i])) {
            snprintf(text, sizeof text, "event %zu: %s instead of %s", i, have, wanted);
            return text;
        }
        at++;
    }
    return NULL;
}

const char *port_truth_difference(const struct port_truth *t, const struct decoded *d)
{
    const char *difference = compare_insns(t, d);

    if (difference)
        return difference;
    size_t *positions = malloc((t->insn_count + 1) * sizeof *positions);
    if (!positions)
        abort();
    positions[0] = 0;
    for (size_t i = 0; i < t->insn_count; i++)
        positions[i + 1] = positions[i] + t->insns[i].traced;
    difference = compare_events(t, d, positions, false);
    if (!difference)
        difference = compare_events(t, d, positions, true);
    free(positions);
    return difference;
}

void port_truth_image(const struct arm5_code *c, struct code_image *image)
{
    code_image_init(image);
    for (unsigned i = 0; i < ARM5_REGIONS; i++) {
        const struct code_region r = {.address = c->regions[i].address,
                                      .size = c->regions[i].size,
                                      .bytes = c->regions[i].bytes};
        if (code_image_add(image, &r))
            abort();
    }
}
