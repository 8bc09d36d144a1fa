/* SPDX-License-Identifier: BSD-3-Clause */
/* Small words to run a program by hand through the ETMv2 model and to look at the cycles. */
#ifndef TESTS_SUPPORT_ETMV2_SCRIPT_H
#define TESTS_SUPPORT_ETMV2_SCRIPT_H

#include "tests/model/etmv2_encoder.h"
#include "tests/support/encoder_script.h"

#define A32_LOAD          0xe5910000u /* LDR r0, [r1] */
#define A32_LOAD_MULTIPLE 0xe891007cu /* LDM r1, {r2-r6} */
#define A32_MCR           0xee010f10u

struct etmv2_script {
    struct trace_bytes out;
    struct etmv2_encoder *encoder;
    struct etmv2_place pc;
    unsigned port; /* bits */
    size_t mark;   /* etmv2_script_text() begins here */
};

/* Default options with this ETMCR (port size included), no periodic sync. */
void etmv2_script_options(struct etmv2_encoder_options *o, uint32_t etmcr);

/* Ready at `address` (bit 0: Thumb), trace off. False: options refused. */
bool etmv2_script_start(struct etmv2_script *s, const struct etmv2_encoder_options *o,
                        uint32_t address);
void etmv2_script_end(struct etmv2_script *s);

/* Bit 0 of an address: Thumb. */
struct etmv2_place etmv2_script_place(uint32_t address);

/* Trace on at the present place, and until the FIFO is empty; the mark is behind that. */
void etmv2_script_on(struct etmv2_script *s);

/* Execution goes on at `address`; says nothing itself. */
void etmv2_script_at(struct etmv2_script *s, uint32_t address);

/* One instruction that goes on behind itself; the condition passes, or not. */
void etmv2_script_run(struct etmv2_script *s, uint32_t opcode);
void etmv2_script_fail(struct etmv2_script *s, uint32_t opcode);

/* One taken branch to `target`. */
void etmv2_script_branch(struct etmv2_script *s, uint32_t opcode, uint32_t target);

/* Exception to `vector`; execution goes on there. */
void etmv2_script_exception(struct etmv2_script *s, bool cancel, uint32_t vector);

/* First transfer of an instruction, or another one. */
int etmv2_script_data(struct etmv2_script *s, uint32_t address, uint32_t value);
int etmv2_script_more(struct etmv2_script *s, uint32_t value);

/*
 * Cycles since the mark, up to now: "TD 01 | IE 20", TRACEPKT in as many digits as the port has.
 * The open cycle is closed first. Static storage.
 */
const char *etmv2_script_text(struct etmv2_script *s);

/* The same after the FIFO has drained; the mark moves to the end. */
const char *etmv2_script_drained(struct etmv2_script *s);

#endif
