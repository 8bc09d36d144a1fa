/* SPDX-License-Identifier: BSD-3-Clause */
/* What the flow stage and the fast path share. Private to decoder/etmv4. */
#ifndef DECODER_ETMV4_FLOW_INTERNAL_H
#define DECODER_ETMV4_FLOW_INTERNAL_H

#include "decoder/etmv4/etmv4_flow.h"

/* What the program did, committed. */
void etmv4_flow_element(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out);

/* n atoms, oldest in bit 0; bit set: E. */
void etmv4_flow_atoms(struct etmv4_flow *f, uint64_t offset, uint32_t atoms, unsigned n,
                      struct flow_out *out);

/* Reasons of a trace-on event: those of the other protocols' I-sync. */
enum etmv4_on_reason {
    ETMV4_ON_PERIODIC,
    ETMV4_ON_TRACE_ON,
    ETMV4_ON_OVERFLOW,
    ETMV4_ON_DEBUG,
};

/* Pointers to ranges that are void are taken out: before they are used. */
static inline void etmv4_flow_keep_pointers(struct etmv4_flow *f)
{
    if (flow_ranges_valid(&f->core))
        return;
    for (unsigned i = 0; i < ETMV4_RETURN_STACK; i++)
        f->rs[i].from = NULL;
    f->went = NULL;
    f->core.range_epoch = f->core.code->epoch;
}

/* The return stack (IHI 0064H.b): `range`, which ends with a link, led on. Pointers must have been
 * kept. */
static inline void etmv4_flow_push(struct etmv4_flow *f, struct code_range *range)
{
    f->rs[f->rs_top] =
        (struct etmv4_return){code_range_behind64(range), range, (uint8_t)code_range_isa(range)};
    f->rs_top = (f->rs_top + 1) % ETMV4_RETURN_STACK;
    if (f->rs_count < ETMV4_RETURN_STACK)
        f->rs_count++;
}

/* The entry to return by; NULL: it is not known. */
static inline const struct etmv4_return *etmv4_flow_pop(struct etmv4_flow *f)
{
    if (f->rs_count == 0)
        return NULL;
    f->rs_count--;
    f->rs_top = (f->rs_top + ETMV4_RETURN_STACK - 1) % ETMV4_RETURN_STACK;
    if (f->rs[f->rs_top].isa != ETMV4_RETURN_FOREIGN)
        return &f->rs[f->rs_top];
    f->foreign_pops++;
    return NULL;
}

/* What a context information byte says of security. */
enum bt_security etmv4_flow_security(const struct etmv4_flow *f, uint8_t info);

/* The event of an exception type, as long as nothing else is known. True: the core halts. */
bool etmv4_flow_exception_event(const struct etmv4_flow *f, struct bt_event *e, unsigned type);

#endif
