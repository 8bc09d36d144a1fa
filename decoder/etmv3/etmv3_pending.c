/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of the history that may still change: IHI 0014Q 7.3. */
#include "decoder/flow/access.h"
#include "etmv3_flow_internal.h"

static void etmv3_found(struct etmv3_flow *f, const struct access *a, uint64_t number)
{
    struct etmv3_data *d = &f->data;
    *d = (struct etmv3_data){.owner = number,
                             .scanned = d->scanned,
                             .has_owner = true,
                             .store = a->store,
                             .no_address = a->kind == ACCESS_REGISTER,
                             .bytes = a->bytes};
}

void etmv3_data_scan(struct etmv3_flow *f)
{
    const struct etmv3_pending_block *h = &f->pending_block;
    uint64_t address = h->first, number = f->core.instructions;
    uint64_t end = number + h->count;
    struct code_view *view = f->data.scanned < end ? flow_view(&f->core) : NULL;
    for (; view && number < end; number++) {
        struct insn insn;
        uint32_t opcode;
        if (code_insn(f->core.code, view, address, (enum bt_isa)h->isa, &insn, &opcode) != BT_OK)
            break;
        bool failed = number + 1 == end && h->cond == BT_COND_FAIL;
        struct access a = access_of(opcode, insn.size, (enum bt_isa)h->isa);
        if (number >= f->data.scanned && a.kind != ACCESS_NONE && !failed)
            etmv3_found(f, &a, number);
        address += insn.size;
    }
    f->data.scanned = end;
}

void etmv3_data_disown(struct etmv3_flow *f, uint8_t bytes)
{
    f->data = (struct etmv3_data){.scanned = f->data.scanned, .bytes = bytes};
}

/* Data of instruction `number` goes; what other instructions made is one less far back. */
static void etmv3_data_cancel(struct etmv3_flow *f, uint64_t number)
{
    unsigned n = 0;
    for (unsigned i = 0; i < f->queued; i++) {
        struct bt_event *e = &f->queue[i];
        if (e->kind == BT_EVENT_DATA && e->u.data.back == 1)
            continue;
        if (e->kind == BT_EVENT_DATA && e->u.data.back > 1)
            e->u.data.back--;
        f->queue[n++] = *e;
    }
    f->queued = (uint8_t)n;
    for (unsigned i = 0; i < 3; i++)
        if (f->waiting[i].data.has_owner && f->waiting[i].data.owner == number)
            f->waiting[i].used = false;
    if (f->data.scanned > number)
        f->data.scanned = number;
    if (f->data.has_owner && f->data.owner == number)
        etmv3_data_disown(f, 0);
}

/* Far into a long range of T32: from the instruction looked at last, or the last one of `wide`. */
static uint32_t far_offset(struct etmv3_flow *f, uint32_t index)
{
    struct code_range *range = f->core.range;
    uint32_t i = CODE_WIDE_BITS;
    uint32_t offset = etmv3_wide_offset(range, CODE_WIDE_BITS);
    if (f->near_index > i && f->near_index <= index) {
        i = f->near_index;
        offset = f->near_offset;
    }
    while (i < index) {
        struct insn insn = {.size = 2};
        uint32_t opcode;
        code_insn(f->core.code, f->core.view, range->start + offset, code_range_isa(range), &insn,
                  &opcode);
        offset += insn.size;
        i++;
    }
    f->near_index = index;
    f->near_offset = offset;
    return offset;
}

static uint32_t etmv3_range_offset(struct etmv3_flow *f, uint32_t index)
{
    const struct code_range *range = f->core.range;
    if (index == 0)
        return 0;
    if (index == code_range_count(range))
        return code_range_length(range);
    if (code_range_isa(range) == BT_ISA_A32)
        return 4 * index;
    if (index > CODE_WIDE_BITS)
        return far_offset(f, index);
    return etmv3_wide_offset(range, index);
}

void etmv3_go_to(struct etmv3_flow *f, uint64_t address, uint8_t isa)
{
    flow_go_to(&f->core, address, isa);
    f->first = address;
    f->begin = f->done = f->joined = 0;
    f->near_index = 0;
    f->pending = false;
}

uint64_t etmv3_here(struct etmv3_flow *f)
{
    if (f->done == 0)
        return f->core.cur.address;
    return (uint32_t)(f->core.range->start + etmv3_range_offset(f, f->done));
}

bool etmv3_relink(struct etmv3_flow *f, struct flow_out *out, uint64_t offset)
{
    if (f->core.range || f->done == 0)
        return true;
    struct code_range *range = flow_range_here(&f->core, out, offset);
    if (range && code_range_count(range) > f->done)
        return true;
    if (range && code_range_count(range) == f->done) {
        if (range->end != CODE_END_NO_CODE) /* what was executed last is a waypoint only now */
            etmv3_rebase(f);
        return true;
    }
    f->begin = f->done = f->joined = 0;
    if (range)
        flow_lose(&f->core, out, offset, BT_GAP_DESYNC, f->core.cur.address);
    return false;
}

