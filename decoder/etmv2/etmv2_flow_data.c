/* SPDX-License-Identifier: BSD-3-Clause */
/* Data packets and whose they are: IHI 0014Q 6.4. */
#include "etmv2_flow_parts.h"

#include <string.h>

/* LDRD, STRD: A32 only in ARMv5. */
static bool is_double(const struct flow_cursor_step *step, uint32_t opcode)
{
    return step->isa == BT_ISA_A32 && (opcode & 0x0e1000d0) == 0x000000d0;
}

bool etmv2_is_lsm(struct etmv2_flow *f, const struct flow_cursor_step *step)
{
    uint32_t opcode;
    if (!flow_cursor_opcode(&f->cursor, step, &opcode))
        return false;
    struct transfer t = transfer_of(opcode, step->size, (enum bt_isa)step->isa);
    return t.kind == ACCESS_MEMORY && t.count != 1;
}

void etmv2_data_owner(struct etmv2_flow *f)
{
    uint32_t opcode;
    f->pending_data = false;
    if (!etmv2_has_data(f) || !flow_cursor_opcode(&f->cursor, &f->step, &opcode))
        return;
    struct transfer t = transfer_of(opcode, f->step.size, (enum bt_isa)f->step.isa);
    if (t.kind == ACCESS_NONE)
        return;
    f->pending_data = true;
    f->access = (struct etmv2_access){.number = flow_cursor_number(&f->cursor),
                                      .owned = true,
                                      .store = t.store,
                                      .swap = t.swap,
                                      .high_first =
                                          f->config.high_word_first && is_double(&f->step, opcode),
                                      .bytes = t.bytes};
}

/* One transfer of `a`, with whatever is known of it;
 * told behind the instruction if one is pending. */
static void report(struct etmv2_flow *f, struct flow_out *out, const struct etmv2_access *a,
                   uint64_t offset, const uint32_t *value)
{
    /* A doubleword is aligned to its size. */
    uint32_t address = a->high_first && value ? a->address ^ 4 : a->address;
    struct etmv2_pending_event e = {.offset = offset,
                                    .owner = a->number,
                                    .owned = a->owned,
                                    .address = a->has_address ? address : 0,
                                    .value = value ? *value : 0,
                                    .kind = BT_EVENT_DATA,
                                    .bytes = a->bytes,
                                    .has_address = a->has_address,
                                    .has_value = value,
                                    .store = a->store};
    etmv2_note(f, out, &e);
}

/* The transfer that a packet is about. A packet with an address says where; others go on. */
static struct etmv2_access *transfer(struct etmv2_flow *f, const struct etmv2_packet *k)
{
    struct etmv2_access *a = &f->access;
    if (k->flags & ETMV2_HAS_ADDRESS) {
        a->address = k->address;
        a->has_address = true;
    } else if (k->flags & ETMV2_FIRST) {
        a->has_address = false;
    }
    return a;
}

static void next_transfer(struct etmv2_access *a)
{
    if (a->swap)
        a->store = true;
    else
        a->address += a->bytes ? a->bytes : 4;
}

static void miss_data(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out)
{
    uint32_t value = (uint32_t)k->value;
    bool has_value = k->flags & ETMV2_HAS_VALUE;
    if (k->n == 0) { /* the next packet says whose it is (IHI 0014Q 6.4) */
        f->first_half = value;
        f->has_first_half = true;
        return;
    }
    struct etmv2_access *a = &f->miss[k->n];
    bool first = f->has_first_half;
    f->has_first_half = false;
    if (!a->open)
        return;
    if (first && has_value) {
        report(f, out, a, k->offset, &f->first_half);
        next_transfer(a);
    }
    if (has_value)
        report(f, out, a, k->offset, &value);
    /* Both halves of a 64-bit load may carry the tag. */
    if (k->flags & ETMV2_MORE)
        next_transfer(a);
    else
        a->open = false;
}

void etmv2_data_packet(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out)
{
    uint32_t value = (uint32_t)k->value;
    if (k->kind == ETMV2_MISS_DATA) {
        miss_data(f, k, out);
        return;
    }
    struct etmv2_access *a = transfer(f, k);
    switch (k->kind) {
    case ETMV2_DATA:
        report(f, out, a, k->offset, k->flags & ETMV2_HAS_VALUE ? &value : NULL);
        break;
    case ETMV2_MISS:
        f->miss[k->n] = *a;
        f->miss[k->n].open = true;
        report(f, out, a, k->offset, NULL);
        break;
    default: /* value not traced: nothing to tell, but the address goes on */
        break;
    }
    next_transfer(a);
}

void etmv2_data_drop(struct etmv2_flow *f)
{
    unsigned n = 0;
    uint64_t number = flow_cursor_number(&f->cursor);
    for (unsigned i = 0; i < f->event_count; i++) {
        const struct etmv2_pending_event *e = &f->events[i];
        bool its = e->kind == BT_EVENT_DATA && e->owned && e->owner == number;
        if (!its)
            f->events[n++] = *e;
    }
    f->event_count = (uint8_t)n;
    if (f->access.owned && f->access.number == number)
        f->access.owned = f->access.has_address = false;
    for (unsigned i = 0; i < 4; i++)
        if (f->miss[i].owned && f->miss[i].number == number)
            f->miss[i].open = false;
}

void etmv2_data_forget(struct etmv2_flow *f)
{
    memset(f->miss, 0, sizeof f->miss);
    memset(&f->access, 0, sizeof f->access);
    f->has_first_half = false;
}
