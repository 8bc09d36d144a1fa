/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/coresight/coresight_itm.h"

#include <string.h>

#define ITM          0xe0000000u
#define TER          0xe00u
#define TPR          0xe40u
#define TCR          0xe80u
#define TCR_ENABLE   0x00000001u
#define TCR_TIMES    0x00000002u
#define TCR_SYNCS    0x00000004u
#define TCR_DWT      0x00000008u
#define TCR_BUSY     0x00800000u
#define TCR_PRESCALE 8
#define TCR_ID       16
#define TCR_OURS     0x007f030fu

#define DWT              0xe0001000u
#define DWT_CTRL         0x000u
#define DWT_COMP         0x020u
#define DWT_MASK         0x024u
#define DWT_FUNCTION     0x028u
#define DWT_STEP         16u
#define DWT_DEVARCH      0xfbcu
#define DEVARCH_MASK     0x0010ffffu
#define DEVARCH_V2       0x00101a02u
#define CTRL_CYCCNT      0x00000001u
#define CTRL_PRESET      1
#define CTRL_INIT        5
#define CTRL_SLOW        0x00000200u
#define CTRL_SYNC_24     0x00000400u /* a synchronisation packet every 2^24 cycles */
#define CTRL_SAMPLES     0x00001000u
#define CTRL_EXCEPTIONS  0x00010000u
#define CTRL_CYCLES      0x00400000u
#define CTRL_NO_PACKETS  0x08000000u
#define CTRL_OURS        0x00411fffu
#define CTRL_COUNTER     0x000003feu /* POSTPRESET, POSTINIT, CYCTAP */
#define CTRL_COMPARATORS 28

#define FUNCTION_V7   0x0000000fu
#define FUNCTION_BITS 0x00000c3fu /* that we write, of both architectures */
#define V7_PC         1u
#define V7_VALUE      2u
#define V7_PLACE      0x20u /* EMITRANGE */
#define V8_ADDRESS    0x4u
#define V8_WITH_VALUE 0xcu
#define V8_TRACE      0x20u
#define V8_TRACE_PC   0x30u
#define V8_HALT       0x10u
#define V8_ACTION     0x30u
#define V8_SIZE       10

#define FAST_STEP 64u
#define SLOW_STEP 1024u
#define STEPS     16u

bool coresight_itm_period(unsigned cycles)
{
    unsigned step = cycles <= FAST_STEP * STEPS ? FAST_STEP : SLOW_STEP;
    return cycles > 0 && cycles % step == 0 && cycles / step <= STEPS;
}

static uint32_t itm_comparator(unsigned k, unsigned reg)
{
    return DWT + reg + DWT_STEP * k;
}

static unsigned itm_log2(uint32_t size)
{
    unsigned n = 0;
    while (n < 31 && 1u << n < size)
        n++;
    return n;
}

int coresight_itm_find(struct coresight_bus *bus, struct coresight_itm_state *state)
{
    uint32_t ctrl, arch = 0;
    int error = coresight_read(bus, DWT + DWT_CTRL, &ctrl);
    if (!error)
        error = coresight_read(bus, DWT + DWT_DEVARCH, &arch);
    if (error)
        return error;
    state->v8 = (arch & DEVARCH_MASK) == DEVARCH_V2;
    state->comparators = ctrl >> CTRL_COMPARATORS;
    return ctrl & CTRL_NO_PACKETS ? BT_ERR_UNSUPPORTED : BT_OK;
}

int coresight_itm_use(struct coresight_bus *bus, const struct coresight_itm_state *state,
                      unsigned k, enum coresight_itm_use *use)
{
    uint32_t function;
    *use = CORESIGHT_ITM_FREE;
    for (unsigned i = 0; i < CORESIGHT_ITM_WATCHES; i++)
        if (state->started && state->taken[i] == (int)k)
            *use = CORESIGHT_ITM_OURS;
    int error = coresight_read(bus, itm_comparator(k, DWT_FUNCTION), &function);
    uint32_t what = function & FUNCTION_V7;
    if (error || what == 0 || *use == CORESIGHT_ITM_OURS)
        return error;
    bool halts = state->v8 ? (function & V8_ACTION) == V8_HALT : what >= 4 && what <= 7;
    *use = halts ? CORESIGHT_ITM_DEBUG : CORESIGHT_ITM_OTHER;
    return BT_OK;
}

