/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/history/open_fault.h"

#include "decoder/calls/calls.h"
#include "server/history/history_counts.h"

#include <stdlib.h>
#include <string.h>

#define WINDOWS_MAX 16u /* with events, decoded in search of an exception */

#define M_HARD_FAULT   3u
#define M_SECURE_FAULT 7u
#define DEBUG_ENTRY    1u
#define A_ASYNC_ABORT  4u /* as PTM numbers them: IHI 0035B 4.5.4 */
#define A_UNDEFINED    9u
#define A_PREFETCH     11u
#define A_DATA         12u

bool open_fault_is(unsigned exception, bool m_profile)
{
    if (m_profile)
        return exception >= M_HARD_FAULT && exception <= M_SECURE_FAULT;
    return exception == A_ASYNC_ABORT || exception == A_UNDEFINED || exception == A_PREFETCH ||
           exception == A_DATA;
}

const char *open_fault_name(unsigned exception, bool m_profile)
{
    static const char *const m[] = {"HardFault", "MemManage", "BusFault", "UsageFault",
                                    "SecureFault"};
    if (!open_fault_is(exception, m_profile))
        return "no fault";
    if (m_profile)
        return m[exception - M_HARD_FAULT];
    return exception == A_ASYNC_ABORT ? "asynchronous abort"
           : exception == A_UNDEFINED ? "undefined instruction"
           : exception == A_PREFETCH  ? "prefetch abort"
                                      : "data abort";
}

/* Debug state is entered as by an exception: nothing of the program. */
static bool is_debug_entry(const struct bt_exception *e)
{
    return e->number == DEBUG_ENTRY && !e->m_profile;
}

static const struct bt_event *newest_exception(const struct history_window *w)
{
    for (size_t i = w->event_count; i > 0; i--)
        if (w->events[i - 1].kind == BT_EVENT_EXCEPTION &&
            !is_debug_entry(&w->events[i - 1].u.exception))
            return &w->events[i - 1];
    return NULL;
}

/* The window that has it; false: there is none, or it is far away. */
static bool find_fault(struct history *h, size_t *window, uint64_t *position)
{
    unsigned decoded = 0;
    for (size_t i = history_window_count(h); i > 0 && decoded < WINDOWS_MAX; i--) {
        struct history_reach reach;
        struct history_window w;
        history_window_reach(h, i - 1, &reach);
        if (!reach.events)
            continue;
        if (history_window_index(h, i - 1, &w) != BT_OK)
            return false;
        decoded++;
        const struct bt_event *e = newest_exception(&w);
        if (!e)
            continue;
        *window = i - 1;
        *position = e->position;
        return open_fault_is(e->u.exception.number, e->u.exception.m_profile);
    }
    return false;
}

bool open_fault_newest(struct history *h, uint64_t *position)
{
    size_t window;
    return find_fault(h, &window, position);
}

static bool has_open_fault(const struct calls *calls, bool m_profile)
{
    for (unsigned i = 0; i < calls->depth; i++)
        if (calls->frames[i].exception >= 0 &&
            open_fault_is((unsigned)calls->frames[i].exception, m_profile))
            return true;
    return false;
}

static int follow_from(struct history *h, size_t window, struct counts *counts)
{
    int error = BT_OK;
    for (size_t i = window; i < history_window_count(h) && !error; i++) {
        struct history_window w;
        error = history_window_index(h, i, &w);
        if (!error)
            history_counts_feed(counts, &w, 0, UINT64_MAX, NULL);
    }
    return error;
}

bool open_fault_now(struct history *h, const struct code_image *image, bool m_profile)
{
    struct calls *calls = calloc(1, sizeof *calls);
    struct calls_config calls_config = {.m_profile = m_profile};
    struct counts_config config = {
        .m_profile = m_profile, .transfer = calls_transfer, .event = calls_event, .ctx = calls};
    struct history_window w;
    struct counts counts;
    uint64_t position;
    size_t window;
    bool open = false;
    if (calls && find_fault(h, &window, &position) && history_window_index(h, window, &w) == 0) {
        int error = calls_init(calls, &calls_config);
        memset(&counts, 0, sizeof counts);
        if (!error)
            error = counts_init(&counts, &config, image, &w.key);
        counts.number = w.first;
        if (!error)
            error = follow_from(h, window, &counts);
        open = !error && has_open_fault(calls, m_profile);
        counts_release(&counts);
        calls_release(calls);
    }
    free(calls);
    return open;
}
