/* SPDX-License-Identifier: BSD-3-Clause */
/* Exceptions, gaps and calls along the window. */
#include "values_build.h"

#include <string.h>

#define NUMBER_DEBUG 1 /* the M profile's own number 1: reset */
#define NUMBER_RESET 8

#define FAULT_SPAN      4 /* bytes */
#define KEPT_BY_SERVICE (0x6ff0u | 1u << VALUES_MODE)

bool values_is_halt(const struct bt_event *event)
{
    return event->kind == BT_EVENT_EXCEPTION && event->u.exception.number == NUMBER_DEBUG &&
           !event->u.exception.m_profile;
}

bool build_is_halt(const struct build *b, const struct bt_event *event)
{
    return values_is_halt(event) && event->position == b->w->first + b->r->count;
}

void build_push_frame(struct build *b, uint32_t address, uint32_t kept, bool exception)
{
    if (b->pred)
        return; /* not known to be taken */
    if (b->frame_count == BUILD_FRAMES) {
        memmove(b->frames, b->frames + BUILD_FRAMES / 2, sizeof b->frames / 2);
        b->frame_count = BUILD_FRAMES / 2;
    }
    struct values_frame *f = &b->frames[b->frame_count++];
    f->address = address;
    f->kept = kept;
    f->exception = exception;
    f->mode = 0;
    memcpy(f->saved, b->cur, sizeof f->saved);
}

/* A fault's handler may go on behind the instruction: what it did for it is not known. */
static bool goes_on(const struct build *b, const struct values_frame *f, uint32_t address)
{
    return b->w->a_banks && f->exception && address != f->address &&
           address - f->address <= FAULT_SPAN;
}

void build_pair(struct build *b, uint32_t address, bool exception)
{
    struct values *r = b->r;
    size_t i = b->frame_count;
    /* Only within one exception: what never returned in it is left with it. */
    while (i && !b->frames[i - 1].exception && (exception || b->frames[i - 1].address != address))
        i--;
    if (i && exception && goes_on(b, &b->frames[i - 1], address)) {
        b->frames[i - 1].kept = 1u << VALUES_MODE;
        b->frames[i - 1].address = address;
    }
    if (!i || b->frames[i - 1].exception != exception || b->frames[i - 1].address != address) {
        if (exception) /* from where the window does not reach, or to somebody else */
            b->frame_count = 0;
        return;
    }
    b->frame_count = i - 1;
    if (!(b->w->infer & (exception ? VALUES_INFER_EXCEPTION : VALUES_INFER_ABI)) ||
        !values_room(r, (void **)&r->pairs, &r->pair_max, r->pair_count, sizeof *r->pairs))
        return;
    struct values_pair *p = &r->pairs[r->pair_count++];
    p->step = b->step;
    p->kept = b->frames[i - 1].kept;
    p->mode = b->frames[i - 1].mode;
    memcpy(p->before, b->frames[i - 1].saved, sizeof p->before);
    memcpy(p->after, b->cur, sizeof p->after);
}

void build_restore_it(struct build *b, uint32_t address)
{
    b->it = BUILD_IT_UNKNOWN;
    b->it_left = 4;
    for (unsigned i = 0; i < BUILD_SAVED; i++)
        if (b->saved[i].address == address && b->saved[i].it != BUILD_IT_UNKNOWN) {
            b->it = b->saved[i].it;
            b->saved[i].it = BUILD_IT_UNKNOWN;
            return;
        }
}

static void lost(struct build *b)
{
    build_clobber_memory(b);
    build_clobber(b, EFFECT_ALL_REGS);
    b->frame_count = 0;
    build_m_lost(b);
    build_a_lost(b);
    b->jumped = false;
    b->returned = false;
    b->it = BUILD_IT_UNKNOWN;
    b->it_left = 4;
}

