/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv1 model: instruction and data addresses (IHI 0014Q chapter 5). */
#include "etmv1_encoder_state.h"

#define ADDRESS_BYTES    5
#define JAZELLE          0x80 /* of the fifth byte */
#define DATA_FULL_CYCLES 1024

/* Groups of seven bits up to the highest one in `changed`; at least one. */
static unsigned groups(uint32_t changed)
{
    unsigned n = 1;

    while (n < ADDRESS_BYTES && (uint64_t)changed >> 7 * n)
        n++;
    return n;
}

static unsigned put_groups(uint8_t *p, uint32_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        p[i] = (uint8_t)((value >> 7 * i & 0x7f) | (i + 1 < n ? 0x80 : 0));
    return n;
}

static unsigned longer(struct etmv1_encoder *e, unsigned n)
{
    if (n < ADDRESS_BYTES && trace_random_percent(&e->random, e->options.longer_percent))
        n += 1 + trace_random_below(&e->random, ADDRESS_BYTES - n);
    return n;
}

bool etmv1_sync_due(const struct etmv1_encoder *e, bool any)
{
    uint64_t limit = e->options.sync_period + (any ? e->options.sync_patience : 0);

    if (e->sync_requested)
        return true;
    return e->options.sync_period && e->sync_cycles >= limit;
}

/* Room for a full address and context ID; before the last moment the counter waits for it. */
static bool room_for_full(const struct etmv1_encoder *e)
{
    return e->port.count + ETMV1_BRANCH_MAX <= e->options.fifo_size;
}

unsigned etmv1_put_branch(struct etmv1_encoder *e, uint8_t *p, const struct etmv1_place *target,
                          unsigned *reason, unsigned *address_bytes)
{
    bool jazelle = target->isa == BT_ISA_JAZELLE;
    uint32_t value = target->address | (target->isa == BT_ISA_T32);
    bool periodic = etmv1_sync_due(e, true) || (etmv1_sync_due(e, false) && room_for_full(e));
    unsigned n = longer(e, groups(value ^ e->base));

    if (*reason == ETMV1_REASON_NORMAL && (periodic || e->context_due)) {
        n = ADDRESS_BYTES;
        *reason = e->minor >= 2 ? ETMV1_REASON_PERIODIC : ETMV1_REASON_NORMAL;
    }
    if (*reason != ETMV1_REASON_NORMAL || jazelle != e->base_jazelle)
        n = ADDRESS_BYTES;
    put_groups(p, value, n);
    e->base = value;
    e->base_jazelle = jazelle;
    *address_bytes = n;
    if (n < ADDRESS_BYTES)
        return n;
    p[ADDRESS_BYTES - 1] |= (uint8_t)(*reason << 4 | (jazelle ? JAZELLE : 0));
    e->sync_cycles = 0;
    e->sync_requested = false;
    if (*reason == ETMV1_REASON_NORMAL)
        return n;
    e->context_due = false;
    for (unsigned i = 0; i < e->context_id_bytes; i++)
        p[n++] = (uint8_t)(e->context_id >> 8 * i);
    return n;
}

unsigned etmv1_put_data_address(struct etmv1_encoder *e, uint8_t *p, uint32_t address)
{
    bool full = e->data_full || e->data_cycles >= DATA_FULL_CYCLES;
    unsigned n = full ? ADDRESS_BYTES : longer(e, groups(address ^ e->data_base));

    if (n == ADDRESS_BYTES) {
        e->data_full = false;
        e->data_cycles = 0;
    }
    e->data_base = address;
    return put_groups(p, address, n);
}
