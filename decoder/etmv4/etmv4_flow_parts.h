/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the ETMv4 flow: etmv4_flow.c takes elements, etmv4_flow_atoms.c follows the code,
 * etmv4_flow_exception.c has exceptions. */
#ifndef DECODER_ETMV4_FLOW_PARTS_H
#define DECODER_ETMV4_FLOW_PARTS_H

#include "decoder/etmv4/etmv4_flow.h"

/* What the program did, committed. */
void etmv4_flow_element(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out);

/* n atoms, oldest in bit 0; bit set: E. */
void etmv4_flow_atoms(struct etmv4_flow *f, uint64_t offset, uint32_t atoms, unsigned n,
                      struct flow_out *out);

/* A P0 element comes: an indirect branch that got no address went where the return stack says. */
void etmv4_flow_resolve(struct etmv4_flow *f, uint64_t offset, struct flow_out *out);

/* Pointers to ranges that are void are taken out: before they are used. */
void etmv4_flow_keep_pointers(struct etmv4_flow *f);

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

/* Reasons of a trace-on event: those of the other protocols' I-sync. */
enum etmv4_on_reason {
    ETMV4_ON_PERIODIC,
    ETMV4_ON_TRACE_ON,
    ETMV4_ON_OVERFLOW,
    ETMV4_ON_DEBUG,
};

/* Instruction set at an address: its IS bit, and whether the core is in AArch64. */
uint8_t etmv4_flow_isa(const struct etmv4_flow *f, bool aarch64, uint8_t isa_bit);

/* What a context information byte says of security. */
enum bt_security etmv4_flow_security(const struct etmv4_flow *f, uint8_t info);

/* A packet that cannot be right, and does no harm. */
void etmv4_flow_warn(struct etmv4_flow *f, uint64_t offset, struct flow_out *out);

/* Who executes from here on: what `k` says of it. */
void etmv4_flow_context(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out);

/* A context packet: that of a handler waits for the vector. */
void etmv4_flow_context_packet(struct etmv4_flow *f, const struct etmv4_packet *k,
                               struct flow_out *out);

/* An address packet, for whatever waits for one. */
void etmv4_flow_address(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out);

/* Where execution goes on: as the code has it, or a trace-on or a gap tells that it does not. */
void etmv4_flow_go_on(struct etmv4_flow *f, uint64_t offset, uint64_t address, uint8_t isa,
                      struct flow_out *out);

/* Source address (DDI 0487L.a chapter D5): straight on to the P0 instruction at k->value, which was
 * taken. */
void etmv4_flow_source(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out);

/* Q packet (IHI 0064H.b chapter 6): f->q ran, and led to `address`. */
void etmv4_flow_q(struct etmv4_flow *f, uint64_t address, uint8_t isa, struct flow_out *out);

/* IHI 0064H.b chapter 6, exceptions. The exception that waits goes out without a vector when no
 * address came. */
void etmv4_flow_exception(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out);

/* The event of an exception type, as long as nothing else is known. True: the core halts. */
bool etmv4_flow_exception_event(const struct etmv4_flow *f, struct bt_event *e, unsigned type);

/* IHI 0064H.b chapter 6, M profile: taken straight after another's return: there is no return
 * address. */
#define ETMV4_M_NO_RETURN 0xfffffffeu
void etmv4_flow_return_address(struct etmv4_flow *f, uint64_t address, uint8_t isa,
                               struct flow_out *out);
void etmv4_flow_vector(struct etmv4_flow *f, uint64_t address, uint8_t isa, struct flow_out *out);
void etmv4_flow_no_vector(struct etmv4_flow *f, struct flow_out *out);

#endif
