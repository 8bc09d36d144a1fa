/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow of ETMv1: statuses, branches and their addresses, data: IHI 0014Q chapter 5. */
#include "decoder/etmv1/etmv1_flow.h"

#include "etmv1_flow_internal.h"

#include <string.h>

void etmv1_flow_init(struct etmv1_flow *f, const struct etmv1_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation)
{
    memset(f, 0, sizeof *f);
    f->config = *config;
    flow_cursor_init(&f->cursor, code, core, generation);
    f->cursor.cycle_accurate = config->cycle_accurate;
    f->cursor.low_vectors = config->low_vectors;
    f->cursor.high_vectors = config->high_vectors;
}

static uint64_t etmv1_offset(const struct etmv1_flow *f)
{
    return f->base + port_cycle_offset(&f->config.port, f->next_cycle);
}

/* Cycles that one entry stands for. */
static unsigned cycles_at(const struct etmv1_flow *f, uint64_t place)
{
    return etmv1_status_at(f, place) == ETMV1_TD && !(etmv1_info(f, place) & RING_TRIGGER)
               ? f->pkt[place % ETMV1_RING]
               : 1;
}

static void etmv1_count(struct etmv1_flow *f, struct flow_out *out)
{
    uint8_t info = etmv1_info(f, f->next);
    bool idle = (info & RING_STATUS) == ETMV1_TD && !(info & (RING_LOW | RING_TRIGGER));
    if (f->config.cycle_accurate && !idle)
        f->cursor.core.cycles += cycles_at(f, f->next);
    if (info & RING_TRIGGER)
        flow_cursor_event(&f->cursor, out, BT_EVENT_TRIGGER, etmv1_offset(f));
}

static void etmv1_move(struct etmv1_flow *f)
{
    f->next_cycle += cycles_at(f, f->next);
    f->next++;
}

static void etmv1_pass(struct etmv1_flow *f, struct flow_out *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        etmv1_count(f, out);
        etmv1_move(f);
    }
}

static void clear_ring(struct etmv1_flow *f)
{
    f->first = f->next = f->earliest = f->end;
    f->target_count = 0;
    f->aligned = false;
    f->data_known = false;
}

/* Data and whose it is: IHI 0014Q chapter 5. */

/* A WT always has a byte; this one is of no address. */
static bool waits_with_data(const struct etmv1_flow *f, uint64_t place)
{
    return (etmv1_info(f, place) & (RING_STATUS | RING_TRIGGER | RING_LOW | RING_APO)) == ETMV1_WT;
}

static bool etmv1_unclaimed(const struct etmv1_flow *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from < f->first ? f->first : from; i < to; i++)
        if (waits_with_data(f, i))
            return true;
    return false;
}

static bool etmv1_align(struct etmv1_flow *f, const struct etmv1_target *target)
{
    uint64_t from = f->data.place + (f->data.high ? 1 : 0);
    bool clean = !f->aligned || !etmv1_unclaimed(f, from, target->start);
    bool high = f->config.port.bits == 16 && !(target->flags & ETMV1_HIGH);
    if (f->data.place <= target->end || !f->aligned)
        f->data = (struct etmv1_cursor){high ? target->end : target->end + 1, high};
    f->aligned = true;
    return clean;
}

/*
 * IHI 0014Q chapter 5, 16-bit ports, the choice in which a byte waits for another: is it certain
 * that the entry has a byte although just one of the status at f->next is left? So if it is a WT,
 * if a later status has put bytes behind it, or if its own branch address follows.
 */
static bool lets_one_out(const struct etmv1_flow *f, uint64_t place)
{
    if (etmv1_status_at(f, f->next) == ETMV1_BD)
        return true;
    for (uint64_t i = f->next + 1; i <= place; i++) {
        unsigned status = etmv1_status_at(f, i);
        bool pushes = status == ETMV1_ID || status == ETMV1_BE || status == ETMV1_BD;
        if (!(etmv1_info(f, i) & RING_APO) && (pushes || (status == ETMV1_WT && i == place)))
            return true;
    }
    return place < f->next && etmv1_status_at(f, place) == ETMV1_WT;
}

