/* SPDX-License-Identifier: BSD-3-Clause */
/* Small words to run a program by hand through the PTM model and to look at the bytes. */
#ifndef TESTS_SUPPORT_ENCODER_SCRIPT_H
#define TESTS_SUPPORT_ENCODER_SCRIPT_H

#include "drivers/virtual/encoder/ptm_encoder.h"

#define A32_NOP     0xe1a00000u
#define A32_BX_LR   0xe12fff1eu
#define A32_BX_R3   0xe12fff13u
#define A32_BLX_R3  0xe12fff33u
#define A32_B       0xea000000u /* offset does not matter to the trace unit */
#define A32_BEQ     0x0affffffu
#define A32_BL      0xeb000000u
#define A32_LDR_PC  0xe59ff020u
#define A32_SUBS_PC 0xe25ef004u
#define T16_NOP     0xbf00u
#define T16_BX_LR   0x4770u

struct script {
    struct trace_bytes out;
    struct ptm_encoder *encoder;
    struct ptm_state pc;
    size_t mark; /* script_hex() begins here */
};

/* Default options with these registers, no periodic sync. The core is in Secure state. */
void script_options(struct ptm_encoder_options *o, uint32_t etmcr, uint32_t etmidr,
                    uint32_t etmccer);

/* False: options refused. */
bool script_start(struct script *s, const struct ptm_encoder_options *o);
void script_end(struct script *s);

/* Execution goes on at `address` (bit 0: T32) in the present security state;
 * says nothing itself. */
void script_at(struct script *s, uint32_t address);
void script_secure(struct script *s, enum bt_security security);

/* I-sync reason 1 at the present place. */
void script_trace_on(struct script *s);

/* One instruction that goes on behind itself; conditional ones with pass = true. */
void script_run(struct script *s, uint32_t opcode);
void script_fail(struct script *s, uint32_t opcode);

/* One taken branch to `target` (bit 0: T32). */
void script_branch(struct script *s, uint32_t opcode, uint32_t target);

/* NOPs of the present state up to `address`, exclusive. */
void script_run_to(struct script *s, uint32_t address);

/* Exception to `vector` (bit 0: T32). */
void script_exception(struct script *s, unsigned number, uint32_t vector);

/*
 * Output since the mark (or the start), flushed, as "08 00 10"; static storage,
 * at most 200 bytes. */
const char *script_hex(struct script *s);

#endif