void etmv3_close(struct etmv3_flow *f)
{
    uint32_t count = etmv3_open(f);
    if (count == 0)
        return;
    uint64_t last = f->done ? f->core.range->start + etmv3_range_offset(f, f->done - 1) : f->last;
    f->pending_block = (struct etmv3_pending_block){.first = f->first,
                                                    .cycles = FLOW_NO_CYCLES,
                                                    .extent = (uint32_t)(last - f->first),
                                                    .count = count,
                                                    .isa = f->core.cur.isa,
                                                    .cond = BT_COND_PASS};
    f->begin = f->done;
    f->joined = 0;
    f->first = etmv3_here(f);
}

void etmv3_rebase(struct etmv3_flow *f)
{
    etmv3_close(f);
    if (f->done && f->core.cur.known)
        flow_go_to(&f->core, etmv3_here(f), f->core.cur.isa);
    f->begin = f->done = 0;
    f->near_index = 0;
}

static inline void release_block(struct etmv3_flow *f, struct flow_out *out)
{
    const struct etmv3_pending_block *h = &f->pending_block;
    if (etmv3_has_data(f))
        etmv3_data_scan(f);
    flow_block(&f->core, out, h->first, h->extent,
               bt_block_info(h->count, (enum bt_isa)h->isa, (enum bt_cond)h->cond), h->cycles);
    etmv3_set_last(f, h->first + h->extent, h->isa);
    f->pending_block.count = 0;
}

void etmv3_release(struct etmv3_flow *f, struct flow_out *out)
{
    if (f->pending_block.count)
        release_block(f, out);
    for (unsigned i = 0; i < f->queued; i++) {
        f->queue[i].position = f->core.instructions;
        out->events[out->event_count++] = f->queue[i];
    }
    f->queued = 0;
    f->keyed = 0;
    f->return_pending = false;
}

/* Address of the last but one instruction of the pending block. */
static uint64_t before_last(struct etmv3_flow *f)
{
    const struct etmv3_pending_block *h = &f->pending_block;
    struct code_view *view = flow_view(&f->core);
    uint64_t address = h->first, last = h->first + h->extent;
    if (h->isa == BT_ISA_A32)
        return last - 4;
    for (uint32_t i = 2; view && i < h->count; i++) {
        struct insn insn;
        uint32_t opcode;
        if (code_insn(f->core.code, view, address, (enum bt_isa)h->isa, &insn, &opcode) != BT_OK)
            break;
        address += insn.size;
    }
    return address;
}

void etmv3_split(struct etmv3_flow *f, struct flow_out *out)
{
    struct etmv3_pending_block *h = &f->pending_block;
    if (h->count && etmv3_has_data(f))
        etmv3_data_scan(f);
    if (h->count < 2)
        return;
    uint64_t last = h->first + h->extent;
    flow_block(&f->core, out, h->first, (uint32_t)(before_last(f) - h->first),
               bt_block_info(h->count - 1, (enum bt_isa)h->isa, BT_COND_PASS), FLOW_NO_CYCLES);
    h->first = last;
    h->extent = 0;
    h->count = 1;
}

/* An exception return that did not happen: its event goes. */
static void cancel_return(struct etmv3_flow *f)
{
    unsigned n = 0;
    for (unsigned i = 0; i < f->queued; i++)
        if (f->queue[i].kind != BT_EVENT_EXCEPTION_RET)
            f->queue[n++] = f->queue[i];
    f->queued = (uint8_t)n;
    f->return_pending = false;
}

bool etmv3_cancel(struct etmv3_flow *f, uint64_t *address)
{
    struct etmv3_pending_block *h = &f->pending_block;
    *address = h->first + h->extent;
    if (f->return_pending) {
        cancel_return(f);
        *address = f->last;
        return true;
    }
    if (h->count == 0)
        return false;
    if (etmv3_has_data(f))
        etmv3_data_cancel(f, f->core.instructions + h->count - 1);
    if (h->cycles != FLOW_NO_CYCLES)
        f->waited += h->cycles;
    h->cycles = FLOW_NO_CYCLES;
    if (h->count > 1)
        h->extent = (uint32_t)(before_last(f) - h->first);
    h->count--;
    h->cond = BT_COND_PASS;
    return true;
}

struct flow_out *etmv3_events(struct etmv3_flow *f, struct flow_out *out, struct flow_out *tray)
{
    if (f->queued > ETMV3_QUEUE - 8)
        etmv3_release(f, out);
    if (!etmv3_has_pending(f))
        return out;
    *tray =
        (struct flow_out){.events = f->queue, .event_count = f->queued, .event_max = ETMV3_QUEUE};
    return tray;
}