/* The entry's TRACEPKT is not the FIFO's. `last`: of the status at f->next no other
 * byte is left. */
static bool has_none(const struct etmv1_flow *f, uint64_t place, bool last)
{
    uint8_t info = etmv1_info(f, place);
    if ((info & RING_STATUS) == ETMV1_TD || (info & RING_TRIGGER))
        return true;
    return last && etmv1_holds(&f->config) && !lets_one_out(f, place);
}

/* The next byte or nibble of the FIFO's output that is no address's. */
static enum etmv1_step read_unit(const struct etmv1_flow *f, struct etmv1_cursor *c, bool last,
                                 uint8_t *unit)
{
    bool waits = last && etmv1_holds(&f->config);
    for (; !c->high; c->place++) {
        if (c->place >= f->end)
            return ETMV1_STEP_WAIT;
        uint8_t info = etmv1_info(f, c->place);
        if ((info & RING_STATUS) == ETMV1_TD && c->place > f->next && !waits)
            return ETMV1_STEP_LOST; /* the FIFO is empty */
        if (!has_none(f, c->place, last))
            break;
    }
    uint8_t info = etmv1_info(f, c->place);
    if (info & (c->high ? RING_HIGH : RING_LOW))
        return ETMV1_STEP_LOST; /* the address of a later branch: what comes before it is missing */
    uint16_t pkt = f->pkt[c->place % ETMV1_RING];
    *unit = (uint8_t)(c->high ? pkt >> 8 : pkt & 0xff);
    if (f->config.port.bits == 16 && !c->high) {
        c->high = true;
        return ETMV1_STEP_DONE;
    }
    c->place++;
    c->high = false;
    return ETMV1_STEP_DONE;
}

static enum etmv1_step read_byte(const struct etmv1_flow *f, struct etmv1_cursor *c, bool last,
                                 uint8_t *byte)
{
    uint8_t high;
    enum etmv1_step result = read_unit(f, c, last, byte);
    if (result != ETMV1_STEP_DONE || f->config.port.bits != 4)
        return result;
    result = read_unit(f, c, last, &high);
    *byte = (uint8_t)(*byte | high << 4);
    return result;
}

/* IHI 0014Q chapter 5, data addresses. `alone`: nothing else of the status follows. */
static enum etmv1_step etmv1_read_address(const struct etmv1_flow *f, struct etmv1_cursor *c,
                                          bool alone, uint32_t *base, bool *known)
{
    uint8_t byte = 0x80;
    for (unsigned i = 0; i < 5 && (byte & 0x80); i++) {
        struct etmv1_cursor before = *c;
        enum etmv1_step result = read_byte(f, c, false, &byte);
        /* What would end the data here may be the TRACEPKT of a cycle without a byte. */
        bool ends = result == ETMV1_STEP_LOST || i == 4 || !(byte & 0x80);
        if (result != ETMV1_STEP_WAIT && alone && ends) {
            *c = before;
            result = read_byte(f, c, true, &byte);
        }
        if (result != ETMV1_STEP_DONE)
            return result;
        uint32_t mask = i == 4 ? 0xf : 0x7f;
        *base = (*base & ~(mask << 7 * i)) | (byte & mask) << 7 * i;
        *known |= i == 4;
        if (i == 4 && (byte & 0xf0))
            return ETMV1_STEP_LOST;
    }
    return ETMV1_STEP_DONE;
}

/* `alone`: as above. */
static enum etmv1_step read_value(const struct etmv1_flow *f, struct etmv1_cursor *c, bool alone,
                                  unsigned size, uint32_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < size; i++) {
        uint8_t byte;
        enum etmv1_step result = read_byte(f, c, alone && i + 1 == size, &byte);
        if (result != ETMV1_STEP_DONE)
            return result;
        *value |= (uint32_t)byte << 8 * (f->config.big_endian ? size - 1 - i : i);
    }
    return ETMV1_STEP_DONE;
}

