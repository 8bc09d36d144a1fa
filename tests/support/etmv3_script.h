/* SPDX-License-Identifier: BSD-3-Clause */
/* Small words to run a program by hand through the ETMv3 model and to look at the bytes. */
#ifndef TESTS_SUPPORT_ETMV3_SCRIPT_H
#define TESTS_SUPPORT_ETMV3_SCRIPT_H

#include "drivers/virtual/encoder/etmv3_encoder.h"
#include "tests/support/encoder_script.h"

#define A32_LDR 0xe5910000u /* LDR r0, [r1] */
#define A32_LDM 0xe891000cu /* LDM r1, {r2, r3} */
#define A32_ADD 0xe0800001u
#define T16_POP 0xbd00u /* POP {PC} */
#define T32_BL  0xf000f800u
#define T32_BLX 0xf000e800u

struct etmv3_script {
    struct trace_bytes out;
    struct etmv3_encoder *encoder;
    struct etmv3_state pc;
    unsigned cycles; /* in front of each instruction */
    size_t mark;     /* etmv3_script_hex() begins here */
};

/* Default options with these registers, no periodic sync. */
void etmv3_script_options(struct etmv3_encoder_options *o, uint32_t etmcr, uint32_t etmidr);

/* Ready at `address` (bit 0: T32), Secure, trace off. False: options refused. */
bool etmv3_script_start(struct etmv3_script *s, const struct etmv3_encoder_options *o,
                        uint32_t address);
void etmv3_script_end(struct etmv3_script *s);

/* Execution goes on at `address` (bit 0: T32); says nothing itself. */
void etmv3_script_at(struct etmv3_script *s, uint32_t address);

/* I-sync reason 1 at the present place, after `gap` cycles. */
void etmv3_script_on(struct etmv3_script *s, unsigned gap);

/* One instruction that goes on behind itself; the condition passes, or not. */
void etmv3_script_run(struct etmv3_script *s, uint32_t opcode);
void etmv3_script_fail(struct etmv3_script *s, uint32_t opcode);

/* One instruction with `cycles` in front of it, whatever the script has. */
void etmv3_script_step(struct etmv3_script *s, uint32_t opcode, unsigned cycles);

/* One taken branch to `target` (bit 0: T32). */
void etmv3_script_branch(struct etmv3_script *s, uint32_t opcode, uint32_t target);

/* Exception, as numbered in the packet, to `vector` (bit 0: T32). */
void etmv3_script_exception(struct etmv3_script *s, unsigned number, bool cancel, uint32_t vector);

/* Output since the mark (or the start), flushed, as "08 21"; static storage. */
const char *etmv3_script_hex(struct etmv3_script *s);

#endif
