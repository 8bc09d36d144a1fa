/* SPDX-License-Identifier: BSD-3-Clause */
/* Data packets to events of the instructions that made them: IHI 0014Q 7.4. */
#include "decoder/flow/access.h"
#include "etmv3_flow_parts.h"

#include <string.h>

static void found(struct etmv3_flow *f, const struct access *a, uint64_t number)
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
            found(f, &a, number);
        address += insn.size;
    }
    f->data.scanned = end;
}

void etmv3_data_disown(struct etmv3_flow *f, uint8_t bytes)
{
    f->data = (struct etmv3_data){.scanned = f->data.scanned, .bytes = bytes};
}

/* Data of instruction `number` goes; what other instructions made is one less far back. */
void etmv3_data_cancel(struct etmv3_flow *f, uint64_t number)
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

/* A transfer: its address as the packet says, or behind the one before it (IHI 0014Q 7.4). */
static bool transfer_address(struct etmv3_flow *f, const struct etmv3_packet *k, uint64_t *address)
{
    struct etmv3_data *d = &f->data;
    bool known = false;
    if (k->flags & ETMV3_HAS_ADDRESS) {
        known = k->extra == 32;
        *address = k->address;
    } else if (d->has_next && !d->no_address) {
        known = true;
        *address = d->next;
    }
    d->has_next = known;
    d->next = (uint32_t)(*address + (d->bytes ? d->bytes : 4));
    return known;
}

static uint8_t distance(const struct etmv3_flow *f, const struct etmv3_data *d)
{
    uint64_t back = f->core.instructions + f->pending_block.count - d->owner;
    return d->has_owner && back <= UINT8_MAX ? (uint8_t)back : 0;
}

/* Always behind the pending block, where a cancel and a failed store can still reach it. */
static struct bt_event *data_event(struct etmv3_flow *f, const struct etmv3_data *d,
                                   uint64_t offset, struct flow_out *out)
{
    if (f->queued == ETMV3_QUEUE)
        etmv3_release(f, out);
    struct flow_out tray = {.events = f->queue, .event_count = f->queued, .event_max = ETMV3_QUEUE};
    struct bt_event *e = flow_event(&f->core, &tray, BT_EVENT_DATA, offset);
    f->queued = (uint8_t)tray.event_count;
    e->u.data.bytes = d->bytes;
    e->u.data.store = d->has_owner && d->store;
    e->u.data.back = distance(f, d);
    return e;
}

static void set_address(struct bt_event *e, uint64_t address)
{
    e->u.data.address = address;
    e->u.data.has_address = true;
}

static void set_value(struct bt_event *e, const struct etmv3_packet *k)
{
    if (!(k->flags & ETMV3_HAS_VALUE))
        return;
    e->u.data.value = k->value;
    e->u.data.has_value = true;
    if (e->u.data.bytes == 0)
        e->u.data.bytes = k->n;
}

static void access(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    uint64_t address = 0;
    bool known = transfer_address(f, k, &address);
    struct bt_event *e = data_event(f, &f->data, k->offset, out);
    if (known)
        set_address(e, address);
    set_value(e, k);
}

static void placeholder(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    struct etmv3_waiting *w = &f->waiting[(k->number - 1) % 3];
    if (w->used) { /* its value never came */
        struct bt_event *e = data_event(f, &w->data, w->offset, out);
        if (w->has_address)
            set_address(e, w->address);
    }
    *w = (struct etmv3_waiting){.offset = k->offset, .used = true};
    w->has_address = transfer_address(f, k, &w->address);
    w->data = f->data;
}

/* Without a placeholder it is consumed and nothing else (IHI 0014Q 7.4). */
static void late_value(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    struct etmv3_waiting *w = &f->waiting[(k->number - 1) % 3];
    if (!w->used)
        return;
    struct bt_event *e = data_event(f, &w->data, k->offset, out);
    if (w->has_address)
        set_address(e, w->address);
    set_value(e, k);
    w->used = false;
}

void etmv3_data_drop(struct etmv3_flow *f, struct flow_out *out)
{
    for (unsigned i = 0; i < 3; i++) {
        struct etmv3_waiting *w = &f->waiting[i];
        if (!w->used)
            continue;
        struct bt_event *e = data_event(f, &w->data, w->offset, out);
        if (w->has_address)
            set_address(e, w->address);
        w->used = false;
    }
    etmv3_data_disown(f, 0);
}

static void store_failed(struct etmv3_flow *f)
{
    struct bt_event *e = f->queued ? &f->queue[f->queued - 1] : NULL;
    if (e && e->kind == BT_EVENT_DATA)
        e->u.data.failed = true;
}

/* Data is lost, the flow is not (IHI 0014Q 7.4). */
static void suppressed(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    struct flow_out tray;
    struct flow_out *to = etmv3_events(f, out, &tray);
    flow_event(&f->core, to, BT_EVENT_WARNING, k->offset)->cause = BT_GAP_OVERFLOW;
    etmv3_events_end(f, to, &tray);
    f->data.has_next = false;
}

void etmv3_data_packet(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    etmv3_close(f);
    etmv3_data_scan(f);
    switch ((enum etmv3_kind)k->kind) {
    case ETMV3_DATA:
    case ETMV3_NOT_TRACED:
        access(f, k, out);
        break;
    case ETMV3_PLACEHOLDER:
        placeholder(f, k, out);
        break;
    case ETMV3_OOO_DATA:
        late_value(f, k, out);
        break;
    case ETMV3_STORE_FAILED:
        store_failed(f);
        break;
    default:
        suppressed(f, k, out);
        break;
    }
}