static enum etmv1_step etmv1_lost(struct etmv1_flow *f)
{
    f->aligned = false;
    f->data_known = false;
    return ETMV1_STEP_LOST;
}

/* Is any data of such an instruction traced, and can its amount be known? */
static bool etmv1_measurable(const struct etmv1_flow *f, const struct transfer *t)
{
    if (t->kind == ACCESS_REGISTER)
        return f->config.monitor_cprt && t->count;
    if (t->kind == ACCESS_NONE || t->count > ETMV1_WORDS)
        return false;
    return t->count || !f->config.data_value;
}

/*
 * Where data of the status at f->next begins, from the first byte on that nobody has. False: a byte
 * before it is nobody's.
 */
static bool data_start(const struct etmv1_flow *f, struct etmv1_cursor *c)
{
    if (c->place < f->earliest) { /* the FIFO was empty in between */
        if (etmv1_unclaimed(f, c->place + (c->high ? 1 : 0), f->earliest))
            return false;
        *c = (struct etmv1_cursor){f->earliest, false};
    }
    if (!f->config.late_data || c->place > f->next)
        return true;
    /* Early data waits for its status; what is put into an empty FIFO comes behind its own. */
    uint64_t place = c->place;
    while (place < f->next && !waits_with_data(f, place))
        place++;
    if (place != c->place || place == f->next)
        *c = (struct etmv1_cursor){place == f->next ? place + 1 : place, false};
    return true;
}

/* The bytes of `d` from the cursor on. */
static enum etmv1_step read_transfers(const struct etmv1_flow *f, struct etmv1_cursor *c,
                                      struct etmv1_data *d, uint32_t *base, bool *known)
{
    const struct transfer *t = &d->transfer;
    bool address = t->kind == ACCESS_MEMORY && f->config.data_address;
    bool second = address && t->swap && f->config.swp_addresses;
    enum etmv1_step result = ETMV1_STEP_DONE;
    if (address)
        result = etmv1_read_address(f, c, !d->has_values && !second, base, known);
    for (unsigned i = 0; i < t->count && result == ETMV1_STEP_DONE; i++) {
        bool ends = i + 1u == t->count;
        if (i == 1 && second)
            result = etmv1_read_address(f, c, !d->has_values, base, known);
        if (d->has_values && result == ETMV1_STEP_DONE)
            result = read_value(f, c, ends, t->bytes, &d->values[i]);
    }
    return result;
}

static enum etmv1_step etmv1_read_data(struct etmv1_flow *f, const struct flow_cursor_step *step,
                                       struct etmv1_data *d)
{
    uint32_t opcode, base = f->data_base;
    bool known = f->data_known;
    if (!f->aligned || !flow_cursor_opcode(&f->cursor, step, &opcode))
        return etmv1_lost(f);
    *d = (struct etmv1_data){.offset = etmv1_offset(f)};
    d->transfer = transfer_of(opcode, step->size, (enum bt_isa)step->isa);
    if (!etmv1_measurable(f, &d->transfer))
        return etmv1_lost(f);
    bool memory = d->transfer.kind == ACCESS_MEMORY;
    d->has_values = f->config.data_value || (!memory && f->config.cprt_values);
    struct etmv1_cursor c = f->data;
    if (!data_start(f, &c))
        return etmv1_lost(f);
    enum etmv1_step result = read_transfers(f, &c, d, &base, &known);
    if (result == ETMV1_STEP_LOST)
        return etmv1_lost(f);
    if (result == ETMV1_STEP_WAIT)
        return result;
    d->address = base;
    d->has_address = memory && f->config.data_address && known;
    f->data = c;
    f->data_base = base;
    f->data_known = known;
    return ETMV1_STEP_DONE;
}