/* What of an access is told, as the comparator has it. 0: it cannot do that. */
static uint32_t itm_function(const struct coresight_itm_watch *w, bool v8)
{
    if (!v8)
        return (w->value ? V7_VALUE : 0) | (w->pc || !w->value ? V7_PC : 0) |
               (w->place ? V7_PLACE : 0);
    if (w->place || w->size > 4)
        return 0;
    return (w->value ? V8_WITH_VALUE : V8_ADDRESS) | (w->pc ? V8_TRACE_PC : V8_TRACE) |
           itm_log2(w->size) << V8_SIZE;
}

/* It may lack some of what it is asked for: then it is left as it was. */
static int itm_set_comparator(struct coresight_bus *bus, struct coresight_itm_state *state,
                              unsigned k, const struct coresight_itm_watch *w, bool *done)
{
    uint32_t function = itm_function(w, state->v8), mask = itm_log2(w->size), got = 0;
    *done = false;
    if (!function)
        return BT_OK;
    int error = coresight_write(bus, itm_comparator(k, DWT_COMP), w->address);
    if (!error && !state->v8)
        error = coresight_write(bus, itm_comparator(k, DWT_MASK), mask);
    if (!error && !state->v8)
        error = coresight_read(bus, itm_comparator(k, DWT_MASK), &got);
    if (error || (!state->v8 && got != mask))
        return error;
    error = coresight_write(bus, itm_comparator(k, DWT_FUNCTION), function);
    if (!error)
        error = coresight_read(bus, itm_comparator(k, DWT_FUNCTION), &got);
    *done = !error && (got & FUNCTION_BITS) == function;
    return error || *done ? error : coresight_write(bus, itm_comparator(k, DWT_FUNCTION), 0);
}

static int itm_take_comparator(struct coresight_bus *bus, struct coresight_itm_state *state,
                               const struct coresight_itm_watch *w, int8_t *taken)
{
    unsigned k =
        state->comparators < CORESIGHT_ITM_WATCHES ? state->comparators : CORESIGHT_ITM_WATCHES;
    bool done = false;
    int error = BT_OK;
    while (k-- > 0 && !done && !error) {
        enum coresight_itm_use use;
        error = coresight_itm_use(bus, state, k, &use);
        if (!error && use == CORESIGHT_ITM_FREE)
            error = itm_set_comparator(bus, state, k, w, &done);
        if (done)
            *taken = (int8_t)k;
    }
    return error;
}

static int itm_take_comparators(struct coresight_bus *bus, const struct coresight_itm_options *o,
                                struct coresight_itm_state *state)
{
    int error = BT_OK;
    for (unsigned i = 0; i < o->watch_count && !error; i++) {
        error = itm_take_comparator(bus, state, &o->watches[i], &state->taken[i]);
        state->function[i] = itm_function(&o->watches[i], state->v8);
    }
    return error;
}

/* One that a debugger has taken meanwhile stays as it is. */
static int itm_free_comparators(struct coresight_bus *bus, struct coresight_itm_state *state)
{
    int first = BT_OK;
    for (unsigned i = 0; i < CORESIGHT_ITM_WATCHES; i++) {
        uint32_t function = 0;
        if (state->taken[i] == CORESIGHT_ITM_NONE)
            continue;
        uint32_t reg = itm_comparator((unsigned)state->taken[i], DWT_FUNCTION);
        int error = coresight_read(bus, reg, &function);
        if (!error && (function & FUNCTION_BITS) == state->function[i])
            error = coresight_write(bus, reg, 0);
        first = first ? first : error;
        state->taken[i] = CORESIGHT_ITM_NONE;
    }
    return first;
}

/* POSTCNT counts a tap of the cycle counter: DDI 0403E.e C1.8.8. */
static uint32_t itm_dwt_value(const struct coresight_itm_options *o)
{
    unsigned cycles = o->samples ? o->samples : o->cycles;
    bool slow = cycles > FAST_STEP * STEPS;
    uint32_t preset = cycles ? cycles / (slow ? SLOW_STEP : FAST_STEP) - 1 : 0;
    return CTRL_CYCCNT | CTRL_SYNC_24 | preset << CTRL_PRESET | preset << CTRL_INIT |
           (slow ? CTRL_SLOW : 0) | (o->samples ? CTRL_SAMPLES : 0) |
           (o->cycles && !o->samples ? CTRL_CYCLES : 0) | (o->exceptions ? CTRL_EXCEPTIONS : 0);
}