static void entry(struct build *b, const struct bt_event *event)
{
    const struct bt_exception *x = &event->u.exception;
    if (b->w->m_profile && !x->has_return && b->jumped) {
        build_m_chained(b, event);
        return;
    }
    /* In Debug state anything may be written. */
    if (x->number == NUMBER_DEBUG || (x->number == NUMBER_RESET && !b->w->m_profile)) {
        lost(b);
        b->it = 0;
        return;
    }
    if (x->has_return) {
        if (b->jumped)
            build_pair(b, (uint32_t)x->return_address, false);
        if (b->returned)
            build_pair(b, (uint32_t)x->return_address, true);
        /* A service may give something back. */
        bool service = !b->w->m_profile && x->number == BUILD_NUMBER_SVC;
        uint32_t kept = service ? KEPT_BY_SERVICE : 0x7fff | EFFECT_FLAGS | 1u << VALUES_MODE;
        build_push_frame(b, (uint32_t)x->return_address, kept, true);
        if (b->w->a_banks && b->frame_count)
            b->frames[b->frame_count - 1].mode = build_a_overwrites(event);
        b->saved[b->saved_next].address = (uint32_t)x->return_address;
        b->saved[b->saved_next].it = b->it;
        b->saved_next = (b->saved_next + 1) % BUILD_SAVED;
    } else {
        b->frame_count = 0;
    }
    b->it = 0;
    b->jumped = false;
    b->returned = false;
    if (b->w->m_profile)
        build_m_entry(b, event);
    else if (b->w->a_banks)
        build_a_entry(b, event);
    else
        build_clobber(b, x->number == BUILD_NUMBER_IRQ || x->number == BUILD_NUMBER_SVC
                             ? 0x6000
                             : EFFECT_BANKED);
}

/* Does an event at this position say that the security state is another one? */
static bool state_changes(const struct build *b)
{
    const struct values_window *w = b->w;
    for (size_t i = b->event; i < w->event_count; i++) {
        if (w->events[i].position != w->first + b->step || w->events[i].kind == BT_EVENT_EXCEPTION)
            break;
        if (w->events[i].kind == BT_EVENT_STATE)
            return true;
    }
    return false;
}

/* A handler has returned to `address`. */
static void given_back(struct build *b, uint32_t address)
{
    build_pair(b, address, true);
    build_restore_it(b, address);
}

static void came_back(struct build *b)
{
    const struct values_window *w = b->w;
    if (w->a_banks && b->returned)
        return; /* the instruction was one */
    uint32_t address = b->step < b->r->count ? w->insns[b->step].address : w->final[15];
    const struct bt_event *next = b->event < w->event_count ? &w->events[b->event] : NULL;
    /* Straight into the next handler: it has the address. */
    if (next && next->position == w->first + b->step && next->kind == BT_EVENT_EXCEPTION)
        address = (uint32_t)next->u.exception.return_address;
    /* It has taken over the frame: nothing was given back, and nothing saved. */
    if (b->w->m_profile && next && next->position == w->first + b->step &&
        next->kind == BT_EVENT_EXCEPTION && !next->u.exception.has_return) {
        b->jumped = true;
        return;
    }
    if (w->m_profile)
        build_m_return(b);
    else
        build_clobber(b, EFFECT_BANKED | EFFECT_FLAGS);
    if (w->a_banks)
        build_a_lost(b);
    b->jumped = false;
    b->returned = false;
    b->back_to = address;
    b->back = w->m_profile && state_changes(b);
    if (!b->back)
        given_back(b, address);
}

/* What ran before is another state's, with stacks of its own; r4-r11 may have been taken away. */
static void other_state(struct build *b)
{
    build_clobber_memory(b);
    build_clobber(b, EFFECT_ALL_REGS);
    build_a_lost(b);
    if (b->w->m_profile)
        build_m_lost(b);
    if (b->back)
        given_back(b, b->back_to);
    b->back = false;
}

void build_events(struct build *b)
{
    const struct values_window *w = b->w;
    b->pred = 0;
    while (b->event < w->event_count && w->events[b->event].position <= w->first + b->step) {
        const struct bt_event *event = &w->events[b->event++];
        if (event->position < w->first + b->step || build_is_halt(b, event))
            continue;
        b->from = b->step;
        switch (event->kind) {
        case BT_EVENT_GAP:
        case BT_EVENT_TRACE_ON:
            lost(b);
            break;
        case BT_EVENT_EXCEPTION:
            entry(b, event);
            break;
        case BT_EVENT_EXCEPTION_RET:
            came_back(b);
            break;
        case BT_EVENT_CONTEXT:
        case BT_EVENT_VMID:
            build_clobber_memory(b);
            break;
        case BT_EVENT_STATE:
            other_state(b);
            break;
        default:
            break;
        }
        rules_run(&b->r->rules);
    }
}