static void etmv1_report_data(struct etmv1_flow *f, struct flow_out *out,
                              const struct etmv1_data *d)
{
    const struct transfer *t = &d->transfer;
    unsigned count = d->has_values && t->count ? t->count : 1;
    for (unsigned i = 0; i < count; i++) {
        struct bt_event *e = flow_cursor_event(&f->cursor, out, BT_EVENT_DATA, d->offset);
        struct bt_access *a = &e->u.data;
        a->bytes = t->bytes;
        a->back = 1;
        a->store = t->store || (t->swap && i == 1);
        a->has_value = d->has_values;
        a->has_address = d->has_address;
        if (d->has_address)
            a->address = (uint32_t)(d->address + (t->swap ? 0 : i * t->bytes));
        if (d->has_values)
            a->value = d->values[i];
    }
}

/* Branches, their addresses and synchronisation: IHI 0014Q chapter 5. */

#define APO_UNKNOWN 15  /* the offset is larger than can be said */
#define FIFO_BYTES  128 /* more than any FIFO has */
#define WINDOW      3   /* a branch and the two cycles with its address packet offset */

/* Exceptions as flow_cursor_vector() numbers them. */
#define EXC_UND  9
#define EXC_SVC  10
#define EXC_DABT 12

/* The branch's cycles. */
struct window {
    unsigned span; /* cycles that are its own */
    unsigned apo;
    bool abandoned; /* another branch begins right behind them */
};

static struct etmv1_target *target_at(struct etmv1_flow *f, unsigned i)
{
    return &f->targets[(f->target_head + i) % ETMV1_ADDRESSES];
}

static void drop_targets(struct etmv1_flow *f, unsigned n)
{
    f->target_head = (uint16_t)((f->target_head + n) % ETMV1_ADDRESSES);
    f->target_count = (uint16_t)(f->target_count - n);
}

static enum etmv1_step read_window(struct etmv1_flow *f, struct window *w)
{
    *w = (struct window){.span = 1};
    for (; w->span < WINDOW; w->span++) {
        uint64_t place = f->next + w->span;
        if (place >= f->end)
            return ETMV1_STEP_WAIT;
        unsigned status = etmv1_status_at(f, place);
        if (status == ETMV1_TD)
            return ETMV1_STEP_LOST;
        if (status == ETMV1_BE || status == ETMV1_BD) {
            w->abandoned = true;
            return ETMV1_STEP_DONE;
        }
        w->apo |= (status & 3) << 2 * (w->span - 1);
    }
    for (unsigned i = 1; i < WINDOW; i++)
        f->info[(f->next + i) % ETMV1_RING] |= RING_APO;
    return ETMV1_STEP_DONE;
}

static unsigned syncs_between(const struct etmv1_flow *f, uint64_t from, uint64_t to)
{
    unsigned n = 0;
    for (uint64_t i = from; i < to; i++)
        n += (etmv1_info(f, i) & RING_SYNC) != 0;
    return n;
}

/* A TD says that the FIFO is empty: what comes behind it is of a later status. */
static bool idle_between(const struct etmv1_flow *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to && !etmv1_holds(&f->config); i++)
        if (etmv1_status_at(f, i) == ETMV1_TD && !(etmv1_info(f, i) & RING_TRIGGER))
            return true;
    return false;
}

/* The branch at f->next has waited for its address longer than a FIFO can hold it. */
static bool etmv1_overdue(const struct etmv1_flow *f, unsigned span)
{
    unsigned limit = FIFO_BYTES * 8 / f->config.port.bits;
    if (etmv1_holds(&f->config)) /* a single byte waits as long as it must */
        limit = ETMV1_RING;
    return f->ended || f->end - f->next > limit || idle_between(f, f->next + span, f->end);
}

static void etmv1_set_context(struct etmv1_flow *f, const struct etmv1_target *t,
                              struct flow_out *out)
{
    if (!(t->flags & ETMV1_HAS_CONTEXT))
        return;
    flow_cursor_close(&f->cursor, out);
    flow_set_context(&f->cursor.core, out, t->offset, t->context);
}

