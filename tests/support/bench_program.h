/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs for benchmarks: real A32, T32 or A64 code of any size with a given mix of branches, and
 * an endless legal execution of it through the model of a trace unit. The same mix and seed always
 * give the same code and the same trace.
 */
#ifndef TESTS_SUPPORT_BENCH_PROGRAM_H
#define TESTS_SUPPORT_BENCH_PROGRAM_H

#include "btrace/types.h"
#include "drivers/virtual/encoder/trace_bytes.h"

#define BENCH_CODE_ADDRESS 0x80000000u
#define BENCH_A64_ADDRESS  0xffffffc080000000u /* a kernel's */

/* What ends a handler, and nothing else. */
#define BENCH_M_RETURN 0xbd00u /* POP {PC} */
#define BENCH_A64_ERET 0xd69f03e0u

/* What ends a sequence of plain instructions; shares in percent, the rest are forward branches. */
struct bench_mix {
    const char *name;
    enum bt_isa isa;     /* A32, T32 or A64 */
    bool m_profile;      /* of Cortex-M, T32: how handlers end */
    size_t code_bytes;   /* about */
    unsigned loops;      /* with 3 to 40 rounds */
    unsigned calls;      /* BL */
    unsigned indirect;   /* BLX register, one of up to four targets a site */
    unsigned straight;   /* most plain instructions in a sequence, at least 1 */
    unsigned interrupts; /* per 10,000 instructions */
};

struct bench_insn {
    uint32_t opcode;
    uint32_t target; /* index of an instruction; of a function while the code is made */
    uint32_t rounds; /* a loop's rounds still to go */
    uint32_t offset; /* bytes from the first one */
    uint8_t kind;    /* private */
    uint8_t size;    /* bytes */
    uint8_t chance;  /* percent: forward branch taken */
    uint8_t spread;  /* indirect call: number of targets, one function after the other */
};

struct bench_program {
    struct bench_mix mix;
    struct trace_random random;
    struct bench_insn *insns;
    size_t insn_count, insn_max;
    uint32_t *functions; /* index of the first instruction */
    size_t function_count, function_max;
    uint64_t address; /* of the code */
    uint8_t *code;    /* owned */
    size_t code_size;
    uint32_t handler; /* index of the interrupt handler's first instruction */
};

/* 0 or BT_ERR_NOMEM. Release in both cases. */
int bench_program_init(struct bench_program *p, const struct bench_mix *mix, uint64_t seed);
void bench_program_release(struct bench_program *p);

/* The trace unit's model behind a common face. */
struct bench_encoder {
    void *encoder;
    int (*trace_on)(void *encoder, uint64_t address, enum bt_isa isa);
    int (*insn)(void *encoder, uint64_t address, enum bt_isa isa, uint32_t opcode, bool pass,
                uint64_t next, unsigned cycles);
    int (*interrupt)(void *encoder, uint64_t resume, uint64_t vector, enum bt_isa isa);
    int (*flush)(void *encoder);
};

/*
 * Executes from the start until `out` has `bytes` bytes; adds the number of instructions to
 * *instructions. 0 or the encoder's error.
 */
int bench_program_run(struct bench_program *p, const struct bench_encoder *e,
                      const struct trace_bytes *out, size_t bytes, uint64_t *instructions);

#endif