static uint32_t itm_control_value(const struct coresight_itm_options *o)
{
    return TCR_ENABLE | TCR_SYNCS | TCR_DWT | (o->prescaler ? TCR_TIMES : 0) |
           (uint32_t)(itm_log2(o->prescaler) / 2) << TCR_PRESCALE | (uint32_t)o->trace_id << TCR_ID;
}

static int itm_keep_old(struct coresight_bus *bus, struct coresight_itm_state *state)
{
    int error = coresight_read(bus, ITM + TCR, &state->old_control);
    if (!error)
        error = coresight_read(bus, ITM + TER, &state->old_ports);
    if (!error)
        error = coresight_read(bus, DWT + DWT_CTRL, &state->old_dwt);
    memset(state->taken, CORESIGHT_ITM_NONE, sizeof state->taken);
    state->started = !error;
    return error;
}

/* Off, and nothing of it is on its way: only then the trace ID may change. */
static int itm_rest(struct coresight_bus *bus)
{
    int error = coresight_unlock(bus, ITM);
    if (!error)
        error = coresight_unlock(bus, DWT);
    if (!error)
        error = coresight_write(bus, ITM + TCR, 0);
    return error ? error : coresight_poll(bus, ITM + TCR, TCR_BUSY, 0);
}

/* The counter takes its start value while nothing uses it. */
static int itm_set_dwt(struct coresight_bus *bus, uint32_t value)
{
    int error =
        coresight_modify(bus, DWT + DWT_CTRL, CTRL_SAMPLES | CTRL_CYCLES | CTRL_EXCEPTIONS, 0);
    if (!error)
        error = coresight_modify(bus, DWT + DWT_CTRL, CTRL_COUNTER, value);
    return error ? error : coresight_modify(bus, DWT + DWT_CTRL, CTRL_OURS, value);
}

int coresight_itm_start(struct coresight_bus *bus, const struct coresight_itm_options *o,
                        struct coresight_itm_state *state)
{
    const uint32_t dwt = itm_dwt_value(o);
    int error = state->started ? itm_free_comparators(bus, state) : itm_keep_old(bus, state);
    if (!error)
        error = itm_rest(bus);
    if (!error)
        error = itm_set_dwt(bus, dwt);
    if (!error)
        error = itm_take_comparators(bus, o, state);
    /* Some take the others only while it is on: DDI 0403E.e C1.7.6. */
    const struct coresight_setting list[] = {
        {TCR, itm_control_value(o), 1},
        {TPR, 0, 1},
        {TER, o->ports, 1},
    };
    if (!error)
        error = CORESIGHT_WRITE_ALL(bus, ITM, list);
    if (!error)
        error = coresight_read(bus, ITM + TCR, &state->control);
    state->control &= TCR_OURS;
    state->dwt = dwt;
    return error;
}

bool coresight_itm_runs(struct coresight_bus *bus, const struct coresight_itm_options *o,
                        const struct coresight_itm_state *state)
{
    uint32_t control, dwt, function;
    if (!state->started || coresight_read(bus, ITM + TCR, &control) ||
        coresight_read(bus, DWT + DWT_CTRL, &dwt) || (control & TCR_OURS) != state->control ||
        (dwt & CTRL_OURS) != state->dwt)
        return false;
    for (unsigned i = 0; i < o->watch_count; i++)
        if (state->taken[i] != CORESIGHT_ITM_NONE &&
            (coresight_read(bus, itm_comparator((unsigned)state->taken[i], DWT_FUNCTION),
                            &function) ||
             (function & FUNCTION_BITS) != state->function[i]))
            return false;
    return true;
}

int coresight_itm_stop(struct coresight_bus *bus, struct coresight_itm_state *state)
{
    if (!state->started)
        return BT_OK;
    int error = itm_free_comparators(bus, state);
    if (!error)
        error = itm_rest(bus);
    const struct coresight_setting list[] = {
        {TER, state->old_ports, 1},
        {TCR, state->old_control & ~TCR_BUSY, 1},
    };
    if (!error)
        error = itm_set_dwt(bus, state->old_dwt);
    if (!error)
        error = CORESIGHT_WRITE_ALL(bus, ITM, list);
    state->started = error != BT_OK;
    return error;
}