static void go_to(struct etmv1_flow *f, const struct etmv1_target *t, struct flow_out *out)
{
    etmv1_set_context(f, t, out);
    flow_go_to(&f->cursor.core, t->value, t->isa);
    if (t->isa == BT_ISA_JAZELLE) { /* bytecodes cannot be followed */
        flow_cursor_lose(&f->cursor, out, t->offset, BT_GAP_NO_CODE, t->value);
        f->aligned = false;
    }
}

/* Tracing begins, or goes on behind a gap. */
static void etmv1_begin(struct etmv1_flow *f, const struct etmv1_target *t, unsigned reason,
                        struct flow_out *out)
{
    flow_cursor_on(&f->cursor, out, t->offset, reason, t->value, t->isa, !f->synced, f->reported);
    f->reported = false;
    f->data_known = false;
    go_to(f, t, out);
    f->synced = f->cursor.core.started = true;
}

static void etmv1_commit(struct etmv1_flow *f, struct flow_out *out)
{
    if (!f->start_pending)
        return;
    f->start_pending = false;
    etmv1_begin(f, &f->start, f->start.reason, out);
}

/* Of a start that was abandoned the next branch says whether it counts. */
static void keep_start_pending(struct etmv1_flow *f, const struct etmv1_target *t)
{
    f->start = *t;
    f->start_pending = true;
}

static void etmv1_exception(struct etmv1_flow *f, const struct etmv1_target *t, unsigned number,
                            const struct flow_cursor_step *step, struct flow_out *out)
{
    uint32_t back = step ? step->address : 0;
    if (step && (number == EXC_UND || number == EXC_SVC || number == EXC_DABT))
        flow_cursor_add(&f->cursor, out, step, BT_COND_PASS, flow_cursor_cycles(&f->cursor));
    if (step && number == EXC_SVC)
        back = step->next;
    struct bt_event *e = flow_cursor_event(&f->cursor, out, BT_EVENT_EXCEPTION, t->offset);
    flow_exception_number(e, (uint16_t)number);
    flow_vector(e, t->value, t->isa);
    if (step)
        flow_return_address(e, back, step->isa);
}

/* Is it a branch to a vector rather than an exception? Only where the code says so. */
static bool etmv1_plain_branch(const struct flow_cursor_step *step, const struct etmv1_target *t)
{
    return step && step->end == CODE_END_DIRECT && step->target == t->value;
}

/* The instruction at the position branches, or is the place of an exception. */
static void etmv1_take(struct etmv1_flow *f, const struct etmv1_target *t, bool data,
                       struct flow_out *out)
{
    struct flow_cursor *cursor = &f->cursor;
    struct flow_cursor_step step;
    struct etmv1_data d;
    bool known = cursor->core.cur.known && flow_cursor_fetch(cursor, out, t->offset, &step);
    unsigned number = flow_cursor_vector(cursor, t->value, t->isa);
    enum etmv1_step read = ETMV1_STEP_LOST;
    if (data && known)
        read = etmv1_read_data(f, &step, &d);
    if (!known)
        f->cursor.core.dropped++;
    if (number && !(known && etmv1_plain_branch(&step, t))) {
        etmv1_exception(f, t, number, known ? &step : NULL, out);
        return;
    }
    if (!known)
        return;
    f->reported = step.end != CODE_END_DIRECT || step.target != t->value;
    bool odd =
        step.end == CODE_END_PAGE || (step.end == CODE_END_DIRECT && step.target != t->value);
    flow_cursor_add(cursor, out, &step, BT_COND_PASS, flow_cursor_cycles(cursor));
    if (read == ETMV1_STEP_DONE)
        etmv1_report_data(f, out, &d);
    if (odd)
        flow_cursor_warn(cursor, out, t->offset, BT_GAP_DESYNC, step.address);
}