void etmv3_events_end(struct etmv3_flow *f, const struct flow_out *to, const struct flow_out *tray)
{
    if (to == tray)
        f->queued = (uint8_t)tray->event_count;
}

/* Atoms to blocks: IHI 0014Q 7.3.1, 7.13. Runs of E are taken one instruction range at a time. */

#define JOINED_MAX (1u << 20) /* instructions of one block */

static inline bool is_branch(const struct code_range *range)
{
    return range->end == CODE_END_DIRECT || range->end == CODE_END_INDIRECT;
}

/* No code for the next instruction: what was open is put out, and the position is lost. */
static void no_code(struct etmv3_flow *f, uint64_t offset, struct flow_out *out)
{
    uint64_t here = etmv3_here(f);
    etmv3_close(f);
    etmv3_release(f, out);
    flow_lose(&f->core, out, offset, BT_GAP_NO_CODE, here);
    f->begin = f->done = f->joined = 0;
}

/* The range at the position, with at least one instruction left in it; NULL:
 * the position is lost. */
static inline struct code_range *need_range(struct etmv3_flow *f, uint64_t offset,
                                            struct flow_out *out)
{
    struct code_range *range = f->core.range;
    if (!range) {
        struct code_view *view = flow_view(&f->core);
        if (view)
            range =
                code_lookup(f->core.code, view, f->core.cur.address, (enum bt_isa)f->core.cur.isa);
        f->core.range = range;
    }
    if (range && f->done < code_range_count(range))
        return range;
    no_code(f, offset, out);
    return NULL;
}

static inline void start_range(struct etmv3_flow *f, struct code_range *range, uint64_t address)
{
    f->core.cur.address = address;
    f->core.range = range;
    f->begin = f->done = 0;
    f->near_index = 0;
}

/* Behind the range's last instruction. */
static void etmv3_onward(struct etmv3_flow *f, struct code_range *range)
{
    uint64_t address = code_range_behind(range);
    start_range(f, code_onward(f->core.code, f->core.view, range), address);
}

static void etmv3_taken(struct etmv3_flow *f, struct code_range *range)
{
    f->branched = ETMV3_BRANCHED_DIRECT;
    etmv3_set_last(f, code_range_last(range), code_range_isa(range));
    if (range->end == CODE_END_INDIRECT) {
        f->pending = true;
        f->core.cur.known = false;
        start_range(f, range, f->last); /* the range: where its branch goes is asked of it */
        return;
    }
    enum bt_isa isa;
    uint32_t target = code_target(f->core.code, f->core.view, range, &isa);
    f->core.cur.isa = (uint8_t)isa;
    start_range(f, code_taken(f->core.code, f->core.view, range), target);
}

/* A block of the current range ends with its instruction `done` - 1, at `last`. */
static inline void end_block(struct etmv3_flow *f, uint64_t last, enum bt_cond cond,
                             uint64_t cycles, bool keep, struct flow_out *out)
{
    uint32_t count = etmv3_open(f), extent = (uint32_t)(last - f->first);
    f->joined = 0;
    if (!keep && !etmv3_has_data(f)) {
        flow_block(&f->core, out, f->first, extent,
                   bt_block_info(count, (enum bt_isa)f->core.cur.isa, cond), cycles);
        etmv3_set_last(f, last, f->core.cur.isa);
        return;
    }
    f->pending_block = (struct etmv3_pending_block){.first = f->first,
                                                    .cycles = cycles,
                                                    .extent = extent,
                                                    .count = count,
                                                    .isa = f->core.cur.isa,
                                                    .cond = (uint8_t)cond};
    if (!keep)
        etmv3_release(f, out);
}

/* Execution is behind instruction `done` - 1 of the range, at `last`: a block has ended there. */
static inline void step_on(struct etmv3_flow *f, struct code_range *range, uint64_t last,
                           bool passed)
{
    f->begin = f->done;
    f->branched = ETMV3_BRANCHED_NOT;
    if (f->done < code_range_count(range) || range->end == CODE_END_NO_CODE) {
        if (code_range_isa(range) == BT_ISA_A32)
            f->first = (uint32_t)(last + 4);
        else if (f->done <= CODE_WIDE_BITS) /* sizes that `wide` tells */
            f->first = (uint32_t)(last + 2 + 2 * (range->wide >> (f->done - 1) & 1));
        else
            f->first = (uint32_t)(range->start + etmv3_range_offset(f, f->done));
        return;
    }
    if (passed && is_branch(range))
        etmv3_taken(f, range);
    else
        etmv3_onward(f, range);
    f->first = f->core.cur.address;
}

