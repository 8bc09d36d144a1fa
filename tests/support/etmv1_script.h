/* SPDX-License-Identifier: BSD-3-Clause */
/* Small words to run a program by hand through the ETMv1 model and to look at the cycles. */
#ifndef TESTS_SUPPORT_ETMV1_SCRIPT_H
#define TESTS_SUPPORT_ETMV1_SCRIPT_H

#include "tests/model/etmv1_encoder.h"
#include "tests/support/encoder_script.h"

#define A32_LOAD_WORD 0xe5910000u /* LDR r0, [r1] */

struct etmv1_script {
    struct trace_bytes out;
    struct etmv1_encoder *encoder;
    struct etmv1_place pc;
    unsigned port; /* bits */
    size_t mark;   /* etmv1_script_text() begins here */
};

/* Default options with this ETMCR (port size included), no periodic sync. */
void etmv1_script_options(struct etmv1_encoder_options *o, uint32_t etmcr);

/* Ready at `address` (bit 0: Thumb), trace off. False: options refused. */
bool etmv1_script_start(struct etmv1_script *s, const struct etmv1_encoder_options *o,
                        uint32_t address);
void etmv1_script_end(struct etmv1_script *s);

/* Bit 0 of an address: Thumb. */
struct etmv1_place etmv1_script_place(uint32_t address);

/* Trace on at the present place, and until the FIFO is empty; the mark is behind that. */
void etmv1_script_on(struct etmv1_script *s);

/* Execution goes on at `address`; says nothing itself. */
void etmv1_script_at(struct etmv1_script *s, uint32_t address);

/* One instruction that goes on behind itself; the condition passes, or not. */
void etmv1_script_run(struct etmv1_script *s, uint32_t opcode);
void etmv1_script_fail(struct etmv1_script *s, uint32_t opcode);

/* One taken branch to `target`. */
void etmv1_script_branch(struct etmv1_script *s, uint32_t opcode, uint32_t target);

/* Exception to `vector`; execution goes on there. */
void etmv1_script_exception(struct etmv1_script *s, bool own, uint32_t vector);

/* A transfer of `size` bytes by the open instruction. */
void etmv1_script_data(struct etmv1_script *s, uint32_t address, uint32_t value, unsigned size);

/*
 * Cycles since the mark, up to now: "BE 80s | IE 80", TRACEPKT in as many digits as the port has,
 * "s" for TRACESYNC. The open instruction is closed first. Static storage.
 */
const char *etmv1_script_text(struct etmv1_script *s);

/* The same after the FIFO has drained; the mark moves to the end. */
const char *etmv1_script_drained(struct etmv1_script *s);

#endif