static enum etmv1_step etmv1_branch(struct etmv1_flow *f, struct flow_out *out)
{
    struct window w;
    bool data = etmv1_status_at(f, f->next) == ETMV1_BD;
    enum etmv1_step result = read_window(f, &w);
    if (result != ETMV1_STEP_DONE)
        return result;
    if (f->target_count == 0)
        return etmv1_overdue(f, w.span) && !f->ended ? ETMV1_STEP_LOST : ETMV1_STEP_WAIT;
    struct etmv1_target t = *target_at(f, 0);
    if (t.start < f->next || (t.flags & ETMV1_PARTIAL) ||
        idle_between(f, f->next + w.span, t.start))
        return ETMV1_STEP_LOST;
    if (!w.abandoned && w.apo != APO_UNKNOWN && syncs_between(f, f->next, t.start) != w.apo)
        return ETMV1_STEP_LOST;
    drop_targets(f, 1);
    bool starts = t.reason >= ETMV1_TRACE_ON && t.reason <= ETMV1_DEBUG_EXIT;
    if (starts)
        f->start_pending = false; /* it takes the place of one that was abandoned */
    etmv1_commit(f, out);
    etmv1_count(f, out);
    if (!starts)
        etmv1_take(f, &t, data, out);
    bool clean = etmv1_align(f, &t);
    f->earliest = f->next + w.span;
    if (!clean && etmv1_has_data(f))
        flow_cursor_warn(&f->cursor, out, t.offset, BT_GAP_DESYNC, t.value);
    if (!starts)
        go_to(f, &t, out);
    else if (!w.abandoned)
        etmv1_begin(f, &t, t.reason, out);
    else
        keep_start_pending(f, &t);
    etmv1_move(f);
    etmv1_pass(f, out, w.span - 1);
    return ETMV1_STEP_DONE;
}

static enum etmv1_step etmv1_resync(struct etmv1_flow *f, struct flow_out *out)
{
    struct window w;
    enum etmv1_step result = read_window(f, &w);
    if (result == ETMV1_STEP_WAIT)
        return result;
    while (f->target_count && target_at(f, 0)->start < f->next)
        drop_targets(f, 1);
    if (result == ETMV1_STEP_LOST || w.abandoned || w.apo == APO_UNKNOWN) {
        etmv1_pass(f, out, w.span);
        return ETMV1_STEP_DONE;
    }
    if (f->target_count <= w.apo && !etmv1_overdue(f, WINDOW))
        return ETMV1_STEP_WAIT;
    struct etmv1_target t = {.flags = ETMV1_PARTIAL};
    if (f->target_count > w.apo)
        t = *target_at(f, w.apo);
    if ((t.flags & ETMV1_PARTIAL) || idle_between(f, f->next + WINDOW, t.start)) {
        etmv1_pass(f, out, WINDOW);
        return ETMV1_STEP_DONE;
    }
    drop_targets(f, w.apo + 1);
    f->aligned = false;
    etmv1_align(f, &t);
    f->earliest = f->next + WINDOW;
    etmv1_count(f, out);
    etmv1_begin(f, &t, t.reason <= ETMV1_DEBUG_EXIT ? t.reason : 0, out);
    etmv1_move(f);
    etmv1_pass(f, out, WINDOW - 1);
    return ETMV1_STEP_DONE;
}

void etmv1_flow_gap(struct etmv1_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out)
{
    etmv1_commit(f, out);
    flow_cursor_close(&f->cursor, out);
    flow_core_gap(&f->cursor.core, offset, cause, bytes, out);
    f->synced = false;
    clear_ring(f);
}

/* Statuses and bytes do not agree: the branch at f->next is the first to synchronise at again. */
static void etmv1_desync(struct etmv1_flow *f, struct flow_out *out)
{
    etmv1_commit(f, out);
    flow_cursor_close(&f->cursor, out);
    flow_core_gap(&f->cursor.core, etmv1_offset(f), BT_GAP_DESYNC, 0, out);
    f->synced = false;
    f->aligned = false;
    f->data_known = false;
}