/* The range was executed to its end, which is no branch: the open block goes on behind it. */
static void etmv3_join(struct etmv3_flow *f, struct code_range *range, struct flow_out *out)
{
    etmv3_set_last(f, code_range_last(range), code_range_isa(range));
    if (etmv3_open(f) > JOINED_MAX) {
        end_block(f, f->last, BT_COND_PASS, FLOW_NO_CYCLES, false, out);
        step_on(f, range, f->last, false);
        return;
    }
    f->joined += f->done - f->begin;
    etmv3_onward(f, range);
}

/* `e` instructions that passed; `more`: another atom follows. Returns atoms that had no place. */
static unsigned run_passed(struct etmv3_flow *f, uint64_t offset, unsigned e, bool more,
                           struct flow_out *out)
{
    while (e) {
        struct code_range *range = need_range(f, offset, out);
        if (!range)
            return e;
        uint32_t left = code_range_count(range) - f->done;
        if (e < left) {
            f->done += e;
            f->branched = ETMV3_BRANCHED_NOT;
            return 0;
        }
        e -= left;
        f->done += left;
        if (range->end == CODE_END_NO_CODE)
            continue;
        if (!is_branch(range)) {
            etmv3_join(f, range, out);
            continue;
        }
        end_block(f, code_range_last(range), BT_COND_PASS, FLOW_NO_CYCLES, e == 0 && !more, out);
        step_on(f, range, code_range_last(range), true);
        if (!f->core.cur.known)
            return e;
    }
    return 0;
}

/* One instruction with a block of its own, or one that ends the open block. */
static bool run_one(struct etmv3_flow *f, uint64_t offset, bool passed, bool keep,
                    struct flow_out *out)
{
    struct code_range *range = need_range(f, offset, out);
    if (!range)
        return false;
    uint64_t cycles = FLOW_NO_CYCLES;
    if (f->config.cycle_accurate) {
        cycles = f->waited;
        f->waited = 0;
    }
    /* With nothing open the next instruction is the block's first: no offset to be looked up. */
    uint64_t last = etmv3_open(f) ? range->start + etmv3_range_offset(f, f->done) : f->first;
    f->done++;
    end_block(f, last, passed ? BT_COND_PASS : BT_COND_FAIL, cycles, keep, out);
    step_on(f, range, last, passed);
    return true;
}

/* An atom comes where no instruction is known. */
static void etmv3_drop(struct etmv3_flow *f, uint64_t offset, unsigned count, struct flow_out *out)
{
    if (f->pending) {
        etmv3_release(f, out);
        flow_contradict(&f->core, out, offset, BT_GAP_UNKNOWN_ADDR, f->last);
        f->pending = false;
    }
    f->core.dropped += count;
}

static void plain_atoms(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    unsigned left = k->n;
    while (left) {
        uint32_t rest = (uint32_t)k->value & ((1u << left) - 1);
        unsigned failed = rest ? 32u - (unsigned)__builtin_clz(rest) : 0; /* place of the first N */
        unsigned lost = run_passed(f, k->offset, left - failed, failed != 0, out);
        left = failed;
        if (left && f->core.cur.known) {
            left--;
            if (!run_one(f, k->offset, false, left == 0, out))
                left++;
        }
        if (!f->core.cur.known && lost + left) {
            etmv3_drop(f, k->offset, lost + left, out);
            return;
        }
    }
}

static void cycle_atoms(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    bool each = k->flags & ETMV3_W_EACH;
    f->waited += each ? 0 : k->cycles;
    for (unsigned i = k->n; i-- > 0;) {
        f->waited += each;
        if (!f->core.cur.known || !run_one(f, k->offset, !(k->value >> i & 1), i == 0, out)) {
            f->waited += each ? i : 0;
            etmv3_drop(f, k->offset, i + 1, out);
            return;
        }
    }
}

void etmv3_atoms(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    f->core.cycles += k->cycles;
    if (k->n == 0) {
        f->waited += k->cycles;
        return;
    }
    if (etmv3_has_pending(f))
        etmv3_release(f, out);
    f->branched = ETMV3_BRANCHED_NOT;
    f->since = k->n > 1 || f->since ? 2 : 1;
    if (f->config.cycle_accurate) {
        cycle_atoms(f, k, out);
    } else if (f->core.cur.known) {
        plain_atoms(f, k, out);
    } else {
        etmv3_drop(f, k->offset, k->n, out);
    }
}

void etmv3_implied(struct etmv3_flow *f, uint64_t offset, struct flow_out *out)
{
    if (!f->config.cycle_accurate)
        run_passed(f, offset, 1, false, out);
    else
        run_one(f, offset, true, true, out);
    etmv3_rebase(f);
}