/* Statuses (IHI 0014Q table 5-1). */

/* IE, ID, IN. */
static enum etmv1_step etmv1_instruction(struct etmv1_flow *f, unsigned status,
                                         struct flow_out *out)
{
    struct flow_cursor *t = &f->cursor;
    struct flow_cursor_step step;
    struct etmv1_data data;
    enum etmv1_step read = ETMV1_STEP_LOST;
    uint64_t offset = etmv1_offset(f);
    bool passed = status != ETMV1_IN;
    bool known = t->core.cur.known && flow_cursor_fetch(t, out, offset, &step);
    if (known && passed && step.end == CODE_END_INDIRECT)
        return ETMV1_STEP_LOST;
    if (status == ETMV1_ID && known)
        read = etmv1_read_data(f, &step, &data);
    if (read == ETMV1_STEP_WAIT)
        return read;
    if (status == ETMV1_ID && !known)
        f->aligned = false;
    bool lost = status == ETMV1_ID && known && read == ETMV1_STEP_LOST;
    etmv1_count(f, out);
    f->reported = false;
    if (known) {
        flow_cursor_add(t, out, &step, passed ? BT_COND_PASS : BT_COND_FAIL, flow_cursor_cycles(t));
        flow_cursor_advance(t, &step, passed);
        if (read == ETMV1_STEP_DONE)
            etmv1_report_data(f, out, &data);
        if (lost)
            flow_cursor_warn(t, out, offset, BT_GAP_DESYNC, step.address);
    } else {
        f->cursor.core.dropped++;
    }
    f->earliest = f->next + 1;
    etmv1_move(f);
    return ETMV1_STEP_DONE;
}

/* Without data every byte is an address's; a WT that has none of one means that they got lost. */
static bool nobodys_byte(const struct etmv1_flow *f)
{
    uint8_t info = etmv1_info(f, f->next);
    return (info & (RING_STATUS | RING_TRIGGER | RING_LOW)) == ETMV1_WT && !etmv1_has_data(f);
}

static enum etmv1_step etmv1_flow_step(struct etmv1_flow *f, struct flow_out *out)
{
    unsigned status = etmv1_status_at(f, f->next);
    switch (status) {
    case ETMV1_BE:
    case ETMV1_BD:
        return f->synced ? etmv1_branch(f, out) : etmv1_resync(f, out);
    case ETMV1_IE:
    case ETMV1_ID:
    case ETMV1_IN:
        if (f->synced)
            return etmv1_instruction(f, status, out);
        break;
    case ETMV1_WT:
        if (f->synced && nobodys_byte(f))
            return ETMV1_STEP_LOST;
        break;
    default:
        break;
    }
    etmv1_pass(f, out, 1);
    return ETMV1_STEP_DONE;
}

/* Goes on as far as there are cycles. False: no room in `out`. */
static bool etmv1_advance(struct etmv1_flow *f, struct flow_out *out)
{
    while (f->next < f->end) {
        if (!flow_room(out))
            return false;
        enum etmv1_step result = etmv1_flow_step(f, out);
        if (result == ETMV1_STEP_WAIT)
            break;
        if (result == ETMV1_STEP_DONE)
            continue;
        etmv1_desync(f, out);
        unsigned status = etmv1_status_at(f, f->next);
        if (status != ETMV1_BE && status != ETMV1_BD)
            etmv1_pass(f, out, 1);
    }
    return true;
}

/* Oldest place that may still be read. */
static uint64_t etmv1_oldest(const struct etmv1_flow *f)
{
    uint64_t place = f->data.place > f->earliest ? f->data.place : f->earliest;
    if (!f->aligned || !f->synced || place > f->next)
        return f->next;
    return place;
}

/* Room for one more entry: what waits too long will never have its bytes. */
static void etmv1_make_room(struct etmv1_flow *f, struct flow_out *out)
{
    f->first = etmv1_oldest(f);
    if (f->end - f->first < ETMV1_RING)
        return;
    if (f->first == f->next) {
        if (f->synced)
            etmv1_desync(f, out);
        etmv1_pass(f, out, 1);
    } else {
        f->aligned = false;
        f->data_known = false;
    }
    f->first = f->next;
}

/* A TD that only makes a run longer. */
static bool joins_run(struct etmv1_flow *f, uint8_t info)
{
    if (f->next == f->end || etmv1_info(f, f->end - 1) != info)
        return false;
    uint16_t *count = &f->pkt[(f->end - 1) % ETMV1_RING];
    if (*count == UINT16_MAX)
        return false;
    ++*count;
    return true;
}

static void etmv1_push(struct etmv1_flow *f, const struct etmv1_packet *k, struct flow_out *out)
{
    bool idle = k->status == ETMV1_TD && !(k->flags & ETMV1_TRIGGER);
    uint8_t info = (uint8_t)(k->status | (k->flags & ETMV1_TRIGGER ? RING_TRIGGER : 0) |
                             (k->flags & ETMV1_SYNC ? RING_SYNC : 0) |
                             (k->flags & (ETMV1_LOW | ETMV1_COUNTED) ? RING_LOW : 0) |
                             (k->flags & ETMV1_HIGH ? RING_HIGH : 0));
    if (idle) {
        if (joins_run(f, info))
            return;
        info = (uint8_t)(ETMV1_TD | (k->flags & ETMV1_COUNTED ? RING_LOW : 0));
    }
    etmv1_make_room(f, out);
    if (f->next == f->end) {
        f->next_cycle = k->cycle;
        f->base = k->offset - port_cycle_offset(&f->config.port, k->cycle);
    }
    if (k->flags & ETMV1_SYNC)
        f->address_at = f->end;
    f->info[f->end % ETMV1_RING] = info;
    f->pkt[f->end % ETMV1_RING] = idle ? 1 : k->pkt;
    f->end++;
}

static void push_target(struct etmv1_flow *f, const struct etmv1_packet *k, struct flow_out *out)
{
    if (f->target_count == ETMV1_ADDRESSES) {
        if (f->synced)
            etmv1_desync(f, out);
        f->target_head = (f->target_head + 1) % ETMV1_ADDRESSES;
        f->target_count--;
    }
    bool high = etmv1_info(f, f->end - 1) & RING_HIGH;
    f->targets[(f->target_head + f->target_count++) % ETMV1_ADDRESSES] = (struct etmv1_target){
        .offset = k->offset,
        .start = f->address_at,
        .end = f->end - 1,
        .value = (uint32_t)k->value,
        .context = k->context,
        .flags =
            (uint8_t)((k->flags & (ETMV1_PARTIAL | ETMV1_HAS_CONTEXT)) | (high ? ETMV1_HIGH : 0)),
        .reason = k->reason,
        .isa = k->isa,
    };
}

static void etmv1_flow_packet(struct etmv1_flow *f, const struct etmv1_packet *k,
                              struct flow_out *out)
{
    switch ((enum etmv1_kind)k->kind) {
    case ETMV1_CYCLE:
        etmv1_push(f, k, out);
        break;
    case ETMV1_ADDRESS:
        push_target(f, k, out);
        break;
    case ETMV1_MALFORMED:
        etmv1_flow_gap(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
        break;
    case ETMV1_END:
        etmv1_commit(f, out);
        flow_cursor_close(&f->cursor, out);
        break;
    case ETMV1_INCOMPLETE:
        break;
    }
}

size_t etmv1_flow_run(struct etmv1_flow *f, const struct etmv1_packet *packets, size_t count,
                      struct flow_out *out)
{
    for (size_t i = 0; i < count; i++) {
        /* What is in the ring at the end may still be good to synchronise at. */
        f->ended = packets[i].kind == ETMV1_END;
        if (!etmv1_advance(f, out) || !flow_room(out))
            return i;
        etmv1_flow_packet(f, &packets[i], out);
    }
    etmv1_advance(f, out);
    return count;
}
